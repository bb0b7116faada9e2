/* SPDX-License-Identifier: 0BSD */
/* stepc_mpi.h: data parallel training over MPI. Ranks share the batch of a step: each calls the entry that adds
 * up gradients, accumulate() of `stepc prepare --split`, for some of its samples, what they added is added up, and then
 * all call apply().
 *
 *     stepc_mpi mpi;
 *     stepc_status status = stepc_mpi_open(&mpi, MPI_COMM_WORLD, &digits_model, &(stepc_mpi_options){.parts = 8});
 *     ...
 *     for (each step) {
 *         unsigned part;
 *         while (stepc_mpi_next(&mpi, &state, &part)) {
 *             (take the samples of that part of the batch)
 *             stepc_mpi_done(&mpi, &state, digits_accumulate(&state, &arena, &in, &out));
 *         }
 *         status = stepc_mpi_finish(&mpi, &state);
 *         if (status == STEPC_OK)
 *             status = digits_apply(&state, &arena, &loss);
 *         if (status != STEPC_OK)
 *             (say mpi.message, or if that is empty stepc_status_text(status), and MPI_Abort)
 *     }
 *     stepc_mpi_close(&mpi);
 *
 * The batch is cut into `parts` equal parts, a number that does not depend on the number of ranks, which divides it.
 * What the parts add is added up in the order of parts. So with code made by --reproducible the bits of weights,
 * optimizer and losses are those of any other number of ranks, and of a program without MPI that calls accumulate() for
 * each part and then apply(). Random numbers are those of that program as well. Without --reproducible the last bits
 * may differ.
 *
 * What is added up are the model's sums (STEPC_ROLE_SUM). All ranks must start from one state: from init() with one
 * seed, from one checkpoint, or from what stepc_mpi_broadcast() hands out; the first step looks whether they do.
 *
 * Compile the C files beside it with mpicc, or what else finds mpi.h. C99. Handles are independent of each other; no
 * globals. */
#ifndef STEPC_MPI_H
#define STEPC_MPI_H

#include "stepc.h"

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of running statistics (BatchNormalization), which each call of accumulate() moves on. */
typedef enum stepc_mpi_statistics {
    STEPC_MPI_STATISTICS_REFUSED, /* a model in which there are any is an error of stepc_mpi_open() */
    /* Part 0's are kept and handed out, those of other parts are dropped: they move once a step, for any number of
     * ranks alike. (PyTorch's DistributedDataParallel keeps those of rank 0.) */
    STEPC_MPI_STATISTICS_OF_PART_0
} stepc_mpi_statistics;

typedef struct stepc_mpi_options {
    unsigned parts;         /* that a batch has: a multiple of the number of ranks */
    const char *accumulate; /* the entry that adds; NULL: "accumulate" */
    const char *apply;      /* the entry that updates, for stepc_mpi_apply(); NULL: "apply" */
    unsigned shards;        /* of `stepc prepare --split --shards`: it is several, apply_0, apply_1 ..; 0: it is one */
    const char *advance;    /* with shards: the entry behind them; NULL: "advance" */
    uint64_t build;         /* NAME_BUILD_ID of the emitted header: all ranks must have the same; 0: not compared */
    size_t group_bytes;     /* sums travel in groups of so many bytes; 0: 4 MiB, more for many ranks */
    stepc_mpi_statistics statistics;
} stepc_mpi_options;

struct stepc_mpi_group;

