/* Expressions as C text. */
#include "emit/emit_internal.h"

#include "base/str.h"
#include <inttypes.h>
#include <string.h>

const char *c_type(enum dtype d)
{
    return dtype_c_type(d);
}

struct kernel_param *find_param(const struct expr_scope *s, const struct buffer *b)
{
    for (size_t i = 0; i < s->params->count; i++)
        if (s->params->data[i].buffer == b || s->params->data[i].replaces == b)
            return &s->params->data[i];
    UNREACHABLE("buffer '%s' is not a parameter of its kernel", b->name);
}

const struct tree_var *param_var(const struct expr_scope *s, const struct buffer *b)
{
    struct kernel_param *const p = find_param(s, b);
    if (p->var)
        return p->var;
    p->var =
        tree_var(s->arena, p->by_value ? VAR_VALUE : VAR_POINTER, p->buffer->dtype, c_type(p->buffer->dtype), p->name);
    p->var->count = p->buffer->count;
    p->var->written = p->written;
    p->var->is_restrict = true;
    return p->var;
}

bool takes_name_of(const struct expr_scope *s, const struct buffer *local, const struct expr *value)
{
    struct kernel_param *const p = find_param(s, local);
    if (p->var || value->op != EXPR_VAR || value->var->kind != VAR_VALUE || value->var->dtype != local->dtype)
        return false;
    p->var = (struct tree_var *)(uintptr_t)value->var;
    return true;
}

/* ---- from kernels to trees --------------------------------------------------------------------------------------- */

/* Negative strides come last, so that no partial sum is negative and the text does not begin with a minus. */
static const struct expr *offset_of(struct expr_scope *s, const struct access *a)
{
    struct arena *const m = s->arena;
    /* the indices within an iteration are int all the same */
    const bool wide = s->in_template && str_equal(s->index_type, "int64_t");
    const struct expr *sum = index_constant(m, 0);
    for (int t = 0; t < a->term_count; t++)
        sum = index_add(m, sum, index_mul(m, expr_resolve(s, a->term[t].index), index_constant(m, a->term[t].stride)));
    for (int d = 0; d < LOOP_MAX_DIMS; d++)
        if (a->stride[d] > 0 && s->index[d])
            sum = index_add(m, sum, index_mul(m, s->index[d], index_constant(m, a->stride[d])));
    if (a->offset != 0)
        sum = index_add(m, sum, wide ? index_wide(m, a->offset) : index_constant(m, a->offset));
    for (int d = 0; d < LOOP_MAX_DIMS; d++)
        if (a->stride[d] < 0 && s->index[d])
            sum = index_sub(m, sum, index_mul(m, s->index[d], index_constant(m, -a->stride[d])));
    return sum;
}

const struct expr *access_element(struct expr_scope *s, const struct access *a)
{
    const struct tree_var *const v = param_var(s, a->buffer);
    return v->kind == VAR_POINTER ? tree_element(s->arena, v, offset_of(s, a)) : tree_read(s->arena, v);
}

static const struct tree_var *local_of(const struct expr_scope *s, const struct expr *e)
{
    for (size_t i = 0; i < s->locals.count; i++)
        if (s->locals.data[i].expr == e)
            return s->locals.data[i].var;
    return NULL;
}

const struct expr *late_size(const struct emission *e, const struct late_size *s, int64_t constant)
{
    struct arena *const a = e->arena;
    if (!is_late(s))
        return index_constant(a, constant);
    const struct expr *const moving = index_mul(a, tree_read(a, e->count_var), index_constant(a, s->per));
    return s->base < 0 ? index_sub(a, moving, index_constant(a, -s->base))
                       : index_add(a, moving, index_constant(a, s->base));
}

static bool is_root_and_more(const struct expr *e);
static const struct expr *random_call(struct expr_scope *s, const struct expr *e);

static bool is_long_function(const struct expr *e, void *data)
{
    (void)data;
    enum { LONG = 12 };
    return e->op == EXPR_POW || (e->op == EXPR_MATH && expr_fn_cost(e->fn) >= LONG);
}

