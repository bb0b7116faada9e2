/* Layered drawing of a directed acyclic graph (Sugiyama, Tagawa, Toda 1981): where boxes stand, and how arrows
 * run between them. */
#ifndef STEPC_REPORT_LAYERS_H
#define STEPC_REPORT_LAYERS_H

#include "base/vec.h"
#include <stdbool.h>
#include <stddef.h>

struct layout_node {
    double width, height; /* given */
    bool late;            /* given: stands just above its first reader, not just below what it reads */
    double x, y;          /* found: the upper left corner */
    int layer;            /* found: 0 at the top */
};

struct layout_point {
    double x, y;
};

struct layout_edge {
    int from, to; /* given; from < to */
    bool hidden;  /* given: not drawn, whatever its length */
    bool cut;     /* found: hidden, or too long to be drawn */
    VEC(struct layout_point) bends; /* found: points that the arrow passes between the two boxes */
};

struct layout {
    struct arena *arena;
    struct layout_node *nodes;
    struct layout_edge *edges;
    size_t node_count, edge_count;
    int longest; /* given: arrows over more layers than that are cut; 0: none is */
    int widest;  /* given: boxes in a layer, not counting late ones; 0: any number */
    double width, height; /* found */
};

/* Finds layers (layers_assign) alone: which arrows are cut may change what the boxes say, and so their size. */
void layers_assign(struct layout *l);
/* The rest, after layers_assign(). The same for the same input. */
void layers_place(struct layout *l);

#endif
