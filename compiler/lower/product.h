/* Matrix products after lowering: the templates that they may be, and what becomes of one as part of something larger.
 * Which one is taken says lower_product() (lower.h). */
#ifndef STEPC_LOWER_PRODUCT_H
#define STEPC_LOWER_PRODUCT_H

#include "lower/kernel.h"

enum product_form {
    PRODUCT_DIRECT,
    PRODUCT_PACKED,
    PRODUCT_NARROW,
    PRODUCT_FEW,
    PRODUCT_BLOCKED,
    PRODUCT_TRANSPOSED,
    PRODUCT_SUMS,
    PRODUCT_SUMS_PLAIN,
    PRODUCT_PLAIN,
    PRODUCT_BLAS,
    PRODUCT_VECTOR, /* a matrix and a vector */
    PRODUCT_FORMS
};

/* By form. */
extern const struct template_traits product_templates[PRODUCT_FORMS];

/* M x K and K x N elements, and how far they lie apart in memory. */
struct product_sizes {
    int64_t m, n, k, a_row, a_col, b_row, b_col;
};

/* Is the kernel a product, and of which sizes? Of a matrix and a vector steps are unknown: -1. */
bool product_has_sizes(const struct kernel *k, struct product_sizes *out);
/* The same where it is known to be one. */
struct product_sizes product_sizes_of(const struct kernel *k);
/* Into integers of its template. */
void product_set_sizes(struct kernel *k, const struct product_sizes *s);

/* The matrix of PRODUCT_VECTOR, whose rows the sums go along, and its steps. */
struct matrix_sizes {
    int64_t rows, columns, row_step, col_step;
};
struct matrix_sizes product_matrix_of(const struct kernel *k);

struct lower_options;

/* What is taken for it: one of DIRECT to TRANSPOSED, or VECTOR. */
enum product_form product_choose(const struct product_sizes *s, const struct lower_options *o);
/* Is b packed for tiles of so many rows, and in panels of how many columns? */
bool product_packs(int64_t m, int64_t n, int64_t column_stride, const struct target *t);
int64_t product_panel_columns(int64_t m, int64_t n, int64_t k);

/* ---- what products become (fuse/) -------------------------------------------------------------------------------- */

/* Product k (its template becomes a small one) computes so many rows in one iteration, or adds so many terms to each of
 * its sums; the latter only where product_can_add(). Sets param and count of its scratch; memory is the caller's. */
void product_of_rows(struct kernel *k, int64_t rows, const struct target *t);
void product_of_terms(struct kernel *k, int64_t terms);
bool product_can_add(const struct kernel *k);

/* ---- how they are cut into shares: traits of product_templates --------------------------------------------------- */

/* PRODUCT_BLOCKED, by rows or columns: integer holes and count of its scratch. */
bool product_cut_blocked(struct kernel *k, int shares, const struct target *t);
/* PRODUCT_VECTOR, by rows. */
bool product_cut_vector(struct kernel *k, int shares, const struct target *t);

#endif
