/* DepthToSpace and SpaceToDepth: blocks of b x b elements of a plane become channels, or channels become blocks. With
 * u, v in [0, b):
 *   DepthToSpace   y[n, c, h b + u, w b + v] = x[n, (u b + v) C + c, h, w]      DCR; C: the channels of y
 *                                            = x[n, (c b + u) b + v, h, w]      CRD, as PyTorch's PixelShuffle
 *   SpaceToDepth   y[n, (u b + v) C + c, h, w] = x[n, c, h b + u, w b + v]      C: the channels of x
 * Made of Reshape, Transpose and Reshape. Spec: ONNX DepthToSpace-1, -11 (mode), -13; SpaceToDepth-1, -13 (13 adds
 * bfloat16). */
#include "graph/axes.h"
#include "ops/move_rules.h"

#include "base/checked.h"
#include <string.h>

static const struct op_attr depth_attrs_1[] = {{.name = "blocksize", .type = ATTR_INT, .required = true}, {0}};
static const struct op_attr depth_attrs[] = {{.name = "blocksize", .type = ATTR_INT, .required = true},
                                             {.name = "mode", .type = ATTR_STRING, .string_default = "DCR"},
                                             {0}};
static const struct op_param inputs[] = {{.name = "input", .type = 'T', .dtypes = MOVE_TYPES_13}, {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = MOVE_TYPES_13}, {0}};
static const struct op_version depth_versions[] = {{.since = 1, .dtypes = MOVE_TYPES_1, .attrs = depth_attrs_1},
                                                   {.since = 11, .dtypes = MOVE_TYPES_1},
                                                   {.since = 13},
                                                   {0}};
static const struct op_version space_versions[] = {{.since = 1, .dtypes = MOVE_TYPES_1}, {.since = 13}, {0}};

/* ---- shapes ----------------------------------------------------------------------------------------------------- */

/* Rank and block size; reports. */
static bool infer_block(struct infer_ctx *c, int64_t *block)
{
    *block = op_attr_int(c->node, "blocksize");
    if (infer_rank(c, 0) != 4)
        return infer_error(c, "input 0 '%s' has rank %d, expected 4: [N, C, H, W]", infer_in(c, 0)->name,
                           infer_rank(c, 0));
    if (*block < 1 || *block > INT32_MAX)
        return infer_error(c, "attribute 'blocksize' is %lld, expected 1 to %d", (long long)*block, INT32_MAX);
    return true;
}

static bool is_crd(const struct node *n)
{
    return strcmp(op_attr_string(n, "mode"), "CRD") == 0;
}

