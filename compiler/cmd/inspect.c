/* stepc inspect: what a model trains and how, in numbers. */
#include "cmd/cmd.h"
#include "model/model.h"
#include "report/report.h"

#include <stdio.h>

static const struct option_spec specs[] = {{"entries", 0, OPTION_TEXT, "LIST", "only these entries"}, {0}};
static const struct option_spec *const tables[] = {specs, model_options, NULL};

static bool inspect(struct session *s, const struct options *o, const char *path)
{
    struct model *m;
    struct program *p;
    struct plan **plans;
    struct pipeline_options pipeline = {.name = "model", .entries = option_text(o, "entries")};
    if (!read_import_options(s, o, &pipeline.import) || !read_model(s, o, path, &m) ||
        !pipeline_canonical(&s->diag, &s->arena, m, &pipeline, &p) || !pipeline_plans(&s->diag, &s->arena, p, &pipeline, &plans))
        return false;
    fputs(report_text(&s->arena, p, plans), stdout);
    return true;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct session s;
    struct options o;
    session_begin(&s);
    if (!options_parse(&s.arena, self->name, tables, argc, argv, &o))
        return EXIT_USAGE;
    const char *path = single_argument(self, &o, "MODEL");
    return path ? session_end(&s, inspect(&s, &o, path)) : EXIT_USAGE;
}

const struct command command_inspect = {
    .name = "inspect",
    .arguments = "MODEL [options]",
    .summary = "what a model trains: entries, variables, kernels, operations, memory",
    .example = "stepc inspect digits_train.onnx --dim batch=32",
    .options = tables,
    .run = run,
};
