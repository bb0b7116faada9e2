/* The descriptor by which checkpoints, `stepc run`, other languages and benchmarks drive any model. */
#include "emit/emit_internal.h"

#include <inttypes.h>

const char *c_string(struct arena *a, const char *s)
{
    struct strbuf b = {.arena = a};
    strbuf_add(&b, "\"");
    for (const char *p = s; *p; p++) {
        const unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\' || c == '?')
            strbuf_addf(&b, "\\%c", c);
        else if (c < 32 || c >= 127)
            strbuf_addf(&b, "\\%03o", c);
        else
            strbuf_add_n(&b, p, 1);
    }
    strbuf_add(&b, "\"");
    return strbuf_text(&b);
}

static const char *dtype_constant(struct arena *a, enum dtype d)
{
    return arena_printf(a, "STEPC_%s", name_upper(a, dtype_name(d)));
}

struct model_text {
    struct emission *e;
    struct map shapes; /* text of a shape -> name of the array of its dims */
    text_list dims;    /* these arrays: "dims32x64[] = {32, 64}" */
    struct writer variables, turns, tensors, calls, entries, updates;
    unsigned variable_count; /* those with elements, then seed and counters */
    unsigned *numbers;       /* of the program's variables among them */
    bool has_sums;
};

/* Arrays of dims, one per distinct shape. */
static const char *dims_array(struct model_text *t, const struct shape *s)
{
    struct arena *const a = t->e->arena;
    if (s->rank == 0)
        return "NULL";
    const char *const key = shape_text(a, s);
    const char *name = map_get(&t->shapes, key);
    if (name)
        return name;
    struct strbuf n = {.arena = a}, values = {.arena = a};
    strbuf_add(&n, "dims");
    for (int d = 0; d < s->rank; d++) {
        strbuf_addf(&n, "%s%" PRId64, d ? "x" : "", s->dim[d]);
        strbuf_addf(&values, "%s%" PRId64, d ? ", " : "", s->dim[d]);
    }
    name = name_in(&t->e->file, strbuf_text(&n));
    vec_push(a, &t->dims, arena_printf(a, "%s[] = {%s}", name, strbuf_text(&values)));
    map_set(&t->shapes, key, (void *)(intptr_t)name);
    return name;
}

static const char *tensor_info(struct model_text *t, const char *name, enum dtype d, const struct shape *s)
{
    struct arena *const a = t->e->arena;
    return arena_printf(a, "{%s, %s, %d, %s}", c_string(a, name), dtype_constant(a, d), s->rank, dims_array(t, s));
}

/* ---- variables --------------------------------------------------------------------------------------------------- */

/* A pointer to what an untyped one points to. */
static struct tree_var *declare_typed(struct tree_builder *b, const struct tree_var *of, enum dtype dtype,
                                      const char *type, const char *name)
{
    struct tree_var *const v = tree_var(b->arena, VAR_POINTER, dtype, type, name);
    v->written = of->written;
    tree_declare(b, v, tree_whole(b->arena, of));
    return v;
}

static struct tree_var *size_var(struct arena *a, const char *name)
{
    return tree_var(a, VAR_VALUE, DTYPE_INDEX, "size_t", name);
}

/* What brings a matrix from the state's order into row-major order, or back: row_major[i] is
 * s->w[(first + i) % columns][(first + i) / columns]. */
static const char *write_turn(struct model_text *t, const struct variable *v, bool reads)
{
    struct emission *const e = t->e;
    struct arena *const a = e->arena;
    struct tree_function *const f = arena_new(a, struct tree_function);
    struct tree_builder b = tree_builder(a, &f->body);
    struct tree_var *const state = untyped_var(a, "state", !reads), *const values = untyped_var(a, "values", reads),
                    *const first = size_var(a, "first"), *const count = size_var(a, "count"),
                    *const i = tree_var(a, VAR_LOOP, DTYPE_INDEX, "size_t", "i");
    const char *const member = e->member[v->index];
    f->type = "void";
    f->name = file_name(e, arena_printf(a, "%s_%s", reads ? "read" : "write", member));
    vec_push(a, &f->params, state);
    vec_push(a, &f->params, values);
    vec_push(a, &f->params, first);
    vec_push(a, &f->params, count);
    const struct tree_var *const s = declare_typed(&b, state, DTYPE_INDEX, arena_printf(a, "%s_state", e->name), "s");
    const struct tree_var *const row_major = declare_typed(&b, values, v->dtype, c_type(v->dtype), "row_major");
    struct tree_var *const matrix = tree_member(a, VAR_ARRAY, v->dtype, c_type(v->dtype), s, member,
                                                shape_count(&v->shape));
    matrix->rank = v->shape.rank;
    const struct expr *const at = index_add(a, tree_read(a, first), tree_read(a, i)),
                      *const columns = index_text(a, arena_printf(a, "%" PRId64 "u", v->shape.dim[1]));
    const struct expr *const here = tree_matrix(a, matrix, index_mod(a, at, columns), index_div(a, at, columns)),
                      *const there = tree_element(a, row_major, tree_read(a, i));
    tree_open_loop(&b, i, index_constant(a, 0), tree_read(a, count), 1, LOOP_PLAIN);
    tree_set(&b, reads ? there : here, SET_TO, reads ? here : there);
    tree_close(&b);
    write_tree(e, &t->turns, f);
    return f->name;
}

