/* SPDX-License-Identifier: 0BSD */
/* The gradient of windows where each channel has one of its own, for one to three spatial axes, any strides and
 * dilations. The order of its sums leaves no axis for vectors but the channels: a vector of them at a time, planes are
 * transposed, so that a pixel's channels are neighbours, and put into an image that is laid out as in conv.c.
 *
 *   depthwise_grad_weight  finish_weight(g, t, sum)
 *
 * With a prologue (WITH_X, WITH_DY) planes of an operand are computed in `scratch + PLANE`.
 *
 * Terms are added in index order into one accumulator per element (compiler/ops/conv.c states the order). */
#include "kernels/stepc_registers.h"
#include "kernels/stepc_transpose.h"
#include "kernels/stepc_window_channels.h"
#include "template.h"

enum HOLE {
    N = 2, G = 5, /* images, channels */
    D = 1, H = 6, W = 7, /* what is copied into the image */
    SD = 1, SH = 1, SW = 1, /* strides */
    PAD_D = 0, PAD_H = 1, PAD_W = 1, /* may be negative: cut off */
    PD = 1, PH = 1, PW = 1, /* phases */
    QD = 1, QH = 8, QW = 9, /* elements of each phase */
    OD = 1, OH = 6, OW = 7, /* windows computed */
    TAPS = 9,
    PLANE = 4096, /* where in scratch planes are computed: behind everything else */
    SHARES = 1, /* the results are cut into so many: by channels */
    WITH_X = 0, WITH_DY = 0 /* x, dy are computed */
};
typedef float T HOLE;

static int share_of_sample;
static inline int HOLE share(void) /* which of them to compute */
{
    return share_of_sample;
}

static const T sample[N * G * D * H * W];
static inline void HOLE x_into(int n, int g, int i, T *to) /* element i of plane g of image n */
{
    to[i] = sample[(n * G + g) * (D * H * W) + i];
}
static inline void HOLE dy_into(int n, int g, int i, T *to)
{
    to[i] = sample[(n * G + g) * (D * H * W) + i];
}

static T out[G * TAPS]; /* sample */
static inline void HOLE finish_weight(int g, int t, T sum)
{
    out[g * TAPS + t] = sum;
}

/* ---- the image --------------------------------------------------------------------------------------------------- */

static inline int channels_from(const int g)
{
    return G - g < STEPC_WINDOW_LANES(T) ? G - g : STEPC_WINDOW_LANES(T);
}

static inline void compute_x(T *restrict to, const int n, const int g)
{
    STEPC_LANE_LOOP
    for (int i = 0; i < (D * H * W < 16 ? D * H * W : D * H * W - D * H * W % 16); i++)
        x_into(n, g, i, to);
    if (D * H * W > 16 && D * H * W % 16 > 0) {
        STEPC_LANE_LOOP
        for (int i = D * H * W - 16; i < D * H * W; i++)
            x_into(n, g, i, to);
    }
}

static inline void compute_planes_of_x(T *restrict to, const int n, const int g)
{
    for (int l = 0; l < channels_from(g); l++)
        compute_x(to + l * (D * H * W), n, g + l);
}

static inline void zero_image(T *restrict image)
{
    for (int i = 0; i < PD * PH * PW * QD * QH * QW * STEPC_WINDOW_LANES(T); i++)
        image[i] = (T)0;
}

/* Columns of one line into the phases of theirs, which begin at `to`; what lies outside is cut off. */
static STEPC_INLINE void fill_columns(T *restrict to, const T *restrict from)
{
    const int first = PAD_W < 0 ? -PAD_W : 0, end = W < QW * SW - PAD_W ? W : QW * SW - PAD_W;
    if (SW == 1) {
        for (int i = 0; i < (end - first) * STEPC_WINDOW_LANES(T); i++)
            to[(first + PAD_W) * STEPC_WINDOW_LANES(T) + i] = from[first * STEPC_WINDOW_LANES(T) + i];
    } else {
        for (int x = first; x < end; x++) {
            if ((x + PAD_W) % SW < PW) {
                for (int l = 0; l < STEPC_WINDOW_LANES(T); l++)
                    to[((x + PAD_W) % SW * (QD * QH * QW) + (x + PAD_W) / SW) * STEPC_WINDOW_LANES(T) + l] =
                        from[x * STEPC_WINDOW_LANES(T) + l];
            }
        }
    }
}

