/* SHA-256 by nettle, for the header comment of emitted files and for --hash; and a quick hash for tables. */
#ifndef STEPC_BASE_HASH_H
#define STEPC_BASE_HASH_H

#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>

struct sha256 {
    struct sha256_ctx nettle;
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t size);
void sha256_end(struct sha256 *s, unsigned char digest[32]);
/* Lower-case hexadecimal of the digest of one buffer. */
void sha256_hex(const void *bytes, size_t size, char out[65]);

/* Quick; not for telling contents apart: whoever finds equal hashes compares. */
uint64_t hash_bytes(const void *bytes, size_t size);

#endif
