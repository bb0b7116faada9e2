#include "fuse/share.h"

#include "base/str.h"
#include "lower/lower.h"
#include "lower/template.h"

/* ---- the cost model ------------------------------------------------------------------------------------------------ */

/* Threads that wait for work start and meet again within two microseconds, in which one core does a good part of this; what the other
 * core then has in its cache must come over. DS-CNN and GPT take a tenth less time than with five times as many; the MLP 64-32-10, whose
 * largest product has 131,072, takes three times as long if that is cut. */
enum { WORTH_CUTTING = 200000 };

enum { LINE = 16 }; /* elements of scratch that shares begin at multiples of: no two write to one line of memory */

static int64_t outer_count(const struct kernel *k)
{
    int64_t count = 1;
    for (int d = 0; d < k->outer_rank; d++)
        count *= k->outer_extent[d];
    return count;
}

/* Operations at each point of a part, loads included. */
static int64_t part_cost(const struct part *p)
{
    int64_t points = 1, outputs = 1, cost = 0;
    for (int d = 0; d < p->rank; d++) {
        points *= p->extent[d];
        outputs *= p->reduced[d] ? 1 : p->extent[d];
    }
    for (size_t s = 0; s < p->stores.count; s++)
        cost += outputs * expr_cost(p->stores.data[s].value);
    return p->element ? cost + points * expr_cost(p->element) : cost;
}

static int64_t kernel_cost(const struct kernel *k)
{
    int64_t cost = k->tmpl ? k->flops * outer_count(k) : 0;
    for (size_t p = 0; p < k->parts.count; p++)
        cost += part_cost(&k->parts.data[p]);
    for (size_t i = 0; i < k->stages.count; i++) /* whose loops count a row as often as it is in a block */
        cost += kernel_cost(k->stages.data[i]) / k->block;
    return cost;
}

/* ---- what can be cut ----------------------------------------------------------------------------------------------- */

/* Does every output change along dim d of its part, which then belongs to one share alone? */
static bool outputs_change_along(const struct kernel *k, int d)
{
    for (size_t p = 0; p < k->parts.count; p++)
        for (size_t s = 0; s < k->parts.data[p].stores.count; s++)
            if (k->parts.data[p].stores.data[s].to.stride[d] == 0)
                return false;
    return true;
}

/* Loops that may be the one that is cut: those around all parts, else every loop over outputs. */
static bool may_be_cut(const struct kernel *k, const struct part *p, int d)
{
    return !p->reduced[d] && p->extent[d] > 1 && (k->rows == 0 || d < k->rows);
}

/* Do different turns of the loops write different elements? What has a computed place may meet, and so may rows that are kept in
 * memory for the parts of one turn; local variables are each turn's own. */
static bool outputs_apart(const struct kernel *k)
{
    for (size_t p = 0; p < k->parts.count; p++) {
        const struct part *part = &k->parts.data[p];
        for (size_t s = 0; s < part->stores.count; s++) {
            const struct access *to = &part->stores.data[s].to;
            if (to->term_count > 0)
                return false;
            for (int d = 0; d < part->rank && !k->tmpl && to->buffer->kind != BUFFER_LOCAL; d++)
                if (may_be_cut(k, part, d) && to->stride[d] == 0)
                    return false;
        }
    }
    return true;
}

/* The template computes shares itself, of pieces of its results. */
static bool cuts_itself(const struct kernel *k, int shares)
{
    const struct template_kernel *t = template_find(&template_table, k->tmpl);
    return t && template_has_int(t, "SHARES") && k->pieces >= shares;
}

static bool is_own(const struct kernel *k, const struct buffer *b)
{
    bool own = b->kind == BUFFER_LOCAL;
    for (size_t i = 0; i < k->own.count; i++)
        own |= k->own.data[i].buffer == b;
    return own;
}

/* A loop around the rows along which all that the stages leave behind changes. */
static bool cut_stages(struct kernel *k, int shares)
{
    for (int d = 0; d + 1 < k->outer_rank; d++) {
        bool ok = k->outer_extent[d] >= shares;
        for (size_t i = 0; i < k->stages.count; i++)
            for (size_t p = 0; p < k->stages.data[i]->parts.count; p++) {
                const struct part *part = &k->stages.data[i]->parts.data[p];
                for (size_t s = 0; s < part->stores.count; s++)
                    ok &= is_own(k, part->stores.data[s].to.buffer) || (part->stores.data[s].to.term_count == 0 && part->stores.data[s].to.stride[d] != 0);
            }
        if (!ok)
            continue;
        k->share_outer = d;
        return true;
    }
    return false;
}

static void multiply(struct kernel *k, int shares)
{
    for (size_t i = 0; i < k->own.count; i++) {
        struct buffer *const b = k->own.data[i].buffer;
        b->count = (b->count + LINE - 1) / LINE * LINE * shares;
        b->shape = SHAPE(b->count);
    }
}

static bool cut_template(struct kernel *k, int shares)
{
    for (int d = 0; d < k->outer_rank; d++) {
        if (k->outer_extent[d] < shares || !outputs_change_along(k, d))
            continue;
        k->share_outer = d;
        return true;
    }
    k->share_outer = -1;
    if (!cuts_itself(k, shares))
        return false;
    if (str_equal(k->tmpl, "product_blocked"))
        lower_product_cut(k, shares);
    else if (str_equal(k->tmpl, "matrix_vector"))
        lower_matrix_vector_cut(k, shares);
    return true;
}

static void cut(struct kernel *k, int shares)
{
    const bool in_library = k->tmpl && str_equal(k->tmpl, "product_blas"); /* which has threads of its own */
    if (in_library || kernel_cost(k) < WORTH_CUTTING || !outputs_apart(k) || (k->tmpl && !cut_template(k, shares)) ||
        (k->stages.count > 0 && !cut_stages(k, shares)))
        return;
    k->shares = shares;
    multiply(k, shares);
    if (k->scratch) {
        k->scratch_count = (k->scratch_count + LINE - 1) / LINE * LINE;
        k->scratch->count = k->scratch_count * shares;
        k->scratch->shape = SHAPE(k->scratch->count);
    }
}

void share_kernels(struct lowered *l, int shares)
{
    for (size_t i = 0; i < l->kernels.count && shares > 1; i++)
        cut(l->kernels.data[i], shares);
}
