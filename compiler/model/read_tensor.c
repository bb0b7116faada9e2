/* TensorProto -> struct tensor: every type, from raw_data, from the typed field that belongs to it, or from another
 * file. Spec: ONNX onnx.proto, comments of TensorProto. Where sub-byte types stand in int32_data, each entry is one
 * packed byte, as the message definition says. */
#include "model/model_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum field { RAW, FLOATS, INT32S, STRINGS, INT64S, DOUBLES, UINT64S, FIELD_COUNT };

static const char *const field_name[FIELD_COUNT] = {"raw_data",   "float_data",  "int32_data", "string_data",
                                                    "int64_data", "double_data", "uint64_data"};

static enum field field_of(enum dtype d)
{
    switch (d) {
    case DTYPE_FLOAT:
    case DTYPE_COMPLEX64:
        return FLOATS;
    case DTYPE_DOUBLE:
    case DTYPE_COMPLEX128:
        return DOUBLES;
    case DTYPE_INT64:
        return INT64S;
    case DTYPE_UINT32:
    case DTYPE_UINT64:
        return UINT64S;
    case DTYPE_STRING:
        return STRINGS;
    default:
        return INT32S;
    }
}

int packed_per_byte(enum dtype d)
{
    const int bits = dtype_bits(d);
    return bits == 4 || bits == 2 ? 8 / bits : 1;
}

size_t packed_size(enum dtype d, int64_t count)
{
    const int per = packed_per_byte(d);
    if (per > 1)
        return (size_t)(count / per + (count % per != 0));
    return (size_t)count * dtype_size(d);
}

size_t part_size(enum dtype d)
{
    const bool complex = d == DTYPE_COMPLEX64 || d == DTYPE_COMPLEX128;
    return dtype_size(d) / (complex ? 2 : 1);
}

void copy_little_endian(void *to, const void *from, size_t count, size_t size)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (count > 0)
        memcpy(to, from, count * size);
#else
    unsigned char *t = to;
    const unsigned char *f = from;
    for (size_t i = 0; i < count * size; i += size)
        for (size_t k = 0; k < size; k++)
            t[i + k] = f[i + size - 1 - k];
#endif
}

/* What the element functions need to say where they are. */
struct element_source {
    struct reader *r;
    const struct loc *at;
    const char *what;
    const Onnx__TensorProto *p;
    size_t sizes[FIELD_COUNT]; /* of its value fields: bytes or entries */
};

static bool read_dims(const struct element_source *s, struct shape *shape, int64_t *count)
{
    if (s->p->n_dims > SHAPE_MAX_RANK)
        return diag_error(s->r->diag, s->at, "%s has rank %zu; at most %d is supported", s->what, s->p->n_dims,
                          SHAPE_MAX_RANK);
    shape->rank = (int)s->p->n_dims;
    for (int i = 0; i < shape->rank; i++) {
        shape->dim[i] = s->p->dims[i];
        if (shape->dim[i] < 0)
            return diag_error(s->r->diag, s->at, "%s: dimension %d is %lld, expected 0 or more", s->what, i,
                              (long long)shape->dim[i]);
    }
    if (!shape_count_checked(shape, count))
        return diag_error(s->r->diag, s->at, "%s: shape %s has too many elements", s->what,
                          shape_text(s->r->arena, shape));
    return true;
}

/* Exactly one value field, none for a tensor without elements. */
static bool find_field(const struct element_source *s, enum dtype dtype, int64_t count, enum field *field)
{
    int found = 0;
    *field = field_of(dtype);
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (s->sizes[i] == 0)
            continue;
        if (found++)
            return diag_error(s->r->diag, s->at, "%s holds data twice, in %s and in %s", s->what, field_name[*field],
                              field_name[i]);
        *field = (enum field)i;
    }
    if (found && count == 0)
        return diag_error(s->r->diag, s->at, "%s has no elements by its shape, but data in %s", s->what,
                          field_name[*field]);
    if (!found && count > 0)
        return diag_error(s->r->diag, s->at, "%s has no data; its shape asks for %lld elements", s->what,
                          (long long)count);
    if (*field == field_of(dtype) || (*field == RAW && dtype != DTYPE_STRING))
        return true;
    return diag_error(s->r->diag, s->at, "%s: data of type %s stands in %s, expected %s%s", s->what, dtype_name(dtype),
                      field_name[*field], dtype == DTYPE_STRING ? "" : "raw_data or ", field_name[field_of(dtype)]);
}

