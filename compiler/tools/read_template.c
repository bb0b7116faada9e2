/* One template file: what its top-level declarations are, then each kernel and item as a tree. */
#include "tools/parse.h"

#include <string.h>

/* ---- roles ------------------------------------------------------------------------------------------------------- */

static bool is_marked(const struct cfront_node *n, const char *mark)
{
    return n->annotation && str_equal(n->annotation, mark);
}

/* false: not one of the template's; samples for the bodies of holes. */
static bool role_of_declaration(const struct cfront_node *n, enum parameter_role *role)
{
    const bool is_hole = is_marked(n, "hole");
    if (n->kind == CFRONT_ENUMERATOR && is_hole)
        *role = ROLE_INT;
    else if (n->kind == CFRONT_TYPEDEF && is_hole)
        *role = ROLE_TYPE;
    else if (n->kind == CFRONT_FUNCTION && is_marked(n, "kernel"))
        *role = ROLE_KERNEL;
    else if (n->kind == CFRONT_FUNCTION && is_hole)
        *role = ROLE_HOLE;
    else if (n->kind == CFRONT_FUNCTION && n->is_static && n->is_definition)
        *role = ROLE_ITEM;
    else
        return false;
    return true;
}

static void add_top(struct parser *p, const struct cfront_node *n, enum parameter_role role)
{
    struct top_name t = {.node = n, .role = role};
    if (role == ROLE_INT) {
        t.hole = new_var(p, VAR_HOLE, n->name);
    } else if (role != ROLE_TYPE) {
        t.function = arena_new(p->g->arena, struct tree_function);
        t.function->name = n->name;
        t.function->place = (int)p->top.count;
    }
    vec_push(p->g->arena, &p->top, t);
}

static bool assign_roles(struct parser *p)
{
    bool ok = true;
    for (size_t i = 0; i < p->source.nodes.count; i++) {
        const struct cfront_node *const n = p->source.nodes.data[i];
        enum parameter_role role;
        if (!role_of_declaration(n, &role))
            continue;
        if (role == ROLE_KERNEL && !str_equal(n->type, "void"))
            ok = ERROR_AT(p, n->at, "kernel '%s' must return nothing", n->name);
        add_top(p, n, role);
    }
    return ok;
}

/* ---- names of other files ---------------------------------------------------------------------------------------- */

static bool is_emitted(const struct parser *p, const char *path)
{
    const char *const base = base_name(path);
    bool known = cfront_is_system(path) || str_equal(base, "stepc.h") || str_equal(base, "template.h");
    for (size_t i = 0; i < p->g->helper_files.count; i++)
        known |= str_equal(p->g->helper_files.data[i], base);
    return known || kernel_header(p->g, path) != NULL;
}

static bool find_outside(struct parser *p)
{
    bool ok = true;
    for (size_t i = 0; i < p->source.uses.count; i++) {
        const struct cfront_use *const u = &p->source.uses.data[i];
        if (u->is_macro && str_equal(u->file, p->source.path))
            ok = ERROR_AT(p, u->at,
                          "macro '%s' of the template file is not emitted: use a hole, a function or a header",
                          u->name);
        else if (u->file && u->name[0] && is_emitted(p, u->file))
            map_set(&p->outside, u->name, (void *)(uintptr_t)u->file);
    }
    return ok;
}

/* ---- into the table ---------------------------------------------------------------------------------------------- */

/* Names of the file's functions. */
static const char *const *function_names(struct parser *p)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < p->top.count; i++)
        if (p->top.data[i].role == ROLE_ITEM)
            vec_push(p->g->arena, &names, p->top.data[i].node->name);
    vec_push(p->g->arena, &names, NULL);
    return names.data;
}

static bool add_kernels(struct parser *p)
{
    struct arena *const a = p->g->arena;
    const char *const *const functions = function_names(p);
    bool any = false;
    for (size_t i = 0; i < p->top.count; i++) {
        const struct top_name *const t = &p->top.data[i];
        if (t->role != ROLE_KERNEL)
            continue;
        for (size_t k = 0; k < p->g->trees.count; k++)
            if (str_equal(p->g->trees.data[k].name, t->node->name))
                return ERROR_AT(p, t->node->at, "%s has a kernel '%s' as well", p->g->trees.data[k].file,
                                t->node->name);
        vec_push(a, &p->g->trees, ((struct template_kernel){.name = t->node->name, .file = p->base,
                                                            .function = t->function, .functions = functions}));
        any = true;
    }
    return any || diag_error(p->g->diag, &LOC_FILE(p->source.path), "no function is marked KERNEL here");
}

bool read_template(struct gen *g, const char *path)
{
    struct parser p = {.g = g, .base = arena_strdup(g->arena, base_name(path)), .outside = {.arena = g->arena}};
    if (!cfront_parse(g->diag, g->arena, path, g->include_dirs, &p.source))
        return false;
    bool ok = assign_roles(&p) && find_outside(&p);
    for (size_t i = 0; ok && i < p.top.count; i++) {
        const struct top_name *const t = &p.top.data[i];
        if (!t->function)
            continue;
        parse_function(&p, t, t->role == ROLE_ITEM || t->role == ROLE_KERNEL);
        ok = !p.failed;
    }
    return ok && add_kernels(&p);
}
