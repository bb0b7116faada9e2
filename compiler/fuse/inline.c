/* Producers into loads: a map whose result is read by loops is computed where it is read.
 *
 *   t[i] = exp(x[i]);  y[i,j] = t[j] * w[i,j]     ->     y[i,j] = exp(x[j]) * w[i,j]       if that costs no more
 *
 * The reader sees the producer's buffer as offset + strides; this is rewritten as one index per loop of the
 * producer, each an affine function of the reader's loops. Where no such functions exist (a reshape in between that
 * strides can say but loop indices cannot) the producer stays. Operands that a template takes element by element are
 * readers like any other, once epilogues have had their choice. */
#include "fuse/fuse_internal.h"

#include "lower/items.h"
#include "lower/targets.h"
#include <string.h>

/* Index of one producer loop: start + sum(step[d] * reader's index d). */
struct affine {
    int64_t start;
    int64_t step[LOOP_MAX_DIMS];
};

/* What is inlined into whom. */
struct inlining {
    struct arena *arena;
    const struct part *whole; /* the producer as it is ... */
    struct part producer;     /* ... and with its loops collapsed, made when it is needed */
    bool is_collapsed;
    struct buffer *buffer;
    const int64_t *extent; /* of the reader's loops */
    int rank;
    bool into_operands; /* also where templates read */
};

/* Does the reader walk the same loops, and reads each element where the producer computes it? Then the value is
 * taken as it is. */
static bool in_equal_loops(const struct inlining *in, const struct access *a)
{
    const struct access *to = &in->whole->stores.data[0].to;
    if (in->rank != in->whole->rank || a->offset != to->offset || a->term_count > 0)
        return false;
    for (int d = 0; d < in->rank; d++)
        if (in->extent[d] != in->whole->extent[d] || (in->extent[d] != 1 && a->stride[d] != to->stride[d]))
            return false;
    return true;
}

static const struct part *collapsed_producer(struct inlining *in)
{
    if (!in->is_collapsed) {
        in->producer = *in->whole;
        part_collapse(in->arena, &in->producer, 0);
        in->is_collapsed = true;
    }
    return &in->producer;
}

/* ---- from strides back to indices -------------------------------------------------------------------------------- */

/* Loop of the producer that a stride of the reader walks along, given the producer's row-major strides; -1: none. */
static int dim_of_stride(const struct part *p, const int64_t *row, int64_t stride)
{
    const int64_t size = stride < 0 ? -stride : stride;
    for (int d = 0; d < p->rank; d++)
        if (row[d] <= size && size % row[d] == 0)
            return d;
    return -1;
}

static bool indices_of_access(struct inlining *in, const struct access *a, struct affine *index)
{
    const struct part *p = collapsed_producer(in);
    int64_t row[LOOP_MAX_DIMS], stride = 1, rest = a->offset;
    int64_t low[LOOP_MAX_DIMS], high[LOOP_MAX_DIMS];
    if (a->term_count > 0)
        return false;
    for (int d = p->rank - 1; d >= 0; d--) {
        row[d] = stride;
        stride *= p->extent[d];
    }
    for (int d = 0; d < p->rank; d++) {
        index[d] = (struct affine){.start = rest / row[d]};
        rest %= row[d];
        low[d] = high[d] = index[d].start;
    }
    for (int r = 0; r < in->rank; r++) {
        if (a->stride[r] == 0 || in->extent[r] == 1)
            continue;
        const int d = dim_of_stride(p, row, a->stride[r]);
        if (d < 0)
            return false;
        index[d].step[r] = a->stride[r] / row[d];
        const int64_t reach = index[d].step[r] * (in->extent[r] - 1);
        *(reach < 0 ? &low[d] : &high[d]) += reach;
    }
    for (int d = 0; d < p->rank; d++) /* no carry into the next loop */
        if (low[d] < 0 || high[d] >= p->extent[d])
            return false;
    return rest == 0 || p->rank == 0;
}

/* ---- substitution ------------------------------------------------------------------------------------------------ */

struct rebase {
    const struct inlining *in;
    const struct affine *index;
};

