/* Liveness over kernels: a temporary is alive from the kernel that first writes it to the one that last reads it; a
 * result may take the place of an operand that dies. */
#include "plan/plan.h"

#include "plan/places.h"
#include "plan/schedule.h"
#include "plan/tasks.h"

/* ---- liveness ---------------------------------------------------------------------------------------------------- */

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
        if (k->scratch.buffer)
            touch(p, k->scratch.buffer, (int)i);
        arena_free(&scratch);
    }
}

/* ---- in place ---------------------------------------------------------------------------------------------------- */

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

/* ---- places ------------------------------------------------------------------------------------------------------ */

static void find_places(struct arena *a, const struct plan *p, place_list *out)
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
        struct place it = {b, life->first, life->last, (size_t)plan_buffer_bytes(b), 0};
        for (const struct buffer *x = next[b->id]; x; x = next[x->id])
            it.last = p->life[x->id].last;
        vec_push(a, out, it);
    }
}

static void place_buffers(struct plan *p)
{
    struct arena scratch = {0};
    place_list places = {0};
    find_places(&scratch, p, &places);
    p->bound_bytes = places_bound(&places, p->lowered->kernels.count);
    p->arena_bytes = places_pack(&places);
    for (size_t i = 0; i < places.count; i++)
        places.data[i].buffer->arena_offset = places.data[i].offset;
    arena_free(&scratch);
}

/* What takes the place of another lies where that lies. Buffers are numbered as they were made: an operand may come
 * later. Chains are as long as the model, so each is followed down to what is known already. */
static void follow_places(struct plan *p)
{
    struct arena scratch = {0};
    const size_t count = p->lowered->buffers.count;
    bool *const known = arena_array(&scratch, bool, count);
    struct buffer **const way = arena_array(&scratch, struct buffer *, count);
    for (size_t i = 0; i < count; i++) {
        struct buffer *at = p->lowered->buffers.data[i];
        size_t steps = 0;
        for (; at->place_of && !known[at->id]; at = p->lowered->buffers.data[at->place_of->id])
            way[steps++] = at;
        known[at->id] = true;
        while (steps-- > 0) {
            way[steps]->arena_offset = at->arena_offset;
            known[way[steps]->id] = true;
        }
    }
    arena_free(&scratch);
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

/* Temporaries of a region lie in the scratch of its kernel. */
static bool plan_regions(struct diag *d, struct lowered *l)
{
    vec_each(struct kernel *, k, &l->kernels) {
        if (k->kind != KERNEL_REGION)
            continue;
        if (!plan_entry(d, k->region->body, &k->region->plan))
            return false;
        if (k->region->plan->arena_bytes > 0)
            region_add_scratch(l, k, (int64_t)k->region->plan->arena_bytes);
    }
    return true;
}

static void move_temporaries(const struct lowered *l, size_t by)
{
    for (size_t i = 0; i < l->buffers.count; i++)
        if (l->buffers.data[i]->kind == BUFFER_TEMP)
            l->buffers.data[i]->arena_offset += by;
    for (size_t i = 0; i < l->kernels.count; i++)
        if (l->kernels.data[i]->kind == KERNEL_REGION)
            move_temporaries(l->kernels.data[i]->region->body, by);
}

static void place_regions(const struct lowered *l)
{
    vec_each(const struct kernel *, k, &l->kernels)
        if (k->kind == KERNEL_REGION && k->scratch.buffer)
            move_temporaries(k->region->body, k->scratch.buffer->arena_offset);
}

bool plan_entry(struct diag *d, struct lowered *l, struct plan **out)
{
    if (!plan_regions(d, l))
        return false;
    struct plan *p = arena_new(l->arena, struct plan);
    p->lowered = l;
    p->life = arena_array(l->arena, struct plan_life, l->buffers.count);
    if (!schedule_kernels(d, l))
        return false;
    find_lives(p);
    reuse_places(p, l);
    place_buffers(p);
    follow_places(p);
    place_regions(l);
    *out = p;
    return true;
}
