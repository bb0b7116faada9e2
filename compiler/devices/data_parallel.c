/* Is it data parallel training, as runtime/mpi executes it? Samples are along an axis of inputs and go in equal parts
 * to all devices, in order; where they are seen, variables are whole, and what is stored are sums. Entries that see
 * none may be spread in any way, since each device can compute them whole. */
#include "devices/devices.h"

#include "devices/judge_internal.h"
#include "graph/op_def.h"

/* Part k of one axis on device k alone; of what the caller gives it is a run of it. */
static bool is_share(const struct follower *f, const struct value *v, const struct shards *s)
{
    if (s->count != (size_t)f->pool.devices)
        return false;
    for (int d = 0; d < s->rank; d++)
        if ((s->parts[d] != 1 && s->parts[d] != f->pool.devices) || (v->kind == VALUE_INPUT && s->blocks[d] != 1))
            return false;
    for (size_t i = 0; i < s->count; i++)
        for (int k = 0; k < f->pool.devices; k++)
            if (shard_is_on(&f->pool, s, i, k) != ((size_t)k == i))
                return false;
    return true;
}

static bool is_everywhere(const struct follower *f, const struct shards *s)
{
    for (int k = 0; k < f->pool.devices; k++)
        if (s->count != 1 || !shard_is_on(&f->pool, s, 0, k))
            return false;
    return true;
}

static void judge_value(struct follower *f, const struct node *n, const struct value *v, const struct shards *s)
{
    const char *why = NULL;
    if (!v || (s && is_everywhere(f, s)))
        return;
    if (!s || !is_share(f, v, s))
        why = "samples can be spread along an axis of each input, in order, and nothing else";
    else if (v->kind == VALUE_VARIABLE)
        why = "variables are whole on each device that sees samples";
    if (why)
        refuse_to_execute(f, &n->loc, "'%s' is %s on the devices of '%s': %s", v->name,
                          shards_text(f->diag->arena, &f->pool, s), f->configuration->name, why);
}

/* A call has one device's part of an input, for all nodes. */
static void judge_reader(struct follower *f, const struct node *n, const struct value *v, const struct shards *s)
{
    if (!v || v->kind != VALUE_INPUT || n->def->is_structural)
        return;
    f->read[v->id] |= shards_are_whole(s) ? 1 : 2;
    if (f->read[v->id] == 3)
        refuse_to_execute(f, &n->loc,
                          "'%s' is read whole here and in parts elsewhere, or the other way round, but a call has the "
                          "samples of one device of '%s'",
                          v->name, f->configuration->name);
}

