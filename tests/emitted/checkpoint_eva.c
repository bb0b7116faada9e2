/* Checkpoints of net.c on storage of which nothing is known: any bytes, and any callback may fail. Work memory is the
 * least that will do, which one checkpoint fills more than once. */
#include "net.h"

#include "__fc_builtin.h"
#include "checkpoint.h"

enum { SLOT = 16384, UNIT = 8, LEAST_WORK = 264 };

static net_state state;
static net_arena arena;
static stepc_max_align work[LEAST_WORK / sizeof(stepc_max_align)];

static int read_any(void *context, unsigned slot, size_t offset, void *bytes, size_t count)
{
    unsigned char *const to = bytes;
    (void)context, (void)slot, (void)offset;
    if (Frama_C_interval(0, 1))
        return -1;
    for (size_t i = 0; i < count; i++)
        to[i] = (unsigned char)Frama_C_interval(0, 255);
    return 0;
}

static int erase_any(void *context, unsigned slot)
{
    (void)context, (void)slot;
    return Frama_C_interval(-1, 0);
}

static int write_any(void *context, unsigned slot, size_t offset, const void *bytes, size_t count)
{
    const volatile unsigned char *const from = bytes;
    (void)context, (void)slot, (void)offset;
    for (size_t i = 0; i < count; i++)
        (void)from[i];
    return Frama_C_interval(-1, 0);
}

int main(void)
{
    const stepc_storage storage = {NULL, SLOT, UNIT, read_any, erase_any, write_any, NULL};
    const stepc_load_options partial = {.partial = 1};
    const size_t least = stepc_checkpoint_work_bytes(&net_model, UNIT);
    net_init(&state, &arena, 0);
    stepc_checkpoint_load(&net_model, &state, &storage, Frama_C_interval(0, 1) ? &partial : NULL, work, least);
    stepc_checkpoint_save(&net_model, &state, &storage, work, least);
    return 0;
}
