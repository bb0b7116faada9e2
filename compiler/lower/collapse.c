/* Loops that walk memory as one become one: [32][10] over a contiguous buffer is one loop of 320. */
#include "lower/kernel.h"

#include <string.h>

struct merge_test {
    int dim; /* may dim and dim + 1 be walked as one? */
    int64_t inner;
    bool ok;
};

static void test_access(const struct access *a, void *data)
{
    struct merge_test *t = data;
    t->ok &= a->stride[t->dim] == a->stride[t->dim + 1] * t->inner;
}

static bool part_uses_index(const struct part *p)
{
    return part_any(p, expr_is_index, NULL);
}

struct drop {
    struct arena *arena;
    int dim;
};

static void drop_stride(struct access *a, int dim)
{
    memmove(a->stride + dim, a->stride + dim + 1, (size_t)(LOOP_MAX_DIMS - dim - 1) * sizeof *a->stride);
    a->stride[LOOP_MAX_DIMS - 1] = 0;
}

static const struct expr *drop_load(const struct expr *load, void *data)
{
    const struct drop *d = data;
    struct access a = *load->access;
    drop_stride(&a, d->dim);
    return expr_load(d->arena, &a);
}

static void remove_dim(struct arena *arena, struct part *p, int dim)
{
    struct drop d = {arena, dim};
    const struct expr_map map = {.arena = arena, .load = drop_load, .data = &d};
    part_substitute(p, &map);
    for (size_t s = 0; s < p->stores.count; s++)
        drop_stride(&p->stores.data[s].to, dim);
    memmove(p->extent + dim, p->extent + dim + 1, (size_t)(LOOP_MAX_DIMS - dim - 1) * sizeof *p->extent);
    memmove(p->late + dim, p->late + dim + 1, (size_t)(LOOP_MAX_DIMS - dim - 1) * sizeof *p->late);
    memmove(p->reduced + dim, p->reduced + dim + 1, (size_t)(LOOP_MAX_DIMS - dim - 1) * sizeof *p->reduced);
    p->lane_loops -= p->lane_loops > 0 && dim >= p->rank - p->lane_loops;
    p->rank--;
}

static bool may_merge(const struct part *p, int dim)
{
    const bool lanes_begin = p->lane_loops > 0 && dim + 1 == p->rank - p->lane_loops;
    struct merge_test t = {
        .dim = dim, .inner = p->extent[dim + 1],
        .ok = p->reduced[dim] == p->reduced[dim + 1] && !lanes_begin && !is_late(&p->late[dim + 1])};
    if (t.ok)
        part_each_load(p, test_access, &t);
    vec_each_ptr(const struct store, s, &p->stores)
        test_access(&s->to, &t);
    return t.ok;
}

static void own_stores(struct arena *a, struct part *p)
{
    p->stores.data = arena_copy(a, p->stores.data, p->stores.count * sizeof *p->stores.data, alignof(max_align_t));
    p->stores.capacity = p->stores.count;
}

static void merge_dims(struct arena *a, struct part *p, int d)
{
    p->late[d + 1] = (struct late_size){p->late[d].base * p->extent[d + 1], p->late[d].per * p->extent[d + 1]};
    p->extent[d + 1] *= p->extent[d];
    remove_dim(a, p, d);
}

void part_collapse(struct arena *a, struct part *p, int rows)
{
    own_stores(a, p);
    if (part_uses_index(p)) /* numbers of loops are written into the expressions */
        return;
    for (int d = p->rank - 1; d >= rows; d--)
        if (p->extent[d] == 1)
            remove_dim(a, p, d);
    for (int d = p->rank - 2; d >= rows; d--)
        if (may_merge(p, d))
            merge_dims(a, p, d);
}

void kernel_collapse_rows(struct arena *a, struct kernel *k)
{
    for (size_t i = 0; i < k->parts.count; i++)
        if (part_uses_index(&k->parts.data[i]))
            return;
    for (size_t i = 0; i < k->parts.count; i++)
        own_stores(a, &k->parts.data[i]);
    for (int d = k->rows - 2; d >= 0; d--) {
        bool ok = true;
        for (size_t i = 0; i < k->parts.count; i++)
            ok = ok && may_merge(&k->parts.data[i], d);
        for (size_t i = 0; ok && i < k->parts.count; i++)
            merge_dims(a, &k->parts.data[i], d);
        k->rows -= ok;
    }
}

/* ---- one loop becomes two ---------------------------------------------------------------------------------------- */

struct loop_split {
    struct arena *arena;
    int dim;
    int64_t inner;
};

