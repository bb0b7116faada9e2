/* What kernels stand on: headers of the runtime with register tiles and elementary functions, those that are used. With
 * --standalone their text stands where #include lines would. */
#include "emit/emit_internal.h"
#include "emit/runtime_text.h"

#include "base/str.h"
#include <stdlib.h>
#include <string.h>

/* ---- which ------------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct map_entry *)a)->key, ((const struct map_entry *)b)->key);
}

/* In the order of their names. Helpers that are no function of the runtime are the emitter's own. */
static struct map used_headers(const struct emission *e)
{
    struct map names = {.arena = e->arena};
    for (size_t i = 0; i < e->includes.count; i++)
        map_set(&names, e->includes.entries[i].key, NULL);
    for (size_t i = 0; i < e->helpers.count; i++) {
        const struct template_helper *const h = template_helper_find(&template_trees, e->helpers.entries[i].key);
        if (h)
            map_set(&names, h->file, NULL);
    }
    if (e->has_shares)
        map_set(&names, "kernels/stepc_shares.h", NULL);
    if (names.count > 0)
        qsort(names.entries, names.count, sizeof *names.entries, by_name);
    return names;
}

const char *helper_with_double(const struct emission *e)
{
    for (size_t i = 0; i < e->helpers.count; i++) {
        const struct template_helper *const h = template_helper_find(&template_trees, e->helpers.entries[i].key);
        if (h && h->has_double)
            return e->helpers.entries[i].key;
    }
    return NULL;
}

/* ---- with --standalone ------------------------------------------------------------------------------------------- */

/* The file with what it includes; each once. */
static void write_file(struct emission *e, const char *name, struct map *written)
{
    const struct runtime_file *const f = runtime_file_find(name);
    if (!f || map_has(written, f->name))
        return;
    if (!f->repeats)
        map_set(written, f->name, NULL);
    for (const struct runtime_piece *p = f->pieces;; p++) {
        strbuf_add(&e->c.text, p->text);
        if (!p->include)
            return;
        write_file(e, p->include, written);
    }
}

static void write_header(struct emission *e, const char *name, struct map *written)
{
    if (e->options->standalone)
        write_file(e, name, written);
    else
        write_line(&e->c, "#include \"%s\"", name);
}

void write_runtime_header(struct emission *e, const char *name)
{
    struct map written = {.arena = e->arena};
    write_header(e, name, &written);
}

/* ---- the section ------------------------------------------------------------------------------------------------- */

/* What the headers are to know of the options. */
static void write_settings(struct emission *e, bool has_kernels)
{
    const struct emit_options *const o = e->options;
    const bool is_own = target_is_named(o->target) && o->simd * (int)sizeof(float) == o->target->vector_bytes;
    if (o->small)
        write_line(&e->c, "#define STEPC_SMALL /* size goes before speed */");
    if (o->simd == SIMD_NONE && has_kernels)
        write_line(&e->c, "#define STEPC_FORM 0 /* numbers one by one */");
    if (o->simd > SIMD_NONE && !is_own)
        write_line(&e->c, "#define STEPC_VECTOR_BYTES %d", o->simd * (int)sizeof(float));
}

void section_includes(struct emission *e)
{
    const struct map names = used_headers(e);
    const bool has_hints = !emits_plain(e->options) && e->functions.count > 0;
    struct map written = {.arena = e->arena};
    bool has_kernels = has_hints;
    for (size_t i = 0; i < names.count; i++)
        has_kernels |= str_starts_with(names.entries[i].key, "kernels/");
    if (names.count == 0 && !has_hints && !e->options->reproducible)
        return;
    if (e->options->standalone) /* Clang asks of what is not in a header whether it is used */
        strbuf_add(&e->c.text, "\n/* ======== routines of the runtime, which this file brings along ======== */\n\n"
                               "#if defined(__clang__)\n"
                               "#pragma clang diagnostic ignored \"-Wunused-function\"\n"
                               "#endif\n\n");
    write_settings(e, has_kernels);
    if (e->options->reproducible)
        write_header(e, "kernels/stepc_reproducible.h", &written);
    if (has_hints)
        write_header(e, "kernels/stepc_compiler.h", &written);
    for (size_t i = 0; i < names.count; i++)
        write_header(e, names.entries[i].key, &written);
    if (e->options->standalone)
        strbuf_add(&e->c.text, "\n/* ======== the model ======== */\n");
}
