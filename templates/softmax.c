/* SPDX-License-Identifier: 0BSD */
/* Loss and gradient of -log(softmax(scores))[label] in one pass: scores [N,C,D], labels [N,D], weights [C].
 *
 * Per position p = (n,d): e = exp(x - max), s = sum of e, loss_p = (log(s) - (x[label] - max)) * w_p, where w_p is the
 * weight of the label, 0 for an ignored one. The sum of e runs in 16 lanes along C where scores are contiguous there (D
 * == 1), else in index order. The reduced loss is the sum of loss_p in index order, so that samples one at a time give
 * the same, up to 1,024 of them: so many are added at a time; the mean divides it by the sum of w_p, added likewise.
 * An ignored position has no loss and no gradient, whatever its scores.
 *   log_prob  (x - max) - log(s)
 *   grad      (e * (1 / s) - (c == label ? 1 : 0)) * w_p, for the mean * (w_p * (1 / sum of w_p))
 *
 * The exponential and the logarithm have loops of their own over BLOCK positions: short rows would not vectorise. Of
 * rows that are no longer than a vector, all is done for BLOCK positions side by side. Labels were checked before; the
 * comparison with C at their use shows it to a prover. */
#include "kernels/stepc_labels.h"
#include "kernels/stepc_pack.h"
#include "kernels/stepc_registers.h"
#include "kernels/stepc_sum.h"
#include "stepc_math.h"
#include "template.h"

enum HOLE {
    N = 6,
    C = 5,
    D = 1,
    HAS_IGNORE = 1,
    IGNORE = 3,
    HAS_WEIGHTS = 1,
    REDUCTION = 2,  /* 0 none, 1 sum, 2 mean */
    TRANSPOSED = 1, /* short rows: transposed by stepc_pack_transposed(); of loops Clang makes gathers and scatters */
    PADDED = 0,     /* one row shorter than 16: exponentials of 16 lanes. Clang makes scalars of loops as short (one
                       sample of 10 classes: 0.04 instead of 0.09 us) */
    LONG = 1,  /* more than 1024 positions: their losses and weights are added in blocks */
    BLOCK = 4, /* positions at a time, up to 64 and up to N (D == 1) or D; scratch has BLOCK * C elements; PADDED: 16 */
    WITH_LATE_N = 0, /* N is known when the kernel runs; BLOCK is then up to the most that it can be */
    WITH_LOSS = 1,
    WITH_LOG_PROB = 1,
    WITH_GRAD = 1,
    PLAIN_GRAD = 0 /* grad only stores, all elements one behind the other */
};
typedef float T HOLE;
typedef int64_t LABELS HOLE; /* type of a label */

/* Samples. */
static T loss_out[N * D], log_prob_out[N * C * D], grad_out[N * C * D];
static inline void HOLE loss(T value)
{
    loss_out[0] = value;
}
static inline void HOLE loss_at(int n, int d, T value)
{
    loss_out[n * D + d] = value;
}
static inline void HOLE log_prob(int n, int c, int d, T value)
{
    log_prob_out[(n * C + c) * D + d] = value;
}
static inline void HOLE grad(int n, int c, int d, T value)
{
    grad_out[(n * C + c) * D + d] = value;
}
static inline T *HOLE grad_place(void) /* where grad stores element (0,0,0) */
{
    return grad_out;
}
static const T sample_weights[C] = {1, 2, 1, 1, 1};
static inline T HOLE weights_at(int c)
{
    return sample_weights[c];
}
static inline T HOLE exp_of(T x)
{
    return stepc_expf(x);
}
static inline T HOLE log_of(T x)
{
    return stepc_logf(x);
}

/* The class whose gradient gets the -1; none of an ignored position. */
static inline int hot_class(const LABELS label)
{
    if (HAS_IGNORE)
        return (int64_t)label == IGNORE ? -1 : stepc_class(label, C);
    else
        return stepc_class(label, C);
}

static inline T weight_of(const LABELS label)
{
    if (!HAS_WEIGHTS)
        return (int64_t)label == IGNORE ? (T)0 : (T)1;
    else if (HAS_IGNORE)
        return (int64_t)label == IGNORE ? (T)0 : weights_at(stepc_class(label, C));
    else
        return weights_at(stepc_class(label, C));
}

/* ---- scores of a position side by side ------------------------------------- */

