/* What the cost models decide: each row of a table lies at a threshold, and would fail if that moved or a comparison
 * turned around. What the decisions do to kernels is tested in test_fuse_rules.c. */
#include "fuse/blocks.h"
#include "fuse/fuse.h"
#include "kernels.h"
#include "lower/lower.h"
#include "lower/product.h"
#include "lower/targets.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct number { /* an integer of a template */
    const char *name;
    int64_t value;
};

static const struct target *machine(const char *name)
{
    const struct target *const t = name ? target_find(name) : NULL;
    ck_assert_msg(!name || t, "there is no machine '%s'", name);
    return t;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static const struct expr *math(enum expr_fn fn, const struct expr *x)
{
    return expr_math(&arena, fn, x);
}

static const struct expr *binary(enum expr_op op, const struct expr *x, const struct expr *y)
{
    return expr_binary(&arena, op, x, y);
}

/* An expression of that cost over the load, which costs 1 itself: elementary functions, then additions. */
static const struct expr *costing(int cost, struct access at)
{
    const struct expr *e = load(at);
    for (cost--; cost >= 12; cost -= 12)
        e = math(EXPR_FN_EXP, e);
    for (; cost > 0; cost--)
        e = add(e, number(1));
    return e;
}

START_TEST(expressions_cost)
{
    struct buffer *const b = buffer(BUFFER_INPUT, "x", 100);
    const struct expr *const x = load(AT(b, 0, 10, 1)), *const row = load(AT(b, 0, 10, 0)),
                      *const index = expr_index(&arena, 1), *const other = expr_index(&arena, 0);
    const struct access chosen = {.buffer = b, .term = {{load(AT(b, 0, 1, 0)), 1}}, .term_count = 1};
    const struct {
        const char *name;
        const struct expr *e;
        int cost, along; /* along: loop 1 */
    } rows[] = {
        {"a number", number(3), 0, 0},
        {"the loop", index, 0, 0},
        {"another loop", other, 0, 0},
        {"a result", result(), 0, 0},
        {"a load", x, 1, 1},
        {"the same along the loop", row, 1, 0},
        {"a load at a computed place", load(chosen), 1, 1},
        {"a negation", expr_unary(&arena, EXPR_NEG, x), 2, 2},
        {"an addition", add(x, number(1)), 2, 2},
        {"a product", mul(x, row), 3, 2},
        {"a division", binary(EXPR_DIV, x, row), 6, 5},
        {"a division before the loop", binary(EXPR_DIV, row, row), 6, 0},
        {"a power", binary(EXPR_POW, x, number(2.5)), 25, 25},
        {"a select", expr_select(&arena, binary(EXPR_LT, x, row), x, row), 6, 4},
        {"exp", math(EXPR_FN_EXP, x), 13, 13},
        {"sqrt", math(EXPR_FN_SQRT, x), 5, 5},
        {"abs", math(EXPR_FN_ABS, x), 2, 2},
        {"tan", math(EXPR_FN_TAN, x), 25, 25},
        {"exp before the loop", add(math(EXPR_FN_EXP, row), x), 15, 2},
        {"of a result", math(EXPR_FN_EXP, result()), 12, 12},
        {"random", expr_random(&arena, EXPR_UNIFORM, DTYPE_FLOAT, 0, &(struct expr_draw){0}, index), 40, 40},
        {"what the cases below take", costing(30, AT(b, 0, 10, 1)), 30, 30},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        ck_assert_msg(expr_cost(rows[i].e) == rows[i].cost, "%s costs %d, expected %d", rows[i].name,
                      expr_cost(rows[i].e), rows[i].cost);
        ck_assert_msg(expr_cost_along(rows[i].e, 1) == rows[i].along, "%s costs %d along the loop, expected %d",
                      rows[i].name, expr_cost_along(rows[i].e, 1), rows[i].along);
    }
}
END_TEST

/* ---- producers into loads ---------------------------------------------------------------------------------------- */

/* t[i] = an expression of such a cost; readers of it follow. Is it stored? */
struct inlining_case {
    const char *name, *machine;
    int cost;
    int readers;
    int64_t count;
    bool far;       /* a template between t and its readers */
    bool from_temp; /* t reads a temporary that nobody else reads so late */
    bool twice;     /* each reader reads two elements at each point */
    bool rowwise;   /* nothing of it but the load changes along the innermost loop */
    bool is_stored;
};

#define FAR 65536  /* floats, 256 KiB */
#define SMALL 4096
#define ROWS 16    /* of t as a matrix */

static const struct inlining_case inlining_cases[] = {
    {"one reader takes all", NULL, 300, 1, SMALL, .is_stored = false},
    {"but what is too long to read", NULL, 301, 1, SMALL, .is_stored = true},
    {"one reader, each element twice", NULL, 3, 1, SMALL, .twice = true, .is_stored = false},
    {"which costs more than a load", NULL, 4, 1, SMALL, .twice = true, .is_stored = true},
    {"two readers", NULL, 3, 2, SMALL, .is_stored = false},
    {"for which it costs too much", NULL, 4, 2, SMALL, .is_stored = true},
    {"many readers", NULL, 3, 9, SMALL, .is_stored = false},
    {"far away", NULL, 10, 5, FAR, .far = true, .is_stored = false},
    {"far away, for more than a load", NULL, 11, 5, FAR, .far = true, .is_stored = true},
    {"large and near", NULL, 10, 5, FAR, .is_stored = true},
    {"far away and in the cache", NULL, 10, 5, FAR - 1, .far = true, .is_stored = true},
    {"far away, each element twice", NULL, 10, 5, FAR, .far = true, .twice = true, .is_stored = true},
    {"few readers store nothing more", NULL, 10, 4, FAR, .is_stored = false},
    {"five are not few", NULL, 10, 5, FAR, .is_stored = true},
    {"for few it costs too much", NULL, 11, 4, FAR, .is_stored = true},
    {"few, but not large", NULL, 10, 4, FAR - 1, .is_stored = true},
    {"few, most of it before the loop", NULL, 40, 4, FAR, .rowwise = true, .is_stored = false},
    {"a temporary lives longer", NULL, 3, 2, SMALL, .from_temp = true, .is_stored = false},
    {"and costs more than a load", NULL, 10, 4, FAR, .from_temp = true, .is_stored = true},
    {"a smaller second cache", "rv64", 10, 5, FAR / 2, .far = true, .is_stored = false},
    {"which is half as large", "rv64", 10, 5, FAR / 2 - 1, .far = true, .is_stored = true},
    {"no second cache: nothing is far", "cortex-m4", 10, 5, FAR, .far = true, .is_stored = true},
};

static void add_template(void)
{
    struct buffer *const m = buffer(BUFFER_INPUT, "m", 9), *const v = buffer(BUFFER_INPUT, "v", 3);
    matrix_vector(3, 3, AT(m, 0), AT(v, 0), AT(buffer(BUFFER_VARIABLE, "mv", 3), 0, 1), result());
}

/* u[i] = sum over 2 elements: a reduction, which stays. */
static struct buffer *sums(int64_t count)
{
    struct buffer *const x = buffer(BUFFER_INPUT, "x", 2 * count), *const u = buffer(BUFFER_TEMP, "u", count);
    struct kernel *const k = loops(EXTENTS(count, 2));
    sum(k, 1, load(AT(x, 0, 2, 1)));
    store(k, AT(u, 0, 1), result());
    return u;
}

static struct buffer *add_producer(const struct inlining_case *c)
{
    struct buffer *const t = buffer(BUFFER_TEMP, "t", c->count);
    struct buffer *const x = c->from_temp ? sums(c->count) : buffer(BUFFER_INPUT, "x", c->count);
    if (c->from_temp)
        add_template(); /* u is read from farther away than t */
    if (c->rowwise) {
        const struct expr *const row = costing(c->cost - 2, AT(buffer(BUFFER_INPUT, "rows", ROWS), 0, 1));
        store(loops(EXTENTS(ROWS, c->count / ROWS)), AT(t, 0, c->count / ROWS, 1),
              add(load(AT(x, 0, c->count / ROWS, 1)), row));
    } else {
        store(loops(EXTENTS(c->count)), AT(t, 0, 1), costing(c->cost, AT(x, 0, 1)));
    }
    return t;
}

/* Backwards, so that readers do not become one kernel with what makes t for another reason. */
static void add_reader(const struct inlining_case *c, struct buffer *t, int number_of_reader)
{
    const int64_t last = c->count - 1, columns = c->rowwise ? c->count / ROWS : 1;
    struct buffer *const v = buffer(BUFFER_VARIABLE, "v", c->count);
    const struct expr *value = load(AT(t, last, -columns, c->rowwise ? -1 : 0));
    if (c->twice)
        value = mul(value, expr_select(&arena, binary(EXPR_LT, expr_index(&arena, 0), expr_int(&arena, DTYPE_INT64, 1)),
                                       number(0), load(AT(t, 0, 1))));
    store(loops(EXTENTS(c->count / columns, columns)), AT(v, 0, columns, c->rowwise),
          add(value, number(number_of_reader)));
}

static bool is_stored(const struct buffer *b)
{
    for (size_t i = 0; i < lowered.kernels.count; i++)
        for (size_t p = 0; p < lowered.kernels.data[i]->parts.count; p++) {
            const struct part *const part = &lowered.kernels.data[i]->parts.data[p];
            for (size_t s = 0; s < part->stores.count; s++)
                if (part->stores.data[s].to.buffer == b)
                    return true;
        }
    return false;
}

START_TEST(producers_are_inlined)
{
    const struct inlining_case *const c = &inlining_cases[_i];
    lowered.target = machine(c->machine);
    struct buffer *const t = add_producer(c);
    if (c->far)
        add_template();
    for (int i = 0; i < c->readers; i++)
        add_reader(c, t, i);
    fuse_entry(&lowered, false);
    ck_assert_msg(is_stored(t) == c->is_stored, "%s: t is %s:\n%s", c->name, c->is_stored ? "inlined" : "stored",
                  lowered_print(&arena, &lowered));
}
END_TEST

/* ---- updates, blocks, libraries ---------------------------------------------------------------------------------- */

START_TEST(updates_join_large_matrices)
{
    static const struct {
        const char *machine;
        int64_t rows, columns;
        enum dtype type;
        bool joins;
    } rows[] = {
        {NULL, 64, 128, DTYPE_FLOAT, true},         {NULL, 63, 130, DTYPE_FLOAT, false},
        {NULL, 64, 64, DTYPE_DOUBLE, true},         {NULL, 64, 63, DTYPE_DOUBLE, false},
        {NULL, 1, 1 << 20, DTYPE_FLOAT, false},     {NULL, 2, 4096, DTYPE_FLOAT, true},
        {"x86-64-v4", 64, 128, DTYPE_FLOAT, true},  {"aarch64", 64, 255, DTYPE_FLOAT, false},
        {"aarch64", 64, 256, DTYPE_FLOAT, true},    {"cortex-m4", 2, 1, DTYPE_FLOAT, true},
        {"cortex-m7", 2, 2047, DTYPE_FLOAT, false}, {"cortex-m7", 2, 2048, DTYPE_FLOAT, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_msg(fuse_update_is_worth(machine(rows[i].machine), rows[i].rows, rows[i].columns, rows[i].type) ==
                          rows[i].joins,
                      "row %zu", i);
}
END_TEST

START_TEST(blocks_have_rows)
{
    static const struct {
        int64_t rows, block;
    } rows[] = {{0, 0}, {1, 1}, {7, 7}, {64, 64}, {65, 40}, {100, 56}, {128, 64}, {129, 48}, {512, 64}};
    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_int_eq(blocks_rows(rows[i].rows), rows[i].block);
}
END_TEST

START_TEST(large_matrices_are_computed_again)
{
    static const struct {
        const char *machine;
        int64_t bytes;
        bool again;
    } rows[] = {{NULL, 2 << 20, true},    {NULL, (2 << 20) - 1, false},   {"x86-64", 2 << 20, true},
                {"rv64", 1 << 20, true},  {"rv64", (1 << 20) - 1, false}, {"cortex-m4", INT64_MAX, false},
                {"aarch64", 2 << 20, true}};
    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_msg(blocks_are_worth_again(machine(rows[i].machine), rows[i].bytes) == rows[i].again, "row %zu", i);
}
END_TEST

START_TEST(rows_of_blocks_lie_apart)
{
    static const struct {
        const char *machine;
        int64_t columns;
        enum dtype type;
        int64_t step;
    } rows[] = {{NULL, 64, DTYPE_FLOAT, 64},     {NULL, 255, DTYPE_FLOAT, 255},   {NULL, 256, DTYPE_FLOAT, 272},
                {NULL, 512, DTYPE_FLOAT, 528},   {NULL, 128, DTYPE_DOUBLE, 136},  {NULL, 128, DTYPE_FLOAT, 128},
                {"rv64", 256, DTYPE_FLOAT, 272}, {"avr", 256, DTYPE_FLOAT, 256}};
    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_int_eq(blocks_row_step(machine(rows[i].machine), rows[i].columns, rows[i].type), rows[i].step);
}
END_TEST

START_TEST(large_products_are_worth_a_call)
{
    ck_assert(blas_is_worth_a_call(256, 256, 256));
    ck_assert(!blas_is_worth_a_call(256, 255, 256));
    ck_assert(!blas_is_worth_a_call(4096, 4096, 255));
    ck_assert(blas_is_worth_a_call(1, 1, 1 << 24));
}
END_TEST

/* ---- shares ------------------------------------------------------------------------------------------------------ */

/* Loops over `count` elements, each of such a cost. */
static struct kernel *map_kernel(int64_t count, int cost)
{
    struct kernel *const k = loops(EXTENTS(count));
    store(k, AT(buffer(BUFFER_VARIABLE, "y", count), 0, 1), costing(cost, AT(buffer(BUFFER_INPUT, "x", count), 0, 1)));
    return k;
}

static struct kernel *sum_kernel(int64_t count)
{
    struct kernel *const k = loops(EXTENTS(count));
    sum(k, 0, load(AT(buffer(BUFFER_INPUT, "x", count), 0, 1)));
    store(k, AT(buffer(BUFFER_VARIABLE, "y", 1), 0), result());
    return k;
}

static struct kernel *template_kernel(int64_t outer, int64_t flops)
{
    struct kernel *const k = new_kernel("product");
    kernel_bind_template(&arena, k, &product_templates[PRODUCT_DIRECT], DTYPE_FLOAT);
    k->outer_rank = 1;
    k->outer_extent[0] = outer;
    k->tmpl.flops = flops;
    return k;
}

/* One stage, whose operations are counted once for each row of a block. */
static struct kernel *stages_kernel(int64_t rows, int64_t block, int64_t flops)
{
    struct kernel *const k = new_kernel("stages");
    k->kind = KERNEL_STAGES;
    k->blocks.rows = block;
    vec_push(&arena, &k->blocks.stages, template_kernel(rows, flops));
    return k;
}

START_TEST(large_kernels_are_cut)
{
    const struct {
        const char *name, *machine;
        struct kernel *kernel;
        bool is_cut;
    } rows[] = {
        {"operations", NULL, map_kernel(1000, 200), true},
        {"too few", NULL, map_kernel(1000, 199), false},
        {"bytes", NULL, map_kernel(16384, 1), true},
        {"too few bytes", NULL, map_kernel(16383, 1), false},
        {"elements of a sum", NULL, sum_kernel(65536), true},
        {"too few elements", NULL, sum_kernel(65535), false},
        {"a template", NULL, template_kernel(2, 100000), true},
        {"a small one", NULL, template_kernel(2, 99999), false},
        {"stages", NULL, stages_kernel(64, 32, 100000), true},
        {"small ones", NULL, stages_kernel(64, 32, 99999), false},
        {"a larger first cache", "aarch64", map_kernel(32767, 1), false},
        {"twice of it", "aarch64", map_kernel(32768, 1), true},
        {"a smaller second cache", "rv64", sum_kernel(32768), true},
        {"no caches: operations", "cortex-m0", map_kernel(100, 200), true},
        {"no caches: too few", "cortex-m0", map_kernel(100, 199), false},
        {"no caches: bytes are near", "cortex-m0", map_kernel(19999, 1), false},
        {"no caches: so are sums", "cortex-m0", sum_kernel(19999), false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_msg(share_is_worth(rows[i].kernel, machine(rows[i].machine)) == rows[i].is_cut, "%s", rows[i].name);
}
END_TEST

/* y and then z, of 200,000 elements each in loops of their own: cut into shares, if neither needs the other. */
enum need { NO_NEED, SECOND_READS, FIRST_READS };
static struct kernel *two_nests(enum need need, int64_t step)
{
    enum { SIZE = 200000 };
    struct buffer *const x = buffer(BUFFER_INPUT, "x", SIZE), *const y = buffer(BUFFER_VARIABLE, "y", SIZE),
                        *const z = buffer(BUFFER_VARIABLE, "z", SIZE);
    struct kernel *const k = loops(EXTENTS(SIZE));
    store(k, AT(y, 0, 1), load(AT(need == FIRST_READS ? z : x, SIZE - 1, -1)));
    add_loops(k, EXTENTS(SIZE));
    store(k, AT(z, 0, step), add(load(AT(need == SECOND_READS ? y : x, SIZE - 1, -1)), number(1)));
    return k;
}

START_TEST(loops_that_need_each_other_are_not_cut)
{
    struct kernel *const apart = two_nests(NO_NEED, 1), *const needs = two_nests(SECOND_READS, 1),
                         *const overwrites = two_nests(FIRST_READS, 1), *const one_place = two_nests(NO_NEED, 0);
    share_kernels(&lowered, 2);
    ck_assert_int_eq(apart->cut.shares, 2);
    ck_assert_int_eq(needs->cut.shares, 0);
    ck_assert_int_eq(overwrites->cut.shares, 0);
    ck_assert_int_eq(one_place->cut.shares, 0);
}
END_TEST

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Sizes where both operands are row-major, where b is transposed, and where both are. */
#define ROW_MAJOR(m, n, k) {m, n, k, k, 1, n, 1}
#define B_TURNED(m, n, k) {m, n, k, k, 1, 1, k}
#define BOTH_TURNED(m, n, k) {m, n, k, 1, m, 1, k}

START_TEST(products_have_forms)
{
    static const struct {
        struct product_sizes sizes;
        const char *machine;
        bool scalar;
        enum product_form form;
    } rows[] = {
        {ROW_MAJOR(1, 64, 64), NULL, false, PRODUCT_VECTOR},
        {ROW_MAJOR(64, 1, 64), NULL, false, PRODUCT_VECTOR},
        {ROW_MAJOR(2, 2, 2), NULL, false, PRODUCT_NARROW},
        /* a million multiplications, 64 columns, 16 rows */
        {ROW_MAJOR(16, 64, 1024), NULL, false, PRODUCT_BLOCKED},
        {ROW_MAJOR(16, 64, 1023), NULL, false, PRODUCT_DIRECT},
        {ROW_MAJOR(15, 64, 2048), NULL, false, PRODUCT_DIRECT},
        {ROW_MAJOR(64, 63, 1024), NULL, false, PRODUCT_DIRECT},
        {ROW_MAJOR(16, 64, 1024), NULL, true, PRODUCT_BLOCKED},
        {ROW_MAJOR(16, 64, 1024), "x86-64", false, PRODUCT_BLOCKED},
        {ROW_MAJOR(16, 64, 1024), "cortex-m4", false, PRODUCT_DIRECT},
        {ROW_MAJOR(128, 512, 2048), "cortex-m7", false, PRODUCT_DIRECT},
        /* a transposed b twice as large as a and the result, 32 rows */
        {B_TURNED(128, 2048, 2048), NULL, false, PRODUCT_TRANSPOSED},
        {B_TURNED(63, 256, 256), NULL, false, PRODUCT_TRANSPOSED},
        {B_TURNED(64, 256, 256), NULL, false, PRODUCT_BLOCKED},
        {B_TURNED(32, 256, 256), NULL, false, PRODUCT_TRANSPOSED},
        {B_TURNED(31, 256, 256), NULL, false, PRODUCT_BLOCKED},
        {BOTH_TURNED(63, 256, 256), NULL, false, PRODUCT_BLOCKED},
        {ROW_MAJOR(63, 256, 256), NULL, false, PRODUCT_BLOCKED},
        /* rows of b: contiguous, of 16 to 512 columns, or for few rows of a */
        {ROW_MAJOR(8, 16, 16), NULL, false, PRODUCT_DIRECT},
        {ROW_MAJOR(8, 15, 16), NULL, false, PRODUCT_PACKED},
        {B_TURNED(8, 16, 16), NULL, false, PRODUCT_PACKED},
        {ROW_MAJOR(8, 512, 16), NULL, false, PRODUCT_DIRECT},
        {ROW_MAJOR(8, 513, 16), NULL, false, PRODUCT_PACKED},
        {ROW_MAJOR(7, 513, 16), NULL, false, PRODUCT_DIRECT},
        {ROW_MAJOR(8, 513, 16), "cortex-m4", false, PRODUCT_DIRECT},
        {ROW_MAJOR(8, 513, 16), "cortex-m7", false, PRODUCT_PACKED},
        /* half a vector, a quarter of one */
        {ROW_MAJOR(32, 9, 16), NULL, false, PRODUCT_PACKED},
        {ROW_MAJOR(32, 8, 16), NULL, false, PRODUCT_NARROW},
        {ROW_MAJOR(32, 8, 16), NULL, true, PRODUCT_PACKED},
        {ROW_MAJOR(32, 5, 16), NULL, false, PRODUCT_NARROW},
        {ROW_MAJOR(32, 4, 16), NULL, false, PRODUCT_FEW},
        {ROW_MAJOR(32, 4, 16), NULL, true, PRODUCT_PACKED},
        {ROW_MAJOR(31, 4, 16), NULL, false, PRODUCT_NARROW},
        {BOTH_TURNED(32, 4, 16), NULL, false, PRODUCT_NARROW},
        {ROW_MAJOR(32, 4, 256), NULL, false, PRODUCT_FEW},
        {ROW_MAJOR(32, 4, 257), NULL, false, PRODUCT_NARROW},
        {ROW_MAJOR(32, 4, 512), "aarch64", false, PRODUCT_FEW},
        {ROW_MAJOR(32, 4, 513), "aarch64", false, PRODUCT_NARROW},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct lower_options o = {.target = machine(rows[i].machine), .scalar = rows[i].scalar};
        const enum product_form form = product_choose(&rows[i].sizes, &o);
        ck_assert_msg(form == rows[i].form, "row %zu (%d x %d x %d): %s, expected %s", i, (int)rows[i].sizes.m,
                      (int)rows[i].sizes.n, (int)rows[i].sizes.k, product_templates[form].name,
                      product_templates[rows[i].form].name);
    }
}
END_TEST

START_TEST(panels_have_columns)
{
    ck_assert_int_eq(product_panel_columns(64, 16, 4096), 16);
    ck_assert_int_eq(product_panel_columns(64, 17, 120), 16);
    ck_assert_int_eq(product_panel_columns(64, 32, 64), 32);
    ck_assert_int_eq(product_panel_columns(64, 32, 63), 16);
}
END_TEST

static struct kernel *product_kernel(enum product_form form, const struct product_sizes *s)
{
    struct kernel *const k = new_kernel("product");
    kernel_bind_template(&arena, k, &product_templates[form], DTYPE_FLOAT);
    const struct number ints[] = {{"M", s->m},         {"N", s->n},         {"K", s->k},
                                      {"TERMS", 80},       {"A_ROW", s->a_row}, {"A_COL", s->a_col},
                                      {"B_ROW", s->b_row}, {"B_COL", s->b_col}};
    for (size_t i = 0; i < COUNT(ints); i++)
        kernel_set_int(k, ints[i].name, ints[i].value);
    return k;
}

START_TEST(blocks_of_products_fit_the_cache)
{
    static const struct {
        struct product_sizes sizes;
        const char *machine;
        int shares;
        int64_t block, depth, last, rows;
        bool cut_rows, fetch_b, fetch_out;
    } rows[] = {
        {ROW_MAJOR(128, 2048, 2048), NULL, 1, 512, 160, 1920, 136, false, true, true},
        {ROW_MAJOR(128, 2048, 240), NULL, 1, 1024, 240, 0, 128, false, true, true},
        {ROW_MAJOR(128, 2048, 241), NULL, 1, 512, 160, 160, 136, false, true, true},
        {ROW_MAJOR(1024, 2048, 2048), NULL, 1, 512, 160, 1920, 512, false, true, true},
        {B_TURNED(128, 2048, 2048), NULL, 1, 128, 240, 1920, 136, false, false, true},
        {ROW_MAJOR(128, 500, 131), NULL, 1, 512, 131, 0, 128, false, false, false},
        {ROW_MAJOR(128, 512, 128), NULL, 1, 512, 128, 0, 128, false, true, true},
        {ROW_MAJOR(128, 512, 128), "aarch64", 1, 512, 128, 0, 128, false, true, true},
        {ROW_MAJOR(128, 2048, 2048), "rv64", 1, 256, 160, 1920, 136, false, true, true},
        {ROW_MAJOR(128, 2048, 240), "rv64", 1, 512, 240, 0, 128, false, true, true},
        {ROW_MAJOR(64, 512, 64), "rv64", 1, 512, 64, 0, 64, false, true, true},
        {ROW_MAJOR(64, 511, 64), "rv64", 1, 512, 64, 0, 64, false, false, false},
        {ROW_MAJOR(128, 2048, 2048), NULL, 2, 512, 160, 1920, 136, false, true, true},
        {ROW_MAJOR(128, 500, 2048), NULL, 2, 256, 160, 1920, 136, false, true, false},
        {ROW_MAJOR(2048, 128, 2048), NULL, 2, 128, 160, 1920, 512, true, true, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct kernel *const k = product_kernel(PRODUCT_BLOCKED, &rows[i].sizes);
        k->cut.pieces = rows[i].shares;
        ck_assert(k->tmpl.traits->cut(k, rows[i].shares, machine(rows[i].machine)));
        const struct number expected[] = {
            {"BLOCK", rows[i].block},       {"DEPTH", rows[i].depth},     {"LAST", rows[i].last},
            {"ROWS", rows[i].rows},         {"CUT_ROWS", rows[i].cut_rows}, {"FETCH_B", rows[i].fetch_b},
            {"FETCH_OUT", rows[i].fetch_out}};
        for (size_t j = 0; j < COUNT(expected); j++)
            ck_assert_msg(kernel_int(k, expected[j].name) == expected[j].value, "row %zu: %s is %d, expected %d", i,
                          expected[j].name, (int)kernel_int(k, expected[j].name), (int)expected[j].value);
        k->cut.pieces = rows[i].shares - 1;
        ck_assert(!k->tmpl.traits->cut(k, rows[i].shares, machine(rows[i].machine)));
    }
}
END_TEST

START_TEST(rows_meet_the_vector)
{
    static const struct {
        const char *machine;
        int64_t rows, columns, row_step, column_step;
        int shares;
        int64_t block;
        bool fetch;
    } rows[] = {
        {NULL, 100, 500, 500, 1, 1, 32, false},           {NULL, 100, 512, 512, 1, 1, 16, false},
        {"cortex-m4", 100, 512, 512, 1, 1, 32, false},    {NULL, 128, 512, 512, 1, 1, 8, true},
        {NULL, 127, 516, 516, 1, 1, 32, false},           {"rv64", 64, 512, 512, 1, 1, 8, true},
        {"cortex-m4", 1024, 1000, 1000, 1, 1, 32, false}, {NULL, 100, 100, 200, 2, 1, 8, false},
        {NULL, 64, 4096, 1, 64, 1, 64, false},            {NULL, 128, 63, 1, 128, 1, 64, false},
        {NULL, 128, 64, 1, 128, 1, 128, false},           {"aarch64", 128, 64, 1, 128, 1, 64, false},
        {"cortex-m4", 128, 640, 1, 128, 1, 64, false},    {NULL, 4096, 64, 1, 4096, 1, 2048, false},
        {NULL, 4096, 64, 1, 4096, 4, 1024, false},        {NULL, 100, 200, 1, 100, 4, 80, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct product_sizes none = {0};
        struct kernel *const k = product_kernel(PRODUCT_VECTOR, &none);
        const struct number ints[] = {{"ROWS", rows[i].rows},
                                          {"K", rows[i].columns},
                                          {"ROW_STEP", rows[i].row_step},
                                          {"COL_STEP", rows[i].column_step}};
        for (size_t j = 0; j < COUNT(ints); j++)
            kernel_set_int(k, ints[j].name, ints[j].value);
        k->cut.pieces = rows[i].shares;
        ck_assert(k->tmpl.traits->cut(k, rows[i].shares, machine(rows[i].machine)));
        ck_assert_msg(kernel_int(k, "BLOCK") == rows[i].block && kernel_int(k, "FETCH") == rows[i].fetch,
                      "row %zu: %d rows, fetched %d", i, (int)kernel_int(k, "BLOCK"), (int)kernel_int(k, "FETCH"));
        k->cut.pieces = rows[i].shares - 1;
        ck_assert(!k->tmpl.traits->cut(k, rows[i].shares, machine(rows[i].machine)));
    }
}
END_TEST

/* ---- machines ---------------------------------------------------------------------------------------------------- */

/* What is measured on x86 holds for all of it, and without a machine. */
START_TEST(x86_costs_the_same)
{
    static const char *const names[] = {NULL, "generic", "x86-64", "x86-64-v3", "x86-64-v4"};
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct target *const t = machine(names[i]);
        ck_assert_int_eq(target_first_cache(t), 32 << 10);
        ck_assert_int_eq(target_second_cache(t), 1 << 20);
        ck_assert_int_eq(target_near(t), 32 << 10);
        ck_assert_int_eq(target_far(t), 256 << 10);
        ck_assert_int_eq(target_thread(t), 200000);
    }
}
END_TEST

START_TEST(memory_without_caches_is_near)
{
    const struct target *const t = machine("cortex-m4");
    ck_assert_int_eq(target_first_cache(t), 0);
    ck_assert_int_eq(target_second_cache(t), 0);
    ck_assert(target_near(t) == INT64_MAX && target_far(t) == INT64_MAX);
    ck_assert_int_eq(target_near(machine("cortex-m7")), 16 << 10);
    ck_assert(target_far(machine("cortex-m7")) == INT64_MAX);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, expressions_cost);
    tcase_add_loop_test(tests, producers_are_inlined, 0, (int)COUNT(inlining_cases));
    tcase_add_test(tests, updates_join_large_matrices);
    tcase_add_test(tests, blocks_have_rows);
    tcase_add_test(tests, large_matrices_are_computed_again);
    tcase_add_test(tests, rows_of_blocks_lie_apart);
    tcase_add_test(tests, large_products_are_worth_a_call);
    tcase_add_test(tests, large_kernels_are_cut);
    tcase_add_test(tests, loops_that_need_each_other_are_not_cut);
    tcase_add_test(tests, products_have_forms);
    tcase_add_test(tests, panels_have_columns);
    tcase_add_test(tests, blocks_of_products_fit_the_cache);
    tcase_add_test(tests, rows_meet_the_vector);
    tcase_add_test(tests, x86_costs_the_same);
    tcase_add_test(tests, memory_without_caches_is_near);
    return run_tests("fuse_costs", tests);
}
