/* error: 6:1: error: '#' begins no expression that a template may have */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
#if 1
    y[0] = (T)0;
#endif
}
