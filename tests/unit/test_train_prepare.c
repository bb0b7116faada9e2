/* Preparation: what is trained, what the losses and optimizers compute, and what is said of wrong requests. Values are
 * computed by hand in double and compared with a run of the prepared model. */
#include "train/prepare.h"
#include "train_models.h"

static struct prepare_options prepare_with;
static struct strbuf report;

static void begin(void)
{
    setup();
    report = (struct strbuf){.arena = &arena};
    prepare_with = (struct prepare_options){.loss = LOSS_MSE, .class_axis = 1, .learning_rate = 0.5, .first_step = -1, .gradients = true};
}

static void use_optimizer(const char *text)
{
    ck_assert(optimizer_parse(&diag, &arena, text, &prepare_with.optimizer));
}

static void declare(struct model_graph *g, int where, const char *name, enum dtype dtype, const char *dims)
{
    input(g, name, dtype, dims);
    struct model_value_info *const vi = g->inputs.data[--g->inputs.count];
    if (where == 0)
        g->inputs.count++;
    else
        vec_push(&arena, &g->outputs, vi);
}

/* p = x w + b; x [2,2], w [2,1], p [2,1] = [[5.5], [11.5]] for X below */
static struct model *regression(void)
{
    struct model *const m = new_model();
    declare(m->graph, 0, "x", DTYPE_DOUBLE, "batch 2");
    declare(m->graph, 1, "p", DTYPE_DOUBLE, "batch 1");
    model_add_initializer(&arena, m->graph, "w", DOUBLES(SHAPE(2, 1), 1, 2));
    model_add_initializer(&arena, m->graph, "b", DOUBLES(SHAPE(1), 0.5));
    op(m->graph, "xw", "MatMul", "x w");
    op(m->graph, "p", "Add", "xw b");
    m->opsets.count = 1; /* as an inference model */
    return m;
}
#define X DOUBLES(SHAPE(2, 2), 1, 2, 3, 4)

/* z = w [2,3]: the scores are the weights; x [2,3] of zeros gives them a batch */
static struct model *scores(const char *last)
{
    struct model *const m = new_model();
    declare(m->graph, 0, "x", DTYPE_DOUBLE, "2 2");
    declare(m->graph, 1, "z", DTYPE_DOUBLE, "2 3");
    model_add_initializer(&arena, m->graph, "w", DOUBLES(SHAPE(2, 3), 1, 2, 3, 0, 0.5, -1));
    op(m->graph, last ? "s" : "z", "MatMul", "x w");
    if (last)
        op(m->graph, "z", last, "s");
    return m;
}
#define EYE DOUBLES(SHAPE(2, 2), 1, 0, 0, 1)

static const struct tensor *labels(enum dtype dtype, int64_t a, int64_t b)
{
    struct tensor *const t = tensor_new(&arena, dtype, &SHAPE(2));
    tensor_set_int(t, 0, a);
    tensor_set_int(t, 1, b);
    return t;
}

static bool prepare(struct model *m)
{
    return prepare_model(&diag, &arena, m, &prepare_with, &report);
}

static struct interp *prepared(struct model *m, int64_t batch)
{
    const bool ok = prepare(m);
    if (!ok)
        print_messages();
    ck_assert(ok);
    struct map *const dims = arena_new(&arena, struct map);
    dims->arena = &arena;
    map_set(dims, "batch", &(int64_t){batch});
    options.dims = dims;
    must_combine(m);
    return start();
}

static double value_of(struct interp *s, const char *fetch, const struct tensor *const *inputs)
{
    return tensor_get_double(run(s, "step", fetch, inputs), 0);
}

static void near(double got, double expected)
{
    ck_assert_double_eq_tol(got, expected, 1e-7 * (1 + fabs(expected)));
}

/* ---- losses --------------------------------------------------------------------------------------------------------- */

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

static void check_elementwise(enum loss_kind loss, double t0, double t1, double expected, double db)
{
    begin();
    prepare_with.loss = loss;
    use_optimizer("sgd");
    struct interp *const s = prepared(regression(), 2);
    const struct tensor *const *const in = INPUTS(DOUBLES(SHAPE(2, 2), 0, 0, -0.5, 0), DOUBLES(SHAPE(2, 1), t0, t1));
    near(tensor_get_double(run(s, "step", "loss", in), 0), expected);
    s->program == program ? (void)0 : ck_abort();
    struct interp *const again = start();
    near(value_of(again, "b.gradient", in), db);
}

/* p = [0.5, 0]; the second logit is exactly 0, where the slope of bce is 0.5 - t. */
START_TEST(losses_of_elements)
{
    const double e = exp(-0.5), sigma = 1 / (1 + e);
    check_elementwise(LOSS_L1, 0, 2, 1.25, 0);
    check_elementwise(LOSS_HUBER, 0, 3, (0.125 + 2.5) / 2, (0.5 - 1) / 2);
    check_elementwise(LOSS_BCE_LOGITS, 1, 0, (log1p(e) + log(2)) / 2, (sigma - 1 + 0.5) / 2);
}
END_TEST
