/* Functions as text for --dump-after tree: a statement a line, an operation as op(operands), and what C does not show:
 * ranges of indices, how many elements a pointer has. */
#include "tree/tree.h"

#include "base/str.h"
#include <inttypes.h>

static const char *const op_names[] = {
    [EXPR_NEG] = "neg",       [EXPR_NOT] = "not", [EXPR_CAST] = "cast", [EXPR_BITS] = "bits",     [EXPR_ADD] = "add",
    [EXPR_SUB] = "sub",       [EXPR_MUL] = "mul", [EXPR_DIV] = "div",   [EXPR_MOD] = "mod",       [EXPR_POW] = "pow",
    [EXPR_AND] = "and",       [EXPR_OR] = "or",   [EXPR_XOR] = "xor",   [EXPR_SHL] = "shl",       [EXPR_SHR] = "shr",
    [EXPR_LT] = "lt",         [EXPR_LE] = "le",   [EXPR_EQ] = "eq",     [EXPR_SELECT] = "select", [EXPR_GT] = "gt",
    [EXPR_GE] = "ge",         [EXPR_NE] = "ne",   [EXPR_BOTH] = "both", [EXPR_EITHER] = "either", [EXPR_ADDRESS] = "at",
    [EXPR_WHOLE] = "memory",  [EXPR_BYTES] = "bytes"};

static void add_expression(struct strbuf *b, const struct expr *e);

static void add_var(struct strbuf *b, const struct tree_var *v)
{
    strbuf_addf(b, "%s%s%s", v->of ? v->of->name : "", v->of ? "." : "", v->name);
}

static void add_list(struct strbuf *b, const struct expr *const *x, size_t count)
{
    strbuf_add(b, "(");
    for (size_t i = 0; i < count; i++) {
        strbuf_add(b, i ? ", " : "");
        add_expression(b, x[i]);
    }
    strbuf_add(b, ")");
}

static void add_index(struct strbuf *b, const struct expr *index)
{
    strbuf_add(b, "[");
    add_expression(b, index);
    strbuf_add(b, "]");
}

static void add_call(struct strbuf *b, const struct tree_call *c)
{
    static const char *const kinds[] = {
        [CALL_FUNCTION] = "",         [CALL_NAMED] = "c ",   [CALL_HELPER] = "helper ",
        [CALL_SECTION] = "routine ",  [CALL_HOLE] = "hole ", [CALL_INITIALIZER] = "struct ",
        [CALL_STRUCT] = "struct "};
    strbuf_addf(b, "%s%s", kinds[c->kind], c->function ? c->function->name : c->name ? c->name : "");
    add_list(b, c->args, c->count);
}

/* An operation with the type of what it gives, where that is not an index. */
static void add_operation(struct strbuf *b, const struct expr *e)
{
    strbuf_add(b, e->op == EXPR_MATH ? expr_fn_name(e->fn) : op_names[e->op]);
    if (e->dtype != DTYPE_INDEX)
        strbuf_addf(b, ".%s", dtype_name(e->dtype));
    else if (e->op == EXPR_CAST)
        strbuf_addf(b, " %s", e->text);
    add_list(b, e->arg, (size_t)expr_arg_count(e));
}

static void add_expression(struct strbuf *b, const struct expr *e)
{
    switch (e->op) {
    case EXPR_FLOAT: strbuf_addf(b, "%.17g", e->f); return;
    case EXPR_INT:
    case EXPR_WIDE: strbuf_addf(b, "%" PRId64, e->i); return;
    case EXPR_VAR: add_var(b, e->var); return;
    case EXPR_TEXT: strbuf_add(b, e->text); return;
    case EXPR_NULL: strbuf_add(b, "null"); return;
    case EXPR_SIZEOF: strbuf_addf(b, "sizeof %s", e->text); return;
    case EXPR_CALL: add_call(b, e->call); return;
    case EXPR_WHOLE:
    case EXPR_BYTES:
    case EXPR_ADDRESS:
        strbuf_addf(b, "%s ", op_names[e->op]);
        add_var(b, e->var);
        if (e->op == EXPR_ADDRESS)
            add_index(b, e->arg[0]);
        return;
    case EXPR_ELEMENT:
    case EXPR_MATRIX:
        add_var(b, e->var);
        add_index(b, e->arg[0]);
        if (e->op == EXPR_MATRIX)
            add_index(b, e->arg[1]);
        return;
    case EXPR_MEMBER:
        add_expression(b, e->arg[0]);
        strbuf_addf(b, ".%s", e->text);
        return;
    default: add_operation(b, e); return;
    }
}

