/* A sharding specification against the shape of its tensor. */
#include "devices/follow_internal.h"

#include "base/checked.h"
#include <string.h>

struct stated {
    struct follower *f;
    const struct placed *placed;
    const struct model_sharding *spec;
    const struct value *v;
    int64_t parts[SHAPE_MAX_RANK], blocks[SHAPE_MAX_RANK];
    int order[SHAPE_MAX_RANK]; /* axes as they are listed: the first one slowest */
    int listed;
    bool wrong, odd; /* odd: right, but shards are no runs of an axis */
};

#define WRONG(s, ...) ((s)->f->ok = diag_error((s)->f->diag, &(s)->placed->node->loc, __VA_ARGS__), (s)->wrong = true)

const struct model_node_devices *entry_of(const struct follower *f, const struct placed *p)
{
    for (size_t i = 0; p && i < p->node->devices.count; i++)
        if (str_equal(p->node->devices.data[i].configuration, f->configuration->name))
            return &p->node->devices.data[i];
    return NULL;
}

static const struct model_sharding *find_spec(const struct follower *f, const struct placed *p, const struct value *v,
                                              bool output)
{
    const struct model_node_devices *const entry = entry_of(f, p);
    const str_list *const names = output ? &p->node->outputs : &p->node->inputs;
    for (size_t i = 0; entry && i < names->count; i++)
        if ((output ? p->outputs : p->inputs)[i] == v)
            vec_each_ptr(const struct model_sharding, s, &entry->shardings)
                if (str_equal(s->tensor, names->data[i]))
                    return s;
    return NULL;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* May the size be another one than it is here? */
static bool is_assumed(const struct stated *s, int64_t size)
{
    const int64_t assumed = s->f->options->assumed;
    return assumed > 0 && size % assumed == 0;
}

static bool has_symbol(const model_values *values, const char *symbol)
{
    vec_each(const struct model_value_info *, vi, values)
        if (model_type_has(&vi->type, symbol))
            return true;
    return false;
}

static bool knows_symbol(const struct model_graph *g, const char *symbol)
{
    return g && (has_symbol(&g->inputs, symbol) || has_symbol(&g->outputs, symbol) ||
                 has_symbol(&g->value_infos, symbol));
}

static void check_symbol(struct stated *s, int axis, const char *symbol)
{
    bool known = knows_symbol(s->f->model->graph, symbol);
    vec_each(const struct model_training *, t, &s->f->model->training)
        known = known || knows_symbol(t->algorithm, symbol);
    if (!known)
        WRONG(s, "sharding of '%s': axis %d has the dim_param '%s', which is no dimension of the model",
              s->spec->tensor, axis, symbol);
}

/* dim_value, of several their product. */
static void check_sizes(struct stated *s, int axis, const struct model_sharded_axis *x)
{
    const int64_t size = s->v->shape.dim[axis];
    int64_t said = 1;
    bool all = true;
    vec_each_ptr(const struct model_shards, part, &x->shards) {
        if (part->symbol[0] != '\0')
            check_symbol(s, axis, part->symbol);
        all = all && part->size >= 0 && checked_mul(said, part->size, &said);
    }
    if (all && said != size && !is_assumed(s, size))
        WRONG(s, "sharding of '%s': axis %d is said to have %lld elements, but has %lld", s->spec->tensor, axis,
              (long long)said, (long long)size);
}

static void check_parts(struct stated *s, int axis, int64_t parts)
{
    const int64_t size = s->v->shape.dim[axis] / s->blocks[axis];
    if (parts == 1 || is_assumed(s, size))
        return;
    if (parts > size)
        WRONG(s, "sharding of '%s': axis %d has %lld element%s, fewer than its %lld shards", s->spec->tensor, axis,
              (long long)size, str_plural((size_t)size), (long long)parts);
    else if (size % parts != 0)
        diag_warning(s->f->diag, &s->placed->node->loc,
                     "sharding of '%s': %lld elements of axis %d in %lld shards: they are not equally large",
                     s->spec->tensor, (long long)size, axis, (long long)parts);
}

/* The product of sizes from..to - 1; -1: not all are known, or it is no size. */
static int64_t size_of(const struct model_sharded_axis *x, size_t from, size_t to)
{
    int64_t size = 1;
    for (size_t i = from; i < to; i++)
        if (x->shards.data[i].size < 1 || !checked_mul(size, x->shards.data[i].size, &size))
            return -1;
    return size;
}

/* Of axes that were merged into one of `size` elements: the one that is split is cut within each of so many runs, as
 * those in front of it have elements. 0: several are split, or nobody knows how many runs there are. */
static int64_t runs_of(const struct model_sharded_axis *x, int64_t size)
{
    size_t at = 0;
    while (at < x->shards.count && x->shards.data[at].count == 1)
        at++;
    for (size_t k = at + 1; k < x->shards.count; k++)
        if (x->shards.data[k].count > 1)
            return 0;
    const int64_t runs = at < x->shards.count ? size_of(x, 0, at) : 1, inner = size_of(x, at, x->shards.count);
    if (runs > 0)
        return size % runs == 0 ? runs : 0;
    return inner > 0 && size % inner == 0 ? size / inner : 0;
}

static void read_axis(struct stated *s, const struct model_sharded_axis *x)
{
    int axis;
    if (!shape_axis(s->v->shape.rank, x->axis, &axis)) {
        WRONG(s, "sharding of '%s': axis %lld is none of a tensor of rank %d", s->spec->tensor, (long long)x->axis,
              s->v->shape.rank);
        return;
    }
    for (int i = 0; i < s->listed; i++)
        if (s->order[i] == axis) {
            WRONG(s, "sharding of '%s': axis %lld is axis %d, which is listed as well", s->spec->tensor,
                  (long long)x->axis, axis);
            return;
        }
    s->order[s->listed++] = axis;
    vec_each_ptr(const struct model_shards, part, &x->shards)
        s->parts[axis] *= part->count; /* at most as many as there are entries of device */
    const int64_t runs = runs_of(x, s->v->shape.dim[axis]);
    s->blocks[axis] = runs > 0 ? runs : 1;
    s->odd = s->odd || runs == 0;
    check_sizes(s, axis, x);
    check_parts(s, axis, s->parts[axis]);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* The shard that entry i of device holds. */
static size_t shard_of_entry(const struct stated *s, const struct shards *to, size_t i)
{
    int64_t at[SHAPE_MAX_RANK] = {0};
    size_t shard = 0;
    for (int k = s->listed; k-- > 0; i /= (size_t)s->parts[s->order[k]])
        at[s->order[k]] = (int64_t)(i % (size_t)s->parts[s->order[k]]);
    for (int d = 0; d < to->rank; d++)
        shard = shard * (size_t)to->parts[d] + (size_t)at[d];
    return shard;
}

static void put_entry(const struct stated *s, struct shards *to, size_t shard, int64_t entry)
{
    vec_each_ptr(const struct model_device_group, g, &s->spec->groups)
        if (g->key == entry) {
            for (size_t i = 0; i < g->devices.count; i++)
                shard_add(&s->f->pool, to, shard, (int)g->devices.data[i]);
            return;
        }
    shard_add(&s->f->pool, to, shard, (int)entry);
}

const struct shards *stated_shards(struct follower *f, const struct placed *p, const struct value *v, bool output,
                                   bool *stated)
{
    struct stated s = {.f = f, .placed = p, .spec = p ? find_spec(f, p, v, output) : NULL, .v = v};
    *stated = s.spec != NULL;
    if (!s.spec)
        return NULL;
    for (int d = 0; d < SHAPE_MAX_RANK; d++)
        s.parts[d] = s.blocks[d] = 1;
    vec_each_ptr(const struct model_sharded_axis, x, &s.spec->axes)
        read_axis(&s, x);
    if (s.wrong || s.odd)
        return NULL;
    struct arena scratch = {0};
    struct shards *const made = shards_new(&f->pool, &scratch, v->shape.rank, s.parts, s.blocks);
    for (size_t i = 0; made && i < s.spec->devices.count; i++)
        put_entry(&s, made, shard_of_entry(&s, made, i), s.spec->devices.data[i]);
    const struct shards *const own = made ? shards_keep(&f->pool, made) : NULL;
    arena_free(&scratch);
    return own;
}
