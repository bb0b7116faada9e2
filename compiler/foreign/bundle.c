#include "foreign/bundle.h"

#include "base/checked.h"
#include "base/str.h"
#include "foreign/table.h"
#include "foreign/wire.h"

#include <string.h>

enum {
    MOST_SHARDS = 10000,
    NEWEST = 1 /* version of the format */
};

/* DataType of tensorflow/core/framework/types.proto */
static const struct {
    const char *name;
    enum dtype dtype;
} types[] = {
    {"invalid", DTYPE_UNDEFINED},
    {"float", DTYPE_FLOAT},
    {"double", DTYPE_DOUBLE},
    {"int32", DTYPE_INT32},
    {"uint8", DTYPE_UINT8},
    {"int16", DTYPE_INT16},
    {"int8", DTYPE_INT8},
    {"string", DTYPE_STRING},
    {"complex64", DTYPE_COMPLEX64},
    {"int64", DTYPE_INT64},
    {"bool", DTYPE_BOOL},
    {"qint8", DTYPE_UNDEFINED},
    {"quint8", DTYPE_UNDEFINED},
    {"qint32", DTYPE_UNDEFINED},
    {"bfloat16", DTYPE_BFLOAT16},
    {"qint16", DTYPE_UNDEFINED},
    {"quint16", DTYPE_UNDEFINED},
    {"uint16", DTYPE_UINT16},
    {"complex128", DTYPE_COMPLEX128},
    {"half", DTYPE_FLOAT16},
    {"resource", DTYPE_UNDEFINED},
    {"variant", DTYPE_UNDEFINED},
    {"uint32", DTYPE_UINT32},
    {"uint64", DTYPE_UINT64},
    {"float8_e5m2", DTYPE_FLOAT8E5M2},
    {"float8_e4m3fn", DTYPE_FLOAT8E4M3FN},
};
enum { TYPES = sizeof types / sizeof *types };

/* ---- the index --------------------------------------------------------------------------------------------------- */

/* VersionDef: what the reader must know at least. */
static bool read_version(const struct bundle *b, const struct wire_field *message)
{
    struct wire w = wire_of(message->bytes, message->size);
    struct wire_field f;
    while (wire_next(&w, &f))
        if (f.number == 2 && f.kind == WIRE_NUMBER && f.value > NEWEST)
            return diag_error(b->diag, &b->loc, "a checkpoint of TensorFlow in version %llu of its format, %d is read",
                              (unsigned long long)f.value, NEWEST);
    return w.ok || diag_error(b->diag, &b->loc, "the header of the index is damaged");
}

/* BundleHeaderProto */
static bool read_header(struct bundle *b, const struct table_entry *e)
{
    struct wire w = wire_of(e->value, e->size);
    struct wire_field f;
    uint64_t shards = 0;
    while (wire_next(&w, &f)) {
        if (f.number == 1 && f.kind == WIRE_NUMBER)
            shards = f.value;
        else if (f.number == 2 && f.kind == WIRE_NUMBER && f.value != 0)
            return diag_error(b->diag, &b->loc,
                              "a machine that stores high bytes first has written it, which is not read");
        else if (f.number == 3 && f.kind == WIRE_BYTES && !read_version(b, &f))
            return false;
    }
    if (!w.ok)
        return diag_error(b->diag, &b->loc, "the header of the index is damaged");
    if (shards < 1 || shards > MOST_SHARDS)
        return diag_error(b->diag, &b->loc, "it says that it has %llu data files", (unsigned long long)shards);
    b->shards = (size_t)shards;
    b->used = arena_array(b->arena, bool, b->shards);
    return true;
}

/* TensorShapeProto.Dim */
static bool read_dim(const struct wire_field *message, struct shape *out)
{
    struct wire w = wire_of(message->bytes, message->size);
    struct wire_field f;
    int64_t size = 0;
    while (wire_next(&w, &f))
        if (f.number == 1 && f.kind == WIRE_NUMBER)
            size = f.value <= INT64_MAX ? (int64_t)f.value : -1;
    if (!w.ok || size < 0 || out->rank == SHAPE_MAX_RANK)
        return false;
    out->dim[out->rank++] = size;
    return true;
}

/* TensorShapeProto */
static bool read_shape(const struct wire_field *message, struct shape *out)
{
    struct wire w = wire_of(message->bytes, message->size);
    struct wire_field f;
    *out = (struct shape){.rank = 0};
    while (wire_next(&w, &f))
        if ((f.number == 2 && f.kind == WIRE_BYTES && !read_dim(&f, out)) || (f.number == 3 && f.value != 0))
            return false;
    return w.ok;
}

/* The numbers of a BundleEntryProto. */
static bool take_number(const struct wire_field *f, struct bundle_entry *e)
{
    switch (f->number) {
    case 1:
        e->type = f->value < TYPES ? types[f->value].name : "another";
        e->dtype = f->value < TYPES ? types[f->value].dtype : DTYPE_UNDEFINED;
        return true;
    case 3:
        e->shard = f->value <= MOST_SHARDS ? (size_t)f->value : MOST_SHARDS;
        return true;
    case 4:
        e->offset = f->value;
        return true;
    case 5:
        e->size = f->value;
        return true;
    default:
        return true;
    }
}

