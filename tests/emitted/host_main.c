/* drive() on a host: prints the hash, or fails with the status. -DMODEL=digits_model names the descriptor. */
#include "drive.h"

#include <stdio.h>
#include <stdlib.h>

extern const stepc_model MODEL;

int main(void)
{
    const size_t bytes = (size_t)1 << 24;
    /* of the exact sizes, so that AddressSanitizer sees a write behind the end */
    const drive_memory memory = {malloc(MODEL.state_bytes), malloc(MODEL.arena_bytes), malloc(bytes), bytes};
    stepc_status status = STEPC_E_ARGUMENT;
    if (!memory.state || !memory.arena || !memory.values)
        return 1;
    const uint32_t hash = drive(&MODEL, &memory, &status);
    free(memory.state);
    free(memory.arena);
    free(memory.values);
    if (status != STEPC_OK) {
        printf("%s\n", stepc_status_text(status));
        return 1;
    }
    printf("%08lx\n", (unsigned long)hash);
    return 0;
}
