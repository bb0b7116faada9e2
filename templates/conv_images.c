/* SPDX-License-Identifier: 0BSD */
/* Convolutions whose vectors run across images, and their gradients in X: for batches of whole tiles and lines that are
 * too short for vectors, of which conv.c would have to compute the gaps. A tile is some rows (channels of the result)
 * at one window of as many images as a tile has columns. So each window has terms of its own, and terms in the padding
 * are left out.
 *
 *   conv_images   x, in the forward direction, or dy; finish(n, o, p, sum)
 *
 * Channels of the operand are transposed into scratch, so that their images are side by side; finished sums are
 * transposed back, vectors of windows at a time. An operand may also be computed on the way in (WITH_X): its planes
 * then pass through `scratch + PLANE`.
 *
 * spans: for each line of windows, then for each column, which terms it has: the position in the window and the place
 * in x of the first, how many there are, and how many more would lie before and behind x: these are zeros, which count
 * where a weight is not finite.
 *
 * Terms are added in index order into one accumulator per element (compiler/ops/conv.c states the order). */
#include "kernels/stepc_registers.h"
#include "kernels/stepc_transpose.h"
#include "kernels/stepc_window_finite.h"
#include "kernels/stepc_window_span.h"
#include "kernels/stepc_window_tile.h"
#include "template.h"

