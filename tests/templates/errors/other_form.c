/* error: 6:24: error: expected '}', found ',': a template has no other form here */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    const int a[2] = {1, 2};
    y[0] = (T)a[1];
}
