/* Preparation: what is trained, what optimizers and schedules compute, and what is said of wrong requests. Values are
 * computed by hand in double and compared with a run of the prepared model. Losses: test_prepare_losses.c. */
#include "prepare_models.h"
#include "suite.h"

/* ---- optimizers: two steps of b, whose gradient is 2 in the first ------------------------------------------------ */

static double b_after(const char *optimizer, int steps)
{
    begin();
    use_optimizer(optimizer);
    prepare_with.learning_rate = 0.001;
    struct interp *const s = prepared(regression(), 2);
    for (int i = 0; i < steps; i++)
        (void)run(s, "step", "loss", INPUTS(X, DOUBLES(SHAPE(2, 1), 5, 10)));
    return tensor_get_double(run(s, "infer", "b", INPUTS(X)), 0);
}

START_TEST(first_steps)
{
    const double lr = 0.001, b1 = 0.9f, b2 = 0.999f, a = 0.99f;
    near(b_after("sgd", 1), 0.5 - lr * 2);
    near(b_after("momentum", 1), 0.5 - lr * 2);
    near(b_after("nesterov:alpha=0.5", 1), 0.5 - lr * 3);
    near(b_after("adagrad:epsilon=0", 1), 0.5 - lr);
    near(b_after("adam:epsilon=0", 1), 0.5 - lr);
    near(b_after("adamw:epsilon=0,weight_decay=0.5", 1), 0.5 * (1 - lr * 0.5) - lr);
    near(b_after("adamw:epsilon=0,weight_decay=0.5,decay_min_rank=2", 1), 0.5 - lr);
    near(b_after("rmsprop:epsilon=0", 1), 0.5 - lr * 2 / sqrt((1 - a) * 4));
    near(b_after("sgd:norm_coefficient=2", 1), 0.5 - lr * (2 + 2 * 0.5));
    /* The gradient of the second step is nearly that of the first: what is seen is the state's effect. */
    const double m = (b1 * (1 - b1) + (1 - b1)) / (1 - b1 * b1), v = (b2 * (1 - b2) + (1 - b2)) / (1 - b2 * b2);
    ck_assert_double_eq_tol(b_after("adamw:epsilon=0,weight_decay=0", 2), 0.5 - lr - lr * m / sqrt(v), 1e-4);
}
END_TEST

START_TEST(relatives_of_adam)
{
    const double lr = 0.001, b1 = 0.9f, mu = b1 / 2;
    near(b_after("amsgrad:epsilon=0", 1), 0.5 - lr);
    near(b_after("nadam:epsilon=0,momentum_decay=0", 1), 0.5 - lr * (2 + mu / (1 - mu * mu) * (1 - b1) * 2) / 2);
    near(b_after("radam", 1), 0.5 - lr * 2);
    near(b_after("adamax:epsilon=0", 1), 0.5 - lr);
    near(b_after("lion", 1), 0.5 - lr);
    near(b_after("lion:weight_decay=0.5", 1), 0.5 - lr * 0.5 * 0.5 - lr);
    near(b_after("lamb:epsilon=0,weight_decay=0", 1), 0.5 - lr * 0.5);
    near(b_after("adafactor:relative_step=0,scale_parameter=0", 1), 0.5 - lr);
    near(b_after("adafactor", 1), 0.5 - lr * 0.5 * 0.01f);
    /* The first gradient is the larger one by far, so that the second step still divides by it. */
    ck_assert_double_gt(b_after("amsgrad:beta1=0,beta2=0", 3), b_after("adamw:weight_decay=0,beta1=0,beta2=0", 3));
}
END_TEST

/* |g| = sqrt(25 + 49 + 4) */
START_TEST(clipping)
{
    prepare_with.clip_norm = 1;
    use_optimizer("sgd");
    struct interp *s = prepared(regression(), 2);
    const struct tensor *const *const in = INPUTS(X, DOUBLES(SHAPE(2, 1), 5, 10));
    near(value_of(s, "b.gradient", in), 2);
    near(tensor_get_double(run(s, "infer", "b", INPUTS(X)), 0), 0.5 - 0.5 * 2 / (sqrt(78) + 1e-6));
    begin();
    prepare_with.clip_value = 0.25;
    use_optimizer("sgd");
    s = prepared(regression(), 2);
    near(value_of(s, "b.gradient", in), 2);
    near(tensor_get_double(run(s, "infer", "b", INPUTS(X)), 0), 0.5 - 0.5 * 0.25);
}
END_TEST

