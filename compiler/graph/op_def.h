/* What an operator is: one record, in one file of ops/, found by its name. The table of all records is generated from
 * the list of files (op_table.c). */
#ifndef STEPC_GRAPH_OP_DEF_H
#define STEPC_GRAPH_OP_DEF_H

#include "graph/graph.h"

struct infer_ctx;   /* below */
struct axes_ctx;    /* graph/axes.h */
struct bounded_ctx; /* graph/bounded.h */
struct upgrade_ctx; /* graph/build.h */
struct expand_ctx;  /* graph/build.h */
struct downgrade_ctx; /* graph/downgrade.h */
struct grad_ctx;    /* train/adjoint.h */
struct eval_ctx;    /* eval/eval.h */
struct lower_ctx;   /* lower/lower.h */

#define DOMAIN_ONNX ""
#define DOMAIN_TRAINING "ai.onnx.preview.training"
#define DOMAIN_PREVIEW "ai.onnx.preview"
#define DOMAIN_ML "ai.onnx.ml"
#define DOMAIN_STEPC "stepc"

struct op_attr {
    const char *name; /* NULL ends the list */
    enum attr_type type;
    bool required;
    double float_default;
    int64_t int_default;
    const char *string_default;
    bool no_default; /* absent means absent: op_attr_*() must not be asked without node_attr() */
};

enum {
    PARAM_OPTIONAL = 1,
    PARAM_VARIADIC = 2,       /* last parameter only: one or more operands */
    PARAM_HETEROGENEOUS = 4,  /* variadic operands may differ in dtype */
    /* no part of gradients (docs/readings.md, R25): no number, derivative 0, or as .why says */
    PARAM_NOT_DIFF = 8,
    PARAM_OUTPUT_NOT_DIFF = 8, /* the same for outputs */
    PARAM_STATISTIC = 16       /* a running mean or variance: kept, but not trained */
};

struct op_param {
    const char *name;  /* NULL ends the list; the name of the specification, for messages */
    char type;         /* parameters with the same letter have the same dtype; 0: on its own */
    dtype_set dtypes;  /* allowed in the newest version */
    unsigned flags;
    const char *why;   /* PARAM_NOT_DIFF in spite of a derivative: why it is left out. Who trains through it is told. */
};

/* One version of the schema. `upgrade` brings a node of this form to the form of the next row; NULL: nothing to do.
 * That of the last row makes another operator of a node that is none of this.
 * attrs/inputs NULL: as in the next row (the last row: as in the op_def). */
struct op_version {
    int since; /* 0 ends the list; rows ascend */
    dtype_set dtypes; /* restricts parameters with type letter 'T'; 0: as the newest */
    const struct op_attr *attrs;
    const struct op_param *inputs, *outputs;
    bool (*upgrade)(struct upgrade_ctx *c);
    /* The way back, where a model is written for this version (graph/downgrade.h): brings a node of the form of the
     * next row to this form. NULL: nothing to do but to leave out attributes that have their default. */
    bool (*downgrade)(struct downgrade_ctx *c);
    bool deprecated;
};

/* A small model that proves the operator: tests/ops runs shape, value (both engines), gradient (central
 * differences) and error. */
struct op_sample {
    /* ONNX text syntax of one graph, opset: newest unless .opset; NULL ends the list. Inputs get numbers at run time:
     * what must be known when compiling is a Constant in it. */
    const char *text;
    int opset;
    const char *error; /* expected message (a part of it); NULL: must work */
    /* how inputs are drawn: NULL normal; "positive", "unit" (0..1), "index:N" per input, comma-separated */
    const char *feed;
    bool no_gradient;  /* skip the gradient check (kinks, integers) */
    double tolerance;  /* generated against interpreted, relative; 0: default */
};

/* A product of two matrices, as stored or transposed: rows x terms and terms x columns. */
struct op_product {
    int64_t rows, terms, columns;
    bool transposes_a, transposes_b;
};

/* What an integer result is where inputs are sizes (tensor/size.h): elements of inputs without PARAM_NOT_DIFF, moved;
 * dimensions of the input, or their product; what is computed of inputs 0 and 1, element by element. */
enum op_sizes {
    SIZES_UNKNOWN,
    SIZES_MOVED,
    SIZES_DIMS,
    SIZES_COUNT,
    SIZES_SUM,
    SIZES_DIFFERENCE,
    SIZES_PRODUCT,
    SIZES_QUOTIENT,
    SIZES_LEAST,
    SIZES_GREATEST,
    SIZES_EQUAL,
    SIZES_LESS,
    SIZES_GREATER,
};

struct op_def {
    const char *domain; /* NULL = ai.onnx */
    const char *name;   /* NULL ends a file's array */
    /* In formulas of comments: the sign between inputs 0 and 1 ("+"), "?:" for a choice by input 0, "ab" for matrices
     * side by side, "=" for what is input 0 in another shape or type. NULL: "Name(inputs)". */
    const char *written;
    const struct op_version *versions;
    const struct op_param *inputs, *outputs;
    const struct op_attr *attrs; /* NULL: none */

