/* SPDX-License-Identifier: 0BSD */
/* Convolutions and their derivatives, for one to three spatial axes, any strides and dilations.
 *
 * Each image (and group) is first copied into `image`. The copy is padded with zeros. Along an axis of stride S it is
 * sorted by index modulo S (a "phase" is what has the same remainder). So position t of the window lies taps[t]
 * elements from the window's place, whatever the stride, and neighbouring windows are neighbours in memory. Lines share
 * the zeros between them.
 *
 * The windows of a tile of rows are summed up into `flat` (stepc_window_rows.h), from which they are finished; where
 * lines are whole vectors with any compiler, FLAT_STEP = 0, tile by tile. Vectors run along lines, in one of three
 * ways:
 *   - A line of windows is a number of whole vectors: tiles go from line to line.
 *   - Otherwise windows are computed over whole lines of the image and the gaps between them, as one long line, from
 *     which the outputs are taken. So narrow images fill vectors, too.
 *   - COPIES, CUTS: there is an image for each position of the window along the line, moved by it, so that lines lie
 *     side by side without gaps. What would come from another line is zero. Taken where a line has as many windows as
 *     elements and fewer than a vector, or (CUTS) fewer windows than elements, if what this saves is worth the copies.
 *
 *   conv              image of x; finish(n, o, p, sum). Also the gradient in x where the stride is 1: x is dy, taps go
 *                     through the window the other way
 *   conv_grad_input   image of dy; one pass for each phase of dx. taps: distances, then window positions, in the order
 *                     of phases, then where each phase begins. Weights are repacked so that rows lie side by side;
 *                     finish(n, c, i, sum)
 *   conv_grad_weight  another image of x, in which a column holds all channels. So the elements of a window's line lie
 *                     side by side, a `run`, and vectors take it from end to end, also where channels are few. Where
 *                     runs are short a column also holds what all lines of the window see (HELD_H, HELD_D), and lines
 *                     of the image are lines of windows. taps: the place of each position in the runs, where each run
 *                     begins, then which plane and line each element of a column comes from; finish(o, c and t, sum)
 *
 * With a prologue (WITH_X, WITH_DY) each plane of an operand is computed in `scratch + PLANE` and copied from there.
 *
 * Terms are added in index order into one accumulator per element (compiler/ops/conv.c states the order). */
#include "kernels/stepc_registers.h"
#include "kernels/stepc_window_columns.h"
#include "kernels/stepc_window_finite.h"
#include "kernels/stepc_window_image.h"
#include "kernels/stepc_window_line.h"
#include "kernels/stepc_window_lines.h"
#include "kernels/stepc_window_phases.h"
#include "kernels/stepc_window_rows.h"
#include "template.h"

enum HOLE {
    N = 2, G = 2, /* images, groups */
    CHANNELS = 3, ROWS = 5, /* of a group: of the image, and of the other side */
    D = 1, H = 6, W = 7, /* what is copied into the image */
    SD = 1, SH = 1, SW = 1, /* strides */
    PAD_D = 0, PAD_H = 1, PAD_W = 1, /* may be negative: cut off */
    PD = 1, PH = 1, PW = 1, /* phases */
    QD = 1, QH = 8, QW = 9, /* elements of each phase */
    OD = 1, OH = 6, OW = 7, /* windows computed */
    TAPS = 9,
    W_ROW = 27, W_CHANNEL = 9, /* conv: weights from row to row, from channel to channel */
    XD = 1, XH = 6, XW = 7, /* conv_grad_input: dx */
    TD = 1, TH = 1, TW = 1, /* its strides; conv_grad_weight: planes and lines of x between those of the image */
    LOW_D = 0, LOW_H = 0, LOW_W = 0, /* element of dx where window 0 of phase 0 lies, 0 or less */
    LINES = 1, /* the image holds lines as they are, stride 1, none of them cut off */
    COPIES = 0, SHIFT = -1, SHIFT_STEP = 1, /* PW copies of short lines, moved by so many columns */
    CUTS = 0, /* or of the OW columns of each line that a column of the window sees, SHIFT_STEP further for each */
    MERGES = 0, /* TW > 1: lines of dx are short and finished together; scratch holds a channel of them */
    SKIPS = 0, /* LINES: tiles leave out terms that are zeros around the image for all of their windows */
    FLAT_STEP = 64, /* windows of the long line, a multiple of 32; 0: lines are whole vectors, an even number of them */
    SLACK = 32, /* elements behind the image that vectors may read */
    HELD_D = 1, HELD_H = 1, HELD_W = 1, /* conv_grad_weight: positions of the window that a column holds, 1 or all */
    REACH_D = 1, REACH_H = 1, REACH_W = 1, /* elements from one of them to the next */
    COLUMN = 3, RUN = 9, RUNS = 3, /* elements of a column, of a run; runs of a window */
    RUN_STEP = 16, /* RUN rounded up to 16 */
    PLANE = 4096, /* where in scratch planes are computed: behind everything else */
    AGAIN_FINISH = 1, /* may finish run twice for an element? */
    SHARES = 1, /* the results are cut into so many: by images, weights by rows of sums */
    CUT_IMAGES = 0, OWN = 4096, /* conv_grad_weight: by images as well; scratch of a share, then come sums of images */
    WITH_X = 0, WITH_DY = 0 /* x, dy are computed */
};
typedef float T HOLE;

