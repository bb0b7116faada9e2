#include "base/words.h"

#include <string.h>

void words_add(struct arena *a, word_list *words, uint64_t word)
{
    vec_push(a, words, word);
}

void words_add_text(struct arena *a, word_list *words, const char *text)
{
    const size_t length = text ? strlen(text) : 0;
    words_add(a, words, text ? length : UINT64_MAX);
    for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, text + at, length - at < sizeof word ? length - at : sizeof word);
        words_add(a, words, word);
    }
}
