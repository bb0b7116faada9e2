#include "tensor/tensor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { DATA_ALIGN = 16 };

struct tensor *tensor_new(struct arena *a, enum dtype dtype, const struct shape *shape)
{
    struct tensor *t = arena_new(a, struct tensor);
    t->dtype = dtype;
    t->shape = *shape;
    t->count = shape_count(shape);
    if (dtype == DTYPE_STRING) {
        t->strings = arena_array(a, const char *, (size_t)t->count);
        t->string_lengths = arena_array(a, size_t, (size_t)t->count);
        for (int64_t i = 0; i < t->count; i++)
            t->strings[i] = "";
    } else {
        t->data = arena_alloc(a, (size_t)t->count, dtype_size(dtype), DATA_ALIGN);
    }
    return t;
}

size_t tensor_bytes(const struct tensor *t)
{
    return (size_t)t->count * dtype_size(t->dtype);
}

static void *element(const struct tensor *t, int64_t i)
{
    assert(0 <= i && i < t->count);
    return (unsigned char *)t->data + (size_t)i * dtype_size(t->dtype);
}

double tensor_get_double(const struct tensor *t, int64_t i)
{
    return dtype_load_double(t->dtype, element(t, i));
}

int64_t tensor_get_int(const struct tensor *t, int64_t i)
{
    if (dtype_is_float(t->dtype))
        return dtype_from_double(DTYPE_INT64, tensor_get_double(t, i));
    return dtype_load_int(t->dtype, element(t, i));
}

void tensor_set_double(struct tensor *t, int64_t i, double x)
{
    if (dtype_is_float(t->dtype))
        dtype_store_double(t->dtype, element(t, i), x);
    else
        dtype_store_int(t->dtype, element(t, i), dtype_from_double(t->dtype, x));
}

void tensor_set_int(struct tensor *t, int64_t i, int64_t x)
{
    if (dtype_is_float(t->dtype))
        dtype_store_double(t->dtype, element(t, i), (double)x);
    else
        dtype_store_int(t->dtype, element(t, i), x);
}

struct tensor *tensor_scalar_double(struct arena *a, enum dtype dtype, double x)
{
    struct tensor *t = tensor_new(a, dtype, &SHAPE_SCALAR);
    tensor_set_double(t, 0, x);
    return t;
}

struct tensor *tensor_scalar_int(struct arena *a, int64_t x)
{
    struct tensor *t = tensor_new(a, DTYPE_INT64, &SHAPE_SCALAR);
    tensor_set_int(t, 0, x);
    return t;
}

struct tensor *tensor_from_ints(struct arena *a, const int64_t *x, int64_t count)
{
    struct tensor *t = tensor_new(a, DTYPE_INT64, &SHAPE(count));
    if (count != 0)
        memcpy(t->data, x, tensor_bytes(t));
    return t;
}

struct tensor *tensor_from_dims(struct arena *a, const struct shape *s)
{
    struct tensor *const t = tensor_from_ints(a, s->dim, s->rank);
    if (!shape_is_constant(s))
        t->per = arena_copy(a, s->per, (size_t)s->rank * sizeof s->per[0], alignof(int64_t));
    return t;
}

struct size tensor_get_size(const struct tensor *t, int64_t i)
{
    return (struct size){tensor_get_int(t, i), t->per != NULL ? t->per[i] : 0};
}

/* Is every byte the first one, which is 0? So is each its neighbour. */
bool tensor_is_zero(const struct tensor *t)
{
    const unsigned char *bytes = t->data;
    const size_t size = tensor_bytes(t);
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

bool tensor_is_uniform(const struct tensor *t)
{
    const size_t size = dtype_size(t->dtype), bytes = tensor_bytes(t);
    return bytes <= size || memcmp(t->data, (const char *)t->data + size, bytes - size) == 0;
}

struct tensor *tensor_transposed(struct arena *a, const struct tensor *t)
{
    const int64_t rows = t->shape.dim[0], columns = t->shape.dim[1];
    const size_t size = dtype_size(t->dtype);
    struct tensor *const out = tensor_new(a, t->dtype, &SHAPE(columns, rows));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++)
            memcpy((char *)out->data + (size_t)(k * rows + i) * size,
                   (const char *)t->data + (size_t)(i * columns + k) * size, size);
    return out;
}

