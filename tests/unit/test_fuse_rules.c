/* Rules of fusion on kernels made by hand: what is joined, what is left alone because the results would be others, and
 * that the results are the same. */
#include "fuse_cases.h"
#include "suite.h"

/* ---- producers into loads ---------------------------------------------------------------------------------------- */

/* t[i,j] = x[i,j] * 2, 3 x 4 */
static struct buffer *doubled(void)
{
    struct buffer *const x = INPUT("x", 12), *const t = TEMP("t", 12);
    store(loops(EXTENTS(3, 4)), AT(t, 0, 4, 1), mul(load(AT(x, 0, 4, 1)), number(2)));
    return t;
}

static void read_in_place(void)
{
    struct buffer *const t = doubled();
    store(loops(EXTENTS(3, 4)), AT(STATE("v", 12), 0, 4, 1), add(load(AT(t, 0, 4, 1)), number(1)));
}

static void read_turned(void)
{
    struct buffer *const t = doubled();
    store(loops(EXTENTS(4, 3)), AT(STATE("v", 12), 0, 3, 1), load(AT(t, 0, 1, 4)));
}

/* In loops of the same sizes as the producer's. */
static void square_is_read_turned(void)
{
    struct buffer *const x = INPUT("x", 9), *const t = TEMP("t", 9);
    store(loops(EXTENTS(3, 3)), AT(t, 0, 3, 1), mul(load(AT(x, 0, 3, 1)), number(2)));
    store(loops(EXTENTS(3, 3)), AT(STATE("v", 9), 0, 3, 1), load(AT(t, 0, 1, 3)));
}

static void read_backwards(void)
{
    struct buffer *const t = doubled();
    store(loops(EXTENTS(3, 4)), AT(STATE("v", 12), 0, 4, 1), load(AT(t, 11, -4, -1)));
}

static void read_one_row(void)
{
    struct buffer *const t = doubled();
    store(loops(EXTENTS(4)), AT(STATE("v", 4), 0, 1), load(AT(t, 4, 1)));
}

static void read_flat(void)
{
    struct buffer *const t = doubled();
    store(loops(EXTENTS(6)), AT(STATE("v", 6), 0, 1), load(AT(t, 0, 2)));
}

/* Not one row and then the next of the producer's loops: 5 = 4 + 1 has no place in them without a carry. */
static void read_diagonally(void)
{
    struct buffer *const x = INPUT("x", 3), *const y = INPUT("y", 4), *const t = TEMP("t", 12);
    store(loops(EXTENTS(3, 4)), AT(t, 0, 4, 1), mul(load(AT(x, 0, 1, 0)), load(AT(y, 0, 0, 1))));
    store(loops(EXTENTS(3, 2)), AT(STATE("v", 6), 0, 2, 1), load(AT(t, 3, 1, 4)));
}

static void read_next(void)
{
    struct buffer *const x = INPUT("x", 12), *const t = TEMP("t", 12);
    store(loops(EXTENTS(12)), AT(t, 0, 1), mul(load(AT(x, 0, 1)), number(2)));
    store(loops(EXTENTS(12)), AT(STATE("v", 12), 0, 1), below(0, 11, load(AT(t, 1, 1)), number(0)));
}

static void read_previous(void)
{
    struct buffer *const x = INPUT("x", 12), *const t = TEMP("t", 12);
    store(loops(EXTENTS(12)), AT(t, 0, 1), mul(load(AT(x, 0, 1)), number(2)));
    store(loops(EXTENTS(12)), AT(STATE("v", 12), 0, 1), below(0, 1, number(0), load(AT(t, -1, 1))));
}

/* The index of the producer's loop is the reader's, moved. */
static void index_is_moved(void)
{
    struct buffer *const x = INPUT("x", 12), *const t = TEMP("t", 12);
    store(loops(EXTENTS(12)), AT(t, 0, 1), below(0, 5, load(AT(x, 0, 1)), number(3)));
    store(loops(EXTENTS(6)), AT(STATE("v", 6), 0, 1), load(AT(t, 2, 1)));
}

static void input_changes_before_reader(void)
{
    struct buffer *const w = STATE("w", 4), *const t = TEMP("t", 4), *const x = INPUT("x", 4);
    store(loops(EXTENTS(4)), AT(t, 0, 1), mul(load(AT(w, 0, 1)), number(2)));
    store(loops(EXTENTS(4)), AT(w, 0, 1), load(AT(x, 0, 1)));
    store(loops(EXTENTS(2)), AT(STATE("v", 2), 0, 1), load(AT(t, 1, 1)));
}

