/* SPDX-License-Identifier: 0BSD */
/* The register tile of matrix products that also adds up its rows of a. Embedded whole into emitted code; for double as
 * tile.h. */
#ifndef STEPC_TEMPLATE_TILE_SUMS_H
#define STEPC_TEMPLATE_TILE_SUMS_H

#include "quad.h"
#include "registers.h"
#include "tile.h"

#if STEPC_FORM == 2

/* As tile_terms(), for rows of a side by side; and sums[i] += row i of a. */
/* Why: on the way these sums cost next to nothing, while in a loop of their own each addition waits for the one
 * before. */
static STEPC_INLINE void tile_terms_and_sums(const int rows, const int vectors, const int depth, const int adds,
                                             float *restrict c, const float *restrict a, const int depth_step,
                                             const float *restrict b, const int b_step, float *restrict sums)
{
    vec acc[TILE_ROWS][VECTORS];
    quad four[(TILE_ROWS + 3) / 4];
    float one[TILE_ROWS];
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        acc[i][0] = acc[i][1] = (vec){0};
        one[i] = sums[i];
    }
    STEPC_UNROLL
    for (int i = 0; i < rows / 4; i++)
        four[i] = *(const quad_at *)(sums + 4 * i);
    STEPC_UNROLL_4
    for (int k = 0; k < depth; k++) {
        const vec b0 = *(const vec_at *)(b + k * b_step);
        const vec b1 = *(const vec_at *)(b + k * b_step + (vectors > 1 ? LANES : 0));
        STEPC_UNROLL
        for (int i = 0; i < rows; i++) {
            const float s = a[i + k * depth_step];
            acc[i][0] += s * b0;
            if (vectors > 1)
                acc[i][1] += s * b1;
        }
        STEPC_UNROLL
        for (int i = 0; i < rows / 4; i++)
            four[i] += *(const quad_at *)(a + 4 * i + k * depth_step);
        STEPC_UNROLL
        for (int i = rows - rows % 4; i < rows; i++)
            one[i] += a[i + k * depth_step];
    }
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        if (adds) {
            acc[i][0] += *(const vec_at *)(c + i * TILE_COLUMNS);
            acc[i][1] += *(const vec_at *)(c + i * TILE_COLUMNS + (vectors > 1 ? LANES : 0));
        }
        *(vec_at *)(c + i * TILE_COLUMNS) = acc[i][0];
        if (vectors > 1)
            *(vec_at *)(c + i * TILE_COLUMNS + LANES) = acc[i][1];
    }
    STEPC_UNROLL
    for (int i = 0; i < rows / 4; i++)
        *(quad_at *)(sums + 4 * i) = four[i];
    STEPC_UNROLL
    for (int i = rows - rows % 4; i < rows; i++)
        sums[i] = one[i];
}

/* tile() for rows of a side by side; and sums[i] += row i of a[rows,depth], in index order. */
static STEPC_INLINE void tile_and_sums(const int rows, const int vectors, const int depth, const int terms,
                                       float *restrict c, const float *restrict a, const int depth_step,
                                       const float *restrict b, const int b_step, float *restrict sums)
{
    tile_terms_and_sums(rows, vectors, depth < terms ? depth : terms, 0, c, a, depth_step, b, b_step, sums);
    for (int k = terms; k < depth; k += terms)
        tile_terms_and_sums(rows, vectors, depth - k < terms ? depth - k : terms, 1, c, a + k * depth_step, depth_step,
                            b + k * b_step, b_step, sums);
}

#else

static STEPC_INLINE void tile_and_sums(const int rows, const int vectors, const int depth, const int terms,
                                       float *restrict c, const float *restrict a, const int depth_step,
                                       const float *restrict b, const int b_step, float *restrict sums)
{
    tile(rows, vectors, depth, terms, TILE_SETS, c, a, 1, depth_step, b, b_step);
    for (int k = 0; k < depth; k++) {
        for (int i = 0; i < rows; i++)
            sums[i] += a[i + k * depth_step];
    }
}

#endif

#endif
