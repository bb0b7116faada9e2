/* error: 6:15: error: a name stands here */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    const int (a) = 1;
    y[a] = (T)0;
}
