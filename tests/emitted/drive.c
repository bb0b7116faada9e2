#include "drive.h"

#include <string.h>

typedef struct driver {
    const stepc_model *model;
    const drive_memory *memory;
    size_t used;   /* of memory->values */
    uint32_t random, hash;
} driver;

static uint32_t next_random(driver *d)
{
    d->random = d->random * 1664525u + 1013904223u;
    return d->random >> 8;
}

static void hash_bytes(driver *d, const void *bytes, size_t count)
{
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t i = 0; i < count; i++)
        d->hash = (d->hash ^ p[i]) * 16777619u;
}

static void fill_float(driver *d, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)next_random(d) / 8388608.0f - 1.0f; /* [-1, 1), exact */
}

/* Labels and indices: 0 or 1 fits every axis of two or more. Bytes are 0 or 1 as well, which fits bool. */
static void fill_integers(driver *d, unsigned char *to, size_t count, size_t size)
{
    static const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    memset(to, 0, count * size);
    for (size_t i = 0; i < count; i++)
        to[i * size + (first ? 0 : size - 1)] = (unsigned char)(next_random(d) >> 12 & 1);
}

static void *place(driver *d, const stepc_tensor_info *t)
{
    const size_t at = (d->used + sizeof(stepc_max_align) - 1) / sizeof(stepc_max_align) * sizeof(stepc_max_align);
    const size_t bytes = stepc_tensor_bytes(t);
    if (at > d->memory->values_bytes || bytes > d->memory->values_bytes - at)
        return NULL;
    d->used = at + bytes;
    return d->memory->values + at;
}

static void *place_input(driver *d, const stepc_tensor_info *t)
{
    void *values = place(d, t);
    const size_t count = stepc_tensor_count(t);
    if (values && t->dtype == STEPC_FLOAT)
        fill_float(d, (float *)values, count);
    else if (values)
        fill_integers(d, (unsigned char *)values, count, stepc_dtype_size(t->dtype));
    return values;
}

static stepc_status run_entry(driver *d, const stepc_entry *entry)
{
    const void *inputs[DRIVE_TENSORS];
    void *outputs[DRIVE_TENSORS];
    if (entry->input_count > DRIVE_TENSORS || entry->output_count > DRIVE_TENSORS)
        return STEPC_E_ARGUMENT;
    d->used = 0;
    for (unsigned i = 0; i < entry->input_count; i++)
        if (!(inputs[i] = place_input(d, &entry->inputs[i])))
            return STEPC_E_ARGUMENT;
    for (unsigned i = 0; i < entry->output_count; i++)
        if (!(outputs[i] = place(d, &entry->outputs[i])))
            return STEPC_E_ARGUMENT;
    const stepc_status status = entry->call(d->memory->state, d->memory->arena, 7, inputs, outputs);
    for (unsigned i = 0; i < entry->output_count && status == STEPC_OK; i++)
        hash_bytes(d, outputs[i], stepc_tensor_bytes(&entry->outputs[i]));
    return status;
}

/* Logical values, not the struct: a packed layout may differ between machines. */
static stepc_status hash_state(driver *d)
{
    for (unsigned i = 0; i < d->model->variable_count; i++) {
        const stepc_variable_info *v = &d->model->variables[i];
        d->used = 0;
        void *values = place(d, &v->tensor);
        if (!values)
            return STEPC_E_ARGUMENT;
        stepc_read_variable(v, d->memory->state, values);
        hash_bytes(d, values, stepc_tensor_bytes(&v->tensor));
    }
    return STEPC_OK;
}

uint32_t drive(const stepc_model *model, const drive_memory *memory, stepc_status *status)
{
    driver d = {model, memory, 0, 1, 2166136261u};
    const stepc_entry *init = stepc_find_entry(model, "init");
    memset(memory->state, 0xA5, model->state_bytes); /* what init leaves out must not matter */
    memset(memory->arena, 0x5A, model->arena_bytes);
    *status = init ? run_entry(&d, init) : STEPC_OK;
    for (int i = 0; i < DRIVE_STEPS && *status == STEPC_OK; i++)
        for (unsigned e = 0; e < model->entry_count && *status == STEPC_OK; e++)
            if (&model->entries[e] != init)
                *status = run_entry(&d, &model->entries[e]);
    if (*status == STEPC_OK)
        *status = hash_state(&d);
    return d.hash;
}
