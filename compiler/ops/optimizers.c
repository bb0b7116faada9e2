/* Optimizers of ai.onnx.preview.training: Momentum, Adam, Adagrad. Inputs R (learning rate), T (update count), then
 * groups of n tensors: X, G (gradients), then the state; outputs the new X, then the new state. Each tensor is treated
 * on its own.
 *
 *   Adagrad   r  = R / (1 + T decay_factor)          in double, then rounded to X's type
 *             g  = norm_coefficient X + G
 *             H' = H + g g                           X' = X - r g / (sqrt(H') + epsilon)
 *   Momentum  g  = norm_coefficient X + G            b = T > 0 ? beta : 1
 *             V' = alpha V + b g                     X' = X - R V'; nesterov: X - R (g + alpha V')
 *   Adam      g  = norm_coefficient X + G
 *             V' = alpha V + (1 - alpha) g           H' = beta H + (1 - beta) (g g)
 *             r  = T > 0 ? R sqrt(1 - beta^T) / (1 - alpha^T) : R     in double, then rounded to X's type
 *             X' = (1 - norm_coefficient_post) (X - r V' / (sqrt(H') + epsilon))
 *
 * Operations go from left to right, each rounded to X's type (R30 in docs/readings.md); a term with a coefficient of 0
 * or a factor of 1 is left out. T is read as passed: the first step has T = 0 if the algorithm counts so. The scalars
 * stand as nodes of their own, so that they are computed once in a step and not once per element.
 * Spec: ONNX ai.onnx.preview.training, Adagrad-1, Adam-1, Momentum-1; R29: Adam's X' is after post-regularisation. */
#include "ops/op.h"

#include <string.h>

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define NUMBER(label, value) {.name = (label), .type = ATTR_FLOAT, .float_default = (value)}
#define REQUIRED_NUMBER(label) {.name = (label), .type = ATTR_FLOAT, .required = true}
static const struct op_attr adagrad_attrs[] = {
    NUMBER("decay_factor", 0), NUMBER("epsilon", 1e-6f), NUMBER("norm_coefficient", 0), {0}};
static const struct op_attr momentum_attrs[] = {REQUIRED_NUMBER("alpha"),
                                                REQUIRED_NUMBER("beta"),
                                                {.name = "mode", .type = ATTR_STRING, .required = true},
                                                REQUIRED_NUMBER("norm_coefficient"),
                                                {0}};
static const struct op_attr adam_attrs[] = {NUMBER("alpha", 0.9f),
                                            NUMBER("beta", 0.999f),
                                            NUMBER("epsilon", 1e-6f),
                                            NUMBER("norm_coefficient", 0),
                                            NUMBER("norm_coefficient_post", 0),
                                            {0}};

static const struct op_version versions[] = {{.since = 1}, {0}};
static const struct op_param inputs[] = {
    {.name = "R", .dtypes = DTYPES_FLOAT_DOUBLE},
    {.name = "T", .dtypes = DTYPE_BIT(DTYPE_INT64)},
    {.name = "inputs", .dtypes = DTYPES_FLOAT_DOUBLE, .flags = PARAM_VARIADIC | PARAM_HETEROGENEOUS},
    {0}};
static const struct op_param outputs[] = {
    {.name = "outputs", .dtypes = DTYPES_FLOAT_DOUBLE, .flags = PARAM_VARIADIC | PARAM_HETEROGENEOUS}, {0}};

enum { FIRST = 2 }; /* input 2 is the first X */

/* The node's tensors: group 0 X, 1 G, 2 and 3 the state. */
static int tensor_count(const struct node *n, int groups)
{
    return ((int)n->inputs.count - FIRST) / groups;
}

static bool check_scalars(struct infer_ctx *c)
{
    for (int i = 0; i < FIRST; i++)
        if (shape_count(infer_shape(c, i)) != 1)
            return infer_error(c, "input %d '%s' has %lld elements, expected a scalar", i, infer_in(c, i)->name,
                               (long long)shape_count(infer_shape(c, i)));
    return true;
}

