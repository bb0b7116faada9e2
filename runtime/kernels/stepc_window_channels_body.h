/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_channels.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2

/* total[taps, lane] += the sum over planes, lines and columns p of dy[p, lane] * image[at[t] + p, lane] */
static STEPC_INLINE void STEPC_OF(channel_sums)(const int taps, const int planes, const int lines, const int columns,
                                                STEPC_T *restrict total, const STEPC_T *restrict image,
                                                const int32_t *restrict at, const int plane_step, const int line_step,
                                                const STEPC_T *restrict dy)
{
    STEPC_OF(window_vec) acc[STEPC_CHANNEL_TAPS];
    STEPC_UNROLL
    for (int i = 0; i < taps; i++)
        acc[i] = (STEPC_OF(window_vec)){0};
    for (int l = 0; l < planes * lines; l++) {
        const STEPC_T *row[STEPC_CHANNEL_TAPS];
        const STEPC_T *const d = dy + l * columns * STEPC_WINDOW_LANES(STEPC_T);
        STEPC_UNROLL
        for (int i = 0; i < taps; i++)
            row[i] = image + (at[i] + l / lines * plane_step + l % lines * line_step) * STEPC_WINDOW_LANES(STEPC_T);
        for (int p = 0; p < columns; p++) {
            const STEPC_OF(window_vec) s = *(const STEPC_OF(window_vec_at) *)(d + p * STEPC_WINDOW_LANES(STEPC_T));
            STEPC_UNROLL
            for (int i = 0; i < taps; i++)
                acc[i] += s * *(const STEPC_OF(window_vec_at) *)(row[i] + p * STEPC_WINDOW_LANES(STEPC_T));
        }
    }
    STEPC_UNROLL
    for (int i = 0; i < taps; i++)
        *(STEPC_OF(window_vec_at) *)(total + i * STEPC_WINDOW_LANES(STEPC_T)) += acc[i];
}

#elif STEPC_FORM == 1

/* Positions that do not exist repeat the first one. */
static STEPC_INLINE void STEPC_OF(channel_sums)(const int taps, const int planes, const int lines, const int columns,
                                                STEPC_T *restrict total, const STEPC_T *restrict image,
                                                const int32_t *restrict at, const int plane_step, const int line_step,
                                                const STEPC_T *restrict dy)
{
    STEPC_T c0[STEPC_WINDOW_LANES(STEPC_T)] = {0}, c1[STEPC_WINDOW_LANES(STEPC_T)] = {0},
            c2[STEPC_WINDOW_LANES(STEPC_T)] = {0}, c3[STEPC_WINDOW_LANES(STEPC_T)] = {0};
    for (int l = 0; l < planes * lines; l++) {
        const STEPC_T *const line =
            image + (l / lines * plane_step + l % lines * line_step) * STEPC_WINDOW_LANES(STEPC_T);
        const STEPC_T *const r0 = line + at[0] * STEPC_WINDOW_LANES(STEPC_T), *const r1 = line + at[taps > 1 ? 1 : 0] *
                                                                                                     STEPC_WINDOW_LANES(
                                                                                                         STEPC_T);
        const STEPC_T *const r2 = line + at[taps > 2 ? 2 : 0] * STEPC_WINDOW_LANES(STEPC_T), *const r3 =
                                                                                                 line +
                                                                                                 at[taps > 3 ? 3 : 0] *
                                                                                                     STEPC_WINDOW_LANES(
                                                                                                         STEPC_T);
        const STEPC_T *const d = dy + l * columns * STEPC_WINDOW_LANES(STEPC_T);
        for (int p = 0; p < columns * STEPC_WINDOW_LANES(STEPC_T); p += STEPC_WINDOW_LANES(STEPC_T)) {
            for (int i = 0; i < STEPC_WINDOW_LANES(STEPC_T); i++) {
                const STEPC_T s = d[p + i];
                c0[i] += s * r0[p + i];
                c1[i] += s * r1[p + i];
                c2[i] += s * r2[p + i];
                c3[i] += s * r3[p + i];
            }
        }
    }
    for (int i = 0; i < STEPC_WINDOW_LANES(STEPC_T); i++) {
        total[i] += c0[i];
        if (taps > 1)
            total[STEPC_WINDOW_LANES(STEPC_T) + i] += c1[i];
        if (taps > 2)
            total[2 * STEPC_WINDOW_LANES(STEPC_T) + i] += c2[i];
        if (taps > 3)
            total[3 * STEPC_WINDOW_LANES(STEPC_T) + i] += c3[i];
    }
}

#else

