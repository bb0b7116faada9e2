#include "prepare/outputs.h"

#include "graph/op_def.h"
#include "prepare/prepare_internal.h"
#include "train/combine.h"

#include <string.h>

/* ---- what is needed ---------------------------------------------------------------------------------------------- */

/* Every name that the graph reads, its outputs and what Gradient names. */
static void add_reads(struct map *names, const struct model_graph *g)
{
    vec_each(const struct model_value_info *, vi, g ? &g->outputs : &(const model_values){0})
        map_set(names, vi->name, NULL);
    vec_each(const struct model_node *, n, g ? &g->nodes : &(const model_nodes){0}) {
        vec_each(const char *, name, &n->inputs)
            map_set(names, name, NULL);
        vec_each(const struct model_attr *, x, &n->attrs)
            if (str_equal(n->op_type, "Gradient") && x->type == ATTR_STRING && x->s.data)
                map_set(names, x->s.data, NULL);
        model_each_inner(n, inner)
            add_reads(names, inner);
    }
}

/* What training reads of the main graph. Its own names among them do no harm. */
static void add_training(struct map *names, const struct model *m)
{
    vec_each(const struct model_training *, t, &m->training) {
        add_reads(names, t->algorithm);
        vec_each_ptr(const struct model_pair, x, &t->update_binding)
            map_set(names, x->key, NULL);
    }
}

/* Not text, sequences, maps. */
static bool is_number(const struct model_type *t)
{
    return t->kind == TYPE_NONE || (t->kind == TYPE_TENSOR && t->elem != DTYPE_STRING);
}

/* Classifiers whose labels are text give scores without them, where nobody wants the labels. */
static void leave_out_labels(struct arena *a, struct model_graph *g, const struct map *needed)
{
    for (size_t i = 0; i < g->nodes.count; i++) {
        const struct model_node *const n = g->nodes.data[i];
        const struct model_attr *const labels = model_find_attr(&n->attrs, "classlabels_strings");
        if (!str_equal(n->domain, DOMAIN_ML) || !labels || labels->strings.count == 0 || n->outputs.count < 2 ||
            map_has(needed, n->outputs.data[0]))
            continue;
        struct model_node *const scores = arena_new(a, struct model_node);
        *scores = *n;
        memset(&scores->outputs, 0, sizeof scores->outputs);
        vec_push(a, &scores->outputs, "");
        for (size_t o = 1; o < n->outputs.count; o++)
            vec_push(a, &scores->outputs, n->outputs.data[o]);
        g->nodes.data[i] = scores;
    }
}

/* Without nodes that give none of the names, and without what only these read: what nobody ever read stays. */
static void prune(struct arena *a, struct model *m)
{
    struct model_graph *const g = m->graph;
    struct map before = {.arena = a}, needed = {.arena = a};
    add_reads(&before, g);
    vec_each(const struct model_value_info *, vi, &g->outputs)
        map_set(&needed, vi->name, NULL);
    add_training(&needed, m);
    mark_ancestors(g, &needed);
    for (size_t i = g->nodes.count; i-- > 0;)
        if (!gives_one_of(g->nodes.data[i], &needed))
            vec_remove(&g->nodes, i);
    leave_out_labels(a, g, &needed);
    for (size_t i = g->initializers.count; i-- > 0;) {
        const char *const name = g->initializers.data[i]->name;
        if (map_has(&before, name) && !map_has(&needed, name))
            vec_remove(&g->initializers, i);
    }
    for (size_t i = g->inputs.count; i-- > 0;) {
        const struct model_value_info *const vi = g->inputs.data[i];
        if ((map_has(&before, vi->name) || !is_number(&vi->type)) && !map_has(&needed, vi->name))
            vec_remove(&g->inputs, i);
    }
    for (size_t i = g->value_infos.count; i-- > 0;)
        if (!map_has(&needed, g->value_infos.data[i]->name))
            vec_remove(&g->value_infos, i);
}

/* These are the outputs now: without nodes that none of them needs, and declared once. */
static void give_only(struct arena *a, struct model *m, const model_values *outputs)
{
    model_values *const inner = &m->graph->value_infos;
    m->graph->outputs = *outputs;
    for (size_t i = inner->count; i-- > 0;)
        if (model_find_value(outputs, inner->data[i]->name))
            vec_remove(inner, i);
    prune(a, m);
}

/* ---- --outputs --------------------------------------------------------------------------------------------------- */

static const char *output_suggestion(struct arena *a, const struct map *defined, const char *name)
{
    const char **const names = arena_array(a, const char *, defined->count + 1);
    for (size_t i = 0; i < defined->count; i++)
        names[i] = defined->entries[i].key;
    return str_suggestion(a, name, names, defined->count);
}