static bool check_like(struct infer_ctx *c, int i, int x)
{
    const struct value *v = infer_in(c, i), *like = infer_in(c, x);
    if (v->dtype == like->dtype && shape_equal(&v->shape, &like->shape))
        return true;
    struct arena text = {0};
    infer_error(c, "input %d '%s' is %s%s, expected %s%s as input %d '%s'", i, v->name, dtype_name(v->dtype),
                shape_text(&text, &v->shape), dtype_name(like->dtype), shape_text(&text, &like->shape), x, like->name);
    arena_free(&text);
    return false;
}

static bool infer_groups(struct infer_ctx *c, int groups)
{
    const int given = infer_input_count(c) - FIRST, n = given / groups;
    if (given % groups != 0)
        return infer_error(c, "%s has %d tensors after R and T, expected a multiple of %d",
                           op_display_name(c->node->def), given, groups);
    if (!check_scalars(c))
        return false;
    for (int i = n; i < given; i++)
        if (!check_like(c, FIRST + i, FIRST + i % n))
            return false;
    for (int o = 0; o < n * (groups - 1); o++) /* X', then the state: no output for gradients */
        if (!infer_out(c, o, infer_in(c, FIRST + o % n)->dtype, infer_shape(c, FIRST + o % n)))
            return false;
    return true;
}

static bool adagrad_infer(struct infer_ctx *c)
{
    return infer_groups(c, 3);
}

static bool momentum_infer(struct infer_ctx *c)
{
    const char *mode = op_attr_string(c->node, "mode");
    if (strcmp(mode, "standard") != 0 && strcmp(mode, "nesterov") != 0)
        return infer_error(c, "attribute 'mode' is '%s', expected 'standard' or 'nesterov'", mode);
    return infer_groups(c, 3);
}

static bool adam_infer(struct infer_ctx *c)
{
    return infer_groups(c, 4);
}

/* ---- as other nodes: shared pieces ------------------------------------------------------------------------------- */

static double coefficient(const struct expand_ctx *c, const char *name)
{
    return op_attr_float(c->node, name);
}

static struct value *scalar(struct expand_ctx *c, int i)
{
    return build_reshape(c->b, expand_in(c, i), &SHAPE_SCALAR);
}

static struct value *scaled(struct expand_ctx *c, double factor, struct value *x)
{
    return factor == 1 ? x : build(c, "Mul", build_like(c, x, factor), x);
}

/* Tensor k of group `group`. */
static struct value *tensor_in(const struct expand_ctx *c, int groups, int group, int k)
{
    return expand_in(c, FIRST + group * tensor_count(c->node, groups) + k);
}

static struct value *regularised_gradient(struct expand_ctx *c, int groups, int k)
{
    struct value *g = tensor_in(c, groups, 1, k);
    const double norm = coefficient(c, "norm_coefficient");
    return norm == 0 ? g : build(c, "Add", scaled(c, norm, tensor_in(c, groups, 0, k)), g);
}

/* r v / (sqrt(h) + epsilon) */
static struct value *adaptive_step(struct expand_ctx *c, struct value *r, struct value *v, struct value *h)
{
    struct value *root = build(c, "Add", build(c, "Sqrt", h), build_like(c, h, coefficient(c, "epsilon")));
    return build(c, "Div", build(c, "Mul", r, v), root);
}

/* ---- and in values ----------------------------------------------------------------------------------------------- */

/* One tensor while evaluating; state and outputs by group: old[2] is V or H, next[1] its new content
 * (NULL: not wanted). */
struct optimizer_update {
    enum dtype dtype;
    int64_t count;
    const double *x, *g, *old[2];
    double *next_x, *next[2];
};

static struct optimizer_update update_of(const struct eval_ctx *c, int groups, int k)
{
    const int n = tensor_count(c->node, groups);
    const struct eval_tensor *x = eval_input(c, FIRST + k);
    struct optimizer_update u = {.dtype = x->dtype, .count = x->count, .x = x->f, .g = eval_f(c, FIRST + n + k),
                                 .next_x = eval_out_f(c, k)};
    for (int s = 0; s < groups - 2; s++) {
        u.old[s] = eval_f(c, FIRST + (2 + s) * n + k);
        u.next[s] = eval_out_f(c, (1 + s) * n + k);
    }
    return u;
}

