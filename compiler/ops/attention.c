/* Attention: for every batch and head, with Q [L,D], K [S,D], V [S,E]; several heads of Q may share one of K and V.
 *   raw    = (Q * scale) K'            scale: 1 / sqrt(D) unless given
 *   capped = softcap * tanh(raw / softcap), where softcap > 0
 *   biased = capped + mask, or -inf where a mask of bools says no or position j of K is out of sight of i of Q:
 *              j > p            is_causal; p = i + the length of what is past, or i + nonpad_kv_seqlen - L
 *              j < p - left, j > p + right   left_window_size, right_window_size, where not negative
 *              j >= nonpad_kv_seqlen         padding
 *   P      = softmax(biased), 0 in rows that see nothing
 *   Y      = P V
 * qk_matmul_output is raw, capped, biased or P, as its mode is 0 to 3. K and V have what is past in front of them,
 * which is what present_key and present_value are. A mask with fewer columns than K has positions hides the others.
 *
 * Computed in float, or in double where Q, V or softmax_precision are double: softmax_precision asks for at least
 * so much. Expanded; the two products are batches over heads, where shared heads of K and V are read again, not
 * copied. Spec: ONNX Attention-23, -24 (nonpad_kv_seqlen), -25 (windows). */
#include "graph/axes.h"
#include "ops/op.h"

#include "base/checked.h"

#include <math.h>

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS }; /* inputs */
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };        /* outputs */
enum { RAW, CAPPED, BIASED, PROBABILITIES };           /* qk_matmul_output_mode */
enum { MOST_POSITIONS = 1 << 28 };                     /* sums of some are int32 */

/* ---- schema ----------------------------------------------------------------------------------------------------- */

#define ATTRS_23                                                                                                       \
    {.name = "is_causal", .type = ATTR_INT}, {.name = "kv_num_heads", .type = ATTR_INT},                               \
        {.name = "q_num_heads", .type = ATTR_INT}, {.name = "qk_matmul_output_mode", .type = ATTR_INT},                \
        {.name = "scale", .type = ATTR_FLOAT, .no_default = true}, {.name = "softcap", .type = ATTR_FLOAT},            \
    {                                                                                                                  \
        .name = "softmax_precision", .type = ATTR_INT                                                                  \
    }
static const struct op_attr attrs_23[] = {ATTRS_23, {0}};
static const struct op_attr attrs[] = {ATTRS_23,
                                       {.name = "left_window_size", .type = ATTR_INT, .int_default = -1},
                                       {.name = "right_window_size", .type = ATTR_INT, .int_default = -1},
                                       {0}};

#define INPUTS_23                                                                                                      \
    {.name = "Q", .type = 'T', .dtypes = DTYPES_FLOATS}, {.name = "K", .type = 'T', .dtypes = DTYPES_FLOATS},          \
        {.name = "V", .type = 'V', .dtypes = DTYPES_FLOATS},                                                           \
        {.name = "attn_mask", .type = 'U', .dtypes = DTYPES_ALL, .flags = PARAM_OPTIONAL},                             \
        {.name = "past_key", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL},                           \
    {                                                                                                                  \
        .name = "past_value", .type = 'V', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL                            \
    }
