/* How the results of a node lie if its operands lie like this: parts of axes that run together meet on the devices that
 * have all of them; where a result lacks an axis, its parts are put together, and all those devices have it.
 * Spec: ONNX docs/proposals/ShardingFormalism.md for the operators that it names; docs/readings.md, R45 on. */
#include "devices/follow_internal.h"

#include "base/str.h"
#include "graph/axes.h"
#include <string.h>

struct combination {
    struct follower *f;
    const struct node *n;
    struct axes_ctx axes;
    struct arena scratch;
    const struct shards **in;
    int64_t *parts, *blocks;    /* by label */
    const struct value **whose; /* by label: the first operand that has it in parts */
    bool failed;
};

#define FIND(c, ...) ((c)->f->ok = diag_error((c)->f->diag, &(c)->n->loc, __VA_ARGS__), (c)->failed = true)

static const char *label_text(const struct combination *c, const struct value *v, int axis)
{
    return arena_printf(c->f->diag->arena, "axis %d of '%s'", axis, v->name);
}

/* What has to be whole is put together first. */
static void collect(struct combination *c, size_t i, int axis, const char *why)
{
    const struct value *const v = c->n->inputs.data[i];
    note_move(c->f, c->n, "%s is split, but %s: its parts are collected in front of the node", label_text(c, v, axis),
              why);
    c->failed = c->failed || c->f->executes;
    c->in[i] = shards_collected(&c->f->pool, c->in[i], axis);
}

static void note_parts(struct combination *c, size_t i, int axis)
{
    const struct value *const v = c->n->inputs.data[i];
    const int64_t parts = c->in[i]->parts[axis], blocks = c->in[i]->blocks[axis];
    const int label = c->axes.in[i][axis];
    if (parts == 1)
        return;
    if (label == AXIS_WHOLE)
        collect(c, i, axis, arena_printf(c->f->diag->arena, "%s needs all of it", op_display_name(c->n->def)));
    else if (c->parts[label] == 1)
        c->parts[label] = parts, c->blocks[label] = blocks, c->whose[label] = v;
    else if (c->parts[label] == parts && c->blocks[label] != blocks)
        FIND(c, "%s is split within each of %lld run%s, but runs along with an axis of '%s' that is split within each "
                "of %lld",
             label_text(c, v, axis), (long long)blocks, str_plural((size_t)blocks), c->whose[label]->name,
             (long long)c->blocks[label]);
    else if (c->parts[label] != parts)
        FIND(c, "%s is split into %lld, but runs along with an axis of '%s' that is split into %lld",
             label_text(c, v, axis), (long long)parts, c->whose[label]->name, (long long)c->parts[label]);
}

/* The shard that an operand or a result has at a point: each label's part. A whole axis has the part, too. */
static size_t shard_at_point(const struct shards *s, const int *labels, const int64_t *point)
{
    size_t shard = 0;
    for (int d = 0; d < s->rank; d++)
        shard = shard * (size_t)s->parts[d] + (s->parts[d] > 1 ? (size_t)point[labels[d]] : 0);
    return shard;
}

/* Devices that have what the point needs; false: none has. */
static bool devices_at(struct combination *c, const int64_t *point, uint64_t *set)
{
    const struct shard_pool *const p = &c->f->pool;
    size_t before = 0; /* the last operand: no set of one alone is empty */
    memset(set, 0xff, p->words * sizeof *set);
    for (size_t i = 0; i < c->n->inputs.count; i++) {
        const struct value *const v = c->n->inputs.data[i];
        if (!v)
            continue;
        const size_t shard = shard_at_point(c->in[i], c->axes.in[i], point);
        set_keep(p, set, shard_set(p, c->in[i], shard));
        if (set_is_empty(p, set)) {
            FIND(c, "no device has what belongs together: '%s' is %s, '%s' is %s", c->n->inputs.data[before]->name,
                 shards_text(c->f->diag->arena, p, c->in[before]), v->name,
                 shards_text(c->f->diag->arena, p, c->in[i]));
            return false;
        }
        before = i;
    }
    return true;
}

static bool next_point(const struct combination *c, int64_t *point)
{
    for (int l = c->axes.labels; l-- > AXIS_WHOLE + 1;) {
        if (++point[l] < c->parts[l])
            return true;
        point[l] = 0;
    }
    return false;
}

static struct shards *empty_result(struct combination *c, size_t o)
{
    const struct value *const v = c->n->outputs.data[o];
    int64_t parts[SHAPE_MAX_RANK], blocks[SHAPE_MAX_RANK];
    for (int d = 0; d < v->shape.rank; d++) {
        const int label = c->axes.out[o][d];
        parts[d] = label == AXIS_WHOLE ? 1 : c->parts[label];
        blocks[d] = label == AXIS_WHOLE ? 1 : c->blocks[label];
    }
    return shards_new(&c->f->pool, &c->scratch, v->shape.rank, parts, blocks);
}

