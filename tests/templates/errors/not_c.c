/* error: 6:12: error: use of undeclared identifier 'missing' */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    y[0] = missing;
}
