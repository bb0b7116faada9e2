/* stepc_quotientf() as it is where the vectors are large enough, on any machine: fmaf() is exact everywhere. */
#if !defined(__AVX512F__)
#define __AVX512F__ 1
#endif
#if !defined(__FMA__)
#define __FMA__ 1
#endif
#if !defined(__OPTIMIZE__)
#define __OPTIMIZE__ 1
#endif
#undef STEPC_AMD /* there it would divide */
#include "stepc_math.h"

float math_quotient(float a, float b);

float math_quotient(float a, float b)
{
    return stepc_quotientf(a, b);
}
