/* Statement trees: what makers fold, what ranges tell, and what the verifier refuses. */
#include "suite.h"
#include "trees.h"

#include <check.h>
#include <string.h>

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

/* ---- remainders, comparisons and choices ------------------------------------------------------------------------- */

START_TEST(makers_decide_constants)
{
    static const enum expr_op ops[] = {EXPR_LT, EXPR_LE, EXPR_GT, EXPR_GE, EXPR_EQ, EXPR_NE};
    static const int expected[3][6] = {{1, 1, 0, 0, 0, 1}, {0, 1, 0, 1, 1, 0}, {0, 0, 1, 1, 0, 1}}; /* 2, 3, 4 to 3 */
    for (int x = 0; x < 3; x++)
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
            ck_assert(index_is(index_compare(&arena, ops[o], constant(x + 2), constant(3)), expected[x][o]));
            ck_assert(index_is(index_binary(&arena, ops[o], constant(x + 2), constant(3)), expected[x][o]));
        }
    ck_assert(index_is(index_mod(&arena, constant(7), constant(3)), 1));
    ck_assert(index_is(index_mod(&arena, constant(-7), constant(3)), -1)); /* as in C */
    ck_assert(index_is(index_div(&arena, constant(-7), constant(3)), -2));
    ck_assert(index_is(index_not(&arena, constant(0)), 1) && index_is(index_not(&arena, constant(5)), 0));
    ck_assert(index_is(index_choose(&arena, constant(2), constant(3), constant(4)), 3));
    ck_assert(index_is(index_choose(&arena, constant(0), constant(3), constant(4)), 4));
    /* nothing that C would not compute */
    ck_assert_int_eq(index_div(&arena, constant(7), constant(0))->op, EXPR_DIV);
    ck_assert_int_eq(index_mod(&arena, constant(7), constant(0))->op, EXPR_MOD);
    ck_assert_int_eq(index_div(&arena, constant(7), constant(-1))->op, EXPR_DIV);
}
END_TEST

START_TEST(makers_keep_what_is_not_known)
{
    const struct expr *const i = tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 9));
    ck_assert(index_is(index_mod(&arena, i, constant(1)), 0));
    ck_assert_int_eq(index_mod(&arena, i, constant(2))->op, EXPR_MOD);
    ck_assert_int_eq(index_compare(&arena, EXPR_GE, i, constant(1))->op, EXPR_GE);
    ck_assert_int_eq(index_not(&arena, i)->op, EXPR_NOT);
    const struct expr *const chosen = index_choose(&arena, i, constant(3), constant(4));
    ck_assert_int_eq(chosen->op, EXPR_SELECT);
    ck_assert(chosen->arg[0] == i && index_is(chosen->arg[1], 3) && index_is(chosen->arg[2], 4));
}
END_TEST

static const struct expr *between(int64_t low, int64_t high)
{
    return tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "i", low, high));
}

START_TEST(ranges_decide_comparisons)
{
    const struct expr *const i = between(0, 9);
    ck_assert(index_is(index_compare(&arena, EXPR_GE, i, constant(0)), 1));
    ck_assert(index_is(index_compare(&arena, EXPR_LT, i, constant(10)), 1));
    ck_assert(index_is(index_compare(&arena, EXPR_GT, i, constant(9)), 0));
    ck_assert(index_is(index_compare(&arena, EXPR_EQ, i, constant(10)), 0));
    ck_assert(index_is(index_compare(&arena, EXPR_NE, constant(-1), i), 1));
    ck_assert(index_is(index_compare(&arena, EXPR_LT, i, between(10, 12)), 1));
    ck_assert_int_eq(index_compare(&arena, EXPR_LT, i, constant(9))->op, EXPR_LT);
    ck_assert_int_eq(index_compare(&arena, EXPR_EQ, i, constant(9))->op, EXPR_EQ);
    ck_assert_int_eq(index_compare(&arena, EXPR_LE, i, between(8, 12))->op, EXPR_LE);
}
END_TEST

