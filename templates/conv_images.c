/* SPDX-License-Identifier: 0BSD */
/* Convolutions whose vectors run across images, and their gradients in X: for batches of whole tiles and lines that are
 * too short for vectors, of which conv.c would have to compute the gaps. A tile is some rows (channels of the result)
 * at one window of as many images as a tile has columns. So each window has terms of its own, and terms in the padding
 * are left out.
 *
 *   conv_images   x, in the forward direction, or dy; finish(n, o, p, sum)
 *
 * The operand is transposed into scratch, so that its images are side by side; finished sums are transposed back,
 * vectors of windows at a time. An operand may also be computed on the way in (WITH_X): its planes then pass through
 * `scratch + PLANE`.
 *
 * spans: for each line of windows, then for each column, which terms it has: the position in the window and the place
 * in x of the first, both counted in elements, how many there are, and how many more would lie before and behind x:
 * these are zeros, which count where a weight is not finite.
 *
 * Terms are added in index order into one accumulator per element (compiler/ops/conv.c states the order). */
#include "kernels/stepc_registers.h"
#include "kernels/stepc_transpose.h"
#include "kernels/stepc_window_batch.h"
#include "kernels/stepc_window_finite.h"
#include "kernels/stepc_window_lanes.h"
#include "template.h"

enum HOLE {
    N = 33, G = 2, /* images, groups */
    CHANNELS = 3, ROWS = 5, /* of a group: of the operand, and of the other side */
    IN = 42, /* elements of a plane */
    OUT = 42, OH = 6, OW = 7, /* windows */
    TAPS = 9, /* positions of a window */
    TAP_STEP_H = 3, TAP_STEP_W = 1, /* from one term's position in the window to the next one's */
    PLACE_STEP_H = 7, PLACE_STEP_W = 1, /* the same in x */
    W_ROW = 27, W_CHANNEL = 9, /* weights from row to row, from channel to channel */
    PADDED = 1, /* are there terms outside of x? */
    PLANE = 4096, /* where in scratch planes are computed: behind everything else */
    SHARES = 1, /* the results are cut into so many: by windows */
    WITH_X = 0 /* x is computed */
};
typedef float T HOLE;

static int share_of_sample;
static inline int HOLE share(void) /* which of them to compute */
{
    return share_of_sample;
}

static const T sample[N * G * CHANNELS * IN];
static inline void HOLE x_into(int n, int k, int i, T *to) /* element i of plane k of image n */
{
    to[i] = sample[((n * G * CHANNELS) + k) * IN + i];
}

