/* Which loops compute sines a row at a time: those in which a row of arguments can be read before anything is
 * written. */
#include "tune/tune.h"
#include "suite.h"

#include <check.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { SIZE = 256 };

static struct arena arena;
static struct tree_builder b;
static const struct tree_var *x, *y, *k, *s;
static const struct tree_var *i; /* the loop's */
static struct stmt *loop;

static void begin(void)
{
    arena = (struct arena){0};
}

static void end(void)
{
    arena_free(&arena);
}

static struct tree_var *pointer(const char *name)
{
    struct tree_var *const v = tree_var(&arena, VAR_POINTER, DTYPE_FLOAT, "float", name);
    v->written = true;
    return v;
}

static const struct expr *constant(int64_t value)
{
    return index_constant(&arena, value);
}

static const struct expr *read_i(void)
{
    return tree_read(&arena, i);
}

static const struct expr *at(const struct tree_var *v, const struct expr *index)
{
    return tree_element(&arena, v, index);
}

static const struct expr *sine(const struct expr *e)
{
    return expr_math(&arena, EXPR_FN_SIN, e);
}

/* v[index] = sin(w[from]) */
static void set_sine(const struct tree_var *v, const struct expr *index, const struct tree_var *w,
                     const struct expr *from)
{
    tree_set(&b, at(v, index), SET_TO, sine(at(w, from)));
}

/* y[index] = sin(y[index]), the index made twice */
#define IN_PLACE(index) set_sine(y, index, y, index)

/* ---- what the loop writes ---------------------------------------------------------------------------------------- */

static void another_array(void)
{
    set_sine(y, read_i(), x, read_i());
}

static void the_same_element(void)
{
    IN_PLACE(read_i());
}

static void every_third_element(void)
{
    IN_PLACE(index_mul(&arena, read_i(), constant(3)));
}

static void elements_from_the_end(void)
{
    IN_PLACE(index_sub(&arena, constant(SIZE), read_i()));
}

static void elements_of_a_row(void)
{
    IN_PLACE(index_add(&arena, index_mul(&arena, tree_read(&arena, k), constant(SIZE)), read_i()));
}

static void the_next_element(void)
{
    set_sine(y, index_add(&arena, read_i(), constant(1)), y, read_i());
}

static void one_element(void)
{
    IN_PLACE(constant(3));
}

static void one_element_of_a_row(void)
{
    IN_PLACE(tree_read(&arena, k));
}

static void elements_a_step_apart_that_may_be_0(void)
{
    IN_PLACE(index_mul(&arena, read_i(), tree_read(&arena, k)));
}

static void elements_that_repeat(void)
{
    IN_PLACE(index_mod(&arena, read_i(), constant(4)));
}

static void elements_that_may_repeat(void)
{
    const struct expr *const part = index_mod(&arena, read_i(), constant(4));
    IN_PLACE(index_sub(&arena, read_i(), part));
}

static void an_element_by_way_of_others(void)
{
    IN_PLACE(index_sub(&arena, index_mul(&arena, read_i(), constant(2)), index_mul(&arena, read_i(), constant(2))));
}

static void written_before(void)
{
    tree_set(&b, at(x, read_i()), SET_TO, at(y, read_i()));
    set_sine(y, read_i(), x, read_i());
}

static void written_afterwards(void)
{
    set_sine(y, read_i(), x, read_i());
    tree_set(&b, at(x, read_i()), SET_TO, at(y, read_i()));
}

static void a_sum_so_far(void)
{
    tree_set(&b, tree_read(&arena, s), SET_SUM, at(x, read_i()));
    tree_set(&b, at(y, read_i()), SET_TO, sine(tree_read(&arena, s)));
}

static void a_value_with_a_name(void)
{
    struct tree_var *const v = tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "v");
    tree_declare(&b, v, at(x, read_i()));
    tree_set(&b, at(y, read_i()), SET_TO, sine(tree_read(&arena, v)));
}

/* ---- what else is in the loop ------------------------------------------------------------------------------------ */

static void a_call(void)
{
    const struct expr *const args[] = {tree_address(&arena, x, read_i())};
    tree_run(&b, tree_call(&arena, DTYPE_INDEX, CALL_NAMED, "touch", args, 1));
    another_array();
}

