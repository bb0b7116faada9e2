/* error: 6:33: error: the only pointer to cast to is that to nothing */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    const T *const first = (T *)y;
    y[1] = first[0];
}
