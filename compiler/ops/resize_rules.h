/* Where Resize reads: places, neighbours and weights. Internal to ops/. */
#ifndef STEPC_OPS_RESIZE_RULES_H
#define STEPC_OPS_RESIZE_RULES_H

#include "ops/op.h"

/* ---- what a node says -------------------------------------------------------------------------------------------- */

enum { RESIZE_X, RESIZE_ROI, RESIZE_SCALES, RESIZE_SIZES }; /* inputs */

enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
enum resize_place {
    RESIZE_HALF_PIXEL,
    RESIZE_SYMMETRIC,
    RESIZE_PYTORCH,
    RESIZE_ALIGN_CORNERS,
    RESIZE_ASYMMETRIC,
    RESIZE_CROP,
    RESIZE_FOR_NN
};
enum resize_rounding { RESIZE_PREFER_FLOOR, RESIZE_PREFER_CEIL, RESIZE_FLOOR, RESIZE_CEIL };
enum resize_policy { RESIZE_STRETCH, RESIZE_NOT_LARGER, RESIZE_NOT_SMALLER };

/* Along one axis; scale = up / down, so that what a size gives is exact. */
struct resize_axis {
    int64_t in, out;
    double up, down, length; /* length = in * scale */
    double start, end;       /* of the region that is cut out */
};

struct resize {
    enum resize_mode mode;
    enum resize_place place;
    enum resize_rounding rounding;
    bool antialias, exclude;
    double a;
    int rank, count; /* count: of listed axes */
    int axes[SHAPE_MAX_RANK];
    struct resize_axis along[SHAPE_MAX_RANK];
};

/* Reports an attribute that has none of its names. */
bool resize_infer_attributes(struct infer_ctx *c);
/* Does the node cut out a region? Its attributes were checked. */
bool resize_crops(const struct node *n);
/* Of a node whose attributes and inputs were checked. */
struct resize resize_of(const struct node *n);

/* ---- neighbours -------------------------------------------------------------------------------------------------- */

/* In mode tf_crop_and_resize: does result k lie outside of the input? */
bool resize_is_outside(const struct resize *r, const struct resize_axis *g, int64_t k);
/* Neighbours of a result along an axis: an even number, half of them to the left. */
int64_t resize_window(const struct resize *r, const struct resize_axis *g);
/* The neighbours of result k: `weight` gets a number for each; the number of the first one is returned, which may lie
 * half a window before the input. */
int64_t resize_neighbours(const struct resize *r, const struct resize_axis *g, int64_t k, double *weight);
/* The element that neighbour i is: i, or the one at the border. */
int64_t resize_inside(const struct resize_axis *g, int64_t i);

#endif
