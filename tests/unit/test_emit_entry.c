/* Entries: where pointers are declared, blocks of what only outputs need, checks, parts, long lines. */
#include "emit/emit_internal.h"
#include "emit/entry.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct emission emission;
static struct expr_scope scope;
static struct tree_var *state, *memory, *seed, *out;
static const struct tree_var *outputs[2], *floats;

static struct tree_var *to_struct(const char *type, const char *name, bool written)
{
    struct tree_var *const v = tree_var(&arena, VAR_POINTER, DTYPE_INDEX, type, name);
    v->written = written;
    return v;
}

static void setup(void)
{
    emission = (struct emission){.arena = &arena, .helpers = {.arena = &arena}};
    scope = (struct expr_scope){.e = &emission, .arena = &arena};
    state = to_struct("m_state", "state", true);
    memory = to_struct("m_arena", "arena", true);
    seed = tree_var(&arena, VAR_VALUE, DTYPE_INDEX, "uint64_t", "seed");
    out = to_struct("m_step_outputs", "out", false);
    outputs[0] = tree_member(&arena, VAR_POINTER, DTYPE_FLOAT, "float", out, "loss", 8);
    outputs[1] = tree_member(&arena, VAR_POINTER, DTYPE_FLOAT, "float", out, "logits", 8);
    floats = tree_member(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", memory, "floats", 64);
}

static void teardown(void)
{
    arena_free(&arena);
}

enum { LOSS = 1, LOGITS = 2 };

static const struct expr *begin_of(const struct tree_var *v)
{
    return tree_address(&arena, v, index_constant(&arena, 0));
}

/* A local of 8 elements in the arena, or in an output if that is wanted. */
static struct tree_var *pointer(const char *name, const struct tree_var *output)
{
    struct tree_var *const v = tree_var(&arena, VAR_POINTER, DTYPE_FLOAT, "float", name);
    v->written = true;
    v->about = "[8]";
    v->value = tree_address(&arena, floats, index_constant(&arena, 8));
    if (output) {
        const struct expr *const is_wanted = index_compare(&arena, EXPR_NE, begin_of(output), tree_null(&arena));
        v->value = index_choose(&arena, is_wanted, begin_of(output), v->value);
    }
    return v;
}

/* LOSS, LOGITS or both, as a guard. */
static struct guard guard_of(unsigned of)
{
    struct guard g = {0};
    for (int i = 0; i < 2; i++)
        if (of >> i & 1)
            g.output[g.count++] = i;
    return g;
}

static const struct expr *call(const char *name, const struct expr *x, const struct expr *y)
{
    const struct expr *const args[] = {x, y};
    return tree_call(&arena, DTYPE_INDEX, CALL_NAMED, name, args, (size_t)(x != NULL) + (y != NULL));
}

/* A call of a kernel with up to two arguments. */
static void run_with(struct entry_steps *l, unsigned guard, const struct expr *x, const struct expr *y)
{
    struct entry_step s = {.guard = guard_of(guard), .kernel = "f"};
    struct tree_builder b = tree_builder(&arena, &s.body);
    tree_run(&b, call("f", x, y));
    entry_add_step(l, s);
}

static void run(struct entry_steps *l, unsigned guard, const struct tree_var *x, const struct tree_var *y)
{
    run_with(l, guard, x ? begin_of(x) : NULL, y ? begin_of(y) : NULL);
}

static void check(struct entry_steps *l, unsigned guard, const struct expr *argument)
{
    struct entry_step s = {.guard = guard_of(guard), .kernel = "check", .may_fail = true};
    struct tree_builder b = tree_builder(&arena, &s.body);
    entry_put_check(&b, call("check", argument, NULL), index_text(&arena, "STEPC_E_LABEL"));
    entry_add_step(l, s);
}

static const char *text_of(const stmt_list *body)
{
    struct writer w = {.text = {.arena = &arena}};
    print_statements(&scope, &w, body);
    return strbuf_text(&w.text);
}

static void is_text(struct entry_steps *l, const char *expected)
{
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    entry_put_steps(l, 0, l->steps.count, &b);
    ck_assert_str_eq(text_of(&body), expected);
}

START_TEST(pointers_stand_in_front_of_their_first_use)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct tree_var *const x = pointer("x", NULL), *const y = pointer("y", NULL);
    run(&l, 0, x, NULL);
    run(&l, 0, y, x);
    is_text(&l, "float *const x = arena->floats + 8; /* [8] */\n"
                "f(x);\n"
                "float *const y = arena->floats + 8; /* [8] */\n"
                "f(y, x);\n");
}
END_TEST

