/* The C text of a program: a header and a source file, the same bytes for the same input. */
#ifndef STEPC_EMIT_EMIT_H
#define STEPC_EMIT_EMIT_H

#include "base/file.h"
#include "lower/targets.h"
#include "plan/plan.h"

/* Where large constants and initial values stand. */
enum emit_weights {
    WEIGHTS_EMBED, /* in the C text */
    WEIGHTS_FILE,  /* in a file that the program hands to the entries that need it */
    WEIGHTS_INCBIN, /* in a file that the assembler puts into the object */
    WEIGHTS_AUTO    /* in the C text, unless a C compiler would take very long over it: then in a file */
};

/* The content of STEM.weights, made out of the model's tensors as it is written. */
enum { WEIGHTS_MARK_BYTES = 64 };
struct weights_piece {
    const struct tensor *tensor;
    size_t gap;      /* zeros before it */
    bool by_columns; /* a matrix, column by column */
};
struct weights_image {
    unsigned char mark[WEIGHTS_MARK_BYTES];
    VEC(struct weights_piece) pieces;
    size_t bytes; /* together */
};

enum { SIMD_AUTO = 0, SIMD_NONE = 1 };
/* Levels of x86 above what the C compiler's options say (runtime/kernels/stepc_levels.h). */
enum { LEVEL_3 = 1u << 3, LEVEL_4 = 1u << 4 };

struct emit_options {
    const char *name;         /* C prefix of everything: "digits" */
    const char *file_stem;    /* of the files to be written ("digits" for digits.c and digits.h); NULL: as name */
    const char *model_file;   /* base name, for the header comment */
    const char *options_text; /* the options that change the output, as typed; "" if none */
    const char *devices_text; /* which device computes what, a line; NULL: the program is for one */
    bool reproducible;        /* contraction off, self-test in init() */
    /* steps are lowered so: without infinities in the compiler's mind that would mean nothing */
    bool check_finite;
    bool standalone;          /* the files bring the runtime along */
    bool trace;               /* STEPC_TRACE() stands in front of each kernel */
    enum emit_weights weights;
    const struct target *target; /* the machine that it is for; NULL: any */
    /* lanes of a vector of floats: 4, 8, 16; SIMD_AUTO: as the target has, SIMD_NONE: the scalar form only */
    int simd;
    unsigned levels;          /* LEVEL_3 | LEVEL_4: the text is compiled for these, too (--dispatch) */
    bool small;               /* long elementary functions are not inlined */
    bool lists_trees;         /* struct emitted has them */
    bool without_data;        /* the contents of constants are left out: for who wants sizes and names only */
};

/* Who it is that computes with 64 bits: "computes in double". */
struct double_user {
    struct loc at;
    const char *what;
};

struct emitted {
    const char *header, *source;
    const char *trees; /* the functions of the source as trees, those that are called first: tree_print(); or NULL */
    size_t state_bytes, arena_bytes;
    const struct weights_image *weights; /* NULL: nothing is large, or it stands in the text */
    bool weights_unasked; /* WEIGHTS_AUTO has decided for the file */
    const char *weights_path_macro; /* WEIGHTS_INCBIN: where the C text finds the file */
    size_t constant_bytes; /* of all const arrays, but not of the weights file; what init() restores is among them */
    size_t largest_constant;               /* bytes of one array */
    const struct double_user *double_user; /* the first; NULL: nobody */
    /* [entry][kernel]: the function that is called, "memcpy" for a copy; NULL where the entry has no such call,
     * because the kernel copies an output that is written in place. */
    const char ***calls;
};

/* Does an entry other than init draw? Then the state carries a seed and the counters of random numbers, */
bool program_draws(const struct program *p);
/* What its state takes. */
size_t program_state_bytes(const struct program *p);
/* of which counter i is called so: "random_counter". */
const char *counter_name(struct arena *a, const struct program *p, size_t i);
/* The content of a weights_image, in order, for file_write_from(). */
bool weights_image_put(const void *image, byte_sink sink, void *to);

/* plans[i] belongs to program->entries[i]. */
bool emit_program(struct diag *d, struct arena *a, const struct program *p, struct plan *const *plans,
                  const struct emit_options *o, struct emitted *out) MUST_USE;

#endif
