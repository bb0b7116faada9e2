/* Which numbers of kernels may be known late: three programs are made by hand, as for counts of 8, 9 and 10. */
#include "fuse/fuse.h"
#include "kernels.h"
#include "lower/product.h"
#include "suite.h"

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
    {{12, 11, 10}, 8, 1, 1, false, {20, -1}}, /* for fewer: more */
    {{12, 13, 14}, 8, -1, 1, false, {20, -1}},
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
    {{1.0f / 8, 1.0f / 11, 1.0f / 10}, {4, 4, 4}, {4, 4, 4}, "a factor is 0.125, 0.0909090936, 0.1", 0, 0, 0},
    {{1.0f / 8, 1.0f / 9, 1.0f / 11}, {4, 4, 4}, {4, 4, 4}, "for 8, 9, 10", 0, 0, 0},
    {{8, 10, 10}, {4, 4, 4}, {4, 4, 4}, "a factor is 8", 0, 0, 0},
    {{8, 9, 11}, {4, 4, 4}, {4, 4, 4}, "a factor is 8", 0, 0, 0},
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

/* ---- what differs in one of the three --------------------------------------------------------------------------- */

static const char *const late_ints[] = {"M", NULL}, *const most_ints[] = {"TERMS", NULL};
static const struct template_traits product_template = {.name = "product", .late = late_ints, .late_most = most_ints},
                                    other_template = {.name = "other", .late = late_ints, .late_most = most_ints};

static const struct expr *whole(int64_t x)
{
    return expr_int(&arena, DTYPE_INT64, x);
}

/* Kernel 0: y[i, j] = x[i, table[j] as an index of 4] * c[j] + i, with a check of labels; kernel 1: a template. */
static struct lowered *program_for(int64_t count)
{
    struct lowered *const l = made_for(count, 4, 4, number(3));
    struct kernel *const k = l->kernels.data[0];
    lowered = *l;
    struct buffer *const labels = buffer(BUFFER_INPUT, "labels", count), *const c = buffer(BUFFER_CONSTANT, "c", 4),
                  *const z = buffer(BUFFER_OUTPUT, "z", count * 5);
    struct tensor *const t = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(4));
    tensor_set_double(t, 1, 2.5);
    c->constant = t;
    struct access of_x = AT(l->buffers.data[0], 0, 4, 0);
    of_x.term_count = 1;
    of_x.term[0] = (struct access_term){.index = load(AT(labels, 0, 1)), .stride = 1, .extent = 4};
    k->parts.data[0].stores.data[0].value = add(mul(load(of_x), load(AT(c, 0, 0, 1))), mul(number(2), number(5)));
    const struct check check = {.rank = 1, .extent = {count}, .value = add(load(AT(labels, 0, 1)), whole(1)), .high = 4,
                                .status = "STEPC_E_LABEL"};
    vec_push(&arena, &k->checks, check);
    struct kernel *const product = new_kernel("product");
    kernel_bind_template(&arena, product, &product_template, DTYPE_FLOAT);
    kernel_set_int(product, "M", count);
    kernel_set_int(product, "TERMS", count);
    kernel_set_int(product, "N", 5);
    set_operand(product, "a", AT(l->buffers.data[0], 0));
    add_loops(product, EXTENTS(count, 5));
    part_of(product)->hole = "finish";
    store(product, AT(z, 0, 5, 1), result());
    *l = lowered;
    return l;
}

static struct kernel *kernel_of(struct lowered *l, int i)
{
    return l->kernels.data[i];
}

static struct part *loops_of(struct lowered *l)
{
    return &kernel_of(l, 0)->parts.data[0];
}

/* store 0's value: x * c + 2 * 5 */
static struct expr *value_of_loops(struct lowered *l)
{
    return (struct expr *)(uintptr_t)loops_of(l)->stores.data[0].value;
}

static struct access *access_of(struct lowered *l)
{
    return (struct access *)(uintptr_t)value_of_loops(l)->arg[0]->arg[0]->access;
}

static struct check *check_of(struct lowered *l)
{
    return &kernel_of(l, 0)->checks.data[0];
}

static struct kernel_template *template_of(struct lowered *l)
{
    return &kernel_of(l, 1)->tmpl;
}

#define CHANGE(name, ...)                                                                                              \
    static void name(struct lowered *l)                                                                                \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }
CHANGE(has_one_kernel_less, l->kernels.count--)
CHANGE(has_another_label, kernel_of(l, 0)->label = "other")
CHANGE(is_removed, kernel_of(l, 0)->removed = true)
CHANGE(has_rows, kernel_of(l, 0)->rows = 1)
CHANGE(has_outer_loops, kernel_of(l, 0)->outer_rank = 1)
CHANGE(has_no_check, kernel_of(l, 0)->checks.count = 0)
CHANGE(has_no_part, kernel_of(l, 0)->parts.count = 0)
CHANGE(has_blocks, kernel_of(l, 0)->kind = KERNEL_STAGES)
CHANGE(has_another_rank, loops_of(l)->rank = 3)
CHANGE(has_lanes, loops_of(l)->lane_loops = 1)
CHANGE(is_a_sum, loops_of(l)->reduce = REDUCE_SUM)
CHANGE(is_a_scan, loops_of(l)->scan = SCAN_WITH)
CHANGE(has_a_reduced_loop, loops_of(l)->reduced[1] = true)
CHANGE(has_a_hole, loops_of(l)->hole = "finish")
CHANGE(has_no_store, loops_of(l)->stores.count = 0)
CHANGE(has_another_extent, loops_of(l)->extent[0] += 1)
CHANGE(stores_elsewhere, loops_of(l)->stores.data[0].to.offset = 1)
CHANGE(stores_apart, loops_of(l)->stores.data[0].to.stride[1] = 2)
CHANGE(stores_in_another_buffer, loops_of(l)->stores.data[0].to.buffer = l->buffers.data[0])
CHANGE(subtracts, value_of_loops(l)->op = EXPR_SUB)
CHANGE(is_double, value_of_loops(l)->dtype = DTYPE_DOUBLE)
CHANGE(adds_another_number, ((struct expr *)(uintptr_t)value_of_loops(l)->arg[1]->arg[1])->f = 6)
CHANGE(reads_elsewhere, access_of(l)->offset = 2)
CHANGE(reads_apart, access_of(l)->stride[0] = 5)
CHANGE(has_no_index, access_of(l)->term_count = 0)
CHANGE(has_an_index_apart, access_of(l)->term[0].stride = 2)
CHANGE(has_an_index_of_more, access_of(l)->term[0].extent = 5)
CHANGE(has_another_index, access_of(l)->term[0].index = whole(1))
CHANGE(has_another_kind, l->buffers.data[0]->kind = BUFFER_TEMP)
CHANGE(has_another_type, l->buffers.data[0]->dtype = DTYPE_DOUBLE)
CHANGE(has_another_constant, tensor_set_double((struct tensor *)(uintptr_t)l->buffers.data[3]->constant, 3, 1))
CHANGE(checks_from_1, check_of(l)->low = 1)
CHANGE(checks_to_5, check_of(l)->high = 5)
CHANGE(checks_but_for_one, check_of(l)->has_except = true)
CHANGE(checks_but_for_7, check_of(l)->except = 7)
CHANGE(has_another_status, check_of(l)->status = "STEPC_E_INDEX")
CHANGE(checks_another_number, ((struct expr *)(uintptr_t)check_of(l)->value->arg[1])->i = 2)
CHANGE(checks_more, check_of(l)->extent[0] += 1)
CHANGE(is_another_template, template_of(l)->traits = &other_template)
CHANGE(is_of_double, template_of(l)->type = DTYPE_DOUBLE)
CHANGE(has_no_operand, template_of(l)->operand_count = 0)
CHANGE(has_another_operand, template_of(l)->operands[0].param = "b")
CHANGE(has_planes, template_of(l)->operands[0].rank = 1)
CHANGE(has_a_prologue, template_of(l)->operands[0].value = number(1))
CHANGE(has_an_operand_elsewhere, template_of(l)->operands[0].access.offset = 3)
CHANGE(has_an_integer_less, template_of(l)->int_count = 2)
CHANGE(has_another_integer, template_of(l)->ints[0].name = "K")
CHANGE(has_more_columns, template_of(l)->ints[2].value = 6)
CHANGE(has_more_rows, template_of(l)->ints[0].value += 1)

