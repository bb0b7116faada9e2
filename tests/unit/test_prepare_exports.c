/* What exporters do to a model and how preparation undoes it: merged and tied initializers, the batch of the example,
 * BatchNormalization and Dropout in inference form, constants for weights; and what the export doctor finds. */
#include "prepare/doctor.h"
#include "model/weights.h"
#include "prepare/names.h"
#include "prepare/prepare.h"
#include "prepare/rebatch.h"
#include "prepare/tie.h"
#include "train_models.h"
#include "suite.h"

static struct prepare_options prepare_with;
static struct strbuf report;
static struct edit edit;

static void begin(void)
{
    setup();
    report = (struct strbuf){.arena = &arena};
    prepare_with = (struct prepare_options){
        .loss = LOSS_MSE, .class_axis = 1, .learning_rate = 0.5, .first_step = -1, .gradients = true};
    ck_assert(optimizer_parse(&diag, &arena, "sgd", &prepare_with.optimizer));
}

/* A model without training opsets; outputs "NAME:DIMS". */
static struct model *inference_model(const char *input_dims, const char *output_name, const char *output_dims)
{
    struct model *const m = new_model();
    m->opsets.count = 1;
    input(m->graph, "x", DTYPE_DOUBLE, input_dims);
    input(m->graph, output_name, DTYPE_DOUBLE, output_dims);
    struct model_value_info *const vi = m->graph->inputs.data[--m->graph->inputs.count];
    vec_push(&arena, &m->graph->outputs, vi);
    return m;
}

static void init_tensor(struct model *m, const char *name, struct tensor *t)
{
    model_add_initializer(&arena, m->graph, name, t);
}

static struct tensor *ints(const int64_t *x, int64_t count)
{
    return tensor_from_ints(&arena, x, count);
}
#define INTS(...)                                                                                                      \
    ints((const int64_t[]){__VA_ARGS__}, (int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

static void must(bool ok)
{
    if (!ok)
        print_messages();
    ck_assert(ok);
}

static struct interp *prepared(struct model *m)
{
    must(prepare_model(&diag, &arena, m, &prepare_with, &report));
    must_combine(m);
    return start();
}

static void begin_edit(struct model *m)
{
    edit_begin(&edit, &diag, &arena, m, &report);
}

static bool reports(const char *part)
{
    return strstr(strbuf_text(&report), part) != NULL;
}

static bool has_initializer(const struct model *m, const char *name)
{
    return model_find_initializer(m->graph, name) != NULL;
}

/* ---- merged initializers ----------------------------------------------------------------------------------------- */

/* y = (x + a) + b, where b is Identity(a) */
static struct model *merged_model(void)
{
    struct model *const m = inference_model("2 1", "y", "2 1");
    init_tensor(m, "w", DOUBLES(SHAPE(1, 1), 1));
    init_tensor(m, "a", DOUBLES(SHAPE(1), 0.5));
    op(m->graph, "b", "Identity", "a");
    op(m->graph, "xw", "MatMul", "x w");
    op(m->graph, "h", "Add", "xw a");
    op(m->graph, "hw", "MatMul", "h w");
    op(m->graph, "y", "Add", "hw b");
    return m;
}

/* A list of one. */
#define ONE(text) (&(str_list){.data = (const char *[]){text}, .count = 1})

/* x = 1, 3; y = 2, 4; target 0: e = y, dy = 2 e / 2 = 2, 4; da = 6 through h (w = 1), db = 6 */
START_TEST(merged_initializers_separate)
{
    struct model *const m = merged_model();
    vec_push(&arena, &prepare_with.untie, "auto");
    struct interp *const s = prepared(m);
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 1), 1, 3), DOUBLES(SHAPE(2, 1), 0));
    ck_assert(has_initializer(m, "b"));
    EXPECT(run(s, "step", "a.gradient", in), 6);
    EXPECT(run(s, "infer", "b", INPUTS(DOUBLES(SHAPE(2, 1), 1, 3))), 0.5 - 0.5 * 6);
    ck_assert_int_eq(diag.warnings, 0);
}
END_TEST

START_TEST(merged_initializers_warn)
{
    struct interp *const s = prepared(merged_model());
    ck_assert(has_message("initializer 'a' also stands for 'b'"));
    EXPECT(run(s, "step", "a.gradient", INPUTS(DOUBLES(SHAPE(2, 1), 1, 3), DOUBLES(SHAPE(2, 1), 0))), 12);
}
END_TEST

START_TEST(untie_by_pattern)
{
    struct model *m = merged_model();
    begin_edit(m);
    must(untie_initializers(&edit, ONE("never")));
    ck_assert(!has_initializer(m, "b") && diag.warnings == 0);
    must(untie_initializers(&edit, ONE("b*")));
    ck_assert(has_initializer(m, "b") && m->graph->nodes.count == 4);
    ck_assert(!untie_initializers(&edit, ONE("z*")));
    ck_assert(has_message("--untie z*: no Identity node gives"));
    m = merged_model();
    input(m->graph, "b", DTYPE_DOUBLE, "1");
    vec_push(&arena, &m->graph->outputs, m->graph->inputs.data[--m->graph->inputs.count]);
    begin_edit(m);
    must(untie_initializers(&edit, ONE("auto")));
    ck_assert(!has_initializer(m, "b")); /* an output is what a node computes */
}
END_TEST

