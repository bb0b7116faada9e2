/* What the whole vectors of a sum leave, as one vector more: it goes over all lanes, of which only the first add
 * something.
 *
 *   for (l..13)                                for (l..STEPC_REST(13))
 *       lane[l] += x[112 + l];         ->          lane[l] += l < 13 ? x[112 + l] : 0.0f;
 *
 * Who builds the loop says by its kind that the terms may stand in a branch (LOOP_REST, LOOP_RESTS). With masks GCC
 * takes them as one vector (GCC 12, AVX-512: in half the time, where rows are 125 long). No lane is -0, so what is
 * added to the others changes nothing. What is named would be loaded in front of the branch: names go. */
#include "tune/tune.h"

struct unnamed {
    const struct tree_var *lane; /* the loop's variable, */
    const struct expr *l;        /* and the one that stands for it */
    const stmt_list *body;
    size_t at; /* the statements in front of this one declare names */
    struct arena *arena;
};

static const struct expr *unname(const struct expr *e, void *data)
{
    const struct unnamed *const u = data;
    if (e->op != EXPR_VAR)
        return NULL;
    if (e->var == u->lane)
        return u->l;
    for (size_t i = 0; i < u->at; i++) {
        const struct stmt *const s = u->body->data[i];
        if (s->kind == STMT_DECLARE && s->var == e->var)
            return tree_with(u->arena, s->value, unname, data);
    }
    return NULL;
}

/* Sums of lanes, and names for them? */
static bool is_rest(const struct stmt *s)
{
    if (s->kind != STMT_LOOP || (s->loop != LOOP_REST && s->loop != LOOP_RESTS) || !index_is_constant(s->to))
        return false;
    for (size_t i = 0; i < s->body.count; i++) {
        const struct stmt *const of = s->body.data[i];
        if (of->kind != STMT_DECLARE && (of->kind != STMT_SET || of->op != SET_SUM))
            return false;
    }
    return s->body.count > 0 && s->body.data[s->body.count - 1]->kind == STMT_SET;
}

static bool mask_rest(const struct tune *t, struct stmt *s, struct tree_builder *b)
{
    if (!is_rest(s))
        return false;
    struct arena *const a = t->arena;
    const struct stmt *const last = s->body.data[s->body.count - 1];
    struct tree_var *const v = arena_copy(a, s->var, sizeof *v, alignof(struct tree_var));
    struct unnamed u = {.lane = s->var, .l = tree_read(a, v), .body = &s->body, .arena = a};
    v->high = last->target->var->count - 1;
    tree_open_loop(b, v, s->from, tree_call(a, DTYPE_INDEX, CALL_NAMED, "STEPC_REST", &s->to, 1), 1, s->loop);
    for (; u.at < s->body.count; u.at++) {
        const struct stmt *const set = s->body.data[u.at];
        if (set->kind != STMT_SET)
            continue;
        const struct expr *const x = tree_with(a, set->value, unname, &u);
        const struct expr *const is_there = expr_binary(a, EXPR_LT, u.l, s->to);
        tree_set(b, tree_with(a, set->target, unname, &u), SET_SUM,
                 expr_select(a, is_there, x, expr_float(a, set->target->dtype, 0)));
    }
    tree_close(b);
    return true;
}

void tune_masks(const struct tune *t, stmt_list *body)
{
    tune_replace(t, body, mask_rest);
}
