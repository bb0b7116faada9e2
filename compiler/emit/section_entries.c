/* The entries: init(), step(), infer() ... as functions that call kernels. Runs before the other sections, because it
 * finds out which kernels, constants and functions the file needs. */
#include "emit/entry_build.h"

#include <inttypes.h>
#include <string.h>

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
static void want_of_checks(struct entry_build *t, size_t i)
{
    const struct lowered *const l = t->plan->lowered;
    const struct kernel *const k = l->kernels.data[i];
    for (size_t j = i + 1; k->checked && j < l->kernels.count; j++)
        if (l->kernels.data[j] == k->checked)
            want_add(&t->wants[i], t->wants[j]);
    t->wants[i].always |= k->checks.count > 0 && t->wants[i].outputs.count == 0;
}

/* Whom each kernel serves, from the last to the first, and each input. */
static void find_wants(struct entry_build *t)
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

/* ---- outputs in place ------------------------------------------------------------------------------------------- */

static bool is_skipped_copy(const struct entry_build *t, const struct kernel *k)
{
    struct buffer *from, *to;
    return kernel_is_copy(k, &from, &to) && from->kind == BUFFER_TEMP && t->also[from->id] == to;
}

/* A temporary that is an output as a whole is written to the caller's memory when it is wanted, else to the arena. */
static void find_direct_outputs(struct entry_build *t)
{
    const struct lowered *l = t->plan->lowered;
    for (size_t i = 0; i < l->kernels.count; i++) {
        struct buffer *from, *to;
        if (kernel_is_copy(l->kernels.data[i], &from, &to) && from->kind == BUFFER_TEMP && to->kind == BUFFER_OUTPUT &&
            !t->also[from->id])
            t->also[from->id] = to;
    }
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* A step of one statement that is no kernel. */
static void add_statement(struct entry_build *t, struct guard guard, const stmt_list *body)
{
    entry_add_step(&t->body, (struct entry_step){.guard = guard, .body = *body});
}

static void add_call(struct entry_build *t, struct guard guard, enum call_kind kind, const char *name,
                     const struct expr *x, const struct expr *y, const struct expr *z)
{
    stmt_list body = {0};
    struct tree_builder b = tree_builder(t->a, &body);
    const struct expr *const args[] = {x, y, z};
    tree_run(&b, tree_call(t->a, DTYPE_INDEX, kind, name, args, 3));
    add_statement(t, guard, &body);
}

/* A constant: see COPY_CONSTANT. */
static void add_copy_of(struct entry_build *t, struct guard guard, bool is_constant, const struct expr *to,
                        const struct expr *from, const struct expr *size)
{
    const struct target *const machine = t->e->options->target;
    const bool is_apart = is_constant && (!target_is_named(machine) || machine->vector_bytes == 64); /* AVX-512 */
    add_call(t, guard, is_apart ? CALL_HELPER : CALL_NAMED, is_apart ? COPY_CONSTANT : "memcpy", to, from, size);
}

static void add_clear(struct entry_build *t, const struct expr *what, const struct tree_var *bytes_of)
{
    add_call(t, in_any_case, CALL_NAMED, "memset", what, index_constant(t->a, 0), tree_bytes(t->a, bytes_of));
}

static void add_set(struct entry_build *t, struct guard guard, const struct expr *target, const struct expr *value)
{
    stmt_list body = {0};
    struct tree_builder b = tree_builder(t->a, &body);
    tree_set(&b, target, SET_TO, value);
    add_statement(t, guard, &body);
}

/* How many it has in this call. */
static const struct expr *count_elements(struct entry_build *t, const struct buffer *b)
{
    struct arena *const a = t->a;
    if (!is_late(&b->late))
        return index_constant(a, b->count);
    const struct expr *const count = index_cast(a, "size_t", tree_read(a, t->v.count));
    const struct expr *const moving = index_mul(a, index_constant(a, b->late.per), count);
    return b->late.base < 0 ? index_sub(a, moving, index_constant(a, -b->late.base))
                            : index_add(a, moving, index_constant(a, b->late.base));
}

static void add_copy(struct entry_build *t, struct guard guard, const struct buffer *to, const struct buffer *from)
{
    struct arena *const a = t->a;
    const bool is_constant = from->kind == BUFFER_CONSTANT && !weights_has(t->e, from->constant);
    if (to->count == 1) {
        const struct expr *const value = entry_element(t, from);
        add_set(t, guard, entry_element(t, to), value);
    } else if (to->count > 1) {
        const struct expr *const target = entry_memory(t, to), *const source = entry_memory(t, from);
        const struct expr *const size =
            to->kind == BUFFER_VARIABLE ? tree_bytes(a, entry_member(t, to->variable))
                                        : index_mul(a, count_elements(t, to), tree_sizeof(a, c_type(to->dtype)));
        add_copy_of(t, guard, is_constant, target, source, size);
    }
}

/* STEPC_TRACE(3, "update_fc1_weight"): what a port may ask for in front of each kernel. */
static void put_trace(struct entry_build *t, struct tree_builder *b, int number, const char *name)
{
    const struct expr *const args[] = {index_constant(t->a, number), index_text(t->a, c_string(t->a, name))};
    if (t->e->options->trace)
        tree_run(b, tree_call(t->a, DTYPE_INDEX, CALL_NAMED, "STEPC_TRACE", args, 2));
}

/* A routine of the runtime fills memory with random numbers. */
static void add_draw(struct entry_build *t, const struct kernel_draw *d, int number, struct guard guard)
{
    struct emission *const e = t->e;
    struct arena *const a = t->a;
    const struct expr *const x = d->number;
    struct kernel_call call = {.draws = !x->draw->has_seed};
    vec_push(a, &call.counters, x->draw->counter);
    const char *const name = arena_printf(a, "stepc_fill_%s%s", x->op == EXPR_NORMAL ? "normal" : "uniform",
                                          x->dtype == DTYPE_FLOAT ? "f" : "");
    struct entry_step run = {.guard = guard, .kernel = name};
    struct tree_builder b = tree_builder(a, &run.body);
    expr_list args = {0};
    vec_push(a, &args, entry_pointer(t, d->to));
    vec_push(a, &args, index_constant(a, d->to->count));
    if (x->op == EXPR_UNIFORM)
        vec_push(a, &args, expr_float(a, x->dtype, d->offset));
    vec_push(a, &args, expr_float(a, x->dtype, d->factor));
    if (x->draw->has_seed)
        vec_push(a, &args, expr_int(a, DTYPE_UINT64, (int64_t)x->draw->seed));
    entry_add_random(t, &call, &args);
    vec_push(a, &args, expr_int(a, DTYPE_UINT32, x->i));
    put_trace(t, &b, number, name);
    tree_run(&b, tree_call(a, DTYPE_INDEX, CALL_HELPER, name, args.data, args.count));
    e->calls[entry_index(e, t->entry)][number] = name;
    entry_add_step(&t->body, run);
}

/* Of a kernel or a check. */
static void add_kernel_call(struct entry_build *t, const struct kernel_call *call, int number, struct guard guard)
{
    struct arena *const a = t->a;
    struct entry_step s = {.guard = guard, .kernel = call->name, .made = call->status ? NULL : t->made};
    struct tree_builder b = tree_builder(a, &s.body);
    expr_list args = {0};
    for (size_t i = 0; i < call->arguments.count; i++) {
        const struct call_argument *const x = &call->arguments.data[i];
        const struct expr *const arg = x->by_value ? entry_element(t, x->buffer) : entry_pointer(t, x->buffer);
        vec_push(a, &args, arg);
    }
    if (call->takes_arena)
        vec_push(a, &args, entry_begin(t, t->v.arena));
    entry_add_random(t, call, &args);
    if (call->takes_count)
        vec_push(a, &args, tree_read(a, t->v.count));
    vec_each(const struct expr *, size, &call->sizes)
        vec_push(a, &args, size);
    const struct expr *const run = tree_call_function(a, call->function, args.data, args.count);
    put_trace(t, &b, number, call->name);
    if (call->status)
        entry_put_check(&b, run, index_text(a, call->status));
    else
        tree_run(&b, run);
    s.may_fail = call->status != NULL;
    entry_add_step(&t->body, s);
}

/* What a kernel makes, of several variables that which is trained, as the model calls it. */
static const char *made_name(const struct entry_build *t, const struct kernel *k, const char *function)
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

static void add_kernel(struct entry_build *t, const struct kernel *k, int number, struct guard guard)
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

static void add_kernels(struct entry_build *t)
{
    const struct lowered *l = t->plan->lowered;
    for (size_t i = 0; i < l->kernels.count; i++) {
        const struct kernel *const k = l->kernels.data[i];
        const struct want *const w = &t->wants[i];
        const struct guard guard = guard_of(*w);
        if (is_skipped_copy(t, k) || !is_wanted(w))
            continue;
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
static void tell_lives(struct entry_build *t)
{
    struct arena *const a = t->e->arena;
    const char *const *const calls = t->e->calls[entry_index(t->e, t->entry)];
    for (size_t i = 0; i < t->plan->lowered->buffers.count; i++) {
        const struct plan_life *const life = &t->plan->life[i];
        if (!t->temporaries[i] || life->first == life->last || !calls[life->last])
            continue;
        const char *const name = calls[life->last];
        const int last = (int)t->plan->lowered->kernels.count - 1, all = calls_between(calls, 0, last, name);
        const int number = calls_between(calls, 0, life->last, name);
        t->told[i] = all == 1 ? arena_printf(a, "%s, until %s()", t->told[i], name)
                              : arena_printf(a, "%s, until call %d of %s()", t->told[i], number, name);
    }
}

/* ---- initial values ---------------------------------------------------------------------------------------------- */

/* for (i < count) v[i] = value; */
static void add_fill(struct entry_build *t, const struct variable *v)
{
    struct arena *const a = t->a;
    const int64_t count = v->initial->count;
    const char *const type = target_index_type(t->e->options->target, count);
    const struct tree_var *const i = tree_index_var(a, VAR_LOOP, type, "i", 0, count - 1);
    stmt_list body = {0};
    struct tree_builder b = tree_builder(a, &body);
    tree_open_loop(&b, i, index_constant(a, 0), index_constant(a, count), 1, LOOP_PLAIN);
    tree_set(&b, tree_element(a, entry_member(t, v), tree_read(a, i)), SET_TO, entry_number(a, v->initial, 0));
    tree_close(&b);
    add_statement(t, in_any_case, &body);
}

static void add_initial_copy(struct entry_build *t, const struct variable *v)
{
    struct emission *const e = t->e;
    const struct tree_var *const member = entry_member(t, v);
    const struct expr *const to = tree_whole(t->a, member), *const size = tree_bytes(t->a, member);
    const char *const wish = arena_printf(t->a, "initial_%s", e->member[v->index]);
    if (weights_has_initial(e, v->initial)) {
        const struct weights_place *const place = weights_place(e, v->initial, v->by_columns, wish);
        add_copy_of(t, in_any_case, false, to, entry_weights(t, place, v->initial->dtype), size);
    } else {
        const struct tensor *const content = tensor_in_layout(t->a, v, v->initial);
        add_copy_of(t, in_any_case, true, to, entry_constant(t, content, wish), size);
    }
}

static void add_initial(struct entry_build *t, const struct variable *v, bool clears_all)
{
    const struct tree_var *const member = entry_member(t, v);
    if (v->initial->count == 0 || (tensor_is_zero(v->initial) && clears_all))
        return;
    if (v->shape.rank == 0)
        add_set(t, in_any_case, tree_read(t->a, member), entry_number(t->a, v->initial, 0));
    else if (tensor_is_zero(v->initial))
        add_clear(t, tree_whole(t->a, member), member);
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
static void add_initials(struct entry_build *t)
{
    const struct program *const p = t->e->program;
    VEC(const struct variable *) own = {0};
    int zeros = 0;
    for (size_t i = 0; i < p->variables.count; i++)
        if (!is_overwritten(t->entry->graph, p->variables.data[i])) {
            vec_push(t->e->arena, &own, p->variables.data[i]);
            zeros += p->variables.data[i]->initial->count > 0 && tensor_is_zero(p->variables.data[i]->initial);
        }
    if (zeros > 1)
        add_clear(t, entry_begin(t, t->v.state), t->v.state);
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
static void put_random_state(struct entry_build *t, struct tree_builder *b)
{
    struct arena *const a = t->a;
    const struct entry *const entry = t->entry;
    const bool is_init = entry->kind == ENTRY_INIT;
    if (!t->e->random_state || (!is_init && entry->counter_count == 0))
        return;
    if (is_init)
        tree_set(b, tree_read(a, t->v.random_seed), SET_TO, tree_read(a, t->v.seed));
    const size_t first = is_init ? 0 : entry->first_counter;
    const size_t count = is_init ? t->e->program->counters.count : entry->counter_count;
    for (size_t i = first; i < first + count; i++)
        tree_set(b, tree_read(a, t->v.counters[i]), is_init ? SET_TO : SET_SUM, index_constant(a, is_init ? 0 : 1));
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static const struct expr *is_missing(struct entry_build *t, const struct tree_var *v)
{
    return index_compare(t->a, EXPR_EQ, tree_whole(t->a, v), tree_null(t->a));
}

/* in->x == NULL, perhaps only where an output is wanted; NULL: nothing reads it. */
static const struct expr *missing_input(struct entry_build *t, size_t input)
{
    const struct want w = t->input_wants[input];
    if (!is_wanted(&w))
        return NULL;
    const struct expr *const missing = is_missing(t, t->v.inputs[input]);
    const struct expr *const guard = entry_guard(&t->body, guard_of(w));
    return guard ? index_binary(t->a, EXPR_BOTH, missing, guard) : missing;
}

static void or_else(struct arena *a, const struct expr **condition, const struct expr *other)
{
    if (other)
        *condition = *condition ? index_binary(a, EXPR_EITHER, *condition, other) : other;
}

/* Comes first: what follows reads them. `used`: these parameters. */
static void put_argument_check(struct entry_build *t, const tree_vars *used, struct tree_builder *b)
{
    struct arena *const a = t->a;
    const struct expr *wrong = NULL;
    vec_each(const struct tree_var *, v, used)
        if (v->kind == VAR_POINTER)
            or_else(a, &wrong, is_missing(t, v));
    for (size_t i = 0; i < t->entry->graph->inputs.count && tree_has(used, t->v.in); i++)
        or_else(a, &wrong, missing_input(t, i));
    if (weights_is_input(t->e, t->entry))
        or_else(a, &wrong, is_missing(t, t->v.weights));
    if (t->v.count) {
        const struct size_range *const r = t->e->program->range;
        const struct expr *const count = tree_read(a, t->v.count);
        or_else(a, &wrong, index_compare(a, EXPR_LT, count, index_constant(a, r->low)));
        or_else(a, &wrong, index_compare(a, EXPR_GT, count, index_constant(a, r->high)));
    }
    if (!wrong)
        return;
    tree_open_if(b, wrong);
    tree_return(b, index_text(a, "STEPC_E_ARGUMENT"));
    tree_close(b);
}

static void put_arithmetic_check(struct entry_build *t, struct tree_builder *b, const char *routine)
{
    entry_put_check(b, tree_call_routine(t->a, DTYPE_INDEX, routine, "kernels/stepc_arithmetic.h", NULL, 0),
                    index_text(t->a, "STEPC_E_ARITHMETIC"));
}

/* Does this build compute as it is written? init() is made last, so all that computes with double is known. */
static void put_arithmetic_checks(struct entry_build *t, struct tree_builder *b)
{
    put_arithmetic_check(t, b, "stepc_check_arithmetic");
    if (find_double_user(t->e))
        put_arithmetic_check(t, b, "stepc_check_arithmetic_double");
}

/* What is looked at before anything is done. */
static void put_checks(struct entry_build *t, const tree_vars *used, struct tree_builder *b)
{
    struct arena *const a = t->a;
    put_argument_check(t, used, b);
    if (t->reads_weights) {
        const struct expr *const weights = tree_whole(a, t->v.weights);
        entry_put_check(b, tree_call(a, DTYPE_INDEX, CALL_NAMED, "check_weights", &weights, 1),
                        index_text(a, "STEPC_E_MISMATCH"));
    }
    if (t->entry->kind == ENTRY_INIT && t->e->options->reproducible)
        put_arithmetic_checks(t, b);
}

/* Of the parameters, those that the function has; of these, those that it uses, beside the others: (void)arena; */
static void put_params(struct entry_build *t, const stmt_list *body, struct tree_function *f, tree_vars *used,
                        struct tree_builder *b)
{
    struct arena *const a = t->a;
    const bool reads_inputs = weights_is_input(t->e, t->entry) || t->entry->takes_count;
    vec_each(const struct tree_var *, v, &t->v.params) {
        if ((v == t->v.in && !has_inputs(t->e, t->entry)) || (v == t->v.out && !t->entry->graph->outputs.count))
            continue;
        vec_push(a, &f->params, v);
        if (entry_uses(body, v) || (v == t->v.in && reads_inputs))
            vec_push(a, used, v);
        else
            tree_run(b, index_cast(a, "void", v->kind == VAR_POINTER ? entry_begin(t, v) : tree_read(a, v)));
    }
}

/* The entry behind its parts. */
static struct tree_function *make_function(struct entry_build *t, tree_functions *functions)
{
    struct emission *const e = t->e;
    struct tree_function *const f = arena_new(t->a, struct tree_function);
    stmt_list body = {0};
    tree_vars used = {0};
    struct tree_builder inner = tree_builder(t->a, &body), b = tree_builder(t->a, &f->body);
    struct expr_scope scope = {.e = e, .arena = t->a};
    const struct entry_function of = {e->name, t->entry->name, &t->v.params, &e->file, &scope};
    entry_put_parts(&t->body, &of, functions, &inner);
    put_random_state(t, &inner);
    *f = (struct tree_function){.type = "stepc_status", .is_public = true};
    f->name = arena_printf(t->a, "%s_%s", e->name, t->entry->name);
    put_params(t, &body, f, &used, &b);
    put_checks(t, &used, &b);
    vec_each(const struct stmt *, s, &body)
        vec_push(t->a, &f->body, s);
    tree_return(&b, index_text(t->a, "STEPC_OK"));
    vec_push(t->a, functions, f);
    return f;
}

/* Parts first. */
static const char *functions_text(struct emission *e, const tree_functions *functions, struct entry_parts *parts)
{
    struct expr_scope scope = {.e = e, .arena = e->arena};
    struct writer w = {.text = {.arena = e->arena}};
    for (size_t i = 0; i < functions->count; i++) {
        if (i > 0)
            write_blank(&w);
        if (functions->data[i]->is_public && e->options->levels)
            write_line(&w, "STEPC_LEVEL_ENTRY");
        verify_function(e, functions->data[i]->name, functions->data[i]);
        note_needs(e, functions->data[i]);
        vec_push(e->arena, &e->trees, functions->data[i]);
        if (!functions->data[i]->is_public)
            vec_push(e->arena, &parts->functions, functions->data[i]);
        print_function(&scope, &w, functions->data[i]);
    }
    return strbuf_text(&w.text);
}

static const char *emit_entry(struct emission *e, const struct entry *entry, const struct plan *plan)
{
    e->calls[entry_index(e, entry)] = arena_array(e->arena, const char *, plan->lowered->kernels.count + 1);
    struct entry_build t = {
        .e = e, .a = e->arena, .entry = entry, .plan = plan, .names = entry_scope(e), .made = entry->name};
    tree_functions functions = {0};
    t.weights.arena = t.body.arena = e->arena;
    entry_make_variables(&t);
    t.body.outputs = t.v.outputs;
    t.also = arena_array(e->arena, const struct buffer *, plan->lowered->buffers.count + 1);
    find_wants(&t);
    find_direct_outputs(&t);
    entry_make_temporaries(&t);
    if (entry->kind == ENTRY_INIT)
        add_initials(&t);
    add_kernels(&t);
    tell_lives(&t);
    e->weights.entries[entry_index(e, entry)] = t.reads_weights;
    e->entry_functions[entry_index(e, entry)] = make_function(&t, &functions);
    check_entry(e, e->entry_functions[entry_index(e, entry)], t.v.state);
    return functions_text(e, &functions, &e->entry_parts[entry_index(e, entry)]);
}

/* init() comes first in the file but last here: constants are called after where the other entries use them. */
void section_entries(struct emission *e)
{
    const size_t count = e->program->entries.count;
    const char **texts = arena_array(e->arena, const char *, count + 1);
    name_entry_arguments(e);
    e->calls = arena_array(e->arena, const char **, count + 1);
    e->entry_functions = arena_array(e->arena, struct tree_function *, count + 1);
    e->entry_parts = arena_array(e->arena, struct entry_parts, count + 1);
    e->random_state = program_draws(e->program);
    group_kernels(e);
    classify_kernels(e);
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
