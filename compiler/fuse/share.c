#include "fuse/fuse.h"

#include "lower/items.h"
#include "lower/targets.h"

/* ---- the cost model ---------------------------------------------------------------------------------------------- */

/* A kernel is cut
 *
 * - from target_thread() operations on. On x86 threads that wait for work start and meet again within two microseconds,
 *   in which one core does a good part of 200,000; what the other core then has in its cache must come over. DS-CNN and
 *   GPT take a tenth less time than with five times as many; the MLP 64-32-10, whose largest product has 131,072, takes
 *   three times as long if that is cut;
 * - where two first caches would be written: one core would fetch what the other has in its cache, at a quarter of the
 *   rate of its own (65,536 elements added by one core between kernels of two: 10 us, alone 3);
 * - where sums go over what is far, half of which would come over. */
/* Operations at each point of a part, loads included. */
static int64_t part_cost(const struct part *p)
{
    int64_t points = 1, outputs = 1, cost = 0;
    for (int d = 0; d < p->rank; d++) {
        points *= p->extent[d];
        outputs *= part_keeps(p, d) ? p->extent[d] : 1;
    }
    for (size_t s = 0; s < p->stores.count; s++)
        cost += outputs * expr_cost(p->stores.data[s].value);
    return p->element ? cost + points * expr_cost(p->element) : cost;
}

static int64_t kernel_cost(const struct kernel *k)
{
    int64_t cost = k->kind == KERNEL_TEMPLATE ? k->tmpl.flops * kernel_outer_count(k) : 0;
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_PART: cost += part_cost(it.part); break;
        case ITEM_STAGE: /* whose loops count a row as often as it is in a block */
            cost += kernel_cost(it.stage) / k->blocks.rows;
            break;
        case ITEM_LOOP: /* kernel_outer_count() */
        case ITEM_INT:
        case ITEM_SCRATCH:
        case ITEM_CHECK:
        case ITEM_OPERAND:
        case ITEM_OWN:
        case ITEM_REGION: break; /* never cut */
        }
    return cost;
}

static int64_t bytes_written(const struct kernel *k)
{
    struct arena scratch = {0};
    buffer_list writes = {0};
    int64_t bytes = 0;
    kernel_writes(&scratch, k, &writes);
    for (size_t i = 0; i < writes.count; i++)
        bytes += writes.data[i]->count * (int64_t)dtype_size(writes.data[i]->dtype);
    arena_free(&scratch);
    return bytes;
}

static int64_t elements_summed(const struct kernel *k)
{
    int64_t count = 0;
    for (size_t p = 0; p < k->parts.count; p++) {
        int64_t points = k->parts.data[p].element ? 1 : 0;
        for (int d = 0; d < k->parts.data[p].rank; d++)
            points *= k->parts.data[p].extent[d];
        count += points;
    }
    return count;
}

bool share_is_worth(const struct kernel *k, const struct target *t)
{
    return kernel_cost(k) >= target_thread(t) || bytes_written(k) / 2 >= target_near(t) ||
           elements_summed(k) >= target_far(t) / (int64_t)sizeof(float);
}

/* ---- what touches what ------------------------------------------------------------------------------------------- */

struct work_sharing {
    struct lowered *lowered;
    int shares;
    int *kernels; /* [buffer id]: so many kernels of the entry touch it */
};

static void count_kernels(struct work_sharing *s)
{
    const struct lowered *const l = s->lowered;
    s->kernels = arena_array(l->arena, int, l->buffers.count);
    for (size_t i = 0; i < l->kernels.count; i++) {
        struct arena scratch = {0};
        buffer_list touched = {0};
        kernel_reads(&scratch, l->kernels.data[i], &touched);
        kernel_writes(&scratch, l->kernels.data[i], &touched); /* each once */
        vec_each(const struct buffer *, b, &touched)
            s->kernels[b->id]++;
        arena_free(&scratch);
    }
}

/* ---- what can be cut --------------------------------------------------------------------------------------------- */

