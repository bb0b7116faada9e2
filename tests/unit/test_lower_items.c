/* A kernel of each kind is seen whole by the walk over its items, in their order, and by those who use it. */
#include "kernels.h"
#include "lower/items.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ROWS = 3, COLUMNS = 4 };

/* What a kernel touches: one buffer for each place. */
static struct buffer *labels, *operand, *computed, *elements, *result_of, *inner_operand, *inner_result, *block;
static struct buffer *sequence, *initial, *stacked, *body_result;

static void make_buffers(void)
{
    labels = buffer(BUFFER_INPUT, "labels", ROWS);
    operand = buffer(BUFFER_INPUT, "operand", 1);
    computed = buffer(BUFFER_INPUT, "computed", 1);
    elements = buffer(BUFFER_INPUT, "element", ROWS * COLUMNS);
    result_of = buffer(BUFFER_TEMP, "result", ROWS * COLUMNS);
    inner_operand = buffer(BUFFER_INPUT, "inner_operand", 1);
    inner_result = buffer(BUFFER_TEMP, "inner_result", 1);
    block = buffer(BUFFER_TEMP, "block", 1);
    sequence = buffer(BUFFER_INPUT, "sequence", 1);
    initial = buffer(BUFFER_INPUT, "initial", 1);
    stacked = buffer(BUFFER_TEMP, "stacked", 1);
    body_result = buffer(BUFFER_TEMP, "body_result", 1);
}

static void add_check(struct kernel *k)
{
    vec_push(&arena, &k->checks, ((struct check){.value = load(AT(labels, 0))}));
}

static struct kernel *of_loops(void)
{
    struct kernel *const k = loops(EXTENTS(ROWS, COLUMNS));
    store(k, AT(result_of, 0, COLUMNS, 1), load(AT(elements, 0, COLUMNS, 1)));
    add_check(k);
    vec_push(&arena, &k->own, ((struct own){block, "row"}));
    return k;
}

static struct kernel *of_a_template(void)
{
    static const struct template_traits traits = {.name = "some"};
    struct kernel *const k = of_template(&traits);
    k->outer_rank = 2;
    k->outer_extent[0] = k->outer_extent[1] = 5;
    kernel_set_int(k, "M", 7);
    kernel_set_int(k, "N", 8);
    k->scratch.buffer = buffer(BUFFER_TEMP, "scratch", 1);
    set_operand(k, "a", AT(operand, 0));
    set_operand(k, "b", AT(operand, 0));
    k->tmpl.operands[1].value = load(AT(computed, 0));
    add_check(k);
    add_loops(k, EXTENTS(5, 5, ROWS, COLUMNS));
    store(k, AT(result_of, 0, 0, 0, COLUMNS, 1), load(AT(elements, 0, 0, 0, COLUMNS, 1)));
    return k;
}

static struct kernel *of_stages(void)
{
    static const struct template_traits traits = {.name = "some"};
    struct kernel *const first = of_template(&traits), *const second = loops(EXTENTS(1)), *const k = new_kernel("all");
    kernel_set_int(first, "M", 7);
    set_operand(first, "a", AT(inner_operand, 0));
    store(second, AT(inner_result, 0), load(AT(elements, 0)));
    k->kind = KERNEL_STAGES;
    k->outer_rank = 1;
    k->outer_extent[0] = ROWS;
    k->blocks.rows = 1;
    vec_push(&arena, &k->blocks.stages, first);
    vec_push(&arena, &k->blocks.stages, second);
    vec_push(&arena, &k->own, ((struct own){block, "block"}));
    return k;
}

static struct kernel *of_a_region(void)
{
    struct kernel *const k = new_kernel("steps");
    struct kernel_region *const r = arena_new(&arena, struct kernel_region);
    vec_push(&arena, &r->reads, ((struct region_port){.inner = body_result, .outer = sequence}));
    vec_push(&arena, &r->starts, ((struct region_port){.inner = stacked, .outer = initial}));
    vec_push(&arena, &r->starts, ((struct region_port){.inner = stacked, .outer = NULL})); /* zeros */
    vec_push(&arena, &r->writes, ((struct region_port){.inner = body_result, .outer = stacked}));
    k->kind = KERNEL_REGION;
    k->region = r;
    k->scratch.buffer = buffer(BUFFER_TEMP, "scratch", 1);
    return k;
}

static const struct {
    const char *name;
    struct kernel *(*make)(void);
    const char *items, *reads, *writes;
} cases[] = {
    {"loops", of_loops, "check part own", "labels element", "result block"},
    {"template", of_a_template, "loop loop int int scratch check operand operand part",
     "labels operand computed element", "result"},
    {"stages", of_stages, "loop stage stage own", "inner_operand element", "inner_result block"},
    {"region", of_a_region, "scratch region", "sequence initial", "stacked"},
};

static const char *name_of(enum item_kind kind)
{
    switch (kind) {
    case ITEM_LOOP: return "loop";
    case ITEM_INT: return "int";
    case ITEM_SCRATCH: return "scratch";
    case ITEM_CHECK: return "check";
    case ITEM_OPERAND: return "operand";
    case ITEM_PART: return "part";
    case ITEM_STAGE: return "stage";
    case ITEM_OWN: return "own";
    case ITEM_REGION: return "region";
    }
    return "another";
}

