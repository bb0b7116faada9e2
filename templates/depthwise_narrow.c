/* SPDX-License-Identifier: 0BSD */
/* Convolutions where each channel has a window of its own, and their gradients in X, of planes whose lines are shorter
 * than a vector: one or two spatial axes, stride 1, as many windows on a line as elements.
 *
 *   depthwise   finish(n, g, p, sum)
 *
 * Vectors run over a whole plane, lines side by side: position (l, c) of the window lies l * LINE_STEP + SHIFT + c *
 * SHIFT_STEP elements from its place. What then comes from another line is masked; above and below a plane there are
 * zeros. Several planes are copied into scratch before the first is read: a vector that is loaded right after parts of
 * it were stored waits for them.
 *
 * Planes may have a prologue (WITH_X).
 *
 * Terms are added in index order into one accumulator per element (compiler/ops/conv.c states the order). */
#include "kernels/stepc_registers.h"
#include "kernels/stepc_window_kept.h"
#include "template.h"

enum HOLE {
    N = 2, G = 5, /* images, channels */
    H = 6, W = 7, /* what is read */
    OH = 6, /* lines computed */
    LINES = 3, COLUMNS = 3, /* of the window */
    LOW = -7, LINE_STEP = 7, /* where its first line lies */
    SHIFT = -1, SHIFT_STEP = 1,
    MARGIN = 32, PLANE_STEP = 112, /* zeros before and behind each plane; with them, and rounded up to 16 */
    KEPT = 48, /* OH * W rounded up to 16 */
    PLANES = 4, /* brought in together */
    AGAIN_FINISH = 1, /* may finish run twice for an element? */
    SHARES = 1, CUT_CHANNELS = 0, /* the results are cut into so many: by channels, or by images */
    WITH_X = 0 /* x is computed */
};
typedef float T HOLE;

static int share_of_sample;
static inline int HOLE share(void) /* which of them to compute */
{
    return share_of_sample;
}

static const T sample[N * G * H * W];
static inline void HOLE x_into(int n, int g, int i, T *to) /* element i of plane g of image n */
{
    to[i] = sample[(n * G + g) * (H * W) + i];
}

static T out[N * G * OH * W]; /* sample */
static inline void HOLE finish(int n, int g, int p, T sum)
{
    out[(n * G + g) * (OH * W) + p] = sum;
}

/* The last vector overlaps the one before it. */
static inline void compute_plane(T *restrict to, const int n, const int channel)
{
    if (H * W > 16 && H * W % 16 > 0) {
        for (int i = 0; i < H * W; i += STEPC_TOGETHER(16)) {
            const int begin = STEPC_TOGETHER_FROM(i, 16, H * W);
            STEPC_WHOLE_LOOP
            for (int e = begin; e < begin + STEPC_TOGETHER(16); e++)
                x_into(n, channel, e, to);
        }
    } else {
        STEPC_LANE_LOOP
        for (int i = 0; i < H * W; i++)
            x_into(n, channel, i, to);
    }
}

/* Where finishing twice changes nothing, the last vector overlaps the one before it. */
static STEPC_INLINE void finish_plane(const int n, const int channel, const T *restrict flat)
{
    if (AGAIN_FINISH && OH * W > 16 && OH * W % 16 > 0) {
        for (int i = 0; i < OH * W; i += STEPC_TOGETHER(16)) {
            const int begin = STEPC_TOGETHER_FROM(i, 16, OH * W);
            STEPC_WHOLE_LOOP
            for (int p = begin; p < begin + STEPC_TOGETHER(16); p++) {
                const T v = flat[p];
                finish(n, channel, p, v);
            }
        }
    } else {
        STEPC_LANE_LOOP
        for (int p = 0; p < OH * W; p++) {
            const T v = flat[p];
            finish(n, channel, p, v);
        }
    }
}

/* How many planes from g on are brought in together. */
static inline int planes_from(const int g, const int end)
{
    if (SHARES == 1 && G % PLANES == 0)
        return PLANES;
    else
        return end - g < PLANES ? end - g : PLANES;
}

KERNEL static void depthwise(const T *restrict x, const T *restrict w, T *restrict scratch)
{
    T *const keep = scratch + PLANES * PLANE_STEP;
    T *const flat = keep + COLUMNS * KEPT;
    for (int i = 0; i < PLANES * PLANE_STEP; i++)
        scratch[i] = (T)0;
    stepc_mark_kept(W, COLUMNS, SHIFT, SHIFT_STEP, keep, KEPT);
    const int first = SHARES > 1 && CUT_CHANNELS ? share() * G / SHARES : 0;
    const int end = SHARES > 1 && CUT_CHANNELS ? (share() + 1) * G / SHARES : G;
    for (int n = SHARES > 1 && !CUT_CHANNELS ? share() * N / SHARES : 0;
         n < (SHARES > 1 && !CUT_CHANNELS ? (share() + 1) * N / SHARES : N); n++) {
        for (int g = first; g < end; g += PLANES) {
            const int planes = planes_from(g, end);
            for (int i = 0; i < planes; i++) {
                if (WITH_X)
                    compute_plane(scratch + (i * PLANE_STEP + MARGIN), n, g + i);
                else
                    memcpy(scratch + (i * PLANE_STEP + MARGIN), x + (n * G + g + i) * (H * W),
                           (size_t)(H * W) * sizeof(T));
            }
            for (int i = 0; i < planes; i++) {
                stepc_window_plane_kept(OH * W, LINES, COLUMNS, flat, w + (g + i) * (LINES * COLUMNS),
                                        scratch + (i * PLANE_STEP + (MARGIN + LOW)), LINE_STEP, SHIFT, SHIFT_STEP, keep,
                                        KEPT);
                finish_plane(n, g + i, flat);
            }
        }
    }
}
