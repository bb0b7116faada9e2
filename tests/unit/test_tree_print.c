/* Trees as --dump-after tree prints them: each statement, and what C does not show. */
#include "tree/tree.h"
#include "suite.h"

#include <check.h>

static struct arena arena;

static void end(void)
{
    arena_free(&arena);
}

static const struct expr *number(int64_t x)
{
    return index_constant(&arena, x);
}

static struct tree_var *floats(enum var_kind kind, const char *name, int64_t count)
{
    struct tree_var *const v = tree_var(&arena, kind, DTYPE_FLOAT, "float", name);
    v->count = count;
    return v;
}

static void put_loop(struct tree_builder *b, const struct tree_var *y, const struct tree_var *x)
{
    const struct tree_var *const i = tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 7);
    const struct expr *const at = tree_read(&arena, i), *const element = tree_element(&arena, x, at);
    tree_open_loop(b, i, number(0), number(8), 1, LOOP_UNROLLED);
    tree_open_if(b, tree_condition(&arena, EXPR_LT, element, expr_float(&arena, DTYPE_FLOAT, 0.5)));
    tree_set(b, tree_element(&arena, y, at), SET_SUM, expr_math(&arena, EXPR_FN_EXP, element));
    tree_close(b);
    tree_open_else(b);
    tree_set(b, tree_element(&arena, y, index_add(&arena, at, number(1))), SET_TO,
             expr_unary(&arena, EXPR_NEG, element));
    tree_close(b);
    tree_close(b);
}

/* Forms of loops that templates have, behind each other. */
static void put_other_loops(struct tree_builder *b)
{
    const struct tree_var *const k = tree_var(&arena, VAR_LOOP, DTYPE_INDEX, "int", "k");
    struct stmt *const down = tree_open_loop(b, k, number(7), NULL, -1, LOOP_PLAIN);
    down->condition = index_compare(&arena, EXPR_GE, tree_read(&arena, k), number(0));
    tree_close(b);
    const struct tree_var *const m = tree_var(&arena, VAR_LOOP, DTYPE_INDEX, "int", "m");
    struct stmt *const doubling = tree_open_loop(b, m, number(1), number(9), 0, LOOP_PLAIN);
    doubling->next = index_mul(&arena, tree_read(&arena, m), number(2));
    tree_close(b);
}

static void put_calls(struct tree_builder *b, const struct tree_var *state, const struct tree_var *x)
{
    struct tree_var *const w = tree_member(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", state, "w", 6);
    const struct expr *const from = tree_address(&arena, x, number(2));
    const struct expr *const copy[] = {tree_whole(&arena, w), from, tree_bytes(&arena, w)};
    const struct expr *const member = tree_element(&arena, x, number(0)), *const none = tree_null(&arena);
    w->rank = 2;
    tree_run(b, tree_call(&arena, DTYPE_INDEX, CALL_NAMED, "memcpy", copy, 3));
    tree_run(b, tree_call(&arena, DTYPE_INDEX, CALL_STRUCT, "m_inputs", &member, 1));
    tree_run(b, tree_call_routine(&arena, DTYPE_INDEX, "stepc_fold16", "kernels/stepc_sum.h", &none, 1));
    tree_set(b, tree_matrix(&arena, w, number(1), number(2)), SET_MAX, member);
    tree_run(b, index_cast(&arena, "void", tree_read(&arena, floats(VAR_VALUE, "seed", 0))));
}

START_TEST(functions_are_printed)
{
    struct tree_function f = {.name = "f", .type = "stepc_status"};
    struct tree_builder b = tree_builder(&arena, &f.body);
    struct tree_var *const y = floats(VAR_POINTER, "y", 9), *const x = floats(VAR_POINTER, "x", 8),
                    *const state = tree_var(&arena, VAR_POINTER, DTYPE_INDEX, "m_state", "state"),
                    *const lane = floats(VAR_ARRAY, "lane", 4), *const wide = floats(VAR_ARRAY, "wide", 0);
    y->written = y->is_restrict = state->written = true;
    wide->extent = tree_read(&arena, tree_var(&arena, VAR_MACRO, DTYPE_INDEX, "int", "WIDTH"));
    vec_push(&arena, &f.params, y);
    vec_push(&arena, &f.params, x);
    vec_push(&arena, &f.params, state);
    tree_declare_array(&b, lane, expr_float(&arena, DTYPE_FLOAT, 0), 2);
    tree_declare_array(&b, wide, NULL, 0);
    put_loop(&b, y, x);
    put_other_loops(&b);
    put_calls(&b, state, x);
    tree_return(&b, index_text(&arena, "STEPC_OK"));
    ck_assert_str_eq(tree_print(&arena, &f), "stepc_status f\n"
                                             "  takes float *restrict y[9]\n"
                                             "  takes const float *x[8]\n"
                                             "  takes m_state *state\n"
                                             "  declare float lane[4] = 0 x 2\n"
                                             "  declare float wide[WIDTH]\n"
                                             "  UNROLLED loop int i in 0..7 from 0 to 8 by 1\n"
                                             "    if lt.bool(x[i], 0.5)\n"
                                             "      set y[i] += exp.float(x[i])\n"
                                             "    else\n"
                                             "      set y[add(i, 1)] = neg.float(x[i])\n"
                                             "  loop int k from 7 while ge(k, 0) by -1\n"
                                             "  loop int m from 1 to 9 next mul(m, 2)\n"
                                             "  call c memcpy(memory state.w, at x[2], bytes state.w)\n"
                                             "  call struct m_inputs(x[0])\n"
                                             "  call routine stepc_fold16(null)\n"
                                             "  set state.w[1][2] max= x[0]\n"
                                             "  call cast void(seed)\n"
                                             "  return STEPC_OK\n");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("print");
    tcase_add_checked_fixture(t, NULL, end);
    tcase_add_test(t, functions_are_printed);
    return run_tests("tree_print", t);
}
