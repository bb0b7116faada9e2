/* Consumers into epilogues: a map that reads what a reduction, a template or another map stores, element
 * by element, is computed there. The stored element itself disappears when nobody else reads it. An update of a
 * variable moves into the kernel of its gradient this way. */
#include "fuse/fuse_internal.h"

#include "lower/items.h"
#include <string.h>

#define EPILOGUE_LIMIT 400 /* cost of one epilogue, so that kernels stay readable */

/* The consumer's loops against those loops of the producer's part whose iterations have results of their own. */
struct match {
    struct arena *arena;
    const struct part *from;     /* consumer */
    const struct part *to;       /* producer's part */
    struct store store;          /* of the producer: what the consumer reads (a copy: stores are appended meanwhile) */
    struct shape from_shape, to_shape;
    int to_dim[SHAPE_MAX_RANK];  /* loop of `to` for each dim of to_shape */
    bool same_loops;             /* all of both, one by one */
    bool is_permuted;            /* the consumer walks the same points in another order: */
    int dim_of[LOOP_MAX_DIMS];   /* loop of `to` for each loop of `from` */
    bool ok;
};

static bool loops_as_shape(const struct part *p, bool kept_only, struct shape *shape, int *dims)
{
    shape->rank = 0;
    for (int d = 0; d < p->rank; d++) {
        if ((kept_only && !part_keeps(p, d)) || p->extent[d] == 1)
            continue;
        if (shape->rank == SHAPE_MAX_RANK)
            return false;
        dims[shape->rank] = d;
        shape->dim[shape->rank++] = p->extent[d];
    }
    return true;
}

/* The access over the consumer's loops as one over the producer's; false where strides cannot say it. */
static bool translate(const struct match *m, const struct access *a, struct access *out)
{
    int dims[SHAPE_MAX_RANK];
    struct shape shape;
    if (m->is_permuted) {
        *out = (struct access){.buffer = a->buffer, .offset = a->offset};
        for (int d = 0; d < m->from->rank; d++)
            if (m->from->extent[d] != 1)
                out->stride[m->dim_of[d]] = a->stride[d];
        return a->term_count == 0;
    }
    if (m->same_loops) {
        *out = *a;
        for (int d = 0; d < m->from->rank; d++)
            out->stride[d] = m->from->extent[d] != 1 ? a->stride[d] : 0;
        return a->term_count == 0;
    }
    struct view v = {.buffer = a->buffer, .offset = a->offset}, w;
    if (!loops_as_shape(m->from, false, &shape, dims) || a->term_count > 0)
        return false;
    v.shape = shape;
    for (int d = 0; d < shape.rank; d++)
        v.stride[d] = a->stride[dims[d]];
    if (!view_reshape(&v, &m->to_shape, &w))
        return false;
    *out = (struct access){.buffer = a->buffer, .offset = a->offset};
    for (int d = 0; d < m->to_shape.rank; d++)
        out->stride[m->to_dim[d]] = w.stride[d];
    return true;
}

static bool same_place(const struct match *m, const struct access *a, const struct access *b)
{
    if (a->buffer != b->buffer || a->offset != b->offset)
        return false;
    for (int d = 0; d < m->to->rank; d++)
        if (part_keeps(m->to, d) && m->to->extent[d] != 1 && a->stride[d] != b->stride[d])
            return false;
    return true;
}

/* The store of the producer's part that writes a buffer, or NULL. What the part stores is computed before it is
 * written, so a reader takes the stored expression, never the memory. */
static const struct store *store_of(const struct match *m, const struct buffer *b)
{
    for (size_t s = 0; s < m->to->stores.count; s++)
        if (m->to->stores.data[s].to.buffer == b)
            return &m->to->stores.data[s];
    return NULL;
}

static void test_load(const struct access *a, void *data)
{
    struct match *m = data;
    const struct store *stored = store_of(m, a->buffer);
    struct access t;
    if (!translate(m, a, &t))
        m->ok = false;
    else if (stored)
        m->ok &= same_place(m, &t, &stored->to);
}

static const struct expr *replace_load(const struct expr *load, void *data)
{
    const struct match *m = data;
    const struct store *stored = store_of(m, load->access->buffer);
    struct access t;
    if (stored)
        return stored->value;
    if (!translate(m, load->access, &t))
        UNREACHABLE("the epilogue was tested before");
    if (t.offset == load->access->offset && memcmp(t.stride, load->access->stride, sizeof t.stride) == 0)
        return NULL; /* equal loops: nothing is copied */
    return expr_load(m->arena, &t);
}

