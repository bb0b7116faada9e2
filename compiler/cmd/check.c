/* stepc check: is the file right? Every rule of the format and of training_info, all errors at once. */
#include "base/clean.h"
#include "cmd/check_recipe.h"
#include "cmd/cmd.h"

#include "base/str.h"
#include "devices/devices.h"
#include "graph/check_nodes.h"
#include "graph/import_sizes.h"
#include "model/check_model.h"
#include "model/model.h"
#include "prepare/doctor.h"

#include <stdio.h>
#include <string.h>

static const struct option_spec specs[] = {
    {"training", 0, OPTION_FLAG, NULL, "what an exporter did that would spoil training, and the cure"},
    {"recipe", 0, OPTION_FLAG, NULL, "does the file alone say how to train, without weights, the same run everywhere?"},
    {"devices", 0, OPTION_FLAG, NULL, "which devices hold which part of each tensor, as annotations say or as follows"},
    {"quiet", 'q', OPTION_FLAG, NULL, "only errors"},
    {0}};
static const struct option_spec *const tables[] = {specs, model_options, NULL};

/* Sizes that nothing binds are assumed: small ones, then what deep networks need. What fails with all of them in the
 * same way is wrong whatever the sizes are; what fails in different ways nobody can judge. */
static const int64_t assumed_sizes[] = {2, 32, 96};
enum { ASSUMED = sizeof assumed_sizes / sizeof *assumed_sizes };

static bool is_given(const struct import_options *o, const struct model_value_info *vi, const char *symbol)
{
    bool entry = false;
    for (size_t i = 0; o->dims && symbol[0] != '\0' && i < o->dims->count; i++)
        entry = entry || (str_ends_with(o->dims->entries[i].key, symbol) &&
                          (str_equal(o->dims->entries[i].key, symbol) ||
                           o->dims->entries[i].key[strlen(o->dims->entries[i].key) - strlen(symbol) - 1] == ':'));
    return entry || (o->shapes && map_has(o->shapes, vi->name));
}

/* Inference gives the size of a symbol that the main graph's outputs have. */
static bool follows_from_outputs(const struct model_graph *g, const char *symbol)
{
    for (size_t i = 0; symbol[0] != '\0' && i < g->outputs.count; i++)
        if (model_type_has(&g->outputs.data[i]->type, symbol))
            return true;
    return false;
}

/* "batch, length": what is assumed; "" where every size is known. */
static void add_assumed(struct arena *a, const struct import_options *o, const struct model *m,
                        const struct model_graph *g, struct map *seen, struct strbuf *out)
{
    for (size_t i = 0; g && i < g->inputs.count; i++) {
        const struct model_value_info *const vi = g->inputs.data[i];
        for (size_t k = 0; k < vi->type.dims.count; k++) {
            const struct model_dim *const dim = &vi->type.dims.data[k];
            if (dim->value >= 0 || is_given(o, vi, dim->param) || model_find_initializer(g, vi->name))
                continue;
            if ((g != m->graph && follows_from_outputs(m->graph, dim->param)) ||
                import_size_of_weights(m->graph, dim->param) > 0)
                continue;
            const char *const text =
                dim->param[0] != '\0' ? dim->param : arena_printf(a, "dimension %zu of '%s'", k, vi->name);
            if (!map_has(seen, text))
                strbuf_addf(out, "%s%s", out->length > 0 ? ", " : "", text);
            map_set(seen, text, NULL);
        }
    }
}

static const char *assumed_text(struct session *s, const struct import_options *o, const struct model *m)
{
    struct map seen = {.arena = &s->arena};
    struct strbuf text = {.arena = &s->arena};
    add_assumed(&s->arena, o, m, m->graph, &seen, &text);
    vec_each(const struct model_training *, t, &m->training)
        add_assumed(&s->arena, o, m, t->algorithm, &seen, &text);
    return strbuf_text(&text);
}

static bool says(const struct diag *d, const struct diag_message *m)
{
    vec_each_ptr(const struct diag_message, own, &d->messages)
        if (own->severity == m->severity && str_equal(own->text, m->text))
            return true;
    return false;
}

/* Warnings and errors that all trials share. */
static void keep_common(struct session *s, const struct diag *trials, size_t count)
{
    vec_each_ptr(const struct diag_message, m, &trials[0].messages) {
        bool common = true;
        for (size_t k = 1; k < count; k++)
            common = common && says(&trials[k], m);
        if (common && m->unsupported)
            diag_unsupported(&s->diag, &m->loc, "%s", m->text);
        else if (common && m->severity == DIAG_ERROR)
            diag_error(&s->diag, &m->loc, "%s", m->text);
        else if (common && m->severity == DIAG_WARNING)
            diag_warning(&s->diag, &m->loc, "%s", m->text);
        else if (common)
            diag_note(&s->diag, &m->loc, "%s", m->text);
    }
}