/* i / 32 * 32 + i % 32 with i < 32 is i. */
START_TEST(ranges_tell_quotients)
{
    const struct expr *const i = between(0, 31), *const j = between(20, 29), *const k = between(-3, 2);
    ck_assert(index_is(index_div(&arena, i, constant(32)), 0));
    ck_assert_ptr_eq(index_mod(&arena, i, constant(32)), i);
    ck_assert_int_eq(index_div(&arena, i, constant(31))->op, EXPR_DIV);
    ck_assert_int_eq(index_mod(&arena, i, constant(31))->op, EXPR_MOD);
    ck_assert(index_is(index_div(&arena, j, constant(10)), 2));
    const struct expr *const rest = index_mod(&arena, j, constant(10));
    ck_assert(rest->op == EXPR_SUB && rest->arg[0] == j && index_is(rest->arg[1], 20));
    ck_assert_int_eq(index_mod(&arena, between(19, 29), constant(10))->op, EXPR_MOD);
    ck_assert_int_eq(index_mod(&arena, k, constant(5))->op, EXPR_MOD); /* below 0 it is another one */
    ck_assert_int_eq(index_div(&arena, k, constant(5))->op, EXPR_DIV);
}
END_TEST

START_TEST(makers_join_conditions)
{
    const struct expr *const c = index_compare(&arena, EXPR_GT,
                                               tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 9)),
                                               constant(3));
    ck_assert_ptr_eq(index_binary(&arena, EXPR_BOTH, constant(1), c), c);
    ck_assert_ptr_eq(index_binary(&arena, EXPR_BOTH, c, constant(7)), c);
    ck_assert_ptr_eq(index_binary(&arena, EXPR_EITHER, constant(0), c), c);
    ck_assert_ptr_eq(index_binary(&arena, EXPR_EITHER, c, constant(0)), c);
    ck_assert(index_is(index_binary(&arena, EXPR_BOTH, constant(0), c), 0));
    ck_assert(index_is(index_binary(&arena, EXPR_BOTH, c, constant(0)), 0));
    ck_assert(index_is(index_binary(&arena, EXPR_EITHER, constant(5), c), 1));
    ck_assert(index_binary(&arena, EXPR_EITHER, c, constant(5))->i != 0);
    ck_assert(index_is(index_binary(&arena, EXPR_BOTH, constant(5), constant(6)), 1));
    ck_assert(index_is(index_binary(&arena, EXPR_EITHER, constant(0), constant(0)), 0));
    ck_assert_int_eq(index_binary(&arena, EXPR_BOTH, c, c)->op, EXPR_BOTH);
    ck_assert_int_eq(index_binary(&arena, EXPR_EITHER, c, c)->op, EXPR_EITHER);
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
    struct index_range r;
    const struct expr *const i = tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "i", 2, 9));
    const struct expr *const j = tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "j", -1, 3));
    ck_assert(index_range(index_add(&arena, index_mul(&arena, i, constant(4)), j), NULL, &r));
    ck_assert(r.low == 7 && r.high == 39);
    ck_assert(index_range(index_mul(&arena, i, j), NULL, &r));
    ck_assert(r.low == -9 && r.high == 27);
    ck_assert(index_range(index_sub(&arena, constant(5), i), NULL, &r));
    ck_assert(r.low == -4 && r.high == 3);
    ck_assert(index_range(index_cast(&arena, "int", index_smaller(&arena, i, constant(4))), NULL, &r));
    ck_assert(r.low == 2 && r.high == 4);
    ck_assert(!index_range(index_text(&arena, "rows"), NULL, &r));
    ck_assert(!index_range(index_mul(&arena, i, constant(INT64_MAX)), NULL, &r));
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
        const struct expr *const other = expr_select(&arena, guard, zero, tree_element(&arena, x, at));
        vec_push(&arena, &params, y);
        vec_push(&arena, &params, x);
        tree_open_loop(&b, l, constant(0), constant(16), 1, LOOP_PLAIN);
        tree_set(&b, tree_element(&arena, y, constant(0)), SET_SUM, value);
        const char *const wrong = tree_verify(&arena, &params, &body);
        ck_assert_str_eq(wrong ? wrong : "fine", below == 9 ? "fine" : "'x' is read or written outside");
        ((struct stmt *)(uintptr_t)body.data[0])->body.count = 0;
        tree_set(&b, tree_element(&arena, y, constant(0)), SET_SUM, other);
        ck_assert_str_eq(tree_verify(&arena, &params, &body), "'x' is read or written outside");
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
    tree_open_loop(&b, i, constant(0), constant(10), 1, LOOP_PLAIN);
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

static const struct expr *of_letter(char letter)
{
    switch (letter) {
    case 'f': return expr_float(&arena, DTYPE_FLOAT, 1);
    case 'd': return expr_float(&arena, DTYPE_DOUBLE, 1);
    case 'i': return expr_int(&arena, DTYPE_INT32, 1);
    case 'b': return expr_int(&arena, DTYPE_BOOL, 1);
    default: return NULL;
    }
}

