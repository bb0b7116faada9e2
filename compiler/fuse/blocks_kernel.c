/* The kernel of a group that shares blocks of rows (blocks.c): memory for one block instead of whole matrices, and
 * each member as a stage. */
#include "fuse/blocks.h"

#include "lower/items.h"
#include "lower/product.h"
#include "lower/targets.h"
#include <string.h>

enum { PAGE = 4096, LINE = 64 };

/* ---- groups ------------------------------------------------------------------------------------------------------ */

int64_t group_rows(const struct block_group *g)
{
    return g->extent[g->outer];
}

struct matrix *group_matrix(const struct block_group *g, const struct buffer *b)
{
    for (size_t i = 0; i < g->matrices.count; i++)
        if (g->matrices.data[i].from == b)
            return &g->matrices.data[i];
    return NULL;
}

bool group_of_row(const struct block_group *g, const struct access *to)
{
    bool moves = to->buffer->kind != BUFFER_LOCAL && to->buffer->kind != BUFFER_TEMP;
    for (int d = 0; d <= g->outer; d++)
        moves |= to->stride[d] != 0 && g->extent[d] != 1;
    return !moves;
}

/* ---- memory of a block ------------------------------------------------------------------------------------------- */

static bool reads_matrix(const struct member *m, const struct buffer *b)
{
    kernel_each_item(it, m->k)
        if (it.kind == ITEM_OPERAND && operand_reads(it.operand, b))
            return true;
    return false;
}

static bool is_load_of(const struct expr *e, void *buffer)
{
    return e->op == EXPR_LOAD && e->access->buffer == buffer;
}

struct other_element {
    const struct buffer *buffer;
    const struct access *to;
    int first;
};

static bool is_other_element(const struct expr *e, void *data)
{
    const struct other_element *t = data;
    bool other = false;
    for (int d = t->first; e->op == EXPR_LOAD && e->access->buffer == t->buffer && d < LOOP_MAX_DIMS; d++)
        other |= e->access->stride[d] != t->to->stride[d];
    return other;
}

/* Does the part, where it loads the buffer, load the element that it stores then? */
static bool loads_where_it_stores(const struct block_group *g, const struct part *p, const struct buffer *b,
                                  const struct buffer *stored)
{
    bool ok = p->reduce == REDUCE_NONE;
    for (size_t s = 0; s < p->stores.count; s++)
        for (size_t v = 0; p->stores.data[s].to.buffer == stored && v < p->stores.count; v++) {
            struct other_element t = {b, &p->stores.data[s].to, g->outer + 1};
            ok &= !expr_any(p->stores.data[v].value, is_other_element, &t);
        }
    return ok;
}

/* Is the matrix read for the last time by member m, row by row before the part `until` writes `stored`? */
static bool is_done_before(const struct block_group *g, const struct matrix *old, size_t member, size_t until,
                           const struct buffer *stored)
{
    for (size_t i = 0; i < g->members.count; i++) {
        const struct member *const m = &g->members.data[i];
        if (i > member && reads_matrix(m, old->from))
            return false;
        for (size_t p = i == member ? until : 0; i >= member && p < m->part_count; p++) {
            const bool same_point =
                i == member && p == until && loads_where_it_stores(g, &m->parts[p], old->from, stored);
            if (part_any(&m->parts[p], is_load_of, old->from) && !same_point)
                return false;
        }
    }
    return true;
}

/* A block that is done with gives its memory to what the same loops write then. */
static struct buffer *find_old_block(const struct block_group *g, const struct matrix *m, size_t member, size_t part)
{
    for (size_t i = 0; i < g->matrices.count; i++) {
        const struct matrix *const old = &g->matrices.data[i];
        bool taken = false;
        for (size_t j = 0; j < g->matrices.count; j++)
            taken |= j != i && old->block && g->matrices.data[j].block == old->block &&
                     !is_done_before(g, &g->matrices.data[j], member, part, m->from);
        if (old->block && !taken && old->from->dtype == m->from->dtype && old->columns == m->columns &&
            is_done_before(g, old, member, part, m->from))
            return old->block;
    }
    return NULL;
}

