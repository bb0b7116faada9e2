/* Products and what walks the rows between them share blocks of rows:
 *
 *   s = q * k'                           for each matrix, for each block of its rows:
 *   p[i,j] = exp(s[i,j] - most[i]) ..        s = rows of q * k'
 *   y = p * v                         ->     p[i,j] = exp(s[i,j] - most[i]) ..
 *                                            rows of y = p * v
 *
 * Matrices that nobody else reads are then no larger than a block, and stay in the cache from one step to the next.
 * Kernels are known by what they read and how they walk, so this is attention however a model spells it, its
 * gradient, and anything else of that form.
 *
 * A matrix that is read again much later, as probabilities are by the gradient, is computed again there, from the
 * same operands in the same order, if it is large. Products that add over the rows (dK, dV) get their terms block by
 * block. */
#include "fuse/blocks.h"

#include "base/str.h"
#include "lower/product.h"
#include "lower/targets.h"
#include <string.h>

/* ---- what it weighs ---------------------------------------------------------------------------------------------- */

enum { ROWS_AT_ONCE = 64 }; /* rows of a block: tiles in number, and what they pack is used often enough */

/* A matrix is rather computed twice than kept from forward pass to gradient if it has twice the bytes of the second
 * cache (two layers of a GPT with context 512 and 1 MiB of it: 14 % less time). */
bool blocks_are_worth_again(const struct target *t, int64_t bytes)
{
    return target_second_cache(t) > 0 && bytes >= 2 * target_second_cache(t);
}

