/* Tensors whose bytes live in a file beside the model. The model's author chooses the path, so it may be a trap: only a
 * plain file inside the model's folder is opened. Spec: ONNX ExternalData.md and the checks of the upstream loader.
 *
 * Not defended against: somebody who changes the folder while we read it. */
#include "model/model_internal.h"

#include "base/file.h"
#include "base/str.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct external {
    const char *location; /* as the model says it */
    uint64_t offset, length;
    bool has_length;
};

static bool parse_bytes(const char *s, uint64_t *out)
{
    uint64_t x = 0;
    if (!*s)
        return false;
    for (; *s; s++)
        if (*s < '0' || *s > '9' || __builtin_mul_overflow(x, 10u, &x) ||
            __builtin_add_overflow(x, (uint64_t)(*s - '0'), &x))
            return false;
    *out = x;
    return true;
}

/* checksum and basepath are written by some tools and used by nobody; unknown keys are allowed. */
static bool read_keys(struct reader *r, const struct loc *at, const char *what, const Onnx__TensorProto *p,
                      struct external *e)
{
    for (size_t i = 0; i < p->n_external_data; i++) {
        const char *key, *value;
        if (!read_text(r, at, p->external_data[i]->key, "a key of external data", &key) ||
            !read_text(r, at, p->external_data[i]->value, "a value of external data", &value))
            return false;
        if (str_equal(key, "location"))
            e->location = value;
        else if (str_equal(key, "offset") && !parse_bytes(value, &e->offset))
            return diag_error(r->diag, at, "%s: external data has offset '%s', expected a number of bytes", what,
                              value);
        else if (str_equal(key, "length") && !(e->has_length = parse_bytes(value, &e->length)))
            return diag_error(r->diag, at, "%s: external data has length '%s', expected a number of bytes", what,
                              value);
    }
    if (!e->location || !*e->location)
        return diag_error(r->diag, at, "%s: external data without a location", what);
    return true;
}

static bool has_parent_component(const char *path)
{
    for (const char *p = path; *p;) {
        const size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.')
            return true;
        p += n;
        p += *p == '/';
    }
    return false;
}

/* The folders on the way may be symbolic links as long as they end inside. */
static bool is_inside(const char *folder, const char *path)
{
    char real_folder[PATH_MAX], real_path[PATH_MAX];
    if (!realpath(folder, real_folder) || !realpath(path, real_path))
        return false;
    const size_t n = strlen(real_folder);
    if (n == 1) /* "/" */
        return true;
    return strncmp(real_path, real_folder, n) == 0 && real_path[n] == '/';
}

/* Leaves the path that may be opened, and the file's size. */
static bool find_file(struct reader *r, const struct loc *at, const char *what, const char *location, const char **path,
                      uint64_t *size)
{
    struct stat st;
    if (location[0] == '/')
        return diag_error(r->diag, at,
                          "%s: external data at the absolute path '%s'; it must be relative to the model's folder",
                          what, location);
    if (has_parent_component(location))
        return diag_error(r->diag, at, "%s: external data at '%s'; '..' could leave the model's folder", what,
                          location);
    const char *folder = path_directory(r->arena, r->file);
    *path = path_join(r->arena, folder, location);
    if (lstat(*path, &st) != 0)
        return diag_error(r->diag, at, "%s: cannot open external data '%s': %s", what, *path, strerror(errno));
    if (S_ISLNK(st.st_mode))
        return diag_error(r->diag, at, "%s: external data '%s' is a symbolic link; only plain files are read", what,
                          *path);
    if (!S_ISREG(st.st_mode))
        return diag_error(r->diag, at, "%s: external data '%s' is not a plain file", what, *path);
    if (st.st_nlink > 1)
        return diag_error(r->diag, at, "%s: external data '%s' is a hard link to a file that has other names; copy it",
                          what, *path);
    if (!is_inside(folder, *path))
        return diag_error(r->diag, at, "%s: external data '%s' lies outside the model's folder", what, *path);
    *size = (uint64_t)st.st_size;
    return true;
}

static bool check_range(struct reader *r, const struct loc *at, const char *what, const struct external *e,
                        const char *path, uint64_t size, size_t need)
{
    if (e->offset > size || (e->has_length && e->length > size - e->offset) || need > size - e->offset)
        return diag_error(r->diag, at,
                          "%s: external data '%s' has %llu bytes; bytes %llu and %llu following were asked for", what,
                          path, (unsigned long long)size, (unsigned long long)e->offset,
                          (unsigned long long)(e->has_length ? e->length : need));
    if (e->has_length && e->length < need)
        return diag_error(r->diag, at, "%s: external data of %llu bytes, expected %zu for its type and shape", what,
                          (unsigned long long)e->length, need);
    return true;
}

/* Many tensors over the same few bytes would multiply memory: honest sharing is rare, four times is enough for it. */
static bool check_total(struct reader *r, const struct loc *at, const char *what, const char *path, uint64_t size,
                        size_t need)
{
    if (!map_has(&r->external, path)) {
        map_set(&r->external, path, r);
        r->external_size += size;
        vec_push(r->arena, &r->model->external_files, path);
    }
    r->external_read += need;
    if (r->external_read > FILE_MAX_BYTES || r->external_read / 4 > r->external_size)
        return diag_error(r->diag, at,
                          "%s: external data refused: the tensors so far take %llu bytes out of files of %llu bytes",
                          what, (unsigned long long)r->external_read, (unsigned long long)r->external_size);
    return true;
}

bool external_data_read(struct reader *r, struct arena *a, const struct loc *at, const char *what,
                        const Onnx__TensorProto *p, size_t need, unsigned char **bytes, const char **location)
{
    struct external e = {0};
    const char *path = NULL;
    uint64_t size = 0;
    if (!r->model)
        return diag_error(r->diag, at, "%s: a tensor file cannot refer to external data", what);
    if (!read_keys(r, at, what, p, &e) || map_has(&r->refused, e.location))
        return false;
    if (!find_file(r, at, what, e.location, &path, &size)) {
        map_set(&r->refused, e.location, r);
        return false;
    }
    if (!check_range(r, at, what, &e, path, size, need) || !check_total(r, at, what, path, size, need))
        return false;
    *location = e.location;
    return file_read_at(r->diag, a, at, path, e.offset, need, bytes);
}
