/* error: 8:31: error: statement hole 'finish' must be a statement alone on its line */
#include "template.h"
static inline void HOLE finish(int i)
{
}
KERNEL static void k(float *restrict y)
{
    for (y[0] = 0; y[0] < 1;) finish(0);
}
