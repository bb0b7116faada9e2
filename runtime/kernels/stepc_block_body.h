/* SPDX-License-Identifier: 0BSD */
/* What stepc_block.h says, for elements of the type STEPC_T. */

static STEPC_INLINE void STEPC_OF(pack_tiles)(const int tiles, const int rows, const int depth,
                                              STEPC_T *restrict packed, const int longest, const STEPC_T *restrict a,
                                              const int row_step, const int depth_step, const int with_sums,
                                              const int goes_on, STEPC_T *restrict sums)
{
    STEPC_T acc[32] = {0};
    for (int i = 0; with_sums && goes_on && i < tiles * rows; i++)
        acc[i] = sums[i];
    for (int k = 0; k < depth; k++) {
        for (int t = 0; t < tiles; t++) {
            STEPC_LANE_LOOP
            for (int r = 0; r < rows; r++)
                packed[(t * longest + k) * 8 + r] = a[(t * rows + r) * row_step + k * depth_step];
        }
        if (with_sums) {
            STEPC_SUM_LOOP
            for (int i = 0; i < tiles * rows; i++)
                acc[i] += a[i * row_step + k * depth_step];
        }
    }
    for (int i = 0; with_sums && i < tiles * rows; i++)
        sums[i] = acc[i];
}

/* Why: rows or columns that are far from each other would fall into one set of the cache, and out again before the next
 * tile. */
static STEPC_INLINE void STEPC_OF(pack_rows)(const int tiles, const int rows, const int depth, STEPC_T *restrict packed,
                                             const int longest, const STEPC_T *restrict a, const int row_step,
                                             const int depth_step, const int with_sums, const int goes_on,
                                             STEPC_T *restrict sums)
{
    if (tiles >= 4)
        STEPC_OF(pack_tiles)(4, rows, depth, packed, longest, a, row_step, depth_step, with_sums, goes_on, sums);
    else
        STEPC_OF(pack_tiles)(tiles, rows, depth, packed, longest, a, row_step, depth_step, with_sums, goes_on, sums);
}

/* Rows i .. of m, a literal: whole tiles of those up to `end`, or what is left of one. */
static STEPC_INLINE void STEPC_OF(pack_rows_of)(const int i, const int end, const int m, const int depth,
                                                STEPC_T *restrict packed, const int longest,
                                                const STEPC_T *restrict a, const int row_step, const int depth_step,
                                                const int with_sums, const int goes_on, STEPC_T *restrict sums)
{
    if (STEPC_LIKELY(STEPC_LAST_ROWS(m) == 0 || i + STEPC_PART_ROWS(m) <= m))
        STEPC_OF(pack_rows)((end - i) / STEPC_PART_ROWS(m), STEPC_PART_ROWS(m), depth, packed, longest, a, row_step,
                            depth_step, with_sums, goes_on, sums);
    else
        STEPC_OF(pack_rows)(1, STEPC_LAST_ROWS(m), depth, packed, longest, a, row_step, depth_step, with_sums,
                            goes_on, sums);
}

static STEPC_INLINE void STEPC_OF(ahead)(const int first, const int end, const int rows, const int columns,
                                         const STEPC_T *restrict from, const int step)
{
    for (int i = first; i < end && i < rows; i++) {
        for (int j = 0; j < columns; j += 64 / (int)sizeof(STEPC_T))
            STEPC_AHEAD(from + i * step + j);
    }
}
