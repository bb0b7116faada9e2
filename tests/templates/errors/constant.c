/* error: 6:12: error: constant '0.5' is no plain integer; one of a type hole is written as (T)0.5 */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    y[0] = 0.5;
}
