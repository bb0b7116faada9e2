/* What multi-device annotations have to be by themselves, before shapes are known; devices/devices.h has the rest.
 * Spec: onnx.proto (IR 11) and IR.md, "Multi-device"; docs/readings.md, R45 to R51. */
#include "model/check_model.h"

#include "base/checked.h"
#include "base/map.h"
#include "base/str.h"
#include <string.h>

enum { LONGEST = 4096 /* list of a specification: they are compared each with each */ };

struct device_checker {
    struct diag *diag;
    const struct model *model;
    struct map configurations; /* name -> const struct model_devices * */
    bool ok, used;
    const struct model_node *node;     /* at hand */
    const struct model_devices *of;    /* its configuration */
    const struct model_sharding *spec; /* of one of its tensors */
};

#define WRONG(c, ...) ((c)->ok = diag_error((c)->diag, &(c)->node->loc, __VA_ARGS__))

static bool has_int(const int64_t *list, size_t count, int64_t x)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == x)
            return true;
    return false;
}

/* ---- configurations ---------------------------------------------------------------------------------------------- */

static bool check_configurations(struct diag *d, const struct model *m, struct map *seen)
{
    const struct loc at = LOC_FILE(m->file);
    bool ok = true;
    vec_each_ptr(const struct model_devices, x, &m->configurations) {
        if (x->name[0] == '\0')
            ok = diag_error(d, &at, "a device configuration has no name");
        else if (map_has(seen, x->name))
            ok = diag_error(d, &at, "device configuration '%s' occurs twice", x->name);
        map_set(seen, x->name, (void *)(uintptr_t)x);
        if (x->count <= 0)
            ok = diag_error(d, &at, "device configuration '%s' has %d devices, expected at least one", x->name,
                            (int)x->count);
        else if (x->names.count > 0 && x->names.count != (size_t)x->count)
            ok = diag_error(d, &at, "device configuration '%s' has num_devices %d, but names %zu", x->name,
                            (int)x->count, x->names.count);
        struct map names = {.arena = d->arena};
        vec_each(const char *, name, &x->names) {
            if (map_has(&names, name))
                diag_warning(d, &at, "device configuration '%s' has two devices named '%s'", x->name, name);
            map_set(&names, name, NULL);
        }
    }
    return ok;
}

/* ---- one specification ------------------------------------------------------------------------------------------- */

static bool is_device(const struct device_checker *c, int64_t x)
{
    return x >= 0 && x < c->of->count;
}

static void check_group(struct device_checker *c, size_t at)
{
    const struct model_device_group *const g = &c->spec->groups.data[at];
    const char *const tensor = c->spec->tensor;
    for (size_t i = 0; i < at; i++)
        if (c->spec->groups.data[i].key == g->key)
            WRONG(c, "sharding of '%s': index_to_device_group_map has the key %lld twice", tensor, (long long)g->key);
    if (g->devices.count == 0)
        WRONG(c, "sharding of '%s': the group %lld has no devices", tensor, (long long)g->key);
    if (is_device(c, g->key))
        diag_warning(c->diag, &c->node->loc,
                     "sharding of '%s': the key %lld of a group is also a device; the group counts", tensor,
                     (long long)g->key);
    for (size_t i = 0; i < g->devices.count; i++) {
        const int64_t x = g->devices.data[i];
        if (!is_device(c, x))
            WRONG(c, "sharding of '%s': the group %lld has device %lld, but '%s' has devices 0 to %d", tensor,
                  (long long)g->key, (long long)x, c->of->name, (int)c->of->count - 1);
        else if (has_int(g->devices.data, i, x))
            WRONG(c, "sharding of '%s': the group %lld has device %lld twice", tensor, (long long)g->key,
                  (long long)x);
    }
    if (!has_int(c->spec->devices.data, c->spec->devices.count, g->key))
        diag_warning(c->diag, &c->node->loc, "sharding of '%s': no entry of device is the group %lld", tensor,
                     (long long)g->key);
}

static void check_listed(struct device_checker *c)
{
    const struct model_sharding *const s = c->spec;
    if (s->devices.count == 0)
        WRONG(c, "sharding of '%s' lists no device", s->tensor);
    for (size_t i = 0; i < s->devices.count; i++) {
        bool known = is_device(c, s->devices.data[i]);
        for (size_t k = 0; k < s->groups.count; k++)
            known = known || s->groups.data[k].key == s->devices.data[i];
        if (!known)
            WRONG(c, "sharding of '%s': device %lld is none of 0 to %d and no key of index_to_device_group_map",
                  s->tensor, (long long)s->devices.data[i], (int)c->of->count - 1);
        else if (has_int(s->devices.data, i, s->devices.data[i]))
            diag_warning(c->diag, &c->node->loc, "sharding of '%s': %lld holds more than one shard", s->tensor,
                         (long long)s->devices.data[i]);
    }
}

static bool is_short(struct device_checker *c)
{
    size_t longest = c->spec->devices.count;
    if (c->spec->groups.count > longest)
        longest = c->spec->groups.count;
    if (c->spec->axes.count > longest)
        longest = c->spec->axes.count;
    vec_each_ptr(const struct model_device_group, g, &c->spec->groups)
        if (g->devices.count > longest)
            longest = g->devices.count;
    if (longest > LONGEST)
        c->ok = diag_unsupported(c->diag, &c->node->loc, "sharding of '%s': a list of %zu; at most %d is supported",
                                 c->spec->tensor, longest, LONGEST);
    return longest <= LONGEST;
}