typedef struct stepc_mpi {
    int rank, ranks;
    char message[400]; /* why a function did not return STEPC_OK; the same on all ranks, where they could agree */

    /* ---- the rest is the functions' own ---- */
    MPI_Comm comm;
    const stepc_model *model;
    stepc_mpi_options options;
    const stepc_entry *apply, *advance; /* with shards `apply` is the first of them */
    const stepc_variable_info *counter; /* of the random numbers of the entry; NULL: it draws none */
    stepc_status status;                /* first failure of this step here, ... */
    const char *failed_what;            /* ... and of which "part" or "shard" */
    int failed_part;
    int is_open, is_checked, is_broken; /* the first step is over; nothing is of use any more */
    unsigned part;                      /* the next one here */
    uint64_t first_draw;
    unsigned sum_count;
    unsigned *sums; /* the model's variables that are added up, ... */
    size_t *places; /* ... and where they stand among all sums laid end to end: sum_count + 1 offsets */
    int in_state;   /* end to end as they stand in the state, from byte `base` on */
    size_t base;
    unsigned group_count;
    struct stepc_mpi_group *groups;
    MPI_Request *requests;       /* of the groups, then one more */
    int *counts;                 /* of the groups' messages */
    unsigned char *leaf;         /* all sums: what this rank's part has added, then the totals */
    unsigned char *own;          /* the same, there or in the state */
    int is_zero, is_first_round; /* the sums were 0 before the step; no leaf has been added yet */
    unsigned char *leaves;       /* of this rank's shares: what each rank's part has added */
    unsigned char *total;        /* of this rank's shares */
    unsigned char *before;       /* of this rank's shares: what the sums were before the step */
    size_t shares_bytes;         /* of all of them */
    unsigned char *kept;         /* the statistics as they were before the part, where they stand in the state */
    unsigned char *moved;        /* the statistics as part 0 left them, where they stand in the state */
    uint64_t *digests;           /* of all variables: here, the least and the largest of all ranks */
    int outcome[2], worst[2];    /* status and rank: here, and the worst of all */
    MPI_Datatype block;          /* 64 bytes, by which shards are counted */
    unsigned char *shards;       /* what shards have changed, rank by rank */
    int *blocks;                 /* of each rank, then where they begin */
    void **nothing;              /* outputs of an entry of which none is wanted */
} stepc_mpi;

/* Collective over `comm`. A rank with another model, other entries, another build or other options, or that gives NULL,
 * is an error on all ranks. Allocates on N ranks up to 2 + 2/N times the bytes of the sums, on a single one those bytes
 * once; with running statistics twice those of the state, with shards those of the weights. On failure only `message`
 * is of use. */
stepc_status stepc_mpi_open(stepc_mpi *m, MPI_Comm comm, const stepc_model *model, const stepc_mpi_options *options);
/* Collective. Also after a failure, and in the middle of a step, if all ranks have called stepc_mpi_done() equally
 * often: it waits for what is under way. After STEPC_E_IO it cannot know whether MPI still reads and writes: then what
 * MPI was given is not freed, and the handle and the state have to stay until MPI_Abort() or the end of the program. */
void stepc_mpi_close(stepc_mpi *m);

/* Gives all ranks the whole state of one, which all name. Collective. Not after a step that failed: close, and open
 * again. */
stepc_status stepc_mpi_broadcast(stepc_mpi *m, void *state, int rank);

/* ---- a step ------------------------------------------------------------------- */

/* The next part of the batch that this rank is to call accumulate() for: 1, and its number from 0 in *part, or 0 where
 * there are no more. Its samples are numbers part * n to part * n + n - 1 of the batch, n being the samples of a call.
 * Between this and stepc_mpi_finish() the sums in the state mean nothing. */
int stepc_mpi_next(stepc_mpi *m, void *state, unsigned *part);
/* Takes what accumulate() has added, and what it returned. The exchange with other ranks goes on while the next part
 * is computed, as far as MPI makes progress by itself; see stepc_mpi_progress(). */
void stepc_mpi_done(stepc_mpi *m, void *state, stepc_status status);
/* After the last part: waits, and gives all ranks the total of all parts in the state's sums. Where accumulate() has
 * failed anywhere, all ranks get that status, and the sums are as they were before the step. STEPC_E_IO: MPI failed.
 * STEPC_E_MISMATCH: the ranks' states differ. */
stepc_status stepc_mpi_finish(stepc_mpi *m, void *state);
/* Calls apply() on every rank. With shards each rank calls those of its own (shard s is rank s modulo ranks), all
 * weights and statistics are handed out, and then each calls advance(). `inputs` are those of apply(), `outputs` those
 * of apply(), or of advance(). Where a shard fails, on any rank, others have changed the state: only a checkpoint
 * helps. Without shards a program may as well call apply() itself, which sets no `message`. */
stepc_status stepc_mpi_apply(stepc_mpi *m, void *state, void *arena, const void *const *inputs, void *const *outputs);
/* With shards a rank's state lacks what those of other ranks have changed of what the optimizer remembers. This gives
 * all ranks all of it, as it must be in a checkpoint. Collective. */
stepc_status stepc_mpi_collect(stepc_mpi *m, void *state);
/* Lets MPI go on with the exchange: for STEPC_TRACE (stepc compile --trace). Does nothing where there is none,
 * as before stepc_mpi_open() on a handle of zeros. */
void stepc_mpi_progress(stepc_mpi *m);

#ifdef __cplusplus
}
#endif

#endif