static T out[N * G * ROWS * OUT]; /* sample */
static inline void HOLE finish(int n, int o, int p, T sum)
{
    out[(n * G * ROWS + o) * OUT + p] = sum;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* Plane k of image n. The last vector overlaps the one before it. */
static inline void compute_x(T *restrict to, const int n, const int k)
{
    STEPC_LANE_LOOP
    for (int i = 0; i < (IN < 16 ? IN : IN - IN % 16); i++)
        x_into(n, k, i, to);
    if (IN > 16 && IN % 16 > 0) {
        STEPC_LANE_LOOP
        for (int i = IN - 16; i < IN; i++)
            x_into(n, k, i, to);
    }
}

static inline void compute_planes(T *restrict to, const int n, const int k)
{
    for (int l = 0; l < STEPC_WINDOW_COLUMNS(T); l++)
        compute_x(to + l * IN, n + l, k);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Windows p .. of rows o ..{ of group g}. Images n .. are there; those before n + fresh are finished already. */
static STEPC_INLINE void part(const int o, const int count, const int p, const int n, const int fresh, const int g,
                              T *restrict sums, const T *restrict packed, const T *restrict image,
                              const int32_t *restrict spans, const int are_finite)
{
    const struct stepc_batch batch = {.channels = CHANNELS,
                                      .plane = IN,
                                      .taps = TAPS,
                                      .lines = OH,
                                      .columns = OW,
                                      .line_tap = TAP_STEP_H,
                                      .tap = TAP_STEP_W,
                                      .line_place = PLACE_STEP_H,
                                      .place = PLACE_STEP_W,
                                      .tile = STEPC_WINDOW_ROWS(ROWS)};
    stepc_batch_windows_of(o, ROWS, count, p, batch, sums, packed + o * (CHANNELS * TAPS), image, spans, are_finite);
    for (int r = 0; r < STEPC_WINDOW_ROWS_FROM(o, ROWS); r++) {
        T turned[STEPC_BATCH(T)];
        stepc_turn_windows(turned, sums + r * STEPC_BATCH(T));
        for (int l = fresh; l < STEPC_WINDOW_COLUMNS(T); l++) {
            STEPC_LANE_LOOP
            for (int i = 0; i < count; i++) {
                const T v = turned[l * STEPC_WINDOW_LANES(T) + i];
                finish(n + l, g * ROWS + o + r, p + i, v);
            }
        }
    }
}

/* Where the packed weights of group g begin. */
static inline int group_at(const int g)
{
    return g * (CHANNELS * TAPS) * STEPC_WINDOW_ALL_ROWS(ROWS);
}

/* All windows of rows o ..{ of group g}: whole vectors, and what is left of one. */
static STEPC_INLINE void rows_of_windows(const int o, const int n, const int fresh, const int g, T *restrict sums,
                                         const T *restrict packed, const T *restrict image,
                                         const int32_t *restrict spans, const int are_finite)
{
    const T *const weights = packed + group_at(g);
    if (SHARES > 1) {
        const int vectors = OUT / STEPC_WINDOW_LANES(T);
        const int end = vectors * (share() + 1) / SHARES * STEPC_WINDOW_LANES(T);
        for (int p = vectors * share() / SHARES * STEPC_WINDOW_LANES(T); p < end; p += STEPC_WINDOW_LANES(T))
            part(o, STEPC_WINDOW_LANES(T), p, n, fresh, g, sums, weights, image, spans, are_finite);
        if (OUT % STEPC_WINDOW_LANES(T) > 0 && share() == SHARES - 1)
            part(o, OUT % STEPC_WINDOW_LANES(T), OUT - OUT % STEPC_WINDOW_LANES(T), n, fresh, g, sums, weights, image,
                 spans, are_finite);
    } else {
        for (int p = 0; p < OUT - OUT % STEPC_WINDOW_LANES(T); p += STEPC_WINDOW_LANES(T))
            part(o, STEPC_WINDOW_LANES(T), p, n, fresh, g, sums, weights, image, spans, are_finite);
        if (OUT % STEPC_WINDOW_LANES(T) > 0)
            part(o, OUT % STEPC_WINDOW_LANES(T), OUT - OUT % STEPC_WINDOW_LANES(T), n, fresh, g, sums, weights, image,
                 spans, are_finite);
    }
}

/* Images come a tile at a time; where the last ones are fewer, their tile begins before them. */
KERNEL static void conv_images(const T *restrict x, const T *restrict w, const int32_t *restrict spans,
                               T *restrict scratch)
{
    T *const packed = scratch + CHANNELS * IN * STEPC_WINDOW_COLUMNS(T), *const sums = packed + group_at(G);
    const int are_finite = PADDED ? stepc_are_finite(G * CHANNELS * ROWS * TAPS, w) : 1;
    for (int g = 0; g < G; g++)
        stepc_pack_window_rows(ROWS, CHANNELS, TAPS, packed + group_at(g), w + g * (CHANNELS * ROWS * TAPS), W_ROW,
                               W_CHANNEL);
    for (int first = 0; first < N; first += STEPC_WINDOW_COLUMNS(T)) {
        const int n = N % 32 == 0 ? first : first + STEPC_WINDOW_COLUMNS(T) <= N ? first : N - STEPC_WINDOW_COLUMNS(T);
        for (int g = 0; g < G; g++) {
            if (WITH_X) {
                for (int k = 0; k < CHANNELS; k++) {
                    compute_planes(scratch + PLANE, n, g * CHANNELS + k);
                    stepc_transpose(scratch + k * (IN * STEPC_WINDOW_COLUMNS(T)), STEPC_WINDOW_COLUMNS(T),
                                    scratch + PLANE, IN, STEPC_WINDOW_COLUMNS(T), IN);
                }
            } else {
                stepc_transpose(scratch, STEPC_WINDOW_COLUMNS(T), x + (n * G + g) * (CHANNELS * IN), G * CHANNELS * IN,
                                STEPC_WINDOW_COLUMNS(T), CHANNELS * IN);
            }
            const int fresh = N % 32 == 0 ? 0 : first - n;
            for (int o = 0; o < ROWS; o += STEPC_WINDOW_ROWS(ROWS))
                rows_of_windows(o, n, fresh, g, sums, packed, scratch, spans, are_finite);
        }
    }
}
