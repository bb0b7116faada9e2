/* A template that uses everything there is, for test_template.c. Its holes write to what that test sets. */
#include "sample_lanes.h"
#include "stepc.h"
#include "stepc_math.h"
#include "template.h"

#include <string.h>

enum HOLE { M = 3, N = 8, SHIFT = 2, WITH_ROW = 1, MODE = 0 };
typedef float T HOLE;
typedef int32_t LABEL HOLE;

static T *sample_y;
static const T *sample_x;
static T sample_rate;

static inline T HOLE load_x(int i, int k)
{
    return sample_x[i * N + k];
}
static inline void HOLE finish(int i, int j, T acc)
{
    sample_y[i * N + j] = acc;
}
static inline void HOLE row(int i)
{
    sample_y[i * N] += sample_rate;
}

/* ---- constants, conditions, loops -------------------------------------------------------------------------------- */

/* Sums of rows. */
/* Why: this stays here. */
KERNEL static void sample_folds(const T *restrict a, T *restrict y)
{
    const int half = N / 2, rest = N % 3 - 1 - 2 * M, none = 0;
    T sum = (T)0;
    /* Each row. */
    for (int i = 0; i < M; i++) {
        const T first = a[i * N];
        for (int j = half; j < N; j++)
            sum += first * a[i * N + j + none];
    }
    if (MODE == 1 && N % 4 == 0)
        y[0] = sum;
    else if (MODE == 2)
        y[1] = (T)0.5 - sum;
    else
        y[2] = sum + (N > 4 ? (T)1 : (T)0.5);
    if (WITH_ROW || a[0] > (T)0)
        row(M - 1);
    if (MODE != 0 && a[1] > (T)0)
        y[3] = sum;
    if (MODE == 0 && a[1] < (T)100)
        y[4] = (T)rest;
    for (int i = 0; i < M - 1; i++)
        y[5 + i] = sum;
    for (int i = M; i < M; i++)
        y[7] = sum;
}

/* What loops there are. */
KERNEL static void sample_loops(const T *restrict a, T *restrict y)
{
    STEPC_SELECT_LOOP
    for (int i = 0; i < M; i++)
        for (int j = M - 1; j >= 0; j--)
            y[i + j] = a[i] - a[j];
    for (int i = 0; i < N; i += SHIFT)
        y[i] += (T)1;
    for (int i = N; i > 0; i -= SHIFT)
        y[i - 1] *= (T)2;
    for (int i = 0; i < N && y[i] < (T)8; ++i)
        y[i] -= (T)3;
    for (int i = 0; a[0] > (T)0 && i < M; i++)
        y[i] = a[i] + (T)1;
    for (int i = 0; M > 1 && a[i] > (T)-5 && i < (int)a[N - i]; i++)
        y[i] = a[i];
    for (int i = 1; i < N; i = 2 * i)
        y[i] = (T)i;
    for (int j = 0; j < N; j++)
        for (int i = 0; j < M && i < N; i++)
            y[j] += a[i];
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* Twice: needs types only. */
static inline T twice(const T x)
{
    const T both[2] = {x};
    return both[0] + x;
}

/* The same of all kernels. */
static inline int smaller(const int x, const int y)
{
    return x < y ? x : y;
}

static inline int half_of(int x)
{
    return WITH_ROW ? x / 2 : x;
}

/* One row from `from` on; `unused` is never read. */
static inline void part(const int i, const int from, const int step, const T unused)
{
    (void)unused;
    for (int j = from; j < N; j += step)
        finish(i, j, twice(load_x(i, j)) + (T)j);
    if (WITH_ROW)
        row(i);
}

/* Has a place of its own in its caller. */
static inline T last_of(const T *restrict from, const int count)
{
    T last = from[0];
    for (int i = 1; i < count; i++)
        last = from[i] > last ? from[i] : last;
    return last;
}

/* Ends early. */
static inline int first_above(const T *restrict from, const T limit)
{
    for (int i = 0; i < N; i++) {
        if (from[i] > limit)
            return i;
    }
    return N;
}

/* Ends in the branch that is not taken. */
static inline int place_above(const T *restrict from, const T limit)
{
    int place = 1;
    if (from[1] > limit)
        place = 2;
    else
        return N - 1;
    return place + M;
}

/* Is given other constants by each call. */
static inline T sum_from(const T *restrict from, const int begin)
{
    T sum = (T)0;
    for (int i = begin; i < N; i++)
        sum += from[i];
    return sum;
}

/* Is given one place twice. */
static inline void add_to(T *restrict to, const T *restrict from, const int by)
{
    for (int i = 0; i < by; i++)
        to[i] += from[i];
}

static STEPC_KERNEL void apart(T *restrict to)
{
    to[0] += (T)1;
}

KERNEL static void sample_parts(const T *restrict a, T *restrict y)
{
    for (int i = 0; i < M; i++) {
        if (a[i] > (T)0) /* at run time */
            part(i, 1, SHIFT, (T)0);
        else
            part(i, smaller(i, SHIFT), SHIFT, a[0]);
    }
    const T last = last_of(a + N, half_of(N));
    const int place = first_above(a, last), above = place_above(a, last);
    y[0] = last;
    y[1] = (T)place;
    y[4] = sum_from(a, 0) - sum_from(a, N / 4);
    y[5] = (T)above;
    add_to(y + 2, y, 2);
    apart(&y[3]);
}

KERNEL static void sample_nothing(T *restrict y) /* which only its hole writes */
{
    (void)y;
    row(0);
}

/* ---- a function that is called twice --------------------------------------------------------------------------- */

/* Adds elements first .. to y[0], times a constant that all calls give; `spare` is read by nobody. */
static inline void add_some(const int count, const int first, const T *restrict from, const int times, const int spare,
                            T *restrict to)
{
    (void)spare;
    for (int i = 0; i < count; i++)
        to[0] += (T)times * from[first + i] + (T)M;
}

/* Whole vectors, and what is left: how many there are depends on the target. */
KERNEL static void sample_tiles(const T *restrict a, T *restrict y)
{
    for (int first = 0; first < N - N % WIDTH(T); first += WIDTH(T))
        add_some(WIDTH(T), first, a, 2, N + 1, y);
    if (N % WIDTH(T) > 0)
        add_some(N % WIDTH(T), N - N % WIDTH(T), a, 2, N, y);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static inline int at_least(const struct span s, const int i)
{
    return i >= s.low && i < s.high;
}

KERNEL static void sample_types(const T *restrict a, const LABEL *restrict labels, T *restrict y)
{
    T lanes[WIDTH(T)] = {(T)0}, some[4];
    const struct span s = {.low = 1, .high = M};
    const LABEL chosen = labels[0];
    memset(some, 0, 4 * sizeof(T));
    for (int i = 0; i < WIDTH(T); i++)
        lanes[i] = at_least(s, i) ? stepc_fabsf(a[i]) : some[i % 4];
    y[0] = lanes[chosen];
    y[1] = (T)sizeof(LABEL);
    y[2] = (T)s.high + (T)1 / (T)2;
    y[3] = labels[1] == 7 || (!(chosen >= 2) && chosen != 0) ? (T)1 : (T)-1;
    stepc_add_scaled(lanes, (T)2, lanes);
    y[4] = (T)lanes[WIDTH(T) - 1];
    y[5] = (T)WIDTH(LABEL) / (T)WIDTH(T);
}
