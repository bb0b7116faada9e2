/* SPDX-License-Identifier: 0BSD */
/* How kernels use registers: macros that every target defines in its own way. An emitted file may define before it
 *   STEPC_FORM 0            no vectors (--simd none)
 *   STEPC_VECTOR_BYTES N    vectors of N bytes (--simd)
 *   STEPC_SMALL             code size goes before speed (--optimize size) */
#ifndef STEPC_KERNELS_REGISTERS_H
#define STEPC_KERNELS_REGISTERS_H

#include <stdint.h>
#include <string.h>
#include "stepc.h"

/* Every form adds the terms of a sum in the same order, so that all give the same bits when
 * the compiler does not contract (-ffp-contract=off).
 *   2  GNU vectors across columns: a tile of STEPC_TILE_ROWS x STEPC_VECTORS vectors stays in registers
 *   1  C99: an array of lanes for each row, and one loop over the lanes
 *   0  4 x 4 named scalars, for targets without vector registers */
/* Why: with excess precision GCC would have to cut numbers before it multiplies vectors by them, so form 2 is not for
 * that. The loop of form 1 is the shape that both GCC and Clang vectorise. */
#ifndef STEPC_FORM
#if defined(__FRAMAC__)
#define STEPC_FORM 1
#elif defined(__GNUC__) && (defined(__SSE2__) || defined(__aarch64__)) && !defined(STEPC_EXCESS_PRECISION)
#define STEPC_FORM 2
#elif defined(_M_X64) || defined(_M_ARM64) || defined(__riscv_vector)
#define STEPC_FORM 1
#else
#define STEPC_FORM 0
#endif
#endif

/* Hints for the compiler, written before a loop. They change its speed, never its result.
 *   STEPC_UNROLL      a few iterations on vectors in registers: write all of them out
 *   STEPC_UNROLL_4    write out four iterations at a time
 *   STEPC_LANE_LOOP   over the lanes of a vector
 *   STEPC_WIDE_LOOP   over whole vectors of the largest size
 *   STEPC_WHOLE_LOOP  sixteen iterations: whole vectors
 *   STEPC_SHORT_LOOP  eight iterations: one vector
 *   STEPC_SHORT_ROWS  over rows of eight columns
 *   STEPC_SHORT_ROW   over the columns of such a row: one vector
 *   STEPC_SUM_LOOP    over sums side by side, inside the loop over their terms
 *   STEPC_ROW_LOOP    over the rows of a tile just computed, or of a panel */
/* Why: what the compilers would do without these hints.
 *   STEPC_LANE_LOOP   Clang unrolls a short one, then vectorises the loop around it with gathers: 5 times slower
 *   STEPC_WIDE_LOOP   Clang, tuned for a processor on which it prefers 256 bits, uses half of each vector
 *   STEPC_WHOLE_LOOP  GCC unrolls it before it looks for vectors, and finds none where the body selects
 *   STEPC_SHORT_LOOP  GCC unrolls it and leaves some iterations single
 *   STEPC_SHORT_ROW   Clang finds the vector once the inner loop is gone, if it must not make vectors of the outer one
 *   STEPC_SUM_LOOP    Clang keeps the sums in registers only if it may unroll this one
 *   STEPC_ROW_LOOP    Clang unrolls it, takes the first element of the first row by itself, as it knows it, and loads
 *                     the others across the vectors that were stored: they wait until these are in memory; and a
 *                     panel of 128 rows would be 64 kB of code */
#if defined(__clang__) && STEPC_FORM == 2
#pragma clang diagnostic ignored "-Wpass-failed" /* a hint may be impossible to follow */
#define STEPC_UNROLL STEPC_HINT("clang loop unroll(full)")
#define STEPC_UNROLL_4 STEPC_HINT("clang loop unroll_count(4)")
#define STEPC_LANE_LOOP STEPC_HINT("clang loop vectorize(enable) unroll(disable)")
#if defined(__AVX512F__)
#define STEPC_WIDE_LOOP STEPC_HINT("clang loop vectorize_width(16) unroll(disable)")
#else
#define STEPC_WIDE_LOOP STEPC_LANE_LOOP
#endif
#define STEPC_WHOLE_LOOP STEPC_WIDE_LOOP
#define STEPC_SHORT_LOOP STEPC_HINT("clang loop vectorize_width(8) unroll(disable)")
#define STEPC_SHORT_ROWS STEPC_HINT("clang loop vectorize(disable)")
#define STEPC_SHORT_ROW STEPC_UNROLL
#define STEPC_SUM_LOOP STEPC_HINT("clang loop vectorize(enable)")
#define STEPC_ROW_LOOP STEPC_HINT("clang loop unroll(disable)")
#else
#if defined(__GNUC__) && __GNUC__ >= 8 && !(defined(STEPC_SMALL) && STEPC_FORM == 0)
#define STEPC_UNROLL STEPC_HINT("GCC unroll 16")
#define STEPC_UNROLL_4 STEPC_HINT("GCC unroll 4")
#else
#define STEPC_UNROLL
#define STEPC_UNROLL_4
#endif
#if defined(__GNUC__) && __GNUC__ >= 8 && STEPC_FORM == 2
#define STEPC_WHOLE_LOOP STEPC_HINT("GCC unroll 1")
#else
#define STEPC_WHOLE_LOOP
#endif
#define STEPC_SHORT_LOOP STEPC_WHOLE_LOOP
#define STEPC_SHORT_ROW STEPC_WHOLE_LOOP
#define STEPC_SHORT_ROWS
#define STEPC_LANE_LOOP
#define STEPC_WIDE_LOOP
#define STEPC_SUM_LOOP
#define STEPC_ROW_LOOP
#endif

