/* Internal to plan/: offsets for intervals of time (dynamic storage allocation). */
#ifndef STEPC_PLAN_PLACES_H
#define STEPC_PLAN_PLACES_H

#include "base/vec.h"
#include <stddef.h>

/* A temporary, with all that take its place one after the other. */
struct place {
    struct buffer *buffer; /* the first; its id settles ties */
    int first, last;       /* kernels that touch it first and last */
    size_t bytes;
    size_t offset;
};
typedef VEC(struct place) place_list;

/* Largest sum of bytes alive at once, over `times` kernels: no packing needs less. */
size_t places_bound(const place_list *l, size_t times);

/* Gives every place an offset so that no two that live at the same time overlap; returns the bytes of all. */
size_t places_pack(place_list *l);

#endif
