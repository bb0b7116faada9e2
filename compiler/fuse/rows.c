/* Kernels that walk the same rows share the walk:
 *
 *   most[i] = max over j of x[i,j]                 for each i:
 *   e[i,j] = exp(x[i,j] - most[i])                     most = max over j of x[i,j]
 *   scale[i] = 1 / sum over j of e[i,j]       ->       e[j] = exp(x[i,j] - most)
 *   y[i,j] = e[i,j] * scale[i]                         scale = 1 / sum over j of e[j]
 *                                                      y[i,j] = e[j] * scale
 *
 * A row stays in the first cache from one step to the next, and what nobody else reads takes one row of memory, or a
 * local variable. This is all that softmax, normalizations and the gradients of both need, however a model spells
 * them.
 *
 * A row may also be what all images hold of a channel, as batch normalization walks it: then the loop over channels
 * becomes the outermost one. */
#include "fuse/fuse_internal.h"

#include "base/str.h"
#include <string.h>

/* Shorter rows are better walked as one long loop. */
#define ROW_LEAST 16

/* A kernel's parts while loops are brought into line; a private copy. */
struct row_walk {
    struct part *parts;
    size_t count;
    int rows; /* leading loops that all parts share; -1: a map, which takes any */
};

/* ---- what a kernel walks ----------------------------------------------------------------------------------------- */

/* Leading loops that a reduction keeps, if what it folds comes last; else -1. */
static int kept_rows(const struct part *p)
{
    int rows = 0;
    while (rows < p->rank && !p->reduced[rows])
        rows++;
    for (int d = rows; d < p->rank; d++)
        if (!p->reduced[d])
            return -1;
    return rows;
}

/* Has no rows of its own. */
static bool is_map(const struct kernel *k)
{
    return k->rows == 0 && k->parts.count == 1 && k->parts.data[0].reduce == REDUCE_NONE;
}

/* Is the only loop that a reduction keeps one in the middle, with long runs behind it, and leads from now on? */
static bool lead_kept(struct fusion *f, struct row_walk *w)
{
    const struct part *p = w->parts;
    int kept = -1;
    for (int d = 0; d < p->rank; d++) {
        if (!p->reduced[d] && kept >= 0)
            return false;
        kept = p->reduced[d] ? kept : d;
    }
    w->rows = 1;
    return kept > 0 && kept < p->rank - 1 && p->extent[p->rank - 1] >= ROW_LEAST && part_lead(f->arena, w->parts, kept);
}

static bool walk_of(struct fusion *f, const struct kernel *k, struct row_walk *w)
{
    if (k->removed || k->kind != KERNEL_LOOPS || k->checks.count > 0 || (k->parts.count != 1 && k->rows == 0))
        return false;
    w->count = k->parts.count;
    w->parts = arena_copy(f->arena, k->parts.data, w->count * sizeof *w->parts, 16);
    w->rows = k->rows;
    if (k->rows > 0)
        return true;
    part_collapse(f->arena, w->parts, 0);
    w->rows = w->parts->reduce == REDUCE_NONE ? -1 : kept_rows(w->parts);
    return w->parts->reduce == REDUCE_NONE || w->rows > 0 || (w->rows < 0 && lead_kept(f, w));
}

static bool split(struct fusion *f, struct row_walk *w, int dim, int64_t outer)
{
    for (size_t i = 0; i < w->count; i++)
        if (!part_split(f->arena, &w->parts[i], dim, outer))
            return false;
    w->rows += dim < w->rows;
    return true;
}

/* Makes the leading loops of both the same, splitting where one walks as one loop what the other walks as two. */
static bool align(struct fusion *f, struct row_walk *a, struct row_walk *b)
{
    if (a->rows < 0 && b->rows < 0)
        return false;
    for (int d = 0; d < a->rows || d < b->rows; d++) {
        if ((a->rows >= 0 && d >= a->rows) || (b->rows >= 0 && d >= b->rows) || d >= a->parts->rank ||
            d >= b->parts->rank)
            return false;
        const int64_t ea = a->parts->extent[d], eb = b->parts->extent[d];
        if (ea == eb)
            continue;
        if (ea > eb ? ea % eb != 0 || !split(f, a, d, eb) : eb % ea != 0 || !split(f, b, d, ea))
            return false;
    }
    if (a->rows < 0)
        a->rows = b->rows;
    b->rows = a->rows;
    return true;
}

