/* SPDX-License-Identifier: 0BSD */
/* The register tile of convolutions, in three forms: rows share what they read of an image. An image is laid out so
 * that neighbouring columns of the tile are neighbours in memory (conv.c). Every form adds an element's terms in index
 * order.
 *
 *   stepc_window_tile(rows, vectors, k, to, to_step, w, image, next)
 *
 * to[rows, vectors * lanes] = the sum over planes, channels and taps of w[row] * image[column]; each vector's columns
 * begin `next` behind those of the one before. rows <= STEPC_WINDOW_TILE_ROWS and
 * vectors <= STEPC_WINDOW_VECTORS_OF(rows); what is literal in a call keeps the sums in registers. */
#ifndef STEPC_KERNELS_WINDOW_TILE_H
#define STEPC_KERNELS_WINDOW_TILE_H

#include "stepc_window_lanes.h"

/* The terms of a sum, in their order, and how far they lie apart in both factors. */
struct stepc_window_terms {
    int planes, channels, taps;
    int w_row, w_plane, w_channel, w_tap;
    int image_plane, image_channel;
    const int32_t *at; /* distances of the taps in the image; without them `image_tap` lies between two */
    int image_tap;
};

#include "stepc_for_float.h"
#include "stepc_window_tile_body.h"
#include "stepc_for_double.h"
#include "stepc_window_tile_body.h"

#endif
