/* What the page calls in digits.wasm: training and recognition by digits.c, which stepc made of
 * examples/digits/model.onnx, and its state as a file by the runtime's checkpoints. Everything lies in buffers whose
 * addresses the page asks for once: it writes a batch there, calls, and reads the results. */
#include "checkpoint.h"
#include "digits.h"

#include <string.h>

#define EXPORT(name) __attribute__((export_name(name)))

enum { BATCH = 32, PIXELS = 64, CLASSES = 10, MOST_STATE = 64 * 1024 };

static digits_state state;
static digits_arena arena;
static float x[BATCH * PIXELS], logits[BATCH * CLASSES], loss;
static int64_t target[BATCH];

/* A state that is saved or loaded: storage of one slot, and how much of it is in use. */
static unsigned char file[MOST_STATE];
static size_t file_bytes;
static stepc_max_align work[1024 / sizeof(stepc_max_align)];

EXPORT("address_of_x") float *address_of_x(void)
{
    return x;
}

EXPORT("address_of_target") int64_t *address_of_target(void)
{
    return target;
}

EXPORT("address_of_logits") float *address_of_logits(void)
{
    return logits;
}

EXPORT("address_of_file") unsigned char *address_of_file(void)
{
    return file;
}

EXPORT("room_of_file") size_t room_of_file(void)
{
    return sizeof file;
}

EXPORT("status_text") const char *status_text(stepc_status status)
{
    return stepc_status_text(status);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

EXPORT("init") stepc_status init(uint32_t seed)
{
    return digits_init(&state, &arena, seed);
}

EXPORT("step") stepc_status step(void)
{
    const digits_step_inputs in = {.x = x, .target = target};
    const digits_step_outputs out = {.loss = &loss};
    return digits_step(&state, &arena, &in, &out);
}

EXPORT("last_loss") float last_loss(void)
{
    return loss;
}

EXPORT("infer") stepc_status infer(void)
{
    const digits_infer_inputs in = {.x = x};
    const digits_infer_outputs out = {.logits = logits};
    return digits_infer(&state, &arena, &in, &out);
}

/* How many steps the state has behind it: Adam counts them from 1. */
EXPORT("steps_done") uint32_t steps_done(void)
{
    return (uint32_t)(state.step_count - 1);
}

/* ---- the state as a file ----------------------------------------------------------------------------------------- */

static int read_slot(void *context, unsigned slot, size_t offset, void *bytes, size_t count)
{
    (void)context, (void)slot;
    if (offset > file_bytes || count > file_bytes - offset)
        return 1;
    memcpy(bytes, file + offset, count);
    return 0;
}

static int write_slot(void *context, unsigned slot, size_t offset, const void *bytes, size_t count)
{
    (void)context, (void)slot;
    if (offset > sizeof file || count > sizeof file - offset)
        return 1;
    memcpy(file + offset, bytes, count);
    file_bytes = offset + count > file_bytes ? offset + count : file_bytes;
    return 0;
}

/* A file as `stepc run --save` writes it then lies in its buffer. Returns the number of bytes, or 0. */
EXPORT("save") size_t save(void)
{
    const stepc_storage storage = {.slot_bytes = sizeof file, .unit = 1, .read = read_slot, .write = write_slot};
    file_bytes = 0;
    const stepc_status status = stepc_checkpoint_write_slot(&digits_model, &state, &storage, 0, 1, work, sizeof work);
    return status == STEPC_OK ? file_bytes : 0;
}

/* From as many bytes in the file's buffer. What is damaged or of another model leaves the state as it was. */
EXPORT("load") stepc_status load(size_t bytes)
{
    const stepc_storage storage = {.slot_bytes = bytes, .unit = 1, .read = read_slot, .write = write_slot};
    if (bytes > sizeof file)
        return STEPC_E_MISMATCH;
    file_bytes = bytes;
    return stepc_checkpoint_read_slot(&digits_model, &state, &storage, 0, NULL, work, sizeof work);
}
