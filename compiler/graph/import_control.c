/* Loops that end when a model is imported: a Loop or a Scan becomes one copy of its body after another. How many there
 * are follows from constants and shapes; where data decide when a Loop ends, there are as many as it may take, and its
 * results are chosen from what each would leave. So differentiation and everything after it never meet a graph inside a
 * node. Spec: ONNX Loop-25, Scan-25, SequenceMap-17 and the versions before them, which differ in types
 * only; the Scan of opset 8 has a batch more. */
#include "graph/import_internal.h"

#include "graph/graph_internal.h"
#include "graph/upgrade.h"

#include <string.h>

/* ---- what the rules share --------------------------------------------------------------------------------------- */

const struct model_graph *import_graph_attr(const struct model_node *mn, const char *name)
{
    const struct model_attr *const a = model_find_attr(&mn->attrs, name);
    return a != NULL ? a->g : NULL;
}

struct builder import_builder(const struct import_use *u)
{
    return (struct builder){
        .graph = u->g, .loc = u->loc, .prefix = arena_printf(u->arena, "%s%s.", u->r->prefix, import_label(u->mn))};
}

static bool number_of(const struct import_use *u, const char *what, struct value *v, int64_t *x)
{
    const struct tensor *const t = known_or_report(u->g, &u->loc, what, v);
    if (t == NULL)
        return false;
    if (t->count != 1 || !(dtype_is_int(t->dtype) || t->dtype == DTYPE_BOOL))
        return diag_error(u->diag, &u->loc, "%s is %s of shape %s, expected one integer or bool", what,
                          dtype_name(t->dtype), shape_text(u->diag->arena, &t->shape));
    *x = tensor_get_int(t, 0);
    return true;
}

bool import_known_number(const struct import_use *u, size_t input, const char *param, struct value *v, int64_t *x)
{
    const char *const what = arena_printf(u->diag->arena, "input %zu '%s' (%s)", input, v->name, param);
    return number_of(u, what, v, x);
}

bool import_spend_iteration(const struct import_use *u, const struct model_graph *g)
{
    const size_t nodes = g->nodes.count + 1;
    const size_t entries =
        nodes + g->initializers.count + g->sparse_initializers.count + g->inputs.count + g->outputs.count;
    return import_spend(u->im, &u->loc, IMPORT_UNROLLED, (int64_t)nodes) &&
           import_spend(u->im, &u->loc, IMPORT_ENTRIES, (int64_t)entries);
}

/* ---- a graph inside a node -------------------------------------------------------------------------------------- */

static bool bind_actual(const struct import_use *u, const struct model_value_info *formal, struct value *v,
                        struct inner_graph *x)
{
    const bool is_tensor = v != NULL && v->kind != VALUE_SEQUENCE;
    map_set(&x->scope, formal->name, v != NULL ? v : &import_omitted);
    if (!is_tensor || formal->type.kind != TYPE_TENSOR || formal->type.elem == DTYPE_UNDEFINED ||
        formal->type.elem == v->dtype)
        return true;
    return diag_error(u->diag, &u->loc, "input '%s' of graph '%s' is declared as %s, but is %s", formal->name,
                      x->graph->name, dtype_name(formal->type.elem), dtype_name(v->dtype));
}

/* Of an operator whose graphs are no bodies of loops. */
static bool comes_once(const struct model_node *mn)
{
    return strcmp(mn->op_type, "If") == 0 || strcmp(mn->op_type, "FlexAttention") == 0;
}

bool import_inner(const struct import_use *u, const struct model_graph *graph, const struct import_scope *index,
                  const char *label, const char *origin, struct value *const *actual, struct inner_graph *x)
{
    struct arena *const a = u->arena;
    struct map listed = {.arena = a};
    *x = (struct inner_graph){.graph = graph, .scope = {.arena = a}};
    x->region = (struct import_scope){.scope = &x->scope,
                                      .opsets = u->r->opsets,
                                      .call = u->r->call,
                                      .outer = u->r,
                                      .producers = index->producers,
                                      .declared = index->declared,
                                      .names.arena = a,
                                      .prefix = arena_printf(a, "%s%s.", u->r->prefix, label),
                                      .origin = origin,
                                      .repeated = u->r->repeated || !comes_once(u->mn)};
    bool ok = true;
    for (size_t i = 0; i < graph->inputs.count; i++)
        ok = bind_actual(u, graph->inputs.data[i], actual[i], x) && ok;
    ok = import_initializers(u->im, graph, &x->scope, &listed, false) && ok;
    ok = import_initializers(u->im, graph, &x->scope, &listed, true) && ok;
    for (size_t i = 0; ok && x->region.repeated && i < graph->sparse_initializers.count; i++) {
        const struct value *const v = map_get(&x->scope, graph->sparse_initializers.data[i]->name);
        ok = import_spend(u->im, &u->loc, IMPORT_COPIED, v->constant->count);
    }
    return import_list(u->im, &x->region, &graph->nodes) && ok;
}

