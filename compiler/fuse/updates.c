/* What changes a matrix in place goes into the product that reads it for the last time:
 *
 *   dx[j] = sum over i of w[i,j] * dy[i]          for each i, j:
 *   w[i,j] = w[i,j] - rate * dy[i] * x[j]    ->       dx[j] += w[i,j] * dy[i]
 *                                                     w[i,j] = w[i,j] - rate * dy[i] * x[j]
 *
 * This is the way back through a layer for one sample: the gradient of its input, then the update of its weights,
 * whose gradient is a product of one term and so a part of the loops. Both walk the weights once, and take as long
 * as memory does. */
#include "fuse/fuse_internal.h"

#include "lower/product.h"
#include "lower/targets.h"

/* Smaller matrices are in the first cache both times, and their sums in registers; without a cache both walks load them
 * from memory. With 32 KiB of it the step of an MLP 784-2048-2048-10 with one sample takes 0.7 of the time. With SGD
 * 120 x 400 takes 6 instead of 9 us; Adam takes 26 us there, as long as the divider does, and the product nothing. */
bool fuse_update_is_worth(const struct target *t, int64_t rows, int64_t columns, enum dtype type)
{
    return rows > 1 && rows * columns * (int64_t)dtype_size(type) >= target_first_cache(t);
}

struct matrix_update {
    struct fusion *f;
    struct kernel *product;
    const struct access *matrix; /* as the product reads it, from its first element on */
    int64_t extent[2], step[2];  /* its rows and columns */
    struct part loops;           /* of the update: a copy */
    int dim[2];                  /* its loops over these rows and columns */
    const struct access *own;    /* what it writes there */
    bool ok;
};

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static int count_loops(const struct part *p)
{
    int n = 0;
    for (int d = 0; d < p->rank; d++)
        n += p->extent[d] != 1;
    return n;
}

/* Elements that lie one behind the other may be walked as one loop: then it is cut. */
static bool cut_loop(struct matrix_update *u)
{
    const int slow = u->step[0] > u->step[1] ? 0 : 1;
    for (int d = 0; d < u->loops.rank; d++)
        if (u->loops.extent[d] != 1)
            return u->step[1 - slow] == 1 && u->step[slow] == u->extent[1 - slow] &&
                   u->loops.extent[d] == u->extent[0] * u->extent[1] &&
                   part_split(u->f->arena, &u->loops, d, u->extent[slow]);
    return false;
}

static const struct access *find_store(const struct part *p, const struct buffer *b)
{
    for (size_t s = 0; s < p->stores.count; s++)
        if (p->stores.data[s].to.buffer == b)
            return &p->stores.data[s].to;
    return NULL;
}

static bool find_loops(struct matrix_update *u)
{
    if (count_loops(&u->loops) == 1 && !cut_loop(u))
        return false;
    u->own = find_store(&u->loops, u->matrix->buffer);
    if (count_loops(&u->loops) != 2 || !u->own || u->own->offset != u->matrix->offset || u->own->term_count > 0)
        return false;
    for (int i = 0; i < 2; i++) {
        u->dim[i] = -1;
        for (int d = 0; d < u->loops.rank; d++)
            if (u->loops.extent[d] == u->extent[i] && u->own->stride[d] == u->step[i] && (i == 0 || d != u->dim[0]))
                u->dim[i] = d;
    }
    return u->dim[0] >= 0 && u->dim[1] >= 0;
}

/* ---- what it touches --------------------------------------------------------------------------------------------- */

static void test_load(const struct access *a, void *data)
{
    struct matrix_update *const u = data;
    const bool same_element =
        a->offset == u->own->offset && a->stride[u->dim[0]] == u->step[0] && a->stride[u->dim[1]] == u->step[1];
    u->ok &= a->term_count == 0 && !fuse_writes(u->f, u->product, a->buffer) &&
             (a->buffer != u->own->buffer || same_element);
}

static void test_other_read(const struct access *a, void *data)
{
    struct matrix_update *const u = data;
    u->ok &= a->buffer != u->own->buffer;
}

