/* Looking things up in the table of templates. */
#include "lower/template.h"

#include <string.h>

const struct template_facts *template_find(const struct template_table *t, const char *name)
{
    for (size_t i = 0; i < t->fact_count; i++)
        if (str_equal(t->facts[i].name, name))
            return &t->facts[i];
    return NULL;
}

const struct template_helper *template_find_helper(const struct template_table *t, const char *name)
{
    for (size_t i = 0; i < t->helper_count; i++) {
        if (str_equal(t->helpers[i].name, name))
            return &t->helpers[i];
    }
    return NULL;
}

bool template_has_int(const struct template_facts *t, const char *name)
{
    for (const char *const *i = t->ints; i && *i; i++)
        if (str_equal(*i, name))
            return true;
    return false;
}
