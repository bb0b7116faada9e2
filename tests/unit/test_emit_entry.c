/* Entries as text: where pointers are declared, blocks of what only outputs need, checks, long lines. */
#include "emit/entry.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static void teardown(void)
{
    arena_free(&arena);
}

enum { LOSS = 1, LOGITS = 2 };
static const char *const outputs[] = {"out->loss != NULL", "out->logits != NULL"};

static struct entry_pointer *pointer(const char *name, const char *wanted, unsigned of)
{
    struct entry_pointer *const p = arena_new(&arena, struct entry_pointer);
    *p = (struct entry_pointer){.type = "float", .name = name, .place = "arena->floats + 8", .wanted = wanted,
                                .wanted_output = of == LOGITS, .about = "[8]"};
    return p;
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

/* A call of kernel number `steps` with up to two pointers. */
static void run(struct entry_steps *l, unsigned guard, struct entry_pointer *x, struct entry_pointer *y)
{
    struct entry_step s = {.kind = STEP_RUN, .guard = guard_of(guard), .kernel = (int)l->steps.count, .name = "f"};
    struct entry_pointer *const both[] = {x, y};
    for (int i = 0; i < 2; i++)
        if (both[i]) {
            entry_use_pointer(l, both[i]);
            vec_push(&arena, &s.arguments, both[i]->name);
        }
    entry_add_step(l, s);
}

static void is_text(struct entry_steps *l, const char *expected)
{
    struct writer w = {.text = {.arena = &arena}};
    print_entry_steps(l, 0, l->steps.count, &w);
    ck_assert_str_eq(strbuf_text(&w.text), expected);
}

START_TEST(pointers_stand_in_front_of_their_first_use)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct entry_pointer *const x = pointer("x", NULL, 0), *const y = pointer("y", NULL, 0);
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
    struct entry_pointer *const x = pointer("x", NULL, 0), *const y = pointer("y", NULL, 0);
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

START_TEST(an_output_is_asked_for_unless_its_block_has_asked)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct entry_pointer *const x = pointer("x", "out->loss", LOSS), *const y = pointer("y", "out->loss", LOSS);
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
    struct entry_pointer *const x = pointer("x", "out->loss", LOSS), *const y = pointer("y", "out->logits", LOGITS);
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

/* 60 calls: two functions, which declare what they name again; a check may end the first of them. */
START_TEST(a_long_entry_has_parts)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct name_scope file = {.taken = {.arena = &arena}};
    const struct entry_function f = {"m", "step", true, &file};
    struct writer functions = {.text = {.arena = &arena}}, body = functions;
    struct entry_pointer *const x = pointer("x", NULL, 0);
    map_set(&file.taken, "m_step_from_check", NULL);
    const struct entry_step check = {.kind = STEP_CHECK, .kernel = 0, .name = "check", .status = "STEPC_E_LABEL"};
    entry_add_step(&l, check);
    for (int i = 0; i < 60; i++) {
        l.uses = i == 50 ? USES_ARENA | USES_SEED : USES_ARENA; /* not the last one, nor all */
        run(&l, 0, x, NULL);
    }
    print_entry_parts(&l, &f, &functions, &body);
    const char *const text = strbuf_text(&functions.text);
    ck_assert_ptr_nonnull(strstr(text, "/* m_step(): check() to f(). */\n"
                                       "static stepc_status m_step_from_check_2(m_arena *arena)\n{\n"
                                       "    if (check() != STEPC_OK)\n        return STEPC_E_LABEL;\n"
                                       "    float *const x = arena->floats + 8; /* [8] */\n"
                                       "    f(x);\n"));
    ck_assert_ptr_nonnull(strstr(text, "    f(x);\n    return STEPC_OK;\n}\n"));
    ck_assert_ptr_nonnull(strstr(text, "static void m_step_from_f(m_arena *arena, uint64_t seed)\n{\n"
                                       "    float *const x = arena->floats + 8; /* [8] */\n"
                                       "    f(x);\n"));
    ck_assert_str_eq(strbuf_text(&body.text), "stepc_status status = m_step_from_check_2(arena);\n"
                                             "if (status != STEPC_OK)\n    return status;\n"
                                             "m_step_from_f(arena, seed);\n");
}
END_TEST

