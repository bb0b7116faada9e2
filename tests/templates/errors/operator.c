/* error: 6:7: error: '~' begins no expression that a template may have */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    y[~(-1)] = (T)0;
}
