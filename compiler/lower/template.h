/* What must be known of templates/ and of the routines of runtime/ that emitted files call: the table that the build
 * makes (tools/gen_templates.c). Kernel templates themselves are trees (tree/template.h). */
#ifndef STEPC_LOWER_TEMPLATE_H
#define STEPC_LOWER_TEMPLATE_H

#include "base/str.h"
#include <stddef.h>

/* ---- the table: generated data, read-only ------------------------------------------------------------------------ */

/* What must be known of a kernel template before its tree (tree/template.h) is built. */
struct template_facts {
    const char *name;         /* "product" */
    const char *const *ints;  /* integer holes of its functions, NULL-terminated; NULL: none */
};

/* A function of runtime/stepc_math.h and the like. */
struct template_helper {
    const char *name, *file;
    bool has_double; /* it computes with double, or something that it calls does */
};

struct template_table {
    const struct template_facts *facts;
    size_t fact_count;
    const struct template_helper *helpers;
    size_t helper_count;
};

extern const struct template_table template_table; /* of templates/ and runtime/ */

/* Each NULL where there is none of the name. */
const struct template_facts *template_find(const struct template_table *t, const char *name);
const struct template_helper *template_find_helper(const struct template_table *t, const char *name);

/* Has the template the integer hole `name`? */
bool template_has_int(const struct template_facts *t, const char *name);

#endif
