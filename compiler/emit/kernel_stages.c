/* Kernels of stages (fuse/blocks.c) as C text: the loops around all, then one stage after the other for each block of rows.
 *
 *   for (int n = 0; n < 8; n++) {
 *       for (int r = 0; r < 100; r += 56) {
 *           const int first_row = r < 44 ? r : 44;
 *           ..
 *
 * The last block is a whole one, too: it begins before the one in front of it ends, where the rows are no multiple of the block. */
#include "emit/emit_internal.h"

#include <inttypes.h>

/* The loops around the rows. */
static int open_outer(struct expr_scope *s, struct writer *w, const struct kernel *k)
{
    static const char *const wishes[] = {"n", "h", "g", "m"};
    int open = 0;
    for (int d = 0; d + 1 < k->outer_rank; d++) {
        const int64_t extent = k->outer_extent[d];
        s->index[d] = "0";
        if (extent == 1)
            continue;
        const char *const i = name_in(&s->names, wishes[open % 4]);
        emit_open_loop(w, s->index_type, i, extent, d == k->share_outer ? s->share : NULL, k->shares);
        s->index[d] = i;
        open++;
    }
    return open;
}

/* The loop over blocks of rows. */
static int open_blocks(struct expr_scope *s, struct writer *w, const struct kernel *k, struct block_place *place)
{
    const int d = k->outer_rank - 1;
    const int64_t rows = k->outer_extent[d], last = rows - k->block;
    s->index[d] = "0";
    place->skip = place->before = "0";
    if (last == 0)
        return 0;
    const char *const r = name_in(&s->names, "r");
    write_open(w, "for (%s %s = 0; %s < %" PRId64 "; %s += %" PRId64 ")", s->index_type, r, r, rows, r, k->block);
    s->index[d] = r;
    place->before = str_equal(s->index_type, "int") ? r : arena_printf(s->arena, "(int)%s", r);
    if (rows % k->block == 0)
        return 1;
    s->index[d] = name_in(&s->names, "first_row");
    place->skip = arena_printf(s->arena, "(int)(%s - %s)", r, s->index[d]);
    write_line(w, "const %s %s = %s < %" PRId64 " ? %s : %" PRId64 ";", s->index_type, s->index[d], r, last, r, last);
    return 1;
}

void emit_stages(struct expr_scope *s, struct writer *w, const struct kernel *k, struct writer *before)
{
    struct block_place place = {0};
    int open = open_outer(s, w, k);
    open += open_blocks(s, w, k, &place);
    s->share = NULL; /* the stages are not cut */
    for (size_t i = 0; i < k->stages.count; i++) {
        const struct kernel *const stage = k->stages.data[i];
        place.stage = (int)i + 1;
        s->in_template = stage->tmpl != NULL;
        if (stage->tmpl)
            emit_template_stage(s, w, stage, &place, before);
        else
            emit_parts(s, w, stage, k->outer_rank);
    }
    for (; open > 0; open--)
        write_close(w, "");
}