static void write_variable(struct model_text *t, const char *info, const char *member, const char *role,
                           const char *read, const char *write)
{
    struct arena *const a = t->e->arena;
    const char *const words[] = {arena_printf(a, "{%s,", info), arena_printf(a, "AT(%s),", member),
                                 arena_printf(a, "STEPC_ROLE_%s,", role), arena_printf(a, "%s,", read),
                                 arena_printf(a, "%s},", write)};
    write_words(&t->variables, words, sizeof words / sizeof *words, NULL);
    t->variable_count++;
}

static void write_counter(struct model_text *t, const char *member)
{
    struct arena *const a = t->e->arena;
    const struct shape scalar = {0};
    write_variable(t, tensor_info(t, arena_printf(a, "stepc.%s", member), DTYPE_UINT64, &scalar), member, "COUNTER",
                   "NULL", "NULL");
}

static void write_variables(struct model_text *t)
{
    static const char *const roles[] = {"WEIGHT", "STATISTIC", "OPTIMIZER", "COUNTER", "SUM"};
    struct emission *e = t->e;
    for (size_t i = 0; i < e->program->variables.count; i++) {
        const struct variable *v = e->program->variables.data[i];
        if (shape_count(&v->shape) == 0)
            continue;
        t->numbers[i] = t->variable_count;
        t->has_sums |= v->role == ROLE_SUM;
        const char *const read = v->by_columns ? write_turn(t, v, true) : "NULL";
        const char *const write = v->by_columns ? write_turn(t, v, false) : "NULL";
        write_variable(t, tensor_info(t, v->name, v->dtype, &v->shape), e->member[i], roles[v->role], read, write);
    }
    if (!e->random_state)
        return;
    write_counter(t, "random_seed");
    for (size_t i = 0; i < e->program->counters.count; i++)
        write_counter(t, counter_member(e, i));
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

/* Those by pointers: the graph's, and the weights file behind them. */
static size_t pointer_count(const struct emission *e, const struct entry *entry)
{
    return entry->graph->inputs.count + (weights_is_input(e, entry) ? 1 : 0);
}

/* And the count of the program's range. */
static size_t input_count(const struct emission *e, const struct entry *entry)
{
    return pointer_count(e, entry) + (entry->takes_count ? 1 : 0);
}

/* "step_inputs", a table with a line for each; a single one stands beside its name. "NULL" for none. */
static const char *write_tensors(struct model_text *t, const struct entry *entry, const char *what,
                                 const text_list *infos)
{
    struct arena *const a = t->e->arena;
    struct writer *const w = &t->tensors;
    if (infos->count == 0)
        return "NULL";
    const char *const name = arena_printf(a, "%s_%s", entry->name, what);
    const char *const head = arena_printf(a, "static const stepc_tensor_info %s[] =", name);
    if (infos->count == 1) {
        write_words(w, (const char *const[]){head, arena_printf(a, "{%s};", infos->data[0])}, 2, NULL);
        return name;
    }
    write_open(w, "%s", head);
    for (size_t i = 0; i < infos->count; i++)
        write_line(w, "%s,", infos->data[i]);
    write_close(w, ";");
    return name;
}

static const char *write_inputs(struct model_text *t, const struct entry *entry)
{
    struct arena *const a = t->e->arena;
    text_list infos = {0};
    for (size_t i = 0; i < entry->graph->inputs.count; i++) {
        const struct value *const v = entry->graph->inputs.data[i];
        vec_push(a, &infos, tensor_info(t, v->name, v->dtype, &v->shape));
    }
    if (weights_is_input(t->e, entry)) {
        const struct shape bytes = {.rank = 1, .dim = {(int64_t)t->e->weights.image->bytes}};
        vec_push(a, &infos, tensor_info(t, "stepc.weights", DTYPE_UINT8, &bytes));
    }
    if (entry->takes_count)
        vec_push(a, &infos, tensor_info(t, t->e->program->range->name, DTYPE_INT32, &(struct shape){0}));
    return write_tensors(t, entry, "inputs", &infos);
}

static const char *write_outputs(struct model_text *t, const struct entry *entry)
{
    struct arena *const a = t->e->arena;
    text_list infos = {0};
    for (size_t i = 0; i < entry->graph->outputs.count; i++) {
        const struct value *const v = entry->graph->outputs.data[i].value;
        vec_push(a, &infos, tensor_info(t, entry->graph->outputs.data[i].name, v->dtype, &v->shape));
    }
    return write_tensors(t, entry, "outputs", &infos);
}

/* &(digits_step_inputs){in[0], in[1]}: pointers, and the count of the range behind them. */
static const struct expr *struct_of(struct model_text *t, const struct entry *entry, const struct tree_var *from,
                                    size_t pointers, size_t count)
{
    struct arena *const a = t->e->arena;
    const struct expr **const members = arena_array(a, const struct expr *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct expr *const x = tree_element(a, from, index_constant(a, (int64_t)i));
        members[i] = i < pointers ? x : tree_call(a, DTYPE_INDEX, CALL_NAMED, "stepc_count", &x, 1);
    }
    const char *const type = arena_printf(a, "%s_%s_%sputs", t->e->name, entry->name, from->name);
    return tree_call(a, DTYPE_INDEX, CALL_STRUCT, type, members, count);
}

/* Pointers that are given where they are used, or not looked at. */
static void put_pointer_check(struct tree_builder *b, const struct tree_var *const *used, size_t count)
{
    struct arena *const a = b->arena;
    const struct expr *wrong = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct expr *const missing = index_compare(a, EXPR_EQ, tree_whole(a, used[i]), tree_null(a));
        wrong = wrong ? index_binary(a, EXPR_EITHER, wrong, missing) : missing;
    }
    if (!wrong)
        return;
    tree_open_if(b, wrong);
    tree_return(b, index_text(a, "STEPC_E_ARGUMENT"));
    tree_close(b);
}

