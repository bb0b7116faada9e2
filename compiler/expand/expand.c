/* Entries as models: what is an input, what an output, and what they are called. See expand.h. */
#include "expand/expand_internal.h"

#include "base/str.h"

/* ---- the random state -------------------------------------------------------------------------------------------- */

static bool graph_draws(const struct graph *g)
{
    for (const struct node *n = g->first; n != NULL; n = n->next)
        if (n->def->is_random)
            return true;
    return false;
}

static struct variable *add_state(struct expansion *x, const char *name)
{
    struct program *const p = x->program;
    struct variable *const v = arena_new(p->arena, struct variable);
    *v = (struct variable){.name = name, .dtype = DTYPE_INT64, .shape = SHAPE_SCALAR, .role = ROLE_COUNTER,
                           .initial = tensor_scalar_int(p->arena, 0), .index = (int)p->variables.count};
    while (program_variable(p, v->name) != NULL)
        v->name = arena_printf(p->arena, "%s_", v->name);
    vec_push(p->arena, &p->variables, v);
    return v;
}

/* Of what is drawn with: the seed, and the counter of each entry that moves one on. */
static void add_random_state(struct expansion *x)
{
    struct program *const p = x->program;
    bool draws = false;
    x->own_variables = p->variables.count;
    vec_each_ptr(const struct entry, e, &p->entries)
        draws = draws || graph_draws(e->graph);
    if (!draws || x->options->native_random)
        return;
    x->seed = add_state(x, "random_seed");
    x->counters = arena_array(p->arena, struct variable *, p->counters.count + 1);
    for (size_t i = 0; i < p->counters.count; i++)
        x->counters[i] = add_state(x, p->counters.count > 1
                                          ? arena_printf(p->arena, "random_counter_%s", p->counters.data[i])
                                          : "random_counter");
}

static void bind(struct graph *g, struct variable *v, struct value *to)
{
    const struct binding b = {.variable = v, .value = to};
    vec_push(g->arena, &g->bindings, b);
}

/* init() gives all variables: those that the initialization graph does not start with what they hold in the model. */
static void bind_initial(struct expansion *x, struct graph *g)
{
    vec_each(struct variable *, v, &x->program->variables)
        if (graph_find_binding(g, v) == NULL)
            bind(g, v, graph_add_constant(g, arena_printf(g->arena, "%s.initial", v->name), v->initial));
}

/* init() starts with the seed that the caller gives, and draws with counters of 0; unless it gives a state. */
static void begin_random(struct expansion *x, struct graph *g, struct plain_target *t)
{
    struct builder b = {.graph = g, .prefix = "random."};
    const int64_t *const state = x->options->random_state;
    struct value **const counters = arena_array(g->arena, struct value *, x->program->counters.count + 1);
    t->counters = counters;
    t->seed = state != NULL ? build_int(&b, state[0]) : graph_add_input(g, x->seed->name, DTYPE_INT64, &SHAPE_SCALAR);
    bind(g, x->seed, t->seed);
    for (size_t i = 0; i < x->program->counters.count; i++) {
        counters[i] = build_int(&b, state != NULL ? state[1 + i] : 0);
        if (state != NULL)
            bind(g, x->counters[i], counters[i]);
    }
}

/* The values that variables have in the state, in an entry that changes nothing. */
static void put_inside(struct expansion *x, struct graph *g)
{
    for (size_t i = 0; i < x->own_variables; i++) {
        const struct variable *const v = x->program->variables.data[i];
        struct value *const inside = map_get(&g->variables, v->name);
        if (inside != NULL)
            graph_replace(g, inside, graph_add_constant(g, v->name, v->initial));
    }
}

/* Any other entry draws with what there is, and moves its own counters on. */
static void go_on_random(struct expansion *x, const struct entry *e, struct plain_target *t)
{
    struct graph *const g = e->graph;
    struct builder b = {.graph = g, .prefix = "random."};
    struct value **const counters = arena_array(g->arena, struct value *, x->program->counters.count + 1);
    t->counters = counters;
    t->seed = graph_add_variable(g, x->seed);
    for (size_t i = 0; i < x->program->counters.count; i++)
        counters[i] = graph_add_variable(g, x->counters[i]);
    for (size_t i = 0; i < e->counter_count; i++) {
        struct value *const one[] = {counters[e->first_counter + i], build_int(&b, 1)};
        bind(g, x->counters[e->first_counter + i], build_value(&b, "Add", NULL, one, 2));
    }
}

