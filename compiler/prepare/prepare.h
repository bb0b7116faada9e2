/* Preparation: an inference model becomes a training model. A training_info is added: an algorithm with a loss, one
 * Gradient node and an optimizer, and the bindings that store the new values. The main graph stays as it is, so that
 * what comes out is still the inference model; a Constant whose training is asked for by name becomes an initializer,
 * and what stands in functions and branches comes into the main graph (flatten.h).
 *
 *   y = Gemm(x, W, b)    ->   loss = SoftmaxCrossEntropyLoss(y, target)
 *                             W.gradient, b.gradient = Gradient<xs = ["W", "b"], y = "loss">(W, b)
 *                             W.new = Sub(W, Mul(learning_rate, W.gradient)) ...      W <- W.new, b <- b.new */
#ifndef STEPC_PREPARE_PREPARE_H
#define STEPC_PREPARE_PREPARE_H

#include "base/str.h"
#include "graph/import.h"
#include "prepare/groups.h"
#include "prepare/spec.h"

struct checkpoint;

enum loss_kind {
    LOSS_SOFTMAX_CROSS_ENTROPY,
    LOSS_NLL,
    LOSS_MSE,
    LOSS_L1,
    LOSS_HUBER,
    LOSS_BCE,
    LOSS_BCE_LOGITS,
    LOSS_OUTPUT, /* the model computes its loss itself */
    LOSS_COUNT
};

enum optimizer_kind {
    OPTIMIZER_SGD,
    OPTIMIZER_MOMENTUM,
    OPTIMIZER_NESTEROV,
    OPTIMIZER_ADAGRAD,
    OPTIMIZER_ADAM,
    OPTIMIZER_ADAMW,
    OPTIMIZER_AMSGRAD,
    OPTIMIZER_NADAM,
    OPTIMIZER_RADAM,
    OPTIMIZER_ADAMAX,
    OPTIMIZER_LAMB,
    OPTIMIZER_LION,
    OPTIMIZER_ADAFACTOR,
    OPTIMIZER_RMSPROP,
    OPTIMIZER_COUNT
};

/* --schedule: factors for the learning rate, by the number of steps done before. See learning_rate.c. */
enum schedule_kind {
    SCHEDULE_CONSTANT,
    SCHEDULE_STEP,
    SCHEDULE_MULTISTEP,
    SCHEDULE_EXPONENTIAL,
    SCHEDULE_COSINE,
    SCHEDULE_LINEAR,
    SCHEDULE_ONECYCLE,
    SCHEDULE_COUNT
};

struct rate_schedule {
    enum schedule_kind kind;
    double every, gamma;         /* step; gamma: multistep and exponential, too */
    spec_list milestones;        /* multistep */
    double steps, floor, warmup; /* cosine, linear; steps: onecycle, too */
    double pct_start, div_factor, final_div_factor, linear, three_phase; /* onecycle */
};

/* Hyper-parameters by their ONNX attribute names; which of them an optimizer has, and their defaults, is in
 * optimizer_parse(). */
struct optimizer {
    enum optimizer_kind kind;
    double alpha, beta, epsilon, norm_coefficient, norm_coefficient_post, decay_factor;
    double beta1, beta2, weight_decay, decay_min_rank; /* adamw and its relatives */
    double amsgrad;                                    /* adamw: divide by the largest V so far */
    double momentum_decay;                             /* nadam */
    double epsilon1, epsilon2, clip_threshold, decay_rate, scale_parameter, relative_step, warmup_init; /* adafactor */
    double initial_accumulator;                        /* adagrad */
    double momentum, centered;                         /* rmsprop */
};

enum initialize_kind { INITIALIZE_KEEP, INITIALIZE_HE, INITIALIZE_GLOROT };

/* BatchNormalization of the main graph in a step: with the statistics of the batch, or with the stored ones. */
enum batchnorm_kind { BATCHNORM_TRAIN, BATCHNORM_FROZEN };

/* --batchnorm: for those that the pattern names, or all. */
struct batchnorm_choice {
    enum batchnorm_kind kind;
    const char *glob; /* NULL: all */
};
typedef VEC(struct batchnorm_choice) batchnorm_choices;

