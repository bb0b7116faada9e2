/* error: 7:5: error: 'STEPC_COUNT' comes from no header */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    int STEPC_COUNT = 0;
    STEPC_COUNT = 1;
    y[STEPC_COUNT] = (T)0;
}
