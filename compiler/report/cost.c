/* What one call of a kernel costs: arithmetic and traffic, from its loops and the shapes of its nodes. */
#include "graph/region.h"
#include "lower/items.h"
#include "lower/product.h"
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

static int64_t flops_of_part(const struct part *p)
{
    int64_t flops = points(p, true) * operations_of_stores(p);
    if (p->element)
        flops += points(p, false) * (dtype_is_float(p->element->dtype) + operations(p->element));
    return flops;
}

/* Its loops count a row as often as it is in a block. */
static int64_t flops_of_stage(const struct kernel *k)
{
    int64_t flops;
    (void)cost_flops(k, &flops);
    return flops;
}

static bool add_flops_of_region(const struct kernel_region *r, int64_t *flops)
{
    bool known = true;
    vec_each(const struct kernel *, k, &r->body->kernels) {
        int64_t of_step;
        known &= cost_flops(k, &of_step);
        *flops += of_step * r->region->trips.most;
    }
    return known;
}

bool cost_flops(const struct kernel *k, int64_t *flops)
{
    const bool is_template = k->kind == KERNEL_TEMPLATE;
    bool known = !is_template || k->tmpl.flops > 0;
    *flops = is_template ? k->tmpl.flops * kernel_outer_count(k) : 0;
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_PART: *flops += flops_of_part(it.part); break;
        case ITEM_STAGE: *flops += flops_of_stage(it.stage) / k->blocks.rows; break;
        case ITEM_REGION: known &= add_flops_of_region(it.region, flops); break;
        case ITEM_LOOP: /* kernel_outer_count() */
        case ITEM_INT:
        case ITEM_SCRATCH:
        case ITEM_CHECK:
        case ITEM_OPERAND:
        case ITEM_OWN: break;
        }
    return known;
}

int64_t report_flops(const struct kernel *k)
{
    int64_t flops;
    (void)cost_flops(k, &flops);
    return flops;
}

static int64_t overhead_of(const struct kernel *k)
{
    int64_t sum = k->kind == KERNEL_TEMPLATE ? k->tmpl.overhead * kernel_outer_count(k) : 0;
    for (size_t i = 0; k->kind == KERNEL_REGION && i < k->region->body->kernels.count; i++)
        sum += overhead_of(k->region->body->kernels.data[i]) * k->region->region->trips.most;
    return sum;
}

int64_t report_work(const struct kernel *k)
{
    return report_flops(k) + overhead_of(k);
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
    t->seen.count = 0;
    expr_each_load(o->value, touch, t);
    t->part = NULL;
}

/* Of a product's operands M x K and K x N elements for each of the outer places that differ; of others
 * the whole buffer. `at`: which operand it is. */
static void touch_operand(struct touched *t, const struct kernel *k, const struct operand *o, size_t at)
{
    if (o->value) {
        touch_value(t, o);
        return;
    }
    const struct access *const a = &o->access;
    struct product_sizes s;
    const bool is_product = product_has_sizes(k, &s);
    const bool swapped = kernel_int(k, "SWAPPED") == 1;
    int64_t count = !is_product ? a->buffer->count : (at == 0) != swapped ? s.m * s.k : s.k * s.n;
    for (int d = 0; is_product && d < k->outer_rank; d++)
        count *= a->stride[d] != 0 ? k->outer_extent[d] : 1;
    add_count(t, a->buffer, count);
}

static void touch_check(struct touched *reads, const struct check *c)
{
    struct part loops = {.rank = c->rank};
    memcpy(loops.extent, c->extent, sizeof c->extent);
    reads->part = &loops;
    expr_each_load(c->value, touch, reads);
    reads->part = NULL;
}

static void touch_part(struct touched *reads, struct touched *writes, const struct part *p)
{
    reads->part = writes->part = p;
    reads->seen.count = 0; /* strides mean something else in other loops */
    writes->seen.count = 0;
    part_each_load(p, touch, reads);
    vec_each_ptr(const struct store, s, &p->stores)
        touch(&s->to, writes);
}

static void touch_kernel(struct touched *reads, struct touched *writes, const struct kernel *k)
{
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_CHECK: touch_check(reads, it.check); break;
        case ITEM_OPERAND: touch_operand(reads, k, it.operand, it.at); break;
        case ITEM_PART: touch_part(reads, writes, it.part); break;
        case ITEM_STAGE: touch_kernel(reads, writes, it.stage); break;
        case ITEM_LOOP:
        case ITEM_INT:
        case ITEM_SCRATCH: /* which lies in the cache */
        case ITEM_OWN:
        case ITEM_REGION: break; /* cost_bytes() */
        }
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
        *read += read_in_step * k->region->region->trips.most;
        *written += written_in_step * k->region->region->trips.most;
    }
    arena_free(&scratch);
}
