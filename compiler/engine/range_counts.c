/* Is the program with a range, for each count, the program for that count alone? Its shapes say what they are for all
 * counts (tensor/size.h). Three canonical programs, for the highest count and two beside it, say what every other
 * number of the graph is: the same, base + per * n, or for factors k * n or k / n. That is held against the program for
 * one count:
 *
 * - number by number, where both graphs have the same nodes;
 * - else what they say for the count becomes a graph of its own, which is simplified and then compared. For one sample
 *   factors are 1, transpositions reshapes and expansions nothing. Simplification keeps every bit, so equal graphs are
 *   equal programs.
 *
 *   y[n,4] = Mul(x[n,4], {1 / n})    for 1: y[1,4] = Mul(x[1,4], {1})    simplified: y = x */
#include "engine/range_internal.h"

#include "fuse/fuse.h"
#include "graph/op_def.h"
#include "graph/region.h"
#include "rewrite/pass.h"
#include <inttypes.h>
#include <string.h>

enum { PROBES = RANGE_PROBES };

/* What of each probe. */
#define OF_ALL(x, what) {(x)[0] what, (x)[1] what, (x)[2] what}

struct holding {
    struct diag *diag;
    struct arena *scratch;
    const struct range_probes *probes;
    const struct graph *graph[PROBES];
    const struct node **node[PROBES]; /* in order: those of all probes are alike */
    int64_t count;                    /* at hand */
};

static bool fail(const struct holding *h, const struct node *n, const char *why)
{
    const struct size_range *const r = h->probes->range;
    return diag_error(h->diag, n ? &n->loc : &h->graph[0]->loc,
                      "'%s' cannot be from %" PRId64 " to %" PRId64 " here: %s", r->name, r->low, r->high, why);
}

static int64_t count_of(const struct holding *h, int probe)
{
    return h->probes->range->high + probe * h->probes->step;
}

/* `what` 'name' is 16, 17, 19 for 8, 9, 10 */
static bool fail_number(const struct holding *h, const struct node *n, const char *what, const char *x, const char *y,
                        const char *at)
{
    return fail(h, n, arena_printf(h->scratch, "%s is %s, %s, %s for %" PRId64 ", %" PRId64 ", %" PRId64, what, x, y,
                                   at, count_of(h, 0), count_of(h, 1), h->count));
}

