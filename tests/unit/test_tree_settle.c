/* What settling leaves of functions, and what is said more shortly. */
#include "tree/template.h"
#include "suite.h"
#include "trees.h"

#include <check.h>

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
    TCase *const t = tcase_create("settle");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, captures_become_parameters);
    tcase_add_test(t, unread_parameters_go_with_their_arguments);
    tcase_add_test(t, pointers_are_captured_as_places);
    tcase_add_test(t, what_nobody_reads_goes);
    tcase_add_test(t, a_condition_may_turn_round);
    tcase_add_test(t, calls_stay_for_what_they_write);
    tcase_add_test(t, strays_are_found);
    tcase_add_test(t, names_are_found_wherever_they_stand);
    tcase_add_test(t, values_stand_where_they_are_read);
    tcase_add_test(t, extremes_read_a_name);
    return run_tests("settled trees", t);
}
