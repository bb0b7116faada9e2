#include "foreign/torch_file.h"

#include "base/file.h"
#include "base/str.h"
#include "foreign/zip.h"

#include <string.h>

enum { MOST_COPIES = 4 }; /* of the file: views of one storage become tensors of their own */

struct torch_reader {
    struct diag *diag;
    struct arena *arena;
    struct loc loc;
    struct zip zip;
    const char *prefix;  /* of all entries */
    bool swapped;        /* the file's order of bytes is not ours */
    size_t budget, used; /* bytes of tensors */
};

static bool is_big_endian(void)
{
    return *(const unsigned char *)&(const uint16_t){1} == 0;
}

/* The archive's name stands in front of all names in it. */
static bool find_prefix(struct torch_reader *r)
{
    static const char *const end = "/data.pkl";
    vec_each_ptr(const struct zip_entry, e, &r->zip.entries) {
        const char *const slash = strchr(e->name, '/');
        if (slash && str_equal(slash, end)) {
            r->prefix = arena_strndup(r->arena, e->name, (size_t)(slash - e->name));
            return true;
        }
    }
    return diag_error(r->diag, &r->loc, "a zip archive, but none of torch.save: it has no 'NAME/data.pkl'");
}

static struct zip_entry *find_entry(const struct torch_reader *r, const char *name)
{
    return zip_find(&r->zip, arena_printf(r->arena, "%s/%s", r->prefix, name));
}

static bool find_byte_order(struct torch_reader *r)
{
    struct zip_entry *const e = find_entry(r, "byteorder");
    const unsigned char *bytes;
    r->swapped = is_big_endian();
    if (!e)
        return true;
    if (!zip_read(&r->zip, e, &bytes))
        return false;
    const bool is_big = e->size == 3 && memcmp(bytes, "big", 3) == 0;
    if (!is_big && (e->size != 6 || memcmp(bytes, "little", 6) != 0))
        return diag_error(r->diag, &r->loc, "'byteorder' says neither 'little' nor 'big'");
    r->swapped = is_big != is_big_endian();
    return true;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static void swap_units(unsigned char *bytes, size_t size, size_t unit)
{
    for (size_t at = 0; at < size; at += unit)
        for (size_t i = 0, j = unit - 1; i < j; i++, j--) {
            const unsigned char b = bytes[at + i];
            bytes[at + i] = bytes[at + j];
            bytes[at + j] = b;
        }
}

static bool is_dense(const struct pickle_tensor *t)
{
    int64_t step = 1;
    for (int i = t->shape.rank - 1; i >= 0; i--) {
        if (t->shape.dim[i] != 1 && t->stride[i] != step)
            return false;
        step *= t->shape.dim[i];
    }
    return true;
}

/* Element by element, row-major; the place among the storage's elements was checked. */
static void copy_strided(const struct pickle_tensor *t, const unsigned char *from, unsigned char *to, size_t size)
{
    int64_t index[SHAPE_MAX_RANK] = {0};
    do {
        int64_t at = t->offset;
        for (int i = 0; i < t->shape.rank; i++)
            at += index[i] * t->stride[i];
        memcpy(to, from + (size_t)at * size, size);
        to += size;
    } while (shape_next(&t->shape, index));
}

static bool find_storage(struct torch_reader *r, const struct pickle_tensor *t, const unsigned char **out)
{
    const struct pickle_storage *const s = t->storage;
    struct zip_entry *const e = find_entry(r, arena_printf(r->arena, "data/%s", s->key));
    const size_t unit = s->dtype == DTYPE_UNDEFINED ? 1 : dtype_size(s->dtype);
    if (!e)
        return diag_error(r->diag, &r->loc, "storage '%s' of the pickle is not in the archive", s->key);
    if ((int64_t)(e->size / unit) != s->count || e->size % unit != 0)
        return diag_error(r->diag, &r->loc, "storage '%s' has %zu bytes, expected %lld elements of %zu", s->key,
                          e->size, (long long)s->count, unit);
    if (e->size > r->budget)
        return diag_error(r->diag, &r->loc, "storage '%s' is larger than %d times the file", s->key, MOST_COPIES);
    return zip_read(&r->zip, e, out);
}

static bool fill_tensor(struct torch_reader *r, struct pickle_tensor *t)
{
    const unsigned char *from;
    const size_t size = dtype_size(t->dtype);
    if (!find_storage(r, t, &from))
        return false;
    const size_t bytes = (size_t)shape_count(&t->shape) * size;
    if (bytes > r->budget - r->used)
        return diag_error(r->diag, &r->loc, "the tensors together are larger than %d times the file", MOST_COPIES);
    r->used += bytes;
    t->tensor = tensor_new(r->arena, t->dtype, &t->shape);
    if (bytes == 0)
        return true;
    if (is_dense(t))
        memcpy(t->tensor->data, from + (size_t)t->offset * size, bytes);
    else
        copy_strided(t, from, t->tensor->data, size);
    if (r->swapped)
        swap_units(t->tensor->data, bytes,
                   size / (t->dtype == DTYPE_COMPLEX64 || t->dtype == DTYPE_COMPLEX128 ? 2 : 1));
    for (size_t i = 0; t->dtype == DTYPE_BOOL && i < bytes; i++)
        ((unsigned char *)t->tensor->data)[i] = ((unsigned char *)t->tensor->data)[i] != 0;
    return true;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* What torch.save wrote before PyTorch 1.6: a pickle that is this number, and others behind it. */
static bool is_legacy(const unsigned char *bytes, size_t size)
{
    static const unsigned char beginning[] = {0x80, 2,    0x8a, 10,   0x6c, 0xfc, 0x9c,
                                              0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
    return size >= sizeof beginning && memcmp(bytes, beginning, sizeof beginning) == 0;
}

static bool open_archive(struct torch_reader *r, const char *path, const unsigned char *bytes, size_t size)
{
    if (is_legacy(bytes, size))
        return diag_error(r->diag, &r->loc,
                          "torch.save wrote it before PyTorch 1.6, or with "
                          "_use_new_zipfile_serialization=False; "
                          "torch.save(torch.load(FILE), FILE) writes it anew");
    if (!zip_is_one(bytes, size))
        return diag_error(r->diag, &r->loc, "no file of torch.save: it is no zip archive");
    if (!zip_open(r->diag, r->arena, path, bytes, size, &r->zip) || !find_prefix(r))
        return false;
    if (find_entry(r, "constants.pkl"))
        return diag_error(r->diag, &r->loc,
                          "a TorchScript program, not a checkpoint; torch.save(net.state_dict(), "
                          "FILE) writes one");
    return find_byte_order(r);
}

bool torch_parse(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                 const struct pickle_value **out)
{
    struct torch_reader r = {.diag = d, .arena = a, .loc = LOC_FILE(path),
                             .budget = size < SIZE_MAX / MOST_COPIES ? size * MOST_COPIES : SIZE_MAX};
    const unsigned char *pickle;
    pickle_tensors tensors = {0};
    if (!open_archive(&r, path, bytes, size))
        return false;
    struct zip_entry *const e = find_entry(&r, "data.pkl");
    if (e->size > PICKLE_MAX_BYTES)
        return diag_error(d, &r.loc, "its pickle has %zu bytes, at most %zu are read", e->size, PICKLE_MAX_BYTES);
    if (!zip_read(&r.zip, e, &pickle) || !pickle_parse(d, a, path, e->name, pickle, e->size, out, &tensors))
        return false;
    vec_each(struct pickle_tensor *, t, &tensors)
        if (!fill_tensor(&r, t))
            return false;
    return true;
}
