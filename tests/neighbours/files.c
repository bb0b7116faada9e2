/* What stands beside files: each model and each checkpoint of a framework with a few bytes changed, and what is read of
 * it.
 *   neighbours_files FOLDER NET FILE...: writes FOLDER/NAME.txt for each FILE; NET is the network of checkpoints
 *
 * Files of checkpoints lie in a folder `foreign`, or in one below it that is read as a whole; they are written there.
 * Of a .onnxtxt the text is changed, and its other form, of which a field is another; of a checkpoint the file; of an
 * archive (.pt, .npz) also the first file in it, with the archive around it right. A change is a byte that is next to
 * what it was, left out, there twice or 0, a word that is put in, or all that follows left out. For each: the errors
 * and warnings, or everything that was read, as a text or a hash; and what becomes of a training model that a
 * checkpoint fills. What other libraries say of JSON is not told. */
#include "../errors/mutate.h"
#include "../unit/archive.h"
#include "base/file.h"
#include "base/hash.h"
#include "change.h"
#include "devices/devices.h"
#include "engine/pipeline.h"
#include "foreign/checkpoint_internal.h"
#include "foreign/fill.h"
#include "foreign/give.h"
#include "foreign/zip.h"
#include "model/check_model.h"
#include "prepare/prepare.h"
#include "train/combine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PLACES 300 /* in a file, where it is changed */
#define MOST_FIELDS 400 /* changes of a binary model */
#define MOST_ENTRIES 64 /* of an archive */
#define GIVEN_EVERY 16  /* changes, a filled model becomes a file */

struct run {
    FILE *out;
    const char *folder, *file, *net; /* net: a training model's text */
};

/* ---- changes of bytes -------------------------------------------------------------------------------------------- */

struct words {
    const char *const *words;
    size_t count;
};

static const char *const text_words[] = {"<", "}", "=", "\"", "7", "-1", "x", "inf", "[1]", "float", ", ", "# ", ".5"};
static const char *const json_words[] = {"NaN", "-Infinity", "\"", "\\", "1", "[]", "null", "{", ", "};
#define WORDS_OF(list) ((struct words){(list), sizeof(list) / sizeof *(list)})

/* Change number `number` of `from`, NULL behind the last; *name says what it is. Each place has one of each kind. */
static unsigned char *changed(struct arena *a, struct bytes from, const struct words *w, size_t number, size_t *size,
                              const char **name)
{
    enum { NEXT, ZERO, OUT, TWICE, END, KINDS };
    const size_t kinds = KINDS + (w->count > 0), step = from.size / MOST_PLACES + 1, at = number / kinds * step,
                 kind = number % kinds;
    if (at >= from.size)
        return NULL;
    const char *const word = w->count > 0 ? w->words[number / kinds % w->count] : "";
    const size_t more = kind == KINDS ? strlen(word) : kind == TWICE, less = kind == OUT ? 1 : 0;
    unsigned char *const to = arena_alloc(a, from.size + more + 1, 1, 1);
    static const char *const names[] = {"one more", "0", "left out", "twice", "the end", "a word"};
    memcpy(to, from.data, at);
    if (kind == KINDS)
        memcpy(to + at, word, more);
    else if (kind == TWICE)
        to[at] = from.data[at];
    memcpy(to + at + more, from.data + at + less, from.size - at - less);
    if (kind == NEXT || kind == ZERO)
        to[at] = kind == NEXT ? (unsigned char)(from.data[at] + 1) : 0;
    *size = kind == END ? at : from.size + more - less;
    *name = arena_printf(a, "%zu: %s %s", at, names[kind], kind == KINDS ? word : "");
    return to;
}

/* ---- what is said ------------------------------------------------------------------------------------------------ */

/* A message, but for what jansson says in it. */
static void print_said(FILE *out, const struct diag *d)
{
    for (size_t i = 0; i < d->messages.count; i++) {
        struct diag_message m = d->messages.data[i];
        const char *const rest = strstr(m.text, "no JSON: ");
        if (rest)
            m.text = arena_strndup(d->arena, m.text, (size_t)(rest - m.text) + 7);
        fputs("    ", out);
        print_message(out, &m);
        fputc('\n', out);
    }
}