static int share_of_sample;
static inline int HOLE share(void) /* which of them to compute */
{
    return share_of_sample;
}

static int pass_of_sample;
static inline int HOLE pass(void) /* CUT_IMAGES: 0: the sums of images; 1: after all shares, they are added */
{
    return pass_of_sample;
}

static const T sample[N * G * CHANNELS * D * H * W];
static inline void HOLE x_into(int n, int k, int i, T *to) /* element i of plane k of image n */
{
    to[i] = sample[((n * G * CHANNELS) + k) * (D * H * W) + i];
}
static inline void HOLE dy_into(int n, int k, int i, T *to)
{
    to[i] = sample[((n * G * CHANNELS) + k) * (D * H * W) + i];
}

static T out[N * G * ROWS * CHANNELS * 64]; /* sample */
static inline void HOLE finish(int n, int o, int p, T sum)
{
    out[(n * G * ROWS + o) * 64 + p] = sum;
}
static inline void HOLE finish_weight(int o, int k, T sum)
{
    out[o * CHANNELS * TAPS + k] = sum;
}

/* ---- the image --------------------------------------------------------------------------------------------------- */

/* Plane k of image n. The last vector overlaps the one before it. */
static inline void compute_x(T *restrict to, const int n, const int k)
{
    if (D * H * W > 16 && D * H * W % 16 > 0) {
        for (int i = 0; i < D * H * W; i += STEPC_TOGETHER(16)) {
            const int begin = STEPC_TOGETHER_FROM(i, 16, D * H * W);
            STEPC_WHOLE_LOOP
            for (int e = begin; e < begin + STEPC_TOGETHER(16); e++)
                x_into(n, k, e, to);
        }
    } else {
        STEPC_LANE_LOOP
        for (int i = 0; i < D * H * W; i++)
            x_into(n, k, i, to);
    }
}

static STEPC_INLINE void compute_dy(T *restrict to, const int n, const int k, const int count)
{
    if (count > 16 && count % 16 > 0) {
        for (int i = 0; i < count; i += STEPC_TOGETHER(16)) {
            const int begin = STEPC_TOGETHER_FROM(i, 16, count);
            STEPC_WHOLE_LOOP
            for (int e = begin; e < begin + STEPC_TOGETHER(16); e++)
                dy_into(n, k, e, to);
        }
    } else {
        STEPC_LANE_LOOP
        for (int i = 0; i < count; i++)
            dy_into(n, k, i, to);
    }
}

/* Copies of a plane that may be read beyond its ends: what is kept of them is marked behind it. Each ends with zeros
 * that may lie in what is written next. */
static inline void shift_plane(T *restrict image, const T *restrict plane)
{
    if (D == 1)
        stepc_fill_shifted(PW, H, W, SHIFT, SHIFT_STEP, image + (PAD_D * QH + PAD_H) * QW, QD * QH * QW, plane,
                           plane + (H * W + 32));
    else
        for (int c = 0; c < PW; c++) {
            for (int z = 0; z < D; z++)
                stepc_fill_shifted(1, H, W, SHIFT + c * SHIFT_STEP, 0,
                                   image + c * (QD * QH * QW) + ((z + PAD_D) * QH + PAD_H) * QW, 0, plane + z * (H * W),
                                   plane + (D * H * W + 32) + c * ((H * W + 15) / 16 * 16));
        }
}

