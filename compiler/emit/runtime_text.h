/* The runtime as text, made by the build from runtime/: generated code is compiled against it anywhere, and
 * --standalone puts it into the emitted files. */
#ifndef STEPC_EMIT_RUNTIME_TEXT_H
#define STEPC_EMIT_RUNTIME_TEXT_H

#include <stdbool.h>
#include <stddef.h>

extern const char runtime_stepc_h[], runtime_stepc_blas_h[];

/* A stretch of a file, and what is included behind it. */
struct runtime_piece {
    const char *text, *include; /* "stepc_registers.h"; NULL: the file ends here */
};

/* The headers that emitted kernels include: elementary functions, and those of runtime/kernels/; and stepc.c. */
struct runtime_file {
    const char *name; /* "kernels/stepc_tile.h" */
    bool repeats;     /* each #include of it counts: it is for elements of one type */
    const struct runtime_piece *pieces;
};

extern const struct runtime_file runtime_files[];
extern const size_t runtime_file_count;

/* As an #include names it, from beside it or from above: "kernels/stepc_tile.h", "stepc_tile.h". NULL if there is none:
 * of stepc.h and stepc_blas.h. */
const struct runtime_file *runtime_file_find(const char *name);

#endif
