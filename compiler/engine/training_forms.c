#include "engine/training_forms.h"

#include "base/str.h"
#include "graph/op_def.h"

enum { MOST_NAMED = 3 };

static bool is_op(const struct node *n, const char *op)
{
    return !n->def->domain && str_equal(n->def->name, op);
}

static bool has_batch_statistics(const struct node *n)
{
    return is_op(n, "BatchNormalization") && op_attr_int(n, "training_mode") != 0;
}

/* A network that computes mean and variance itself has no others. */
static bool has_stored_statistics(const struct node *n)
{
    for (size_t i = 3; i < 5; i++) {
        const struct value *const v = node_input(n, i);
        if (!v || v->kind == VALUE_RESULT)
            return false;
    }
    return true;
}

static bool drops(const struct program *p, const struct node *n)
{
    struct value *const mode = is_op(n, "Dropout") ? node_input(n, 2) : NULL;
    const struct tensor *const known = mode ? p->fold(mode) : NULL;
    return known && known->count == 1 && tensor_get_double(known, 0) != 0;
}

/* "'a', 'b', 'c' and 4 more" */
static void add_title(struct strbuf *text, size_t count, const struct node *n)
{
    const char *const title = n->name[0] != '\0' ? n->name : n->outputs.count > 0 ? n->outputs.data[0]->name : "";
    if (count < MOST_NAMED)
        strbuf_addf(text, "%s'%s'", count > 0 ? ", " : "", title);
}

static void warn_of_inference(const struct program *p, const struct graph *g)
{
    struct strbuf norms = {.arena = p->arena}, drop_outs = {.arena = p->arena};
    size_t norm_count = 0, drop_count = 0;
    for (const struct node *n = g->first; n; n = n->next) {
        if (has_batch_statistics(n) && has_stored_statistics(n))
            add_title(&norms, norm_count++, n);
        if (drops(p, n))
            add_title(&drop_outs, drop_count++, n);
    }
    if (norm_count > MOST_NAMED)
        strbuf_addf(&norms, " and %zu more", norm_count - MOST_NAMED);
    if (drop_count > MOST_NAMED)
        strbuf_addf(&drop_outs, " and %zu more", drop_count - MOST_NAMED);
    if (norm_count > 0)
        diag_warning(p->diag, &LOC_FILE(p->model->file),
                     "infer() computes the statistics of its own samples, not with the stored ones: %zu "
                     "BatchNormalization in training form: %s; stepc prepare brings them to inference form, as does an "
                     "export after eval()",
                     norm_count, strbuf_text(&norms));
    if (drop_count > 0)
        diag_warning(p->diag, &LOC_FILE(p->model->file),
                     "infer() drops elements at random: %zu Dropout in training form: %s; stepc prepare brings them to "
                     "inference form, as does an export after eval()",
                     drop_count, strbuf_text(&drop_outs));
}

/* A value minus itself: the output is the bias, and all gradients are zero. */
static void warn_of_single_values(const struct program *p, const struct entry *e)
{
    for (const struct node *n = e->graph->first; n; n = n->next) {
        const struct value *const x = has_batch_statistics(n) ? node_input(n, 0) : NULL;
        if (x && x->shape.rank > 1 && shape_count(&x->shape) == x->shape.dim[1] && x->shape.dim[1] > 0)
            diag_warning(p->diag, &n->loc,
                         "in %s() '%s' %s has one value for each channel: with the statistics of such a batch the "
                         "output is the bias, and nothing in front of it learns; take more samples, or prepare with "
                         "--batchnorm frozen",
                         e->name, x->name, shape_text(p->arena, &x->shape));
    }
}

void warn_of_training_forms(const struct program *p)
{
    vec_each_ptr(const struct entry, e, &p->entries) {
        if (e->kind == ENTRY_INFER)
            warn_of_inference(p, e->graph);
        else if (e->kind == ENTRY_STEP)
            warn_of_single_values(p, e);
    }
}
