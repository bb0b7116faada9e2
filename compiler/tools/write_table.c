/* The table as C source: plain initialised data, leaves before what points to them. */
#include "tools/gen_templates.h"

#include <string.h>

struct table_writer {
    struct arena *a;
    struct strbuf *out;
    unsigned texts; /* arrays so far, for their names */
};

/* A C string, broken behind each newline. "" and NULL are told apart. */
static void add_string(struct strbuf *b, const char *s)
{
    if (!s) {
        strbuf_add(b, "NULL");
        return;
    }
    strbuf_add(b, "\"");
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '\n')
            strbuf_add(b, s[1] ? "\\n\"\n    \"" : "\\n");
        else if (c == '"' || c == '\\' || c == '?') /* no trigraphs */
            strbuf_addf(b, "\\%c", c);
        else if (c < 32 || c > 126)
            strbuf_addf(b, "\\%03o", c);
        else
            strbuf_addf(b, "%c", c);
    }
    strbuf_add(b, "\"");
}

static const char *const kind_names[] = {[TEMPLATE_TEXT] = "TEMPLATE_TEXT",
                                         [TEMPLATE_TYPE] = "TEMPLATE_TYPE",
                                         [TEMPLATE_SECTION] = "TEMPLATE_SECTION"};

/* Writes the array of a text; returns its initialiser. */
static const char *write_text(struct table_writer *w, const struct template_text *t)
{
    if (t->count == 0)
        return "{NULL, 0}";
    const char *name = arena_printf(w->a, "text_%u", w->texts++);
    strbuf_addf(w->out, "static const struct template_segment %s[] = {\n", name);
    for (size_t i = 0; i < t->count; i++) {
        strbuf_addf(w->out, "    {.kind = %s, .text = ", kind_names[t->segments[i].kind]);
        add_string(w->out, t->segments[i].text);
        strbuf_add(w->out, "},\n");
    }
    strbuf_add(w->out, "};\n");
    return arena_printf(w->a, "{%s, %zu}", name, t->count);
}

/* A NULL-terminated array of names; returns its name, or "NULL". */
static const char *write_names(struct table_writer *w, const char *prefix, const char *owner, const char *const *names)
{
    if (!names || !names[0])
        return "NULL";
    const char *array = arena_printf(w->a, "%s_%s", prefix, owner);
    strbuf_addf(w->out, "static const char *const %s[] = {", array);
    for (; *names; names++) {
        add_string(w->out, *names);
        strbuf_add(w->out, ", ");
    }
    strbuf_add(w->out, "NULL};\n");
    return array;
}

static const char *write_needs(struct table_writer *w, const char *prefix, const char *owner, const uint16_t *needs,
                               size_t count)
{
    if (count == 0)
        return "NULL, 0";
    strbuf_addf(w->out, "static const uint16_t %s_%s[] = {", prefix, owner);
    for (size_t i = 0; i < count; i++)
        strbuf_addf(w->out, "%s%u", i ? ", " : "", needs[i]);
    strbuf_add(w->out, "};\n");
    return arena_printf(w->a, "%s_%s, %zu", prefix, owner, count);
}

/* What instantiation, and who cuts kernels, ask of a template. */
static const char *fact_rows(struct table_writer *w, const struct gen *g)
{
    struct strbuf rows = {.arena = w->a};
    for (size_t i = 0; i < g->facts.count; i++)
        strbuf_addf(&rows, "    {\"%s\", %s},\n", g->facts.data[i].name,
                    write_names(w, "ints", g->facts.data[i].name, g->facts.data[i].ints));
    return strbuf_text(&rows);
}

static void write_array(struct table_writer *w, const char *type, const char *name, const char *rows)
{
    if (*rows)
        strbuf_addf(w->out, "\nstatic const struct %s %s[] = {\n%s};\n", type, name, rows);
    else
        strbuf_addf(w->out, "\nstatic const struct %s *const %s = NULL;\n", type, name);
}

static const char *helper_rows(struct table_writer *w, const struct gen *g)
{
    struct strbuf rows = {.arena = w->a};
    for (size_t i = 0; i < g->helpers.count; i++) {
        const struct template_helper *h = &g->helpers.data[i];
        const char *needs = write_needs(w, "needs", h->name, h->needs, h->need_count);
        strbuf_addf(&rows, "    {\"%s\", \"%s\",\n    ", h->name, h->file);
        add_string(&rows, h->comment);
        strbuf_add(&rows, ",\n    ");
        add_string(&rows, h->text);
        strbuf_addf(&rows, ",\n    %s},\n", needs);
    }
    return strbuf_text(&rows);
}

static const char *section_rows(struct table_writer *w, const struct gen *g)
{
    struct strbuf rows = {.arena = w->a};
    for (size_t i = 0; i < g->sections.count; i++) {
        const struct template_section *s = &g->sections.data[i];
        const char *text = write_text(w, &s->text);
        const char *needs = write_needs(w, "section_needs", s->name, s->needs, s->need_count);
        const char *helpers = write_needs(w, "section_helpers", s->name, s->helpers, s->helper_count);
        strbuf_addf(&rows, "    {\"%s\", %s, %s, %s, %s},\n", s->name, text, s->by_type ? "true" : "false", needs,
                    helpers);
    }
    return strbuf_text(&rows);
}

void write_table(struct gen *g, struct strbuf *out, const char *table_name)
{
    struct table_writer w = {.a = g->arena, .out = out};
    strbuf_add(out, "/* Generated by gen_templates from kernel templates and runtime headers; do not edit. */\n"
                    "#include \"lower/template.h\"\n\n");
    const char *const facts = fact_rows(&w, g);
    const char *helpers = helper_rows(&w, g), *sections = section_rows(&w, g);
    write_array(&w, "template_facts", "facts", facts);
    write_array(&w, "template_helper", "helpers", helpers);
    write_array(&w, "template_section", "sections", sections);
    strbuf_addf(out, "\nextern const struct template_table %s;\nconst struct template_table %s = {\n"
                     "    .facts = %s, .fact_count = %zu,\n    .helpers = %s, .helper_count = %zu,\n"
                     "    .sections = %s, .section_count = %zu};\n",
                table_name, table_name, g->facts.count ? "facts" : "NULL", g->facts.count,
                g->helpers.count ? "helpers" : "NULL", g->helpers.count, g->sections.count ? "sections" : "NULL",
                g->sections.count);
}
