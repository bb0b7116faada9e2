#include "plan/in_place.h"

#include <string.h>

struct reading {
    const struct buffer *buffer;
    const struct access *only; /* NULL: any read counts */
    bool found;                /* a read of the buffer that is not `only` */
};

static bool same_access(const struct access *a, const struct access *b)
{
    return a->offset == b->offset && a->term_count == 0 && b->term_count == 0 && !memcmp(a->stride, b->stride, sizeof a->stride);
}

static void note_read(const struct access *access, void *data)
{
    struct reading *r = data;
    r->found |= access->buffer == r->buffer && !(r->only && same_access(access, r->only));
}

static bool reads_otherwise(const struct expr *e, const struct buffer *b, const struct access *only)
{
    struct reading r = {b, only, false};
    if (e)
        expr_each_load(e, note_read, &r);
    return r.found;
}

/* Does the part read the buffer at another element than the one it writes through `own` at the same point? */
static bool part_reads_otherwise(const struct part *p, const struct buffer *b, const struct access *own)
{
    if (reads_otherwise(p->element, b, p->reduce == REDUCE_NONE ? own : NULL))
        return true;
    for (size_t s = 0; s < p->stores.count; s++) {
        const struct store *store = &p->stores.data[s];
        if (reads_otherwise(store->value, b, own))
            return true;
        for (int t = 0; t < store->to.term_count; t++)
            if (reads_otherwise(store->to.term[t].index, b, NULL))
                return true;
    }
    return false;
}

static bool is_operand(const struct kernel *k, const struct buffer *b)
{
    for (int o = 0; o < k->operand_count; o++)
        if (operand_reads(&k->operands[o], b))
            return true;
    for (size_t c = 0; c < k->checks.count; c++)
        if (reads_otherwise(k->checks.data[c].value, b, NULL))
            return true;
    return false;
}

static int stores_to(const struct kernel *k, const struct buffer *b)
{
    int n = 0;
    for (size_t p = 0; p < k->parts.count; p++)
        for (size_t s = 0; s < k->parts.data[p].stores.count; s++)
            n += k->parts.data[p].stores.data[s].to.buffer == b;
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

struct row_test {
    const struct kernel *kernel;
    const struct part *reader, *writer;
    const struct access *to;
    const struct buffer *operand;
    bool ok;
};

static void test_row(const struct access *load, void *data)
{
    struct row_test *t = data;
    if (load->buffer == t->operand)
        t->ok &= part_same_row(t->writer, t->to, t->reader, load, t->kernel->rows);
}

/* Where parts take turns row by row, an earlier one reads its next rows after this store: they must be other rows. */
static bool reads_its_row(const struct kernel *k, size_t p, size_t at, const struct access *to, const struct buffer *operand)
{
    struct row_test t = {k, &k->parts.data[p], &k->parts.data[at], to, operand, true};
    if (t.reader->element)
        expr_each_load(t.reader->element, test_row, &t);
    for (size_t s = 0; s < t.reader->stores.count; s++)
        expr_each_load(t.reader->stores.data[s].value, test_row, &t);
    return t.ok;
}

/* In a template the statements of other holes may run before or after: they must not touch the operand. */
static bool others_allow(const struct kernel *k, size_t at, const struct access *to, const struct buffer *operand)
{
    for (size_t p = 0; p < k->parts.count; p++) {
        if (p != at && (p > at || k->tmpl) && part_reads_otherwise(&k->parts.data[p], operand, NULL))
            return false;
        if (p < at && k->rows > 0 && !reads_its_row(k, p, at, to, operand))
            return false;
    }
    return true;
}

static bool may_replace(const struct kernel *k, size_t at, const struct store *to, const struct buffer *operand)
{
    const struct buffer *result = to->to.buffer;
    return operand != result && operand->kind == BUFFER_TEMP && operand->dtype == result->dtype && operand->count == result->count &&
           operand->count > 0 && !is_operand(k, operand) && stores_to(k, operand) == 0 && others_allow(k, at, &to->to, operand) &&
           !part_reads_otherwise(&k->parts.data[at], operand, &to->to);
}

static void find_for_store(struct arena *a, const struct kernel *k, size_t at, const struct store *to, const buffer_list *reads,
                           const bool *is_output, in_place_list *out)
{
    const struct buffer *result = to->to.buffer;
    if (result->kind != BUFFER_TEMP || is_output[result->id] || stores_to(k, result) != 1 || !covers_whole(&k->parts.data[at], &to->to))
        return;
    for (size_t r = 0; r < reads->count; r++) {
        const struct in_place pair = {reads->data[r], to->to.buffer};
        if (out->count < IN_PLACE_MOST && !is_output[pair.operand->id] && may_replace(k, at, to, pair.operand))
            vec_push(a, out, pair);
    }
}

void in_place_find(struct arena *a, const struct kernel *k, const bool *is_output, in_place_list *out)
{
    struct arena scratch = {0};
    buffer_list reads = {0};
    kernel_reads(&scratch, k, &reads);
    struct buffer *from, *to;
    const bool copies = kernel_is_copy(k, &from, &to); /* onto itself would be no copy */
    for (size_t p = 0; !copies && p < k->parts.count; p++)
        for (size_t s = 0; s < k->parts.data[p].stores.count; s++)
            find_for_store(a, k, p, &k->parts.data[p].stores.data[s], &reads, is_output, out);
    arena_free(&scratch);
}

bool in_place_is_free(const in_place_list *pairs, const bool *taken, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (taken[j] && (pairs->data[j].operand == pairs->data[i].operand || pairs->data[j].result == pairs->data[i].result))
            return false;
    return true;
}

bool *in_place_outputs(struct arena *a, const struct lowered *l)
{
    bool *is_output = arena_array(a, bool, l->buffers.count + 1);
    for (size_t i = 0; i < l->kernels.count; i++) {
        struct buffer *from, *to;
        if (kernel_is_copy(l->kernels.data[i], &from, &to) && to->kind == BUFFER_OUTPUT)
            is_output[from->id] = true;
    }
    return is_output;
}
