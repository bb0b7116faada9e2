/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_adjoints.h says, for elements of the type STEPC_T. */

/* The last position whose element was taken gets the adjoint. */
/* Why: one comparison for each select, as GCC makes bits of two at once, one by one; and it would nest the selects of
 * the caller and of `adjoints` as branches if they were one loop. Numbers of positions, compared with each, took 1.5
 * times as long. */
static STEPC_INLINE void STEPC_OF(max_adjoints)(const int planes, const int lines, const int columns,
                                             STEPC_T *restrict adjoints, const STEPC_T *restrict from,
                                             const int plane_step, const int line_step, const STEPC_T adjoint)
{
    STEPC_T best = from[0], rest = 0 + adjoint;
    STEPC_UNROLL
    for (int t = 1; t < planes * lines * columns; t++) {
        const STEPC_T v = from[t / (lines * columns) * plane_step + t / columns % lines * line_step + t % columns];
        const STEPC_T later = v > best ? (STEPC_T)1 : (STEPC_T)0;
        const STEPC_T larger = v > best ? v : best;
        adjoints[t] = v != v ? (STEPC_T)1 : later;
        best = v != v ? v : larger;
    }
    STEPC_UNROLL
    for (int t = planes * lines * columns - 1; t > 0; t--) {
        const STEPC_T taken = adjoints[t];
        adjoints[t] = taken > 0 ? rest : 0;
        rest = taken > 0 ? 0 : rest;
    }
    adjoints[0] = rest;
}
