#include "model/bulk.h"

#include <string.h>

enum {
    NUMBER_BYTES = 4,
    VARINT_BYTES = 10,
    LENGTH_BYTES = 5,
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_BYTES = 2,
    WIRE_32 = 5
};

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* The messages on the way to an initializer's data, and the fields that lead there. */
enum bulk_place { IN_MODEL, IN_TRAINING, IN_GRAPH, IN_INITIALIZER, OUTSIDE, DATA };

static enum bulk_place place_of(enum bulk_place in, uint32_t field)
{
    static const struct {
        enum bulk_place in;
        uint32_t field;
        enum bulk_place to;
    } steps[] = {{IN_MODEL, 7, IN_GRAPH},    {IN_MODEL, 20, IN_TRAINING},    {IN_TRAINING, 1, IN_GRAPH},
                 {IN_TRAINING, 2, IN_GRAPH}, {IN_GRAPH, 5, IN_INITIALIZER}, {IN_INITIALIZER, 9, DATA}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i].in == in && steps[i].field == field)
            return steps[i].to;
    return OUTSIDE;
}

struct bulk_source {
    struct bulk *bulk;
    struct stream *from;
};

/* The next bytes go into the message as they are. */
static bool copy(struct bulk_source *c, size_t size)
{
    struct strbuf *const to = &c->bulk->message;
    strbuf_reserve(to, size);
    if (!stream_read(c->from, to->text + to->length, size))
        return false;
    to->length += size;
    return true;
}

/* A varint of at most `most` bytes, copied too. */
static bool copy_varint(struct bulk_source *c, size_t end, size_t most, uint64_t *out)
{
    uint64_t x = 0;
    for (size_t i = 0; i < most && c->from->pos < end; i++) {
        if (!copy(c, 1))
            return false;
        const unsigned char byte = (unsigned char)c->bulk->message.text[c->bulk->message.length - 1];
        x |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *out = x;
            return true;
        }
    }
    return false;
}

/* A smaller length in as many bytes. */
static void patch_length(struct strbuf *s, size_t at, size_t bytes, size_t length)
{
    for (size_t i = 0; i < bytes; i++)
        s->text[at + i] = (char)((length >> (7 * i) & 0x7f) | (i + 1 < bytes ? 0x80 : 0));
}

static void put_number(char *to, size_t number)
{
    for (int i = 0; i < NUMBER_BYTES; i++)
        to[i] = (char)(number >> (8 * i) & 0xff);
}

static bool take_data(struct bulk_source *c, size_t length)
{
    struct bulk *const b = c->bulk;
    const ProtobufCBinaryData part = {length, arena_alloc(b->arena, length, 1, alignof(max_align_t))};
    char number[NUMBER_BYTES];
    if (!stream_read(c->from, part.data, length))
        return false;
    put_number(number, b->parts.count);
    strbuf_add_n(&b->message, number, NUMBER_BYTES);
    vec_push(b->arena, &b->parts, part);
    return true;
}

static bool cut_message(struct bulk_source *c, enum bulk_place in, size_t end);

static bool cut_bytes(struct bulk_source *c, enum bulk_place in, uint32_t field, size_t end)
{
    struct strbuf *const message = &c->bulk->message;
    const size_t at = message->length;
    const enum bulk_place place = place_of(in, field);
    uint64_t length;
    if (!copy_varint(c, end, LENGTH_BYTES, &length) || length > end - c->from->pos)
        return false;
    const size_t begin = message->length;
    if (place == OUTSIDE || (place == DATA && length < NUMBER_BYTES))
        return copy(c, (size_t)length);
    if (!(place == DATA ? take_data(c, (size_t)length) : cut_message(c, place, c->from->pos + (size_t)length)))
        return false;
    patch_length(message, at, begin - at, message->length - begin);
    return true;
}

/* Recursion ends with the places: four deep. */
static bool cut_message(struct bulk_source *c, enum bulk_place in, size_t end)
{
    while (c->from->pos < end) {
        uint64_t tag, value;
        bool ok = copy_varint(c, end, LENGTH_BYTES, &tag) && tag <= UINT32_MAX;
        if (!ok)
            return false;
        switch (tag & 7) {
        case WIRE_VARINT: ok = copy_varint(c, end, VARINT_BYTES, &value); break;
        case WIRE_64: ok = end - c->from->pos >= 8 && copy(c, 8); break;
        case WIRE_32: ok = end - c->from->pos >= 4 && copy(c, 4); break;
        case WIRE_BYTES: ok = cut_bytes(c, in, (uint32_t)tag >> 3, end); break;
        default: ok = false;
        }
        if (!ok)
            return false;
    }
    return true;
}

bool bulk_read(struct bulk *b, struct stream *from)
{
    struct bulk_source c = {b, from};
    return cut_message(&c, IN_MODEL, from->size);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

typedef bool (*each_tensor)(struct bulk *b, Onnx__TensorProto *t);

static bool each_of_graph(struct bulk *b, const Onnx__GraphProto *g, each_tensor f)
{
    bool ok = true;
    for (size_t i = 0; g != NULL && i < g->n_initializer; i++)
        ok = ok && (g->initializer[i]->raw_data.len < NUMBER_BYTES || f(b, g->initializer[i]));
    return ok;
}

static bool each_initializer(struct bulk *b, const Onnx__ModelProto *m, each_tensor f)
{
    bool ok = each_of_graph(b, m->graph, f);
    for (size_t i = 0; i < m->n_training_info; i++)
        ok = ok && each_of_graph(b, m->training_info[i]->initialization, f) &&
             each_of_graph(b, m->training_info[i]->algorithm, f);
    return ok;
}

static bool take(struct bulk *b, Onnx__TensorProto *t)
{
    char *const number = arena_array(b->arena, char, NUMBER_BYTES);
    put_number(number, b->parts.count);
    vec_push(b->arena, &b->parts, t->raw_data);
    t->raw_data = (ProtobufCBinaryData){NUMBER_BYTES, (uint8_t *)number};
    return true;
}

void bulk_take(struct bulk *b, Onnx__ModelProto *m)
{
    (void)each_initializer(b, m, take);
}

static bool restore(struct bulk *b, Onnx__TensorProto *t)
{
    size_t number = 0;
    if (t->raw_data.len != NUMBER_BYTES)
        return false;
    for (int i = 0; i < NUMBER_BYTES; i++)
        number |= (size_t)t->raw_data.data[i] << (8 * i);
    if (number >= b->parts.count)
        return false;
    t->raw_data = b->parts.data[number];
    return true;
}

bool bulk_restore(const struct bulk *b, Onnx__ModelProto *m)
{
    struct bulk view = *b;
    return each_initializer(&view, m, restore);
}
