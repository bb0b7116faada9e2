/* Data parallel training of any model that `stepc prepare --split` made, over MPI:
 *
 *   mpirun -n 4 train PARTS STEPS FOLDER INPUT=FILE.npy...
 *
 * A batch is PARTS calls of accumulate(); the ranks share them. Goes on from the newest checkpoint in FOLDER up to step
 * STEPS, saves every 10 steps, and prints the loss of each step. The lines and the checkpoints are the same for any
 * number of ranks that divides PARTS.
 *
 * MODEL is the prefix of the emitted code: -DMODEL=digits -DHEADER='"digits.h"' -DBUILD=DIGITS_BUILD_ID,
 * beside npy.c (docs/many-machines.md, "With a model of your own") */
#include "progress.h" /* in front of the emitted header */

#include HEADER

#ifndef SHARDS
#define SHARDS 0 /* of `stepc prepare --split --shards` */
#endif
#ifndef STATISTICS
#define STATISTICS STEPC_MPI_STATISTICS_REFUSED /* or _OF_PART_0, for networks with BatchNormalization */
#endif

#include "checkpoint.h"
#include "mpi/stepc_mpi.h"
#include "npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
static const stepc_model *const model = &JOIN(MODEL, _model);

enum { SEED = 1, SAVE_EVERY = 10, MOST_INPUTS = 16, MOST_OUTPUTS = 64, MOST_PATH = 1024 };

static stepc_mpi mpi;
static void *state, *arena;
static const stepc_entry *accumulate, *last; /* the first entry of a step, and the one that gives the loss */
static npy data[MOST_INPUTS];                /* of the inputs of accumulate() */
static union {
    stepc_max_align align;
    unsigned char bytes[65536];
} work; /* of the checkpoint functions */

void mpi_progress(void)
{
    stepc_mpi_progress(&mpi);
}