/* ---- ties -------------------------------------------------------------------------------------------------------- */

/* y = (x w) v, v = w' */
static struct model *tied_model(void)
{
    struct model *const m = inference_model("1 2", "y", "1 2");
    init_tensor(m, "w", DOUBLES(SHAPE(2, 1), 1, 2));
    init_tensor(m, "onnx::MatMul_7", DOUBLES(SHAPE(1, 2), 1, 2));
    op(m->graph, "h", "MatMul", "x w");
    op(m->graph, "y", "MatMul", "h onnx::MatMul_7");
    return m;
}

/* x = (1, 1): h = 3, y = (3, 6), t = (2, 6): dy = (1, 0), dv = (3, 0), dh = 1, dw = (1, 1) + (3, 0) */
START_TEST(a_tie_sums_both_uses)
{
    struct model *const m = tied_model();
    vec_push(&arena, &prepare_with.tie, "onnx::MatMul_7=w^T");
    struct interp *const s = prepared(m);
    ck_assert(!has_initializer(m, "onnx::MatMul_7"));
    EXPECT(run(s, "step", "w.gradient", INPUTS(DOUBLES(SHAPE(1, 2), 1), DOUBLES(SHAPE(1, 2), 2, 6))), 4, 1);
    EXPECT(run(s, "infer", "onnx::MatMul_7", INPUTS(DOUBLES(SHAPE(1, 2), 1))), -1, 1.5);
    ck_assert_int_eq(diag.warnings, 0);
}
END_TEST

START_TEST(ties_are_noticed)
{
    struct model *const m = tied_model();
    tie_list found = {0};
    init_tensor(m, "zeros", DOUBLES(SHAPE(1, 2), 0));
    init_tensor(m, "more zeros", DOUBLES(SHAPE(1, 2), 0));
    init_tensor(m, "again", DOUBLES(SHAPE(2, 1), 1, 2));
    op(m->graph, "read", "Identity", "again"); /* what no node reads is no copy */
    begin_edit(m);
    find_ties(&edit, &found);
    ck_assert_int_eq(found.count, 2);
    ck_assert_str_eq(tie_text(&arena, &found.data[0]), "onnx::MatMul_7=w^T");
    ck_assert_str_eq(tie_text(&arena, &found.data[1]), "again=w");
    must(tie_initializers(&edit, &(str_list){0}));
    ck_assert(has_message("--tie 'again=w' makes them one"));
}
END_TEST

static void refuse_tie(const char *tie, const char *message)
{
    struct model *const m = tied_model();
    init_tensor(m, "other", DOUBLES(SHAPE(1, 2), 3, 4));
    begin_edit(m);
    ck_assert(!tie_initializers(&edit, ONE(tie)));
    ck_assert(has_message(message));
}

START_TEST(wrong_ties)
{
    refuse_tie("w", "expected A=B or A=B^T");
    refuse_tie("w=v", "no initializer has the name 'v'");
    refuse_tie("w=w", "both sides are one initializer");
    refuse_tie("other=w", "'other' is double[1,2], but 'w' is double[2,1]");
    struct model *const m = tied_model();
    const char *const tie = "a=b=w";
    init_tensor(m, "a=b", DOUBLES(SHAPE(2, 1), 5));
    begin_edit(m);
    must(tie_initializers(&edit, ONE(tie))); /* names may hold '=' */
    ck_assert(has_message("the two differ in the file"));
}
END_TEST

/* ---- the batch --------------------------------------------------------------------------------------------------- */

static const struct model_dim *output_dim(const struct model *m, size_t d)
{
    return &m->graph->outputs.data[0]->type.dims.data[d];
}

static int64_t target_of(const struct model *m, const char *output, int64_t d)
{
    for (size_t i = 0; i < m->graph->nodes.count; i++)
        if (strcmp(m->graph->nodes.data[i]->outputs.data[0], output) == 0)
            return tensor_get_int(model_find_initializer(m->graph, m->graph->nodes.data[i]->inputs.data[1])->tensor, d);
    return INT64_MIN;
}

/* [B,3,2] -> [B,-1] -> [2B,3] -> [B,6]; with a batch of 1 the example does not tell which 1 is the batch */
static void rebatch_reshapes(int from, int to)
{
    begin();
    struct model *const m =
        inference_model(arena_printf(&arena, "%d 3 2", from), "y", arena_printf(&arena, "%d 6", from));
    init_tensor(m, "flat", INTS(from, -1));
    init_tensor(m, "rows", INTS(2 * from, 3));
    init_tensor(m, "back", INTS(-1, 6));
    op(m->graph, "a", "Reshape", "x flat");
    op(m->graph, "b", "Reshape", "a rows");
    op(m->graph, "c", "Relu", "b");
    op(m->graph, "y", "Reshape", "c back");
    begin_edit(m);
    must(rebatch_model(&edit, to, NULL));
    ck_assert_int_eq(target_of(m, "a", 0), to);
    ck_assert_int_eq(target_of(m, "a", 1), -1);
    ck_assert_int_eq(target_of(m, "b", 0), 2 * to);
    ck_assert_int_eq(target_of(m, "b", 1), 3);
    ck_assert_int_eq(target_of(m, "y", 0), -1);
    ck_assert_int_eq(m->graph->inputs.data[0]->type.dims.data[0].value, to);
    ck_assert_int_eq(output_dim(m, 0)->value, to);
    ck_assert_int_eq(output_dim(m, 1)->value, 6);
    must_combine(m);
}

