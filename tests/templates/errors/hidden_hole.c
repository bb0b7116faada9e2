/* error: 7:20: error: 'N' hides a hole or another name of the file */
#include "template.h"
typedef float T HOLE;
enum HOLE { N = 1 };
KERNEL static void k(T *restrict y)
{
    const int N = 2;
    y[0] = (T)N;
}
