/* Errors, warnings and notes: collected while the compiler works, printed by the command that called it. */
#ifndef STEPC_BASE_DIAG_H
#define STEPC_BASE_DIAG_H

#include "base/arena.h"
#include "base/vec.h"
#include <stdbool.h>
#include <stdio.h>

/* A place in the user's model, as precise as the reader knew it. Unknown parts are NULL, 0 or (index) -1. */
struct loc {
    const char *file;              /* as the user typed it */
    int line, col;                 /* 1-based; 0 when the file is binary */
    const char *source_line;       /* text of that line for the caret, or NULL */
    const char *graph, *node, *op; /* names; node may be empty */
    int index;                     /* position of the node in its graph: nameless nodes need it; -1: not a node */
    const char *origin;            /* for made nodes: "gradient of node 'fc1'", or NULL */
    const char *trace, *scopes;    /* where the user wrote the node (base/traceback.h), or NULL */
};

#define LOC_FILE(f) ((struct loc){.file = (f), .index = -1})

enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE };

struct diag_message {
    enum diag_severity severity;
    bool unsupported; /* an error that is ours: the model may be right */
    struct loc loc;
    const char *text;
};

#define DIAG_MAX_PRINTED 50

/* A zeroed diag with .arena set is empty. */
struct diag {
    struct arena *arena;
    VEC(struct diag_message) messages;
    size_t errors, warnings;
    bool wrong_usage; /* diag_usage() was called */
    bool strict; /* warnings marked strict-able (diag_lenient) become errors */
    bool skip_notes; /* internal: the last message was not kept, its notes are not either */
};

/* Records an error and returns false, so that `return diag_error(...)` reports and fails. `at` may be NULL. The parts
 * of *at are kept by pointer: they live as long as the diag. Exact repetitions of an earlier message are dropped. */
bool diag_error(struct diag *d, const struct loc *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same for what a right model may have and stepc does not support. */
bool diag_unsupported(struct diag *d, const struct loc *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same for what is wrong with the command line itself, whatever the files hold. */
bool diag_usage(struct diag *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool diag_errorv(struct diag *d, const struct loc *at, const char *fmt, va_list args) PRINTF_LIKE(3, 0);
/* Records a warning; returns true. */
bool diag_warning(struct diag *d, const struct loc *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A warning, or under d->strict an error: returns !d->strict. */
bool diag_lenient(struct diag *d, const struct loc *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A remark that belongs to the message before it, or stands alone. */
void diag_note(struct diag *d, const struct loc *at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The text of the first error, or NULL. */
const char *diag_first_error(const struct diag *d);

/* Prints all messages, one a line (caret lines after it where the source line is known), at most
 * DIAG_MAX_PRINTED errors:
 *   mlp.onnx: graph 'train', node 'fc1' (Gemm, #12): error: input 1 ...
 *   bad.onnxtxt:7:20: error: ...
 * Below an error or warning about a node stands where the user wrote it, if the file says so:
 *       written at model.py:41: x = x[mask]
 * Control characters in names are printed as \xNN. */
void diag_print(const struct diag *d, FILE *to);

#endif
