/* Annotations of a model that has none: where some tensors are stated, all others are followed, and what each node
 * reads and gives is written down. */
#include "devices/devices.h"

#include "devices/judge_internal.h"
#include "train/combine.h"

struct annotator {
    struct diag *diag;
    struct arena *arena;
    struct model *model;
    const struct devices_annotation *what;
};

static void state_part(const struct annotator *a, struct model_node_devices *entry, const struct devices_part *p)
{
    struct model_sharding s = {.tensor = p->tensor};
    struct model_sharded_axis axis = {.axis = p->axis};
    if (p->device >= 0) {
        vec_push(a->arena, &s.devices, p->device);
        vec_push(a->arena, &entry->shardings, s);
        return;
    }
    vec_push(a->arena, &axis.shards, ((struct model_shards){.size = -1, .symbol = "", .count = a->what->devices}));
    vec_push(a->arena, &s.axes, axis);
    for (int64_t k = 0; k < a->what->devices; k++)
        vec_push(a->arena, &s.devices, k);
    vec_push(a->arena, &entry->shardings, s);
}

/* An entry on each node; what is known is stated where it is read. */
static void state_known(const struct annotator *a, struct model_graph *g)
{
    for (size_t i = 0; g && i < g->nodes.count; i++) {
        struct model_node *const n = g->nodes.data[i];
        struct model_node_devices entry = {.configuration = a->what->configuration};
        vec_each_ptr(const struct devices_part, p, &a->what->parts)
            if (p->graph == g && str_list_has(&n->inputs, p->tensor))
                state_part(a, &entry, p);
        vec_push(a->arena, &n->devices, entry);
    }
}

/* ---- what follows ------------------------------------------------------------------------------------------------ */

/* As messages have it: one device, or a group of those that hold copies. */
static int64_t device_entry(struct follower *f, const struct shards *s, size_t shard, struct model_sharding *out)
{
    struct model_device_group g = {.key = -1 - (int64_t)shard};
    for (int k = 0; k < f->pool.devices; k++)
        if (shard_is_on(&f->pool, s, shard, k))
            vec_push(f->diag->arena, &g.devices, k);
    if (g.devices.count == 1)
        return g.devices.data[0];
    vec_push(f->diag->arena, &out->groups, g);
    return g.key;
}

static void add_sharding(struct follower *f, struct model_node_devices *entry, const char *tensor,
                         const struct value *v)
{
    struct model_sharding s = {.tensor = tensor};
    const struct shards *const there = v ? f->of[v->id] : NULL;
    const int64_t assumed = f->options->assumed;
    vec_each_ptr(const struct model_sharding, known, &entry->shardings)
        if (str_equal(known->tensor, tensor))
            return;
    if (!there || v->kind == VALUE_CONSTANT)
        return;
    for (int d = 0; d < there->rank; d++) /* of a size that nobody knows yet nothing is said: it follows */
        if (there->blocks[d] > 1 && assumed > 0 && there->blocks[d] % assumed == 0)
            return;
    for (int d = 0; d < there->rank; d++)
        if (there->parts[d] > 1) {
            struct model_sharded_axis axis = {.axis = d};
            if (there->blocks[d] > 1)
                vec_push(f->diag->arena, &axis.shards,
                         ((struct model_shards){.size = there->blocks[d], .symbol = "", .count = 1}));
            vec_push(f->diag->arena, &axis.shards,
                     ((struct model_shards){.size = -1, .symbol = "", .count = there->parts[d]}));
            vec_push(f->diag->arena, &s.axes, axis);
        }
    for (size_t i = 0; i < there->count; i++)
        vec_push(f->diag->arena, &s.devices, device_entry(f, there, i, &s));
    vec_push(f->diag->arena, &entry->shardings, s);
}

/* Behind the last of the nodes that are made of it, all that the model's node reads and gives has been followed. */
static void write_followed(struct follower *f, const struct node *n, const struct shards *const *in)
{
    const struct placed *const p = n->placed;
    struct model_node_devices *const entry = (struct model_node_devices *)(uintptr_t)entry_of(f, p);
    (void)in;
    if (n->next && n->next->placed == p)
        return;
    for (size_t i = 0; entry && i < p->node->inputs.count; i++)
        add_sharding(f, entry, p->node->inputs.data[i], p->inputs[i]);
    for (size_t i = 0; entry && i < p->node->outputs.count; i++)
        add_sharding(f, entry, p->node->outputs.data[i], p->outputs[i]);
}

static void drop_empty(struct model_graph *g)
{
    for (size_t i = 0; g && i < g->nodes.count; i++) {
        struct model_node *const n = g->nodes.data[i];
        if (n->devices.data[n->devices.count - 1].shardings.count == 0)
            n->devices.count--;
    }
}

bool devices_annotate(struct diag *d, struct arena *a, struct model *m, const struct devices_annotation *what,
                      const struct import_options *import)
{
    const struct annotator x = {d, a, m, what};
    const struct devices_options options = {.assumed = import->provisional_dim, .configuration = what->configuration,
                                            .way_out = "without --devices the training is for one device"};
    vec_push(a, &m->configurations,
             ((struct model_devices){.name = what->configuration, .count = (int32_t)what->devices}));
    state_known(&x, m->graph);
    vec_each(struct model_training *, t, &m->training)
        state_known(&x, t->algorithm);
    struct program *p;
    if (!combine_program(d, a, m, import, "model", NULL, &p))
        return false;
    struct diag unheard = {.arena = a}; /* what is wrong is said by what judges */
    (void)!devices_follow(&unheard, p, &options, write_followed);
    drop_empty(m->graph);
    vec_each(struct model_training *, t, &m->training)
        drop_empty(t->algorithm);
    if (m->ir_version < DEVICES_IR)
        m->ir_version = DEVICES_IR;
    return judge_program(d, p, &m->configurations.data[m->configurations.count - 1], &options);
}
