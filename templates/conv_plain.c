/* SPDX-License-Identifier: 0BSD */
/* Convolutions and their derivatives as plain loops, for --optimize size: what windows see is read where it lies, and
 * is zero around them, which is added only where it shows: if what it is multiplied by is not finite. ROWS channels of
 * the result are summed up together, as what they read is the same.
 *
 *   conv_plain              finish(n, o, p, sum)
 *   conv_grad_input_plain   finish(n, c, i, sum)
 *   conv_grad_weight_plain  finish_weight(o, c and position of the window, sum)
 *
 * With a prologue (WITH_X, WITH_DY) an image's channels are computed in `scratch` first.
 *
 * Terms are added in index order into one accumulator per element (compiler/ops/conv.c states the order). */
#include "template.h"

enum HOLE {
    N = 2, G = 2, /* images, groups */
    C = 3, O = 4, /* channels of a group, in x and in y */
    ROWS = 1, /* 1 to 4; the result's channels of a group are a multiple */
    D = 1, H = 6, W = 7, /* x */
    OD = 1, OH = 6, OW = 7, /* y */
    KD = 1, KH = 3, KW = 3, /* the window */
    SD = 1, SH = 1, SW = 1, /* strides */
    LD = 1, LH = 1, LW = 1, /* dilations */
    PAD_D = 0, PAD_H = 1, PAD_W = 1,
    PAST_D = 0, PAST_H = 1, PAST_W = 1, /* windows reach past the end of x */
    PADDED = 1, /* windows (conv_grad_input_plain: elements) may see what lies outside */
    SHARES = 1, /* the results are cut into so many: by images, weights by groups or channels of y */
    WITH_X = 0, WITH_DY = 0 /* x, dy are computed */
};
typedef float T HOLE;

static int share_of_sample;
static inline int HOLE share(void) /* which of them to compute */
{
    return share_of_sample;
}

static const T sample[N * G * O * C * D * H * W];
static inline void HOLE x_into(int n, int k, int i, T *to) /* element i of channel k of image n */
{
    to[i] = sample[(n * (G * C) + k) * (D * H * W) + i];
}
static inline void HOLE dy_into(int n, int k, int i, T *to)
{
    to[i] = sample[(n * (G * O) + k) * (OD * OH * OW) + i];
}

static T out[N * G * O * C * 64]; /* sample */
static inline void HOLE finish(int n, int k, int i, T sum)
{
    out[(n * (G * O) + k) * (D * H * W) + i] = sum;
}
static inline void HOLE finish_weight(int o, int k, T sum)
{
    out[o * (C * KD * KH * KW) + k] = sum;
}

/* The sums of ROWS channels from channel o on. */
static inline void finish_rows(const int n, const int o, const int p, const T s0, const T s1, const T s2, const T s3)
{
    if (ROWS == 1) {
        finish(n, o, p, s0);
    } else {
        T sum[ROWS];
        sum[0] = s0;
        sum[1] = s1;
        if (ROWS > 2)
            sum[2] = s2;
        if (ROWS > 3)
            sum[3] = s3;
        for (int r = 0; r < ROWS; r++) {
            const T v = sum[r];
            finish(n, o + r, p, v);
        }
    }
}

/* ---- what lies inside -------------------------------------------------------------------------------------------- */

/* Is zero times each of these zero? Then what lies outside, which counts as zeros, need not be multiplied by them. */
static inline int times_zero(const T *restrict factors, const int count)
{
    T sum = (T)0;
    for (int i = 0; i < count; i++)
        sum += factors[i] * (T)0;
    return sum == (T)0;
}

/* ---- the convolution --------------------------------------------------------------------------------------------- */

