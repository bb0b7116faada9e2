/* The only door to libclang: C source as a plain tree and tokens (for template extraction at build time), and a check
 * of emitted C in memory. Source is parsed with headers of our own (stdint.h, stddef.h, string.h ...), so that results
 * depend neither on the machine's headers nor on clang's resource folder. */
#ifndef STEPC_CFRONT_CFRONT_H
#define STEPC_CFRONT_CFRONT_H

#include "base/diag.h"

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

enum cfront_kind {
    CFRONT_OTHER,
    CFRONT_FUNCTION,
    CFRONT_PARAM,
    CFRONT_VARIABLE,
    CFRONT_FIELD, /* of a struct or union */
    CFRONT_TYPEDEF,
    CFRONT_ENUM,
    CFRONT_ENUMERATOR,
    CFRONT_REF,      /* a name in an expression */
    CFRONT_TYPE_REF, /* a typedef's name in a type */
    CFRONT_CALL,     /* children: callee, arguments */
    CFRONT_BLOCK,
    CFRONT_IF,
    CFRONT_FOR, /* children: first statement, condition, step, body; none for what is left out */
    CFRONT_CONDITIONAL, /* ?: */
    CFRONT_BINARY,
    CFRONT_PARENTHESES,
    CFRONT_CAST /* children: references of the type, operand */
};

/* Offsets are bytes in the parsed file. What a macro expanded to lies where the macro's name (or argument) is written.
 */
struct cfront_node {
    enum cfront_kind kind;
    const char *name;       /* declarations, references, calls of a named function; else "" */
    size_t at;              /* where the name stands (declarations, references) */
    size_t begin, end;      /* a statement's semicolon is not included */
    const char *annotation; /* of __attribute__((annotate("..."))), or NULL */
    const char *type;       /* spelling: of a parameter or variable, of a function's result */
    bool is_definition, is_static, is_const;
    /* References and calls: what is meant. */
    enum cfront_kind ref_kind;
    const char *ref_file;                /* NULL for builtins */
    const struct cfront_node *ref;       /* where it is declared in the parsed file; else NULL */
    size_t ref_at;
    struct cfront_node **children;
    size_t child_count;
};

enum cfront_token_kind {
    CFRONT_PUNCTUATION,
    CFRONT_KEYWORD,
    CFRONT_IDENTIFIER,
    CFRONT_NUMBER_OR_STRING,
    CFRONT_COMMENT
};

struct cfront_token {
    enum cfront_token_kind kind;
    size_t begin, end;
};

struct cfront_macro_use {
    const char *name;
    size_t at;
    const char *file; /* where it is defined; NULL: built in */
};

struct cfront_source {
    const char *path; /* as given */
    const char *text;
    size_t size;
    struct cfront_node **nodes; /* top-level declarations of this file */
    size_t node_count;
    struct cfront_token *tokens; /* the whole file, also under inactive #if */
    size_t token_count;
    struct cfront_macro_use *macros; /* expansions in this file, in order */
    size_t macro_count;
};

/* Parses a C99 file; include_dirs (NULL-terminated) are searched for "..." headers. Clang's errors and warnings (-Wall
 * -Wextra) become messages of `d`; false if there was an error. */
bool cfront_parse(struct diag *d, struct arena *a, const char *path, const char *const *include_dirs,
                  struct cfront_source *out) MUST_USE;

/* Does this path (of ref_file, macro file) name one of our stand-ins for the C library? */
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
