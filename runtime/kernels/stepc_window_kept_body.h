/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_kept.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2

typedef int32_t STEPC_OF(window_bits) __attribute__((vector_size(STEPC_VECTOR_BYTES)));
typedef int32_t STEPC_OF(window_bits_at)
    __attribute__((vector_size(STEPC_VECTOR_BYTES), aligned(sizeof(STEPC_T)), may_alias));

/* to[vectors * STEPC_WINDOW_LANES] = the sum over lines l and columns c of w[l, c] * x[l * line_step + m + column],
 * where m = shift + c * step; where m is not 0, of those columns only whose bits are all set in keep[c] */
static STEPC_INLINE void STEPC_OF(window_line_kept)(const int vectors, const int lines, const int columns,
                                                    STEPC_T *restrict to, const STEPC_T *restrict w,
                                                    const STEPC_T *restrict x, const int line_step, const int shift,
                                                    const int step, const STEPC_T *restrict keep, const int keep_step)
{
    STEPC_OF(window_vec) acc[STEPC_KEPT_VECTORS];
    STEPC_UNROLL
    for (int v = 0; v < vectors; v++)
        acc[v] = (STEPC_OF(window_vec)){0};
    for (int l = 0; l < lines; l++) {
        STEPC_UNROLL
        for (int c = 0; c < columns; c++) {
            const STEPC_T *const b = x + l * line_step + shift + c * step;
            const STEPC_T s = w[l * columns + c];
            STEPC_UNROLL
            for (int v = 0; v < vectors; v++) {
                STEPC_OF(window_vec) e = *(const STEPC_OF(window_vec_at) *)(b + v * STEPC_WINDOW_LANES(STEPC_T));
                if (shift + c * step != 0)
                    e = (STEPC_OF(window_vec))(
                        (STEPC_OF(window_bits))e &
                        *(const STEPC_OF(window_bits_at) *)(keep + c * keep_step + v * STEPC_WINDOW_LANES(STEPC_T)));
                acc[v] += s * e;
            }
        }
    }
    STEPC_UNROLL
    for (int v = 0; v < vectors; v++)
        *(STEPC_OF(window_vec_at) *)(to + v * STEPC_WINDOW_LANES(STEPC_T)) = acc[v];
}

#elif STEPC_FORM == 1

static STEPC_INLINE void STEPC_OF(window_line_kept)(const int vectors, const int lines, const int columns,
                                                    STEPC_T *restrict to, const STEPC_T *restrict w,
                                                    const STEPC_T *restrict x, const int line_step, const int shift,
                                                    const int step, const STEPC_T *restrict keep, const int keep_step)
{
    STEPC_T sum[STEPC_WINDOW_LANES(STEPC_T)] = {0};
    (void)vectors;
    for (int l = 0; l < lines; l++) {
        for (int c = 0; c < columns; c++) {
            const STEPC_T *const b = x + l * line_step + shift + c * step, *const k = keep + c * keep_step;
            const STEPC_T s = w[l * columns + c];
            for (int i = 0; i < STEPC_WINDOW_LANES(STEPC_T); i++) {
                const STEPC_T e = b[i];
                sum[i] += s * (k[i] != 0 ? e : 0);
            }
        }
    }
    memcpy(to, sum, sizeof sum);
}

#else

static STEPC_ROUTINE void STEPC_OF(window_line_kept)(const int vectors, const int lines, const int columns,
                                                     STEPC_T *restrict to, const STEPC_T *restrict w,
                                                     const STEPC_T *restrict x, const int line_step, const int shift,
                                                     const int step, const STEPC_T *restrict keep, const int keep_step)
{
    STEPC_T c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    (void)vectors;
    for (int l = 0; l < lines; l++) {
        for (int c = 0; c < columns; c++) {
            const STEPC_T *const b = x + l * line_step + shift + c * step, *const k = keep + c * keep_step;
            const STEPC_T s = w[l * columns + c];
            c0 += s * (k[0] != 0 ? b[0] : 0);
            c1 += s * (k[1] != 0 ? b[1] : 0);
            c2 += s * (k[2] != 0 ? b[2] : 0);
            c3 += s * (k[3] != 0 ? b[3] : 0);
        }
    }
    to[0] = c0, to[1] = c1, to[2] = c2, to[3] = c3;
}

#endif

static STEPC_INLINE void STEPC_OF(window_plane_kept)(const int windows, const int lines, const int columns,
                                                     STEPC_T *restrict to, const STEPC_T *restrict w,
                                                     const STEPC_T *restrict x, const int line_step, const int shift,
                                                     const int step, const STEPC_T *restrict keep, const int keep_step)
{
    const int rest = windows % STEPC_KEPT_COLUMNS(STEPC_T), whole = windows - rest;
    for (int q = 0; q < whole; q += STEPC_KEPT_COLUMNS(STEPC_T))
        STEPC_OF(window_line_kept)(STEPC_KEPT_VECTORS, lines, columns, to + q, w, x + q, line_step, shift, step,
                                   keep + q, keep_step);
    if (rest > 0)
        STEPC_OF(window_line_kept)((rest + STEPC_WINDOW_LANES(STEPC_T) - 1) / STEPC_WINDOW_LANES(STEPC_T), lines,
                                   columns, to + whole, w, x + whole, line_step, shift, step, keep + whole, keep_step);
}

/* Why: no part of its callers. GCC would think that what is set as bytes may be any operand, and ask before each
 * vector whether it is (depthwise windows of DS-CNN: 1.3 times the time). */
static STEPC_ROUTINE void STEPC_OF(mark_kept)(const int width, const int columns, const int shift, const int step,
                                              STEPC_T *restrict keep, const int keep_step)
{
    for (int c = 0; c < columns; c++) {
        for (int p = 0; p < keep_step; p++) {
            const int x = p % width + shift + c * step;
            memset(keep + (c * keep_step + p), x >= 0 && x < width ? 0xff : 0, sizeof(STEPC_T));
        }
    }
}
