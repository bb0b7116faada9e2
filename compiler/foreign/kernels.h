/* How kernels of convolutions stand in checkpoints of TensorFlow and flax. */
#ifndef STEPC_FOREIGN_KERNELS_H
#define STEPC_FOREIGN_KERNELS_H

#include "tensor/tensor.h"

/* The kernel as ONNX has it, in that shape; NULL: the sizes are not those of one that stands as TensorFlow has them. */
const struct tensor *kernel_laid_out(struct arena *a, const struct shape *kernel, const struct tensor *theirs);

#endif
