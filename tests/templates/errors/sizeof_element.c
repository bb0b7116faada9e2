/* error: 6:22: error: sizeof takes a type here */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    y[0] = (T)sizeof(y[0]);
}
