/* Statement trees: what makers fold, what ranges tell, and what the verifier refuses. */
#include "tree/tree.h"

#include <check.h>
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

static struct tree_var *pointer(const char *name, int64_t count, bool written)
{
    struct tree_var *const v = tree_var(&arena, VAR_POINTER, DTYPE_FLOAT, "float", name);
    v->count = count;
    v->written = written;
    return v;
}

static const struct expr *constant(int64_t x)
{
    return index_constant(&arena, x);
}

START_TEST(makers_fold_indices)
{
    const struct expr *const i = tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 9));
    ck_assert_ptr_eq(index_add(&arena, i, constant(0)), i);
    ck_assert_ptr_eq(index_add(&arena, constant(0), i), i);
    ck_assert_ptr_eq(index_sub(&arena, i, constant(0)), i);
    ck_assert_ptr_eq(index_mul(&arena, constant(1), i), i);
    ck_assert_ptr_eq(index_div(&arena, i, constant(1)), i);
    ck_assert(index_is(index_mul(&arena, i, constant(0)), 0));
    ck_assert(index_is(index_add(&arena, constant(3), constant(4)), 7));
    ck_assert(index_is(index_mul(&arena, constant(3), constant(-4)), -12));
    /* what does not fit stays as it is; a wide constant says something */
    ck_assert_int_eq(index_add(&arena, constant(INT64_MAX), constant(1))->op, EXPR_ADD);
    ck_assert_int_eq(index_mul(&arena, constant(INT64_MAX), constant(2))->op, EXPR_MUL);
    ck_assert_int_eq(index_mul(&arena, index_wide(&arena, 1), i)->op, EXPR_MUL);
}
END_TEST

START_TEST(ranges_tell_the_smaller_one)
{
    const struct expr *const i = tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "i", 2, 9));
    const struct expr *const j = tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "j", 2, 9));
    ck_assert_ptr_eq(index_smaller(&arena, i, constant(9)), i);
    ck_assert_ptr_eq(index_smaller(&arena, constant(9), i), i);
    ck_assert(index_is(index_smaller(&arena, i, constant(2)), 2));
    ck_assert(index_is(index_smaller(&arena, constant(2), i), 2));
    ck_assert_int_eq(index_smaller(&arena, i, constant(8))->op, EXPR_SELECT);
    ck_assert_int_eq(index_smaller(&arena, i, constant(3))->op, EXPR_SELECT);
    ck_assert_int_eq(index_smaller(&arena, constant(3), i)->op, EXPR_SELECT);
    /* the same of ranges that do not tell: equal expressions, but not others of the same form */
    const struct expr *const sum = index_add(&arena, i, j), *const again = index_add(&arena, i, j);
    ck_assert_ptr_eq(index_smaller(&arena, sum, again), sum);
    ck_assert_int_eq(index_smaller(&arena, sum, index_add(&arena, j, i))->op, EXPR_SELECT);
    const struct expr *const cast = index_cast(&arena, "int", i);
    ck_assert_int_eq(index_smaller(&arena, cast, index_cast(&arena, "int", j))->op, EXPR_SELECT);
    ck_assert_int_eq(index_smaller(&arena, i, j)->op, EXPR_SELECT);
}
END_TEST

START_TEST(ranges_follow_from_variables)
{
    int64_t low, high;
    const struct expr *const i = tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "i", 2, 9));
    const struct expr *const j = tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "j", -1, 3));
    ck_assert(index_range(index_add(&arena, index_mul(&arena, i, constant(4)), j), NULL, &low, &high));
    ck_assert(low == 7 && high == 39);
    ck_assert(index_range(index_mul(&arena, i, j), NULL, &low, &high));
    ck_assert(low == -9 && high == 27);
    ck_assert(index_range(index_sub(&arena, constant(5), i), NULL, &low, &high));
    ck_assert(low == -4 && high == 3);
    ck_assert(index_range(index_cast(&arena, "int", index_smaller(&arena, i, constant(4))), NULL, &low, &high));
    ck_assert(low == 2 && high == 4);
    ck_assert(!index_range(index_text(&arena, "rows"), NULL, &low, &high));
    ck_assert(!index_range(index_mul(&arena, i, constant(INT64_MAX)), NULL, &low, &high));
}
END_TEST

