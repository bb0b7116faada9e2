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
    case EXPR_SELECT: {
        const int64_t x = index_of(m, e->arg[1]), y = index_of(m, e->arg[2]);
        return x < y ? x : y;
    }
    default: UNREACHABLE("index expression %d", (int)e->op);
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

static bool is_true(struct machine *m, const struct expr *e)
{
    const struct expr *const x = e->arg[0], *const y = e->arg[1];
    if (e->op == EXPR_NOT)
        return !is_true(m, x);
    if (e->op == EXPR_AND || e->op == EXPR_OR) {
        const bool a = is_true(m, x), b = is_true(m, y);
        return e->op == EXPR_AND ? a && b : a || b;
    }
    if (x->dtype == DTYPE_INDEX)
        return index_of(m, x) < index_of(m, y);
    const float a = value_of(m, x), b = value_of(m, y);
    return e->op == EXPR_LT ? a < b : e->op == EXPR_LE ? a <= b : a == b;
}

static float value_of(struct machine *m, const struct expr *e)
{
    switch (e->op) {
    case EXPR_FLOAT: return (float)e->f;
    case EXPR_VAR: return *place(m, e);
    case EXPR_ELEMENT: return e->var == m->t->x ? m->x[element_number(m, e)] : *place(m, e);
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

static void run(struct machine *m, const stmt_list *list)
{
    const int outer = m->count;
    for (size_t k = 0; k < list->count; k++) {
        const struct stmt *const s = list->data[k];
        if (s->kind == STMT_SET) {
            set(m, s);
        } else if (s->kind == STMT_DECLARE) {
            const float start = value_of(m, s->value);
            enter(m, s->var);
            for (int64_t i = 0; i < (s->var->kind == VAR_ARRAY ? s->repeat : 1); i++)
                m->slots[m->count - 1].f[i] = start;
        } else if (s->kind == STMT_LOOP) {
            for (int64_t i = index_of(m, s->from); i < index_of(m, s->to); i += s->step) {
                enter(m, s->var);
                m->slots[m->count - 1].i = i;
                run(m, &s->body);
                m->count--;
            }
        }
    }
    m->count = outer;
}

bool interpret_tree(const struct random_tree *t, float *y, const float *x, const int64_t *z)
{
    struct machine m = {.t = t, .y = y, .x = x, .z = z};
    run(&m, &t->body);
    return !m.outside;
}
