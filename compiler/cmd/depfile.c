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

/* "my model.onnx" -> "my\ model.onnx", as GNU make and ninja read it back and GCC writes it: backslashes are doubled in
 * front of what gets one, and nowhere else. (CMake's own reader does not know "\:": under Ninja it runs such a rule
 * every time, and its makefiles have no paths with a colon at all.) A backslash at the end would join the next name,
 * and a semicolon begins a recipe: make has no way to write them. */
static bool add_escaped(struct diag *d, struct strbuf *b, const char *path)
{
    size_t slashes = 0; /* that stand right in front */
    for (const char *p = path; *p; p++) {
        if (*p == '\n' || *p == '\r' || *p == ';' || (*p == '\\' && p[1] == '\0'))
            return diag_error(d, &LOC_FILE(path), "a dependency file cannot name a path with %s",
                              *p == ';' ? "a semicolon" : *p == '\\' ? "a backslash at its end" : "a line break");
        if (*p == '$')
            strbuf_add(b, "$");
        if (strchr(" \t#:|", *p))
            for (size_t i = 0; i <= slashes; i++)
                strbuf_add(b, "\\");
        slashes = *p == '\\' ? slashes + 1 : 0;
        strbuf_add_n(b, p, 1);
    }
    return true;
}

/* GNU make takes "TARGET: a=b c" for a variable of the target, unless a name without '=' stands in front. */
static void put_plain_first(str_list *names)
{
    size_t plain = 0;
    while (plain < names->count && strchr(names->data[plain], '='))
        plain++;
    if (plain == names->count)
        return;
    const char *const name = names->data[plain];
    for (; plain > 0; plain--)
        names->data[plain] = names->data[plain - 1];
    names->data[0] = name;
}

static bool make_rule(struct diag *d, struct strbuf *b, const char *path, const str_list *outputs,
                      const str_list *inputs)
{
    bool ok = true;
    for (size_t i = 0; i < outputs->count; i++) {
        strbuf_add(b, i ? " " : "");
        ok = add_escaped(d, b, outputs->data[i]) && ok;
    }
    strbuf_add(b, ":");
    for (size_t i = 0; i < inputs->count; i++) {
        strbuf_add(b, " \\\n  ");
        ok = add_escaped(d, b, inputs->data[i]) && ok;
    }
    strbuf_add(b, "\n");
    if (strchr(outputs->data[0], '=') || strchr(inputs->data[0], '='))
        diag_warning(d, &LOC_FILE(path), "make takes the rule for a variable, since '%s' has a '='; ninja does not",
                     strchr(outputs->data[0], '=') ? outputs->data[0] : inputs->data[0]);
    return ok;
}

/* Absolute paths: builds run in other folders. */
static bool list_inputs(struct session *s, const struct options *o, const char *path, const struct model *m,
                        const char *file, str_list *out)
{
    char here[PATH_MAX];
    named_files inputs = {0};
    if (getcwd(here, sizeof here) == NULL)
        return diag_error(&s->diag, &LOC_FILE(file), "the current folder has no name: %s", strerror(errno));
    files_read(&s->arena, o, path, m, NULL, &inputs);
    vec_each_ptr(const struct named_file, input, &inputs)
        if (!input->is_several)
            vec_push(&s->arena, out, path_join(&s->arena, here, input->path));
    put_plain_first(out);
    return true;
}

bool make_depfile(struct session *s, const struct options *o, const char *path, const struct model *m,
                  str_list outputs, struct file_content *out)
{
    struct arena *const a = &s->arena;
    const char *const file = option_text(o, "depfile"), *const target = option_text(o, "depfile-target");
    struct strbuf rule = {.arena = a};
    str_list inputs = {0};
    *out = (struct file_content){0};
    if (!file)
        return true;
    if (target) {
        outputs = (str_list){0};
        vec_push(a, &outputs, target);
    }
    if (!list_inputs(s, o, path, m, file, &inputs) || !make_rule(&s->diag, &rule, file, &outputs, &inputs))
        return false;
    *out = (struct file_content){file, put_text, strbuf_text(&rule), rule.length};
    return true;
}