START_TEST(rate_and_count_are_state)
{
    use_optimizer("adam");
    prepared(regression(), 2);
    ck_assert_ptr_nonnull(program_variable(program, "learning_rate"));
    const struct variable *const count = program_variable(program, "step_count");
    ck_assert_int_eq(tensor_get_int(count->initial, 0), 1);
    ck_assert_int_eq(count->role, ROLE_COUNTER);
    begin();
    prepare_with.learning_rate_input = "lr";
    use_optimizer("sgd");
    prepared(regression(), 2);
    ck_assert_ptr_null(program_variable(program, "learning_rate"));
    const struct graph *const step = program_entry(program, "step")->graph;
    ck_assert_str_eq(step->inputs.data[2]->name, "lr");
}
END_TEST

/* ---- what is trained --------------------------------------------------------------------------------------------- */

static bool binds(const struct model *m, const char *name)
{
    const model_pairs *const l = &m->training.data[0]->update_binding;
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->data[i].key, name) == 0)
            return true;
    return false;
}

/* p' = (p + shift) * mask * scale' : an Add after an Add, a Mul, and a scalar are no slots; `unused` is not read. */
static struct model *with_constants(void)
{
    struct model *const m = regression();
    model_add_initializer(&arena, m->graph, "mask", DOUBLES(SHAPE(2, 1), 1, 0));
    model_add_initializer(&arena, m->graph, "scalar", SCALAR(2));
    model_add_initializer(&arena, m->graph, "unused", DOUBLES(SHAPE(2, 2), 1));
    model_set_tensor(&arena, op(m->graph, "k", "Constant", ""), "value", DOUBLES(SHAPE(1), 3));
    op(m->graph, "masked", "Mul", "p mask");
    op(m->graph, "shifted", "Add", "masked k");
    op(m->graph, "q", "Mul", "shifted scalar");
    declare(m->graph, 1, "q", DTYPE_DOUBLE, "2 1");
    prepare_with.output = "q";
    return m;
}

START_TEST(default_trainables)
{
    struct model *const m = with_constants();
    use_optimizer("sgd");
    prepared(m, 2);
    ck_assert(binds(m, "w") && binds(m, "b") && binds(m, "learning_rate"));
    ck_assert_int_eq(m->training.data[0]->update_binding.count, 3);
    ck_assert_ptr_nonnull(strstr(strbuf_text(&report), "bias of Add"));
    ck_assert_ptr_nonnull(strstr(strbuf_text(&report), "not mask"));
}
END_TEST

START_TEST(named_trainables)
{
    struct model *const m = with_constants();
    use_optimizer("sgd");
    vec_push(&arena, &prepare_with.train, "k"); /* a Constant: becomes an initializer */
    vec_push(&arena, &prepare_with.train, "ma*");
    vec_push(&arena, &prepare_with.train, "?");
    vec_push(&arena, &prepare_with.freeze, "b");
    prepared(m, 2);
    ck_assert(binds(m, "k") && binds(m, "mask") && binds(m, "w") && !binds(m, "b"));
    ck_assert_ptr_nonnull(model_find_initializer(m->graph, "k"));
}
END_TEST

START_TEST(transposed_and_shared_weights)
{
    struct model *const m = new_model();
    declare(m->graph, 0, "i", DTYPE_INT64, "2");
    declare(m->graph, 1, "y", DTYPE_DOUBLE, "2 5");
    model_add_initializer(&arena, m->graph, "table", DOUBLES(SHAPE(5, 3), 1, 2));
    op(m->graph, "e", "Gather", "table i");
    op(m->graph, "t", "Transpose", "table");
    op(m->graph, "y", "MatMul", "e t");
    use_optimizer("sgd");
    ck_assert(prepare(m));
    ck_assert_int_eq(m->training.data[0]->update_binding.count, 2);
    ck_assert_ptr_nonnull(strstr(strbuf_text(&report), "embedding of Gather"));
}
END_TEST

