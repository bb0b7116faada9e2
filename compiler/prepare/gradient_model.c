#include "prepare/gradient_model.h"

#include "base/str.h"
#include "graph/op_def.h"

/* The tensor's declared type, where the file says it. Initializers have one. */
static bool find_type(const struct model_graph *g, const char *name, struct model_type *out)
{
    const struct model_value_info *v = model_find_value(&g->inputs, name);
    if (v == NULL)
        v = model_find_value(&g->value_infos, name);
    if (v == NULL)
        v = model_find_value(&g->outputs, name);
    if (v != NULL)
        *out = v->type;
    return v != NULL;
}

static bool is_result(const struct model_graph *g, const char *name)
{
    vec_each(const struct model_node *, n, &g->nodes)
        if (str_list_has(&n->outputs, name))
            return true;
    return false;
}

bool gradient_model_has(const struct model *m, const char *loss)
{
    return is_result(m->graph, loss);
}

static str_list all_names(struct arena *a, const struct model_graph *g)
{
    str_list names = {0};
    vec_each(const struct model_value_info *, v, &g->inputs)
        str_list_add(a, &names, v->name);
    vec_each(const struct model_initializer *, x, &g->initializers)
        str_list_add(a, &names, x->name);
    vec_each(const struct model_node *, n, &g->nodes)
        vec_each(const char *, name, &n->outputs)
            str_list_add(a, &names, name);
    return names;
}

static bool check_name(struct diag *d, struct arena *a, const struct model *m, const char *option, const char *name)
{
    const struct model_graph *const g = m->graph;
    if (is_result(g, name) || model_find_value(&g->inputs, name) || model_find_initializer(g, name))
        return true;
    const str_list names = all_names(a, g);
    return diag_error(d, &LOC_FILE(m->file), "%s %s: the main graph has no such tensor%s", option, name,
                      str_suggestion(a, name, names.data, names.count));
}

/* An initializer becomes an input, in front of which nothing is folded. */
static void free_initializer(struct arena *a, struct model_graph *g, const char *name)
{
    const struct model_initializer *const x = model_find_initializer(g, name);
    struct model_dim dims[SHAPE_MAX_RANK];
    if (x == NULL)
        return;
    const struct tensor *const t = x->tensor;
    for (int d = 0; d < t->shape.rank; d++)
        dims[d] = (struct model_dim){.value = t->shape.dim[d]};
    for (size_t i = g->initializers.count; i-- > 0;)
        if (str_equal(g->initializers.data[i]->name, name))
            vec_remove(&g->initializers, i);
    if (model_find_value(&g->inputs, name) == NULL)
        model_add_value(a, g, 0, name, t->dtype, dims, (size_t)t->shape.rank);
}

static void add_output(struct arena *a, struct model_graph *g, const char *name, const char *like)
{
    struct model_value_info *const v = arena_new(a, struct model_value_info);
    v->name = name;
    v->doc = "";
    v->loc = g->loc;
    v->type = (struct model_type){.opaque_domain = "", .opaque_name = "", .denotation = ""};
    (void)find_type(g, like, &v->type);
    vec_push(a, &g->outputs, v);
}

/* ---- what training leaves alone ---------------------------------------------------------------------------------- */

static bool is_mask(const struct tensor *t)
{
    bool some = false;
    for (int64_t i = 0; i < t->count; i++) {
        const double x = tensor_get_double(t, i);
        some = some || x == 0;
        if (x != 0 && x != 1)
            return false;
    }
    return some;
}

/* The only reader of the gradient multiplies it. */
static const struct model_initializer *mask_of(const struct model *m, const struct model_graph *g, const char *gradient)
{
    const struct model_node *reader = NULL;
    size_t readers = 0;
    vec_each(const struct model_node *, n, &g->nodes)
        for (size_t i = 0; i < n->inputs.count; i++)
            if (str_equal(n->inputs.data[i], gradient)) {
                reader = n;
                readers++;
            }
    if (readers != 1 || !str_equal(reader->op_type, "Mul") || reader->domain[0] != '\0' || reader->inputs.count != 2)
        return NULL;
    const char *const factor = reader->inputs.data[str_equal(reader->inputs.data[0], gradient)];
    const struct model_initializer *const x = model_find_initializer(g, factor);
    return x ? x : model_find_initializer(m->graph, factor);
}

