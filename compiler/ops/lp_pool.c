/* LpPool: y = (the sum over the window of |x|^p)^(1/p), padding counts as zeros; GlobalLpPool: the window is a whole
 * plane. Made of the power, a sum over windows (window_sum.c) and the root. Where the sum is 0 the gradient is 0, as
 * ReduceL2's; PyTorch's LPPool has NaN there. Spec: ONNX LpPool-1 (p a float), -2, -11, -18 (ceil_mode, dilations),
 * -22; GlobalLpPool-1 (p a float), -2, -22. */
#include "graph/axes.h"
#include "ops/window_rules.h"

#include <math.h>
#include <string.h>

/* ---- schema ----------------------------------------------------------------------------------------------------- */

#define AUTO_PAD                                                                                                       \
    {                                                                                                                  \
        .name = "auto_pad", .type = ATTR_STRING, .string_default = "NOTSET"                                            \
    }
#define KERNEL                                                                                                         \
    {                                                                                                                  \
        .name = "kernel_shape", .type = ATTR_INTS, .required = true                                                    \
    }
#define POWER                                                                                                          \
    {                                                                                                                  \
        .name = "p", .type = ATTR_INT, .int_default = 2                                                                \
    }
#define POWER_1                                                                                                        \
    {                                                                                                                  \
        .name = "p", .type = ATTR_FLOAT, .float_default = 2                                                            \
    }
static const struct op_attr attrs_1[] = {
    AUTO_PAD, WINDOW_LIST("kernel_shape"), POWER_1, WINDOW_LIST("pads"), WINDOW_LIST("strides"), {0}};
static const struct op_attr attrs_2[] = {AUTO_PAD, KERNEL, POWER, WINDOW_LIST("pads"), WINDOW_LIST("strides"), {0}};
static const struct op_attr attrs[] = {
    AUTO_PAD, {.name = "ceil_mode", .type = ATTR_INT}, WINDOW_LIST("dilations"), KERNEL, POWER,
    WINDOW_LIST("pads"), WINDOW_LIST("strides"), {0}};
static const struct op_attr global_attrs_1[] = {POWER_1, {0}};
static const struct op_attr global_attrs[] = {POWER, {0}};
static const struct op_param inputs[] = {{.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

/* p as a whole number. */
static bool upgrade_1(struct upgrade_ctx *c)
{
    struct attr *p = NULL;
    for (size_t i = 0; i < c->node->attrs.count; i++)
        if (strcmp(c->node->attrs.data[i].name, "p") == 0)
            p = &c->node->attrs.data[i];
    if (p == NULL)
        return true;
    if (!(p->f >= 1 && p->f <= INT32_MAX) || floor(p->f) != p->f)
        return upgrade_error(c, "attribute 'p' is %g; only whole numbers from 1 on are supported", p->f);
    *p = attr_int("p", (int64_t)p->f);
    return true;
}

static const struct op_version versions[] = {{.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1, .upgrade = upgrade_1},
                                             {.since = 2, .dtypes = FLOATS_1, .attrs = attrs_2},
                                             {.since = 11, .dtypes = FLOATS_1, .attrs = attrs_2},
                                             {.since = 18, .dtypes = FLOATS_1},
                                             {.since = 22},
                                             {0}};
static const struct op_version global_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = global_attrs_1, .upgrade = upgrade_1},
    {.since = 2, .dtypes = FLOATS_1},
    {.since = 22},
    {0}};

/* ---- shapes ----------------------------------------------------------------------------------------------------- */

static bool check_power(struct infer_ctx *c)
{
    const int64_t p = op_attr_int(c->node, "p");
    return (p >= 1 && p <= INT32_MAX) || infer_error(c, "attribute 'p' is %lld, expected 1 or more", (long long)p);
}

