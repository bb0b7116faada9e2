/* Comments of templates say what is there. */
#include "emit/emit_internal.h"
#include "suite.h"

#include <check.h>

static struct arena arena;

static void begin(void)
{
    arena = (struct arena){0};
}

static void end(void)
{
    arena_free(&arena);
}

static const struct tree_var *param(const char *wish, const char *name)
{
    struct tree_var *const v = tree_var(&arena, VAR_VALUE, DTYPE_INDEX, "int", name);
    v->wish = wish;
    return v;
}

/* A template's function of o, n, g, fresh, count and end, of which o, n and count are left, called o, image and count;
 * an operand b is called weights, and a size K is 400. */
static const struct {
    const char *written, *emitted;
} comments[] = {
    {"/* Rows o ..{ of group g}. */", "/* Rows o .. */\n"},
    {"/* Rows o .. of group g. */", NULL},
    {"/* All K terms of b. */", "/* All 400 terms of weights. */\n"},
    {"/* A sum of a row of image n. */", "/* A sum of a row of image image. */\n"},
    {"/* Images n .. are there; those before n + fresh are finished. Others wait. */",
     "/* Images image .. are there. Others wait. */\n"},
    {"/* Group g comes first; rows follow. */", "/* Rows follow. */\n"},
    {"/* In the end a count of fresh ones. */", "/* In the end a count of fresh ones. */\n"}, /* no names */
    {"/* The rows o .. end - 1. */", NULL},
    {"/* `count` rows{, of which `fresh` are new}: all. */", "/* `count` rows: all. */\n"},
    {"/* Two\n * lines. */", "/* Two lines. */\n"},
    {"/* Of x, which is computed. */", NULL}};

START_TEST(comments_say_what_is_there)
{
    static const char *const written[] = {"o", "n", "g", "fresh", "count", "end"};
    tree_vars all = {0};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        vec_push(&arena, &all, param(written[i], written[i]));
    struct tree_function f = {.name = "part", .comment = comments[_i].written, .written = &all};
    vec_push(&arena, &f.params, param("o", "o"));
    vec_push(&arena, &f.params, param("n", "image"));
    vec_push(&arena, &f.params, param("count", "count"));
    struct buffer weights = {.name = "fc.weight"};
    struct kernel k = {.kind = KERNEL_TEMPLATE};
    struct operand operands[] = {
        {.param = "b", .access = {.buffer = &weights}},
        {.param = "x", .value = expr_float(&arena, DTYPE_FLOAT, 1), .access = {.buffer = &weights}}};
    struct kernel_int ints[] = {{.name = "K", .value = 400}};
    k.tmpl.operands = operands;
    k.tmpl.operand_count = 2;
    k.tmpl.ints = ints;
    k.tmpl.int_count = 1;
    kernel_params params = {0};
    vec_push(&arena, &params,
             ((struct kernel_param){.buffer = &weights, .var = (struct tree_var *)(uintptr_t)param("b", "weights")}));
    const char *const text = template_comment(&arena, &f, &k, &params);
    ck_assert_msg(!text == !comments[_i].emitted, "%s: %s", comments[_i].written, text ? text : "nothing");
    if (text)
        ck_assert_str_eq(text, comments[_i].emitted);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, comments_say_what_is_there, 0, (int)(sizeof comments / sizeof *comments));
    return run_tests("emit_comments", tests);
}
