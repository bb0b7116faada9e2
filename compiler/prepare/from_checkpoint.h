/* prepare --from: the optimizer, its rates, groups and schedule as a framework's checkpoint says them, for what the
 * command line leaves open. */
#ifndef STEPC_PREPARE_FROM_CHECKPOINT_H
#define STEPC_PREPARE_FROM_CHECKPOINT_H

#include "foreign/fill.h"
#include "prepare/prepare.h"

/* What the command line says, so that the checkpoint need not. */
struct given_options {
    const char *optimizer; /* as it was said: keys that it leaves out are the checkpoint's; NULL: not at all */
    bool learning_rate, schedule, groups;
};

/* Parameters of the checkpoint's optimizer must have names where groups differ. What cannot be told is an error that
 * says which option tells it. */
bool options_from_checkpoint(struct diag *d, struct arena *a, const struct model *m, struct checkpoint *c,
                             const struct fill_options *fill, const struct given_options *given,
                             struct prepare_options *p, struct strbuf *report) MUST_USE;

#endif