/* Of each line what a column of the window sees. */
static inline void cut_plane(T *restrict image, const T *restrict plane)
{
    for (int c = 0; c < PW; c++) {
        for (int z = 0; z < D; z++)
            stepc_copy_lines(H, OW, 0, image + c * (QD * QH * QW) + ((z + PAD_D) * QH + PAD_H) * QW, QW,
                             plane + z * (H * W) + c * SHIFT_STEP, W);
    }
}

/* `count` channels. Where lines are as they are, the zeros around them are there already. */
static inline void fill_image(T *restrict image, const T *restrict from, const int count)
{
    if (CUTS) {
        for (int k = 0; k < count; k++)
            cut_plane(image + k * (PW * QD * QH * QW), from + k * (D * H * W));
    } else if (LINES && D * H == 1 && QD * QH == 1) {
        stepc_copy_lines(count, W, QW - W, image + PAD_W, QW, from, W);
    } else if (LINES && D == 1 && count == 1) {
        stepc_copy_lines(H, W, QW - W, image + (PAD_D * QH + PAD_H) * QW + PAD_W, QW, from, W);
    } else if (LINES && D == 1) {
        stepc_copy_planes(count, H, W, QW - W, image + (PAD_D * QH + PAD_H) * QW + PAD_W, QD * QH * QW, QW, from);
    } else if (LINES) {
        for (int k = 0; k < count; k++)
            stepc_copy_planes(D, H, W, QW - W, image + k * (QD * QH * QW) + (PAD_D * QH + PAD_H) * QW + PAD_W, QH * QW,
                              QW, from + k * (D * H * W));
    } else {
        const struct stepc_image padded = {.planes = D,
                                           .lines = H,
                                           .columns = W,
                                           .plane_stride = SD,
                                           .line_stride = SH,
                                           .column_stride = SW,
                                           .plane_pad = PAD_D,
                                           .line_pad = PAD_H,
                                           .column_pad = PAD_W,
                                           .plane_phases = PD,
                                           .line_phases = PH,
                                           .column_phases = PW,
                                           .image_planes = QD,
                                           .image_lines = QH,
                                           .image_columns = QW};
        stepc_fill_phases(count, padded, image, from);
    }
}

/* Channels of group g of x, in one of the ways; in place where a plane is one line. */
static inline void fill_from_x(T *restrict scratch, const T *restrict x, const int n, const int g)
{
    if (WITH_X && !COPIES && LINES && D * H == 1 && QD * QH == 1) {
        for (int k = 0; k < CHANNELS; k++)
            compute_x(scratch + k * QW + PAD_W, n, g * CHANNELS + k);
    } else if (WITH_X && COPIES) {
        for (int k = 0; k < CHANNELS; k++) {
            compute_x(scratch + PLANE + 16, n, g * CHANNELS + k);
            shift_plane(scratch + k * (PW * QD * QH * QW), scratch + PLANE + 16);
        }
    } else if (WITH_X && LINES && !CUTS && D == 1) {
        for (int k = 0; k < CHANNELS; k++) {
            compute_x(scratch + PLANE, n, g * CHANNELS + k);
            stepc_copy_lines(H, W, QW - W, scratch + k * (QD * QH * QW) + ((PAD_D * QH + PAD_H) * QW + PAD_W), QW,
                             scratch + PLANE, W);
        }
    } else if (WITH_X) {
        for (int k = 0; k < CHANNELS; k++) {
            compute_x(scratch + PLANE, n, g * CHANNELS + k);
            fill_image(scratch + k * (PD * PH * PW * QD * QH * QW), scratch + PLANE, 1);
        }
    } else if (COPIES) {
        for (int k = 0; k < CHANNELS; k++) {
            stepc_copy_line(D * H * W, scratch + PLANE + 16, x + ((n * G + g) * CHANNELS + k) * (D * H * W));
            shift_plane(scratch + k * (PW * QD * QH * QW), scratch + PLANE + 16);
        }
    } else {
        fill_image(scratch, x + (n * G + g) * (CHANNELS * D * H * W), CHANNELS);
    }
}

/* Before the first image: the zeros around lines, if there are any, and those behind all. */
static inline void zero_image(T *restrict image)
{
    for (int i = LINES && (QD > D || QH > H || (!CUTS && QW > W)) ? 0 : CHANNELS * PD * PH * PW * QD * QH * QW;
         i < CHANNELS * PD * PH * PW * QD * QH * QW + SLACK; i++)
        image[i] = (T)0;
}

/* ---- conv -------------------------------------------------------------------------------------------------------- */

