/* Which C type holds every index of a kernel, and is there one? Loop nests take the smallest that does. Templates
 * count with int inside their outer loops, whose indices are as wide as they have to be: what one iteration of those
 * loops spans must fit. */
#include "base/checked.h"
#include "lower/items.h"
#include "lower/targets.h"

#include <inttypes.h>

/* Added to indices before they are compared: lanes and blocks in loop nests; tiles, panels and padding in templates. */
enum { LOOP_MARGIN = 128, TEMPLATE_MARGIN = 4096, TEMPLATE_MOST = INT32_MAX - TEMPLATE_MARGIN };

/* of one kernel: days of work. Products with the cost of a step stay within int64 */
#define MOST_STEPS ((int64_t)1 << 48)

/* ---- sums that stop at the end ----------------------------------------------------------------------------------- */

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return checked_add(a, b, &sum) ? sum : INT64_MAX;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return checked_mul(a, b, &product) ? product : INT64_MAX;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t points_of(const int64_t *extent, int rank)
{
    int64_t points = 1;
    for (int d = 0; d < rank; d++)
        if (extent[d] == 0)
            return 0;
    for (int d = 0; d < rank; d++)
        points = times(points, extent[d]);
    return points;
}

/* ---- how far indices go ------------------------------------------------------------------------------------------ */

struct reach {
    const int64_t *extent;
    int first, rank; /* of the loops that count */
    int64_t most;
    const struct buffer *where; /* it is that far */
};

/* Steps forward and back separately: that is how far partial sums get. Computed indices (terms) are int64_t in C. */
static void add_access(const struct access *a, void *data)
{
    struct reach *r = data;
    int64_t forward = 0, back = 0;
    for (int d = r->first; d < r->rank; d++) {
        const int64_t stride = a->stride[d], steps = r->extent[d] > 0 ? r->extent[d] - 1 : 0;
        if (stride > 0)
            forward = plus(forward, times(stride, steps));
        else if (stride < 0)
            back = plus(back, times(-stride, steps));
    }
    if (larger(forward, back) <= r->most)
        return;
    r->most = larger(forward, back);
    r->where = a->buffer;
}

static void add_part(struct reach *r, const struct part *p, int first)
{
    r->extent = p->extent;
    r->first = first;
    r->rank = p->rank;
    if (p->element)
        expr_each_load(p->element, add_access, r);
    for (size_t s = 0; s < p->stores.count; s++) {
        add_access(&p->stores.data[s].to, r);
        expr_each_load(p->stores.data[s].value, add_access, r);
    }
}

static void add_check(struct reach *r, const struct check *c)
{
    r->extent = c->extent;
    r->first = 0;
    r->rank = c->rank;
    expr_each_load(c->value, add_access, r);
}

static int64_t most_index(const struct kernel *k)
{
    struct reach r = {0};
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_SCRATCH: r.most = larger(r.most, it.scratch->count); break;
        case ITEM_CHECK: add_check(&r, it.check); break;
        case ITEM_OPERAND: r.most = larger(r.most, it.operand->access.buffer->count); break;
        case ITEM_PART:
            r.most = larger(r.most, points_of(it.part->extent, it.part->rank));
            add_part(&r, it.part, 0);
            break;
        case ITEM_STAGE: r.most = larger(r.most, most_index(it.stage)); break;
        case ITEM_LOOP:
        case ITEM_INT:
        case ITEM_OWN: /* kernel_writes() */
        case ITEM_REGION: break;
        }
    struct arena scratch = {0};
    buffer_list touched = {0};
    kernel_reads(&scratch, k, &touched);
    kernel_writes(&scratch, k, &touched);
    for (size_t i = 0; i < touched.count; i++)
        r.most = larger(r.most, touched.data[i]->count);
    arena_free(&scratch);
    return r.most;
}

const char *kernel_index_type(const struct kernel *k, const struct target *t)
{
    return target_index_type(t, plus(most_index(k), LOOP_MARGIN + 1));
}

/* ---- what cannot be compiled ------------------------------------------------------------------------------------- */

static bool too_wide(struct diag *d, const struct loc *at, const char *what, int64_t count)
{
    return diag_error(d, at,
                      "%s spans %" PRId64
                      " elements within one iteration of the kernel's outer loops, whose indices there have 32 bits: "
                      "at most %d are compiled; a smaller batch may do",
                      what, count, TEMPLATE_MOST);
}

/* Elements between the first and the last that a template may touch in one iteration. */
static int64_t span_of(const struct kernel *k, const struct access *a)
{
    int64_t outer = 0;
    for (int d = 0; d < k->outer_rank; d++)
        if (k->outer_extent[d] > 0)
            outer = plus(outer, times(a->stride[d] < 0 ? -a->stride[d] : a->stride[d], k->outer_extent[d] - 1));
    return a->buffer->count - (outer < a->buffer->count ? outer : a->buffer->count);
}

static bool template_fits(struct diag *d, const struct loc *at, const struct kernel *k)
{
    struct reach r = {0};
    for (int o = 0; o < k->tmpl.operand_count; o++) {
        const struct buffer *b = k->tmpl.operands[o].access.buffer;
        const int64_t span = span_of(k, &k->tmpl.operands[o].access);
        if (span > TEMPLATE_MOST)
            return too_wide(d, at, arena_printf(d->arena, "'%s'", b->name), span);
    }
    for (size_t p = 0; p < k->parts.count; p++)
        add_part(&r, &k->parts.data[p], k->outer_rank);
    if (r.most > TEMPLATE_MOST)
        return too_wide(d, at, arena_printf(d->arena, "'%s'", r.where->name), r.most);
    const int64_t scratch = k->scratch.buffer ? larger(k->scratch.buffer->count, k->scratch.count) : 0;
    if (scratch > TEMPLATE_MOST)
        return too_wide(d, at, "its work memory", scratch);
    for (int i = 0; i < k->tmpl.int_count; i++)
        if (!k->tmpl.ints[i].is_data && k->tmpl.ints[i].value > TEMPLATE_MOST)
            return too_wide(d, at, "one of its sizes or distances", k->tmpl.ints[i].value);
    return true;
}

static bool too_long(struct diag *d, const struct loc *at)
{
    return diag_error(d, at, "a kernel of more than 2^48 steps is not compiled");
}

static bool kernel_fits(struct diag *d, const struct loc *at, const struct kernel *k)
{
    kernel_each_item(it, k) {
        if (it.kind == ITEM_STAGE && !kernel_fits(d, at, it.stage))
            return false;
        if (it.kind == ITEM_PART && points_of(it.part->extent, it.part->rank) > MOST_STEPS)
            return too_long(d, at);
    }
    if (k->kind == KERNEL_TEMPLATE && times(k->tmpl.flops, points_of(k->outer_extent, k->outer_rank)) > MOST_STEPS)
        return too_long(d, at);
    return k->kind != KERNEL_TEMPLATE || template_fits(d, at, k);
}

bool kernels_check_sizes(struct lowered *l)
{
    bool ok = true;
    vec_each(const struct kernel *, k, &l->kernels) {
        const struct loc *at = k->nodes.count > 0 ? &k->nodes.data[0]->loc : &l->entry->graph->loc;
        ok &= k->removed || kernel_fits(l->diag, at, k);
    }
    return ok;
}