START_TEST(running_statistics)
{
    struct model *const m = new_model();
    declare(m->graph, 0, "x", DTYPE_DOUBLE, "4 2");
    declare(m->graph, 1, "y", DTYPE_DOUBLE, "4 2");
    const char *const names[] = {"scale", "shift", "mean", "var"};
    for (int i = 0; i < 4; i++)
        model_add_initializer(&arena, m->graph, names[i], DOUBLES(SHAPE(2), 1));
    model_set_int(&arena, op(m->graph, "y mean_out var_out", "BatchNormalization", "x scale shift mean var"),
                  "training_mode", 1);
    use_optimizer("sgd");
    const bool ok = prepare(m);
    print_messages();
    ck_assert(ok);
    ck_assert(binds(m, "scale") && binds(m, "shift") && binds(m, "mean") && binds(m, "var"));
    ck_assert_ptr_nonnull(strstr(strbuf_text(&report), "trained: 2 tensors"));
}
END_TEST

START_TEST(random_start)
{
    for (int kind = INITIALIZE_HE; kind <= INITIALIZE_GLOROT; kind++) {
        begin();
        use_optimizer("sgd");
        prepare_with.initialize = (enum initialize_kind)kind;
        struct interp *const s = prepared(regression(), 2);
        const struct tensor *const w = run(s, "infer", "w", INPUTS(X));
        ck_assert_double_ne(tensor_get_double(w, 0), 1);
        if (kind == INITIALIZE_GLOROT)
            ck_assert_double_le(fabs(tensor_get_double(w, 0)), sqrt(6.0 / 3));
        near(tensor_get_double(run(s, "infer", "b", INPUTS(X)), 0), 0);
    }
}
END_TEST

START_TEST(names_give_way)
{
    struct model *const m = regression();
    model_add_initializer(&arena, m->graph, "learning_rate", SCALAR(1));
    use_optimizer("sgd");
    prepared(m, 2);
    ck_assert(binds(m, "learning_rate_2") && !binds(m, "learning_rate"));
}
END_TEST

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void refused(struct model *m, const char *message)
{
    ck_assert(!prepare(m));
    ck_assert(has_message(message));
    begin();
}

START_TEST(wrong_requests)
{
    struct model *m = with_constants();
    prepare_with.output = "shiftd";
    refused(m, "--output shiftd: no tensor has that name; did you mean 'shifted'?");
    prepare_with.output = "x";
    refused(regression(), "it is an input or initializer");
    vec_push(&arena, &prepare_with.train, "z*");
    refused(regression(), "--train z*: no initializer has a name that matches");
    vec_push(&arena, &prepare_with.train, "unused");
    refused(with_constants(), "--train unused: the loss does not depend on it");
    vec_push(&arena, &prepare_with.freeze, "*");
    refused(regression(), "nothing to train");
    prepare_with.target = "p";
    refused(regression(), "that is not an input");
    prepare_with.target = "x";
    refused(regression(), "this input is double[batch,2], expected shape [batch,1]");
    prepare_with.target_type = DTYPE_FLOAT;
    refused(regression(), "the target 'target' is float, but 'p' is double");
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    prepare_with.class_axis = 2;
    refused(regression(), "--class-axis 2: 'p' is double[batch,1]");
    prepare_with.loss = LOSS_OUTPUT;
    refused(regression(), "expected a scalar");
    prepare_with.label_smoothing = 0.1;
    refused(regression(), "--label-smoothing does not go with --loss mse");
    m = regression();
    m->opsets.data[0].version = 6;
    refused(m, "needs opset 7 or newer");
    m = regression();
    m->opsets.data[0].version = 8;
    use_optimizer("lion");
    refused(m, "--optimizer lion needs an operator of opset 9, the model imports ai.onnx 8");
    use_optimizer("sgd");
    m = regression();
    (void)add_training(m, "old");
    refused(m, "it has training_info");
}
END_TEST

START_TEST(wrong_words)
{
    enum loss_kind loss;
    struct optimizer o;
    ck_assert(!loss_parse(&diag, "softmax-crossentropy", &loss));
    ck_assert(has_message("did you mean 'softmax-cross-entropy'?"));
    ck_assert(!optimizer_parse(&diag, &arena, "adem", &o));
    ck_assert(has_message("did you mean 'adam'?"));
    ck_assert(!optimizer_parse(&diag, &arena, "adam:epsilom=1", &o));
    ck_assert(has_message("no key 'epsilom'; did you mean 'epsilon'?"));
    ck_assert(!optimizer_parse(&diag, &arena, "adam:beta=1", &o));
    ck_assert(has_message("beta=1: expected a number"));
    ck_assert(!optimizer_parse(&diag, &arena, "adam:beta", &o));
    ck_assert(has_message("expected key=value"));
}
END_TEST

