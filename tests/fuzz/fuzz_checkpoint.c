/* libFuzzer on the reader of checkpoints. The checksums of the input are put right first, or nothing would get past
 * them; what is refused must leave the state alone.
 *   fuzz_checkpoint -max_total_time=60 CORPUS */
#include "checkpoint.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

struct state {
    float w[2][3];
    uint8_t mask[5];
    int64_t step;
};

static const size_t dims_2_3[] = {2, 3}, dims_5[] = {5};
static const stepc_variable_info variables[] = {
    {{"w", STEPC_FLOAT, 2, dims_2_3}, offsetof(struct state, w), STEPC_ROLE_WEIGHT, NULL, NULL},
    {{"mask", STEPC_BOOL, 1, dims_5}, offsetof(struct state, mask), STEPC_ROLE_STATISTIC, NULL, NULL},
    {{"step", STEPC_INT64, 0, NULL}, offsetof(struct state, step), STEPC_ROLE_COUNTER, NULL, NULL},
};
static const stepc_model model = {.abi = STEPC_ABI, .name = "m", .fingerprint = "", .state_bytes = sizeof(struct state),
                                  .variable_count = 3, .variables = variables};

struct input {
    unsigned char *bytes;
    size_t size;
};

static int read_input(void *context, unsigned slot, size_t offset, void *bytes, size_t count)
{
    const struct input *in = context;
    if (slot > 1 || offset > in->size || count > in->size - offset) /* beyond what slot_bytes says */
        abort();
    memcpy(bytes, in->bytes + offset, count);
    return 0;
}

static uint32_t crc_of(const unsigned char *bytes, size_t count)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++)
            crc = (crc >> 1) ^ (crc & 1u ? 0xEDB88320u : 0u);
    }
    return ~crc;
}

/* As long as the input's own end mark lies inside. */
static void put_checksums(unsigned char *bytes, size_t size)
{
    uint64_t end;
    uint32_t crc;
    if (size < 56)
        return;
    memcpy(&end, bytes + 24, 8);
    crc = crc_of(bytes, 36);
    memcpy(bytes + 36, &crc, 4);
    if (end < 40 || end > size - 16)
        return;
    memcpy(bytes + end, "STEPCEND\0\0\0", 12);
    crc = crc_of(bytes, end + 12);
    memcpy(bytes + end + 12, &crc, 4);
}

static stepc_status read_one(struct input *in, int partial)
{
    static unsigned char work[1024];
    const stepc_storage storage = {in, in->size, 1, read_input, NULL, NULL, NULL};
    const stepc_load_options options = {.partial = partial};
    struct state state, before;
    memset(&state, 0x5A, sizeof state);
    before = state;
    const stepc_status status = stepc_checkpoint_load(&model, &state, &storage, &options, work, sizeof work);
    if (status != STEPC_OK && memcmp(&state, &before, sizeof state) != 0)
        abort();
    for (size_t i = 0; status == STEPC_OK && !partial && i < 5; i++)
        if (state.mask[i] > 1)
            abort();
    return status;
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    struct input in = {malloc(size ? size : 1), size};
    if (in.bytes == NULL)
        return 0;
    memcpy(in.bytes, bytes, size);
    if (read_one(&in, 0) != STEPC_OK)
        put_checksums(in.bytes, size);
    if (read_one(&in, 0) == STEPC_OK && read_one(&in, 1) != STEPC_OK)
        abort();
    (void)read_one(&in, 1);
    free(in.bytes);
    return 0;
}
