/* ReverseSequence: of each batch b the first lens[b] steps in reverse order. With time_axis 0, else t and b swapped:
 *   y[t, b, i..] = x[lens[b] - 1 - t, b, i..] for t < lens[b], else x[t, b, i..]
 * A length outside of [0, steps] is an error: at compile time where the lengths are known, else when the entry runs,
 * before anything is written. The gradient is the same reversal.
 * Spec: ONNX ReverseSequence-10. */
#include "ops/move_rules.h"

#include <inttypes.h>

static const struct op_attr attrs[] = {{.name = "time_axis", .type = ATTR_INT, .int_default = 0},
                                       {.name = "batch_axis", .type = ATTR_INT, .int_default = 1},
                                       {0}};
static const struct op_version versions[] = {{.since = 10}, {0}};
static const struct op_param inputs[] = {
    {.name = "input", .type = 'T', .dtypes = DTYPES_ALL},
    {.name = "sequence_lens", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

static bool reverse_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *lens = infer_shape(c, 1);
    const int64_t time = op_attr_int(c->node, "time_axis"), batch = op_attr_int(c->node, "batch_axis");
    if (time < 0 || time > 1 || batch != 1 - time)
        return infer_error(c, "attributes 'time_axis' and 'batch_axis' are %lld and %lld, expected 0 and 1, or 1 and 0",
                           (long long)time, (long long)batch);
    if (x->rank < 2)
        return infer_error(c, "input 0 '%s' has rank %d, expected at least 2", infer_in(c, 0)->name, x->rank);
    if (lens->rank != 1 || lens->dim[0] != x->dim[batch])
        return infer_error(c, "input 1 '%s' does not have the shape [%lld]", infer_in(c, 1)->name,
                           (long long)x->dim[batch]);
    const struct tensor *known = value_known(infer_in(c, 1));
    for (int64_t b = 0; known != NULL && b < known->count; b++)
        if (tensor_get_int(known, b) < 0 || tensor_get_int(known, b) > x->dim[time])
            return infer_error(c, "sequence %lld has %lld steps, expected 0 to %lld", (long long)b,
                               (long long)tensor_get_int(known, b), (long long)x->dim[time]);
    return infer_out(c, 0, DTYPE_UNDEFINED, x);
}

static int64_t reverse_selects_from(const struct node *n, int input)
{
    return input == 1 ? n->inputs.data[0]->shape.dim[op_attr_int(n, "time_axis")] : 0;
}

static bool reverse_grad(struct grad_ctx *c)
{
    const struct attr *axes = ATTRS(attr_int("time_axis", grad_attr_int(c, "time_axis")),
                                    attr_int("batch_axis", grad_attr_int(c, "batch_axis")));
    return grad_accumulate(c, 0, build_with(c, "ReverseSequence", axes, grad_of_output(c, 0), grad_input(c, 1)));
}

static bool reverse_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    const int time = (int)op_attr_int(c->node, "time_axis"), batch = 1 - time;
    int64_t index[SHAPE_MAX_RANK] = {0}, stride[SHAPE_MAX_RANK];
    shape_strides(&x->shape, stride);
    for (int64_t b = 0; b < x->shape.dim[batch]; b++)
        if (eval_i(c, 1)[b] < 0 || eval_i(c, 1)[b] > x->shape.dim[time])
            return eval_error(c, "sequence %" PRId64 " has %" PRId64 " steps, expected 0 to %" PRId64, b,
                              eval_i(c, 1)[b], x->shape.dim[time]);
    for (int64_t k = 0; y != NULL && k < y->count; k++, shape_next(&y->shape, index)) {
        const int64_t t = index[time], length = eval_i(c, 1)[index[batch]];
        move_element(y, k, x, t < length ? k + (length - 1 - 2 * t) * stride[time] : k);
    }
    return true;
}

