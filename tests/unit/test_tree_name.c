/* Names of variables: wishes that come true, and what is taken. */
#include "tree/template.h"
#include "suite.h"

#include <check.h>
#include <string.h>

static struct arena arena;
static struct tree_function kernel, part;
static struct tree_builder b;

static void begin(void)
{
    arena = (struct arena){0};
    kernel = (struct tree_function){.name = "kernel", .attributes = "", .type = "void"};
    part = (struct tree_function){.name = "part", .attributes = "", .type = "void"};
    b = tree_builder(&arena, &kernel.body);
}

static void end(void)
{
    arena_free(&arena);
}

static bool is_while(const char *name)
{
    return !strcmp(name, "while");
}

static void name_all(void)
{
    tree_name(&arena, (struct tree_function *const[]){&part, &kernel}, 2, is_while);
}

static struct tree_var *value(const char *wish)
{
    return tree_var(&arena, VAR_VALUE, DTYPE_FLOAT, "float", wish);
}

static struct tree_var *open_loop(const char *wish)
{
    struct tree_var *const v = tree_index_var(&arena, VAR_LOOP, "int", wish, 0, 3);
    tree_open_loop(&b, v, index_constant(&arena, 0), index_constant(&arena, 4), 1, LOOP_PLAIN);
    return v;
}

static void declare(const struct tree_var *v)
{
    tree_declare(&b, v, expr_float(&arena, DTYPE_FLOAT, 1));
}

START_TEST(loops_one_in_another_take_the_next_letter)
{
    struct tree_var *const first = open_loop("i"), *const second = open_loop("i"), *const third = open_loop("l");
    struct tree_var *const fourth = open_loop("l");
    for (int i = 0; i < 4; i++)
        tree_close(&b);
    name_all();
    ck_assert_str_eq(first->name, "i");
    ck_assert_str_eq(second->name, "j");
    ck_assert_str_eq(third->name, "l");
    ck_assert_str_eq(fourth->name, "k");
}
END_TEST

START_TEST(loops_one_behind_another_are_called_alike)
{
    struct tree_var *const first = open_loop("i");
    tree_close(&b);
    struct tree_var *const second = open_loop("i");
    tree_close(&b);
    name_all();
    ck_assert_str_eq(first->name, "i");
    ck_assert_str_eq(second->name, "i");
}
END_TEST

START_TEST(a_declaration_holds_to_the_end_of_its_list)
{
    struct tree_var *const outer = value("sum"), *const inner = value("sum"), *const later = value("sum");
    open_loop("i");
    declare(outer);
    open_loop("i");
    declare(inner);
    tree_close(&b);
    tree_close(&b);
    open_loop("i");
    declare(later);
    tree_close(&b);
    name_all();
    ck_assert_str_eq(outer->name, "sum");
    ck_assert_str_eq(inner->name, "other_sum");
    ck_assert_str_eq(later->name, "sum");
}
END_TEST

START_TEST(many_of_one_wish_are_counted_in_words)
{
    enum { COUNT = 10 };
    struct tree_var *all[COUNT];
    for (int i = 0; i < COUNT; i++)
        declare(all[i] = value("t"));
    name_all();
    ck_assert_str_eq(all[0]->name, "t");
    ck_assert_str_eq(all[1]->name, "other_t");
    ck_assert_str_eq(all[2]->name, "third_t");
    ck_assert_str_eq(all[7]->name, "eighth_t");
    ck_assert_str_eq(all[8]->name, "t_9");
    ck_assert_str_eq(all[9]->name, "t_10");
}
END_TEST

START_TEST(parameters_come_first)
{
    struct tree_var *const inner = value("x"), *const x = value("x");
    vec_push(&arena, &kernel.params, x);
    declare(inner);
    name_all();
    ck_assert_str_eq(x->name, "x");
    ck_assert_str_eq(inner->name, "other_x");
}
END_TEST

/* A part shares the kernel's variables, and gives way to their names. */
START_TEST(parts_know_the_names_of_the_kernel)
{
    struct tree_var *const shared = value("x"), *const before = value("x"), *const own = value("other_x");
    struct tree_var *const given = value("other_x");
    declare(before);
    declare(shared);
    vec_push(&arena, &part.params, given);
    vec_push(&arena, &part.params, shared);
    b = tree_builder(&arena, &part.body);
    declare(own);
    name_all();
    ck_assert_str_eq(before->name, "x");
    ck_assert_str_eq(shared->name, "other_x");
    ck_assert_str_eq(given->name, "other_other_x");
    ck_assert_str_eq(own->name, "third_other_x");
}
END_TEST

START_TEST(words_of_c_and_functions_that_are_called_are_no_names)
{
    struct tree_var *const v = value("while"), *const called = value("expf");
    const struct expr *const one = expr_float(&arena, DTYPE_FLOAT, 1);
    declare(v);
    tree_declare(&b, called, tree_call(&arena, DTYPE_FLOAT, CALL_NAMED, "expf", &one, 1));
    name_all();
    ck_assert_str_eq(v->name, "other_while");
    ck_assert_str_eq(called->name, "other_expf");
}
END_TEST

/* A variable that is declared in two places has one name, which nothing around the second place may have. */
START_TEST(a_name_that_is_given_is_not_hidden)
{
    struct tree_var *const twice = value("t"), *const around = value("t");
    open_loop("i");
    declare(twice);
    tree_close(&b);
    open_loop("i");
    declare(around);
    open_loop("i");
    declare(twice);
    tree_close(&b);
    tree_close(&b);
    name_all();
    ck_assert_str_eq(twice->name, "t");
    ck_assert_str_eq(around->name, "other_t");
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, loops_one_in_another_take_the_next_letter);
    tcase_add_test(tests, loops_one_behind_another_are_called_alike);
    tcase_add_test(tests, a_declaration_holds_to_the_end_of_its_list);
    tcase_add_test(tests, many_of_one_wish_are_counted_in_words);
    tcase_add_test(tests, parameters_come_first);
    tcase_add_test(tests, parts_know_the_names_of_the_kernel);
    tcase_add_test(tests, words_of_c_and_functions_that_are_called_are_no_names);
    tcase_add_test(tests, a_name_that_is_given_is_not_hidden);
    return run_tests("tree_name", tests);
}
