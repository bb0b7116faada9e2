#include "graph/bounded.h"

#include "base/str.h"
#include "graph/graph_internal.h"

#include <math.h>
#include <string.h>

/* ---- counts ------------------------------------------------------------------------------------------------------ */

const struct bounded *bounded_in(const struct bounded_ctx *c, int i)
{
    const struct value *const v = node_input(c->node, (size_t)i);
    return v != NULL ? v->bounded : NULL;
}

static void mark(struct graph *g, struct value *v, const struct bounded *x, int axis)
{
    struct bounded *const own = arena_new(g->arena, struct bounded);
    *own = *x;
    own->axis = axis;
    v->bounded = own;
}

bool bounded_out(struct bounded_ctx *c, int o, const struct bounded *x, int axis)
{
    struct value *const v = node_output(c->node, (size_t)o);
    if (v != NULL)
        mark(c->node->graph, v, x, axis);
    c->is_settled = true;
    return true;
}

bool bounded_refuse(struct bounded_ctx *c, int i, const char *why)
{
    const struct value *const v = c->node->inputs.data[i];
    return diag_unsupported(c->node->graph->diag, &c->node->loc,
                            "how many elements input %d '%s' has along axis %d follows from data (%s): %s%s", i,
                            v->name, v->bounded->axis, v->bounded->origin, why,
                            known_cure(c->node->graph, v->bounded->count));
}

bool bounded_only(struct bounded_ctx *c, int i)
{
    for (int k = 0; k < (int)c->node->inputs.count; k++)
        if (k != i && bounded_in(c, k) != NULL)
            return bounded_refuse(c, k, arena_printf(c->node->graph->diag->arena, "%s does not take that there",
                                                     op_display_name(c->node->def)));
    return true;
}

/* ---- equal counts ------------------------------------------------------------------------------------------------ */

/* Exporters compute a mask again for each tensor that it selects from. */
static bool same_value(const struct value *a, const struct value *b, int *visits);

static bool same_nodes(const struct node *a, const struct node *b, int *visits)
{
    if (a->def != b->def || a->def->is_random || a->region != NULL || b->region != NULL ||
        a->inputs.count != b->inputs.count || a->attrs.count != b->attrs.count)
        return false;
    for (size_t i = 0; i < a->attrs.count; i++)
        if (!attr_equal(&a->attrs.data[i], &b->attrs.data[i]))
            return false;
    for (size_t i = 0; i < a->inputs.count; i++)
        if (!same_value(a->inputs.data[i], b->inputs.data[i], visits))
            return false;
    return true;
}

static bool same_value(const struct value *a, const struct value *b, int *visits)
{
    enum { MOST_VISITS = 2000 };
    if (a == b)
        return true;
    if (a == NULL || b == NULL || a->kind != b->kind || ++*visits > MOST_VISITS)
        return false;
    if (a->kind == VALUE_CONSTANT)
        return tensor_same_sizes(a->constant, b->constant);
    return a->kind == VALUE_RESULT && a->output == b->output && same_nodes(a->producer, b->producer, visits);
}

bool bounded_alike(const struct bounded *a, const struct bounded *b)
{
    int visits = 0;
    return a == b || same_value(a->count, b->count, &visits);
}

/* ---- what is meant, and what is not ------------------------------------------------------------------------------ */

/* 0, 1, .. along the axis of a value of that shape, 1 along the others. */
static struct value *counter_along(struct builder *b, const struct shape *of, int axis)
{
    struct shape s = SHAPE_SCALAR;
    for (int d = 0; d < of->rank; d++)
        shape_add(&s, d == axis ? shape_size(of, d) : size_constant(1));
    return build_counter(b, DTYPE_INT64, 0, &s);
}

struct value *bounded_filled(struct builder *b, struct value *x, struct value *fill)
{
    const struct bounded *const of = x->bounded;
    struct value *const places[] = {counter_along(b, &x->shape, of->axis), of->count};
    struct value *const is_meant = build_value(b, "Less", NULL, places, 2);
    mark(b->graph, is_meant, of, of->axis);
    struct value *const choice[] = {is_meant, x, fill};
    struct value *const y = build_value(b, "Where", NULL, choice, 3);
    y->bounded = is_meant->bounded = NULL;
    return y;
}

void bounded_fill_input(struct bounded_ctx *c, int i, struct value *fill)
{
    node_set_input(c->node, i, bounded_filled(c->b, c->node->inputs.data[i], fill));
}

