/* The entries: init(), step(), infer() ... as lists of kernel calls. Runs before the other sections, because it
 * finds out which kernels, constants and functions the file needs. */
#include "emit/emit_internal.h"
#include "emit/entry.h"

#include <inttypes.h>
#include <string.h>

/* ---- one entry --------------------------------------------------------------------------------------------------- */

struct want {
    struct guard outputs; /* that it feeds */
    bool always;          /* feeds the state, or more outputs than fit */
};

struct entry_text {
    struct emission *e;
    const struct entry *entry;
    const struct plan *plan;
    struct want *wants;         /* by kernel */
    struct want *input_wants;   /* by input: of all kernels that read it */
    const struct buffer **also; /* by buffer id: output that a temporary is written to directly when wanted */
    struct entry_pointer **temporaries; /* by buffer id */
    struct map weights;         /* name -> struct entry_pointer *, into the weights file */
    struct name_scope names;
    struct entry_steps body;
    const char *made; /* by the kernel at hand */
    bool reads_weights;
    unsigned uses; /* USES_.. of the entry */
};

static void use(struct entry_text *t, unsigned what)
{
    t->uses |= what;
    t->body.uses |= what;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static const char *variable_member(struct entry_text *t, const struct variable *v)
{
    use(t, USES_STATE);
    return arena_printf(t->e->arena, "state->%s", t->e->member[v->index]);
}

/* The variable as one row of elements. Of several dimensions it is a cast of the whole: a pointer to its first row
 * must not leave that. */
static const char *variable_elements(struct entry_text *t, const struct variable *v)
{
    struct arena *const a = t->e->arena;
    const char *const member = variable_member(t, v);
    switch (v->shape.rank) {
    case 0: return arena_printf(a, "&%s", member);
    case 1: return member;
    default: return arena_printf(a, "(%s%s *)%s", entry_mutates(t->entry) ? "" : "const ", c_type(v->dtype), member);
    }
}

static void read_weights(struct entry_text *t)
{
    t->reads_weights = true;
    use(t, t->e->weights.kind == WEIGHTS_FILE ? USES_IN : 0); /* what the entry reads is known when it is complete */
}

static const char *weights_argument(struct entry_text *t, const struct tensor *constant, const char *wish)
{
    struct arena *const a = t->e->arena;
    const struct weights_place *const place = weights_place(t->e, constant, false, wish);
    struct entry_pointer *p = map_get(&t->weights, place->name);
    read_weights(t);
    if (!p) {
        p = arena_new(a, struct entry_pointer);
        *p = (struct entry_pointer){.type = place->type, .name = place->name, .place = place->text,
                                    .about = shape_text(a, &constant->shape)};
        map_set(&t->weights, place->name, p);
    }
    entry_use_pointer(&t->body, p);
    return p->name;
}

static const char *temporary_argument(struct entry_text *t, const struct buffer *b)
{
    struct entry_pointer *const p = t->temporaries[b->id];
    const struct plan_life *const life = &t->plan->life[b->id];
    if (!p)
        return "NULL";
    use(t, USES_ARENA | (p->wanted ? USES_OUT : 0));
    const bool is_own = life->first == life->last && !p->wanted; /* what only one kernel knows needs no pointer */
    if (!p->place)
        p->place = arena_named_place(t->e, t->entry, is_own ? t->made : p->name, is_own, b, p);
    if (is_own)
        return p->place;
    entry_use_pointer(&t->body, p);
    return p->name;
}

/* What a pointer to the buffer's elements is called in this entry. */
static const char *pointer_argument(struct entry_text *t, const struct buffer *b)
{
    struct emission *const e = t->e;
    switch (b->kind) {
    case BUFFER_TEMP: return temporary_argument(t, b);
    case BUFFER_INPUT:
        use(t, USES_IN);
        return arena_printf(e->arena, "in->%s", input_name(e, t->entry, (size_t)b->index));
    case BUFFER_OUTPUT:
        use(t, USES_OUT);
        return arena_printf(e->arena, "out->%s", output_name(e, t->entry, (size_t)b->index));
    case BUFFER_CONSTANT:
        return weights_has(e, b->constant) ? weights_argument(t, b->constant, b->name)
                                           : constant_array(e, b->constant, b->name);
    case BUFFER_VARIABLE: /* without elements no member of the state: C has no empty arrays, and nobody touches it */
        return b->count ? variable_elements(t, b->variable) : "NULL";
    case BUFFER_LOCAL: break;
    }
    UNREACHABLE("buffer kind %d", (int)b->kind);
}

/* Its only element. */
static const char *element_argument(struct entry_text *t, const struct buffer *b)
{
    struct strbuf text = {.arena = t->e->arena};
    if (b->kind == BUFFER_CONSTANT && b->count == 1)
        return number_element(t->e->arena, b->constant, 0);
    const bool is_member = b->kind == BUFFER_VARIABLE;
    strbuf_add(&text, is_member ? variable_member(t, b->variable) : pointer_argument(t, b));
    for (int d = 0; d < (is_member ? b->variable->shape.rank : 1); d++)
        strbuf_add(&text, "[0]");
    return strbuf_text(&text);
}

/* The same for memcpy(), which takes arrays of any dimensions. */
static const char *bytes_argument(struct entry_text *t, const struct buffer *b)
{
    const bool is_array = b->kind == BUFFER_VARIABLE && b->variable->shape.rank > 1;
    return is_array ? variable_member(t, b->variable) : pointer_argument(t, b);
}

/* Seed and counters of a kernel that draws. All of init() draws with counters of 0, at which it starts those of the
 * other entries. */
static void add_random_arguments(struct entry_text *t, const struct kernel_call *call, text_list *list)
{
    struct arena *const a = t->e->arena;
    const bool is_init = t->entry->kind == ENTRY_INIT;
    if (call->draws) {
        use(t, is_init ? USES_SEED : USES_STATE);
        vec_push(a, list, is_init ? "seed" : "state->random_seed");
    }
    if (call->counters.count > 0 && !is_init)
        use(t, USES_STATE);
    for (size_t i = 0; i < call->counters.count; i++)
        vec_push(a, list, is_init ? "0" : arena_printf(a, "state->%s", counter_member(t->e, call->counters.data[i])));
}

/* ---- what is wanted ---------------------------------------------------------------------------------------------- */

static void want_output(struct want *w, int output)
{
    struct guard *const g = &w->outputs;
    int at = 0;
    while (at < g->count && g->output[at] < output)
        at++;
    if (at < g->count && g->output[at] == output)
        return;
    if (g->count == GUARD_MOST) {
        w->always = true;
        return;
    }
    for (int i = g->count++; i > at; i--)
        g->output[i] = g->output[i - 1];
    g->output[at] = output;
}

static void want_add(struct want *w, struct want by)
{
    for (int i = 0; i < by.outputs.count; i++)
        want_output(w, by.outputs.output[i]);
    w->always |= by.always;
}

static bool is_wanted(const struct want *w)
{
    return w->always || w->outputs.count > 0;
}

static struct want want_of_buffer(const struct want *buffers, const struct buffer *b)
{
    struct want w = buffers[b->id];
    if (b->kind == BUFFER_VARIABLE)
        w.always = true;
    if (b->kind == BUFFER_OUTPUT)
        want_output(&w, b->index);
    return w;
}

/* Whom the checks of kernel i are for: those who want what it writes. Checks that became a kernel of their own have a
 * part in that; what else writes nothing is for the entry as a whole. */
static void want_of_checks(struct entry_text *t, size_t i)
{
    const struct lowered *const l = t->plan->lowered;
    const struct kernel *const k = l->kernels.data[i];
    for (size_t j = i + 1; k->checked && j < l->kernels.count; j++)
        if (l->kernels.data[j] == k->checked)
            want_add(&t->wants[i], t->wants[j]);
    t->wants[i].always |= k->checks.count > 0 && t->wants[i].outputs.count == 0;
}

/* Whom each kernel serves, from the last to the first, and each input. */
static void find_wants(struct entry_text *t)
{
    const struct lowered *const l = t->plan->lowered;
    struct want *const buffers = arena_array(t->e->arena, struct want, l->buffers.count);
    t->wants = arena_array(t->e->arena, struct want, l->kernels.count);
    t->input_wants = arena_array(t->e->arena, struct want, t->entry->graph->inputs.count);
    for (size_t i = l->kernels.count; i-- > 0;) {
        struct arena scratch = {0};
        buffer_list reads = {0}, writes = {0};
        struct want *const w = &t->wants[i];
        kernel_reads(&scratch, l->kernels.data[i], &reads);
        kernel_writes(&scratch, l->kernels.data[i], &writes);
        for (size_t b = 0; b < writes.count; b++)
            want_add(w, want_of_buffer(buffers, writes.data[b]));
        want_of_checks(t, i);
        for (size_t b = 0; b < reads.count; b++) {
            const struct buffer *const read = reads.data[b];
            want_add(&buffers[read->id], *w);
            if (read->kind == BUFFER_INPUT && read->count > 0)
                want_add(&t->input_wants[read->index], *w);
        }
        arena_free(&scratch);
    }
}

static const struct guard in_any_case = {0};

/* As a guard of the entry's steps. */
static struct guard guard_of(struct want w)
{
    return w.always ? in_any_case : w.outputs;
}

/* "out->loss != NULL" for each output. */
static const char *const *output_conditions(struct emission *e, const struct entry *entry)
{
    const size_t count = entry->graph->outputs.count;
    const char **const conditions = arena_array(e->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        conditions[i] = arena_printf(e->arena, "out->%s != NULL", output_name(e, entry, i));
    return conditions;
}

/* ---- temporaries ------------------------------------------------------------------------------------------------- */

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

static bool is_in_arena(const struct entry_text *t, const struct buffer *b)
{
    return b->kind == BUFFER_TEMP && t->plan->life[b->id].first >= 0 && b->count > 0;
}

/* An empty scope but for what entries call things themselves. */
static struct name_scope entry_scope(const struct emission *e)
{
    struct arena *a = e->arena;
    static const char *const own[] = {"state", "arena", "seed", "in", "out", "i", "status"};
    struct name_scope names = {.taken = {.arena = a}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        map_set(&names.taken, own[i], NULL);
    reserve_prefix_macros(e, &names);
    reserve_written_functions(&names);
    return names;
}

/* Never as a place in the arena: DIGITS_STEP_HIDDEN_AT. */
static const char *temporary_name(const struct emission *e, struct name_scope *names, const struct buffer *b)
{
    const char *const name = name_mangle(e->arena, b->name);
    const bool is_place = str_starts_with(name, arena_printf(e->arena, "%s_", e->upper));
    return name_in(names, str_starts_with(b->name, "scratch") ? "scratch"
                          : is_place                         ? arena_printf(e->arena, "at_%s", name)
                                                             : b->name);
}

/* Temporaries are called by values of the model, "add_4" say, which a kernel or constant must not be called as well:
 * the local would hide it. */
void reserve_temporaries(struct emission *e)
{
    for (size_t i = 0; i < e->all_plans.count; i++) {
        const struct entry_text t = {.plan = e->all_plans.data[i]};
        const struct lowered *l = t.plan->lowered;
        struct name_scope names = entry_scope(e);
        for (size_t b = 0; b < l->buffers.count; b++)
            if (is_in_arena(&t, l->buffers.data[b]))
                map_set(&e->file.taken, temporary_name(e, &names, l->buffers.data[b]), NULL);
    }
}

/* "[32,32] float16". Its name in the model stands in front if the pointer is not simply called so. */
static const char *temporary_comment(const struct entry_text *t, const struct buffer *b, const char *name)
{
    struct arena *const a = t->e->arena;
    struct strbuf text = {.arena = a};
    if (!str_equal(name, name_mangle(a, b->name)) && !str_starts_with(b->name, "scratch"))
        strbuf_addf(&text, "\"%s\" ", b->name);
    strbuf_add(&text, b->shape.rank ? buffer_shape_text(a, t->entry->graph, b) : "scalar");
    if (dtype_is_hidden(a, b->dtype))
        strbuf_addf(&text, " %s", dtype_name(b->dtype));
    return strbuf_text(&text);
}

static struct entry_pointer *make_temporary(struct entry_text *t, const struct buffer *b)
{
    struct emission *const e = t->e;
    struct entry_pointer *const p = arena_new(e->arena, struct entry_pointer);
    p->type = c_type(b->dtype);
    p->name = temporary_name(t->e, &t->names, b);
    p->about = temporary_comment(t, b, p->name);
    if (t->also[b->id]) {
        const int output = t->also[b->id]->index;
        p->wanted = arena_printf(e->arena, "out->%s", output_name(e, t->entry, (size_t)output));
        p->wanted_output = output;
    }
    return p;
}

static void make_temporaries(struct entry_text *t)
{
    const struct lowered *l = t->plan->lowered;
    t->temporaries = arena_array(t->e->arena, struct entry_pointer *, l->buffers.count + 1);
    for (size_t i = 0; i < l->buffers.count; i++)
        if (is_in_arena(t, l->buffers.data[i]))
            t->temporaries[i] = make_temporary(t, l->buffers.data[i]);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* What copies: see COPY_CONSTANT. */
static const char *copy_function(struct emission *e, bool is_constant)
{
    const struct target *const t = e->options->target;
    const bool is_apart = is_constant && (!target_is_named(t) || t->vector_bytes == 64); /* AVX-512 */
    return is_apart ? use_helper(e, COPY_CONSTANT) : "memcpy";
}

static void add_call(struct entry_text *t, struct guard guard, const char *name, const char *x, const char *y,
                     const char *z)
{
    struct entry_step s = {.kind = STEP_CALL, .guard = guard, .name = name};
    vec_push(t->e->arena, &s.arguments, x);
    vec_push(t->e->arena, &s.arguments, y);
    vec_push(t->e->arena, &s.arguments, z);
    entry_add_step(&t->body, s);
}

static void add_set(struct entry_text *t, struct guard guard, const char *target, const char *value)
{
    entry_add_step(&t->body, (struct entry_step){.kind = STEP_SET, .guard = guard, .target = target, .value = value});
}

/* How many it has in this call. */
static const char *elements_text(struct entry_text *t, const struct buffer *b)
{
    struct arena *const a = t->e->arena;
    if (!is_late(&b->late))
        return arena_printf(a, "%" PRId64, b->count);
    const char *const count = arena_printf(a, "(size_t)in->%s", count_name(t->e, t->entry));
    const char *const moving = b->late.per == 1 ? count : arena_printf(a, "%" PRId64 " * %s", b->late.per, count);
    return b->late.base == 0 ? moving
                             : arena_printf(a, "(%s %c %" PRId64 ")", moving, b->late.base < 0 ? '-' : '+',
                                            b->late.base < 0 ? -b->late.base : b->late.base);
}

static void add_copy(struct entry_text *t, struct guard guard, const struct buffer *to, const struct buffer *from)
{
    struct emission *const e = t->e;
    const bool is_constant = from->kind == BUFFER_CONSTANT && !weights_has(e, from->constant);
    if (to->count == 1) {
        add_set(t, guard, element_argument(t, to), element_argument(t, from));
    } else if (to->count > 1) {
        const char *const target = bytes_argument(t, to);
        const char *const size =
            to->kind == BUFFER_VARIABLE
                ? arena_printf(e->arena, "sizeof %s", target)
                : arena_printf(e->arena, "%s * sizeof(%s)", elements_text(t, to), c_type(to->dtype));
        add_call(t, guard, copy_function(e, is_constant), target, bytes_argument(t, from), size);
    }
}

/* A routine of the runtime fills memory with random numbers. */
static void add_draw(struct entry_text *t, const struct kernel_draw *d, int number, struct guard guard)
{
    struct emission *const e = t->e;
    struct arena *const a = e->arena;
    const struct expr *const x = d->number;
    struct kernel_call call = {.draws = !x->draw->has_seed};
    vec_push(a, &call.counters, x->draw->counter);
    const char *const name = arena_printf(a, "stepc_fill_%s%s", x->op == EXPR_NORMAL ? "normal" : "uniform",
                                          x->dtype == DTYPE_FLOAT ? "f" : "");
    struct entry_step run = {.kind = STEP_RUN, .guard = guard, .kernel = number, .name = use_helper(e, name)};
    vec_push(a, &run.arguments, pointer_argument(t, d->to));
    vec_push(a, &run.arguments, arena_printf(a, "%" PRId64, d->to->count));
    if (x->op == EXPR_UNIFORM)
        vec_push(a, &run.arguments, number_float(a, x->dtype, d->offset));
    vec_push(a, &run.arguments, number_float(a, x->dtype, d->factor));
    if (x->draw->has_seed)
        vec_push(a, &run.arguments, arena_printf(a, "UINT64_C(%" PRIu64 ")", x->draw->seed));
    add_random_arguments(t, &call, &run.arguments);
    vec_push(a, &run.arguments, arena_printf(a, "%" PRId64 "u", x->i));
    e->calls[entry_index(e, t->entry)][number] = name;
    entry_add_step(&t->body, run);
}

/* Of a kernel or a check. */
static void add_kernel_call(struct entry_text *t, const struct kernel_call *call, int number, struct guard guard)
{
    struct arena *const a = t->e->arena;
    struct entry_step s = {.kind = call->status ? STEP_CHECK : STEP_RUN, .guard = guard, .kernel = number,
                           .name = call->name, .made = call->status ? NULL : t->made, .status = call->status};
    for (size_t i = 0; i < call->arguments.count; i++) {
        const struct call_argument *const x = &call->arguments.data[i];
        vec_push(a, &s.arguments, x->by_value ? element_argument(t, x->buffer) : pointer_argument(t, x->buffer));
    }
    if (call->takes_arena) {
        vec_push(a, &s.arguments, "arena");
        use(t, USES_ARENA);
    }
    add_random_arguments(t, call, &s.arguments);
    if (call->takes_count) {
        vec_push(a, &s.arguments, arena_printf(a, "in->%s", count_name(t->e, t->entry)));
        use(t, USES_IN);
    }
    entry_add_step(&t->body, s);
}

/* What a kernel makes, of several variables that which is trained, as the model calls it. */
static const char *made_name(const struct entry_text *t, const struct kernel *k, const char *function)
{
    struct arena *const a = t->e->arena;
    buffer_list writes = {0};
    kernel_writes(a, k, &writes);
    const struct buffer *made = writes.count > 0 ? writes.data[0] : NULL;
    for (size_t i = 1; i < writes.count && made->kind == BUFFER_VARIABLE; i++)
        if (writes.data[i]->kind == BUFFER_VARIABLE && writes.data[i]->variable->role == ROLE_WEIGHT)
            made = writes.data[i];
    return made ? name_mangle(a, made->name) : function ? function : t->entry->name;
}

static void add_kernel(struct entry_text *t, const struct kernel *k, int number, struct guard guard)
{
    struct emission *const e = t->e;
    struct buffer *from, *to;
    const char **const called = &e->calls[entry_index(e, t->entry)][number];
    if (kernel_is_copy(k, &from, &to)) {
        *called = to->count ? "memcpy" : NULL;
        add_copy(t, guard, to, from);
        return;
    }
    struct kernel_draw draw;
    if (kernel_is_draw(k, &draw)) {
        add_draw(t, &draw, number, guard);
        return;
    }
    const struct kernel_call call = emit_kernel(e, t->plan, k);
    t->made = made_name(t, k, call.name);
    for (size_t i = 0; i < call.checks.count; i++)
        add_kernel_call(t, &call.checks.data[i], number, guard);
    *called = call.name ? call.name : "check";
    if (call.name)
        add_kernel_call(t, &call, number, guard);
}

static void add_kernels(struct entry_text *t)
{
    const struct lowered *l = t->plan->lowered;
    for (size_t i = 0; i < l->kernels.count; i++) {
        const struct kernel *const k = l->kernels.data[i];
        const struct want *const w = &t->wants[i];
        const struct guard guard = guard_of(*w);
        if (is_skipped_copy(t, k) || !is_wanted(w))
            continue;
        t->uses |= guard.count > 0 ? USES_OUT : 0;
        add_kernel(t, k, (int)i, guard);
    }
}

/* How often the entry calls the function in kernels first .. last. */
static int calls_between(const char *const *calls, int first, int last, const char *name)
{
    int n = 0;
    for (int i = first; i <= last; i++)
        n += calls[i] != NULL && str_equal(calls[i], name);
    return n;
}

/* "[32,32], until update_fc1()": behind which kernel its memory is used again, if others stand between. Of a function
 * that is called several times it is the call that ends the life: "until call 2 of relu()". */
static void tell_lives(struct entry_text *t)
{
    struct arena *const a = t->e->arena;
    const char *const *const calls = t->e->calls[entry_index(t->e, t->entry)];
    for (size_t i = 0; i < t->plan->lowered->buffers.count; i++) {
        struct entry_pointer *const p = t->temporaries[i];
        const struct plan_life *const life = &t->plan->life[i];
        if (!p || life->first == life->last || !calls[life->last])
            continue;
        const char *const name = calls[life->last];
        const int last = (int)t->plan->lowered->kernels.count - 1, all = calls_between(calls, 0, last, name);
        const int number = calls_between(calls, 0, life->last, name);
        p->about = all == 1 ? arena_printf(a, "%s, until %s()", p->about, name)
                            : arena_printf(a, "%s, until call %d of %s()", p->about, number, name);
    }
}

/* ---- initial values ---------------------------------------------------------------------------------------------- */

static void add_fill(struct entry_text *t, const struct variable *v)
{
    struct arena *const a = t->e->arena;
    const char *const elements = variable_elements(t, v);
    entry_add_step(&t->body,
                   (struct entry_step){.kind = STEP_FILL,
                                       .target = v->shape.rank > 1 ? arena_printf(a, "(%s)", elements) : elements,
                                       .value = number_element(a, v->initial, 0),
                                       .count = v->initial->count});
}

static void add_initial_copy(struct entry_text *t, const struct variable *v)
{
    struct emission *const e = t->e;
    const char *const member = variable_member(t, v), *const size = arena_printf(e->arena, "sizeof %s", member);
    const char *const wish = arena_printf(e->arena, "initial_%s", e->member[v->index]);
    if (weights_has_initial(e, v->initial)) {
        read_weights(t);
        add_call(t, in_any_case, "memcpy", member, weights_place(e, v->initial, v->by_columns, wish)->text, size);
    } else {
        const char *const array = constant_array(e, tensor_in_layout(e->arena, v, v->initial), wish);
        add_call(t, in_any_case, copy_function(e, true), member, array, size);
    }
}

static void add_initial(struct entry_text *t, const struct variable *v, bool clears_all)
{
    struct arena *const a = t->e->arena;
    if (v->initial->count == 0)
        return;
    const char *const member = variable_member(t, v);
    if (tensor_is_zero(v->initial) && clears_all)
        return;
    if (v->shape.rank == 0)
        add_set(t, in_any_case, member, number_element(a, v->initial, 0));
    else if (tensor_is_zero(v->initial))
        add_call(t, in_any_case, "memset", member, "0", arena_printf(a, "sizeof %s", member));
    else if (tensor_is_uniform(v->initial))
        add_fill(t, v);
    else
        add_initial_copy(t, v);
}

static bool is_overwritten(const struct graph *g, const struct variable *v)
{
    for (size_t i = 0; i < g->bindings.count; i++)
        if (g->bindings.data[i].variable == v)
            return true;
    return false;
}

/* Moments of optimizers begin with zeros: where there are several such variables all of the state does. */
static void add_initials(struct entry_text *t)
{
    const struct program *const p = t->e->program;
    VEC(const struct variable *) own = {0};
    int zeros = 0;
    for (size_t i = 0; i < p->variables.count; i++)
        if (!is_overwritten(t->entry->graph, p->variables.data[i])) {
            vec_push(t->e->arena, &own, p->variables.data[i]);
            zeros += p->variables.data[i]->initial->count > 0 && tensor_is_zero(p->variables.data[i]->initial);
        }
    if (zeros > 1) {
        use(t, USES_STATE);
        add_call(t, in_any_case, "memset", "state", "0", "sizeof *state");
    }
    for (size_t i = 0; i < own.count; i++)
        add_initial(t, own.data[i], zeros > 1);
}

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

/* Kernels keep what nodes draw. */
bool program_draws(const struct program *p)
{
    for (size_t i = 0; i < p->entries.count; i++)
        graph_each_node(p->entries.data[i].graph, n)
            if (n->stream != 0 && p->entries.data[i].kind != ENTRY_INIT)
                return true;
    return false;
}

/* init() starts the random numbers of all entries. When another is done, the next call draws other numbers. */
static void write_random_state(struct entry_text *t, struct writer *w)
{
    struct emission *const e = t->e;
    const struct entry *const entry = t->entry;
    const bool is_init = entry->kind == ENTRY_INIT;
    if (is_init)
        write_line(w, "state->random_seed = seed;");
    const size_t first = is_init ? 0 : entry->first_counter;
    const size_t count = is_init ? e->program->counters.count : entry->counter_count;
    for (size_t i = first; i < first + count; i++)
        write_line(w, is_init ? "state->%s = 0;" : "state->%s++;", counter_member(e, i));
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void write_unused(struct entry_text *t, struct writer *w)
{
    const struct graph *const g = t->entry->graph;
    if (!(t->uses & USES_STATE))
        write_line(w, "(void)state;");
    if (!(t->uses & USES_ARENA))
        write_line(w, "(void)arena;");
    if (t->entry->kind == ENTRY_INIT && !(t->uses & USES_SEED))
        write_line(w, "(void)seed;");
    if (has_inputs(t->e, t->entry) && !(t->uses & USES_IN))
        write_line(w, "(void)in;");
    if (g->outputs.count && !(t->uses & USES_OUT))
        write_line(w, "(void)out;");
}

/* "in->x == NULL", perhaps only where an output is wanted; NULL: nothing reads it. */
static const char *missing_input(struct entry_text *t, size_t input)
{
    struct arena *const a = t->e->arena;
    const struct want w = t->input_wants[input];
    if (!is_wanted(&w))
        return NULL;
    const char *const name = input_name(t->e, t->entry, input);
    const text_list guard = entry_guard(&t->body, guard_of(w));
    if (guard.count == 0)
        return arena_printf(a, "in->%s == NULL", name);
    struct strbuf b = {.arena = a};
    strbuf_addf(&b, "(in->%s == NULL && %s", name, guard.count > 1 ? "(" : "");
    for (size_t i = 0; i < guard.count; i++)
        strbuf_addf(&b, "%s%s", i ? " || " : "", guard.data[i]);
    strbuf_add(&b, guard.count > 1 ? "))" : ")");
    return strbuf_text(&b);
}

/* Comes first: what follows reads them. */
static void write_argument_check(struct entry_text *t, struct writer *w)
{
    struct arena *const a = t->e->arena;
    text_list missing = {0};
    if (t->uses & USES_STATE)
        vec_push(a, &missing, "state == NULL");
    if (t->uses & USES_ARENA)
        vec_push(a, &missing, "arena == NULL");
    if (t->uses & USES_IN)
        vec_push(a, &missing, "in == NULL");
    if (t->uses & USES_OUT)
        vec_push(a, &missing, "out == NULL");
    for (size_t i = 0; i < t->entry->graph->inputs.count && (t->uses & USES_IN); i++) {
        const char *const text = missing_input(t, i);
        if (text)
            vec_push(a, &missing, text);
    }
    if (weights_is_input(t->e, t->entry))
        vec_push(a, &missing, "in->weights == NULL");
    if (t->entry->takes_count) {
        const struct size_range *const r = t->e->program->range;
        const char *const count = count_name(t->e, t->entry);
        vec_push(a, &missing, arena_printf(a, "in->%s < %" PRId64, count, r->low));
        vec_push(a, &missing, arena_printf(a, "in->%s > %" PRId64, count, r->high));
    }
    if (missing.count == 0)
        return;
    write_alternatives(w, "if (", missing.data, missing.count, ")");
    write_line(w, "    return STEPC_E_ARGUMENT;");
}

/* What is looked at before anything is done. */
static void write_checks(struct entry_text *t, struct writer *w)
{
    struct emission *const e = t->e;
    write_argument_check(t, w);
    if (t->reads_weights) {
        struct entry_step check = {.name = "check_weights", .status = "STEPC_E_MISMATCH"};
        vec_push(e->arena, &check.arguments, weights_expression(e));
        print_entry_check(w, &check);
    }
    if (t->entry->kind == ENTRY_INIT && e->options->reproducible)
        print_entry_check(w, &(struct entry_step){.name = use_helper(e, CHECK_ARITHMETIC),
                                                  .status = "STEPC_E_ARITHMETIC"});
}

static const char *emit_entry(struct emission *e, const struct entry *entry, const struct plan *plan)
{
    e->calls[entry_index(e, entry)] = arena_array(e->arena, const char *, plan->lowered->kernels.count + 1);
    struct entry_text t = {
        .e = e, .entry = entry, .plan = plan, .names = entry_scope(e), .made = entry->name};
    t.weights.arena = t.body.arena = e->arena;
    t.body.outputs = output_conditions(e, entry);
    t.body.traces = e->options->trace;
    t.also = arena_array(e->arena, const struct buffer *, plan->lowered->buffers.count + 1);
    find_wants(&t);
    find_direct_outputs(&t);
    make_temporaries(&t);
    if (entry->kind == ENTRY_INIT)
        add_initials(&t);
    add_kernels(&t);
    tell_lives(&t);
    const bool keeps_random = e->random_state && (entry->kind == ENTRY_INIT || entry->counter_count > 0);
    t.uses |= keeps_random ? USES_STATE | USES_SEED : 0;
    e->weights.entries[entry_index(e, entry)] = t.reads_weights;
    t.uses |= weights_is_input(e, entry) || entry->takes_count ? USES_IN : 0;

    struct writer writer = {.text = {.arena = e->arena}}, *w = &writer;
    struct writer calls = {.text = {.arena = e->arena}, .depth = 1};
    const struct entry_function f = {e->name, entry->name, entry_mutates(entry), &e->file};
    print_entry_parts(&t.body, &f, w, &calls);
    if (e->options->levels)
        write_line(w, "STEPC_LEVEL_ENTRY");
    write_entry_head(e, w, entry, "");
    write_line(w, "{");
    w->depth++;
    write_unused(&t, w);
    write_checks(&t, w);
    strbuf_add(&w->text, strbuf_text(&calls.text));
    if (keeps_random)
        write_random_state(&t, w);
    write_line(w, "return STEPC_OK;");
    w->depth--;
    write_line(w, "}");
    return strbuf_text(&w->text);
}

/* init() comes first in the file but last here: constants are called after where the other entries use them. */
void section_entries(struct emission *e)
{
    const size_t count = e->program->entries.count;
    const char **texts = arena_array(e->arena, const char *, count + 1);
    name_entry_arguments(e);
    e->calls = arena_array(e->arena, const char **, count + 1);
    e->random_state = program_draws(e->program);
    group_kernels(e);
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
