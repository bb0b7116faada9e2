/* compiler/base/pages.c: what is reserved may not be touched, what is opened is zero, and arenas stand on it. */
#include "base/arena.h"
#include "base/pages.h"
#include "suite.h"

#include <check.h>
#include <signal.h>
#include <stdint.h>

enum { PART = 3 };

START_TEST(opened_pages_are_zero_and_separate)
{
    const size_t page = page_size(), length = 8 * page;
    unsigned char *const one = pages_reserve(length), *const two = pages_reserve(length);
    ck_assert_ptr_nonnull(one);
    ck_assert_ptr_nonnull(two);
    ck_assert(pages_open(one + page, PART * page) && pages_open(two, length));
    for (size_t i = 0; i < PART * page; i++) {
        ck_assert_uint_eq(one[page + i], 0);
        one[page + i] = 1;
        ck_assert_uint_eq(two[i], 0);
    }
    pages_release(one, length);
    pages_release(two, length);
}
END_TEST

/* Which side of what is open: a page before it, behind it. */
START_TEST(reserved_pages_end_the_process)
{
    const size_t page = page_size();
    signal(SIGSEGV, SIG_DFL); /* not the sanitizer's */
    volatile unsigned char *const all = pages_reserve(3 * page);
    if (all && pages_open((unsigned char *)all + page, page)) {
        all[page] = all[2 * page - 1] = 1;
        all[_i == 0 ? page - 1 : 2 * page] = 1;
    }
}
END_TEST

START_TEST(memory_has_a_size)
{
    ck_assert_uint_ge(system_memory(), (size_t)1 << 24);
    ck_assert_uint_gt(page_size(), 0);
}
END_TEST

START_TEST(large_pages_or_none)
{
    unsigned char *const at = pages_large(2 * PAGES_LARGE);
    if (at == NULL)
        return;
    ck_assert_uint_eq((uintptr_t)at % PAGES_LARGE, 0);
    for (size_t i = 0; i < 2 * PAGES_LARGE; i += page_size())
        ck_assert_uint_eq(at[i]++, 0);
    pages_release(at, 2 * PAGES_LARGE);
}
END_TEST

START_TEST(arenas_have_large_objects)
{
    struct arena a = {0};
    for (size_t size = PAGES_LARGE / 2; size <= 2 * PAGES_LARGE; size += PAGES_LARGE / 2) {
        unsigned char *const p = arena_alloc(&a, size, 1, 64);
        ck_assert_uint_eq(p[0] | p[size / 2] | p[size - 1], 0);
        p[0] = p[size - 1] = 1;
    }
    arena_free(&a);
}
END_TEST

int main(void)
{
    TCase *const t = tcase_create("pages");
    tcase_add_test(t, opened_pages_are_zero_and_separate);
    tcase_add_loop_test_raise_signal(t, reserved_pages_end_the_process, SIGSEGV, 0, 2);
    tcase_add_test(t, memory_has_a_size);
    tcase_add_test(t, large_pages_or_none);
    tcase_add_test(t, arenas_have_large_objects);
    return run_tests("pages", t);
}
