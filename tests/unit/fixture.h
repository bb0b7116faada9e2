/* What most tests need: memory and messages, new for each. For tcase_add_checked_fixture(tests, begin, end). */
#ifndef STEPC_TESTS_FIXTURE_H
#define STEPC_TESTS_FIXTURE_H

#include "base/arena.h"
#include "base/diag.h"

static struct arena arena;
static struct diag diag;

static void begin(void)
{
    diag = (struct diag){.arena = &arena};
}

static void end(void)
{
    arena_free(&arena);
}

#endif
