/* A batch that is computed in parts, by equal nodes for each (prepare --accumulate N), becomes a region that runs the
 * nodes of one part N times and adds up:
 *
 *   x1, x2, x3 = Split(x)                             s = stepc.Scan(-0, Reshape(x, [3, ..]), w)
 *   s = Add(Add(f(x1, w), f(x2, w)), f(x3, w))            of s <- Add(s, f(x, w))
 *
 * Sums keep their order, and begin with -0, to which everything adds up to itself: bits stay. From the sums down, the
 * same walk goes through all parts side by side; it ends at pieces of a Split, one for each part in their order, and at
 * what is the same in all. A part may read what the part before it made: running statistics. Nothing else may read what
 * is made in a part.
 *
 * What the model computes of the whole batch beside them, and part by part as well, is taken from the parts
 * (roll_whole.c): so memory for one part is enough. */
#include "rewrite/roll.h"

#include "graph/region.h"

#include <string.h>

enum {
    LEAST_NODES = 4,  /* of a part: fewer are no longer than what a region costs */
    MOST_PARTS = 1024 /* four times what `prepare` makes: what stands side by side in all is looked at for each */
};

/* ---- what stands for each other in all parts --------------------------------------------------------------------- */

static bool is_same_in_all(const struct roll *r, struct value *const *of)
{
    for (size_t k = 1; k < r->parts; k++)
        if (of[k] != of[0])
            return false;
    return true;
}

/* Notes what value of[k] of each part k stands for; false: one of them stands for something else. */
static bool note(struct roll *r, struct value **of)
{
    for (size_t k = 0; k < r->parts; k++)
        if (r->part[of[k]->id] != 0 || of[k]->dtype != of[0]->dtype || !shape_equal(&of[k]->shape, &of[0]->shape))
            return false;
    for (size_t k = 0; k < r->parts; k++)
        r->part[of[k]->id] = (int)k + 1;
    r->of[of[0]->id] = of;
    vec_push(r->arena, &r->noted, of[0]);
    return true;
}

static void forget(struct roll *r, size_t since, size_t handed)
{
    r->handed.count = handed;
    for (; r->noted.count > since; r->noted.count--) {
        struct value *const first = r->noted.data[r->noted.count - 1];
        for (size_t k = 0; k < r->parts; k++)
            r->part[r->of[first->id][k]->id] = 0;
        r->of[first->id] = NULL;
    }
}

bool roll_is_slice(const struct roll *r, const struct value *v)
{
    const struct node *const n = v->kind == VALUE_RESULT ? v->producer : NULL;
    return n != NULL && node_is(n, "Split") && n->outputs.count == r->parts && n->outputs.data[0] != NULL &&
           n->outputs.data[r->parts - 1] != NULL && r->part[n->outputs.data[0]->id] == 1 &&
           r->part[n->outputs.data[r->parts - 1]->id] == (int)r->parts;
}

/* Pieces of one Split, in the order of the parts? */
static bool are_slices(const struct roll *r, struct value *const *of)
{
    const struct node *const n = of[0]->producer;
    if (!node_is(n, "Split") || n->outputs.count != r->parts)
        return false;
    for (size_t k = 0; k < r->parts; k++)
        if (n->outputs.data[k] != of[k])
            return false;
    return true;
}

/* Labels and indices are checked before anything is computed: what they are has to be there then. */
static bool is_given(const struct roll *r, const struct value *v)
{
    while (r->part[v->id] != 0 && !roll_is_slice(r, v)) {
        if (!v->producer->def->is_reshape)
            return false;
        v = v->producer->inputs.data[0];
    }
    return true;
}

/* Is it what the part before gives? Noted with what the first part has instead. */
static bool is_handed_on(struct roll *r, struct value *const *of)
{
    struct value **const by = r->of[of[1]->id], *const start = of[0];
    if (by == NULL || memcmp(by, of + 1, (r->parts - 1) * sizeof(struct value *)) != 0 || r->part[start->id] != 0 ||
        start->dtype != by[0]->dtype || !shape_equal(&start->shape, &by[0]->shape))
        return false;
    vec_each_ptr(const struct roll_handed, h, &r->handed)
        if (h->start == start || h->of == by)
            return h->start == start && h->of == by;
    vec_push(r->arena, &r->handed, ((struct roll_handed){.start = start, .of = by}));
    return true;
}

