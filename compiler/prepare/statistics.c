/* Which statistics a BatchNormalization has in a step. The first of these that says something decides:
 *
 *   1. Its mean or variance is computed: the network normalizes by statistics of its own, in infer() too.
 *   2. --batchnorm, the last that fits.
 *   3. The file: metadata of export.py name running means that are not updated.
 *   4. The file has nodes of both forms: those in inference form were frozen (bn.eval() in PyTorch).
 *   5. Nothing that is trained stands in front of it or in it, but something that would be, were it not frozen: such a
 *      backbone stays what it was, statistics included.
 *
 * Else a step uses those of its batch. */
#include "prepare/parameters.h"
#include "prepare/spec.h"

#include <string.h>

enum { SCALE = 1, MEAN = 3, VARIANCE = 4 };

/* ---- the option -------------------------------------------------------------------------------------------------- */

bool batchnorm_parse(struct diag *d, struct arena *a, const char *text, struct batchnorm_choice *out)
{
    static const char *const kinds[] = {"train", "frozen"};
    const size_t length = strcspn(text, ":");
    size_t kind = 0;
    *out = (struct batchnorm_choice){.glob = text[length] == ':' ? text + length + 1 : NULL};
    if (!spec_name(d, "--batchnorm", "form", arena_strndup(a, text, length), kinds, 2, &kind))
        return false;
    out->kind = (enum batchnorm_kind)kind;
    return true;
}

static bool is_named(const struct model_node *n, const char *glob)
{
    bool named = (n->name[0] != '\0' && str_glob(glob, n->name)) || str_glob(glob, n->outputs.data[0]);
    for (size_t i = SCALE; i <= VARIANCE; i++)
        named = named || str_glob(glob, n->inputs.data[i]);
    return named;
}

static bool is_asked(const struct preparer *p, const struct model_node *n, enum batchnorm_kind *kind)
{
    bool asked = false;
    vec_each_ptr(const struct batchnorm_choice, c, &p->options->batchnorm)
        if (!c->glob || is_named(n, c->glob)) {
            *kind = c->kind;
            asked = true;
        }
    return asked;
}

static bool check_choice(struct preparer *p, const struct batchnorm_choice *c)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_node *, n, &g->nodes)
        if (!c->glob || (is_batchnorm(n) && is_named(n, c->glob)))
            return true;
    return diag_error(p->diag, &p->loc,
                      "--batchnorm %s:%s: no BatchNormalization has such a name, nor has a parameter of one",
                      c->kind == BATCHNORM_FROZEN ? "frozen" : "train", c->glob);
}

bool asks_for_batch_statistics(const struct prepare_options *o)
{
    vec_each_ptr(const struct batchnorm_choice, c, &o->batchnorm)
        if (!c->glob && c->kind == BATCHNORM_FROZEN)
            return false;
    return true;
}

/* ---- what the model says ----------------------------------------------------------------------------------------- */

bool has_own_statistics(const struct preparer *p, const struct model_node *n)
{
    for (size_t i = MEAN; i <= VARIANCE; i++) {
        const struct model_node *const source = source_of(p, n->inputs.data[i]);
        if (source && !is_op(source, "Constant"))
            return true;
    }
    return false;
}

/* Are there nodes of both forms among those that the loss needs? */
static bool has_both_forms(const struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    bool found[2] = {false, false};
    vec_each(const struct model_node *, n, &g->nodes)
        if (is_batchnorm(n) && is_needed(p, n) && !has_own_statistics(p, n))
            found[is_training_batchnorm(p, n)] = true;
    return found[0] && found[1];
}

/* ---- what stands in front ---------------------------------------------------------------------------------------- */

struct dependent_values {
    struct map trained, held; /* initializers and all that depends on them */
};

static bool reads_one_of(const struct map *read, const struct map *names)
{
    for (size_t i = 0; i < read->count; i++)
        if (map_has(names, read->entries[i].key))
            return true;
    return false;
}

static void spread(struct map *names, const struct model_node *n, const struct map *read)
{
    if (!reads_one_of(read, names))
        return;
    vec_each(const char *, name, &n->outputs)
        if (name[0] != '\0')
            map_set(names, name, NULL);
}

static void find_flow(struct preparer *p, struct dependent_values *f)
{
    const struct model_graph *const g = p->model->graph;
    *f = (struct dependent_values){.trained.arena = p->arena, .held.arena = p->arena};
    find_trained(p, &f->trained, &f->held);
    vec_each(const struct model_node *, n, &g->nodes) {
        struct map read = {.arena = p->arena};
        names_read(n, &read);
        spread(&f->trained, n, &read);
        spread(&f->held, n, &read);
    }
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static bool in_file(const str_list *frozen, const struct model_node *n)
{
    return str_list_has(frozen, n->inputs.data[MEAN]);
}

static enum statistics_form form_of(const struct preparer *p, const struct model_node *n, const str_list *frozen,
                                    bool both, const struct dependent_values *f)
{
    const char *const y = n->outputs.data[0];
    enum batchnorm_kind asked;
    if (has_own_statistics(p, n))
        return STATISTICS_OWN;
    if (is_asked(p, n, &asked))
        return asked == BATCHNORM_FROZEN ? STATISTICS_FROZEN_ASKED : STATISTICS_OF_BATCH;
    if (in_file(frozen, n) || (both && !is_training_batchnorm(p, n)))
        return STATISTICS_FROZEN_EXPORT;
    return map_has(&f->held, y) && !map_has(&f->trained, y) ? STATISTICS_FROZEN_PART : STATISTICS_OF_BATCH;
}

bool choose_statistics(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    str_list frozen = {0};
    struct dependent_values f;
    vec_each_ptr(const struct batchnorm_choice, c, &p->options->batchnorm)
        if (!check_choice(p, c))
            return false;
    (void)metadata_lines(p->arena, p->model, METADATA_FROZEN_STATISTICS, &frozen);
    find_flow(p, &f);
    const bool both = has_both_forms(p);
    vec_each(const struct model_node *, n, &g->nodes) {
        if (!is_batchnorm(n))
            continue;
        enum statistics_form *const form = arena_new(p->arena, enum statistics_form);
        *form = form_of(p, n, &frozen, both, &f);
        map_set(&p->statistics_forms, n->outputs.data[0], form);
    }
    return true;
}

enum statistics_form statistics_form(const struct preparer *p, const struct model_node *n)
{
    const enum statistics_form *const form = map_get(&p->statistics_forms, n->outputs.data[0]);
    return form ? *form : STATISTICS_OF_BATCH;
}

/* ---- one value --------------------------------------------------------------------------------------------------- */

/* A value minus itself: the output is the bias, and all gradients are zero. */
void warn_of_single_values(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_node *, n, &g->nodes) {
        const bool trains = is_batchnorm(n) && map_get(&p->in_training, n->outputs.data[0]) == n;
        const struct value *const x = trains && p->graph ? graph_find(p->graph, n->inputs.data[0]) : NULL;
        if (x && x->shape.rank > 1 && shape_count_range(&x->shape, 0, x->shape.rank) == x->shape.dim[1])
            diag_warning(p->diag, &n->loc,
                         "'%s' %s has one value for each channel: with the statistics of such a batch the output is "
                         "the bias, and nothing in front of it learns; --batchnorm frozen uses the stored ones, "
                         "--batch N takes more samples",
                         n->inputs.data[0], shape_text(p->arena, &x->shape));
    }
}
