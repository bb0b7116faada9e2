/* SPDX-License-Identifier: 0BSD */
/* Pooling over one to three spatial axes as plain loops, for --optimize size: one window after the other.
 *
 *   max_pool_plain             finish(p, o, maximum), finish_index(p, o, element), finish_place(p, o, position in the
 *                              window); the first of equal elements; NaN is greatest
 *   max_pool_grad_plain        each dy is added to the element at its place in the window; finish(p, i, sum)
 *   max_pool_grad_apart_plain  the same for windows that lie side by side, without memory for the sums
 *   average_pool_plain         finish(p, o, sum / count)
 *   average_pool_grad_plain    dy / count is added to each element of the window; finish(p, i, sum)
 *
 * Elements of a window are visited row-major, sums start from zero and run in the order of windows. */
#include "template.h"
#include <stdint.h>

enum HOLE {
    PLANES = 6, /* channels of images */
    D = 1, H = 6, W = 7, /* input */
    OD = 1, OH = 3, OW = 3, /* windows */
    KD = 1, KH = 2, KW = 2, /* elements of a window */
    SD = 1, SH = 2, SW = 2, /* steps between windows */
    LD = 1, LH = 1, LW = 1, /* steps between its elements */
    PAD_D = 0, PAD_H = 0, PAD_W = 0, /* in front */
    PADDED = 1, /* windows (average_pool_grad_plain: elements) may see what lies outside */
    COUNT = 0, /* elements that each average is over; 0: not all have equally many */
    END_D = 1, END_H = 6, END_W = 7, /* what counts for an average ends here, */
    BEGIN_D = 0, BEGIN_H = 0, BEGIN_W = 0, /* and begins here: input, with or without padding */
    FLOATS = 1, /* is T a floating type? */
    SHARES = 1, /* the results are cut into so many: by channels of images */
    COLUMN_MAJOR = 0, /* how elements are numbered */
    WITH_FINISH = 1, WITH_FINISH_INDEX = 1, WITH_FINISH_PLACE = 1
};
typedef float T HOLE;

static int share_of_sample;
static inline int HOLE share(void) /* which of them to compute */
{
    return share_of_sample;
}

static T out[PLANES * D * H * W]; /* sample */
static int64_t indices[PLANES * OD * OH * OW];
static inline void HOLE finish(int p, int i, T v)
{
    out[p * (D * H * W) + i] = v;
}
static inline void HOLE finish_index(int p, int o, int64_t index)
{
    indices[p * (OD * OH * OW) + o] = index;
}
static uint8_t sample_places[PLANES * OD * OH * OW];
static inline void HOLE finish_place(int p, int o, uint8_t place)
{
    sample_places[p * (OD * OH * OW) + o] = place;
}

/* ---- maxima ------------------------------------------------------------------------------------------------------ */

/* The element of a channel that is the maximum of the window at (oz,oy,ox). */
static inline int maximum_at(const T *restrict from, const int oz, const int oy, const int ox)
{
    T best = (T)0;
    int place = -1;
    for (int kz = 0; kz < KD; kz++) {
        for (int ky = 0; ky < KH; ky++) {
            for (int kx = 0; kx < KW; kx++) {
                const int z = oz * SD + kz * LD - PAD_D, y = oy * SH + ky * LH - PAD_H, x = ox * SW + kx * LW - PAD_W;
                if (!PADDED || (z >= 0 && z < D && y >= 0 && y < H && x >= 0 && x < W)) {
                    const T v = from[(z * H + y) * W + x];
                    if (place < 0 || v > best || (FLOATS && v != v)) {
                        best = v;
                        place = (z * H + y) * W + x;
                    }
                }
            }
        }
    }
    return place;
}

/* The position of that element in the window. */
static inline int position_of(const int oz, const int oy, const int ox, const int at)
{
    const int z = D == 1 ? 0 : at / (H * W), y = D == 1 ? at / W : at / W % H, x = at % W;
    return ((z - (oz * SD - PAD_D)) / LD * KH + (y - (oy * SH - PAD_H)) / LH) * KW + (x - (ox * SW - PAD_W)) / LW;
}

