/* The graph: typed SSA. Every value has one definition, a dtype and a fully known shape; nodes stand
 * in topological order.
 *
 * All nodes are of the newest form of their operator (older versions are brought there at import), of the domains ""
 * (ONNX), "ai.onnx.preview.training" and "stepc" (operators of our own, for gradients that need a kernel). Everything
 * lives in the program's arena; removed nodes simply stay there. */
#ifndef STEPC_GRAPH_GRAPH_H
#define STEPC_GRAPH_GRAPH_H

#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/model.h" /* enum attr_type, struct model_graph for graph attributes */
#include "tensor/tensor.h"

struct bounded;
struct graph;
struct node;
struct op_def;
struct program;
struct region;

/* ---- values ------------------------------------------------------------------------------------------------------ */

enum value_kind {
    VALUE_INPUT,    /* fed by the caller of the entry */
    VALUE_CONSTANT, /* a tensor that never changes */
    VALUE_VARIABLE, /* the content of a variable when the entry starts */
    VALUE_RESULT,   /* output of a node */
    VALUE_SEQUENCE  /* while a model is imported, in its scopes alone: a list of values (import_internal.h) */
};

/* A size (tensor/size.h) as it is written: base + per * n, where n is the count of the program's range; per is 0 where
 * it is a constant, which stands elsewhere. */
struct late_size {
    int64_t base, per;
};

struct use {
    struct node *node;
    int input;
};

struct value {
    const char *name; /* unique within the graph; from the model, or derived: "d_fc1.weight" */
    enum dtype dtype;
    struct shape shape; /* with the range's highest count */
    const struct late_size *late; /* by dimension; NULL: all are constants, as far as is known */
    enum value_kind kind;
    struct node *producer; /* VALUE_RESULT */
    int output;            /* VALUE_RESULT: index in producer->outputs */
    const struct tensor *constant; /* VALUE_CONSTANT; for others: the value as far as known at compile time, or NULL */
    struct variable *variable;     /* VALUE_VARIABLE */
    VEC(struct use) uses;          /* by nodes; outputs and bindings of the graph are looked at by graph_is_used() */
    int id;                        /* 0, 1, ... in order of creation: index for side tables of graph->value_count */
    bool specialised; /* VALUE_INPUT: the graph was built for this very `constant` (shape inputs under `verify`) */
    bool stays_open;  /* VALUE_INPUT: --bound asks for any content, so what is fed does not make it `specialised` */
    /* bit d: summed over all these axes, the value is 0 in exact arithmetic; 0: nothing of the kind is known */
    uint32_t zero_sum;
    uint32_t unknown_in; /* not known at compile time as of this fold_epoch of the program; 0: not asked yet */
    const struct bounded *bounded; /* import only: a size that follows from data (graph/bounded.h), or NULL */
};

/* ---- attributes -------------------------------------------------------------------------------------------------- */

struct attr {
    const char *name; /* NULL ends a list */
    enum attr_type type;
    double f; /* ATTR_FLOAT: a binary32 value, widened */
    int64_t i;
    const char *s;         /* ATTR_STRING */
    const int64_t *ints;   /* ATTR_INTS */
    const int64_t *per;    /* of i, or of each of ints, as a size (tensor/size.h); NULL: it is a constant */
    const double *floats;  /* ATTR_FLOATS */
    const char *const *strings;
    size_t count; /* of ints, floats, strings */
    const struct tensor *t;
    const struct model_graph *g;
};

struct attr attr_float(const char *name, double x);
struct attr attr_int(const char *name, int64_t x);
struct attr attr_string(const char *name, const char *x);
struct attr attr_ints(const char *name, const int64_t *x, size_t count); /* copied when the node is built */
struct attr attr_size(const char *name, const struct size *x);
struct attr attr_dims(const char *name, const struct shape *s); /* of sizes; copied likewise */
/* Floats by their bits: 0.0 and -0.0 are two attributes. */
bool attr_equal(const struct attr *a, const struct attr *b);
#define ATTRS(...) ((const struct attr[]){__VA_ARGS__, {.name = NULL}})
#define ATTRS_NONE ((const struct attr *)NULL)

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* A node of the model with multi-device annotations, and what its operands and results are in the graph: NULL where
 * they are no tensors, or omitted. */
struct placed {
    const struct model_node *node;
    struct value **inputs, **outputs;
};

