/* usage: test_trees [--first SEED] [--count N] [--cc "cc -O1"]
 *        test_trees --files FOLDER [--count N] ...   trees of what tests/fuzz/fuzz_tree.c has found
 *
 * Random statement trees: the verifier accepts them, the makers of indices find nothing left to fold, and what the
 * printer writes computes, compiled with strict warnings as errors, what an interpreter of trees computes, in every
 * bit. A broken tree is refused. */
#include "random_tree.h"

#include "base/file.h"
#include "emit/emit_internal.h"
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The flags of tests/emitted; but random trees compare things with themselves, and leave variables alone. */
#define STRICT                                                                                                         \
    " -std=c99 -Wall -Wextra -Wconversion -Wdouble-promotion -pedantic -Werror -Wno-tautological-compare"              \
    " -Wno-unknown-warning-option -Wno-bool-compare"                                                                   \
    " -Wno-self-assign -Wno-unused-variable -Wno-unused-but-set-variable -Wno-unused-parameter -ffp-contract=off"      \
    " -fPIC -shared -I" RUNTIME_FOLDER

static struct emission emission;
static struct expr_scope scope;

static void add_function(const struct random_tree *t, uint64_t seed)
{
    struct writer *const w = &emission.c;
    write_line(w, "void f%llu(float *y, const float *x, const int64_t *z);", (unsigned long long)seed);
    write_line(w, "void f%llu(float *y, const float *x, const int64_t *z)", (unsigned long long)seed);
    write_line(w, "{");
    w->depth++;
    print_statements(&scope, w, &t->body);
    w->depth--;
    write_line(w, "}");
    write_blank(w);
}

/* Compiles the text; the library, or NULL. */
static void *load(struct arena *a, const char *cc, const char *folder)
{
    const char *const source = arena_printf(a, "%s/trees.c", folder);
    const char *const library = arena_printf(a, "%s/trees.so", folder);
    FILE *const f = fopen(source, "w");
    if (!f)
        return NULL;
    fputs(strbuf_text(&emission.c.text), f);
    fclose(f);
    if (system(arena_printf(a, "%s" STRICT " -o '%s' '%s'", cc, library, source)) != 0)
        return NULL;
    return dlopen(library, RTLD_NOW);
}

static bool agree(void *library, struct arena *a, const struct random_tree *t, uint64_t number)
{
    float x[ELEMENTS], y[ELEMENTS], expected[ELEMENTS];
    int64_t z[CHOICES];
    void (*f)(float *, const float *, const int64_t *);
    void *const symbol = dlsym(library, arena_printf(a, "f%llu", (unsigned long long)number));
    memcpy(&f, &symbol, sizeof f);
    tree_arguments(number, y, x, z);
    memcpy(expected, y, sizeof y);
    if (!interpret_tree(t, expected, x, z)) {
        printf("tree %llu: reads or writes outside, which the verifier did not find\n", (unsigned long long)number);
        return false;
    }
    f(y, x, z);
    for (int i = 0; i < ELEMENTS; i++)
        if (memcmp(&y[i], &expected[i], sizeof y[i]) != 0 && !(isnan(y[i]) && isnan(expected[i]))) {
            printf("tree %llu: y[%d] is %a, expected %a\n", (unsigned long long)number, i, (double)y[i],
                   (double)expected[i]);
            return false;
        }
    return true;
}

/* ---- where trees come from --------------------------------------------------------------------------------------- */

enum { MOST_BYTES = 1 << 20 };
typedef VEC(struct random_tree) tree_list;

static void add_tree(struct arena *a, tree_list *trees, struct random_tree t, uint64_t number,
                     unsigned long long *failed)
{
    const char *const wrong = check_tree(a, &t);
    if (wrong) {
        printf("tree %llu: %s\n", (unsigned long long)number, wrong);
        ++*failed;
    }
    add_function(&t, number);
    vec_push(a, trees, t);
}

/* A tree of each file of the folder, what a fuzzer has found, but of no more than `most`. */
static bool add_files(struct arena *a, tree_list *trees, const char *folder, unsigned long long most,
                      unsigned long long *failed)
{
    DIR *const dir = opendir(folder);
    struct diag d = {.arena = a};
    if (!dir)
        return false;
    for (struct dirent *entry; trees->count < most && (entry = readdir(dir));) {
        const char *const path = arena_printf(a, "%s/%s", folder, entry->d_name);
        unsigned char *bytes;
        size_t size;
        if (entry->d_name[0] == '.' || !file_read(&d, a, path, MOST_BYTES, &bytes, &size))
            continue;
        printf("tree %zu: %s\n", trees->count, entry->d_name);
        add_tree(a, trees, tree_of_bytes(a, bytes, size), trees->count, failed);
    }
    closedir(dir);
    return trees->count > 0;
}

int main(int argc, char **argv)
{
    unsigned long long first = 1, count = 300, failed = 0;
    const char *cc = getenv("CC") ? getenv("CC") : "cc", *files = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        first = strcmp(argv[i], "--first") == 0 ? strtoull(argv[i + 1], NULL, 10) : first;
        count = strcmp(argv[i], "--count") == 0 ? strtoull(argv[i + 1], NULL, 10) : count;
        cc = strcmp(argv[i], "--cc") == 0 ? argv[i + 1] : cc;
        files = strcmp(argv[i], "--files") == 0 ? argv[i + 1] : files;
    }
    struct arena arena = {0};
    const char *const parent = getenv("TMPDIR");
    char *const folder = arena_printf(&arena, "%s/stepc-trees-XXXXXX", parent && *parent ? parent : "/tmp");
    emission = (struct emission){.arena = &arena, .c = {.text = {.arena = &arena}}};
    emission.helpers.arena = &arena;
    scope = (struct expr_scope){.e = &emission, .arena = &arena};
    tree_list trees = {0};
    write_line(&emission.c, "#include \"stepc.h\"");
    first = files ? 0 : first;
    if (files && !add_files(&arena, &trees, files, count, &failed)) {
        printf("no files in %s\n", files);
        return EXIT_FAILURE;
    }
    for (unsigned long long i = 0; i < count && !files; i++)
        add_tree(&arena, &trees, random_tree(&arena, first + i), first + i, &failed);
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    void *const library = load(&arena, cc, folder);
    for (size_t i = 0; i < trees.count && library; i++)
        failed += !agree(library, &arena, &trees.data[i], first + i);
    if (library && failed == 0)
        (void)!system(arena_printf(&arena, "rm -r '%s'", folder));
    else
        printf("%s/trees.c stays\n", folder);
    printf("%zu trees, %llu failed%s\n", trees.count, failed, library ? "" : "; their C does not compile");
    arena_free(&arena);
    return library && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
