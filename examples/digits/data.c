#include "data.h"

#include <stdio.h>

static bool read_image(FILE *file, image *to)
{
    int value;
    for (int i = 0; i < PIXELS; i++) {
        if (fscanf(file, "%d,", &value) != 1 || value < 0 || value > 16)
            return false;
        to->pixel[i] = (float)value / 16.0f;
    }
    if (fscanf(file, "%d ", &value) != 1 || value < 0 || value > 9)
        return false;
    to->digit = value;
    return true;
}

int read_images(const char *path, image images[IMAGES_MAX])
{
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return 0;
    }
    int count = 0;
    while (count < IMAGES_MAX && !feof(file) && read_image(file, &images[count]))
        count++;
    const bool whole = feof(file) && count > 0;
    fclose(file);
    if (!whole)
        fprintf(stderr, "%s:%d: expected 64 numbers from 0 to 16 and a digit, on at most %d lines\n", path, count + 1,
                IMAGES_MAX);
    return whole ? count : 0;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}

void shuffle(image *images, int count, uint64_t *state)
{
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)((next_random(state) >> 32) % (uint64_t)(i + 1));
        const image other = images[j];
        images[j] = images[i];
        images[i] = other;
    }
}
