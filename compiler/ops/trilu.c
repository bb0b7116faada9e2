/* Trilu: the triangle of each matrix on and above (upper) or below the diagonal k, zeros elsewhere; and
 * EyeLike, ones on a diagonal.
 *   upper: y[.., i, j] = j - i >= k ? x[.., i, j] : 0      lower: y[.., i, j] = j - i <= k ? x[.., i, j] : 0
 *   EyeLike: y[i, j] = j - i == k
 * k may be any number, also one that only the entry knows; outside of the matrix it keeps all or nothing.
 * Spec: ONNX Trilu-14; EyeLike-9 and -22 (22 adds bfloat16). */
#include "ops/move_rules.h"

/* ---- Trilu ------------------------------------------------------------------------------------------------------- */

static const struct op_attr trilu_attrs[] = {{.name = "upper", .type = ATTR_INT, .int_default = 1}, {0}};
static const struct op_version trilu_versions[] = {{.since = 14}, {0}};
static const struct op_param trilu_inputs[] = {
    {.name = "input", .type = 'T', .dtypes = DTYPES_ALL},
    {.name = "k", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF},
    {0}};
static const struct op_param trilu_outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

static bool is_upper(const struct node *n)
{
    return op_attr_int(n, "upper") != 0;
}

static bool trilu_infer(struct infer_ctx *c)
{
    const struct value *x = infer_in(c, 0), *k = infer_in(c, 1);
    if (x->shape.rank < 2)
        return infer_error(c, "input 0 '%s' has rank %d, expected matrices: at least 2", x->name, x->shape.rank);
    if (k != NULL && (k->shape.rank > 1 || shape_count(&k->shape) != 1))
        return infer_error(c, "input 1 '%s' has %lld elements, expected a scalar", k->name,
                           (long long)shape_count(&k->shape));
    return infer_out(c, 0, DTYPE_UNDEFINED, &x->shape);
}

/* The same triangle of dy. */
static bool trilu_grad(struct grad_ctx *c)
{
    const struct attr upper = attr_int("upper", is_upper(c->node));
    return grad_accumulate(c, 0, build_with(c, "Trilu", ATTRS(upper), grad_of_output(c, 0), grad_input(c, 1)));
}

enum { TRILU_OPSET = 14 };

static bool trilu_plain(struct expand_ctx *c)
{
    struct value *const x = expand_in(c, 0), *const k = node_input(c->node, 1);
    const struct tensor *const known = k != NULL ? value_known(k) : NULL;
    const int64_t first = known != NULL ? tensor_get_int(known, 0) : 0;
    const int64_t rows = x->shape.dim[x->shape.rank - 2], columns = x->shape.dim[x->shape.rank - 1];
    if (c->target->opset >= TRILU_OPSET || (k != NULL && known == NULL))
        return true;
    struct tensor *const kept = tensor_new(c->b->graph->arena, DTYPE_BOOL, &SHAPE(rows, columns));
    for (int64_t i = 0; i < kept->count; i++) {
        const int64_t distance = i % columns - i / columns;
        tensor_set_int(kept, i, is_upper(c->node) ? distance >= first : distance <= first);
    }
    return expand_out(c, 0, build(c, "Where", build_constant(c->b, kept), x, build_like(c, x, 0.0)));
}

static bool trilu_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    const int64_t rows = x->shape.dim[x->shape.rank - 2], columns = x->shape.dim[x->shape.rank - 1];
    const int64_t k = eval_has(c, 1) ? eval_i(c, 1)[0] : 0;
    const bool upper = is_upper(c->node);
    for (int64_t p = 0; y != NULL && p < y->count; p++) {
        const int64_t diagonal = p % columns - p / columns % rows;
        if (upper ? diagonal >= k : diagonal <= k)
            move_element(y, p, x, p); /* elsewhere stay zeros */
    }
    return true;
}

/* j - i, int64 */
static const struct expr *diagonal_of(struct lower_ctx *c, int rank)
{
    return expr_binary(c->arena, EXPR_SUB, expr_index(c->arena, rank - 1), expr_index(c->arena, rank - 2));
}

