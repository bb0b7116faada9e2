/* error: 6:12: error: 'out' is neither a hole nor a static const table, function or typedef */
#include "template.h"
static float out[2];
KERNEL static void k(float *restrict y)
{
    y[0] = out[0];
}
