/* error: 6:10: error: 'a' needs a value */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    int a;
    a = 1;
    y[a] = (T)0;
}
