/* SPDX-License-Identifier: 0BSD */
/* Pooling over one to three spatial axes, all windows of one plane (image and channel) after the other, line by line.
 * The windows of a line that see no column outside of the plane are computed side by side, 16 at a time, those at its
 * ends one by one.
 *
 *   max_pool             finish(plane, o, maximum), finish_index(plane, o, element); the first of equal elements; NaN
 *                        is greatest
 *   max_pool_grad        each dy is added to the element that the maximum came from; finish(plane, i, sum)
 *   max_pool_grad_apart  the same for windows that lie side by side: a line of dx at a time, in vectors
 *   average_pool         finish(plane, o, sum / count)
 *   average_pool_grad    dy / count is added to each element of the window; finish(plane, i, sum)
 *
 * Functions that call a hole name nothing as a parameter of the kernel: what the hole reads may be that very operand.
 * Elements of a window are visited row-major, sums start from zero and run in the order of windows. */
#include "kernels/stepc_registers.h"
#include "kernels/stepc_window_adjoints.h"
#include "template.h"

enum HOLE {
    PLANES = 6,
    D = 1, H = 6, W = 7, /* input */
    OD = 1, OH = 3, OW = 3, /* windows */
    KD = 1, KH = 2, KW = 2, /* elements of a window */
    SD = 1, SH = 2, SW = 2, /* steps between windows */
    LD = 1, LH = 1, LW = 1, /* steps between its elements */
    PAD_D = 0, PAD_H = 0, PAD_W = 0, /* in front */
    END_D = 1, END_H = 6, END_W = 7, /* what counts for an average ends here, */
    BEGIN_D = 0, BEGIN_H = 0, BEGIN_W = 0, /* and begins here: input, with or without padding */
    FLOATS = 1, /* is T a floating type? */
    INSIDE = 0, BEYOND = 3, /* windows of a line that see no padding: the first, and the one behind the last */
    SHARES = 1, /* the results are cut into so many: by planes */
    AGAIN_FINISH = 1, /* may finish run twice for an element? */
    COLUMN_MAJOR = 0, /* how elements are numbered */
    WITH_FINISH = 1, WITH_FINISH_INDEX = 1
};
typedef float T HOLE;

static int share_of_sample;
static inline int HOLE share(void) /* which of them to compute */
{
    return share_of_sample;
}

