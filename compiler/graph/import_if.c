/* If, and what else is computed before it is known whether it is wanted (a Loop's iterations).
 *
 * If: where its condition is known when the model is imported it becomes one of its branches. Else both are computed,
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
    return !u->r->repeated || import_spend_iteration(u, g);
}

/* ---- known ------------------------------------------------------------------------------------------------------ */

/* A declared type of a result that contradicts is warned of, as of any value. */
static bool check_result(const struct import_use *u, const char *which, size_t i, const struct value *v)
{
    return !import_is_tensor(v) ||
           import_check_declared(u->diag, import_graph_attr(u->mn, which)->outputs.data[i], v);
}

static bool take_branch(const struct import_use *u, const char *which)
{
    struct inner_graph x;
    const int since = u->g->value_count;
    bool ok = check_branch(u, which) && import_branch(u, import_graph_attr(u->mn, which), NULL, &x);
    for (size_t i = 0; i < u->mn->outputs.count && ok; i++) {
        struct value *const v = import_inner_output(u->im, &x, i);
        ok = check_result(u, which, i, v) && import_define(u, i, v, since);
    }
    return ok;
}

/* ---- not known --------------------------------------------------------------------------------------------------- */

/* A branch on its way. */
struct branch {
    const char *which;
    struct import_taken taken;
    struct inner_graph inner;
};

static bool carries_gradient(const struct value *v)
{
    return (DTYPES_FLOATS & DTYPE_BIT(v->dtype)) != 0;
}

/* v, which is made outside of the branch, for a node of it. What is known stays known: a shape may depend on it. */
static struct value *seen_from(struct import_taken *t, struct builder *b, struct value *v)
{
    struct value *seen = map_get(&t->seen, v->name);
    if (seen == NULL) {
        seen = build_value(b, "stepc.IfTaken", NULL, (struct value *const[]){v, t->condition}, 2);
        seen->constant = value_known(v);
        map_set(&t->seen, v->name, seen);
    }
    return seen;
}

/* An index of n that is not known. */
static bool may_be_out_of_range(const struct node *n, size_t i)
{
    return n->def->selects_from != NULL && n->def->selects_from(n, (int)i) > 0 &&
           value_known(n->inputs.data[i]) == NULL;
}

static bool guard_node(const struct import_use *u, struct import_taken *t, struct node *first, struct node *n,
                       int since)
{
    struct builder in_front = import_builder(u), here = import_builder(u);
    in_front.before = first;
    here.before = n;
    for (size_t i = 0; i < n->inputs.count; i++) {
        struct value *const v = n->inputs.data[i];
        if (v == NULL)
            continue;
        if (may_be_out_of_range(n, i)) {
            struct value *const choice[] = {t->condition, v, build_scalar(&here, v->dtype, 0)};
            node_set_input(n, (int)i, build_value(&here, "Where", NULL, choice, 3));
        } else if (v->id < since && carries_gradient(v)) {
            node_set_input(n, (int)i, seen_from(t, &in_front, v));
        }
    }
    return !in_front.failed && !here.failed;
}

struct import_taken import_begin_taken(const struct import_use *u, struct value *condition)
{
    return (struct import_taken){
        .condition = condition, .before = u->g->last, .since = u->g->value_count, .seen.arena = u->arena};
}

bool import_end_taken(const struct import_use *u, struct import_taken *t)
{
    struct node *const first = t->before != NULL ? t->before->next : u->g->first, *const last = u->g->last;
    bool ok = true;
    for (struct node *n = first; ok && n != NULL; n = n == last ? NULL : n->next)
        ok = guard_node(u, t, first, n, t->since);
    return ok;
}

/* Imports it and guards what came. */
static bool compute_branch(const struct import_use *u, struct branch *x, struct value *condition)
{
    x->taken = import_begin_taken(u, condition);
    return check_branch(u, x->which) && import_branch(u, import_graph_attr(u->mn, x->which), NULL, &x->inner) &&
           import_end_taken(u, &x->taken);
}

const char *import_type_text(const struct import_use *u, const struct value *v)
{
    if (v == &import_omitted || v->kind == VALUE_SEQUENCE)
        return "no tensor";
    return arena_printf(u->diag->arena, "%s%s", dtype_name(v->dtype), shape_text(u->diag->arena, &v->shape));
}

bool import_alike(const struct value *a, const struct value *b)
{
    return a != &import_omitted && b != &import_omitted && a->kind != VALUE_SEQUENCE && b->kind != VALUE_SEQUENCE &&
           a->dtype == b->dtype && shape_equal(&a->shape, &b->shape);
}

/* Known, and the same whole numbers? */
static bool know_the_same(struct value *a, struct value *b)
{
    const struct tensor *const x = value_known(a), *const y = value_known(b);
    bool same = x != NULL && y != NULL && (dtype_is_int(x->dtype) || x->dtype == DTYPE_BOOL);
    for (int64_t i = 0; same && i < x->count; i++)
        same = tensor_get_int(x, i) == tensor_get_int(y, i);
    return same;
}

struct value *import_chosen(struct builder *b, struct value *condition, struct value *yes, struct value *no)
{
    struct value *const v = build_value(b, "Where", NULL, (struct value *const[]){condition, yes, no}, 3);
    if (know_the_same(yes, no))
        v->constant = value_known(yes);
    return v;
}

static bool choose_output(const struct import_use *u, struct branch *yes, struct branch *no, size_t i)
{
    struct value *const a = import_inner_output(u->im, &yes->inner, i), *const b =
                                                                            import_inner_output(u->im, &no->inner, i);
    const int since = u->g->value_count;
    if (a == NULL || b == NULL)
        return false;
    if (!import_alike(a, b))
        return diag_unsupported(u->diag, &u->loc,
                                "input 0 '%s' (cond) is not known at compile time, so that both branches must give the "
                                "same types, but output %zu is %s in then_branch and %s in else_branch",
                                u->mn->inputs.data[0], i, import_type_text(u, a), import_type_text(u, b));
    if (!check_result(u, yes->which, i, a) || !check_result(u, no->which, i, b))
        return false;
    struct builder here = import_builder(u);
    struct value *const y = import_chosen(&here, yes->taken.condition, a, b);
    return !here.failed && import_define(u, i, y, since);
}

struct value *import_as_bool(const struct import_use *u, struct builder *b, const char *what, struct value *condition)
{
    if (shape_count(&condition->shape) == 1 && (dtype_is_int(condition->dtype) || condition->dtype == DTYPE_BOOL))
        return build_cast(b, build_reshape(b, condition, &SHAPE_SCALAR), DTYPE_BOOL);
    diag_error(u->diag, &u->loc, "%s is %s, expected one integer or bool", what, import_type_text(u, condition));
    return NULL;
}

static bool take_both(const struct import_use *u, struct value *condition)
{
    struct builder b = import_builder(u);
    struct branch yes = {.which = "then_branch"}, no = {.which = "else_branch"};
    const char *const what = arena_printf(u->arena, "input 0 '%s' (cond)", condition->name);
    struct value *const holds = import_as_bool(u, &b, what, condition);
    if (holds == NULL)
        return false;
    struct value *const fails = build_value(&b, "Not", NULL, &holds, 1);
    const uint32_t stream = u->im->stream;
    bool ok = !b.failed && compute_branch(u, &yes, holds);
    u->im->stream = stream; /* each counts the random nodes of both */
    ok = ok && compute_branch(u, &no, fails);
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
