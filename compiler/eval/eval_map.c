/* Iteration over broadcast operands. The inner loop runs along the last axis, where each operand
 * advances by a fixed step. */
#include "eval/eval.h"

/* ---- a walk over the output's elements with one offset per input ------------------------------------------------- */

struct element_walk {
    size_t inputs;
    struct shape domain;
    int64_t (*stride)[SHAPE_MAX_RANK]; /* per input; 0 where the operand stretches */
    int64_t *offset;                   /* per input: of the element at index[] */
    int64_t index[SHAPE_MAX_RANK];
};

static void walk_start(struct element_walk *w, struct arena *scratch, const struct eval_tensor *const *in,
                       size_t inputs, const struct shape *domain)
{
    *w = (struct element_walk){.inputs = inputs, .domain = *domain};
    w->stride = arena_alloc(scratch, inputs, sizeof w->stride[0], alignof(int64_t));
    w->offset = arena_array(scratch, int64_t, inputs);
    for (size_t i = 0; i < inputs; i++)
        if (in[i] != NULL)
            shape_broadcast_strides(&in[i]->shape, domain, w->stride[i]);
}

/* On to the next element in row-major order: a small odometer that keeps the offsets. */
static void walk_next(struct element_walk *w)
{
    for (int d = w->domain.rank - 1; d >= 0; d--) {
        const bool carry = ++w->index[d] == w->domain.dim[d];
        for (size_t i = 0; i < w->inputs; i++)
            w->offset[i] += carry ? -(w->domain.dim[d] - 1) * w->stride[i][d] : w->stride[i][d];
        if (!carry)
            return;
        w->index[d] = 0;
    }
}

void eval_broadcast_index(const struct eval_tensor *in, const struct shape *domain, int64_t *index)
{
    int64_t stride[1][SHAPE_MAX_RANK] = {{0}}, offset = 0;
    struct element_walk w = {.inputs = 1, .domain = *domain, .stride = stride, .offset = &offset};
    const int64_t count = shape_count(domain);
    shape_broadcast_strides(&in->shape, domain, stride[0]);
    for (int64_t p = 0; p < count; p++) {
        index[p] = offset;
        walk_next(&w);
    }
}

/* ---- maps -------------------------------------------------------------------------------------------------------- */

/* Element k of any operand as a float: lets Pow take an integer exponent. */
static double as_float(const struct eval_tensor *t, int64_t k)
{
    if (t->f != NULL)
        return t->f[k];
    return t->dtype == DTYPE_UINT64 ? (double)(uint64_t)t->i[k] : (double)t->i[k];
}

/* One of three forms of function. */
static bool map(struct eval_ctx *c, eval_fn_f f, eval_fn_fi fi, eval_fn_i i)
{
    struct eval_tensor *out = c->out[0];
    const size_t inputs = c->node->inputs.count;
    if (out == NULL)
        return true;
    struct element_walk w;
    walk_start(&w, c->scratch, c->in, inputs, &out->shape);
    double *floats = arena_array(c->scratch, double, inputs);
    int64_t *ints = arena_array(c->scratch, int64_t, inputs);
    for (int64_t p = 0; p < out->count; p++) {
        for (size_t k = 0; k < inputs; k++)
            if (i)
                ints[k] = c->in[k] == NULL ? 0 : c->in[k]->i[w.offset[k]];
            else
                floats[k] = c->in[k] == NULL ? 0 : as_float(c->in[k], w.offset[k]);
        if (f)
            out->f[p] = f(c, floats);
        else
            out->i[p] = dtype_wrap(out->dtype, fi ? fi(c, floats) : i(c, ints));
        walk_next(&w);
    }
    return true;
}

bool eval_map_f(struct eval_ctx *c, eval_fn_f fn)
{
    return map(c, fn, NULL, NULL);
}

bool eval_map_fi(struct eval_ctx *c, eval_fn_fi fn)
{
    return map(c, NULL, fn, NULL);
}

bool eval_map_i(struct eval_ctx *c, eval_fn_i fn)
{
    return map(c, NULL, NULL, fn);
}

void eval_gather(struct eval_ctx *c, const int64_t *from)
{
    const struct eval_tensor *in = c->in[0];
    struct eval_tensor *out = c->out[0];
    if (out == NULL)
        return;
    for (int64_t p = 0; p < out->count; p++) {
        if (from[p] < 0)
            continue; /* outputs start as zeros */
        if (out->f != NULL)
            out->f[p] = in->f[from[p]];
        else
            out->i[p] = in->i[from[p]];
    }
}
