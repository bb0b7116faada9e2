#include "prepare/computed.h"

#include "prepare/values.h"

#include <math.h>

enum {
    FEWEST = 4,           /* elements: a line goes through any two */
    MOST_PAIRS = 1 << 22, /* that are looked at: files made for taking time */
    MOST_READ = 1 << 12   /* elements that a function is tried on: more prove no more */
};

static const double NEAR = 1e-5; /* relative: what float32 leaves of a function */

/* ---- functions --------------------------------------------------------------------------------------------------- */

static double of_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double of_softplus(double x)
{
    return log1p(exp(x));
}

static double of_reciprocal(double x)
{
    return 1 / x;
}

static double of_square(double x)
{
    return x * x;
}

static double of_negated_exponential(double x)
{
    return -exp(x);
}

static const struct {
    const char *text;
    double (*compute)(double x);
} functions[] = {{"Exp of", exp},          {"-Exp of", of_negated_exponential}, {"Sigmoid of", of_sigmoid},
                 {"Tanh of", tanh},        {"Softplus of", of_softplus},        {"Sqrt of", sqrt},
                 {"the square of", of_square}, {"Reciprocal of", of_reciprocal}, {"Log of", log},
                 {"Abs of", fabs}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static int64_t looked_at(const struct tensor *t)
{
    return t->count < MOST_READ ? t->count : MOST_READ;
}

static bool is_near(double a, double b, double unit)
{
    return fabs(a - b) <= NEAR * unit;
}

static bool is_function(const struct tensor *y, const struct tensor *x, double (*compute)(double x))
{
    for (int64_t i = 0; i < looked_at(y); i++) {
        const double is = tensor_get_double(y, i), expected = compute(tensor_get_double(x, i));
        if (!is_near(is, expected, fabs(expected)))
            return false;
    }
    return true;
}

/* y = factor x + offset, through the smallest and the largest x. */
static bool is_line(const struct tensor *y, const struct tensor *x, double *factor, double *offset)
{
    int64_t low = 0, high = 0;
    double unit = 0;
    for (int64_t i = 0; i < looked_at(x); i++) {
        low = tensor_get_double(x, i) < tensor_get_double(x, low) ? i : low;
        high = tensor_get_double(x, i) > tensor_get_double(x, high) ? i : high;
        unit = fmax(unit, fabs(tensor_get_double(y, i)));
    }
    const double width = tensor_get_double(x, high) - tensor_get_double(x, low);
    *factor = (tensor_get_double(y, high) - tensor_get_double(y, low)) / width;
    *offset = tensor_get_double(y, low) - *factor * tensor_get_double(x, low);
    if (!(width > 0) || *factor == 0)
        return false;
    for (int64_t i = 0; i < looked_at(x); i++)
        if (!is_near(tensor_get_double(y, i), *factor * tensor_get_double(x, i) + *offset, unit))
            return false;
    return true;
}

/* Does the operation give every bit? */
static bool is_exact(const struct tensor *y, const struct tensor *x, double offset)
{
    for (int64_t i = 0; i < y->count; i++) {
        const double exact = offset - tensor_get_double(x, i);
        if (tensor_get_double(y, i) != (y->dtype == DTYPE_FLOAT ? (double)(float)exact : exact))
            return false;
    }
    return y->dtype == DTYPE_FLOAT || y->dtype == DTYPE_DOUBLE;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

static const char *line_text(struct arena *a, double factor, double offset, const char *x)
{
    const char *const product = fabs(factor - 1) < NEAR    ? arena_printf(a, "'%s'", x)
                                : fabs(factor + 1) < NEAR ? arena_printf(a, "-'%s'", x)
                                                          : arena_printf(a, "%.6g '%s'", factor, x);
    return fabs(offset) < NEAR                                  ? product
           : fabs(factor + 1) < NEAR && fabs(offset - 1) < NEAR ? arena_printf(a, "1 - '%s'", x)
                                                                : arena_printf(a, "%s + %.6g", product, offset);
}

static bool find_function(struct arena *a, const struct model_initializer *y, const struct model_initializer *x,
                          struct computed *out)
{
    double factor, offset;
    *out = (struct computed){.tensor = y->name, .of = x->name};
    if (is_line(y->tensor, x->tensor, &factor, &offset)) {
        out->text = line_text(a, factor, offset, x->name);
        if (shape_equal(&y->tensor->shape, &x->tensor->shape))
            out->op = is_exact(y->tensor, x->tensor, 1) ? "Sub" : is_exact(y->tensor, x->tensor, 0) ? "Neg" : NULL;
        return true;
    }
    for (int i = 0; i < FUNCTIONS; i++)
        if (is_function(y->tensor, x->tensor, functions[i].compute)) {
            out->text = arena_printf(a, "%s '%s'", functions[i].text, x->name);
            return true;
        }
    return false;
}

/* That is a copy: tie.h */
static bool is_same(const struct tensor *y, const struct tensor *x)
{
    for (int64_t i = 0; i < looked_at(y); i++)
        if (tensor_get_double(y, i) != tensor_get_double(x, i))
            return false;
    return true;
}

static bool may_be_one(const struct model_initializer *init)
{
    const struct tensor *const t = init->tensor;
    return dtype_is_float(t->dtype) && t->count >= FEWEST && !tensor_is_uniform(t) && !values_made_by_rule(t);
}

void find_computed(struct edit *e, computed_list *out)
{
    const struct model_graph *const g = e->model->graph;
    VEC(const struct model_initializer *) made_up = {0}, own = {0};
    if (!str_equal(e->model->producer_name, "pytorch"))
        return;
    vec_each(const struct model_initializer *, init, &g->initializers)
        if (is_anonymous(init->name) && may_be_one(init))
            vec_push(e->arena, &made_up, init);
        else if (!is_anonymous(init->name) && may_be_one(init))
            vec_push(e->arena, &own, init);
    if (own.count > 0 && made_up.count > MOST_PAIRS / own.count)
        return;
    vec_each(const struct model_initializer *, y, &made_up)
        vec_each(const struct model_initializer *, x, &own) {
            struct computed c;
            if (x->tensor->dtype != y->tensor->dtype || x->tensor->count != y->tensor->count ||
                is_same(y->tensor, x->tensor) || !find_function(e->arena, y, x, &c))
                continue;
            vec_push(e->arena, out, c);
            break;
        }
}

/* ---- in the model ------------------------------------------------------------------------------------------------ */

static void replace(struct edit *e, const struct computed *c)
{
    const bool subtracts = str_equal(c->op, "Sub");
    const enum dtype dtype = model_find_initializer(e->model->graph, c->of)->tensor->dtype;
    const char *const one = subtracts ? edit_fresh_name(e, arena_printf(e->arena, "%s.one", c->tensor)) : NULL;
    edit_remove_initializer(e, c->tensor);
    edit_insert_node(e, 0, c->op, subtracts ? one : c->of, subtracts ? c->of : NULL, c->tensor);
    edit_changed(e, "nodes for what was computed");
    edit_say(e, "'%s' is %s: computed of it again, so that both are trained as one", c->tensor, c->text);
    if (!subtracts)
        return;
    struct tensor *const t = tensor_new(e->arena, dtype, &SHAPE_SCALAR);
    tensor_set_double(t, 0, 1);
    model_set_tensor(e->arena, edit_insert_node(e, 0, "Constant", NULL, NULL, one), "value", t);
}

void compute_again(struct edit *e)
{
    computed_list all = {0};
    find_computed(e, &all);
    vec_each_ptr(const struct computed, c, &all)
        if (c->op)
            replace(e, c);
        else
            diag_warning(e->diag, &e->loc,
                         "'%s' is %s, which the exporter computed: a step trains it as a parameter of its own; an "
                         "export by examples/pytorch/export.py computes it in the model",
                         c->tensor, c->text);
}