static void print_hash(FILE *out, const char *what, const void *bytes, size_t size)
{
    fprintf(out, "    %s %016llx\n", what, (unsigned long long)hash_bytes(bytes, size));
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static bool print_devices(FILE *out, struct diag *d, struct arena *a, const struct model *m,
                          const struct import_options *import)
{
    struct program *const p = model_has_devices(m) ? devices_program(a, m, import) : NULL;
    struct strbuf table = {.arena = a};
    const struct devices_options o = {.assumed = import->provisional_dim, .table = &table};
    const char *summary = NULL;
    if (p && !devices_check(d, p, &o))
        return false;
    if (p)
        fputs(strbuf_text(&table), out);
    if (p && devices_are_data_parallel(d, a, m, import, &summary) && summary)
        fprintf(out, "    %s\n", summary);
    return true;
}

static bool print_program(FILE *out, struct diag *d, struct arena *a, const struct model *m)
{
    struct map none = {.arena = a};
    const struct pipeline_options o = {.name = "net", .import = {.dims = &none, .provisional_dim = 4}};
    struct program *p;
    if (!print_devices(out, d, a, m, &o.import) || !pipeline_canonical(d, a, m, &o, &p))
        return false;
    vec_each_ptr(const struct entry, e, &p->entries) {
        const char *const text = graph_print(a, e->graph);
        print_hash(out, e->name, text, strlen(text));
    }
    return true;
}

static void read_model(const struct run *r, const char *name, const unsigned char *bytes, size_t size, bool is_text)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct model *m;
    const char *text;
    size_t length;
    char *dump = NULL;
    size_t dumped = 0;
    FILE *const out = open_memstream(&dump, &dumped);
    bool ok = is_text ? model_read_text(&d, &a, "m.onnxtxt", (const char *)bytes, size, &m)
                      : model_read_onnx(&d, &a, "m.onnx", bytes, size, &m);
    ok = ok && model_check(&d, m);
    if (ok && model_encode_text(&d, &a, m, true, &text, &length)) {
        print_hash(out, "model", text, length);
        ok = print_program(out, &d, &a, m);
    }
    fclose(out);
    fprintf(r->out, "%s: %s:\n%s", name, ok ? "accepted" : "refused", ok ? dump : "");
    print_said(r->out, &d);
    free(dump);
    arena_free(&a);
}

static void change_text(const struct run *r, struct bytes from)
{
    const struct words w = WORDS_OF(text_words);
    for (size_t i = 0;; i++) {
        struct arena a = {0};
        const char *name;
        size_t size;
        const unsigned char *const to = changed(&a, from, &w, i, &size, &name);
        if (to)
            read_model(r, name, to, size, true);
        arena_free(&a);
        if (!to)
            break;
    }
}

static void change_fields(const struct run *r, struct bytes text)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct model *m;
    struct bytes binary;
    if (model_read_text(&d, &a, "m.onnxtxt", (const char *)text.data, text.size, &m) &&
        model_encode_onnx(&d, &a, m, &binary.data, &binary.size))
        for (uint64_t i = 0; i < MOST_FIELDS; i++) {
            struct arena one = {0};
            const char *name;
            const struct bytes to = mutate(&one, binary, i, &name);
            read_model(r, arena_printf(&one, "%llu: %s", (unsigned long long)i, name), to.data, to.size, false);
            arena_free(&one);
        }
    arena_free(&a);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static void print_tensors(FILE *out, const char *what, const named_tensors *list)
{
    vec_each_ptr(const struct named_tensor, t, list)
        if (t->tensor && t->tensor->dtype != DTYPE_STRING)
            fprintf(out, "    %s %s %s rank %d of %lld: %016llx\n", what, t->name, dtype_name(t->tensor->dtype),
                    t->tensor->shape.rank, (long long)t->tensor->count,
                    (unsigned long long)hash_bytes(t->tensor->data, tensor_bytes(t->tensor)));
        else
            fprintf(out, "    %s %s\n", what, t->name);
}

static void print_numbers(FILE *out, const char *what, const checkpoint_numbers *list)
{
    fprintf(out, "    %s", what);
    vec_each_ptr(const struct checkpoint_number, n, list)
        fprintf(out, " %s=%.9g", n->key, n->value);
    fputc('\n', out);
}

static void print_names(FILE *out, const char *what, const str_list *list)
{
    fprintf(out, "    %s", what);
    vec_each(const char *, name, list)
        fprintf(out, " [%s]", name ? name : "");
    fputc('\n', out);
}

static void print_checkpoint(FILE *out, const struct checkpoint *c)
{
    print_tensors(out, "weight", &c->weights);
    print_names(out, "aliases", &c->aliases);
    print_names(out, "other names", &c->other_names);
    fprintf(out, "    is %d%d%d%d%d%d%d %s steps %.9g of %.9g epochs %.9g\n", c->ordered, c->channels_last,
            c->turned_around, c->has_optimizer, c->anonymous, c->has_schedule, c->schedule_waits,
            c->schedule_name ? c->schedule_name : "", c->steps, c->most_steps, c->epochs);
    vec_each_ptr(const struct checkpoint_parameter, p, &c->parameters) {
        fprintf(out, "    parameter %s of %zu after %.9g\n", p->name ? p->name : "?", p->group, p->steps);
        print_tensors(out, "  state", &p->state);
    }
    vec_each_ptr(const struct checkpoint_group, g, &c->groups)
        print_numbers(out, "group", &g->numbers);
    print_numbers(out, "schedule", &c->schedule);
    for (size_t i = 0; i < c->milestones.count; i++)
        fprintf(out, "    milestone %.9g\n", c->milestones.data[i]);
    print_tensors(out, "own", &c->own);
    print_names(out, "rest", &c->rest);
    print_names(out, "notes", &c->notes);
}