int64_t blocks_rows(int64_t rows)
{
    const int64_t blocks = (rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    const int64_t block = blocks > 0 ? ((rows + blocks - 1) / blocks + 7) / 8 * 8 : 0;
    return block < rows ? block : rows;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static struct member *find_member(const struct block_group *g, const struct kernel *k)
{
    vec_each_ptr(struct member, m, &g->members)
        if (m->k == k)
            return m;
    return NULL;
}

static bool is_apart(const struct block_group *g, const struct kernel *k)
{
    for (int i = 0; i < g->apart_count; i++)
        if (g->apart[i] == k)
            return true;
    return false;
}

static bool is_product(const struct kernel *k)
{
    return k->kind == KERNEL_TEMPLATE && k->tmpl.traits->is_product && k->parts.count == 1 &&
           k->tmpl.operand_count == 2 &&
           !k->tmpl.operands[0].value && !k->tmpl.operands[1].value && str_equal(k->parts.data[0].hole, "finish") &&
           k->checks.count == 0;
}

/* ---- matrices in memory ------------------------------------------------------------------------------------------ */

/* The access, in loops of the part that begin with the group's, as a matrix: outer loops, rows, then one loop over
 * columns. */
static bool as_matrix(const struct block_group *g, const struct part *p, const struct access *a, struct matrix *out)
{
    *out = (struct matrix){.from = a->buffer, .at = *a, .columns = 1};
    int inner = -1;
    for (int d = g->outer + 1; d < p->rank; d++) {
        if (p->extent[d] == 1)
            continue;
        if (inner >= 0)
            return false;
        inner = d;
    }
    if (inner < 0 || a->term_count > 0 || a->stride[inner] != 1)
        return false;
    out->columns = p->extent[inner];
    for (int d = g->outer + 1; d < LOOP_MAX_DIMS; d++)
        out->at.stride[d] = d == g->outer + 1;
    return a->stride[g->outer] == out->columns;
}

/* Does the access walk the same rows? */
static bool same_rows(const struct block_group *g, const struct matrix *m, const struct part *p, const struct access *a)
{
    bool ok = a->offset == m->at.offset && a->term_count == 0, walked = false;
    for (int d = 0; d <= g->outer; d++)
        ok &= g->extent[d] == 1 || a->stride[d] == m->at.stride[d];
    for (int d = g->outer + 1; d < p->rank; d++) {
        if (p->extent[d] == 1 || a->stride[d] == 0)
            continue;
        ok &= !walked && a->stride[d] == 1 && p->extent[d] <= m->columns;
        walked = true;
    }
    return ok;
}

struct block_load_test {
    const struct block_group *g;
    const struct part *p;
    const struct buffer *only; /* NULL: all matrices of the group */
    bool any, ok;
};

static void test_load(const struct access *a, void *data)
{
    struct block_load_test *t = data;
    const struct matrix *m = group_matrix(t->g, a->buffer);
    if (!m || (t->only && t->only != a->buffer))
        return;
    t->any = true;
    t->ok &= same_rows(t->g, m, t->p, a);
}

static struct block_load_test test_loads(const struct block_group *g, const struct part *p, const struct buffer *only)
{
    struct block_load_test t = {g, p, only, false, true};
    part_each_load(p, test_load, &t);
    return t;
}

/* How the operand of a product lies over the matrix: steps along its two axes, in the product's outer loops. */
static bool same_place(const struct block_group *g, const struct matrix *m, const struct access *a)
{
    bool ok = a->offset == m->at.offset;
    for (int d = 0; d < g->outer; d++)
        ok &= g->extent[d] == 1 || a->stride[d] == m->at.stride[d];
    return ok;
}

/* ---- who can take part ------------------------------------------------------------------------------------------- */

static bool same_outer(const struct block_group *g, const struct kernel *k)
{
    bool ok = k->outer_rank == g->outer;
    for (int d = 0; d < g->outer && ok; d++)
        ok = k->outer_extent[d] == g->extent[d];
    return ok;
}

/* Weights are better packed once for all rows. */
static bool is_result(const struct buffer *b)
{
    return b->kind == BUFFER_TEMP || b->kind == BUFFER_INPUT;
}

/* As what does the product take part, given how it reads the group's matrices? */
static bool role_of(const struct block_group *g, const struct kernel *k, enum block_role *role)
{
    const struct matrix *a = group_matrix(g, k->tmpl.operands[0].access.buffer),
                        *b = group_matrix(g, k->tmpl.operands[1].access.buffer);
    const struct product_sizes s = product_sizes_of(k);
    const int64_t rows = group_rows(g);
    *role = BY_ROWS;
    if (a && b)
        return false;
    if (!a && !b)
        return s.m == rows && is_result(k->tmpl.operands[1].access.buffer);
    if (!same_place(g, a ? a : b, &k->tmpl.operands[a ? 0 : 1].access))
        return false;
    if (a && s.a_row == a->columns && s.a_col == 1 && s.m == rows && s.k == a->columns)
        return is_result(k->tmpl.operands[1].access.buffer);
    *role = SUMS;
    if (!product_can_add(k))
        return false;
    if (a)
        return s.a_row == 1 && s.a_col == a->columns && s.m == a->columns && s.k == rows;
    return s.b_row == b->columns && s.b_col == 1 && s.n == b->columns && s.k == rows;
}

/* False where loops cannot be renumbered. */
static bool copy_parts(struct fusion *f, struct member *m)
{
    m->part_count = m->k->parts.count;
    m->parts = arena_copy(f->arena, m->k->parts.data, m->part_count * sizeof *m->parts, alignof(max_align_t));
    for (size_t i = 0; i < m->part_count; i++) {
        struct part trial = m->parts[i];
        if (trial.rank + 2 > LOOP_MAX_DIMS || !part_block(f->arena, &trial, 0, 1))
            return false;
    }
    return true;
}

static bool add_product(struct block_group *g, struct kernel *k)
{
    struct member m = {.k = k};
    if (!same_outer(g, k) || !role_of(g, k, &m.role) || !copy_parts(g->f, &m))
        return false;
    const struct block_load_test t = test_loads(g, m.parts, NULL);
    if (t.any && (!t.ok || m.role == SUMS))
        return false;
    vec_push(g->f->arena, &g->members, m);
    return true;
}

/* Splits leading loops until they are the group's. */
static bool align(const struct block_group *g, struct member *m)
{
    for (int d = 0; d <= g->outer; d++) {
        const int64_t want = g->extent[d];
        for (size_t i = 0; i < m->part_count; i++) {
            struct part *const p = &m->parts[i];
            if (d >= p->rank || p->reduced[d] || p->extent[d] % want != 0)
                return false;
            if (p->extent[d] != want && !part_split(g->f->arena, p, d, want))
                return false;
        }
    }
    return true;
}

static bool add_loops(struct block_group *g, struct kernel *k)
{
    struct member m = {.k = k, .role = LOOPS};
    if (k->kind != KERNEL_LOOPS || k->checks.count > 0 || k->parts.count == 0 || (k->parts.count > 1 && k->rows == 0))
        return false;
    if (!copy_parts(g->f, &m) || !align(g, &m))
        return false;
    for (size_t i = 0; i < m.part_count; i++)
        if (!test_loads(g, &m.parts[i], NULL).ok)
            return false;
    vec_push(g->f->arena, &g->members, m);
    return true;
}

static bool add_kernel(struct block_group *g, struct kernel *k)
{
    if (find_member(g, k) || is_apart(g, k))
        return true;
    return is_product(k) ? add_product(g, k) : add_loops(g, k);
}

/* ---- growing a group --------------------------------------------------------------------------------------------- */

static bool is_between(const struct fusion *f, const struct buffer *b)
{
    return b->kind == BUFFER_TEMP && fuse_buffer(f, b)->writers.count == 1;
}

/* A matrix is the group's own, with all that read it. */
static bool add_matrix(struct block_group *g, const struct part *p, const struct access *to)
{
    struct matrix m;
    if (!is_between(g->f, to->buffer) || !as_matrix(g, p, to, &m))
        return false;
    vec_push(g->f->arena, &g->matrices, m);
    const struct fuse_buffer *b = fuse_buffer(g->f, to->buffer);
    for (size_t r = 0; r < b->readers.count; r++)
        if (!add_kernel(g, b->readers.data[r]))
            return false;
    return true;
}

struct pull {
    struct block_group *g;
    struct member m;
};

/* A product whose result only these loops read takes part. */
static void pull_producer(const struct access *a, void *data)
{
    struct pull *const t = data;
    struct block_group *const g = t->g;
    if (a->buffer->kind != BUFFER_TEMP || (size_t)a->buffer->id >= g->f->buffer_count || group_matrix(g, a->buffer))
        return;
    const struct fuse_buffer *b = fuse_buffer(g->f, a->buffer);
    struct kernel *const k = b->writers.count == 1 && b->readers.count == 1 ? b->writers.data[0] : NULL;
    if (!k || !is_product(k) || find_member(g, k) || k->parts.data[0].stores.count != 1)
        return;
    const size_t members = g->members.count;
    struct matrix m;
    if (!add_product(g, k))
        return;
    if (g->members.data[members].role != BY_ROWS ||
        !as_matrix(g, g->members.data[members].parts, &k->parts.data[0].stores.data[0].to, &m)) {
        g->members.count = members;
        return;
    }
    vec_push(g->f->arena, &g->matrices, m);
    for (size_t i = 0; i < t->m.part_count; i++)
        if (!test_loads(g, &t->m.parts[i], a->buffer).ok) {
            g->members.count = members;
            g->matrices.count--;
            return;
        }
}

static void pull_producers(struct block_group *g, const struct member *m)
{
    struct pull t = {g, *m};
    for (size_t i = 0; i < t.m.part_count; i++)
        part_each_load(&t.m.parts[i], pull_producer, &t);
}

/* All that loops of the group write is a row's, or a matrix of the group. */
static bool add_results(struct block_group *g, const struct member *m)
{
    for (size_t i = 0; i < m->part_count; i++)
        for (size_t s = 0; s < m->parts[i].stores.count; s++) {
            const struct access *to = &m->parts[i].stores.data[s].to;
            if (!group_of_row(g, to) && !group_matrix(g, to->buffer) && !add_matrix(g, &m->parts[i], to))
                return false;
        }
    return true;
}

static bool grow(struct block_group *g, size_t from)
{
    for (size_t i = from; i < g->members.count; i++) {
        const struct member m = g->members.data[i]; /* the list moves */
        if (m.role == LOOPS) {
            pull_producers(g, &m);
            if (!add_results(g, &m))
                return false;
        }
    }
    return true;
}

/* The product and the loops that alone read its result. */
static bool begin(struct block_group *g, struct kernel *product, struct kernel *loops)
{
    struct fusion *const f = g->f;
    if (!is_product(product) || product->outer_rank + 1 > SHAPE_MAX_RANK || product->parts.data[0].stores.count != 1)
        return false;
    g->outer = product->outer_rank;
    memcpy(g->extent, product->outer_extent, (size_t)g->outer * sizeof *g->extent);
    g->extent[g->outer] = product_sizes_of(product).m;
    const int64_t rows = group_rows(g);
    g->block = blocks_rows(rows);
    struct matrix m;
    const struct part *finish = &product->parts.data[0];
    if (rows < 2 || !is_between(f, finish->stores.data[0].to.buffer) ||
        !as_matrix(g, finish, &finish->stores.data[0].to, &m) || !add_product(g, product))
        return false;
    vec_push(f->arena, &g->matrices, m);
    return add_loops(g, loops);
}

/* ---- where it may stand ------------------------------------------------------------------------------------------ */

/* Strides that are a multiple of a distance, and others that stay within it: different places there never meet. */
static bool place_within(const struct part *p, const struct access *a, int64_t distance, int64_t *first, int64_t *last)
{
    *first = *last = a->offset % distance;
    for (int d = 0; d < p->rank; d++) {
        if (p->extent[d] == 1 || a->stride[d] % distance == 0)
            continue;
        if (a->stride[d] < 0)
            return false;
        *last += a->stride[d] * (p->extent[d] - 1);
    }
    return *last < distance;
}

static bool never_meet(const struct part *p, const struct access *a, const struct part *q, const struct access *b)
{
    if (a->term_count > 0 || b->term_count > 0)
        return false;
    for (int d = 0; d < p->rank; d++) {
        int64_t a_first, a_last, b_first, b_last;
        if (p->extent[d] != 1 && a->stride[d] > 1 && place_within(p, a, a->stride[d], &a_first, &a_last) &&
            place_within(q, b, a->stride[d], &b_first, &b_last) && (a_last < b_first || b_last < a_first))
            return true;
    }
    return false;
}

/* Do two kernels write different elements of the buffer? */
static bool write_apart(const struct kernel *k, const struct kernel *l, const struct buffer *b)
{
    kernel_each_store(k, p, s)
        kernel_each_store(l, q, t)
            if (s->to.buffer == b && t->to.buffer == b && !never_meet(p, &s->to, q, &t->to))
                return false;
    return k->kind != KERNEL_STAGES && l->kind != KERNEL_STAGES;
}

static bool passes(const struct block_group *g, const struct kernel *other, const struct kernel *k,
                   const struct buffer *b, int at, bool both_write)
{
    const int other_at = g->f->position[other->id], own = g->f->position[k->id];
    const int lo = own < at ? own : at, hi = own < at ? at : own;
    if (other_at <= lo || other_at >= hi || find_member(g, other))
        return true;
    return both_write && write_apart(k, other, b);
}

/* May member k run at position `at` instead of its own? */
static bool may_move(const struct block_group *g, const struct kernel *k, int at)
{
    struct arena scratch = {0};
    buffer_list reads = {0}, writes = {0};
    bool ok = true;
    kernel_reads(&scratch, k, &reads);
    kernel_writes(&scratch, k, &writes);
    for (size_t i = 0; i < reads.count; i++) {
        const struct fuse_buffer *b = fuse_buffer(g->f, reads.data[i]);
        for (size_t w = 0; w < b->writers.count; w++)
            ok &= passes(g, b->writers.data[w], k, reads.data[i], at, false);
    }
    for (size_t i = 0; i < writes.count; i++) {
        const struct fuse_buffer *b = fuse_buffer(g->f, writes.data[i]);
        for (size_t w = 0; w < b->writers.count; w++)
            ok &= passes(g, b->writers.data[w], k, writes.data[i], at, true);
        for (size_t r = 0; r < b->readers.count && !group_matrix(g, writes.data[i]); r++)
            ok &= passes(g, b->readers.data[r], k, writes.data[i], at, false);
    }
    arena_free(&scratch);
    return ok;
}

/* A member in whose place all can run, or NULL. */
static struct kernel *find_place(const struct block_group *g)
{
    for (size_t i = g->members.count; i-- > 0;) {
        struct kernel *const k = g->members.data[i].k;
        bool ok = true;
        for (size_t j = 0; ok && j < g->members.count; j++)
            ok = may_move(g, g->members.data[j].k, g->f->position[k->id]);
        if (ok)
            return k;
    }
    return NULL;
}

static void sort_members(struct block_group *g)
{
    const int *const position = g->f->position;
    for (size_t i = 1; i < g->members.count; i++)
        for (size_t j = i; j > 0 && position[g->members.data[j].k->id] < position[g->members.data[j - 1].k->id]; j--) {
            const struct member m = g->members.data[j];
            g->members.data[j] = g->members.data[j - 1];
            g->members.data[j - 1] = m;
        }
}

/* A block may overlap the one before: what it writes again must be the same again. Variables stay as they are until
 * all is checked, and what writes an output that may not be wanted writes nothing else. */
static bool writes_allow(const struct block_group *g)
{
    struct arena scratch = {0};
    buffer_list reads = {0}, writes = {0};
    int outputs = 0, others = 0;
    bool ok = true;
    for (size_t i = 0; i < g->members.count; i++) {
        kernel_reads(&scratch, g->members.data[i].k, &reads);
        kernel_writes(&scratch, g->members.data[i].k, &writes);
    }
    vec_each(struct buffer *, b, &writes) {
        const struct fuse_buffer *const t = fuse_buffer(g->f, b);
        if (group_matrix(g, b))
            continue;
        if (buffers_have(&reads, b)) {
            ok &= b->kind == BUFFER_TEMP && t->writers.count == 1 && t->readers.count == 1 &&
                  t->readers.data[0] == t->writers.data[0];
            continue;
        }
        ok &= b->kind == BUFFER_TEMP || b->kind == BUFFER_OUTPUT;
        outputs += b->kind == BUFFER_OUTPUT;
        others += b->kind != BUFFER_OUTPUT;
    }
    arena_free(&scratch);
    return ok && (outputs == 0 || (outputs == 1 && others == 0));
}

static void put(struct block_group *g, const struct kernel *place)
{
    struct fusion *const f = g->f;
    const int at = f->position[place->id];
    for (size_t i = 0; i < g->members.count; i++)
        g->members.data[i].k->removed = true;
    f->l->kernels.data[at] = group_kernel(g, place);
}

/* ---- may they, and is it worth it? ------------------------------------------------------------------------------- */

/* Matrices that were found late may be read by members that were there before. */
static bool all_agree(const struct block_group *g)
{
    vec_each_ptr(const struct member, m, &g->members) {
        enum block_role role = LOOPS;
        if (m->role != LOOPS && (!role_of(g, m->k, &role) || role != m->role))
            return false;
        for (size_t p = 0; p < m->part_count; p++) {
            const struct block_load_test t = test_loads(g, &m->parts[p], NULL);
            if (t.any && (!t.ok || role == SUMS))
                return false;
        }
    }
    return true;
}

static int64_t matrix_bytes(const struct block_group *g)
{
    int64_t most = 0;
    for (size_t i = 0; i < g->matrices.count; i++) {
        const int64_t bytes = g->matrices.data[i].from->count * (int64_t)dtype_size(g->matrices.data[i].from->dtype);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool saves_memory(const struct block_group *g)
{
    int64_t turns = (group_rows(g) + g->block - 1) / g->block;
    for (int d = 0; d < g->outer; d++)
        turns *= g->extent[d];
    return turns > 1;
}

static struct kernel *place_of_group(struct block_group *g)
{
    sort_members(g);
    return all_agree(g) && saves_memory(g) && writes_allow(g) ? find_place(g) : NULL;
}

static bool fuse_whole(struct fusion *f, struct kernel *product, struct kernel *loops)
{
    struct block_group g = {.f = f};
    if (!begin(&g, product, loops) || !grow(&g, 1))
        return false;
    struct kernel *const place = place_of_group(&g);
    if (place)
        put(&g, place);
    return place != NULL;
}

/* Readers of the results that are no products by rows go without: they are left to another group. */
static bool leave_others(struct block_group *g)
{
    const struct member loops = g->members.data[1];
    for (size_t p = 0; p < loops.part_count; p++)
        for (size_t s = 0; s < loops.parts[p].stores.count; s++) {
            const struct access *to = &loops.parts[p].stores.data[s].to;
            const struct fuse_buffer *b = fuse_buffer(g->f, to->buffer);
            struct matrix m;
            if (group_of_row(g, to) || !as_matrix(g, &loops.parts[p], to, &m))
                continue;
            vec_push(g->f->arena, &g->matrices, m);
            vec_each(struct kernel *, k, &b->readers) {
                enum block_role role = LOOPS;
                if (is_product(k) && same_outer(g, k) && role_of(g, k, &role) && role == BY_ROWS)
                    continue;
                if (g->apart_count == APART_MOST)
                    return false;
                g->apart[g->apart_count++] = k;
            }
            g->matrices.count--;
        }
    return true;
}

/* The loops' results are computed twice: for products by rows, and again for all else that reads them. */
static bool fuse_again(struct fusion *f, struct kernel *product, struct kernel *loops)
{
    struct block_group g = {.f = f}, again = {.f = f};
    if (!begin(&g, product, loops) || !leave_others(&g) || !grow(&g, 1) || g.members.count == 2 ||
        !blocks_are_worth_again(f->l->target, matrix_bytes(&g)))
        return false;
    for (size_t i = 2; i < g.members.count; i++) {
        if (again.apart_count == APART_MOST)
            return false;
        again.apart[again.apart_count++] = g.members.data[i].k;
    }
    if (!begin(&again, product, loops) || !grow(&again, 1) || again.members.count == 2)
        return false;
    struct kernel *const place = place_of_group(&g), *const later = place_of_group(&again);
    if (!place || !later || place == later || later == product || later == loops)
        return false;
    put(&g, place);
    put(&again, later);
    return true;
}

struct seed {
    struct fusion *f;
    struct kernel *loops;
    bool done;
};

static void try_load(const struct access *a, void *data)
{
    struct seed *const t = data;
    if (t->done || (size_t)a->buffer->id >= t->f->buffer_count || !is_between(t->f, a->buffer))
        return;
    const struct fuse_buffer *b = fuse_buffer(t->f, a->buffer);
    struct kernel *const product = b->writers.data[0];
    if (b->readers.count == 1 && product->kind == KERNEL_TEMPLATE)
        t->done = fuse_whole(t->f, product, t->loops) || fuse_again(t->f, product, t->loops);
}

bool fuse_blocks(struct fusion *f, struct kernel *loops)
{
    struct seed t = {f, loops, false};
    const bool may_follow = loops->kind == KERNEL_LOOPS && loops->checks.count == 0;
    for (size_t i = 0; may_follow && !t.done && i < loops->parts.count; i++)
        part_each_load(&loops->parts.data[i], try_load, &t);
    return t.done;
}
