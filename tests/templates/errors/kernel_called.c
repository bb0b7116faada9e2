/* error: 6:6: error: 'k' cannot be called here */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    k(y);
}
