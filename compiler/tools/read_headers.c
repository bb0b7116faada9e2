/* Headers of the runtime: which functions they have, and how emitted files include them. */
#include "tools/gen_templates.h"

#include <string.h>

/* ---- functions --------------------------------------------------------------------------------------------------- */

const struct template_helper *find_helper(const struct gen *g, const char *name)
{
    for (size_t i = 0; i < g->helpers.count; i++)
        if (str_equal(g->helpers.data[i].name, name))
            return &g->helpers.data[i];
    return NULL;
}

/* Is there a double in [begin, end), or in a function that is named there? Read from tokens: branches of an #if that
 * are not active now count, too. */
static bool has_double(const struct gen *g, const struct cfront_source *s, size_t begin, size_t end)
{
    bool any = false;
    for (size_t t = token_at(s, begin); t < s->token_count && s->tokens[t].begin < end; t++) {
        const struct template_helper *const h =
            s->tokens[t].kind == CFRONT_IDENTIFIER
                ? find_helper(g, source_slice(g->arena, s, s->tokens[t].begin, s->tokens[t].end))
                : NULL;
        any |= token_is(s, t, "double") || (h && h->has_double);
    }
    return any;
}

static bool add_helper(struct gen *g, const struct cfront_source *s, const struct cfront_node *n)
{
    const struct loc at = cfront_loc(s, n->begin);
    if (find_helper(g, n->name))
        return diag_error(g->diag, &at, "'%s' is defined twice", n->name);
    const struct template_helper h = {.name = n->name, .file = arena_strdup(g->arena, base_name(s->path)),
                                      .has_double = has_double(g, s, n->begin, declaration_end(s, n))};
    vec_push(g->arena, &g->helpers, h);
    return true;
}

bool read_helpers(struct gen *g, const char *path)
{
    struct cfront_source s;
    if (!cfront_parse(g->diag, g->arena, path, g->include_dirs, &s))
        return false;
    vec_push(g->arena, &g->helper_files, arena_strdup(g->arena, base_name(path)));
    bool ok = true;
    for (size_t i = 0; i < s.nodes.count; i++) {
        const struct cfront_node *n = s.nodes.data[i];
        const bool is_table = n->kind == CFRONT_VARIABLE && n->is_static;
        const bool is_function = n->kind == CFRONT_FUNCTION && n->is_static && n->is_definition;
        const struct loc at = cfront_loc(&s, n->begin);
        if (is_table && !n->is_const)
            ok = diag_error(g->diag, &at, "'%s' is a variable: what is emitted has constants only", n->name);
        else if (is_table || is_function || n->kind == CFRONT_TYPEDEF)
            ok &= add_helper(g, &s, n);
    }
    return ok;
}

/* ---- headers of kernels ------------------------------------------------------------------------------------------ */

void add_kernel_header(struct gen *g, const char *path)
{
    const char *name = base_name(path);
    for (size_t i = 0; g->include_dirs[i]; i++) {
        const size_t n = strlen(g->include_dirs[i]);
        if (str_starts_with(path, g->include_dirs[i]) && path[n] == '/')
            name = path + n + 1;
    }
    vec_push(g->arena, &g->kernel_headers, arena_strdup(g->arena, name));
}

const char *kernel_header(struct gen *g, const char *path)
{
    const char *name = base_name(path);
    if (str_ends_with(name, BODY))
        name = arena_printf(g->arena, "%.*s.h", (int)(strlen(name) - strlen(BODY)), name);
    for (size_t i = 0; i < g->kernel_headers.count; i++)
        if (str_equal(base_name(g->kernel_headers.data[i]), name))
            return g->kernel_headers.data[i];
    return NULL;
}