static void find_masks(struct diag *d, const struct model *m, const struct model_graph *g, const struct model_node *n,
                       const str_list *names, struct map *out)
{
    const struct model_attr *const xs = model_find_attr(&n->attrs, "xs");
    for (size_t i = 0; xs && xs->type == ATTR_STRINGS && i < xs->strings.count && i < n->outputs.count; i++) {
        const char *const name = xs->strings.data[i].data;
        const struct model_initializer *const mask =
            str_list_has(names, name) && !map_has(out, name) ? mask_of(m, g, n->outputs.data[i]) : NULL;
        const struct model_initializer *const weight = mask ? model_find_initializer(m->graph, name) : NULL;
        if (!weight || mask->tensor->dtype != weight->tensor->dtype || !is_mask(mask->tensor))
            continue;
        map_set(out, name, (void *)(uintptr_t)mask->tensor);
        diag_note(d, &LOC_FILE(m->file), "%s.gradient is 0 where the training leaves '%s' alone ('%s')", name, name,
                  mask->name);
    }
}

void gradient_masks(struct diag *d, const struct model *m, const str_list *names, struct map *out)
{
    vec_each(const struct model_training *, t, &m->training)
        if (t->algorithm)
            vec_each(const struct model_node *, n, &t->algorithm->nodes)
                if (str_equal(n->op_type, "Gradient"))
                    find_masks(d, m, t->algorithm, n, names, out);
}

/* ---- the gradient ------------------------------------------------------------------------------------------------ */

/* gradient = all * mask */
static void add_mask(struct arena *a, struct model_graph *g, const char *gradient, const struct tensor *mask)
{
    const char *const all = arena_printf(a, "%s.of_all", gradient), *const part = arena_printf(a, "%s.part", gradient);
    model_add_initializer(a, g, part, (struct tensor *)mask);
    model_add_node(a, g, "", "Mul", (const char *[]){all, part, NULL}, (const char *[]){gradient, NULL});
}

static void add_gradient(struct arena *a, struct model_graph *g, const char *loss, const str_list *names,
                         const struct map *masks)
{
    str_list in = {0}, out = {0};
    vec_each(const char *, name, names) {
        const char *const gradient = arena_printf(a, "%s.gradient", name);
        vec_push(a, &in, name);
        vec_push(a, &out, map_has(masks, name) ? arena_printf(a, "%s.of_all", gradient) : gradient);
        add_output(a, g, gradient, name);
    }
    vec_push(a, &in, NULL);
    vec_push(a, &out, NULL);
    struct model_node *const n = model_add_node(a, g, DOMAIN_TRAINING, "Gradient", in.data, out.data);
    model_set_strings(a, n, "xs", names->data, names->count);
    model_set_string(a, n, "y", loss);
    vec_each(const char *, name, names)
        if (map_has(masks, name))
            add_mask(a, g, arena_printf(a, "%s.gradient", name), map_get(masks, name));
}

bool gradient_model(struct diag *d, struct arena *a, struct model *m, const char *loss, const str_list *names,
                    const struct map *masks)
{
    struct model_graph *const g = m->graph;
    bool ok = true;
    vec_each(const char *, name, names)
        ok = check_name(d, a, m, "--with-respect-to", name) && ok;
    if (!ok)
        return false;
    m->training.count = 0;
    vec_each(const char *, name, names)
        free_initializer(a, g, name);
    model_values outputs = {0};
    g->outputs = outputs;
    add_output(a, g, loss, loss);
    add_gradient(a, g, loss, names, masks);
    if (model_opset(&m->opsets, DOMAIN_TRAINING) == 0)
        vec_push(a, &m->opsets, ((struct model_opset){DOMAIN_TRAINING, 1}));
    return true;
}