/* ---- schedules --------------------------------------------------------------------------------------------------- */

/* The rate of step number s, from 0, relative to the base rate. */
static double rate_at(const char *schedule, const char *optimizer, int s)
{
    begin();
    use_optimizer(optimizer);
    ck_assert(schedule_parse(&diag, &arena, schedule, &prepare_with.schedule));
    struct interp *const state = prepared(regression(), 2);
    const struct tensor *const *const in = INPUTS(X, DOUBLES(SHAPE(2, 1), 5.5, 11.5));
    for (int i = 0; i < s; i++)
        (void)run(state, "step", "loss", in);
    return value_of(state, "scheduled_rate.double", in) / prepare_with.learning_rate;
}

START_TEST(schedules)
{
    near(rate_at("step:every=2,gamma=0.5", "sgd", 0), 1);
    near(rate_at("step:every=2,gamma=0.5", "adam", 1), 1);
    near(rate_at("step:every=2,gamma=0.5", "adam", 5), 0.25);
    near(rate_at("cosine:steps=8", "sgd", 0), 1);
    near(rate_at("cosine:steps=8,floor=0.5", "sgd", 4), 0.75);
    near(rate_at("cosine:steps=8,floor=0.5", "sgd", 9), 0.5);
    near(rate_at("cosine:steps=10,warmup=2", "sgd", 0), 0.5);
    near(rate_at("cosine:steps=10,warmup=2", "sgd", 6), 0.5);
    near(rate_at("linear:steps=10,warmup=4", "adam", 0), 0.25);
    near(rate_at("linear:steps=10,warmup=4", "adam", 4), 1);
    near(rate_at("linear:steps=10,warmup=4", "adam", 7), 0.5);
    near(rate_at("linear:steps=2", "rmsprop", 3), 0);
    near(rate_at("exponential:gamma=0.5", "adam", 3), 0.125);
    near(rate_at("multistep:milestones=2,3,3,gamma=0.5", "sgd", 1), 1);
    near(rate_at("multistep:gamma=0.5,milestones=2,3,3", "sgd", 3), 0.125);
    near(rate_at("onecycle:steps=10,pct_start=0.5,div_factor=4", "sgd", 0), 0.25);
    near(rate_at("onecycle:steps=10,pct_start=0.5,div_factor=4", "adam", 2), 0.625);
    near(rate_at("onecycle:steps=10,pct_start=0.5,div_factor=4", "sgd", 4), 1);
    near(rate_at("onecycle:steps=5,pct_start=0.5,div_factor=4,final_div_factor=5", "sgd", 6), 0.05);
    near(rate_at("onecycle:steps=10,pct_start=0.5,div_factor=4,final_div_factor=5", "sgd", 9), 0.05);
    near(rate_at("onecycle:steps=5,pct_start=1,div_factor=4", "sgd", 2), 0.625);
    near(rate_at("onecycle:steps=5,pct_start=1,div_factor=4", "sgd", 4), 1);
    near(rate_at("onecycle:steps=9,pct_start=0.5,div_factor=2,three_phase=1,linear=1", "sgd", 7), 0.5);
}
END_TEST

/* ---- batches in parts -------------------------------------------------------------------------------------------- */

#define PART(a, b) DOUBLES(SHAPE(1, 2), a, b)
#define TARGETS DOUBLES(SHAPE(2, 1), 5, 10)
#define ONE(x) DOUBLES(SHAPE(1, 1), x)

/* As mse_and_sgd, sample by sample. */
START_TEST(split_batches)
{
    use_optimizer("sgd");
    prepare_with.split = true;
    struct interp *const s = prepared(regression(), 1);
    ck_assert_int_eq(program_entry(program, "step")->graph->inputs.count, 2);
    ck_assert_int_eq(program_entry(program, "apply")->graph->inputs.count, 0);
    ck_assert_int_eq(program_variable(program, "w.grad_sum")->role, ROLE_SUM);
    for (int step = 0; step < 2; step++) { /* the second starts from nothing again */
        EXPECT(run(s, "accumulate", "loss", INPUTS(PART(1, 2), ONE(step ? -2.5 : 5))), step ? 6.25 : 0.25);
        EXPECT(run(s, "accumulate", "sample_count", INPUTS(PART(3, 4), ONE(step ? -7 : 10))), 1);
        if (step == 0) {
            EXPECT(run(s, "apply", "loss", INPUTS(NULL)), 1.25);
            EXPECT(run(s, "infer", "w", INPUTS(PART(1, 2))), -1.5, -1.5);
        }
    }
    EXPECT(run(s, "apply", "w.gradient", INPUTS(NULL)), -14.5, -21);
}
END_TEST

