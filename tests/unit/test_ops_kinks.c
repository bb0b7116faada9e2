/* Gradients where the derivative does not exist or is singular: the choices of docs/readings.md R26, at points that
 * random samples never hit. */
#include "graph/build.h"
#include "interp/interp.h"
#include "train/adjoint.h"
#include "suite.h"

#include <check.h>
#include <math.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
#define MAX_INPUTS 3
#define MAX_ELEMENTS 5

/* y = op(x0, x1, ...), all of `count` elements; dx[i] = gradient of sum(y) with respect to input i. */
static const struct {
    const char *op;
    int inputs, wanted; /* the first `wanted` inputs are differentiated */
    int count;
    double x[MAX_INPUTS][MAX_ELEMENTS];
    double dx[MAX_INPUTS][MAX_ELEMENTS];
    double alpha; /* the attribute; 0: none */
} cases[] = {
    {"Relu", 1, 1, 3, {{-1, 0, 2}}, {{0, 0, 1}}, 0},
    {"Abs", 1, 1, 3, {{-1, 0, 2}}, {{-1, 0, 1}}, 0},
    {"LeakyRelu", 1, 1, 3, {{-1, 0, 2}}, {{0.01f, 0.01f, 1}}, 0},
    {"Max", 2, 2, 3, {{1, 2, 3}, {2, 2, 2}}, {{0, 0.5, 1}, {1, 0.5, 0}}, 0},
    {"Min", 2, 2, 3, {{1, 2, 3}, {2, 2, 2}}, {{1, 0.5, 0}, {0, 0.5, 1}}, 0},
    /* max(max(a, b), c): c takes half, a and b share the other half */
    {"Max", 3, 3, 2, {{1, 5}, {1, 5}, {1, 4}}, {{0.25, 0.5}, {0.25, 0.5}, {0.5, 0}}, 0},
    {"Min", 3, 3, 2, {{1, 3}, {1, 4}, {1, 3}}, {{0.25, 0.5}, {0.25, 0}, {0.5, 0.5}}, 0},
    {"Clip", 3, 1, 5, {{-2, -1, 0, 1, 2}, {-1}, {1}}, {{0, 1, 1, 1, 0}}, 0},
    /* x^e at x = 0: e x^(e-1), with 0 for e = 0 */
    {"Pow", 2, 2, 4, {{0, 0, 0, 2}, {0, 1, 2, 3}}, {{0, 1, 0, 12}, {0, 0, 0, 5.5451774444795625}}, 0},
    {"Sqrt", 1, 1, 2, {{0, 4}}, {{INFINITY, 0.25}}, 0},
    {"Asin", 1, 1, 3, {{1, -1, 0.6}}, {{INFINITY, INFINITY, 1.25}}, 0},
    {"Acos", 1, 1, 3, {{1, -1, 0.6}}, {{-INFINITY, -INFINITY, -1.25}}, 0},
    {"Acosh", 1, 1, 2, {{1, 1.25}}, {{INFINITY, 1.3333333333333333}}, 0},
    {"Atanh", 1, 1, 4, {{1, -1, 0.6, 2}}, {{INFINITY, INFINITY, 1.5625, -0.33333333333333331}}, 0},
    /* the slope of the side below, where both sides differ: at 0 PyTorch takes x <= 0 */
    {"Elu", 1, 1, 3, {{0, 2, -0.0}}, {{2.5, 1, 2.5}}, 2.5},
    {"Selu", 1, 1, 2, {{0, 2}}, {{1.7580993175506592, 1.05070102214813232421875}}, 0},
    {"PRelu", 2, 2, 3, {{0, 2, -3}, {0.5, 0.5, 0.5}}, {{0.5, 1, 0.5}, {0, 0, -3}}, 0},
    {"ThresholdedRelu", 1, 1, 3, {{0.5, 0.25, 1}}, {{0, 0, 1}}, 0.5},
    {"HardSigmoid", 1, 1, 3, {{-1, 1, 0}}, {{0, 0, 0.5}}, 0.5},
    /* remainder(a, b): the quotient is rounded down, also where it is whole */
    {"Mod", 2, 2, 5, {{6, -7, 7, 0, -6}, {3, 3, -3, 2, 3}}, {{1, 1, 1, 1, 1}, {-2, 3, 3, 0, 2}}, 0},
};

static struct arena arena;
static struct diag diag;
static struct program program;

static void begin(void)
{
    diag = (struct diag){.arena = &arena};
    program = (struct program){.name = "test", .arena = &arena, .diag = &diag};
}

static void end(void)
{
    arena_free(&arena);
}

static void add_gradient(struct builder *b, struct value *const *x, size_t wanted, struct value *y)
{
    const char *names[MAX_INPUTS];
    for (size_t i = 0; i < wanted; i++)
        names[i] = x[i]->name;
    const struct attr xs = {.name = "xs", .type = ATTR_STRINGS, .strings = names, .count = wanted};
    const struct attr *attrs = ATTRS(xs, attr_string("y", y->name));
    const struct node *n = build_node(b, "ai.onnx.preview.training.Gradient", attrs, x, wanted, wanted);
    for (size_t i = 0; i < wanted; i++) {
        const struct graph_output o = {n->outputs.data[i]->name, n->outputs.data[i]};
        vec_push(&arena, &b->graph->outputs, o);
    }
}

START_TEST(kink_is_as_in_pytorch)
{
    struct graph *g = graph_new(&program, "kinks");
    struct builder b = {.graph = g, .loc = LOC_FILE("test.onnx"), .prefix = ""};
    struct value *x[MAX_INPUTS];
    const struct tensor *feeds[MAX_INPUTS];
    for (int i = 0; i < cases[_i].inputs; i++) {
        const bool is_bound = i >= cases[_i].wanted;
        const struct shape shape = is_bound ? SHAPE_SCALAR : SHAPE(cases[_i].count);
        struct tensor *t = tensor_new(&arena, DTYPE_DOUBLE, &shape);
        for (int64_t k = 0; k < t->count; k++)
            tensor_set_double(t, k, cases[_i].x[i][k]);
        feeds[i] = t;
        x[i] = graph_add_input(g, arena_printf(&arena, "x%d", i), DTYPE_DOUBLE, &shape);
    }
    const struct attr *attrs = cases[_i].alpha != 0 ? ATTRS(attr_float("alpha", cases[_i].alpha)) : ATTRS_NONE;
    struct value *y = build_value(&b, cases[_i].op, attrs, x, (size_t)cases[_i].inputs);
    add_gradient(&b, x, (size_t)cases[_i].wanted, y);
    ck_assert(adjoint_expand(g));

    const struct entry e = {.name = "infer", .kind = ENTRY_INFER, .graph = g};
    vec_push(&arena, &program.entries, e);
    struct tensor *dx[MAX_INPUTS];
    struct interp *s = interp_new(&arena, &program, ARITHMETIC_DOUBLE);
    ck_assert(interp_run(s, &program.entries.data[0], feeds, dx, NULL, 0, &arena, &diag));
    for (int i = 0; i < cases[_i].wanted; i++)
        for (int k = 0; k < cases[_i].count; k++) {
            const double got = tensor_get_double(dx[i], k), expected = cases[_i].dx[i][k];
            ck_assert_msg(got == expected || fabs(got - expected) <= 1e-15 * fabs(expected),
                          "%s: dx%d[%d] is %g, expected %g", cases[_i].op, i, k, got, expected);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_kinks");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_loop_test(all, kink_is_as_in_pytorch, 0, COUNT(cases));
    suite_add_tcase(suite, all);

    return run_suite(suite);
}
