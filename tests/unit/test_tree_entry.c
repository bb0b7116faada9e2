/* Trees of entries: members of structs, checks before writes, arguments that are apart, what nobody reads. */
#include "tree/tree.h"
#include "suite.h"

#include <check.h>

static struct arena arena;

static void end(void)
{
    arena_free(&arena);
}

static const struct expr *zero(void)
{
    return index_constant(&arena, 0);
}

static struct tree_var *to_struct(const char *type, const char *name, bool written)
{
    struct tree_var *const v = tree_var(&arena, VAR_POINTER, DTYPE_INDEX, type, name);
    v->written = written;
    return v;
}

/* m_state *state with float w[8], or const. */
static struct tree_var *weights_of(const struct tree_var *state)
{
    return tree_member(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", state, "w", 8);
}

static const char *verify(const struct tree_var *param, const stmt_list *body)
{
    tree_vars params = {0};
    vec_push(&arena, &params, param);
    const char *const wrong = tree_verify(&arena, &params, body);
    return wrong ? wrong : "fine";
}

/* state->w[at] = 1 */
static const char *verify_set(const struct tree_var *state, const struct tree_var *param, int64_t at)
{
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    tree_set(&b, tree_element(&arena, weights_of(state), index_constant(&arena, at)), SET_TO,
             expr_float(&arena, DTYPE_FLOAT, 1));
    return verify(param, &body);
}

START_TEST(members_are_what_their_struct_is)
{
    const struct tree_var *const state = to_struct("m_state", "state", true),
                                 *const constant = to_struct("m_state", "state", false);
    ck_assert_str_eq(verify_set(state, state, 7), "fine");
    ck_assert_str_eq(verify_set(state, state, 8), "'w' is read or written outside");
    ck_assert_str_eq(verify_set(constant, constant, 7), "'w' is set but must not be");
    ck_assert_str_eq(verify_set(state, constant, 7), "'w' is not in scope");
}
END_TEST

/* update(state->w), which writes there */
START_TEST(what_is_const_is_not_given_to_be_written)
{
    static const char *const expected[] = {"'w' is given to a function that writes there", "fine"};
    const struct tree_var *const state = to_struct("m_state", "state", _i);
    struct tree_function *const update = arena_new(&arena, struct tree_function);
    struct tree_var *const w = tree_var(&arena, VAR_POINTER, DTYPE_FLOAT, "float", "w");
    w->written = true;
    update->name = "update";
    vec_push(&arena, &update->params, w);
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    const struct expr *const arg = tree_address(&arena, weights_of(state), zero());
    tree_run(&b, tree_call_function(&arena, update, &arg, 1));
    ck_assert_str_eq(verify(state, &body), expected[_i]);
}
END_TEST

START_TEST(pointers_are_compared_with_pointers)
{
    const struct tree_var *const state = to_struct("m_state", "state", true);
    const struct expr *const place = tree_address(&arena, weights_of(state), zero()),
                      *const others[] = {tree_null(&arena), zero()};
    static const char *const expected[] = {"fine", "'an expression' has operands of other types"};
    for (int i = 0; i < 2; i++) {
        stmt_list body = {0};
        struct tree_builder b = tree_builder(&arena, &body);
        tree_open_if(&b, index_compare(&arena, EXPR_NE, place, others[i]));
        tree_close(&b);
        ck_assert_str_eq(verify(state, &body), expected[i]);
    }
}
END_TEST

/* ---- functions that call others ---------------------------------------------------------------------------------- */

static struct tree_var *value_pointer(const char *name, bool written, bool is_restrict)
{
    struct tree_var *const v = tree_var(&arena, VAR_POINTER, DTYPE_FLOAT, "float", name);
    v->written = written;
    v->is_restrict = is_restrict;
    v->count = 8;
    return v;
}

/* void f(float *restrict y, const float *restrict x) */
static struct tree_function *kernel(bool is_restrict)
{
    struct tree_function *const f = arena_new(&arena, struct tree_function);
    f->name = "f";
    vec_push(&arena, &f->params, value_pointer("y", true, is_restrict));
    vec_push(&arena, &f->params, value_pointer("x", false, is_restrict));
    return f;
}

static const struct expr *at(const struct tree_var *v, int64_t i)
{
    return tree_address(&arena, v, index_constant(&arena, i));
}

static void run(struct tree_builder *b, struct tree_function *f, const struct expr *x, const struct expr *y)
{
    const struct expr *const args[] = {x, y};
    tree_run(b, tree_call_function(&arena, f, args, f->params.count));
}

/* f(y, x) in a function of a state and an arena, which is shared memory */
static const char *verify_arguments(const struct expr *y, const struct expr *x, const struct tree_var *memory,
                                    const struct tree_var *state, bool is_restrict)
{
    struct tree_function f = {.name = "step"};
    struct tree_builder b = tree_builder(&arena, &f.body);
    vec_push(&arena, &f.params, memory);
    vec_push(&arena, &f.params, state);
    run(&b, kernel(is_restrict), y, x);
    tree_run(&b, index_cast(&arena, "void", at(state, 0)));
    tree_run(&b, index_cast(&arena, "void", at(memory, 0)));
    const char *const wrong = tree_verify_function(&arena, &f, memory);
    return wrong ? wrong : "fine";
}

START_TEST(what_a_call_writes_is_apart)
{
    static const char meets[] = "'y' is given memory that the function writes as another";
    const struct tree_var *const memory = to_struct("m_arena", "arena", true),
                                *const state = to_struct("m_state", "state", true);
    struct tree_var *const floats = tree_member(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", memory, "floats", 0),
                    *const halves = tree_member(&arena, VAR_ARRAY, DTYPE_UINT16, "uint16_t", memory, "uint16s", 0),
                    *const w = tree_member(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", state, "w", 8),
                    *const w_again = tree_member(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", state, "w", 8),
                    *const v = tree_member(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", state, "v", 8),
                    *const t = tree_var(&arena, VAR_POINTER, DTYPE_FLOAT, "float", "t");
    t->is_of_file = true; /* no declaration here */
    t->value = index_choose(&arena, index_text(&arena, "C"), at(v, 0), at(floats, 8));
    const struct {
        const struct expr *y, *x;
        bool is_restrict, meets;
    } cases[] = {{at(floats, 0), at(floats, 8), true, false},  {at(floats, 0), at(floats, 7), true, true},
                 {at(floats, 7), at(floats, 0), true, true},   {at(floats, 0), at(floats, 7), false, false},
                 {at(floats, 0), at(halves, 16), true, false}, {at(floats, 0), at(halves, 15), true, true},
                 {at(w, 0), at(v, 0), true, false},            {at(w, 0), at(w_again, 0), true, true},
                 {at(w, 0), at(t, 0), true, false},            {at(v, 0), at(t, 0), true, true},
                 {at(floats, 1), at(t, 0), true, true},        {at(floats, 0), at(t, 0), true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t->written = true;
        ck_assert_str_eq(verify_arguments(cases[i].y, cases[i].x, memory, state, cases[i].is_restrict),
                         cases[i].meets ? meets : "fine");
    }
}
END_TEST

/* A place in a loop is known by its index only. */
START_TEST(the_same_place_of_a_loop_is_not_apart)
{
    static const char *const expected[] = {"'y' is given memory that the function writes as another", "fine"};
    const struct tree_var *const memory = to_struct("m_arena", "arena", true);
    const struct tree_var *const i = tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 9),
                                *const x = tree_member(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", memory, "floats", 0);
    struct tree_function f = {.name = "steps"};
    struct tree_builder b = tree_builder(&arena, &f.body);
    const struct expr *const here = tree_read(&arena, i);
    const struct expr *const next = index_add(&arena, here, index_constant(&arena, 8));
    vec_push(&arena, &f.params, memory);
    tree_open_loop(&b, i, zero(), index_constant(&arena, 10), 1, LOOP_PLAIN);
    run(&b, kernel(true), tree_address(&arena, x, here), tree_address(&arena, x, _i == 0 ? here : next));
    tree_close(&b);
    const char *const wrong = tree_verify_function(&arena, &f, memory);
    ck_assert_str_eq(wrong ? wrong : "fine", expected[_i]);
}
END_TEST

START_TEST(what_is_declared_is_read)
{
    const struct tree_var *const state = to_struct("m_state", "state", true);
    struct tree_var *const w = weights_of(state), *const cell = tree_var(&arena, VAR_CELL, DTYPE_FLOAT, "float", "c");
    const struct expr *const one = expr_float(&arena, DTYPE_FLOAT, 1);
    struct tree_function f = {.name = "step"};
    struct tree_builder b = tree_builder(&arena, &f.body);
    vec_push(&arena, &f.params, state);
    ck_assert_str_eq(tree_verify_function(&arena, &f, NULL), "'state' is not read");
    tree_declare(&b, cell, one);
    tree_set(&b, tree_read(&arena, cell), SET_TO, one);
    tree_set(&b, tree_element(&arena, w, zero()), SET_TO, one); /* memory of others: that is a use */
    ck_assert_str_eq(tree_verify_function(&arena, &f, NULL), "'c' is not read");
    tree_set(&b, tree_element(&arena, w, zero()), SET_TO, tree_read(&arena, cell));
    ck_assert_ptr_null(tree_verify_function(&arena, &f, NULL));
}
END_TEST

/* ---- checks before writes ---------------------------------------------------------------------------------------- */

static void check(struct tree_builder *b, const char *status)
{
    tree_open_if(b, tree_call(&arena, DTYPE_INDEX, CALL_NAMED, "check", NULL, 0));
    tree_return(b, index_text(&arena, status));
    tree_close(b);
}

enum { WRITES, READS, CHECKS, SETS, PART_WRITES, PART_CHECKS, COPIES_FROM, COPIES_TO, WRITES_AND_RETURNS };

/* static stepc_status part(m_state *state), which checks or writes. */
static struct tree_function *part(bool writes)
{
    struct tree_function *const f = arena_new(&arena, struct tree_function);
    struct tree_builder b = tree_builder(&arena, &f->body);
    struct tree_var *const state = to_struct("m_state", "state", true);
    f->name = "part";
    vec_push(&arena, &f->params, state);
    if (writes)
        tree_set(&b, tree_element(&arena, weights_of(state), zero()), SET_TO, expr_float(&arena, DTYPE_FLOAT, 1));
    else
        check(&b, "STEPC_E_INDEX");
    tree_return(&b, index_text(&arena, "STEPC_OK"));
    return f;
}

static void put(struct tree_builder *b, const struct tree_var *state, int what)
{
    const struct tree_var *const w = weights_of(state), *const other = value_pointer("other", true, false);
    const struct expr *const to[] = {at(what == COPIES_TO ? w : other, 0), at(what == COPIES_TO ? other : w, 0)};
    switch (what) {
    case WRITES: run(b, kernel(true), at(w, 0), at(other, 0)); break;
    case READS: run(b, kernel(true), at(other, 0), at(w, 0)); break;
    case CHECKS: check(b, "STEPC_E_LABEL"); break;
    case SETS: tree_set(b, tree_element(&arena, w, zero()), SET_TO, expr_float(&arena, DTYPE_FLOAT, 1)); break;
    case PART_WRITES:
    case PART_CHECKS: run(b, part(what == PART_WRITES), at(state, 0), NULL); break;
    case COPIES_FROM:
    case COPIES_TO: tree_run(b, tree_call(&arena, DTYPE_INDEX, CALL_NAMED, "memcpy", to, 2)); break;
    case WRITES_AND_RETURNS:
        tree_open_if(b, index_text(&arena, "C"));
        put(b, state, SETS);
        tree_return(b, index_text(&arena, "STEPC_OK"));
        tree_close(b);
        break;
    }
}

START_TEST(what_may_fail_comes_before_writes)
{
    static const struct {
        int first, second;
        bool is_late;
    } cases[] = {{CHECKS, WRITES, false},      {WRITES, CHECKS, true},      {READS, CHECKS, false},
                 {SETS, CHECKS, true},         {PART_WRITES, CHECKS, true}, {PART_CHECKS, WRITES, false},
                 {WRITES, PART_CHECKS, true},  {COPIES_TO, CHECKS, true},   {COPIES_FROM, CHECKS, false},
                 {PART_CHECKS, CHECKS, false}, {WRITES, WRITES, false},     {WRITES_AND_RETURNS, CHECKS, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tree_var *const state = to_struct("m_state", "state", true);
        struct tree_function f = {.name = "m_step"};
        struct tree_builder b = tree_builder(&arena, &f.body);
        put(&b, state, cases[i].first);
        put(&b, state, cases[i].second);
        tree_return(&b, index_text(&arena, "STEPC_OK"));
        const char *const wrong = tree_verify_entry(&arena, &f, state);
        ck_assert_str_eq(wrong ? wrong : "fine", cases[i].is_late ? "'m_step' may fail when it has written" : "fine");
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("entry");
    tcase_add_checked_fixture(t, NULL, end);
    tcase_add_test(t, members_are_what_their_struct_is);
    tcase_add_loop_test(t, what_is_const_is_not_given_to_be_written, 0, 2);
    tcase_add_test(t, pointers_are_compared_with_pointers);
    tcase_add_test(t, what_a_call_writes_is_apart);
    tcase_add_loop_test(t, the_same_place_of_a_loop_is_not_apart, 0, 2);
    tcase_add_test(t, what_is_declared_is_read);
    tcase_add_test(t, what_may_fail_comes_before_writes);
    return run_tests("tree_entry", t);
}
