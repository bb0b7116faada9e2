/* The .h file: readable alone, usable from C++; for every tensor its shape, type and meaning. */
#include "emit/emit_internal.h"

#include "base/checked.h"
#include "base/hash.h"
#include <inttypes.h>
#include <string.h>

const char *dims_text(struct arena *a, const struct shape *s)
{
    struct strbuf b = {.arena = a};
    for (int d = 0; d < s->rank; d++)
        strbuf_addf(&b, "[%" PRId64 "]", s->dim[d]);
    return strbuf_text(&b);
}

static const char *const role_names[] = {"weight", "statistic", "optimizer", "counter", "sum"};

size_t program_state_bytes(const struct program *p)
{
    size_t at = 0, align = 1;
    vec_each(const struct variable *, v, &p->variables) {
        const size_t size = dtype_size(v->dtype);
        at = (size_t)round_up((int64_t)at, (int64_t)size) + (size_t)shape_count(&v->shape) * size;
        align = size > align ? size : align;
    }
    if (program_draws(p)) {
        at = (size_t)round_up((int64_t)at, 8) + 8 + 8 * p->counters.count;
        align = 8;
    }
    return (size_t)round_up((int64_t)at, (int64_t)align);
}

size_t emission_state_bytes(const struct emission *e)
{
    return program_state_bytes(e->program);
}

size_t emission_arena_bytes(const struct emission *e)
{
    size_t most = 0;
    for (size_t i = 0; i < e->program->entries.count; i++)
        if (e->plans[i]->arena_bytes > most)
            most = e->plans[i]->arena_bytes;
    return most ? most : 8; /* an object has at least one byte, and this one is aligned */
}

static void add_part(struct strbuf *b, const char *between, const char *text)
{
    strbuf_addf(b, "%s%s", b->length ? between : "", text);
}

/* With a comment that says what the declaration does not: the name, if the identifier is another; the shape; the type,
 * where C has another for it; and more. Shape and more may be NULL. */
static void write_member(struct emission *e, const char *declaration, const char *identifier, const char *name,
                         const char *shape, enum dtype dtype, const char *more)
{
    struct strbuf b = {.arena = e->arena};
    if (!str_equal(identifier, name))
        strbuf_addf(&b, "\"%s\"", name);
    if (shape)
        add_part(&b, shape[0] == '[' ? " " : ", ", shape);
    if (dtype_is_hidden(e->arena, dtype))
        add_part(&b, " ", dtype_name(dtype));
    if (more)
        add_part(&b, ", ", more);
    write_words(&e->h, &declaration, 1, b.length ? strbuf_text(&b) : NULL);
}

static void write_state(struct emission *e)
{
    struct writer *h = &e->h;
    bool has_sums = false;
    vec_each(const struct variable *, v, &e->program->variables)
        has_sums |= v->role == ROLE_SUM;
    write_line(h,
               "/* Every variable of the model: weights, statistics, optimizer, counters%s. No pointers: a copy is a "
               "snapshot. */",
               has_sums ? ", sums" : "");
    write_open(h, "typedef struct %s_state", e->name);
    for (size_t i = 0; i < e->program->variables.count; i++) {
        const struct variable *v = e->program->variables.data[i];
        if (shape_count(&v->shape) == 0)
            continue;
        const struct shape kept = variable_layout(v);
        const char *declaration =
            arena_printf(e->arena, "%s %s%s;", c_type(v->dtype), e->member[i], dims_text(e->arena, &kept));
        const char *role =
            v->by_columns ? arena_printf(e->arena, "%s, by columns", role_names[v->role]) : role_names[v->role];
        write_member(e, declaration, e->member[i], v->name, v->by_columns ? shape_text(e->arena, &v->shape) : NULL,
                     v->dtype, role);
    }
    if (e->random_state) {
        write_line(h, "uint64_t random_seed; /* key of the random numbers, given to %s_init() */", e->name);
        const size_t counters = e->program->counters.count;
        for (size_t i = 0; i < counters; i++)
            write_line(h, "uint64_t %s; /* %s */", counter_member(e, i),
                       counters > 1 ? "times it ran so far" : "steps so far: each draws other numbers");
    }
    if (emission_state_bytes(e) == 0)
        write_line(h, "unsigned char nothing; /* the model has no variables */");
    write_close(h, arena_printf(e->arena, " %s_state;", e->name));
    write_blank(h);
}

