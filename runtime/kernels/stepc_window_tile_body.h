/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_tile.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2

/* An image of so many bytes is in no near cache: its next channel is asked for ahead. */
/* Why: gradients of the input walk each channel backwards, which processors do not foresee (64 x 8 x 28 x 28, windows
 * of 3 x 3 x 3: a quarter of the time). */
#define STEPC_WINDOW_FAR_BYTES ((size_t)1 << 20)
#define STEPC_WINDOW_IS_FAR(T, k)                                                                                      \
    ((size_t)(k).channels * (size_t)(k).image_channel * sizeof(T) > STEPC_WINDOW_FAR_BYTES)

/* to[rows, vectors * STEPC_WINDOW_LANES] = the sum over planes, channels and taps of w[row] * image[column]; each
 * vector's columns begin `next` behind those of the one before */
static STEPC_INLINE void STEPC_OF(window_tile)(const int rows, const int vectors, const struct stepc_window_terms k,
                                               STEPC_T *restrict to, const int to_step, const STEPC_T *restrict w,
                                               const STEPC_T *restrict image, const int next)
{
    STEPC_OF(window_vec) acc[STEPC_TILE_ROWS * STEPC_WINDOW_VECTORS];
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        STEPC_UNROLL
        for (int v = 0; v < vectors; v++)
            acc[i * vectors + v] = (STEPC_OF(window_vec)){0};
    }
    for (int z = 0; z < k.planes; z++) {
        for (int c = 0; c < k.channels; c++) {
            const int ahead = c + 1 < k.channels ? k.image_channel : 0;
            for (int t = 0; t < k.taps; t++) {
                const STEPC_T *const b =
                    image + z * k.image_plane + c * k.image_channel + (k.at != NULL ? k.at[t] : t * k.image_tap);
                const STEPC_T *const a = w + z * k.w_plane + c * k.w_channel + t * k.w_tap;
                STEPC_OF(window_vec) x[STEPC_WINDOW_VECTORS];
                if (STEPC_WINDOW_IS_FAR(STEPC_T, k)) {
                    STEPC_UNROLL
                    for (int v = 0; v < vectors; v++)
                        __builtin_prefetch(b + v * next + ahead);
                }
                STEPC_UNROLL
                for (int v = 0; v < vectors; v++)
                    x[v] = *(const STEPC_OF(window_vec_at) *)(b + v * next);
                STEPC_UNROLL
                for (int i = 0; i < rows; i++) {
                    const STEPC_T s = a[i * k.w_row];
                    STEPC_UNROLL
                    for (int v = 0; v < vectors; v++)
                        acc[i * vectors + v] += s * x[v];
                }
            }
        }
    }
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        STEPC_UNROLL
        for (int v = 0; v < vectors; v++)
            *(STEPC_OF(window_vec_at) *)(to + i * to_step + v * STEPC_WINDOW_LANES(STEPC_T)) = acc[i * vectors + v];
    }
}

#elif STEPC_FORM == 1

/* The same in C99: named arrays and one loop over the lanes (stepc_tile.h). Rows that do not exist repeat the last one.
 */
