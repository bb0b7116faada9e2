/* error: 1:105: error: 'while' begins no expression that a template may have */ static void f(int i) { while (i); }
#include "template.h"
typedef float T HOLE;
KERNEL static void k(T *restrict y)
{
    f(1);
    y[0] = (T)0;
}
