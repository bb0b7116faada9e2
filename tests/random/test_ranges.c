/* usage: test_ranges [--cc "cc -O1"] [--first SEED] [--count N] [-j N] [--keep FOLDER]
 *
 * Random models with a range of sizes. Either the range is refused with its name, or reproducible code has, for each
 * count, every bit of the interpreter's program for that count alone. With `--cc` that has -fsanitize=address, in a
 * build with AddressSanitizer (--preset debug), nothing outside of inputs, outputs, state and arena is touched. A model
 * that fails is written to FOLDER/range_SEED.onnxtxt. 40 models, with STEPC_TEST_LONG=no in the environment 15. */
#include "range_model.h"
#include "seeds.h"

#include "base/file.h"
#include "base/str.h"
#include "engine/compare.h"
#include "prepare/prepare.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct trial {
    const struct seeds *seeds;
    struct arena arena;
    struct diag diag;
    struct range_model made;
    struct model *model;
    struct compare_options options;
};

static bool prepare(struct trial *t)
{
    struct strbuf report = {.arena = &t->arena};
    static const struct import_options import;
    struct prepare_options o = {.class_axis = 1, .learning_rate = -1, .first_step = -1, .import = &import};
    return !t->made.loss || (loss_parse(&t->diag, t->made.loss, &o.loss) &&
                             optimizer_parse(&t->diag, &t->arena, t->made.optimizer, &o.optimizer) &&
                             prepare_model(&t->diag, &t->arena, t->model, &o, &report));
}

static struct compare_options options_of(struct trial *t, uint64_t seed)
{
    struct map *const dims = arena_new(&t->arena, struct map);
    dims->arena = &t->arena;
    map_set(dims, "N", &t->made.range.high);
    const struct import_options import = {.dims = dims, .range = &t->made.range};
    return (struct compare_options){.pipeline = {.simd = seed % 3 == 1 ? SIMD_NONE : seed % 3 == 2 ? 8 : SIMD_AUTO,
                                                 .small = seed % 3 == 1, .import = import},
                                    .cc = t->seeds->cc, .bits = true, .runs_only = true, .every_count = true,
                                    .seed = seed, .steps = t->made.range.high - t->made.range.low + 1};
}

/* Has it a program for the highest count at all? */
static bool has_program(struct trial *t)
{
    struct diag quiet = {.arena = &t->arena};
    struct pipeline_options one = t->options.pipeline;
    struct program *p;
    struct plan **plans;
    one.import.range = NULL;
    return pipeline_canonical(&quiet, &t->arena, t->model, &one, &p) &&
           pipeline_plans(&quiet, &t->arena, p, &one, &plans);
}

static bool is_refusal(const struct trial *t)
{
    const char *const text = diag_first_error(&t->diag);
    return text && strstr(text, "'N' cannot ");
}

static enum outcome compare(struct trial *t)
{
    struct compare_report r;
    if (!compare_engines(&t->diag, &t->arena, t->model, &t->options, &r))
        return is_refusal(t) ? REFUSED : has_program(t) ? FAILED : NO_MODEL;
    enum outcome found = PASSED;
    for (size_t i = 0; i < r.lines.count; i++)
        if (!r.lines.data[i].ok) {
            printf("  entry %s, %s: '%s' differs\n", r.lines.data[i].entry, r.lines.data[i].what,
                   r.lines.data[i].worst_at);
            found = FAILED;
        }
    return found;
}

static enum outcome test_range(const struct seeds *s, uint64_t seed)
{
    struct trial t = {.seeds = s};
    t.diag.arena = &t.arena;
    t.made = range_model(&t.arena, seed);
    struct diag writing = {.arena = &t.arena};
    const char *const path = arena_printf(&t.arena, "%s/range_%llu.onnxtxt", s->keep, (unsigned long long)seed),
               *const text = arena_printf(&t.arena, "# --dim N=%lld..%lld --loss %s --optimizer %s\n%s",
                                          (long long)t.made.range.low, (long long)t.made.range.high,
                                          t.made.loss ? t.made.loss : "(none)", t.made.optimizer, t.made.text);
    enum outcome found = FAILED; /* written before it is tried: what crashes is there to be looked at */
    if (file_write(&writing, path, text, strlen(text)) &&
        model_read_text(&t.diag, &t.arena, path, t.made.text, strlen(t.made.text), &t.model)) {
        t.options = options_of(&t, seed);
        found = prepare(&t) ? compare(&t) : has_program(&t) ? FAILED : NO_MODEL;
    }
    if (found == FAILED)
        diag_print(&t.diag, stdout);
    else
        unlink(path);
    arena_free(&t.arena);
    return found;
}

int main(int argc, char **argv)
{
    struct seeds s = {.cc = "cc -O1", .count = is_long_test() ? 40 : 15};
    return test_seeds(&s, argc, argv, test_range);
}
