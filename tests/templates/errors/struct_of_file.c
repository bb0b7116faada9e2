/* error: 9:18: error: 'struct pair' is of no header */
#include "template.h"
typedef float T HOLE;
struct pair {
    int x;
};
KERNEL static void k(T *restrict y)
{
    const struct pair p = {.x = 1};
    y[p.x] = (T)0;
}
