/* usage: test_random [--cc "cc -O1"] [--check "cc -fsyntax-only ..."] [--first SEED] [--count N] [-j N] [--keep FOLDER]
 *
 * Random models through both engines. Reproducible code and the interpreter in the contract's arithmetic must agree in
 * every bit, kernel by kernel and over whole runs. Where no result jumps, optimised code must agree with the
 * interpreter in double within the tolerance of the kernel's own roundings. The emitted text must be silent under
 * strict warnings; --check "" leaves that out. Where computing again makes a program smaller, that agrees in every
 * bit, too. A model that fails is written to FOLDER/random_SEED.onnx. 30 models, with STEPC_TEST_LONG=no in the
 * environment 12. */
#include "random_model.h"
#include "seeds.h"

#include "base/file.h"
#include "base/str.h"
#include "engine/budget.h"
#include "engine/compare.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 3 };

/* The tolerance of a kernel supposes roundings of either sign. Sums of n equal terms, which random models have,
 * round the same way each time: up to n / 2 units where 4 are tolerated, n up to GEN_MAX_COUNT. What is wrong is off
 * by a million units. */
#define LONG_SUMS 1000.0

/* The flags of tests/emitted. */
#define STRICT                                                                                                         \
    "cc -fsyntax-only -I" RUNTIME_FOLDER " -std=c99 -Wall -Wextra -Wconversion -Wshadow -Wdouble-promotion -Wundef "   \
    "-Wcast-qual -Wmissing-prototypes -pedantic -Werror"

static bool judge(const struct compare_report *r, const char *mode, double most)
{
    bool ok = true;
    for (size_t i = 0; i < r->lines.count; i++)
        if (!r->lines.data[i].ok && !(r->lines.data[i].ratio <= most)) {
            printf("  %s: entry %s, %s: '%s' off by %g times the tolerance\n", mode, r->lines.data[i].entry,
                   r->lines.data[i].what, r->lines.data[i].worst_at, r->lines.data[i].ratio);
            ok = false;
        }
    return ok;
}

/* Every third model in a small form, every third with vectors of another length than the target's. */
static bool is_small(uint64_t seed)
{
    return seed % 3 == 1;
}

static int simd_of(uint64_t seed)
{
    return is_small(seed) ? SIMD_NONE : seed % 3 == 2 ? 8 : SIMD_AUTO;
}

/* ram: in so many bytes; 0: in any. */
static bool engines_agree(struct diag *d, struct arena *a, const struct seeds *s, const struct model *m, bool bits,
                          uint64_t seed, int64_t ram)
{
    const struct compare_options o = {.pipeline = {.simd = simd_of(seed), .small = is_small(seed), .ram = (size_t)ram},
                                      .cc = s->cc, .bits = bits, .seed = seed, .steps = STEPS};
    const char *mode = ram > 0 ? "within a budget" : bits ? "reproducible" : "optimised";
    struct compare_report r;
    if (!compare_engines(d, a, m, &o, &r)) {
        printf("  %s: does not compile or run\n", mode);
        return false;
    }
    return judge(&r, mode, bits ? 0 : LONG_SUMS);
}

/* Less memory than the plain program needs, which computing again must meet: of what inspect --ram-curve has, one point
 * by the seed. True where there is none. */
static bool agree_within_budget(struct diag *d, struct arena *a, const struct seeds *s, const struct model *m,
                                uint64_t seed)
{
    const struct pipeline_options o = {.name = "model", .simd = simd_of(seed), .small = is_small(seed)};
    report_points points = {0};
    if (!budget_curve(d, a, m, &o, &points))
        return false;
    return points.count == 1 ||
           engines_agree(d, a, s, m, true, seed, points.data[1 + seed % (points.count - 1)].ram_bytes);
}

/* The text as `stepc compile` writes it. */
static bool text_is_silent(struct diag *d, struct arena *a, const struct seeds *s, const struct model *m,
                           uint64_t seed)
{
    const char *name = arena_printf(a, "emitted_%llu", (unsigned long long)seed),
               *stem = arena_printf(a, "%s/%s", s->keep, name);
    const struct pipeline_options o = {.name = name, .simd = simd_of(seed), .small = is_small(seed)};
    const struct emit_options emit = {.file_stem = name, .model_file = "random.onnx", .options_text = ""};
    const char *source = arena_printf(a, "%s.c", stem), *header = arena_printf(a, "%s.h", stem);
    struct emitted text;
    struct program *p;
    if (s->check[0] == '\0')
        return true;
    if (!pipeline_compile(d, a, m, &o, &emit, &text, &p) || !file_write(d, source, text.source, strlen(text.source)) ||
        !file_write(d, header, text.header, strlen(text.header)))
        return false;
    if (system(arena_printf(a, "%s '%s' >&2", s->check, source)) != 0) {
        printf("  the emitted text is not silent: %s '%s'\n", s->check, source);
        return false;
    }
    unlink(source);
    unlink(header);
    return true;
}

static enum outcome test_model(const struct seeds *s, uint64_t seed)
{
    struct arena a = {0};
    struct diag d = {.arena = &a}, writing = {.arena = &a};
    const struct random_model r = random_model(&a, seed);
    const char *path = arena_printf(&a, "%s/random_%llu.onnx", s->keep, (unsigned long long)seed);
    /* Written before it is tried: what crashes is there to be looked at. */
    bool ok = model_write(&writing, r.model, path);
    ok = ok && text_is_silent(&d, &a, s, r.model, seed);
    ok = ok && engines_agree(&d, &a, s, r.model, true, seed, 0);
    ok = ok && agree_within_budget(&d, &a, s, r.model, seed);
    ok = ok && (!r.smooth || engines_agree(&d, &a, s, r.model, false, seed, 0));
    if (ok)
        unlink(path);
    else
        diag_print(&d, stdout);
    arena_free(&a);
    return ok ? PASSED : FAILED;
}

int main(int argc, char **argv)
{
    struct seeds s = {.cc = "cc -O1", .check = STRICT, .count = is_long_test() ? 30 : 12};
    return test_seeds(&s, argc, argv, test_model);
}
