/* Two panels over one axis of kernels: above, where each temporary lies while it lives; below, how many bytes are
 * alive. Between them a strip says which kernels are of the forward half, of the backward half, and updates. Colours:
 * the page's style sheet. */
#include "report/draw_memory.h"

#include "report/markup.h"
#include "report/report_internal.h"
#include <string.h>

enum { LEFT = 78, RIGHT = 132, TOP = 24, STRIP = 9, NUMBERS = 20, NAMES = 118, ALIVE = 84, BOTTOM = 12, GAP = 12 };
enum { LOW = 340, HIGH = 560, CROWDED = 40 }; /* height of the plan; temporaries for the higher one */
enum { ROOM = 1010, WIDEST = 130, NARROWEST = 3, NAMED_MOST = 40 };
#define CHARACTER 6.1

struct memory_drawing {
    struct arena *arena;
    const struct report_entry *entry;
    struct strbuf svg;
    double column; /* width of a kernel */
    int kernels, plot;
    int64_t top;   /* bytes at the upper edge */
    bool named;    /* few kernels: with their names */
};

static double place_x(const struct memory_drawing *d, int kernel)
{
    return LEFT + kernel * d->column;
}

static double place_y(const struct memory_drawing *d, int64_t offset)
{
    return TOP + d->plot * (1 - (double)offset / (double)d->top);
}

static double plot_right(const struct memory_drawing *d)
{
    return place_x(d, d->kernels);
}

