/* Liveness over kernels and offsets in the arena.
 *
 * A temporary is alive from the kernel that first writes it to the one that last reads it. Offsets are given largest first,
 * each at the lowest place that is free during the whole life (the usual greedy for dynamic storage allocation; see
 * Gergov 1999 for bounds; in practice within a few percent of the bound, which the report states). */
#include "plan/plan.h"

#include "base/checked.h"
#include "plan/schedule.h"
#include <stdlib.h>

static size_t buffer_bytes(const struct buffer *b)
{
    return (size_t)round_up(b->count * (int64_t)dtype_size(b->dtype), PLAN_ALIGN);
}

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

static void find_bound(struct plan *p)
{
    const struct lowered *l = p->lowered;
    struct arena scratch = {0};
    int64_t *change = arena_array(&scratch, int64_t, l->kernels.count + 2);
    for (size_t i = 0; i < l->buffers.count; i++) {
        const struct plan_life *life = &p->life[i];
        if (l->buffers.data[i]->kind != BUFFER_TEMP || life->first < 0)
            continue;
        change[life->first] += (int64_t)buffer_bytes(l->buffers.data[i]);
        change[life->last + 1] -= (int64_t)buffer_bytes(l->buffers.data[i]);
    }
    int64_t alive = 0, most = 0;
    for (size_t i = 0; i <= l->kernels.count; i++) {
        alive += change[i];
        most = alive > most ? alive : most;
    }
    p->bound_bytes = (size_t)most;
    arena_free(&scratch);
}

/* ---- offsets ------------------------------------------------------------------------------------------------------ */

struct item {
    struct buffer *buffer;
    struct plan_life life;
    size_t bytes;
};

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
        if (o->life.last < it->life.first || o->life.first > it->life.last)
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

static void place_buffers(struct plan *p)
{
    const struct lowered *l = p->lowered;
    struct arena scratch = {0};
    struct item *items = arena_array(&scratch, struct item, l->buffers.count);
    struct item **placed = arena_array(&scratch, struct item *, l->buffers.count);
    size_t count = 0;
    for (size_t i = 0; i < l->buffers.count; i++)
        if (l->buffers.data[i]->kind == BUFFER_TEMP && p->life[i].first >= 0)
            items[count++] = (struct item){l->buffers.data[i], p->life[i], buffer_bytes(l->buffers.data[i])};
    qsort(items, count, sizeof *items, by_size_then_order);
    for (size_t i = 0; i < count; i++) {
        items[i].buffer->arena_offset = lowest_place(placed, i, &items[i]);
        insert_sorted(placed, i, &items[i]);
        const size_t end = items[i].buffer->arena_offset + items[i].bytes;
        p->arena_bytes = end > p->arena_bytes ? end : p->arena_bytes;
    }
    arena_free(&scratch);
}

bool plan_entry(struct diag *d, struct lowered *l, struct plan **out)
{
    struct plan *p = arena_new(l->arena, struct plan);
    p->lowered = l;
    p->life = arena_array(l->arena, struct plan_life, l->buffers.count);
    if (!schedule_kernels(d, l))
        return false;
    find_lives(p);
    find_bound(p);
    place_buffers(p);
    *out = p;
    return true;
}
