/* Large constants and initial values in a file of their own, STEM.weights: a program hands its content to the
 * entries that need it (--weights file), or the assembler puts it into the object (--weights incbin). Either way the
 * file begins with a mark that the emitted code knows, so that the file of another model is refused:
 *
 *   offset  bytes
 *        0     16  "stepc weights 1\n"
 *       16      8  size of the file, little-endian
 *       24      8  of the SHA-256 of the places in it, as the emitted code names them
 *       32     32  SHA-256 of what follows
 *       64         tensors, little-endian, each at a multiple of 64
 *
 * The file is never in memory as a whole: it is made piece by piece out of the model's tensors, for its hash and
 * again for writing. */
#include "emit/emit_internal.h"

#include "base/hash.h"
#include "lower/state_layout.h"
#include <string.h>

enum {
    MARK_BYTES = WEIGHTS_MARK_BYTES,
    FEWEST = 65,        /* elements of a tensor that goes into the file: the others are a few lines, and readable */
    /* the same of what stepc has computed for a program that trains: step() shall do without the file */
    FEWEST_BESIDE = 16385,
    LARGE = 16 << 20    /* bytes that are too many for a C compiler: so much is about 45 MB of text */
};

/* ---- the file's content ------------------------------------------------------------------------------------------ */

/* The elements of a matrix column by column, so many columns at a time that the rows' cache lines are used whole. */
static bool put_columns(const struct tensor *t, byte_sink sink, void *to)
{
    enum { COLUMNS = 16 };
    const size_t size = dtype_size(t->dtype);
    const int64_t rows = t->shape.dim[0], columns = t->shape.dim[1];
    struct arena scratch = {0};
    char *const block = arena_alloc(&scratch, (size_t)rows * COLUMNS, size, alignof(max_align_t));
    bool ok = true;
    for (int64_t k = 0; ok && k < columns; k += COLUMNS) {
        const int64_t some = columns - k < COLUMNS ? columns - k : COLUMNS;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t c = 0; c < some; c++)
                memcpy(block + (size_t)(c * rows + i) * size,
                       (const char *)t->data + (size_t)(i * columns + k + c) * size, size);
        ok = sink(to, block, (size_t)(some * rows) * size);
    }
    arena_free(&scratch);
    return ok;
}

static bool put_pieces(const struct weights_image *w, byte_sink sink, void *to)
{
    static const char gap[MARK_BYTES];
    bool ok = true;
    for (size_t i = 0; ok && i < w->pieces.count; i++) {
        const struct weights_piece *const p = &w->pieces.data[i];
        const size_t bytes = tensor_bytes(p->tensor);
        ok = (p->gap == 0 || sink(to, gap, p->gap)) &&
             (p->by_columns ? put_columns(p->tensor, sink, to) : bytes == 0 || sink(to, p->tensor->data, bytes));
    }
    return ok;
}

bool weights_image_put(const void *image, byte_sink sink, void *to)
{
    const struct weights_image *const w = image;
    return sink(to, w->mark, MARK_BYTES) && put_pieces(w, sink, to);
}

static bool hash_some(void *hash, const void *bytes, size_t size)
{
    sha256_add(hash, bytes, size);
    return true;
}

static void put_mark(struct weights_image *w, const struct strbuf *places)
{
    struct sha256 hash;
    unsigned char digest[32];
    memcpy(w->mark, "stepc weights 1\n", 16);
    for (int i = 0; i < 8; i++)
        w->mark[16 + i] = (unsigned char)((uint64_t)w->bytes >> 8 * i);
    sha256_begin(&hash);
    sha256_add(&hash, places->text, places->length);
    sha256_end(&hash, digest);
    memcpy(w->mark + 24, digest, 8);
    sha256_begin(&hash);
    (void)put_pieces(w, hash_some, &hash);
    sha256_end(&hash, w->mark + 32);
}

/* ---- what goes into it ------------------------------------------------------------------------------------------- */

/* Bytes of initial values that differ from element to element, and of constants, frozen weights among them. */
static size_t bytes_of_weights(const struct program *p)
{
    const bool trains = p->variables.count > 0;
    size_t bytes = 0;
    for (size_t i = 0; i < p->variables.count; i++) {
        const struct tensor *const t = p->variables.data[i]->initial;
        bytes += t != NULL && t->count >= FEWEST && !tensor_is_uniform(t) ? tensor_bytes(t) : 0;
    }
    vec_each(struct model_initializer *, i, &p->model->graph->initializers) {
        const struct tensor *const t = i->tensor;
        if (!trains || (dtype_is_float(t->dtype) && t->count >= FEWEST && !program_variable(p, i->name)))
            bytes += tensor_bytes(t);
    }
    return bytes;
}

static const char *place_of(struct arena *a, const struct tensor *t)
{
    return arena_printf(a, "%p", t->data);
}

/* Is it the model's own, as a frozen weight of a model that is trained in part, and not made on the way? */
static bool is_of_model(const struct emission *e, const struct tensor *t)
{
    return map_has(&e->weights.of_model, place_of(e->arena, t));
}

