/* The table as C source: plain initialised data, leaves before what points to them. */
#include "tools/gen_templates.h"

#include <string.h>

struct table_writer {
    struct arena *a;
    struct strbuf *out;
    unsigned texts, parts; /* arrays so far, for their names */
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
                                         [TEMPLATE_INT] = "TEMPLATE_INT",
                                         [TEMPLATE_TYPE] = "TEMPLATE_TYPE",
                                         [TEMPLATE_LITERAL] = "TEMPLATE_LITERAL",
                                         [TEMPLATE_PARAM] = "TEMPLATE_PARAM",
                                         [TEMPLATE_ITEM] = "TEMPLATE_ITEM",
                                         [TEMPLATE_HELPER] = "TEMPLATE_HELPER",
                                         [TEMPLATE_SECTION] = "TEMPLATE_SECTION",
                                         [TEMPLATE_EXPR] = "TEMPLATE_EXPR",
                                         [TEMPLATE_STMT] = "TEMPLATE_STMT",
                                         [TEMPLATE_IF] = "TEMPLATE_IF",
                                         [TEMPLATE_LOOP] = "TEMPLATE_LOOP",
                                         [TEMPLATE_INDEX] = "TEMPLATE_INDEX",
                                         [TEMPLATE_CAPTURE_PARAMS] = "TEMPLATE_CAPTURE_PARAMS",
                                         [TEMPLATE_CAPTURE_ARGS] = "TEMPLATE_CAPTURE_ARGS"};

static const char *write_text(struct table_writer *w, const struct template_text *t);

/* Returns the name of the array of parts, or "NULL". */
static const char *write_parts(struct table_writer *w, const struct template_segment *s)
{
    if (s->part_count == 0)
        return "NULL";
    const char **texts = arena_array(w->a, const char *, s->part_count);
    for (size_t i = 0; i < s->part_count; i++)
        texts[i] = write_text(w, &s->parts[i]);
    const char *name = arena_printf(w->a, "parts_%u", w->parts++);
    strbuf_addf(w->out, "static const struct template_text %s[] = {", name);
    for (size_t i = 0; i < s->part_count; i++)
        strbuf_addf(w->out, "%s%s", i ? ", " : "", texts[i]);
    strbuf_add(w->out, "};\n");
    return name;
}

static void write_segment(struct table_writer *w, const struct template_segment *s, const char *parts)
{
    strbuf_addf(w->out, "    {.kind = %s, .text = ", kind_names[s->kind]);
    add_string(w->out, s->text);
    if (s->from) {
        strbuf_add(w->out, ", .from = ");
        add_string(w->out, s->from);
    }
    if (s->indent)
        strbuf_addf(w->out, ", .indent = %d", s->indent);
    strbuf_add(w->out, s->bare ? ", .bare = true" : "");
    strbuf_add(w->out, s->alone ? ", .alone = true" : "");
    if (s->part_count)
        strbuf_addf(w->out, ", .parts = %s, .part_count = %zu", parts, s->part_count);
    strbuf_add(w->out, "},\n");
}

