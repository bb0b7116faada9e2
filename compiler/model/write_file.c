/* A model into its file: the message is handed to the file as it is packed, tensors out of their own memory, so that
 * writing takes no copy of the model. What is more than a message of protobuf may be goes beside it: initializers' data
 * into PATH.data, as external data. */
#include "base/file.h"
#include "base/str.h"
#include "model/model_internal.h"

#include <limits.h>
#include <string.h>

enum {
    BUFFER = 1 << 16,
    FEWEST_BESIDE = 1024, /* bytes of a tensor that goes beside the message */
    ALIGNMENT = 64        /* of tensors in that file */
};

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Where protobuf-c puts what it packs: many short pieces, and tensors. */
struct packing {
    ProtobufCBuffer base;
    byte_sink sink;
    void *to;
    bool ok;
    size_t used;
    unsigned char buffer[BUFFER];
};

static void flush(struct packing *p)
{
    p->ok = p->ok && (p->used == 0 || p->sink(p->to, p->buffer, p->used));
    p->used = 0;
}

static void append(ProtobufCBuffer *base, size_t size, const uint8_t *bytes)
{
    struct packing *const p = (struct packing *)base;
    if (size > BUFFER - p->used)
        flush(p);
    if (size > BUFFER) {
        p->ok = p->ok && p->sink(p->to, bytes, size);
    } else {
        memcpy(p->buffer + p->used, bytes, size);
        p->used += size;
    }
}

static bool put_message(const void *message, byte_sink sink, void *to)
{
    struct arena scratch = {0};
    struct packing *const p = arena_new(&scratch, struct packing);
    p->base.append = append;
    p->sink = sink;
    p->to = to;
    p->ok = true;
    (void)protobuf_c_message_pack_to_buffer(message, &p->base);
    flush(p);
    const bool ok = p->ok;
    arena_free(&scratch);
    return ok;
}

/* ---- data beside the message ------------------------------------------------------------------------------------- */

struct beside {
    struct arena *arena;
    const char *location; /* the file's name, without its folder */
    VEC(ProtobufCBinaryData) parts;
    size_t bytes; /* with the gaps between */
};

static size_t gap_after(size_t bytes)
{
    return (ALIGNMENT - bytes % ALIGNMENT) % ALIGNMENT;
}

static bool put_parts(const void *from, byte_sink sink, void *to)
{
    static const char gap[ALIGNMENT];
    const struct beside *const b = from;
    bool ok = true;
    for (size_t i = 0; ok && i < b->parts.count; i++) {
        const size_t after = gap_after(b->parts.data[i].len);
        ok = sink(to, b->parts.data[i].data, b->parts.data[i].len) && (after == 0 || sink(to, gap, after));
    }
    return ok;
}

static void move_beside(struct beside *b, Onnx__TensorProto *t)
{
    struct arena *const a = b->arena;
    const struct model_pair where[] = {{"location", b->location},
                                       {"offset", arena_printf(a, "%zu", b->bytes)},
                                       {"length", arena_printf(a, "%zu", t->raw_data.len)}};
    enum { ENTRIES = sizeof where / sizeof *where };
    if (t->raw_data.len < FEWEST_BESIDE)
        return;
    t->external_data = arena_array(a, Onnx__StringStringEntryProto *, ENTRIES);
    t->n_external_data = ENTRIES;
    for (int i = 0; i < ENTRIES; i++)
        t->external_data[i] = write_pair(a, &where[i]);
    t->has_data_location = true;
    t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    vec_push(a, &b->parts, t->raw_data);
    b->bytes += t->raw_data.len + gap_after(t->raw_data.len);
    t->has_raw_data = false;
    t->raw_data = (ProtobufCBinaryData){0};
}

static void move_graph_beside(struct beside *b, const Onnx__GraphProto *g)
{
    for (size_t i = 0; g != NULL && i < g->n_initializer; i++)
        move_beside(b, g->initializer[i]);
}

/* Data that another model file names would be lost to it. In place they go with the message that names them. */
static bool check_beside(struct diag *d, const struct model *m, const char *path, const char *data)
{
    if (m->file != NULL && file_is_same(m->file, path))
        return true;
    vec_each(const char *, external, &m->external_files)
        if (file_is_same(external, data))
            return diag_error(d, &LOC_FILE(m->file), "cannot be written to %s: %s would replace the model's external "
                              "data", path, data);
    return true;
}

bool model_write_within(struct diag *d, const struct model *m, const char *path, size_t most)
{
    struct arena scratch = {0};
    Onnx__ModelProto *const p = model_message(&scratch, m);
    struct beside b = {.arena = &scratch, .location = arena_printf(&scratch, "%s.data", path_base(&scratch, path))};
    size_t size = protobuf_c_message_get_packed_size(&p->base);
    if (size > most) {
        move_graph_beside(&b, p->graph);
        for (size_t i = 0; i < p->n_training_info; i++) {
            move_graph_beside(&b, p->training_info[i]->initialization);
            move_graph_beside(&b, p->training_info[i]->algorithm);
        }
        size = protobuf_c_message_get_packed_size(&p->base);
    }
    const struct file_content files[] = {
        {path, put_message, &p->base, size},
        {path_join(&scratch, path_directory(&scratch, path), b.location), put_parts, &b, b.bytes}};
    bool ok = b.parts.count == 0 || check_beside(d, m, path, files[1].path);
    if (ok && size > most)
        ok = diag_error(d, &LOC_FILE(m->file),
                        "cannot be written: %zu bytes without the initializers' data, but a message ends at %zu", size,
                        most);
    else if (ok)
        ok = file_write_all(d, files, b.parts.count == 0 ? 1 : 2);
    arena_free(&scratch);
    return ok;
}

bool model_write(struct diag *d, const struct model *m, const char *path)
{
    if (str_ends_with(path, ".onnxtxt"))
        return model_write_text(d, m, path, true);
    return model_write_within(d, m, path, INT_MAX);
}