static inline int64_t number_of(const int p, const int i)
{
    if (COLUMN_MAJOR)
        return (int64_t)p * (D * H * W) + i / (H * W) + (int64_t)(i / W % H) * D + (int64_t)(i % W) * (D * H);
    else
        return (int64_t)p * (D * H * W) + i;
}

KERNEL static void max_pool_plain(const T *restrict x)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0;
         p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        for (int oz = 0; oz < OD; oz++) {
            for (int oy = 0; oy < OH; oy++) {
                for (int ox = 0; ox < OW; ox++) {
                    const T *const from = x + p * (D * H * W);
                    const int at = maximum_at(from, oz, oy, ox);
                    if (WITH_FINISH) {
                        const T v = from[at];
                        finish(p, (oz * OH + oy) * OW + ox, v);
                    }
                    if (WITH_FINISH_INDEX) {
                        const int64_t number = number_of(p, at);
                        finish_index(p, (oz * OH + oy) * OW + ox, number);
                    }
                    if (WITH_FINISH_PLACE) {
                        const uint8_t place = (uint8_t)position_of(oz, oy, ox, at);
                        finish_place(p, (oz * OH + oy) * OW + ox, place);
                    }
                }
            }
        }
    }
}

/* Adds to the element of a channel at `place` in the window at (oz,oy,ox), if it has one there. */
static inline void add_adjoint(T *restrict sums, const int oz, const int oy, const int ox, const int place,
                               const T adjoint)
{
    for (int kz = 0; kz < KD; kz++) {
        for (int ky = 0; ky < KH; ky++) {
            for (int kx = 0; kx < KW; kx++) {
                const int z = oz * SD + kz * LD - PAD_D, y = oy * SH + ky * LH - PAD_H, x = ox * SW + kx * LW - PAD_W;
                if ((kz * KH + ky) * KW + kx == place &&
                    (!PADDED || (z >= 0 && z < D && y >= 0 && y < H && x >= 0 && x < W)))
                    sums[(z * H + y) * W + x] += adjoint;
            }
        }
    }
}

KERNEL static void max_pool_grad_plain(const uint8_t *restrict places, const T *restrict dy, T *restrict scratch)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0;
         p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        for (int i = 0; i < D * H * W; i++)
            scratch[i] = (T)0;
        for (int oz = 0; oz < OD; oz++) {
            for (int oy = 0; oy < OH; oy++) {
                for (int ox = 0; ox < OW; ox++) {
                    const int o = ((p * OD + oz) * OH + oy) * OW + ox;
                    add_adjoint(scratch, oz, oy, ox, (int)places[o], dy[o]);
                }
            }
        }
        for (int i = 0; i < D * H * W; i++) {
            const T v = scratch[i];
            finish(p, i, v);
        }
    }
}

/* The elements of a window: the one at `place` gets the adjoint. */
static inline void finish_window(const int p, const int oz, const int oy, const int ox, const int place,
                                 const T adjoint)
{
    for (int kz = 0; kz < KD; kz++) {
        for (int ky = 0; ky < KH; ky++) {
            for (int kx = 0; kx < KW; kx++) {
                const int i = ((oz * KD + kz) * H + oy * KH + ky) * W + ox * KW + kx;
                finish(p, i, (kz * KH + ky) * KW + kx == place ? (T)0 + adjoint : (T)0);
            }
        }
    }
}

/* The elements behind the last windows. */
static inline void finish_ends(const int p)
{
    for (int z = 0; z < D; z++) {
        for (int y = 0; y < H; y++) {
            for (int x = 0; x < W; x++) {
                if (z >= OD * KD || y >= OH * KH || x >= OW * KW)
                    finish(p, (z * H + y) * W + x, (T)0);
            }
        }
    }
}

