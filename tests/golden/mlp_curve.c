#include "mlp_curve.h"

#include <string.h>

static uint32_t next_random(mlp_curve *run)
{
    run->random = run->random * 1664525u + 1013904223u;
    return run->random >> 8;
}

/* The pixels of class c are brighter in columns c, c + 10, ...: something to learn. Every value is a multiple of
 * 2^-24, so that no rounding takes part in making the data. */
void mlp_curve_batch(mlp_curve *run)
{
    for (int i = 0; i < 32; i++) {
        const uint32_t label = next_random(run) % 10u;
        run->target[i] = (int64_t)label;
        for (uint32_t j = 0; j < 64u; j++) {
            const float noise = (float)next_random(run) / 16777216.0f;
            run->x[(uint32_t)i * 64u + j] = j % 10u == label ? noise : noise * 0.25f;
        }
    }
}

uint32_t mlp_curve_hash_bytes(uint32_t hash, const void *bytes, size_t count)
{
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ p[i]) * 16777619u;
    return hash;
}

stepc_status mlp_curve_run(mlp_curve *run)
{
    float loss = 0.0f;
    const mlp_64_32_10_step_inputs in = {run->x, run->target};
    const mlp_64_32_10_step_outputs out = {&loss, NULL};
    stepc_status status = mlp_64_32_10_init(&run->state, &run->arena, 0);

    run->random = 1u;
    run->hash = 2166136261u;
    for (int i = 0; i < MLP_CURVE_STEPS && status == STEPC_OK; i++) {
        mlp_curve_batch(run);
        status = mlp_64_32_10_step(&run->state, &run->arena, &in, &out);
        run->hash = mlp_curve_hash_bytes(run->hash, &loss, sizeof loss);
    }
    run->hash = mlp_curve_hash_bytes(run->hash, &run->state, sizeof run->state);
    memcpy(&run->last_loss, &loss, sizeof loss);
    return status;
}
