/* The template language, from sample.c through gen_templates and template_instantiate() to a compiled program; and the
 * messages of gen_templates for each file in errors/, whose first line says what is expected. */
#include "base/file.h"
#include "lower/template.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct template_table sample_templates;

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct arena arena;

static void setup(void)
{
    arena = (struct arena){0};
}

static void teardown(void)
{
    arena_free(&arena);
}

/* ---- instances of sample_vector ---------------------------------------------------------------------------------- */

static const struct template_capture captures[] = {{"finish", "float *restrict y", "y"},
                                                   {"finish", "const float rate", "rate"},
                                                   {"load_a", "const float *restrict x", "x"},
                                                   {"row", "float *restrict y", "y"}};
static const struct template_name exprs[] = {{"load_a", "x[$1 * 8 + $2]"}};
static const struct template_name params[] = {{"a", "x"}};
static const struct template_name types_float[] = {{"T", "float"}}, types_double[] = {{"T", "double"}};

static struct template_instance instantiate(const char *kernel, struct template_binding *b,
                                            const struct template_int *ints, size_t count)
{
    const struct template_kernel *k = template_find(&sample_templates, kernel);
    ck_assert_ptr_nonnull(k);
    b->name = "sum_2x8";
    b->ints = ints;
    b->int_count = count;
    b->types = b->types ? b->types : types_float;
    b->type_count = 1;
    b->exprs = exprs;
    b->expr_count = COUNT(exprs);
    b->params = params;
    b->param_count = COUNT(params);
    b->captures = captures;
    b->capture_count = COUNT(captures);
    struct template_instance out;
    template_instantiate(&arena, k, b, &out);
    return out;
}

static const char *piece(const struct template_instance *made, const char *name)
{
    for (size_t i = 0; i < made->pieces.count; i++) {
        if (str_equal(made->pieces.data[i].name, name))
            return made->pieces.data[i].text;
    }
    return NULL;
}

static const struct template_name one_line[] = {{"finish", "y[$1 * 8 + $2] = $3;"}, {"row", ""}};
static const struct template_name two_lines[] = {{"finish", "const float v = $3;\ny[$1 * 8 + $2] = v * rate;"},
                                                 {"row", "y[$1] += 1;"}};

START_TEST(one_line_statements)
{
    const struct template_int ints[] = {{"M", 2}, {"N", 8}, {"SHIFT", -1}, {"WITH_ROW", 1}, {"MODE", 0}, {"UNROLL", 2}};
    struct template_binding b = {.stmts = one_line, .stmt_count = 2};
    const struct template_instance made = instantiate("sample_vector", &b, ints, COUNT(ints));
    ck_assert_str_eq(made.body, "float acc[8], lanes[WIDTH] = {0.0f};\n"
                                "struct {\n"
                                "    int a;\n"
                                "} member;\n"
                                "member.a = 2; /* a member with the name of a parameter stays */\n"
                                "quad q = {0};\n"
                                "memset(acc, 0, sizeof acc);\n"
                                "\n"
                                "for (int i = 0; i < 2; i++) {\n"
                                "    acc[i] = x[i * (-1) + 16];\n"
                                "}\n"
                                "#pragma GCC unroll 2\n"
                                "for (int i = 0; i < 2; i++) {\n"
                                "    if (acc[i] > 0) /* at run time */\n"
                                "        sum_2x8_part(i, offsets[1], y, rate, x);\n"
                                "    else\n"
                                "        y[i * 8 + (2 * i)] = acc[i];\n"
                                "}\n"
                                "const float acc_2 = stepc_fabsf(acc[0]);\n"
                                "add_scaled(lanes, acc_2, x);\n"
                                "y[2] = x[0 * 8 + 1] + lanes[0] + q[0] + (float)member.a;\n");
    ck_assert_str_eq(
        piece(&made, "sum_2x8_part"),
        "/* One row. */\n"
        "static inline void sum_2x8_part(const int i, const int from, float *restrict y, const float rate,\n"
        "                                const float *restrict x)\n"
        "{\n"
        "    (void)rate;\n"
        "    for (int j = from; j < 8; j++)\n"
        "        y[i * 8 + (j + (-1))] = twice_float(0.5f) + x[i * 8 + (j - 1)] * 2;\n"
        "}\n");
    ck_assert_str_eq(piece(&made, "quad"), "typedef float quad __attribute__((vector_size(16)));\n");
    ck_assert_str_eq(piece(&made, "offsets"), "static const int offsets[2] = {0, 1};\n");
    ck_assert_str_eq(piece(&made, "pair_float"), "typedef float pair_float[2];\n");
    ck_assert_ptr_null(piece(&made, "unused_in_some")); /* its branch is dead */
    ck_assert_uint_eq(made.helpers.count, 1);
    ck_assert_str_eq(made.helpers.data[0], "stepc_fabsf");
    ck_assert_uint_eq(made.sections.count, 1);
    ck_assert_str_eq(made.sections.data[0].name, "sample_lanes");
    ck_assert(made.params_used[0] && made.params_used[1]);
}
END_TEST

