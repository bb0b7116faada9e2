/* The files of a checkpoint of TensorFlow, found by what people name: a prefix, a file of it, a folder. */
#include "foreign/checkpoint_internal.h"

#include "base/file.h"
#include "foreign/bundle.h"

#include <string.h>

enum { MOST_INDEX = 256 << 20, MOST_STATE = 1 << 20 };

/* ---- which ------------------------------------------------------------------------------------------------------- */

static bool has_index(struct arena *a, const char *prefix)
{
    return file_exists(arena_printf(a, "%s.index", prefix));
}

/* "a/ckpt-1.data-00000-of-00002" -> "a/ckpt-1"; NULL: it ends otherwise. */
static const char *prefix_of_data(struct arena *a, const char *path)
{
    static const char form[] = ".data-#####-of-#####";
    const size_t n = strlen(path), length = sizeof form - 1;
    if (n <= length)
        return NULL;
    for (size_t i = 0; i < length; i++)
        if (form[i] == '#' ? !is_digit(path[n - length + i]) : path[n - length + i] != form[i])
            return NULL;
    return arena_strndup(a, path, n - length);
}

/* A text of protocol buffers. The newest is named as it stood, perhaps in a folder that was moved: it is looked for
 * beside the file, nowhere else. */
static const char *newest(struct arena *a, const char *folder, const char *list)
{
    static const char key[] = "model_checkpoint_path:";
    unsigned char first[4096];
    size_t size;
    if (!file_begin(list, first, sizeof first - 1, &size) || size < sizeof key ||
        memcmp(first, key, sizeof key - 1) != 0)
        return NULL;
    first[size] = '\0';
    const char *const begin = strchr((const char *)first, '"'), *const end = begin ? strchr(begin + 1, '"') : NULL,
                      *const line = strchr((const char *)first, '\n');
    if (!end || (line && end > line) || memchr(begin, '\\', (size_t)(end - begin)))
        return NULL;
    const char *const name = path_base(a, arena_strndup(a, begin + 1, (size_t)(end - begin - 1)));
    return name[0] == '\0' || str_equal(name, "..") || str_equal(name, ".") ? NULL : path_join(a, folder, name);
}

static const char *prefix_in_folder(struct arena *a, const char *folder, const char **named_by)
{
    const char *const places[] = {path_join(a, folder, "variables/variables"), path_join(a, folder, "variables")};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (has_index(a, places[i]))
            return places[i];
    const char *const list = path_join(a, folder, "checkpoint"), *const named = newest(a, folder, list);
    if (!named || !has_index(a, named))
        return NULL;
    *named_by = list;
    return named;
}

const char *tensorflow_prefix(struct arena *a, const char *path, const char **named_by)
{
    const char *const of_data = prefix_of_data(a, path);
    *named_by = NULL;
    if (file_is_directory(path))
        return prefix_in_folder(a, path, named_by);
    if (str_ends_with(path, ".index"))
        return arena_strndup(a, path, strlen(path) - strlen(".index"));
    if (of_data && has_index(a, of_data))
        return of_data;
    return !file_exists(path) && has_index(a, path) ? path : NULL;
}

bool orbax_is_one(struct arena *a, const char *path)
{
    static const char *const signs[] = {
        "_CHECKPOINT_METADATA", "_METADATA",        "manifest.ocdbt",  "default/_METADATA",
        "state/_METADATA",      "params/_METADATA", "items/_METADATA", "default/manifest.ocdbt"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (file_exists(path_join(a, path, signs[i])))
            return true;
    return false;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* One data file at a time is in memory. */
static bool fill_from(struct checkpoint_reader *r, struct bundle *b, const char *prefix, size_t shard)
{
    struct arena scratch = {0};
    unsigned char *bytes;
    size_t size;
    const char *const path = arena_printf(r->arena, "%s.data-%05zu-of-%05zu", prefix, shard, b->shards);
    const bool ok =
        checkpoint_open(r, &scratch, path, FILE_MAX_BYTES, &bytes, &size) && bundle_fill(b, path, shard, bytes, size);
    arena_free(&scratch);
    return ok;
}

static bool open_index(struct checkpoint_reader *r, const char *path, struct bundle *out)
{
    struct arena scratch = {0};
    unsigned char *bytes;
    size_t size;
    const bool ok = checkpoint_open(r, &scratch, path, MOST_INDEX, &bytes, &size) &&
                    bundle_open(r->diag, r->arena, path, bytes, size, false, out);
    arena_free(&scratch);
    return ok;
}

bool checkpoint_add_tensorflow(struct checkpoint_reader *r, const char *prefix)
{
    struct bundle b;
    const char *const index = arena_printf(r->arena, "%s.index", prefix);
    r->loc = LOC_FILE(index);
    if (!open_index(r, index, &b))
        return false;
    for (size_t i = 0; i < b.shards; i++)
        if (b.used[i] && !fill_from(r, &b, prefix, i))
            return false;
    return checkpoint_add_bundle(r, &b);
}