START_TEST(reshapes_follow_the_batch)
{
    rebatch_reshapes(1, 8);
    rebatch_reshapes(8, 1);
    rebatch_reshapes(4, 6);
    rebatch_reshapes(5, 5 * 3);
}
END_TEST

/* The batch as the inner factor of rows: [B,T,d] -> [T,B,d] -> [T*B,d] -> [T,B,d] */
START_TEST(sequences_first)
{
    struct model *const m = inference_model("4 3 2", "y", "3 4 2");
    init_tensor(m, "rows", INTS(12, 2));
    init_tensor(m, "back", INTS(3, 4, 2));
    model_set_ints(&arena, op(m->graph, "t", "Transpose", "x"), "perm", (const int64_t[]){1, 0, 2}, 3);
    op(m->graph, "r", "Reshape", "t rows");
    op(m->graph, "s", "Relu", "r");
    op(m->graph, "y", "Reshape", "s back");
    begin_edit(m);
    must(rebatch_model(&edit, 5, NULL));
    ck_assert_int_eq(target_of(m, "r", 0), 15);
    ck_assert_int_eq(target_of(m, "y", 0), 3);
    ck_assert_int_eq(target_of(m, "y", 1), 5);
    ck_assert_int_eq(output_dim(m, 1)->value, 5);
    ck_assert(reports("batch: 5, in the model's example it was 4"));
}
END_TEST

/* A class token stands in front of each sample: Expand, or nothing at all with a batch of 1. */
START_TEST(operands_are_widened)
{
    for (int expanded = 0; expanded < 2; expanded++) {
        begin();
        struct model *const m = inference_model("1 3 2", "y", "1 4 2");
        init_tensor(m, "token", DOUBLES(SHAPE(1, 1, 2), 1, 2));
        init_tensor(m, "shape", INTS(1, 1, 2));
        if (expanded)
            op(m->graph, "wide", "Expand", "token shape");
        model_set_int(&arena, op(m->graph, "y", "Concat", expanded ? "wide x" : "token x"), "axis", 1);
        begin_edit(m);
        must(rebatch_model(&edit, 3, NULL));
        ck_assert_int_eq(output_dim(m, 0)->value, 3);
        must_combine(m);
    }
}
END_TEST

START_TEST(a_named_batch)
{
    struct model *const m = inference_model("batch 2", "y", "batch 2");
    op(m->graph, "y", "Relu", "x");
    begin_edit(m);
    must(rebatch_model(&edit, 3, NULL));
    ck_assert_int_eq(output_dim(m, 0)->value, 3);
    ck_assert_str_eq(output_dim(m, 0)->param, "");
}
END_TEST

START_TEST(batches_that_stay)
{
    struct model *m = inference_model("4 2", "y", "4 2");
    init_tensor(m, "one each", DOUBLES(SHAPE(4, 2), 1, 2, 3, 4, 5, 6, 7, 8));
    op(m->graph, "y", "Add", "x one_each");
    m->graph->nodes.data[0]->inputs.data[1] = "one each";
    begin_edit(m);
    ck_assert(!rebatch_model(&edit, 3, NULL));
    ck_assert(has_message("--batch 3: a constant that it reads cannot be read as a batch"));
    begin();
    m = inference_model("4 2", "y", "2 2");
    const char *const names[] = {"starts", "ends", "axes"};
    for (int i = 0; i < 3; i++)
        init_tensor(m, names[i], INTS(i == 1 ? 2 : 0));
    op(m->graph, "y", "Slice", "x starts ends axes");
    begin_edit(m);
    ck_assert(!rebatch_model(&edit, 8, NULL));
    ck_assert(has_message("it takes a part of dimension 0 of 'x', which is the batch"));
    begin();
    m = inference_model("4 6", "y", "8 3");
    init_tensor(m, "mixed", INTS(3, 8));
    op(m->graph, "y", "Reshape", "x mixed");
    begin_edit(m);
    ck_assert(!rebatch_model(&edit, 2, NULL));
    ck_assert(has_message("cannot be read with a batch"));
}
END_TEST

/* ---- BatchNormalization and Dropout ------------------------------------------------------------------------------ */

