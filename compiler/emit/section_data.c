/* Constant tensors and initial values. */
#include "emit/emit_internal.h"

#include "base/hash.h"
#include <inttypes.h>
#include <string.h>

#define DECIMAL_MOST 16384 /* elements: above, numbers take the C compiler too long, and rows of bytes are used */
#define ROW_BYTES 64

/* Values wrapped at the line's width. */
static void write_numbers(struct emission *e, struct writer *w, const struct tensor *t)
{
    struct strbuf line = {.arena = e->arena};
    for (int64_t i = 0; i < t->count; i++) {
        const char *number = number_element(e->arena, t, i);
        if (line.length && line.length + strlen(number) + 2 > 112) {
            write_line(w, "%s", strbuf_text(&line));
            line = (struct strbuf){.arena = e->arena};
        }
        strbuf_add(&line, line.length ? " " : "");
        strbuf_add(&line, number);
        strbuf_add(&line, ",");
    }
    if (line.length)
        write_line(w, "%s", strbuf_text(&line));
}

/* What a byte is in a string: short octal escapes unless a digit follows; quotes, backslash and ? (trigraphs) escaped; other
 * printable bytes as they are. */
struct escape {
    char text[4];
    unsigned char length;
};

static struct escape escape_of(unsigned char c, bool digit_follows)
{
    struct escape e = {0};
    const bool plain = c >= 32 && c < 127;
    if (!plain || c == '"' || c == '\\' || c == '?')
        e.text[e.length++] = '\\';
    if (plain) {
        e.text[e.length++] = (char)c;
        return e;
    }
    if (c >= 64 || digit_follows)
        e.text[e.length++] = (char)('0' + (c >> 6));
    if (c >= 8 || digit_follows)
        e.text[e.length++] = (char)('0' + (c >> 3 & 7));
    e.text[e.length++] = (char)('0' + (c & 7));
    return e;
}

/* A union of byte rows and numbers: compiles ten times faster than decimals, and is exact. */
static void write_byte_rows(struct emission *e, struct writer *w, const struct tensor *t, const char *name)
{
    const size_t bytes = tensor_bytes(t), rows = (bytes + ROW_BYTES - 1) / ROW_BYTES;
    const unsigned char *p = t->data;
    write_open(w, "static const union { unsigned char rows[%zu][%d]; %s values[%zu]; } %s_bytes STEPC_CONST = {", rows, ROW_BYTES,
               c_type(t->dtype), rows * ROW_BYTES / dtype_size(t->dtype), name);
    e->constant_bytes += rows * ROW_BYTES;
    struct escape escapes[2][256]; /* megabytes of bytes without a pattern: a table has no branches to guess */
    for (int c = 0; c < 512; c++)
        escapes[c / 256][c % 256] = escape_of((unsigned char)(c % 256), c >= 256);
    for (size_t r = 0; r < rows && !e->options->without_data; r++) {
        char line[4 * ROW_BYTES + 3], *to = line;
        *to++ = '"';
        for (size_t i = r * ROW_BYTES; i < (r + 1) * ROW_BYTES; i++) {
            const unsigned char c = i < bytes ? p[i] : 0, next = i + 1 < bytes ? p[i + 1] : 0;
            const bool last = i + 1 == (r + 1) * ROW_BYTES;
            const struct escape *x = &escapes[!last & (next >= '0') & (next <= '7')][c];
            memcpy(to, x->text, sizeof x->text);
            to += x->length;
        }
        memcpy(to, "\",", 2);
        write_verbatim(w, line, (size_t)(to + 2 - line));
    }
    write_close(w, "};");
}

/* Writes the array and returns what it is called in expressions. */
static const char *write_array(struct emission *e, const struct tensor *t, const char *wish)
{
    struct writer *w = &e->constants_text;
    const char *name = file_name(e, wish);
    if (t->count > DECIMAL_MOST && t->dtype != DTYPE_BOOL) {
        write_byte_rows(e, w, t, name);
        e->has_byte_rows = true;
        name = arena_printf(e->arena, "%s_bytes.values", name);
    } else {
        write_open(w, "static const %s %s[%lld] STEPC_CONST =", c_type(t->dtype), name, (long long)(t->count ? t->count : 1));
        e->constant_bytes += dtype_size(t->dtype) * (size_t)(t->count ? t->count : 1);
        if (!e->options->without_data)
            write_numbers(e, w, t);
        if (t->count == 0)
            write_line(w, "0");
        write_close(w, ";");
    }
    write_blank(w);
    return name;
}

struct constant {
    const struct tensor *tensor;
    const char *name;
    struct constant *next; /* other contents with the same hash */
};

static bool same_contents(const struct tensor *a, const struct tensor *b)
{
    return a->dtype == b->dtype && a->count == b->count && memcmp(a->data, b->data, tensor_bytes(a)) == 0;
}

/* Equal contents share an array, whatever they are called. */
const char *constant_array(struct emission *e, const struct tensor *t, const char *wish)
{
    if (weights_has(e, t))
        return weights_array(e, t, wish);
    const char *key = arena_printf(e->arena, "%016" PRIx64, hash_bytes(t->data, tensor_bytes(t)));
    struct constant *first = map_get(&e->constants, key);
    for (const struct constant *c = first; c; c = c->next)
        if (same_contents(c->tensor, t))
            return c->name;
    struct constant *made = arena_new(e->arena, struct constant);
    *made = (struct constant){.tensor = t, .name = write_array(e, t, wish), .next = first};
    map_set(&e->constants, key, made);
    return made->name;
}

void section_data(struct emission *e)
{
    if (e->constants_text.text.length == 0 && e->weights.places.count == 0)
        return;
    write_section(&e->c, "constants and initial values");
    if (e->has_byte_rows || e->weights.places.count > 0) {
        write_line(&e->c, "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__");
        write_line(&e->c, "#error \"the constants of this file are in little-endian byte order\"");
        write_line(&e->c, "#endif");
        write_blank(&e->c);
    }
    weights_write(e);
    strbuf_add(&e->c.text, strbuf_text(&e->constants_text.text));
    /* the section ends with the blank line of its last array */
    e->c.text.text[--e->c.text.length] = '\0';
}
