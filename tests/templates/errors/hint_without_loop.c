/* error: 7:5: error: a hint stands above a loop */
#include "stepc.h"
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    STEPC_WIDE_VECTORS
    y[0] = (T)0;
}
