/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_rows.h says, for elements of the type STEPC_T. */

/* Where vector i of the windows lies in the image. */
static STEPC_INLINE int STEPC_OF(vector_place)(const struct stepc_windows g, const int i)
{
    const int vectors = STEPC_LINE_OF_VECTORS(STEPC_T, g.columns), line = i / vectors;
    return line / g.lines * g.image_plane + line % g.lines * g.image_line +
           i % vectors * STEPC_WINDOW_LANES(STEPC_T);
}

static STEPC_INLINE void STEPC_OF(window_vectors)(const int rows, const int window, const struct stepc_window_terms k,
                                                  const struct stepc_windows g, STEPC_T *restrict sum,
                                                  const STEPC_T *restrict w, const STEPC_T *restrict image)
{
    const int i = window / STEPC_WINDOW_LANES(STEPC_T), place = STEPC_OF(vector_place)(g, i);
    STEPC_OF(window_tile)(rows, STEPC_VECTORS, k, sum, STEPC_WINDOW_COLUMNS(STEPC_T), w, image + place,
                          STEPC_VECTORS > 1 ? STEPC_OF(vector_place)(g, i + 1) - place : 0);
}

/* Windows side by side: tiles go from line to line. */
static STEPC_INLINE void STEPC_OF(windows_of_vectors)(const int rows, const struct stepc_window_terms k,
                                                      const struct stepc_windows g, STEPC_T *restrict flat,
                                                      const int flat_step, const STEPC_T *restrict w,
                                                      const STEPC_T *restrict image)
{
    const int vectors = g.planes * g.lines * STEPC_LINE_OF_VECTORS(STEPC_T, g.columns);
    const int whole = vectors - vectors % STEPC_VECTORS;
    for (int i = 0; i < whole; i += STEPC_VECTORS) {
        const int place = STEPC_OF(vector_place)(g, i);
        STEPC_OF(window_tile)(rows, STEPC_VECTORS, k, flat + i * STEPC_WINDOW_LANES(STEPC_T), flat_step, w,
                              image + place, STEPC_VECTORS > 1 ? STEPC_OF(vector_place)(g, i + 1) - place : 0);
    }
    if (vectors % STEPC_VECTORS > 0)
        STEPC_OF(window_tile)(rows, 1, k, flat + whole * STEPC_WINDOW_LANES(STEPC_T), flat_step, w,
                              image + STEPC_OF(vector_place)(g, whole), 0);
}

/* As one long line, with the gaps. */
static STEPC_INLINE int STEPC_OF(vectors_with_gaps)(const struct stepc_windows g)
{
    const int windows = (g.planes - 1) * g.image_plane + (g.lines - 1) * g.image_line + g.columns;
    return STEPC_LINE_VECTORS_OF(STEPC_T, windows);
}

static STEPC_INLINE void STEPC_OF(window_rows)(const int rows, const struct stepc_window_terms k,
                                               const struct stepc_windows g, STEPC_T *restrict flat,
                                               const int flat_step, const STEPC_T *restrict w,
                                               const STEPC_T *restrict image)
{
    if (STEPC_WHOLE_VECTORS(STEPC_T, g.columns)) {
        STEPC_OF(windows_of_vectors)(rows, k, g, flat, flat_step, w, image);
        return;
    }
    const int vectors = STEPC_OF(vectors_with_gaps)(g), most = STEPC_PART_VECTORS(vectors, rows);
    const int whole = (vectors - vectors % most) * STEPC_WINDOW_LANES(STEPC_T);
    for (int q = 0; q < whole; q += most * STEPC_WINDOW_LANES(STEPC_T))
        STEPC_OF(window_tile)(rows, most, k, flat + q, flat_step, w, image + q, STEPC_WINDOW_LANES(STEPC_T));
    if (vectors % most > 0)
        STEPC_OF(window_tile)(rows, vectors % most, k, flat + whole, flat_step, w, image + whole,
                              STEPC_WINDOW_LANES(STEPC_T));
}

