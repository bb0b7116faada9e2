#include "tensor/shape.h"
#include "base/checked.h"
#include "base/str.h"

#include <assert.h>

enum { LARGEST_ELEMENT_BYTES = 16 }; /* complex128 */

struct size shape_size(const struct shape *s, int d)
{
    return (struct size){s->dim[d], s->per[d]};
}

void shape_set(struct shape *s, int d, struct size x)
{
    s->dim[d] = x.most;
    s->per[d] = x.per;
}

void shape_add(struct shape *s, struct size x)
{
    shape_set(s, s->rank++, x);
}

struct shape shape_of_sizes(const struct size *x, size_t count)
{
    struct shape s = SHAPE_SCALAR;
    for (size_t d = 0; d < count; d++)
        shape_add(&s, x[d]);
    return s;
}

void shape_take(struct shape *s, const struct shape *from, int d)
{
    shape_add(s, shape_size(from, d));
}

struct size shape_size_range(const struct shape *s, int from, int to)
{
    struct size product = size_constant(1);
    for (int d = from; d < to; d++)
        product = size_product(product, shape_size(s, d));
    return product;
}

struct size shape_elements(const struct shape *s)
{
    return shape_size_range(s, 0, s->rank);
}

bool shape_is_constant(const struct shape *s)
{
    for (int d = 0; d < s->rank; d++)
        if (s->per[d] != 0)
            return false;
    return true;
}

bool shape_is_transposed(const struct shape *a, const struct shape *b)
{
    return a->rank == 2 && b->rank == 2 && a->dim[0] == b->dim[1] && a->dim[1] == b->dim[0];
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

bool shape_same_sizes(const struct shape *a, const struct shape *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = size_equal(shape_size(a, d), shape_size(b, d));
    return same;
}

int64_t shape_count(const struct shape *s)
{
    return shape_count_range(s, 0, s->rank);
}

/* Checked on the product of the dims that are not 0, so that every range of dims and every stride fits as well. */
bool shape_count_checked(const struct shape *s, int64_t *count)
{
    int64_t product = LARGEST_ELEMENT_BYTES;
    bool empty = false;
    if (s->rank < 0 || s->rank > SHAPE_MAX_RANK)
        return false;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0)
            return false;
        if (s->dim[i] == 0)
            empty = true;
        else if (!checked_mul(product, s->dim[i], &product))
            return false;
    }
    if ((uint64_t)product > PTRDIFF_MAX)
        return false;
    *count = empty ? 0 : product / LARGEST_ELEMENT_BYTES;
    return true;
}

int64_t shape_count_range(const struct shape *s, int from, int to)
{
    assert(0 <= from && to <= s->rank);
    int64_t product = 1;
    for (int i = from; i < to; i++)
        product *= s->dim[i];
    return product;
}

/* The size that stands `from_right` places from the right end (0 is the last); 1 where the shape is shorter. */
static struct size size_from_right(const struct shape *s, int from_right)
{
    return from_right < s->rank ? shape_size(s, s->rank - 1 - from_right) : size_constant(1);
}

/* Sizes that are equal for the highest count alone are so for no other. */
static struct size broadcast(struct size x, struct size y)
{
    if (x.most != y.most)
        return x.most == 1 ? y : x;
    return (struct size){x.most, x.per == y.per ? x.per : NOT_AFFINE};
}

bool shape_broadcast(struct shape *out, const struct shape *a, const struct shape *b)
{
    struct shape result = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < result.rank; i++) {
        const struct size x = size_from_right(a, i), y = size_from_right(b, i);
        if (x.most != y.most && x.most != 1 && y.most != 1)
            return false;
        shape_set(&result, result.rank - 1 - i, broadcast(x, y));
    }
    *out = result;
    return true;
}

void shape_strides(const struct shape *s, int64_t stride[SHAPE_MAX_RANK])
{
    int64_t step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= s->dim[i];
    }
}

void shape_broadcast_strides(const struct shape *s, const struct shape *to, int64_t stride[SHAPE_MAX_RANK])
{
    assert(s->rank <= to->rank);
    int64_t step = 1;
    for (int i = 0; i < to->rank; i++) {
        const int64_t dim = size_from_right(s, i).most, wide = size_from_right(to, i).most;
        assert(dim == wide || dim == 1);
        stride[to->rank - 1 - i] = dim == wide && i < s->rank ? step : 0;
        step *= dim;
    }
}

bool shape_axis(int rank, int64_t axis, int *out)
{
    if (axis < -rank || axis >= rank)
        return false;
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

const char *shape_text(struct arena *a, const struct shape *s)
{
    struct strbuf b = {.arena = a};
    strbuf_add(&b, "[");
    for (int i = 0; i < s->rank; i++)
        strbuf_addf(&b, "%s%lld", i > 0 ? "," : "", (long long)s->dim[i]);
    strbuf_add(&b, "]");
    return strbuf_text(&b);
}

bool shape_next(const struct shape *s, int64_t index[SHAPE_MAX_RANK])
{
    for (int i = s->rank - 1; i >= 0; i--) {
        if (++index[i] < s->dim[i])
            return true;
        index[i] = 0;
    }
    return false;
}
