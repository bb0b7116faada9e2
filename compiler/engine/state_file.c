#include "engine/state_file.h"

#include "base/interrupt.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* A model whose state is the items' tensors side by side. */
struct image {
    stepc_model model;
    size_t *item;         /* by variable: index of its item */
    unsigned char *state; /* in the arena */
    void *work;
    size_t work_bytes;
};

static const size_t *dims_of(struct arena *a, const struct shape *s)
{
    size_t *const dims = arena_array(a, size_t, (size_t)s->rank + 1);
    for (int i = 0; i < s->rank; i++)
        dims[i] = (size_t)s->dim[i];
    return dims;
}

static void make_image(struct arena *a, const state_items *items, struct image *out)
{
    stepc_variable_info *const variables = arena_array(a, stepc_variable_info, items->count + 1);
    size_t bytes = 0;
    unsigned count = 0;
    out->item = arena_array(a, size_t, items->count + 1);
    for (size_t i = 0; i < items->count; i++) {
        const struct state_item *const x = &items->data[i];
        if (x->tensor->count == 0)
            continue;
        variables[count] = (stepc_variable_info){
            .tensor = {x->name, (stepc_dtype)x->tensor->dtype, (unsigned)x->tensor->shape.rank,
                       dims_of(a, &x->tensor->shape)},
            .offset = bytes,
            .role = x->role};
        out->item[count++] = i;
        bytes += tensor_bytes(x->tensor);
    }
    out->model = (stepc_model){.abi = STEPC_ABI, .name = "", .fingerprint = "", .state_bytes = bytes,
                               .variable_count = count, .variables = variables};
    out->state = arena_alloc(a, bytes, 1, alignof(max_align_t));
    out->work_bytes = stepc_checkpoint_work_bytes(&out->model, 1) + (64u << 10);
    out->work = arena_alloc(a, out->work_bytes, 1, alignof(max_align_t));
}

static void *place_of(const struct image *m, unsigned v)
{
    return m->state + m->model.variables[v].offset;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

bool state_file_write(struct diag *d, struct arena *a, const char *path, const state_items *items)
{
    struct image m;
    make_image(a, items, &m);
    for (unsigned v = 0; v < m.model.variable_count; v++) {
        const struct tensor *const t = items->data[m.item[v]].tensor;
        memcpy(place_of(&m, v), t->data, tensor_bytes(t));
    }
    struct stat st;
    const bool waits = stat(path, &st) == 0 && !S_ISREG(st.st_mode); /* for the reader of a pipe: that may be ended */
    if (!waits)
        interrupt_hold();
    errno = 0;
    const stepc_status status = stepc_checkpoint_save_file(&m.model, m.state, path, m.work, m.work_bytes);
    const int error = errno;
    if (!waits)
        interrupt_release();
    errno = error;
    if (status == STEPC_OK)
        return true;
    return diag_error(d, &LOC_FILE(path), "the state cannot be written: %s",
                      errno ? strerror(errno) : "the path is too long");
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct load {
    struct arena *arena;
    const struct image *image;
    state_items *items;
    state_names *unknown;
};

static void note_outcome(void *context, stepc_load_outcome outcome, const char *name,
                         const stepc_variable_info *variable)
{
    struct load *const l = context;
    if (variable)
        l->items->data[l->image->item[variable - l->image->model.variables]].outcome = outcome;
    else if (l->unknown)
        vec_push(l->arena, l->unknown, arena_strdup(l->arena, name));
}

static bool report_failure(struct diag *d, const char *path, stepc_status status)
{
    const struct loc at = LOC_FILE(path);
    if (status == STEPC_E_IO)
        return diag_error(d, &at, "the state cannot be read: %s", errno ? strerror(errno) : "not a plain file");
    if (status == STEPC_E_MISMATCH)
        return diag_error(d, &at, "the state was written in another version of the format; this stepc reads version %u",
                          STEPC_CHECKPOINT_VERSION);
    return diag_error(d, &at, "no state: the file is cut short, damaged, or of another kind");
}

bool state_file_read(struct diag *d, struct arena *a, const char *path, state_items *items, state_names *unknown)
{
    struct image m;
    make_image(a, items, &m);
    struct load l = {a, &m, items, unknown};
    const stepc_load_options options = {.context = &l, .partial = 1, .report = note_outcome};
    for (size_t i = 0; i < items->count; i++)
        items->data[i].outcome = items->data[i].tensor->count ? STEPC_LOAD_MISSING : STEPC_LOADED;
    errno = 0;
    const stepc_status status = stepc_checkpoint_load_file(&m.model, m.state, path, &options, m.work, m.work_bytes);
    if (status != STEPC_OK)
        return report_failure(d, path, status);
    for (unsigned v = 0; v < m.model.variable_count; v++) {
        const struct state_item *const x = &items->data[m.item[v]];
        if (x->outcome == STEPC_LOADED)
            memcpy(x->tensor->data, place_of(&m, v), tensor_bytes(x->tensor));
    }
    return true;
}