static struct import_scope index_of(const struct importer *im, const struct model_graph *g)
{
    struct import_scope r = {.outer = NULL};
    import_index_region(&r, im->g->arena, &g->nodes, &g->value_infos);
    return r;
}

struct value *import_inner_output(const struct importer *im, const struct inner_graph *x, size_t i)
{
    const struct model_value_info *const vi = x->graph->outputs.data[i];
    const struct import_scope *const at = import_region_of(&x->region, vi->name);
    if (!map_has(at->scope, vi->name))
        diag_error(im->g->diag, &vi->loc, "output '%s' is not defined in graph '%s'", vi->name, x->graph->name);
    return map_get(at->scope, vi->name);
}

bool import_branch(const struct import_use *u, const struct model_graph *branch, struct value *const *actual,
                   struct inner_graph *x)
{
    bool ok = true;
    for (size_t i = 0; i < u->mn->attrs.count; i++) {
        const struct model_graph *const g = u->mn->attrs.data[i]->g;
        const uint32_t next = g != NULL ? u->im->stream + import_count_inner_random(u->im, g) : u->im->stream;
        if (g != NULL && g == branch) {
            const struct import_scope index = index_of(u->im, branch);
            ok = import_inner(u, branch, &index, import_label(u->mn), NULL, actual, x);
        }
        u->im->stream = next;
    }
    return ok;
}

/* ---- side by side ----------------------------------------------------------------------------------------------- */

struct value *import_join(struct builder *b, struct value *const *items, size_t count, int axis, bool new_axis)
{
    struct value **const parts = arena_array(b->graph->arena, struct value *, count);
    struct value *const axes = new_axis ? build_ints(b, &(int64_t){axis}, 1) : NULL;
    for (size_t i = 0; i < count; i++)
        parts[i] = new_axis ? build_value(b, "Unsqueeze", NULL, (struct value *const[]){items[i], axes}, 2) : items[i];
    return count == 1 ? parts[0] : build_value(b, "Concat", ATTRS(attr_int("axis", axis)), parts, count);
}

/* One Split, whose gradient is one Concat, as far as a node has outputs for it. */
static void cut_pieces(struct builder *b, struct value *v, int axis, const int64_t *sizes, size_t count,
                       struct value **out)
{
    if (count == 1) {
        out[0] = v;
        return;
    }
    if (count <= INFER_MAX_OUTPUTS) {
        struct value *const in[] = {v, build_ints(b, sizes, count)};
        struct node *const n = build_node(b, "Split", ATTRS(attr_int("axis", axis)), in, 2, count);
        for (size_t i = 0; i < count; i++)
            out[i] = n->outputs.data[i];
        return;
    }
    int64_t start = 0;
    struct value *const axes = build_ints(b, &(int64_t){axis}, 1);
    for (size_t i = 0; i < count; i++) {
        struct value *const in[] = {v, build_ints(b, &start, 1), build_ints(b, &(int64_t){start + sizes[i]}, 1), axes};
        out[i] = build_value(b, "Slice", NULL, in, 4);
        start += sizes[i];
    }
}

void import_cut(struct builder *b, struct value *v, int axis, const int64_t *sizes, size_t count, struct value **out)
{
    if (count == 0)
        return;
    if (sizes != NULL) {
        cut_pieces(b, v, axis, sizes, count, out);
        return;
    }
    int64_t *const ones = arena_array(b->graph->arena, int64_t, count);
    for (size_t i = 0; i < count; i++)
        ones[i] = 1;
    cut_pieces(b, v, axis, ones, count, out);
    struct value *const axes = build_ints(b, &(int64_t){axis}, 1);
    for (size_t i = 0; i < count; i++)
        out[i] = build_value(b, "Squeeze", NULL, (struct value *const[]){out[i], axes}, 2);
}

/* ---- iterations of a loop ---------------------------------------------------------------------------------------- */

typedef VEC(struct value *) value_list;

/* A Loop or a Scan on its way. */
struct iterations {
    const struct import_use *u;
    const struct model_graph *body;
    struct import_scope index; /* of the body: only its maps */
    size_t first_state;        /* among the body's inputs and outputs */
    size_t state_count, scan_count;
    struct value **state; /* NULL: an optional value that is none */
    value_list *scanned;  /* scan outputs: an item for each iteration */
    uint32_t stream;      /* of random numbers, before the first iteration */
    int since;            /* values from this id on are the loop's */
};

