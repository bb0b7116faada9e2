/* Numbers as C text that reads back to the same bits. */
#ifndef STEPC_EMIT_NUMBER_H
#define STEPC_EMIT_NUMBER_H

#include "tensor/tensor.h"

/* "0.1f", "1e-30", "-3", "INT64_MIN"-safe; infinities and NaN as STEPC_INF / STEPC_NAN expressions of the dtype. */
const char *number_float(struct arena *a, enum dtype dtype, double x);
const char *number_int(struct arena *a, enum dtype dtype, int64_t x);
const char *number_element(struct arena *a, const struct tensor *t, int64_t i);
/* The same into memory of the caller; returns the length. */
#define NUMBER_MAX 40
size_t number_text(char text[NUMBER_MAX], const struct tensor *t, int64_t i);

#endif
