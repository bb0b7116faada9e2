#include "prepare/known_names.h"

#include "base/file.h"
#include "base/str.h"
#include "model/weights.h"
#include "prepare/rename.h"
#include <string.h>

#define MOST_LIST_BYTES ((size_t)64 << 20)

/* How PyTorch's exporter from 2.5 on says what an initializer was (InputKind). */
static const char value_kind[] = "pkg.torch.export.graph_signature.InputSpec.kind";

static void add_name(struct known_names *k, const char *name, enum known_kind kind)
{
    static const enum known_kind kinds[] = {KNOWN_NOTHING, KNOWN_PARAMETER, KNOWN_BUFFER, KNOWN_FROZEN};
    if (name[0] == '\0' || map_has(&k->kinds, name))
        return;
    map_set(&k->kinds, name, (void *)(uintptr_t)&kinds[kind]);
    k->parameters += kind == KNOWN_PARAMETER || kind == KNOWN_FROZEN;
}

static void add_lines(struct arena *a, const char *text, str_list *out)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        const char *first = text, *last = text + length;
        while (first < last && strchr(" \t\r", *first))
            first++;
        while (last > first && strchr(" \t\r", last[-1]))
            last--;
        if (last > first && *first != '#')
            vec_push(a, out, arena_strndup(a, first, (size_t)(last - first)));
        text += length + (text[length] == '\n');
    }
}

bool read_lines(struct diag *d, struct arena *a, const char *path, str_list *out)
{
    unsigned char *bytes;
    size_t size;
    if (!file_read(d, a, path, MOST_LIST_BYTES, &bytes, &size))
        return false;
    if (memchr(bytes, '\0', size))
        return diag_error(d, NULL, "%s: expected names of initializers, one a line", path);
    add_lines(a, (const char *)bytes, out);
    return true;
}

bool metadata_lines(struct arena *a, const struct model *m, const char *key, str_list *out)
{
    bool found = false;
    vec_each_ptr(const struct model_pair, pair, &m->metadata)
        if (str_equal(pair->key, key)) {
            found = true;
            add_lines(a, pair->value, out);
        }
    return found;
}

static bool lists_names(const char *key)
{
    static const char *const keys[] = {METADATA_PARAMETERS, METADATA_BUFFERS, METADATA_FROZEN,
                                       METADATA_FROZEN_STATISTICS, METADATA_DETACHED, METADATA_WIDENED,
                                       METADATA_LISTED_INPUTS, METADATA_TRANSPOSED};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (str_equal(key, keys[i]))
            return true;
    return false;
}

void metadata_all_names(struct arena *a, const struct model *m, str_list *out)
{
    vec_each_ptr(const struct model_pair, pair, &m->metadata)
        if (lists_names(pair->key))
            add_lines(a, pair->value, out);
}

void metadata_rename(struct arena *a, struct model *m, const struct map *to)
{
    vec_each_ptr(struct model_pair, pair, &m->metadata) {
        str_list names = {0};
        struct strbuf text = {.arena = a};
        if (!lists_names(pair->key))
            continue;
        add_lines(a, pair->value, &names);
        rename_in_list(&names, to);
        vec_each(const char *, name, &names)
            strbuf_addf(&text, "%s%s", name_at > 0 ? "\n" : "", name);
        pair->value = strbuf_text(&text);
    }
}

static void add_listed(struct arena *a, const struct model *m, const char *key, struct known_names *k,
                       enum known_kind kind)
{
    str_list names = {0};
    if (metadata_lines(a, m, key, &names))
        k->says_export = true;
    vec_each(const char *, name, &names)
        add_name(k, name, kind);
}

static void add_values(const model_pairs *pairs, const char *name, struct known_names *k)
{
    vec_each_ptr(const struct model_pair, pair, pairs) {
        if (!str_equal(pair->key, value_kind))
            continue;
        if (str_equal(pair->value, "PARAMETER"))
            add_name(k, name, KNOWN_PARAMETER);
        else if (str_equal(pair->value, "BUFFER") || str_equal(pair->value, "CONSTANT_TENSOR"))
            add_name(k, name, KNOWN_BUFFER);
    }
}

void known_names_read(struct arena *a, const struct model *m, struct known_names *out)
{
    const struct model_graph *const g = m->graph;
    *out = (struct known_names){.kinds.arena = a, .source = "the file's metadata"};
    add_listed(a, m, METADATA_FROZEN, out, KNOWN_FROZEN);
    add_listed(a, m, METADATA_PARAMETERS, out, KNOWN_PARAMETER);
    add_listed(a, m, METADATA_BUFFERS, out, KNOWN_BUFFER);
    vec_each(const struct model_initializer *, x, &g->initializers)
        add_values(&x->metadata, x->name, out);
    vec_each(const struct model_value_info *, vi, &g->inputs)
        add_values(&vi->metadata, vi->name, out);
    vec_each(const struct model_value_info *, vi, &g->value_infos)
        add_values(&vi->metadata, vi->name, out);
}

void known_names_add_parameter(struct known_names *k, const char *name)
{
    add_name(k, name, KNOWN_PARAMETER);
}

enum known_kind known_kind_of(const struct known_names *k, const char *name)
{
    const enum known_kind *const kind = map_get(&k->kinds, name);
    return kind ? *kind : KNOWN_NOTHING;
}