/* Its generic form: call_step(). */
static void write_call(struct model_text *t, const struct entry *entry)
{
    struct emission *const e = t->e;
    struct arena *const a = e->arena;
    struct tree_function *const f = arena_new(a, struct tree_function);
    struct tree_builder b = tree_builder(a, &f->body);
    const size_t inputs = input_count(e, entry), outputs = entry->graph->outputs.count;
    struct tree_var *const state = untyped_var(a, "state", true), *const arena = untyped_var(a, "arena", true),
                    *const seed = tree_var(a, VAR_VALUE, DTYPE_INDEX, "uint64_t", "seed");
    struct tree_var *const in = untyped_var(a, "in", false), *const out = untyped_var(a, "out", true);
    const struct tree_var *used[2];
    const struct expr *args[5] = {tree_whole(a, state), tree_whole(a, arena)};
    size_t used_count = 0, count = 2;
    in->type = out->type = "void *const";
    f->type = "stepc_status";
    f->name = arena_printf(a, "call_%s", entry->name);
    vec_push(a, &f->params, state);
    vec_push(a, &f->params, arena);
    vec_push(a, &f->params, seed);
    vec_push(a, &f->params, in);
    vec_push(a, &f->params, out);
    if (entry->kind == ENTRY_INIT)
        args[count++] = tree_read(a, seed);
    else
        tree_run(&b, index_cast(a, "void", tree_read(a, seed)));
    if (inputs > 0) {
        used[used_count++] = in;
        args[count++] = struct_of(t, entry, in, pointer_count(e, entry), inputs);
    } else {
        tree_run(&b, index_cast(a, "void", tree_whole(a, in)));
    }
    if (outputs > 0) {
        used[used_count++] = out;
        args[count++] = struct_of(t, entry, out, outputs, outputs);
    } else {
        tree_run(&b, index_cast(a, "void", tree_whole(a, out)));
    }
    put_pointer_check(&b, used, used_count);
    tree_return(&b, tree_call_function(a, e->entry_functions[entry_index(e, entry)], args, count));
    write_tree(e, &t->calls, f);
}

static void write_entry(struct model_text *t, const struct entry *x)
{
    struct arena *const a = t->e->arena;
    const char *const flags = x->kind == ENTRY_INIT   ? "STEPC_ENTRY_SEED | STEPC_ENTRY_MUTATES"
                              : x->kind == ENTRY_STEP ? "STEPC_ENTRY_MUTATES"
                                                      : "0";
    const char *const counts = arena_printf(a, "%zu, %zu", input_count(t->e, x), x->graph->outputs.count);
    const char *const inputs = write_inputs(t, x), *const outputs = write_outputs(t, x);
    write_call(t, x);
    const char *const words[] = {arena_printf(a, "{\"%s\", %s, %s,", x->name, flags, counts),
                                 arena_printf(a, "%s,", inputs), arena_printf(a, "%s,", outputs),
                                 arena_printf(a, "call_%s},", x->name)};
    write_words(&t->entries, words, sizeof words / sizeof *words, NULL);
}

