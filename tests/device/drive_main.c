/* tests/emitted/drive.c on a bare Cortex-M: prints the hash of a run. */
#include STATE_HEADER

#include "drive.h"
#include "port.h"

static STATE state;
static ARENA arena;
static union {
    unsigned char bytes[32768];
    stepc_max_align align;
} values;

int main(void)
{
    const drive_memory memory = {&state, &arena, values.bytes, sizeof values.bytes};
    stepc_status status;
    port_init();
    const uint32_t hash = drive(&MODEL, &memory, &status);
    if (status != STEPC_OK) {
        port_put_text(stepc_status_text(status));
        return 1;
    }
    port_put_hex(hash);
    port_put_text("\n");
    return 0;
}
