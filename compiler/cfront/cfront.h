/* The only door to libclang: C source as declarations and tokens (for templates, at build time), and a check
 * of emitted C in memory. Source is parsed with headers of our own (stdint.h, stddef.h, string.h ...), so that results
 * depend neither on the machine's headers nor on clang's resource folder. */
#ifndef STEPC_CFRONT_CFRONT_H
#define STEPC_CFRONT_CFRONT_H

#include "base/diag.h"

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

enum cfront_kind { CFRONT_OTHER, CFRONT_FUNCTION, CFRONT_VARIABLE, CFRONT_TYPEDEF, CFRONT_ENUMERATOR };

/* A declaration. Offsets are bytes in the parsed file. What a macro expanded to lies where the macro's name (or
 * argument) is written. */
struct cfront_node {
    enum cfront_kind kind;
    const char *name;
    size_t at;              /* where the name stands */
    size_t begin, end;      /* without its semicolon */
    const char *annotation; /* of __attribute__((annotate("..."))), or NULL; an enumerator's is that of its enum */
    const char *type;       /* spelling: of a variable, of a function's result */
    bool is_definition, is_static, is_const;
};

enum cfront_token_kind { CFRONT_SYMBOL, CFRONT_IDENTIFIER, CFRONT_COMMENT };

struct cfront_token {
    enum cfront_token_kind kind;
    size_t begin, end;
};

/* A name in the file: of a function, variable, type or macro. */
struct cfront_use {
    const char *name;
    size_t at;
    const char *file; /* where it is declared; NULL: built in */
    bool is_macro;
};

struct cfront_source {
    const char *path; /* as given */
    const char *text;
    size_t size;
    VEC(struct cfront_node *) nodes; /* top-level declarations of this file, and behind an enum its enumerators */
    VEC(struct cfront_use) uses;
    struct cfront_token *tokens; /* the whole file, also under inactive #if */
    size_t token_count;
};

/* Parses a C99 file; include_dirs (NULL-terminated) are searched for "..." headers. Clang's errors and warnings (-Wall
 * -Wextra) become messages of `d`; false if there was an error. */
bool cfront_parse(struct diag *d, struct arena *a, const char *path, const char *const *include_dirs,
                  struct cfront_source *out) MUST_USE;

/* Does this path (of a name's file) name one of our stand-ins for the C library? */
bool cfront_is_system(const char *path);

/* A place in the file, for messages. */
struct loc cfront_loc(const struct cfront_source *s, size_t offset);

/* ---- checking emitted C ------------------------------------------------------------------------------------------ */

struct cfront_file {
    const char *name, *text;
};

/* Parses the C text for a target ("x86_64-linux-gnu", "arm-none-eabi", "riscv32-unknown-elf", "avr"; NULL: the host)
 * under the warnings that emitted code must not cause, plus `extra_flags` (NULL-terminated list, or NULL). Every
 * warning is an error of `d` that names the file as `name`. `others` are the headers that the text includes
 * ("stepc.h"). */
bool cfront_check(struct diag *d, const char *name, const char *text, const char *target,
                  const char *const *extra_flags, const struct cfront_file *others, size_t other_count) MUST_USE;

#endif
