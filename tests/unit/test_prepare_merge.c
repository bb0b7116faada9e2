/* When two nodes of different models are the same, so that a merged model has them once (prepare/merge_equal.c); which
 * constants of functions are shared by their calls (graph/inline.c), and which nodes keep their form in a model of
 * another opset (graph/upgrade.c). */
#include "prepare/merge.h"
#include "prepare/merge_internal.h"

#include "graph/inline.h"
#include "graph/upgrade.h"
#include "model/model.h"
#include "fixture.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* The first node of such a model. */
static const struct model_node *node(const char *text)
{
    struct model *m;
    const char *const all = arena_printf(&arena,
                                         "<ir_version: 10, opset_import: [\"\" : 18]>\n"
                                         "net (float[2] x, float[2] z) => (float[2] y) { %s }",
                                         text);
    const bool ok = model_read_text(&diag, &arena, "node", all, strlen(all), &m);
    if (!ok)
        diag_print(&diag, stderr);
    ck_assert(ok);
    return m->graph->nodes.data[0];
}

#define IF(branch) "y = If <then_branch = t () => (float[2] a) { " branch " }, else_branch = e () => (float[2] b) " \
                   "<float k = {2}> { b = Mul(x, k) }> (c)"

static const struct {
    const char *a, *b;
    bool same;
} pairs[] = {
    {"y = Add(x, z)", "w = Add(x, z)", true},
    {"y = Add(x, z)", "y = Add(z, x)", false},
    {"y = Add(x, z)", "y = Sub(x, z)", false},
    {"y = Add(x, z)", "y = mine.Add(x, z)", false},
    {"y = Clip(x, z)", "y = Clip(x)", false},
    {"y = Clip(x, z)", "y = Clip(x, , z)", false},
    {"y = Split(x)", "y, w = Split(x)", false},
    /* attributes */
    {"y = LeakyRelu <alpha = 0.5> (x)", "y = LeakyRelu <alpha = 0.5> (x)", true},
    {"y = LeakyRelu <alpha = 0.5> (x)", "y = LeakyRelu <alpha = 0.25> (x)", false},
    {"y = LeakyRelu <alpha = 0.5> (x)", "y = LeakyRelu(x)", false},
    {"y = N <a = 1, b = 2> (x)", "y = N <b = 2, a = 1> (x)", true},
    {"y = N <a = 1> (x)", "y = N <b = 1> (x)", false},
    {"y = N <a = 1> (x)", "y = N <a = 2> (x)", false},
    {"y = N <a = 1> (x)", "y = N <a = 1.0> (x)", false},
    {"y = N <a = \"s\"> (x)", "y = N <a = \"s\"> (x)", true},
    {"y = N <a = \"s\"> (x)", "y = N <a = \"t\"> (x)", false},
    {"y = N <a = \"s\"> (x)", "y = N <a = \"ss\"> (x)", false},
    {"y = N <a = [1, 2]> (x)", "y = N <a = [1, 2]> (x)", true},
    {"y = N <a = [1, 2]> (x)", "y = N <a = [1, 3]> (x)", false},
    {"y = N <a = [1, 2]> (x)", "y = N <a = [1, 2, 3]> (x)", false},
    {"y = N <a = [0.5, 2.0]> (x)", "y = N <a = [0.5, 2.0]> (x)", true},
    {"y = N <a = [0.5, 2.0]> (x)", "y = N <a = [0.5, 3.0]> (x)", false},
    {"y = N <a = [\"s\", \"t\"]> (x)", "y = N <a = [\"s\", \"t\"]> (x)", true},
    {"y = N <a = [\"s\", \"t\"]> (x)", "y = N <a = [\"s\", \"u\"]> (x)", false},
    {"y = N <a = float[2] {1, 2}> (x)", "y = N <a = float[2] {1, 2}> (x)", true},
    {"y = N <a = float[2] {1, 2}> (x)", "y = N <a = float[2] {1, 3}> (x)", false},
    {"y = N <a = float[2] {1, 2}> (x)", "y = N <a = float[1,2] {1, 2}> (x)", false},
    /* graphs: names inside count, and so do values of what stands in them */
    {IF("a = Neg(x)"), IF("a = Neg(x)"), true},
    {IF("a = Neg(x)"), IF("a = Neg(z)"), false},
    {IF("q = Neg(x) a = Neg(q)"), IF("q = Neg(x) a = Neg(q)"), true},
    {IF("q = Neg(x) a = Neg(q)"), IF("a = Neg(x) q = Neg(a)"), false},
    {IF("q = Neg(x) a = Abs(x)"), IF("a = Neg(x) q = Abs(x)"), false},
    {IF("a = Neg(x)"), IF("a = Neg(x) q = Neg(a)"), false},
    {"y = L <body = t (float[2] p) => (float[2] a) { a = Neg(p) }> (x)",
     "y = L <body = t (float[3] p) => (float[2] a) { a = Neg(p) }> (x)", false},
    {"y = L <body = t (float[n] p) => (float[2] a) { a = Neg(p) }> (x)",
     "y = L <body = t (float[m] p) => (float[2] a) { a = Neg(p) }> (x)", false},
    {"y = L <body = t (float[2] p) => (float[2] a) { a = Neg(p) }> (x)",
     "y = L <body = t (double[2] p) => (float[2] a) { a = Neg(p) }> (x)", false},
    {"y = L <body = t () => (float a) <float k = {2}> { a = Neg(k) }> (x)",
     "y = L <body = t () => (float a) <float k = {2}> { a = Neg(k) }> (x)", true},
    {"y = L <body = t () => (float a) <float k = {2}> { a = Neg(k) }> (x)",
     "y = L <body = t () => (float a) <float k = {3}> { a = Neg(k) }> (x)", false},
};

