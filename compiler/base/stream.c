#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool stream_open(struct stream *s, const char *path)
{
    struct stat st;
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a FIFO would wait */
    if (s->fd < 0)
        return false;
    if (fstat(s->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(s->fd);
        return false;
    }
    s->size = (size_t)st.st_size;
    s->pos = s->from = s->to = 0;
    sha256_begin(&s->hash);
    return true;
}

/* At least one byte, at most `size`; 0 at the end or where reading fails. */
static size_t read_some(const struct stream *s, void *to, size_t size)
{
    ssize_t n;
    do
        n = read(s->fd, to, size);
    while (n < 0 && errno == EINTR);
    return n > 0 ? (size_t)n : 0;
}

bool stream_read(struct stream *s, void *to, size_t size)
{
    unsigned char *const out = to;
    size_t done = 0;
    while (done < size) {
        const size_t left = size - done;
        size_t n = s->to - s->from < left ? s->to - s->from : left;
        if (n > 0) {
            memcpy(out + done, s->buffer + s->from, n);
            s->from += n;
        } else if (left >= STREAM_BUFFER) {
            n = read_some(s, out + done, left);
            if (n == 0)
                return false;
        } else {
            s->from = 0;
            s->to = read_some(s, s->buffer, STREAM_BUFFER);
            if (s->to == 0)
                return false;
        }
        done += n;
    }
    s->pos += size;
    sha256_add(&s->hash, to, size);
    return true;
}

void stream_close(struct stream *s)
{
    close(s->fd);
}
