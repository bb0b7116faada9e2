/* A graph whose nodes are all of ai.onnx becomes a graph of a model. */
#include "expand/expand_internal.h"

#include "base/str.h"
#include "graph/region.h"

/* ---- values ------------------------------------------------------------------------------------------------------ */

const char *write_name(struct graph_writer *w, const struct value *v)
{
    if (w->name_of[v->id] == NULL)
        w->name_of[v->id] = take_fresh_name(w->names, v->name);
    return w->name_of[v->id];
}

void write_value(struct graph_writer *w, int where, const char *name, enum dtype dtype, const struct shape *shape)
{
    struct model_dim dims[SHAPE_MAX_RANK];
    for (int d = 0; d < shape->rank; d++)
        dims[d] = (struct model_dim){.value = shape->dim[d]};
    model_add_value(w->arena, w->to, where, name, dtype, dims, (size_t)shape->rank);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void write_attr(struct graph_writer *w, struct model_node *n, const struct attr *x)
{
    switch (x->type) {
    case ATTR_INT:
        model_set_int(w->arena, n, x->name, x->i);
        break;
    case ATTR_FLOAT:
        model_set_float(w->arena, n, x->name, (float)x->f);
        break;
    case ATTR_STRING:
        model_set_string(w->arena, n, x->name, x->s);
        break;
    case ATTR_INTS:
        model_set_ints(w->arena, n, x->name, x->ints, x->count);
        break;
    case ATTR_FLOATS:
        model_set_floats(w->arena, n, x->name, x->floats, x->count);
        break;
    case ATTR_STRINGS:
        model_set_strings(w->arena, n, x->name, x->strings, x->count);
        break;
    default:
        UNREACHABLE("attribute '%s' of a plain node is %s", x->name, attr_type_name(x->type));
    }
}

static void write_node(struct graph_writer *w, const struct node *n)
{
    const char **const in = arena_array(w->arena, const char *, n->inputs.count + 1);
    const char **const out = arena_array(w->arena, const char *, n->outputs.count + 1);
    for (size_t i = 0; i < n->inputs.count; i++)
        in[i] = n->inputs.data[i] != NULL ? write_name(w, n->inputs.data[i]) : "";
    for (size_t i = 0; i < n->outputs.count; i++)
        out[i] = n->outputs.data[i] != NULL ? write_name(w, n->outputs.data[i]) : "";
    struct model_node *const to = model_add_node(w->arena, w->to, DOMAIN_ONNX, n->def->name, in, out);
    to->name = n->name;
    for (size_t i = 0; i < n->attrs.count; i++)
        write_attr(w, to, &n->attrs.data[i]);
}

/* ---- regions become Scan ----------------------------------------------------------------------------------------- */

/* ONNX wants one slice at least: the number of the step. Returns its name in the graph around. */
static const char *write_steps(struct graph_writer *w, const struct region *r)
{
    const char *const name = take_fresh_name(w->names, "steps");
    struct tensor *const t = tensor_new(w->arena, DTYPE_INT64, &SHAPE(r->trips.most));
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_int(t, i, i);
    model_add_initializer(w->arena, w->to, name, t);
    return name;
}

/* States and slices are inputs of the body; captures are read from the graph around it. */
static size_t write_body_inputs(struct graph_writer *body, struct graph_writer *around, const struct node *n)
{
    const struct region *const r = n->region;
    const struct graph *const g = region_graph(r);
    size_t slices = 0;
    for (int i = 0; i < r->states; i++) {
        const struct variable *const s = r->program->variables.data[i];
        const struct value *const v = map_get(&g->variables, s->name);
        const char *const name = take_fresh_name(body->names, s->name);
        if (v != NULL)
            body->name_of[v->id] = name;
        write_value(body, 0, name, s->dtype, &s->shape);
    }
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct value *const v = g->inputs.data[i], *const outer = node_input(n, (size_t)r->states + i);
        if (outer == NULL)
            continue;
        if (!r->is_slice.data[i]) {
            body->name_of[v->id] = write_name(around, outer);
            continue;
        }
        write_value(body, 0, write_name(body, v), v->dtype, &v->shape);
        slices++;
    }
    if (slices == 0)
        write_value(body, 0, take_fresh_name(body->names, "step"), DTYPE_INT64, &SHAPE_SCALAR);
    return slices > 0 ? slices : 1;
}

static void write_body(struct graph_writer *body, const struct region *r)
{
    const struct graph *const g = region_graph(r);
    write_nodes(body, g);
    vec_each(const struct variable *, v, &r->program->variables) {
        const struct binding *const b = graph_find_binding(g, v);
        if (b != NULL)
            write_value(body, 1, write_name(body, b->value), v->dtype, &v->shape);
    }
}