static bool begin_iterations(struct iterations *t, const struct import_use *u, size_t first_input, size_t state_count,
                             size_t other_inputs, size_t first_output)
{
    *t = (struct iterations){.u = u, .body = import_graph_attr(u->mn, "body")};
    if (t->body == NULL)
        return diag_error(u->diag, &u->loc, "attribute 'body' has no graph");
    if (t->body->inputs.count != state_count + other_inputs || t->body->outputs.count < state_count + first_output)
        return diag_error(u->diag, &u->loc, "the body has %zu inputs and %zu outputs, expected %zu and at least %zu",
                          t->body->inputs.count, t->body->outputs.count, state_count + other_inputs,
                          state_count + first_output);
    t->index = index_of(u->im, t->body);
    t->state_count = state_count;
    t->first_state = first_output;
    t->scan_count = t->body->outputs.count - state_count - first_output;
    if (u->mn->outputs.count > t->state_count + t->scan_count)
        return diag_error(u->diag, &u->loc, "the body gives %zu results, the node names %zu",
                          t->state_count + t->scan_count, u->mn->outputs.count);
    t->state = arena_array(u->arena, struct value *, state_count);
    t->scanned = arena_array(u->arena, value_list, t->scan_count);
    t->stream = u->im->stream;
    t->since = u->g->value_count;
    bool ok = true;
    for (size_t i = 0; i < state_count; i++)
        ok = import_resolve_input(u, first_input + i, &t->state[i]) && ok;
    return ok;
}

static bool keep_scanned(struct iterations *t, size_t k, struct value *v)
{
    struct diag *const d = t->u->diag;
    const struct loc *const at = &t->u->loc;
    if (v == &import_omitted || v->kind == VALUE_SEQUENCE)
        return diag_error(d, at, "scan output %zu of the body is not a tensor", k);
    const struct value *const first = t->scanned[k].count > 0 ? t->scanned[k].data[0] : v;
    if (first->dtype != v->dtype || !shape_equal(&first->shape, &v->shape))
        return diag_error(d, at, "scan output %zu of the body is %s%s in iteration %zu, but %s%s in the first", k,
                          dtype_name(v->dtype), shape_text(d->arena, &v->shape), t->scanned[k].count,
                          dtype_name(first->dtype), shape_text(d->arena, &first->shape));
    vec_push(t->u->arena, &t->scanned[k], v);
    return true;
}

/* actual: all the body's inputs. Afterwards state and scanned; x has the other outputs. */
static bool take_iteration(struct iterations *t, int64_t number, struct value *const *actual, struct inner_graph *x)
{
    const struct import_use *const u = t->u;
    if (!import_spend_iteration(u, t->body))
        return false;
    struct arena *const a = u->arena;
    const char *const label = arena_printf(a, "%s.%lld", import_label(u->mn), (long long)number);
    const char *const origin = arena_printf(a, "iteration %lld of %s", (long long)number, import_node_text(a, u->mn));
    u->im->stream = t->stream;
    if (!import_inner(u, t->body, &t->index, label, origin, actual, x))
        return false;
    bool ok = true;
    struct value **const next = arena_array(a, struct value *, t->state_count);
    for (size_t i = 0; i < t->state_count; i++) {
        struct value *const v = import_inner_output(u->im, x, t->first_state + i);
        next[i] = v != &import_omitted ? v : NULL;
        ok = ok && v != NULL;
    }
    for (size_t k = 0; k < t->scan_count && ok; k++) {
        struct value *const v = import_inner_output(u->im, x, t->first_state + t->state_count + k);
        ok = v != NULL && keep_scanned(t, k, v);
    }
    t->state = next;
    return ok;
}

/* Without a iteration nothing tells the type of a scan output but its declaration. */
static struct value *empty_scan(struct iterations *t, struct builder *b, size_t k, int axis)
{
    const struct model_value_info *const vi = t->body->outputs.data[t->first_state + t->state_count + k];
    bool known = vi->type.kind == TYPE_TENSOR && vi->type.elem != DTYPE_UNDEFINED && vi->type.has_shape &&
                 vi->type.dims.count < SHAPE_MAX_RANK && (size_t)axis <= vi->type.dims.count;
    struct shape s = {.rank = 0};
    for (size_t i = 0; known && i <= vi->type.dims.count; i++) {
        const size_t from = i > (size_t)axis ? i - 1 : i;
        shape_add(&s, size_constant(i == (size_t)axis ? 0 : vi->type.dims.data[from].value));
        known = s.dim[s.rank - 1] >= 0;
    }
    if (known)
        return build_constant(b, tensor_new(t->u->arena, vi->type.elem, &s));
    diag_unsupported(t->u->diag, &t->u->loc,
                     "there is no iteration, and the shape of scan output %zu '%s' is not declared", k, vi->name);
    return NULL;
}

