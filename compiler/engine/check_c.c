#include "engine/check_c.h"

#include "base/file.h"
#include "engine/c_compiler.h"

bool check_c(struct diag *d, struct arena *a, const char *stem, const struct emitted *text, const char *cc)
{
    /* design of the emitted C: silent under all of these, from gcc and clang */
    static const char *const flags[] = {"-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
                                        "-Wdouble-promotion", "-Wundef", "-Wcast-qual", "-Wmissing-prototypes",
                                        "-Werror", "-c", NULL};
    const struct c_job job = {.text = text, .stem = stem, .cc = cc, .flags = flags, .what = "the emitted file"};
    const char *dir;
    if (!temp_directory(d, a, &dir))
        return false;
    const bool ok = c_compile(d, a, dir, &job, path_join(a, dir, "check.o"));
    temp_directory_remove(dir);
    return ok;
}
