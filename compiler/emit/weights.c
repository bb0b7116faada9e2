/* Large constants and initial values in a file of their own, STEM.weights: a program hands its content to the entries that need it
 * (--weights file), or the assembler puts it into the object (--weights incbin). Either way the file begins with a mark that the
 * emitted code knows, so that the file of another model is refused:
 *
 *   offset  bytes
 *        0     16  "stepc weights 1\n"
 *       16      8  size of the file, little-endian
 *       24      8  0
 *       32     32  SHA-256 of what follows
 *       64         tensors, little-endian, each at a multiple of 64 */
#include "emit/emit_internal.h"

#include "base/hash.h"
#include <string.h>

enum {
    MARK_BYTES = 64,
    FEWEST = 65 /* elements of a tensor that goes into the file: the others are a few lines, and readable */
};

void weights_begin(struct emission *e)
{
    static const char empty[MARK_BYTES];
    struct weights_file *const w = &e->weights;
    w->bytes.arena = w->places.arena = w->used.arena = w->types.arena = w->macros.text.arena = e->arena;
    w->entries = arena_array(e->arena, bool, e->program->entries.count + 1);
    strbuf_add_n(&w->bytes, empty, MARK_BYTES);
    map_set(&e->file.taken, "check_weights", NULL);
    map_set(&e->file.taken, "weights_mark", NULL);
}

bool weights_has(const struct emission *e, const struct tensor *t)
{
    return e->options->weights != WEIGHTS_EMBED && t->count >= FEWEST;
}

const char *weights_expression(const struct emission *e)
{
    return e->options->weights == WEIGHTS_FILE ? "in->weights" : arena_printf(e->arena, "%s_weights", e->name);
}

bool weights_is_input(const struct emission *e, const struct entry *entry)
{
    return e->options->weights == WEIGHTS_FILE && e->weights.entries[entry - e->program->entries.data];
}

static const char *accessor(struct emission *e, const char *type)
{
    const char *name = arena_printf(e->arena, "%s_weights", type);
    if (!map_has(&e->weights.types, type)) {
        map_set(&e->weights.types, type, NULL);
        map_set(&e->file.taken, name, NULL);
    }
    return name;
}

/* A tensor in the file: `name` points to it in the entries that use it. */
struct weights_place {
    const char *name, *macro, *type;
};

static struct weights_place *add_place(struct emission *e, const struct tensor *t, const char *wish)
{
    static const char gap[MARK_BYTES];
    struct weights_file *const w = &e->weights;
    struct weights_place *const p = arena_new(e->arena, struct weights_place);
    strbuf_add_n(&w->bytes, gap, (MARK_BYTES - w->bytes.length % MARK_BYTES) % MARK_BYTES);
    p->name = file_name(e, wish);
    p->macro = name_in(&e->file, name_upper(e->arena, arena_printf(e->arena, "%.40s_AT", p->name)));
    p->type = c_type(t->dtype);
    write_line(&w->macros, "#define %s %zuu", p->macro, w->bytes.length);
    strbuf_add_n(&w->bytes, t->data, tensor_bytes(t));
    return p;
}

const char *weights_array(struct emission *e, const struct tensor *t, const char *wish)
{
    struct weights_file *const w = &e->weights;
    char digest[65];
    sha256_hex(t->data, tensor_bytes(t), digest);
    const char *const key = arena_printf(e->arena, "%d:%s", (int)t->dtype, digest);
    struct weights_place *p = map_get(&w->places, key);
    if (!p) {
        p = add_place(e, t, wish);
        map_set(&w->places, key, p);
    }
    map_set(&w->used, p->name, p);
    return p->name;
}

void weights_declare(struct emission *e, struct writer *body)
{
    for (size_t i = 0; i < e->weights.used.count; i++) {
        const struct weights_place *p = e->weights.used.entries[i].value;
        write_line(body, "const %s *const %s = %s(%s, %s);", p->type, p->name, accessor(e, p->type), weights_expression(e), p->macro);
    }
}

/* ---- text ----------------------------------------------------------------------------------------------------------- */

static const char *file_text(struct emission *e)
{
    return arena_printf(e->arena, "%s.weights", e->stem);
}

static void put_mark(struct weights_file *w)
{
    unsigned char *const mark = (unsigned char *)w->bytes.text;
    struct sha256 hash;
    memcpy(mark, "stepc weights 1\n", 16);
    for (int i = 0; i < 8; i++)
        mark[16 + i] = (unsigned char)((uint64_t)w->bytes.length >> 8 * i);
    sha256_begin(&hash);
    sha256_add(&hash, mark + MARK_BYTES, w->bytes.length - MARK_BYTES);
    sha256_end(&hash, mark + 32);
}

static void write_accessors(struct emission *e)
{
    for (size_t i = 0; i < e->weights.types.count; i++) {
        const char *type = e->weights.types.entries[i].key;
        write_line(&e->c, "static const %s *%s_weights(const void *weights, size_t offset)", type, type);
        write_line(&e->c, "{");
        write_line(&e->c, "    return (const %s *)(const void *)((const unsigned char *)weights + offset);", type);
        write_line(&e->c, "}");
        write_blank(&e->c);
    }
}

