/* The bytes of the digests. They belong to what users compare over years: docs/recipes.md says the same in words.
 *
 *   curve    of each step, each output that is one number of a floating type: as binary32
 *   outputs  of each step, each output: its elements in their own type
 *   state    of each variable, in the order of their names: name, NUL, type and shape as text, NUL, its elements
 *
 * Numbers are little-endian, steps and outputs in order. */
#include "cmd/run_digest.h"

#include "base/clean.h"
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>

static void add_elements(struct sha256 *s, const struct tensor *t)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    sha256_add(s, t->data, tensor_bytes(t));
#else
    const bool complex_type = t->dtype == DTYPE_COMPLEX64 || t->dtype == DTYPE_COMPLEX128;
    const size_t size = dtype_size(t->dtype) / (complex_type ? 2 : 1);
    const unsigned char *const bytes = t->data;
    for (size_t i = 0; i < tensor_bytes(t); i += size)
        for (size_t k = 0; k < size; k++)
            sha256_add(s, bytes + i + size - 1 - k, 1);
#endif
}

static void add_text(struct sha256 *s, const char *text)
{
    sha256_add(s, text, strlen(text) + 1);
}

static void add_scalar(struct sha256 *s, const struct tensor *t)
{
    struct arena a = {0};
    add_elements(s, tensor_scalar_double(&a, DTYPE_FLOAT, tensor_get_double(t, 0)));
    arena_free(&a);
}

static int by_name(const void *a, const void *b)
{
    const struct variable *const *const x = a, *const *const y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void add_state(struct sha256 *s, struct engine *e, struct arena *a)
{
    const struct program *const p = engine_program(e);
    const size_t count = p->variables.count;
    const struct variable **const sorted = arena_array(a, const struct variable *, count + 1);
    for (size_t i = 0; i < count; i++)
        sorted[i] = p->variables.data[i];
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 0; i < count; i++) {
        const struct variable *const v = sorted[i];
        add_text(s, v->name);
        add_text(s, arena_printf(a, "%s%s", dtype_name(v->dtype), shape_text(a, &v->shape)));
        add_elements(s, engine_read(e, v, a));
    }
}

static void print_digest(const char *what, struct sha256 *s)
{
    unsigned char digest[32];
    sha256_end(s, digest);
    print_text("%s ", what);
    for (size_t i = 0; i < sizeof digest; i++)
        print_text("%02x", digest[i]);
    print_text("\n");
}

void run_digest_begin(struct run_digest *d)
{
    sha256_begin(&d->curve);
    sha256_begin(&d->outputs);
}

void run_digest_step(struct run_digest *d, const struct graph *g, struct tensor *const *outputs)
{
    for (size_t i = 0; i < g->outputs.count; i++) {
        add_elements(&d->outputs, outputs[i]);
        if (outputs[i]->count == 1 && dtype_is_float(outputs[i]->dtype))
            add_scalar(&d->curve, outputs[i]);
    }
}

void run_digest_print(struct run_digest *d, struct engine *e, struct arena *a)
{
    struct sha256 state;
    sha256_begin(&state);
    add_state(&state, e, a);
    print_digest("curve", &d->curve);
    print_digest("outputs", &d->outputs);
    print_digest("state", &state);
}
