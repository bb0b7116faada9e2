/* stepc compare --against DUMP: one training step here against the same step in another framework, tensor by tensor. */
#ifndef STEPC_CMD_COMPARE_DUMP_H
#define STEPC_CMD_COMPARE_DUMP_H

#include "cmd/cmd.h"
#include "model/model.h"

struct dump_options {
    struct import_options import;
    /* NAME.npy or NAME.pb; NAME as in the model, all but letters, digits, '.', '_' and '-' as '_' */
    const char *folder;
    const char *entry;  /* NULL: step if there is one, else infer */
    double rtol;        /* largest relative L2 distance that still counts as equal */
    bool quiet;
};

/* Runs the entry once, interpreted in double, on the inputs of the dump and from its weights (where it holds none, from
 * the model's), prints a line for each tensor in the order of the graph, and first of all the parameter whose gradient
 * goes wrong first. Gradients are found under NAME.gradient, d_NAME or the name that the model gives them. False if
 * anything differs. */
bool compare_dump(struct session *s, const struct model *m, const struct dump_options *o) MUST_USE;

#endif