static bool lp_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    struct shape size;
    struct window w;
    if (window_infer_rank(c, 0) == 0 || !check_power(c) || !window_infer_kernel(c, x->rank - 2, true, &size) ||
        !window_infer(c, x, &size, &w))
        return false;
    struct shape padded = *x; /* with its padding x is a tensor as well */
    int64_t count;
    for (int i = 0; i < w.rank; i++) {
        const struct window_axis *a = &w.axis[WINDOW_AXES - w.rank + i];
        shape_set(&padded, 2 + i, size_constant(a->in + a->pad_begin + a->pad_end + a->stride));
    }
    if (!shape_count_checked(&padded, &count))
        return infer_error(c, "input 0 '%s' with its padding has too many elements", infer_in(c, 0)->name);
    const struct shape y = window_out_shape(&w, shape_size(x, 0), shape_size(x, 1));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

static bool global_infer(struct infer_ctx *c)
{
    return window_infer_global(c) && check_power(c);
}

/* ---- as other operators ----------------------------------------------------------------------------------------- */

static struct window lp_window(const struct node *n)
{
    return window_of_kernel(n, &node_input(n, 0)->shape);
}

static struct value *build_power(struct expand_ctx *c, struct value *x, int64_t p)
{
    if (p == 1)
        return build(c, "Abs", x);
    if (p == 2)
        return build(c, "Mul", x, x);
    return build(c, "Pow", build(c, "Abs", x), build_like(c, x, (double)p));
}

/* sum^(1/p); the root of 0 is taken from 1, so that there is a slope. */
static struct value *build_root(struct expand_ctx *c, struct value *sum, int64_t p)
{
    if (p == 1)
        return sum;
    struct value *zero = build_like(c, sum, 0.0), *is_zero = build(c, "Equal", sum, zero);
    struct value *safe = build(c, "Where", is_zero, build_like(c, sum, 1.0), sum);
    struct value *root = p == 2 ? build(c, "Sqrt", safe) : build(c, "Pow", safe, build_like(c, sum, 1 / (double)p));
    return build(c, "Where", is_zero, zero, root);
}

static bool lp_expand(struct expand_ctx *c)
{
    const struct window w = lp_window(c->node);
    const int64_t p = op_attr_int(c->node, "p");
    return expand_out(c, 0, build_root(c, window_build_sum(c->b, build_power(c, expand_in(c, 0), p), &w), p));
}

/* One window over all spatial axes. */
static bool global_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    const int64_t p = op_attr_int(c->node, "p");
    const struct shape planes = SHAPE_OF(shape_size(&x->shape, 0), shape_size(&x->shape, 1),
                                         shape_size_range(&x->shape, 2, x->shape.rank));
    struct value *powers = build_reshape(c->b, build_power(c, x, p), &planes);
    struct value *sum = build_reduce_sum(c->b, powers, (const int[]){2}, 1, false);
    return expand_out(c, 0, build_reshape(c->b, build_root(c, sum, p), &node_output(c->node, 0)->shape));
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static bool lp_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const struct window w = lp_window(c->node);
    const double p = (double)op_attr_int(c->node, "p");
    const int64_t in = window_in_count(&w), out = window_out_count(&w), size = window_size(&w),
                  planes = x->shape.dim[0] * x->shape.dim[1];
    double *y = eval_out_f(c, 0);
    for (int64_t k = 0; y != NULL && k < planes * out; k++) {
        double sum = 0;
        for (int64_t t = 0; t < size; t++) {
            const int64_t i = window_element(&w, k % out, t);
            sum += i < 0 ? 0 : pow(fabs(x->f[k / out * in + i]), p);
        }
        y[k] = pow(sum, 1 / p);
    }
    return true;
}

