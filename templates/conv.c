/* SPDX-License-Identifier: 0BSD */
/* Convolutions and their derivatives, for one to three spatial axes, any strides and dilations.
 *
 * Each image (and group) is first copied into `image`: padded with zeros and, along an axis of stride S, sorted by its index
 * modulo S ("phases"), so that position t of the window lies taps[t] elements from the window's place whatever the stride, and
 * neighbouring windows are neighbours. Where a line of windows is a number of whole vectors, tiles go from line to line; else
 * windows are computed over whole lines of an image including its gaps, as one long line `flat`, from which the outputs are
 * taken: so narrow images fill vectors, too. Lines share the zeros between them. Where a line has as many windows as elements, and
 * fewer than a vector, there is an image for each position of the window along the line, moved by it, with zeros where elements would
 * come from other lines: then lines lie side by side without gaps.
 *
 *   conv              image of x; finish(n, o, p, sum)
 *   conv_grad_input   image of dy; one pass for each phase of dx; taps: distances, then window positions, in the order of phases,
 *                     then where each phase begins; weights are repacked so that rows lie side by side; finish(n, c, i, sum)
 *   conv_grad_weight  image of x; dy is transposed, so that vectors run over output channels; finish(o, c and t, sum)
 *
 * An image may also be computed on the way in (WITH_X, WITH_DY): then each of its planes passes through `scratch + PLANE`.
 *
 * Terms are added in index order into one accumulator per element (compiler/ops/conv.c states the order). */
#include "pack.h"
#include "registers.h"
#include "template.h"
#include "window_line.h"
#include "window_lines.h"
#include "window_sums.h"
#include "window_tile.h"

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
    XD = 1, XH = 6, XW = 7, /* conv_grad_input: dx */
    TD = 1, TH = 1, TW = 1, /* its strides */
    LOW_D = 0, LOW_H = 0, LOW_W = 0, /* element of dx where window 0 of phase 0 lies, 0 or less */
    LINES = 1, /* the image holds lines as they are, stride 1, none of them cut off */
    COPIES = 0, SHIFT = -1, SHIFT_STEP = 1, /* PW copies of short lines, moved by so many columns */
    FLAT_STEP = 64, /* windows of the long line, a multiple of 32 */
    SLACK = 32, /* elements behind the image that vectors may read */
    PACKED = 8, /* conv_grad_weight: ROWS rounded up to 4 */
    PLANE = 4096, /* where in scratch planes are computed: behind everything else */
    AGAIN_FINISH = 1, /* may finish run twice for an element? */
    SHARES = 1, /* the results are cut into so many: by images, weights by rows of sums */
    WITH_X = 0, WITH_DY = 0 /* x, dy are computed */
};
typedef float T HOLE;