static const struct expr *rebase_load(const struct expr *load, void *data)
{
    const struct rebase *r = data;
    struct access a = *load->access;
    memset(a.stride, 0, sizeof a.stride);
    for (int d = 0; d < r->in->producer.rank; d++) {
        a.offset += load->access->stride[d] * r->index[d].start;
        for (int i = 0; i < r->in->rank; i++)
            a.stride[i] += load->access->stride[d] * r->index[d].step[i];
    }
    if (a.offset == load->access->offset && memcmp(a.stride, load->access->stride, sizeof a.stride) == 0)
        return NULL; /* equal loops: nothing is copied */
    return expr_load(r->in->arena, &a);
}

static const struct expr *rebase_index(const struct expr *e, void *data)
{
    const struct rebase *r = data;
    struct arena *arena = r->in->arena;
    const struct affine *x = &r->index[e->i];
    struct affine same = {0};
    same.step[e->i] = 1;
    if (memcmp(x, &same, sizeof same) == 0)
        return NULL;
    const struct expr *sum = expr_int(arena, DTYPE_INT64, x->start);
    for (int i = 0; i < r->in->rank; i++)
        if (x->step[i])
            sum = expr_binary(
                arena, EXPR_ADD, sum,
                expr_binary(arena, EXPR_MUL, expr_index(arena, i), expr_int(arena, DTYPE_INT64, x->step[i])));
    return sum;
}

static const struct expr *inline_load(const struct expr *load, void *data)
{
    struct inlining *in = data;
    if (load->access->buffer != in->buffer)
        return NULL;
    if (in_equal_loops(in, load->access))
        return in->whole->stores.data[0].value;
    struct affine index[LOOP_MAX_DIMS];
    if (!indices_of_access(in, load->access, index))
        UNREACHABLE("inlining was tested before");
    struct rebase r = {in, index};
    const struct expr_map map = {.arena = in->arena, .load = rebase_load, .index = rebase_index, .data = &r};
    return expr_substitute(&map, in->producer.stores.data[0].value);
}

struct inline_load_test {
    struct inlining *in;
    bool ok;
};

static void test_load(const struct access *a, void *data)
{
    struct inline_load_test *t = data;
    struct affine index[LOOP_MAX_DIMS];
    if (a->buffer == t->in->buffer && !in_equal_loops(t->in, a))
        t->ok &= indices_of_access(t->in, a, index);
}

/* Does the operand read the buffer where an expression can stand? */
static bool takes_expression(const struct inlining *in, const struct operand *o)
{
    return in->into_operands && o->rank > 0 && operand_reads(o, in->buffer);
}

/* Visits every expression of a kernel that is evaluated in loops, with these loops. */
static bool each_expression(struct kernel *k, struct inlining *in,
                            bool (*f)(struct inlining *in, const struct expr **e))
{
    for (int o = 0; k->kind == KERNEL_TEMPLATE && o < k->tmpl.operand_count; o++) {
        struct operand *operand = &k->tmpl.operands[o];
        if (!takes_expression(in, operand))
            continue;
        const struct expr *e = operand->value ? operand->value : expr_load(in->arena, &operand->access), *before = e;
        in->extent = operand->extent;
        in->rank = operand->rank;
        if (!f(in, &e))
            return false;
        operand->value = e != before ? e : operand->value;
    }
    for (size_t p = 0; p < k->parts.count; p++) {
        struct part *part = &k->parts.data[p];
        in->extent = part->extent;
        in->rank = part->rank;
        if (part->element && !f(in, &part->element))
            return false;
        for (size_t s = 0; s < part->stores.count; s++)
            if (!f(in, &part->stores.data[s].value))
                return false;
    }
    return true;
}

static bool test_expression(struct inlining *in, const struct expr **e)
{
    struct inline_load_test t = {in, true};
    expr_each_load(*e, test_load, &t);
    return t.ok;
}

static void test_equal_load(const struct access *a, void *data)
{
    struct inline_load_test *t = data;
    t->ok &= a->buffer != t->in->buffer || in_equal_loops(t->in, a);
}

