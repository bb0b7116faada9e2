/* One program for a range of counts: the same is made for the highest count and for two counts beside it, and what
 * differs between the three is known late (fuse/late.c). */
#include "engine/pipeline_internal.h"

#include "fuse/fuse.h"
#include "graph/op_def.h"
#include "lower/state_layout.h"
#include <inttypes.h>

/* ---- programs for other counts ----------------------------------------------------------------------------------- */

struct pipeline_options pipeline_at(struct arena *a, const struct pipeline_options *o, int64_t count)
{
    struct pipeline_options at = *o;
    struct map *const dims = arena_new(a, struct map);
    dims->arena = a;
    for (size_t i = 0; o->import.dims && i < o->import.dims->count; i++)
        map_set(dims, o->import.dims->entries[i].key, o->import.dims->entries[i].value);
    map_set(dims, o->import.range->name, arena_copy(a, &count, sizeof count, alignof(int64_t)));
    at.import.dims = dims;
    at.import.range = NULL;
    at.passes.dump_after = NULL;
    return at;
}

/* The program for one count. Its messages repeat those of the program itself, unless it fails. */
static bool program_at(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                       int64_t count, struct program **out)
{
    const struct pipeline_options at = pipeline_at(a, o, count);
    struct diag *const quiet = arena_new(a, struct diag);
    quiet->arena = a;
    if (pipeline_one_program(quiet, a, m, &at, out))
        return true;
    const char *const why = quiet->messages.count > 0 ? quiet->messages.data[0].text : "no reason given";
    return diag_error(d, &LOC_FILE(m->file), "'%s' cannot have a range: with %" PRId64 ", %s", o->import.range->name,
                      count, why);
}

/* Notes which sizes of a value are late, by the same value of two other programs; false: it cannot be so. */
static bool find_late(const struct program *p, struct value *const v[3])
{
    struct late_size late[SHAPE_MAX_RANK];
    bool ok = v[1]->shape.rank == v[0]->shape.rank && v[2]->shape.rank == v[0]->shape.rank, is_late = false;
    for (int k = 0; ok && k < v[0]->shape.rank; k++) {
        const int64_t size[] = {v[0]->shape.dim[k], v[1]->shape.dim[k], v[2]->shape.dim[k]};
        ok = late_size_of(size, p->range->high, 1, p->range->low, &late[k]);
        is_late |= late[k].per != 0;
    }
    if (ok && is_late)
        v[0]->late = arena_copy(p->arena, late, sizeof late, alignof(struct late_size));
    return ok;
}

/* Those of results, which comments name. */
static void late_results(const struct program *p, size_t entry)
{
    graph_each_node(p->entries.data[entry].graph, n)
        for (size_t o = 0; o < n->outputs.count; o++) {
            struct value *v[3] = {n->outputs.data[o]};
            for (int i = 0; v[0] && i < 2; i++)
                v[i + 1] = graph_find(p->others[i]->entries.data[entry].graph, v[0]->name);
            if (v[0] && v[1] && v[2])
                (void)find_late(p, v);
        }
}

/* Inputs, then outputs. */
static struct value *argument(const struct program *p, size_t entry, size_t i)
{
    const struct graph *const g = p->entries.data[entry].graph;
    return i < g->inputs.count ? g->inputs.data[i] : g->outputs.data[i - g->inputs.count].value;
}

static bool late_arguments(struct program *p, size_t entry)
{
    struct entry *const e = &p->entries.data[entry];
    const size_t inputs = e->graph->inputs.count;
    bool ok = true;
    for (size_t i = 0; i < inputs + e->graph->outputs.count; i++) {
        struct value *const v[] = {argument(p, entry, i), argument(p->others[0], entry, i),
                                   argument(p->others[1], entry, i)};
        if (!find_late(p, v))
            ok = diag_error(p->diag, &LOC_FILE(p->model->file),
                            "'%s' cannot have a range: the shape of %s '%s' is no multiple of it", p->range->name,
                            i < inputs ? "input" : "output", v[0]->name);
        e->takes_count |= v[0]->late != NULL;
    }
    return ok;
}

bool range_add_probes(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                       struct program *p)
{
    static const int64_t beside[] = {1, 2, -1, -2};
    p->range = o->import.range;
    for (int i = 0; i < (p->range->high > 3 ? 4 : 2); i++)
        if (!program_at(d, a, m, o, p->range->high + beside[i], &p->others[i]))
            return false;
    bool ok = true, found = false;
    for (size_t i = 0; i < p->entries.count; i++) {
        ok = late_arguments(p, i) && ok;
        found |= p->entries.data[i].takes_count;
    }
    if (ok && !found && o->entries == NULL)
        ok = diag_error(d, &LOC_FILE(m->file), "'%s' cannot have a range: no input or output depends on it",
                        p->range->name);
    return ok;
}

/* ---- the canonical graphs ---------------------------------------------------------------------------------------- */

