/* compiler/rewrite/strips.c: which values can be computed strip by strip, what becomes of those around them, and that
 * all bits stay. */
#include "base/str.h"
#include "engine/pipeline.h"
#include "fixture.h"
#include "graph/region.h"
#include "interp/interp.h"
#include "suite.h"

#include <math.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static struct program *program;

static struct graph *graph_of(const char *text)
{
    const struct pipeline_options o = {.name = "test"};
    struct model *m;
    const char *const whole =
        arena_printf(&arena, "<ir_version: 10, opset_import: [\"\" : 18, \"stepc\" : 1]>\n%s", text);
    if (!model_read_text(&diag, &arena, "test.onnxtxt", whole, strlen(whole), &m) ||
        !pipeline_canonical(&diag, &arena, m, &o, &program))
        ck_abort_msg("%s\n%s", diag_first_error(&diag), whole);
    return program_entry(program, "infer")->graph;
}

static struct tensor *numbers(const struct value *input)
{
    struct tensor *const t = tensor_new(&arena, input->dtype, &input->shape);
    for (int64_t k = 0; k < t->count; k++)
        tensor_set_double(t, k, dtype_is_float(t->dtype) ? 0.1 + 0.47 * (double)k * cos((double)k) : (double)(k % 4));
    return t;
}

static struct tensor **results(const struct graph *g)
{
    const struct tensor **const in = arena_array(&arena, const struct tensor *, g->inputs.count + 1);
    struct tensor **const out = arena_array(&arena, struct tensor *, g->outputs.count + 1);
    struct interp *const s = interp_new(&arena, program, ARITHMETIC_SAME);
    for (size_t i = 0; i < g->inputs.count; i++)
        in[i] = numbers(g->inputs.data[i]);
    ck_assert(interp_init(s, 1, &diag));
    if (!interp_run(s, program_entry(program, "infer"), in, out, NULL, 0, &arena, &diag))
        ck_abort_msg("%s", diag_first_error(&diag));
    return out;
}

static const struct node *find_region(const struct graph *g)
{
    graph_each_node(g, n) if (n->region != NULL) return n;
    return NULL;
}

/* The region that computes the value `large` of the model in so many strips; NULL: it cannot be cut. */
static const struct node *strips(const char *text, int count)
{
    struct graph *const whole = graph_of(text);
    struct graph *const g = graph_copy(whole);
    struct tensor **const before = results(whole);
    bool done;
    const uint64_t edits = g->edits;
    ck_assert(rewrite_strips(g, graph_find(g, "large"), count, &done));
    graph_verify(g, "strips");
    ck_assert(done || g->edits == edits);
    program_entry(program, "infer")->graph = g;
    struct tensor **const after = results(g);
    for (size_t i = 0; i < g->outputs.count; i++)
        ck_assert_msg(tensor_identical(before[i], after[i]), "%s of %s", g->outputs.data[i].name, text);
    const struct node *const n = find_region(g);
    ck_assert(done == (n != NULL));
    if (n == NULL)
        return NULL;
    ck_assert_str_eq(n->region->strips_of, "large");
    ck_assert_int_eq(n->region->trips.most, count);
    ck_assert_ptr_null(graph_find(g, "large"));
    return n;
}

#define CONV "c = Conv <pads = [1, 1, 1, 1]> (x, w, b)\n large = Relu(c)\n"
#define POOL "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (large)"
#define NET(n) "g (float[" n ",2,6,6] x, float[6,2,3,3] w, float[6] b) => (float[" n ",6,3,3] y)"
#define GRAD_NET "g (uint8[1,6,3,3] p, float[1,6,3,3] dy, float[1,2,6,6] x) => (float[6,2,3,3] y, float[6] db)"
#define GRAD                                                                                                           \
    "e = Tanh(dy)\n large = stepc.MaxPoolGradAt <kernel_shape = [2, 2], strides = [2, 2], shape = [1, 6, 6, 6]> (p, "  \
    "e)"                                                                                                               \
    "\n y = stepc.ConvGradWeight <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (large, x)\n"                            \
    "n = Constant <value_ints = [0, 2, 3]> ()\n db = ReduceSum <keepdims = 0> (large, n)"

