/* Shared by the files that prepare a model: prepare.c (frame, Gradient, bindings), algorithm.c (writing nodes),
 * trainables.c, losses.c, optimizers.c, initialization.c. */
#ifndef STEPC_PREPARE_PREPARE_INTERNAL_H
#define STEPC_PREPARE_PREPARE_INTERNAL_H

#include "prepare/batch_axis.h"
#include "prepare/edit.h"
#include "prepare/known_names.h"
#include "prepare/prepare.h"

#define PREVIEW_TRAINING "ai.onnx.preview.training"

/* Nodes in a row that only move elements: no network has as many, and who looks through all of them at each of many
 * nodes would take forever with a file made for that. */
enum { MOST_MOVES = 100 };

enum trainable_role { TRAINABLE_WEIGHT, TRAINABLE_EMBEDDING, TRAINABLE_BIAS, TRAINABLE_SCALE, TRAINABLE_OTHER };

/* Which statistics a BatchNormalization has in a step, and why. */
enum statistics_form {
    STATISTICS_OF_BATCH,
    STATISTICS_OWN, /* that the network computes, in infer() too */
    STATISTICS_FROZEN_ASKED,
    STATISTICS_FROZEN_EXPORT,
    STATISTICS_FROZEN_PART, /* where nothing is trained */
    STATISTICS_FORMS
};

/* Where fan-in and fan-out stand in a weight's shape. */
enum fan_layout {
    FAN_NONE,
    FAN_IN_OUT,        /* MatMul: [..., in, out] */
    FAN_OUT_IN,        /* Gemm with transB: [out, in] */
    FAN_OUT_IN_KERNEL, /* Conv: [out, in, kernel...] */
    FAN_IN_OUT_KERNEL  /* ConvTranspose: [in, out, kernel...] */
};

/* Zeros that stay zeros in a tensor that is trained. */
struct held {
    struct tensor *trained; /* 1 where it is trained, 0 where not; the gradient's shape holds it; NULL: all is */
    const char *what;       /* "row 0, the padding: ..." */
};

struct trainable {
    const char *name;
    const struct tensor *tensor;
    enum trainable_role role;
    enum fan_layout layout;
    const char *why;      /* "weight of Gemm 'fc1'" */
    const char *gradient; /* as the update reads it: clipped */
    const char *sum;      /* --split: the variable that adds it up; NULL: none */
    struct held held;     /* what of it has no gradient */
    const char *mask;     /* held.trained in the algorithm; NULL: not written yet */
    const char *average;  /* what --ema keeps of it; NULL: not written yet, or nothing */
    size_t shard;         /* --shards: whose entry updates it */
    size_t rate_group;    /* the --group that says its learning rate, from 1; 0: none */
    double learning_rate, weight_decay; /* what groups say; the latter NAN: as for all */
};

/* dtype and shape of a tensor of the main graph, symbols kept. */
struct tensor_type {
    enum dtype dtype;
    size_t rank;
    struct model_dim dims[SHAPE_MAX_RANK];
};

/* A loss = sum / weight that an algorithm may give. */
struct quotient {
    struct model_graph *algorithm;
    const char *sum, *weight;
};

/* --train or --freeze: patterns, and the lines of files of names. */
struct choice {
    str_list globs;
    const char *file;   /* the last one; NULL: none */
    str_list lines;    /* of all files */
    struct map listed;  /* initializers that they name */
    str_list missing;  /* lines that name none */
};

