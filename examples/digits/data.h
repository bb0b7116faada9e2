/* The data set: 8x8 images of digits, shuffled once and split. */
#ifndef DIGITS_EXAMPLE_DATA_H
#define DIGITS_EXAMPLE_DATA_H

#include <stdbool.h>
#include <stdint.h>

enum { PIXELS = 64, IMAGES_MAX = 2000 };

typedef struct image {
    float pixel[PIXELS]; /* 0 .. 1 */
    int64_t digit;
} image;

/* Reads lines of 64 grey values and the digit. Returns the number of images; 0 after a message to stderr. */
int read_images(const char *path, image images[IMAGES_MAX]);

/* A random order that depends on *state only (Fisher and Yates; xorshift64*). *state must not be 0. */
void shuffle(image *images, int count, uint64_t *state);

#endif
