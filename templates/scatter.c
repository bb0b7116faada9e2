/* SPDX-License-Identifier: 0BSD */
/* Rows added up by index: out[o][s][i] = finish(the sum of dy[o][k][i] over all k with indices[k] = s), in order of k from zero.
 * Negative indices count from the end; they were checked before, the comparison with SIZE shows it to a prover.
 *
 * `chain` holds, for each index, the first row that has it (SIZE numbers), then for each row the next one with the same index
 * (ROWS numbers); -1 ends a chain. So every element is finished once, in order, and out is not read. */
#include "registers.h"
#include "template.h"

enum HOLE {
    OUTER = 2, ROWS = 7, SIZE = 4, INNER = 70,
    INDEX_STRIDE = 1,
    DY_OUTER = 490, DY_ROW = 70, DY_COL = 1
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

/* Columns i .. i + count - 1 of row s. */
static STEPC_INLINE void add_chain(const int count, const int o, const int s, const int i, const T *restrict rows,
                                   const int32_t *restrict first, const int32_t *restrict next)
{
    T sum[INNER < 64 ? INNER : 64] = {(T)0};
    for (int32_t k = first[s]; k >= 0; k = next[k]) {
        const T *const row = rows + o * DY_OUTER + (int)k * DY_ROW + i * DY_COL;
        STEPC_LANE_LOOP
        for (int l = 0; l < count; l++)
            sum[l] += row[l * DY_COL];
    }
    for (int l = 0; l < count; l++) {
        const T v = sum[l];
        finish(o, s, i + l, v);
    }
}

KERNEL static void scatter_add_rows(const INDICES *restrict indices, const T *restrict dy, int32_t *restrict chain)
{
    link_rows(chain, chain + SIZE, indices);
    for (int o = 0; o < OUTER; o++) {
        for (int s = 0; s < SIZE; s++) {
            if (INNER >= 64) {
                for (int i = 0; i < INNER - INNER % 64; i += 64)
                    add_chain(64, o, s, i, dy, chain, chain + SIZE);
            }
            if (INNER % 64 > 0)
                add_chain(INNER % 64, o, s, INNER - INNER % 64, dy, chain, chain + SIZE);
        }
    }
}