static struct value *extreme(struct builder *b, enum dtype d, bool greatest, bool finite)
{
    if (dtype_is_float(d)) {
        const double largest = d == DTYPE_DOUBLE ? 1.7976931348623157e308 : d == DTYPE_FLOAT16 ? 65504.0 : 3e38;
        return build_scalar(b, d, (greatest ? 1 : -1) * (finite ? largest : (double)INFINITY));
    }
    const int bits = d == DTYPE_BOOL ? 1 : 8 * (int)dtype_size(d);
    const bool is_signed = d == DTYPE_INT8 || d == DTYPE_INT16 || d == DTYPE_INT32 || d == DTYPE_INT64;
    const uint64_t all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    const int64_t top = (int64_t)(is_signed ? all >> 1 : all);
    struct tensor *const t = tensor_new(b->graph->arena, d, &SHAPE_SCALAR);
    tensor_set_int(t, 0, greatest ? top : is_signed ? -top - 1 : 0);
    return build_constant(b, t);
}

struct value *bounded_least(struct builder *b, enum dtype d, bool finite)
{
    return extreme(b, d, false, finite);
}

struct value *bounded_greatest(struct builder *b, enum dtype d)
{
    return extreme(b, d, true, false);
}

bool bounded_become(struct bounded_ctx *c, const char *op, const struct attr *attrs, struct value *const *inputs,
                    size_t count)
{
    struct node *const n = c->node;
    if (c->b->failed)
        return false;
    while (n->attrs.count > 0)
        node_remove_attr(n, n->attrs.data[n->attrs.count - 1].name);
    while (n->inputs.count > 0)
        node_set_input(n, (int)n->inputs.count - 1, NULL);
    for (size_t i = 0; i < count; i++)
        node_add_input(n, inputs[i]);
    n->def = op_find_qualified(op);
    for (; attrs != NULL && attrs->name != NULL; attrs++)
        node_set_attr(n, *attrs);
    c->is_settled = true;
    return node_infer_plain(n);
}

/* ---- making them ------------------------------------------------------------------------------------------------- */

static struct bound_option *find_option(const struct node *n)
{
    const struct map *const bounds = n->graph->program->bounds;
    struct bound_option *found = NULL;
    if (bounds == NULL)
        return NULL;
    if (n->loc.node != NULL && n->loc.node[0] != '\0')
        found = map_get(bounds, n->loc.node);
    for (size_t i = 0; i < n->outputs.count && found == NULL; i++)
        if (n->outputs.data[i] != NULL)
            found = map_get(bounds, n->outputs.data[i]->name);
    return found;
}

const char *bounded_origin(const struct value *count)
{
    const struct loc *const at = &count->producer->loc;
    struct arena *const a = count->producer->graph->arena;
    if (at->node != NULL && at->node[0] != '\0')
        return arena_printf(a, "node '%s' (%s)", at->node, at->op);
    return arena_printf(a, "node #%d (%s)", at->index, at->op);
}

bool bounded_is_known(const struct bounded_ctx *c, int i)
{
    struct value *const v = node_input(c->node, (size_t)i);
    if (v == NULL || v->bounded != NULL)
        return v == NULL;
    /* What is fed to this call is one thing, what --bound asks for another: also where the same is selected again. */
    if (find_option(c->node) != NULL)
        known_stays_open(c->node->graph, v);
    return known_or_fed(c->node->graph, v) != NULL;
}

/* The same count before this one, which --bound has limited: exporters select by a mask once for each tensor. */
static const struct node *find_limited(const struct node *before, const struct value *count)
{
    const struct op_def *const def = op_find(DOMAIN_STEPC, "CountUpTo");
    for (const struct node *n = before->prev; n != NULL; n = n->prev) {
        int visits = 0;
        if (n->def == def && op_attr_int(n, "is_asked") != 0 && same_value(n->inputs.data[0], count, &visits))
            return n;
    }
    return NULL;
}

const struct bounded *bounded_new(struct bounded_ctx *c, struct value *count, int64_t natural, int64_t *slots)
{
    struct bounded *const x = arena_new(c->node->graph->arena, struct bounded);
    struct bound_option *const option = find_option(c->node);
    const struct node *const before = option == NULL ? find_limited(c->node, count) : NULL;
    const int64_t most = option != NULL ? option->most : before != NULL ? op_attr_int(before, "most") : natural;
    if (option != NULL)
        option->is_used = true;
    *x = (struct bounded){.most = most < natural ? most : natural, .is_asked = option != NULL || before != NULL};
    const struct attr *const how = ATTRS(attr_int("most", x->most), attr_int("is_asked", x->is_asked),
                                         attr_int("is_certain", most >= natural));
    x->count = build_with(c, "stepc.CountUpTo", how, count);
    x->origin = bounded_origin(x->count);
    *slots = x->most < 2 ? 2 : x->most;
    return x;
}

