/* Shared by the files of import:
 *   import.c           nodes, arguments, initializers, the model as a whole
 *   import_scope.c     what a name means where it stands
 *   import_types.c     shapes of inputs, declared types
 *   import_constant.c  Constant, sparse tensors
 *   import_call.c      calls of the model's functions
 *   import_control.c   Loop, Scan: decided and unrolled
 *   import_if.c        If: one branch, or both and a choice
 *   import_attention.c FlexAttention, which has graphs for its scores
 *   import_sequence.c  sequences and optional values: lists of tensors that import alone knows
 *   import_random.c    streams of random numbers
 *   import_budget.c    how much a model may make of itself */
#ifndef STEPC_GRAPH_IMPORT_INTERNAL_H
#define STEPC_GRAPH_IMPORT_INTERNAL_H

#include "graph/build.h"
#include "graph/import.h"

struct op_choice; /* graph/upgrade.h */

/* A model-local function being inlined. */
struct call {
    const struct model_function *function;
    const struct model_node *node; /* the caller's, its own attribute references resolved */
    const struct call *outer;
    int depth;
};

/* One list of nodes with its names: a model graph, the body of a called function, or a graph inside a node. */
struct import_scope {
    struct map *scope;    /* name -> struct value *, NULL: poisoned */
    struct map producers; /* name -> const struct model_node *, of all nodes of the list, for messages */
    struct map declared;  /* name -> const struct model_value_info * */
    struct map names;     /* value name -> name in the graph, where it is not prefix + name */
    const model_opsets *opsets;
    const struct call *call;          /* NULL: not in a function */
    const struct import_scope *outer; /* whose names are seen from here too; NULL: none are */
    const char *prefix;               /* of value and node names */
    const char *origin;               /* said of nodes that stand in a graph inside a node; NULL: nothing */
    bool repeated;                    /* in the body of a loop: its nodes come here more than once */
};

/* What grows when a model is taken apart, each bounded over a whole graph. */
enum import_cost {
    IMPORT_INLINED,  /* nodes of functions */
    IMPORT_UNROLLED, /* nodes of loops, and of branches in them */
    IMPORT_ENTRIES,  /* all that a iteration of a loop looks at */
    IMPORT_PIECES,   /* into which tensors are taken apart, or from which they are put together */
    IMPORT_COPIED,   /* elements of constants that each iteration of a loop has for itself, and of sequences */
    IMPORT_COSTS
};
enum { IMPORT_MOST_INLINED = 1000000, IMPORT_DEEPEST_CALL = 100 };

struct importer {
    struct graph *g;
    const struct model *model;
    const struct import_options *options;
    const char *entry;
    struct map functions; /* key of import_function_key() -> struct model_function * */
    const struct model_function
        *main_graph;             /* the main graph in the form of a function, for GraphCall; NULL outside algorithms */
    uint32_t stream;             /* of the random node met last */
    uint32_t streams;            /* of all the model's random nodes: repetitions of a node are so far apart */
    struct map repetitions;      /* stream, as text -> uint32_t *: how often that node of a loop came */
    struct map missing;          /* operators that were reported already */
    struct map listed;           /* in xs or zs of some Gradient of the model */
    bool said_unsorted;          /* so was that nodes are not sorted */
    struct map inner_random;     /* graph inside a node, as text -> uint32_t *: its random nodes */
    int64_t spent[IMPORT_COSTS]; /* so far */
};

/* A node of the model where it is imported: that of a function or of a loop's body comes more than once. */
struct import_use {
    struct importer *im;
    const struct import_scope *r;
    const struct model_node *mn; /* attribute references resolved */
    struct loc loc;              /* the node's, which says of whom it is a part */
    struct graph *g;             /* im's, with what it has: */
    struct arena *arena;
    struct diag *diag;
};
struct import_use import_begin(struct importer *im, const struct import_scope *r, const struct model_node *mn);

/* Spends `count` more (0 or more), or reports that the node at this place exceeds the bound. */
bool import_spend(struct importer *im, const struct loc *at, enum import_cost what, int64_t count) MUST_USE;

/* ---- operators that there are not (import_missing.c) ------------------------------------------------------------ */

/* An operator of ONNX, or of a domain that stepc knows nothing of; not one whose name is mistyped. */
bool import_is_missing(const struct model_node *mn);
/* Once for each operator. Returns false. */
bool import_report_missing(struct importer *im, const struct model_node *mn);

/* ---- names (import_scope.c) ------------------------------------------------------------------------------------- */

/* Stands in a scope for what is left out: an input that a caller omits, an optional value that is none. */
extern struct value import_omitted;

