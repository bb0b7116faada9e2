/* Losses: what each computes, from the same numbers by hand, and what is said of wrong targets. */
#include "prepare_models.h"
#include "suite.h"

/* ---- losses of elements ------------------------------------------------------------------------------------------ */

/* e = [0.5, 1.5]: loss = 1.25, dw = x' e (2/2) = [5, 7], db = 2; w -= 0.5 dw */
START_TEST(mse_and_sgd)
{
    struct model *const m = regression();
    use_optimizer("sgd");
    struct interp *const s = prepared(m, 2);
    const struct tensor *const *const in = INPUTS(X, DOUBLES(SHAPE(2, 1), 5, 10));
    EXPECT(run(s, "step", "w.gradient", in), 5, 7);
    EXPECT(run(s, "infer", "w", INPUTS(X)), -1.5, -1.5);
    EXPECT(run(s, "infer", "b", INPUTS(X)), -0.5);
    ck_assert_str_eq(m->training.data[0]->algorithm->inputs.data[0]->type.dims.data[0].param, "batch");
}
END_TEST

/* Sizes that no input has are nobody's: a few more than a symbol's are not another's, however many there are. */
START_TEST(rows_more_are_no_other_symbol)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    static const int64_t more[] = {1, 2, 6, 8};
    struct model *const m = new_model();
    const struct shape constant = SHAPE(more[_i / 6], 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        declare(m->graph, 0, names[i], DTYPE_DOUBLE, arena_printf(&arena, "rows_of_%s 2", names[i]));
    declare(m->graph, 1, "p", DTYPE_DOUBLE, "all 1");
    model_add_initializer(&arena, m->graph, "w", DOUBLES(SHAPE(2, 1), 1, 2));
    model_add_initializer(&arena, m->graph, "first", tensor_new(&arena, DTYPE_DOUBLE, &constant));
    op(m->graph, "xw", "MatMul", arena_printf(&arena, "%s w", names[_i % 6]));
    model_set_int(&arena, op(m->graph, "p", "Concat", "first xw"), "axis", 0);
    m->opsets.count = 1;
    use_optimizer("sgd");
    ck_assert_msg(prepare(m), "%s", diag_first_error(&diag));
    ck_assert_str_eq(m->training.data[0]->algorithm->inputs.data[0]->type.dims.data[0].param, "all");
}
END_TEST

/* p = [0.5, 0] */
static void check_elementwise(enum loss_kind loss, const struct tensor *targets, double expected, double db)
{
    begin();
    prepare_with.loss = loss;
    use_optimizer("sgd");
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 2), 0, 0, -0.5, 0), targets);
    prepared(regression(), 2);
    near(after_start("loss", in), expected);
    near(after_start("b.gradient", in), db);
}

/* The second logit is exactly 0, where the slope of bce is 0.5 - t. */
START_TEST(losses_of_elements)
{
    const double e = exp(-0.5), sigma = 1 / (1 + e);
    check_elementwise(LOSS_L1, DOUBLES(SHAPE(2, 1), 0, 2), 1.25, 0);
    check_elementwise(LOSS_HUBER, DOUBLES(SHAPE(2, 1), 0, 3), (0.125 + 2.5) / 2, (0.5 - 1) / 2);
    check_elementwise(LOSS_BCE_LOGITS, DOUBLES(SHAPE(2, 1), 1, 0), (log1p(e) + log(2)) / 2, (sigma - 1 + 0.5) / 2);
    check_elementwise(LOSS_BCE, DOUBLES(SHAPE(2, 1), 1, 0), (log(2) - log(1 - 1e-7)) / 2, -1);
}
END_TEST

START_TEST(weighted_samples)
{
    prepare_with.sample_weight = "sw";
    use_optimizer("sgd");
    prepared(regression(), 2);
    const struct tensor *const *const in = INPUTS(X, DOUBLES(SHAPE(2, 1), 5, 10), DOUBLES(SHAPE(2), 3, 1));
    near(after_start("loss", in), (3 * 0.25 + 2.25) / 4);
    near(after_start("b.gradient", in), (3 * 1.0 + 3.0) / 4);
}
END_TEST

