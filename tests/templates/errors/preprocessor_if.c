/* error: 5:1: error: no #if inside what a template emits: write one function per form */
#include "template.h"
KERNEL static void k(float *restrict y)
{
#if 1
    y[0] = 0;
#endif
}
