/* Looking things up in the table of templates, and the sections that a file needs as one text. */
#include "lower/template.h"

#include <string.h>

/* ---- lookup ------------------------------------------------------------------------------------------------------ */

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

const struct template_section *template_find_section(const struct template_table *t, const char *name)
{
    for (size_t i = 0; i < t->section_count; i++) {
        if (str_equal(t->sections[i].name, name))
            return &t->sections[i];
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

static void use_with_needs(const struct template_table *t, size_t i, bool *used)
{
    if (used[i])
        return;
    used[i] = true;
    for (size_t n = 0; n < t->helpers[i].need_count; n++)
        use_with_needs(t, t->helpers[i].needs[n], used);
}

void template_use_helper(const struct template_table *t, const char *name, bool *used)
{
    const struct template_helper *h = template_find_helper(t, name);
    if (!h)
        UNREACHABLE("no runtime function '%s'", name);
    use_with_needs(t, (size_t)(h - t->helpers), used);
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

/* Is section i, for this type where types matter, used or needed by a used one? */
static bool section_is_needed(const struct template_table *t, size_t i, const struct template_use *uses, size_t count,
                              const char *type)
{
    for (size_t u = 0; u < count; u++) {
        if (str_equal(uses[u].name, t->sections[i].name) && (!t->sections[i].by_type || str_equal(uses[u].type, type)))
            return true;
    }
    for (size_t s = i + 1; s < t->section_count; s++) { /* needs point upwards */
        for (size_t n = 0; n < t->sections[s].need_count; n++) {
            if (t->sections[s].needs[n] == i && section_is_needed(t, s, uses, count, type))
                return true;
        }
    }
    return false;
}

static void add_section(struct arena *a, const struct template_table *t, size_t i, const char *type, struct strbuf *out,
                        bool *helpers_used)
{
    const struct template_section *section = &t->sections[i];
    strbuf_add(out, out->length ? "\n" : "");
    for (size_t s = 0; s < section->text.count; s++) {
        const struct template_segment *segment = &section->text.segments[s];
        const bool suffix = segment->kind == TEMPLATE_SECTION && !str_equal(type, "float");
        strbuf_add(out, segment->kind == TEMPLATE_TYPE ? type : segment->text);
        strbuf_add(out, suffix ? arena_printf(a, "_%s", type) : "");
    }
    for (size_t h = 0; helpers_used && h < section->helper_count; h++)
        use_with_needs(t, section->helpers[h], helpers_used);
}

void template_add_sections(struct arena *a, const struct template_table *t, const struct template_use *uses,
                           size_t count, struct strbuf *out, bool *helpers_used)
{
    for (size_t i = 0; i < t->section_count; i++) {
        bool done = false; /* a section without types serves all */
        for (size_t u = 0; u < count && !done; u++) {
            bool repeated = false;
            for (size_t v = 0; v < u; v++)
                repeated |= str_equal(uses[v].type, uses[u].type);
            if (repeated || !section_is_needed(t, i, uses, count, uses[u].type))
                continue;
            add_section(a, t, i, uses[u].type, out, helpers_used);
            done = !t->sections[i].by_type;
        }
    }
}