/* Elements side by side. Where finishing twice changes nothing, the last vector overlaps the one before it. */
static STEPC_INLINE void finish_elements(const int n, const int o, const int count, const T *restrict from)
{
    if (AGAIN_FINISH && count > 16 && count % 16 > 0) {
        for (int i = 0; i < count; i += STEPC_TOGETHER(16)) {
            const int begin = STEPC_TOGETHER_FROM(i, 16, count);
            STEPC_WHOLE_LOOP
            for (int p = begin; p < begin + STEPC_TOGETHER(16); p++) {
                const T v = from[p];
                finish(n, o, p, v);
            }
        }
    } else {
        STEPC_WIDE_LOOP
        for (int p = 0; p < count; p++) {
            const T v = from[p];
            finish(n, o, p, v);
        }
    }
}

/* A line of windows, the first of which is number `first`. The last vector overlaps the one before it. */
static STEPC_INLINE void finish_line(const int n, const int o, const int first, const T *restrict line)
{
    if (OW % 16 == 0) {
        STEPC_WHOLE_LOOP
        for (int column = 0; column < OW; column++) {
            const T v = line[column];
            finish(n, o, first + column, v);
        }
    } else {
        for (int i = 0; i < OW; i += STEPC_TOGETHER(OW < 16 ? 8 : 16)) {
            const int begin = STEPC_TOGETHER_FROM(i, OW < 16 ? 8 : 16, OW);
            STEPC_WHOLE_LOOP
            for (int column = begin; column < begin + STEPC_TOGETHER(OW < 16 ? 8 : 16); column++) {
                const T v = line[column];
                finish(n, o, first + column, v);
            }
        }
    }
}

/* From line to line of windows: those of the image, unless vectors leave no gaps. These have 2 lanes at least, and at
 * most 16. */
static inline int line_step(void)
{
    if (ROWS == 1 || OW == QW || OW % 2 > 0)
        return QW;
    else if (OW % 16 == 0)
        return OW;
    else
        return STEPC_WHOLE_VECTORS(T, OW) ? OW : QW;
}

static inline int plane_step(void)
{
    if (ROWS == 1 || OW % 2 > 0)
        return QH * QW;
    else if (OW % 16 == 0)
        return OH * OW;
    else
        return STEPC_WHOLE_VECTORS(T, OW) ? OH * OW : QH * QW;
}

/* All windows of rows o ..; without the gaps between lines where these are short. */
static STEPC_INLINE void finish_rows(const int rows, const int n, const int o, T *restrict flat)
{
    const int step = line_step(), plane = plane_step();
    for (int r = 0; r < rows; r++) {
        const int row = o + r;
        const T *const sums = flat + r * FLAT_STEP;
        if (OD * OH == 1 || (OD == 1 && QW == OW)) {
            finish_elements(n, row, OH * OW, sums);
        } else if (OW % 16 == 0 || (AGAIN_FINISH && OW >= 8)) {
            for (int z = 0; z < OD; z++) {
                for (int y = 0; y < OH; y++)
                    finish_line(n, row, (z * OH + y) * OW, sums + z * plane + y * step);
            }
        } else {
            T *const dense = flat + rows * FLAT_STEP;
            for (int z = 0; z < OD; z++)
                stepc_copy_lines(OH, OW, 0, dense + z * (OH * OW), OW, sums + z * plane, step);
            finish_elements(n, row, OD * OH * OW, dense);
        }
    }
}