START_TEST(nodes_that_are_the_same)
{
    const struct model_node *const a = node(pairs[_i].a), *const b = node(pairs[_i].b);
    ck_assert_msg(merge_same_node(a, b) == pairs[_i].same, "%s, %s", pairs[_i].a, pairs[_i].b);
    ck_assert_msg(merge_same_node(b, a) == pairs[_i].same, "%s, %s", pairs[_i].b, pairs[_i].a);
}
END_TEST

/* They have no names that could be compared: graphs that have some are others. */
START_TEST(graphs_with_sparse_initializers)
{
    const struct model_node *const a = node(IF("a = Neg(x)")), *const b = node(IF("a = Neg(x)"));
    ck_assert(merge_same_node(a, b));
    vec_push(&arena, &b->attrs.data[0]->g->sparse_initializers, arena_new(&arena, struct model_sparse));
    ck_assert(!merge_same_node(a, b));
    ck_assert(!merge_same_node(b, a));
    vec_push(&arena, &a->attrs.data[0]->g->sparse_initializers, arena_new(&arena, struct model_sparse));
    ck_assert(!merge_same_node(a, b));
}
END_TEST

static const struct {
    const char *text;
    bool may_be_weight;
} constants[] = {
    {"w = Constant <value = float[2] {1, 2}> ()", true},
    {"w = Constant <value = float16[1,2] {1, 2}> ()", true},
    {"w = Constant <value = float {1}> ()", false},
    {"w = Constant <value = int64[2] {1, 2}> ()", false},
    {"w = Constant <value = bool[2] {1, 0}> ()", false},
    {"w = Constant <value_floats = [1.0, 2.0]> ()", false},
    {"w = Constant <value = 1.5> ()", false},
    {"w = Constant <value : tensor = @given> ()", false},
    {"w, u = Constant <value = float[2] {1, 2}> ()", false},
    {"w = Constant <value = float[2] {1, 2}> (x)", false},
    {"w = mine.Constant <value = float[2] {1, 2}> ()", false},
    {"w = ConstantOfShape <value = float[2] {1, 2}> ()", false},
};

START_TEST(constants_that_may_be_weights)
{
    ck_assert_msg((inline_weight(node(constants[_i].text)) != NULL) == constants[_i].may_be_weight, "%s",
                  constants[_i].text);
}
END_TEST

