/* SPDX-License-Identifier: 0BSD */
/* Rows combined by index: out[o][s][i] = finish(what was there, and with it updates[o][k][i] for all k whose index is
 * s, in order of k). Combined: added, multiplied, the greater or the lesser one (a NaN stays), or the later one. What
 * was there: data[o][s][i], or 0. Negative indices count from the end; they were checked before, the comparison with
 * SIZE shows it to a prover.
 *
 * `chain` holds, for each index, the first row that has it (SIZE numbers), then for each row the next one with the same
 * index (ROWS numbers); -1 ends a chain. So every element is finished once, in order, and out is not read. Where a row
 * is one element, or its columns have indices of their own, there are no chains: `sums` holds what becomes of each
 * index, for COLUMNS columns at a time. Functions that call the hole name nothing as a parameter of the kernel: what
 * the hole reads may be that very operand. */
#include "kernels/stepc_registers.h"
#include "stepc_integer.h"
#include "template.h"

enum HOLE {
    OUTER = 2, ROWS = 7, SIZE = 4, INNER = 70,
    INDEX_OUTER = 0, INDEX_STRIDE = 1, INDEX_COL = 0,
    BY_CHAINS = 1, COLUMNS = 1, /* or by sums of so many columns at a time */
    DY_OUTER = 490, DY_ROW = 70, DY_COL = 1,
    HAS_DATA = 0, DATA_OUTER = 0, DATA_ROW = 0, DATA_COL = 0,
    REDUCTION = 0, /* 0 add, 1 multiply, 2 greater, 3 lesser, 4 later */
    FLOATS = 1,    /* is T a floating type? */
    SIGNED = 0     /* bits of a signed integer type */
};
typedef float T HOLE;
typedef int64_t INDICES HOLE; /* type of an index */

static T out[OUTER * SIZE * INNER]; /* sample */
static inline void HOLE finish(int o, int s, int i, T sum)
{
    out[(o * SIZE + s) * INNER + i] = sum;
}

static inline int row_of(const INDICES index)
{
    const INDICES wrapped = index < 0 ? index + SIZE : index;
    return wrapped >= 0 && wrapped < SIZE ? (int)wrapped : 0;
}

/* From the last row to the first, so that chains run in ascending order. */
static inline void link_rows(int32_t *restrict first, int32_t *restrict next, const INDICES *restrict index)
{
    for (int s = 0; s < SIZE; s++)
        first[s] = -1;
    for (int k = ROWS - 1; k >= 0; k--) {
        const int s = row_of(index[k * INDEX_STRIDE]);
        next[k] = first[s];
        first[s] = (int32_t)k;
    }
}

/* Integers wrap. */
static STEPC_INLINE T integer(const uint64_t v)
{
    return SIGNED == 8    ? (T)stepc_signed8((uint32_t)v)
           : SIGNED == 16 ? (T)stepc_signed16((uint32_t)v)
           : SIGNED == 32 ? (T)stepc_signed32((uint32_t)v)
           : SIGNED == 64 ? (T)stepc_signed64(v)
                          : (T)v;
}

static STEPC_INLINE T together(const T sum, const T v)
{
    if (REDUCTION == 0) {
        return FLOATS ? sum + v : integer((uint64_t)sum + (uint64_t)v);
    } else if (REDUCTION == 1) {
        return FLOATS ? sum * v : integer((uint64_t)sum * (uint64_t)v);
    } else if (REDUCTION == 2) {
        return FLOATS ? (v > sum || v != v ? v : sum) : v > sum ? v : sum;
    } else {
        return FLOATS ? (v < sum || v != v ? v : sum) : v < sum ? v : sum;
    }
}

/* Columns i .. i + count - 1 of row s. */
static STEPC_INLINE void add_chain(const int count, const int o, const int s, const int i, const T *restrict rows,
                                   const T *restrict there, const int32_t *restrict first, const int32_t *restrict next)
{
    T sum[INNER < 64 ? INNER : 64] = {(T)0};
    if (HAS_DATA) {
        const T *const start = there + o * DATA_OUTER + s * DATA_ROW + i * DATA_COL;
        STEPC_LANE_LOOP
        for (int l = 0; l < count; l++)
            sum[l] = start[l * DATA_COL];
    }
    for (int32_t k = first[s]; k >= 0; k = next[k]) {
        const T *const row = rows + o * DY_OUTER + (int)k * DY_ROW + i * DY_COL;
        STEPC_LANE_LOOP
        for (int l = 0; l < count; l++)
            sum[l] = REDUCTION == 4 ? row[l * DY_COL] : together(sum[l], row[l * DY_COL]);
    }
    for (int l = 0; l < count; l++) {
        const T v = sum[l];
        finish(o, s, i + l, v);
    }
}

/* All columns of all rows, in the order of memory. */
static STEPC_INLINE void whole_rows(const int o, const T *restrict rows, const T *restrict there,
                                    const int32_t *restrict links)
{
    for (int s = 0; s < SIZE; s++) {
        if (INNER >= 64) {
            for (int i = 0; i < INNER - INNER % 64; i += 64)
                add_chain(64, o, s, i, rows, there, links, links + SIZE);
        }
        if (INNER % 64 > 0)
            add_chain(INNER % 64, o, s, INNER - INNER % 64, rows, there, links, links + SIZE);
    }
}

/* Columns i .. i + count - 1 of all rows. */
static STEPC_INLINE void add_columns(const int count, const int o, const int i, const INDICES *restrict index,
                                     const T *restrict rows, const T *restrict there, T *restrict sum)
{
    for (int s = 0; s < SIZE; s++) {
        STEPC_LANE_LOOP
        for (int l = 0; l < count; l++)
            sum[s * count + l] = HAS_DATA ? there[o * DATA_OUTER + s * DATA_ROW + (i + l) * DATA_COL] : (T)0;
    }
    for (int k = 0; k < ROWS; k++) {
        for (int l = 0; l < count; l++) {
            const int at = row_of(index[k * INDEX_STRIDE + l * INDEX_COL]) * count + l;
            const T v = rows[o * DY_OUTER + k * DY_ROW + (i + l) * DY_COL];
            sum[at] = REDUCTION == 4 ? v : together(sum[at], v);
        }
    }
    for (int s = 0; s < SIZE; s++) {
        for (int l = 0; l < count; l++) {
            const T v = sum[s * count + l];
            finish(o, s, i + l, v);
        }
    }
}

KERNEL static void scatter_rows(const INDICES *restrict indices, const T *restrict dy, const T *restrict data,
                                int32_t *restrict chain, T *restrict sums)
{
    if (BY_CHAINS && INDEX_OUTER == 0)
        link_rows(chain, chain + SIZE, indices);
    for (int o = 0; o < OUTER; o++) {
        if (BY_CHAINS) {
            if (INDEX_OUTER != 0)
                link_rows(chain, chain + SIZE, indices + o * INDEX_OUTER);
            whole_rows(o, dy, HAS_DATA ? data : dy, chain);
        } else {
            const INDICES *const index = indices + o * INDEX_OUTER;
            for (int i = 0; i + COLUMNS <= INNER; i += COLUMNS)
                add_columns(COLUMNS, o, i, index + i * INDEX_COL, dy, HAS_DATA ? data : dy, sums);
            if (INNER % COLUMNS > 0) {
                const int i = INNER - INNER % COLUMNS;
                add_columns(INNER % COLUMNS, o, i, index + i * INDEX_COL, dy, HAS_DATA ? data : dy, sums);
            }
        }
    }
}
