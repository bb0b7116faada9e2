/* Identifiers from names of the model. */
#include "emit/names.h"
#include "suite.h"

#include <check.h>

static struct arena arena;

static void begin(void)
{
    arena = (struct arena){0};
}

static void end(void)
{
    arena_free(&arena);
}

static const struct {
    const char *x, *y, *common;
} pairs[] = {{"depthwise1", "depthwise2", "depthwise"},
             {"layers.0.mlp.weight", "layers.11.mlp.weight", "layers_mlp_weight"},
             {"block1.conv1", "block1.conv2", "block1_conv"},
             {"conv1_bias", "fc2_bias", "bias"},
             {"a.b.c", "a.c", "a_c"},
             {"conv.2.bias.1", "conv.3.bias.1", "conv_bias"},
             {"fc1", "fc1.weight", "fc1"},
             {"first", "second", NULL},
             {"1", "12", NULL},
             {"x.3", "y.3", NULL}, /* a number alone is no word */
             {"d_x", "d_y", NULL}}; /* nor is a letter */

START_TEST(names_have_words_in_common)
{
    const char *const found = name_in_common(&arena, pairs[_i].x, pairs[_i].y);
    ck_assert_msg(!found == !pairs[_i].common, "%s, %s: %s", pairs[_i].x, pairs[_i].y, found ? found : "nothing");
    if (found)
        ck_assert_str_eq(found, pairs[_i].common);
}
END_TEST

START_TEST(the_first_free_name_is_taken)
{
    struct name_scope s = {.taken = {.arena = &arena}};
    const char *const wishes[] = {"compute_y", "compute_y_infer", "compute_y_add"};
    ck_assert_str_eq(name_first_free(&s, wishes, 3), "compute_y");
    ck_assert_str_eq(name_first_free(&s, wishes, 3), "compute_y_infer");
    ck_assert_str_eq(name_first_free(&s, wishes, 3), "compute_y_add");
    ck_assert_str_eq(name_first_free(&s, wishes, 3), "compute_y_add_2");
}
END_TEST

/* What a name must not be, by its beginning or its end too. */
START_TEST(names_that_are_reserved)
{
    static const char *const reserved[] = {"while",         "printf", "stepc",       "STEPC_OK", "Stepc_x",
                                           "atomic_x",      "omp_x",  "PRIXx",       "PRIdx",    "SCNdx",
                                           "INT_LEAST_MAX", "FLT_X",  "DIGITS_X_AT", "WCHAR_MIN"},
                             *const free_names[] = {"while_", "stepcs",      "step",  "atomic", "omp",    "an_omp_x",
                                                    "PRI_x",  "INT_MAXIMUM", "flt_x", "x_at",   "Int_MAX"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        ck_assert_msg(name_is_reserved(reserved[i]), "%s", reserved[i]);
    for (size_t i = 0; i < sizeof free_names / sizeof *free_names; i++)
        ck_assert_msg(!name_is_reserved(free_names[i]), "%s", free_names[i]);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, names_have_words_in_common, 0, (int)(sizeof pairs / sizeof *pairs));
    tcase_add_test(tests, the_first_free_name_is_taken);
    tcase_add_test(tests, names_that_are_reserved);
    return run_tests("emit_names", tests);
}
