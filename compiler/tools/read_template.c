/* One template file: what its top-level declarations are, then each kernel and item as segments. */
#include "tools/gen_templates.h"

#include <string.h>

/* ---- roles ------------------------------------------------------------------------------------------------------- */

static enum role role_of_declaration(const struct cfront_node *n)
{
    const bool hole = n->annotation && str_equal(n->annotation, "hole");
    if (n->kind == CFRONT_FUNCTION && n->annotation && str_equal(n->annotation, "kernel"))
        return ROLE_KERNEL;
    if (n->kind == CFRONT_FUNCTION && hole)
        return str_equal(n->type, "void") ? ROLE_STMT : ROLE_EXPR;
    if (n->kind == CFRONT_TYPEDEF)
        return hole ? ROLE_TYPE : ROLE_ITEM;
    if (n->kind == CFRONT_FUNCTION)
        return n->is_static && n->is_definition ? ROLE_ITEM : ROLE_NONE;
    if (n->kind == CFRONT_VARIABLE)
        return n->is_static && n->is_const ? ROLE_ITEM
                                           : ROLE_NONE; /* anything else is a sample for the holes' bodies */
    return ROLE_NONE;
}

static void give_role(struct file_reader *r, const struct cfront_node *n, enum role role)
{
    r->roles[r->role_count].node = n;
    r->roles[r->role_count++].role = role;
}

static bool assign_roles(struct file_reader *r)
{
    const struct cfront_source *s = &r->source;
    size_t most = s->node_count;
    for (size_t i = 0; i < s->node_count; i++)
        most += s->nodes[i]->child_count;
    r->roles = arena_alloc(r->g->arena, most, sizeof *r->roles, alignof(max_align_t));
    bool ok = true;
    for (size_t i = 0; i < s->node_count; i++) {
        const struct cfront_node *n = s->nodes[i];
        const enum role role = role_of_declaration(n);
        if (n->kind == CFRONT_ENUM && n->annotation && str_equal(n->annotation, "hole")) {
            for (size_t e = 0; e < n->child_count; e++) {
                if (n->children[e]->kind == CFRONT_ENUMERATOR)
                    give_role(r, n->children[e], ROLE_INT);
            }
        } else if (role == ROLE_KERNEL && !str_equal(n->type, "void")) {
            ok = ERROR_AT(r, n->at, "kernel '%s' must return nothing", n->name);
        } else if (role != ROLE_NONE) {
            give_role(r, n, role);
        }
        if (role == ROLE_KERNEL || role == ROLE_ITEM)
            vec_push(r->g->arena, &r->units, ((struct unit){.node = n, .role = role}));
    }
    return ok;
}

/* ---- what items depend on ---------------------------------------------------------------------------------------- */

static struct unit *find_item(struct file_reader *r, const char *name)
{
    for (size_t i = 0; i < r->units.count; i++) {
        if (r->units.data[i].role == ROLE_ITEM && str_equal(r->units.data[i].node->name, name))
            return &r->units.data[i];
    }
    return NULL;
}

static void merge_types(struct file_reader *r, struct unit *u, const struct unit *from)
{
    VEC(const char *) all = {0};
    for (size_t i = 0; u->types && u->types[i]; i++)
        vec_push(r->g->arena, &all, u->types[i]);
    const size_t own = all.count;
    for (size_t i = 0; from->types && from->types[i]; i++) {
        bool known = false;
        for (size_t k = 0; k < own; k++)
            known |= str_equal(all.data[k], from->types[i]);
        if (!known)
            vec_push(r->g->arena, &all, from->types[i]);
    }
    vec_push(r->g->arena, &all, NULL);
    u->types = all.data;
}