static double class_loss_of(struct model *m, const struct tensor *target)
{
    use_optimizer("sgd");
    prepared(m, 2);
    return after_start("loss", INPUTS(EYE, target));
}

START_TEST(classes)
{
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    near(class_loss_of(scores(NULL), labels(DTYPE_INT64, 2, 0)), (LOSS0 + LOSS1) / 2);
}
END_TEST

/* Does Gradient say that the loss depends on it? */
static bool gradient_reads(const struct model *m, const char *name)
{
    vec_each(const struct model_node *, n, &m->training.data[0]->algorithm->nodes) {
        const struct model_attr *const zs = str_equal(n->op_type, "Gradient") ? model_find_attr(&n->attrs, "zs") : NULL;
        for (size_t i = 0; zs && i < zs->strings.count; i++)
            if (str_equal(zs->strings.data[i].data, name))
                return true;
    }
    return false;
}

/* The model has the target among its inputs: its type says whether labels or shares are meant. */
START_TEST(an_input_says_what_targets_are)
{
    struct model *m = scores(NULL);
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    declare(m->graph, 0, "target", DTYPE_INT64, "2");
    near(class_loss_of(m, labels(DTYPE_INT64, 2, 0)), (LOSS0 + LOSS1) / 2);
    ck_assert(gradient_reads(m, "x") && gradient_reads(m, "target"));
    begin();
    m = scores(NULL);
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    declare(m->graph, 0, "target", DTYPE_DOUBLE, "2 3");
    near(class_loss_of(m, DOUBLES(SHAPE(2, 3), 0, 0, 1, 1, 0, 0)), (LOSS0 + LOSS1) / 2);
}
END_TEST

START_TEST(final_softmax_is_bypassed)
{
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    prepare_with.target_type = DTYPE_UINT8;
    near(class_loss_of(scores("Softmax"), labels(DTYPE_UINT8, 2, 0)), (LOSS0 + LOSS1) / 2);
    ck_assert_ptr_nonnull(strstr(strbuf_text(&report), "is bypassed"));
}
END_TEST

START_TEST(negative_log_likelihood)
{
    prepare_with.loss = LOSS_NLL;
    near(class_loss_of(scores("LogSoftmax"), labels(DTYPE_INT64, 2, 0)), (LOSS0 + LOSS1) / 2);
}
END_TEST

START_TEST(smoothing)
{
    const double mean0 = log_sum(rows[0]) - 2, mean1 = log_sum(rows[1]) + 0.5 / 3;
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    prepare_with.label_smoothing = 0.1;
    near(class_loss_of(scores(NULL), labels(DTYPE_INT64, 2, 0)), 0.9 * (LOSS0 + LOSS1) / 2 + 0.1 * (mean0 + mean1) / 2);
}
END_TEST

START_TEST(class_weights)
{
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    prepare_with.class_weights = DOUBLES(SHAPE(3), 1, 1, 3);
    near(class_loss_of(scores(NULL), labels(DTYPE_INT64, 2, 0)), (3 * LOSS0 + LOSS1) / 4);
}
END_TEST

START_TEST(ignored_label)
{
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    prepare_with.ignore_index = &(const int64_t){-1};
    near(class_loss_of(scores(NULL), labels(DTYPE_INT64, -1, 0)), LOSS1);
}
END_TEST

/* The same loss without the operators of opset 12. */
START_TEST(old_opset)
{
    struct model *const m = scores(NULL);
    m->opsets.data[0].version = 9;
    m->ir_version = 4;
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    near(class_loss_of(m, labels(DTYPE_INT64, 2, 0)), (LOSS0 + LOSS1) / 2);
    ck_assert_int_eq(m->ir_version, 7);
}
END_TEST

