/* A tensor in parts, and which devices hold each of them. */
#ifndef STEPC_DEVICES_SHARDS_H
#define STEPC_DEVICES_SHARDS_H

#include "base/vec.h"
#include "tensor/shape.h"

enum { MOST_SHARDS = 1024 }; /* beyond these nothing is followed */

/* Part p of axis d has the elements from p * size / parts[d] to (p + 1) * size / parts[d]; of an axis that was merged
 * from several, of which an inner one is split, those of each of `blocks[d]` equal runs. Shards are counted with axis 0
 * slowest. What is made stays as it is, and equal ones are mostly the same. */
struct shards {
    int rank;
    int64_t parts[SHAPE_MAX_RANK];
    int64_t blocks[SHAPE_MAX_RANK]; /* 1 where there is one part */
    size_t count;   /* their product */
    uint64_t *sets; /* shard by shard: bit k of word w is device 64 * w + k */
};

struct shard_pool {
    struct arena *arena;
    int devices;
    size_t words; /* of a set */
    VEC(const struct shards *) made;
};

struct shard_pool shard_pool_new(struct arena *a, int devices);
/* All sets empty; NULL where there would be more than MOST_SHARDS. In the arena given. `blocks`: NULL: one each. */
struct shards *shards_new(const struct shard_pool *p, struct arena *a, int rank, const int64_t *parts,
                          const int64_t *blocks);
/* An equal one that stays. */
const struct shards *shards_keep(struct shard_pool *p, const struct shards *s);
/* One part that all devices hold. */
const struct shards *shards_everywhere(struct shard_pool *p, int rank);

uint64_t *shard_set(const struct shard_pool *p, const struct shards *s, size_t shard);
void shard_add(const struct shard_pool *p, struct shards *s, size_t shard, int device);
bool shard_is_on(const struct shard_pool *p, const struct shards *s, size_t shard, int device);
/* to |= from, to &= from; is it empty? */
void set_add(const struct shard_pool *p, uint64_t *to, const uint64_t *from);
void set_keep(const struct shard_pool *p, uint64_t *to, const uint64_t *from);
bool set_is_empty(const struct shard_pool *p, const uint64_t *set);

/* An axis in parts: each of its `blocks` equal runs is cut into so many. */
struct parted_axis {
    int axis;
    int64_t parts, blocks;
};
/* Of x, then of y, which has the same elements in the same order: merged axes are parted as one of them is, within each
 * run of those in front of it. Sizes that are multiples of `assumed` may be others, and are taken to be divided by the
 * parts if those of both sides are such; 0, 1: all sizes are known. False: no axis of y has these parts. */
bool reshape_parted(const struct shape *x, const struct shape *y, int64_t assumed, struct parted_axis *at) MUST_USE;

bool shards_are_whole(const struct shards *s);
/* The same elements with the axis in one part, which each device holds that had any of it. */
const struct shards *shards_collected(struct shard_pool *p, const struct shards *s, int axis);
/* Has every device what `wanted` says, if the tensor lies as `there`? */
bool shards_suffice(const struct shard_pool *p, const struct shards *there, const struct shards *wanted);
/* "whole on 0-3", "axis 0 in 2 (0 | 1)" */
const char *shards_text(struct arena *a, const struct shard_pool *p, const struct shards *s);

#endif