static int share_of_sample;
static inline int HOLE share(void) /* which of them to compute */
{
    return share_of_sample;
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

/* ---- the image ------------------------------------------------------------------------------------------------------ */

/* Column j of all phases of a line: phase c has from[j * SW + c - PAD_W], zero outside. */
static inline void fill_edge(T *restrict to, const T *restrict from, const int j)
{
    for (int c = 0; c < PW; c++) {
        const int x = j * SW + c - PAD_W;
        to[c * (QD * QH * QW) + j] = x >= 0 && x < W ? from[x] : (T)0;
    }
}

/* One line of all phases. */
static inline void fill_line(T *restrict to, const T *restrict from)
{
    const int before = PAD_W > 0 ? (PAD_W + SW - 1) / SW : 0, inside = W - PW + PAD_W >= 0 ? (W - PW + PAD_W) / SW + 1 : 0;
    const int first = before < QW ? before : QW, last = inside < first ? first : inside < QW ? inside : QW;
    for (int j = 0; j < first; j++)
        fill_edge(to, from, j);
    for (int j = first; j < last; j++) {
        STEPC_UNROLL
        for (int c = 0; c < PW; c++)
            to[c * (QD * QH * QW) + j] = from[j * SW + c - PAD_W];
    }
    for (int j = last; j < QW; j++)
        fill_edge(to, from, j);
}

static inline void zero_line(T *restrict to)
{
    for (int c = 0; c < PW; c++) {
        for (int j = 0; j < QW; j++)
            to[c * (QD * QH * QW) + j] = (T)0;
    }
}

/* All lines of a channel of the phases (a,b,..). */
static inline void fill_phases(T *restrict to, const T *restrict from, const int a, const int b)
{
    for (int i = 0; i < QD; i++) {
        for (int j = 0; j < QH; j++) {
            const int z = i * SD + a - PAD_D, y = j * SH + b - PAD_H;
            if (z >= 0 && z < D && y >= 0 && y < H)
                fill_line(to + (i * QH + j) * QW, from + (z * H + y) * W);
            else
                zero_line(to + (i * QH + j) * QW);
        }
    }
}

/* Behind the plane, of which each copy reads a part: for each copy, what is no other line's (up to whole vectors). */
static inline void mark_columns(T *restrict keep)
{
    for (int c = 0; c < PW; c++) {
        for (int p = 0; p < (H * W + 15) / 16 * 16; p++) {
            const int x = p % W + SHIFT + c * SHIFT_STEP;
            keep[c * ((H * W + 15) / 16 * 16) + p] = p < H * W && x >= 0 && x < W ? (T)1 : (T)0;
        }
    }
}

/* The plane begins 16 elements behind `plane`. */
static inline void fill_copies(T *restrict image, const T *restrict plane)
{
    const T *const keep = plane + (D * H * W + 48);
    for (int c = 0; c < PW; c++) {
        for (int z = 0; z < D; z++) {
            T *const to = image + c * (QD * QH * QW) + ((z + PAD_D) * QH + PAD_H) * QW;
            const T *const from = plane + (z * (H * W) + 16 + SHIFT + c * SHIFT_STEP);
            STEPC_LANE_LOOP
            for (int p = 0; p < (H * W + 15) / 16 * 16; p++) {
                const T v = from[p];
                to[p] = keep[c * ((H * W + 15) / 16 * 16) + p] != (T)0 ? v : (T)0;
            }
        }
    }
}

/* One channel, of which `plane` holds the elements. Where lines are as they are, the zeros around them are there already. */
static inline void fill_plane(T *restrict image, const T *restrict plane)
{
    if (COPIES) {
        fill_copies(image, plane);
    } else if (LINES) {
        for (int z = 0; z < D; z++)
            copy_lines(H, W, QW - W, image + ((z + PAD_D) * QH + PAD_H) * QW + PAD_W, QW, plane + z * (H * W), W);
    } else {
        for (int p = 0; p < PD * PH; p++)
            fill_phases(image + p * (PW * QD * QH * QW), plane, p / PH, p % PH);
    }
}

/* Copies are made of a plane that may be read beyond its ends. */
static inline void fill_channel(T *restrict image, const T *restrict from, T *restrict plane)
{
    if (COPIES) {
        copy_line(D * H * W, plane + 16, from);
        fill_plane(image, plane);
    } else {
        fill_plane(image, from);
        (void)plane;
    }
}

static inline void fill_image(T *restrict image, T *restrict plane, const T *restrict from, const int first, const int end)
{
    for (int k = first; k < end; k++)
        fill_channel(image + k * (PD * PH * PW * QD * QH * QW), from + k * (D * H * W), plane);
}

/* Plane k of image n. The last vector overlaps the one before it. */
static inline void compute_x(T *restrict to, const int n, const int k)
{
    STEPC_LANE_LOOP
    for (int i = 0; i < (D * H * W < 16 ? D * H * W : D * H * W - D * H * W % 16); i++)
        x_into(n, k, i, to);
    if (D * H * W > 16 && D * H * W % 16 > 0) {
        STEPC_LANE_LOOP
        for (int i = D * H * W - 16; i < D * H * W; i++)
            x_into(n, k, i, to);
    }
}

static STEPC_INLINE void compute_dy(T *restrict to, const int n, const int k, const int count)
{
    STEPC_LANE_LOOP
    for (int i = 0; i < (count < 16 ? count : count - count % 16); i++)
        dy_into(n, k, i, to);
    if (count > 16 && count % 16 > 0) {
        STEPC_LANE_LOOP
        for (int i = count - 16; i < count; i++)
            dy_into(n, k, i, to);
    }
}

/* The image of x, of the channels first .. end - 1 of group g, which are computed one after the other; in place where a plane is one line. */
static inline void fill_computed_x(T *restrict image, T *restrict plane, const int n, const int g, const int first, const int end)
{
    for (int k = first; k < end; k++) {
        if (!COPIES && LINES && D * H == 1 && QD * QH == 1) {
            compute_x(image + k * QW + PAD_W, n, g * CHANNELS + k);
        } else {
            compute_x(plane + (COPIES ? 16 : 0), n, g * CHANNELS + k);
            fill_plane(image + k * (PD * PH * PW * QD * QH * QW), plane);
        }
    }
}

/* The same of dy. */
static inline void fill_computed_dy(T *restrict image, T *restrict plane, const int n, const int g, const int first, const int end)
{
    for (int k = first; k < end; k++) {
        if (!COPIES && LINES && D * H == 1 && QD * QH == 1) {
            compute_dy(image + k * QW + PAD_W, n, g * CHANNELS + k, W);
        } else {
            compute_dy(plane + (COPIES ? 16 : 0), n, g * CHANNELS + k, D * H * W);
            fill_plane(image + k * (PW * QD * QH * QW), plane);
        }
    }
}

/* Before the first image: the zeros around lines, and those behind all. */
static inline void zero_image(T *restrict image)
{
    for (int i = LINES ? 0 : CHANNELS * PD * PH * PW * QD * QH * QW; i < CHANNELS * PD * PH * PW * QD * QH * QW + SLACK; i++)
        image[i] = (T)0;
}

static inline void zero_slack(T *restrict to)
{
    for (int i = 0; i < SLACK; i++)
        to[i] = (T)0;
}

/* ---- windows -------------------------------------------------------------------------------------------------------- */

/* flat[rows, windows] = w * image */
static STEPC_INLINE void windows(const int rows, const int taps_count, T *restrict flat, const int flat_step,
                                 const T *restrict w, const int w_row, const int w_channel, const int w_tap,
                                 const T *restrict image, const int32_t *restrict at)
{
    for (int q = 0; q < (((OD - 1) * QH + OH - 1) * QW + OW) / WINDOW_COLUMNS * WINDOW_COLUMNS; q += WINDOW_COLUMNS)
        window_tile(rows, VECTORS, CHANNELS, taps_count, flat + q, flat_step, w, w_row, w_channel, w_tap, image + q,
                    PD * PH * PW * QD * QH * QW, WINDOW_LANES, at);
    if ((((OD - 1) * QH + OH - 1) * QW + OW) % WINDOW_COLUMNS > 0) {
        const int q = (((OD - 1) * QH + OH - 1) * QW + OW) / WINDOW_COLUMNS * WINDOW_COLUMNS;
        window_tile(rows, (((OD - 1) * QH + OH - 1) * QW + OW) % WINDOW_COLUMNS > WINDOW_LANES ? VECTORS : 1, CHANNELS, taps_count,
                    flat + q, flat_step, w, w_row, w_channel, w_tap, image + q, PD * PH * PW * QD * QH * QW, WINDOW_LANES, at);
    }
}

/* The same with a single row. */
static STEPC_INLINE void windows_of_one(const int taps_count, T *restrict flat, const T *restrict w, const int w_channel,
                                        const int w_tap, const T *restrict image, const int32_t *restrict at)
{
    for (int q = 0; q < (((OD - 1) * QH + OH - 1) * QW + OW) / LINE_COLUMNS * LINE_COLUMNS; q += LINE_COLUMNS)
        window_line(LINE_VECTORS, CHANNELS, taps_count, flat + q, w, w_channel, w_tap, image + q,
                    PD * PH * PW * QD * QH * QW, at);
    if ((((OD - 1) * QH + OH - 1) * QW + OW) % LINE_COLUMNS > 0) {
        const int q = (((OD - 1) * QH + OH - 1) * QW + OW) / LINE_COLUMNS * LINE_COLUMNS;
        window_line(((((OD - 1) * QH + OH - 1) * QW + OW) % LINE_COLUMNS + WINDOW_LANES - 1) / WINDOW_LANES, CHANNELS, taps_count,
                    flat + q, w, w_channel, w_tap, image + q, PD * PH * PW * QD * QH * QW, at);
    }
}

/* ---- lines of whole vectors ------------------------------------------------------------------------------------------- */

/* Where vector i of the windows lies in the image. */
static inline int place_of(const int i)
{
    const int line = i / LINE_OF_VECTORS(OW);
    return (line / OH * QH + line % OH) * QW + i % LINE_OF_VECTORS(OW) * WINDOW_LANES;
}

/* Rows o .. of the vectors i .., finished straight away. */
static STEPC_INLINE void finish_vectors(const int rows, const int vectors, const int taps_count, const int n, const int o, const int i,
                                        const T *restrict w, const int w_row, const int w_channel, const int w_tap,
                                        const T *restrict image, const int32_t *restrict at)
{
    T sum[WINDOW_TILE_ROWS * WINDOW_COLUMNS];
    window_tile(rows, vectors, CHANNELS, taps_count, sum, WINDOW_COLUMNS, w, w_row, w_channel, w_tap, image + place_of(i),
                PD * PH * PW * QD * QH * QW, vectors > 1 ? place_of(i + 1) - place_of(i) : 0, at);
    for (int r = 0; r < rows; r++) {
        STEPC_LANE_LOOP
        for (int l = 0; l < vectors * WINDOW_LANES; l++) {
            const T v = sum[r * WINDOW_COLUMNS + l];
            finish(n, o + r, i * WINDOW_LANES + l, v);
        }
    }
}

static STEPC_INLINE void finish_lines(const int rows, const int taps_count, const int n, const int o, const T *restrict w,
                                      const int w_row, const int w_channel, const int w_tap, const T *restrict image,
                                      const int32_t *restrict at)
{
    const int vectors = OD * OH * LINE_OF_VECTORS(OW);
    for (int i = 0; i < vectors - vectors % VECTORS; i += VECTORS)
        finish_vectors(rows, VECTORS, taps_count, n, o, i, w, w_row, w_channel, w_tap, image, at);
    if (vectors % VECTORS > 0)
        finish_vectors(rows, 1, taps_count, n, o, vectors - vectors % VECTORS, w, w_row, w_channel, w_tap, image, at);
}

/* ---- conv ----------------------------------------------------------------------------------------------------------- */

/* Elements side by side; where no harm is done, the last vector overlaps the one before it. */
static STEPC_INLINE void finish_elements(const int n, const int o, const int count, const T *restrict from)
{
    STEPC_LANE_LOOP
    for (int p = 0; p < (AGAIN_FINISH && count >= 16 ? count - count % 16 : count); p++) {
        const T v = from[p];
        finish(n, o, p, v);
    }
    if (AGAIN_FINISH) {
        if (count > 16 && count % 16 > 0) {
            STEPC_LANE_LOOP
            for (int p = count - 16; p < count; p++) {
                const T v = from[p];
                finish(n, o, p, v);
            }
        }
    }
}

/* The windows of a row that lie on lines with gaps; the gaps are taken out where lines are no whole vectors. */
static STEPC_INLINE void finish_row(const int n, const int o, const T *restrict flat, T *restrict plane)
{
    if (OD * OH == 1 || (OD == 1 && QW == OW)) {
        finish_elements(n, o, OH * OW, flat);
        (void)plane;
    } else if (OW % 16 == 0) {
        for (int l = 0; l < OD * OH; l++) {
            STEPC_LANE_LOOP
            for (int x = 0; x < OW; x++) {
                const T v = flat[(l / OH * QH + l % OH) * QW + x];
                finish(n, o, l * OW + x, v);
            }
        }
        (void)plane;
    } else {
        for (int z = 0; z < OD; z++)
            copy_lines(OH, OW, 0, plane + z * (OH * OW), OW, flat + z * (QH * QW), QW);
        finish_elements(n, o, OD * OH * OW, plane);
    }
}

static STEPC_INLINE void conv_rows(const int rows, const int n, const int o, T *restrict flat, const T *restrict weights,
                                   const T *restrict image, const int32_t *restrict at)
{
    if (WHOLE_VECTORS(ROWS, OW)) {
        finish_lines(rows, TAPS, n, o, weights + o * (CHANNELS * TAPS), CHANNELS * TAPS, TAPS, 1, image, at);
        return;
    }
    if (ROWS == 1)
        windows_of_one(TAPS, flat, weights + o * (CHANNELS * TAPS), TAPS, 1, image, at);
    else
        windows(rows, TAPS, flat, FLAT_STEP, weights + o * (CHANNELS * TAPS), CHANNELS * TAPS, TAPS, 1, image, at);
    for (int i = 0; i < rows; i++)
        finish_row(n, o + i, flat + i * FLAT_STEP, flat + rows * FLAT_STEP);
}

KERNEL static void conv(const T *restrict x, const T *restrict w, const int32_t *restrict taps, T *restrict scratch)
{
    T *const flat = scratch + (CHANNELS * PD * PH * PW * QD * QH * QW + SLACK);
    zero_image(scratch);
    if (COPIES)
        mark_columns(scratch + (PLANE + D * H * W + 48));
    for (int n = SHARES > 1 ? share() * N / SHARES : 0; n < (SHARES > 1 ? (share() + 1) * N / SHARES : N); n++) {
        for (int g = 0; g < G; g++) {
            if (WITH_X)
                fill_computed_x(scratch, scratch + PLANE, n, g, 0, CHANNELS);
            else
                fill_image(scratch, scratch + PLANE, x + (n * G + g) * (CHANNELS * D * H * W), 0, CHANNELS);
            for (int o = 0; o < ROWS - WINDOW_LAST_ROWS(ROWS); o += WINDOW_ROWS(ROWS))
                conv_rows(WINDOW_ROWS(ROWS), n, g * ROWS + o, flat, w, scratch, taps);
            if (WINDOW_LAST_ROWS(ROWS) > 0)
                conv_rows(WINDOW_LAST_ROWS(ROWS), n, g * ROWS + ROWS - WINDOW_LAST_ROWS(ROWS), flat, w, scratch, taps);
        }
    }
}

/* ---- conv_grad_input ------------------------------------------------------------------------------------------------ */

/* to[c / WINDOW_ROWS(ROWS), o, t, c % WINDOW_ROWS(ROWS)] = w[o,c,t], t in the order of phases */
static inline void pack_weights(T *restrict to, const T *restrict w, const int32_t *restrict order)
{
    for (int first = 0; first < ROWS; first += WINDOW_ROWS(ROWS)) {
        for (int o = 0; o < CHANNELS; o++) {
            for (int t = 0; t < TAPS; t++) {
                for (int c = first; c < first + WINDOW_ROWS(ROWS) && c < ROWS; c++)
                    to[first * (CHANNELS * TAPS) + (o * TAPS + t) * WINDOW_ROWS(ROWS) + c - first] = w[(o * ROWS + c) * TAPS + order[t]];
            }
        }
    }
}

/* The window of a phase that comes first, where all phases have equally many. */
static inline int first_window(const int low, const int phase, const int size, const int stride)
{
    return size % stride == 0 && low + phase < 0;
}

/* A line of dx from those of its phases. */
static inline void merge_line(T *restrict line, const T *restrict phases)
{
    for (int j = 0; j < OW; j++) {
        STEPC_UNROLL
        for (int c = 0; c < TW; c++)
            line[(j + first_window(LOW_W, c, XW, TW)) * TW + c] = phases[c * FLAT_STEP + j];
    }
}

static STEPC_INLINE void finish_line(const int n, const int channel, const int first, const T *restrict line)
{
    STEPC_LANE_LOOP
    for (int x = 0; x < XW; x++) {
        const T v = line[x - LOW_W];
        finish(n, channel, first + x, v);
    }
}

/* Window of element x. */
static inline int window_of(const int x, const int low, const int size, const int stride)
{
    return (x - low) / stride - first_window(low, (x - low) % stride, size, stride);
}

/* A channel of dx. */
static STEPC_INLINE void finish_channel(const int n, const int channel, const T *restrict flat, T *restrict line)
{
    const int width = WHOLE_VECTORS(ROWS, OW) ? OW : QW, height = WHOLE_VECTORS(ROWS, OW) ? OH : QH;
    if (TD * TH * TW == 1 && (XD * XH == 1 || (XD == 1 && QW == XW))) {
        finish_elements(n, channel, XH * XW, flat);
        return;
    }
    if (TD * TH * TW == 1 && XW % 16 > 0) {
        for (int z = 0; z < XD; z++)
            copy_lines(XH, XW, 0, line + z * (XH * XW), XW, flat + z * (QH * QW), QW);
        finish_elements(n, channel, XD * XH * XW, line);
        return;
    }
    for (int z = 0; z < XD; z++) {
        for (int y = 0; y < XH; y++) {
            const T *const phases = flat + ((z - LOW_D) % TD * TH + (y - LOW_H) % TH) * (TW * FLAT_STEP) +
                                    (window_of(z, LOW_D, XD, TD) * height + window_of(y, LOW_H, XH, TH)) * width;
            if (TW == 1) {
                finish_line(n, channel, (z * XH + y) * XW, phases);
            } else {
                merge_line(line, phases);
                finish_line(n, channel, (z * XH + y) * XW, line);
            }
        }
    }
    if (TW == 1)
        (void)line;
}

static STEPC_INLINE void zero_phase(const int rows, T *restrict flat)
{
    for (int i = 0; i < rows; i++) {
        for (int q = 0; q < FLAT_STEP; q++)
            flat[i * (TD * TH * TW * FLAT_STEP) + q] = (T)0;
    }
}

/* The same windows side by side, without gaps. */
static STEPC_INLINE void vectors_of_lines(const int rows, const int count, T *restrict flat, const T *restrict packed,
                                          const T *restrict image, const int32_t *restrict at)
{
    const int vectors = OD * OH * LINE_OF_VECTORS(OW);
    for (int i = 0; i < vectors - vectors % VECTORS; i += VECTORS)
        window_tile(rows, VECTORS, CHANNELS, count, flat + i * WINDOW_LANES, TD * TH * TW * FLAT_STEP, packed, 1,
                    TAPS * WINDOW_ROWS(ROWS), WINDOW_ROWS(ROWS), image + place_of(i), PW * QD * QH * QW,
                    VECTORS > 1 ? place_of(i + 1) - place_of(i) : 0, at);
    if (vectors % VECTORS > 0) {
        const int i = vectors - vectors % VECTORS;
        window_tile(rows, 1, CHANNELS, count, flat + i * WINDOW_LANES, TD * TH * TW * FLAT_STEP, packed, 1, TAPS * WINDOW_ROWS(ROWS),
                    WINDOW_ROWS(ROWS), image + place_of(i), PW * QD * QH * QW, 0, at);
    }
}

/* All windows of a phase. */
static STEPC_INLINE void phase_windows(const int rows, const int count, T *restrict flat, const T *restrict packed,
                                       const T *restrict image, const int32_t *restrict at)
{
    if (ROWS == 1) {
        windows_of_one(count, flat, packed, TAPS, 1, image, at);
        (void)rows;
    } else if (count == 0) {
        zero_phase(rows, flat);
    } else if (WHOLE_VECTORS(ROWS, OW)) {
        vectors_of_lines(rows, count, flat, packed, image, at);
    } else {
        windows(rows, count, flat, TD * TH * TW * FLAT_STEP, packed, 1, TAPS * WINDOW_ROWS(ROWS), WINDOW_ROWS(ROWS), image, at);
    }
}

static STEPC_INLINE void grad_input_rows(const int rows, const int n, const int channel, T *restrict flat, const T *restrict packed,
                                         const T *restrict image, const int32_t *restrict taps)
{
    if (TD * TH * TW == 1 && WHOLE_VECTORS(ROWS, OW)) {
        finish_lines(rows, TAPS, n, channel, packed, 1, TAPS * WINDOW_ROWS(ROWS), WINDOW_ROWS(ROWS), image, taps);
        return;
    }
    for (int p = 0; p < TD * TH * TW; p++) {
        const int from = taps[2 * TAPS + p], count = taps[2 * TAPS + p + 1] - from;
        const int z = first_window(LOW_D, p / (TH * TW), XD, TD), y = first_window(LOW_H, p / TW % TH, XH, TH);
        phase_windows(rows, count, flat + p * FLAT_STEP, packed + from * WINDOW_ROWS(ROWS),
                      image + (z * QH + y) * QW + first_window(LOW_W, p % TW, XW, TW), taps + from);
    }
    for (int i = 0; i < rows; i++)
        finish_channel(n, channel + i, flat + i * (TD * TH * TW * FLAT_STEP), flat + rows * (TD * TH * TW * FLAT_STEP));
}

KERNEL static void conv_grad_input(const T *restrict dy, const T *restrict w, const int32_t *restrict taps, T *restrict scratch)
{
    T *const packed = scratch + (CHANNELS * PW * QD * QH * QW + SLACK);
    const int group = CHANNELS * TAPS * ((ROWS + WINDOW_ROWS(ROWS) - 1) / WINDOW_ROWS(ROWS) * WINDOW_ROWS(ROWS));
    T *const flat = packed + G * group;
    zero_image(scratch);
    if (COPIES)
        mark_columns(scratch + (PLANE + D * H * W + 48));
    for (int g = 0; g < G; g++)
        pack_weights(packed + g * group, w + g * (CHANNELS * ROWS * TAPS), taps + TAPS);
    for (int n = SHARES > 1 ? share() * N / SHARES : 0; n < (SHARES > 1 ? (share() + 1) * N / SHARES : N); n++) {
        for (int g = 0; g < G; g++) {
            if (WITH_DY)
                fill_computed_dy(scratch, scratch + PLANE, n, g, 0, CHANNELS);
            else
                fill_image(scratch, scratch + PLANE, dy + (n * G + g) * (CHANNELS * D * H * W), 0, CHANNELS);
            for (int c = 0; c < ROWS - WINDOW_LAST_ROWS(ROWS); c += WINDOW_ROWS(ROWS))
                grad_input_rows(WINDOW_ROWS(ROWS), n, g * ROWS + c, flat, packed + g * group + c * (CHANNELS * TAPS), scratch, taps);
            if (WINDOW_LAST_ROWS(ROWS) > 0)
                grad_input_rows(WINDOW_LAST_ROWS(ROWS), n, g * ROWS + ROWS - WINDOW_LAST_ROWS(ROWS), flat,
                                packed + g * group + (ROWS - WINDOW_LAST_ROWS(ROWS)) * (CHANNELS * TAPS), scratch, taps);
        }
    }
}

/* ---- conv_grad_weight ----------------------------------------------------------------------------------------------- */

/* total[k, o] += the image's sums for the channels o ..; rows of k from `offset` on. */
static STEPC_INLINE void add_sums(const int rows, const int vectors, const int columns, T *restrict total,
                                  const T *restrict image, const int32_t *restrict offset, const T *restrict dy)
{
    T sum[SUMS_MOST * WINDOW_COLUMNS];
    window_sums(rows, vectors, OD, OH, OW, sum, image, offset, QH * QW, QW, dy, PACKED);
    for (int i = 0; i < rows; i++) {
        for (int l = 0; l < columns; l++)
            total[i * PACKED + l] += sum[i * WINDOW_COLUMNS + l];
    }
}

static STEPC_INLINE void grad_weight_rows(const int rows, const int k, T *restrict total, const T *restrict image,
                                          const int32_t *restrict taps, const T *restrict dy)
{
    int32_t offset[SUMS_MOST];
    for (int i = 0; i < rows; i++)
        offset[i] = (int32_t)((k + i) / TAPS * (PD * PH * PW * QD * QH * QW)) + taps[(k + i) % TAPS];
    for (int o = 0; o < ROWS / WINDOW_COLUMNS * WINDOW_COLUMNS; o += WINDOW_COLUMNS)
        add_sums(rows, VECTORS, WINDOW_COLUMNS, total + k * PACKED + o, image, offset, dy + o);
    if (ROWS % WINDOW_COLUMNS > 0)
        add_sums(rows, ROWS % WINDOW_COLUMNS > WINDOW_LANES ? VECTORS : 1, ROWS % WINDOW_COLUMNS,
                 total + k * PACKED + ROWS / WINDOW_COLUMNS * WINDOW_COLUMNS, image, offset, dy + ROWS / WINDOW_COLUMNS * WINDOW_COLUMNS);
}

/* The rows of sums that a share computes: whole tiles of `rows`, and for the last one what is left. */
static inline int first_row(const int rows)
{
    return share() * (CHANNELS * TAPS / rows) / SHARES * rows;
}

static inline int end_row(const int rows)
{
    return share() + 1 < SHARES ? (share() + 1) * (CHANNELS * TAPS / rows) / SHARES * rows : CHANNELS * TAPS;
}

static STEPC_INLINE void add_image(T *restrict total, const T *restrict image, const int32_t *restrict taps, const T *restrict dy)
{
    const int rows = SUMS_ROWS(CHANNELS * TAPS, ROWS), rest = CHANNELS * TAPS % rows;
    const int end = SHARES > 1 ? end_row(SUMS_ROWS(CHANNELS * TAPS, ROWS)) : CHANNELS * TAPS;
    int k = SHARES > 1 ? first_row(SUMS_ROWS(CHANNELS * TAPS, ROWS)) : 0;
    for (; k + rows <= end; k += rows)
        grad_weight_rows(rows, k, total, image, taps, dy);
    if (rest > 0 && k < end)
        grad_weight_rows(rest, k, total, image, taps, dy);
}

static STEPC_INLINE void transpose_computed(T *restrict to, T *restrict planes, const int n, const int first)
{
    for (int o = 0; o < ROWS; o++)
        compute_dy(planes + o * (OD * OH * OW), n, first + o, OD * OH * OW);
    pack_transposed(to, PACKED, planes, OD * OH * OW, ROWS, OD * OH * OW);
}

static STEPC_INLINE void finish_weights(const int o, const T *restrict total)
{
    for (int k = SHARES > 1 ? first_row(SUMS_ROWS(CHANNELS * TAPS, ROWS)) : 0; k < (SHARES > 1 ? end_row(SUMS_ROWS(CHANNELS * TAPS, ROWS)) : CHANNELS * TAPS); k++) {
        const T v = total[k * PACKED];
        finish_weight(o, k, v);
    }
}

KERNEL static void conv_grad_weight(const T *restrict dy, const T *restrict x, const int32_t *restrict taps, T *restrict scratch)
{
    T *const transposed = scratch + (CHANNELS * PD * PH * PW * QD * QH * QW + SLACK);
    T *const total = transposed + (OD * OH * OW * PACKED + SLACK);
    const int first = SHARES > 1 ? first_row(SUMS_ROWS(CHANNELS * TAPS, ROWS)) / TAPS : 0;
    const int end = SHARES > 1 ? (end_row(SUMS_ROWS(CHANNELS * TAPS, ROWS)) + TAPS - 1) / TAPS : CHANNELS;
    zero_image(scratch);
    zero_slack(transposed + OD * OH * OW * PACKED);
    for (int g = 0; g < G; g++) {
        for (int i = 0; i < CHANNELS * TAPS * PACKED; i++)
            total[i] = (T)0;
        for (int n = 0; n < N; n++) {
            if (WITH_X)
                fill_computed_x(scratch, scratch + PLANE, n, g, first, end);
            else
                fill_image(scratch, scratch + PLANE, x + (n * G + g) * (CHANNELS * D * H * W), first, end);
            if (WITH_DY)
                transpose_computed(transposed, scratch + PLANE, n, g * ROWS);
            else
                pack_transposed(transposed, PACKED, dy + (n * G + g) * (ROWS * OD * OH * OW), OD * OH * OW, ROWS, OD * OH * OW);
            add_image(total, scratch, taps, transposed);
        }
        for (int o = 0; o < ROWS; o++)
            finish_weights(g * ROWS + o, total + o);
    }
}
