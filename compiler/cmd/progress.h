/* A bar on the terminal for long work: how far, the figure that matters, how much longer. */
#ifndef STEPC_CMD_PROGRESS_H
#define STEPC_CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool shown; /* stderr is a terminal and there is something to wait for */
    int64_t all;
    double start, last; /* seconds */
};

/* A bar appears only if `wanted`, on a terminal, for more than one step. */
void progress_begin(struct progress *p, bool wanted, int64_t all);
/* `figure` (may be NULL) is shown with its name. Redraws at most ten times a second. */
void progress_show(struct progress *p, int64_t done, const char *name, const double *figure);
/* Wipes the bar, so that a line can be printed in its place. */
void progress_clear(struct progress *p);

#endif
