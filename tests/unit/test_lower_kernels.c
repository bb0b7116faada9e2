/* What a kernel is that is emitted as a call: a copy of a whole buffer, random numbers that fill one in order, or a
 * product by a BLAS, which may write its result in place. */
#include "kernels.h"
#include "lower/product.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ROWS = 3, COLUMNS = 4, SIZE = ROWS * COLUMNS };

static struct buffer *x, *y;

static struct kernel *fill(struct access to, const struct expr *value)
{
    struct kernel *const k = loops(EXTENTS(ROWS, COLUMNS));
    store(k, to, value);
    return k;
}

static struct access in_order(struct buffer *b)
{
    return AT(b, 0, COLUMNS, 1);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static struct kernel *copy(void)
{
    return fill(in_order(y), load(in_order(x)));
}

static struct kernel *copy_of_a_part(void)
{
    x->count = SIZE + 1;
    return copy();
}

static struct kernel *copy_from_the_second(void)
{
    x->count = SIZE + 1;
    return fill(in_order(y), load(AT(x, 1, COLUMNS, 1)));
}

static struct kernel *copy_to_a_part(void)
{
    y->count = SIZE + 1;
    return copy();
}

static struct kernel *copy_to_the_second(void)
{
    return fill(AT(y, 1, COLUMNS, 1), load(in_order(x)));
}

static struct kernel *copy_turned(void)
{
    return fill(AT(y, 0, 1, ROWS), load(in_order(x)));
}

static struct kernel *copy_of_one_row(void)
{
    return fill(in_order(y), load(AT(x, 0, 0, 1)));
}

static struct kernel *copy_in_another_type(void)
{
    y->dtype = DTYPE_DOUBLE;
    return copy();
}

static struct kernel *copy_twice(void)
{
    struct kernel *const k = copy();
    store(k, in_order(buffer(BUFFER_OUTPUT, "z", SIZE)), number(1));
    return k;
}

static struct kernel *copy_and_more(void)
{
    struct kernel *const k = copy();
    add_loops(k, EXTENTS(ROWS, COLUMNS));
    store(k, in_order(buffer(BUFFER_OUTPUT, "z", SIZE)), number(1));
    return k;
}

static struct kernel *copy_with_a_check(void)
{
    struct kernel *const k = copy();
    vec_push(&arena, &k->checks, (struct check){.value = expr_int(&arena, DTYPE_INT64, 0)});
    return k;
}

static struct kernel *counting(void)
{
    struct kernel *const k = fill(in_order(y), load(in_order(x)));
    part_of(k)->reduce = REDUCE_SUM;
    part_of(k)->element = number(1);
    return k;
}

static struct kernel *negation(void)
{
    return fill(in_order(y), expr_unary(&arena, EXPR_NEG, load(in_order(x))));
}

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static const struct expr *whole(int64_t n)
{
    return expr_int(&arena, DTYPE_INT64, n);
}

/* first + row * i + column * j: the number of the random number at each point */
static const struct expr *counted(int64_t first, int64_t row, int64_t column)
{
    const struct expr *const i = expr_index(&arena, 0), *const j = expr_index(&arena, 1);
    const struct expr *const along = add(mul(i, whole(row)), mul(j, whole(column)));
    return first ? add(along, whole(first)) : along;
}

static const struct expr *drawn(enum expr_op op, const struct expr *at)
{
    return expr_random(&arena, op, DTYPE_FLOAT, 0, &(struct expr_draw){0}, at);
}

static const struct expr *drawn_in_order(enum expr_op op)
{
    return drawn(op, counted(0, COLUMNS, 1));
}

static struct kernel *normal(void)
{
    return fill(in_order(y), drawn_in_order(EXPR_NORMAL));
}

static struct kernel *wide_normal(void)
{
    return fill(in_order(y), mul(drawn_in_order(EXPR_NORMAL), number(3)));
}

static struct kernel *moved_normal(void)
{
    return fill(in_order(y), add(number(2), mul(drawn_in_order(EXPR_NORMAL), number(3))));
}

static struct kernel *uniform(void)
{
    return fill(in_order(y), add(number(2), mul(drawn_in_order(EXPR_UNIFORM), number(3))));
}

static struct kernel *uniform_of_one(void)
{
    return fill(in_order(y), add(number(2), drawn_in_order(EXPR_UNIFORM)));
}

static struct kernel *uniform_from_nothing(void)
{
    return fill(in_order(y), mul(drawn_in_order(EXPR_UNIFORM), number(3)));
}

static struct kernel *normal_from_the_second(void)
{
    return fill(in_order(y), drawn(EXPR_NORMAL, counted(1, COLUMNS, 1)));
}

static struct kernel *normal_by_columns(void)
{
    return fill(in_order(y), drawn(EXPR_NORMAL, counted(0, 1, ROWS)));
}

static struct kernel *normal_of_every_second(void)
{
    return fill(in_order(y), drawn(EXPR_NORMAL, counted(0, 2 * COLUMNS, 2)));
}

static struct kernel *normal_that_repeats(void)
{
    return fill(in_order(y), drawn(EXPR_NORMAL, counted(0, 0, 1)));
}

static struct kernel *normal_in_shares(void)
{
    struct kernel *const k = normal();
    k->cut.shares = 2;
    return k;
}

static struct kernel *normal_of_a_part(void)
{
    y->count = SIZE + 1;
    return normal();
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const struct kernel_case {
    const char *name;
    struct kernel *(*make)(void);
    bool is_copy, is_draw;
    double factor, offset; /* of a draw */
} cases[] = {
#define COPY(make) {#make, make, true, false, 0, 0}
#define DRAW(make, factor, offset) {#make, make, false, true, factor, offset}
#define NEITHER(make) {#make, make, false, false, 0, 0}
    COPY(copy),
    NEITHER(copy_of_a_part),
    NEITHER(copy_from_the_second),
    NEITHER(copy_to_a_part),
    NEITHER(copy_to_the_second),
    NEITHER(copy_turned),
    NEITHER(copy_of_one_row),
    NEITHER(copy_in_another_type),
    NEITHER(copy_twice),
    NEITHER(copy_and_more),
    NEITHER(copy_with_a_check),
    NEITHER(counting),
    NEITHER(negation),
    DRAW(normal, 1, 0),
    DRAW(wide_normal, 3, 0),
    NEITHER(moved_normal),
    DRAW(uniform, 3, 2),
    DRAW(uniform_of_one, 1, 2),
    NEITHER(uniform_from_nothing),
    NEITHER(normal_from_the_second),
    NEITHER(normal_by_columns),
    NEITHER(normal_of_every_second),
    NEITHER(normal_that_repeats),
    NEITHER(normal_in_shares),
    NEITHER(normal_of_a_part),
};

START_TEST(kernels_are_calls)
{
    const struct kernel_case *const c = &cases[_i];
    x = buffer(BUFFER_INPUT, "x", SIZE);
    y = buffer(BUFFER_OUTPUT, "y", SIZE);
    const struct kernel *const k = c->make();
    struct buffer *from = NULL, *to = NULL;
    ck_assert_msg(kernel_is_copy(k, &from, &to) == c->is_copy, "%s", c->name);
    ck_assert_msg(!c->is_copy || (from == x && to == y), "%s", c->name);
    struct kernel_draw draw;
    ck_assert_msg(kernel_is_draw(k, &draw) == c->is_draw, "%s", c->name);
    ck_assert_msg(!c->is_draw || (draw.to == y && draw.factor == c->factor && draw.offset == c->offset),
                  "%s: factor %g, offset %g", c->name, draw.factor, draw.offset);
}
END_TEST

/* ---- products by a library --------------------------------------------------------------------------------------- */

enum { M = 6, K = 5, N = 4, WIDE = 9 };

/* y[i,j] = sum over k of x[i,k] * x[k,j] */
static struct kernel *product(void)
{
    struct kernel *const k = of_template(&product_templates[PRODUCT_BLOCKED]);
    x = buffer(BUFFER_INPUT, "x", M * WIDE);
    y = buffer(BUFFER_OUTPUT, "y", M * WIDE);
    kernel_set_int(k, "M", M);
    kernel_set_int(k, "N", N);
    kernel_set_int(k, "K", K);
    kernel_set_int(k, "A_ROW", K);
    kernel_set_int(k, "A_COL", 1);
    kernel_set_int(k, "B_ROW", N);
    kernel_set_int(k, "B_COL", 1);
    set_operand(k, "a", AT(x, 0));
    set_operand(k, "b", AT(x, 0));
    k->scratch.buffer = buffer(BUFFER_TEMP, "packed", 1);
    k->scratch.count = 1;
    add_loops(k, EXTENTS(M, N));
    part_of(k)->hole = "finish";
    store(k, AT(y, 0, N, 1), result());
    return k;
}

static struct access *place_of(struct kernel *k)
{
    return &part_of(k)->stores.data[0].to;
}

static struct kernel *sums_alone(void)
{
    return product();
}

static struct kernel *sums_in_wider_rows(void)
{
    struct kernel *const k = product();
    *place_of(k) = AT(y, 3, WIDE, 1);
    return k;
}

static struct kernel *sums_with_a_prologue(void)
{
    struct kernel *const k = product();
    struct part p = {.rank = 2, .extent = {M, K}, .hole = "load_a"};
    vec_push(&arena, &k->parts, p);
    return k;
}

static struct kernel *sums_in_columns(void)
{
    struct kernel *const k = product();
    *place_of(k) = AT(y, 0, 1, M);
    return k;
}

static struct kernel *sums_in_rows_that_overlap(void)
{
    struct kernel *const k = product();
    *place_of(k) = AT(y, 0, N - 1, 1);
    return k;
}

static struct kernel *sums_at_computed_places(void)
{
    struct kernel *const k = product();
    struct access *const to = place_of(k);
    to->term[to->term_count++] =
        (struct access_term){.index = expr_int(&arena, DTYPE_INT64, 1), .stride = N};
    return k;
}

static struct kernel *sums_of_another_type(void)
{
    struct kernel *const k = product();
    y->dtype = DTYPE_DOUBLE;
    return k;
}

static struct kernel *sums_doubled(void)
{
    struct kernel *const k = product();
    part_of(k)->stores.data[0].value = mul(result(), number(2));
    return k;
}

static struct kernel *sums_at_two_places(void)
{
    struct kernel *const k = product();
    store(k, AT(x, 0, N, 1), result());
    return k;
}

static struct kernel *a_matrix_with_gaps(void)
{
    struct kernel *const k = product();
    kernel_set_int(k, "A_ROW", 2 * K);
    kernel_set_int(k, "A_COL", 2);
    return k;
}

static struct kernel *rows_that_overlap(void)
{
    struct kernel *const k = product();
    kernel_set_int(k, "B_ROW", N - 1);
    return k;
}

static const struct {
    const char *name;
    struct kernel *(*make)(void);
    int64_t row; /* from row to row of the result, 0: it goes by way of scratch memory, -1: no call */
} product_cases[] = {
#define PRODUCT(make, row) {#make, make, row}
    PRODUCT(sums_alone, N),
    PRODUCT(sums_in_wider_rows, WIDE),
    PRODUCT(sums_with_a_prologue, N),
    PRODUCT(sums_in_columns, 0),
    PRODUCT(sums_in_rows_that_overlap, 0),
    PRODUCT(sums_at_computed_places, 0),
    PRODUCT(sums_of_another_type, 0),
    PRODUCT(sums_doubled, 0),
    PRODUCT(sums_at_two_places, 0),
    PRODUCT(a_matrix_with_gaps, -1),
    PRODUCT(rows_that_overlap, -1),
};

START_TEST(products_are_calls)
{
    const int64_t row = product_cases[_i].row;
    struct kernel *const k = product_cases[_i].make();
    const bool is_call = k->tmpl.traits->call_library(k);
    ck_assert_msg(is_call == (row >= 0), "%s", product_cases[_i].name);
    ck_assert_ptr_eq(k->tmpl.traits, &product_templates[is_call ? PRODUCT_BLAS : PRODUCT_BLOCKED]);
    if (!is_call)
        return;
    ck_assert_msg(kernel_int(k, "RESULT_ROW") == row, "%s", product_cases[_i].name);
    ck_assert_int_eq(k->scratch.count, row > 0 ? 0 : M * N);
    ck_assert((k->scratch.buffer == NULL) == (row > 0));
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, kernels_are_calls, 0, COUNT(cases));
    tcase_add_loop_test(tests, products_are_calls, 0, COUNT(product_cases));
    return run_tests("lower_kernels", tests);
}
