#include "cmd/files.h"

#include "base/file.h"
#include "base/str.h"

#include <string.h>

/* How the text of an option names a file. */
enum file_form {
    FORM_FILE,     /* all of it */
    FORM_PAIR,     /* NAME=FILE */
    FORM_SETTING,  /* NAME=@FILE, else none */
    FORM_AT,       /* @FILE, else none */
    FORM_NO_NUMBER, /* all of it, unless it is a number, as of 'run --from' */
    FORM_OR_STDOUT  /* all of it, or "-" */
};

struct file_option {
    const char *name;
    enum file_form form;
    const char *replacer;
    bool late; /* written at the end of a run */
};

/* Rules for make list them in this order. */
static const struct file_option read_options[] = {
    {"set", .form = FORM_SETTING},
    {"class-weights", .form = FORM_FILE},
    {"names-from", .form = FORM_FILE},
    {"weights-from", .form = FORM_FILE},
    {"train", .form = FORM_AT},
    {"freeze", .form = FORM_AT},
    {"group", .form = FORM_AT},
    {"feed", .form = FORM_PAIR},
    {"data", .form = FORM_PAIR},
    {"validate", .form = FORM_PAIR},
    {"load", .form = FORM_FILE, .replacer = "save"},
    {"from", .form = FORM_NO_NUMBER},
    {"parameters", .form = FORM_FILE},
    {"state", .form = FORM_FILE},
    {0}};

static const struct file_option written_options[] = {
    {"out", .form = FORM_FILE},
    {"csv", .form = FORM_FILE},
    {"plot", .form = FORM_FILE, .late = true},
    {"fetch", .form = FORM_PAIR, .late = true},
    {"save", .form = FORM_FILE, .late = true},
    {"json", .form = FORM_OR_STDOUT},
    {"html", .form = FORM_OR_STDOUT},
    {"dot", .form = FORM_OR_STDOUT},
    {"depfile", .form = FORM_FILE},
    {0}};

/* ---- NAME=FILE --------------------------------------------------------------------------------------------------- */

struct name_search {
    const char *name;
    bool found;
};

static void look_at_outputs(void *to, const struct model_node *n)
{
    struct name_search *const s = to;
    vec_each(const char *, output, &n->outputs)
        s->found = s->found || str_equal(output, s->name);
}

static bool graph_has_value(const struct model_graph *g, const char *name)
{
    struct name_search s = {.name = name};
    if (!g)
        return false;
    model_each_node(g, look_at_outputs, &s);
    return s.found || model_find_value(&g->inputs, name) || model_find_initializer(g, name);
}

static bool model_has_value(const struct model *m, const char *name)
{
    bool found = graph_has_value(m->graph, name);
    for (size_t i = 0; i < m->training.count && !found; i++)
        found = graph_has_value(m->training.data[i]->algorithm, name) ||
                graph_has_value(m->training.data[i]->initialization, name);
    return found;
}

bool file_pair(struct arena *a, const struct model *m, const char *text, const char **name, const char **path)
{
    for (size_t end = strlen(text); end > 1; end--) {
        if (text[end - 1] != '=')
            continue;
        *name = arena_strndup(a, text, end - 1);
        *path = text + end;
        if (model_has_value(m, *name))
            return true;
    }
    return option_pair(a, text, name, path);
}

/* ---- what the options name --------------------------------------------------------------------------------------- */

/* NULL: the text names no file. */
static const char *file_in(struct arena *a, const struct model *m, enum file_form form, const char *text)
{
    const char *at, *name;
    switch (form) {
    case FORM_PAIR:
        return file_pair(a, m, text, &name, &at) ? at : NULL;
    case FORM_SETTING:
        at = strstr(text, "=@");
        return at ? at + 2 : NULL;
    case FORM_AT:
        return text[0] == '@' ? text + 1 : NULL;
    case FORM_NO_NUMBER:
        return text[strspn(text, "0123456789")] == '\0' ? NULL : text;
    default:
        return text;
    }
}