static void reader_overwrites_input(void)
{
    struct buffer *const w = STATE("w", 6), *const t = TEMP("t", 6);
    store(loops(EXTENTS(6)), AT(t, 0, 1), mul(load(AT(w, 0, 1)), number(2)));
    store(loops(EXTENTS(6)), AT(w, 5, -1), load(AT(t, 0, 1)));
}

static void reader_updates_input(void)
{
    struct buffer *const w = STATE("w", 6), *const t = TEMP("t", 6);
    store(loops(EXTENTS(6)), AT(t, 0, 1), mul(load(AT(w, 0, 1)), number(2)));
    store(loops(EXTENTS(6)), AT(w, 0, 1), add(load(AT(t, 0, 1)), load(AT(w, 0, 1))));
}

/* ---- consumers into epilogues ----------------------------------------------------------------------------------- */

/* sum over j of x[i,j], 4 x 5 */
static struct kernel *row_sums(void)
{
    struct buffer *const x = INPUT("x", 20);
    struct kernel *const k = loops(EXTENTS(4, 5));
    sum(k, 1, load(AT(x, 0, 5, 1)));
    return k;
}

static void sum_is_finished(void)
{
    struct buffer *const t = TEMP("t", 4);
    store(row_sums(), AT(t, 0, 1), result());
    store(loops(EXTENTS(4)), AT(STATE("v", 4), 0, 1), mul(load(AT(t, 0, 1)), number(3)));
}

static void sum_is_read_backwards(void)
{
    struct buffer *const t = TEMP("t", 4);
    store(row_sums(), AT(t, 0, 1), result());
    store(loops(EXTENTS(4)), AT(STATE("v", 4), 0, 1), mul(load(AT(t, 3, -1)), number(3)));
}

/* The kernel stores two values in one buffer; the reader wants the second. */
static void second_half_is_read(void)
{
    struct buffer *const t = TEMP("t", 8);
    struct kernel *const k = row_sums();
    store(k, AT(t, 0, 1), result());
    store(k, AT(t, 4, 1), mul(result(), number(2)));
    store(loops(EXTENTS(4)), AT(STATE("v", 4), 0, 1), load(AT(t, 4, 1)));
}

/* ... or every second of both. */
static void every_second_is_read(void)
{
    struct buffer *const t = TEMP("t", 8);
    struct kernel *const k = row_sums();
    store(k, AT(t, 0, 1), result());
    store(k, AT(t, 4, 1), mul(result(), number(2)));
    store(loops(EXTENTS(4)), AT(STATE("v", 4), 0, 1), load(AT(t, 0, 2)));
}

static void sum_updates_state(void)
{
    struct buffer *const t = TEMP("t", 4), *const v = STATE("v", 4);
    store(row_sums(), AT(t, 0, 1), result());
    store(loops(EXTENTS(4)), AT(v, 0, 1), add(load(AT(v, 0, 1)), load(AT(t, 0, 1))));
}

/* What is written for one row is read for the next. */
static void next_row_reads_what_is_written(void)
{
    struct buffer *const t = TEMP("t", 4), *const v = STATE("v", 5);
    store(row_sums(), AT(t, 0, 1), add(result(), load(AT(v, 0, 1))));
    store(loops(EXTENTS(4)), AT(v, 1, 1), mul(load(AT(t, 0, 1)), number(3)));
}

static void sum_reads_what_is_written(void)
{
    struct buffer *const t = TEMP("t", 4), *const v = STATE("v", 20);
    struct kernel *const k = loops(EXTENTS(4, 5));
    sum(k, 1, load(AT(v, 0, 1, 4)));
    store(k, AT(t, 0, 1), result());
    store(loops(EXTENTS(4)), AT(v, 1, 4), mul(load(AT(t, 0, 1)), number(3)));
}

static void state_changes_between(void)
{
    struct buffer *const t = TEMP("t", 4), *const s = STATE("s", 4), *const v = STATE("v", 4);
    store(row_sums(), AT(t, 0, 1), add(result(), load(AT(v, 0, 1))));
    /* reads what the last one writes, writes what the first one reads */
    store(loops(EXTENTS(3)), AT(v, 0, 1), load(AT(s, 1, 1)));
    store(loops(EXTENTS(4)), AT(s, 0, 1), load(AT(t, 0, 1)));
}

/* sum over k of x[i,j,k] for 3 x 4 of them, read by columns */
static void read_by_columns(int64_t to_row, int64_t to_column)
{
    struct buffer *const x = INPUT("x", 60), *const t = TEMP("t", 12);
    struct kernel *const k = loops(EXTENTS(3, 4, 5));
    sum(k, 2, load(AT(x, 0, 20, 5, 1)));
    store(k, AT(t, 0, 4, 1), result());
    store(loops(EXTENTS(4, 3)), AT(STATE("v", 12), 0, to_row, to_column), mul(load(AT(t, 0, 1, 4)), number(3)));
}

