/* Random models of which one size, N, is left open: a function of the seed and nothing else. */
#ifndef STEPC_TESTS_RANGE_MODEL_H
#define STEPC_TESTS_RANGE_MODEL_H

#include "graph/graph.h"
#include "model/model.h"

struct range_model {
    const char *text;        /* the inference model, in the text syntax */
    const char *loss;        /* as `stepc prepare --loss` has it; NULL: it is not trained */
    const char *optimizer;
    struct size_range range; /* of N, up to 32 */
};

/* Slices, divisions and remainders of sizes, means over parts, gathers, concatenations, reshapes, normalizations, heads
 * with one output: some models have no program for some counts, or none with a range. */
struct range_model range_model(struct arena *a, uint64_t seed);

#endif
