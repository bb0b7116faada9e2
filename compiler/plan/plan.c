/* Liveness over kernels and offsets in the arena.
 *
 * A temporary is alive from the kernel that first writes it to the one that last reads it; a result may take the place of an
 * operand that dies. Offsets are given largest first, each at the lowest place that is free during the whole life (the usual
 * greedy for dynamic storage allocation; see Gergov 1999 for bounds; in practice within a few percent of the bound, which the
 * report states). */
#include "plan/plan.h"

#include "plan/schedule.h"
#include "plan/tasks.h"
#include <stdlib.h>

/* ---- liveness ----------------------------------------------------------------------------------------------------- */

static void touch(struct plan *p, const struct buffer *b, int at)
{
    struct plan_life *life = &p->life[b->id];
    if (life->first < 0)
        life->first = at;
    life->last = at;
}

static void find_lives(struct plan *p)
{
    const struct lowered *l = p->lowered;
    for (size_t i = 0; i < l->buffers.count; i++)
        p->life[i] = (struct plan_life){-1, -1};
    for (size_t i = 0; i < l->kernels.count; i++) {
        struct arena scratch = {0};
        const struct kernel *k = l->kernels.data[i];
        buffer_list list = {0};
        kernel_reads(&scratch, k, &list);
        kernel_writes(&scratch, k, &list);
        for (size_t b = 0; b < list.count; b++)
            touch(p, list.data[b], (int)i);
        if (k->scratch)
            touch(p, k->scratch, (int)i);
        arena_free(&scratch);
    }
}

/* ---- in place ----------------------------------------------------------------------------------------------------- */

/* Results take the place of operands that die in the kernel that makes them. */
static void reuse_places(struct plan *p, struct lowered *l)
{
    struct arena scratch = {0};
    const bool *const is_output = in_place_outputs(&scratch, l);
    for (size_t i = 0; i < l->kernels.count; i++) {
        in_place_list pairs = {0};
        bool taken[IN_PLACE_MOST];
        in_place_find(&scratch, l->kernels.data[i], is_output, &pairs);
        for (size_t n = 0; n < pairs.count; n++) {
            const struct in_place *pair = &pairs.data[n];
            taken[n] = p->life[pair->operand->id].last == (int)i && p->life[pair->result->id].first == (int)i &&
                       in_place_is_free(&pairs, taken, n);
            if (taken[n])
                pair->result->place_of = pair->operand;
        }
    }
    arena_free(&scratch);
}

/* ---- places ------------------------------------------------------------------------------------------------------- */

/* A temporary with all that take its place one after the other. */
struct item {
    struct buffer *buffer; /* the first */
    int first, last;
    size_t bytes;
};

typedef VEC(struct item) item_list;

static void find_items(struct arena *a, const struct plan *p, item_list *out)
{
    const struct lowered *l = p->lowered;
    struct buffer **next = arena_array(a, struct buffer *, l->buffers.count + 1);
    for (size_t i = 0; i < l->buffers.count; i++)
        if (l->buffers.data[i]->place_of)
            next[l->buffers.data[i]->place_of->id] = l->buffers.data[i];
    for (size_t i = 0; i < l->buffers.count; i++) {
        struct buffer *const b = l->buffers.data[i];
        const struct plan_life *const life = &p->life[i];
        if (b->kind != BUFFER_TEMP || life->first < 0 || b->place_of)
            continue;
        struct item it = {b, life->first, life->last, (size_t)plan_buffer_bytes(b)};
        for (const struct buffer *x = next[b->id]; x; x = next[x->id])
            it.last = p->life[x->id].last;
        vec_push(a, out, it);
    }
}

static void find_bound(struct plan *p, const item_list *items)
{
    struct arena scratch = {0};
    const size_t count = p->lowered->kernels.count;
    int64_t *change = arena_array(&scratch, int64_t, count + 2), alive = 0, most = 0;
    for (size_t i = 0; i < items->count; i++) {
        change[items->data[i].first] += (int64_t)items->data[i].bytes;
        change[items->data[i].last + 1] -= (int64_t)items->data[i].bytes;
    }
    for (size_t i = 0; i <= count; i++) {
        alive += change[i];
        most = alive > most ? alive : most;
    }
    p->bound_bytes = (size_t)most;
    arena_free(&scratch);
}

/* ---- offsets ------------------------------------------------------------------------------------------------------ */

static int by_size_then_order(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->buffer->id - y->buffer->id;
}

static int by_offset(const void *a, const void *b)
{
    const struct item *x = *(const struct item *const *)a, *y = *(const struct item *const *)b;
    if (x->buffer->arena_offset != y->buffer->arena_offset)
        return x->buffer->arena_offset < y->buffer->arena_offset ? -1 : 1;
    return x->buffer->id - y->buffer->id;
}

/* Lowest offset where `it` overlaps none of the placed items that are alive at the same time. */
static size_t lowest_place(struct item **placed, size_t count, const struct item *it)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) { /* placed is sorted by offset */
        const struct item *o = placed[i];
        if (o->last < it->first || o->first > it->last)
            continue;
        if (at + it->bytes <= o->buffer->arena_offset)
            break;
        if (o->buffer->arena_offset + o->bytes > at)
            at = o->buffer->arena_offset + o->bytes;
    }
    return at;
}

static void insert_sorted(struct item **placed, size_t count, struct item *it)
{
    size_t at = count;
    for (; at > 0 && by_offset(&placed[at - 1], &it) > 0; at--)
        placed[at] = placed[at - 1];
    placed[at] = it;
}

static void place_items(struct plan *p, const item_list *items)
{
    struct arena scratch = {0};
    struct item **placed = arena_array(&scratch, struct item *, items->count + 1);
    qsort(items->data, items->count, sizeof *items->data, by_size_then_order);
    for (size_t i = 0; i < items->count; i++) {
        struct item *const it = &items->data[i];
        it->buffer->arena_offset = lowest_place(placed, i, it);
        insert_sorted(placed, i, it);
        const size_t end = it->buffer->arena_offset + it->bytes;
        p->arena_bytes = end > p->arena_bytes ? end : p->arena_bytes;
    }
    arena_free(&scratch);
}

/* What takes the place of another lies where that lies. Buffers are numbered as they were made: an operand may come later. */
static void follow_places(struct plan *p)
{
    for (size_t i = 0; i < p->lowered->buffers.count; i++) {
        const struct buffer *at = p->lowered->buffers.data[i];
        while (at->place_of)
            at = at->place_of;
        p->lowered->buffers.data[i]->arena_offset = at->arena_offset;
    }
}

bool plan_entry(struct diag *d, struct lowered *l, struct plan **out)
{
    struct plan *p = arena_new(l->arena, struct plan);
    p->lowered = l;
    p->life = arena_array(l->arena, struct plan_life, l->buffers.count);
    if (!schedule_kernels(d, l))
        return false;
    find_lives(p);
    reuse_places(p, l);
    struct arena scratch = {0};
    item_list items = {0};
    find_items(&scratch, p, &items);
    find_bound(p, &items);
    place_items(p, &items);
    follow_places(p);
    arena_free(&scratch);
    *out = p;
    return true;
}