static struct model *normalized(int64_t opset, bool training)
{
    struct model *const m = inference_model("2 1", "y", "2 1");
    m->opsets.data[0].version = opset;
    init_tensor(m, "scale", DOUBLES(SHAPE(1), 2));
    init_tensor(m, "shift", DOUBLES(SHAPE(1), 1));
    init_tensor(m, "mean", DOUBLES(SHAPE(1), 0));
    init_tensor(m, "var", DOUBLES(SHAPE(1), 1));
    struct model_node *const n =
        op(m->graph, training ? "b mean_out var_out" : "b", "BatchNormalization", "x scale shift mean var");
    model_set_float(&arena, n, "momentum", 0.5f);
    model_set_float(&arena, n, "epsilon", 0);
    if (training && opset >= 14)
        model_set_int(&arena, n, "training_mode", 1);
    op(m->graph, "y", "Identity", "b");
    return m;
}

/* x = 1, 5: mean 3, variance 4, normalized -1, 1; y = -1, 3; target 0, 0: loss (1 + 9) / 2. infer() has y = 2 x + 1. */
static void check_normalized(int64_t opset, bool training)
{
    begin();
    struct interp *const s = prepared(normalized(opset, training));
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 1), 1, 5), DOUBLES(SHAPE(2, 1), 0));
    EXPECT(run(s, "infer", "y", in), 3, 11);
    EXPECT(run(s, "step", "loss", in), 5);
    EXPECT(run(s, "infer", "mean", in), 1.5);
    EXPECT(run(s, "infer", "var", in), 2.5);
    EXPECT(run(start(), "step", "train/y", in), -1, 3);
    ck_assert(reports("a step uses the statistics of its batch"));
    ck_assert_int_eq(reports("in training form: infer()"), training);
}

START_TEST(batch_statistics)
{
    check_normalized(17, false);
    check_normalized(17, true);
    check_normalized(9, false);
    check_normalized(9, true);
}
END_TEST

/* Parts [1] and [5] have variance 0 and would normalize to 0; the running mean goes from part to part: 0, 0.5, 2.75. */
START_TEST(statistics_go_through_parts)
{
    struct model *const m = normalized(17, false);
    model_set_float(&arena, m->graph->nodes.data[0], "epsilon", 1);
    prepare_with.accumulate = 2;
    struct interp *const s = prepared(m);
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 1), 1, 5), DOUBLES(SHAPE(2, 1), 0));
    EXPECT(run(s, "step", "loss", in), 1);
    EXPECT(run(s, "infer", "mean", in), 2.75);
}
END_TEST

/* infer() computes its loss too, in inference form, under another name: `loss` is that of a step. */
START_TEST(own_loss_in_training_form)
{
    struct model *const m = normalized(17, false);
    m->graph->outputs.data[0]->name = "loss";
    m->graph->outputs.data[0]->type.dims.count = 0;
    op(m->graph, "squares", "Mul", "y y");
    model_set_int(&arena, op(m->graph, "loss", "ReduceMean", "squares"), "keepdims", 0);
    prepare_with.loss = LOSS_OUTPUT;
    struct interp *const s = prepared(m);
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 1), 1, 5));
    EXPECT(run(s, "infer", "inference_loss", in), (9 + 121) / 2.0);
    EXPECT(run(s, "step", "loss", in), 5);
    ck_assert(reports("'loss' is what a step minimizes; infer() calls its own 'inference_loss'"));
}
END_TEST

/* Outputs y = 2 x and, of squares with a target that only it reads, loss: infer() has y alone. */
static struct model *with_loss(bool with_parameter)
{
    struct model *const m = inference_model("2 1", "y", "2 1");
    input(m->graph, "labels", DTYPE_DOUBLE, "2 1");
    model_add_value(&arena, m->graph, 1, "loss", DTYPE_DOUBLE, NULL, 0);
    init_tensor(m, "w", DOUBLES(SHAPE(1, 1), 2));
    init_tensor(m, "own", DOUBLES(SHAPE(1, 1), -1)); /* where it is added, it is a bias */
    op(m->graph, "y", "MatMul", "x w");
    op(m->graph, "used", with_parameter ? "Add" : "Sub", "y own");
    op(m->graph, "e", "Sub", "used labels");
    op(m->graph, "ee", "Mul", "e e");
    model_set_int(&arena, op(m->graph, "loss", "ReduceMean", "ee"), "keepdims", 0);
    prepare_with.loss = LOSS_OUTPUT;
    prepare_with.output = "loss";
    return m;
}

/* x = 1, 3; y = 2, 6; with 1 added and labels 0: loss (9 + 49) / 2, dw = 3 + 21 */
START_TEST(a_loss_inside_is_taken_out)
{
    prepare_with.evaluate = true;
    struct interp *const s = prepared(with_loss(false));
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 1), 1, 3), DOUBLES(SHAPE(2, 1), 0));
    EXPECT(run(s, "step", "loss", in), 29);
    EXPECT(run(start(), "evaluate", "loss", in), 29);
    EXPECT(run(start(), "step", "w.gradient", in), 24);
    EXPECT(run(start(), "infer", "y", in), 2, 6);
    ck_assert_int_eq(program_entry(program, "infer")->graph->inputs.count, 1);
    ck_assert_int_eq(program_entry(program, "infer")->graph->outputs.count, 1);
    ck_assert(reports("infer() does not compute the loss and does not take 'labels'"));
}
END_TEST