static void other_order_keeps_rows(void)
{
    read_by_columns(1, 4);
}

static void other_order_breaks_rows(void)
{
    read_by_columns(3, 1);
}

/* ---- updates of the matrix into the product that reads it -------------------------------------------------------- */

enum { ROWS = 64, COLUMNS = 128 }; /* large enough to be worth it */

struct update {
    struct buffer *w, *x, *dy, *dx;
};

static struct update update_of(int64_t count)
{
    return (struct update){STATE("w", count), INPUT("x", COLUMNS), INPUT("dy", ROWS), STATE("dx", ROWS)};
}

static void multiply(const struct update *u, const struct expr *finish)
{
    (void)matrix_vector(ROWS, COLUMNS, AT(u->w, 0), AT(u->x, 0), AT(u->dx, 0, 1), finish);
}

/* w[i,j] = w[i,j] + change */
static void change_matrix(const struct update *u, const struct expr *change)
{
    store(loops(EXTENTS(ROWS, COLUMNS)), AT(u->w, 0, COLUMNS, 1), add(load(AT(u->w, 0, COLUMNS, 1)), change));
}

static const struct expr *outer_product(const struct update *u)
{
    return mul(load(AT(u->dy, 0, 1)), load(AT(u->x, 0, 0, 1)));
}

static void matrix_is_updated(void)
{
    const struct update u = update_of(ROWS * COLUMNS);
    multiply(&u, result());
    change_matrix(&u, outer_product(&u));
}

/* Walked as one loop, which is cut. */
static void matrix_is_updated_in_one_loop(void)
{
    const struct update u = update_of(ROWS * COLUMNS);
    multiply(&u, result());
    store(loops(EXTENTS(ROWS * COLUMNS)), AT(u.w, 0, 1), mul(load(AT(u.w, 0, 1)), number(3)));
}

static void matrix_is_small(void)
{
    struct buffer *const w = STATE("w", 12), *const x = INPUT("x", 4), *const dx = STATE("dx", 3);
    (void)matrix_vector(3, 4, AT(w, 0), AT(x, 0), AT(dx, 0, 1), result());
    store(loops(EXTENTS(3, 4)), AT(w, 0, 4, 1), add(load(AT(w, 0, 4, 1)), load(AT(x, 0, 0, 1))));
}

/* A row behind the matrix, in the same buffer. */
static void update_reads_elsewhere(void)
{
    const struct update u = update_of((ROWS + 1) * COLUMNS);
    multiply(&u, result());
    change_matrix(&u, load(AT(u.w, (int64_t)ROWS * COLUMNS, 0, 1)));
}

static void update_reads_product(void)
{
    const struct update u = update_of(ROWS * COLUMNS);
    multiply(&u, result());
    change_matrix(&u, load(AT(u.dx, 0, 1)));
}

static void finish_reads_matrix(void)
{
    const struct update u = update_of(ROWS * COLUMNS);
    multiply(&u, add(result(), load(AT(u.w, 3, COLUMNS))));
    change_matrix(&u, outer_product(&u));
}

static void vector_is_in_matrix(void)
{
    const struct update u = update_of(ROWS * COLUMNS);
    (void)matrix_vector(ROWS, COLUMNS, AT(u.w, 0), AT(u.w, 0), AT(u.dx, 0, 1), result());
    change_matrix(&u, outer_product(&u));
}

static void other_elements_are_updated(void)
{
    const struct update u = update_of((ROWS + 1) * COLUMNS);
    multiply(&u, result());
    store(loops(EXTENTS(ROWS, COLUMNS)), AT(u.w, COLUMNS, COLUMNS, 1), outer_product(&u));
}

