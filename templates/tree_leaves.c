/* SPDX-License-Identifier: 0BSD */
/* The leaf of each of several trees that a row x of features belongs to: finish(t, leaf).
 *
 * Roots, and what `next` holds, are numbers of nodes from 0 on, or -1 - leaf. A node asks for one feature. Behind it
 * `next` has WAYS ways: for what is at most its split, for what is above, and for what is neither, NaN; with two ways
 * NaN goes where what is above goes. A node has a lower number than those it leads to, so a walk passes none twice. */
#include "template.h"

#include <stdint.h>

enum HOLE { TREES = 4, WAYS = 3, X_COL = 2 };
typedef float T HOLE;

static int32_t out[TREES]; /* sample */
static inline void HOLE finish(int t, int32_t leaf)
{
    out[t] = leaf;
}

KERNEL static void tree_leaves(const T *restrict x, const int32_t *restrict roots, const int32_t *restrict features,
                               const T *restrict splits, const int32_t *restrict next)
{
    for (int t = 0; t < TREES; t++) {
        int at = (int)roots[t];
        for (int node = at; node >= 0; node = at) {
            const T v = x[(int)features[node] * X_COL];
            if (WAYS == 2)
                at = (int)next[node * 2 + (v <= splits[node] ? 0 : 1)];
            else
                at = (int)next[node * 3 + (v <= splits[node] ? 0 : v > splits[node] ? 1 : 2)];
        }
        const int32_t leaf = (int32_t)(-1 - at);
        finish(t, leaf);
    }
}