START_TEST(a_loss_inside_of_parts)
{
    prepare_with.accumulate = 2;
    struct interp *const s = prepared(with_loss(false));
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 1), 1, 3), DOUBLES(SHAPE(2, 1), 0));
    EXPECT(run(s, "step", "loss", in), 29);
    ck_assert_int_eq(program_entry(program, "infer")->graph->inputs.count, 1);
}
END_TEST

START_TEST(a_loss_inside_with_parameters_stays)
{
    prepared(with_loss(true));
    ck_assert_int_eq(program_entry(program, "infer")->graph->outputs.count, 2);
    ck_assert(reports("infer() computes the loss too"));
}
END_TEST

/* A batch of 1 and 5 has variance 4; PyTorch takes that of two values twice. Momentum is 0.5. */
START_TEST(unbiased_variance)
{
    for (int k = 0; k < 2; k++) {
        begin();
        prepare_with.unbiased_variance = k == 1;
        struct interp *const s = prepared(normalized(k == 0 ? 17 : 11, false));
        const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 1), 1, 5), DOUBLES(SHAPE(2, 1), 0));
        run(s, "step", "loss", in);
        EXPECT(run(s, "infer", "var", in), k == 1 ? 4.5 : 2.5); /* (1 + 4) / 2, (1 + 8) / 2 */
        run(s, "step", "loss", in);
        EXPECT(run(s, "infer", "var", in), k == 1 ? 6.25 : 3.25);
    }
}
END_TEST

START_TEST(frozen_statistics)
{
    struct model *const m = normalized(17, true);
    vec_push(&arena, &prepare_with.batchnorm, ((struct batchnorm_choice){BATCHNORM_FROZEN, NULL}));
    struct interp *const s = prepared(m);
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 1), 1, 5), DOUBLES(SHAPE(2, 1), 3, 12));
    EXPECT(run(s, "step", "loss", in), 0.5); /* y = 3, 11 */
    EXPECT(run(s, "infer", "mean", in), 0);
    ck_assert(reports("leaves them alone"));
}
END_TEST

/* Statistics of (0, 1) after one update with momentum 0.5 by a batch of mean -2 and variance `v`. */
static struct model *exported_in_training_form(int64_t opset, double v)
{
    struct model *const m = normalized(opset, true);
    model_find_initializer(m->graph, "mean")->tensor = DOUBLES(SHAPE(1), -1);
    model_find_initializer(m->graph, "var")->tensor = DOUBLES(SHAPE(1), 0.5 + 0.5 * v);
    return m;
}

static void expect_statistics(struct model *m, double mean, double var)
{
    struct interp *const s = prepared(m);
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 1), 1, 5), DOUBLES(SHAPE(2, 1), 0));
    EXPECT(run(s, "infer", "mean", in), mean);
    EXPECT(run(s, "infer", "var", in), var);
}

START_TEST(statistics_that_the_exporter_moved)
{
    static const int64_t opsets[] = {17, 14, 11};
    for (size_t i = 0; i < 3; i++) {
        begin();
        expect_statistics(exported_in_training_form(opsets[i], 3), -1, 2);
        ck_assert(reports("--batchnorm-statistics reset: 0 and 1"));
        begin();
        prepare_with.statistics = STATISTICS_AUTO;
        expect_statistics(exported_in_training_form(opsets[i], 3), 0, 1);
        ck_assert(reports("start from 0 and 1 (--batchnorm-statistics auto)"));
    }
    begin();
    vec_push(&arena, &prepare_with.batchnorm, ((struct batchnorm_choice){BATCHNORM_FROZEN, NULL}));
    expect_statistics(exported_in_training_form(17, 3), -1, 2);
    ck_assert(has_message("--batchnorm frozen trains with them"));
}
END_TEST

START_TEST(statistics_of_a_trained_network)
{
    prepare_with.statistics = STATISTICS_AUTO;
    /* below the momentum: no single update gives that */
    expect_statistics(exported_in_training_form(17, -0.1), -1, 0.45);
    ck_assert(!reports("start from 0 and 1"));
    begin();
    struct model *const pretrained = exported_in_training_form(17, -0.1);
    pretrained->producer_name = "pytorch";
    expect_statistics(pretrained, -1, 0.45);
    ck_assert(reports("has moved the running statistics toward the exporter's example"));
    begin();
    struct model *const m = normalized(17, false); /* inference form: the exporter has not run it in training */
    model_find_initializer(m->graph, "var")->tensor = DOUBLES(SHAPE(1), 2);
    expect_statistics(m, 0, 2);
    begin();
    prepare_with.statistics = STATISTICS_RESET;
    expect_statistics(exported_in_training_form(17, -0.1), 0, 1);
    ck_assert(reports("running statistics start from 0 and 1 (--batchnorm-statistics reset)"));
}
END_TEST

