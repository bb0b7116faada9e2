/* The first steps of a recipe on a bare Cortex-M: prints the digests of the curve and of the state, as `stepc run
 * --hash` does (docs/recipes.md). feeds.h has what the steps are fed, one after the other: `feeds`, a name and bytes
 * each, and FEEDS, how many there are. */
#include STATE_HEADER

#include "base/hash.h"
#include "base/sha256_x86.h"
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

bool sha256_x86_available(void)
{
    return false;
}

void sha256_x86_blocks(uint32_t words[8], const unsigned char *p, size_t blocks)
{
    (void)words;
    (void)p;
    (void)blocks;
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

static stepc_status run_step(const stepc_entry *step, size_t number, struct sha256 *curve)
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
            sha256_add(curve, outputs[i], sizeof(float));
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

static void add_number(struct sha256 *s, size_t n)
{
    char digits[24];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    sha256_add(s, digits + at, sizeof digits - at);
}

/* float[32,64] */
static void add_type(struct sha256 *s, const stepc_tensor_info *t)
{
    sha256_add(s, stepc_dtype_name(t->dtype), strlen(stepc_dtype_name(t->dtype)));
    sha256_add(s, "[", 1);
    for (unsigned i = 0; i < t->rank; i++) {
        if (i > 0)
            sha256_add(s, ",", 1);
        add_number(s, t->dims[i]);
    }
    sha256_add(s, "]", 2);
}

static void add_state(struct sha256 *s)
{
    for (const stepc_variable_info *v = next_variable(NULL); v; v = next_variable(v)) {
        sha256_add(s, v->tensor.name, strlen(v->tensor.name) + 1);
        add_type(s, &v->tensor);
        stepc_read_variable(v, &state, values.bytes);
        sha256_add(s, values.bytes, stepc_tensor_bytes(&v->tensor));
    }
}

static void put_digest(struct sha256 *s)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char digest[32];
    char text[65];
    sha256_end(s, digest);
    for (int i = 0; i < 64; i++)
        text[i] = hex[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
    text[64] = '\0';
    port_put_text(text);
}

int main(void)
{
    struct sha256 curve, end;
    const stepc_entry *const init = stepc_find_entry(&MODEL, "init"), *const step = stepc_find_entry(&MODEL, "step");
    stepc_status status = init->call(&state, &arena, 0, NULL, NULL);
    port_init();
    sha256_begin(&curve);
    sha256_begin(&end);
    for (size_t i = 0; i < STEPS && status == STEPC_OK; i++)
        status = run_step(step, i, &curve);
    if (status != STEPC_OK) {
        port_put_text(stepc_status_text(status));
        return 1;
    }
    add_state(&end);
    put_digest(&curve);
    port_put_text(" ");
    put_digest(&end);
    port_put_text("\n");
    return 0;
}