static void write_arena(struct emission *e)
{
    const size_t bytes = emission_arena_bytes(e);
    struct writer *h = &e->h;
    static const char work[] = "/* Work memory of one call; its contents mean nothing between calls.";
    if (emits_plain(e->options)) {
        write_line(h, "%s */", work);
    } else {
        write_line(h, "%s At a multiple of 64 bytes vector code runs a little", work);
        write_line(h, " * faster. */");
    }
    if (bytes > INT32_MAX) {
        write_line(h, "#if SIZE_MAX / 2 < %zu", bytes);
        write_line(h,
                   "#error \"the work memory of this model is larger than what a pointer of this machine can reach\"");
        write_line(h, "#endif");
    }
    write_line(h, "#define %s_ARENA_BYTES ((size_t)%zu)", e->upper, bytes);
    write_open(h, "typedef union %s_arena", e->name);
    write_arena_members(e, bytes);
    write_line(h, "stepc_max_align align;");
    write_close(h, arena_printf(e->arena, " %s_arena;", e->name));
    write_blank(h);
}

/* A pointer to the elements of a value. */
static void write_argument(struct emission *e, const char *qualifier, const char *identifier, const char *name,
                           const struct value *v)
{
    struct arena *const a = e->arena;
    const char *const shape = v->late         ? comment_safe(a, value_shape_text(a, e->program, v))
                              : v->shape.rank ? shape_text(a, &v->shape)
                                              : "scalar";
    write_member(e, arena_printf(a, "%s%s *%s;", qualifier, c_type(v->dtype), identifier), identifier, name, shape,
                 v->dtype, v->specialised ? "fixed when the model was compiled" : NULL);
}

static void write_arguments(struct emission *e, const struct entry *entry)
{
    const struct graph *g = entry->graph;
    struct writer *h = &e->h;
    if (has_inputs(e, entry)) {
        write_open(h, "typedef struct %s_%s_inputs", e->name, entry->name);
        for (size_t i = 0; i < g->inputs.count; i++)
            write_argument(e, "const ", input_name(e, entry, i), g->inputs.data[i]->name, g->inputs.data[i]);
        if (weights_is_input(e, entry))
            write_line(h, "const void *weights; /* %s_WEIGHTS_BYTES bytes */", e->upper);
        if (entry->takes_count)
            write_line(h, "int32_t %s; /* of this call: %" PRId64 " to %" PRId64 " */", count_name(e, entry),
                       e->program->range->low, e->program->range->high);
        write_close(h, arena_printf(e->arena, " %s_%s_inputs;\n", e->name, entry->name));
    }
    if (g->outputs.count) {
        write_open(h, "typedef struct %s_%s_outputs", e->name, entry->name);
        for (size_t i = 0; i < g->outputs.count; i++)
            write_argument(e, "", output_name(e, entry, i), g->outputs.data[i].name, g->outputs.data[i].value);
        write_close(h, arena_printf(e->arena, " %s_%s_outputs;\n", e->name, entry->name));
    }
}

/* "discriminator, then generator": what a step of several entries runs. */
static const char *entries_in_order(struct emission *e)
{
    struct strbuf b = {.arena = e->arena};
    for (size_t i = 0; i < e->program->counters.count; i++)
        strbuf_addf(&b, "%s%s", i ? ", then " : "", e->program->counters.data[i]);
    return strbuf_text(&b);
}

static void write_prototype(struct emission *e, const struct entry *entry)
{
    static const char *const about[] = {
        [ENTRY_INIT] = "Gives every variable its initial value. Equal seeds give equal values.",
        [ENTRY_STEP] = ("One training step: every update is computed from what the variables were before, and stored "
                        "as soon as nothing needs that any more. If it returns an error, the state is as before; if it "
                        "does not return (a reset), some variables may be old and some new."),
        [ENTRY_INFER] = "The inference graph with the current variables.",
        [ENTRY_EVALUATE] = "Computes outputs with the current variables and changes nothing."};
    write_comment(&e->h,
                  entry->counter_count > 1
                      ? arena_printf(e->arena,
                                     "One training step: %s, each with what those before it updated. If it returns an "
                                     "error, the state is as before.",
                                     entries_in_order(e))
                      : about[entry->kind]);
    write_entry_head(e, &e->h, entry, ";");
    write_blank(&e->h);
}