/* The matrix is read by the product alone, and by the update where it writes. */
static void test_product(struct matrix_update *u)
{
    const struct kernel *const k = u->product;
    for (int o = 0; o < k->tmpl.operand_count; o++)
        u->ok &= &k->tmpl.operands[o].access == u->matrix || !operand_reads(&k->tmpl.operands[o], u->own->buffer);
    kernel_each_store(k, p, s)
        expr_each_load(s->value, test_other_read, u);
    u->ok &= !fuse_writes(u->f, k, u->own->buffer);
}

static bool may_join(struct matrix_update *u)
{
    u->ok = true;
    vec_each_ptr(const struct store, store, &u->loops.stores) {
        const struct buffer *const b = store->to.buffer;
        u->ok &= b->kind != BUFFER_OUTPUT && store->to.term_count == 0 && !expr_uses_index(store->value);
        u->ok &= &store->to == u->own ||
                 (b != u->own->buffer && !fuse_reads(u->f, u->product, b) && !fuse_writes(u->f, u->product, b));
        expr_each_load(store->value, test_load, u);
    }
    test_product(u);
    return u->ok;
}

/* ---- the join ---------------------------------------------------------------------------------------------------- */

static struct access in_matrix(const struct matrix_update *u, const struct access *from)
{
    struct access a = {.buffer = from->buffer, .offset = from->offset};
    for (int i = 0; i < 2; i++)
        a.stride[u->product->outer_rank + i] = from->stride[u->dim[i]];
    return a;
}

static const struct expr *load_in_matrix(const struct expr *load, void *data)
{
    const struct matrix_update *const u = data;
    const struct access a = in_matrix(u, load->access);
    return expr_load(u->f->arena, &a);
}

static void add_part(struct matrix_update *u)
{
    struct kernel *const k = u->product;
    vec_push(u->f->arena, &k->parts, ((struct part){.rank = k->outer_rank + 2, .hole = "update"}));
    struct part *const to = &k->parts.data[k->parts.count - 1];
    for (int d = 0; d < k->outer_rank; d++)
        to->extent[d] = 1;
    for (int i = 0; i < 2; i++)
        to->extent[k->outer_rank + i] = u->extent[i];
    const struct expr_map map = {.arena = u->f->arena, .load = load_in_matrix, .data = u};
    vec_each_ptr(const struct store, store, &u->loops.stores)
        vec_push(u->f->arena, &to->stores,
                 ((struct store){in_matrix(u, &store->to), expr_substitute(&map, store->value)}));
}

static bool join(struct matrix_update *u, struct kernel *c)
{
    struct fusion *const f = u->f;
    struct kernel *const p = u->product;
    if (c == p || !fuse_is_map(c) || f->position[c->id] < f->position[p->id] || (fuse_keeps(f, p) && !fuse_keeps(f, c)))
        return false;
    u->loops = c->parts.data[0];
    const enum fuse_place place = fuse_place(f, p, c);
    if (place == FUSE_NOWHERE || !find_loops(u) || !may_join(u))
        return false;
    fuse_forget(f, p);
    fuse_forget(f, c);
    add_part(u);
    fuse_end(f, p, c, place);
    return true;
}

static bool is_candidate(const struct kernel *k)
{
    bool ok = k->kind == KERNEL_TEMPLATE && k->tmpl.traits->takes_update && k->parts.count == 1 &&
              !k->tmpl.operands[0].value && !k->tmpl.operands[1].value;
    for (int d = 0; d < k->outer_rank; d++)
        ok &= k->outer_extent[d] == 1;
    return ok;
}

bool fuse_update(struct fusion *f, struct kernel *product)
{
    if (!is_candidate(product))
        return false;
    const struct matrix_sizes s = product_matrix_of(product);
    struct matrix_update u = {.f = f, .product = product, .matrix = &product->tmpl.operands[0].access,
                              .extent = {s.rows, s.columns}, .step = {s.row_step, s.col_step}};
    struct buffer *const matrix = u.matrix->buffer;
    if (!fuse_update_is_worth(f->l->target, u.extent[0], u.extent[1], matrix->dtype))
        return false;
    const struct fuse_buffer *const b = fuse_buffer(f, matrix);
    for (size_t w = 0; w < b->writers.count; w++)
        if (join(&u, b->writers.data[w]))
            return true;
    return false;
}