bool bounded_refuse_shape(struct bounded_ctx *c, int i, const struct bounded *x, const char *why)
{
    const struct graph *const g = c->node->graph;
    return diag_unsupported(g->diag, &c->node->loc, "the size %d that input %d '%s' says follows from data (%s): %s%s",
                            x->axis, i, c->node->inputs.data[i]->name, x->origin, why, known_cure(g, x->count));
}

struct value *bounded_steps(struct builder *b, const struct bounded *x, int64_t slots)
{
    struct value *const steps = build_counter(b, DTYPE_INT64, 0, &SHAPE(slots));
    struct value *const two[] = {steps, x->count};
    struct value *const is_meant = build_value(b, "Less", NULL, two, 2);
    struct value *const choice[] = {is_meant, steps, build_int(b, 0)};
    return build_value(b, "Where", NULL, choice, 3);
}

struct value *bounded_places(struct bounded_ctx *c, struct value *mask)
{
    struct builder *const b = c->b;
    const int64_t n = mask->shape.dim[0];
    struct value *const taken = build_cast(b, mask, DTYPE_INT64);
    struct value *const number = build(c, "Sub", build(c, "CumSum", taken, build_int(b, 0)), build_int(b, 1));
    struct value *const all = build_reduce_sum(b, taken, (const int[]){0}, 1, false);
    int64_t slots;
    const struct bounded *const x = bounded_new(c, all, n, &slots);
    /* What is not taken, or not expected, goes to a slot behind the others. */
    struct value *const trash = build_int(b, slots);
    struct value *const slot = build(c, "Where", mask, build(c, "Min", number, trash), trash);
    struct value *const empty = build_expand(b, build_int(b, 0), &SHAPE(slots + 1));
    struct value *const filled =
        build(c, "ScatterElements", empty, slot, build_counter(b, DTYPE_INT64, 0, &mask->shape));
    struct value *const kept =
        build(c, "Slice", filled, build_ints(b, (int64_t[]){0}, 1), build_ints(b, &slots, 1));
    struct value *const first =
        build(c, "Slice", filled, build_ints(b, (int64_t[]){0}, 1), build_ints(b, (int64_t[]){1}, 1));
    struct value *const is_meant = build(c, "Less", build_counter(b, DTYPE_INT64, 0, &SHAPE(slots)), x->count);
    struct value *const places = build(c, "Where", is_meant, kept, first);
    if (b->failed)
        return NULL;
    mark(b->graph, places, x, 0);
    return places;
}

/* ---- rules that operators share ---------------------------------------------------------------------------------- */

bool bounded_elementwise(struct bounded_ctx *c)
{
    const struct shape *const y = &c->node->outputs.data[0]->shape;
    const struct bounded *first = NULL;
    int axis = 0, from = 0;
    for (int i = 0; i < (int)c->node->inputs.count; i++) {
        const struct bounded *const x = bounded_in(c, i);
        if (x == NULL)
            continue;
        const int at = x->axis + y->rank - c->node->inputs.data[i]->shape.rank;
        if (first != NULL && (at != axis || !bounded_alike(first, x)))
            return bounded_refuse(c, i, arena_printf(c->node->graph->diag->arena, "it is not known to be as many as "
                                                     "those of input %d '%s'", from, c->node->inputs.data[from]->name));
        first = first != NULL ? first : x;
        axis = at;
        from = first == x ? i : from;
    }
    for (int i = 0; i < (int)c->node->inputs.count; i++) {
        const struct value *const v = c->node->inputs.data[i];
        const int d = v != NULL ? axis - y->rank + v->shape.rank : -1;
        if (v != NULL && v->bounded == NULL && d >= 0 && v->shape.dim[d] != 1)
            return bounded_refuse(c, from, arena_printf(c->node->graph->diag->arena,
                                                        "input %d '%s' has a fixed number there", i, v->name));
    }
    return bounded_out(c, 0, first, axis);
}

/* Where a reshaped value has the axis, which grows by the factor `times`; -1: nowhere. */
static int axis_after(const struct shape *x, int axis, const struct shape *y, int64_t *times)
{
    const int64_t before = shape_count_range(x, 0, axis), after = shape_count_range(x, axis + 1, x->rank);
    for (int d = 0; d < y->rank; d++) {
        const int64_t left = shape_count_range(y, 0, d), right = shape_count_range(y, d + 1, y->rank);
        if (left != before || right == 0 || y->dim[d] < x->dim[axis] || after % right != 0)
            continue;
        *times = after / right;
        if (y->dim[d] == x->dim[axis] * *times)
            return d;
    }
    return -1;
}