static bool depth_infer(struct infer_ctx *c)
{
    struct shape y = *infer_shape(c, 0);
    int64_t block;
    if (!infer_block(c, &block))
        return false;
    if (!is_crd(c->node) && strcmp(op_attr_string(c->node, "mode"), "DCR") != 0)
        return infer_error(c, "attribute 'mode' is '%s', expected DCR or CRD", op_attr_string(c->node, "mode"));
    if (y.dim[1] % (block * block) != 0)
        return infer_error(c, "%lld channels cannot be divided into blocks of %lld x %lld", (long long)y.dim[1],
                           (long long)block, (long long)block);
    shape_set(&y, 1, size_quotient(shape_size(&y, 1), block * block));
    for (int d = 2; d < 4; d++) {
        int64_t unused;
        if (!checked_mul(y.dim[d], block, &unused))
            return infer_error(c, "the output has too many elements");
        shape_set(&y, d, size_product(shape_size(&y, d), size_constant(block)));
    }
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

static bool space_infer(struct infer_ctx *c)
{
    struct shape y = *infer_shape(c, 0);
    int64_t block;
    if (!infer_block(c, &block))
        return false;
    for (int d = 2; d < 4; d++) {
        if (y.dim[d] % block != 0)
            return infer_error(c, "dimension %d of input 0 '%s' is %lld, not a multiple of the block size %lld", d,
                               infer_in(c, 0)->name, (long long)y.dim[d], (long long)block);
        shape_set(&y, d, size_quotient(shape_size(&y, d), block));
    }
    int64_t unused;
    if (!checked_mul(y.dim[1], block * block, &unused))
        return infer_error(c, "the output has too many elements");
    shape_set(&y, 1, size_product(shape_size(&y, 1), size_constant(block * block)));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- as other operators ----------------------------------------------------------------------------------------- */

static bool rearrange(struct expand_ctx *c, const struct shape *split, const int *perm)
{
    struct value *v = build_transpose(c->b, build_reshape(c->b, expand_in(c, 0), split), perm);
    return expand_out(c, 0, build_reshape(c->b, v, &node_output(c->node, 0)->shape));
}

static bool depth_expand(struct expand_ctx *c)
{
    const struct shape *x = &expand_in(c, 0)->shape, *y = &node_output(c->node, 0)->shape;
    const struct size b = size_constant(op_attr_int(c->node, "blocksize")), n = shape_size(x, 0),
                      channels = shape_size(y, 1), height = shape_size(x, 2), width = shape_size(x, 3);
    if (is_crd(c->node))
        return rearrange(c, &SHAPE_OF(n, channels, b, b, height, width), (const int[]){0, 1, 4, 2, 5, 3});
    return rearrange(c, &SHAPE_OF(n, b, b, channels, height, width), (const int[]){0, 3, 4, 1, 5, 2});
}

static bool space_expand(struct expand_ctx *c)
{
    const struct shape *x = &expand_in(c, 0)->shape, *y = &node_output(c->node, 0)->shape;
    const struct size b = size_constant(op_attr_int(c->node, "blocksize"));
    return rearrange(c, &SHAPE_OF(shape_size(x, 0), shape_size(x, 1), shape_size(y, 2), b, shape_size(y, 3), b),
                     (const int[]){0, 3, 5, 1, 2, 4});
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* The element of the tensor with small planes that element k of the one with large planes is. */
static int64_t in_small_planes(int64_t k, const struct shape *large, int64_t b, bool crd)
{
    const int64_t channels = large->dim[1], height = large->dim[2], width = large->dim[3];
    const int64_t x = k % width, y = k / width % height, c = k / width / height % channels,
                  n = k / width / height / channels;
    const int64_t place = y % b * b + x % b, channel = crd ? c * b * b + place : place * channels + c;
    return ((n * channels * b * b + channel) * (height / b) + y / b) * (width / b) + x / b;
}

static bool depth_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const struct shape *y = &node_output(c->node, 0)->shape;
    int64_t *from = arena_array(c->scratch, int64_t, (size_t)x->count);
    for (int64_t k = 0; k < x->count; k++)
        from[k] = in_small_planes(k, y, op_attr_int(c->node, "blocksize"), is_crd(c->node));
    eval_gather(c, from);
    return true;
}

static bool space_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    int64_t *from = arena_array(c->scratch, int64_t, (size_t)x->count);
    for (int64_t k = 0; k < x->count; k++)
        from[in_small_planes(k, &x->shape, op_attr_int(c->node, "blocksize"), false)] = k;
    eval_gather(c, from);
    return true;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static const struct op_sample depth_samples[] = {
    {.text = "g (float[2,12,2,3] x) => (float[2,3,4,6] y) { y = DepthToSpace <blocksize = 2> (x) }"},
    {.text = "g (double[2,18,2,3] x) => (double[2,2,6,9] y) { y = DepthToSpace <blocksize = 3, mode = \"CRD\"> (x) }"},
    {.text = "g (float[1,4,2,3] x) => (float[1,1,4,6] y) { y = DepthToSpace <blocksize = 2> (x) }", .opset = 10},
    {.text = "g (int8[1,8,1,2] x) => (int8[1,2,2,4] y) { y = DepthToSpace <blocksize = 2, mode = \"CRD\"> (x) }",
     .no_gradient = true},
    {.text = "g (bool[1,2,3,2] x) => (bool[1,2,3,2] y) { y = DepthToSpace <blocksize = 1> (x) }", .no_gradient = true},
    {.text =
         "g (bfloat16[1,4,2,2] x) => (bfloat16[1,1,4,4] y) { y = DepthToSpace <blocksize = 2, mode = \"DCR\"> (x) }"},
    {.text = "g (float[0,4,2,3] x) => (float[0,1,4,6] y) { y = DepthToSpace <blocksize = 2> (x) }"},
    {.text = "g (float[1,6,2,3] x) => (float[1,1,4,6] y) { y = DepthToSpace <blocksize = 2> (x) }",
     .error = "6 channels cannot be divided into blocks of 2 x 2"},
    {.text = "g (float[4,2,3] x) => (float[1,4,6] y) { y = DepthToSpace <blocksize = 2> (x) }",
     .error = "has rank 3, expected 4"},
    {.text = "g (float[1,4,2,3] x) => (float[1,4,2,3] y) { y = DepthToSpace <blocksize = 0> (x) }",
     .error = "attribute 'blocksize' is 0"},
    {.text = "g (float[1,4,2,3] x) => (float[1,1,4,6] y) { y = DepthToSpace <blocksize = 2, mode = \"CDR\"> (x) }",
     .error = "expected DCR or CRD"},
    {0}};
static const struct op_sample space_samples[] = {
    {.text = "g (float[2,3,4,6] x) => (float[2,12,2,3] y) { y = SpaceToDepth <blocksize = 2> (x) }"},
    {.text = "g (double[1,2,3,9] x) => (double[1,18,1,3] y) { y = SpaceToDepth <blocksize = 3> (x) }", .opset = 1},
    {.text = "g (uint16[1,1,2,4] x) => (uint16[1,4,1,2] y) { y = SpaceToDepth <blocksize = 2> (x) }",
     .no_gradient = true},
    {.text = "g (float[1,3,4,5] x) => (float[1,12,2,2] y) { y = SpaceToDepth <blocksize = 2> (x) }",
     .error = "dimension 3 of input 0 'x' is 5, not a multiple of the block size 2"},
    {.text = "g (float[3,4,6] x) => (float[12,2,3] y) { y = SpaceToDepth <blocksize = 2> (x) }",
     .error = "has rank 3, expected 4"},
    {0}};

const struct op_def op_defs_depth_to_space[] = {{.name = "DepthToSpace",
                                                 .versions = depth_versions,
                                                 .inputs = inputs,
                                                 .outputs = outputs,
                                                 .attrs = depth_attrs,
                                                 .infer = depth_infer,
                                                 .axes = axes_samples,
                                                 .stays = op_stays,
                                                 .expand = depth_expand,
                                                 .eval = depth_eval,
                                                 .samples = depth_samples},
                                                {.name = "SpaceToDepth",
                                                 .versions = space_versions,
                                                 .inputs = inputs,
                                                 .outputs = outputs,
                                                 .attrs = depth_attrs_1,
                                                 .infer = space_infer,
                                                 .axes = axes_samples,
                                                 .stays = op_stays,
                                                 .expand = space_expand,
                                                 .eval = space_eval,
                                                 .samples = space_samples},
                                                {0}};
