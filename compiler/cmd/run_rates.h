/* run --save FILE.safetensors: the learning rate that a schedule gives to the next step, as PyTorch keeps it beside the
 * one that it began with. */
#ifndef STEPC_CMD_RUN_RATES_H
#define STEPC_CMD_RUN_RATES_H

#include "base/map.h"
#include "model/model.h"

/* Adds to *values, variable -> const struct tensor *, what the training entries compute of these alone and call
 * "scheduled_rate"; nothing where there is none. */
void run_rates_add(struct arena *a, const struct model *m, struct map *values);

#endif
