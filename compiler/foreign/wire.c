#include "foreign/wire.h"

#include "foreign/table.h"

struct wire wire_of(const unsigned char *bytes, size_t size)
{
    return (struct wire){bytes, bytes + size, true};
}

static bool read_fixed_field(struct wire *w, int bytes, uint64_t *out)
{
    if (w->end - w->at < bytes)
        return false;
    *out = read_fixed(w->at, bytes);
    w->at += bytes;
    return true;
}

static bool read_field(struct wire *w, struct wire_field *out)
{
    uint64_t tag;
    *out = (struct wire_field){0};
    if (!read_varint(&w->at, w->end, &tag))
        return false;
    out->number = tag >> 3;
    switch (tag & 7) {
    case WIRE_NUMBER:
        out->kind = WIRE_NUMBER;
        return out->number > 0 && read_varint(&w->at, w->end, &out->value);
    case WIRE_FIXED64:
        out->kind = WIRE_FIXED64;
        return out->number > 0 && read_fixed_field(w, 8, &out->value);
    case WIRE_FIXED32:
        out->kind = WIRE_FIXED32;
        return out->number > 0 && read_fixed_field(w, 4, &out->value);
    case WIRE_BYTES:
        out->kind = WIRE_BYTES;
        if (out->number == 0 || !read_varint(&w->at, w->end, &out->value) || out->value > (uint64_t)(w->end - w->at))
            return false;
        out->bytes = w->at;
        out->size = (size_t)out->value;
        w->at += out->size;
        return true;
    default:
        return false; /* groups, which there are none of */
    }
}

bool wire_next(struct wire *w, struct wire_field *out)
{
    if (!w->ok || w->at == w->end)
        return false;
    w->ok = read_field(w, out);
    return w->ok;
}