static const struct op_param inputs_23[] = {INPUTS_23, {0}};
static const struct op_param inputs[] = {
    INPUTS_23,
    {.name = "nonpad_kv_seqlen", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {
    {.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "present_key", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL},
    {.name = "present_value", .type = 'V', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL},
    {.name = "qk_matmul_output", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL},
    {0}};
static const struct op_version versions[] = {
    {.since = 23, .attrs = attrs_23, .inputs = inputs_23}, {.since = 24, .attrs = attrs_23}, {.since = 25}, {0}};

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

struct attention_sizes {
    bool flat; /* heads stand side by side in [batch, position, heads * size] */
    int64_t batch, q_heads, kv_heads, q_length, kv_length, past, key_size, value_size;
    /* Of batch, q_length, total_of(), key_size and value_size as sizes (tensor/size.h). */
    int64_t batch_per, length_per, total_per, key_per, value_per;
};

static int64_t total_of(const struct attention_sizes *z)
{
    return z->past + z->kv_length;
}

static struct size batch_of(const struct attention_sizes *z)
{
    return (struct size){z->batch, z->batch_per};
}

static struct size key_of(const struct attention_sizes *z)
{
    return (struct size){z->key_size, z->key_per};
}

static struct size value_of(const struct attention_sizes *z)
{
    return (struct size){z->value_size, z->value_per};
}

static struct size length_of(const struct attention_sizes *z)
{
    return (struct size){z->q_length, z->length_per};
}

/* Splits a flat last axis. */
static bool split_heads(struct infer_ctx *c, const struct value *v, const char *attr, int64_t *heads, int64_t *size)
{
    *heads = op_attr_int(c->node, attr);
    const int64_t width = v->shape.dim[2];
    if (*heads < 1 || *heads > INT32_MAX)
        return infer_error(c, "attribute '%s' is %lld, expected the number of heads, as '%s' has rank 3", attr,
                           (long long)*heads, v->name);
    *size = width / *heads;
    return width % *heads == 0 || infer_error(c, "'%s' has rows of %lld elements, which %lld heads do not share",
                                              v->name, (long long)width, (long long)*heads);
}

static bool find_heads(struct infer_ctx *c, struct attention_sizes *z)
{
    const struct value *q = infer_in(c, Q), *k = infer_in(c, K), *v = infer_in(c, V);
    int64_t size_of_k = 0, heads_of_v = 0;
    for (int i = Q; i <= V; i++)
        if (infer_rank(c, i) != q->shape.rank || infer_rank(c, i) < 3 || infer_rank(c, i) > 4)
            return infer_error(c, "input %d '%s' has rank %d, expected 3 or 4, for Q, K and V alike", i,
                               infer_in(c, i)->name, infer_rank(c, i));
    z->flat = q->shape.rank == 3;
    if (z->flat) {
        if (!split_heads(c, q, "q_num_heads", &z->q_heads, &z->key_size) ||
            !split_heads(c, k, "kv_num_heads", &z->kv_heads, &size_of_k) ||
            !split_heads(c, v, "kv_num_heads", &heads_of_v, &z->value_size))
            return false;
    } else {
        z->q_heads = q->shape.dim[1];
        z->kv_heads = k->shape.dim[1];
        heads_of_v = v->shape.dim[1];
        z->key_size = q->shape.dim[3];
        size_of_k = k->shape.dim[3];
        z->value_size = v->shape.dim[3];
    }
    if (z->kv_heads != heads_of_v || z->kv_heads < 1 || z->q_heads % z->kv_heads != 0)
        return infer_error(c, "Q has %lld heads, K %lld, V %lld: those of K and V must be as many and divide Q's",
                           (long long)z->q_heads, (long long)z->kv_heads, (long long)heads_of_v);
    if (size_of_k != z->key_size)
        return infer_error(c, "heads of K have %lld elements, expected %lld as those of Q", (long long)size_of_k,
                           (long long)z->key_size);
    return true;
}

/* [batch, kv heads, past, size] */
static bool check_past(struct infer_ctx *c, struct attention_sizes *z, int i, int64_t size)
{
    const struct value *v = infer_in(c, i);
    if (v == NULL)
        return true;
    z->past = v->shape.rank == 4 ? v->shape.dim[2] : 0;
    if (z->past > MOST_POSITIONS)
        return infer_unsupported(c, "more than %d positions are not supported", MOST_POSITIONS);
    const struct shape expected = SHAPE(z->batch, z->kv_heads, z->past, size);
    return shape_equal(&v->shape, &expected) ||
           infer_error(c, "input %d '%s' has shape %s, expected [%lld,%lld,past,%lld]", i, v->name,
                       shape_text(c->diag->arena, &v->shape), (long long)z->batch, (long long)z->kv_heads,
                       (long long)size);
}

static bool check_mask(struct infer_ctx *c, const struct attention_sizes *z)
{
    const struct value *m = infer_in(c, MASK);
    if (m == NULL)
        return true;
    if (m->dtype != DTYPE_BOOL && m->dtype != infer_in(c, Q)->dtype)
        return infer_error(c, "input 3 '%s' is %s, expected bool or %s as input 0", m->name, dtype_name(m->dtype),
                           dtype_name(infer_in(c, Q)->dtype));
    struct shape scores = SHAPE(z->batch, z->q_heads, z->q_length, total_of(z)), both;
    const int last = m->shape.rank - 1;
    if (last >= 0 && last < 4 && m->shape.dim[last] < total_of(z)) /* the rest is padded */
        shape_set(&scores, 3, shape_size(&m->shape, last));
    if (last >= 0 && shape_broadcast(&both, &scores, &m->shape) && shape_equal(&both, &scores))
        return true;
    return infer_error(c, "input 3 '%s' has shape %s, which does not broadcast to [%lld,%lld,%lld,%lld]", m->name,
                       shape_text(c->diag->arena, &m->shape), (long long)z->batch, (long long)z->q_heads,
                       (long long)z->q_length, (long long)total_of(z));
}

static bool check_attributes(struct infer_ctx *c)
{
    const int64_t precision = op_attr_int(c->node, "softmax_precision"),
                  mode = op_attr_int(c->node, "qk_matmul_output_mode");
    if (precision != 0 && (precision < 0 || precision >= DTYPE_COUNT || !(DTYPES_FLOATS & DTYPE_BIT(precision))))
        return infer_error(c, "attribute 'softmax_precision' is %lld, expected a floating type", (long long)precision);
    if (mode < RAW || mode > PROBABILITIES)
        return infer_error(c, "attribute 'qk_matmul_output_mode' is %lld, expected 0 to 3", (long long)mode);
    if (op_attr_int(c->node, "left_window_size") < -1 || op_attr_int(c->node, "right_window_size") < -1)
        return infer_error(c, "a window size is less than -1");
    return true;
}

static bool check_sizes(struct infer_ctx *c, struct attention_sizes *z)
{
    const struct shape *q = infer_shape(c, Q), *k = infer_shape(c, K), *v = infer_shape(c, V);
    *z = (struct attention_sizes){.batch = q->dim[0]};
    if (!find_heads(c, z))
        return false;
    const int at = z->flat ? 1 : 2;
    z->q_length = q->dim[at];
    z->kv_length = k->dim[at];
    if (z->q_length > MOST_POSITIONS || z->kv_length > MOST_POSITIONS)
        return infer_unsupported(c, "more than %d positions are not supported", MOST_POSITIONS);
    if (k->dim[0] != z->batch || v->dim[0] != z->batch || v->dim[at] != z->kv_length)
        return infer_error(
            c, "Q, K and V have batches of %lld, %lld and %lld, K and V %lld and %lld positions: expected equal ones",
            (long long)z->batch, (long long)k->dim[0], (long long)v->dim[0], (long long)z->kv_length,
            (long long)v->dim[at]);
    if ((infer_in(c, PAST_KEY) == NULL) != (infer_in(c, PAST_VALUE) == NULL))
        return infer_error(c, "past_key and past_value are given together or not at all");
    if (!check_past(c, z, PAST_VALUE, z->value_size) || !check_past(c, z, PAST_KEY, z->key_size))
        return false;
    const struct value *lengths = infer_in(c, LENGTHS);
    if (infer_in(c, PAST_KEY) != NULL && infer_in(c, PAST_VALUE)->shape.dim[2] != z->past)
        return infer_error(c, "past_key and past_value have %lld and %lld positions", (long long)z->past,
                           (long long)infer_in(c, PAST_VALUE)->shape.dim[2]);
    if (lengths != NULL && infer_in(c, PAST_KEY) != NULL)
        return infer_error(c, "nonpad_kv_seqlen and past_key exclude each other");
    if (lengths != NULL && !shape_equal(&lengths->shape, &SHAPE(z->batch)))
        return infer_error(c, "input 6 '%s' has shape %s, expected [%lld]", lengths->name,
                           shape_text(c->diag->arena, &lengths->shape), (long long)z->batch);
    return check_mask(c, z);
}

static bool attention_infer(struct infer_ctx *c)
{
    struct attention_sizes z;
    if (!check_attributes(c) || !check_sizes(c, &z))
        return false;
    struct shape y = *infer_shape(c, Q);
    int64_t width = z.value_size;
    if (z.flat && !checked_mul(z.q_heads, z.value_size, &width))
        return infer_error(c, "the output has too many elements");
    const struct size row = shape_size(infer_shape(c, V), y.rank - 1),
                      shared = size_constant(z.flat ? z.q_heads / z.kv_heads : 1);
    shape_set(&y, y.rank - 1, (struct size){width, size_product(row, shared).per});
    const struct value *const past = infer_in(c, PAST_KEY);
    const int at = z.flat ? 1 : 2;
    const struct size batch = shape_size(&y, 0), q_length = shape_size(&y, at),
                      total = size_sum(past ? shape_size(&past->shape, 2) : size_constant(0),
                                       shape_size(infer_shape(c, K), at)),
                      q_heads = size_constant(z.q_heads), kv_heads = size_constant(z.kv_heads);
    const struct size key_size = size_quotient(shape_size(infer_shape(c, Q), y.rank - 1), z.flat ? z.q_heads : 1),
                      value_size = size_quotient(row, z.flat ? z.kv_heads : 1);
    const struct shape key = SHAPE_OF(batch, kv_heads, total, key_size),
                       value = SHAPE_OF(batch, kv_heads, total, value_size);
    return infer_out(c, Y, DTYPE_UNDEFINED, &y) && infer_out(c, PRESENT_KEY, DTYPE_UNDEFINED, &key) &&
           infer_out(c, PRESENT_VALUE, DTYPE_UNDEFINED, &value) &&
           infer_out(c, SCORES, DTYPE_UNDEFINED, &SHAPE_OF(batch, q_heads, q_length, total));
}

/* Of a node that inference has passed. */
static struct attention_sizes sizes_of(const struct node *n)
{
    const struct shape *q = &node_input(n, Q)->shape, *k = &node_input(n, K)->shape, *v = &node_input(n, V)->shape;
    struct attention_sizes z = {.flat = q->rank == 3, .batch = q->dim[0]};
    z.q_heads = z.flat ? op_attr_int(n, "q_num_heads") : q->dim[1];
    z.kv_heads = z.flat ? op_attr_int(n, "kv_num_heads") : k->dim[1];
    z.q_length = q->dim[z.flat ? 1 : 2];
    z.kv_length = k->dim[z.flat ? 1 : 2];
    z.batch_per = q->per[0];
    z.length_per = q->per[z.flat ? 1 : 2];
    z.key_size = z.flat ? q->dim[2] / z.q_heads : q->dim[3];
    z.value_size = z.flat ? v->dim[2] / z.kv_heads : v->dim[3];
    z.key_per = size_quotient(shape_size(q, q->rank - 1), z.flat ? z.q_heads : 1).per;
    z.value_per = size_quotient(shape_size(v, v->rank - 1), z.flat ? z.kv_heads : 1).per;
    const struct value *const past = node_input(n, PAST_KEY);
    const struct size before = past != NULL ? shape_size(&past->shape, 2) : size_constant(0);
    z.past = before.most;
    z.total_per = size_sum(before, shape_size(k, z.flat ? 1 : 2)).per;
    return z;
}

static enum dtype computed_type(const struct node *n)
{
    return node_input(n, Q)->dtype == DTYPE_DOUBLE || node_input(n, V)->dtype == DTYPE_DOUBLE ||
                   op_attr_int(n, "softmax_precision") == DTYPE_DOUBLE
               ? DTYPE_DOUBLE
               : DTYPE_FLOAT;
}

static double scale_of(const struct node *n, const struct attention_sizes *z)
{
    return node_attr(n, "scale") != NULL ? op_attr_float(n, "scale") : 1 / sqrt((double)z->key_size);
}

/* How far j may lie from p on either side; negative: as far as it likes. */
struct attention_window {
    int64_t left, right;
};

static int64_t window_size(const struct node *n, const char *attr)
{
    const int64_t size = op_attr_int(n, attr);
    return size < 4 * (int64_t)MOST_POSITIONS ? size : -1; /* it reaches everywhere */
}

static struct attention_window window_of(const struct node *n)
{
    struct attention_window w = {window_size(n, "left_window_size"), window_size(n, "right_window_size")};
    if (op_attr_int(n, "is_causal") != 0)
        w.right = 0;
    return w;
}

/* ---- expansion -------------------------------------------------------------------------------------------------- */

/* [batch, heads, length, size], in the computed type. */
static struct value *by_heads(struct expand_ctx *c, const struct attention_sizes *z, int i, int64_t heads,
                              struct size size)
{
    struct value *v = expand_in(c, i);
    if (!z->flat)
        return v;
    const struct shape apart =
        SHAPE_OF(shape_size(&v->shape, 0), shape_size(&v->shape, 1), size_constant(heads), size);
    return build_transpose(c->b, build_reshape(c->b, v, &apart), (const int[]){0, 2, 1, 3});
}

static struct value *with_past(struct expand_ctx *c, struct value *past, struct value *v)
{
    return past == NULL ? v : build_with(c, "Concat", ATTRS(attr_int("axis", 2)), past, v);
}

/* Scores lie as [batch, kv heads, heads of Q to each, L, S], or without the third axis where that is 1. So does
 * what has an axis for heads: one of a single element gives room for both. */
static struct value *grouped(struct expand_ctx *c, const struct attention_sizes *z, struct value *v)
{
    const struct size one = size_constant(1);
    const int64_t shared = z->q_heads / z->kv_heads;
    if (shared == 1 || v->shape.rank < 3)
        return v;
    const int first = v->shape.rank - 3; /* the axis of heads */
    const int64_t heads = v->shape.dim[first];
    const struct shape s =
        SHAPE_OF(first > 0 ? shape_size(&v->shape, 0) : one, heads == 1 ? one : size_constant(z->kv_heads),
                 heads == z->q_heads && heads != 1 ? size_constant(shared) : one, shape_size(&v->shape, first + 1),
                 shape_size(&v->shape, first + 2));
    return build_reshape(c->b, v, &s);
}

/* 0, 1 .. count - 1 as int32, in the shape of a list with `after` axes behind it. */
static struct value *numbers(struct expand_ctx *c, int64_t first, struct size count, int after)
{
    struct shape s = SHAPE_OF(count);
    for (int i = 0; i < after; i++)
        shape_add(&s, size_constant(1));
    return build_counter(c->b, DTYPE_INT32, first, &s);
}

static struct value *both(struct expand_ctx *c, struct value *a, struct value *b)
{
    return a == NULL ? b : b == NULL ? a : build(c, "And", a, b);
}

/* p, of shape [L,1], or [batch,1,L,1] ([batch,1,1,L,1] for shared heads) where lengths give it. */
static struct value *positions(struct expand_ctx *c, const struct attention_sizes *z, struct value *lengths)
{
    if (lengths == NULL)
        return numbers(c, z->past, length_of(z), 1);
    return build(c, "Add", numbers(c, -z->q_length, length_of(z), 1), lengths);
}

/* The lengths as int32, with the axes of scores. */
static struct value *lengths_of(struct expand_ctx *c, const struct attention_sizes *z)
{
    struct value *v = expand_in(c, LENGTHS);
    struct shape s = SHAPE_OF(batch_of(z));
    for (int d = 1; d < (z->q_heads == z->kv_heads ? 4 : 5); d++)
        shape_add(&s, size_constant(1));
    return v == NULL ? NULL : build_reshape(c->b, build_cast(c->b, v, DTYPE_INT32), &s);
}

/* What is in sight, as bools over scores; NULL: all. */
static struct value *sight(struct expand_ctx *c, const struct attention_sizes *z)
{
    const struct attention_window w = window_of(c->node);
    const struct size total = {total_of(z), z->total_per};
    struct value *seen = NULL, *const lengths = lengths_of(c, z), *const j = numbers(c, 0, total, 0);
    struct value *const p = w.left >= 0 || w.right >= 0 ? positions(c, z, lengths) : NULL;
    if (w.right >= 0)
        seen = build(c, "LessOrEqual", j, build(c, "Add", p, build_like(c, p, (double)w.right)));
    if (w.left >= 0)
        seen = both(c, seen, build(c, "GreaterOrEqual", j, build(c, "Sub", p, build_like(c, p, (double)w.left))));
    if (lengths != NULL)
        seen = both(c, seen, build(c, "Less", j, lengths));
    return seen;
}

/* The mask for all positions: what it has no column for is out of sight. */
static struct value *padded_mask(struct expand_ctx *c, const struct attention_sizes *z)
{
    struct value *m = expand_in(c, MASK);
    const int64_t missing = m == NULL ? 0 : total_of(z) - m->shape.dim[m->shape.rank - 1];
    if (missing == 0)
        return m;
    const int64_t pads[] = {0, missing}, axis = -1;
    struct value *const fill = build_scalar(c->b, m->dtype, m->dtype == DTYPE_BOOL ? 0 : -HUGE_VAL);
    return build(c, "Pad", m, build_ints(c->b, pads, 2), fill, build_ints(c->b, &axis, 1));
}

/* Can a row of scores see nothing? Without masks and lengths only the last row may lie beyond all that its window
 * reaches. */
static bool may_see_nothing(const struct node *n, const struct attention_sizes *z)
{
    const struct attention_window w = window_of(n);
    return node_input(n, MASK) != NULL || node_input(n, LENGTHS) != NULL ||
           (w.left >= 0 && z->past + z->q_length - 1 - w.left >= total_of(z));
}

static struct value *soft_capped(struct expand_ctx *c, struct value *x)
{
    const double cap = op_attr_float(c->node, "softcap");
    if (!(cap > 0))
        return x;
    return build(c, "Mul", build(c, "Tanh", build(c, "Div", x, build_like(c, x, cap))), build_like(c, x, cap));
}

static struct value *masked(struct expand_ctx *c, const struct attention_sizes *z, struct value *x)
{
    struct value *mask = padded_mask(c, z), *seen = sight(c, z);
    if (mask != NULL) {
        mask = grouped(c, z, mask);
        if (mask->dtype == DTYPE_BOOL)
            seen = both(c, mask, seen);
        else
            x = build(c, "Add", x, build_cast(c->b, mask, x->dtype));
    }
    return seen == NULL ? x : build(c, "Where", seen, x, build_like(c, x, -HUGE_VAL));
}

/* y [.., L, E] in the form of the output. */
static struct value *as_output(struct expand_ctx *c, const struct attention_sizes *z, struct value *y)
{
    y = build_reshape(c->b, y, &SHAPE_OF(batch_of(z), size_constant(z->q_heads), length_of(z), value_of(z)));
    if (z->flat)
        y = build_transpose(c->b, y, (const int[]){0, 2, 1, 3});
    return build_reshape(c->b, build_cast(c->b, y, expand_in(c, Q)->dtype), &c->node->outputs.data[Y]->shape);
}

static bool attention_expand(struct expand_ctx *c)
{
    const struct attention_sizes z = sizes_of(c->node);
    const enum dtype type = computed_type(c->node);
    struct value *stage[PROBABILITIES + 1];
    struct value *const k = with_past(c, expand_in(c, PAST_KEY), by_heads(c, &z, K, z.kv_heads, key_of(&z)));
    struct value *const v = with_past(c, expand_in(c, PAST_VALUE), by_heads(c, &z, V, z.kv_heads, value_of(&z)));
    struct value *q = build_cast(c->b, by_heads(c, &z, Q, z.q_heads, key_of(&z)), type);
    q = grouped(c, &z, build(c, "Mul", q, build_like(c, q, scale_of(c->node, &z))));
    struct value *const transposed = build_transpose(c->b, build_cast(c->b, k, type), (const int[]){0, 1, 3, 2});
    stage[RAW] = build(c, "MatMul", q, grouped(c, &z, transposed));
    stage[CAPPED] = soft_capped(c, stage[RAW]);
    stage[BIASED] = masked(c, &z, stage[CAPPED]);
    stage[PROBABILITIES] = build(c, may_see_nothing(c->node, &z) ? "stepc.SoftmaxOrZero" : "Softmax", stage[BIASED]);
    if (expand_wants(c, Y)) {
        struct value *const y = build(c, "MatMul", stage[PROBABILITIES], grouped(c, &z, build_cast(c->b, v, type)));
        if (!expand_out(c, Y, as_output(c, &z, y)))
            return false;
    }
    if (expand_wants(c, SCORES)) {
        struct value *const s = stage[op_attr_int(c->node, "qk_matmul_output_mode")];
        if (!expand_out(c, SCORES,
                        build_cast(c->b, build_reshape(c->b, s, &c->node->outputs.data[SCORES]->shape),
                                   expand_in(c, Q)->dtype)))
            return false;
    }
    return expand_out(c, PRESENT_KEY, k) && expand_out(c, PRESENT_VALUE, v);
}

/* ---- value: one row of scores after another --------------------------------------------------------------------- */

/* Element d of position l of a head. */
static double element(const struct eval_tensor *t, bool flat, int64_t heads, int64_t b, int64_t h, int64_t l, int64_t d)
{
    const int64_t length = t->shape.dim[flat ? 1 : 2], size = flat ? t->shape.dim[2] / heads : t->shape.dim[3];
    return flat ? t->f[((b * length + l) * heads + h) * size + d] : t->f[((b * heads + h) * length + l) * size + d];
}

/* The same of K or V behind their past, which is not flat. */
static double cached(const struct eval_ctx *c, const struct attention_sizes *z, int input, int past, int64_t b,
                     int64_t h, int64_t l, int64_t d)
{
    return l < z->past ? element(c->in[past], false, z->kv_heads, b, h, l, d)
                       : element(c->in[input], z->flat, z->kv_heads, b, h, l - z->past, d);
}

/* The mask's number for a score, -inf where it hides it. */
static double mask_at(const struct eval_tensor *m, const int64_t index[4])
{
    int64_t at = 0;
    for (int d = 0; d < m->shape.rank; d++) {
        const int64_t i = index[4 - m->shape.rank + d], extent = m->shape.dim[d];
        if (d == m->shape.rank - 1 && i >= extent)
            return -HUGE_VAL;
        at = at * extent + (extent == 1 ? 0 : i);
    }
    return m->f != NULL ? m->f[at] : m->i[at] ? 0 : -HUGE_VAL;
}

/* As the code has it: int32. */
static int64_t length_at(const struct eval_ctx *c, int64_t b)
{
    return dtype_wrap(DTYPE_INT32, eval_i(c, LENGTHS)[b]);
}

static bool is_seen(const struct eval_ctx *c, const struct attention_sizes *z, int64_t b, int64_t i, int64_t j)
{
    const struct attention_window w = window_of(c->node);
    const int64_t p = i + (eval_has(c, LENGTHS) ? length_at(c, b) - z->q_length : z->past);
    return (w.right < 0 || j <= p + w.right) && (w.left < 0 || j >= p - w.left) &&
           (!eval_has(c, LENGTHS) || j < length_at(c, b));
}

/* Row [b,h,i] of the stage asked for goes to `kept` (may be NULL); x has the probabilities afterwards. */
static void score_row(const struct eval_ctx *c, const struct attention_sizes *z, int64_t b, int64_t h, int64_t i,
                      double *x, double *kept)
{
    const int64_t total = total_of(z), mode = op_attr_int(c->node, "qk_matmul_output_mode");
    const double cap = op_attr_float(c->node, "softcap"), scale = scale_of(c->node, z);
    double most = -HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < total; j++) {
        double raw = 0;
        for (int64_t d = 0; d < z->key_size; d++)
            raw += element(c->in[Q], z->flat, z->q_heads, b, h, i, d) * scale *
                   cached(c, z, K, PAST_KEY, b, h / (z->q_heads / z->kv_heads), j, d);
        const double capped = cap > 0 ? cap * tanh(raw / cap) : raw;
        x[j] = capped + (eval_has(c, MASK) ? mask_at(c->in[MASK], (const int64_t[]){b, h, i, j}) : 0);
        if (!is_seen(c, z, b, i, j))
            x[j] = -HUGE_VAL;
        if (kept != NULL && mode != PROBABILITIES)
            kept[j] = mode == RAW ? raw : mode == CAPPED ? capped : x[j];
        most = x[j] > most || isnan(x[j]) ? x[j] : most;
    }
    for (int64_t j = 0; j < total; j++)
        sum += x[j] = most == -HUGE_VAL ? 0 : exp(x[j] - most);
    for (int64_t j = 0; j < total; j++) {
        x[j] = sum == 0 ? 0 : x[j] / sum;
        if (kept != NULL && mode == PROBABILITIES)
            kept[j] = x[j];
    }
}

static void present(const struct eval_ctx *c, const struct attention_sizes *z, int output, int input, int past)
{
    struct eval_tensor *const y = eval_output(c, output);
    if (y == NULL)
        return;
    int64_t at = 0;
    for (int64_t b = 0; b < z->batch; b++)
        for (int64_t h = 0; h < z->kv_heads; h++)
            for (int64_t l = 0; l < total_of(z); l++)
                for (int64_t d = 0; d < y->shape.dim[3]; d++)
                    y->f[at++] = cached(c, z, input, past, b, h, l, d);
}

static bool attention_eval(struct eval_ctx *c)
{
    const struct attention_sizes z = sizes_of(c->node);
    const int64_t total = total_of(&z);
    double *const row = arena_array(c->scratch, double, (size_t)total + 1), *const y = eval_out_f(c, Y),
                  *const scores = eval_out_f(c, SCORES);
    for (int64_t b = 0; b < z.batch; b++)
        for (int64_t h = 0; h < z.q_heads; h++)
            for (int64_t i = 0; i < z.q_length; i++) {
                score_row(c, &z, b, h, i, row,
                          scores != NULL ? scores + ((b * z.q_heads + h) * z.q_length + i) * total : NULL);
                const int64_t place =
                    z.flat ? (b * z.q_length + i) * z.q_heads + h : (b * z.q_heads + h) * z.q_length + i;
                for (int64_t d = 0; y != NULL && d < z.value_size; d++)
                    for (int64_t j = 0; j < total; j++)
                        y[place * z.value_size + d] +=
                            row[j] * cached(c, &z, V, PAST_VALUE, b, h / (z.q_heads / z.kv_heads), j, d);
            }
    present(c, &z, PRESENT_KEY, K, PAST_KEY);
    present(c, &z, PRESENT_VALUE, V, PAST_VALUE);
    return true;
}

#define QKV "float[2,3,4,8] q, float[2,3,6,8] k, float[2,3,6,5] v"
#define FLAT "float[2,4,12] q, float[2,6,12] k, float[2,6,15] v"
#define SHARED "float[2,6,3,4] q, float[2,2,5,4] k, float[2,2,5,3] v"
static const struct op_sample samples[] = {
    {.text = "g (" QKV ") => (float[2,3,4,5] y) { y = Attention(q, k, v) }"},
    {.text = "g (double[1,2,3,4] q, double[1,2,5,4] k, double[1,2,5,4] v) => (double[1,2,3,4] y) { y = Attention "
             "<scale = 0.3> (q, k, v) }"},
    {.text = "g (" FLAT ") => (float[2,4,15] y) { y = Attention <q_num_heads = 3, kv_num_heads = 3> (q, k, v) }"},
    {.text = "g (" QKV ", float[4,6] m) => (float[2,3,4,5] y) { y = Attention(q, k, v, m) }"},
    {.text = "g (" QKV ", float[2,1,4,6] m) => (float[2,3,4,5] y) { y = Attention <softcap = 2.0> (q, k, v, m) }"},
    {.text = "g (" QKV ", bool[3,4,6] m) => (float[2,3,4,5] y) { y = Attention(q, k, v, m) }"},
    {.text = "g (" QKV ") => (float[2,3,4,5] y) { y = Attention <is_causal = 1> (q, k, v) }"},
    /* a row that sees nothing; fewer columns than positions */
    {.text = "g (" QKV ") => (float[2,3,4,5] y, float[2,3,4,6] s) { m = Constant <value = bool[4,5] {1, 1, 1, 1, 0, 0, "
                       "0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1}> () "
             "y, , , s = Attention <qk_matmul_output_mode = 3> (q, k, v, m) }"},
    {.text = "g (" QKV ", float[3,1,4] m) => (float[2,3,4,5] y) { y = Attention(q, k, v, m) }"},
    /* heads of K and V for several of Q */
    {.text = "g (" SHARED ") => (float[2,6,3,3] y) { y = Attention(q, k, v) }"},
    {.text = "g (" SHARED ", float[2,6,3,5] m) => (float[2,6,3,3] y, float[2,6,3,5] s) { y, , , s = Attention "
                          "<is_causal = 1> (q, k, v, m) }"},
    {.text = "g (" SHARED ", bool[1,3,5] m) => (float[2,6,3,3] y) { y = Attention(q, k, v, m) }"},
    {.text = "g (float[2,3,12] q, float[2,5,4] k, float[2,5,2] v, float[3,5] m) => (float[2,3,6] y) { y = Attention "
             "<q_num_heads = 3, kv_num_heads = 1> (q, k, v, m) }"},
    /* what is past */
    {.text = "g (" QKV
             ", float[2,3,2,8] pk, float[2,3,2,5] pv) => (float[2,3,4,5] y, float[2,3,8,8] nk, float[2,3,8,5] nv) "
             "{ y, nk, nv = Attention <is_causal = 1> (q, k, v, , pk, pv) }"},
    {.text = "g (" FLAT ", float[2,3,2,4] pk, float[2,3,2,5] pv) => (float[2,4,15] y, float[2,3,8,4] nk, "
                        "float[2,3,8,5] nv, float[2,3,4,8] s) "
             "{ y, nk, nv, s = Attention <q_num_heads = 3, kv_num_heads = 3, qk_matmul_output_mode = 1, softcap = 1.5> "
             "(q, k, v, , pk, pv) }",
     .opset = 23},
    {.text = "g (" QKV ") => (float[2,3,6,8] nk) { y, nk = Attention(q, k, v) }"},
    /* scores where nothing is added to them */
    {.text = "g (" QKV ") => (float[2,3,4,6] s) { y, , , s = Attention(q, k, v) }"},
    {.text = "g (" QKV ") => (float[2,3,4,6] s) { y, , , s = Attention <qk_matmul_output_mode = 1, softcap = 0.5> "
             "(q, k, v) }"},
    {.text = "g (" QKV ") => (float[2,3,4,6] s) { y, , , s = Attention <qk_matmul_output_mode = 2, softcap = 0.5> "
             "(q, k, v) }"},
    /* padding; windows */
    {.text = "g (" QKV ") => (float[2,3,4,5] y) { n = Constant <value_ints = [3, 6]> () y = Attention <is_causal = 1> "
                       "(q, k, v, , , , n) }",
     .opset = 24},
    {.text = "g (" SHARED
             ") => (float[2,6,3,3] y) { n = Constant <value_ints = [0, 4]> () y = Attention(q, k, v, , , , n) }"},
    {.text =
         "g (" QKV ") => (float[2,3,4,5] y) { y = Attention <left_window_size = 1, right_window_size = 0> (q, k, v) }"},
    {.text = "g (float[1,1,6,2] q, float[1,1,3,2] k, float[1,1,3,2] v) => (float[1,1,6,2] y) { y = Attention "
             "<left_window_size = 1, right_window_size = 2> (q, k, v) }"},
    {.text = "g (float16[1,2,3,4] q, float16[1,2,5,4] k, float16[1,2,5,4] v, float16[3,5] m) => (float16[1,2,3,4] y) { "
             "y = Attention(q, k, v, m) }",
     .tolerance = 4e-3},
    {.text =
         "g (float[1,2,3,4] q, float[1,2,5,4] k, double[1,2,5,4] v) => (float[1,2,3,4] y) { y = Attention(q, k, v) }"},
    {.text = "g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,4] v) => (float[1,2,3,4] y) { y = Attention "
             "<softmax_precision = 11> (q, k, v) }"},
    {.text =
         "g (float[0,2,3,4] q, float[0,2,5,4] k, float[0,2,5,4] v) => (float[0,2,3,4] y) { y = Attention(q, k, v) }"},
    {.text = "g (float[2,3,4] q, float[2,3,4] k, float[2,3,4] v) => (float[2,3,4] y) { y = Attention(q, k, v) }",
     .error = "attribute 'q_num_heads' is 0, expected the number of heads, as 'q' has rank 3"},
    {.text = "g (float[2,3,4] q, float[2,3,4] k, float[2,3,4] v) => (float[2,3,4] y) { y = Attention <q_num_heads = 3, "
             "kv_num_heads = 1> (q, k, v) }",
     .error = "'q' has rows of 4 elements, which 3 heads do not share"},
    {.text =
         "g (float[2,3,4,5] q, float[2,2,4,5] k, float[2,2,4,5] v) => (float[2,3,4,5] y) { y = Attention(q, k, v) }",
     .error = "Q has 3 heads, K 2, V 2: those of K and V must be as many and divide Q's"},
    {.text =
         "g (float[2,3,4,5] q, float[2,3,4,6] k, float[2,3,4,5] v) => (float[2,3,4,5] y) { y = Attention(q, k, v) }",
     .error = "heads of K have 6 elements, expected 5 as those of Q"},
    {.text = "g (float[1,1,268435457,1] q, float[1,1,2,1] k, float[1,1,2,1] v) => (float[1,1,268435457,1] y) "
             "{ y = Attention(q, k, v) }",
     .error = "more than 268435456 positions are not supported"},
    {.text = "g (float[1,1,2,1] q, float[1,1,268435457,1] k, float[1,1,268435457,1] v) => (float[1,1,2,1] y) "
             "{ y = Attention(q, k, v) }",
     .error = "more than 268435456 positions are not supported"},
    {.text = "g (float[1,1,2,1] q, float[1,1,2,1] k, float[1,1,2,1] v, float[1,1,268435457,1] p, "
             "float[1,1,268435457,1] r) => (float[1,1,2,1] y) { y = Attention(q, k, v, , p, r) }",
     .error = "more than 268435456 positions are not supported"},
    {.text = "g (float[2,4,5] q, float[2,3,4,5] k, float[2,3,4,5] v) => (float[2,4,5] y) { y = Attention(q, k, v) }",
     .error = "input 1 'k' has rank 4, expected 3 or 4, for Q, K and V alike"},
    {.text = "g (float[4,5] q, float[4,5] k, float[4,5] v) => (float[4,5] y) { y = Attention(q, k, v) }",
     .error = "input 0 'q' has rank 2, expected 3 or 4"},
    {.text = "g (float[2,1,4,5] q, float[3,1,4,5] k, float[2,1,4,5] v) => (float[2,1,4,5] y) { y = Attention(q, k, "
             "v) }",
     .error = "Q, K and V have batches of 2, 3 and 2, K and V 4 and 4 positions: expected equal ones"},
    {.text = "g (float[2,1,4,5] q, float[2,1,4,5] k, float[3,1,4,5] v) => (float[2,1,4,5] y) { y = Attention(q, k, "
             "v) }",
     .error = "Q, K and V have batches of 2, 2 and 3"},
    {.text = "g (float[2,1,4,5] q, float[2,1,4,5] k, float[2,1,3,5] v) => (float[2,1,4,5] y) { y = Attention(q, k, "
             "v) }",
     .error = "K and V 4 and 3 positions"},
    {.text = "g (" QKV ", float[2,3,2,8] p, float[2,3,3,5] r) => (float[2,3,4,5] y) { y = Attention(q, k, v, , p, r) }",
     .error = "past_key and past_value have 2 and 3 positions"},
    {.text = "g (" QKV ", float[2,3,2,8] p, float[2,3,2,5] r, int64[2] n) => (float[2,3,4,5] y) "
             "{ y = Attention(q, k, v, , p, r, n) }",
     .error = "nonpad_kv_seqlen and past_key exclude each other"},
    {.text = "g (" QKV ", float[2,3,8] p, float[2,3,2,5] r) => (float[2,3,4,5] y) { y = Attention(q, k, v, , p, r) }",
     .error = "input 4 'p' has shape [2,3,8], expected [2,3,past,8]"},
    {.text = "g (" QKV ", float[4,7] m) => (float[2,3,4,5] y) { y = Attention(q, k, v, m) }",
     .error = "does not broadcast to [2,3,4,6]"},
    {.text = "g (" QKV ", int32[4,6] m) => (float[2,3,4,5] y) { y = Attention(q, k, v, m) }",
     .error = "input 3 'm' is int32, expected bool or float"},
    {.text = "g (" QKV ", float[2,3,2,8] p) => (float[2,3,4,5] y) { y = Attention(q, k, v, , p) }",
     .error = "given together or not at all"},
    {.text = "g (" QKV ", float[2,3,2,8] p, float[2,3,2,8] r) => (float[2,3,4,5] y) { y = Attention(q, k, v, , p, r) }",
     .error = "input 5 'r' has shape [2,3,2,8], expected [2,3,past,5]"},
    {.text = "g (" QKV ") => (float[2,3,4,5] y) { y = Attention <qk_matmul_output_mode = 4> (q, k, v) }",
     .error = "expected 0 to 3"},
    {.text = "g (" QKV ") => (float[2,3,4,5] y) { y = Attention <softmax_precision = 7> (q, k, v) }",
     .error = "expected a floating type"},
    /* windows that reach everywhere, as exporters write them */
    {.text = "g (" QKV ") => (float[2,3,4,5] y) { y = Attention "
             "<left_window_size = 2147483647, right_window_size = 9223372036854775807> (q, k, v) }"},
    {.text = "g (float[1,1,0] q, float[1,1,0] k, float[1,1,4] v) => (float[1,1,4] y) { y = Attention "
             "<q_num_heads = 4611686018427387904, kv_num_heads = 1> (q, k, v) }",
     .error = "expected the number of heads"},
    {.text = "g (" QKV ") => (float[2,3,4,5] y) { y = Attention <left_window_size = -2> (q, k, v) }",
     .error = "a window size is less than -1"},
    {.text = "g (" QKV ", int64[3] n) => (float[2,3,4,5] y) { y = Attention(q, k, v, , , , n) }",
     .error = "input 6 'n' has shape [3], expected [2]"},
    {0}};

/* ---- stepc.SoftmaxOrZero: softmax along the last axis, 0 in rows that are -inf throughout ----------------------- */

static const struct op_param rows_inputs[] = {{.name = "x", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param rows_outputs[] = {{.name = "y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_version rows_versions[] = {{.since = 1}, {0}};

static bool rows_infer(struct infer_ctx *c)
{
    return infer_rank(c, 0) > 0 ? infer_same_as_input(c) : infer_error(c, "input 0 is a scalar");
}

/* dx = y (dy - sum(dy y)), which is 0 where y is */
static bool rows_grad(struct grad_ctx *c)
{
    struct value *y = grad_output(c, 0), *dy = grad_of_output(c, 0);
    const int last = y->shape.rank - 1;
    struct value *mean = build_reduce_sum(c->b, build(c, "Mul", dy, y), &last, 1, true);
    return grad_accumulate(c, 0, build(c, "Mul", y, build(c, "Sub", dy, mean)));
}

/* A row's maximum of -inf counts as 0, a sum of 0 as 1. */
static bool rows_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0), *nought = build_like(c, x, 0.0);
    const int last = x->shape.rank - 1;
    const int64_t axis = last;
    struct value *most = build_with(c, "ReduceMax", ATTRS(attr_int("keepdims", 1)), x, build_ints(c->b, &axis, 1));
    most = build(c, "Where", build(c, "Equal", most, build_like(c, x, -HUGE_VAL)), nought, most);
    struct value *e = build(c, "Exp", build(c, "Sub", x, most)), *sum = build_reduce_sum(c->b, e, &last, 1, true);
    sum = build(c, "Where", build(c, "Equal", sum, nought), build_like(c, x, 1.0), sum);
    return expand_out(c, 0, build(c, "Mul", e, build(c, "Reciprocal", sum)));
}

static bool rows_eval(struct eval_ctx *c)
{
    const struct eval_tensor *const x = eval_input(c, 0);
    double *const y = eval_out_f(c, 0);
    const int64_t length = x->shape.dim[x->shape.rank - 1];
    for (int64_t from = 0; y != NULL && from < x->count; from += length) {
        const double most = eval_max(x->f + from, length, 1);
        for (int64_t k = 0; k < length && most != -HUGE_VAL; k++)
            y[from + k] = eval_math(c, x->dtype, MATH_EXP, eval_round(c, x->f[from + k] - most));
        const double sum = eval_sum_row(c, x->dtype, y + from, length, 1);
        for (int64_t k = 0; k < length && sum != 0; k++)
            y[from + k] = eval_round(c, y[from + k] * eval_round(c, 1 / sum));
    }
    return true;
}

static const struct op_sample rows_samples[] = {
    {.text = "g (float[3,37] x) => (float[3,37] y) { y = stepc.SoftmaxOrZero(x) }"},
    {.text = "g (double[2,3] v) => (double[2,3] y) { f = Constant <value_float = 0.0> () l = Log(f) m = Constant "
             "<value = bool[2,3] {1, 0, 1, 0, 0, 0}> () "
             "n = CastLike(l, v) x = Where(m, v, n) y = stepc.SoftmaxOrZero(x) }"},
    {.text = "g (float x) => (float y) { y = stepc.SoftmaxOrZero(x) }", .error = "input 0 is a scalar"},
    {0}};

/* Samples are apart; a mask may have them. */
static void attention_axes(struct axes_ctx *c)
{
    const struct value *const mask = node_input(c->node, MASK);
    const int batch = axes_label(c);
    for (int i = Q; i <= LENGTHS; i++)
        if (i != MASK || (mask && mask->shape.rank == 4 && mask->shape.dim[0] == node_input(c->node, Q)->shape.dim[0]))
            axes_put(c, i, 0, batch);
    for (int o = Y; o <= SCORES; o++)
        axes_give(c, o, 0, batch);
}

const struct op_def op_defs_attention[] = {{.name = "Attention",
                                            .versions = versions,
                                            .inputs = inputs,
                                            .outputs = outputs,
                                            .attrs = attrs,
                                            .infer = attention_infer,
                                            .axes = attention_axes,
                                            .expand = attention_expand,
                                            .eval = attention_eval,
                                            .samples = samples},
                                           {.domain = DOMAIN_STEPC,
                                            .name = "SoftmaxOrZero",
                                            .versions = rows_versions,
                                            .inputs = rows_inputs,
                                            .outputs = rows_outputs,
                                            .infer = rows_infer,
                                            .grad = rows_grad,
                                            .expand = rows_expand,
                                            .eval = rows_eval,
                                            .samples = rows_samples},
                                           {0}};