/* The first entry of a kind, or NULL. */
static const struct entry *first_of_kind(const struct program *p, enum entry_kind kind)
{
    for (size_t i = 0; i < p->entries.count; i++)
        if (p->entries.data[i].kind == kind)
            return &p->entries.data[i];
    return NULL;
}

static bool has_outputs(const struct program *p)
{
    bool any = false;
    for (size_t i = 0; i < p->entries.count; i++)
        any |= p->entries.data[i].graph->outputs.count > 0;
    return any;
}

/* Do the C compiler's options decide which vectors there are? */
static bool takes_vectors_of_flags(const struct emit_options *o)
{
    return !emits_plain(o) && !o->levels && !target_is_named(o->target);
}

static void write_usage(struct emission *e, struct writer *h)
{
    const char *n = e->name;
    write_origin(e, h, ".h");
    strbuf_addf(&h->text,
                " *\n"
                " * The caller owns all memory:\n"
                " *\n"
                " *   static %s_state state;    every variable; memcpy is a snapshot\n"
                " *   static %s_arena arena;    work memory of a call\n"
                " *\n",
                n, n);
    if (first_of_kind(e->program, ENTRY_INIT))
        write_line(h, " *   %s_init(&state, &arena, seed);", n);
    const struct entry *step = first_of_kind(e->program, ENTRY_STEP),
                       *again = step ? step : first_of_kind(e->program, ENTRY_INFER);
    if (again)
        write_line(h, " *   status = %s_%s(&state, &arena, &in, &out);    for each batch", n, again->name);
    if (has_outputs(e->program))
        strbuf_add(&h->text, " *\n"
                             " * A member of outputs that is NULL is not wanted, and not computed if nothing else "
                             "needs it.\n");
    if (takes_vectors_of_flags(e->options))
        strbuf_add(&h->text, " *\n"
                             " * Speed: -O3 -march=native, or stepc compile --dispatch; plain -O2 takes two to five "
                             "times as long on PCs and servers.\n");
    write_line(h, " */");
}

/* A number for all of the header but the line in which it stands. */
static uint64_t hash_text(const struct strbuf *begin, const struct strbuf *rest)
{
    struct sha256 hash;
    unsigned char digest[32];
    uint64_t number = 0;
    sha256_begin(&hash);
    sha256_add(&hash, begin->text, begin->length);
    sha256_add(&hash, rest->text, rest->length);
    sha256_end(&hash, digest);
    for (int i = 0; i < 8; i++)
        number = number << 8 | digest[i];
    return number;
}

static void write_declarations(struct emission *e)
{
    struct writer *h = &e->h;
    write_blank(h);
    section_runtime(e);
    strbuf_add(&h->text, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    write_state(e);
    write_arena(e);
    weights_describe(e);
    for (size_t i = 0; i < e->program->entries.count; i++)
        write_arguments(e, &e->program->entries.data[i]);
    for (size_t i = 0; i < e->program->entries.count; i++)
        write_prototype(e, &e->program->entries.data[i]);
    write_arena_map(e);
    strbuf_addf(&h->text,
                "/* Names, types, offsets, and the entries in generic form. */\n"
                "extern const stepc_model %s_model;\n\n"
                "#ifdef __cplusplus\n}\n#endif\n\n"
                "#endif\n",
                e->name);
}

void section_header(struct emission *e)
{
    struct writer begin = {.text = {.arena = e->arena}};
    write_usage(e, &begin);
    write_line(&begin, "#ifndef %s_H", e->upper);
    write_line(&begin, "#define %s_H", e->upper);
    write_declarations(e);
    e->build_id = hash_text(&begin.text, &e->h.text);
    write_line(&begin, "#define %s_BUILD_ID 0x%016" PRIx64 "u /* the same in %s.c */", e->upper, e->build_id,
               comment_safe(e->arena, e->stem));
    strbuf_add_n(&begin.text, e->h.text.text, e->h.text.length);
    e->h = begin;
}
