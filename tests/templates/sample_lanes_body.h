/* What sample_lanes.h says, for elements of the type STEPC_T. */

/* c[0..WIDTH) += a * b */
static inline void STEPC_OF(add_scaled)(STEPC_T *c, const STEPC_T a, const STEPC_T *b)
{
    for (int l = 0; l < WIDTH(STEPC_T); l++)
        c[l] += a * b[l];
}
