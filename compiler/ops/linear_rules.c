#include "ops/linear_rules.h"

#include <math.h>

bool linear_infer_result(struct infer_ctx *c, int scale, int zero)
{
    const int both[] = {scale, zero};
    for (int k = 0; k < 2; k++)
        if (shape_count(infer_shape(c, both[k])) != 1)
            return infer_error(c, "input %d '%s' has %lld elements, expected one", both[k], infer_in(c, both[k])->name,
                               (long long)shape_count(infer_shape(c, both[k])));
    return true;
}

struct value *linear_build_result(struct expand_ctx *c, struct value *sum, struct value *factor, int scale, int zero)
{
    struct value *const real = build(c, "Mul", build_cast(c->b, sum, DTYPE_FLOAT), factor);
    struct value *const step = build_cast(c->b, expand_in(c, scale), DTYPE_FLOAT);
    return build(c, "QuantizeLinear", real, build_reshape(c->b, step, &SHAPE_SCALAR),
                 build_reshape(c->b, expand_in(c, zero), &SHAPE_SCALAR));
}

/* As a float in both arithmetics: a quotient near a half is rounded to an integer, and one unit more or less is no
 * rounding error any more. */
static double in_float(double x)
{
    return dtype_round(DTYPE_FLOAT, x);
}

int64_t linear_eval_result(const struct eval_ctx *c, int64_t sum, double left, double right, int scale, int zero)
{
    const enum dtype d = c->in[zero]->dtype;
    const int64_t at = eval_i(c, zero)[0], low = dtype_min_int(d) - at, high = dtype_max_int(d) - at;
    const double factor = in_float(in_float(left) * in_float(right));
    const double real = in_float(in_float((double)sum) * factor);
    const double q = nearbyint(in_float(real / in_float(eval_f(c, scale)[0])));
    return isnan(q) ? at : at + (q < (double)low ? low : q > (double)high ? high : (int64_t)q);
}
