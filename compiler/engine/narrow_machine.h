/* What a machine of 16 bits can do. */
#ifndef STEPC_ENGINE_NARROW_MACHINE_H
#define STEPC_ENGINE_NARROW_MACHINE_H

#include "emit/emit.h"

/* Refuses what addresses of 16 bits don't reach, and what needs a double of 64 bits. True for other machines, and where
 * `machine` is NULL: any. */
bool narrow_machine_takes(struct diag *d, const struct program *p, const struct target *machine,
                          const struct emitted *text) MUST_USE;

#endif
