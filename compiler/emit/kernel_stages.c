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

/* Each share has memory of its own; the scope then knows it by another name. */
static int open_shares(struct expr_scope *s, struct writer *w, const struct kernel *k, const char **share)
{
    if (k->shares <= 1)
        return 0;
    *share = name_in(&s->names, "share");
    write_line(w, "STEPC_SHARES(%d)", k->shares);
    write_open(w, "for (int %s = 0; %s < %d; %s++)", *share, *share, k->shares, *share);
    kernel_params *const params = arena_new(s->arena, kernel_params);
    for (size_t i = 0; i < s->params->count; i++)
        vec_push(s->arena, params, s->params->data[i]);
    for (size_t i = 0; i < k->own.count; i++)
        for (size_t p = 0; p < params->count; p++) {
            const struct buffer *const b = params->data[p].buffer;
            if (b != k->own.data[i].buffer)
                continue;
            const char *const own = name_in(&s->names, arena_printf(s->arena, "own_%s", params->data[p].name));
            write_line(w, "%s *const %s = %s + %s * %" PRId64 ";", c_type(b->dtype), own, params->data[p].name, *share, b->count / k->shares);
            params->data[p].name = own;
        }
    s->params = params;
    return 1;
}

/* The loops around the rows. */
static int open_outer(struct expr_scope *s, struct writer *w, const struct kernel *k, const char *share)
{
    static const char *const wishes[] = {"n", "h", "g", "m"};
    int open = 0;
    for (int d = 0; d + 1 < k->outer_rank; d++) {
        const int64_t extent = k->outer_extent[d];
        s->index[d] = "0";
        if (extent == 1)
            continue;
        const char *const i = name_in(&s->names, wishes[open % 4]), *const type = s->index_type;
        if (share && d == k->share_outer)
            write_open(w, "for (%s %s = (%s)(INT64_C(%" PRId64 ") * %s / %d); %s < INT64_C(%" PRId64 ") * (%s + 1) / %d; %s++)", type, i,
                       type, extent, share, k->shares, i, extent, share, k->shares, i);
        else
            write_open(w, "for (%s %s = 0; %s < %" PRId64 "; %s++)", type, i, i, extent, i);
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
    const char *share = NULL;
    struct block_place place = {0};
    int open = open_shares(s, w, k, &share);
    open += open_outer(s, w, k, share);
    open += open_blocks(s, w, k, &place);
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
