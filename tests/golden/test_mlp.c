/* Tests of the hand-written golden program: its bits, its errors, and its descriptor. Exit status 1 on a failure. */
#include "mlp_curve.h"

#include <stdio.h>
#include <string.h>

static mlp_curve run;
static int failures;

static void expect(int holds, const char *what)
{
    if (!holds) {
        printf("FAIL  %s\n", what);
        failures++;
    }
}

static void test_loss_curve_has_the_recorded_bits(void)
{
    expect(mlp_curve_run(&run) == STEPC_OK, "training runs");
    if (run.hash != MLP_CURVE_HASH || run.last_loss != MLP_CURVE_LAST_LOSS)
        printf("      hash 0x%08Xu, last loss 0x%08Xu\n", (unsigned)run.hash, (unsigned)run.last_loss);
    expect(run.hash == MLP_CURVE_HASH, "losses and final state have the recorded bits");
    expect(run.last_loss == MLP_CURVE_LAST_LOSS, "last loss has the recorded bits");
}

static void test_bad_label_leaves_the_state(void)
{
    static const int64_t bad[] = {-1, 10, INT64_MIN, INT64_MAX, 0x100000000};
    static mlp_64_32_10_state before;
    float loss = 0.0f;
    const mlp_64_32_10_step_inputs in = {run.x, run.target};
    const mlp_64_32_10_step_outputs out = {&loss, NULL};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        mlp_curve_batch(&run);
        run.target[31] = bad[i];
        before = run.state;
        expect(mlp_64_32_10_step(&run.state, &run.arena, &in, &out) == STEPC_E_LABEL, "bad label is refused");
        expect(memcmp(&before, &run.state, sizeof before) == 0, "bad label leaves the state as it was");
    }
}

static void test_missing_input_is_refused(void)
{
    const mlp_64_32_10_step_inputs in = {run.x, NULL};
    const mlp_64_32_10_step_outputs out = {NULL, NULL};
    expect(mlp_64_32_10_step(&run.state, &run.arena, &in, &out) == STEPC_E_ARGUMENT, "missing target is refused");
}

/* The same step through the descriptor, with every subset of the outputs, must give the same bits. */
static void test_generic_step_is_the_step(void)
{
    static mlp_64_32_10_state start, plain;
    static float output[320], again[320];
    const stepc_entry *step = stepc_find_entry(&mlp_64_32_10_model, "step");
    const stepc_entry *infer = stepc_find_entry(&mlp_64_32_10_model, "infer");
    const void *inputs[2] = {run.x, run.target};
    float loss = 0.0f, loss_again = 1.0f;
    const mlp_64_32_10_step_inputs in = {run.x, run.target};
    const mlp_64_32_10_step_outputs out = {&loss, NULL};

    mlp_curve_batch(&run);
    start = run.state;
    mlp_64_32_10_step(&run.state, &run.arena, &in, &out);
    plain = run.state;
    expect(step != NULL && infer != NULL, "entries are found by name");
    if (step == NULL || infer == NULL)
        return;
    run.state = start;
    expect(infer->call(&run.state, &run.arena, 0, inputs, (void *[]){output}) == STEPC_OK, "generic infer");
    expect(memcmp(&start, &run.state, sizeof start) == 0, "infer leaves the state as it was");
    for (int wanted = 0; wanted < 4; wanted++) {
        run.state = start;
        void *outputs[2] = {wanted & 1 ? &loss_again : NULL, wanted & 2 ? again : NULL};
        expect(step->call(&run.state, &run.arena, 0, inputs, outputs) == STEPC_OK, "generic step");
        expect(memcmp(&plain, &run.state, sizeof plain) == 0, "generic step updates like step()");
    }
    expect(memcmp(&loss, &loss_again, sizeof loss) == 0, "generic step gives the loss of step()");
    expect(memcmp(output, again, sizeof output) == 0, "step and infer compute the same output");
}

static void test_nan_reaches_the_loss(void)
{
    float loss = 0.0f;
    const mlp_64_32_10_step_inputs in = {run.x, run.target};
    const mlp_64_32_10_step_outputs out = {&loss, NULL};
    mlp_64_32_10_init(&run.state, &run.arena, 0);
    mlp_curve_batch(&run);
    memset(&run.state.fc2_bias[3], 0xFF, sizeof run.state.fc2_bias[3]); /* a NaN */
    expect(mlp_64_32_10_step(&run.state, &run.arena, &in, &out) == STEPC_OK, "a NaN is no error");
    expect(loss != loss, "a NaN among the logits makes the loss a NaN");
}

static void test_variables_cover_the_state(void)
{
    const stepc_model *m = &mlp_64_32_10_model;
    const stepc_variable_info *rate = stepc_find_variable(m, "learning_rate");
    float value = 0.0f;
    size_t at = 0;
    for (unsigned i = 0; i < m->variable_count; i++) {
        expect(m->variables[i].offset == at, "variables follow one another without a gap");
        at += stepc_tensor_bytes(&m->variables[i].tensor);
    }
    expect(at == m->state_bytes, "variables fill the state");
    expect(m->arena_bytes == MLP_64_32_10_ARENA_BYTES, "arena has the size of the macro");
    expect(rate != NULL && stepc_find_variable(m, "fc1") == NULL, "variables are found by their whole name");
    if (rate == NULL)
        return;
    value = 0.25f;
    stepc_write_variable(rate, &run.state, &value);
    expect(run.state.learning_rate > 0.2f, "a variable can be written by name");
    value = 0.0f;
    stepc_read_variable(rate, &run.state, &value);
    expect(value > 0.2f && value < 0.3f, "a variable can be read by name");
}

static void test_every_status_has_a_text(void)
{
    for (int i = 0; i < STEPC_STATUS_COUNT; i++)
        expect(stepc_status_text((stepc_status)i)[0] != '\0', "every status has a text");
    expect(strcmp(stepc_status_text((stepc_status)STEPC_STATUS_COUNT), "unknown status") == 0, "others are unknown");
}

int main(void)
{
    test_loss_curve_has_the_recorded_bits();
    test_bad_label_leaves_the_state();
    test_missing_input_is_refused();
    test_generic_step_is_the_step();
    test_nan_reaches_the_loss();
    test_variables_cover_the_state();
    test_every_status_has_a_text();
    return failures > 0;
}
