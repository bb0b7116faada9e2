/* Conditions over integer holes, which are decided when a template is instantiated: only the live branch stays, of a
 * loop (loops.c) its body. */
#include "tools/gen_templates.h"

/* Does a declaration directly in the block share its name with anything outside of what vanishes? */
static bool block_must_stay(const struct file_reader *r, const struct cfront_node *block, size_t begin, size_t end)
{
    const struct cfront_source *s = &r->source;
    for (size_t i = 0; i < block->child_count; i++) {
        const struct cfront_node *statement = block->children[i];
        for (size_t v = 0; v < statement->child_count; v++) {
            if (statement->children[v]->kind != CFRONT_VARIABLE)
                continue;
            const char *name = statement->children[v]->name;
            for (size_t t = token_at(s, r->unit->node->begin);
                 t < s->token_count && s->tokens[t].begin < r->unit->node->end; t++) {
                const bool inside = s->tokens[t].begin >= begin && s->tokens[t].begin < end;
                if (!inside && s->tokens[t].kind == CFRONT_IDENTIFIER && token_is(s, t, name))
                    return true;
            }
        }
    }
    return false;
}

bool is_broken_into_lines(const struct cfront_source *s, const struct cfront_node *block)
{
    const size_t open_line = line_end(s, block->begin), close_line = line_begin(s, block->end - 1);
    return open_line <= close_line && blank_between(s, block->begin + 1, open_line) &&
           blank_between(s, close_line, block->end - 1);
}

bool branch_part(struct file_reader *r, const struct cfront_node *branch, const struct decided *d,
                 struct edit_part *out)
{
    const struct cfront_source *s = &r->source;
    const size_t end = statement_end(s, branch);
    *out = (struct edit_part){.column = d->column};
    if (branch->kind == CFRONT_BLOCK) {
        if (!is_broken_into_lines(s, branch))
            return ERROR_AT(r, branch->begin,
                            "the block of a condition on holes must be broken into lines behind { and before }");
        out->begin = line_end(s, branch->begin);
        out->end = line_begin(s, branch->end - 1);
        out->braces = block_must_stay(r, branch, d->outermost->begin, statement_end(s, d->outermost));
        out->dedent = out->braces ? 0 : 4;
        return true;
    }
    const size_t line = line_begin(s, branch->begin);
    out->lead = !blank_between(s, line, branch->begin);
    if (out->lead && branch->kind != CFRONT_IF)
        return ERROR_AT(r, branch->begin, "the branch of a condition on holes must begin on a line of its own");
    out->begin = out->lead ? branch->begin : line;
    out->end = line_end(s, end);
    out->dedent = out->lead ? 0 : column_of(s, branch->begin) - d->column;
    return true;
}

/* Children of the if: condition, branch, else branch. A branch that is itself a decided `else if` begins behind its
 * else. */
static bool chained_if(struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *n,
                       const char *condition, const struct decided *chain)
{
    const struct cfront_source *s = &r->source;
    const struct decided d = chain ? *chain : (struct decided){n, column_of(s, n->begin)};
    const size_t end = statement_end(s, n), begin = chain ? n->begin : line_begin(s, n->begin);
    if (!chain && parent->kind != CFRONT_BLOCK)
        return ERROR_AT(r, n->begin, "put this condition on holes into a block of its own: it may vanish");
    if ((!chain && !blank_between(s, begin, n->begin)) || !blank_between(s, end, line_end(s, end)))
        return ERROR_AT(r, n->begin, "a condition on holes must stand alone on its lines");
    struct edit_part *parts = arena_array(r->g->arena, struct edit_part, 2);
    if (!branch_part(r, n->children[1], &d, &parts[0]))
        return false;
    if (n->child_count > 2 && !branch_part(r, n->children[2], &d, &parts[1]))
        return false;
    const bool chained = n->child_count > 2 && n->children[2]->kind == CFRONT_IF && parts[1].lead &&
                         static_condition(r, n->children[2]->children[0]->begin, n->children[2]->children[0]->end);
    if (chained)
        parts[1].lead = false; /* the inner one brings whole lines */
    r->unit->own = true;
    add_edit(r, (struct edit){.begin = begin,
                              .end = line_end(s, end),
                              .kind = TEMPLATE_IF,
                              .text = condition,
                              .parts = parts,
                              .part_count = n->child_count > 2 ? 2 : 1});
    return !chained ||
           chained_if(r, n, n->children[2],
                      static_condition(r, n->children[2]->children[0]->begin, n->children[2]->children[0]->end), &d);
}

bool decided_if(struct file_reader *r, const struct cfront_node *parent, const struct cfront_node *n,
                const char *condition)
{
    return chained_if(r, parent, n, condition, NULL);
}

bool decided_choice(struct file_reader *r, const struct cfront_node *n, const char *condition)
{
    struct edit_part *parts = arena_array(r->g->arena, struct edit_part, 2);
    for (size_t i = 0; i < 2; i++)
        parts[i] =
            (struct edit_part){.begin = n->children[i + 1]->begin, .end = n->children[i + 1]->end, .one_line = true};
    r->unit->own = true;
    add_edit(
        r,
        (struct edit){
            .begin = n->begin, .end = n->end, .kind = TEMPLATE_IF, .text = condition, .parts = parts, .part_count = 2});
    return true;
}