START_TEST(a_block_keeps_what_it_alone_names)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct tree_var *const x = pointer("x", NULL), *const y = pointer("y", NULL);
    run(&l, LOSS, x, y);
    run(&l, LOSS, x, NULL);
    run(&l, LOSS | LOGITS, y, NULL);
    is_text(&l, "float *const y = arena->floats + 8; /* [8] */\n"
                "if (out->loss != NULL) {\n"
                "    float *const x = arena->floats + 8; /* [8] */\n"
                "    f(x, y);\n"
                "    f(x);\n"
                "}\n"
                "if (out->loss != NULL || out->logits != NULL)\n"
                "    f(y);\n");
}
END_TEST

/* Of a block's second step, what a later block names as well stands before the first. */
START_TEST(what_outlives_a_block_stands_before_it)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct tree_var *const x = pointer("x", NULL), *const y = pointer("y", NULL);
    run(&l, LOSS, x, NULL);
    run(&l, LOSS, y, NULL);
    run(&l, LOGITS, y, NULL);
    is_text(&l, "float *const y = arena->floats + 8; /* [8] */\n"
                "if (out->loss != NULL) {\n"
                "    float *const x = arena->floats + 8; /* [8] */\n"
                "    f(x);\n"
                "    f(y);\n"
                "}\n"
                "if (out->logits != NULL)\n"
                "    f(y);\n");
}
END_TEST

START_TEST(an_output_is_asked_for_unless_its_block_has_asked)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct tree_var *const x = pointer("x", outputs[0]), *const y = pointer("y", outputs[0]);
    run(&l, LOSS, x, NULL);
    run(&l, LOSS, x, NULL);
    run(&l, LOGITS, y, NULL);
    is_text(&l, "if (out->loss != NULL) {\n"
                "    float *const x = out->loss; /* [8] */\n"
                "    f(x);\n"
                "    f(x);\n"
                "}\n"
                "if (out->logits != NULL) {\n"
                "    float *const y = out->loss != NULL ? out->loss : arena->floats + 8; /* [8] */\n"
                "    f(y);\n"
                "}\n");
}
END_TEST

START_TEST(a_block_of_two_outputs_has_asked_for_neither)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct tree_var *const x = pointer("x", outputs[0]), *const y = pointer("y", outputs[1]);
    run(&l, LOSS | LOGITS, x, y);
    run(&l, LOSS | LOGITS, y, x);
    is_text(&l, "if (out->loss != NULL || out->logits != NULL) {\n"
                "    float *const x = out->loss != NULL ? out->loss : arena->floats + 8; /* [8] */\n"
                "    float *const y = out->logits != NULL ? out->logits : arena->floats + 8; /* [8] */\n"
                "    f(x, y);\n"
                "    f(y, x);\n"
                "}\n");
}
END_TEST

/* All steps in parts: their functions, which are verified, and what calls them. */
static const char *parts_of(const struct entry_steps *l, struct name_scope *file, tree_functions *functions)
{
    tree_vars params = {0};
    struct tree_var *const all[] = {state, memory, seed, out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        vec_push(&arena, &params, all[i]);
    const struct entry_function f = {"m", "step", &params, file, &scope};
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    entry_put_parts(l, &f, functions, &b);
    vec_each(struct tree_function *, part, functions)
        ck_assert_ptr_null(tree_verify(&arena, &part->params, &part->body));
    ck_assert_ptr_null(tree_verify(&arena, &params, &body));
    return text_of(&body);
}

/* 60 calls: two functions, which declare what they name again; a check may end the first of them. */
START_TEST(a_long_entry_has_parts)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct name_scope file = {.taken = {.arena = &arena}};
    struct tree_var *const x = pointer("x", NULL);
    tree_functions parts = {0};
    map_set(&file.taken, "m_step_from_check", NULL);
    check(&l, 0, NULL);
    for (int i = 0; i < 60; i++) /* not the last one, nor all */
        run_with(&l, 0, begin_of(x), i == 50 ? tree_read(&arena, seed) : NULL);
    ck_assert_str_eq(parts_of(&l, &file, &parts), "stepc_status status = m_step_from_check_2(arena);\n"
                                                  "if (status != STEPC_OK)\n    return status;\n"
                                                  "m_step_from_f(arena, seed);\n");
    ck_assert_uint_eq(parts.count, 2);
    const char *const first = function_text(&scope, parts.data[0]),
                     *const second = function_text(&scope, parts.data[1]);
    ck_assert_ptr_eq(strstr(first, "/* m_step(): check() to f(). */\n"
                                   "static stepc_status m_step_from_check_2(m_arena *arena)\n{\n"
                                   "    if (check() != STEPC_OK)\n        return STEPC_E_LABEL;\n"
                                   "    float *const x = arena->floats + 8; /* [8] */\n"
                                   "    f(x);\n"),
                     first);
    ck_assert_ptr_nonnull(strstr(first, "    f(x);\n    return STEPC_OK;\n}\n"));
    ck_assert_ptr_nonnull(strstr(second, "static void m_step_from_f(m_arena *arena, uint64_t seed)\n{\n"
                                         "    float *const x = arena->floats + 8; /* [8] */\n"
                                         "    f(x);\n"));
}
END_TEST

