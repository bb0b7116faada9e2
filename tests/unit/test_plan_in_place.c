/* Results in the place of an operand that dies, on kernels made by hand: where no element is read after another was
 * written there, and nowhere else. */
#include "kernels.h"
#include "plan/in_place.h"
#include "suite.h"

#define TEMP(name, count) buffer(BUFFER_TEMP, name, count)

static struct buffer *a, *b, *c;
static bool is_output[3];

static void begin_in_place(void)
{
    begin();
    a = TEMP("a", 12);
    b = TEMP("b", 12);
    c = TEMP("c", 12);
    is_output[0] = is_output[1] = is_output[2] = false;
}

/* b[i,j] = f(a), 3 x 4 */
static struct kernel *map_of(const struct expr *value)
{
    struct kernel *const k = loops(EXTENTS(3, 4));
    store(k, AT(b, 0, 4, 1), value);
    return k;
}

static const struct expr *twice(struct access at)
{
    return mul(load(at), number(2));
}

static struct kernel *same_element(void)
{
    return map_of(twice(AT(a, 0, 4, 1)));
}

static struct kernel *two_operands(void)
{
    return map_of(add(load(AT(a, 0, 4, 1)), load(AT(c, 0, 4, 1))));
}

static struct kernel *plain_copy(void)
{
    return map_of(load(AT(a, 0, 4, 1)));
}

static struct kernel *backwards(void)
{
    return map_of(twice(AT(a, 11, -4, -1)));
}

static struct kernel *first_of_row(void)
{
    return map_of(twice(AT(a, 0, 4, 0)));
}

static struct kernel *next_row(void)
{
    return map_of(below(0, 2, load(AT(a, 4, 4, 1)), number(0)));
}

static struct kernel *same_and_next(void)
{
    return map_of(below(0, 2, add(load(AT(a, 0, 4, 1)), load(AT(a, 4, 4, 1))), load(AT(a, 0, 4, 1))));
}

static struct kernel *half_is_written(void)
{
    struct kernel *const k = loops(EXTENTS(6));
    store(k, AT(b, 0, 1), twice(AT(a, 0, 1)));
    return k;
}

static struct kernel *every_second_is_written(void)
{
    struct kernel *const k = loops(EXTENTS(6));
    store(k, AT(b, 0, 2), twice(AT(a, 0, 2)));
    return k;
}

static struct kernel *other_type(void)
{
    struct kernel *const k = same_element();
    b->dtype = DTYPE_DOUBLE;
    return k;
}

static struct kernel *operand_is_output(void)
{
    is_output[0] = true;
    return same_element();
}

static struct kernel *result_is_output(void)
{
    is_output[1] = true;
    return same_element();
}

static struct kernel *operand_is_state(void)
{
    a->kind = BUFFER_VARIABLE;
    return same_element();
}

/* b[i] = a[i] + sum over j of a[j] */
static struct kernel *sum_reads_all(void)
{
    struct kernel *const k = loops(EXTENTS(12, 12));
    sum(k, 1, load(AT(a, 0, 0, 1)));
    store(k, AT(b, 0, 1, 0), add(result(), load(AT(a, 0, 1, 0))));
    return k;
}

/* b[i] = a[i] + sum over j of c[j] */
static struct kernel *sum_reads_others(void)
{
    struct kernel *const k = loops(EXTENTS(12, 12));
    sum(k, 1, load(AT(c, 0, 0, 1)));
    store(k, AT(b, 0, 1, 0), add(result(), load(AT(a, 0, 1, 0))));
    return k;
}

static struct kernel *later_loops_read(void)
{
    struct kernel *const k = same_element();
    add_loops(k, EXTENTS(12));
    store(k, AT(buffer(BUFFER_VARIABLE, "v", 12), 0, 1), load(AT(a, 0, 1)));
    return k;
}