START_TEST(operands_have_the_types_of_operations)
{
    static const struct {
        enum expr_op op;
        enum dtype dtype;
        const char *operands;
        bool fits;
    } rows[] = {
        {EXPR_ADD, DTYPE_FLOAT, "ff", true},     {EXPR_ADD, DTYPE_FLOAT, "fd", false},
        {EXPR_ADD, DTYPE_FLOAT, "df", false},    {EXPR_ADD, DTYPE_FLOAT, "dd", false},
        {EXPR_SHR, DTYPE_INT32, "ii", true},     {EXPR_SHR, DTYPE_INT32, "if", false},
        {EXPR_LT, DTYPE_BOOL, "ff", true},       {EXPR_LT, DTYPE_BOOL, "fd", false},
        {EXPR_NE, DTYPE_BOOL, "df", false},      {EXPR_EQ, DTYPE_FLOAT, "ff", false},
        {EXPR_BOTH, DTYPE_BOOL, "bb", true},     {EXPR_BOTH, DTYPE_BOOL, "bf", false},
        {EXPR_EITHER, DTYPE_BOOL, "fb", false},  {EXPR_EITHER, DTYPE_FLOAT, "bb", false},
        {EXPR_SELECT, DTYPE_FLOAT, "bff", true}, {EXPR_SELECT, DTYPE_FLOAT, "fff", false},
        {EXPR_SELECT, DTYPE_FLOAT, "bfd", false}, {EXPR_SELECT, DTYPE_FLOAT, "bdf", false},
        {EXPR_SELECT, DTYPE_DOUBLE, "bff", false}, {EXPR_NEG, DTYPE_FLOAT, "f", true},
        {EXPR_NEG, DTYPE_FLOAT, "d", false},     {EXPR_MATH, DTYPE_DOUBLE, "d", true},
        {EXPR_MATH, DTYPE_DOUBLE, "f", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tree_var *const y = pointer("y", 10, true), *const x = pointer("x", 10, false);
        stmt_list body = {0};
        struct tree_builder b = tree_builder(&arena, &body);
        struct expr *const e = arena_new(&arena, struct expr);
        e->op = rows[i].op;
        e->dtype = rows[i].dtype;
        for (size_t k = 0; k < strlen(rows[i].operands); k++)
            e->arg[k] = of_letter(rows[i].operands[k]);
        tree_set(&b, tree_element(&arena, y, constant(0)), SET_TO, expr_cast(&arena, DTYPE_FLOAT, e));
        const char *const said = verify(y, x, &body);
        ck_assert_msg(!strcmp(said, rows[i].fits ? "fine" : "'an expression' has operands of other types"),
                      "row %zu: %s", i, said);
    }
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
    tree_open_loop(&b, tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 1), constant(0), constant(2), 0, LOOP_PLAIN);
    ck_assert_str_eq(verify(y, x, &body), "'i' does not advance");
}
END_TEST

/* ---- conditions, calls and other loops --------------------------------------------------------------------------- */

/* What the verifier says of one statement of a function (float *y, const float *x), y and x of 10. */
static const char *verify_one(void (*add)(struct tree_builder *b, const struct tree_var *y, const struct tree_var *x))
{
    const struct tree_var *const y = pointer("y", 10, true), *const x = pointer("x", 10, false);
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    add(&b, y, x);
    ck_assert_uint_eq(b.outer.count, 0);
    return verify(y, x, &body);
}

static void add_condition_of_floats(struct tree_builder *b, const struct tree_var *y, const struct tree_var *x)
{
    tree_open_if(b, tree_element(&arena, x, constant(0)));
    tree_set(b, tree_element(&arena, y, constant(0)), SET_TO, float_constant(1));
    tree_close(b);
}

static void add_if(struct tree_builder *b, const struct tree_var *y, const struct tree_var *x)
{
    struct expr *const greater = made(EXPR_GT, DTYPE_INDEX);
    greater->arg[0] = tree_element(&arena, x, constant(0));
    greater->arg[1] = float_constant(1);
    tree_open_if(b, index_binary(&arena, EXPR_EITHER, greater,
                                 index_compare(&arena, EXPR_NE, macro("WIDTH"), constant(4))));
    tree_declare(b, tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "v"), float_constant(1));
    tree_close(b);
    tree_open_else(b);
    tree_declare(b, tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "v"), float_constant(2));
    tree_set(b, tree_element(&arena, y, constant(9)), SET_TO, float_constant(1));
    tree_close(b);
    tree_return(b, NULL);
}

