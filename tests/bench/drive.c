/* Times the training step of any emitted model, through its descriptor.
 *
 *   drive [INPUT=CLASSES...]            serves samples: for each line "STEPS" that it reads, milliseconds per step
 *   drive --profile STEPS [...]         one line per kernel: number, name, lower quartile of its
 *                                       milliseconds over the steps
 *
 * Compile with -DMODEL=NAME_model; for the profile the model needs -include trace.h, the driver -DPROFILE. With -DWALL
 * time is wall-clock time, for programs with several threads; otherwise CPU time.
 *
 * Floating-point inputs are uniform in [0, 1), integers uniform below CLASSES. The steps walk through several
 * batches, as training would, and the state goes back to its start before each sample, so that every sample
 * computes the same. */
#define _POSIX_C_SOURCE 200809L
#include "stepc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const stepc_model MODEL;

enum { BATCHES = 4, MAX_KERNELS = 65536 };
/* steps until the state goes back: of batches learnt by heart, gradients and what Adam keeps of them are
 * denormal and slow */
enum { FROM_START = 400 };

struct batch {
    const void **inputs;
};

static const stepc_entry *step;
static void *state, *start, *arena;
static struct batch batches[BATCHES];
static void **outputs;

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "drive: %s: %s %s\n", MODEL.name, what, name);
    exit(1);
}