/* Rows o ..{ of group g}. */
static STEPC_INLINE void part(const int o, const int n, const int g, T *restrict flat, const T *restrict weights,
                              const T *restrict image, const int32_t *restrict taps, const int are_finite)
{
    const struct stepc_window_terms terms = {.planes = 1,
                                             .channels = CHANNELS,
                                             .taps = TAPS,
                                             .w_row = W_ROW,
                                             .w_channel = W_CHANNEL,
                                             .w_tap = 1,
                                             .image_channel = PD * PH * PW * QD * QH * QW,
                                             .at = taps};
    const struct stepc_windows windows = {
        .planes = OD, .lines = OH, .columns = OW, .image_line = QW, .image_plane = QH * QW};
    if (ROWS == 1) {
        stepc_window_row(((OD - 1) * QH + OH - 1) * QW + OW, CHANNELS, TAPS, flat, weights, W_CHANNEL, 1, image,
                         PD * PH * PW * QD * QH * QW, taps);
        finish_rows(1, n, g, flat);
    } else if (FLAT_STEP == 0) {
        for (int p = 0; p < OD * OH * OW; p += STEPC_WINDOW_COLUMNS(T)) {
            T sum[STEPC_WINDOW_TILE_ROWS * STEPC_WINDOW_COLUMNS(T)];
            stepc_window_vectors_of(o, ROWS, p, terms, windows, sum, weights + o * W_ROW, image);
            for (int r = 0; r < STEPC_WINDOW_ROWS_FROM(o, ROWS); r++) {
                STEPC_LANE_LOOP
                for (int l = 0; l < STEPC_WINDOW_COLUMNS(T); l++) {
                    const T v = sum[r * STEPC_WINDOW_COLUMNS(T) + l];
                    finish(n, g * ROWS + o + r, p + l, v);
                }
            }
        }
    } else if (SKIPS) {
        stepc_window_rows_inside_of(o, ROWS, terms, windows, flat, FLAT_STEP, weights + o * W_ROW, image,
                                    (PAD_D * QH + PAD_H) * QW + PAD_W,
                                    ((PAD_D + D - 1) * QH + PAD_H + H - 1) * QW + PAD_W + W, are_finite);
        finish_rows(STEPC_WINDOW_ROWS_FROM(o, ROWS), n, g * ROWS + o, flat);
    } else {
        stepc_window_rows_of(o, ROWS, terms, windows, flat, FLAT_STEP, weights + o * W_ROW, image);
        finish_rows(STEPC_WINDOW_ROWS_FROM(o, ROWS), n, g * ROWS + o, flat);
    }
    if (!SKIPS)
        (void)are_finite;
}

KERNEL static void conv(const T *restrict x, const T *restrict w, const int32_t *restrict taps, T *restrict scratch)
{
    T *const flat = scratch + (CHANNELS * PD * PH * PW * QD * QH * QW + SLACK);
    const int are_finite = SKIPS ? stepc_are_finite(G * ROWS * CHANNELS * TAPS, w) : 1;
    zero_image(scratch);
    if (COPIES)
        stepc_mark_shifted(PW, H, W, SHIFT, SHIFT_STEP, scratch + (PLANE + D * H * W + 48));
    for (int n = SHARES > 1 ? share() * N / SHARES : 0; n < (SHARES > 1 ? (share() + 1) * N / SHARES : N); n++) {
        for (int g = 0; g < G; g++) {
            fill_from_x(scratch, WITH_X ? (const T *)0 : x, n, g);
            const T *const weights = w + g * (ROWS * CHANNELS * TAPS);
            if (ROWS <= 4) {
                part(0, n, g, flat, weights, scratch, taps, are_finite);
            } else {
                for (int o = 0; o < ROWS; o += STEPC_WINDOW_ROWS(ROWS))
                    part(o, n, g, flat, weights, scratch, taps, are_finite);
            }
        }
    }
}

/* ---- conv_grad_input --------------------------------------------------------------------------------------------- */

/* The same of dy. */
static inline void fill_from_dy(T *restrict scratch, const T *restrict dy, const int n, const int g)
{
    if (WITH_DY && LINES && D * H == 1 && QD * QH == 1) {
        for (int k = 0; k < CHANNELS; k++)
            compute_dy(scratch + k * QW + PAD_W, n, g * CHANNELS + k, W);
    } else if (WITH_DY) {
        for (int k = 0; k < CHANNELS; k++) {
            compute_dy(scratch + PLANE, n, g * CHANNELS + k, D * H * W);
            fill_image(scratch + k * (QD * QH * QW), scratch + PLANE, 1);
        }
    } else {
        fill_image(scratch, dy + (n * G + g) * (CHANNELS * D * H * W), CHANNELS);
    }
}

/* The window of a phase that comes first, where all phases have equally many. */
static inline int first_plane(const int phase)
{
    return XD % TD == 0 && LOW_D < 0 ? phase < -LOW_D : 0;
}
static inline int first_line(const int phase)
{
    return XH % TH == 0 && LOW_H < 0 ? phase < -LOW_H : 0;
}
static inline int first_column(const int phase)
{
    return XW % TW == 0 && LOW_W < 0 ? phase < -LOW_W : 0;
}

/* Where the phases of a line of dx begin: those of its plane and line, and there the window. */
static inline int phase_begin(const int z, const int y)
{
    return ((z - LOW_D) % TD * TH + (y - LOW_H) % TH) * (TW * FLAT_STEP) +
           ((z - LOW_D) / TD - first_plane((z - LOW_D) % TD)) * plane_step() +
           ((y - LOW_H) / TH - first_line((y - LOW_H) % TH)) * line_step();
}

