/* Matrix products in other forms than they were lowered to: as stages, as plain loops, as calls of a library. */
#include "lower/product.h"

#include "base/str.h"
#include <stddef.h>

/* ---- sizes as integers of a template ----------------------------------------------------------------------------- */

/* What every form has, with the size of the axis that a step goes along. What else a form has it chooses itself. */
#define AT(member) offsetof(struct product_sizes, member)
#define NO_AXIS SIZE_MAX
static const struct size_hole {
    const char *name;
    size_t at, along;
} holes[] = {{"M", AT(m), NO_AXIS},        {"N", AT(n), NO_AXIS},        {"K", AT(k), NO_AXIS},
             {"A_ROW", AT(a_row), AT(m)}, {"A_COL", AT(a_col), AT(k)}, {"B_ROW", AT(b_row), AT(k)},
             {"B_COL", AT(b_col), AT(n)}};
enum { HOLES = sizeof holes / sizeof *holes };

static int64_t *member(struct product_sizes *s, size_t at)
{
    return (int64_t *)((char *)s + at);
}

bool product_has_sizes(const struct kernel *k, struct product_sizes *out)
{
    for (int i = 0; i < HOLES; i++)
        *member(out, holes[i].at) = kernel_int(k, holes[i].name);
    return out->m >= 0 && out->n >= 0 && out->k >= 0;
}

struct product_sizes product_sizes_of(const struct kernel *k)
{
    struct product_sizes s;
    (void)product_has_sizes(k, &s);
    return s;
}

void product_set_sizes(struct kernel *k, const struct product_sizes *s)
{
    struct product_sizes copy = *s;
    for (int i = 0; i < HOLES; i++)
        kernel_set_int(k, holes[i].name, *member(&copy, holes[i].at));
}

struct matrix_sizes product_matrix_of(const struct kernel *k)
{
    return (struct matrix_sizes){.rows = kernel_int(k, "ROWS"), .columns = kernel_int(k, "K"),
                                 .row_step = kernel_int(k, "ROW_STEP"), .col_step = kernel_int(k, "COL_STEP")};
}

/* ---- block by block (fuse/blocks.c) ------------------------------------------------------------------------------ */

static void rebind(struct kernel *k, enum product_form form, int64_t rows, int64_t terms)
{
    struct product_sizes s = product_sizes_of(k);
    const int64_t terms_of_sum = kernel_int(k, "TERMS");
    s.m = rows;
    s.k = terms;
    k->tmpl.traits = &product_templates[form];
    k->tmpl.flops = 2 * rows * s.n * terms;
    k->tmpl.int_count = 0;
    k->cut.pieces = 0;
    k->scratch.param = NULL;
    k->scratch.count = 0;
    product_set_sizes(k, &s);
    kernel_set_int(k, "TERMS", terms_of_sum);
    kernel_set_int(k, "SUMS_IN_TILES", 0);
}

void product_of_rows(struct kernel *k, int64_t rows, const struct target *t)
{
    const struct product_sizes s = product_sizes_of(k);
    const bool packs = product_packs(rows, s.n, s.b_col, t);
    rebind(k, packs ? PRODUCT_PACKED : PRODUCT_DIRECT, rows, s.k);
    if (!packs)
        return;
    const int64_t panel = product_panel_columns(rows, s.n, s.k);
    kernel_set_int(k, "PANEL", panel);
    k->scratch.param = "panel";
    k->scratch.count = s.k * panel;
}

bool product_can_add(const struct kernel *k)
{
    const struct product_sizes s = product_sizes_of(k);
    return s.b_col == 1 && s.n >= 16;
}

void product_of_terms(struct kernel *k, int64_t terms)
{
    const struct product_sizes s = product_sizes_of(k);
    const int64_t whole = (s.n + 31) / 32 * 32, waiting = (s.m + 8) * (s.n % 32 ? whole + 32 : whole);
    rebind(k, PRODUCT_SUMS, s.m, terms);
    kernel_set_int(k, "ALL", s.k);
    k->scratch.param = "waiting";
    kernel_set_int(k, "WAITING", waiting);
    k->scratch.count = waiting * (s.k > kernel_int(k, "TERMS") ? 2 : 1);
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
    const struct product_sizes s = product_sizes_of(k);
    const int64_t sums = s.m * s.n;
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
    const struct product_sizes s = product_sizes_of(k);
    rebind(k, PRODUCT_PLAIN, s.m, s.k);
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
static int64_t direct_row(const struct kernel *k, int64_t columns)
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
    return plain && s->to.stride[k->outer_rank + 1] == 1 && row >= columns && row <= INT32_MAX ? row : 0;
}

static bool call_blas(struct kernel *k)
{
    const struct product_sizes s = product_sizes_of(k);
    const int64_t direct = direct_row(k, s.n);
    if (!is_matrix(s.a_row, s.a_col, s.m, s.k) || !is_matrix(s.b_row, s.b_col, s.k, s.n))
        return false;
    k->tmpl.traits = &product_templates[PRODUCT_BLAS];
    kernel_set_int(k, "RESULT_ROW", direct);
    if (direct) {
        k->scratch.buffer = NULL;
        k->scratch.count = 0;
    } else {
        kernel_resize_scratch(k, s.m * s.n);
    }
    return true;
}

/* ---- sizes that are known late ---------------------------------------------------------------------------------- */

static const char *const late[] = {"M", "K", NULL}, *const late_most[] = {"TERMS", NULL};

/* The forms for large products, for few columns and for vectors are made for their sizes: their place takes one of
 * small tiles. A step that depends on the count stays one, which no form takes: rows 0 and n - 1 lie (n - 1) rows
 * apart. Where the axis has one element, nobody takes that step. */
static bool make_late(struct lowered *l, struct kernel *k)
{
    struct late_size late_of[HOLES];
    for (size_t i = 0; i < k->parts.count; i++)
        if (str_equal(k->parts.data[i].hole, "update"))
            return false;
    if (k->tmpl.traits == &product_templates[PRODUCT_VECTOR])
        operands_of_vector(k);
    for (int i = 0; i < HOLES; i++)
        late_of[i] = find_int(k, holes[i].name)->late;
    product_of_rows(k, product_sizes_of(k).m, l->target);
    struct buffer *const scratch = k->scratch.buffer;
    if (k->scratch.count == 0)
        k->scratch.buffer = NULL;
    else if (scratch)
        kernel_resize_scratch(k, k->scratch.count);
    else
        kernel_add_scratch(l, k, k->scratch.param, k->scratch.count);
    for (int i = 0; i < k->tmpl.int_count; i++)
        k->tmpl.ints[i].late = (struct late_size){0};
    struct product_sizes s = product_sizes_of(k);
    for (int i = 0; i < HOLES; i++)
        if (holes[i].along == NO_AXIS || *member(&s, holes[i].along) != 1)
            find_int(k, holes[i].name)->late = late_of[i];
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