/* Scan output k of all iterations, in their order or backwards. */
static struct value *join_scanned(struct iterations *t, struct builder *b, size_t k, int64_t axis, bool backwards)
{
    const value_list *const list = &t->scanned[k];
    int at = 0;
    const size_t declared = t->body->outputs.data[t->first_state + t->state_count + k]->type.dims.count;
    const int rank = 1 + (list->count > 0 ? list->data[0]->shape.rank : (int)declared);
    if (!shape_axis(rank, axis, &at) || rank > SHAPE_MAX_RANK) {
        diag_error(t->u->diag, &t->u->loc, "axis %lld of scan output %zu is out of range for rank %d", (long long)axis,
                   k, rank);
        return NULL;
    }
    if (list->count == 0)
        return empty_scan(t, b, k, at);
    struct value **const items = arena_array(t->u->arena, struct value *, list->count);
    for (size_t i = 0; i < list->count; i++)
        items[i] = list->data[backwards ? list->count - 1 - i : i];
    return import_join(b, items, list->count, at, true);
}

static bool is_wanted(const struct model_node *mn, size_t output)
{
    return output < mn->outputs.count && mn->outputs.data[output][0] != '\0';
}

/* axes, backwards: of scan outputs; NULL: all 0. */
static bool end_iterations(struct iterations *t, const int64_t *axes, const int64_t *backwards)
{
    struct builder b = import_builder(t->u);
    bool ok = true;
    t->u->im->stream = t->stream + import_count_inner_random(t->u->im, t->body);
    for (size_t i = 0; i < t->state_count; i++)
        ok = import_define(t->u, i, t->state[i] != NULL ? t->state[i] : &import_omitted, t->since) && ok;
    for (size_t k = 0; k < t->scan_count; k++) {
        if (!is_wanted(t->u->mn, t->state_count + k))
            continue;
        struct value *const v =
            join_scanned(t, &b, k, axes != NULL ? axes[k] : 0, backwards != NULL && backwards[k] != 0);
        ok = v != NULL && !b.failed && import_define(t->u, t->state_count + k, v, t->since) && ok;
    }
    return ok;
}

/* ---- Loop ------------------------------------------------------------------------------------------------------- */

/* A Loop of which data decide how often it goes round is unrolled as far as it may go. An exit is where it may end: in
 * front of an iteration. */
struct loop_exit {
    struct value *goes_on;
    struct value **state;
};

struct loop {
    struct iterations t;
    struct builder b;
    VEC(struct loop_exit) exits;
    struct value *going; /* all conditions so far that are not known; NULL: there is none */
};

/* Is it false whatever the data are? Of And a known input tells it. */
static bool never_holds(const struct import_use *u, struct value *v, int depth)
{
    const struct tensor *const known = known_or_fed(u->g, v);
    if (known != NULL)
        return known->count == 1 && (dtype_is_int(known->dtype) || known->dtype == DTYPE_BOOL) &&
               tensor_get_int(known, 0) == 0;
    if (v->kind != VALUE_RESULT || depth == 0)
        return false;
    struct value *const *const in = v->producer->inputs.data;
    if (node_is(v->producer, "Cast") || node_is(v->producer, "Identity") || node_is(v->producer, "Reshape"))
        return never_holds(u, in[0], depth - 1);
    return node_is(v->producer, "And") && (never_holds(u, in[0], depth - 1) || never_holds(u, in[1], depth - 1));
}

/* Does it go on? If data decide, there is an exit. */
static bool ask_condition(struct loop *l, const char *what, struct value *condition, bool *holds)
{
    const struct import_use *const u = l->t.u;
    int64_t known = 0;
    if (known_or_fed(u->g, condition) != NULL) {
        const bool ok = number_of(u, what, condition, &known);
        *holds = ok && known != 0;
        return ok;
    }
    *holds = !never_holds(u, condition, 8);
    if (!*holds)
        return true;
    const struct loop_exit e = {import_as_bool(u, &l->b, what, condition), l->t.state};
    if (e.goes_on == NULL)
        return false;
    vec_push(u->arena, &l->exits, e);
    struct value *const both[] = {l->going, e.goes_on};
    l->going = l->going != NULL ? build_value(&l->b, "And", NULL, both, 2) : e.goes_on;
    return !l->b.failed;
}

/* The condition that the body gives. */
static bool next_condition(struct loop *l, const struct inner_graph *x, struct value **condition)
{
    *condition = import_inner_output(l->t.u->im, x, 0);
    if (*condition == NULL)
        return false;
    if (*condition == &import_omitted || (*condition)->kind == VALUE_SEQUENCE)
        return diag_error(l->t.u->diag, &l->t.u->loc, "the condition that the body gives is not a tensor");
    return true;
}

/* The number of a iteration: a scalar, or a list of one where the body says so. */
static struct value *iteration_number(struct iterations *t, struct builder *b, int64_t number)
{
    const struct model_type *const declared = &t->body->inputs.data[0]->type;
    if (declared->kind == TYPE_TENSOR && declared->has_shape && declared->dims.count == 1)
        return build_ints(b, &number, 1);
    return build_int(b, number);
}