/* Does every output change along dim d of its part, which then belongs to one share alone? */
static bool outputs_change_along(const struct kernel *k, int d)
{
    kernel_each_store(k, p, s)
        if (s->to.stride[d] == 0)
            return false;
    return true;
}

/* What has a computed place may meet what another share writes. */
static bool has_computed_place(const struct kernel *k)
{
    kernel_each_store(k, p, s)
        if (s->to.term_count > 0)
            return true;
    return false;
}

static bool loads_written(const struct expr *e, void *part)
{
    const struct part *const p = part;
    vec_each_ptr(const struct store, s, &p->stores)
        if (e->op == EXPR_LOAD && s->to.buffer == e->access->buffer)
            return true;
    return false;
}

/* Does one of the two read what the other writes? Another share may be ahead with it. */
static bool meet(struct part *x, struct part *y)
{
    return part_any(x, loads_written, y) || part_any(y, loads_written, x);
}

/* Loops without rows around them are cut at the outermost over outputs, whichever that is; none needs what another
 * computes, or overwrites what another needs. */
static bool can_cut_nests(const struct kernel *k)
{
    for (size_t p = 0; p < k->parts.count; p++) {
        struct part *const part = &k->parts.data[p];
        bool has_loop = false;
        for (int d = 0; d < part->rank; d++) {
            if (part->reduced[d] || part->extent[d] == 1)
                continue;
            has_loop = true;
            for (size_t s = 0; s < part->stores.count; s++)
                if (part->stores.data[s].to.stride[d] == 0)
                    return false;
        }
        for (size_t before = 0; before < p; before++)
            if (meet(part, &k->parts.data[before]))
                return false;
        if (!has_loop)
            return false;
    }
    return true;
}

static bool is_own(const struct kernel *k, const struct buffer *b)
{
    bool own = b->kind == BUFFER_LOCAL;
    for (size_t i = 0; i < k->own.count; i++)
        own |= k->own.data[i].buffer == b;
    return own;
}

/* Loops around all parts are cut at the outermost. Local variables are each iteration's own; memory that holds one row
 * for the parts of an iteration, each share gets for itself. */
static bool cut_rows(const struct work_sharing *sharing, struct kernel *k)
{
    int d = 0;
    while (d < k->rows && k->parts.data[0].extent[d] == 1)
        d++;
    if (d == k->rows)
        return false;
    kernel_each_store(k, p, s) {
        struct buffer *const b = s->to.buffer;
        if (s->to.stride[d] != 0 || b->kind == BUFFER_LOCAL || is_own(k, b))
            continue;
        if (b->kind != BUFFER_TEMP || sharing->kernels[b->id] > 1) {
            k->own.count = 0;
            return false;
        }
        vec_push(sharing->lowered->arena, &k->own, ((struct own){b, "row"}));
    }
    return true;
}

/* A loop around the rows along which all that the stages leave behind changes. */
static bool cut_stages(struct kernel *k, int shares)
{
    for (int d = 0; d + 1 < k->outer_rank; d++) {
        bool ok = k->outer_extent[d] >= shares;
        for (size_t i = 0; i < k->blocks.stages.count; i++)
            vec_each_ptr(const struct part, part, &k->blocks.stages.data[i]->parts)
                for (size_t s = 0; s < part->stores.count; s++)
                    ok &= is_own(k, part->stores.data[s].to.buffer) ||
                          (part->stores.data[s].to.term_count == 0 && part->stores.data[s].to.stride[d] != 0);
        if (!ok)
            continue;
        k->cut.outer = d;
        return true;
    }
    return false;
}

static void multiply(struct kernel *k, int shares)
{
    for (size_t i = 0; i < k->own.count; i++) {
        struct buffer *const b = k->own.data[i].buffer;
        b->count = (b->count + SHARE_LINE - 1) / SHARE_LINE * SHARE_LINE * shares;
        b->shape = SHAPE(b->count);
    }
}

struct plane {
    const struct buffer *buffer;
    int dim;        /* loop over channels */
    int64_t stride; /* of one */
};

