/* SPDX-License-Identifier: 0BSD */
/* Pooling over one to three spatial axes, window by window, all windows of one plane (image and channel) after the other.
 *
 *   max_pool             finish(plane, o, maximum), finish_index(plane, o, element); the first of equal elements; NaN is greatest
 *   max_pool_grad        each dy is added to the element that the maximum came from; finish(plane, i, sum)
 *   max_pool_grad_apart  the same for windows that lie side by side: a line of dx at a time, in vectors
 *   average_pool         finish(plane, o, sum / count)
 *   average_pool_grad    dy / count is added to each element of the window; finish(plane, i, sum)
 *
 * Functions that call a hole name nothing as a parameter of the kernel: what the hole reads may be that very operand.
 * Elements of a window are visited row-major, sums start from zero and run in the order of windows. */
#include "registers.h"
#include "template.h"

enum HOLE {
    PLANES = 6,
    D = 1, H = 6, W = 7, /* input */
    OD = 1, OH = 3, OW = 3, /* windows */
    KD = 1, KH = 2, KW = 2, /* elements of a window */
    SD = 1, SH = 2, SW = 2, /* steps between windows */
    LD = 1, LH = 1, LW = 1, /* steps between its elements */
    PAD_D = 0, PAD_H = 0, PAD_W = 0, /* in front */
    END_D = 1, END_H = 6, END_W = 7, /* what counts for an average ends here, */
    BEGIN_D = 0, BEGIN_H = 0, BEGIN_W = 0, /* and begins here: input, with or without padding */
    FLOATS = 1, /* is T a floating type? */
    SHARES = 1, /* the results are cut into so many: by planes */
    AGAIN_FINISH = 1, /* may finish run twice for an element? */
    COLUMN_MAJOR = 0, /* how elements are numbered */
    WITH_FINISH = 1, WITH_FINISH_INDEX = 1
};
typedef float T HOLE;

static int share_of_sample;
static inline int HOLE share(void) /* which of them to compute */
{
    return share_of_sample;
}

static T out[PLANES * D * H * W]; /* sample */
static int64_t indices[PLANES * OD * OH * OW];
static inline void HOLE finish(int plane, int i, T v)
{
    out[plane * (D * H * W) + i] = v;
}
static inline void HOLE finish_index(int plane, int o, int64_t index)
{
    indices[plane * (OD * OH * OW) + o] = index;
}

/* ---- places --------------------------------------------------------------------------------------------------------- */

/* Position t of window o on each axis; outside of the input where not below its size. */
static inline int depth_at(const int o, const int t)
{
    return o * SD + t * LD - PAD_D;
}
static inline int row_at(const int o, const int t)
{
    return o * SH + t * LH - PAD_H;
}
static inline int column_at(const int o, const int t)
{
    return o * SW + t * LW - PAD_W;
}

/* The element of the plane at position t of window o, or -1. */
static inline int element_at(const int o, const int t)
{
    const int z = depth_at(o / (OH * OW), t / (KH * KW)), y = row_at(o / OW % OH, t / KW % KH), x = column_at(o % OW, t % KW);
    if (z < 0 || z >= D || y < 0 || y >= H || x < 0 || x >= W)
        return -1;
    return (z * H + y) * W + x;
}

/* ---- maxima --------------------------------------------------------------------------------------------------------- */

static inline int greater(const T v, const T best)
{
    if (FLOATS)
        return v > best || v != v;
    else
        return v > best;
}

/* The element with the maximum of window o; every window has one. */
static inline int find_maximum(const T *restrict plane, const int o)
{
    int at = -1;
    for (int t = 0; t < KD * KH * KW; t++) {
        const int i = element_at(o, t);
        if (i >= 0) {
            if (at < 0 || greater(plane[i], plane[at]))
                at = i;
        }
    }
    return at < 0 ? 0 : at;
}

static inline int64_t number_of(const int plane, const int i)
{
    if (COLUMN_MAJOR)
        return (int64_t)plane * (D * H * W) + i / (H * W) + (int64_t)(i / W % H) * D + (int64_t)(i % W) * (D * H);
    else
        return (int64_t)plane * (D * H * W) + i;
}

KERNEL static void max_pool(const T *restrict x)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0; p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        const T *const plane = x + p * (D * H * W);
        for (int o = 0; o < OD * OH * OW; o++) {
            const int i = find_maximum(plane, o);
            if (WITH_FINISH) {
                const T v = plane[i];
                finish(p, o, v);
            }
            if (WITH_FINISH_INDEX) {
                const int64_t number = number_of(p, i);
                finish_index(p, o, number);
            }
        }
    }
}

static inline void zero_plane(T *restrict plane)
{
    for (int i = 0; i < D * H * W; i++)
        plane[i] = (T)0;
}

KERNEL static void max_pool_grad(const T *restrict x, const T *restrict dy, T *restrict scratch)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0; p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        zero_plane(scratch);
        for (int o = 0; o < OD * OH * OW; o++)
            scratch[find_maximum(x + p * (D * H * W), o)] += dy[p * (OD * OH * OW) + o];
        for (int i = 0; i < D * H * W; i++) {
            const T v = scratch[i];
            finish(p, i, v);
        }
    }
}

/* ---- windows side by side ------------------------------------------------------------------------------------------- */

