/* Functions of a template file as statement trees (tree/tree.h): a parser of the C that templates/template.h
 * describes, over libclang's tokens. What a name means that the file does not declare is libclang's knowledge. */
#ifndef STEPC_TOOLS_PARSE_H
#define STEPC_TOOLS_PARSE_H

#include "tools/gen_templates.h"
#include "tree/tree.h"

enum parameter_role { ROLE_INT, ROLE_TYPE, ROLE_HOLE, ROLE_ITEM, ROLE_KERNEL };

/* A name that the file declares at its top level. */
struct top_name {
    const struct cfront_node *node;
    enum parameter_role role;
    struct tree_var *hole;          /* INT */
    struct tree_function *function; /* ITEM, KERNEL; of a hole, its declaration only */
};

/* One template file being read. */
struct parser {
    struct gen *g;
    struct cfront_source source;
    const char *base;
    VEC(struct top_name) top;
    struct map outside;      /* name -> path of the file that declares it: what libclang resolved, and macros */
    /* of the function at hand */
    struct tree_function *unit;
    tree_vars scope;
    size_t token;
    bool failed;
};

/* A type as a declaration begins with it. */
struct parsed_type {
    const char *text; /* "T", "int", "struct stepc_window_terms" */
    enum dtype dtype; /* DTYPE_TEMPLATE for T, else DTYPE_INDEX */
    bool is_const;
};

/* ---- tokens (parse.c) -------------------------------------------------------------------------------------------- */

bool at(const struct parser *p, const char *text);
bool take(struct parser *p, const char *text);
void expect(struct parser *p, const char *text);
const char *here(const struct parser *p); /* the token at hand */
const char *take_word(struct parser *p);  /* the same, whatever it is */
bool at_identifier(const struct parser *p);
void fail_at(struct parser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct top_name *find_top(struct parser *p, const char *name);
/* Of a name that the file does not declare: the header of kernels that does, "kernels/stepc_tile.h", or NULL. */
const char *header_of(struct parser *p, const char *name);
bool is_by_type(struct parser *p, const char *name); /* is it a function of which there is one for each type? */
/* What is emitted of the function at hand depends on this. */
void depend(struct parser *p, enum function_kind on);
/* An integer hole, or a constant that only the user's compiler knows. */
struct tree_var *new_var(struct parser *p, enum var_kind kind, const char *name);

/* ---- expressions (parse_expr.c) ---------------------------------------------------------------------------------- */

const struct expr *parse_expression(struct parser *p);
const struct expr *parse_operand(struct parser *p); /* without operators but those of one operand */
struct expr *new_expr(struct parser *p, enum expr_op op, enum dtype dtype);
/* Does a type begin here? It is taken then. */
bool parse_type(struct parser *p, struct parsed_type *t);
/* A braced list of members, as the value of a struct. */
const struct expr *parse_initializer(struct parser *p, const char *type);

/* ---- functions (parse.c) ----------------------------------------------------------------------------------------- */

/* Head and, with `body`, body of a function. */
void parse_function(struct parser *p, const struct top_name *t, bool body);

#endif