static void put(double *to, int64_t i, double x)
{
    if (to != NULL)
        to[i] = x;
}

/* One arithmetic for the formulas below: every operation rounds to the tensor's type. */
struct rounded {
    const struct eval_ctx *c;
    enum dtype dtype;
};

static double mul(struct rounded r, double x, double y)
{
    return eval_round_to(r.c, r.dtype, x * y);
}

static double add(struct rounded r, double x, double y)
{
    return eval_round_to(r.c, r.dtype, x + y);
}

static double quotient(struct rounded r, double x, double y)
{
    return eval_round_to(r.c, r.dtype, x / y);
}

static double root(struct rounded r, double x)
{
    return eval_math(r.c, r.dtype, MATH_SQRT, x);
}

/* An attribute as a number of the tensor's type. */
static double number(struct rounded r, const char *name)
{
    return eval_round_to(r.c, r.dtype, op_attr_float(r.c->node, name));
}

static double regularised(struct rounded r, const struct optimizer_update *u, int64_t i)
{
    const double norm = number(r, "norm_coefficient");
    return norm == 0 ? u->g[i] : add(r, mul(r, norm, u->x[i]), u->g[i]);
}

/* The rate of a step in the type of what it moves. Tensors of a model share it, so it is called after none of them. */
static struct value *named_rate(struct expand_ctx *c, const char *name, struct value *rate, enum dtype dtype)
{
    struct value *const v = build_cast(c->b, rate, dtype);
    if (v != rate)
        graph_rename(c->b->graph, v, graph_fresh_name(c->b->graph, name));
    return v;
}

/* ---- Adagrad ----------------------------------------------------------------------------------------------------- */

static struct value *adagrad_rate(struct expand_ctx *c)
{
    const double decay = coefficient(c, "decay_factor");
    struct value *rate = scalar(c, 0);
    if (decay == 0)
        return rate;
    struct value *t = build_cast(c->b, scalar(c, 1), DTYPE_DOUBLE), *one = build_like(c, t, 1.0);
    struct value *growth = build(c, "Add", one, build(c, "Mul", t, build_like(c, t, decay)));
    return build(c, "Div", build_cast(c->b, rate, DTYPE_DOUBLE), growth);
}

static bool adagrad_expand(struct expand_ctx *c)
{
    const int n = tensor_count(c->node, 3);
    struct value *rate = adagrad_rate(c);
    for (int k = 0; k < n; k++) {
        struct value *x = tensor_in(c, 3, 0, k), *g = regularised_gradient(c, 3, k);
        struct value *h = build(c, "Add", tensor_in(c, 3, 2, k), build(c, "Mul", g, g));
        struct value *own_rate = named_rate(c, "decayed_rate", rate, x->dtype);
        struct value *next = build(c, "Sub", x, adaptive_step(c, own_rate, g, h));
        if (!expand_out(c, k, next) || !expand_out(c, n + k, h))
            return false;
    }
    return true;
}

static bool adagrad_eval(struct eval_ctx *c)
{
    const double growth = 1 + (double)eval_i(c, 1)[0] * op_attr_float(c->node, "decay_factor");
    for (int k = 0; k < tensor_count(c->node, 3); k++) {
        const struct optimizer_update u = update_of(c, 3, k);
        const struct rounded r = {c, u.dtype};
        const double rate = eval_round_to(c, u.dtype, eval_f(c, 0)[0] / growth), epsilon = number(r, "epsilon");
        for (int64_t i = 0; i < u.count; i++) {
            const double g = regularised(r, &u, i), h = add(r, u.old[0][i], mul(r, g, g));
            put(u.next[0], i, h);
            put(u.next_x, i, add(r, u.x[i], -quotient(r, mul(r, rate, g), add(r, root(r, h), epsilon))));
        }
    }
    return true;
}