static const struct {
    void (*change)(struct lowered *l);
    const char *refusal;
} changes[] = {
    {has_one_kernel_less, "the kernels differ from count to count"},
    {has_another_label, "what is fused into its kernel differs"},
    {is_removed, "what is fused into its kernel differs"},
    {has_rows, "what is fused into its kernel differs"},
    {has_outer_loops, "what is fused into its kernel differs"},
    {has_no_check, "what is fused into its kernel differs"},
    {has_no_part, "what is fused into its kernel differs"},
    {has_blocks, "what is fused into its kernel differs"},
    {has_another_rank, "its loops differ"},
    {has_lanes, "its loops differ"},
    {is_a_sum, "its loops differ"},
    {is_a_scan, "its loops differ"},
    {has_a_reduced_loop, "its loops differ"},
    {has_a_hole, "its loops differ"},
    {has_no_store, "its loops differ"},
    {has_another_extent, "a size is 8, "},
    {stores_elsewhere, "where elements of 'y' lie"},
    {stores_apart, "where elements of 'y' lie"},
    {stores_in_another_buffer, "what is read or written differs"},
    {subtracts, "what is computed differs"},
    {is_double, "what is computed differs"},
    {adds_another_number, "a factor is 5"},
    {reads_elsewhere, "where elements of 'x' lie"},
    {reads_apart, "where elements of 'x' lie"},
    {has_no_index, "where elements of 'x' lie"},
    {has_an_index_apart, "the range of an index into 'x'"},
    {has_an_index_of_more, "the range of an index into 'x'"},
    {has_another_index, "what is computed differs"},
    {has_another_kind, "what is read or written differs"},
    {has_another_type, "what is read or written differs"},
    {has_another_constant, "the elements of the constant 'c'"},
    {checks_from_1, "the range of an index depends on it"},
    {checks_to_5, "the range of an index depends on it"},
    {checks_but_for_one, "the range of an index depends on it"},
    {checks_but_for_7, "the range of an index depends on it"},
    {has_another_status, "the range of an index depends on it"},
    {checks_another_number, "what is computed differs"},
    {checks_more, "a size is 8, "},
    {is_another_template, "another form of its kernel"},
    {is_of_double, "another form of its kernel"},
    {has_no_operand, "another form of its kernel"},
    {has_another_operand, "another form of its kernel"},
    {has_planes, "another form of its kernel"},
    {has_a_prologue, "what is computed differs"},
    {has_an_operand_elsewhere, "where elements of 'x' lie"},
    {has_an_integer_less, "another form of its kernel"},
    {has_another_integer, "another form of its kernel"},
    {has_more_columns, "the size N of template 'product' depends on it"},
    {has_more_rows, "the size M of template 'product' depends on it"},
};

/* Whichever of the two others differs. */
START_TEST(what_differs_is_refused)
{
    const int changed = 1 + _i % 2, which = _i / 2;
    struct lowered *probe[3];
    for (int i = 0; i < 3; i++)
        probe[i] = program_for(8 + i);
    diag = (struct diag){.arena = &arena};
    changes[which].change(probe[changed]);
    ck_assert(!late_kernels(&diag, probe, &range, 1));
    ck_assert_msg(strstr(diag.messages.data[0].text, changes[which].refusal) != NULL, "%s: %s",
                  changes[which].refusal, diag.messages.data[0].text);
}
END_TEST

START_TEST(what_does_not_differ_is_taken)
{
    struct lowered *probe[3];
    for (int i = 0; i < 3; i++)
        probe[i] = program_for(8 + i);
    ck_assert(late_kernels(&diag, probe, &range, 1));
    const struct kernel *const k = probe[0]->kernels.data[0], *const product = probe[0]->kernels.data[1];
    ck_assert(k->parts.data[0].late[0].per == 1 && k->checks.data[0].late[0].per == 1);
    ck_assert(product->tmpl.ints[0].late.per == 1 && product->tmpl.ints[0].late.base == 0);
    ck_assert_msg(!is_late(&product->tmpl.ints[1].late), "its most serves");
    ck_assert(!is_late(&product->tmpl.ints[2].late));
}
END_TEST

/* ---- steps of products ------------------------------------------------------------------------------------------- */

static const struct {
    enum product_form form;
    bool swapped;
    const char *depends, *refused; /* one of its integers, and what that is called in the form of small tiles */
} step_cases[] = {
    {PRODUCT_DIRECT, false, "A_ROW", "A_ROW"},      {PRODUCT_PACKED, false, "A_ROW", "A_ROW"},
    {PRODUCT_NARROW, false, "A_ROW", "A_ROW"},      {PRODUCT_FEW, false, "A_ROW", "A_ROW"},
    {PRODUCT_BLOCKED, false, "A_COL", "A_COL"},     {PRODUCT_TRANSPOSED, false, "B_COL", "B_COL"},
    {PRODUCT_NARROW, false, "B_ROW", "B_ROW"},      {PRODUCT_NARROW, false, "N", "N"},
    {PRODUCT_VECTOR, false, "ROW_STEP", "A_ROW"},   {PRODUCT_VECTOR, false, "COL_STEP", "A_COL"},
    {PRODUCT_VECTOR, false, "VECTOR_STEP", "B_ROW"}, {PRODUCT_VECTOR, true, "ROW_STEP", "B_COL"},
    {PRODUCT_VECTOR, true, "COL_STEP", "B_ROW"},    {PRODUCT_VECTOR, true, "VECTOR_STEP", "A_COL"},
    {PRODUCT_NARROW, false, "M", NULL},             {PRODUCT_NARROW, false, "K", NULL},
};