static void add_comparison_of_two_types(struct tree_builder *b, const struct tree_var *y, const struct tree_var *x)
{
    tree_open_if(b, index_compare(&arena, EXPR_GE, tree_element(&arena, x, constant(0)), constant(0)));
    tree_set(b, tree_element(&arena, y, constant(0)), SET_TO, float_constant(1));
    tree_close(b);
}

static void add_float_in_both(struct tree_builder *b, const struct tree_var *y, const struct tree_var *x)
{
    struct expr *const both = made(EXPR_BOTH, DTYPE_INDEX);
    both->arg[0] = index_compare(&arena, EXPR_EQ, macro("N"),
                                 constant(1));
    both->arg[1] = tree_element(&arena, x, constant(0));
    tree_open_if(b, both);
    tree_set(b, tree_element(&arena, y, constant(0)), SET_TO, float_constant(1));
    tree_close(b);
}

static void add_else_reads_declared(struct tree_builder *b, const struct tree_var *y, const struct tree_var *x)
{
    const struct tree_var *const v = tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "v");
    tree_open_if(b, macro("N"));
    tree_declare(b, v, tree_element(&arena, x, constant(0)));
    tree_close(b);
    tree_open_else(b);
    tree_set(b, tree_element(&arena, y, constant(0)), SET_TO, tree_read(&arena, v));
    tree_close(b);
}

START_TEST(conditions_are_checked)
{
    ck_assert_str_eq(verify_one(add_if), "fine");
    ck_assert_str_eq(verify_one(add_condition_of_floats), "'an expression' is no condition");
    ck_assert_str_eq(verify_one(add_comparison_of_two_types), "'an expression' has operands of other types");
    ck_assert_str_eq(verify_one(add_float_in_both), "'an expression' has operands of other types");
    ck_assert_str_eq(verify_one(add_else_reads_declared), "'v' is not in scope");
}
END_TEST

static const char *verify_call(int what)
{
    const struct tree_var *const y = pointer("y", 10, true), *const x = pointer("x", 10, false);
    const struct expr *const to = tree_address(&arena, y, constant(2));
    const struct expr *const from = tree_address(&arena, x, constant(0));
    struct expr *const nothing = made(EXPR_NULL, DTYPE_FLOAT);
    nothing->text = "float";
    const struct expr *const calls[] = {
        call_of(callee(), to, from, constant(3)),    call_of(callee(), to, nothing, constant(3)),
        call_of(callee(), to, from, NULL),           call_of(callee(), from, to, constant(3)),
        call_of(callee(), to, from, to),             call_of(callee(), to, constant(3), constant(3)),
        call_of(callee(), to, index_choose(&arena, macro("N"), from, nothing), constant(3)),
        tree_call(&arena, DTYPE_INDEX, CALL_HOLE, "finish", &to, 1),
        tree_call(&arena, DTYPE_INDEX, CALL_NAMED, "memset", (const struct expr *[]){to, constant(0)}, 2),
        call_of(callee(), tree_address(&arena, pointer("z", 3, true), constant(0)), from, constant(3)),
        tree_call_function(&arena, callee(), (const struct expr *[]){to, from, constant(3), constant(3)}, 4)};
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    tree_run(&b, calls[what]);
    return verify(y, x, &body);
}

START_TEST(calls_are_checked)
{
    static const char *const expected[] = {
        "fine", "fine", "'an expression' is a call with too many or too few arguments",
        "'x' is given to a function that writes there",
        "'count' is given a value for a pointer, or a pointer for a value",
        "'from' is given a value for a pointer, or a pointer for a value", "fine", "'an expression' is a hole", "fine",
        "'z' is not in scope", "'an expression' is a call with too many or too few arguments"};
    ck_assert_str_eq(verify_call(_i), expected[_i]);
}
END_TEST

static const char *verify_loop(const struct expr *to, const struct expr *condition, int64_t step, const struct expr *by,
                               const struct expr *next, enum var_kind kind)
{
    const struct tree_var *const y = pointer("y", 10, true), *const x = pointer("x", 10, false);
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    struct stmt *const loop =
        tree_open_loop(&b, tree_var(&arena, kind, DTYPE_INDEX, "int", "i"), constant(0), to, step, LOOP_PLAIN);
    loop->condition = condition;
    loop->by = by;
    loop->next = next;
    tree_close(&b);
    return verify(y, x, &body);
}

