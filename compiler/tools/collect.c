/* Finds what of a kernel or item is to be replaced: walks clang's tree, which knows what every name means, and notes
 * places in the text. */
#include "tools/gen_templates.h"

#include <string.h>

void add_edit(struct file_reader *r, struct edit e)
{
    vec_push(r->g->arena, &r->unit->edits, e);
}

static enum role role_of(const struct file_reader *r, const struct cfront_node *declaration)
{
    for (size_t i = 0; i < r->role_count; i++) {
        if (r->roles[i].node == declaration)
            return r->roles[i].role;
    }
    if (declaration->kind != CFRONT_PARAM || r->unit->role != ROLE_KERNEL)
        return ROLE_NONE;
    for (size_t i = 0; i < r->unit->node->child_count; i++) {
        if (r->unit->node->children[i] == declaration)
            return ROLE_PARAM;
    }
    return ROLE_NONE;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool in_helper_file(const struct gen *g, const char *base)
{
    for (size_t i = 0; i < g->helper_files.count; i++) {
        if (str_equal(g->helper_files.data[i], base))
            return true;
    }
    return false;
}

static const struct template_section *section_of(const struct gen *g, const char *base)
{
    for (size_t i = 0; i < g->sections.count; i++) {
        const char *name = g->sections.data[i].name;
        if (str_starts_with(base, name) && str_equal(base + strlen(name), ".h"))
            return &g->sections.data[i];
    }
    return NULL;
}

/* What another file declares: the C library and stepc.h are there in emitted code, helpers and sections are brought
 * along. */
static bool outside_reference(struct file_reader *r, size_t at, const char *name, const char *file)
{
    if (!file || cfront_is_system(file))
        return true;
    const char *base = base_name(file);
    const struct template_section *section = section_of(r->g, base);
    struct edit e = {.begin = at, .end = at + strlen(name), .text = name, .kind = TEMPLATE_HELPER};
    if (section) {
        e.kind = TEMPLATE_SECTION;
        e.from = section->name;
        e.bare = section->by_type;
        e.alone = blank_between(&r->source, line_begin(&r->source, e.begin), e.begin) &&
                  blank_between(&r->source, e.end, line_end(&r->source, e.end));
    }
    if (section || in_helper_file(r->g, base))
        add_edit(r, e);
    else if (!str_equal(base, "stepc.h") && !str_equal(base, "template.h"))
        return ERROR_AT(r, at, "'%s' comes from %s, which is neither embedded nor included by emitted code", name,
                        base);
    return true;
}

static void note_type(struct file_reader *r, const char *name)
{
    size_t count = 0;
    while (r->unit->types && r->unit->types[count]) {
        if (str_equal(r->unit->types[count++], name))
            return;
    }
    const char **types = arena_array(r->g->arena, const char *, count + 2);
    for (size_t i = 0; i < count; i++)
        types[i] = r->unit->types[i];
    types[count] = name;
    r->unit->types = types;
}

static bool name_reference(struct file_reader *r, const struct cfront_node *n)
{
    const struct cfront_source *s = &r->source;
    const size_t length = strlen(n->name);
    const bool written_here = n->at + length <= s->size && !memcmp(s->text + n->at, n->name, length);
    if (!n->ref)
        return !written_here ||
               outside_reference(r, n->at, n->name, n->ref_file); /* else a macro's body, see macro uses */
    const enum role role = role_of(r, n->ref);
    if (role == ROLE_NONE) {
        if (written_here)
            loop_variable(r, n);
        const bool top_level = n->ref->begin < r->unit->node->begin;
        return !top_level ||
               ERROR_AT(r, n->at, "'%s' is neither a hole nor a static const table, function or typedef", n->name);
    }
    if (!written_here)
        return ERROR_AT(r, n->at, "the body of a macro names '%s'", n->name);
    struct edit e = {.begin = n->at, .end = n->at + length, .text = n->name};
    switch (role) {
    case ROLE_INT:
        e.kind = TEMPLATE_INT;
        e.bare = stands_bare(s, e.begin, e.end);
        r->unit->own = true;
        break;
    case ROLE_TYPE:
        note_type(r, n->name);
        e.kind = TEMPLATE_TYPE;
        break;
    case ROLE_PARAM:
        e.kind = TEMPLATE_PARAM;
        e.bare = stands_bare(s, e.begin, e.end);
        break;
    case ROLE_ITEM: e.kind = TEMPLATE_ITEM; break;
    default: return ERROR_AT(r, n->at, "'%s' can only be called, not named", n->name);
    }
    add_edit(r, e);
    return true;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

bool calls_statement_hole(const struct file_reader *r, const struct cfront_node *n)
{
    return n->kind == CFRONT_CALL && n->ref && role_of(r, n->ref) == ROLE_STMT;
}

/* Splits the text between the parentheses at its outer commas: independent of how macros in it expand. */
static void split_arguments(struct file_reader *r, struct edit *e, size_t open, size_t close)
{
    const struct cfront_source *s = &r->source;
    VEC(struct edit_part) parts = {0};
    size_t begin = token_next(s, open);
    for (size_t t = begin; t < s->token_count && t <= close; t = token_next(s, t)) {
        if (t == close || token_is(s, t, ",")) {
            if (t > begin)
                vec_push(r->g->arena, &parts,
                         ((struct edit_part){.begin = s->tokens[begin].begin,
                                             .end = s->tokens[token_previous(s, t)].end,
                                             .one_line = true}));
            begin = token_next(s, t);
        } else if (token_is(s, t, "(") || token_is(s, t, "[") || token_is(s, t, "{")) {
            t = token_closing(s, t);
        }
    }
    e->parts = parts.data;
    e->part_count = parts.count;
}

static bool statement_hole(struct file_reader *r, const struct cfront_node *parent, struct edit *e, size_t close)
{
    const struct cfront_source *s = &r->source;
    const size_t semicolon = token_next(s, close), begin = line_begin(s, e->begin);
    const bool statement = semicolon < s->token_count && token_is(s, semicolon, ";");
    const size_t end = statement ? line_end(s, s->tokens[semicolon].end) : 0;
    if (!statement || !blank_between(s, begin, e->begin) || !blank_between(s, s->tokens[semicolon].end, end))
        return ERROR_AT(r, e->begin, "statement hole '%s' must be a statement alone on its line", e->text);
    e->column = column_of(s, e->begin);
    /* Where a decided `if` is the parent, the statement takes its place in a block. */
    const bool decided =
        parent->kind == CFRONT_IF && static_condition(r, parent->children[0]->begin, parent->children[0]->end);
    e->alone = parent->kind != CFRONT_BLOCK && !decided;
    e->begin = begin;
    e->end = end;
    return true;
}

static bool hole_call(struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *n,
                      enum role role)
{
    const struct cfront_source *s = &r->source;
    const size_t name = token_at(s, n->begin), open = token_next(s, name), close = token_closing(s, open);
    if (!token_is(s, name, n->name) || !token_is(s, open, "(") || close == s->token_count)
        return ERROR_AT(r, n->begin, "the call of '%s' is not written out here (is it in a macro?)", n->name);
    struct edit e = {.begin = n->begin, .end = s->tokens[close].end, .text = n->name,
                     .kind = role == ROLE_EXPR ? TEMPLATE_EXPR : TEMPLATE_STMT};
    split_arguments(r, &e, open, close);
    if (e.part_count > 9)
        return ERROR_AT(r, n->begin, "'%s' has more than 9 arguments", n->name);
    e.bare = role == ROLE_EXPR && stands_bare(s, e.begin, e.end);
    if (role == ROLE_STMT && !statement_hole(r, parent, &e, close))
        return false;
    r->unit->own = r->unit->calls_holes = true;
    add_edit(r, e);
    return true;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* "N - N % 16" is one number. */
static void folded(struct file_reader *r, const struct cfront_node *n, const char *postfix)
{
    r->unit->own = true;
    add_edit(r, (struct edit){.begin = n->begin, .end = n->end, .kind = TEMPLATE_INT, .text = postfix,
                              .bare = stands_bare(&r->source, n->begin, n->end)});
}

static bool is_plain_number(const struct cfront_source *s, size_t begin, size_t end)
{
    for (; begin < end; begin++) {
        if (!strchr("0123456789.e+-", s->text[begin]))
            return false;
    }
    return true;
}

/* (T)0.5 and (T)(M * N) are constants of the type: as a float 0.5f and 6.0f. */
static bool constant_of_type(struct file_reader *r, const struct cfront_node *n)
{
    const struct cfront_source *s = &r->source;
    if (n->child_count != 2 || n->children[0]->kind != CFRONT_TYPE_REF || !n->children[0]->ref ||
        role_of(r, n->children[0]->ref) != ROLE_TYPE)
        return false;
    const size_t type = token_at(s, n->children[0]->at);
    if (!token_is(s, token_previous(s, type), "(") || !token_is(s, token_next(s, type), ")"))
        return false; /* T * and the like */
    const struct cfront_node *operand = n->children[1];
    const size_t inner = operand->kind == CFRONT_PARENTHESES;
    const size_t begin = operand->begin + inner, end = operand->end - inner;
    if (begin >= end || (!is_plain_number(s, begin, end) && !static_condition(r, begin, end)))
        return false;
    struct edit_part *part = arena_new(r->g->arena, struct edit_part);
    *part = (struct edit_part){.begin = begin, .end = end, .one_line = true};
    note_type(r, n->children[0]->name);
    add_edit(r, (struct edit){.begin = n->begin, .end = n->end, .kind = TEMPLATE_LITERAL, .text = n->children[0]->name,
                              .parts = part, .part_count = 1});
    return true;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static bool new_name(struct file_reader *r, const struct cfront_node *n)
{
    for (size_t i = 0; i < r->role_count; i++) {
        if (n != r->roles[i].node && str_equal(n->name, r->roles[i].node->name))
            return ERROR_AT(r, n->at, "'%s' hides a hole or another name of the file", n->name);
    }
    for (size_t i = 0; i < r->names.count; i++) {
        if (str_equal(r->names.data[i], n->name))
            return true;
    }
    if (n->name[0])
        vec_push(r->g->arena, &r->names, n->name);
    return true;
}

static bool is_edited(const struct file_reader *r, size_t begin, enum template_segment_kind kind)
{
    for (size_t i = 0; i < r->unit->edits.count; i++) {
        if (r->unit->edits.data[i].kind == kind && r->unit->edits.data[i].begin == begin)
            return true;
    }
    return false;
}

static bool walk(struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *n);

static bool walk_children(struct file_reader *r, const struct cfront_node *n, size_t first)
{
    bool ok = true;
    for (size_t i = first; i < n->child_count; i++)
        ok &= walk(r, n, n->children[i]);
    return ok;
}

static bool walk_call(struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *n)
{
    const enum role role = n->ref ? role_of(r, n->ref) : ROLE_NONE;
    if (role == ROLE_EXPR || role == ROLE_STMT) { /* the call first, then what stands in it; every fault is reported */
        const bool ok = hole_call(r, parent, n, role);
        return walk_children(r, n, 1) && ok;
    }
    if (role == ROLE_KERNEL)
        return ERROR_AT(r, n->begin, "kernels cannot call each other");
    return walk_children(r, n, 0);
}

static bool walk_if(struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *n)
{
    const struct cfront_node *c = n->child_count > 0 ? n->children[0] : NULL;
    const char *condition = c ? static_condition(r, c->begin, c->end) : NULL;
    if (!condition)
        return walk_children(r, n, 0);
    bool ok = true;
    if (n->kind == CFRONT_CONDITIONAL)
        ok = decided_choice(r, n, condition);
    else if (!is_edited(r, n->begin, TEMPLATE_IF)) /* not yet done as the else branch of the one around it */
        ok = decided_if(r, parent, n, condition);
    return walk_children(r, n, 1) && ok;
}

static bool walk_constant(struct file_reader *r, const struct cfront_node *n)
{
    const char *postfix = n->begin < n->end ? static_condition(r, n->begin, n->end) : NULL;
    if (postfix) {
        folded(r, n, postfix);
        return true;
    }
    return walk_children(r, n, 0);
}

static bool walk_for(struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *n)
{
    hole_loop(r, parent, n);
    return walk_children(r, n, 0);
}

/* Of a constant, the number in parentheses is one value; the type belongs to the whole. */
static bool walk_cast(struct file_reader *r, const struct cfront_node *n)
{
    if (!constant_of_type(r, n))
        return walk_children(r, n, 0);
    const struct cfront_node *operand = n->children[1];
    const bool inner = operand->kind == CFRONT_PARENTHESES && operand->child_count == 1;
    return walk(r, n, inner ? operand->children[0] : operand);
}

static bool walk(struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *n)
{
    switch (n->kind) {
    case CFRONT_BINARY:
    case CFRONT_PARENTHESES: return walk_constant(r, n);
    case CFRONT_CAST: return walk_cast(r, n);
    case CFRONT_FOR: return walk_for(r, parent, n);
    case CFRONT_REF:
    case CFRONT_TYPE_REF: return name_reference(r, n);
    case CFRONT_CALL: return walk_call(r, parent, n);
    case CFRONT_IF:
    case CFRONT_CONDITIONAL: return walk_if(r, parent, n);
    case CFRONT_PARAM:
    case CFRONT_FIELD:
    case CFRONT_VARIABLE: {
        const bool ok = new_name(r, n);
        return walk_children(r, n, 0) && ok;
    }
    default:
        /* a hint above the loop */
        if (n->kind == CFRONT_OTHER && n->child_count == 1 && n->children[0]->kind == CFRONT_FOR)
            return walk_for(r, parent, n->children[0]);
        return walk_children(r, n, 0);
    }
}

/* ---- what the tree does not show --------------------------------------------------------------------------------- */

/* Conditions are segments as a whole: names in them are dealt with. */
static bool in_condition(const struct file_reader *r, size_t offset)
{
    for (size_t i = 0; i < r->unit->edits.count; i++) {
        const struct edit *e = &r->unit->edits.data[i];
        bool inside = e->kind == TEMPLATE_IF && offset >= e->begin && offset < e->end;
        for (size_t p = 0; p < e->part_count; p++)
            inside &= offset < e->parts[p].begin || offset >= e->parts[p].end;
        if (inside)
            return true;
    }
    return false;
}

static bool begins_edit(const struct file_reader *r, size_t offset)
{
    for (size_t i = 0; i < r->unit->edits.count; i++) {
        const struct edit *e = &r->unit->edits.data[i];
        const size_t name = e->kind == TEMPLATE_STMT ? e->begin + (size_t)e->column : e->begin;
        const bool literal = e->kind == TEMPLATE_LITERAL && offset >= e->begin && offset < e->end;
        if (literal || (name == offset && e->kind != TEMPLATE_IF))
            return true;
    }
    return false;
}

/* Attributes, pragmas and macro arguments that vanish do not reach the tree. An integer hole is replaced there too;
 * other names of the file must not occur. */
static bool check_tokens(struct file_reader *r, size_t begin, size_t end)
{
    const struct cfront_source *s = &r->source;
    static const char *const directives[] = {"if",    "ifdef",  "ifndef", "elif",   "else",
                                             "endif", "define", "undef",  "include"};
    bool ok = true;
    for (size_t t = token_at(s, begin); t < s->token_count && s->tokens[t].begin < end; t++) {
        const size_t at = s->tokens[t].begin;
        for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
            if (token_is(s, t, "#") && token_is(s, t + 1, directives[i]))
                ok = ERROR_AT(r, at, "no #%s inside what a template emits: write one function per form", directives[i]);
        }
        const bool member = token_is(s, token_previous(s, t), ".") || token_is(s, token_previous(s, t), "->");
        if (s->tokens[t].kind != CFRONT_IDENTIFIER || member || begins_edit(r, at) || in_condition(r, at))
            continue;
        for (size_t i = 0; i < r->role_count; i++) {
            if (!token_is(s, t, r->roles[i].node->name))
                continue;
            if (r->roles[i].role != ROLE_INT) {
                ok = ERROR_AT(r, at, "'%s' stands where clang's tree does not show it (attribute, macro?)",
                              r->roles[i].node->name);
                continue;
            }
            r->unit->own = true;
            add_edit(r, (struct edit){.begin = at,
                                      .end = s->tokens[t].end,
                                      .kind = TEMPLATE_INT,
                                      .text = r->roles[i].node->name,
                                      .bare = stands_bare(s, at, s->tokens[t].end)});
        }
    }
    return ok;
}

static bool collect_macros(struct file_reader *r, size_t begin, size_t end)
{
    bool ok = true;
    for (size_t i = 0; i < r->source.macro_count; i++) {
        const struct cfront_macro_use *m = &r->source.macros[i];
        if (m->at < begin || m->at >= end)
            continue;
        if (m->file && str_equal(m->file, r->source.path))
            ok =
                ERROR_AT(r, m->at, "macro '%s' of the template file is not emitted: use a hole, a function or a header",
                         m->name);
        else if (m->file && in_helper_file(r->g, base_name(m->file)))
            ok = ERROR_AT(r, m->at, "macro '%s' of %s is not emitted", m->name, base_name(m->file));
        else
            ok &= outside_reference(r, m->at, m->name, m->file);
    }
    return ok;
}

bool collect_edits(struct file_reader *r, struct unit *u)
{
    const struct cfront_node *n = u->node;
    r->unit = u;
    bool ok = walk_children(r, n, 0);
    if (u->role == ROLE_ITEM)
        add_edit(r,
                 (struct edit){.begin = n->at, .end = n->at + strlen(n->name), .kind = TEMPLATE_ITEM, .text = n->name});
    else
        add_edit(r,
                 (struct edit){.begin = n->at, .end = n->at + strlen(n->name), .kind = TEMPLATE_TEXT, .text = n->name});
    const size_t end = statement_end(&r->source, n);
    ok &= collect_macros(r, n->begin, end);
    /* Parameters are written in declarations too. */
    for (size_t i = 0; u->role == ROLE_KERNEL && i < n->child_count; i++) {
        const struct cfront_node *p = n->children[i];
        if (p->kind == CFRONT_PARAM && p->name[0])
            add_edit(r, (struct edit){.begin = p->at,
                                      .end = p->at + strlen(p->name),
                                      .kind = TEMPLATE_PARAM,
                                      .text = p->name,
                                      .bare = true});
    }
    return ok && check_tokens(r, n->begin, end);
}
