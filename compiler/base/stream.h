/* A regular file, read once from front to back: for files of which little is kept, or much that
 * belongs somewhere else. */
#ifndef STEPC_BASE_STREAM_H
#define STEPC_BASE_STREAM_H

#include "base/hash.h"
#include <stdbool.h>

enum { STREAM_BUFFER = 1 << 16 };

struct stream {
    int fd;
    size_t size;        /* of the file when it was opened */
    size_t pos;         /* bytes handed out */
    struct sha256 hash; /* of these */
    size_t from, to;    /* what is left of the buffer */
    unsigned char buffer[STREAM_BUFFER];
};

/* False where the path is no regular file that can be read; nothing is reported. */
bool stream_open(struct stream *s, const char *path);
/* The next `size` bytes; false where the file ends before, or cannot be read. Large parts go to their place
 * without a stop between. */
bool stream_read(struct stream *s, void *to, size_t size);
void stream_close(struct stream *s);

#endif