static STEPC_INLINE void finish_line_of_dx(const int n, const int channel, const int first, const T *restrict line)
{
    STEPC_LANE_LOOP
    for (int column = 0; column < XW; column++) {
        const T v = line[column - LOW_W];
        finish(n, channel, first + column, v);
    }
}

/* A channel of dx. Short lines are finished all together. */
/* Why: GCC makes no vectors of a few elements (25 lines of 5: a third of the time). */
static STEPC_INLINE void finish_channel(const int n, const int channel, const T *restrict flat, T *restrict line)
{
    for (int z = 0; z < XD; z++) {
        for (int y = 0; y < XH; y++) {
            const T *const phases = flat + phase_begin(z, y);
            if (TW == 1) {
                finish_line_of_dx(n, channel, (z * XH + y) * XW, phases);
            } else if (MERGES) {
                stepc_merge_short_line(XW, TW, XW % TW == 0 ? -LOW_W : 0, -LOW_W, line + (z * XH + y) * XW, phases,
                                       FLAT_STEP);
            } else {
                stepc_merge_line(OW, TW, XW % TW == 0 ? -LOW_W : 0, line, phases, FLAT_STEP);
                finish_line_of_dx(n, channel, (z * XH + y) * XW, line);
            }
        }
    }
    if (MERGES)
        finish_elements(n, channel, XD * XH * XW, line);
}

/* Rows c ..{ of group g}: one phase of dx after the other. */
static STEPC_INLINE void phases_part(const int rows, const int c, const int n, const int g, T *restrict flat,
                                     const T *restrict weights, const T *restrict image, const int32_t *restrict taps,
                                     const int are_finite)
{
    for (int p = 0; p < TD * TH * TW; p++) {
        const int from = (int)taps[2 * TAPS + p], count = (int)taps[2 * TAPS + p + 1] - from;
        const int place = (first_plane(p / (TH * TW)) * QH + first_line(p / TW % TH)) * QW + first_column(p % TW);
        if (ROWS == 1) {
            stepc_window_row(((OD - 1) * QH + OH - 1) * QW + OW, CHANNELS, count, flat + p * FLAT_STEP, weights + from,
                             TAPS, 1, image + place, QD * QH * QW, taps + from);
            (void)are_finite;
        } else {
            const struct stepc_window_terms terms = {.planes = 1,
                                                     .channels = CHANNELS,
                                                     .taps = count,
                                                     .w_row = 1,
                                                     .w_channel = TAPS * STEPC_WINDOW_ROWS(ROWS),
                                                     .w_tap = STEPC_WINDOW_ROWS(ROWS),
                                                     .image_channel = QD * QH * QW,
                                                     .at = taps + from};
            const struct stepc_windows windows = {
                .planes = OD, .lines = OH, .columns = OW, .image_line = QW, .image_plane = QH * QW};
            if (SKIPS) {
                stepc_window_rows_inside(rows, terms, windows, flat + p * FLAT_STEP, TD * TH * TW * FLAT_STEP,
                                         weights + c * (CHANNELS * TAPS) + from * STEPC_WINDOW_ROWS(ROWS),
                                         image + place, (PAD_D * QH + PAD_H) * QW + PAD_W - place,
                                         ((PAD_D + D - 1) * QH + PAD_H + H - 1) * QW + PAD_W + W - place, are_finite);
            } else {
                stepc_window_rows(rows, terms, windows, flat + p * FLAT_STEP, TD * TH * TW * FLAT_STEP,
                                  weights + c * (CHANNELS * TAPS) + from * STEPC_WINDOW_ROWS(ROWS), image + place);
                (void)are_finite;
            }
        }
    }
    for (int r = 0; r < rows; r++)
        finish_channel(n, g * ROWS + c + r, flat + r * (TD * TH * TW * FLAT_STEP),
                       flat + rows * (TD * TH * TW * FLAT_STEP));
}

/* Where the packed weights of group g begin. */
static inline int group_at(const int g)
{
    return g * (CHANNELS * TAPS) * STEPC_WINDOW_ALL_ROWS(ROWS);
}

