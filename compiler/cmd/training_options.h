/* The options that make a training model of an inference model: what `prepare` takes, and `compile`
 * before it goes on. */
#ifndef STEPC_CMD_TRAINING_OPTIONS_H
#define STEPC_CMD_TRAINING_OPTIONS_H

#include "cmd/cmd.h"
#include "prepare/prepare.h"

extern const struct option_spec training_options[];

/* Is any of them given, but for --quiet? */
bool training_options_given(const struct options *o);
/* Everything but files and --dim, --shape; errors are wrong usage. */
bool read_training_options(struct session *s, const struct options *o, struct prepare_options *out) MUST_USE;
/* Reads the files that the options name and prepares the model; what will be trained is added to *report. */
bool prepare_as_told(struct session *s, const struct options *o, struct prepare_options *p,
                     const struct import_options *import, struct model *m, struct strbuf *report) MUST_USE;
/* Reads the model; with `p`, prepares it by way of the bytes that `stepc prepare` would write: what comes out is what
 * the two commands give, the model's digest too. Warns of --dim and --shape that name nothing in it. */
bool read_prepared_model(struct session *s, const struct options *o, struct prepare_options *p,
                         const struct import_options *import, const char *path, struct strbuf *report,
                         struct model **out) MUST_USE;

#endif
