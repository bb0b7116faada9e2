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

/* ---- planes ------------------------------------------------------------------------------------------------------ */

/* How many channels from g on a vector has. */
static inline int channels_from(const int g)
{
    if (G % 16 == 0)
        return STEPC_WINDOW_LANES(T);
    else
        return G - g < STEPC_WINDOW_LANES(T) ? G - g : STEPC_WINDOW_LANES(T);
}

static inline void compute_x(T *restrict to, const int n, const int channel)
{
    if (D * H * W > 16 && D * H * W % 16 > 0) {
        for (int i = 0; i < D * H * W; i += STEPC_TOGETHER(16)) {
            const int begin = STEPC_TOGETHER_FROM(i, 16, D * H * W);
            STEPC_WHOLE_LOOP
            for (int e = begin; e < begin + STEPC_TOGETHER(16); e++)
                x_into(n, channel, e, to);
        }
    } else {
        STEPC_LANE_LOOP
        for (int i = 0; i < D * H * W; i++)
            x_into(n, channel, i, to);
    }
}

static inline void compute_dy(T *restrict to, const int n, const int channel)
{
    if (OD * OH * OW > 16 && OD * OH * OW % 16 > 0) {
        for (int i = 0; i < OD * OH * OW; i += STEPC_TOGETHER(16)) {
            const int begin = STEPC_TOGETHER_FROM(i, 16, OD * OH * OW);
            STEPC_WHOLE_LOOP
            for (int e = begin; e < begin + STEPC_TOGETHER(16); e++)
                dy_into(n, channel, e, to);
        }
    } else {
        STEPC_LANE_LOOP
        for (int i = 0; i < OD * OH * OW; i++)
            dy_into(n, channel, i, to);
    }
}

/* ---- depthwise_grad_weight --------------------------------------------------------------------------------------- */

KERNEL static void depthwise_grad_weight(const T *restrict dy, const T *restrict x, const int32_t *restrict taps,
                                         T *restrict scratch)
{
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
    T *const planes = scratch + PD * PH * PW * QD * QH * QW * STEPC_WINDOW_LANES(T);
    T *const adjoints = scratch + (PD * PH * PW * QD * QH * QW + D * H * W) * STEPC_WINDOW_LANES(T);
    T *const total = scratch + (PD * PH * PW * QD * QH * QW + D * H * W + OD * OH * OW) * STEPC_WINDOW_LANES(T);
    const int first =
        SHARES > 1 ? (G + STEPC_WINDOW_LANES(T) - 1) / STEPC_WINDOW_LANES(T) * share() / SHARES * STEPC_WINDOW_LANES(T)
                   : 0;
    const int end = SHARES > 1 ? (G + STEPC_WINDOW_LANES(T) - 1) / STEPC_WINDOW_LANES(T) * (share() + 1) / SHARES *
                                     STEPC_WINDOW_LANES(T)
                               : G;
    for (int i = 0; i < PD * PH * PW * QD * QH * QW * STEPC_WINDOW_LANES(T); i++)
        scratch[i] = (T)0;
    for (int g = first; g < end; g += STEPC_WINDOW_LANES(T)) {
        const int channels = channels_from(g);
        for (int i = 0; i < TAPS * STEPC_WINDOW_LANES(T); i++)
            total[i] = (T)0;
        for (int n = 0; n < N; n++) {
            if (WITH_X) {
                for (int l = 0; l < channels; l++)
                    compute_x(scratch + PLANE + l * (D * H * W), n, g + l);
                stepc_transpose(planes, STEPC_WINDOW_LANES(T), scratch + PLANE, D * H * W, channels, D * H * W);
            } else {
                stepc_transpose(planes, STEPC_WINDOW_LANES(T), x + (n * G + g) * (D * H * W), D * H * W, channels,
                                D * H * W);
            }
            stepc_fill_channels(padded, scratch, planes);
            if (WITH_DY) {
                for (int l = 0; l < channels; l++)
                    compute_dy(scratch + PLANE + l * (OD * OH * OW), n, g + l);
                stepc_transpose(adjoints, STEPC_WINDOW_LANES(T), scratch + PLANE, OD * OH * OW, channels, OD * OH * OW);
            } else {
                stepc_transpose(adjoints, STEPC_WINDOW_LANES(T), dy + (n * G + g) * (OD * OH * OW), OD * OH * OW,
                                channels, OD * OH * OW);
            }
            stepc_add_channel_sums(TAPS, OD, OH, OW, total, scratch, taps, QH * QW, QW, adjoints);
        }
        for (int l = 0; l < channels; l++) {
            for (int t = 0; t < TAPS; t++) {
                const T v = total[t * STEPC_WINDOW_LANES(T) + l];
                finish_weight(g + l, t, v);
            }
        }
    }
}