    /* Shapes and dtypes of all outputs, and what is wrong with the inputs. Runs whenever a node is built. */
    bool (*infer)(struct infer_ctx *c);
    /* Adjoints of the inputs as a rewrite. Never NULL by accident: grad_none where no input can carry a gradient
     * (Shape, Less), grad_undefined where it is a decision to refuse, NULL where `expand` gives the gradient. */
    bool (*grad)(struct grad_ctx *c);
    /* Composite operators: the node as other nodes. Used for gradients where grad is NULL and before lowering
     * where lower is NULL; eval is written all the same. A table is a constant (build_constant()); elementary functions
     * in it are eval_math() with ARITHMETIC_SAME, so that its bits do not depend on a C library. */
    bool (*expand)(struct expand_ctx *c);
    /* For `stepc expand`: the node as nodes of ai.onnx, of the opset that c->target names; those may be composites.
     * Asked of every node that has the rule; outputs that it leaves to their readers stay the node's. What is of the
     * domain stepc and has `lower` needs one, or is refused there. */
    bool (*plain)(struct expand_ctx *c);
    /* For `stepc expand` too: a composite that runtimes have a kernel for stays one, where nothing is differentiated.
     * NULL: none does; op_stays: always. */
    bool (*stays)(const struct node *n);
    /* Asked before a Gradient is taken: a node through which no gradient flows as it stands, but which together
     * with its producers is one that has a gradient (integers between floats), replaces itself. NULL: never.
     * Returns whether it did. */
    bool (*join)(struct expand_ctx *c);
    /* Asked before small kernels are made (--optimize size): a node replaces itself, or what reads it, by what takes
     * less memory, bits as they are. The interpreter computes it as it stands. NULL: never. */
    bool (*shrink)(struct expand_ctx *c);
    /* Plain evaluation: what generated code is compared with. Shares nothing with lower. */
    bool (*eval)(struct eval_ctx *c);
    /* Of an elementwise operator with jumps which the ends of an interval do not show: evaluates, in place of output 0,
     * the number of the continuous piece that an element is on (Mod: the whole quotient). NULL: there are none. */
    bool (*eval_piece)(struct eval_ctx *c);
    /* Kernels or views for the node. NULL for composites and for what never reaches lowering (Gradient). */
    bool (*lower)(struct lower_ctx *c);
    const struct op_sample *samples;
    /* An input that selects rows or classes: how many there are, for inputs that are made up; 0 where `input` does not
     * select. Whatever ends an entry where it is out of range has this, and 0 is always in range. NULL: no input
     * does. */
    int64_t (*selects_from)(const struct node *n, int input);
    /* An operator that multiplies inputs 0 and 1: how; false where input 0 is no matrix. NULL: it does not. */
    bool (*product)(const struct node *n, struct op_product *out);

    /* Sizes that follow from data, while a model is imported (graph/bounded.h). `sized_by_data`: asked before
     * inference; where a size of a result follows from content that is not known, the node becomes one whose results
     * have the largest size. NULL: no content says a size. `bounded`: an input is such a result; the rule says which
     * axis of the outputs is, or keeps what lies beyond the count out of them. NULL: elementwise and reshaping
     * operators by their flags below, the others refuse. */
    bool (*sized_by_data)(struct bounded_ctx *c);
    bool (*bounded)(struct bounded_ctx *c);

    /* Which axes of operands and results run together (graph/axes.h). NULL: as the flags below say, or nothing is
     * known. */
    void (*axes)(struct axes_ctx *c);

    /* What passes may rely on; none is needed. */
    enum op_sizes sizes;
    /* element p of output 0, the only one, depends on the elements of the inputs at p, broadcast among each other
     * without a preference (as infer_broadcast() does it), and on nothing else */
    bool is_elementwise;
    /* an element of output 0 is a sum of products, linear in every floating input by itself */
    bool is_sum;
    /* lowering makes it a way of reading input 0: no result of its own in memory */
    bool is_view;
    /* output 0 is input 0, broadcast */
    bool is_broadcast;
    /* an element of output 0 follows from its place alone, and from a few numbers */
    bool is_counted;
    /* an integer result may lie outside of the range of every operand, where other operators choose or keep elements */
    bool is_arithmetic;
    /* output 0 is input 0 in the same order under another shape; nothing else is read at run time */
    bool is_reshape;
    /* a composite that float16 and bfloat16 are converted to float for: one rounding at its end, none within */
    bool in_float;
    /* draws random numbers: never folded, merged or removed while used; copies share the stream */
    bool is_random;
    /* eval looks at the shapes of inputs only (Shape, Size): they may come without data (f and i NULL) */
    bool shape_only;
    /* content of a variable: stays when a Gradient supplies other values to what it was computed from */
    bool is_state;
    /* If, Loop, sequences: taken apart at import (import_*.c), never a node of a graph; no infer */
    bool is_control;
    /* Gradient: expanded by train/ before anything else looks at it */
    bool is_structural;
};

