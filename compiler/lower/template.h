/* What emitted files take from templates/ and runtime/ as it stands: the table that the build makes
 * (tools/gen_templates.c). Kernel templates themselves are trees (tree/template.h). */
#ifndef STEPC_LOWER_TEMPLATE_H
#define STEPC_LOWER_TEMPLATE_H

#include "base/str.h"
#include "base/vec.h"
#include <stdint.h>

/* ---- the table: generated data, read-only ------------------------------------------------------------------------ */

enum template_segment_kind {
    TEMPLATE_TEXT,   /* text as it stands */
    TEMPLATE_TYPE,   /* the type of elements */
    TEMPLATE_SECTION /* `text`, something that this section or one like it declares */
};

struct template_segment {
    enum template_segment_kind kind;
    const char *text;
};

struct template_text {
    const struct template_segment *segments;
    size_t count;
};

/* What must be known of a kernel template before its tree (tree/template.h) is built. */
struct template_facts {
    const char *name;         /* "product" */
    const char *const *ints;  /* integer holes of its functions, NULL-terminated; NULL: none */
};

/* One function (or constant) of runtime/stepc_math.h and the like, to be copied with all it needs. */
struct template_helper {
    const char *name, *file;
    const char *comment; /* or NULL */
    const char *text;
    const uint16_t *needs; /* indices of helpers, all above this one */
    size_t need_count;
};

/* A header that is embedded whole, without include guard, #include lines and what stands above the guard. One that says
 * `float` is written for float and can be had for other types, its names with the type as suffix (tile_double). */
struct template_section {
    const char *name;          /* "registers" */
    struct template_text text; /* TYPE: the type; SECTION: what it or another such section declares */
    bool by_type;
    const uint16_t *needs;     /* indices of sections, all above this one */
    size_t need_count;
    const uint16_t *helpers;   /* indices of helpers that it calls */
    size_t helper_count;
};

struct template_table {
    const struct template_facts *facts;
    size_t fact_count;
    const struct template_helper *helpers; /* in file order */
    size_t helper_count;
    const struct template_section *sections;
    size_t section_count;
};

extern const struct template_table template_table; /* of templates/ and runtime/ */

/* Each NULL where there is none of the name. */
const struct template_facts *template_find(const struct template_table *t, const char *name);
const struct template_helper *template_find_helper(const struct template_table *t, const char *name);
const struct template_section *template_find_section(const struct template_table *t, const char *name);

/* Has the template the integer hole `name`? */
bool template_has_int(const struct template_facts *t, const char *name);

/* Marks helper `name` and what it needs in used[helper_count]; emit the marked ones in order. */
void template_use_helper(const struct template_table *t, const char *name, bool *used);

/* ---- sections ---------------------------------------------------------------------------------------------------- */

/* A section that is used, for elements of a C type. */
struct template_use {
    const char *name, *type;
};

/* Appends the used sections and what they need, in the table's order, an empty line between two; marks the helpers that
 * they call in helpers_used[helper_count] (may be NULL). */
void template_add_sections(struct arena *a, const struct template_table *t, const struct template_use *uses,
                           size_t count, struct strbuf *out, bool *helpers_used);

#endif
