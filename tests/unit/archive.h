/* Zip archives and pickles for tests, byte by byte as torch.save writes them. */
#ifndef STEPC_TESTS_ARCHIVE_H
#define STEPC_TESTS_ARCHIVE_H

#include "base/str.h"
#include "tensor/tensor.h"

#include <stdint.h>
#include <string.h>

static void put_number(struct strbuf *b, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        strbuf_add_n(b, &(const char){(char)(i < 8 ? x >> (8 * i) : 0)}, 1);
}

/* CRC-32, bit by bit. */
static uint32_t crc_of(const char *bytes, size_t size)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

struct entry_text {
    const char *name, *bytes;
    size_t size;
    unsigned method;
    uint64_t unpacked; /* what it says; 0: its size */
    size_t more;       /* bytes that it claims beyond its own */
    uint32_t crc;      /* 0: computed */
    size_t at;         /* set by put_archive(); else where the directory says it begins, if `moved` */
    bool moved;
};

static void put_row(struct strbuf *b, const struct entry_text *e, bool zip64)
{
    const uint64_t packed = e->size + e->more, size = e->unpacked ? e->unpacked : packed;
    const uint32_t crc = e->crc ? e->crc : crc_of(e->bytes, e->size);
    strbuf_add_n(b, "PK\x01\x02\x2d\0\x2d\0\0\0", 10);
    put_number(b, e->method, 2);
    put_number(b, 0, 4);
    put_number(b, crc, 4);
    put_number(b, zip64 ? 0xffffffff : packed, 4);
    put_number(b, zip64 ? 0xffffffff : size, 4);
    put_number(b, strlen(e->name), 2);
    put_number(b, zip64 ? 28 : 0, 2);
    put_number(b, 0, 10);
    put_number(b, zip64 ? 0xffffffff : e->at, 4);
    strbuf_add(b, e->name);
    if (zip64) {
        put_number(b, 1, 2);
        put_number(b, 24, 2);
        put_number(b, size, 8);
        put_number(b, packed, 8);
        put_number(b, e->at, 8);
    }
}

/* The entries, the directory and the end; zip64: all numbers stand in its fields, as PyTorch's writer may have it. */
static void put_archive(struct strbuf *b, struct entry_text *entries, size_t count, bool zip64)
{
    for (size_t i = 0; i < count; i++) {
        struct entry_text *const e = &entries[i];
        e->at = e->moved ? e->at : b->length;
        strbuf_add_n(b, "PK\x03\x04\x14\0\0\0", 8);
        put_number(b, e->method, 2);
        put_number(b, 0, 4);
        put_number(b, e->crc ? e->crc : crc_of(e->bytes, e->size), 4);
        put_number(b, e->size, 4);
        put_number(b, e->unpacked ? e->unpacked : e->size, 4);
        put_number(b, strlen(e->name), 2);
        put_number(b, 5, 2);
        strbuf_add(b, e->name);
        strbuf_add_n(b, "FB\1\0Z", 5); /* how PyTorch aligns what follows */
        strbuf_add_n(b, e->bytes, e->size);
    }
    const size_t directory = b->length;
    for (size_t i = 0; i < count; i++)
        put_row(b, &entries[i], zip64);
    const size_t end = b->length, size = end - directory;
    if (zip64) {
        strbuf_add_n(b, "PK\x06\x06", 4);
        put_number(b, 44, 8);
        put_number(b, 45 | 45 << 16, 4);
        put_number(b, 0, 8);
        put_number(b, count, 8);
        put_number(b, count, 8);
        put_number(b, size, 8);
        put_number(b, directory, 8);
        strbuf_add_n(b, "PK\x06\x07\0\0\0\0", 8);
        put_number(b, end, 8);
        put_number(b, 1, 4);
    }
    strbuf_add_n(b, "PK\x05\x06\0\0\0\0", 8);
    put_number(b, zip64 ? 0xffff : count, 2);
    put_number(b, zip64 ? 0xffff : count, 2);
    put_number(b, zip64 ? 0xffffffff : size, 4);
    put_number(b, zip64 ? 0xffffffff : directory, 4);
    put_number(b, 0, 2);
}

/* ---- pickles ----------------------------------------------------------------------------------------------------- */

static void put_text_op(struct strbuf *b, const char *text)
{
    strbuf_add(b, "X");
    put_number(b, strlen(text), 4);
    strbuf_add(b, text);
}

static void put_int_op(struct strbuf *b, int64_t x)
{
    strbuf_add_n(b, "\x8a\x08", 2);
    put_number(b, (uint64_t)x, 8);
}

static inline void put_float_op(struct strbuf *b, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    strbuf_add(b, "G");
    for (int i = 7; i >= 0; i--)
        put_number(b, bits >> (8 * i) & 0xff, 1);
}

static void put_list_of(struct strbuf *b, const int64_t *x, int count)
{
    strbuf_add(b, "(");
    for (int i = 0; i < count; i++)
        put_int_op(b, x[i]);
    strbuf_add(b, "t");
}

/* _rebuild_tensor_v2(storage, offset, sizes, strides, False, None) */
static inline void put_tensor_op(struct strbuf *b, const char *type, const char *key, int64_t elements, int64_t offset,
                                 int rank, const int64_t *sizes, const int64_t *strides)
{
    strbuf_add(b, "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_text_op(b, "storage");
    strbuf_addf(b, "ctorch\n%sStorage\n", type);
    put_text_op(b, key);
    put_text_op(b, "cpu");
    put_int_op(b, elements);
    strbuf_add(b, "tQ");
    put_int_op(b, offset);
    put_list_of(b, sizes, rank);
    put_list_of(b, strides, rank);
    strbuf_add_n(b, "\x89NtR", 4);
}

#endif
