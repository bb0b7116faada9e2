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
    const int64_t row = kernel_int(k, "ROW_STEP"), column = kernel_int(k, "COL_STEP"), vector = kernel_int(k, "VECTOR_STEP");
    const bool swapped = kernel_int(k, "SWAPPED") == 1;
    for (int o = 0; o < k->operand_count; o++)
        k->operands[o].param = str_equal(k->operands[o].param, "matrix") != swapped ? "a" : "b";
    if (swapped)
        set_steps(k, 0, vector, column, row);
    else
        set_steps(k, row, column, vector, 0);
}

void plain_kernels(struct lowered *l)
{
    for (size_t i = 0; i < l->kernels.count; i++) {
        struct kernel *k = l->kernels.data[i];
        const bool is_vector = k->tmpl && str_equal(k->tmpl, "matrix_vector");
        if (!is_vector && (!k->tmpl || !str_starts_with(k->tmpl, "product")))
            continue;
        if (is_vector)
            from_matrix_vector(k);
        k->tmpl = "product_plain";
        k->scratch = NULL;
        k->scratch_count = 0;
    }
}
