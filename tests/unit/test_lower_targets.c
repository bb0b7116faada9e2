/* Rows of targets.def, and what C counts with on them. */
#include "lower/targets.h"
#include "suite.h"

#include <check.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

START_TEST(rows_are_whole)
{
    for (size_t i = 0; i < target_count; i++) {
        const struct target *const t = &targets[i];
        ck_assert_ptr_eq(target_find(t->name), t);
        ck_assert_msg(t->thread > 0 && t->description, "%s", t->name);
        ck_assert_msg(i == 0 || t->int_bits == 16 || t->int_bits == 32, "%s: bits of int", t->name);
        ck_assert_msg(t->vector_bytes % 16 == 0, "%s: vectors", t->name);
    }
}
END_TEST

static const struct {
    const char *machine; /* NULL: any */
    int64_t most;
    const char *type;
} counts[] = {{NULL, INT16_MAX, "int"},
              {NULL, INT16_MAX + 1, "int32_t"},
              {NULL, INT32_MAX, "int32_t"},
              {NULL, (int64_t)INT32_MAX + 1, "int64_t"},
              {"generic", INT16_MAX + 1, "int32_t"},
              {"avr", INT16_MAX, "int"},
              {"avr", INT16_MAX + 1, "int32_t"},
              {"cortex-m4", INT16_MAX + 1, "int"},
              {"cortex-m4", INT32_MAX, "int"},
              {"x86-64", (int64_t)INT32_MAX + 1, "int64_t"}};

START_TEST(counts_are_int_where_it_is_wide_enough)
{
    const struct target *const t = counts[_i].machine ? target_find(counts[_i].machine) : NULL;
    ck_assert_str_eq(target_index_type(t, counts[_i].most), counts[_i].type);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_test(tests, rows_are_whole);
    tcase_add_loop_test(tests, counts_are_int_where_it_is_wide_enough, 0, COUNT(counts));
    return run_tests("lower_targets", tests);
}