/* ---- what entries change ----------------------------------------------------------------------------------------- */

static bool may_change(const struct model_text *t, const struct entry *x, unsigned number)
{
    const struct emission *const e = t->e;
    const unsigned first_counter = t->variable_count - (unsigned)e->program->counters.count;
    if (x->kind == ENTRY_INIT)
        return true;
    if (e->random_state && number >= first_counter)
        return number - first_counter >= x->first_counter &&
               number - first_counter < x->first_counter + x->counter_count;
    vec_each_ptr (const struct binding, b, &x->graph->bindings)
        if (shape_count(&b->variable->shape) > 0 && t->numbers[b->variable->index] == number)
            return true;
    return false;
}

static void write_updates(struct model_text *t, const struct entry *x)
{
    struct arena *const a = t->e->arena;
    text_list numbers = {0};
    for (unsigned number = 0; number < t->variable_count; number++)
        if (may_change(t, x, number))
            vec_push(a, &numbers, arena_printf(a, "%u", number));
    vec_push(a, &numbers, arena_printf(a, "%u", t->variable_count));
    write_list(&t->updates, arena_printf(a, "static const unsigned %s_updates[] = {", x->name), numbers.data,
               numbers.count, "};");
}

/* Only where machines may share the samples of an entry. */
static void write_all_updates(struct model_text *t)
{
    struct emission *const e = t->e;
    text_list names = {0};
    if (!t->has_sums)
        return;
    vec_each_ptr (const struct entry, x, &e->program->entries) {
        write_updates(t, x);
        vec_push(e->arena, &names, arena_printf(e->arena, "%s_updates", x->name));
    }
    write_list(&t->updates, arena_printf(e->arena, "static const unsigned *const %s_updates_by_entry[] = {", e->name),
               names.data, names.count, "};");
    write_blank(&t->updates);
}

/* ---- the section ------------------------------------------------------------------------------------------------- */

static void write_model(struct model_text *t)
{
    struct emission *const e = t->e;
    struct writer *const c = &e->c;
    char digest[65];
    for (int i = 0; i < 32; i++)
        snprintf(digest + 2 * i, 3, "%02x", e->program->model->digest[i]);
    write_open(c, "const stepc_model %s_model =", e->name);
    write_line(c, ".abi = STEPC_ABI, .name = \"%s\",", e->name);
    write_line(c, ".fingerprint = \"%s\",", digest);
    write_line(c, ".state_bytes = sizeof(%s_state), .arena_bytes = sizeof(%s_arena),", e->name, e->name);
    if (t->variable_count)
        write_line(c, ".variable_count = %u, .variables = %s_variables,", t->variable_count, e->name);
    write_line(c, ".entry_count = %zu, .entries = %s_entries,", e->program->entries.count, e->name);
    if (t->has_sums)
        write_line(c, ".updates = %s_updates_by_entry,", e->name);
    write_close(c, ";");
}

void section_model(struct emission *e)
{
    const struct writer empty = {.text = {.arena = e->arena}}, row = {.text = {.arena = e->arena}, .depth = 1};
    struct model_text t = {.e = e,
                           .shapes = {.arena = e->arena},
                           .variables = row,
                           .turns = empty,
                           .tensors = empty,
                           .calls = empty,
                           .entries = row,
                           .updates = empty,
                           .numbers = arena_array(e->arena, unsigned, e->program->variables.count + 1)};
    struct writer *const c = &e->c;
    write_variables(&t);
    write_all_updates(&t);
    for (size_t i = 0; i < e->program->entries.count; i++)
        write_entry(&t, &e->program->entries.data[i]);

    write_section(c, "model");
    if (t.dims.count) {
        write_list(c, "static const size_t ", t.dims.data, t.dims.count, ";");
        write_blank(c);
    }
    strbuf_add(&c->text, strbuf_text(&t.turns.text));
    if (t.variable_count) {
        write_line(c, "#define AT(member) offsetof(%s_state, member)", e->name);
        write_open(c, "static const stepc_variable_info %s_variables[] =", e->name);
        strbuf_add(&c->text, strbuf_text(&t.variables.text));
        write_close(c, ";");
        write_blank(c);
    }
    if (t.tensors.text.length) {
        strbuf_add(&c->text, strbuf_text(&t.tensors.text));
        write_blank(c);
    }
    strbuf_add(&c->text, strbuf_text(&t.calls.text));
    write_open(c, "static const stepc_entry %s_entries[] =", e->name);
    strbuf_add(&c->text, strbuf_text(&t.entries.text));
    write_close(c, ";");
    write_blank(c);
    strbuf_add(&c->text, strbuf_text(&t.updates.text));
    write_model(&t);
}
