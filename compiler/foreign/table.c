#include "foreign/table.h"

#include <string.h>

enum {
    FOOTER_BYTES = 48,    /* two handles, filled up to 40 bytes, and the magic number */
    TRAILER_BYTES = 5,    /* behind each block: how it is compressed, and its checksum */
    MOST_KEY = 4096,      /* bytes: names of tensors are shorter */
    MOST_KEYS = 16 << 20, /* bytes of all keys, and as many times the file as follows: they share beginnings */
    MOST_KEYS_TIMES = 64,
    PLAIN = 0,
    SNAPPY = 1
};
static const uint64_t magic = 0xdb4775248b80fb57;

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

uint64_t read_fixed(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++)
        x |= (uint64_t)p[i] << (8 * i);
    return x;
}

bool read_varint(const unsigned char **at, const unsigned char *end, uint64_t *out)
{
    enum { LAST = 63 }; /* the shift of the tenth byte, of which one bit counts */
    uint64_t x = 0;
    for (int shift = 0; shift <= LAST && *at < end; shift += 7) {
        const unsigned char b = *(*at)++;
        if (shift == LAST && b > 1)
            return false;
        x |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *out = x;
            return true;
        }
    }
    return false;
}

uint32_t crc32c(uint32_t crc, const unsigned char *bytes, size_t size)
{
    static uint32_t table[256];
    if (table[1] == 0)
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t x = i;
            for (int k = 0; k < 8; k++)
                x = x >> 1 ^ (x & 1 ? 0x82f63b78 : 0);
            table[i] = x;
        }
    crc = ~crc;
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}

uint32_t crc32c_masked(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

struct tabler {
    struct diag *diag;
    struct arena *arena;
    struct loc loc;
    const unsigned char *bytes;
    size_t size; /* without the footer */
    bool unchecked;
    size_t keys; /* bytes that they may still take */
};

struct handle {
    uint64_t at, size;
};

static bool fault(const struct tabler *t, const char *text)
{
    return diag_error(t->diag, &t->loc, "the index is damaged: %s", text);
}

static bool read_handle(const struct tabler *t, const unsigned char **p, const unsigned char *end, struct handle *out)
{
    if (!read_varint(p, end, &out->at) || !read_varint(p, end, &out->size))
        return fault(t, "what says where a block lies is cut short");
    if (out->at > t->size || out->size > t->size - out->at || t->size - out->at - out->size < TRAILER_BYTES)
        return fault(t, "a block lies behind its end");
    return true;
}

/* *end: of the entries, behind which stand the places where keys begin anew and their number. */
static bool open_block(const struct tabler *t, const struct handle *h, const unsigned char **begin,
                       const unsigned char **end)
{
    const unsigned char *const p = t->bytes + h->at, *const trailer = p + h->size;
    if (!t->unchecked && crc32c_masked(crc32c(0, p, (size_t)h->size + 1)) != (uint32_t)read_fixed(trailer + 1, 4))
        return fault(t, "the checksum of a block is another");
    if (trailer[0] == SNAPPY)
        return diag_error(t->diag, &t->loc,
                          "its blocks are compressed by snappy, which TensorFlow does not write; it cannot be read");
    if (trailer[0] != PLAIN)
        return fault(t, "a block is compressed in a way that there is not");
    if (h->size < 4 || read_fixed(trailer - 4, 4) > (h->size - 4) / 4)
        return fault(t, "a block is shorter than it says");
    *begin = p;
    *end = trailer - 4 - 4 * read_fixed(trailer - 4, 4);
    return true;
}

/* The next entry behind the one before, whose key is *key (NULL for the first). */
static bool read_entry(struct tabler *t, const unsigned char **p, const unsigned char *end, const char *key,
                       struct table_entry *out)
{
    uint64_t shared, own, size;
    const size_t before = key ? strlen(key) : 0;
    if (!read_varint(p, end, &shared) || !read_varint(p, end, &own) || !read_varint(p, end, &size))
        return fault(t, "an entry is cut short");
    if (shared > before || own > (uint64_t)(end - *p) || size > (uint64_t)(end - *p) - own)
        return fault(t, "an entry is longer than its block");
    if (shared + own > MOST_KEY)
        return diag_error(t->diag, &t->loc, "a key has %llu bytes, at most %d are read",
                          (unsigned long long)(shared + own), MOST_KEY);
    if (shared + own + 1 > t->keys)
        return fault(t, "its keys are larger than those of an honest one");
    t->keys -= (size_t)(shared + own + 1);
    if (own > 0 && memchr(*p, 0, (size_t)own))
        return fault(t, "there is a NUL in a key");
    char *const text = arena_array(t->arena, char, (size_t)(shared + own + 1));
    if (shared > 0)
        memcpy(text, key, (size_t)shared);
    if (own > 0)
        memcpy(text + shared, *p, (size_t)own);
    *out = (struct table_entry){text, *p + own, (size_t)size};
    *p += own + size;
    return true;
}

/* All entries of a block behind those in *out. In a block of data each key is above the one before. */
static bool read_block(struct tabler *t, const struct handle *h, bool ascends, table_entries *out)
{
    const unsigned char *p = NULL, *end = NULL;
    const char *key = NULL;
    if (!open_block(t, h, &p, &end))
        return false;
    while (p < end) {
        struct table_entry e;
        const char *const last = out->count > 0 ? out->data[out->count - 1].key : NULL;
        if (!read_entry(t, &p, end, key, &e))
            return false;
        if (ascends && last && strcmp(last, e.key) >= 0)
            return fault(t, "its keys do not ascend");
        vec_push(t->arena, out, e);
        key = e.key;
    }
    return true;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

bool table_is_one(const unsigned char *bytes, size_t size)
{
    return size >= FOOTER_BYTES && read_fixed(bytes + size - 8, 8) == magic;
}

bool table_parse(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                 bool unchecked, table_entries *out)
{
    struct tabler t = {.diag = d, .arena = a, .loc = LOC_FILE(path), .bytes = bytes, .unchecked = unchecked};
    struct handle meta, index, block;
    table_entries blocks = {0};
    uint64_t behind = 0; /* the last block */
    *out = (table_entries){0};
    if (!table_is_one(bytes, size))
        return diag_error(d, &t.loc, "no index of TensorFlow's checkpoints: its end is another, or it was cut short");
    t.size = size - FOOTER_BYTES;
    t.keys = MOST_KEYS + (size < SIZE_MAX / 2 / MOST_KEYS_TIMES ? size * MOST_KEYS_TIMES : SIZE_MAX / 2);
    const unsigned char *p = bytes + t.size;
    const unsigned char *const end = bytes + size - 8;
    if (!read_handle(&t, &p, end, &meta) || !read_handle(&t, &p, end, &index) ||
        !read_block(&t, &index, false, &blocks))
        return false;
    vec_each_ptr(const struct table_entry, e, &blocks) {
        p = e->value;
        if (!read_handle(&t, &p, e->value + e->size, &block))
            return false;
        if (block.at < behind)
            return fault(&t, "its blocks overlap, or do not stand in order");
        behind = block.at + block.size + TRAILER_BYTES;
        if (!read_block(&t, &block, true, out))
            return false;
    }
    return true;
}
