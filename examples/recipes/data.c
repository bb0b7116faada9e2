/* usage: data digits DIGITS.CSV | data marks
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

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "digits") == 0)
        return digits(argv[2]);
    if (argc == 2 && strcmp(argv[1], "marks") == 0)
        return marks();
    fprintf(stderr, "usage: data digits DIGITS.CSV | data marks\n");
    return 2;
}
