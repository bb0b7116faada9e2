/* A short, fixed training run of the golden program: the same bits are expected from every compiler, form of the
 * matrix products and target. */
#ifndef STEPC_TESTS_MLP_CURVE_H
#define STEPC_TESTS_MLP_CURVE_H

#include <stdint.h>

#include "mlp_64_32_10.h"

#define MLP_CURVE_STEPS 40
/* Hash of all losses and of the final state, and the bits of the last loss. */
#define MLP_CURVE_HASH 0x9365A1C7u
#define MLP_CURVE_LAST_LOSS 0x400F06BEu

typedef struct mlp_curve {
    mlp_64_32_10_state state;
    mlp_64_32_10_arena arena;
    float x[32 * 64];
    int64_t target[32];
    uint32_t random;
    uint32_t hash;
    uint32_t last_loss;
} mlp_curve;

/* Fills x and target with the next batch. */
void mlp_curve_batch(mlp_curve *run);
/* From init() on; stops at the first status that is not STEPC_OK and returns it. */
stepc_status mlp_curve_run(mlp_curve *run);
/* FNV-1a, continued from `hash`; little-endian bytes on every target that we test. */
uint32_t mlp_curve_hash_bytes(uint32_t hash, const void *bytes, size_t count);

#endif
