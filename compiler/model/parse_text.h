/* What the files that read the text syntax share. Each function reads one rule of the grammar, or reports and returns
 * false. Internal to model/. */
#ifndef STEPC_MODEL_PARSE_TEXT_H
#define STEPC_MODEL_PARSE_TEXT_H

#include "model/lex_text.h"
#include "model/model.h"

struct text_parser {
    struct lexer lex;
    struct arena *arena;
    struct model *model;
    const char *graph; /* name of the graph at hand, for locations */
    int depth;
    int64_t repeated; /* elements of tensors with "..." so far: at most TEXT_MAX_REPEATED, whatever a small file says */
};

/* ---- tokens; `what` says in messages what was expected ("a node's name") ----------------------------------------- */

/* Moves over the mark if it stands there. */
bool text_accept(struct text_parser *p, char mark);
bool text_expect(struct text_parser *p, char mark);
/* ID; NAME (an ID or a string, valid UTF-8 without NUL); STRING with the same rules. */
bool text_id(struct text_parser *p, const char *what, const char **out);
bool text_is_name(const struct text_parser *p);
bool text_name(struct text_parser *p, const char *what, const char **out);
bool text_string(struct text_parser *p, const char *what, const char **out);
bool text_int(struct text_parser *p, int64_t *out);
/* A number for float (single) or double. Too large is an error; too small is 0. */
bool text_number(struct text_parser *p, bool single, double *out);
/* "[" item, item ... "]" or the like, by a callback per item. */
typedef bool (*text_rule)(struct text_parser *p, void *data);
bool text_list(struct text_parser *p, char open, char close, text_rule rule, void *data);

/* ---- distribution over devices (text_devices.c) ------------------------------------------------------------------ */

/* An item of the header's `configuration`; data: the struct model. What stands behind a node. */
bool text_configuration(struct text_parser *p, void *data);
bool text_node_devices(struct text_parser *p, struct model_node *n);

/* ---- types and tensors ------------------------------------------------------------------------------------------- */

/* Does a TYPE begin here? */
bool text_is_type(const struct text_parser *p);
bool text_type(struct text_parser *p, struct model_type *t);
/* DATA of a tensor whose type was read. */
bool text_data(struct text_parser *p, const struct model_type *type, struct tensor **out);

#endif
