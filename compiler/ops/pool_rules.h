/* What MaxPool, AveragePool and their derivatives share. Internal to ops/. */
#ifndef STEPC_OPS_POOL_RULES_H
#define STEPC_OPS_POOL_RULES_H

#include "ops/window_rules.h"

/* The attributes that all have had since opset 1. */
#define POOL_ATTRS_1                                                                                                   \
    {.name = "auto_pad", .type = ATTR_STRING, .string_default = "NOTSET"},                                             \
        {.name = "kernel_shape", .type = ATTR_INTS, .required = true}, WINDOW_LIST("pads"), WINDOW_LIST("strides")
#define POOL_NUMBER(label) {.name = (label), .type = ATTR_INT, .int_default = 0}
#define POOL_PARAM(label, set) {.name = (label), .type = 'T', .dtypes = (set)}
extern const struct op_attr pool_attrs_1[];
extern const struct op_version pool_grad_versions[];

/* ---- inference --------------------------------------------------------------------------------------------------- */

/* The windows over an input of shape x. */
struct window pool_window(const struct node *n, const struct shape *x);
/* Output 0 of a pool over input 0. */
bool pool_infer(struct infer_ctx *c);
/* Output 0 of a derivative has shape x; input i, of the pool's output's shape, is checked. */
bool pool_infer_grad(struct infer_ctx *c, int i, const struct shape *x);

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* The windows as attributes, and ceil_mode. */
void pool_make_attrs(const struct node *n, const struct window *w, struct window_attrs *a);

/* ---- code -------------------------------------------------------------------------------------------------------- */

enum { POOL_UNROLLED = 16 }; /* elements of a window that are written out */

/* Small windows within the input: each element is one strided load, and the result a map that fusion can place
 * anywhere. */
bool pool_is_map(const struct window *w);
/* Position t of all windows, over the output's shape: [n, channels, spatial axes]. */
const struct expr *pool_load_position(struct lower_ctx *c, const struct view *x, const struct shape *over,
                                      const struct window *w, int64_t t);

struct pool_template { /* for speed, and with --optimize size */
    const struct template_traits fast, small;
};
/* `lacks`: windows, or elements of a derivative, may see what lies outside. `padding`: an average counts it. */
const struct template_traits *pool_form(const struct lower_ctx *c, const struct pool_template *t); /* as options ask */
void pool_bind_window(struct lower_ctx *c, const struct template_traits *form, const struct window *w, int64_t planes,
                      enum dtype type, bool lacks, bool padding);
void pool_bind_operand(struct lower_ctx *c, const char *param, int i);
void pool_add_finish(struct lower_ctx *c, const char *hole, int output, int64_t planes, int64_t count);
int64_t pool_planes(const struct shape *x);
bool pool_lower_zeros(struct lower_ctx *c);

#endif
