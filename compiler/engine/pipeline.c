#include "engine/budget.h"
#include "engine/pipeline_internal.h"
#include "engine/strips.h"

#include "base/clean.h"
#include "base/file.h"
#include "base/str.h"
#include "emit/names.h"
#include "engine/narrow_machine.h"
#include "engine/training_forms.h"
#include "fuse/fuse.h"
#include "graph/build.h"
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

/* ---- a gradient in the place of an entry ------------------------------------------------------------------------- */

/* Of one training_info alone, rather than of the step that runs several. */
static struct entry *find_loss(struct program *p, const char *loss)
{
    struct entry *found = NULL;
    vec_each_ptr(struct entry, e, &p->entries)
        if (e->kind != ENTRY_INIT && graph_find(e->graph, loss) &&
            (!found || (found->training < 0 && e->training >= 0)))
            found = e;
    return found;
}

static bool check_differentiable(struct diag *d, const struct model *m, const struct graph *g, const char *name)
{
    const struct value *const v = graph_find(g, name);
    if (v == NULL)
        return diag_error(d, &LOC_FILE(m->file), "--with-respect-to %s: what computes the loss has no such tensor",
                          name);
    return v->kind != VALUE_CONSTANT ||
           diag_error(d, &LOC_FILE(m->file), "--with-respect-to %s: nothing trains it, so it is a constant", name);
}

static bool take_gradient(struct diag *d, const struct model *m, struct program *p, struct pipeline_gradient *o)
{
    struct entry *const e = find_loss(p, o->loss);
    struct builder b = {.prefix = ""};
    VEC(struct value *) xs = {0};
    bool ok = true;
    if (e == NULL)
        return diag_error(d, &LOC_FILE(m->file), "--gradient-of %s: no entry computes such a tensor", o->loss);
    b.graph = e->graph;
    b.loc = LOC_FILE(m->file);
    vec_each(const char *, name, &o->names) {
        ok = check_differentiable(d, m, e->graph, name) && ok;
        vec_push(p->arena, &xs, graph_find(e->graph, name));
    }
    if (!ok)
        return false;
    const struct attr list = {.name = "xs", .type = ATTR_STRINGS, .strings = o->names.data, .count = o->names.count};
    const struct node *const n = build_node(&b, "ai.onnx.preview.training.Gradient",
                                            ATTRS(list, attr_string("y", o->loss)), xs.data, xs.count, xs.count);
    o->entry = e->name;
    e->graph->bindings.count = e->graph->outputs.count = 0;
    e->counter_count = 0;
    vec_push(p->arena, &e->graph->outputs, ((struct graph_output){o->loss, graph_find(e->graph, o->loss)}));
    for (size_t i = 0; i < xs.count && !b.failed; i++) {
        const struct tensor *const mask = map_get(o->masks, o->names.data[i]);
        struct value *const dx = n->outputs.data[i];
        struct value *const given =
            mask ? build_value(&b, "Mul", NULL, (struct value *const[]){dx, build_constant(&b, mask)}, 2) : dx;
        vec_push(p->arena, &e->graph->outputs,
                 ((struct graph_output){arena_printf(p->arena, "%s.gradient", o->names.data[i]), given}));
    }
    return !b.failed;
}

static const char *program_name(struct arena *a, const struct model *m, const struct pipeline_options *o)
{
    return name_mangle(a, o->name ? o->name : path_stem(a, m->file));
}

bool pipeline_one_program(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                        struct program **out)
{
    struct program *p;
    if (!combine_program(d, a, m, &o->import, program_name(a, m, o), o->entries, &p))
        return false;
    if (o->gradient && !take_gradient(d, m, p, o->gradient))
        return false;
    dump_graphs(a, p, o, "combine");
    bool ok = true;
    for (size_t i = 0; i < p->entries.count; i++)
        ok &= rewrite_recognise(p->entries.data[i].graph, NULL);
    dump_graphs(a, p, o, "recognise");
    for (size_t i = 0; i < p->entries.count; i++)
        ok &= adjoint_expand(p->entries.data[i].graph);
    if (!ok || !add_fetches(d, m, p, o) || !pipeline_leave_out_unfed(a, m, p, o))
        return false;
    dump_graphs(a, p, o, "differentiate");
    *out = p;
    return true;
}

