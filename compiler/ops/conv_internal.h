/* What the kernels of convolutions share: conv_rules.c chooses among their forms and has most, conv_product_rules.c
 * those that are matrix products, conv_images_rules.c those that take a batch of images at a time,
 * conv_narrow_rules.c those of short lines and a window for each channel, conv_plain_rules.c plain loops. Internal to
 * these five. */
#ifndef STEPC_OPS_CONV_INTERNAL_H
#define STEPC_OPS_CONV_INTERNAL_H

#include "ops/conv_rules.h"

#define ROWS_MOST 8    /* rows of a tile, at most */
#define LANES_MOST 16  /* channels of a vector, at most */
#define IMAGES_MOST 32 /* images of a tile, at most */
#define NARROW_MOST 15 /* elements of a short line, at most */
#define SHIFT_MOST 16  /* columns that a short line is moved by, at most */

/* What is to be lowered: y from x and w, dx from dy and w, or dw from dy and x. */
struct conv_task {
    struct lower_ctx *c;
    const struct conv *v;
    enum conv_role result;
    int first, second; /* inputs of the node */
};

/* A kernel that computes it. Of several that fit the first one is taken, or what is cheaper (conv_rules.c). */
struct conv_form {
    bool (*fits)(const struct conv_task *t);
    double (*cost)(const struct conv_task *t); /* multiplications; NULL: nothing behind it is better */
    void (*bind)(const struct conv_task *t);   /* the template of the kernel at hand; NULL: it is a matrix product */
};

/* ---- holes of templates: conv_rules.c ---------------------------------------------------------------------------- */

/* Of so many rows, those of a tile. */
int64_t conv_tile_rows(int64_t rows);
void conv_bind_operand(struct lower_ctx *c, const char *param, int i);
/* An operand of [n, channels, elements], which the template takes plane by plane, with so much scratch if they are
 * computed. */
void conv_bind_planes(struct lower_ctx *c, const char *param, int i, int64_t n, int64_t channels, int64_t elements,
                      int64_t scratch);
/* Scratch, in which a plane is needed behind the first `count` elements; there lie the planes of operands that
 * are computed, too. */
void conv_bind_scratch(struct lower_ctx *c, int64_t count, int64_t plane);
void conv_bind_table(struct lower_ctx *c, const char *param, const int64_t *x, int64_t count);

/* ---- matrix products: conv_product_rules.c ----------------------------------------------------------------------- */

/* Elements of an image that stays near while other operands pass by: an eighth of the second cache. */
int64_t conv_most_of_image(const struct lower_ctx *c);
/* Windows of one element that meet every element once have all elements of a channel on one line; others stay. */
struct conv conv_on_one_line(const struct conv *v);
bool conv_fits_product(const struct conv_task *t);
/* With kernels of its own. */
bool conv_lower_product(const struct conv_task *t, const struct expr *finish);

/* ---- images side by side: conv_images_rules.c -------------------------------------------------------------------- */

bool conv_fits_images(const struct conv_task *t);
double conv_cost_of_images(const struct conv_task *t);
void conv_bind_images(const struct conv_task *t);

/* ---- a window for each channel: conv_narrow_rules.c -------------------------------------------------------------- */

bool conv_is_depthwise(const struct conv *v);
/* Lines shorter than a vector, and as many windows on each as elements? They are computed over a whole plane. */
bool conv_fits_narrow(const struct conv_task *t);
/* y, or dx, which is the same with the window reversed. */
void conv_bind_narrow(const struct conv_task *t);

/* ---- plain loops: conv_plain_rules.c ----------------------------------------------------------------------------- */

bool conv_fits_plain(const struct conv_task *t);
void conv_bind_plain(const struct conv_task *t);

#endif