static bool take_turn(struct loop *l, int64_t number, struct value **condition)
{
    struct iterations *const t = &l->t;
    struct value **const actual = arena_array(t->u->arena, struct value *, t->body->inputs.count);
    struct inner_graph x;
    actual[0] = iteration_number(t, &l->b, number);
    actual[1] = *condition;
    for (size_t i = 0; i < t->state_count; i++)
        actual[2 + i] = t->state[i];
    struct import_taken taken = import_begin_taken(t->u, l->going);
    return take_iteration(t, number, actual, &x) && (l->going == NULL || import_end_taken(t->u, &taken)) &&
           next_condition(l, &x, condition);
}

static bool iterate_loop(struct loop *l, int64_t most, struct value *condition)
{
    struct diag *const d = l->t.u->diag;
    const char *what = arena_printf(d->arena, "input 1 '%s' (cond)", condition->name);
    bool holds;
    for (int64_t number = 0; number < most; number++) {
        if (!ask_condition(l, what, condition, &holds) || (holds && !take_turn(l, number, &condition)))
            return false;
        if (!holds)
            return true;
        what = arena_printf(d->arena, "condition '%s' after iteration %lld", l->t.body->outputs.data[0]->name,
                            (long long)number);
    }
    return true;
}

/* The states of where it ended. */
static bool choose_states(struct loop *l)
{
    struct iterations *const t = &l->t;
    const struct import_use *const u = t->u;
    for (size_t k = 0; l->exits.count > 0 && k < t->scan_count; k++)
        if (is_wanted(u->mn, t->state_count + k))
            return diag_unsupported(u->diag, &u->loc,
                                    "'%s' decides how often it goes round, which is not known at compile time, so "
                                    "that scan output %zu '%s' has no size",
                                    l->exits.data[0].goes_on->name, k, u->mn->outputs.data[t->state_count + k]);
    for (size_t e = l->exits.count; e-- > 0;) {
        const struct loop_exit *const at = &l->exits.data[e];
        struct value **const chosen = arena_array(u->arena, struct value *, t->state_count);
        for (size_t i = 0; i < t->state_count; i++) {
            struct value *const a = t->state[i] != NULL ? t->state[i] : &import_omitted;
            struct value *const b = at->state[i] != NULL ? at->state[i] : &import_omitted;
            if (!is_wanted(u->mn, i) || a == b)
                chosen[i] = t->state[i];
            else if (import_alike(a, b))
                chosen[i] = import_chosen(&l->b, at->goes_on, a, b);
            else
                return diag_unsupported(u->diag, &u->loc,
                                        "'%s' decides how often it goes round, which is not known at compile time, so "
                                        "that what it carries must keep its type, but output %zu '%s' is %s or %s",
                                        at->goes_on->name, i, u->mn->outputs.data[i], import_type_text(u, b),
                                        import_type_text(u, a));
        }
        t->state = chosen;
    }
    return !l->b.failed;
}

static bool import_loop(const struct import_use *u)
{
    struct loop l = {.b = import_builder(u)};
    const size_t states = u->mn->inputs.count > 2 ? u->mn->inputs.count - 2 : 0;
    struct value *most = NULL, *condition = NULL;
    int64_t count = INT64_MAX;
    if (!begin_iterations(&l.t, u, 2, states, 2, 1) || !import_resolve_tensor(u, 0, &most) ||
        !import_resolve_tensor(u, 1, &condition))
        return false;
    if (condition == NULL)
        condition = build_scalar(&l.b, DTYPE_BOOL, 1);
    if (most != NULL && !never_holds(u, condition, 8) && !import_known_number(u, 0, "M", most, &count))
        return false;
    return iterate_loop(&l, count, condition) && choose_states(&l) && end_iterations(&l.t, NULL, NULL);
}

/* ---- Scan ------------------------------------------------------------------------------------------------------- */

/* A list with an entry for each scan input or output; absent: zeros. */
static bool scan_list(const struct iterations *t, const char *name, size_t count, const int64_t **x)
{
    const struct model_attr *const a = model_find_attr(&t->u->mn->attrs, name);
    *x = a != NULL ? a->ints.data : arena_array(t->u->arena, int64_t, count);
    if (a == NULL || a->ints.count == count)
        return true;
    return diag_error(t->u->diag, &t->u->loc, "attribute '%s' has %zu elements, expected %zu", name, a->ints.count,
                      count);
}

