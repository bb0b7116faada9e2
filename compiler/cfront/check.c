/* Parsing emitted C in memory, to see that no compiler will complain. */
#include "cfront/cfront_internal.h"

#include "base/str.h"
#include <string.h>

/* What emitted code is silent under. Pragmas of other compilers are no concern of this one. */
static const char *const flags[] = {
    "-xc", "-std=c99", "-ffreestanding", "-nostdinc", "-isystem" CFRONT_SYSTEM_DIR, "-I" CFRONT_MODEL_DIR,
    "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wdouble-promotion", "-Wundef", "-Wcast-qual",
    "-Wmissing-prototypes", "-pedantic", "-Wno-unknown-pragmas"};

bool cfront_check(struct diag *d, const char *name, const char *text, const char *target,
                  const char *const *extra_flags, const struct cfront_file *others, size_t other_count)
{
    struct arena scratch = {0};
    VEC(const char *) args = {0};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        vec_push(&scratch, &args, flags[i]);
    if (target) {
        vec_push(&scratch, &args, "-target");
        vec_push(&scratch, &args, target);
    }
    for (size_t i = 0; extra_flags && extra_flags[i]; i++)
        vec_push(&scratch, &args, extra_flags[i]);
    struct CXUnsavedFile *files =
        arena_array(&scratch, struct CXUnsavedFile, other_count + 1 + cfront_system_header_count());
    const char *path =
        CFRONT_MODEL_DIR "stepc_checked.c"; /* whatever `name` looks like, it is one file in our folder */
    unsigned count = 0;
    files[count++] = (struct CXUnsavedFile){path, text, (unsigned long)strlen(text)};
    for (size_t i = 0; i < other_count; i++)
        files[count++] = (struct CXUnsavedFile){arena_printf(&scratch, CFRONT_MODEL_DIR "%s", others[i].name),
                                                others[i].text, (unsigned long)strlen(others[i].text)};
    count = cfront_add_system_headers(files, count);
    const CXIndex index = clang_createIndex(0, 0);
    CXTranslationUnit tu = NULL;
    const enum CXErrorCode code = clang_parseTranslationUnit2(index, path, args.data, (int)args.count, files, count,
                                                              CXTranslationUnit_None, &tu);
    bool ok = code == CXError_Success;
    if (ok)
        ok = cfront_report(d, tu, true, path, name);
    else
        diag_error(d, &LOC_FILE(name), "clang gave up on the text (target %s, error %d)", target ? target : "host",
                   (int)code);
    if (tu)
        clang_disposeTranslationUnit(tu);
    clang_disposeIndex(index);
    arena_free(&scratch);
    return ok;
}