/* ---- updates in place -------------------------------------------------------------------------------------------- */

struct touch_test {
    const struct match *m;
    const struct access *own;
    bool ok;
};

static void test_touch(const struct access *a, void *data)
{
    struct touch_test *t = data;
    if (a->buffer == t->own->buffer)
        t->ok &= same_place(t->m, a, t->own) && a->term_count == 0;
}

struct find_buffer {
    const struct buffer *buffer;
    bool found;
};

static void find_load(const struct access *a, void *data)
{
    struct find_buffer *f = data;
    f->found |= a->buffer == f->buffer;
}

/* The joined kernel writes `own`: everything else in it that touches that buffer must be at the same element of the
 * same part, whose values are all computed before its stores. */
static bool may_update_in_place(const struct fusion *f, const struct match *m, const struct kernel *p,
                                const struct access *own)
{
    if (own->buffer->kind != BUFFER_LOCAL && !fuse_reads(f, p, own->buffer) && !fuse_writes(f, p, own->buffer))
        return true;
    struct touch_test same = {m, own, true};
    struct find_buffer elsewhere = {own->buffer, false};
    kernel_each_item(it, p)
        elsewhere.found |= it.kind == ITEM_OPERAND && operand_reads(it.operand, own->buffer);
    for (size_t i = 0; i < p->parts.count; i++) {
        const struct part *part = &p->parts.data[i];
        if (part->element)
            expr_each_load(part->element, find_load, &elsewhere);
        for (size_t s = 0; s < part->stores.count; s++) {
            elsewhere.found |= part->stores.data[s].to.buffer == own->buffer;
            if (part == m->to)
                expr_each_load(part->stores.data[s].value, test_touch, &same);
            else
                expr_each_load(part->stores.data[s].value, find_load, &elsewhere);
        }
    }
    return same.ok && !elsewhere.found;
}

/* ---- the merge --------------------------------------------------------------------------------------------------- */

/* What does not depend on how the loops walk: no output, whose pointer may be NULL, no number of a loop, and not too
 * much of it. */
static bool may_finish(const struct match *m)
{
    const int cost = expr_cost(m->store.value);
    for (size_t s = 0; s < m->from->stores.count; s++) {
        const struct store *store = &m->from->stores.data[s];
        if (store->to.buffer->kind == BUFFER_OUTPUT || expr_cost(store->value) + cost > EPILOGUE_LIMIT ||
            expr_uses_index(store->value))
            return false;
    }
    return true;
}

static bool fits_as_it_is(const struct fusion *f, struct match *m, const struct kernel *p)
{
    const struct part *from = m->from;
    m->ok = true;
    for (size_t s = 0; s < from->stores.count && m->ok; s++) {
        const struct store *store = &from->stores.data[s];
        struct access to;
        m->ok = translate(m, &store->to, &to);
        if (!m->ok)
            return false;
        expr_each_load(store->value, test_load, m);
        if (m->ok)
            m->ok &= may_update_in_place(f, m, p, &to);
        /* the consumer's own reads of what it overwrites */
        struct touch_test own = {m, &store->to, true};
        const struct match in_own_loops = {.to = from};
        own.m = &in_own_loops;
        expr_each_load(store->value, test_touch, &own);
        m->ok &= own.ok;
    }
    return m->ok;
}

struct find_load {
    const struct buffer *buffer;
    struct access access;
    bool found;
};

static void find_access(const struct access *a, void *data)
{
    struct find_load *f = data;
    if (a->buffer != f->buffer)
        return;
    f->access = *a;
    f->found = true;
}

/* The loop of `to`, none of those taken, along which the stored element moves as the load does; its iterations divide
 * `extent`. */
static int loop_along(const struct match *m, int64_t extent, int64_t stride, const bool *taken)
{
    for (int d = 0; d < m->to->rank; d++)
        if (!taken[d] && part_keeps(m->to, d) && m->to->extent[d] > 1 && extent % m->to->extent[d] == 0 &&
            m->store.to.stride[d] == stride)
            return d;
    return -1;
}

static struct find_load load_of(const struct match *m, const struct part *from)
{
    struct find_load load = {.buffer = m->store.to.buffer};
    for (size_t s = 0; s < from->stores.count; s++)
        expr_each_load(from->stores.data[s].value, find_access, &load);
    return load;
}

