/* What a program computes as it was told to, and nobody can have meant. */
#ifndef STEPC_ENGINE_TRAINING_FORMS_H
#define STEPC_ENGINE_TRAINING_FORMS_H

#include "graph/graph.h"

/* Warns of BatchNormalization and Dropout that infer() has in training form, and of batch statistics over a single
 * value for each channel. Reads a program before it is made canonical. */
void warn_of_training_forms(const struct program *p);

#endif
