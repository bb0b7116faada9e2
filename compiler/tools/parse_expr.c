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

static struct expr *with_text(struct parser *p, enum expr_op op, enum dtype dtype, const struct expr *x,
                              const char *text)
{
    struct expr *const e = with_args(p, op, dtype, x, NULL, NULL);
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

static bool is_type_hole(struct parser *p, const char *name)
{
    const struct top_name *const top = find_top(p, name);
    return top && top->role == ROLE_TYPE;
}

static const char *parse_type_name(struct parser *p)
{
    if (!take(p, "struct"))
        return take_word(p);
    if (!header_of(p, here(p)))
        fail_at(p, "'struct %s' is of no header", here(p));
    return arena_printf(p->g->arena, "struct %s", take_word(p));
}

bool parse_type(struct parser *p, struct parsed_type *t)
{
    *t = (struct parsed_type){.is_const = take(p, "const")};
    if (is_type_hole(p, here(p)))
        depend(p, FUNCTION_BY_TYPE);
    else if (!is_type_word(here(p)) && !at(p, "struct"))
        return false;
    t->text = parse_type_name(p);
    t->dtype = str_equal(t->text, "T") ? DTYPE_TEMPLATE : DTYPE_INDEX;
    t->is_const |= take(p, "const");
    return true;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* A type hole as the argument of a macro of a header; NULL: none stands here. */
static const struct expr *type_argument(struct parser *p)
{
    if (!is_type_hole(p, here(p)))
        return NULL;
    depend(p, FUNCTION_BY_TYPE);
    return of_var(p, EXPR_VAR, new_var(p, VAR_MACRO, take_word(p)), NULL);
}

static const struct expr **parse_arguments(struct parser *p, size_t *count)
{
    VEC(const struct expr *) args = {0};
    expect(p, "(");
    while (!p->failed && !take(p, ")")) {
        const struct expr *const type = type_argument(p);
        vec_push(p->g->arena, &args, type ? type : parse_expression(p));
        if (!at(p, ")"))
            expect(p, ",");
    }
    *count = args.count;
    return args.data;
}

/* What type a function of a header returns: T if that of its arguments is. */
static enum dtype dtype_of_arguments(const struct tree_call *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->args[i]->dtype == DTYPE_TEMPLATE)
            return DTYPE_TEMPLATE;
    return DTYPE_INDEX;
}

static const struct expr *parse_call(struct parser *p, const char *name)
{
    const struct top_name *const top = find_top(p, name);
    const char *const section = header_of(p, name);
    const bool is_helper = find_helper(p->g, name) != NULL;
    struct tree_call *const c = arena_new(p->g->arena, struct tree_call);
    struct expr *const e = new_expr(p, EXPR_CALL, top && top->function ? top->function->dtype : DTYPE_INDEX);
    e->call = c;
    *c = (struct tree_call){.kind = section ? CALL_SECTION : is_helper ? CALL_HELPER : CALL_NAMED, .name = name};
    if (top && top->role == ROLE_HOLE) {
        c->kind = CALL_HOLE;
        depend(p, FUNCTION_OWN);
    } else if (top && top->role == ROLE_ITEM) {
        c->kind = CALL_FUNCTION;
        c->function = top->function;
        depend(p, top->function->kind);
    } else if (top || (!section && !is_helper && !map_has(&p->outside, name))) {
        fail_at(p, "'%s' cannot be called here", name);
    }
    c->args = parse_arguments(p, &c->count);
    if (c->function && c->count != c->function->params.count)
        fail_at(p, "the call of '%s' has %zu arguments", name, c->count);
    c->from = c->kind == CALL_SECTION ? section : NULL;
    c->by_type = c->kind == CALL_SECTION && is_by_type(p, name);
    if ((c->kind == CALL_HELPER || c->kind == CALL_NAMED) && islower((unsigned char)name[0]))
        e->dtype = dtype_of_arguments(c);
    return e;
}

/* A constant that the user's compiler knows, from a header. Equal ones are written once. */
static struct tree_var *macro_var(struct parser *p, const char *name)
{
    if (!map_has(&p->outside, name))
        fail_at(p, "'%s' is neither a hole, nor a function of this file, nor of a header that is emitted", name);
    struct tree_var *const v = new_var(p, VAR_MACRO, name);
    v->from = header_of(p, name);
    return v;
}

/* STEPC_LANES(T): a macro that takes a type hole and nothing else; NULL: none stands here. */
static const struct tree_var *macro_of_type(struct parser *p, const char *name)
{
    const size_t begin = p->token;
    const char *const type = take(p, "(") ? take_word(p) : "";
    if (is_type_hole(p, type) && take(p, ")")) {
        struct tree_var *const v = macro_var(p, name);
        v->of_type = type;
        depend(p, FUNCTION_BY_TYPE);
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
    const char *const name = take_word(p);
    for (size_t i = p->scope.count; i-- > 0;)
        if (str_equal(p->scope.data[i]->name, name))
            return read_local(p, p->scope.data[i]);
    const struct top_name *const top = find_top(p, name);
    if (top && top->role == ROLE_INT) {
        depend(p, FUNCTION_OWN);
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
    take_word(p);
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
    take_word(p);
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
        return with_text(p, EXPR_NULL, t.dtype, NULL, t.text);
    }
    const struct expr *const constant = t.dtype == DTYPE_TEMPLATE ? type_constant(p) : NULL;
    return constant ? constant : with_text(p, EXPR_CAST, t.dtype, parse_operand(p), t.text);
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
    return with_text(p, EXPR_SIZEOF, DTYPE_INDEX, NULL, t.text);
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
    if (at_identifier(p))
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
            e = with_text(p, EXPR_MEMBER, DTYPE_INDEX, e, take_word(p));
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

/* A pointer moves. */
static const struct expr *moved(struct parser *p, enum expr_op op, const struct expr *pointer, const struct expr *by)
{
    if (op != EXPR_ADD)
        fail_at(p, "pointers move forwards only");
    return of_var(p, EXPR_ADDRESS, pointer->var, with_args(p, EXPR_ADD, DTYPE_INDEX, pointer->arg[0], by, NULL));
}

static const struct expr *operation(struct parser *p, enum expr_op op, const struct expr *x, const struct expr *y)
{
    const bool is_arithmetic = op >= EXPR_ADD && op <= EXPR_MOD;
    const bool is_element = x->dtype == DTYPE_TEMPLATE || y->dtype == DTYPE_TEMPLATE;
    if (is_arithmetic && x->op == EXPR_ADDRESS)
        return moved(p, op, x, y);
    return with_args(p, op, is_arithmetic && is_element ? DTYPE_TEMPLATE : DTYPE_INDEX, x, y, NULL);
}

static const struct expr *parse_binary(struct parser *p, int least)
{
    const struct expr *x = parse_operand(p);
    for (size_t i = 0; !p->failed && i < sizeof operators / sizeof *operators;) {
        if (operators[i].precedence < least || !at(p, operators[i].text)) {
            i++;
            continue;
        }
        take_word(p);
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
    while (!p->failed && !take(p, "}")) {
        expect(p, ".");
        vec_push(p->g->arena, &members, take_word(p));
        expect(p, "=");
        vec_push(p->g->arena, &values, parse_expression(p));
        if (!at(p, "}"))
            expect(p, ",");
    }
    *c = (struct tree_call){.kind = CALL_INITIALIZER, .name = type, .args = values.data, .count = values.count,
                            .members = members.data};
    e->call = c;
    return e;
}
