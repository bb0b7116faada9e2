/* The state of a training model as a checkpoint for PyTorch, in .safetensors: weights under their names, and
 *
 *   optimizer.state.NAME.exp_avg        what the optimizer keeps for weight NAME, as PyTorch calls it
 *   optimizer.state.NAME.step           float, the steps that the model has counted; where it counts none, `steps`
 *   optimizer.param_groups.NAME.lr      double, of the next step; under a schedule also initial_lr, what it begins
 *                                       with; and eps, beta1... as far as the model's update says them
 *   stepc.run_steps, stepc.random_...   what `stepc run` goes on with
 *
 * the names that torch.distributed.checkpoint gives to flattened states. checkpoint_read() reads it. */
#ifndef STEPC_FOREIGN_GIVE_H
#define STEPC_FOREIGN_GIVE_H

#include "base/map.h"
#include "model/weights.h"

#define GIVEN_OWN "stepc."
#define GIVEN_STEPS "stepc.run_steps"

/* values: variable -> const struct tensor *, and the same of rates that a schedule has changed ("scheduled_rate"...),
 * by the names of the outputs; initializers without one are taken from the model, and those whose value is NULL
 * are left out. own: tensors that begin with GIVEN_OWN. What PyTorch has no name for is a warning. */
bool checkpoint_give(struct diag *d, struct arena *a, const struct model *m, const struct map *values,
                     const named_tensors *own, int64_t steps, const struct weight_options *o,
                     const char *path) MUST_USE;

#endif
