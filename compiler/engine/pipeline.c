#include "engine/pipeline.h"

#include "base/clean.h"
#include "base/file.h"
#include "base/str.h"
#include "emit/names.h"
#include "fuse/blas.h"
#include "fuse/fuse.h"
#include "fuse/late.h"
#include "fuse/plain.h"
#include "fuse/share.h"
#include "graph/op_def.h"
#include "lower/lower.h"
#include "lower/state_layout.h"
#include "report/report.h"
#include "train/adjoint.h"
#include "train/combine.h"
#include <inttypes.h>

static bool dump_wanted(const struct pipeline_options *o, const char *pass)
{
    return o->passes.dump_after && str_equal(o->passes.dump_after, pass);
}

static void dump_graphs(struct arena *a, const struct program *p, const struct pipeline_options *o, const char *pass)
{
    if (dump_wanted(o, pass))
        for (size_t i = 0; i < p->entries.count; i++)
            fprintf(o->passes.dump_to, "# %s after %s\n%s", clean_text(a, p->entries.data[i].name), pass,
                    graph_print(a, p->entries.data[i].graph));
}

static void dump_kernels(struct arena *a, const struct lowered *l, const struct pipeline_options *o, const char *pass)
{
    if (dump_wanted(o, pass))
        fputs(lowered_print(a, l), o->passes.dump_to);
}

/* ---- the graph half ---------------------------------------------------------------------------------------------- */

/* A fetched name that is a value of the entry becomes one more output; variables are read from the state instead. */
static bool add_fetches(struct diag *d, const struct model *m, struct program *p, const struct pipeline_options *o)
{
    bool ok = true;
    struct entry *e = o->fetch_entry ? program_entry(p, o->fetch_entry) : NULL;
    for (size_t i = 0; i < o->fetch_count && e; i++) {
        struct value *v = graph_find(e->graph, o->fetch[i]);
        bool known = program_variable(p, o->fetch[i]) != NULL;
        for (size_t j = 0; j < e->graph->outputs.count && !known; j++)
            known = str_equal(e->graph->outputs.data[j].name, o->fetch[i]);
        if (known)
            continue;
        if (v) {
            const struct graph_output out = {o->fetch[i], v};
            vec_push(e->graph->arena, &e->graph->outputs, out);
        } else {
            ok = diag_error(d, &LOC_FILE(m->file), "entry '%s' has no tensor '%s' to fetch", e->name, o->fetch[i]);
        }
    }
    return ok;
}

static const char *program_name(struct arena *a, const struct model *m, const struct pipeline_options *o)
{
    return name_mangle(a, o->name ? o->name : path_stem(a, m->file));
}

static bool one_program(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                        struct program **out)
{
    struct program *p;
    if (!combine_program(d, a, m, &o->import, program_name(a, m, o), o->entries, &p))
        return false;
    dump_graphs(a, p, o, "combine");
    bool ok = true;
    for (size_t i = 0; i < p->entries.count; i++)
        ok &= adjoint_expand(p->entries.data[i].graph);
    if (!ok || !add_fetches(d, m, p, o))
        return false;
    dump_graphs(a, p, o, "differentiate");
    *out = p;
    return true;
}

static bool simplify(struct program *p, const struct pass_options *passes)
{
    bool ok = true;
    for (size_t i = 0; i < p->entries.count; i++) {
        const struct entry *const e = &p->entries.data[i];
        ok &= canonicalise(e->graph, passes) && (e->kind != ENTRY_INIT || rewrite_zeros(e->graph));
    }
    return ok;
}

/* ---- sizes that are known late ---------------------------------------------------------------------------------- */

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
    if (one_program(quiet, a, m, &at, out))
        return true;
    const char *const why = quiet->messages.count > 0 ? quiet->messages.data[0].text : "no reason given";
    return diag_error(d, &LOC_FILE(m->file), "'%s' cannot have a range: with %" PRId64 ", %s", o->import.range->name,
                      count, why);
}

/* The sizes of an argument of an entry. */
static bool late_shape(struct program *p, struct value *const v[3], const char *what)
{
    struct late_size late[SHAPE_MAX_RANK];
    bool ok = v[1]->shape.rank == v[0]->shape.rank && v[2]->shape.rank == v[0]->shape.rank, is_late = false;
    for (int k = 0; ok && k < v[0]->shape.rank; k++) {
        const int64_t size[] = {v[0]->shape.dim[k], v[1]->shape.dim[k], v[2]->shape.dim[k]};
        ok = late_size_of(size, p->range->high, 1, p->range->low, &late[k]);
        is_late |= late[k].per != 0;
    }
    if (!ok)
        return diag_error(p->diag, &LOC_FILE(p->model->file), "'%s' cannot have a range: the shape of %s '%s' is no "
                                                              "multiple of it", p->range->name, what, v[0]->name);
    if (is_late)
        v[0]->late = arena_copy(p->arena, late, sizeof late, alignof(struct late_size));
    return true;
}