static bool fail_graph(const struct holding *h, const struct node *n)
{
    return fail(h, n, arena_printf(h->scratch, "for %" PRId64 " the graph is simplified in another way, and results "
                                               "could differ in their bits; another range may do", h->count));
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* What the probes' numbers are for the count at hand; false: they are no base + per * n. */
static bool number_at(const struct holding *h, const int64_t x[PROBES], int64_t *out)
{
    const int64_t most = (int64_t)1 << 40;
    *out = x[0];
    if (x[1] == x[0] && x[2] == x[0])
        return true;
    for (int i = 0; i < PROBES; i++)
        if (x[i] > most || x[i] < -most)
            return false;
    *out = x[0] + (x[1] - x[0]) * h->probes->step * (h->count - h->probes->range->high);
    return x[2] - x[1] == x[1] - x[0];
}

static bool shape_at(const struct holding *h, const struct shape *s, struct shape *out)
{
    *out = *s;
    for (int d = 0; d < s->rank; d++) {
        const struct size x = shape_size(s, d);
        if (x.per == NOT_AFFINE)
            return false;
        shape_set(out, d, size_constant(x.most + x.per * (h->count - h->probes->range->high)));
        if (out->dim[d] < 0)
            return false;
    }
    return true;
}

/* Has the value the shape that its sizes say? `beside` is that of another probe, for the message. */
static bool check_shape(const struct holding *h, const struct node *n, const struct value *v,
                        const struct value *beside, const struct shape *is)
{
    struct shape said;
    if (shape_at(h, &v->shape, &said) && shape_equal(&said, is))
        return true;
    for (int d = 0; d < is->rank && is->rank == v->shape.rank && is->rank == beside->shape.rank; d++)
        if (v->shape.per[d] == NOT_AFFINE || said.dim[d] != is->dim[d])
            return fail_number(h, n, arena_printf(h->scratch, "a size of '%s' (dimension %d)", v->name, d),
                               arena_printf(h->scratch, "%" PRId64, v->shape.dim[d]),
                               arena_printf(h->scratch, "%" PRId64, beside->shape.dim[d]),
                               arena_printf(h->scratch, "%" PRId64, is->dim[d]));
    return fail(h, n, arena_printf(h->scratch, "'%s' has another number of dimensions for %" PRId64, v->name,
                                   h->count));
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static struct tensor *filled(const struct holding *h, const struct tensor *like, const struct shape *shape)
{
    struct tensor *const t = tensor_new(h->scratch, like->dtype, shape);
    for (int64_t i = 0; i < t->count; i++)
        memcpy((char *)t->data + (size_t)i * dtype_size(t->dtype), like->data, dtype_size(t->dtype));
    return t;
}

/* Integers of one shape, each by itself. */
static const struct tensor *integers_at(const struct holding *h, const struct tensor *const t[PROBES])
{
    struct tensor *const made = tensor_new(h->scratch, t[0]->dtype, &t[0]->shape);
    for (int64_t i = 0; i < made->count; i++) {
        const int64_t x[PROBES] = {tensor_get_int(t[0], i), tensor_get_int(t[1], i), tensor_get_int(t[2], i)};
        int64_t said;
        if (!number_at(h, x, &said))
            return NULL;
        tensor_set_int(made, i, said);
    }
    return made;
}

/* One number, or copies of one. */
static const struct tensor *factor_at(const struct holding *h, const struct tensor *const t[PROBES],
                                      const struct shape *shape)
{
    const enum dtype d = t[0]->dtype;
    const double x[PROBES] = {tensor_get_double(t[0], 0), tensor_get_double(t[1], 0), tensor_get_double(t[2], 0)};
    struct late_factor f;
    if (memcmp(t[0]->data, t[1]->data, dtype_size(d)) == 0 && memcmp(t[0]->data, t[2]->data, dtype_size(d)) == 0)
        return filled(h, t[0], shape);
    if (!late_factor_of(d, x, h->probes->range, h->probes->step, &f))
        return NULL;
    return filled(h, tensor_scalar_double(h->scratch, d, late_factor_at(&f, d, h->count)), shape);
}

/* One of fewer elements is the beginning of one of more. */
static const struct tensor *beginning_at(const struct holding *h, const struct tensor *const t[PROBES],
                                         const struct shape *shape)
{
    const struct tensor *longest = t[0];
    for (int i = 1; i < PROBES; i++)
        longest = t[i]->count > longest->count ? t[i] : longest;
    for (int i = 0; i < PROBES; i++)
        if (t[i]->data != longest->data && memcmp(t[i]->data, longest->data, tensor_bytes(t[i])) != 0)
            return NULL;
    if (shape_count(shape) > longest->count)
        return NULL;
    struct tensor *const made = arena_copy(h->scratch, longest, sizeof *longest, alignof(struct tensor));
    made->shape = *shape;
    made->count = shape_count(shape);
    return made;
}

/* What the probes' constants are for the count at hand; NULL: nobody knows. */
static const struct tensor *constant_at(const struct holding *h, const struct tensor *const t[PROBES])
{
    struct shape shape;
    const bool one_shape = shape_equal(&t[0]->shape, &t[1]->shape) && shape_equal(&t[0]->shape, &t[2]->shape);
    if (one_shape && tensor_identical(t[0], t[1]) && tensor_identical(t[0], t[2]))
        return t[0];
    if (t[1]->dtype != t[0]->dtype || t[2]->dtype != t[0]->dtype || t[0]->dtype == DTYPE_STRING ||
        !shape_at(h, &t[0]->shape, &shape))
        return NULL;
    if (one_shape && dtype_is_int(t[0]->dtype))
        return integers_at(h, t);
    bool uniform = true;
    for (int i = 0; i < PROBES; i++)
        uniform = uniform && t[i]->count > 0 && tensor_is_uniform(t[i]);
    return uniform ? factor_at(h, t, &shape) : beginning_at(h, t, &shape);
}

static const char *element_text(const struct holding *h, const struct tensor *t, int64_t i)
{
    return dtype_is_float(t->dtype) ? arena_printf(h->scratch, "%.9g", tensor_get_double(t, i))
                                    : arena_printf(h->scratch, "%" PRId64, tensor_get_int(t, i));
}

static bool fail_constant(const struct holding *h, const struct node *n, const struct value *const v[PROBES],
                          const struct tensor *said, const struct tensor *is)
{
    const struct tensor *const t[PROBES] = OF_ALL(v, ->constant);
    const bool one_shape = said && is->dtype != DTYPE_STRING && shape_equal(&said->shape, &is->shape) &&
                           t[0]->count == is->count && t[1]->count == is->count;
    for (int64_t i = 0; one_shape && i < is->count; i++) {
        const size_t size = dtype_size(is->dtype);
        if (memcmp((char *)said->data + (size_t)i * size, (char *)is->data + (size_t)i * size, size) != 0)
            return fail_number(h, n, arena_printf(h->scratch, "a number of '%s' (element %" PRId64 ")",
                                                  v[0]->name, i),
                               element_text(h, t[0], i), element_text(h, t[1], i), element_text(h, is, i));
    }
    return fail(h, n, arena_printf(h->scratch, "the elements of the constant '%s' depend on it (they differ for %"
                                               PRId64 " and %" PRId64 ")", v[0]->name, count_of(h, 0), h->count));
}

/* ---- graphs side by side ----------------------------------------------------------------------------------------- */

/* Nodes of `from` and those of `to`. */
struct pairing {
    struct arena *arena;
    const struct graph *from, *to;
    bool exact;               /* numbers are compared, and the order of nodes is free */
    const struct value **now; /* by id in `from` */
    const struct node **node; /* by position in `from`: that of `to` */
    const struct node *stuck; /* of `from`: it has no counterpart */
};

static bool pairs_value(const struct pairing *p, const struct value *v, const struct value *w)
{
    if (!v || !w || v->kind != w->kind)
        return v == w;
    if (v->kind == VALUE_CONSTANT)
        return p->exact ? tensor_identical(v->constant, w->constant) : v->dtype == w->dtype;
    return v->kind == VALUE_VARIABLE ? v->variable->index == w->variable->index : p->now[v->id] == w;
}

/* Integers are numbers like others. */
static bool pairs_attr(const struct pairing *p, const struct attr *x, const struct attr *y)
{
    const bool numbers = !p->exact && (x->type == ATTR_INT || x->type == ATTR_INTS);
    return numbers ? x->type == y->type && x->count == y->count && strcmp(x->name, y->name) == 0 : attr_equal(x, y);
}

static bool pairs_node(const struct pairing *p, const struct node *n, const struct node *m)
{
    bool same = n->def == m->def && n->inputs.count == m->inputs.count && n->outputs.count == m->outputs.count &&
                n->attrs.count == m->attrs.count && !n->region == !m->region && n->stream == m->stream &&
                n->counter == m->counter;
    for (size_t i = 0; same && i < n->attrs.count; i++)
        same = pairs_attr(p, &n->attrs.data[i], &m->attrs.data[i]);
    for (size_t i = 0; same && i < n->outputs.count; i++)
        same = !n->outputs.data[i] == !m->outputs.data[i];
    for (size_t i = 0; same && i < n->inputs.count; i++)
        same = pairs_value(p, n->inputs.data[i], m->inputs.data[i]);
    return same;
}

/* The value of `to` that stands for v; NULL: it is a constant, or omitted. */
static const struct value *counterpart(const struct pairing *p, const struct value *v)
{
    if (!v || v->kind == VALUE_CONSTANT)
        return NULL;
    if (v->kind != VALUE_VARIABLE)
        return p->now[v->id];
    vec_each(const struct value *, w, &p->to->sources)
        if (pairs_value(p, v, w))
            return w;
    return NULL;
}

/* A node that reads what n reads. */
static const struct node *find_node(const struct pairing *p, const struct node *n)
{
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *const v = counterpart(p, n->inputs.data[i]);
        if (!v)
            continue;
        vec_each_ptr(const struct use, u, &v->uses)
            if (pairs_node(p, n, u->node))
                return u->node;
        return NULL;
    }
    for (const struct node *m = p->to->first; m; m = m->next)
        if (pairs_node(p, n, m))
            return m;
    return NULL;
}

static bool pairs_ends(const struct pairing *p)
{
    bool same = p->from->outputs.count == p->to->outputs.count && p->from->bindings.count == p->to->bindings.count;
    for (size_t i = 0; same && i < p->from->outputs.count; i++)
        same = pairs_value(p, p->from->outputs.data[i].value, p->to->outputs.data[i].value);
    for (size_t i = 0; same && i < p->from->bindings.count; i++)
        same = p->from->bindings.data[i].variable->index == p->to->bindings.data[i].variable->index &&
               pairs_value(p, p->from->bindings.data[i].value, p->to->bindings.data[i].value);
    return same;
}

/* Finds a node of `to` for each of `from`. */
static bool pair_graphs(struct pairing *p)
{
    const struct node *next = p->to->first;
    size_t at = 0;
    p->now = arena_array(p->arena, const struct value *, (size_t)p->from->value_count + 1);
    p->node = arena_array(p->arena, const struct node *, p->from->node_count + 1);
    if (p->from->inputs.count != p->to->inputs.count)
        return false;
    for (size_t i = 0; i < p->from->inputs.count; i++)
        p->now[p->from->inputs.data[i]->id] = p->to->inputs.data[i];
    for (const struct node *n = p->from->first; n; n = n->next) {
        const struct node *const m = p->exact ? find_node(p, n) : next && pairs_node(p, n, next) ? next : NULL;
        p->stuck = n;
        if (!m)
            return false;
        next = m->next;
        p->node[at++] = m;
        for (size_t o = 0; o < n->outputs.count; o++)
            if (n->outputs.data[o])
                p->now[n->outputs.data[o]->id] = m->outputs.data[o];
    }
    p->stuck = NULL;
    return pairs_ends(p) && (p->exact || !next);
}

/* ---- the same nodes: number by number ---------------------------------------------------------------------------- */

static bool check_constant(const struct holding *h, const struct node *n, const struct value *const v[PROBES],
                           const struct tensor *is)
{
    const struct tensor *const t[PROBES] = OF_ALL(v, ->constant);
    const struct tensor *const said = constant_at(h, t);
    return (said && tensor_identical(said, is)) || fail_constant(h, n, v, said, is);
}

/* The attribute for the count at hand. */
static bool attr_at(const struct holding *h, const struct node *n, const struct attr *const x[PROBES], struct attr *out)
{
    *out = *x[0];
    if (x[0]->type != ATTR_INT && x[0]->type != ATTR_INTS)
        return true;
    int64_t *const ints = arena_array(h->scratch, int64_t, x[0]->count + 1);
    bool ok = true;
    for (size_t i = 0; x[0]->type == ATTR_INTS && i < x[0]->count; i++)
        ok = ok && number_at(h, (const int64_t[])OF_ALL(x, ->ints[i]), &ints[i]);
    out->ints = x[0]->ints ? ints : NULL;
    out->per = NULL;
    ok = ok && number_at(h, (const int64_t[])OF_ALL(x, ->i), &out->i);
    return ok || fail(h, n, arena_printf(h->scratch, "attribute '%s' depends on it", x[0]->name));
}

static bool check_attrs(const struct holding *h, const struct node *const n[PROBES], const struct node *is)
{
    for (size_t i = 0; i < n[0]->attrs.count; i++) {
        const struct attr *const x[PROBES] = {&n[0]->attrs.data[i], &n[1]->attrs.data[i], &n[2]->attrs.data[i]};
        struct attr said;
        if (!attr_at(h, n[0], x, &said))
            return false;
        if (!attr_equal(&said, &is->attrs.data[i]))
            return fail(h, n[0], arena_printf(h->scratch, "attribute '%s' is another one for %" PRId64 " than for %"
                                                          PRId64, said.name, h->count, count_of(h, 0)));
    }
    return true;
}

static bool check_node(const struct holding *h, size_t i, const struct node *is)
{
    const struct node *const n[PROBES] = OF_ALL(h->node, [i]);
    for (size_t o = 0; o < n[0]->outputs.count; o++) {
        const struct value *const v = n[0]->outputs.data[o];
        if (v && !check_shape(h, n[0], v, n[1]->outputs.data[o], &is->outputs.data[o]->shape))
            return false;
    }
    for (size_t k = 0; k < n[0]->inputs.count; k++) {
        const struct value *const v[PROBES] = OF_ALL(n, ->inputs.data[k]);
        if (v[0] && v[0]->kind == VALUE_CONSTANT && !check_constant(h, n[0], v, is->inputs.data[k]->constant))
            return false;
    }
    return check_attrs(h, n, is);
}

/* What an entry ends with. */
static bool check_end(const struct holding *h, const struct value *const v[PROBES], const struct value *is)
{
    return v[0]->kind != VALUE_CONSTANT || check_constant(h, NULL, v, is->constant);
}

static bool check_ends(const struct holding *h, const struct graph *is)
{
    bool ok = true;
    for (size_t i = 0; ok && i < is->inputs.count; i++)
        ok = check_shape(h, NULL, h->graph[0]->inputs.data[i], h->graph[1]->inputs.data[i], &is->inputs.data[i]->shape);
    for (size_t i = 0; ok && i < is->outputs.count; i++)
        ok = check_end(h, (const struct value *const[])OF_ALL(h->graph, ->outputs.data[i].value),
                       is->outputs.data[i].value);
    for (size_t i = 0; ok && i < is->bindings.count; i++)
        ok = check_end(h, (const struct value *const[])OF_ALL(h->graph, ->bindings.data[i].value),
                       is->bindings.data[i].value);
    return ok;
}

/* ---- other nodes: a graph for the count at hand ------------------------------------------------------------------ */

/* What stands for a value of the probes in the graph that is made; NULL after a report. */
static struct value *value_at(const struct holding *h, const struct node *n, const struct value *const v[PROBES],
                              struct graph *to, struct value **now)
{
    if (v[0]->kind == VALUE_VARIABLE)
        return graph_add_variable(to, v[0]->variable);
    if (v[0]->kind != VALUE_CONSTANT)
        return now[v[0]->id];
    const struct tensor *const t[PROBES] = OF_ALL(v, ->constant), *const said = constant_at(h, t);
    if (said)
        return graph_add_constant(to, v[0]->name, said);
    (void)fail_constant(h, n, v, NULL, t[1]);
    return NULL;
}

static bool copy_node(const struct holding *h, size_t i, struct graph *to, struct value **now)
{
    const struct node *const n[PROBES] = OF_ALL(h->node, [i]);
    struct node *const copy = graph_add_like(to, n[0], &n[0]->loc, NULL);
    for (size_t k = 0; k < n[0]->attrs.count; k++) {
        struct attr said;
        if (!attr_at(h, n[0],
                     (const struct attr *const[]){&n[0]->attrs.data[k], &n[1]->attrs.data[k], &n[2]->attrs.data[k]},
                     &said))
            return false;
        node_set_attr(copy, said);
    }
    for (size_t k = 0; k < n[0]->inputs.count; k++) {
        const struct value *const v[PROBES] = OF_ALL(n, ->inputs.data[k]);
        struct value *const x = v[0] ? value_at(h, n[0], v, to, now) : NULL;
        if (v[0] && !x)
            return false;
        node_add_input(copy, x);
    }
    for (size_t o = 0; o < n[0]->outputs.count; o++) {
        const struct value *const v = n[0]->outputs.data[o];
        struct value *const made = node_add_output(copy, v ? v->name : NULL);
        if (v)
            now[v->id] = made;
    }
    if (!node_infer(copy))
        return fail(h, n[0], arena_printf(h->scratch, "for %" PRId64 ", %s", h->count, diag_first_error(to->diag)));
    for (size_t o = 0; o < n[0]->outputs.count; o++) {
        const struct value *const v = n[0]->outputs.data[o];
        if (v && !check_shape(h, n[0], v, n[1]->outputs.data[o], &copy->outputs.data[o]->shape))
            return false;
    }
    return true;
}

static bool copy_ends(const struct holding *h, struct graph *to, struct value **now)
{
    const struct graph *const g = h->graph[0];
    for (size_t i = 0; i < g->outputs.count; i++) {
        const struct value *const v[PROBES] = OF_ALL(h->graph, ->outputs.data[i].value);
        const struct graph_output out = {g->outputs.data[i].name, value_at(h, NULL, v, to, now)};
        if (!out.value)
            return false;
        vec_push(h->scratch, &to->outputs, out);
    }
    for (size_t i = 0; i < g->bindings.count; i++) {
        const struct value *const v[PROBES] = OF_ALL(h->graph, ->bindings.data[i].value);
        const struct binding b = {g->bindings.data[i].variable, value_at(h, NULL, v, to, now), g->bindings.data[i].loc};
        if (!b.value)
            return false;
        vec_push(h->scratch, &to->bindings, b);
    }
    return true;
}

static bool graph_at(const struct holding *h, struct graph **out)
{
    const struct graph *const g = h->graph[0];
    struct program *const p = arena_new(h->scratch, struct program);
    struct diag *const quiet = arena_new(h->scratch, struct diag);
    struct value **const now = arena_array(h->scratch, struct value *, (size_t)g->value_count + 1);
    quiet->arena = h->scratch;
    *p = (struct program){.name = g->program->name, .arena = h->scratch, .diag = quiet, .model = g->program->model,
                          .fold = g->program->fold};
    struct graph *const to = *out = graph_new(p, g->name);
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct value *const v = g->inputs.data[i];
        struct shape said;
        if (!shape_at(h, &v->shape, &said))
            return check_shape(h, NULL, v, h->graph[1]->inputs.data[i], &h->graph[1]->inputs.data[i]->shape);
        now[v->id] = graph_add_input(to, v->name, v->dtype, &said);
    }
    for (size_t i = 0; i < g->node_count; i++)
        if (!copy_node(h, i, to, now))
            return false;
    return copy_ends(h, to, now) && (canonicalise(to, &(struct pass_options){0}) || fail_graph(h, NULL));
}

