/* Two ways, and the better of them is kept:
 *
 * By size: largest first, each at the lowest offset that is free during its whole life (the usual greedy; see Gergov
 * 1999 for bounds). Quadratic, so only up to some thousands.
 *
 * By time: a heap that knows the future, first fit; what dies gives its bytes back. Best for chains,
 * whose lives nest. */
#include "plan/places.h"

#include "lower/kernel.h"
#include <stdlib.h>

enum { MOST_BY_SIZE = 4000 };

size_t places_bound(const place_list *l, size_t times)
{
    struct arena scratch = {0};
    int64_t *change = arena_array(&scratch, int64_t, times + 2), alive = 0, most = 0;
    for (size_t i = 0; i < l->count; i++) {
        change[l->data[i].first] += (int64_t)l->data[i].bytes;
        change[l->data[i].last + 1] -= (int64_t)l->data[i].bytes;
    }
    for (size_t i = 0; i <= times; i++) {
        alive += change[i];
        most = alive > most ? alive : most;
    }
    arena_free(&scratch);
    return (size_t)most;
}

/* ---- by size ----------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->buffer->id - y->buffer->id;
}

/* Lowest offset where `it` overlaps none of the placed ones that live at the same time; those are sorted by offset. */
static size_t lowest_free(struct place *const *placed, size_t count, const struct place *it)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const struct place *o = placed[i];
        if (o->last < it->first || o->first > it->last)
            continue;
        if (at + it->bytes <= o->offset)
            break;
        if (o->offset + o->bytes > at)
            at = o->offset + o->bytes;
    }
    return at;
}

static void insert_by_offset(struct place **placed, size_t count, struct place *it)
{
    size_t at = count;
    for (; at > 0 && placed[at - 1]->offset > it->offset; at--)
        placed[at] = placed[at - 1];
    placed[at] = it;
}

static size_t pack_by_size(place_list *l)
{
    struct arena scratch = {0};
    struct place **placed = arena_array(&scratch, struct place *, l->count + 1);
    size_t end = 0;
    qsort(l->data, l->count, sizeof *l->data, by_size);
    for (size_t i = 0; i < l->count; i++) {
        struct place *const it = &l->data[i];
        it->offset = lowest_free(placed, i, it);
        insert_by_offset(placed, i, it);
        end = it->offset + it->bytes > end ? it->offset + it->bytes : end;
    }
    arena_free(&scratch);
    return end;
}

/* ---- by time ----------------------------------------------------------------------------------------------------- */

struct gap {
    size_t from, to;
};
typedef VEC(struct gap) gap_list;

static int by_birth(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : by_size(a, b);
}

static int by_death(const void *a, const void *b)
{
    const struct place *x = *(const struct place *const *)a, *y = *(const struct place *const *)b;
    return x->last != y->last ? (x->last > y->last) - (x->last < y->last) : x->buffer->id - y->buffer->id;
}

static void release(struct arena *a, gap_list *gaps, const struct place *it)
{
    size_t at = gaps->count, from = it->offset, to = it->offset + it->bytes;
    while (at > 0 && gaps->data[at - 1].from >= to)
        at--;
    if (at < gaps->count && gaps->data[at].from == to) { /* joins the gap behind */
        to = gaps->data[at].to;
        vec_remove(gaps, at);
    }
    if (at > 0 && gaps->data[at - 1].to == from) { /* and the one in front */
        gaps->data[at - 1].to = to;
        return;
    }
    const struct gap made = {from, to};
    vec_push(a, gaps, made);
    for (size_t i = gaps->count - 1; i > at; i--)
        gaps->data[i] = gaps->data[i - 1];
    gaps->data[at] = made;
}

static size_t take(gap_list *gaps, size_t bytes)
{
    size_t at = 0;
    while (gaps->data[at].to - gaps->data[at].from < bytes) /* the last gap has no end */
        at++;
    const size_t offset = gaps->data[at].from;
    gaps->data[at].from += bytes;
    if (gaps->data[at].from == gaps->data[at].to)
        vec_remove(gaps, at);
    return offset;
}

static size_t pack_by_time(place_list *l)
{
    struct arena scratch = {0};
    struct place **dying = arena_array(&scratch, struct place *, l->count + 1);
    gap_list gaps = {0};
    const struct gap all = {0, SIZE_MAX};
    size_t end = 0, dead = 0;
    qsort(l->data, l->count, sizeof *l->data, by_birth);
    for (size_t i = 0; i < l->count; i++)
        dying[i] = &l->data[i];
    qsort(dying, l->count, sizeof *dying, by_death);
    vec_push(&scratch, &gaps, all);
    vec_each_ptr(struct place, it, l) {
        for (; dying[dead]->last < it->first; dead++)
            release(&scratch, &gaps, dying[dead]);
        it->offset = take(&gaps, it->bytes);
        end = it->offset + it->bytes > end ? it->offset + it->bytes : end;
    }
    arena_free(&scratch);
    return end;
}

size_t places_pack(place_list *l)
{
    if (l->count == 0)
        return 0;
    const size_t by_time = pack_by_time(l);
    if (l->count > MOST_BY_SIZE)
        return by_time;
    const size_t by_size_end = pack_by_size(l);
    return by_size_end <= by_time ? by_size_end : pack_by_time(l);
}