START_TEST(two_line_statements_get_braces)
{
    const struct template_int ints[] = {{"M", 3}, {"N", 4}, {"SHIFT", 0}, {"WITH_ROW", 1}, {"MODE", 1}, {"UNROLL", 2}};
    struct template_binding b = {.stmts = two_lines, .stmt_count = 2};
    const struct template_instance made = instantiate("sample_vector", &b, ints, COUNT(ints));
    ck_assert_ptr_nonnull(strstr(made.body, "\nconst int local = unused_in_some(3);\ny[0] = x[local];\n#pragma"));
    ck_assert_ptr_nonnull(strstr(
        made.body, "    else {\n        const float v = acc[i];\n        y[i * 8 + (2 * i)] = v * rate;\n    }\n}\n"));
    ck_assert_ptr_nonnull(strstr(piece(&made, "sum_2x8_part"),
                                 "    for (int j = from; j < 4; j++) {\n"
                                 "        const float v = twice_float(0.5f) + x[i * 8 + (j - 1)] * 2;\n"
                                 "        y[i * 8 + (j + 0)] = v * rate;\n"
                                 "    }\n"
                                 "    y[i] += 1;\n"
                                 "}\n"));
    ck_assert_ptr_nonnull(piece(&made, "unused_in_some"));
}
END_TEST

START_TEST(captures_go_where_their_hole_is_live)
{
    const struct template_int ints[] = {{"M", 3}, {"N", 4}, {"SHIFT", 0}, {"WITH_ROW", 0}, {"MODE", 2}, {"UNROLL", 2}};
    static const struct template_capture only_row[] = {{"row", "float *restrict rows", "rows"}};
    struct template_binding b = {.stmts = one_line, .stmt_count = 2};
    instantiate("sample_vector", &b, ints, COUNT(ints));
    b.captures = only_row;
    b.capture_count = 1;
    struct template_instance made;
    template_instantiate(&arena, template_find(&sample_templates, "sample_vector"), &b, &made);
    ck_assert_ptr_null(strstr(piece(&made, "sum_2x8_part"), "rows"));
    ck_assert_ptr_nonnull(strstr(made.body, "sum_2x8_part(i, offsets[1]);"));
    ck_assert_ptr_nonnull(strstr(made.body, "\ny[1] = x[1];\n"));
    ck_assert_uint_eq(made.helpers.count, 0);
}
END_TEST

static const char *describe(void *user, const char *hole, const char *const *args, size_t count, bool bare)
{
    (void)user;
    struct strbuf text = {.arena = &arena};
    strbuf_addf(&text, "%s%s<", hole, bare ? " bare" : "");
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&text, "%s%s", i ? "|" : "", args[i]);
    strbuf_add(&text, ">");
    return strbuf_text(&text);
}

START_TEST(filling_by_function)
{
    const struct template_int ints[] = {{"M", 1}, {"N", 4}, {"SHIFT", 0}, {"WITH_ROW", 0}, {"MODE", 2}, {"UNROLL", 2}};
    struct template_binding b = {.fill = describe, .types = types_double};
    const struct template_instance made = instantiate("sample_vector", &b, ints, COUNT(ints));
    ck_assert_ptr_nonnull(strstr(made.body, "        finish<i|2 * i|acc[i]>\n"));
    ck_assert_ptr_nonnull(
        strstr(piece(&made, "sum_2x8_part"), "        finish<i|j + 0|twice_double(0.5) + x[i * 8 + (j - 1)] * 2>\n"));
    ck_assert_ptr_nonnull(strstr(made.body, "lanes[WIDTH_double] = {0.0};\n"));
}
END_TEST

