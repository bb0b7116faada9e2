#ifndef DIGITS_EXAMPLE_PLOT_H
#define DIGITS_EXAMPLE_PLOT_H

#include <stdbool.h>

/* Writes a curve of positive values over 1 .. count as an SVG picture, on a logarithmic scale. False if it
 * cannot be written. */
bool plot_curve(const char *path, const char *title, const float *values, int count);

#endif