/* A condition that mostly holds: of whole tiles, where one may be left that is not. */
/* Why: GCC would keep sums of both tiles in memory (31 x 32 x 64 with AVX2: 1.2 times the time). */
#if defined(__GNUC__)
#define STEPC_LIKELY(condition) __builtin_expect(condition, 1)
#else
#define STEPC_LIKELY(condition) (condition)
#endif

/* A routine that is no part of its callers. A file may have none: of one for double, say. */
#if defined(__GNUC__)
#define STEPC_ROUTINE STEPC_KERNEL __attribute__((unused))
#else
#define STEPC_ROUTINE STEPC_KERNEL
#endif

/* acc += v * f, vectors and a number, where each addition waits for the one before it. On some processors the product
 * is kept apart from the sum, because there an addition alone is done sooner. */
/* Why: processors of AMD add within 2 cycles, but need 4 to multiply and add in one (64-32-10, one sample: 0.17 instead
 * of 0.21 us). Only where every vector, also of double, fits a register, as the asm needs it. */
#if defined(STEPC_AMD) && defined(__AVX512F__) && STEPC_FORM == 2
#define STEPC_ADD_PRODUCT(acc, v, f)                                                                                   \
    do {                                                                                                               \
        __typeof__(acc) stepc_product = (v) * (f);                                                                     \
        __asm__("" : "+v"(stepc_product));                                                                             \
        (acc) += stepc_product;                                                                                        \
    } while (0)
#else
#define STEPC_ADD_PRODUCT(acc, v, f) ((acc) += (v) * (f))
#endif

/* Between the stores of a tile's sums and the loads of parts of them: the parts are loaded from memory. */
/* Why: GCC would take the parts from the registers, and to be able to, would keep the sums in memory while their terms
 * are added (31 x 63 x 29: twice the time). */
#if defined(__GNUC__) && !defined(__clang__) && STEPC_FORM == 2
#define STEPC_STORED(sums) __asm__("" : "+m"(sums))
#else
#define STEPC_STORED(sums) ((void)0)
#endif

/* Ends the body of a loop around another loop: iterations of the outer one stay apart. */
/* Why: GCC would join two iterations of the outer loop, and walk twice as many places of memory at once (2048 x 784 by
 * columns: 1.3 times the time). */
#if defined(__GNUC__) && !defined(__clang__) && STEPC_FORM == 2
#define STEPC_ONE_ITERATION() __asm__ volatile("")
#else
#define STEPC_ONE_ITERATION() ((void)0)
#endif

/* Asks for the line of memory at p, which is needed soon, to be brought into the second cache. */
#if defined(__GNUC__) && STEPC_FORM == 2
#define STEPC_AHEAD(p) __builtin_prefetch(p, 0, 2)
#else
#define STEPC_AHEAD(p) (void)(p)
#endif

/* A tile is STEPC_TILE_ROWS rows of STEPC_VECTORS vectors: as many as the registers hold. */
/* Why: with 16 registers, 6 rows spill in part with GCC, and leave 2 of 32 over. */
#if STEPC_FORM == 2
#define STEPC_VECTORS 2
#if defined(__AVX512F__) || defined(__aarch64__)
#define STEPC_TILE_ROWS 8
#elif defined(__AVX__) && defined(__FMA__)
#define STEPC_TILE_ROWS 6
#else
#define STEPC_TILE_ROWS 4
#endif
#elif STEPC_FORM == 1
#define STEPC_VECTORS 1
#define STEPC_TILE_ROWS 8
#else
#define STEPC_VECTORS 1
#define STEPC_TILE_ROWS 4
#endif

#if !defined(STEPC_VECTOR_BYTES) && STEPC_FORM == 2
#if defined(__AVX512F__)
#define STEPC_VECTOR_BYTES 64
#elif defined(__AVX__)
#define STEPC_VECTOR_BYTES 32
#else
#define STEPC_VECTOR_BYTES 16
#endif
#elif !defined(STEPC_VECTOR_BYTES) && STEPC_FORM == 1
#if defined(__AVX512F__) || !defined(__GNUC__)
#define STEPC_VECTOR_BYTES 64
#else
#define STEPC_VECTOR_BYTES 32
#endif
#endif

/* Rows of a tile when `rows` are cut into nearly equal parts, none above STEPC_TILE_ROWS. */
#define STEPC_PARTS(rows) (((rows) + STEPC_TILE_ROWS - 1) / STEPC_TILE_ROWS)
#define STEPC_PART_ROWS(rows) (((rows) + STEPC_PARTS(rows) - 1) / STEPC_PARTS(rows))
#define STEPC_LAST_ROWS(rows) ((rows) % STEPC_PART_ROWS(rows))
/* How many the tile has that begins with row i. */
#define STEPC_ROWS_FROM(i, rows)                                                                                       \
    (STEPC_LAST_ROWS(rows) == 0 || (i) + STEPC_PART_ROWS(rows) <= (rows) ? STEPC_PART_ROWS(rows)                       \
                                                                         : STEPC_LAST_ROWS(rows))
/* Elements that are finished together, so many with vectors. Where finishing twice changes nothing, those of the last
 * time overlap the ones before: i, a multiple, becomes where they begin, so that none lies behind `count`, which is
 * not below `lanes`. */
#if STEPC_FORM == 0
#define STEPC_TOGETHER(lanes) 1
#else
#define STEPC_TOGETHER(lanes) (lanes)
#endif
#define STEPC_TOGETHER_FROM(i, lanes, count)                                                                           \
    ((i) + STEPC_TOGETHER(lanes) <= (count) ? (i) : (count) - STEPC_TOGETHER(lanes))
/* Rows of four tiles: transposed, they fill whole cache lines. */
#define STEPC_GROUP_ROWS(rows) (4 * STEPC_PART_ROWS(rows))

#endif
