/* LinearAttention: a state S [dk,dv] for every head of K and V goes from position to position; with k, v, q of the
 * position:
 *   linear        S <- S + k v'
 *   gated         S <- D S + k v'                          D: rows of S times exp(decay)
 *   delta         S <- S + k (beta (v - S' k))'
 *   gated_delta   S <- D S + k (beta (v - (D S)' k))'
 *   output = scale * S' q                                  heads of q may share a state; scale 0 means 1 / sqrt(dk)
 * decay has an element for each row of S or one for each head, beta one for each head or one for all. present_state
 * is the last S. chunk_size says how others compute it, not what.
 *
 * Expanded position by position, up to MOST_POSITIONS; in float, or in double where an input is: float16 is rounded
 * once, at the end. Spec: ONNX LinearAttention-27. */
#include "ops/move_rules.h"

#include "base/checked.h"

#include <math.h>
#include <string.h>

enum { Q, K, V, PAST, DECAY, BETA };
enum { MOST_POSITIONS = 4096 };

static const struct op_attr attrs[] = {{.name = "chunk_size", .type = ATTR_INT, .int_default = 64},
                                       {.name = "kv_num_heads", .type = ATTR_INT, .required = true},
                                       {.name = "q_num_heads", .type = ATTR_INT, .required = true},
                                       {.name = "scale", .type = ATTR_FLOAT},
                                       {.name = "update_rule", .type = ATTR_STRING, .string_default = "gated_delta"},
                                       {0}};
#define PARAM(label, letter, marks)                                                                                    \
    {                                                                                                                  \
        .name = (label), .type = (letter), .dtypes = DTYPES_FLOATS, .flags = (marks)                                   \
    }
static const struct op_param inputs[] = {PARAM("query", 'T', 0),
                                         PARAM("key", 'T', 0),
                                         PARAM("value", 'T', 0),
                                         PARAM("past_state", 'S', PARAM_OPTIONAL),
                                         PARAM("decay", 'T', PARAM_OPTIONAL),
                                         PARAM("beta", 'T', PARAM_OPTIONAL),
                                         {0}};
static const struct op_param outputs[] = {PARAM("output", 'T', 0), PARAM("present_state", 'S', 0), {0}};
static const struct op_version versions[] = {{.since = 27}, {0}};

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

struct linear_attention_sizes {
    struct size batch;
    int64_t length, q_heads, heads, key, value;
    bool gated, delta;
};

static struct linear_attention_sizes sizes_of(const struct node *n)
{
    const struct shape *k = &node_input(n, K)->shape;
    const char *rule = op_attr_string(n, "update_rule");
    struct linear_attention_sizes z = {.batch = shape_size(k, 0), .length = k->dim[1]};
    z.q_heads = op_attr_int(n, "q_num_heads");
    z.heads = op_attr_int(n, "kv_num_heads");
    z.key = k->dim[2] / z.heads;
    z.value = node_input(n, V)->shape.dim[2] / z.heads;
    z.gated = strncmp(rule, "gated", 5) == 0;
    z.delta = strstr(rule, "delta") != NULL;
    return z;
}

static bool check_rule(struct infer_ctx *c)
{
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
    const char *rule = op_attr_string(c->node, "update_rule");
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i], rule) == 0)
            return true;
    return infer_error(c, "attribute 'update_rule' is '%s', expected 'linear', 'gated', 'delta' or 'gated_delta'",
                       rule);
}

/* [batch, length, a] or [batch, length, b] */
static bool check_gate(struct infer_ctx *c, int i, const struct linear_attention_sizes *z, bool needed, int64_t a,
                       int64_t b)
{
    const struct value *v = infer_in(c, i);
    if (v == NULL)
        return !needed ||
               infer_error(c, "input %d is needed for update_rule '%s'", i, op_attr_string(c->node, "update_rule"));
    const int64_t width = v->shape.rank == 3 && v->shape.dim[2] == b ? b : a;
    return move_infer_shape(c, i, &SHAPE_OF(z->batch, size_constant(z->length), size_constant(width)));
}

