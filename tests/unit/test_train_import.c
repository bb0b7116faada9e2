/* What import makes of sequences, loops, branches and functions: the values that are left when they are gone. */
#include "graph/import_internal.h"

#include "train_models.h"
#include "suite.h"

/* Each computes r from x = (1, 2, 3) and m = ((1, 2), (3, 4)); p, q, w are the elements of x. */
static const struct {
    const char *text;
    size_t count;
    double r[8];
} cases[] = {
    /* sequences: two that grow out of one */
    {"n = Neg(x) s = Mul(x, x) none = SequenceEmpty <dtype = 11> () first = SequenceInsert(none, x) "
     "a = SequenceInsert(first, n) b = SequenceInsert(first, s) "
     "u = SequenceAt(a, last) v = SequenceAt(b, last) r = Concat <axis = 0> (u, v)",
     6,
     {-1, -2, -3, 1, 4, 9}},
    {"s = SequenceConstruct(p, q, w) n = Neg(p) t = SequenceInsert(s, n, one) r = ConcatFromSequence <axis = 0> (t)",
     4,
     {1, -1, 2, 3}},
    {"s = SequenceConstruct(p, q, w) n = Neg(p) t = SequenceInsert(s, n, last) r = ConcatFromSequence <axis = 0> (t)",
     4,
     {1, 2, -1, 3}},
    {"s = SequenceConstruct(p, q) n = Neg(p) t = SequenceInsert(s, n, two) r = ConcatFromSequence <axis = 0> (t)",
     3,
     {1, 2, -1}},
    {"s = SequenceConstruct(p, q, w) t = SequenceErase(s) r = ConcatFromSequence <axis = 0> (t)", 2, {1, 2}},
    {"s = SequenceConstruct(p, q, w) t = SequenceErase(s, zero) r = ConcatFromSequence <axis = 0> (t)", 2, {2, 3}},
    {"s = SequenceConstruct(p, q, w) k = Neg(two) t = SequenceErase(s, k) r = ConcatFromSequence <axis = 0> (t)",
     2,
     {1, 3}},
    {"s = SequenceConstruct(p, q, w) t = SequenceErase(s, one) k = SequenceLength(t) r = Cast <to = 11> (k)", 1, {2}},
    {"n = Neg(x) s = SequenceConstruct(x, n) r = ConcatFromSequence <axis = -1, new_axis = 1> (s)",
     6,
     {1, -1, 2, -2, 3, -3}},
    {"s = SplitToSequence(x, two) r = SequenceAt(s, last)", 1, {3}},
    {"s = SplitToSequence <axis = 1, keepdims = 0> (m) r = SequenceAt(s, last)", 2, {2, 4}},
    {"s = SplitToSequence <axis = 1, keepdims = 0> (m, one) i = SequenceAt(s, last) k = Shape(i) "
     "r = Cast <to = 11> (k)",
     1,
     {2}},
    {"l = Constant <value_ints = [1, 1]> () s = SplitToSequence <axis = 1, keepdims = 0> (m, l) "
     "i = SequenceAt(s, last) k = Shape(i) r = Cast <to = 11> (k)",
     2,
     {2, 1}},
    {"s = SplitToSequence <axis = 1> (m) i = SequenceAt(s, last) k = Shape(i) r = Cast <to = 11> (k)", 2, {2, 1}},
    {"o = Optional(x) h = OptionalHasElement(o) g = OptionalGetElement(o) c = Cast <to = 11> (h) r = Mul(g, c)",
     3,
     {1, 2, 3}},
    {"s = SequenceConstruct(p, q) t = SequenceMap <body = b (double[1] e, double[3] f) => (double[3] g) "
     "{ g = Mul(e, f) }> (s, x) r = ConcatFromSequence <axis = 0> (t)",
     6,
     {1, 2, 3, 2, 4, 6}},

    /* constants */
    {"c = Constant <value_floats = [0.5, 1.0, 2.0]> () d = Cast <to = 11> (c) r = Mul(d, x)", 3, {0.5, 2, 6}},
    {"c = Constant <value_float = 0.5> () d = Cast <to = 11> (c) r = Mul(d, x)", 3, {0.5, 1, 1.5}},
    {"c = Constant <value_ints = [2, 0]> () r = Gather(x, c)", 2, {3, 1}},

    /* loops */
    {"yes = Constant <value = bool {1}> () t, r = Loop <body = b (int64 i, bool c, double[3] s) => (bool c, double[3] "
     "t, double[3] u) { t = Add(s, s) u = Identity(s) }> (two, yes, x)",
     6,
     {1, 2, 3, 2, 4, 6}},
    {"yes = Constant <value = bool {1}> () r = Loop <body = b (int64 i, bool c, double[3] s) => (bool c, double[3] t) "
     "{ k = Cast <to = 11> (i) t = Add(s, k) }> (three, yes, x)",
     3,
     {4, 5, 6}},
    {"r = Loop <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] t) { d = Less(i, one) t = Add(s, s) }> "
     "(, , x)",
     3,
     {4, 8, 12}},
    {"no = Constant <value = bool {0}> () r = Loop <body = b (int64 i, bool c, double[3] s) => (bool c, double[3] t) "
     "{ t = Add(s, s) }> (two, no, x)",
     3,
     {1, 2, 3}},
    /* what is called x in the body is x again behind it */
    {"yes = Constant <value = bool {1}> () t = Loop <body = b (int64 i, bool c, double[3] x) => (bool c, double[3] z) "
     "{ z = Add(x, x) }> (two, yes, x) r = Sub(t, x)",
     3,
     {3, 6, 9}},
    /* a state that the body hands on as it is, and two that change places */
    {"yes = Constant <value = bool {1}> () n = Neg(x) a, b = Loop <body = b (int64 i, bool c, double[3] s, double[3] "
     "t) => (bool c, double[3] t, double[3] s) { }> (three, yes, x, n) r = Concat <axis = 0> (a, b)",
     6,
     {-1, -2, -3, 1, 2, 3}},

    /* scans: columns of m from the last to the first, (2, 4) then (1, 3) */
    {"z = Constant <value = double[2] {0, 0}> () r, all = Scan <num_scan_inputs = 1, scan_input_axes = [1], "
     "scan_input_directions = [1], body = b (double[2] s, double[2] e) => (double[2] t, double[2] u) "
     "{ h = Add(s, s) t = Add(h, e) u = Identity(t) }> (z, m)",
     2,
     {5, 11}},
    {"z = Constant <value = double[2] {0, 0}> () f, r = Scan <num_scan_inputs = 1, scan_input_axes = [1], "
     "scan_input_directions = [1], body = b (double[2] s, double[2] e) => (double[2] t, double[2] u) "
     "{ h = Add(s, s) t = Add(h, e) u = Identity(t) }> (z, m)",
     4,
     {2, 4, 5, 11}},
    {"z = Constant <value = double[2] {0, 0}> () f, r = Scan <num_scan_inputs = 1, scan_input_axes = [1], "
     "scan_input_directions = [1], scan_output_axes = [-1], scan_output_directions = [1], "
     "body = b (double[2] s, double[2] e) => (double[2] t, double[2] u) "
     "{ h = Add(s, s) t = Add(h, e) u = Identity(t) }> (z, m)",
     4,
     {5, 2, 11, 4}},
    {"r = Scan <num_scan_inputs = 2, body = b (double[2] e, double f) => (double[2] u) { u = Mul(e, f) }> (m, ten)",
     4,
     {10, 20, 60, 80}},

    /* branches */
    {"k = Shape(x) l = Gather(k, zero) c = Less(l, two) r = If <then_branch = t () => (double[k] a) { a = Neg(x) }, "
     "else_branch = e () => (double[k] b) { x2 = Mul(x, x) b = Add(x2, x) }> (c)",
     3,
     {2, 6, 12}},
    {"c = Constant <value = bool {1}> () r = If <then_branch = t () => (double[k] a) { q = Neg(x) a = Add(q, p) }, "
     "else_branch = e () => (double[k] b) { b = Identity(x) }> (c)",
     3,
     {0, -1, -2}},

    /* FlexAttention: log(3) and 0 are scores of shares 3/4 and 1/4 */
    {"s = Constant <value = double[1,2,1,4] {2, 0, 0, 0, 0, 2, 0, 0}> () "
     "k = Constant <value = double[1,1,2,4] {1.0986122886681098, 0, 0, 0, 0, 0, 0, 0}> () "
     "v = Constant <value = double[1,1,2,1] {4, 8}> () r = ai.onnx.preview.FlexAttention(s, k, v)",
     2,
     {5, 6}},
    {"s = Constant <value = double[1,1,1,4] {2, 0, 0, 0}> () "
     "k = Constant <value = double[1,1,2,4] {1.0986122886681098, 0, 0, 0, 0, 0, 0, 0}> () "
     "v = Constant <value = double[1,1,2,1] {4, 8}> () r = ai.onnx.preview.FlexAttention <scale = 1.0> (s, k, v)",
     1,
     {4.4}},
    {"s = Constant <value = double[1,1,1,4] {2, 0, 0, 0}> () "
     "k = Constant <value = double[1,1,2,4] {1.0986122886681098, 0, 0, 0, 0, 0, 0, 0}> () "
     "v = Constant <value = double[1,1,2,1] {4, 8}> () r = ai.onnx.preview.FlexAttention <"
     "score_mod = f (double[b,h,l,n] a) => (double[b,h,l,n] c) { c = Add(a, a) }, "
     "prob_mod = g (double[b,h,l,n] a) => (double[b,h,l,n] c) { c = Neg(a) }> (s, k, v)",
     1,
     {-4.4}},

    /* four heads, of which two and two share keys and values */
    {"s = Constant <value = double[1,4,1,4] {2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0}> () "
     "k = Constant <value = double[1,2,2,4] {1.0986122886681098, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}> () "
     "v = Constant <value = double[1,2,2,1] {4, 8, 16, 32}> () r = ai.onnx.preview.FlexAttention(s, k, v)",
     4,
     {5, 5, 24, 24}},

    /* functions: defaults and attributes of the call, operands that are left out */
    {"r = mine.Scaled(x)", 3, {0.5, 1, 1.5}},
    {"r = mine.Scaled <by = 2.0> (x)", 3, {2, 4, 6}},
    {"r = mine.Filled <with = 2.0> (x)", 3, {2, 2, 2}},
    {"a, b = mine.Both(x, p) r = Concat <axis = 0> (a, b)", 6, {2, 3, 4, 0, 1, 2}},
    {"a, b = mine.Both(p, q) c, d = mine.Both(b, a) r = Concat <axis = 0> (c, d)", 2, {2, -4}},
};

