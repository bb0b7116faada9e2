/* expand --state: a state that was saved becomes what a program's variables start from. */
#ifndef STEPC_CMD_EXPAND_STATE_H
#define STEPC_CMD_EXPAND_STATE_H

#include "cmd/cmd.h"
#include "expand/expand.h"

/* All variables must be there, and nothing else. Seed and counters of random numbers go into *o. */
bool expand_state(struct session *s, const char *path, struct program *p, struct expand_options *o) MUST_USE;

#endif
