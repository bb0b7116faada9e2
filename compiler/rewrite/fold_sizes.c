/* What the integers that folding finds are as sizes (tensor/size.h): for other counts of the program's range than the
 * highest. Each operator's record says how its results follow from sizes (enum op_sizes); results of the others are
 * taken for constants, which engine/range_counts.c holds against the program for each count.
 *
 *   s = Shape(x); n = Gather(s, 0); t = Concat(n, {-1})     x[batch,8,8]: t = {32, -1}, of which the first is batch */
#include "rewrite/pass.h"

#include "eval/eval.h"
#include "graph/op_def.h"

static bool depends_on_range(const struct node *n, const struct value *v)
{
    return v != NULL && (n->def->shape_only ? !shape_is_constant(&v->shape) : v->constant->per != NULL);
}

static bool is_operand(const struct node *n, size_t i)
{
    return !(op_param_at(n->def->inputs, i)->flags & PARAM_NOT_DIFF);
}

/* ---- element by element ------------------------------------------------------------------------------------------ */

/* x if the sign of a - b is among those for which the relation holds. */
static struct size truth(struct size a, struct size b, bool less, bool equal, bool greater, int64_t span)
{
    const int64_t sign = size_compare(a, b, span);
    const bool is = a.most < b.most ? less : a.most == b.most ? equal : greater;
    return (struct size){is, sign == NOT_AFFINE ? NOT_AFFINE : 0};
}

static struct size pair(const struct node *n, struct size a, struct size b)
{
    const int64_t span = program_span(n->graph->program);
    switch (n->def->sizes) {
    case SIZES_SUM: return size_sum(a, b);
    case SIZES_DIFFERENCE: return size_difference(a, b);
    case SIZES_PRODUCT: return size_product(a, b);
    case SIZES_QUOTIENT: return b.most > 0 && a.most >= 0 && b.per == 0 ? size_quotient(a, b.most)
                                                                        : (struct size){0, NOT_AFFINE};
    case SIZES_LEAST: return size_least(a, b, span);
    case SIZES_GREATEST: return size_greatest(a, b, span);
    case SIZES_EQUAL: return truth(a, b, false, true, false, span);
    case SIZES_LESS: return truth(a, b, true, false, false, span);
    case SIZES_GREATER: return truth(a, b, false, false, true, span);
    case SIZES_UNKNOWN:
    case SIZES_MOVED:
    case SIZES_DIMS:
    case SIZES_COUNT: break;
    }
    return (struct size){0, NOT_AFFINE};
}

static void fold_pairs(const struct node *n, const struct shape *y, int64_t *per, struct arena *scratch)
{
    const struct tensor *const t[] = {n->inputs.data[0]->constant, n->inputs.data[1]->constant};
    const int64_t count = shape_count(y);
    int64_t *from[2];
    for (int i = 0; i < 2; i++) {
        from[i] = arena_array(scratch, int64_t, (size_t)count);
        eval_broadcast_index(eval_from_tensor(scratch, t[i]), y, from[i]);
    }
    for (int64_t k = 0; k < count; k++)
        per[k] = pair(n, tensor_get_size(t[0], from[0][k]), tensor_get_size(t[1], from[1][k])).per;
}

/* ---- elements that move ------------------------------------------------------------------------------------------ */

/* The input with what one count more adds in the place of its elements; or, for `lost`, with 1 where that is lost: it
 * is not known, or the result only says whether it is 0. */
static const struct eval_tensor *per_of(struct arena *scratch, const struct tensor *t, bool lost, bool is_truth)
{
    struct eval_tensor *const x = eval_tensor_new(scratch, DTYPE_INT64, &t->shape);
    for (int64_t k = 0; k < t->count; k++) {
        const int64_t per = t->per != NULL ? t->per[k] : 0;
        const bool is_lost = per == NOT_AFFINE || (is_truth && per != 0);
        x->i[k] = lost ? is_lost : is_lost ? 0 : per;
    }
    return x;
}

/* Elements of constants stay constants, wherever they go if they are all the same. */
static bool moves_one_number(const struct node *n)
{
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *const v = n->inputs.data[i];
        if (v != NULL && is_operand(n, i) && (v->constant->per != NULL || !tensor_is_uniform(v->constant)))
            return false;
    }
    return true;
}