static bool read_model(const char *text)
{
    const char *const all = arena_printf(
        &arena,
        "<ir_version: 10, opset_import: [\"\" : 18, \"ai.onnx.preview\" : 1, \"mine\" : 1, \"" TRAINING
        "\" : 1]>\n"
        "net (double[3] x, double[2,2] m) => (double[n] y)\n"
        "<int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64 three = {3}, int64 last = {-1}, "
        "int64[1] flat = {-1}, double[2] ten = {10, 20}>\n"
        "{ p, q, w = Split <num_outputs = 3> (x) %s y = Reshape(r, flat) }\n"
        "<domain: \"mine\", opset_import: [\"\" : 18]>\n"
        "Scaled <by: float = 0.5> (v) => (z) { b = Constant <value_float: float = @by> () d = CastLike(b, v) "
        "z = Mul(v, d) }\n"
        "<domain: \"mine\", opset_import: [\"\" : 18]>\n"
        "Filled <with> (v) => (z) { b = Constant <value_float: float = @with> () d = CastLike(b, v) s = Shape(v) "
        "z = Expand(d, s) }\n"
        "<domain: \"mine\", opset_import: [\"\" : 18]>\n"
        "Same (v) => (v) { }\n"
        "<domain: \"mine\", opset_import: [\"\" : 18]>\n"
        "Both (v, u) => (sum, difference) { sum = Add(v, u) difference = Sub(v, u) }\n",
        text);
    struct model *m;
    return model_read_text(&diag, &arena, "case", all, strlen(all), &m) &&
           combine_program(&diag, &arena, m, &options, "test", NULL, &program);
}