/* Left out with their hints where there is one iteration, unless the body leaves the loop itself or is but a hole. */
START_TEST(loops_of_one_iteration)
{
    const struct template_int once[] = {{"M", 1}, {"N", 4}}, twice[] = {{"M", 2}, {"N", 4}};
    struct template_binding b = {.stmts = one_line, .stmt_count = 2};
    ck_assert_str_eq(instantiate("sample_loops", &b, once, COUNT(once)).body, "float sum = 0.0f;\n"
                                                                              "{\n"
                                                                              "    const float first = x[0];\n"
                                                                              "    for (int j = 0; j < 4; j++)\n"
                                                                              "        sum += first * x[0 * 4 + j];\n"
                                                                              "}\n"
                                                                              "y[0 + 0] = sum;\n"
                                                                              "for (int i = 0; i < 1; i++) {\n"
                                                                              "    if (x[i] > 0)\n"
                                                                              "        break;\n"
                                                                              "    y[i] = sum;\n"
                                                                              "}\n"
                                                                              "for (int i = 0; i < 1; i++)\n"
                                                                              "    y[i * 8 + 0] = sum;\n"
                                                                              "{\n"
                                                                              "    const float first = y[0];\n"
                                                                              "    y[0 * 8 + 0] = first;\n"
                                                                              "}\n"
                                                                              "for (int i = 0; i < 4; i += 2)\n"
                                                                              "    y[i] = sum;\n");
    const struct template_instance made = instantiate("sample_loops", &b, twice, COUNT(twice));
    ck_assert_ptr_nonnull(strstr(made.body, "for (int i = 0; i < 2; i++) {\n"
                                            "    const float first = x[i];\n"
                                            "    for (int j = 0; j < 4; j++)\n"
                                            "        sum += first * x[i * 4 + j];\n"
                                            "}\n"
                                            "STEPC_SELECT_LOOP\n"
                                            "for (int i = 0; i < 2; i++)\n"
                                            "    for (int j = 0; j < 2; j++)\n"
                                            "        y[i + j] = sum;\n"));
}
END_TEST

START_TEST(forms_params_and_names)
{
    const struct template_kernel *k = template_find(&sample_templates, "sample_vector");
    ck_assert_str_eq(k->form, "vector");
    ck_assert_str_eq(k->comment, "/* Adds rows of a. */");
    ck_assert_str_eq(template_find(&sample_templates, "sample_scalar")->form, "scalar");
    ck_assert_ptr_null(template_find(&sample_templates, "sample"));
    const struct template_binding b = {.types = types_double, .type_count = 1, .params = params, .param_count = 1};
    ck_assert_uint_eq(k->param_count, 2);
    ck_assert_str_eq(template_param_text(&arena, k, 0, &b), "const double *restrict x");
    ck_assert_str_eq(template_param_text(&arena, k, 1, &b), "double *restrict y");
    struct strbuf names = {.arena = &arena};
    for (const char *const *name = k->names; *name; name++)
        strbuf_addf(&names, "%s ", *name);
    ck_assert_str_eq(strbuf_text(&names), "x both i from j a y acc lanes member q local acc_2 sum first quad pair "
                                          "offsets twice unused_in_some part WIDTH add_scaled ");
}
END_TEST

START_TEST(sections_for_two_types)
{
    const struct template_use uses[] = {{"sample_lanes", "float"}, {"sample_lanes", "double"}};
    struct strbuf text = {.arena = &arena};
    template_add_sections(&arena, &sample_templates, uses, 2, &text, NULL);
    const char *s = strbuf_text(&text);
    ck_assert_ptr_nonnull(strstr(s, "#define WIDTH (16 / (int)sizeof(float))\ntypedef float wide "));
    ck_assert_ptr_nonnull(strstr(s, "#define WIDTH_double (16 / (int)sizeof(double))\ntypedef double wide_double "));
    ck_assert_ptr_nonnull(
        strstr(s, "static inline __attribute__((unused)) void add_scaled_double(double *restrict c, "));
    ck_assert_ptr_null(strstr(s, "SAMPLE_LANES_H"));
    ck_assert_ptr_null(strstr(s, "#include"));
    ck_assert_ptr_nonnull(strstr(s, "/* c[0..WIDTH) += a * b */\nstatic inline")); /* without the comment between */
    ck_assert_ptr_null(strstr(s, "Why"));
}
END_TEST

