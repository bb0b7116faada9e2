/* Checkpoints of frameworks in one form: weights by name, what an optimizer remembers by PyTorch's numbers, its groups,
 * its schedule. From a file of torch.save, .npz, .safetensors (also as stepc writes it, foreign/give.h), a folder as
 * Hugging Face's Trainer writes it, a checkpoint of TensorFlow, or what flax writes as msgpack.
 * Spec: torch/optim/optimizer.py (state_dict), torch/optim/lr_scheduler.py, transformers/trainer.py. */
#ifndef STEPC_FOREIGN_CHECKPOINT_H
#define STEPC_FOREIGN_CHECKPOINT_H

#include "base/map.h"
#include "base/str.h"
#include "model/model.h"
#include "model/safetensors.h"

struct checkpoint_number {
    const char *key;
    double value;
};
typedef VEC(struct checkpoint_number) checkpoint_numbers;

/* One that the optimizer updates, in the optimizer's order. */
struct checkpoint_parameter {
    const char *name; /* NULL: the checkpoint does not say it */
    size_t group;
    named_tensors state; /* "exp_avg"... */
    double steps;        /* NAN: not counted */
};

/* "lr", "weight_decay", "beta1" and "beta2" for betas, truths as 0 and 1... */
struct checkpoint_group {
    checkpoint_numbers numbers;
    size_t count; /* parameters */
};

struct checkpoint {
    const char *path;
    str_list files; /* that were opened: of a folder, or of tensors in several files, more than one */
    named_tensors weights;
    str_list aliases; /* names in it whose tensor is that of a name before them: tied weights */
    bool ordered;     /* weights are in the order of the network's registration, as state_dict() has them */
    str_list other_names; /* what the weights are called as well, each at its place; or none of them */
    bool channels_last;   /* kernels are sizes, inputs, outputs, as TensorFlow and flax have them */
    bool turned_around;   /* those of transposed convolutions are like the others, and turned around: flax's */
    bool has_optimizer;
    bool anonymous; /* which optimizer it was is not in it */
    VEC(struct checkpoint_parameter) parameters;
    VEC(struct checkpoint_group) groups;
    bool has_schedule;
    bool schedule_waits;         /* for a loss that no longer falls: it goes by epochs */
    const char *schedule_name;   /* as "StepLR", by the keys of its state; NULL: none that is known */
    checkpoint_numbers schedule; /* all numbers of its state; "base_lrs" and "_last_lr" as the first of the list */
    VEC(double) milestones;
    double steps, most_steps; /* that the file itself counts, and that it was to make; NAN: it does not say */
    double epochs;            /* "epoch", or NAN */
    named_tensors own;        /* what `stepc run` has written beside: "stepc.run_steps"... */
    str_list rest;            /* what is there beside: "'epoch' (3)" */
    str_list notes;           /* what was made of it, for the report */
};

/* The number under a key; `fallback` where there is none. */
double checkpoint_number(const checkpoint_numbers *list, const char *key, double fallback);

/* Is it a folder, or does it begin or end like a file that checkpoint_read() reads? */
bool checkpoint_is_one(const char *path);
/* `m`: the model that it is read for, where the files are noted, too; or NULL. What is found by a name inside the
 * checkpoint must be a regular file, since nobody has typed that name; links to those are followed, as folders of
 * Hugging Face's cache consist of them. */
bool checkpoint_read(struct diag *d, struct arena *a, const char *path, struct model *m,
                     struct checkpoint *out) MUST_USE;
/* One file, from memory; the end of `path` says of which kind. */
bool checkpoint_parse(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                      struct checkpoint *out) MUST_USE;

#endif