/* One window, of ROWS channels from channel o on. */
static inline void sum_window(const int n, const int o, const int oz, const int oy, const int ox,
                              const T *restrict from, const T *restrict weights, const int are_finite)
{
    const int front = oz * SD - PAD_D, top = oy * SH - PAD_H, left = ox * SW - PAD_W;
    const int first_z = PAD_D > 0 && front < 0 ? (LD == 1 ? 0 : front + (-front + (LD - 1)) / LD * LD) : front,
              end_z = PAST_D && front + (KD - 1) * LD >= D ? D : front + ((KD - 1) * LD + 1);
    const int first_y = PAD_H > 0 && top < 0 ? (LH == 1 ? 0 : top + (-top + (LH - 1)) / LH * LH) : top,
              end_y = PAST_H && top + (KH - 1) * LH >= H ? H : top + ((KH - 1) * LH + 1);
    const int first_x = PAD_W > 0 && left < 0 ? (LW == 1 ? 0 : left + (-left + (LW - 1)) / LW * LW) : left,
              end_x = PAST_W && left + (KW - 1) * LW >= W ? W : left + ((KW - 1) * LW + 1);
    T s0 = (T)0, s1 = (T)0, s2 = (T)0, s3 = (T)0;
    for (int c = 0; c < C; c++) {
        for (int iz = first_z; iz < end_z; iz += LD) {
            for (int iy = first_y; iy < end_y; iy += LH) {
                for (int ix = first_x; ix < end_x; ix += LW) {
                    const int kz = (iz - front) / LD, ky = (iy - top) / LH, kx = (ix - left) / LW;
                    const T v = from[c * (D * H * W) + (iz * H + iy) * W + ix];
                    const T *const weight = weights + c * (KD * KH * KW) + (kz * KH + ky) * KW + kx;
                    s0 += v * weight[0];
                    if (ROWS > 1)
                        s1 += v * weight[C * KD * KH * KW];
                    if (ROWS > 2)
                        s2 += v * weight[2 * (C * KD * KH * KW)];
                    if (ROWS > 3)
                        s3 += v * weight[3 * (C * KD * KH * KW)];
                }
            }
        }
    }
    if (PADDED && !are_finite) {
        for (int k = 0; k < C * KD * KH * KW; k++) {
            const int iz = k / (KH * KW) % KD * LD + front, iy = k / KW % KH * LH + top, ix = k % KW * LW + left;
            if (iz < 0 || iz >= D || iy < 0 || iy >= H || ix < 0 || ix >= W) {
                s0 += (T)0 * weights[k];
                if (ROWS > 1)
                    s1 += (T)0 * weights[k + C * KD * KH * KW];
                if (ROWS > 2)
                    s2 += (T)0 * weights[k + 2 * (C * KD * KH * KW)];
                if (ROWS > 3)
                    s3 += (T)0 * weights[k + 3 * (C * KD * KH * KW)];
            }
        }
    }
    finish_rows(n, o, (oz * OH + oy) * OW + ox, s0, s1, s2, s3);
}

KERNEL static void conv_plain(const T *restrict x, const T *restrict w, T *restrict scratch)
{
    const int are_finite = !PADDED || times_zero(w, G * O * C * KD * KH * KW);
    for (int n = SHARES > 1 ? share() * N / SHARES : 0; n < (SHARES > 1 ? (share() + 1) * N / SHARES : N); n++) {
        for (int g = 0; g < G; g++) {
            if (WITH_X) {
                for (int c = 0; c < C; c++) {
                    for (int i = 0; i < D * H * W; i++)
                        x_into(n, g * C + c, i, scratch + c * (D * H * W));
                }
            }
            for (int o = 0; o < O; o += ROWS) {
                for (int oz = 0; oz < OD; oz++) {
                    for (int oy = 0; oy < OH; oy++) {
                        for (int ox = 0; ox < OW; ox++)
                            sum_window(n, g * O + o, oz, oy, ox,
                                       WITH_X ? scratch : x + (n * G + g) * (C * D * H * W),
                                       w + (g * O + o) * (C * KD * KH * KW), are_finite);
                    }
                }
            }
        }
    }
}

/* ---- the gradient of x ------------------------------------------------------------------------------------------- */

/* One element, of ROWS channels from channel c on: what the windows add that see it. Between strides there is none;
 * windows that do not exist count as zeros. */