/* The same in two entries, each for one weight. What both read changes once, behind them. */
START_TEST(split_in_shards)
{
    use_optimizer("sgd");
    prepare_with.split = true;
    prepare_with.shards = 2;
    ck_assert(schedule_parse(&diag, &arena, "step:every=1,gamma=0.5", &prepare_with.schedule));
    struct interp *const s = prepared(regression(), 1);
    ck_assert_int_eq(program_entry(program, "apply_0")->graph->inputs.count, 0);
    ck_assert_int_eq(program_variable(program, "step_count")->role, ROLE_COUNTER);
    EXPECT(run(s, "accumulate", "loss", INPUTS(PART(1, 2), ONE(5))), 0.25);
    EXPECT(run(s, "accumulate", "sample_count", INPUTS(PART(3, 4), ONE(10))), 1);
    EXPECT(run(s, "apply_1", "b.gradient", INPUTS(NULL)), 2);
    EXPECT(run(s, "infer", "w", INPUTS(PART(1, 2))), 1, 2); /* that is the other's */
    EXPECT(run(s, "apply_0", "w.gradient", INPUTS(NULL)), 5, 7);
    EXPECT(run(s, "infer", "w", INPUTS(PART(1, 2))), -1.5, -1.5);
    EXPECT(s->variables[program_variable(program, "step_count")->index], 0);
    EXPECT(run(s, "advance", "loss", INPUTS(NULL)), 1.25);
    EXPECT(s->variables[program_variable(program, "step_count")->index], 1);
    EXPECT(s->variables[program_variable(program, "w.grad_sum")->index], 0, 0);
    ck_assert(!has_message("bound by an earlier"));

    begin();
    prepare_with.split = true;
    prepare_with.shards = 3;
    ck_assert(!prepare_model(&diag, &arena, regression(), &prepare_with, &report));
    ck_assert(has_message("--shards 3: only 2 tensors are trained"));
}
END_TEST

START_TEST(split_without_samples)
{
    use_optimizer("sgd");
    prepare_with.split = true;
    struct interp *const s = prepared(regression(), 1);
    (void)run(s, "apply", "b.gradient", INPUTS(NULL));
    EXPECT(run(s, "infer", "b", INPUTS(PART(1, 2))), 0.5);
}
END_TEST

/* Split takes the number of parts in another way since opset 18. */
START_TEST(batch_in_parts)
{
    for (int opset = 12; opset <= 18; opset += 2) {
        begin();
        use_optimizer("sgd");
        prepare_with.accumulate = 2;
        struct model *const m = regression();
        m->opsets.data[0].version = opset;
        struct interp *const s = prepared(m, 2);
        const struct tensor *const *const in = INPUTS(X, TARGETS);
        EXPECT(run(s, "step", "w.gradient", in), 5, 7);
        EXPECT(run(s, "infer", "w", INPUTS(X)), -1.5, -1.5);
    }
}
END_TEST

/* Sample weights and a model's own loss in parts. */
START_TEST(other_losses_in_parts)
{
    use_optimizer("sgd");
    prepare_with.accumulate = 2;
    prepare_with.sample_weight = "sw";
    prepared(regression(), 2);
    near(after_start("loss", INPUTS(X, TARGETS, DOUBLES(SHAPE(2), 3, 1))), (3 * 0.25 + 2.25) / 4);
    begin();
    use_optimizer("sgd");
    struct model *const m = regression();
    model_set_int(&arena, op(m->graph, "cost", "ReduceMean", "p"), "keepdims", 0);
    declare(m->graph, 1, "cost", DTYPE_DOUBLE, "");
    prepare_with.loss = LOSS_OUTPUT;
    prepare_with.output = "cost";
    prepare_with.accumulate = 2;
    prepared(m, 2);
    near(after_start("loss", INPUTS(X)), 8.5);
    near(after_start("b.gradient", INPUTS(X)), 1);
}
END_TEST

