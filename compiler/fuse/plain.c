#include "fuse/plain.h"

#include "base/str.h"

static void set_steps(struct kernel *k, int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col)
{
    kernel_set_int(k, "A_ROW", a_row);
    kernel_set_int(k, "A_COL", a_col);
    kernel_set_int(k, "B_ROW", b_row);
    kernel_set_int(k, "B_COL", b_col);
}

/* Template matrix_vector: N is 1, or swapped, then M is 1 and the matrix is b'. */
static void from_matrix_vector(struct kernel *k)
{
    const int64_t row = kernel_int(k, "ROW_STEP"), column = kernel_int(k, "COL_STEP"),
                  vector = kernel_int(k, "VECTOR_STEP");
    const bool swapped = kernel_int(k, "SWAPPED") == 1;
    for (int o = 0; o < k->operand_count; o++)
        k->operands[o].param = str_equal(k->operands[o].param, "matrix") != swapped ? "a" : "b";
    if (swapped)
        set_steps(k, 0, vector, column, row);
    else
        set_steps(k, row, column, vector, 0);
}

static void make_plain(struct kernel *k)
{
    const bool is_vector = k->tmpl && str_equal(k->tmpl, "matrix_vector");
    if (!is_vector && (!k->tmpl || !str_starts_with(k->tmpl, "product")))
        return;
    if (is_vector)
        from_matrix_vector(k);
    if (str_equal(k->tmpl, "product_sums")) { /* the sums themselves are needed from block to block */
        k->tmpl = "product_sums_plain";
        const int64_t sums = kernel_int(k, "M") * kernel_int(k, "N");
        kernel_set_int(k, "WAITING", sums);
        k->scratch_count = kernel_int(k, "ALL") > kernel_int(k, "TERMS") ? 2 * sums : sums;
        k->scratch->count = k->scratch_count;
        k->scratch->shape = SHAPE(k->scratch_count);
        return;
    }
    k->tmpl = "product_plain";
    k->scratch = NULL;
    k->scratch_count = 0;
}

/* What none of its stages takes for scratch any more. */
static void drop_scratch(struct kernel *k, const struct buffer *scratch)
{
    for (size_t i = k->own.count; i-- > 0;)
        if (k->own.data[i].buffer == scratch)
            vec_remove(&k->own, i);
}

void plain_kernels(struct lowered *l)
{
    for (size_t i = 0; i < l->kernels.count; i++) {
        struct kernel *k = l->kernels.data[i];
        make_plain(k);
        for (size_t s = 0; s < k->stages.count; s++) {
            const struct buffer *const scratch = k->stages.data[s]->scratch;
            make_plain(k->stages.data[s]);
            if (scratch && !k->stages.data[s]->scratch)
                drop_scratch(k, scratch);
        }
    }
}
