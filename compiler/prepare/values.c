#include "prepare/values.h"

#include <math.h>
#include <stdlib.h>

enum {
    MOST_READ = 1 << 16, /* elements that a test looks at: more prove no more */
    MOST_LINES = 64,     /* of a table, along one axis */
    FEWEST_STEPS = 4,    /* equal steps of fewer elements are chance, or somebody's start */
    FEWEST_MIRRORED = 5,
    FEWEST_RISING = 8
};

static const double NEAR = 1e-5;       /* of the largest element: what float32 leaves of an identity */
static const double MASK_LIMIT = 9999; /* -1e4, -65504, -1e9: what softmax shall not see */

/* ---- all elements ------------------------------------------------------------------------------------------------ */

bool values_are_all(const struct tensor *t, double x)
{
    for (int64_t i = 0; i < t->count; i++)
        if (tensor_get_double(t, i) != x)
            return false;
    return t->count > 0;
}

bool values_are_uniform(const struct tensor *t)
{
    return t->count > 0 && values_are_all(t, tensor_get_double(t, 0));
}

static int64_t looked_at(const struct tensor *t)
{
    return t->count < MOST_READ ? t->count : MOST_READ;
}

static double largest_of(const struct tensor *t)
{
    double largest = 0;
    for (int64_t i = 0; i < looked_at(t); i++)
        largest = fmax(largest, fabs(tensor_get_double(t, i)));
    return largest;
}

static bool has_mask_values(const struct tensor *t)
{
    for (int64_t i = 0; i < looked_at(t); i++)
        if (!(fabs(tensor_get_double(t, i)) < MASK_LIMIT))
            return true;
    return false;
}

static bool are_integers(const struct tensor *t)
{
    for (int64_t i = 0; i < looked_at(t); i++)
        if (tensor_get_double(t, i) != floor(tensor_get_double(t, i)))
            return false;
    return t->count >= FEWEST_STEPS;
}

static bool are_zeros_and_ones(const struct tensor *t)
{
    for (int64_t i = 0; i < looked_at(t); i++)
        if (tensor_get_double(t, i) != 0 && tensor_get_double(t, i) != 1)
            return false;
    return t->count >= FEWEST_STEPS;
}

/* Shares of a whole, or their logarithms: priors. */
static bool are_shares(const struct tensor *t)
{
    double sum = 0, sum_of_powers = 0;
    bool positive = true, negative = true;
    for (int64_t i = 0; i < looked_at(t); i++) {
        const double x = tensor_get_double(t, i);
        positive = positive && x >= 0;
        negative = negative && x <= 0;
        sum += x;
        sum_of_powers += exp(x);
    }
    return t->count > 2 && t->count == looked_at(t) &&
           ((positive && fabs(sum - 1) < NEAR) || (negative && fabs(sum_of_powers - 1) < NEAR));
}

/* ---- lines: the elements along one axis -------------------------------------------------------------------------- */

struct line {
    const struct tensor *t;
    int64_t first, stride, length;
    bool differences; /* of neighbours, in the place of the elements */
};

static double at(const struct line *l, int64_t i)
{
    const double x = tensor_get_double(l->t, l->first + i * l->stride);
    return l->differences ? tensor_get_double(l->t, l->first + (i + 1) * l->stride) - x : x;
}

typedef bool line_test(const struct line *l, double unit);

static bool is_flat(const struct line *l, double unit)
{
    for (int64_t i = 1; i < l->length; i++)
        if (fabs(at(l, i) - at(l, 0)) > NEAR * unit)
            return false;
    return true;
}

/* x[i+1] + x[i-1] = 2 cos(w) x[i] holds for every sine of a steady frequency; the best factor is that
 * of least squares. */
static bool is_sine(const struct line *l, double unit)
{
    double product = 0, square = 0, rest = 0;
    if (l->length < FEWEST_STEPS + 1)
        return false;
    for (int64_t i = 1; i + 1 < l->length; i++) {
        product += (at(l, i - 1) + at(l, i + 1)) * at(l, i);
        square += at(l, i) * at(l, i);
    }
    const double factor = square > 0 ? product / square : 0;
    for (int64_t i = 1; i + 1 < l->length; i++)
        rest = fmax(rest, fabs(at(l, i - 1) + at(l, i + 1) - factor * at(l, i)));
    return fabs(factor) <= 2 * (1 + NEAR) && rest <= 10 * NEAR * unit;
}

/* Steps that are equal but for a few corners: ranges, distances, what grows with them. */
static bool is_in_steps(const struct line *l, double unit)
{
    int64_t equal = 0;
    for (int64_t i = 1; i + 1 < l->length; i++)
        equal += fabs(at(l, i - 1) - 2 * at(l, i) + at(l, i + 1)) <= NEAR * unit;
    return l->length >= FEWEST_STEPS && 3 * equal >= 2 * (l->length - 2);
}

/* Every element is the one before it times the same: frequencies, slopes. */
static bool is_geometric(const struct line *l, double unit)
{
    if (l->length < FEWEST_STEPS || at(l, 0) == 0 || unit == 0)
        return false;
    const double ratio = at(l, 1) / at(l, 0);
    for (int64_t i = 1; i < l->length; i++)
        if (!(fabs(at(l, i) - ratio * at(l, i - 1)) <= 10 * NEAR * fabs(at(l, i - 1))))
            return false;
    return true;
}

