/* usage: test_trees [--first SEED] [--count N] [--cc "cc -O1"]
 *
 * Random statement trees: the verifier accepts them, the makers of indices find nothing left to fold, and what the
 * printer writes computes, compiled with strict warnings as errors, what an interpreter of trees computes, in every
 * bit. A broken tree is refused. */
#include "random_tree.h"

#include "base/file.h"
#include "emit/emit_internal.h"
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

static const char *verify(struct arena *a, const struct random_tree *t)
{
    tree_vars params = {0};
    vec_push(a, &params, t->y);
    vec_push(a, &params, t->x);
    vec_push(a, &params, t->z);
    return tree_verify(a, &params, &t->body);
}

static bool is_left_to_fold(const struct expr *e, void *data)
{
    if (e->op != EXPR_ELEMENT && (e->dtype != DTYPE_INDEX || expr_arg_count(e) == 0))
        return false;
    const char *const text = tree_expr_text(&scope, e, PREC_NONE);
    return strcmp(text, tree_expr_text(&scope, made_again(data, e), PREC_NONE)) != 0;
}

/* The tree with every element of y moved by one that there is not. */
static bool refuses_broken(struct arena *a, const struct random_tree *t)
{
    struct random_tree broken = {.y = t->y, .x = t->x, .z = t->z};
    struct tree_builder b = tree_builder(a, &broken.body);
    for (size_t i = 0; i < t->body.count; i++)
        vec_push(a, &broken.body, t->body.data[i]);
    tree_set(&b, tree_element(a, t->y, index_constant(a, ELEMENTS)), SET_TO, expr_float(a, DTYPE_FLOAT, 0));
    return verify(a, &broken) != NULL;
}

static bool check_tree(struct arena *a, const struct random_tree *t, uint64_t seed)
{
    const char *const wrong = verify(a, t);
    if (wrong)
        printf("tree %llu: %s\n", (unsigned long long)seed, wrong);
    else if (tree_any(&t->body, is_left_to_fold, a))
        printf("tree %llu: an index can be folded further\n", (unsigned long long)seed);
    else if (!refuses_broken(a, t))
        printf("tree %llu: an element outside is not found\n", (unsigned long long)seed);
    else
        return true;
    return false;
}

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
    if (system(arena_printf(a, "%s" STRICT " -o %s %s", cc, library, source)) != 0)
        return NULL;
    return dlopen(library, RTLD_NOW);
}

static bool agree(void *library, struct arena *a, const struct random_tree *t, uint64_t seed)
{
    float x[ELEMENTS], y[ELEMENTS], expected[ELEMENTS];
    int64_t z[CHOICES];
    void (*f)(float *, const float *, const int64_t *);
    void *const symbol = dlsym(library, arena_printf(a, "f%llu", (unsigned long long)seed));
    memcpy(&f, &symbol, sizeof f);
    for (int i = 0; i < ELEMENTS; i++) {
        x[i] = (float)((i * 37 + (int)(seed % 11)) % 29 - 14) / 4.0f;
        y[i] = expected[i] = (float)(i % 7) - 3.0f;
    }
    x[5] = NAN;
    x[11] = -0.0f;
    x[17] = INFINITY;
    for (int i = 0; i < CHOICES; i++)
        z[i] = (i * 5 + (int64_t)(seed % 3)) % (MOST_CHOICE + 1);
    if (!interpret_tree(t, expected, x, z)) {
        printf("tree %llu: reads or writes outside, which the verifier did not find\n", (unsigned long long)seed);
        return false;
    }
    f(y, x, z);
    for (int i = 0; i < ELEMENTS; i++)
        if (memcmp(&y[i], &expected[i], sizeof y[i]) != 0 && !(isnan(y[i]) && isnan(expected[i]))) {
            printf("tree %llu: y[%d] is %a, expected %a\n", (unsigned long long)seed, i, (double)y[i],
                   (double)expected[i]);
            return false;
        }
    return true;
}

int main(int argc, char **argv)
{
    unsigned long long first = 1, count = 300, failed = 0;
    const char *cc = getenv("CC") ? getenv("CC") : "cc";
    for (int i = 1; i + 1 < argc; i += 2) {
        first = strcmp(argv[i], "--first") == 0 ? strtoull(argv[i + 1], NULL, 10) : first;
        count = strcmp(argv[i], "--count") == 0 ? strtoull(argv[i + 1], NULL, 10) : count;
        cc = strcmp(argv[i], "--cc") == 0 ? argv[i + 1] : cc;
    }
    struct arena arena = {0};
    char folder[] = "/tmp/stepc-trees-XXXXXX";
    emission = (struct emission){.arena = &arena, .c = {.text = {.arena = &arena}}};
    emission.helpers.arena = &arena;
    scope = (struct expr_scope){.e = &emission, .arena = &arena};
    struct random_tree *const trees = arena_array(&arena, struct random_tree, count);
    write_line(&emission.c, "#include \"stepc.h\"");
    for (unsigned long long i = 0; i < count; i++) {
        trees[i] = random_tree(&arena, first + i);
        failed += !check_tree(&arena, &trees[i], first + i);
        add_function(&trees[i], first + i);
    }
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    void *const library = load(&arena, cc, folder);
    for (unsigned long long i = 0; i < count && library; i++)
        failed += !agree(library, &arena, &trees[i], first + i);
    if (library && failed == 0)
        (void)!system(arena_printf(&arena, "rm -r %s", folder));
    else
        printf("%s/trees.c stays\n", folder);
    printf("%llu trees, %llu failed%s\n", count, failed, library ? "" : "; their C does not compile");
    arena_free(&arena);
    return library && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
