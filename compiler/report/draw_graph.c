/* A picture of boxes and arrows as SVG. Colours come from the page's style sheet, by class. */
#include "base/clean.h"
#include "report/layers.h"
#include "report/markup.h"
#include "report/picture.h"
#include "report/report_internal.h"

/* in pictures of more boxes: layers that an arrow may span; readers of what depends on no input */
enum { FEW = 20, LONGEST = 7, FAN = 3 };
/* in pictures of more boxes: boxes in a layer; what is too many for a drawing */
enum { SMALL = 60, WIDEST = 3, MOST = 3000 };
enum { TITLE = 34, DETAIL = 40, MARGIN = 10, LINE = 14, PADDING = 9 }; /* characters; pixels */
#define TITLE_WIDTH 7.6 /* of a character */
#define DETAIL_WIDTH 6.1

struct graph_drawing {
    struct arena *arena;
    const struct picture *picture;
    struct layout layout;
    const char **title, **detail, **far_from, **far_to; /* by node: lines of text; what arrows that are cut would say */
    struct strbuf svg;
};

/* ---- what stands in the boxes ------------------------------------------------------------------------------------ */

/* Characters that are wide in most fonts count double. */
static double text_width(const char *text, double each)
{
    double n = 0;
    for (; *text; text++)
        n += utf8_continues(*text) ? 0 : (unsigned char)*text >= 0xe3 ? 2 : 1;
    return n * each;
}

static const char *node_reference(struct arena *a, const struct picture_node *n)
{
    return n->number >= 0 ? arena_printf(a, "%d", n->number) : readable_shortened(a, n->title, 12);
}

static void add_reference(struct graph_drawing *d, const char **line, const char *arrow, int node)
{
    enum { ENOUGH = 40 };
    const char *name = node_reference(d->arena, &d->picture->nodes.data[node]);
    if (*line && (str_ends_with(*line, arena_printf(d->arena, " %s", name)) || str_ends_with(*line, "\xe2\x80\xa6")))
        return; /* said before, or cut off */
    if (!*line)
        *line = arena_printf(d->arena, "%s %s", arrow, name);
    else if (readable_length(*line) < ENOUGH)
        *line = arena_printf(d->arena, "%s, %s", *line,
                             readable_length(*line) + readable_length(name) + 2 < ENOUGH ? name : "\xe2\x80\xa6");
}

static void measure(struct graph_drawing *d)
{
    const struct picture *p = d->picture;
    for (size_t i = 0; i < p->edges.count; i++)
        if (d->layout.edges[i].cut) {
            add_reference(d, &d->far_from[p->edges.data[i].to], "\xe2\x87\xa0 from", p->edges.data[i].from);
            add_reference(d, &d->far_to[p->edges.data[i].from], "\xe2\x87\xa2 to", p->edges.data[i].to);
        }
    for (size_t i = 0; i < p->nodes.count; i++) {
        const struct picture_node *n = &p->nodes.data[i];
        const char *title = n->number >= 0 ? arena_printf(d->arena, "%d %s", n->number, n->title) : n->title;
        d->title[i] = readable_shortened(d->arena, title, TITLE);
        d->detail[i] = readable_shortened(d->arena, n->detail, DETAIL);
        const char *small[] = {d->detail[i], d->far_from[i] ? d->far_from[i] : "", d->far_to[i] ? d->far_to[i] : ""};
        double width = text_width(d->title[i], TITLE_WIDTH);
        int lines = 1;
        for (int k = 0; k < 3; k++) {
            width = text_width(small[k], DETAIL_WIDTH) > width ? text_width(small[k], DETAIL_WIDTH) : width;
            lines += small[k][0] != '\0';
        }
        d->layout.nodes[i].width = width + 2 * PADDING;
        d->layout.nodes[i].height = lines * LINE + PADDING;
    }
}

/* ---- SVG --------------------------------------------------------------------------------------------------------- */

static void draw_line_of(struct graph_drawing *d, double x, double y, const char *kind, const char *text)
{
    strbuf_addf(&d->svg, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", kind, x, y,
                markup_text(d->arena, text));
}

static void draw_node(struct graph_drawing *d, size_t i)
{
    const struct picture_node *n = &d->picture->nodes.data[i];
    const struct layout_node *at = &d->layout.nodes[i];
    const char *small[] = {d->far_from[i], d->detail[i], d->far_to[i]};
    double y = at->y + MARGIN + PADDING / 2.0 + 11;
    if (n->id[0])
        strbuf_addf(&d->svg, "<a href=\"#%s\">", n->id);
    strbuf_addf(&d->svg,
                "<g class=\"box %s\"><title>%s</title>\n"
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%d\"/>\n",
                n->kind, markup_text(d->arena, readable_shortened(d->arena, n->tooltip, 600)), at->x + MARGIN,
                at->y + MARGIN, at->width, at->height, n->number < 0 ? 11 : 4);
    const double middle = at->x + MARGIN + at->width / 2;
    for (int k = 0; k < 3; k++) {
        if (k == 1) {
            draw_line_of(d, middle, y, "title", d->title[i]);
            y += LINE;
        }
        if (small[k] && small[k][0]) {
            draw_line_of(d, middle, y, k == 1 ? "detail" : "far", small[k]);
            y += LINE;
        }
    }
    strbuf_addf(&d->svg, "</g>%s\n", n->id[0] ? "</a>" : "");
}

