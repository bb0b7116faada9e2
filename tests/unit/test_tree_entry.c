/* Trees of entries: members of structs. */
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

int main(void)
{
    TCase *t = tcase_create("entry");
    tcase_add_checked_fixture(t, NULL, end);
    tcase_add_test(t, members_are_what_their_struct_is);
    tcase_add_loop_test(t, what_is_const_is_not_given_to_be_written, 0, 2);
    tcase_add_test(t, pointers_are_compared_with_pointers);
    return run_tests("tree_entry", t);
}