START_TEST(helpers_with_what_they_need)
{
    bool *used = arena_array(&arena, bool, sample_templates.helper_count);
    template_use_helper(&sample_templates, "stepc_fabsf", used);
    struct strbuf names = {.arena = &arena};
    for (size_t i = 0; i < sample_templates.helper_count; i++)
        if (used[i])
            strbuf_addf(&names, "%s ", sample_templates.helpers[i].name);
    ck_assert_str_eq(strbuf_text(&names), "stepc_bitsf stepc_from_bitsf stepc_fabsf ");
    const struct template_helper *h = template_find_helper(&sample_templates, "stepc_copysignf");
    ck_assert_str_eq(h->comment, "/* The magnitude of x with the sign of s. */");
    ck_assert_int_eq(strncmp(h->text, "static inline float stepc_copysignf(float x, float s)\n{\n", 50), 0);
    /* A name inside a branch of an #if that is not active here counts as well. */
    memset(used, 0, sample_templates.helper_count);
    template_use_helper(&sample_templates, "stepc_sqrtf", used);
    ck_assert(used[template_find_helper(&sample_templates, "stepc_sqrt_softf") - sample_templates.helpers]);
}
END_TEST

START_TEST(parentheses)
{
    static const struct { const char *text, *result;
    } cases[] = {{"i", "i"},
                 {"12", "12"},
                 {"1e-5f", "1e-5f"},
                 {"scale-1", "(scale-1)"},
                 {"a[i + 1]", "a[i + 1]"},
                 {"f(x)(y)", "f(x)(y)"},
                 {"s->v.w", "s->v.w"},
                 {"(a + b)", "(a + b)"},
                 {"(a) + (b)", "((a) + (b))"},
                 {"(float)(x)", "((float)(x))"},
                 {"-x", "(-x)"},
                 {"a ? b : c", "(a ? b : c)"}};
    ck_assert_str_eq(template_parenthesise(&arena, cases[_i].text), cases[_i].result);
}
END_TEST

START_TEST(wrapping)
{
    static const struct { const char *text, *result; } cases[] = {
        {"f(a,\n        b);\n", "f(a, b);\n"},
        {"    call(first, second, third);\n", "    call(first,\n         second,\n         third);\n"},
        {"x = call(f(a, b), f(c, d));\n", "x = call(f(a, b),\n         f(c, d));\n"},
        {"x + y + z + x + y + z + x;\n", "x + y + z + x + y + z + x;\n"},
        {"/* f(a\n * b */\nf(a);\n", "/* f(a\n * b */\nf(a);\n"},
        {"#define A(x, y) something_long(x, y)\n", "#define A(x, y) something_long(x, y)\n"},
        {"long_function_name_1(a, b);\n", "long_function_name_1(a, b);\n"}};
    ck_assert_str_eq(template_wrap(&arena, cases[_i].text, 20), cases[_i].result);
}
END_TEST

/* ---- compiled and run -------------------------------------------------------------------------------------------- */

static bool run(const char *command)
{
    return system(command) == 0;
}

static void add_instance_source(struct strbuf *source, const char *type)
{
    const struct template_int ints[] = {{"M", 2}, {"N", 8}, {"SHIFT", -1}, {"WITH_ROW", 1}, {"MODE", 0}, {"UNROLL", 2}};
    static const struct template_name stmts[] = {{"finish", "y[$1 * 8 + $2] = $3;"}, {"row", "y[$1] = 9;"}};
    static const struct template_capture captured[] = {
        {"finish", "T *restrict y", "y"}, {"load_a", "const T *restrict x", "x"}, {"row", "T *restrict y", "y"}};
    const struct template_name types[] = {{"T", type}};
    struct template_binding b = {.stmts = stmts, .stmt_count = 2, .types = types};
    instantiate("sample_vector", &b, ints, COUNT(ints));
    b.captures = captured;
    b.capture_count = COUNT(captured);
    struct template_instance made;
    template_instantiate(&arena, template_find(&sample_templates, "sample_vector"), &b, &made);
    bool *used = arena_array(&arena, bool, sample_templates.helper_count);
    for (size_t i = 0; i < made.helpers.count; i++)
        template_use_helper(&sample_templates, made.helpers.data[i], used);
    struct strbuf sections = {.arena = &arena};
    template_add_sections(&arena, &sample_templates, made.sections.data, made.sections.count, &sections, used);
    strbuf_addf(source, "#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\ntypedef %s T;\n", type);
    for (size_t i = 0; i < sample_templates.helper_count; i++)
        strbuf_add(source, used[i] ? sample_templates.helpers[i].text : "");
    strbuf_add(source, strbuf_text(&sections));
    for (size_t i = 0; i < made.pieces.count; i++)
        strbuf_add(source, made.pieces.data[i].text);
    strbuf_add(source, template_function(&arena, template_find(&sample_templates, "sample_vector"), &b, &made,
                                         "static void", NULL));
}

