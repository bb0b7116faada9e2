/* Groups as lists of parameter groups are written down: [{"params": ["*.bias"], "lr": 1e-4, "weight_decay": 0}, ...].
 * The file is not trusted. */
#include "prepare/groups.h"

#include "base/file.h"
#include <jansson.h>
#include <math.h>

enum { MOST_BYTES = 16 << 20 };

struct group_reader {
    struct diag *diag;
    struct arena *arena;
    struct loc loc;
    struct group *group;
};

static bool read_name(const struct group_reader *r, const json_t *x)
{
    if (!json_is_string(x))
        return diag_error(r->diag, &r->loc, "%s: \"params\": expected names, or patterns for names", r->group->title);
    vec_push(r->arena, &r->group->names, arena_strdup(r->arena, json_string_value(x)));
    return true;
}

static bool read_names(const struct group_reader *r, const json_t *list)
{
    if (json_is_string(list))
        return read_name(r, list);
    if (!json_is_array(list) || json_array_size(list) == 0)
        return diag_error(r->diag, &r->loc, "%s: \"params\": expected a list of names, or of patterns for names",
                          r->group->title);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!read_name(r, json_array_get(list, i)))
            return false;
    return true;
}

static bool read_amount(const struct group_reader *r, const char *key, const json_t *x, double *out)
{
    if (!json_is_number(x) || !(json_number_value(x) >= 0) || isinf(json_number_value(x)))
        return diag_error(r->diag, &r->loc, "%s: \"%s\": expected a number from 0", r->group->title, key);
    if (!isnan(*out))
        return diag_error(r->diag, &r->loc, "%s: \"%s\": the group has it twice", r->group->title, key);
    *out = json_number_value(x);
    return true;
}

static bool read_key(const struct group_reader *r, const char *key, const json_t *x)
{
    static const char *const keys[] = {"params", "lr", "learning_rate", "weight_decay"};
    const size_t count = sizeof keys / sizeof *keys;
    if (str_equal(key, keys[0]))
        return read_names(r, x);
    if (str_equal(key, keys[1]) || str_equal(key, keys[2]))
        return read_amount(r, key, x, &r->group->learning_rate);
    if (str_equal(key, keys[3]))
        return read_amount(r, key, x, &r->group->weight_decay);
    const char *const close = str_closest(key, keys, count);
    return diag_error(r->diag, &r->loc, "%s: no key '%s' of a group; %s", r->group->title, key,
                      close ? arena_printf(r->arena, "did you mean '%s'?", close)
                            : "there are: params, lr (or learning_rate), weight_decay");
}

static bool read_group(struct group_reader *r, json_t *object, struct group *out)
{
    const char *key;
    json_t *x;
    r->group = out;
    if (!json_is_object(object))
        return diag_error(r->diag, &r->loc, "%s: expected an object, {\"params\": [...], ...}", out->title);
    json_object_foreach(object, key, x) if (!read_key(r, key, x)) return false;
    if (out->names.count == 0)
        return diag_error(r->diag, &r->loc, "%s: has no \"params\", the names of its tensors", out->title);
    if (isnan(out->learning_rate) && isnan(out->weight_decay))
        return diag_error(r->diag, &r->loc, "%s: has neither \"lr\" nor \"weight_decay\"", out->title);
    return true;
}

static bool read_groups(struct group_reader *r, json_t *root, group_list *out)
{
    if (!json_is_array(root))
        return diag_error(r->diag, &r->loc, "expected a list of groups, [{\"params\": [...], \"lr\": ...}, ...]");
    for (size_t i = 0; i < json_array_size(root); i++) {
        struct group g = {
            .title = arena_printf(r->arena, "group %zu", i + 1), .learning_rate = NAN, .weight_decay = NAN};
        if (!read_group(r, json_array_get(root, i), &g))
            return false;
        g.title = arena_printf(r->arena, "@%s, group %zu", r->loc.file, i + 1);
        vec_push(r->arena, out, g);
    }
    return true;
}

static bool read_file(struct diag *d, struct arena *a, const char *path, group_list *out)
{
    struct group_reader r = {.diag = d, .arena = a, .loc = {.file = path}};
    unsigned char *bytes;
    size_t size;
    json_error_t fault;
    if (!file_read(d, a, path, MOST_BYTES, &bytes, &size))
        return false;
    json_t *const root = json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, &fault);
    if (!root) {
        r.loc.line = fault.line;
        r.loc.col = fault.column;
        return diag_error(d, &r.loc, "no JSON: %s", fault.text);
    }
    const bool ok = read_groups(&r, root, out);
    json_decref(root);
    return ok;
}

bool group_read_files(struct diag *d, struct arena *a, group_list *all)
{
    group_list out = {0};
    vec_each_ptr (const struct group, g, all) {
        if (!g->file)
            vec_push(a, &out, *g);
        else if (!read_file(d, a, g->file, &out))
            return false;
    }
    *all = out;
    return true;
}