static inline T max_of_row(const T *restrict row)
{
    if (C < 32) {
        T max = row[0], other = row[C > 1 ? 1 : 0]; /* two: each waits for the one before it */
        for (int c = 2; c < C; c += 2)
            max = row[c] > max ? row[c] : max;
        for (int c = 3; c < C; c += 2)
            other = row[c] > other ? row[c] : other;
        return other > max ? other : max;
    } else {
        T lane[16];
        for (int l = 0; l < 16; l++)
            lane[l] = row[l];
        for (int c = 16; c < C - C % 16; c += 16) {
            for (int l = 0; l < 16; l++)
                lane[l] = row[c + l] > lane[l] ? row[c + l] : lane[l];
        }
        if (C % 16 > 0) {
            for (int l = 0; l < C % 16; l++)
                lane[l] = row[C - C % 16 + l] > lane[l] ? row[C - C % 16 + l] : lane[l];
        }
        for (int l = 0; l < 8; l++)
            lane[l] = lane[l + 8] > lane[l] ? lane[l + 8] : lane[l];
        for (int l = 0; l < 4; l++)
            lane[l] = lane[l + 4] > lane[l] ? lane[l + 4] : lane[l];
        for (int l = 1; l < 4; l++)
            lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
        return lane[0];
    }
}

/* Exponentials of one row shorter than 16, in 16 lanes; those beyond C are of no use. */
static STEPC_INLINE void padded_exponentials(const T top, const T *restrict row, T *restrict e)
{
    STEPC_WIDE_LOOP
    for (int l = 0; l < (STEPC_FORM == 0 ? C : 16); l++)
        e[l] = exp_of((l < C ? row[l] : top) - top);
}

static inline T sum_of_padded(const T *restrict e)
{
    T lane[16] = {(T)0};
    STEPC_WIDE_LOOP
    for (int l = 0; l < (STEPC_FORM == 0 ? C : 16); l++)
        lane[l] = l < C ? e[l] : (T)0;
    return stepc_fold16(lane);
}

/* Adds the losses of positions first .. first + count - 1 in index order. */
static STEPC_INLINE void add_losses(const int count, const int first, T *restrict total, const T *restrict value)
{
    if (LONG) {
        const int left = 1024 - first % 1024;
        for (int i = 0; i < (left < count ? left : count); i++)
            total[1] += value[i];
        if (left <= count) {
            total[0] += total[1];
            total[1] = (T)0;
            for (int i = left; i < count; i++)
                total[1] += value[i];
        }
    } else {
        (void)first;
        for (int i = 0; i < count; i++)
            total[0] += value[i];
    }
}

/* When the sums of exponentials are known: log-probabilities and losses of positions first .. first + rows - 1, whose
 * labels are label[i]; adds the losses to total[0], by way of total[1], the block at hand. */
static STEPC_INLINE void finish_rows(const int rows, const int first, T *restrict total, const T *restrict score,
                                     const LABELS *restrict label, const T *restrict top, const T *restrict picked,
                                     T *restrict sum)
{
    if (WITH_LOG_PROB) {
        for (int i = 0; i < rows; i++)
            sum[i] = log_of(sum[i]);
        for (int i = 0; i < rows; i++) {
            for (int c = 0; c < C; c++) {
                const T v = (score[(first + i) * C + c] - top[i]) - sum[i];
                log_prob(first + i, c, 0, v);
            }
        }
    }
    if (WITH_LOSS) {
        for (int i = 0; i < rows; i++) {
            if (WITH_LOG_PROB)
                sum[i] = sum[i] - picked[i];
            else
                sum[i] = log_of(sum[i]) - picked[i];
        }
        if (HAS_WEIGHTS) {
            for (int i = 0; i < rows; i++)
                sum[i] *= weight_of(label[i]);
        }
        if (HAS_IGNORE) {
            for (int i = 0; i < rows; i++)
                sum[i] = hot_class(label[i]) < 0 ? (T)0 : sum[i];
        }
        if (REDUCTION == 0) {
            for (int i = 0; i < rows; i++)
                loss_at(first + i, 0, sum[i]);
        } else {
            add_losses(rows, first, total, sum);
        }
    }
}

