/* The user's C compiler as a program that is run: without a shell, its messages read. */
#ifndef STEPC_ENGINE_C_COMPILER_H
#define STEPC_ENGINE_C_COMPILER_H

#include "emit/emit.h"

struct c_job {
    const struct emitted *text;
    const char *stem;         /* of its two files */
    const char *cc;           /* program and flags, "gcc -O3 -march=native"; NULL: $CC or "cc", with -O2 */
    const char *const *flags; /* more of them, NULL-terminated */
    bool for_this_machine;    /* without flags of the user's: with -march=native, if the compiler knows it */
    const char *what;         /* what messages call the text: "the emitted file" */
};

/* Writes the text and the runtime into a directory of temp_directory() and compiles to `out` there. If the compiler
 * fails, that is an error with the first line that has "error" in it, or the first at all. */
bool c_compile(struct diag *d, struct arena *a, const char *dir, const struct c_job *job, const char *out) MUST_USE;

#endif