KERNEL static void conv_grad_input(const T *restrict dy, const T *restrict w, const int32_t *restrict taps,
                                   T *restrict scratch)
{
    T *const packed = scratch + (CHANNELS * QD * QH * QW + SLACK);
    T *const flat = packed + group_at(G);
    const int are_finite = SKIPS ? stepc_are_finite(G * ROWS * CHANNELS * TAPS, w) : 1;
    zero_image(scratch);
    for (int g = 0; g < G; g++)
        stepc_pack_phases(ROWS, CHANNELS, TAPS, packed + group_at(g), w + g * (CHANNELS * ROWS * TAPS), taps + TAPS);
    for (int n = SHARES > 1 ? share() * N / SHARES : 0; n < (SHARES > 1 ? (share() + 1) * N / SHARES : N); n++) {
        for (int g = 0; g < G; g++) {
            fill_from_dy(scratch, WITH_DY ? (const T *)0 : dy, n, g);
            const T *const weights = packed + group_at(g);
            if (ROWS <= 4) {
                phases_part(ROWS, 0, n, g, flat, weights, scratch, taps, are_finite);
            } else {
                for (int c = 0; c < ROWS - STEPC_WINDOW_LAST_ROWS(ROWS); c += STEPC_WINDOW_ROWS(ROWS))
                    phases_part(STEPC_WINDOW_ROWS(ROWS), c, n, g, flat, weights, scratch, taps, are_finite);
                if (STEPC_WINDOW_LAST_ROWS(ROWS) > 0)
                    phases_part(STEPC_WINDOW_LAST_ROWS(ROWS), ROWS - STEPC_WINDOW_LAST_ROWS(ROWS), n, g, flat, weights,
                                scratch, taps, are_finite);
            }
        }
    }
}

/* ---- conv_grad_weight -------------------------------------------------------------------------------------------- */

/* Adds what image n gives to the sums of rows first .. end - 1{ of group g}, which lie `total` elements behind the
 * image in `own`. What is computed is not read from x or dy. */
static STEPC_INLINE void add_image(const int n, const int g, const int first, const int end, const int total,
                                   const T *restrict dy, const T *restrict x, const int32_t *restrict taps,
                                   T *restrict own)
{
    const struct stepc_columns columns = {.planes = D,
                                          .lines = H,
                                          .columns = W,
                                          .image_planes = QD,
                                          .image_lines = QH,
                                          .image_columns = QW,
                                          .plane_step = QD > 1 ? TD : 0,
                                          .line_step = TH,
                                          .plane_pad = PAD_D,
                                          .line_pad = PAD_H,
                                          .column_pad = PAD_W,
                                          .held_planes = HELD_D,
                                          .held_lines = HELD_H,
                                          .held_columns = HELD_W,
                                          .plane_reach = HELD_D > 1 ? REACH_D : 0,
                                          .line_reach = HELD_H > 1 ? REACH_H : 0,
                                          .column_reach = HELD_W > 1 ? REACH_W : 0,
                                          .column = COLUMN};
    const struct stepc_window_terms terms = {.planes = OD,
                                             .channels = OH,
                                             .taps = OW,
                                             .w_row = OD * OH * OW,
                                             .w_plane = OH * OW,
                                             .w_channel = OW,
                                             .w_tap = 1,
                                             .image_plane = SD * (QH * QW * COLUMN),
                                             .image_channel = SH * (QW * COLUMN),
                                             .image_tap = SW * COLUMN};
    const struct stepc_runs runs = {.runs = RUNS, .length = RUN, .step = RUN_STEP};
    if (WITH_X) {
        for (int k = 0; k < CHANNELS; k++)
            compute_x(own + PLANE + k * (D * H * W), n, g * CHANNELS + k);
        stepc_fill_columns(columns, own, own + PLANE, taps + TAPS + RUNS);
    } else {
        stepc_fill_columns(columns, own, x + (n * G + g) * (CHANNELS * D * H * W), taps + TAPS + RUNS);
    }
    if (WITH_DY) {
        for (int o = first; o < end; o++)
            compute_dy(own + PLANE + o * (OD * OH * OW), n, g * ROWS + o, OD * OH * OW);
        stepc_add_window_sums(ROWS, first, end, terms, runs, own + total, own, taps + TAPS, own + PLANE);
    } else {
        stepc_add_window_sums(ROWS, first, end, terms, runs, own + total, own, taps + TAPS,
                              dy + (n * G + g) * (ROWS * OD * OH * OW));
    }
}

/* Where the sums of image n wait, which is one of share `of`: those of the first share's images are added as they
 * come. */