/* ---- Momentum ---------------------------------------------------------------------------------------------------- */

/* b g */
static struct value *momentum_gradient(struct expand_ctx *c, struct value *g)
{
    const double beta = coefficient(c, "beta");
    if (beta == 1)
        return g;
    struct value *later = build(c, "Greater", scalar(c, 1), build_int(c->b, 0));
    return build(c, "Mul", build(c, "Where", later, build_like(c, g, beta), build_like(c, g, 1.0)), g);
}

static bool momentum_expand(struct expand_ctx *c)
{
    const int n = tensor_count(c->node, 3);
    const bool nesterov = strcmp(op_attr_string(c->node, "mode"), "nesterov") == 0;
    const double alpha = coefficient(c, "alpha");
    for (int k = 0; k < n; k++) {
        struct value *x = tensor_in(c, 3, 0, k), *g = regularised_gradient(c, 3, k);
        struct value *v = build(c, "Add", scaled(c, alpha, tensor_in(c, 3, 2, k)), momentum_gradient(c, g));
        struct value *direction = nesterov ? build(c, "Add", g, scaled(c, alpha, v)) : v;
        struct value *step = build(c, "Mul", build_cast(c->b, scalar(c, 0), x->dtype), direction);
        if (!expand_out(c, k, build(c, "Sub", x, step)) || !expand_out(c, n + k, v))
            return false;
    }
    return true;
}

static bool momentum_eval(struct eval_ctx *c)
{
    const bool nesterov = strcmp(op_attr_string(c->node, "mode"), "nesterov") == 0;
    for (int k = 0; k < tensor_count(c->node, 3); k++) {
        const struct optimizer_update u = update_of(c, 3, k);
        const struct rounded r = {c, u.dtype};
        const double alpha = number(r, "alpha"), beta = eval_i(c, 1)[0] > 0 ? number(r, "beta") : 1;
        const double rate = eval_round_to(c, u.dtype, eval_f(c, 0)[0]);
        for (int64_t i = 0; i < u.count; i++) {
            const double g = regularised(r, &u, i), v = add(r, mul(r, alpha, u.old[0][i]), mul(r, beta, g));
            put(u.next[0], i, v);
            put(u.next_x, i, add(r, u.x[i], -mul(r, rate, nesterov ? add(r, g, mul(r, alpha, v)) : v)));
        }
    }
    return true;
}

/* ---- Adam -------------------------------------------------------------------------------------------------------- */

/* 1 - base^T in double */
static struct value *one_minus_power(struct expand_ctx *c, const char *base, struct value *t)
{
    return build(c, "Sub", build_like(c, t, 1.0), build(c, "Pow", build_like(c, t, coefficient(c, base)), t));
}

/* The corrected rate, in double. */
static struct value *adam_rate(struct expand_ctx *c)
{
    struct value *rate = build_cast(c->b, scalar(c, 0), DTYPE_DOUBLE),
                 *t = build_cast(c->b, scalar(c, 1), DTYPE_DOUBLE);
    struct value *grown = build(c, "Mul", rate, build(c, "Sqrt", one_minus_power(c, "beta", t)));
    struct value *corrected = build(c, "Div", grown, one_minus_power(c, "alpha", t));
    return build(c, "Where", build(c, "Greater", scalar(c, 1), build_int(c->b, 0)), corrected, rate);
}

/* old coefficient + addend (1 - coefficient), a running average */
static struct value *average(struct expand_ctx *c, const char *name, struct value *old, struct value *addend)
{
    const double share = coefficient(c, name);
    return build(c, "Add", scaled(c, share, old), scaled(c, 1 - share, addend));
}

