/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_batch.h says, for elements of the type STEPC_T. */

static STEPC_INLINE void STEPC_OF(pack_window_rows)(const int rows, const int channels, const int taps,
                                                    STEPC_T *restrict to, const STEPC_T *restrict w, const int w_row,
                                                    const int w_channel)
{
    const int tile = STEPC_WINDOW_ROWS(rows);
    for (int first = 0; first < rows; first += tile) {
        for (int k = 0; k < channels; k++) {
            for (int r = first; r < first + tile && r < rows; r++) {
                for (int t = 0; t < taps; t++)
                    to[first * (channels * taps) + (k * taps + t) * tile + r - first] =
                        w[r * w_row + k * w_channel + t];
            }
        }
    }
}

/* What the zeros around the operand add to a row's sums. */
static inline STEPC_T STEPC_OF(padding_term)(const struct stepc_batch b, const STEPC_T *restrict w,
                                             const struct stepc_window_span line,
                                             const struct stepc_window_span column)
{
    STEPC_T sum = 0;
    for (int i = -line.before; i < line.count + line.behind; i++) {
        for (int j = -column.before; j < column.count + column.behind; j++) {
            const int t = line.tap + i * b.line_tap + column.tap + j * b.tap;
            const int inside = i >= 0 && i < line.count && j >= 0 && j < column.count;
            for (int k = 0; k < b.channels && !inside; k++)
                sum += 0 * w[(k * b.taps + t) * b.tile];
        }
    }
    return sum;
}

/* One window: for each row and image. */
/* Why: the condition on `finite` stands outside of the loop. Inside of it Clang kept sums of the tile in memory
 * (LeNet's second layer, its gradient in X: 1.8 times the time); so it did where padding_term was no part of this. */
static STEPC_INLINE void STEPC_OF(batch_window)(const int rows, const int window, const struct stepc_batch b,
                                                STEPC_T *restrict to, const STEPC_T *restrict w,
                                                const STEPC_T *restrict image, const int32_t *restrict spans,
                                                const int finite)
{
    const int images = STEPC_WINDOW_COLUMNS(STEPC_T);
    const struct stepc_window_span line = stepc_window_span(spans, window / b.columns),
                                   column = stepc_window_span(spans, b.lines + window % b.columns);
    const struct stepc_window_terms k = {.planes = b.channels,
                                         .channels = line.count,
                                         .taps = column.count,
                                         .w_row = 1,
                                         .w_plane = b.taps * b.tile,
                                         .w_channel = b.line_tap * b.tile,
                                         .w_tap = b.tap * b.tile,
                                         .image_plane = b.plane * images,
                                         .image_channel = b.line_place * images,
                                         .image_tap = b.place * images};
    STEPC_OF(window_tile)(rows, STEPC_VECTORS, k, to, STEPC_BATCH(STEPC_T), w + (line.tap + column.tap) * b.tile,
                          image + (line.place + column.place) * images, STEPC_WINDOW_LANES(STEPC_T));
    if (!finite) {
        for (int r = 0; r < rows; r++) {
            const STEPC_T sum = STEPC_OF(padding_term)(b, w + r, line, column);
            for (int l = 0; l < images; l++)
                to[r * STEPC_BATCH(STEPC_T) + l] += sum;
        }
    }
}

static STEPC_INLINE void STEPC_OF(batch_windows)(const int rows, const int count, const int first,
                                                 const struct stepc_batch b, STEPC_T *restrict to,
                                                 const STEPC_T *restrict w, const STEPC_T *restrict image,
                                                 const int32_t *restrict spans, const int finite)
{
    for (int i = 0; i < count; i++)
        STEPC_OF(batch_window)(rows, first + i, b, to + i * STEPC_WINDOW_COLUMNS(STEPC_T), w, image, spans, finite);
}

static STEPC_INLINE void STEPC_OF(batch_windows_of)(const int o, const int m, const int count, const int first,
                                                    const struct stepc_batch b, STEPC_T *restrict to,
                                                    const STEPC_T *restrict w, const STEPC_T *restrict image,
                                                    const int32_t *restrict spans, const int finite)
{
    if (STEPC_LIKELY(STEPC_WINDOW_LAST_ROWS(m) == 0 || o + STEPC_WINDOW_ROWS(m) <= m))
        STEPC_OF(batch_windows)(STEPC_WINDOW_ROWS(m), count, first, b, to, w, image, spans, finite);
    else
        STEPC_OF(batch_windows)(STEPC_WINDOW_LAST_ROWS(m), count, first, b, to, w, image, spans, finite);
}

static STEPC_INLINE void STEPC_OF(turn_windows)(STEPC_T *restrict to, const STEPC_T *restrict from)
{
    STEPC_OF(transpose)(to, STEPC_WINDOW_LANES(STEPC_T), from, STEPC_WINDOW_COLUMNS(STEPC_T),
                        STEPC_WINDOW_LANES(STEPC_T), STEPC_WINDOW_COLUMNS(STEPC_T));
}
