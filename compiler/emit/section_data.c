/* Constant tensors and initial values. */
#include "emit/emit_internal.h"

#include "base/hash.h"
#include <inttypes.h>
#include <string.h>

#define DECIMAL_MOST 16384 /* elements: above, numbers take the C compiler too long, and rows of bytes are used */
#define ROW_BYTES 64
#define ROW_TEXT (3 * ROW_BYTES) /* characters of a row, as bytes without a pattern have them */

/* Values wrapped at the line's width. */
static void write_numbers(struct writer *w, const struct tensor *t)
{
    enum { LINE_MOST = 112 };
    char line[LINE_MOST + NUMBER_MAX], number[NUMBER_MAX];
    size_t length = 0;
    for (int64_t i = 0; i < t->count; i++) {
        const size_t n = number_text(number, t, i);
        if (length > 0 && length + n + 2 > LINE_MOST) {
            write_verbatim(w, line, length);
            length = 0;
        }
        if (length > 0)
            line[length++] = ' ';
        memcpy(line + length, number, n);
        length += n;
        line[length++] = ',';
    }
    if (length > 0)
        write_verbatim(w, line, length);
}

/* What a byte is in a string: short octal escapes unless a digit follows; quotes, backslash and ? (trigraphs)
 * escaped; other printable bytes as they are. */
struct escape {
    char text[7];
    unsigned char length; /* of what is meant; the rest is zero */
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

/* Rows of bytes, the last one filled up with zeros. Written behind the text, which has room: megabytes of bytes
 * without a pattern. */
static void write_rows(struct writer *w, const unsigned char *bytes, size_t count)
{
    enum { MOST = 5 + 4 * ROW_BYTES + 3 + sizeof(struct escape) }; /* of a line, which stands one level deep */
    struct escape escapes[2][256]; /* a table has no branches to guess */
    bool is_digit[256];
    for (int c = 0; c < 512; c++)
        escapes[c / 256][c % 256] = escape_of((unsigned char)(c % 256), c >= 256);
    for (int c = 0; c < 256; c++)
        is_digit[c] = c >= '0' && c <= '7';
    for (size_t at = 0; at < count; at += ROW_BYTES) {
        unsigned char row[ROW_BYTES + 1] = {0}; /* no digit follows the last */
        memcpy(row, bytes + at, count - at < ROW_BYTES ? count - at : ROW_BYTES);
        strbuf_reserve(&w->text, MOST);
        char *to = w->text.text + w->text.length;
        memcpy(to, "    \"", 5);
        to += 5;
        for (size_t i = 0; i < ROW_BYTES; i++) {
            const struct escape *const x = &escapes[is_digit[row[i + 1]]][row[i]];
            memcpy(to, x, sizeof *x); /* of which the next takes the end */
            to += x->length;
        }
        memcpy(to, "\",\n", 4);
        w->text.length = (size_t)(to + 3 - w->text.text);
    }
}

static void count_bytes(struct emission *e, size_t bytes)
{
    e->constant_bytes += bytes;
    if (bytes > e->largest_constant)
        e->largest_constant = bytes;
}

/* A union of byte rows and numbers: compiles ten times faster than decimals, and is exact. */
static void write_byte_rows(struct emission *e, struct writer *w, const struct tensor *t, const char *name)
{
    const size_t bytes = tensor_bytes(t), rows = (bytes + ROW_BYTES - 1) / ROW_BYTES;
    write_open(w, "static const union");
    write_line(w, "unsigned char rows[%zu][%d];", rows, ROW_BYTES);
    write_line(w, "%s values[%zu];", c_type(t->dtype), rows * ROW_BYTES / dtype_size(t->dtype));
    w->depth--;
    write_open(w, "} %s_bytes STEPC_CONST = {", name);
    count_bytes(e, rows * ROW_BYTES);
    if (!e->options->without_data)
        write_rows(w, t->data, bytes);
    write_close(w, "};");
}

struct constant {
    const struct tensor *tensor;
    const char *array, *name; /* as declared, and in expressions */
    struct constant *next;    /* other contents with the same hash */
};

static bool has_byte_rows(const struct tensor *t)
{
    return t->count > DECIMAL_MOST && t->dtype != DTYPE_BOOL;
}

static const char *numbers_of_row(struct arena *a, const struct tensor *t)
{
    struct strbuf b = {.arena = a};
    char number[NUMBER_MAX];
    for (int64_t i = 0; i < t->count; i++) {
        number_text(number, t, i);
        strbuf_addf(&b, "%s%s", i ? ", " : "", number);
    }
    return t->count ? strbuf_text(&b) : "0";
}

/* A few numbers stand on one line. */
static void write_array(struct emission *e, const struct constant *c)
{
    enum { FEW = 32, LINE_MOST = 118 };
    struct writer *const w = &e->c;
    const struct tensor *const t = c->tensor;
    if (has_byte_rows(t)) {
        write_byte_rows(e, w, t, c->array);
        return;
    }
    const int64_t count = t->count ? t->count : 1;
    const char *const head = arena_printf(e->arena, "static const %s %s[%" PRId64 "] STEPC_CONST =", c_type(t->dtype),
                                          c->array, count);
    count_bytes(e, dtype_size(t->dtype) * (size_t)count);
    const char *const row = t->count <= FEW && !e->options->without_data ? numbers_of_row(e->arena, t) : NULL;
    if (row && strlen(head) + strlen(row) + strlen(" {};") <= LINE_MOST) {
        write_line(w, "%s {%s};", head, row);
        return;
    }
    write_open(w, "%s", head);
    if (!e->options->without_data)
        write_numbers(w, t);
    write_close(w, ";");
}

/* Equal contents share an array, whatever they are called. */
const char *constant_array(struct emission *e, const struct tensor *t, const char *wish)
{
    const char *key = arena_printf(e->arena, "%016" PRIx64, hash_bytes(t->data, tensor_bytes(t)));
    struct constant *first = map_get(&e->constants, key);
    for (const struct constant *c = first; c; c = c->next)
        if (c->tensor->dtype == t->dtype && c->tensor->count == t->count &&
            memcmp(c->tensor->data, t->data, tensor_bytes(t)) == 0)
            return c->name;
    struct constant *made = arena_new(e->arena, struct constant);
    const char *const array = name_in(&e->file, arena_printf(e->arena, "constant_%s", name_mangle(e->arena, wish)));
    *made =
        (struct constant){t, array, has_byte_rows(t) ? arena_printf(e->arena, "%s_bytes.values", array) : array, first};
    map_set(&e->constants, key, made);
    vec_push(e->arena, &e->constant_list, made);
    return made->name;
}

void section_data(struct emission *e)
{
    if (e->constant_list.count == 0 && e->weights.places.count == 0)
        return;
    bool byte_rows = e->weights.places.count > 0;
    size_t bytes = 0;
    for (size_t i = 0; i < e->constant_list.count; i++) {
        const struct tensor *const t = e->constant_list.data[i]->tensor;
        byte_rows = byte_rows || has_byte_rows(t);
        bytes += has_byte_rows(t) ? tensor_bytes(t) : 0;
    }
    write_section(&e->c, "constants and initial values");
    if (byte_rows)
        strbuf_add(&e->c.text, "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n"
                               "#error \"the constants of this file are in little-endian byte order\"\n"
                               "#endif\n\n");
    weights_write(e);
    if (!e->options->without_data)
        strbuf_reserve(&e->c.text, bytes / ROW_BYTES * ROW_TEXT);
    for (size_t i = 0; i < e->constant_list.count; i++)
        write_array(e, e->constant_list.data[i]);
}
