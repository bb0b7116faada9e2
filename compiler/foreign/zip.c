#include "foreign/zip.h"

#include "base/clean.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#ifdef STEPC_ZLIB
#include <zlib.h>
#endif

enum {
    LOCAL_BYTES = 30,     /* of a local header without name and extra fields */
    DIRECTORY_BYTES = 46, /* of a row of the directory without name, extra fields and comment */
    END_BYTES = 22,       /* of the record at the end without its comment */
    LOCATOR_BYTES = 20,   /* of what leads to zip64's record at the end */
    END64_BYTES = 56,
    MOST_COMMENT = 65535,
    ENCRYPTED = 1, /* bit of an entry's flags */
    STORED = 0,
    DEFLATED = 8,
    EXTRA_ZIP64 = 1
};
static const uint32_t in_zip64_32 = 0xffffffff; /* the number stands in zip64's field */
static const uint32_t local_mark = 0x04034b50, directory_mark = 0x02014b50, end_mark = 0x06054b50,
                      locator_mark = 0x07064b50, end64_mark = 0x06064b50;

static uint64_t number(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++)
        x |= (uint64_t)p[i] << (8 * i);
    return x;
}

static uint32_t number32(const unsigned char *p)
{
    return (uint32_t)number(p, 4);
}

static bool fault(const struct zip *z, const char *text)
{
    return diag_error(z->diag, &z->loc, "the zip archive is damaged: %s", text);
}

bool zip_is_one(const unsigned char *bytes, size_t size)
{
    return size >= END_BYTES && (number32(bytes) == local_mark || number32(bytes) == end_mark);
}

/* ---- the directory ----------------------------------------------------------------------------------------------- */

struct directory {
    uint64_t at, size, count;
};

static bool find_end(const struct zip *z, size_t *out)
{
    for (size_t comment = 0; comment <= MOST_COMMENT && comment + END_BYTES <= z->size; comment++) {
        const size_t at = z->size - END_BYTES - comment;
        if (number32(z->bytes + at) == end_mark && number(z->bytes + at + 20, 2) == comment) {
            *out = at;
            return true;
        }
    }
    return fault(z, "it has no directory at its end, so it was cut short");
}

/* Zip64's record, where the numbers of the old one do not suffice, or where it is written always. */
static bool read_end64(const struct zip *z, size_t locator, struct directory *out)
{
    const uint64_t at = number(z->bytes + locator + 8, 8);
    if (locator < END64_BYTES || at > locator - END64_BYTES || number32(z->bytes + at) != end64_mark)
        return fault(z, "what its end says of zip64 leads nowhere");
    const unsigned char *const p = z->bytes + at;
    if (number32(p + 16) != 0 || number32(p + 20) != 0)
        return fault(z, "it is one of several parts");
    *out = (struct directory){number(p + 48, 8), number(p + 40, 8), number(p + 32, 8)};
    return true;
}

static bool find_directory(const struct zip *z, struct directory *out)
{
    size_t end = 0;
    if (!find_end(z, &end))
        return false;
    const unsigned char *const p = z->bytes + end;
    if (number(p + 4, 2) != 0 || number(p + 6, 2) != 0)
        return fault(z, "it is one of several parts");
    *out = (struct directory){number(p + 16, 4), number(p + 12, 4), number(p + 10, 2)};
    if (end >= LOCATOR_BYTES && number32(p - LOCATOR_BYTES) == locator_mark && !read_end64(z, end - LOCATOR_BYTES, out))
        return false;
    if (out->at > end || out->size > end - out->at || out->count > out->size / DIRECTORY_BYTES)
        return fault(z, "its directory does not fit the file");
    return true;
}

/* Sizes and place from zip64's field, for each of those that say so, in this order. */
static bool read_extra(const struct zip *z, const unsigned char *extra, size_t length, uint64_t *const *wanted)
{
    for (size_t at = 0; at + 4 <= length;) {
        const size_t id = (size_t)number(extra + at, 2), size = (size_t)number(extra + at + 2, 2);
        at += 4;
        if (size > length - at)
            return fault(z, "a field of its directory ends behind its row");
        for (size_t k = 0, from = 0; id == EXTRA_ZIP64 && k < 3; k++) {
            if (*wanted[k] != in_zip64_32)
                continue;
            if (from + 8 > size)
                return fault(z, "a field of zip64 is too short");
            *wanted[k] = number(extra + at + from, 8);
            from += 8;
        }
        if (id == EXTRA_ZIP64)
            return true;
        at += size;
    }
    return true;
}

