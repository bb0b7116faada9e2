/* Zip archives in memory, as torch.save and numpy.savez write them: entries that are stored, or deflated where stepc
 * was built with zlib; with the sizes of zip64. Not trusted: every byte. What the central directory says is checked
 * against the file before it is used, and no two entries share a byte: so all of them together unpack to 1032 times the
 * file at most, what deflate can do.
 * Spec: PKWARE, APPNOTE.TXT 6.3.10, 4.3 and 4.5.3. */
#ifndef STEPC_FOREIGN_ZIP_H
#define STEPC_FOREIGN_ZIP_H

#include "base/diag.h"
#include "base/map.h"
#include <stdint.h>

struct zip_entry {
    const char *name;
    size_t begin;      /* of its local header */
    size_t at, packed; /* where its bytes lie, and how many */
    size_t size;       /* unpacked */
    uint32_t crc;
    unsigned method, flags;
    const unsigned char *content; /* once it was read */
};

struct zip {
    struct diag *diag;
    struct arena *arena;
    struct loc loc;
    const unsigned char *bytes; /* of the caller */
    size_t size;
    VEC(struct zip_entry) entries; /* in the order of the directory */
    struct map names;              /* name -> struct zip_entry * */
    bool warned;                   /* of a checksum */
};

bool zip_is_one(const unsigned char *bytes, size_t size);
bool zip_open(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
              struct zip *out) MUST_USE;
struct zip_entry *zip_find(const struct zip *z, const char *name); /* NULL where there is none */
/* Its e->size bytes: in the file itself, or unpacked into the arena, once however often they are asked for. A checksum
 * that does not fit is a warning, once for the archive: PyTorch can be told to write none. */
bool zip_read(struct zip *z, struct zip_entry *e, const unsigned char **bytes) MUST_USE;

#endif
