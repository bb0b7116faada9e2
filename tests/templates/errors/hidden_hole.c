/* error: 6:15: error: 'N' hides a hole or another name of the file */
#include "template.h"
enum HOLE { N = 1 };
KERNEL static void k(float *restrict y)
{
    const int N = 2;
    y[0] = N;
}