/* The next node that computes something: elements that are moved, and one that is chosen of one, keep their bits. */
static const struct node *computing(const struct node *n)
{
    while (n && (n->def->is_view || (n->def->keeps_single &&
                                     !(n->def->is_sum && dtype_is_float(n->outputs.data[0]->dtype)))))
        n = n->next;
    return n;
}

static bool is_factor(const struct value *v)
{
    return v && v->kind == VALUE_CONSTANT && shape_count(&v->shape) == 1;
}

/* By a constant: where the graph for one sample has no such node, the constant is 1 there. */
static bool is_scaling(const struct node *n)
{
    return (node_is(n, "Mul") && (is_factor(n->inputs.data[0]) || is_factor(n->inputs.data[1]))) ||
           (node_is(n, "Div") && is_factor(n->inputs.data[1]));
}

/* The same operators in the same order? */
static bool same_nodes(struct diag *d, const struct size_range *r, const struct graph *high, const struct graph *low)
{
    const struct node *x = computing(high->first), *y = computing(low->first);
    while (x) {
        const bool same = y && x->def == y->def && x->inputs.count == y->inputs.count;
        if (!same && !is_scaling(x))
            break;
        x = computing(x->next);
        y = same ? computing(y->next) : y;
    }
    return (!x && !y) ||
           diag_error(d, x ? &x->loc : &y->loc,
                      "'%s' cannot be from %" PRId64 " to %" PRId64 " here: for %" PRId64 " the graph is simplified in "
                      "another way, and results could differ in their bits; a range from %" PRId64 " may do",
                      r->name, r->low, r->high, r->low, r->low + 1);
}

/* A graph for one sample may be another one. Its bits are those that the program has to give for it. */
static bool check_lowest(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                         const struct program *p)
{
    struct program *low;
    bool ok = program_at(d, a, m, o, p->range->low, &low) && pipeline_simplify(low, &(struct pass_options){0});
    for (size_t i = 0; ok && i < p->entries.count; i++)
        ok = same_nodes(d, p->range, p->entries.data[i].graph, low->entries.data[i].graph);
    return ok;
}

bool range_simplify(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                    struct program *p)
{
    for (int i = 0; i < 4; i++)
        if (p->others[i] && !pipeline_simplify(p->others[i], &(struct pass_options){0}))
            return false;
    for (size_t i = 0; i < p->entries.count; i++) {
        late_results(p, i);
        if (!late_arguments(p, i)) /* outputs may be other values now */
            return false;
    }
    return check_lowest(d, a, m, o, p);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* What is made for several counts at once can be neither cut nor handed over. */
bool range_check_options(struct diag *d, const struct program *p, const struct pipeline_options *o)
{
    const char *const other = o->threads > 1 ? "--threads" : o->blas ? "--blas" : NULL;
    return !other || diag_error(d, NULL, "%s and a range of '%s' exclude each other: give --dim %s=N", other,
                                p->range->name, p->range->name);
}

void range_choose_layouts(const struct program *p)
{
    for (int i = 0; i < 4; i++)
        if (p->others[i])
            choose_state_layout(p->others[i]);
}

/* The kernels of an entry, in which is noted what depends on the count of the program's range, as two other counts
 * show it: the next two, or by a `step` of -1 the two before it. What is in its way goes to `refusals`. */
static bool make_late_kernels(struct diag *d, struct diag *refusals, struct arena *a, const struct program *p,
                              size_t entry, const struct pipeline_options *o, int64_t step, struct lowered **out)
{
    struct program *const *const others = p->others + (step > 0 ? 0 : 2);
    struct lowered *probe[3];
    struct pipeline_options silent = *o;
    struct entry *const e = &p->entries.data[entry];
    silent.passes.dump_after = NULL;
    if (!pipeline_kernels(d, a, e, o, true, &probe[0]) ||
        !pipeline_kernels(d, a, &others[0]->entries.data[entry], &silent, true, &probe[1]) ||
        !pipeline_kernels(d, a, &others[1]->entries.data[entry], &silent, true, &probe[2]))
        return false;
    *out = probe[0];
    if (!late_kernels(refusals, probe, p->range, step))
        return false;
    for (size_t k = 0; k < (*out)->kernels.count; k++)
        e->takes_count |= !(*out)->kernels.data[k]->removed && kernel_is_late((*out)->kernels.data[k]);
    return true;
}

/* What is fused, and which forms are taken, changes at some sizes. Where that is right behind the highest count, those
 * before it are looked at. */
bool range_kernels(struct diag *d, struct arena *a, const struct program *p, size_t entry,
                   const struct pipeline_options *o, struct lowered **out)
{
    struct diag refusals = {.arena = a};
    struct pipeline_options silent = *o;
    silent.passes.dump_after = NULL;
    if (make_late_kernels(d, &refusals, a, p, entry, o, 1, out))
        return true;
    if (d->errors > 0)
        return false;
    return (p->others[2] && make_late_kernels(d, &refusals, a, p, entry, &silent, -1, out)) ||
           make_late_kernels(d, d, a, p, entry, &silent, 1, out);
}
