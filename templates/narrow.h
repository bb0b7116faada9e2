/* SPDX-License-Identifier: 0BSD */
/* The register tile of products of eight columns or fewer. Embedded whole into emitted code; for double as tile.h. */
#ifndef STEPC_TEMPLATE_NARROW_H
#define STEPC_TEMPLATE_NARROW_H

#include "quad.h"
#include "registers.h"
#include "tile.h"

#if STEPC_FORM == 2

#define NARROW_LANES (LANES < 8 ? LANES : 8)
#define NARROW_WIDTH 8
#if defined(__AVX512F__)
#define NARROW_ROWS 16
#else
#define NARROW_ROWS TILE_ROWS
#endif
#define NARROW_GROUP (8 * NARROW_ROWS)

typedef float narrow_vec __attribute__((vector_size(NARROW_LANES * sizeof(float))));
typedef float narrow_vec_at __attribute__((vector_size(NARROW_LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

/* c[rows, NARROW_LANES] = or += the terms of one sum each; with_sums: and sums[i] += row i of a, on the way, where they cost no time of
 * their own: one after the other they wait for each other. */
static STEPC_INLINE void narrow_terms(const int rows, const int depth, const int adds, float *restrict c, const float *restrict a,
                                      const int row_step, const int depth_step, const float *restrict b, const int b_step,
                                      const int with_sums, float *restrict sums)
{
    narrow_vec acc[NARROW_ROWS];
    float sum[NARROW_ROWS];
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        acc[i] = (narrow_vec){0};
        sum[i] = sums[i];
    }
    STEPC_UNROLL_4
    for (int k = 0; k < depth; k++) {
        const narrow_vec right = *(const narrow_vec_at *)(b + k * b_step);
        STEPC_UNROLL
        for (int i = 0; i < rows; i++) {
            const float s = a[i * row_step + k * depth_step];
            acc[i] += s * right;
            if (with_sums)
                sum[i] += s;
        }
    }
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        if (adds)
            acc[i] += *(const narrow_vec_at *)(c + i * NARROW_LANES);
        *(narrow_vec_at *)(c + i * NARROW_LANES) = acc[i];
        sums[i] = sum[i];
    }
}

/* c[rows, columns] = a[rows,depth] * b[depth,columns], `terms` products in a sum, c_step from row to row; NARROW_LANES are stored of every row,
 * in the order of the rows. */
static STEPC_INLINE void narrow_tile(const int rows, const int columns, const int depth, const int terms, float *restrict c, const int c_step,
                                     const float *restrict a, const int row_step, const int depth_step, const float *restrict b,
                                     const int b_step, const int with_sums, float *restrict sums)
{
    float acc[NARROW_ROWS * NARROW_LANES];
    (void)columns;
    narrow_terms(rows, depth < terms ? depth : terms, 0, acc, a, row_step, depth_step, b, b_step, with_sums, sums);
    for (int k = terms; k < depth; k += terms)
        narrow_terms(rows, depth - k < terms ? depth - k : terms, 1, acc, a + k * depth_step, row_step, depth_step, b + k * b_step, b_step,
                     with_sums, sums);
    STEPC_UNROLL
    for (int i = 0; i < rows; i++)
        *(narrow_vec_at *)(c + i * c_step) = *(const narrow_vec_at *)(acc + i * NARROW_LANES);
}

#else

#define NARROW_LANES LANES
#define NARROW_WIDTH 16
#define NARROW_ROWS TILE_ROWS
#define NARROW_GROUP (4 * TILE_ROWS)

/* The same with the tile of wider products. */
static STEPC_INLINE void narrow_tile(const int rows, const int columns, const int depth, const int terms, float *restrict c, const int c_step,
                                     const float *restrict a, const int row_step, const int depth_step, const float *restrict b,
                                     const int b_step, const int with_sums, float *restrict sums)
{
    float acc[TILE_ROWS * TILE_COLUMNS];
    tile(rows, 1, depth, terms, TILE_SETS, acc, a, row_step, depth_step, b, b_step);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns && j < NARROW_LANES; j++)
            c[i * c_step + j] = acc[i * TILE_COLUMNS + j];
    }
    for (int k = 0; with_sums && k < depth; k++) {
        for (int i = 0; i < rows; i++)
            sums[i] += a[i * row_step + k * depth_step];
    }
}

#endif

#endif
