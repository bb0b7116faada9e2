/* An inference model becomes one that gives a gradient, for those who bring their own optimizer. */
#ifndef STEPC_PREPARE_GRADIENT_MODEL_H
#define STEPC_PREPARE_GRADIENT_MODEL_H

#include "base/map.h"
#include "model/model.h"

/* Does the main graph compute it? */
bool gradient_model_has(const struct model *m, const char *loss);

/* What the model's training leaves alone of a weight: it multiplies the gradient by zeros and ones, as prepare writes
 * it for the padding of an embedding. *out: name -> const struct tensor *, of those of `names` for which it does; a
 * note says so. */
void gradient_masks(struct diag *d, const struct model *m, const str_list *names, struct map *out);

/* The main graph gives the scalar `loss`, and its gradient in each of `names`, by `masks`, as an output NAME.gradient;
 * nothing else, and no training_info. Initializers among `names` become inputs. False after a report. */
bool gradient_model(struct diag *d, struct arena *a, struct model *m, const char *loss, const str_list *names,
                    const struct map *masks) MUST_USE;

#endif
