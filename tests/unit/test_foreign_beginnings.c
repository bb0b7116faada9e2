/* Which files are checkpoints of frameworks, where no ending of the name tells. */
#include "base/str.h"
#include "foreign/checkpoint.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct arena arena;

static void end(void)
{
    arena_free(&arena);
}

static const struct {
    const char *name, *bytes;
    size_t size;
    bool is_one;
} beginnings[] = {
    {"state", "PK\x03\x04\x14", 5, true},
    {"state", "PK\x05\x06\0", 5, true}, /* an archive of nothing */
    {"state", "PK\x01\x02\0", 5, false},
    {"state", "PK\x03", 3, false},
    {"state", "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20j", 11, true}, /* of torch.save, before archives */
    {"state", "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9", 9, false},
    {"state", "\x08\0\0\0ODTC", 8, true}, /* ONNX Runtime's */
    {"state", "\x08\0\0\0ODT", 7, false},
    {"state", "\x81\xa1w", 3, false},
    {"checkpoint_7", "\x81\xa1w", 3, true}, /* flax's: its name, and a map */
    {"checkpoint_7", "\x81\xd9\x01w", 4, true},
    {"checkpoint_7", "\x81\x01", 2, false},
    {"checkpoint_7", "\x81", 1, false},
    {"checkpoint_7", "", 0, false},
    {"checkpoint_", "\x81\xa1w", 3, false},
    {"checkpoint_7a", "\x81\xa1w", 3, false},
};

/* What no ending tells, the first bytes tell. */
START_TEST(checkpoints_are_told_by_their_beginning)
{
    const char *const parent = getenv("TMPDIR");
    char *const folder = arena_printf(&arena, "%s/stepc-beginning-XXXXXX", parent && *parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    const char *const path = arena_printf(&arena, "%s/%s", folder, beginnings[_i].name);
    FILE *const f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(beginnings[_i].bytes, 1, beginnings[_i].size, f), beginnings[_i].size);
    ck_assert_int_eq(fclose(f), 0);
    const bool is_one = checkpoint_is_one(path);
    ck_assert(remove(path) == 0 && rmdir(folder) == 0);
    ck_assert(is_one == beginnings[_i].is_one);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("beginnings");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_loop_test(tests, checkpoints_are_told_by_their_beginning, 0, sizeof beginnings / sizeof *beginnings);
    return run_tests("beginnings", tests);
}
