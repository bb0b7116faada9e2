/* Weights of 16 bits are trained in float. An update is mostly smaller than the step from one number of 16 bits to the
 * next, and would be lost; so the variable is a float tensor, and the model computes with what a Cast rounds it to:
 *
 *   float16 w    y = MatMul(x, w)      ->      float w    w.float16 = Cast(w)   y = MatMul(x, w.float16)
 *
 * infer() gives the numbers that the model of 16 bits gives, which strip makes of it again. */
#ifndef STEPC_PREPARE_MASTERS_H
#define STEPC_PREPARE_MASTERS_H

#include "prepare/edit.h"

/* The initializer, of 16 bits, becomes float. What reads it reads the Cast, whose name is returned. */
const char *widen_initializer(struct edit *e, struct model_initializer *init);
/* Notes in the model's metadata which did. */
void remember_widened(struct arena *a, struct model *m, const str_list *names);
/* What was noted (NULL: nothing was) goes back to 16 bits, where the model is still so. A line of the report. */
void narrow_remembered(struct arena *a, struct model *m, const char *names, struct strbuf *report);

#endif
