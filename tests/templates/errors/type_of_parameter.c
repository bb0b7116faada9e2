/* error: 4:22: error: a parameter begins with its type */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(float *restrict y)
{
    y[0] = 0;
}