/* Rows that lie a multiple of a page apart would fall into one set of the cache, if there is one. */
int64_t blocks_row_step(const struct target *t, int64_t columns, enum dtype type)
{
    const int64_t size = (int64_t)dtype_size(type), line = LINE / size;
    return target_first_cache(t) > 0 && columns * size % (PAGE / 4) == 0 ? columns + line : columns;
}

static void make_block(struct block_group *g, struct kernel *all, const struct buffer *from, size_t member, size_t part)
{
    struct matrix *const m = group_matrix(g, from);
    if (!m || m->block)
        return;
    m->step = blocks_row_step(g->f->l->target, m->columns, m->from->dtype);
    m->block = g->members.data[member].role == LOOPS ? find_old_block(g, m, member, part) : NULL;
    if (m->block)
        return;
    const struct shape shape = SHAPE(g->block, m->step);
    m->block = buffer_new(g->f->l, BUFFER_TEMP, arena_printf(g->f->arena, "rows of %s", m->from->name), m->from->dtype,
                          &shape);
    vec_push(g->f->arena, &all->own, ((struct own){m->block, "block"}));
}

static void make_blocks(struct block_group *g, struct kernel *all)
{
    for (size_t i = 0; i < g->members.count; i++)
        for (size_t p = 0; p < g->members.data[i].part_count; p++)
            for (size_t s = 0; s < g->members.data[i].parts[p].stores.count; s++)
                make_block(g, all, g->members.data[i].parts[p].stores.data[s].to.buffer, i, p);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

struct to_block {
    struct block_group *g;
    struct kernel *all;
    /* what one row needs: the stage's own copy */
    VEC(struct row_memory { const struct buffer *old; struct buffer *row; }) rows;
};

static struct buffer *row_memory(struct to_block *t, const struct buffer *old)
{
    for (size_t i = 0; i < t->rows.count; i++)
        if (t->rows.data[i].old == old)
            return t->rows.data[i].row;
    return NULL;
}

/* The access, in loops that go by blocks, where the matrix is a block. */
static struct access in_block(struct to_block *t, const struct access *from)
{
    struct access a = *from;
    const struct matrix *m = group_matrix(t->g, from->buffer);
    struct buffer *const row = m ? NULL : row_memory(t, from->buffer);
    if (row)
        a.buffer = row;
    if (!m)
        return a;
    a.buffer = m->block;
    a.offset = 0;
    for (int d = 0; d <= t->g->outer; d++)
        a.stride[d] = 0;
    a.stride[t->g->outer + 1] = m->step;
    return a;
}

static const struct expr *load_in_block(const struct expr *load, void *data)
{
    struct to_block *const t = data;
    const struct access a = in_block(t, load->access);
    return a.buffer == load->access->buffer ? NULL : expr_load(t->g->f->arena, &a);
}

static void move_part(struct to_block *t, struct part *p)
{
    const struct expr_map map = {.arena = t->g->f->arena, .load = load_in_block, .data = t};
    part_substitute(p, &map);
    vec_each_ptr(struct store, s, &p->stores)
        s->to = in_block(t, &s->to);
}

/* What one row needs is made anew, since the same loops may also run elsewhere. */
static void copy_row_memory(struct to_block *t, const struct member *m)
{
    for (size_t p = 0; p < m->part_count; p++)
        for (size_t s = 0; s < m->parts[p].stores.count; s++) {
            const struct buffer *const old = m->parts[p].stores.data[s].to.buffer;
            if (!group_of_row(t->g, &m->parts[p].stores.data[s].to) || group_matrix(t->g, old) || row_memory(t, old))
                continue;
            struct row_memory row = {old, NULL};
            if (old->kind == BUFFER_LOCAL) {
                row.row = arena_new(t->g->f->arena, struct buffer);
                *row.row = *old;
                row.row->id = (int)t->g->f->l->buffers.count;
                vec_push(t->g->f->l->arena, &t->g->f->l->buffers, row.row);
            } else {
                row.row = buffer_new(t->g->f->l, BUFFER_TEMP, old->name, old->dtype, &old->shape);
                vec_push(t->g->f->arena, &t->all->own, ((struct own){row.row, "row"}));
            }
            vec_push(t->g->f->arena, &t->rows, row);
        }
}

static void move_operands(struct to_block *t, struct kernel *k, enum block_role role)
{
    const int outer = t->g->outer;
    struct product_sizes s = product_sizes_of(k);
    int64_t *const row[] = {role == BY_ROWS ? &s.a_row : &s.a_col, &s.b_row}; /* steps from row to row of the block */
    for (int o = 0; o < 2; o++) {
        struct access *const a = &k->tmpl.operands[o].access;
        const struct matrix *m = group_matrix(t->g, a->buffer);
        const bool moves = o == 0 || role == SUMS;
        a->stride[outer] = moves ? *row[o] : 0;
        if (!m)
            continue;
        *a = (struct access){.buffer = m->block};
        *row[o] = m->step;
    }
    product_set_sizes(k, &s);
    k->outer_extent[outer] = group_rows(t->g);
    k->outer_rank = outer + 1;
}

static void turn_product(struct to_block *t, struct kernel *k, enum block_role role)
{
    struct block_group *const g = t->g;
    if (role == BY_ROWS)
        product_of_rows(k, g->block, g->f->l->target);
    else
        product_of_terms(k, g->block);
    k->scratch.buffer = NULL;
    if (k->scratch.count > 0) {
        const struct shape shape = SHAPE(k->scratch.count);
        k->scratch.buffer = buffer_new(g->f->l, BUFFER_TEMP, "scratch", k->tmpl.type, &shape);
        vec_push(g->f->arena, &t->all->own, ((struct own){k->scratch.buffer, k->scratch.param}));
    }
    move_operands(t, k, role);
}

/* Sums are finished at the last block, for all: there the loop over blocks moves nothing. */
static bool block_part(const struct block_group *g, struct part *p, enum block_role role)
{
    struct arena *const a = g->f->arena;
    return role == SUMS ? part_around(a, p, g->outer, group_rows(g)) : part_block(a, p, g->outer, g->block);
}

static struct kernel *make_stage(struct to_block *t, const struct member *m)
{
    struct fusion *const f = t->g->f;
    struct kernel *const k = arena_new(f->arena, struct kernel);
    *k = *m->k;
    kernel_own_values(f->arena, k);
    k->parts.data = arena_copy(f->arena, m->parts, m->part_count * sizeof *m->parts, alignof(max_align_t));
    k->parts.capacity = m->part_count;
    k->rows = m->role == LOOPS ? t->g->outer + 2 : 0;
    copy_row_memory(t, m);
    for (size_t p = 0; p < k->parts.count; p++) {
        if (!block_part(t->g, &k->parts.data[p], m->role))
            UNREACHABLE("the loops were tested before");
        move_part(t, &k->parts.data[p]);
    }
    if (m->role != LOOPS)
        turn_product(t, k, m->role);
    return k;
}

/* ---- the kernel of a group --------------------------------------------------------------------------------------- */

struct kernel *group_kernel(struct block_group *g, const struct kernel *place)
{
    struct fusion *const f = g->f;
    struct kernel *const all = arena_new(f->arena, struct kernel);
    bool has_sums = false;
    all->kind = KERNEL_STAGES;
    all->id = place->id;
    all->outer_rank = g->outer + 1;
    all->label = "copy";
    all->cut.outer = -1;
    all->blocks.rows = g->block;
    memcpy(all->outer_extent, g->extent, (size_t)all->outer_rank * sizeof *g->extent);
    make_blocks(g, all);
    for (size_t i = 0; i < g->members.count; i++) {
        struct to_block t = {.g = g, .all = all};
        fuse_join_nodes(f, all, g->members.data[i].k);
        vec_push(f->arena, &all->blocks.stages, make_stage(&t, &g->members.data[i]));
        has_sums |= g->members.data[i].role == SUMS;
    }
    all->label = has_sums ? "attention_gradient" : "attention";
    return all;
}