START_TEST(loops_advance_and_end)
{
    const struct expr *const ten = constant(10), *const n = macro("N");
    ck_assert_str_eq(verify_loop(ten, NULL, 2, NULL, NULL, VAR_LOOP), "fine");
    ck_assert_str_eq(verify_loop(ten, n, 1, NULL, NULL, VAR_LOOP), "fine");
    ck_assert_str_eq(verify_loop(NULL, n, -1, NULL, NULL, VAR_LOOP), "fine");
    ck_assert_str_eq(verify_loop(ten, NULL, 0, n, NULL, VAR_LOOP), "fine");
    ck_assert_str_eq(verify_loop(ten, NULL, 0, NULL, n, VAR_LOOP), "fine");
    ck_assert_str_eq(verify_loop(ten, NULL, 0, NULL, NULL, VAR_LOOP), "'i' does not advance");
    ck_assert_str_eq(verify_loop(ten, NULL, -1, NULL, NULL, VAR_LOOP), "'i' does not advance");
    ck_assert_str_eq(verify_loop(NULL, NULL, 1, NULL, NULL, VAR_LOOP), "'i' does not end");
    ck_assert_str_eq(verify_loop(ten, NULL, 1, NULL, NULL, VAR_CELL), "'i' is no variable of a loop");
    const struct expr *const stray = tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "k", 0, 1));
    ck_assert_str_eq(verify_loop(stray, NULL, 1, NULL, NULL, VAR_LOOP), "'k' is not in scope");
    ck_assert_str_eq(verify_loop(ten, stray, 1, NULL, NULL, VAR_LOOP), "'k' is not in scope");
    ck_assert_str_eq(verify_loop(ten, NULL, 0, stray, NULL, VAR_LOOP), "'k' is not in scope");
    ck_assert_str_eq(verify_loop(ten, NULL, 0, NULL, stray, VAR_LOOP), "'k' is not in scope");
}
END_TEST

START_TEST(arrays_may_have_extents_that_only_c_knows)
{
    const struct tree_var *const y = pointer("y", 10, true), *const x = pointer("x", 10, false);
    struct tree_var *const lanes = tree_var(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", "lanes");
    struct expr *const size = made(EXPR_SIZEOF, DTYPE_INDEX), *const member = made(EXPR_MEMBER, DTYPE_INDEX);
    struct tree_var *const span = tree_var(&arena, VAR_VALUE, DTYPE_INDEX, "struct span", "span");
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    size->text = "float";
    member->text = "low";
    member->arg[0] = tree_read(&arena, span);
    lanes->extent = index_div(&arena, constant(16), size);
    tree_declare_array(&b, lanes, float_constant(0), 1);
    tree_set(&b, tree_element(&arena, lanes, constant(100)), SET_TO, float_constant(1)); /* who knows */
    ck_assert_str_eq(verify(y, x, &body), "fine");
    tree_set(&b, tree_element(&arena, lanes, member), SET_TO, float_constant(1));
    ck_assert_str_eq(verify(y, x, &body), "'span' is not in scope");
    body.count = 0;
    lanes->extent = tree_read(&arena, span);
    tree_declare_array(&b, lanes, NULL, 0);
    ck_assert_str_eq(verify(y, x, &body), "'span' is not in scope");
}
END_TEST

int main(void)
{
    TCase *const t = tcase_create("tree");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, makers_fold_indices);
    tcase_add_test(t, ranges_tell_the_smaller_one);
    tcase_add_test(t, ranges_follow_from_variables);
    tcase_add_test(t, conditions_bound_what_they_guard);
    tcase_add_test(t, a_copy_is_fine);
    tcase_add_test(t, elements_outside_are_found);
    tcase_add_test(t, operands_have_the_types_of_operations);
    tcase_add_test(t, what_is_const_is_not_set);
    tcase_add_test(t, names_are_unique_where_they_hold);
    tcase_add_test(t, variables_are_declared_before);
    tcase_add_test(t, types_must_fit);
    tcase_add_test(t, declarations_are_checked);
    tcase_add_test(t, makers_decide_constants);
    tcase_add_test(t, makers_keep_what_is_not_known);
    tcase_add_test(t, ranges_decide_comparisons);
    tcase_add_test(t, ranges_tell_quotients);
    tcase_add_test(t, makers_join_conditions);
    tcase_add_test(t, conditions_are_checked);
    tcase_add_loop_test(t, calls_are_checked, 0, 11);
    tcase_add_test(t, loops_advance_and_end);
    tcase_add_test(t, arrays_may_have_extents_that_only_c_knows);
    return run_tests("statement trees", t);
}
