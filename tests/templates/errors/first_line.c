/* error: 1:98: error: 'while' begins no expression that a template may have */ int one(int i) { while (i); return 0; }
#include "template.h"
KERNEL static void k(float *restrict y)
{
    y[0] = (float)one(1);
}
