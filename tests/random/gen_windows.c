/* Operators whose windows move over the last one to three axes of [N, C, spatial...], and those that look at
 * neighbouring channels. */
#include "gen.h"

#include "base/str.h"

#define FLOATS (DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE) | DTYPE_BIT(DTYPE_FLOAT16))

/* A kink where the model must be smooth: its derivative jumps, and it itself does not. */
static bool may_kink(const struct gen *g)
{
    return !g->smooth || g->kind == RANDOM_INFERENCE;
}

/* Images: one of those that are there, or new ones, whose lines may be long. */
static const struct operand *images(struct gen *g)
{
    static const enum dtype dtypes[] = {DTYPE_FLOAT, DTYPE_FLOAT, DTYPE_DOUBLE, DTYPE_FLOAT16};
    const struct operand *x = gen_pick(g, FLOATS);
    if (x && x->shape.rank >= 3 && x->shape.rank <= 5 && shape_count(&x->shape) > 0 && gen_chance(g, 70))
        return x;
    static const int64_t channels[] = {1, 2, 3, 4, 6, 9, 16, 18};
    struct shape s = {.rank = 3 + (int)gen_below(g, 2) + gen_chance(g, 15),
                      .dim = {1 + gen_below(g, 3), channels[gen_below(g, 8)]}};
    for (int d = 2; d < s.rank; d++)
        s.dim[d] = 1 + gen_below(g, s.rank == 5 ? 4 : s.rank == 4 ? 9 : 40);
    if (s.rank == 4 && gen_chance(g, 5))
        s.dim[0] = 33; /* images side by side */
    return shape_count(&s) <= GEN_MAX_COUNT ? gen_leaf(g, dtypes[gen_below(g, 4)], &s) : NULL;
}

struct window {
    int rank;
    int64_t size[3], strides[3], dilations[3], pads[6], elements;
};

/* `dilated`: steps of the window may be larger than 1. Pads are smaller than what the window reaches, so that it always
 * sees something. */
static struct window random_window(struct gen *g, const struct operand *x, bool dilated)
{
    struct window w = {.rank = x->shape.rank - 2, .elements = 1};
    for (int i = 0; i < w.rank; i++) {
        w.size[i] = 1 + gen_below(g, w.rank == 3 ? 3 : 5);
        w.strides[i] = gen_chance(g, 50) ? 1 : 1 + gen_below(g, 4);
        w.dilations[i] = dilated && gen_chance(g, 30) ? 1 + gen_below(g, 3) : 1;
        w.pads[i] = gen_chance(g, 50) ? 0 : gen_below(g, w.size[i]);
        w.pads[w.rank + i] = gen_chance(g, 50) ? w.pads[i] : gen_below(g, w.size[i]);
        w.elements *= w.size[i];
    }
    return w;
}

static int64_t reach(const struct window *w, int i)
{
    return (w->size[i] - 1) * w->dilations[i] + 1;
}

static void set_window(struct gen *g, const struct window *w, bool kernel, bool dilations)
{
    const size_t rank = (size_t)w->rank;
    if (kernel)
        model_set_ints(g->arena, gen_last(g), "kernel_shape", w->size, rank);
    model_set_ints(g->arena, gen_last(g), "strides", w->strides, rank);
    model_set_ints(g->arena, gen_last(g), "pads", w->pads, 2 * rank);
    if (dilations)
        model_set_ints(g->arena, gen_last(g), "dilations", w->dilations, rank);
}

/* What windows over x give; false: they do not fit. */
static bool outputs_of(const struct window *w, const struct operand *x, struct shape *y)
{
    *y = x->shape;
    for (int i = 0; i < w->rank; i++) {
        const int64_t room = x->shape.dim[2 + i] + w->pads[i] + w->pads[w->rank + i] - reach(w, i);
        if (room < 0)
            return false;
        y->dim[2 + i] = room / w->strides[i] + 1;
    }
    return shape_count(y) <= GEN_MAX_COUNT;
}

static int64_t random_groups(struct gen *g, int64_t channels)
{
    const int64_t groups[] = {1, 1, channels % 2 == 0 ? 2 : 1, channels};
    return groups[gen_below(g, 4)];
}

bool gen_conv(struct gen *g)
{
    const struct operand *x = images(g);
    if (!x)
        return false;
    const struct window w = random_window(g, x, true);
    const int64_t channels = x->shape.dim[1], groups = random_groups(g, channels),
                  outputs = groups * (1 + gen_below(g, groups > 2 ? 2 : 10));
    struct shape y, weights = {.rank = x->shape.rank, .dim = {outputs, channels / groups}};
    for (int i = 0; i < w.rank; i++)
        weights.dim[2 + i] = w.size[i];
    const double bound = x->bound * 1.5 * (double)(channels / groups * w.elements) + 1.5;
    if (!outputs_of(&w, x, &y) || bound > 5 * GEN_MAX_BOUND)
        return false;
    y.dim[1] = outputs;
    if (shape_count(&y) > GEN_MAX_COUNT || shape_count(&weights) > GEN_MAX_COUNT)
        return false;
    const struct operand *k = gen_leaf(g, x->dtype, &weights);
    const struct operand *b =
        gen_chance(g, 50) ? gen_leaf(g, x->dtype, &(struct shape){.rank = 1, .dim = {outputs}}) : NULL;
    GEN_NODE(g, "Conv", x->dtype, &y, bound, x, k, b);
    set_window(g, &w, false, true);
    model_set_int(g->arena, gen_last(g), "group", groups);
    return true;
}

