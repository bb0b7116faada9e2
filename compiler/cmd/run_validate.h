/* --validate: after each epoch, what the trained state gives on data that it was not trained on. */
#ifndef STEPC_CMD_RUN_VALIDATE_H
#define STEPC_CMD_RUN_VALIDATE_H

#include "cmd/run_data.h"
#include "cmd/run_table.h"

struct metric {
    const char *name; /* "validate.loss", "validate.accuracy" */
    size_t output;    /* of the entry: a scalar to be averaged, or the class scores */
    bool accuracy;
    double value;
    int64_t counted; /* labels so far, without those that the loss ignores */
    size_t column; /* in the table */
};

struct validation {
    struct data data;
    const struct entry *entry; /* evaluate, or infer where the model has no evaluate */
    const struct data_set *label; /* of the accuracy, or NULL */
    const int64_t *ignored; /* the label that its losses ignore, or NULL */
    int class_axis;
    VEC(struct metric) metrics;
};

/* The entry that validates: the name of one for the engine to make. */
const char *validation_entry(const struct model *m);
/* Settles what can be computed; an error if nothing can. */
bool validation_begin(struct session *s, const struct model *m, const struct program *p, struct validation *v) MUST_USE;
/* One line that says what is computed. */
const char *validation_text(struct arena *a, const struct validation *v);
/* Runs the entry over all whole batches and sets the metrics. */
bool validation_run(struct session *s, struct engine *e, struct validation *v) MUST_USE;

#endif