/* A multiple of the alignment, as aligned_alloc() wants it; never 0. */
static void *allocate(size_t bytes)
{
    const size_t align = 64, rounded = (bytes / align + 1) * align;
    void *p = aligned_alloc(align, rounded);
    if (p == NULL)
        fail("out of memory", "");
    return memset(p, 0, rounded);
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t next_random(void)
{
    static uint32_t s = 1;
    s = s * 1664525u + 1013904223u;
    return s >> 8;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static uint32_t classes_of(const char *input, int count, char *const *arguments)
{
    const size_t n = strlen(input);
    for (int i = 0; i < count; i++) {
        if (strncmp(arguments[i], input, n) == 0 && arguments[i][n] == '=')
            return (uint32_t)strtoul(arguments[i] + n + 1, NULL, 10);
    }
    fail("no INPUT=CLASSES for", input);
    return 0;
}

static void *random_tensor(const stepc_tensor_info *t, int argument_count, char *const *arguments)
{
    const size_t n = stepc_tensor_count(t);
    void *values = allocate(stepc_tensor_bytes(t));
    if (t->dtype == STEPC_FLOAT) {
        for (size_t i = 0; i < n; i++)
            ((float *)values)[i] = (float)next_random() / 16777216.0f;
    } else if (t->dtype == STEPC_INT64) {
        const uint32_t classes = classes_of(t->name, argument_count, arguments);
        for (size_t i = 0; i < n; i++)
            ((int64_t *)values)[i] = (int64_t)(next_random() % classes);
    } else {
        fail("input of a dtype that the driver does not make:", t->name);
    }
    return values;
}

static void prepare(int argument_count, char *const *arguments)
{
    const stepc_entry *init = stepc_find_entry(&MODEL, "init");
    step = stepc_find_entry(&MODEL, "step");
    if (init == NULL || step == NULL)
        fail("needs entries init and step", "");
    state = allocate(MODEL.state_bytes);
    start = allocate(MODEL.state_bytes);
    arena = allocate(MODEL.arena_bytes);
    outputs = allocate(step->output_count * sizeof *outputs);
    for (unsigned i = 0; i < step->output_count; i++) {
        if (strcmp(step->outputs[i].name, "loss") == 0)
            outputs[i] = allocate(stepc_tensor_bytes(&step->outputs[i]));
    }
    for (int b = 0; b < BATCHES; b++) {
        batches[b].inputs = allocate(step->input_count * sizeof(void *));
        for (unsigned i = 0; i < step->input_count; i++)
            batches[b].inputs[i] = random_tensor(&step->inputs[i], argument_count, arguments);
    }
    if (init->call(start, arena, 1, NULL, NULL) != STEPC_OK)
        fail("init failed", "");
}

static void run_step(int i)
{
    const stepc_status status = step->call(state, arena, 0, batches[i % BATCHES].inputs, outputs);
    if (status != STEPC_OK)
        fail("step failed:", stepc_status_text(status));
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

#ifndef PROFILE

static double sample(int steps)
{
#ifdef WALL
    const clockid_t clock = CLOCK_MONOTONIC;
#else
    const clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
#endif
    memcpy(state, start, MODEL.state_bytes);
    run_step(BATCHES - 1); /* the state comes back into the caches */
    const double begin = seconds(clock);
    for (int i = 0; i < steps; i++) {
        if (i % FROM_START == FROM_START - 1)
            memcpy(state, start, MODEL.state_bytes);
        run_step(i);
    }
    return (seconds(clock) - begin) / steps * 1e3;
}

static int serve(void)
{
    char line[32];
    sample(2);
    while (fgets(line, sizeof line, stdin) != NULL) {
        printf("%.6f\n", sample(atoi(line)));
        fflush(stdout);
    }
    return 0;
}

/* ---- profile ----------------------------------------------------------------------------------------------------- */

#else

/* Reading wall-clock time costs little, so it is right for short kernels; CPU time costs a system call, but does not
 * count what others do meanwhile. Both are taken, the former closer to the kernel, and the smaller quartile is right.
 * That of several threads counts waiting ones. */
static struct {
    const char *name;
    double *wall, *cpu; /* one for each step */
} kernels[MAX_KERNELS];
static int current = -1, current_step = -1, step_count;
static double wall_begin, cpu_begin;

static void close_kernel(void)
{
    const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (current >= 0 && current_step >= 0) {
        kernels[current].wall[current_step] += wall - wall_begin;
        kernels[current].cpu[current_step] += cpu - cpu_begin;
    }
    current = -1;
}

void bench_trace(int kernel, const char *name);

void bench_trace(int kernel, const char *name)
{
    if (current_step < 0) /* init */
        return;
    if (kernel < 0 || kernel >= MAX_KERNELS)
        fail("too many kernels", "");
    close_kernel();
    if (kernels[kernel].wall == NULL) {
        kernels[kernel].name = name;
        kernels[kernel].wall = allocate((size_t)step_count * sizeof(double));
        kernels[kernel].cpu = allocate((size_t)step_count * sizeof(double));
    }
    current = kernel;
    cpu_begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    wall_begin = seconds(CLOCK_MONOTONIC);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quartile(double *samples)
{
    qsort(samples, (size_t)step_count, sizeof *samples, compare);
    return samples[step_count / 4];
}

static int profile(int steps)
{
    step_count = steps;
    for (current_step = 0; current_step < steps; current_step++) {
        if (current_step % FROM_START == 0)
            memcpy(state, start, MODEL.state_bytes);
        run_step(current_step);
        close_kernel();
    }
    for (int k = 0; k < MAX_KERNELS; k++) {
        if (kernels[k].wall == NULL)
            continue;
        double best = quartile(kernels[k].wall);
#ifndef WALL
        const double cpu = quartile(kernels[k].cpu);
        best = cpu < best ? cpu : best;
#endif
        printf("%d %s %.6f\n", k, kernels[k].name, best * 1e3);
    }
    return 0;
}

#endif

int main(int argc, char **argv)
{
#ifdef PROFILE
    if (argc < 3 || strcmp(argv[1], "--profile") != 0 || atoi(argv[2]) < 1)
        fail("usage: --profile STEPS [INPUT=CLASSES...]", "");
    prepare(argc - 3, argv + 3);
    return profile(atoi(argv[2]));
#else
    prepare(argc - 1, argv + 1);
    return serve();
#endif
}
