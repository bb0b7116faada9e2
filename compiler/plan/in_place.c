#include "plan/in_place.h"

#include "lower/items.h"
#include <string.h>

/* A load of a kernel's parts or checks. Walked once: each pair of an operand and a result asks for them. */
struct kernel_load {
    const struct access *access;
    int part; /* -1: in a check */
    enum { IN_ELEMENT, IN_VALUE, IN_PLACE /* in an index of where it is stored */ } where;
};

struct readings {
    struct arena *arena;
    const struct kernel *kernel;
    VEC(struct kernel_load) list;
    struct kernel_load next; /* but for its access */
};

static void note_read(const struct access *access, void *data)
{
    struct readings *const r = data;
    r->next.access = access;
    vec_push(r->arena, &r->list, r->next);
}

static void find_readings(struct readings *r)
{
    const struct kernel *const k = r->kernel;
    r->next = (struct kernel_load){NULL, -1, IN_VALUE};
    for (size_t c = 0; c < k->checks.count; c++)
        expr_each_load(k->checks.data[c].value, note_read, r);
    for (size_t p = 0; p < k->parts.count; p++) {
        const struct part *const part = &k->parts.data[p];
        r->next = (struct kernel_load){NULL, (int)p, IN_ELEMENT};
        if (part->element)
            expr_each_load(part->element, note_read, r);
        for (size_t s = 0; s < part->stores.count; s++) {
            r->next.where = IN_VALUE;
            expr_each_load(part->stores.data[s].value, note_read, r);
            r->next.where = IN_PLACE;
            for (int t = 0; t < part->stores.data[s].to.term_count; t++)
                expr_each_load(part->stores.data[s].to.term[t].index, note_read, r);
        }
    }
}

static bool same_access(const struct access *a, const struct access *b)
{
    return a->offset == b->offset && a->term_count == 0 && b->term_count == 0 &&
           !memcmp(a->stride, b->stride, sizeof a->stride);
}

/* Does the part read the buffer at another element than the one it writes through `own` at the same point?
 * NULL: any read counts. */
static bool part_reads_otherwise(const struct readings *r, size_t p, const struct buffer *b, const struct access *own)
{
    const struct part *const part = &r->kernel->parts.data[p];
    const bool folds = part->reduce != REDUCE_NONE && part->scan != SCAN_WITH;
    vec_each_ptr(const struct kernel_load, it, &r->list) {
        if (it->part != (int)p || it->access->buffer != b)
            continue;
        const bool may_be_own = own && (it->where == IN_VALUE || (it->where == IN_ELEMENT && !folds));
        if (!may_be_own || !same_access(it->access, own))
            return true;
    }
    return false;
}

static bool is_operand(const struct readings *r, const struct buffer *b)
{
    kernel_each_item(it, r->kernel)
        if (it.kind == ITEM_OPERAND && operand_reads(it.operand, b))
            return true;
    vec_each_ptr(const struct kernel_load, load, &r->list)
        if (load->part < 0 && load->access->buffer == b)
            return true;
    return false;
}

static int stores_to(const struct kernel *k, const struct buffer *b)
{
    int n = 0;
    kernel_each_store(k, p, s)
        n += s->to.buffer == b;
    return n;
}

/* Every element of the buffer is written at one point of the loops. */
static bool covers_whole(const struct part *p, const struct access *to)
{
    int64_t count = 1, span = 1;
    for (int d = 0; d < p->rank; d++) {
        if (p->extent[d] == 1 || (p->reduced[d] && to->stride[d] == 0))
            continue;
        if (to->stride[d] <= 0)
            return false;
        count *= p->extent[d];
        span += (p->extent[d] - 1) * to->stride[d];
    }
    return to->offset == 0 && to->term_count == 0 && count == to->buffer->count && span == count;
}

/* Where parts take turns row by row, an earlier one reads its next rows after this store: they must be other rows. */
static bool reads_its_row(const struct readings *r, size_t p, size_t at, const struct access *to,
                          const struct buffer *operand)
{
    const struct kernel *const k = r->kernel;
    vec_each_ptr(const struct kernel_load, it, &r->list)
        if (it->part == (int)p && it->where != IN_PLACE && it->access->buffer == operand &&
            !part_same_row(&k->parts.data[at], to, &k->parts.data[p], it->access, k->rows))
            return false;
    return true;
}

/* In a template the statements of other holes may run before or after: they must not touch the operand. */
static bool others_allow(const struct readings *r, size_t at, const struct access *to, const struct buffer *operand)
{
    const struct kernel *const k = r->kernel;
    for (size_t p = 0; p < k->parts.count; p++) {
        if (p != at && (p > at || k->kind == KERNEL_TEMPLATE) && part_reads_otherwise(r, p, operand, NULL))
            return false;
        if (p < at && k->rows > 0 && !reads_its_row(r, p, at, to, operand))
            return false;
    }
    return true;
}

static bool may_replace(const struct readings *r, size_t at, const struct store *to, const struct buffer *operand)
{
    const struct buffer *result = to->to.buffer;
    return operand != result && operand->kind == BUFFER_TEMP && operand->dtype == result->dtype &&
           operand->count == result->count && operand->count > 0 && !is_operand(r, operand) &&
           stores_to(r->kernel, operand) == 0 && others_allow(r, at, &to->to, operand) &&
           !part_reads_otherwise(r, at, operand, &to->to);
}

static void find_for_store(struct arena *a, const struct readings *r, size_t at, const struct store *to,
                           const buffer_list *reads, const bool *is_output, in_place_list *out)
{
    const struct buffer *result = to->to.buffer;
    if (result->kind != BUFFER_TEMP || is_output[result->id] || stores_to(r->kernel, result) != 1 ||
        !covers_whole(&r->kernel->parts.data[at], &to->to))
        return;
    vec_each(struct buffer *, operand, reads)
        if (out->count < IN_PLACE_MOST && !is_output[operand->id] && may_replace(r, at, to, operand))
            vec_push(a, out, ((struct in_place){operand, to->to.buffer}));
}

void in_place_find(struct arena *a, const struct kernel *k, const bool *is_output, in_place_list *out)
{
    struct arena scratch = {0};
    buffer_list reads = {0};
    kernel_reads(&scratch, k, &reads);
    struct readings readings = {.arena = &scratch, .kernel = k};
    find_readings(&readings);
    struct buffer *from, *to;
    const bool copies = kernel_is_copy(k, &from, &to); /* onto itself would be no copy */
    kernel_each_store(k, p, s)
        if (!copies)
            find_for_store(a, &readings, p_at, s, &reads, is_output, out);
    arena_free(&scratch);
}

bool in_place_is_free(const in_place_list *pairs, const bool *taken, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (taken[j] &&
            (pairs->data[j].operand == pairs->data[i].operand || pairs->data[j].result == pairs->data[i].result))
            return false;
    return true;
}

bool *in_place_outputs(struct arena *a, const struct lowered *l)
{
    bool *is_output = arena_array(a, bool, l->buffers.count + 1);
    vec_each(const struct kernel *, k, &l->kernels) {
        struct buffer *from, *to;
        if (kernel_is_copy(k, &from, &to) && to->kind == BUFFER_OUTPUT)
            is_output[from->id] = true;
    }
    return is_output;
}
