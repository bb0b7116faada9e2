#include "devices/shards.h"

#include "base/checked.h"
#include "base/str.h"
#include <string.h>

enum { WORD = 64, RECENT = 64, SHARDS_SHOWN = 8 };

struct shard_pool shard_pool_new(struct arena *a, int devices)
{
    return (struct shard_pool){.arena = a, .devices = devices, .words = ((size_t)devices + WORD - 1) / WORD};
}

struct shards *shards_new(const struct shard_pool *p, struct arena *a, int rank, const int64_t *parts,
                          const int64_t *blocks)
{
    int64_t count = 1;
    for (int d = 0; d < rank; d++)
        if (!checked_mul(count, parts[d], &count) || count > MOST_SHARDS)
            return NULL;
    struct shards *const s = arena_new(a, struct shards);
    s->rank = rank;
    s->count = (size_t)count;
    memcpy(s->parts, parts, (size_t)rank * sizeof *parts);
    for (int d = 0; d < rank; d++)
        s->blocks[d] = blocks && parts[d] > 1 ? blocks[d] : 1;
    s->sets = arena_array(a, uint64_t, s->count * p->words);
    return s;
}

static bool is_equal(const struct shard_pool *p, const struct shards *a, const struct shards *b)
{
    return a->rank == b->rank && memcmp(a->parts, b->parts, (size_t)a->rank * sizeof *a->parts) == 0 &&
           memcmp(a->blocks, b->blocks, (size_t)a->rank * sizeof *a->blocks) == 0 &&
           memcmp(a->sets, b->sets, a->count * p->words * sizeof *a->sets) == 0;
}

const struct shards *shards_keep(struct shard_pool *p, const struct shards *s)
{
    for (size_t i = p->made.count; i-- > 0 && p->made.count - i <= RECENT;)
        if (is_equal(p, p->made.data[i], s))
            return p->made.data[i];
    struct shards *const own = shards_new(p, p->arena, s->rank, s->parts, s->blocks);
    memcpy(own->sets, s->sets, s->count * p->words * sizeof *s->sets);
    vec_push(p->arena, &p->made, own);
    return own;
}

const struct shards *shards_everywhere(struct shard_pool *p, int rank)
{
    struct arena scratch = {0};
    int64_t parts[SHAPE_MAX_RANK];
    for (int d = 0; d < rank; d++)
        parts[d] = 1;
    struct shards *const s = shards_new(p, &scratch, rank, parts, NULL);
    for (int k = 0; k < p->devices; k++)
        shard_add(p, s, 0, k);
    const struct shards *const own = shards_keep(p, s);
    arena_free(&scratch);
    return own;
}

uint64_t *shard_set(const struct shard_pool *p, const struct shards *s, size_t shard)
{
    return s->sets + shard * p->words;
}

void shard_add(const struct shard_pool *p, struct shards *s, size_t shard, int device)
{
    shard_set(p, s, shard)[device / WORD] |= UINT64_C(1) << device % WORD;
}

bool shard_is_on(const struct shard_pool *p, const struct shards *s, size_t shard, int device)
{
    return shard_set(p, s, shard)[device / WORD] >> device % WORD & 1;
}

void set_add(const struct shard_pool *p, uint64_t *to, const uint64_t *from)
{
    for (size_t w = 0; w < p->words; w++)
        to[w] |= from[w];
}

void set_keep(const struct shard_pool *p, uint64_t *to, const uint64_t *from)
{
    for (size_t w = 0; w < p->words; w++)
        to[w] &= from[w];
}

bool set_is_empty(const struct shard_pool *p, const uint64_t *set)
{
    for (size_t w = 0; w < p->words; w++)
        if (set[w] != 0)
            return false;
    return true;
}

bool shards_are_whole(const struct shards *s)
{
    return s->count == 1;
}

/* Where shard i lies along each axis. */
static void place_of(const struct shards *s, size_t i, int64_t *at)
{
    for (int d = s->rank; d-- > 0; i /= (size_t)s->parts[d])
        at[d] = (int64_t)(i % (size_t)s->parts[d]);
}

static size_t shard_at(const struct shards *s, const int64_t *at)
{
    size_t i = 0;
    for (int d = 0; d < s->rank; d++)
        i = i * (size_t)s->parts[d] + (size_t)at[d];
    return i;
}