/* Of rows 0 and n - 1, say, which lie n - 1 rows apart. */
static struct lowered *product_for(int64_t count, enum product_form form, bool swapped, const char *depends)
{
    struct lowered *const l = made_for(count, 4, 4, number(3));
    lowered = *l;
    struct kernel *const k = of_template(&product_templates[form]);
    const bool vector = form == PRODUCT_VECTOR;
    kernel_set_int(k, "M", swapped ? 1 : 3);
    kernel_set_int(k, "N", vector && !swapped ? 1 : 5);
    kernel_set_int(k, "K", 4);
    kernel_set_int(k, "TERMS", 4);
    kernel_set_int(k, "SWAPPED", swapped);
    static const char *const steps[] = {"A_ROW", "A_COL", "B_ROW", "B_COL"},
                      *const vector_steps[] = {"ROW_STEP", "COL_STEP", "VECTOR_STEP"};
    for (int i = 0; i < (vector ? 3 : 4); i++)
        kernel_set_int(k, vector ? vector_steps[i] : steps[i], 1);
    kernel_set_int(k, depends, 4 * count - 4);
    set_operand(k, vector ? "matrix" : "a", AT(l->buffers.data[0], 0));
    set_operand(k, vector ? "vector" : "b", AT(l->buffers.data[0], 0));
    *l = lowered;
    return l;
}

START_TEST(steps_that_depend_on_the_count_are_refused)
{
    struct lowered *probe[3];
    const struct size_range from_2 = {"batch", 2, 8};
    for (int i = 0; i < 3; i++)
        probe[i] = product_for(8 + i, step_cases[_i].form, step_cases[_i].swapped, step_cases[_i].depends);
    diag = (struct diag){.arena = &arena};
    const bool ok = late_kernels(&diag, probe, &from_2, 1);
    ck_assert(ok == !step_cases[_i].refused);
    if (!ok)
        ck_assert_ptr_nonnull(strstr(diag.messages.data[0].text,
                                     arena_printf(&arena, "the size %s of template", step_cases[_i].refused)));
}
END_TEST

/* One row lies behind no other. */
START_TEST(a_step_that_nobody_takes_is_none)
{
    struct lowered *probe[3];
    for (int i = 0; i < 3; i++) {
        probe[i] = product_for(8 + i, PRODUCT_VECTOR, false, "ROW_STEP");
        kernel_set_int(probe[i]->kernels.data[1], "M", 1);
    }
    diag = (struct diag){.arena = &arena};
    ck_assert(late_kernels(&diag, probe, &range, 1));
}
END_TEST

/* ---- factors ----------------------------------------------------------------------------------------------------- */

START_TEST(factors_are_rounded_once)
{
    struct late_factor f;
    const double thirds[] = {1.0f / 24, 1.0f / 27, 1.0f / 30}, below[] = {24, 21, 18};
    ck_assert(late_factor_of(DTYPE_FLOAT, thirds, &range, 1, &f));
    ck_assert(f.numerator == 1 && f.per == 3);
    ck_assert_double_eq(late_factor_at(&f, DTYPE_FLOAT, 7), 1.0f / 21);
    ck_assert(!late_factor_of(DTYPE_FLOAT, thirds, &range, -1, &f));
    ck_assert(!late_factor_of(DTYPE_INT64, below, &range, -1, &f));
    ck_assert(late_factor_of(DTYPE_DOUBLE, below, &range, -1, &f));
    ck_assert_double_eq(late_factor_at(&f, DTYPE_DOUBLE, 5), 15);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, sizes_are_found, 0, (int)COUNT(size_cases));
    tcase_add_loop_test(tests, kernels_are_compared, 0, (int)COUNT(kernel_cases));
    tcase_add_loop_test(tests, what_differs_is_refused, 0, 2 * (int)COUNT(changes));
    tcase_add_test(tests, what_does_not_differ_is_taken);
    tcase_add_loop_test(tests, steps_that_depend_on_the_count_are_refused, 0, (int)COUNT(step_cases));
    tcase_add_test(tests, a_step_that_nobody_takes_is_none);
    tcase_add_test(tests, factors_are_rounded_once);
    tcase_add_test(tests, order_does_not_depend_on_the_count);
    return run_tests("fuse_late", tests);
}
