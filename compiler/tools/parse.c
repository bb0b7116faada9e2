/* Declarations and statements of templates. The C that they may use is what a tree can hold (templates/template.h). */
#include "tools/parse.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

bool at(const struct parser *p, const char *text)
{
    return token_is(&p->source, p->token, text);
}

const char *here(const struct parser *p)
{
    if (p->token >= p->source.token_count)
        return "";
    const struct cfront_token *const t = &p->source.tokens[p->token];
    return source_slice(p->g->arena, &p->source, t->begin, t->end);
}

bool at_identifier(const struct parser *p)
{
    return p->token < p->source.token_count && p->source.tokens[p->token].kind == CFRONT_IDENTIFIER;
}

const char *take_word(struct parser *p)
{
    const char *const word = here(p);
    p->token = token_next(&p->source, p->token);
    return word;
}

bool take(struct parser *p, const char *text)
{
    return at(p, text) && take_word(p);
}

void fail_at(struct parser *p, const char *fmt, ...)
{
    va_list ap;
    struct strbuf b = {.arena = p->g->arena};
    va_start(ap, fmt);
    strbuf_addv(&b, fmt, ap);
    va_end(ap);
    const size_t offset = p->token < p->source.token_count ? p->source.tokens[p->token].begin : p->source.size;
    const struct loc where = cfront_loc(&p->source, offset);
    if (!p->failed) /* what follows from the first mistake is none */
        diag_error(p->g->diag, &where, "%s", strbuf_text(&b));
    p->failed = true;
}

