/* Optimizers over several steps: the model's loss is sum(x w), so that the gradient of w in a step is the x that is
 * fed. What w becomes is computed here by the formulas of docs/optimizers.md, in double. Then what weights start from,
 * groups and averages. Hyper-parameters are binary fractions, which are the same in float. */
#include "prepare_models.h"
#include "suite.h"

enum { ROWS = 2, COLUMNS = 3, COUNT = ROWS * COLUMNS, STEPS = 10 };

static void begin_linear(void)
{
    begin();
    prepare_with.loss = LOSS_OUTPUT;
    prepare_with.output = "cost";
    prepare_with.gradients = false;
    vec_push(&arena, &prepare_with.train, "w");
}

static const double start_of_w[COUNT] = {1, -2, 0.5, 0, 3, -0.25};

/* cost = sum(x w) */
static struct model *linear(const struct shape *s, double scale)
{
    struct model *const m = new_model();
    const char *const dims = s->rank == 2 ? "2 3" : "6";
    struct tensor *const w = tensor_new(&arena, DTYPE_DOUBLE, s);
    for (int i = 0; i < COUNT; i++)
        tensor_set_double(w, i, scale * start_of_w[i]);
    input(m->graph, "x", DTYPE_DOUBLE, dims);
    model_add_initializer(&arena, m->graph, "w", w);
    op(m->graph, "p", "Mul", "x w");
    model_set_int(&arena, op(m->graph, "cost", "ReduceSum", "p"), "keepdims", 0);
    input(m->graph, "cost", DTYPE_DOUBLE, "");
    struct model_value_info *const vi = m->graph->inputs.data[--m->graph->inputs.count];
    vec_push(&arena, &m->graph->outputs, vi);
    m->opsets.count = 1;
    return m;
}

static struct interp *started(struct model *m)
{
    const bool ok = prepare_model(&diag, &arena, m, &prepare_with, &report);
    if (!ok)
        print_messages();
    ck_assert(ok);
    must_combine(m);
    return start();
}

static double gradient_at(int step, int i)
{
    return ((step * 7 + i * 5) % 11 - 5) / 4.0;
}

static void take_step(struct interp *s, const struct shape *shape, int step)
{
    struct tensor *const x = tensor_new(&arena, DTYPE_DOUBLE, shape);
    for (int i = 0; i < COUNT; i++)
        tensor_set_double(x, i, gradient_at(step, i));
    (void)run(s, "step", "loss", INPUTS(x));
}

static const struct tensor *variable(const struct interp *s, const char *name)
{
    const struct variable *const v = program_variable(program, name);
    ck_assert_msg(v != NULL, "there is no variable '%s'", name);
    return s->variables[v->index];
}

/* ---- optimizers by hand ------------------------------------------------------------------------------------------ */

struct state {
    double w[COUNT], g[COUNT];
    double m[COUNT], v[COUNT], u[COUNT]; /* whatever the optimizer keeps */
    double product;
    int t; /* 1 in the first step */
};

typedef void step_of(struct state *s);

static const double lr = 0.5, b1 = 0.5, b2 = 0.75, eps = 0.125, decay = 0.25;

static void keep_means(struct state *s, int i)
{
    s->m[i] = b1 * s->m[i] + (1 - b1) * s->g[i];
    s->v[i] = b2 * s->v[i] + (1 - b2) * s->g[i] * s->g[i];
}

static double corrected(double x, double beta, int t)
{
    return x / (1 - pow(beta, t));
}

static double adam_divisor(const struct state *s, double v)
{
    return sqrt(corrected(v, b2, s->t)) + eps;
}

static void by_adamw(struct state *s)
{
    for (int i = 0; i < COUNT; i++) {
        keep_means(s, i);
        s->w[i] = s->w[i] * (1 - lr * decay) - lr * corrected(s->m[i], b1, s->t) / adam_divisor(s, s->v[i]);
    }
}

static void by_amsgrad(struct state *s)
{
    for (int i = 0; i < COUNT; i++) {
        keep_means(s, i);
        s->u[i] = fmax(s->u[i], s->v[i]);
        s->w[i] -= lr * corrected(s->m[i], b1, s->t) / adam_divisor(s, s->u[i]);
    }
}

static double nadam_momentum(int t)
{
    return b1 * (1 - 0.5 * pow(0.96, t * 2.0));
}