const struct shards *shards_collected(struct shard_pool *p, const struct shards *s, int axis)
{
    struct arena scratch = {0};
    int64_t parts[SHAPE_MAX_RANK], at[SHAPE_MAX_RANK];
    memcpy(parts, s->parts, sizeof parts);
    parts[axis] = 1;
    struct shards *const whole = shards_new(p, &scratch, s->rank, parts, s->blocks);
    for (size_t i = 0; i < s->count; i++) {
        place_of(s, i, at);
        at[axis] = 0;
        set_add(p, shard_set(p, whole, shard_at(whole, at)), shard_set(p, s, i));
    }
    const struct shards *const own = shards_keep(p, whole);
    arena_free(&scratch);
    return own;
}

/* Have part i of m and part k of n an element in common? i / m < (k + 1) / n, and the other way round. */
static bool overlap(int64_t i, int64_t m, int64_t k, int64_t n)
{
    return i * n < (k + 1) * m && k * m < (i + 1) * n;
}

bool shards_suffice(const struct shard_pool *p, const struct shards *there, const struct shards *wanted)
{
    int64_t at[SHAPE_MAX_RANK], own[SHAPE_MAX_RANK];
    for (size_t i = 0; i < wanted->count; i++) {
        place_of(wanted, i, at);
        const uint64_t *const devices = shard_set(p, wanted, i);
        for (size_t k = 0; k < there->count; k++) {
            bool meets = true;
            place_of(there, k, own);
            for (int d = 0; d < wanted->rank && meets; d++) /* parts of other blocks are taken to meet all */
                meets = wanted->blocks[d] != there->blocks[d] ||
                        overlap(at[d], wanted->parts[d], own[d], there->parts[d]);
            for (size_t w = 0; w < p->words && meets; w++)
                if (devices[w] & ~shard_set(p, there, k)[w])
                    return false;
        }
    }
    return true;
}

static bool are_divided(int64_t a, int64_t b, int64_t parts, int64_t assumed)
{
    return (a % parts == 0 && b % parts == 0) || (assumed > 1 && a % assumed == 0 && b % assumed == 0);
}

/* In the order of elements, `before` runs follow each other, and of each `inner` steps of the axis are parted. */
bool reshape_parted(const struct shape *x, const struct shape *y, int64_t assumed, struct parted_axis *at)
{
    const int64_t before = shape_count_range(x, 0, at->axis) * at->blocks, inner = x->dim[at->axis] / at->blocks;
    int64_t outer = 1;
    int to = 0;
    while (to < y->rank && outer * y->dim[to] <= before)
        outer *= y->dim[to++];
    if (to == y->rank || before == 0)
        return false;
    const int64_t next = outer * y->dim[to];
    if (before % outer != 0 || next % before != 0)
        return false;
    if (next / before != inner && !are_divided(inner, next / before, at->parts, assumed))
        return false;
    at->axis = to;
    at->blocks = before / outer;
    return true;
}

/* "0-3 6" */
static void add_set(struct strbuf *b, const struct shard_pool *p, const struct shards *s, size_t shard)
{
    bool first = true;
    for (int k = 0; k < p->devices; k++) {
        int last = k;
        if (!shard_is_on(p, s, shard, k))
            continue;
        while (last + 1 < p->devices && shard_is_on(p, s, shard, last + 1))
            last++;
        strbuf_addf(b, last > k ? "%s%d-%d" : "%s%d", first ? "" : " ", k, last);
        first = false;
        k = last;
    }
}

const char *shards_text(struct arena *a, const struct shard_pool *p, const struct shards *s)
{
    struct strbuf b = {.arena = a};
    if (!s)
        return "not followed";
    if (shards_are_whole(s)) {
        strbuf_add(&b, "whole on ");
        add_set(&b, p, s, 0);
        return strbuf_text(&b);
    }
    for (int d = 0; d < s->rank; d++)
        if (s->parts[d] > 1)
            strbuf_addf(&b, "%saxis %d in %lld%s", b.length ? ", " : "", d, (long long)s->parts[d],
                        s->blocks[d] > 1 ? arena_printf(a, " within each of %lld runs", (long long)s->blocks[d]) : "");
    strbuf_add(&b, " (");
    for (size_t i = 0; i < s->count && i < SHARDS_SHOWN; i++) {
        strbuf_add(&b, i ? " | " : "");
        add_set(&b, p, s, i);
    }
    strbuf_add(&b, s->count > SHARDS_SHOWN ? " | ...)" : ")");
    return strbuf_text(&b);
}
