/* Constant folding computes 1 - mix, exp(scale) and the like of a parameter that the network also reads as it is.
 * Trained as it stands, the result drifts apart from what it was computed of.
 *
 *   initializers mix, onnx::Mul_7 = 1 - mix    =>    onnx::Mul_7 = Sub(1, mix) */
#ifndef STEPC_PREPARE_COMPUTED_H
#define STEPC_PREPARE_COMPUTED_H

#include "base/vec.h"
#include "prepare/edit.h"

/* Initializer `tensor`, with a made-up name, is a function of `of`. */
struct computed {
    const char *tensor, *of;
    const char *text; /* "1 - 'mix'", "Exp of 'scale'" */
    const char *op;   /* of the node that gives it in every bit: "Sub" from 1, "Neg"; NULL: none is known to */
};
typedef VEC(struct computed) computed_list;

/* In files of PyTorch's exporter. */
void find_computed(struct edit *e, computed_list *out);
/* Those for which there is a node become its output; a warning names the others. */
void compute_again(struct edit *e);

#endif