static bool push(struct roll *r, value_tuples *open, struct value **of)
{
    if (is_same_in_all(r, of)) {
        r->is_same[of[0]->id] = true;
        return true;
    }
    struct value **const known = r->of[of[0]->id];
    if (known != NULL)
        return !memcmp(known, of, r->parts * sizeof(struct value *));
    if (is_handed_on(r, of))
        return true;
    for (size_t k = 0; k < r->parts; k++)
        if (of[k]->kind != VALUE_RESULT)
            return false;
    vec_push(r->arena, open, of);
    return true;
}

static struct value **tuple_of(struct roll *r, struct value *const *of, bool input, size_t i)
{
    struct value **const result = arena_array(r->arena, struct value *, r->parts);
    for (size_t k = 0; k < r->parts; k++)
        result[k] = input ? of[k]->producer->inputs.data[i] : of[k]->producer->outputs.data[i];
    return result;
}

/* The nodes that make `of` become those of the parts; what they read is looked at next. */
static bool match_nodes(struct roll *r, value_tuples *open, struct value *const *of)
{
    const struct node *const n = of[0]->producer;
    if (n->def->is_random)
        return false;
    for (size_t k = 1; k < r->parts; k++)
        if (of[k]->output != of[0]->output || !node_same_kind(n, of[k]->producer))
            return false;
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i] != NULL && !note(r, tuple_of(r, of, false, i)))
            return false;
    for (size_t i = 0; i < n->inputs.count; i++)
        if (n->inputs.data[i] != NULL && !push(r, open, tuple_of(r, of, true, i)))
            return false;
    return true;
}

/* Are these values of the parts equal computations? With a list of its own: parts may be longer than the stack is
 * deep. */
