/* Text from templates: arithmetic on literals, the kernel's name, wrapping; identifiers. */
#include "emit/emit_internal.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static void teardown(void)
{
    arena_free(&arena);
}

static const struct {
    const char *in, *out;
} folds[] = {
    {"x = 10 % 16;\n", "x = 10;\n"},
    {"for (int p = 0; p < 32 - 32 % 16; p += 16)\n", "for (int p = 0; p < 32; p += 16)\n"},
    {"f(10 % 16, 10 - 10 % 16, b + (10 - 10 % 16) * 32);\n", "f(10, 0, b);\n"},
    {"x = y[(first + r) * 1 + k * 10 + 0];\n", "x = y[(first + r) + k * 10];\n"},
    {"x = e[0 + l];\n", "x = e[l];\n"},
    {"x = (0 + y) * 32 + (0 * 4);\n", "x = y * 32;\n"},
    {"return (line / 1) * 8;\n", "return line * 8;\n"},
    {"x = (k) * y; f((y), (y)[0], (y)(1), g (y));\n", "x = k * y; f(y, (y)[0], (y)(1), g (y));\n"},
    {"x = (y", "x = (y\n"},                             /* nothing is read behind the end */
    {"x = (y) <", "x = (y) <\n"},
    {"x = (float)y + (int)(z); (void)y;\n", "x = (float)y + (int)(z); (void)y;\n"},
    {"x = (float)(32 * 1);\n", "x = (float)(32);\n"},
    {"x = PARTS(32) + 3 * TILE;\n", "x = PARTS(32) + 3 * TILE;\n"},
    {"x = a * 10 % 16;\n", "x = a * 10 % 16;\n"},      /* from the left */
    {"x = a - 10 - 3;\n", "x = a - 10 - 3;\n"},
    {"x = a - 10 % 4;\n", "x = a - 2;\n"},
    {"x = 3 + 4 * k;\n", "x = 3 + 4 * k;\n"},
    {"x = a + 0 * k;\n", "x = a + 0 * k;\n"},
    {"x = (int64_t)7 % 4;\n", "x = (int64_t)7 % 4;\n"}, /* another type */
    {"x = 1.5f * 2 - 0x10 - 4u;\n", "x = 1.5f * 2 - 0x10 - 4u;\n"},
    {"x = 3 - 5;\n", "x = 3 - 5;\n"},                   /* stays unsigned text */
    {"x = 1; /* 3 - 2 + 0 */\n", "x = 1; /* 3 - 2 + 0 */\n"},
    {"x = 7 % 0;\n", "x = 7 % 0;\n"},
    {"@NAME@_part(@NAME@);\n", "product_part(product);\n"},
};

/* The words of C and of its headers: the first and the last that are known, and some between. */
static const struct {
    const char *wish, *name;
} mangled[] = {
    {"NULL", "NULL_"},              {"abort", "abort_"},     {"abs", "abs_"},       {"auto", "auto_"},
    {"bool", "bool_"},              {"case", "case_"},       {"const", "const_"},   {"do", "do_"},
    {"double", "double_"},          {"else", "else_"},       {"exp", "exp_"},       {"exp2", "exp2_"},
    {"float", "float_"},            {"for", "for_"},         {"goto", "goto_"},     {"if", "if_"},
    {"in", "in_"},                  {"index", "index_"},     {"int", "int_"},       {"int8_t", "int8_t_"},
    {"j0", "j0_"},                  {"log", "log_"},         {"log1p", "log1p_"},   {"main", "main_"},
    {"memcpy", "memcpy_"},          {"new", "new_"},         {"out", "out_"},       {"register", "register_"},
    {"size_t", "size_t_"},          {"state", "state_"},     {"static", "static_"}, {"this", "this_"},
    {"uint8_t", "uint8_t_"},        {"void", "void_"},       {"while", "while_"},   {"xor", "xor_"},
    {"xor_eq", "xor_eq_"},          {"y0", "y0_"},           {"yn", "yn_"},         {"stepc_x", "stepc_x_"},
    {"x", "x"},                     {"exp3", "exp3"},        {"Auto", "Auto"},      {"zz", "zz"},
    {"layer.0/W-1", "layer_0_W_1"}, {"9 lives", "v9_lives"}, {"__a__b__", "a_b"},   {"/", "v"},
    {"a_name_that_is_longer_than_what_C_promises_to_tell_apart", "a_name_that_is_longer_than_what_C_promises_to_te"},
};

START_TEST(names_become_identifiers)
{
    ck_assert_str_eq(name_mangle(&arena, mangled[_i].wish), mangled[_i].name);
}
END_TEST

START_TEST(text_is_laid_out)
{
    ck_assert_str_eq(layout_kernel(&arena, folds[_i].in, "product"), folds[_i].out);
}
END_TEST

START_TEST(heads_are_wrapped_for_the_name)
{
    const char *text = layout_kernel(&arena,
                                     "static void @NAME@_part(const int rows, const float *restrict first,\n"
                                     "                        const float *restrict second, float *restrict y)\n"
                                     "{\n"
                                     "}\n",
                                     "a_rather_long_name_of_a_kernel_with_sizes_128x2048x784");
    ck_assert_str_eq(text, "static void a_rather_long_name_of_a_kernel_with_sizes_128x2048x784_part(const int rows, "
                           "const float *restrict first,\n"
                           "        const float *restrict second, float *restrict y)\n"
                           "{\n"
                           "}\n");
    const char *shorter =
        layout_kernel(&arena, "static void @NAME@_part(const int rows,\n                        float *restrict y)\n",
                      "f");
    ck_assert_str_eq(shorter, "static void f_part(const int rows, float *restrict y)\n");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emit_layout");
    TCase *c = tcase_create("layout");
    tcase_add_checked_fixture(c, NULL, teardown);
    tcase_add_loop_test(c, names_become_identifiers, 0, sizeof mangled / sizeof *mangled);
    tcase_add_loop_test(c, text_is_laid_out, 0, sizeof folds / sizeof *folds);
    tcase_add_test(c, heads_are_wrapped_for_the_name);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    const int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