/* BundleEntryProto */
static bool read_tensor(struct bundle *b, const struct table_entry *from)
{
    struct bundle_entry e = {.name = from->key, .type = types[0].name};
    struct wire w = wire_of(from->value, from->size);
    struct wire_field f;
    int64_t count;
    while (wire_next(&w, &f)) {
        if (f.number == 7)
            return diag_error(b->diag, &b->loc,
                              "tensor '%s' is stored in slices, as partitioned variables are; tf.train.Checkpoint or "
                              "tf.train.Saver of the whole variable writes it in one",
                              e.name);
        if (f.number == 2 && f.kind == WIRE_BYTES && !read_shape(&f, &e.shape))
            return diag_error(b->diag, &b->loc, "tensor '%s': its shape is damaged, or has more than %d dimensions",
                              e.name, SHAPE_MAX_RANK);
        if (f.number == 6 && f.kind == WIRE_FIXED32)
            e.crc = (uint32_t)f.value;
        else if (f.kind == WIRE_NUMBER)
            take_number(&f, &e);
    }
    if (!w.ok)
        return diag_error(b->diag, &b->loc, "what the index says of tensor '%s' is damaged", e.name);
    if (e.shard >= b->shards)
        return diag_error(b->diag, &b->loc, "tensor '%s' lies in a data file behind the last one", e.name);
    if (!shape_count_checked(&e.shape, &count))
        return diag_error(b->diag, &b->loc, "tensor '%s' is too large", e.name);
    b->used[e.shard] = true;
    vec_push(b->arena, &b->entries, e);
    return true;
}

bool bundle_open(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                 bool unchecked, struct bundle *out)
{
    table_entries table;
    *out = (struct bundle){.diag = d, .arena = a, .loc = LOC_FILE(path), .unchecked = unchecked};
    if (!table_parse(d, a, path, bytes, size, unchecked, &table))
        return false;
    if (table.count == 0 || table.data[0].key[0] != '\0')
        return diag_error(d, &out->loc, "no index of TensorFlow's checkpoints: its first key is no header");
    if (!read_header(out, &table.data[0]))
        return false;
    for (size_t i = 1; i < table.count; i++)
        if (!read_tensor(out, &table.data[i]))
            return false;
    return true;
}

/* ---- the data ---------------------------------------------------------------------------------------------------- */

static bool is_big_endian(void)
{
    return *(const unsigned char *)&(const uint16_t){1} == 0;
}

void tensor_to_native(struct tensor *t)
{
    const size_t bytes = tensor_bytes(t),
                 unit = dtype_size(t->dtype) / (t->dtype == DTYPE_COMPLEX64 || t->dtype == DTYPE_COMPLEX128 ? 2 : 1);
    unsigned char *const p = t->data;
    for (size_t at = 0; is_big_endian() && at < bytes; at += unit)
        for (size_t i = 0, j = unit - 1; i < j; i++, j--) {
            const unsigned char b = p[at + i];
            p[at + i] = p[at + j];
            p[at + j] = b;
        }
    for (size_t i = 0; t->dtype == DTYPE_BOOL && i < bytes; i++)
        p[i] = p[i] != 0;
}

static bool check_sum(const struct bundle *b, const struct loc *at, const struct bundle_entry *e, uint32_t crc)
{
    return b->unchecked || crc32c_masked(crc) == e->crc ||
           diag_error(b->diag, at,
                      "tensor '%s' has another checksum than the index says: the file is damaged, or of "
                      "another checkpoint",
                      e->name);
}

static bool fill_numbers(struct bundle *b, const struct loc *at, struct bundle_entry *e, const unsigned char *bytes)
{
    size_t wanted = 0;
    if (!checked_mul_size((size_t)shape_count(&e->shape), dtype_size(e->dtype), &wanted) || wanted != e->size)
        return diag_error(b->diag, at, "tensor '%s' %s%s does not fit its %llu bytes", e->name, dtype_name(e->dtype),
                          shape_text(b->arena, &e->shape), (unsigned long long)e->size);
    if (!check_sum(b, at, e, crc32c(0, bytes, wanted)))
        return false;
    struct tensor *const t = tensor_new(b->arena, e->dtype, &e->shape);
    if (wanted > 0)
        memcpy(t->data, bytes, wanted);
    tensor_to_native(t);
    e->tensor = t;
    return true;
}

/* A single one: its length, a checksum of the length as four bytes, the text. Checked are all three. */
static bool fill_text(struct bundle *b, const struct loc *at, struct bundle_entry *e, const unsigned char *bytes)
{
    const unsigned char *p = bytes, *const end = bytes + e->size;
    uint64_t length;
    if (!read_varint(&p, end, &length) || end - p < 4 || length != (uint64_t)(end - p) - 4 || length > UINT32_MAX)
        return diag_error(b->diag, at, "the text '%s' does not fit its %llu bytes", e->name,
                          (unsigned long long)e->size);
    const unsigned char low[4] = {(unsigned char)length, (unsigned char)(length >> 8), (unsigned char)(length >> 16),
                                  (unsigned char)(length >> 24)};
    if (!check_sum(b, at, e, crc32c(crc32c(0, low, sizeof low), p, (size_t)(end - p))))
        return false;
    e->text_size = (size_t)length;
    e->text = arena_copy(b->arena, p + 4, e->text_size, 1);
    return true;
}

bool bundle_fill(struct bundle *b, const char *path, size_t shard, const unsigned char *bytes, size_t size)
{
    const struct loc at = LOC_FILE(path);
    uint64_t left = size;
    vec_each_ptr(struct bundle_entry, e, &b->entries) {
        if (e->shard != shard || e->dtype == DTYPE_UNDEFINED || (e->dtype == DTYPE_STRING && e->shape.rank > 0))
            continue;
        if (e->offset > size || e->size > size - e->offset)
            return diag_error(b->diag, &at, "tensor '%s' ends behind the %zu bytes of the file", e->name, size);
        if (e->size > left)
            return diag_error(b->diag, &at, "its tensors are larger than the file: some share their bytes");
        left -= e->size;
        const unsigned char *const from = bytes + e->offset;
        if (e->dtype == DTYPE_STRING ? !fill_text(b, &at, e, from) : !fill_numbers(b, &at, e, from))
            return false;
    }
    return true;
}
