/* Dependency files: a rule of make that says of which files an output was made. */
#ifndef STEPC_CMD_DEPFILE_H
#define STEPC_CMD_DEPFILE_H

#include "cmd/cmd.h"

/* Writes "OUTPUTS: INPUTS". Outputs stand as they were typed, inputs as absolute paths: whoever includes the file may do so
 * from another folder. Spaces, '#' and '$' in names are escaped; a line break cannot be, and is an error. */
bool depfile_write(struct diag *d, struct arena *a, const char *path, const text_list *outputs, const text_list *inputs) MUST_USE;

#endif
