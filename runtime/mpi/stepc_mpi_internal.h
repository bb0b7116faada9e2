/* SPDX-License-Identifier: 0BSD */
/* Shared by the files of runtime/mpi. */
#ifndef STEPC_MPI_INTERNAL_H
#define STEPC_MPI_INTERNAL_H

#include "stepc_mpi.h"

enum {
    ALIGNMENT = 64,      /* of shares and of what shards send; a multiple of every element's size */
    MOST_BYTES = 1 << 30 /* of a message: MPI counts with int */
};

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static inline unsigned char *place_of(void *state, const stepc_variable_info *x)
{
    return (unsigned char *)state + x->offset;
}

static inline const char *name_or(const char *name, const char *usual)
{
    return name != NULL ? name : usual;
}

static inline int keeps_statistics(const stepc_mpi *m)
{
    return m->options.statistics == STEPC_MPI_STATISTICS_OF_PART_0;
}

/* A group of all sums laid end to end, and how it is shared. */
struct stepc_mpi_group {
    size_t first, bytes;  /* among all sums */
    size_t share;         /* bytes of a share; of the last ones less */
    size_t own;           /* bytes of this rank's share ... */
    size_t stride;        /* the same, up to a multiple of ALIGNMENT */
    size_t total, leaves; /* ... and where it stands in `total` and `before`, and in `leaves` */
    int *sent, *sent_at, *received, *received_at, *shares, *shares_at;
};

/* ---- stepc_mpi_agree.c ----------------------------------------------------------- */

/* The first message is kept. Returns status. */
stepc_status stepc_mpi_fail(stepc_mpi *m, stepc_status status, const char *what, const char *name, const char *more);
/* Did the call of MPI succeed? If not, nothing is of use after it. */
int stepc_mpi_ok(stepc_mpi *m, const char *call, int result);
#define OK(m, call, ...) stepc_mpi_ok(m, #call, call(__VA_ARGS__))

/* Has a rank failed, as one may that alone is short of memory? Then all do, and the others say what it says.
 * Collective: to be reached whatever has happened here. */
stepc_status stepc_mpi_agree(stepc_mpi *m, stepc_status status);
/* m->worst is known to all, and a failure: all ranks learn what the rank that failed has to say. Collective. */
stepc_status stepc_mpi_tell(stepc_mpi *m);

/* ---- stepc_mpi.c ------------------------------------------------------------------ */

/* Bytes of one rank for all, however many. Collective. 0: MPI failed. */
int stepc_mpi_hand_out(stepc_mpi *m, unsigned char *bytes, size_t count, int rank);

/* ---- stepc_mpi_compare.c ---------------------------------------------------------- */

/* Model, layout, entries and options: every rank compares with rank 0, and all learn of the first difference.
 * Collective; needs no memory. */
stepc_status stepc_mpi_compare_facts(stepc_mpi *m);
/* All variables. Collective. */
stepc_status stepc_mpi_compare_states(stepc_mpi *m, void *state);

/* ---- stepc_mpi_layout.c ----------------------------------------------------------- */

/* Which variables are sums, and where they stand end to end. */
stepc_status stepc_mpi_find_sums(stepc_mpi *m);
/* Groups and shares, and the memory that a step needs. */
stepc_status stepc_mpi_lay_out_groups(stepc_mpi *m);

/* ---- stepc_mpi_sums.c ------------------------------------------------------------- */

/* What all ranks have sent of this rank's share of the group, in the order of ranks, which is that of parts. */
void stepc_mpi_add_leaves(const stepc_mpi *m, const struct stepc_mpi_group *g);
/* Copies bytes first .. first + count - 1 of all sums from or to the state. */
void stepc_mpi_copy_sums(const stepc_mpi *m, unsigned char *state, size_t first, size_t count, unsigned char *sums,
                         int to_state);
int stepc_mpi_are_zero(const stepc_mpi *m, void *state);
void stepc_mpi_clear_sums(const stepc_mpi *m, void *state);

/* ---- stepc_mpi_shards.c ----------------------------------------------------------- */

/* The entries that update: checks their names. */
stepc_status stepc_mpi_find_shards(stepc_mpi *m);
stepc_status stepc_mpi_lay_out_shards(stepc_mpi *m);
void stepc_mpi_free_shards(stepc_mpi *m);

#endif