static int64_t row_length(const struct row_walk *w)
{
    int64_t most = 1;
    for (size_t i = 0; i < w->count; i++) {
        int64_t n = 1;
        for (int d = w->rows; d < w->parts[i].rank; d++)
            n *= w->parts[i].extent[d];
        most = n > most ? n : most;
    }
    return most;
}

/* ---- may they? --------------------------------------------------------------------------------------------------- */

struct flow_test {
    const struct row_walk *from;
    const struct part *to; /* part of the later kernel */
    bool ok, any;
};

static void test_flow(const struct access *load, void *data)
{
    struct flow_test *t = data;
    for (size_t i = 0; i < t->from->count; i++) {
        const struct part *p = &t->from->parts[i];
        for (size_t s = 0; s < p->stores.count; s++) {
            if (p->stores.data[s].to.buffer != load->buffer)
                continue;
            t->any = true;
            t->ok &= load->buffer->kind == BUFFER_TEMP &&
                     part_same_row(p, &p->stores.data[s].to, t->to, load, t->from->rows);
        }
    }
}

static bool flows_by_rows(const struct row_walk *p, const struct row_walk *c)
{
    struct flow_test t = {.from = p, .ok = true};
    for (size_t i = 0; i < c->count; i++) {
        t.to = &c->parts[i];
        part_each_load(t.to, test_flow, &t);
        vec_each_ptr(const struct store, s, &t.to->stores)
            t.ok &= s->to.term_count == 0;
    }
    return t.ok && t.any;
}

/* Does nobody but c want what p writes? */
static bool serves_only(const struct fusion *f, const buffer_list *writes, const struct kernel *p,
                        const struct kernel *c)
{
    for (size_t i = 0; i < writes->count; i++) {
        const struct fuse_buffer *b = fuse_buffer(f, writes->data[i]);
        if (writes->data[i]->kind != BUFFER_TEMP)
            return false;
        for (size_t r = 0; r < b->readers.count; r++)
            if (b->readers.data[r] != p && b->readers.data[r] != c)
                return false;
    }
    return true;
}

/* What c writes is nothing that p reads or writes. An output may not be wanted: then all of the kernel is for it
 * alone. */
static bool writes_apart(const struct fusion *f, const struct kernel *p, const struct kernel *c)
{
    struct arena scratch = {0};
    buffer_list p_touches = {0}, p_writes = {0}, c_writes = {0};
    kernel_reads(&scratch, p, &p_touches);
    kernel_writes(&scratch, p, &p_writes);
    kernel_writes(&scratch, c, &c_writes);
    bool ok = true, guarded = false;
    for (size_t i = 0; i < p_writes.count; i++)
        ok &= p_writes.data[i]->kind != BUFFER_OUTPUT;
    for (size_t i = 0; i < c_writes.count; i++) {
        ok &= !buffers_have(&p_touches, c_writes.data[i]) && !buffers_have(&p_writes, c_writes.data[i]);
        guarded |= c_writes.data[i]->kind == BUFFER_OUTPUT;
    }
    ok &= !guarded || serves_only(f, &p_writes, p, c);
    arena_free(&scratch);
    return ok;
}

/* ---- the merge --------------------------------------------------------------------------------------------------- */

static bool match_leading(struct fusion *f, const struct kernel *p, const struct kernel *c, struct row_walk *a,
                          struct row_walk *b)
{
    return walk_of(f, p, a) && walk_of(f, c, b) && align(f, a, b) &&
           (row_length(a) >= ROW_LEAST || row_length(b) >= ROW_LEAST) && flows_by_rows(a, b);
}

/* One is a map, whose loop over the other's rows does not lead: each loop of as many iterations may be it. */
static bool match_moved(struct fusion *f, const struct kernel *p, const struct kernel *c, struct row_walk *a,
                        struct row_walk *b)
{
    if (!walk_of(f, p, a) || !walk_of(f, c, b))
        return false;
    struct row_walk *const map = a->rows < 0 ? a : b;
    const struct row_walk *const other = map == a ? b : a;
    struct part *const whole = map->parts;
    if (map->rows >= 0 || other->rows != 1)
        return false;
    for (int d = 1; d + 1 < whole->rank; d++) {
        struct part led = *whole;
        if (whole->extent[d] != other->parts->extent[0] || whole->extent[whole->rank - 1] < ROW_LEAST ||
            !part_lead(f->arena, &led, d))
            continue;
        map->parts = &led;
        map->rows = 1;
        const bool ok = flows_by_rows(a, b);
        map->parts = whole;
        if (!ok)
            continue;
        *whole = led;
        return true;
    }
    return false;
}

