/* Which functions have one key, and sizes as parameters. */
#include "tree/equal.h"
#include "suite.h"

#include <check.h>
#include <string.h>

static struct arena arena;

static void begin(void)
{
    arena = (struct arena){0};
}

static void end(void)
{
    arena_free(&arena);
}

/* for (i < rows) for (j < columns) y[i * columns + j] = x[i * columns + j] * factor, with the parameters in the order
 * y, x or x, y. */
struct layer {
    int64_t rows, columns;
    double factor;
    const char *name, *index_type; /* of x, and of all indices; NULL: "x", "int" */
    bool is_turned, is_restrict;
    enum loop_kind kind; /* of the inner one */
};

static struct tree_function *make(const struct layer l)
{
    struct tree_function *const f = arena_new(&arena, struct tree_function);
    struct tree_builder b = tree_builder(&arena, &f->body);
    const char *const type = l.index_type ? l.index_type : "int";
    struct tree_var *const x = tree_var(&arena, VAR_POINTER, DTYPE_FLOAT, "float", l.name ? l.name : "x"),
                    *const y = tree_var(&arena, VAR_POINTER, DTYPE_FLOAT, "float", "y"),
                    *const i = tree_index_var(&arena, VAR_LOOP, type, "i", 0, l.rows - 1),
                    *const j = tree_index_var(&arena, VAR_LOOP, type, "j", 0, l.columns - 1);
    const struct expr *const zero = index_constant(&arena, 0);
    *f = (struct tree_function){.name = "f", .attributes = "", .type = "void", .kind = FUNCTION_OWN};
    y->written = true;
    x->is_restrict = y->is_restrict = l.is_restrict;
    vec_push(&arena, &f->params, l.is_turned ? x : y);
    vec_push(&arena, &f->params, l.is_turned ? y : x);
    tree_open_loop(&b, i, zero, index_constant(&arena, l.rows), 1, LOOP_PLAIN);
    tree_open_loop(&b, j, zero, index_constant(&arena, l.columns), 1, l.kind);
    const struct expr *const at =
        index_add(&arena, index_mul(&arena, tree_read(&arena, i), index_constant(&arena, l.columns)),
                  tree_read(&arena, j));
    tree_set(&b, tree_element(&arena, y, at), SET_TO,
             expr_binary(&arena, EXPR_MUL, tree_element(&arena, x, at), expr_float(&arena, DTYPE_FLOAT, l.factor)));
    tree_close(&b);
    tree_close(&b);
    return f;
}

static struct tree_key key_of(struct tree_function *f, enum tree_sizes which)
{
    struct tree_key key;
    tree_find_key(&arena, &f, 1, which, &key);
    return key;
}

static bool is_equal(const struct layer x, const struct layer y, enum tree_sizes which)
{
    const struct tree_key p = key_of(make(x), which), q = key_of(make(y), which);
    return p.words.count == q.words.count &&
           memcmp(p.words.data, q.words.data, p.words.count * sizeof *p.words.data) == 0;
}

static const struct layer plain = {.rows = 8, .columns = 100, .factor = 2};

static struct layer with(int64_t rows, int64_t columns, double factor)
{
    return (struct layer){.rows = rows, .columns = columns, .factor = factor};
}

START_TEST(names_and_the_order_of_parameters_make_no_difference)
{
    struct layer other = plain;
    other.name = "hidden";
    other.is_turned = true;
    ck_assert(is_equal(plain, other, SIZES_OUTER));
    other.is_restrict = true;
    ck_assert(!is_equal(plain, other, SIZES_OUTER));
}
END_TEST

START_TEST(for_size_all_sizes_may_differ)
{
    ck_assert(is_equal(plain, with(9, 100, 2), SIZES_ALL));
    ck_assert(is_equal(plain, with(8, 10, 2), SIZES_ALL));
    ck_assert(is_equal(plain, with(8, 100, 3), SIZES_ALL));
    ck_assert(is_equal(plain, with(8, 1000, 2), SIZES_ALL));
}
END_TEST