void weights_begin(struct emission *e)
{
    struct weights_file *const w = &e->weights;
    w->places.arena = w->layout.arena = e->arena;
    w->kind = e->options->weights;
    if (w->kind == WEIGHTS_AUTO)
        w->kind = bytes_of_weights(e->program) > LARGE ? WEIGHTS_FILE : WEIGHTS_EMBED;
    w->entries = arena_array(e->arena, bool, e->program->entries.count + 1);
    w->image = arena_new(e->arena, struct weights_image);
    w->image->bytes = MARK_BYTES;
    w->of_model.arena = e->arena;
    vec_each(struct model_initializer *, i, &e->program->model->graph->initializers)
        map_set(&w->of_model, place_of(e->arena, i->tensor), NULL);
    map_set(&e->file.taken, "check_weights", NULL);
    map_set(&e->file.taken, "weights_mark", NULL);
}

bool weights_has(const struct emission *e, const struct tensor *t)
{
    const bool trains = e->program->variables.count > 0;
    return e->weights.kind != WEIGHTS_EMBED && dtype_is_float(t->dtype) && t->count >= FEWEST &&
           (!trains || t->count >= FEWEST_BESIDE || is_of_model(e, t));
}

bool weights_has_initial(const struct emission *e, const struct tensor *t)
{
    return e->weights.kind != WEIGHTS_EMBED && t->count >= FEWEST;
}

const char *weights_expression(const struct emission *e)
{
    return e->weights.kind == WEIGHTS_FILE ? "in->weights" : arena_printf(e->arena, "%s_weights", e->name);
}

const struct tree_var *weights_var(struct emission *e, const struct tree_var *in)
{
    struct arena *const a = e->arena;
    const bool is_input = e->weights.kind == WEIGHTS_FILE;
    struct tree_var *const v = is_input ? tree_member(a, VAR_POINTER, DTYPE_UINT8, "void", in, "weights", 0)
                                        : tree_var(a, VAR_ARRAY, DTYPE_UINT8, "unsigned char", weights_expression(e));
    v->is_cast = true;
    v->is_of_file = !is_input;
    return v;
}

bool weights_is_input(const struct emission *e, const struct entry *entry)
{
    return e->weights.kind == WEIGHTS_FILE && e->weights.entries[entry - e->program->entries.data];
}

static struct weights_place *add_place(struct emission *e, const struct tensor *t, bool by_columns, const char *wish)
{
    struct arena *const a = e->arena;
    struct weights_file *const w = &e->weights;
    struct weights_place *const p = arena_new(a, struct weights_place);
    const size_t gap = (MARK_BYTES - w->image->bytes % MARK_BYTES) % MARK_BYTES;
    p->name = file_name(e, wish);
    p->at = (w->image->bytes + gap) / dtype_size(t->dtype);
    strbuf_addf(&w->layout, "%s %zu\n", p->name, w->image->bytes + gap);
    vec_push(a, &w->image->pieces, ((struct weights_piece){t, gap, by_columns}));
    w->image->bytes += gap + tensor_bytes(t);
    return p;
}