START_TEST(values_that_are_cut)
{
    static const struct {
        const char *text;
        int count, inputs; /* of the region */
    } cases[] = {
        /* channels, of weights and biases as well; of several samples these */
        {NET("1") "{" CONV POOL "}", 3, 3},
        {NET("1") "{" CONV POOL "}", 2, 3},
        {NET("4") "{" CONV POOL "}", 2, 3},
        /* gradients: the attribute with the shape says that of a strip */
        {GRAD_NET "{" GRAD "}", 3, 3},
        /* what is as large goes along, whatever reads it; what is small is cut, or stacked */
        {"g (float[6,9] x, float[6,1] s, float[9] v) => (float[6] y, float[6] z)"
         "{ n = Constant <value_ints = [1]> ()\n a = Mul(x, s)\n large = Add(a, v)\n b = Exp(large)\n d = Mul(b, a)\n"
         "y = ReduceSum <keepdims = 0> (d, n)\n z = ReduceMax <keepdims = 0> (large, n) }",
         3, 3},
        /* what a node reads whole and is a view of what is cut comes in as it is */
        {"g (float[4,4] x, float[4,1] s) => (float[4] y) { n = Constant <value_ints = [1]> ()\n"
         "m = Constant <value_ints = [4]> ()\n t = Reshape(s, m)\n a = Mul(x, s)\n large = Add(a, t)\n"
         "y = ReduceSum <keepdims = 0> (large, n) }",
         2, 3},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const struct node *const n = strips(cases[i].text, cases[i].count);
        ck_assert_msg(n != NULL, "%s", cases[i].text);
        ck_assert_msg((int)n->inputs.count == cases[i].inputs, "%zu inputs: %s", n->inputs.count, cases[i].text);
    }
}
END_TEST

START_TEST(values_that_stay)
{
    static const struct {
        const char *text;
        int count;
    } cases[] = {
        /* no equal strips, or of one element */
        {NET("1") "{" CONV POOL "}", 4},
        {NET("1") "{" CONV POOL "}", 6},
        /* given; read by what sums over the axis, or sees all of it */
        {"g (float[1,2,6,6] x, float[6,2,3,3] w, float[6] b) => (float[1,6,3,3] y, float[1,6,6,6] large) {" CONV POOL
         "}",
         3},
        {"g (float[1,2,6,6] x, float[6,2,3,3] w, float[6] b, float[4,6,1,1] v) => (float[1,4,6,6] y) {" CONV
         "y = Conv(large, v) }",
         3},
        {"g (float[1,2,6,6] x, float[6,2,3,3] w, float[6] b) => (float[1,6,6,6] y) {" CONV
         "y = Softmax <axis = 1> (large) }",
         3},
        /* groups: a strip would have other ones */
        {"g (float[1,6,6,6] x, float[6,1,3,3] w) => (float[1,6,3,3] y) {"
         "large = Conv <pads = [1, 1, 1, 1], group = 6> (x, w)\n" POOL "}",
         3},
        /* a reader waits for what follows from all strips */
        {"g (float[6,9] x, float[6] w) => (float[6] y) { n = Constant <value_ints = [1]> ()\n large = Exp(x)\n"
         "s = ReduceSum <keepdims = 0> (large, n)\n t = Softmax(s)\n m = Constant <value_ints = [6, 1]> ()\n"
         "u = Reshape(t, m)\n v = Mul(large, u)\n y = ReduceSum <keepdims = 0> (v, n) }",
         3},
        /* random numbers, and what a check has to see before anything runs */
        {"g (float[6,9] x) => (float[6] y) { n = Constant <value_ints = [1]> ()\n"
         "r = RandomNormalLike <seed = 1.0> (x)\n large = Add(x, r)\n y = ReduceSum <keepdims = 0> (large, n) }",
         3},
        {"g (float[9,9] x, int64[6] i) => (float[6] y) { n = Constant <value_ints = [1]> ()\n large = Gather(x, i)\n"
         "y = ReduceSum <keepdims = 0> (large, n) }",
         3},
        /* read along two axes at once */
        {"g (float[6,6] x) => (float[6] y) { n = Constant <value_ints = [1]> ()\n large = Exp(x)\n"
         "t = Transpose(large)\n v = Mul(large, t)\n y = ReduceSum <keepdims = 0> (v, n) }",
         3},
        {"g (float[4] x) => (float y) { large = ReduceSum <keepdims = 0> (x)\n y = Tanh(large) }", 2},
    };
    for (int i = 0; i < COUNT(cases); i++)
        ck_assert_msg(strips(cases[i].text, cases[i].count) == NULL, "%s", cases[i].text);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("strips");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, values_that_are_cut);
    tcase_add_test(tests, values_that_stay);
    return run_tests("strips", tests);
}
