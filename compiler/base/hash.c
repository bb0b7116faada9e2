#include "base/hash.h"

#include <nettle/version.h>
#include <string.h>

void sha256_begin(struct sha256 *s)
{
    sha256_init(&s->nettle);
}

void sha256_add(struct sha256 *s, const void *bytes, size_t size)
{
    sha256_update(&s->nettle, size, bytes);
}

void sha256_end(struct sha256 *s, unsigned char digest[32])
{
#if NETTLE_VERSION_MAJOR < 4 /* later ones know how long a digest is */
    sha256_digest(&s->nettle, 32, digest);
#else
    sha256_digest(&s->nettle, digest);
#endif
}

void sha256_hex(const void *bytes, size_t size, char out[65])
{
    struct sha256 s;
    unsigned char digest[32];
    sha256_begin(&s);
    sha256_add(&s, bytes, size);
    sha256_end(&s, digest);
    for (int i = 0; i < 32; i++) {
        out[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    out[64] = '\0';
}

/* FNV-1a's step, over words: its odd factor carries low bits up, the shift carries high ones down again. */
uint64_t hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    uint64_t h = 0xcbf29ce484222325u ^ size;
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 32;
    }
    for (; size > 0; size--, p++)
        h = (h ^ *p) * 0x100000001b3u;
    return h ^ h >> 32;
}
