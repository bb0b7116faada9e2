#include "fuse/blas.h"

#include "base/str.h"

#include <stdint.h>

/* ---- the cost model ---------------------------------------------------------------------------------------------- */

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

static bool is_worth_a_call(const struct kernel *k)
{
    const int64_t m = kernel_int(k, "M"), n = kernel_int(k, "N"), depth = kernel_int(k, "K");
    return depth >= DEPTH && m * n >= TERMS / depth;
}

/* ---- what BLAS can do -------------------------------------------------------------------------------------------- */

/* Rows or columns without gaps, the other step no shorter than what it steps over. */
static bool is_matrix(int64_t row_step, int64_t column_step, int64_t rows, int64_t columns)
{
    const int64_t step = column_step == 1 ? row_step : column_step, length = column_step == 1 ? columns : rows;
    return (column_step == 1 || row_step == 1) && step >= length && step <= INT32_MAX;
}

static bool is_possible(const struct kernel *k)
{
    const int64_t m = kernel_int(k, "M"), n = kernel_int(k, "N"), depth = kernel_int(k, "K");
    return is_matrix(kernel_int(k, "A_ROW"), kernel_int(k, "A_COL"), m, depth) &&
           is_matrix(kernel_int(k, "B_ROW"), kernel_int(k, "B_COL"), depth, n);
}

/* The step between rows of the result if the sums themselves are all that is stored, row by row; else 0. */
static int64_t direct_row(const struct kernel *k)
{
    const struct part *p = NULL;
    for (size_t i = 0; i < k->parts.count; i++)
        if (str_equal(k->parts.data[i].hole, "finish"))
            p = &k->parts.data[i];
    if (!p || p->stores.count != 1)
        return 0;
    const struct store *s = &p->stores.data[0];
    const int64_t row = s->to.stride[k->outer_rank];
    const bool plain = s->value->op == EXPR_RESULT && s->to.buffer->dtype == k->type && s->to.term_count == 0;
    return plain && s->to.stride[k->outer_rank + 1] == 1 && row >= kernel_int(k, "N") && row <= INT32_MAX ? row : 0;
}

static void call_blas(struct kernel *k)
{
    const int64_t direct = direct_row(k);
    k->tmpl = "product_blas";
    kernel_set_int(k, "RESULT_ROW", direct);
    k->scratch_count = direct ? 0 : kernel_int(k, "M") * kernel_int(k, "N");
    if (direct) {
        k->scratch = NULL;
        return;
    }
    k->scratch->count = k->scratch_count;
    k->scratch->shape = SHAPE(k->scratch_count);
}

void blas_kernels(struct lowered *l)
{
    for (size_t i = 0; i < l->kernels.count; i++) {
        struct kernel *k = l->kernels.data[i];
        const bool is_large =
            k->tmpl && (str_equal(k->tmpl, "product_blocked") || str_equal(k->tmpl, "product_transposed"));
        if (is_large && is_worth_a_call(k) && is_possible(k))
            call_blas(k);
    }
}
