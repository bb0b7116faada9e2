/* Kernels of convolutions. TensorFlow and flax have [sizes..., inputs, outputs], of a depthwise convolution TensorFlow
 * has [sizes..., channels, outputs of each]; ONNX has [outputs, inputs, sizes...] and [channels * outputs of each, 1,
 * sizes...]. */
#include "foreign/kernels.h"

#include "foreign/fill_internal.h"

#include <string.h>

/* Axis `from[i]` of theirs is axis i of ours. */
static const struct tensor *permuted(struct arena *a, const struct shape *shape, const struct tensor *t,
                                     const int *from)
{
    int64_t strides[SHAPE_MAX_RANK], index[SHAPE_MAX_RANK] = {0};
    struct shape walk = {.rank = t->shape.rank};
    struct tensor *const out = tensor_new(a, t->dtype, shape);
    const size_t size = dtype_size(t->dtype);
    unsigned char *to = out->data;
    shape_strides(&t->shape, strides);
    for (int i = 0; i < walk.rank; i++)
        walk.dim[i] = t->shape.dim[from[i]];
    if (t->count == 0)
        return out;
    do {
        int64_t at = 0;
        for (int i = 0; i < walk.rank; i++)
            at += index[i] * strides[from[i]];
        memcpy(to, (const unsigned char *)t->data + (size_t)at * size, size);
        to += size;
    } while (shape_next(&walk, index));
    return out;
}

const struct tensor *kernel_laid_out(struct arena *a, const struct shape *kernel, const struct tensor *theirs)
{
    const struct shape *const s = &theirs->shape;
    const int rank = s->rank, sizes = rank - 2;
    int from[SHAPE_MAX_RANK];
    if (rank < 3 || kernel->rank != rank || theirs->dtype == DTYPE_STRING)
        return NULL;
    for (int i = 0; i < sizes; i++) {
        if (kernel->dim[2 + i] != s->dim[i])
            return NULL;
        from[2 + i] = i;
    }
    const int64_t inputs = s->dim[sizes], outputs = s->dim[sizes + 1];
    const bool is_usual = kernel->dim[0] == outputs && kernel->dim[1] == inputs,
               is_depthwise = kernel->dim[1] == 1 && outputs > 0 && kernel->dim[0] % outputs == 0 &&
                              kernel->dim[0] / outputs == inputs;
    if (!is_usual && !is_depthwise)
        return NULL;
    from[0] = is_usual ? sizes + 1 : sizes;
    from[1] = is_usual ? sizes : sizes + 1;
    return permuted(a, kernel, theirs, from);
}

/* ---- which way, where both fit ----------------------------------------------------------------------------------- */

static enum weight_way way_of_input(const struct weight_ways *w, const struct model_node *n, size_t input)
{
    if (model_domain(n->domain)[0] != '\0' || input != 1)
        return WAY_UNKNOWN;
    if (str_equal(n->op_type, "Conv"))
        return WAY_OTHER;
    if (str_equal(n->op_type, "ConvTranspose"))
        return w->checkpoint->turned_around ? WAY_UNKNOWN : WAY_OTHER;
    if (str_equal(n->op_type, "MatMul"))
        return WAY_AS_IT_STANDS;
    if (!str_equal(n->op_type, "Gemm"))
        return WAY_UNKNOWN;
    const struct model_attr *const turned = model_find_attr(&n->attrs, "transB");
    return turned && turned->i != 0 ? WAY_OTHER : WAY_AS_IT_STANDS;
}

static void add_ways(void *to, const struct model_node *n)
{
    struct weight_ways *const w = to;
    for (size_t i = 0; i < n->inputs.count; i++) {
        const char *const name = n->inputs.data[i];
        const enum weight_way before = weight_way(w, name), way = way_of_input(w, n, i);
        if (map_has(&w->of_name, name))
            map_set(&w->of_name, name,
                    (void *)(uintptr_t)(before == WAY_UNREAD || before == way ? way : WAY_UNKNOWN));
    }
}