static void by_nadam(struct state *s)
{
    const double now = nadam_momentum(s->t), next = nadam_momentum(s->t + 1);
    s->product = (s->t == 1 ? 1 : s->product) * now;
    for (int i = 0; i < COUNT; i++) {
        keep_means(s, i);
        const double step = (1 - now) * s->g[i] / (1 - s->product) + next * s->m[i] / (1 - s->product * next);
        s->w[i] -= lr * step / adam_divisor(s, s->v[i]);
    }
}

/* From step 8 on there are enough squares for a variance. */
static void by_radam(struct state *s)
{
    const double power = pow(b2, s->t), limit = 2 / (1 - b2) - 1, rho = limit - 2 * s->t * power / (1 - power);
    const double rectified = sqrt((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho));
    ck_assert(s->t < 8 ? rho < 5 : rho > 5);
    for (int i = 0; i < COUNT; i++) {
        keep_means(s, i);
        const double mean = corrected(s->m[i], b1, s->t);
        s->w[i] -= lr * (rho > 5 ? mean * rectified * sqrt(1 - power) / (sqrt(s->v[i]) + eps) : mean);
    }
}

static void by_adamax(struct state *s)
{
    for (int i = 0; i < COUNT; i++) {
        s->m[i] = b1 * s->m[i] + (1 - b1) * s->g[i];
        s->u[i] = fmax(b2 * s->u[i], fabs(s->g[i]) + eps);
        s->w[i] -= lr * corrected(s->m[i], b1, s->t) / s->u[i];
    }
}

static void by_lamb(struct state *s)
{
    double direction[COUNT], norm = 0, of_step = 0;
    for (int i = 0; i < COUNT; i++) {
        keep_means(s, i);
        direction[i] = corrected(s->m[i], b1, s->t) / adam_divisor(s, s->v[i]) + decay * s->w[i];
        norm += s->w[i] * s->w[i];
        of_step += direction[i] * direction[i];
    }
    const double trust = norm > 0 && of_step > 0 ? sqrt(norm / of_step) : 1;
    for (int i = 0; i < COUNT; i++)
        s->w[i] -= lr * trust * direction[i];
}

static void by_lion(struct state *s)
{
    for (int i = 0; i < COUNT; i++) {
        const double blend = b1 * s->m[i] + (1 - b1) * s->g[i];
        s->w[i] = s->w[i] * (1 - lr * decay) - lr * ((blend > 0) - (blend < 0));
        s->m[i] = b2 * s->m[i] + (1 - b2) * s->g[i];
    }
}

/* alpha = 0.75, momentum = 0.5 */
static void by_rmsprop(struct state *s)
{
    for (int i = 0; i < COUNT; i++) {
        s->v[i] = 0.75 * s->v[i] + 0.25 * s->g[i] * s->g[i];
        s->m[i] = 0.75 * s->m[i] + 0.25 * s->g[i];
        s->u[i] = 0.5 * s->u[i] + s->g[i] / (sqrt(s->v[i] - s->m[i] * s->m[i]) + eps);
        s->w[i] -= lr * s->u[i];
    }
}

/* From an accumulator of 2, with decay_factor = 0.5 */
static void by_adagrad(struct state *s)
{
    for (int i = 0; i < COUNT; i++) {
        s->v[i] = (s->t == 1 ? 2 : s->v[i]) + s->g[i] * s->g[i];
        s->w[i] -= lr / (1 + (s->t - 1) * 0.5) * s->g[i] / (sqrt(s->v[i]) + eps);
    }
}

static double rms(const double *x)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += x[i] * x[i];
    return sqrt(sum / COUNT);
}

/* m: the mean of steps; v: rows, u: columns, or v alone. */
static void step_of_adafactor(struct state *s, double rate, bool factored)
{
    double step[COUNT], mean = 0, by_row[ROWS] = {0}, by_column[COLUMNS] = {0};
    const double old = 1 - pow(s->t, -0.5), size = rate * fmax(0.5, rms(s->w));
    for (int i = 0; i < COUNT; i++) {
        const double square = s->g[i] * s->g[i] + eps;
        by_row[i / COLUMNS] += square / COLUMNS;
        by_column[i % COLUMNS] += square / ROWS;
        if (!factored)
            s->v[i] = old * s->v[i] + (1 - old) * square;
    }
    for (int i = 0; factored && i < ROWS; i++)
        mean += (s->v[i] = old * s->v[i] + (1 - old) * by_row[i]) / ROWS;
    for (int i = 0; factored && i < COLUMNS; i++)
        s->u[i] = old * s->u[i] + (1 - old) * by_column[i];
    for (int i = 0; i < COUNT; i++)
        step[i] = s->g[i] / sqrt(factored ? s->v[i / COLUMNS] / mean * s->u[i % COLUMNS] : s->v[i]);
    const double excess = fmax(1, rms(step) / 0.5);
    for (int i = 0; i < COUNT; i++) {
        s->m[i] = b1 * s->m[i] + (1 - b1) * size * step[i] / excess;
        s->w[i] -= decay * size * s->w[i] + s->m[i];
    }
}

