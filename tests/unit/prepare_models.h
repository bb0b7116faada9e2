/* For the tests of preparation: small inference models, and what a step of them gives once they are prepared. */
#ifndef STEPC_TESTS_PREPARE_MODELS_H
#define STEPC_TESTS_PREPARE_MODELS_H

#include "prepare/prepare.h"
#include "train_models.h"

static struct prepare_options prepare_with;
static struct strbuf report;

static inline void begin(void)
{
    setup();
    report = (struct strbuf){.arena = &arena};
    prepare_with = (struct prepare_options){
        .loss = LOSS_MSE, .class_axis = 1, .learning_rate = 0.5, .first_step = -1, .gradients = true};
}

static inline void use_optimizer(const char *text)
{
    ck_assert(optimizer_parse(&diag, &arena, text, &prepare_with.optimizer));
}

static inline void declare(struct model_graph *g, int where, const char *name, enum dtype dtype, const char *dims)
{
    input(g, name, dtype, dims);
    struct model_value_info *const vi = g->inputs.data[--g->inputs.count];
    if (where == 0)
        g->inputs.count++;
    else
        vec_push(&arena, &g->outputs, vi);
}

/* p = x w + b; x [2,2], w [2,1], p [2,1] = [[5.5], [11.5]] for X below */
static inline struct model *regression(void)
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
static inline struct model *scores(const char *last)
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

static inline const struct tensor *labels(enum dtype dtype, int64_t a, int64_t b)
{
    struct tensor *const t = tensor_new(&arena, dtype, &SHAPE(2));
    tensor_set_int(t, 0, a);
    tensor_set_int(t, 1, b);
    return t;
}

static inline bool prepare(struct model *m)
{
    return prepare_model(&diag, &arena, m, &prepare_with, &report);
}

static inline struct interp *prepared(struct model *m, int64_t batch)
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

static inline double value_of(struct interp *s, const char *fetch, const struct tensor *const *inputs)
{
    return tensor_get_double(run(s, "step", fetch, inputs), 0);
}

static inline void near(double got, double expected)
{
    ck_assert_double_eq_tol(got, expected, 1e-7 * (1 + fabs(expected)));
}

/* Runs one step from the start and gives element 0 of what is fetched. */
static inline double after_start(const char *fetch, const struct tensor *const *inputs)
{
    return value_of(start(), fetch, inputs);
}

/* -log softmax of row 0 at class 2 and row 1 at class 0 */
static inline double log_sum(const double *z)
{
    return log(exp(z[0]) + exp(z[1]) + exp(z[2]));
}
static const double rows[2][3] = {{1, 2, 3}, {0, 0.5, -1}};
#define LOSS0 (log_sum(rows[0]) - 3)
#define LOSS1 (log_sum(rows[1]) - 0)

#endif
