/* Random models: a function of the seed and nothing else. */
#ifndef STEPC_TESTS_RANDOM_MODEL_H
#define STEPC_TESTS_RANDOM_MODEL_H

#include "model/model.h"

enum random_kind { RANDOM_INFERENCE, RANDOM_GRADIENT /* a Gradient node in the main graph */, RANDOM_TRAINING };

struct random_model {
    struct model *model;
    enum random_kind kind;
    /* No result jumps when an operand moves a little: only then may engines that round differently be compared. */
    bool smooth;
};

/* Every model is valid: what the compiler refuses is a failure of one of the two. */
struct random_model random_model(struct arena *a, uint64_t seed);

#endif
