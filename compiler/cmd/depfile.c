#include "cmd/depfile.h"

#include "base/file.h"
#include "base/str.h"
#include "cmd/files.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

const struct option_spec depfile_options[] = {
    OPTION_HEADING("builds"),
    {"depfile", 0, OPTION_TEXT, "FILE", "write a rule for make: which files the output was made of"},
    {"depfile-target", 0, OPTION_TEXT, "NAME", "with --depfile: target of that rule (default: the output)"},
    {0}};

/* "my model.onnx" -> "my\ model.onnx": what make, ninja and CMake read back. */
static bool add_escaped(struct diag *d, struct strbuf *b, const char *path)
{
    for (const char *p = path; *p; p++) {
        if (*p == '\n' || *p == '\r')
            return diag_error(d, &LOC_FILE(path), "a dependency file cannot name a path with a line break");
        if (*p == '$')
            strbuf_add(b, "$");
        else if (*p == ' ' || *p == '#' || *p == '\t')
            strbuf_add(b, "\\");
        strbuf_add_n(b, p, 1);
    }
    return true;
}

static bool make_rule(struct diag *d, struct strbuf *b, const char *path, const str_list *outputs,
                      const named_files *inputs)
{
    char here[PATH_MAX];
    bool ok = true;
    if (getcwd(here, sizeof here) == NULL)
        return diag_error(d, &LOC_FILE(path), "the current folder has no name: %s", strerror(errno));
    for (size_t i = 0; i < outputs->count; i++) {
        strbuf_add(b, i ? " " : "");
        ok = add_escaped(d, b, outputs->data[i]) && ok;
    }
    strbuf_add(b, ":");
    for (size_t i = 0; i < inputs->count; i++) {
        if (inputs->data[i].is_several)
            continue;
        strbuf_add(b, " \\\n  ");
        ok = add_escaped(d, b, path_join(b->arena, here, inputs->data[i].path)) && ok;
    }
    strbuf_add(b, "\n");
    return ok;
}

bool make_depfile(struct session *s, const struct options *o, const char *path, const struct model *m,
                  str_list outputs, struct file_content *out)
{
    struct arena *const a = &s->arena;
    const char *const file = option_text(o, "depfile"), *const target = option_text(o, "depfile-target");
    struct strbuf rule = {.arena = a};
    named_files inputs = {0};
    *out = (struct file_content){0};
    if (!file)
        return true;
    if (target) {
        outputs = (str_list){0};
        vec_push(a, &outputs, target);
    }
    files_read(a, o, path, m, NULL, &inputs);
    if (!make_rule(&s->diag, &rule, file, &outputs, &inputs))
        return false;
    *out = (struct file_content){file, put_text, strbuf_text(&rule), rule.length};
    return true;
}
