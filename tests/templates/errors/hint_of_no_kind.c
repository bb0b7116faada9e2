/* error: 7:5: error: 'STEPC_WIDE_VECTORS' is no kind of loops (tree/loop_kinds.def) */
#include "stepc.h"
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    STEPC_WIDE_VECTORS
    for (int i = 0; i < 4; i++)
        y[i] = (T)0;
}
