/* A line plot as SVG: a few curves over a common horizontal axis, readable on white and on its own. */
#ifndef STEPC_REPORT_LINE_PLOT_H
#define STEPC_REPORT_LINE_PLOT_H

#include "base/str.h"
#include <stdint.h>

struct plot_curve {
    const char *name; /* any text: it is escaped */
    const double *x;  /* ascending */
    const double *y;  /* a value that is not finite interrupts the line */
    size_t count;
};

struct line_plot {
    const char *title, *x_label;
    const struct plot_curve *curves;
    size_t count;
};

/* The SVG document. The vertical axis is logarithmic if all values are positive and span more than a factor of 100. Of
 * curves with more points than the picture has columns, each column shows the least and the largest. */
const char *line_plot_svg(struct arena *a, const struct line_plot *p);

#endif
