/* Dtypes and shapes: what every operator is checked for by its schema, and the helpers of the rules in ops/. */
#include "graph/graph_internal.h"

#include "base/str.h"
#include "graph/bounded.h"

#include <string.h>

/* "int32 or int64", "a floating type": a name for the set where one fits, else all its members. */
static const char *set_text(struct arena *a, dtype_set set)
{
    static const struct {
        dtype_set set;
        const char *text;
    } named[] = {{DTYPES_FLOATS, "a floating type"},
                 {DTYPES_FLOATS & ~DTYPE_BIT(DTYPE_BFLOAT16), "a floating type"},
                 {DTYPES_INTS, "an integer type"},
                 {DTYPES_NUMERIC, "a numeric type"},
                 {DTYPES_NUMERIC & ~DTYPE_BIT(DTYPE_BFLOAT16), "a numeric type"},
                 {DTYPES_ALL, "a numeric type or bool"},
                 {DTYPES_FLOATS | DTYPES_SIGNED, "a floating or signed integer type"}};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (named[i].set == set)
            return named[i].text;
    struct strbuf b = {.arena = a};
    for (int d = 1; d < 32 && set != 0; d++) {
        if (!(set & DTYPE_BIT(d)))
            continue;
        set &= ~DTYPE_BIT(d);
        strbuf_addf(&b, "%s%s", b.length == 0 ? "" : set == 0 ? " or " : ", ", dtype_name((enum dtype)d));
    }
    return strbuf_text(&b);
}

/* ---- schema ------------------------------------------------------------------------------------------------------ */

static bool check_counts(struct infer_ctx *c)
{
    const struct node *n = c->node;
    const struct op_param *params = n->def->inputs;
    const char *const op = op_display_name(n->def);
    const size_t given = n->inputs.count, required = op_count_required(params), known = op_count_params(params);
    if (given < required)
        return infer_error(c, "%s needs %s%zu input%s, given %zu", op,
                           op_param_at(params, required) != NULL ? "at least " : "", required,
                           str_plural(required), given);
    if (given > 0 && op_param_at(params, given - 1) == NULL)
        return infer_error(c, "%s takes at most %zu input%s, given %zu", op, known, str_plural(known), given);
    bool ok = true;
    for (size_t i = 0; i < given; i++)
        if (n->inputs.data[i] == NULL && !(op_param_at(params, i)->flags & PARAM_OPTIONAL))
            ok = infer_error(c, "input %zu (%s) of %s is required and cannot be omitted", i,
                             op_param_at(params, i)->name, op);
    const size_t outputs = n->outputs.count;
    if (outputs > 0 && op_param_at(n->def->outputs, outputs - 1) == NULL)
        return infer_error(c, "%s has at most %zu output%s, the node wants %zu", op, op_count_params(n->def->outputs),
                           str_plural(op_count_params(n->def->outputs)), outputs);
    if (outputs > INFER_MAX_OUTPUTS)
        return infer_unsupported(c, "the node has %zu outputs, at most %d are supported", outputs, INFER_MAX_OUTPUTS);
    return ok;
}

/* Do operands of these parameters have one dtype? The operands of a variadic one do, letter or not, unless
 * it says otherwise. */
static bool is_same_type(const struct op_param *p, const struct op_param *q)
{
    if (p == q)
        return !(p->flags & PARAM_HETEROGENEOUS);
    return p->type != 0 && p->type == q->type && !((p->flags | q->flags) & PARAM_HETEROGENEOUS);
}

/* The first present input before `limit` that shares its dtype with parameter p, or -1. */
static int find_same_type(const struct node *n, const struct op_param *p, size_t limit)
{
    for (size_t i = 0; i < limit && i < n->inputs.count; i++) {
        if (n->inputs.data[i] != NULL && is_same_type(op_param_at(n->def->inputs, i), p))
            return (int)i;
        if (i > op_count_params(n->def->inputs))
            break; /* only further operands of the variadic parameter, whose first ones have been seen */
    }
    return -1;
}

static bool check_dtypes(struct infer_ctx *c, struct arena *scratch)
{
    const struct node *n = c->node;
    bool ok = true;
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *v = n->inputs.data[i];
        const struct op_param *p = op_param_at(n->def->inputs, i);
        if (v == NULL)
            continue;
        if (p->dtypes != 0 && !(p->dtypes & DTYPE_BIT(v->dtype))) {
            ok = infer_error(c, "input %zu '%s' is %s, expected %s", i, v->name, dtype_name(v->dtype),
                             set_text(scratch, p->dtypes));
            continue;
        }
        const int same = find_same_type(n, p, i);
        const struct value *first = same >= 0 ? n->inputs.data[same] : NULL;
        if (first != NULL && first->dtype != v->dtype)
            ok = infer_error(c, "input %zu '%s' is %s, expected %s to match input %d '%s'", i, v->name,
                             dtype_name(v->dtype), dtype_name(first->dtype), same, first->name);
    }
    return ok;
}