static void by_adafactor(struct state *s)
{
    step_of_adafactor(s, lr * fmin(0.01, 1 / sqrt(s->t)), true);
}

static void by_adafactor_of_vectors(struct state *s)
{
    step_of_adafactor(s, lr, false);
}

static void by_adafactor_from_nothing(struct state *s)
{
    step_of_adafactor(s, 65536 * fmin(1e-6 * s->t, 1 / sqrt(s->t)), true);
}

#define BETAS "beta1=0.5,beta2=0.75,epsilon=0.125"
#define ADAFACTOR                                                                                                      \
    "adafactor:epsilon1=0.125,epsilon2=0.5,clip_threshold=0.5,decay_rate=-0.5,beta1=0.5,weight_decay=0.25"

static const struct {
    const char *optimizer;
    step_of *step;
    double rate, scale; /* of the weights in the beginning */
    bool is_vector;
} optimizers[] = {
    {"adamw:" BETAS ",weight_decay=0.25", by_adamw, 0.5, 1, false},
    {"amsgrad:" BETAS, by_amsgrad, 0.5, 1, false},
    {"adamw:" BETAS ",weight_decay=0,amsgrad=1", by_amsgrad, 0.5, 1, false},
    {"nadam:" BETAS ",momentum_decay=2", by_nadam, 0.5, 1, false},
    {"radam:" BETAS, by_radam, 0.5, 1, false},
    {"adamax:" BETAS, by_adamax, 0.5, 1, false},
    {"lamb:" BETAS ",weight_decay=0.25", by_lamb, 0.5, 1, false},
    {"lamb:" BETAS ",weight_decay=0.25", by_lamb, 0.5, 0, false},
    {"lion:beta1=0.5,beta2=0.75,weight_decay=0.25", by_lion, 0.5, 1, false},
    {"rmsprop:alpha=0.75,epsilon=0.125,momentum=0.5,centered=1", by_rmsprop, 0.5, 1, false},
    {"adagrad:epsilon=0.125,initial_accumulator=2,decay_factor=0.5", by_adagrad, 0.5, 1, false},
    {ADAFACTOR, by_adafactor, 0.5, 1, false},
    {ADAFACTOR ",relative_step=0", by_adafactor_of_vectors, 0.5, 1, true},
    {ADAFACTOR ",warmup_init=1", by_adafactor_from_nothing, 65536, 1, false},
};

START_TEST(several_steps)
{
    struct state by_hand = {.t = 0};
    const struct shape s = optimizers[_i].is_vector ? SHAPE(COUNT) : SHAPE(ROWS, COLUMNS);
    use_optimizer(optimizers[_i].optimizer);
    prepare_with.learning_rate = optimizers[_i].rate;
    for (int i = 0; i < COUNT; i++)
        by_hand.w[i] = optimizers[_i].scale * start_of_w[i];
    struct interp *const state = started(linear(&s, optimizers[_i].scale));
    for (int step = 0; step < STEPS; step++) {
        take_step(state, &s, step);
        for (int i = 0; i < COUNT; i++)
            by_hand.g[i] = gradient_at(step, i);
        by_hand.t++;
        optimizers[_i].step(&by_hand);
        for (int i = 0; i < COUNT; i++)
            ck_assert_double_eq_tol(tensor_get_double(variable(state, "w"), i), by_hand.w[i],
                                    1e-9 * (1 + fabs(by_hand.w[i])));
    }
}
END_TEST

/* Adafactor's own steps are the whole rate; otherwise each has its usual one. */
START_TEST(usual_rates)
{
    static const struct {
        const char *optimizer;
        double rate;
    } usual[] = {{"adafactor", 1}, {"adafactor:relative_step=0", 0.001}, {"sgd", 0.01}, {"lion", 0.0001}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        begin_linear();
        use_optimizer(usual[i].optimizer);
        prepare_with.learning_rate = -1;
        EXPECT(variable(started(linear(&SHAPE(COUNT), 1)), "learning_rate"), usual[i].rate);
    }
}
END_TEST