static bool test_equal_loops(struct inlining *in, const struct expr **e)
{
    struct inline_load_test t = {in, true};
    expr_each_load(*e, test_equal_load, &t);
    return t.ok;
}

static bool replace_expression(struct inlining *in, const struct expr **e)
{
    const struct expr_map map = {.arena = in->arena, .load = inline_load, .data = in};
    *e = expr_substitute(&map, *e);
    return true;
}

/* ---- the decision ------------------------------------------------------------------------------------------------ */

static int64_t points(const struct part *p)
{
    int64_t n = 1;
    for (int d = 0; d < p->rank; d++)
        n *= p->extent[d];
    return n;
}

static bool kernel_has_read(const struct kernel *k, const struct buffer *b)
{
    struct arena scratch = {0};
    buffer_list reads = {0};
    kernel_reads(&scratch, k, &reads);
    const bool found = buffers_have(&reads, b);
    arena_free(&scratch);
    return found;
}

/* Reads the buffer in some place where no expression can stand: a template's operand, a check, an indirect index, a
 * region. */
static bool reads_as_memory(const struct kernel *k, const struct inlining *in)
{
    const struct buffer *b = in->buffer;
    bool found = false;
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_CHECK: found |= expr_reads(it.check->value, b); break;
        case ITEM_OPERAND: found |= operand_reads(it.operand, b) && !takes_expression(in, it.operand); break;
        case ITEM_PART:
            vec_each_ptr(const struct store, s, &it.part->stores)
                found |= s->to.term_count > 0;
            break;
        case ITEM_STAGE: found |= kernel_has_read(it.stage, b); break;
        case ITEM_REGION: found = true; break;
        case ITEM_LOOP:
        case ITEM_INT:
        case ITEM_SCRATCH:
        case ITEM_OWN: break;
        }
    return found;
}

#define INLINE_CHEAP 3            /* recomputing this is cheaper than a load and a store */
#define INLINE_FAR 10             /* ... than a load of what has left the cache since it was stored */
#define INLINE_FEW 4              /* readers that may compute so much each, if then nothing is stored */
#define INLINE_LIMIT 300          /* of the joined expression, so that kernels stay readable */

/* Is so much done between two kernels that what the first stored has left the cache when the second runs? A product, a
 * convolution or a long way lies between them. */
static bool is_far(const struct fusion *f, const struct kernel *from, const struct kernel *to)
{
    enum { LONG_WAY = 64 };
    const int lo = f->position[from->id], hi = f->position[to->id];
    bool far = hi - lo > LONG_WAY || lo - hi > LONG_WAY;
    for (int i = lo < hi ? lo : hi; !far && i < (lo < hi ? hi : lo); i++)
        far |= i != lo && i != hi && !f->l->kernels.data[i]->removed &&
               f->l->kernels.data[i]->kind == KERNEL_TEMPLATE;
    return far;
}

/* Would a load of u in the reader keep u alive longer than its other readers do? */
static bool lengthens(const struct fusion *f, const struct buffer *u, const struct kernel *producer,
                      const struct kernel *reader)
{
    const struct fuse_buffer *t = fuse_buffer(f, u);
    for (size_t i = 0; i < t->readers.count; i++) {
        const struct kernel *k = t->readers.data[i];
        if (k != producer && (f->position[k->id] >= f->position[reader->id] || !is_far(f, k, reader)))
            return false;
    }
    return u->kind == BUFFER_TEMP;
}

/* Temporaries that the reader would keep alive longer, of those that are not small beside what is inlined. */
static int lengthened(const struct fusion *f, const struct kernel *producer, const struct buffer *b,
                      const struct kernel *reader)
{
    const buffer_list *const reads = &f->touched[producer->id].reads;
    int count = 0;
    for (size_t i = 0; i < reads->count; i++)
        count += reads->data[i]->count * 8 > b->count && lengthens(f, reads->data[i], producer, reader);
    return count;
}

/* The places of a buffer that a part reads at one point of its loops. */
struct read_places {
    const struct buffer *buffer;
    struct arena *arena;
    VEC(const struct access *) list;
};

