/* error: 10:14: error: 'first' can only be called, not named */
#include "template.h"
typedef float T HOLE;
static inline int first(void)
{
    return 0;
}
KERNEL static void k(T *restrict y)
{
    if (first)
        y[0] = (T)0;
}