static void fill_results(struct combination *c, const struct shards **out)
{
    const size_t count = c->n->outputs.count;
    struct shards **const made = arena_array(&c->scratch, struct shards *, count);
    int64_t *const point = arena_array(&c->scratch, int64_t, (size_t)c->axes.labels);
    uint64_t *const set = arena_array(&c->scratch, uint64_t, c->f->pool.words);
    int64_t points = 1;
    for (int l = 0; l < c->axes.labels; l++)
        if ((points *= c->parts[l]) > MOST_SHARDS) /* each factor is at most that */
            return;
    for (size_t o = 0; o < count; o++)
        made[o] = c->n->outputs.data[o] ? empty_result(c, o) : NULL;
    do {
        if (!devices_at(c, point, set))
            return;
        for (size_t o = 0; o < count; o++)
            if (made[o])
                set_add(&c->f->pool, shard_set(&c->f->pool, made[o], shard_at_point(made[o], c->axes.out[o], point)),
                        set);
    } while (next_point(c, point));
    for (size_t o = 0; o < count; o++)
        out[o] = made[o] ? shards_keep(&c->f->pool, made[o]) : NULL;
}

/* ---- reshapes ---------------------------------------------------------------------------------------------------- */

/* The same elements in the same order, so shards keep theirs. */
static void reshape(struct combination *c, const struct shards **out)
{
    const struct shape *const x = &c->n->inputs.data[0]->shape, *const y = &c->n->outputs.data[0]->shape;
    int64_t parts[SHAPE_MAX_RANK], blocks[SHAPE_MAX_RANK];
    int last = -1;
    for (int d = 0; d < y->rank; d++)
        parts[d] = blocks[d] = 1;
    for (int d = 0; d < x->rank; d++) {
        const struct shards *const in = c->in[0];
        struct parted_axis to = {d, in->parts[d], in->blocks[d]};
        if (in->parts[d] == 1)
            continue;
        if (!reshape_parted(x, y, c->f->options->assumed, &to) || to.axis <= last) {
            collect(c, 0, d, "no axis of the result has these parts");
            continue;
        }
        last = to.axis;
        parts[last] = to.parts;
        blocks[last] = to.blocks;
    }
    if (c->failed)
        return;
    struct shards *const made = shards_new(&c->f->pool, &c->scratch, y->rank, parts, blocks);
    for (size_t i = 0; i < made->count; i++)
        set_add(&c->f->pool, shard_set(&c->f->pool, made, i), shard_set(&c->f->pool, c->in[0], i));
    out[0] = shards_keep(&c->f->pool, made);
}

/* ---- all nodes --------------------------------------------------------------------------------------------------- */

/* Nothing is known of the operator: operands must be whole. */
static void demand_whole(struct combination *c)
{
    for (size_t i = 0; i < c->n->inputs.count; i++)
        for (int d = 0; c->n->inputs.data[i] && d < c->in[i]->rank; d++)
            if (c->in[i]->parts[d] > 1)
                collect(c, i, d,
                        arena_printf(c->f->diag->arena, "there is no rule for %s", op_display_name(c->n->def)));
}

void combine_shards(struct follower *f, const struct node *n, const struct shards **in, const struct shards **out)
{
    struct combination c = {.f = f, .n = n, .in = in};
    bool followed = true;
    for (size_t i = 0; i < n->inputs.count; i++)
        followed = followed && (n->inputs.data[i] == NULL || in[i] != NULL);
    for (size_t o = 0; o < n->outputs.count; o++)
        out[o] = NULL;
    if (!followed && !n->def->is_structural)
        return;
    if (n->def->is_structural) { /* Gradient: a derivative lies as what it is one by; sums over samples are within */
        for (size_t o = 0; o < n->outputs.count; o++)
            out[o] = in[o];
        return;
    }
    if (n->def->is_reshape) {
        if (n->outputs.data[0])
            reshape(&c, out);
        arena_free(&c.scratch);
        return;
    }
    const bool ruled = node_axes(&c.scratch, n, &c.axes);
    c.blocks = arena_array(&c.scratch, int64_t, (size_t)c.axes.labels);
    c.parts = arena_array(&c.scratch, int64_t, (size_t)c.axes.labels);
    c.whose = arena_array(&c.scratch, const struct value *, (size_t)c.axes.labels);
    for (int l = 0; l < c.axes.labels; l++)
        c.parts[l] = c.blocks[l] = 1;
    if (!ruled)
        demand_whole(&c);
    for (size_t i = 0; i < n->inputs.count && ruled; i++)
        for (int d = 0; n->inputs.data[i] && d < in[i]->rank && !c.failed; d++)
            note_parts(&c, i, d);
    if (!c.failed)
        fill_results(&c, out);
    arena_free(&c.scratch);
}