/* Is the dimension one that follows from the others? */
static bool is_open(const struct node *n, int d, const struct bounded *x, int64_t times)
{
    if (!node_is(n, "Reshape"))
        return true;
    const struct tensor *const shape = value_known(n->inputs.data[1]);
    const int64_t said = shape != NULL && d < shape->count ? tensor_get_int(shape, d) : 0;
    return said == -1 || (said == 0 && d == x->axis && times == 1);
}

bool bounded_reshape(struct bounded_ctx *c)
{
    const struct bounded *x = bounded_in(c, 0);
    int64_t times = 1;
    if (!bounded_only(c, 0))
        return false;
    const int d = axis_after(&c->node->inputs.data[0]->shape, x->axis, &c->node->outputs.data[0]->shape, &times);
    if (d < 0)
        return bounded_refuse(c, 0, "in the new shape they are no axis of their own");
    if (!is_open(c->node, d, x, times))
        return bounded_refuse(c, 0, "the new shape says a fixed number; -1 would say that it is open");
    if (times != 1) {
        struct bounded *const more = arena_new(c->node->graph->arena, struct bounded);
        *more = *x;
        more->count = build(c, "Mul", x->count, build_int(c->b, times));
        more->most *= times;
        x = more;
    }
    return bounded_out(c, 0, x, d);
}

bool bounded_same(struct bounded_ctx *c)
{
    const struct bounded *const x = bounded_in(c, 0);
    if (!bounded_only(c, 0))
        return false;
    for (int o = 0; o < (int)c->node->outputs.count; o++)
        (void)bounded_out(c, o, x, x->axis);
    return true;
}

bool bounded_samples(struct bounded_ctx *c)
{
    const struct bounded *const x = bounded_in(c, 0);
    if (x != NULL && x->axis != 0)
        return bounded_refuse(c, 0, arena_printf(c->node->graph->diag->arena, "%s takes that of axis 0 only",
                                                 op_display_name(c->node->def)));
    return bounded_same(c);
}

/* ---- inference and import ---------------------------------------------------------------------------------------- */

/* A float result with a count that no float operand has is taken from elements that nothing is known of: where none is
 * meant, the first of them may be one that Log or Sqrt has no derivative for. Then all are 1, and no gradient comes
 * back. */
static bool guard_taken(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    struct value *const y = node_output(n, 0);
    bool takes = false;
    if (y == NULL || n->outputs.count != 1 || y->bounded == NULL || !dtype_is_float(y->dtype))
        return true;
    vec_each(const struct value *, v, &n->inputs) {
        if (v == NULL || !dtype_is_float(v->dtype))
            continue;
        if (v->bounded != NULL)
            return true;
        takes = takes || v->kind != VALUE_CONSTANT;
    }
    if (!takes)
        return true;
    const struct bounded *const x = y->bounded;
    struct node *const inner = graph_add_node(n->graph, n->def, "", &n->loc, n);
    vec_each(struct value *, v, &n->inputs)
        node_add_input(inner, v);
    vec_each_ptr(const struct attr, a, &n->attrs)
        node_set_attr(inner, *a);
    struct value *const taken = node_add_output(inner, arena_printf(n->graph->arena, "%s.taken", y->name));
    if (!node_infer_plain(inner))
        return false;
    struct value *const any = build(c, "Less", build_int(c->b, 0), x->count);
    struct value *const choice[] = {any, taken, build_like(c, taken, 1.0)};
    return bounded_become(c, "Where", ATTRS_NONE, choice, 3) && bounded_out(c, 0, x, x->axis);
}

static struct builder builder_for(struct node *n)
{
    const struct value *const y = node_output(n, 0);
    return (struct builder){.graph = n->graph, .before = n, .loc = n->loc,
                            .prefix = arena_printf(n->graph->arena, "%s.", y != NULL ? y->name : n->name)};
}

bool bounded_begin(struct node *n, bool *settled)
{
    struct builder b = builder_for(n);
    struct bounded_ctx c = {.b = &b, .node = n};
    const bool ok = n->def->sized_by_data(&c) && (!c.is_settled || guard_taken(&c)) && !b.failed;
    *settled = c.is_settled;
    return ok;
}

static bool has_count(const struct node *n, int *first)
{
    for (size_t i = 0; i < n->inputs.count; i++)
        if (n->inputs.data[i] != NULL && n->inputs.data[i]->bounded != NULL) {
            *first = (int)i;
            return true;
        }
    return false;
}