static void add_place(const struct access *a, void *data)
{
    struct read_places *p = data;
    if (a->buffer != p->buffer)
        return;
    for (size_t i = 0; i < p->list.count; i++) {
        const struct access *b = p->list.data[i];
        if (a->offset == b->offset && memcmp(a->stride, b->stride, sizeof a->stride) == 0 && a->term_count == 0 &&
            b->term_count == 0)
            return;
    }
    vec_push(p->arena, &p->list, a);
}

static int64_t places_of_part(const struct part *p, const struct buffer *b)
{
    struct arena scratch = {0};
    struct read_places places = {.buffer = b, .arena = &scratch};
    if (p->element)
        expr_each_load(p->element, add_place, &places);
    for (size_t s = 0; s < p->stores.count; s++)
        expr_each_load(p->stores.data[s].value, add_place, &places);
    const int64_t count = (int64_t)places.list.count;
    arena_free(&scratch);
    return count;
}

/* How many elements of the buffer the kernel would compute: a window of four positions has four of them at each point.
 * An operand is read once. */
static int64_t reads_of(const struct kernel *k, const struct buffer *b)
{
    int64_t most = 0;
    for (size_t i = 0; i < k->parts.count; i++) {
        const struct part *p = &k->parts.data[i];
        const int64_t places = places_of_part(p, b), least = k->kind != KERNEL_TEMPLATE,
                      reads = points(p) * (places == 0 ? least : places);
        most = reads > most ? reads : most;
    }
    return most;
}

/* Operations along the innermost loop. */
static int cost_along_rows(const struct part *p)
{
    int d = p->rank - 1;
    while (d > 0 && p->extent[d] == 1)
        d--;
    return d < 0 ? 0 : expr_cost_along(p->stores.data[0].value, d);
}

/* Does the producer finish what a template makes, and the reader walk other loops? Then it is better an epilogue there:
 * a program that trains, where several read it, does the same and shares the kernel. */
static bool is_better_epilogue(const struct fusion *f, const struct kernel *producer, struct inlining *in,
                               struct kernel *reader)
{
    const buffer_list *const reads = &f->touched[producer->id].reads;
    bool finishes = false;
    for (size_t i = 0; i < reads->count; i++) {
        const struct fuse_buffer *const b = fuse_buffer(f, reads->data[i]);
        finishes |= reads->data[i]->kind == BUFFER_TEMP && b->writers.count == 1 && b->readers.count == 1 &&
                    b->writers.data[0]->kind == KERNEL_TEMPLATE && reads->data[i]->count == in->buffer->count;
    }
    return finishes && !in->into_operands && !each_expression(reader, in, test_equal_loops);
}

enum worth {
    INLINE_NEVER,
    INLINE_IF_ALL, /* readers take it, so that it is not stored */
    INLINE_ALWAYS
};

static enum worth worth_of(const struct fusion *f, const struct kernel *producer, struct inlining *in,
                           struct kernel *reader, bool is_only)
{
    const struct buffer *const b = in->buffer;
    const int cost = expr_cost(producer->parts.data[0].stores.data[0].value);
    const bool once = reads_of(reader, b) <= points(&producer->parts.data[0]);
    if (cost > INLINE_LIMIT || (is_only && is_better_epilogue(f, producer, in, reader)))
        return INLINE_NEVER;
    if (is_only && (once || cost <= INLINE_CHEAP))
        return INLINE_ALWAYS;
    const bool large = b->count * (int64_t)dtype_size(b->dtype) >= target_far(f->l->target) && once;
    const bool far = large && is_far(f, producer, reader);
    const int longer = lengthened(f, producer, b, reader);
    if (cost <= (far ? INLINE_FAR : INLINE_CHEAP))
        return longer == 0 ? INLINE_ALWAYS : longer == 1 && cost <= INLINE_CHEAP ? INLINE_IF_ALL : INLINE_NEVER;
    const bool few = fuse_buffer(f, b)->readers.count <= INLINE_FEW;
    const bool pays = large && few && longer == 0 && cost_along_rows(&producer->parts.data[0]) <= INLINE_FAR;
    return pays ? INLINE_IF_ALL : INLINE_NEVER;
}

