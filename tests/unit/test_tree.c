/* Statement trees: what makers fold, what ranges tell, what the verifier refuses, and what settling leaves. */
#include "tree/template.h"
#include "suite.h"

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

static struct expr *made(enum expr_op op, enum dtype dtype)
{
    struct expr *const e = arena_new(&arena, struct expr);
    e->op = op;
    e->dtype = dtype;
    return e;
}

/* A constant that only the user's compiler knows. */
static const struct expr *macro(const char *name)
{
    return tree_read(&arena, tree_var(&arena, VAR_MACRO, DTYPE_INDEX, "int", name));
}

static const struct expr *float_constant(double x)
{
    return expr_float(&arena, DTYPE_FLOAT, x);
}

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

/* static void add(float *to, const float *from, const int count) */
static struct tree_function *callee(void)
{
    struct tree_function *const f = arena_new(&arena, struct tree_function);
    *f = (struct tree_function){.name = "add", .attributes = "", .type = "void", .kind = FUNCTION_OWN};
    vec_push(&arena, &f->params, pointer("to", 0, true));
    vec_push(&arena, &f->params, pointer("from", 0, false));
    vec_push(&arena, &f->params, tree_var(&arena, VAR_VALUE, DTYPE_INDEX, "int", "count"));
    return f;
}

static const struct expr *call_of(struct tree_function *f, const struct expr *to, const struct expr *from,
                                  const struct expr *count)
{
    const struct expr *const args[] = {to, from, count};
    const struct expr *const call = tree_call(&arena, f->dtype, CALL_FUNCTION, f->name, args, count ? 3 : 2);
    ((struct tree_call *)(uintptr_t)call->call)->function = f;
    return call;
}

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

/* ---- settling ---------------------------------------------------------------------------------------------------- */

/* static void add(to, from, count) { for (k < count) to[k] += from[k] * rate; }, `from` maybe unused. */
static void fill_callee(struct tree_function *f, const struct tree_var *rate, bool reads)
{
    struct tree_builder b = tree_builder(&arena, &f->body);
    const struct tree_var *const k = tree_var(&arena, VAR_LOOP, DTYPE_INDEX, "int", "k");
    const struct expr *const at = tree_read(&arena, k), *const times = tree_read(&arena, rate);
    const struct expr *const from = tree_element(&arena, f->params.data[1], at);
    tree_open_loop(&b, k, constant(0), tree_read(&arena, f->params.data[2]), 1, LOOP_PLAIN);
    tree_set(&b, tree_element(&arena, f->params.data[0], at), SET_SUM,
             reads ? expr_binary(&arena, EXPR_MUL, from, times) : times);
    tree_close(&b);
}

struct settled {
    struct tree_function *f, *kernel;
    struct tree_var *y, *x, *rate;
    tree_vars outer;
    struct tree_builder b; /* in the kernel */
    const char *wrong;
};

static struct settled two_functions(void)
{
    struct settled s = {.f = callee(), .kernel = arena_new(&arena, struct tree_function)};
    *s.kernel = (struct tree_function){.name = "kernel", .attributes = "", .type = "void"};
    s.y = pointer("y", 10, true);
    s.x = pointer("x", 10, false);
    s.rate = tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "rate");
    vec_push(&arena, &s.outer, s.y);
    vec_push(&arena, &s.outer, s.x);
    vec_push(&arena, &s.outer, s.rate);
    s.b = tree_builder(&arena, &s.kernel->body);
    return s;
}

static const struct expr *usual_call(struct settled *s)
{
    return call_of(s->f, tree_address(&arena, s->y, constant(1)), tree_address(&arena, s->x, constant(0)), constant(4));
}

static void settle(struct settled *s)
{
    struct tree_function *const functions[] = {s->f, s->kernel};
    s->wrong = tree_settle(&arena, functions, 2, &s->outer);
    s->wrong = s->wrong ? s->wrong : tree_verify(&arena, &s->f->params, &s->f->body);
    s->wrong = s->wrong ? s->wrong : tree_verify(&arena, &s->outer, &s->kernel->body);
}

