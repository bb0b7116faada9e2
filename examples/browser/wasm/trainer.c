/* What the page can call in net.wasm: the entries of the program that stepc has made, and its state as a file by the
 * runtime's checkpoints. Nothing here knows the network: net_model says which tensors there are, and how large. Memory
 * for them is taken once, by start(); the page writes a batch there, calls, and reads the results. */
#include "checkpoint.h"
#include "net.h"

#include <string.h>

#define EXPORT(name) __attribute__((export_name(name)))

enum { WASM_PAGE = 65536, ALIGNMENT = 64, NO_MEMORY = STEPC_STATUS_COUNT };
enum { STEP_READS = 1, STEP_WRITES = 2, INFER_READS = 4, INFER_WRITES = 8 };
/* A file may have more in it than the state: what `stepc run` notes beside it, under names of its own. */
enum { NOTES = 4096 };

static net_state state;
static net_arena arena;

/* An input or output as the page reads it: five words. Inputs of one name are one tensor. */
typedef struct tensor {
    const char *name;
    uint32_t dtype, count, uses;
    void *data;
} tensor;

static tensor *tensors;
static unsigned tensor_count;

/* An entry, and where its inputs and outputs are. */
typedef struct call {
    const stepc_entry *entry;
    const void **inputs;
    void **outputs;
} call;

static call step_call, infer_call;

/* Where the optimizer counts its steps, from `first` on; NULL: it does not, and they are counted in `steps`. */
static const stepc_variable_info *counter;
static int64_t first;
static uint32_t steps;

/* A state that is saved or loaded: storage of one slot, and how much of it is in use. */
static unsigned char *file;
static size_t file_room, file_bytes;
static void *work;
static size_t work_bytes;

EXPORT("status_text") const char *status_text(unsigned status)
{
    return status == NO_MEMORY ? "the browser has no memory left" : stepc_status_text((stepc_status)status);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Zeros behind everything else in the module's memory, which grows by whole pages; NULL: it does not any more. */
static void *take(size_t bytes)
{
    static unsigned char *next;
    static size_t left;
    if (bytes > SIZE_MAX / 2)
        return NULL;
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded > left) {
        const size_t pages = (rounded - left + WASM_PAGE - 1) / WASM_PAGE;
        const size_t before = __builtin_wasm_memory_grow(0, pages);
        if (before == SIZE_MAX)
            return NULL;
        next = next != NULL ? next : (unsigned char *)(before * WASM_PAGE);
        left += pages * WASM_PAGE;
    }
    void *const taken = next;
    next += rounded;
    left -= rounded;
    return taken;
}

/* The elements of a tensor, or NULL where there is no memory. */
static void *place(const stepc_tensor_info *info, uint32_t use)
{
    const uint32_t count = (uint32_t)stepc_tensor_count(info);
    tensor *t = tensors;
    while (t < tensors + tensor_count &&
           (strcmp(t->name, info->name) != 0 || t->dtype != (uint32_t)info->dtype || t->count != count))
        t++;
    if (t == tensors + tensor_count) {
        *t = (tensor){info->name, info->dtype, count, 0, take(stepc_tensor_bytes(info))};
        tensor_count++;
    }
    t->uses |= use;
    return t->data;
}

/* Of a step the page sees the scalars: its loss. What only other outputs need is not computed. */
static stepc_status prepare(call *c, const char *name, uint32_t reads, uint32_t writes)
{
    c->entry = stepc_find_entry(&net_model, name);
    if (c->entry == NULL)
        return STEPC_E_NOT_FOUND;
    c->inputs = take(c->entry->input_count * sizeof *c->inputs);
    c->outputs = take(c->entry->output_count * sizeof *c->outputs);
    if (c->inputs == NULL || c->outputs == NULL)
        return NO_MEMORY;
    for (unsigned i = 0; i < c->entry->input_count; i++) {
        c->inputs[i] = place(&c->entry->inputs[i], reads);
        if (c->inputs[i] == NULL)
            return NO_MEMORY;
    }
    for (unsigned i = 0; i < c->entry->output_count; i++) {
        if (writes == STEP_WRITES && c->entry->outputs[i].rank > 0)
            continue;
        c->outputs[i] = place(&c->entry->outputs[i], writes);
        if (c->outputs[i] == NULL)
            return NO_MEMORY;
    }
    return STEPC_OK;
}