/* ---- inputs and outputs ------------------------------------------------------------------------------------------ */

/* What a variable is called in the model; NULL: it is not read, or not written. */
struct ends {
    const char *input, *output;
};

struct signature {
    struct expansion *expansion;
    struct graph_writer w;
    const struct graph *graph;
    const char **outputs; /* of graph outputs */
    struct ends *ends;    /* by index of a variable */
};

/* The name of an output, or a fresh one for it where an input has that name already; this is said. */
static const char *name_output(struct signature *s, const char *name)
{
    const char *const taken = take_fresh_name(s->w.names, name);
    if (!str_equal(taken, name))
        diag_note(s->expansion->program->diag, &LOC_FILE(s->expansion->program->model->file),
                  "entry '%s' has an input or output '%s' already: the output is called '%s'", s->w.to->name, name,
                  taken);
    return taken;
}

/* Names that must be as they are come first. Several outputs of one name cannot be: the model was refused. */
static void name_arguments(struct signature *s)
{
    const struct graph *const g = s->graph;
    vec_each(struct value *, v, &g->inputs) {
        s->w.name_of[v->id] = v->name;
        map_set(s->w.names, v->name, NULL);
    }
    for (size_t i = 0; i < g->outputs.count; i++)
        s->outputs[i] = name_output(s, g->outputs.data[i].name);
}

static void name_variables(struct signature *s)
{
    const struct program *const p = s->expansion->program;
    vec_each(struct variable *, x, &p->variables) {
        const struct value *const v = map_get(&s->graph->variables, x->name);
        const struct binding *const b = graph_find_binding(s->graph, x);
        struct ends *const e = &s->ends[x_at];
        const bool is_read = v != NULL && graph_is_used(s->graph, v);
        if (is_read)
            e->input = s->w.name_of[v->id] = take_fresh_name(s->w.names, x->name);
        if (b != NULL)
            e->output = name_output(s, arena_printf(s->w.arena, "%s.new", x->name));
    }
}

static void name_results(struct signature *s)
{
    vec_each_ptr(const struct graph_output, o, &s->graph->outputs)
        s->w.name_of[o->value->id] = s->outputs[o_at];
    vec_each_ptr(const struct binding, b, &s->graph->bindings)
        s->w.name_of[b->value->id] = s->ends[b->variable->index].output;
}

static void write_inputs(struct signature *s)
{
    vec_each(struct value *, v, &s->graph->inputs)
        write_value(&s->w, 0, v->name, v->dtype, &v->shape);
    vec_each(struct variable *, x, &s->expansion->program->variables)
        if (s->ends[x_at].input != NULL)
            write_value(&s->w, 0, s->ends[x_at].input, x->dtype, &x->shape);
}

static void write_outputs(struct signature *s)
{
    vec_each_ptr(const struct graph_output, o, &s->graph->outputs)
        write_value(&s->w, 1, s->outputs[o_at], o->value->dtype, &o->value->shape);
    vec_each(struct variable *, x, &s->expansion->program->variables)
        if (s->ends[x_at].output != NULL)
            write_value(&s->w, 1, s->ends[x_at].output, x->dtype, &x->shape);
}

/* ---- metadata ---------------------------------------------------------------------------------------------------- */

static void add_json_string(struct strbuf *b, const char *key, const char *text)
{
    strbuf_addf(b, "\"%s\": \"", key);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\')
            strbuf_addf(b, "\\%c", *p);
        else if ((unsigned char)*p < ' ')
            strbuf_addf(b, "\\u%04x", (unsigned)*p);
        else
            strbuf_addf(b, "%c", *p);
    }
    strbuf_add(b, "\"");
}

