/* SPDX-License-Identifier: 0BSD */
#include "stepc.h"

#include <string.h>

/* ORDER STATUS */
static const char *const stepc_status_texts[STEPC_STATUS_COUNT] = {
    "no error",
    "a required argument is missing or has the wrong size",
    "a class label is out of range",
    "an index is out of range",
    "this build does not round as the reproducible mode requires",
    "the model has no entry or variable of this name",
    "reading or writing the storage failed",
    "the checkpoint is damaged",
    "the checkpoint or weights file belongs to another model or version",
    "a value that would have been stored is not finite",
    "the storage is blank: no checkpoint was ever written",
};

STEPC_FUNCTION const char *stepc_status_text(stepc_status status)
{
    const size_t i = (size_t)status;
    return i < STEPC_STATUS_COUNT ? stepc_status_texts[i] : "unknown status";
}

/* Indexed by ONNX number; holes have size 0. */
static const struct {
    const char *name;
    size_t size;
} stepc_dtypes[] = {
    {NULL, 0},      {"float", 4},   {"uint8", 1},  {"int8", 1},   {"uint16", 2}, {"int16", 2},
    {"int32", 4},   {"int64", 8},   {NULL, 0},     {"bool", 1},   {"float16", 2}, {"double", 8},
    {"uint32", 4},  {"uint64", 8},  {NULL, 0},     {NULL, 0},     {"bfloat16", 2},
    {"float8e4m3fn", 1}, {"float8e4m3fnuz", 1}, {"float8e5m2", 1}, {"float8e5m2fnuz", 1}, {"uint4", 1},
    {"int4", 1},    {"float4e2m1", 1}, {"float8e8m0", 1}, {"uint2", 1}, {"int2", 1},
};

STEPC_FUNCTION size_t stepc_dtype_size(stepc_dtype dtype)
{
    const size_t i = (size_t)dtype;
    return i < sizeof stepc_dtypes / sizeof stepc_dtypes[0] ? stepc_dtypes[i].size : 0;
}

STEPC_FUNCTION const char *stepc_dtype_name(stepc_dtype dtype)
{
    return stepc_dtype_size(dtype) > 0 ? stepc_dtypes[dtype].name : "unknown";
}

STEPC_FUNCTION size_t stepc_tensor_count(const stepc_tensor_info *tensor)
{
    size_t count = 1;
    for (unsigned i = 0; i < tensor->rank; i++)
        count *= tensor->dims[i];
    return count;
}

STEPC_FUNCTION size_t stepc_tensor_bytes(const stepc_tensor_info *tensor)
{
    return stepc_tensor_count(tensor) * stepc_dtype_size(tensor->dtype);
}

/* strcmp would be the only thing needed from libc besides memcpy and memset. */
static inline int stepc_same_text(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    return *a == *b;
}

STEPC_FUNCTION const stepc_entry *stepc_find_entry(const stepc_model *model, const char *name)
{
    for (unsigned i = 0; i < model->entry_count; i++) {
        if (stepc_same_text(model->entries[i].name, name))
            return &model->entries[i];
    }
    return NULL;
}

STEPC_FUNCTION const stepc_variable_info *stepc_find_variable(const stepc_model *model, const char *name)
{
    for (unsigned i = 0; i < model->variable_count; i++) {
        if (stepc_same_text(model->variables[i].tensor.name, name))
            return &model->variables[i];
    }
    return NULL;
}

STEPC_FUNCTION void stepc_read_variable(const stepc_variable_info *variable, const void *state, void *values)
{
    if (variable->read != NULL)
        variable->read(state, values, 0, stepc_tensor_count(&variable->tensor));
    else
        memcpy(values, (const unsigned char *)state + variable->offset, stepc_tensor_bytes(&variable->tensor));
}

STEPC_FUNCTION void stepc_write_variable(const stepc_variable_info *variable, void *state, const void *values)
{
    if (variable->write != NULL)
        variable->write(state, values, 0, stepc_tensor_count(&variable->tensor));
    else
        memcpy((unsigned char *)state + variable->offset, values, stepc_tensor_bytes(&variable->tensor));
}
