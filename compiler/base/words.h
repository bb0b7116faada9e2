/* What tells things apart, written down as numbers: equal things have equal words. */
#ifndef STEPC_BASE_WORDS_H
#define STEPC_BASE_WORDS_H

#include "base/vec.h"
#include <stdint.h>

typedef VEC(uint64_t) word_list;

void words_add(struct arena *a, word_list *words, uint64_t word);
/* Its length and its characters, eight to a word; NULL is another one than "". */
void words_add_text(struct arena *a, word_list *words, const char *text);

#endif