bool bounded_follow(struct node *n)
{
    int first;
    if (!has_count(n, &first))
        return true;
    struct builder b = builder_for(n);
    struct bounded_ctx c = {.b = &b, .node = n};
    if (n->def->bounded != NULL)
        return n->def->bounded(&c) && guard_taken(&c) && !b.failed;
    if (n->def->is_elementwise)
        return bounded_elementwise(&c);
    if (n->def->is_reshape)
        return bounded_reshape(&c);
    return bounded_refuse(&c, first, arena_printf(n->graph->diag->arena, "%s needs a fixed size",
                                                  op_display_name(n->def)));
}

bool bounded_give(struct graph *g, const struct loc *at, const char *name, struct value *v)
{
    const struct bounded *const x = v->bounded;
    struct builder b = {.graph = g, .loc = *at, .prefix = arena_printf(g->arena, "%s.", name)};
    if (!x->is_asked)
        return diag_unsupported(g->diag, at,
                                "how many elements output '%s' has along axis %d follows from data (%s); --bound "
                                "NAME=N, with the name of that node or of its result, gives N of them, zeros behind "
                                "the last, and '%s_count', how many they are (%lld is the most that there can be)%s",
                                name, x->axis, x->origin, name, (long long)x->most, known_cure(g, x->count));
    const char *const count = arena_printf(g->arena, "%s_count", name);
    for (size_t i = 0; i < g->outputs.count; i++)
        if (str_equal(g->outputs.data[i].name, count))
            return diag_error(g->diag, at, "output '%s' is how many elements '%s' has, and the name is taken", count,
                              name);
    struct value *const y = bounded_filled(&b, v, build_cast(&b, build_int(&b, 0), v->dtype));
    vec_push(g->arena, &g->outputs, ((struct graph_output){name, y}));
    vec_push(g->arena, &g->outputs, ((struct graph_output){count, x->count}));
    return !b.failed;
}

static void add_lines(struct arena *a, struct map *options, const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        const char *const line = arena_strndup(a, text, length), *const sign = strrchr(line, '=');
        long long most;
        if (sign != NULL && str_to_int64(sign + 1, &most) && most >= 1) {
            struct bound_option *const option = arena_new(a, struct bound_option);
            option->most = most;
            map_set(options, arena_strndup(a, line, (size_t)(sign - line)), option);
        }
        text += length + (text[length] == '\n');
    }
}

const struct map *bounded_options(struct arena *a, const struct model *m, const struct map *given)
{
    struct map *const options = arena_new(a, struct map);
    options->arena = a;
    for (size_t i = 0; i < m->metadata.count; i++)
        if (str_equal(m->metadata.data[i].key, METADATA_BOUNDS))
            add_lines(a, options, m->metadata.data[i].value);
    for (size_t i = 0; given != NULL && i < given->count; i++)
        map_set(options, given->entries[i].key, given->entries[i].value);
    return options->count > 0 ? options : NULL;
}

void bounded_remember(struct arena *a, struct model *m, const struct map *given)
{
    const struct map *const all = bounded_options(a, m, given);
    struct model_pair *pair = NULL;
    struct strbuf lines = {.arena = a};
    for (size_t i = 0; all != NULL && i < all->count; i++)
        strbuf_addf(&lines, "%s%s=%lld", i > 0 ? "\n" : "", all->entries[i].key,
                    (long long)((const struct bound_option *)all->entries[i].value)->most);
    if (lines.length == 0)
        return;
    vec_each_ptr(struct model_pair, x, &m->metadata)
        if (str_equal(x->key, METADATA_BOUNDS))
            pair = x;
    if (pair != NULL)
        pair->value = strbuf_text(&lines);
    else
        vec_push(a, &m->metadata, ((struct model_pair){METADATA_BOUNDS, strbuf_text(&lines)}));
}

void bounded_forget(struct program *p)
{
    const struct op_def *const def = op_find(DOMAIN_STEPC, "CountUpTo");
    vec_each_ptr(const struct entry, e, &p->entries) {
        struct graph *const g = e->graph;
        graph_each_node(g, n) {
            vec_each(struct value *, v, &n->outputs)
                if (v != NULL)
                    v->bounded = NULL;
            if (n->def == def && op_attr_int(n, "is_certain") != 0)
                graph_replace(g, n->outputs.data[0], n->inputs.data[0]);
        }
    }
    for (size_t i = 0; p->bounds != NULL && i < p->bounds->count; i++) {
        const struct bound_option *const option = p->bounds->entries[i].value;
        if (!option->is_used)
            diag_warning(p->diag, &LOC_FILE(p->model->file),
                         "--bound %s=%lld: no size of a node or tensor of this name follows from data",
                         p->bounds->entries[i].key, (long long)option->most);
    }
}
