/* Groups of kernels that share blocks of rows, made by hand: what becomes one kernel, and what is left alone because
 * another order, or other elements, would be read. */
#include "fuse_cases.h"
#include "lower/targets.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ROWS = 256, TERMS = 8, COLUMNS = 48, NEXT = 16 };

static const struct template_traits product_template = {.name = "product", .is_product = true};

/* to = a * b, all row by row: a is m x k, b is k x n. */
static struct kernel *multiply(struct buffer *a, struct buffer *b, struct buffer *to, int64_t m, int64_t k, int64_t n)
{
    struct kernel *const p = of_template(&product_template);
    kernel_set_int(p, "M", m);
    kernel_set_int(p, "N", n);
    kernel_set_int(p, "K", k);
    kernel_set_int(p, "A_ROW", k);
    kernel_set_int(p, "A_COL", 1);
    kernel_set_int(p, "B_ROW", n);
    kernel_set_int(p, "B_COL", 1);
    kernel_set_int(p, "TERMS", 4096);
    set_operand(p, "a", AT(a, 0));
    set_operand(p, "b", AT(b, 0));
    add_loops(p, EXTENTS(m, n));
    part_of(p)->hole = "finish";
    store(p, AT(to, 0, n, 1), result());
    return p;
}

/* t = x * w; s[i] = sum of row i of t; u[i,j] = s[i] * the element of t at `from`, in `columns` columns. */
static struct buffer *rows_of_product(int64_t offset, int64_t row, int64_t column, int64_t columns)
{
    struct buffer *const t = TEMP("t", ROWS * COLUMNS), *const s = TEMP("s", ROWS),
                        *const u = TEMP("u", ROWS * columns);
    (void)multiply(INPUT("x", ROWS * TERMS), INPUT("w", TERMS * COLUMNS), t, ROWS, TERMS, COLUMNS);
    struct kernel *const k = loops(EXTENTS(ROWS, COLUMNS));
    sum(k, 1, load(AT(t, 0, COLUMNS, 1)));
    store(k, AT(s, 0, 1), result());
    store(loops(EXTENTS(ROWS, columns)), AT(u, 0, columns, 1),
          mul(load(AT(s, 0, 1)), load(AT(t, offset, row, column))));
    return u;
}

/* ---- which elements are read ------------------------------------------------------------------------------------- */

static void read_at(int64_t offset, int64_t row, int64_t column, int64_t columns)
{
    struct buffer *const u = rows_of_product(offset, row, column, columns);
    (void)multiply(u, INPUT("v", columns * NEXT), OUTPUT("o", ROWS * NEXT), ROWS, columns, NEXT);
}

static void a_row_is_read(void)
{
    read_at(0, COLUMNS, 1, COLUMNS);
}

static void half_a_row_is_read(void)
{
    read_at(0, COLUMNS, 1, COLUMNS / 2);
}

static void half_a_row_and_of_the_next_is_read(void)
{
    read_at(0, COLUMNS / 2, 1, COLUMNS);
}

static void more_than_a_row_is_read(void)
{
    read_at(0, COLUMNS, 1, COLUMNS + 2);
}

static void the_second_half_of_a_row_is_read(void)
{
    read_at(COLUMNS / 2, COLUMNS, 1, COLUMNS / 2);
}

static void every_second_element_is_read(void)
{
    read_at(0, COLUMNS, 2, COLUMNS / 2);
}