/* The loss of a split batch, for each kind of loss: the same as that of the whole. */
static void check_split_loss(struct model *m, const struct tensor *target, double expected)
{
    use_optimizer("sgd");
    prepare_with.split = true;
    struct interp *const s = prepared(m, 2);
    (void)run(s, "accumulate", "loss", INPUTS(EYE, target));
    (void)run(s, "accumulate", "loss", INPUTS(EYE, target));
    near(tensor_get_double(run(s, "apply", "loss", INPUTS(NULL)), 0), expected);
    begin();
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
}

START_TEST(split_losses)
{
    const double mean0 = log_sum(rows[0]) - 2, mean1 = log_sum(rows[1]) + 0.5 / 3;
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    check_split_loss(scores(NULL), labels(DTYPE_INT64, 2, 0), (LOSS0 + LOSS1) / 2);
    prepare_with.label_smoothing = 0.1;
    check_split_loss(scores(NULL), labels(DTYPE_INT64, 2, 0),
                     0.9 * (LOSS0 + LOSS1) / 2 + 0.1 * (mean0 + mean1) / 2);
    prepare_with.class_weights = DOUBLES(SHAPE(3), 1, 1, 3);
    check_split_loss(scores(NULL), labels(DTYPE_INT64, 2, 0), (3 * LOSS0 + LOSS1) / 4);
    prepare_with.ignore_index = &(const int64_t){-1};
    check_split_loss(scores(NULL), labels(DTYPE_INT64, -1, 0), LOSS1);
    struct model *const m = scores(NULL);
    m->opsets.data[0].version = 9;
    check_split_loss(m, labels(DTYPE_INT64, 2, 0), (LOSS0 + LOSS1) / 2);
}
END_TEST

START_TEST(evaluation)
{
    prepare_with.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
    prepare_with.evaluate = true;
    use_optimizer("sgd");
    struct interp *const s = prepared(scores("Softmax"), 2);
    ck_assert_int_eq(program_entry(program, "evaluate")->kind, ENTRY_EVALUATE);
    near(tensor_get_double(run(s, "evaluate", "loss", INPUTS(EYE, labels(DTYPE_INT64, 2, 0))), 0), (LOSS0 + LOSS1) / 2);
    ck_assert_int_eq(tensor_get_int(run(s, "evaluate", "correct", INPUTS(EYE, labels(DTYPE_INT64, 2, 0))), 0), 1);
    ck_assert_int_eq(tensor_get_int(run(s, "evaluate", "correct", INPUTS(EYE, labels(DTYPE_INT64, 2, 1))), 0), 2);
    ck_assert_ptr_nonnull(program_entry(program, "step"));
}
END_TEST

/* What is not of the batch's size is whole in every part; notes are those of the first part. */
START_TEST(parts_of_the_batch_only)
{
    use_optimizer("sgd");
    prepare_with.accumulate = 2;
    struct model *const m = regression();
    declare(m->graph, 0, "k", DTYPE_DOUBLE, "1");
    op(m->graph, "q", "Mul", "p k");
    m->graph->outputs.count = 0;
    declare(m->graph, 1, "q", DTYPE_DOUBLE, "batch 1");
    prepared(m, 2);
    near(after_start("loss", INPUTS(X, DOUBLES(SHAPE(1), 2), DOUBLES(SHAPE(2, 1), 10, 20))), (1 + 9) / 2.0);
    const char *const text = strbuf_text(&report), *const note = strstr(text, "loss: mse of 'q'");
    ck_assert_ptr_nonnull(note);
    ck_assert_ptr_null(strstr(note + 1, "loss: mse"));
}
END_TEST

/* e = 0.5, 1.5, 0.5, 1.5 */
START_TEST(parts_of_several_samples)
{
    use_optimizer("sgd");
    prepare_with.accumulate = 2;
    prepared(regression(), 4);
    const struct tensor *const *const in =
        INPUTS(DOUBLES(SHAPE(4, 2), 1, 2, 3, 4), DOUBLES(SHAPE(4, 1), 5, 10));
    near(after_start("loss", in), 1.25);
    near(after_start("b.gradient", in), 2);
}
END_TEST

