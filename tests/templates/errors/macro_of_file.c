/* error: 7:15: error: macro 'TWO' of the template file is not emitted: use a hole, a function or a header */
#include "template.h"
typedef float T HOLE;
#define TWO 2
KERNEL static void k(T *restrict y)
{
    y[0] = (T)TWO;
}
