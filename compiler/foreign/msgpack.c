#include "foreign/msgpack.h"

#include <string.h>

enum { MOST_DEPTH = 64 };

struct packed {
    struct diag *diag;
    struct arena *arena;
    const struct loc *loc;
    const unsigned char *at, *end;
    size_t *left;
};

static bool fault(const struct packed *p, const char *text)
{
    return diag_error(p->diag, p->loc, "its MessagePack is damaged: %s", text);
}

/* High bytes first. */
static bool read_number(struct packed *p, int bytes, uint64_t *out)
{
    if (p->end - p->at < bytes)
        return fault(p, "it was cut short");
    *out = 0;
    for (int i = 0; i < bytes; i++)
        *out = *out << 8 | *p->at++;
    return true;
}

static bool read_bytes(struct packed *p, uint64_t size, struct msgpack_value *out)
{
    if (size > (uint64_t)(p->end - p->at))
        return fault(p, "it was cut short");
    out->bytes = p->at;
    out->size = (size_t)size;
    p->at += size;
    return true;
}

static bool read_value(struct packed *p, int depth, struct msgpack_value **out);

/* Memory grows with what is read, not with what is promised. */
static bool read_items(struct packed *p, uint64_t count, int depth, struct msgpack_value *out)
{
    if (count > (uint64_t)(p->end - p->at))
        return fault(p, "it was cut short");
    if (depth == MOST_DEPTH)
        return diag_error(p->diag, p->loc, "its maps are nested deeper than %d", MOST_DEPTH);
    for (uint64_t i = 0; i < count; i++) {
        struct msgpack_value *item;
        if (!read_value(p, depth + 1, &item))
            return false;
        vec_push(p->arena, &out->items, item);
    }
    return true;
}

static bool read_extension(struct packed *p, uint64_t size, struct msgpack_value *out)
{
    uint64_t type = 0;
    out->kind = MSGPACK_EXTENSION;
    if (!read_number(p, 1, &type))
        return false;
    out->type = type < 128 ? (int)type : (int)type - 256;
    return read_bytes(p, size, out);
}

static double float_of(uint64_t bits, int bytes)
{
    float narrow;
    double wide;
    const uint32_t low = (uint32_t)bits;
    memcpy(&narrow, &low, sizeof narrow);
    memcpy(&wide, &bits, sizeof wide);
    return bytes == 4 ? (double)narrow : wide;
}

/* 2^k bytes of an integer with its sign. */
static int64_t signed_of(uint64_t x, int bytes)
{
    const int shift = 64 - 8 * bytes;
    return (int64_t)(x << shift) >> shift;
}

/* What begins with 0xc0 to 0xdf. */
static bool read_marked(struct packed *p, unsigned mark, int depth, struct msgpack_value *out)
{
    uint64_t n = 0;
    switch (mark) {
    case 0xc0:
        return true;
    case 0xc2:
    case 0xc3:
        out->kind = MSGPACK_BOOL;
        out->i = mark == 0xc3;
        return true;
    case 0xc4:
    case 0xc5:
    case 0xc6:
        out->kind = MSGPACK_BYTES;
        return read_number(p, 1 << (mark - 0xc4), &n) && read_bytes(p, n, out);
    case 0xc7:
    case 0xc8:
    case 0xc9:
        return read_number(p, 1 << (mark - 0xc7), &n) && read_extension(p, n, out);
    case 0xca:
    case 0xcb:
        out->kind = MSGPACK_FLOAT;
        if (!read_number(p, mark == 0xca ? 4 : 8, &n))
            return false;
        out->number = float_of(n, mark == 0xca ? 4 : 8);
        return true;
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
        out->kind = MSGPACK_INT;
        if (!read_number(p, 1 << (mark - 0xcc), &n))
            return false;
        out->i = (int64_t)n;
        return true;
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        out->kind = MSGPACK_INT;
        if (!read_number(p, 1 << (mark - 0xd0), &n))
            return false;
        out->i = signed_of(n, 1 << (mark - 0xd0));
        return true;
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
        return read_extension(p, (uint64_t)1 << (mark - 0xd4), out);
    case 0xd9:
    case 0xda:
    case 0xdb:
        out->kind = MSGPACK_TEXT;
        return read_number(p, 1 << (mark - 0xd9), &n) && read_bytes(p, n, out);
    case 0xdc:
    case 0xdd:
        out->kind = MSGPACK_LIST;
        return read_number(p, mark == 0xdc ? 2 : 4, &n) && read_items(p, n, depth, out);
    case 0xde:
    case 0xdf:
        out->kind = MSGPACK_MAP;
        return read_number(p, mark == 0xde ? 2 : 4, &n) && read_items(p, 2 * n, depth, out);
    default:
        return fault(p, "a value begins with a byte that begins none");
    }
}

static bool read_value(struct packed *p, int depth, struct msgpack_value **out)
{
    uint64_t mark = 0;
    if (!read_number(p, 1, &mark))
        return false;
    if (*p->left == 0)
        return diag_error(p->diag, p->loc, "it has more values than an honest one");
    (*p->left)--;
    struct msgpack_value *const v = *out = arena_new(p->arena, struct msgpack_value);
    if (mark < 0x80 || mark >= 0xe0) {
        v->kind = MSGPACK_INT;
        v->i = mark < 0x80 ? (int64_t)mark : (int64_t)mark - 256;
        return true;
    }
    if (mark < 0x90) {
        v->kind = MSGPACK_MAP;
        return read_items(p, 2 * (mark - 0x80), depth, v);
    }
    if (mark < 0xa0) {
        v->kind = MSGPACK_LIST;
        return read_items(p, mark - 0x90, depth, v);
    }
    if (mark < 0xc0) {
        v->kind = MSGPACK_TEXT;
        return read_bytes(p, mark - 0xa0, v);
    }
    return read_marked(p, (unsigned)mark, depth, v);
}

bool msgpack_parse(struct diag *d, struct arena *a, const struct loc *at, const unsigned char *bytes, size_t size,
                   size_t *left, struct msgpack_value **out)
{
    struct packed p = {d, a, at, bytes, bytes + size, left};
    return read_value(&p, 0, out) && (p.at == p.end || fault(&p, "something follows its end"));
}

const struct msgpack_value *msgpack_get(const struct msgpack_value *map, const char *key)
{
    const size_t n = strlen(key);
    for (size_t i = 0; map && map->kind == MSGPACK_MAP && i < map->items.count; i += 2) {
        const struct msgpack_value *const k = map->items.data[i];
        if (k->kind == MSGPACK_TEXT && k->size == n && memcmp(k->bytes, key, n) == 0)
            return map->items.data[i + 1];
    }
    return NULL;
}