/* Items of scan input k, in the order of the iterations. */
static bool cut_scanned(struct iterations *t, struct builder *b, size_t k, int64_t axis, bool backwards, int64_t *count,
                        struct value ***items)
{
    struct value *v;
    int at;
    const size_t input = t->state_count + k;
    if (!import_resolve_tensor(t->u, input, &v))
        return false;
    if (v == NULL || !shape_axis(v->shape.rank, axis, &at))
        return diag_error(t->u->diag, &t->u->loc, "axis %lld of scan input %zu is out of range", (long long)axis, k);
    if (*count >= 0 && v->shape.dim[at] != *count)
        return diag_error(t->u->diag, &t->u->loc, "scan input %zu '%s' has %lld items, expected %lld as the one before",
                          k, v->name, (long long)v->shape.dim[at], (long long)*count);
    *count = v->shape.dim[at];
    if (!import_spend(t->u->im, &t->u->loc, IMPORT_PIECES, *count))
        return false;
    const size_t n = (size_t)*count;
    *items = arena_array(t->u->arena, struct value *, n);
    import_cut(b, v, at, NULL, n, *items);
    for (size_t i = 0; backwards && i < n / 2; i++) {
        struct value *const other = (*items)[i];
        (*items)[i] = (*items)[n - 1 - i];
        (*items)[n - 1 - i] = other;
    }
    return !b->failed;
}

static bool iterate_scan(struct iterations *t, size_t scans, const int64_t *axes, const int64_t *backwards)
{
    struct arena *const a = t->u->arena;
    struct builder b = import_builder(t->u);
    struct value ***const items = arena_array(a, struct value **, scans);
    struct value **const actual = arena_array(a, struct value *, t->body->inputs.count);
    int64_t count = -1;
    for (size_t k = 0; k < scans; k++)
        if (!cut_scanned(t, &b, k, axes[k], backwards[k] != 0, &count, &items[k]))
            return false;
    for (int64_t number = 0; number < count; number++) {
        struct inner_graph x;
        for (size_t i = 0; i < t->state_count; i++)
            actual[i] = t->state[i];
        for (size_t k = 0; k < scans; k++)
            actual[t->state_count + k] = items[k][number];
        if (!take_iteration(t, number, actual, &x))
            return false;
    }
    return true;
}

/* ---- Scan of opset 8 -------------------------------------------------------------------------------------------- */

/* A batch of scans, each from its own states: [batch, ..] and [batch, steps, ..]. */
struct scan_batch {
    struct iterations t;
    struct builder b;
    size_t scans;
    const int64_t *backwards;       /* by scan input */
    int64_t count, steps;           /* -1: not known yet */
    struct value ***state, ***scan; /* by state, by scan input: an item for each sequence */
    const struct tensor *lengths;   /* of sequences; NULL: all steps */
    value_list *results;            /* by output: an item for each sequence */
};

/* Input i in pieces along the batch. */
static bool cut_batch(struct scan_batch *x, size_t i, int least_rank, struct value ***items)
{
    const struct import_use *const u = x->t.u;
    struct value *v;
    if (!import_resolve_tensor(u, i, &v))
        return false;
    if (v == NULL || v->shape.rank < least_rank)
        return diag_error(u->diag, &u->loc, "input %zu '%s' has rank %d, expected [batch%s, ..]", i,
                          u->mn->inputs.data[i], v != NULL ? v->shape.rank : 0, least_rank > 1 ? ", steps" : "");
    if (x->count >= 0 && v->shape.dim[0] != x->count)
        return diag_error(u->diag, &u->loc, "input %zu '%s' has a batch of %lld, expected %lld as the one before", i,
                          v->name, (long long)v->shape.dim[0], (long long)x->count);
    if (least_rank > 1 && x->steps >= 0 && v->shape.dim[1] != x->steps)
        return diag_error(u->diag, &u->loc, "input %zu '%s' has %lld steps, expected %lld as the one before", i,
                          v->name, (long long)v->shape.dim[1], (long long)x->steps);
    x->count = v->shape.dim[0];
    x->steps = least_rank > 1 ? v->shape.dim[1] : x->steps;
    if (!import_spend(u->im, &u->loc, IMPORT_PIECES, x->count))
        return false;
    *items = arena_array(u->arena, struct value *, (size_t)x->count);
    import_cut(&x->b, v, 0, NULL, (size_t)x->count, *items);
    return !x->b.failed;
}

static bool read_lengths(struct scan_batch *x)
{
    const struct import_use *const u = x->t.u;
    struct value *v;
    if (!import_resolve_tensor(u, 0, &v))
        return false;
    if (v == NULL)
        return true;
    x->lengths = known_or_report(u->g, &u->loc, arena_printf(u->arena, "input 0 '%s' (sequence_lens)", v->name), v);
    if (x->lengths == NULL)
        return false;
    if (!dtype_is_int(v->dtype) || v->shape.rank != 1 || v->shape.dim[0] != x->count)
        return diag_error(u->diag, &u->loc, "input 0 '%s' (sequence_lens) is no list of %lld integers", v->name,
                          (long long)x->count);
    for (int64_t k = 0; k < x->count; k++) {
        const int64_t steps = tensor_get_int(x->lengths, k);
        if (steps < 1 || steps > x->steps)
            return diag_error(u->diag, &u->loc, "sequence %lld has %lld steps, expected 1 to %lld", (long long)k,
                              (long long)steps, (long long)x->steps);
    }
    return true;
}