static void expect_values(const char *text, const double *r, size_t count)
{
    const bool ok = read_model(text) && adjoint_expand(program_entry(program, "infer")->graph);
    if (!ok)
        print_messages();
    ck_assert_msg(ok, "%s", text);
    graph_verify(program_entry(program, "infer")->graph, "adjoint");
    const struct tensor *const y =
        run(start(), "infer", "y", INPUTS(DOUBLES(SHAPE(3), 1, 2, 3), DOUBLES(SHAPE(2, 2), 1, 2, 3, 4)));
    ck_assert_msg((size_t)y->count == count, "%s", text);
    expect(y, r, count);
}

START_TEST(values_of_what_is_gone)
{
    expect_values(cases[_i].text, cases[_i].r, cases[_i].count);
}
END_TEST

#define GRADIENT(lists, inputs)                                                                                        \
    " s = ReduceSum <keepdims = 0> (l) r = " TRAINING ".Gradient <" lists ", y = \"s\"> (" inputs ")"
#define SQUARES                                                                                                        \
    "yes = Constant <value = bool {1}> () v, all = Loop <body = b (int64 i, bool c, double[3] s) => (bool c, "         \
    "double[3] t, double[3] t) { t = Mul(s, s) }> "

/* What a node gives is a variable of its own, though it be an operand or stand in another result. */
static const struct {
    const char *text;
    double r[3];
} listed[] = {
    {"yes = Constant <value = bool {1}> () v = If <then_branch = t () => (double[3] x) { }, else_branch = e () => "
     "(double[3] b) { b = Neg(x) }> (yes) l = Mul(v, x)" GRADIENT("xs = [\"v\"]", "v"),
     {1, 2, 3}},
    {"yes = Constant <value = bool {1}> () v = If <then_branch = t () => (double[3] x) { }, else_branch = e () => "
     "(double[3] b) { b = Neg(x) }> (yes) l = Mul(v, x)" GRADIENT("xs = [\"x\"], zs = [\"v\"]", "x, v"),
     {1, 2, 3}},
    {"v = mine.Same(x) l = Mul(v, x)" GRADIENT("xs = [\"v\"]", "v"), {1, 2, 3}},
    {SQUARES "(two, yes, x) k = Gather(all, one) l = Mul(v, k)" GRADIENT("xs = [\"v\"]", "v"), {1, 16, 81}},
    {SQUARES "(zero, yes, x) l = Mul(v, x)" GRADIENT("xs = [\"v\"]", "v"), {1, 2, 3}},
    /* both ways to v are those of one value where nothing lists it */
    {SQUARES "(two, yes, x) k = Gather(all, one) l = Mul(v, k)" GRADIENT("xs = [\"x\"]", "x"), {8, 1024, 17496}},
};

