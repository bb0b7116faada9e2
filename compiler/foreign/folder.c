/* A folder as Hugging Face's save_pretrained() and Trainer write it, and weights in shards. */
#include "foreign/checkpoint_internal.h"

#include "base/file.h"
#include "foreign/torch_file.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { MOST_JSON = 64 << 20, MOST_SHARDS = 10000 };

/* NaN, Infinity and -Infinity, which Python writes and JSON has not, become empty lists, which are no numbers: they
 * are losses of the log, for which nobody asks. */
static void mend_numbers(unsigned char *text, size_t size)
{
    static const char *const words[] = {"NaN", "Infinity"};
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        if (quoted && text[i] == '\\')
            i++;
        for (size_t w = 0; !quoted && w < 2; w++) {
            const size_t n = strlen(words[w]);
            if (size - i < n || memcmp(text + i, words[w], n) != 0)
                continue;
            memset(text + i, ' ', n);
            memcpy(text + i, "[]", 2);
            if (i > 0 && text[i - 1] == '-')
                text[i - 1] = ' ';
        }
    }
}

/* An object; to be released. NULL after an error. */
static json_t *read_json(struct checkpoint_reader *r, const char *path)
{
    unsigned char *bytes;
    size_t size;
    json_error_t fault;
    if (!checkpoint_open(r, r->arena, path, MOST_JSON, &bytes, &size))
        return NULL;
    mend_numbers(bytes, size);
    json_t *const root = json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, &fault);
    if (!root)
        diag_error(r->diag, &LOC_FILE(path), "no JSON: line %d: %s", fault.line, arena_strdup(r->arena, fault.text));
    else if (!json_is_object(root)) {
        diag_error(r->diag, &LOC_FILE(path), "no JSON object");
        json_decref(root);
        return NULL;
    }
    return root;
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

/* A file beside the index, nowhere else. */
static bool add_shard(struct checkpoint_reader *r, const char *index, const char *name)
{
    if (name[0] == '\0' || strchr(name, '/') || str_equal(name, "..") || str_ends_with(name, ".index.json"))
        return diag_error(r->diag, &LOC_FILE(index), "'%s' is no file beside it", name);
    return checkpoint_add_file(r, path_join(r->arena, path_directory(r->arena, index), name));
}

/* What the index promises, and what the shards have. */
static bool check_shards(struct checkpoint_reader *r, const char *index, const json_t *list)
{
    struct map names = {.arena = r->arena};
    const char *name;
    json_t *file;
    bool ok = true;
    vec_each_ptr(const struct named_tensor, t, &r->to->weights) {
        if (map_has(&names, t->name))
            ok = diag_error(r->diag, &LOC_FILE(index), "two shards have a tensor '%s'", t->name);
        map_set(&names, t->name, NULL);
    }
    json_object_foreach((json_t *)(uintptr_t)list, name, file)
        if (!map_has(&names, name))
            ok = diag_error(r->diag, &LOC_FILE(index), "tensor '%s' is in none of the shards",
                            arena_strdup(r->arena, name));
    return ok;
}

static bool add_shards(struct checkpoint_reader *r, const char *index, const json_t *list)
{
    struct map files = {.arena = r->arena};
    const char *name;
    json_t *file;
    json_object_foreach((json_t *)(uintptr_t)list, name, file)
    {
        if (!json_is_string(file))
            return diag_error(r->diag, &LOC_FILE(index), "the shard of '%s' is no text", arena_strdup(r->arena, name));
        if (map_has(&files, json_string_value(file)))
            continue;
        map_set(&files, json_string_value(file), NULL);
        if (files.count > MOST_SHARDS)
            return diag_error(r->diag, &LOC_FILE(index), "more than %d shards", MOST_SHARDS);
        if (!add_shard(r, index, files.entries[files.count - 1].key))
            return false;
    }
    return check_shards(r, index, list);
}

