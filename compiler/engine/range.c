/* One program for a range of counts: the same is made for the highest count and for two counts beside it, and what
 * differs between the three is known late (fuse/late.c). They are those above it or those below: at some counts another
 * graph is made, or other kernels. The canonical graph of every count of the range must be what these three say. */
#include "engine/pipeline_internal.h"

#include "engine/range_internal.h"
#include "fuse/fuse.h"
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
    *out = NULL;
    if (pipeline_one_program(quiet, a, m, &at, out))
        return true;
    const char *const why = quiet->messages.count > 0 ? quiet->messages.data[0].text : "no reason given";
    return diag_error(d, &LOC_FILE(m->file), "'%s' cannot have a range: with %" PRId64 ", %s", o->import.range->name,
                      count, why);
}

/* ---- sides: the two counts above the highest, and the two below it ----------------------------------------------- */

enum { ABOVE, BELOW, SIDES };
static const int64_t step_of[SIDES] = {[ABOVE] = 1, [BELOW] = -1};

static bool has_side(const struct program *p, int side)
{
    return p->others[2 * side] && p->others[2 * side + 1];
}

static void drop_side(struct program *p, int side)
{
    p->others[2 * side] = p->others[2 * side + 1] = NULL;
}

/* Of those that are there: counts of the range itself are asked first. */
static int first_side(const struct program *p)
{
    const bool within = p->range->high - 2 >= p->range->low;
    return has_side(p, within ? BELOW : ABOVE) ? (within ? BELOW : ABOVE) : within ? ABOVE : BELOW;
}

/* The other side serves where one does not; what that one says is the error if none is left. */
static bool keep_sides(struct diag *d, struct program *p, const struct diag *refusals)
{
    const int first = first_side(p);
    bool left = false;
    for (int side = 0; side < SIDES; side++) {
        if (refusals[side].errors > 0)
            drop_side(p, side);
        left |= has_side(p, side);
    }
    const struct diag *const said = &refusals[refusals[first].errors > 0 ? first : !first];
    return left || diag_error(d, &said->messages.data[0].loc, "%s", said->messages.data[0].text);
}

/* ---- sizes of arguments ------------------------------------------------------------------------------------------ */

/* Notes which sizes of a value are late; false: it cannot be so, for they are none for the lowest count, or larger than
 * for the highest. What is not affine is found where counts are checked. */
static bool find_late(const struct program *p, struct value *v)
{
    const struct size_range *const r = p->range;
    struct late_size late[SHAPE_MAX_RANK] = {{0}};
    bool ok = true, is_affine = true;
    for (int d = 0; ok && d < v->shape.rank; d++) {
        const struct size s = shape_size(&v->shape, d);
        is_affine &= s.per != NOT_AFFINE;
        ok = s.per == NOT_AFFINE || (s.per >= 0 && s.most - s.per * (r->high - r->low) >= (s.per != 0));
        late[d] = s.per != 0 && s.per != NOT_AFFINE ? (struct late_size){s.most - s.per * r->high, s.per} : late[d];
    }
    const bool is_late = ok && is_affine && !shape_is_constant(&v->shape);
    v->late = is_late ? arena_copy(p->arena, late, sizeof late, alignof(struct late_size)) : NULL;
    return ok;
}

/* Those of results, which comments name. */
static void late_results(const struct program *p, size_t entry)
{
    graph_each_node(p->entries.data[entry].graph, n)
        vec_each(struct value *, v, &n->outputs)
            if (v)
                (void)find_late(p, v);
}

/* Inputs, then outputs. */
static struct value *argument(const struct program *p, size_t entry, size_t i)
{
    const struct graph *const g = p->entries.data[entry].graph;
    return i < g->inputs.count ? g->inputs.data[i] : g->outputs.data[i - g->inputs.count].value;
}

static bool late_arguments(struct diag *d, const struct program *p, size_t entry)
{
    struct entry *const e = &p->entries.data[entry];
    const size_t inputs = e->graph->inputs.count;
    bool ok = true;
    for (size_t i = 0; i < inputs + e->graph->outputs.count; i++) {
        struct value *const v = argument(p, entry, i);
        if (!find_late(p, v))
            ok = diag_error(d, &LOC_FILE(p->model->file),
                            "'%s' cannot have a range: the shape of %s '%s' is no multiple of it", p->range->name,
                            i < inputs ? "input" : "output", v->name);
        e->takes_count |= v->late != NULL;
    }
    return ok;
}

static bool find_arguments(struct diag *d, const struct program *p)
{
    bool ok = true;
    for (size_t e = 0; e < p->entries.count; e++)
        ok &= late_arguments(d, p, e);
    return ok;
}