static enum dtype only_member(dtype_set set)
{
    for (int d = 1; d < 32; d++)
        if (set == DTYPE_BIT(d))
            return (enum dtype)d;
    return DTYPE_UNDEFINED;
}

static void set_output_dtypes(struct infer_ctx *c)
{
    const struct node *n = c->node;
    for (size_t i = 0; i < c->out_count; i++) {
        const struct op_param *p = op_param_at(n->def->outputs, i);
        if (p == NULL)
            break;
        const int same = p->type != 0 ? find_same_type(n, p, n->inputs.count) : -1;
        c->out_dtype[i] = same >= 0 ? n->inputs.data[same]->dtype : only_member(p->dtypes);
    }
}

/* ---- for rules --------------------------------------------------------------------------------------------------- */

struct value *infer_in(const struct infer_ctx *c, int i)
{
    return i < 0 ? NULL : node_input(c->node, (size_t)i);
}

const struct shape *infer_shape(const struct infer_ctx *c, int i)
{
    return &infer_in(c, i)->shape;
}

int infer_rank(const struct infer_ctx *c, int i)
{
    return infer_in(c, i)->shape.rank;
}

int infer_input_count(const struct infer_ctx *c)
{
    return (int)c->node->inputs.count;
}

bool infer_axis(struct infer_ctx *c, int64_t axis, int rank, int *out)
{
    if (shape_axis(rank, axis, out))
        return true;
    if (rank == 0)
        return infer_error(c, "axis %lld is out of range: the tensor is a scalar", (long long)axis);
    return infer_error(c, "axis %lld is out of range [%d, %d] for rank %d", (long long)axis, -rank, rank - 1, rank);
}

bool infer_out(struct infer_ctx *c, int i, enum dtype dtype, const struct shape *shape)
{
    int64_t count;
    if (i < 0 || (size_t)i >= c->out_count)
        return true; /* an output that the node does not want */
    if (!shape_count_checked(shape, &count)) {
        struct arena scratch = {0};
        if (shape->rank > SHAPE_MAX_RANK)
            infer_error(c, "output %d would have rank %d, at most %d is supported", i, shape->rank, SHAPE_MAX_RANK);
        else
            infer_error(c, "output %d would have shape %s, which is not possible or too large", i,
                        shape_text(&scratch, shape));
        arena_free(&scratch);
        return false;
    }
    if (dtype == DTYPE_UNDEFINED)
        dtype = c->out_dtype[i];
    if (dtype == DTYPE_UNDEFINED)
        UNREACHABLE("the dtype of output %d of %s follows from no input", i, c->node->def->name);
    c->out[i] = (struct infer_output){dtype, *shape, true};
    return true;
}

/* ---- content known at compile time ------------------------------------------------------------------------------- */

enum { LARGEST_CONE = 10000 };

/* The nodes and sources that v follows from, v first, each once. */
struct cone {
    struct arena scratch;
    VEC(struct value *) values;
    bool *seen; /* by id */
};

static void cone_add(struct cone *cone, struct value *v)
{
    if (v == NULL || cone->values.count >= LARGEST_CONE || cone->seen[v->id])
        return;
    cone->seen[v->id] = true;
    vec_push(&cone->scratch, &cone->values, v);
}

/* What is known, or is known from its shape alone, needs no further look. */
static void cone_collect(struct cone *cone, const struct graph *g, struct value *v)
{
    cone->seen = arena_array(&cone->scratch, bool, (size_t)g->value_count + 1);
    cone_add(cone, v);
    vec_each(struct value *, at, &cone->values) {
        if (at->constant != NULL || at->kind != VALUE_RESULT || at->producer->def->shape_only)
            continue;
        for (size_t k = 0; k < at->producer->inputs.count; k++)
            cone_add(cone, at->producer->inputs.data[k]);
    }
}

/* Ties the graph to the content that will be fed to those inputs of the cone which the caller has named. */
static bool specialise(struct program *p, const struct cone *cone)
{
    bool any = false;
    for (size_t i = 0; p->fed != NULL && i < cone->values.count; i++) {
        struct value *v = cone->values.data[i];
        const bool is_free = v->kind == VALUE_INPUT && v->constant == NULL && !v->stays_open;
        const struct tensor *const t = is_free ? map_get(p->fed, v->name) : NULL;
        if (t == NULL || t->dtype != v->dtype || !shape_equal(&t->shape, &v->shape))
            continue;
        v->constant = t;
        v->specialised = true;
        any = true;
    }
    if (any)
        p->fold_epoch++;
    return any;
}

