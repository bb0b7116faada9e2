/* SPDX-License-Identifier: 0BSD */
/* Loss and gradient of -log(softmax(scores))[label] in few instructions, for --optimize size: one position after the
 * other. What is computed, and in which order, is in softmax.c. */
#include "kernels/stepc_labels.h"
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
    REDUCTION = 2, /* 0 none, 1 sum, 2 mean */
    LONG = 1,      /* more than 1024 positions: their losses and weights are added in blocks */
    BLOCK = 1,     /* C * BLOCK elements of scratch */
    WITH_LOSS = 1,
    WITH_LOG_PROB = 1,
    WITH_GRAD = 1
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

static inline T weight_of(const LABELS label)
{
    if (!HAS_WEIGHTS)
        return (int64_t)label == IGNORE ? (T)0 : (T)1;
    else if (HAS_IGNORE)
        return (int64_t)label == IGNORE ? (T)0 : weights_at(stepc_class(label, C));
    else
        return weights_at(stepc_class(label, C));
}

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

static inline T sum_of(const T *restrict e)
{
    if (D == 1) {
        return stepc_sum16(e, C);
    } else {
        T sum = (T)0;
        for (int c = 0; c < C; c++)
            sum += e[c];
        return sum;
    }
}

static inline T factor_of(const T share, const LABELS label)
{
    if (HAS_IGNORE + HAS_WEIGHTS > 0)
        return weight_of(label) * share;
    else
        return share;
}

/* The gradient of class c. */
static STEPC_INLINE void give_gradient(const int n, const int d, const int c, const int hot, const LABELS label,
                                       const T *restrict e, const T scale, const T factor)
{
    const T v = (e[c] * scale - (c == hot ? (T)1 : (T)0)) * factor;
    if (HAS_IGNORE) {
        const T or_zero = (int64_t)label == IGNORE ? (T)0 : v;
        grad(n, c, d, or_zero);
    } else {
        (void)label;
        grad(n, c, d, v);
    }
}

static inline T weighted(const T value, const LABELS label)
{
    if (HAS_WEIGHTS)
        return value * weight_of(label);
    else
        return value;
}

/* The loss of a position whose log-probability is -value. */
static inline T loss_of(const T value, const LABELS label)
{
    if (HAS_IGNORE)
        return (int64_t)label == IGNORE ? (T)0 : weighted(value, label);
    else
        return weighted(value, label);
}

KERNEL static void softmax_cross_entropy_plain(const T *restrict scores, const LABELS *restrict labels,
                                               T *restrict scratch)
{
    const T weight = REDUCTION == 2 ? weight_of_all(labels) : (T)1, share = (T)1 / weight;
    T total = (T)0, block = (T)0;
    for (int n = 0; n < N; n++) {
        for (int d = 0; d < D; d++) {
            const T *const x = scores + n * (C * D) + d;
            const LABELS label = labels[n * D + d];
            const int hot = stepc_class(label, C);
            T top = x[0];
            for (int c = 1; c < C; c++)
                top = x[c * D] > top ? x[c * D] : top;
            for (int c = 0; c < C; c++)
                scratch[c] = exp_of(x[c * D] - top);
            const T sum = sum_of(scratch);
            if (WITH_GRAD) {
                const T scale = (T)1 / sum;
                const T factor = factor_of(share, label);
                for (int c = 0; c < C; c++)
                    give_gradient(n, d, c, hot, label, scratch, scale, factor);
            }
            const T log_sum = WITH_LOSS + WITH_LOG_PROB > 0 ? log_of(sum) : sum;
            if (WITH_LOG_PROB) {
                for (int c = 0; c < C; c++) {
                    const T v = (x[c * D] - top) - log_sum;
                    log_prob(n, c, d, v);
                }
            }
            if (WITH_LOSS) {
                if (REDUCTION == 0) {
                    const T value = loss_of(log_sum - (x[hot * D] - top), label);
                    loss_at(n, d, value);
                } else if (LONG) {
                    if ((n * D + d) % 1024 == 0) {
                        total += block;
                        block = (T)0;
                    }
                    block += loss_of(log_sum - (x[hot * D] - top), label);
                } else {
                    total += loss_of(log_sum - (x[hot * D] - top), label);
                }
            }
        }
    }
    if (LONG)
        total += block;
    else
        (void)block;
    if (WITH_LOSS * REDUCTION == 1) {
        loss(total);
    } else if (WITH_LOSS * REDUCTION == 2) {
        const T mean = total / weight;
        loss(mean);
    } else {
        (void)total;
    }
}
