/* Which numbers of kernels may be known late: three programs are made by hand, as for counts of 8, 9 and 10. */
#include "fuse/fuse.h"
#include "kernels.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct size_range range = {"batch", 1, 8};
static struct graph graph;

static const struct {
    int64_t x[3], n, step, low;
    bool ok;
    struct late_size size;
} size_cases[] = {
    {{5, 5, 5}, 8, 1, 1, true, {0, 0}},
    {{8, 9, 10}, 8, 1, 1, true, {0, 1}},
    {{8, 7, 6}, 8, -1, 1, true, {0, 1}},
    {{80, 90, 100}, 8, 1, 1, true, {0, 10}},
    {{27, 30, 33}, 8, 1, 1, true, {3, 3}},
    {{13, 15, 17}, 8, 1, 2, true, {-3, 2}},
    {{13, 15, 17}, 8, 1, 1, false, {-3, 2}}, /* for 1: none */
    {{64, 81, 100}, 8, 1, 1, false, {-72, 17}},
    {{8, 8, 16}, 8, 1, 1, false, {0, 0}},
};

START_TEST(sizes_are_found)
{
    struct late_size size;
    ck_assert(late_size_of(size_cases[_i].x, size_cases[_i].n, size_cases[_i].step, size_cases[_i].low, &size) ==
              size_cases[_i].ok);
    if (size_cases[_i].ok)
        ck_assert(size.base == size_cases[_i].size.base && size.per == size_cases[_i].size.per);
}
END_TEST

/* y[i, j] = x[i, j] * factor[count] over count rows of `width`, which lie `row` apart. */
static struct lowered *made_for(int64_t count, int64_t width, int64_t row, const struct expr *factor)
{
    struct lowered *const l = arena_new(&arena, struct lowered);
    begin();
    struct buffer *const x = buffer(BUFFER_INPUT, "x", count * 4), *const y = buffer(BUFFER_OUTPUT, "y", count * 4);
    struct kernel *const k = loops(EXTENTS(count, width));
    store(k, AT(y, 0, row, 1), mul(load(AT(x, 0, row, 1)), factor));
    static struct entry entry = {.name = "test", .graph = &graph};
    lowered.entry = &entry;
    *l = lowered;
    return l;
}

static const struct {
    double factor[3];
    int64_t width[3], row[3];
    const char *refusal; /* NULL: there is none */
    enum expr_op becomes;
    double numerator;
    int64_t per; /* of the count */
} kernel_cases[] = {
    {{3, 3, 3}, {4, 4, 4}, {4, 4, 4}, NULL, EXPR_FLOAT, 0, 0},
    {{8, 9, 10}, {4, 4, 4}, {4, 4, 4}, NULL, EXPR_CAST, 0, 1},
    {{24, 27, 30}, {4, 4, 4}, {4, 4, 4}, NULL, EXPR_CAST, 0, 3},
    {{1.0f / 8, 1.0f / 9, 1.0f / 10}, {4, 4, 4}, {4, 4, 4}, NULL, EXPR_DIV, 1, 1},
    {{-2.0f / 24, -2.0f / 27, -2.0f / 30}, {4, 4, 4}, {4, 4, 4}, NULL, EXPR_DIV, -2, 3},
    {{0.7f / 8, 0.7f / 9, 0.7f / 10}, {4, 4, 4}, {4, 4, 4}, "a factor is", 0, 0, 0},
    {{64, 81, 100}, {4, 4, 4}, {4, 4, 4}, "a factor is 64", 0, 0, 0},
    {{3, 3, 3}, {4, 4, 4}, {8, 9, 10}, "where elements of 'y' lie depends on it", 0, 0, 0},
    {{3, 3, 3}, {4, 4, 8}, {4, 4, 4}, "a size is 4, 4, 8 for 8, 9, 10", 0, 0, 0},
};

static void check_factor(const struct expr *e, int i)
{
    ck_assert_int_eq(e->op, kernel_cases[i].becomes);
    const struct expr *const count = e->op == EXPR_DIV ? e->arg[1]->arg[0] : e->op == EXPR_CAST ? e->arg[0] : NULL;
    ck_assert(!count || (count->op == EXPR_COUNT && count->i == kernel_cases[i].per));
    ck_assert(e->op != EXPR_DIV || e->arg[0]->f == kernel_cases[i].numerator);
}

START_TEST(kernels_are_compared)
{
    struct lowered *probe[3];
    for (int i = 0; i < 3; i++)
        probe[i] = made_for(8 + i, kernel_cases[_i].width[i], kernel_cases[_i].row[i],
                            number(kernel_cases[_i].factor[i]));
    const bool ok = late_kernels(&diag, probe, &range, 1);
    ck_assert(ok == !kernel_cases[_i].refusal);
    if (!ok) {
        ck_assert_uint_eq(diag.errors, 1);
        ck_assert_ptr_nonnull(strstr(diag.messages.data[0].text, kernel_cases[_i].refusal));
        return;
    }
    const struct kernel *const k = probe[0]->kernels.data[0];
    ck_assert(kernel_is_late(k));
    ck_assert(k->parts.data[0].late[0].per == 1 && k->parts.data[0].late[1].per == 0);
    ck_assert_int_eq(probe[0]->buffers.data[0]->late.per, 4);
    check_factor(k->parts.data[0].stores.data[0].value->arg[1], _i);
}
END_TEST

/* [5, n] summed over the first axis: for one column its elements would be the last axis, and go to lanes. */
START_TEST(order_does_not_depend_on_the_count)
{
    struct lowered *probe[3];
    for (int i = 0; i < 3; i++) {
        probe[i] = made_for(8 + i, 4, 4, number(1));
        struct part *const p = &probe[i]->kernels.data[0]->parts.data[0];
        struct buffer *const x = probe[i]->buffers.data[0], *const y = probe[i]->buffers.data[1];
        p->extent[0] = 5;
        p->extent[1] = 8 + i;
        p->stores.count = 0;
        sum(probe[i]->kernels.data[0], 2, load(AT(x, 0, 4, 1)));
        p->reduced[0] = true;
        vec_push(&arena, &p->stores, ((struct store){AT(y, 0, 0, 1), result()}));
    }
    ck_assert(!late_kernels(&diag, probe, &range, 1));
    ck_assert_ptr_nonnull(strstr(diag.messages.data[0].text, "the order of the sums would depend on it"));
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, sizes_are_found, 0, (int)COUNT(size_cases));
    tcase_add_loop_test(tests, kernels_are_compared, 0, (int)COUNT(kernel_cases));
    tcase_add_test(tests, order_does_not_depend_on_the_count);
    return run_suite("fuse_late", tests);
}
