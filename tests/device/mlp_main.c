/* The training run of tests/golden/mlp_curve.c on a bare Cortex-M: same bits as on the host? Prints instructions per
 * step and the stack it took. Exit status 0 if the bits are the recorded ones. */
#include "mlp_curve.h"
#include "port.h"

static mlp_curve run;

static void put_line(const char *what, uint32_t value)
{
    port_put_text(what);
    port_put_number(value);
    port_put_text("\n");
}

static uint32_t ticks_of_a_step(void)
{
    float loss;
    const mlp_64_32_10_step_inputs in = {run.x, run.target};
    const mlp_64_32_10_step_outputs out = {&loss, NULL};
    const uint32_t start = port_ticks();
    mlp_64_32_10_step(&run.state, &run.arena, &in, &out);
    return port_ticks() - start;
}

int main(void)
{
    port_init();
    if (mlp_curve_run(&run) != STEPC_OK)
        return 1;
    port_put_text("hash 0x");
    port_put_hex(run.hash);
    port_put_text(", last loss 0x");
    port_put_hex(run.last_loss);
    port_put_text("\n");
    put_line("instructions per step ", ticks_of_a_step() * 40u);
    put_line("stack bytes ", port_stack_used());
    return run.hash == MLP_CURVE_HASH && run.last_loss == MLP_CURVE_LAST_LOSS ? 0 : 1;
}
