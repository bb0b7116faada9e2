/* The user's C compiler as a program that is run: without a shell, its messages read. */
#ifndef STEPC_ENGINE_C_COMPILER_H
#define STEPC_ENGINE_C_COMPILER_H

#include "base/diag.h"

typedef VEC(const char *) c_arguments;

/* "gcc -O3 -march=native" in words: `cc`, or if that is NULL $CC, or "cc". An error if there is no word. */
bool c_compiler_words(struct diag *d, struct arena *a, const char *cc, c_arguments *out) MUST_USE;
/* Runs words[0] on `what` ("the generated code"). If it fails, that is an error with the first line that has "error" in
 * it, or the first at all. Messages go through a file in `dir`. */
bool c_compiler_run(struct diag *d, struct arena *a, const c_arguments *words, const char *dir,
                    const char *what) MUST_USE;

#endif
