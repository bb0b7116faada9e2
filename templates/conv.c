/* SPDX-License-Identifier: 0BSD */
/* Convolutions and their derivatives, for one to three spatial axes, any strides and dilations.
 *
 * Each image (and group) is first copied into `image`. The copy is padded with zeros. Along an axis of stride S it is
 * sorted by index modulo S (a "phase" is what has the same remainder). So position t of the window lies taps[t]
 * elements from the window's place, whatever the stride, and neighbouring windows are neighbours in memory. Lines share
 * the zeros between them.
 *
 * Vectors run along lines, in one of three ways:
 *   - A line of windows is a number of whole vectors: tiles go from line to line.
 *   - Otherwise windows are computed over whole lines of the image and the gaps between them, as one long line `flat`,
 *     from which the outputs are taken. So narrow images fill vectors, too.
 *   - COPIES, CUTS: there is an image for each position of the window along the line, moved by it, so that lines lie
 *     side by side without gaps. What would come from another line is zero. Taken where a line has as many windows as
 *     elements and fewer than a vector, or (CUTS) fewer windows than elements, if what this saves is worth the copies.
 *
 *   conv              image of x; finish(n, o, p, sum)
 *   conv_grad_input   image of dy; one pass for each phase of dx. taps: distances, then window positions, in the order
 *                     of phases, then where each phase begins. Where there are several phases, weights are repacked so
 *                     that rows lie side by side; finish(n, c, i, sum)
 *   conv_grad_weight  another image of x, in which a column holds all channels. So the elements of a window's line lie
 *                     side by side, a `run`, and vectors take it from end to end, also where channels are few. Where
 *                     runs are short a column also holds what all lines of the window see (HELD_H, HELD_D), and lines
 *                     of the image are lines of windows. taps: the place of each position in the runs, where each run
 *                     begins, then which plane and line each element of a column comes from; finish(o, c and t, sum)
 *
 * With a prologue (WITH_X, WITH_DY) each plane of an operand is computed in `scratch + PLANE` and copied from there.
 *
 * Terms are added in index order into one accumulator per element (compiler/ops/conv.c states the order). */
#include "kernels/stepc_pack.h"
#include "kernels/stepc_registers.h"
#include "kernels/stepc_window_columns.h"
#include "kernels/stepc_window_finite.h"
#include "kernels/stepc_window_line.h"
#include "kernels/stepc_window_lines.h"
#include "kernels/stepc_window_skip.h"
#include "kernels/stepc_window_tile.h"
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
    XD = 1, XH = 6, XW = 7, /* conv_grad_input: dx */
    TD = 1, TH = 1, TW = 1, /* its strides; conv_grad_weight: planes and lines of x between those of the image */
    LOW_D = 0, LOW_H = 0, LOW_W = 0, /* element of dx where window 0 of phase 0 lies, 0 or less */
    LINES = 1, /* the image holds lines as they are, stride 1, none of them cut off */
    COPIES = 0, SHIFT = -1, SHIFT_STEP = 1, /* PW copies of short lines, moved by so many columns */
    CUTS = 0, /* or of the OW columns of each line that a column of the window sees, SHIFT_STEP further for each */
    MERGES = 0, /* TW > 1: lines of dx are short and finished together; scratch holds a channel of them */
    SKIPS = 0, /* LINES: tiles leave out terms that are zeros around the image for all of their windows */
    FLAT_STEP = 64, /* windows of the long line, a multiple of 32 */
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
    const int before = PAD_W > 0 ? (PAD_W + SW - 1) / SW : 0,
              inside = W - PW + PAD_W >= 0 ? (W - PW + PAD_W) / SW + 1 : 0;
    const int first = before < QW ? before : QW, last = inside < first ? first : inside < QW ? inside : QW;
    for (int j = 0; j < first; j++)
        fill_edge(to, from, j);
    STEPC_LANE_LOOP
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

/* For each copy: masks of the elements that come from no other line (up to whole vectors). */
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

static inline void fill_cuts(T *restrict image, const T *restrict plane)
{
    for (int c = 0; c < PW; c++) {
        for (int z = 0; z < D; z++)
            stepc_copy_lines(H, OW, 0, image + c * (QD * QH * QW) + ((z + PAD_D) * QH + PAD_H) * QW, QW,
                             plane + z * (H * W) + c * SHIFT_STEP, W);
    }
}