static void the_first_row_is_read(void)
{
    read_at(0, 0, 1, COLUMNS);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* A product that checks an index first, as one that adds rows of a table does. */
static void check_index(size_t kernel)
{
    vec_push(&arena, &lowered.kernels.data[kernel]->checks,
             ((struct check){.value = expr_int(&arena, DTYPE_INT64, 1), .high = NEXT, .status = "STEPC_E_INDEX"}));
}

static void the_first_product_checks(void)
{
    a_row_is_read();
    check_index(0);
}

static void the_last_product_checks(void)
{
    a_row_is_read();
    check_index(lowered.kernels.count - 1);
}

/* ---- loops around a product -------------------------------------------------------------------------------------- */

/* The same for each plane of ROWS rows: the product is that of the first `planes`. */
static struct kernel *multiply_planes(int64_t planes, struct buffer *a, struct buffer *b, struct buffer *to, int64_t k,
                                      int64_t n)
{
    struct kernel *const p = multiply(a, b, to, ROWS, k, n);
    p->outer_rank = 1;
    p->outer_extent[0] = planes;
    p->tmpl.operands[0].access.stride[0] = ROWS * k;
    p->parts.count = 0;
    add_loops(p, EXTENTS(planes, ROWS, n));
    part_of(p)->hole = "finish";
    store(p, AT(to, 0, ROWS * n, n, 1), result());
    return p;
}

static void planes_are_read(int64_t planes)
{
    enum { PLANES = 2 };
    struct buffer *const t = TEMP("t", PLANES * ROWS * COLUMNS), *const s = TEMP("s", PLANES * ROWS),
                        *const u = TEMP("u", PLANES * ROWS * COLUMNS);
    (void)multiply_planes(PLANES, INPUT("x", PLANES * ROWS * TERMS), INPUT("w", TERMS * COLUMNS), t, TERMS, COLUMNS);
    struct kernel *const k = loops(EXTENTS(PLANES, ROWS, COLUMNS));
    sum(k, 2, load(AT(t, 0, ROWS * COLUMNS, COLUMNS, 1)));
    store(k, AT(s, 0, ROWS, 1), result());
    store(loops(EXTENTS(PLANES, ROWS, COLUMNS)), AT(u, 0, ROWS * COLUMNS, COLUMNS, 1),
          mul(load(AT(s, 0, ROWS, 1)), load(AT(t, 0, ROWS * COLUMNS, COLUMNS, 1))));
    (void)multiply_planes(planes, u, INPUT("v", COLUMNS * NEXT), OUTPUT("o", planes * ROWS * NEXT), COLUMNS, NEXT);
}

static void all_planes_are_read(void)
{
    planes_are_read(2);
}

static void the_first_plane_is_read(void)
{
    planes_are_read(1);
}

/* ---- what is written --------------------------------------------------------------------------------------------- */

/* Two products of the same rows; what the second multiplies with comes from between them, or is an input. */
static void two_products(struct buffer *first, struct buffer *second,
                         void (*between)(struct buffer *o, struct buffer *b))
{
    struct buffer *const u = rows_of_product(0, COLUMNS, 1, COLUMNS), *const b = between ? TEMP("b", COLUMNS * NEXT)
                                                                                       : INPUT("b", COLUMNS * NEXT);
    (void)multiply(u, INPUT("v", COLUMNS * NEXT), first, ROWS, COLUMNS, NEXT);
    if (between)
        between(first, b);
    (void)multiply(u, b, second, ROWS, COLUMNS, NEXT);
}

/* Somebody reads it, for the state. */
static void keep_sum(struct buffer *of, const char *name)
{
    struct kernel *const k = loops(EXTENTS(ROWS * NEXT));
    sum(k, 0, load(AT(of, 0, 1)));
    store(k, AT(STATE(name, 1), 0), result());
}

static void two_results_are_kept(void)
{
    struct buffer *const o = TEMP("o", ROWS * NEXT), *const p = TEMP("p", ROWS * NEXT);
    two_products(o, p, NULL);
    keep_sum(o, "sum_o");
    keep_sum(p, "sum_p");
}

static void two_outputs_may_not_be_wanted(void)
{
    two_products(OUTPUT("o", ROWS * NEXT), OUTPUT("p", ROWS * NEXT), NULL);
}

static void an_output_may_not_be_wanted(void)
{
    struct buffer *const p = TEMP("p", ROWS * NEXT);
    two_products(OUTPUT("o", ROWS * NEXT), p, NULL);
    keep_sum(p, "sum_p");
}

static void the_state_waits_for_checks(void)
{
    struct buffer *const u = rows_of_product(0, COLUMNS, 1, COLUMNS);
    (void)multiply(u, INPUT("v", COLUMNS * NEXT), STATE("o", ROWS * NEXT), ROWS, COLUMNS, NEXT);
}

/* b[k,j] = sum over i of o[i,j] */
static void sum_columns(struct buffer *o, struct buffer *b)
{
    struct kernel *const k = loops(EXTENTS(COLUMNS, NEXT, ROWS));
    sum(k, 2, load(AT(o, 0, 0, 1, NEXT)));
    store(k, AT(b, 0, NEXT, 1), result());
}

static void the_second_product_needs_the_first(void)
{
    struct buffer *const o = TEMP("o", ROWS * NEXT), *const p = TEMP("p", ROWS * NEXT);
    two_products(o, p, sum_columns);
    keep_sum(p, "sum_p");
}

/* Of o with 2 * NEXT columns the first product writes NEXT, somebody else as many from `other_columns` on; then comes
 * what the second product needs. */
static int64_t other_columns;

static void write_others(struct buffer *o, struct buffer *b)
{
    struct buffer *const q = INPUT("q", ROWS * NEXT);
    lowered.kernels.data[lowered.kernels.count - 1]->parts.data[0].stores.data[0].to.stride[0] = 2 * NEXT;
    store(loops(EXTENTS(ROWS, NEXT)), AT(o, other_columns, 2 * NEXT, 1), load(AT(q, 0, NEXT, 1)));
    sum_columns(q, b);
}

static void both_write(int64_t from)
{
    struct buffer *const o = TEMP("o", 2 * ROWS * NEXT), *const p = TEMP("p", ROWS * NEXT);
    other_columns = from;
    two_products(o, p, write_others);
    keep_sum(p, "sum_p");
    struct kernel *const k = loops(EXTENTS(2 * ROWS * NEXT));
    sum(k, 0, load(AT(o, 0, 1)));
    store(k, AT(STATE("sum_o", 1), 0), result());
}

static void both_write_columns_of_their_own(void)
{
    both_write(NEXT);
}

static void both_write_a_column(void)
{
    both_write(NEXT - 1);
}

/* The same, where the other writer is a group that was made before: its elements are not looked at. */
static void a_group_writes(int64_t from)
{
    struct buffer *const o = TEMP("o", 2 * ROWS * NEXT), *const p = TEMP("p", ROWS * NEXT),
                        *const b = TEMP("b", COLUMNS * NEXT);
    struct buffer *const first = rows_of_product(0, COLUMNS, 1, COLUMNS),
                        *const u = rows_of_product(0, COLUMNS, 1, COLUMNS);
    struct kernel *const own = multiply(u, INPUT("v", COLUMNS * NEXT), o, ROWS, COLUMNS, NEXT);
    struct kernel *const other = multiply(first, INPUT("v", COLUMNS * NEXT), o, ROWS, COLUMNS, NEXT);
    own->parts.data[0].stores.data[0].to.stride[0] = 2 * NEXT;
    other->parts.data[0].stores.data[0].to.stride[0] = 2 * NEXT;
    other->parts.data[0].stores.data[0].to.offset = from;
    sum_columns(INPUT("q", ROWS * NEXT), b);
    (void)multiply(u, b, p, ROWS, COLUMNS, NEXT);
    keep_sum(p, "sum_p");
    struct kernel *const k = loops(EXTENTS(2 * ROWS * NEXT));
    sum(k, 0, load(AT(o, 0, 1)));
    store(k, AT(STATE("sum_o", 1), 0), result());
}

static void a_group_writes_a_column(void)
{
    a_group_writes(NEXT - 1);
}

static void a_group_writes_columns_of_its_own(void)
{
    a_group_writes(NEXT);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const struct fuse_case cases[] = {
    CASE(a_row_is_read, 1),
    CASE(half_a_row_is_read, 1),
    CASE(half_a_row_and_of_the_next_is_read, 3),
    CASE(more_than_a_row_is_read, 3),
    CASE(the_second_half_of_a_row_is_read, 3),
    CASE(every_second_element_is_read, 3),
    CASE(the_first_row_is_read, 3),
    CASE(the_first_product_checks, 3),
    CASE(the_last_product_checks, 3),
    CASE(all_planes_are_read, 1),
    CASE(the_first_plane_is_read, 3),
    CASE(two_results_are_kept, 3),
    CASE(two_outputs_may_not_be_wanted, 4),
    CASE(an_output_may_not_be_wanted, 5),
    CASE(the_state_waits_for_checks, 3),
    CASE(the_second_product_needs_the_first, 6),
    CASE(both_write_columns_of_their_own, 5),
    CASE(both_write_a_column, 8),
    CASE(a_group_writes_a_column, 8),
    CASE(a_group_writes_columns_of_its_own, 8),
};

START_TEST(kernels_are_left)
{
    const struct fuse_case *const c = &cases[_i];
    c->make();
    fuse_entry(&lowered, false);
    ck_assert_msg(lowered.kernels.count == c->left, "%s: %zu kernels are left, expected %zu:\n%s", c->name,
                  lowered.kernels.count, c->left, lowered_print(&arena, &lowered));
}
END_TEST

/* t = x * w; u[i,j] = (the sum of row i of t) * t[i,j] * the element of t in column j * step: where that is t[i,j],
 * too, u takes the memory of t. */
START_TEST(a_block_is_used_again)
{
    const int64_t step = _i;
    struct buffer *const u = rows_of_product(0, COLUMNS, 1, COLUMNS);
    struct store *const s = &lowered.kernels.data[lowered.kernels.count - 1]->parts.data[0].stores.data[0];
    struct buffer *const t = lowered.kernels.data[0]->parts.data[0].stores.data[0].to.buffer;
    s->value = mul(s->value, load(AT(t, 0, COLUMNS, step)));
    (void)multiply(u, INPUT("v", COLUMNS * NEXT), OUTPUT("o", ROWS * NEXT), ROWS, COLUMNS, NEXT);
    fuse_entry(&lowered, false);
    ck_assert_uint_eq(lowered.kernels.count, 1);
    ck_assert_uint_eq(lowered.kernels.data[0]->own.count, step == 1 ? 1 : 2);
}
END_TEST

/* The gradient reads u again, to add over the rows: each of the two products gets its own blocks of t and u where u has
 * twice the bytes of the second cache. */
START_TEST(a_large_matrix_is_computed_again)
{
    const int64_t rows = _i == 0 ? 8192 : 16384; /* of 48 floats: 1.5 MiB, or 3 */
    struct buffer *const t = TEMP("t", rows * COLUMNS), *const s = TEMP("s", rows),
                        *const u = TEMP("u", rows * COLUMNS);
    lowered.target = target_find("x86-64");
    ck_assert_ptr_nonnull(lowered.target);
    (void)multiply(INPUT("x", rows * TERMS), INPUT("w", TERMS * COLUMNS), t, rows, TERMS, COLUMNS);
    struct kernel *const k = loops(EXTENTS(rows, COLUMNS));
    sum(k, 1, load(AT(t, 0, COLUMNS, 1)));
    store(k, AT(s, 0, 1), result());
    store(loops(EXTENTS(rows, COLUMNS)), AT(u, 0, COLUMNS, 1), mul(load(AT(s, 0, 1)), load(AT(t, 0, COLUMNS, 1))));
    (void)multiply(u, INPUT("v", COLUMNS * NEXT), OUTPUT("o", rows * NEXT), rows, COLUMNS, NEXT);
    struct kernel *const later =
        multiply(u, INPUT("e", rows * NEXT), OUTPUT("d", COLUMNS * NEXT), COLUMNS, rows, NEXT);
    kernel_set_int(later, "A_ROW", 1);
    kernel_set_int(later, "A_COL", COLUMNS);
    fuse_entry(&lowered, false);
    ck_assert_msg(lowered.kernels.count == (_i == 0 ? 4 : 2), "%zu kernels are left:\n%s", lowered.kernels.count,
                  lowered_print(&arena, &lowered));
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, kernels_are_left, 0, COUNT(cases));
    tcase_add_loop_test(tests, a_block_is_used_again, 0, 2);
    tcase_add_loop_test(tests, a_large_matrix_is_computed_again, 0, 2);
    return run_tests("fuse_blocks", tests);
}
