/* What the statements of an entry name: its parameters and their members, places in the arena, constants. */
#include "emit/entry_build.h"

#include <string.h>

/* ---- variables --------------------------------------------------------------------------------------------------- */

/* As C declares it: of several dimensions it is a matrix. Without elements it is no member: C has no empty arrays. */
static const struct tree_var *state_member(struct entry_build *t, const struct variable *v)
{
    const enum var_kind kind = v->shape.rank == 0 ? VAR_CELL : VAR_ARRAY;
    struct tree_var *const m = tree_member(t->a, kind, v->dtype, c_type(v->dtype), t->v.state,
                                           t->e->member[v->index], shape_count(&v->shape));
    m->rank = v->shape.rank;
    m->is_cast = v->shape.rank > 1;
    return m;
}

static const struct tree_var *number_member(struct entry_build *t, const struct tree_var *of, const char *type,
                                            const char *name)
{
    return tree_member(t->a, VAR_CELL, DTYPE_INDEX, type, of, name, 0);
}

static struct tree_var *make_param(struct entry_build *t, const char *what, const char *name, bool written)
{
    const char *const model = t->e->name;
    const char *const type = arena_printf(t->a, "%s%s", model, what);
    struct tree_var *const v = tree_var(t->a, VAR_POINTER, DTYPE_INDEX, type, name);
    v->written = written;
    return v;
}

static void make_state(struct entry_build *t)
{
    const struct program *const p = t->e->program;
    struct entry_vars *const v = &t->v;
    v->state = make_param(t, "_state", "state", entry_mutates(t->entry));
    v->variables = arena_array(t->a, const struct tree_var *, p->variables.count + 1);
    v->counters = arena_array(t->a, const struct tree_var *, p->counters.count + 1);
    v->random_seed = number_member(t, v->state, "uint64_t", "random_seed");
    for (size_t i = 0; i < p->variables.count; i++)
        v->variables[i] = state_member(t, p->variables.data[i]);
    for (size_t i = 0; i < p->counters.count; i++)
        v->counters[i] = number_member(t, v->state, "uint64_t", counter_member(t->e, i));
}

/* A pointer that is a member, of inputs or outputs. */
static const struct tree_var *port(struct entry_build *t, const struct tree_var *of, const struct value *v,
                                   const char *name, bool written)
{
    struct tree_var *const m =
        tree_member(t->a, VAR_POINTER, v->dtype, c_type(v->dtype), of, name, shape_count(&v->shape));
    m->written = written;
    return m;
}

static void make_ports(struct entry_build *t)
{
    const struct graph *const g = t->entry->graph;
    struct entry_vars *const v = &t->v;
    v->in = make_param(t, arena_printf(t->a, "_%s_inputs", t->entry->name), "in", false);
    v->out = make_param(t, arena_printf(t->a, "_%s_outputs", t->entry->name), "out", false);
    v->inputs = arena_array(t->a, const struct tree_var *, g->inputs.count + 1);
    v->outputs = arena_array(t->a, const struct tree_var *, g->outputs.count + 1);
    for (size_t i = 0; i < g->inputs.count; i++)
        v->inputs[i] = port(t, v->in, g->inputs.data[i], input_name(t->e, t->entry, i), false);
    for (size_t i = 0; i < g->outputs.count; i++)
        v->outputs[i] = port(t, v->out, g->outputs.data[i].value, output_name(t->e, t->entry, i), true);
    v->count = t->entry->takes_count ? number_member(t, v->in, "int32_t", count_name(t->e, t->entry)) : NULL;
}

