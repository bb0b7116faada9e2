#include "plot.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 640, HEIGHT = 360, LEFT = 60, RIGHT = 20, TOP = 40, BOTTOM = 40 };

static double x_of(int i, int count)
{
    return LEFT + (double)(WIDTH - LEFT - RIGHT) * i / (count > 1 ? count - 1 : 1);
}

static double y_of(double value, int low, int high) /* decades */
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (high - log10(value)) / (high - low);
}

static void draw_scale(FILE *svg, int low, int high, int count)
{
    for (int decade = low; decade <= high; decade++) {
        const double y = y_of(pow(10, decade), low, high);
        fprintf(svg, "<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' stroke='#ddd'/>\n", LEFT, y, WIDTH - RIGHT, y);
        fprintf(svg, "<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n", LEFT - 8, y + 4, pow(10, decade));
    }
    fprintf(svg, "<text x='%d' y='%d'>1</text>\n", LEFT, HEIGHT - BOTTOM + 20);
    fprintf(svg, "<text x='%d' y='%d' text-anchor='end'>%d</text>\n", WIDTH - RIGHT, HEIGHT - BOTTOM + 20, count);
}

bool plot_curve(const char *path, const char *title, const float *values, int count)
{
    FILE *svg = fopen(path, "w");
    if (!svg)
        return false;
    double least = values[0], most = values[0];
    for (int i = 1; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    const int low = (int)floor(log10(least)), high = (int)floor(log10(most)) + 1;
    fprintf(svg,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='12'>\n",
            WIDTH, HEIGHT);
    fprintf(svg, "<rect width='100%%' height='100%%' fill='white'/>\n<text x='%d' y='24' font-size='15'>%s</text>\n",
            LEFT, title);
    draw_scale(svg, low, high, count);
    fprintf(svg, "<polyline fill='none' stroke='#06c' stroke-width='2' points='");
    for (int i = 0; i < count; i++)
        fprintf(svg, "%.1f,%.1f ", x_of(i, count), y_of(values[i], low, high));
    fprintf(svg, "'/>\n</svg>\n");
    const bool written = !ferror(svg);
    return fclose(svg) == 0 && written;
}
