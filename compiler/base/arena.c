#include "base/arena.h"
#include "base/checked.h"
#include "base/format.h"
#include "base/pages.h"
#include "base/vec.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under AddressSanitizer every allocation is followed by a strip of poisoned bytes and a chunk's rest is poisoned, so
 * that reading past an object of the arena is noticed as it would be with malloc. */
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif
#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
enum { RED_ZONE = 16, LEAST_ALIGN = 8 }; /* 8: the grain of the sanitizer's shadow memory */
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
enum { RED_ZONE = 0, LEAST_ALIGN = 1 };
#endif

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;   /* bytes after the header */
    size_t mapped; /* bytes of the mapping, 0 where it comes from the heap */
    size_t used;   /* of them, alignment gaps included */
    size_t handed; /* of them, asked for by callers */
    alignas(max_align_t) unsigned char bytes[];
};

/* The largest chunks are whole pages of 2 MB where the system has such: faults on 4 KB took a fifth
 * of compiling a GPT. */
enum { CHUNK_FIRST = 1 << 10, CHUNK_LARGEST = PAGES_LARGE - (int)sizeof(struct arena_chunk) };

static void out_of_memory(size_t size)
{
    fprintf(stderr, "stepc: out of memory (%zu bytes wanted)\n", size);
    exit(1);
}

/* A chunk of whole large pages, all zero; NULL if it is too small for them, or the system has none. */
static struct arena_chunk *chunk_map(size_t total)
{
#ifdef ARENA_POISON
    return (void)total, NULL;
#else
    size_t rounded;
    if (total < PAGES_LARGE || !checked_add_size(total, PAGES_LARGE - 1, &rounded))
        return NULL;
    rounded = rounded / PAGES_LARGE * PAGES_LARGE;
    struct arena_chunk *const chunk = pages_large(rounded);
    if (chunk != NULL)
        chunk->mapped = rounded;
    return chunk;
#endif
}

static void chunk_free(struct arena_chunk *chunk)
{
    if (chunk->mapped > 0)
        pages_release(chunk, chunk->mapped);
    else
        free(chunk);
}

/* calloc, not malloc and memset: for large chunks the system hands out pages that are zero already. */
static struct arena_chunk *chunk_new(size_t size)
{
    size_t total;
    if (!checked_add_size(size, sizeof(struct arena_chunk), &total))
        out_of_memory(size);
    /* some systems promise it, and end the process that takes them at their word */
    if (total > PAGES_LARGE && total > system_memory())
        out_of_memory(size);
    struct arena_chunk *chunk = chunk_map(total);
    if (chunk == NULL)
        chunk = calloc(1, total);
    if (chunk == NULL)
        out_of_memory(size);
    chunk->size = size;
    ASAN_POISON_MEMORY_REGION(chunk->bytes, size);
    return chunk;
}

/* Takes `size` bytes from the chunk, or returns NULL when they do not fit. */
static void *chunk_take(struct arena_chunk *chunk, size_t size, size_t align)
{
    const uintptr_t start = (uintptr_t)chunk->bytes + chunk->used;
    const size_t gap = (size_t)(-start & (align - 1));
    const size_t rest = chunk->size - chunk->used;
    if (gap > rest || size > rest - gap)
        return NULL;
    unsigned char *p = chunk->bytes + chunk->used + gap;
    const size_t left = rest - gap - size;
    chunk->used = chunk->size - (left > RED_ZONE ? left - RED_ZONE : 0);
    chunk->handed += size;
    ASAN_UNPOISON_MEMORY_REGION(p, size);
    return p;
}

/* A large object gets a chunk of its own behind the head, whose free rest stays in use. */
static void *take_from_new_chunk(struct arena *a, size_t size, size_t align)
{
    size_t chunk_size = a->head == NULL ? CHUNK_FIRST : 2 * a->head->size;
    if (chunk_size > CHUNK_LARGEST)
        chunk_size = CHUNK_LARGEST;
    size_t needed;
    if (!checked_add_size(size, align + RED_ZONE, &needed))
        out_of_memory(size);
    const bool own_chunk = needed > chunk_size / 4;
    struct arena_chunk *chunk = chunk_new(own_chunk ? needed : chunk_size);
    if (own_chunk && a->head != NULL) {
        chunk->next = a->head->next;
        a->head->next = chunk;
    } else {
        chunk->next = a->head;
        a->head = chunk;
    }
    return chunk_take(chunk, size, align);
}

void *arena_alloc(struct arena *a, size_t count, size_t size, size_t align)
{
    assert(align != 0 && (align & (align - 1)) == 0);
    size_t bytes;
    if (!checked_mul_size(count, size, &bytes))
        out_of_memory(SIZE_MAX);
    if (bytes == 0)
        bytes = 1; /* so that the pointer is nobody else's */
    if (align < LEAST_ALIGN)
        align = LEAST_ALIGN;
    void *p = a->head == NULL ? NULL : chunk_take(a->head, bytes, align);
    return p != NULL ? p : take_from_new_chunk(a, bytes, align);
}

void arena_free(struct arena *a)
{
    while (a->head != NULL) {
        struct arena_chunk *chunk = a->head;
        a->head = chunk->next;
        ASAN_UNPOISON_MEMORY_REGION(chunk->bytes, chunk->size);
        chunk_free(chunk);
    }
}

size_t arena_bytes(const struct arena *a)
{
    size_t sum = 0;
    for (const struct arena_chunk *chunk = a->head; chunk != NULL; chunk = chunk->next)
        sum += chunk->handed;
    return sum;
}

void *arena_copy(struct arena *a, const void *bytes, size_t size, size_t align)
{
    void *copy = arena_alloc(a, 1, size, align);
    if (size != 0)
        memcpy(copy, bytes, size);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_copy(a, s, strlen(s) + 1, 1);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    size_t size;
    if (!checked_add_size(n, 1, &size))
        out_of_memory(n);
    char *copy = arena_alloc(a, size, 1, 1); /* zeroed: ends in NUL */
    if (n != 0)
        memcpy(copy, s, n);
    return copy;
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list args)
{
    char small[256]; /* enough for most: formatted once */
    va_list again;
    va_copy(again, args);
    const int length = format_text(small, sizeof small, fmt, args);
    if (length < 0)
        UNREACHABLE("arena_vprintf cannot format \"%s\"", fmt);
    char *text = arena_alloc(a, (size_t)length + 1, 1, 1);
    if ((size_t)length < sizeof small)
        memcpy(text, small, (size_t)length + 1);
    else
        format_text(text, (size_t)length + 1, fmt, again);
    va_end(again);
    return text;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = arena_vprintf(a, fmt, args);
    va_end(args);
    return text;
}

void internal_error(const char *file, int line, const char *fmt, ...)
{
    fflush(stdout);
    fprintf(stderr, "stepc: internal error at %s:%d: ", file, line);
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

void *vec_grow(struct arena *a, void *data, size_t count, size_t *capacity, size_t size, size_t align)
{
    size_t wanted;
    if (!checked_mul_size(*capacity, 2, &wanted))
        out_of_memory(SIZE_MAX);
    const size_t least = size > 64 ? 1 : 8; /* most lists of large things hold one */
    if (wanted < least)
        wanted = least;
    void *grown = arena_alloc(a, wanted, size, align);
    if (count != 0)
        memcpy(grown, data, count * size);
    *capacity = wanted;
    return grown;
}
