/* Trains the digits network in four ways that have to end with the same bits: a step on whole batches, samples that are
 * accumulated one at a time, whole batches that are accumulated, and a step that goes through its batch in parts. The
 * batch is a power of two, so that dividing by it is exact wherever it is done. */
#include "fused.h"
#include "parts.h"
#include "single.h"
#include "whole.h"

#include <stdio.h>
#include <string.h>

enum { BATCH = 8, STEPS = 20, PIXELS = 64, CLASSES = 10 };

struct ways {
    fused_state fused;
    parts_state parts;
    single_state single;
    whole_state whole;
    fused_arena fused_work;
    parts_arena parts_work;
    single_arena single_work;
    whole_arena whole_work;
};

static float x[BATCH][PIXELS];
static int64_t target[BATCH];

static uint32_t random_bits(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void make_batch(uint32_t *state)
{
    for (int n = 0; n < BATCH; n++) {
        target[n] = (int64_t)(random_bits(state) % CLASSES);
        for (int i = 0; i < PIXELS; i++)
            x[n][i] = (float)(random_bits(state) % 1000u) / 1000.0f + (i == target[n] * 6 ? 1.0f : 0.0f);
    }
}

static int must(stepc_status status)
{
    if (status != STEPC_OK)
        fprintf(stderr, "an entry failed: %s\n", stepc_status_text(status));
    return status != STEPC_OK;
}

/* losses: of the four ways */
static int train(struct ways *w, float losses[4])
{
    int failed = 0;
    failed |= must(fused_step(&w->fused, &w->fused_work, &(const fused_step_inputs){.x = x[0], .target = target},
                              &(const fused_step_outputs){.loss = &losses[0]}));
    for (int n = 0; n < BATCH; n++)
        failed |= must(single_accumulate(&w->single, &w->single_work,
                                         &(const single_accumulate_inputs){.x = x[n], .target = &target[n]},
                                         &(const single_accumulate_outputs){.loss = NULL}));
    failed |= must(single_apply(&w->single, &w->single_work, &(const single_apply_outputs){.loss = &losses[1]}));
    failed |=
        must(whole_accumulate(&w->whole, &w->whole_work, &(const whole_accumulate_inputs){.x = x[0], .target = target},
                              &(const whole_accumulate_outputs){.loss = NULL}));
    failed |= must(whole_apply(&w->whole, &w->whole_work, &(const whole_apply_outputs){.loss = &losses[2]}));
    failed |= must(parts_step(&w->parts, &w->parts_work, &(const parts_step_inputs){.x = x[0], .target = target},
                              &(const parts_step_outputs){.loss = &losses[3]}));
    return failed;
}

static int differ(const char *what, int step, const void *a, const void *b, size_t size)
{
    if (memcmp(a, b, size) == 0)
        return 0;
    fprintf(stderr, "step %d: %s differs\n", step, what);
    return 1;
}

#define COMPARE(other, member)                                                                                         \
    differ(#other " " #member, step, w->fused.member, w->other.member, sizeof w->fused.member)
#define COMPARE_ALL(other)                                                                                             \
    (COMPARE(other, fc1_weight) | COMPARE(other, fc1_bias) | COMPARE(other, fc2_weight) | COMPARE(other, fc2_bias))

static int compare(const struct ways *w, const float losses[4], int step)
{
    int failed = COMPARE_ALL(single) | COMPARE_ALL(whole) | COMPARE_ALL(parts);
    for (int i = 1; i < 4; i++)
        failed |= differ("loss", step, &losses[0], &losses[i], sizeof *losses);
    return failed;
}

int main(void)
{
    static struct ways w;
    uint32_t state = 1;
    float losses[4] = {0}, first = 0;
    int failed = must(fused_init(&w.fused, &w.fused_work, 0)) | must(single_init(&w.single, &w.single_work, 0)) |
                 must(whole_init(&w.whole, &w.whole_work, 0)) | must(parts_init(&w.parts, &w.parts_work, 0));
    for (int step = 0; step < STEPS && !failed; step++) {
        make_batch(&state);
        failed = train(&w, losses) || compare(&w, losses, step);
        first = step == 0 ? losses[0] : first;
    }
    printf("loss %.9g -> %.9g\n", (double)first, (double)losses[0]);
    return failed || !(losses[0] < first);
}