/* What the producer reads must still be there where the reader stands. */
static bool inputs_unchanged(const struct fusion *f, const struct kernel *producer, const struct kernel *reader)
{
    const buffer_list *const reads = &f->touched[producer->id].reads;
    bool ok = true;
    for (size_t i = 0; i < reads->count; i++) {
        const struct fuse_buffer *b = fuse_buffer(f, reads->data[i]);
        for (size_t w = 0; w < b->writers.count; w++) {
            const int at = f->position[b->writers.data[w]->id];
            ok &= at < f->position[producer->id] || at >= f->position[reader->id];
        }
        /* The reader overwrites what the producer read: only at the very element that it computes, which a copy of
         * the whole buffer in the same loops is (an in-place update). */
        if (fuse_writes(f, reader, reads->data[i]))
            ok &= reads->data[i]->count == 1 || fuse_is_map(reader);
    }
    return ok;
}

/* After inlining, a buffer that the reader both reads and writes must be touched at one element per point. */
static bool reads_only_own_element(const struct part *p, const struct expr *value);

struct own_test {
    const struct part *part;
    bool ok;
};

static void test_own(const struct access *a, void *data)
{
    struct own_test *t = data;
    for (size_t s = 0; s < t->part->stores.count; s++) {
        const struct access *to = &t->part->stores.data[s].to;
        if (to->buffer != a->buffer)
            continue;
        t->ok &= to->offset == a->offset && a->term_count == 0 && to->term_count == 0;
        for (int d = 0; d < t->part->rank; d++)
            t->ok &= t->part->extent[d] == 1 || to->stride[d] == a->stride[d];
    }
}

static bool reads_only_own_element(const struct part *p, const struct expr *value)
{
    struct own_test t = {p, true};
    expr_each_load(value, test_own, &t);
    return t.ok;
}

static bool writes_buffer_of(const struct kernel *k, const struct operand *o)
{
    for (size_t p = 0; p < k->parts.count; p++)
        for (size_t s = 0; s < k->parts.data[p].stores.count; s++)
            if (operand_reads(o, k->parts.data[p].stores.data[s].to.buffer))
                return true;
    return false;
}

static bool in_place_holds(const struct kernel *k)
{
    kernel_each_item(it, k)
        if (it.kind == ITEM_OPERAND && it.operand->value && writes_buffer_of(k, it.operand))
            return false;
    for (size_t p = 0; p < k->parts.count; p++)
        for (size_t s = 0; s < k->parts.data[p].stores.count; s++)
            if (!reads_only_own_element(&k->parts.data[p], k->parts.data[p].stores.data[s].value))
                return false;
    return true;
}

static bool may_inline(const struct fusion *f, const struct kernel *producer, struct inlining *in,
                       struct kernel *reader)
{
    return !reads_as_memory(reader, in) && inputs_unchanged(f, producer, reader) &&
           each_expression(reader, in, test_expression);
}

static int64_t scratch_of_planes(const struct kernel *k)
{
    int64_t most = 0;
    kernel_each_item(it, k)
        if (it.kind == ITEM_OPERAND && it.operand->value && it.operand->scratch > most)
            most = it.operand->scratch;
    return most;
}

/* Room for the planes of operands that are computed now, one operand after the other. */
static void add_scratch(struct fusion *f, struct kernel *k, const struct kernel *before)
{
    const int64_t had = scratch_of_planes(before), needs = scratch_of_planes(k);
    if (needs == had)
        return;
    if (!k->scratch.buffer)
        k->scratch.buffer = buffer_new(f->l, BUFFER_TEMP, "scratch", k->tmpl.type, &SHAPE(0));
    kernel_resize_scratch(k, k->scratch.count + needs - had);
}

/* Will the reader both read and write some buffer, once it computes what the producer does? */
static bool will_read_own_result(const struct fusion *f, const struct kernel *producer, const struct kernel *reader)
{
    const buffer_list *const writes = &f->touched[reader->id].writes;
    for (size_t i = 0; i < writes->count; i++)
        if (fuse_reads(f, reader, writes->data[i]) || fuse_reads(f, producer, writes->data[i]))
            return true;
    return false;
}