static const struct {
    const char *text;
    int64_t a, b;
    bool keeps;
} versions[] = {
    {"y = Relu(x)", 13, 13, true},
    {"y = Relu(x)", 6, 14, true}, /* element types alone */
    {"y = Relu(x)", 1, 6, false}, /* consumed_inputs */
    {"y = Gemm(x, z, z)", 11, 13, true},
    {"y = Gemm(x, z)", 9, 11, false}, /* C may be left out */
    {"y = Softmax(x)", 12, 13, false}, /* means something else */
    {"y = ReduceSum(x)", 11, 13, false},
    {"y = ReduceSum(x)", 13, 18, true},
    {"y = BatchNormalization(x, z, z, z, z)", 8, 9, false}, /* an attribute less */
    {"y = Clip(x)", 6, 11, false},
    {"y = Gelu(x)", 18, 20, false}, /* there is none */
    {"y = Gelu(x)", 20, 21, true},
    {"y = mine.Relu(x)", 13, 14, false},
    {"y = mine.Relu(x)", 14, 14, true},
};

START_TEST(forms_that_versions_keep)
{
    const struct model_node *const n = node(versions[_i].text);
    ck_assert_msg(upgrade_keeps_form(n, versions[_i].a, versions[_i].b) == versions[_i].keeps &&
                      upgrade_keeps_form(n, versions[_i].b, versions[_i].a) == versions[_i].keeps,
                  "%s of %lld and %lld", versions[_i].text, (long long)versions[_i].a, (long long)versions[_i].b);
}
END_TEST

/* Two models that have a sparse initializer of one name: one, if all of both is equal. */
static const struct {
    double value;
    int64_t index, size;
    const char *name;
    const char *error;
} sparse[] = {
    {2, 1, 4, "w", NULL},
    {3, 1, 4, "w", "sparse initializer 'w' differs"},
    {2, 0, 4, "w", "sparse initializer 'w' differs"},
    {2, 1, 5, "w", "sparse initializer 'w' differs"},
    {2, 1, 4, "v", NULL},
};

static struct model *with_sparse(int i)
{
    const char *const text =
        "<ir_version: 10, opset_import: [\"\" : 18]> net (float[4] x) => (float[4] y) { y = Neg(x) }";
    struct model *m;
    ck_assert(model_read_text(&diag, &arena, "sparse", text, strlen(text), &m));
    struct model_sparse *const s = arena_new(&arena, struct model_sparse);
    *s = (struct model_sparse){.name = sparse[i].name, .values = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(1)),
                               .indices = tensor_new(&arena, DTYPE_INT64, &SHAPE(1)), .dims = SHAPE(sparse[i].size)};
    tensor_set_double(s->values, 0, sparse[i].value);
    tensor_set_int(s->indices, 0, sparse[i].index);
    vec_push(&arena, &m->graph->sparse_initializers, s);
    return m;
}

START_TEST(sparse_initializers_of_one_name)
{
    struct model *const into = with_sparse(0);
    struct strbuf report = {.arena = &arena};
    const bool ok = merge_models(&diag, &arena, into, with_sparse(_i), &report);
    ck_assert_int_eq(ok, sparse[_i].error == NULL);
    if (!ok)
        ck_assert_ptr_nonnull(strstr(diag_first_error(&diag), sparse[_i].error));
    else
        ck_assert_uint_eq(into->graph->sparse_initializers.count, strcmp(sparse[_i].name, "w") == 0 ? 1 : 2);
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_loop_test(all, nodes_that_are_the_same, 0, COUNT(pairs));
    tcase_add_test(all, graphs_with_sparse_initializers);
    tcase_add_loop_test(all, constants_that_may_be_weights, 0, COUNT(constants));
    tcase_add_loop_test(all, forms_that_versions_keep, 0, COUNT(versions));
    tcase_add_loop_test(all, sparse_initializers_of_one_name, 0, COUNT(sparse));
    return run_tests("prepare_merge", all);
}