/* More than enough is let through, as the upstream checker does. */
static bool check_amount(const struct element_source *s, enum field field, size_t need, const struct tensor *like)
{
    const char *unit = field == RAW ? "bytes" : "entries";
    const size_t have = s->sizes[field];
    if (have == need)
        return true;
    const char *shape = shape_text(s->r->arena, &like->shape);
    if (have < need)
        return diag_error(s->r->diag, s->at, "%s: %s has %zu %s, expected %zu for type %s and shape %s", s->what,
                          field_name[field], have, unit, need, dtype_name(like->dtype), shape);
    if (s->r->diag->messages.count >= DIAG_MAX_PRINTED)
        return true;
    return diag_lenient(s->r->diag, s->at, "%s: %s has %zu %s, more than the %zu that type %s and shape %s need",
                        s->what, field_name[field], have, unit, need, dtype_name(like->dtype), shape);
}

/* Element i of packed bytes, as stepc keeps it: one byte, sign-extended for int4 and int2. First element in the low
 * bits. */
static unsigned char unpack_element(enum dtype d, unsigned byte, int64_t i)
{
    const int bits = dtype_bits(d);
    const unsigned mask = (1u << bits) - 1, sign = 1u << (bits - 1);
    unsigned x = byte >> (i % (8 / bits) * bits) & mask;
    if ((d == DTYPE_INT4 || d == DTYPE_INT2) && (x & sign))
        x |= 0xffu & ~mask;
    return (unsigned char)x;
}

/* Does the tensor's memory look like the file's? Then weights, which are most of what is read, need not be copied. */
static bool is_as_in_file(enum dtype d)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && packed_per_byte(d) == 1 && d != DTYPE_BOOL;
}

static struct tensor *tensor_over(const struct element_source *s, const struct tensor *like, void *data)
{
    struct tensor *const t = arena_copy(s->r->arena, like, sizeof *like, alignof(struct tensor));
    t->data = data;
    return t;
}

static void fill_from_bytes(struct tensor *t, const unsigned char *bytes)
{
    unsigned char *to = t->data;
    const int per = packed_per_byte(t->dtype);
    const size_t part = part_size(t->dtype);
    if (per > 1)
        for (int64_t i = 0; i < t->count; i++)
            to[i] = unpack_element(t->dtype, bytes[i / per], i);
    else if (t->dtype == DTYPE_BOOL)
        for (int64_t i = 0; i < t->count; i++)
            to[i] = bytes[i] != 0;
    else
        copy_little_endian(to, bytes, (size_t)t->count * dtype_size(t->dtype) / part, part);
}

static bool error_entry(const struct element_source *s, enum field field, int64_t i, long long x, enum dtype d)
{
    return diag_error(s->r->diag, s->at, "%s: entry %lld of %s is %lld, which %s cannot hold", s->what, (long long)i,
                      field_name[field], x, dtype_name(d));
}

/* Bits of small floats and packed bytes: unsigned by the specification; sign-extended ones are understood too. */
static bool fits_bits(int64_t x, int bits)
{
    return x >= -((int64_t)1 << (bits - 1)) && x < (int64_t)1 << bits;
}

static bool fill_from_int32(const struct element_source *s, struct tensor *t)
{
    const int32_t *from = s->p->int32_data;
    unsigned char *to = t->data;
    const int per = packed_per_byte(t->dtype);
    const size_t size = dtype_size(t->dtype);
    const bool is_value = per == 1 && dtype_is_int(t->dtype);
    const int bits = size == 2 ? 16 : 8;
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t x = from[i / per];
        if (t->dtype == DTYPE_BOOL) {
            to[i] = x != 0;
            continue;
        }
        if (is_value ? x < dtype_min_int(t->dtype) || x > dtype_max_int(t->dtype) : !fits_bits(x, bits))
            return error_entry(s, INT32S, i / per, x, t->dtype);
        if (is_value) {
            dtype_store_int(t->dtype, to + (size_t)i * size, x);
        } else if (per > 1) {
            to[i] = unpack_element(t->dtype, (unsigned)x & 0xff, i);
        } else if (size == 2) {
            const uint16_t half = (uint16_t)x;
            memcpy(to + 2 * i, &half, 2);
        } else {
            to[i] = (unsigned char)x;
        }
    }
    return true;
}

static bool fill_from_uint64(const struct element_source *s, struct tensor *t)
{
    if (t->dtype == DTYPE_UINT64) {
        memcpy(t->data, s->p->uint64_data, (size_t)t->count * 8);
        return true;
    }
    uint32_t *to = t->data;
    for (int64_t i = 0; i < t->count; i++) {
        if (s->p->uint64_data[i] > UINT32_MAX)
            return error_entry(s, UINT64S, i, (long long)s->p->uint64_data[i], t->dtype);
        to[i] = (uint32_t)s->p->uint64_data[i];
    }
    return true;
}