/* Rows that stay rows: only the order of the outer loops may differ. */
static bool keeps_rows(const struct match *m, const struct access *a)
{
    const int64_t stride = m->to_shape.rank > 0 ? a->stride[m->to_dim[m->to_shape.rank - 1]] : 0;
    return stride == 0 || stride == 1;
}

/* The same points in another order: loops find each other by how they walk through what is read, from the innermost
 * one on. One that walks on where another ends is cut there: [8,64,128] reads [8,4,64,32] as [8,64,4,32]. */
static bool find_permutation(struct match *m)
{
    struct part *from = arena_copy(m->arena, m->from, sizeof *from, alignof(max_align_t));
    bool taken[LOOP_MAX_DIMS] = {false};
    if (!load_of(m, from).found)
        return false;
    for (int d = from->rank - 1; d >= 0; d--) {
        if (from->extent[d] == 1)
            continue;
        const int e = loop_along(m, from->extent[d], load_of(m, from).access.stride[d], taken);
        if (e < 0)
            return false;
        taken[e] = true;
        const bool is_cut = from->extent[d] != m->to->extent[e];
        if (is_cut && !part_split(m->arena, from, d, from->extent[d] / m->to->extent[e]))
            return false;
        for (int i = from->rank - 1; is_cut && i > d + 1; i--)
            m->dim_of[i] = m->dim_of[i - 1];
        d += is_cut;
        m->dim_of[d] = e;
    }
    m->from = from;
    m->same_loops = false;
    m->is_permuted = true;
    for (size_t s = 0; s < from->stores.count; s++) {
        struct access to;
        if (!translate(m, &from->stores.data[s].to, &to) || !keeps_rows(m, &to))
            return false;
    }
    return true;
}

static bool same_loops(const struct part *from, const struct part *to)
{
    bool same = from->rank == to->rank;
    for (int d = 0; d < from->rank && same; d++)
        same = from->extent[d] == to->extent[d] && from->extent[d] > 0 && part_keeps(to, d);
    return same;
}

static bool fits(const struct fusion *f, struct match *m, const struct kernel *p, const struct kernel *c)
{
    m->from = &c->parts.data[0];
    if (!loops_as_shape(m->to, true, &m->to_shape, m->to_dim) ||
        !loops_as_shape(m->from, false, &m->from_shape, (int[SHAPE_MAX_RANK]){0}) ||
        shape_count(&m->to_shape) != shape_count(&m->from_shape) || !may_finish(m))
        return false;
    m->same_loops = same_loops(m->from, m->to);
    return fits_as_it_is(f, m, p) || (find_permutation(m) && fits_as_it_is(f, m, p));
}

static void add_stores(struct fusion *f, struct match *m, struct part *to, const struct part *from)
{
    struct store *made = arena_array(f->arena, struct store, from->stores.count);
    for (size_t s = 0; s < from->stores.count; s++) {
        const struct expr_map map = {.arena = f->arena, .load = replace_load, .data = m};
        made[s].value = expr_substitute(&map, from->stores.data[s].value);
        if (!translate(m, &from->stores.data[s].to, &made[s].to))
            UNREACHABLE("the epilogue was tested before");
    }
    for (size_t s = 0; s < from->stores.count; s++)
        vec_push(f->arena, &to->stores, made[s]);
}

/* Temporaries that nobody reads any more are not stored; what the part itself needed of them it has as expressions.
 * The kernel of the part is forgotten. */
static void drop_unread_stores(const struct fusion *f, struct part *part)
{
    for (size_t s = part->stores.count; s-- > 0;) {
        const struct buffer *b = part->stores.data[s].to.buffer;
        if (b->kind == BUFFER_TEMP && fuse_buffer(f, b)->readers.count == 0)
            vec_remove(&part->stores, s);
    }
}

/* The other parts of a template run at other times: what they store is not there yet, or gone. */
static bool reads_other_parts(const struct fusion *f, const struct kernel *p, const struct part *part,
                              const struct kernel *c)
{
    for (size_t i = 0; i < p->parts.count; i++)
        for (size_t s = 0; &p->parts.data[i] != part && s < p->parts.data[i].stores.count; s++)
            if (fuse_reads(f, c, p->parts.data[i].stores.data[s].to.buffer))
                return true;
    return false;
}

