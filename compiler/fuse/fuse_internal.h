/* What the fusion rules share: who writes and reads each buffer, and where kernels stand. Included only in fuse/. */
#ifndef STEPC_FUSE_FUSE_INTERNAL_H
#define STEPC_FUSE_FUSE_INTERNAL_H

#include "lower/kernel.h"

typedef VEC(struct kernel *) kernel_list;

struct fuse_buffer {
    kernel_list writers, readers; /* living kernels, each once */
    bool checked; /* some check depends on it */
    bool kept;    /* some variable depends on it: it is computed whatever outputs are wanted */
};

/* What a kernel touches, as the tables have it. */
struct fuse_touched {
    buffer_list reads, writes;
};

struct fusion {
    struct lowered *l;
    struct arena *arena;
    struct fuse_buffer *buffers; /* by buffer id */
    size_t buffer_count;
    size_t kernel_ids;           /* so many numbers of kernels there are */
    int *position;               /* by kernel id: place in l->kernels */
    struct fuse_touched *touched; /* by kernel id: of those that are not forgotten */
};

struct fuse_buffer *fuse_buffer(const struct fusion *f, const struct buffer *b);
/* Brings the tables up to date around a kernel that is about to change, and after it has. */
void fuse_forget(struct fusion *f, struct kernel *k);
void fuse_remember(struct fusion *f, struct kernel *k);
/* The same after all loads of b became what the producer computes, without another walk through the expressions. */
void fuse_remember_inlined(struct fusion *f, struct kernel *k, const struct kernel *producer, const struct buffer *b);
void fuse_remove(struct fusion *f, struct kernel *k);
/* k stands in the place of `at` from now on (whose own place becomes k's old one: `at` is about to be removed). */
void fuse_take_place(struct fusion *f, struct kernel *k, struct kernel *at);

/* A loop nest that maps: one part, no reduction, no checks, not a template. */
bool fuse_is_map(const struct kernel *k);
bool fuse_reads(const struct fusion *f, const struct kernel *k, const struct buffer *b);
bool fuse_writes(const struct fusion *f, const struct kernel *k, const struct buffer *b);

/* Does it compute what some variable depends on? Else a caller that wants no outputs does without it. */
bool fuse_keeps(const struct fusion *f, const struct kernel *k);

/* c can run as late as p or p as early as... Where may a kernel made of p (earlier) and c (later) stand? At p's
 * place: all that c reads is written before p, and nobody between them reads what c overwrites. At c's place: nobody
 * between them reads what p writes or overwrites what p reads. Nowhere, too, if it would write the state before a
 * check that needs its results: an entry that fails leaves the state as it was. */
enum fuse_place { FUSE_NOWHERE, FUSE_AT_FIRST, FUSE_AT_SECOND };
enum fuse_place fuse_place(const struct fusion *f, const struct kernel *p, const struct kernel *c);

/* Is it a copy to an output of what nobody else reads, so that in the end all that write it can write the output? */
bool fuse_is_needless_copy(struct fusion *f, const struct kernel *copy);

/* Appends b's nodes to a's, keeping graph order, and joins the labels. */
void fuse_join_nodes(struct fusion *f, struct kernel *a, const struct kernel *b);

/* p has become both p and c (later): it stands at `place`, and c goes. */
void fuse_end(struct fusion *f, struct kernel *p, struct kernel *c, enum fuse_place place);

bool fuse_inline(struct fusion *f, struct kernel *producer);    /* producer into the loads of its readers */
/* ... and into operands that a template takes by elements */
bool fuse_inline_operands(struct fusion *f, struct kernel *producer);
/* a consumer into the producer's epilogue */
bool fuse_epilogue(struct fusion *f, struct kernel *producer);
/* c, a link in a chain of sums of what templates or reductions make, into the later one: partial gradients of a
 * weight that is used several times are added up one by one, where else all would wait for the last. */
bool fuse_accumulate(struct fusion *f, struct kernel *c);
bool fuse_siblings(struct fusion *f, struct kernel *k);         /* an equal template kernel with other results into k */
bool fuse_rows(struct fusion *f, struct kernel *k);             /* a reader that walks the same rows into k */
bool fuse_row_sums(struct fusion *f, struct kernel *product);   /* a sum over k of operand a into the product */
/* what changes the matrix of a product with a vector into the product */
bool fuse_update(struct fusion *f, struct kernel *product);
/* ... if the matrix is large enough */
bool fuse_update_is_worth(const struct target *t, int64_t rows, int64_t columns, enum dtype type);

/* When all is fused: what only one row of a kernel needs takes the memory of one row. */
void fuse_finish_rows(struct fusion *f, struct kernel *k);

/* Then: products and the loops between them share blocks of rows. The tables are stale afterwards. */
bool fuse_blocks(struct fusion *f, struct kernel *loops);

#endif
