/* Is it data parallel training, as runtime/mpi executes it? Samples are along axis 0 and go in equal parts to all
 * devices, in order; where they are seen, variables are whole, and what is stored are sums. Entries that see none may
 * be spread in any way, since each device can compute them whole. */
#include "devices/devices.h"

#include "devices/judge_internal.h"
#include "graph/op_def.h"
#include "train/combine.h"

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

static bool sees_samples(const struct graph *g)
{
    for (size_t i = 0; i < g->inputs.count; i++)
        if (g->inputs.data[i]->shape.rank > 0)
            return true;
    return false;
}

static void judge_value(struct follower *f, const struct node *n, const struct value *v, const struct shards *s)
{
    const char *why = NULL;
    if (!v || (s && is_everywhere(f, s)))
        return;
    if (!s || !is_share(f, v, s))
        why = "samples can be spread along axis 0, in order, and nothing else";
    else if (v->kind == VALUE_VARIABLE)
        why = "variables are whole on each device that sees samples";
    if (why)
        f->ok = diag_unsupported(f->diag, &n->loc,
                                 "'%s' is %s on the devices of '%s': %s (--ignore-devices compiles for one)", v->name,
                                 shards_text(f->diag->arena, &f->pool, s), f->configuration->name, why);
}

/* A call has one device's part of an input, for all nodes. */
static void judge_reader(struct follower *f, const struct node *n, const struct value *v, const struct shards *s)
{
    if (!v || v->kind != VALUE_INPUT || n->def->is_structural)
        return;
    f->read[v->id] |= shards_are_whole(s) ? 1 : 2;
    if (f->read[v->id] == 3)
        f->ok = diag_unsupported(f->diag, &n->loc,
                                 "'%s' is read whole here and in parts elsewhere, or the other way round, but a call "
                                 "has the samples of one device of '%s' (--ignore-devices compiles for one)",
                                 v->name, f->configuration->name);
}

static void judge_node(struct follower *f, const struct node *n, const struct shards *const *in)
{
    const struct model_node_devices *const entry = entry_of(f, n->placed);
    if (entry && entry->has_stage)
        f->ok = diag_unsupported(f->diag, &n->loc,
                                 "pipeline_stage %d of '%s': stages are not executed (--ignore-devices compiles for "
                                 "one device)",
                                 (int)entry->stage, f->configuration->name);
    if (!f->ok || !sees_samples(n->graph))
        return;
    for (size_t i = 0; i < n->inputs.count && f->ok; i++) {
        const struct value *const v = n->inputs.data[i];
        judge_value(f, n, v, in[i]);
        if (f->ok)
            judge_reader(f, n, v, in[i]);
        if (v && f->of[v->id] && in[i] && !shards_suffice(&f->pool, f->of[v->id], in[i]))
            f->moved = true;
    }
    if (f->moved)
        f->ok = diag_unsupported(f->diag, &n->loc,
                                 "what it reads or gives has to be moved between the devices of '%s', and nothing but "
                                 "sums is (--ignore-devices compiles for one device)",
                                 f->configuration->name);
    for (size_t o = 0; o < n->outputs.count && f->ok; o++)
        if (n->outputs.data[o])
            judge_value(f, n, n->outputs.data[o], f->of[n->outputs.data[o]->id]);
    if (f->ok)
        judge_sums(f, n, in);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static bool judge_updates(struct diag *d, const struct entry *e, struct map *adding)
{
    if (!sees_samples(e->graph) || e->kind != ENTRY_STEP)
        return true;
    vec_each_ptr(const struct binding, b, &e->graph->bindings) {
        if (b->variable->role == ROLE_STATISTIC)
            return diag_unsupported(d, &b->loc,
                                    "%s() moves '%s', a running statistic, by the samples of one device: 'stepc "
                                    "prepare --split --devices N' makes a sum of it (--ignore-devices compiles for one "
                                    "device)",
                                    e->name, b->variable->name);
        if (b->variable->role != ROLE_SUM)
            return diag_unsupported(d, &b->loc,
                                    "%s() updates '%s' where it sees samples, so devices cannot add up first: 'stepc "
                                    "prepare --split --devices N' makes two entries (--ignore-devices compiles for one "
                                    "device)",
                                    e->name, b->variable->name);
    }
    map_set(adding, e->name, NULL);
    return true;
}

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

/* ---- configurations ---------------------------------------------------------------------------------------------- */

struct judge {
    struct diag *diag;
    struct arena *arena;
    const struct model *model;
    const struct import_options *import;
    struct map adding; /* entries that add up */
    struct strbuf text;
};

static bool is_used(const struct program *p, const struct model_devices *x)
{
    vec_each_ptr(const struct entry, e, &p->entries)
        if (is_followed(e, x))
            return true;
    return false;
}

/* `p` has the samples of a call. Where the model cannot have all of them, it is judged by these. */
static bool judge_configuration(struct judge *j, const struct program *p, const struct model_devices *x)
{
    const struct devices_options calls = {.assumed = 1, .configuration = x->name};
    struct diag unheard = {.arena = j->diag->arena};
    struct whole_batch batch;
    struct program *whole;
    if (x->count > MOST_DEVICES)
        return diag_unsupported(j->diag, &LOC_FILE(j->model->file),
                                "device configuration '%s' has %d devices: above %d nothing is followed "
                                "(--ignore-devices compiles for one device)",
                                x->name, (int)x->count, MOST_DEVICES);
    if (find_whole_batch(j->arena, j->model, x, j->import, &batch) &&
        combine_program(&unheard, j->arena, j->model, &batch.import, "model", NULL, &whole))
        p = whole;
    if (!devices_follow(j->diag, p, &calls, judge_node))
        return false;
    vec_each_ptr(const struct entry, e, &p->entries)
        if (is_followed(e, x)) {
            if (!judge_updates(j->diag, e, &j->adding))
                return false;
            warn_of_batches(j->diag, e);
        }
    if (batch.fixed)
        return diag_unsupported(j->diag, &batch.reader->loc,
                                "input '%s' has %lld samples, those of all %d devices of '%s', and a call takes those "
                                "of one: leave the size open in the model (no --batch for prepare), and say that of a "
                                "call by --dim (--ignore-devices compiles for one device)",
                                batch.fixed->name, (long long)batch.fixed->type.dims.data[0].value, (int)x->count,
                                x->name);
    strbuf_addf(&j->text, "%s'%s', %d", j->text.length ? "; " : "", x->name, (int)x->count);
    return true;
}

bool devices_are_data_parallel(struct diag *d, struct arena *a, const struct model *m,
                               const struct import_options *import, const char **summary)
{
    struct judge j = {d, a, m, import, .adding.arena = a, .text.arena = a};
    struct diag unheard = {.arena = a};
    struct program *p;
    bool ok = true;
    *summary = NULL;
    if (!combine_program(&unheard, a, m, import, "model", NULL, &p))
        return true;
    vec_each_ptr(const struct model_devices, x, &m->configurations)
        ok = (!is_used(p, x) || judge_configuration(&j, p, x)) && ok;
    if (j.text.length == 0)
        return ok;
    strbuf_add(&j.text, j.adding.count > 0 ? ": each calls " : ": each has its own samples");
    for (size_t i = 0; i < j.adding.count; i++)
        strbuf_addf(&j.text, "%s%s()", i > 0 ? ", " : "", j.adding.entries[i].key);
    if (j.adding.count > 0)
        strbuf_add(&j.text, " for its own samples, runtime/mpi adds up the sums, then all go on alike");
    *summary = strbuf_text(&j.text);
    return ok;
}