const struct weights_place *weights_place(struct emission *e, const struct tensor *t, bool by_columns,
                                          const char *wish)
{
    struct weights_file *const w = &e->weights;
    char digest[65];
    sha256_hex(t->data, tensor_bytes(t), digest);
    const char *const key = arena_printf(e->arena, "%d:%s:%lld", (int)t->dtype, digest,
                                         by_columns ? (long long)t->shape.dim[0] : -1);
    struct weights_place *p = map_get(&w->places, key);
    if (!p) {
        p = add_place(e, t, by_columns, wish);
        map_set(&w->places, key, p);
    }
    return p;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static const char *file_text(struct emission *e)
{
    return arena_printf(e->arena, "%s.weights", e->stem);
}

static struct tree_var *bytes_var(struct arena *a, enum var_kind kind, const char *name)
{
    struct tree_var *const v = tree_var(a, kind, DTYPE_UINT8, "unsigned char", name);
    v->is_of_file = kind == VAR_ARRAY;
    return v;
}

/* The assembler's file has as many bytes as it should. */
static void put_size_check(struct emission *e, struct tree_builder *b)
{
    struct arena *const a = b->arena;
    const char *const symbol = weights_expression(e);
    const struct tree_var *const begin = bytes_var(a, VAR_ARRAY, symbol),
                                *const end = bytes_var(a, VAR_ARRAY, arena_printf(a, "%s_end", symbol));
    const struct expr *const bytes = index_sub(a, index_cast(a, "uintptr_t", tree_whole(a, end)),
                                               index_cast(a, "uintptr_t", tree_whole(a, begin)));
    const struct expr *const expected = index_text(a, arena_printf(a, "%zuu", e->weights.image->bytes));
    tree_open_if(b, index_compare(a, EXPR_NE, bytes, expected));
    tree_return(b, index_text(a, "STEPC_E_MISMATCH"));
    tree_close(b);
}

static struct tree_function *check_function(struct emission *e)
{
    struct arena *const a = e->arena;
    struct tree_function *const f = arena_new(a, struct tree_function);
    struct tree_builder b = tree_builder(a, &f->body);
    const struct tree_var *const weights = bytes_var(a, VAR_POINTER, "weights"),
                                *const mark = bytes_var(a, VAR_ARRAY, "weights_mark"),
                                *const i = tree_index_var(a, VAR_LOOP, "int", "i", 0, MARK_BYTES - 1);
    const struct expr *const at = tree_read(a, i);
    *f = (struct tree_function){.name = "check_weights", .type = "stepc_status"};
    vec_push(a, &f->params, weights);
    if (e->weights.kind == WEIGHTS_INCBIN)
        put_size_check(e, &b);
    tree_open_loop(&b, i, index_constant(a, 0), index_constant(a, MARK_BYTES), 1, LOOP_PLAIN);
    tree_open_if(&b, index_compare(a, EXPR_NE, tree_element(a, weights, at), tree_element(a, mark, at)));
    tree_return(&b, index_text(a, "STEPC_E_MISMATCH"));
    tree_close(&b);
    tree_close(&b);
    tree_return(&b, index_text(a, "STEPC_OK"));
    return f;
}

static void write_check(struct emission *e)
{
    struct writer *c = &e->c;
    const unsigned char *mark = e->weights.image->mark;
    write_comment(c, arena_printf(e->arena, "How %s begins; the file of another model is refused.", file_text(e)));
    write_open(c, "static const unsigned char weights_mark[%d] =", MARK_BYTES);
    for (int i = 0; i < MARK_BYTES; i += 16) {
        struct strbuf line = {.arena = e->arena};
        for (int k = i; k < i + 16; k++)
            strbuf_addf(&line, "%s%d,", k > i ? " " : "", mark[k]);
        write_line(c, "%s", strbuf_text(&line));
    }
    write_close(c, ";");
    write_blank(c);
    write_tree(e, c, check_function(e));
}

/* The quotes of an assembler's string inside one of C. Characters that would need escapes in both are refused. */
static void write_incbin(struct emission *e)
{
    const char *const symbol = weights_expression(e);
    const char *const macro = arena_printf(e->arena, "%s_WEIGHTS_PATH", e->upper);
    if (strpbrk(e->stem, "\"\\"))
        diag_error(e->diag, &LOC_FILE(e->program->model->file),
                   "--weights incbin: the name of the file to write has a quote or backslash");
    strbuf_addf(&e->c.text,
                "/* Where the assembler finds the file: from the folder in which the compiler runs, or an absolute "
                "path. */\n"
                "#ifndef %s\n"
                "#define %s %s\n"
                "#endif\n"
                "#if !defined(__GNUC__) || !defined(__ELF__)\n"
                "#error \"this file takes its weights in by the assembler of GCC or Clang: --weights embed or file "
                "does without\"\n"
                "#endif\n",
                macro, macro, c_string(e->arena, file_text(e)));
    strbuf_addf(&e->c.text,
                "extern const unsigned char %s[%zu], %s_end[];\n"
                "__asm__(\".pushsection .rodata.%s,\\\"a\\\"\\n\"\n"
                "        \".balign 64\\n\"\n"
                "        \".globl %s\\n\"\n"
                "        \".hidden %s\\n\"\n"
                "        \"%s:\\n\"\n"
                "        \".incbin \\\"\" %s \"\\\"\\n\"\n"
                "        \"%s_end:\\n\"\n"
                "        \".popsection\\n\");\n\n",
                symbol, e->weights.image->bytes, symbol, symbol, symbol, symbol, symbol, macro, symbol);
}

void weights_write(struct emission *e)
{
    struct weights_file *const w = &e->weights;
    if (w->places.count == 0)
        return;
    put_mark(w->image, &w->layout);
    if (e->weights.kind == WEIGHTS_INCBIN)
        write_incbin(e);
    write_check(e);
}

void weights_describe(struct emission *e)
{
    if (e->weights.kind != WEIGHTS_FILE || e->weights.places.count == 0)
        return;
    write_comment(&e->h, arena_printf(e->arena,
                                      "The content of %s, which functions with an input `weights` read: at a multiple "
                                      "of 8 bytes, better 64. That of another model is refused: STEPC_E_MISMATCH.",
                                      file_text(e)));
    write_line(&e->h, "#define %s_WEIGHTS_BYTES ((size_t)%zu)", e->upper, e->weights.image->bytes);
    write_blank(&e->h);
}

void weights_finish(struct emission *e, struct emitted *out)
{
    const bool any = e->weights.places.count > 0;
    out->weights = any ? e->weights.image : NULL;
    out->weights_unasked = any && e->options->weights == WEIGHTS_AUTO;
    out->weights_path_macro =
        any && e->weights.kind == WEIGHTS_INCBIN ? arena_printf(e->arena, "%s_WEIGHTS_PATH", e->upper) : NULL;
}
