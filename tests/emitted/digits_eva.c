/* The contract under which digits.c is proved: nothing is known of weights, inputs and labels, and every subset of the
 * outputs may be wanted. */
#include "digits.h"

#include "__fc_builtin.h"

enum { BATCH = 32 };

static digits_state state;
static digits_arena arena;
static float x[BATCH * 64], logits[BATCH * 10], loss;
static int64_t target[BATCH];

int main(void)
{
    const digits_step_inputs in = {.x = x, .target = target};
    const digits_infer_inputs infer_in = {.x = x};
    const digits_infer_outputs infer_out = {.logits = logits};

    for (int i = 0; i < BATCH * 64; i++)
        x[i] = Frama_C_float_interval(-1.0e30f, 1.0e30f);
    for (int i = 0; i < BATCH; i++)
        target[i] = Frama_C_long_long_interval(INT64_MIN, INT64_MAX);
    digits_init(&state, &arena, 0);
    while (Frama_C_interval(0, 1)) {
        const digits_step_outputs out = {.loss = Frama_C_interval(0, 1) ? &loss : NULL,
                                         .logits = Frama_C_interval(0, 1) ? logits : NULL};
        digits_step(&state, &arena, &in, &out);
    }
    digits_infer(&state, &arena, &infer_in, &infer_out);
    return 0;
}
