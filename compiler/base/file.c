#include "base/file.h"
#include "base/interrupt.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The diag keeps a loc's parts by pointer, so the path is copied to where the diag lives. */
#define PLACE(d, path) &LOC_FILE(arena_strdup((d)->arena, path))

static bool file_error(struct diag *d, const char *path, const char *what, int error)
{
    return diag_error(d, PLACE(d, path), "%s: %s", what, strerror(error));
}

bool file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool file_is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* read() until `size` bytes have come or the file ends. Returns the number of bytes, or -1 with errno set. */
static ssize_t read_up_to(int fd, unsigned char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t n = read(fd, bytes + done, size - done);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* Reads to the end of an open file. A regular file's size is known and asked for at once; one byte more shows that it
 * really ends there. A pipe's buffer doubles. any_kind: pipes and devices are read as well. */
static bool read_all(struct diag *d, struct arena *a, int fd, const char *path, size_t limit, bool any_kind,
                     unsigned char **bytes, size_t *size)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return file_error(d, path, "cannot read", errno);
    if (S_ISDIR(st.st_mode))
        return file_error(d, path, "cannot read", EISDIR);
    const bool regular = S_ISREG(st.st_mode);
    if (!regular && !any_kind)
        return diag_error(d, PLACE(d, path), "not a regular file");
    if (regular && (uintmax_t)st.st_size > limit)
        return diag_error(d, PLACE(d, path), "the file has %llu bytes, at most %zu can be read",
                          (unsigned long long)st.st_size, limit);
    size_t capacity = regular ? (size_t)st.st_size : 64 << 10, used = 0;
    if (capacity > limit)
        capacity = limit;
    unsigned char *buffer = arena_array(a, unsigned char, capacity + 1);
    for (;;) {
        const ssize_t n = read_up_to(fd, buffer + used, capacity + 1 - used);
        if (n < 0)
            return file_error(d, path, "cannot read", errno);
        used += (size_t)n;
        if (used <= capacity)
            break;
        if (capacity == limit)
            return diag_error(d, PLACE(d, path), "the file has more than %zu bytes", limit);
        capacity = capacity > limit / 2 ? limit : 2 * capacity + 64;
        if (capacity > limit)
            capacity = limit;
        unsigned char *larger = arena_array(a, unsigned char, capacity + 1);
        memcpy(larger, buffer, used);
        buffer = larger;
    }
    buffer[used] = '\0';
    *bytes = buffer;
    *size = used;
    return true;
}

bool file_begin(const char *path, unsigned char *bytes, size_t most, size_t *size)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) /* what is read from a pipe is gone */
        return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read_up_to(fd, bytes, most) : -1;
    if (fd >= 0)
        close(fd);
    *size = n > 0 ? (size_t)n : 0;
    return n >= 0;
}

static bool read_whole(struct diag *d, struct arena *a, const char *path, size_t limit, bool any_kind,
                       unsigned char **bytes, size_t *size)
{
    if (limit > FILE_MAX_BYTES)
        limit = FILE_MAX_BYTES;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | (any_kind ? 0 : O_NONBLOCK));
    if (fd < 0)
        return file_error(d, path, "cannot open", errno);
    const bool ok = read_all(d, a, fd, path, limit, any_kind, bytes, size);
    close(fd);
    return ok;
}

bool file_read(struct diag *d, struct arena *a, const char *path, size_t limit, unsigned char **bytes, size_t *size)
{
    return read_whole(d, a, path, limit, true, bytes, size);
}

bool file_read_regular(struct diag *d, struct arena *a, const char *path, size_t limit, unsigned char **bytes,
                       size_t *size)
{
    return read_whole(d, a, path, limit, false, bytes, size);
}