START_TEST(listed_results_are_their_own)
{
    expect_values(listed[_i].text, listed[_i].r, 3);
}
END_TEST

static const struct {
    const char *text, *message;
} wrong[] = {
    {"s = SequenceConstruct(p, q) r = SequenceAt(s, two)", "position 2 is out of range for a sequence of 2 tensors"},
    {"s = SequenceConstruct(p, q) k = Neg(three) r = SequenceAt(s, k)", "position -3 is out of range"},
    {"s = SequenceConstruct(p, q) t = SequenceInsert(s, w, three) r = SequenceAt(t, one)",
     "position 3 is out of range"},
    {"s = SequenceConstruct(p, q) t = SequenceErase(s, two) r = SequenceAt(t, zero)", "position 2 is out of range"},
    {"c = Cast <to = 1> (p) s = SequenceConstruct(p, c) r = SequenceAt(s, zero)",
     "tensor 'c' is float, but the sequence is of double"},
    {"l = Constant <value_ints = [1, 1]> () s = SplitToSequence(x, l) r = SequenceAt(s, zero)",
     "the pieces are not the 3 elements of the axis"},
    {"l = Constant <value_ints = [4, -1]> () s = SplitToSequence(x, l) r = SequenceAt(s, zero)",
     "the pieces are not the 3 elements of the axis"},
    {"s = SplitToSequence(x, zero) r = SequenceAt(s, zero)", "(split) is no list of integers, nor a positive one"},
    {"s = SequenceConstruct(p, q) r = Neg(s)", "input 0 's' is a sequence, expected a tensor"},
    {"c = Constant <value_int = 1, value_float = 1.0> () r = Gather(x, c)",
     "Constant has both 'value_int' and 'value_float', expected one value"},
    {"yes = Constant <value = bool {1}> () r = Loop <body = b (int64 i, bool c, float[3] s) => (bool c, float[3] t) "
     "{ t = Add(s, s) }> (two, yes, x)",
     "input 's' of graph 'b' is declared as float, but is double"},
    {"yes = Constant <value = bool {1}> () t, r = Loop <body = b (int64 i, bool c, double[a] s) => (bool c, double[b] "
     "t, double[d] u) { t = Concat <axis = 0> (s, s) u = Identity(s) }> (two, yes, x)",
     "scan output 0 of the body is double[6] in iteration 1, but double[3] in the first"},
    {"r = Scan <num_scan_inputs = 2, body = b (double[2] e, double f) => (double[2] u) { u = Mul(e, f) }> (m, x)",
     "scan input 1 'x' has 3 items, expected 2 as the one before"},
    {"a, b, c = mine.Both(x, x) r = Add(a, c)", "function 'Both' has 2 outputs, the node names 3"},
    {"a, b = mine.Both(x, x, x) r = Add(a, b)", "function 'Both' takes 2 inputs, given 3"},
    {"r = mine.Scaled <bye = 2.0> (x)", "unknown attribute 'bye' of function 'Scaled'"},
    {"r = mine.Filled <without = 2.0> (x)", "unknown attribute 'without' of function 'Filled'"},
};

START_TEST(wrong_uses_are_refused)
{
    ck_assert_msg(!read_model(wrong[_i].text), "%s", wrong[_i].text);
    ck_assert(has_message(wrong[_i].message));
}
END_TEST

