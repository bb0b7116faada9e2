/* error: 4:15: error: 'half_of' has a result of no type that a template may use */
#include "template.h"
typedef float T HOLE;
static inline float half_of(int x)
{
    return (float)x / 2;
}
KERNEL static void k(T *restrict y)
{
    y[0] = (T)half_of(3);
}
