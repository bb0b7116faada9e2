/* Numbers that tell things apart. */
#include "base/words.h"
#include "suite.h"

#include <check.h>
#include <stdbool.h>
#include <string.h>

static struct arena arena;

static void end(void)
{
    arena_free(&arena);
}

/* One text behind the other. */
static word_list words_of(const char *first, const char *second)
{
    word_list words = {0};
    words_add_text(&arena, &words, first);
    words_add_text(&arena, &words, second);
    return words;
}

START_TEST(texts_of_other_characters_or_lengths_have_other_words)
{
    static const char *const texts[] = {NULL, "", "a", "b", "ab", "abcdefgh", "abcdefgx", "abcdefghi", "abcdefghx"};
    enum { COUNT = sizeof texts / sizeof *texts };
    for (int i = 0; i < COUNT * COUNT; i++)
        for (int j = 0; j < COUNT * COUNT; j++) {
            const word_list p = words_of(texts[i / COUNT], texts[i % COUNT]),
                            q = words_of(texts[j / COUNT], texts[j % COUNT]);
            const bool is_equal = p.count == q.count && !memcmp(p.data, q.data, p.count * sizeof *p.data);
            ck_assert_msg(is_equal == (i == j), "pairs %d and %d", i, j);
        }
}
END_TEST

START_TEST(words_keep_their_order)
{
    word_list words = {0};
    for (uint64_t i = 0; i < 100; i++)
        words_add(&arena, &words, UINT64_MAX - i);
    ck_assert_uint_eq(words.count, 100);
    for (uint64_t i = 0; i < 100; i++)
        ck_assert_uint_eq(words.data[i], UINT64_MAX - i);
}
END_TEST

int main(void)
{
    TCase *const t = tcase_create("words");
    tcase_add_checked_fixture(t, NULL, end);
    tcase_add_test(t, texts_of_other_characters_or_lengths_have_other_words);
    tcase_add_test(t, words_keep_their_order);
    return run_tests("words", t);
}
