/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_line.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2

/* One row, with as many columns as keep the adders busy: to[vectors * STEPC_WINDOW_LANES] = the sum over c and t of
 * w[c, t] * image[c, at[t] + column] */
static STEPC_INLINE void STEPC_OF(window_line)(const int vectors, const int channels, const int taps,
                                               STEPC_T *restrict to, const STEPC_T *restrict w, const int w_channel,
                                               const int w_tap, const STEPC_T *restrict image, const int image_channel,
                                               const int32_t *restrict at)
{
    STEPC_OF(window_vec) acc[STEPC_LINE_VECTORS];
    STEPC_UNROLL
    for (int v = 0; v < vectors; v++)
        acc[v] = (STEPC_OF(window_vec)){0};
    for (int c = 0; c < channels; c++) {
        for (int t = 0; t < taps; t++) {
            const STEPC_T *const b = image + c * image_channel + at[t];
            const STEPC_T s = w[c * w_channel + t * w_tap];
            STEPC_UNROLL
            for (int v = 0; v < vectors; v++)
                acc[v] += s * *(const STEPC_OF(window_vec_at) *)(b + v * STEPC_WINDOW_LANES(STEPC_T));
        }
    }
    STEPC_UNROLL
    for (int v = 0; v < vectors; v++)
        *(STEPC_OF(window_vec_at) *)(to + v * STEPC_WINDOW_LANES(STEPC_T)) = acc[v];
}

#elif STEPC_FORM == 1

static STEPC_INLINE void STEPC_OF(window_line)(const int vectors, const int channels, const int taps,
                                               STEPC_T *restrict to, const STEPC_T *restrict w, const int w_channel,
                                               const int w_tap, const STEPC_T *restrict image, const int image_channel,
                                               const int32_t *restrict at)
{
    STEPC_T sum[STEPC_WINDOW_LANES(STEPC_T)] = {0};
    (void)vectors;
    for (int c = 0; c < channels; c++) {
        for (int t = 0; t < taps; t++) {
            const STEPC_T *const b = image + c * image_channel + at[t];
            const STEPC_T s = w[c * w_channel + t * w_tap];
            for (int l = 0; l < STEPC_WINDOW_LANES(STEPC_T); l++)
                sum[l] += s * b[l];
        }
    }
    memcpy(to, sum, sizeof sum);
}

#else

static STEPC_ROUTINE void STEPC_OF(window_line)(const int vectors, const int channels, const int taps,
                                                STEPC_T *restrict to, const STEPC_T *restrict w, const int w_channel,
                                                const int w_tap, const STEPC_T *restrict image, const int image_channel,
                                                const int32_t *restrict at)
{
    STEPC_T c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    (void)vectors;
    for (int c = 0; c < channels; c++) {
        for (int t = 0; t < taps; t++) {
            const STEPC_T *const b = image + c * image_channel + at[t];
            const STEPC_T s = w[c * w_channel + t * w_tap];
            c0 += s * b[0];
            c1 += s * b[1];
            c2 += s * b[2];
            c3 += s * b[3];
        }
    }
    to[0] = c0, to[1] = c1, to[2] = c2, to[3] = c3;
}

#endif

static STEPC_INLINE void STEPC_OF(window_row)(const int columns, const int channels, const int taps,
                                              STEPC_T *restrict to, const STEPC_T *restrict w, const int w_channel,
                                              const int w_tap, const STEPC_T *restrict image, const int image_channel,
                                              const int32_t *restrict at)
{
    const int rest = columns % STEPC_LINE_COLUMNS(STEPC_T), whole = columns - rest;
    for (int q = 0; q < whole; q += STEPC_LINE_COLUMNS(STEPC_T))
        STEPC_OF(window_line)(STEPC_LINE_VECTORS, channels, taps, to + q, w, w_channel, w_tap, image + q,
                              image_channel, at);
    if (rest > 0)
        STEPC_OF(window_line)((rest + STEPC_WINDOW_LANES(STEPC_T) - 1) / STEPC_WINDOW_LANES(STEPC_T), channels, taps,
                              to + whole, w, w_channel, w_tap, image + whole, image_channel, at);
}
