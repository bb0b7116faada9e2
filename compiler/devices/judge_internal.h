/* What data_parallel.c asks of its neighbours. Included nowhere else. */
#ifndef STEPC_DEVICES_JUDGE_INTERNAL_H
#define STEPC_DEVICES_JUDGE_INTERNAL_H

#include "base/map.h"
#include "base/str.h"
#include "devices/follow_internal.h"

/* Is what the node puts together over samples, or goes on with, a sum all the way? Reports what is not. */
void judge_sums(struct follower *f, const struct node *n, const struct shards *const *in);

/* Does runtime/mpi execute what the configuration says, where the program has the samples of all devices? Reports what
 * it does not, with o->way_out. */
bool judge_program(struct diag *d, const struct program *p, const struct model_devices *x,
                   const struct devices_options *o) MUST_USE;

/* How the samples of all devices of a configuration are imported, where `import` has the sizes of a call. */
struct whole_batch {
    struct map symbols, inputs; /* dimensions of inputs that are in parts; those inputs, -> const int *: which */
    struct map dims, shapes;
    struct import_options import;
    const struct model_value_info *fixed; /* an input in parts with a number of samples in the model, or NULL */
    int64_t fixed_size;
    const struct model_node *reader;
};

/* False: there are too many. */
bool find_whole_batch(struct arena *a, const struct model *m, const struct model_devices *x,
                      const struct import_options *import, struct whole_batch *out) MUST_USE;

#endif
