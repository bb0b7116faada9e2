#include "fuse/fuse.h"

#include "lower/product.h"

/* There is no size at which OpenBLAS beats the emitted tiles on the processors that were measured (GCC or Clang, GNU
 * vectors, 16 x 16 x 16 to 2048 x 2048 x 2048, one thread). It pays where it knows a processor better, where the C
 * compiler makes poor tiles, or for its threads. So a product goes there where a call costs next to nothing beside
 * the product itself:
 *
 *   TERMS   multiply-adds. A call checks, packs both operands anew and may wake threads: some 10 us, a thirtieth of
 *           these on a core of 100 GFLOP/s.
 *   DEPTH   terms of a sum. The sums are written and read once more before they are finished, 8 bytes each from a
 *           cache behind the second one: what adding 16 terms takes. */
enum { TERMS = 1 << 24, DEPTH = 256 };

bool blas_is_worth_a_call(int64_t m, int64_t n, int64_t depth)
{
    return depth >= DEPTH && m * n >= TERMS / depth;
}

void blas_kernels(struct lowered *l)
{
    struct product_sizes s;
    vec_each(struct kernel *, k, &l->kernels)
        if (k->kind == KERNEL_TEMPLATE && k->tmpl.traits->call_library && product_has_sizes(k, &s) &&
            blas_is_worth_a_call(s.m, s.n, s.k))
            (void)k->tmpl.traits->call_library(k); /* or it stays as it is */
}
