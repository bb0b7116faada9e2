/* Dependency files: a rule of make that says of which files an output was made. */
#ifndef STEPC_CMD_DEPFILE_H
#define STEPC_CMD_DEPFILE_H

#include "base/file.h"
#include "cmd/cmd.h"
#include "model/model.h"

/* --depfile and --depfile-target */
extern const struct option_spec depfile_options[];

/* "OUTPUTS: INPUTS", to be written where --depfile says; without it, a file without a path. Inputs are the model, its
 * external data, the files that options name and those of checkpoints. Outputs stand as they were typed, or as
 * --depfile-target says; inputs as absolute paths, since whoever includes the file may do so from another folder. What
 * make takes for more than a part of a name is escaped; a line break cannot be, and is an error. */
bool make_depfile(struct session *s, const struct options *o, const char *path, const struct model *m,
                  str_list outputs, struct file_content *out) MUST_USE;

#endif