struct tensor *tensor_cast(struct arena *a, const struct tensor *t, enum dtype to)
{
    struct tensor *const out = tensor_new(a, to, &t->shape);
    for (int64_t i = 0; i < t->count; i++)
        if (dtype_is_float(to))
            tensor_set_double(out, i, tensor_get_double(t, i));
        else
            tensor_set_int(out, i, tensor_get_int(t, i));
    return out;
}

/* ---- conversion that changes no number --------------------------------------------------------------------------- */

#define TWO_TO_63 9223372036854775808.0

/* x is a number of the type; UINT64 from 2^63 on is left to convert_int(). */
static bool holds_int(enum dtype d, int64_t x)
{
    if (d == DTYPE_BOOL)
        return x == 0 || x == 1;
    return x >= dtype_min_int(d) && (d == DTYPE_UINT64 || x <= dtype_max_int(d));
}

static bool convert_int(struct tensor *to, int64_t i, int64_t x, bool is_large)
{
    if (is_large && !dtype_is_float(to->dtype)) /* a uint64 of 2^63 or more, which no other integer holds */
        return false;
    if (!dtype_is_float(to->dtype)) {
        tensor_set_int(to, i, x);
        return holds_int(to->dtype, x);
    }
    tensor_set_double(to, i, is_large ? (double)(uint64_t)x : (double)x);
    const double y = tensor_get_double(to, i);
    if (is_large)
        return y < 2 * TWO_TO_63 && (uint64_t)y == (uint64_t)x;
    return y >= -TWO_TO_63 && y < TWO_TO_63 && (int64_t)y == x;
}

static bool convert_float(struct tensor *to, int64_t i, double x)
{
    if (dtype_is_float(to->dtype)) {
        tensor_set_double(to, i, x);
        return isnan(x) || tensor_get_double(to, i) == x;
    }
    if (!(x >= -TWO_TO_63 && x < TWO_TO_63) || x != floor(x))
        return false;
    tensor_set_int(to, i, (int64_t)x);
    return holds_int(to->dtype, (int64_t)x);
}

struct tensor *tensor_convert(struct arena *a, const struct tensor *t, enum dtype to, int64_t *lost)
{
    struct tensor *const out = tensor_new(a, to, &t->shape);
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t x = dtype_is_float(t->dtype) ? 0 : tensor_get_int(t, i);
        const bool is_large = t->dtype == DTYPE_UINT64 && x < 0;
        *lost = i;
        if (dtype_is_float(t->dtype) ? !convert_float(out, i, tensor_get_double(t, i))
                                     : !convert_int(out, i, x, is_large))
            return NULL;
    }
    return out;
}

bool tensor_identical(const struct tensor *a, const struct tensor *b)
{
    if (a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape))
        return false;
    if (a->dtype != DTYPE_STRING)
        return memcmp(a->data, b->data, tensor_bytes(a)) == 0;
    for (int64_t i = 0; i < a->count; i++)
        if (a->string_lengths[i] != b->string_lengths[i] ||
            memcmp(a->strings[i], b->strings[i], a->string_lengths[i]) != 0)
            return false;
    return true;
}

bool tensor_same_sizes(const struct tensor *a, const struct tensor *b)
{
    if (!tensor_identical(a, b) || !shape_same_sizes(&a->shape, &b->shape))
        return false;
    for (int64_t i = 0; a->per != b->per && i < a->count; i++)
        if (!size_equal(tensor_get_size(a, i), tensor_get_size(b, i)))
            return false;
    return true;
}