START_TEST(captures_become_parameters)
{
    struct settled s = two_functions();
    fill_callee(s.f, s.rate, true);
    tree_run(&s.b, usual_call(&s));
    settle(&s);
    ck_assert_ptr_null(s.wrong);
    const struct tree_call *const c = s.kernel->body.data[0]->value->call;
    ck_assert_uint_eq(s.f->params.count, 4);
    ck_assert_ptr_eq(s.f->params.data[3], s.rate);
    ck_assert_uint_eq(c->count, 4);
    ck_assert(c->args[3]->op == EXPR_VAR && c->args[3]->var == s.rate);
    ck_assert(s.y->reads > 0 && s.x->reads > 0 && s.rate->reads > 0);
    ck_assert_uint_eq(s.kernel->params.count, 0); /* its maker knows which of them it takes */
}
END_TEST

START_TEST(unread_parameters_go_with_their_arguments)
{
    struct settled s = two_functions();
    fill_callee(s.f, s.rate, false);
    tree_run(&s.b, usual_call(&s));
    tree_run(&s.b, usual_call(&s));
    settle(&s);
    ck_assert_ptr_null(s.wrong);
    ck_assert_uint_eq(s.f->params.count, 3);
    for (size_t i = 0; i < 2; i++) {
        const struct tree_call *const c = s.kernel->body.data[i]->value->call;
        ck_assert_uint_eq(c->count, 3);
        ck_assert(c->args[0]->var == s.y && index_is(c->args[1], 4) && c->args[2]->var == s.rate);
    }
    ck_assert(s.x->reads == 0 && s.y->reads > 0);
}
END_TEST