/* Ends all ranks. */
static void stop(const char *what, const char *why)
{
    fprintf(stderr, "rank %d: %s%s%s\n", mpi.rank, what, why[0] != '\0' ? ": " : "", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void must(const char *what, stepc_status status)
{
    if (status != STEPC_OK)
        stop(what, mpi.message[0] != '\0' ? mpi.message : stepc_status_text(status));
}

/* ---- data ------------------------------------------------------------------- */

static void read_data(const char *argument)
{
    const char *const path = strchr(argument, '=');
    for (unsigned i = 0; i < accumulate->input_count && path != NULL; i++) {
        const stepc_tensor_info *const t = &accumulate->inputs[i];
        if (strncmp(argument, t->name, (size_t)(path - argument)) != 0 || t->name[path - argument] != '\0')
            continue;
        if (!npy_read(path + 1, &data[i]))
            stop(argument, "the file is not read");
        if (!npy_fits(&data[i], t))
            stop(argument, "the file has another type or shape than the input");
        return;
    }
    stop(argument, "not INPUT=FILE.npy of an input of accumulate()");
}

/* The samples of a part lie one after the other. What is less than a batch at the end is left out. */
static stepc_status add_part(size_t step, unsigned part, unsigned parts)
{
    const void *inputs[MOST_INPUTS];
    void *outputs[MOST_OUTPUTS] = {NULL}; /* none is wanted */
    for (unsigned i = 0; i < accumulate->input_count; i++) {
        const size_t samples = accumulate->inputs[i].dims[0], batch = samples * parts;
        const size_t batches = data[i].samples / batch;
        if (batches == 0)
            stop(accumulate->inputs[i].name, "less than one batch of data");
        inputs[i] = data[i].values + (step % batches * batch + part * samples) * data[i].sample_bytes;
    }
    return accumulate->call(state, arena, SEED, inputs, outputs);
}

/* ---- a step ------------------------------------------------------------------- */

static float train_step(size_t step, unsigned parts)
{
    float loss = 0;
    void *outputs[MOST_OUTPUTS] = {NULL};
    unsigned part;
    while (stepc_mpi_next(&mpi, state, &part))
        stepc_mpi_done(&mpi, state, add_part(step, part, parts));
    must("adding up", stepc_mpi_finish(&mpi, state));
    for (unsigned i = 0; i < last->output_count; i++)
        if (strcmp(last->outputs[i].name, "loss") == 0)
            outputs[i] = &loss;
    must("apply", stepc_mpi_apply(&mpi, state, arena, NULL, outputs));
    return loss;
}

/* ---- checkpoints: FOLDER/step-20.state, the last two are kept; FOLDER/parts ------ */

static void path_of(char path[MOST_PATH], const char *folder, size_t step)
{
    if (snprintf(path, MOST_PATH, "%s/step-%lu.state", folder, (unsigned long)step) >= MOST_PATH)
        stop(folder, "the path is too long");
}

/* 0: there is none. One that cannot be read ends all: to begin anew would write over it. */
static int load_one(const char *path)
{
    FILE *const file = fopen(path, "rb");
    if (file == NULL && errno == ENOENT)
        return 0;
    if (file == NULL)
        stop(path, strerror(errno));
    fclose(file);
    must(path, stepc_checkpoint_load_file(model, state, path, NULL, &work, sizeof work));
    return 1;
}

/* FOLDER/parts: of how many parts the batches are. With another number the run that goes on would be another one, on
 * other samples. */
static void path_of_parts(char path[MOST_PATH], const char *folder)
{
    if (snprintf(path, MOST_PATH, "%s/parts", folder) >= MOST_PATH)
        stop(folder, "the path is too long");
}

/* 0: nobody has said it. */
static unsigned read_parts(const char *folder)
{
    char path[MOST_PATH];
    unsigned parts = 0;
    path_of_parts(path, folder);
    FILE *const file = fopen(path, "r");
    if (file == NULL && errno == ENOENT)
        return 0;
    if (file == NULL)
        stop(path, strerror(errno));
    if (fscanf(file, "%u", &parts) != 1 || parts == 0)
        stop(path, "this is no number of parts");
    fclose(file);
    return parts;
}

static void check_parts(const char *folder, unsigned parts)
{
    char why[64];
    const unsigned before = read_parts(folder);
    if (before != 0 && before != parts) {
        snprintf(why, sizeof why, "its batches have %u parts, not %u", before, parts);
        stop(folder, why);
    }
}

/* By another name first: a program that is killed leaves all of the file, or none. */
static void keep_parts(const char *folder, unsigned parts)
{
    char path[MOST_PATH], draft[MOST_PATH + 4];
    if (read_parts(folder) == parts)
        return;
    path_of_parts(path, folder);
    snprintf(draft, sizeof draft, "%s.new", path);
    FILE *const file = fopen(draft, "w");
    if (file == NULL || fprintf(file, "%u\n", parts) < 0 || fclose(file) != 0 || rename(draft, path) != 0)
        stop(path, strerror(errno));
}

/* The newest that there is, up to step `most`. Rank 0 reads, and hands out. */
static size_t load(const char *folder, size_t most, unsigned parts)
{
    char path[MOST_PATH];
    unsigned long step = 0;
    if (mpi.rank == 0)
        for (size_t s = most - most % SAVE_EVERY; s > 0 && step == 0; s -= SAVE_EVERY) {
            path_of(path, folder, s);
            if (load_one(path))
                step = s;
        }
    if (step > 0)
        check_parts(folder, parts);
    MPI_Bcast(&step, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    must("handing out", stepc_mpi_broadcast(&mpi, state, 0));
    if (step > 0 && mpi.rank == 0)
        printf("going on after step %lu\n", step);
    return step;
}

static void save(const char *folder, size_t step, unsigned parts)
{
    char path[MOST_PATH];
    must("collecting", stepc_mpi_collect(&mpi, state));
    if (mpi.rank != 0)
        return;
    keep_parts(folder, parts);
    path_of(path, folder, step);
    must(path, stepc_checkpoint_save_file(model, state, path, &work, sizeof work));
    if (step > 2 * SAVE_EVERY) {
        path_of(path, folder, step - 2 * SAVE_EVERY);
        remove(path);
    }
}

/* ---- all of it ------------------------------------------------------------------ */

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const unsigned parts = argc > 3 ? (unsigned)atoi(argv[1]) : 0;
    const size_t steps = argc > 3 ? (size_t)atol(argv[2]) : 0;
    const stepc_mpi_options options = {.parts = parts, .build = BUILD, .shards = SHARDS, .statistics = STATISTICS};
    if (argc < 4)
        stop("usage: train PARTS STEPS FOLDER INPUT=FILE.npy...", "");
    must("beginning", stepc_mpi_open(&mpi, MPI_COMM_WORLD, model, &options));
    state = malloc(model->state_bytes);
    arena = malloc(model->arena_bytes);
    accumulate = stepc_find_entry(model, "accumulate");
    last = stepc_find_entry(model, SHARDS > 0 ? "advance" : "apply");
    const stepc_entry *const init = stepc_find_entry(model, "init");
    if (state == NULL || arena == NULL || init == NULL || last == NULL || accumulate->input_count > MOST_INPUTS ||
        accumulate->output_count > MOST_OUTPUTS || last->output_count > MOST_OUTPUTS)
        stop("no memory, or a model that this program cannot drive", "");
    for (int i = 4; i < argc; i++)
        read_data(argv[i]);
    for (unsigned i = 0; i < accumulate->input_count; i++)
        if (data[i].values == NULL)
            stop(accumulate->inputs[i].name, "no data");
    must("init", init->call(state, arena, SEED, NULL, NULL));
    for (size_t step = load(argv[3], steps, parts); step < steps; step++) {
        const float loss = train_step(step, parts);
        if (mpi.rank == 0)
            printf("step %lu  loss %.9g\n", (unsigned long)step, (double)loss);
        fflush(stdout);
        if ((step + 1) % SAVE_EVERY == 0)
            save(argv[3], step + 1, parts);
    }
    stepc_mpi_close(&mpi);
    MPI_Finalize();
    return 0;
}
