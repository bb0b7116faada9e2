/* Intel, "Intel SHA Extensions" (2013): sha256rnds2 does two rounds on the state, which it wants as the vectors ABEF
 * and CDGH (A in the highest lane); sha256msg1 and sha256msg2 are the two halves of the message schedule. */
#include "base/sha256_x86.h"

#include "base/arena.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include "base/hash.h"
#include <cpuid.h>
#include <immintrin.h>

static bool ask_processor(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1))
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* Asked once: a virtual machine takes longer to answer than a small model takes to be hashed. */
bool sha256_x86_available(void)
{
    static enum { NOT_ASKED, NO, YES } answer;
    if (answer == NOT_ASKED)
        answer = ask_processor() ? YES : NO;
    return answer == YES;
}

/* The first 16 words come from the block, each further four from the 16 before them. */
__attribute__((target("sha,sse4.1"))) static __m128i next_words(const __m128i w[4], int group)
{
    const __m128i w0 = w[group % 4], w4 = w[(group + 1) % 4], w8 = w[(group + 2) % 4], w12 = w[(group + 3) % 4];
    const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w4), _mm_alignr_epi8(w12, w8, 4));
    return _mm_sha256msg2_epu32(sum, w12);
}

__attribute__((target("sha,sse4.1"))) void sha256_x86_blocks(uint32_t state[8], const unsigned char *p, size_t blocks)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i dcba = _mm_loadu_si128((const __m128i_u *)state),
                  hgfe = _mm_loadu_si128((const __m128i_u *)(state + 4));
    const __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; blocks > 0; blocks--, p += 64) {
        const __m128i old_abef = abef, old_cdgh = cdgh;
        __m128i w[4];
        for (int group = 0; group < 16; group++) {
            const __m128i_u *const at = (const __m128i_u *)(p + 16 * group);
            w[group % 4] = group < 4 ? _mm_shuffle_epi8(_mm_loadu_si128(at), big_endian) : next_words(w, group);
            const __m128i k = _mm_loadu_si128((const __m128i_u *)(sha256_round_constant + 4 * group));
            const __m128i words = _mm_add_epi32(w[group % 4], k);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
        }
        abef = _mm_add_epi32(abef, old_abef);
        cdgh = _mm_add_epi32(cdgh, old_cdgh);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i_u *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i_u *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool sha256_x86_available(void)
{
    return false;
}

void sha256_x86_blocks(uint32_t state[8], const unsigned char *p, size_t blocks)
{
    (void)state;
    (void)p;
    (void)blocks;
    UNREACHABLE("no SHA instructions on this machine");
}

#endif
