/* A recipe is a training model that says how its weights start instead of what they are: anybody who has the file and
 * the data gets the same run, in every bit. */
#include "cmd/check_recipe.h"

enum { FEW = 16 }; /* elements that may stand in the file one by one: a learning rate, a schedule, priors of classes */

/* Numbers that somebody has found out. */
static bool is_stored(const struct tensor *t)
{
    return t->count > FEW && !tensor_is_uniform(t);
}

/* What `from` is computed of, with stored elements; NULL: nothing of it has any. */
static const struct value *stored_source(struct arena *a, const struct graph *g, const struct value *from)
{
    bool *const needed = arena_array(a, bool, (size_t)g->value_count);
    needed[from->id] = true;
    for (const struct node *n = g->last; n != NULL; n = n->prev) {
        bool is_needed = false;
        vec_each(const struct value *, y, &n->outputs)
            is_needed = is_needed || (y != NULL && needed[y->id]);
        vec_each(const struct value *, x, &n->inputs)
            if (is_needed && x != NULL)
                needed[x->id] = true;
    }
    vec_each(const struct value *, s, &g->sources)
        if (needed[s->id] && is_stored(s->kind == VALUE_VARIABLE ? s->variable->initial : s->constant))
            return s;
    return NULL;
}

static const char *elements_text(struct arena *a, const struct shape *s)
{
    return arena_printf(a, "%s: %lld stored elements", shape_text(a, s), (long long)shape_count(s));
}

/* A matrix of zeros that is trained and not drawn: all its rows would stay alike, and what is before it learns nothing.
 * A bias is a vector, whatever ones stand around its length. */
static bool is_forgotten(const struct variable *v, const struct binding *b)
{
    int axes = 0;
    for (int i = 0; i < v->shape.rank; i++)
        axes += v->shape.dim[i] > 1;
    return b == NULL && v->role == ROLE_WEIGHT && axes >= 2 && tensor_is_zero(v->initial);
}

static bool check_start(struct diag *d, struct arena *a, const struct graph *init, const struct variable *v)
{
    static const char cure[] = "a recipe draws them in an initialization graph, or fills them with one number";
    const struct binding *const b = init != NULL ? graph_find_binding(init, v) : NULL;
    const struct value *const source = b != NULL ? stored_source(a, init, b->value) : NULL;
    if (source != NULL)
        return diag_error(d, &b->loc, "recipe: variable '%s' starts from '%s' %s; %s", v->name, source->name,
                          elements_text(a, &source->shape), cure);
    if (is_stored(v->initial))
        return diag_error(d, &v->loc, "recipe: variable '%s' %s; %s", v->name, elements_text(a, &v->shape),
                          b != NULL ? "init() overwrites them, so one number will do, as {0, ...}" : cure);
    if (is_forgotten(v, b))
        return diag_error(d, &v->loc,
                          "recipe: variable '%s' %s starts from zeros, which nothing draws; an initialization graph "
                          "draws them, or says that zeros are meant (ConstantOfShape)",
                          v->name, shape_text(a, &v->shape));
    return true;
}

static bool has_loss(const struct graph *g)
{
    vec_each_ptr(const struct graph_output, y, &g->outputs)
        if (dtype_is_float(y->value->dtype) && shape_count(&y->value->shape) == 1)
            return true;
    return false;
}

static bool check_entries(struct diag *d, const struct model *m, const struct program *p)
{
    const struct entry *trains = NULL;
    bool loses = false;
    vec_each_ptr(const struct entry, e, &p->entries) {
        if (e->kind != ENTRY_STEP)
            continue;
        trains = e;
        loses = loses || has_loss(e->graph);
    }
    if (trains == NULL)
        return diag_error(d, &LOC_FILE(m->file), "recipe: nothing is trained: there is no training_info with "
                                                 "update_binding; 'stepc prepare' makes one");
    return loses || diag_error(d, &trains->graph->loc, "recipe: entry '%s' gives no loss: none of its outputs is one "
                                                       "number of a floating type", trains->name);
}

static bool check_starts(struct diag *d, struct arena *a, const struct program *p)
{
    const struct graph *init = NULL;
    bool ok = true;
    vec_each_ptr(const struct entry, e, &p->entries)
        if (e->kind == ENTRY_INIT)
            init = e->graph;
    vec_each(const struct variable *, v, &p->variables)
        ok = check_start(d, a, init, v) && ok;
    return ok;
}

/* Whoever writes {0, ...} means to have it drawn; if a rule or a name stood in the way, it stays so. */
static void warn_of_unset(struct diag *d, struct arena *a, const struct model *m, const struct program *p)
{
    vec_each(const struct model_initializer *, x, &m->graph->initializers) {
        const struct tensor *const t = x->tensor;
        if (dtype_is_float(t->dtype) && t->count > FEW && tensor_is_uniform(t) && program_variable(p, x->name) == NULL)
            diag_warning(d, &x->loc, "recipe: all elements of '%s' %s are one number, and nothing draws or trains it",
                         x->name, shape_text(a, &t->shape));
    }
}

static bool check_whole(struct diag *d, const struct model *m, const char *assumed)
{
    bool ok = true;
    vec_each(const char *, path, &m->external_files)
        ok = diag_error(d, &LOC_FILE(m->file), "recipe: part of it is in another file, %s", path);
    if (assumed[0] != '\0')
        ok = diag_error(d, &LOC_FILE(m->file), "recipe: it leaves sizes open: %s; write them, or say --dim", assumed);
    return ok;
}

bool check_recipe(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                  const struct program *p, const char *assumed)
{
    struct program *compiled;
    struct emitted text;
    const struct emit_options emit = {.name = o->name, .model_file = "model", .options_text = "",
                                      .reproducible = true, .without_data = true};
    bool ok = check_whole(d, m, assumed);
    if (p == NULL) /* open sizes that nobody can judge: that was said */
        return false;
    ok = check_entries(d, m, p) && ok;
    warn_of_unset(d, a, m, p);
    ok = check_starts(d, a, p) && ok;
    return ok && pipeline_compile(d, a, m, o, &emit, &text, &compiled);
}
