/* error: 7:10: error: a loop declares its variable */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    int i = 0;
    for (i = 0; i < 3; i++)
        y[i] = (T)0;
}
