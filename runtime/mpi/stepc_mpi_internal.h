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

/* The entries that update: checks their names. */
stepc_status stepc_mpi_find_shards(stepc_mpi *m);
stepc_status stepc_mpi_lay_out_shards(stepc_mpi *m);
void stepc_mpi_free_shards(stepc_mpi *m);

#endif
