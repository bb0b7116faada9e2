/* Kernels that walk the same data together. */
#include "fuse/fuse_internal.h"

#include "lower/product.h"
#include <string.h>

/* ---- templates with several results ------------------------------------------------------------------------------ */

/* Same template on the same operands with the same sizes: only the results differ. */
static bool same_instance(const struct kernel *a, const struct kernel *b)
{
    if (a->kind != KERNEL_TEMPLATE || b->kind != KERNEL_TEMPLATE || a->tmpl.traits != b->tmpl.traits ||
        a->tmpl.type != b->tmpl.type || a->outer_rank != b->outer_rank ||
        a->tmpl.operand_count != b->tmpl.operand_count || a->tmpl.int_count != b->tmpl.int_count)
        return false;
    for (int d = 0; d < a->outer_rank; d++)
        if (a->outer_extent[d] != b->outer_extent[d])
            return false;
    for (int o = 0; o < a->tmpl.operand_count; o++)
        if (strcmp(a->tmpl.operands[o].param, b->tmpl.operands[o].param) != 0 ||
            a->tmpl.operands[o].value != b->tmpl.operands[o].value ||
            !access_same(&a->tmpl.operands[o].access, &b->tmpl.operands[o].access))
            return false;
    for (int i = 0; i < a->tmpl.int_count; i++)
        if (kernel_int(b, a->tmpl.ints[i].name) != a->tmpl.ints[i].value)
            return false;
    return true;
}

static bool results_disjoint(const struct kernel *a, const struct kernel *b)
{
    for (size_t i = 0; i < a->parts.count; i++)
        for (size_t j = 0; j < b->parts.count; j++)
            if (!strcmp(a->parts.data[i].hole, b->parts.data[j].hole))
                return false;
    return true;
}

static bool merge_sibling(struct fusion *f, struct kernel *k, struct kernel *s)
{
    if (s == k || s->removed || f->position[s->id] < f->position[k->id] || !same_instance(k, s) ||
        !results_disjoint(k, s))
        return false;
    const enum fuse_place place = fuse_place(f, k, s);
    if (place == FUSE_NOWHERE)
        return false;
    fuse_forget(f, k);
    fuse_forget(f, s);
    for (size_t i = 0; i < s->parts.count; i++)
        vec_push(f->arena, &k->parts, s->parts.data[i]);
    if (k->checks.count == 0)
        k->checks.count = s->checks.count, k->checks.data = s->checks.data, k->checks.capacity = s->checks.capacity;
    fuse_remember(f, k);
    for (size_t i = 0; i < s->nodes.count; i++)
        vec_push(f->arena, &k->nodes, s->nodes.data[i]);
    if (place == FUSE_AT_SECOND)
        fuse_take_place(f, k, s);
    fuse_remove(f, s);
    return true;
}

bool fuse_siblings(struct fusion *f, struct kernel *k)
{
    if (k->kind != KERNEL_TEMPLATE || k->tmpl.operand_count == 0)
        return false;
    const struct fuse_buffer *b = fuse_buffer(f, k->tmpl.operands[0].access.buffer);
    for (size_t r = 0; r < b->readers.count; r++)
        if (merge_sibling(f, k, b->readers.data[r]))
            return true;
    return false;
}

/* ---- sums of a product's operand --------------------------------------------------------------------------------- */

/* Does the reduction sum a[m, k] over k for each m, with the loops of the product's operand `a`? *collapsed: its
 * part, in which rows that the product walks as one loop are one as well. */