static bool loads_plane(const struct expr *e, void *data)
{
    const struct plane *p = data;
    return e->op == EXPR_LOAD && e->access->buffer == p->buffer && e->access->stride[p->dim] == p->stride;
}

/* Do the shares of the kernel have channels of the buffer, each a plane of `size` elements? */
static bool has_channels(const struct kernel *k, const struct buffer *b, int64_t channels, int64_t size)
{
    struct plane plane = {.buffer = b, .stride = size};
    bool found = false;
    while (plane.dim < k->rows && k->parts.data[0].extent[plane.dim] == 1)
        plane.dim++;
    if (k->kind != KERNEL_LOOPS || plane.dim == k->rows || k->parts.data[0].extent[plane.dim] != channels)
        return false;
    vec_each_ptr(const struct part, p, &k->parts)
        found = found || part_any(p, loads_plane, &plane);
    kernel_each_store(k, p, s)
        found = found || (s->to.buffer == b && s->to.stride[plane.dim] == size);
    return found;
}

/* By channels instead of other pieces where batch normalization is cut so that reads the result, or writes what they
 * read: else half of that would come from the other core's cache (a layer of DS-CNN with two threads: 0.15 instead of
 * 0.18 ms). */
static void choose_channels(struct lowered *l, struct kernel *k, int shares)
{
    bool beside = false;
    buffer_list touched = {0};
    kernel_reads(l->arena, k, &touched);
    kernel_writes(l->arena, k, &touched);
    for (size_t b = 0; b < touched.count; b++)
        for (size_t i = 0; i < l->kernels.count && !beside; i++)
            beside = has_channels(l->kernels.data[i], touched.data[b], k->cut.channels, k->cut.plane[0]) ||
                     has_channels(l->kernels.data[i], touched.data[b], k->cut.channels, k->cut.plane[1]);
    if (k->cut.channels < shares || (k->cut.pieces >= shares && !beside))
        return;
    kernel_set_int(k, "CUT_CHANNELS", 1);
    k->cut.pieces = k->cut.channels;
}

static bool cut_template(const struct work_sharing *s, struct kernel *k)
{
    const int shares = s->shares;
    for (int d = 0; d < k->outer_rank; d++) {
        if (k->outer_extent[d] < shares || !outputs_change_along(k, d))
            continue;
        k->cut.outer = d;
        return true;
    }
    k->cut.outer = -1;
    if (k->cut.channels > 0)
        choose_channels(s->lowered, k, shares);
    return k->tmpl.traits->cut ? k->tmpl.traits->cut(k, shares, s->lowered->target) : k->cut.pieces >= shares;
}

static bool can_cut(const struct work_sharing *s, struct kernel *k)
{
    if (k->kind == KERNEL_TEMPLATE)
        return cut_template(s, k);
    if (k->kind == KERNEL_STAGES)
        return cut_stages(k, s->shares);
    return k->rows > 0 ? cut_rows(s, k) : can_cut_nests(k);
}

static void cut(const struct work_sharing *s, struct kernel *k)
{
    const bool in_library = k->kind == KERNEL_TEMPLATE && k->tmpl.traits->is_in_library;
    if (in_library || k->kind == KERNEL_REGION || kernel_only_checks(k) || !share_is_worth(k, s->lowered->target) ||
        has_computed_place(k) || !can_cut(s, k))
        return;
    k->cut.shares = s->shares;
    multiply(k, s->shares);
    if (k->scratch.buffer) {
        k->scratch.count = (k->scratch.count + SHARE_LINE - 1) / SHARE_LINE * SHARE_LINE;
        k->scratch.buffer->count = k->scratch.count * s->shares;
        k->scratch.buffer->shape = SHAPE(k->scratch.buffer->count);
    }
}

void share_kernels(struct lowered *l, int shares)
{
    struct work_sharing s = {.lowered = l, .shares = shares};
    if (shares <= 1)
        return;
    count_kernels(&s);
    for (size_t i = 0; i < l->kernels.count; i++)
        cut(&s, l->kernels.data[i]);
}
