#include "ops/matmul_rules.h"

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static struct shape promote(const struct shape *s, bool is_left)
{
    if (s->rank != 1)
        return *s;
    const struct size one = size_constant(1), k = shape_size(s, 0);
    return is_left ? SHAPE_OF(one, k) : SHAPE_OF(k, one);
}

static struct shape lead_with_ones(const struct shape *s, int rank)
{
    struct shape out = SHAPE_SCALAR;
    for (int d = 0; d < rank; d++)
        shape_add(&out, d < rank - s->rank ? size_constant(1) : shape_size(s, d - (rank - s->rank)));
    return out;
}

bool matmul_sizes_of(const struct shape *a, const struct shape *b, struct matmul_sizes *p)
{
    p->a = promote(a, true);
    p->b = promote(b, false);
    const int rank = p->a.rank > p->b.rank ? p->a.rank : p->b.rank;
    p->a = lead_with_ones(&p->a, rank);
    p->b = lead_with_ones(&p->b, rank);
    p->outer = rank - 2;
    p->m = p->a.dim[rank - 2];
    p->k = p->a.dim[rank - 1];
    p->n = p->b.dim[rank - 1];
    struct shape outer_a = p->a, outer_b = p->b;
    outer_a.rank = outer_b.rank = rank - 2;
    if (!shape_broadcast(&p->y, &outer_a, &outer_b))
        return false;
    shape_take(&p->y, &p->a, rank - 2);
    shape_take(&p->y, &p->b, rank - 1);
    return true;
}

/* ---- inference --------------------------------------------------------------------------------------------------- */

/* y without the axes that the promotion added. */
static struct shape result_shape(const struct matmul_sizes *p, const struct shape *a, const struct shape *b)
{
    struct shape y = p->y;
    y.rank = p->outer;
    if (a->rank != 1)
        shape_take(&y, &p->y, p->outer);
    if (b->rank != 1)
        shape_take(&y, &p->y, p->outer + 1);
    return y;
}

bool matmul_infer_product(struct infer_ctx *c, int left, int right, enum dtype dtype)
{
    const struct value *va = infer_in(c, left), *vb = infer_in(c, right);
    const struct shape *a = &va->shape, *b = &vb->shape;
    if (a->rank == 0 || b->rank == 0)
        return infer_error(c, "input %d '%s' is a scalar, expected rank 1 or more", a->rank == 0 ? left : right,
                           a->rank == 0 ? va->name : vb->name);
    const int64_t k = a->dim[a->rank - 1], rows = b->dim[b->rank > 1 ? b->rank - 2 : 0];
    if (k != rows)
        return infer_error(c, "input %d '%s' has %lld rows, expected %lld to match the last axis of input %d '%s'",
                           right, vb->name, (long long)rows, (long long)k, left, va->name);
    struct matmul_sizes p;
    if (!matmul_sizes_of(a, b, &p)) {
        struct arena text = {0};
        infer_error(c,
                    "input %d '%s' of shape %s and input %d '%s' of shape %s: the axes before the last two do not "
                    "broadcast",
                    left, va->name, shape_text(&text, a), right, vb->name, shape_text(&text, b));
        arena_free(&text);
        return false;
    }
    const struct shape y = result_shape(&p, a, b);
    return infer_out(c, 0, dtype, &y);
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* Where the matrix at `index` of the outer dims begins; they stretch. */
static int64_t outer_offset(const struct shape *s, int outer, const int64_t *index)
{
    int64_t stride[SHAPE_MAX_RANK], at = 0;
    shape_strides(s, stride);
    for (int d = 0; d < outer; d++)
        at += s->dim[d] == 1 ? 0 : index[d] * stride[d];
    return at;
}

int64_t matmul_row(const struct matmul_sizes *p, const int64_t *index)
{
    return outer_offset(&p->a, p->outer, index) + index[p->outer] * p->k;
}

int64_t matmul_column(const struct matmul_sizes *p, const int64_t *index)
{
    return outer_offset(&p->b, p->outer, index) + index[p->outer + 1];
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

struct view matmul_operand(struct lower_ctx *c, int i, const struct shape *promoted, const struct matmul_sizes *p)
{
    const struct view v = lower_view_of(c, i);
    struct view full;
    if (!view_reshape(&v, promoted, &full))
        UNREACHABLE("axes of one always fit");
    struct shape to = p->y;
    for (int d = p->outer; d < p->outer + 2; d++)
        shape_set(&to, d, shape_size(promoted, d));
    return view_broadcast(&full, &to);
}
