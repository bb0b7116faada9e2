/* The entries: init(), step(), infer() ... as lists of kernel calls. Runs before the other sections, because it
 * finds out which kernels, constants and functions the file needs. */
#include "emit/emit_internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

static int entry_index(const struct emission *e, const struct entry *entry)
{
    return (int)(entry - e->program->entries.data);
}

const char *input_name(struct emission *e, const struct entry *entry, size_t i)
{
    return e->input_names[entry_index(e, entry)][i];
}

const char *output_name(struct emission *e, const struct entry *entry, size_t i)
{
    return e->output_names[entry_index(e, entry)][i];
}

const char *entry_signature(struct emission *e, const struct entry *entry)
{
    struct strbuf b = {.arena = e->arena};
    const bool writes = entry->kind == ENTRY_INIT || entry->kind == ENTRY_STEP;
    strbuf_addf(&b, "%s%s_state *state, %s_arena *arena", writes ? "" : "const ", e->name, e->name);
    if (entry->kind == ENTRY_INIT)
        strbuf_add(&b, ", uint64_t seed");
    if (entry->graph->inputs.count || weights_is_input(e, entry))
        strbuf_addf(&b, ", const %s_%s_inputs *in", e->name, entry->name);
    if (entry->graph->outputs.count)
        strbuf_addf(&b, ", const %s_%s_outputs *out", e->name, entry->name);
    return strbuf_text(&b);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* The variable as one row of elements. Of several dimensions it is a cast of the whole: a pointer to its first row
 * must not leave that. */
static const char *variable_elements(struct emission *e, const struct variable *v, bool is_const)
{
    const char *const member = e->member[v->index];
    e->mentions.state = true;
    switch (v->shape.rank) {
    case 0: return arena_printf(e->arena, "&state->%s", member);
    case 1: return arena_printf(e->arena, "state->%s", member);
    default: return arena_printf(e->arena, "(%s%s *)state->%s", is_const ? "const " : "", c_type(v->dtype), member);
    }
}

static const char *zeros(struct arena *a, int rank)
{
    struct strbuf b = {.arena = a};
    for (int d = 0; d < rank; d++)
        strbuf_add(&b, "[0]");
    return strbuf_text(&b);
}

static const char *variable_argument(struct emission *e, const struct buffer *b, bool by_value)
{
    if (b->count == 0) /* no member of the state: C has no empty arrays. Kernels that are given it touch no element. */
        return "NULL";
    e->mentions.state = true;
    if (by_value)
        return arena_printf(e->arena, "state->%s%s", e->member[b->variable->index],
                            zeros(e->arena, b->variable->shape.rank));
    return variable_elements(e, b->variable, e->state_is_const);
}

static const char *pointer_argument(struct emission *e, const struct buffer *b)
{
    switch (b->kind) {
    case BUFFER_TEMP:
        e->local_used[b->id] = true;
        return b->count ? e->locals[b->id] : "NULL";
    case BUFFER_INPUT: e->mentions.in = true; return e->locals[b->id];
    case BUFFER_OUTPUT: e->mentions.out = true; return e->locals[b->id];
    case BUFFER_CONSTANT: return constant_array(e, b->constant, b->name);
    case BUFFER_VARIABLE:
    case BUFFER_LOCAL: break;
    }
    UNREACHABLE("buffer kind %d", (int)b->kind);
}

const char *buffer_argument(struct emission *e, const struct buffer *b, bool by_value)
{
    if (b->kind == BUFFER_VARIABLE)
        return variable_argument(e, b, by_value);
    const char *pointer = pointer_argument(e, b);
    return by_value ? arena_printf(e->arena, "%s[0]", pointer) : pointer;
}

/* ---- what is wanted ---------------------------------------------------------------------------------------------- */

struct want {
    uint64_t outputs; /* bit i: feeds output i */
    bool always;      /* feeds the state, or more outputs than fit */
};

static void want_add(struct want *w, struct want by)
{
    w->outputs |= by.outputs;
    w->always |= by.always;
}

static struct want want_of_buffer(const struct want *buffers, const struct buffer *b)
{
    struct want w = buffers[b->id];
    if (b->kind == BUFFER_VARIABLE)
        w.always = true;
    if (b->kind == BUFFER_OUTPUT && b->index >= 64)
        w.always = true;
    else if (b->kind == BUFFER_OUTPUT)
        w.outputs |= (uint64_t)1 << b->index;
    return w;
}

/* For every kernel: whom it serves, from the last to the first. */
static struct want *find_wants(struct emission *e, const struct lowered *l)
{
    struct want *buffers = arena_array(e->arena, struct want, l->buffers.count);
    struct want *kernels = arena_array(e->arena, struct want, l->kernels.count);
    for (size_t i = l->kernels.count; i-- > 0;) {
        struct arena scratch = {0};
        buffer_list reads = {0}, writes = {0};
        kernel_reads(&scratch, l->kernels.data[i], &reads);
        kernel_writes(&scratch, l->kernels.data[i], &writes);
        for (size_t b = 0; b < writes.count; b++)
            want_add(&kernels[i], want_of_buffer(buffers, writes.data[b]));
        for (size_t b = 0; b < reads.count; b++)
            want_add(&buffers[reads.data[b]->id], kernels[i]);
        arena_free(&scratch);
    }
    return kernels;
}

/* "out->loss != NULL", or NULL where the kernel always runs. */
static const char *guard_text(struct emission *e, const struct entry *entry, struct want w)
{
    enum { MOST = 3 };
    int count = 0;
    struct strbuf b = {.arena = e->arena};
    for (size_t i = 0; i < entry->graph->outputs.count && i < 64; i++)
        if (w.outputs >> i & 1)
            strbuf_addf(&b, "%sout->%s != NULL", count++ ? " || " : "", output_name(e, entry, i));
    return w.always || count == 0 || count > MOST ? NULL : strbuf_text(&b);
}

/* ---- local pointers ---------------------------------------------------------------------------------------------- */

struct entry_text {
    struct emission *e;
    const struct entry *entry;
    const struct plan *plan;
    const struct want *wants;   /* by kernel */
    const struct buffer **also; /* by buffer id: output that a temporary is written to directly when wanted */
    struct name_scope names;
    struct writer body;
    bool needs_status, uses_arena;
};

static bool is_skipped_copy(const struct entry_text *t, const struct kernel *k)
{
    struct buffer *from, *to;
    return kernel_is_copy(k, &from, &to) && from->kind == BUFFER_TEMP && t->also[from->id] == to;
}

/* A temporary that is an output as a whole is written to the caller's memory when it is wanted, else to the arena. */
static void find_direct_outputs(struct entry_text *t)
{
    const struct lowered *l = t->plan->lowered;
    for (size_t i = 0; i < l->kernels.count; i++) {
        struct buffer *from, *to;
        if (kernel_is_copy(l->kernels.data[i], &from, &to) && from->kind == BUFFER_TEMP && to->kind == BUFFER_OUTPUT &&
            !t->also[from->id])
            t->also[from->id] = to;
    }
}

static void declare_temporary(struct entry_text *t, struct buffer *b)
{
    struct emission *e = t->e;
    const struct plan_life *life = &t->plan->life[b->id];
    const char *name = e->locals[b->id];
    const char *macro =
        name_exactly(&e->file, name_upper(e->arena, arena_printf(e->arena, "%s_%.32s_AT", t->entry->name, name)));
    const char *about =
        arena_printf(e->arena, "%s %s %s, kernels %d-%d of %s", b->name, shape_text(e->arena, &b->shape),
                     dtype_name(b->dtype), life->first, life->last, t->entry->name);
    strbuf_addf(&e->arena_text.text, "#define %s %zuu ", macro, b->arena_offset);
    write_comment(&e->arena_text, about);
    const char *place = arena_printf(e->arena, "%s(arena, %s)", arena_accessor(b->dtype), macro);
    use_helper(e, arena_accessor(b->dtype));
    t->uses_arena = true;
    if (t->also[b->id]) {
        const char *out = output_name(e, t->entry, (size_t)t->also[b->id]->index);
        e->mentions.out = true;
        write_line(&t->body, "%s *const %s = out->%s != NULL ? out->%s : %s;", c_type(b->dtype), name, out, out, place);
    } else {
        write_line(&t->body, "%s *const %s = %s;", c_type(b->dtype), name, place);
    }
}

static bool is_in_arena(const struct entry_text *t, const struct buffer *b)
{
    return b->kind == BUFFER_TEMP && t->plan->life[b->id].first >= 0 && b->count > 0;
}

/* An empty scope but for what entries call things themselves. */
static struct name_scope entry_scope(const struct emission *e)
{
    struct arena *a = e->arena;
    static const char *const own[] = {"status", "counter", "seed", "i"};
    struct name_scope names = {.taken = {.arena = a}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        map_set(&names.taken, own[i], NULL);
    for (size_t i = 0; i < e->program->counters.count; i++)
        map_set(&names.taken, arena_printf(a, "counter_%s", e->program->counters.data[i]), NULL);
    for (size_t i = 0; i < template_table.section_count; i++) /* types and functions */
        for (size_t k = 0; k < template_table.sections[i].text.count; k++)
            if (template_table.sections[i].text.segments[k].kind == TEMPLATE_SECTION)
                map_set(&names.taken, template_table.sections[i].text.segments[k].text, NULL);
    reserve_prefix_macros(e, &names);
    reserve_accessors(&names);
    return names;
}

static const char *temporary_name(struct name_scope *names, const struct buffer *b)
{
    return name_in(names, str_starts_with(b->name, "scratch") ? "scratch" : b->name);
}

/* Temporaries are called by values of the model, "add_4" say, which a kernel or constant must not be called as well:
 * the local would hide it. */
void reserve_temporaries(struct emission *e)
{
    for (size_t i = 0; i < e->program->entries.count; i++) {
        const struct entry_text t = {.plan = e->plans[i]};
        const struct lowered *l = t.plan->lowered;
        struct name_scope names = entry_scope(e);
        for (size_t b = 0; b < l->buffers.count; b++)
            if (is_in_arena(&t, l->buffers.data[b]))
                map_set(&e->file.taken, temporary_name(&names, l->buffers.data[b]), NULL);
    }
}

static void name_locals(struct entry_text *t)
{
    const struct lowered *l = t->plan->lowered;
    struct emission *e = t->e;
    e->locals = arena_array(e->arena, const char *, l->buffers.count + 1);
    e->local_used = arena_array(e->arena, bool, l->buffers.count + 1);
    for (size_t i = 0; i < l->buffers.count; i++) {
        struct buffer *b = l->buffers.data[i];
        if (b->kind == BUFFER_INPUT)
            e->locals[i] = arena_printf(e->arena, "in->%s", input_name(e, t->entry, (size_t)b->index));
        else if (b->kind == BUFFER_OUTPUT)
            e->locals[i] = arena_printf(e->arena, "out->%s", output_name(e, t->entry, (size_t)b->index));
        else if (is_in_arena(t, b))
            e->locals[i] = temporary_name(&t->names, b);
    }
}

/* After the calls are written: kernels that nobody wants have none, and what only they compute needs no name. */
static void declare_temporaries(struct entry_text *t)
{
    const struct lowered *l = t->plan->lowered;
    for (size_t i = 0; i < l->buffers.count; i++)
        if (is_in_arena(t, l->buffers.data[i]) && t->e->local_used[i])
            declare_temporary(t, l->buffers.data[i]);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void write_check(struct entry_text *t, const char *call)
{
    t->needs_status = true;
    write_line(&t->body, "status = %s;", call);
    write_line(&t->body, "if (status != STEPC_OK)");
    write_line(&t->body, "    return status;");
}

static void write_trace(struct entry_text *t, int number, const char *name)
{
    write_line(&t->body, "STEPC_TRACE(%d, \"%s\");", number, name);
}

/* What copies: see COPY_CONSTANT. */
static const char *copy_function(struct emission *e, bool is_constant)
{
    const bool is_apart = is_constant && target_may_define(e->options->target, "__AVX512F__");
    return is_apart ? use_helper(e, COPY_CONSTANT) : "memcpy";
}

static void write_kernel(struct entry_text *t, const struct kernel *k, int number)
{
    struct emission *e = t->e;
    struct buffer *from, *to;
    const char **const called = &e->calls[entry_index(e, t->entry)][number];
    if (kernel_is_copy(k, &from, &to)) {
        if (to->count == 0)
            return;
        const bool is_constant = from->kind == BUFFER_CONSTANT && !weights_has(e, from->constant);
        *called = "memcpy";
        write_line(&t->body, "%s(%s, %s, %zu);", copy_function(e, is_constant), buffer_argument(e, to, false),
                   buffer_argument(e, from, false), (size_t)to->count * dtype_size(to->dtype));
        return;
    }
    const struct kernel_call call = emit_kernel(e, t->plan, k);
    for (size_t i = 0; i < call.checks.count; i++) {
        write_trace(t, number, arena_strndup(e->arena, call.checks.data[i], strcspn(call.checks.data[i], "(")));
        write_check(t, call.checks.data[i]);
    }
    *called = call.name ? call.name : "check";
    if (kernel_only_checks(k))
        return; /* a check alone */
    write_trace(t, number, call.name);
    write_list(&t->body, arena_printf(e->arena, "%s(", call.name), call.arguments.data, call.arguments.count, ");");
}

static void write_kernels(struct entry_text *t)
{
    const struct lowered *l = t->plan->lowered;
    const struct want *const wants = t->wants;
    const char *open = NULL;
    for (size_t i = 0; i < l->kernels.count; i++) {
        const struct kernel *k = l->kernels.data[i];
        if (is_skipped_copy(t, k) || (!wants[i].always && !wants[i].outputs && k->checks.count == 0))
            continue;
        const char *guard = guard_text(t->e, t->entry, wants[i]);
        if (!str_equal(guard, open)) {
            if (open)
                write_close(&t->body, "");
            if (guard)
                write_open(&t->body, "if (%s)", guard);
            t->e->mentions.out |= guard != NULL;
            open = guard;
        }
        write_kernel(t, k, (int)i);
    }
    if (open)
        write_close(&t->body, "");
}

/* ---- initial values ---------------------------------------------------------------------------------------------- */

/* Is every element the first one? As bytes: so is each its neighbour. */
static bool is_zero(const struct tensor *t)
{
    const unsigned char *bytes = t->data;
    const size_t size = tensor_bytes(t);
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void write_initial(struct entry_text *t, const struct variable *v)
{
    struct emission *e = t->e;
    const char *member = e->member[v->index];
    if (v->initial->count == 0)
        return;
    e->mentions.state = true;
    if (v->shape.rank == 0) {
        write_line(&t->body, "state->%s = %s;", member, number_element(e->arena, v->initial, 0));
    } else if (is_zero(v->initial)) {
        write_line(&t->body, "memset(state->%s, 0, sizeof state->%s);", member, member);
    } else if (tensor_is_uniform(v->initial)) {
        const char *const elements = variable_elements(e, v, false);
        const char *const at = v->shape.rank > 1 ? arena_printf(e->arena, "(%s)", elements) : elements;
        write_open(&t->body, "for (%s i = 0; i < %" PRId64 "; i++)", v->initial->count < INT16_MAX ? "int" : "int32_t",
                   v->initial->count);
        write_line(&t->body, "%s[i] = %s;", at, number_element(e->arena, v->initial, 0));
        write_close(&t->body, "");
    } else {
        const char *const wish = arena_printf(e->arena, "initial_%s", member);
        const bool from_file = weights_has_initial(e, v->initial);
        const char *const array = from_file ? weights_array(e, v->initial, v->by_columns, wish)
                                            : constant_array(e, tensor_in_layout(e->arena, v, v->initial), wish);
        write_line(&t->body, "%s(state->%s, %s, sizeof state->%s);", copy_function(e, !from_file), member, array,
                   member);
    }
}

static bool is_overwritten(const struct graph *g, const struct variable *v)
{
    for (size_t i = 0; i < g->bindings.count; i++)
        if (g->bindings.data[i].variable == v)
            return true;
    return false;
}

/* ---- one entry --------------------------------------------------------------------------------------------------- */

/* Whose counter it is, where there are several. */
static const char *counter_suffix(const struct emission *e, size_t i)
{
    const struct program *p = e->program;
    return p->counters.count > 1 ? arena_printf(e->arena, "_%s", p->counters.data[i]) : "";
}

const char *counter_member(const struct emission *e, size_t i)
{
    return arena_printf(e->arena, "random_counter%s", counter_suffix(e, i));
}

/* Only a step that runs several training entries has more than one. */
const char *entry_counter(struct emission *e, const struct entry *entry, size_t counter)
{
    return entry->counter_count > 1 ? arena_printf(e->arena, "counter%s", counter_suffix(e, counter)) : "counter";
}

static void write_random_locals(struct emission *e, struct writer *w, const struct entry *entry)
{
    const bool init = entry->kind == ENTRY_INIT;
    if (!init)
        write_line(w, "const uint64_t seed = state->random_seed;");
    for (size_t i = 0; i < e->program->counters.count; i++)
        if (e->draws_with[i])
            write_line(w, "const uint64_t %s = %s;", entry_counter(e, entry, i),
                       init ? "0" : arena_printf(e->arena, "state->%s", counter_member(e, i)));
}

/* The entry is done: the next call draws other numbers. */
static void write_random_advance(struct emission *e, struct writer *w, const struct entry *entry)
{
    for (size_t i = entry->first_counter; i < entry->first_counter + entry->counter_count; i++)
        if (e->draws_with[i])
            write_line(w, "state->%s = %s + 1u;", counter_member(e, i), entry_counter(e, entry, i));
        else
            write_line(w, "state->%s++;", counter_member(e, i));
}

/* init() starts the random numbers of all entries. */
static void write_random_reset(struct emission *e, struct writer *w)
{
    write_line(w, "state->random_seed = seed;");
    for (size_t i = 0; i < e->program->counters.count; i++)
        write_line(w, "state->%s = 0;", counter_member(e, i));
}

/* Does an entry other than init draw? Kernels keep what nodes draw. */
static bool find_random_state(const struct program *p)
{
    for (size_t i = 0; i < p->entries.count; i++)
        graph_each_node(p->entries.data[i].graph, n)
            if (n->stream != 0 && p->entries.data[i].kind != ENTRY_INIT)
                return true;
    return false;
}

static void write_unused(struct entry_text *t, struct writer *w)
{
    const struct emission *e = t->e;
    const struct graph *g = t->entry->graph;
    if (!e->mentions.state)
        write_line(w, "(void)state;");
    if (!t->uses_arena)
        write_line(w, "(void)arena;");
    if (t->entry->kind == ENTRY_INIT && !e->uses_random && !e->random_state)
        write_line(w, "(void)seed;");
    if (g->inputs.count && !e->mentions.in)
        write_line(w, "(void)in;");
    if (g->outputs.count && !e->mentions.out)
        write_line(w, "(void)out;");
    write_blank(w);
}

/* Whom an input serves: all kernels that read it. */
static struct want want_of_input(const struct entry_text *t, size_t input)
{
    const struct lowered *l = t->plan->lowered;
    struct want w = {0};
    for (size_t i = 0; i < l->kernels.count; i++) {
        struct arena scratch = {0};
        const struct kernel *const k = l->kernels.data[i];
        buffer_list reads = {0};
        kernel_reads(&scratch, k, &reads);
        for (size_t r = 0; r < reads.count; r++) {
            const struct buffer *const b = reads.data[r];
            if (b->kind != BUFFER_INPUT || (size_t)b->index != input || b->count == 0)
                continue;
            want_add(&w, t->wants[i]);
            w.always |= k->checks.count > 0 && !t->wants[i].outputs;
        }
        arena_free(&scratch);
    }
    return w;
}

/* "in->x == NULL", perhaps only where an output is wanted; NULL: nothing reads it. */
static const char *missing_input(struct entry_text *t, size_t input)
{
    struct arena *a = t->e->arena;
    const struct want w = want_of_input(t, input);
    if (!w.always && !w.outputs)
        return NULL;
    const char *const missing = arena_printf(a, "in->%s == NULL", input_name(t->e, t->entry, input));
    const char *const guard = guard_text(t->e, t->entry, w);
    if (!guard)
        return missing;
    return arena_printf(a, strstr(guard, "||") ? "(%s && (%s))" : "(%s && %s)", missing, guard);
}

/* Comes first: what follows reads them. */
static void write_argument_check(struct entry_text *t, struct writer *w)
{
    struct emission *const e = t->e;
    struct arena *a = e->arena;
    VEC(const char *) missing = {0};
    if (e->mentions.state)
        vec_push(a, &missing, "state == NULL");
    if (t->uses_arena)
        vec_push(a, &missing, "arena == NULL");
    if (e->mentions.in)
        vec_push(a, &missing, "in == NULL");
    if (e->mentions.out)
        vec_push(a, &missing, "out == NULL");
    for (size_t i = 0; i < t->entry->graph->inputs.count && e->mentions.in; i++) {
        const char *const text = missing_input(t, i);
        if (text)
            vec_push(a, &missing, text);
    }
    if (missing.count == 0)
        return;
    write_alternatives(w, "if (", missing.data, missing.count, ")");
    write_line(w, "    return STEPC_E_ARGUMENT;");
}

/* The weights are looked at before anything else happens. */
static const char *checked_body(struct entry_text *t)
{
    const char *const body = strbuf_text(&t->body.text);
    t->body = (struct writer){.text = {.arena = t->e->arena}, .depth = 1};
    t->e->mentions.in |= t->e->weights.kind == WEIGHTS_FILE;
    write_check(t, arena_printf(t->e->arena, "check_weights(%s)", weights_expression(t->e)));
    weights_declare(t->e, &t->body);
    strbuf_add(&t->body.text, body);
    return strbuf_text(&t->body.text);
}

static const char *emit_entry(struct emission *e, const struct entry *entry, const struct plan *plan)
{
    e->calls[entry_index(e, entry)] = arena_array(e->arena, const char *, plan->lowered->kernels.count + 1);
    struct entry_text t = {.e = e, .entry = entry, .plan = plan, .names = entry_scope(e)};
    t.body = (struct writer){.text = {.arena = e->arena}, .depth = 1};
    t.also = arena_array(e->arena, const struct buffer *, plan->lowered->buffers.count + 1);
    e->state_is_const = entry->kind != ENTRY_INIT && entry->kind != ENTRY_STEP;
    t.wants = find_wants(e, plan->lowered);
    find_direct_outputs(&t);
    name_locals(&t);
    e->uses_random = false;
    memset(&e->mentions, 0, sizeof e->mentions);
    e->weights.used = (struct map){.arena = e->arena};
    memset(e->draws_with, 0, e->program->counters.count * sizeof *e->draws_with);
    if (entry->kind == ENTRY_INIT && e->options->reproducible)
        write_check(&t, arena_printf(e->arena, "%s()", use_helper(e, CHECK_ARITHMETIC)));
    if (entry->kind == ENTRY_INIT)
        for (size_t i = 0; i < e->program->variables.count; i++)
            if (!is_overwritten(entry->graph, e->program->variables.data[i]))
                write_initial(&t, e->program->variables.data[i]);
    write_kernels(&t);
    e->weights.entries[entry_index(e, entry)] = e->weights.used.count > 0;
    const char *const body = e->weights.used.count ? checked_body(&t) : strbuf_text(&t.body.text);
    t.body = (struct writer){.text = {.arena = e->arena}, .depth = 1};
    declare_temporaries(&t);

    const char *const head = strbuf_text(&t.body.text);
    struct writer writer = {.text = {.arena = e->arena}}, *w = &writer;
    write_list(w, arena_printf(e->arena, "stepc_status %s_%s(", e->name, entry->name),
               (const char *const[]){entry_signature(e, entry)}, 1, ")");
    const bool counts = entry->kind == ENTRY_INIT || entry->counter_count > 0;
    e->mentions.state |= e->uses_random || (e->random_state && counts);
    write_line(w, "{");
    w->depth++;
    write_argument_check(&t, w);
    strbuf_add(&w->text, head);
    if (e->uses_random)
        write_random_locals(e, w, entry);
    if (t.needs_status)
        write_line(w, "stepc_status status;");
    write_unused(&t, w);
    strbuf_add(&w->text, body);
    if (e->random_state)
        write_random_advance(e, w, entry);
    if (entry->kind == ENTRY_INIT && e->random_state)
        write_random_reset(e, w);
    write_line(w, "return STEPC_OK;");
    w->depth--;
    write_line(w, "}");
    return strbuf_text(&w->text);
}

static void name_arguments(struct emission *e)
{
    const size_t count = e->program->entries.count;
    e->input_names = arena_array(e->arena, const char **, count + 1);
    e->output_names = arena_array(e->arena, const char **, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct graph *g = e->program->entries.data[i].graph;
        struct name_scope in = {.taken = {.arena = e->arena}}, out = {.taken = {.arena = e->arena}};
        e->input_names[i] = arena_array(e->arena, const char *, g->inputs.count + 1);
        e->output_names[i] = arena_array(e->arena, const char *, g->outputs.count + 1);
        reserve_prefix_macros(e, &in);
        reserve_prefix_macros(e, &out);
        if (e->weights.kind == WEIGHTS_FILE)
            map_set(&in.taken, "weights", NULL);
        for (size_t j = 0; j < g->inputs.count; j++)
            e->input_names[i][j] = name_in(&in, g->inputs.data[j]->name);
        for (size_t j = 0; j < g->outputs.count; j++)
            e->output_names[i][j] = name_in(&out, g->outputs.data[j].name);
    }
}

/* init() comes first in the file but last here: constants are called after where the other entries use them. */
void section_entries(struct emission *e)
{
    const size_t count = e->program->entries.count;
    const char **texts = arena_array(e->arena, const char *, count + 1);
    name_arguments(e);
    e->calls = arena_array(e->arena, const char **, count + 1);
    e->random_state = find_random_state(e->program);
    group_kernels(e);
    e->draws_with = arena_array(e->arena, bool, e->program->counters.count);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++)
            if ((e->program->entries.data[i].kind == ENTRY_INIT) == (pass == 1))
                texts[i] = emit_entry(e, &e->program->entries.data[i], e->plans[i]);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            write_blank(&e->entries_text);
        strbuf_add(&e->entries_text.text, texts[i]);
    }
}