static const char *variables_text(const struct signature *s)
{
    static const char *const roles[] = {[ROLE_WEIGHT] = "weight", [ROLE_STATISTIC] = "statistic",
                                        [ROLE_OPTIMIZER] = "optimizer", [ROLE_COUNTER] = "counter",
                                        [ROLE_SUM] = "sum"};
    struct strbuf b = {.arena = s->w.arena};
    vec_each(struct variable *, x, &s->expansion->program->variables) {
        const struct ends *const e = &s->ends[x_at];
        if (e->input == NULL && e->output == NULL)
            continue;
        strbuf_add(&b, b.length > 0 ? ", {" : "[{");
        add_json_string(&b, "name", x->name);
        strbuf_add(&b, ", ");
        add_json_string(&b, "role", x_at < s->expansion->own_variables ? roles[x->role] : "random");
        if (e->input != NULL) {
            strbuf_add(&b, ", ");
            add_json_string(&b, "input", e->input);
        }
        if (e->output != NULL) {
            strbuf_add(&b, ", ");
            add_json_string(&b, "output", e->output);
        }
        strbuf_add(&b, "}");
    }
    return b.length > 0 ? (strbuf_add(&b, "]"), strbuf_text(&b)) : "[]";
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* The oldest format that came with the opset (ONNX Versioning.md). */
static int64_t ir_version(int opset)
{
    static const struct {
        int opset, ir;
    } rows[] = {{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}, {15, 8}, {13, 7}};
    size_t i = 0;
    while (rows[i].opset > opset)
        i++;
    return rows[i].ir;
}

static struct model *new_model(struct expansion *x, const char *entry)
{
    struct model *const m = arena_new(x->arena, struct model);
    const struct model *const from = x->program->model;
    *m = (struct model){.file = from->file, .ir_version = ir_version(x->options->opset), .producer_name = "stepc",
                        .producer_version = "0.1.0", .domain = from->domain, .doc = from->doc,
                        .model_version = from->model_version};
    vec_push(x->arena, &m->opsets, ((struct model_opset){DOMAIN_ONNX, x->options->opset}));
    m->graph = model_graph_new(x->arena, entry);
    return m;
}

static struct model *write_model(struct expansion *x, const struct graph *g, const char *entry)
{
    struct model *const m = new_model(x, entry);
    struct map *const names = arena_new(x->arena, struct map);
    names->arena = x->arena;
    struct signature s = {.expansion = x, .graph = g};
    s.w = (struct graph_writer){.arena = x->arena, .to = m->graph, .names = names,
                                .name_of = arena_array(x->arena, const char *, (size_t)g->value_count + 1)};
    s.outputs = arena_array(x->arena, const char *, g->outputs.count + 1);
    s.ends = arena_array(x->arena, struct ends, x->program->variables.count + 1);
    name_arguments(&s);
    name_variables(&s);
    name_results(&s);
    write_inputs(&s);
    write_nodes(&s.w, g);
    write_outputs(&s);
    vec_push(x->arena, &m->metadata, ((struct model_pair){"stepc.entry", arena_strdup(x->arena, entry)}));
    vec_push(x->arena, &m->metadata, ((struct model_pair){"stepc.variables", variables_text(&s)}));
    return m;
}

static bool expand_graph(struct expansion *x, struct graph *g, const struct entry *e, const char *name)
{
    struct plain_target t = {.opset = x->options->opset, .native_random = x->options->native_random};
    const bool is_init = e == NULL || e->kind == ENTRY_INIT, has_state = x->options->random_state != NULL;
    if (has_state && is_init)
        g->bindings.count = 0;
    else if (has_state && g->bindings.count == 0)
        put_inside(x, g);
    if (x->seed != NULL && is_init)
        begin_random(x, g, &t);
    else if (x->seed != NULL)
        go_on_random(x, e, &t);
    if (is_init)
        bind_initial(x, g);
    if (!plain_nodes(g, &t) || !plain_versions(g, t.opset))
        return false;
    const struct expanded made = {name, write_model(x, g, x->options->title ? x->options->title : name)};
    vec_push(x->arena, x->out, made);
    return true;
}

/* Without variables init() does nothing, and a model of it has no nodes, which runtimes refuse: only if asked for. */
static bool is_wanted(const struct expansion *x, const char *entry)
{
    if (x->options->entry != NULL)
        return str_equal(x->options->entry, entry);
    return x->program->variables.count > 0 || !str_equal(entry, "init");
}

bool expand_program(struct arena *a, struct program *p, const struct expand_options *o, expanded_list *out)
{
    struct expansion x = {.arena = a, .program = p, .options = o, .out = out};
    bool ok = true, has_init = false;
    *out = (expanded_list){0};
    add_random_state(&x);
    vec_each_ptr(const struct entry, e, &p->entries) {
        has_init = has_init || e->kind == ENTRY_INIT;
        if (is_wanted(&x, e->name))
            ok = expand_graph(&x, e->graph, e, e->name) && ok;
    }
    if (!has_init && p->variables.count > 0 && is_wanted(&x, "init"))
        ok = expand_graph(&x, graph_new(p, "init"), NULL, "init") && ok;
    return ok;
}
