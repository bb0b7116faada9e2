/* The contract under which net.c is proved: nothing is known of weights, inputs and labels, and every subset of the
 * outputs may be wanted. IN, OUT and BATCH are the numbers of elements of x, of logits and of samples. */
#include "net.h"

#include "__fc_builtin.h"

static net_state state;
static net_arena arena;
static float x[IN], logits[OUT], loss;
static int64_t target[BATCH];

int main(void)
{
    const net_step_inputs in = {.x = x, .target = target};
    const net_infer_inputs infer_in = {.x = x};
    const net_infer_outputs infer_out = {.logits = logits};

    for (int i = 0; i < IN; i++)
        x[i] = Frama_C_float_interval(-1.0e30f, 1.0e30f);
    for (int i = 0; i < BATCH; i++)
        target[i] = Frama_C_long_long_interval(INT64_MIN, INT64_MAX);
    net_init(&state, &arena, 0);
    while (Frama_C_interval(0, 1)) {
        const net_step_outputs out = {.loss = Frama_C_interval(0, 1) ? &loss : NULL,
                                      .logits = Frama_C_interval(0, 1) ? logits : NULL};
        net_step(&state, &arena, &in, &out);
    }
    net_infer(&state, &arena, &infer_in, &infer_out);
    return 0;
}
