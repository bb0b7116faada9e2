/* error: 6:20: error: only variables have elements here */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    y[1] = (y + 1)[0];
}
