/* Drives check_of_an_unwanted_output.onnxtxt. */
#include "steps.h"

#include <stdio.h>
#include <string.h>

static steps_state state, before;
static steps_arena arena;

/* Each call finds an arena in which no number is a row. */
static stepc_status step(float last, float *picked)
{
    const float x[3] = {0.3f, 0, last};
    const steps_step_inputs in = {.x = x};
    const steps_step_outputs out = {.picked = picked};
    memset(&arena, 0x55, sizeof arena);
    return steps_step(&state, &arena, &in, &out);
}

int main(void)
{
    float picked[3] = {0};
    if (steps_init(&state, &arena, 1) != STEPC_OK || step(1e6f, NULL) != STEPC_OK)
        return 1;
    memcpy(&before, &state, sizeof state);
    if (step(1e8f, picked) != STEPC_E_INDEX || memcmp(&before, &state, sizeof state) != 0 || picked[0] != 0)
        return 1;
    if (step(0.2f, picked) != STEPC_OK)
        return 1;
    printf("not wanted: taken, wrong: refused as it was, right: taken, picked %g %g %g\n", picked[0], picked[1],
           picked[2]);
    return 0;
}