/* Positions first .. first + rows - 1; adds their losses to total[0]. */
static STEPC_INLINE void rows_block(const int rows, const int first, T *restrict total, const T share,
                                    const T *restrict score, const LABELS *restrict label, T *restrict e)
{
    T top[BLOCK] = {(T)0}, picked[BLOCK] = {(T)0}, sum[BLOCK] = {(T)0}; /* zeros: for the prover */
    for (int i = 0; i < rows; i++) {
        const T *const row = score + (first + i) * C;
        top[i] = max_of_row(row);
        if (PADDED) {
            picked[i] = row[stepc_class(label[first + i], C)] - top[i];
            padded_exponentials(top[i], row, e);
        } else {
            for (int c = 0; c < C; c++)
                e[i * C + c] = row[c] - top[i];
            picked[i] = e[i * C + stepc_class(label[first + i], C)];
        }
    }
    if (!PADDED) {
        for (int i = 0; i < rows * C; i++)
            e[i] = exp_of(e[i]);
    }
    for (int i = 0; i < rows; i++) {
        if (PADDED)
            sum[i] = sum_of_padded(e);
        else
            sum[i] = stepc_sum16(e + i * C, C);
    }
    if (WITH_GRAD) {
        for (int i = 0; i < rows; i++) {
            const int hot = hot_class(label[first + i]);
            const T scale = (T)1 / sum[i];
            T factor = share;
            if (HAS_IGNORE + HAS_WEIGHTS > 0)
                factor = weight_of(label[first + i]) * share;
            for (int c = 0; c < C; c++) {
                T v = (e[i * C + c] * scale - (c == hot ? (T)1 : (T)0)) * factor;
                if (HAS_IGNORE)
                    v = hot < 0 ? (T)0 : v;
                grad(first + i, c, 0, v);
            }
        }
    } else {
        (void)share;
    }
    finish_rows(rows, first, total, score, label + first, top, picked, sum);
}

/* ---- short rows, transposed so that positions are side by side -------------- */

/* Lane l of a row's sum after the first half is folded: those beyond C are zeros. `e` is class 0 of the position. */
static STEPC_INLINE T half_lane(const int l, const int rows, const T *restrict e)
{
    return l + 8 < C ? e[l * rows] + e[(l + 8 < C ? l + 8 : 0) * rows] : l < C ? e[(l < C ? l : 0) * rows] : (T)0;
}

/* Gradients of positions first .., that of class c at i * row_step + c * class_step. */
static STEPC_INLINE void give_gradients(const int rows, const int first, const T *restrict from, const int row_step,
                                        const int class_step)
{
    for (int i = 0; i < rows; i++) {
        for (int c = 0; c < C; c++) {
            const T v = from[i * row_step + c * class_step];
            grad(first + i, c, 0, v);
        }
    }
}

/* Positions first .. first + rows - 1 as rows_block() does them, in the same order of sums: e[c * rows + i] is class c
 * of position i. */
