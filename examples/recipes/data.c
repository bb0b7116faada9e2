/* usage: data digits DIGITS.CSV | data marks | words | pictures | names
 * Writes the data of a recipe into the current folder, as .npy files: the same bytes everywhere, since all is computed
 * in integers and in fractions of powers of two. README.md says which recipe wants which. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers and files ------------------------------------------------------------------------------------ */

/* xorshift64*, Vigna (2016); below n, which is small: the slant of the remainder does not matter here. */
static uint64_t state = 0x9E3779B97F4A7C15;

static int draw(int n)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (int)((state * 0x2545F4914F6CDD1D >> 33) % (uint64_t)n);
}

/* An .npy file is 128 bytes that say what follows, then the numbers. shape: "96, 4", or "96," of one dimension. */
static void write_npy(const char *path, const char *type, const char *shape, const void *data, size_t bytes)
{
    char text[118], line[119];
    FILE *const f = fopen(path, "wb");
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    snprintf(line, sizeof line, "%-117s\n", text);
    if (f == NULL || fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, f) != 10 || fwrite(line, 1, 118, f) != 118 ||
        fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

/* ---- digits: 64 grey values from 0 to 1, and which digit it is; every fifth is kept for the test ----------------- */

enum { DIGITS = 1797, DIGITS_TEST = DIGITS / 5, DIGITS_TRAIN = DIGITS - DIGITS_TEST, PIXELS = 64 };
static float image[DIGITS][PIXELS]; /* those of the test at the end */
static int64_t digit[DIGITS];

static int digits(const char *path)
{
    FILE *const f = fopen(path, "r");
    if (f == NULL) {
        perror(path);
        return 1;
    }
    for (int i = 0; i < DIGITS; i++) {
        const int at = i % 5 == 4 ? DIGITS_TRAIN + i / 5 : i - i / 5;
        int x = 0;
        for (int p = 0; p < PIXELS; p++) {
            if (fscanf(f, "%d,", &x) != 1)
                return 1;
            image[at][p] = (float)x / 16;
        }
        if (fscanf(f, "%d", &x) != 1)
            return 1;
        digit[at] = x;
    }
    fclose(f);
    write_npy("image.npy", "<f4", "1438, 64", image, DIGITS_TRAIN * sizeof *image);
    write_npy("digit.npy", "<i8", "1438,", digit, DIGITS_TRAIN * sizeof *digit);
    write_npy("test_image.npy", "<f4", "359, 64", image[DIGITS_TRAIN], DIGITS_TEST * sizeof *image);
    write_npy("test_digit.npy", "<i8", "359,", digit + DIGITS_TRAIN, DIGITS_TEST * sizeof *digit);
    return 0;
}

/* ---- marks: sixteen symbols of four kinds; one of them is marked, and shall be remembered ------------------------ */

enum { SEQUENCES = 5120, SEQUENCES_TRAIN = 4096, LENGTH = 16, SYMBOLS = 4 };
static float sequence[SEQUENCES][LENGTH][SYMBOLS + 1];
static int64_t marked[SEQUENCES];

static int marks(void)
{
    for (int i = 0; i < SEQUENCES; i++) {
        const int place = draw(LENGTH);
        for (int t = 0; t < LENGTH; t++) {
            const int symbol = draw(SYMBOLS);
            sequence[i][t][symbol] = 1;
            if (t == place) {
                sequence[i][t][SYMBOLS] = 1;
                marked[i] = symbol;
            }
        }
    }
    write_npy("sequence.npy", "<f4", "4096, 16, 5", sequence, SEQUENCES_TRAIN * sizeof *sequence);
    write_npy("marked.npy", "<i8", "4096,", marked, SEQUENCES_TRAIN * sizeof *marked);
    write_npy("test_sequence.npy", "<f4", "1024, 16, 5", sequence[SEQUENCES_TRAIN],
              (SEQUENCES - SEQUENCES_TRAIN) * sizeof *sequence);
    write_npy("test_marked.npy", "<i8", "1024,", marked + SEQUENCES_TRAIN,
              (SEQUENCES - SEQUENCES_TRAIN) * sizeof *marked);
    return 0;
}

/* ---- words: spectrograms in which a tone goes up, down or stays, in three heights: twelve kinds, in noise -------- */

enum { WORDS = 1920, WORDS_TRAIN = 1536, FRAMES = 49, BANDS = 10, KINDS = 12 };
static float sound[WORDS][FRAMES][BANDS];
static int64_t word[WORDS];

/* In sixteenths of a band; the tone goes around at the ends. */
static int tone(int kind, int t)
{
    static const int slopes[KINDS / 3] = {-3, 0, 2, 5};
    const int place = 48 * (kind % 3) + slopes[kind / 3] * t;
    return ((place % (16 * BANDS)) + 16 * BANDS) % (16 * BANDS);
}

static int words(void)
{
    for (int i = 0; i < WORDS; i++) {
        const int kind = draw(KINDS), shift = draw(17) - 8, late = draw(9);
        word[i] = kind;
        for (int t = 0; t < FRAMES; t++)
            for (int b = 0; b < BANDS; b++) {
                const int away = abs(16 * b - tone(kind, t + late) - shift);
                sound[i][t][b] = (float)(draw(32) + (away < 32 ? 32 - away : 0)) / 32;
            }
    }
    write_npy("sound.npy", "<f4", "1536, 49, 10", sound, WORDS_TRAIN * sizeof *sound);
    write_npy("word.npy", "<i8", "1536,", word, WORDS_TRAIN * sizeof *word);
    write_npy("test_sound.npy", "<f4", "384, 49, 10", sound[WORDS_TRAIN], (WORDS - WORDS_TRAIN) * sizeof *sound);
    write_npy("test_word.npy", "<i8", "384,", word + WORDS_TRAIN, (WORDS - WORDS_TRAIN) * sizeof *word);
    return 0;
}

/* ---- pictures: stripes of ten directions and widths, in any colour and place, in noise --------------------------- */

enum { PICTURES = 800, PICTURES_TRAIN = 640, SIDE = 32, PATTERNS = 10 };
static float picture[PICTURES][3][SIDE][SIDE];
static int64_t pattern[PICTURES];

static int pictures(void)
{
    static const int across[PATTERNS] = {0, 4, 4, 4, 2, 0, 7, 7, 2, 5};
    static const int down[PATTERNS] = {4, 0, 4, -4, 4, 8, 0, 7, 2, -2};
    for (int i = 0; i < PICTURES; i++) {
        const int kind = draw(PATTERNS), place = draw(32);
        pattern[i] = kind;
        for (int c = 0; c < 3; c++) {
            const int colour = draw(3) - 1;
            for (int y = 0; y < SIDE; y++)
                for (int x = 0; x < SIDE; x++) {
                    const int wave = (x * across[kind] + y * down[kind] + place) & 31;
                    picture[i][c][y][x] = (float)((wave < 16 ? colour : -colour) * 16 + draw(32) - 16) / 32;
                }
        }
    }
    write_npy("picture.npy", "<f4", "640, 3, 32, 32", picture, PICTURES_TRAIN * sizeof *picture);
    write_npy("pattern.npy", "<i8", "640,", pattern, PICTURES_TRAIN * sizeof *pattern);
    write_npy("test_picture.npy", "<f4", "160, 3, 32, 32", picture[PICTURES_TRAIN],
              (PICTURES - PICTURES_TRAIN) * sizeof *picture);
    write_npy("test_pattern.npy", "<i8", "160,", pattern + PICTURES_TRAIN,
              (PICTURES - PICTURES_TRAIN) * sizeof *pattern);
    return 0;
}

/* ---- names: one to three syllables, an ending; letters 1 to 26, and 0 where a name begins and ends --------------- */

enum { NAMES = 2304, NAMES_TRAIN = 2048, PLACES = 12 };
static int64_t letters[NAMES][PLACES], next[NAMES][PLACES]; /* next: -1 behind the end, where nothing is asked */

static const char *one_of(const char *const *list, int count)
{
    return list[draw(count)];
}

static int names(void)
{
    static const char *const syllables[] = {"an", "bel", "ca", "dor", "el", "fi", "ga", "hel", "is", "jo", "ka", "li",
                                            "mar", "no", "ra", "sel", "ti", "va", "wen", "zo"};
    static const char *const endings[] = {"a", "o", "us", "ne", "ra", "dan", "ie", "th"};
    for (int i = 0; i < NAMES; i++) {
        char name[PLACES + 8] = "";
        const int count = 1 + draw(3);
        for (int k = 0; k < count; k++)
            strcat(name, one_of(syllables, sizeof syllables / sizeof *syllables));
        strcat(name, one_of(endings, sizeof endings / sizeof *endings));
        const int length = (int)strlen(name) < PLACES ? (int)strlen(name) : PLACES - 1;
        for (int k = 0; k < PLACES; k++) {
            letters[i][k] = k > 0 && k <= length ? name[k - 1] - 'a' + 1 : 0;
            next[i][k] = k < length ? name[k] - 'a' + 1 : k == length ? 0 : -1;
        }
    }
    write_npy("letters.npy", "<i8", "2048, 12", letters, NAMES_TRAIN * sizeof *letters);
    write_npy("next.npy", "<i8", "2048, 12", next, NAMES_TRAIN * sizeof *next);
    write_npy("test_letters.npy", "<i8", "256, 12", letters[NAMES_TRAIN], (NAMES - NAMES_TRAIN) * sizeof *letters);
    write_npy("test_next.npy", "<i8", "256, 12", next[NAMES_TRAIN], (NAMES - NAMES_TRAIN) * sizeof *next);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*write)(void);
    } sets[] = {{"marks", marks}, {"words", words}, {"pictures", pictures}, {"names", names}};
    if (argc == 3 && strcmp(argv[1], "digits") == 0)
        return digits(argv[2]);
    for (size_t i = 0; argc == 2 && i < sizeof sets / sizeof *sets; i++)
        if (strcmp(argv[1], sets[i].name) == 0)
            return sets[i].write();
    fprintf(stderr, "usage: data digits DIGITS.CSV | data marks | words | pictures | names\n");
    return 2;
}
