/* If: where its condition is known when the model is imported it becomes one of its branches. Else both are computed,
 * and their results chosen from (Where), so both must give tensors of the same types and shapes.
 *
 * A branch that is not taken must not be seen:
 *   gradients   what it reads from outside goes through stepc.IfTaken, behind which no gradient comes if it is not: a 0
 *               that flows into it may be a NaN where it arrives (0 times infinity)
 *   errors      an index or label in it is 0 then, which is always in range
 * Random numbers are drawn by place, so what others are does not depend on it. Spec: ONNX If-25 and the versions before
 * it, which differ in types only. */
#include "graph/import_internal.h"

#include "graph/graph_internal.h"

static bool check_branch(const struct import_use *u, const char *which)
{
    const struct model_graph *const g = import_graph_attr(u->mn, which);
    if (g == NULL || g->inputs.count > 0 || g->outputs.count < u->mn->outputs.count)
        return diag_error(u->diag, &u->loc, "%s has %zu inputs and %zu outputs, expected none and %zu", which,
                          g != NULL ? g->inputs.count : 0, g != NULL ? g->outputs.count : 0, u->mn->outputs.count);
    return !u->r->repeated || import_spend_turn(u, g);
}

/* ---- known ------------------------------------------------------------------------------------------------------ */

static bool take_branch(const struct import_use *u, const char *which)
{
    struct inner x;
    const int since = u->g->value_count;
    bool ok = check_branch(u, which) && import_branch(u, import_graph_attr(u->mn, which), NULL, &x);
    for (size_t i = 0; i < u->mn->outputs.count && ok; i++)
        ok = import_define(u, i, import_inner_output(u->im, &x, i), since);
    return ok;
}

/* ---- not known --------------------------------------------------------------------------------------------------- */

/* A branch on its way: `taken` is a bool. */
struct branch {
    const char *which;
    struct value *taken;
    struct inner inner;
    struct map seen; /* name of a value from outside -> what the branch reads instead */
};

static bool carries_gradient(const struct value *v)
{
    return (DTYPES_FLOATS & DTYPE_BIT(v->dtype)) != 0;
}

/* v, which is made outside of the branch, for a node of it. What is known stays known: a shape may depend on it. */
static struct value *seen_from(struct branch *x, struct builder *b, struct value *v)
{
    struct value *seen = map_get(&x->seen, v->name);
    if (seen == NULL) {
        seen = build_value(b, "stepc.IfTaken", NULL, (struct value *const[]){v, x->taken}, 2);
        seen->constant = value_known(v);
        map_set(&x->seen, v->name, seen);
    }
    return seen;
}

/* An index of n that is not known. */
static bool may_be_out_of_range(const struct node *n, size_t i)
{
    return n->def->selects_from != NULL && n->def->selects_from(n, (int)i) > 0 &&
           value_known(n->inputs.data[i]) == NULL;
}

static bool guard_node(const struct import_use *u, struct branch *x, struct node *first, struct node *n, int since)
{
    struct builder in_front = import_builder(u), here = import_builder(u);
    in_front.before = first;
    here.before = n;
    for (size_t i = 0; i < n->inputs.count; i++) {
        struct value *const v = n->inputs.data[i];
        if (v == NULL)
            continue;
        if (may_be_out_of_range(n, i)) {
            struct value *const choice[] = {x->taken, v, build_scalar(&here, v->dtype, 0)};
            node_set_input(n, (int)i, build_value(&here, "Where", NULL, choice, 3));
        } else if (v->id < since && carries_gradient(v)) {
            node_set_input(n, (int)i, seen_from(x, &in_front, v));
        }
    }
    return !in_front.failed && !here.failed;
}

/* Imports it and guards what came. */
static bool compute_branch(const struct import_use *u, struct branch *x)
{
    struct graph *const g = u->g;
    struct node *const before = g->last;
    const int since = g->value_count;
    bool ok = check_branch(u, x->which) && import_branch(u, import_graph_attr(u->mn, x->which), NULL, &x->inner);
    struct node *const first = before != NULL ? before->next : g->first;
    struct node *const last = g->last;
    x->seen.arena = u->arena;
    for (struct node *n = first; ok && n != NULL; n = n == last ? NULL : n->next)
        ok = guard_node(u, x, first, n, since);
    return ok;
}

static const char *type_text(const struct import_use *u, const struct value *v)
{
    if (v == &import_omitted || v->kind == VALUE_SEQUENCE)
        return "no tensor";
    return arena_printf(u->diag->arena, "%s%s", dtype_name(v->dtype), shape_text(u->diag->arena, &v->shape));
}

static bool choose_output(const struct import_use *u, struct branch *yes, struct branch *no, size_t i)
{
    struct value *const a = import_inner_output(u->im, &yes->inner, i),
                        *const b = import_inner_output(u->im, &no->inner, i);
    const int since = u->g->value_count;
    if (a == NULL || b == NULL)
        return false;
    if (a == &import_omitted || b == &import_omitted || a->kind == VALUE_SEQUENCE || b->kind == VALUE_SEQUENCE ||
        a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape))
        return diag_unsupported(u->diag, &u->loc,
                                "input 0 '%s' (cond) is not known at compile time, so that both branches must give the "
                                "same types, but output %zu is %s in then_branch and %s in else_branch",
                                u->mn->inputs.data[0], i, type_text(u, a), type_text(u, b));
    struct builder here = import_builder(u);
    struct value *const y = build_value(&here, "Where", NULL, (struct value *const[]){yes->taken, a, b}, 3);
    return !here.failed && import_define(u, i, y, since);
}

/* The condition as a scalar bool. */
static struct value *as_bool(const struct import_use *u, struct builder *b, struct value *condition)
{
    if (shape_count(&condition->shape) == 1 && (dtype_is_int(condition->dtype) || condition->dtype == DTYPE_BOOL))
        return build_cast(b, build_reshape(b, condition, &SHAPE_SCALAR), DTYPE_BOOL);
    diag_error(u->diag, &u->loc, "input 0 '%s' (cond) is %s, expected one integer or bool", condition->name,
               type_text(u, condition));
    return NULL;
}

static bool take_both(const struct import_use *u, struct value *condition)
{
    struct builder b = import_builder(u);
    struct branch yes = {.which = "then_branch"}, no = {.which = "else_branch"};
    yes.taken = as_bool(u, &b, condition);
    if (yes.taken == NULL)
        return false;
    no.taken = build_value(&b, "Not", NULL, &yes.taken, 1);
    const uint32_t stream = u->im->stream;
    bool ok = !b.failed && compute_branch(u, &yes);
    u->im->stream = stream; /* each counts the random nodes of both */
    ok = ok && compute_branch(u, &no);
    for (size_t i = 0; i < u->mn->outputs.count && ok; i++)
        ok = choose_output(u, &yes, &no, i);
    return ok;
}

bool import_if(const struct import_use *u)
{
    struct value *condition;
    int64_t holds;
    if (!import_resolve_tensor(u, 0, &condition))
        return false;
    if (condition == NULL || known_or_fed(u->g, condition) != NULL)
        return import_known_number(u, 0, "cond", condition, &holds) &&
               take_branch(u, holds ? "then_branch" : "else_branch");
    return take_both(u, condition);
}
