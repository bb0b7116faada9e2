/* The compiler's own allocator: memory is taken in chunks, zeroed, and dropped all at once. */
#ifndef STEPC_BASE_ARENA_H
#define STEPC_BASE_ARENA_H

#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>

struct arena_chunk;

/* A zeroed struct is a valid empty arena. */
struct arena {
    struct arena_chunk *head; /* newest first */
};

/* Returns zeroed memory for `count` objects of `size` bytes that lives until arena_free(). Never NULL: running out of
 * memory, or an overflowing product, ends the process with a message. count == 0 gives a valid unique pointer. */
void *arena_alloc(struct arena *a, size_t count, size_t size, size_t align);

/* Drops everything; the arena is empty again and may be used. */
void arena_free(struct arena *a);

/* Bytes handed out so far (for tests and reports). */
size_t arena_bytes(const struct arena *a);

#define arena_new(a, T) ((T *)arena_alloc((a), 1, sizeof(T), alignof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc((a), (n), sizeof(T), alignof(T)))

/* Copies that live in the arena. The string ones append a NUL. */
void *arena_copy(struct arena *a, const void *bytes, size_t size, size_t align);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);

#if defined(__GNUC__)
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_USE __attribute__((warn_unused_result))
#define NORETURN __attribute__((noreturn))
#else
#define PRINTF_LIKE(fmt, args)
#define MUST_USE
#define NORETURN
#endif

/* printf into the arena. */
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(struct arena *a, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

/* An internal error: prints file, line and message to stderr and aborts. For our bugs, never for input. */
void internal_error(const char *file, int line, const char *fmt, ...) NORETURN PRINTF_LIKE(3, 4);
#define UNREACHABLE(...) internal_error(__FILE__, __LINE__, __VA_ARGS__)

#endif