/* Those of results, which comments name. */
static void late_results(struct program *p, size_t entry)
{
    graph_each_node(p->entries.data[entry].graph, n)
        for (size_t o = 0; o < n->outputs.count; o++) {
            struct value *const v = n->outputs.data[o];
            struct late_size late[SHAPE_MAX_RANK];
            bool ok = v != NULL, is_late = false;
            const struct value *x[2] = {NULL, NULL};
            for (int i = 0; ok && i < 2; i++) {
                x[i] = graph_find(p->above[i]->entries.data[entry].graph, v->name);
                ok = x[i] && x[i]->shape.rank == v->shape.rank;
            }
            for (int k = 0; ok && k < v->shape.rank; k++) {
                const int64_t size[] = {v->shape.dim[k], x[0]->shape.dim[k], x[1]->shape.dim[k]};
                ok = late_size_of(size, p->range->high, 1, p->range->low, &late[k]);
                is_late |= late[k].per != 0;
            }
            if (ok && is_late)
                v->late = arena_copy(p->arena, late, sizeof late, alignof(struct late_size));
        }
}

static bool late_arguments(struct program *p, size_t entry)
{
    struct entry *const e = &p->entries.data[entry];
    const struct graph *const g[] = {e->graph, p->above[0]->entries.data[entry].graph,
                                     p->above[1]->entries.data[entry].graph};
    bool ok = true;
    for (size_t i = 0; i < g[0]->inputs.count; i++) {
        struct value *const v[] = {g[0]->inputs.data[i], g[1]->inputs.data[i], g[2]->inputs.data[i]};
        ok = late_shape(p, v, "input") && ok;
        e->takes_count |= v[0]->late != NULL;
    }
    for (size_t i = 0; i < g[0]->outputs.count; i++) {
        struct value *const v[] = {g[0]->outputs.data[i].value, g[1]->outputs.data[i].value,
                                   g[2]->outputs.data[i].value};
        ok = late_shape(p, v, "output") && ok;
        e->takes_count |= v[0]->late != NULL;
    }
    return ok;
}