void entry_make_variables(struct entry_build *t)
{
    struct entry_vars *const v = &t->v;
    make_state(t);
    make_ports(t);
    v->arena = arena_var(t->e);
    v->seed = tree_var(t->a, VAR_VALUE, DTYPE_INDEX, "uint64_t", "seed");
    v->weights = weights_var(t->e, v->in);
    vec_push(t->a, &v->params, v->state);
    vec_push(t->a, &v->params, v->arena);
    if (t->entry->kind == ENTRY_INIT)
        vec_push(t->a, &v->params, v->seed);
    vec_push(t->a, &v->params, v->in);
    vec_push(t->a, &v->params, v->out);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

const struct expr *entry_begin(struct entry_build *t, const struct tree_var *v)
{
    return tree_address(t->a, v, index_constant(t->a, 0));
}

const struct tree_var *entry_member(const struct entry_build *t, const struct variable *v)
{
    return t->v.variables[v->index];
}

/* Where a tensor lies in the weights file. */
const struct expr *entry_weights(struct entry_build *t, const struct weights_place *place, enum dtype dtype)
{
    struct tree_var *const bytes = arena_copy(t->a, t->v.weights, sizeof *bytes, alignof(struct tree_var));
    bytes->dtype = dtype;
    bytes->type = c_type(dtype);
    t->reads_weights = true;
    return tree_address(t->a, bytes, index_constant(t->a, (int64_t)place->at));
}

static const struct expr *weights_argument(struct entry_build *t, const struct tensor *constant, const char *wish)
{
    const struct weights_place *const place = weights_place(t->e, constant, false, wish);
    struct tree_var *v = map_get(&t->weights, place->name);
    t->reads_weights = true;
    if (!v) {
        v = tree_var(t->a, VAR_POINTER, constant->dtype, c_type(constant->dtype), place->name);
        v->count = constant->count;
        v->value = entry_weights(t, place, constant->dtype);
        v->about = shape_text(t->a, &constant->shape);
        map_set(&t->weights, place->name, v);
    }
    return entry_begin(t, v);
}

const struct expr *entry_constant(struct entry_build *t, const struct tensor *constant, const char *wish)
{
    const char *const name = constant_array(t->e, constant, wish);
    struct tree_var *const v = tree_var(t->a, VAR_ARRAY, constant->dtype, c_type(constant->dtype), name);
    v->count = constant->count;
    v->is_of_file = true;
    return entry_begin(t, v);
}

static const struct expr *temporary_argument(struct entry_build *t, const struct buffer *b)
{
    struct tree_var *const v = t->temporaries[b->id];
    const struct plan_life *const life = &t->plan->life[b->id];
    const struct buffer *const output = t->also[b->id];
    if (!v)
        return tree_null(t->a);
    const bool is_own = life->first == life->last && !output; /* what only one kernel knows needs no pointer */
    if (!v->value) {
        const char *const wish = is_own ? t->made : v->name;
        v->value = arena_named_place(t->e, t->v.arena, t->entry, wish, is_own, b, &t->told[b->id]);
        if (output) {
            const struct expr *const there = entry_begin(t, t->v.outputs[output->index]);
            v->value = index_choose(t->a, index_compare(t->a, EXPR_NE, there, tree_null(t->a)), there, v->value);
        }
    }
    return is_own ? v->value : entry_begin(t, v);
}

/* A pointer to the buffer's elements. */
const struct expr *entry_pointer(struct entry_build *t, const struct buffer *b)
{
    struct emission *const e = t->e;
    switch (b->kind) {
    case BUFFER_TEMP: return temporary_argument(t, b);
    case BUFFER_INPUT: return entry_begin(t, t->v.inputs[b->index]);
    case BUFFER_OUTPUT: return entry_begin(t, t->v.outputs[b->index]);
    case BUFFER_CONSTANT:
        return weights_has(e, b->constant) ? weights_argument(t, b->constant, b->name)
                                           : entry_constant(t, b->constant, b->name);
    case BUFFER_VARIABLE: /* nobody touches what has no elements */
        return b->count ? entry_begin(t, entry_member(t, b->variable)) : tree_null(t->a);
    case BUFFER_LOCAL: break;
    }
    UNREACHABLE("buffer kind %d", (int)b->kind);
}

/* Floats of 16 bits and less are written as their bits. */
const struct expr *entry_number(struct arena *a, const struct tensor *t, int64_t i)
{
    if (dtype_is_pattern(t->dtype)) {
        const struct expr *const bits = index_text(a, number_element(a, t, i));
        struct expr *const number = arena_copy(a, bits, sizeof *bits, alignof(struct expr));
        number->dtype = t->dtype;
        return number;
    }
    return dtype_is_float(t->dtype) ? expr_float(a, t->dtype, tensor_get_double(t, i))
                                    : expr_int(a, t->dtype, tensor_get_int(t, i));
}

static const struct expr *first_of(struct entry_build *t, const struct tree_var *v)
{
    return v->kind == VAR_CELL ? tree_read(t->a, v) : tree_element(t->a, v, index_constant(t->a, 0));
}

/* Its only element. */
const struct expr *entry_element(struct entry_build *t, const struct buffer *b)
{
    if (b->kind == BUFFER_CONSTANT && b->count == 1)
        return entry_number(t->a, b->constant, 0);
    if (b->kind == BUFFER_VARIABLE)
        return first_of(t, entry_member(t, b->variable));
    const struct expr *const place = entry_pointer(t, b);
    return tree_element(t->a, place->var, place->arg[0]);
}

/* The same for memcpy(), which takes arrays of any dimensions. */
const struct expr *entry_memory(struct entry_build *t, const struct buffer *b)
{
    const bool is_array = b->kind == BUFFER_VARIABLE && b->variable->shape.rank > 1;
    return is_array ? tree_whole(t->a, entry_member(t, b->variable)) : entry_pointer(t, b);
}

/* Seed and counters of a kernel that draws. All of init() draws with counters of 0, at which it starts those of the
 * other entries. */
void entry_add_random(struct entry_build *t, const struct kernel_call *call, expr_list *list)
{
    const bool is_init = t->entry->kind == ENTRY_INIT;
    if (call->draws)
        vec_push(t->a, list, tree_read(t->a, is_init ? t->v.seed : t->v.random_seed));
    for (size_t i = 0; i < call->counters.count; i++)
        vec_push(t->a, list, is_init ? index_constant(t->a, 0)
                                     : tree_read(t->a, t->v.counters[call->counters.data[i]]));
}

/* ---- temporaries ------------------------------------------------------------------------------------------------- */

static bool is_in_arena(const struct entry_build *t, const struct buffer *b)
{
    return b->kind == BUFFER_TEMP && t->plan->life[b->id].first >= 0 && b->count > 0;
}

struct name_scope entry_scope(const struct emission *e)
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
        const struct entry_build t = {.plan = e->all_plans.data[i]};
        const struct lowered *l = t.plan->lowered;
        struct name_scope names = entry_scope(e);
        for (size_t b = 0; b < l->buffers.count; b++)
            if (is_in_arena(&t, l->buffers.data[b]))
                map_set(&e->file.taken, temporary_name(e, &names, l->buffers.data[b]), NULL);
    }
}

/* "[32,32] float16". Its name in the model stands in front if the pointer is not simply called so. */
static const char *temporary_comment(const struct entry_build *t, const struct buffer *b, const char *name)
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

static struct tree_var *make_temporary(struct entry_build *t, const struct buffer *b)
{
    struct tree_var *const v =
        tree_var(t->a, VAR_POINTER, b->dtype, c_type(b->dtype), temporary_name(t->e, &t->names, b));
    v->count = b->count;
    v->written = true;
    return v;
}

void entry_make_temporaries(struct entry_build *t)
{
    const struct lowered *l = t->plan->lowered;
    t->temporaries = arena_array(t->a, struct tree_var *, l->buffers.count + 1);
    t->told = arena_array(t->a, const char *, l->buffers.count + 1);
    for (size_t i = 0; i < l->buffers.count; i++) {
        if (!is_in_arena(t, l->buffers.data[i]))
            continue;
        t->temporaries[i] = make_temporary(t, l->buffers.data[i]);
        t->told[i] = temporary_comment(t, l->buffers.data[i], t->temporaries[i]->name);
    }
}