static bool adam_expand(struct expand_ctx *c)
{
    const int n = tensor_count(c->node, 4);
    const double kept = 1 - coefficient(c, "norm_coefficient_post");
    struct value *rate = adam_rate(c);
    for (int k = 0; k < n; k++) {
        struct value *x = tensor_in(c, 4, 0, k), *g = regularised_gradient(c, 4, k);
        struct value *v = average(c, "alpha", tensor_in(c, 4, 2, k), g);
        struct value *h = average(c, "beta", tensor_in(c, 4, 3, k), build(c, "Mul", g, g));
        struct value *own_rate = named_rate(c, "corrected_rate", rate, x->dtype);
        struct value *next = build(c, "Sub", x, adaptive_step(c, own_rate, v, h));
        if (!expand_out(c, k, scaled(c, kept, next)) || !expand_out(c, n + k, v) || !expand_out(c, 2 * n + k, h))
            return false;
    }
    return true;
}

/* In double; the caller rounds. */
static double adam_rate_value(const struct eval_ctx *c)
{
    const double rate = eval_f(c, 0)[0], t = (double)eval_i(c, 1)[0];
    if (eval_i(c, 1)[0] <= 0)
        return rate;
    const double beta = eval_pow(c, DTYPE_DOUBLE, op_attr_float(c->node, "beta"), t);
    const double alpha = eval_pow(c, DTYPE_DOUBLE, op_attr_float(c->node, "alpha"), t);
    return rate * eval_math(c, DTYPE_DOUBLE, MATH_SQRT, 1 - beta) / (1 - alpha);
}