static inline void sum_readers(const int n, const int c, const int z, const int y, const int x,
                               const T *restrict from, const T *restrict weights, const int are_finite)
{
    const int depth = z + PAD_D, line = y + PAD_H, column = x + PAD_W;
    const int from_z = D - 1 + PAD_D < OD * SD || depth < OD * SD ? 0 : (depth - OD * SD) / LD + 1,
              first_z = SD == 1 || LD > 1 ? from_z : from_z + (depth - from_z) % SD,
              end_z = PAD_D < (KD - 1) * LD && depth < (KD - 1) * LD ? depth / LD + 1 : KD;
    const int from_y = H - 1 + PAD_H < OH * SH || line < OH * SH ? 0 : (line - OH * SH) / LH + 1,
              first_y = SH == 1 || LH > 1 ? from_y : from_y + (line - from_y) % SH,
              end_y = PAD_H < (KH - 1) * LH && line < (KH - 1) * LH ? line / LH + 1 : KH;
    const int from_x = W - 1 + PAD_W < OW * SW || column < OW * SW ? 0 : (column - OW * SW) / LW + 1,
              first_x = SW == 1 || LW > 1 ? from_x : from_x + (column - from_x) % SW,
              end_x = PAD_W < (KW - 1) * LW && column < (KW - 1) * LW ? column / LW + 1 : KW;
    T s0 = (T)0, s1 = (T)0, s2 = (T)0, s3 = (T)0;
    for (int o = 0; o < O; o++) {
        for (int kz = first_z; kz < end_z; kz += LD > 1 ? 1 : SD) {
            for (int ky = first_y; ky < end_y; ky += LH > 1 ? 1 : SH) {
                for (int kx = first_x; kx < end_x; kx += LW > 1 ? 1 : SW) {
                    const int oz = (depth - kz * LD) / SD, oy = (line - ky * LH) / SH, ox = (column - kx * LW) / SW;
                    if ((LD == 1 || (depth - kz * LD) % SD == 0) && (LH == 1 || (line - ky * LH) % SH == 0) &&
                        (LW == 1 || (column - kx * LW) % SW == 0)) {
                        const T v = from[o * (OD * OH * OW) + (oz * OH + oy) * OW + ox];
                        const T *const weight = weights + o * (C * KD * KH * KW) + (kz * KH + ky) * KW + kx;
                        s0 += v * weight[0];
                        if (ROWS > 1)
                            s1 += v * weight[KD * KH * KW];
                        if (ROWS > 2)
                            s2 += v * weight[2 * (KD * KH * KW)];
                        if (ROWS > 3)
                            s3 += v * weight[3 * (KD * KH * KW)];
                    }
                }
            }
        }
    }
    if (PADDED && !are_finite) {
        for (int k = 0; k < O * KD * KH * KW; k++) {
            const int iz = depth - k / (KH * KW) % KD * LD, iy = line - k / KW % KH * LH, ix = column - k % KW * LW;
            if (iz % SD == 0 && iy % SH == 0 && ix % SW == 0 &&
                (iz < 0 || iz >= OD * SD || iy < 0 || iy >= OH * SH || ix < 0 || ix >= OW * SW)) {
                const T *const weight = weights + k / (KD * KH * KW) * (C * KD * KH * KW) + k % (KD * KH * KW);
                s0 += (T)0 * weight[0];
                if (ROWS > 1)
                    s1 += (T)0 * weight[KD * KH * KW];
                if (ROWS > 2)
                    s2 += (T)0 * weight[2 * (KD * KH * KW)];
                if (ROWS > 3)
                    s3 += (T)0 * weight[3 * (KD * KH * KW)];
            }
        }
    }
    finish_rows(n, c, (z * H + y) * W + x, s0, s1, s2, s3);
}

