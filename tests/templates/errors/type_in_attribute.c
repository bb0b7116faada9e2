/* error: 3:69: error: 'T' stands where clang's tree does not show it (attribute, macro?) */
#include "template.h"
typedef float T HOLE; typedef float v __attribute__((aligned(sizeof(T))));
KERNEL static void k(v *restrict y)
{
    y[0] = 0;
}
