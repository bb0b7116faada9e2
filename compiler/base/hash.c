#include "base/hash.h"

#include "base/sha256_x86.h"
#include <string.h>

/* FIPS 180-4, section 4.2.2: the fractions of the cube roots of the first 64 primes. */
const uint32_t sha256_round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t load_big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Section 6.2.2, step 3. The names are the standard's, but the variables stay where they are and change their roles
 * from round to round, eight of which are written out where it is called: models have tens of megabytes. */
static inline void digest_round(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f, uint32_t g,
                                uint32_t *h, uint32_t constant_and_word)
{
    const uint32_t sum1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t t1 = *h + sum1 + choice + constant_and_word;
    const uint32_t sum0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    *d += t1;
    *h = t1 + sum0 + majority;
}

static void digest_block(uint32_t state[8], const unsigned char block[64])
{
    uint32_t w[64];
    for (int t = 0; t < 16; t++)
        w[t] = load_big_endian(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        const uint32_t s0 = rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ w[t - 15] >> 3;
        const uint32_t s1 = rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6],
             h = state[7];
    for (int t = 0; t < 64; t += 8) {
        const uint32_t *k = sha256_round_constant + t, *x = w + t;
        digest_round(a, b, c, &d, e, f, g, &h, k[0] + x[0]);
        digest_round(h, a, b, &c, d, e, f, &g, k[1] + x[1]);
        digest_round(g, h, a, &b, c, d, e, &f, k[2] + x[2]);
        digest_round(f, g, h, &a, b, c, d, &e, k[3] + x[3]);
        digest_round(e, f, g, &h, a, b, c, &d, k[4] + x[4]);
        digest_round(d, e, f, &g, h, a, b, &c, k[5] + x[5]);
        digest_round(c, d, e, &f, g, h, a, &b, k[6] + x[6]);
        digest_round(b, c, d, &e, f, g, h, &a, k[7] + x[7]);
    }
    const uint32_t result[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += result[i];
}

static void digest_blocks(struct sha256 *s, const unsigned char *p, size_t blocks)
{
    if (!s->plain) {
        sha256_x86_blocks(s->h, p, blocks);
        return;
    }
    for (; blocks > 0; blocks--, p += sizeof s->block)
        digest_block(s->h, p);
}

void sha256_begin(struct sha256 *s)
{
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(s, 0, sizeof *s);
    memcpy(s->h, initial, sizeof initial);
    s->plain = !sha256_x86_available();
}

void sha256_add(struct sha256 *s, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    s->length += size;
    while (size != 0) {
        if (s->fill == 0 && size >= sizeof s->block) {
            digest_blocks(s, p, size / sizeof s->block);
            p += size - size % sizeof s->block;
            size %= sizeof s->block;
            continue;
        }
        const size_t room = sizeof s->block - s->fill;
        const size_t n = size < room ? size : room;
        memcpy(s->block + s->fill, p, n);
        s->fill += n;
        p += n;
        size -= n;
        if (s->fill == sizeof s->block) {
            digest_blocks(s, s->block, 1);
            s->fill = 0;
        }
    }
}

/* Padding: a one bit, zeros, and the length in bits as 64-bit big endian at the end of a block. */
void sha256_end(struct sha256 *s, unsigned char digest[32])
{
    const uint64_t bits = s->length * 8;
    unsigned char padding[64 + 8] = {0x80};
    const size_t zeros = (s->fill < 56 ? 56 : 120) - s->fill;
    for (int i = 0; i < 8; i++)
        padding[zeros + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, padding, zeros + 8);
    for (int i = 0; i < 32; i++)
        digest[i] = (unsigned char)(s->h[i / 4] >> (24 - 8 * (i % 4)));
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