/* A pointer of the kernel that is named inside is given as the place where it begins. */
START_TEST(pointers_are_captured_as_places)
{
    struct settled s = two_functions();
    struct tree_builder b = tree_builder(&arena, &s.f->body);
    tree_set(&b, tree_element(&arena, s.y, constant(3)), SET_TO, tree_element(&arena, s.x, constant(0)));
    tree_run(&s.b, usual_call(&s));
    settle(&s);
    ck_assert_ptr_null(s.wrong);
    const struct tree_call *const c = s.kernel->body.data[0]->value->call;
    ck_assert_uint_eq(c->count, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert(c->args[i]->op == EXPR_ADDRESS && c->args[i]->var == s.outer.data[i] &&
                  index_is(c->args[i]->arg[0], 0));
}
END_TEST

/* cell = x[0]; cell += 1; array[0] = cell; if (N) { other = 1; } and a loop around nothing */
START_TEST(what_nobody_reads_goes)
{
    struct settled s = two_functions();
    const struct tree_var *const cell = tree_var(&arena, VAR_CELL, DTYPE_FLOAT, "float", "cell");
    struct tree_var *const array = tree_var(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", "array");
    const struct tree_var *const other = tree_var(&arena, VAR_CELL, DTYPE_FLOAT, "float", "other");
    array->count = 4;
    tree_declare(&s.b, cell, tree_element(&arena, s.x, constant(0)));
    tree_declare_array(&s.b, array, float_constant(0), 1);
    tree_declare(&s.b, other, float_constant(0));
    tree_set(&s.b, tree_read(&arena, cell), SET_SUM, float_constant(1));
    tree_set(&s.b, tree_element(&arena, array, constant(0)), SET_TO, tree_read(&arena, cell));
    tree_open_loop(&s.b, tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 1), constant(0), constant(2), 1, LOOP_PLAIN);
    tree_open_if(&s.b, macro("N"));
    tree_set(&s.b, tree_read(&arena, other), SET_TO, float_constant(1));
    tree_close(&s.b);
    tree_close(&s.b);
    tree_set(&s.b, tree_element(&arena, s.y, constant(0)), SET_TO, tree_read(&arena, s.rate));
    settle(&s);
    ck_assert_ptr_null(s.wrong);
    ck_assert_uint_eq(s.kernel->body.count, 1);
    ck_assert_int_eq(s.kernel->body.data[0]->kind, STMT_SET);
    ck_assert(s.x->reads == 0 && s.y->reads > 0 && s.rate->reads > 0);
}
END_TEST

/* The branch that is left stands under the opposite. */
START_TEST(a_condition_may_turn_round)
{
    struct settled s = two_functions();
    const struct tree_var *const cell = tree_var(&arena, VAR_CELL, DTYPE_FLOAT, "float", "cell");
    tree_declare(&s.b, cell, float_constant(0));
    tree_open_if(&s.b, macro("N"));
    tree_set(&s.b, tree_read(&arena, cell), SET_TO, float_constant(1));
    tree_close(&s.b);
    tree_open_else(&s.b);
    tree_set(&s.b, tree_element(&arena, s.y, constant(0)), SET_TO, float_constant(2));
    tree_close(&s.b);
    settle(&s);
    ck_assert_ptr_null(s.wrong);
    ck_assert_uint_eq(s.kernel->body.count, 1);
    const struct stmt *const left = s.kernel->body.data[0];
    ck_assert(left->kind == STMT_IF && left->condition->op == EXPR_NOT && left->condition->arg[0]->op == EXPR_VAR);
    ck_assert(left->body.count == 1 && left->otherwise.count == 0);
}
END_TEST

/* What a call writes is not nothing, although nobody reads its result; what one only computes is. */
START_TEST(calls_stay_for_what_they_write)
{
    for (int writes = 0; writes < 2; writes++) {
        struct settled s = two_functions();
        s.f->dtype = DTYPE_FLOAT;
        if (writes)
            fill_callee(s.f, s.rate, true);
        struct tree_builder b = tree_builder(&arena, &s.f->body);
        tree_return(&b, tree_element(&arena, s.f->params.data[1], tree_read(&arena, s.f->params.data[2])));
        tree_declare(&s.b, tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "v"), usual_call(&s));
        settle(&s);
        ck_assert_ptr_null(s.wrong);
        ck_assert_uint_eq(s.kernel->body.count, (size_t)writes);
        ck_assert(!writes || s.kernel->body.data[0]->kind == STMT_CALL);
    }
}
END_TEST

START_TEST(strays_are_found)
{
    struct settled s = two_functions();
    fill_callee(s.f, tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "stray"), true);
    tree_run(&s.b, usual_call(&s));
    settle(&s);
    ck_assert_str_eq(s.wrong, "'stray' of 'add' is neither declared nor given");
}
END_TEST

static bool is_of(const struct expr *e, void *v)
{
    return (e->op == EXPR_VAR || e->op == EXPR_ELEMENT || e->op == EXPR_ADDRESS) && e->var == v;
}

static bool names(const struct settled *s, struct tree_var *v)
{
    return tree_any(&s->kernel->body, is_of, v);
}

START_TEST(names_are_found_wherever_they_stand)
{
    struct settled s = two_functions();
    tree_run(&s.b, usual_call(&s));
    ck_assert(names(&s, s.y) && names(&s, s.x));
    ck_assert(!names(&s, s.rate));
    tree_open_if(&s.b, constant(1));
    tree_close(&s.b);
    tree_open_else(&s.b);
    tree_return(&s.b, tree_read(&arena, s.rate));
    tree_close(&s.b);
    ck_assert(names(&s, s.rate));
}
END_TEST

/* ---- what is said more shortly ----------------------------------------------------------------------------------- */

static const struct expr *difference(const struct expr *x, const struct expr *y)
{
    struct expr *const e = made(EXPR_SUB, DTYPE_FLOAT);
    e->arg[0] = x;
    e->arg[1] = y;
    return e;
}

