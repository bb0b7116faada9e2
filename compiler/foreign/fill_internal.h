/* What the files that fill a model share. */
#ifndef STEPC_FOREIGN_FILL_INTERNAL_H
#define STEPC_FOREIGN_FILL_INTERNAL_H

#include "foreign/fill.h"

/* What the update of one variable is made of. */
struct update_facts {
    const char *rate;           /* variable of the learning rate; NULL: none was found */
    double fixed_rate;          /* of an operator whose rate is a constant; NAN where it is none */
    const char *scheduled;      /* the rate times a factor; NULL: no factor stands between */
    const char *counter;        /* variable that counts the steps; NULL: the update reads none */
    bool descends;              /* it reads a gradient */
    bool decoupled;             /* the decay is taken from the weight, not added to the gradient */
    bool rectified;             /* RAdam */
    double dampening, nesterov; /* of the operator Momentum; NAN where there is none */
    checkpoint_numbers numbers; /* "beta1", "epsilon"..., as PyTorch calls them */
    VEC(double) constants;      /* all single numbers: equal ones share a name */
};

/* The training entries of a model, by name. */
struct updates {
    const struct model *model;
    struct arena *arena;
    struct map initializers; /* of all graphs: name -> struct model_initializer * */
    struct map bound;        /* variable -> output that becomes its value */
    struct map producers;    /* output of an algorithm -> struct model_node * */
    struct map slots;        /* "exp_avg fc1.weight" -> name of the variable, from operators */
    struct map states;       /* those variables */
    struct map counters;     /* variables that count steps -> what the first step has, int64_t * */
};

void updates_find(struct arena *a, const struct model *m, struct updates *out);
/* The variable that keeps PyTorch's `key` of a weight; NULL where there is none. `others`: what else PyTorch keeps. */
const char *updates_slot(const struct updates *u, const char *weight, const char *key, const named_tensors *others);
void updates_facts(const struct updates *u, const char *weight, struct update_facts *out);
/* Does the variable keep something for a weight, as "fc1.weight.m" does? */
bool updates_is_state(const struct updates *u, const char *variable);
/* Does some variable but weights and rates hold anything? */
bool updates_is_fresh(const struct updates *u);
/* What the counter has before the first step, in a model that a checkpoint has filled as well. */
int64_t updates_first_count(const struct updates *u, const char *counter);
/* How many steps it has counted with this value; -1 where that is none that it can have. */
int64_t updates_steps_counted(const struct updates *u, const char *counter, const struct tensor *now);

/* Weights of recurrent layers as the model has them, and with_optimizer what is kept for them, whose parameters get
 * names. (recurrent.c) */
bool checkpoint_join_recurrent(struct diag *d, struct arena *a, const struct model *m, struct checkpoint *c,
                               const struct fill_options *o, bool with_optimizer, struct strbuf *report) MUST_USE;

/* How the weights of TensorFlow and flax stand in the model, by what reads them. */
struct weight_ways {
    const struct checkpoint *checkpoint;
    struct map of_name; /* initializer -> enum weight_way, of all that read it */
};
enum weight_way { WAY_UNREAD, WAY_AS_IT_STANDS, WAY_OTHER, WAY_UNKNOWN };

/* Empty for other checkpoints. (kernels.c) */
void weight_ways_find(struct arena *a, const struct model *m, const struct checkpoint *c, struct weight_ways *out);
enum weight_way weight_way(const struct weight_ways *w, const char *name);

/* Kernels of convolutions as ONNX has them, from those of TensorFlow and flax, and what is kept for them: sizes,
 * inputs, outputs become outputs, inputs, sizes where only that fits, where what reads them says so, or where
 * --transpose names them. Square matrices that Gemm reads transposed are named in o->transpose. *of_file: the
 * checkpoint's name -> struct model_initializer *. (kernels.c) */
void checkpoint_lay_out_kernels(struct diag *d, struct arena *a, const struct map *of_file, struct checkpoint *c,
                                const struct weight_ways *ways, struct weight_options *o, struct strbuf *report);

/* The way back: what is named after the first of its parts becomes the parts, and so does what an optimizer keeps. */
void checkpoint_split_recurrent(struct arena *a, const struct model *m, const struct weight_options *o,
                                named_tensors *list);

/* Is the checkpoint's tensor the initializer's other way round? */
bool stands_transposed(const struct weight_options *o, const char *name, const struct tensor *in_file,
                       const struct tensor *in_model);

#endif