const char *import_node_text(struct arena *a, const struct model_node *mn); /* "node 'fc1' (Gemm)" */
/* Its name, or that of its first output or operator. */
const char *import_label(const struct model_node *mn);
/* Where in r's scope, or in those around it, the name is. */
const struct import_scope *import_region_of(const struct import_scope *r, const char *name);
/* The value behind a name; false where it is poisoned (silently) or undefined (reported). *v NULL: omitted. It may be a
 * sequence. `what` is how the node refers to it, for messages: "input 1", "xs". */
bool import_resolve(const struct import_use *u, const char *what, const char *name, struct value **v) MUST_USE;
/* Likewise input i of the node. */
bool import_resolve_input(const struct import_use *u, size_t i, struct value **v) MUST_USE;
/* The same, where it must be a tensor: reports a sequence. */
bool import_resolve_tensor(const struct import_use *u, size_t i, struct value **v) MUST_USE;
/* What a value called so in the list is called in the graph, if that is free. */
const char *import_graph_name(const struct import_use *u, const char *name);
/* Nothing that the node defines exists; what it would redefine stays. Returns false. */
bool import_poison_outputs(const struct import_use *u);
/* Every value has one definition. */
bool import_check_outputs_new(const struct import_use *u) MUST_USE;
/* The operator as the node's opset has it; the node is as it demands, and its outputs are new. */
bool import_choose(const struct import_use *u, struct op_choice *out) MUST_USE;
/* Fills producers and declared of a region. */
void import_index_region(struct import_scope *r, struct arena *a, const model_nodes *nodes, const model_values *infos);
/* v, or a copy of it where a Gradient lists the name in this graph: a variable is neither an operand that is handed out
 * nor what other results are made of. NULL after a failure. */
struct value *import_variable(const struct import_use *u, const char *name, struct value *v);
/* The node's output i is v from now on, which is checked against its declaration. A value made here, by nodes with
 * ids from `since` on, takes the output's name. */
bool import_define(const struct import_use *u, size_t i, struct value *v, int since) MUST_USE;

/* ---- nodes (import.c) ------------------------------------------------------------------------------------------- */

bool import_list(struct importer *im, struct import_scope *r, const model_nodes *nodes) MUST_USE;
/* With `make` adds to scope what is not there yet; without, checks that names in `listed` are new. */
bool import_initializers(const struct importer *im, const struct model_graph *mg, struct map *scope, struct map *listed,
                         bool make) MUST_USE;

/* ---- functions (import_call.c) ---------------------------------------------------------------------------------- */

const char *import_function_key(struct arena *a, const char *domain, const char *name, const char *overload);
void import_index_functions(struct map *functions, const struct model *m);
const struct model_function *import_main_graph_as_function(struct arena *a, const struct model *m);
bool import_is_graph_call(const struct model_node *mn);
/* The function that the node calls, or NULL. A local function named like a standard operator wins (R5 in
 * docs/readings.md). */
const struct model_function *import_called_function(const struct map *functions, const struct model_node *mn);
/* What an attribute that refers to one of the function's is: the caller's, else the function's default; NULL: none. */
struct model_attr *import_resolve_attr(struct arena *a, const struct call *call, const struct model_attr *attr);
/* The node with attributes that refer to the function's replaced by the caller's, else by the function's default, else
 * dropped. */
const struct model_node *import_resolve_attrs(struct arena *a, const struct call *call, const struct model_node *mn);
bool import_call(const struct import_use *u, const struct model_function *f) MUST_USE;
bool import_graph_call(const struct import_use *u) MUST_USE;

/* ---- control flow and sequences (import_control.c, import_sequence.c) ------------------------------------------- */

/* Is it an operator that import takes apart, so that no node of the graph is one? */
bool import_is_control(const struct model_node *mn);
/* Is it an Identity of something else than a tensor? */
bool import_is_alias(const struct import_use *u);
bool import_control(const struct import_use *u) MUST_USE;

/* The graph that is the node's attribute, or NULL. */
const struct model_graph *import_graph_attr(const struct model_node *mn, const char *name);
/* One more copy of a graph that a loop repeats. */
bool import_spend_iteration(const struct import_use *u, const struct model_graph *g) MUST_USE;

/* What is computed whether or not it is wanted, which data decide (import_if.c). Between begin and end its nodes are
 * imported; end keeps gradients and errors out of them where the condition, a bool, is false. */
struct import_taken {
    struct value *condition;
    struct node *before;
    int since;
    struct map seen; /* name of a value from outside -> what is read instead */
};
struct import_taken import_begin_taken(const struct import_use *u, struct value *condition);
bool import_end_taken(const struct import_use *u, struct import_taken *t) MUST_USE;
/* Are both tensors of one type, so that one of them can be chosen? */
bool import_alike(const struct value *a, const struct value *b);
struct value *import_chosen(struct builder *b, struct value *condition, struct value *yes, struct value *no);
/* The condition as a scalar bool; NULL after a report, which calls it `what`. */
struct value *import_as_bool(const struct import_use *u, struct builder *b, const char *what, struct value *condition);
/* "float[2,3]", "no tensor" */
const char *import_type_text(const struct import_use *u, const struct value *v);