void weight_ways_find(struct arena *a, const struct model *m, const struct checkpoint *c, struct weight_ways *out)
{
    *out = (struct weight_ways){.checkpoint = c, .of_name.arena = a};
    if (!c->channels_last)
        return;
    vec_each(const struct model_initializer *, x, &m->graph->initializers)
        map_set(&out->of_name, x->name, (void *)(uintptr_t)WAY_UNREAD);
    model_each_node(m->graph, add_ways, out);
}

enum weight_way weight_way(const struct weight_ways *w, const char *name)
{
    return (enum weight_way)(uintptr_t)map_get(&w->of_name, name);
}

static bool is_named(const struct weight_options *o, const char *name)
{
    vec_each(const char *, pattern, &o->transpose)
        if (str_glob(pattern, name))
            return true;
    return false;
}

/* Dense kernels are [inputs, outputs]: a square one that Gemm reads as [outputs, inputs] is turned. */
static void turn_square(struct arena *a, const struct tensor *t, const struct model_initializer *x,
                        const struct weight_ways *ways, struct weight_options *o, struct strbuf *report)
{
    if (t->shape.rank != 2 || t->count < 2 || t->shape.dim[0] != t->shape.dim[1] ||
        !shape_equal(&t->shape, &x->tensor->shape) || weight_way(ways, x->name) != WAY_OTHER || is_named(o, x->name))
        return;
    strbuf_addf(report, "square: '%s' is transposed, since Gemm reads it as outputs, inputs\n", x->name);
    vec_push(a, &o->transpose, x->name);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* What is kept for it in its own shape, too. */
static void lay_out_states(struct arena *a, struct checkpoint *c, const char *name, const struct shape *theirs,
                           const struct shape *ours)
{
    vec_each_ptr(struct checkpoint_parameter, p, &c->parameters)
        for (size_t i = 0; p->name && str_equal(p->name, name) && i < p->state.count; i++)
            if (shape_equal(&p->state.data[i].tensor->shape, theirs))
                p->state.data[i].tensor = kernel_laid_out(a, ours, p->state.data[i].tensor);
}

void checkpoint_lay_out_kernels(struct diag *d, struct arena *a, const struct map *of_file, struct checkpoint *c,
                                const struct weight_ways *ways, struct weight_options *o, struct strbuf *report)
{
    for (size_t i = 0; c->channels_last && i < c->weights.count; i++) {
        struct named_tensor *const t = &c->weights.data[i];
        const struct model_initializer *const x = map_get(of_file, t->name);
        const struct tensor *const laid_out = x ? kernel_laid_out(a, &x->tensor->shape, t->tensor) : NULL;
        const bool as_it_is = x && shape_equal(&x->tensor->shape, &t->tensor->shape);
        const enum weight_way way = x ? weight_way(ways, x->name) : WAY_UNKNOWN;
        if (x)
            turn_square(a, t->tensor, x, ways, o, report);
        if (!laid_out || (as_it_is && laid_out->count == 1))
            continue;
        const bool named = as_it_is && is_named(o, x->name);
        if (as_it_is && !named && way == WAY_AS_IT_STANDS)
            continue;
        if (as_it_is && !named && way != WAY_OTHER) {
            diag_warning(d, &LOC_FILE(c->path),
                         "'%s' %s has the shape of a kernel as TensorFlow has it and as ONNX does, and is taken as it "
                         "stands; --transpose '%s' lays it out",
                         t->name, shape_text(a, &t->tensor->shape), x->name);
            continue;
        }
        strbuf_addf(report, "laid out as ONNX has kernels: '%s' %s from %s%s\n", x->name,
                    shape_text(a, &x->tensor->shape), shape_text(a, &t->tensor->shape),
                    !as_it_is ? ", since only that fits"
                    : named   ? ""
                              : ", since a convolution reads it");
        const struct shape theirs = t->tensor->shape;
        t->tensor = laid_out;
        lay_out_states(a, c, t->name, &theirs, &x->tensor->shape);
    }
}
