#include "engine/check_c.h"

#include "base/file.h"
#include "engine/c_compiler.h"
#include "engine/runtime_files.h"
#include <string.h>

/* design of the emitted C: silent under all of these, from gcc and clang */
static const char *const flags[] = {"-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
                                    "-Wdouble-promotion", "-Wundef", "-Wcast-qual", "-Wmissing-prototypes", "-Werror",
                                    "-c", "-o"};

static bool write_text(struct diag *d, struct arena *a, const char *dir, const char *name, const char *text)
{
    return file_write(d, path_join(a, dir, name), text, strlen(text));
}

static bool compile(struct diag *d, struct arena *a, const char *dir, const char *stem, const struct emitted *text,
                    const char *cc)
{
    const char *source = arena_printf(a, "%s.c", stem), *header = arena_printf(a, "%s.h", stem);
    c_arguments words;
    if (!c_compiler_words(d, a, cc, &words) || !runtime_files_write(d, a, dir) ||
        !write_text(d, a, dir, source, text->source) || !write_text(d, a, dir, header, text->header))
        return false;
    if (text->weights &&
        !file_write_from(d, path_join(a, dir, "weights"), weights_image_put, text->weights, text->weights->bytes))
        return false;
    if (words.count == 1)
        vec_push(a, &words, "-O2");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        vec_push(a, &words, flags[i]);
    vec_push(a, &words, path_join(a, dir, "check.o"));
    if (text->weights_path_macro)
        vec_push(a, &words, arena_printf(a, "-D%s=\"%s/weights\"", text->weights_path_macro, dir));
    vec_push(a, &words, "-I");
    vec_push(a, &words, dir);
    vec_push(a, &words, path_join(a, dir, source));
    return c_compiler_run(d, a, &words, dir, "the emitted file");
}

bool check_c(struct diag *d, struct arena *a, const char *stem, const struct emitted *text, const char *cc)
{
    const char *dir;
    if (!temp_directory(d, a, &dir))
        return false;
    const bool ok = compile(d, a, dir, stem, text, cc);
    temp_directory_remove(dir);
    return ok;
}