/* In file order, so that what an item names is already settled. */
static bool settle_dependencies(struct file_reader *r, struct unit *u)
{
    for (size_t i = 0; i < u->edits.count; i++) {
        const struct edit *e = &u->edits.data[i];
        struct unit *item = e->kind == TEMPLATE_ITEM ? find_item(r, e->text) : NULL;
        if (!item || item == u)
            continue;
        if (item > u)
            return ERROR_AT(r, e->begin, "'%s' must be defined above its use", e->text);
        u->own |= item->own;
        u->calls_holes |= item->calls_holes;
        merge_types(r, u, item);
    }
    return true;
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

static void add_capture(struct file_reader *r, struct unit *u, size_t close, enum template_segment_kind kind,
                        const char *item)
{
    const size_t at = r->source.tokens[close].begin;
    vec_push(r->g->arena, &u->edits, ((struct edit){.begin = at, .end = at, .kind = kind, .text = item}));
}

static bool add_capture_params(struct file_reader *r, struct unit *u)
{
    if (u->role != ROLE_ITEM || !u->calls_holes)
        return true;
    const size_t open = token_next(&r->source, token_at(&r->source, u->node->at)),
                 close = token_closing(&r->source, open);
    bool has_param = false;
    for (size_t i = 0; i < u->node->child_count; i++)
        has_param |= u->node->children[i]->kind == CFRONT_PARAM;
    if (!has_param || !token_is(&r->source, open, "("))
        return ERROR_AT(r, u->node->at, "'%s' calls holes and so takes captures: it needs a parameter of its own",
                        u->node->name);
    add_capture(r, u, close, TEMPLATE_CAPTURE_PARAMS, u->node->name);
    return true;
}

static bool add_capture_args(struct file_reader *r, struct unit *u)
{
    const size_t count = u->edits.count;
    for (size_t i = 0; i < count; i++) {
        const struct edit e = u->edits.data[i];
        const struct unit *item = e.kind == TEMPLATE_ITEM ? find_item(r, e.text) : NULL;
        if (!item || item == u || !item->calls_holes)
            continue;
        const size_t open = token_next(&r->source, token_at(&r->source, e.begin));
        if (!token_is(&r->source, open, "("))
            return ERROR_AT(r, e.begin, "'%s' calls holes: it can only be called", e.text);
        add_capture(r, u, token_closing(&r->source, open), TEMPLATE_CAPTURE_ARGS, e.text);
    }
    return true;
}

/* ---- names of operands ------------------------------------------------------------------------------------------- */

/* What the text of a hole reads of an operand stands under the name of the kernel's parameter, in all items that call
 * holes. A local variable of that name would hide it: what is emitted would not compile, or read something else. */
static bool check_hides_none(struct file_reader *r, const struct cfront_node *n, const struct cfront_node *kernel)
{
    bool ok = true;
    for (size_t i = 0; n->kind == CFRONT_VARIABLE && i < kernel->child_count; i++)
        if (kernel->children[i]->kind == CFRONT_PARAM && str_equal(n->name, kernel->children[i]->name))
            ok = ERROR_AT(r, n->at,
                          "the local variable '%s' has the name of an operand of kernel '%s', which holes read",
                          n->name, kernel->name);
    for (size_t i = 0; i < n->child_count; i++)
        ok &= check_hides_none(r, n->children[i], kernel);
    return ok;
}

/* The kernel, and the items that it calls: each once. */
static bool check_operand_names(struct file_reader *r, const struct unit *kernel)
{
    VEC(const struct unit *) open = {0};
    bool ok = true;
    vec_push(r->g->arena, &open, kernel);
    for (size_t i = 0; i < open.count; i++) {
        const struct unit *const u = open.data[i];
        if (u->calls_holes)
            ok &= check_hides_none(r, u->node, kernel->node);
        for (size_t k = 0; k < u->edits.count; k++) {
            const struct unit *const item =
                u->edits.data[k].kind == TEMPLATE_ITEM ? find_item(r, u->edits.data[k].text) : NULL;
            bool known = item == NULL;
            for (size_t m = 0; m < open.count; m++)
                known |= open.data[m] == item;
            if (!known)
                vec_push(r->g->arena, &open, item);
        }
    }
    return ok;
}

/* ---- into the table ---------------------------------------------------------------------------------------------- */

static struct template_item make_item(struct file_reader *r, const struct unit *u)
{
    const struct cfront_node *n = u->node;
    struct template_item item = {.name = n->name,
                                 .comment = comment_above(r->g->arena, &r->source, n->begin),
                                 .types = u->types,
                                 .suffix = u->own                    ? TEMPLATE_OWN
                                           : u->types && u->types[0] ? TEMPLATE_BY_TYPE
                                                                     : TEMPLATE_SHARED,
                                 .text = make_segments(r, &u->edits, n->begin, statement_end(&r->source, n), 0)};
    return item;
}

static const char *form_of(struct arena *a, const char *name)
{
    static const char *const forms[] = {"vector", "lanes", "scalar"};
    for (size_t i = 0; i < 3; i++) {
        if (str_ends_with(name, arena_printf(a, "_%s", forms[i])))
            return forms[i];
    }
    return NULL;
}

static bool make_body(struct file_reader *r, const struct unit *u, struct template_kernel *k)
{
    const struct cfront_source *s = &r->source;
    const struct cfront_node *block = u->node->children[u->node->child_count - 1];
    const size_t begin = line_end(s, block->begin), end = line_begin(s, block->end - 1);
    if (!blank_between(s, block->begin + 1, begin) || !blank_between(s, end, block->end - 1) || begin > end)
        return ERROR_AT(r, block->begin,
                        "a kernel's body must begin on the line behind { and end on the line before }");
    k->body = make_segments(r, &u->edits, begin, end, 4);
    return true;
}

static bool make_kernel(struct file_reader *r, const struct unit *u)
{
    struct arena *a = r->g->arena;
    const struct cfront_node *n = u->node;
    struct template_kernel k = {.name = n->name, .form = form_of(a, n->name), .file = r->base,
                                .comment = comment_above(a, &r->source, n->begin)};
    VEC(struct template_param) params = {0};
    for (size_t i = 0; i < n->child_count; i++) {
        const struct cfront_node *p = n->children[i];
        if (p->kind == CFRONT_PARAM)
            vec_push(a, &params, ((struct template_param){p->name, make_segments(r, &u->edits, p->begin, p->end, 0)}));
    }
    k.params = params.data;
    k.param_count = params.count;
    for (size_t i = 0; i < r->g->kernels.count; i++) {
        if (str_equal(r->g->kernels.data[i].name, k.name))
            return ERROR_AT(r, n->at, "%s has a kernel '%s' as well", r->g->kernels.data[i].file, k.name);
    }
    if (!make_body(r, u, &k))
        return false;
    vec_push(a, &r->g->kernels, k);
    return true;
}

/* Captured names must not hide what a section declares either. */
static void add_section_names(struct file_reader *r)
{
    for (size_t i = 0; i < r->units.count; i++) {
        const struct unit *u = &r->units.data[i];
        for (size_t k = 0; k < u->edits.count; k++) {
            const struct edit *e = &u->edits.data[k];
            bool known = e->kind != TEMPLATE_SECTION;
            for (size_t m = 0; !known && m < r->names.count; m++)
                known = str_equal(r->names.data[m], e->text);
            if (!known)
                vec_push(r->g->arena, &r->names, e->text);
        }
    }
}

static void share_with_kernels(struct file_reader *r, size_t first_kernel)
{
    VEC(struct template_item) items = {0};
    for (size_t i = 0; i < r->units.count; i++) {
        if (r->units.data[i].role == ROLE_ITEM) {
            vec_push(r->g->arena, &items, make_item(r, &r->units.data[i]));
            vec_push(r->g->arena, &r->names, r->units.data[i].node->name);
        }
    }
    add_section_names(r);
    vec_push(r->g->arena, &r->names, NULL);
    for (size_t i = first_kernel; i < r->g->kernels.count; i++) {
        struct template_kernel *k = &r->g->kernels.data[i];
        k->items = items.data;
        k->item_count = items.count;
        k->names = r->names.data;
    }
}

bool read_template(struct gen *g, const char *path)
{
    struct file_reader r = {.g = g, .base = arena_strdup(g->arena, base_name(path))};
    if (!cfront_parse(g->diag, g->arena, path, g->include_dirs, &r.source))
        return false;
    const size_t first_kernel = g->kernels.count;
    bool ok = assign_roles(&r);
    for (size_t i = 0; i < r.units.count; i++)
        ok &= collect_edits(&r, &r.units.data[i]);
    for (size_t i = 0; i < r.units.count; i++)
        ok &= settle_dependencies(&r, &r.units.data[i]) && add_capture_params(&r, &r.units.data[i]) &&
              add_capture_args(&r, &r.units.data[i]);
    for (size_t i = 0; ok && i < r.units.count; i++)
        if (r.units.data[i].role == ROLE_KERNEL)
            ok &= check_operand_names(&r, &r.units.data[i]);
    for (size_t i = 0; i < r.units.count; i++)
        sort_edits(&r.units.data[i].edits);
    for (size_t i = 0; ok && i < r.units.count; i++) {
        if (r.units.data[i].role == ROLE_KERNEL)
            ok &= make_kernel(&r, &r.units.data[i]);
    }
    if (ok)
        share_with_kernels(&r, first_kernel);
    if (ok && g->kernels.count == first_kernel)
        return diag_error(g->diag, &LOC_FILE(r.source.path), "no function is marked KERNEL here");
    return ok;
}
