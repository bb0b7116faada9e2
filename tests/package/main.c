#include "alone.h"
#include "checkpoint.h"
#include "far.h"
#include "scores.h"
#include "trained.h"

#include <stdio.h>

static scores_state scores;
static scores_arena scores_work;
static trained_state trained;
static trained_arena trained_work;
static alone_state alone;
static alone_arena alone_work;
static far_state far;
static far_arena far_work;

int main(void)
{
    static float x[2][4] = {{1.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f, 0.0f}}, y[2][3], image[64], logits[10], loss;
    static const int64_t target[2] = {0, 1};
    const scores_infer_inputs in = {.x = x[0]};
    const scores_infer_outputs out = {.y = y[0]};
    const trained_step_inputs step_in = {.x = x[0], .target = target};
    const trained_step_outputs step_out = {.loss = &loss};
    const far_infer_inputs far_in = {.x = image};
    const far_infer_outputs far_out = {.logits = logits};
    stepc_status status[] = {scores_init(&scores, &scores_work, 1), scores_infer(&scores, &scores_work, &in, &out),
                             trained_init(&trained, &trained_work, 1),
                             trained_step(&trained, &trained_work, &step_in, &step_out),
                             alone_init(&alone, &alone_work, 1), far_infer(&far, &far_work, &far_in, &far_out)};
    for (size_t i = 0; i < sizeof status / sizeof *status; i++)
        if (status[i] != STEPC_OK) {
            printf("%zu: %s\n", i, stepc_status_text(status[i]));
            return 1;
        }
    printf("y %g %g, loss %.4f, checkpoint %zu bytes\n", (double)y[0][0], (double)y[1][2], (double)loss,
           stepc_checkpoint_bytes(&trained_model, 1));
    return 0;
}