/* Into the training model, and out of it again. */
static bool fill_net(const struct run *r, FILE *out, struct diag *d, struct arena *a, struct checkpoint *c, bool given)
{
    struct model *m;
    struct strbuf report = {.arena = a};
    struct fill_options o = {.sums.arena = a, .weights.partial = given};
    struct filled filled = {.set.arena = a};
    const char *text;
    size_t size;
    if (!model_read_text(d, a, "net.onnxtxt", r->net, strlen(r->net), &m))
        return false;
    combine_find_sums(a, m, &o.sums);
    const bool ok = checkpoint_fill(d, a, m, c, &o, &report, &filled);
    fputs(strbuf_text(&report), out);
    if (!ok || !model_encode_text(d, a, m, false, &text, &size))
        return false;
    print_hash(out, "filled", text, size);
    fprintf(out, "    %lld steps%s\n", (long long)filled.steps, filled.nothing ? ", nothing set" : "");
    print_tensors(out, "own", &filled.own);
    const struct map none = {.arena = a};
    const char *const path =
        arena_printf(a, "%s/given.safetensors", r->folder); /* with what is missing left as it is */
    unsigned char *bytes;
    if (given && checkpoint_give(d, a, m, &none, &filled.own, filled.steps, &o.weights, path) &&
        file_read(d, a, path, FILE_MAX_BYTES, &bytes, &size))
        print_hash(out, "given", bytes, size);
    return true;
}

/* Reads one, however: from memory, or as files. */
struct reading {
    const char *path;
    const unsigned char *bytes; /* NULL: path is a file or a folder */
    size_t size;
    bool is_index; /* of TensorFlow; its data files lie beside path */
};

static bool read_bundle(struct diag *d, struct arena *a, const struct reading *from, struct checkpoint *c)
{
    struct checkpoint_reader r = {.diag = d, .arena = a, .loc = LOC_FILE(from->path), .to = c};
    struct bundle b;
    *c = (struct checkpoint){.path = from->path, .steps = NAN, .most_steps = NAN, .epochs = NAN};
    bool ok = bundle_open(d, a, "c.index", from->bytes, from->size, true, &b);
    for (size_t i = 0; ok && i < b.shards; i++) {
        const char *const data =
            arena_printf(a, "%.*s.data-%05zu-of-%05zu", (int)strlen(from->path) - 6, from->path, i, b.shards);
        unsigned char *bytes;
        size_t size;
        ok = !b.used[i] ||
             (file_read(d, a, data, FILE_MAX_BYTES, &bytes, &size) && bundle_fill(&b, "c.data", i, bytes, size));
    }
    return ok && checkpoint_add_bundle(&r, &b);
}

static void read_checkpoint(const struct run *r, const char *name, const struct reading *from, bool given)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct checkpoint c;
    const bool ok = from->is_index ? read_bundle(&d, &a, from, &c)
                    : from->bytes  ? checkpoint_parse(&d, &a, from->path, from->bytes, from->size, &c)
                                   : checkpoint_read(&d, &a, from->path, NULL, &c);
    fprintf(r->out, "%s: %s:\n", name, ok ? "accepted" : "refused");
    if (ok) {
        print_checkpoint(r->out, &c);
        if (!fill_net(r, r->out, &d, &a, &c, given))
            fputs("    does not fill\n", r->out);
    }
    print_said(r->out, &d);
    arena_free(&a);
}

/* The archive `from` with other bytes in its first entry. */
static bool archive_with(struct arena *a, struct zip *z, const unsigned char *first, size_t size, struct strbuf *to)
{
    struct entry_text entries[MOST_ENTRIES] = {{0}};
    size_t count = 0;
    vec_each_ptr(struct zip_entry, e, &z->entries) {
        const unsigned char *bytes = first;
        if (count == MOST_ENTRIES || (count > 0 && !zip_read(z, e, &bytes)))
            return false;
        entries[count] =
            (struct entry_text){.name = e->name, .bytes = (const char *)bytes, .size = count > 0 ? e->size : size};
        count++;
    }
    *to = (struct strbuf){.arena = a};
    put_archive(to, entries, count, false);
    return true;
}

