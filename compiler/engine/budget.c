#include "engine/budget.h"

#include "base/str.h"

static size_t bytes_of_role(const struct program *p, enum variable_role role)
{
    size_t bytes = 0;
    for (size_t i = 0; i < p->variables.count; i++)
        if (p->variables.data[i]->role == role)
            bytes += (size_t)shape_count(&p->variables.data[i]->shape) * dtype_size(p->variables.data[i]->dtype);
    return bytes;
}

static void note_state(struct diag *d, const struct loc *at, const struct program *p)
{
    static const char *const names[] = {"weights", "statistics", "optimizer", "counters"};
    struct strbuf b = {.arena = d->arena};
    for (int role = 0; role < 4; role++) {
        const size_t bytes = bytes_of_role(p, (enum variable_role)role);
        if (bytes)
            strbuf_addf(&b, "%s%s %zu", b.length ? ", " : "", names[role], bytes);
    }
    if (b.length)
        diag_note(d, at, "the state: %s bytes", strbuf_text(&b));
}

static size_t buffer_bytes(const struct buffer *b)
{
    return b->kind == BUFFER_TEMP ? (size_t)b->count * dtype_size(b->dtype) : 0;
}

/* The three largest temporaries of an entry. */
static void note_entry(struct diag *d, const struct loc *at, const char *entry, const struct plan *plan)
{
    enum { SHOWN = 3 };
    const struct lowered *l = plan->lowered;
    const struct buffer *largest[SHOWN] = {NULL};
    struct strbuf b = {.arena = d->arena};
    for (size_t i = 0; i < l->buffers.count; i++) {
        const struct buffer *x = plan->life[l->buffers.data[i]->id].first >= 0 ? l->buffers.data[i] : NULL;
        for (int k = 0; k < SHOWN && x; k++)
            if (buffer_bytes(x) > (largest[k] ? buffer_bytes(largest[k]) : 0)) {
                const struct buffer *smaller = largest[k];
                largest[k] = x;
                x = smaller;
            }
    }
    for (int k = 0; k < SHOWN && largest[k]; k++)
        strbuf_addf(&b, "%s'%s' %zu", k ? ", " : "", largest[k]->name, buffer_bytes(largest[k]));
    if (b.length)
        diag_note(d, at, "entry '%s' works in %zu bytes (at least %zu at once); the largest tensors there: %s", entry, plan->arena_bytes,
                  plan->bound_bytes, strbuf_text(&b));
}

bool budget_check(struct diag *d, const struct program *p, struct plan *const *plans, const struct emitted *text, size_t bytes)
{
    const struct loc at = LOC_FILE(p->model->file);
    const size_t need = text->state_bytes + text->arena_bytes;
    if (need <= bytes)
        return true;
    diag_error(d, &at, "--ram: state %zu and arena %zu bytes are %zu, %zu more than the %zu that there are", text->state_bytes,
               text->arena_bytes, need, need - bytes, bytes);
    note_state(d, &at, p);
    size_t largest = 0;
    for (size_t i = 1; i < p->entries.count; i++)
        if (plans[i]->arena_bytes > plans[largest]->arena_bytes)
            largest = i;
    if (p->entries.count > 0)
        note_entry(d, &at, p->entries.data[largest].name, plans[largest]);
    return false;
}
