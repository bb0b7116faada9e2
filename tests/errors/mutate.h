/* Damage for ONNX files: a function of the bytes and the seed. */
#ifndef STEPC_TESTS_MUTATE_H
#define STEPC_TESTS_MUTATE_H

#include "base/arena.h"
#include <stddef.h>
#include <stdint.h>

struct bytes {
    unsigned char *data;
    size_t size;
};

/* One to three changes, to the bytes or to the fields of the messages, lengths being right again.
 * *what names the last. */
struct bytes mutate(struct arena *a, struct bytes file, uint64_t seed, const char **what);

#endif
