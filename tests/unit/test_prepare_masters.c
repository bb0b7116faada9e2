/* Weights that were widened to float for training are rounded again, where only a Cast to their type reads them. */
#include "prepare/masters.h"

#include "model/model.h"
#include "fixture.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* 10 is float16, 16 bfloat16, 1 float. */
static const struct network {
    const char *nodes;
    enum dtype dtype; /* of w then */
    size_t left;      /* nodes */
} networks[] = {
    {"c = Cast<to = 10>(w) y = Add(x, c)", DTYPE_FLOAT16, 1},
    {"c = Cast<to = 16>(w) d = Cast<to = 10>(c) y = Add(x, d)", DTYPE_BFLOAT16, 2},
    {"c = Cast<to = 1>(w) d = Cast<to = 10>(c) y = Add(x, d)", DTYPE_FLOAT, 3},
    {"c = Cast<to = 10>(w) d = Cast<to = 10>(w) e = Add(c, d) y = Add(x, e)", DTYPE_FLOAT, 4},
    {"c = Cast<to = 10>(w) n = Neg(w) d = Cast<to = 10>(n) e = Add(c, d) y = Add(x, e)", DTYPE_FLOAT, 5},
    {"n = Neg(w) c = Cast<to = 10>(n) y = Add(x, c)", DTYPE_FLOAT, 3},
    {"c = other.Cast<to = 10>(w) y = Add(x, c)", DTYPE_FLOAT, 2},
    {"y = Neg(x)", DTYPE_FLOAT, 1},
    {"c = Cast<to = 10>(w) d = If<then_branch = a () => (float16[2] p) { p = Cast<to = 10>(w) }, else_branch = b () => "
     "(float16[2] q) { q = Neg(x) }>(yes) e = Add(c, d) y = Add(x, e)",
     DTYPE_FLOAT, 4},
    {"c = Cast<to = 10>(w) d = If<then_branch = a () => (float16[2] p) { p = Neg(c) }, else_branch = b () => "
     "(float16[2] q) { q = Neg(x) }>(yes) y = Add(x, d)",
     DTYPE_FLOAT16, 2},
};

static struct model *network(const char *type, const char *nodes)
{
    struct model *m;
    const char *const text =
        arena_printf(&arena,
                     "<ir_version: 10, opset_import: [\"\" : 18, \"other\" : 1]>\n"
                     "net (float16[2] x) => (float16[2] y)\n<%s[2] w = {1, 2}, bool yes = {1}>\n{ %s }",
                     type, nodes);
    const bool ok = model_read_text(&diag, &arena, "network", text, strlen(text), &m);
    if (!ok)
        diag_print(&diag, stderr);
    ck_assert(ok);
    return m;
}

START_TEST(rounded_or_not)
{
    const struct network *const n = &networks[_i];
    struct model *const m = network("float", n->nodes);
    struct strbuf report = {.arena = &arena};
    narrow_remembered(&arena, m, "gone\nw", &report);
    ck_assert_int_eq(m->graph->initializers.data[0]->tensor->dtype, n->dtype);
    ck_assert_uint_eq(m->graph->nodes.count, n->left);
    ck_assert_str_eq(strbuf_text(&report), n->dtype == DTYPE_FLOAT ? "" : "rounded to 16 bits again: 1 initializer\n");
}
END_TEST

START_TEST(only_floats)
{
    struct model *const m = network("double", networks[0].nodes);
    struct strbuf report = {.arena = &arena};
    narrow_remembered(&arena, m, "w", &report);
    narrow_remembered(&arena, m, NULL, &report);
    ck_assert_int_eq(m->graph->initializers.data[0]->tensor->dtype, DTYPE_DOUBLE);
    ck_assert_uint_eq(m->graph->nodes.count, 2);
    ck_assert_str_eq(strbuf_text(&report), "");
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_loop_test(all, rounded_or_not, 0, (int)(sizeof networks / sizeof networks[0]));
    tcase_add_test(all, only_floats);
    return run_tests("prepare_masters", all);
}
