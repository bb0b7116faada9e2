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

/* Arrays of dims, one per distinct shape. */
static const char *dims_array(struct emission *e, struct map *shapes, struct writer *w, const struct shape *s)
{
    if (s->rank == 0)
        return "NULL";
    const char *key = shape_text(e->arena, s);
    const char *name = map_get(shapes, key);
    if (name)
        return name;
    struct strbuf n = {.arena = e->arena}, values = {.arena = e->arena};
    strbuf_add(&n, "dims");
    for (int d = 0; d < s->rank; d++) {
        strbuf_addf(&n, "_%" PRId64, s->dim[d]);
        strbuf_addf(&values, "%s%" PRId64, d ? ", " : "", s->dim[d]);
    }
    name = name_in(&e->file, strbuf_text(&n));
    write_line(w, "static const size_t %s[] = {%s};", name, strbuf_text(&values));
    map_set(shapes, key, (void *)(intptr_t)name);
    return name;
}

static const char *tensor_info(struct emission *e, struct map *shapes, struct writer *dims, const char *name,
                               enum dtype d, const struct shape *s)
{
    return arena_printf(e->arena, "{%s, %s, %d, %s}", c_string(e->arena, name), dtype_constant(e->arena, d), s->rank,
                        dims_array(e, shapes, dims, s));
}

struct model_text {
    struct emission *e;
    struct map shapes;
    struct writer dims, tables;
    unsigned variable_count;
};

/* What brings a matrix from the state's order into row-major order, or back. */
static const char *write_turn(struct model_text *t, const struct variable *v, bool reads)
{
    struct emission *e = t->e;
    struct writer *w = &t->tables;
    const char *const member = e->member[v->index], *const type = c_type(v->dtype);
    const char *const name = file_name(e, arena_printf(e->arena, "%s_%s", reads ? "read" : "write", member));
    const char *const qualifier = reads ? "const " : "", *const other = reads ? "" : "const ";
    write_line(w, "static void %s(%svoid *state, %svoid *values, size_t first, size_t count)", name, qualifier, other);
    write_line(w, "{");
    w->depth++;
    write_line(w, "%s%s_state *const s = (%s%s_state *)state;", qualifier, e->name, qualifier, e->name);
    write_line(w, "%s%s *const row_major = (%s%s *)values;", other, type, other, type);
    write_open(w, "for (size_t i = 0; i < count; i++)");
    const int64_t columns = v->shape.dim[1];
    const char *const here = arena_printf(e->arena, "s->%s[(first + i) %% %" PRId64 "u][(first + i) / %" PRId64 "u]",
                                          member, columns, columns);
    write_line(w, "%s = %s;", reads ? "row_major[i]" : here, reads ? here : "row_major[i]");
    write_close(w, "");
    write_close(w, "");
    write_blank(w);
    return name;
}

static void write_variables(struct model_text *t)
{
    static const char *const roles[] = {"STEPC_ROLE_WEIGHT", "STEPC_ROLE_STATISTIC", "STEPC_ROLE_OPTIMIZER",
                                        "STEPC_ROLE_COUNTER"};
    struct emission *e = t->e;
    struct writer rows = {.text = {.arena = e->arena}, .depth = 1};
    for (size_t i = 0; i < e->program->variables.count; i++) {
        const struct variable *v = e->program->variables.data[i];
        if (shape_count(&v->shape) == 0)
            continue;
        write_line(&rows, "{%s,", tensor_info(e, &t->shapes, &t->dims, v->name, v->dtype, &v->shape));
        const char *const read = v->by_columns ? write_turn(t, v, true) : "NULL";
        const char *const write = v->by_columns ? write_turn(t, v, false) : "NULL";
        write_line(&rows, " offsetof(%s_state, %s), %s, %s, %s},", e->name, e->member[i], roles[v->role], read, write);
        t->variable_count++;
    }
    if (e->random_state) {
        write_line(&rows,
                   "{{\"stepc.random_seed\", STEPC_UINT64, 0, NULL}, offsetof(%s_state, random_seed), "
                   "STEPC_ROLE_COUNTER, NULL, NULL},",
                   e->name);
        t->variable_count++;
        for (size_t i = 0; i < e->program->counters.count; i++) {
            const char *member = counter_member(e, i);
            write_line(&rows, "{{\"stepc.%s\", STEPC_UINT64, 0, NULL}, offsetof(%s_state, %s), STEPC_ROLE_COUNTER,",
                       member, e->name, member);
            write_line(&rows, " NULL, NULL},");
            t->variable_count++;
        }
    }
    if (t->variable_count == 0)
        return;
    write_open(&t->tables, "static const stepc_variable_info %s_variables[] =", e->name);
    strbuf_add(&t->tables.text, strbuf_text(&rows.text));
    write_close(&t->tables, ";");
    write_blank(&t->tables);
}

static void write_tensor_table(struct model_text *t, const struct entry *entry, bool outputs)
{
    struct emission *e = t->e;
    const struct graph *g = entry->graph;
    const size_t count = outputs ? g->outputs.count : g->inputs.count;
    const bool weights = !outputs && weights_is_input(e, entry);
    if (count == 0 && !weights)
        return;
    write_open(&t->tables, "static const stepc_tensor_info %s_%s[] =", entry->name, outputs ? "outputs" : "inputs");
    for (size_t i = 0; i < count; i++) {
        const struct value *v = outputs ? g->outputs.data[i].value : g->inputs.data[i];
        const char *name = outputs ? g->outputs.data[i].name : v->name;
        write_line(&t->tables, "%s,", tensor_info(e, &t->shapes, &t->dims, name, v->dtype, &v->shape));
    }
    if (weights) {
        const struct shape bytes = {.rank = 1, .dim = {(int64_t)e->weights.image->bytes}};
        write_line(&t->tables, "%s,", tensor_info(e, &t->shapes, &t->dims, "stepc.weights", DTYPE_UINT8, &bytes));
    }
    write_close(&t->tables, ";");
}

