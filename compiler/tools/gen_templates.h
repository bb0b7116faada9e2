/* What the files of the build tool gen_templates share. */
#ifndef STEPC_TOOLS_GEN_TEMPLATES_H
#define STEPC_TOOLS_GEN_TEMPLATES_H

#include "base/map.h"
#include "cfront/cfront.h"
#include "lower/template.h"

/* One stretch of the source file that becomes part `i` of a segment. */
struct edit_part {
    size_t begin, end;
    int dedent;    /* columns by which its lines move left */
    int column;    /* IF: where the `if` stands */
    bool braces;   /* IF: the block keeps its braces, at `column` */
    bool lead;     /* IF: [begin, end) starts behind an `else`: `column` spaces go before it */
    bool one_line; /* line ends become spaces */
};

/* A stretch of the source file that becomes a segment. Edits nest; they never overlap otherwise. */
struct edit {
    size_t begin, end;
    enum template_segment_kind kind;
    const char *text, *from;
    int column;
    bool bare, alone;
    struct edit_part *parts;
    size_t part_count;
};

typedef VEC(struct edit) edit_list;

enum role { ROLE_NONE, ROLE_INT, ROLE_TYPE, ROLE_EXPR, ROLE_STMT, ROLE_ITEM, ROLE_KERNEL, ROLE_PARAM };

/* A function (kernel or item), typedef or table of a template file on its way into the table. */
struct unit {
    const struct cfront_node *node;
    enum role role;
    edit_list edits;
    bool calls_holes;  /* statement or expression holes, itself or through an item: takes captures */
    bool own;          /* depends on more than types */
    const char **types; /* NULL-terminated type holes it depends on */
};

struct gen {
    struct arena *arena;
    struct diag *diag;
    const char *const *include_dirs;
    VEC(struct template_kernel) kernels;
    VEC(struct template_helper) helpers;
    VEC(struct template_section) sections;
    VEC(const char *) helper_files; /* base names */
    struct map typed_names;         /* declared by sections that depend on types; values unused */
};

/* A loop over an integer hole that can be left out (loops.c). */
struct hole_loop {
    const struct cfront_node *variable;
    const char *id; /* in segments LOOP and INDEX */
};

/* One template file being read. */
struct file_reader {
    struct gen *g;
    struct cfront_source source;
    const char *base;
    VEC(struct unit) units;                      /* in file order */
    struct { const struct cfront_node *node; enum role role; } *roles; /* of top-level names */
    size_t role_count;
    VEC(const char *) names;                     /* declared in kernels and items, each once */
    VEC(struct hole_loop) loops;                 /* of all units so far */
    struct unit *unit;                           /* whose edits are being collected */
};

/* An error of the file being read; false. */
#define ERROR_AT(r, offset, ...)                                                                                       \
    diag_error((r)->g->diag, &(struct loc[]){cfront_loc(&(r)->source, (offset))}[0], __VA_ARGS__)

/* ---- source.c: questions about source text and tokens ------------------------------------------------------------ */

const char *source_slice(struct arena *a, const struct cfront_source *s, size_t begin, size_t end);
/* Index of the first token that begins at or after the offset; token_count if none. Comments count. */
size_t token_at(const struct cfront_source *s, size_t offset);
bool token_is(const struct cfront_source *s, size_t token, const char *text);
/* The next or previous token that is no comment; token_count where there is none. */
size_t token_next(const struct cfront_source *s, size_t token);
size_t token_previous(const struct cfront_source *s, size_t token);
/* Token of the bracket that closes the one at `token`; token_count if there is none. */
size_t token_closing(const struct cfront_source *s, size_t token);
/* Do delimiters stand on both sides of [begin, end), so that any expression may stand there without parentheses? */
bool stands_bare(const struct cfront_source *s, size_t begin, size_t end);
size_t line_begin(const struct cfront_source *s, size_t offset);
size_t line_end(const struct cfront_source *s, size_t offset); /* behind the newline */
int column_of(const struct cfront_source *s, size_t offset);
bool blank_between(const struct cfront_source *s, size_t begin, size_t end);
/* End of a statement or declaration including its semicolon. */
size_t statement_end(const struct cfront_source *s, const struct cfront_node *n);
/* A comment that is not copied: "Why: ..." on lines of its own (templates/template.h). */
bool comment_stays(const struct cfront_source *s, size_t token);
/* The comment that stands directly above the offset's line, or NULL; those that stay are passed over. */
const char *comment_above(struct arena *a, const struct cfront_source *s, size_t offset);
/* Part of a path behind the last slash. */
const char *base_name(const char *path);

/* ---- conditions.c ------------------------------------------------------------------------------------------------ */

/* The expression [begin, end) in postfix if it is made of integer holes and literals only (at least one hole), else
 * NULL. */
const char *static_condition(const struct file_reader *r, size_t begin, size_t end);
bool is_int_hole(const struct file_reader *r, const char *name);

/* ---- decided.c --------------------------------------------------------------------------------------------------- */

struct decided {
    const struct cfront_node *outermost; /* what vanishes: a loop, or an if with all its else-ifs */
    int column;
};

bool decided_if(struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *n,
                const char *condition) MUST_USE;
bool decided_choice(struct file_reader *r, const struct cfront_node *n, const char *condition) MUST_USE;
/* Do lines end behind { and before }? */
bool is_broken_into_lines(const struct cfront_source *s, const struct cfront_node *block);
/* What takes the place of `d` if this branch of it (of a loop: its body) stays. */
bool branch_part(struct file_reader *r, const struct cfront_node *branch, const struct decided *d,
                 struct edit_part *out) MUST_USE;

/* ---- loops.c ----------------------------------------------------------------------------------------------------- */

/* Notes the loop `n` if it is one over an integer hole that can be left out. */
void hole_loop(struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *n);
/* Notes the name `n` if it is the variable of such a loop. */
void loop_variable(struct file_reader *r, const struct cfront_node *n);

/* ---- the stages
 * ------------------------------------------------------------------------------------------------------ */

bool read_helpers(struct gen *g, const char *path) MUST_USE;  /* read_headers.c */
bool read_section(struct gen *g, const char *path) MUST_USE;
bool read_template(struct gen *g, const char *path) MUST_USE; /* read_template.c */
bool collect_edits(struct file_reader *r, struct unit *u) MUST_USE; /* collect.c */
void add_edit(struct file_reader *r, struct edit e);
/* Is it the call of a statement hole? */
bool calls_statement_hole(const struct file_reader *r, const struct cfront_node *n);
/* Text of [begin, end) with the unit's edits as segments (segments.c). Edits must be sorted by sort_edits(). */
struct template_text make_segments(const struct file_reader *r, const edit_list *edits, size_t begin, size_t end,
                                   int dedent);
void sort_edits(edit_list *edits);
void write_table(struct gen *g, struct strbuf *out, const char *table_name); /* write_table.c */

#endif
