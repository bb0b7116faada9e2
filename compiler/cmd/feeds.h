/* Tensors from files into inputs: shared by run, compare and verify. */
#ifndef STEPC_CMD_FEEDS_H
#define STEPC_CMD_FEEDS_H

#include "cmd/cmd.h"
#include "model/model.h"

/* What --feed NAME=FILE gave. A tensor with one leading axis more than the input declares holds one slice per step. */
struct feed {
    const char *name;
    const struct tensor *tensor;
    bool sliced;
    struct shape slice; /* shape of one step */
};
struct feeds {
    VEC(struct feed) list;
    int64_t steps; /* slices of the sliced feeds (all alike), or 0 */
};

/* Reads the files and settles which feeds are sliced; tells import the shapes (and the content of those that are not sliced). */
bool feeds_read(struct session *s, const struct model *m, text_list files, struct import_options *import, struct feeds *out);
/* The tensors of step `step` for the inputs of an entry, in order (in `a`). A missing feed is reported. */
bool feeds_inputs(struct session *s, const struct feeds *f, const struct entry *e, int64_t step, struct arena *a,
                  const struct tensor ***inputs);

#endif
