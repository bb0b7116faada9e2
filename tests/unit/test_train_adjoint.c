/* Differentiation: Gradient nodes against derivatives worked out by hand, and what is said of bad ones. */
#include "train_models.h"

#include "suite.h"
#include "train/adjoint_internal.h"

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* A model whose main graph has scalar inputs x and w. */
static struct model *scalars(void)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, "");
    input(m->graph, "w", DTYPE_DOUBLE, "");
    return m;
}

static void expect_gradient(struct model *m, const char *name, double x, double w, double expected)
{
    output(m->graph, name);
    must_combine(m);
    EXPECT(run(start(), "infer", name, INPUTS(SCALAR(x), SCALAR(w))), expected);
}

START_TEST(gradient_of_gradient)
{
    struct model *const m = scalars();
    op(m->graph, "xx", "Mul", "x x");
    op(m->graph, "xxx", "Mul", "xx x");
    op(m->graph, "y", "Mul", "xxx w");
    gradient(m->graph, "g", "x", "", "y", "x");    /* 3 x^2 w */
    gradient(m->graph, "h", "x", "w", "g", "x w"); /* 6 x w */
    gradient(m->graph, "k", "w", "x", "h", "w x"); /* 6 x */
    output(m->graph, "g h");
    expect_gradient(m, "k", 2, 5, 12);
    EXPECT(run(start(), "infer", "g", INPUTS(SCALAR(2), SCALAR(5))), 60);
    EXPECT(run(start(), "infer", "h", INPUTS(SCALAR(2), SCALAR(5))), 60);
}
END_TEST

/* F(h, w) = h * h * w, evaluated at (x, x) instead of (h, w); h is computed by the graph but free in F. */
/* Rows that a loss ignores have no second gradient either. It is taken of ordinary operators that stand for the
 * first: differences of that one do not tell them apart. With scores of 0, p = 1/2 and d = (1/2, -1/2): the gradient
 * of d d is (1/2, -1/2). */
START_TEST(ignored_rows_have_no_second_gradient)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, "2 2");
    struct tensor *const labels = tensor_new(&arena, DTYPE_INT64, &SHAPE(2));
    tensor_set_int(labels, 0, 1);
    tensor_set_int(labels, 1, 0);
    model_add_initializer(&arena, m->graph, "t", labels);
    model_set_int(&arena, op(m->graph, "y", "SoftmaxCrossEntropyLoss", "x t"), "ignore_index", 0);
    gradient(m->graph, "d", "x", "", "y", "x");
    op(m->graph, "dd", "Mul", "d d");
    model_set_int(&arena, op(m->graph, "s", "ReduceSum", "dd"), "keepdims", 0);
    gradient(m->graph, "second", "x", "", "s", "x");
    output(m->graph, "second");
    must_combine(m);
    EXPECT(run(start(), "infer", "second", INPUTS(DOUBLES(SHAPE(2, 2), 0, 0, 0, 3))), 0.5, -0.5, 0, 0);
}
END_TEST

START_TEST(substituted_inputs)
{
    struct model *const m = scalars();
    op(m->graph, "h", "Exp", "x");
    op(m->graph, "hh", "Mul", "h h");
    op(m->graph, "y", "Mul", "hh w");
    gradient(m->graph, "dh dw", "h w", "", "y", "x x");
    output(m->graph, "dh");
    expect_gradient(m, "dw", 3, 100, 9);                                     /* h^2 at h = 3 */
    EXPECT(run(start(), "infer", "dh", INPUTS(SCALAR(3), SCALAR(100))), 18); /* 2 h w at h = w = 3 */
}
END_TEST

START_TEST(swapped_inputs_keep_apart)
{
    struct model *const m = scalars();
    op(m->graph, "ww", "Mul", "w w");
    op(m->graph, "y", "Mul", "x ww");
    gradient(m->graph, "dx dw", "x w", "", "y", "w x");
    output(m->graph, "dx");
    expect_gradient(m, "dw", 3, 5, 2 * 5 * 3);                            /* 2 x w at x = 5, w = 3 */
    EXPECT(run(start(), "infer", "dx", INPUTS(SCALAR(3), SCALAR(5))), 9); /* w^2 at w = 3 */
}
END_TEST