/* "const float *restrict x[8]", "int i in 0..7" */
static void add_declared(struct strbuf *b, const struct tree_var *v)
{
    const bool is_pointer = v->kind == VAR_POINTER;
    strbuf_addf(b, "%s%s %s%s%s", is_pointer && !v->written ? "const " : "", v->type, is_pointer ? "*" : "",
                v->is_restrict ? "restrict " : "", v->name);
    if (v->extent)
        add_index(b, v->extent);
    else if (v->count > 0)
        strbuf_addf(b, "[%" PRId64 "]", v->count);
    if (v->has_range)
        strbuf_addf(b, " in %" PRId64 "..%" PRId64, v->low, v->high);
}

/* A word and an expression, if there is one. */
static void add_part(struct strbuf *b, const char *word, const struct expr *e)
{
    if (!e)
        return;
    strbuf_add(b, word);
    add_expression(b, e);
}

static void add_statements(struct strbuf *b, const stmt_list *list, int depth);

static void add_loop(struct strbuf *b, const struct stmt *s)
{
    if (s->loop != LOOP_PLAIN)
        strbuf_addf(b, "%s ", loop_kinds[s->loop].name);
    strbuf_add(b, "loop ");
    add_declared(b, s->var);
    add_part(b, " from ", s->from);
    add_part(b, " to ", s->to);
    add_part(b, " while ", s->condition);
    add_part(b, " by ", s->by);
    add_part(b, " next ", s->next);
    if (s->step != 0)
        strbuf_addf(b, " by %" PRId64, s->step);
}

static void add_statement(struct strbuf *b, const struct stmt *s)
{
    static const char *const sets[] = {[SET_TO] = "=",       [SET_SUM] = "+=", [SET_DIFFERENCE] = "-=",
                                       [SET_PRODUCT] = "*=", [SET_OR] = "|=",  [SET_MAX] = "max=",
                                       [SET_TOP] = "top=",   [SET_MIN] = "min="};
    switch (s->kind) {
    case STMT_LOOP: add_loop(b, s); return;
    case STMT_IF: add_part(b, "if ", s->condition); return;
    case STMT_DECLARE:
        strbuf_add(b, "declare ");
        add_declared(b, s->var);
        add_part(b, " = ", s->value);
        if (s->repeat > 0)
            strbuf_addf(b, " x %" PRId64, s->repeat);
        return;
    case STMT_SET:
        add_part(b, "set ", s->target);
        strbuf_addf(b, " %s ", sets[s->op]);
        add_expression(b, s->value);
        return;
    case STMT_CALL: add_part(b, "call ", s->value); return;
    case STMT_RETURN:
        strbuf_add(b, "return");
        add_part(b, " ", s->value);
        return;
    }
}

static void add_statements(struct strbuf *b, const stmt_list *list, int depth)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct stmt *const s = list->data[i];
        strbuf_addf(b, "%*s", 2 * depth, "");
        add_statement(b, s);
        strbuf_add(b, "\n");
        add_statements(b, &s->body, depth + 1);
        if (s->otherwise.count > 0)
            strbuf_addf(b, "%*selse\n", 2 * depth, "");
        add_statements(b, &s->otherwise, depth + 1);
    }
}

const char *tree_print(struct arena *a, const struct tree_function *f)
{
    struct strbuf b = {.arena = a};
    strbuf_addf(&b, "%s %s\n", f->type, f->name);
    for (size_t i = 0; i < f->params.count; i++) {
        strbuf_add(&b, "  takes ");
        add_declared(&b, f->params.data[i]);
        strbuf_add(&b, "\n");
    }
    add_statements(&b, &f->body, 1);
    return strbuf_text(&b);
}