/* One channel, of which `plane` holds the elements. Where lines are as they are, the zeros around them are there
 * already. */
static inline void fill_plane(T *restrict image, const T *restrict plane)
{
    if (COPIES) {
        fill_copies(image, plane);
    } else if (CUTS) {
        fill_cuts(image, plane);
    } else if (LINES) {
        for (int z = 0; z < D; z++)
            stepc_copy_lines(H, W, QW - W, image + ((z + PAD_D) * QH + PAD_H) * QW + PAD_W, QW, plane + z * (H * W), W);
    } else {
        for (int p = 0; p < PD * PH; p++)
            fill_phases(image + p * (PW * QD * QH * QW), plane, p / PH, p % PH);
    }
}

/* Copies are made of a plane that may be read beyond its ends. */
static inline void fill_channel(T *restrict image, const T *restrict from, T *restrict plane)
{
    if (COPIES) {
        stepc_copy_line(D * H * W, plane + 16, from);
        fill_plane(image, plane);
    } else {
        fill_plane(image, from);
        (void)plane;
    }
}

static inline void fill_image(T *restrict image, T *restrict plane, const T *restrict from, const int first,
                              const int end)
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
        STEPC_WHOLE_LOOP
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
        STEPC_WHOLE_LOOP
        for (int i = count - 16; i < count; i++)
            dy_into(n, k, i, to);
    }
}

/* The image of x, of the channels first .. end - 1 of group g, which are computed one after the other; in place where a
 * plane is one line. */
static inline void fill_computed_x(T *restrict image, T *restrict plane, const int n, const int g, const int first,
                                   const int end)
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
static inline void fill_computed_dy(T *restrict image, T *restrict plane, const int n, const int g, const int first,
                                    const int end)
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