/* The image of `channels` planes; around them it is zero already. */
static STEPC_INLINE void fill_image(T *restrict image, T *restrict planes, const T *restrict from, const int channels)
{
    stepc_transpose(planes, STEPC_WINDOW_LANES(T), from, D * H * W, channels, D * H * W);
    for (int z = 0; z < D; z++) {
        for (int y = 0; y < H; y++) {
            const int a = z + PAD_D, b = y + PAD_H;
            if (a >= 0 && a / SD < QD && a % SD < PD && b >= 0 && b / SH < QH && b % SH < PH)
                fill_columns(image + ((a % SD * PH + b % SH) * (PW * QD * QH * QW) + (a / SD * QH + b / SH) * QW) *
                                         STEPC_WINDOW_LANES(T),
                             planes + (z * H + y) * (W * STEPC_WINDOW_LANES(T)));
        }
    }
}

/* ---- depthwise_grad_weight --------------------------------------------------------------------------------------- */

static STEPC_INLINE void add_image(T *restrict total, const T *restrict image, const int32_t *restrict taps,
                                   const T *restrict dy)
{
    for (int t = 0; t < TAPS / STEPC_CHANNEL_TAPS * STEPC_CHANNEL_TAPS; t += STEPC_CHANNEL_TAPS)
        stepc_channel_sums(STEPC_CHANNEL_TAPS, OD, OH, OW, total + t * STEPC_WINDOW_LANES(T), image, taps + t, QH * QW,
                           QW, dy);
    if (TAPS % STEPC_CHANNEL_TAPS > 0) {
        const int t = TAPS / STEPC_CHANNEL_TAPS * STEPC_CHANNEL_TAPS;
        stepc_channel_sums(TAPS % STEPC_CHANNEL_TAPS, OD, OH, OW, total + t * STEPC_WINDOW_LANES(T), image, taps + t,
                           QH * QW, QW, dy);
    }
}

static inline void compute_dy(T *restrict to, const int n, const int g)
{
    STEPC_LANE_LOOP
    for (int i = 0; i < (OD * OH * OW < 16 ? OD * OH * OW : OD * OH * OW - OD * OH * OW % 16); i++)
        dy_into(n, g, i, to);
    if (OD * OH * OW > 16 && OD * OH * OW % 16 > 0) {
        STEPC_LANE_LOOP
        for (int i = OD * OH * OW - 16; i < OD * OH * OW; i++)
            dy_into(n, g, i, to);
    }
}

static inline void transpose_computed(T *restrict to, T *restrict planes, const int n, const int g)
{
    for (int l = 0; l < channels_from(g); l++)
        compute_dy(planes + l * (OD * OH * OW), n, g + l);
    stepc_transpose(to, STEPC_WINDOW_LANES(T), planes, OD * OH * OW, channels_from(g), OD * OH * OW);
}

static STEPC_INLINE void finish_window(const int g, const T *restrict total)
{
    for (int t = 0; t < TAPS; t++) {
        const T v = total[t * STEPC_WINDOW_LANES(T)];
        finish_weight(g, t, v);
    }
}

KERNEL static void depthwise_grad_weight(const T *restrict dy, const T *restrict x, const int32_t *restrict taps,
                                         T *restrict scratch)
{
    T *const planes = scratch + PD * PH * PW * QD * QH * QW * STEPC_WINDOW_LANES(T);
    T *const transposed = planes + D * H * W * STEPC_WINDOW_LANES(T);
    T *const total = transposed + OD * OH * OW * STEPC_WINDOW_LANES(T);
    const int first =
        SHARES > 1 ? (G + STEPC_WINDOW_LANES(T) - 1) / STEPC_WINDOW_LANES(T) * share() / SHARES * STEPC_WINDOW_LANES(T)
                   : 0;
    const int end = SHARES > 1 ? (G + STEPC_WINDOW_LANES(T) - 1) / STEPC_WINDOW_LANES(T) * (share() + 1) / SHARES *
                                     STEPC_WINDOW_LANES(T)
                               : G;
    zero_image(scratch);
    for (int g = first; g < end; g += STEPC_WINDOW_LANES(T)) {
        for (int i = 0; i < TAPS * STEPC_WINDOW_LANES(T); i++)
            total[i] = (T)0;
        for (int n = 0; n < N; n++) {
            if (WITH_X) {
                compute_planes_of_x(scratch + PLANE, n, g);
                fill_image(scratch, planes, scratch + PLANE, channels_from(g));
            } else {
                fill_image(scratch, planes, x + (n * G + g) * (D * H * W), channels_from(g));
            }
            if (WITH_DY)
                transpose_computed(transposed, scratch + PLANE, n, g);
            else
                stepc_transpose(transposed, STEPC_WINDOW_LANES(T), dy + (n * G + g) * (OD * OH * OW), OD * OH * OW,
                                channels_from(g), OD * OH * OW);
            add_image(total, scratch, taps, transposed);
        }
        for (int l = 0; l < channels_from(g); l++)
            finish_window(g + l, total + l);
    }
}
