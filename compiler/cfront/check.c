/* Parsing emitted C in memory, to see that no compiler will complain. */
#include "cfront/cfront_internal.h"

/* What emitted code is silent under. Pragmas of other compilers are no concern of this one. */
static const char *const flags[] = {
    "-xc", "-std=c99", "-ffreestanding", "-nostdinc", "-isystem" CFRONT_SYSTEM_DIR, "-I" CFRONT_MODEL_DIR,
    "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wdouble-promotion", "-Wundef", "-Wcast-qual",
    "-Wmissing-prototypes", "-pedantic", "-Wno-unknown-pragmas"};

bool cfront_check(struct diag *d, const char *name, const char *text, const char *target,
                  const char *const *extra_flags, const struct cfront_file *others, size_t other_count)
{
    /* whatever `name` looks like, it is one file in our folder */
    static const char path[] = CFRONT_MODEL_DIR "stepc_checked.c";
    struct arena scratch = {0};
    cfront_arguments args = {0};
    cfront_files files = {0};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        vec_push(&scratch, &args, flags[i]);
    if (target) {
        vec_push(&scratch, &args, "-target");
        vec_push(&scratch, &args, target);
    }
    for (size_t i = 0; extra_flags && extra_flags[i]; i++)
        vec_push(&scratch, &args, extra_flags[i]);
    vec_push(&scratch, &files, ((struct cfront_file){path, text}));
    for (size_t i = 0; i < other_count; i++)
        vec_push(&scratch, &files,
                 ((struct cfront_file){arena_printf(&scratch, CFRONT_MODEL_DIR "%s", others[i].name), others[i].text}));
    struct cfront_unit unit;
    const bool ok = cfront_open(d, path, name, &args, &files, true, &unit);
    cfront_close(&unit);
    arena_free(&scratch);
    return ok;
}