/* The graph's, and the weights file behind them. */
static size_t input_count(const struct emission *e, const struct entry *entry)
{
    return entry->graph->inputs.count + (weights_is_input(e, entry) ? 1 : 0);
}

static void write_call(struct model_text *t, const struct entry *entry)
{
    struct emission *e = t->e;
    struct writer *w = &t->tables;
    const struct graph *g = entry->graph;
    const bool mutates = entry->kind == ENTRY_INIT || entry->kind == ENTRY_STEP;
    write_list(w, arena_printf(e->arena, "static stepc_status call_%s(", entry->name),
               (const char *const[]){"void *state", "void *arena", "uint64_t seed", "const void *const *inputs",
                                     "void *const *outputs"},
               5, ")");
    write_line(w, "{");
    w->depth++;
    const size_t inputs = input_count(e, entry);
    struct strbuf arguments = {.arena = e->arena};
    strbuf_addf(&arguments, "(%s%s_state *)state, (%s_arena *)arena", mutates ? "" : "const ", e->name, e->name);
    if (inputs)
        write_line(w, "%s_%s_inputs in;", e->name, entry->name);
    if (g->outputs.count)
        write_line(w, "%s_%s_outputs out;", e->name, entry->name);
    if (entry->kind == ENTRY_INIT)
        strbuf_add(&arguments, ", seed");
    else
        write_line(w, "(void)seed;");
    if (!inputs)
        write_line(w, "(void)inputs;");
    if (!g->outputs.count)
        write_line(w, "(void)outputs;");
    const char *const missing[] = {"inputs == NULL", "outputs == NULL"};
    const size_t pointers = (inputs ? 1 : 0) + (g->outputs.count ? 1 : 0);
    if (pointers > 0) {
        write_alternatives(w, "if (", inputs ? missing : missing + 1, pointers, ")");
        write_line(w, "    return STEPC_E_ARGUMENT;");
    }
    for (size_t i = 0; i < g->inputs.count; i++)
        write_line(w, "in.%s = (const %s *)inputs[%zu];", input_name(e, entry, i), c_type(g->inputs.data[i]->dtype), i);
    if (weights_is_input(e, entry))
        write_line(w, "in.weights = inputs[%zu];", g->inputs.count);
    for (size_t i = 0; i < g->outputs.count; i++)
        write_line(w, "out.%s = (%s *)outputs[%zu];", output_name(e, entry, i), c_type(g->outputs.data[i].value->dtype),
                   i);
    strbuf_add(&arguments, inputs ? ", &in" : "");
    strbuf_add(&arguments, g->outputs.count ? ", &out" : "");
    write_line(w, "return %s_%s(%s);", e->name, entry->name, strbuf_text(&arguments));
    write_close(w, "");
    write_blank(w);
}

static void write_entries(struct model_text *t)
{
    struct emission *e = t->e;
    for (size_t i = 0; i < e->program->entries.count; i++) {
        write_tensor_table(t, &e->program->entries.data[i], false);
        write_tensor_table(t, &e->program->entries.data[i], true);
        write_call(t, &e->program->entries.data[i]);
    }
    write_open(&t->tables, "static const stepc_entry %s_entries[] =", e->name);
    for (size_t i = 0; i < e->program->entries.count; i++) {
        const struct entry *x = &e->program->entries.data[i];
        const struct graph *g = x->graph;
        const char *flags = x->kind == ENTRY_INIT   ? "STEPC_ENTRY_SEED | STEPC_ENTRY_MUTATES"
                            : x->kind == ENTRY_STEP ? "STEPC_ENTRY_MUTATES"
                                                    : "0";
        write_line(&t->tables, "{\"%s\", %s, %zu, %zu, %s, %s, call_%s},", x->name, flags, input_count(e, x),
                   g->outputs.count, input_count(e, x) ? arena_printf(e->arena, "%s_inputs", x->name) : "NULL",
                   g->outputs.count ? arena_printf(e->arena, "%s_outputs", x->name) : "NULL", x->name);
    }
    write_close(&t->tables, ";");
    write_blank(&t->tables);
}

void section_model(struct emission *e)
{
    struct model_text t = {.e = e,
                           .shapes = {.arena = e->arena},
                           .dims = {.text = {.arena = e->arena}},
                           .tables = {.text = {.arena = e->arena}}};
    write_variables(&t);
    write_entries(&t);
    char digest[65];
    for (int i = 0; i < 32; i++)
        snprintf(digest + 2 * i, 3, "%02x", e->program->model->digest[i]);
    struct writer *c = &e->c;
    write_section(c, "model");
    strbuf_add(&c->text, strbuf_text(&t.dims.text));
    if (t.dims.text.length)
        write_blank(c);
    strbuf_add(&c->text, strbuf_text(&t.tables.text));
    write_open(c, "const stepc_model %s_model =", e->name);
    write_line(c, "STEPC_ABI,");
    write_line(c, "\"%s\",", e->name);
    write_line(c, "\"%s\",", digest);
    write_line(c, "sizeof(%s_state),", e->name);
    write_line(c, "sizeof(%s_arena),", e->name);
    write_line(c, "%u,", t.variable_count);
    write_line(c, "%zu,", e->program->entries.count);
    write_line(c, "%s,", t.variable_count ? arena_printf(e->arena, "%s_variables", e->name) : "NULL");
    write_line(c, "%s_entries,", e->name);
    write_close(c, ";");
}