/* What a user can do about it. No option sets a large input. */
static const char *cure_text(struct diag *d, const struct value *from)
{
    enum { LARGEST = 64 };
    const bool settable = from->kind == VALUE_INPUT && shape_count(&from->shape) <= LARGEST;
    return settable ? arena_printf(d->arena, "; --set %s=VALUE fixes it", from->name) : "";
}

static bool report_unknown(struct diag *d, const struct loc *at, const char *what, const struct value *v,
                           const struct cone *cone)
{
    vec_each(const struct value *, from, &cone->values) {
        if (from->constant != NULL || (from->kind != VALUE_INPUT && from->kind != VALUE_VARIABLE))
            continue;
        if (from == v)
            return diag_unsupported(d, at, "%s must be known at compile time, but it is %s of the graph%s", what,
                                    from->kind == VALUE_INPUT ? "an input" : "a variable", cure_text(d, from));
        return diag_unsupported(d, at, "%s must be known at compile time, but depends on %s '%s'%s", what,
                                from->kind == VALUE_INPUT ? "input" : "variable", from->name, cure_text(d, from));
    }
    return diag_error(d, at, "%s must be known at compile time", what);
}

const char *known_cure(const struct graph *g, struct value *v)
{
    struct cone cone = {0};
    const char *text = "";
    cone_collect(&cone, g, v);
    for (size_t i = 0; i < cone.values.count && text[0] == '\0'; i++)
        if (cone.values.data[i]->constant == NULL && cone.values.data[i]->kind == VALUE_INPUT)
            text = cure_text(g->diag, cone.values.data[i]);
    arena_free(&cone.scratch);
    return text;
}

static const struct tensor *known_as_it_is(struct graph *g, struct value *v)
{
    const struct tensor *const t = value_known(v);
    return t != NULL ? t : bounded_fixed(g, v);
}

static const struct tensor *look(struct graph *g, struct value *v, struct cone *cone)
{
    const struct tensor *const t = known_as_it_is(g, v);
    if (t != NULL)
        return t;
    cone_collect(cone, g, v);
    return specialise(g->program, cone) ? value_known(v) : NULL;
}

void known_stays_open(const struct graph *g, struct value *v)
{
    struct cone cone = {0};
    cone_collect(&cone, g, v);
    vec_each(struct value *, from, &cone.values)
        from->stays_open = true;
    arena_free(&cone.scratch);
}

const struct tensor *known_or_fed(struct graph *g, struct value *v)
{
    struct cone cone = {0};
    if (g->program->fed == NULL) /* nothing to look for; a loop asks in each iteration */
        return known_as_it_is(g, v);
    const struct tensor *const t = look(g, v, &cone);
    arena_free(&cone.scratch);
    return t;
}

const struct tensor *known_or_report(struct graph *g, const struct loc *at, const char *what, struct value *v)
{
    struct cone cone = {0};
    const struct tensor *const t = look(g, v, &cone);
    if (t == NULL)
        report_unknown(g->diag, at, what, v, &cone);
    arena_free(&cone.scratch);
    return t;
}

const struct tensor *infer_known(struct infer_ctx *c, int i)
{
    struct value *v = infer_in(c, i);
    const struct tensor *known = value_known(v);
    if (known != NULL)
        return known;
    const struct op_param *p = op_param_at(c->node->def->inputs, (size_t)i);
    const char *what = arena_printf(c->diag->arena, "input %d '%s' (%s)", i, v->name, p->name);
    return known_or_report(c->graph, &c->node->loc, what, v);
}

bool infer_known_ints(struct infer_ctx *c, int i, const int64_t **x, size_t *count)
{
    const struct tensor *t = infer_known(c, i);
    if (t == NULL)
        return false;
    const struct value *v = infer_in(c, i);
    if (t->shape.rank > 1)
        return infer_error(c, "input %d '%s' has rank %d, expected a list (rank 1) or a scalar", i, v->name,
                           t->shape.rank);
    if (!dtype_is_int(t->dtype))
        return infer_error(c, "input %d '%s' is %s, expected an integer type", i, v->name, dtype_name(t->dtype));
    int64_t *list = arena_array(c->graph->arena, int64_t, (size_t)t->count);
    for (int64_t k = 0; k < t->count; k++)
        list[k] = tensor_get_int(t, k);
    *x = list;
    *count = (size_t)t->count;
    return true;
}

