#include "engine/runtime_files.h"

#include "base/file.h"
#include "base/str.h"
#include "emit/runtime_text.h"
#include <string.h>

static bool write_text(struct diag *d, struct arena *a, const char *dir, const char *name, const char *text)
{
    return file_write(d, path_join(a, dir, name), text, strlen(text));
}

static const char *whole_text(struct arena *a, const struct runtime_file *f)
{
    struct strbuf text = {.arena = a};
    for (const struct runtime_piece *p = f->pieces;; p++) {
        strbuf_add(&text, p->text);
        if (!p->include)
            return strbuf_text(&text);
        strbuf_addf(&text, "#include \"%s\"\n", p->include);
    }
}

bool runtime_files_write(struct diag *d, struct arena *a, const char *dir)
{
    bool ok = write_text(d, a, dir, "stepc.h", runtime_stepc_h) &&
              write_text(d, a, dir, "stepc_blas.h", runtime_stepc_blas_h) &&
              directory_make(d, path_join(a, dir, "kernels"));
    for (size_t i = 0; ok && i < runtime_file_count; i++)
        ok = write_text(d, a, dir, runtime_files[i].name, whole_text(a, &runtime_files[i]));
    return ok;
}