/* Steps of sequence k; its states and what is stacked become results. What is stacked is 0 behind its end. */
static bool scan_sequence(struct scan_batch *x, int64_t k)
{
    struct iterations *const t = &x->t;
    struct arena *const a = t->u->arena;
    const int64_t steps = x->lengths != NULL ? tensor_get_int(x->lengths, k) : x->steps;
    struct value ***const items = arena_array(a, struct value **, x->scans);
    struct value **const actual = arena_array(a, struct value *, t->body->inputs.count);
    if (!import_spend(t->u->im, &t->u->loc, IMPORT_PIECES, x->steps))
        return false;
    for (size_t i = 0; i < x->scans; i++) {
        items[i] = arena_array(a, struct value *, (size_t)x->steps);
        import_cut(&x->b, x->scan[i][k], 0, NULL, (size_t)x->steps, items[i]);
    }
    for (size_t i = 0; i < t->state_count; i++)
        t->state[i] = x->state[i][k];
    for (size_t i = 0; i < t->scan_count; i++)
        t->scanned[i].count = 0;
    for (int64_t step = 0; step < steps; step++) {
        struct inner_graph inner;
        for (size_t i = 0; i < t->state_count; i++)
            actual[i] = t->state[i];
        for (size_t i = 0; i < x->scans; i++)
            actual[t->state_count + i] = items[i][x->backwards[i] != 0 ? steps - 1 - step : step];
        if (!take_iteration(t, k * x->steps + step, actual, &inner))
            return false;
    }
    for (size_t i = 0; i < t->state_count; i++) {
        if (t->state[i] == NULL || t->state[i]->kind == VALUE_SEQUENCE)
            return diag_error(t->u->diag, &t->u->loc, "output %zu of the body is not a tensor", i);
        vec_push(a, &x->results[i], t->state[i]);
    }
    for (size_t i = 0; i < t->scan_count; i++) {
        for (int64_t step = steps; step < x->steps; step++)
            vec_push(a, &t->scanned[i], build_full_like(&x->b, t->scanned[i].data[0], 0));
        struct value *const all = join_scanned(t, &x->b, i, 0, false);
        if (all == NULL)
            return false;
        vec_push(a, &x->results[t->state_count + i], all);
    }
    return !x->b.failed;
}

static bool import_scan_8(const struct import_use *u, size_t scans)
{
    struct scan_batch x = {.b = import_builder(u), .scans = scans, .count = -1, .steps = -1};
    if (u->mn->inputs.count < 1 + scans)
        return diag_error(u->diag, &u->loc,
                          "the node has %zu inputs, expected the lengths and %zu scan inputs at least",
                          u->mn->inputs.count, scans);
    const size_t states = u->mn->inputs.count - 1 - scans;
    if (!begin_iterations(&x.t, u, 1, states, scans, 0) || !scan_list(&x.t, "directions", scans, &x.backwards))
        return false;
    x.state = arena_array(u->arena, struct value **, states);
    x.scan = arena_array(u->arena, struct value **, scans);
    x.results = arena_array(u->arena, value_list, states + x.t.scan_count);
    bool ok = true;
    for (size_t i = 0; i < states && ok; i++)
        ok = cut_batch(&x, 1 + i, 1, &x.state[i]);
    for (size_t i = 0; i < scans && ok; i++)
        ok = cut_batch(&x, 1 + states + i, 2, &x.scan[i]);
    if (!ok || !read_lengths(&x))
        return false;
    if (x.count == 0 || x.steps == 0)
        return diag_unsupported(u->diag, &u->loc, "a Scan of opset 8 without sequences or steps is not supported");
    x.t.state = arena_array(u->arena, struct value *, states);
    for (int64_t k = 0; k < x.count && ok; k++)
        ok = scan_sequence(&x, k);
    u->im->stream = x.t.stream + import_count_inner_random(u->im, x.t.body);
    for (size_t i = 0; i < u->mn->outputs.count && ok; i++) {
        if (!is_wanted(u->mn, i))
            continue;
        struct value *const v = import_join(&x.b, x.results[i].data, x.results[i].count, 0, true);
        ok = !x.b.failed && import_define(u, i, v, x.t.since);
    }
    return ok;
}

