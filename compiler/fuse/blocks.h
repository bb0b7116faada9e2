/* Groups of kernels that share blocks of rows: what blocks.c finds and blocks_kernel.c makes one kernel of. Included
 * by these two. */
#ifndef STEPC_FUSE_BLOCKS_H
#define STEPC_FUSE_BLOCKS_H

#include "fuse/fuse_internal.h"

enum { APART_MOST = 8 };

enum block_role {
    BY_ROWS, /* a product of which a block has some rows of the result */
    SUMS,    /* a product of which a block has some terms of every sum */
    LOOPS    /* loops over each row for itself */
};

struct member {
    struct kernel *k;
    enum block_role role;
    struct part *parts; /* private copy; LOOPS: with leading loops as the group has them */
    size_t part_count;
};

/* A matrix in memory between members. */
struct matrix {
    struct buffer *from;
    struct access at;     /* over the outer loops, rows and columns */
    int64_t columns;
    struct buffer *block; /* what takes its place */
    int64_t step;         /* from row to row there */
};

struct block_group {
    struct fusion *f;
    int outer;
    int64_t extent[SHAPE_MAX_RANK]; /* of the outer loops, then the rows */
    int64_t block;
    const struct kernel *apart[APART_MOST];  /* readers that have a group of their own, which computes the same again */
    int apart_count;
    VEC(struct member) members;
    VEC(struct matrix) matrices;
};

/* ---- what it weighs ---------------------------------------------------------------------------------------------- */

/* Rows of a block, of so many: blocks of equal size, whole tiles. */
int64_t blocks_rows(int64_t rows);
/* Is a matrix of so many bytes rather computed again than kept? */
bool blocks_are_worth_again(const struct target *t, int64_t bytes);
/* Elements from row to row of a block. */
int64_t blocks_row_step(const struct target *t, int64_t columns, enum dtype type);

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* Rows of each matrix. */
int64_t group_rows(const struct block_group *g);
/* The group's matrix in that memory, or NULL. */
struct matrix *group_matrix(const struct block_group *g, const struct buffer *b);
/* Is what a member of loops writes there for one row alone (fuse/rows.c)? */
bool group_of_row(const struct block_group *g, const struct access *to);
/* The kernel of all members, in their order, that takes the place of one. */
struct kernel *group_kernel(struct block_group *g, const struct kernel *place);

#endif