static STEPC_INLINE void short_rows_block(const int rows, const int first, T *restrict total, const T share,
                                          const T *restrict score, const LABELS *restrict all_labels, T *restrict e)
{
    const LABELS *const label = all_labels + first;
    T top[BLOCK] = {(T)0}, picked[BLOCK] = {(T)0}, sum[BLOCK] = {(T)0}; /* zeros: for the prover */
    if (TRANSPOSED) {
        stepc_pack_transposed(e, rows, score + first * C, C, rows, C);
    } else {
        for (int i = 0; i < rows; i++) {
            for (int c = 0; c < C; c++)
                e[c * rows + i] = score[(first + i) * C + c];
        }
    }
    for (int i = 0; i < rows; i++)
        top[i] = e[i];
    for (int c = 1; c < C; c++) {
        for (int i = 0; i < rows; i++)
            top[i] = e[c * rows + i] > top[i] ? e[c * rows + i] : top[i];
    }
    for (int c = 0; c < C; c++) {
        for (int i = 0; i < rows; i++)
            e[c * rows + i] -= top[i];
    }
    if (C <= 4) {
        /* selected, not gathered */
        for (int i = 0; i < rows; i++)
            picked[i] = e[i];
        for (int c = 1; c < C; c++) {
            for (int i = 0; i < rows; i++) {
                const T other = e[c * rows + i], value = picked[i]; /* both, before one is selected */
                picked[i] = stepc_class(label[i], C) == c ? other : value;
            }
        }
    } else {
        for (int i = 0; i < rows; i++)
            picked[i] = e[stepc_class(label[i], C) * rows + i];
    }
    for (int i = 0; i < C * rows; i++)
        e[i] = exp_of(e[i]);
    for (int i = 0; i < rows; i++) {
        const T s0 = half_lane(0, rows, e + i) + half_lane(4, rows, e + i),
                s1 = half_lane(1, rows, e + i) + half_lane(5, rows, e + i);
        const T s2 = half_lane(2, rows, e + i) + half_lane(6, rows, e + i),
                s3 = half_lane(3, rows, e + i) + half_lane(7, rows, e + i);
        sum[i] = (s0 + s2) + (s1 + s3);
    }
    if (WITH_GRAD) {
        int hot[BLOCK] = {0};
        T scale[BLOCK] = {(T)0};
        for (int i = 0; i < rows; i++) {
            hot[i] = hot_class(label[i]);
            scale[i] = (T)1 / sum[i];
        }
        if (HAS_IGNORE + HAS_WEIGHTS > 0) {
            T factor[BLOCK] = {(T)0};
            for (int i = 0; i < rows; i++)
                factor[i] = weight_of(label[i]) * share;
            for (int c = 0; c < C; c++) {
                for (int i = 0; i < rows; i++) {
                    const T g = (e[c * rows + i] * scale[i] - (c == hot[i] ? (T)1 : (T)0)) * factor[i];
                    if (HAS_IGNORE)
                        e[c * rows + i] = hot[i] < 0 ? (T)0 : g;
                    else
                        e[c * rows + i] = g;
                }
            }
        } else {
            for (int c = 0; c < C; c++) {
                for (int i = 0; i < rows; i++)
                    e[c * rows + i] = (e[c * rows + i] * scale[i] - (c == hot[i] ? (T)1 : (T)0)) * share;
            }
        }
        if (TRANSPOSED && PLAIN_GRAD) {
            stepc_transpose_back(grad_place() + first * C, C, e, rows, rows, C);
        } else if (TRANSPOSED) {
            if (STEPC_TRANSPOSES_IN_BLOCKS) {
                T transposed[BLOCK * ((C + 3) / 4 * 4)];
                stepc_pack_transposed(transposed, (C + 3) / 4 * 4, e, rows, C, rows);
                give_gradients(rows, first, transposed, (C + 3) / 4 * 4, 1);
            } else {
                give_gradients(rows, first, e, 1, rows);
            }
        } else {
            give_gradients(rows, first, e, 1, rows);
        }
    } else {
        (void)share;
    }
    finish_rows(rows, first, total, score, label, top, picked, sum);
}

/* ---- scores of neighbouring positions side by side -------------------------- */

/* Positions (n, first) .. (n, first + columns - 1). */
static STEPC_INLINE void columns_block(const int columns, const int n, const int first, T *restrict total,
                                       const T share, const T *restrict score, const LABELS *restrict all_labels,
                                       T *restrict e)
{
    const T *const column = score + n * (C * D) + first;
    const LABELS *const label = all_labels + n * D + first;
    T top[BLOCK] = {(T)0}, picked[BLOCK] = {(T)0}, sum[BLOCK] = {(T)0}; /* zeros: for the prover */
    for (int i = 0; i < columns; i++)
        top[i] = column[i];
    for (int c = 1; c < C; c++) {
        for (int i = 0; i < columns; i++)
            top[i] = column[c * D + i] > top[i] ? column[c * D + i] : top[i];
    }
    for (int c = 0; c < C; c++) {
        for (int i = 0; i < columns; i++)
            e[c * columns + i] = column[c * D + i] - top[i];
    }
    for (int i = 0; i < columns; i++) {
        picked[i] = e[stepc_class(label[i], C) * columns + i];
        sum[i] = (T)0;
    }
    for (int i = 0; i < C * columns; i++)
        e[i] = exp_of(e[i]);
    for (int c = 0; c < C; c++) {
        for (int i = 0; i < columns; i++)
            sum[i] += e[c * columns + i];
    }
    if (WITH_GRAD) {
        int hot[BLOCK] = {0};
        T scale[BLOCK] = {(T)0}, factor[BLOCK] = {(T)0};
        for (int i = 0; i < columns; i++) {
            hot[i] = hot_class(label[i]);
            scale[i] = (T)1 / sum[i];
            factor[i] = share;
            if (HAS_IGNORE + HAS_WEIGHTS > 0)
                factor[i] = weight_of(label[i]) * share;
        }
        for (int c = 0; c < C; c++) {
            for (int i = 0; i < columns; i++) {
                T v = (e[c * columns + i] * scale[i] - (c == hot[i] ? (T)1 : (T)0)) * factor[i];
                if (HAS_IGNORE)
                    v = hot[i] < 0 ? (T)0 : v;
                grad(n, c, first + i, v);
            }
        }
    } else {
        (void)share;
    }
    if (WITH_LOSS + WITH_LOG_PROB > 0) {
        for (int i = 0; i < columns; i++)
            sum[i] = log_of(sum[i]);
    }
    if (WITH_LOG_PROB) {
        for (int c = 0; c < C; c++) {
            for (int i = 0; i < columns; i++) {
                const T v = (column[c * D + i] - top[i]) - sum[i];
                log_prob(n, c, first + i, v);
            }
        }
    }
    if (WITH_LOSS) {
        for (int i = 0; i < columns; i++)
            sum[i] = sum[i] - picked[i];
        if (HAS_WEIGHTS) {
            for (int i = 0; i < columns; i++)
                sum[i] *= weight_of(label[i]);
        }
        if (HAS_IGNORE) {
            for (int i = 0; i < columns; i++)
                sum[i] = hot_class(label[i]) < 0 ? (T)0 : sum[i];
        }
        if (REDUCTION == 0) {
            for (int i = 0; i < columns; i++)
                loss_at(n, first + i, sum[i]);
        } else {
            add_losses(columns, n * D + first, total, sum);
        }
    } else {
        (void)picked;
    }
}

