/* FlexAttention: an attention whose scores and probabilities go through graphs of the model. For every batch and head,
 * with Q [L,D], K [S,D], V [S,E]; several heads of Q may share one of K and V.
 *   scores = score_mod((Q * scale) K')     scale: 1 / sqrt(D) unless given
 *   P      = prob_mod(softmax(scores))     rows; both graphs see [batch, heads of Q, L, S]
 *   Y      = P V
 * Computed in float, or in double where Q or softmax_precision are double: softmax_precision asks for at least so much.
 * A graph that declares another floating type gets that, and is converted back. Shared heads of K and V are read again,
 * not copied. Spec: ONNX preview FlexAttention-1. */
#include "graph/import_internal.h"

#include <math.h>

enum { Q, K, V, OPERANDS };

struct attention {
    const struct import_use *u;
    struct builder b;
    struct value *in[OPERANDS];
    struct shape scores; /* batch, heads of Q, L, S */
    int64_t kv_heads;
    enum dtype type; /* computed in */
};

static bool read_operands(struct attention *t)
{
    const struct import_use *const u = t->u;
    bool ok = true;
    for (size_t i = 0; i < OPERANDS; i++) {
        if (!import_resolve_tensor(u, i, &t->in[i]))
            return false;
        if (t->in[i] == NULL)
            return diag_error(u->diag, &u->loc, "input %zu of FlexAttention is required and cannot be omitted", i);
        const struct value *const v = t->in[i];
        if (!(DTYPES_FLOATS & DTYPE_BIT(v->dtype)) || v->dtype != t->in[Q]->dtype)
            ok = diag_error(u->diag, &u->loc, "input %zu '%s' is %s, expected %s", i, v->name, dtype_name(v->dtype),
                            i == Q ? "a floating type" : dtype_name(t->in[Q]->dtype));
        else if (v->shape.rank != 4)
            ok = diag_error(u->diag, &u->loc, "input %zu '%s' has rank %d, expected 4: [batch, heads, positions, size]",
                            i, v->name, v->shape.rank);
    }
    return ok;
}

static bool check_sizes(const struct attention *t)
{
    const struct import_use *const u = t->u;
    const int64_t *const q = t->in[Q]->shape.dim, *const k = t->in[K]->shape.dim, *const v = t->in[V]->shape.dim;
    struct arena *const a = u->diag->arena;
    if (q[0] == k[0] && q[0] == v[0] && k[1] == v[1] && k[1] > 0 && q[1] % k[1] == 0 && k[2] == v[2] && q[3] == k[3])
        return true;
    return diag_error(u->diag, &u->loc,
                      "Q %s, K %s and V %s do not fit: expected one batch, heads of K and V that divide those of Q, as "
                      "many positions in K and V, and one size in Q and K",
                      shape_text(a, &t->in[Q]->shape), shape_text(a, &t->in[K]->shape),
                      shape_text(a, &t->in[V]->shape));
}

static bool read_type(struct attention *t)
{
    const struct model_attr *const given = model_find_attr(&t->u->mn->attrs, "softmax_precision");
    const int64_t precision = given != NULL ? given->i : DTYPE_FLOAT;
    t->type = t->in[Q]->dtype == DTYPE_DOUBLE || precision == DTYPE_DOUBLE ? DTYPE_DOUBLE : DTYPE_FLOAT;
    if (precision > 0 && precision < DTYPE_COUNT && (DTYPES_FLOATS & DTYPE_BIT(precision)))
        return true;
    return diag_error(t->u->diag, &t->u->loc, "attribute 'softmax_precision' is %lld, expected a floating type",
                      (long long)precision);
}

/* v in groups of heads that share one of K and V, [batch, heads of K, shared, ..]; as it is where none share. */
static struct value *grouped(struct attention *t, struct value *v)
{
    const int64_t shared = t->scores.dim[1] / t->kv_heads;
    const struct shape *const x = &v->shape;
    if (shared == 1)
        return v;
    const struct size heads = size_constant(t->kv_heads), each = size_quotient(shape_size(x, 1), t->kv_heads);
    return build_reshape(&t->b, v, &SHAPE_OF(shape_size(x, 0), heads, each, shape_size(x, 2), shape_size(x, 3)));
}