START_TEST(for_speed_innermost_loops_keep_theirs)
{
    ck_assert(is_equal(plain, with(9, 100, 2), SIZES_OUTER));
    ck_assert(!is_equal(plain, with(8, 101, 2), SIZES_OUTER));
    ck_assert(!is_equal(plain, with(8, 100, 3), SIZES_OUTER));
}
END_TEST

START_TEST(for_speed_long_loops_may_differ)
{
    ck_assert(is_equal(with(8, 512, 2), with(8, 5120, 2), SIZES_OUTER));
    ck_assert(!is_equal(with(8, 512, 2), with(8, 511, 2), SIZES_OUTER));
}
END_TEST

START_TEST(a_loop_of_which_compilers_are_told_something_keeps_its_size)
{
    struct layer lanes = plain, more = with(8, 101, 2);
    lanes.kind = more.kind = LOOP_LANES;
    ck_assert(!is_equal(plain, lanes, SIZES_ALL));
    ck_assert(!is_equal(lanes, more, SIZES_ALL));
    more.columns = 100;
    ck_assert(is_equal(lanes, more, SIZES_ALL));
    more.kind = LOOP_WIDE;
    ck_assert(!is_equal(lanes, more, SIZES_ALL));
}
END_TEST

START_TEST(types_of_32_bits_are_one)
{
    struct layer other = plain;
    other.index_type = "int32_t";
    ck_assert(is_equal(plain, other, SIZES_OUTER));
    other.index_type = "int64_t";
    ck_assert(!is_equal(plain, other, SIZES_OUTER));
}
END_TEST

START_TEST(sizes_become_parameters)
{
    struct tree_function *const f = make(plain);
    const struct tree_key key = key_of(f, SIZES_ALL);
    struct tree_var *const rows = tree_var(&arena, VAR_VALUE, DTYPE_INDEX, "int", "rows");
    const struct expr **const values = arena_array(&arena, const struct expr *, key.sizes.count);
    tree_vars sizes = {0};
    vec_push(&arena, &sizes, rows);
    for (size_t i = 0; i < key.sizes.count; i++)
        values[i] = index_is(key.sizes.data[i].value, plain.rows) ? tree_read(&arena, rows) : NULL;
    tree_put_sizes(&arena, (struct tree_function *const[]){f}, 1, SIZES_ALL, values, &sizes);
    ck_assert_uint_eq(f->params.count, 3);
    ck_assert_ptr_eq(f->params.data[2], rows);
    ck_assert_ptr_nonnull(strstr(tree_print(&arena, f), "to rows"));
    ck_assert_ptr_null(tree_verify_pass(&arena, &(tree_vars){0}, f));
}
END_TEST

START_TEST(calls_give_what_the_function_takes)
{
    struct tree_function *const part = make(plain), *const kernel = arena_new(&arena, struct tree_function);
    struct tree_builder b = tree_builder(&arena, &kernel->body);
    *kernel = (struct tree_function){.name = "kernel", .attributes = "", .type = "void", .kind = FUNCTION_OWN};
    const struct expr *args[2];
    for (int i = 0; i < 2; i++) {
        vec_push(&arena, &kernel->params, part->params.data[i]);
        args[i] = tree_address(&arena, part->params.data[i], index_constant(&arena, 0));
    }
    tree_run(&b, tree_call_function(&arena, part, args, 2));
    struct tree_function *const both[] = {part, kernel};
    struct tree_key key;
    tree_find_key(&arena, both, 2, SIZES_OUTER, &key);
    struct tree_var *const rows = tree_var(&arena, VAR_VALUE, DTYPE_INDEX, "int", "rows");
    const struct expr **const values = arena_array(&arena, const struct expr *, key.sizes.count);
    tree_vars sizes = {0};
    vec_push(&arena, &sizes, rows);
    for (size_t i = 0; i < key.sizes.count; i++)
        values[i] = index_is(key.sizes.data[i].value, plain.rows) ? tree_read(&arena, rows) : NULL;
    tree_put_sizes(&arena, both, 2, SIZES_OUTER, values, &sizes);
    ck_assert_uint_eq(part->params.count, 3);
    ck_assert_uint_eq(kernel->params.count, 3);
    ck_assert_ptr_null(tree_verify_pass(&arena, &(tree_vars){0}, kernel));
}
END_TEST

