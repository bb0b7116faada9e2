/* Is the emitted C what was promised: strict C99 without a warning? */
#ifndef STEPC_ENGINE_CHECK_C_H
#define STEPC_ENGINE_CHECK_C_H

#include "base/diag.h"
#include "emit/emit.h"

/* Compiles the text under the strictest warnings, as errors, in a temporary folder; `stem` is that of the two files.
 * cc: program and flags; NULL: $CC or "cc", with -O2. */
bool check_c(struct diag *d, struct arena *a, const char *stem, const struct emitted *text, const char *cc) MUST_USE;

#endif