/* What running statistics start from: what the model has, or 0 and 1. AUTO resets those that the export of a fresh
 * network seems to have moved, see spoiled_statistics(). */
enum statistics_kind { STATISTICS_KEEP, STATISTICS_RESET, STATISTICS_AUTO };

struct prepare_options {
    enum loss_kind loss;
    const char *output;                 /* tensor that the loss reads; NULL: the first output */
    const char *target;                 /* NULL: "target" */
    enum dtype target_type;             /* DTYPE_UNDEFINED: what the loss usually takes */
    int64_t class_axis;                 /* 1 is ONNX's */
    const int64_t *ignore_index;        /* NULL: none */
    double label_smoothing;             /* 0: none */
    const struct tensor *class_weights; /* NULL: none */
    const char *sample_weight;          /* name of the input; NULL: none */
    struct optimizer optimizer;
    double learning_rate;            /* < 0: the optimizer's usual one */
    const char *learning_rate_input; /* NULL: the rate is a variable, `learning_rate` */
    int64_t first_step;              /* < 0: the optimizer's usual one */
    str_list train, freeze;
    group_list groups; /* without files, see group_read_files() */
    str_list detach; /* tensors through which no gradient flows, besides those that the file names */
    double clip_norm, clip_value; /* 0: none */
    double ema;                   /* share of the old average that --ema keeps; 0: no averages */
    enum initialize_kind initialize;
    bool gradients;
    struct rate_schedule schedule;
    const char *entry;  /* what the entry that trains is called; NULL: "train", a model's only one is step() */
    bool split;         /* entries accumulate and apply instead of one step */
    int64_t shards;     /* entries apply_0, apply_1 .. instead of one apply; 0, 1: none */
    int64_t devices;    /* annotations for so many; 0: none */
    int64_t accumulate; /* parts that a step goes through its batch in; 0, 1: no parts */
    bool evaluate;      /* an entry that computes loss and accuracy and changes nothing */
    batchnorm_choices batchnorm; /* the last that fits decides; none: see statistics.c */
    enum statistics_kind statistics;
    bool train_padding;     /* rows of zeros in embeddings are trained like the others */
    bool unbiased_variance; /* running variances as PyTorch has them: of a batch of n, n / (n - 1) times the variance */
    str_list untie, tie;   /* see tie.h */
    bool warns_later;       /* of single values: who compiles says it, with sizes that are known */
    int64_t batch;          /* in the place of the example's, see rebatch.h; 0: as it is */
    const char *weights_from; /* a checkpoint, see input_weights.h; NULL: none */
    const char *names_from; /* a checkpoint, see names.h; NULL: none */
    const struct checkpoint *from; /* names that were made up may be found in it; NULL: none */
    bool fixed_inputs;      /* inputs have become constants, see fix_inputs.h */
    bool chosen_outputs;    /* the main graph is cut, see outputs.h */
    bool recipe;            /* no stored value of a weight stays, see recipe.h */
    const struct import_options *import; /* --dim, --shape */
};

/* By name; false after an error with what comes close. */
bool loss_parse(struct diag *d, const char *name, enum loss_kind *out) MUST_USE;
/* "adam:alpha=0.9,epsilon=1e-6" */
bool optimizer_parse(struct diag *d, struct arena *a, const char *text, struct optimizer *out) MUST_USE;

/* The number of a key that the optimizer has; NULL where it has none of that name. */
double *optimizer_key(struct optimizer *o, const char *name);

/* "frozen", "train:bn1.*" */
bool batchnorm_parse(struct diag *d, struct arena *a, const char *text, struct batchnorm_choice *out) MUST_USE;

/* "cosine:steps=1000,floor=0.1" */
bool schedule_parse(struct diag *d, struct arena *a, const char *text, struct rate_schedule *out) MUST_USE;

/* Adds the training_info to m. What is trained, and why, is added to *report as text. On failure m is of no further
 * use. */
bool prepare_model(struct diag *d, struct arena *a, struct model *m, const struct prepare_options *o,
                   struct strbuf *report) MUST_USE;

#endif
