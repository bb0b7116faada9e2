/* What convolutions and pooling share: a window that moves over the last one to three axes. Internal to ops/. */
#ifndef STEPC_OPS_WINDOW_RULES_H
#define STEPC_OPS_WINDOW_RULES_H

#include "ops/op.h"

#define WINDOW_AXES 3

/* An attribute with a number for each axis, or for either end of each. */
#define WINDOW_LIST(label) {.name = (label), .type = ATTR_INTS, .no_default = true}

/* One axis: position t of the window at output i reads input i * stride + t * dilation - pad_begin. */
struct window_axis {
    int64_t in, out, size, stride, dilation, pad_begin, pad_end;
    int64_t in_per, out_per, size_per; /* of in, out and size as sizes (tensor/size.h) */
};

/* Always three axes; a model with fewer has its own last, axes of one element before them. */
struct window {
    int rank; /* the model's spatial axes: 1 to 3 */
    struct window_axis axis[WINDOW_AXES];
};

/* ---- inference --------------------------------------------------------------------------------------------------- */

/* From the attributes strides, dilations, pads, auto_pad and ceil_mode (where the node has them) for inputs of `shape`
 * ([N, C, spatial...]) and windows of `size` (rank numbers). Reports what is wrong. */
bool window_infer(struct infer_ctx *c, const struct shape *shape, const struct shape *size, struct window *out);
/* The attribute kernel_shape, which must have one positive number per spatial axis; reports. Of rank 0 where absent
 * (and reported, if `required`). */
bool window_infer_kernel(struct infer_ctx *c, int rank, bool required, struct shape *size);
/* A list attribute of `expected` numbers from `least` to INT32_MAX, so that products of two stay far below int64's
 * limit; *x is NULL where it is absent. Reports. */
bool window_infer_list(struct infer_ctx *c, const char *name, size_t expected, int64_t least, const int64_t **x);
/* Spatial axes of input i: 1 to 3, else a report and 0. */
int window_infer_rank(struct infer_ctx *c, int i);
/* Of gradients: the attribute shape, the shape of the input that is differentiated by; reports unless
 * it suits input 0. */
bool window_infer_shape(struct infer_ctx *c, struct shape *out);
/* The shape of a pool over all that is behind the channels: [N, C, 1, ..]; or an error. */
bool window_infer_global(struct infer_ctx *c);
struct shape window_shape(const struct node *n); /* the same for a node that inference has passed */
/* [n, channels, spatial outputs...] */
struct shape window_out_shape(const struct window *w, struct size n, struct size channels);
struct size window_in_size(const struct window_axis *a);
struct size window_out_size(const struct window_axis *a);

/* Positions of the input from the first one of a window to its last: (size - 1) * dilation + 1. */
struct size window_reach(const struct window_axis *a);
/* [outputs, inputs, window...] */
struct shape window_weights(const struct window *w, struct size outputs, struct size inputs);
struct shape window_of_weights(const struct shape *w); /* the window alone */

/* The same for a node that inference has passed. */
struct window window_of(const struct node *n, const struct shape *shape, const struct shape *size);
struct window window_of_kernel(const struct node *n, const struct shape *shape); /* of the attribute kernel_shape */

/* ---- attributes for new nodes ------------------------------------------------------------------------------------ */

/* kernel_shape, strides, dilations, pads: explicit. */
#define WINDOW_ATTRS 4
struct window_attrs {
    struct attr attr[WINDOW_ATTRS + 4]; /* those, then room for more, then the end */
    struct shape size;
    int64_t numbers[4 * WINDOW_AXES];
};
void window_make_attrs(const struct window *w, struct window_attrs *out);

/* ---- sums over windows (window_sum.c) ---------------------------------------------------------------------------- */

/* [n, c, outputs...]: the sums of what each window sees of x, [n, c, inputs...]; zeros in the padding. */
struct value *window_build_sum(struct builder *b, struct value *x, const struct window *w);

/* ---- where windows lie ------------------------------------------------------------------------------------------- */

/* Input position, or -1 in the padding. */
int64_t window_at(const struct window_axis *a, int64_t out, int64_t tap);
int64_t window_size(const struct window *w);       /* positions of a window */
int64_t window_in_count(const struct window *w);   /* elements of one channel */
int64_t window_out_count(const struct window *w);
/* Input element (row-major within a channel) at position `tap` of window `out`, both row-major numbers; -1: padding. */
int64_t window_element(const struct window *w, int64_t out, int64_t tap);
/* Does any window reach outside of the input? */
bool window_leaves_input(const struct window *w);
/* Is there an element that windows before the first output or behind the last would read? */
bool window_lacks_outputs(const struct window *w);
/* Number of positions of window `out` that an average divides by: those within the input, or with `padding` also those
 * within the padding (but not beyond it, where ceil_mode may reach). */
int64_t window_axis_population(const struct window_axis *a, int64_t out, bool padding);
int64_t window_population(const struct window *w, int64_t out, bool padding);
/* That of all windows, or 0 where they have different ones. */
int64_t window_equal_population(const struct window *w, bool padding);

#endif
