#include "foreign/checkpoint_internal.h"

#include "base/file.h"
#include "foreign/give.h"
#include "foreign/torch_file.h"

#include <math.h>
#include <string.h>

#define OPTIMIZER_STATE "optimizer.state."
#define OPTIMIZER_GROUPS "optimizer.param_groups."

double checkpoint_number(const checkpoint_numbers *list, const char *key, double fallback)
{
    vec_each_ptr(const struct checkpoint_number, n, list)
        if (str_equal(n->key, key))
            return n->value;
    return fallback;
}

/* ---- tensors by name --------------------------------------------------------------------------------------------- */

/* "fc1.weight.exp_avg" -> "fc1.weight", "exp_avg". */
static const char *split_name(struct arena *a, const char *text, const char **key)
{
    const char *const dot = strrchr(text, '.');
    *key = dot ? dot + 1 : text;
    return dot ? arena_strndup(a, text, (size_t)(dot - text)) : "";
}

/* *found: name -> its index + 1. */
static struct checkpoint_parameter *parameter_of(struct checkpoint_reader *r, struct map *found, const char *name)
{
    struct checkpoint *const c = r->to;
    if (!map_has(found, name)) {
        vec_push(r->arena, &c->parameters,
                 ((struct checkpoint_parameter){.name = name, .group = c->groups.count, .steps = NAN}));
        vec_push(r->arena, &c->groups, ((struct checkpoint_group){.count = 1}));
        map_set(found, name, (void *)(uintptr_t)c->parameters.count);
    }
    return &c->parameters.data[(size_t)(uintptr_t)map_get(found, name) - 1];
}

/* As foreign/give.h writes them: each parameter is a group of its own. */
bool checkpoint_add_tensors(struct checkpoint_reader *r, const named_tensors *tensors)
{
    struct map found = {.arena = r->arena};
    vec_each_ptr(const struct named_tensor, t, tensors) {
        const bool is_state = str_starts_with(t->name, OPTIMIZER_STATE),
                   is_group = str_starts_with(t->name, OPTIMIZER_GROUPS);
        const char *key;
        if (str_starts_with(t->name, GIVEN_OWN)) {
            vec_push(r->arena, &r->to->own, *t);
            if (str_equal(t->name, GIVEN_STEPS) && t->tensor->count == 1 && dtype_is_int(t->tensor->dtype))
                r->to->steps = (double)tensor_get_int(t->tensor, 0);
            continue;
        }
        if (!is_state && !is_group) {
            vec_push(r->arena, &r->to->weights, *t);
            continue;
        }
        const char *const text = t->name + strlen(is_state ? OPTIMIZER_STATE : OPTIMIZER_GROUPS);
        struct checkpoint_parameter *const p = parameter_of(r, &found, split_name(r->arena, text, &key));
        const bool is_number = t->tensor->count == 1 && dtype_is_float(t->tensor->dtype);
        r->to->has_optimizer = true;
        if (is_group && is_number)
            vec_push(r->arena, &r->to->groups.data[p->group].numbers,
                     ((struct checkpoint_number){key, tensor_get_double(t->tensor, 0)}));
        else if (str_equal(key, "step") && is_number)
            p->steps = tensor_get_double(t->tensor, 0);
        else
            vec_push(r->arena, &p->state, ((struct named_tensor){key, t->tensor}));
    }
    return true;
}

/* ---- which reader ------------------------------------------------------------------------------------------------ */

static bool begins_with(const char *path, const char *bytes, size_t count)
{
    unsigned char first[16];
    size_t size;
    return file_begin(path, first, sizeof first, &size) && size >= count && memcmp(first, bytes, count) == 0;
}

static bool is_archive(const char *path)
{
    return begins_with(path, "PK\x03\x04", 4) || begins_with(path, "PK\x05\x06", 4);
}

static bool is_old_torch(const char *path)
{
    return begins_with(path, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20", 10);
}

/* A map of MessagePack, whose first key is a text. */
static bool begins_with_map(const unsigned char *bytes, size_t size)
{
    const size_t key = size == 0 ? 0 : bytes[0] == 0xde ? 3 : bytes[0] == 0xdf ? 5 : (bytes[0] & 0xf0) == 0x80 ? 1 : 0;
    return key > 0 && key < size && ((bytes[key] & 0xe0) == 0xa0 || (bytes[key] >= 0xd9 && bytes[key] <= 0xdb));
}

/* Of flax: FILE.msgpack, or "checkpoint_100", as flax.training.checkpoints calls its files, and people theirs. */
static bool is_flax(const char *path, const unsigned char *bytes, size_t size)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path,
                      *const digits = str_starts_with(name, "checkpoint_") ? name + strlen("checkpoint_") : "";
    return str_ends_with(path, ".msgpack") || (digits[0] != '\0' && digits[strspn(digits, "0123456789")] == '\0' &&
                                               begins_with_map(bytes, size));
}

