#include "tensor/shape.h"
#include "base/checked.h"
#include "base/str.h"

#include <assert.h>

enum { LARGEST_ELEMENT_BYTES = 16 }; /* complex128 */

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

/* The dim that stands `from_right` places from the right end (0 is the last); 1 where the shape is shorter. */
static int64_t dim_from_right(const struct shape *s, int from_right)
{
    return from_right < s->rank ? s->dim[s->rank - 1 - from_right] : 1;
}

bool shape_broadcast(struct shape *out, const struct shape *a, const struct shape *b)
{
    struct shape result = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < result.rank; i++) {
        const int64_t x = dim_from_right(a, i), y = dim_from_right(b, i);
        if (x != y && x != 1 && y != 1)
            return false;
        result.dim[result.rank - 1 - i] = x == 1 ? y : x;
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
        const int64_t dim = dim_from_right(s, i), wide = dim_from_right(to, i);
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
