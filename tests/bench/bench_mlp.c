/* Times the training step of the hand-written golden program (tests/golden/mlp_64_32_10.c).
 *
 *   bench_mlp            prints the lower quartile of 25 samples, microseconds of CPU time for one step
 *   bench_mlp --serve    prints one sample for each line read, so that another program can take turns (bench_mlp.py)
 *
 * On a Zen 4 core (117 GFLOP/s, so at least 2.8 us), -ffp-contract=fast; PyTorch 1.13 takes 130 us, 100 with a
 * hand-written update:
 *                              GCC 12   Clang 14
 *   -O3 -march=native            3.8      4.4       contraction off: 4.6, 4.9
 *   -O2 -march=native            4.4      4.4
 *   -O3 -mavx2 -mfma             4.1      4.4
 *   -O2 (SSE2, no FMA)          11.0     11.4
 *
 * The steps walk through 20 batches of random data, as training would; nothing is kept hot that would not be. */
#define _POSIX_C_SOURCE 200809L
#include "mlp_64_32_10.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 25, BATCHES = 20, STEPS = 100 * BATCHES };

static mlp_64_32_10_state state;
static mlp_64_32_10_arena arena;
static float x[BATCHES][32 * 64];
static int64_t target[BATCHES][32];

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t next_random(void)
{
    static uint32_t s = 1;
    s = s * 1664525u + 1013904223u;
    return s >> 8;
}

static double sample(void)
{
    float loss = 0.0f;
    const mlp_64_32_10_step_outputs out = {.loss = &loss};
    const double start = cpu_seconds();
    for (int i = 0; i < STEPS; i++) {
        const mlp_64_32_10_step_inputs in = {.x = x[i % BATCHES], .target = target[i % BATCHES]};
        if (mlp_64_32_10_step(&state, &arena, &in, &out) != STEPC_OK)
            abort();
    }
    return (cpu_seconds() - start) / STEPS * 1e6;
}

static int compare(const void *a, const void *b)
{
    const double x0 = *(const double *)a, x1 = *(const double *)b;
    return (x0 > x1) - (x0 < x1);
}

int main(int argc, char **argv)
{
    double samples[SAMPLES];
    char line[16];

    for (int i = 0; i < BATCHES; i++) {
        for (int j = 0; j < 32 * 64; j++)
            x[i][j] = (float)next_random() / 16777216.0f;
        for (int j = 0; j < 32; j++)
            target[i][j] = (int64_t)(next_random() % 10);
    }
    mlp_64_32_10_init(&state, &arena, 0);
    sample(); /* warm up */
    if (argc > 1 && strcmp(argv[1], "--serve") == 0) {
        while (fgets(line, sizeof line, stdin) != NULL) {
            printf("%.4f\n", sample());
            fflush(stdout);
        }
        return 0;
    }
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = sample();
    qsort(samples, SAMPLES, sizeof samples[0], compare);
    printf("%.3f us\n", samples[SAMPLES / 4]);
    return 0;
}
