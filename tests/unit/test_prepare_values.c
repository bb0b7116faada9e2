/* What elements of a tensor say: tables that follow a rule are known, random numbers are not taken for any. */
#include "prepare/values.h"

#include "base/str.h"
#include "suite.h"
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static void begin(void)
{
    arena = (struct arena){0};
}

static void end(void)
{
    arena_free(&arena);
}

typedef double formula(int64_t row, int64_t column);

static struct tensor *table(int64_t rows, int64_t columns, formula *f)
{
    struct tensor *const t = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(rows, columns));
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, f(i / columns, i % columns));
    return t;
}

static bool rule_is(const struct tensor *t, const char *expected)
{
    const char *const got = values_made_by_rule(t);
    return expected ? got && strstr(got, expected) : !got;
}

static double sines(int64_t i, int64_t k)
{
    const double w = pow(10000, -(double)(k / 2) / 4);
    return k % 2 ? cos((double)i * w) : sin((double)i * w);
}
static double hann(int64_t i, int64_t k)
{
    return 0.5 - 0.5 * cos(6.283185307179586 * (double)(i + k) / 16);
}
static double distances(int64_t i, int64_t k)
{
    return -0.25 * (double)llabs((long long)(i - k));
}
static double powers(int64_t i, int64_t k)
{
    return 3 * pow(0.7, (double)(i + k));
}
static double schedule(int64_t i, int64_t k)
{
    return sqrt(1 + (double)(i + k) * (double)(i + k) * 0.01);
}
static double causal(int64_t i, int64_t k)
{
    return k > i ? -INFINITY : 0;
}
static double large(int64_t i, int64_t k)
{
    return k > i ? -65504 : 0.5;
}
static double ones_below(int64_t i, int64_t k)
{
    return k <= i;
}
static double shares(int64_t i, int64_t k)
{
    static const double p[] = {0.5, 0.2, 0.27, 0.03};
    return log(p[i + k]);
}
static double random_number(int64_t i, int64_t k)
{
    static unsigned state;
    state = i == 0 && k == 0 ? 12345 : state * 1103515245u + 12345u;
    return (double)(state >> 8) / (1 << 24) - 0.5;
}
static double same(int64_t i, int64_t k)
{
    return 0.1 + 0 * (double)(i + k);
}

START_TEST(rules)
{
    ck_assert(rule_is(table(12, 8, sines), "sines"));
    ck_assert(rule_is(table(1, 16, hann), "sines"));
    ck_assert(rule_is(table(8, 8, distances), "equal steps"));
    ck_assert(rule_is(table(1, 6, powers), "powers of one number"));
    ck_assert(rule_is(table(1, 20, schedule), "a curve"));
    ck_assert(rule_is(table(6, 6, causal), "a mask"));
    ck_assert(rule_is(table(6, 6, large), "a mask"));
    ck_assert(rule_is(table(6, 6, ones_below), "a mask"));
    ck_assert(rule_is(table(1, 4, shares), "shares"));
    ck_assert(str_equal(values_of_mask(table(6, 6, causal)), "a mask"));
    ck_assert_ptr_null(values_of_mask(table(12, 8, sines)));
}
END_TEST

START_TEST(parameters)
{
    ck_assert(rule_is(table(12, 8, random_number), NULL));
    ck_assert(rule_is(table(1, 16, random_number), NULL));
    ck_assert(rule_is(table(1, 4, random_number), NULL));
    ck_assert(rule_is(table(1, 3, powers), NULL)); /* too few to be a rule */
    ck_assert(rule_is(table(1, 16, same), NULL));
    ck_assert(rule_is(table(0, 16, same), NULL));
    struct tensor *const t = table(12, 8, sines);
    tensor_set_double(t, 40, tensor_get_double(t, 40) + 0.01); /* trained once */
    tensor_set_double(t, 47, tensor_get_double(t, 47) + 0.01);
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, tensor_get_double(t, i) + 0.01 * random_number(i, 1));
    ck_assert(rule_is(t, NULL));
    ck_assert(values_are_uniform(table(2, 3, same)) && !values_are_uniform(table(2, 3, powers)) &&
              !values_are_uniform(table(0, 3, same)));
    ck_assert(values_are_all(table(2, 3, ones_below), 1) == false && values_are_all(table(1, 1, ones_below), 1));
}
END_TEST

static struct tensor *list(const double *x, int64_t count)
{
    struct tensor *const t = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(count));
    for (int64_t i = 0; i < count; i++)
        tensor_set_double(t, i, x[i]);
    return t;
}
#define LIST(...) list((const double[]){__VA_ARGS__}, (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