/* How many shards an axis has; 0 after a report. */
static int64_t check_axis(struct device_checker *c, size_t at)
{
    const struct model_sharded_axis *const x = &c->spec->axes.data[at];
    int64_t all = 1;
    for (size_t i = 0; i < at; i++)
        if (c->spec->axes.data[i].axis == x->axis)
            WRONG(c, "sharding of '%s': axis %lld is listed twice", c->spec->tensor, (long long)x->axis);
    if (x->shards.count == 0) {
        WRONG(c, "sharding of '%s': axis %lld has no simple_sharding", c->spec->tensor, (long long)x->axis);
        return 0;
    }
    vec_each_ptr(const struct model_shards, s, &x->shards) {
        if (s->count > 0 && checked_mul(all, s->count, &all))
            continue;
        WRONG(c, "sharding of '%s': axis %lld is split into %lld shards%s", c->spec->tensor, (long long)x->axis,
              (long long)s->count, s->count > 0 ? "" : ", expected at least one");
        return 0;
    }
    return all;
}

static void check_sharding(struct device_checker *c)
{
    int64_t shards = 1;
    if (!is_short(c))
        return;
    for (size_t i = 0; i < c->spec->groups.count; i++)
        check_group(c, i);
    check_listed(c);
    for (size_t i = 0; i < c->spec->axes.count; i++) {
        const int64_t own = check_axis(c, i);
        if (own == 0 || shards == 0 || !checked_mul(shards, own, &shards))
            shards = 0;
    }
    if (shards > 0 && c->spec->devices.count > 0 && (size_t)shards != c->spec->devices.count)
        WRONG(c, "sharding of '%s': %lld shard%s, but device has %zu entries: one for each shard", c->spec->tensor,
              (long long)shards, str_plural((size_t)shards), c->spec->devices.count);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static bool names_tensor(const struct model_node *n, const char *tensor)
{
    return tensor[0] != '\0' && (str_list_has(&n->inputs, tensor) || str_list_has(&n->outputs, tensor));
}

static void check_entry(struct device_checker *c, const struct model_node_devices *x)
{
    struct map seen = {.arena = c->diag->arena};
    if (x->has_stage && x->stage < 0)
        WRONG(c, "pipeline_stage is %d, expected 0 or more", (int)x->stage);
    vec_each_ptr(const struct model_sharding, s, &x->shardings) {
        c->spec = s;
        if (!names_tensor(c->node, s->tensor)) {
            WRONG(c, "a sharding names '%s', which is neither input nor output of the node", s->tensor);
            continue;
        }
        if (map_has(&seen, s->tensor))
            WRONG(c, "configuration '%s' has two shardings of '%s'", x->configuration, s->tensor);
        map_set(&seen, s->tensor, NULL);
        check_sharding(c);
    }
}

static void check_node(void *to, const struct model_node *n)
{
    struct device_checker *const c = to;
    c->node = n;
    c->used = c->used || n->devices.count > 0;
    struct map seen = {.arena = c->diag->arena};
    vec_each_ptr(const struct model_node_devices, x, &n->devices) {
        c->of = map_get(&c->configurations, x->configuration);
        if (map_has(&seen, x->configuration))
            WRONG(c, "the node has two entries of device configuration '%s'", x->configuration);
        map_set(&seen, x->configuration, NULL);
        if (!c->of)
            WRONG(c, "configuration_id '%s' is no configuration of the model", x->configuration);
        else if (c->of->count > 0) /* else reported */
            check_entry(c, x);
    }
}

bool model_check_devices(struct diag *d, const struct model *m)
{
    struct device_checker c = {.diag = d, .model = m, .configurations.arena = d->arena};
    c.ok = check_configurations(d, m, &c.configurations);
    model_each_node(m->graph, check_node, &c);
    vec_each(const struct model_training *, t, &m->training) {
        model_each_node(t->initialization, check_node, &c);
        model_each_node(t->algorithm, check_node, &c);
    }
    vec_each(const struct model_function *, f, &m->functions) {
        struct model_graph body = {0};
        memcpy(&body.nodes, &f->nodes, sizeof body.nodes);
        model_each_node(&body, check_node, &c);
    }
    if ((c.used || m->configurations.count > 0) && m->ir_version < DEVICES_IR)
        c.ok = diag_error(d, &LOC_FILE(m->file),
                          "device configurations came with ir_version %d, but the model says %lld", DEVICES_IR,
                          (long long)m->ir_version);
    return c.ok;
}

/* ---- after a change of the model --------------------------------------------------------------------------------- */

struct dropped {
    size_t count;
    const struct model_node *first;
    const char *tensor;
};

static void drop_stale(struct model_graph *g, struct dropped *x)
{
    for (size_t i = 0; g && i < g->nodes.count; i++) {
        struct model_node *const n = g->nodes.data[i];
        vec_each_ptr(struct model_node_devices, entry, &n->devices)
            for (size_t k = entry->shardings.count; k-- > 0;) {
                const char *const tensor = entry->shardings.data[k].tensor;
                if (names_tensor(n, tensor))
                    continue;
                if (x->count++ == 0)
                    *x = (struct dropped){1, n, tensor};
                vec_remove(&entry->shardings, k);
            }
        model_each_inner(n, inner)
            drop_stale(inner, x);
    }
}

void model_drop_stale_devices(struct diag *d, struct model *m)
{
    struct dropped x = {0};
    drop_stale(m->graph, &x);
    vec_each(struct model_training *, t, &m->training) {
        drop_stale(t->initialization, &x);
        drop_stale(t->algorithm, &x);
    }
    if (x.count > 0)
        diag_warning(d, &x.first->loc,
                     "%zu sharding%s of tensors that the node no longer has, the first of '%s', %s left out", x.count,
                     str_plural(x.count), x.tensor, x.count == 1 ? "is" : "are");
}