/* An output, or the declaration of an inner tensor, or one without a type. */
static struct model_value_info *declaration_of(struct arena *a, const struct model_graph *g, const char *name)
{
    struct model_value_info *vi = model_find_value(&g->outputs, name);
    if (!vi)
        vi = model_find_value(&g->value_infos, name);
    if (!vi) {
        vi = arena_new(a, struct model_value_info);
        *vi = (struct model_value_info){.name = name, .doc = "", .loc = g->loc};
        vi->type.opaque_domain = vi->type.opaque_name = vi->type.denotation = "";
    }
    return vi;
}

bool keep_outputs(struct diag *d, struct arena *a, struct model *m, const str_list *names)
{
    struct model_graph *const g = m->graph;
    struct map defined = {.arena = a};
    model_values kept = {0};
    bool ok = true;
    vec_each(const struct model_node *, n, &g->nodes)
        vec_each(const char *, name, &n->outputs)
            if (name[0] != '\0')
                map_set(&defined, name, NULL);
    vec_each(const char *, name, names)
        if (!map_has(&defined, name) && !model_find_value(&g->outputs, name))
            ok = diag_error(d, &LOC_FILE(m->file), "--outputs %s: no node of the model gives a tensor of that name%s",
                            name,
                            output_suggestion(a, &defined, name));
        else if (model_find_value(&kept, name))
            ok = diag_usage(d, "--outputs names '%s' twice", name);
        else
            vec_push(a, &kept, declaration_of(a, g, name));
    if (!ok)
        return false;
    give_only(a, m, &kept);
    return true;
}

/* ---- maps and text ----------------------------------------------------------------------------------------------- */

static const struct model_node *zip_of(const struct model_graph *g, const char *name)
{
    vec_each(const struct model_node *, n, &g->nodes)
        if (str_equal(n->domain, DOMAIN_ML) && str_equal(n->op_type, "ZipMap") && n->inputs.count == 1 &&
            n->outputs.count == 1 && str_equal(n->outputs.data[0], name))
            return n;
    return NULL;
}

/* ZipMap reads floats, a row for each sample. */
static struct model_value_info *floats_of(struct edit *e, const char *name)
{
    struct model_value_info *const vi = declaration_of(e->arena, e->model->graph, name);
    if (vi->type.kind == TYPE_NONE) {
        vi->type.kind = TYPE_TENSOR;
        vi->type.elem = DTYPE_FLOAT;
        vi->type.has_shape = true;
        for (int k = 0; k < 2; k++)
            vec_push(e->arena, &vi->type.dims, ((struct model_dim){.value = -1, .param = "", .denotation = ""}));
    }
    return vi;
}

void open_maps(struct edit *e)
{
    struct model_graph *const g = e->model->graph;
    model_values kept = {0};
    bool found = false;
    vec_each(struct model_value_info *, vi, &g->outputs) {
        const struct model_node *const zip = zip_of(g, vi->name);
        const char *const tensor = zip ? zip->inputs.data[0] : vi->name;
        found = found || zip;
        if (zip && !model_find_value(&g->outputs, tensor))
            edit_say(e, "the output '%s', a list of maps, is now the tensor '%s' that it is made of", vi->name, tensor);
        if (!model_find_value(&kept, tensor))
            vec_push(e->arena, &kept, zip ? floats_of(e, tensor) : vi);
    }
    if (!found)
        return;
    give_only(e->arena, e->model, &kept);
    edit_changed(e, "tensors in the place of maps");
}

void leave_out_text(struct edit *e, const char *source)
{
    enum { MOST_NAMED = 8 };
    struct model_graph *const g = e->model->graph;
    model_values kept = {0};
    str_list gone = {0};
    vec_each(struct model_value_info *, vi, &g->outputs)
        if (vi->type.kind == TYPE_TENSOR && vi->type.elem == DTYPE_STRING && (!source || !str_equal(vi->name, source)))
            vec_push(e->arena, &gone, vi->name);
        else
            vec_push(e->arena, &kept, vi);
    if (gone.count == 0 || kept.count == 0)
        return;
    give_only(e->arena, e->model, &kept);
    edit_changed(e, "without outputs that are text");
    edit_say(e, "infer() does not give %s: text, such as labels, is no tensor of numbers",
             names_text(e->arena, &gone, MOST_NAMED));
}

/* ---- what is not supported --------------------------------------------------------------------------------------- */

enum { MOST_OUTPUTS = 64 }; /* that are tried one by one */

struct output_trial {
    struct edit *edit;
    const struct import_options *import;
    const char *why; /* the last one failed; NULL: for a reason that is none of ours */
};

static const char *unsupported_text(const struct diag *d)
{
    vec_each_ptr(const struct diag_message, x, &d->messages)
        if (x->severity == DIAG_ERROR && x->unsupported)
            return x->text;
    return NULL;
}

