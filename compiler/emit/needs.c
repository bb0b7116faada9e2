/* What functions of the file need of the runtime: elementary functions and headers, found in their trees. */
#include "emit/emit_internal.h"

/* ---- operations that are functions of the runtime ---------------------------------------------------------------- */

static const char *suffix_of(enum dtype d)
{
    return d == DTYPE_DOUBLE ? "" : "f";
}

/* Integer arithmetic wraps (docs/numerics-functions.md): runtime/stepc_integer.h for signed types, plain C for
 * unsigned ones. */
static const char *wrapping(struct arena *a, enum dtype d, const char *name)
{
    const int bits = dtype_bits(d);
    if (!dtype_is_signed(d))
        return NULL;
    return bits >= 32 ? arena_printf(a, "stepc_%s%d", name, bits) : bits == 8 ? "stepc_signed8" : "stepc_signed16";
}

/* Division, remainder, power and shifts exist for 32 and 64 bits; narrower types are widened by C itself. */
static const char *sized(struct arena *a, enum dtype d, const char *name, bool by_sign)
{
    const char *const sign = by_sign && !dtype_is_signed(d) ? "u" : "";
    return arena_printf(a, "stepc_%s%s%d", name, sign, dtype_bits(d) <= 32 ? 32 : 64);
}

static const char *cast_helper(struct arena *a, enum dtype to, enum dtype from)
{
    const bool is_plain = to == DTYPE_INDEX || from == DTYPE_INDEX || to == DTYPE_BOOL;
    if (is_plain || (dtype_is_below_byte(from) && to == dtype_computed(from)))
        return NULL;
    if (dtype_is_below_byte(to))
        return !dtype_is_signed(to) ? NULL : dtype_bits(to) == 4 ? "stepc_signed4" : "stepc_signed2";
    if (dtype_is_pattern(to) || dtype_is_pattern(from)) /* the other one is float: expr.h */
        return arena_printf(a, "stepc_%s_to_%s", dtype_name(from), dtype_name(to));
    if (dtype_is_float(from) && !dtype_is_float(to)) /* truncates, saturates, NaN gives 0 */
        return arena_printf(a, "stepc_%s_to_%s", c_type(from), dtype_name(to));
    return NULL;
}

static struct op_helpers bits_helpers(struct arena *a, enum dtype to, enum dtype from)
{
    struct op_helpers h = {0};
    if (from == DTYPE_FLOAT || from == DTYPE_DOUBLE)
        h.inner = from == DTYPE_FLOAT ? "stepc_bitsf" : "stepc_bits";
    if (to == DTYPE_FLOAT || to == DTYPE_DOUBLE)
        h.name = to == DTYPE_FLOAT ? "stepc_from_bitsf" : "stepc_from_bits";
    else if (!dtype_is_float(to) && dtype_is_signed(to))
        h.name = arena_printf(a, "stepc_signed%d", dtype_bits(to));
    return h;
}

/* Has C the arithmetic of the type itself? */
static bool is_native(enum dtype d)
{
    return dtype_is_float(d) || d == DTYPE_INDEX;
}

static const char *helper_of(struct arena *a, const struct expr *e)
{
    const enum dtype d = e->dtype;
    switch (e->op) {
    case EXPR_ADD: return is_native(d) ? NULL : wrapping(a, d, "add");
    case EXPR_SUB:
    case EXPR_NEG: return is_native(d) ? NULL : wrapping(a, d, "sub");
    case EXPR_MUL: return is_native(d) ? NULL : wrapping(a, d, "mul");
    case EXPR_DIV: return !is_native(d) ? sized(a, d, "div", true) : e->i ? QUOTIENT : NULL;
    case EXPR_MOD:
        if (d == DTYPE_INDEX)
            return NULL;
        return dtype_is_float(d) ? arena_printf(a, "stepc_fmod%s", suffix_of(d))
                                 : sized(a, d, dtype_is_signed(d) ? "rem" : "mod", true);
    case EXPR_POW: return dtype_is_float(d) ? arena_printf(a, "stepc_pow%s", suffix_of(d)) : sized(a, d, "pow", true);
    case EXPR_SHL: return sized(a, d, "shl", false);
    case EXPR_SHR: return sized(a, d, "shr", false);
    case EXPR_MATH: /* of integers the absolute value, which wraps at the minimum */
        return dtype_is_float(d) ? arena_printf(a, "stepc_%s%s", expr_fn_name(e->fn), suffix_of(d))
                                 : wrapping(a, d, "sub");
    case EXPR_CAST: return cast_helper(a, d, e->arg[0]->dtype);
    case EXPR_SELECT: return e->i ? arena_printf(a, "stepc_select%s", suffix_of(d)) : NULL;
    case EXPR_CALL: return e->call->kind == CALL_HELPER ? e->call->name : NULL;
    default: return NULL;
    }
}

struct op_helpers op_helpers(struct arena *a, const struct expr *e)
{
    if (e->op == EXPR_BITS)
        return bits_helpers(a, e->dtype, e->arg[0]->dtype);
    return (struct op_helpers){.name = helper_of(a, e)};
}

/* ---- all of a function ------------------------------------------------------------------------------------------- */

static void note_header(struct emission *e, const char *header)
{
    if (header)
        map_set(&e->includes, header, NULL);
}

struct helper_call {
    struct arena *arena;
    const char *helper;
};

static bool note_expression(const struct expr *x, void *data)
{
    struct emission *const e = data;
    const struct op_helpers h = op_helpers(e->arena, x);
    const struct tree_var *const v = tree_var_of(x);
    if (h.name)
        map_set(&e->helpers, h.name, NULL);
    if (h.inner)
        map_set(&e->helpers, h.inner, NULL);
    if (x->op == EXPR_CALL && x->call->kind == CALL_SECTION)
        note_header(e, x->call->from);
    if (v && v->kind == VAR_MACRO)
        note_header(e, v->from);
    return false;
}

static bool calls_helper(const struct expr *x, void *data)
{
    const struct helper_call *const c = data;
    const struct op_helpers h = op_helpers(c->arena, x);
    return (h.name && str_equal(h.name, c->helper)) || (h.inner && str_equal(h.inner, c->helper));
}

bool tree_calls_helper(struct arena *a, const struct tree_function *f, const char *helper)
{
    return tree_any(&f->body, calls_helper, &(struct helper_call){a, helper});
}

static bool note_statement(const struct stmt *s, void *data)
{
    struct emission *const e = data;
    if (s->kind == STMT_LOOP)
        note_header(e, loop_kinds[s->loop].header);
    if (s->var && s->var->extent)
        expr_any(s->var->extent, note_expression, e);
    return false;
}

void note_needs(struct emission *e, const struct tree_function *f)
{
    tree_any(&f->body, note_expression, e);
    tree_any_statement(&f->body, note_statement, e);
}