bool checkpoint_add_index(struct checkpoint_reader *r, const char *path)
{
    json_t *const root = read_json(r, path);
    const json_t *const list = root ? json_object_get(root, "weight_map") : NULL;
    bool ok = root != NULL;
    if (ok && !json_is_object(list))
        ok = diag_error(r->diag, &LOC_FILE(path), "it has no object 'weight_map'");
    ok = ok && add_shards(r, path, list);
    json_decref(root);
    r->to->ordered = false; /* shards are filled by size */
    return ok;
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

/* The first of the names that is a file there; NULL: none. */
static const char *find_file(struct arena *a, const char *folder, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        const char *const path = path_join(a, folder, names[i]);
        if (file_exists(path))
            return path;
    }
    return NULL;
}

static bool add_trainer_state(struct checkpoint_reader *r, const char *path)
{
    json_t *const root = read_json(r, path);
    if (!root)
        return false;
    const json_t *const steps = json_object_get(root, "global_step"), *const most = json_object_get(root, "max_steps");
    if (json_is_number(steps))
        r->to->steps = json_number_value(steps);
    if (json_is_number(most))
        r->to->most_steps = json_number_value(most);
    json_decref(root);
    return true;
}

static bool add_saved_part(struct checkpoint_reader *r, const char *path)
{
    struct arena scratch = {0};
    const struct pickle_value *root;
    const bool was_ordered = r->to->ordered;
    unsigned char *bytes;
    size_t size;
    r->loc = LOC_FILE(path);
    const bool ok = checkpoint_open(r, &scratch, path, FILE_MAX_BYTES, &bytes, &size) &&
                    torch_parse(r->diag, r->arena, path, bytes, size, &root) && checkpoint_add_saved(r, root);
    r->to->ordered = was_ordered;
    arena_free(&scratch);
    return ok;
}

static bool add_weights_of(struct checkpoint_reader *r, const char *folder)
{
    static const char *const files[] = {"model.safetensors",
                                        "model.safetensors.index.json",
                                        "pytorch_model.bin",
                                        "pytorch_model.bin.index.json",
                                        "model.pt",
                                        "model.pth",
                                        "flax_model.msgpack",
                                        "flax_model.msgpack.index.json",
                                        NULL};
    const char *const path = find_file(r->arena, folder, files);
    if (!path)
        return diag_error(r->diag, &LOC_FILE(folder),
                          "the folder has no weights: no model.safetensors, pytorch_model.bin, flax_model.msgpack or "
                          "index of shards, and no checkpoint of TensorFlow");
    return str_ends_with(path, ".index.json") ? checkpoint_add_index(r, path) : checkpoint_add_file(r, path);
}

bool checkpoint_add_folder(struct checkpoint_reader *r, const char *path)
{
    static const char *const optimizers[] = {"optimizer.pt", "optimizer.bin", NULL};
    static const char *const schedules[] = {"scheduler.pt", "scheduler.bin", NULL};
    static const char *const states[] = {"trainer_state.json", NULL};
    static const char *const passed_over[] = {"rng_state.pth", "random_states_0.pkl", "scaler.pt", "training_args.bin"};
    struct arena *const a = r->arena;
    if (orbax_is_one(a, path))
        return diag_error(r->diag, &LOC_FILE(path),
                          "a folder of Orbax's, which cannot be read; in Python: tree = "
                          "orbax.checkpoint.PyTreeCheckpointer().restore(FOLDER), then open('state.msgpack', "
                          "'wb').write(flax.serialization.to_bytes(tree)) writes a file that can");
    const char *const optimizer = find_file(a, path, optimizers), *const schedule = find_file(a, path, schedules),
                      *const state = find_file(a, path, states);
    if (!add_weights_of(r, path) || (state && !add_trainer_state(r, state)) ||
        (optimizer && !add_saved_part(r, optimizer)) || (schedule && !add_saved_part(r, schedule)))
        return false;
    for (size_t i = 0; i < sizeof passed_over / sizeof *passed_over; i++)
        if (file_exists(path_join(a, path, passed_over[i])))
            vec_push(a, &r->to->rest, arena_printf(a, "the file %s", passed_over[i]));
    return true;
}
