/* error: 4:20: error: twice_kernel.c has a kernel 'k' as well */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    y[0] = (T)0;
}
