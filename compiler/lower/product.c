/* Matrix products: sizes and strides for the product templates (templates/product.c). */
#include "lower/lower.h"

#include <string.h>
#include <stdlib.h>

/* Integers wrap, so the order of the sum is free: a plain reduction serves. */
static bool product_of_integers(struct lower_ctx *c, const struct view *a, const struct view *b, const struct expr *finish)
{
    const int outer = a->shape.rank - 2;
    struct shape domain = a->shape; /* outer.., m, then n and k */
    domain.rank = outer + 3;
    domain.dim[outer + 1] = b->shape.dim[outer + 1];
    domain.dim[outer + 2] = a->shape.dim[outer + 1];
    struct access pa = {.buffer = a->buffer, .offset = a->offset}, pb = {.buffer = b->buffer, .offset = b->offset};
    memcpy(pa.stride, a->stride, (size_t)(outer + 1) * sizeof *a->stride);
    memcpy(pb.stride, b->stride, (size_t)outer * sizeof *b->stride);
    pa.stride[outer + 2] = a->stride[outer + 1];
    pb.stride[outer + 1] = b->stride[outer + 1];
    pb.stride[outer + 2] = b->stride[outer];
    lower_kernel(c, "product");
    struct part *p = lower_part(c, &domain);
    p->reduce = REDUCE_SUM;
    p->reduced[outer + 2] = true;
    p->element = expr_binary(c->arena, EXPR_MUL, expr_load(c->arena, &pa), expr_load(c->arena, &pb));
    const struct view out = lower_out_view(c, 0);
    struct view to = out;
    to.shape = domain;
    shape_strides(&SHAPE_SCALAR, to.stride);
    struct shape kept = domain;
    kept.rank = outer + 2;
    shape_strides(&kept, to.stride);
    to.stride[outer + 2] = 0;
    lower_store(c, p, &to, finish ? finish : expr_result(c->arena, p->element->dtype));
    return true;
}

/* [outer.., m, k] x [k, n] is one product of outer * m rows when b does not change along the outer dims. */
static bool merge_rows(struct view *a, struct view *b)
{
    const int outer = a->shape.rank - 2;
    for (int d = 0; d < outer; d++)
        if (b->shape.dim[d] != 1 && b->stride[d] != 0)
            return false;
    const struct shape flat = SHAPE(shape_count_range(&a->shape, 0, outer + 1), a->shape.dim[outer + 1]);
    struct view merged;
    if (outer == 0 || !view_reshape(a, &flat, &merged))
        return false;
    *a = merged;
    b->shape = SHAPE(b->shape.dim[outer], b->shape.dim[outer + 1]);
    b->stride[0] = b->stride[outer];
    b->stride[1] = b->stride[outer + 1];
    return true;
}

static void bind_outer(struct kernel *k, const struct view *a)
{
    k->outer_rank = a->shape.rank - 2;
    memcpy(k->outer_extent, a->shape.dim, (size_t)k->outer_rank * sizeof *k->outer_extent);
}

static struct access outer_access(const struct view *v, int outer)
{
    struct access a = {.buffer = v->buffer, .offset = v->offset};
    memcpy(a.stride, v->stride, (size_t)outer * sizeof *v->stride);
    return a;
}

/* Tiles read b in place where its rows are contiguous and fill a vector. Rows far apart are packed nevertheless when there are
 * enough rows of a to pay for it: a column of tiles would touch too many pages, and one set of the cache where the distance
 * is a multiple of 4 KB. */
static bool needs_packing(int64_t m, int64_t n, int64_t column_stride)
{
    return column_stride != 1 || n < 16 || (n > 512 && m >= 8);
}

static int64_t columns_at_a_time(int64_t n, int64_t k, int64_t panel)
{
    int64_t block = panel;
    const char *e = getenv("BLK");
    while (2 * block <= n && 2 * block * k <= (e ? atoi(e) : 65536))
        block *= 2;
    return block;
}

bool lower_product(struct lower_ctx *c, const struct view *a_in, const struct view *b_in, const struct expr *finish)
{
    struct view a = *a_in, b = *b_in;
    const enum dtype type = a.buffer->dtype;
    if (!dtype_is_float(type))
        return product_of_integers(c, &a, &b, finish);
    if (!finish)
        merge_rows(&a, &b);
    const int outer = a.shape.rank - 2;
    const int64_t m = a.shape.dim[outer], k = a.shape.dim[outer + 1], n = b.shape.dim[outer + 1];
    struct kernel *kernel = lower_kernel(c, "product");
    const bool packed = needs_packing(m, n, b.stride[outer + 1]);
    const int64_t panel = n * k < PRODUCT_SMALL ? PRODUCT_NARROW_PANEL : PRODUCT_PANEL;
    lower_template(c, packed ? "product_packed" : "product", type);
    bind_outer(kernel, &a);
    lower_template_int(c, "M", m);
    lower_template_int(c, "N", n);
    lower_template_int(c, "K", k);
    lower_template_int(c, "A_ROW", a.stride[outer]);
    lower_template_int(c, "A_COL", a.stride[outer + 1]);
    lower_template_int(c, "B_ROW", b.stride[outer]);
    lower_template_int(c, "B_COL", b.stride[outer + 1]);
    const struct access pa = outer_access(&a, outer), pb = outer_access(&b, outer);
    lower_template_operand(c, "a", &pa);
    lower_template_operand(c, "b", &pb);
    if (packed) {
        lower_template_int(c, "PANEL", panel);
        lower_template_int(c, "BLOCK", columns_at_a_time(n, k, panel));
        lower_template_scratch(c, "panel", k * columns_at_a_time(n, k, panel));
    }
    struct part *p = lower_template_part(c, "finish", 2, (int64_t[]){m, n});
    struct view to = lower_out_view(c, 0);
    struct shape shape = {.rank = p->rank};
    memcpy(shape.dim, p->extent, (size_t)p->rank * sizeof *p->extent);
    to = view_of_buffer(to.buffer, &shape);
    lower_store(c, p, &to, finish ? finish : expr_result(c->arena, type));
    return true;
}
