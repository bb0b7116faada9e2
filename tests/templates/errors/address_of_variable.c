/* error: 11:16: error: only elements have an address here */
#include "template.h"
typedef float T HOLE;
static inline void first_of(int *i)
{
    i[0] = 0;
}
KERNEL static void k(T *restrict y)
{
    int i = 0;
    first_of(&i);
    y[i] = (T)0;
}
