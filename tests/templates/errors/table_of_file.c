/* error: 7:14: error: 'offsets' is neither a hole, nor a function of this file, nor of a header that is emitted */
#include "template.h"
typedef float T HOLE;
static const int offsets[2] = {0, 1};
KERNEL static void k(T *restrict y)
{
    y[offsets[0]] = (T)0;
}
