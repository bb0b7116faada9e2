/* error: 6:5: error: 'while' begins no expression that a template may have */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    while (y[0] < 1)
        y[0] += (T)1;
}
