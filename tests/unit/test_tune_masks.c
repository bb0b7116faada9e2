/* What the whole vectors of a sum leave: which loops get a mask, and what stands in them. */
#include "tune/tune.h"
#include "suite.h"

#include <check.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { LANES = 16, WHOLE = 112, REST = 13 };

static struct arena arena;
static struct tree_builder b;
static struct tree_function f;
static const struct tree_var *x, *l;

static void end(void)
{
    arena_free(&arena);
}

static const struct expr *number(int64_t value)
{
    return index_constant(&arena, value);
}

static const struct tree_var *lanes(const char *name)
{
    struct tree_var *const v = tree_var(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", name);
    v->count = LANES;
    return v;
}

/* x[112 + l] */
static const struct expr *term(void)
{
    return tree_element(&arena, x, index_add(&arena, number(WHOLE), tree_read(&arena, l)));
}

static void add(const char *lane, enum set_op op, const struct expr *value)
{
    tree_set(&b, tree_element(&arena, lanes(lane), tree_read(&arena, l)), op, value);
}

static const struct expr *named(const char *name, const struct expr *value)
{
    struct tree_var *const v = tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", name);
    tree_declare(&b, v, value);
    return tree_read(&arena, v);
}

/* ---- the loops --------------------------------------------------------------------------------------------------- */

static void sum(void)
{
    add("lane", SET_SUM, term());
}

static void sum_of_names(void)
{
    const struct expr *const v = named("v", term()), *const w = named("w", expr_binary(&arena, EXPR_MUL, v, v));
    add("lane", SET_SUM, expr_binary(&arena, EXPR_SUB, w, v));
}

static void two_sums(void)
{
    const struct expr *const v = named("v", term());
    add("lane", SET_SUM, v);
    add("other", SET_SUM, expr_unary(&arena, EXPR_NEG, v));
}

static void largest(void)
{
    add("lane", SET_TOP, term());
}

#define LOOP "loop int l in 0..15 from 0 to c STEPC_REST(13) by 1\n"
#define PLAIN_LOOP "loop int l in 0..12 from 0 to 13 by 1\n"
#define TERM "x[add(112, l)]"

static const struct {
    const char *name;
    enum loop_kind kind;
    void (*make)(void);
    const char *made;
} cases[] = {
    {"a sum", LOOP_REST, sum, "  REST " LOOP "    set lane[l] += select.float(lt.bool(l, 13), " TERM ", 0)\n"},
    {"names go", LOOP_REST, sum_of_names,
     "  REST " LOOP
     "    set lane[l] += select.float(lt.bool(l, 13), sub.float(mul.float(" TERM ", " TERM "), " TERM "), 0)\n"},
    {"two sums", LOOP_RESTS, two_sums,
     "  RESTS " LOOP "    set lane[l] += select.float(lt.bool(l, 13), " TERM ", 0)\n"
     "    set other[l] += select.float(lt.bool(l, 13), neg.float(" TERM "), 0)\n"},
    {"a plain loop", LOOP_PLAIN, sum, "  " PLAIN_LOOP "    set lane[l] += " TERM "\n"},
    {"a maximum", LOOP_RESTS, largest, "  RESTS " PLAIN_LOOP "    set lane[l] top= " TERM "\n"},
};

START_TEST(rests_have_masks)
{
    arena = (struct arena){0};
    f = (struct tree_function){.name = "f", .type = "void"};
    b = tree_builder(&arena, &f.body);
    x = tree_var(&arena, VAR_POINTER, DTYPE_FLOAT, "float", "x");
    l = tree_index_var(&arena, VAR_LOOP, "int", "l", 0, REST - 1);
    tree_open_loop(&b, l, number(0), number(REST), 1, cases[_i].kind);
    cases[_i].make();
    tree_close(&b);
    tune_masks(&(struct tune){.arena = &arena, .row = &targets[0], .has_vectors = true}, &f.body);
    const char *const text = tree_print(&arena, &f);
    ck_assert_msg(!strcmp(strchr(text, '\n') + 1, cases[_i].made), "%s:\n%s", cases[_i].name, text);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_loop_test(tests, rests_have_masks, 0, COUNT(cases));
    return run_tests("tune_masks", tests);
}
