/* usage: make_npy f4|f8|i4|i8|u1 DIM... <NUMBERS >FILE.npy
 * Writes numbers (separated by white space or commas) as a NumPy file, so that the tests of the command
 * line need no Python. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_number(const char *type, double x)
{
    const float f = (float)x;
    const int64_t i = (int64_t)x;
    const int32_t i4 = (int32_t)i;
    const uint8_t u = (uint8_t)x;
    if (strcmp(type, "f4") == 0)
        return fwrite(&f, sizeof f, 1, stdout) == 1;
    if (strcmp(type, "f8") == 0)
        return fwrite(&x, sizeof x, 1, stdout) == 1;
    if (strcmp(type, "i4") == 0)
        return fwrite(&i4, sizeof i4, 1, stdout) == 1;
    if (strcmp(type, "i8") == 0)
        return fwrite(&i, sizeof i, 1, stdout) == 1;
    return fwrite(&u, sizeof u, 1, stdout) == 1;
}

int main(int argc, char **argv)
{
    char shape[60] = "", header[118];
    long count = 1;
    if (argc < 2)
        return 2;
    const char *type = argv[1];
    for (int i = 2; i < argc; i++) {
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s,", argv[i]);
        count *= strtol(argv[i], NULL, 10);
    }
    snprintf(header, sizeof header, "{'descr': '%s%s', 'fortran_order': False, 'shape': (%s)}",
             strcmp(type, "u1") == 0 ? "|" : "<", type, shape);
    printf("\x93NUMPY\x01%c\x76%c%-117s\n", 0, 0, header); /* 10 bytes, then 118 of text: 128 in all */
    for (long i = 0; i < count; i++) {
        double x;
        if (scanf("%lf%*[, \n]", &x) != 1 || !write_number(type, x)) {
            fprintf(stderr, "make_npy: number %ld of %ld is missing\n", i, count);
            return 1;
        }
    }
    return 0;
}