struct preparer {
    struct diag *diag;
    struct arena *arena;
    struct model *model;
    const struct prepare_options *options;
    struct strbuf *report;
    struct loc loc;
    struct edit edit; /* of the main graph, before the algorithm is written */
    int64_t opset;    /* of ai.onnx */
    struct model_graph *algorithm;
    struct model_training *training;
    struct map names;          /* every name of the main graph and of the algorithm */
    struct map producers;      /* value of the main graph -> struct model_node * */
    struct map inner_producers; /* the same of graphs inside its nodes */
    struct map ancestors;      /* values that the loss depends on */
    struct map constants;      /* initializers of the algorithm by dtype and value -> name */
    struct map symbols;        /* symbolic dimension -> const int64_t *, its provisional size */
    struct map in_training;    /* first output -> the node of the main graph that a step has in training form */
    struct map latest_statistics; /* running statistic -> const char *, its value behind the copies made so far */
    struct map detached;       /* values of the main graph through which no gradient flows */
    struct map copies;         /* values of the main graph -> their copies in what is being written */
    struct map statistics_forms; /* first output of a BatchNormalization -> enum statistics_form * */
    struct map statistics;     /* running means and variances of BatchNormalization */
    struct graph *graph; /* the main graph with provisional sizes; NULL if it could not be imported */
    const char *import_error;  /* why, then */
    const struct graph *larger; /* the same with other provisional sizes, once somebody has asked */
    bool larger_failed;
    VEC(struct trainable) trainables;
    enum dtype loss_dtype;
    const char *loss_output;         /* what the step's loss is called: "loss", if nothing else is */
    const char *loss_name;           /* the output that Gradient reads: mostly the same */
    const char *source, *loss_input; /* tensor that the user named, and the one that the loss reads */
    const char *main_loss;           /* loss_input as the main graph has it, not a copy */
    struct known_names known;        /* which are parameters and which are buffers, where the file says it */
    struct choice train, freeze;
    str_list lifted;        /* constants that became initializers */
    struct strbuf left_out; /* the first lines of the report: what is not trained */
    bool bypassed;                   /* a final activation stands between them */
    model_nodes score_nodes;         /* copies in the main graph that only the loss reads */
    struct map main_names;           /* names of the main graph alone */
    bool silent;                     /* what is written now has been reported already */
    bool counts_correct;             /* a class loss adds the output `correct` */
    bool sums; /* the loss is not written as a mean, but as loss_sum, which Gradient reads, and its divisor */
    const char *loss_sum, *loss_weight;
    VEC(struct quotient) left_losses; /* not written, since the main graph has a 'loss' */
    size_t shard, shard_count; /* --shards: which is being written; 0: there are none */
    model_pairs moves; /* --devices: running statistic -> the variable that adds up how far parts would move it */
    model_pairs shared_scalars; /* of all shards, in the main graph: the wish for a name -> the name */
    size_t part, part_count;  /* --accumulate: which part of the batch is being written; 0 parts: all */
    struct map parts;         /* input -> const char **, its parts */
    struct model_dim batch;   /* of what is split into parts */
    struct batch_axes batch_axes;
    struct map batch_of_inputs; /* input of the algorithm -> const int *: its dimension of the batch */
    int loss_batch;             /* the same of what the loss compares, without its classes */
};

/* ---- algorithm.c: writing the algorithm ---- */

