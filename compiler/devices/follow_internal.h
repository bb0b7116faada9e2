/* What the files of this folder share. Included nowhere else. */
#ifndef STEPC_DEVICES_FOLLOW_INTERNAL_H
#define STEPC_DEVICES_FOLLOW_INTERNAL_H

#include "devices/devices.h"
#include "devices/shards.h"

/* One entry under one configuration. */
struct follower {
    struct diag *diag;
    struct arena *arena;
    const struct model *model;
    const struct model_devices *configuration;
    const struct devices_options *options;
    struct shard_pool pool;
    const struct shards **of; /* value by id; NULL: not followed */
    int *stages;              /* value by id; -1: none */
    unsigned char *sums;      /* value by id; sums.c */
    unsigned char *read;      /* value by id: 1 as a whole, 2 in parts; data_parallel.c */
    bool executes; /* runtime/mpi is to execute the entry: what has to be moved is an error, and no warning */
    bool ok;
};

/* Goes through all entries under each configuration; `visit`, if not NULL, sees each node behind its operands (as it
 * reads them) and results. False after an error. */
typedef void (*follow_visit)(struct follower *f, const struct node *n, const struct shards *const *in);
bool devices_follow(struct diag *d, const struct program *p, const struct devices_options *o, follow_visit visit);
/* Has the entry an input of samples? All others are computed alike on each device. */
bool sees_samples(const struct graph *g);

/* Something has to be moved between devices, or put together: a warning, or where that is to be executed an error. */
void note_move(struct follower *f, const struct node *n, const char *format, ...) PRINTF_LIKE(3, 4);
/* An error with options->way_out behind it. Returns false. */
bool refuse_to_execute(struct follower *f, const struct loc *at, const char *format, ...) PRINTF_LIKE(3, 4);

/* Does it go through the entry under this configuration? Not where no node is annotated, and not the step whose parts
 * are entries as well. */
bool is_followed(const struct entry *e, const struct model_devices *x);

/* The node's entry of the configuration, or NULL. */
const struct model_node_devices *entry_of(const struct follower *f, const struct placed *p);
/* What the entry says of a tensor; *stated: it says anything. NULL: nothing, wrong, or nothing that can be followed. */
const struct shards *stated_shards(struct follower *f, const struct placed *p, const struct value *v, bool output,
                                   bool *stated);
/* Results of a node whose operands lie like this. */
void combine_shards(struct follower *f, const struct node *n, const struct shards **in, const struct shards **out);

#endif