/* A bias of another type than the loss: its gradient is divided in its own. */
START_TEST(parts_of_two_types)
{
    use_optimizer("sgd");
    prepare_with.accumulate = 2;
    vec_push(&arena, &prepare_with.train, "c");
    vec_push(&arena, &prepare_with.train, "w");
    struct model *const m = regression();
    struct tensor *const c = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(1));
    tensor_set_double(c, 0, 0);
    model_add_initializer(&arena, m->graph, "c", c);
    model_set_int(&arena, op(m->graph, "wide", "Cast", "c"), "to", DTYPE_DOUBLE);
    op(m->graph, "q", "Add", "p wide");
    m->graph->outputs.count = 0;
    declare(m->graph, 1, "q", DTYPE_DOUBLE, "batch 1");
    prepared(m, 2);
    near(after_start("c.gradient", INPUTS(X, TARGETS)), 2);
    EXPECT(run(start(), "step", "w.gradient", INPUTS(X, TARGETS)), 5, 7);
}
END_TEST

START_TEST(wrong_parts)
{
    use_optimizer("sgd");
    prepare_with.accumulate = 3;
    struct model *m = scores(NULL);
    refused(m, "is 2, which is no multiple");
    use_optimizer("sgd");
    prepare_with.accumulate = 3;
    m = scores(NULL);
    m->graph->inputs.data[0]->type.dims.data[0].value = m->graph->outputs.data[0]->type.dims.data[0].value = 7;
    refused(m, "is 7, which is no multiple");
    prepare_with.accumulate = 100000;
    refused(regression(), "at most 256 parts");
    prepare_with.split = true;
    m = regression();
    m->opsets.data[0].version = 8;
    refused(m, "--split needs an operator of opset 9");
}
END_TEST

START_TEST(wrong_schedules)
{
    struct rate_schedule s;
    ck_assert(!schedule_parse(&diag, &arena, "cosin:steps=1", &s));
    ck_assert(has_message("no such schedule; did you mean 'cosine'?"));
    ck_assert(!schedule_parse(&diag, &arena, "weekly", &s));
    ck_assert(has_message("no such schedule; there are: constant, step, multistep, exponential, cosine, "
                         "linear, onecycle"));
    ck_assert(!schedule_parse(&diag, &arena, "cosine", &s));
    ck_assert(has_message("give steps=N"));
    ck_assert(!schedule_parse(&diag, &arena, "linear:steps=5,warmup=5", &s));
    ck_assert(has_message("is not less than steps=5"));
    ck_assert(!schedule_parse(&diag, &arena, "step:every=2.5", &s));
    ck_assert(has_message("every=2.5: expected a whole number from 1"));
    ck_assert(!schedule_parse(&diag, &arena, "multistep:gamma=0.5", &s));
    ck_assert(has_message("--schedule multistep: give milestones=N"));
    ck_assert(!schedule_parse(&diag, &arena, "multistep:milestones=2,3.5", &s));
    ck_assert(has_message("milestones=3.5: expected a whole number"));
    ck_assert(!schedule_parse(&diag, &arena, "multistep:milestones=2,gamma=0.5,3", &s));
    ck_assert(has_message("'3': expected key=value"));
    ck_assert(!schedule_parse(&diag, &arena, "onecycle:steps=9,pct_start=0.6,three_phase=1", &s));
    ck_assert(has_message("three phases leave at most 0.5"));
    ck_assert(!schedule_parse(&diag, &arena, "step:evry=2", &s));
    ck_assert(has_message("no key 'evry'; did you mean 'every'?"));
}
END_TEST

static Suite *make_suite(void)
{
    const struct {
        const char *name;
        const TTest *const *tests;
        size_t count;
    } cases[] = {
#define CASE(name, ...)                                                                                                \
    {name, (const TTest *const[]){__VA_ARGS__}, sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(TTest *)}
        CASE("optimizers", first_steps, relatives_of_adam, clipping, rate_and_count_are_state),
        CASE("trainables", default_trainables, named_trainables, transposed_and_shared_weights, running_statistics,
             random_start, names_give_way),
        CASE("schedules", schedules),
        CASE("parts", split_batches, split_in_shards, split_without_samples, batch_in_parts, other_losses_in_parts,
             split_losses,
             evaluation, parts_of_the_batch_only, parts_of_several_samples, parts_of_two_types),
        CASE("errors", wrong_requests, wrong_words, wrong_parts, wrong_schedules),
    };
    Suite *const suite = suite_create("train_prepare");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TCase *const c = tcase_create(cases[i].name);
        tcase_add_checked_fixture(c, begin, teardown);
        for (size_t k = 0; k < cases[i].count; k++)
            tcase_add_test(c, cases[i].tests[k]);
        suite_add_tcase(suite, c);
    }
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
