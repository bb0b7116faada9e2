/* What one call of a kernel costs: arithmetic and traffic, from its loops and the shapes of its nodes. */
#include "graph/region.h"
#include "report/report_internal.h"

#include <string.h>

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static int64_t points(const struct part *p, bool kept_only)
{
    int64_t n = 1;
    for (int d = 0; d < p->rank; d++)
        n *= kept_only && !part_keeps(p, d) ? 1 : p->extent[d];
    return n;
}

static bool count_operation(const struct expr *e, void *count)
{
    *(int64_t *)count += e->op >= EXPR_NEG && dtype_is_float(e->dtype) && e->op != EXPR_CAST && e->op != EXPR_BITS;
    return false;
}

static int64_t operations(const struct expr *e)
{
    int64_t count = 0;
    expr_any(e, count_operation, &count);
    return count;
}

/* What several stores have in common is computed once. */
static int64_t operations_of_stores(const struct part *p)
{
    struct arena scratch = {0};
    const struct expr **const values = arena_array(&scratch, const struct expr *, p->stores.count + 1);
    struct tree_call all = {.name = "", .args = values, .count = p->stores.count};
    vec_each_ptr(const struct store, s, &p->stores)
        values[s_at] = s->value;
    const int64_t count = operations(&(struct expr){.op = EXPR_CALL, .dtype = DTYPE_UNDEFINED, .call = &all});
    arena_free(&scratch);
    return count;
}

bool cost_flops(const struct kernel *k, int64_t *flops)
{
    *flops = k->tmpl.flops;
    for (int d = 0; d < k->outer_rank; d++)
        *flops *= k->outer_extent[d];
    for (size_t i = 0; i < k->blocks.stages.count; i++) { /* their loops count a row as often as it is in a block */
        int64_t of_stage;
        cost_flops(k->blocks.stages.data[i], &of_stage);
        *flops += of_stage / k->blocks.rows;
    }
    vec_each_ptr(const struct part, p, &k->parts) {
        if (p->element)
            *flops += points(p, false) * (dtype_is_float(p->element->dtype) + operations(p->element));
        *flops += points(p, true) * operations_of_stores(p);
    }
    bool known = k->kind != KERNEL_TEMPLATE || k->tmpl.flops > 0;
    for (size_t i = 0; k->kind == KERNEL_REGION && i < k->region->body->kernels.count; i++) {
        int64_t of_step;
        known &= cost_flops(k->region->body->kernels.data[i], &of_step);
        *flops += of_step * k->region->region->trips;
    }
    return known;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* How many elements of a buffer some accesses touch: their sum, at most all of it. */
struct touched {
    struct arena *arena;
    const struct part *part; /* around the access at hand */
    VEC(struct access) seen;
    struct map_of_counts {
        const struct buffer *buffer;
        int64_t count;
    } *counts;
    size_t buffers, capacity;
};

static void add_count(struct touched *t, const struct buffer *b, int64_t count)
{
    size_t i = 0;
    while (i < t->buffers && t->counts[i].buffer != b)
        i++;
    if (i == t->buffers) {
        if (t->buffers == t->capacity)
            t->counts = vec_grow(t->arena, t->counts, t->buffers, &t->capacity, sizeof *t->counts,
                                 alignof(struct map_of_counts));
        t->counts[t->buffers++] = (struct map_of_counts){b, 0};
    }
    t->counts[i].count += count < b->count - t->counts[i].count ? count : b->count - t->counts[i].count;
}

static bool same_access(const struct access *x, const struct access *y)
{
    return x->buffer == y->buffer && x->offset == y->offset && !memcmp(x->stride, y->stride, sizeof x->stride) &&
           x->term_count == y->term_count && (x->term_count == 0 || x->term[0].index == y->term[0].index);
}

static void touch(const struct access *access, void *data)
{
    struct touched *t = data;
    int64_t count = 1;
    for (size_t i = 0; i < t->seen.count; i++)
        if (same_access(&t->seen.data[i], access))
            return;
    vec_push(t->arena, &t->seen, *access);
    for (int d = 0; t->part && d < t->part->rank; d++)
        count *= access->stride[d] != 0 || access->term_count ? t->part->extent[d] : 1;
    add_count(t, access->buffer, count);
}

static int64_t total_bytes(const struct touched *t)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < t->buffers; i++)
        bytes += t->counts[i].count * (int64_t)dtype_size(t->counts[i].buffer->dtype);
    return bytes;
}

/* An operand that is computed where it is read: what its expression loads. */
static void touch_value(struct touched *t, const struct operand *o)
{
    struct part loops = {.rank = o->rank};
    memcpy(loops.extent, o->extent, sizeof o->extent);
    t->part = &loops;
    expr_each_load(o->value, touch, t);
    t->part = NULL;
    t->seen.count = 0;
}

/* Of a product's operands M x K and K x N elements for each of the outer places that differ; of others
 * the whole buffer. */
static void touch_operands(struct touched *t, const struct kernel *k)
{
    const int64_t m = kernel_int(k, "M"), n = kernel_int(k, "N"), depth = kernel_int(k, "K");
    const bool is_product = m >= 0 && n >= 0 && depth >= 0;
    const bool swapped = kernel_int(k, "SWAPPED") == 1;
    for (int o = 0; o < k->tmpl.operand_count; o++) {
        const struct access *a = &k->tmpl.operands[o].access;
        if (k->tmpl.operands[o].value) {
            touch_value(t, &k->tmpl.operands[o]);
            continue;
        }
        int64_t count = !is_product ? a->buffer->count : (o == 0) != swapped ? m * depth : depth * n;
        for (int d = 0; is_product && d < k->outer_rank; d++)
            count *= a->stride[d] != 0 ? k->outer_extent[d] : 1;
        add_count(t, a->buffer, count);
    }
}

static void touch_kernel(struct touched *reads, struct touched *writes, const struct kernel *k)
{
    touch_operands(reads, k);
    vec_each_ptr(const struct check, c, &k->checks) {
        struct part loops = {.rank = c->rank};
        memcpy(loops.extent, c->extent, sizeof c->extent);
        reads->part = &loops;
        expr_each_load(c->value, touch, reads);
    }
    vec_each_ptr(const struct part, p, &k->parts) {
        reads->part = writes->part = p;
        reads->seen.count = 0; /* strides mean something else in other loops */
        writes->seen.count = 0;
        part_each_load(p, touch, reads);
        vec_each_ptr(const struct store, s, &p->stores)
            touch(&s->to, writes);
    }
    for (size_t i = 0; i < k->blocks.stages.count; i++)
        touch_kernel(reads, writes, k->blocks.stages.data[i]);
}

void cost_bytes(const struct kernel *k, int64_t *read, int64_t *written)
{
    struct arena scratch = {0};
    struct touched reads = {.arena = &scratch}, writes = {.arena = &scratch};
    touch_kernel(&reads, &writes, k);
    *read = total_bytes(&reads);
    *written = total_bytes(&writes);
    for (size_t i = 0; k->kind == KERNEL_REGION && i < k->region->body->kernels.count; i++) {
        int64_t read_in_step, written_in_step;
        cost_bytes(k->region->body->kernels.data[i], &read_in_step, &written_in_step);
        *read += read_in_step * k->region->region->trips;
        *written += written_in_step * k->region->region->trips;
    }
    arena_free(&scratch);
}
