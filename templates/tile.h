/* SPDX-License-Identifier: 0BSD */
/* The register tile of matrix products in its three forms. Embedded whole into emitted code; for double the emitter
 * replaces `float` by `double` and gives the names below a suffix. */
#ifndef STEPC_TEMPLATE_TILE_H
#define STEPC_TEMPLATE_TILE_H

#include "registers.h"

/* What a tile does with the sums in c: it sets them, goes on from them, or adds its own, which start from zero. */
#define TILE_SETS 0
#define TILE_GOES_ON 1
#define TILE_ADDS 2

#if STEPC_FORM == 2

#define LANES (VECTOR_BYTES / (int)sizeof(float))
#define TILE_COLUMNS (VECTORS * LANES)

typedef float vec __attribute__((vector_size(VECTOR_BYTES)));
typedef float vec_at __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(float)), may_alias)); /* a vec anywhere */

/* c[rows, vectors * LANES] = a[rows,depth] * b[depth, vectors * LANES], the terms of one sum each. */
static STEPC_INLINE void tile_terms(const int rows, const int vectors, const int depth, const int how,
                                    float *restrict c, const float *restrict a, const int row_step,
                                    const int depth_step, const float *restrict b, const int b_step)
{
    vec acc[TILE_ROWS][VECTORS];
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        acc[i][0] = acc[i][1] = (vec){0};
        if (how == TILE_GOES_ON) {
            acc[i][0] = *(const vec_at *)(c + i * TILE_COLUMNS);
            acc[i][1] = *(const vec_at *)(c + i * TILE_COLUMNS + (vectors > 1 ? LANES : 0));
        }
    }
    STEPC_UNROLL_4
    for (int k = 0; k < depth; k++) {
        const vec b0 = *(const vec_at *)(b + k * b_step);
        const vec b1 = *(const vec_at *)(b + k * b_step + (vectors > 1 ? LANES : 0));
        STEPC_UNROLL
        for (int i = 0; i < rows; i++) {
            const float s = a[i * row_step + k * depth_step];
            acc[i][0] += s * b0;
            if (vectors > 1)
                acc[i][1] += s * b1;
        }
    }
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        if (how == TILE_ADDS) {
            acc[i][0] += *(const vec_at *)(c + i * TILE_COLUMNS);
            acc[i][1] += *(const vec_at *)(c + i * TILE_COLUMNS + (vectors > 1 ? LANES : 0));
        }
        *(vec_at *)(c + i * TILE_COLUMNS) = acc[i][0];
        if (vectors > 1)
            *(vec_at *)(c + i * TILE_COLUMNS + LANES) = acc[i][1];
    }
}

#elif STEPC_FORM == 1

#define LANES (VECTOR_BYTES / (int)sizeof(float))
#define TILE_COLUMNS LANES

/* The same in C99: an array of lanes for each row, and one loop over the lanes. Rows that do not exist repeat the last
 * one. */
/* Why: a two-dimensional accumulator, or a loop per row, is 2 to 40 times slower with one compiler or the other. */
static STEPC_INLINE void tile_terms(const int rows, const int vectors, const int depth, const int how,
                                    float *restrict c, const float *restrict a, const int row_step,
                                    const int depth_step, const float *restrict b, const int b_step)
{
    float c0[LANES] = {0}, c1[LANES] = {0}, c2[LANES] = {0}, c3[LANES] = {0};
    float c4[LANES] = {0}, c5[LANES] = {0}, c6[LANES] = {0}, c7[LANES] = {0};
    const int last = (rows - 1) * row_step;
    (void)vectors;
    if (how == TILE_GOES_ON) {
        memcpy(c0, c, sizeof c0);
        memcpy(c1, c + LANES, sizeof c1);
        memcpy(c2, c + 2 * LANES, sizeof c2);
        memcpy(c3, c + 3 * LANES, sizeof c3);
        memcpy(c4, c + 4 * LANES, sizeof c4);
        memcpy(c5, c + 5 * LANES, sizeof c5);
        memcpy(c6, c + 6 * LANES, sizeof c6);
        memcpy(c7, c + 7 * LANES, sizeof c7);
    }
    for (int k = 0; k < depth; k++) {
        const float *const ak = a + k * depth_step;
        const float *const bk = b + k * b_step;
        const float s0 = ak[0], s1 = ak[rows > 1 ? row_step : last], s2 = ak[rows > 2 ? 2 * row_step : last];
        const float s3 = ak[rows > 3 ? 3 * row_step : last], s4 = ak[rows > 4 ? 4 * row_step : last];
        const float s5 = ak[rows > 5 ? 5 * row_step : last], s6 = ak[rows > 6 ? 6 * row_step : last];
        const float s7 = ak[rows > 7 ? 7 * row_step : last];
        for (int l = 0; l < LANES; l++) {
            const float v = bk[l];
            c0[l] += s0 * v;
            c1[l] += s1 * v;
            c2[l] += s2 * v;
            c3[l] += s3 * v;
            c4[l] += s4 * v;
            c5[l] += s5 * v;
            c6[l] += s6 * v;
            c7[l] += s7 * v;
        }
    }
    for (int l = 0; how == TILE_ADDS && l < LANES; l++) {
        c0[l] += c[l];
        c1[l] += c[LANES + l];
        c2[l] += c[2 * LANES + l];
        c3[l] += c[3 * LANES + l];
        c4[l] += c[4 * LANES + l];
        c5[l] += c[5 * LANES + l];
        c6[l] += c[6 * LANES + l];
        c7[l] += c[7 * LANES + l];
    }
    memcpy(c, c0, sizeof c0);
    memcpy(c + LANES, c1, sizeof c1);
    memcpy(c + 2 * LANES, c2, sizeof c2);
    memcpy(c + 3 * LANES, c3, sizeof c3);
    memcpy(c + 4 * LANES, c4, sizeof c4);
    memcpy(c + 5 * LANES, c5, sizeof c5);
    memcpy(c + 6 * LANES, c6, sizeof c6);
    memcpy(c + 7 * LANES, c7, sizeof c7);
}