static bool linear_infer(struct infer_ctx *c)
{
    const int64_t q_heads = op_attr_int(c->node, "q_num_heads"), heads = op_attr_int(c->node, "kv_num_heads");
    const struct shape *k = infer_shape(c, K), *v = infer_shape(c, V);
    if (!check_rule(c))
        return false;
    if (heads < 1 || q_heads < 1 || q_heads > INT32_MAX || q_heads % heads != 0)
        return infer_error(c, "%lld heads of K and V do not divide %lld of Q", (long long)heads, (long long)q_heads);
    if (k->rank != 3 || v->rank != 3 || k->dim[2] % heads != 0 || v->dim[2] % heads != 0)
        return infer_error(c, "key and value have shapes %s and %s, expected [batch,length,%lld heads * size]",
                           shape_text(c->diag->arena, k), shape_text(c->diag->arena, v), (long long)heads);
    const struct linear_attention_sizes z = sizes_of(c->node);
    const struct shape state = SHAPE_OF(z.batch, size_constant(z.heads), size_constant(z.key), size_constant(z.value));
    if (z.length > MOST_POSITIONS)
        return infer_unsupported(c, "%lld positions are to be unrolled, at most %d are supported", (long long)z.length,
                                 MOST_POSITIONS);
    int64_t q_width, width;
    if (!checked_mul(z.q_heads, z.key, &q_width) || !checked_mul(z.q_heads, z.value, &width))
        return infer_error(c, "the output has too many elements");
    const struct size length = size_constant(z.length);
    return move_infer_shape(c, Q, &SHAPE_OF(z.batch, length, size_constant(q_width))) &&
           move_infer_shape(c, V, &SHAPE_OF(z.batch, length, shape_size(v, 2))) && move_infer_shape(c, PAST, &state) &&
           check_gate(c, DECAY, &z, z.gated, z.heads * z.key, z.heads) &&
           check_gate(c, BETA, &z, z.delta, z.heads, 1) &&
           infer_out(c, 0, DTYPE_UNDEFINED, &SHAPE_OF(z.batch, length, size_constant(width))) &&
           infer_out(c, 1, infer_in(c, PAST) != NULL ? infer_in(c, PAST)->dtype : infer_in(c, Q)->dtype, &state);
}

static double scale_of(const struct node *n, const struct linear_attention_sizes *z)
{
    const double scale = op_attr_float(n, "scale");
    return scale != 0 ? scale : 1 / sqrt((double)z->key);
}

static enum dtype computed_type(const struct node *n)
{
    const struct value *past = node_input(n, PAST);
    return node_input(n, Q)->dtype == DTYPE_DOUBLE || (past != NULL && past->dtype == DTYPE_DOUBLE) ? DTYPE_DOUBLE
                                                                                                    : DTYPE_FLOAT;
}

/* ---- expansion -------------------------------------------------------------------------------------------------- */

/* One position of input i, [batch, heads, rows, columns]; `parts` are all positions, side by side. */
static struct value *position(struct expand_ctx *c, struct node *parts, int64_t t, int64_t heads, int64_t rows,
                              int64_t columns)
{
    struct value *const v = parts->outputs.data[t];
    const struct size batch = shape_size(&v->shape, 0);
    return build_reshape(c->b, v, &SHAPE_OF(batch, size_constant(heads), size_constant(rows), size_constant(columns)));
}

static struct node *positions(struct expand_ctx *c, const struct linear_attention_sizes *z, int i, enum dtype type)
{
    struct value *const in[] = {expand_in(c, i) != NULL ? build_cast(c->b, expand_in(c, i), type) : NULL};
    return in[0] == NULL || z->length == 0
               ? NULL
               : build_node(c->b, "Split", ATTRS(attr_int("axis", 1), attr_int("num_outputs", z->length)), in, 1,
                            (size_t)z->length);
}

struct gates {
    struct node *q, *k, *v, *decay, *beta;
};

static struct value *next_state(struct expand_ctx *c, const struct linear_attention_sizes *z, const struct gates *g,
                                int64_t t, struct value *state)
{
    struct value *column = position(c, g->k, t, z->heads, z->key, 1),
                 *row = position(c, g->v, t, z->heads, 1, z->value);
    if (z->gated) {
        const int64_t each = g->decay->outputs.data[t]->shape.dim[2] == z->heads ? 1 : z->key;
        state = build(c, "Mul", state, build(c, "Exp", position(c, g->decay, t, z->heads, each, 1)));
    }
    if (z->delta) {
        struct value *kept = build(c, "MatMul", position(c, g->k, t, z->heads, 1, z->key), state);
        row = build(c, "Mul", position(c, g->beta, t, g->beta->outputs.data[t]->shape.dim[2], 1, 1),
                    build(c, "Sub", row, kept));
    }
    return build(c, "Add", state, build(c, "Mul", column, row));
}

