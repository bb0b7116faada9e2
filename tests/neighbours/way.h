/* Ways in which a model is compiled: for a machine, or with an option. */
#ifndef STEPC_TESTS_WAY_H
#define STEPC_TESTS_WAY_H

#include "engine/pipeline.h"

#include <stdio.h>

struct way {
    struct pipeline_options pipeline; /* its import.dims is the caller's */
    struct emit_options emit;
};

/* No option; `name` is the model's. */
struct way way_usual(const char *name);
/* Options, and machines behind them. */
size_t way_option_count(void);
size_t way_count(void);
/* Option number % way_count(); its name. */
const char *way_take_option(struct way *w, uint64_t number);
/* A hash of the C and one of its header, or the errors. */
void way_print(FILE *out, struct diag *d, struct arena *a, const struct model *m, const struct way *w);

#endif
