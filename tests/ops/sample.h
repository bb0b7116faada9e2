/* One operator sample (struct op_sample) while it is being tested: read, run by every engine, differentiated. */
#ifndef STEPC_TESTS_SAMPLE_H
#define STEPC_TESTS_SAMPLE_H

#include "engine/engine.h"

struct sample_test {
    const struct op_def *def;
    const struct op_sample *sample;
    const char *cc; /* compiler and flags of the generated engine */
    uint64_t seed;
    bool small; /* generated code is that of --optimize size */
    struct arena arena;
    struct diag diag;
    const char *reason; /* why it failed; NULL while it has not */
    bool checked_error, checked_value, checked_gradient, checked_second; /* what was done, for the counts */
};

/* Records the first reason; returns false. */
bool sample_fail(struct sample_test *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ---- models (sample_model.c) ------------------------------------------------------------------------------------- */

/* The sample's text with a header. A new model with each call: the functions below add to it. */
bool sample_read(struct sample_test *t, struct model **out) MUST_USE;
/* Does the text name an input that a gradient may be asked for, and an output that carries one? */
bool sample_has_gradient(const struct model *m);

struct derivative_options {
    int order; /* 1 or 2 */
    /* Floating inputs are fed as double and gradients come out as double, with casts between: together with
     * ARITHMETIC_DOUBLE, which does not round, float samples are differentiated in double. */
    bool wide;
};

/* Adds loss = the sum over all floating outputs of sum(output * cotangent), the cotangents being new inputs, and the
 * outputs "loss" and "d_INPUT" for each differentiable input. For order 2 also loss_2 = the sum over inputs of
 * sum(d_INPUT * cotangent), and the outputs "loss_2" and "d2_INPUT". */
void sample_differentiate(struct arena *a, struct model *m, const struct derivative_options *o);

/* ---- inputs (sample_feed.c) -------------------------------------------------------------------------------------- */

enum feed_kind {
    FEED_DRAWN,  /* as sample->feed says, away from zero, where kinks are */
    FEED_SPECIAL /* zeros of both signs, infinities, NaN, the largest and smallest numbers, among ordinary ones */
};

/* Values for the inputs of a graph, by their names: the same name gets the same numbers in every graph. */
const struct tensor **sample_feed(struct sample_test *t, const struct graph *g, enum feed_kind kind);
/* A random number with the distribution N(0, 1), as a function of its arguments. */
double sample_normal(uint64_t seed, const char *name, int64_t i);

/* ---- checks (sample_check.c) ------------------------------------------------------------------------------------- */

/* Is the gradient of the sample, whose model this is, asked for? */
bool sample_is_differentiated(const struct sample_test *t, const struct model *m);
/* Everything that concerns one sample; false after sample_fail(). */
bool sample_check(struct sample_test *t);

/* ---- checks (sample_axes.c) -------------------------------------------------------------------------------------- */

/* The rule that says which axes run together, of the sample whose model this is; false after sample_fail(). */
bool sample_check_axes(struct sample_test *t, const struct model *m);

/* ---- checks (sample_expand.c) ------------------------------------------------------------------------------------ */

/* The same of what `stepc expand` makes of it, at several opsets. */
bool sample_check_expanded(struct sample_test *t);
/* Writes the plain model and its numbers to a new folder: model.onnx, input_NAME.npy, output_NAME.npy; and with all
 * derivatives to FOLDER_derived. Nothing where the default opset is too old. */
bool sample_write_expanded(struct sample_test *t, const char *folder);

#endif