/* Positions that do not exist repeat the first one. */
static STEPC_ROUTINE void STEPC_OF(channel_sums)(const int taps, const int planes, const int lines, const int columns,
                                                 STEPC_T *restrict total, const STEPC_T *restrict image,
                                                 const int32_t *restrict at, const int plane_step, const int line_step,
                                                 const STEPC_T *restrict dy)
{
    STEPC_T c00 = 0, c01 = 0, c02 = 0, c03 = 0, c10 = 0, c11 = 0, c12 = 0, c13 = 0;
    STEPC_T c20 = 0, c21 = 0, c22 = 0, c23 = 0, c30 = 0, c31 = 0, c32 = 0, c33 = 0;
    const int row0 = (int)at[0], row1 = (int)at[taps > 1 ? 1 : 0], row2 = (int)at[taps > 2 ? 2 : 0];
    const int row3 = (int)at[taps > 3 ? 3 : 0];
    for (int l = 0; l < planes * lines; l++) {
        const STEPC_T *const line =
            image + (l / lines * plane_step + l % lines * line_step) * STEPC_WINDOW_LANES(STEPC_T);
        const STEPC_T *r0 = line + row0 * STEPC_WINDOW_LANES(STEPC_T), *r1 = line + row1 * STEPC_WINDOW_LANES(STEPC_T);
        const STEPC_T *r2 = line + row2 * STEPC_WINDOW_LANES(STEPC_T), *r3 = line + row3 * STEPC_WINDOW_LANES(STEPC_T);
        for (int p = 0; p < columns; p++) {
            const STEPC_T d0 = dy[0], d1 = dy[1], d2 = dy[2], d3 = dy[3];
            c00 += d0 * r0[0];
            c01 += d1 * r0[1];
            c02 += d2 * r0[2];
            c03 += d3 * r0[3];
            c10 += d0 * r1[0];
            c11 += d1 * r1[1];
            c12 += d2 * r1[2];
            c13 += d3 * r1[3];
            c20 += d0 * r2[0];
            c21 += d1 * r2[1];
            c22 += d2 * r2[2];
            c23 += d3 * r2[3];
            c30 += d0 * r3[0];
            c31 += d1 * r3[1];
            c32 += d2 * r3[2];
            c33 += d3 * r3[3];
            r0 += STEPC_WINDOW_LANES(STEPC_T), r1 += STEPC_WINDOW_LANES(STEPC_T), r2 += STEPC_WINDOW_LANES(STEPC_T),
                r3 += STEPC_WINDOW_LANES(STEPC_T), dy += STEPC_WINDOW_LANES(STEPC_T);
        }
    }
    total[0] += c00, total[1] += c01, total[2] += c02, total[3] += c03;
    if (taps > 1)
        total += STEPC_WINDOW_LANES(STEPC_T), total[0] += c10, total[1] += c11, total[2] += c12, total[3] += c13;
    if (taps > 2)
        total += STEPC_WINDOW_LANES(STEPC_T), total[0] += c20, total[1] += c21, total[2] += c22, total[3] += c23;
    if (taps > 3)
        total += STEPC_WINDOW_LANES(STEPC_T), total[0] += c30, total[1] += c31, total[2] += c32, total[3] += c33;
}

#endif

static STEPC_INLINE void STEPC_OF(add_channel_sums)(const int taps, const int planes, const int lines,
                                                    const int columns, STEPC_T *restrict total,
                                                    const STEPC_T *restrict image, const int32_t *restrict at,
                                                    const int plane_step, const int line_step,
                                                    const STEPC_T *restrict dy)
{
    const int rest = taps % STEPC_CHANNEL_TAPS, whole = taps - rest;
    for (int t = 0; t < whole; t += STEPC_CHANNEL_TAPS)
        STEPC_OF(channel_sums)(STEPC_CHANNEL_TAPS, planes, lines, columns, total + t * STEPC_WINDOW_LANES(STEPC_T),
                               image, at + t, plane_step, line_step, dy);
    if (rest > 0)
        STEPC_OF(channel_sums)(rest, planes, lines, columns, total + whole * STEPC_WINDOW_LANES(STEPC_T), image,
                               at + whole, plane_step, line_step, dy);
}

/* Columns of one line into the phases of theirs, which begin at `to`; what lies outside is cut off. */
static STEPC_INLINE void STEPC_OF(fill_channel_line)(const struct stepc_image c, STEPC_T *restrict to,
                                                     const STEPC_T *restrict from)
{
    const int lanes = STEPC_WINDOW_LANES(STEPC_T), pad = c.column_pad,
              seen = c.image_columns * c.column_stride - pad, phase = c.image_planes * c.image_lines * c.image_columns;
    const int first = pad < 0 ? -pad : 0, end = c.columns < seen ? c.columns : seen;
    if (c.column_stride == 1) {
        for (int i = 0; i < (end - first) * lanes; i++)
            to[(first + pad) * lanes + i] = from[first * lanes + i];
        return;
    }
    for (int x = first; x < end; x++) {
        const int at = (x + pad) % c.column_stride * phase + (x + pad) / c.column_stride;
        for (int l = 0; l < lanes && (x + pad) % c.column_stride < c.column_phases; l++)
            to[at * lanes + l] = from[x * lanes + l];
    }
}

static STEPC_INLINE void STEPC_OF(fill_channels)(const struct stepc_image c, STEPC_T *restrict image,
                                                 const STEPC_T *restrict planes)
{
    const int phase = c.image_planes * c.image_lines * c.image_columns;
    for (int z = 0; z < c.planes; z++) {
        for (int y = 0; y < c.lines; y++) {
            const int a = z + c.plane_pad, b = y + c.line_pad;
            if (a < 0 || a / c.plane_stride >= c.image_planes || a % c.plane_stride >= c.plane_phases || b < 0 ||
                b / c.line_stride >= c.image_lines || b % c.line_stride >= c.line_phases)
                continue;
            const int of = (a % c.plane_stride * c.line_phases + b % c.line_stride) * c.column_phases,
                      line = a / c.plane_stride * c.image_lines + b / c.line_stride;
            STEPC_OF(fill_channel_line)(c, image + (of * phase + line * c.image_columns) * STEPC_WINDOW_LANES(STEPC_T),
                                        planes + (z * c.lines + y) * (c.columns * STEPC_WINDOW_LANES(STEPC_T)));
        }
    }
}
