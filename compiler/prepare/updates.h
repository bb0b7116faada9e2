/* The updates of optimizers: what optimizers.c, which reads the command line, and the files of updates share. Internal
 * to prepare/. */
#ifndef STEPC_PREPARE_UPDATES_H
#define STEPC_PREPARE_UPDATES_H

#include "prepare/prepare_internal.h"

/* A learning rate, and the scalars that an update makes of it: in double, NULL until made. */
struct rate {
    const char *name; /* with its schedule */
    enum dtype dtype; /* of `name` */
    const char *scaled, *other;
};

struct updater {
    struct preparer *p;
    const struct optimizer *o;   /* with what the tensor's groups say, too */
    struct rate *rates;          /* the common one, then those of groups */
    struct rate *rate;           /* of the tensor whose update is being written */
    const char *step;            /* T; NULL where nothing reads it */
    struct map casts;            /* scalar and type -> its name in that type */
    const char *t;               /* T + 1 in double, the steps done when this one is; NULL until made */
    const char *first, *second;  /* 1 - beta1^t, 1 - beta2^t in double; NULL until made */
    const char *root_correction; /* 1 / sqrt(1 - beta2^t) likewise */
    const char *momentum, *next_momentum, *product; /* nadam, likewise */
    const char *is_rectified, *rectification;       /* radam, likewise */
    const char *kept_share, *new_share;             /* adafactor, likewise */
};

/* One update; the gradient has been clipped. */
typedef void update_rule(struct updater *u, const struct trainable *t);
update_rule update_sgd, update_rmsprop, update_lion;                              /* updates.c */
update_rule update_adamw, update_nadam, update_radam, update_adamax, update_lamb; /* updates_adam.c */
update_rule update_adafactor;                                                     /* updates_adafactor.c */

/* ---- updates.c: what they are made of ---- */

/* A node of t's update: its output is called t.suffix. */
#define own_op(u, t, suffix, op, ...) add_op((u)->p, suffixed((u)->p, (t)->name, suffix), op, __VA_ARGS__)
/* A hyper-parameter in t's type, rounded to binary32 as an ONNX attribute is; in double. */
const char *parameter(struct updater *u, const struct trainable *t, const char *name, double x);
const char *double_number(struct updater *u, const char *name, double x);
/* The scalar x, of type `from`, in type `to`: one Cast for all that ask. */
const char *scalar_in(struct updater *u, const char *wish, const char *x, enum dtype from, enum dtype to);
/* The learning rate in t's type; in double. */
const char *rate_for(struct updater *u, const struct trainable *t);
const char *rate_in_double(struct updater *u);
/* T + 1 in double. */
const char *steps_done(struct updater *u);
/* A tensor like t, part of the state: of zeros, but Adagrad's sums may start elsewhere. */
const char *add_state(struct updater *u, const struct trainable *t, const char *suffix);
/* G + norm_coefficient X, G alone without one. */
const char *with_norm(struct updater *u, const struct trainable *t);
bool is_decayed(const struct updater *u, const struct trainable *t);
/* X (1 - R weight_decay), X alone where t is spared. */
const char *with_decay(struct updater *u, const struct trainable *t);
/* name.new = decay x + (1 - decay) y */
const char *mean_of(struct updater *u, const struct trainable *t, const char *name, const char *decay_name,
                    double decay, const char *x, const char *y);
/* state' = decay state + (1 - decay) x; bound. */
const char *running_mean(struct updater *u, const struct trainable *t, const char *suffix, const char *decay_name,
                         double decay, const char *x);
/* X' = from - step; bound. */
void bind_step(struct updater *u, const struct trainable *t, const char *from, const char *step);

/* ---- average.c ---- */

/* What --ema keeps, of the new values, which are bound. */
void add_averages(struct updater *u);

#endif