static void label(struct memory_drawing *d, double x, double y, const char *attributes, const char *text)
{
    strbuf_addf(&d->svg, "<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, attributes, markup_text(d->arena, text));
}

/* From the left edge of the plot. */
static void line(struct memory_drawing *d, const char *kind, double y, double right)
{
    strbuf_addf(&d->svg, "<line class=\"%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kind, LEFT, y, right,
                y);
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

/* A power of two, or three halves of one, so that at most six fill the axis. */
static int64_t tick_distance(int64_t top)
{
    int64_t t = 64;
    while (top / t > 6)
        t = (t & (t - 1)) == 0 ? t / 2 * 3 : t / 3 * 4;
    return t;
}

static void draw_offsets(struct memory_drawing *d)
{
    const int64_t distance = tick_distance(d->top);
    for (int64_t v = 0; v <= d->top; v += distance) {
        const double y = place_y(d, v);
        line(d, "grid", y, plot_right(d));
        label(d, LEFT - 6, y + 4, "class=\"axis\" text-anchor=\"end\"", readable_bytes(d->arena, v));
    }
    strbuf_addf(&d->svg,
                "<text class=\"axis\" transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">offset in the "
                "arena</text>\n",
                TOP + d->plot / 2);
}

/* The bound, and the arena where it is larger. */
static void draw_bounds(struct memory_drawing *d)
{
    const struct report_entry *e = d->entry;
    const double y = place_y(d, e->bound_bytes), right = plot_right(d);
    const double x = right + 6, text_y = place_y(d, e->arena_bytes) + 4;
    const bool is_bound = e->arena_bytes == e->bound_bytes;
    line(d, "bound", y, right + 4);
    if (!is_bound)
        line(d, "arena", text_y - 4, right + 4);
    label(d, x, text_y, "class=\"axis strong\"",
          arena_printf(d->arena, "arena %s", readable_bytes(d->arena, e->arena_bytes)));
    if (is_bound) {
        label(d, x, text_y + 14, "class=\"axis\"", "= the lower bound");
        return;
    }
    label(d, x, y + 4 > text_y + 28 ? y + 4 : text_y + 28, "class=\"axis\"",
          arena_printf(d->arena, "lower bound %s", readable_bytes(d->arena, e->bound_bytes)));
}

static const char *kernel_tooltip(const struct memory_drawing *d, int i)
{
    const struct report_kernel *k = &d->entry->kernels.data[i];
    return arena_printf(d->arena, "kernel %d: %s (%s)\n%s alive\n%s", i,
                        k->is_called ? k->name : "an output written in place", report_phase_names[k->phase],
                        readable_bytes(d->arena, k->alive), readable_shortened(d->arena, k->about, 300));
}

static void draw_kernels(struct memory_drawing *d)
{
    const struct report_entry *e = d->entry;
    const double y = TOP + d->plot + 3;
    const int every = d->column >= 18 ? 1 : d->column >= 9 ? 5 : d->kernels > 200 ? 20 : 10;
    for (int i = 0; i < d->kernels; i++) {
        const struct report_kernel *k = &e->kernels.data[i];
        const double x = place_x(d, i), middle = x + d->column / 2;
        strbuf_addf(&d->svg,
                    "<a href=\"#%s-%d\"><rect class=\"phase %s%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
                    "height=\"%d\"><title>%s</title></rect></a>\n",
                    e->name, i, report_phase_names[k->phase], k->updates ? " updates" : "", x, y, d->column, STRIP,
                    markup_text(d->arena, kernel_tooltip(d, i)));
        if (i % every == 0)
            label(d, middle, y + STRIP + 13, "class=\"axis\" text-anchor=\"middle\"", arena_printf(d->arena, "%d", i));
        const char *name = k->is_called ? readable_shortened(d->arena, k->name, 26) : "(in place)";
        if (d->named)
            strbuf_addf(&d->svg,
                        "<text class=\"axis%s\" transform=\"translate(%.1f %.1f) rotate(-38)\" "
                        "text-anchor=\"end\">%s</text>\n",
                        k->is_called ? "" : " faint", middle + 5, y + STRIP + NUMBERS + 8, markup_text(d->arena, name));
    }
}

/* ---- temporaries ------------------------------------------------------------------------------------------------- */

static const char *temporary_tooltip(const struct memory_drawing *d, const struct report_temporary *t)
{
    static const char *const about[TEMPORARY_KINDS] = {
        [TEMPORARY_FORWARD] = "forward, not needed for gradients", [TEMPORARY_KEPT] = "forward, kept for the gradients",
        [TEMPORARY_GRADIENT] = "made for the gradients", [TEMPORARY_SCRATCH] = "work space of one kernel"};
    return arena_printf(d->arena, "%s %s\n%s at offset %s, kernels %d to %d\n%s", t->name,
                        readable_type(d->arena, t->dtype, &t->shape), readable_bytes(d->arena, t->bytes),
                        readable_grouped(d->arena, t->offset), t->first, t->last, about[t->kind]);
}

/* The name where there is room for most of it, and the size below. */
static void draw_name(struct memory_drawing *d, const struct report_temporary *t, double x, double y, double width,
                      double height)
{
    enum { LEAST = 4 };
    const double room = (width - 6) / CHARACTER;
    const size_t letters = room > 0 ? (size_t)room : 0, wanted = readable_length(t->name);
    if (height < 11 || letters < LEAST || (letters < wanted && letters < 8 && letters < wanted / 2))
        return;
    const bool two = height >= 28;
    const double middle = y + height / 2 + (two ? -2 : 4);
    label(d, x + width / 2, middle, "class=\"name\" text-anchor=\"middle\"",
          readable_shortened(d->arena, t->name, letters));
    const char *size = readable_bytes(d->arena, t->bytes);
    if (two && readable_length(size) <= letters)
        label(d, x + width / 2, middle + 13, "class=\"size\" text-anchor=\"middle\"", size);
}

static void draw_temporary(struct memory_drawing *d, const struct report_temporary *t)
{
    const double x = place_x(d, t->first), width = (t->last - t->first + 1) * d->column;
    const double y = place_y(d, t->offset + t->space);
    double height = place_y(d, t->offset) - y;
    height = height < 0.6 ? 0.6 : height;
    strbuf_addf(&d->svg,
                "<g class=\"temporary %s\"><title>%s</title>"
                "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
                report_temporary_names[t->kind], markup_text(d->arena, temporary_tooltip(d, t)), x, y, width, height);
    draw_name(d, t, x, y, width, height);
    strbuf_add(&d->svg, "</g>\n");
}

/* ---- bytes alive ------------------------------------------------------------------------------------------------- */

static void draw_alive(struct memory_drawing *d, double top)
{
    const struct report_entry *e = d->entry;
    const int64_t most = e->kernels.data[e->peak].alive;
    const double bottom = top + ALIVE;
    strbuf_addf(&d->svg, "<path class=\"alive\" d=\"M%d %.1f", LEFT, bottom);
    for (int i = 0; i < d->kernels; i++) {
        const double y = bottom - ALIVE * (double)e->kernels.data[i].alive / (double)most;
        strbuf_addf(&d->svg, "V%.1fH%.2f", y, place_x(d, i + 1));
    }
    strbuf_addf(&d->svg, "V%.1fZ\"/>\n", bottom);
    line(d, "bound", top, plot_right(d) + 4);
    line(d, "grid", bottom, plot_right(d));
    label(d, LEFT - 6, top + 5, "class=\"axis\" text-anchor=\"end\"", readable_bytes(d->arena, most));
    label(d, LEFT - 6, bottom + 4, "class=\"axis\" text-anchor=\"end\"", "0 B");
    label(d, LEFT - 6, top + ALIVE / 2.0 + 4, "class=\"axis\" text-anchor=\"end\"", "alive");
    label(d, plot_right(d) + 6, top + 5, "class=\"axis\"", arena_printf(d->arena, "most: kernel %d", e->peak));
}

static void draw_peak(struct memory_drawing *d, double bottom)
{
    const double x = place_x(d, d->entry->peak);
    strbuf_addf(&d->svg, "<rect class=\"peak\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%.1f\"/>\n", x, TOP - 6,
                d->column, bottom - TOP + 6);
}

const char *memory_svg(struct arena *a, const struct report_entry *e)
{
    struct memory_drawing d = {.arena = a, .entry = e, .svg = {.arena = a}, .kernels = (int)e->kernels.count};
    if (e->temporaries.count == 0)
        return "";
    d.column = (double)ROOM / d.kernels;
    d.column = d.column > WIDEST ? WIDEST : d.column < NARROWEST ? NARROWEST : d.column;
    d.named = d.kernels <= NAMED_MOST;
    d.plot = e->temporaries.count > CROWDED ? HIGH : LOW;
    d.top = e->arena_bytes > e->bound_bytes ? e->arena_bytes : e->bound_bytes;
    const double alive_top = TOP + d.plot + STRIP + NUMBERS + (d.named ? NAMES : 0) + GAP,
                 height = alive_top + ALIVE + BOTTOM;
    const double width = plot_right(&d) + RIGHT;
    strbuf_addf(&d.svg,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"memory\" role=\"img\" width=\"%.0f\" "
                "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
                width, height, width, height);
    draw_peak(&d, alive_top + ALIVE);
    draw_offsets(&d);
    for (size_t i = 0; i < e->temporaries.count; i++)
        draw_temporary(&d, &e->temporaries.data[i]);
    draw_bounds(&d);
    draw_kernels(&d);
    draw_alive(&d, alive_top);
    strbuf_add(&d.svg, "</svg>\n");
    return strbuf_text(&d.svg);
}
