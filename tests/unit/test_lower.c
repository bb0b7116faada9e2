/* Expressions: what their constructors and substitution simplify, and what they must leave alone. Loops that become
 * one. */
#include "lower/kernel.h"
#include "suite.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

static struct arena arena;

static void teardown(void)
{
    arena_free(&arena);
}

static const struct expr *number(double x)
{
    return expr_float(&arena, DTYPE_FLOAT, x);
}

static const struct expr *less(const struct expr *x, const struct expr *y)
{
    return expr_binary(&arena, EXPR_LT, x, y);
}

/* t < c ? low : t */
static const struct expr *at_least(const struct expr *t, const struct expr *c, const struct expr *low)
{
    return expr_select(&arena, less(t, c), low, t);
}

START_TEST(what_relu_lets_through_is_compared_itself)
{
    const struct expr *t = expr_math(&arena, EXPR_FN_EXP, number(2));
    const struct expr *e = less(number(0), at_least(t, number(0), number(0)));
    ck_assert(e->op == EXPR_LT && e->arg[1] == t);
    ck_assert(less(number(-0.0), at_least(t, number(0), number(0)))->arg[1] == t); /* equal, whatever the sign */
}
END_TEST

START_TEST(other_comparisons_stay)
{
    const struct expr *t = expr_math(&arena, EXPR_FN_EXP, number(2));
    const struct expr *const others[] = {
        at_least(t, number(0), number(1)),                             /* another value in its place */
        at_least(t, number(1), number(1)),                             /* another bound */
        expr_select(&arena, less(number(0), t), number(0), t),         /* the other way round */
        expr_select(&arena, less(t, number(0)), number(0), number(3)), /* another value above */
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(less(number(0), others[i])->arg[1] == others[i], "case %zu", i);
    const struct expr *relu = at_least(t, number(0), number(0));
    ck_assert(less(relu, number(0))->arg[0] == relu);
    ck_assert(expr_binary(&arena, EXPR_LE, number(0), relu)->arg[1] == relu); /* true for 0, t may be below */
}
END_TEST

static const struct expr *relu_of_load(const struct expr *e, void *data)
{
    (void)e;
    return data;
}

START_TEST(substitution_simplifies_as_constructors_do)
{
    const struct expr *t = expr_math(&arena, EXPR_FN_EXP, number(2));
    struct buffer buffer = {.dtype = DTYPE_FLOAT, .count = 1};
    const struct access access = {.buffer = &buffer};
    const struct expr *load = expr_load(&arena, &access);
    struct expr_map map = {.arena = &arena, .load = relu_of_load};
    map.data = (void *)(uintptr_t)at_least(t, number(0), number(0));
    ck_assert(expr_substitute(&map, less(number(0), load))->arg[1] == t);
}
END_TEST

/* ---- loops that walk memory as one ------------------------------------------------------------------------------ */

enum { ROWS = 8, COLUMNS = 16 };

/* y[i,j] = x[i,j], or the sum of x[i,j] over both. */
static struct part rows_and_columns(bool is_sum)
{
    struct buffer *const x = arena_new(&arena, struct buffer), *const y = arena_new(&arena, struct buffer);
    *x = *y = (struct buffer){.dtype = DTYPE_FLOAT, .count = ROWS * COLUMNS};
    const struct access from = {.buffer = x, .stride = {COLUMNS, 1}};
    struct part p = {.rank = 2, .extent = {ROWS, COLUMNS}};
    struct store s = {.to = {.buffer = y}, .value = expr_load(&arena, &from)};
    if (is_sum) {
        p.reduce = REDUCE_SUM;
        p.reduced[0] = p.reduced[1] = true;
        p.element = s.value;
        s.value = expr_result(&arena, DTYPE_FLOAT);
    } else {
        s.to.stride[0] = COLUMNS;
        s.to.stride[1] = 1;
    }
    vec_push(&arena, &p.stores, s);
    return p;
}

static int rank_after(struct part p, int rows)
{
    part_collapse(&arena, &p, rows);
    ck_assert(p.rank == 2 || (p.extent[0] == ROWS * COLUMNS && p.lane_loops <= 1));
    return p.rank;
}

START_TEST(loops_become_one_where_nothing_tells_them_apart)
{
    struct part p = rows_and_columns(false);
    ck_assert_int_eq(rank_after(p, 0), 1);
    ck_assert_int_eq(rank_after(p, 1), 2); /* the first is around other parts as well */
    p.stores.data[0].to.stride[0] = COLUMNS + 1;
    ck_assert_int_eq(rank_after(p, 0), 2);
    p = rows_and_columns(false);
    p.late[1] = (struct late_size){.per = 1};
    ck_assert_int_eq(rank_after(p, 0), 2);
    p = rows_and_columns(false);
    p.stores.data[0].value = expr_index(&arena, 1);
    ck_assert_int_eq(rank_after(p, 0), 2);
    p = rows_and_columns(true);
    ck_assert_int_eq(rank_after(p, 0), 1);
    p.lane_loops = 2;
    ck_assert_int_eq(rank_after(p, 0), 1);
    p.lane_loops = 1; /* sixteen sums begin anew in each row */
    ck_assert_int_eq(rank_after(p, 0), 2);
    p = rows_and_columns(true);
    p.reduced[0] = false;
    p.stores.data[0].to.stride[0] = 16;
    ck_assert_int_eq(rank_after(p, 0), 2);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("expressions");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, what_relu_lets_through_is_compared_itself);
    tcase_add_test(tcase, other_comparisons_stay);
    tcase_add_test(tcase, substitution_simplifies_as_constructors_do);
    tcase_add_test(tcase, loops_become_one_where_nothing_tells_them_apart);
    return run_tests("lower", tcase);
}