static bool add_probes(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                       struct program *p)
{
    p->range = o->import.range;
    for (int i = 0; i < 2; i++)
        if (!program_at(d, a, m, o, p->range->high + i + 1, &p->above[i]) ||
            (p->range->high > 3 && !program_at(d, a, m, o, p->range->high - i - 1, &p->below[i])))
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

bool pipeline_program(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                      struct program **out)
{
    return one_program(d, a, m, o, out) && (!o->import.range || add_probes(d, a, m, o, *out));
}

/* The next node that computes something: elements that are moved, and one that is chosen of one, keep their bits. */
static const struct node *computing(const struct node *n)
{
    while (n && (n->def->is_view || str_equal(n->def->name, "ReduceMax") || str_equal(n->def->name, "ReduceMin") ||
                 (str_equal(n->def->name, "ReduceSum") && !dtype_is_float(n->outputs.data[0]->dtype))))
        n = n->next;
    return n;
}

/* A factor that is a constant: where the graph for one sample has none, it is 1 there. */
static bool is_scaling(const struct node *n)
{
    bool scales = false;
    for (size_t i = 0; i < n->inputs.count; i++)
        scales |= n->inputs.data[i] && n->inputs.data[i]->kind == VALUE_CONSTANT &&
                  shape_count(&n->inputs.data[i]->shape) == 1;
    return scales && (str_equal(n->def->name, "Mul") || str_equal(n->def->name, "Div"));
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
    bool ok = program_at(d, a, m, o, p->range->low, &low) && simplify(low, &(struct pass_options){0});
    for (size_t i = 0; ok && i < p->entries.count; i++)
        ok = same_nodes(d, p->range, p->entries.data[i].graph, low->entries.data[i].graph);
    return ok;
}

bool pipeline_canonical(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                        struct program **out)
{
    if (!pipeline_program(d, a, m, o, out) || !simplify(*out, &o->passes))
        return false;
    for (int i = 0; (*out)->range && i < 2; i++)
        if (!simplify((*out)->above[i], &(struct pass_options){0}) ||
            ((*out)->below[i] && !simplify((*out)->below[i], &(struct pass_options){0})))
            return false;
    for (size_t i = 0; (*out)->range && i < (*out)->entries.count; i++) {
        late_results(*out, i);
        if (!late_arguments(*out, i)) /* outputs may be other values now */
            return false;
    }
    if ((*out)->range && !check_lowest(d, a, m, o, *out))
        return false;
    dump_graphs(a, *out, o, "canonical");
    return true;
}

/* ---- the kernel half --------------------------------------------------------------------------------------------- */

/* Kernels into kernels, those of regions as well. */
static void fuse_kernels(struct lowered *l, const struct pipeline_options *o)
{
    fuse_entry(l, o->small);
    if (o->blas)
        blas_kernels(l);
    if (o->small)
        plain_kernels(l);
    for (size_t i = 0; i < l->kernels.count; i++)
        if (l->kernels.data[i]->region)
            fuse_kernels(l->kernels.data[i]->region->body, o);
}

/* Lowered, fused, and in the forms that options ask for. */
static bool make_kernels(struct diag *d, struct arena *a, const struct entry *e, const struct pipeline_options *o,
                         bool late, struct lowered **out)
{
    const struct lower_options how = {.target = o->target, .scalar = o->simd == SIMD_NONE || o->small,
                                      .small = o->small, .late = late, .check_finite = o->check_finite};
    if (!lower_entry(d, a, e, how, out))
        return false;
    dump_kernels(a, *out, o, "lower");
    fuse_kernels(*out, o);
    return true;
}

/* The kernels of an entry, in which is noted what depends on the count of the program's range, as two other counts
 * show it. What is in its way goes to `refusals`. */
static bool make_late_kernels(struct diag *d, struct diag *refusals, struct arena *a, const struct program *p,
                              size_t entry, const struct pipeline_options *o, struct program *const others[2],
                              int64_t step, struct lowered **out)
{
    struct lowered *probe[3];
    struct pipeline_options silent = *o;
    struct entry *const e = &p->entries.data[entry];
    silent.passes.dump_after = NULL;
    if (!make_kernels(d, a, e, o, true, &probe[0]))
        return false;
    for (int i = 0; i < 2; i++)
        if (!make_kernels(d, a, &others[i]->entries.data[entry], &silent, true, &probe[i + 1]))
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
static bool make_any_kernels(struct diag *d, struct arena *a, const struct program *p, size_t entry,
                             const struct pipeline_options *o, struct lowered **out)
{
    struct diag refusals = {.arena = a};
    struct pipeline_options silent = *o;
    silent.passes.dump_after = NULL;
    if (!p->range)
        return make_kernels(d, a, &p->entries.data[entry], o, false, out);
    if (make_late_kernels(d, &refusals, a, p, entry, o, p->above, 1, out))
        return true;
    if (d->errors > 0)
        return false;
    return (p->below[0] && make_late_kernels(d, &refusals, a, p, entry, &silent, p->below, -1, out)) ||
           make_late_kernels(d, d, a, p, entry, &silent, p->above, 1, out);
}

static bool plan_one(struct diag *d, struct arena *a, const struct program *p, size_t entry,
                     const struct pipeline_options *o, struct plan **out)
{
    struct lowered *l;
    if (!make_any_kernels(d, a, p, entry, o, &l))
        return false;
    share_kernels(l, o->threads);
    if (!kernels_check_sizes(l))
        return false;
    dump_kernels(a, l, o, "fuse");
    if (!plan_entry(d, l, out))
        return false;
    dump_kernels(a, l, o, "plan");
    return true;
}

/* What is made for several counts at once can be neither cut nor handed over. */
static bool check_range_options(struct diag *d, const struct program *p, const struct pipeline_options *o)
{
    const char *const other = !p->range ? NULL : o->threads > 1 ? "--threads" : o->blas ? "--blas" : NULL;
    return !other || diag_error(d, NULL, "%s and a range of '%s' exclude each other: give --dim %s=N", other,
                                p->range->name, p->range->name);
}

bool pipeline_plans(struct diag *d, struct arena *a, const struct program *p, const struct pipeline_options *o,
                    struct plan ***out)
{
    struct plan **plans = arena_array(a, struct plan *, p->entries.count + 1);
    if (!check_range_options(d, p, o))
        return false;
    if (o->simd != SIMD_NONE && !o->small)
        choose_state_layout(p);
    for (int i = 0; p->range && i < 2 && o->simd != SIMD_NONE && !o->small; i++) {
        choose_state_layout(p->above[i]);
        if (p->below[i])
            choose_state_layout(p->below[i]);
    }
    bool ok = true;
    for (size_t i = 0; i < p->entries.count; i++)
        ok &= plan_one(d, a, p, i, o, &plans[i]);
    *out = plans;
    return ok;
}

/* Do state and arena fit --ram? */
static bool check_memory(struct diag *d, struct arena *a, const struct program *p, struct plan *const *plans,
                         const struct emitted *text, size_t ram)
{
    const struct report_code code = {.state_bytes = text->state_bytes,
                                     .arena_bytes = text->arena_bytes,
                                     .constant_bytes = text->constant_bytes,
                                     .calls = (const char *const *const *)text->calls,
                                     .options_text = ""};
    return ram == 0 || report_check_limits(d, report_gather(a, p, plans, &code), "--ram", (int64_t)ram, -1);
}

bool pipeline_compile(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                      const struct emit_options *emit, struct emitted *out, struct program **program)
{
    struct plan **plans;
    if (!pipeline_canonical(d, a, m, o, program) || !pipeline_plans(d, a, *program, o, &plans))
        return false;
    struct emit_options with_name = *emit;
    with_name.name = (*program)->name;
    with_name.target = o->target;
    with_name.simd = o->simd;
    with_name.small = o->small;
    return emit_program(d, a, *program, plans, &with_name, out) && check_memory(d, a, *program, plans, out, o->ram);
}