START_TEST(intermediate_tensor_in_xs)
{
    struct model *const m = scalars();
    op(m->graph, "h", "Mul", "x w");
    op(m->graph, "hh", "Mul", "h h");
    op(m->graph, "y", "Add", "hh x");
    gradient(m->graph, "dh dx", "h x", "", "y", "h x");
    output(m->graph, "dh");
    expect_gradient(m, "dx", 2, 3, 1); /* the path through h is cut (R20 in docs/readings.md) */
    ck_assert(has_message("'h' is listed in xs or zs, but depends on others listed there"));
    EXPECT(run(start(), "infer", "dh", INPUTS(SCALAR(2), SCALAR(3))), 12);

    diag.strict = true;
    ck_assert(!combine(m));
}
END_TEST

static bool is_told(const char *part)
{
    for (size_t i = 0; i < diag.messages.count; i++)
        if (strstr(diag.messages.data[i].text, part) != NULL)
            return true;
    return false;
}

START_TEST(what_zs_cut_is_not_told_of)
{
    struct model *const m = scalars();
    op(m->graph, "h", "Mul", "x w");
    op(m->graph, "hh", "Mul", "h h");
    op(m->graph, "y", "Add", "hh x");
    gradient(m->graph, "dx", "x", "h", "y", "x h");
    expect_gradient(m, "dx", 2, 3, 1);
    ck_assert(!is_told("depends on others"));
}
END_TEST

START_TEST(one_element_is_a_scalar)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, "1 1");
    op(m->graph, "y", "Mul", "x x");
    gradient(m->graph, "dx", "x", "", "y", "x");
    output(m->graph, "dx");
    must_combine(m);
    EXPECT(run(start(), "infer", "dx", INPUTS(DOUBLES(SHAPE(1, 1), 3))), 6);
    ck_assert(!is_told("not that of a scalar"));
}
END_TEST

/* R27: y = h(x) x at another x draws what it drew. */
START_TEST(evaluated_again_a_node_draws_the_same)
{
    struct model *const m = scalars();
    op(m->graph, "h", "RandomUniformLike", "x");
    op(m->graph, "y", "Mul", "h x");
    gradient(m->graph, "dx", "x", "", "y", "w");
    output(m->graph, "dx h");
    must_combine(m);
    const struct tensor *const h = run(start(), "infer", "h", INPUTS(SCALAR(2), SCALAR(3)));
    EXPECT(run(start(), "infer", "dx", INPUTS(SCALAR(2), SCALAR(3))), tensor_get_double(h, 0));
}
END_TEST

START_TEST(x_without_influence_has_a_zero_gradient)
{
    struct model *const m = scalars();
    op(m->graph, "y", "Mul", "x x");
    gradient(m->graph, "dx dw", "x w", "", "y", "x w");
    expect_gradient(m, "dw", 2, 3, 0);
    ck_assert(has_message("'w' has no influence on 'y': its gradient is zero"));
}
END_TEST

START_TEST(x_that_only_jumps_has_a_zero_gradient)
{
    struct model *const m = scalars();
    op(m->graph, "f", "Floor", "x");
    op(m->graph, "y", "Mul", "f w");
    gradient(m->graph, "dx", "x", "", "y", "x");
    expect_gradient(m, "dx", 2, 3, 0);
    ck_assert(has_message("'x' reaches 'y' only through inputs and operators that carry no gradient"));
}
END_TEST

/* ---- a node of two outputs, one of which is a variable ----------------------------------------------------------- */

/* a, b = x; y = a a b, with respect to x and a: dy/da = 2 a b, and what flows into a does not reach x. */
static void expect_halves(const char *inputs, const double (*dx)[2], double da)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, "2");
    input(m->graph, "u", DTYPE_DOUBLE, "2");
    input(m->graph, "v", DTYPE_DOUBLE, "1");
    op(m->graph, "a b", "Split", "x");
    op(m->graph, "aa", "Mul", "a a");
    op(m->graph, "y", "Mul", "aa b");
    gradient(m->graph, "dx da", "x a", "", "y", inputs);
    output(m->graph, "dx da");
    must_combine(m);
    const struct tensor *const in[] = {DOUBLES(SHAPE(2), 3, 5), DOUBLES(SHAPE(2), 7, 11), DOUBLES(SHAPE(1), 13)};
    expect(run(start(), "infer", "dx", in), *dx, 2);
    EXPECT(run(start(), "infer", "da", in), da);
}

START_TEST(one_half_is_a_variable)
{
    expect_halves("x a", &(const double[]){0, 3 * 3}, 2 * 3 * 5);
}
END_TEST