bool range_add_probes(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                       struct program *p)
{
    struct diag refusals[SIDES] = {{.arena = a}, {.arena = a}};
    for (int side = 0; side < SIDES; side++)
        for (int64_t i = 1; i <= 2 && (side == ABOVE || p->range->high > 3) && refusals[side].errors == 0; i++)
            (void)program_at(&refusals[side], a, m, o, p->range->high + i * step_of[side],
                             &p->others[2 * side + i - 1]);
    if (!keep_sides(d, p, refusals) || !find_arguments(d, p))
        return false;
    bool found = false;
    for (size_t i = 0; i < p->entries.count; i++)
        found |= p->entries.data[i].takes_count;
    return found || o->entries != NULL ||
           diag_error(d, &LOC_FILE(m->file), "'%s' cannot have a range: no input or output depends on it",
                      p->range->name);
}

/* ---- the canonical graphs ---------------------------------------------------------------------------------------- */

/* Is the program for this count what the sides say? Those that are wrong are dropped. */
static bool check_count(struct diag *d, const struct model *m, const struct pipeline_options *o, struct program *p,
                        int64_t count)
{
    struct arena scratch = {0};
    struct diag refusals[SIDES] = {{.arena = p->arena}, {.arena = p->arena}};
    struct program *at;
    bool ok = program_at(d, &scratch, m, o, count, &at) && pipeline_simplify(at, &(struct pass_options){0});
    for (int side = 0; ok && side < SIDES; side++) {
        const struct range_probes probes = {p->range, step_of[side], {p, p->others[2 * side], p->others[2 * side + 1]}};
        if (has_side(p, side) && !range_holds_at(&refusals[side], &scratch, &probes, at, count))
            continue; /* refusals has it */
    }
    ok = ok && keep_sides(d, p, refusals);
    arena_free(&scratch);
    return ok;
}

/* Each count is looked at: nothing but the program for a count says what sizes are there. So there is a most. */
static bool check_work(struct diag *d, const struct program *p)
{
    enum { ALWAYS = 256, NODES = 1 << 18 };
    int64_t nodes = 1;
    for (size_t i = 0; i < p->entries.count; i++)
        nodes += (int64_t)p->entries.data[i].graph->node_count;
    const int64_t most = nodes < NODES / ALWAYS ? NODES / nodes : ALWAYS;
    return p->range->high - p->range->low < most ||
           diag_error(d, &LOC_FILE(p->model->file),
                      "'%s' cannot be from %" PRId64 " to %" PRId64 ": the graph of each count is checked, and for "
                      "this model a range may have up to %" PRId64 " counts", p->range->name, p->range->low,
                      p->range->high, most);
}

static bool check_counts(struct diag *d, const struct model *m, const struct pipeline_options *o, struct program *p)
{
    bool ok = check_work(d, p);
    for (int64_t count = p->range->low; ok && count < p->range->high; count++)
        ok = check_count(d, m, o, p, count);
    return ok;
}

bool range_simplify(struct diag *d, const struct model *m, const struct pipeline_options *o, struct program *p)
{
    for (int i = 0; i < 2 * SIDES; i++)
        if (p->others[i] && !pipeline_simplify(p->others[i], &(struct pass_options){0}))
            return false;
    /* outputs may be other values now */
    if (!find_arguments(d, p) || !check_counts(d, m, o, p))
        return false;
    for (size_t i = 0; i < p->entries.count; i++)
        late_results(p, i);
    return true;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* What is made for several counts at once can be neither cut nor handed over. */
bool range_check_options(struct diag *d, const struct program *p, const struct pipeline_options *o)
{
    const char *const other = o->threads > 1 ? "--threads" : o->blas ? "--blas" : NULL;
    return !other || diag_usage(d, "%s and a range of '%s' exclude each other: give --dim %s=N", other,
                                p->range->name, p->range->name);
}

void range_choose_layouts(const struct program *p)
{
    for (int i = 0; i < 4; i++)
        if (p->others[i])
            choose_state_layout(p->others[i]);
}

/* The kernels of an entry, in which is noted what depends on the count of the program's range, as one side shows it.
 * What is in its way goes to `refusals`. */
static bool make_late_kernels(struct diag *d, struct diag *refusals, struct arena *a, const struct program *p,
                              size_t entry, const struct pipeline_options *o, int side, struct lowered **out)
{
    struct program *const *const others = p->others + 2 * side;
    struct lowered *probe[3];
    struct pipeline_options silent = *o;
    struct entry *const e = &p->entries.data[entry];
    silent.passes.dump_after = NULL;
    if (!pipeline_kernels(d, a, e, o, true, &probe[0]) ||
        !pipeline_kernels(d, a, &others[0]->entries.data[entry], &silent, true, &probe[1]) ||
        !pipeline_kernels(d, a, &others[1]->entries.data[entry], &silent, true, &probe[2]))
        return false;
    *out = probe[0];
    if (!late_kernels(refusals, probe, p->range, step_of[side]))
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
    struct pipeline_options once = *o;
    for (int side = 0; side < SIDES; side++) {
        if (!has_side(p, side))
            continue;
        if (make_late_kernels(d, &refusals, a, p, entry, &once, side, out))
            return true;
        if (d->errors > 0)
            return false;
        once.passes.dump_after = NULL;
    }
    const struct diag_message *const first = &refusals.messages.data[0];
    return diag_error(d, &first->loc, "%s", first->text);
}