static void write_check(struct emission *e)
{
    struct writer *c = &e->c;
    const unsigned char *mark = (const unsigned char *)e->weights.bytes.text;
    write_open(c, "static const unsigned char weights_mark[%d] =", MARK_BYTES);
    for (int i = 0; i < MARK_BYTES; i += 16) {
        struct strbuf line = {.arena = e->arena};
        for (int k = i; k < i + 16; k++)
            strbuf_addf(&line, "%s%d,", k > i ? " " : "", mark[k]);
        write_line(c, "%s", strbuf_text(&line));
    }
    write_close(c, ";");
    write_blank(c);
    write_line(c, "static stepc_status check_weights(const void *weights)");
    write_line(c, "{");
    c->depth++;
    write_line(c, "const unsigned char *const bytes = (const unsigned char *)weights;");
    if (e->options->weights == WEIGHTS_INCBIN) {
        const char *const symbol = weights_expression(e);
        write_line(c, "if ((uintptr_t)%s_end - (uintptr_t)%s != %zuu)", symbol, symbol, e->weights.bytes.length);
        write_line(c, "    return STEPC_E_MISMATCH;");
    } else {
        write_line(c, "if (bytes == NULL)");
        write_line(c, "    return STEPC_E_ARGUMENT;");
    }
    write_open(c, "for (int i = 0; i < %d; i++)", MARK_BYTES);
    write_line(c, "if (bytes[i] != weights_mark[i])");
    write_line(c, "    return STEPC_E_MISMATCH;");
    write_close(c, "");
    write_line(c, "return STEPC_OK;");
    c->depth--;
    write_line(c, "}");
    write_blank(c);
}

/* The quotes of an assembler's string inside one of C. Characters that would need escapes in both are refused. */
static void write_incbin(struct emission *e)
{
    struct writer *c = &e->c;
    const char *const symbol = weights_expression(e), *const macro = arena_printf(e->arena, "%s_WEIGHTS_PATH", e->upper);
    if (strpbrk(e->stem, "\"\\"))
        diag_error(e->diag, &LOC_FILE(e->program->model->file), "--weights incbin: the name of the file to write has a quote or backslash");
    write_line(c, "/* Where the assembler finds the file: from the folder in which the compiler runs, or an absolute path. */");
    write_line(c, "#ifndef %s", macro);
    write_line(c, "#define %s %s", macro, c_string(e->arena, file_text(e)));
    write_line(c, "#endif");
    write_line(c, "#if !defined(__GNUC__) || !defined(__ELF__)");
    write_line(c, "#error \"this file takes its weights in by the assembler of GCC or Clang: --weights embed or file does without\"");
    write_line(c, "#endif");
    write_line(c, "extern const unsigned char %s[%zu], %s_end[];", symbol, e->weights.bytes.length, symbol);
    write_line(c, "__asm__(\".pushsection .rodata.%s,\\\"a\\\"\\n\"", symbol);
    write_line(c, "        \".balign 64\\n\"");
    write_line(c, "        \".globl %s\\n\"", symbol);
    write_line(c, "        \".hidden %s\\n\"", symbol);
    write_line(c, "        \"%s:\\n\"", symbol);
    write_line(c, "        \".incbin \\\"\" %s \"\\\"\\n\"", macro);
    write_line(c, "        \"%s_end:\\n\"", symbol);
    write_line(c, "        \".popsection\\n\");");
    write_blank(c);
}

void weights_write(struct emission *e)
{
    struct weights_file *const w = &e->weights;
    if (w->places.count == 0)
        return;
    put_mark(w);
    write_comment(&e->c, arena_printf(e->arena, "Places in %s", file_text(e)));
    strbuf_add(&e->c.text, strbuf_text(&w->macros.text));
    write_blank(&e->c);
    if (e->options->weights == WEIGHTS_INCBIN)
        write_incbin(e);
    write_accessors(e);
    write_check(e);
}

void weights_describe(struct emission *e)
{
    if (e->options->weights != WEIGHTS_FILE || e->weights.places.count == 0)
        return;
    write_comment(&e->h, arena_printf(e->arena, "The content of %s, which functions with an input `weights` read: at a multiple of 8 bytes, "
                                      "better 64. That of another model is refused: STEPC_E_MISMATCH.", file_text(e)));
    write_line(&e->h, "#define %s_WEIGHTS_BYTES ((size_t)%zu)", e->upper, e->weights.bytes.length);
    write_blank(&e->h);
}

void weights_finish(struct emission *e, struct emitted *out)
{
    const bool any = e->weights.places.count > 0;
    out->weights = any ? e->weights.bytes.text : NULL;
    out->weights_bytes = any ? e->weights.bytes.length : 0;
    out->weights_path_macro = any && e->options->weights == WEIGHTS_INCBIN ? arena_printf(e->arena, "%s_WEIGHTS_PATH", e->upper) : NULL;
}