START_TEST(one_half_is_supplied)
{
    expect_halves("x v", &(const double[]){0, 13 * 13}, 2 * 13 * 5);
}
END_TEST

START_TEST(one_half_is_supplied_the_other_follows)
{
    expect_halves("u v", &(const double[]){0, 13 * 13}, 2 * 13 * 11);
}
END_TEST

/* ---- adjoints of several names ----------------------------------------------------------------------------------- */

/* y = (a + x) w: da and dx are one number, and still two variables of z = da dx. */
START_TEST(equal_gradients_are_two_values)
{
    struct model *const m = scalars();
    input(m->graph, "a", DTYPE_DOUBLE, "");
    op(m->graph, "s", "Add", "a x");
    op(m->graph, "y", "Mul", "s w");
    gradient(m->graph, "da dx", "a x", "w", "y", "a x w");
    op(m->graph, "z", "Mul", "da dx");
    gradient(m->graph, "g", "da", "", "z", "da");
    output(m->graph, "da dx g");
    must_combine(m);
    const struct tensor *const in[] = {SCALAR(2), SCALAR(3), SCALAR(5)};
    EXPECT(run(start(), "infer", "da", in), 3);
    EXPECT(run(start(), "infer", "dx", in), 3);
    EXPECT(run(start(), "infer", "g", in), 3);
}
END_TEST

/* Each can be asked for by its name. */
START_TEST(equal_gradients_have_two_names)
{
    struct model *const m = scalars();
    input(m->graph, "a", DTYPE_DOUBLE, "");
    op(m->graph, "s", "Add", "a x");
    op(m->graph, "y", "Mul", "s w");
    gradient(m->graph, "da dx", "a x", "", "y", "a x");
    output(m->graph, "y");
    must_combine(m);
    EXPECT(run(start(), "infer", "da", INPUTS(SCALAR(2), SCALAR(3), SCALAR(5))), 3);
    EXPECT(run(start(), "infer", "dx", INPUTS(SCALAR(2), SCALAR(3), SCALAR(5))), 3);
}
END_TEST

/* y = (a + x x) w: da = w is a factor of dx = 2 x w. Where da varies, dx does not. */
START_TEST(gradients_do_not_follow_from_each_other)
{
    struct model *const m = scalars();
    input(m->graph, "a", DTYPE_DOUBLE, "");
    op(m->graph, "xx", "Mul", "x x");
    op(m->graph, "s", "Add", "a xx");
    op(m->graph, "y", "Mul", "s w");
    gradient(m->graph, "da dx", "a x", "w", "y", "a x w");
    op(m->graph, "z", "Mul", "da dx");
    gradient(m->graph, "g", "da", "", "z", "x");
    output(m->graph, "g");
    must_combine(m);
    EXPECT(run(start(), "infer", "g", INPUTS(SCALAR(2), SCALAR(3), SCALAR(5))), 2 * 2 * 3);
}
END_TEST

/* Normalization with a second output that the model names, and none between: its gradient wants the mean. */
START_TEST(an_output_that_a_gradient_wants_fills_a_gap)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, "1 2");
    model_add_initializer(&arena, m->graph, "scale", DOUBLES(SHAPE(2), 1, 1));
    input(m->graph, "t", DTYPE_DOUBLE, "1 2");
    struct model_node *const n = op(m->graph, "n - inverse", "LayerNormalization", "x scale");
    model_set_float(&arena, n, "epsilon", 0);
    model_set_int(&arena, n, "stash_type", DTYPE_DOUBLE);
    op(m->graph, "nt", "Mul", "n t");
    op(m->graph, "y", "ReduceSum", "nt");
    gradient(m->graph, "dx", "x", "", "y", "x");
    output(m->graph, "inverse dx");
    must_combine(m);
    const struct graph *const g = program_entry(program, "infer")->graph;
    const struct node *const made = graph_find(g, "inverse")->producer;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(made->outputs.data[i]->output, i);
    EXPECT(run(start(), "infer", "inverse", INPUTS(DOUBLES(SHAPE(1, 2), 1, 5), DOUBLES(SHAPE(1, 2), 3, 7))), 0.5);
}
END_TEST

/* ---- sums of pieces ---------------------------------------------------------------------------------------------- */

