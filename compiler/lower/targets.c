#include "lower/targets.h"

#include "base/str.h"
#include <string.h>

const struct target targets[] = {
#define TARGET(row, ...) {.name = row, __VA_ARGS__},
#include "lower/targets.def"
#undef TARGET
};
const size_t target_count = sizeof targets / sizeof *targets;

const struct target *target_find(const char *name)
{
    for (size_t i = 0; i < target_count; i++)
        if (str_equal(targets[i].name, name))
            return &targets[i];
    return NULL;
}

static const struct {
    const char *begins_with, *row;
} chips[] = {
#define CHIP(begins_with, row) {begins_with, row},
#include "lower/chips.def"
#undef CHIP
};

static bool begins_with(const char *name, const char *lower)
{
    for (; *lower; name++, lower++)
        if ((*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name) != *lower)
            return false;
    return true;
}

const struct target *target_like(const char *name)
{
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (begins_with(name, chips[i].begins_with))
            return target_find(chips[i].row);
    return NULL;
}

static int64_t cache_bytes(const struct target *t, int level)
{
    return (int64_t)(t ? t : &targets[0])->cache_kib[level] * 1024;
}

int64_t target_first_cache(const struct target *t)
{
    return cache_bytes(t, 0);
}

int64_t target_second_cache(const struct target *t)
{
    return cache_bytes(t, 1);
}

int64_t target_near(const struct target *t)
{
    return cache_bytes(t, 0) ? cache_bytes(t, 0) : INT64_MAX;
}

int64_t target_far(const struct target *t)
{
    return cache_bytes(t, 1) ? cache_bytes(t, 1) / 4 : INT64_MAX;
}

int64_t target_thread(const struct target *t)
{
    return (t ? t : &targets[0])->thread;
}

bool target_is_named(const struct target *t)
{
    return t != NULL && t != &targets[0];
}

const char *target_index_type(const struct target *t, int64_t most)
{
    const int64_t int_most = t && t->int_bits >= 32 ? INT32_MAX : INT16_MAX;
    return most <= int_most ? "int" : most <= INT32_MAX ? "int32_t" : "int64_t";
}

bool target_is_narrow(const struct target *t)
{
    return t != NULL && t->int_bits == 16;
}
