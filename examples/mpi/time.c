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

static void stop(const char *why)
{
    fprintf(stderr, "rank %d: %s\n", mpi.rank, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void must(stepc_status status)
{
    if (status != STEPC_OK)
        stop(mpi.message[0] != '\0' ? mpi.message : stepc_status_text(status));
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
    must(status);
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
    if (steps < 1)
        stop("usage: time PARTS STEPS");
    const stepc_mpi_options options = {.parts = parts, .shards = SHARDS, .statistics = STEPC_MPI_STATISTICS_OF_PART_0};
    must(stepc_mpi_open(&mpi, MPI_COMM_WORLD, model, &options));
    const stepc_entry *const init = stepc_find_entry(model, "init");
    for (unsigned e = 0; e < model->entry_count; e++)
        if (model->entries[e].output_count > MOST)
            stop("the model has too many outputs");
    if (init == NULL || accumulate->input_count > MOST)
        stop("the model has no init(), or too many inputs");
    void *const state = malloc(model->state_bytes), *const arena = malloc(model->arena_bytes);
    double(*const all)[PIECES] = calloc((size_t)steps + 1, sizeof *all);
    double *const column = calloc((size_t)steps + 1, sizeof *column);
    int is_enough = state != NULL && arena != NULL && all != NULL && column != NULL;
    for (unsigned i = 0; i < accumulate->input_count; i++) {
        inputs[i] = calloc(stepc_tensor_bytes(&accumulate->inputs[i]), 1);
        is_enough = is_enough && inputs[i] != NULL;
    }
    if (!is_enough)
        stop("no memory");
    must(init->call(state, arena, 1, NULL, NULL));
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