static void add_ints(struct model_graph *g, const char *name, enum dtype dtype, int64_t a, int64_t b)
{
    struct tensor *const t = tensor_new(&arena, dtype, &SHAPE(2));
    tensor_set_int(t, 0, a);
    tensor_set_int(t, 1, b);
    model_add_initializer(&arena, g, name, t);
}

/* A model of x, with the indices that slices are given by. */
static struct model *pieces(const char *dims)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, dims);
    static const char *const constants[] = {"zero", "one", "two"};
    for (int i = 0; i < 3; i++) {
        struct tensor *const t = tensor_new(&arena, DTYPE_INT64, &SHAPE(1));
        tensor_set_int(t, 0, i);
        model_add_initializer(&arena, m->graph, constants[i], t);
    }
    return m;
}

/* y: the sum of p, three times, and of q. */
static void expect_pieces(struct model *m, const struct tensor *x, const double *dx)
{
    model_set_int(&arena, op(m->graph, "p1", "ReduceSum", "p"), "keepdims", 0);
    model_set_int(&arena, op(m->graph, "q1", "ReduceSum", "q"), "keepdims", 0);
    op(m->graph, "p3", "Sum", "p1 p1 p1");
    op(m->graph, "y", "Add", "p3 q1");
    gradient(m->graph, "dx", "x", "", "y", "x");
    output(m->graph, "dx");
    must_combine(m);
    expect(run(start(), "infer", "dx", INPUTS(x)), dx, (size_t)x->count);
}

START_TEST(rows_of_two_kinds_of_indices_add_up)
{
    struct model *const m = pieces("4");
    add_ints(m->graph, "i", DTYPE_INT32, 1, 1);
    add_ints(m->graph, "j", DTYPE_INT64, 2, 2);
    op(m->graph, "p", "Gather", "x i");
    op(m->graph, "q", "Gather", "x j");
    expect_pieces(m, DOUBLES(SHAPE(4), 0), (const double[]){0, 6, 2, 0});
}
END_TEST

START_TEST(a_row_and_a_column_add_up)
{
    struct model *const m = pieces("2 2");
    op(m->graph, "p", "Slice", "x zero one zero"); /* the first row */
    op(m->graph, "q", "Slice", "x one two one");   /* the last column */
    expect_pieces(m, DOUBLES(SHAPE(2, 2), 0), (const double[]){3, 4, 0, 1});
}
END_TEST

START_TEST(pieces_of_two_shapes_add_up)
{
    struct model *const m = pieces("2 4 1");
    struct tensor *const t = tensor_new(&arena, DTYPE_INT64, &SHAPE(3));
    for (int i = 0; i < 3; i++)
        tensor_set_int(t, i, 2);
    model_add_initializer(&arena, m->graph, "squares", t);
    op(m->graph, "r", "Reshape", "x squares");
    op(m->graph, "p", "Slice", "x zero one zero");
    op(m->graph, "q", "Slice", "r one two zero");
    expect_pieces(m, DOUBLES(SHAPE(2, 4, 1), 0), (const double[]){3, 3, 3, 3, 1, 1, 1, 1});
}
END_TEST

/* What is added to every row is no piece of the sum itself. */
START_TEST(pieces_that_are_broadcast_stay)
{
    static const char text[] =
        "<ir_version: 10, opset_import: [\"\" : 18, \"stepc\" : 1]>\n"
        "g (double[1,2] a, double[1,2] b, double[2,4] c) => (double[2,4] y) {\n"
        "    p = stepc.SliceGrad <shape = [1, 4], starts = [0, 0], steps = [1, 1]> (a)\n"
        "    q = stepc.SliceGrad <shape = [1, 4], starts = [0, 2], steps = [1, 1]> (b)\n"
        "    r = Add(p, c)\n"
        "    s = Add(q, r)\n"
        "    y = Add(s, c)\n"
        "}";
    struct model *m;
    ck_assert(model_read_text(&diag, &arena, "pieces", text, strlen(text), &m));
    must_combine(m);
    struct graph *const g = program_entry(program, "infer")->graph;
    ck_assert(merge_sums(g, 0));
    graph_verify(g, "merge_sums");
    EXPECT(run(start(), "infer", "y",
               INPUTS(DOUBLES(SHAPE(1, 2), 1, 2), DOUBLES(SHAPE(1, 2), 3, 4), DOUBLES(SHAPE(2, 4), 10, 20, 30, 40))),
           21, 42, 63, 84, 21, 42, 63, 84);
}
END_TEST

