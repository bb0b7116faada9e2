/* Runtime headers, function by function, and headers that are embedded whole. */
#include "tools/gen_templates.h"

#include <string.h>

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int find_helper(const struct gen *g, const char *name)
{
    for (size_t i = 0; i < g->helpers.count; i++) {
        if (str_equal(g->helpers.data[i].name, name))
            return (int)i;
    }
    return -1;
}

/* Indices of the helpers named in [begin, end). Read from tokens: the branches of an #if that are not active now are
 * copied too. */
static const uint16_t *needs_of(struct gen *g, const struct cfront_source *s, size_t begin, size_t end, size_t *count)
{
    VEC(uint16_t) needs = {0};
    for (size_t t = token_at(s, begin); t < s->token_count && s->tokens[t].begin < end; t++) {
        if (s->tokens[t].kind != CFRONT_IDENTIFIER)
            continue;
        const int h = find_helper(g, source_slice(g->arena, s, s->tokens[t].begin, s->tokens[t].end));
        bool known = h < 0;
        for (size_t i = 0; !known && i < needs.count; i++)
            known = needs.data[i] == h;
        if (!known)
            vec_push(g->arena, &needs, (uint16_t)h);
    }
    *count = needs.count;
    return needs.data;
}

/* A copied function stands without the macros of its header. */
static bool uses_no_own_macro(struct gen *g, const struct cfront_source *s, const struct cfront_node *n)
{
    for (size_t i = 0; i < s->macro_count; i++) {
        const struct cfront_macro_use *m = &s->macros[i];
        const struct loc at = cfront_loc(s, m->at);
        if (m->at >= n->begin && m->at < n->end && m->file && str_equal(m->file, s->path))
            return diag_error(g->diag, &at, "'%s' uses macro '%s' of its header, which is not copied with it", n->name,
                              m->name);
    }
    return true;
}

static bool add_helper(struct gen *g, const struct cfront_source *s, const struct cfront_node *n)
{
    const size_t end = statement_end(s, n);
    const struct loc at = cfront_loc(s, n->begin);
    if (find_helper(g, n->name) >= 0)
        return diag_error(g->diag, &at, "'%s' is defined twice", n->name);
    struct template_helper h = {.name = n->name, .file = arena_strdup(g->arena, base_name(s->path)),
                                .comment = comment_above(g->arena, s, n->begin),
                                .text = arena_printf(g->arena, "%s\n", source_slice(g->arena, s, n->begin, end))};
    h.needs = needs_of(g, s, n->begin, end, &h.need_count);
    vec_push(g->arena, &g->helpers, h);
    return uses_no_own_macro(g, s, n);
}

