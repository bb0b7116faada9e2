/* Two programs of one model, without and with --blas, take the same steps: every output and variable agrees
 * but for rounding. */
#include "called.h"
#include "plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 5, TENSORS = 16 };

static void *allocate(size_t bytes)
{
    void *p = calloc(1, bytes + 64);
    if (p == NULL)
        exit(1);
    return p;
}

static double element(const stepc_tensor_info *t, const void *values, size_t i)
{
    return t->dtype == STEPC_DOUBLE ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

/* Sums of 256 terms below 1: their rounding errors add up to some 1e-5 in float. */
static int differs(const stepc_tensor_info *t, const void *a, const void *b)
{
    const double bound = t->dtype == STEPC_DOUBLE ? 1e-12 : 1e-4;
    double most = 0, size = 0;
    if (t->dtype != STEPC_DOUBLE && t->dtype != STEPC_FLOAT)
        return memcmp(a, b, stepc_tensor_bytes(t)) != 0;
    for (size_t i = 0; i < stepc_tensor_count(t); i++) {
        most = fmax(most, fabs(element(t, a, i) - element(t, b, i)));
        size = fmax(size, fabs(element(t, a, i)));
    }
    printf("%s: %g of %g\n", t->name, most, size);
    return !(size > 0) || most > bound * fmax(size, 1.0); /* NaN or nothing but zeros: no test */
}

int main(void)
{
    const stepc_model *const models[2] = {&plain_model, &called_model};
    const stepc_entry *steps[2];
    const void *inputs[TENSORS];
    void *outputs[2][TENSORS], *states[2];
    int failures = 0;
    for (int m = 0; m < 2; m++) {
        void *arena = allocate(models[m]->arena_bytes);
        uint32_t random = 1;
        states[m] = allocate(models[m]->state_bytes);
        steps[m] = stepc_find_entry(models[m], "step");
        if (steps[m] == NULL || stepc_find_entry(models[m], "init")->call(states[m], arena, 1, NULL, NULL) != STEPC_OK)
            return 1;
        for (unsigned i = 0; i < steps[m]->input_count; i++) {
            const stepc_tensor_info *t = &steps[m]->inputs[i];
            void *values = allocate(stepc_tensor_bytes(t));
            for (size_t k = 0; k < stepc_tensor_count(t); k++) {
                random = random * 1664525u + 1013904223u;
                if (t->dtype == STEPC_DOUBLE)
                    ((double *)values)[k] = (random >> 8) / 16777216.0 - 0.5;
                else
                    ((float *)values)[k] = (float)(random >> 8) / 16777216.0f - 0.5f;
            }
            inputs[i] = values;
        }
        for (unsigned i = 0; i < steps[m]->output_count; i++)
            outputs[m][i] = allocate(stepc_tensor_bytes(&steps[m]->outputs[i]));
        for (int s = 0; s < STEPS; s++)
            if (steps[m]->call(states[m], arena, 1, inputs, outputs[m]) != STEPC_OK)
                return 1;
    }
    for (unsigned i = 0; i < steps[0]->output_count; i++)
        failures += differs(&steps[0]->outputs[i], outputs[0][i], outputs[1][i]);
    for (unsigned i = 0; i < models[0]->variable_count; i++) {
        const stepc_variable_info *v = &models[0]->variables[i];
        void *a = allocate(stepc_tensor_bytes(&v->tensor)), *b = allocate(stepc_tensor_bytes(&v->tensor));
        stepc_read_variable(v, states[0], a);
        stepc_read_variable(&models[1]->variables[i], states[1], b);
        failures += differs(&v->tensor, a, b);
    }
    return failures != 0;
}
