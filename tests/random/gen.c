#include "gen.h"

#include "base/str.h"
#include <string.h>

/* ---- chance ------------------------------------------------------------------------------------------------------ */

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(struct gen *g)
{
    uint64_t z = g->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

int64_t gen_below(struct gen *g, int64_t n)
{
    return (int64_t)(next_random(g) % (uint64_t)n);
}

bool gen_chance(struct gen *g, int percent)
{
    return gen_below(g, 100) < percent;
}

int64_t gen_dim(struct gen *g)
{
    return gen_chance(g, 15) ? 1 : g->dims[gen_below(g, 3)];
}

struct shape gen_shape(struct gen *g, int max_rank)
{
    struct shape s = {.rank = (int)gen_below(g, max_rank + 1)};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = gen_dim(g);
    while (shape_count(&s) > GEN_MAX_COUNT)
        s.rank--;
    return s;
}

/* Mostly plain; some are what C, or the files we emit, use for something else. */
const char *gen_name(struct gen *g)
{
    static const char *const odd[] = {"if", "main", "x.1", "a/b:0", "0", "sqrt", "init", "state", "arena", "model_step",
                                      "NAN", "int", "x 1", "_x", "i", "acc", "seed", "in", "out", "Größe", "*/ evil",
                                      "?\?/", "restrict", "s", "total", "k", "a\\", "%s", "\"q\"", "MODEL_H",
                                      "floats_at", "bytes_at", "x_2", "s_3", "x0", "i7", "add_4", "mul_9", "rows",
                                      "matrix", "dims_4", "check_indices", "infer", "vector", "status", "INFER_V1_AT",
                                      "unix", "stepc_h", "t_2"};
    const int n = g->names++;
    if (n < (int)(sizeof odd / sizeof *odd) && gen_chance(g, 15))
        return odd[n];
    return arena_printf(g->arena, "v%d", n);
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static const struct operand *add_operand(struct gen *g, const char *name, enum dtype dtype, const struct shape *shape,
                                         double bound)
{
    struct operand *o = arena_new(g->arena, struct operand);
    *o = (struct operand){name, dtype, *shape, bound};
    vec_push(g->arena, &g->operands, o);
    return o;
}

static void declare(struct gen *g, int where, const struct operand *o)
{
    struct model_dim dims[SHAPE_MAX_RANK];
    for (int i = 0; i < o->shape.rank; i++)
        dims[i] = (struct model_dim){o->shape.dim[i], "", ""};
    model_add_value(g->arena, g->graph, where, o->name, o->dtype, dims, (size_t)o->shape.rank);
}

const struct operand *gen_pick(struct gen *g, unsigned long long dtypes)
{
    for (int i = 0; i < 24 && g->operands.count; i++) {
        const int64_t count = (int64_t)g->operands.count, back = gen_below(g, count);
        const struct operand *o = g->operands.data[count - 1 - (gen_chance(g, 60) ? back / 3 : back)];
        if (dtypes & DTYPE_BIT(o->dtype))
            return o;
    }
    return NULL;
}

const struct operand *gen_pick_beside(struct gen *g, const struct operand *x)
{
    for (int i = 0; i < 12; i++) {
        const struct operand *o = gen_pick(g, DTYPE_BIT(x->dtype));
        struct shape both;
        if (o && shape_broadcast(&both, &o->shape, &x->shape) && shape_count(&both) <= GEN_MAX_COUNT)
            return o;
    }
    struct shape s = x->shape;
    const int drop = s.rank ? (int)gen_below(g, s.rank + 1) / 2 : 0;
    memmove(s.dim, s.dim + drop, (size_t)(s.rank - drop) * sizeof *s.dim);
    s.rank -= drop;
    for (int i = 0; i < s.rank; i++)
        if (gen_chance(g, 25))
            s.dim[i] = 1;
    return gen_leaf(g, x->dtype, &s);
}

const struct operand *gen_input(struct gen *g, const char *name, enum dtype dtype, const struct shape *shape,
                                double bound)
{
    const struct operand *o = add_operand(g, name, dtype, shape, bound);
    declare(g, 0, o);
    return o;
}

static struct tensor *random_tensor(struct gen *g, enum dtype dtype, const struct shape *shape)
{
    struct tensor *t = tensor_new(g->arena, dtype, shape);
    for (int64_t i = 0; i < t->count; i++)
        if (dtype_is_float(dtype))
            tensor_set_double(t, i, (double)gen_below(g, 4001) / 2000.0 - 1.0);
        else
            tensor_set_int(t, i, dtype == DTYPE_BOOL ? gen_below(g, 2) : gen_below(g, 9) - 4);
    return t;
}

const struct operand *gen_initializer(struct gen *g, enum dtype dtype, const struct shape *shape)
{
    const struct operand *o = add_operand(g, gen_name(g), dtype, shape, dtype_is_float(dtype) ? 1 : 4);
    model_add_initializer(g->arena, g->graph, o->name, random_tensor(g, dtype, shape));
    return o;
}

const struct operand *gen_leaf(struct gen *g, enum dtype dtype, const struct shape *shape)
{
    return gen_chance(g, 40) ? gen_initializer(g, dtype, shape) : gen_input(g, gen_name(g), dtype, shape, 1.5);
}

static const struct operand *hidden(struct gen *g, struct tensor *t, double bound)
{
    struct operand *o = arena_new(g->arena, struct operand);
    *o = (struct operand){gen_name(g), t->dtype, t->shape, bound};
    model_add_initializer(g->arena, g->graph, o->name, t);
    return o;
}

const struct operand *gen_ints(struct gen *g, const int64_t *x, int count)
{
    return hidden(g, tensor_from_ints(g->arena, x, count), 0);
}

const struct operand *gen_constant(struct gen *g, enum dtype dtype, double x)
{
    return hidden(g, tensor_scalar_double(g->arena, dtype, x), x);
}

const struct operand *gen_node(struct gen *g, const char *op, const struct operand *const *inputs, enum dtype dtype,
                               const struct shape *shape, double bound)
{
    str_list in = {0};
    for (; *inputs; inputs++)
        vec_push(g->arena, &in, (*inputs)->name);
    vec_push(g->arena, &in, NULL);
    const char *const out[] = {gen_name(g), NULL};
    model_add_node(g->arena, g->graph, "", op, in.data, out);
    return add_operand(g, out[0], dtype, shape, bound);
}

struct model_node *gen_last(struct gen *g)
{
    return g->graph->nodes.data[g->graph->nodes.count - 1];
}