static bool merge(struct fusion *f, struct kernel *p, struct part *part, size_t store, struct kernel *c)
{
    struct match m = {.arena = f->arena, .to = part, .store = part->stores.data[store]};
    if (c == p || !fuse_is_map(c) || (fuse_keeps(f, p) && !fuse_keeps(f, c)) || reads_other_parts(f, p, part, c))
        return false;
    const enum fuse_place place = fuse_place(f, p, c);
    if (place == FUSE_NOWHERE || !fits(f, &m, p, c))
        return false;
    fuse_forget(f, p);
    fuse_forget(f, c);
    add_stores(f, &m, part, m.from);
    drop_unread_stores(f, part);
    fuse_end(f, p, c, place);
    return true;
}

bool fuse_epilogue(struct fusion *f, struct kernel *p)
{
    if (p->kind != KERNEL_TEMPLATE && p->parts.count != 1)
        return false;
    for (size_t i = 0; i < p->parts.count; i++) {
        struct part *part = &p->parts.data[i];
        for (size_t s = 0; s < part->stores.count; s++) {
            const struct fuse_buffer *b = fuse_buffer(f, part->stores.data[s].to.buffer);
            if (part->stores.data[s].to.buffer->kind != BUFFER_TEMP || b->writers.count != 1)
                continue;
            for (size_t r = 0; r < b->readers.count; r++)
                if (merge(f, p, part, s, b->readers.data[r]))
                    return true;
        }
    }
    return false;
}

/* ---- sums of several results ------------------------------------------------------------------------------------- */

/* Where a template or a reduction makes a value. */
struct maker {
    struct kernel *kernel;
    struct part *part;
    size_t store;
};

static bool find_maker(const struct fusion *f, const struct buffer *b, struct maker *out)
{
    const struct fuse_buffer *const t = fuse_buffer(f, b);
    if (b->kind != BUFFER_TEMP || t->writers.count != 1 || fuse_is_map(t->writers.data[0]))
        return false;
    struct kernel *const k = t->writers.data[0];
    for (size_t p = 0; p < k->parts.count; p++)
        for (size_t s = 0; s < k->parts.data[p].stores.count; s++)
            if (k->parts.data[p].stores.data[s].to.buffer == b) {
                *out = (struct maker){k, &k->parts.data[p], s};
                return k->kind == KERNEL_TEMPLATE || k->parts.count == 1;
            }
    return false;
}

/* Is c nothing but the sum of two such values? */
static bool is_sum_of_results(const struct fusion *f, const struct kernel *c, struct maker of[2])
{
    if (!fuse_is_map(c) || c->parts.data[0].stores.count != 1)
        return false;
    const struct expr *const sum = c->parts.data[0].stores.data[0].value;
    return sum->op == EXPR_ADD && sum->arg[0]->op == EXPR_LOAD && sum->arg[1]->op == EXPR_LOAD &&
           find_maker(f, sum->arg[0]->access->buffer, &of[0]) && find_maker(f, sum->arg[1]->access->buffer, &of[1]);
}

static bool has_taken_sum(const struct maker *m)
{
    return m->part->stores.data[m->store].value->op == EXPR_ADD;
}

/* Is what c adds up added to a further result? */
static bool is_added_to_result(const struct fusion *f, const struct kernel *c)
{
    const struct fuse_buffer *const sum = fuse_buffer(f, c->parts.data[0].stores.data[0].to.buffer);
    if (sum->readers.count != 1 || !fuse_is_map(sum->readers.data[0]) ||
        sum->readers.data[0]->parts.data[0].stores.count != 1)
        return false;
    const struct expr *const e = sum->readers.data[0]->parts.data[0].stores.data[0].value;
    if (e->op != EXPR_ADD || e->arg[0]->op != EXPR_LOAD || e->arg[1]->op != EXPR_LOAD)
        return false;
    const bool first = fuse_buffer(f, e->arg[0]->access->buffer) == sum;
    struct maker other;
    return find_maker(f, e->arg[first]->access->buffer, &other);
}

bool fuse_accumulate(struct fusion *f, struct kernel *c)
{
    struct maker of[2];
    if (!is_sum_of_results(f, c, of) || of[0].kernel == of[1].kernel ||
        !(has_taken_sum(&of[0]) || has_taken_sum(&of[1]) || is_added_to_result(f, c)))
        return false;
    const struct maker *const later = &of[f->position[of[0].kernel->id] < f->position[of[1].kernel->id]];
    return merge(f, later->kernel, later->part, later->store, c);
}