static void split_stride(struct access *a, const struct loop_split *s)
{
    memmove(a->stride + s->dim + 1, a->stride + s->dim, (size_t)(LOOP_MAX_DIMS - s->dim - 1) * sizeof *a->stride);
    a->stride[s->dim] *= s->inner;
}

static const struct expr *split_load(const struct expr *load, void *data)
{
    const struct loop_split *s = data;
    struct access a = *load->access;
    split_stride(&a, s);
    return expr_load(s->arena, &a);
}

/* A loop of `outer` iterations in front of loop dim, which keeps `inner` iterations; one iteration of the new loop goes
 * as far as `steps` of the other. */
static bool insert_loop(struct arena *a, struct part *p, int dim, int64_t outer, int64_t inner, int64_t steps)
{
    struct loop_split s = {a, dim, steps};
    const struct expr_map map = {.arena = a, .load = split_load, .data = &s};
    if (p->rank == LOOP_MAX_DIMS || part_uses_index(p))
        return false;
    own_stores(a, p);
    part_substitute(p, &map);
    vec_each_ptr(struct store, store, &p->stores)
        split_stride(&store->to, &s);
    memmove(p->extent + dim + 1, p->extent + dim, (size_t)(LOOP_MAX_DIMS - dim - 1) * sizeof *p->extent);
    memmove(p->reduced + dim + 1, p->reduced + dim, (size_t)(LOOP_MAX_DIMS - dim - 1) * sizeof *p->reduced);
    p->extent[dim] = outer;
    p->extent[dim + 1] = inner;
    p->lane_loops += p->lane_loops > 0 && dim >= p->rank - p->lane_loops;
    p->rank++;
    return true;
}

bool part_split(struct arena *a, struct part *p, int dim, int64_t outer)
{
    const int64_t inner = p->extent[dim] / outer;
    return insert_loop(a, p, dim, outer, inner, inner);
}

bool part_block(struct arena *a, struct part *p, int dim, int64_t block)
{
    return insert_loop(a, p, dim, p->extent[dim], block, 1);
}

bool part_around(struct arena *a, struct part *p, int dim, int64_t iterations)
{
    return insert_loop(a, p, dim, iterations, p->extent[dim], 0);
}

/* ---- another loop outermost -------------------------------------------------------------------------------------- */

static void lead_stride(struct access *a, int dim)
{
    const int64_t stride = a->stride[dim];
    memmove(a->stride + 1, a->stride, (size_t)dim * sizeof *a->stride);
    a->stride[0] = stride;
}

static const struct expr *lead_load(const struct expr *load, void *data)
{
    const struct drop *d = data;
    struct access a = *load->access;
    lead_stride(&a, d->dim);
    return expr_load(d->arena, &a);
}

/* Reduced loops at the end, before dim moves away from in front of them. */
static int reduced_behind(const struct part *p, int dim)
{
    int count = 0;
    for (int d = dim + 1; d < p->rank; d++)
        count = p->reduced[d] ? count + 1 : 0;
    return count;
}

bool part_lead(struct arena *arena, struct part *p, int dim)
{
    struct drop d = {arena, dim};
    const struct expr_map map = {.arena = arena, .load = lead_load, .data = &d};
    if (part_uses_index(p))
        return false;
    own_stores(arena, p);
    p->lane_loops = p->lane_loops > 0 || p->reduce == REDUCE_NONE ? p->lane_loops : reduced_behind(p, dim);
    part_substitute(p, &map);
    for (size_t s = 0; s < p->stores.count; s++)
        lead_stride(&p->stores.data[s].to, dim);
    const int64_t extent = p->extent[dim];
    const bool reduced = p->reduced[dim];
    memmove(p->extent + 1, p->extent, (size_t)dim * sizeof *p->extent);
    memmove(p->reduced + 1, p->reduced, (size_t)dim * sizeof *p->reduced);
    p->extent[0] = extent;
    p->reduced[0] = reduced;
    return true;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

bool part_same_row(const struct part *s, const struct access *store, const struct part *l, const struct access *load,
                   int rows)
{
    bool taken[LOOP_MAX_DIMS] = {false};
    if (store->offset != load->offset || store->term_count > 0 || load->term_count > 0)
        return false;
    for (int d = 0; d < rows; d++)
        if (s->extent[d] != 1 && store->stride[d] != load->stride[d])
            return false;
    for (int d = rows; d < l->rank; d++) {
        if (l->extent[d] == 1 || load->stride[d] == 0)
            continue;
        int e = rows;
        while (e < s->rank && (taken[e] || store->stride[e] != load->stride[d] || s->extent[e] < l->extent[d]))
            e++;
        if (e == s->rank)
            return false;
        taken[e] = true;
    }
    return true;
}