static bool sums_operand(struct fusion *f, const struct kernel *product, const struct kernel *r, struct part *collapsed)
{
    if (r->kind != KERNEL_LOOPS || r->parts.count != 1 || r->checks.count > 0 || product->outer_rank != 0)
        return false;
    const struct part *p = &r->parts.data[0];
    const struct access *a = &product->tmpl.operands[0].access;
    if (p->reduce != REDUCE_SUM || p->scan != SCAN_NONE || p->element->op != EXPR_LOAD ||
        p->element->access->buffer != a->buffer || p->element->access->offset != a->offset ||
        p->element->access->term_count > 0)
        return false;
    *collapsed = *p;
    part_collapse(f->arena, collapsed, 0);
    p = collapsed;
    int kept = -1, folded = -1;
    for (int d = 0; d < p->rank; d++) {
        if (p->extent[d] == 1)
            continue;
        int *which = p->reduced[d] ? &folded : &kept;
        if (*which >= 0)
            return false;
        *which = d;
    }
    /* The sum over the last axis runs in lanes by the contract, the product's in index order: leave that one alone. */
    if (kept < 0 || folded < 0 || folded > kept)
        return false;
    if (p->extent[folded] > BLOCK_OF_COLUMN) /* in blocks, which the templates do not know */
        return false;
    const struct product_sizes s = product_sizes_of(product);
    return p->extent[kept] == s.m && p->extent[folded] == s.k && p->element->access->stride[kept] == s.a_row &&
           p->element->access->stride[folded] == s.a_col;
}

struct redim {
    struct arena *arena;
    int kept;
};

/* Loops [.., kept, ..] become the one index of the row-sum hole. */
static struct access on_rows(const struct access *a, int kept)
{
    struct access r = {.buffer = a->buffer, .offset = a->offset};
    r.stride[0] = a->stride[kept];
    return r;
}

static const struct expr *load_on_rows(const struct expr *load, void *data)
{
    const struct redim *r = data;
    const struct access a = on_rows(load->access, r->kept);
    return expr_load(r->arena, &a);
}

static struct part row_sum_part(struct fusion *f, const struct part *p)
{
    struct redim r = {f->arena, 0};
    for (int d = 0; d < p->rank; d++)
        if (!p->reduced[d] && p->extent[d] != 1)
            r.kept = d;
    struct part made = {.rank = 1, .extent = {p->extent[r.kept]}, .hole = "row_sum"};
    for (size_t s = 0; s < p->stores.count; s++) {
        const struct expr_map map = {.arena = f->arena, .load = load_on_rows, .data = &r};
        const struct store store = {.to = on_rows(&p->stores.data[s].to, r.kept),
                                    .value = expr_substitute(&map, p->stores.data[s].value)};
        vec_push(f->arena, &made.stores, store);
    }
    return made;
}

static bool writes_what_is_read(const struct fusion *f, const struct kernel *writer, const struct kernel *reader)
{
    vec_each(const struct buffer *, b, &f->touched[writer->id].writes)
        if (buffers_have(&f->touched[reader->id].reads, b))
            return true;
    return false;
}

bool fuse_row_sums(struct fusion *f, struct kernel *product)
{
    if (product->kind != KERNEL_TEMPLATE || !product->tmpl.traits->has_row_sums || product->parts.count != 1)
        return false;
    const struct fuse_buffer *b = fuse_buffer(f, product->tmpl.operands[0].access.buffer);
    vec_each(struct kernel *, r, &b->readers) {
        struct part part;
        if (r == product || r->removed || !sums_operand(f, product, r, &part) || writes_what_is_read(f, r, product) ||
            writes_what_is_read(f, product, r))
            continue;
        struct kernel *first = f->position[r->id] < f->position[product->id] ? r : product;
        struct kernel *second = first == r ? product : r;
        const enum fuse_place place = fuse_place(f, first, second);
        if (place == FUSE_NOWHERE)
            continue;
        fuse_forget(f, product);
        fuse_forget(f, r);
        const struct part sums = row_sum_part(f, &part);
        vec_push(f->arena, &product->parts, sums);
        fuse_remember(f, product);
        for (size_t n = 0; n < r->nodes.count; n++)
            vec_push(f->arena, &product->nodes, r->nodes.data[n]);
        if ((place == FUSE_AT_FIRST) == (first == r))
            fuse_take_place(f, product, r);
        fuse_remove(f, r);
        return true;
    }
    return false;
}