/* a is 1 .. 40. acc = a[16], a[15]: both positive, so part(i, 1) runs for both rows and writes y[8 i + j - 1] = 1 + 2
 * a[8 i + j - 1] for j = 1 .. 7, then y[i] = 9; y[2] = a[1] + 17 * a[0] + 2 in the end. */
static const char main_text[] = "int main(void)\n{\n"
                                "    T a[40], y[16] = {0};\n"
                                "    for (int i = 0; i < 40; i++)\n"
                                "        a[i] = (T)(i + 1);\n"
                                "    sum_2x8(a, y);\n"
                                "    for (int i = 0; i < 16; i++)\n"
                                "        printf(\"%g \", (double)y[i]);\n"
                                "    return 0;\n}\n";

START_TEST(an_instance_compiles_and_runs)
{
    static const char *const types[] = {"float", "double"};
    static const char expected[] = "9 9 21 9 11 13 15 0 19 21 23 25 27 29 31 0 ";
    struct strbuf source = {.arena = &arena};
    struct diag d = {.arena = &arena};
    const char *dir;
    unsigned char *output;
    size_t size;
    add_instance_source(&source, types[_i]);
    strbuf_add(&source, main_text);
    ck_assert(temp_directory(&d, &arena, &dir));
    const char *c = path_join(&arena, dir, "instance.c"), *program = path_join(&arena, dir, "instance"),
               *text = path_join(&arena, dir, "out");
    ck_assert(file_write(&d, c, strbuf_text(&source), source.length));
    ck_assert(run(
        arena_printf(&arena, "cc -std=c99 -Wall -Wextra -Werror -O1 -o %s %s && %s > %s", program, c, program, text)));
    ck_assert(file_read(&d, &arena, text, 1000, &output, &size));
    ck_assert_str_eq((const char *)output, expected);
    temp_directory_remove(dir);
}
END_TEST

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void check_error_file(const char *path)
{
    struct diag d = {.arena = &arena};
    unsigned char *bytes, *messages;
    size_t size, message_size;
    const char *dir;
    ck_assert(file_read(&d, &arena, path, 100000, &bytes, &size));
    const char *expected = (const char *)bytes + strlen("/* error: ");
    expected = arena_strndup(&arena, expected, (size_t)(strstr(expected, " */") - expected));
    ck_assert(temp_directory(&d, &arena, &dir));
    const char *err = path_join(&arena, dir, "err");
    const char *input = str_ends_with(path, ".h")
                            ? arena_printf(&arena, "--section %s " SOURCE_DIR "/tests/templates/sample.c", path)
                            : path;
    ck_assert_msg(!run(arena_printf(&arena, GEN_TEMPLATES " --include " SOURCE_DIR "/templates -o %s/t.c %s 2> %s", dir,
                                    input, err)),
                  "%s was accepted", path);
    ck_assert(file_read(&d, &arena, err, 100000, &messages, &message_size));
    ck_assert_msg(strstr((const char *)messages, expected) != NULL, "%s: got %s", path, (const char *)messages);
    temp_directory_remove(dir);
}

START_TEST(errors_of_gen_templates)
{
    DIR *dir = opendir(SOURCE_DIR "/tests/templates/errors");
    ck_assert_ptr_nonnull(dir);
    int count = 0;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (str_ends_with(e->d_name, ".c") || str_ends_with(e->d_name, ".h")) {
            check_error_file(arena_printf(&arena, SOURCE_DIR "/tests/templates/errors/%s", e->d_name));
            count++;
        }
    }
    closedir(dir);
    ck_assert_int_gt(count, 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("template");
    TCase *tcase = tcase_create("language");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, one_line_statements);
    tcase_add_test(tcase, two_line_statements_get_braces);
    tcase_add_test(tcase, captures_go_where_their_hole_is_live);
    tcase_add_test(tcase, filling_by_function);
    tcase_add_test(tcase, loops_of_one_iteration);
    tcase_add_test(tcase, forms_params_and_names);
    tcase_add_test(tcase, sections_for_two_types);
    tcase_add_test(tcase, helpers_with_what_they_need);
    tcase_add_loop_test(tcase, parentheses, 0, 12);
    tcase_add_loop_test(tcase, wrapping, 0, 7);
    tcase_add_loop_test(tcase, an_instance_compiles_and_runs, 0, 2);
    tcase_add_test(tcase, errors_of_gen_templates);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