/* One ones for scale and variance, one zeros for shift and mean: the statistics become tensors of their own unasked. */
START_TEST(statistics_that_the_exporter_merged)
{
    struct model *const m = normalized(17, false);
    model_find_initializer(m->graph, "scale")->tensor = DOUBLES(SHAPE(1), 1);
    model_find_initializer(m->graph, "shift")->tensor = DOUBLES(SHAPE(1), 0);
    begin_edit(m);
    edit_remove_initializer(&edit, "var");
    edit_remove_initializer(&edit, "mean");
    edit_insert_node(&edit, 0, "Identity", "scale", NULL, "var");
    edit_insert_node(&edit, 0, "Identity", "shift", NULL, "mean");
    struct interp *const s = prepared(m);
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 1), 1, 5), DOUBLES(SHAPE(2, 1), 0));
    run(s, "step", "loss", in);
    EXPECT(run(s, "infer", "mean", in), 1.5);
    EXPECT(run(s, "infer", "var", in), 2.5);
    ck_assert(reports("'var' is a variable of its own, not 'scale': one is a running statistic"));
    ck_assert(reports("trained: 2 tensors"));
    ck_assert_int_eq(diag.warnings, 0);
}
END_TEST

static void to_constant(struct model *m, const char *name)
{
    struct tensor *const t = model_find_initializer(m->graph, name)->tensor;
    edit_remove_initializer(&edit, name);
    model_set_tensor(&arena, edit_insert_node(&edit, 0, "Constant", NULL, NULL, name), "value", t);
}

/* Some exporters write every tensor as a Constant node. */
START_TEST(statistics_that_are_constants)
{
    struct model *const m = normalized(17, false);
    begin_edit(m);
    to_constant(m, "mean");
    to_constant(m, "var");
    struct interp *const s = prepared(m);
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 1), 1, 5), DOUBLES(SHAPE(2, 1), 0));
    run(s, "step", "loss", in);
    EXPECT(run(s, "infer", "mean", in), 1.5);
    EXPECT(run(s, "infer", "var", in), 2.5);
    ck_assert(reports("constants 'mean' and 'var' become initializers"));
    ck_assert_int_eq(diag.warnings, 0);
}
END_TEST

/* Dropping nearly everything makes the loss of a step that of zeros; infer() drops nothing. */
START_TEST(dropout_drops_in_a_step)
{
    struct model *const m = inference_model("1 3", "y", "1 2");
    init_tensor(m, "w", DOUBLES(SHAPE(3, 2), 1));
    struct tensor *const ratio = tensor_scalar_double(&arena, DTYPE_FLOAT, 0.999999);
    init_tensor(m, "ratio", ratio);
    op(m->graph, "d", "Dropout", "x ratio");
    op(m->graph, "y", "MatMul", "d w");
    struct interp *const s = prepared(m);
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(1, 3), 1), DOUBLES(SHAPE(1, 2), 0));
    EXPECT(run(s, "infer", "y", in), 3, 3);
    EXPECT(run(s, "step", "loss", in), 0);
    ck_assert(reports("1 Dropout: a step drops, infer() does not"));
}
END_TEST

/* Before opset 12 a step has it in other nodes. y = 4 x, of which some are dropped and the others doubled. */
START_TEST(dropout_of_old_opsets)
{
    static const int64_t opsets[] = {7, 10, 11};
    for (size_t i = 0; i < 3; i++) {
        begin();
        struct model *const m = inference_model("1 64", "y", "1 64");
        m->opsets.data[0].version = opsets[i];
        init_tensor(m, "w", DOUBLES(SHAPE(64), 4));
        op(m->graph, "d", "Dropout", "x");
        op(m->graph, "y", "Mul", "d w");
        vec_push(&arena, &prepare_with.train, "w");
        struct interp *const s = prepared(m);
        const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(1, 64), 1), DOUBLES(SHAPE(1, 64), 0));
        const struct tensor *const y = run(s, "step", "train/y", in);
        int dropped = 0;
        for (int64_t k = 0; k < 64; k++) {
            ck_assert(tensor_get_double(y, k) == 0 || tensor_get_double(y, k) == 8);
            dropped += tensor_get_double(y, k) == 0;
        }
        ck_assert(dropped > 16 && dropped < 48);
        ck_assert(reports("1 Dropout: a step drops, infer() does not"));
        }
}
END_TEST

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void tensor_of_file(named_tensors *list, const char *name, const struct tensor *t)
{
    vec_push(&arena, list, ((struct named_tensor){name, t}));
}