static STEPC_INLINE void STEPC_OF(window_tile)(const int rows, const int vectors, const struct stepc_window_terms k,
                                               STEPC_T *restrict to, const int to_step, const STEPC_T *restrict w,
                                               const STEPC_T *restrict image, const int next)
{
    STEPC_T c0[STEPC_WINDOW_LANES(STEPC_T)] = {0}, c1[STEPC_WINDOW_LANES(STEPC_T)] = {0},
            c2[STEPC_WINDOW_LANES(STEPC_T)] = {0}, c3[STEPC_WINDOW_LANES(STEPC_T)] = {0};
    STEPC_T c4[STEPC_WINDOW_LANES(STEPC_T)] = {0}, c5[STEPC_WINDOW_LANES(STEPC_T)] = {0},
            c6[STEPC_WINDOW_LANES(STEPC_T)] = {0}, c7[STEPC_WINDOW_LANES(STEPC_T)] = {0};
    const int step = k.w_row, last = (rows - 1) * step;
    (void)vectors, (void)next;
    for (int z = 0; z < k.planes; z++) {
        for (int c = 0; c < k.channels; c++) {
            for (int t = 0; t < k.taps; t++) {
                const STEPC_T *const b =
                    image + z * k.image_plane + c * k.image_channel + (k.at != NULL ? k.at[t] : t * k.image_tap);
                const STEPC_T *const a = w + z * k.w_plane + c * k.w_channel + t * k.w_tap;
                const STEPC_T s0 = a[0], s1 = a[rows > 1 ? step : last], s2 = a[rows > 2 ? 2 * step : last];
                const STEPC_T s3 = a[rows > 3 ? 3 * step : last], s4 = a[rows > 4 ? 4 * step : last];
                const STEPC_T s5 = a[rows > 5 ? 5 * step : last], s6 = a[rows > 6 ? 6 * step : last];
                const STEPC_T s7 = a[rows > 7 ? 7 * step : last];
                for (int l = 0; l < STEPC_WINDOW_LANES(STEPC_T); l++) {
                    const STEPC_T v = b[l];
                    c0[l] += s0 * v;
                    c1[l] += s1 * v;
                    c2[l] += s2 * v;
                    c3[l] += s3 * v;
                    c4[l] += s4 * v;
                    c5[l] += s5 * v;
                    c6[l] += s6 * v;
                    c7[l] += s7 * v;
                }
            }
        }
    }
    memcpy(to, c0, sizeof c0);
    if (rows > 1)
        memcpy(to + to_step, c1, sizeof c1);
    if (rows > 2)
        memcpy(to + 2 * to_step, c2, sizeof c2);
    if (rows > 3)
        memcpy(to + 3 * to_step, c3, sizeof c3);
    if (rows > 4)
        memcpy(to + 4 * to_step, c4, sizeof c4);
    if (rows > 5)
        memcpy(to + 5 * to_step, c5, sizeof c5);
    if (rows > 6)
        memcpy(to + 6 * to_step, c6, sizeof c6);
    if (rows > 7)
        memcpy(to + 7 * to_step, c7, sizeof c7);
}

#else

/* The same for scalar registers, with 4 or 6 rows (`most`). Rows that do not exist repeat the first one. One function
 * for all kernels; what a tile has is constant in it. */