static struct kernel *earlier_loops_read(void)
{
    struct kernel *const k = loops(EXTENTS(12));
    store(k, AT(buffer(BUFFER_VARIABLE, "v", 12), 0, 1), load(AT(a, 11, -1)));
    add_loops(k, EXTENTS(3, 4));
    store(k, AT(b, 0, 4, 1), twice(AT(a, 0, 4, 1)));
    return k;
}

/* Row by row: first v[i,j] = a[from + step i + j], then b[i,j] = 2 a[i,j] */
static struct kernel *rows_read(int64_t from, int64_t step)
{
    struct kernel *const k = loops(EXTENTS(3, 4));
    store(k, AT(buffer(BUFFER_VARIABLE, "v", 12), 0, 4, 1), load(AT(a, from, step, 1)));
    add_loops(k, EXTENTS(3, 4));
    store(k, AT(b, 0, 4, 1), twice(AT(a, 0, 4, 1)));
    k->rows = 1;
    return k;
}

static struct kernel *own_rows_read(void)
{
    return rows_read(0, 4);
}

static struct kernel *other_rows_read(void)
{
    return rows_read(8, -4);
}

static struct kernel *template_reads(void)
{
    return matrix_vector(12, 1, AT(a, 0), AT(c, 0), AT(b, 0, 1), add(result(), load(AT(a, 0, 1))));
}

static struct kernel *check_reads(void)
{
    struct kernel *const k = same_element();
    vec_push(&arena, &k->checks, ((struct check){.rank = 1, .extent = {12}, .value = load(AT(a, 0, 1)), .high = 3,
                                                 .status = "STEPC_E_INDEX"}));
    return k;
}

static const struct {
    const char *name;
    struct kernel *(*make)(void);
    size_t pairs;
} cases[] = {
#define CASE(make, pairs) {#make, make, pairs}
    CASE(same_element, 1),      CASE(two_operands, 2),      CASE(plain_copy, 0),         CASE(backwards, 0),
    CASE(first_of_row, 0),      CASE(next_row, 0),          CASE(same_and_next, 0),      CASE(half_is_written, 0),
    CASE(every_second_is_written, 0), CASE(other_type, 0),  CASE(operand_is_output, 0),  CASE(result_is_output, 0),
    CASE(operand_is_state, 0),  CASE(sum_reads_all, 0),     CASE(sum_reads_others, 1),   CASE(later_loops_read, 0),
    CASE(earlier_loops_read, 1), CASE(own_rows_read, 1),    CASE(other_rows_read, 0),    CASE(template_reads, 0),
    CASE(check_reads, 0),
};

START_TEST(only_what_is_read_before)
{
    const struct kernel *const k = cases[_i].make();
    in_place_list pairs = {0};
    in_place_find(&arena, k, is_output, &pairs);
    ck_assert_msg(pairs.count == cases[_i].pairs, "%s: %zu pairs, expected %zu", cases[_i].name, pairs.count,
                  cases[_i].pairs);
}
END_TEST

START_TEST(one_place_for_one_result)
{
    in_place_list pairs = {0};
    in_place_find(&arena, two_operands(), is_output, &pairs);
    const bool first[] = {true, false}, none[] = {false, false};
    ck_assert_uint_eq(pairs.count, 2);
    ck_assert(!in_place_is_free(&pairs, first, 1));
    ck_assert(in_place_is_free(&pairs, none, 1));
}
END_TEST

START_TEST(one_operand_for_one_place)
{
    in_place_list pairs = {0};
    struct kernel *const k = same_element();
    store(k, AT(c, 0, 4, 1), load(AT(a, 0, 4, 1)));
    in_place_find(&arena, k, is_output, &pairs);
    const bool first[] = {true, false};
    ck_assert_uint_eq(pairs.count, 2);
    ck_assert(!in_place_is_free(&pairs, first, 1));
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin_in_place, end);
    tcase_add_loop_test(tests, only_what_is_read_before, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tests, one_place_for_one_result);
    tcase_add_test(tests, one_operand_for_one_place);
    return run_tests("plan_in_place", tests);
}