bool infer_known_sizes(struct infer_ctx *c, int i, const struct size **x, size_t *count)
{
    const int64_t *ints;
    if (!infer_known_ints(c, i, &ints, count))
        return false;
    const struct tensor *const t = infer_known(c, i);
    struct size *const list = arena_array(c->graph->arena, struct size, *count);
    for (size_t k = 0; k < *count; k++)
        list[k] = tensor_get_size(t, (int64_t)k);
    *x = list;
    return true;
}

bool infer_known_int(struct infer_ctx *c, int i, int64_t *x)
{
    const int64_t *list;
    size_t count;
    const struct value *v = infer_in(c, i);
    if (v == NULL)
        return true;
    if (!infer_known_ints(c, i, &list, &count))
        return false;
    if (count != 1)
        return infer_error(c, "input %d '%s' (%s) has %zu elements, expected a scalar", i, v->name,
                           op_param_at(c->node->def->inputs, (size_t)i)->name, count);
    *x = list[0];
    return true;
}

/* ---- common rules ------------------------------------------------------------------------------------------------ */

bool infer_same_as_input(struct infer_ctx *c)
{
    const struct value *x = infer_in(c, 0);
    const enum dtype known = c->out_count > 0 ? c->out_dtype[0] : DTYPE_UNDEFINED;
    return infer_out(c, 0, known != DTYPE_UNDEFINED ? known : x->dtype, &x->shape);
}

static bool report_broadcast(struct infer_ctx *c, size_t i, const struct shape *so_far)
{
    const struct value *v = c->node->inputs.data[i], *first = infer_in(c, 0);
    struct arena scratch = {0};
    const char *const shape = shape_text(&scratch, &v->shape), *const other = shape_text(&scratch, so_far);
    if (i == 1 && first != NULL)
        infer_error(c, "input 0 '%s' of shape %s and input 1 '%s' of shape %s do not broadcast: dimensions, aligned at "
                       "the right, must be equal or 1", first->name, other, v->name, shape);
    else
        infer_error(c, "input %zu '%s' of shape %s does not broadcast with %s, the shape of the inputs before it", i,
                    v->name, shape, other);
    arena_free(&scratch);
    return false;
}

bool infer_broadcast(struct infer_ctx *c)
{
    struct shape shape = SHAPE_SCALAR;
    for (size_t i = 0; i < c->node->inputs.count; i++) {
        const struct value *v = c->node->inputs.data[i];
        const struct shape so_far = shape;
        if (v != NULL && !shape_broadcast(&shape, &so_far, &v->shape))
            return report_broadcast(c, i, &so_far);
    }
    return infer_out(c, 0, DTYPE_UNDEFINED, &shape);
}

/* ---- a node ------------------------------------------------------------------------------------------------------ */

static bool check_all_set(struct infer_ctx *c)
{
    for (size_t i = 0; i < c->node->outputs.count; i++)
        if (c->node->outputs.data[i] != NULL && !c->out[i].set)
            return infer_error(c, "output %zu of %s does not exist for this node", i, op_display_name(c->node->def));
    return true;
}

bool infer_node_into(struct infer_ctx *c, struct node *n, struct arena *a, struct diag *d)
{
    *c = (struct infer_ctx){.node = n, .graph = n->graph, .diag = d};
    if (!check_counts(c) || !check_dtypes(c, a))
        return false;
    const size_t params = op_count_params(n->def->outputs);
    c->out_count = n->outputs.count > params ? n->outputs.count : params;
    const bool few = c->out_count <= INFER_FEW_OUTPUTS;
    c->out_dtype = few ? c->few_dtypes : arena_array(a, enum dtype, c->out_count);
    c->out = few ? c->few_out : arena_array(a, struct infer_output, c->out_count);
    set_output_dtypes(c);
    return n->def->infer(c) && check_all_set(c);
}

bool node_infer_plain(struct node *n)
{
    struct arena scratch = {0};
    struct infer_ctx c;
    const bool ok = infer_node_into(&c, n, &scratch, n->graph->diag);
    for (size_t i = 0; ok && i < n->outputs.count; i++) {
        struct value *v = n->outputs.data[i];
        if (v == NULL)
            continue;
        v->dtype = c.out[i].dtype;
        v->shape = c.out[i].shape;
    }
    arena_free(&scratch);
    return ok;
}

bool node_infer(struct node *n)
{
    bool is_settled = false;
    if (n->def->sized_by_data != NULL && !bounded_begin(n, &is_settled))
        return false;
    return is_settled || (node_infer_plain(n) && bounded_follow(n));
}
