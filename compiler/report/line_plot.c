#include "report/line_plot.h"

#include "report/markup.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 720, HEIGHT = 400, LEFT = 76, RIGHT = 24, TOP = 44, LEGEND_LINE = 18, BOTTOM = 52 };
enum { PLOT_WIDTH = WIDTH - LEFT - RIGHT, PLOT_HEIGHT = HEIGHT - TOP - BOTTOM, TICKS = 6 };

/* Distinct in print and for colour-blind readers (Okabe and Ito). */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
enum { COLOURS = sizeof colours / sizeof *colours };

struct axis_range {
    double low, high;
    bool logarithmic;
};

struct plot_drawing {
    struct strbuf svg;
    const struct line_plot *plot;
    struct axis_range x, y;
};

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void add_text(struct strbuf *b, double x, double y, const char *attributes, const char *text)
{
    strbuf_addf(b, "<text x=\"%.1f\" y=\"%.1f\"%s%s>%s</text>\n", x, y, *attributes ? " " : "", attributes,
                markup_text(b->arena, text));
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static void widen(struct axis_range *r, double v)
{
    if (v < r->low)
        r->low = v;
    if (v > r->high)
        r->high = v;
}

/* An empty range becomes 0..1, a point gets room on both sides. */
static void give_width(struct axis_range *r)
{
    if (r->low > r->high)
        *r = (struct axis_range){.low = 0, .high = 1};
    if (r->low == r->high) {
        const double room = r->low == 0 ? 1 : fabs(r->low) / 2;
        r->low -= room;
        r->high += room;
    }
}

static void find_ranges(struct plot_drawing *d)
{
    d->x = d->y = (struct axis_range){.low = INFINITY, .high = -INFINITY};
    for (size_t c = 0; c < d->plot->count; c++) {
        const struct plot_curve *curve = &d->plot->curves[c];
        for (size_t i = 0; i < curve->count; i++) {
            widen(&d->x, curve->x[i]);
            if (isfinite(curve->y[i]))
                widen(&d->y, curve->y[i]);
        }
    }
    d->y.logarithmic = d->y.low > 0 && d->y.low <= d->y.high && d->y.high / d->y.low > 100;
    if (d->y.logarithmic) {
        d->y.low = log10(d->y.low);
        d->y.high = log10(d->y.high);
    }
    give_width(&d->x);
    give_width(&d->y);
}

static double place_x(const struct plot_drawing *d, double x)
{
    return LEFT + PLOT_WIDTH * ((x - d->x.low) / (d->x.high - d->x.low));
}

static double place_y(const struct plot_drawing *d, double y)
{
    const double v = d->y.logarithmic ? log10(y) : y;
    return TOP + PLOT_HEIGHT * (1 - (v - d->y.low) / (d->y.high - d->y.low));
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, so that about TICKS of them fill the range; whole numbers where `least` is 1. */
static double tick_distance(const struct axis_range *r, double least)
{
    const double rough = (r->high - r->low) / TICKS, power = pow(10, floor(log10(rough)));
    const double step = rough / power <= 1   ? power
                        : rough / power <= 2 ? 2 * power
                        : rough / power <= 5 ? 5 * power
                                             : 10 * power;
    return step < least ? least : step;
}

static void draw_tick_x(struct plot_drawing *d, double value)
{
    char label[32];
    const double x = place_x(d, value);
    snprintf(label, sizeof label, "%.10g", value);
    strbuf_addf(&d->svg, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#888\"/>\n", x, TOP + PLOT_HEIGHT,
                x, TOP + PLOT_HEIGHT + 5);
    add_text(&d->svg, x, TOP + PLOT_HEIGHT + 20, "text-anchor=\"middle\"", label);
}

/* `v` is a place on the axis: the exponent on a logarithmic one. */
static void draw_tick_y(struct plot_drawing *d, double v)
{
    char label[32];
    const double value = d->y.logarithmic ? pow(10, v) : v, y = place_y(d, value);
    snprintf(label, sizeof label, "%.4g", value);
    strbuf_addf(&d->svg, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT, y,
                LEFT + PLOT_WIDTH, y);
    add_text(&d->svg, LEFT - 8, y + 4, "text-anchor=\"end\"", label);
}

/* Powers of ten, every so many that TICKS suffice; 2 and 5 times them as well where there are few. */
static void draw_ticks_logarithmic(struct plot_drawing *d)
{
    const double decades = d->y.high - d->y.low, distance = decades > TICKS ? ceil(decades / TICKS) : 1;
    for (double v = floor(d->y.low / distance) * distance; v <= d->y.high; v += distance)
        for (int factor = 1; factor <= (decades < 3 ? 5 : 1); factor += factor == 2 ? 3 : 1) {
            const double place = v + log10(factor);
            if (place >= d->y.low && place <= d->y.high)
                draw_tick_y(d, place);
        }
}

static void draw_axes(struct plot_drawing *d)
{
    const double dx = tick_distance(&d->x, 1), dy = tick_distance(&d->y, 0);
    if (d->y.logarithmic)
        draw_ticks_logarithmic(d);
    /* Ticks are counted, not added up: an addition too small to matter would never end. */
    for (int i = 0; !d->y.logarithmic && i <= 2 * TICKS && (ceil(d->y.low / dy) + i) * dy <= d->y.high; i++)
        draw_tick_y(d, (ceil(d->y.low / dy) + i) * dy);
    for (int i = 0; i <= 2 * TICKS && (ceil(d->x.low / dx) + i) * dx <= d->x.high; i++)
        draw_tick_x(d, (ceil(d->x.low / dx) + i) * dx);
    strbuf_addf(&d->svg, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#444\"/>\n", LEFT, TOP, TOP + PLOT_HEIGHT,
                LEFT + PLOT_WIDTH);
    add_text(&d->svg, LEFT + PLOT_WIDTH / 2.0, HEIGHT - 12, "text-anchor=\"middle\"", d->plot->x_label);
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

static bool can_show(const struct plot_drawing *d, double y)
{
    return isfinite(y) && (!d->y.logarithmic || y > 0);
}

static void add_point(struct plot_drawing *d, double x, double y, bool *pen_down)
{
    strbuf_addf(&d->svg, "%s%.1f %.1f", *pen_down ? "L" : "M", place_x(d, x), place_y(d, y));
    *pen_down = true;
}

/* Points [from, to) share a column of the picture: the least and the largest, in their order. */
static void add_column(struct plot_drawing *d, const struct plot_curve *c, size_t from, size_t to, bool *pen_down)
{
    size_t least = from, most = from;
    for (size_t i = from; i < to; i++) {
        if (!can_show(d, c->y[i])) {
            *pen_down = false;
            return;
        }
        least = c->y[i] < c->y[least] ? i : least;
        most = c->y[i] > c->y[most] ? i : most;
    }
    const size_t first = least < most ? least : most, second = least < most ? most : least;
    add_point(d, c->x[first], c->y[first], pen_down);
    if (second != first)
        add_point(d, c->x[second], c->y[second], pen_down);
}

static void draw_curve(struct plot_drawing *d, size_t number)
{
    const struct plot_curve *c = &d->plot->curves[number];
    const char *colour = colours[number % COLOURS];
    const size_t column = c->count / PLOT_WIDTH + 1;
    bool pen_down = false;
    strbuf_addf(&d->svg, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"", colour);
    for (size_t i = 0; i < c->count; i += column)
        add_column(d, c, i, i + column < c->count ? i + column : c->count, &pen_down);
    strbuf_add(&d->svg, "\"/>\n");
    for (size_t i = 0; i < c->count && c->count <= 40; i++) /* few points are worth seeing as such */
        if (can_show(d, c->y[i]))
            strbuf_addf(&d->svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>\n", place_x(d, c->x[i]),
                        place_y(d, c->y[i]), colour);
}

static void draw_legend(struct plot_drawing *d)
{
    for (size_t i = 0; i < d->plot->count; i++) {
        const double y = TOP + 14 + LEGEND_LINE * (double)i;
        strbuf_addf(&d->svg, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"3\"/>\n",
                    LEFT + PLOT_WIDTH - 26, y - 4, LEFT + PLOT_WIDTH - 6, y - 4, colours[i % COLOURS]);
        add_text(&d->svg, LEFT + PLOT_WIDTH - 32, y, "text-anchor=\"end\"", d->plot->curves[i].name);
    }
}

const char *line_plot_svg(struct arena *a, const struct line_plot *p)
{
    struct plot_drawing d = {.svg = {.arena = a}, .plot = p};
    find_ranges(&d);
    strbuf_addf(&d.svg,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                "font-family=\"sans-serif\" font-size=\"12\">\n"
                "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                WIDTH, HEIGHT, WIDTH, HEIGHT, markup_text(a, p->title));
    add_text(&d.svg, LEFT, 26, "font-size=\"15\"", p->title);
    draw_axes(&d);
    for (size_t i = 0; i < p->count; i++)
        draw_curve(&d, i);
    draw_legend(&d);
    strbuf_add(&d.svg, "</svg>\n");
    return strbuf_text(&d.svg);
}
