/* SPDX-License-Identifier: 0BSD */
/* Checkpoints in files, for systems with POSIX. The only part of the runtime that needs an operating system. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "checkpoint.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PATH = 4096 };

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

/* The new name is on the disk only once the folder is. Some file systems cannot be asked; that is no failure of the save. */
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

stepc_status stepc_checkpoint_save_file(const stepc_model *model, const void *state, const char *path, void *work, size_t work_bytes)
{
    static const char suffix[] = ".new";
    char beside[MOST_PATH];
    const size_t n = strlen(path);
    const stepc_storage storage = {NULL, SIZE_MAX, 1, read_file, NULL, write_file, sync_file};
    stepc_storage opened = storage;
    if (n > sizeof beside - sizeof suffix)
        return STEPC_E_ARGUMENT;
    memcpy(beside, path, n);
    memcpy(beside + n, suffix, sizeof suffix);
    FILE *f = fopen(beside, "wb");
    if (f == NULL)
        return STEPC_E_IO;
    opened.context = f;
    stepc_status status = stepc_checkpoint_write_slot(model, state, &opened, 0, 1, work, work_bytes);
    if (fclose(f) != 0 && status == STEPC_OK)
        status = STEPC_E_IO;
    if (status == STEPC_OK && rename(beside, path) != 0)
        status = STEPC_E_IO;
    if (status == STEPC_OK)
        sync_folder(path);
    else
        (void)remove(beside);
    return status;
}

stepc_status stepc_checkpoint_load_file(const stepc_model *model, void *state, const char *path, const stepc_load_options *options,
                                        void *work, size_t work_bytes)
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
    }
    fclose(f);
    return status;
}