/* Names are UTF-8 without NUL, so that they can be shown and compared. */
static bool read_name(const struct zip *z, const unsigned char *p, size_t length, const char **out)
{
    for (size_t i = 0, n; i < length; i += n) {
        n = utf8_character((const char *)p + i, length - i);
        if (n == 0 || p[i] == 0)
            return fault(z, "the name of an entry is no UTF-8");
    }
    *out = arena_strndup(z->arena, (const char *)p, length);
    return true;
}

/* The local header says once more what the entry is called; only its length matters, and that it is there. */
static bool find_bytes(const struct zip *z, struct zip_entry *e, size_t directory)
{
    const size_t name = strlen(e->name);
    if (directory < LOCAL_BYTES || e->begin > directory - LOCAL_BYTES || number32(z->bytes + e->begin) != local_mark)
        return diag_error(z->diag, &z->loc, "the zip archive is damaged: entry '%s' is not where its directory says",
                          e->name);
    const unsigned char *const p = z->bytes + e->begin;
    const size_t length = (size_t)number(p + 26, 2), extra = (size_t)number(p + 28, 2);
    const size_t room = directory - e->begin - LOCAL_BYTES;
    if (length != name || length + extra > room || memcmp(p + LOCAL_BYTES, e->name, length) != 0)
        return diag_error(z->diag, &z->loc, "the zip archive is damaged: entry '%s' has another name where it lies",
                          e->name);
    e->at = e->begin + LOCAL_BYTES + length + extra;
    if (e->packed > directory - e->at)
        return diag_error(z->diag, &z->loc, "the zip archive is damaged: entry '%s' ends behind the file", e->name);
    return true;
}

/* *at: of the row; behind it afterwards. */
static bool read_row(struct zip *z, const struct directory *dir, size_t *at)
{
    const size_t end = (size_t)(dir->at + dir->size);
    const unsigned char *const p = z->bytes + *at;
    struct zip_entry e = {0};
    if (end - *at < DIRECTORY_BYTES || number32(p) != directory_mark)
        return fault(z, "its directory has fewer entries than it says");
    const size_t name = (size_t)number(p + 28, 2), extra = (size_t)number(p + 30, 2),
                 comment = (size_t)number(p + 32, 2);
    if (name + extra + comment > end - *at - DIRECTORY_BYTES)
        return fault(z, "an entry of its directory ends behind it");
    uint64_t packed = number(p + 20, 4), size = number(p + 24, 4), begin = number(p + 42, 4);
    if (!read_name(z, p + DIRECTORY_BYTES, name, &e.name) ||
        !read_extra(z, p + DIRECTORY_BYTES + name, extra, (uint64_t *const[]){&size, &packed, &begin}))
        return false;
    if (packed > z->size || begin > z->size || size > SIZE_MAX / 2)
        return diag_error(z->diag, &z->loc, "the zip archive is damaged: entry '%s' does not fit the file", e.name);
    e.packed = (size_t)packed, e.size = (size_t)size, e.begin = (size_t)begin;
    e.flags = (unsigned)number(p + 8, 2), e.method = (unsigned)number(p + 10, 2), e.crc = number32(p + 16);
    *at += DIRECTORY_BYTES + name + extra + comment;
    if (!find_bytes(z, &e, (size_t)dir->at))
        return false;
    vec_push(z->arena, &z->entries, e);
    return true;
}

