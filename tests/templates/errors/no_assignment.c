/* error: 6:10: error: '/=' is no assignment */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    y[0] /= (T)2;
}
