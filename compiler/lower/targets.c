#include "lower/targets.h"

#include "base/str.h"
#include <string.h>

const struct target targets[] = {
#define TARGET(name, vector, registers, fused, int_bits, cache_1, cache_2, thread, small, has, may, description) \
    {name, vector, registers, fused, int_bits, {cache_1, cache_2}, thread, small, has, may, description},
#include "lower/targets.def"
#undef TARGET
};
const size_t target_count = sizeof targets / sizeof *targets;

const char *const target_macros[] = {"__SSE2__", "__SSE4A__",   "STEPC_AMD", "__AVX__",        "__AVX512F__",
                                     "__FMA__",  "__aarch64__", "__arm__",   "__riscv_vector", "__riscv_fsqrt",
                                     "__riscv_flen", "_M_X64",  "_M_ARM64"};
const size_t target_macro_count = sizeof target_macros / sizeof *target_macros;

const struct target *target_find(const char *name)
{
    for (size_t i = 0; i < target_count; i++)
        if (str_equal(targets[i].name, name))
            return &targets[i];
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

static bool is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && !strncmp(at, word, length))
            return true;
    return false;
}

bool target_defines(const struct target *t, const char *macro)
{
    return target_is_named(t) && is_listed(t->has, macro);
}

bool target_may_define(const struct target *t, const char *macro)
{
    return !target_is_named(t) || is_listed(t->has, macro) || is_listed(t->may, macro);
}
