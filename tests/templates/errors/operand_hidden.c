/* error: 11:14: error: the local variable 'x' has the name of an operand of kernel 'k', which holes read */
#include "template.h"
typedef float T HOLE;
static T out[3];
static inline void HOLE finish(int i, T value)
{
    out[i] = value;
}
static inline void finish_all(const T *restrict from)
{
    for (int x = 0; x < 3; x++)
        finish(x, from[x]);
}
KERNEL static void k(const T *restrict x)
{
    finish_all(x);
}