/* z [1,2,3] with the classes last, and its transposition [1,3,2] with the classes at axis 1, give what [2,3] does. */
START_TEST(class_axes)
{
    for (int last = 0; last < 2; last++) {
        begin();
        struct model *const m = scores("Transpose");
        m->graph->outputs.data[0]->type.has_shape = false;
        m->graph->initializers.data[0]->tensor->shape = SHAPE(1, 2, 3);
        model_set_ints(&arena, m->graph->nodes.data[1], "perm",
                       last ? (const int64_t[]){0, 1, 2} : (const int64_t[]){0, 2, 1}, 3);
        prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
        prepare_with.class_axis = last ? -1 : 1;
        use_optimizer("sgd");
        prepared(m, 2);
        struct tensor *const t = tensor_new(&arena, DTYPE_INT64, &SHAPE(1, 2));
        tensor_set_int(t, 0, 2);
        near(after_start("loss", INPUTS(EYE, t)), (LOSS0 + LOSS1) / 2);
    }
}
END_TEST

START_TEST(own_loss)
{
    struct model *const m = regression();
    model_set_int(&arena, op(m->graph, "cost", "ReduceMean", "p"), "keepdims", 0);
    declare(m->graph, 1, "cost", DTYPE_DOUBLE, "");
    prepare_with.loss = LOSS_OUTPUT;
    prepare_with.output = "cost";
    use_optimizer("sgd");
    prepared(m, 2);
    near(after_start("loss", INPUTS(X)), 8.5);
    near(after_start("b.gradient", INPUTS(X)), 1);
}
END_TEST

/* p alone: one number is a loss, whatever its rank; two are none. */
START_TEST(own_loss_is_one_number)
{
    for (int64_t size = 1; size <= 2; size++) {
        begin();
        struct model *const m = new_model();
        declare(m->graph, 0, "x", DTYPE_DOUBLE, "2");
        declare(m->graph, 1, "p", DTYPE_DOUBLE, size == 1 ? "1 1" : "1 2");
        model_add_initializer(&arena, m->graph, "w", DOUBLES(SHAPE(2, 2), 1, 2, 3, 4));
        model_add_initializer(&arena, m->graph, "v", size == 1 ? DOUBLES(SHAPE(2, 1), 1, 2) : DOUBLES(SHAPE(2, 2), 1));
        model_add_initializer(&arena, m->graph, "axis", tensor_from_ints(&arena, (int64_t[]){0}, 1));
        op(m->graph, "u", "Unsqueeze", "x axis");
        op(m->graph, "h", "MatMul", "u w");
        op(m->graph, "p", "MatMul", "h v");
        m->opsets.count = 1;
        prepare_with.loss = LOSS_OUTPUT;
        use_optimizer("sgd");
        if (size == 1) {
            prepared(m, 2);
            near(after_start("loss", INPUTS(DOUBLES(SHAPE(2), 1, 1))), 16);
        } else {
            ck_assert(!prepare(m));
            ck_assert(has_message("--loss output: 'p' is double[1,2], expected a scalar"));
        }
    }
}
END_TEST

/* Outputs [time, batch, 1] of a recurrent layer: a sample's loss is the mean over its times. */
static struct model *time_first(void)
{
    struct model *const m = new_model();
    declare(m->graph, 0, "x", DTYPE_DOUBLE, "3 2 1");
    declare(m->graph, 1, "p", DTYPE_DOUBLE, "3 2 1");
    model_add_initializer(&arena, m->graph, "w", DOUBLES(SHAPE(1, 1, 1), 1));
    model_add_initializer(&arena, m->graph, "r", DOUBLES(SHAPE(1, 1, 1), 0));
    model_add_initializer(&arena, m->graph, "axis", tensor_from_ints(&arena, (int64_t[]){1}, 1));
    model_set_int(&arena, op(m->graph, "y", "RNN", "x w r"), "hidden_size", 1);
    op(m->graph, "p", "Squeeze", "y axis");
    m->opsets.count = 1;
    return m;
}