/* Heads of q that share a state are rows of one product. */
static struct value *read_state(struct expand_ctx *c, const struct linear_attention_sizes *z, const struct gates *g,
                                int64_t t, struct value *state)
{
    struct value *q = position(c, g->q, t, z->heads, z->q_heads / z->heads, z->key);
    q = build(c, "Mul", q, build_like(c, q, scale_of(c->node, z)));
    const struct shape row = SHAPE_OF(z->batch, size_constant(1), size_constant(z->q_heads * z->value));
    return build_reshape(c->b, build(c, "MatMul", q, state), &row);
}

static bool linear_expand(struct expand_ctx *c)
{
    const struct linear_attention_sizes z = sizes_of(c->node);
    const enum dtype type = computed_type(c->node);
    const struct gates g = {positions(c, &z, Q, type), positions(c, &z, K, type), positions(c, &z, V, type),
                            positions(c, &z, DECAY, type), positions(c, &z, BETA, type)};
    const struct shape state_shape =
        SHAPE_OF(z.batch, size_constant(z.heads), size_constant(z.key), size_constant(z.value));
    struct value *state = expand_in(c, PAST) != NULL ? build_cast(c->b, expand_in(c, PAST), type)
                                                     : build_expand(c->b, build_scalar(c->b, type, 0),
                                                                    &state_shape);
    struct value **const read = arena_array(c->b->graph->arena, struct value *, (size_t)z.length);
    for (int64_t t = 0; t < z.length && !c->b->failed; t++) {
        state = next_state(c, &z, &g, t, state);
        read[t] = read_state(c, &z, &g, t, state);
    }
    if (expand_wants(c, 0)) {
        struct value *y =
            z.length == 0   ? build_expand(c->b, build_scalar(c->b, type, 0), &c->node->outputs.data[0]->shape)
            : z.length == 1 ? read[0]
                            : build_value(c->b, "Concat", ATTRS(attr_int("axis", 1)), read, (size_t)z.length);
        if (!expand_out(c, 0, build_cast(c->b, y, expand_in(c, Q)->dtype)))
            return false;
    }
    return !expand_wants(c, 1) ? !c->b->failed
                               : expand_out(c, 1, build_cast(c->b, state, c->node->outputs.data[1]->dtype));
}

/* ---- value ------------------------------------------------------------------------------------------------------ */

/* One position of one head of K and V. */
static void update(const struct eval_ctx *c, const struct linear_attention_sizes *z, int64_t b, int64_t t, int64_t h,
                   double *s)
{
    const int64_t at = b * z->length + t;
    const double *k = c->in[K]->f + (at * z->heads + h) * z->key, *v = c->in[V]->f + (at * z->heads + h) * z->value;
    for (int64_t i = 0; z->gated && i < z->key; i++) {
        const bool by_head = c->in[DECAY]->shape.dim[2] == z->heads;
        const double decay = exp(c->in[DECAY]->f[by_head ? at * z->heads + h : (at * z->heads + h) * z->key + i]);
        for (int64_t j = 0; j < z->value; j++)
            s[i * z->value + j] *= decay;
    }
    for (int64_t j = 0; j < z->value; j++) {
        double write = v[j];
        if (z->delta) {
            for (int64_t i = 0; i < z->key; i++)
                write -= s[i * z->value + j] * k[i];
            write *= c->in[BETA]->f[c->in[BETA]->shape.dim[2] == z->heads ? at * z->heads + h : at];
        }
        for (int64_t i = 0; i < z->key; i++)
            s[i * z->value + j] += k[i] * write;
    }
}

static void read_heads(const struct eval_ctx *c, const struct linear_attention_sizes *z, int64_t b, int64_t t,
                       int64_t h, const double *s)
{
    const int64_t shared = z->q_heads / z->heads, first = (b * z->length + t) * z->q_heads + h * shared;
    for (int64_t g = first; g < first + shared; g++)
        for (int64_t j = 0; j < z->value; j++) {
            double sum = 0;
            for (int64_t i = 0; i < z->key; i++)
                sum += c->in[Q]->f[g * z->key + i] * s[i * z->value + j];
            eval_out_f(c, 0)[g * z->value + j] = scale_of(c->node, z) * sum;
        }
}