/* *size: with which it was found right; 0: with none, and nobody can tell whether that is the model's fault. */
static bool check_with_sizes(struct session *s, const struct model *m, struct pipeline_options *o, const char *assumed,
                             struct program **out, int64_t *size)
{
    struct diag trials[ASSUMED] = {{0}};
    for (size_t i = 0; i < ASSUMED; i++) {
        trials[i].arena = &s->arena;
        trials[i].strict = s->diag.strict;
        o->import.provisional_dim = *size = assumed_sizes[i];
        if (pipeline_program(&trials[i], &s->arena, m, o, out)) {
            keep_common(s, &trials[i], 1);
            return true;
        }
        if (i == 0 && assumed[0] == '\0') {
            keep_common(s, trials, 1);
            return false;
        }
    }
    const size_t errors = s->diag.errors;
    keep_common(s, trials, ASSUMED);
    *size = 0;
    if (s->diag.errors > errors)
        return false;
    diag_warning(&s->diag, &LOC_FILE(m->file),
                 "not judged with sizes, since %s is not given; with %lld: %s; --dim gives sizes", assumed,
                 (long long)assumed_sizes[ASSUMED - 1], diag_first_error(&trials[ASSUMED - 1]));
    return true;
}

/* Distribution over devices: with `assumed` for sizes that nothing binds, or 0. What is wrong otherwise was said. */
static bool check_devices(struct session *s, const struct options *o, const struct model *m,
                          const struct import_options *import, int64_t assumed)
{
    struct strbuf table = {.arena = &s->arena, .clean = true};
    const struct devices_options how = {.assumed = assumed, .table = option_given(o, "devices") ? &table : NULL};
    const struct program *const p = model_has_devices(m) ? devices_program(&s->arena, m, import) : NULL;
    if (!p)
        return true;
    const bool ok = devices_check(&s->diag, p, &how);
    print_lines(strbuf_text(&table));
    return ok;
}

static bool check_model(struct session *s, const struct options *o, const char *path)
{
    struct model *m;
    struct program *p = NULL;
    int64_t size;
    struct pipeline_options pipeline = {.name = "model"};
    if (!read_import_options(s, o, &pipeline.import) || !refuse_range(s, &pipeline.import, "check") ||
        !read_model(s, o, &pipeline.import, path, &m))
        return false;
    const bool as_demanded = model_check(&s->diag, m);
    const char *const assumed = assumed_text(s, &pipeline.import, m);
    const bool right = check_with_sizes(s, m, &pipeline, assumed, &p, &size);
    if (!may_need_outputs(s, &pipeline.import, m, right) || !as_demanded || !check_nodes(&s->diag, m))
        return false;
    if (!check_devices(s, o, m, &pipeline.import, assumed[0] != '\0' ? size : 0))
        return false;
    if (option_given(o, "recipe") && !check_recipe(&s->diag, &s->arena, m, &pipeline, p, assumed))
        return false;
    if (option_given(o, "quiet"))
        return true;
    if (size == 0)
        print_text("%s: ok as far as can be told without sizes\n", path);
    else if (assumed[0] != '\0')
        print_text("%s: ok (%zu entries, %zu variables; assumed to be %lld: %s)\n", path, p->entries.count,
                   p->variables.count, (long long)size, assumed);
    else
        print_text("%s: ok (%zu entries, %zu variables)\n", path, p->entries.count, p->variables.count);
    if (option_given(o, "recipe"))
        print_text("%s: a recipe\n", path);
    return true;
}

/* Findings are no faults: they do not change the exit status. */
static bool examine(struct session *s, const struct options *o, const char *path)
{
    struct model *m;
    struct import_options import;
    finding_list found = {0};
    if (!read_import_options(s, o, &import) || !refuse_range(s, &import, "check") ||
        !read_model(s, o, &import, path, &m))
        return false;
    examine_export(&s->arena, m, &import, &found);
    vec_each_ptr(const struct finding, f, &found)
        print_text("%s: %s\n  cure: %s\n", path, f->text, f->cure);
    print_text("%s: %zu finding%s\n", path, found.count, str_plural(found.count));
    return true;
}

static int run(struct session *s, const struct options *o)
{
    if (o->arguments.count == 0) {
        say_text("stepc check: name at least one MODEL\nTry 'stepc help check'.\n");
        return EXIT_USAGE;
    }
    bool ok = true;
    vec_each(const char *, path, &o->arguments)
        ok &= check_model(s, o, path) && (!option_given(o, "training") || examine(s, o, path));
    return exit_status(ok);
}

const struct command command_check = {
    .name = "check",
    .arguments = "MODEL... [options]",
    .summary = "is the file right? every rule of the format and of training, all errors at once",
    .example = "stepc check digits_train.onnx",
    .options = tables,
    .run = run,
};