START_TEST(samples_behind_times)
{
    const double a = tanh(0.5), b = tanh(1), c = tanh(2);
    prepare_with.sample_weight = "sw";
    use_optimizer("sgd");
    prepared(time_first(), 2);
    const struct tensor *const x = DOUBLES(SHAPE(3, 2, 1), 0.5, 1, 0.5, 2, 0.5, 2);
    const struct tensor *const t = DOUBLES(SHAPE(3, 2, 1), 0, 0, 1, 0, 0, 1);
    const double first = (a * a + (1 - a) * (1 - a) + a * a) / 3, second = (b * b + c * c + (1 - c) * (1 - c)) / 3;
    near(after_start("loss", INPUTS(x, t, DOUBLES(SHAPE(2), 3, 1))), (3 * first + second) / 4);
}
END_TEST

/* ---- targets that are probabilities ------------------------------------------------------------------------------ */

#define SHARES DOUBLES(SHAPE(2, 3), 0.5, 0.25, 0.25, 0, 1, 0)

/* -sum w t log softmax, a mean of both rows; a share of `even` is the same for all classes. */
static double loss_of_shares(const double *w, double even)
{
    static const double t[2][3] = {{0.5, 0.25, 0.25}, {0, 1, 0}};
    double sum = 0;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
            sum += w[k] * (t[i][k] * (1 - even) + even / 3) * (log_sum(rows[i]) - rows[i][k]);
    return sum / 2;
}

START_TEST(probabilities)
{
    static const double plain[] = {1, 1, 1}, weights[] = {1, 2, 4};
    for (int k = 0; k < 8; k++) {
        begin();
        prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
        prepare_with.target_type = DTYPE_DOUBLE;
        prepare_with.class_weights = k & 1 ? DOUBLES(SHAPE(3), 1, 2, 4) : NULL;
        prepare_with.label_smoothing = k & 2 ? 0.25 : 0;
        struct model *const m = scores(NULL);
        if (k & 4) /* LogSoftmax over one axis is a matter of opset 13 */
            m->opsets.data[0].version = 12;
        near(class_loss_of(m, SHARES), loss_of_shares(k & 1 ? weights : plain, k & 2 ? 0.25 : 0));
    }
}
END_TEST

static int transposes(const struct model_graph *g)
{
    int count = 0;
    vec_each(const struct model_node *, n, &g->nodes)
        count += strcmp(n->op_type, "Transpose") == 0;
    return count;
}

/* The classes in front of the positions, [1,3,2]: LogSoftmax of opset 12 runs over both, so they are moved behind. */
START_TEST(probabilities_of_positions)
{
    static const double plain[] = {1, 1, 1}, weights[] = {1, 2, 4};
    const bool weighted = _i & 1, old = _i & 2;
    struct model *const m = scores("Transpose");
    if (old)
        m->opsets.data[0].version = 12;
    m->graph->outputs.data[0]->type.has_shape = false;
    m->graph->initializers.data[0]->tensor->shape = SHAPE(1, 2, 3);
    model_set_ints(&arena, m->graph->nodes.data[1], "perm", (const int64_t[]){0, 2, 1}, 3);
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    prepare_with.target_type = DTYPE_DOUBLE;
    prepare_with.class_weights = weighted ? DOUBLES(SHAPE(3), 1, 2, 4) : NULL;
    near(class_loss_of(m, DOUBLES(SHAPE(1, 3, 2), 0.5, 0, 0.25, 1, 0.25, 0)),
         loss_of_shares(weighted ? weights : plain, 0));
    ck_assert_int_eq(transposes(m->graph) + transposes(m->training.data[0]->algorithm), old ? 3 : 1);
}
END_TEST

/* ---- how many are right ------------------------------------------------------------------------------------------ */

static int64_t correct_of(const struct tensor *target, const int64_t *ignored)
{
    begin();
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    prepare_with.evaluate = true;
    prepare_with.ignore_index = ignored;
    if (dtype_is_float(target->dtype))
        prepare_with.target_type = target->dtype;
    use_optimizer("sgd");
    struct interp *const s = prepared(scores(NULL), 2);
    return tensor_get_int(run(s, "evaluate", "correct", INPUTS(EYE, target)), 0);
}