/* Two parts that may fail: the first declares what both return. */
START_TEST(parts_share_a_status)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct name_scope file = {.taken = {.arena = &arena}};
    const struct entry_function f = {"m", "step", true, &file};
    struct writer functions = {.text = {.arena = &arena}}, body = functions;
    for (int i = 0; i < 30; i++)
        entry_add_step(&l, (struct entry_step){.kind = STEP_CHECK, .name = "check", .status = "STEPC_E_LABEL"});
    l.uses = 0;
    print_entry_parts(&l, &f, &functions, &body);
    ck_assert_str_eq(strbuf_text(&body.text), "stepc_status status = m_step_from_check();\n"
                                              "if (status != STEPC_OK)\n    return status;\n"
                                              "status = m_step_from_check_2();\n"
                                              "if (status != STEPC_OK)\n    return status;\n");
}
END_TEST

START_TEST(traces_stand_in_front_of_kernels_and_checks)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs, .traces = true};
    run(&l, LOSS, pointer("x", NULL, 0), NULL);
    const struct entry_step check = {.kind = STEP_CHECK, .kernel = 1, .name = "check", .status = "STEPC_E_LABEL"};
    entry_add_step(&l, check);
    entry_add_step(&l, (struct entry_step){.kind = STEP_SET, .guard = guard_of(LOSS), .target = "a", .value = "1"});
    is_text(&l, "if (out->loss != NULL) {\n"
                "    float *const x = arena->floats + 8; /* [8] */\n"
                "    STEPC_TRACE(0, \"f\");\n"
                "    f(x);\n"
                "}\n"
                "STEPC_TRACE(1, \"check\");\n"
                "if (check() != STEPC_OK)\n"
                "    return STEPC_E_LABEL;\n"
                "if (out->loss != NULL)\n"
                "    a = 1;\n");
    struct entry_steps bare = {.arena = &arena, .outputs = outputs, .traces = true};
    run(&bare, LOSS, NULL, NULL);
    is_text(&bare, "if (out->loss != NULL) {\n"
                   "    STEPC_TRACE(0, \"f\");\n"
                   "    f();\n"
                   "}\n");
}
END_TEST

START_TEST(other_steps)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    struct entry_step check = {.kind = STEP_CHECK, .guard = guard_of(LOSS), .kernel = 4, .name = "check_labels"};
    check.status = "STEPC_E_LABEL";
    vec_push(&arena, &check.arguments, "in->target");
    entry_add_step(&l, check);
    entry_add_step(&l, (struct entry_step){.kind = STEP_FILL, .target = "state->w", .value = "1.0f", .count = 32766});
    entry_add_step(&l, (struct entry_step){.kind = STEP_FILL, .target = "state->w", .value = "1.0f", .count = 32767});
    entry_add_step(&l, (struct entry_step){.kind = STEP_SET, .target = "state->r", .value = "0.1f"});
    is_text(&l, "if (out->loss != NULL) {\n"
                "    if (check_labels(in->target) != STEPC_OK)\n"
                "        return STEPC_E_LABEL;\n"
                "}\n"
                "for (int i = 0; i < 32766; i++)\n"
                "    state->w[i] = 1.0f;\n"
                "for (int32_t i = 0; i < 32767; i++)\n"
                "    state->w[i] = 1.0f;\n"
                "state->r = 0.1f;\n");
}
END_TEST

#define TEN "ten_letter"
#define LONG TEN TEN TEN TEN "s"

START_TEST(long_lines_are_broken_and_their_comments_stand_above)
{
    struct entry_steps l = {.arena = &arena, .outputs = outputs};
    run(&l, 0, pointer(LONG "1", "out->" LONG, LOSS), pointer(LONG LONG, NULL, 0));
    is_text(&l, "/* [8] */\n"
                "float *const " LONG "1 = out->" LONG " != NULL\n"
                "    ? out->" LONG " : arena->floats + 8;\n"
                "/* [8] */\n"
                "float *const " LONG LONG " = arena->floats + 8;\n"
                "f(" LONG "1,\n"
                "  " LONG LONG ");\n");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("entry");
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_add_test(t, pointers_stand_in_front_of_their_first_use);
    tcase_add_test(t, a_block_keeps_what_it_alone_names);
    tcase_add_test(t, an_output_is_asked_for_unless_its_block_has_asked);
    tcase_add_test(t, a_block_of_two_outputs_has_asked_for_neither);
    tcase_add_test(t, a_long_entry_has_parts);
    tcase_add_test(t, parts_share_a_status);
    tcase_add_test(t, traces_stand_in_front_of_kernels_and_checks);
    tcase_add_test(t, other_steps);
    tcase_add_test(t, long_lines_are_broken_and_their_comments_stand_above);
    return run_tests("emit_entry", t);
}