static bool global_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const double p = (double)op_attr_int(c->node, "p");
    const int64_t planes = x->shape.dim[0] * x->shape.dim[1], count = shape_count_range(&x->shape, 2, x->shape.rank);
    double *y = eval_out_f(c, 0);
    for (int64_t k = 0; y != NULL && k < planes; k++) {
        for (int64_t i = 0; i < count; i++)
            y[k] += pow(fabs(x->f[k * count + i]), p);
        y[k] = pow(y[k], 1 / p);
    }
    return true;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static const struct op_sample lp_samples[] = {
    {.text = "g (float[2,3,6,7] x) => (float[2,3,3,3] y) { y = LpPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"},
    {.text = "g (double[2,3,6,7] x) => (double[2,3,6,7] y) { y = LpPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], p "
             "= 3> (x) }"},
    {.text = "g (double[1,2,7,8] x) => (double[1,2,4,3] y) "
             "{ y = LpPool <kernel_shape = [2, 3], strides = [2, 2], dilations = [1, 2], ceil_mode = 1, p = 4> (x) }"},
    {.text = "g (double[1,2,7,8] x) => (double[1,2,4,4] y) "
             "{ y = LpPool <kernel_shape = [3, 3], strides = [2, 2], auto_pad = \"SAME_UPPER\", p = 1> (x) }"},
    {.text = "g (float[1,2,5,5] x) => (float[1,2,3,3] y) { y = LpPool <kernel_shape = [2, 2], strides = [2, 2], "
             "auto_pad = \"SAME_LOWER\"> (x) }",
     .opset = 17},
    {.text = "g (float[1,2,9] x) => (float[1,2,4] y) { y = LpPool <kernel_shape = [3], strides = [2], p = 3.0> (x) }",
     .opset = 1},
    {.text = "g (float[1,2,5,6,7] x) => (float[1,2,3,4,5] y) { y = LpPool <kernel_shape = [3, 3, 3]> (x) }",
     .opset = 2},
    {.text = "g (float[1,2,9,20] x) => (float[1,2,5,16] y) { y = LpPool <kernel_shape = [5, 5]> (x) }"},
    {.text = "g (float16[1,2,6] x) => (float16[1,2,3] y) { y = LpPool <kernel_shape = [2], strides = [2]> (x) }"},
    {.text = "g (double[1,1,4] z) => (double[1,1,3] y) { o = Constant <value_floats = [0.0]> () d = CastLike(o, z) x = "
             "Mul(z, d) "
             "y = LpPool <kernel_shape = [2]> (x) }"}, /* zeros: no NaN */
    {.text = "g (float[0,2,6] x) => (float[0,2,5] y) { y = LpPool <kernel_shape = [2]> (x) }"},
    {.text = "g (float[1,2,6] x) => (float[1,2,5] y) { y = LpPool <kernel_shape = [2], p = 0> (x) }",
     .error = "attribute 'p' is 0"},
    {.text = "g (float[1,2,6] x) => (float[1,2,5] y) { y = LpPool <kernel_shape = [2], p = 2.5> (x) }",
     .opset = 1,
     .error = "attribute 'p' is 2.5"},
    {.text = "g (float[1,2,6] x) => (float[1,2,5] y) { y = LpPool <p = 2.0> (x) }",
     .opset = 1,
     .error = "kernel_shape"},
    {.text = "g (float[1,2,6] x) => (float[1,2,5] y) { y = LpPool <kernel_shape = [7]> (x) }", .error = "does not fit"},
    {0}};
static const struct op_sample global_samples[] = {
    {.text = "g (float[2,3,5,7] x) => (float[2,3,1,1] y) { y = GlobalLpPool(x) }"},
    {.text = "g (double[2,3,9] x) => (double[2,3,1] y) { y = GlobalLpPool <p = 3> (x) }"},
    {.text = "g (double[2,3,2,2,2,2] x) => (double[2,3,1,1,1,1] y) { y = GlobalLpPool <p = 1.0> (x) }", .opset = 1},
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = GlobalLpPool(x) }", .error = "has rank 2, expected at least 3"},
    {.text = "g (float[2,3,0] x) => (float[2,3,1] y) { y = GlobalLpPool(x) }", .error = "has no elements to pool"},
    {0}};

const struct op_def op_defs_lp_pool[] = {{.name = "LpPool",
                                          .versions = versions,
                                          .inputs = inputs,
                                          .outputs = outputs,
                                          .attrs = attrs,
                                          .infer = lp_infer,
                                          .axes = axes_samples,
                                          .expand = lp_expand,
                                          .eval = lp_eval,
                                          .samples = lp_samples},
                                         {.name = "GlobalLpPool",
                                          .versions = global_versions,
                                          .inputs = inputs,
                                          .outputs = outputs,
                                          .attrs = global_attrs,
                                          .infer = global_infer,
                                          .axes = axes_samples,
                                          .expand = global_expand,
                                          .eval = global_eval,
                                          .samples = global_samples},
                                         {0}};
