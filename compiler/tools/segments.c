/* From source text and edits to segments. */
#include "tools/gen_templates.h"

#include <stdlib.h>
#include <string.h>

typedef VEC(struct template_segment) segment_list;

static int by_place(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1; /* the outer one first */
    return (int)x->kind - (int)y->kind;
}

void sort_edits(edit_list *edits)
{
    if (edits->count == 0)
        return;
    qsort(edits->data, edits->count, sizeof *edits->data, by_place);
    size_t kept =
        1; /* the tree shows some places twice: a type of several variables, an argument that a macro repeats */
    for (size_t i = 1; i < edits->count; i++) {
        if (by_place(&edits->data[i], &edits->data[kept - 1]) != 0)
            edits->data[kept++] = edits->data[i];
    }
    edits->count = kept;
}

/* Source text with its lines moved `dedent` columns to the left. */
static const char *dedented(struct arena *a, const struct cfront_source *s, size_t begin, size_t end, int dedent)
{
    struct strbuf b = {.arena = a};
    for (size_t i = begin; i < end;) {
        if (i == line_begin(s, i)) {
            for (int n = 0; n < dedent && i < end && s->text[i] == ' '; n++)
                i++;
            if (i == end)
                break;
        }
        const size_t stop = line_end(s, i) < end ? line_end(s, i) : end;
        strbuf_add_n(&b, s->text + i, stop - i);
        i = stop;
    }
    return strbuf_text(&b);
}

static const char *joined_lines(struct arena *a, const char *text)
{
    struct strbuf b = {.arena = a};
    for (; *text; text++) {
        if (*text != '\n') {
            strbuf_add_n(&b, text, 1);
            continue;
        }
        while (text[1] == ' ' || text[1] == '\n')
            text++;
        strbuf_add(&b, " ");
    }
    return strbuf_text(&b);
}

static void add_text(struct arena *a, segment_list *out, const char *text)
{
    if (*text)
        vec_push(a, out, ((struct template_segment){.kind = TEMPLATE_TEXT, .text = text}));
}

static segment_list segments_of(const struct file_reader *r, const edit_list *edits, size_t begin, size_t end,
                                int dedent, bool one_line);

static struct template_text part_text(const struct file_reader *r, const edit_list *edits, const struct edit_part *p,
                                      int dedent)
{
    struct arena *a = r->g->arena;
    const int column = p->column > dedent ? p->column - dedent : 0;
    segment_list out = {0};
    if (p->braces)
        add_text(a, &out, arena_printf(a, "%*s{\n", column, ""));
    if (p->lead)
        add_text(a, &out, arena_printf(a, "%*s", column, ""));
    const segment_list inner = segments_of(r, edits, p->begin, p->end, p->dedent + dedent, p->one_line);
    for (size_t i = 0; i < inner.count; i++)
        vec_push(a, &out, inner.data[i]);
    if (p->braces)
        add_text(a, &out, arena_printf(a, "%*s}\n", column, ""));
    return (struct template_text){out.data, out.count};
}

static struct template_segment segment_of(const struct file_reader *r, const edit_list *edits, const struct edit *e,
                                          int dedent)
{
    struct template_text *parts = arena_array(r->g->arena, struct template_text, e->part_count);
    for (size_t i = 0; i < e->part_count; i++)
        parts[i] = part_text(r, edits, &e->parts[i], dedent);
    return (struct template_segment){.kind = e->kind,
                                     .text = e->text,
                                     .from = e->from,
                                     .bare = e->bare,
                                     .alone = e->alone,
                                     .indent = e->column > dedent ? e->column - dedent : 0,
                                     .parts = parts,
                                     .part_count = e->part_count};
}

static segment_list segments_of(const struct file_reader *r, const edit_list *edits, size_t begin, size_t end,
                                int dedent, bool one_line)
{
    struct arena *a = r->g->arena;
    segment_list out = {0};
    size_t at = begin;
    for (size_t i = 0; i < edits->count; i++) {
        const struct edit *e = &edits->data[i];
        if (e->begin < at || e->end > end || (e->begin == end && e->end == end))
            continue;
        const char *text = dedented(a, &r->source, at, e->begin, dedent);
        add_text(a, &out, one_line ? joined_lines(a, text) : text);
        vec_push(a, &out, segment_of(r, edits, e, dedent));
        at = e->end;
    }
    const char *text = dedented(a, &r->source, at, end, dedent);
    add_text(a, &out, one_line ? joined_lines(a, text) : text);
    return out;
}

struct template_text make_segments(const struct file_reader *r, const edit_list *edits, size_t begin, size_t end,
                                   int dedent)
{
    const segment_list s = segments_of(r, edits, begin, end, dedent, false);
    return (struct template_text){s.data, s.count};
}
