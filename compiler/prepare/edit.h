/* Shared by the transformations from model to model that run before preparation's own work (tie.c, rebatch.c, names.c)
 * and by the export doctor: a model that is being edited, and small steps of editing. Only the main graph is edited. */
#ifndef STEPC_PREPARE_EDIT_H
#define STEPC_PREPARE_EDIT_H

#include "base/map.h"
#include "base/str.h"
#include "model/model.h"
#include "prepare/known_names.h"

struct edit {
    struct diag *diag;
    struct arena *arena;
    struct model *model;
    struct strbuf *report; /* what was done, a line each; NULL: nobody wants to know */
    struct map names;      /* every name of the main graph, of its subgraphs too */
    struct loc loc;        /* the file */
    const struct known_names *known; /* what the file or the user says of names; NULL: nothing */
    struct map inner_constants; /* of the main graph, which stood in functions and in graphs inside nodes */
    str_list changes; /* what was done to the main graph, each kind once */
};

/* Adds every name that the graph defines. A name of a subgraph is taken too: an outer value of the same name would be
 * shadowed, which ONNX forbids. */
void collect_names(struct map *names, const struct model_graph *g);
/* The same without those of graphs inside its nodes. */
void collect_own_names(struct map *names, const struct model_graph *g);
/* What is called `old` is called `name`. */
void rename_names(str_list *names, const char *old, const char *name);
void rename_values(model_values *values, const char *old, const char *name);

/* Is it read, in graphs inside nodes too, or given out? g: NULL, too. */
bool is_read_within(const struct model_graph *g, const char *name);
/* Where it is read, in graphs inside nodes too, and where it is given out. */
void rename_reads_within(struct model_graph *g, const char *old, const char *name);

void edit_begin(struct edit *e, struct diag *d, struct arena *a, struct model *m, struct strbuf *report);
/* "Did you mean" for a name that no initializer has, or "". */
const char *initializer_suggestion(struct arena *a, const struct model_graph *g, const char *name);
/* A line of the report. */
void edit_say(struct edit *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The main graph has changed in this respect. */
void edit_changed(struct edit *e, const char *what);
/* A name not taken yet: `wish`, `wish_2`... It is taken from now on. */
const char *edit_fresh_name(struct edit *e, const char *wish);
/* Takes the initializer out, and the graph input of that name that old files list beside it. */
void edit_remove_initializer(struct edit *e, const char *name);
/* A node of ONNX's own domain that stands in front of node `at`: output = OP(a, b). b may be NULL. */
struct model_node *edit_insert_node(struct edit *e, size_t at, const char *op, const char *a, const char *b,
                                    const char *output);
/* Does the main graph list this output? */
bool edit_is_output(const struct edit *e, const char *name);
/* Is it a name that exporters make up: "onnx::MatMul_57", "/Transpose_output_0", "1234"? */
bool is_anonymous(const char *name);
/* Is it what PyTorch's newer exporter calls the result of zeros(), full(), arange()...? */
bool is_traced_creation(const char *name);
/* "model/norm/add/y:0": what TensorFlow calls a constant operand. Its variables are read by other names. */
bool is_tensorflow_constant(const char *name);
/* "a", "b" and "c"; at most `most` of them are named. */
const char *names_text(struct arena *a, const str_list *names, size_t most);

#endif