static T out[PLANES * D * H * W]; /* sample */
static int64_t indices[PLANES * OD * OH * OW];
static inline void HOLE finish(int plane, int i, T v)
{
    out[plane * (D * H * W) + i] = v;
}
static inline void HOLE finish_index(int plane, int o, int64_t index)
{
    indices[plane * (OD * OH * OW) + o] = index;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* Which plane and line of windows a line is, of those of all planes. */
static inline int plane_of(const int line)
{
    return OD == 1 ? 0 : line / OH;
}
static inline int line_of(const int line)
{
    return OD == 1 ? line : line % OH;
}

/* Position t of the windows of a line, or of window o of it, on each axis; outside of the input where not below its
 * size. */
static inline int depth_at(const int line, const int t)
{
    return plane_of(line) * SD + t * LD - PAD_D;
}
static inline int row_at(const int line, const int t)
{
    return line_of(line) * SH + t * LH - PAD_H;
}
static inline int column_at(const int o, const int t)
{
    return o * SW + t * LW - PAD_W;
}

/* Along an axis, the positions of a window whose first one is at `place` that lie inside: from this one .. */
static inline int first_inside(const int place, const int step)
{
    return place < 0 ? (step - 1 - place) / step : 0;
}

/* .. to the one before this. */
static inline int end_inside(const int place, const int step, const int count, const int size)
{
    return place + (count - 1) * step < size ? count : (size - place + step - 1) / step;
}

/* The same for the windows of a line; all positions where no window reaches beyond the input. */
static inline int first_depth(const int line)
{
    return PAD_D > 0 ? first_inside(depth_at(line, 0), LD) : 0;
}
static inline int end_depth(const int line)
{
    return (OD - 1) * SD + (KD - 1) * LD - PAD_D < D ? KD : end_inside(depth_at(line, 0), LD, KD, D);
}
static inline int first_row(const int line)
{
    return PAD_H > 0 ? first_inside(row_at(line, 0), LH) : 0;
}
static inline int end_row(const int line)
{
    return (OH - 1) * SH + (KH - 1) * LH - PAD_H < H ? KH : end_inside(row_at(line, 0), LH, KH, H);
}

/* For window o. */
static inline int first_column(const int o)
{
    return column_at(o, 0) < 0 ? (LW - 1 - column_at(o, 0)) / LW : 0;
}
static inline int end_column(const int o)
{
    return column_at(o, KW - 1) < W ? KW : (W - column_at(o, 0) + LW - 1) / LW;
}

/* The element at position (d,r,c) of a window. */
static inline int element_at(const int line, const int o, const int d, const int r, const int c)
{
    return ((D == 1 ? 0 : depth_at(line, d) * H) + row_at(line, r)) * W + column_at(o, c);
}

/* ---- maxima ------------------------------------------------------------------------------------------------------ */

/* The maxima of the windows o .. of a line, and which elements they are (less l * SW). Of a window the columns
 * first .. end - 1 are inside. */
static STEPC_INLINE void find_maxima(const int lanes, const T *restrict plane, const int line, const int o,
                                     const int first, const int end, T *restrict best, int32_t *restrict at)
{
    const int depth = first_depth(line), depths = end_depth(line), row = first_row(line), rows = end_row(line);
    const int begin = element_at(line, o, depth, row, first);
    for (int l = 0; l < lanes; l++)
        best[l] = plane[begin + l * SW];
    for (int l = 0; l < lanes; l++)
        at[l] = begin;
    for (int d = depth; d < depths; d++) {
        for (int r = row; r < rows; r++) {
            for (int c = first; c < end; c++) {
                const int i = element_at(line, o, d, r, c);
                STEPC_LANE_LOOP
                for (int l = 0; l < lanes; l++) {
                    const T v = plane[i + l * SW];
                    const T larger = v > best[l] ? v : best[l];
                    const int32_t later = v > best[l] ? i : at[l];
                    if (FLOATS) {
                        at[l] = v != v ? i : later;
                        best[l] = v != v ? v : larger;
                    } else {
                        at[l] = later;
                        best[l] = larger;
                    }
                }
            }
        }
    }
}

static inline int64_t number_of(const int plane, const int32_t i)
{
    if (COLUMN_MAJOR)
        return (int64_t)plane * (D * H * W) + i / (H * W) + (int64_t)(i / W % H) * D + (int64_t)(i % W) * (D * H);
    else
        return (int64_t)plane * (D * H * W) + i;
}

static STEPC_INLINE void pool_windows(const int lanes, const int p, const T *restrict plane, const int line,
                                      const int o, const int first, const int end)
{
    T best[16];
    int32_t at[16];
    find_maxima(lanes, plane, line, o, first, end, best, at);
    if (WITH_FINISH) {
        STEPC_LANE_LOOP
        for (int l = 0; l < lanes; l++) {
            const T v = best[l];
            finish(p, line * OW + o + l, v);
        }
    }
    if (WITH_FINISH_INDEX) {
        for (int l = 0; l < lanes; l++) {
            const int64_t number = number_of(p, at[l] + l * SW);
            finish_index(p, line * OW + o + l, number);
        }
    }
}

/* A window at the end of a line. */
static inline void pool_end(const int p, const T *restrict plane, const int line, const int o)
{
    pool_windows(1, p, plane, line, o, first_column(o), end_column(o));
}

KERNEL static void max_pool(const T *restrict x)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0;
         p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        const T *const plane = x + p * (D * H * W);
        for (int line = 0; line < OD * OH; line++) {
            for (int o = 0; o < INSIDE; o++)
                pool_end(p, plane, line, o);
            for (int o = INSIDE; o < BEYOND - (BEYOND - INSIDE) % 16; o += 16)
                pool_windows(16, p, plane, line, o, 0, KW);
            if ((BEYOND - INSIDE) % 16 > 0)
                pool_windows((BEYOND - INSIDE) % 16, p, plane, line, BEYOND - (BEYOND - INSIDE) % 16, 0, KW);
            for (int o = BEYOND; o < OW; o++)
                pool_end(p, plane, line, o);
        }
    }
}

static inline void zero_plane(T *restrict plane)
{
    for (int i = 0; i < D * H * W; i++)
        plane[i] = (T)0;
}

/* Each `adjoint` of these windows is added to the element that the maximum came from. */
static STEPC_INLINE void add_adjoints(const int lanes, const T *restrict plane, const int line, const int o,
                                   const int first, const int end, const T *restrict adjoint, T *restrict sums)
{
    T best[16];
    int32_t at[16];
    find_maxima(lanes, plane, line, o, first, end, best, at);
    for (int l = 0; l < lanes; l++)
        sums[at[l] + l * SW] += adjoint[line * OW + o + l];
}

static inline void add_adjoint_of_end(const T *restrict plane, const int line, const int o, const T *restrict adjoint,
                                   T *restrict sums)
{
    add_adjoints(1, plane, line, o, first_column(o), end_column(o), adjoint, sums);
}

