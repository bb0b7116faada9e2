/* SHA-256 (FIPS 180-4), for the header comment of emitted files and for --hash. */
#ifndef STEPC_BASE_HASH_H
#define STEPC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t h[8];
    uint64_t length;
    unsigned char block[64];
    size_t fill;
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t size);
void sha256_end(struct sha256 *s, unsigned char digest[32]);
/* Lower-case hexadecimal of the digest of one buffer. */
void sha256_hex(const void *bytes, size_t size, char out[65]);

#endif
