/* error: 6:5: error: a block stands behind if, else or for only */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    {
        y[0] = (T)0;
    }
}
