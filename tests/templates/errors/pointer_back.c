/* error: 10:19: error: pointers move forwards only */
#include "template.h"
typedef float T HOLE;
static inline void first_of(T *i)
{
    i[1] = (T)0;
}
KERNEL static void k(T *restrict y)
{
    first_of(y - 1);
}