/* out[]: the node's outputs for per_of(). Places and conditions must be constants. */
static bool move(const struct node *n, size_t output, bool lost, struct eval_tensor **out, struct arena *scratch)
{
    const struct eval_tensor **const in = arena_array(scratch, const struct eval_tensor *, n->inputs.count);
    const bool is_truth = n->outputs.data[output]->dtype == DTYPE_BOOL;
    struct diag quiet = {.arena = scratch};
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *const v = n->inputs.data[i];
        if (v == NULL)
            continue;
        if (!is_operand(n, i) && v->constant->per != NULL)
            return false;
        in[i] = is_operand(n, i) ? per_of(scratch, v->constant, lost, is_truth)
                                 : eval_from_tensor(scratch, v->constant);
    }
    return eval_node(n, in, out, ARITHMETIC_SAME, (struct eval_random){0}, scratch, &quiet);
}

static bool fold_moved(const struct node *n, size_t output, int64_t *per, struct arena *scratch)
{
    if (moves_one_number(n))
        return true;
    struct eval_tensor **const out = arena_array(scratch, struct eval_tensor *, n->outputs.count);
    struct eval_tensor **const lost = arena_array(scratch, struct eval_tensor *, n->outputs.count);
    if (!move(n, output, false, out, scratch) || !move(n, output, true, lost, scratch))
        return false;
    for (int64_t k = 0; k < out[output]->count; k++)
        per[k] = lost[output]->i[k] != 0 ? NOT_AFFINE : out[output]->i[k];
    return true;
}

/* ---- a node ------------------------------------------------------------------------------------------------------ */

/* The whole list, or the part that attributes say. */
static void fold_dims(const struct node *n, int64_t *per, struct arena *scratch)
{
    const struct shape *const x = &n->inputs.data[0]->shape;
    struct eval_tensor by = {.dtype = n->inputs.data[0]->dtype, .shape = {.rank = x->rank}, .count = 1};
    const struct eval_tensor *const in[] = {&by};
    struct eval_tensor *out[1];
    struct diag quiet = {.arena = scratch};
    for (int d = 0; d < x->rank; d++)
        shape_set(&by.shape, d, size_constant(x->per[d]));
    if (eval_node(n, in, out, ARITHMETIC_SAME, (struct eval_random){0}, scratch, &quiet))
        for (int64_t k = 0; k < out[0]->count; k++)
            per[k] = out[0]->i[k];
}

static void find(const struct node *n, size_t output, int64_t *per, struct arena *scratch)
{
    const struct value *const v = n->outputs.data[output];
    const int64_t count = shape_count(&v->shape);
    bool known = true;
    switch (n->def->sizes) {
    case SIZES_UNKNOWN: break;
    case SIZES_MOVED: known = fold_moved(n, output, per, scratch); break;
    case SIZES_DIMS: fold_dims(n, per, scratch); break;
    case SIZES_COUNT: {
        const struct value *const x = n->inputs.data[0];
        struct size product = size_constant(1);
        for (int64_t k = 0; !n->def->shape_only && k < x->constant->count; k++)
            product = size_product(product, tensor_get_size(x->constant, k));
        known = n->def->shape_only || count == 1;
        per[0] = n->def->shape_only ? shape_size_range(&x->shape, 0, x->shape.rank).per : product.per;
        break;
    }
    case SIZES_SUM:
    case SIZES_DIFFERENCE:
    case SIZES_PRODUCT:
    case SIZES_QUOTIENT:
    case SIZES_LEAST:
    case SIZES_GREATEST:
    case SIZES_EQUAL:
    case SIZES_LESS:
    case SIZES_GREATER:
        known = n->inputs.count == 2;
        if (known)
            fold_pairs(n, &v->shape, per, scratch);
        break;
    }
    for (int64_t k = 0; !known && k < count; k++)
        per[k] = NOT_AFFINE;
}

const int64_t *fold_sizes(const struct node *n, size_t output, struct arena *scratch)
{
    const struct value *const v = n->outputs.data[output];
    const int64_t count = shape_count(&v->shape);
    bool depends = false, is_late = false;
    for (size_t i = 0; i < n->inputs.count; i++)
        depends |= depends_on_range(n, n->inputs.data[i]);
    if (!depends || count == 0 || !(dtype_is_int(v->dtype) || v->dtype == DTYPE_BOOL))
        return NULL;
    int64_t *const per = arena_array(n->graph->arena, int64_t, (size_t)count);
    find(n, output, per, scratch);
    for (int64_t k = 0; k < count; k++)
        is_late |= per[k] != 0;
    return is_late ? per : NULL;
}
