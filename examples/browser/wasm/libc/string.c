/* To be compiled with -fno-builtin: a compiler that knows memcpy() makes calls of it from such loops. With
 * -mbulk-memory it has instructions for memcpy() and memset(). */
#include <string.h>

#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
    unsigned char *const t = to;
    const unsigned char *const f = from;
    for (size_t i = 0; i < count; i++)
        t[i] = f[i];
    return to;
}

void *memset(void *to, int byte, size_t count)
{
    unsigned char *const t = to;
    for (size_t i = 0; i < count; i++)
        t[i] = (unsigned char)byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t count)
{
    const unsigned char *const x = a, *const y = b;
    for (size_t i = 0; i < count; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

size_t strlen(const char *text)
{
    size_t n = 0;
    while (text[n] != '\0')
        n++;
    return n;
}

int strncmp(const char *a, const char *b, size_t most)
{
    size_t i = 0;
    while (i < most && a[i] != '\0' && a[i] == b[i])
        i++;
    return i == most ? 0 : (unsigned char)a[i] - (unsigned char)b[i];
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}