/* Writes the arrays of a text; returns its initialiser. */
static const char *write_text(struct table_writer *w, const struct template_text *t)
{
    if (t->count == 0)
        return "{NULL, 0}";
    const char **parts = arena_array(w->a, const char *, t->count);
    for (size_t i = 0; i < t->count; i++)
        parts[i] = write_parts(w, &t->segments[i]);
    const char *name = arena_printf(w->a, "text_%u", w->texts++);
    strbuf_addf(w->out, "static const struct template_segment %s[] = {\n", name);
    for (size_t i = 0; i < t->count; i++)
        write_segment(w, &t->segments[i], parts[i]);
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

static const char *write_items(struct table_writer *w, const struct template_kernel *k, const char *stem)
{
    static const char *const suffixes[] = {"TEMPLATE_SHARED", "TEMPLATE_BY_TYPE", "TEMPLATE_OWN"};
    if (k->item_count == 0)
        return "NULL";
    const char **texts = arena_array(w->a, const char *, k->item_count);
    const char **types = arena_array(w->a, const char *, k->item_count);
    for (size_t i = 0; i < k->item_count; i++) {
        texts[i] = write_text(w, &k->items[i].text);
        types[i] = write_names(w, arena_printf(w->a, "types_%s", stem), k->items[i].name, k->items[i].types);
    }
    const char *name = arena_printf(w->a, "items_%s", stem);
    strbuf_addf(w->out, "static const struct template_item %s[] = {\n", name);
    for (size_t i = 0; i < k->item_count; i++) {
        strbuf_addf(w->out, "    {.name = \"%s\", .suffix = %s, .types = %s, .text = %s, .comment = ", k->items[i].name,
                    suffixes[k->items[i].suffix], types[i], texts[i]);
        add_string(w->out, k->items[i].comment);
        strbuf_add(w->out, "},\n");
    }
    strbuf_add(w->out, "};\n");
    return name;
}

static const char *write_params(struct table_writer *w, const struct template_kernel *k)
{
    if (k->param_count == 0)
        return "NULL";
    const char **texts = arena_array(w->a, const char *, k->param_count);
    for (size_t i = 0; i < k->param_count; i++)
        texts[i] = write_text(w, &k->params[i].declaration);
    strbuf_addf(w->out, "static const struct template_param params_%s[] = {\n", k->name);
    for (size_t i = 0; i < k->param_count; i++)
        strbuf_addf(w->out, "    {\"%s\", %s},\n", k->params[i].name, texts[i]);
    strbuf_add(w->out, "};\n");
    return arena_printf(w->a, "params_%s", k->name);
}

/* Kernels of one file share items and names. */
static const char *write_kernel(struct table_writer *w, const struct template_kernel *k,
                                const struct template_kernel *before, const char **items, const char **names)
{
    if (!before || !str_equal(before->file, k->file)) {
        const char *stem = arena_strndup(w->a, k->file, strcspn(k->file, "."));
        *items = write_items(w, k, stem);
        *names = write_names(w, "names", stem, k->names);
    }
    const char *params = write_params(w, k);
    const char *body = write_text(w, &k->body);
    struct strbuf row = {.arena = w->a};
    strbuf_addf(&row, "    {.name = \"%s\", .file = \"%s\", .form = ", k->name, k->file);
    add_string(&row, k->form);
    strbuf_add(&row, ", .comment = ");
    add_string(&row, k->comment);
    strbuf_addf(
        &row,
        ",\n     .names = %s, .params = %s, .param_count = %zu, .body = %s,\n     .items = %s, .item_count = %zu},\n",
        *names, params, k->param_count, body, *items, k->item_count);
    return strbuf_text(&row);
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
    struct strbuf kernels = {.arena = g->arena};
    const char *items = "NULL", *names = "NULL";
    for (size_t i = 0; i < g->kernels.count; i++)
        strbuf_add(&kernels, write_kernel(&w, &g->kernels.data[i], i ? &g->kernels.data[i - 1] : NULL, &items, &names));
    const char *helpers = helper_rows(&w, g), *sections = section_rows(&w, g);
    write_array(&w, "template_kernel", "kernels", strbuf_text(&kernels));
    write_array(&w, "template_helper", "helpers", helpers);
    write_array(&w, "template_section", "sections", sections);
    strbuf_addf(out, "\nextern const struct template_table %s;\nconst struct template_table %s = {\n"
                     "    .kernels = %s, .kernel_count = %zu,\n    .helpers = %s, .helper_count = %zu,\n"
                     "    .sections = %s, .section_count = %zu};\n",
                table_name, table_name, g->kernels.count ? "kernels" : "NULL", g->kernels.count,
                g->helpers.count ? "helpers" : "NULL", g->helpers.count, g->sections.count ? "sections" : "NULL",
                g->sections.count);
}