static void judge_node(struct follower *f, const struct node *n, const struct shards *const *in)
{
    const struct model_node_devices *const entry = entry_of(f, n->placed);
    if (entry && entry->has_stage)
        refuse_to_execute(f, &n->loc, "pipeline_stage %d of '%s': stages are not executed", (int)entry->stage,
                          f->configuration->name);
    if (!f->ok || !sees_samples(n->graph))
        return;
    for (size_t i = 0; i < n->inputs.count && f->ok; i++) {
        const struct value *const v = n->inputs.data[i];
        judge_value(f, n, v, in[i]);
        if (f->ok)
            judge_reader(f, n, v, in[i]);
    }
    for (size_t o = 0; o < n->outputs.count && f->ok; o++)
        if (n->outputs.data[o])
            judge_value(f, n, n->outputs.data[o], f->of[n->outputs.data[o]->id]);
    if (f->ok)
        judge_sums(f, n, in);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static bool judge_updates(struct diag *d, const struct entry *e, const char *way_out)
{
    if (!sees_samples(e->graph) || e->kind != ENTRY_STEP)
        return true;
    vec_each_ptr(const struct binding, b, &e->graph->bindings) {
        if (b->variable->role == ROLE_STATISTIC)
            return diag_unsupported(d, &b->loc,
                                    "%s() moves '%s', a running statistic, by the samples of one device: 'stepc "
                                    "prepare --split --devices N' makes a sum of it (%s)",
                                    e->name, b->variable->name, way_out);
        if (b->variable->role != ROLE_SUM)
            return diag_unsupported(d, &b->loc,
                                    "%s() updates '%s' where it sees samples, so devices cannot add up first: 'stepc "
                                    "prepare --split --devices N' makes two entries (%s)",
                                    e->name, b->variable->name, way_out);
    }
    return true;
}

bool judge_program(struct diag *d, const struct program *p, const struct model_devices *x,
                   const struct devices_options *o)
{
    if (!devices_follow(d, p, o, judge_node))
        return false;
    vec_each_ptr(const struct entry, e, &p->entries)
        if (is_followed(e, x) && !judge_updates(d, e, o->way_out))
            return false;
    return true;
}

/* ---- configurations ---------------------------------------------------------------------------------------------- */

static const char *const way_out = "--ignore-devices compiles for one device";

static void warn_of_batches(struct diag *d, const struct entry *e)
{
    const struct node *first = NULL;
    size_t count = 0;
    graph_each_node(e->graph, n)
        if (node_is(n, "BatchNormalization") && op_attr_int(n, "training_mode") != 0 && count++ == 0)
            first = n;
    if (first && sees_samples(e->graph))
        diag_warning(d, &first->loc,
                     "%s() normalizes batches part by part (%zu BatchNormalization%s): each device takes mean and "
                     "variance of its own samples",
                     e->name, count, str_plural(count));
}

struct configuration_use {
    const char *configuration;
    bool any;
};

static void note_use(void *to, const struct model_node *n)
{
    struct configuration_use *const u = to;
    vec_each_ptr(const struct model_node_devices, entry, &n->devices)
        u->any = u->any || str_equal(entry->configuration, u->configuration);
}

static bool is_used(const struct model *m, const struct model_devices *x)
{
    struct configuration_use u = {x->name, false};
    model_each_node(m->graph, note_use, &u);
    vec_each(const struct model_training *, t, &m->training) {
        model_each_node(t->initialization, note_use, &u);
        model_each_node(t->algorithm, note_use, &u);
    }
    return u.any;
}

/* The samples of all devices, where `import` has those of a call. Where the model cannot have all of them, it is judged
 * by these. */
static const struct program *whole_program(struct arena *a, const struct model *m, const struct model_devices *x,
                                           const struct import_options *import, struct whole_batch *batch)
{
    const struct program *const p = find_whole_batch(a, m, x, import, batch) ? devices_program(a, m, &batch->import)
                                                                             : NULL;
    return p ? p : devices_program(a, m, import);
}

/* Adds entries that add up to `adding`. */
static bool judge_configuration(struct diag *d, struct arena *a, const struct model *m, const struct model_devices *x,
                                const struct import_options *import, struct map *adding)
{
    const struct devices_options calls = {.assumed = 1, .configuration = x->name, .way_out = way_out};
    struct whole_batch batch;
    if (x->count > MOST_DEVICES)
        return diag_unsupported(d, &LOC_FILE(m->file),
                                "device configuration '%s' has %d devices: above %d nothing is followed (%s)", x->name,
                                (int)x->count, MOST_DEVICES, way_out);
    const struct program *const p = whole_program(a, m, x, import, &batch);
    if (!p)
        return true;
    if (!judge_program(d, p, x, &calls))
        return false;
    vec_each_ptr(const struct entry, e, &p->entries)
        if (is_followed(e, x)) {
            if (sees_samples(e->graph) && e->kind == ENTRY_STEP)
                map_set(adding, e->name, NULL);
            warn_of_batches(d, e);
        }
    return !batch.fixed ||
           diag_unsupported(d, &batch.reader->loc,
                            "input '%s' has %lld samples, those of all %d devices of '%s', and a call takes those of "
                            "one: 'stepc prepare --devices N' of the model that it was made of, without --batch, "
                            "leaves the size open, and --dim says that of a call (%s)",
                            batch.fixed->name, (long long)batch.fixed_size, (int)x->count, x->name, way_out);
}

bool devices_are_data_parallel(struct diag *d, struct arena *a, const struct model *m,
                               const struct import_options *import, const char **summary)
{
    struct map adding = {.arena = a};
    struct strbuf text = {.arena = a};
    bool ok = true;
    *summary = NULL;
    vec_each_ptr(const struct model_devices, x, &m->configurations)
        if (is_used(m, x)) {
            ok = judge_configuration(d, a, m, x, import, &adding) && ok;
            strbuf_addf(&text, "%s'%s', %d", text.length ? "; " : "", x->name, (int)x->count);
        }
    if (text.length == 0)
        return ok;
    strbuf_add(&text, adding.count > 0 ? ": each calls " : ": each has its own samples");
    for (size_t i = 0; i < adding.count; i++)
        strbuf_addf(&text, "%s%s()", i > 0 ? ", " : "", adding.entries[i].key);
    if (adding.count > 0)
        strbuf_add(&text, " for its own samples, runtime/mpi adds up the sums, then all go on alike");
    *summary = strbuf_text(&text);
    return ok;
}
