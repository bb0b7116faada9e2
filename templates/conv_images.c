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
#include "registers.h"
#include "template.h"
#include "transpose.h"
#include "window_finite.h"
#include "window_span.h"
#include "window_tile.h"

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
    for (int l = 0; l < WINDOW_COLUMNS; l++)
        compute_x(to + l * IN, n + l, k);
}

/* image[k, i, l] = element i of channel k of image n + l */
static inline void transpose_channel(T *restrict image, const T *restrict from, const int image_step)
{
    transpose(image, WINDOW_COLUMNS, from, image_step, WINDOW_COLUMNS, IN);
}

/* to[row / tile, k, t, row % tile] = w[row, k, t] */
static inline void pack_weights(T *restrict to, const T *restrict w)
{
    for (int first = 0; first < ROWS; first += WINDOW_ROWS(ROWS)) {
        for (int k = 0; k < CHANNELS; k++) {
            for (int r = first; r < first + WINDOW_ROWS(ROWS) && r < ROWS; r++) {
                for (int t = 0; t < TAPS; t++)
                    to[first * (CHANNELS * TAPS) + (k * TAPS + t) * WINDOW_ROWS(ROWS) + r - first] =
                        w[r * W_ROW + k * W_CHANNEL + t];
            }
        }
    }
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* What the zeros around x add to a row's sums. */
static inline T padding_term(const T *restrict packed, const struct window_span line, const struct window_span column)
{
    T sum = (T)0;
    for (int i = -line.before; i < line.count + line.behind; i++) {
        for (int j = -column.before; j < column.count + column.behind; j++) {
            const int t = (line.tap + i * TAP_STEP_H) * KW + column.tap + j * TAP_STEP_W;
            const int inside = i >= 0 && i < line.count && j >= 0 && j < column.count;
            for (int k = 0; k < CHANNELS && !inside; k++)
                sum += (T)0 * packed[(k * TAPS + t) * WINDOW_ROWS(ROWS)];
        }
    }
    return sum;
}

static inline void add_padding(const int rows, T *restrict to, const T *restrict packed, const struct window_span line,
                               const struct window_span column)
{
    for (int r = 0; r < rows; r++) {
        const T sum = padding_term(packed + r, line, column);
        for (int l = 0; l < WINDOW_COLUMNS; l++)
            to[r * (WINDOW_LANES * WINDOW_COLUMNS) + l] += sum;
    }
}

/* The sums of window p: for each row and image. */
static STEPC_INLINE void window_sums(const int rows, const int p, T *restrict to, const T *restrict packed,
                                     const T *restrict image, const int32_t *restrict spans, const int finite)
{
    const struct window_span line = window_span(spans, p / OW), column = window_span(spans, OH + p % OW);
    const struct window_terms terms = {.planes = CHANNELS,
                                       .channels = line.count,
                                       .taps = column.count,
                                       .w_row = 1,
                                       .w_plane = TAPS * WINDOW_ROWS(ROWS),
                                       .w_channel = TAP_STEP_H * KW * WINDOW_ROWS(ROWS),
                                       .w_tap = TAP_STEP_W * WINDOW_ROWS(ROWS),
                                       .image_plane = IN * WINDOW_COLUMNS,
                                       .image_channel = PLACE_STEP_H * W * WINDOW_COLUMNS,
                                       .image_tap = PLACE_STEP_W * WINDOW_COLUMNS};
    window_tile(rows, VECTORS, terms, to, WINDOW_LANES * WINDOW_COLUMNS,
                packed + (line.tap * KW + column.tap) * WINDOW_ROWS(ROWS),
                image + (line.place * W + column.place) * WINDOW_COLUMNS, WINDOW_LANES);
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
    T transposed[WINDOW_COLUMNS * WINDOW_LANES];
    transpose(transposed, WINDOW_LANES, sums, WINDOW_COLUMNS, WINDOW_LANES, WINDOW_COLUMNS);
    for (int l = fresh; l < WINDOW_COLUMNS; l++) {
        STEPC_LANE_LOOP
        for (int i = 0; i < count; i++) {
            const T v = transposed[l * WINDOW_LANES + i];
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
        window_sums(rows, p + i, sums + i * WINDOW_COLUMNS, packed, image, spans, finite);
    for (int r = 0; r < rows; r++)
        finish_windows(count, n, fresh, o + r, p, sums + r * (WINDOW_LANES * WINDOW_COLUMNS));
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
    for (int b = first_block(OUT / WINDOW_LANES); b < end_block(OUT / WINDOW_LANES); b++)
        compute_windows(rows, WINDOW_LANES, n, fresh, o, b * WINDOW_LANES, sums, packed, image, spans, finite);
    if (OUT % WINDOW_LANES > 0 && end_block(OUT / WINDOW_LANES) == OUT / WINDOW_LANES)
        compute_windows(rows, OUT % WINDOW_LANES, n, fresh, o, OUT / WINDOW_LANES * WINDOW_LANES, sums, packed, image,
                        spans, finite);
}

/* Where the packed weights of group g begin: those of whole tiles of rows. */
static inline int group_at(const int g)
{
    return g * (CHANNELS * TAPS) * ((ROWS + WINDOW_ROWS(ROWS) - 1) / WINDOW_ROWS(ROWS) * WINDOW_ROWS(ROWS));
}

/* Images come a tile at a time; the last tile begins where it ends with the last image. */
KERNEL static void conv_images(const T *restrict x, const T *restrict w, const int32_t *restrict spans,
                               T *restrict scratch)
{
    T *const packed = scratch + CHANNELS * IN * WINDOW_COLUMNS, *const sums = packed + group_at(G);
    const int finite = PADDED ? are_finite(G * CHANNELS * ROWS * TAPS, w) : 1;
    for (int g = 0; g < G; g++)
        pack_weights(packed + group_at(g), w + g * (CHANNELS * ROWS * TAPS));
    for (int first = 0; first < N; first += WINDOW_COLUMNS) {
        const int n = first + WINDOW_COLUMNS <= N ? first : N - WINDOW_COLUMNS;
        for (int g = 0; g < G; g++) {
            for (int k = 0; k < CHANNELS; k++) {
                if (WITH_X) {
                    compute_planes(scratch + PLANE, n, g * CHANNELS + k);
                    transpose_channel(scratch + k * (IN * WINDOW_COLUMNS), scratch + PLANE, IN);
                } else {
                    transpose_channel(scratch + k * (IN * WINDOW_COLUMNS), x + ((n * G + g) * CHANNELS + k) * IN,
                                      G * CHANNELS * IN);
                }
            }
            for (int o = 0; o < ROWS - WINDOW_LAST_ROWS(ROWS); o += WINDOW_ROWS(ROWS))
                compute_rows(WINDOW_ROWS(ROWS), n, first - n, g * ROWS + o, sums,
                             packed + group_at(g) + o * (CHANNELS * TAPS), scratch, spans, finite);
            if (WINDOW_LAST_ROWS(ROWS) > 0)
                compute_rows(WINDOW_LAST_ROWS(ROWS), n, first - n, g * ROWS + ROWS - WINDOW_LAST_ROWS(ROWS), sums,
                             packed + group_at(g) + (ROWS - WINDOW_LAST_ROWS(ROWS)) * (CHANNELS * TAPS), scratch, spans,
                             finite);
        }
    }
}