/* A schedule: it rises, or falls, all the way. */
static bool is_rising(const struct line *l, double unit)
{
    const double sign = at(l, l->length - 1) > at(l, 0) ? 1 : -1;
    for (int64_t i = 1; i < l->length; i++)
        if (sign * (at(l, i) - at(l, i - 1)) <= 0)
            return false;
    return l->length >= FEWEST_RISING && unit > 0;
}

/* A window: it reads the same from its end. */
static bool is_mirrored(const struct line *l, double unit)
{
    for (int64_t i = 0; i < l->length / 2; i++)
        if (fabs(at(l, i) - at(l, l->length - 1 - i)) > NEAR * unit)
            return false;
    return l->length >= FEWEST_MIRRORED;
}

static int wide_axes(const struct tensor *t)
{
    int wide = 0;
    for (int d = 0; d < t->shape.rank; d++)
        wide += t->shape.dim[d] > 1;
    return wide;
}

/* Do all lines along some axis pass, and is some of them not flat? */
static bool lines_pass(const struct tensor *t, line_test *test, bool differences)
{
    const double unit = largest_of(t);
    for (int d = 0; d < t->shape.rank; d++) {
        const int64_t length = t->shape.dim[d], stride = shape_count_range(&t->shape, d + 1, t->shape.rank);
        const int64_t lines = length > 0 ? t->count / length : 0, step = lines > MOST_LINES ? lines / MOST_LINES : 1;
        bool ok = length > 1, flat = true;
        for (int64_t k = 0; ok && k < lines; k += step) {
            const struct line l = {t, k / stride * stride * length + k % stride, stride, length - differences,
                                   differences};
            flat = flat && is_flat(&l, unit);
            ok = test(&l, unit);
        }
        if (ok && !flat)
            return true;
    }
    return false;
}

const char *values_of_mask(const struct tensor *t)
{
    if (t->count < 2 || values_are_uniform(t))
        return t->count > 0 && has_mask_values(t) ? "a bound that nothing reaches" : NULL;
    return has_mask_values(t) || are_zeros_and_ones(t) ? "a mask" : NULL;
}

static bool are_sines(const struct tensor *t)
{
    return !lines_pass(t, is_in_steps, false) && (lines_pass(t, is_sine, false) || lines_pass(t, is_sine, true));
}

bool values_are_surely_made(const struct tensor *t)
{
    return values_of_mask(t) || (t->count > 1 && !values_are_uniform(t) && !are_integers(t) && are_sines(t));
}

const char *values_made_by_rule(const struct tensor *t)
{
    if (values_of_mask(t) || t->count < 2 || values_are_uniform(t))
        return values_of_mask(t);
    if (are_integers(t))
        return "whole numbers: a mask, indices or distances";
    if (are_sines(t))
        return "sines";
    if (lines_pass(t, is_in_steps, false))
        return "equal steps";
    if (lines_pass(t, is_geometric, false))
        return "powers of one number";
    if (wide_axes(t) == 1 && (lines_pass(t, is_rising, false) || lines_pass(t, is_mirrored, false)))
        return "a curve";
    return are_shares(t) ? "shares of a whole" : NULL;
}

/* ---- weights that nobody trains ---------------------------------------------------------------------------------- */

static double filter_element(const struct tensor *t, int64_t filter, int64_t i)
{
    return tensor_get_double(t, filter * shape_count_range(&t->shape, 2, t->shape.rank) + i);
}

bool values_are_fixed_filters(const struct tensor *t)
{
    if (t->shape.rank < 3 || t->count == 0 || t->shape.dim[1] != 1)
        return false;
    const int64_t size = shape_count_range(&t->shape, 2, t->shape.rank), filters = t->shape.dim[0];
    const double unit = largest_of(t);
    for (int64_t f = 0; f < filters; f++) {
        bool even = true, odd = true, flat = true;
        int64_t used = 0;
        for (int64_t i = 0; i < size; i++) {
            const double x = filter_element(t, f, i), mirrored = filter_element(t, f, size - 1 - i);
            even = even && fabs(x - mirrored) <= NEAR * unit;
            odd = odd && fabs(x + mirrored) <= NEAR * unit;
            flat = flat && x == filter_element(t, f, 0);
            used += x != 0;
        }
        if ((!even && !odd) || flat || used < 2)
            return false;
    }
    return size >= 3;
}

bool values_are_permutation(const struct tensor *t)
{
    if (t->shape.rank != 2 || t->shape.dim[0] < 2 || t->shape.dim[1] < 2)
        return false;
    const int64_t rows = t->shape.dim[0], columns = t->shape.dim[1];
    bool identity = rows == columns;
    for (int64_t i = 0; i < rows; i++) {
        int64_t ones = 0;
        for (int64_t k = 0; k < columns; k++) {
            const double x = tensor_get_double(t, i * columns + k);
            if (x != 0 && x != 1)
                return false;
            ones += x == 1;
            identity = identity && (x == 1) == (i == k);
        }
        if (ones != 1)
            return false;
    }
    return !identity;
}
