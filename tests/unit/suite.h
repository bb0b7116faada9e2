/* The end of a test program. */
#ifndef STEPC_TESTS_SUITE_H
#define STEPC_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Runs the suite, and says how it went as CK_VERBOSITY wants. For main() to return. */
static inline int run_suite(Suite *suite)
{
    SRunner *const runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The same of one case. */
static inline int run_tests(const char *name, TCase *tests)
{
    Suite *const suite = suite_create(name);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}

#endif
