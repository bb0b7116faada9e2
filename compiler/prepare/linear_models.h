/* Linear models of ai.onnx.ml (ops/ml_linear.c) keep their weights in attributes, where nothing trains them. Before
 * preparation looks at a model, they become what they mean in operators of ONNX, with weights that are initializers:
 *
 *   Y = LinearRegressor<coefficients, intercepts>(X)   ->   Y = Gemm(X, NAME.coefficients, NAME.intercepts)
 *
 * A classifier's scores likewise, with Sigmoid or Softmax behind them, and its label as Gather(labels, ArgMax). Labels
 * that are strings are not made: nothing may read them. A Normalizer that makes rows add up to 1 is nothing behind a
 * Softmax, and becomes Identity. What this does not cover stays as it is, and is not trained. */
#ifndef STEPC_PREPARE_LINEAR_MODELS_H
#define STEPC_PREPARE_LINEAR_MODELS_H

#include "prepare/edit.h"

/* Changes the main graph; says what was done in the edit's report. */
void spell_out_linear_models(struct edit *e);

#endif
