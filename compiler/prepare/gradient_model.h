/* An inference model becomes one that gives a gradient, for those who bring their own optimizer. */
#ifndef STEPC_PREPARE_GRADIENT_MODEL_H
#define STEPC_PREPARE_GRADIENT_MODEL_H

#include "model/model.h"

/* Does the main graph compute it? */
bool gradient_model_has(const struct model *m, const char *loss);

/* The main graph gives the scalar `loss`, and its gradient in each of `names` as an output NAME.gradient; nothing else,
 * and no training_info. Initializers among `names` become inputs. False after a report. */
bool gradient_model(struct diag *d, struct arena *a, struct model *m, const char *loss,
                    const str_list *names) MUST_USE;

#endif