/* ---- one entry --------------------------------------------------------------------------------------------------- */

/* Have the probes the same nodes? */
static bool pair_probes(struct holding *h)
{
    for (int i = 1; i < PROBES; i++) {
        struct pairing p = {.arena = h->scratch, .from = h->graph[0], .to = h->graph[i]};
        h->count = count_of(h, i);
        if (!pair_graphs(&p))
            return fail_graph(h, p.stuck);
        h->node[i] = p.node;
    }
    size_t at = 0;
    h->node[0] = arena_array(h->scratch, const struct node *, h->graph[0]->node_count + 1);
    for (const struct node *n = h->graph[0]->first; n; n = n->next)
        h->node[0][at++] = n;
    return true;
}

static bool entry_holds(struct holding *h, const struct graph *is, int64_t count)
{
    struct pairing same = {.arena = h->scratch, .from = h->graph[0], .to = is};
    if (!pair_probes(h))
        return false;
    h->count = count;
    if (pair_graphs(&same)) {
        bool ok = check_ends(h, is);
        for (size_t i = 0; ok && i < h->graph[0]->node_count; i++)
            ok = check_node(h, i, same.node[i]);
        return ok;
    }
    struct graph *said;
    if (!graph_at(h, &said))
        return false;
    struct pairing exact = {.arena = h->scratch, .from = said, .to = is, .exact = true};
    return pair_graphs(&exact) || fail_graph(h, same.stuck);
}

bool range_holds_at(struct diag *d, struct arena *scratch, const struct range_probes *p, const struct program *is,
                    int64_t count)
{
    bool ok = true;
    for (size_t i = 0; ok && i < is->entries.count; i++) {
        struct holding h = {.diag = d, .scratch = scratch, .probes = p,
                            .graph = {p->of[0]->entries.data[i].graph, p->of[1]->entries.data[i].graph,
                                      p->of[2]->entries.data[i].graph}};
        ok = entry_holds(&h, is->entries.data[i].graph, count);
    }
    return ok;
}
