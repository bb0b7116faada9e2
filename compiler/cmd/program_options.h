/* What compile and inspect have in common: the options that decide which program it is, and so what memory it needs. */
#ifndef STEPC_CMD_PROGRAM_OPTIONS_H
#define STEPC_CMD_PROGRAM_OPTIONS_H

#include "cmd/cmd.h"
#include "engine/pipeline.h"

extern const struct option_spec program_options[];

/* Sets what the options say in both; their other members stay. What is wrong, also in what goes
 * together, is reported. */
bool read_program_options(struct diag *d, const struct options *o, struct pipeline_options *pipeline,
                          struct emit_options *emit);

#endif