/* z = s + t, where both are b with something added at two places, at another u than the model's: evaluated again, the
 * sum is one of the model, and b stays in it. */
START_TEST(scatters_onto_something_keep_it)
{
    struct model *const m = new_model();
    input(m->graph, "b", DTYPE_DOUBLE, "4");
    input(m->graph, "u", DTYPE_DOUBLE, "2");
    input(m->graph, "v", DTYPE_DOUBLE, "2");
    add_ints(m->graph, "i", DTYPE_INT64, 0, 1);
    add_ints(m->graph, "j", DTYPE_INT64, 1, 2);
    model_set_string(&arena, op(m->graph, "s", "ScatterElements", "b i u"), "reduction", "add");
    model_set_string(&arena, op(m->graph, "t", "ScatterElements", "b j u"), "reduction", "add");
    op(m->graph, "z", "Add", "s t");
    op(m->graph, "zz", "Mul", "z z");
    op(m->graph, "y", "ReduceSum", "zz");
    gradient(m->graph, "du", "u", "", "y", "v");
    output(m->graph, "du");
    must_combine(m);
    const struct tensor *const in[] = {DOUBLES(SHAPE(4), 1, 2, 3, 4), DOUBLES(SHAPE(2), 0), DOUBLES(SHAPE(2), 10, 20)};
    EXPECT(run(start(), "infer", "du", in), 92, 120); /* z = 12 34 26 8; du = 2 z[i] + 2 z[j] */
}
END_TEST

/* The keys that attention hands on are a result beside its output, not what that is made of: cut, they are in nobody's
 * way. */
START_TEST(a_listed_output_of_a_composite_is_no_part_of_others)
{
    struct model *const m = new_model();
    m->opsets.data[0].version = 23;
    input(m->graph, "k", DTYPE_DOUBLE, "1 1 2 1");
    input(m->graph, "v", DTYPE_DOUBLE, "1 1 2 1");
    input(m->graph, "past", DTYPE_DOUBLE, "1 1 0 1");
    op(m->graph, "o keys values", "Attention", "k k v - past past");
    op(m->graph, "y", "ReduceSum", "o");
    gradient(m->graph, "dk", "k", "keys", "y", "k keys");
    gradient(m->graph, "whole", "k", "", "y", "k");
    op(m->graph, "difference", "Sub", "dk whole");
    output(m->graph, "difference");
    must_combine(m);
    const struct tensor *const in[] = {DOUBLES(SHAPE(1, 1, 2, 1), 1, 2), DOUBLES(SHAPE(1, 1, 2, 1), 3, 5),
                                       DOUBLES(SHAPE(1, 1, 0, 1), 1)};
    EXPECT(run(start(), "infer", "difference", in), 0, 0);
}
END_TEST

/* ---- what has no gradient ---------------------------------------------------------------------------------------- */

/* next = Adagrad(...) of x; nothing is known of its gradient. */
static void add_update(struct model_graph *g)
{
    input(g, "n", DTYPE_INT64, "");
    op(g, "next -", "Adagrad", "w n x w w");
}

/* The weights of classes are a marked input: what stands behind it needs no gradient. */
START_TEST(nothing_flows_into_marked_inputs)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, "2");
    input(m->graph, "w", DTYPE_DOUBLE, "");
    input(m->graph, "n", DTYPE_INT64, "");
    input(m->graph, "scores", DTYPE_DOUBLE, "1 2");
    struct tensor *const label = tensor_new(&arena, DTYPE_INT64, &SHAPE(1));
    model_add_initializer(&arena, m->graph, "label", label);
    op(m->graph, "next -", "Adagrad", "w n x x x");
    op(m->graph, "y", "SoftmaxCrossEntropyLoss", "scores label next");
    gradient(m->graph, "ds dx", "scores x", "", "y", "scores x");
    output(m->graph, "ds dx");
    must_combine(m);
    ck_assert(has_message("the gradient through input 2 'next' is left out"));
    const struct tensor *const in[] = {DOUBLES(SHAPE(2), 1), SCALAR(0), tensor_new(&arena, DTYPE_INT64, &SHAPE_SCALAR),
                                       DOUBLES(SHAPE(1, 2), 0)};
    EXPECT(run(start(), "infer", "ds", in), -0.5, 0.5);
    EXPECT(run(start(), "infer", "dx", in), 0, 0);
}
END_TEST

