/* Kernels of stages (fuse/blocks.c) as trees: the loops around all, then one stage after the other for each block of
 * rows.
 *
 *   for (int n = 0; n < 8; n++) {
 *       for (int r = 0; r < 100; r += 56) {
 *           const int first_row = r < 44 ? r : 44;
 *           ..
 *
 * The last block is a whole one, too: it begins before the one in front of it ends, where the rows are no multiple
 * of the block. */
#include "emit/emit_internal.h"

int open_outer(struct expr_scope *s, struct tree_builder *b, const struct kernel *k, int count)
{
    static const char *const wishes[] = {"n", "h", "g", "m"};
    int open = 0;
    for (int d = 0; d < count; d++) {
        const int64_t extent = k->outer_extent[d];
        s->index[d] = NULL;
        if (extent == 1)
            continue;
        s->index[d] = emit_open_loop(b, s->index_type, wishes[open % 4], extent,
                                     late_size(s->e, &k->outer_late[d], extent),
                                     d == k->cut.outer ? s->share : NULL, k->cut.shares);
        note_outer(s->e, s->index[d]);
        open++;
    }
    return open;
}

/* Templates count within a block in int. */
static const struct expr *as_int(struct expr_scope *s, const struct expr *x)
{
    return str_equal(s->index_type, "int") ? x : index_cast(s->arena, "int", x);
}

/* The loop over blocks of rows. */
static int open_blocks(struct expr_scope *s, struct tree_builder *b, const struct kernel *k, struct block_place *place)
{
    struct arena *const a = s->arena;
    const int d = k->outer_rank - 1;
    const int64_t rows = k->outer_extent[d], last = rows - k->blocks.rows;
    s->index[d] = NULL;
    place->skip = place->before = index_constant(a, 0);
    if (last == 0)
        return 0;
    const struct tree_var *const block =
        tree_index_var(a, VAR_LOOP, s->index_type, "r", 0, (rows - 1) / k->blocks.rows * k->blocks.rows);
    tree_open_loop(b, block, index_constant(a, 0), index_constant(a, rows), k->blocks.rows, LOOP_PLAIN);
    s->index[d] = tree_read(a, block);
    note_outer(s->e, s->index[d]);
    place->before = as_int(s, s->index[d]);
    if (rows % k->blocks.rows == 0)
        return 1;
    const struct tree_var *const first = tree_index_var(a, VAR_VALUE, s->index_type, "first_row", 0, last);
    tree_declare(b, first, index_smaller(a, s->index[d], index_constant(a, last)));
    s->index[d] = tree_read(a, first);
    note_outer(s->e, s->index[d]);
    place->skip = as_int(s, index_sub(a, tree_read(a, block), s->index[d]));
    return 1;
}

void emit_stages(struct expr_scope *s, struct tree_builder *b, const struct kernel *k)
{
    struct block_place place = {0};
    int open = open_outer(s, b, k, k->outer_rank - 1);
    open += open_blocks(s, b, k, &place);
    s->share = NULL; /* the stages are not cut */
    for (size_t i = 0; i < k->blocks.stages.count; i++) {
        const struct kernel *const stage = k->blocks.stages.data[i];
        place.stage = (int)i + 1;
        s->in_template = stage->kind == KERNEL_TEMPLATE;
        if (stage->kind == KERNEL_TEMPLATE)
            emit_template_stage(s, b, stage, &place);
        else
            emit_parts(s, b, stage, k->outer_rank);
    }
    for (; open > 0; open--)
        tree_close(b);
}
