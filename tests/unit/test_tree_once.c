/* A value that is stored, and read by others: it is stored at once, and read there. */
#include "tree/tree.h"
#include "suite.h"

#include <check.h>

static struct arena arena;
static struct tree_var *u, *w, *x, *y, *z;
static stmt_list body;
static struct tree_builder b;

static struct tree_var *pointer(const char *name)
{
    struct tree_var *const v = tree_var(&arena, VAR_POINTER, DTYPE_FLOAT, "float", name);
    v->count = 4;
    v->written = v->is_restrict = true;
    return v;
}

static const struct expr *at(const struct tree_var *v, int64_t i)
{
    return tree_element(&arena, v, index_constant(&arena, i));
}

static const struct expr *sum(const struct expr *p, const struct expr *q)
{
    return expr_binary(&arena, EXPR_ADD, p, q);
}

static const struct expr *read_u(void)
{
    return tree_read(&arena, u);
}

static void begin(void)
{
    arena = (struct arena){0};
    body = (stmt_list){0};
    b = tree_builder(&arena, &body);
    u = tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "u");
    w = pointer("w");
    x = pointer("x");
    y = pointer("y");
    z = pointer("z");
}

static void end(void)
{
    arena_free(&arena);
}

static void set(const struct expr *to, const struct expr *value)
{
    tree_set(&b, to, SET_TO, value);
}

/* u = y[0] + x[0]; .. y[0] = u; z[0] = x[1] + u, and what the case adds. */
static void declare_u(void)
{
    tree_declare(&b, u, sum(at(y, 0), at(x, 0)));
}

static void store_u(void)
{
    set(at(y, 0), read_u());
}

static void use_u(void)
{
    set(at(z, 0), sum(at(x, 1), read_u()));
}

static void plain(void)
{
    declare_u();
    store_u();
    use_u();
}

static void behind_another_value(void)
{
    struct tree_var *const v = tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", "v");
    declare_u();
    tree_declare(&b, v, sum(at(x, 2), at(x, 3)));
    store_u();
    use_u();
    set(at(w, 0), sum(tree_read(&arena, v), tree_read(&arena, v)));
}

static void behind_a_use(void)
{
    declare_u();
    use_u();
    store_u();
}

static void behind_a_read_of_the_place(void)
{
    declare_u();
    set(at(w, 0), sum(at(y, 0), at(x, 0)));
    store_u();
    use_u();
}

static void before_another_store_there(void)
{
    declare_u();
    store_u();
    set(at(y, 0), at(x, 2));
    use_u();
}

static void before_a_read_of_a_neighbour(void)
{
    declare_u();
    store_u();
    use_u();
    set(at(w, 0), sum(at(y, 1), at(x, 0)));
}

static void with_another_name_for_it(void)
{
    x->is_restrict = false;
    plain();
}

static void in_memory_that_others_may_name(void)
{
    y->is_restrict = false;
    plain();
}

static void read_in_a_loop(void)
{
    declare_u();
    store_u();
    tree_open_loop(&b, tree_index_var(&arena, VAR_LOOP, "int", "i", 0, 3), index_constant(&arena, 0),
                   index_constant(&arena, 4), 1, LOOP_PLAIN);
    use_u();
    tree_close(&b);
}

static void read_twice(void)
{
    declare_u();
    store_u();
    set(at(z, 0), sum(read_u(), read_u()));
}

static void read_in_a_branch(void)
{
    declare_u();
    store_u();
    set(at(z, 0), expr_select(&arena, expr_binary(&arena, EXPR_LT, at(x, 1), at(x, 2)), read_u(), at(x, 3)));
}

static void at_a_place_that_is_found_later(void)
{
    struct tree_var *const i = tree_index_var(&arena, VAR_VALUE, "int", "i", 0, 3);
    declare_u();
    tree_declare(&b, i, index_cast(&arena, "int", at(x, 2)));
    set(tree_element(&arena, y, tree_read(&arena, i)), read_u());
    use_u();
}

static const struct {
    const char *name;
    void (*make)(void);
    bool at_once;
} cases[] = {
#define CASE(name, at_once) {#name, name, at_once}
    CASE(plain, true), CASE(behind_another_value, true), CASE(behind_a_use, true),
    CASE(behind_a_read_of_the_place, false), CASE(before_another_store_there, false),
    CASE(before_a_read_of_a_neighbour, false), CASE(with_another_name_for_it, false),
    CASE(in_memory_that_others_may_name, false), CASE(read_in_a_loop, false), CASE(read_twice, false),
    CASE(read_in_a_branch, false), CASE(at_a_place_that_is_found_later, false)};

static bool is_u(const struct expr *e, void *unused)
{
    (void)unused;
    return e->op == EXPR_VAR && e->var == u;
}

/* int i = p[0]; y[i] = (float)i; */
START_TEST(an_index_that_the_target_reads_stays)
{
    struct tree_var *const i = tree_index_var(&arena, VAR_VALUE, "int", "i", 0, 3);
    struct tree_var *const p = tree_var(&arena, VAR_POINTER, DTYPE_INDEX, "int", "p");
    const struct expr *const read = tree_read(&arena, i);
    tree_declare(&b, i, at(p, 0));
    set(tree_element(&arena, y, read), expr_cast(&arena, DTYPE_FLOAT, read));
    tree_inline_elements(&arena, &body);
    ck_assert_uint_eq(body.count, 2);
}
END_TEST

START_TEST(values_are_stored_at_once)
{
    cases[_i].make();
    tree_inline_elements(&arena, &body);
    ck_assert_msg(!tree_any(&body, is_u, NULL) == cases[_i].at_once, "%s", cases[_i].name);
    if (cases[_i].at_once) { /* y[0] += x[0] */
        ck_assert_int_eq(body.data[0]->kind, STMT_SET);
        ck_assert_ptr_eq(body.data[0]->target->var, y);
        ck_assert_int_eq(body.data[0]->op, SET_SUM);
    }
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, an_index_that_the_target_reads_stays);
    tcase_add_loop_test(tests, values_are_stored_at_once, 0, (int)(sizeof cases / sizeof *cases));
    return run_tests("tree_once", tests);
}