/* ONNX Runtime's, a FlatBuffer: known to be refused. */
static bool is_of_runtime(const unsigned char *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes + 4, "ODTC", 4) == 0;
}

bool checkpoint_is_one(const char *path)
{
    static const char *const endings[] = {".safetensors", ".npz", ".pt", ".pth", ".index.json"};
    struct arena scratch = {0};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (str_ends_with(path, endings[i]))
            return true;
    const char *named_by;
    const bool is_tensorflows = tensorflow_prefix(&scratch, path, &named_by) != NULL;
    arena_free(&scratch);
    unsigned char first[16];
    size_t size = 0;
    const bool is_file = file_begin(path, first, sizeof first, &size);
    return is_tensorflows || file_is_directory(path) || is_archive(path) || is_old_torch(path) ||
           is_flax(path, first, is_file ? size : 0) || (is_file && is_of_runtime(first, size));
}

/* By its name, else one of torch.save. */
static bool add_bytes(struct checkpoint_reader *r, const char *path, const unsigned char *bytes, size_t size)
{
    named_tensors tensors = {0};
    const struct pickle_value *root;
    r->loc = LOC_FILE(path);
    if (str_ends_with(path, ".safetensors"))
        return safetensors_parse(r->diag, r->arena, path, bytes, size, &tensors) && checkpoint_add_tensors(r, &tensors);
    if (str_ends_with(path, ".npz"))
        return checkpoint_add_npz(r, path, bytes, size);
    if (is_flax(path, bytes, size))
        return checkpoint_add_flax(r, bytes, size);
    if (is_of_runtime(bytes, size))
        return diag_error(r->diag, &r->loc,
                          "a checkpoint of ONNX Runtime's training cannot be read; its CheckpointState gives the "
                          "parameters, and generate_artifacts() was given a model that has those at the beginning");
    return torch_parse(r->diag, r->arena, path, bytes, size, &root) && checkpoint_add_saved(r, root);
}

bool checkpoint_open(struct checkpoint_reader *r, struct arena *a, const char *path, size_t limit,
                     unsigned char **bytes, size_t *size)
{
    vec_push(r->arena, &r->to->files, path);
    return str_equal(path, r->to->path) ? file_read(r->diag, a, path, limit, bytes, size)
                                        : file_read_regular(r->diag, a, path, limit, bytes, size);
}

bool checkpoint_add_file(struct checkpoint_reader *r, const char *path)
{
    struct arena scratch = {0};
    unsigned char *bytes;
    size_t size;
    const bool ok =
        checkpoint_open(r, &scratch, path, FILE_MAX_BYTES, &bytes, &size) && add_bytes(r, path, bytes, size);
    arena_free(&scratch);
    return ok;
}

static struct checkpoint_reader begin(struct diag *d, struct arena *a, const char *path, struct checkpoint *out)
{
    *out = (struct checkpoint){.path = path, .steps = NAN, .most_steps = NAN, .epochs = NAN};
    return (struct checkpoint_reader){.diag = d, .arena = a, .loc = LOC_FILE(path), .to = out};
}

static bool check_content(struct diag *d, const struct checkpoint *c)
{
    return c->weights.count > 0 || c->has_optimizer ||
           diag_error(d, &LOC_FILE(c->path),
                      "there is neither a tensor of weights nor the state of an optimizer in it");
}

bool checkpoint_parse(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                      struct checkpoint *out)
{
    struct checkpoint_reader r = begin(d, a, path, out);
    return add_bytes(&r, path, bytes, size) && check_content(d, out);
}

bool checkpoint_read(struct diag *d, struct arena *a, const char *path, struct model *m, struct checkpoint *out)
{
    struct checkpoint_reader r = begin(d, a, path, out);
    const char *named_by;
    const char *const tensorflows = tensorflow_prefix(a, path, &named_by);
    if (named_by)
        vec_push(a, &out->files, named_by);
    const bool ok = tensorflows                          ? checkpoint_add_tensorflow(&r, tensorflows)
                    : file_is_directory(path)            ? checkpoint_add_folder(&r, path)
                    : str_ends_with(path, ".index.json") ? checkpoint_add_index(&r, path)
                                                         : checkpoint_add_file(&r, path);
    if (m)
        vec_push(a, &m->checkpoints, ((struct model_source){path, out->files}));
    return ok && check_content(d, out);
}
