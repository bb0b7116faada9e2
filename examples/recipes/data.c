/* usage: data digits DIGITS.CSV | data marks | words | pictures | names | persons
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

/* ---- persons: in front of boxes and ellipses stands somebody, or nobody: a head, a body, two legs ---------------- */

enum { VIEWS = 1280, VIEWS_TRAIN = 1024, WIDTH = 96 };
static uint8_t view[VIEWS][3][WIDTH][WIDTH];
static int64_t person[VIEWS];

struct paint {
    int colour[3];
};

/* Each channel within `range` from what stands there and `least` more, in a circle of 192. */
static struct paint mix(const struct paint *behind, int least, int range)
{
    struct paint p;
    for (int c = 0; c < 3; c++)
        p.colour[c] = (behind->colour[c] + least + draw(range)) % 192;
    return p;
}

struct area {
    int left, top, width, height;
};

/* round: only what lies within the ellipse. */
static void fill(int i, struct area a, int round, const struct paint *p)
{
    for (int y = 0; y < a.height; y++)
        for (int x = 0; x < a.width; x++) {
            const int across = (2 * x + 1 - a.width) * a.height, down = (2 * y + 1 - a.height) * a.width,
                      edge = a.width * a.height;
            if (a.top + y >= 0 && a.top + y < WIDTH && a.left + x >= 0 && a.left + x < WIDTH &&
                (!round || across * across + down * down <= edge * edge))
                for (int c = 0; c < 3; c++)
                    view[i][c][a.top + y][a.left + x] = (uint8_t)p->colour[c];
        }
}

/* Of height 7 r. */
static void figure(int i, const struct paint *behind)
{
    const int r = 8 + draw(4), left = r + draw(WIDTH - 4 * r), top = draw(WIDTH - 7 * r);
    const struct paint head = mix(behind, 48, 96), body = mix(behind, 48, 96), legs = mix(behind, 48, 96);
    fill(i, (struct area){left, top, 2 * r, 2 * r}, 1, &head);
    fill(i, (struct area){left - r / 2, top + 2 * r, 3 * r, 3 * r}, 0, &body);
    fill(i, (struct area){left - r / 2, top + 5 * r, r, 2 * r}, 0, &legs);
    fill(i, (struct area){left + 3 * r / 2, top + 5 * r, r, 2 * r}, 0, &legs);
}

static void scene(int i)
{
    const int grey = draw(160);
    const struct paint even = {{grey, grey, grey}}, behind = mix(&even, 0, 32);
    fill(i, (struct area){0, 0, WIDTH, WIDTH}, 0, &behind);
    for (int k = 0; k < 3; k++) {
        const struct paint p = mix(&behind, 48, 96);
        const int left = draw(WIDTH) - 8, top = draw(WIDTH) - 8, width = 8 + draw(24), height = 8 + draw(24);
        fill(i, (struct area){left, top, width, height}, draw(2), &p);
    }
    person[i] = draw(2);
    if (person[i])
        figure(i, &behind);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < WIDTH; y++)
            for (int x = 0; x < WIDTH; x++)
                view[i][c][y][x] = (uint8_t)(view[i][c][y][x] + draw(32));
}

static int persons(void)
{
    for (int i = 0; i < VIEWS; i++)
        scene(i);
    write_npy("view.npy", "|u1", "1024, 3, 96, 96", view, VIEWS_TRAIN * sizeof *view);
    write_npy("person.npy", "<i8", "1024,", person, VIEWS_TRAIN * sizeof *person);
    write_npy("test_view.npy", "|u1", "256, 3, 96, 96", view[VIEWS_TRAIN], (VIEWS - VIEWS_TRAIN) * sizeof *view);
    write_npy("test_person.npy", "<i8", "256,", person + VIEWS_TRAIN, (VIEWS - VIEWS_TRAIN) * sizeof *person);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*write)(void);
    } sets[] = {{"marks", marks}, {"words", words}, {"pictures", pictures}, {"names", names},
              {"persons", persons}};
    if (argc == 3 && strcmp(argv[1], "digits") == 0)
        return digits(argv[2]);
    for (size_t i = 0; argc == 2 && i < sizeof sets / sizeof *sets; i++)
        if (strcmp(argv[1], sets[i].name) == 0)
            return sets[i].write();
    fprintf(stderr, "usage: data digits DIGITS.CSV | data marks | words | pictures | names | persons\n");
    return 2;
}