/* What is just about a rule, and what just is not. */
START_TEST(edges_of_rules)
{
    ck_assert(rule_is(LIST(1, 2, 4, 0), "whole numbers"));
    ck_assert(rule_is(LIST(1, 2, 4), NULL));
    ck_assert(rule_is(LIST(0.5, 1.5, -1, 2.5), NULL));
    ck_assert(str_equal(values_of_mask(LIST(1, 0, 0, 1)), "a mask"));
    ck_assert_ptr_null(values_of_mask(LIST(1, 0, 0, 2)));
    /* few elements: two may be a mask, one and equal ones a bound, none is nothing */
    ck_assert_ptr_null(values_of_mask(LIST(1, 0)));
    ck_assert(str_equal(values_of_mask(LIST(0, -INFINITY)), "a mask"));
    ck_assert(str_equal(values_of_mask(LIST(-INFINITY)), "a bound that nothing reaches"));
    ck_assert(str_equal(values_of_mask(LIST(-INFINITY, -INFINITY)), "a bound that nothing reaches"));
    ck_assert_ptr_null(values_of_mask(LIST(1)));
    ck_assert_ptr_null(values_of_mask(LIST(1, 1)));
    ck_assert_ptr_null(values_of_mask(LIST(0.5, 2)));
    ck_assert_ptr_null(values_of_mask(tensor_new(&arena, DTYPE_FLOAT, &SHAPE(0))));
    ck_assert(rule_is(LIST(-1e9, -1e9), "a bound that nothing reaches"));
    ck_assert(rule_is(LIST(-1e9), "a bound that nothing reaches"));
    ck_assert(rule_is(LIST(0.5, 0.25, 0.125, 0.125), "shares"));
    ck_assert(rule_is(LIST(0.5, -0.25, 0.5, 0.25), NULL));
    ck_assert(rule_is(LIST(0.3, 0.3, 0.4), "shares"));
    ck_assert(rule_is(LIST(0.3, 0.7), NULL));
    ck_assert(rule_is(LIST(0.1, 0.13, 0.21, 0.5, 0.56, 0.9, 1.7, 1.75), "a curve"));
    ck_assert(rule_is(LIST(1.75, 1.7, 0.9, 0.56, 0.5, 0.21, 0.13, 0.1), "a curve"));
    ck_assert(rule_is(LIST(0.1, 0.13, 0.21, 0.5, 0.5, 0.9, 1.7, 1.75), NULL));
    ck_assert(rule_is(LIST(0.1, 0.13, 0.21, 0.5, 0.56, 0.9, 1.7), NULL));
}
END_TEST

static struct tensor *filters(const double *x, int64_t count, int64_t channels)
{
    struct tensor *const t = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(channels, 1, count));
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, x[i % count]);
    return t;
}

START_TEST(weights)
{
    ck_assert(values_are_fixed_filters(filters((const double[]){1, 2, 1}, 3, 4)));
    ck_assert(values_are_fixed_filters(filters((const double[]){-1, 0, 1}, 3, 1)));
    ck_assert(!values_are_fixed_filters(filters((const double[]){1, 2, 3}, 3, 4)));
    ck_assert(!values_are_fixed_filters(filters((const double[]){1, 1, 1}, 3, 4)));
    ck_assert(!values_are_fixed_filters(filters((const double[]){0, 1, 0}, 3, 4))); /* an identity is a start */
    struct tensor *const two_channels = filters((const double[]){1, 2, 1}, 3, 4);
    two_channels->shape = SHAPE(2, 2, 3);
    ck_assert(!values_are_fixed_filters(two_channels));
    struct tensor *const t = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(3, 3));
    for (int64_t i = 0; i < 3; i++)
        tensor_set_double(t, i * 3 + i, 1);
    ck_assert(!values_are_permutation(t));
    tensor_set_double(t, 0, 0);
    ck_assert(!values_are_permutation(t));
    tensor_set_double(t, 1, 1);
    ck_assert(values_are_permutation(t));
    tensor_set_double(t, 2, 1);
    ck_assert(!values_are_permutation(t));
    tensor_set_double(t, 2, 0);
    tensor_set_double(t, 1, 2);
    ck_assert(!values_are_permutation(t));
}
END_TEST

int main(void)
{
    TCase *const c = tcase_create("values");
    tcase_add_checked_fixture(c, begin, end);
    tcase_add_test(c, rules);
    tcase_add_test(c, parameters);
    tcase_add_test(c, edges_of_rules);
    tcase_add_test(c, weights);
    return run_tests("values", c);
}