static bool trilu_lower(struct lower_ctx *c)
{
    const struct expr *diagonal = diagonal_of(c, lower_shape(c, 0)->rank);
    const struct expr *k = lower_has(c, 1) ? lower_in(c, 1) : expr_int(c->arena, DTYPE_INT64, 0);
    const bool upper = is_upper(c->node);
    const struct expr *keep = expr_binary(c->arena, EXPR_LE, upper ? k : diagonal, upper ? diagonal : k);
    return lower_map(c, expr_select(c->arena, keep, lower_in(c, 0), move_zero(c, lower_dtype(c, 0))));
}

#define K(number) "k = Constant <value_int = " number "> () "
static const struct op_sample trilu_samples[] = {
    {.text = "g (float[3,4] x) => (float[3,4] y) { y = Trilu(x) }"},
    {.text = "g (float[2,4,3] x) => (float[2,4,3] y) { y = Trilu <upper = 0> (x) }"},
    {.text = "g (double[4,5] x) => (double[4,5] y) { " K("-2") "y = Trilu(x, k) }"},
    {.text = "g (double[4,5] x) => (double[4,5] y) { " K("2") "y = Trilu <upper = 0> (x, k) }"},
    {.text = "g (float[3,3] x) => (float[3,3] y) { " K("7") "y = Trilu(x, k) }"},
    {.text = "g (float[3,3] x) => (float[3,3] y) { " K("-9223372036854775807") "y = Trilu <upper = 0> (x, k) }"},
    {.text = "g (float[4,3] x, int64 k) => (float[4,3] y) { y = Trilu(x, k) }", .feed = ",index:3"},
    {.text = "g (float[4,3] x, int64[1] k) => (float[4,3] y) { y = Trilu <upper = 0> (x, k) }", .feed = ",index:3"},
    {.text = "g (int64[3,1] x) => (int64[3,1] y) { y = Trilu(x) }", .no_gradient = true},
    {.text = "g (bool[3,3] x) => (bool[3,3] y) { y = Trilu(x) }", .no_gradient = true},
    {.text = "g (float[0,3] x) => (float[0,3] y) { y = Trilu(x) }"},
    {.text = "g (float[2,3,0] x) => (float[2,3,0] y) { y = Trilu(x) }"},
    {.text = "g (float16[3,3] x) => (float16[3,3] y) { y = Trilu(x) }"},
    {.text = "g (bfloat16[3,3] x) => (bfloat16[3,3] y) { y = Trilu <upper = 0> (x) }"},
    /* what is left out is zero, whatever it was */
    {.text = "g () => (float[2,2] y) "
             "{ x = Constant <value = float[2,2] {nan, 1.0, inf, 2.0}> () y = Trilu <upper = 0> (x) }",
     .no_gradient = true},
    {.text = "g (float[3] x) => (float[3] y) { y = Trilu(x) }", .error = "expected matrices"},
    {.text = "g (float[3,3] x, int64[2] k) => (float[3,3] y) { y = Trilu(x, k) }", .error = "expected a scalar"},
    {0}};

/* ---- EyeLike ----------------------------------------------------------------------------------------------------- */

#define EYE_9 (DTYPES_ALL & ~DTYPE_BIT(DTYPE_BFLOAT16))

static const struct op_attr eye_attrs[] = {
    {.name = "dtype", .type = ATTR_INT, .no_default = true}, {.name = "k", .type = ATTR_INT, .int_default = 0}, {0}};
static const struct op_version eye_versions[] = {{.since = 9, .dtypes = EYE_9}, {.since = 22}, {0}};
static const struct op_param eye_inputs[] = {
    {.name = "input", .type = 'T', .dtypes = DTYPES_ALL, .flags = PARAM_NOT_DIFF}, {0}};
static const struct op_param eye_outputs[] = {{.name = "output", .dtypes = DTYPES_ALL, .flags = PARAM_OUTPUT_NOT_DIFF},
                                              {0}};