static STEPC_INLINE void add_adjoints_of_line(const T *restrict plane, const int line, const T *restrict adjoint,
                                           T *restrict sums)
{
    for (int o = 0; o < INSIDE; o++)
        add_adjoint_of_end(plane, line, o, adjoint, sums);
    for (int o = INSIDE; o < BEYOND - (BEYOND - INSIDE) % 16; o += 16)
        add_adjoints(16, plane, line, o, 0, KW, adjoint, sums);
    if ((BEYOND - INSIDE) % 16 > 0)
        add_adjoints((BEYOND - INSIDE) % 16, plane, line, BEYOND - (BEYOND - INSIDE) % 16, 0, KW, adjoint, sums);
    for (int o = BEYOND; o < OW; o++)
        add_adjoint_of_end(plane, line, o, adjoint, sums);
}

KERNEL static void max_pool_grad(const T *restrict x, const T *restrict dy, T *restrict scratch)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0;
         p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        zero_plane(scratch);
        for (int line = 0; line < OD * OH; line++)
            add_adjoints_of_line(x + p * (D * H * W), line, dy + p * (OD * OH * OW), scratch);
        STEPC_LANE_LOOP
        for (int i = 0; i < D * H * W; i++) {
            const T v = scratch[i];
            finish(p, i, v);
        }
    }
}

/* ---- windows side by side ---------------------------------------------------------------------------------------- */

static STEPC_INLINE void finish_zeros(const int p, const int first, const int count)
{
    for (int i = 0; i < count; i++)
        finish(p, first + i, (T)0);
}

/* `count` windows{ from `begin` on} of a line{, which begins at element `first`}. Vectors run across windows. */
static STEPC_INLINE void apart_windows(const int p, const int first, const T *restrict from, const T *restrict d_line,
                                       const int begin, const int count)
{
    STEPC_LANE_LOOP
    for (int o = begin; o < begin + count; o++) {
        T adjoints[KD * KH * KW];
        stepc_max_adjoints(KD, KH, KW, adjoints, from + o * KW, H * W, W, d_line[o]);
        STEPC_UNROLL
        for (int t = 0; t < KD * KH * KW; t++) {
            const T v = adjoints[t];
            finish(p, first + (KD > 1 ? t / (KH * KW) * (H * W) : 0) + t / KW % KH * W + t % KW + o * KW, v);
        }
    }
}

/* All windows of a line. Where finishing twice changes nothing, the last vector overlaps the one before it. */
static STEPC_INLINE void apart_line(const int p, const int first, const T *restrict from, const T *restrict d_line)
{
    if (AGAIN_FINISH && OW >= 8) {
        for (int i = 0; i < OW; i += STEPC_TOGETHER(8))
            apart_windows(p, first, from, d_line, STEPC_TOGETHER_FROM(i, 8, OW), STEPC_TOGETHER(8));
    } else if (AGAIN_FINISH && OW > 4) {
        STEPC_UNROLL
        for (int i = 0; i < OW; i += STEPC_TOGETHER(4))
            apart_windows(p, first, from, d_line, STEPC_TOGETHER_FROM(i, 4, OW), STEPC_TOGETHER(4));
    } else {
        apart_windows(p, first, from, d_line, 0, OW);
    }
}

/* What is left of the lines, where the last window ends before them. */
static STEPC_INLINE void apart_ends(const int p, const int first)
{
    for (int t = 0; t < KD * KH; t++)
        finish_zeros(p, first + (t / KH * H + t % KH) * W + OW * KW, W - OW * KW);
}

KERNEL static void max_pool_grad_apart(const T *restrict x, const T *restrict dy)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0;
         p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        for (int z = 0; z < OD; z++) {
            for (int y = 0; y < OH; y++) {
                apart_line(p, (z * KD * H + y * KH) * W, x + (p * (D * H * W) + (z * KD * H + y * KH) * W),
                           dy + ((p * OD + z) * OH + y) * OW);
                if (OW * KW < W)
                    apart_ends(p, (z * KD * H + y * KH) * W);
            }
            if (OH * KH < H) {
                for (int k = 0; k < KD; k++)
                    finish_zeros(p, ((z * KD + k) * H + OH * KH) * W, (H - OH * KH) * W);
            }
        }
        if (OD * KD < D)
            finish_zeros(p, OD * KD * H * W, (D - OD * KD) * H * W);
    }
}

/* ---- averages ---------------------------------------------------------------------------------------------------- */

/* Positions of a window along an axis that the average is over. */
static inline int counted(const int place, const int step, const int count, const int begin, const int end)
{
    int n = 0;
    for (int t = 0; t < count; t++)
        n += place + t * step >= begin && place + t * step < end;
    return n;
}