/* routine(..) with constants, of which number `argument` is `size`. */
static struct tree_function *make_routine_call(const char *routine, size_t argument, const struct expr *size)
{
    enum { ARGS = 11 };
    const struct expr *args[ARGS];
    struct tree_function *const f = arena_new(&arena, struct tree_function);
    struct tree_builder b = tree_builder(&arena, &f->body);
    *f = (struct tree_function){.name = "f", .attributes = "", .type = "void", .kind = FUNCTION_OWN};
    for (size_t i = 0; i < ARGS; i++)
        args[i] = i == argument ? size : index_constant(&arena, (int64_t)i);
    tree_run(&b, tree_call(&arena, DTYPE_INDEX, CALL_NAMED, routine, args, ARGS));
    return f;
}

static bool is_one_call(const char *routine, size_t argument, const struct expr *x, const struct expr *y)
{
    const struct tree_key p = key_of(make_routine_call(routine, argument, x), SIZES_OUTER),
                          q = key_of(make_routine_call(routine, argument, y), SIZES_OUTER);
    return p.words.count == q.words.count &&
           memcmp(p.words.data, q.words.data, p.words.count * sizeof *p.words.data) == 0;
}

static bool is_size_of(const char *routine, size_t argument)
{
    return is_one_call(routine, argument, index_constant(&arena, 100), index_constant(&arena, 200));
}

START_TEST(sizes_of_64_bits_may_differ)
{
    ck_assert(is_one_call("stepc_pack", 6, index_wide(&arena, 5000000000), index_wide(&arena, 6000000000)));
    ck_assert(!is_one_call("stepc_pack", 6, index_wide(&arena, 5000000000), index_constant(&arena, 5000)));
}
END_TEST

START_TEST(tiles_keep_their_height_not_the_length_of_sums)
{
    ck_assert(is_size_of("stepc_tile_of", 3));
    ck_assert(is_size_of("stepc_tile_of", 4));
    ck_assert(is_size_of("stepc_tile_of", 7));
    ck_assert(!is_size_of("stepc_tile_of", 1));
    ck_assert(!is_size_of("stepc_tile_of", 2));
    ck_assert(!is_size_of("stepc_tile_of", 8));
    ck_assert(is_size_of("stepc_tile_of_terms", 8));
    ck_assert(!is_size_of("stepc_tile_of_terms", 7));
    ck_assert(is_size_of("stepc_pack_rows_of", 5));
    ck_assert(!is_size_of("stepc_pack_rows_of", 2));
    ck_assert(!is_size_of("stepc_finish", 3));
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, names_and_the_order_of_parameters_make_no_difference);
    tcase_add_test(tests, for_size_all_sizes_may_differ);
    tcase_add_test(tests, for_speed_innermost_loops_keep_theirs);
    tcase_add_test(tests, for_speed_long_loops_may_differ);
    tcase_add_test(tests, a_loop_of_which_compilers_are_told_something_keeps_its_size);
    tcase_add_test(tests, types_of_32_bits_are_one);
    tcase_add_test(tests, sizes_become_parameters);
    tcase_add_test(tests, calls_give_what_the_function_takes);
    tcase_add_test(tests, sizes_of_64_bits_may_differ);
    tcase_add_test(tests, tiles_keep_their_height_not_the_length_of_sums);
    return run_tests("tree_equal", tests);
}