static int by_place(const void *x, const void *y)
{
    const struct zip_entry *const a = *(const struct zip_entry *const *)x, *const b =
                                                                               *(const struct zip_entry *const *)y;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Bytes that belong to two entries are how small files unpack to petabytes. */
static bool check_overlaps(struct zip *z)
{
    const struct zip_entry **const sorted = arena_array(z->arena, const struct zip_entry *, z->entries.count + 1);
    for (size_t i = 0; i < z->entries.count; i++)
        sorted[i] = &z->entries.data[i];
    if (z->entries.count > 0)
        qsort(sorted, z->entries.count, sizeof *sorted, by_place);
    for (size_t i = 1; i < z->entries.count; i++)
        if (sorted[i]->begin < sorted[i - 1]->at + sorted[i - 1]->packed)
            return diag_error(z->diag, &z->loc, "the zip archive is a forgery: entries '%s' and '%s' overlap",
                              sorted[i - 1]->name, sorted[i]->name);
    return true;
}

bool zip_open(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
              struct zip *out)
{
    struct directory dir = {0};
    *out = (struct zip){.diag = d, .arena = a, .loc = LOC_FILE(path), .bytes = bytes, .size = size, .names.arena = a};
    if (!find_directory(out, &dir))
        return false;
    size_t at = (size_t)dir.at;
    for (uint64_t i = 0; i < dir.count; i++)
        if (!read_row(out, &dir, &at))
            return false;
    vec_each_ptr(struct zip_entry, e, &out->entries) {
        if (map_has(&out->names, e->name))
            return diag_error(d, &out->loc, "the zip archive is a forgery: it has two entries '%s'", e->name);
        map_set(&out->names, e->name, e);
    }
    return check_overlaps(out);
}

struct zip_entry *zip_find(const struct zip *z, const char *name)
{
    return map_get(&z->names, name);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

/* CRC-32 of IEEE 802.3, reflected: polynomial 0xedb88320. */
static uint32_t checksum(const unsigned char *bytes, size_t size)
{
    uint32_t table[256], crc = 0xffffffff;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
    }
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}

#ifdef STEPC_ZLIB
enum { MOST_RATIO = 1032 }; /* of deflate */

static bool inflate_entry(struct zip *z, const struct zip_entry *e, const unsigned char **out)
{
    const struct loc *const at = &z->loc;
    if (e->size / MOST_RATIO > e->packed)
        return diag_error(z->diag, at, "entry '%s' cannot unpack to %zu bytes from %zu", e->name, e->size, e->packed);
    unsigned char *const to = arena_array(z->arena, unsigned char, e->size + 1);
    z_stream s = {.next_in = (Bytef *)(uintptr_t)(z->bytes + e->at), .next_out = to};
    size_t in = e->packed, room = e->size + 1; /* one more: what is longer than it says is seen */
    const size_t most = 1u << 30;              /* counts of zlib are unsigned int */
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK)
        return diag_error(z->diag, at, "entry '%s': zlib cannot begin", e->name);
    int status = Z_OK;
    while (status == Z_OK) {
        const uInt give = (uInt)(in < most ? in : most), take = (uInt)(room < most ? room : most);
        s.avail_in = give, s.avail_out = take;
        status = inflate(&s, Z_NO_FLUSH);
        in -= give - s.avail_in, room -= take - s.avail_out;
        if (give == s.avail_in && take == s.avail_out)
            break;
    }
    inflateEnd(&s);
    if (status != Z_STREAM_END || in != 0 || room != 1)
        return diag_error(z->diag, at, "entry '%s' does not unpack to its %zu bytes", e->name, e->size);
    *out = to;
    return true;
}
#else
static bool inflate_entry(struct zip *z, const struct zip_entry *e, const unsigned char **out)
{
    (void)out;
    return diag_error(z->diag, &z->loc, "entry '%s' is compressed, and this stepc was built without zlib", e->name);
}
#endif

static bool read_content(struct zip *z, const struct zip_entry *e, const unsigned char **bytes)
{
    if (e->flags & ENCRYPTED)
        return diag_error(z->diag, &z->loc, "entry '%s' is encrypted", e->name);
    if (e->method != STORED && e->method != DEFLATED)
        return diag_error(z->diag, &z->loc, "entry '%s' is compressed by method %u; only deflate can be read", e->name,
                          e->method);
    if (e->method == STORED && e->size != e->packed)
        return diag_error(z->diag, &z->loc, "entry '%s' is stored, but says that %zu bytes are %zu", e->name, e->packed,
                          e->size);
    *bytes = z->bytes + e->at;
    return e->method == STORED || inflate_entry(z, e, bytes);
}

bool zip_read(struct zip *z, struct zip_entry *e, const unsigned char **bytes)
{
    if (e->content) {
        *bytes = e->content;
        return true;
    }
    if (!read_content(z, e, bytes))
        return false;
    e->content = *bytes;
    if (!z->warned && checksum(*bytes, e->size) != e->crc)
        z->warned = diag_warning(z->diag, &z->loc,
                                 "entry '%s' has another checksum than its directory says: the file is damaged, or was "
                                 "written without checksums",
                                 e->name);
    return true;
}
