/* Whole files in and out. */
#ifndef STEPC_BASE_FILE_H
#define STEPC_BASE_FILE_H

#include "base/diag.h"
#include <stdint.h>

#define FILE_MAX_BYTES ((size_t)4 << 30)

/* Reads a whole regular file (or pipe) of at most `limit` bytes into the arena; a NUL follows the last byte. Errors
 * name the path and the system's reason. */
bool file_read(struct diag *d, struct arena *a, const char *path, size_t limit, unsigned char **bytes,
               size_t *size) MUST_USE;
/* The same of a regular file alone, for names that nobody has typed: what waits for a writer, or is a device, is an
 * error at once. Links are followed. */
bool file_read_regular(struct diag *d, struct arena *a, const char *path, size_t limit, unsigned char **bytes,
                       size_t *size) MUST_USE;
/* Reads `size` bytes at `offset` of a file (external data). Fails if the file is shorter. */
bool file_read_at(struct diag *d, struct arena *a, const struct loc *at, const char *path, uint64_t offset, size_t size,
                  unsigned char **bytes) MUST_USE;
/* The first bytes of a regular file, at most `most`. False, and nothing is said, where there is none
 * that can be read. */
bool file_begin(const char *path, unsigned char *bytes, size_t most, size_t *size);
bool file_exists(const char *path);
bool file_is_directory(const char *path);
/* Do both paths lead to one regular file, through links or by several names? Of files that are not there yet, folder
 * and name count. Devices and pipes are never the same: nothing replaces them. */
bool file_is_same(const char *a, const char *b);
/* An error if no file can stand there: its folder does not exist, or it is one itself. What else may keep it from being
 * written is not asked. */
bool file_check_place(struct diag *d, const char *path) MUST_USE;
/* That, and an error if the user may not write there: for what is written after hours. */
bool file_check_writable(struct diag *d, const char *path) MUST_USE;

/* Writes to a temporary file beside `path`, then renames: the path holds the old content or the new one, never half.
 * When the content is already the same, the file is left untouched (build systems look at its time). */
bool file_write(struct diag *d, const char *path, const void *bytes, size_t size) MUST_USE;

/* The same for content that is made as it is written, perhaps twice: `put` hands `size` bytes in order to the sink, and
 * stops when that returns false. */
typedef bool (*byte_sink)(void *to, const void *bytes, size_t size);
typedef bool (*byte_source)(const void *from, byte_sink sink, void *to);
bool file_write_from(struct diag *d, const char *path, byte_source put, const void *from, size_t size) MUST_USE;

/* Files that belong together: none is renamed before all are written. */
struct file_content {
    const char *path;
    byte_source put;
    const void *from;
    size_t size;
};
bool file_write_all(struct diag *d, const struct file_content *files, size_t count) MUST_USE;

/* A new file in a directory of temp_directory(), which nobody else looks at: written where it is to be, and not awaited
 * by the disk. */
bool file_write_scratch(struct diag *d, const char *path, byte_source put, const void *from) MUST_USE;

/* Content that is text. */
bool put_text(const void *text, byte_sink sink, void *to);

/* Parts of a path, in the arena: "a/b.onnx" -> "a" (or "."), "b.onnx", "b". */
const char *path_directory(struct arena *a, const char *path);
const char *path_base(struct arena *a, const char *path);
const char *path_stem(struct arena *a, const char *path);
const char *path_join(struct arena *a, const char *dir, const char *name);
/* Creates a fresh private directory below $TMPDIR or /tmp; an absolute path. Signals that would end the program wait
 * until it is removed (base/interrupt.h). */
bool temp_directory(struct diag *d, struct arena *a, const char **path) MUST_USE;
/* Creates one inside it. */
bool directory_make(struct diag *d, const char *path) MUST_USE;
/* Removes a directory made by temp_directory(), with the plain files and directories in it. */
void temp_directory_remove(const char *path);

#endif