/* The gradient of step 0 is (-1.25, 0, 1.25, -0.25, 1, -0.5): its norm is 2.1. */
START_TEST(clipping_leaves_small_gradients)
{
    double size = 0;
    for (int i = 0; i < COUNT; i++)
        size += gradient_at(0, i) * gradient_at(0, i);
    for (int k = 0; k < 3; k++) {
        begin_linear();
        use_optimizer("sgd");
        prepare_with.clip_norm = k == 0 ? 100 : k == 1 ? 1 : 0;
        prepare_with.clip_value = k == 2 ? 0.75 : 0;
        struct interp *const s = started(linear(&SHAPE(COUNT), 1));
        take_step(s, &SHAPE(COUNT), 0);
        for (int i = 0; i < COUNT; i++) {
            const double g = gradient_at(0, i);
            const double clipped = k == 0 ? g : k == 1 ? g / (sqrt(size) + 1e-6) : fmin(0.75, fmax(-0.75, g));
            ck_assert_double_eq_tol(tensor_get_double(variable(s, "w"), i), start_of_w[i] - 0.5 * clipped, 1e-9);
        }
    }
}
END_TEST

/* ---- groups and averages ----------------------------------------------------------------------------------------- */

/* A group's decay is of vectors, too, which the optimizer's spares. */
START_TEST(groups_have_rates_and_decay)
{
    use_optimizer("adamw:" BETAS ",weight_decay=0,decay_min_rank=2");
    prepare_with.learning_rate = 4;
    ck_assert(group_parse(&diag, &arena, "w*:learning_rate=0.5,weight_decay=0.25", &prepare_with.groups));
    struct state by_hand = {.t = 1};
    struct interp *const s = started(linear(&SHAPE(COUNT), 1));
    for (int i = 0; i < COUNT; i++) {
        by_hand.w[i] = start_of_w[i];
        by_hand.g[i] = gradient_at(0, i);
    }
    take_step(s, &SHAPE(COUNT), 0);
    by_adamw(&by_hand);
    expect(variable(s, "w"), by_hand.w, COUNT);
    EXPECT(variable(s, "learning_rate"), 4);
    EXPECT(variable(s, "learning_rate.1"), 0.5);
}
END_TEST

START_TEST(averages_follow_new_weights)
{
    use_optimizer("sgd");
    prepare_with.ema = 0.75;
    struct interp *const s = started(linear(&SHAPE(COUNT), 1));
    double w[COUNT], average[COUNT];
    memcpy(w, start_of_w, sizeof w);
    memcpy(average, start_of_w, sizeof average);
    for (int step = 0; step < 3; step++) {
        take_step(s, &SHAPE(COUNT), step);
        for (int i = 0; i < COUNT; i++) {
            w[i] -= 0.5 * gradient_at(step, i);
            average[i] = 0.75 * average[i] + 0.25 * w[i];
        }
        expect(variable(s, "w"), w, COUNT);
        expect(variable(s, "w.average"), average, COUNT);
    }
    double cost = 0;
    for (int i = 0; i < COUNT; i++)
        cost += average[i] * (i + 1);
    const struct tensor *const x = DOUBLES(SHAPE(COUNT), 1, 2, 3, 4, 5, 6);
    EXPECT(run(s, "infer_average", "cost.average", INPUTS(x)), cost);
}
END_TEST

/* ---- what weights start from ------------------------------------------------------------------------------------- */

/* The node of the initialization that makes a tensor's values; NULL: none. */
static const struct model_node *initial_of(const struct model *m, const char *name)
{
    const struct model_training *const t = m->training.data[0];
    vec_each_ptr(const struct model_pair, pair, &t->initialization_binding)
        for (size_t i = 0; strcmp(pair->key, name) == 0 && i < t->initialization->nodes.count; i++)
            if (strcmp(t->initialization->nodes.data[i]->outputs.data[0], pair->value) == 0)
                return t->initialization->nodes.data[i];
    return NULL;
}

static void expect_spread(const struct model *m, const char *name, const char *op, const char *attr, double x)
{
    const struct model_node *const n = initial_of(m, name);
    ck_assert_msg(n != NULL, "'%s' has no initial values", name);
    ck_assert_str_eq(n->op_type, op);
    ck_assert_double_eq_tol((double)model_find_attr(&n->attrs, attr)->f, x, 1e-6);
}