static const struct expr *element(const struct tree_var *v, int64_t i)
{
    return tree_element(&arena, v, constant(i));
}

/* const u = value; z[0] = x[1]; y[0] = u or y[1] - u; how many statements stay, and the last one of them. */
static size_t shortened(const struct expr *value, bool stores, const struct expr *y, const struct expr *z,
                        const struct expr *x, const struct stmt **last)
{
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    struct tree_var *const u = tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "u");
    const struct expr *const read = tree_read(&arena, u);
    tree_declare(&b, u, value);
    if (z)
        tree_set(&b, z, SET_TO, x);
    tree_set(&b, y, SET_TO, stores ? read : difference(element(y->var, 1), read));
    tree_inline_elements(&arena, &body);
    *last = body.data[body.count - 1];
    return body.count;
}

START_TEST(values_stand_where_they_are_read)
{
    const struct tree_var *const x = pointer("x", 4, false), *const y = pointer("y", 4, true),
                                *const z = pointer("z", 4, true);
    const struct expr *const y0 = element(y, 0), *const z0 = element(z, 0), *const x1 = element(x, 1);
    const struct stmt *last;
    ck_assert_uint_eq(shortened(element(x, 0), false, y0, NULL, NULL, &last), 1); /* an element, in an expression */
    ck_assert_int_eq(last->op, SET_TO);
    ck_assert_int_eq(last->value->arg[1]->op, EXPR_ELEMENT);
    ck_assert_uint_eq(shortened(difference(x1, element(x, 0)), false, y0, NULL, NULL, &last), 2); /* it may contract */
    /* what is only stored moves over a store, and x = x - y is x -= y */
    ck_assert_uint_eq(shortened(difference(y0, x1), true, y0, z0, x1, &last), 2);
    ck_assert_int_eq(last->op, SET_DIFFERENCE);
    ck_assert_ptr_eq(last->value, x1);
    ck_assert_uint_eq(shortened(difference(element(y, 1), x1), true, y0, z0, x1, &last), 2); /* of another element */
    ck_assert_int_eq(last->op, SET_TO);
    ck_assert_uint_eq(shortened(element(x, 0), false, y0, z0, x1, &last), 3); /* an element does not move so far, */
    ck_assert_uint_eq(shortened(difference(z0, x1), true, y0, z0, x1, &last), 3); /* nor what the store changes */
}
END_TEST

/* Those that read the value several times keep its name. */
START_TEST(extremes_read_a_name)
{
    static const struct {
        int op;
        size_t left;
    } cases[] = {{SET_MAX, 2}, {SET_TOP, 2}, {SET_MIN, 2}, {SET_SUM, 1}, {SET_TO, 1}};
    const struct tree_var *const x = pointer("x", 4, false), *const y = pointer("y", 4, true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stmt_list body = {0};
        struct tree_builder b = tree_builder(&arena, &body);
        struct tree_var *const u = tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "u");
        tree_declare(&b, u, element(x, 0));
        tree_set(&b, element(y, 0), cases[i].op, tree_read(&arena, u));
        tree_inline_elements(&arena, &body);
        ck_assert_msg(body.count == cases[i].left, "case %zu: %zu statements", i, body.count);
    }
}
END_TEST

int main(void)
{
    TCase *const t = tcase_create("tree");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, makers_fold_indices);
    tcase_add_test(t, values_stand_where_they_are_read);
    tcase_add_test(t, extremes_read_a_name);
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
    tcase_add_test(t, captures_become_parameters);
    tcase_add_test(t, unread_parameters_go_with_their_arguments);
    tcase_add_test(t, pointers_are_captured_as_places);
    tcase_add_test(t, what_nobody_reads_goes);
    tcase_add_test(t, a_condition_may_turn_round);
    tcase_add_test(t, calls_stay_for_what_they_write);
    tcase_add_test(t, strays_are_found);
    tcase_add_test(t, names_are_found_wherever_they_stand);
    return run_tests("statement trees", t);
}
