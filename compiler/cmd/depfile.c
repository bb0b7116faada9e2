#include "cmd/depfile.h"

#include "base/file.h"
#include "base/str.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

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

bool depfile_write(struct diag *d, struct arena *a, const char *path, const text_list *outputs, const text_list *inputs)
{
    struct strbuf b = {.arena = a};
    char here[PATH_MAX];
    bool ok = true;
    if (getcwd(here, sizeof here) == NULL)
        return diag_error(d, &LOC_FILE(path), "the current folder has no name: %s", strerror(errno));
    for (size_t i = 0; i < outputs->count; i++) {
        strbuf_add(&b, i ? " " : "");
        ok = add_escaped(d, &b, outputs->data[i]) && ok;
    }
    strbuf_add(&b, ":");
    for (size_t i = 0; i < inputs->count; i++) {
        strbuf_add(&b, " \\\n  ");
        ok = add_escaped(d, &b, path_join(a, here, inputs->data[i])) && ok;
    }
    strbuf_add(&b, "\n");
    return ok && file_write(d, path, strbuf_text(&b), b.length);
}