/* Selects between floats that are computed by bits: GCC jumps around a function in a branch, or of an argument that a
 * branch chooses, and then finds no vectors (Elu on AVX-512: 0.4 instead of 5.4 ns an element). Numbers one by one gain
 * from the jump. */
static bool selects_by_bits(const struct expr_scope *s, const struct expr *e)
{
    const bool is_float = e->dtype == DTYPE_FLOAT || e->dtype == DTYPE_DOUBLE;
    const bool has_vectors = s->in_loop && !emits_plain(s->e->options) && !s->e->options->small;
    return is_float && (s->selects_by_bits || (has_vectors && (s->in_long_function ||
                                                               expr_any(e->arg[1], is_long_function, NULL) ||
                                                               expr_any(e->arg[2], is_long_function, NULL))));
}

const struct expr *expr_resolve(struct expr_scope *s, const struct expr *e)
{
    const struct tree_var *const local = local_of(s, e);
    if (local)
        return tree_read(s->arena, local);
    if (e->op == EXPR_LOAD)
        return access_element(s, e->access);
    if (e->op == EXPR_RESULT)
        return s->result;
    if (e->op == EXPR_COUNT)
        return late_size(s->e, &(struct late_size){0, e->i}, 0);
    if (e->op == EXPR_UNIFORM || e->op == EXPR_NORMAL)
        return random_call(s, e);
    struct expr *const made = arena_copy(s->arena, e, sizeof *e, alignof(struct expr));
    if (e->op == EXPR_INDEX) {
        made->op = EXPR_CAST;
        made->arg[0] = s->index[e->i] ? s->index[e->i] : index_constant(s->arena, 0);
        return made;
    }
    const bool outer = s->in_long_function;
    s->in_long_function = outer || is_long_function(e, NULL);
    for (int i = 0; i < expr_arg_count(e); i++)
        made->arg[i] = expr_resolve(s, e->arg[i]);
    s->in_long_function = outer;
    if (e->op == EXPR_SELECT)
        made->i = selects_by_bits(s, e);
    if (e->op == EXPR_DIV)
        made->i = s->divides_wide && is_root_and_more(made->arg[1]);
    return made;
}