static unsigned most_tensors(void)
{
    unsigned most = 0;
    for (unsigned i = 0; i < net_model.entry_count; i++)
        most += net_model.entries[i].input_count + net_model.entries[i].output_count;
    return most;
}

/* A variable of that name may be any other, too. */
static const stepc_variable_info *find_counter(void)
{
    const stepc_variable_info *const v = stepc_find_variable(&net_model, "step_count");
    return v != NULL && v->tensor.dtype == STEPC_INT64 && v->tensor.rank == 0 ? v : NULL;
}

/* Before everything else. Addresses stay what they are afterwards. */
EXPORT("start") unsigned start(void)
{
    counter = find_counter();
    const size_t bytes = stepc_checkpoint_bytes(&net_model, 1);
    tensors = take(most_tensors() * sizeof *tensors);
    file_room = bytes + NOTES;
    file = bytes > 0 ? take(file_room) : NULL; /* 0: more than size_t counts */
    work_bytes = stepc_checkpoint_work_bytes(&net_model, 1);
    work = take(work_bytes);
    if (tensors == NULL || file == NULL || work == NULL)
        return NO_MEMORY;
    const unsigned status = prepare(&step_call, "step", STEP_READS, STEP_WRITES);
    return status != STEPC_OK ? status : prepare(&infer_call, "infer", INFER_READS, INFER_WRITES);
}

EXPORT("address_of_tensors") const tensor *address_of_tensors(void)
{
    return tensors;
}

EXPORT("count_of_tensors") unsigned count_of_tensors(void)
{
    return tensor_count;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

static int64_t counted(void)
{
    int64_t count;
    memcpy(&count, (const unsigned char *)&state + counter->offset, sizeof count);
    return count;
}

static unsigned run(const call *c)
{
    return c->entry->call(&state, &arena, 0, c->inputs, c->outputs);
}

EXPORT("init") unsigned init(uint32_t seed)
{
    const unsigned status = net_init(&state, &arena, seed);
    first = counter != NULL ? counted() : 0;
    steps = 0;
    return status;
}

EXPORT("step") unsigned step(void)
{
    const unsigned status = run(&step_call);
    steps += status == STEPC_OK;
    return status;
}

EXPORT("infer") unsigned infer(void)
{
    return run(&infer_call);
}

/* How many steps the state has behind it: with the count in the state also those before it was loaded. */
EXPORT("steps_done") uint32_t steps_done(void)
{
    return counter != NULL ? (uint32_t)(counted() - first) : steps;
}

/* ---- the state as a file ----------------------------------------------------------------------------------------- */

EXPORT("address_of_file") unsigned char *address_of_file(void)
{
    return file;
}

EXPORT("room_of_file") size_t room_of_file(void)
{
    return file_room;
}

EXPORT("bytes_of_file") size_t bytes_of_file(void)
{
    return file_bytes;
}

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
    if (offset > file_room || count > file_room - offset)
        return 1;
    memcpy(file + offset, bytes, count);
    file_bytes = offset + count > file_bytes ? offset + count : file_bytes;
    return 0;
}

/* A file as `stepc run --save` writes it then lies in its place. */
EXPORT("save") unsigned save(void)
{
    const stepc_storage storage = {.slot_bytes = file_room, .unit = 1, .read = read_slot, .write = write_slot};
    file_bytes = 0;
    return stepc_checkpoint_write_slot(&net_model, &state, &storage, 0, 1, work, work_bytes);
}

/* From as many bytes in the file's place. What is damaged or of another model leaves the state as it was. */
EXPORT("load") unsigned load(size_t bytes)
{
    const stepc_storage storage = {.slot_bytes = bytes, .unit = 1, .read = read_slot, .write = write_slot};
    if (bytes > file_room)
        return STEPC_E_MISMATCH;
    file_bytes = bytes;
    const unsigned status = stepc_checkpoint_read_slot(&net_model, &state, &storage, 0, NULL, work, work_bytes);
    steps = status == STEPC_OK ? 0 : steps;
    return status;
}