static bool eye_infer(struct infer_ctx *c)
{
    const struct value *x = infer_in(c, 0);
    const struct attr *dtype = node_attr(c->node, "dtype");
    const int64_t number = dtype != NULL ? dtype->i : (int64_t)x->dtype;
    if (x->shape.rank != 2)
        return infer_error(c, "input 0 '%s' has rank %d, expected a matrix: 2", x->name, x->shape.rank);
    if (number < 1 || number >= DTYPE_COUNT || !(DTYPES_ALL & DTYPE_BIT(number)))
        return infer_unsupported(c, "attribute 'dtype' is %lld (%s), which is not supported", (long long)number,
                                 number >= 1 && number < DTYPE_COUNT ? dtype_name((enum dtype)number) : "no type");
    return infer_out(c, 0, (enum dtype)number, &x->shape);
}

static bool eye_eval(struct eval_ctx *c)
{
    struct eval_tensor *y = eval_output(c, 0);
    const int64_t columns = y != NULL ? y->shape.dim[1] : 0, k = op_attr_int(c->node, "k");
    for (int64_t p = 0; y != NULL && p < y->count; p++) {
        if (p % columns - p / columns != k)
            continue;
        if (y->f != NULL)
            y->f[p] = 1;
        else
            y->i[p] = 1;
    }
    return true;
}

static bool eye_lower(struct lower_ctx *c)
{
    const struct expr *k = expr_int(c->arena, DTYPE_INT64, op_attr_int(c->node, "k"));
    const struct expr *on = expr_binary(c->arena, EXPR_EQ, diagonal_of(c, 2), k);
    return lower_map(c, lower_out_dtype(c, 0) == DTYPE_BOOL ? on : expr_cast(c->arena, lower_out_dtype(c, 0), on));
}

static const struct op_sample eye_samples[] = {
    {.text = "g (float[3,4] x) => (float[3,4] y) { y = EyeLike(x) }", .no_gradient = true},
    {.text = "g (int32[4,3] x) => (double[4,3] y) { y = EyeLike <dtype = 11, k = -1> (x) }", .no_gradient = true},
    {.text = "g (bool[2,2] x) => (int8[2,2] y) { y = EyeLike <dtype = 3, k = 1> (x) }", .no_gradient = true},
    {.text = "g (float[2,2] x) => (bool[2,2] y) { y = EyeLike <dtype = 9> (x) }", .no_gradient = true},
    {.text = "g (float[2,2] x) => (float[2,2] y) { y = EyeLike <k = -9223372036854775807> (x) }", .no_gradient = true},
    /* too large for a table */
    {.text = "g (float[300,300] x) => (float[300,300] y) { e = EyeLike <k = 2> (x) y = Mul(x, e) }"},
    {.text = "g (float[0,3] x) => (float16[0,3] y) { y = EyeLike <dtype = 10> (x) }", .no_gradient = true},
    {.text = "g (float[3] x) => (float[3] y) { y = EyeLike(x) }", .error = "expected a matrix"},
    {.text = "g (float[3,3] x) => (float[3,3] y) { y = EyeLike <dtype = 8> (x) }",
     .error = "(string), which is not supported"},
    {.text = "g (float[3,3] x) => (float[3,3] y) { y = EyeLike <dtype = -1> (x) }", .error = "no type"},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_trilu[] = {
    {.name = "Trilu", .versions = trilu_versions, .inputs = trilu_inputs, .outputs = trilu_outputs,
     .attrs = trilu_attrs, .infer = trilu_infer, .grad = trilu_grad,
     .plain = trilu_plain, .eval = trilu_eval, .lower = trilu_lower,
     .samples = trilu_samples},
    {.name = "EyeLike", .versions = eye_versions, .inputs = eye_inputs, .outputs = eye_outputs, .attrs = eye_attrs,
     .infer = eye_infer, .grad = grad_none, .eval = eye_eval, .lower = eye_lower, .shape_only = true,
     .is_counted = true, .samples = eye_samples},
    {0}};
