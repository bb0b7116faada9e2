/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_lines.h says, for elements of the type STEPC_T. */

/* to[columns] = from[columns] */
static STEPC_INLINE void STEPC_OF(copy_line)(const int columns, STEPC_T *restrict to, const STEPC_T *restrict from)
{
#if STEPC_FORM == 2
    const int whole = columns - columns % STEPC_WINDOW_LANES(STEPC_T),
              most = STEPC_WINDOW_LANES(STEPC_T) < 4 ? whole : columns - columns % 4;
    for (int x = 0; x < whole; x += STEPC_WINDOW_LANES(STEPC_T))
        *(STEPC_OF(window_vec_at) *)(to + x) = *(const STEPC_OF(window_vec_at) *)(from + x);
    STEPC_UNROLL
    for (int x = whole; x < most; x += 4)
        *(STEPC_OF(quad_at) *)(to + x) = *(const STEPC_OF(quad_at) *)(from + x);
#else
    const int most = 0;
#endif
    for (int x = most; x < columns; x++)
        to[x] = from[x];
}

/* How many elements are copied of a line of so many, where others follow: whole vectors if the last one gets more than
 * four, else fours; neither if what is too much would lie beyond the next line. */
static STEPC_INLINE int STEPC_OF(copied_elements)(const int columns, const int to_step, const int from_step)
{
#if STEPC_FORM == 2
    const int whole =
        (columns + STEPC_WINDOW_LANES(STEPC_T) - 1) / STEPC_WINDOW_LANES(STEPC_T) * STEPC_WINDOW_LANES(STEPC_T);
    const int in_fours = (columns + 3) / 4 * 4;
    if (columns % STEPC_WINDOW_LANES(STEPC_T) > 4 && whole <= to_step + columns && whole <= from_step + columns)
        return whole;
    return in_fours <= to_step + columns && in_fours <= from_step + columns ? in_fours : columns;
#else
    (void)to_step, (void)from_step;
    return columns;
#endif
}

/* to[l * to_step + x] = from[l * from_step + x]; `gap` zeros behind each line. All lines but the last are written in
 * whole vectors, too far: what is overwritten are zeros, or belongs to the next line, which comes after. */
static STEPC_INLINE void STEPC_OF(copy_lines)(const int lines, const int columns, const int gap, STEPC_T *restrict to,
                                              const int to_step, const STEPC_T *restrict from, const int from_step)
{
    const int copied = STEPC_OF(copied_elements)(columns, to_step, from_step);
    for (int l = 0; l < lines - 1; l++) {
        STEPC_OF(copy_line)(copied, to + l * to_step, from + l * from_step);
        for (int x = columns; x < columns + gap && x < copied; x++)
            to[l * to_step + x] = 0;
    }
    STEPC_OF(copy_line)(columns, to + (lines - 1) * to_step, from + (lines - 1) * from_step);
}

static STEPC_INLINE void STEPC_OF(copy_planes)(const int planes, const int lines, const int columns, const int gap,
                                               STEPC_T *restrict to, const int to_plane, const int to_line,
                                               const STEPC_T *restrict from)
{
    for (int z = 0; z < planes; z++)
        STEPC_OF(copy_lines)(lines, columns, gap, to + z * to_plane, to_line, from + z * (lines * columns), columns);
}

/* to[x * to_step + k] = from[at[k] + x]: lines come to lie side by side. In blocks of 4 x 4, the last of which overlap
 * those before them; a single line that is left over is copied. */
static STEPC_INLINE void STEPC_OF(interleave_lines)(const int lines, const int columns, STEPC_T *restrict to,
                                                    const int to_step, const STEPC_T *restrict from,
                                                    const int32_t *restrict at)
{
#if STEPC_FORM == 2
    if (lines >= 4 && columns >= 4) {
        const int left = lines % 4 == 1, end = lines - left;
        for (int k = 0; k < end; k += 4) {
            const int first = k + 4 <= end ? k : end - 4;
            for (int x = 0; x < columns; x += 4) {
                const int column = x + 4 <= columns ? x : columns - 4;
                const STEPC_T *const line = from + column;
                const STEPC_OF(quad) r[4] = {*(const STEPC_OF(quad_at) *)(line + at[first]),
                                             *(const STEPC_OF(quad_at) *)(line + at[first + 1]),
                                             *(const STEPC_OF(quad_at) *)(line + at[first + 2]),
                                             *(const STEPC_OF(quad_at) *)(line + at[first + 3])};
                STEPC_OF(store_transposed)(to + column * to_step + first, to_step, r);
            }
        }
        for (int x = 0; left && x < columns; x++)
            to[x * to_step + end] = from[at[end] + x];
        return;
    }
#endif
    for (int k = 0; k < lines; k++) {
        for (int x = 0; x < columns; x++)
            to[x * to_step + k] = from[at[k] + x];
    }
}
