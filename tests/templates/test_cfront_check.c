/* The in-memory check of emitted C: silent on clean code for all targets, and finds what emitters get wrong. */
#include "base/file.h"
#include "base/str.h"
#include "cfront/cfront.h"
#include "../unit/suite.h"

#include <check.h>
#include <string.h>

static const char *const targets[] = {"x86_64-linux-gnu", "aarch64-linux-gnu", "arm-none-eabi", "riscv32-unknown-elf",
                                      "avr"};

static struct arena arena;
static struct diag diag;

static void setup(void)
{
    arena = (struct arena){0};
    diag = (struct diag){.arena = &arena};
}

static void teardown(void)
{
    arena_free(&arena);
}

static const char *source_file(const char *path)
{
    unsigned char *bytes;
    size_t size;
    ck_assert(file_read(&diag, &arena, arena_printf(&arena, SOURCE_DIR "/%s", path), (size_t)1 << 24, &bytes, &size));
    return (const char *)bytes;
}

START_TEST(clean_text)
{
    static const char text[] = "#include \"model.h\"\n"
                               "#include <string.h>\n"
                               "void model_copy(float *restrict y, const float *restrict x, int64_t n)\n"
                               "{\n"
                               "    memcpy(y, x, (size_t)n * sizeof *y);\n"
                               "    y[0] = x[0] > 0.5f ? 1.0f : 0.0f;\n"
                               "}\n";
    static const char header[] =
        "#include <stdint.h>\nvoid model_copy(float *restrict y, const float *restrict x, int64_t n);\n";
    const struct cfront_file others[] = {{"model.h", header}};
    ck_assert(cfront_check(&diag, "out/model.c", text, targets[_i], NULL, others, 1));
    ck_assert_uint_eq(diag.messages.count, 0);
}
END_TEST

static const struct {
    const char *text, *message;
    int line, col;
} mistakes[] = {
    {"static float f(float x)\n{\n    return x * 1.5;\n}\nfloat g(float x);\nfloat g(float x) { return f(x); }\n",
     "-Wimplicit-float-conversion", 3, 14},
    {"int f(unsigned x);\nint f(unsigned x)\n{\n    return x;\n}\n", "-Wsign-conversion", 4, 12},
    {"int f(int x)\n{\n    return x;\n}\n", "-Wmissing-prototypes", 1, 5},
    {"int f(int x);\nint f(int x)\n{\n    int y = x;\n    { int y = 1; x = y; }\n    return x + y;\n}\n", "-Wshadow", 5,
     11},
    {"static int unused(void)\n{\n    return 1;\n}\n", "-Wunused-function", 1, 12},
    {"int x = ;\n", "expected expression", 1, 9},
    {"#if MISSING\n#endif\nextern int x;\n", "-Wundef", 1, 5},
    {"int f(const int *p);\nint f(const int *p)\n{\n    return *(int *)p;\n}\n", "-Wcast-qual", 4, 20}};

START_TEST(mistakes_are_found)
{
    ck_assert(!cfront_check(&diag, "out/model.c", mistakes[_i].text, "x86_64-linux-gnu",
                            (const char *const[]){"-Wsign-conversion", NULL}, NULL, 0));
    ck_assert_uint_ge(diag.messages.count, 1);
    const struct diag_message *m = &diag.messages.data[0];
    ck_assert_str_eq(m->loc.file, "out/model.c");
    ck_assert_msg(strstr(m->text, mistakes[_i].message) != NULL, "%s", m->text);
    ck_assert_int_eq(m->loc.line, mistakes[_i].line);
    ck_assert_int_eq(m->loc.col, mistakes[_i].col);
}
END_TEST

/* The runtime's headers as emitted code sees them; not for AVR, whose double has 32 bits. */
START_TEST(runtime_headers_are_clean)
{
    const struct cfront_file others[] = {{"stepc_math.h", source_file("runtime/stepc_math.h")},
                                         {"stepc_trigonometry.h", source_file("runtime/stepc_trigonometry.h")},
                                         {"stepc_hyperbolic.h", source_file("runtime/stepc_hyperbolic.h")},
                                         {"stepc_rounding.h", source_file("runtime/stepc_rounding.h")},
                                         {"stepc_random.h", source_file("runtime/stepc_random.h")},
                                         {"stepc_integer.h", source_file("runtime/stepc_integer.h")},
                                         {"stepc.h", source_file("runtime/stepc.h")}};
    const char *text = "#include \"stepc.h\"\n#include \"stepc_integer.h\"\n#include \"stepc_random.h\"\n#include "
                       "\"stepc_rounding.h\"\n"
                       "#include \"stepc_trigonometry.h\"\n#include \"stepc_hyperbolic.h\"\n";
    const bool ok = cfront_check(&diag, "model.c", text, targets[_i], NULL, others, sizeof others / sizeof *others);
    ck_assert_msg(ok, "%s:%d: %s", diag.messages.data[0].loc.file, diag.messages.data[0].loc.line,
                  diag.messages.data[0].text);
}
END_TEST

START_TEST(golden_program_is_clean)
{
    const struct cfront_file others[] = {{"mlp_64_32_10.h", source_file("tests/golden/mlp_64_32_10.h")},
                                         {"stepc.h", source_file("runtime/stepc.h")}};
    const bool ok =
        cfront_check(&diag, "mlp_64_32_10.c", source_file("tests/golden/mlp_64_32_10.c"), targets[_i], NULL, others, 2);
    ck_assert_msg(ok, "%s:%d: %s", diag.messages.data[0].loc.file, diag.messages.data[0].loc.line,
                  diag.messages.data[0].text);
}
END_TEST

int main(void)
{
    const int target_count = sizeof targets / sizeof *targets;
    TCase *tcase = tcase_create("check");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, clean_text, 0, target_count);
    tcase_add_loop_test(tcase, mistakes_are_found, 0, sizeof mistakes / sizeof *mistakes);
    tcase_add_loop_test(tcase, runtime_headers_are_clean, 0, target_count - 1);
    tcase_add_loop_test(tcase, golden_program_is_clean, 0,
                        target_count - 1); /* its index arithmetic needs ints of 32 bits */
    return run_tests("cfront", tcase);
}