struct node {
    const struct op_def *def;
    const char *name; /* from the model; "" or derived for made nodes */
    VEC(struct value *) inputs;  /* NULL = omitted optional input; never ends with NULL */
    VEC(struct value *) outputs; /* NULL = not wanted; never ends with NULL */
    VEC(struct attr) attrs;
    struct loc loc; /* of the node it came from; loc.origin says how, for made nodes */
    const struct placed *placed; /* the annotated node of the model that it is part of, or NULL */
    struct region *region; /* what it runs in each step of time (graph/region.h), or NULL */
    struct graph *graph;
    struct node *prev, *next; /* topological order */
    /* random operators: number of the random stream, kept by copies (docs/readings.md, R27) */
    uint32_t stream;
    uint32_t counter;         /* and the counter they draw with, an index in program->counters; kept by copies too */
    bool removed;
};

/* Attribute by name, or NULL where the node has none (schema defaults are found by op_attr_*() in op_def.h). */
const struct attr *node_attr(const struct node *n, const char *name);
/* Adds or replaces. Copies lists into the graph's arena. */
void node_set_attr(struct node *n, struct attr a);
void node_remove_attr(struct node *n, const char *name);
/* Input i, or NULL where omitted or beyond the end. Likewise outputs. */
struct value *node_input(const struct node *n, size_t i);
struct value *node_output(const struct node *n, size_t i);

/* ---- graphs and programs ----------------------------------------------------------------------------------------- */

struct graph_output {
    const char *name; /* the model's name; several outputs may be one value */
    struct value *value;
};

struct binding { /* at the end of the entry, all at once: variable <- value */
    struct variable *variable;
    struct value *value;
    struct loc loc;
};

struct graph {
    const char *name;
    struct program *program;
    struct arena *arena; /* = program's */
    struct diag *diag;
    struct node *first, *last;
    VEC(struct value *) inputs;     /* in calling order */
    VEC(struct graph_output) outputs;
    VEC(struct binding) bindings;
    VEC(struct value *) sources;    /* constants and variables, in order of creation */
    struct map names;               /* name -> struct value *, NULL where the value is gone */
    struct map name_counts;         /* wish -> last number given out by graph_fresh_name() */
    struct map variables;           /* variable's name -> struct value * */
    int value_count;                /* values made so far; ids are below */
    size_t node_count;
    uint32_t counter; /* of random nodes that are added now: index in program->counters */
    uint64_t edits; /* changes so far: a pass that leaves the number alone found nothing to do */
    struct loc loc;
};

/* A mutable tensor of the model: an initializer that some binding writes. */
enum variable_role { ROLE_WEIGHT, ROLE_STATISTIC, ROLE_OPTIMIZER, ROLE_COUNTER, ROLE_SUM };

struct variable {
    const char *name;
    enum dtype dtype;
    struct shape shape;
    const struct tensor *initial; /* value before anything ran, and what init() starts from */
    enum variable_role role;
    int index; /* in program->variables */
    bool by_columns; /* a matrix that the state holds transposed (lower/state_layout.h) */
    struct loc loc;
};

enum entry_kind { ENTRY_INIT, ENTRY_STEP, ENTRY_INFER, ENTRY_EVALUATE };

/* One function of the emitted C: init(), step(), infer(), or a named training entry. */
struct entry {
    const char *name; /* "step", "infer", ... a C identifier */
    enum entry_kind kind;
    struct graph *graph;
    int training; /* index in model->training, or -1: also of the step that runs several in order */
    bool is_region; /* the graph of a region: no function of the emitted file is its own */
    /* in program->counters: what a call moves on; the others leave all as they are */
    size_t first_counter, counter_count;
    bool takes_count; /* how many of the program's range there are is an argument */
};

/* A dimension of which each call says the size: --dim batch=1..32. */
struct size_range {
    const char *name;
    int64_t low, high;
};

struct program {
    const char *name; /* C identifier, prefix of everything emitted */
    struct arena *arena;
    struct diag *diag;
    const struct model *model;
    VEC(struct variable *) variables; /* weights | statistics | optimizer | counters, each in model order */
    VEC(struct entry) entries;        /* init first if present, then steps in order, then infer */
    /* Counters of random numbers: one for each training_info with update bindings, by its entry's name, whether or not
     * the entry is made; a single unnamed one if there is none. Entries that change nothing draw with the first. */
    str_list counters;
    uint32_t random_streams;          /* given out so far */
    bool uses_random;
    /* Finds out a value at compile time (rewrite/fold.c sets it): the tensor, or NULL. Lets shape rules in ops/ read
     * the content of shape inputs without this folder knowing how to evaluate. */
    const struct tensor *(*fold)(struct value *v);
    struct program *within; /* of a region: the program that it is in; NULL */
    int64_t folded;         /* elements evaluated at compile time so far: bounded */
    /* Of all regions together, in the outermost program: elements of constants that rewrites and kernels made so far
     * (graph/build.h), and what gradients made (train/adjoint.c). Both are bounded. */
    int64_t tabled;
    struct adjoint_budget *adjoints;
    uint32_t fold_epoch; /* raised when what was unknown may have become known */
    /* Values that the caller will feed, by input name -> struct tensor *; shape rules may specialise
     * the graph to them. */
    const struct map *fed;
    /* Largest sizes where data say how many, by name of a node or tensor -> struct bound_option * (graph/bounded.h). */
    const struct map *bounds;
    /* NULL: all sizes are constants. Else the program is made for the highest count, and the same for the next two and
     * for the two before it, which show what depends on it (NULL: they cannot be made, or other counts differ). */
    const struct size_range *range;
    struct program *others[4];
};

