/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_columns.h says, for elements of the type STEPC_T. */

/* Element k of the columns of a line, which may see the line or not. The first line of the window sees plane z, line
 * y. */
static STEPC_INLINE void STEPC_OF(fill_column_element)(const struct stepc_columns c, STEPC_T *restrict to,
                                                       const STEPC_T *restrict from, const int k, const int z,
                                                       const int y)
{
    const int plane = z + k / (c.held_lines * c.held_columns) % c.held_planes * c.plane_reach,
              line = y + k / c.held_columns % c.held_lines * c.line_reach;
    const int channel = k / (c.held_planes * c.held_lines * c.held_columns);
    if (plane < 0 || plane >= c.planes || line < 0 || line >= c.lines)
        return;
    for (int x = 0; x < c.image_columns; x++) {
        const int column = x - c.column_pad + k % c.held_columns * c.column_reach;
        if (column >= 0 && column < c.columns)
            to[x * c.column + k] = from[((channel * c.planes + plane) * c.lines + line) * c.columns + column];
    }
}

/* The columns of a line. */
static STEPC_INLINE void STEPC_OF(fill_line_of_columns)(const struct stepc_columns c, STEPC_T *restrict to,
                                                        const STEPC_T *restrict from, const int z, const int y,
                                                        const int32_t *restrict at)
{
    const int first = c.column_pad > 0 ? c.column_pad : 0,
              end = c.columns + c.column_pad < c.image_columns ? c.columns + c.column_pad : c.image_columns;
    const int last_z = z + (c.held_planes - 1) * c.plane_reach, last_y = y + (c.held_lines - 1) * c.line_reach;
    const int is_whole = c.held_columns == 1 && z >= 0 && last_z < c.planes && y >= 0 && last_y < c.lines;
    if (is_whole)
        STEPC_OF(interleave_lines)(c.column, end - first, to + first * c.column, c.column,
                                   from + ((z * c.lines + y) * c.columns + first - c.column_pad), at);
    for (int k = 0; k < c.column && !is_whole; k++)
        STEPC_OF(fill_column_element)(c, to, from, k, z, y);
}

static STEPC_INLINE void STEPC_OF(fill_columns)(const struct stepc_columns c, STEPC_T *restrict to,
                                                const STEPC_T *restrict from, const int32_t *restrict at)
{
    for (int z = 0; z < c.image_planes; z++) {
        for (int y = 0; y < c.image_lines; y++)
            STEPC_OF(fill_line_of_columns)(c, to + (z * c.image_lines + y) * (c.image_columns * c.column), from,
                                           z * c.plane_step - c.plane_pad, y * c.line_step - c.line_pad, at);
    }
}

/* Some rows, vectors of a run. */
static STEPC_INLINE void STEPC_OF(add_vector_sums)(const int rows, const int vectors,
                                                   const struct stepc_window_terms k, STEPC_T *restrict total,
                                                   const int total_step, const STEPC_T *restrict image,
                                                   const STEPC_T *restrict dy)
{
    STEPC_T sum[STEPC_WINDOW_TILE_ROWS * STEPC_WINDOW_VECTORS * STEPC_WINDOW_LANES(STEPC_T)];
    const int step = vectors * STEPC_WINDOW_LANES(STEPC_T);
    STEPC_OF(window_tile)(rows, vectors, k, sum, step, dy, image, STEPC_WINDOW_LANES(STEPC_T));
    for (int i = 0; i < rows; i++) {
        STEPC_LANE_LOOP
        for (int l = 0; l < step; l++)
            total[i * total_step + l] += sum[i * step + l];
    }
}

/* Some rows, all of the runs. */
static STEPC_INLINE void STEPC_OF(add_run_sums)(const int rows, const struct stepc_window_terms k,
                                                const struct stepc_runs r, STEPC_T *restrict total,
                                                const STEPC_T *restrict image, const int32_t *restrict at,
                                                const STEPC_T *restrict dy)
{
    const int vectors = STEPC_LINE_VECTORS_OF(STEPC_T, r.length), most = STEPC_PART_VECTORS(vectors, rows);
    const int whole = vectors - vectors % most;
    for (int i = 0; i < r.runs; i++) {
        STEPC_T *const to = total + i * r.step;
        const STEPC_T *const from = image + at[i];
        for (int v = 0; v < whole; v += most)
            STEPC_OF(add_vector_sums)(rows, most, k, to + v * STEPC_WINDOW_LANES(STEPC_T), r.runs * r.step,
                                      from + v * STEPC_WINDOW_LANES(STEPC_T), dy);
        if (vectors % most > 0)
            STEPC_OF(add_vector_sums)(rows, vectors % most, k, to + whole * STEPC_WINDOW_LANES(STEPC_T),
                                      r.runs * r.step, from + whole * STEPC_WINDOW_LANES(STEPC_T), dy);
    }
}

static STEPC_INLINE void STEPC_OF(add_window_sums)(const int rows, const int first, const int end,
                                                   const struct stepc_window_terms k, const struct stepc_runs r,
                                                   STEPC_T *restrict total, const STEPC_T *restrict image,
                                                   const int32_t *restrict at, const STEPC_T *restrict dy)
{
    const int part = STEPC_WINDOW_ROWS(rows), rest = STEPC_WINDOW_LAST_ROWS(rows);
    const int whole = first + (end - first) / part * part;
    for (int o = first; o < whole; o += part)
        STEPC_OF(add_run_sums)(part, k, r, total + o * (r.runs * r.step), image, at, dy + o * k.w_row);
    if (rest > 0 && whole < end)
        STEPC_OF(add_run_sums)(rest, k, r, total + whole * (r.runs * r.step), image, at, dy + whole * k.w_row);
}

static STEPC_INLINE void STEPC_OF(order_weights)(const int channels, const int taps, const int held,
                                                 STEPC_T *restrict to, const STEPC_T *restrict total,
                                                 const int32_t *restrict places)
{
    for (int c = 0; c < channels; c++) {
        for (int t = 0; t < taps; t++)
            to[c * taps + t] = total[c * held + places[t]];
    }
}