static struct value *product(struct attention *t, struct value *a, struct value *b)
{
    struct value *const in[] = {grouped(t, a), grouped(t, b)};
    struct value *const y = build_value(&t->b, "MatMul", NULL, in, 2);
    struct shape to = a->shape;
    shape_set(&to, 3, shape_size(&b->shape, 3));
    return build_reshape(&t->b, y, &to);
}

/* *v through the graph that is the attribute `name`, if it is there. */
static bool modify(struct attention *t, const char *name, struct value **v)
{
    const struct import_use *const u = t->u;
    const struct model_attr *const attr = model_find_attr(&u->mn->attrs, name);
    const struct model_graph *const g = attr != NULL ? attr->g : NULL;
    struct inner_graph x;
    if (g == NULL)
        return true;
    if (g->inputs.count != 1 || g->outputs.count != 1)
        return diag_error(u->diag, &u->loc, "%s has %zu inputs and %zu outputs, expected one and one", name,
                          g->inputs.count, g->outputs.count);
    const struct model_type *const declared = &g->inputs.data[0]->type;
    const bool converts = declared->kind == TYPE_TENSOR && (DTYPES_FLOATS & DTYPE_BIT(declared->elem)) != 0;
    struct value *const actual = converts ? build_cast(&t->b, *v, declared->elem) : *v;
    if (!import_branch(u, g, &actual, &x))
        return false;
    struct value *const y = import_inner_output(u->im, &x, 0);
    if (y == NULL)
        return false;
    if (y == &import_omitted || y->kind == VALUE_SEQUENCE || !(DTYPES_FLOATS & DTYPE_BIT(y->dtype)) ||
        !shape_equal(&y->shape, &t->scores))
        return diag_error(u->diag, &u->loc, "%s gives no floating tensor of shape %s", name,
                          shape_text(u->diag->arena, &t->scores));
    *v = build_cast(&t->b, y, t->type);
    return true;
}

static struct value *build_scores(struct attention *t)
{
    const struct model_attr *const given = model_find_attr(&t->u->mn->attrs, "scale");
    const double scale = given != NULL ? given->f : 1 / sqrt((double)t->in[Q]->shape.dim[3]);
    struct value *const in[] = {build_cast(&t->b, t->in[Q], t->type), build_scalar(&t->b, t->type, scale)};
    struct value *const k = build_cast(&t->b, t->in[K], t->type);
    struct value *const columns = build_transpose(&t->b, k, (const int[]){0, 1, 3, 2});
    return product(t, build_value(&t->b, "Mul", NULL, in, 2), columns);
}

bool import_flex_attention(const struct import_use *u)
{
    struct attention t = {.u = u, .b = import_builder(u)};
    if (!read_operands(&t) || !check_sizes(&t) || !read_type(&t))
        return false;
    const uint32_t stream = u->im->stream;
    const int since = u->g->value_count;
    const struct shape *const q = &t.in[Q]->shape;
    t.kv_heads = t.in[K]->shape.dim[1];
    t.scores = SHAPE_OF(shape_size(q, 0), shape_size(q, 1), shape_size(q, 2), shape_size(&t.in[K]->shape, 2));
    struct value *p = build_scores(&t);
    if (t.b.failed || !modify(&t, "score_mod", &p))
        return false;
    const uint32_t after_all = u->im->stream; /* of the node's graphs, if there was one: each counts all */
    u->im->stream = stream;
    p = build_value(&t.b, "Softmax", NULL, &p, 1);
    if (t.b.failed || !modify(&t, "prob_mod", &p))
        return false;
    u->im->stream = u->im->stream > after_all ? u->im->stream : after_all;
    struct value *const y = product(&t, p, build_cast(&t.b, t.in[V], t.type));
    struct value *const result = build_cast(&t.b, y, t.in[Q]->dtype);
    return !t.b.failed && import_define(u, 0, result, since);
}
