#include "ops/index_rules.h"

#include <inttypes.h>

/* ---- inference --------------------------------------------------------------------------------------------------- */

/* The first element that is no index, or -1. */
static int64_t find_wrong(const struct tensor *t, struct index_column of, int64_t size)
{
    for (int64_t k = of.column; k < t->count; k += of.width) {
        const int64_t index = tensor_get_int(t, k);
        if (index < -size || index >= size)
            return k;
    }
    return -1;
}

bool index_infer_known(struct infer_ctx *c, int i, struct index_column of, int64_t size)
{
    const struct tensor *known = value_known(infer_in(c, i));
    const int64_t k = known != NULL ? find_wrong(known, of, size) : -1;
    return k < 0 || infer_error(c, "element %lld of input %d '%s' is the index %lld, expected %lld to %lld",
                                (long long)k, i, infer_in(c, i)->name, (long long)tensor_get_int(known, k),
                                (long long)-size, (long long)size - 1);
}

bool index_infer_elements(struct infer_ctx *c, int axis)
{
    const struct shape *x = infer_shape(c, 0), *indices = infer_shape(c, 1);
    if (indices->rank != x->rank)
        return infer_error(c, "input 1 '%s' has rank %d, expected %d, the rank of input 0 '%s'", infer_in(c, 1)->name,
                           indices->rank, x->rank, infer_in(c, 0)->name);
    for (int d = 0; d < x->rank; d++)
        if (d != axis && indices->dim[d] > x->dim[d])
            return infer_error(c, "dimension %d of input 1 '%s' is %lld, expected at most %lld, that of input 0 '%s'",
                               d, infer_in(c, 1)->name, (long long)indices->dim[d], (long long)x->dim[d],
                               infer_in(c, 0)->name);
    return index_infer_known(c, 1, INDEX_ALL, x->dim[axis]);
}

int64_t index_least(const int64_t *dim, int count)
{
    int64_t least = INT64_MAX;
    for (int d = 0; d < count; d++)
        least = dim[d] < least ? dim[d] : least;
    return least;
}

int64_t index_wrap(int64_t index, int64_t size)
{
    return index < 0 ? index + size : index;
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

bool index_read(const struct eval_ctx *c, int i, int64_t k, int64_t size, int64_t *index)
{
    const int64_t given = eval_i(c, i)[k];
    *index = index_wrap(given, size);
    return (*index >= 0 && *index < size) ||
           eval_error(c, "element %" PRId64 " of input %d is the index %" PRId64 ", expected %" PRId64 " to %" PRId64,
                      k, i, given, -size, size - 1);
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

const struct expr *index_load(struct lower_ctx *c, const struct view *v, int64_t size)
{
    struct arena *a = c->arena;
    const struct expr *index = expr_cast(a, DTYPE_INT64, lower_load(c, v)), *zero = expr_int(a, DTYPE_INT64, 0);
    const struct expr *from_end = expr_binary(a, EXPR_ADD, index, expr_int(a, DTYPE_INT64, size));
    return expr_select(a, expr_binary(a, EXPR_LT, index, zero), from_end, index);
}

/* Are the elements, taken apart or transposed at most, places in an order of at most `size`, leaves of trees that have
 * no more, or numbers of elements in a tensor of so many? */
static bool is_certain(const struct value *v, int64_t size)
{
    while (v->kind == VALUE_RESULT && v->producer->def->is_view)
        v = v->producer->inputs.data[0];
    if (v->kind != VALUE_RESULT)
        return false;
    if (v->producer->def == op_find(DOMAIN_STEPC, "Places"))
        return v->producer->inputs.data[0]->shape.dim[1] <= size;
    if (v->producer->def == op_find(DOMAIN_STEPC, "TreeLeaves"))
        return op_attr_int(v->producer, "leaves") <= size;
    const int64_t *dims;
    size_t count;
    int64_t elements = 1;
    if (v->producer->def != op_find(DOMAIN_STEPC, "PlaceIndex") || !op_attr_ints(v->producer, "shape", &dims, &count))
        return false;
    for (size_t d = 0; d < count; d++)
        elements *= dims[d];
    return elements <= size;
}

/* Loops in which the view stands still say nothing new. */
static struct view without_repetition(const struct view *v)
{
    struct view once = *v;
    for (int d = 0; d < v->shape.rank; d++)
        if (v->stride[d] == 0 && v->shape.dim[d] > 1)
            shape_set(&once.shape, d, size_constant(1));
    return once;
}

void index_add_check(struct lower_ctx *c, int i, const struct view *v, struct index_column of, int64_t size)
{
    struct value *indices = c->node->inputs.data[i];
    const struct tensor *known = value_known(indices);
    if (known != NULL ? find_wrong(known, of, size) < 0 : is_certain(indices, size))
        return;
    const struct view once = without_repetition(v);
    lower_add_check(c, &once.shape, expr_cast(c->arena, DTYPE_INT64, lower_load(c, &once)), -size, size,
                    "STEPC_E_INDEX");
}