/* A node of any opset. */
static bool import_scan(const struct import_use *u)
{
    struct iterations t;
    const struct model_attr *const given = model_find_attr(&u->mn->attrs, "num_scan_inputs");
    if (given->i < 1 || (uint64_t)given->i > u->mn->inputs.count)
        return diag_error(u->diag, &u->loc,
                          "attribute 'num_scan_inputs' is %lld, expected 1 to %zu, the number of inputs",
                          (long long)given->i, u->mn->inputs.count);
    const size_t scans = (size_t)given->i;
    if (model_opset(u->r->opsets, "") < 9)
        return import_scan_8(u, scans);
    const int64_t *axes, *backwards, *out_axes, *out_backwards;
    return begin_iterations(&t, u, 0, u->mn->inputs.count - scans, scans, 0) &&
           scan_list(&t, "scan_input_axes", scans, &axes) &&
           scan_list(&t, "scan_input_directions", scans, &backwards) &&
           scan_list(&t, "scan_output_axes", t.scan_count, &out_axes) &&
           scan_list(&t, "scan_output_directions", t.scan_count, &out_backwards) &&
           iterate_scan(&t, scans, axes, backwards) && end_iterations(&t, out_axes, out_backwards);
}

/* ---- SequenceMap ------------------------------------------------------------------------------------------------ */

/* All inputs of a iteration: items of sequences, and tensors as they are. */
static bool import_sequence_map(const struct import_use *u)
{
    struct iterations t;
    struct arena *const a = u->arena;
    const size_t inputs = u->mn->inputs.count;
    struct value **const given = arena_array(a, struct value *, inputs),
                         **const actual = arena_array(a, struct value *, inputs);
    if (!begin_iterations(&t, u, 0, 0, inputs, 0))
        return false;
    for (size_t i = 0; i < inputs; i++)
        if (!import_resolve_input(u, i, &given[i]))
            return false;
    const struct sequence *const first = import_as_sequence(given[0]);
    if (first == NULL)
        return diag_error(u->diag, &u->loc, "input 0 '%s' is a tensor, expected a sequence", u->mn->inputs.data[0]);
    value_list *const results = arena_array(a, value_list, t.body->outputs.count);
    t.scan_count = 0; /* results of a iteration need not be of one shape */
    for (size_t k = 0; k < first->count; k++) {
        struct inner_graph x;
        for (size_t i = 0; i < inputs; i++) {
            const struct sequence *const s = import_as_sequence(given[i]);
            if (s != NULL && s->count != first->count)
                return diag_error(u->diag, &u->loc, "input %zu has %zu items, expected %zu as input 0", i, s->count,
                                  first->count);
            actual[i] = s != NULL ? s->items[k] : given[i];
        }
        if (!take_iteration(&t, (int64_t)k, actual, &x))
            return false;
        for (size_t o = 0; o < t.body->outputs.count; o++) {
            struct value *const v = import_inner_output(u->im, &x, o);
            if (v == NULL || v == &import_omitted || v->kind == VALUE_SEQUENCE)
                return v != NULL && diag_error(u->diag, &u->loc, "output %zu of the body is not a tensor", o);
            vec_push(a, &results[o], v);
        }
    }
    bool ok = true;
    for (size_t o = 0; o < u->mn->outputs.count; o++)
        ok = import_define(u, o, import_new_sequence(u->im, results[o].data, results[o].count), t.since) && ok;
    u->im->stream = t.stream + import_count_inner_random(u->im, t.body);
    return ok;
}

/* ---- one node --------------------------------------------------------------------------------------------------- */

static import_rule rule_of(const char *op_type)
{
    static const struct {
        const char *name;
        import_rule rule;
    } rules[] = {{"If", import_if},
                 {"Loop", import_loop},
                 {"Scan", import_scan},
                 {"SequenceMap", import_sequence_map},
                 {"FlexAttention", import_flex_attention}};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].name, op_type) == 0)
            return rules[i].rule;
    return import_sequence_rule(op_type);
}

bool import_is_control(const struct model_node *mn)
{
    const struct op_def *const def = op_find(mn->domain, mn->op_type);
    return def != NULL && def->is_control;
}

bool import_is_alias(const struct import_use *u)
{
    if (u->mn->domain[0] != '\0' || strcmp(u->mn->op_type, "Identity") != 0 || u->mn->inputs.count != 1)
        return false;
    const char *const name = u->mn->inputs.data[0];
    const struct value *const v = map_get(import_region_of(u->r, name)->scope, name);
    return v != NULL && (v == &import_omitted || v->kind == VALUE_SEQUENCE);
}

static bool import_alias(const struct import_use *u)
{
    struct value *v;
    return import_resolve_input(u, 0, &v) && import_define(u, 0, v != NULL ? v : &import_omitted, u->g->value_count);
}

bool import_control(const struct import_use *u)
{
    struct op_choice choice;
    return import_choose(u, &choice) && (choice.def->is_control ? rule_of(u->mn->op_type)(u) : import_alias(u));
}
