/* Which matrices of the state lie by columns: those that a product wants so, and nothing refuses. */
#include "base/str.h"
#include "fixture.h"
#include "graph/graph.h"
#include "lower/state_layout.h"
#include "model/model.h"
#include "suite.h"
#include "train/combine.h"

#include <check.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* y = x w', w of `rows` sums of `terms`, and an update by an outer product; what differs from that. */
static const struct {
    const char *name;
    int samples, rows, terms;
    const char *y, *update;
    const char *type; /* of all */
    bool by_columns;
} cases[] = {
#define Y "y = Gemm<transB = 1>(x, w)"
#define OUTER "d = Gemm<transA = 1>(u, x) w_new = Sub(w, d)"
#define OTHER_OUTER "d = Gemm<transA = 1>(u, other) w_new = Sub(w, d)"
    {"a vector of sums", 1, 16, 2, Y, OUTER, "float", true},
    {"in double", 1, 16, 2, Y, OUTER, "double", true},
    {"in float16", 1, 16, 2, Y, OUTER, "float16", false},
    {"a sum fewer", 1, 15, 2, Y, OUTER, "float", false},
    {"sums of one term", 1, 16, 1, Y, OUTER, "float", false},
    {"two samples", 2, 16, 2, Y, OTHER_OUTER, "float", false},
    {"columns are sums", 1, 16, 16, "y = Gemm(x, w)", OUTER, "float", false},
    {"by MatMul", 1, 16, 16, "y = MatMul(x, w)", OUTER, "float", false},
    {"the first operand", 1, 16, 16, "y = Gemm<transB = 1>(w, x)", OUTER, "float", false},
    {"something else reads it", 1, 16, 2, Y " z = Softmax(w)", OUTER, "float", false},
    {"the update is given", 1, 16, 2, Y, OUTER " given = Neg(d)", "float", false},
    {"with momentum", 1, 16, 2, Y, "d = Gemm<transA = 1>(u, x) e = Mul(d, d) w_new = Sub(w, e)", "float", true},
    {"the update is a sum", 1, 16, 2, Y, "d = Gemm<transA = 1>(us, xs) w_new = Sub(w, d)", "float", false},
    {"the update is fed", 1, 16, 2, Y, "w_new = Sub(w, fed)", "float", false},
    {"the update is a constant", 1, 16, 2, Y, "c = ConstantOfShape(s) k = CastLike(c, w) w_new = Sub(w, k)", "float",
     false},
};

START_TEST(matrices_lie_as_products_want)
{
    const char *const t = cases[_i].type;
    const int n = cases[_i].rows, k = cases[_i].terms, m = cases[_i].samples;
    struct strbuf text = {.arena = &arena};
    strbuf_addf(&text, "<ir_version: 10, opset_import: [\"\" : 19]>\ng (%s[%d,%d] x) => (%s[r,c] y)\n", t, m, k, t);
    strbuf_addf(&text, "<%s[%d,%d] w = {", t, n, k);
    for (int i = 0; i < n * k; i++)
        strbuf_addf(&text, i > 0 ? ", %d" : "%d", i);
    strbuf_addf(&text, "}>\n{ %s }\n@training_info { algorithm: train (", cases[_i].y);
    strbuf_addf(&text, "%s[1,%d] u, %s[2,%d] us, ", t, n, t, n);
    const bool gives = strstr(cases[_i].update, "given =") != NULL;
    const char *const given = gives ? arena_printf(&arena, ", %s[%d,%d] given", t, n, k) : "";
    strbuf_addf(&text, "%s[2,%d] xs, %s[1,%d] other, %s[%d,%d] fed)", t, k, t, k, t, n, k);
    strbuf_addf(&text, " => (%s[%d,%d] w_new%s) ", t, n, k, given);
    strbuf_addf(&text, "<int64[2] s = {%d, %d}> { %s }\n", n, k, cases[_i].update);
    strbuf_add(&text, "update_binding: [\"w\" : \"w_new\"] }");
    struct model *model;
    struct program *p;
    const bool ok = model_read_text(&diag, &arena, "m.onnxtxt", text.text, text.length, &model) &&
                    combine_program(&diag, &arena, model, &(struct import_options){0}, "m", NULL, &p);
    if (!ok)
        diag_print(&diag, stderr);
    ck_assert_msg(ok, "%s", cases[_i].name);
    choose_state_layout(p);
    ck_assert_uint_eq(p->variables.count, 1);
    ck_assert_msg(p->variables.data[0]->by_columns == cases[_i].by_columns, "%s", cases[_i].name);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, matrices_lie_as_products_want, 0, COUNT(cases));
    return run_tests("engine_layout", tests);
}
