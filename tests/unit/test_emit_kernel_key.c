/* Which kernels share a function: of two that differ in one thing alone, each has its own. */
#include "emit/emit_internal.h"
#include "kernels.h"
#include "lower/product.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { SIZE = 64 };

struct key_case {
    const char *name;
    struct kernel *(*make)(void);        /* the same each time, of buffers of their own */
    void (*change)(struct kernel *k);
    bool differ;
};

static struct part *part(struct kernel *k)
{
    return &k->parts.data[0];
}

static struct access *store_of(struct kernel *k)
{
    return &part(k)->stores.data[0].to;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static struct buffer *x, *z, *y; /* of the kernel that was made last */

/* y[i,j] = (x[i,j] + z[j]) * 2 */
static struct kernel *map_rows(void)
{
    x = buffer(BUFFER_INPUT, "x", SIZE), z = buffer(BUFFER_INPUT, "z", SIZE), y = buffer(BUFFER_OUTPUT, "y", SIZE);
    struct kernel *const k = loops(EXTENTS(4, 8));
    store(k, AT(y, 0, 8, 1), mul(add(load(AT(x, 0, 8, 1)), load(AT(z, 0, 0, 1))), number(2)));
    return k;
}

static struct kernel *sum_rows(void)
{
    struct kernel *const k = map_rows();
    *store_of(k) = AT(y, 0, 1);
    sum(k, 1, load(AT(x, 0, 8, 1)));
    part(k)->stores.data[0].value = result();
    return k;
}

static void set_value(struct kernel *k, const struct expr *value)
{
    part(k)->stores.data[0].value = value;
}

static void nothing(struct kernel *k)
{
    (void)k;
}

static void another_label(struct kernel *k)
{
    k->label = "other";
}

static void a_longer_loop(struct kernel *k)
{
    part(k)->extent[0] = 5;
}

static void a_loop_that_a_call_says(struct kernel *k)
{
    part(k)->late[0] = (struct late_size){.base = 1, .per = 1};
}

static void another_place(struct kernel *k)
{
    store_of(k)->offset = 1;
}

static void another_stride(struct kernel *k)
{
    store_of(k)->stride[0] = 9;
}

static void a_stride_of_another_loop(struct kernel *k)
{
    store_of(k)->stride[1] = 8;
    store_of(k)->stride[0] = 1;
}

static void a_computed_place(struct kernel *k)
{
    store_of(k)->term[store_of(k)->term_count++] = (struct access_term){.index = expr_index(&arena, 0), .stride = 1};
}

static void another_operation(struct kernel *k)
{
    set_value(k, add(add(load(AT(x, 0, 8, 1)), load(AT(z, 0, 0, 1))), number(2)));
}

static void another_number(struct kernel *k)
{
    set_value(k, mul(add(load(AT(x, 0, 8, 1)), load(AT(z, 0, 0, 1))), number(3)));
}

/* Parameters are in the order in which they are read. */
static void operands_exchanged(struct kernel *k)
{
    set_value(k, mul(add(load(AT(z, 0, 8, 1)), load(AT(x, 0, 0, 1))), number(2)));
}

static void another_element(struct kernel *k)
{
    set_value(k, mul(add(load(AT(x, 1, 8, 1)), load(AT(z, 0, 0, 1))), number(2)));
}

static void a_choice(struct kernel *k)
{
    set_value(k, below(0, 4, load(AT(x, 0, 8, 1)), load(AT(z, 0, 0, 1))));
}

static void another_function(struct kernel *k)
{
    set_value(k, expr_math(&arena, EXPR_FN_EXP, load(AT(x, 0, 8, 1))));
}

static void a_store_more(struct kernel *k)
{
    store(k, AT(y, 32, 8, 1), number(1));
}

static void a_part_more(struct kernel *k)
{
    add_loops(k, EXTENTS(4, 8));
    store(k, AT(y, 32, 8, 1), number(1));
}

static void loops_around_all(struct kernel *k)
{
    k->rows = 1;
}

static void shares(struct kernel *k)
{
    k->cut.shares = 2;
}

static void other_bytes(struct kernel *k)
{
    (void)k;
    y->dtype = DTYPE_DOUBLE;
}

static void another_count(struct kernel *k)
{
    (void)k;
    y->count++;
}

static void a_temporary(struct kernel *k)
{
    (void)k;
    y->kind = BUFFER_TEMP;
}

static void the_largest(struct kernel *k)
{
    part(k)->reduce = REDUCE_MAX;
}

static void another_axis(struct kernel *k)
{
    part(k)->reduced[0] = true;
    part(k)->reduced[1] = false;
}

static void sums_in_blocks(struct kernel *k)
{
    part(k)->in_blocks = true;
}

static void lanes_of_one_loop(struct kernel *k)
{
    part(k)->lane_loops = 1;
}

static void running_sums(struct kernel *k)
{
    part(k)->scan = SCAN_WITH;
}

static void sums_of_others(struct kernel *k)
{
    part(k)->element = mul(load(AT(x, 0, 8, 1)), number(2));
}

/* ---- templates --------------------------------------------------------------------------------------------------- */

static struct kernel *multiply(void)
{
    struct buffer *const a = buffer(BUFFER_INPUT, "a", SIZE), *const b = buffer(BUFFER_INPUT, "b", SIZE);
    struct kernel *const k = of_template(&product_templates[PRODUCT_FEW]);
    y = buffer(BUFFER_OUTPUT, "y", SIZE);
    kernel_set_int(k, "M", 4);
    kernel_set_int(k, "N", 8);
    set_operand(k, "a", AT(a, 0, 1));
    set_operand(k, "b", AT(b, 0, 1));
    k->tmpl.operands[0].rank = 1;
    k->tmpl.operands[0].extent[0] = 8;
    k->tmpl.operands[0].value = mul(load(AT(a, 0, 1)), number(2));
    k->outer_rank = 1;
    k->outer_extent[0] = 2;
    add_loops(k, EXTENTS(4, 8));
    part(k)->hole = "finish";
    store(k, AT(y, 0, 8, 1), result());
    return k;
}

static void another_template(struct kernel *k)
{
    k->tmpl.traits = &product_templates[PRODUCT_DIRECT];
}

static void another_type(struct kernel *k)
{
    k->tmpl.type = DTYPE_DOUBLE;
}

static void another_size(struct kernel *k)
{
    kernel_set_int(k, "N", 9);
}

static void a_size_of_another_name(struct kernel *k)
{
    k->tmpl.ints[1].name = "K";
}

static void a_size_that_a_call_says(struct kernel *k)
{
    k->tmpl.ints[1].late = (struct late_size){.base = 1, .per = 1};
}

static void a_size_more(struct kernel *k)
{
    kernel_set_int(k, "K", 0);
}

static void operands_of_other_names(struct kernel *k)
{
    k->tmpl.operands[1].param = "c";
}

static void an_operand_further_on(struct kernel *k)
{
    k->tmpl.operands[1].access.offset = 1;
}

static void another_operand_computed(struct kernel *k)
{
    k->tmpl.operands[0].value = mul(load(k->tmpl.operands[0].access), number(3));
}

static void an_operand_not_computed(struct kernel *k)
{
    k->tmpl.operands[0].value = NULL;
}

static void a_longer_operand(struct kernel *k)
{
    k->tmpl.operands[0].extent[0] = 9;
}

static void more_outer_loops(struct kernel *k)
{
    k->outer_extent[0] = 3;
}

static void outer_loops_that_a_call_says(struct kernel *k)
{
    k->outer_late[0] = (struct late_size){.base = 1, .per = 1};
}

static void another_hole(struct kernel *k)
{
    part(k)->hole = "row_sum";
}

static void shares_of_an_outer_loop(struct kernel *k)
{
    k->cut.outer = 1;
}

static void shares_in_passes(struct kernel *k)
{
    k->cut.passes = 2;
}

static void shares_of_more_pieces(struct kernel *k)
{
    k->cut.pieces = 2;
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static struct kernel *stage(void)
{
    struct kernel *const k = map_rows(), *const of_stages = arena_new(&arena, struct kernel);
    lowered.kernels.data[lowered.kernels.count - 1] = of_stages;
    *of_stages = (struct kernel){.id = k->id, .label = "block", .kind = KERNEL_STAGES, .blocks = {.rows = 2}};
    vec_push(&arena, &of_stages->blocks.stages, k);
    vec_push(&arena, &of_stages->own, ((struct own){x, "left"}));
    return of_stages;
}

static void a_stage_of_other_loops(struct kernel *k)
{
    part(k->blocks.stages.data[0])->extent[1] = 7;
}

static void a_stage_less(struct kernel *k)
{
    k->blocks.stages.count = 0;
}

static void blocks_of_more_rows(struct kernel *k)
{
    k->blocks.rows = 3;
}

static void memory_of_another_name(struct kernel *k)
{
    k->own.data[0].param = "right";
}

static void memory_for_another_matrix(struct kernel *k)
{
    k->own.data[0].buffer = z;
}

/* ------------------------------------------------------------------------------------------------------------------ */

#define SAME(make, change) {#make ": " #change, make, change, false}
#define OTHER(make, change) {#make ": " #change, make, change, true}

static const struct key_case cases[] = {
    SAME(map_rows, nothing),
    SAME(map_rows, another_label),
    OTHER(map_rows, a_longer_loop),
    OTHER(map_rows, a_loop_that_a_call_says),
    OTHER(map_rows, another_place),
    OTHER(map_rows, another_stride),
    OTHER(map_rows, a_stride_of_another_loop),
    OTHER(map_rows, a_computed_place),
    OTHER(map_rows, another_operation),
    OTHER(map_rows, another_number),
    SAME(map_rows, operands_exchanged),
    OTHER(map_rows, another_element),
    OTHER(map_rows, a_choice),
    OTHER(map_rows, another_function),
    OTHER(map_rows, a_store_more),
    OTHER(map_rows, a_part_more),
    OTHER(map_rows, loops_around_all),
    OTHER(map_rows, shares),
    OTHER(map_rows, other_bytes),
    OTHER(map_rows, another_count),
    OTHER(map_rows, a_temporary),
    SAME(sum_rows, nothing),
    OTHER(sum_rows, the_largest),
    OTHER(sum_rows, another_axis),
    OTHER(sum_rows, sums_in_blocks),
    OTHER(sum_rows, lanes_of_one_loop),
    OTHER(sum_rows, running_sums),
    OTHER(sum_rows, sums_of_others),
    SAME(multiply, nothing),
    OTHER(multiply, another_template),
    OTHER(multiply, another_type),
    OTHER(multiply, another_size),
    OTHER(multiply, a_size_of_another_name),
    OTHER(multiply, a_size_that_a_call_says),
    OTHER(multiply, a_size_more),
    OTHER(multiply, operands_of_other_names),
    OTHER(multiply, an_operand_further_on),
    OTHER(multiply, another_operand_computed),
    OTHER(multiply, an_operand_not_computed),
    OTHER(multiply, a_longer_operand),
    OTHER(multiply, more_outer_loops),
    OTHER(multiply, outer_loops_that_a_call_says),
    OTHER(multiply, another_hole),
    OTHER(multiply, shares),
    OTHER(multiply, shares_of_an_outer_loop),
    OTHER(multiply, shares_in_passes),
    OTHER(multiply, shares_of_more_pieces),
    SAME(stage, nothing),
    OTHER(stage, a_stage_of_other_loops),
    OTHER(stage, a_stage_less),
    OTHER(stage, blocks_of_more_rows),
    OTHER(stage, memory_of_another_name),
    OTHER(stage, memory_for_another_matrix),
};

START_TEST(kernels_that_differ_share_no_function)
{
    const struct key_case *const c = &cases[_i];
    const struct kernel *const one = c->make();
    struct kernel *const other = c->make();
    c->change(other);
    const struct plan plan = {.lowered = &lowered};
    struct emission e = {.arena = &arena, .diag = &diag, .upper = "NET", .keyed = {.arena = &arena},
                         .param_names = {.arena = &arena}};
    e.file.taken.arena = &arena;
    vec_push(&arena, &e.all_plans, &plan);
    group_kernels(&e);
    ck_assert_msg((group_of(&e, &plan, one) != group_of(&e, &plan, other)) == c->differ, "%s", c->name);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, kernels_that_differ_share_no_function, 0, COUNT(cases));
    return run_tests("emit_kernel_key", tests);
}