/* The name of a state before the first step; zeros where the node does not say. */
static const char *initial_state(struct graph_writer *w, const struct node *n, int i)
{
    const struct variable *const s = n->region->program->variables.data[i];
    if (node_input(n, (size_t)i) != NULL)
        return write_name(w, n->inputs.data[i]);
    const char *const name = take_fresh_name(w->names, arena_printf(w->arena, "%s.zeros", s->name));
    model_add_initializer(w->arena, w->to, name, tensor_new(w->arena, s->dtype, &s->shape));
    return name;
}

static const char **scan_inputs(struct graph_writer *w, const struct node *n)
{
    const struct region *const r = n->region;
    str_list in = {0};
    for (int i = 0; i < r->states; i++)
        vec_push(w->arena, &in, initial_state(w, n, i));
    const size_t states = in.count;
    for (size_t i = 0; i < r->is_slice.count; i++)
        if (r->is_slice.data[i] && node_input(n, (size_t)r->states + i) != NULL)
            vec_push(w->arena, &in, write_name(w, n->inputs.data[(size_t)r->states + i]));
    if (in.count == states)
        vec_push(w->arena, &in, write_steps(w, r));
    vec_push(w->arena, &in, NULL);
    return in.data;
}

/* Final states, then what is stacked: all that the body gives, wanted or not. */
static const char **scan_outputs(struct graph_writer *w, const struct node *n)
{
    const struct region *const r = n->region;
    str_list out = {0};
    for (size_t i = 0; i < r->program->variables.count; i++) {
        const struct variable *const v = r->program->variables.data[i];
        const struct value *const y = node_output(n, i);
        if (graph_find_binding(region_graph(r), v) == NULL)
            continue;
        vec_push(w->arena, &out, y != NULL ? write_name(w, y) : take_fresh_name(w->names, v->name));
        const struct shape stacked = region_stacked_shape(r, &v->shape);
        if (y == NULL)
            write_value(w, 2, out.data[out.count - 1], v->dtype, i < (size_t)r->states ? &v->shape : &stacked);
    }
    vec_push(w->arena, &out, NULL);
    return out.data;
}

static void set_directions(struct graph_writer *w, struct model_node *to, size_t inputs, size_t outputs)
{
    const size_t most = inputs > outputs ? inputs : outputs;
    int64_t *const backwards = arena_array(w->arena, int64_t, most + 1);
    for (size_t i = 0; i < most; i++)
        backwards[i] = 1;
    model_set_ints(w->arena, to, "scan_input_directions", backwards, inputs);
    if (outputs > 0) /* an empty list is no list for onnx.checker */
        model_set_ints(w->arena, to, "scan_output_directions", backwards, outputs);
}

static void write_region(struct graph_writer *w, const struct node *n)
{
    const struct region *const r = n->region;
    const struct graph *const g = region_graph(r);
    struct graph_writer body = {.arena = w->arena, .names = w->names, .to = model_graph_new(w->arena, "body"),
                                .name_of = arena_array(w->arena, const char *, (size_t)g->value_count)};
    const char **const in = scan_inputs(w, n), **const out = scan_outputs(w, n);
    const size_t slices = write_body_inputs(&body, w, n);
    write_body(&body, r);
    struct model_node *const to = model_add_node(w->arena, w->to, DOMAIN_ONNX, "Scan", in, out);
    to->name = n->name;
    model_set_graph(w->arena, to, "body", body.to);
    model_set_int(w->arena, to, "num_scan_inputs", (int64_t)slices);
    if (r->backwards)
        set_directions(w, to, slices, body.to->outputs.count - (size_t)r->states);
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static void write_constants(struct graph_writer *w, const struct graph *g)
{
    vec_each(struct value *, v, &g->sources)
        if (v->kind == VALUE_CONSTANT && graph_is_used(g, v))
            model_add_initializer(w->arena, w->to, write_name(w, v), (struct tensor *)v->constant);
}

void write_nodes(struct graph_writer *w, const struct graph *g)
{
    write_constants(w, g);
    for (const struct node *n = g->first; n != NULL; n = n->next) {
        if (n->region != NULL)
            write_region(w, n);
        else
            write_node(w, n);
        for (size_t i = 0; i < n->outputs.count; i++)
            if (n->outputs.data[i] != NULL)
                write_value(w, 2, write_name(w, n->outputs.data[i]), n->outputs.data[i]->dtype,
                            &n->outputs.data[i]->shape);
    }
}
