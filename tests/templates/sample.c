/* A template that uses everything there is, for test_template.c. */
#include "sample_lanes.h"
#include "stepc.h"
#include "stepc_math.h"
#include "template.h"

#include <string.h>

enum HOLE { M = 3, N = 8, SHIFT = -2, WITH_ROW = 1, MODE = 0, UNROLL = 4 };
typedef float T HOLE;
typedef float quad __attribute__((vector_size(16)));
typedef T pair[2];

static T out[M * N]; /* sample */
static const int offsets[2] = {0, 1};

static inline T HOLE load_a(int i, int k)
{
    return (T)(i * N + k);
}
static inline void HOLE finish(int i, int j, T acc)
{
    out[i * N + j] = acc;
}
static inline void HOLE row(int i)
{
    out[i] = 0;
}

/* Twice: needs types only. */
static inline T twice(const T x)
{
    const pair both = {x, x};
    return both[0] + both[1];
}

static inline int unused_in_some(int x)
{
    return x + 1;
}

/* One row. */
static inline void part(const int i, const int from)
{
    for (int j = from; j < N; j++)
        finish(i, j + SHIFT, twice((T)0.5) + load_a(i, j - 1) * 2);
    if (WITH_ROW)
        row(i);
}

/* Adds rows of a. */
/* Why: this stays here. */
KERNEL static void sample_vector(const T *restrict a, T *restrict y)
{
    T acc[N], lanes[WIDTH] = {(T)0};
    struct {
        int a;
    } member;
    member.a = M; /* a member with the name of a parameter stays */
    quad q = {0};
    memset(acc, 0, sizeof acc);

    if (MODE == 1 && N % 4 == 0) {
        const int local = unused_in_some(M);
        y[0] = a[local];
    } else if (MODE == 2) {
        y[1] = a[1];
    } else {
        for (int i = 0; i < M; i++) {
            acc[i] = a[i * SHIFT + 2 * N];
            if (M > 2)
                acc[i] += (N > 4 ? (T)1 : (T)2);
        }
    }
#pragma GCC unroll UNROLL
    for (int i = 0; i < M; i++) {
        if (acc[i] > 0) /* at run time */
            part(i, offsets[1]);
        else
            finish(i,
                   2 * i, acc[i]);
    }
    if (WITH_ROW) {
        const T acc_2 = stepc_fabsf(acc[0]);
        add_scaled(lanes, acc_2, a);
    }
    y[2] = load_a(0, 1) + lanes[0] + q[0] + (T)member.a;
}

KERNEL static void sample_scalar(T *restrict y)
{
    y[0] = (T)M;
}

/* Loops of M iterations. */
KERNEL static void sample_loops(const T *restrict a, T *restrict y)
{
    T sum = (T)0;
    for (int i = 0; i < M; i++) {
        const T first = a[i];
        for (int j = 0; j < N; j++)
            sum += first * a[i * N + j];
    }
    STEPC_SELECT_LOOP
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++)
            y[i + j] = sum;
    for (int i = 0; i < M; i++) {
        if (a[i] > 0)
            break;
        y[i] = sum;
    }
    for (int i = 0; i < M; i++)
        finish(i, 0, sum);
    for (int i = 0; i < M; i++) {
        const T first = y[i];
        finish(i, i, first);
    }
    for (int i = 0; i < M * N; i += 2)
        y[i] = sum;
}
