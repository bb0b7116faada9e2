/* compiler/base: arena, vec, map, str, diag, file, hash. */
#include "base/checked.h"
#include "base/clean.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/str.h"
#include "base/stream.h"
#include "fixture.h"
#include "suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* What diag_print() prints of `d`. */
static const char *printed(const struct diag *d)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    diag_print(d, f);
    fclose(f);
    const char *copy = arena_strdup(&arena, text);
    free(text);
    return copy;
}

/* ---- arena, vec, checked ----------------------------------------------------------------------------------------- */

START_TEST(text_for_people_is_clean)
{
    struct strbuf b = {.arena = &arena, .clean = true};
    strbuf_addf(&b, "%s|%-6s|%3s|%.2s|%c", "a\nb\x1b[0m", "x\x7f", "y", "zzz", '\r');
    ck_assert_str_eq(strbuf_text(&b), "a\\x0Ab\\x1B[0m|x\\x7F |  y|zz|\\x0D");
    b.length = 0;
    strbuf_addf(&b, "%d %5d %-4ld| %08.3f %g %x %zu %llu%%", -1, 42, 7L, 2.5, 1e300, 255u, (size_t)9,
                18446744073709551615ull);
    ck_assert_str_eq(strbuf_text(&b), "-1    42 7   | 0002.500 1e+300 ff 9 18446744073709551615%");
    b.length = 0;
    strbuf_addf(&b, "%*s|%-*s|%.*f", 4, "a", 3, "b", 2, 0.125);
    ck_assert_str_eq(strbuf_text(&b), "   a|b  |0.12");
    /* C1, marks and overrides of direction, separators of lines; letters stay */
    ck_assert_str_eq(clean_text(&arena, "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80"),
                     "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80");
    ck_assert_str_eq(clean_text(&arena, "\xc2\x9b" "1"), "\\xC2\\x9B1");
    ck_assert_str_eq(clean_text(&arena, "\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8"),
                     "\\xE2\\x80\\xAE\\xE2\\x81\\xA6\\xD8\\x9C\\xE2\\x80\\xA8");
    /* no UTF-8: cut, overlong, a surrogate, beyond the last character, a byte alone */
    ck_assert_str_eq(clean_text(&arena, "\xe2\x80"), "\\xE2\\x80");
    ck_assert_str_eq(clean_text(&arena, "\xc0\xaf"), "\\xC0\\xAF");
    ck_assert_str_eq(clean_text(&arena, "\xed\xa0\x80"), "\\xED\\xA0\\x80");
    ck_assert_str_eq(clean_text(&arena, "\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");
    ck_assert_str_eq(clean_text(&arena, "\x9b"), "\\x9B");
}
END_TEST

/* What a terminal obeys, which breaks lines, or turns text round: of all characters of Unicode these alone. */
static bool is_obeyed(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* A macro of check's writes down where it is, each time: two million times that is a minute. */
START_TEST(all_characters_are_judged)
{
    for (uint32_t c = 1; c < 0x110000; c++) {
        const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
        const size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        char text[5] = {(char)c};
        for (size_t i = 1; i < length; i++)
            text[i] = (char)(0x80 | (c >> 6 * (length - 1 - i) & 0x3f));
        if (length > 1)
            text[0] = (char)(lead[length] | c >> 6 * (length - 1));
        bool unsafe;
        const bool is_surrogate = c >= 0xd800 && c < 0xe000; /* no UTF-8: byte by byte */
        const size_t read = clean_next(text, &unsafe);
        if (read != (is_surrogate ? 1 : length) || unsafe != (is_surrogate || is_obeyed(c)))
            ck_abort_msg("U+%04X: %zu bytes, unsafe: %d", (unsigned)c, read, unsafe);
    }
}
END_TEST

static const struct {
    size_t count, size, align;
} arena_cases[] = {{1, 1, 1},        {0, 8, 8},      {3, 5, 1},
                   {1, 8, 64},       {1000, 16, 16}, {1, 1 << 12, 4096},
                   {3, 1 << 16, 32}, {7, 1, 2},      {1, (2 << 20) + 1, 64},
                   {1, 5 << 20, 8}};

START_TEST(arena_gives_aligned_zeroed_separate_memory)
{
    unsigned char *before = arena_alloc(&arena, 1, 1, 1);
    *before = 0xaa;
    const size_t count = arena_cases[_i].count * arena_cases[_i].size;
    for (int round = 0; round < (count > 1 << 20 ? 3 : 50); round++) {
        unsigned char *p = arena_alloc(&arena, arena_cases[_i].count, arena_cases[_i].size, arena_cases[_i].align);
        ck_assert_uint_eq((uintptr_t)p % arena_cases[_i].align, 0);
        ck_assert_ptr_ne(p, before);
        size_t zeros = 0;
        while (zeros < count && p[zeros] == 0)
            zeros++;
        ck_assert_uint_eq(zeros, count);
        memset(p, 0x55, count);
        before = p;
    }
}
END_TEST

START_TEST(arena_counts_bytes_and_can_be_used_again)
{
    struct arena a = {0};
    ck_assert_uint_eq(arena_bytes(&a), 0);
    arena_array(&a, int32_t, 10);
    arena_array(&a, char, 100000);
    ck_assert_uint_eq(arena_bytes(&a), 100040);
    arena_free(&a);
    ck_assert_uint_eq(arena_bytes(&a), 0);
    ck_assert_str_eq(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
    ck_assert_str_eq(arena_strndup(&a, "abcdef", 3), "abc");
    ck_assert_str_eq(arena_strndup(&a, NULL, 0), "");
    arena_free(&a);
}
END_TEST

START_TEST(arena_ends_the_process_when_the_product_overflows)
{
    arena_alloc(&arena, SIZE_MAX / 2, 3, 1);
}
END_TEST

START_TEST(vec_keeps_order_over_growth_and_removal)
{
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        vec_push(&arena, &v, i);
    vec_remove(&v, 0);
    vec_remove(&v, 498); /* held 499 */
    ck_assert_uint_eq(v.count, 998);
    for (int i = 0; i < 998; i++)
        ck_assert_int_eq(v.data[i], i < 498 ? i + 1 : i + 2);
}
END_TEST

START_TEST(checked_arithmetic_notices_overflow)
{
    int64_t x;
    size_t n;
    ck_assert(checked_mul(INT64_MAX / 2, 2, &x) && x == INT64_MAX - 1);
    ck_assert(!checked_mul(INT64_MAX / 2 + 1, 2, &x));
    ck_assert(!checked_mul(INT64_MIN, -1, &x));
    ck_assert(!checked_add(INT64_MAX, 1, &x));
    ck_assert(!checked_add_size(SIZE_MAX, 1, &n));
    ck_assert(!checked_mul_size(SIZE_MAX, 2, &n));
    ck_assert_int_eq(round_up(17, 16), 32);
    ck_assert_int_eq(round_up(16, 16), 16);
}
END_TEST

/* ---- map --------------------------------------------------------------------------------------------------------- */

START_TEST(map_finds_everything_and_iterates_in_order)
{
    struct map m = {.arena = &arena};
    int values[2000];
    char key[16];
    ck_assert(!map_has(&m, "") && map_get(&m, "x") == NULL);
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "key%d", i * 7919 % 2000);
        map_set(&m, key, &values[i]);
    }
    map_set(&m, "key0", NULL);
    ck_assert_uint_eq(m.count, 2000);
    ck_assert(map_has(&m, "key0") && map_get(&m, "key0") == NULL);
    ck_assert(!map_has(&m, "key2000") && !map_has(&m, ""));
    for (int i = 1; i < 2000; i++) {
        snprintf(key, sizeof key, "key%d", i * 7919 % 2000);
        ck_assert_str_eq(m.entries[i].key, key);
        ck_assert_ptr_eq(map_get(&m, key), &values[i]);
    }
}
END_TEST

/* ---- str --------------------------------------------------------------------------------------------------------- */

/* Both ways, into rooms from none to more than enough. */
static void same_as_printf(const char *fmt, ...) PRINTF_LIKE(1, 2);
static void same_as_printf(const char *fmt, ...)
{
    for (size_t room = 0; room < 70; room++) {
        char ours[80], theirs[80];
        memset(ours, '~', sizeof ours);
        memset(theirs, '~', sizeof theirs);
        va_list args, again;
        va_start(args, fmt);
        va_copy(again, args);
        ck_assert_int_eq(format_text(room ? ours : NULL, room, fmt, args),
                         vsnprintf(room ? theirs : NULL, room, fmt, again));
        va_end(again);
        va_end(args);
        ck_assert_mem_eq(ours, theirs, sizeof ours);
    }
}

START_TEST(text_is_formatted_as_by_printf)
{
    same_as_printf("%s", "");
    same_as_printf("plain, 100%% of it");
    same_as_printf("%s[%d] = %c%s;", "x", -12, 'y', "_2");
    same_as_printf("%d %d %d %u", 0, INT_MIN, INT_MAX, UINT_MAX);
    same_as_printf("%ld %lld %ld", LONG_MIN, LLONG_MIN, LONG_MAX);
    same_as_printf("%lu %llu %zu", ULONG_MAX, ULLONG_MAX, (size_t)1 << 40);
    same_as_printf("%.*s|%.*s|%.*s", 3, "abcdef", 9, "ab", -1, "whole");
    same_as_printf("%*s|%*s|%*.*s", 6, "ab", 1, "abc", 5, 2, "xyz");
    same_as_printf("%-*s|%*d", 6, "ab", 4, 7); /* not known to it, after ... */
    same_as_printf("%s %d, then %08.3f and %x, %5d", "text", 3, 2.5, 255u, 42); /* ... some of the text is written */
    same_as_printf("%*s|", -6, "ab");
}
END_TEST

START_TEST(strbuf_grows)
{
    struct strbuf b = {.arena = &arena};
    ck_assert_str_eq(strbuf_text(&b), "");
    for (int i = 0; i < 1000; i++) {
        strbuf_addf(&b, "%d,", i % 10);
        strbuf_add(&b, "ab");
        strbuf_add_n(&b, "cdef", 1);
    }
    ck_assert_uint_eq(b.length, 5000);
    ck_assert_uint_eq(strlen(strbuf_text(&b)), 5000);
    ck_assert(str_ends_with(strbuf_text(&b), "8,abc9,abc"));
    strbuf_addf(&b, "%2000d", 1);
    ck_assert_uint_eq(b.length, 7000);
}
END_TEST

static const struct {
    const char *pattern, *name;
    bool matches;
} glob_cases[] = {
    {"", "", true},                   {"", "a", false},                {"*", "", true},
    {"*", "abc", true},               {"a?c", "abc", true},            {"a?c", "ac", false},
    {"*.weight", "fc1.weight", true}, {"*.weight", "fc1.bias", false}, {"a*b*c", "aXbYbZc", true},
    {"a*b*c", "aXcYb", false},        {"**a**", "bab", true},          {"*a", "aaab", false},
    {"[x]", "x", false},              {"[x]", "[x]", true},            {"?", "", false},
    {"fc*.?", "fc12.w", true},
};

START_TEST(glob_matches)
{
    ck_assert_msg(str_glob(glob_cases[_i].pattern, glob_cases[_i].name) == glob_cases[_i].matches, "'%s' on '%s'",
                  glob_cases[_i].pattern, glob_cases[_i].name);
}
END_TEST

static const struct {
    const char *a, *b;
    size_t limit, distance;
} distance_cases[] = {
    {"", "", 9, 0},       {"alpa", "alpha", 9, 1},     {"kitten", "sitting", 9, 3}, {"abc", "", 9, 3},
    {"abc", "", 2, 2},    {"flaw", "lawn", 9, 2},      {"kitten", "sitting", 2, 2}, {"ab", "ba", 9, 2},
    {"Relu", "relu", 9, 1}, {"same", "same", 0, 0},    {"intention", "execution", 9, 5},
};

START_TEST(distance_is_levenshtein)
{
    const char *a = distance_cases[_i].a, *b = distance_cases[_i].b;
    ck_assert_uint_eq(str_distance(a, b, distance_cases[_i].limit), distance_cases[_i].distance);
    ck_assert_uint_eq(str_distance(b, a, distance_cases[_i].limit), distance_cases[_i].distance);
}
END_TEST

/* The usual table, in full. */
static size_t plain_distance(const char *a, const char *b)
{
    size_t d[8][8];
    for (size_t i = 0; i <= strlen(a); i++)
        for (size_t j = 0; j <= strlen(b); j++) {
            d[i][j] = i == 0 ? j : i;
            for (int way = 0; way < 3 && i > 0 && j > 0; way++) {
                const size_t by = way == 0   ? d[i - 1][j - 1] + (a[i - 1] != b[j - 1])
                                  : way == 1 ? d[i - 1][j] + 1
                                             : d[i][j - 1] + 1;
                d[i][j] = way == 0 || by < d[i][j] ? by : d[i][j];
            }
        }
    return d[strlen(a)][strlen(b)];
}

/* All words of up to four letters out of two, with every limit. */
START_TEST(distances_are_those_of_the_table)
{
    char words[31][5];
    size_t count = 0;
    for (size_t length = 0; length <= 4; length++)
        for (size_t bits = 0; bits < (size_t)1 << length; bits++, count++) {
            for (size_t k = 0; k < length; k++)
                words[count][k] = bits >> k & 1 ? 'b' : 'a';
            words[count][length] = '\0';
        }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            for (size_t limit = 0, is = plain_distance(words[i], words[j]); limit <= 6; limit++)
                ck_assert_msg(str_distance(words[i], words[j], limit) == (is < limit ? is : limit), "%s, %s: %zu",
                              words[i], words[j], limit);
}
END_TEST

START_TEST(closest_is_near_or_nothing)
{
    static const char *const names[] = {"beta", "alpha", "epsilon"};
    ck_assert_str_eq(str_closest("alpa", names, 3), "alpha");
    ck_assert_str_eq(str_closest("epsilom", names, 3), "epsilon");
    ck_assert_ptr_null(str_closest("gamma", names, 3));
    ck_assert_ptr_null(str_closest("x", names, 3));
    ck_assert_ptr_null(str_closest("alpha", names, 0));
}
END_TEST

START_TEST(prefixes_suffixes_and_equality)
{
    ck_assert(str_equal(NULL, NULL) && !str_equal(NULL, "") && str_equal("a", "a") && !str_equal("a", "b"));
    ck_assert(str_starts_with("abc", "ab") && str_starts_with("abc", "") && !str_starts_with("ab", "abc"));
    ck_assert(str_ends_with("a.onnx", ".onnx") && str_ends_with("a", "") && !str_ends_with("nx", ".onnx"));
}
END_TEST

static const struct {
    const char *text;
    bool ok;
    long long value;
} int_cases[] = {
    {"0", true, 0},   {"-17", true, -17}, {"+5", true, 5},  {"9223372036854775807", true, INT64_MAX},
    {"-9223372036854775808", true, INT64_MIN}, {"9223372036854775808", false, 0}, {"", false, 0}, {" 1", false, 0},
    {"1 ", false, 0}, {"1x", false, 0},   {"0x10", false, 0}, {"-", false, 0}, {"1.0", false, 0},
};

START_TEST(integers_are_parsed_whole)
{
    long long x = 42;
    ck_assert_msg(str_to_int64(int_cases[_i].text, &x) == int_cases[_i].ok, "'%s'", int_cases[_i].text);
    ck_assert_int_eq(x, int_cases[_i].ok ? int_cases[_i].value : 42);
}
END_TEST

static const struct {
    const char *text;
    bool ok;
    double value;
} double_cases[] = {
    {"0.5", true, 0.5}, {"-1e-3", true, -1e-3}, {"1e308", true, 1e308}, {"1e309", false, 0}, {"-1e999", false, 0},
    {"1e-400", true, 0}, {"5e-324", true, 5e-324}, {"inf", true, 1.0 / 0.0}, {"1,5", false, 0}, {"", false, 0},
    {"\t1", false, 0},  {"1f", false, 0},       {".", false, 0},        {"3.", true, 3},
};

START_TEST(doubles_are_parsed_whole)
{
    double x = 42;
    ck_assert_msg(str_to_double(double_cases[_i].text, &x) == double_cases[_i].ok, "'%s'", double_cases[_i].text);
    ck_assert(x == (double_cases[_i].ok ? double_cases[_i].value : 42));
}
END_TEST

/* ---- diag -------------------------------------------------------------------------------------------------------- */

static const struct {
    struct loc at;
    const char *text, *expected;
} diag_cases[] = {
    {{.file = "mlp.onnx", .graph = "train", .node = "fc1", .op = "Gemm", .index = 12}, "input 1",
     "mlp.onnx: graph 'train', node 'fc1' (Gemm, #12): error: input 1\n"},
    {{.file = "bad.onnxtxt", .line = 7, .col = 20, .source_line = "    y = LeakyRelu <alpa = 0.3> (x)", .index = -1},
     "unknown attribute 'alpa' of LeakyRelu; did you mean 'alpha'?",
     "bad.onnxtxt:7:20: error: unknown attribute 'alpa' of LeakyRelu; did you mean 'alpha'?\n"
     "    y = LeakyRelu <alpa = 0.3> (x)\n"
     "                   ^\n"},
    {{.file = "m.onnx", .index = -1}, "truncated", "m.onnx: error: truncated\n"},
    {{.file = "m.onnx"}, "truncated", "m.onnx: error: truncated\n"},
    {{.file = "m.onnx", .line = 3, .index = -1}, "what", "m.onnx:3: error: what\n"},
    {{.index = -1}, "no memory", "stepc: error: no memory\n"},
    {{.file = "m.onnx", .graph = "g", .index = -1}, "is empty", "m.onnx: graph 'g': error: is empty\n"},
    {{.file = "m.onnx", .graph = "g", .node = "", .op = "Add", .index = 0}, "x",
     "m.onnx: graph 'g', node #0 (Add): error: x\n"},
    {{.file = "m.onnx", .node = "a", .index = 4}, "x", "m.onnx: node 'a' (#4): error: x\n"},
    {{.file = "m.onnx", .node = "a", .op = "Add", .index = -1, .origin = "gradient of node 'fc1'"}, "x",
     "m.onnx: node 'a' (Add), gradient of node 'fc1': error: x\n"},
    {{.file = "m.onnx", .node = "\033[31m\n", .index = -1}, "a\rb\xc2\x9b" "\xc3\xa9",
     "m.onnx: node '\\x1B[31m\\x0A': error: a\\x0Db\\xC2\\x9B\xc3\xa9\n"},
    {{.file = "t", .line = 1, .col = 5, .source_line = "\t\xc3\xa9\x01x\r\nnext", .index = -1}, "e",
     "t:1:5: error: e\n\t\xc3\xa9?x\n\t  ^\n"},
    {{.file = "t", .line = 1, .col = 9, .source_line = "x", .index = -1}, "e", "t:1:9: error: e\n"},
};

START_TEST(message_is_printed_as)
{
    ck_assert(!diag_error(&diag, &diag_cases[_i].at, "%s", diag_cases[_i].text));
    ck_assert_str_eq(printed(&diag), diag_cases[_i].expected);
}
END_TEST

START_TEST(long_source_line_is_cut_around_the_caret)
{
    char line[1001];
    memset(line, '.', 1000);
    line[1000] = '\0';
    line[500] = 'X';
    diag_error(&diag, &(struct loc){.file = "t", .line = 1, .col = 501, .source_line = line, .index = -1}, "e");
    const char *source = strchr(printed(&diag), '\n') + 1, *caret = strchr(source, '\n') + 1;
    ck_assert_int_lt(caret - source, 140);
    ck_assert_int_eq(strchr(caret, '^') - caret, strchr(source, 'X') - source);
}
END_TEST

START_TEST(repetitions_are_dropped_with_their_notes)
{
    for (int i = 0; i < 3; i++) {
        diag_error(&diag, NULL, "same %d", 1);
        diag_note(&diag, NULL, "because");
    }
    diag_warning(&diag, NULL, "same %d", 1);
    ck_assert_uint_eq(diag.errors, 1);
    ck_assert_uint_eq(diag.warnings, 1);
    ck_assert_str_eq(printed(&diag), "stepc: error: same 1\nstepc: note: because\nstepc: warning: same 1\n");
}
END_TEST

START_TEST(fifty_errors_are_printed_and_all_counted)
{
    for (int i = 0; i < 1000; i++) {
        diag_error(&diag, NULL, "number %d", i);
        diag_note(&diag, NULL, "note %d", i);
    }
    diag_warning(&diag, NULL, "still seen");
    ck_assert_uint_eq(diag.errors, 1000);
    const char *text = printed(&diag);
    ck_assert_ptr_nonnull(strstr(text, "number 49\nstepc: note: note 49\n"));
    ck_assert_ptr_null(strstr(text, "number 50\n"));
    ck_assert_ptr_null(strstr(text, "note 50\n"));
    ck_assert(str_ends_with(text, "stepc: warning: still seen\nstepc: 950 more errors\n"));
}
END_TEST

START_TEST(lenient_is_a_warning_unless_strict)
{
    ck_assert(diag_lenient(&diag, NULL, "a"));
    diag.strict = true;
    ck_assert(!diag_lenient(&diag, NULL, "b"));
    ck_assert_str_eq(printed(&diag), "stepc: warning: a\nstepc: error: b\n");
}
END_TEST

/* ---- file -------------------------------------------------------------------------------------------------------- */

static const char *folder; /* fresh for each test */

static void begin_file(void)
{
    begin();
    ck_assert(temp_directory(&diag, &arena, &folder));
}

static void end_file(void)
{
    temp_directory_remove(folder);
    ck_assert(!file_exists(folder));
    end();
}

static const char *in_folder(const char *name)
{
    return path_join(&arena, folder, name);
}

static void write_text(const char *path, const char *text)
{
    ck_assert_msg(file_write(&diag, path, text, strlen(text)), "%s", printed(&diag));
}

static const char *read_text(const char *path)
{
    unsigned char *bytes;
    size_t size;
    ck_assert_msg(file_read(&diag, &arena, path, 1000, &bytes, &size), "%s", printed(&diag));
    ck_assert_uint_eq(strlen((char *)bytes), size);
    return (char *)bytes;
}

START_TEST(written_is_read_and_replaced)
{
    const char *path = in_folder("a");
    write_text(path, "first");
    ck_assert_str_eq(read_text(path), "first");
    write_text(path, "");
    ck_assert_str_eq(read_text(path), "");
    write_text(path, "second");
    ck_assert_str_eq(read_text(path), "second");
    ck_assert(file_exists(path) && !file_is_directory(path) && file_is_directory(folder));
}
END_TEST

START_TEST(new_file_has_the_permissions_of_the_umask)
{
    struct stat st;
    const mode_t old = umask(027);
    write_text(in_folder("a"), "x");
    umask(old);
    ck_assert_int_eq(stat(in_folder("a"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0640);
}
END_TEST

START_TEST(same_content_leaves_the_file_untouched)
{
    struct stat before, same, other;
    write_text(in_folder("a"), "text");
    ck_assert_int_eq(stat(in_folder("a"), &before), 0);
    write_text(in_folder("a"), "text");
    ck_assert_int_eq(stat(in_folder("a"), &same), 0);
    write_text(in_folder("a"), "TEXT");
    ck_assert_int_eq(stat(in_folder("a"), &other), 0);
    ck_assert(before.st_ino == same.st_ino && before.st_mtim.tv_nsec == same.st_mtim.tv_nsec);
    ck_assert_str_eq(read_text(in_folder("a")), "TEXT");
}
END_TEST

START_TEST(symbolic_link_stays_a_link)
{
    struct stat st;
    write_text(in_folder("target"), "old");
    ck_assert_int_eq(symlink("target", in_folder("link")), 0);
    write_text(in_folder("link"), "new");
    ck_assert_str_eq(read_text(in_folder("target")), "new");
    ck_assert_int_eq(lstat(in_folder("link"), &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
}
END_TEST

START_TEST(device_is_written_to_and_not_replaced)
{
    struct stat st;
    write_text("/dev/null", "x");
    ck_assert_int_eq(stat("/dev/null", &st), 0);
    ck_assert(S_ISCHR(st.st_mode));
}
END_TEST

START_TEST(writing_fails_with_a_reason)
{
    const char *missing = in_folder("no/file"), *file = in_folder("file"), *below = in_folder("file/below"),
               *deep = in_folder("file/below/it"), *link = in_folder("link");
    write_text(file, "x");
    ck_assert_int_eq(symlink("gone/file", link), 0);
    ck_assert(!file_write(&diag, folder, "x", 1));
    ck_assert(!file_write(&diag, missing, "x", 1));
    ck_assert(!file_write(&diag, below, "x", 1));
    ck_assert(!file_write(&diag, deep, "x", 1));
    ck_assert(!file_write(&diag, link, "x", 1));
    ck_assert_str_eq(printed(&diag),
                     arena_printf(&arena,
                                  "%s: error: is a directory, expected the name of a file to write\n"
                                  "%s: error: its folder '%s' does not exist\n"
                                  "%s: error: '%s' is a file, expected a folder\n"
                                  "%s: error: its folder '%s' does not exist\n"
                                  "%s: error: its folder '%s' does not exist\n",
                                  folder, missing, in_folder("no"), below, file, deep, below, link,
                                  in_folder("gone")));
}
END_TEST

START_TEST(scratch_file_is_new_or_fails_with_a_reason)
{
    const char *path = in_folder("a");
    ck_assert(file_write_scratch(&diag, path, put_text, "text"));
    ck_assert_str_eq(read_text(path), "text");
    ck_assert(!file_write_scratch(&diag, path, put_text, "other"));
    ck_assert_str_eq(read_text(path), "text");
    ck_assert(!file_write_scratch(&diag, in_folder("no/file"), put_text, "x"));
    ck_assert_str_eq(printed(&diag), arena_printf(&arena, "%s: error: cannot write: %s\n%s: error: cannot write: %s\n",
                                                  path, strerror(EEXIST), in_folder("no/file"), strerror(ENOENT)));
}
END_TEST

START_TEST(reading_fails_with_a_reason)
{
    unsigned char *bytes;
    size_t size;
    write_text(in_folder("a"), "12345");
    ck_assert(file_read(&diag, &arena, in_folder("a"), 5, &bytes, &size));
    ck_assert(!file_read(&diag, &arena, in_folder("a"), 4, &bytes, &size));
    ck_assert(!file_read(&diag, &arena, in_folder("b"), 4, &bytes, &size));
    ck_assert(!file_read(&diag, &arena, folder, 4, &bytes, &size));
    ck_assert(!file_read(&diag, &arena, "/dev/zero", 300000, &bytes, &size));
    ck_assert_str_eq(printed(&diag), arena_printf(&arena,
                                                  "%s/a: error: the file has 5 bytes, at most 4 can be read\n"
                                                  "%s/b: error: cannot open: No such file or directory\n"
                                                  "%s: error: cannot read: Is a directory\n"
                                                  "/dev/zero: error: the file has more than 300000 bytes\n",
                                                  folder, folder, folder));
}
END_TEST

START_TEST(pipe_is_read_to_its_end)
{
    unsigned char *bytes;
    size_t size;
    char block[50000];
    const char *const path = in_folder("pipe");
    memset(block, 'p', sizeof block);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    const pid_t writer = fork();
    if (writer == 0) {
        const int end = open(path, O_WRONLY);
        _exit(write(end, block, sizeof block) != sizeof block);
    }
    ck_assert(file_read(&diag, &arena, path, 1 << 20, &bytes, &size));
    ck_assert_uint_eq(size, sizeof block);
    ck_assert_int_eq(memcmp(bytes, block, size), 0);
    ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
}
END_TEST

static const struct {
    uint64_t offset;
    size_t size;
    const char *expected; /* NULL: refused */
} part_cases[] = {{0, 6, "abcdef"}, {2, 3, "cde"}, {6, 0, ""}, {6, 1, NULL}, {7, 0, NULL}, {1, SIZE_MAX, NULL},
                  {UINT64_MAX, 1, NULL}, {UINT64_MAX - 1, 6, NULL}, {0, (size_t)1 << 62, NULL}};

START_TEST(part_of_a_file_is_checked_against_its_size)
{
    unsigned char *bytes;
    write_text(in_folder("a"), "abcdef");
    const bool ok = file_read_at(&diag, &arena, NULL, in_folder("a"), part_cases[_i].offset,
                                 part_cases[_i].size, &bytes);
    ck_assert(ok == (part_cases[_i].expected != NULL));
    if (ok)
        ck_assert_int_eq(memcmp(bytes, part_cases[_i].expected, part_cases[_i].size), 0);
    else
        ck_assert_ptr_nonnull(strstr(printed(&diag), "has 6 bytes, expected at least"));
}
END_TEST

START_TEST(fifo_is_refused_without_waiting)
{
    unsigned char *bytes;
    ck_assert_int_eq(mkfifo(in_folder("f"), 0600), 0);
    ck_assert(!file_read_at(&diag, &arena, NULL, in_folder("f"), 0, 1, &bytes));
    ck_assert_ptr_nonnull(strstr(printed(&diag), "not a regular file"));
    struct stream *const s = arena_new(&arena, struct stream);
    ck_assert(!stream_open(s, in_folder("f")));
    ck_assert(!stream_open(s, in_folder(".")));
    ck_assert(!stream_open(s, in_folder("missing")));
}
END_TEST

static const struct {
    const char *path, *directory, *base, *stem;
} path_cases[] = {
    {"a/b.onnx", "a", "b.onnx", "b"}, {"b.onnx", ".", "b.onnx", "b"},   {"/b", "/", "b", "b"},
    {"a/b/", "a", "b", "b"},          {"x.tar.gz", ".", "x.tar.gz", "x.tar"}, {"d/.rc", "d", ".rc", ".rc"},
    {"a//b", "a", "b", "b"},          {"", ".", "", ""},               {"../m.d/n", "../m.d", "n", "n"},
};

START_TEST(path_has_parts)
{
    ck_assert_str_eq(path_directory(&arena, path_cases[_i].path), path_cases[_i].directory);
    ck_assert_str_eq(path_base(&arena, path_cases[_i].path), path_cases[_i].base);
    ck_assert_str_eq(path_stem(&arena, path_cases[_i].path), path_cases[_i].stem);
}
END_TEST

START_TEST(paths_are_joined)
{
    ck_assert_str_eq(path_join(&arena, "a", "b"), "a/b");
    ck_assert_str_eq(path_join(&arena, "/", "b"), "/b");
    ck_assert_str_eq(path_join(&arena, ".", "b"), "b");
    ck_assert_str_eq(path_join(&arena, "a", "/b"), "/b");
}
END_TEST

/* ---- hash -------------------------------------------------------------------------------------------------------- */

/* FIPS 180-4 examples, and others by coreutils' sha256sum. */
static const struct {
    const char *text;
    int times;
    const char *hex;
} hash_cases[] = {
    {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    {"a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
    {"a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
    {"a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
};

START_TEST(sha256_of_known_texts)
{
    const int which = _i;
    struct strbuf b = {.arena = &arena};
    struct sha256 s;
    unsigned char digest[32];
    char hex[65];
    sha256_begin(&s);
    for (int i = 0; i < hash_cases[which].times; i++) {
        strbuf_add(&b, hash_cases[which].text);
        sha256_add(&s, hash_cases[which].text, strlen(hash_cases[which].text));
    }
    sha256_end(&s, digest);
    sha256_hex(b.text, b.length, hex);
    ck_assert_str_eq(hex, hash_cases[which].hex);
    for (int i = 0; i < 32; i++) {
        unsigned int byte;
        ck_assert_int_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
        ck_assert_uint_eq(digest[i], byte);
    }
}
END_TEST

START_TEST(hash_tells_contents_and_lengths_apart)
{
    unsigned char bytes[64] = {0};
    uint64_t seen[1 + 2 * sizeof bytes];
    size_t count = 0;
    for (size_t n = 0; n <= sizeof bytes; n++)
        seen[count++] = hash_bytes(bytes, n);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = 0x80;
        seen[count++] = hash_bytes(bytes, sizeof bytes);
        bytes[i] = 0;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert(seen[i] != seen[j]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *memory = tcase_create("memory");
    tcase_add_checked_fixture(memory, begin, end);
    tcase_add_loop_test(memory, arena_gives_aligned_zeroed_separate_memory, 0, COUNT(arena_cases));
    tcase_add_test(memory, arena_counts_bytes_and_can_be_used_again);
    tcase_add_exit_test(memory, arena_ends_the_process_when_the_product_overflows, 1);
    tcase_add_test(memory, vec_keeps_order_over_growth_and_removal);
    tcase_add_test(memory, checked_arithmetic_notices_overflow);
    tcase_add_test(memory, map_finds_everything_and_iterates_in_order);
    tcase_add_loop_test(memory, sha256_of_known_texts, 0, COUNT(hash_cases));
    tcase_add_test(memory, hash_tells_contents_and_lengths_apart);
    suite_add_tcase(suite, memory);

    TCase *text = tcase_create("text");
    tcase_add_checked_fixture(text, begin, end);
    tcase_add_test(text, text_is_formatted_as_by_printf);
    tcase_add_test(text, strbuf_grows);
    tcase_add_test(text, text_for_people_is_clean);
    tcase_add_test(text, all_characters_are_judged);
    tcase_add_loop_test(text, glob_matches, 0, COUNT(glob_cases));
    tcase_add_loop_test(text, distance_is_levenshtein, 0, COUNT(distance_cases));
    tcase_add_test(text, distances_are_those_of_the_table);
    tcase_add_test(text, closest_is_near_or_nothing);
    tcase_add_test(text, prefixes_suffixes_and_equality);
    tcase_add_loop_test(text, integers_are_parsed_whole, 0, COUNT(int_cases));
    tcase_add_loop_test(text, doubles_are_parsed_whole, 0, COUNT(double_cases));
    tcase_add_loop_test(text, path_has_parts, 0, COUNT(path_cases));
    tcase_add_test(text, paths_are_joined);
    suite_add_tcase(suite, text);

    TCase *messages = tcase_create("diag");
    tcase_add_checked_fixture(messages, begin, end);
    tcase_add_loop_test(messages, message_is_printed_as, 0, COUNT(diag_cases));
    tcase_add_test(messages, long_source_line_is_cut_around_the_caret);
    tcase_add_test(messages, repetitions_are_dropped_with_their_notes);
    tcase_add_test(messages, fifty_errors_are_printed_and_all_counted);
    tcase_add_test(messages, lenient_is_a_warning_unless_strict);
    suite_add_tcase(suite, messages);

    TCase *files = tcase_create("file");
    tcase_add_checked_fixture(files, begin_file, end_file);
    tcase_add_test(files, written_is_read_and_replaced);
    tcase_add_test(files, new_file_has_the_permissions_of_the_umask);
    tcase_add_test(files, same_content_leaves_the_file_untouched);
    tcase_add_test(files, symbolic_link_stays_a_link);
    tcase_add_test(files, device_is_written_to_and_not_replaced);
    tcase_add_test(files, writing_fails_with_a_reason);
    tcase_add_test(files, scratch_file_is_new_or_fails_with_a_reason);
    tcase_add_test(files, reading_fails_with_a_reason);
    tcase_add_test(files, pipe_is_read_to_its_end);
    tcase_add_loop_test(files, part_of_a_file_is_checked_against_its_size, 0, COUNT(part_cases));
    tcase_add_test(files, fifo_is_refused_without_waiting);
    suite_add_tcase(suite, files);

    return run_suite(suite);
}