static bool linear_eval(struct eval_ctx *c)
{
    const struct linear_attention_sizes z = sizes_of(c->node);
    const int64_t count = z.key * z.value;
    double *s = arena_array(c->scratch, double, (size_t)count + 1);
    for (int64_t k = 0; k < z.batch.most * z.heads; k++) {
        for (int64_t i = 0; i < count; i++)
            s[i] = eval_has(c, PAST) ? c->in[PAST]->f[k * count + i] : 0;
        for (int64_t t = 0; t < z.length; t++) {
            update(c, &z, k / z.heads, t, k % z.heads, s);
            if (eval_wants(c, 0))
                read_heads(c, &z, k / z.heads, t, k % z.heads, s);
        }
        for (int64_t i = 0; eval_wants(c, 1) && i < count; i++)
            eval_out_f(c, 1)[k * count + i] = s[i];
    }
    return true;
}

#define QKV "float[2,3,8] q, float[2,3,8] k, float[2,3,6] v"
#define HEADS "kv_num_heads = 2, q_num_heads = 2"
#define RESULTS "(float[2,3,6] y, float[2,2,4,3] s)"
static const struct op_sample samples[] = {
    {.text = "g (" QKV ") => " RESULTS " { y, s = LinearAttention <" HEADS ", update_rule = \"linear\"> (q, k, v) }"},
    {.text = "g (" QKV ", float[2,3,8] d) => " RESULTS " { y, s = LinearAttention <" HEADS
             ", update_rule = \"gated\"> (q, k, v, , d) }"},
    {.text = "g (" QKV ", float[2,2,4,3] p, float[2,3,2] d) => " RESULTS " { y, s = LinearAttention <" HEADS
             ", update_rule = \"gated\", scale = 0.7> (q, k, v, p, d) }"},
    {.text = "g (" QKV ", float[2,3,2] b) => " RESULTS " { y, s = LinearAttention <" HEADS
             ", update_rule = \"delta\"> (q, k, v, , , b) }"},
    {.text = "g (float[1,3,8] q, float[1,3,2] k, float[1,3,3] v, double[1,1,2,3] p, float[1,3,2] d, float[1,3,1] b) => "
             "(float[1,3,12] y, double[1,1,2,3] s) "
             "{ y, s = LinearAttention <kv_num_heads = 1, q_num_heads = 4> (q, k, v, p, d, b) }"},
    {.text = "g (float16[1,1,4] q, float16[1,1,4] k, float16[1,1,4] v) => (float16[1,1,4] y, float16[1,2,2,2] s) "
             "{ y, s = LinearAttention <" HEADS ", update_rule = \"linear\"> (q, k, v) }",
     .tolerance = 2e-3},
    {.text =
         "g (float[1,0,4] q, float[1,0,4] k, float[1,0,4] v, float[1,2,2,2] p) => (float[1,0,4] y, float[1,2,2,2] s) "
         "{ y, s = LinearAttention <" HEADS ", update_rule = \"linear\"> (q, k, v, p) }"},
    {.text = "g (" QKV ") => " RESULTS " { y, s = LinearAttention <" HEADS "> (q, k, v) }",
     .error = "input 4 is needed for update_rule 'gated_delta'"},
    {.text = "g (" QKV ") => " RESULTS " { y, s = LinearAttention <" HEADS ", update_rule = \"none\"> (q, k, v) }",
     .error = "attribute 'update_rule' is 'none'"},
    {.text = "g (" QKV ") => " RESULTS
             " { y, s = LinearAttention <kv_num_heads = 2, q_num_heads = 3, update_rule = \"linear\"> (q, k, v) }",
     .error = "2 heads of K and V do not divide 3 of Q"},
    {.text = "g (float[1,1,0] q, float[1,1,0] k, float[1,1,4] v, float[1,1,1] d, float[1,1,1] b) => (float[1,1,4] y, "
             "float[1,1,0,4] s) { y, s = LinearAttention <q_num_heads = 4611686018427387904, kv_num_heads = 1> "
             "(q, k, v, , d, b) }",
     .error = "1 heads of K and V do not divide 4611686018427387904 of Q"},
    {.text = "g (" QKV ", float[2,3,5] d) => " RESULTS " { y, s = LinearAttention <" HEADS
             ", update_rule = \"gated\"> (q, k, v, , d) }",
     .error = "input 4 'd' has shape [2,3,5], expected [2,3,8]"},
    {0}};

const struct op_def op_defs_linear_attention[] = {{.name = "LinearAttention",
                                                   .versions = versions,
                                                   .inputs = inputs,
                                                   .outputs = outputs,
                                                   .attrs = attrs,
                                                   .infer = linear_infer,
                                                   .expand = linear_expand,
                                                   .eval = linear_eval,
                                                   .samples = samples},
                                                  {0}};
