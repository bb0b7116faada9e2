/* Matrix products in other forms than they were lowered to: as stages, as plain loops, as calls of a library. */
#include "lower/product.h"

#include "base/str.h"

static void set_steps(struct kernel *k, int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col)
{
    kernel_set_int(k, "A_ROW", a_row);
    kernel_set_int(k, "A_COL", a_col);
    kernel_set_int(k, "B_ROW", b_row);
    kernel_set_int(k, "B_COL", b_col);
}

/* ---- block by block (fuse/blocks.c) ------------------------------------------------------------------------------ */

static void rebind(struct kernel *k, enum product_form form, int64_t rows, int64_t terms)
{
    const int64_t n = kernel_int(k, "N"), a_row = kernel_int(k, "A_ROW"), a_col = kernel_int(k, "A_COL");
    const int64_t b_row = kernel_int(k, "B_ROW"), b_col = kernel_int(k, "B_COL"), terms_of_sum = kernel_int(k, "TERMS");
    k->tmpl.traits = &product_templates[form];
    k->tmpl.flops = 2 * rows * n * terms;
    k->tmpl.int_count = 0;
    k->cut.pieces = 0;
    k->scratch.param = NULL;
    k->scratch.count = 0;
    kernel_set_int(k, "M", rows);
    kernel_set_int(k, "N", n);
    kernel_set_int(k, "K", terms);
    kernel_set_int(k, "TERMS", terms_of_sum);
    set_steps(k, a_row, a_col, b_row, b_col);
    kernel_set_int(k, "SUMS_IN_TILES", 0);
}

void product_of_rows(struct kernel *k, int64_t rows, const struct target *t)
{
    const int64_t n = kernel_int(k, "N"), terms = kernel_int(k, "K");
    const bool packs = product_packs(rows, n, kernel_int(k, "B_COL"), t);
    rebind(k, packs ? PRODUCT_PACKED : PRODUCT_DIRECT, rows, terms);
    if (!packs)
        return;
    const int64_t panel = product_panel_columns(rows, n, terms);
    kernel_set_int(k, "PANEL", panel);
    k->scratch.param = "panel";
    k->scratch.count = terms * panel;
}

bool product_can_add(const struct kernel *k)
{
    return kernel_int(k, "B_COL") == 1 && kernel_int(k, "N") >= 16;
}

void product_of_terms(struct kernel *k, int64_t terms)
{
    const int64_t m = kernel_int(k, "M"), n = kernel_int(k, "N"), whole = (n + 31) / 32 * 32, all = kernel_int(k, "K");
    rebind(k, PRODUCT_SUMS, m, terms);
    kernel_set_int(k, "ALL", all);
    k->scratch.param = "waiting";
    kernel_set_int(k, "WAITING", (m + 8) * (n % 32 ? whole + 32 : whole));
    k->scratch.count = kernel_int(k, "WAITING") * (all > kernel_int(k, "TERMS") ? 2 : 1);
}

/* ---- plain loops (fuse/plain.c) ---------------------------------------------------------------------------------- */

static void make_plain(struct kernel *k)
{
    k->tmpl.traits = &product_templates[PRODUCT_PLAIN];
    k->cut.pieces = 0;
    k->scratch.buffer = NULL;
    k->scratch.count = 0;
}

/* The sums themselves are needed from block to block. */
static void make_sums_plain(struct kernel *k)
{
    const int64_t sums = kernel_int(k, "M") * kernel_int(k, "N");
    k->tmpl.traits = &product_templates[PRODUCT_SUMS_PLAIN];
    kernel_set_int(k, "WAITING", sums);
    kernel_resize_scratch(k, kernel_int(k, "ALL") > kernel_int(k, "TERMS") ? 2 * sums : sums);
}

static struct kernel_int *find_int(const struct kernel *k, const char *name)
{
    for (int i = 0; i < k->tmpl.int_count; i++)
        if (str_equal(k->tmpl.ints[i].name, name))
            return &k->tmpl.ints[i];
    UNREACHABLE("template '%s' has no integer hole '%s'", k->tmpl.traits->name, name);
}

static void rename_int(struct kernel *k, const char *from, const char *to)
{
    find_int(k, from)->name = to;
}

/* N is 1, or swapped, then M is 1 and the matrix is b'. */
static void operands_of_vector(struct kernel *k)
{
    const bool swapped = kernel_int(k, "SWAPPED") == 1;
    for (int o = 0; o < k->tmpl.operand_count; o++)
        k->tmpl.operands[o].param = str_equal(k->tmpl.operands[o].param, "matrix") != swapped ? "a" : "b";
    rename_int(k, "ROW_STEP", swapped ? "B_COL" : "A_ROW");
    rename_int(k, "COL_STEP", swapped ? "B_ROW" : "A_COL");
    rename_int(k, "VECTOR_STEP", swapped ? "A_COL" : "B_ROW");
    kernel_set_int(k, swapped ? "A_ROW" : "B_COL", 0);
}

/* What only a matrix and a vector have is dropped: it may depend on a count that the plain loops take. */
static void make_vector_plain(struct kernel *k)
{
    operands_of_vector(k);
    rebind(k, PRODUCT_PLAIN, kernel_int(k, "M"), kernel_int(k, "K"));
    k->scratch.buffer = NULL;
}

/* ---- a library (fuse/blas.c) ------------------------------------------------------------------------------------- */

