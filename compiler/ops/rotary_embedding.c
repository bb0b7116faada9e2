/* RotaryEmbedding: turns pairs of elements of each head by angles that depend on the position.
 *   y1 = cos * x1 - sin * x2,  y2 = sin * x1 + cos * x2
 * Of the first R elements of a head (rotary_embedding_dim; 0: all) the pairs are x[i], x[i + R/2], or x[2i], x[2i +
 * 1] where interleaved; the others stay. The caches are [batch, position, R/2], or tables [.., R/2] whose rows
 * position_ids chooses. X is [batch, heads, position, size] or [batch, position, heads * size] with num_heads. In
 * float, or in double where X is: float16 is rounded once, at the end. Expanded. Spec: ONNX RotaryEmbedding-23. */
#include "graph/axes.h"
#include "ops/op.h"

enum { X, COS, SIN, POSITIONS };

static const struct op_attr attrs[] = {{.name = "interleaved", .type = ATTR_INT},
                                       {.name = "num_heads", .type = ATTR_INT},
                                       {.name = "rotary_embedding_dim", .type = ATTR_INT},
                                       {0}};
static const struct op_param inputs[] = {
    {.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "cos_cache", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "sin_cache", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "position_ids", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_version versions[] = {{.since = 23}, {0}};

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

struct rotary_sizes {
    bool flat; /* [batch, position, heads * size] */
    struct size batch, length, heads;
    int64_t size, turned /* R */;
};

/* Of a node whose heads were checked. */
static struct rotary_sizes sizes_of(const struct node *n)
{
    const struct shape *x = &node_input(n, X)->shape;
    struct rotary_sizes z = {.flat = x->rank == 3, .batch = shape_size(x, 0)};
    z.heads = z.flat ? size_constant(op_attr_int(n, "num_heads")) : shape_size(x, 1);
    z.length = shape_size(x, z.flat ? 1 : 2);
    z.size = z.flat ? x->dim[2] / z.heads.most : x->dim[3];
    z.turned = op_attr_int(n, "rotary_embedding_dim");
    if (z.turned == 0)
        z.turned = z.size;
    return z;
}

static bool check_heads(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, X);
    const int64_t heads = op_attr_int(c->node, "num_heads");
    if (x->rank != 3 && x->rank != 4)
        return infer_error(c, "input 0 '%s' has rank %d, expected 3 or 4", infer_in(c, X)->name, x->rank);
    if (x->rank == 3 && (heads < 1 || heads > INT32_MAX || x->dim[2] % heads != 0))
        return infer_error(c, "attribute 'num_heads' is %lld, expected a number that divides rows of %lld elements",
                           (long long)heads, (long long)x->dim[2]);
    return true;
}

static bool check_cache(struct infer_ctx *c, int i, const struct rotary_sizes *z)
{
    const struct value *v = infer_in(c, i);
    struct shape expected = SHAPE_OF(z->batch, z->length, size_constant(z->turned / 2));
    if (infer_in(c, POSITIONS) != NULL)
        expected =
            SHAPE_OF(v->shape.rank == 2 ? shape_size(&v->shape, 0) : size_constant(1), size_constant(z->turned / 2));
    return shape_equal(&v->shape, &expected) ||
           infer_error(c, "input %d '%s' has shape %s, expected %s", i, v->name, shape_text(c->diag->arena, &v->shape),
                       infer_in(c, POSITIONS) != NULL
                           ? arena_printf(c->diag->arena, "[positions,%lld], as there are position_ids",
                                          (long long)(z->turned / 2))
                           : shape_text(c->diag->arena, &expected));
}

static int64_t rotary_selects_from(const struct node *n, int input)
{
    const int64_t rows = node_input(n, COS)->shape.dim[0], rows_2 = node_input(n, SIN)->shape.dim[0];
    return input != POSITIONS ? 0 : rows < rows_2 ? rows : rows_2;
}

static bool rotary_infer(struct infer_ctx *c)
{
    if (!check_heads(c))
        return false;
    const struct rotary_sizes z = sizes_of(c->node);
    const struct value *positions = infer_in(c, POSITIONS);
    if (z.turned < 0 || z.turned > z.size || z.turned % 2 != 0)
        return infer_error(c, "%lld elements of a head are to be turned, expected an even number up to %lld",
                           (long long)z.turned, (long long)z.size);
    if (positions != NULL && !shape_equal(&positions->shape, &SHAPE_OF(z.batch, z.length)))
        return infer_error(c, "input 3 '%s' has shape %s, expected [%lld,%lld]", positions->name,
                           shape_text(c->diag->arena, &positions->shape), (long long)z.batch.most,
                           (long long)z.length.most);
    return check_cache(c, COS, &z) && check_cache(c, SIN, &z) && infer_same_as_input(c);
}

/* ---- expansion -------------------------------------------------------------------------------------------------- */

/* Heads as [a, b, c, size], where positions are axis 1 if flat, else axis 2. */
static struct shape heads_shape(const struct rotary_sizes *z, int64_t size)
{
    const struct size each = size_constant(size);
    return z->flat ? SHAPE_OF(z->batch, z->length, z->heads, each) : SHAPE_OF(z->batch, z->heads, z->length, each);
}

/* Pairs lie along one more axis: behind the others where interleaved, else in front of the last. */
static struct shape pairs_shape(const struct rotary_sizes *z, bool interleaved)
{
    struct shape s = heads_shape(z, z->turned / 2);
    const struct size two = size_constant(2), each = shape_size(&s, 3);
    shape_set(&s, 3, interleaved ? each : two);
    shape_add(&s, interleaved ? two : each);
    return s;
}

/* A cache for the positions at hand, over pairs. */
static struct value *angles(struct expand_ctx *c, const struct rotary_sizes *z, int i, bool interleaved,
                            enum dtype type)
{
    struct value *v = expand_in(c, i), *positions = expand_in(c, POSITIONS);
    struct shape s = pairs_shape(z, interleaved);
    shape_set(&s, z->flat ? 2 : 1, size_constant(1));
    shape_set(&s, interleaved ? 4 : 3, size_constant(1));
    if (positions != NULL)
        v = build(c, "Gather", v, positions);
    return build_cast(c->b, build_reshape(c->b, v, &s), type);
}

static struct value *part(struct expand_ctx *c, struct value *x, int axis, int64_t from, int64_t to)
{
    const int64_t wide = axis;
    return build(c, "Slice", x, build_ints(c->b, &from, 1), build_ints(c->b, &to, 1), build_ints(c->b, &wide, 1));
}

static bool rotary_expand(struct expand_ctx *c)
{
    const struct rotary_sizes z = sizes_of(c->node);
    const bool interleaved = op_attr_int(c->node, "interleaved") != 0;
    const enum dtype type = dtype_computed(expand_in(c, X)->dtype);
    const struct shape whole = heads_shape(&z, z.size), turned = heads_shape(&z, z.turned),
                       pairs = pairs_shape(&z, interleaved);
    const int axis = interleaved ? 4 : 3;
    struct value *x = build_cast(c->b, build_reshape(c->b, expand_in(c, X), &whole), type);
    struct value *p = build_reshape(c->b, z.turned < z.size ? part(c, x, 3, 0, z.turned) : x, &pairs);
    struct value *cosine = angles(c, &z, COS, interleaved, type), *sine = angles(c, &z, SIN, interleaved, type);
    struct value *first = part(c, p, axis, 0, 1), *second = part(c, p, axis, 1, 2);
    struct value *y1 = build(c, "Sub", build(c, "Mul", cosine, first), build(c, "Mul", sine, second));
    struct value *y2 = build(c, "Add", build(c, "Mul", sine, first), build(c, "Mul", cosine, second));
    struct value *y = build_reshape(c->b, build_with(c, "Concat", ATTRS(attr_int("axis", axis)), y1, y2), &turned);
    if (z.turned < z.size)
        y = build_with(c, "Concat", ATTRS(attr_int("axis", 3)), y, part(c, x, 3, z.turned, z.size));
    return expand_out(c, 0, build_cast(c->b, build_reshape(c->b, y, &expand_in(c, X)->shape), expand_in(c, X)->dtype));
}

/* ---- value ------------------------------------------------------------------------------------------------------ */

/* Row of the caches for a position of the batch; -1: out of range. */
static int64_t cache_row(const struct eval_ctx *c, const struct rotary_sizes *z, int64_t b, int64_t l)
{
    if (!eval_has(c, POSITIONS))
        return b * z->length.most + l;
    const int64_t rows = c->in[COS]->shape.dim[0], rows_2 = c->in[SIN]->shape.dim[0],
                  given = eval_i(c, POSITIONS)[b * z->length.most + l];
    const int64_t row = given < 0 ? given + rows : given;
    return row >= 0 && row < rows && (given >= 0 ? row < rows_2 : rows == rows_2) ? row : -1;
}

static bool rotary_eval(struct eval_ctx *c)
{
    const struct rotary_sizes z = sizes_of(c->node);
    const bool interleaved = op_attr_int(c->node, "interleaved") != 0;
    const double *x = eval_f(c, X);
    double *y = eval_out_f(c, 0);
    const int64_t half = z.turned / 2, heads = z.batch.most * z.length.most * z.heads.most;
    for (int64_t k = 0; y != NULL && k < heads; k++) {
        const int64_t b = k / (z.length.most * z.heads.most), inner = k % (z.length.most * z.heads.most);
        const int64_t row = cache_row(c, &z, b, z.flat ? inner / z.heads.most : inner % z.length.most);
        if (row < 0)
            return eval_error(c, "position %lld of input 3 is out of range for caches of %lld rows", (long long)k,
                              (long long)c->in[COS]->shape.dim[0]);
        for (int64_t d = 0; d < z.size; d++)
            y[k * z.size + d] = x[k * z.size + d];
        for (int64_t i = 0; i < half; i++) {
            const int64_t at = k * z.size + (interleaved ? 2 * i : i), other = at + (interleaved ? 1 : half);
            const double cosine = c->in[COS]->f[row * half + i], sine = c->in[SIN]->f[row * half + i];
            y[at] = cosine * x[at] - sine * x[other];
            y[other] = sine * x[at] + cosine * x[other];
        }
    }
    return true;
}

static const struct op_sample samples[] = {
    {.text =
         "g (float[2,3,4,6] x, float[2,4,3] c, float[2,4,3] s) => (float[2,3,4,6] y) { y = RotaryEmbedding(x, c, s) }"},
    {.text = "g (float[2,3,4,6] x, float[2,4,3] c, float[2,4,3] s) => (float[2,3,4,6] y) { y = RotaryEmbedding "
             "<interleaved = 1> (x, c, s) }"},
    {.text = "g (float[2,4,18] x, float[9,3] c, float[9,3] s, int64[2,4] p) => (float[2,4,18] y) { y = RotaryEmbedding "
             "<num_heads = 3> (x, c, s, p) }",
     .feed = "normal,normal,normal,index:9"},
    {.text = "g (float[2,4,18] x, float[9,3] c, float[9,3] s, int64[2,4] p) => (float[2,4,18] y) { y = RotaryEmbedding "
             "<num_heads = 3> (x, c, s, p) }",
     .feed = "normal,normal,normal,index:100",
     .error = "is out of range for caches of 9 rows"},
    {.text = "g (double[1,3,4,6] x, double[5,2] c, double[5,2] s, int64[1,4] p) => (double[1,3,4,6] y) "
             "{ y = RotaryEmbedding <rotary_embedding_dim = 4, interleaved = 1> (x, c, s, p) }",
     .feed = "normal,normal,normal,index:5"},
    {.text = "g (float[2,4,18] x, float[2,4,1] c, float[2,4,1] s) => (float[2,4,18] y) "
             "{ y = RotaryEmbedding <num_heads = 3, rotary_embedding_dim = 2> (x, c, s) }"},
    {.text = "g (float16[1,2,3,4] x, float16[1,3,2] c, float16[1,3,2] s) => (float16[1,2,3,4] y) { y = "
             "RotaryEmbedding(x, c, s) }",
     .tolerance = 2e-3},
    {.text =
         "g (float[0,3,4,6] x, float[0,4,3] c, float[0,4,3] s) => (float[0,3,4,6] y) { y = RotaryEmbedding(x, c, s) }"},
    {.text = "g (float[2,4,6] x, float[2,4,3] c, float[2,4,3] s) => (float[2,4,6] y) { y = RotaryEmbedding(x, c, s) }",
     .error = "attribute 'num_heads' is 0, expected a number that divides rows of 6 elements"},
    {.text = "g (float[2,4,0] x, float[2,4,0] c, float[2,4,0] s) => (float[2,4,0] y) "
             "{ y = RotaryEmbedding <num_heads = 4611686018427387904> (x, c, s) }",
     .error = "attribute 'num_heads' is 4611686018427387904"},
    {.text = "g (float[2,3,4,6] x, float[4,3] c, float[4,3] s) => (float[2,3,4,6] y) { y = RotaryEmbedding(x, c, s) }",
     .error = "input 1 'c' has shape [4,3], expected [2,4,3]"},
    {.text = "g (float[2,3,4,6] x, float[5,3] c, float[5,2] s, int64[2,4] p) => (float[2,3,4,6] y) { y = "
             "RotaryEmbedding(x, c, s, p) }",
     .error = "input 2 's' has shape [5,2], expected [positions,3], as there are position_ids"},
    {.text = "g (float[2,3,4,6] x, float[5,3] c, float[5,3] s, int64[4] p) => (float[2,3,4,6] y) { y = "
             "RotaryEmbedding(x, c, s, p) }",
     .error = "input 3 'p' has shape [4], expected [2,4]"},
    {.text =
         "g (float[2,3,4,5] x, float[2,4,2] c, float[2,4,2] s) => (float[2,3,4,5] y) { y = RotaryEmbedding(x, c, s) }",
     .error = "5 elements of a head are to be turned, expected an even number up to 5"},
    {0}};

/* Samples are apart: with caches of their own, or with positions. */
static void rotary_axes(struct axes_ctx *c)
{
    const bool chooses = node_input(c->node, POSITIONS) != NULL;
    axes_samples(c);
    for (int i = chooses ? POSITIONS : COS; i <= (chooses ? POSITIONS : SIN); i++)
        axes_pass(c, i, 0, 0, 0);
}

const struct op_def op_defs_rotary_embedding[] = {{.name = "RotaryEmbedding",
                                                   .versions = versions,
                                                   .inputs = inputs,
                                                   .outputs = outputs,
                                                   .attrs = attrs,
                                                   .infer = rotary_infer,
                                                   .axes = rotary_axes,
                                                   .expand = rotary_expand,
                                                   .eval = rotary_eval,
                                                   .selects_from = rotary_selects_from,
                                                   .samples = samples},
                                                  {0}};