/* Two parts that may fail: the first declares what both return. */
START_TEST(parts_share_a_status)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct name_scope file = {.taken = {.arena = &arena}};
    tree_functions parts = {0};
    for (int i = 0; i < 30; i++)
        check(&l, 0, NULL);
    ck_assert_str_eq(parts_of(&l, &file, &parts), "stepc_status status = m_step_from_check();\n"
                                                  "if (status != STEPC_OK)\n    return status;\n"
                                                  "status = m_step_from_check_2();\n"
                                                  "if (status != STEPC_OK)\n    return status;\n");
}
END_TEST

START_TEST(two_statements_of_a_step_stay_together)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct tree_var *const x = pointer("x", NULL);
    for (int i = 0; i < 2; i++) {
        struct entry_step s = {.guard = guard_of(LOSS), .kernel = "f"};
        struct tree_builder b = tree_builder(&arena, &s.body);
        tree_run(&b, call("STEPC_TRACE", index_constant(&arena, i), NULL));
        tree_run(&b, call("f", i == 0 ? begin_of(x) : NULL, NULL));
        entry_add_step(&l, s);
        check(&l, 0, NULL);
    }
    is_text(&l, "if (out->loss != NULL) {\n"
                "    float *const x = arena->floats + 8; /* [8] */\n"
                "    STEPC_TRACE(0);\n"
                "    f(x);\n"
                "}\n"
                "if (check() != STEPC_OK)\n"
                "    return STEPC_E_LABEL;\n"
                "if (out->loss != NULL) {\n"
                "    STEPC_TRACE(1);\n"
                "    f();\n"
                "}\n"
                "if (check() != STEPC_OK)\n"
                "    return STEPC_E_LABEL;\n");
}
END_TEST

START_TEST(other_steps)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct tree_var *const w = tree_member(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", state, "w", 6),
                    *const r = tree_member(&arena, VAR_CELL, DTYPE_FLOAT, "float", state, "r", 1),
                    *const draws = tree_member(&arena, VAR_CELL, DTYPE_INDEX, "uint64_t", state, "draws", 1);
    struct tree_var *const i = tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 5);
    w->rank = 2;
    w->is_cast = true;
    check(&l, LOSS, begin_of(outputs[1]));
    struct entry_step s = {0};
    struct tree_builder b = tree_builder(&arena, &s.body);
    tree_open_loop(&b, i, index_constant(&arena, 0), index_constant(&arena, 6), 1, LOOP_PLAIN);
    tree_set(&b, tree_element(&arena, w, tree_read(&arena, i)), SET_TO, expr_float(&arena, DTYPE_FLOAT, 1));
    tree_close(&b);
    const struct expr *const fill[] = {tree_whole(&arena, w), index_constant(&arena, 0), tree_bytes(&arena, w)};
    tree_run(&b, tree_call(&arena, DTYPE_INDEX, CALL_NAMED, "memset", fill, 3));
    tree_run(&b, call("f", begin_of(w), begin_of(r)));
    tree_run(&b, call("clear", begin_of(state), tree_bytes(&arena, state)));
    tree_set(&b, tree_read(&arena, r), SET_TO, tree_element(&arena, w, index_constant(&arena, 0)));
    tree_set(&b, tree_read(&arena, draws), SET_SUM, index_constant(&arena, 1));
    tree_run(&b, index_cast(&arena, "void", begin_of(out)));
    entry_add_step(&l, s);
    is_text(&l, "if (out->loss != NULL) {\n"
                "    if (check(out->logits) != STEPC_OK)\n"
                "        return STEPC_E_LABEL;\n"
                "}\n"
                "for (int i = 0; i < 6; i++)\n"
                "    ((float *)state->w)[i] = 1.0f;\n"
                "memset(state->w, 0, sizeof state->w);\n"
                "f((float *)state->w, &state->r);\n"
                "clear(state, sizeof *state);\n"
                "state->r = state->w[0][0];\n"
                "state->draws++;\n"
                "(void)out;\n");
}
END_TEST