/* For the windows of a line, and for window o of it; all where no window reaches beyond what counts. */
static inline int counted_planes(const int line)
{
    return BEGIN_D <= -PAD_D && (OD - 1) * SD + (KD - 1) * LD - PAD_D < END_D
               ? KD
               : counted(depth_at(line, 0), LD, KD, BEGIN_D, END_D);
}
static inline int counted_lines(const int line)
{
    return BEGIN_H <= -PAD_H && (OH - 1) * SH + (KH - 1) * LH - PAD_H < END_H
               ? KH
               : counted(row_at(line, 0), LH, KH, BEGIN_H, END_H);
}
static inline int counted_columns(const int o)
{
    return BEGIN_W <= -PAD_W && (OW - 1) * SW + (KW - 1) * LW - PAD_W < END_W
               ? KW
               : counted(column_at(o, 0), LW, KW, BEGIN_W, END_W);
}

/* Elements of window o, of a line, that the average is over. */
static inline int population(const int line, const int o)
{
    return counted_planes(line) * counted_lines(line) * counted_columns(o);
}

static STEPC_INLINE void average_windows(const int lanes, const int p, const T *restrict plane, const int line,
                                         const int o, const int first, const int end)
{
    const int depth = first_depth(line), depths = end_depth(line), row = first_row(line), rows = end_row(line);
    const T count = (T)population(line, o);
    T sum[16] = {(T)0};
    for (int d = depth; d < depths; d++) {
        for (int r = row; r < rows; r++) {
            for (int c = first; c < end; c++) {
                const int i = element_at(line, o, d, r, c);
                STEPC_LANE_LOOP
                for (int l = 0; l < lanes; l++)
                    sum[l] += plane[i + l * SW];
            }
        }
    }
    STEPC_LANE_LOOP
    for (int l = 0; l < lanes; l++) {
        const T v = sum[l] / count;
        finish(p, line * OW + o + l, v);
    }
}

static inline void average_end(const int p, const T *restrict plane, const int line, const int o)
{
    average_windows(1, p, plane, line, o, first_column(o), end_column(o));
}

KERNEL static void average_pool(const T *restrict x)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0;
         p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        const T *const plane = x + p * (D * H * W);
        for (int line = 0; line < OD * OH; line++) {
            for (int o = 0; o < INSIDE; o++)
                average_end(p, plane, line, o);
            for (int o = INSIDE; o < BEYOND - (BEYOND - INSIDE) % 16; o += 16)
                average_windows(16, p, plane, line, o, 0, KW);
            if ((BEYOND - INSIDE) % 16 > 0)
                average_windows((BEYOND - INSIDE) % 16, p, plane, line, BEYOND - (BEYOND - INSIDE) % 16, 0, KW);
            for (int o = BEYOND; o < OW; o++)
                average_end(p, plane, line, o);
        }
    }
}

/* Adds the parts of these windows. An element gets those of a line from the last column of a window to the first, which
 * is the order of windows. */
static STEPC_INLINE void add_parts(const int lanes, const int line, const int o, const int first, const int end,
                                   const T *restrict adjoint, T *restrict sums)
{
    const int depth = first_depth(line), depths = end_depth(line), row = first_row(line), rows = end_row(line);
    const T count = (T)population(line, o);
    T part[16];
    STEPC_LANE_LOOP
    for (int l = 0; l < lanes; l++)
        part[l] = adjoint[line * OW + o + l] / count;
    for (int d = depth; d < depths; d++) {
        for (int r = row; r < rows; r++) {
            for (int c = end - 1; c >= first; c--) {
                T *const to = sums + element_at(line, o, d, r, c);
                STEPC_LANE_LOOP
                for (int l = 0; l < lanes; l++)
                    to[l * SW] += part[l];
            }
        }
    }
}

static inline void add_part_of_end(const int line, const int o, const T *restrict adjoint, T *restrict sums)
{
    add_parts(1, line, o, first_column(o), end_column(o), adjoint, sums);
}

static STEPC_INLINE void add_parts_of_line(const int line, const T *restrict adjoint, T *restrict sums)
{
    for (int o = 0; o < INSIDE; o++)
        add_part_of_end(line, o, adjoint, sums);
    for (int o = INSIDE; o < BEYOND - (BEYOND - INSIDE) % 16; o += 16)
        add_parts(16, line, o, 0, KW, adjoint, sums);
    if ((BEYOND - INSIDE) % 16 > 0)
        add_parts((BEYOND - INSIDE) % 16, line, BEYOND - (BEYOND - INSIDE) % 16, 0, KW, adjoint, sums);
    for (int o = BEYOND; o < OW; o++)
        add_part_of_end(line, o, adjoint, sums);
}

KERNEL static void average_pool_grad(const T *restrict dy, T *restrict scratch)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0;
         p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        zero_plane(scratch);
        for (int line = 0; line < OD * OH; line++)
            add_parts_of_line(line, dy + p * (OD * OH * OW), scratch);
        STEPC_LANE_LOOP
        for (int i = 0; i < D * H * W; i++) {
            const T v = scratch[i];
            finish(p, i, v);
        }
    }
}
