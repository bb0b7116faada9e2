/* Views: which strides over a buffer a value is. */
#include "lower/kernel.h"

#include <string.h>

struct view view_of_buffer(struct buffer *b, const struct shape *shape)
{
    struct view v = {.buffer = b, .shape = *shape};
    shape_strides(shape, v.stride);
    return v;
}

bool view_is_contiguous(const struct view *v)
{
    int64_t expected = 1;
    for (int d = v->shape.rank - 1; d >= 0; d--) {
        if (v->shape.dim[d] != 1 && v->stride[d] != expected)
            return false;
        expected *= v->shape.dim[d];
    }
    return true;
}

/* One group of the two shapes with equal products: dims [i0, i1) of the view against [j0, j1) of the new shape. The
 * old dims must be walkable as one (each stride the product of the inner ones), then the new strides follow from the
 * innermost. */
static bool reshape_group(const struct view *v, int i0, int i1, struct view *out, int j0, int j1)
{
    int64_t innermost = 0, expected = 0;
    bool any = false;
    for (int i = i1 - 1; i >= i0; i--) {
        if (v->shape.dim[i] == 1)
            continue;
        if (!any)
            innermost = v->stride[i];
        else if (v->stride[i] != expected)
            return false;
        any = true;
        expected = v->stride[i] * v->shape.dim[i];
    }
    int64_t stride = innermost;
    for (int j = j1 - 1; j >= j0; j--) {
        out->stride[j] = stride;
        stride *= out->shape.dim[j];
    }
    return true;
}

bool view_reshape(const struct view *v, const struct shape *to, struct view *out)
{
    struct view r = {.buffer = v->buffer, .offset = v->offset, .shape = *to};
    int i = 0, j = 0;
    if (shape_count(to) == 0) { /* nothing to walk */
        shape_strides(to, r.stride);
        *out = r;
        return true;
    }
    while (i < v->shape.rank || j < to->rank) {
        const int i0 = i, j0 = j;
        int64_t p = i < v->shape.rank ? v->shape.dim[i++] : 1;
        int64_t q = j < to->rank ? to->dim[j++] : 1;
        while (p != q) {
            if (p < q)
                p *= v->shape.dim[i++];
            else
                q *= to->dim[j++];
        }
        if (!reshape_group(v, i0, i, &r, j0, j))
            return false;
    }
    *out = r;
    return true;
}

struct view view_transpose(const struct view *v, const int *perm)
{
    struct view r = *v;
    for (int d = 0; d < v->shape.rank; d++) {
        r.shape.dim[d] = v->shape.dim[perm[d]];
        r.stride[d] = v->stride[perm[d]];
    }
    return r;
}

struct view view_slice(const struct view *v, const int64_t *start, const int64_t *step, const struct shape *to)
{
    struct view r = *v;
    r.shape = *to;
    if (shape_count(to) == 0)
        return r;
    for (int d = 0; d < to->rank; d++) {
        r.offset += start[d] * v->stride[d];
        r.stride[d] = v->stride[d] * step[d];
    }
    return r;
}

struct view view_broadcast(const struct view *v, const struct shape *to)
{
    struct view r = {.buffer = v->buffer, .offset = v->offset, .shape = *to};
    const int shift = to->rank - v->shape.rank;
    for (int d = 0; d < to->rank; d++) {
        const int from = d - shift;
        r.stride[d] = from < 0 || (v->shape.dim[from] == 1 && to->dim[d] != 1) ? 0 : v->stride[from];
    }
    return r;
}