static void expect_filled(const struct model *m, const char *name, double x)
{
    const struct model_node *const n = initial_of(m, name);
    ck_assert_msg(n != NULL, "'%s' has no initial values", name);
    ck_assert_str_eq(n->op_type, "ConstantOfShape");
    ck_assert_double_eq(tensor_get_double(model_find_attr(&n->attrs, "value")->t, 0), x);
}

static void init(struct model *m, const char *name, struct shape s)
{
    model_add_initializer(&arena, m->graph, name, doubles(&s, (const double[]){0.5, 0.25, -1}, 3));
}

/* A table of 10 rows of 8, as images [1,2,2,2]; a kernel of 5 channels from 2, 3 x 1 taps; scale and bias; [6,10] and
 * [10,7] weights. */
static struct model *layers(void)
{
    struct model *const m = new_model();
    m->opsets.count = 1;
    input(m->graph, "row", DTYPE_INT64, "1");
    init(m, "table", SHAPE(10, 8));
    init(m, "kernel", SHAPE(5, 2, 3, 1));
    init(m, "scale", SHAPE(5));
    init(m, "shift", SHAPE(5));
    init(m, "mean", SHAPE(5));
    model_add_initializer(&arena, m->graph, "var", DOUBLES(SHAPE(5), 1));
    init(m, "wide", SHAPE(6, 10));
    init(m, "narrow", SHAPE(6, 7));
    model_add_initializer(&arena, m->graph, "image", tensor_from_ints(&arena, (int64_t[]){1, 2, 4, 1}, 4));
    model_add_initializer(&arena, m->graph, "flat", tensor_from_ints(&arena, (int64_t[]){1, 10}, 2));
    op(m->graph, "e", "Gather", "table row");
    op(m->graph, "i", "Reshape", "e image");
    op(m->graph, "c", "Conv", "i kernel");
    op(m->graph, "n", "BatchNormalization", "c scale shift mean var");
    op(m->graph, "f", "Reshape", "n flat");
    model_set_int(&arena, op(m->graph, "h", "Gemm", "f wide"), "transB", 1);
    op(m->graph, "y", "MatMul", "h narrow");
    model_set_int(&arena, op(m->graph, "cost", "ReduceSum", "y"), "keepdims", 0);
    input(m->graph, "cost", DTYPE_DOUBLE, "");
    struct model_value_info *const vi = m->graph->inputs.data[--m->graph->inputs.count];
    vec_push(&arena, &m->graph->outputs, vi);
    prepare_with.train.count = 0;
    return m;
}

START_TEST(random_starts)
{
    for (int kind = INITIALIZE_HE; kind <= INITIALIZE_GLOROT; kind++) {
        const bool he = kind == INITIALIZE_HE;
        const char *const op = he ? "RandomNormal" : "RandomUniform", *const attr = he ? "scale" : "high";
        begin_linear();
        use_optimizer("sgd");
        prepare_with.initialize = (enum initialize_kind)kind;
        prepare_with.ema = 0.5;
        struct model *const m = layers();
        (void)started(m);
        expect_spread(m, "kernel", op, attr, sqrt(he ? 2.0 / (2 * 3) : 6.0 / (2 * 3 + 5 * 3)));
        expect_spread(m, "wide", op, attr, sqrt(he ? 2.0 / 10 : 6.0 / (10 + 6)));
        expect_spread(m, "narrow", op, attr, sqrt(he ? 2.0 / 6 : 6.0 / (6 + 7)));
        expect_spread(m, "table", "RandomNormal", "scale", sqrt(1.0 / 8));
        expect_filled(m, "scale", 1);
        expect_filled(m, "shift", 0);
        ck_assert_ptr_eq(initial_of(m, "wide.average"), initial_of(m, "wide"));
    }
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, begin_linear, teardown);
    tcase_add_loop_test(all, several_steps, 0, (int)(sizeof optimizers / sizeof optimizers[0]));
    tcase_add_test(all, usual_rates);
    tcase_add_test(all, clipping_leaves_small_gradients);
    tcase_add_test(all, groups_have_rates_and_decay);
    tcase_add_test(all, averages_follow_new_weights);
    tcase_add_test(all, random_starts);
    return run_tests("prepare_updates", all);
}