/* The generated table: arrays of op_def, NULL-terminated. */
extern const struct op_def *const op_table[];

/* Of a list of parameters, NULL or ended by a name that is NULL: how many; how many up to the last one that must be
 * given; the one of operand i: a variadic one, the last, stands for all further operands. NULL beyond the end. */
size_t op_count_params(const struct op_param *params);
size_t op_count_required(const struct op_param *params);
const struct op_param *op_param_at(const struct op_param *params, size_t i);

/* By domain ("" = ONNX) and name, or NULL. */
const struct op_def *op_find(const char *domain, const char *name);
/* By qualified name as build() takes it: "Add", "stepc.ScatterAddRows", "ai.onnx.preview.training.Adam". */
const struct op_def *op_find_qualified(const char *qualified);
/* For messages and dumps: "Add", "stepc.ScatterAddRows", "Adam". */
const char *op_display_name(const struct op_def *def);
/* All operator names of a domain, for "did you mean". */
size_t op_names(const char *domain, const char **names, size_t capacity);

/* Has any output an element? Where none has, rules are not asked for values: a table that they keep for each element
 * along one axis may be large where another axis has none. */
bool node_makes_elements(const struct node *n);

/* For .stays. */
bool op_stays(const struct node *n);

/* Is it the ONNX operator of this name (domain "")? */
bool node_is(const struct node *n, const char *op);

/* Attribute with the schema's default. The node was checked at import: type and presence are right. */
double op_attr_float(const struct node *n, const char *name);
int64_t op_attr_int(const struct node *n, const char *name);
const char *op_attr_string(const struct node *n, const char *name);
/* A list; returns false (count 0) where absent. */
bool op_attr_ints(const struct node *n, const char *name, const int64_t **x, size_t *count);
struct size op_attr_size(const struct node *n, const char *name);
/* A list of at most SHAPE_MAX_RANK, as sizes; absent: rank 0. */
struct shape op_attr_dims(const struct node *n, const char *name);

/* ---- inference --------------------------------------------------------------------------------------------------- */

struct infer_output {
    enum dtype dtype;
    struct shape shape;
    bool set;
};
#define INFER_FEW_OUTPUTS 4

struct infer_ctx {
    struct node *node;
    struct graph *graph;
    struct diag *diag;
    /* Per output of the node or of its schema, whichever has more: */
    enum dtype *out_dtype; /* as the type letters, or a set of one dtype, give it; 0 where they do not */
    struct infer_output *out;
    size_t out_count;
    enum dtype few_dtypes[INFER_FEW_OUTPUTS]; /* room for the usual case */
    struct infer_output few_out[INFER_FEW_OUTPUTS];
};
#define INFER_MAX_OUTPUTS 1024

struct value *infer_in(const struct infer_ctx *c, int i);               /* NULL where omitted */
const struct shape *infer_shape(const struct infer_ctx *c, int i);      /* shape of a present input */
int infer_rank(const struct infer_ctx *c, int i);
int infer_input_count(const struct infer_ctx *c);
/* Content of input i known at compile time; else reports ("must be known at compile time ...") and returns NULL.
 * Rules that run after inference ask value_known() (graph.h). What is computed of it may overflow: base/checked.h. */
const struct tensor *infer_known(struct infer_ctx *c, int i);
/* As int64 list (rank 0 or 1); false after a report. */
bool infer_known_ints(struct infer_ctx *c, int i, const int64_t **x, size_t *count);
/* The same as sizes. */
bool infer_known_sizes(struct infer_ctx *c, int i, const struct size **x, size_t *count);
/* As one integer; x stays as it is where the input is omitted. */
bool infer_known_int(struct infer_ctx *c, int i, int64_t *x);
/* Sets output i; dtype DTYPE_UNDEFINED: from the type letter. Checks the element count. */
bool infer_out(struct infer_ctx *c, int i, enum dtype dtype, const struct shape *shape);
/* Report at the node; false. */
#define infer_error(c, ...) diag_error((c)->diag, &(c)->node->loc, __VA_ARGS__)
#define infer_unsupported(c, ...) diag_unsupported((c)->diag, &(c)->node->loc, __VA_ARGS__)
/* Attribute `axis`-like value to [0, rank): reports when outside. */
bool infer_axis(struct infer_ctx *c, int64_t axis, int rank, int *out);

/* Common rules, for .infer directly. */
bool infer_same_as_input(struct infer_ctx *c); /* output 0 like input 0 */
bool infer_broadcast(struct infer_ctx *c);     /* output 0: all inputs broadcast together */

/* Runs the rule of n->def: checks counts and dtypes against the schema, calls .infer, and gives n's outputs their dtype
 * and shape. Returns false after a report. */
bool node_infer(struct node *n);

#endif