bool gen_conv_transpose(struct gen *g)
{
    const struct operand *x = images(g);
    if (!x)
        return false;
    const struct window w = random_window(g, x, true);
    const int64_t channels = x->shape.dim[1], groups = random_groups(g, channels),
                  outputs = 1 + gen_below(g, groups > 2 ? 2 : 10);
    struct shape y = x->shape, weights = {.rank = x->shape.rank, .dim = {channels, outputs}};
    int64_t extra[3] = {0};
    y.dim[1] = outputs * groups;
    for (int i = 0; i < w.rank; i++) {
        weights.dim[2 + i] = w.size[i];
        extra[i] = gen_chance(g, 40) ? gen_below(g, w.strides[i]) : 0;
        y.dim[2 + i] =
            (x->shape.dim[2 + i] - 1) * w.strides[i] + reach(&w, i) + extra[i] - w.pads[i] - w.pads[w.rank + i];
        if (y.dim[2 + i] < 1)
            return false;
    }
    const double bound = x->bound * 1.5 * (double)(channels / groups * w.elements) + 1.5;
    if (shape_count(&y) > GEN_MAX_COUNT || shape_count(&weights) > GEN_MAX_COUNT || bound > 5 * GEN_MAX_BOUND)
        return false;
    const struct operand *k = gen_leaf(g, x->dtype, &weights);
    const struct operand *b =
        gen_chance(g, 50) ? gen_leaf(g, x->dtype, &(struct shape){.rank = 1, .dim = {y.dim[1]}}) : NULL;
    GEN_NODE(g, "ConvTranspose", x->dtype, &y, bound, x, k, b);
    set_window(g, &w, false, true);
    model_set_int(g->arena, gen_last(g), "group", groups);
    model_set_ints(g->arena, gen_last(g), "output_padding", extra, (size_t)w.rank);
    return true;
}

bool gen_pool(struct gen *g)
{
    static const char *const ops[] = {"MaxPool", "AveragePool", "LpPool"};
    const int op = (int)gen_below(g, 3);
    const struct operand *x = images(g);
    struct shape y;
    if (!x || (op != 1 && !may_kink(g)))
        return false;
    const bool dilated = op == 0;
    const struct window w = random_window(g, x, dilated);
    const double bound = x->bound * (op == 2 ? (double)w.elements : 1);
    if (!outputs_of(&w, x, &y) || bound > 5 * GEN_MAX_BOUND)
        return false;
    for (int i = 0; i < w.rank; i++) /* every window has an element */
        if (w.pads[i] >= x->shape.dim[2 + i] || w.pads[w.rank + i] >= x->shape.dim[2 + i] ||
            (dilated && w.dilations[i] > x->shape.dim[2 + i]))
            return false;
    GEN_NODE(g, ops[op], x->dtype, &y, bound, x);
    set_window(g, &w, true, dilated);
    if (op == 2)
        model_set_int(g->arena, gen_last(g), "p", 1 + gen_below(g, 3));
    if (op == 1)
        model_set_int(g->arena, gen_last(g), "count_include_pad", gen_below(g, 2));
    return true;
}

bool gen_lrn(struct gen *g)
{
    const struct operand *x = images(g);
    if (!x)
        return false;
    GEN_NODE(g, "LRN", x->dtype, &x->shape, x->bound, x);
    model_set_int(g->arena, gen_last(g), "size", 1 + gen_below(g, 6));
    return true;
}

bool gen_blocks(struct gen *g)
{
    const struct operand *x = images(g);
    const int64_t b = 2 + gen_below(g, 2);
    if (!x || x->shape.rank != 4)
        return false;
    struct shape y = x->shape;
    const bool to_depth = y.dim[2] % b == 0 && y.dim[3] % b == 0;
    if (!to_depth && y.dim[1] % (b * b) != 0)
        return false;
    y.dim[1] = to_depth ? y.dim[1] * b * b : y.dim[1] / (b * b);
    for (int d = 2; d < 4; d++)
        y.dim[d] = to_depth ? y.dim[d] / b : y.dim[d] * b;
    GEN_NODE(g, to_depth ? "SpaceToDepth" : "DepthToSpace", x->dtype, &y, x->bound, x);
    model_set_int(g->arena, gen_last(g), "blocksize", b);
    if (!to_depth)
        model_set_string(g->arena, gen_last(g), "mode", gen_chance(g, 50) ? "CRD" : "DCR");
    return true;
}
