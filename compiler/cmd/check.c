/* stepc check: is the file right? Every rule of the format and of training_info, all errors at once. */
#include "base/clean.h"
#include "cmd/cmd.h"
#include "model/check_model.h"
#include "model/model.h"
#include "train/doctor.h"

#include <stdio.h>

static const struct option_spec specs[] = {
    {"training", 0, OPTION_FLAG, NULL, "what an exporter did that would spoil training, and the cure"},
    {"quiet", 'q', OPTION_FLAG, NULL, "only errors"},
    {0}};
static const struct option_spec *const tables[] = {specs, model_options, NULL};

/* Sizes that nothing binds do not matter for what is checked: any will do. */
#define ANY_SIZE 2

static bool check_model(struct session *s, const struct options *o, const char *path)
{
    struct model *m;
    struct program *p;
    struct pipeline_options pipeline = {.name = "model"};
    if (!read_import_options(s, o, &pipeline.import) || !read_model(s, o, path, &m))
        return false;
    pipeline.import.provisional_dim = ANY_SIZE;
    const bool as_demanded = model_check(&s->diag, m);
    if (!pipeline_program(&s->diag, &s->arena, m, &pipeline, &p) || !as_demanded)
        return false;
    if (!option_given(o, "quiet"))
        print_text("%s: ok (%zu entries, %zu variables)\n", path, p->entries.count, p->variables.count);
    return true;
}

/* Findings are no faults: they do not change the exit status. */
static bool examine(struct session *s, const struct options *o, const char *path)
{
    struct model *m;
    struct import_options import;
    finding_list found = {0};
    if (!read_import_options(s, o, &import) || !read_model(s, o, path, &m))
        return false;
    examine_export(&s->arena, m, &import, &found);
    for (size_t i = 0; i < found.count; i++)
        print_text("%s: %s\n  cure: %s\n", path, found.data[i].text, found.data[i].cure);
    print_text("%s: %zu finding%s\n", path, found.count, found.count == 1 ? "" : "s");
    return true;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct session s;
    struct options o;
    session_begin(&s);
    if (!options_parse(&s.arena, self->name, tables, argc, argv, &o))
        return EXIT_USAGE;
    if (o.arguments.count == 0) {
        fprintf(stderr, "stepc check: name at least one MODEL\nTry 'stepc help check'.\n");
        return EXIT_USAGE;
    }
    bool ok = true;
    for (size_t i = 0; i < o.arguments.count; i++)
        ok &= check_model(&s, &o, o.arguments.data[i]) &&
              (!option_given(&o, "training") || examine(&s, &o, o.arguments.data[i]));
    return session_end(&s, ok);
}

const struct command command_check = {
    .name = "check",
    .arguments = "MODEL... [options]",
    .summary = "is the file right? every rule of the format and of training, all errors at once",
    .example = "stepc check digits_train.onnx",
    .options = tables,
    .run = run,
};