static STEPC_INLINE void finish_zeros(const int p, const int first, const int count)
{
    for (int i = 0; i < count; i++)
        finish(p, first + i, (T)0);
}

/* Windows of a line, which begins at element `first`. Written for vectors that run across windows: the loops over the positions
 * of a window disappear, positions are numbers of type T, and all is selected, not branched upon, by one comparison each (of two
 * at once GCC makes bits, one by one; and it would nest the selects of the hole and of `flows` as branches if they were one loop). */
static STEPC_INLINE void apart_windows(const int p, const int first, const T *restrict from, const T *restrict flow, const int begin,
                                       const int end)
{
    STEPC_LANE_LOOP
    for (int o = begin; o < end; o++) {
        T best = from[o * KW], chosen = (T)0, flows[KD * KH * KW];
        const T from_above = (T)0 + flow[o];
        STEPC_UNROLL
        for (int t = 1; t < KD * KH * KW; t++) {
            const T v = from[(t / (KH * KW) * H + t / KW % KH) * W + t % KW + o * KW];
            const T later = v > best ? (T)t : chosen;
            const T larger = v > best ? v : best;
            chosen = v != v ? (T)t : later;
            best = v != v ? v : larger;
        }
        STEPC_UNROLL
        for (int t = 0; t < KD * KH * KW; t++)
            flows[t] = chosen == (T)t ? from_above : (T)0;
        STEPC_UNROLL
        for (int t = 0; t < KD * KH * KW; t++) {
            const T v = flows[t];
            finish(p, first + (t / (KH * KW) * H + t / KW % KH) * W + t % KW + o * KW, v);
        }
    }
}

/* All windows of a line; where no harm is done, the last vector overlaps the one before it. */
static STEPC_INLINE void apart_line(const int p, const int first, const T *restrict from, const T *restrict flow)
{
    if (AGAIN_FINISH && OW > 4) {
        const int lanes = STEPC_FORM == 0 ? 1 : OW >= 8 ? 8 : 4;
        apart_windows(p, first, from, flow, 0, OW - OW % lanes);
        if (OW % lanes > 0)
            apart_windows(p, first, from, flow, OW - lanes, OW);
    } else {
        apart_windows(p, first, from, flow, 0, OW);
    }
}

/* What is left of the lines, where the last window ends before them. */
static STEPC_INLINE void apart_ends(const int p, const int first)
{
    for (int t = 0; t < KD * KH; t++)
        finish_zeros(p, first + (t / KH * H + t % KH) * W + OW * KW, W - OW * KW);
}

KERNEL static void max_pool_grad_apart(const T *restrict x, const T *restrict dy)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0; p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        for (int z = 0; z < OD; z++) {
            for (int y = 0; y < OH; y++) {
                apart_line(p, (z * KD * H + y * KH) * W, x + (p * (D * H * W) + (z * KD * H + y * KH) * W),
                           dy + ((p * OD + z) * OH + y) * OW);
                if (OW * KW < W)
                    apart_ends(p, (z * KD * H + y * KH) * W);
            }
            if (OH * KH < H) {
                for (int k = 0; k < KD; k++)
                    finish_zeros(p, ((z * KD + k) * H + OH * KH) * W, (H - OH * KH) * W);
            }
        }
        if (OD * KD < D)
            finish_zeros(p, OD * KD * H * W, (D - OD * KD) * H * W);
    }
}

/* ---- averages ------------------------------------------------------------------------------------------------------- */

/* Positions of a window that the average is over. */
static inline int population(const int o)
{
    int depths = 0, rows = 0, columns = 0;
    for (int t = 0; t < KD; t++)
        depths += depth_at(o / (OH * OW), t) >= BEGIN_D && depth_at(o / (OH * OW), t) < END_D;
    for (int t = 0; t < KH; t++)
        rows += row_at(o / OW % OH, t) >= BEGIN_H && row_at(o / OW % OH, t) < END_H;
    for (int t = 0; t < KW; t++)
        columns += column_at(o % OW, t) >= BEGIN_W && column_at(o % OW, t) < END_W;
    return depths * rows * columns;
}

KERNEL static void average_pool(const T *restrict x)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0; p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        const T *const plane = x + p * (D * H * W);
        for (int o = 0; o < OD * OH * OW; o++) {
            T sum = (T)0;
            for (int t = 0; t < KD * KH * KW; t++) {
                const int i = element_at(o, t);
                if (i >= 0)
                    sum += plane[i];
            }
            const T v = sum / (T)population(o);
            finish(p, o, v);
        }
    }
}

KERNEL static void average_pool_grad(const T *restrict dy, T *restrict scratch)
{
    for (int p = SHARES > 1 ? share() * PLANES / SHARES : 0; p < (SHARES > 1 ? (share() + 1) * PLANES / SHARES : PLANES); p++) {
        zero_plane(scratch);
        for (int o = 0; o < OD * OH * OW; o++) {
            const T part = dy[p * (OD * OH * OW) + o] / (T)population(o);
            for (int t = 0; t < KD * KH * KW; t++) {
                const int i = element_at(o, t);
                if (i >= 0)
                    scratch[i] += part;
            }
        }
        for (int i = 0; i < D * H * W; i++) {
            const T v = scratch[i];
            finish(p, i, v);
        }
    }
}