/* A tile, the first window of which lies `place` elements behind the image's begin. */
static STEPC_INLINE void STEPC_OF(tile_inside)(const int rows, const int vectors, const struct stepc_window_terms k,
                                               STEPC_T *restrict flat, const int flat_step, const STEPC_T *restrict w,
                                               const STEPC_T *restrict image, const int place, const int begin,
                                               const int end, const int finite)
{
    const int first = begin - place - vectors * STEPC_WINDOW_LANES(STEPC_T), last = end - place;
    const int idle = finite ? stepc_idle_taps(k, first, last) : 0;
    const struct stepc_window_terms inside = finite ? stepc_terms_inside(k, idle, first, last) : k;
    STEPC_OF(window_tile)(rows, vectors, inside, flat + place, flat_step, w + idle * k.w_tap, image + place,
                          STEPC_WINDOW_LANES(STEPC_T));
}

static STEPC_INLINE void STEPC_OF(window_rows_inside)(const int rows, const struct stepc_window_terms k,
                                                      const struct stepc_windows g, STEPC_T *restrict flat,
                                                      const int flat_step, const STEPC_T *restrict w,
                                                      const STEPC_T *restrict image, const int begin, const int end,
                                                      const int finite)
{
    if (STEPC_WHOLE_VECTORS(STEPC_T, g.columns)) {
        STEPC_OF(windows_of_vectors)(rows, k, g, flat, flat_step, w, image);
        return;
    }
    const int vectors = STEPC_OF(vectors_with_gaps)(g), most = STEPC_FEW_VECTORS(rows);
    const int whole = (vectors - vectors % most) * STEPC_WINDOW_LANES(STEPC_T);
    for (int q = 0; q < whole; q += most * STEPC_WINDOW_LANES(STEPC_T))
        STEPC_OF(tile_inside)(rows, most, k, flat, flat_step, w, image, q, begin, end, finite);
    if (vectors % most > 0)
        STEPC_OF(tile_inside)(rows, vectors % most, k, flat, flat_step, w, image, whole, begin, end, finite);
}

static STEPC_INLINE void STEPC_OF(window_rows_of)(const int o, const int m, const struct stepc_window_terms k,
                                                  const struct stepc_windows g, STEPC_T *restrict flat,
                                                  const int flat_step, const STEPC_T *restrict w,
                                                  const STEPC_T *restrict image)
{
    if (STEPC_LIKELY(STEPC_WINDOW_LAST_ROWS(m) == 0 || o + STEPC_WINDOW_ROWS(m) <= m))
        STEPC_OF(window_rows)(STEPC_WINDOW_ROWS(m), k, g, flat, flat_step, w, image);
    else
        STEPC_OF(window_rows)(STEPC_WINDOW_LAST_ROWS(m), k, g, flat, flat_step, w, image);
}

static STEPC_INLINE void STEPC_OF(window_rows_inside_of)(const int o, const int m, const struct stepc_window_terms k,
                                                         const struct stepc_windows g, STEPC_T *restrict flat,
                                                         const int flat_step, const STEPC_T *restrict w,
                                                         const STEPC_T *restrict image, const int begin, const int end,
                                                         const int finite)
{
    if (STEPC_LIKELY(STEPC_WINDOW_LAST_ROWS(m) == 0 || o + STEPC_WINDOW_ROWS(m) <= m))
        STEPC_OF(window_rows_inside)(STEPC_WINDOW_ROWS(m), k, g, flat, flat_step, w, image, begin, end, finite);
    else
        STEPC_OF(window_rows_inside)(STEPC_WINDOW_LAST_ROWS(m), k, g, flat, flat_step, w, image, begin, end, finite);
}

static STEPC_INLINE void STEPC_OF(window_vectors_of)(const int o, const int m, const int window,
                                                     const struct stepc_window_terms k, const struct stepc_windows g,
                                                     STEPC_T *restrict sum, const STEPC_T *restrict w,
                                                     const STEPC_T *restrict image)
{
    if (STEPC_LIKELY(STEPC_WINDOW_LAST_ROWS(m) == 0 || o + STEPC_WINDOW_ROWS(m) <= m))
        STEPC_OF(window_vectors)(STEPC_WINDOW_ROWS(m), window, k, g, sum, w, image);
    else
        STEPC_OF(window_vectors)(STEPC_WINDOW_LAST_ROWS(m), window, k, g, sum, w, image);
}