/* Compares with the size of the file before taking memory: a few bytes of a model can ask for any size. */
static bool read_part(struct diag *d, struct arena *a, const struct loc *at, int fd, const char *path, uint64_t offset,
                      size_t size, unsigned char **bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return diag_error(d, at, "cannot read '%s': %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return diag_error(d, at, "cannot read '%s': not a regular file", path);
    const uint64_t length = (uint64_t)st.st_size;
    if (offset > length || size > length - offset)
        return diag_error(d, at, "'%s' has %llu bytes, expected at least %llu after offset %llu", path,
                          (unsigned long long)length, (unsigned long long)size, (unsigned long long)offset);
    unsigned char *buffer = arena_alloc(a, size, 1, alignof(max_align_t));
    const ssize_t n = lseek(fd, (off_t)offset, SEEK_SET) < 0 ? -1 : read_up_to(fd, buffer, size);
    if (n < 0)
        return diag_error(d, at, "cannot read '%s': %s", path, strerror(errno));
    if ((size_t)n != size)
        return diag_error(d, at, "cannot read '%s': it shrank while it was read", path);
    *bytes = buffer;
    return true;
}

bool file_read_at(struct diag *d, struct arena *a, const struct loc *at, const char *path, uint64_t offset, size_t size,
                  unsigned char **bytes)
{
    /* O_NONBLOCK: the name comes from a model, and opening a FIFO would wait for ever. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return diag_error(d, at, "cannot open '%s': %s", path, strerror(errno));
    const bool ok = read_part(d, a, at, fd, path, offset, size, bytes);
    close(fd);
    return ok;
}

static bool write_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size != 0) {
        if (interrupted())
            return errno = EINTR, false;
        const ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static bool write_some(void *fd, const void *bytes, size_t size)
{
    return write_all(*(const int *)fd, bytes, size);
}

/* Writes and closes; on failure errno says why. sync: what is renamed next must be on the disk, or a loss of power
 * leaves an empty file. */
static bool write_and_close(int fd, const struct file_content *c, bool sync)
{
    const bool written = c->put(c->from, write_some, &fd) && (!sync || fsync(fd) == 0);
    const int error = errno;
    const bool closed = close(fd) == 0;
    if (!written)
        errno = error;
    return written && closed;
}

/* Are these the next bytes of the file? */
static bool compare_some(void *fd, const void *bytes, size_t size)
{
    unsigned char block[4096];
    const unsigned char *const wanted = bytes;
    for (size_t done = 0; done < size;) {
        const size_t some = size - done < sizeof block ? size - done : sizeof block;
        if (read_up_to(*(const int *)fd, block, some) != (ssize_t)some || memcmp(block, wanted + done, some) != 0)
            return false;
        done += some;
    }
    return true;
}

/* The file has as many bytes. */
static bool has_content(const char *path, const struct file_content *c)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool same = c->put(c->from, compare_some, &fd);
    close(fd);
    return same;
}

enum { MOST_LINKS = 40, MOST_TRIES = 100, MOST_NAME = 200 /* of 255, before what is added */ };

/* Where the path leads: a link stays, what it names is replaced, also if that is not there yet. What is no file is not
 * replaced: there the path stays, since the text of /dev/stdout's link need be no path. NULL, with errno, if it leads
 * nowhere. */
static const char *follow_links(struct arena *a, const char *path)
{
    struct stat st;
    char link[PATH_MAX];
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return path;
    for (int i = 0; i < MOST_LINKS; i++) {
        const ssize_t n = readlink(path, link, sizeof link - 1);
        if (n < 0)
            return errno == EINVAL || errno == ENOENT || errno == ENOTDIR ? path : NULL; /* no link, or nothing */
        link[n] = '\0';
        path = path_join(a, path_directory(a, path), link);
    }
    errno = ELOOP;
    return NULL;
}

/* A regular file, or one that is not there yet: then its folder and the name there. */
struct file_place {
    struct stat file_or_folder;
    const char *name; /* NULL: the file is there */
};

static bool find_place(struct arena *a, const char *path, struct file_place *out)
{
    out->name = NULL;
    if (stat(path, &out->file_or_folder) == 0)
        return S_ISREG(out->file_or_folder.st_mode);
    path = follow_links(a, path);
    if (path == NULL)
        return false;
    out->name = path_base(a, path);
    return stat(path_directory(a, path), &out->file_or_folder) == 0;
}

bool file_is_same(const char *a, const char *b)
{
    struct arena scratch = {0};
    struct file_place x, y;
    const bool same = find_place(&scratch, a, &x) && find_place(&scratch, b, &y) &&
                      x.file_or_folder.st_dev == y.file_or_folder.st_dev &&
                      x.file_or_folder.st_ino == y.file_or_folder.st_ino &&
                      (x.name != NULL) == (y.name != NULL) && (x.name == NULL || str_equal(x.name, y.name));
    arena_free(&scratch);
    return same;
}

bool file_check_place(struct diag *d, const char *path)
{
    const char *const target = follow_links(d->arena, path);
    struct stat st;
    if (path[0] == '\0')
        return diag_error(d, NULL, "'' is no name of a file to write");
    if (target == NULL)
        return file_error(d, path, "cannot write", errno);
    if (stat(target, &st) == 0)
        return !S_ISDIR(st.st_mode) ||
               diag_error(d, PLACE(d, path), "is a directory, expected the name of a file to write");
    const char *const folder = path_directory(d->arena, target);
    if (stat(folder, &st) != 0)
        return (errno != ENOENT && errno != ENOTDIR) ||
               diag_error(d, PLACE(d, path), "its folder '%s' does not exist", folder);
    return S_ISDIR(st.st_mode) || diag_error(d, PLACE(d, path), "'%s' is a file, expected a folder", folder);
}

bool file_check_writable(struct diag *d, const char *path)
{
    const char *const target = follow_links(d->arena, path);
    struct stat st;
    if (!file_check_place(d, path))
        return false;
    const bool is_there = stat(target, &st) == 0, is_beside = !is_there || S_ISREG(st.st_mode); /* then renamed */
    return ((!is_there || access(target, W_OK) == 0) &&
            (!is_beside || access(path_directory(d->arena, target), W_OK | X_OK) == 0)) ||
           file_error(d, path, "cannot write", errno);
}

/* open() and not mkstemp(): the file gets the permissions that the user's umask gives to any new file. O_EXCL: whatever
 * stands there, a link above all, is not touched. */
static int open_beside(struct arena *a, const char *path, const char **name)
{
    for (unsigned i = 0; i < MOST_TRIES; i++) {
        struct timespec now = {0};
        clock_gettime(CLOCK_REALTIME, &now);
        const uint64_t mixed = ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 20 ^
                                (uintptr_t)name ^ i) *
                               UINT64_C(0x9E3779B97F4A7C15);
        *name = path_join(a, path_directory(a, path),
                          arena_printf(a, "%.*s.%016llx.tmp", MOST_NAME, path_base(a, path),
                                       (unsigned long long)mixed));
        const int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* How far a file is: what has to be renamed or written to. */
struct pending {
    const struct file_content *content;
    const char *target, *temporary; /* NULL: nothing to rename */
    bool is_special;
};

/* mode: of the file that is replaced, or 0. */
static bool write_beside(struct diag *d, struct pending *p, mode_t mode)
{
    const char *temporary;
    const int fd = open_beside(d->arena, p->target, &temporary);
    if (fd < 0)
        return file_error(d, p->content->path, "cannot create a temporary file beside it", errno);
    p->temporary = temporary;
    if (mode != 0)
        (void)fchmod(fd, mode);
    return write_and_close(fd, p->content, true) || file_error(d, p->content->path, "cannot write", errno);
}

static bool prepare_file(struct diag *d, const struct file_content *c, struct pending *p)
{
    struct stat st;
    *p = (struct pending){.content = c, .target = follow_links(d->arena, c->path)};
    if (!file_check_place(d, c->path))
        return false;
    if (stat(p->target, &st) != 0)
        return write_beside(d, p, 0);
    if (!S_ISREG(st.st_mode))
        return p->is_special = true;
    if ((uintmax_t)st.st_size == c->size && has_content(p->target, c))
        return true;
    if (access(p->target, W_OK) != 0) /* rename() would replace even a write-protected file */
        return file_error(d, c->path, "cannot write", errno);
    return write_beside(d, p, st.st_mode & 07777);
}

/* Pipes and devices (-o /dev/stdout) cannot be replaced, only written to. */
static bool write_special(struct diag *d, const struct pending *p)
{
    const int fd = open(p->target, O_WRONLY | O_CLOEXEC);
    return (fd >= 0 && write_and_close(fd, p->content, false)) ||
           file_error(d, p->content->path, "cannot write", errno);
}

static bool finish_file(struct diag *d, struct pending *p)
{
    if (p->temporary != NULL && rename(p->temporary, p->target) != 0)
        return file_error(d, p->content->path, "cannot write", errno);
    p->temporary = NULL;
    return true;
}

bool file_write_all(struct diag *d, const struct file_content *files, size_t count)
{
    struct pending *const all = arena_array(d->arena, struct pending, count);
    bool ok = true;
    interrupt_hold();
    for (size_t i = 0; ok && i < count; i++)
        ok = prepare_file(d, &files[i], &all[i]);
    for (size_t i = 0; ok && i < count; i++)
        ok = !all[i].is_special || write_special(d, &all[i]);
    for (size_t i = 0; ok && i < count; i++)
        ok = finish_file(d, &all[i]);
    for (size_t i = 0; i < count; i++)
        if (all[i].temporary != NULL)
            unlink(all[i].temporary);
    interrupt_release();
    return ok;
}

bool file_write_from(struct diag *d, const char *path, byte_source put, const void *from, size_t size)
{
    return file_write_all(d, &(struct file_content){path, put, from, size}, 1);
}

struct bytes {
    const void *bytes;
    size_t size;
};

static bool put_bytes(const void *from, byte_sink sink, void *to)
{
    const struct bytes *const b = from;
    return sink(to, b->bytes, b->size);
}

bool file_write(struct diag *d, const char *path, const void *bytes, size_t size)
{
    return file_write_from(d, path, put_bytes, &(struct bytes){bytes, size}, size);
}

bool file_write_scratch(struct diag *d, const char *path, byte_source put, const void *from)
{
    const struct file_content content = {.path = path, .put = put, .from = from};
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return (fd >= 0 && write_and_close(fd, &content, false)) || file_error(d, path, "cannot write", errno);
}

bool put_text(const void *text, byte_sink sink, void *to)
{
    return sink(to, text, strlen(text));
}

/* The last component begins at *base and has *length bytes; slashes at the end do not count ("a/b/" is "a/b"). */
static void last_component(const char *path, size_t *base, size_t *length)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    *base = begin;
    *length = end - begin;
}

const char *path_directory(struct arena *a, const char *path)
{
    size_t base, length;
    last_component(path, &base, &length);
    if (base == 0)
        return arena_strdup(a, ".");
    while (base > 1 && path[base - 1] == '/')
        base--;
    return arena_strndup(a, path, base);
}

const char *path_base(struct arena *a, const char *path)
{
    size_t base, length;
    last_component(path, &base, &length);
    return arena_strndup(a, path + base, length);
}

/* Without the last extension; the dot of ".hidden" begins none. */
const char *path_stem(struct arena *a, const char *path)
{
    size_t base, length;
    last_component(path, &base, &length);
    for (size_t i = length; i > 1; i--)
        if (path[base + i - 1] == '.')
            return arena_strndup(a, path + base, i - 1);
    return arena_strndup(a, path + base, length);
}

/* An absolute `name` stands alone, and "." adds nothing. */
const char *path_join(struct arena *a, const char *dir, const char *name)
{
    if (name[0] == '/' || dir[0] == '\0' || strcmp(dir, ".") == 0)
        return arena_strdup(a, name);
    return arena_printf(a, "%s%s%s", dir, str_ends_with(dir, "/") ? "" : "/", name);
}

bool temp_directory(struct diag *d, struct arena *a, const char **path)
{
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || *parent == '\0')
        parent = "/tmp";
    char whole[PATH_MAX];
    if (realpath(parent, whole) == NULL)
        return file_error(d, parent, "cannot create a temporary directory there", errno);
    char *name = arena_printf(a, "%s/stepc-XXXXXX", whole);
    interrupt_hold();
    if (mkdtemp(name) == NULL) {
        const int error = errno;
        interrupt_release();
        return file_error(d, parent, "cannot create a temporary directory there", error);
    }
    *path = name;
    return true;
}

bool directory_make(struct diag *d, const char *path)
{
    return mkdir(path, 0777) == 0 || file_error(d, path, "cannot create this directory", errno);
}

static void remove_directory(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        if (unlinkat(dirfd(dir), entry->d_name, 0) != 0 && entry->d_name[0] != '.') { /* a directory */
            struct arena a = {0};
            remove_directory(path_join(&a, path, entry->d_name));
            arena_free(&a);
        }
    closedir(dir);
    rmdir(path);
}

void temp_directory_remove(const char *path)
{
    remove_directory(path);
    interrupt_release();
}