/* The recurrent weight has one row a gate: i o f c in the model, i f g o in the file. */
START_TEST(names_by_content)
{
    struct model *const m = tied_model();
    named_tensors file = {0};
    init_tensor(m, "onnx::LSTM_9", DOUBLES(SHAPE(1, 4, 1), 1, 4, 2, 3));
    init_tensor(m, "onnx::Add_11", DOUBLES(SHAPE(2), 0));
    init_tensor(m, "onnx::Add_12", DOUBLES(SHAPE(2), 3, 4));
    init_tensor(m, "onnx::Conv_13", DOUBLES(SHAPE(2, 1, 2), 1, 3, 2, 4));
    tensor_of_file(&file, "kernel", DOUBLES(SHAPE(2, 1, 2), 1, 2, 3, 4)); /* [size, inputs, outputs] */
    tensor_of_file(&file, "zeros", DOUBLES(SHAPE(2), 0));
    tensor_of_file(&file, "w", DOUBLES(SHAPE(2, 1), 1, 2));
    tensor_of_file(&file, "head.weight", DOUBLES(SHAPE(2, 1), 1, 2));
    tensor_of_file(&file, "rnn.weight_hh_l0", DOUBLES(SHAPE(4, 1), 1, 2, 3, 4));
    tensor_of_file(&file, "bias", DOUBLES(SHAPE(2), 3, 4));
    begin_edit(m);
    name_from_tensors(&edit, "w.safetensors", &file);
    ck_assert(has_initializer(m, "w") && has_initializer(m, "head.weight") && has_initializer(m, "rnn.weight_hh_l0"));
    ck_assert(has_initializer(m, "bias") && has_initializer(m, "onnx::Add_11"));
    ck_assert_str_eq(m->graph->nodes.data[1]->inputs.data[1], "head.weight");
    ck_assert(reports("'onnx::MatMul_7' is 'head.weight', transposed"));
    ck_assert(reports("'onnx::Conv_13' is 'kernel', laid out as ONNX has kernels"));
    ck_assert(reports("'onnx::LSTM_9' is 'rnn.weight_hh_l0', gates reordered"));
    struct weight_options noted; /* its shape does not say how it stands */
    weights_as_noted(&arena, m, true, &(struct weight_options){0}, &noted);
    ck_assert(noted.transpose.count == 1 && str_equal(noted.transpose.data[0], "kernel"));
    ck_assert(has_message("no tensor has the content of 'onnx::Add_11', which keeps its name"));
}
END_TEST

/* Two directions of a GRU with one unit: rows z r h in the model, r z n in the file; the biases of input and
 * state are one tensor. */
START_TEST(names_of_recurrent_layers)
{
    struct model *const m = tied_model();
    named_tensors file = {0};
    init_tensor(m, "onnx::GRU_1", DOUBLES(SHAPE(2, 3, 1), 2, 1, 3, 5, 4, 6));
    init_tensor(m, "onnx::GRU_2", DOUBLES(SHAPE(1, 6), 12, 11, 13, 15, 14, 16));
    init_tensor(m, "onnx::RNN_3", DOUBLES(SHAPE(1, 2, 1), 21, 22));
    init_tensor(m, "onnx::GRU_4", DOUBLES(SHAPE(2, 3, 1), 2, 1, 3, 5, 4, 7));
    tensor_of_file(&file, "forward", DOUBLES(SHAPE(3, 1), 1, 2, 3));
    tensor_of_file(&file, "reverse", DOUBLES(SHAPE(3, 1), 4, 5, 6));
    tensor_of_file(&file, "of_input", DOUBLES(SHAPE(3), 11, 12, 13));
    tensor_of_file(&file, "of_state", DOUBLES(SHAPE(3), 14, 15, 16));
    tensor_of_file(&file, "plain", DOUBLES(SHAPE(2, 1), 21, 22));
    begin_edit(m);
    name_from_tensors(&edit, "w.safetensors", &file);
    ck_assert(has_initializer(m, "forward") && has_initializer(m, "of_input") && has_initializer(m, "plain"));
    ck_assert(reports("'onnx::GRU_1' is 'forward' and 'reverse', gates reordered"));
    ck_assert(reports("'onnx::GRU_2' is 'of_input' and 'of_state', gates reordered"));
    ck_assert(reports("'onnx::RNN_3' is 'plain'\n"));
    ck_assert(has_initializer(m, "onnx::GRU_4"));
}
END_TEST

/* ---- constants, the doctor --------------------------------------------------------------------------------------- */

static struct model *with_constant(void)
{
    struct model *const m = inference_model("1 2", "y", "1 2");
    init_tensor(m, "b", DOUBLES(SHAPE(2), 0));
    model_set_tensor(&arena, op(m->graph, "c", "Constant", ""), "value", DOUBLES(SHAPE(2, 2), 1, 2, 3, 4));
    op(m->graph, "h", "MatMul", "x c");
    op(m->graph, "z", "Add", "h b");
    op(m->graph, "y", "Softmax", "z");
    return m;
}

static bool finds(struct model *m, const char *text, const char *cure)
{
    finding_list found = {0};
    examine_export(&arena, m, NULL, &found);
    for (size_t i = 0; i < found.count; i++)
        if (strstr(found.data[i].text, text) && strstr(found.data[i].cure, cure))
            return true;
    return false;
}

START_TEST(constants_in_the_place_of_weights)
{
    prepared(with_constant());
    ck_assert(reports("not c double[2,2]: a constant, in the place of a weight of MatMul 'h'; --train c"));
    begin();
    vec_push(&arena, &prepare_with.train, "*");
    struct model *const m = with_constant();
    prepared(m);
    ck_assert(has_initializer(m, "c"));
    ck_assert(reports("trained: 2 tensors"));
}
END_TEST

/* What PyTorch's exporter writes of momentum=None. */
static struct model *of_momentum(bool training, float momentum)
{
    struct model *const m = normalized(17, training);
    vec_each(struct model_node *, n, &m->graph->nodes)
        if (str_equal(n->op_type, "BatchNormalization"))
            ((struct model_attr *)model_find_attr(&n->attrs, "momentum"))->f = momentum;
    return m;
}

