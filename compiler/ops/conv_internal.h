/* What the kernels of convolutions share: conv_rules.c chooses among them and has most, conv_images_rules.c those that
 * take a batch of images at a time, conv_narrow_rules.c those of short lines and a window for each channel,
 * conv_plain_rules.c plain loops. Internal to these four. */
#ifndef STEPC_OPS_CONV_INTERNAL_H
#define STEPC_OPS_CONV_INTERNAL_H

#include "ops/conv_rules.h"

#define ROWS_MOST 8    /* rows of a tile, at most */
#define LANES_MOST 16  /* channels of a vector, at most */
#define IMAGES_MOST 32 /* images of a tile, at most */
#define NARROW_MOST 15 /* elements of a short line, at most */
#define SHIFT_MOST 16  /* columns that a short line is moved by, at most */

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

/* ---- images side by side: conv_images_rules.c -------------------------------------------------------------------- */

/* Do vectors across images save enough, for y, or with `gradient` for dx? vectors: as many of windows as
 * templates/conv.c would compute for a row of an image. */
bool conv_takes_images(struct lower_ctx *c, const struct conv *v, bool gradient, int64_t vectors);
void conv_lower_images(struct lower_ctx *c, const struct conv *v, bool gradient, int x, int w);

/* ---- a window for each channel: conv_narrow_rules.c -------------------------------------------------------------- */

bool conv_is_depthwise(const struct conv *v);
/* Lines shorter than a vector, and as many windows on each as elements? They are computed over a whole plane. */
bool conv_is_narrow(const struct conv *v);
/* y, or with `gradient` dx, which is the same with the window reversed. */
void conv_lower_narrow(struct lower_ctx *c, const struct conv *v, bool gradient, int x, int w);

/* ---- plain loops: conv_plain_rules.c ----------------------------------------------------------------------------- */

void conv_lower_plain(struct lower_ctx *c, const struct conv *v, enum conv_role result, int first, int second);

#endif