static void add_options(struct arena *a, const struct options *o, const struct model *m,
                        const struct file_option *table, named_files *out)
{
    for (const struct file_option *f = table; f->name; f++) {
        const str_list texts = option_list(o, f->name);
        const char *const dashed = str_equal(f->name, "out") ? "-o" : arena_printf(a, "--%s", f->name);
        vec_each(const char *, text, &texts) {
            const char *const path = file_in(a, m, f->form, text);
            if (path)
                vec_push(a, out, ((struct named_file){.text = arena_printf(a, "%s %s", dashed, text), .path = path,
                                                      .option = f->name, .replacer = f->replacer,
                                                      .late = f->late,
                                                      .is_stdout = f->form == FORM_OR_STDOUT &&
                                                                   str_equal(path, "-")}));
        }
    }
}

void files_add(struct arena *a, named_files *list, const char *what, const char *path)
{
    vec_push(a, list, ((struct named_file){.text = arena_printf(a, "%s %s", what, path), .path = path}));
}

/* What was named is in the list already. */
static void add_checkpoint(struct arena *a, const struct model_source *c, named_files *out)
{
    bool is_file = false;
    vec_each(const char *, path, &c->files)
        if (str_equal(path, c->path))
            is_file = true;
        else
            files_add(a, out, arena_printf(a, "a file of the checkpoint %s,", c->path), path);
    for (size_t i = 0; i < out->count; i++)
        if (!is_file && str_equal(out->data[i].path, c->path))
            out->data[i].is_several = true;
}

void files_read(struct arena *a, const struct options *o, const char *model, const struct model *m,
                const char *replacer, named_files *out)
{
    files_add(a, out, "the model", model);
    out->data[out->count - 1].replacer = replacer;
    vec_each(const char *, path, &m->external_files)
        files_add(a, out, "the model's external data", path);
    add_options(a, o, m, read_options, out);
    vec_each_ptr(const struct model_source, c, &m->checkpoints)
        add_checkpoint(a, c, out);
}

void files_written(struct arena *a, const struct options *o, const struct model *m, named_files *out)
{
    add_options(a, o, m, written_options, out);
}

static bool may_replace(const struct named_file *output, const struct named_file *input)
{
    return output->option && input->replacer && str_equal(output->option, input->replacer);
}

/* One output alone goes there: `first` is the first of the list. */
static bool check_stdout(struct diag *d, const struct named_file *output, const struct named_file *first)
{
    for (const struct named_file *other = first; other < output; other++)
        if (other->is_stdout)
            return diag_error(d, NULL, "%s and %s would both be written to stdout", other->text, output->text);
    return true;
}

bool files_check(struct diag *d, const named_files *read, const named_files *written)
{
    bool ok = true;
    for (size_t i = 0; i < written->count; i++) {
        const struct named_file *const output = &written->data[i];
        if (output->is_stdout) {
            ok = check_stdout(d, output, &written->data[0]) && ok;
            continue;
        }
        if (output->option && !file_check_place(d, output->path))
            ok = false;
        else if (output->late && !file_check_writable(d, output->path))
            ok = false;
        vec_each_ptr(const struct named_file, input, read)
            if (!may_replace(output, input) && file_is_same(output->path, input->path))
                ok = diag_error(d, NULL, "%s would replace %s", output->text, input->text);
        for (size_t j = 0; j < i; j++)
            if (!written->data[j].is_stdout && file_is_same(output->path, written->data[j].path))
                ok = diag_error(d, NULL, "%s would replace %s, which is written too", output->text,
                                written->data[j].text);
    }
    return ok;
}

bool files_check_options(struct session *s, const struct options *o, const char *model, const struct model *m,
                         const char *replacer)
{
    named_files read = {0}, written = {0};
    files_read(&s->arena, o, model, m, replacer, &read);
    files_written(&s->arena, o, m, &written);
    return files_check(&s->diag, &read, &written);
}