static bool merge(struct fusion *f, struct kernel *p, struct kernel *c)
{
    struct row_walk a, b;
    enum { MOST_PARTS = 256 }; /* a concatenation has one for each piece, and is asked about by the producer of each */
    if (p->parts.count > MOST_PARTS || c->parts.count > MOST_PARTS)
        return false;
    if (is_map(p) && is_map(c)) /* before the loops of both are copied */
        return false;
    if (c == p || f->position[c->id] < f->position[p->id] || !writes_apart(f, p, c) ||
        (!match_leading(f, p, c, &a, &b) && !match_moved(f, p, c, &a, &b)))
        return false;
    const enum fuse_place place = fuse_place(f, p, c);
    if (place == FUSE_NOWHERE)
        return false;
    fuse_forget(f, p);
    fuse_forget(f, c);
    p->rows = a.rows;
    p->parts.count = p->parts.capacity = 0;
    p->parts.data = NULL;
    for (size_t i = 0; i < a.count; i++)
        vec_push(f->arena, &p->parts, a.parts[i]);
    for (size_t i = 0; i < b.count; i++)
        vec_push(f->arena, &p->parts, b.parts[i]);
    fuse_end(f, p, c, place);
    return true;
}

bool fuse_rows(struct fusion *f, struct kernel *p)
{
    if (p->kind == KERNEL_TEMPLATE)
        return false;
    for (size_t i = 0; i < p->parts.count; i++)
        for (size_t s = 0; s < p->parts.data[i].stores.count; s++) {
            const struct fuse_buffer *b = fuse_buffer(f, p->parts.data[i].stores.data[s].to.buffer);
            const bool scans = p->parts.data[i].scan != SCAN_NONE; /* it would keep a row only for the copy */
            for (size_t r = 0; b->writers.count == 1 && r < b->readers.count; r++)
                if (!(scans && fuse_is_needless_copy(f, b->readers.data[r])) && merge(f, p, b->readers.data[r]))
                    return true;
        }
    return false;
}

/* ---- memory for one row ------------------------------------------------------------------------------------------ */

/* Elements that one row of the store takes, 1 + the largest index; -1: it walks backwards, or rows lie in one
 * another as channels do. */
static int64_t row_reach(const struct part *p, const struct access *to, int rows)
{
    int64_t reach = 1;
    for (int d = rows; d < p->rank; d++) {
        if (to->stride[d] < 0 || (rows > 0 && p->extent[0] > 1 && p->extent[d] > 1 && to->stride[d] > to->stride[0]))
            return -1;
        reach += to->stride[d] * (p->extent[d] - 1);
    }
    return reach;
}

/* Where rows lie in one another, as those of channels do, a row of its own has its elements side by side: the loops
 * of the store, from the innermost outwards, and what they become. */
struct row_axis {
    int64_t extent, stride, own;
};

struct in_row {
    struct arena *arena;
    const struct buffer *old;
    struct buffer *row;
    int rows;
    struct row_axis axes[LOOP_MAX_DIMS];
    int axis_count; /* 0: elements keep their distances */
    bool ok;
};

/* Puts the loop among the others, by stride. */
static void add_axis(struct in_row *r, int64_t extent, int64_t stride)
{
    int at = r->axis_count++;
    for (; at > 0 && r->axes[at - 1].stride > stride; at--)
        r->axes[at] = r->axes[at - 1];
    r->axes[at] = (struct row_axis){.extent = extent, .stride = stride};
}

/* The elements of a row whose elements lie side by side; -1 where its loops lie in one another. */
static int64_t make_axes(struct in_row *r, const struct part *p, const struct access *to)
{
    int64_t count = 1;
    for (int d = r->rows; d < p->rank; d++) {
        if (to->stride[d] <= 0 && p->extent[d] > 1)
            return -1;
        if (p->extent[d] > 1)
            add_axis(r, p->extent[d], to->stride[d]);
    }
    for (int i = 0; i < r->axis_count; i++) {
        if (i > 0 && r->axes[i].stride < r->axes[i - 1].stride * r->axes[i - 1].extent)
            return -1;
        r->axes[i].own = count;
        count *= r->axes[i].extent;
    }
    return count;
}

