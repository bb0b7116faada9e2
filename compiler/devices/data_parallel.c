/* Is it data parallel training, as runtime/mpi executes it? Samples are along axis 0 and go in equal parts to all
 * devices, in order; where they are seen, variables are whole, and what is stored are sums. Entries that see none may
 * be spread in any way, since each device can compute them whole. */
#include "devices/devices.h"

#include "devices/follow_internal.h"
#include "graph/op_def.h"

/* Part k of one axis on device k alone; of what the caller gives it is axis 0. */
static bool is_share(const struct follower *f, const struct value *v, const struct shards *s)
{
    if (s->count != (size_t)f->pool.devices || (v->kind == VALUE_INPUT && s->parts[0] != f->pool.devices))
        return false;
    for (int d = 0; d < s->rank; d++)
        if (s->parts[d] != 1 && s->parts[d] != f->pool.devices)
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
}

static bool judge_updates(struct diag *d, const struct entry *e, struct strbuf *sums)
{
    if (!sees_samples(e->graph) || e->kind != ENTRY_STEP)
        return true;
    vec_each_ptr(const struct binding, b, &e->graph->bindings)
        if (b->variable->role != ROLE_SUM && b->variable->role != ROLE_STATISTIC)
            return diag_unsupported(d, &b->loc,
                                    "%s() updates '%s' where it sees samples, so devices cannot add up first: 'stepc "
                                    "prepare --split --devices N' makes two entries (--ignore-devices compiles for one "
                                    "device)",
                                    e->name, b->variable->name);
    strbuf_addf(sums, "%s%s()", sums->length ? ", " : "", e->name);
    return true;
}

bool devices_are_data_parallel(struct diag *d, const struct program *p, const char **summary)
{
    const struct devices_options calls = {.assumed = 1}; /* sizes are those of a call, for a share of the samples */
    struct strbuf sums = {.arena = d->arena}, text = {.arena = d->arena};
    bool ok = devices_follow(d, p, &calls, judge_node);
    vec_each_ptr(const struct entry, e, &p->entries)
        ok = ok && ((e->kind == ENTRY_STEP && e->training < 0) || judge_updates(d, e, &sums));
    vec_each_ptr(const struct model_devices, x, &p->model->configurations)
        strbuf_addf(&text, "%s'%s', %d", text.length ? "; " : "", x->name, (int)x->count);
    if (sums.length > 0)
        strbuf_addf(&text, ": each calls %s for its own samples, runtime/mpi adds up the sums, then all go on alike",
                    strbuf_text(&sums));
    else
        strbuf_add(&text, ": each has its own samples");
    *summary = strbuf_text(&text);
    return ok;
}