/* Before the first image: the zeros around lines, if there are any, and those behind all. */
static inline void zero_image(T *restrict image)
{
    for (int i = LINES && (QD > D || QH > H || (!CUTS && QW > W)) ? 0 : CHANNELS * PD * PH * PW * QD * QH * QW;
         i < CHANNELS * PD * PH * PW * QD * QH * QW + SLACK; i++)
        image[i] = (T)0;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* A sum over channels and `count` positions of the window. */
static STEPC_INLINE struct stepc_window_terms terms_of(const int count, const int w_row, const int w_channel,
                                                       const int w_tap, const int32_t *restrict at)
{
    const struct stepc_window_terms terms = {.planes = 1,
                                             .channels = CHANNELS,
                                             .taps = count,
                                             .w_row = w_row,
                                             .w_channel = w_channel,
                                             .w_tap = w_tap,
                                             .image_channel = PD * PH * PW * QD * QH * QW,
                                             .at = at};
    return terms;
}

/* A tile of windows, the first of which lies at `place`. If all weights are `finite`, it leaves out the first and last
 * terms that are zeros around the image for all of its windows. */
static STEPC_INLINE void tile_inside(const int rows, const int vectors, const struct stepc_window_terms terms,
                                     T *restrict to, const int to_step, const T *restrict w, const T *restrict image,
                                     const int place, const int finite)
{
    const int begin = (PAD_D * QH + PAD_H) * QW + PAD_W - place - vectors * STEPC_WINDOW_LANES(T);
    const int end = ((PAD_D + D - 1) * QH + PAD_H + H - 1) * QW + PAD_W + W - place;
    const int idle = finite ? stepc_idle_taps(terms, begin, end) : 0;
    const struct stepc_window_terms inside = finite ? stepc_terms_inside(terms, idle, begin, end) : terms;
    stepc_window_tile(rows, vectors, inside, to, to_step, w + idle * terms.w_tap, image + place, STEPC_WINDOW_LANES(T));
}

/* flat[rows, windows] = w * image, from `place` on */
static STEPC_INLINE void windows(const int rows, const struct stepc_window_terms terms, T *restrict flat,
                                 const int flat_step, const T *restrict w, const T *restrict image, const int place,
                                 const int finite)
{
    const int vectors = STEPC_LINE_VECTORS_OF(T, ((OD - 1) * QH + OH - 1) * QW + OW),
              most = SKIPS ? STEPC_FEW_VECTORS(rows) : STEPC_PART_VECTORS(vectors, rows);
    const int whole = (vectors - vectors % most) * STEPC_WINDOW_LANES(T);
    if (SKIPS) {
        for (int q = 0; q < whole; q += most * STEPC_WINDOW_LANES(T))
            tile_inside(rows, most, terms, flat + q, flat_step, w, image, place + q, finite);
        if (vectors % most > 0)
            tile_inside(rows, vectors % most, terms, flat + whole, flat_step, w, image, place + whole, finite);
    } else {
        for (int q = 0; q < whole; q += most * STEPC_WINDOW_LANES(T))
            stepc_window_tile(rows, most, terms, flat + q, flat_step, w, image + place + q, STEPC_WINDOW_LANES(T));
        if (vectors % most > 0)
            stepc_window_tile(rows, vectors % most, terms, flat + whole, flat_step, w, image + place + whole,
                              STEPC_WINDOW_LANES(T));
        (void)finite;
    }
}

/* The same with a single row. */
static STEPC_INLINE void windows_of_one(const int taps_count, T *restrict flat, const T *restrict w,
                                        const int w_channel, const int w_tap, const T *restrict image,
                                        const int32_t *restrict at)
{
    for (int q = 0; q < (((OD - 1) * QH + OH - 1) * QW + OW) / STEPC_LINE_COLUMNS(T) * STEPC_LINE_COLUMNS(T);
         q += STEPC_LINE_COLUMNS(T))
        stepc_window_line(STEPC_LINE_VECTORS, CHANNELS, taps_count, flat + q, w, w_channel, w_tap, image + q,
                          PD * PH * PW * QD * QH * QW, at);
    if ((((OD - 1) * QH + OH - 1) * QW + OW) % STEPC_LINE_COLUMNS(T) > 0) {
        const int q = (((OD - 1) * QH + OH - 1) * QW + OW) / STEPC_LINE_COLUMNS(T) * STEPC_LINE_COLUMNS(T);
        stepc_window_line(((((OD - 1) * QH + OH - 1) * QW + OW) % STEPC_LINE_COLUMNS(T) + STEPC_WINDOW_LANES(T) - 1) /
                              STEPC_WINDOW_LANES(T),
                          CHANNELS, taps_count, flat + q, w, w_channel, w_tap, image + q, PD * PH * PW * QD * QH * QW,
                          at);
    }
}

/* ---- lines of whole vectors -------------------------------------------------------------------------------------- */

/* Where vector i of the windows lies in the image. */
static inline int place_of(const int i)
{
    const int line = i / STEPC_LINE_OF_VECTORS(T, OW);
    return (line / OH * QH + line % OH) * QW + i % STEPC_LINE_OF_VECTORS(T, OW) * STEPC_WINDOW_LANES(T);
}

/* Rows o .. of the vectors i .., finished straight away. */
static STEPC_INLINE void finish_vectors(const int rows, const int vectors, const struct stepc_window_terms terms,
                                        const int n, const int o, const int i, const T *restrict w,
                                        const T *restrict image)
{
    T sum[STEPC_WINDOW_TILE_ROWS * STEPC_WINDOW_COLUMNS(T)];
    stepc_window_tile(rows, vectors, terms, sum, STEPC_WINDOW_COLUMNS(T), w, image + place_of(i),
                      vectors > 1 ? place_of(i + 1) - place_of(i) : 0);
    for (int r = 0; r < rows; r++) {
        STEPC_LANE_LOOP
        for (int l = 0; l < vectors * STEPC_WINDOW_LANES(T); l++) {
            const T v = sum[r * STEPC_WINDOW_COLUMNS(T) + l];
            finish(n, o + r, i * STEPC_WINDOW_LANES(T) + l, v);
        }
    }
}

static STEPC_INLINE void finish_lines(const int rows, const struct stepc_window_terms terms, const int n, const int o,
                                      const T *restrict w, const T *restrict image)
{
    const int vectors = OD * OH * STEPC_LINE_OF_VECTORS(T, OW);
    for (int i = 0; i < vectors - vectors % STEPC_VECTORS; i += STEPC_VECTORS)
        finish_vectors(rows, STEPC_VECTORS, terms, n, o, i, w, image);
    if (vectors % STEPC_VECTORS > 0)
        finish_vectors(rows, 1, terms, n, o, vectors - vectors % STEPC_VECTORS, w, image);
}

/* ---- conv -------------------------------------------------------------------------------------------------------- */

/* Elements side by side. Where finishing twice changes nothing, the last vector overlaps the one before it. */
static STEPC_INLINE void finish_elements(const int n, const int o, const int count, const T *restrict from)
{
    int whole = count;
    if (AGAIN_FINISH)
        whole -= count > 16 ? count % 16 : 0;
    STEPC_WIDE_LOOP
    for (int p = 0; p < whole; p++) {
        const T v = from[p];
        finish(n, o, p, v);
    }
    if (AGAIN_FINISH) {
        if (count > 16 && count % 16 > 0) {
            STEPC_WHOLE_LOOP
            for (int p = count - 16; p < count; p++) {
                const T v = from[p];
                finish(n, o, p, v);
            }
        }
    }
}

/* A line, whose last vector overlaps the one before it. */
static STEPC_INLINE void finish_part(const int n, const int o, const int first, const int begin, const int end,
                                     const T *restrict line)
{
    STEPC_WHOLE_LOOP
    for (int column = begin; column < end; column++) {
        const T v = line[column];
        finish(n, o, first + column, v);
    }
}

static STEPC_INLINE void finish_overlapping(const int n, const int o, const int first, const T *restrict line)
{
    const int lanes = STEPC_FORM == 0 ? 1 : OW < 16 ? 8 : 16;
    finish_part(n, o, first, 0, OW - OW % lanes, line);
    if (OW % lanes > 0)
        finish_part(n, o, first, OW - lanes, OW, line);
}

/* The windows of a row that lie on lines with gaps; the gaps are taken out where lines are no whole vectors. */
static STEPC_INLINE void finish_row(const int n, const int o, const T *restrict flat, T *restrict plane)
{
    if (OD * OH == 1 || (OD == 1 && QW == OW)) {
        finish_elements(n, o, OH * OW, flat);
        (void)plane;
    } else if (OW % 16 == 0 || (AGAIN_FINISH && OW >= 8)) {
        for (int z = 0; z < OD; z++) {
            for (int y = 0; y < OH; y++)
                finish_overlapping(n, o, (z * OH + y) * OW, flat + (z * QH + y) * QW);
        }
        (void)plane;
    } else {
        for (int z = 0; z < OD; z++)
            stepc_copy_lines(OH, OW, 0, plane + z * (OH * OW), OW, flat + z * (QH * QW), QW);
        finish_elements(n, o, OD * OH * OW, plane);
    }
}

static STEPC_INLINE void conv_rows(const int rows, const int n, const int o, T *restrict flat,
                                   const T *restrict weights, const T *restrict image, const int32_t *restrict at,
                                   const int finite)
{
    if (STEPC_WHOLE_VECTORS(T, ROWS, OW)) {
        finish_lines(rows, terms_of(TAPS, CHANNELS * TAPS, TAPS, 1, at), n, o, weights + o * (CHANNELS * TAPS), image);
        return;
    }
    if (ROWS == 1) {
        windows_of_one(TAPS, flat, weights + o * (CHANNELS * TAPS), TAPS, 1, image, at);
        (void)finite;
    } else {
        windows(rows, terms_of(TAPS, CHANNELS * TAPS, TAPS, 1, at), flat, FLAT_STEP, weights + o * (CHANNELS * TAPS),
                image, 0, finite);
    }
    for (int i = 0; i < rows; i++)
        finish_row(n, o + i, flat + i * FLAT_STEP, flat + rows * FLAT_STEP);
}

KERNEL static void conv(const T *restrict x, const T *restrict w, const int32_t *restrict taps, T *restrict scratch)
{
    T *const flat = scratch + (CHANNELS * PD * PH * PW * QD * QH * QW + SLACK);
    const int finite = SKIPS ? stepc_are_finite(G * ROWS * CHANNELS * TAPS, w) : 1;
    zero_image(scratch);
    if (COPIES)
        mark_columns(scratch + (PLANE + D * H * W + 48));
    for (int n = SHARES > 1 ? share() * N / SHARES : 0; n < (SHARES > 1 ? (share() + 1) * N / SHARES : N); n++) {
        for (int g = 0; g < G; g++) {
            if (WITH_X)
                fill_computed_x(scratch, scratch + PLANE, n, g, 0, CHANNELS);
            else
                fill_image(scratch, scratch + PLANE, x + (n * G + g) * (CHANNELS * D * H * W), 0, CHANNELS);
            for (int o = 0; o < ROWS - STEPC_WINDOW_LAST_ROWS(ROWS); o += STEPC_WINDOW_ROWS(ROWS))
                conv_rows(STEPC_WINDOW_ROWS(ROWS), n, g * ROWS + o, flat, w, scratch, taps, finite);
            if (STEPC_WINDOW_LAST_ROWS(ROWS) > 0)
                conv_rows(STEPC_WINDOW_LAST_ROWS(ROWS), n, g * ROWS + ROWS - STEPC_WINDOW_LAST_ROWS(ROWS), flat, w,
                          scratch, taps, finite);
        }
    }
}

/* ---- conv_grad_input --------------------------------------------------------------------------------------------- */

/* to[c / STEPC_WINDOW_ROWS(ROWS), o, t, c % STEPC_WINDOW_ROWS(ROWS)] = w[o,c,t], t in the order of phases */
static inline void pack_weights(T *restrict to, const T *restrict w, const int32_t *restrict order)
{
    for (int first = 0; first < ROWS; first += STEPC_WINDOW_ROWS(ROWS)) {
        for (int o = 0; o < CHANNELS; o++) {
            for (int t = 0; t < TAPS; t++) {
                for (int c = first; c < first + STEPC_WINDOW_ROWS(ROWS) && c < ROWS; c++)
                    to[first * (CHANNELS * TAPS) + (o * TAPS + t) * STEPC_WINDOW_ROWS(ROWS) + c - first] =
                        w[(o * ROWS + c) * TAPS + order[t]];
            }
        }
    }
}

/* Terms of `count` positions; where there are no phases, weights are read in place. */
static STEPC_INLINE struct stepc_window_terms terms_of_phase(const int count, const int32_t *restrict at)
{
    if (TD * TH * TW == 1)
        return terms_of(count, TAPS, ROWS * TAPS, 1, at);
    else
        return terms_of(count, 1, TAPS * STEPC_WINDOW_ROWS(ROWS), STEPC_WINDOW_ROWS(ROWS), at);
}

/* The window of a phase that comes first, where all phases have equally many. */
static inline int first_window(const int low, const int phase, const int size, const int stride)
{
    return size % stride == 0 && low + phase < 0;
}

/* A line of dx from those of its phases. */
static inline void merge_line(T *restrict line, const T *restrict phases)
{
    STEPC_LANE_LOOP
    for (int j = 0; j < OW; j++) {
        STEPC_UNROLL
        for (int c = 0; c < TW; c++)
            line[(j + first_window(LOW_W, c, XW, TW)) * TW + c] = phases[c * FLAT_STEP + j];
    }
}

static STEPC_INLINE void finish_line(const int n, const int channel, const int first, const T *restrict line)
{
    STEPC_LANE_LOOP
    for (int column = 0; column < XW; column++) {
        const T v = line[column - LOW_W];
        finish(n, channel, first + column, v);
    }
}

/* Which phase gives element x, and which of its windows. */
static inline int phase_of(const int x, const int low, const int stride)
{
    return (x - low) % stride;
}

static inline int window_of(const int x, const int low, const int size, const int stride)
{
    return (x - low) / stride - first_window(low, phase_of(x, low, stride), size, stride);
}

/* A short line of dx from those of its phases, without what lies beyond its ends. */
static STEPC_INLINE void merge_short_line(T *restrict to, const T *restrict phases)
{
    STEPC_UNROLL
    for (int x = 0; x < XW; x++)
        to[x] = phases[phase_of(x, LOW_W, TW) * FLAT_STEP + window_of(x, LOW_W, XW, TW)];
}

/* A channel of dx. Short lines are finished all together. */
/* Why: GCC makes no vectors of a few elements (25 lines of 5: a third of the time). */
static STEPC_INLINE void finish_channel(const int n, const int channel, const T *restrict flat, T *restrict line)
{
    if (TD * TH * TW == 1 && (XD * XH == 1 || (XD == 1 && QW == XW))) {
        finish_elements(n, channel, XH * XW, flat);
    } else if (TD * TH * TW == 1 && XW % 16 > 0) {
        for (int z = 0; z < XD; z++)
            stepc_copy_lines(XH, XW, 0, line + z * (XH * XW), XW, flat + z * (QH * QW), QW);
        finish_elements(n, channel, XD * XH * XW, line);
    } else {
        const int width = STEPC_WHOLE_VECTORS(T, ROWS, OW) ? OW : QW,
                  height = STEPC_WHOLE_VECTORS(T, ROWS, OW) ? OH : QH;
        for (int z = 0; z < XD; z++) {
            for (int y = 0; y < XH; y++) {
                const T *const phases = flat +
                                        (phase_of(z, LOW_D, TD) * TH + phase_of(y, LOW_H, TH)) * (TW * FLAT_STEP) +
                                        (window_of(z, LOW_D, XD, TD) * height + window_of(y, LOW_H, XH, TH)) * width;
                if (TW == 1) {
                    finish_line(n, channel, (z * XH + y) * XW, phases);
                } else if (MERGES) {
                    merge_short_line(line + (z * XH + y) * XW, phases);
                } else {
                    merge_line(line, phases);
                    finish_line(n, channel, (z * XH + y) * XW, line);
                }
            }
        }
        if (MERGES)
            finish_elements(n, channel, XD * XH * XW, line);
    }
}

static STEPC_INLINE void zero_phase(const int rows, T *restrict flat)
{
    for (int i = 0; i < rows; i++) {
        for (int q = 0; q < FLAT_STEP; q++)
            flat[i * (TD * TH * TW * FLAT_STEP) + q] = (T)0;
    }
}

/* The same windows side by side, without gaps. */
static STEPC_INLINE void vectors_of_lines(const int rows, const struct stepc_window_terms terms, T *restrict flat,
                                          const T *restrict packed, const T *restrict image)
{
    const int vectors = OD * OH * STEPC_LINE_OF_VECTORS(T, OW);
    for (int i = 0; i < vectors - vectors % STEPC_VECTORS; i += STEPC_VECTORS)
        stepc_window_tile(rows, STEPC_VECTORS, terms, flat + i * STEPC_WINDOW_LANES(T), TD * TH * TW * FLAT_STEP,
                          packed, image + place_of(i), STEPC_VECTORS > 1 ? place_of(i + 1) - place_of(i) : 0);
    if (vectors % STEPC_VECTORS > 0) {
        const int i = vectors - vectors % STEPC_VECTORS;
        stepc_window_tile(rows, 1, terms, flat + i * STEPC_WINDOW_LANES(T), TD * TH * TW * FLAT_STEP, packed,
                          image + place_of(i), 0);
    }
}

/* All windows of a phase. */
static STEPC_INLINE void phase_windows(const int rows, const int count, T *restrict flat, const T *restrict packed,
                                       const T *restrict image, const int place, const int32_t *restrict at,
                                       const int finite)
{
    if (ROWS == 1) {
        windows_of_one(count, flat, packed, TAPS, 1, image + place, at);
        (void)rows;
        (void)finite;
    } else if (count == 0) {
        zero_phase(rows, flat);
    } else if (STEPC_WHOLE_VECTORS(T, ROWS, OW)) {
        vectors_of_lines(rows, terms_of_phase(count, at), flat, packed, image + place);
    } else {
        windows(rows, terms_of_phase(count, at), flat, TD * TH * TW * FLAT_STEP, packed, image, place, finite);
    }
}

static STEPC_INLINE void grad_input_rows(const int rows, const int n, const int channel, T *restrict flat,
                                         const T *restrict packed, const T *restrict image,
                                         const int32_t *restrict taps, const int finite)
{
    if (TD * TH * TW == 1) {
        if (STEPC_WHOLE_VECTORS(T, ROWS, OW)) {
            finish_lines(rows, terms_of_phase(TAPS, taps), n, channel, packed, image);
            return;
        }
    }
    for (int p = 0; p < TD * TH * TW; p++) {
        const int from = (int)taps[2 * TAPS + p], count = (int)(taps[2 * TAPS + p + 1] - from);
        const int z = first_window(LOW_D, p / (TH * TW), XD, TD), y = first_window(LOW_H, p / TW % TH, XH, TH);
        phase_windows(rows, count, flat + p * FLAT_STEP, packed + from * STEPC_WINDOW_ROWS(ROWS), image,
                      (z * QH + y) * QW + first_window(LOW_W, p % TW, XW, TW), taps + from, finite);
    }
    for (int i = 0; i < rows; i++)
        finish_channel(n, channel + i, flat + i * (TD * TH * TW * FLAT_STEP), flat + rows * (TD * TH * TW * FLAT_STEP));
}

/* Where the weights of group g begin. */
static inline int group_at(const int g, const int rows)
{
    return g * (CHANNELS * TAPS) * rows;
}

KERNEL static void conv_grad_input(const T *restrict dy, const T *restrict w, const int32_t *restrict taps,
                                   T *restrict scratch)
{
    const int rows = TD * TH * TW == 1
                         ? ROWS
                         : (ROWS + STEPC_WINDOW_ROWS(ROWS) - 1) / STEPC_WINDOW_ROWS(ROWS) * STEPC_WINDOW_ROWS(ROWS);
    const int row = TD * TH * TW == 1 ? TAPS : CHANNELS * TAPS;
    T *const packed = scratch + (CHANNELS * PW * QD * QH * QW + SLACK);
    T *const flat = packed + (TD * TH * TW == 1 ? 0 : group_at(G, rows));
    const T *const weights = TD * TH * TW == 1 ? w : packed;
    const int finite = SKIPS ? stepc_are_finite(G * ROWS * CHANNELS * TAPS, w) : 1;
    zero_image(scratch);
    if (COPIES)
        mark_columns(scratch + (PLANE + D * H * W + 48));
    if (TD * TH * TW > 1) {
        for (int g = 0; g < G; g++)
            pack_weights(packed + group_at(g, rows), w + g * (CHANNELS * ROWS * TAPS), taps + TAPS);
    }
    for (int n = SHARES > 1 ? share() * N / SHARES : 0; n < (SHARES > 1 ? (share() + 1) * N / SHARES : N); n++) {
        for (int g = 0; g < G; g++) {
            if (WITH_DY)
                fill_computed_dy(scratch, scratch + PLANE, n, g, 0, CHANNELS);
            else
                fill_image(scratch, scratch + PLANE, dy + (n * G + g) * (CHANNELS * D * H * W), 0, CHANNELS);
            for (int c = 0; c < ROWS - STEPC_WINDOW_LAST_ROWS(ROWS); c += STEPC_WINDOW_ROWS(ROWS))
                grad_input_rows(STEPC_WINDOW_ROWS(ROWS), n, g * ROWS + c, flat, weights + group_at(g, rows) + c * row,
                                scratch, taps, finite);
            if (STEPC_WINDOW_LAST_ROWS(ROWS) > 0)
                grad_input_rows(STEPC_WINDOW_LAST_ROWS(ROWS), n, g * ROWS + ROWS - STEPC_WINDOW_LAST_ROWS(ROWS), flat,
                                weights + group_at(g, rows) + (ROWS - STEPC_WINDOW_LAST_ROWS(ROWS)) * row, scratch,
                                taps, finite);
        }
    }
}

/* ---- conv_grad_weight -------------------------------------------------------------------------------------------- */

/* Adds what image n gives to the sums of rows first .. end - 1 of group g, which lie behind `total` elements of own, the
 * image. What is computed is not read from x or dy. */
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
                                          .plane_step = TD,
                                          .line_step = TH,
                                          .plane_pad = PAD_D,
                                          .line_pad = PAD_H,
                                          .column_pad = PAD_W,
                                          .held_planes = HELD_D,
                                          .held_lines = HELD_H,
                                          .held_columns = HELD_W,
                                          .plane_reach = REACH_D,
                                          .line_reach = REACH_H,
                                          .column_reach = REACH_W,
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
