/* SPDX-License-Identifier: 0BSD */
/* What stepc_window_finite.h says, for elements of the type STEPC_T. */

/* Are all of w[count] finite? Then zero times their sum is zero. */
static STEPC_INLINE int STEPC_OF(are_finite)(const int count, const STEPC_T *restrict w)
{
    STEPC_T sum = 0;
#if STEPC_FORM == 2
    const int whole = count - count % (4 * STEPC_WINDOW_LANES(STEPC_T));
    STEPC_OF(window_vec) sums[4] = {{0}, {0}, {0}, {0}};
    for (int i = 0; i < whole; i += 4 * STEPC_WINDOW_LANES(STEPC_T)) {
        STEPC_UNROLL
        for (int v = 0; v < 4; v++)
            sums[v] += *(const STEPC_OF(window_vec_at) *)(w + i + v * STEPC_WINDOW_LANES(STEPC_T)) * 0;
    }
    sums[0] += sums[1] + (sums[2] + sums[3]);
    for (int l = 0; l < STEPC_WINDOW_LANES(STEPC_T); l++)
        sum += sums[0][l];
#else
    const int whole = 0;
#endif
    for (int i = whole; i < count; i++)
        sum += w[i] * 0;
    return sum == 0;
}