static bool reverse_lower(struct lower_ctx *c)
{
    struct arena *a = c->arena;
    const struct view x = lower_view_of(c, 0), lens = lower_view_of(c, 1);
    const int time = (int)op_attr_int(c->node, "time_axis"), batch = 1 - time;
    const int64_t steps = x.shape.dim[time];
    struct view over = {.buffer = lens.buffer, .offset = lens.offset, .shape = x.shape}, still = x;
    if (lower_out_view(c, 0).buffer->count == 0)
        return true;
    over.stride[batch] = lens.stride[0];
    still.stride[time] = 0;
    const struct expr *t = expr_index(a, time), *length = lower_load(c, &over);
    const struct expr *last = expr_binary(a, EXPR_SUB, length, expr_int(a, DTYPE_INT64, 1));
    struct access access = lower_access(&still);
    access.term[access.term_count++] = (struct access_term){
        .index = expr_select(a, expr_binary(a, EXPR_LT, t, length), expr_binary(a, EXPR_SUB, last, t), t),
        .stride = x.stride[time],
        .extent = steps};
    const struct view out = lower_out_view(c, 0);
    lower_kernel(c, NULL);
    if (value_known(c->node->inputs.data[1]) == NULL)
        lower_add_check(c, &lens.shape, lower_load(c, &lens), 0, steps + 1, "STEPC_E_INDEX");
    lower_store(c, lower_part(c, &out.shape), &out, lower_load_at(c, &access));
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[4,3] x, int64[3] l) => (float[4,3] y) { y = ReverseSequence(x, l) }", .feed = ",index:5"},
    {.text = "g (double[3,4,2] x, int64[3] l) => (double[3,4,2] y) { y = ReverseSequence <time_axis = 1, batch_axis = "
             "0> (x, l) }",
     .feed = ",index:5"},
    {.text = "g (int32[4,3,2] x) => (int32[4,3,2] y) { l = Constant <value_ints = [4, 0, 3]> () y = ReverseSequence(x, "
             "l) }",
     .no_gradient = true},
    {.text = "g (float[0,3] x, int64[3] l) => (float[0,3] y) { y = ReverseSequence(x, l) }", .feed = ",index:1"},
    {.text = "g (float[3,1] x, int64[1] l) => (float[3,1] y) { t = Transpose(x) z = ReverseSequence <time_axis = 1, "
             "batch_axis = 0> (t, l) "
             "y = Transpose(z) }",
     .feed = ",index:4"},
    {.text = "g (float[4,3] x, int64[3] l) => (float[4,3] y) { y = ReverseSequence(x, l) }",
     .feed = ",index:100",
     .error = "steps, expected 0 to 4"},
    {.text =
         "g (float[4,3] x) => (float[4,3] y) { l = Constant <value_ints = [4, 5, 3]> () y = ReverseSequence(x, l) }",
     .error = "sequence 1 has 5 steps, expected 0 to 4"},
    {.text = "g (float[4,3] x, int64[4] l) => (float[4,3] y) { y = ReverseSequence(x, l) }",
     .error = "does not have the shape [3]"},
    {.text = "g (float[4,3] x, int64[3,1] l) => (float[4,3] y) { y = ReverseSequence(x, l) }",
     .error = "does not have the shape [3]"},
    {.text = "g (float[4] x, int64[4] l) => (float[4] y) { y = ReverseSequence(x, l) }", .error = "has rank 1"},
    {.text = "g (float[4,3] x, int64[3] l) => (float[4,3] y) { y = ReverseSequence <time_axis = 1> (x, l) }",
     .error = "are 1 and 1"},
    {0}};

const struct op_def op_defs_reverse_sequence[] = {{.name = "ReverseSequence",
                                                   .versions = versions,
                                                   .inputs = inputs,
                                                   .outputs = outputs,
                                                   .attrs = attrs,
                                                   .infer = reverse_infer,
                                                   .grad = reverse_grad,
                                                   .eval = reverse_eval,
                                                   .lower = reverse_lower,
                                                   .samples = samples,
                                                   .selects_from = reverse_selects_from},
                                                  {0}};