bool read_helpers(struct gen *g, const char *path)
{
    struct cfront_source s;
    if (!cfront_parse(g->diag, g->arena, path, g->include_dirs, &s))
        return false;
    vec_push(g->arena, &g->helper_files, arena_strdup(g->arena, base_name(path)));
    bool ok = true;
    for (size_t i = 0; i < s.node_count; i++) {
        const struct cfront_node *n = s.nodes[i];
        const bool constant = n->kind == CFRONT_VARIABLE && n->is_static && n->is_const;
        if ((n->kind == CFRONT_FUNCTION && n->is_static && n->is_definition) || n->kind == CFRONT_TYPEDEF || constant)
            ok &= add_helper(g, &s, n);
    }
    return ok;
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

static bool line_starts(const struct cfront_source *s, size_t line, const char *what)
{
    return line + strlen(what) <= s->size && !strncmp(s->text + line, what, strlen(what));
}

/* Begin of the text behind "#ifndef GUARD", "#define GUARD"; SIZE_MAX without them. */
static size_t behind_guard(const struct cfront_source *s)
{
    for (size_t line = 0; line < s->size; line = line_end(s, line)) {
        if (line_starts(s, line, "#ifndef ") && line_starts(s, line_end(s, line), "#define "))
            return line_end(s, line_end(s, line));
    }
    return SIZE_MAX;
}

static size_t last_endif(const struct cfront_source *s)
{
    size_t last = s->size;
    for (size_t line = 0; line < s->size; line = line_end(s, line)) {
        if (line_starts(s, line, "#endif"))
            last = line;
    }
    return last;
}

/* The token before "__attribute__((...))" that ends at the ')' t; t itself where none ends there. */
static size_t before_attribute(const struct cfront_source *s, size_t t)
{
    int depth = 0;
    for (size_t u = t; u < s->token_count; u = token_previous(s, u)) {
        depth += token_is(s, u, ")");
        depth -= token_is(s, u, "(");
        if (depth == 0)
            return token_is(s, token_previous(s, u), "__attribute__") ? token_previous(s, token_previous(s, u)) : t;
    }
    return t;
}

/* Names that a header declares at its top level, in active and inactive parts alike: macros, structs, and from
 * typedefs and functions the name. Lexical, since clang shows one form only. */
static bool is_declared_at(const struct cfront_source *s, size_t t)
{
    const size_t before = token_previous(s, t);
    if (token_is(s, before, "define") && token_is(s, token_previous(s, before), "#"))
        return true;
    if (token_is(s, before, "struct"))
        return token_is(s, token_next(s, t), "{");
    for (size_t u = before; u < s->token_count; u = token_previous(s, u)) {
        if (token_is(s, u, ")"))
            u = before_attribute(s, u);
        if (token_is(s, u, "typedef")) /* the last name before attributes or the end */
            return token_is(s, token_next(s, t), ";") || token_is(s, token_next(s, t), "__attribute__");
        if (token_is(s, u, "static"))
            return token_is(s, token_next(s, t), "(");
        if (s->tokens[u].kind == CFRONT_PUNCTUATION && !token_is(s, u, "*"))
            return false;
    }
    return false;
}

static void find_declared(struct gen *g, const struct cfront_source *s, size_t begin, size_t end, struct map *names)
{
    int depth = 0;
    for (size_t t = token_at(s, begin); t < s->token_count && s->tokens[t].begin < end; t++) {
        depth += token_is(s, t, "{");
        depth -= token_is(s, t, "}");
        if (s->tokens[t].kind == CFRONT_IDENTIFIER && depth == 0 && is_declared_at(s, t))
            map_set(names, source_slice(g->arena, s, s->tokens[t].begin, s->tokens[t].end), NULL);
    }
}

struct section_reader {
    struct gen *g;
    const struct cfront_source *s;
    struct template_section *section;
    struct map declared; /* by it and by sections above that depend on types */
    VEC(struct template_segment) segments;
    VEC(uint16_t) needs;
};

static void add_segment(struct section_reader *r, enum template_segment_kind kind, size_t begin, size_t end)
{
    if (begin < end)
        vec_push(r->g->arena, &r->segments,
                 ((struct template_segment){.kind = kind, .text = source_slice(r->g->arena, r->s, begin, end)}));
}

/* What clang sees declared in the form that is active: a name not found by its tokens would be the
 * same for every type. */
static bool none_is_missed(const struct section_reader *r)
{
    for (size_t i = 0; i < r->s->node_count; i++) {
        const struct cfront_node *n = r->s->nodes[i];
        const bool names = n->kind == CFRONT_FUNCTION || n->kind == CFRONT_TYPEDEF;
        const struct loc at = cfront_loc(r->s, n->begin);
        if (names && !map_has(&r->declared, n->name))
            return diag_error(r->g->diag, &at, "'%s' is declared in a form that is not read here", n->name);
    }
    return true;
}

/* One run of lines as segments, without the comments that stay. */
static void add_stretch(struct section_reader *r, size_t begin, size_t end)
{
    const struct cfront_source *s = r->s;
    for (size_t t = token_at(s, begin); t < s->token_count && s->tokens[t].begin < end; t++) {
        const struct cfront_token *k = &s->tokens[t];
        if (comment_stays(s, t)) {
            add_segment(r, TEMPLATE_TEXT, begin, line_begin(s, k->begin));
            begin = line_end(s, k->end);
            continue;
        }
        const bool type = k->kind == CFRONT_KEYWORD && token_is(s, t, "float");
        const bool name = k->kind == CFRONT_IDENTIFIER && r->section->by_type &&
                          map_has(&r->declared, source_slice(r->g->arena, s, k->begin, k->end));
        if (!type && !name)
            continue;
        add_segment(r, TEMPLATE_TEXT, begin, k->begin);
        add_segment(r, type ? TEMPLATE_TYPE : TEMPLATE_SECTION, k->begin, k->end);
        begin = k->end;
    }
    add_segment(r, TEMPLATE_TEXT, begin, end);
}

/* #include "tile.h": a section above this one. */
static void add_need(struct section_reader *r, size_t line)
{
    for (size_t i = 0; i < r->g->sections.count; i++) {
        if (line_starts(r->s, line, arena_printf(r->g->arena, "#include \"%s.h\"", r->g->sections.data[i].name)))
            vec_push(r->g->arena, &r->needs, (uint16_t)i);
    }
}

/* Does it say `float`, or name what a section above says of it? */
static bool depends_on_type(struct gen *g, const struct cfront_source *s, size_t begin, size_t end)
{
    for (size_t t = token_at(s, begin); t < s->token_count && s->tokens[t].begin < end; t++) {
        const struct cfront_token *const k = &s->tokens[t];
        if (token_is(s, t, "float") || (k->kind == CFRONT_IDENTIFIER &&
                                        map_has(&g->typed_names, source_slice(g->arena, s, k->begin, k->end))))
            return true;
    }
    return false;
}

static void read_section_lines(struct section_reader *r, size_t begin, size_t end)
{
    const struct cfront_source *s = r->s;
    while (end > begin && s->text[end - 1] == '\n' && s->text[end - 2] == '\n')
        end--;
    while (begin < end && (blank_between(s, begin, line_end(s, begin)) || line_starts(s, begin, "#include"))) {
        add_need(r, begin);
        begin = line_end(s, begin);
    }
    for (size_t line = begin; line < end; line = line_end(s, line)) {
        if (!line_starts(s, line, "#include"))
            continue;
        add_need(r, line);
        add_stretch(r, begin, line);
        begin = line_end(s, line);
    }
    add_stretch(r, begin, end);
}

bool read_section(struct gen *g, const char *path)
{
    struct cfront_source s;
    if (!cfront_parse(g->diag, g->arena, path, g->include_dirs, &s))
        return false;
    const size_t begin = behind_guard(&s), end = last_endif(&s);
    if (begin == SIZE_MAX || begin > end)
        return diag_error(g->diag, &LOC_FILE(path),
                          "an embedded header needs an include guard (#ifndef, #define, #endif)");
    const char *base = base_name(path);
    struct template_section section = {.name = arena_strndup(g->arena, base, strcspn(base, ".")),
                                       .by_type = depends_on_type(g, &s, begin, end)};
    struct section_reader r = {.g = g, .s = &s, .section = &section, .declared = {.arena = g->arena}};
    if (section.by_type) {
        find_declared(g, &s, begin, end, &g->typed_names);
        r.declared = g->typed_names;
        if (!none_is_missed(&r))
            return false;
    }
    read_section_lines(&r, begin, end);
    section.text = (struct template_text){r.segments.data, r.segments.count};
    section.needs = r.needs.data;
    section.need_count = r.needs.count;
    section.helpers = needs_of(g, &s, begin, end, &section.helper_count);
    vec_push(g->arena, &g->sections, section);
    return true;
}
