/* The loops of a nest: opened over its dimensions, cut into shares, closed. */
#include "emit/kernel_nest.h"

const struct expr *nest_open_shared_loop(struct tree_builder *b, const struct tree_var *v, int64_t count, int64_t block,
                                         const struct expr *to, const struct tree_var *share, int shares,
                                         enum loop_kind kind)
{
    struct arena *const a = b->arena;
    const struct expr *bound[] = {index_constant(a, 0), to};
    const bool wide = block > 1 || count > INT32_MAX / (shares + 1);
    for (int i = 0; share && i < 2; i++) {
        const struct expr *const number = index_add(a, tree_read(a, share), index_constant(a, i));
        const struct expr *const product =
            wide ? index_mul(a, index_wide(a, count), number) : index_mul(a, number, index_constant(a, count));
        bound[i] = index_mul(a, index_div(a, product, index_constant(a, shares)), index_constant(a, block));
    }
    if (share && wide)
        bound[0] = index_cast(a, v->type, bound[0]);
    tree_open_loop(b, v, bound[0], bound[1], block, kind);
    return tree_read(a, v);
}

const struct expr *emit_open_loop(struct tree_builder *b, const char *type, const char *name, int64_t extent,
                                  const struct expr *to, const struct tree_var *share, int shares)
{
    const struct tree_var *const v = tree_index_var(b->arena, VAR_LOOP, type, name, 0, extent - 1);
    return nest_open_shared_loop(b, v, extent, 1, to, share, shares, LOOP_PLAIN);
}

const struct tree_var *nest_share(const struct nest *n)
{
    return n->open == 0 && n->rows == 0 ? n->s->share : NULL;
}

void nest_open_loop_of(struct nest *n, int d, enum loop_kind kind)
{
    const int64_t extent = n->p->extent[d];
    n->s->index[d] = NULL;
    if (extent == 1)
        return;
    const struct tree_var *const v = tree_index_var(n->a, VAR_LOOP, n->type, "i", 0, extent - 1);
    n->s->index[d] = nest_open_shared_loop(n->b, v, extent, 1, late_size(n->s->e, &n->p->late[d], extent),
                                           n->p->reduced[d] ? NULL : nest_share(n), n->s->shares, kind);
    n->open++;
}

void nest_open_loop(struct nest *n, int d)
{
    nest_open_loop_of(n, d, LOOP_PLAIN);
}

void nest_open_loops(struct nest *n, int from, int to, bool reduced, int apart)
{
    for (int d = from; d < to; d++)
        if (n->p->reduced[d] == reduced && d != apart)
            nest_open_loop(n, d);
}

void nest_close_to(struct nest *n, int open)
{
    for (; n->open > open; n->open--)
        tree_close(n->b);
}

int emit_open_rows(struct expr_scope *s, struct tree_builder *b, const struct kernel *k, int from)
{
    struct nest n = {.s = s, .b = b, .a = s->arena, .p = &k->parts.data[0], .type = s->index_type};
    for (int d = from; d < k->rows; d++)
        nest_open_loop(&n, d);
    return n.open;
}