static bool adam_eval(struct eval_ctx *c)
{
    for (int k = 0; k < tensor_count(c->node, 4); k++) {
        const struct optimizer_update u = update_of(c, 4, k);
        const struct rounded r = {c, u.dtype};
        const double rate = eval_round_to(c, u.dtype, adam_rate_value(c)), epsilon = number(r, "epsilon");
        const double alpha = number(r, "alpha"),
                     one_alpha = eval_round_to(c, u.dtype, 1 - op_attr_float(c->node, "alpha"));
        const double beta = number(r, "beta"), one_beta = eval_round_to(c, u.dtype, 1 - op_attr_float(c->node, "beta"));
        const double kept = eval_round_to(c, u.dtype, 1 - op_attr_float(c->node, "norm_coefficient_post"));
        for (int64_t i = 0; i < u.count; i++) {
            const double g = regularised(r, &u, i);
            const double v = add(r, mul(r, alpha, u.old[0][i]), mul(r, one_alpha, g));
            const double h = add(r, mul(r, beta, u.old[1][i]), mul(r, one_beta, mul(r, g, g)));
            const double step = quotient(r, mul(r, rate, v), add(r, root(r, h), epsilon));
            put(u.next[0], i, v);
            put(u.next[1], i, h);
            put(u.next_x, i, mul(r, kept, add(r, u.x[i], -step)));
        }
    }
    return true;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Optimizers carry no marks: differentiating through an update is refused (R25). */

#define P "ai.onnx.preview.training."
static const struct op_sample adagrad_samples[] = {
    {.text = "g (float r, int64 t, float[3,4] x, float[3,4] g, float[3,4] h) => (float[3,4] y, float[3,4] i) "
             "{ y, i = " P "Adagrad <decay_factor = 0.1, norm_coefficient = 0.001> (r, t, x, g, h) }",
     .feed = "positive,index:100,normal,normal,positive", .no_gradient = true},
    {.text = "g (double r, int64 t, float[3] x, double[4] z, float[3] g, double[4] f, float[3] h, double[4] i) => "
             "(float[3] y, double[4] u, float[3] j, double[4] k) { y, u, j, k = " P "Adagrad (r, t, x, z, g, f, h, i) "
             "}", .feed = "positive,index:100,normal,normal,normal,normal,positive,positive", .no_gradient = true},
    {.text = "g (float r, int64 t, float[3] x, float[3] g) => (float[3] y) { y = " P "Adagrad(r, t, x, g) }",
     .error = "expected a multiple of 3"},
    {0}};
static const struct op_sample momentum_samples[] = {
    {.text = "g (float r, int64 t, float[3,4] x, float[3,4] g, float[3,4] v) => (float[3,4] y, float[3,4] w) "
             "{ y, w = " P "Momentum <alpha = 0.9, beta = 1.0, mode = \"standard\", norm_coefficient = 0.01> (r, t, x, "
             "g, v) }", .feed = "positive,index:3,normal,normal,normal", .no_gradient = true},
    {.text = "g (float[1] r, int64 t, double[5] x, double[5] g, double[5] v) => (double[5] y, double[5] w) "
             "{ y, w = " P "Momentum <alpha = 0.95, beta = 0.1, mode = \"nesterov\", norm_coefficient = 0.0> (r, t, x, "
             "g, v) }", .feed = "positive,index:3,normal,normal,normal", .no_gradient = true},
    {.text = "g (float r, int64 t, float[3] x, float[3] g, float[3] v) => (float[3] y) "
             "{ y = " P "Momentum <alpha = 0.9, beta = 1.0, mode = \"heavy\", norm_coefficient = 0.0> (r, t, x, g, v) "
             "}", .error = "'heavy'"},
    {.text = "g (float r, int64 t, float[3] x, float[4] g, float[3] v) => (float[3] y) "
             "{ y = " P "Momentum <alpha = 0.9, beta = 1.0, mode = \"standard\", norm_coefficient = 0.0> (r, t, x, g, "
             "v) }", .error = "expected float[3]"},
    {0}};
static const struct op_sample adam_samples[] = {
    {.text = "g (float r, int64 t, float[3,4] x, float[3,4] g, float[3,4] v, float[3,4] h) => (float[3,4] y, "
             "float[3,4] w, float[3,4] i) { y, w, i = " P "Adam (r, t, x, g, v, h) }",
     .feed = "positive,index:1000,normal,normal,normal,positive", .no_gradient = true},
    {.text = "g (double r, int64 t, double[5] x, double[5] g, double[5] v, double[5] h) => (double[5] y, double[5] w, "
             "double[5] i) "
             "{ y, w, i = " P "Adam <norm_coefficient = 0.01, norm_coefficient_post = 0.1, epsilon = 0.001> "
             "(r, t, x, g, v, h) }", .feed = "positive,index:2,normal,normal,normal,positive", .no_gradient = true},
    {.text = "g (float r, int64[2] t, float[3] x, float[3] g, float[3] v, float[3] h) => (float[3] y) "
             "{ y = " P "Adam (r, t, x, g, v, h) }",
     .error = "expected a scalar"},
    {0}};
#undef P

/* Each element is by itself. */
static void group_axes(struct axes_ctx *c, int groups)
{
    const int n = tensor_count(c->node, groups);
    for (int k = 0; k < n; k++)
        for (int d = 0; d < node_input(c->node, (size_t)(FIRST + k))->shape.rank; d++) {
            const int label = axes_label(c);
            for (int group = 0; group < groups; group++)
                axes_put(c, FIRST + group * n + k, d, label);
            for (int group = 0; group < groups - 1; group++)
                axes_give(c, group * n + k, d, label);
        }
}

static void three_axes(struct axes_ctx *c)
{
    group_axes(c, 3);
}

static void four_axes(struct axes_ctx *c)
{
    group_axes(c, 4);
}

const struct op_def op_defs_optimizers[] = {
    {.domain = DOMAIN_TRAINING, .name = "Adagrad", .versions = versions, .inputs = inputs, .outputs = outputs,
     .attrs = adagrad_attrs, .infer = adagrad_infer, .axes = three_axes,
     .grad = grad_undefined, .expand = adagrad_expand,
     .eval = adagrad_eval, .samples = adagrad_samples},
    {.domain = DOMAIN_TRAINING, .name = "Momentum", .versions = versions, .inputs = inputs, .outputs = outputs,
     .attrs = momentum_attrs, .infer = momentum_infer, .axes = three_axes,
     .grad = grad_undefined, .expand = momentum_expand,
     .eval = momentum_eval, .samples = momentum_samples},
    {.domain = DOMAIN_TRAINING, .name = "Adam", .versions = versions, .inputs = inputs, .outputs = outputs,
     .attrs = adam_attrs, .infer = adam_infer, .axes = four_axes,
     .grad = grad_undefined, .expand = adam_expand, .eval = adam_eval,
     .samples = adam_samples},
    {0}};