bool pipeline_simplify(struct program *p, const struct pass_options *passes)
{
    bool ok = true;
    for (size_t i = 0; i < p->entries.count; i++) {
        const struct entry *const e = &p->entries.data[i];
        ok &= canonicalise(e->graph, passes) && (e->kind != ENTRY_INIT || rewrite_zeros(e->graph));
    }
    return ok;
}

bool pipeline_program(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                      struct program **out)
{
    return pipeline_one_program(d, a, m, o, out) && (!o->import.range || range_add_probes(d, a, m, o, *out));
}

bool pipeline_canonical(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                        struct program **out)
{
    if (!pipeline_program(d, a, m, o, out))
        return false;
    if (o->warns)
        warn_of_training_forms(*out);
    if (!pipeline_simplify(*out, &o->passes))
        return false;
    if ((*out)->range && !range_simplify(d, m, o, *out))
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
        if (l->kernels.data[i]->kind == KERNEL_REGION)
            fuse_kernels(l->kernels.data[i]->region->body, o);
}

/* Lowered, fused, and in the forms that options ask for. */
bool pipeline_kernels(struct diag *d, struct arena *a, const struct entry *e, const struct pipeline_options *o,
                         bool late, struct lowered **out)
{
    const struct lower_options how = {.target = o->target, .scalar = o->simd == SIMD_NONE || o->small,
                                      .small = o->small, .late = late, .check_finite = o->check_finite};
    if ((o->small && !rewrite_shrink(e->graph)) || !lower_entry(d, a, e, how, out))
        return false;
    dump_kernels(a, *out, o, "lower");
    fuse_kernels(*out, o);
    return true;
}

bool pipeline_plan_entry(struct diag *d, struct arena *a, const struct program *p, size_t entry,
                         const struct pipeline_options *o, struct plan **out)
{
    struct lowered *l;
    if (p->range ? !range_kernels(d, a, p, entry, o, &l)
                 : !pipeline_kernels(d, a, &p->entries.data[entry], o, false, &l))
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

/* Of a batch in parts the nodes of one part are enough. Not where that would be slower: threads share kernels that no
 * region is around, and a region would transpose weights that lie by columns. */
static bool roll_entries(const struct program *p, const struct pipeline_options *o)
{
    bool may = o->threads <= 1, ok = true;
    vec_each(const struct variable *, v, &p->variables)
        may &= !v->by_columns;
    for (size_t i = 0; may && i < p->entries.count; i++)
        ok &= rewrite_roll(p->entries.data[i].graph);
    return ok;
}

/* Memory counts, and sizes are known. */
static bool may_cut(const struct program *p, const struct pipeline_options *o)
{
    return (o->small || o->ram > 0) && !p->range && o->threads <= 1;
}

bool pipeline_plans(struct diag *d, struct arena *a, const struct program *p, const struct pipeline_options *o,
                    struct plan ***out)
{
    struct plan **plans = arena_array(a, struct plan *, p->entries.count + 1);
    if (p->range && !range_check_options(d, p, o))
        return false;
    if (o->simd != SIMD_NONE && !o->small) {
        choose_state_layout(p);
        if (p->range)
            range_choose_layouts(p);
    }
    if (!roll_entries(p, o))
        return false;
    bool ok = true;
    for (size_t i = 0; i < p->entries.count; i++)
        ok &= pipeline_plan_entry(d, a, p, i, o, &plans[i]);
    *out = plans;
    return ok && (!may_cut(p, o) || strips_choose(d, a, p, o, plans)) &&
           (o->ram == 0 || p->range || budget_fit(d, a, p, o, plans));
}

bool pipeline_fits_ram(struct diag *d, struct arena *a, const struct program *p, struct plan *const *plans,
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
    with_name.lists_trees = dump_wanted(o, "tree");
    const bool ok = emit_program(d, a, *program, plans, &with_name, out);
    if (ok && out->trees)
        fputs(out->trees, o->passes.dump_to);
    return ok &&
           narrow_machine_takes(d, *program, o->target, out) && pipeline_fits_ram(d, a, *program, plans, out, o->ram);
}
