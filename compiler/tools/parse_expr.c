/* Expressions of templates: precedence climbing over tokens. Nothing is folded: sizes are not known yet. */
#include "tools/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct expr *new_expr(struct parser *p, enum expr_op op, enum dtype dtype)
{
    struct expr *const e = arena_new(p->g->arena, struct expr);
    e->op = op;
    e->dtype = dtype;
    return e;
}

static struct expr *with_args(struct parser *p, enum expr_op op, enum dtype dtype, const struct expr *x,
                              const struct expr *y, const struct expr *z)
{
    struct expr *const e = new_expr(p, op, dtype);
    e->arg[0] = x;
    e->arg[1] = y;
    e->arg[2] = z;
    return e;
}

static struct expr *with_text(struct parser *p, enum expr_op op, enum dtype dtype, const char *text)
{
    struct expr *const e = new_expr(p, op, dtype);
    e->text = text;
    return e;
}

static const struct expr *integer(struct parser *p, int64_t x)
{
    struct expr *const e = new_expr(p, EXPR_INT, DTYPE_INDEX);
    e->i = x;
    return e;
}

static const struct expr *of_var(struct parser *p, enum expr_op op, const struct tree_var *v, const struct expr *index)
{
    struct expr *const e = with_args(p, op, v->dtype, index, NULL, NULL);
    e->var = v;
    return e;
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Of C and of <stdint.h>: those that templates count and index with. */
static bool is_type_word(const char *text)
{
    static const char *const words[] = {"void",    "int",      "unsigned", "size_t",   "int8_t",  "int16_t",
                                        "int32_t", "int64_t",  "uint8_t",  "uint16_t", "uint32_t", "uint64_t"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_equal(words[i], text))
            return true;
    return false;
}

void note_name(struct parser *p, const char ***list, const char *name)
{
    size_t count = 0;
    while (*list && (*list)[count])
        if (str_equal((*list)[count++], name))
            return;
    const char **const longer = arena_array(p->g->arena, const char *, count + 2);
    for (size_t i = 0; i < count; i++)
        longer[i] = (*list)[i];
    longer[count] = name;
    *list = longer;
}

/* The name of a type, with that of the hole noted. */
static bool take_type_name(struct parser *p, struct parsed_type *t)
{
    const char *const word = here(p);
    const struct top_name *const top = find_top(p, word);
    if (top && top->role == ROLE_TYPE)
        note_name(p, &p->unit->types, word);
    else if (take(p, "struct"))
        return header_of(p, here(p)) ? t->text = arena_printf(p->g->arena, "struct %s", here(p)), true
                                      : (fail_at(p, "'struct %s' is of no header", here(p)), true);
    else if (!is_type_word(word))
        return false;
    t->text = word;
    t->dtype = str_equal(word, "T") ? DTYPE_TEMPLATE : DTYPE_INDEX;
    return true;
}

bool parse_type(struct parser *p, struct parsed_type *t)
{
    *t = (struct parsed_type){.is_const = take(p, "const")};
    if (!take_type_name(p, t))
        return false;
    p->token = token_next(&p->source, p->token);
    t->is_const |= take(p, "const");
    return true;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* A type hole as the argument of a macro of a header; NULL: none stands here. */
static const struct expr *type_argument(struct parser *p)
{
    const char *const name = here(p);
    const struct top_name *const top = find_top(p, name);
    if (!top || top->role != ROLE_TYPE)
        return NULL;
    struct tree_var *const v = arena_new(p->g->arena, struct tree_var);
    *v = (struct tree_var){.kind = VAR_MACRO, .dtype = DTYPE_INDEX, .type = "int", .name = name};
    note_name(p, &p->unit->types, name);
    p->token = token_next(&p->source, p->token);
    return of_var(p, EXPR_VAR, v, NULL);
}

static const struct expr **parse_arguments(struct parser *p, size_t *count)
{
    VEC(const struct expr *) args = {0};
    expect(p, "(");
    while (!p->failed && !at(p, ")")) {
        const struct expr *const type = type_argument(p);
        vec_push(p->g->arena, &args, type ? type : parse_expression(p));
        if (!at(p, ")"))
            expect(p, ",");
    }
    expect(p, ")");
    *count = args.count;
    return args.data;
}

static struct expr *new_call(struct parser *p, enum call_kind kind, const char *name, enum dtype dtype)
{
    struct tree_call *const c = arena_new(p->g->arena, struct tree_call);
    struct expr *const e = new_expr(p, EXPR_CALL, dtype);
    c->kind = kind;
    c->name = name;
    e->call = c;
    c->args = parse_arguments(p, &c->count);
    return e;
}

/* What type a function of a header returns: T if that of its arguments is. */
static enum dtype dtype_of_arguments(const struct expr *call)
{
    for (size_t i = 0; i < call->call->count; i++)
        if (call->call->args[i]->dtype == DTYPE_TEMPLATE)
            return DTYPE_TEMPLATE;
    return DTYPE_INDEX;
}

/* A call of a function of the file makes its caller depend on what that depends on. */
static void note_called(struct parser *p, const struct top_name *top)
{
    p->unit->own |= top->own;
    p->unit->calls_holes |= top->calls_holes;
    for (size_t i = 0; top->types && top->types[i]; i++)
        note_name(p, &p->unit->types, top->types[i]);
}

/* STEPC_EACH_..(sizes, part, arguments): a macro of a header calls `part` several times, with arguments of its own
 * before these. */
static const struct expr *parse_each(struct parser *p, const char *macro)
{
    VEC(const struct expr *) args = {0};
    struct tree_call *const c = arena_new(p->g->arena, struct tree_call);
    struct expr *const e = new_expr(p, EXPR_CALL, DTYPE_INDEX);
    expect(p, "(");
    while (!p->failed && !at(p, ")")) {
        const struct top_name *const top = c->function ? NULL : find_top(p, here(p));
        const struct expr *const type = type_argument(p);
        if (type || !top || top->role != ROLE_ITEM) {
            vec_push(p->g->arena, &args, type ? type : parse_expression(p));
        } else {
            c->function = top->function;
            c->sizes = args.count;
            p->token = token_next(&p->source, p->token);
            note_called(p, top);
        }
        if (!at(p, ")"))
            expect(p, ",");
    }
    expect(p, ")");
    if (!c->function || args.count - c->sizes > c->function->params.count) {
        fail_at(p, "'%s' is given no function of this file, or too many arguments for it", macro);
        return integer(p, 0);
    }
    c->kind = CALL_FUNCTION;
    c->name = c->function->name;
    c->each = macro;
    c->from = header_of(p, macro);
    c->given = c->function->params.count - (args.count - c->sizes);
    c->args = args.data;
    c->count = args.count;
    e->call = c;
    return e;
}

static const struct expr *parse_call(struct parser *p, const char *name)
{
    struct top_name *const top = find_top(p, name);
    if (top && (top->role == ROLE_EXPR || top->role == ROLE_STMT)) {
        p->unit->own = p->unit->calls_holes = true;
        return new_call(p, CALL_HOLE, name, top->function->dtype);
    }
    if (top && top->role == ROLE_ITEM) {
        const struct expr *const e = new_call(p, CALL_FUNCTION, name, top->function->dtype);
        ((struct tree_call *)(uintptr_t)e->call)->function = top->function;
        note_called(p, top);
        if (e->call->count != top->function->params.count)
            fail_at(p, "the call of '%s' has %zu arguments", name, e->call->count);
        return e;
    }
    const char *const section = header_of(p, name);
    if (section && str_starts_with(name, "STEPC_EACH_"))
        return parse_each(p, name);
    if (top || (!section && !is_helper(p, name) && !map_has(&p->outside, name))) {
        fail_at(p, "'%s' cannot be called here", name);
        return integer(p, 0);
    }
    struct expr *const e = new_call(
        p, section ? CALL_SECTION : is_helper(p, name) ? CALL_HELPER : CALL_NAMED, name, DTYPE_INDEX);
    if (section) {
        struct tree_call *const c = (struct tree_call *)(uintptr_t)e->call;
        c->from = section;
        c->by_type = is_by_type(p, name);
    }
    if (islower((unsigned char)name[0]) && !section)
        e->dtype = dtype_of_arguments(e);
    return e;
}

/* A constant that the user's compiler knows, from a header. */
static struct tree_var *macro_var(struct parser *p, const char *name)
{
    struct tree_var *v = map_get(&p->macros, name);
    if (v)
        return v;
    if (!map_has(&p->outside, name))
        fail_at(p, "'%s' is neither a hole, nor a function of this file, nor of a header that is emitted", name);
    v = arena_new(p->g->arena, struct tree_var);
    *v = (struct tree_var){.kind = VAR_MACRO, .dtype = DTYPE_INDEX, .type = "int", .name = name,
                           .from = header_of(p, name)};
    map_set(&p->macros, name, v);
    return v;
}

/* STEPC_LANES(T): a macro that takes a type hole and nothing else; NULL: none stands here. */
static const struct tree_var *macro_of_type(struct parser *p, const char *name)
{
    const size_t begin = p->token;
    const char *const type = take(p, "(") ? here(p) : "";
    const struct top_name *const top = find_top(p, type);
    if (top && top->role == ROLE_TYPE && take(p, type) && take(p, ")")) {
        struct tree_var *const v = macro_var(p, name);
        v->of_type = type;
        note_name(p, &p->unit->types, type);
        return v;
    }
    p->token = begin;
    return NULL;
}

static bool has_elements(const struct tree_var *v)
{
    return v->kind == VAR_POINTER || v->kind == VAR_ARRAY;
}

static const struct expr *read_local(struct parser *p, const struct tree_var *v)
{
    return of_var(p, has_elements(v) ? EXPR_ADDRESS : EXPR_VAR, v, has_elements(v) ? integer(p, 0) : NULL);
}

static const struct expr *parse_name(struct parser *p)
{
    const char *const name = here(p);
    p->token = token_next(&p->source, p->token);
    for (size_t i = p->scope.count; i-- > 0;)
        if (str_equal(p->scope.data[i]->name, name))
            return read_local(p, p->scope.data[i]);
    struct top_name *const top = find_top(p, name);
    if (top && top->role == ROLE_INT) {
        p->unit->own = true;
        return of_var(p, EXPR_VAR, top->hole, NULL);
    }
    const struct tree_var *const of_type = macro_of_type(p, name);
    if (of_type)
        return of_var(p, EXPR_VAR, of_type, NULL);
    if (at(p, "("))
        return parse_call(p, name);
    if (top)
        fail_at(p, "'%s' can only be called, not named", name);
    return of_var(p, EXPR_VAR, macro_var(p, name), NULL);
}

static const struct expr *parse_number(struct parser *p)
{
    const char *const text = here(p);
    char *rest;
    const long long value = strtoll(text, &rest, 0);
    if (*rest != '\0' && !str_equal(rest, "u"))
        fail_at(p, "constant '%s' is no plain integer; one of a type hole is written as (T)0.5", text);
    p->token = token_next(&p->source, p->token);
    return integer(p, value);
}

/* (T)0.5, (T)-1: a constant of the type hole. */
static const struct expr *type_constant(struct parser *p)
{
    const size_t begin = p->token;
    const bool negative = take(p, "-");
    const char *const text = here(p);
    char *rest;
    const double value = strtod(text, &rest);
    if (!isdigit((unsigned char)text[0]) || *rest != '\0') {
        p->token = begin;
        return NULL;
    }
    p->token = token_next(&p->source, p->token);
    struct expr *const e = new_expr(p, EXPR_FLOAT, DTYPE_TEMPLATE);
    e->f = negative ? -value : value;
    return e;
}

static const struct expr *parse_cast(struct parser *p)
{
    struct parsed_type t;
    expect(p, "(");
    (void)parse_type(p, &t); /* there is one: cast_begins() */
    const bool pointer = take(p, "*");
    expect(p, ")");
    if (pointer) {
        if (!take(p, "0"))
            fail_at(p, "the only pointer to cast to is that to nothing");
        return with_text(p, EXPR_NULL, t.dtype, t.text);
    }
    const struct expr *const constant = t.dtype == DTYPE_TEMPLATE ? type_constant(p) : NULL;
    if (constant)
        return constant;
    struct expr *const e = with_args(p, EXPR_CAST, t.dtype, parse_operand(p), NULL, NULL);
    e->text = t.text;
    return e;
}

static bool cast_begins(struct parser *p)
{
    const size_t begin = p->token;
    struct parsed_type t;
    const bool yes = take(p, "(") && parse_type(p, &t);
    p->token = begin;
    return yes;
}

static const struct expr *parse_sizeof(struct parser *p)
{
    struct parsed_type t;
    expect(p, "(");
    if (!parse_type(p, &t))
        fail_at(p, "sizeof takes a type here");
    expect(p, ")");
    return with_text(p, EXPR_SIZEOF, DTYPE_INDEX, t.text);
}

static const struct expr *parse_primary(struct parser *p)
{
    if (take(p, "(")) {
        const struct expr *const e = parse_expression(p);
        expect(p, ")");
        return e;
    }
    if (take(p, "sizeof"))
        return parse_sizeof(p);
    if (isdigit((unsigned char)here(p)[0]))
        return parse_number(p);
    if (p->token < p->source.token_count && p->source.tokens[p->token].kind == CFRONT_IDENTIFIER)
        return parse_name(p);
    fail_at(p, "'%s' begins no expression that a template may have", here(p));
    return integer(p, 0);
}

static const struct expr *parse_postfix(struct parser *p)
{
    const struct expr *e = parse_primary(p);
    for (;;) {
        if (take(p, "[")) {
            if (e->op != EXPR_ADDRESS || e->arg[0]->i != 0 || e->arg[0]->op != EXPR_INT)
                fail_at(p, "only variables have elements here");
            e = of_var(p, EXPR_ELEMENT, e->var, parse_expression(p));
            expect(p, "]");
        } else if (take(p, ".")) {
            struct expr *const m =
                with_args(p, EXPR_MEMBER, DTYPE_INDEX, e, NULL, NULL);
            m->text = here(p);
            p->token = token_next(&p->source, p->token);
            e = m;
        } else {
            return e;
        }
    }
}

const struct expr *parse_operand(struct parser *p)
{
    if (take(p, "!"))
        return with_args(p, EXPR_NOT, DTYPE_INDEX, parse_operand(p), NULL, NULL);
    if (take(p, "-")) {
        const struct expr *const x = parse_operand(p);
        return with_args(p, EXPR_NEG, x->dtype, x, NULL, NULL);
    }
    if (take(p, "&")) {
        const struct expr *const x = parse_operand(p);
        if (x->op != EXPR_ELEMENT)
            fail_at(p, "only elements have an address here");
        return of_var(p, EXPR_ADDRESS, x->var, x->arg[0]);
    }
    return cast_begins(p) ? parse_cast(p) : parse_postfix(p);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    enum expr_op op;
    int precedence;
} operators[] = {{"||", EXPR_EITHER, 1}, {"&&", EXPR_BOTH, 2}, {"==", EXPR_EQ, 3}, {"!=", EXPR_NE, 3},
                 {"<", EXPR_LT, 4},      {"<=", EXPR_LE, 4},   {">", EXPR_GT, 4},  {">=", EXPR_GE, 4},
                 {"+", EXPR_ADD, 5},     {"-", EXPR_SUB, 5},   {"*", EXPR_MUL, 6}, {"/", EXPR_DIV, 6},
                 {"%", EXPR_MOD, 6}};

static bool compares(enum expr_op op)
{
    return op == EXPR_EITHER || op == EXPR_BOTH || op == EXPR_EQ || op == EXPR_NE || op == EXPR_LT || op == EXPR_LE ||
           op == EXPR_GT || op == EXPR_GE;
}

/* A pointer moves. */
static const struct expr *moved(struct parser *p, enum expr_op op, const struct expr *pointer, const struct expr *by)
{
    if (op != EXPR_ADD)
        fail_at(p, "pointers move forwards only");
    return of_var(p, EXPR_ADDRESS, pointer->var, with_args(p, EXPR_ADD, DTYPE_INDEX, pointer->arg[0], by, NULL));
}

static const struct expr *operation(struct parser *p, enum expr_op op, const struct expr *x, const struct expr *y)
{
    if (compares(op))
        return with_args(p, op, DTYPE_INDEX, x, y, NULL);
    if (x->op == EXPR_ADDRESS)
        return moved(p, op, x, y);
    const enum dtype d = x->dtype == DTYPE_TEMPLATE || y->dtype == DTYPE_TEMPLATE ? DTYPE_TEMPLATE : DTYPE_INDEX;
    return with_args(p, op, d, x, y, NULL);
}

static const struct expr *parse_binary(struct parser *p, int least)
{
    const struct expr *x = parse_operand(p);
    for (size_t i = 0; !p->failed && i < sizeof operators / sizeof *operators;) {
        if (operators[i].precedence < least || !at(p, operators[i].text)) {
            i++;
            continue;
        }
        expect(p, operators[i].text);
        x = operation(p, operators[i].op, x, parse_binary(p, operators[i].precedence + 1));
        i = 0;
    }
    return x;
}

const struct expr *parse_expression(struct parser *p)
{
    const struct expr *const c = parse_binary(p, 1);
    if (!take(p, "?"))
        return c;
    const struct expr *const x = parse_expression(p);
    expect(p, ":");
    const struct expr *const y = parse_expression(p);
    return with_args(p, EXPR_SELECT, x->dtype == DTYPE_INDEX ? y->dtype : x->dtype, c, x, y);
}

const struct expr *parse_initializer(struct parser *p, const char *type)
{
    struct tree_call *const c = arena_new(p->g->arena, struct tree_call);
    struct expr *const e = new_expr(p, EXPR_CALL, DTYPE_INDEX);
    VEC(const char *) members = {0};
    VEC(const struct expr *) values = {0};
    expect(p, "{");
    while (!p->failed && !at(p, "}")) {
        expect(p, ".");
        vec_push(p->g->arena, &members, here(p));
        p->token = token_next(&p->source, p->token);
        expect(p, "=");
        vec_push(p->g->arena, &values, parse_expression(p));
        if (!at(p, "}"))
            expect(p, ",");
    }
    expect(p, "}");
    *c = (struct tree_call){.kind = CALL_INITIALIZER, .name = type, .args = values.data, .count = values.count,
                            .members = members.data};
    e->call = c;
    return e;
}