static inline int waiting_place(const int of, const int n)
{
    if (of == 0 || n == of * N / SHARES)
        return of * OWN + QD * QH * QW * COLUMN + SLACK;
    return SHARES * OWN + (n - N / SHARES - of) * (ROWS * RUNS * RUN_STEP);
}

/* The images of a share. */
static STEPC_INLINE void sum_images(const T *restrict dy, const T *restrict x, const int32_t *restrict taps,
                                    T *restrict scratch)
{
    T *const own = scratch + share() * OWN;
    for (int i = 0; i < QD * QH * QW * COLUMN + SLACK; i++)
        own[i] = (T)0;
    for (int n = share() * N / SHARES; n < (share() + 1) * N / SHARES; n++) {
        const int total = waiting_place(share(), n) - share() * OWN;
        for (int i = 0; (share() > 0 || n == 0) && i < ROWS * (RUNS * RUN_STEP); i++)
            own[total + i] = (T)0;
        add_image(n, 0, 0, ROWS, total, dy, x, taps, own);
    }
}

/* A share of the rows: the sums of all images, in their order. */
static STEPC_INLINE void add_images(const int32_t *restrict taps, T *restrict scratch)
{
    T *const total = scratch + waiting_place(0, 0), *const row = scratch + share() * OWN + QD * QH * QW * COLUMN +
                                                                 SLACK + ROWS * (RUNS * RUN_STEP);
    const int first = share() * ROWS / SHARES, end = (share() + 1) * ROWS / SHARES;
    for (int of = 1; of < SHARES; of++) {
        for (int n = of * N / SHARES; n < (of + 1) * N / SHARES; n++) {
            const T *const waiting = scratch + waiting_place(of, n);
            STEPC_LANE_LOOP
            for (int i = first * (RUNS * RUN_STEP); i < end * (RUNS * RUN_STEP); i++)
                total[i] += waiting[i];
        }
    }
    for (int o = first; o < end; o++) {
        stepc_order_weights(CHANNELS, TAPS, HELD_D * HELD_H * HELD_W, row, total + o * (RUNS * RUN_STEP), taps);
        STEPC_LANE_LOOP
        for (int k = 0; k < CHANNELS * TAPS; k++) {
            const T v = row[k];
            finish_weight(o, k, v);
        }
    }
}

/* The rows that a share computes: whole tiles, and for the last one what is left. */
static inline int first_row(const int rows)
{
    return share() * (ROWS / rows) / SHARES * rows;
}

static inline int end_row(const int rows)
{
    return share() + 1 < SHARES ? (share() + 1) * (ROWS / rows) / SHARES * rows : ROWS;
}

KERNEL static void conv_grad_weight(const T *restrict dy, const T *restrict x, const int32_t *restrict taps,
                                    T *restrict scratch)
{
    if (CUT_IMAGES) {
        if (pass() == 0)
            sum_images(WITH_DY ? (const T *)0 : dy, WITH_X ? (const T *)0 : x, taps, scratch);
        else
            add_images(taps, scratch);
    } else {
        T *const total = scratch + (QD * QH * QW * COLUMN + SLACK), *const row = total + ROWS * (RUNS * RUN_STEP);
        const int first = SHARES > 1 ? first_row(STEPC_WINDOW_ROWS(ROWS)) : 0,
                  end = SHARES > 1 ? end_row(STEPC_WINDOW_ROWS(ROWS)) : ROWS;
        for (int i = 0; i < QD * QH * QW * COLUMN + SLACK + (G == 1 ? ROWS * (RUNS * RUN_STEP) : 0); i++)
            scratch[i] = (T)0;
        for (int g = 0; g < G; g++) {
            for (int i = 0; i < (G == 1 ? 0 : ROWS * (RUNS * RUN_STEP)); i++)
                total[i] = (T)0;
            for (int n = 0; n < N; n++)
                add_image(n, g, first, end, QD * QH * QW * COLUMN + SLACK, WITH_DY ? (const T *)0 : dy,
                          WITH_X ? (const T *)0 : x, taps, scratch);
            for (int o = first; o < end; o++) {
                stepc_order_weights(CHANNELS, TAPS, HELD_D * HELD_H * HELD_W, row, total + o * (RUNS * RUN_STEP), taps);
                STEPC_LANE_LOOP
                for (int k = 0; k < CHANNELS * TAPS; k++) {
                    const T v = row[k];
                    finish_weight(g * ROWS + o, k, v);
                }
            }
        }
    }
}