static void change_entry(const struct run *r, struct bytes file)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct zip z;
    const unsigned char *bytes;
    bool more = zip_open(&d, &a, r->file, file.data, file.size, &z) && z.entries.count > 0 &&
                zip_read(&z, &z.entries.data[0], &bytes);
    for (size_t i = 0; more; i++) {
        struct arena one = {0};
        const struct words none = {0};
        const char *name;
        size_t size;
        struct strbuf archive;
        const unsigned char *const to = changed(
            &one, (struct bytes){(unsigned char *)(uintptr_t)bytes, z.entries.data[0].size}, &none, i, &size, &name);
        more = to && archive_with(&one, &z, to, size, &archive);
        if (more)
            read_checkpoint(
                r, arena_printf(&one, "in it: %s", name),
                &(struct reading){path_base(&one, r->file), (const unsigned char *)archive.text, archive.length, false},
                i % GIVEN_EVERY == 0);
        arena_free(&one);
    }
    arena_free(&a);
}

static bool put_file(const char *path, const void *bytes, size_t size)
{
    FILE *const f = fopen(path, "wb");
    const bool ok = f && fwrite(bytes, 1, size, f) == size;
    return f && fclose(f) == 0 && ok;
}

/* What is read when that file is another: the folder that it lies in, or the checkpoint of TensorFlow. */
static const char *whole_of(struct arena *a, const char *path)
{
    const char *const data = strstr(path, ".data-"), *const folder = path_directory(a, path);
    if (data)
        return arena_printf(a, "%.*s.index", (int)(data - path), path);
    return str_equal(path_base(a, folder), "foreign") ? NULL : folder;
}

static void change_checkpoint(const struct run *r, struct bytes file)
{
    struct arena a = {0};
    const struct words json = WORDS_OF(json_words), none = {0};
    const bool is_json = str_ends_with(r->file, ".json"), is_index = str_ends_with(r->file, ".index");
    const char *const whole = is_index ? NULL : whole_of(&a, r->file);
    bool more = true;
    for (size_t i = 0; more; i++) {
        struct arena one = {0};
        const char *name;
        size_t size;
        const unsigned char *const to = changed(&one, file, is_json ? &json : &none, i, &size, &name);
        more = to && (!whole || put_file(r->file, to, size));
        if (more && whole)
            read_checkpoint(r, name, &(struct reading){.path = whole}, i % GIVEN_EVERY == 0);
        else if (more)
            read_checkpoint(r, name,
                            &(struct reading){is_index ? r->file : path_base(&one, r->file), to, size, is_index},
                            i % GIVEN_EVERY == 0);
        arena_free(&one);
    }
    if (whole && !put_file(r->file, file.data, file.size))
        printf("%s: cannot be written\n", r->file);
    arena_free(&a);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static bool write_file(const char *folder, const char *file, const char *net)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    struct bytes bytes;
    const char *name =
        arena_printf(&a, "%s/%s_%s.txt", folder, path_base(&a, path_directory(&a, file)), path_base(&a, file));
    struct run r = {.folder = folder, .file = file, .net = net};
    const bool ok =
        file_read(&d, &a, file, FILE_MAX_BYTES, &bytes.data, &bytes.size) && (r.out = fopen(name, "w")) != NULL;
    diag_print(&d, stderr);
    if (ok && str_ends_with(file, ".onnxtxt")) {
        change_text(&r, bytes);
        change_fields(&r, bytes);
    } else if (ok) {
        change_checkpoint(&r, bytes);
        if (zip_is_one(bytes.data, bytes.size))
            change_entry(&r, bytes);
    }
    arena_free(&a);
    return ok && fclose(r.out) == 0;
}

/* The network of the folder `foreign`, as prepare makes a training model of it. */
static bool make_net(struct diag *d, struct arena *a, const char *path, const char **text)
{
    struct map *const none = arena_new(a, struct map);
    none->arena = a;
    struct strbuf report = {.arena = a};
    const struct import_options import = {.dims = none, .shapes = none, .bounds = none};
    struct prepare_options o = {
        .loss = LOSS_SOFTMAX_CROSS_ENTROPY, .class_axis = 1, .learning_rate = -1, .first_step = -1, .import = &import};
    struct model *m;
    size_t size;
    return optimizer_parse(d, a, "adam", &o.optimizer) && schedule_parse(d, a, "step:every=3,gamma=0.5", &o.schedule) &&
           model_read(d, a, path, &m) && prepare_model(d, a, m, &o, &report) &&
           model_encode_text(d, a, m, false, text, &size);
}

int main(int argc, char **argv)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    const char *net;
    if (argc < 4) {
        fprintf(stderr, "usage: neighbours_files FOLDER NET FILE...\n");
        return 2;
    }
    bool ok = make_net(&d, &a, argv[2], &net);
    diag_print(&d, stderr);
    for (int i = 3; ok && i < argc; i++)
        ok = write_file(argv[1], argv[i], net);
    arena_free(&a);
    return !ok;
}