START_TEST(statistics_that_are_no_average)
{
    ck_assert(finds(of_momentum(false, 1), "1 BatchNormalization with momentum 1: no step moves", "set `momentum`"));
    ck_assert(finds(of_momentum(true, 0), "with momentum 0: running statistics are those of the last", "as 0.1"));
    ck_assert(!finds(of_momentum(true, 0.9f), "with momentum", ""));
    prepared(of_momentum(false, 1));
    ck_assert(has_message("give the layers a momentum before the export"));
    begin();
    vec_push(&arena, &prepare_with.batchnorm, ((struct batchnorm_choice){BATCHNORM_FROZEN, NULL}));
    prepared(of_momentum(false, 1));
    ck_assert(!has_message("give the layers a momentum"));
}
END_TEST

START_TEST(constants_only)
{
    struct model *const m = with_constant();
    edit_begin(&edit, &diag, &arena, m, &report);
    edit_remove_initializer(&edit, "b");
    edit_insert_node(&edit, 0, "Mul", "x", "x", "b");
    ck_assert(finds(m, "constants stand where parameters do: 'c', and no initializer does", "prepare trains them"));
    prepared(m);
    ck_assert(has_initializer(m, "c"));
    ck_assert(reports("trained: 1 tensor"));
}
END_TEST

START_TEST(what_the_doctor_finds)
{
    ck_assert(finds(merged_model(), "initializer 'a' also stands for 'b'", "--untie auto"));
    ck_assert(finds(tied_model(), "'onnx::MatMul_7' has the content of 'w' transposed", "--tie 'onnx::MatMul_7=w^T'"));
    ck_assert(finds(tied_model(), "1 initializer without a name of your own", "do_constant_folding=False"));
    ck_assert(finds(with_constant(), "constant 'c' stands where a parameter does", "--train 'c'"));
    ck_assert(finds(with_constant(), "output 'y' comes out of a Softmax", "--output 'z'"));
    ck_assert(finds(with_constant(), "the batch is 1", "--batch N"));
    ck_assert(finds(normalized(17, false), "1 BatchNormalization node", "--batchnorm frozen"));
    ck_assert(finds(exported_in_training_form(17, 3), "one update away from 0 and 1", "TrainingMode.PRESERVE"));
    ck_assert(!finds(exported_in_training_form(17, -0.1), "one update away", ""));
    ck_assert(finds(with_loss(false), "output 'loss', out of a ReduceMean, is a loss", "leaves it out of infer()"));
    struct model *exported = normalized(17, false);
    exported->producer_name = "pytorch";
    ck_assert(finds(exported, "no Dropout", "TrainingMode.PRESERVE"));
    exported = normalized(17, true);
    exported->producer_name = "pytorch";
    ck_assert(!finds(exported, "no Dropout", ""));
    struct model *const m = inference_model("4 6", "y", "8 3");
    init_tensor(m, "rows", INTS(8, 3));
    op(m->graph, "y", "Reshape", "x rows");
    ck_assert(finds(m, "the batch of the example, 4, is in constants of 'y'", "--batch N"));
    ck_assert_int_eq(diag.messages.count, 0);
}
END_TEST

int main(void)
{
    TCase *const c = tcase_create("exports");
    tcase_add_checked_fixture(c, begin, teardown);
    tcase_add_test(c, merged_initializers_separate);
    tcase_add_test(c, merged_initializers_warn);
    tcase_add_test(c, untie_by_pattern);
    tcase_add_test(c, a_tie_sums_both_uses);
    tcase_add_test(c, ties_are_noticed);
    tcase_add_test(c, wrong_ties);
    tcase_add_test(c, reshapes_follow_the_batch);
    tcase_add_test(c, sequences_first);
    tcase_add_test(c, operands_are_widened);
    tcase_add_test(c, a_named_batch);
    tcase_add_test(c, batches_that_stay);
    tcase_add_test(c, batch_statistics);
    tcase_add_test(c, statistics_go_through_parts);
    tcase_add_test(c, own_loss_in_training_form);
    tcase_add_test(c, a_loss_inside_is_taken_out);
    tcase_add_test(c, a_loss_inside_of_parts);
    tcase_add_test(c, a_loss_inside_with_parameters_stays);
    tcase_add_test(c, unbiased_variance);
    tcase_add_test(c, frozen_statistics);
    tcase_add_test(c, statistics_that_the_exporter_moved);
    tcase_add_test(c, statistics_of_a_trained_network);
    tcase_add_test(c, statistics_that_the_exporter_merged);
    tcase_add_test(c, statistics_that_are_constants);
    tcase_add_test(c, dropout_drops_in_a_step);
    tcase_add_test(c, dropout_of_old_opsets);
    tcase_add_test(c, names_by_content);
    tcase_add_test(c, names_of_recurrent_layers);
    tcase_add_test(c, constants_in_the_place_of_weights);
    tcase_add_test(c, statistics_that_are_no_average);
    tcase_add_test(c, constants_only);
    tcase_add_test(c, what_the_doctor_finds);
    return run_tests("exports", c);
}