static void a_condition(void)
{
    tree_open_if(&b, index_compare(&arena, EXPR_LT, read_i(), constant(9)));
    another_array();
    tree_close(&b);
}

static void an_end(void)
{
    another_array();
    tree_return(&b, at(x, read_i()));
}

static void a_variable_that_is_set(void)
{
    struct tree_var *const v = tree_var(&arena, VAR_CELL, DTYPE_FLOAT, "float", "v");
    tree_declare(&b, v, at(x, read_i()));
    tree_set(&b, tree_read(&arena, v), SET_SUM, at(x, read_i()));
    another_array();
}

static void a_variable_without_a_value(void)
{
    struct tree_var *const v = tree_var(&arena, VAR_CELL, DTYPE_FLOAT, "float", "v");
    tree_declare(&b, v, NULL);
    another_array();
}

static void an_array(void)
{
    struct tree_var *const v = tree_var(&arena, VAR_ARRAY, DTYPE_FLOAT, "float", "v");
    v->count = 4;
    tree_declare_array(&b, v, at(x, read_i()), 1);
    another_array();
}

/* ---- the loop itself --------------------------------------------------------------------------------------------- */

static void of_eight(void)
{
    loop->to = constant(8);
    another_array();
}

static void of_seven(void)
{
    loop->to = constant(7);
    another_array();
}

static void of_so_many_as_are_said(void)
{
    loop->to = tree_read(&arena, k);
    another_array();
}

static void of_every_second(void)
{
    loop->step = 2;
    another_array();
}

static void that_may_end(void)
{
    loop->condition = index_compare(&arena, EXPR_LT, tree_read(&arena, k), constant(9));
    another_array();
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    void (*make)(void);
    bool in_rows;
} cases[] = {
#define ROWS(make) {#make, make, true}
#define PLAIN(make) {#make, make, false}
    ROWS(another_array),
    ROWS(the_same_element),
    ROWS(every_third_element),
    ROWS(elements_from_the_end),
    ROWS(elements_of_a_row),
    PLAIN(the_next_element),
    PLAIN(one_element),
    PLAIN(one_element_of_a_row),
    PLAIN(elements_a_step_apart_that_may_be_0),
    PLAIN(elements_that_repeat),
    PLAIN(elements_that_may_repeat),
    PLAIN(an_element_by_way_of_others),
    PLAIN(written_before),
    ROWS(written_afterwards),
    PLAIN(a_sum_so_far),
    ROWS(a_value_with_a_name),
    PLAIN(a_call),
    PLAIN(a_condition),
    PLAIN(an_end),
    PLAIN(a_variable_that_is_set),
    PLAIN(a_variable_without_a_value),
    PLAIN(an_array),
    ROWS(of_eight),
    PLAIN(of_seven),
    ROWS(of_so_many_as_are_said),
    PLAIN(of_every_second),
    PLAIN(that_may_end),
};

static bool calls_rows(const struct expr *e, void *data)
{
    (void)data;
    return e->op == EXPR_CALL && e->call->name && !strcmp(e->call->name, "stepc_sin_row");
}

START_TEST(loops_go_by_rows)
{
    stmt_list body = {0};
    x = pointer("x");
    y = pointer("y");
    k = tree_var(&arena, VAR_VALUE, DTYPE_INDEX, "int", "k");
    s = tree_var(&arena, VAR_CELL, DTYPE_FLOAT, "float", "s");
    i = tree_index_var(&arena, VAR_LOOP, "int", "i", 0, SIZE - 1);
    b = tree_builder(&arena, &body);
    loop = tree_open_loop(&b, i, constant(0), constant(SIZE), 1, LOOP_PLAIN);
    cases[_i].make();
    tree_close(&b);
    tune_row_calls(&(struct tune){.arena = &arena, .row = &targets[0], .has_vectors = true}, &body);
    ck_assert_msg(tree_any(&body, calls_rows, NULL) == cases[_i].in_rows, "%s", cases[_i].name);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, loops_go_by_rows, 0, COUNT(cases));
    return run_tests("tune_rows", tests);
}
