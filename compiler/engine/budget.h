/* --ram: does what the program keeps and what a call works on fit a memory? */
#ifndef STEPC_ENGINE_BUDGET_H
#define STEPC_ENGINE_BUDGET_H

#include "emit/emit.h"

/* State and arena in at most `bytes`. Otherwise an error says what is missing, and notes what takes the most. */
bool budget_check(struct diag *d, const struct program *p, struct plan *const *plans, const struct emitted *text, size_t bytes) MUST_USE;

#endif
