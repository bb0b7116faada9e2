/* Tables and bundles of TensorFlow for tests, byte by byte: written from the descriptions of the formats. */
#ifndef STEPC_TESTS_BUNDLE_FILE_H
#define STEPC_TESTS_BUNDLE_FILE_H

#include "base/str.h"

#include <stdint.h>
#include <string.h>

/* Low bytes first. */
static void put_number(struct strbuf *b, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        strbuf_add_n(b, &(const char){(char)(i < 8 ? x >> (8 * i) : 0)}, 1);
}

/* CRC-32C, bit by bit, as it is stored. */
static uint32_t masked_crc_of(const char *bytes, size_t size)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

static void put_varint(struct strbuf *b, uint64_t x)
{
    for (; x > 127; x >>= 7)
        put_number(b, (x & 127) | 128, 1);
    put_number(b, x, 1);
}

static void put_field(struct strbuf *b, int field, uint64_t x)
{
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, x);
}

static void put_message(struct strbuf *b, int field, const char *bytes, size_t size)
{
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, size);
    strbuf_add_n(b, bytes, size);
}

static void put_text_field(struct strbuf *b, int field, const char *text)
{
    put_message(b, field, text, strlen(text));
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* An entry of a block: `shared` bytes of the key before, then these. */
static void put_table_entry(struct strbuf *b, size_t shared, const char *own, const char *value, size_t size)
{
    put_varint(b, shared);
    put_varint(b, strlen(own));
    put_varint(b, size);
    strbuf_add(b, own);
    strbuf_add_n(b, value, size);
}

struct block_place {
    size_t at, size;
};

/* Entries become a block of the file: restarts at the front, kind of compression, checksum. */
static struct block_place put_block(struct strbuf *file, const struct strbuf *entries, int kind)
{
    const struct block_place p = {file->length, entries->length + 8};
    strbuf_add_n(file, entries->length > 0 ? entries->text : "", entries->length);
    put_number(file, 0, 4);
    put_number(file, 1, 4);
    put_number(file, (uint64_t)kind, 1);
    put_number(file, masked_crc_of(file->text + p.at, p.size + 1), 4);
    return p;
}

static void put_place(struct strbuf *b, struct block_place p)
{
    put_varint(b, p.at);
    put_varint(b, p.size);
}

/* The index of these blocks, and the footer. */
static void end_table(struct strbuf *file, const struct block_place *blocks, size_t count)
{
    struct strbuf index = {.arena = file->arena}, none = {.arena = file->arena}, place, footer = {.arena = file->arena};
    for (size_t i = 0; i < count; i++) {
        place = (struct strbuf){.arena = file->arena};
        put_place(&place, blocks[i]);
        put_table_entry(&index, 0, "z", place.text, place.length);
    }
    put_place(&footer, put_block(file, &none, 0));
    put_place(&footer, put_block(file, &index, 0));
    strbuf_add_n(file, footer.text, footer.length);
    put_number(file, 0, (int)(40 - footer.length));
    put_number(file, 0xdb4775248b80fb57, 8);
}

/* ---- bundles ----------------------------------------------------------------------------------------------------- */

struct bundle_text {
    struct strbuf index, data; /* entries so far, without the header; the only data file */
    size_t shards;
};

enum { TF_FLOAT = 1, TF_STRING = 7, TF_INT64 = 9, TF_VARIANT = 21 };

/* BundleEntryProto */
static void put_bundle_entry(struct bundle_text *b, const char *name, int type, int rank, const int64_t *sizes,
                             uint64_t shard, uint64_t offset, uint64_t size, uint32_t crc)
{
    struct strbuf shape = {.arena = b->index.arena}, value = {.arena = b->index.arena};
    for (int i = 0; i < rank; i++) {
        struct strbuf dim = {.arena = b->index.arena};
        put_field(&dim, 1, (uint64_t)sizes[i]);
        put_message(&shape, 2, dim.text, dim.length);
    }
    put_field(&value, 1, (uint64_t)type);
    put_message(&value, 2, strbuf_text(&shape), shape.length);
    put_field(&value, 3, shard);
    put_field(&value, 4, offset);
    put_field(&value, 5, size);
    put_varint(&value, 6 << 3 | 5);
    put_number(&value, crc, 4);
    put_table_entry(&b->index, 0, name, value.text, value.length);
}

/* Names must ascend. */
static void put_bundle_floats(struct bundle_text *b, const char *name, int rank, const int64_t *sizes, const float *x,
                              size_t count)
{
    const size_t at = b->data.length;
    strbuf_add_n(&b->data, (const char *)x, count * sizeof *x);
    put_bundle_entry(b, name, TF_FLOAT, rank, sizes, 0, at, count * sizeof *x,
                     masked_crc_of(b->data.text + at, count * sizeof *x));
}

static void put_bundle_int(struct bundle_text *b, const char *name, int64_t x)
{
    const size_t at = b->data.length;
    put_number(&b->data, (uint64_t)x, 8);
    put_bundle_entry(b, name, TF_INT64, 0, NULL, 0, at, 8, masked_crc_of(b->data.text + at, 8));
}

static void put_bundle_string(struct bundle_text *b, const char *name, const char *bytes, size_t size)
{
    struct strbuf sum = {.arena = b->index.arena};
    const size_t at = b->data.length;
    put_number(&sum, size, 4);
    put_number(&sum, masked_crc_of(sum.text, 4), 4);
    put_varint(&b->data, size);
    strbuf_add_n(&b->data, sum.text + 4, 4);
    strbuf_add_n(&b->data, bytes, size);
    strbuf_add_n(&sum, bytes, size);
    put_bundle_entry(b, name, TF_STRING, 0, NULL, 0, at, b->data.length - at, masked_crc_of(sum.text, sum.length));
}

/* The file NAME.index of one block. */
static struct strbuf bundle_index(const struct bundle_text *b)
{
    struct strbuf header = {.arena = b->index.arena}, entries = {.arena = b->index.arena},
                  file = {.arena = b->index.arena};
    put_field(&header, 1, b->shards > 0 ? b->shards : 1);
    put_text_field(&header, 3, "\x08\x01");
    put_table_entry(&entries, 0, "", header.text, header.length);
    strbuf_add_n(&entries, strbuf_text(&b->index), b->index.length);
    const struct block_place block = put_block(&file, &entries, 0);
    end_table(&file, &block, 1);
    return file;
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

/* A node: "name=number" children up to NULL, and a value if `key` is given. */
static void put_object(struct strbuf *graph, const char *key, const char *full, ...)
{
    struct strbuf node = {.arena = graph->arena};
    va_list args;
    va_start(args, full);
    for (const char *name = va_arg(args, const char *); name; name = va_arg(args, const char *)) {
        struct strbuf child = {.arena = graph->arena};
        put_field(&child, 1, (uint64_t)va_arg(args, int));
        put_text_field(&child, 2, name);
        put_message(&node, 1, child.text, child.length);
    }
    va_end(args);
    if (key) {
        struct strbuf value = {.arena = graph->arena};
        put_text_field(&value, 1, "VARIABLE_VALUE");
        put_text_field(&value, 2, full);
        put_text_field(&value, 3, key);
        put_message(&node, 2, value.text, value.length);
    }
    put_message(graph, 1, strbuf_text(&node), node.length);
}

#endif
