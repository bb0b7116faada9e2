/* .npz of numpy.savez and savez_compressed: a zip archive of .npy files.
 * Spec: numpy/lib/format.py, numpy/lib/npyio.py. */
#include "foreign/checkpoint_internal.h"

#include "foreign/zip.h"

#include <string.h>

bool checkpoint_add_npz(struct checkpoint_reader *r, const char *path, const unsigned char *bytes, size_t size)
{
    struct zip z;
    named_tensors tensors = {0};
    if (!zip_is_one(bytes, size))
        return diag_error(r->diag, &LOC_FILE(path), "no .npz file: it is no zip archive");
    if (!zip_open(r->diag, r->arena, path, bytes, size, &z))
        return false;
    vec_each_ptr(struct zip_entry, e, &z.entries) {
        const unsigned char *content;
        struct tensor *t;
        if (!str_ends_with(e->name, ".npy"))
            return diag_error(r->diag, &LOC_FILE(path), "entry '%s' is no array of NumPy", e->name);
        if (!zip_read(&z, e, &content) ||
            !npy_parse(r->diag, r->arena, arena_printf(r->arena, "%s(%s)", path, e->name), content, e->size, &t))
            return false;
        vec_push(r->arena, &tensors, ((struct named_tensor){arena_strndup(r->arena, e->name, strlen(e->name) - 4), t}));
    }
    return checkpoint_add_tensors(r, &tensors);
}
