/* A loop nest while it is built: its loops (kernel_nest.c), what they compute (kernel_loops.c), sums in blocks
 * (kernel_blocks.c). */
#ifndef STEPC_EMIT_KERNEL_NEST_H
#define STEPC_EMIT_KERNEL_NEST_H

#include "emit/emit_internal.h"

#define TOGETHER 2 /* sums that share one walk */

/* Sums in blocks (part.in_blocks). All members are NULL where a sum has one block. */
struct nest_blocks {
    const struct tree_var *totals[TOGETHER]; /* of the blocks that are done, like the nest's lanes */
    const struct expr *width;                /* accumulators of each */
    int64_t rows;                            /* so many rows are a block, and have one loop; 0: as the others say */
    const struct expr *most;                 /* after so many rows, or terms, a block is done */
    struct tree_var *held;                   /* so many of them it has; NULL: each row ends one, or loops tell */
    const struct expr *row;                  /* elements of a row that has several blocks by itself */
};

struct nest {
    struct expr_scope *s;
    struct tree_builder *b;
    struct arena *a;
    const struct part *p;
    const struct part *walkers[TOGETHER];    /* p and what is summed along with it */
    const struct tree_var *lanes[TOGETHER];  /* where */
    int walker_count;
    const struct expr *base, *width; /* outputs side by side: where their block begins, how many there are in it */
    const char *type;      /* of loop variables */
    int rows;              /* loops around the nest */
    int open;
    struct nest_blocks blocks;
};

/* The share that the next loop is cut by: the outermost one over outputs is; NULL: it is not cut. */
const struct tree_var *nest_share(const struct nest *n);
/* Opens a loop over `count` blocks of so many iterations, those that a share has; `to` is where all of them end. */
const struct expr *nest_open_shared_loop(struct tree_builder *b, const struct tree_var *v, int64_t count,
                                         int64_t block, const struct expr *to, const struct tree_var *share,
                                         int shares, enum loop_kind kind);
/* Opens a loop over dim d; a loop of one iteration is only the index 0. */
void nest_open_loop(struct nest *n, int d);
void nest_open_loop_of(struct nest *n, int d, enum loop_kind kind);
/* Those of [from, to) that are reduced, or kept; but for loop `apart`. */
void nest_open_loops(struct nest *n, int from, int to, bool reduced, int apart);
/* Closes loops until so many are open. */
void nest_close_to(struct nest *n, int open);
/* Opens for (int l = 0; l < to; l++); returns l. */
const struct expr *nest_open_lane_loop(struct nest *n, int64_t width, const struct expr *to, enum loop_kind kind);
/* Declares an accumulator like `lanes`, which starts as it does. */
const struct tree_var *nest_declare_total(struct nest *n, const struct tree_var *lanes);

/* Is the sum along the loops from `tail` on (and the reduced ones in front of them) made in several blocks? Along outer
 * loops alone? For some count of the program's range, where it depends on one. */
bool blocks_of_rows(const struct nest *n, int tail);
bool blocks_of_columns(const struct nest *n);
/* Behind the declaration of the accumulators, which have so many elements: declares what blocks need. */
void blocks_begin_rows(struct nest *n, int tail, const struct expr *width);
void blocks_begin_columns(struct nest *n, const struct expr *width);
/* In front of the loops of a row that is not one loop: its elements are counted. */
void blocks_begin_numbers(struct nest *n);
/* The block at hand is done: it joins the totals. */
void blocks_end_one(struct nest *n, bool is_last);
/* Declares where the block that begins at `from` ends; all: of the blocks, at most `most`. */
const struct expr *blocks_end(struct nest *n, const struct expr *from, const struct expr *all, int64_t most,
                              int64_t block);
/* Opens the loop over the blocks of a row of up to `most` elements; returns where one begins. Behind its elements:
 * closes it; the block joins the totals, but for the last one, of which a rest may follow. */
const struct expr *blocks_open_row(struct nest *n, int64_t most);
void blocks_close_row(struct nest *n, const struct expr *from);
/* Opens a loop over the blocks of the only loop of [from, to) that is summed over, one over those of a block. Behind
 * its terms: closes both; each block joins the totals. */
void blocks_open(struct nest *n, int from, int to, int64_t block);
void blocks_close(struct nest *n);
/* Behind a row, in front of a term: so many of them may be a block. */
void blocks_count_row(struct nest *n);
void blocks_count_term(struct nest *n);

#endif
