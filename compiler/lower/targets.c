#include "lower/targets.h"

#include "base/str.h"
#include <string.h>

const struct target targets[] = {
#define TARGET(name, vector, registers, fused, int_bits, cache_1, cache_2, small, has, may, description) \
    {name, vector, registers, fused, int_bits, {cache_1, cache_2}, small, has, may, description},
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