enum HOLE {
    N = 33, G = 2, /* images, groups */
    CHANNELS = 3, ROWS = 5, /* of a group: of the operand, and of the other side */
    IN = 42, W = 7, /* elements of a plane, of a line */
    OUT = 42, OH = 6, OW = 7, /* windows */
    TAPS = 9, KW = 3, /* positions of a window, of its lines */
    TAP_STEP_H = 1, TAP_STEP_W = 1, /* from one term's position in the window to the next one's */
    PLACE_STEP_H = 1, PLACE_STEP_W = 1, /* the same in x */
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

/* image[k, i, l] = element i of channel k of image n + l */
static inline void transpose_channel(T *restrict image, const T *restrict from, const int image_step)
{
    stepc_transpose(image, STEPC_WINDOW_COLUMNS(T), from, image_step, STEPC_WINDOW_COLUMNS(T), IN);
}

/* to[row / tile, k, t, row % tile] = w[row, k, t] */
static inline void pack_weights(T *restrict to, const T *restrict w)
{
    for (int first = 0; first < ROWS; first += STEPC_WINDOW_ROWS(ROWS)) {
        for (int k = 0; k < CHANNELS; k++) {
            for (int r = first; r < first + STEPC_WINDOW_ROWS(ROWS) && r < ROWS; r++) {
                for (int t = 0; t < TAPS; t++)
                    to[first * (CHANNELS * TAPS) + (k * TAPS + t) * STEPC_WINDOW_ROWS(ROWS) + r - first] =
                        w[r * W_ROW + k * W_CHANNEL + t];
            }
        }
    }
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* What the zeros around x add to a row's sums. */
static inline T padding_term(const T *restrict packed, const struct stepc_window_span line,
                             const struct stepc_window_span column)
{
    T sum = (T)0;
    for (int i = -line.before; i < line.count + line.behind; i++) {
        for (int j = -column.before; j < column.count + column.behind; j++) {
            const int t = (line.tap + i * TAP_STEP_H) * KW + column.tap + j * TAP_STEP_W;
            const int inside = i >= 0 && i < line.count && j >= 0 && j < column.count;
            for (int k = 0; k < CHANNELS && !inside; k++)
                sum += (T)0 * packed[(k * TAPS + t) * STEPC_WINDOW_ROWS(ROWS)];
        }
    }
    return sum;
}

static inline void add_padding(const int rows, T *restrict to, const T *restrict packed,
                               const struct stepc_window_span line, const struct stepc_window_span column)
{
    for (int r = 0; r < rows; r++) {
        const T sum = padding_term(packed + r, line, column);
        for (int l = 0; l < STEPC_WINDOW_COLUMNS(T); l++)
            to[r * (STEPC_WINDOW_LANES(T) * STEPC_WINDOW_COLUMNS(T)) + l] += sum;
    }
}

/* The sums of window p: for each row and image. */
static STEPC_INLINE void window_sums(const int rows, const int p, T *restrict to, const T *restrict packed,
                                     const T *restrict image, const int32_t *restrict spans, const int finite)
{
    const struct stepc_window_span line = stepc_window_span(spans, p / OW),
                                   column = stepc_window_span(spans, OH + p % OW);
    const struct stepc_window_terms terms = {.planes = CHANNELS,
                                             .channels = line.count,
                                             .taps = column.count,
                                             .w_row = 1,
                                             .w_plane = TAPS * STEPC_WINDOW_ROWS(ROWS),
                                             .w_channel = TAP_STEP_H * KW * STEPC_WINDOW_ROWS(ROWS),
                                             .w_tap = TAP_STEP_W * STEPC_WINDOW_ROWS(ROWS),
                                             .image_plane = IN * STEPC_WINDOW_COLUMNS(T),
                                             .image_channel = PLACE_STEP_H * W * STEPC_WINDOW_COLUMNS(T),
                                             .image_tap = PLACE_STEP_W * STEPC_WINDOW_COLUMNS(T)};
    stepc_window_tile(rows, STEPC_VECTORS, terms, to, STEPC_WINDOW_LANES(T) * STEPC_WINDOW_COLUMNS(T),
                      packed + (line.tap * KW + column.tap) * STEPC_WINDOW_ROWS(ROWS),
                      image + (line.place * W + column.place) * STEPC_WINDOW_COLUMNS(T), STEPC_WINDOW_LANES(T));
    if (PADDED) {
        if (!finite)
            add_padding(rows, to, packed, line, column);
    } else {
        (void)finite;
    }
}

/* `count` windows from p on of a row: images n + fresh and later, those before are finished already. */
static STEPC_INLINE void finish_windows(const int count, const int n, const int fresh, const int o, const int p,
                                        const T *restrict sums)
{
    T transposed[STEPC_WINDOW_COLUMNS(T) * STEPC_WINDOW_LANES(T)];
    stepc_transpose(transposed, STEPC_WINDOW_LANES(T), sums, STEPC_WINDOW_COLUMNS(T), STEPC_WINDOW_LANES(T),
                    STEPC_WINDOW_COLUMNS(T));
    for (int l = fresh; l < STEPC_WINDOW_COLUMNS(T); l++) {
        STEPC_LANE_LOOP
        for (int i = 0; i < count; i++) {
            const T v = transposed[l * STEPC_WINDOW_LANES(T) + i];
            finish(n + l, o, p + i, v);
        }
    }
}

/* `rows` channels from o on, of as many windows as a vector has lanes, or of the last ones. */
static STEPC_INLINE void compute_windows(const int rows, const int count, const int n, const int fresh, const int o,
                                         const int p, T *restrict sums, const T *restrict packed,
                                         const T *restrict image, const int32_t *restrict spans, const int finite)
{
    for (int i = 0; i < count; i++)
        window_sums(rows, p + i, sums + i * STEPC_WINDOW_COLUMNS(T), packed, image, spans, finite);
    for (int r = 0; r < rows; r++)
        finish_windows(count, n, fresh, o + r, p, sums + r * (STEPC_WINDOW_LANES(T) * STEPC_WINDOW_COLUMNS(T)));
}

/* Of blocks of windows: those of the share. */
static inline int first_block(const int blocks)
{
    return SHARES > 1 ? share() * blocks / SHARES : 0;
}

static inline int end_block(const int blocks)
{
    return SHARES > 1 ? (share() + 1) * blocks / SHARES : blocks;
}

static STEPC_INLINE void compute_rows(const int rows, const int n, const int fresh, const int o, T *restrict sums,
                                      const T *restrict packed, const T *restrict image, const int32_t *restrict spans,
                                      const int finite)
{
    for (int b = first_block(OUT / STEPC_WINDOW_LANES(T)); b < end_block(OUT / STEPC_WINDOW_LANES(T)); b++)
        compute_windows(rows, STEPC_WINDOW_LANES(T), n, fresh, o, b * STEPC_WINDOW_LANES(T), sums, packed, image, spans,
                        finite);
    if (OUT % STEPC_WINDOW_LANES(T) > 0 && end_block(OUT / STEPC_WINDOW_LANES(T)) == OUT / STEPC_WINDOW_LANES(T))
        compute_windows(rows, OUT % STEPC_WINDOW_LANES(T), n, fresh, o,
                        OUT / STEPC_WINDOW_LANES(T) * STEPC_WINDOW_LANES(T), sums, packed, image, spans, finite);
}

/* Where the packed weights of group g begin: those of whole tiles of rows. */
static inline int group_at(const int g)
{
    return g * (CHANNELS * TAPS) *
           ((ROWS + STEPC_WINDOW_ROWS(ROWS) - 1) / STEPC_WINDOW_ROWS(ROWS) * STEPC_WINDOW_ROWS(ROWS));
}

/* Images come a tile at a time; the last tile begins where it ends with the last image. */
KERNEL static void conv_images(const T *restrict x, const T *restrict w, const int32_t *restrict spans,
                               T *restrict scratch)
{
    T *const packed = scratch + CHANNELS * IN * STEPC_WINDOW_COLUMNS(T), *const sums = packed + group_at(G);
    const int finite = PADDED ? stepc_are_finite(G * CHANNELS * ROWS * TAPS, w) : 1;
    for (int g = 0; g < G; g++)
        pack_weights(packed + group_at(g), w + g * (CHANNELS * ROWS * TAPS));
    for (int first = 0; first < N; first += STEPC_WINDOW_COLUMNS(T)) {
        const int n = first + STEPC_WINDOW_COLUMNS(T) <= N ? first : N - STEPC_WINDOW_COLUMNS(T);
        for (int g = 0; g < G; g++) {
            for (int k = 0; k < CHANNELS; k++) {
                if (WITH_X) {
                    compute_planes(scratch + PLANE, n, g * CHANNELS + k);
                    transpose_channel(scratch + k * (IN * STEPC_WINDOW_COLUMNS(T)), scratch + PLANE, IN);
                } else {
                    transpose_channel(scratch + k * (IN * STEPC_WINDOW_COLUMNS(T)),
                                      x + ((n * G + g) * CHANNELS + k) * IN, G * CHANNELS * IN);
                }
            }
            for (int o = 0; o < ROWS - STEPC_WINDOW_LAST_ROWS(ROWS); o += STEPC_WINDOW_ROWS(ROWS))
                compute_rows(STEPC_WINDOW_ROWS(ROWS), n, first - n, g * ROWS + o, sums,
                             packed + group_at(g) + o * (CHANNELS * TAPS), scratch, spans, finite);
            if (STEPC_WINDOW_LAST_ROWS(ROWS) > 0)
                compute_rows(STEPC_WINDOW_LAST_ROWS(ROWS), n, first - n, g * ROWS + ROWS - STEPC_WINDOW_LAST_ROWS(ROWS),
                             sums, packed + group_at(g) + (ROWS - STEPC_WINDOW_LAST_ROWS(ROWS)) * (CHANNELS * TAPS),
                             scratch, spans, finite);
        }
    }
}