START_TEST(what_is_no_part_of_y_is_not_told_of)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, "2");
    input(m->graph, "scores", DTYPE_DOUBLE, "1 2");
    model_add_initializer(&arena, m->graph, "label", tensor_new(&arena, DTYPE_INT64, &SHAPE(1)));
    op(m->graph, "other", "SoftmaxCrossEntropyLoss", "scores label x");
    op(m->graph, "y", "ReduceSum", "x");
    gradient(m->graph, "dx", "x", "", "y", "x");
    output(m->graph, "dx");
    must_combine(m);
    ck_assert(!is_told("is left out"));
}
END_TEST

START_TEST(what_is_cut_needs_no_gradient)
{
    struct model *const m = scalars();
    add_update(m->graph);
    op(m->graph, "y", "Mul", "next x");
    gradient(m->graph, "dx dnext", "x next", "", "y", "x w");
    output(m->graph, "dx dnext");
    must_combine(m);
}
END_TEST

START_TEST(what_does_not_depend_on_x_needs_no_gradient)
{
    struct model *const m = scalars();
    input(m->graph, "v", DTYPE_DOUBLE, "");
    add_update(m->graph);
    op(m->graph, "y", "Mul", "next v");
    gradient(m->graph, "dv", "v", "", "y", "v");
    gradient(m->graph, "zero", "v", "", "next", "v");
    output(m->graph, "dv zero");
    must_combine(m);
    ck_assert(has_message("'v' has no influence on 'next': its gradient is zero"));
}
END_TEST

/* From y back, at most twelve steps. */
static const struct {
    int steps; /* before which the operator stands that has no gradient */
    const char *path;
} long_paths[] = {
    {11, "y <- Neg 'n11' <- Neg 'n10' <- Neg 'n9' <- Neg 'n8' <- Neg 'n7' <- Neg 'n6' <- Neg 'n5' <- Neg 'n4' <- "
         "Neg 'n3' <- Neg 'n2' <- Neg 'n1' <- Adagrad"},
    {12, "y <- Neg 'n12' <- Neg 'n11' <- Neg 'n10' <- Neg 'n9' <- Neg 'n8' <- Neg 'n7' <- ... (1 more) <- "
         "Neg 'n5' <- Neg 'n4' <- Neg 'n3' <- Neg 'n2' <- Neg 'n1' <- Adagrad"},
    {19, "y <- Neg 'n19' <- Neg 'n18' <- Neg 'n17' <- Neg 'n16' <- Neg 'n15' <- Neg 'n14' <- ... (8 more) <- "
         "Neg 'n5' <- Neg 'n4' <- Neg 'n3' <- Neg 'n2' <- Neg 'n1' <- Adagrad"},
};

START_TEST(paths_are_shown_to_both_ends)
{
    struct model *const m = scalars();
    const char *from = "next";
    add_update(m->graph);
    for (int i = 1; i <= long_paths[_i].steps; i++) {
        const char *const to = i < long_paths[_i].steps ? arena_printf(&arena, "v%d", i) : "y";
        op(m->graph, to, "Neg", from)->name = arena_printf(&arena, "n%d", i);
        from = to;
    }
    gradient(m->graph, "dx", "x", "", "y", "x");
    output(m->graph, "dx");
    ck_assert(!combine(m));
    ck_assert(has_message(long_paths[_i].path));
}
END_TEST

/* What the first one lacks is not said again of the gradient of its result. */
START_TEST(gradient_of_one_that_failed_says_nothing)
{
    struct model *const m = scalars();
    add_update(m->graph);
    op(m->graph, "y", "Mul", "next next");
    gradient(m->graph, "dx", "x", "", "y", "x");
    gradient(m->graph, "ddx", "x", "", "dx", "x");
    output(m->graph, "ddx");
    ck_assert(!combine(m));
    ck_assert_int_eq(diag.errors, 1);
}
END_TEST

START_TEST(y_itself_and_unwanted_outputs)
{
    struct model *const m = scalars();
    op(m->graph, "y", "Mul", "x w");
    gradient(m->graph, "- dy", "x y", "", "y", "x y");
    expect_gradient(m, "dy", 2, 3, 1);
}
END_TEST

