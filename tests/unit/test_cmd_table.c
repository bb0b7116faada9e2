/* The table of a run: what cannot be written is said, whenever that shows. */
#include "cmd/run_table.h"
#include "fixture.h"
#include "suite.h"

#include <check.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Closing is where a file on another machine may tell that it is full. */
START_TEST(a_file_that_cannot_be_closed_is_told_of)
{
    struct run_table t = {.arena = &arena};
    (void)table_add_column(&t, "loss", DTYPE_FLOAT);
    ck_assert(table_open(&t, &diag, "/dev/null", NULL));
    table_set(&t, 0, 1);
    ck_assert(table_end_row(&t, &diag, 0, 0));
    ck_assert_int_eq(close(t.csv), 0);
    ck_assert(!table_close(&t, &diag, "run"));
    ck_assert_uint_eq(diag.errors, 1);
    ck_assert_str_eq(diag.messages.data[0].text,
                     arena_printf(&arena, "/dev/null: cannot be written: %s", strerror(EBADF)));
    ck_assert(table_close(&t, &diag, "run")); /* there is none any more */
    ck_assert_uint_eq(diag.errors, 1);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_file_that_cannot_be_closed_is_told_of);
    return run_tests("cmd_table", tests);
}
