/* A test for each of many seeds, each in a process of its own, several at a time. */
#ifndef STEPC_TESTS_SEEDS_H
#define STEPC_TESTS_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct seeds {
    const char *cc, *check, *keep; /* for tests; `keep`: the folder for what failed, made if need be */
    long long first, count, jobs;
};

/* What the test found; REFUSED and NO_MODEL are right, and counted. */
enum outcome { PASSED, FAILED, REFUSED, NO_MODEL, OUTCOMES };

/* Is there time for a long test? (STEPC_TEST_LONG is not "no".) */
bool is_long_test(void);

/* Reads [--cc "cc -O1"] [--check "cc ..."] [--first SEED] [--count N] [-j N] [--keep FOLDER] into *s, which has the
 * defaults, and runs `test` for all seeds. A crash is one failure. Returns the exit status. */
int test_seeds(struct seeds *s, int argc, char **argv, enum outcome (*test)(const struct seeds *s, uint64_t seed));

#endif
