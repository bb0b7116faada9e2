/* error: 6:12: error: macro 'TWO' of the template file is not emitted: use a hole, a function or a header */
#include "template.h"
#define TWO 2
KERNEL static void k(float *restrict y)
{
    y[0] = TWO;
}