/* Why: of 32 registers 6 x 4 sums fill most, and need a tenth fewer instructions than 4 x 4. */
static STEPC_INLINE void STEPC_OF(window_tile_of)(const int most, const int has_table, const int rows,
                                                  const struct stepc_window_terms k, STEPC_T *restrict to,
                                                  const int to_step, const STEPC_T *restrict w,
                                                  const STEPC_T *restrict image)
{
    STEPC_T c00 = 0, c01 = 0, c02 = 0, c03 = 0, c10 = 0, c11 = 0, c12 = 0, c13 = 0;
    STEPC_T c20 = 0, c21 = 0, c22 = 0, c23 = 0, c30 = 0, c31 = 0, c32 = 0, c33 = 0;
    STEPC_T c40 = 0, c41 = 0, c42 = 0, c43 = 0, c50 = 0, c51 = 0, c52 = 0, c53 = 0;
    const int row1 = rows > 1 ? k.w_row : 0, row2 = rows > 2 ? 2 * k.w_row : 0, row3 = rows > 3 ? 3 * k.w_row : 0;
    const int row4 = rows > 4 ? 4 * k.w_row : 0, row5 = rows > 5 ? 5 * k.w_row : 0;
    for (int i = 0; i < k.planes * k.channels; i++) {
        const int z = k.planes > 1 ? i / k.channels : 0, c = k.planes > 1 ? i % k.channels : i;
        const STEPC_T *const line = image + z * k.image_plane + c * k.image_channel;
        const STEPC_T *a = w + z * k.w_plane + c * k.w_channel;
        for (int t = 0; t < k.taps; t++) {
            const STEPC_T *const b = line + (has_table ? k.at[t] : t * k.image_tap);
            const STEPC_T b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
            STEPC_T s = a[0];
            c00 += s * b0;
            c01 += s * b1;
            c02 += s * b2;
            c03 += s * b3;
            s = a[row1];
            c10 += s * b0;
            c11 += s * b1;
            c12 += s * b2;
            c13 += s * b3;
            s = a[row2];
            c20 += s * b0;
            c21 += s * b1;
            c22 += s * b2;
            c23 += s * b3;
            s = a[row3];
            c30 += s * b0;
            c31 += s * b1;
            c32 += s * b2;
            c33 += s * b3;
            if (most > 4) {
                s = a[row4];
                c40 += s * b0;
                c41 += s * b1;
                c42 += s * b2;
                c43 += s * b3;
                s = a[row5];
                c50 += s * b0;
                c51 += s * b1;
                c52 += s * b2;
                c53 += s * b3;
            }
            a += k.w_tap;
        }
    }
    to[0] = c00, to[1] = c01, to[2] = c02, to[3] = c03;
    if (rows > 1)
        to += to_step, to[0] = c10, to[1] = c11, to[2] = c12, to[3] = c13;
    if (rows > 2)
        to += to_step, to[0] = c20, to[1] = c21, to[2] = c22, to[3] = c23;
    if (rows > 3)
        to += to_step, to[0] = c30, to[1] = c31, to[2] = c32, to[3] = c33;
    if (most > 4 && rows > 4)
        to += to_step, to[0] = c40, to[1] = c41, to[2] = c42, to[3] = c43;
    if (most > 4 && rows > 5)
        to += to_step, to[0] = c50, to[1] = c51, to[2] = c52, to[3] = c53;
}

static STEPC_ROUTINE void STEPC_OF(window_tile_4)(const int rows, const struct stepc_window_terms *k,
                                                  STEPC_T *restrict to, const int to_step, const STEPC_T *restrict w,
                                                  const STEPC_T *restrict image)
{
    STEPC_OF(window_tile_of)(4, 1, rows, *k, to, to_step, w, image);
}

static STEPC_ROUTINE void STEPC_OF(window_tile_6)(const int rows, const struct stepc_window_terms *k,
                                                  STEPC_T *restrict to, const int to_step, const STEPC_T *restrict w,
                                                  const STEPC_T *restrict image)
{
    STEPC_OF(window_tile_of)(6, 1, rows, *k, to, to_step, w, image);
}

static STEPC_ROUTINE void STEPC_OF(window_sums_4)(const int rows, const struct stepc_window_terms *k,
                                                  STEPC_T *restrict to, const int to_step, const STEPC_T *restrict w,
                                                  const STEPC_T *restrict image)
{
    STEPC_OF(window_tile_of)(4, 0, rows, *k, to, to_step, w, image);
}

static STEPC_ROUTINE void STEPC_OF(window_sums_6)(const int rows, const struct stepc_window_terms *k,
                                                  STEPC_T *restrict to, const int to_step, const STEPC_T *restrict w,
                                                  const STEPC_T *restrict image)
{
    STEPC_OF(window_tile_of)(6, 0, rows, *k, to, to_step, w, image);
}

static STEPC_INLINE void STEPC_OF(window_tile)(const int rows, const int vectors, const struct stepc_window_terms k,
                                               STEPC_T *restrict to, const int to_step, const STEPC_T *restrict w,
                                               const STEPC_T *restrict image, const int next)
{
    (void)vectors, (void)next;
    if (k.at != NULL) {
        if (rows > 4)
            STEPC_OF(window_tile_6)(rows, &k, to, to_step, w, image);
        else
            STEPC_OF(window_tile_4)(rows, &k, to, to_step, w, image);
    } else {
        if (rows > 4)
            STEPC_OF(window_sums_6)(rows, &k, to, to_step, w, image);
        else
            STEPC_OF(window_sums_4)(rows, &k, to, to_step, w, image);
    }
}

#endif
