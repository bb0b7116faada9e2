/* The first steps of a recipe on a bare Cortex-M: prints, as a line of hexadecimal digits each, the bytes of the curve
 * and of the state whose digests `stepc run --hash` prints (docs/recipes.md). feeds.h has what the steps are fed, one
 * after the other: `feeds`, a name and bytes each, and FEEDS, how many there are. */
#include STATE_HEADER

#include "feeds.h"
#include "port.h"

#include <string.h>

enum { STEPS = 5, MOST = 8 };

static STATE state;
static ARENA arena;
static union {
    unsigned char bytes[160 << 10];
    stepc_max_align align;
} values;

static void put_bytes(const void *bytes, size_t size)
{
    const unsigned char *const p = bytes;
    char text[65];
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        text[n++] = "0123456789ABCDEF"[p[i] >> 4];
        text[n++] = "0123456789ABCDEF"[p[i] & 15];
        if (n == 64 || i + 1 == size) {
            text[n] = '\0';
            port_put_text(text);
            n = 0;
        }
    }
}

static const unsigned char *feed_of(const stepc_tensor_info *input)
{
    for (int i = 0; i < FEEDS; i++)
        if (strcmp(feeds[i].name, input->name) == 0)
            return feeds[i].bytes;
    return NULL;
}

static int is_scalar(const stepc_tensor_info *t)
{
    return stepc_tensor_count(t) == 1 && t->dtype == STEPC_FLOAT;
}

static stepc_status run_step(const stepc_entry *step, size_t number)
{
    const void *inputs[MOST];
    void *outputs[MOST];
    size_t used = 0;
    if (step->input_count > MOST || step->output_count > MOST)
        return STEPC_E_ARGUMENT;
    for (unsigned i = 0; i < step->input_count; i++)
        inputs[i] = feed_of(&step->inputs[i]) + number * stepc_tensor_bytes(&step->inputs[i]);
    for (unsigned i = 0; i < step->output_count; i++) {
        outputs[i] = values.bytes + used;
        used += (stepc_tensor_bytes(&step->outputs[i]) + 15) / 16 * 16;
    }
    if (used > sizeof values.bytes)
        return STEPC_E_ARGUMENT;
    const stepc_status status = step->call(&state, &arena, 0, inputs, outputs);
    for (unsigned i = 0; i < step->output_count && status == STEPC_OK; i++)
        if (is_scalar(&step->outputs[i]))
            put_bytes(outputs[i], sizeof(float));
    return status;
}

/* The variable whose name comes next; NULL: none does. */
static const stepc_variable_info *next_variable(const stepc_variable_info *before)
{
    const stepc_variable_info *next = NULL;
    for (unsigned i = 0; i < MODEL.variable_count; i++) {
        const stepc_variable_info *const v = &MODEL.variables[i];
        if (strncmp(v->tensor.name, "stepc.random_", 13) != 0 && /* seed and counters are no variables of the model */
            (!before || strcmp(v->tensor.name, before->tensor.name) > 0) &&
            (!next || strcmp(v->tensor.name, next->tensor.name) < 0))
            next = v;
    }
    return next;
}

static void put_number(size_t n)
{
    char digits[24];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    put_bytes(digits + at, sizeof digits - at);
}

/* float[32,64] */
static void put_type(const stepc_tensor_info *t)
{
    put_bytes(stepc_dtype_name(t->dtype), strlen(stepc_dtype_name(t->dtype)));
    put_bytes("[", 1);
    for (unsigned i = 0; i < t->rank; i++) {
        if (i > 0)
            put_bytes(",", 1);
        put_number(t->dims[i]);
    }
    put_bytes("]", 2);
}

static void put_state(void)
{
    for (const stepc_variable_info *v = next_variable(NULL); v; v = next_variable(v)) {
        put_bytes(v->tensor.name, strlen(v->tensor.name) + 1);
        put_type(&v->tensor);
        stepc_read_variable(v, &state, values.bytes);
        put_bytes(values.bytes, stepc_tensor_bytes(&v->tensor));
    }
}

int main(void)
{
    const stepc_entry *const init = stepc_find_entry(&MODEL, "init"), *const step = stepc_find_entry(&MODEL, "step");
    stepc_status status = init->call(&state, &arena, 0, NULL, NULL);
    port_init();
    for (size_t i = 0; i < STEPS && status == STEPC_OK; i++)
        status = run_step(step, i);
    if (status != STEPC_OK) {
        port_put_text(stepc_status_text(status));
        return 1;
    }
    port_put_text("\n");
    put_state();
    port_put_text("\n");
    return 0;
}