START_TEST(conditions_bound_what_they_guard)
{
    const struct tree_var *const y = pointer("y", 1, true), *const x = pointer("x", 9, false);
    const struct tree_var *const l = tree_index_var(&arena, VAR_LOOP, "int", "l", 0, 15);
    const struct expr *const at = tree_read(&arena, l), *const zero = expr_float(&arena, DTYPE_FLOAT, 0);
    for (int64_t below = 9; below <= 10; below++) {
        tree_vars params = {0};
        stmt_list body = {0};
        struct tree_builder b = tree_builder(&arena, &body);
        const struct expr *const guard = expr_binary(&arena, EXPR_LT, at, constant(below));
        const struct expr *const value = expr_select(&arena, guard, tree_element(&arena, x, at), zero);
        vec_push(&arena, &params, y);
        vec_push(&arena, &params, x);
        tree_open_loop(&b, l, constant(0), constant(16), 1, NULL);
        tree_set(&b, tree_element(&arena, y, constant(0)), SET_SUM, value);
        const char *const wrong = tree_verify(&arena, &params, &body);
        ck_assert_str_eq(wrong ? wrong : "fine", below == 9 ? "fine" : "'x' is read or written outside");
    }
}
END_TEST

/* for (int i = 0; i < 10; i++) y[i + shift] = x[i]; */
static stmt_list copy(const struct tree_var *y, const struct tree_var *x, int64_t shift)
{
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    const struct tree_var *const i = tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 9);
    const struct expr *const at = tree_read(&arena, i);
    tree_open_loop(&b, i, constant(0), constant(10), 1, NULL);
    tree_set(&b, tree_element(&arena, y, index_add(&arena, at, constant(shift))), SET_TO, tree_element(&arena, x, at));
    tree_close(&b);
    return body;
}

static const char *verify(const struct tree_var *y, const struct tree_var *x, const stmt_list *body)
{
    tree_vars params = {0};
    vec_push(&arena, &params, y);
    vec_push(&arena, &params, x);
    const char *const wrong = tree_verify(&arena, &params, body);
    return wrong ? wrong : "fine";
}

START_TEST(a_copy_is_fine)
{
    const struct tree_var *const y = pointer("y", 10, true), *const x = pointer("x", 10, false);
    const stmt_list body = copy(y, x, 0);
    ck_assert_str_eq(verify(y, x, &body), "fine");
}
END_TEST

START_TEST(elements_outside_are_found)
{
    const struct tree_var *const y = pointer("y", 10, true), *const x = pointer("x", 10, false);
    stmt_list body = copy(y, x, 1);
    ck_assert_str_eq(verify(y, x, &body), "'y' is read or written outside");
    body = copy(y, x, -1);
    ck_assert_str_eq(verify(y, x, &body), "'y' is read or written outside");
    const struct tree_var *const longer = pointer("y", 11, true);
    body = copy(longer, x, 1);
    ck_assert_str_eq(verify(longer, x, &body), "fine");
}
END_TEST

START_TEST(what_is_const_is_not_set)
{
    const struct tree_var *const y = pointer("y", 10, false), *const x = pointer("x", 10, false);
    const stmt_list body = copy(y, x, 0);
    ck_assert_str_eq(verify(y, x, &body), "'y' is set but must not be");
}
END_TEST

START_TEST(names_are_unique_where_they_hold)
{
    const struct tree_var *const y = pointer("y", 10, true), *const x = pointer("y", 10, false);
    stmt_list body = copy(y, x, 0);
    ck_assert_str_eq(verify(y, x, &body), "'y' hides another of this name");
    const struct tree_var *const i = pointer("i", 10, false);
    body = copy(y, i, 0);
    ck_assert_str_eq(verify(y, i, &body), "'i' hides another of this name");
}
END_TEST