/* dy of shape [2,3] flows back into operands of shape [3], [2,1] and []. */
START_TEST(broadcasts_are_summed_back)
{
    struct model *const m = new_model();
    input(m->graph, "a", DTYPE_DOUBLE, "3");
    input(m->graph, "b", DTYPE_DOUBLE, "2 1");
    input(m->graph, "c", DTYPE_DOUBLE, "");
    op(m->graph, "ab", "Mul", "a b");
    op(m->graph, "y", "Mul", "ab c");
    gradient(m->graph, "da db dc", "a b c", "", "y", "a b c");
    output(m->graph, "da db dc");
    must_combine(m);
    ck_assert(has_message("y 'y' has shape [2,3], not that of a scalar: this is the gradient of the sum")); /* R18 */
    const struct tensor *const a = DOUBLES(SHAPE(3), 1, 2, 3), *const b = DOUBLES(SHAPE(2, 1), 4, 5),
                               *const c = SCALAR(2);
    EXPECT(run(start(), "infer", "da", INPUTS(a, b, c)), 18, 18, 18);
    EXPECT(run(start(), "infer", "db", INPUTS(a, b, c)), 12, 12);
    EXPECT(run(start(), "infer", "dc", INPUTS(a, b, c)), 54);
    const struct graph *const g = program_entry(program, "infer")->graph;
    ck_assert_ptr_nonnull(graph_find(g, "d_ab"));
}
END_TEST

/* loss = sum(t * BatchNormalization(z) + extra) with z = x + b, of numbers whose gradients do not quite sum
 * to 0 by themselves. */
static void combine_normalized(const char *extra)
{
    struct model *const m = new_model();
    for (const char *const *name = words("x t b scale shift mean var"); *name != NULL; name++)
        input(m->graph, *name, DTYPE_DOUBLE, strlen(*name) == 1 && **name != 'b' ? "5 3" : "3");
    op(m->graph, "z", "Add", "x b");
    struct model_node *const n = op(m->graph, "y", "BatchNormalization", "z scale shift mean var");
    model_set_int(&arena, n, "training_mode", 1);
    op(m->graph, "p", "Mul", "y t");
    op(m->graph, "q", "Mul", extra);
    op(m->graph, "r", "Add", "p q");
    model_set_int(&arena, op(m->graph, "loss", "ReduceSum", "r"), "keepdims", 0);
    gradient(m->graph, "db dx", "b x", "", "loss", "b x");
    output(m->graph, "db dx");
    must_combine(m);
}

static struct tensor *uneven(const struct shape *s, int seed)
{
    struct tensor *const t = tensor_new(&arena, DTYPE_DOUBLE, s);
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, 0.1 + (double)((i * 37 + seed * 11) % 29) / 7);
    return t;
}

static double largest_of_bias(const char *extra)
{
    combine_normalized(extra);
    const struct shape matrix = SHAPE(5, 3), vector = SHAPE(3);
    const struct tensor *const in[] = {uneven(&matrix, 1), uneven(&matrix, 2), uneven(&vector, 3), uneven(&vector, 4),
                                       uneven(&vector, 5), uneven(&vector, 6), uneven(&vector, 7)};
    const struct tensor *const db = run(start(), "infer", "db", in);
    double most = 0;
    for (int64_t i = 0; i < db->count; i++)
        most = fmax(most, fabs(tensor_get_double(db, i)));
    return most;
}

START_TEST(a_bias_before_batch_normalization_has_no_gradient)
{
    ck_assert(largest_of_bias("t t") == 0);
}
END_TEST

START_TEST(a_bias_that_something_else_reads_has_one)
{
    ck_assert(largest_of_bias("z t") > 0.1);
}
END_TEST

static void names_unknown(struct model_graph *g)
{
    gradient(g, "d", "q", "", "y", "x");
}
static void names_later(struct model_graph *g)
{
    gradient(g, "d", "x", "", "z", "x"), op(g, "z", "Add", "x x");
}
static void wrong_count(struct model_graph *g)
{
    gradient(g, "d", "x", "w", "y", "x");
}
static void listed_twice(struct model_graph *g)
{
    gradient(g, "d", "x", "x", "y", "x x");
}
static void no_xs(struct model_graph *g)
{
    gradient(g, "d", "", "x", "y", "x");
}
static void other_type(struct model_graph *g)
{
    gradient(g, "d", "x", "", "y", "v");
}
static void integer_y(struct model_graph *g)
{
    gradient(g, "d", "x", "", "n", "x");
}
static void cut_of_other_shape(struct model_graph *g)
{
    gradient(g, "d", "x", "w", "y", "x v");
}
static void cut_of_other_type(struct model_graph *g)
{
    gradient(g, "d", "x", "w", "y", "x n");
}
static void outputs_excess(struct model_graph *g)
{
    gradient(g, "d e", "x", "w", "y", "x w");
}

