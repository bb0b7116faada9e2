/* A sorted table of keys and values in one file, as LevelDB has it and TensorFlow's .index files are: blocks of
 * entries whose keys share what they begin with, an index of blocks, a footer. Not trusted: every byte. Keys ascend
 * strictly and blocks do not overlap, so all entries together take memory and time in proportion to the file.
 * Spec: leveldb/doc/table_format.md; tensorflow/core/lib/io/format.cc, block.cc, table_builder.cc. */
#ifndef STEPC_FOREIGN_TABLE_H
#define STEPC_FOREIGN_TABLE_H

#include "base/diag.h"
#include <stdint.h>

struct table_entry {
    const char *key; /* NUL-terminated, and without a NUL inside */
    const unsigned char *value;
    size_t size;
};
typedef VEC(struct table_entry) table_entries;

bool table_is_one(const unsigned char *bytes, size_t size);
/* Values lie in `bytes`. unchecked: no checksum is looked at, since a fuzzer cannot find them. */
bool table_parse(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                 bool unchecked, table_entries *out) MUST_USE;

/* CRC-32C (polynomial 0x82f63b78, reflected) of what `crc` is of, 0 for nothing, and of these bytes behind it. */
uint32_t crc32c(uint32_t crc, const unsigned char *bytes, size_t size);
/* As it is stored. */
uint32_t crc32c_masked(uint32_t crc);

/* A number in bytes of 7 bits, the low ones first, ten at most; false where none ends before `end`. */
bool read_varint(const unsigned char **at, const unsigned char *end, uint64_t *out) MUST_USE;
/* The low bytes first. */
uint64_t read_fixed(const unsigned char *p, int bytes);

#endif
