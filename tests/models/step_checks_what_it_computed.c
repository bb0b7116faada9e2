/* Drives step_checks_what_it_computed.onnxtxt. */
#include "steps.h"

#include <stdio.h>
#include <string.h>

static steps_state state, before;
static steps_arena arena;

static stepc_status step(int64_t last)
{
    float value;
    const int64_t moves[3] = {1, -1, last};
    const steps_step_inputs in = {.moves = moves};
    const steps_step_outputs out = {.value = &value};
    return steps_step(&state, &arena, &in, &out);
}

int main(void)
{
    if (steps_init(&state, &arena, 1) != STEPC_OK)
        return 1;
    memcpy(&before, &state, sizeof state);
    if (step(5) != STEPC_E_INDEX || memcmp(&before, &state, sizeof state) != 0 || step(2) != STEPC_OK)
        return 1;
    printf("refused as it was, taken: cursor %d, sum %d\n", (int)state.cursor[0], (int)state.sum[0]);
    return 0;
}
