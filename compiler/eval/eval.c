#include "eval/eval.h"

#include <stdarg.h>
#include <string.h>

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

struct eval_tensor *eval_tensor_new(struct arena *a, enum dtype dtype, const struct shape *shape)
{
    struct eval_tensor *t = arena_new(a, struct eval_tensor);
    t->dtype = dtype;
    t->shape = *shape;
    t->count = shape_count(shape);
    if (dtype_is_float(dtype))
        t->f = arena_array(a, double, (size_t)t->count);
    else if (dtype_is_int(dtype) || dtype == DTYPE_BOOL)
        t->i = arena_array(a, int64_t, (size_t)t->count);
    return t;
}

struct eval_tensor *eval_from_tensor(struct arena *a, const struct tensor *t)
{
    struct eval_tensor *e = eval_tensor_new(a, t->dtype, &t->shape);
    const size_t size = dtype_size(t->dtype);
    const unsigned char *p = t->data;
    for (int64_t k = 0; k < e->count; k++) {
        if (e->f != NULL)
            e->f[k] = dtype_load_double(t->dtype, p + (size_t)k * size);
        else if (e->i != NULL)
            e->i[k] = dtype_load_int(t->dtype, p + (size_t)k * size);
    }
    return e;
}

struct tensor *eval_to_tensor(struct arena *a, const struct eval_tensor *t)
{
    struct tensor *to = tensor_new(a, t->dtype, &t->shape);
    const size_t size = dtype_size(t->dtype);
    unsigned char *p = to->data;
    for (int64_t k = 0; k < t->count; k++) {
        if (t->f != NULL)
            dtype_store_double(t->dtype, p + (size_t)k * size, t->f[k]);
        else if (t->i != NULL)
            dtype_store_int(t->dtype, p + (size_t)k * size, t->i[k]);
    }
    return to;
}

/* ---- inputs and outputs ------------------------------------------------------------------------------------------ */

bool eval_has(const struct eval_ctx *c, int i)
{
    return i >= 0 && (size_t)i < c->node->inputs.count && c->in[i] != NULL;
}

bool eval_wants(const struct eval_ctx *c, int o)
{
    return o >= 0 && (size_t)o < c->node->outputs.count && c->out[o] != NULL;
}

const struct eval_tensor *eval_input(const struct eval_ctx *c, int i)
{
    return eval_has(c, i) ? c->in[i] : NULL;
}

struct eval_tensor *eval_output(const struct eval_ctx *c, int o)
{
    return eval_wants(c, o) ? c->out[o] : NULL;
}

const double *eval_f(const struct eval_ctx *c, int i)
{
    return eval_has(c, i) ? c->in[i]->f : NULL;
}

const int64_t *eval_i(const struct eval_ctx *c, int i)
{
    return eval_has(c, i) ? c->in[i]->i : NULL;
}

double *eval_out_f(const struct eval_ctx *c, int o)
{
    return eval_wants(c, o) ? c->out[o]->f : NULL;
}

int64_t *eval_out_i(const struct eval_ctx *c, int o)
{
    return eval_wants(c, o) ? c->out[o]->i : NULL;
}

bool eval_error(const struct eval_ctx *c, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    diag_errorv(c->diag, &c->node->loc, fmt, args);
    va_end(args);
    return false;
}

/* ---- a node ------------------------------------------------------------------------------------------------------ */

/* A value that the interpreter can hold: numbers and truth values, not strings or complex numbers. */
static bool is_evaluable(const struct eval_tensor *t)
{
    return t->f != NULL || t->i != NULL;
}

static bool check_dtypes(const struct eval_ctx *c)
{
    for (size_t i = 0; i < c->node->inputs.count && !c->node->def->shape_only; i++)
        if (c->in[i] != NULL && !is_evaluable(c->in[i]))
            return eval_error(c, "input %zu is %s: %s cannot be evaluated on this type", i, dtype_name(c->in[i]->dtype),
                              op_display_name(c->node->def));
    for (size_t o = 0; o < c->node->outputs.count; o++)
        if (c->out[o] != NULL && !is_evaluable(c->out[o]))
            return eval_error(c, "output %zu is %s: %s cannot be evaluated on this type", o,
                              dtype_name(c->out[o]->dtype), op_display_name(c->node->def));
    return true;
}

/* Under SAME a value of the graph is always a value of its dtype. For float and double this changes nothing
 * when the operator rounded its last operation; for the small types it is the rounding that the contract asks
 * for "at every value". */
static void round_outputs(const struct eval_ctx *c)
{
    for (size_t o = 0; o < c->node->outputs.count; o++) {
        struct eval_tensor *t = c->out[o];
        if (t == NULL || t->f == NULL || t->dtype == DTYPE_DOUBLE)
            continue;
        for (int64_t k = 0; k < t->count; k++)
            t->f[k] = dtype_round(t->dtype, t->f[k]);
    }
}

bool eval_node(const struct node *n, const struct eval_tensor *const *in, struct eval_tensor **out,
               enum arithmetic arithmetic, struct eval_random random, struct arena *a, struct diag *diag)
{
    for (size_t o = 0; o < n->outputs.count; o++) {
        const struct value *v = n->outputs.data[o];
        out[o] = v == NULL ? NULL : eval_tensor_new(a, v->dtype, &v->shape);
    }
    struct arena scratch = {0};
    struct eval_ctx c = {.node = n, .in = in, .out = out, .arithmetic = arithmetic, .random = random,
                         .scratch = &scratch, .diag = diag};
    bool ok;
    if (n->def->eval == NULL)
        ok = eval_error(&c, "%s cannot be evaluated as it stands: it is made of other operators",
                        op_display_name(n->def));
    else
        ok = check_dtypes(&c) && (!node_makes_elements(n) || n->def->eval(&c));
    if (ok && arithmetic == ARITHMETIC_SAME)
        round_outputs(&c);
    arena_free(&scratch);
    return ok;
}

bool eval_node_at(const struct node *n, const struct eval_tensor **value, enum arithmetic arithmetic,
                  struct eval_random random, struct arena *a, struct diag *diag)
{
    const struct eval_tensor **const in = arena_array(a, const struct eval_tensor *, n->inputs.count);
    struct eval_tensor **const out = arena_array(a, struct eval_tensor *, n->outputs.count);
    for (size_t i = 0; i < n->inputs.count; i++)
        in[i] = n->inputs.data[i] ? value[n->inputs.data[i]->id] : NULL;
    if (!eval_node(n, in, out, arithmetic, random, a, diag))
        return false;
    for (size_t o = 0; o < n->outputs.count; o++)
        if (n->outputs.data[o])
            value[n->outputs.data[o]->id] = out[o];
    return true;
}
