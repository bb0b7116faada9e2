/* What the files of the build tool gen_templates share. */
#ifndef STEPC_TOOLS_GEN_TEMPLATES_H
#define STEPC_TOOLS_GEN_TEMPLATES_H

#include "base/map.h"
#include "cfront/cfront.h"
#include "tree/template.h"

struct gen {
    struct arena *arena;
    struct diag *diag;
    const char *const *include_dirs;
    VEC(struct template_kernel) trees;
    VEC(struct template_helper) helpers;
    VEC(const char *) helper_files;   /* base names */
    VEC(const char *) kernel_headers; /* as emitted files include them: "kernels/stepc_tile.h" */
};

/* An error of the file being read; false. */
#define ERROR_AT(r, offset, ...)                                                                                       \
    diag_error((r)->g->diag, &(struct loc[]){cfront_loc(&(r)->source, (offset))}[0], __VA_ARGS__)

/* ---- source.c: questions about source text and tokens ------------------------------------------------------------ */

const char *source_slice(struct arena *a, const struct cfront_source *s, size_t begin, size_t end);
/* Index of the first token that begins at or after the offset; token_count if none. Comments count. */
size_t token_at(const struct cfront_source *s, size_t offset);
bool token_is(const struct cfront_source *s, size_t token, const char *text);
/* The next token that is no comment; token_count where there is none. */
size_t token_next(const struct cfront_source *s, size_t token);
/* End of a declaration, with its semicolon and attributes behind the name. */
size_t declaration_end(const struct cfront_source *s, const struct cfront_node *n);
/* The comment that stands directly above the offset's line, or NULL. One that begins with "Why:" is passed over: it is
 * not copied (templates/template.h). */
const char *comment_above(struct arena *a, const struct cfront_source *s, size_t offset);
/* Part of a path behind the last slash. */
const char *base_name(const char *path);

/* ---- the stages -------------------------------------------------------------------------------------------------- */

bool read_helpers(struct gen *g, const char *path) MUST_USE; /* read_headers.c */
/* A function of the runtime, or NULL. */
const struct template_helper *find_helper(const struct gen *g, const char *name);
void add_kernel_header(struct gen *g, const char *path);
/* The header of kernels that has this file: itself, or the one that includes it for each type. NULL: none. */
const char *kernel_header(struct gen *g, const char *path);
/* Such a file ends so. */
#define BODY "_body.h"
bool read_template(struct gen *g, const char *path) MUST_USE;                /* read_template.c */
void write_trees(struct gen *g, struct strbuf *out, const char *table_name); /* write_trees.c */

#endif