#else

#define LANES 4
#define TILE_COLUMNS 4

/* The same for scalar registers. One function for all calls, since code size counts here. Rows that do not exist repeat
 * the last one. */
/* Why: a call costs 2 %. */
static STEPC_KERNEL void tile_terms(const int rows, const int vectors, const int depth, const int how,
                                    float *restrict c, const float *restrict a, const int row_step,
                                    const int depth_step, const float *restrict b, const int b_step)
{
    float c00 = 0, c01 = 0, c02 = 0, c03 = 0, c10 = 0, c11 = 0, c12 = 0, c13 = 0;
    float c20 = 0, c21 = 0, c22 = 0, c23 = 0, c30 = 0, c31 = 0, c32 = 0, c33 = 0;
    const float *a1 = rows > 1 ? a + row_step : a;
    const float *a2 = rows > 2 ? a1 + row_step : a1;
    const float *a3 = rows > 3 ? a2 + row_step : a2;
    (void)vectors;
    if (how == TILE_GOES_ON) {
        c00 = c[0], c01 = c[1], c02 = c[2], c03 = c[3], c10 = c[4], c11 = c[5], c12 = c[6], c13 = c[7];
        c20 = c[8], c21 = c[9], c22 = c[10], c23 = c[11], c30 = c[12], c31 = c[13], c32 = c[14], c33 = c[15];
    }
    for (int k = 0; k < depth; k++) {
        const float b0 = b[k * b_step], b1 = b[k * b_step + 1], b2 = b[k * b_step + 2], b3 = b[k * b_step + 3];
        float s = a[k * depth_step];
        c00 += s * b0;
        c01 += s * b1;
        c02 += s * b2;
        c03 += s * b3;
        s = a1[k * depth_step];
        c10 += s * b0;
        c11 += s * b1;
        c12 += s * b2;
        c13 += s * b3;
        s = a2[k * depth_step];
        c20 += s * b0;
        c21 += s * b1;
        c22 += s * b2;
        c23 += s * b3;
        s = a3[k * depth_step];
        c30 += s * b0;
        c31 += s * b1;
        c32 += s * b2;
        c33 += s * b3;
    }
    if (how == TILE_ADDS) {
        c00 += c[0], c01 += c[1], c02 += c[2], c03 += c[3], c10 += c[4], c11 += c[5], c12 += c[6], c13 += c[7];
        c20 += c[8], c21 += c[9], c22 += c[10], c23 += c[11], c30 += c[12], c31 += c[13], c32 += c[14], c33 += c[15];
    }
    c[0] = c00, c[1] = c01, c[2] = c02, c[3] = c03, c[4] = c10, c[5] = c11, c[6] = c12, c[7] = c13;
    c[8] = c20, c[9] = c21, c[10] = c22, c[11] = c23, c[12] = c30, c[13] = c31, c[14] = c32, c[15] = c33;
}

#endif

/* c[rows, vectors * LANES] = a[rows,depth] * b[depth, vectors * LANES], `terms` products in a sum, and the sums added
 * in order. c has TILE_COLUMNS per row, element (i,k) of a is at a[i * row_step + k * depth_step]. Always inlined:
 * rows, vectors, terms and steps are literals in every call, which keeps the accumulators in registers. */
static STEPC_INLINE void tile(const int rows, const int vectors, const int depth, const int terms, const int how,
                              float *restrict c, const float *restrict a, const int row_step, const int depth_step,
                              const float *restrict b, const int b_step)
{
    tile_terms(rows, vectors, depth < terms ? depth : terms, how, c, a, row_step, depth_step, b, b_step);
    for (int k = terms; k < depth; k += terms)
        tile_terms(rows, vectors, depth - k < terms ? depth - k : terms, TILE_ADDS, c, a + k * depth_step, row_step,
                   depth_step, b + k * b_step, b_step);
}

/* Columns, and vectors, of a tile when b is packed into panels that may be narrower than a tile. */
#define PANEL_TILE(panel) (TILE_COLUMNS < (panel) ? TILE_COLUMNS : (panel))
#define PANEL_VECTORS(panel) (PANEL_TILE(panel) / LANES)

#endif