static const struct {
    void (*add)(struct model_graph *g);
    const char *message;
} bad_gradients[] = {
    {names_unknown, "xs 'q' is not defined"},
    {names_later, "y 'z' is not defined before the node"},
    {wrong_count, "Gradient has 1 input, expected 2"},
    {listed_twice, "'x' is listed twice in xs and zs"},
    {no_xs, "xs is empty"},
    {other_type, "input 0 'v' is double[2], but stands for 'x' of double[]"},
    {integer_y, "y 'n' is int64: only floating tensors can be differentiated"},
    {cut_of_other_shape, "input 1 'v' is double[2], but stands for 'w' of double[]"},
    {cut_of_other_type, "input 1 'n' is int64[], but stands for 'w' of double[]"},
    {outputs_excess, "Gradient has 2 outputs for 1 name in xs"},
};

START_TEST(bad_gradients_are_refused)
{
    struct model *const m = scalars();
    input(m->graph, "v", DTYPE_DOUBLE, "2");
    input(m->graph, "n", DTYPE_INT64, "");
    op(m->graph, "y", "Mul", "x w");
    bad_gradients[_i].add(m->graph);
    ck_assert(!combine(m));
    ck_assert(has_message(bad_gradients[_i].message));
    ck_assert_int_eq(diag.errors, 1);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("train_adjoint");
    TCase *const good = tcase_create("good"), *const bad = tcase_create("bad");
    tcase_add_checked_fixture(good, setup, teardown);
    tcase_add_checked_fixture(bad, setup, teardown);
    suite_add_tcase(suite, good);
    suite_add_tcase(suite, bad);
    tcase_add_test(good, gradient_of_gradient);
    tcase_add_test(good, substituted_inputs);
    tcase_add_test(good, ignored_rows_have_no_second_gradient);
    tcase_add_test(good, swapped_inputs_keep_apart);
    tcase_add_test(good, intermediate_tensor_in_xs);
    tcase_add_test(good, what_zs_cut_is_not_told_of);
    tcase_add_test(good, one_element_is_a_scalar);
    tcase_add_test(good, evaluated_again_a_node_draws_the_same);
    tcase_add_test(good, x_without_influence_has_a_zero_gradient);
    tcase_add_test(good, x_that_only_jumps_has_a_zero_gradient);
    tcase_add_test(good, one_half_is_a_variable);
    tcase_add_test(good, one_half_is_supplied);
    tcase_add_test(good, one_half_is_supplied_the_other_follows);
    tcase_add_test(good, equal_gradients_are_two_values);
    tcase_add_test(good, equal_gradients_have_two_names);
    tcase_add_test(good, gradients_do_not_follow_from_each_other);
    tcase_add_test(good, an_output_that_a_gradient_wants_fills_a_gap);
    tcase_add_test(good, rows_of_two_kinds_of_indices_add_up);
    tcase_add_test(good, a_row_and_a_column_add_up);
    tcase_add_test(good, pieces_of_two_shapes_add_up);
    tcase_add_test(good, pieces_that_are_broadcast_stay);
    tcase_add_test(good, scatters_onto_something_keep_it);
    tcase_add_test(good, a_listed_output_of_a_composite_is_no_part_of_others);
    tcase_add_test(good, nothing_flows_into_marked_inputs);
    tcase_add_test(good, what_is_no_part_of_y_is_not_told_of);
    tcase_add_test(good, what_is_cut_needs_no_gradient);
    tcase_add_test(good, what_does_not_depend_on_x_needs_no_gradient);
    tcase_add_loop_test(good, paths_are_shown_to_both_ends, 0, (int)(sizeof long_paths / sizeof long_paths[0]));
    tcase_add_test(good, gradient_of_one_that_failed_says_nothing);
    tcase_add_test(good, y_itself_and_unwanted_outputs);
    tcase_add_test(good, broadcasts_are_summed_back);
    tcase_add_test(good, a_bias_before_batch_normalization_has_no_gradient);
    tcase_add_test(good, a_bias_that_something_else_reads_has_one);
    tcase_add_loop_test(bad, bad_gradients_are_refused, 0, (int)(sizeof bad_gradients / sizeof bad_gradients[0]));
    return run_suite(suite);
}