/* Rows or columns without gaps, the other step no shorter than what it steps over. */
static bool is_matrix(int64_t row_step, int64_t column_step, int64_t rows, int64_t columns)
{
    const int64_t step = column_step == 1 ? row_step : column_step, length = column_step == 1 ? columns : rows;
    return (column_step == 1 || row_step == 1) && step >= length && step <= INT32_MAX;
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
    const bool plain = s->value->op == EXPR_RESULT && s->to.buffer->dtype == k->tmpl.type && s->to.term_count == 0;
    return plain && s->to.stride[k->outer_rank + 1] == 1 && row >= kernel_int(k, "N") && row <= INT32_MAX ? row : 0;
}

static bool call_blas(struct kernel *k)
{
    const int64_t m = kernel_int(k, "M"), n = kernel_int(k, "N"), depth = kernel_int(k, "K"), direct = direct_row(k);
    if (!is_matrix(kernel_int(k, "A_ROW"), kernel_int(k, "A_COL"), m, depth) ||
        !is_matrix(kernel_int(k, "B_ROW"), kernel_int(k, "B_COL"), depth, n))
        return false;
    k->tmpl.traits = &product_templates[PRODUCT_BLAS];
    kernel_set_int(k, "RESULT_ROW", direct);
    if (direct) {
        k->scratch.buffer = NULL;
        k->scratch.count = 0;
    } else {
        kernel_resize_scratch(k, m * n);
    }
    return true;
}

/* ---- sizes that are known late ---------------------------------------------------------------------------------- */

static const char *const late[] = {"M", "K", NULL}, *const late_most[] = {"TERMS", NULL};

/* What every form has, with the size of the axis that a step goes along. What else a form has it chooses itself. */
static const struct {
    const char *name, *along;
} common_ints[] = {{"M", NULL},    {"N", NULL},    {"K", NULL},   {"A_ROW", "M"},
                   {"A_COL", "K"}, {"B_ROW", "K"}, {"B_COL", "N"}};
enum { COMMON_INTS = sizeof common_ints / sizeof *common_ints };

/* The forms for large products, for few columns and for vectors are made for their sizes: their place takes one of
 * small tiles. A step that depends on the count stays one, which no form takes: rows 0 and n - 1 lie (n - 1) rows
 * apart. Where the axis has one element, nobody takes that step. */
static bool make_late(struct lowered *l, struct kernel *k)
{
    struct late_size late_of[COMMON_INTS];
    for (size_t i = 0; i < k->parts.count; i++)
        if (str_equal(k->parts.data[i].hole, "update"))
            return false;
    if (k->tmpl.traits == &product_templates[PRODUCT_VECTOR])
        operands_of_vector(k);
    for (int i = 0; i < COMMON_INTS; i++)
        late_of[i] = find_int(k, common_ints[i].name)->late;
    product_of_rows(k, kernel_int(k, "M"), l->target);
    struct buffer *const scratch = k->scratch.buffer;
    if (k->scratch.count == 0)
        k->scratch.buffer = NULL;
    else if (scratch)
        kernel_resize_scratch(k, k->scratch.count);
    else
        kernel_add_scratch(l, k, k->scratch.param, k->scratch.count);
    for (int i = 0; i < k->tmpl.int_count; i++)
        k->tmpl.ints[i].late = (struct late_size){0};
    for (int i = 0; i < COMMON_INTS; i++)
        if (!common_ints[i].along || kernel_int(k, common_ints[i].along) != 1)
            find_int(k, common_ints[i].name)->late = late_of[i];
    return true;
}

/* ---- the templates ----------------------------------------------------------------------------------------------- */

/* The rows of `product_transposed` are the columns of its result: a is stored by rows, whose sums run in lanes, and has
 * no hole for them. */
const struct template_traits product_templates[PRODUCT_FORMS] = {
    [PRODUCT_DIRECT] = {"product", .is_product = true, .has_row_sums = true, .make_plain = make_plain, .late = late,
                        .late_most = late_most, .make_late = make_late},
    [PRODUCT_PACKED] = {"product_packed", .is_product = true, .has_row_sums = true, .make_plain = make_plain,
                        .late = late, .late_most = late_most, .make_late = make_late},
    [PRODUCT_NARROW] = {"product_narrow", .is_product = true, .has_row_sums = true, .make_plain = make_plain,
                        .make_late = make_late},
    [PRODUCT_FEW] = {"product_few", .is_product = true, .has_row_sums = true, .make_plain = make_plain,
                     .make_late = make_late},
    [PRODUCT_BLOCKED] = {"product_blocked", .is_product = true, .has_row_sums = true, .cut = product_cut_blocked,
                         .make_plain = make_plain, .call_library = call_blas, .make_late = make_late},
    [PRODUCT_TRANSPOSED] = {"product_transposed", .is_product = true, .make_plain = make_plain,
                            .call_library = call_blas, .make_late = make_late},
    [PRODUCT_SUMS] = {"product_sums", .is_product = true, .make_plain = make_sums_plain},
    [PRODUCT_SUMS_PLAIN] = {"product_sums_plain", .is_product = true},
    [PRODUCT_PLAIN] = {"product_plain", .is_product = true, .late = late, .late_most = late_most},
    [PRODUCT_BLAS] = {"product_blas", .is_product = true, .is_in_library = true, .make_plain = make_plain},
    [PRODUCT_VECTOR] = {"matrix_vector", .takes_update = true, .cut = product_cut_vector,
                        .make_plain = make_vector_plain, .make_late = make_late},
};