START_TEST(variables_are_declared_before)
{
    const struct tree_var *const y = pointer("y", 10, true), *const x = pointer("x", 10, false),
                                 *const z = pointer("z", 10, false);
    stmt_list body = copy(y, z, 0);
    ck_assert_str_eq(verify(y, x, &body), "'z' is not in scope");
    /* a loop's variable ends with it, a declaration with its list */
    struct tree_builder b = tree_builder(&arena, &body);
    body = copy(y, x, 0);
    b.at = &body;
    const struct tree_var *const i = body.data[0]->var;
    tree_set(&b, tree_element(&arena, y, tree_read(&arena, i)), SET_TO, expr_float(&arena, DTYPE_FLOAT, 1));
    ck_assert_str_eq(verify(y, x, &body), "'i' is not in scope");
    body = copy(y, x, 0);
    body.data[1] = body.data[0];
    body.count = 2; /* twice, one after the other */
    ck_assert_str_eq(verify(y, x, &body), "fine");
}
END_TEST

START_TEST(types_must_fit)
{
    const struct tree_var *const y = pointer("y", 10, true), *const x = pointer("x", 10, false);
    const struct expr *const first = tree_element(&arena, y, constant(0));
    const struct expr *const one = expr_float(&arena, DTYPE_DOUBLE, 1);
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    tree_set(&b, first, SET_TO, one);
    ck_assert_str_eq(verify(y, x, &body), "'y' is set to a value of another type");
    body.count = 0;
    tree_set(&b, first, SET_SUM, expr_binary(&arena, EXPR_ADD, first, one));
    ck_assert_str_eq(verify(y, x, &body), "'an expression' has operands of other types");
    body.count = 0;
    tree_set(&b, first, SET_TO, expr_index(&arena, 0));
    ck_assert_str_eq(verify(y, x, &body), "'an expression' is not one of a tree");
    body.count = 0;
    tree_set(&b, tree_element(&arena, y, first), SET_TO, first);
    ck_assert_str_eq(verify(y, x, &body), "'y' has an index that is none");
    body.count = 0;
    tree_set(&b, tree_read(&arena, y), SET_TO, first);
    ck_assert_str_eq(verify(y, x, &body), "'y' is no value");
}
END_TEST

START_TEST(declarations_are_checked)
{
    const struct tree_var *const y = pointer("y", 10, true), *const x = pointer("x", 10, false);
    struct tree_var *const lanes = tree_var(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", "lane");
    const struct tree_var *const value = tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "v");
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    lanes->count = 4;
    tree_declare_array(&b, lanes, expr_float(&arena, DTYPE_FLOAT, 0), 5);
    ck_assert_str_eq(verify(y, x, &body), "'lane' has too many values");
    body.count = 0;
    tree_declare_array(&b, lanes, NULL, 0);
    tree_declare_array(&b, lanes, NULL, 0);
    ck_assert_str_eq(verify(y, x, &body), "'lane' is declared twice");
    body.count = 0;
    tree_declare(&b, value, NULL);
    ck_assert_str_eq(verify(y, x, &body), "'v' is declared without a value");
    body.count = 0;
    tree_declare(&b, value, expr_float(&arena, DTYPE_FLOAT, 0));
    tree_set(&b, tree_read(&arena, value), SET_TO, expr_float(&arena, DTYPE_FLOAT, 1));
    ck_assert_str_eq(verify(y, x, &body), "'v' is set but must not be");
    body.count = 0;
    tree_open_loop(&b, tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 1), constant(0), constant(2), 0, NULL);
    ck_assert_str_eq(verify(y, x, &body), "'i' does not advance");
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("statement trees");
    TCase *const t = tcase_create("tree");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, makers_fold_indices);
    tcase_add_test(t, ranges_tell_the_smaller_one);
    tcase_add_test(t, ranges_follow_from_variables);
    tcase_add_test(t, conditions_bound_what_they_guard);
    tcase_add_test(t, a_copy_is_fine);
    tcase_add_test(t, elements_outside_are_found);
    tcase_add_test(t, what_is_const_is_not_set);
    tcase_add_test(t, names_are_unique_where_they_hold);
    tcase_add_test(t, variables_are_declared_before);
    tcase_add_test(t, types_must_fit);
    tcase_add_test(t, declarations_are_checked);
    suite_add_tcase(s, t);
    SRunner *const r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    const int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