/* The largest scores are those of class 2 and class 1. */
START_TEST(correct_labels)
{
    ck_assert_int_eq(correct_of(labels(DTYPE_INT64, 2, 1), NULL), 2);
    ck_assert_int_eq(correct_of(labels(DTYPE_INT64, 2, 0), NULL), 1);
    ck_assert_int_eq(correct_of(labels(DTYPE_INT64, -1, 1), &(const int64_t){-1}), 1);
    ck_assert_int_eq(correct_of(labels(DTYPE_INT64, -1, 0), &(const int64_t){-1}), 0);
    ck_assert_int_eq(correct_of(labels(DTYPE_INT64, 2, 0), &(const int64_t){2}), 0);
    ck_assert_int_eq(correct_of(SHARES, NULL), 1);
}
END_TEST

/* ---- wrong targets ----------------------------------------------------------------------------------------------- */

static void refused(struct model *m, const char *message)
{
    use_optimizer("sgd");
    ck_assert(!prepare(m));
    ck_assert(has_message(message));
    begin();
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
}

START_TEST(options_that_exclude_each_other)
{
    static const int64_t ignored = 1;
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    prepare_with.label_smoothing = 0.1;
    prepare_with.class_weights = DOUBLES(SHAPE(3), 1);
    refused(scores(NULL), "--label-smoothing together with --class-weights is not supported");
    prepare_with.label_smoothing = 0.1;
    prepare_with.ignore_index = &ignored;
    refused(scores(NULL), "--label-smoothing together with --ignore-index is not supported");
    prepare_with.sample_weight = "sw";
    prepare_with.ignore_index = &ignored;
    refused(scores(NULL), "--sample-weight together with --ignore-index is not supported");
    prepare_with.class_weights = DOUBLES(SHAPE(4), 1);
    refused(scores(NULL), "--class-weights: the file has double[4], expected one number for each of 3 classes");
    prepare_with.class_weights = DOUBLES(SHAPE(3, 1), 1);
    refused(scores(NULL), "--class-weights: the file has double[3,1], expected one number");
    prepare_with.target_type = DTYPE_DOUBLE;
    prepare_with.ignore_index = &ignored;
    refused(scores(NULL), "--ignore-index is a class number, but the target has probabilities");
    prepare_with.target_type = DTYPE_BOOL;
    refused(scores(NULL), "takes class numbers: int64, int32 or uint8");
    prepare_with.loss = LOSS_NLL;
    prepare_with.label_smoothing = 0.1;
    refused(scores("LogSoftmax"), "--label-smoothing goes with --loss softmax-cross-entropy");
    struct model *const m = scores(NULL);
    m->opsets.data[0].version = 11;
    prepare_with.ignore_index = &ignored;
    refused(m, "--ignore-index needs an operator of opset 12, the model imports ai.onnx 11");
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, teardown);
    tcase_add_test(all, mse_and_sgd);
    tcase_add_loop_test(all, rows_more_are_no_other_symbol, 0, 24);
    tcase_add_test(all, losses_of_elements);
    tcase_add_test(all, weighted_samples);
    tcase_add_test(all, classes);
    tcase_add_test(all, an_input_says_what_targets_are);
    tcase_add_test(all, final_softmax_is_bypassed);
    tcase_add_test(all, negative_log_likelihood);
    tcase_add_test(all, smoothing);
    tcase_add_test(all, class_weights);
    tcase_add_test(all, ignored_label);
    tcase_add_test(all, old_opset);
    tcase_add_test(all, class_axes);
    tcase_add_test(all, own_loss);
    tcase_add_test(all, own_loss_is_one_number);
    tcase_add_test(all, samples_behind_times);
    tcase_add_test(all, probabilities);
    tcase_add_loop_test(all, probabilities_of_positions, 0, 4);
    tcase_add_test(all, correct_labels);
    tcase_add_test(all, options_that_exclude_each_other);
    return run_tests("prepare_losses", all);
}