bool text_is_word(const char *text)
{
    return text[strcspn(text, " +-*/%<>=?:&|^()[],")] == '\0';
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* What a constant local was declared with. */
static const struct expr *known(const struct expr *e)
{
    return e->op == EXPR_VAR && e->var->value ? e->var->value : e;
}

static bool is_condition(const struct expr *e)
{
    const enum expr_op op = known(e)->op;
    const bool is_logical = op == EXPR_NOT || op == EXPR_AND || op == EXPR_OR || op == EXPR_XOR;
    return op == EXPR_LT || op == EXPR_LE || op == EXPR_EQ || (is_logical && known(e)->dtype == DTYPE_BOOL);
}

static const char *wrap(struct expr_scope *s, const char *text, int has, int wants)
{
    return has < wants ? arena_printf(s->arena, "(%s)", text) : text;
}

/* Where a long line may be broken. */
static char blank(const struct expr_scope *s)
{
    return s->marks_breaks ? LINE_MAY_BREAK : ' ';
}

/* Sums of indices may be added in any order: no parentheses. GCC wants them around an operand of a comparison that is
 * one itself. */
static const char *infix(struct expr_scope *s, const struct expr *e, int *precedence)
{
    static const struct {
        const char *sign;
        int precedence;
    } ops[] = {[EXPR_ADD] = {"+", PREC_ADD},   [EXPR_SUB] = {"-", PREC_ADD},  [EXPR_MUL] = {"*", PREC_MUL},
               [EXPR_DIV] = {"/", PREC_MUL},   [EXPR_MOD] = {"%", PREC_MUL},  [EXPR_LT] = {"<", PREC_LESS},
               [EXPR_LE] = {"<=", PREC_LESS},  [EXPR_GT] = {">", PREC_LESS},  [EXPR_GE] = {">=", PREC_LESS},
               [EXPR_EQ] = {"==", PREC_EQUAL}, [EXPR_NE] = {"!=", PREC_EQUAL}};
    const int own = ops[e->op].precedence, left = own <= PREC_LESS ? PREC_LESS + 1 : own;
    const int right = own <= PREC_LESS || (e->op == EXPR_ADD && e->dtype == DTYPE_INDEX) ? left : left + 1;
    *precedence = own;
    return arena_printf(s->arena, "%s %s%c%s", tree_expr_text(s, e->arg[0], left), ops[e->op].sign, blank(s),
                        tree_expr_text(s, e->arg[1], right));
}

/* What the operation is called, if it is a function of the runtime. */
static const char *helper_name(struct expr_scope *s, const struct expr *e)
{
    return op_helpers(s->arena, e).name;
}

static const char *call1(struct expr_scope *s, const struct expr *e)
{
    return arena_printf(s->arena, "%s(%s)", helper_name(s, e), tree_expr_text(s, e->arg[0], PREC_NONE));
}

static const char *call2(struct expr_scope *s, const struct expr *e)
{
    const char *const x = tree_expr_text(s, e->arg[0], PREC_NONE), *const y = tree_expr_text(s, e->arg[1], PREC_NONE);
    return arena_printf(s->arena, "%s(%s,%c%s)", helper_name(s, e), x, blank(s), y);
}

/* Integer arithmetic wraps (docs/numerics-functions.md). */
static const char *wrapping(struct expr_scope *s, const struct expr *e)
{
    static const char ops[] = "+-*";
    const int bits = dtype_bits(e->dtype), op = (int)(e->op - EXPR_ADD);
    if (dtype_is_signed(e->dtype) && bits >= 32)
        return call2(s, e);
    const char *x = tree_expr_text(s, e->arg[0], PREC_UNARY), *y = tree_expr_text(s, e->arg[1], PREC_UNARY);
    if (bits >= 32)
        return arena_printf(s->arena, "(%s %c%c%s)", x, ops[op], blank(s), y);
    const char *wide = arena_printf(s->arena, "(uint32_t)%s %c%c(uint32_t)%s", x, ops[op], blank(s), y);
    if (dtype_is_signed(e->dtype))
        return arena_printf(s->arena, "%s(%s)", helper_name(s, e), wide);
    return arena_printf(s->arena, "(%s)(%s)", c_type(e->dtype), wide);
}

/* Division, remainder, power and shifts of integers. */
static const char *sized_call(struct expr_scope *s, const struct expr *e)
{
    const char *const text = call2(s, e);
    return dtype_bits(e->dtype) < 32 ? arena_printf(s->arena, "(%s)%s", c_type(e->dtype), text) : text;
}

static const char *suffix_of(enum dtype d)
{
    return d == DTYPE_DOUBLE ? "" : "f";
}

/* The low bits of an integer, as a type of so few. */
static const char *below_byte_text(struct expr_scope *s, const struct expr *e)
{
    const char *const bits = arena_printf(s->arena, "(uint32_t)%s", tree_expr_text(s, e->arg[0], PREC_UNARY));
    if (dtype_is_signed(e->dtype))
        return arena_printf(s->arena, "%s(%s)", helper_name(s, e), bits);
    return arena_printf(s->arena, "(uint8_t)(%s & %du)", bits, (1 << dtype_bits(e->dtype)) - 1);
}

static const char *cast_text(struct expr_scope *s, const struct expr *e)
{
    const struct expr *x = e->arg[0];
    if (e->dtype == DTYPE_INDEX)
        return arena_printf(s->arena, "(%s)%s", e->text, tree_expr_text(s, x, PREC_UNARY));
    if (x->dtype == DTYPE_INDEX)
        return arena_printf(s->arena, "(%s)%s", c_type(e->dtype), tree_expr_text(s, x, PREC_UNARY));
    if (e->dtype == DTYPE_BOOL)
        return is_condition(x) ? tree_expr_text(s, x, PREC_EQUAL)
                               : arena_printf(s->arena, "%s != %s", tree_expr_text(s, x, PREC_EQUAL),
                                              dtype_is_float(x->dtype) ? number_float(s->arena, x->dtype, 0) : "0");
    if (dtype_is_below_byte(x->dtype) && e->dtype == dtype_computed(x->dtype))
        return tree_expr_text(s, x, PREC_UNARY);
    if (dtype_is_below_byte(e->dtype))
        return below_byte_text(s, e);
    return helper_name(s, e) ? call1(s, e)
                             : arena_printf(s->arena, "(%s)%s", c_type(e->dtype), tree_expr_text(s, x, PREC_UNARY));
}

/* Through the unsigned type of that width. */
static const char *reinterpreted_text(struct expr_scope *s, const struct expr *e)
{
    const struct op_helpers h = op_helpers(s->arena, e);
    const char *text = tree_expr_text(s, e->arg[0], h.inner ? PREC_NONE : PREC_UNARY);
    if (h.inner)
        text = arena_printf(s->arena, "%s(%s)", h.inner, text);
    else if (!dtype_is_float(e->arg[0]->dtype))
        text = arena_printf(s->arena, "(uint%d_t)%s", dtype_bits(e->dtype), text);
    return h.name ? arena_printf(s->arena, "%s(%s)", h.name, text) : text;
}

static const char *math_text(struct expr_scope *s, const struct expr *e)
{
    if (!dtype_is_float(e->dtype)) { /* only the absolute value exists for integers; it wraps at the minimum */
        const char *x = tree_expr_text(s, e->arg[0], PREC_LESS + 1);
        struct expr negated = {.op = EXPR_NEG, .dtype = e->dtype, .arg = {e->arg[0]}};
        return arena_printf(s->arena, "(%s < 0 ? %s : %s)", x, tree_expr_text(s, &negated, PREC_SELECT + 1), x);
    }
    return call1(s, e);
}

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static const char *numbered(struct arena *a, const char *name, size_t i)
{
    return i == 0 ? name : arena_printf(a, "%s_%zu", name, i + 1);
}

/* Parts of a step have counters of their own, and a kernel may draw for several. */
static const struct tree_var *counter_var(struct emission *e, uint32_t counter)
{
    size_t at = 0;
    while (at < e->kernel_counters.count && e->kernel_counters.data[at] != counter)
        at++;
    if (at == e->kernel_counters.count) {
        const char *const name = numbered(e->arena, "counter", at);
        vec_push(e->arena, &e->kernel_counters, counter);
        vec_push(e->arena, &e->counter_vars, tree_var(e->arena, VAR_VALUE, DTYPE_INDEX, "uint64_t", name));
    }
    return e->counter_vars.data[at];
}

static const struct tree_var *seed_var(struct emission *e)
{
    if (!e->seed_var)
        e->seed_var = tree_var(e->arena, VAR_VALUE, DTYPE_INDEX, "uint64_t", "seed");
    return e->seed_var;
}

/* Where a loop nest keeps the block of numbers that it is in: of each node that draws, its own. */
static const struct kept_block *kept_block(struct emission *e, const struct expr *x)
{
    size_t i = 0;
    for (; i < e->kernel_draws.count; i++)
        if (expr_same_draw(e->kernel_draws.data[i].draw, x))
            return &e->kernel_draws.data[i];
    struct kept_block kept = {.draw = x};
    kept.numbers = tree_var(e->arena, VAR_ARRAY, x->dtype, c_type(x->dtype), numbered(e->arena, "drawn", i));
    kept.numbers->count = x->dtype == DTYPE_FLOAT ? 4 : 2;
    kept.block = tree_var(e->arena, VAR_CELL, DTYPE_INDEX, "uint64_t", numbered(e->arena, "block", i));
    vec_push(e->arena, &e->kernel_draws, kept);
    return &e->kernel_draws.data[i];
}

void declare_kept_blocks(struct emission *e, struct tree_builder *b)
{
    for (size_t i = 0; i < e->kernel_draws.count; i++) {
        const struct kept_block *const kept = &e->kernel_draws.data[i];
        tree_declare_array(b, kept->numbers, expr_float(e->arena, kept->numbers->dtype, 0), 1);
        tree_declare(b, kept->block, index_text(e->arena, "UINT64_MAX"));
    }
}

/* An integer of loops and constants as an index, or NULL: it is another expression, or may not fit into one. */
static const struct expr *as_index(const struct expr_scope *s, const struct expr *e)
{
    struct arena *const a = s->arena;
    if (e->op == EXPR_INT)
        return index_constant(a, e->i);
    if (e->op == EXPR_INDEX)
        return s->index[e->i] ? s->index[e->i] : index_constant(a, 0);
    if (e->op != EXPR_ADD && e->op != EXPR_MUL)
        return NULL;
    const struct expr *const x = as_index(s, e->arg[0]), *const y = x ? as_index(s, e->arg[1]) : NULL;
    const struct expr *const made = !y ? NULL : e->op == EXPR_ADD ? index_add(a, x, y) : index_mul(a, x, y);
    struct index_range r;
    const bool fits = made && index_range(made, NULL, &r) && r.low >= 0 && r.high <= INT32_MAX;
    return fits ? made : NULL;
}

/* stepc_normalf(seed, counter, stream, element), or from the block of numbers that the loops are in. */
static const struct expr *random_call(struct expr_scope *s, const struct expr *e)
{
    struct arena *const a = s->arena;
    const char *const kind = e->op == EXPR_UNIFORM ? "uniform" : "normal";
    const struct expr *args[6], *const zero = index_constant(a, 0);
    size_t count = 0;
    if (s->keeps_blocks) {
        const struct kept_block *const kept = kept_block(s->e, e);
        args[count++] = tree_address(a, kept->numbers, zero);
        args[count++] = tree_address(a, kept->block, zero);
    }
    args[count++] = e->draw->has_seed ? expr_int(a, DTYPE_UINT64, (int64_t)e->draw->seed)
                                      : tree_read(a, seed_var(s->e));
    args[count++] = tree_read(a, counter_var(s->e, e->draw->counter));
    args[count++] = expr_int(a, DTYPE_UINT32, e->i);
    const struct expr *const element = as_index(s, e->arg[0]);
    args[count++] = index_cast(a, "uint64_t", element ? element : expr_resolve(s, e->arg[0]));
    const char *const name = arena_printf(a, "stepc_%s%s%s", s->keeps_blocks ? "next_" : "", kind, suffix_of(e->dtype));
    return tree_call(a, e->dtype, CALL_HELPER, name, args, count);
}

/* A bool as a condition: a comparison as it is, a stored bool (0 or 1) as the byte. */
static const char *negation_text(struct expr_scope *s, const struct expr *e)
{
    if (e->dtype == DTYPE_INDEX)
        return arena_printf(s->arena, "%c%s", e->op == EXPR_NOT ? '!' : '-',
                            tree_expr_text(s, e->arg[0], PREC_UNARY + 1));
    if (e->op == EXPR_NOT)
        return e->dtype == DTYPE_BOOL
                   ? arena_printf(s->arena, "!%s", tree_expr_text(s, e->arg[0], PREC_UNARY))
                   : arena_printf(s->arena, "(%s)~%s", c_type(e->dtype), tree_expr_text(s, e->arg[0], PREC_UNARY));
    if (dtype_is_float(e->dtype))
        return arena_printf(s->arena, "-%s", tree_expr_text(s, e->arg[0], PREC_UNARY + 1));
    const struct expr zero = {.op = EXPR_INT, .dtype = e->dtype};
    const struct expr minus = {.op = EXPR_SUB, .dtype = e->dtype, .arg = {&zero, e->arg[0]}};
    return wrapping(s, &minus);
}

/* stepc_select() wants 0 or 1, as comparisons give; any other byte may stand in a bool that the caller passed. */
static const char *select_text(struct expr_scope *s, const struct expr *e, int *precedence)
{
    if (e->i) {
        const struct expr *const c = known(e->arg[0]);
        const char *is_true =
            c->op == EXPR_LT || c->op == EXPR_LE || c->op == EXPR_EQ || c->op == EXPR_NOT ? "" : " != 0";
        return arena_printf(s->arena, "%s(%s%s,%c%s,%c%s)",
                            helper_name(s, e),
                            tree_expr_text(s, e->arg[0], *is_true ? PREC_EQUAL + 1 : PREC_NONE), is_true, blank(s),
                            tree_expr_text(s, e->arg[1], PREC_NONE), blank(s),
                            tree_expr_text(s, e->arg[2], PREC_NONE));
    }
    const enum expr_op op = e->arg[0]->op; /* of values; of indices, it is in brackets */
    const bool is_logical = (op == EXPR_BOTH || op == EXPR_EITHER) && e->arg[0]->dtype == DTYPE_BOOL;
    *precedence = PREC_SELECT;
    return arena_printf(s->arena, "%s%c? %s%c: %s",
                        tree_expr_text(s, e->arg[0], is_logical ? PREC_EITHER : PREC_EQUAL), blank(s),
                        tree_expr_text(s, e->arg[1], PREC_SELECT + 1), blank(s),
                        tree_expr_text(s, e->arg[2], PREC_SELECT));
}

static bool is_root(const struct expr *e)
{
    e = known(e);
    return e->op == EXPR_MATH && e->fn == EXPR_FN_SQRT;
}

/* sqrt(x) + c or sqrt(x) * s + c, as optimizers divide by? With s >= 0 no such sum is smaller than c. */
static bool is_root_and_more(const struct expr *e)
{
    e = known(e);
    if (e->op != EXPR_ADD || e->dtype != DTYPE_FLOAT || e->arg[1]->op != EXPR_FLOAT || e->arg[1]->f < 1e-30 ||
        e->arg[1]->f > 1e30)
        return false;
    const struct expr *const root = e->arg[0];
    return is_root(root) || (root->op == EXPR_MUL && (is_root(root->arg[0]) || is_root(root->arg[1])));
}

/* On 0 and 1 for bool; gcc wants parentheses around any operand with an operator of its own. C computes narrow
 * integers as int. */
static const char *bits_text(struct expr_scope *s, const struct expr *e, int *precedence)
{
    const char *op = e->op == EXPR_AND ? "&" : e->op == EXPR_OR ? "|" : "^";
    const char *x[2];
    for (int i = 0; i < 2; i++)
        x[i] = tree_expr_text(s, e->arg[i], e->arg[i]->op == EXPR_NOT ? PREC_PRIMARY : PREC_UNARY);
    const char *text = arena_printf(s->arena, "%s %s%c%s", x[0], op, blank(s), x[1]);
    const bool narrow = e->dtype != DTYPE_BOOL && dtype_bits(e->dtype) < 32;
    *precedence = narrow ? PREC_UNARY : PREC_BITS;
    return narrow ? arena_printf(s->arena, "(%s)(%s)", c_type(e->dtype), text) : text;
}

/* Would a sum with e take something away? A pointer must not leave its array on the way. */
static bool takes_away(const struct expr *e)
{
    return e->op == EXPR_SUB || (e->op == EXPR_ADD && (takes_away(e->arg[0]) || takes_away(e->arg[1])));
}

static const char *var_text(struct expr_scope *s, const struct tree_var *v)
{
    return v->of ? arena_printf(s->arena, "%s->%s", v->of->name, v->name) : v->name;
}

static bool has_elements(const struct tree_var *v)
{
    return v->kind == VAR_POINTER || v->kind == VAR_ARRAY;
}

/* Of its first element: of the whole where C declares it otherwise, since a pointer to the first row must not leave
 * that. Bytes of the file are aligned for any type, which compilers do not know. */
static const char *begin_text(struct expr_scope *s, const struct tree_var *v, int *precedence)
{
    const char *const name = var_text(s, v), *const through = v->of ? "" : "(const void *)";
    *precedence = has_elements(v) && !v->is_cast ? PREC_PRIMARY : PREC_UNARY;
    if (v->is_cast)
        return arena_printf(s->arena, "(%s%s *)%s%s", v->written ? "" : "const ", v->type, through, name);
    return has_elements(v) ? name : arena_printf(s->arena, "&%s", name);
}

/* Pointers are sums; of what has no elements, the address is taken. */
static const char *address_text(struct expr_scope *s, const struct expr *e, int *precedence)
{
    const char *const begin = begin_text(s, e->var, precedence);
    if (index_is(e->arg[0], 0))
        return begin;
    *precedence = PREC_ADD;
    return arena_printf(s->arena, "%s +%c%s", begin, blank(s),
                        tree_expr_text(s, e->arg[0], takes_away(e->arg[0]) ? PREC_MUL : PREC_ADD));
}

/* The first element of a matrix needs no cast. */
static const char *element_text(struct expr_scope *s, const struct expr *e)
{
    struct strbuf b = {.arena = s->arena};
    int precedence;
    if (e->var->rank <= 1 || !index_is(e->arg[0], 0)) {
        const char *const begin = begin_text(s, e->var, &precedence);
        return arena_printf(s->arena, e->var->is_cast ? "(%s)[%s]" : "%s[%s]", begin,
                            tree_expr_text(s, e->arg[0], PREC_NONE));
    }
    strbuf_add(&b, var_text(s, e->var));
    for (int d = 0; d < e->var->rank; d++)
        strbuf_add(&b, "[0]");
    return strbuf_text(&b);
}

static const char *matrix_text(struct expr_scope *s, const struct expr *e)
{
    return arena_printf(s->arena, "%s[%s][%s]", var_text(s, e->var), tree_expr_text(s, e->arg[0], PREC_NONE),
                        tree_expr_text(s, e->arg[1], PREC_NONE));
}

static const char *bytes_text(struct expr_scope *s, const struct tree_var *v)
{
    return arena_printf(s->arena, "sizeof %s%s", v->kind == VAR_POINTER ? "*" : "", var_text(s, v));
}

const char *called_name(const struct tree_call *c)
{
    return c->kind == CALL_FUNCTION ? c->function->name : c->name;
}

static const char *call_text(struct expr_scope *s, const struct tree_call *c)
{
    struct strbuf b = {.arena = s->arena};
    const bool is_list = c->kind == CALL_INITIALIZER, is_struct = c->kind == CALL_STRUCT;
    if (is_struct)
        strbuf_addf(&b, "&(%s){", c->name);
    else
        strbuf_addf(&b, "%s%s", is_list ? "" : called_name(c), is_list ? "{" : "(");
    for (size_t i = 0; i < c->count; i++) {
        if (i > 0)
            strbuf_addf(&b, ",%c", blank(s));
        if (is_list)
            strbuf_addf(&b, ".%s = ", c->members[i]);
        strbuf_add(&b, tree_expr_text(s, c->args[i], PREC_NONE));
    }
    strbuf_add(&b, is_list || is_struct ? "}" : ")");
    return strbuf_text(&b);
}

/* Compilers want to see what && within || takes first. */
static const char *logical_text(struct expr_scope *s, const struct expr *e, int *precedence)
{
    *precedence = e->op == EXPR_BOTH ? PREC_BOTH : PREC_EITHER;
    const int operand = e->op == EXPR_BOTH ? PREC_BOTH : PREC_BOTH + 1;
    const int left = e->arg[0]->op == e->op ? *precedence : operand;
    return arena_printf(s->arena, "%s %s%c%s", tree_expr_text(s, e->arg[0], left),
                        e->op == EXPR_BOTH ? "&&" : "||", blank(s), tree_expr_text(s, e->arg[1], operand));
}

/* Has C the arithmetic of the type itself? */
static bool is_native(enum dtype d)
{
    return dtype_is_float(d) || d == DTYPE_INDEX;
}

static const char *text_of(struct expr_scope *s, const struct expr *e, int *precedence)
{
    *precedence = PREC_PRIMARY;
    switch (e->op) {
    case EXPR_FLOAT:
        if (e->f < 0 || e->f != e->f)
            *precedence = PREC_UNARY;
        return number_float(s->arena, e->dtype, e->f);
    case EXPR_INT:
        if (e->i < 0)
            *precedence = PREC_UNARY;
        if (e->dtype == DTYPE_INDEX && e->i != INT64_MIN)
            return arena_printf(s->arena, "%" PRId64, e->i);
        return number_int(s->arena, e->dtype, e->i);
    case EXPR_VAR:
    case EXPR_WHOLE: return var_text(s, e->var);
    case EXPR_ELEMENT: return element_text(s, e);
    case EXPR_MATRIX: return matrix_text(s, e);
    case EXPR_WIDE: return arena_printf(s->arena, "INT64_C(%" PRId64 ")", e->i);
    case EXPR_TEXT: return e->text;
    case EXPR_ADDRESS: return address_text(s, e, precedence);
    case EXPR_NULL: return "NULL";
    case EXPR_CALL: return call_text(s, e->call);
    case EXPR_MEMBER: return arena_printf(s->arena, "%s.%s", tree_expr_text(s, e->arg[0], PREC_PRIMARY), e->text);
    case EXPR_SIZEOF: return arena_printf(s->arena, "sizeof(%s)", e->text);
    case EXPR_BYTES: *precedence = PREC_UNARY; return bytes_text(s, e->var);
    case EXPR_LOAD:
    case EXPR_COUNT:
    case EXPR_RESULT:
    case EXPR_UNIFORM:
    case EXPR_NORMAL:
    case EXPR_INDEX: UNREACHABLE("expression kind %d has no text", (int)e->op);
    case EXPR_BITS: *precedence = PREC_UNARY; return reinterpreted_text(s, e);
    case EXPR_MATH: return math_text(s, e);
    case EXPR_POW:
        return dtype_is_float(e->dtype) ? call2(s, e) : sized_call(s, e);
    case EXPR_MOD:
        if (e->dtype == DTYPE_INDEX)
            return infix(s, e, precedence);
        return dtype_is_float(e->dtype) ? call2(s, e) : sized_call(s, e);
    case EXPR_NEG:
    case EXPR_NOT: *precedence = PREC_UNARY; return negation_text(s, e);
    case EXPR_CAST: *precedence = e->dtype == DTYPE_BOOL ? PREC_EQUAL : PREC_UNARY; return cast_text(s, e);
    case EXPR_DIV:
        if (!is_native(e->dtype))
            return sized_call(s, e);
        return e->i ? call2(s, e) : infix(s, e, precedence);
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MUL:
        if (is_native(e->dtype))
            return infix(s, e, precedence);
        *precedence = PREC_UNARY;
        return wrapping(s, e);
    case EXPR_LT:
    case EXPR_LE:
    case EXPR_GT:
    case EXPR_GE:
    case EXPR_EQ:
    case EXPR_NE: return infix(s, e, precedence);
    case EXPR_BOTH:
    case EXPR_EITHER: return logical_text(s, e, precedence);
    case EXPR_AND:
    case EXPR_OR:
    case EXPR_XOR: return bits_text(s, e, precedence);
    case EXPR_SHL:
    case EXPR_SHR: /* by the width or more: 0 */
        *precedence = PREC_UNARY;
        return sized_call(s, e);
    case EXPR_SELECT: return select_text(s, e, precedence);
    }
    UNREACHABLE("expression kind %d", (int)e->op);
}

const char *tree_expr_text(struct expr_scope *s, const struct expr *e, int precedence)
{
    int has;
    const char *text = text_of(s, e, &has);
    return wrap(s, text, has, precedence);
}

const char *tree_stored_text(struct expr_scope *s, const struct expr *e)
{
    if (e->dtype != DTYPE_BOOL || e->op == EXPR_ELEMENT || e->op == EXPR_VAR || e->op == EXPR_INT)
        return tree_expr_text(s, e, PREC_NONE);
    return arena_printf(s->arena, "(uint8_t)%s", tree_expr_text(s, e, PREC_PRIMARY));
}
