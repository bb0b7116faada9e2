/* Loops over integer holes, `for (int z = 0; z < D; z++)`: where D is 1, what is emitted has no loop and 0 for z. So
 * the convolution of an image has no loop over depth. */
#include "tools/gen_templates.h"

#include <string.h>

/* The condition's right side, in postfix, of `for (TYPE i = 0; i < COUNT; i++)`; NULL if it does not read so. */
static const char *count_of(const struct file_reader *r, const struct cfront_node *loop, const char *variable)
{
    const struct cfront_source *s = &r->source;
    const char *const before[] = {"for", "(", NULL, variable, "=", "0", ";", variable, "<", NULL};
    size_t t = token_at(s, loop->begin);
    for (size_t i = 0; i + 1 < sizeof before / sizeof *before; i++, t = token_next(s, t)) {
        if (before[i] && !token_is(s, t, before[i]))
            return NULL;
    }
    const size_t close = token_closing(s, token_next(s, token_at(s, loop->begin)));
    const char *const after[] = {"++", variable, ";"}; /* backwards */
    size_t end = close;
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        end = token_previous(s, end);
        if (!token_is(s, end, after[i]))
            return NULL;
    }
    return end > t ? static_condition(r, s->tokens[t].begin, s->tokens[end].begin) : NULL;
}

static bool is_one_of(const struct cfront_source *s, size_t token, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (token_is(s, token, texts[i]))
            return true;
    }
    return false;
}

/* Can the body stand alone? It neither leaves the loop nor changes its variable. */
static bool stands_alone(const struct cfront_source *s, const struct cfront_node *body, const char *variable)
{
    static const char *const leave[] = {"break", "continue"}, *const before[] = {"++", "--", "&"};
    static const char *const after[] = {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "|=", "&=", "^=", "++", "--"};
    for (size_t t = token_at(s, body->begin); t < s->token_count && s->tokens[t].begin < body->end; t++) {
        if (is_one_of(s, t, leave, sizeof leave / sizeof *leave))
            return false;
        if (token_is(s, t, variable) && (is_one_of(s, token_previous(s, t), before, sizeof before / sizeof *before) ||
                                         is_one_of(s, token_next(s, t), after, sizeof after / sizeof *after)))
            return false;
    }
    return true;
}

/* The lines of the loop begin with those of the compiler's hints above it. */
static size_t first_line(const struct file_reader *r, const struct cfront_node *loop)
{
    const struct cfront_source *s = &r->source;
    size_t begin = line_begin(s, loop->begin);
    for (;;) {
        const size_t t = token_previous(s, token_at(s, begin));
        if (t >= s->token_count || s->tokens[t].kind != CFRONT_IDENTIFIER ||
            !str_starts_with(s->text + s->tokens[t].begin, "STEPC_"))
            return begin;
        const size_t line = line_begin(s, s->tokens[t].begin);
        if (!blank_between(s, line, s->tokens[t].begin) || !blank_between(s, s->tokens[t].end, begin))
            return begin;
        begin = line;
    }
}

/* Is there a place where the body can stand without the loop: whole lines, in a block behind another statement (not
 * behind a pragma, which would lose its loop), or as the only statement of a loop around it? */
static bool has_place(const struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *loop)
{
    const struct cfront_source *s = &r->source;
    static const char *const ends[] = {";", "{", "}"};
    const struct cfront_node *body = loop->children[3];
    const size_t above = token_previous(s, token_at(s, first_line(r, loop)));
    if (!blank_between(s, line_begin(s, loop->begin), loop->begin) ||
        (parent->kind == CFRONT_BLOCK && !is_one_of(s, above, ends, sizeof ends / sizeof *ends)))
        return false;
    if (body->kind == CFRONT_BLOCK)
        return parent->kind == CFRONT_BLOCK && is_broken_into_lines(s, body);
    return (parent->kind == CFRONT_BLOCK || parent->kind == CFRONT_FOR) && !calls_statement_hole(r, body) &&
           blank_between(s, line_begin(s, body->begin), body->begin);
}

/* The variable of a loop that can be left out, and how many iterations it has, in postfix; else NULL. */
static const struct cfront_node *variable_of(const struct file_reader *r, const struct cfront_node *parent,
                                             const struct cfront_node *loop, const char **count)
{
    if (loop->child_count != 4 || loop->children[0]->child_count != 1 ||
        loop->children[0]->children[0]->kind != CFRONT_VARIABLE)
        return NULL;
    const struct cfront_node *variable = loop->children[0]->children[0];
    *count = count_of(r, loop, variable->name);
    return *count && stands_alone(&r->source, loop->children[3], variable->name) && has_place(r, parent, loop)
               ? variable
               : NULL;
}

void hole_loop(struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *n)
{
    const struct cfront_source *s = &r->source;
    const char *count;
    const struct cfront_node *variable = variable_of(r, parent, n, &count);
    if (!variable)
        return;
    const struct cfront_node *body = n->children[3];
    const char *id = arena_printf(r->g->arena, "%zu", r->loops.count);
    struct edit_part *parts = arena_array(r->g->arena, struct edit_part, 3);
    if (!branch_part(r, body, &(struct decided){n, column_of(s, n->begin)}, &parts[0]))
        UNREACHABLE("the body of a loop has a place, then has none");
    const size_t begin = first_line(r, n), end = line_end(s, statement_end(s, body));
    const size_t middle = body->kind == CFRONT_BLOCK ? body->begin : line_begin(s, body->begin);
    parts[1] = (struct edit_part){.begin = begin, .end = middle};
    parts[2] = (struct edit_part){.begin = middle, .end = end};
    add_edit(r, (struct edit){.begin = begin, .end = end, .kind = TEMPLATE_LOOP, .text = count, .from = id,
                              .parts = parts, .part_count = 3});
    r->unit->own = true;
    vec_push(r->g->arena, &r->loops, ((struct hole_loop){variable, id}));
}

void loop_variable(struct file_reader *r, const struct cfront_node *n)
{
    for (size_t i = 0; i < r->loops.count; i++) {
        if (r->loops.data[i].variable == n->ref)
            add_edit(r, (struct edit){.begin = n->at, .end = n->at + strlen(n->name), .kind = TEMPLATE_INDEX,
                                      .text = n->name, .from = r->loops.data[i].id});
    }
}
