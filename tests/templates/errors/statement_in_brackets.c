/* error: 6:6: error: expected 'void', found 'y': a template has no other form here */
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    (y)[0] = (T)0;
}
