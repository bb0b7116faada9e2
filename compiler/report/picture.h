/* Graphs as boxes and arrows, before anything is drawn: what SVG and Graphviz both show. */
#ifndef STEPC_REPORT_PICTURE_H
#define STEPC_REPORT_PICTURE_H

#include "report/report.h"

struct picture_node {
    const char *id;      /* of the row of a table that tells more, "" for none; safe in an attribute */
    const char *kind;    /* CSS class: "input", "output", "node", or a phase of kernels */
    int number;          /* position in the entry or graph; -1: has none */
    const char *title;   /* any text, as in the next two */
    const char *detail;  /* parameters, "" for none */
    const char *tooltip;
    bool depends; /* on an input, directly or not */
};

struct picture_edge {
    int from, to; /* indices of nodes; from < to: nodes stand in topological order */
    const char *name, *type;
};

struct picture {
    VEC(struct picture_node) nodes;
    VEC(struct picture_edge) edges;
};

/* The main graph: its inputs, nodes and outputs. Parameters are no boxes of their own; constants, and what follows from
 * them alone, are none at all. */
struct picture picture_of_model(const struct report *r);
/* The kernels of an entry; an output that is written in place hangs on the kernel that computes it. */
struct picture picture_of_entry(const struct report *r, const struct report_entry *e);

/* The picture as an <svg> element. */
const char *picture_svg(struct arena *a, const struct picture *p);

#endif
