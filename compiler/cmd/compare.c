/* stepc compare: do the two engines agree? Kernel by kernel from equal inputs, then over whole runs. Or, with
 * --against: does one step agree with another framework's? */
#include "base/clean.h"
#include "cmd/cmd.h"
#include "base/str.h"
#include "cmd/compare_dump.h"
#include "cmd/feeds.h"
#include "engine/compare.h"
#include "model/model.h"

#include <stdio.h>

static const struct option_spec specs[] = {
    OPTION_HEADING("interpreted against generated"),
    {"arithmetic", 0, OPTION_TEXT, "double|same", "same: with --reproducible, every bit must agree"},
    {"reproducible", 0, OPTION_FLAG, NULL, "generated code without contraction"},
    {"seed", 0, OPTION_TEXT, "S", "seed of the random inputs and of init() (default 1)"},
    {"steps", 0, OPTION_TEXT, "N", "length of the whole runs (default 5, or what the feeds hold)"},
    {"runs", 0, OPTION_FLAG, NULL, "whole runs only: quicker, and no line says which kernel differs"},
    {"feed", 0, OPTION_LIST, "NAME=FILE",
     ".pb or .npy instead of random numbers; one leading axis more than declared: a slice per step"},
    CODE_OPTIONS,
    {"cc", 0, OPTION_TEXT, "\"CC FLAGS\"", "C compiler of the generated engine"},

    OPTION_HEADING("one step against another framework's"),
    {"against", 0, OPTION_TEXT, "DUMP", "compare one step with another framework's: a folder of NAME.npy or NAME.pb"},
    {"entry", 0, OPTION_TEXT, "NAME", "the entry to run (default: step if there is one, else infer)"},
    {"rtol", 0, OPTION_TEXT, "R", "largest relative L2 distance (default 1e-4)"},

    OPTION_HEADING("messages"),
    {"quiet", 'q', OPTION_FLAG, NULL, "print only what differs"},
    {0}};
static const struct option_spec *const tables[] = {specs, model_options, NULL};

static void print_report(const struct compare_report *r, bool quiet, bool bits)
{
    size_t differ = 0;
    vec_each_ptr(const struct compare_line, l, &r->lines) {
        differ += !l->ok;
        if (quiet && l->ok)
            continue;
        print_text("%-6s %-10s %-44.44s ", l->ok ? "same" : "DIFFER", l->entry, l->what);
        if (bits)
            print_text("%s%s\n", l->ok ? "all bits" : "bits of ", l->worst_at);
        else
            print_text("%.3g%s%s\n", l->ratio, l->worst_at[0] ? " at " : "", l->worst_at);
    }
    print_text("%zu compared, %zu differ\n", r->lines.count, differ);
}

static const struct tensor *feed(void *feeds, const char *name, int64_t step, struct arena *a)
{
    const struct feeds *const f = feeds;
    return feeds_tensor(f, name, step, a);
}

/* As many steps as the feeds hold, if they hold any. */
static bool count_steps(struct session *s, const struct options *o, const struct feeds *feeds, int64_t *steps)
{
    if (feeds->steps > 0 && !option_given(o, "steps"))
        *steps = feeds->steps;
    return feeds->steps == 0 || *steps <= feeds->steps ||
           diag_error(&s->diag, NULL, "--steps %lld: the feeds hold %lld", (long long)*steps, (long long)feeds->steps);
}

static bool compare(struct session *s, const struct options *o, const char *path, long long seed, long long steps)
{
    struct model *m;
    struct compare_report report;
    struct feeds feeds;
    static const char *const arithmetics[] = {"double", "same", NULL};
    bool ok = true;
    const bool same = option_choice(&s->diag, o, "arithmetic", arithmetics, &ok);
    struct compare_options c = {.pipeline = {.name = "model"}, .cc = option_text(o, "cc"), .seed = (uint64_t)seed,
                                .steps = steps, .feed = feed, .feeder = &feeds,
                                .runs_only = option_given(o, "runs")};
    if (!ok)
        return false;
    if (same != option_given(o, "reproducible"))
        return diag_usage(&s->diag, "--reproducible and --arithmetic same belong together: both or neither");
    if (option_given(o, "entry") || option_given(o, "rtol"))
        return diag_usage(&s->diag, "--%s belongs to --against", option_given(o, "entry") ? "entry" : "rtol");
    c.bits = same;
    if (!read_code_options(&s->diag, o, &c.pipeline) || !read_import_options(s, o, &c.pipeline.import) ||
        !read_model(s, o, &c.pipeline.import, path, &m) ||
        !feeds_read(s, m, option_list(o, "feed"), &c.pipeline.import, &feeds) ||
        !count_steps(s, o, &feeds, &c.steps) ||
        !compare_engines(&s->diag, &s->arena, m, &c, &report))
        return false;
    print_report(&report, option_given(o, "quiet"), c.bits);
    return report.ok;
}

static bool compare_with_dump(struct session *s, const struct options *o, const char *path)
{
    static const char *const others[] = {"arithmetic", "reproducible", "seed", "steps", "runs",
                                         "cc",         "machine",      "optimize", "simd", "ram",  "feed"};
    struct dump_options d = {.folder = option_text(o, "against"), .entry = option_text(o, "entry"), .rtol = 1e-4,
                             .quiet = option_given(o, "quiet")};
    const char *rtol = option_text(o, "rtol");
    struct model *m;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (option_given(o, others[i]))
            return diag_usage(&s->diag,
                              "--%s says nothing with --against, which runs one step interpreted in double", others[i]);
    if (rtol && (!str_to_double(rtol, &d.rtol) || !(d.rtol >= 0)))
        return diag_usage(&s->diag, "--rtol %s: expected a number", rtol);
    return read_import_options(s, o, &d.import) && refuse_range(s, &d.import, "compare --against") &&
           read_model(s, o, &d.import, path, &m) && compare_dump(s, m, &d);
}

static int run(struct session *s, const struct options *o)
{
    long long seed, steps;
    const char *path = single_argument(s, o, "MODEL");
    if (!path || !option_count(o, "seed", 1, &seed) || !option_count(o, "steps", 5, &steps))
        return EXIT_USAGE;
    if (option_given(o, "against"))
        return exit_status(compare_with_dump(s, o, path));
    return exit_status(compare(s, o, path, seed, steps));
}

const struct command command_compare = {
    .name = "compare",
    .arguments = "MODEL [options]",
    .summary = "do interpreted and generated results agree? kernel by kernel",
    .example = "stepc compare digits_train.onnx --dim batch=32 --reproducible --arithmetic same",
    .options = tables,
    .run = run,
};