void expect(struct parser *p, const char *text)
{
    if (!take(p, text))
        fail_at(p, "expected '%s', found '%s': a template has no other form here", text, here(p));
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

struct top_name *find_top(struct parser *p, const char *name)
{
    for (size_t i = 0; i < p->top.count; i++)
        if (str_equal(p->top.data[i].node->name, name))
            return &p->top.data[i];
    return NULL;
}

const char *header_of(struct parser *p, const char *name)
{
    const char *const path = map_get(&p->outside, name);
    return path ? kernel_header(p->g, path) : NULL;
}

bool is_by_type(struct parser *p, const char *name)
{
    const char *const path = map_get(&p->outside, name);
    return path && islower((unsigned char)name[0]) && str_ends_with(path, BODY);
}

void depend(struct parser *p, enum function_kind on)
{
    if (on > p->unit->kind)
        p->unit->kind = on;
}

struct tree_var *new_var(struct parser *p, enum var_kind kind, const char *name)
{
    struct tree_var *const v = arena_new(p->g->arena, struct tree_var);
    *v = (struct tree_var){.kind = kind, .dtype = DTYPE_INDEX, .type = "int", .name = name};
    return v;
}

static void declare(struct parser *p, struct tree_var *v)
{
    if (find_top(p, v->name))
        fail_at(p, "'%s' hides a hole or another name of the file", v->name);
    vec_push(p->g->arena, &p->scope, v);
}

/* "* restrict name", "name[3]": what follows a type. */
static struct tree_var *parse_declarator(struct parser *p, const struct parsed_type *t)
{
    struct tree_var *const v = arena_new(p->g->arena, struct tree_var);
    *v = (struct tree_var){.kind = t->is_const ? VAR_VALUE : VAR_CELL, .dtype = t->dtype, .type = t->text};
    if (take(p, "*")) {
        v->kind = VAR_POINTER;
        v->written = !t->is_const;
        take(p, "const");
        v->is_restrict = take(p, "restrict");
    }
    if (!at_identifier(p))
        fail_at(p, "a name stands here");
    v->name = take_word(p);
    if (take(p, "[")) {
        v->kind = VAR_ARRAY;
        v->written = true;
        v->extent = parse_expression(p);
        expect(p, "]");
    }
    return v;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static struct stmt *add(struct parser *p, stmt_list *list, enum stmt_kind kind)
{
    struct stmt *const s = arena_new(p->g->arena, struct stmt);
    s->kind = kind;
    vec_push(p->g->arena, list, s);
    return s;
}

static void parse_statement(struct parser *p, stmt_list *list);

/* One statement, or a block of them. */
static void parse_body(struct parser *p, stmt_list *list)
{
    const size_t scope = p->scope.count;
    if (take(p, "{"))
        while (!p->failed && !take(p, "}"))
            parse_statement(p, list);
    else
        parse_statement(p, list);
    p->scope.count = scope;
}

/* {0}: all elements, so many of them are written down. */
static void parse_array_value(struct parser *p, struct stmt *s)
{
    expect(p, "{");
    s->value = parse_expression(p);
    s->repeat = 1;
    expect(p, "}");
    if (s->var->dtype == DTYPE_TEMPLATE && s->value->dtype == DTYPE_INDEX)
        s->value = new_expr(p, EXPR_FLOAT, DTYPE_TEMPLATE);
}

static void parse_declaration(struct parser *p, const struct parsed_type *t, stmt_list *list)
{
    do {
        struct tree_var *const v = parse_declarator(p, t);
        struct stmt *const s = add(p, list, STMT_DECLARE);
        s->var = v;
        if (take(p, "=")) {
            if (at(p, "{") && v->kind == VAR_ARRAY)
                parse_array_value(p, s);
            else
                s->value = at(p, "{") ? parse_initializer(p, t->text) : parse_expression(p);
        } else if (v->kind != VAR_ARRAY) {
            fail_at(p, "'%s' needs a value", v->name);
        }
        declare(p, v);
    } while (take(p, ","));
    expect(p, ";");
}

static bool reads_elements(const struct expr *e)
{
    bool reads = e->op == EXPR_ELEMENT;
    for (int i = 0; i < 3 && e->arg[i]; i++)
        reads |= reads_elements(e->arg[i]);
    for (size_t i = 0; e->op == EXPR_CALL && i < e->call->count; i++)
        reads |= reads_elements(e->call->args[i]);
    return reads;
}

/* var < to && more, more && var < to, which is the same unless `more` tells whether `to` can be read; or any other. */
static void parse_condition(struct parser *p, struct stmt *loop)
{
    const struct expr *const c = parse_expression(p);
    const struct expr *less = c, *more = NULL;
    bool is_first = true;
    if (c->op == EXPR_BOTH) {
        is_first = c->arg[0]->op == EXPR_LT && c->arg[0]->arg[0]->op == EXPR_VAR &&
                   c->arg[0]->arg[0]->var == loop->var;
        less = c->arg[!is_first];
        more = c->arg[is_first];
    }
    if (less->op == EXPR_LT && less->arg[0]->op == EXPR_VAR && less->arg[0]->var == loop->var &&
        (is_first || !reads_elements(less->arg[1]))) {
        loop->to = less->arg[1];
        loop->condition = more;
    } else {
        loop->condition = c;
    }
}

/* i++, i += 4, i -= 4, k = next[k] */
static void parse_step(struct parser *p, struct stmt *loop)
{
    const bool before = take(p, "++"), down_before = !before && take(p, "--");
    if (!at(p, loop->var->name))
        fail_at(p, "a loop changes its own variable only");
    take_word(p);
    if (before || take(p, "++"))
        loop->step = 1;
    else if (down_before || take(p, "--"))
        loop->step = -1;
    else if (take(p, "+="))
        loop->by = parse_expression(p);
    else if (take(p, "="))
        loop->next = parse_expression(p);
    else {
        expect(p, "-=");
        struct expr *const e = new_expr(p, EXPR_NEG, DTYPE_INDEX);
        e->arg[0] = parse_expression(p);
        loop->by = e;
    }
}

/* A macro of a header in front of a loop says of which kind that is. */
static enum loop_kind parse_kind(struct parser *p)
{
    enum loop_kind kind = LOOP_PLAIN;
    if (at(p, "for"))
        return kind;
    if (!map_has(&p->outside, here(p)))
        fail_at(p, "'%s' comes from no header", here(p));
    const size_t next = token_next(&p->source, p->token);
    if (!token_is(&p->source, next, "for"))
        fail_at(p, "a hint stands above a loop");
    if (!loop_kind_find(here(p), &kind))
        fail_at(p, "'%s' is no kind of loops (tree/loop_kinds.def)", here(p));
    take_word(p);
    return kind;
}

static void parse_loop(struct parser *p, stmt_list *list)
{
    const size_t scope = p->scope.count;
    const enum loop_kind kind = parse_kind(p);
    struct stmt *const s = add(p, list, STMT_LOOP);
    struct parsed_type t;
    expect(p, "for");
    expect(p, "(");
    if (!parse_type(p, &t))
        fail_at(p, "a loop declares its variable");
    struct tree_var *const v = parse_declarator(p, &t);
    v->kind = VAR_LOOP;
    s->var = v;
    s->loop = kind;
    expect(p, "=");
    s->from = parse_expression(p);
    declare(p, v);
    expect(p, ";");
    parse_condition(p, s);
    expect(p, ";");
    parse_step(p, s);
    expect(p, ")");
    parse_body(p, &s->body);
    p->scope.count = scope;
}

static void parse_if(struct parser *p, stmt_list *list)
{
    struct stmt *const s = add(p, list, STMT_IF);
    expect(p, "if");
    expect(p, "(");
    s->condition = parse_expression(p);
    expect(p, ")");
    parse_body(p, &s->body);
    if (take(p, "else"))
        parse_body(p, &s->otherwise);
}

/* A name in capitals above a loop. */
static bool is_hint(const struct parser *p)
{
    const size_t next = token_next(&p->source, p->token);
    return str_starts_with(here(p), "STEPC_") && !token_is(&p->source, next, "(");
}

static void parse_assignment(struct parser *p, const struct expr *target, stmt_list *list)
{
    static const struct {
        const char *text;
        enum set_op op;
    } ops[] = {{"=", SET_TO}, {"+=", SET_SUM}, {"-=", SET_DIFFERENCE}, {"*=", SET_PRODUCT}, {"|=", SET_OR}};
    struct stmt *const s = add(p, list, STMT_SET);
    s->target = target;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (!take(p, ops[i].text))
            continue;
        s->op = ops[i].op;
        s->value = parse_expression(p);
        expect(p, ";");
        return;
    }
    fail_at(p, "'%s' is no assignment", here(p));
}

/* (void)x, (void)y; what is not used is found out by itself. */
static void skip_mention(struct parser *p)
{
    expect(p, "(");
    expect(p, "void");
    while (!p->failed && !take(p, ";"))
        take_word(p);
}

/* The comment above the token, if it is to be copied. */
static const char *comment_here(const struct parser *p)
{
    const struct cfront_source *const s = &p->source;
    const bool is_behind = p->token > 0 && p->token < s->token_count && s->tokens[p->token - 1].kind == CFRONT_COMMENT;
    return is_behind ? comment_above(p->g->arena, s, s->tokens[p->token].begin) : NULL;
}

static void parse_statement(struct parser *p, stmt_list *list)
{
    const size_t count = list->count;
    const char *const comment = comment_here(p);
    struct parsed_type t;
    if (at(p, "{")) {
        fail_at(p, "a block stands behind if, else or for only");
    } else if (at(p, "(")) {
        skip_mention(p);
    } else if (at(p, "if")) {
        parse_if(p, list);
    } else if (at(p, "for") || is_hint(p)) {
        parse_loop(p, list);
    } else if (take(p, "return")) {
        struct stmt *const s = add(p, list, STMT_RETURN);
        s->value = at(p, ";") ? NULL : parse_expression(p);
        expect(p, ";");
    } else if (parse_type(p, &t)) {
        parse_declaration(p, &t, list);
    } else {
        const struct expr *const e = parse_operand(p);
        if (e->op == EXPR_CALL && take(p, ";"))
            add(p, list, STMT_CALL)->value = e;
        else
            parse_assignment(p, e, list);
    }
    if (list->count > count)
        ((struct stmt *)(uintptr_t)list->data[count])->comment = comment;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static void parse_attributes(struct parser *p, struct tree_function *f)
{
    f->attributes = "";
    for (;; take_word(p)) {
        if (at(p, "inline") || at(p, "STEPC_INLINE") || at(p, "STEPC_KERNEL"))
            f->attributes = here(p);
        else if (!at(p, "static") && !at(p, "KERNEL") && !at(p, "HOLE"))
            return;
    }
}

void parse_function(struct parser *p, const struct top_name *top, bool body)
{
    struct tree_function *const f = top->function;
    struct parsed_type t;
    p->unit = f;
    p->scope.count = 0;
    p->token = token_at(&p->source, top->node->begin);
    parse_attributes(p, f);
    if (!parse_type(p, &t))
        fail_at(p, "'%s' has a result of no type that a template may use", top->node->name);
    if (take(p, "*"))
        t.dtype = DTYPE_INDEX; /* of a place: only holes give one */
    take(p, "HOLE");
    f->type = t.text;
    f->dtype = t.dtype;
    expect(p, top->node->name);
    expect(p, "(");
    take(p, "void");
    while (!p->failed && !take(p, ")")) {
        if (!parse_type(p, &t))
            fail_at(p, "a parameter begins with its type");
        struct tree_var *const v = parse_declarator(p, &t);
        if (body)
            declare(p, v);
        vec_push(p->g->arena, &f->params, v);
        if (!at(p, ")"))
            expect(p, ",");
    }
    if (body && !p->failed) {
        f->comment = comment_above(p->g->arena, &p->source, top->node->begin);
        parse_body(p, &f->body);
    }
}
