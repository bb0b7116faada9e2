/* error: 7:9: error: put this condition on holes into a block of its own: it may vanish */
#include "template.h"
enum HOLE { FLAG = 1 };
KERNEL static void k(float *restrict y)
{
    for (int i = 0; i < 3; i++)
        if (FLAG)
            y[i] = 0;
}