KERNEL static void max_pool_grad_apart_plain(const uint8_t *restrict places, const T *restrict dy)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0;
         p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        for (int oz = 0; oz < OD; oz++) {
            for (int oy = 0; oy < OH; oy++) {
                for (int ox = 0; ox < OW; ox++) {
                    const int o = ((p * OD + oz) * OH + oy) * OW + ox;
                    finish_window(p, oz, oy, ox, (int)places[o], dy[o]);
                }
            }
        }
        if (OD * KD < D || OH * KH < H || OW * KW < W)
            finish_ends(p);
    }
}

/* ---- averages ---------------------------------------------------------------------------------------------------- */

/* Positions of a window along an axis that the average is over; the first of all lies at `place`. */
static inline int counted(const int place, const int step, const int count, const int begin, const int end)
{
    int n = 0;
    for (int t = 0; t < count; t++)
        n += place + t * step >= begin && place + t * step < end;
    return n;
}

static inline int population(const int oz, const int oy, const int ox)
{
    return counted(oz * SD - PAD_D, LD, KD, BEGIN_D, END_D) * counted(oy * SH - PAD_H, LH, KH, BEGIN_H, END_H) *
           counted(ox * SW - PAD_W, LW, KW, BEGIN_W, END_W);
}

static inline T sum_window(const T *restrict from, const int oz, const int oy, const int ox)
{
    T sum = (T)0;
    for (int kz = 0; kz < KD; kz++) {
        for (int ky = 0; ky < KH; ky++) {
            for (int kx = 0; kx < KW; kx++) {
                const int z = oz * SD + kz * LD - PAD_D, y = oy * SH + ky * LH - PAD_H, x = ox * SW + kx * LW - PAD_W;
                if (!PADDED || (z >= 0 && z < D && y >= 0 && y < H && x >= 0 && x < W))
                    sum += from[(z * H + y) * W + x];
            }
        }
    }
    return sum;
}

KERNEL static void average_pool_plain(const T *restrict x)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0;
         p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        for (int oz = 0; oz < OD; oz++) {
            for (int oy = 0; oy < OH; oy++) {
                for (int ox = 0; ox < OW; ox++) {
                    const T sum = sum_window(x + p * (D * H * W), oz, oy, ox);
                    const T v = sum / (T)(COUNT > 0 ? COUNT : population(oz, oy, ox));
                    finish(p, (oz * OH + oy) * OW + ox, v);
                }
            }
        }
    }
}

/* The adjoint of element (z,y,x) of a channel. It is the last element of the first of its windows, so these come in
 * their order. */
static inline T sum_adjoints(const T *restrict adjoint, const int z, const int y, const int x)
{
    T sum = (T)0;
    for (int kz = 0; kz < KD; kz++) {
        for (int ky = 0; ky < KH; ky++) {
            for (int kx = 0; kx < KW; kx++) {
                const int depth = z + kz * LD + (PAD_D - (KD - 1) * LD), line = y + ky * LH + (PAD_H - (KH - 1) * LH),
                          column = x + kx * LW + (PAD_W - (KW - 1) * LW);
                if (depth % SD == 0 && line % SH == 0 && column % SW == 0) {
                    if (!PADDED || (depth >= 0 && depth < OD * SD && line >= 0 && line < OH * SH && column >= 0 &&
                                    column < OW * SW)) {
                        const int oz = depth / SD, oy = line / SH, ox = column / SW;
                        sum += adjoint[(oz * OH + oy) * OW + ox] / (T)(COUNT > 0 ? COUNT : population(oz, oy, ox));
                    }
                }
            }
        }
    }
    return sum;
}

KERNEL static void average_pool_grad_plain(const T *restrict dy)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0;
         p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        for (int z = 0; z < D; z++) {
            for (int y = 0; y < H; y++) {
                for (int x = 0; x < W; x++) {
                    const T v = sum_adjoints(dy + p * (OD * OH * OW), z, y, x);
                    finish(p, (z * H + y) * W + x, v);
                }
            }
        }
    }
}
