#include "npy.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(FILE *f, const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    if (f != NULL)
        fclose(f);
    return 0;
}

/* *a *= b; 0: too large. */
static int multiply(size_t *a, unsigned long b)
{
    if (b != 0 && *a > SIZE_MAX / b)
        return 0;
    *a *= b;
    return 1;
}

/* At a digit? Then the number there, and *text stands behind it. */
static int read_number(char **text, unsigned long *number)
{
    if (**text < '0' || **text > '9')
        return 0;
    errno = 0;
    *number = strtoul(*text, text, 10);
    return errno == 0;
}

/* {'descr': '<f4', 'fortran_order': False, 'shape': (1437, 64), }. Why it is not read; NULL: it is. */
static const char *read_header(char *header, npy *out)
{
    const char *const type = strstr(header, "'descr': '"), *const rows = strstr(header, "'fortran_order': False");
    char *shape = strstr(header, "'shape': (");
    unsigned long number;
    if (type == NULL || rows == NULL || shape == NULL || sscanf(type, "'descr': '%7[^']'", out->type) != 1 ||
        strlen(out->type) != 3 || out->type[0] == '>' || out->type[2] < '1' || out->type[2] > '8')
        return "a type or an order that is not read";
    shape += strlen("'shape': (");
    out->sample_bytes = (size_t)(out->type[2] - '0');
    out->samples = 1;
    if (!read_number(&shape, &number) || !multiply(&out->samples, number))
        return "a shape that is not read";
    while (*shape == ',' && shape[1] == ' ') {
        shape += 2;
        if (!read_number(&shape, &number) || !multiply(&out->sample_bytes, number))
            return "a shape that is not read";
    }
    shape += *shape == ',';
    size_t all = out->sample_bytes;
    return *shape == ')' && multiply(&all, out->samples) && all > 0 ? NULL : "a shape that is not read";
}

int npy_read(const char *path, npy *out)
{
    unsigned char start[10];
    char header[65536];
    FILE *const f = fopen(path, "rb");
    if (f == NULL)
        return fail(f, path, strerror(errno));
    if (fread(start, sizeof start, 1, f) != 1 || memcmp(start, "\x93NUMPY\x01", 7) != 0)
        return fail(f, path, "no NumPy file of version 1");
    const size_t length = (size_t)start[8] + 256u * start[9];
    if (fread(header, 1, length, f) != length)
        return fail(f, path, "cut short");
    header[length] = '\0';
    const char *const why = read_header(header, out);
    if (why != NULL)
        return fail(f, path, why);
    out->values = malloc(out->samples * out->sample_bytes);
    if (out->values == NULL || fread(out->values, out->sample_bytes, out->samples, f) != out->samples)
        return fail(f, path, "cut short, or too large for memory");
    fclose(f);
    return 1;
}

/* NumPy's name of the type; the first character says the order of bytes. */
static const char *name_of(stepc_dtype dtype)
{
    switch ((int)dtype) {
    case STEPC_FLOAT:
        return "<f4";
    case STEPC_DOUBLE:
        return "<f8";
    case STEPC_FLOAT16:
        return "<f2";
    case STEPC_BFLOAT16:
        return "<V2"; /* of ml_dtypes */
    case STEPC_BOOL:
        return "|b1";
    case STEPC_INT8:
        return "|i1";
    case STEPC_UINT8:
        return "|u1";
    case STEPC_INT16:
        return "<i2";
    case STEPC_UINT16:
        return "<u2";
    case STEPC_INT32:
        return "<i4";
    case STEPC_UINT32:
        return "<u4";
    case STEPC_INT64:
        return "<i8";
    case STEPC_UINT64:
        return "<u8";
    default:
        return "";
    }
}

int npy_fits(const npy *data, const stepc_tensor_info *input)
{
    return strcmp(data->type, name_of(input->dtype)) == 0 && input->rank > 0 && input->dims[0] > 0 &&
           data->sample_bytes == stepc_tensor_bytes(input) / input->dims[0];
}