/* The kernel's parts become copies. */
static void own_parts(struct fusion *f, struct kernel *k)
{
    k->parts.data = arena_copy(f->arena, k->parts.data, k->parts.count * sizeof *k->parts.data, alignof(struct part));
    k->parts.capacity = k->parts.count;
    for (size_t p = 0; p < k->parts.count; p++) {
        struct part *const part = &k->parts.data[p];
        part->stores.data = arena_copy(f->arena, part->stores.data, part->stores.count * sizeof *part->stores.data,
                                       alignof(struct store));
        part->stores.capacity = part->stores.count;
    }
}

static bool inline_into(struct fusion *f, struct kernel *producer, struct inlining *in, struct kernel *reader)
{
    const bool may_fail = will_read_own_result(f, producer, reader);
    struct kernel before = *reader;
    kernel_own_values(f->arena, &before);
    if (may_fail)
        own_parts(f, reader);
    fuse_forget(f, reader);
    each_expression(reader, in, replace_expression);
    if (may_fail && !in_place_holds(reader)) {
        *reader = before;
        fuse_remember(f, reader);
        return false;
    }
    fuse_join_nodes(f, reader, producer);
    add_scratch(f, reader, &before);
    fuse_remember_inlined(f, reader, producer, in->buffer);
    return true;
}

/* First into the readers for which it is worth it whatever the others do; then, if all that are left agree, into
 * these. */
static void inline_where_worth(struct fusion *f, struct kernel *producer, struct inlining *in,
                               const struct fuse_buffer *table)
{
    const size_t readers = table->readers.count;
    struct kernel **list = arena_copy(f->arena, table->readers.data, readers * sizeof *list, 16);
    bool all = true;
    for (size_t i = 0; i < readers; i++) {
        const enum worth w = may_inline(f, producer, in, list[i])
                                 ? worth_of(f, producer, in, list[i], readers == 1)
                                 : INLINE_NEVER;
        const bool done = w == INLINE_ALWAYS && inline_into(f, producer, in, list[i]);
        all = all && (done || w == INLINE_IF_ALL);
        list[i] = done ? NULL : list[i];
    }
    const bool is_last = table->readers.count == 1;
    for (size_t i = 0; i < readers; i++)
        if (list[i] && (all || (is_last && may_inline(f, producer, in, list[i]) &&
                                worth_of(f, producer, in, list[i], true) == INLINE_ALWAYS)))
            inline_into(f, producer, in, list[i]);
}

static bool inline_producer(struct fusion *f, struct kernel *producer, bool into_operands)
{
    if (!fuse_is_map(producer) || producer->parts.data[0].stores.count != 1)
        return false;
    struct part p = producer->parts.data[0];
    struct buffer *b = p.stores.data[0].to.buffer;
    struct fuse_buffer *table = fuse_buffer(f, b);
    if (b->kind != BUFFER_TEMP || table->writers.count != 1 || table->readers.count == 0 || b->count == 0)
        return false; /* nothing to inline in an empty buffer, and no strides to find one's way by */
    for (int d = 0, ok = 1; d < p.rank && ok; d++) { /* the whole buffer, row-major: what readers' strides refer to */
        int64_t row = 1;
        for (int e = d + 1; e < p.rank; e++)
            row *= p.extent[e];
        ok = p.extent[d] == 1 || p.stores.data[0].to.stride[d] == row;
        if (!ok || p.stores.data[0].to.offset != 0)
            return false;
    }
    if (points(&p) != b->count)
        return false;
    struct inlining in = {.arena = f->arena, .whole = &p, .buffer = b, .into_operands = into_operands};
    inline_where_worth(f, producer, &in, table);
    if (table->readers.count > 0)
        return false;
    fuse_forget(f, producer);
    fuse_remove(f, producer);
    return true;
}

bool fuse_inline(struct fusion *f, struct kernel *producer)
{
    return inline_producer(f, producer, false);
}

bool fuse_inline_operands(struct fusion *f, struct kernel *producer)
{
    return inline_producer(f, producer, true);
}
