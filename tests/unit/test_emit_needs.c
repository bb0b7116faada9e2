/* What trees need of the runtime: which operations are functions, and where names are from. */
#include "emit/emit_internal.h"
#include "suite.h"

#include <check.h>

static struct arena arena;

static void end(void)
{
    arena_free(&arena);
}

static const struct expr *value(enum dtype d)
{
    return tree_read(&arena, tree_var(&arena, VAR_VALUE, d, c_type(d), "x"));
}

/* x op y */
static struct expr made(enum expr_op op, enum dtype to, enum dtype of)
{
    return (struct expr){.op = op, .dtype = to, .arg = {value(of), value(of), value(of)}};
}

#define C "C" /* plain C does it */

static const struct {
    enum expr_op op;
    enum dtype to, of;
    const char *name, *inner;
} cases[] = {
    {EXPR_ADD, DTYPE_FLOAT, DTYPE_FLOAT, C, C},
    {EXPR_ADD, DTYPE_INT32, DTYPE_INT32, "stepc_add32", C},
    {EXPR_SUB, DTYPE_INT64, DTYPE_INT64, "stepc_sub64", C},
    {EXPR_MUL, DTYPE_UINT32, DTYPE_UINT32, C, C},
    {EXPR_MUL, DTYPE_INT8, DTYPE_INT8, "stepc_signed8", C},
    {EXPR_NEG, DTYPE_INT16, DTYPE_INT16, "stepc_signed16", C},
    {EXPR_NEG, DTYPE_INT32, DTYPE_INT32, "stepc_sub32", C},
    {EXPR_DIV, DTYPE_UINT8, DTYPE_UINT8, "stepc_divu32", C},
    {EXPR_MOD, DTYPE_DOUBLE, DTYPE_DOUBLE, "stepc_fmod", C},
    {EXPR_MOD, DTYPE_INT64, DTYPE_INT64, "stepc_rem64", C},
    {EXPR_MOD, DTYPE_UINT64, DTYPE_UINT64, "stepc_modu64", C},
    {EXPR_POW, DTYPE_FLOAT, DTYPE_FLOAT, "stepc_powf", C},
    {EXPR_SHL, DTYPE_UINT16, DTYPE_UINT16, "stepc_shl32", C},
    {EXPR_ADD, DTYPE_INDEX, DTYPE_INDEX, C, C},
    {EXPR_MOD, DTYPE_INDEX, DTYPE_INDEX, C, C},
    {EXPR_CAST, DTYPE_FLOAT, DTYPE_FLOAT16, "stepc_float16_to_float", C},
    {EXPR_CAST, DTYPE_INT32, DTYPE_FLOAT, "stepc_float_to_int32", C},
    {EXPR_CAST, DTYPE_FLOAT, DTYPE_INT32, C, C},
    {EXPR_CAST, DTYPE_BOOL, DTYPE_FLOAT, C, C},
    {EXPR_CAST, DTYPE_INT4, DTYPE_INT32, "stepc_signed4", C},
    {EXPR_CAST, DTYPE_UINT4, DTYPE_INT32, C, C},
    {EXPR_BITS, DTYPE_INT32, DTYPE_FLOAT, "stepc_signed32", "stepc_bitsf"},
    {EXPR_BITS, DTYPE_DOUBLE, DTYPE_INT64, "stepc_from_bits", C},
    {EXPR_BITS, DTYPE_UINT64, DTYPE_DOUBLE, C, "stepc_bits"},
};

START_TEST(some_operations_are_functions)
{
    const struct expr e = made(cases[_i].op, cases[_i].to, cases[_i].of);
    const struct op_helpers h = op_helpers(&arena, &e);
    ck_assert_str_eq(h.name ? h.name : C, cases[_i].name);
    ck_assert_str_eq(h.inner ? h.inner : C, cases[_i].inner);
}
END_TEST

/* float lane[WIDTH]; STEPC_LANE_LOOP for (i < 4) { lane[i] = fold(stepc_expf(x) by bits) + ROWS } */
START_TEST(headers_are_found_wherever_a_name_of_theirs_stands)
{
    static const char *const headers[] = {"kernels/width.h", "kernels/stepc_registers.h", "kernels/fold.h",
                                          "kernels/rows.h"};
    struct emission e = {.arena = &arena, .helpers = {.arena = &arena}, .includes = {.arena = &arena}};
    struct tree_function f = {.name = "f"};
    struct tree_builder b = tree_builder(&arena, &f.body);
    struct tree_var *const lane = tree_var(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", "lane"),
                    *const width = tree_var(&arena, VAR_MACRO, DTYPE_INDEX, "int", "WIDTH"),
                    *const rows = tree_var(&arena, VAR_MACRO, DTYPE_FLOAT, "float", "ROWS"),
                    *const i = tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 3);
    const struct expr *const x = expr_math(&arena, EXPR_FN_EXP, value(DTYPE_FLOAT));
    width->from = headers[0];
    rows->from = headers[3];
    lane->extent = tree_read(&arena, width);
    tree_declare_array(&b, lane, NULL, 0);
    tree_open_loop(&b, i, index_constant(&arena, 0), index_constant(&arena, 4), 1, LOOP_LANES);
    const struct expr *const sum = tree_call_routine(&arena, DTYPE_FLOAT, "fold", headers[2], &x, 1);
    tree_set(&b, tree_element(&arena, lane, tree_read(&arena, i)), SET_TO,
             expr_binary(&arena, EXPR_ADD, sum, tree_read(&arena, rows)));
    tree_close(&b);
    note_needs(&e, &f);
    ck_assert_uint_eq(e.includes.count, 4);
    for (int h = 0; h < 4; h++)
        ck_assert(map_has(&e.includes, headers[h]));
    ck_assert_uint_eq(e.helpers.count, 1);
    ck_assert(map_has(&e.helpers, "stepc_expf"));
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("needs");
    tcase_add_checked_fixture(t, NULL, end);
    tcase_add_loop_test(t, some_operations_are_functions, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(t, headers_are_found_wherever_a_name_of_theirs_stands);
    return run_tests("emit_needs", t);
}
