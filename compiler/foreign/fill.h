/* A checkpoint's values into the initializers of a model: weights by name, what the optimizer remembers into the
 * variables of a training entry, step count and learning rates; so that training goes on where the framework stopped.
 * Variables are known by what `stepc prepare` calls them, or by their place in an operator of ai.onnx.preview.training.
 */
#ifndef STEPC_FOREIGN_FILL_H
#define STEPC_FOREIGN_FILL_H

#include "foreign/checkpoint.h"
#include "model/weights.h"

/* In the metadata of a training model that a checkpoint has filled: how many steps that had made. */
#define METADATA_STEPS_MADE "stepc.steps_made"
/* What its counters have counted of them, where that is another number. */
#define METADATA_STEPS_COUNTED "stepc.steps_counted"

struct fill_options {
    struct weight_options weights; /* partial: what is missing or does not fit is a warning, here too */
    str_list parameters;           /* names of the optimizer's parameters in its order; empty: found out */
    str_list reset;                /* "optimizer" or patterns of names: they stay as they are */
    struct map sums;               /* variables that are sums over samples: 0 where frameworks save */
    const int64_t *steps;          /* so many were made, whatever the checkpoint says; NULL: it says it */
};

struct filled {
    struct map set;    /* initializers by name -> struct tensor *; the caller gives it an arena */
    int64_t steps;     /* done so far; 0 where the checkpoint does not say */
    named_tensors own; /* what `stepc run` wrote beside */
    bool nothing;      /* no weight, nothing that the optimizer keeps and no rate was set: the count alone at most */
};

/* Under which key a group has the learning rate that the variable is to hold: with a schedule in the model that before
 * its factor, which of OneCycleLR is the largest. */
const char *checkpoint_rate_key(const checkpoint_numbers *group, bool scheduled);

/* Steps made: what was `said`, else what the optimizer has counted, else the file; NAN where nobody has. (counts.c) */
double checkpoint_steps(const struct checkpoint *c, const int64_t *said);
/* How often the schedule was called, or NAN. */
double checkpoint_calls(const struct checkpoint *c);
/* How many steps are made from one call of the schedule to the next: 1, or those of an epoch; NAN where it counts
 * epochs, and how many steps one has cannot be told. */
double checkpoint_stride(const struct checkpoint *c, const int64_t *said);

/* The parameters of the optimizer get names, if they have none. False after an error that says how to give them.
 * (order.c) */
bool checkpoint_name_parameters(struct diag *d, struct arena *a, const struct model *m, struct checkpoint *c,
                                const struct fill_options *o, struct strbuf *report) MUST_USE;

/* All of it. What is not simply taken is told in *report, lines of text; what the checkpoint lacks is an error, what
 * the model has no place for a warning. */
bool checkpoint_fill(struct diag *d, struct arena *a, struct model *m, struct checkpoint *c,
                     const struct fill_options *o, struct strbuf *report, struct filled *out) MUST_USE;

/* How many steps the model was through when a checkpoint filled it; 0 where none has, or it does not say. */
int64_t checkpoint_steps_of_model(const struct model *m);
/* How many of these its counters have counted. */
int64_t checkpoint_counted_of_model(const struct model *m);
/* What the model's counter of steps has counted in these values (variable -> const struct tensor *), whoever has made
 * the steps; the largest of several. entry: that of its calls; NULL: of any. *counter: its name; NULL where the entry
 * moves none on, or the values have none. */
int64_t checkpoint_steps_counted(struct arena *a, const struct model *m, const struct model_training *entry,
                                 const struct map *values, const char **counter);

#endif
