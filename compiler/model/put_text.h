/* What the files that write the text syntax share: the state, what is lost on the way, and the small things that
 * everything is made of. Internal to model/. */
#ifndef STEPC_MODEL_PUT_TEXT_H
#define STEPC_MODEL_PUT_TEXT_H

#include "base/str.h"
#include "model/model.h"

/* LOSS(kind, what there is, what `lossy` does about it or NULL) */
#define LOSSES                                                                                                         \
    LOSS(DOC_GRAPH, "doc strings of graphs", "leaves them out")                                                        \
    LOSS(DOC_NODE, "doc strings of nodes", "leaves them out")                                                          \
    LOSS(DOC_VALUE, "doc strings of values", "leaves them out")                                                        \
    LOSS(DOC_ATTRIBUTE, "doc strings of attributes", "leaves them out")                                                \
    LOSS(META_GRAPH, "graphs with metadata_props", "leaves them out")                                                  \
    LOSS(META_NODE, "nodes with metadata_props", "leaves them out")                                                    \
    LOSS(META_VALUE, "values with metadata_props", "leaves them out")                                                  \
    LOSS(META_FUNCTION, "functions with metadata_props", "leaves them out")                                            \
    LOSS(QUANTIZATION, "quantization annotations", "leaves them out")                                                  \
    LOSS(DENOTATION, "denotations of types and dimensions", "leaves them out")                                         \
    LOSS(TYPE, "incomplete value types", "leaves them out")                                                            \
    LOSS(SPARSE, "sparse tensors", "makes them dense")                                                                 \
    LOSS(CONTROL, "strings with control characters", "makes the characters spaces")                                    \
    LOSS(NAN, "NaN with a payload", "writes them as nan")                                                              \
    LOSS(SPARSE_ATTRIBUTE, "sparse attributes", NULL)                                                                  \
    LOSS(DENSE_SIZE, "sparse tensors too large to be made dense", NULL)                                                \
    LOSS(BAD_TYPE, "attributes with an incomplete type or none", NULL)                                                 \
    LOSS(NAME, "names with control characters", NULL)                                                                  \
    LOSS(IDENTIFIER, "operators, domains, overloads and attributes named by no identifier", NULL)                      \
    LOSS(DEPTH, "graphs or types nested too deep", NULL)

enum text_loss {
#define LOSS(kind, what, cure) LOSS_##kind,
    LOSSES
#undef LOSS
        LOSS_COUNT
};

struct text_writer {
    struct strbuf out;
    size_t line;          /* where the line at hand begins in it */
    int indent, depth;    /* depth as the reader counts it: graphs and types */
    const struct loc *at; /* what is being written */
    bool repeats;         /* "..." may stand for elements */
    int64_t repeated;     /* elements of tensors with it so far, as the reader counts them */
    struct {
        size_t count;
        struct loc first;
    } lost[LOSS_COUNT];
};

void text_lose(struct text_writer *w, enum text_loss kind);
void text_lose_if(struct text_writer *w, bool has, enum text_loss kind);

/* ---- layout ------------------------------------------------------------------------------------------------------ */

void text_put(struct text_writer *w, const char *s);
void text_new_line(struct text_writer *w);
/* Before item i of a list: a full line ends. */
void text_separate(struct text_writer *w, size_t i);

/* ---- names and strings ------------------------------------------------------------------------------------------- */

bool text_has(const char *s); /* neither NULL nor empty */
/* Quoted; `control` is what is lost when control characters became spaces. */
void text_put_quoted(struct text_writer *w, const char *s, size_t size, enum text_loss control);
void text_put_string(struct text_writer *w, const char *s);
/* NAME: an identifier as it is, anything else quoted; or quoted always, where the grammar wants a string. */
void text_put_name(struct text_writer *w, const char *s);
void text_put_quoted_name(struct text_writer *w, const char *s);
void text_put_names(struct text_writer *w, const str_list *names);
/* ID and QNAME's domain: anything else is lost. */
void text_put_identifier(struct text_writer *w, const char *s);
void text_put_domain(struct text_writer *w, const char *s);

/* ---- distribution over devices (text_devices.c) ------------------------------------------------------------------ */

void text_put_configurations(struct text_writer *w, const struct model *m);
void text_put_node_devices(struct text_writer *w, const struct model_node *n);

/* ---- types and tensors ------------------------------------------------------------------------------------------- */

/* A type_proto attribute's; an incomplete one is lost. */
void text_put_type(struct text_writer *w, const struct model_type *t);
void text_put_value(struct text_writer *w, const struct model_value_info *v);
/* A number that cannot be taken for an integer. */
void text_put_float(struct text_writer *w, float x);
/* TYPE [NAME =] DATA; name may be NULL. */
void text_put_tensor(struct text_writer *w, const char *name, const struct tensor *t);
/* The same tensor with all its zeros; NULL when it is too large. The reader checked the indices. */
struct tensor *text_make_dense(struct text_writer *w, const struct model_sparse *s);

#endif
