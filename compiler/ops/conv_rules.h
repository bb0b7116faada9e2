/* Convolution as its three operators see it: x [n, groups c, spatial], w [groups o, c, window], y [n, groups o,
 * spatial]. Internal to ops/. */
#ifndef STEPC_OPS_CONV_RULES_H
#define STEPC_OPS_CONV_RULES_H

#include "ops/window_rules.h"

struct conv {
    int64_t n, groups, c, o; /* c, o: channels of one group */
    struct size images, channels; /* n and groups c as sizes */
    struct window window;
};

/* A factor of the sum of products that all three operators are: which input it is, or that it is the output. */
enum conv_role { CONV_X, CONV_W, CONV_Y };

/* Input i as weights for x; reports what does not fit. */
bool conv_infer_weights(struct infer_ctx *c, const struct shape *x, int i);
/* Of a node that inference has passed, for windows of `size`. */
struct conv conv_make(const struct node *n, const struct shape *x, struct size out_channels, const struct shape *size);

/* Code for the operator whose output has the role `result`; x, w, y are the numbers of the inputs in
 * these roles. finish: over the loops [n, channels, elements of a channel] (of W: [channels, c, positions of the
 * window]) in terms of expr_result(). */
bool conv_lower(struct lower_ctx *c, const struct conv *conv, enum conv_role result, int first, int second,
                const struct expr *finish);

#endif