bool import_if(const struct import_use *u) MUST_USE;             /* import_if.c */
bool import_flex_attention(const struct import_use *u) MUST_USE; /* import_attention.c */

/* A sequence while it is imported: stands in scopes as a value of kind VALUE_SEQUENCE, never in a graph. What is
 * appended goes into the same memory, of which the sequence without it sees the beginning. */
struct sequence {
    struct value value;
    struct value **items;
    size_t count;
    struct sequence_room *room;
};
/* NULL where v is NULL or a tensor. */
struct sequence *import_as_sequence(struct value *v);
struct value *import_new_sequence(const struct importer *im, struct value *const *items, size_t count);

/* One operator of this kind: the node is as its schema says. Returns false after a report, or silently where an
 * input is poisoned. */
typedef bool (*import_rule)(const struct import_use *u);
/* NULL: not an operator on sequences. */
import_rule import_sequence_rule(const char *op_type);

/* A graph inside a node, imported once: its own names are in `scope`. Results are found by import_inner_output(). */
struct inner_graph {
    const struct model_graph *graph;
    struct map scope;
    struct import_scope region;
};
/* actual: what its inputs are, NULL entries for omitted ones. index: has the graph's maps by import_index_region().
 * label: of its names; origin: what messages say of its nodes. */
bool import_inner(const struct import_use *u, const struct model_graph *graph, const struct import_scope *index,
                  const char *label, const char *origin, struct value *const *actual, struct inner_graph *x) MUST_USE;
/* The same of a graph that is an attribute of the node, once: its random nodes have the numbers of their place among
 * the node's graphs, whichever of them are imported. */
bool import_branch(const struct import_use *u, const struct model_graph *branch, struct value *const *actual,
                   struct inner_graph *x) MUST_USE;
/* NULL after a report, or silently where it is poisoned; &import_omitted where it is an optional value that is none. */
struct value *import_inner_output(const struct importer *im, const struct inner_graph *x, size_t i);
/* The content of a tensor of one integer or bool, known at compile time; else reports. */
bool import_known_number(const struct import_use *u, size_t input, const char *param, struct value *v,
                         int64_t *x) MUST_USE;
/* Where nodes are built for a node of the model: behind all others. */
struct builder import_builder(const struct import_use *u);
/* Tensors side by side along `axis`, or along a new one; axis in range. All have one type. */
struct value *import_join(struct builder *b, struct value *const *items, size_t count, int axis, bool new_axis);
/* v in pieces along an axis (in range) of the sizes given, or of size 1 each and without the axis (sizes NULL). */
void import_cut(struct builder *b, struct value *v, int axis, const int64_t *sizes, size_t count, struct value **out);

/* ---- random numbers (import_random.c) --------------------------------------------------------------------------- */

bool import_is_random(const struct model_node *mn);
/* Random nodes of the list, in functions that it calls and graphs inside nodes too. `budget` bounds the walk
 * through nested calls: a model beyond it is refused by import for the same reason. */
uint32_t import_count_random(const struct map *functions, const struct model_graph *main_graph,
                             const model_nodes *nodes, int depth, size_t *budget);
/* Streams taken by the graphs that stand before `until` in the order main graph, algorithms, initializations. */
uint32_t import_first_stream(const struct map *functions, const struct model *m, const struct model_graph *until);
/* Random nodes of a graph inside a node. */
uint32_t import_count_inner_random(struct importer *im, const struct model_graph *g);
/* The stream of a random node that comes now: the next one, or one of its own for each time that a loop comes back
 * to it. */
uint32_t import_next_stream(struct importer *im, const struct import_scope *r);

/* ---- types and constants ---------------------------------------------------------------------------------------- */

/* What the model declares of a value against what inference found; symbols and unknown parts say nothing. A
 * contradiction is warned of: files with wrong ones work elsewhere, where the operators decide as well. */
bool import_check_declared(struct diag *d, const struct model_value_info *vi, const struct value *v) MUST_USE;
/* The same of an initializer, which may be declared as an input, too. */
bool import_check_initializer(struct diag *d, const struct model_value_info *vi, const struct value *v) MUST_USE;
/* The same for an output of the graph, of which a contradiction is an error; a symbol that has another size in an input
 * is warned of. */
bool import_check_output(struct diag *d, const struct model_graph *mg, const struct map *scope,
                         const struct model_value_info *vi, const struct value *v) MUST_USE;

/* The dense form of a sparse tensor, or NULL after a report. */
struct tensor *import_dense(struct diag *d, struct arena *a, const struct model_sparse *s);

bool import_is_constant(const struct model_node *mn);
/* The tensor of a Constant node, whatever attribute holds it; NULL after a report. */
const struct tensor *import_constant_tensor(struct diag *d, struct arena *a, const struct model_node *mn);

#endif
