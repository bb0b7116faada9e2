/* --data and --validate: whole data sets, cut into batches in an order that anybody can compute again. */
#ifndef STEPC_CMD_RUN_DATA_H
#define STEPC_CMD_RUN_DATA_H

#include "cmd/cmd.h"
#include "model/model.h"

/* One file; its leading axis counts samples. */
struct data_set {
    const char *name; /* of the input */
    const struct tensor *tensor;
    struct shape batch_shape;
};

struct data {
    VEC(struct data_set) list;
    int64_t samples; /* alike in all sets */
    int64_t batch;   /* samples of a step */
    int64_t batches; /* whole ones in an epoch; what is left over is dropped */
};

/* Reads "NAME=FILE" of `option` ("data", "validate"). `batch`: what --batch says, 0: the size that the model declares.
 * Tells import the shapes of the inputs, which binds symbolic sizes. Without files *out is empty. */
bool data_read(struct session *s, const struct model *m, const char *option, str_list files, int64_t batch,
               struct import_options *import, struct data *out) MUST_USE;

/* The samples of an epoch (0, 1, ...) in the order of use: 0, 1, 2... or a Fisher-Yates permutation that depends on
 * nothing but their number, the seed and the epoch. `order` has room for all samples. */
void data_order(const struct data *d, const uint64_t *shuffle_seed, int64_t epoch, int64_t *order);
/* Batch number `batch` of the order for input `name`, in `a`; NULL if no set has this name. */
const struct tensor *data_batch(const struct data *d, const char *name, const int64_t *order, int64_t batch,
                                struct arena *a);
const struct data_set *data_find(const struct data *d, const char *name);

#endif
