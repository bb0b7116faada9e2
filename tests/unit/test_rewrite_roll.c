/* compiler/rewrite/roll.c: what becomes a region that runs once for each part of a batch, what does not, and that all
 * bits stay. */
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
    const char *const whole = arena_printf(&arena, "<ir_version: 10, opset_import: [\"\" : 18]>\n%s", text);
    if (!model_read_text(&diag, &arena, "test.onnxtxt", whole, strlen(whole), &m) ||
        !pipeline_canonical(&diag, &arena, m, &o, &program))
        ck_abort_msg("%s\n%s", diag_first_error(&diag), whole);
    return program_entry(program, "infer")->graph;
}

/* Elements whose sums round: 0.1, -0.37, 0.84 ... and zeros of both signs; of integers 0, 1, 2. */
static struct tensor *numbers(const struct value *input)
{
    struct tensor *const t = tensor_new(&arena, input->dtype, &input->shape);
    for (int64_t k = 0; k < t->count; k++)
        tensor_set_double(t, k,
                          dtype_is_float(t->dtype) ? (k % 4 == 2 ? -0.0 : 0.1 + 0.47 * (double)k * cos((double)k))
                                                   : (double)(k % 3));
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

static const struct node *find(const struct graph *g, const char *op)
{
    const struct node *found = NULL;
    graph_each_node(g, n) if (str_equal(n->def->name, op)) found = n;
    return found;
}

/* Of how many parts the region is; 0: there is none. */
static int roll(const char *text)
{
    struct graph *const g = graph_of(text);
    struct tensor **const before = results(g);
    ck_assert(rewrite_roll(g));
    graph_verify(g, "roll");
    struct tensor **const after = results(g);
    for (size_t i = 0; i < g->outputs.count; i++)
        ck_assert_msg(tensor_identical(before[i], after[i]), "%s of %s", g->outputs.data[i].name, text);
    const uint64_t edits = g->edits;
    ck_assert(rewrite_roll(g));
    ck_assert_uint_eq(edits, g->edits);
    const struct node *const n = find(g, "Scan");
    ck_assert(!n || n->region->of_parts);
    return n ? (int)n->region->trips.most : 0;
}

/* The text `f` once for each part, with its number for #. */
static const char *of_parts(int parts, const char *f)
{
    struct strbuf b = {.arena = &arena};
    for (int k = 1; k <= parts; k++)
        for (const char *at = f; *at; at++)
            if (*at == '#')
                strbuf_addf(&b, "%d", k);
            else
                strbuf_addf(&b, "%c", *at);
    return strbuf_text(&b);
}

struct roll_case {
    const char *net, *first, *part, *last; /* the text of the model: `part` stands there once for each part */
    int parts;
};

static void check_cases(const struct roll_case *c, int count, bool rolled)
{
    for (int i = 0; i < count; i++) {
        const char *const text =
            arena_printf(&arena, "%s\n{ %s\n%s%s }", c[i].net, c[i].first, of_parts(c[i].parts, c[i].part), c[i].last);
        const int parts = roll(text);
        ck_assert_msg(parts == (rolled ? c[i].parts : 0), "%d parts: %s", parts, text);
    }
}

#define NET "g (float[6,4] x, float[4,4] w) => (float[2,4] y)"
#define SPLIT "x1, x2, x3 = Split <axis = 0, num_outputs = 3> (x)\n"
#define PART "a# = MatMul(x#, w)\n b# = Tanh(a#)\n c# = Mul(b#, a#)\n d# = Sin(c#)\n"
#define SUM "s = Add(d1, d2)\n y = Add(s, d3)"

/* ---- what is rolled ---------------------------------------------------------------------------------------------- */

START_TEST(sums_of_parts)
{
    static const struct roll_case cases[] = {
        {NET, SPLIT, PART, SUM, 3},
        {"g (double[6,4] x, double[4,4] w) => (double[2,4] y)", SPLIT, PART, SUM, 3},
        {"g (float[4,4] x, float[4,4] w) => (float[2,4] y)", "x1, x2 = Split <axis = 0, num_outputs = 2> (x)\n", PART,
         "y = Add(d1, d2)", 2},
        /* sums of zeros below 0 */
        {NET, SPLIT, "a# = Sin(x#)\n b# = Tanh(a#)\n c# = Atan(b#)\n d# = Sin(c#)\n", SUM, 3},
        /* another axis; a second input; what all parts read is computed once; that it is read in another way, in each
         */
        {"g (float[2,9,4] x, float[4,4] w) => (float[2,3,4] y)",
         "x1, x2, x3 = Split <axis = -2, num_outputs = 3> (x)\n", PART, SUM, 3},
        {"g (float[6,4] x, float[6,4] z, float[4,4] w) => (float[2,4] y)",
         SPLIT "z1, z2, z3 = Split <axis = 0, num_outputs = 3> (z)\n v = Exp(w)\n t = Transpose(v)\n",
         "a# = MatMul(x#, t)\n b# = Mul(a#, z#)\n c# = Tanh(b#)\n d# = Add(c#, x#)\n", SUM, 3},
        /* several sums, one of integers; a term that is a sum itself; a sum that goes on, or is read twice */
        {"g (float[6,4] x, int64[6,4] n, float[4,4] w) => (float[2,4] y, float[2,4] q, int64[2,4] m)",
         SPLIT "n1, n2, n3 = Split <axis = 0, num_outputs = 3> (n)\n", PART "e# = Mul(n#, n#)\n",
         "q1 = Add(b1, b2)\n q = Add(q1, b3)\n m1 = Add(e1, e2)\n m = Add(m1, e3)\n" SUM, 3},
        {NET, SPLIT, PART "e# = Add(d#, b#)\n", "s = Add(e1, e2)\n y = Add(s, e3)", 3},
        {NET, SPLIT "w1, w2 = Split <axis = 0, num_outputs = 2> (w)\n", PART,
         "s = Add(d1, d2)\n r = Add(s, d3)\n v = Add(r, w1)\n y = Mul(v, r)", 3},
        /* pieces of a part, as many as there are parts; indices that are given, in another shape */
        {"g (float[6,6] x, float[6,6] w) => (float[2,2] y)", SPLIT,
         "a# = MatMul(x#, w)\n b#, c#, e# = Split <axis = 1, num_outputs = 3> (a#)\n f# = Mul(b#, c#)\n d# = Mul(f#, "
         "e#)\n",
         SUM, 3},
        {"g (int64[6,1] x, float[4,4] w) => (float[2,4] y)", SPLIT "n = Constant <value_ints = [2]> ()\n",
         "i# = Reshape(x#, n)\n a# = Gather(w, i#)\n b# = Tanh(a#)\n c# = Mul(b#, a#)\n d# = Sin(c#)\n", SUM, 3},
        /* beside a node without its first result */
        {NET, SPLIT "k = Constant <value_ints = [1, 4, 4]> ()\n p = Reshape(w, k)\n", PART,
         "\"\", i = MaxPool <kernel_shape = [4]> (p)\n j = Cast <to = 1> (i)\n z = ReduceMax <keepdims = 0> (j)\n"
         "s = Add(d1, d2)\n r = Add(s, d3)\n y = Mul(r, z)",
         3},
    };
    check_cases(cases, COUNT(cases), true);
}
END_TEST

/* ---- what is not ------------------------------------------------------------------------------------------------- */

START_TEST(other_sums_stay)
{
    static const struct roll_case cases[] = {
        /* parts in another order, pieces of another size, or twice the same one */
        {NET, SPLIT, PART, "s = Add(d2, d1)\n y = Add(s, d3)", 3},
        {NET, SPLIT, PART, "s = Add(d1, d2)\n y = Add(d3, s)", 3},
        {"g (float[8,4] x, float[4,4] w) => (float[2,4] y)", "x1, x2, x3, x4 = Split <axis = 0, num_outputs = 4> (x)\n",
         PART, "s = Add(d1, d3)\n t = Add(s, d2)\n y = Add(t, d4)", 4},
        {"g (float[6,4] x, float[4,4] w) => (float[2,4] y)",
         "n = Constant <value_ints = [2, 2, 1, 1]> ()\n x1, x2, x4, x5 = Split <axis = 0> (x, n)\n x3 = Concat <axis = "
         "0> (x4, x5)\n",
         PART, SUM, 3},
        {NET, SPLIT, PART,
         "e = MatMul(x2, w)\n f = Tanh(e)\n h = Mul(f, e)\n k = Cos(h)\n s = Add(d1, d2)\n y = Add(s, k)", 3},
        /* a part reads something else; its attributes or its operator differ */
        {"g (float[6,4] x, float[4,4] w1, float[4,4] w2, float[4,4] w3) => (float[2,4] y)", SPLIT,
         "a# = MatMul(x#, w#)\n b# = Tanh(a#)\n c# = Mul(b#, a#)\n d# = Sin(c#)\n", SUM, 3},
        {NET, SPLIT, "a# = MatMul(x#, w)\n b# = LeakyRelu <alpha = 0.#> (a#)\n c# = Mul(b#, a#)\n d# = Sin(c#)\n", SUM,
         3},
        {NET, SPLIT, PART, "k = Cos(c3)\n s = Add(d1, d2)\n y = Add(s, k)", 3},
        {NET, SPLIT, "a# = MatMul(x#, w)\n",
         "b1 = Tanh(a1)\n b2 = Tanh(a2)\n b3 = Tanh(x3)\n c1 = Mul(b1, a1)\n c2 = Mul(b2, a2)\n c3 = Mul(b3, a3)\n s = "
         "Add(c1, c2)\n y = Add(s, c3)",
         3},
        /* what a part makes is read elsewhere, or given */
        {"g (float[6,4] x, float[4,4] w) => (float[2,4] y, float[2,4] b2)", SPLIT, PART, SUM, 3},
        {"g (float[6,4] x, float[4,4] w) => (float[2,4] y, float[2,4] s)", SPLIT, PART, SUM, 3},
        {NET, SPLIT, PART, "e = Add(a1, b2)\n s = Add(d1, d2)\n r = Add(s, d3)\n y = Add(r, e)", 3},
        {NET, SPLIT, PART, "s = Add(d1, d2)\n r = Add(s, d3)\n y = Mul(r, s)", 3},
        /* fewer nodes than a region costs; a sum with one term more or less */
        {NET, SPLIT, "a# = MatMul(x#, w)\n b# = Tanh(a#)\n d# = Mul(b#, a#)\n", SUM, 3},
        {NET, SPLIT, PART, "y = Add(d1, d2)", 3},
        /* indices that a part computes; terms that are broadcast */
        {"g (int64[6] x, float[9,4] w) => (float[2,4] y)", SPLIT,
         "i# = Mul(x#, x#)\n a# = Gather(w, i#)\n b# = Tanh(a#)\n c# = Mul(b#, a#)\n d# = Sin(c#)\n", SUM, 3},
        {"g (float[6,4] x, float[4,4] w) => (float[1,2,4] y)", SPLIT "n = Constant <value_ints = [1, 2, 4]> ()\n", PART,
         "s = Add(d1, d2)\n e = Reshape(d3, n)\n y = Add(s, e)", 3},
        /* as many dimensions as there can be: parts of them would have one more */
        {"g (float[4,1,1,1,1,1,1,1,1,1,1,3] x) => (float[2,1,1,1,1,1,1,1,1,1,1,3] y)",
         "x1, x2 = Split <axis = 0, num_outputs = 2> (x)\n",
         "a# = Sin(x#)\n b# = Tanh(a#)\n c# = Mul(b#, a#)\n d# = Sin(c#)\n", "y = Add(d1, d2)", 2},
        /* random numbers: of each part its own */
        {NET, SPLIT,
         "r# = RandomNormalLike <seed = 1.0> (x#)\n z# = Add(x#, r#)\n a# = MatMul(z#, w)\n b# = Tanh(a#)\n d# = "
         "Mul(b#, a#)\n",
         SUM, 3},
    };
    check_cases(cases, COUNT(cases), false);
}
END_TEST

/* ---- what a part hands to the next one --------------------------------------------------------------------------- */

#define HANDED_NET "g (float[6,4] x, float[4,4] w, float[1,4] m) => (float[2,4] y, float[1,4] q)"
#define HANDED SPLIT "zero = Constant <value_ints = [0]> ()\n m0 = Exp(m)\n h = Constant <value_float = 0.9> ()\n"
#define MEANS "e# = ReduceMean (b#, zero)\n f# = Mul(e#, h)\n"
#define RUNNING "k1 = Mul(m0, h)\n m1 = Add(k1, f1)\n k2 = Mul(m1, h)\n m2 = Add(k2, f2)\n k3 = Mul(m2, h)\n"

START_TEST(running_statistics)
{
    static const struct roll_case rolled[] = {
        {HANDED_NET, HANDED, PART MEANS, RUNNING "m3 = Add(k3, f3)\n q = Neg(m3)\n" SUM, 3},
        {HANDED_NET, HANDED, PART MEANS, RUNNING "q = Add(k3, f3)\n" SUM, 3},
    };
    static const struct roll_case stay[] = {
        /* one that is handed on in another way; read elsewhere; begun with what all parts read */
        {HANDED_NET, HANDED, PART MEANS, RUNNING "q = Add(f3, k3)\n" SUM, 3},
        {HANDED_NET, HANDED, PART MEANS, RUNNING "m3 = Add(k3, f3)\n q = Mul(m3, m2)\n" SUM, 3},
        {"g (float[6,4] x, float[4,4] w, float[1,4] m) => (float[2,4] y, float[1,4] q, float[1,4] m1)", HANDED,
         PART MEANS, RUNNING "q = Add(k3, f3)\n" SUM, 3},
        {HANDED_NET, HANDED,
         "z# = Add(x#, m0)\n a# = MatMul(z#, w)\n b# = Tanh(a#)\n c# = Mul(b#, a#)\n d# = Sin(c#)\n" MEANS,
         RUNNING "q = Add(k3, f3)\n" SUM, 3},
        {HANDED_NET, HANDED, PART MEANS,
         "k1 = Mul(m0, h)\n m1 = Add(k1, f1)\n k2 = Mul(m0, h)\n m2 = Add(k2, f2)\n k3 = Mul(m2, h)\n"
         "q = Add(k3, f3)\n" SUM,
         3},
        {HANDED_NET, HANDED, PART MEANS,
         "m1 = Add(m0, f1)\n m2 = Add(m1, f2)\n k2 = Neg(m2)\n q0 = Add(m1, f3)\n q = Add(q0, k2)\n" SUM, 3},
    };
    check_cases(rolled, COUNT(rolled), true);
    check_cases(stay, COUNT(stay), false);
}
END_TEST

/* ---- what is computed of the whole batch as well ----------------------------------------------------------------- */

static struct graph *roll_whole(const char *net, const char *whole)
{
    const char *const text = arena_printf(&arena, "%s\n{ %s%s%s\n%s }", net, SPLIT, of_parts(3, PART), SUM, whole);
    ck_assert_int_eq(roll(text), 3);
    return program_entry(program, "infer")->graph;
}

#define WHOLE_NET "g (float[6,4] x, float[4,4] w) => (float[2,4] y, float[6,4] h)"

START_TEST(the_whole_is_taken_from_the_parts)
{
    ck_assert_ptr_null(find(roll_whole(WHOLE_NET, "a = MatMul(x, w)\n b = Tanh(a)\n h = Mul(b, a)"), "MatMul"));
    /* what follows it reads it; an order that is another one, or an operator that looks at the whole, is computed */
    const struct graph *const g =
        roll_whole("g (float[6,4] x, float[4,4] w) => (float[2,4] y, float[4] h)",
                   "a = MatMul(x, w)\n b = Tanh(a)\n c = Mul(b, a)\n n = Constant <value_ints = [0]> ()\n"
                   "h = ReduceSum <keepdims = 0> (c, n)");
    ck_assert_ptr_null(find(g, "MatMul"));
    ck_assert_ptr_nonnull(find(g, "ReduceSum"));
    ck_assert_ptr_nonnull(find(roll_whole(WHOLE_NET, "a = MatMul(x, w)\n b = Tanh(a)\n h = Mul(a, b)"), "Mul"));
    ck_assert_ptr_nonnull(find(roll_whole(WHOLE_NET, "a = MatMul(x, w)\n b = Sin(a)\n h = Mul(b, a)"), "Sin"));
    ck_assert_ptr_nonnull(find(
        roll_whole("g (float[6,4] x, float[4,4] w, float[4,4] v) => (float[2,4] y, float[6,4] h)", "h = MatMul(x, v)"),
        "MatMul"));
}
END_TEST

static int roll_with(const char *part, const char *shape, const char *whole, const char *op, bool stays)
{
    const char *const text = arena_printf(&arena, "g (float[6,2,4] x) => (float[2,2,4] y, float[%s] h)\n{ %s%s%s\n%s }",
                                          shape, SPLIT, of_parts(3, part), SUM, whole);
    const int parts = roll(text);
    ck_assert_msg((find(program_entry(program, "infer")->graph, op) != NULL) == stays, "%s of %s", op, text);
    return parts;
}

/* Only along axes that run together: a softmax along the batch is none of its parts'. */
START_TEST(only_axes_that_run_together)
{
#define PART_OF(axis) "a# = Softmax <axis = " axis "> (x#)\n b# = Tanh(a#)\n c# = Mul(b#, a#)\n d# = Sin(c#)\n"
#define WHOLE_OF(axis) "a = Softmax <axis = " axis "> (x)\n h = Tanh(a)"
    ck_assert_int_eq(roll_with(PART_OF("2"), "6,2,4", WHOLE_OF("2"), "Tanh", false), 3);
    ck_assert_int_eq(roll_with(PART_OF("0"), "6,2,4", WHOLE_OF("0"), "Tanh", true), 3);
#define SUMS_OF(axis)                                                                                                  \
    "z# = Constant <value_int = " axis "> ()\n a# = CumSum(x#, z#)\n b# = Tanh(a#)\n c# = Mul(b#, a#)\n d# = "         \
                                       "Sin(c#)\n"
    ck_assert_int_eq(roll_with(SUMS_OF("2"), "6,2,4",
                               "z = Constant <value_int = 2> ()\n a = CumSum(x, z)\n h = Tanh(a)", "Tanh", false),
                     3);
    ck_assert_int_eq(roll_with(SUMS_OF("0"), "6,2,4",
                               "z = Constant <value_int = 0> ()\n a = CumSum(x, z)\n h = Tanh(a)", "Tanh", true),
                     3);
    /* of other attributes */
    ck_assert_int_eq(roll_with("a# = LeakyRelu <alpha = 0.5> (x#)\n b# = Tanh(a#)\n c# = Mul(b#, a#)\n d# = Sin(c#)\n",
                               "6,2,4", "a = LeakyRelu <alpha = 0.25> (x)\n h = Tanh(a)", "Tanh", true),
                     3);
    /* through another shape, with the batch in front; a transpose takes the batch elsewhere */
#define SHAPED(n) "n = Constant <value_ints = [" n ", 8]> ()\n"
    ck_assert_int_eq(
        roll_with(
            "m# = Constant <value_ints = [2, 8]> ()\n a# = Reshape(x#, m#)\n b# = Tanh(a#)\n e# = Mul(b#, a#)\n"
            "l# = Constant <value_ints = [2, 2, 4]> ()\n c# = Reshape(e#, l#)\n d# = Sin(c#)\n",
            "6,8,1",
            SHAPED(
                "6") "a = Reshape(x, n)\n b = Tanh(a)\n k = Constant <value_ints = [6, 8, 1]> ()\n h = Reshape(b, k)",
            "Tanh", false),
        3);
    ck_assert_int_eq(
        roll_with("a# = Transpose <perm = [1, 0, 2]> (x#)\n b# = Tanh(a#)\n e# = Mul(b#, a#)\n c# = Sin(e#)\n"
                  "d# = Transpose <perm = [1, 0, 2]> (c#)\n",
                  "2,6,4", "a = Transpose <perm = [1, 0, 2]> (x)\n h = Tanh(a)", "Tanh", false),
        3);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("roll");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, sums_of_parts);
    tcase_add_test(tests, other_sums_stay);
    tcase_add_test(tests, running_statistics);
    tcase_add_test(tests, the_whole_is_taken_from_the_parts);
    tcase_add_test(tests, only_axes_that_run_together);
    return run_tests("roll", tests);
}
