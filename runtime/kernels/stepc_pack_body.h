/* SPDX-License-Identifier: 0BSD */
/* What stepc_pack.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2
/* to[4,4] = r', four rows of four */
static STEPC_INLINE void STEPC_OF(store_transposed)(STEPC_T *restrict to, const int to_step,
                                                    const STEPC_OF(quad) *restrict r)
{
    STEPC_OF(quad) transposed[4] = {r[0], r[1], r[2], r[3]};
    STEPC_OF(transpose_quads)(transposed);
    *(STEPC_OF(quad_at) *)to = transposed[0];
    *(STEPC_OF(quad_at) *)(to + to_step) = transposed[1];
    *(STEPC_OF(quad_at) *)(to + 2 * to_step) = transposed[2];
    *(STEPC_OF(quad_at) *)(to + 3 * to_step) = transposed[3];
}

/* to[4,4] = from[rows,4]', missing rows are zeros */
static STEPC_INLINE void STEPC_OF(transpose_4x4)(STEPC_T *restrict to, const int to_step, const STEPC_T *restrict from,
                                                 const int from_step, const int rows)
{
    STEPC_OF(quad) r[4] = {{0}};
    if (rows > 0)
        r[0] = *(const STEPC_OF(quad_at) *)from;
    if (rows > 1)
        r[1] = *(const STEPC_OF(quad_at) *)(from + from_step);
    if (rows > 2)
        r[2] = *(const STEPC_OF(quad_at) *)(from + 2 * from_step);
    if (rows > 3)
        r[3] = *(const STEPC_OF(quad_at) *)(from + 3 * from_step);
    STEPC_OF(store_transposed)(to, to_step, r);
}

/* to[4,STEPC_FOURS_LANES] = from[STEPC_FOURS_LANES,4]' */
static STEPC_INLINE void STEPC_OF(transpose_rows_of_four)(STEPC_T *restrict to, const int to_step,
                                                          const STEPC_T *restrict from, const int from_step)
{
    STEPC_OF(fours)
    r[4] = {STEPC_FOUR_OF_ROW(from, from + 4 * from_step), STEPC_FOUR_OF_ROW(from + from_step, from + 5 * from_step),
            STEPC_FOUR_OF_ROW(from + 2 * from_step, from + 6 * from_step),
            STEPC_FOUR_OF_ROW(from + 3 * from_step, from + 7 * from_step)};
    STEPC_OF(transpose_fours)(r);
    *(STEPC_OF(fours_at) *)to = r[0];
    *(STEPC_OF(fours_at) *)(to + to_step) = r[1];
    *(STEPC_OF(fours_at) *)(to + 2 * to_step) = r[2];
    *(STEPC_OF(fours_at) *)(to + 3 * to_step) = r[3];
}
#endif

static STEPC_INLINE void STEPC_OF(pack)(STEPC_T *restrict panel, const int width, const STEPC_T *restrict b,
                                        const int row_step, const int column_step, const int columns, const int depth)
{
    STEPC_ROW_LOOP
    for (int k = 0; columns == width && k < depth; k++) {
        STEPC_LANE_LOOP
        for (int j = 0; j < width; j++)
            panel[k * width + j] = b[k * row_step + j * column_step];
    }
    STEPC_ROW_LOOP
    for (int k = 0; columns < width && k < depth; k++) {
        STEPC_LANE_LOOP
        for (int j = 0; j < width; j++)
            panel[k * width + j] = j < columns ? b[k * row_step + j * column_step] : 0;
    }
}

/* panel[depth,width] = b[columns,depth]', columns <= width, missing ones are zeros, b_step from row to row of b: rows
 * of a panel lie in memory as a whole. */
/* Why: in 4 x 4 blocks of vectors this is five times faster than one by one. */
static STEPC_INLINE void STEPC_OF(pack_transposed)(STEPC_T *restrict panel, const int width, const STEPC_T *restrict b,
                                                   const int b_step, const int columns, const int depth)
{
    const int blocked = STEPC_FORM == 2 && width % 4 == 0 ? depth - depth % 4 : 0; /* two doubles are no block */
#if STEPC_FORM == 2
    for (int k = 0; k < blocked; k += 4) {
        int j = 0;
        for (; j + STEPC_FOURS_LANES <= columns; j += STEPC_FOURS_LANES)
            STEPC_OF(transpose_rows_of_four)(panel + k * width + j, width, b + j * b_step + k, b_step);
        for (; j + 4 <= columns; j += 4)
            STEPC_OF(transpose_4x4)(panel + k * width + j, width, b + j * b_step + k, b_step, 4);
        for (; j < width; j += 4)
            STEPC_OF(transpose_4x4)(panel + k * width + j, width, b + (j < columns ? j * b_step + k : 0), b_step,
                columns - j);
    }
#endif
    for (int k = blocked; k < depth; k++) {
        for (int j = 0; j < width; j++)
            panel[k * width + j] = j < columns ? b[j * b_step + k] : 0;
    }
}

/* The last blocks of four overlap those before them. */
static STEPC_INLINE void STEPC_OF(transpose_back)(STEPC_T *restrict to, const int to_step, const STEPC_T *restrict from,
                                                  const int from_step, const int rows, const int columns)
{
#if STEPC_FORM == 2
    for (int i = 0; rows >= 4 && columns >= 4 && i < rows; i += 4) {
        const int row = i + 4 <= rows ? i : rows - 4;
        for (int j = 0; j < columns; j += 4) {
            const int column = j + 4 <= columns ? j : columns - 4;
            STEPC_OF(transpose_4x4)(to + row * to_step + column, to_step, from + column * from_step + row, from_step,
                4);
        }
    }
    if (rows >= 4 && columns >= 4)
        return;
#endif
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            to[i * to_step + j] = from[j * from_step + i];
}