/* Can the main graph be imported that gives these outputs alone? */
static bool is_supported(struct output_trial *t, const model_values *outputs)
{
    static const int64_t sizes[] = {8, 32, 96};
    struct edit *const e = t->edit;
    struct model m = *e->model;
    struct model_graph *const g = model_graph_new(e->arena, m.graph->name);
    *g = *m.graph;
    g->outputs = *outputs;
    memset(&g->nodes, 0, sizeof g->nodes);
    memset(&g->inputs, 0, sizeof g->inputs);
    memset(&g->initializers, 0, sizeof g->initializers);
    memset(&g->value_infos, 0, sizeof g->value_infos);
    vec_each(struct model_node *, n, &m.graph->nodes)
        vec_push(e->arena, &g->nodes, n);
    vec_each(struct model_value_info *, vi, &m.graph->inputs)
        vec_push(e->arena, &g->inputs, vi);
    vec_each(struct model_initializer *, x, &m.graph->initializers)
        vec_push(e->arena, &g->initializers, x);
    m.graph = g;
    prune(e->arena, &m);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct diag *const d = arena_new(e->arena, struct diag);
        struct import_options o = t->import ? *t->import : (struct import_options){0};
        struct program *program;
        d->arena = e->arena;
        o.provisional_dim = sizes[i];
        if (combine_program(d, e->arena, &m, &o, "prepare", "infer", &program))
            return true;
        if (i == 0)
            t->why = unsupported_text(d);
    }
    return false;
}

static void drop_inputs(struct edit *e)
{
    struct model_graph *const g = e->model->graph;
    struct map read = {.arena = e->arena};
    add_reads(&read, g);
    for (size_t i = g->inputs.count; i-- > 0;) {
        const struct model_value_info *const vi = g->inputs.data[i];
        if (is_number(&vi->type) || map_has(&read, vi->name))
            continue;
        edit_say(e, "input '%s', which is no tensor of numbers, is left out: nothing reads it", vi->name);
        edit_changed(e, "without inputs that nothing reads");
        vec_remove(&g->inputs, i);
    }
}

/* Does the model work that gives this output alone? If not, t->why says why it goes, if it goes. */
static bool works(struct output_trial *t, struct model_value_info *vi)
{
    model_values one = {0};
    vec_push(t->edit->arena, &one, vi);
    t->why = "it is no tensor of numbers";
    return is_number(&vi->type) && is_supported(t, &one);
}

void advise_outputs(struct diag *d, struct arena *a, struct model *m, const struct import_options *o)
{
    struct edit e = {.arena = a, .model = m};
    struct output_trial t = {.edit = &e, .import = o};
    struct strbuf kept = {.arena = a};
    size_t count = 0;
    const size_t all = m->graph->outputs.count;
    if (m->training.count > 0 || !unsupported_text(d) || all < 2 || all > MOST_OUTPUTS)
        return;
    vec_each(struct model_value_info *, vi, &m->graph->outputs)
        if (works(&t, vi))
            strbuf_addf(&kept, "%s%s", count++ > 0 ? "," : "", vi->name);
    if (count > 0 && count < all)
        diag_note(d, &LOC_FILE(m->file), "--outputs %s keeps what does without it", strbuf_text(&kept));
}

void drop_unsupported(struct edit *e, const struct import_options *o, const char *source)
{
    enum { MOST_NAMED = 8 };
    struct model_graph *const g = e->model->graph;
    struct output_trial t = {.edit = e, .import = o};
    model_values kept = {0};
    str_list gone = {0};
    const char *why = NULL;
    drop_inputs(e);
    struct model_value_info *const wanted = source ? declaration_of(e->arena, g, source) : NULL;
    if (is_supported(&t, &g->outputs) || g->outputs.count > MOST_OUTPUTS || (wanted && !works(&t, wanted)))
        return;
    bool any_works = wanted != NULL;
    vec_each(struct model_value_info *, vi, &g->outputs) {
        const bool stays = works(&t, vi);
        any_works = any_works || stays;
        if (stays || !t.why) {
            vec_push(e->arena, &kept, vi);
            continue;
        }
        vec_push(e->arena, &gone, vi->name);
        why = t.why;
    }
    if (gone.count == 0 || !any_works)
        return;
    if (kept.count == 0)
        vec_push(e->arena, &kept, wanted);
    g->outputs = kept;
    prune(e->arena, e->model);
    drop_inputs(e);
    edit_changed(e, "without outputs that are not supported");
    edit_say(e, "infer() does not give %s: %.*s", names_text(e->arena, &gone, MOST_NAMED), (int)strcspn(why, ";"), why);
}