static void update_writes_vector(void)
{
    const struct update u = update_of(ROWS * COLUMNS);
    struct buffer *const s = STATE("s", ROWS * COLUMNS);
    (void)matrix_vector(ROWS, COLUMNS, AT(u.w, 0), AT(s, 0), AT(u.dx, 0, 1), result());
    change_matrix(&u, outer_product(&u));
    store(lowered.kernels.data[1], AT(s, 0, COLUMNS, 1), load(AT(u.dy, 0, 1)));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* s[i] = sum over j of x[i,j]; v[i,j] = x[i,j] + s[from + step i], 6 rows of 20 */
static void share_rows(int64_t from, int64_t step)
{
    struct buffer *const x = INPUT("x", 120), *const s = TEMP("s", 6);
    struct kernel *const k = loops(EXTENTS(6, 20));
    sum(k, 1, load(AT(x, 0, 20, 1)));
    store(k, AT(s, 0, 1), result());
    store(loops(EXTENTS(6, 20)), AT(STATE("v", 120), 0, 20, 1), add(load(AT(x, 0, 20, 1)), load(AT(s, from, step, 0))));
}

static void rows_are_shared(void)
{
    share_rows(0, 1);
}

static void another_row_is_read(void)
{
    share_rows(5, -1);
}

static void all_read_the_last_row(void)
{
    share_rows(5, 0);
}

/* ---- sums of rows into the product that reads the matrix --------------------------------------------------------- */

struct operands {
    struct buffer *a, *b, *c, *s; /* 6 x 4 (a is 4 x 6 as the product sees it), 6 x 5, 4 x 5, 4 */
};

static struct operands operands(void)
{
    return (struct operands){INPUT("a", 24), INPUT("b", 30), STATE("c", 20), STATE("s", 4)};
}

static void multiply_turned(const struct operands *o, const struct expr *finish)
{
    (void)turned_product(4, 5, 6, AT(o->a, 0), AT(o->b, 0), AT(o->c, 0, 5, 1), finish);
}

/* s[m] = value of the sum over `terms` k of a[k,m], from element `from` on */
static void sum_of_rows(const struct operands *o, int64_t from, int64_t terms, const struct expr *value)
{
    struct kernel *const k = loops(EXTENTS(terms, 4));
    part_of(k)->reduce = REDUCE_SUM;
    part_of(k)->reduced[0] = true;
    part_of(k)->element = load(AT(o->a, from, 4, 1));
    store(k, AT(o->s, 0, 0, 1), value);
}

static void rows_are_summed(void)
{
    const struct operands o = operands();
    multiply_turned(&o, result());
    sum_of_rows(&o, 0, 6, mul(result(), number(3)));
}

static void rows_are_summed_before(void)
{
    const struct operands o = operands();
    sum_of_rows(&o, 0, 6, result());
    multiply_turned(&o, result());
}

static void sums_of_rows_read_the_product(void)
{
    const struct operands o = operands();
    multiply_turned(&o, result());
    sum_of_rows(&o, 0, 6, add(result(), load(AT(o.c, 2, 0, 5))));
}

static void product_reads_sums_of_rows(void)
{
    const struct operands o = operands();
    sum_of_rows(&o, 0, 6, result());
    multiply_turned(&o, add(result(), load(AT(o.s, 0, 1))));
}

/* A sum over the last axis adds in lanes, the product's in the order of the index: other bits. */
static void rows_are_summed_in_lanes(void)
{
    const struct operands o = operands();
    multiply_turned(&o, result());
    struct kernel *const k = loops(EXTENTS(4, 6));
    sum(k, 1, load(AT(o.a, 0, 1, 4)));
    store(k, AT(o.s, 0, 1), result());
}

static void rows_without_the_last_term_are_summed(void)
{
    const struct operands o = operands();
    multiply_turned(&o, result());
    sum_of_rows(&o, 0, 5, result());
}

static void rows_from_the_second_term_are_summed(void)
{
    struct operands o = operands();
    o.a = INPUT("longer", 28);
    multiply_turned(&o, result());
    sum_of_rows(&o, 4, 6, result());
}

static void other_rows_are_summed(void)
{
    struct operands o = operands();
    multiply_turned(&o, result());
    o.a = INPUT("other", 24);
    sum_of_rows(&o, 0, 6, result());
}

/* ---- two instances of a template with the same operands ---------------------------------------------------------- */

static const struct template_traits like_turned_template = {.name = "like product", .is_product = true};

/* Sums of rows by an instance of their own, on what the product reads. */
static struct kernel *two_instances(void)
{
    struct operands o = operands();
    o.a = INPUT("longer", 28);
    multiply_turned(&o, result());
    struct kernel *const k = turned_product(4, 5, 6, AT(o.a, 0), AT(o.b, 0), AT(o.c, 0), result());
    k->parts.count = 0;
    add_loops(k, EXTENTS(4));
    part_of(k)->hole = "row_sum";
    store(k, AT(o.s, 0, 1), result());
    return k;
}

static void both_are_the_same(void)
{
    (void)two_instances();
}

static void one_is_of_another_template(void)
{
    two_instances()->tmpl.traits = &like_turned_template;
}

static void one_is_of_another_type(void)
{
    two_instances()->tmpl.type = DTYPE_DOUBLE;
}

static void one_has_fewer_terms(void)
{
    kernel_set_int(two_instances(), "K", 5);
}

static void one_has_fewer_rows(void)
{
    kernel_set_int(two_instances(), "M", 3);
}

static void one_has_another_number(void)
{
    kernel_set_int(two_instances(), "LAST", 1);
}

static void one_begins_later(void)
{
    two_instances()->tmpl.operands[0].access.offset = 4;
}

static void one_computes_an_operand(void)
{
    struct kernel *const k = two_instances();
    k->tmpl.operands[1].value = load(AT(k->tmpl.operands[1].access.buffer, 0, 1));
}

static void one_reads_a_third_operand(void)
{
    set_operand(two_instances(), "c", AT(INPUT("third", 4), 0));
}

static void one_has_operands_by_other_names(void)
{
    two_instances()->tmpl.operands[1].param = "other";
}

static void one_has_an_outer_loop(void)
{
    struct kernel *const k = two_instances();
    k->outer_rank = 1;
    k->outer_extent[0] = 1;
}

static void outer_loops_of(int64_t first, int64_t second)
{
    struct kernel *const k = two_instances(), *const product = lowered.kernels.data[0];
    k->outer_rank = product->outer_rank = 1;
    product->outer_extent[0] = first;
    k->outer_extent[0] = second;
}

static void both_have_an_outer_loop(void)
{
    outer_loops_of(3, 3);
}

static void one_has_a_longer_outer_loop(void)
{
    outer_loops_of(3, 4);
}

static void both_give_the_same_result(void)
{
    const struct operands o = operands();
    multiply_turned(&o, result());
    multiply_turned(&o, mul(result(), number(2)));
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static const struct fuse_case cases[] = {
    CASE(read_in_place, 1),
    CASE(read_turned, 1),
    CASE(square_is_read_turned, 1),
    CASE(read_backwards, 1),
    CASE(read_one_row, 1),
    CASE(read_flat, 1),
    CASE(read_diagonally, 2),
    CASE(read_next, 2),
    CASE(read_previous, 2),
    CASE(index_is_moved, 1),
    CASE(input_changes_before_reader, 3),
    CASE(reader_overwrites_input, 2),
    CASE(reader_updates_input, 1),
    CASE(sum_is_finished, 1),
    CASE(sum_is_read_backwards, 2),
    CASE(second_half_is_read, 2),
    CASE(every_second_is_read, 2),
    CASE(sum_updates_state, 1),
    CASE(next_row_reads_what_is_written, 2),
    CASE(sum_reads_what_is_written, 2),
    CASE(state_changes_between, 3),
    CASE(other_order_keeps_rows, 1),
    CASE(other_order_breaks_rows, 2),
    CASE(matrix_is_updated, 1),
    CASE(matrix_is_updated_in_one_loop, 1),
    CASE(matrix_is_small, 2),
    CASE(update_reads_elsewhere, 2),
    CASE(update_reads_product, 2),
    CASE(finish_reads_matrix, 2),
    CASE(vector_is_in_matrix, 2),
    CASE(other_elements_are_updated, 2),
    CASE(update_writes_vector, 2),
    CASE(rows_are_shared, 1),
    CASE(another_row_is_read, 2),
    CASE(all_read_the_last_row, 2),
    CASE(rows_are_summed, 1),
    CASE(rows_are_summed_before, 1),
    CASE(sums_of_rows_read_the_product, 2),
    CASE(product_reads_sums_of_rows, 2),
    CASE(rows_are_summed_in_lanes, 2),
    CASE(rows_without_the_last_term_are_summed, 2),
    CASE(rows_from_the_second_term_are_summed, 2),
    CASE(other_rows_are_summed, 2),
    CASE(both_are_the_same, 1),
    CASE(one_is_of_another_template, 2),
    CASE(one_is_of_another_type, 2),
    CASE(one_has_fewer_terms, 2),
    CASE(one_has_fewer_rows, 2),
    CASE(one_has_another_number, 2),
    CASE(one_begins_later, 2),
    CASE(one_computes_an_operand, 2),
    CASE(one_reads_a_third_operand, 2),
    CASE(one_has_operands_by_other_names, 2),
    CASE(one_has_an_outer_loop, 2),
    CASE(both_have_an_outer_loop, 1),
    CASE(one_has_a_longer_outer_loop, 2),
    CASE(both_give_the_same_result, 2),
};

START_TEST(results_stay)
{
    run_case(&cases[_i]);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, results_stay, 0, (int)(sizeof cases / sizeof *cases));
    return run_tests("fuse_rules", tests);
}
