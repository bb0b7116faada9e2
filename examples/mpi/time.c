/* How long the pieces of a step take, on data of zeros, for any model that `stepc prepare --split` made:
 *
 *   mpirun -n 4 time PARTS STEPS
 *
 * MODEL is the prefix of the emitted code: -DMODEL=digits -DHEADER='"digits.h"' */
#include "progress.h" /* in front of the emitted header */

#include HEADER

#include "mpi/stepc_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SHARDS
#define SHARDS 0
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

enum { PART, DONE, FINISH, APPLY, STEP, PIECES, MOST = 64 };
static const char *const texts[PIECES] = {"accumulate() of a part", "handing over", "waiting and handing out",
                                          "apply()", "the step"};

static stepc_mpi mpi;

void mpi_progress(void)
{
    stepc_mpi_progress(&mpi);
}

/* Counts from where it was called last. */
static double lap(double *last)
{
    const double now = MPI_Wtime(), took = now - *last;
    *last = now;
    return took;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double step(const stepc_entry *accumulate, void *state, void *arena, const void *const *inputs, double *pieces)
{
    void *none[MOST] = {NULL};
    double last = MPI_Wtime(), first = last;
    unsigned part, rounds = 0;
    while (stepc_mpi_next(&mpi, state, &part)) {
        const stepc_status status = accumulate->call(state, arena, 0, inputs, none);
        pieces[PART] += lap(&last);
        stepc_mpi_done(&mpi, state, status);
        pieces[DONE] += lap(&last);
        rounds++;
    }
    pieces[PART] /= rounds > 0 ? rounds : 1;
    stepc_status status = stepc_mpi_finish(&mpi, state);
    pieces[FINISH] = lap(&last);
    if (status == STEPC_OK)
        status = stepc_mpi_apply(&mpi, state, arena, NULL, none);
    pieces[APPLY] = lap(&last);
    pieces[STEP] = last - first;
    if (status != STEPC_OK) {
        fprintf(stderr, "%s\n", mpi.message[0] != '\0' ? mpi.message : stepc_status_text(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return pieces[STEP];
}

int main(int argc, char **argv)
{
    const stepc_model *const model = &JOIN(MODEL, _model);
    const stepc_entry *const accumulate = stepc_find_entry(model, "accumulate");
    const void *inputs[MOST];
    MPI_Init(&argc, &argv);
    const unsigned parts = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
    const int steps = argc > 2 ? atoi(argv[2]) : 0;
    const stepc_mpi_options options = {.parts = parts, .shards = SHARDS, .statistics = STEPC_MPI_STATISTICS_OF_PART_0};
    void *const state = malloc(model->state_bytes), *const arena = malloc(model->arena_bytes);
    double(*const all)[PIECES] = calloc((size_t)steps + 1, sizeof *all), *const column = calloc((size_t)steps + 1, 8);
    if (steps < 1 || state == NULL || arena == NULL || all == NULL || column == NULL || accumulate == NULL ||
        stepc_mpi_open(&mpi, MPI_COMM_WORLD, model, &options) != STEPC_OK ||
        stepc_find_entry(model, "init")->call(state, arena, 1, NULL, NULL) != STEPC_OK) {
        fprintf(stderr, "usage: time PARTS STEPS; %s\n", mpi.message);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    for (unsigned i = 0; i < accumulate->input_count; i++)
        inputs[i] = calloc(stepc_tensor_bytes(&accumulate->inputs[i]), 1);
    for (int s = 0; s <= steps; s++) /* the first is not counted */
        step(accumulate, state, arena, inputs, all[s]);
    for (int piece = 0; piece < PIECES && mpi.rank == 0; piece++) {
        for (int s = 0; s < steps; s++)
            column[s] = all[s + 1][piece];
        qsort(column, (size_t)steps, sizeof *column, compare);
        printf("%-24s %9.2f ms, at least %9.2f ms\n", texts[piece], 1e3 * column[steps / 2], 1e3 * column[0]);
    }
    stepc_mpi_close(&mpi);
    MPI_Finalize();
    return 0;
}
