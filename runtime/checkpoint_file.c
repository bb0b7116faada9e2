/* SPDX-License-Identifier: 0BSD */
/* Checkpoints in files, for systems with POSIX. The only part of the runtime that needs an operating system. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PATH = 4096, MOST_NAME = 200 /* of 255, before what is added */, MOST_LINKS = 40, MOST_TRIES = 100 };

static int read_file(void *context, unsigned slot, size_t offset, void *bytes, size_t count)
{
    FILE *f = (FILE *)context;
    (void)slot;
    return fseeko(f, (off_t)offset, SEEK_SET) != 0 || fread(bytes, 1, count, f) != count;
}

static int write_file(void *context, unsigned slot, size_t offset, const void *bytes, size_t count)
{
    (void)slot;
    (void)offset; /* ascending and without holes */
    return fwrite(bytes, 1, count, (FILE *)context) != count;
}

static int sync_file(void *context, unsigned slot)
{
    FILE *f = (FILE *)context;
    (void)slot;
    return fflush(f) != 0 || fsync(fileno(f)) != 0;
}

/* The new name is on the disk only once the folder is. Some file systems cannot be asked; that is no failure of the
 * save. */
static void sync_folder(const char *path)
{
    char folder[MOST_PATH];
    const char *slash = strrchr(path, '/');
    const size_t n = slash != NULL ? (size_t)(slash - path) : 0;
    memcpy(folder, slash != NULL ? path : ".", slash != NULL ? n : 1);
    folder[slash != NULL ? n : 1] = '\0';
    const int fd = open(folder[0] != '\0' ? folder : "/", O_RDONLY);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

/* Where the path leads: a link stays, what it names is replaced, also if that is not there yet. What is no file is not
 * replaced: there the path stays, since the text of /dev/stdout's link need be no path. */
static int follow_links(const char *path, char target[MOST_PATH])
{
    struct stat st;
    char link[MOST_PATH];
    size_t length = strlen(path);
    if (length >= MOST_PATH)
        return errno = ENAMETOOLONG, -1;
    memcpy(target, path, length + 1);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return 0;
    for (int i = 0; i < MOST_LINKS; i++) {
        const ssize_t n = readlink(target, link, sizeof link - 1);
        if (n < 0)
            return errno == EINVAL || errno == ENOENT ? 0 : -1; /* no link, or nothing */
        const char *slash = link[0] != '/' ? strrchr(target, '/') : NULL;
        /* a relative link starts where it stands */
        const size_t folder = slash != NULL ? (size_t)(slash - target) + 1 : 0;
        if (folder + (size_t)n >= MOST_PATH)
            return errno = ENAMETOOLONG, -1;
        memcpy(target + folder, link, (size_t)n);
        target[folder + (size_t)n] = '\0';
    }
    return errno = ELOOP, -1;
}

/* A new file in the folder of `target`, whose name nobody else has or foresees. */
static int create_beside(const char *target, char beside[MOST_PATH])
{
    const char *slash = strrchr(target, '/');
    const int folder = slash != NULL ? (int)(slash - target) + 1 : 0;
    for (unsigned i = 0; i < MOST_TRIES; i++) {
        const unsigned long long mixed = ((unsigned long long)clock() << 32 ^ (unsigned long long)time(NULL) ^
                                          (unsigned long long)getpid() << 20 ^ (uintptr_t)beside ^ i) *
                                         0x9E3779B97F4A7C15u;
        const int n =
            snprintf(beside, MOST_PATH, "%.*s.%.*s.%016llx.tmp", folder, target, MOST_NAME, target + folder, mixed);
        if (n < 0 || n >= MOST_PATH)
            return errno = ENAMETOOLONG, -1;
        const int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Writes and closes; fd -1: an error. */
static stepc_status write_whole(const stepc_model *model, const void *state, int fd, int is_plain, void *work,
                                size_t work_bytes)
{
    FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    stepc_storage storage = {NULL, SIZE_MAX, 1, read_file, NULL, write_file, is_plain ? sync_file : NULL};
    if (f == NULL) {
        if (fd >= 0)
            close(fd);
        return STEPC_E_IO;
    }
    storage.context = f;
    const stepc_status status = stepc_checkpoint_write_slot(model, state, &storage, 0, 1, work, work_bytes);
    const int error = errno;
    if (fclose(f) != 0 && status == STEPC_OK)
        return STEPC_E_IO;
    errno = error;
    return status;
}

stepc_status stepc_checkpoint_save_file(const stepc_model *model, const void *state, const char *path, void *work,
                                        size_t work_bytes)
{
    char target[MOST_PATH], beside[MOST_PATH];
    struct stat st;
    if (strlen(path) >= MOST_PATH)
        return STEPC_E_ARGUMENT;
    if (follow_links(path, target) != 0)
        return STEPC_E_IO;
    const int there = stat(target, &st) == 0;
    if (there && !S_ISREG(st.st_mode)) /* a device or a pipe is nothing to replace */
        return write_whole(model, state, open(target, O_WRONLY | O_CLOEXEC), 0, work, work_bytes);
    if (there && access(target, W_OK) != 0) /* rename() would replace even what is write-protected */
        return STEPC_E_IO;
    const int fd = create_beside(target, beside);
    if (fd >= 0 && there)
        (void)fchmod(fd, st.st_mode & 07777); /* who might read the old one may read the new one */
    stepc_status status = write_whole(model, state, fd, 1, work, work_bytes);
    if (status == STEPC_OK && rename(beside, target) != 0)
        status = STEPC_E_IO;
    if (status == STEPC_OK) {
        sync_folder(target);
    } else if (fd >= 0) {
        const int error = errno;
        (void)remove(beside);
        errno = error;
    }
    return status;
}

stepc_status stepc_checkpoint_load_file(const stepc_model *model, void *state, const char *path,
                                        const stepc_load_options *options, void *work, size_t work_bytes)
{
    stepc_storage storage = {NULL, 0, 1, read_file, NULL, write_file, sync_file};
    stepc_status status = STEPC_E_IO;
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return STEPC_E_IO;
    const off_t end = fseeko(f, 0, SEEK_END) == 0 ? ftello(f) : -1;
    if (end >= 0) {
        storage.context = f;
        storage.slot_bytes = (size_t)end;
        status = stepc_checkpoint_read_slot(model, state, &storage, 0, options, work, work_bytes);
        if (status == STEPC_E_BLANK) /* somebody made the file; zeros are what a crash may leave of one */
            status = STEPC_E_CORRUPT;
    }
    fclose(f);
    return status;
}
