/* SPDX-License-Identifier: 0BSD */
/* From here to stepc_level_end.h a file is compiled for the level STEPC_LEVEL (stepc_levels.h). No guard: once for each
 * level. The headers of kernels are read again; they ask the compiler's macros what the level has. */

/* Why: Clang does not know GCC's pragma, and where it is told what a function may use, its macros stay those of its
 * options; GCC's do, too, where it only preprocesses. So those that the headers ask are defined here. */
#if STEPC_LEVEL >= 3 && !defined(__AVX__)
#define STEPC_LEVEL_ADDS_AVX
#endif
/* Why: GCC orders instructions for a processor of the level then, not for those of all times (the digits' MLP: 0.7 of
 * the time on a Xeon with AVX-512, 0.85 on an EPYC with AVX2). Clang gains nothing by it. */
#if STEPC_LEVEL == 4 && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,popcnt,avx512f,avx512bw,avx512cd,avx512dq,"      \
                                                   "avx512vl"))),                                                      \
                             apply_to = function)
#elif STEPC_LEVEL == 4
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,tune=icelake-server")
#elif STEPC_LEVEL == 3 && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,popcnt"))), apply_to = function)
#elif STEPC_LEVEL == 3
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt,tune=haswell")
#endif
#if STEPC_LEVEL >= 3 && !defined(__AVX__)
#define __AVX__ 1
#define __AVX2__ 1
#define __FMA__ 1
#endif
#if STEPC_LEVEL >= 4 && !defined(__AVX512F__)
#define __AVX512F__ 1
#endif

/* LEVEL: what stepc.h defines by the same macros. */
#undef STEPC_NOINLINE
#if !defined(__clang__) && defined(__FMA__)
#define STEPC_NOINLINE __attribute__((noinline, noclone))
#else
#define STEPC_NOINLINE __attribute__((noinline))
#endif
#undef STEPC_WIDE
#undef STEPC_WIDE_VECTORS
#if defined(__AVX512F__) && defined(__clang__)
#define STEPC_WIDE __attribute__((min_vector_width(512)))
#define STEPC_WIDE_VECTORS
#elif defined(__AVX512F__)
#define STEPC_WIDE
#define STEPC_WIDE_VECTORS __attribute__((target("prefer-vector-width=512")))
#else
#define STEPC_WIDE
#define STEPC_WIDE_VECTORS
#endif
#undef STEPC_REST
#if defined(__clang__) && defined(__AVX__)
#define STEPC_REST(n) 16
#else
#define STEPC_REST(n) (n)
#endif

