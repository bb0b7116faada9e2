/* error: 5:12: error: use of undeclared identifier 'missing' */
#include "template.h"
KERNEL static void k(float *restrict y)
{
    y[0] = missing;
}
