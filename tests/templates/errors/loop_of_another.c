/* error: 7:28: error: a loop changes its own variable only */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    int l = 0;
    for (int i = 0; l < 3; l++)
        y[i] = (T)0;
}