/* The axis that a step of so many elements goes along, whole multiples of its size; NULL: none. */
static const struct row_axis *axis_along(const struct in_row *r, int64_t stride)
{
    for (int i = r->axis_count; i-- > 0;)
        if (stride >= r->axes[i].stride)
            return stride % r->axes[i].stride == 0 ? &r->axes[i] : NULL;
    return NULL;
}

/* Can the access of a part be one of the row, and do its loops stay within the axes that they go along? */
static bool fits_axes(const struct in_row *r, const struct part *p, const struct access *a)
{
    int64_t reach[LOOP_MAX_DIMS] = {0};
    for (int d = r->rows; d < p->rank; d++) {
        const struct row_axis *const along = axis_along(r, a->stride[d]);
        if (p->extent[d] == 1 || a->stride[d] == 0)
            continue;
        if (!along)
            return false;
        reach[along - r->axes] += a->stride[d] * (p->extent[d] - 1);
    }
    for (int i = 0; i < r->axis_count; i++)
        if (reach[i] > r->axes[i].stride * (r->axes[i].extent - 1))
            return false;
    return a->term_count == 0;
}

struct row_test {
    struct in_row *row;
    const struct part *part;
};

static void test_in_row(const struct access *load, void *data)
{
    const struct row_test *t = data;
    if (load->buffer == t->row->old)
        t->row->ok &= fits_axes(t->row, t->part, load);
}

static bool all_fit_axes(struct in_row *r, const struct kernel *k)
{
    r->ok = true;
    vec_each_ptr(const struct part, p, &k->parts) {
        struct row_test t = {r, p};
        part_each_load(p, test_in_row, &t);
    }
    return r->ok;
}

static struct access access_in_row(const struct in_row *r, const struct access *from)
{
    struct access a = *from;
    a.buffer = r->row;
    a.offset = 0;
    for (int d = 0; d < r->rows; d++)
        a.stride[d] = 0;
    for (int d = r->rows; r->axis_count > 0 && d < LOOP_MAX_DIMS; d++) {
        const struct row_axis *const along = axis_along(r, a.stride[d]);
        a.stride[d] = along ? a.stride[d] / along->stride * along->own : 0;
    }
    return a;
}

static const struct expr *load_in_row(const struct expr *load, void *data)
{
    const struct in_row *r = data;
    if (load->access->buffer != r->old)
        return NULL;
    const struct access a = access_in_row(r, load->access);
    return expr_load(r->arena, &a);
}

/* Elements of memory for one row; -1: there is none. */
static int64_t find_reach(struct in_row *r, const struct kernel *k, const struct part *p, const struct access *to)
{
    const int64_t reach = row_reach(p, to, k->rows);
    if (reach >= 0)
        return reach;
    const int64_t count = make_axes(r, p, to);
    return count > 1 && all_fit_axes(r, k) ? count : -1;
}

static void keep_in_row(struct fusion *f, struct kernel *k, struct part *part, size_t store)
{
    struct in_row r = {.arena = f->arena, .old = part->stores.data[store].to.buffer, .rows = k->rows};
    if (r.old->kind != BUFFER_TEMP || fuse_buffer(f, r.old)->writers.count != 1 ||
        fuse_buffer(f, r.old)->readers.count != 1 || !fuse_reads(f, k, r.old))
        return;
    const int64_t reach = find_reach(&r, k, part, &part->stores.data[store].to);
    if (reach < 0)
        return;
    r.row = arena_new(f->arena, struct buffer);
    *r.row = *r.old;
    r.row->kind = reach == 1 ? BUFFER_LOCAL : BUFFER_TEMP;
    r.row->name = reach == 1 ? r.old->name : arena_printf(f->arena, "a row of %s", r.old->name);
    r.row->count = reach;
    r.row->shape = reach == 1 ? SHAPE_SCALAR : SHAPE(reach);
    r.row->id = (int)f->l->buffers.count;
    vec_push(f->l->arena, &f->l->buffers, r.row);
    const struct expr_map map = {.arena = f->arena, .load = load_in_row, .data = &r};
    part->stores.data[store].to = access_in_row(&r, &part->stores.data[store].to);
    vec_each_ptr(struct part, p, &k->parts)
        part_substitute(p, &map);
}

void fuse_finish_rows(struct fusion *f, struct kernel *k)
{
    if (k->rows == 0 || k->removed)
        return;
    kernel_collapse_rows(f->arena, k);
    for (size_t i = 0; i < k->parts.count; i++)
        for (size_t s = 0; s < k->parts.data[i].stores.count; s++)
            keep_in_row(f, k, &k->parts.data[i], s);
}