/* A smooth line down through the points, vertical at each. */
static void draw_edge(struct graph_drawing *d, size_t i)
{
    const struct picture_edge *e = &d->picture->edges.data[i];
    const struct layout_edge *path = &d->layout.edges[i];
    const struct layout_node *from = &d->layout.nodes[e->from], *to = &d->layout.nodes[e->to];
    if (path->cut)
        return;
    double x = from->x + from->width / 2 + MARGIN, y = from->y + from->height + MARGIN;
    strbuf_addf(&d->svg, "<path class=\"edge\" marker-end=\"url(#head)\" d=\"M%.1f %.1f", x, y);
    for (size_t k = 0; k <= path->bends.count; k++) {
        const bool last = k == path->bends.count;
        const double next_x = (last ? to->x + to->width / 2 : path->bends.data[k].x) + MARGIN;
        const double next_y = (last ? to->y - 2 : path->bends.data[k].y) + MARGIN, half = (next_y - y) / 2;
        if (next_x == x)
            strbuf_addf(&d->svg, "V%.1f", next_y);
        else
            strbuf_addf(&d->svg, "C%.1f %.1f %.1f %.1f %.1f %.1f", x, y + half, next_x, next_y - half, next_x, next_y);
        x = next_x;
        y = next_y;
    }
    strbuf_addf(&d->svg, "\"><title>%s %s</title></path>\n", markup_text(d->arena, e->name),
                markup_text(d->arena, e->type));
}

/* A scalar that all updates read, the learning rate of this step say, would be an arrow to each of them. */
static void hide_fans(struct graph_drawing *d)
{
    const struct picture *p = d->picture;
    int *readers = arena_array(d->arena, int, p->nodes.count + 1);
    for (size_t i = 0; i < p->edges.count; i++)
        readers[p->edges.data[i].from]++;
    for (size_t i = 0; i < p->edges.count && p->nodes.count > FEW; i++) {
        const int from = p->edges.data[i].from;
        d->layout.edges[i].hidden = !p->nodes.data[from].depends && readers[from] > FAN;
    }
}

static void start(struct graph_drawing *d)
{
    const struct picture *p = d->picture;
    const size_t nodes = p->nodes.count, edges = p->edges.count;
    struct arena *a = d->arena;
    d->title = arena_array(a, const char *, nodes + 1);
    d->detail = arena_array(a, const char *, nodes + 1);
    d->far_from = arena_array(a, const char *, nodes + 1);
    d->far_to = arena_array(a, const char *, nodes + 1);
    d->layout = (struct layout){.arena = a, .node_count = nodes, .edge_count = edges,
                                .longest = nodes > FEW ? LONGEST : 0, .widest = nodes > SMALL ? WIDEST : 0};
    d->layout.nodes = arena_array(a, struct layout_node, nodes + 1);
    d->layout.edges = arena_array(a, struct layout_edge, edges + 1);
    for (size_t i = 0; i < nodes; i++)
        d->layout.nodes[i].late = !p->nodes.data[i].depends;
    for (size_t i = 0; i < edges; i++)
        d->layout.edges[i] = (struct layout_edge){.from = p->edges.data[i].from, .to = p->edges.data[i].to};
    hide_fans(d);
}

const char *picture_svg(struct arena *a, const struct picture *p)
{
    struct graph_drawing d = {.arena = a, .picture = p, .svg = {.arena = a}};
    if (p->nodes.count > MOST)
        return arena_printf(a, "<p>%zu boxes are too many for a drawing; --dot writes all of them.</p>\n",
                            p->nodes.count);
    start(&d);
    layers_assign(&d.layout);
    measure(&d);
    layers_place(&d.layout);
    const double width = d.layout.width + 2 * MARGIN, height = d.layout.height + 2 * MARGIN;
    strbuf_addf(&d.svg,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" role=\"img\" width=\"%.0f\" height=\"%.0f\" "
                "viewBox=\"0 0 %.0f %.0f\">\n",
                width, height, width, height);
    for (size_t i = 0; i < p->edges.count; i++)
        draw_edge(&d, i);
    for (size_t i = 0; i < p->nodes.count; i++)
        draw_node(&d, i);
    strbuf_add(&d.svg, "</svg>\n");
    return strbuf_text(&d.svg);
}