/* A name not taken yet: `wish`, `wish_2`... It is taken from now on. */
const char *fresh_name(struct preparer *p, const char *wish);
/* NAME.suffix */
const char *suffixed(struct preparer *p, const char *name, const char *suffix);
/* output = OP(inputs), "" omits one, NULL ends them. Returns the output's name, made from `wish`. */
#define add_op(p, wish, op, ...) add_op_of(p, wish, op, (const char *[]){__VA_ARGS__, NULL})
const char *add_op_of(struct preparer *p, const char *wish, const char *op, const char *const *inputs);
/* The node that was added last, for its attributes. */
struct model_node *last_node(const struct preparer *p);
/* A scalar constant, one initializer for equal ones. */
const char *add_scalar(struct preparer *p, const char *wish, enum dtype dtype, double x);
/* An int64 scalar, an initializer of its own. */
const char *add_int(struct preparer *p, const char *wish, int64_t x);
/* An initializer of its own. */
const char *add_tensor(struct preparer *p, const char *wish, struct tensor *t);
const char *add_cast(struct preparer *p, const char *wish, const char *x, enum dtype to);
/* ReduceSum, ReduceMean, ...: over all axes (axis < 0), or over one of a rank-2 tensor; the axes go. */
const char *add_reduce(struct preparer *p, const char *wish, const char *op, const char *x, int64_t axis);
const char *add_clip(struct preparer *p, const char *wish, const char *x, enum dtype dtype, double low, double high);
const char *add_reshape(struct preparer *p, const char *wish, const char *x, const int64_t *dims, size_t rank);
/* Declares an output of the algorithm; dims NULL with rank 0: a scalar. */
void declare_output(struct preparer *p, const char *name, enum dtype dtype, const struct shape *shape);
/* key <- value at the end of each step; the value becomes an output. */
void bind_update(struct preparer *p, const char *key, const char *value, const struct tensor *like);
/* What produces a value, of the main graph or of a graph inside a node; NULL: an input or an initializer. */
struct model_node *node_of(const struct preparer *p, const char *name);
/* The same, looking through Identity; NULL: an input or an initializer. */
struct model_node *producer_of(const struct preparer *p, const char *name);
bool is_op(const struct model_node *n, const char *op); /* of ONNX's own domain; false for NULL */
/* The tensor of a Constant node; NULL: the node is another, or its value is of another form. */
struct tensor *constant_of(const struct model_node *n);
const char *node_title(const struct model_node *n);     /* its name, or that of its first output */
int64_t attribute_int(const struct model_node *n, const char *name, int64_t fallback);
void say(struct preparer *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ---- prepare.c ---- */

/* What the entry is called that is `usual` without --entry: "train", "evaluate"... */
const char *entry_name(const struct preparer *p, const char *usual);
/* A training_info of its own, which is written from now on. It shares the main graph's names only. */
void begin_algorithm(struct preparer *p, const char *name);
/* The same with the main graph in training form, its loss (`sums`: what that is a quotient of) and the gradients. */
bool begin_training(struct preparer *p, const char *name, bool sums) MUST_USE;
/* NAME.gradient of y, for every trainable. */
void add_gradient(struct preparer *p, const char *y);
/* The training_info that was begun last becomes part of the model. */
void attach_algorithm(struct preparer *p);

/* Enters the producers; the running means and variances. */
void index_nodes(struct preparer *p);
void find_statistics(struct preparer *p);

/* The program of the model, or one entry of it, with sizes for its symbols: `factor` times what each has, and `other`
 * for all else. NULL: trial says why not. */
struct program *try_program(struct preparer *p, struct diag *trial, const char *entry, int64_t factor, int64_t other);
/* Does shape inference give this size whatever the sizes of the inputs are? */
bool has_fixed_size(struct preparer *p, const char *name, int axis, int64_t size);

/* ---- prepare_check.c ---- */

/* Warns of what compile would refuse; false after errors that check would give. */
bool check_prepared(struct preparer *p) MUST_USE;

/* ---- batch_shares.c ---- */

/* How many samples a call has, as a value of the algorithm; NULL: the loss depends on no input with samples. */
const char *count_samples(struct preparer *p, enum dtype dtype);
/* Annotations of --devices, once all entries are written. */
bool annotate_devices(struct preparer *p) MUST_USE;

/* ---- accumulate.c ---- */

/* The entries `accumulate` and `apply`. */
bool prepare_split(struct preparer *p) MUST_USE;
/* Which dimension of an input is the batch: of the main graph, or of the algorithm. */
int batch_dim_of_input(const struct preparer *p, const char *input, bool of_main);
/* NULL: the input has no such dimension. */
const struct model_dim *dim_of_input(const struct model_value_info *vi, int axis);
bool same_dim(const struct model_dim *a, const struct model_dim *b);
/* One step that goes through its batch in parts. */
bool prepare_accumulation(struct preparer *p) MUST_USE;
/* What the part of the batch that is being written has in the place of an input. */
const char *part_of_input(struct preparer *p, const char *input);

/* ---- trainables.c ---- */

/* Is some output of the node among the names? */
bool gives_one_of(const struct model_node *n, const struct map *names);
/* Adds to the marked names of the graph those that they depend on. */
void mark_ancestors(const struct model_graph *g, struct map *marked);
/* Enters what the loss depends on into ancestors. */
void find_ancestors(struct preparer *p);
bool choose_trainables(struct preparer *p) MUST_USE;
/* A Constant node of that name, if there is one, becomes an initializer. */
void lift_named_constant(struct preparer *p, const char *name);

/* The one initializer of that name, or that the name of a module around or inside of which only lengthens;
 * NULL: none, or several. */
const char *find_listed(const struct model_graph *g, const char *name);

/* ---- average.c ---- */

/* The initializer that --ema keeps for t; NULL without --ema. */
const char *average_of(struct preparer *p, struct trainable *t);
/* The entry infer_average of --ema. The main graph stays as it is from here on. */
void add_average_entry(struct preparer *p);

/* ---- groups.c ---- */

/* What --group says goes into the trainables, which are known. */
bool choose_groups(struct preparer *p) MUST_USE;
void say_groups(struct preparer *p);

/* What --train, --freeze and the file leave to be trained, and what they hold back: initializers. Says nothing. */
void find_trained(struct preparer *p, struct map *trained, struct map *held);
/* Adds what the node reads, graphs in it included. */
void names_read(const struct model_node *n, struct map *names);

/* ---- statistics.c ---- */

/* Chooses for every BatchNormalization of the main graph. */
bool choose_statistics(struct preparer *p) MUST_USE;
enum statistics_form statistics_form(const struct preparer *p, const struct model_node *n);
/* Does the network compute its mean or variance? Reads model and producers. */
bool has_own_statistics(const struct preparer *p, const struct model_node *n);
/* Is a step to use the statistics of its batch where nothing else is said? */
bool asks_for_batch_statistics(const struct prepare_options *o);
/* Warns of those that see one value for each channel. */
void warn_of_single_values(struct preparer *p);

/* ---- training_form.c: BatchNormalization and Dropout ---- */

/* With the inputs and outputs that it must have. */
bool is_batchnorm(const struct model_node *n);
bool is_training_batchnorm(const struct preparer *p, const struct model_node *n);

/* Did an export in training form run a fresh network, and so move its running statistics away from 0 and 1? How many
 * BatchNormalization nodes are concerned; 0: no. Reads model, producers and opset only. */
size_t spoiled_statistics(const struct preparer *p);
/* How many BatchNormalization nodes has PyTorch exported in training form, so that its run has moved their
 * statistics? Reads the same. */
size_t moved_statistics(const struct preparer *p);
/* What is to be said of BatchNormalization whose running statistics are no average of batches: momentum is 1 or 0.
 * NULL: nothing. only: has first outputs of the nodes that count; NULL: all do. Reads the model only. */
const char *unaveraged_statistics(const struct preparer *p, const struct map *only, int momentum);
/* Is some BatchNormalization or Dropout of the main graph in training form? Reads the same. */
bool has_training_form(const struct preparer *p);
/* The main graph takes inference form; says which nodes a step has in training form. */
void plan_training_form(struct preparer *p);
/* Copies the main graph into the algorithm from those nodes on; the loss reads the copy. */
void copy_in_training_form(struct preparer *p);
/* Does the loss depend on an output of the node? */
bool is_needed(const struct preparer *p, const struct model_node *n);
/* A node of the main graph, in the form that a step has, becomes one of the algorithm. Reads and enters copies. */
void copy_main_node(struct preparer *p, const struct model_node *n);
/* What the copies computed is stored into the running statistics. */
void bind_statistics(struct preparer *p);

/* ---- accumulate.c ---- */

/* Does the entry that is being written update the tensor? */
bool is_updated_here(const struct preparer *p, const struct trainable *t);
/* A scalar variable of the optimizer that all shards read, and none changes: its name. */
const char *shared_scalar(struct preparer *p, const char *wish, struct tensor *initial);

/* ---- losses.c ---- */

/* Adds the nodes from p->loss_input to the output "loss". */
bool add_loss(struct preparer *p) MUST_USE;
/* dtype and shape of a value of the main graph; an error if they are not known. */
bool tensor_type_of(struct preparer *p, const char *name, struct tensor_type *out) MUST_USE;

/* ---- bypass.c ---- */

/* What the loss reads when the tensor `source` is named: a final Softmax or Sigmoid is bypassed, and this is said. */
const char *bypass_activation(struct preparer *p, const char *source);

/* ---- inner_loss.c ---- */

/* Nodes of the main graph that only the loss reads, p->score_nodes, go into the algorithms that do. */
void take_scores_out(struct preparer *p);
/* Last of all: a loss that the model computes itself goes from the main graph into the algorithms. step_loss: what the
 * step calls its loss. */
void take_loss_out(struct preparer *p, const char *step_loss);

/* ---- optimizers.c, initialization.c ---- */

/* Reads the gradients of the trainables; the updates. */
bool add_optimizer(struct preparer *p) MUST_USE;
/* The factor of --schedule for the learning rate, a double, where `step` is T and `first` its first value; NULL for
 * constant. */
const char *add_schedule(struct preparer *p, const char *step, int64_t first);
void add_initialization(struct preparer *p);

#endif
