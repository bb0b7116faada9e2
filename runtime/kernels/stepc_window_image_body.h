/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_image.h says, for elements of the type STEPC_T. */

/* Column j of all phases of a line: phase p has from[j * stride + p - pad], zero outside. */
static inline void STEPC_OF(fill_edge)(const struct stepc_image c, STEPC_T *restrict to, const STEPC_T *restrict from,
                                       const int j)
{
    for (int p = 0; p < c.column_phases; p++) {
        const int x = j * c.column_stride + p - c.column_pad;
        to[p * (c.image_planes * c.image_lines * c.image_columns) + j] = x >= 0 && x < c.columns ? from[x] : 0;
    }
}

/* One line of all phases. */
static STEPC_INLINE void STEPC_OF(fill_line)(const struct stepc_image c, STEPC_T *restrict to,
                                             const STEPC_T *restrict from)
{
    const int before = c.column_pad > 0 ? (c.column_pad + c.column_stride - 1) / c.column_stride : 0,
              reach = c.columns - c.column_phases + c.column_pad,
              inside = reach >= 0 ? reach / c.column_stride + 1 : 0;
    const int first = before < c.image_columns ? before : c.image_columns,
              last = inside < first ? first : inside < c.image_columns ? inside : c.image_columns;
    for (int j = 0; j < first; j++)
        STEPC_OF(fill_edge)(c, to, from, j);
    STEPC_LANE_LOOP
    for (int j = first; j < last; j++) {
        STEPC_UNROLL
        for (int p = 0; p < c.column_phases; p++)
            to[p * (c.image_planes * c.image_lines * c.image_columns) + j] =
                from[j * c.column_stride + p - c.column_pad];
    }
    for (int j = last; j < c.image_columns; j++)
        STEPC_OF(fill_edge)(c, to, from, j);
}

/* All lines of a channel of the phases (a,b,..). */
static STEPC_INLINE void STEPC_OF(fill_phase)(const struct stepc_image c, STEPC_T *restrict to,
                                              const STEPC_T *restrict from, const int a, const int b)
{
    for (int i = 0; i < c.image_planes * c.image_lines; i++) {
        const int z = i / c.image_lines * c.plane_stride + a - c.plane_pad,
                  y = i % c.image_lines * c.line_stride + b - c.line_pad;
        if (z >= 0 && z < c.planes && y >= 0 && y < c.lines) {
            STEPC_OF(fill_line)(c, to + i * c.image_columns, from + (z * c.lines + y) * c.columns);
        } else {
            for (int p = 0; p < c.column_phases; p++) {
                for (int j = 0; j < c.image_columns; j++)
                    to[(p * (c.image_planes * c.image_lines) + i) * c.image_columns + j] = 0;
            }
        }
    }
}

static STEPC_INLINE void STEPC_OF(fill_phases)(const int channels, const struct stepc_image c,
                                               STEPC_T *restrict image, const STEPC_T *restrict from)
{
    const int phases = c.plane_phases * c.line_phases,
              phase = c.column_phases * c.image_planes * c.image_lines * c.image_columns;
    for (int k = 0; k < channels; k++) {
        for (int p = 0; p < phases; p++)
            STEPC_OF(fill_phase)(c, image + (k * phases + p) * phase, from + k * (c.planes * c.lines * c.columns),
                                 p / c.line_phases, p % c.line_phases);
    }
}

static STEPC_INLINE void STEPC_OF(mark_shifted)(const int copies, const int lines, const int columns, const int shift,
                                                const int step, STEPC_T *restrict keep)
{
    const int count = (lines * columns + 15) / 16 * 16;
    for (int c = 0; c < copies; c++) {
        for (int p = 0; p < count; p++) {
            const int x = p % columns + shift + c * step;
            keep[c * count + p] = p < lines * columns && x >= 0 && x < columns ? 1 : 0;
        }
    }
}

static STEPC_INLINE void STEPC_OF(fill_shifted)(const int copies, const int lines, const int columns, const int shift,
                                                const int step, STEPC_T *restrict to, const int to_step,
                                                const STEPC_T *restrict plane, const STEPC_T *restrict keep)
{
    const int count = (lines * columns + 15) / 16 * 16;
    for (int c = 0; c < copies; c++) {
        const STEPC_T *const from = plane + shift + c * step;
        STEPC_LANE_LOOP
        for (int p = 0; p < count; p++) {
            const STEPC_T v = from[p];
            to[c * to_step + p] = keep[c * count + p] != 0 ? v : 0;
        }
    }
}