/* ---- all positions ---------------------------------------------------------- */

/* What the mean divides by. */
static inline T weight_of_all(const LABELS *restrict label)
{
    if (HAS_IGNORE + HAS_WEIGHTS > 0) {
        T weight = (T)0;
        if (LONG) {
            T block = (T)0;
            for (int p = 0; p < N * D; p++) {
                if (p % 1024 == 0) {
                    weight += block;
                    block = (T)0;
                }
                block += weight_of(label[p]);
            }
            weight += block;
        } else {
            for (int p = 0; p < N * D; p++)
                weight += weight_of(label[p]);
        }
        return weight;
    } else {
        (void)label;
        return (T)(N * D);
    }
}

KERNEL static void softmax_cross_entropy(const T *restrict scores, const LABELS *restrict labels, T *restrict scratch)
{
    const T weight = REDUCTION == 2 ? weight_of_all(labels) : (T)1, share = (T)1 / weight;
    T total[LONG + 1] = {(T)0};
    if (D == 1 && C <= 16 && WITH_LATE_N) {
        for (int i = 0; i < N; i += BLOCK)
            short_rows_block(N - i < BLOCK ? N - i : BLOCK, i, total, share, scores, labels, scratch);
    } else if (D == 1 && WITH_LATE_N) {
        for (int i = 0; i < N; i += BLOCK)
            rows_block(N - i < BLOCK ? N - i : BLOCK, i, total, share, scores, labels, scratch);
    } else if (D == 1 && C <= 16 && N >= 8) {
        for (int i = 0; i < N - N % BLOCK; i += BLOCK)
            short_rows_block(BLOCK, i, total, share, scores, labels, scratch);
        if (N % BLOCK > 0)
            short_rows_block(N % BLOCK, N - N % BLOCK, total, share, scores, labels, scratch);
    } else if (D == 1) {
        for (int i = 0; i < N - N % BLOCK; i += BLOCK)
            rows_block(BLOCK, i, total, share, scores, labels, scratch);
        if (N % BLOCK > 0)
            rows_block(N % BLOCK, N - N % BLOCK, total, share, scores, labels, scratch);
    } else {
        for (int n = 0; n < N; n++) {
            for (int d = 0; d < D - D % BLOCK; d += BLOCK)
                columns_block(BLOCK, n, d, total, share, scores, labels, scratch);
            if (D % BLOCK > 0)
                columns_block(D % BLOCK, n, D - D % BLOCK, total, share, scores, labels, scratch);
        }
    }
    if (LONG)
        total[0] += total[1];
    if (WITH_LOSS * REDUCTION == 1) {
        loss(total[0]);
    } else if (WITH_LOSS * REDUCTION == 2) {
        const T mean = total[0] / weight;
        loss(mean);
    } else {
        (void)total;
    }
}
