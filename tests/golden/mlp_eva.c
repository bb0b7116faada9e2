/* Contract under which Frama-C Eva proves mlp_64_32_10.c free of run-time errors: any weights, any inputs, any labels.
 *
 *   frama-c -eva -eva-no-print -warn-special-float none -cpp-extra-args="-I../../runtime" mlp_eva.c mlp_64_32_10.c
 *           -eva-warn-key alarm=abort        exit status 0: proved
 *
 * -DSTEPC_FORM=0 or 1 in -cpp-extra-args picks the portable form to prove. */
#include "mlp_64_32_10.h"

#include "__fc_builtin.h"

static mlp_64_32_10_state state;
static mlp_64_32_10_arena arena;
static float x[32 * 64], output[32 * 10], loss;
static int64_t target[32];

int main(void)
{
    const mlp_64_32_10_step_inputs in = {x, target};
    const mlp_64_32_10_infer_inputs infer_in = {x};
    const mlp_64_32_10_infer_outputs infer_out = {output};
    mlp_64_32_10_step_outputs out = {&loss, output};

    for (int i = 0; i < 32 * 64; i++)
        x[i] = Frama_C_float_interval(-1.0e30f, 1.0e30f);
    for (int i = 0; i < 32; i++)
        target[i] = Frama_C_long_long_interval(INT64_MIN, INT64_MAX);
    mlp_64_32_10_init(&state, &arena, 0);
    while (Frama_C_interval(0, 1)) {
        out.loss = Frama_C_interval(0, 1) ? &loss : NULL;
        out.output = Frama_C_interval(0, 1) ? output : NULL;
        mlp_64_32_10_step(&state, &arena, &in, &out);
    }
    mlp_64_32_10_infer(&state, &arena, &infer_in, &infer_out);
    return 0;
}
