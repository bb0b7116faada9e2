#include "mutate.h"

#include "base/vec.h"
#include <stdbool.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { MAX_DEPTH = 12, DEEPEST = 50000, LONGEST_NAME = 100000 };

/* A field as the wire format says it, without knowledge of the schema: bytes that read as a message
 * are taken for one. */
struct field {
    uint64_t number, varint;
    int wire;
    struct bytes bytes; /* of WIRE_BYTES (no message), WIRE_32, WIRE_64 */
    bool is_message;
    VEC(struct field *) fields;
};
typedef VEC(struct field *) field_list;
typedef VEC(unsigned char) byte_list;

struct mutator {
    struct arena *arena;
    uint64_t random;
    field_list all, strings, messages; /* every field of the tree, and those that are bytes or messages */
};

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(struct mutator *m)
{
    uint64_t z = m->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static size_t below(struct mutator *m, size_t n)
{
    return n ? (size_t)(next_random(m) % n) : 0;
}

/* ---- the wire format --------------------------------------------------------------------------------------------- */

static bool read_varint(struct bytes b, size_t *at, uint64_t *x)
{
    *x = 0;
    for (int shift = 0; shift < 64 && *at < b.size; shift += 7) {
        const unsigned char c = b.data[(*at)++];
        *x |= (uint64_t)(c & 0x7F) << shift;
        if (!(c & 0x80))
            return true;
    }
    return false;
}

static bool read_message(struct arena *a, struct bytes b, int depth, struct field *out);

static bool read_value(struct arena *a, struct bytes b, size_t *at, int depth, struct field *f)
{
    uint64_t size = f->wire == WIRE_64 ? 8 : 4;
    if (f->wire == WIRE_VARINT)
        return read_varint(b, at, &f->varint);
    if (f->wire == WIRE_BYTES && !read_varint(b, at, &size))
        return false;
    if ((f->wire != WIRE_64 && f->wire != WIRE_BYTES && f->wire != WIRE_32) || size > b.size - *at)
        return false;
    f->bytes = (struct bytes){b.data + *at, (size_t)size};
    *at += (size_t)size;
    if (f->wire == WIRE_BYTES && size > 1 && depth < MAX_DEPTH)
        f->is_message = read_message(a, f->bytes, depth + 1, f);
    return true;
}

static bool read_message(struct arena *a, struct bytes b, int depth, struct field *out)
{
    struct field found = *out;
    for (size_t at = 0; at < b.size;) {
        struct field *f = arena_new(a, struct field);
        uint64_t tag;
        if (!read_varint(b, &at, &tag) || tag >> 3 == 0 || tag >> 3 > 200)
            return false;
        f->number = tag >> 3;
        f->wire = (int)(tag & 7);
        if (!read_value(a, b, &at, depth, f))
            return false;
        vec_push(a, &found.fields, f);
    }
    *out = found;
    return true;
}

static void put(struct arena *a, byte_list *out, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        vec_push(a, out, ((const unsigned char *)data)[i]);
}

static void put_varint(struct arena *a, byte_list *out, uint64_t x)
{
    for (; x >= 0x80; x >>= 7)
        vec_push(a, out, (unsigned char)(x | 0x80));
    vec_push(a, out, (unsigned char)x);
}

static void put_message(struct arena *a, byte_list *out, const struct field *m)
{
    for (size_t i = 0; i < m->fields.count; i++) {
        const struct field *f = m->fields.data[i];
        put_varint(a, out, f->number << 3 | (uint64_t)f->wire);
        if (f->wire == WIRE_VARINT) {
            put_varint(a, out, f->varint);
        } else if (f->is_message) {
            byte_list inner = {0};
            put_message(a, &inner, f);
            put_varint(a, out, inner.count);
            put(a, out, inner.data, inner.count);
        } else {
            if (f->wire == WIRE_BYTES)
                put_varint(a, out, f->bytes.size);
            put(a, out, f->bytes.data, f->bytes.size);
        }
    }
}

static void collect(struct mutator *m, struct field *f)
{
    vec_push(m->arena, &m->messages, f);
    for (size_t i = 0; i < f->fields.count; i++) {
        struct field *inner = f->fields.data[i];
        vec_push(m->arena, &m->all, inner);
        if (inner->is_message)
            collect(m, inner);
        else if (inner->wire == WIRE_BYTES)
            vec_push(m->arena, &m->strings, inner);
    }
}

/* ---- changes of fields ------------------------------------------------------------------------------------------- */

static struct field *any(struct mutator *m, const field_list *l)
{
    return l->count ? l->data[below(m, l->count)] : NULL;
}

/* A message that has fields, and one of them. */
static struct field *any_parent(struct mutator *m, size_t *at)
{
    struct field *p;
    do
        p = any(m, &m->messages);
    while (p->fields.count == 0);
    *at = below(m, p->fields.count);
    return p;
}

static const char *remove_field(struct mutator *m)
{
    size_t at;
    struct field *p = any_parent(m, &at);
    memmove(p->fields.data + at, p->fields.data + at + 1, (p->fields.count - at - 1) * sizeof *p->fields.data);
    p->fields.count--;
    return "field removed";
}

static const char *repeat_field(struct mutator *m)
{
    size_t at;
    struct field *p = any_parent(m, &at), *f = p->fields.data[at];
    const size_t times = below(m, 20) ? 1 : 3000;
    for (size_t i = 0; i < times; i++)
        vec_push(m->arena, &p->fields, f);
    return "field repeated";
}

static const char *swap_fields(struct mutator *m)
{
    size_t at;
    struct field *p = any_parent(m, &at), *f = p->fields.data[at];
    const size_t other = below(m, p->fields.count);
    p->fields.data[at] = p->fields.data[other];
    p->fields.data[other] = f;
    return "fields swapped";
}

static const char *move_field(struct mutator *m)
{
    size_t at;
    struct field *p = any_parent(m, &at), *f = p->fields.data[at], *to = any(m, &m->messages);
    if (f->is_message) /* into itself: no tree */
        return "nothing";
    vec_push(m->arena, &to->fields, f);
    return "field copied elsewhere";
}

static const uint64_t odd_numbers[] = {0, 1, 2, 7, 13, 16, 127, 255, 65536, UINT64_C(0x7FFFFFFF), UINT64_C(0x80000000),
                                       UINT64_C(0xFFFFFFFF), UINT64_C(0x100000000), UINT64_C(0x4000000000000000),
                                       UINT64_C(0x7FFFFFFFFFFFFFFF), UINT64_C(0x8000000000000000),
                                       UINT64_C(0xFFFFFFFFFFFFFFFF), UINT64_C(0xFFFFFFFFFFFFFFFE)};

static uint64_t odd_number(struct mutator *m)
{
    return odd_numbers[below(m, sizeof odd_numbers / sizeof *odd_numbers)];
}

static const char *change_number(struct mutator *m)
{
    for (int i = 0; i < 100; i++) {
        struct field *f = any(m, &m->all);
        if (f->wire == WIRE_VARINT) {
            f->varint = odd_number(m);
            return "number changed";
        }
    }
    return "nothing";
}

/* Names lead somewhere else: cycles, repeated definitions, bindings to the wrong thing, other operators. */
static const char *exchange_string(struct mutator *m)
{
    struct field *to = any(m, &m->strings), *from = any(m, &m->strings);
    for (int i = 0; to && i < 50 && (to->bytes.size > 20 || from->bytes.size > 20); i++) {
        to = any(m, &m->strings);
        from = any(m, &m->strings);
    }
    if (!to)
        return "nothing";
    to->bytes = from->bytes;
    return "name of another";
}

static const char *odd_string(struct mutator *m)
{
    static const char *const odd[] = {"", "\xC3\x28", "*/ int x; /*", "a\nb", "../../../../etc/passwd", "%s%n", "\\",
                                      "Relu", "Gradient", "If", "ai.onnx.preview.training", "main", "\xF0\x9F\x92\xA3",
                                      "float", "?\?/"};
    struct field *f = any(m, &m->strings);
    const size_t which = below(m, sizeof odd / sizeof *odd + 2);
    if (!f)
        return "nothing";
    f->bytes.size = which == 0 ? LONGEST_NAME : which == 1 ? 3 : strlen(odd[which - 2]);
    f->bytes.data = arena_array(m->arena, unsigned char, f->bytes.size + 1); /* case 1: NUL bytes */
    if (which == 0)
        memset(f->bytes.data, 'n', f->bytes.size);
    else if (which > 1)
        memcpy(f->bytes.data, odd[which - 2], f->bytes.size);
    return which == 0 ? "very long name" : which == 1 ? "name of NUL bytes" : "odd name";
}

static const char *change_size(struct mutator *m)
{
    struct field *f = any(m, &m->strings);
    if (!f || f->bytes.size == 0)
        return "nothing";
    f->bytes.size = below(m, f->bytes.size);
    return "bytes cut short";
}

/* dims, ints, numbers of elements: packed varints that nobody expects. */
static const char *odd_list(struct mutator *m)
{
    struct field *f = any(m, &m->strings);
    byte_list numbers = {0};
    const size_t count = below(m, 30) ? below(m, 5) : 4000;
    if (!f)
        return "nothing";
    for (size_t i = 0; i < count; i++)
        put_varint(m->arena, &numbers, odd_number(m));
    f->bytes = (struct bytes){numbers.data, numbers.count};
    return "odd list of numbers";
}

static const char *renumber(struct mutator *m)
{
    struct field *f = any(m, &m->all);
    f->number = 1 + below(m, 25);
    return "field number changed";
}

static const char *retype(struct mutator *m)
{
    struct field *f = any(m, &m->all);
    static const int wires[] = {WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32, 3, 4, 6};
    const int wire = wires[below(m, 7)];
    static unsigned char eight[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    if (wire == WIRE_64 || wire == WIRE_32) {
        f->is_message = false;
        f->bytes = (struct bytes){eight, wire == WIRE_64 ? 8 : 4};
    }
    if (wire == 3 || wire == 4 || wire == 6)
        f->bytes.size = 0, f->is_message = false;
    f->wire = wire;
    return "wire type changed";
}

/* The message inside itself, over and over: with the field numbers of two levels, graphs hold nodes
 * that hold graphs. */
static const char *nest(struct mutator *m)
{
    size_t at;
    struct field *p = any_parent(m, &at), *f = p->fields.data[at];
    const size_t depth = below(m, 2) ? 40 : DEEPEST;
    static const uint64_t graphs[] = {1, 5, 6}; /* GraphProto.node, NodeProto.attribute, AttributeProto.g */
    const bool as_graphs = below(m, 2);
    unsigned char *buffer = arena_array(m->arena, unsigned char, depth * 12 + 16);
    size_t start = depth * 12, end = start;
    for (size_t i = 0; i < depth; i++) { /* from the innermost: lengths are known */
        unsigned char head[16];
        byte_list tag = {0};
        put_varint(m->arena, &tag, (as_graphs ? graphs[i % 3] : f->number) << 3 | WIRE_BYTES);
        put_varint(m->arena, &tag, end - start);
        memcpy(head, tag.data, tag.count);
        start -= tag.count;
        memcpy(buffer + start, head, tag.count);
    }
    f->wire = WIRE_BYTES;
    f->is_message = false;
    f->bytes = (struct bytes){buffer + start, end - start};
    return "deep nesting";
}

static struct bytes mutate_fields(struct mutator *m, struct bytes file, const char **what)
{
    static const char *(*const changes[])(struct mutator *) = {remove_field, repeat_field, swap_fields, move_field,
                                                               change_number, change_number, exchange_string,
                                                               exchange_string, exchange_string, exchange_string,
                                                               exchange_string, exchange_string, odd_string,
                                                               change_size, odd_list, renumber, retype, nest};
    struct field top = {.is_message = true};
    byte_list out = {0};
    if (!read_message(m->arena, file, 0, &top) || top.fields.count == 0)
        return file; /* an earlier change damaged the outermost level */
    m->all = m->strings = m->messages = (field_list){0};
    collect(m, &top);
    *what = changes[below(m, sizeof changes / sizeof *changes)](m);
    put_message(m->arena, &out, &top);
    return (struct bytes){out.data, out.count};
}

/* ---- changes of bytes -------------------------------------------------------------------------------------------- */

static struct bytes mutate_bytes(struct mutator *m, struct bytes file, const char **what)
{
    struct bytes b = {arena_array(m->arena, unsigned char, file.size + 300), file.size};
    const size_t at = below(m, file.size), run = 1 + below(m, 40), size = at + run > file.size ? file.size - at : run;
    if (file.size == 0)
        return file;
    memcpy(b.data, file.data, file.size);
    switch (below(m, 5)) {
    case 0:
        *what = "cut";
        b.size = at;
        break;
    case 1:
        *what = "bits flipped";
        for (size_t i = below(m, 8) + 1; i > 0; i--)
            b.data[below(m, b.size)] ^= (unsigned char)(1u << below(m, 8));
        break;
    case 2:
        *what = "bytes overwritten";
        memset(b.data + at, (int)(unsigned char)odd_number(m), size);
        break;
    case 3:
        *what = "bytes removed";
        memmove(b.data + at, b.data + at + size, b.size - at - size);
        b.size -= size;
        break;
    default:
        *what = "bytes repeated";
        memmove(b.data + at + size, b.data + at, b.size - at);
        b.size += size;
    }
    return b;
}

struct bytes mutate(struct arena *a, struct bytes file, uint64_t seed, const char **what)
{
    struct mutator m = {.arena = a, .random = seed};
    const size_t changes = below(&m, 3) ? 1 : 2 + below(&m, 2);
    *what = "nothing";
    for (size_t i = 0; i < changes; i++)
        file = below(&m, 6) ? mutate_fields(&m, file, what) : mutate_bytes(&m, file, what);
    return file;
}