KERNEL static void conv_grad_input_plain(const T *restrict dy, const T *restrict w, T *restrict scratch)
{
    const int are_finite = !PADDED || times_zero(w, G * O * C * KD * KH * KW);
    for (int n = SHARES > 1 ? share() * N / SHARES : 0; n < (SHARES > 1 ? (share() + 1) * N / SHARES : N); n++) {
        for (int g = 0; g < G; g++) {
            if (WITH_DY) {
                for (int o = 0; o < O; o++) {
                    for (int p = 0; p < OD * OH * OW; p++)
                        dy_into(n, g * O + o, p, scratch + o * (OD * OH * OW));
                }
            }
            for (int c = 0; c < C; c += ROWS) {
                for (int z = 0; z < D; z++) {
                    for (int y = 0; y < H; y++) {
                        for (int x = 0; x < W; x++)
                            sum_readers(n, g * C + c, z, y, x,
                                        WITH_DY ? scratch : dy + (n * G + g) * (O * OD * OH * OW),
                                        w + (g * (O * C) + c) * (KD * KH * KW), are_finite);
                    }
                }
            }
        }
    }
}

/* ---- the gradient of the weights --------------------------------------------------------------------------------- */

/* Adds the sums of one image, of the weights at ({kz,}ky,kx), to total[0]{, total[step]} .. */
static inline void add_image(T *restrict total, const int step, const T *restrict dy, const T *restrict from,
                             const int kz, const int ky, const int kx, const int are_finite)
{
    const int front = kz * LD - PAD_D, top = ky * LH - PAD_H, left = kx * LW - PAD_W;
    const int first_z = PAD_D > 0 && front < 0 ? (SD == 1 ? 0 : front + (-front + (SD - 1)) / SD * SD) : front,
              end_z = PAST_D && front + (OD - 1) * SD >= D ? D : front + ((OD - 1) * SD + 1);
    const int first_y = PAD_H > 0 && top < 0 ? (SH == 1 ? 0 : top + (-top + (SH - 1)) / SH * SH) : top,
              end_y = PAST_H && top + (OH - 1) * SH >= H ? H : top + ((OH - 1) * SH + 1);
    const int first_x = PAD_W > 0 && left < 0 ? (SW == 1 ? 0 : left + (-left + (SW - 1)) / SW * SW) : left,
              end_x = PAST_W && left + (OW - 1) * SW >= W ? W : left + ((OW - 1) * SW + 1);
    T s0 = (T)0, s1 = (T)0, s2 = (T)0, s3 = (T)0;
    for (int iz = first_z; iz < end_z; iz += SD) {
        for (int iy = first_y; iy < end_y; iy += SH) {
            for (int ix = first_x; ix < end_x; ix += SW) {
                const int oz = (iz - front) / SD, oy = (iy - top) / SH, ox = (ix - left) / SW;
                const T v = from[(iz * H + iy) * W + ix];
                const T *const adjoint = dy + (oz * OH + oy) * OW + ox;
                s0 += adjoint[0] * v;
                if (ROWS > 1)
                    s1 += adjoint[OD * OH * OW] * v;
                if (ROWS > 2)
                    s2 += adjoint[2 * (OD * OH * OW)] * v;
                if (ROWS > 3)
                    s3 += adjoint[3 * (OD * OH * OW)] * v;
            }
        }
    }
    if (PADDED && !are_finite) {
        for (int p = 0; p < OD * OH * OW; p++) {
            const int iz = p / (OH * OW) * SD + front, iy = p / OW % OH * SH + top, ix = p % OW * SW + left;
            if (iz < 0 || iz >= D || iy < 0 || iy >= H || ix < 0 || ix >= W) {
                s0 += dy[p] * (T)0;
                if (ROWS > 1)
                    s1 += dy[p + OD * OH * OW] * (T)0;
                if (ROWS > 2)
                    s2 += dy[p + 2 * (OD * OH * OW)] * (T)0;
                if (ROWS > 3)
                    s3 += dy[p + 3 * (OD * OH * OW)] * (T)0;
            }
        }
    }
    total[0] += s0;
    if (ROWS > 1)
        total[step] += s1;
    if (ROWS > 2)
        total[2 * step] += s2;
    if (ROWS > 3)
        total[3 * step] += s3;
}

