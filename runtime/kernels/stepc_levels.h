/* SPDX-License-Identifier: 0BSD */
/* Levels of x86 that one file is compiled for (stepc compile --dispatch). Level 1 is what the compiler's options say, 3
 * is x86-64-v3 (AVX2, FMA), 4 is x86-64-v4 (AVX-512). The file includes itself once for each level above 1, where this
 * header defines STEPC_LEVELS: with GCC and Clang for x86 of 64 bits, unless their options say AVX-512 already. A port
 * may define before it
 *   STEPC_NO_LEVELS           the file is compiled once, for what the compiler's options say
 *   STEPC_NO_LEVEL_VARIABLE   stepc_level() does not read the environment */
#ifndef STEPC_KERNELS_LEVELS_H
#define STEPC_KERNELS_LEVELS_H

#include "stepc.h"

/* Why: on Windows GCC takes the stack for aligned as wide vectors want it, which it is not (its bug 54412). */
#if defined(__x86_64__) && !defined(STEPC_NO_LEVELS) && !defined(__AVX512F__) && !defined(__FRAMAC__)
#if defined(__clang__) && __clang_major__ >= 9
#define STEPC_LEVELS
#elif !defined(__clang__) && !defined(__INTEL_COMPILER) && !defined(_WIN32) && !defined(__CYGWIN__) && \
    defined(__GNUC__) && __GNUC__ >= 8
#define STEPC_LEVELS
#endif
#endif

#if defined(STEPC_LEVELS)

#if __STDC_HOSTED__ && !defined(STEPC_NO_LEVEL_VARIABLE)
#include <stdlib.h>
#endif
#include <string.h>

/* The highest level whose code this processor and its system execute, and none above what the environment variable
 * STEPC_LEVEL names: x86-64, x86-64-v2, x86-64-v3 or x86-64-v4. */
/* Why: what a processor can was noted when the program started, so that this takes a few nanoseconds, and the variable
 * 20 to 60 by the size of the environment. */
static inline int stepc_level(void)
{
    int level = 1;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        level = 3;
    if (level == 3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        level = 4;
#if __STDC_HOSTED__ && !defined(STEPC_NO_LEVEL_VARIABLE)
    const char *const most = getenv("STEPC_LEVEL");
    if (most != NULL && (strcmp(most, "x86-64") == 0 || strcmp(most, "x86-64-v2") == 0))
        level = 1;
    if (most != NULL && level > 3 && strcmp(most, "x86-64-v3") == 0)
        level = 3;
#endif
    return level;
}

/* In an entry: runs it by the code of a level, if `level` is not below that. Options that say AVX have that of level 3
 * already. */
#define STEPC_ON_LEVEL_4(level, call)                                                                                  \
    if ((level) >= 4)                                                                                                  \
    return call
#if !defined(__AVX__)
#define STEPC_ON_LEVEL_3(level, call)                                                                                  \
    if ((level) >= 3)                                                                                                  \
    return call
#else
#define STEPC_ON_LEVEL_3(level, call) (void)(level)
#endif

/* What a function is called on the level at hand: compute_hidden is compute_hidden_v3 on level 3. */
#define STEPC_LEVEL_JOIN(name, level) name##_v##level
#define STEPC_LEVEL_EXPAND(name, level) STEPC_LEVEL_JOIN(name, level)
#define STEPC_LEVEL_NAME(name) STEPC_LEVEL_EXPAND(name, STEPC_LEVEL)

#include "stepc_level_names.h"

/* Before the entries of a level, which others call. */
#define STEPC_LEVEL_ENTRY static
#else
#define STEPC_LEVEL_ENTRY
#endif

#endif
