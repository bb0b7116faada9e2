#include "ops/move_rules.h"

/* ---- inference --------------------------------------------------------------------------------------------------- */

bool move_infer_dims(struct infer_ctx *c, int i, struct shape *out)
{
    const struct size *dims;
    size_t count;
    if (!infer_known_sizes(c, i, &dims, &count))
        return false;
    if (count > SHAPE_MAX_RANK)
        return infer_error(c, "input %d '%s' asks for rank %zu, at most %d is supported", i, infer_in(c, i)->name,
                           count, SHAPE_MAX_RANK);
    *out = (struct shape){.rank = (int)count};
    for (size_t k = 0; k < count; k++) {
        if (dims[k].most < 0)
            return infer_error(c, "input %d '%s' has the dimension %lld, expected 0 or more", i, infer_in(c, i)->name,
                               (long long)dims[k].most);
        shape_set(out, (int)k, dims[k]);
    }
    return true;
}

bool move_infer_axes(struct infer_ctx *c, const int64_t *axes, size_t count, int rank, bool twice, bool *listed)
{
    for (size_t k = 0; k < count; k++) {
        int axis;
        if (!infer_axis(c, axes[k], rank, &axis))
            return false;
        if (listed[axis] && !twice)
            return infer_error(c, "axis %lld is listed twice", (long long)axes[k]);
        listed[axis] = true;
    }
    return true;
}

int move_axis(const struct node *n)
{
    int axis = 0;
    if (!shape_axis(node_input(n, 0)->shape.rank, op_attr_int(n, "axis"), &axis))
        UNREACHABLE("an axis that inference refuses");
    return axis;
}

bool move_infer_shape(struct infer_ctx *c, int i, const struct shape *expected)
{
    const struct value *v = infer_in(c, i);
    return v == NULL || shape_equal(&v->shape, expected) ||
           infer_error(c, "input %d '%s' has shape %s, expected %s", i, v->name, shape_text(c->diag->arena, &v->shape),
                       shape_text(c->diag->arena, expected));
}

/* Of an input that inference has read; NULL where it is omitted. */
static const struct tensor *known(const struct node *n, int i)
{
    struct value *v = node_input(n, (size_t)i);
    const struct tensor *t = v != NULL ? value_known(v) : NULL;
    if (v != NULL && t == NULL)
        UNREACHABLE("input %d of %s is no longer known", i, op_display_name(n->def));
    return t;
}

const struct size *move_known_sizes(struct arena *a, const struct node *n, int i, size_t *count)
{
    const struct tensor *const t = known(n, i);
    *count = t != NULL ? (size_t)t->count : 0;
    struct size *const list = arena_array(a, struct size, *count);
    for (size_t k = 0; k < *count; k++)
        list[k] = tensor_get_size(t, (int64_t)k);
    return list;
}

const int64_t *move_known_ints(struct arena *a, const struct node *n, int i, size_t *count)
{
    const struct tensor *const t = known(n, i);
    *count = 0;
    if (t == NULL)
        return NULL;
    int64_t *list = arena_array(a, int64_t, (size_t)t->count);
    for (int64_t k = 0; k < t->count; k++)
        list[k] = tensor_get_int(t, k);
    *count = (size_t)t->count;
    return list;
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

bool move_reshape_grad(struct grad_ctx *c)
{
    return grad_accumulate(c, 0, build_reshape(c->b, grad_of_output(c, 0), &grad_input(c, 0)->shape));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

void move_element(struct eval_tensor *to, int64_t k, const struct eval_tensor *from, int64_t j)
{
    if (to->f != NULL)
        to->f[k] = from->f[j];
    else
        to->i[k] = from->i[j];
}

static int64_t position(const int64_t *index, int rank, int64_t offset, const int64_t *stride)
{
    for (int d = 0; d < rank; d++)
        offset += stride[d] * index[d];
    return offset;
}

void move_read_strided(struct eval_tensor *to, const struct eval_tensor *from, int64_t offset, const int64_t *stride)
{
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t k = 0; k < to->count; k++) {
        move_element(to, k, from, position(index, to->shape.rank, offset, stride));
        shape_next(&to->shape, index);
    }
}

void move_write_strided(struct eval_tensor *to, int64_t offset, const int64_t *stride, const struct eval_tensor *from)
{
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t k = 0; k < from->count; k++) {
        move_element(to, position(index, from->shape.rank, offset, stride), from, k);
        shape_next(&from->shape, index);
    }
}

bool move_reshape_eval(struct eval_ctx *c)
{
    struct eval_tensor *y = eval_output(c, 0);
    for (int64_t k = 0; y != NULL && k < y->count; k++)
        move_element(y, k, eval_input(c, 0), k);
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

bool move_reshape_lower(struct lower_ctx *c)
{
    return lower_as_reshape(c, 0, 0);
}

const struct expr *move_zero(struct lower_ctx *c, enum dtype dtype)
{
    return dtype_is_float(dtype) ? expr_float(c->arena, dtype, 0.0) : expr_int(c->arena, dtype, 0);
}

/* Where the elements of `place` lie in `out` if they are a box of it, one that is smaller along a single axis. */
static bool find_box(const struct view *out, const struct view *place, int *axis, int64_t *start)
{
    int64_t offset = place->offset - out->offset;
    int smaller = 0;
    for (int d = 0; d < out->shape.rank; d++) {
        const int64_t at = offset / out->stride[d];
        if (place->stride[d] != out->stride[d])
            return false;
        offset -= at * out->stride[d];
        if (place->shape.dim[d] < out->shape.dim[d]) {
            smaller++;
            *axis = d;
            *start = at;
        }
    }
    return smaller == 1;
}

static void fill_from(struct lower_ctx *c, const struct view *out, int axis, int64_t from, int64_t to,
                      const struct expr *fill)
{
    struct view v = *out;
    v.offset += from * out->stride[axis];
    shape_set(&v.shape, axis, size_constant(to - from));
    if (to > from)
        lower_store(c, lower_part(c, &v.shape), &v, fill);
}

/* A value that only this node reads, and that a kernel computes. */
static bool is_own(const struct lower_ctx *c, const struct view *v)
{
    return v->buffer->kind == BUFFER_TEMP && node_input(c->node, 0)->uses.count == 1;
}

/* Along one axis only what lies around the box is filled, and what is computed for nobody else may be
 * stored into it at once. */
bool move_fill_and_place(struct lower_ctx *c, const struct expr *fill, const struct view *from,
                         const struct view *place)
{
    const struct view out = lower_out_view(c, 0);
    const int64_t placed = from == NULL ? 0 : shape_count(&from->shape);
    int axis = 0;
    int64_t start = 0;
    if (out.buffer->count == 0)
        return true;
    lower_kernel(c, NULL);
    if (placed > 0 && find_box(&out, place, &axis, &start)) {
        fill_from(c, &out, axis, 0, start, fill);
        fill_from(c, &out, axis, start + from->shape.dim[axis], out.shape.dim[axis], fill);
        if (is_own(c, from))
            lower_kernel(c, NULL);
    } else if (placed < out.buffer->count) {
        lower_store(c, lower_part(c, &out.shape), &out, fill);
    }
    if (placed > 0)
        lower_store(c, lower_part(c, &from->shape), place, lower_load(c, from));
    return true;
}