#define DRAWS(name)                                                                                                    \
    name "_mod = " name " (double[b,h,l,n] a) => (double[b,h,l,n] c) { u = RandomUniformLike(a) c = Add(a, u) }"

static const struct {
    const char *graphs;
    uint32_t count; /* of random nodes, with the one behind it */
} draws[] = {{DRAWS("score"), 2}, {DRAWS("prob"), 2}, {DRAWS("score") ", " DRAWS("prob"), 3},
             {DRAWS("prob") ", " DRAWS("score"), 3}};

/* The graphs of an attention draw numbers of their own, and so does what stands behind it. */
START_TEST(graphs_of_an_attention_draw_their_own)
{
    bool seen[4] = {false};
    uint32_t found = 0;
    const bool ok = read_model(arena_printf(
        &arena,
        "s = Constant <value = double[1,1,1,4] {2, 0, 0, 0}> () k = Constant <value = double[1,1,1,4] {1, 0, 0, 0}> () "
        "f = ai.onnx.preview.FlexAttention <%s> (s, k, k) u = RandomUniformLike(f) r = Add(f, u)", draws[_i].graphs));
    if (!ok)
        print_messages();
    ck_assert(ok);
    ck_assert_uint_eq(program->random_streams, draws[_i].count);
    graph_each_node(program_entry(program, "infer")->graph, n) {
        if (n->stream == 0)
            continue;
        ck_assert(n->stream <= draws[_i].count && !seen[n->stream]);
        seen[n->stream] = true;
        found++;
    }
    ck_assert_uint_eq(found, draws[_i].count);
}
END_TEST

static bool read_chain(int deep)
{
    struct strbuf b = {.arena = &arena};
    strbuf_addf(&b, "<ir_version: 10, opset_import: [\"mine\" : 1]>\n"
                    "net (double[3] x) => (double[3] y) { y = mine.f1(x) }\n");
    for (int i = 1; i <= deep; i++)
        strbuf_addf(&b, "<domain: \"mine\", opset_import: [\"\" : 18, \"mine\" : 1]>\n"
                        "f%d (v) => (u) { u = %s%.0d(v) }\n",
                    i, i < deep ? "mine.f" : "Neg", i < deep ? i + 1 : 0);
    const char *const text = strbuf_text(&b);
    struct model *m;
    return model_read_text(&diag, &arena, "chain", text, strlen(text), &m) &&
           combine_program(&diag, &arena, m, &options, "test", NULL, &program);
}

START_TEST(functions_call_each_other_a_hundred_deep)
{
    ck_assert(read_chain(100));
    ck_assert(!read_chain(101));
    ck_assert(has_message("calls of functions are nested more than 100 deep"));
}
END_TEST

/* By one number for an element or by one for each dimension. */
START_TEST(sparse_tensors_become_dense)
{
    const int64_t indices[] = {0, 1, 1, 0, 1, 2}, linear[] = {1, 3, 5};
    struct model_sparse s = {.name = "s", .values = DOUBLES(SHAPE(3), 1, 2, 3), .dims = SHAPE(2, 3)};
    for (int by_dim = 0; by_dim < 2; by_dim++) {
        s.indices = tensor_new(&arena, DTYPE_INT64, by_dim ? &SHAPE(3, 2) : &SHAPE(3));
        for (int64_t i = 0; i < s.indices->count; i++)
            tensor_set_int(s.indices, i, by_dim ? indices[i] : linear[i]);
        const struct tensor *const dense = import_dense(&diag, &arena, &s);
        ck_assert(dense && dense->shape.rank == 2);
        expect(dense, (const double[]){0, 1, 0, 2, 0, 3}, 6);
    }
    tensor_set_int(s.indices, 1, 3);
    ck_assert(!import_dense(&diag, &arena, &s) && has_message("index 0 of sparse tensor 's' is out of range"));
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, values_of_what_is_gone, 0, (int)(sizeof cases / sizeof cases[0]));
    tcase_add_loop_test(all, listed_results_are_their_own, 0, (int)(sizeof listed / sizeof listed[0]));
    tcase_add_loop_test(all, wrong_uses_are_refused, 0, (int)(sizeof wrong / sizeof wrong[0]));
    tcase_add_loop_test(all, graphs_of_an_attention_draw_their_own, 0, (int)(sizeof draws / sizeof draws[0]));
    tcase_add_test(all, functions_call_each_other_a_hundred_deep);
    tcase_add_test(all, sparse_tensors_become_dense);
    return run_tests("train_import", all);
}
