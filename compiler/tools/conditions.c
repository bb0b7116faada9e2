/* Conditions over integer holes, from C's infix to postfix: "N % 16 == 0" becomes "N 16 % 0 ==". Precedence climbing
 * over the tokens; anything that is no hole, literal or operator of the table makes the condition a run-time one. */
#include "tools/gen_templates.h"

#include <ctype.h>
#include <stdlib.h>

struct condition {
    const struct file_reader *r;
    size_t token, end; /* end: offset */
    struct strbuf out;
    bool failed, has_hole;
};

static const struct {
    const char *text;
    int precedence;
} operators[] = {{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<", 4}, {"<=", 4}, {">", 4},
                 {">=", 4}, {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6}, {"%", 6}};

static void add_word(struct condition *c, const char *word)
{
    strbuf_addf(&c->out, "%s%s", c->out.length ? " " : "", word);
}

static bool at(const struct condition *c, const char *text)
{
    const struct cfront_source *s = &c->r->source;
    return c->token < s->token_count && s->tokens[c->token].begin < c->end && token_is(s, c->token, text);
}

static void advance(struct condition *c)
{
    c->token = token_next(&c->r->source, c->token);
}

static void parse_binary(struct condition *c, int least);

static void parse_operand(struct condition *c)
{
    const struct cfront_source *s = &c->r->source;
    if (c->failed || c->token >= s->token_count || s->tokens[c->token].begin >= c->end) {
        c->failed = true;
        return;
    }
    if (at(c, "(")) {
        advance(c);
        parse_binary(c, 1);
        c->failed |= !at(c, ")");
        advance(c);
        return;
    }
    if (at(c, "!") || at(c, "-")) {
        const char *word = at(c, "!") ? "!" : "neg";
        advance(c);
        parse_operand(c);
        add_word(c, word);
        return;
    }
    const struct cfront_token *t = &s->tokens[c->token];
    const char *text = source_slice(c->r->g->arena, s, t->begin, t->end);
    if (t->kind == CFRONT_IDENTIFIER && is_int_hole(c->r, text)) {
        c->has_hole = true;
        add_word(c, text);
    } else if (t->kind == CFRONT_NUMBER_OR_STRING && isdigit((unsigned char)text[0])) {
        char *rest;
        const long long value = strtoll(text, &rest, 0);
        c->failed |= *rest != '\0';
        add_word(c, arena_printf(c->r->g->arena, "%lld", value));
    } else {
        c->failed = true;
    }
    advance(c);
}

static void parse_binary(struct condition *c, int least)
{
    parse_operand(c);
    for (size_t i = 0; !c->failed && i < sizeof operators / sizeof *operators;) {
        if (operators[i].precedence < least || !at(c, operators[i].text)) {
            i++;
            continue;
        }
        advance(c);
        parse_binary(c, operators[i].precedence + 1);
        add_word(c, operators[i].text);
        i = 0;
    }
}

bool is_int_hole(const struct file_reader *r, const char *name)
{
    for (size_t i = 0; i < r->role_count; i++) {
        if (r->roles[i].role == ROLE_INT && str_equal(r->roles[i].node->name, name))
            return true;
    }
    return false;
}

const char *static_condition(const struct file_reader *r, size_t begin, size_t end)
{
    struct condition c = {.r = r, .token = token_at(&r->source, begin), .end = end, .out = {.arena = r->g->arena}};
    parse_binary(&c, 1);
    const bool complete = c.token >= r->source.token_count || r->source.tokens[c.token].begin >= end;
    return !c.failed && c.has_hole && complete ? strbuf_text(&c.out) : NULL;
}