struct entry *program_entry(const struct program *p, const char *name);       /* NULL if absent, */
struct variable *program_variable(const struct program *p, const char *name); /* and so here */
/* The program itself, or of a region the one that it is in at last. */
struct program *program_outermost(struct program *p);

/* highest count - lowest of the range that it, or the program that it is in, has; 0: all sizes are constants. */
int64_t program_span(const struct program *p);

struct graph *graph_new(struct program *p, const char *name);

/* Sources. Names are made unique if taken. */
struct value *graph_add_input(struct graph *g, const char *name, enum dtype dtype, const struct shape *shape);
struct value *graph_add_constant(struct graph *g, const char *name, const struct tensor *t);
struct value *graph_add_variable(struct graph *g, struct variable *v); /* the same value when called again */

/* A node without outputs, placed before `before` (NULL: at the end). graph_add_result() appends an output; its dtype
 * and shape come from inference. Use build.h, which does all of it. */
struct node *graph_add_node(struct graph *g, const struct op_def *def, const char *name, const struct loc *loc,
                            struct node *before);
void node_add_input(struct node *n, struct value *v); /* v may be NULL */
void node_set_input(struct node *n, int i, struct value *v);
struct value *node_add_output(struct node *n, const char *name); /* name NULL: not wanted, returns NULL */

/* The output, which nobody reads, is no longer wanted. */
void node_drop_output(struct node *n, size_t i);
/* Constants and variables stay if needed[id]; the others have no readers. */
void graph_keep_sources(struct graph *g, const bool *needed);

/* Every reader of `old` (nodes, graph outputs, bindings) reads `by` from now on. */
void graph_replace(struct graph *g, struct value *old, struct value *by);
/* Takes the node out; its outputs must have no readers. */
void graph_remove_node(struct graph *g, struct node *n);
void graph_move_before(struct graph *g, struct node *n, struct node *before);
/* Read by an output or a binding? */
bool graph_gives(const struct graph *g, const struct value *v);
/* Read by a node, an output or a binding? */
bool graph_is_used(const struct graph *g, const struct value *v);
/* What the entry binds to the variable, or NULL. */
const struct binding *graph_find_binding(const struct graph *g, const struct variable *v);
/* A name not yet taken in g: `wish`, or wish_2, wish_3... */
const char *graph_fresh_name(struct graph *g, const char *wish);
struct value *graph_find(const struct graph *g, const char *name);
/* Gives v another name, which must not be taken; the old one becomes free. */
void graph_rename(struct graph *g, struct value *v, const char *name);

/* The shape of an argument of an entry for a count of the program's range, and the count for which it has a shape; -1:
 * it does not depend on it, or has another number of dimensions. */
struct shape value_shape_at(const struct value *v, int64_t count);
int64_t value_count_of(const struct value *v, const struct shape *s);
/* Its shape as text, "[batch,64]" or "[2*batch + 1]" where it depends on the program's range. */
const char *value_shape_text(struct arena *a, const struct program *p, const struct value *v);

/* The value's content where it is known at compile time: constants, specialised inputs, and what follows from them and
 * from shapes (through program->fold); else NULL. */
const struct tensor *value_known(struct value *v);

/* The graph as text, one node a line, deterministic (--dump-after, tests, golden files):
 *   h:float[32,32] = Gemm<transB=1>(x, fc1.weight, fc1.bias)   # node "fc1" */
const char *graph_print(struct arena *a, const struct graph *g);

/* Checks the invariants: order, use lists, dtypes and shapes as inference finds them, unique names. An internal error
 * (abort) with the pass's name when broken. */
void graph_verify(const struct graph *g, const char *after_pass);

#define graph_each_node(g, n) for (struct node *n = (g)->first, *n##_next; n && ((n##_next = n->next), 1); n = n##_next)

#endif
