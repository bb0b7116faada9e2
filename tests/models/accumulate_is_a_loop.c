/* Drives accumulate_is_a_loop.onnxtxt: a wrong label in any part ends the step before it stores anything. */
#include "t.h"

#include <stdio.h>
#include <string.h>

static t_state state, before;
static t_arena arena;

int main(void)
{
    static const float x[6 * 2 * 4 * 4] = {1, 2, 3};
    int64_t target[6] = {0, 1, 2, 0, 1, 2};
    float loss = -1;
    const t_step_inputs in = {.x = x, .target = target};
    const t_step_outputs out = {.loss = &loss};
    if (t_init(&state, &arena, 1) != STEPC_OK)
        return 1;
    memcpy(&before, &state, sizeof state);
    for (int i = 0; i < 6; i++) {
        const int64_t right = target[i];
        for (target[i] = -1; target[i] <= 3; target[i] += 4)
            if (t_step(&state, &arena, &in, &out) != STEPC_E_LABEL || memcmp(&before, &state, sizeof state) != 0 ||
                loss != -1.0f)
                return 2;
        target[i] = right;
    }
    if (t_step(&state, &arena, &in, &out) != STEPC_OK || memcmp(&before, &state, sizeof state) == 0)
        return 3;
    printf("refused 12 times, then loss %.3f\n", (double)loss);
    return 0;
}
