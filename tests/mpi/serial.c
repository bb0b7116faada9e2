/* What examples/mpi/train.c computes, without MPI: accumulate() for each part, then apply(). Prints the same lines, and
 * leaves the state in FILE.
 *
 *   serial PARTS STEPS FILE INPUT=FILE.npy... */
#include HEADER

#include "checkpoint.h"
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#ifndef SHARDS
#define SHARDS 0
#endif

enum { MOST = 64 };

/* apply(), or its shards one after the other and advance(). */
static int apply(const stepc_model *model, void *state, void *arena, float *loss)
{
    char name[40] = "apply";
    for (int s = 0; s < SHARDS; s++) {
        void *none[MOST] = {NULL};
        snprintf(name, sizeof name, "apply_%d", s);
        if (stepc_find_entry(model, name)->call(state, arena, 1, NULL, none) != STEPC_OK)
            return 0;
    }
    const stepc_entry *const last = stepc_find_entry(model, SHARDS > 0 ? "advance" : "apply");
    void *outputs[MOST] = {NULL};
    for (unsigned i = 0; i < last->output_count; i++)
        if (strcmp(last->outputs[i].name, "loss") == 0)
            outputs[i] = loss;
    return last->call(state, arena, 1, NULL, outputs) == STEPC_OK;
}

static int read_input(const stepc_tensor_info *input, int argc, char **argv, npy *data)
{
    const size_t length = strlen(input->name);
    for (int a = 4; a < argc; a++)
        if (strncmp(argv[a], input->name, length) == 0 && argv[a][length] == '=') {
            if (!npy_read(argv[a] + length + 1, data))
                return 0;
            if (!npy_fits(data, input))
                fprintf(stderr, "%s: another type or shape\n", argv[a]);
            return npy_fits(data, input);
        }
    fprintf(stderr, "%s: no data\n", input->name);
    return 0;
}

int main(int argc, char **argv)
{
    static union {
        stepc_max_align align;
        unsigned char bytes[65536];
    } work;
    const stepc_model *const model = &JOIN(MODEL, _model);
    const stepc_entry *const accumulate = stepc_find_entry(model, "accumulate");
    void *const state = malloc(model->state_bytes), *const arena = malloc(model->arena_bytes);
    npy data[MOST];
    int failed = argc < 4 || state == NULL || arena == NULL || accumulate->input_count > MOST;
    for (unsigned i = 0; !failed && i < accumulate->input_count; i++)
        failed = !read_input(&accumulate->inputs[i], argc, argv, &data[i]);
    failed = failed || stepc_find_entry(model, "init")->call(state, arena, 1, NULL, NULL) != STEPC_OK;
    for (size_t step = 0; !failed && step < (size_t)atol(argv[2]); step++) {
        const size_t parts = (size_t)atol(argv[1]);
        const void *inputs[MOST];
        void *outputs[MOST] = {NULL};
        float loss = 0;
        for (size_t part = 0; part < parts; part++) {
            for (unsigned i = 0; i < accumulate->input_count; i++) {
                const size_t n = accumulate->inputs[i].dims[0], batches = data[i].samples / (n * parts);
                inputs[i] = data[i].values + ((step % batches) * n * parts + part * n) * data[i].sample_bytes;
            }
            failed |= accumulate->call(state, arena, 1, inputs, outputs) != STEPC_OK;
        }
        failed |= !apply(model, state, arena, &loss);
        printf("step %lu  loss %.9g\n", (unsigned long)step, (double)loss);
    }
    return failed || stepc_checkpoint_save_file(model, state, argv[3], &work, sizeof work) != STEPC_OK;
}
