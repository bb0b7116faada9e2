/* error: 10:15: error: the call of 'first' has 1 arguments */
#include "template.h"
typedef float T HOLE;
static inline int first()
{
    return 0;
}
KERNEL static void k(T *restrict y)
{
    y[first(1)] = (T)0;
}