/* What the headers define by them. */
#undef STEPC_ADD_PRODUCT
#undef STEPC_ADD_TERM
#undef STEPC_AHEAD
#undef STEPC_ALL_LANES
#undef STEPC_ARITHMETIC_CHECK
#undef STEPC_CHANNEL_TAPS
#undef STEPC_COLUMN_LANES
#undef STEPC_EIGHT_LANES
#undef STEPC_EVEN
#undef STEPC_EVENS
#undef STEPC_EVENS_IN_HALVES
#undef STEPC_EVEN_IN_HALVES
#undef STEPC_EXCHANGE_LANES
#undef STEPC_FAST_INLINE
#undef STEPC_FIRST_LANE
#undef STEPC_FIRST_TWO
#undef STEPC_FOURS_LANES
#undef STEPC_FOUR_OF_ROW
#undef STEPC_INTEGERS
#undef STEPC_JOINED_FOUR
#undef STEPC_JOINED_QUADS
#undef STEPC_JOIN_FIRST
#undef STEPC_JOIN_FIRSTS
#undef STEPC_JOIN_LAST
#undef STEPC_JOIN_LASTS
#undef STEPC_KEPT_VECTORS
#undef STEPC_LANES
#undef STEPC_LANE_LOOP
#undef STEPC_LAST_TWO
#undef STEPC_LIKELY
#undef STEPC_LINE_VECTORS
#undef STEPC_LOOP_INLINE
#undef STEPC_NARROW_GROUP
#undef STEPC_NARROW_LANES
#undef STEPC_NARROW_QUADS
#undef STEPC_NARROW_ROWS
#undef STEPC_NARROW_WIDTH
#undef STEPC_ODD
#undef STEPC_ODDS
#undef STEPC_ODDS_IN_HALVES
#undef STEPC_ODD_IN_HALVES
#undef STEPC_ONE_ITERATION
#undef STEPC_PRAGMA
#undef STEPC_ROUTINE
#undef STEPC_ROWS_AT_ONCE
#undef STEPC_ROW_LOOP
#undef STEPC_SECOND_LANE
#undef STEPC_SHORT_LOOP
#undef STEPC_SHORT_ROW
#undef STEPC_SHORT_ROWS
#undef STEPC_SHUFFLE
#undef STEPC_SHUFFLE_LANES
#undef STEPC_SPREAD
#undef STEPC_STORED
#undef STEPC_SUMS_READ
#undef STEPC_SUM_LOOP
#undef STEPC_TILE_ROWS
#undef STEPC_TOGETHER
#undef STEPC_TRANSPOSED_LANES
#undef STEPC_TRANSPOSES_IN_BLOCKS
#undef STEPC_TRANSPOSE_FOUR
#undef STEPC_TWO_WHOLE
#undef STEPC_UNROLL
#undef STEPC_UNROLL_4
#undef STEPC_UPDATED_AT_ONCE
#undef STEPC_VECTORS
#undef STEPC_VECTOR_BYTES
#undef STEPC_WHOLE_LOOP
#undef STEPC_WIDE_LOOP
#undef STEPC_WINDOW_COST_4
#undef STEPC_WINDOW_COST_6
#undef STEPC_WINDOW_FAR_BYTES
#undef STEPC_WINDOW_IS_FAR
#undef STEPC_WINDOW_LANES
#undef STEPC_WINDOW_ROWS
#undef STEPC_WINDOW_TILE_ROWS
#undef STEPC_WINDOW_VECTORS
#undef STEPC_WINDOW_VECTORS_OF

/* The headers. */
#undef STEPC_HYPERBOLIC_H
#undef STEPC_INTEGER_H
#undef STEPC_KERNELS_ARITHMETIC_H
#undef STEPC_KERNELS_BLOCK_H
#undef STEPC_KERNELS_COLUMN_SUMS_H
#undef STEPC_KERNELS_COMPILER_H
#undef STEPC_KERNELS_LABELS_H
#undef STEPC_KERNELS_NARROW_H
#undef STEPC_KERNELS_PACK_H
#undef STEPC_KERNELS_QUAD_H
#undef STEPC_KERNELS_REGISTERS_H
#undef STEPC_KERNELS_REPRODUCIBLE_H
#undef STEPC_KERNELS_ROW_SUMS_H
#undef STEPC_KERNELS_SHARES_H
#undef STEPC_KERNELS_SUM_H
#undef STEPC_KERNELS_TILE_H
#undef STEPC_KERNELS_TILE_SUMS_H
#undef STEPC_KERNELS_TRANSPOSE_H
#undef STEPC_KERNELS_WINDOW_ADJOINTS_H
#undef STEPC_KERNELS_WINDOW_BATCH_H
#undef STEPC_KERNELS_WINDOW_CHANNELS_H
#undef STEPC_KERNELS_WINDOW_COLUMNS_H
#undef STEPC_KERNELS_WINDOW_FINITE_H
#undef STEPC_KERNELS_WINDOW_IMAGE_H
#undef STEPC_KERNELS_WINDOW_KEPT_H
#undef STEPC_KERNELS_WINDOW_LANES_H
#undef STEPC_KERNELS_WINDOW_LINES_H
#undef STEPC_KERNELS_WINDOW_LINE_H
#undef STEPC_KERNELS_WINDOW_PHASES_H
#undef STEPC_KERNELS_WINDOW_ROWS_H
#undef STEPC_KERNELS_WINDOW_SKIP_H
#undef STEPC_KERNELS_WINDOW_SPAN_H
#undef STEPC_KERNELS_WINDOW_TILE_H
#undef STEPC_MATH_H
#undef STEPC_RANDOM_H
#undef STEPC_ROUNDING_H
#undef STEPC_TRIGONOMETRY_H
