/* stepc inspect: what a model trains and how, and what it costs; as text, JSON, a page, or for Graphviz. */
#include "base/clean.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/files.h"
#include "cmd/program_options.h"
#include "cmd/training_options.h"
#include "engine/budget.h"
#include "model/model.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

static const struct option_spec specs[] = {
    OPTION_HEADING("output"),
    {"json", 0, OPTION_TEXT, "FILE", "all of it for programs, with a stable schema; - is stdout, instead of the text"},
    {"html", 0, OPTION_TEXT, "FILE.html", "one page: graphs, memory plan, tables"},
    {"dot", 0, OPTION_TEXT, "FILE.dot", "graphs for Graphviz"},
    {"ram-curve", 0, OPTION_FLAG, NULL,
     "what --ram can have: memory against operations, from the plain program to the smallest"},
    OPTION_HEADING("limits: status 1 if the program needs more"),
    {"max-ram", 0, OPTION_TEXT, "SIZE", "state and arena, as 20000, 20K or 1M; no stack, inputs, outputs"},
    {"max-flash", 0, OPTION_TEXT, "SIZE", "constants, initial values among them; no code"},
    {0}};
static const struct option_spec from_inference[] = {
    OPTION_HEADING("an inference MODEL with --loss is inspected as the training model that 'stepc prepare' would "
                   "make:"),
    {0}};
static const struct option_spec *const tables[] = {specs, program_options, from_inference, training_options,
                                                   model_options, NULL};

struct inspect_job {
    struct session *session;
    const struct options *options;
    const char *path;
    struct prepare_options training;
    bool prepares;      /* options of training are given */
    struct pipeline_options pipeline;
    struct emit_options emit;
    int64_t ram, flash; /* limits; -1: none */
};

/* The program is emitted as well, since only then sizes and names are those of the C code. */
static bool gather(struct inspect_job *j, const struct report **out)
{
    struct arena *const a = &j->session->arena;
    struct diag *const d = &j->session->diag;
    const struct options *const o = j->options;
    struct strbuf said = {.arena = a, .clean = true}; /* by preparation: the report says it better */
    struct model *m;
    struct program *p;
    struct plan **plans;
    struct emitted code;
    struct pipeline_options *const pipeline = &j->pipeline;
    if (!read_import_options(j->session, o, &pipeline->import) ||
        !read_prepared_model(j->session, o, j->prepares ? &j->training : NULL, &pipeline->import, j->path, &said, &m) ||
        !files_check_options(j->session, o, j->path, m, NULL) ||
        !may_need_outputs(j->session, &pipeline->import, m, pipeline_canonical(d, a, m, pipeline, &p)) ||
        !pipeline_plans(d, a, p, pipeline, &plans))
        return false;
    j->emit.name = p->name;
    j->emit.model_file = j->emit.options_text = "";
    j->emit.without_data = true;
    if (!emit_program(d, a, p, plans, &j->emit, &code))
        return false;
    report_points curve = {0};
    if (option_given(o, "ram-curve") && (!refuse_range(j->session, &pipeline->import, "--ram-curve") ||
                                         !budget_curve(d, a, m, pipeline, &curve)))
        return false;
    const struct report_code sizes = {.state_bytes = code.state_bytes,
                                      .arena_bytes = code.arena_bytes,
                                      .constant_bytes = code.constant_bytes,
                                      .calls = (const char *const *const *)code.calls,
                                      .options_text = changing_options_text(a, o),
                                      .curve = &curve};
    *out = report_gather(a, p, plans, &sizes);
    return true;
}

/* *used: stdout is taken. */
static bool write_file(struct inspect_job *j, const char *option, const char *(*print)(const struct report *r),
                       const struct report *r, bool *used)
{
    const char *const path = option_text(j->options, option);
    if (!path)
        return true;
    const char *const text = print(r);
    if (!str_equal(path, "-"))
        return file_write(&j->session->diag, path, text, strlen(text));
    *used = true;
    print_lines(text);
    return true;
}

static bool inspect(struct inspect_job *j)
{
    const struct report *r;
    bool used = option_given(j->options, "quiet");
    if (!gather(j, &r))
        return false;
    bool ok = write_file(j, "json", report_json, r, &used);
    ok = write_file(j, "html", report_html, r, &used) && ok;
    ok = write_file(j, "dot", report_dot, r, &used) && ok;
    if (!used)
        print_lines(report_text(r));
    return report_check_limits(&j->session->diag, r, "--max-ram", j->ram, j->flash) && ok;
}

static int run(struct session *s, const struct options *o)
{
    struct inspect_job j = {.session = s, .options = o, .path = single_argument(s, o, "MODEL"),
                            .prepares = training_options_given(o)};
    if (!j.path || !option_size(o, "max-ram", -1, &j.ram) || !option_size(o, "max-flash", -1, &j.flash))
        return EXIT_USAGE;
    if (!read_program_options(&s->diag, o, &j.pipeline, &j.emit) ||
        (j.prepares && !read_training_options(s, o, &j.training)))
        return EXIT_USAGE;
    return exit_status(inspect(&j));
}

const struct command command_inspect = {
    .name = "inspect",
    .arguments = "MODEL [options]",
    .summary = "what a model trains and what it costs: entries, kernels, operations, memory",
    .example = "stepc inspect digits_train.onnx --dim batch=32 --html digits.html",
    .options = tables,
    .run = run,
};