/* stepc_status call_step(void *state, const void *const *in): what any program may call */
START_TEST(structs_are_made_of_what_wrappers_are_given)
{
    struct tree_function step = {.name = "m_step"},
                         f = {.name = "call_step", .type = "stepc_status"};
    struct tree_builder b = tree_builder(&arena, &f.body);
    struct tree_var *const any_state = to_struct("void", "state", true),
                    *const in = to_struct("void *const", "in", false);
    const struct expr *members[12], *args[2] = {tree_whole(&arena, any_state)};
    for (int i = 0; i < 12; i++)
        members[i] = tree_element(&arena, in, index_constant(&arena, 1000000 + i));
    vec_push(&arena, &f.params, any_state);
    vec_push(&arena, &f.params, in);
    vec_push(&arena, &step.params, state);
    vec_push(&arena, &step.params, to_struct("m_step_inputs", "in", false));
    args[1] = tree_call(&arena, DTYPE_INDEX, CALL_STRUCT, "m_step_inputs", members, 12);
    tree_return(&b, tree_call_function(&arena, &step, args, 2));
    ck_assert_ptr_null(tree_verify_function(&arena, &f, NULL));
    ck_assert_str_eq(function_text(&scope, &f),
                     "static stepc_status call_step(void *state, const void *const *in)\n"
                     "{\n"
                     "    return m_step(state, &(m_step_inputs){in[1000000], in[1000001], in[1000002], in[1000003], "
                     "in[1000004],\n"
                     "            in[1000005], in[1000006], in[1000007], in[1000008], in[1000009], "
                     "in[1000010], in[1000011]});\n"
                     "}\n");
}
END_TEST

START_TEST(matrices_have_rows_and_columns)
{
    struct tree_var *const w = tree_member(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", state, "w", 6);
    const struct expr *const i = tree_read(&arena, tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 5)),
                      *const four = index_text(&arena, "4u");
    stmt_list body = {0};
    struct tree_builder b = tree_builder(&arena, &body);
    w->rank = 2;
    tree_set(&b, tree_matrix(&arena, w, index_mod(&arena, i, four), index_div(&arena, i, four)), SET_TO,
             expr_float(&arena, DTYPE_FLOAT, 1));
    ck_assert_str_eq(text_of(&body), "state->w[i % 4u][i / 4u] = 1.0f;\n");
}
END_TEST

#define TEN "ten_letter"
#define LONG TEN TEN TEN TEN "s"

START_TEST(long_lines_are_broken_and_their_comments_stand_above)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    const struct tree_var *const output = tree_member(&arena, VAR_POINTER, DTYPE_FLOAT, "float", out, LONG, 8);
    run(&l, 0, pointer(LONG "1", output), pointer(LONG LONG, NULL));
    is_text(&l, "/* [8] */\n"
                "float *const " LONG "1 = out->" LONG " != NULL\n"
                "        ? out->" LONG " : arena->floats + 8;\n"
                "/* [8] */\n"
                "float *const " LONG LONG " = arena->floats + 8;\n"
                "f(" LONG "1,\n"
                "        " LONG LONG ");\n");
}
END_TEST

START_TEST(a_first_parameter_without_room_stands_below)
{
    struct tree_function f = {.name = LONG LONG LONG, .type = "void"};
    vec_push(&arena, &f.params, tree_var(&arena, VAR_VALUE, DTYPE_INDEX, "int", "n"));
    vec_push(&arena, &f.params, tree_var(&arena, VAR_VALUE, DTYPE_INDEX, "int", "m"));
    ck_assert_str_eq(function_text(&scope, &f), "static void " LONG LONG LONG "(\n"
                                               "        int n, int m)\n"
                                               "{\n"
                                               "}\n");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("entry");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, pointers_stand_in_front_of_their_first_use);
    tcase_add_test(t, a_block_keeps_what_it_alone_names);
    tcase_add_test(t, what_outlives_a_block_stands_before_it);
    tcase_add_test(t, an_output_is_asked_for_unless_its_block_has_asked);
    tcase_add_test(t, a_block_of_two_outputs_has_asked_for_neither);
    tcase_add_test(t, a_long_entry_has_parts);
    tcase_add_test(t, parts_share_a_status);
    tcase_add_test(t, two_statements_of_a_step_stay_together);
    tcase_add_test(t, other_steps);
    tcase_add_test(t, structs_are_made_of_what_wrappers_are_given);
    tcase_add_test(t, matrices_have_rows_and_columns);
    tcase_add_test(t, a_first_parameter_without_room_stands_below);
    tcase_add_test(t, long_lines_are_broken_and_their_comments_stand_above);
    return run_tests("emit_entry", t);
}
