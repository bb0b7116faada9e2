#include "random_tree.h"

#include <math.h>

struct slot {
    const struct tree_var *var;
    float f[ELEMENTS]; /* floats: elements; a loop's variable: .i */
    int64_t i;
};

struct machine {
    const struct random_tree *t;
    float *y;
    const float *x;
    const int64_t *z;
    struct slot slots[256]; /* by declaration; the latest of a variable counts */
    int count;
    bool outside;
};

static struct slot *slot_of(struct machine *m, const struct tree_var *v)
{
    for (int k = m->count; k-- > 0;)
        if (m->slots[k].var == v)
            return &m->slots[k];
    UNREACHABLE("'%s' has no value", v->name);
}

static int64_t index_of(struct machine *m, const struct expr *e);
static bool is_true(struct machine *m, const struct expr *e);

static int64_t element_number(struct machine *m, const struct expr *e)
{
    const int64_t at = index_of(m, e->arg[0]);
    if (at >= 0 && at < e->var->count)
        return at;
    m->outside = true;
    return 0;
}

static int64_t index_of(struct machine *m, const struct expr *e)
{
    switch (e->op) {
    case EXPR_INT:
    case EXPR_WIDE: return e->i;
    case EXPR_VAR: return slot_of(m, e->var)->i;
    case EXPR_ELEMENT: return m->z[element_number(m, e)];
    case EXPR_CAST: return index_of(m, e->arg[0]);
    case EXPR_ADD: return index_of(m, e->arg[0]) + index_of(m, e->arg[1]);
    case EXPR_SUB: return index_of(m, e->arg[0]) - index_of(m, e->arg[1]);
    case EXPR_MUL: return index_of(m, e->arg[0]) * index_of(m, e->arg[1]);
    case EXPR_DIV: return index_of(m, e->arg[0]) / index_of(m, e->arg[1]);
    case EXPR_MOD: return index_of(m, e->arg[0]) % index_of(m, e->arg[1]);
    case EXPR_SELECT: return index_of(m, e->arg[is_true(m, e->arg[0]) ? 1 : 2]);
    default: return is_true(m, e);
    }
}

static float *place(struct machine *m, const struct expr *e)
{
    if (e->op == EXPR_VAR)
        return slot_of(m, e->var)->f;
    const int64_t at = element_number(m, e);
    return e->var == m->t->y ? m->y + at : slot_of(m, e->var)->f + at;
}

static float value_of(struct machine *m, const struct expr *e);

static bool compare(enum expr_op op, double x, double y)
{
    switch (op) {
    case EXPR_LT: return x < y;
    case EXPR_LE: return x <= y;
    case EXPR_GT: return x > y;
    case EXPR_GE: return x >= y;
    case EXPR_EQ: return x == y;
    case EXPR_NE: return x != y;
    default: UNREACHABLE("condition %d", (int)op);
    }
}

static bool is_true(struct machine *m, const struct expr *e)
{
    const struct expr *const x = e->arg[0], *const y = e->arg[1];
    switch (e->op) {
    case EXPR_INT: return e->i != 0;
    case EXPR_NOT: return !is_true(m, x);
    case EXPR_AND:
    case EXPR_BOTH: return is_true(m, x) && is_true(m, y);
    case EXPR_OR:
    case EXPR_EITHER: return is_true(m, x) || is_true(m, y);
    default: break;
    }
    if (x->dtype == DTYPE_INDEX) /* exact: these numbers are small */
        return compare(e->op, (double)index_of(m, x), (double)index_of(m, y));
    return compare(e->op, (double)value_of(m, x), (double)value_of(m, y));
}

static float value_of(struct machine *m, const struct expr *e)
{
    switch (e->op) {
    case EXPR_FLOAT: return (float)e->f;
    case EXPR_VAR: return *place(m, e);
    case EXPR_ELEMENT: return e->var == m->t->x ? m->x[element_number(m, e)] : *place(m, e);
    case EXPR_CAST: return (float)index_of(m, e->arg[0]);
    case EXPR_NEG: return -value_of(m, e->arg[0]);
    case EXPR_ADD: return value_of(m, e->arg[0]) + value_of(m, e->arg[1]);
    case EXPR_SUB: return value_of(m, e->arg[0]) - value_of(m, e->arg[1]);
    case EXPR_MUL: return value_of(m, e->arg[0]) * value_of(m, e->arg[1]);
    case EXPR_SELECT: return value_of(m, is_true(m, e->arg[0]) ? e->arg[1] : e->arg[2]);
    default: UNREACHABLE("expression %d", (int)e->op);
    }
}

static void set(struct machine *m, const struct stmt *s)
{
    float *const to = place(m, s->target);
    const float v = value_of(m, s->value), was = *to;
    switch (s->op) {
    case SET_TO: *to = v; return;
    case SET_SUM: *to = was + v; return;
    case SET_DIFFERENCE: *to = was - v; return;
    case SET_PRODUCT: *to = was * v; return;
    case SET_MAX: *to = isnan(v) || v > was ? v : was; return;
    case SET_TOP: *to = v > was ? v : was; return;
    case SET_MIN: *to = isnan(v) || v < was ? v : was; return;
    case SET_OR: UNREACHABLE("no float is or'ed");
    }
}

static void enter(struct machine *m, const struct tree_var *v)
{
    if (m->count == (int)(sizeof m->slots / sizeof *m->slots))
        UNREACHABLE("too many variables");
    m->slots[m->count++] = (struct slot){.var = v};
}

static bool run(struct machine *m, const stmt_list *list);

static int64_t next_of(struct machine *m, const struct stmt *s, int64_t i)
{
    return s->next ? index_of(m, s->next) : s->by ? i + index_of(m, s->by) : i + s->step;
}

static bool run_loop(struct machine *m, const struct stmt *s)
{
    bool goes_on = true;
    enter(m, s->var);
    struct slot *const slot = &m->slots[m->count - 1];
    for (slot->i = index_of(m, s->from); goes_on; slot->i = next_of(m, s, slot->i)) {
        if ((s->to && slot->i >= index_of(m, s->to)) || (s->condition && !is_true(m, s->condition)))
            break;
        goes_on = run(m, &s->body);
    }
    m->count--;
    return goes_on;
}

static void declare(struct machine *m, const struct stmt *s)
{
    const float start = value_of(m, s->value);
    enter(m, s->var);
    for (int64_t i = 0; i < (s->var->kind == VAR_ARRAY ? s->repeat : 1); i++)
        m->slots[m->count - 1].f[i] = start;
}

/* false: it has returned. */
static bool run(struct machine *m, const stmt_list *list)
{
    const int outer = m->count;
    bool goes_on = true;
    for (size_t k = 0; k < list->count && goes_on; k++) {
        const struct stmt *const s = list->data[k];
        switch (s->kind) {
        case STMT_SET: set(m, s); break;
        case STMT_DECLARE: declare(m, s); break;
        case STMT_LOOP: goes_on = run_loop(m, s); break;
        case STMT_IF: goes_on = run(m, is_true(m, s->condition) ? &s->body : &s->otherwise); break;
        case STMT_RETURN: goes_on = false; break;
        case STMT_CALL: UNREACHABLE("statement %d", (int)s->kind);
        }
    }
    m->count = outer;
    return goes_on;
}

bool interpret_tree(const struct random_tree *t, float *y, const float *x, const int64_t *z)
{
    struct machine m = {.t = t, .y = y, .x = x, .z = z};
    run(&m, &t->body);
    return !m.outside;
}