static bool fill_from_strings(const struct element_source *s, struct tensor *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        const ProtobufCBinaryData b = s->p->string_data[i];
        t->strings[i] = arena_strndup(s->r->arena, b.len ? (const char *)b.data : "", b.len);
        t->string_lengths[i] = b.len;
    }
    return true;
}

/* Entries of the typed field: the amount is checked, then the tensor made, so that no shape alone can ask for memory.
 */
static bool read_field(const struct element_source *s, enum field field, const struct tensor *like, struct tensor **out)
{
    const Onnx__TensorProto *p = s->p;
    const size_t parts = like->dtype == DTYPE_COMPLEX64 || like->dtype == DTYPE_COMPLEX128 ? 2 : 1;
    const size_t per = (size_t)packed_per_byte(like->dtype);
    const size_t need =
        field == RAW ? packed_size(like->dtype, like->count) : ((size_t)like->count * parts + per - 1) / per;
    if (!check_amount(s, field, need, like))
        return false;
    enum { ALIGN = 16 }; /* tensor.h */
    if (field == RAW && like->count > 0 && s->r->unpacked_stays && is_as_in_file(like->dtype) &&
        (uintptr_t)p->raw_data.data % ALIGN == 0) {
        *out = tensor_over(s, like, p->raw_data.data);
        return true;
    }
    struct tensor *t = *out = tensor_new(s->r->arena, like->dtype, &like->shape);
    if (t->count == 0)
        return true;
    switch (field) {
    case RAW:
        fill_from_bytes(t, p->raw_data.data);
        return true;
    case FLOATS:
        memcpy(t->data, p->float_data, need * sizeof(float));
        return true;
    case DOUBLES:
        memcpy(t->data, p->double_data, need * sizeof(double));
        return true;
    case INT64S:
        memcpy(t->data, p->int64_data, need * sizeof(int64_t));
        return true;
    case INT32S:
        return fill_from_int32(s, t);
    case UINT64S:
        return fill_from_uint64(s, t);
    case STRINGS:
        return fill_from_strings(s, t);
    case FIELD_COUNT:
        break;
    }
    UNREACHABLE("value field %d", (int)field);
}

static bool read_external(const struct element_source *s, const struct tensor *like, struct tensor **out,
                          const char **location)
{
    if (like->dtype == DTYPE_STRING)
        return diag_error(s->r->diag, s->at, "%s: strings cannot be external data", s->what);
    for (int i = 0; i < FIELD_COUNT; i++)
        if (s->sizes[i] > 0)
            return diag_error(s->r->diag, s->at, "%s is external data, but holds values as well", s->what);
    const bool stays = is_as_in_file(like->dtype); /* then it is read to where it stays */
    struct arena scratch = {0};
    unsigned char *bytes;
    const bool ok = external_data_read(s->r, stays ? s->r->arena : &scratch, s->at, s->what, s->p,
                                       packed_size(like->dtype, like->count), &bytes, location);
    if (ok && stays) {
        *out = tensor_over(s, like, bytes);
    } else if (ok) {
        *out = tensor_new(s->r->arena, like->dtype, &like->shape);
        fill_from_bytes(*out, bytes);
    }
    arena_free(&scratch);
    return ok;
}

bool read_tensor(struct reader *r, const struct loc *at, const char *what, const Onnx__TensorProto *p,
                 struct tensor **out, const char **external)
{
    const struct element_source s = {r,
                                     at,
                                     what,
                                     p,
                                     {p->raw_data.len, p->n_float_data, p->n_int32_data, p->n_string_data,
                                      p->n_int64_data, p->n_double_data, p->n_uint64_data}};
    struct tensor like = {0};
    enum field field;
    const char *location = NULL;
    if (p->data_type == 0)
        return diag_error(r->diag, at, "%s has no element type", what);
    if (!dtype_is_valid(p->data_type))
        return diag_error(r->diag, at, "%s has the unknown element type %d", what, (int)p->data_type);
    if (p->segment)
        return diag_error(r->diag, at, "%s is a segment of a tensor; ONNX gave up segments", what);
    like.dtype = (enum dtype)p->data_type;
    if (!read_dims(&s, &like.shape, &like.count))
        return false;
    if (p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
        if (!read_external(&s, &like, out, &location))
            return false;
    } else if (!find_field(&s, like.dtype, like.count, &field) || !read_field(&s, field, &like, out)) {
        return false;
    }
    if (external)
        *external = location;
    return true;
}