/* What an item points to, as it stands in the kernel. */
static bool is_its_own(const struct kernel *k, const struct kernel_item *it)
{
    switch (it->kind) {
    case ITEM_LOOP: return it->loop.extent == k->outer_extent[it->at] && it->loop.late == &k->outer_late[it->at];
    case ITEM_INT: return it->integer == &k->tmpl.ints[it->at];
    case ITEM_SCRATCH: return it->scratch == &k->scratch && it->at == 0;
    case ITEM_CHECK: return it->check == &k->checks.data[it->at];
    case ITEM_OPERAND: return it->operand == &k->tmpl.operands[it->at];
    case ITEM_PART: return it->part == &k->parts.data[it->at];
    case ITEM_STAGE: return it->stage == k->blocks.stages.data[it->at];
    case ITEM_OWN: return it->own == &k->own.data[it->at];
    case ITEM_REGION: return it->region == k->region && it->at == 0;
    }
    return false;
}

static void add_word(struct strbuf *b, const char *word)
{
    strbuf_addf(b, "%s%s", b->length > 0 ? " " : "", word);
}

static const char *names_of(const buffer_list *l)
{
    struct strbuf b = {.arena = &arena};
    vec_each(const struct buffer *, it, l)
        add_word(&b, it->name);
    return strbuf_text(&b);
}

START_TEST(kernels_are_seen_whole)
{
    make_buffers();
    const struct kernel *const k = cases[_i].make();
    struct strbuf seen = {.arena = &arena};
    kernel_each_item(it, k) {
        add_word(&seen, name_of(it.kind));
        ck_assert_msg(is_its_own(k, &it), "%s: %s %zu", cases[_i].name, name_of(it.kind), it.at);
    }
    ck_assert_str_eq(strbuf_text(&seen), cases[_i].items);
    buffer_list reads = {0}, writes = {0};
    kernel_reads(&arena, k, &reads);
    kernel_writes(&arena, k, &writes);
    ck_assert_str_eq(names_of(&reads), cases[_i].reads);
    ck_assert_str_eq(names_of(&writes), cases[_i].writes);
}
END_TEST

/* ---- what depends on the program's range ------------------------------------------------------------------------- */

static const struct late_size some_size = {.base = 1, .per = 1};

static const struct expr *count_of(void)
{
    struct expr *const e = arena_new(&arena, struct expr);
    *e = (struct expr){.op = EXPR_COUNT, .dtype = DTYPE_INT64, .i = 1};
    return e;
}

static struct kernel *is_known(void)
{
    return of_a_template();
}

static struct kernel *late_loop(void)
{
    struct kernel *const k = of_a_template();
    k->outer_late[1] = some_size;
    return k;
}

static struct kernel *late_int(void)
{
    struct kernel *const k = of_a_template();
    k->tmpl.ints[1].late = some_size;
    return k;
}

static struct kernel *late_operand(void)
{
    struct kernel *const k = of_a_template();
    k->tmpl.operands[1].value = count_of();
    return k;
}

static struct kernel *late_extent(void)
{
    struct kernel *const k = of_loops();
    k->parts.data[0].late[1] = some_size;
    return k;
}

static struct kernel *late_value(void)
{
    struct kernel *const k = of_loops();
    k->parts.data[0].stores.data[0].value = count_of();
    return k;
}

static struct kernel *late_stage(void)
{
    struct kernel *const k = of_stages();
    k->blocks.stages.data[0]->tmpl.ints[0].late = some_size;
    return k;
}

static struct kernel *late_value_of_a_stage(void)
{
    struct kernel *const k = of_stages();
    struct kernel *const first = loops(EXTENTS(1));
    store(first, AT(inner_result, 0), count_of());
    k->blocks.stages.data[0] = first; /* the second one's has none */
    return k;
}

static struct kernel *late_check(void)
{
    struct kernel *const k = of_loops();
    k->checks.data[0].value = count_of();
    return k;
}

static const struct {
    const char *name;
    struct kernel *(*make)(void);
    bool is_late;
} late_cases[] = {
#define LATE(make, is_late) {#make, make, is_late}
    LATE(is_known, false),    LATE(late_loop, true),  LATE(late_int, true),   LATE(late_operand, true),
    LATE(late_extent, true),  LATE(late_value, true), LATE(late_stage, true), LATE(of_stages, false),
    LATE(late_value_of_a_stage, true),
    LATE(of_a_region, false), LATE(late_check, false), /* a function of its own */
};

START_TEST(kernels_are_late)
{
    make_buffers();
    ck_assert_msg(kernel_is_late(late_cases[_i].make()) == late_cases[_i].is_late, "%s", late_cases[_i].name);
}
END_TEST

static bool is_count(const struct expr *e, void *unused)
{
    (void)unused;
    return e->op == EXPR_COUNT;
}

START_TEST(what_one_stage_has_the_kernel_has)
{
    make_buffers();
    ck_assert(kernel_any(late_value_of_a_stage(), is_count, NULL));
    ck_assert(!kernel_any(of_stages(), is_count, NULL));
}
END_TEST

/* More points than int64 holds: they count as the most there are, not as few. */
START_TEST(indices_are_wide_where_points_cannot_be_counted)
{
    make_buffers();
    struct kernel *const k = loops(EXTENTS(INT64_C(1) << 40, INT64_C(1) << 40));
    store(k, AT(result_of, 0, 0, 1), load(AT(elements, 0, 0, 1)));
    ck_assert_str_eq(kernel_index_type(k, NULL), "int64_t");
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, kernels_are_seen_whole, 0, COUNT(cases));
    tcase_add_loop_test(tests, kernels_are_late, 0, COUNT(late_cases));
    tcase_add_test(tests, what_one_stage_has_the_kernel_has);
    tcase_add_test(tests, indices_are_wide_where_points_cannot_be_counted);
    return run_tests("lower_items", tests);
}