/* Weight (kz,ky,kx) of channel c, of ROWS channels from channel o of group g on. */
static inline void sum_images(const int g, const int o, const int c, const int kz, const int ky, const int kx,
                              const T *restrict dy, const T *restrict x, const int are_finite)
{
    T total[ROWS] = {(T)0};
    for (int n = 0; n < N; n++)
        add_image(total, 1, dy + ((n * G + g) * O + o) * (OD * OH * OW), x + ((n * G + g) * C + c) * (D * H * W), kz,
                  ky, kx, are_finite);
    for (int r = 0; r < ROWS; r++) {
        const T v = total[r];
        finish_weight(g * O + o + r, c * (KD * KH * KW) + (kz * KH + ky) * KW + kx, v);
    }
}

/* A group of which x or dy are computed, image by image: the channels first .. end - 1 of y. */
static inline void sum_computed(const int g, const int first, const int end, const T *restrict dy,
                                const T *restrict x, T *restrict scratch)
{
    T *const dy_computed = scratch + O * (C * KD * KH * KW), *const x_computed = dy_computed + ROWS * (OD * OH * OW);
    for (int i = first * (C * KD * KH * KW); i < end * (C * KD * KH * KW); i++)
        scratch[i] = (T)0;
    for (int n = 0; n < N; n++) {
        if (WITH_X) {
            for (int c = 0; c < C; c++) {
                for (int i = 0; i < D * H * W; i++)
                    x_into(n, g * C + c, i, x_computed + c * (D * H * W));
            }
        }
        for (int o = first; o < end; o += ROWS) {
            if (WITH_DY) {
                for (int r = 0; r < ROWS; r++) {
                    for (int p = 0; p < OD * OH * OW; p++)
                        dy_into(n, g * O + o + r, p, dy_computed + r * (OD * OH * OW));
                }
            }
            const T *const adjoint = WITH_DY ? dy_computed : dy + ((n * G + g) * O + o) * (OD * OH * OW);
            const int are_finite = !PADDED || times_zero(adjoint, ROWS * OD * OH * OW);
            for (int c = 0; c < C; c++) {
                for (int kz = 0; kz < KD; kz++) {
                    for (int ky = 0; ky < KH; ky++) {
                        for (int kx = 0; kx < KW; kx++)
                            add_image(scratch + (o * C + c) * (KD * KH * KW) + (kz * KH + ky) * KW + kx,
                                      C * KD * KH * KW,
                                      adjoint,
                                      WITH_X ? x_computed + c * (D * H * W)
                                             : x + ((n * G + g) * C + c) * (D * H * W),
                                      kz, ky, kx, are_finite);
                    }
                }
            }
        }
    }
    for (int o = first; o < end; o++) {
        for (int k = 0; k < C * KD * KH * KW; k++) {
            const T v = scratch[o * (C * KD * KH * KW) + k];
            finish_weight(g * O + o, k, v);
        }
    }
}

KERNEL static void conv_grad_weight_plain(const T *restrict dy, const T *restrict x, T *restrict scratch)
{
    const int first = SHARES > 1 && G == 1 ? share() * (O / ROWS) / SHARES * ROWS : 0,
              end = SHARES > 1 && G == 1 ? (share() + 1) * (O / ROWS) / SHARES * ROWS : O;
    const int are_finite = !PADDED || WITH_X || WITH_DY || times_zero(dy, N * G * O * OD * OH * OW);
    for (int g = SHARES > 1 && G > 1 ? share() * G / SHARES : 0;
         g < (SHARES > 1 && G > 1 ? (share() + 1) * G / SHARES : G); g++) {
        if (WITH_X || WITH_DY) {
            sum_computed(g, first, end, WITH_DY ? (const T *)0 : dy, WITH_X ? (const T *)0 : x, scratch);
        } else {
            for (int o = first; o < end; o += ROWS) {
                for (int c = 0; c < C; c++) {
                    for (int kz = 0; kz < KD; kz++) {
                        for (int ky = 0; ky < KH; ky++) {
                            for (int kx = 0; kx < KW; kx++)
                                sum_images(g, o, c, kz, ky, kx, dy, x, are_finite);
                        }
                    }
                }
            }
        }
    }
}
