/* run --load and --save: everything that a step may change, in a checkpoint (engine/state_file.h). The files of the
 * interpreter, of generated code under `stepc run` and of programs with emitted code are the same. */
#ifndef STEPC_CMD_RUN_STATE_H
#define STEPC_CMD_RUN_STATE_H

#include "cmd/cmd.h"
#include "foreign/fill.h"

struct state_options {
    const char *load, *save; /* files; NULL: none */
    bool partial;            /* what fits is loaded; otherwise everything must */
    str_list reset;         /* "optimizer" or patterns of names: they start as init() leaves them */
    bool foreign;           /* --load is a framework's checkpoint */
    bool gives;             /* --save writes one */
    struct weight_options weights; /* how names and matrices there are the model's */
    struct filled filled;   /* what it has set in the model */
    int64_t batch;          /* samples of a step of this run; 0: without whole data sets */
    int64_t loaded_batch;   /* and of those before, as --load says; 0: it does not */
    bool trains;            /* the entry makes steps */
    const struct model_training *entry; /* it is that of it; NULL: of several */
    bool goes_on;           /* in the data, where --load stopped */
    bool quiet;
};

bool state_read_options(struct session *s, const struct options *o, struct state_options *out) MUST_USE;
/* Entries that decide whether random numbers belong to the state: the training entries, each with a comma behind it;
 * for the list of entries to make. "" where no state is kept. */
const char *state_entries(struct arena *a, const struct state_options *o, const struct model *m);
/* A framework's checkpoint goes into the model, before an engine is made of it; nothing is done for other files. */
bool state_fill(struct session *s, const struct options *o, struct state_options *state, struct model *m) MUST_USE;
/* After init(). *steps: how many steps the state has been through, 0 if it does not say: `stepc run` has noted it, or a
 * counter of the model says it. */
bool state_load(struct session *s, struct state_options *o, const struct model *m, struct engine *e,
                int64_t *steps) MUST_USE;
bool state_save(struct session *s, const struct state_options *o, const struct model *m, struct engine *e,
                int64_t steps) MUST_USE;

#endif