static bool match(struct roll *r, struct value **of)
{
    value_tuples open = {0};
    const size_t since = r->noted.count, handed = r->handed.count;
    bool ok = push(r, &open, of);
    while (ok && open.count > 0) {
        struct value **const x = open.data[--open.count];
        struct value **const known = r->of[x[0]->id];
        if (known != NULL)
            ok = !memcmp(known, x, r->parts * sizeof(struct value *));
        else
            ok = are_slices(r, x) ? note(r, x) : match_nodes(r, &open, x);
    }
    if (!ok)
        forget(r, since, handed);
    return ok;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static bool is_sum(const struct value *v)
{
    return v->kind == VALUE_RESULT && node_is(v->producer, "Add") &&
           shape_equal(&v->producer->inputs.data[0]->shape, &v->producer->inputs.data[1]->shape);
}

/* Add(Add(f1, f2), f3): the terms, if there is one for each part, and sums on the way have no other reader. */
static struct value **terms_of(struct roll *r, struct value *last)
{
    struct value *v = last;
    for (size_t k = 1; k < r->parts; k++, v = v->producer->inputs.data[0])
        if (!is_sum(v) || r->part[v->id] != 0 || (v != last && (v->uses.count != 1 || graph_gives(r->graph, v))))
            return NULL;
    struct value **const terms = arena_array(r->arena, struct value *, r->parts);
    terms[0] = v;
    v = last;
    for (size_t k = r->parts; k-- > 1; v = v->producer->inputs.data[0])
        terms[k] = v->producer->inputs.data[1];
    return terms;
}

static void find_sums(struct roll *r)
{
    for (struct node *n = r->graph->last; n != NULL; n = n->prev) {
        struct value *const v = node_output(n, 0);
        if (v == NULL || r->is_sum[v->id] || r->part[v->id] != 0)
            continue;
        struct value **const terms = terms_of(r, v);
        if (terms == NULL || is_same_in_all(r, terms) || !match(r, terms))
            continue;
        struct value *sum = v;
        for (size_t k = 1; k < r->parts; k++, sum = sum->producer->inputs.data[0]) {
            r->is_sum[sum->id] = true;
            if (k + 1 == r->parts)
                vec_push(r->arena, &r->sums, ((struct roll_sum){.last = v, .first = sum, .term = terms[0]}));
        }
    }
}

/* ---- what follows in each part ----------------------------------------------------------------------------------- */

static const struct value *result_of(const struct node *n)
{
    vec_each(const struct value *, v, &n->outputs)
        if (v != NULL)
            return v;
    UNREACHABLE("%s '%s' has no result", n->def->name, n->name);
}

static bool is_outside(const struct roll *r, const struct node *n)
{
    const struct value *const v = result_of(n);
    return r->part[v->id] == 0 && !r->is_sum[v->id];
}

/* Of the uses of v, as that input, by nodes like n outside of the parts, number `at`; NULL: there are fewer. */
static struct node *reader_like(const struct roll *r, const struct value *v, const struct use *like, size_t at)
{
    vec_each_ptr(const struct use, u, &v->uses)
        if (u->input == like->input && node_same_kind(u->node, like->node) && is_outside(r, u->node) && at-- == 0)
            return u->node;
    return NULL;
}

/* What reads a value of the last part may be there for every part: running statistics, which one hands to the next. */
static void follow(struct roll *r, struct value *const *of, const struct use *use)
{
    struct value **const results = arena_array(r->arena, struct value *, r->parts);
    size_t at = 0;
    while (reader_like(r, of[r->parts - 1], use, at) != use->node)
        at++;
    for (size_t k = 0; k < r->parts; k++) {
        const struct node *const n = reader_like(r, of[k], use, at);
        if (n == NULL)
            return;
        results[k] = n->outputs.data[result_of(n)->output];
    }
    match(r, results);
}

static void find_followers(struct roll *r)
{
    for (size_t i = 0; i < r->noted.count; i++) {
        struct value *const *const of = r->of[r->noted.data[i]->id];
        const struct value *const last = of[r->parts - 1];
        for (size_t u = 0; u < last->uses.count; u++)
            if (is_outside(r, last->uses.data[u].node))
                follow(r, of, &last->uses.data[u]);
    }
}

/* ---- may it be done? --------------------------------------------------------------------------------------------- */

static bool is_handed(const struct roll *r, const struct value *first)
{
    vec_each_ptr(const struct roll_handed, h, &r->handed)
        if (h->of[0] == first)
            return true;
    return false;
}

/* What is handed on, by the next part as well; of the last part, by all. */
static bool is_read_in_its_part(const struct roll *r, const struct value *v, bool is_handed_on)
{
    const int part = r->part[v->id];
    if (is_handed_on && part == (int)r->parts)
        return true;
    vec_each_ptr(const struct use, u, &v->uses) {
        const struct value *const by = result_of(u->node);
        if (!r->is_sum[by->id] && r->part[by->id] != part && !(is_handed_on && r->part[by->id] == part + 1))
            return false;
    }
    return !graph_gives(r->graph, v);
}

static bool can_check(const struct roll *r, const struct node *n)
{
    for (size_t i = 0; n->def->selects_from != NULL && i < n->inputs.count; i++)
        if (n->inputs.data[i] != NULL && n->def->selects_from(n, (int)i) > 0 && !is_given(r, n->inputs.data[i]))
            return false;
    return true;
}

static bool may_roll(const struct roll *r)
{
    size_t nodes = 0;
    bool any = false;
    vec_each_ptr(const struct roll_handed, h, &r->handed)
        if (r->is_same[h->start->id])
            return false;
    vec_each(const struct value *, first, &r->noted) {
        for (size_t k = 0; k < r->parts; k++)
            if (!is_read_in_its_part(r, r->of[first->id][k], is_handed(r, first)))
                return false;
        if (!roll_is_slice(r, first) && !can_check(r, first->producer))
            return false;
        if (roll_is_slice(r, first) && first->shape.rank == SHAPE_MAX_RANK) /* parts would be one dimension more */
            return false;
        any |= roll_is_slice(r, first);
        nodes += !roll_is_slice(r, first);
    }
    return any && nodes >= LEAST_NODES;
}

/* ---- the region -------------------------------------------------------------------------------------------------- */

/* Pieces of one Split are slices of what it splits. */
static void add_slices(struct roll *r, struct builder *b)
{
    vec_each(struct value *, v, &r->noted) {
        if (!roll_is_slice(r, v))
            continue;
        into_region_slice(&r->into, b, v, v->producer->inputs.data[0], &v->shape, roll_axis(v));
    }
}

/* Of the nodes up to the one that was the last before any was made here, those of the first part. */
static void add_body(struct roll *r, const struct node *last)
{
    for (const struct node *n = r->graph->first; n != last->next; n = n->next) {
        const struct value *const v = result_of(n);
        if (r->part[v->id] == 1 && !roll_is_slice(r, v))
            into_region_node(&r->into, n, NULL);
    }
}

static void add_sums(struct roll *r)
{
    struct builder b = {.graph = region_graph(r->into.region), .prefix = ""};
    vec_each_ptr(const struct roll_sum, s, &r->sums) {
        struct value *const terms[] = {s->state, into_region_value(&r->into, s->term)};
        b.loc = s->last->producer->loc;
        struct value *const sum = build_value(&b, "Add", NULL, terms, 2);
        graph_rename(b.graph, sum, graph_fresh_name(b.graph, s->first->name));
        region_carry(r->into.region, (int)s_at, sum);
    }
    vec_each_ptr(const struct roll_handed, h, &r->handed)
        region_carry(r->into.region, (int)(r->sums.count + h_at), r->into.now[h->of[0]->id]);
    vec_each_ptr(const struct roll_whole, w, &r->wholes)
        region_stack(r->into.region, w->whole->name, r->into.now[w->of_part->id]);
}

static bool build_parts(struct roll *r)
{
    struct graph *const g = r->graph;
    const struct node *const last = g->last;
    struct builder b = {.graph = g, .prefix = "parts.", .loc = r->sums.data[0].last->producer->loc};
    VEC(struct value *) inputs = {0};
    VEC(const char *) names = {0};
    r->into.region = region_new(g, size_constant((int64_t)r->parts), false);
    r->into.region->of_parts = true;
    vec_each_ptr(struct roll_sum, s, &r->sums) {
        const enum dtype dtype = s->last->dtype;
        s->state = region_state(r->into.region, s->first->name, dtype, &s->last->shape);
        vec_push(r->arena, &inputs, dtype_is_float(dtype) ? build_full_like(&b, s->last, -0.0) : NULL);
        vec_push(r->arena, &names, graph_fresh_name(g, s->first->name));
    }
    vec_each_ptr(const struct roll_handed, h, &r->handed) {
        struct value *const start = h->start;
        r->into.now[start->id] = region_state(r->into.region, h->of[0]->name, start->dtype, &start->shape);
        vec_push(r->arena, &inputs, start);
        vec_push(r->arena, &names, graph_fresh_name(g, h->of[0]->name));
    }
    add_slices(r, &b);
    add_body(r, last);
    add_sums(r);
    vec_each(struct value *, v, &r->into.inputs)
        vec_push(r->arena, &inputs, v);
    vec_each_ptr(const struct roll_whole, w, &r->wholes)
        vec_push(r->arena, &names, graph_fresh_name(g, arena_printf(g->arena, "%s.parts", w->whole->name)));
    struct node *const n = build_region(&b, r->into.region, inputs.data, inputs.count, names.data, names.count);
    vec_each_ptr(const struct roll_sum, s, &r->sums)
        into_region_take_place(g, s->last, s->first, n->outputs.data[s_at]);
    const size_t states = r->sums.count + r->handed.count;
    vec_each_ptr(const struct roll_handed, h, &r->handed)
        into_region_take_place(g, h->of[r->parts - 1], h->of[r->parts - 1], n->outputs.data[r->sums.count + h_at]);
    vec_each_ptr(const struct roll_whole, w, &r->wholes) {
        struct value *const parts = n->outputs.data[states + w_at];
        into_region_take_place(g, w->whole, w->whole, into_region_whole(&b, parts, w->axis, &w->whole->shape));
    }
    into_region_move_readers(g, n);
    return !b.failed;
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

int roll_axis(const struct value *slice)
{
    const int64_t axis = op_attr_int(slice->producer, "axis");
    return (int)(axis < 0 ? axis + slice->shape.rank : axis);
}

static bool roll_parts(struct graph *g, size_t parts, bool *done)
{
    struct arena scratch = {0};
    const size_t count = (size_t)g->value_count;
    struct roll r = {.graph = g, .arena = &scratch, .parts = parts};
    r.of = arena_array(&scratch, struct value **, count);
    r.into = into_region(g, &scratch);
    r.part = arena_array(&scratch, int, count);
    r.is_sum = arena_array(&scratch, bool, count);
    r.is_same = arena_array(&scratch, bool, count);
    find_sums(&r);
    find_followers(&r);
    bool ok = true;
    *done = r.sums.count > 0 && may_roll(&r);
    if (*done) {
        roll_find_wholes(&r);
        ok = build_parts(&r) && rewrite_dce(g);
    }
    arena_free(&scratch);
    return ok;
}

bool rewrite_roll(struct graph *g)
{
    size_t tried = 0;
    if (g->program->range != NULL)
        return true;
    for (struct node *n = g->first; n != NULL; n = n->next) {
        bool done = false;
        if (!node_is(n, "Split") || n->outputs.count < 2 || n->outputs.count > MOST_PARTS || n->outputs.count == tried)
            continue;
        tried = n->outputs.count;
        if (!roll_parts(g, tried, &done))
            return false;
        if (done)
            return true;
    }
    return true;
}
