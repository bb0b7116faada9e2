/* Counts the instructions of a training step on a bare Cortex-M under QEMU: the second step of an emitted model, with
 * random inputs. MODEL, STATE, ARENA and STATE_HEADER name it; CLASSES bounds its integer inputs. With PROFILE,
 * compiled with trace.h in front, each kernel's share is printed as well. A tick is 40 instructions. */
#include STATE_HEADER

#include "port.h"
#include <stdbool.h>

enum { MOST_TENSORS = 8, VALUES_BYTES = 1 << 19 };

static STATE state;
static ARENA arena;
static union {
    unsigned char bytes[VALUES_BYTES];
    stepc_max_align align;
} values;
static size_t used;

static uint32_t next_random(void)
{
    static uint32_t s = 1;
    s = s * 1664525u + 1013904223u;
    return s >> 8;
}

static void *place(const stepc_tensor_info *t)
{
    unsigned char *const at = values.bytes + used;
    used += (stepc_tensor_bytes(t) + sizeof(stepc_max_align) - 1) / sizeof(stepc_max_align) * sizeof(stepc_max_align);
    return used <= VALUES_BYTES ? at : NULL;
}

static void *random_input(const stepc_tensor_info *t)
{
    void *const to = place(t);
    const size_t count = stepc_tensor_count(t);
    for (size_t i = 0; to != NULL && i < count; i++) {
        if (t->dtype == STEPC_FLOAT)
            ((float *)to)[i] = (float)next_random() / 16777216.0f; /* [0, 1) */
        else
            ((int64_t *)to)[i] = (int64_t)(next_random() % CLASSES);
    }
    return t->dtype == STEPC_FLOAT || t->dtype == STEPC_INT64 ? to : NULL;
}

static void put_instructions(const char *what, uint32_t ticks)
{
    port_put_text(what);
    port_put_text(" ");
    port_put_number(ticks * 40u);
    port_put_text("\n");
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

#ifdef PROFILE
static const char *kernel_name;
static uint32_t kernel_start;
static bool is_profiling;

static void end_kernel(void)
{
    if (is_profiling && kernel_name)
        put_instructions(kernel_name, port_ticks() - kernel_start);
    kernel_name = NULL;
}

void bench_trace(int kernel, const char *name)
{
    (void)kernel;
    end_kernel();
    kernel_name = name;
    kernel_start = port_ticks();
}
#endif

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static stepc_status run(const stepc_entry *entry)
{
    const void *inputs[MOST_TENSORS];
    void *outputs[MOST_TENSORS] = {0};
    if (entry->input_count > MOST_TENSORS || entry->output_count > MOST_TENSORS)
        return STEPC_E_ARGUMENT;
    used = 0;
    for (unsigned i = 0; i < entry->input_count; i++)
        if (!(inputs[i] = random_input(&entry->inputs[i])))
            return STEPC_E_ARGUMENT;
    for (unsigned i = 0; i < entry->output_count; i++)
        /* the loss; others are not wanted */
        if (stepc_tensor_count(&entry->outputs[i]) == 1 && !(outputs[i] = place(&entry->outputs[i])))
            return STEPC_E_ARGUMENT;
    const uint32_t start = port_ticks();
    const stepc_status status = entry->call(&state, &arena, 1, inputs, outputs);
    const uint32_t ticks = port_ticks() - start;
#ifdef PROFILE
    end_kernel();
#endif
    put_instructions(entry->name, ticks);
    return status;
}

int main(void)
{
    const stepc_entry *const init = stepc_find_entry(&MODEL, "init"), *const step = stepc_find_entry(&MODEL, "step");
    port_init();
    stepc_status status = run(init);
    if (status == STEPC_OK)
        status = run(step);
#ifdef PROFILE
    is_profiling = true;
#endif
    if (status == STEPC_OK)
        status = run(step);
    port_put_text(stepc_status_text(status));
    port_put_text("\n");
    return status == STEPC_OK ? 0 : 1;
}
