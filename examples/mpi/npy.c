#include "npy.h"

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

/* {'descr': '<f4', 'fortran_order': False, 'shape': (1437, 64), } */
static int read_header(char *header, npy *out)
{
    const char *const type = strstr(header, "'descr': '"), *const rows = strstr(header, "'fortran_order': False");
    char *shape = strstr(header, "'shape': (");
    if (type == NULL || rows == NULL || shape == NULL || sscanf(type, "'descr': '%7[^']'", out->type) != 1 ||
        strlen(out->type) != 3)
        return 0;
    shape += strlen("'shape': (");
    out->samples = strtoul(shape, &shape, 10);
    out->sample_bytes = strtoul(out->type + 2, NULL, 10);
    while (*shape == ',' && shape[1] == ' ' && shape[2] >= '0' && shape[2] <= '9')
        out->sample_bytes *= strtoul(shape + 2, &shape, 10);
    return out->samples > 0 && out->sample_bytes > 0;
}

int npy_read(const char *path, npy *out)
{
    unsigned char start[10];
    char header[65536];
    FILE *const f = fopen(path, "rb");
    if (f == NULL || fread(start, sizeof start, 1, f) != 1 || memcmp(start, "\x93NUMPY\x01", 7) != 0)
        return fail(f, path, "no NumPy file of version 1");
    const size_t length = (size_t)start[8] + 256u * start[9];
    if (fread(header, 1, length, f) != length)
        return fail(f, path, "cut short");
    header[length] = '\0';
    if (!read_header(header, out))
        return fail(f, path, "a type or an order that is not read");
    out->values = malloc(out->samples * out->sample_bytes);
    if (out->values == NULL || fread(out->values, out->sample_bytes, out->samples, f) != out->samples)
        return fail(f, path, "cut short, or too large for memory");
    fclose(f);
    return 1;
}
