#include "cmd/run_validate.h"

#include "base/str.h"
#include "cmd/bad_choice.h"
#include "train/combine.h"
#include <math.h>

/* What prepare --evaluate calls it, with --entry NAME, too. */
static bool is_evaluation(const char *name)
{
    return str_equal(name, "evaluate") || str_ends_with(name, "_evaluate");
}

const char *validation_entry(const struct model *m)
{
    vec_each(const struct model_training *, t, &m->training)
        if (t->update_binding.count == 0 && t->algorithm && is_evaluation(t->algorithm->name))
            return t->algorithm->name;
    return "infer";
}

/* ---- what can be computed ---------------------------------------------------------------------------------------- */

/* Labels are integers that the main graph does not read. */
static const struct data_set *find_label(const struct model *m, const struct data *d)
{
    for (size_t i = 0; i < d->list.count; i++)
        if (dtype_is_int(d->list.data[i].tensor->dtype) && !model_find_value(&m->graph->inputs, d->list.data[i].name))
            return &d->list.data[i];
    return NULL;
}

/* What a value in front of node `end` was, before it got another shape. */
static const char *before_reshapes(const struct model_graph *g, size_t end, const char *name)
{
    while (end-- > 0) {
        const struct model_node *const n = g->nodes.data[end];
        if (str_equal(n->op_type, "Reshape") && n->inputs.count > 0 && n->outputs.count > 0 &&
            str_equal(n->outputs.data[0], name))
            name = n->inputs.data[0];
    }
    return name;
}

/* ignore_index of a loss that compares with these labels, or NULL. */
static const int64_t *find_ignored(const struct model *m, const char *label)
{
    vec_each(const struct model_training *, t, &m->training)
        for (size_t i = 0; t->algorithm && i < t->algorithm->nodes.count; i++) {
            const struct model_node *const n = t->algorithm->nodes.data[i];
            const struct model_attr *const x = model_find_attr(&n->attrs, "ignore_index");
            if (x && x->type == ATTR_INT && n->inputs.count > 1 &&
                str_equal(before_reshapes(t->algorithm, i, n->inputs.data[1]), label))
                return &x->i;
        }
    return NULL;
}

/* Are these scores over classes for labels of this shape? The classes stand on axis 1 or on the last one. */
static bool are_scores(const struct shape *scores, const struct shape *labels, int *class_axis)
{
    const int axes[] = {1, labels->rank};
    for (int k = 0; k < 2 && scores->rank == labels->rank + 1; k++) {
        bool fits = true;
        for (int i = 0; i < labels->rank && i + 1 < SHAPE_MAX_RANK; i++)
            fits &= labels->dim[i] == scores->dim[i < axes[k] ? i : i + 1];
        *class_axis = axes[k];
        if (fits && scores->dim[axes[k]] > 1)
            return true;
    }
    return false;
}

static void add_metrics(struct arena *a, const struct model *m, struct validation *v)
{
    const struct graph *g = v->entry->graph;
    v->label = find_label(m, &v->data);
    v->ignored = v->label ? find_ignored(m, v->label->name) : NULL;
    for (size_t i = 0; i < g->outputs.count; i++) {
        const struct graph_output *o = &g->outputs.data[i];
        if (!dtype_is_float(o->value->dtype) || shape_count(&o->value->shape) != 1)
            continue;
        vec_push(a, &v->metrics, ((struct metric){.name = arena_printf(a, "validate.%s", o->name), .output = i}));
    }
    for (size_t i = 0; i < g->outputs.count && v->label; i++) {
        const struct value *scores = g->outputs.data[i].value;
        const struct shape shape = value_shape_at(scores, v->data.batch);
        if (!dtype_is_float(scores->dtype) || !are_scores(&shape, &v->label->batch_shape, &v->class_axis))
            continue;
        vec_push(a, &v->metrics, ((struct metric){.name = "validate.accuracy", .output = i, .accuracy = true}));
        return;
    }
}

bool validation_begin(struct session *s, const struct model *m, const struct program *p, struct validation *v)
{
    const struct loc at = LOC_FILE(m->file);
    bool ok = true;
    v->entry = program_entry(p, validation_entry(m));
    for (size_t i = 0; i < v->entry->graph->inputs.count; i++) {
        const char *name = v->entry->graph->inputs.data[i]->name;
        if (!data_find(&v->data, name))
            ok = diag_error(&s->diag, &at, "entry '%s': input '%s' has no data; give --validate %s=FILE",
                            v->entry->name, name, name);
    }
    add_metrics(&s->arena, m, v);
    if (ok && v->metrics.count == 0)
        ok = diag_error(&s->diag, &at,
                        "nothing to validate: entry '%s' has neither a scalar output nor class scores for integer "
                        "labels given by --validate",
                        v->entry->name);
    return ok;
}

const char *validation_text(struct arena *a, const struct validation *v)
{
    struct strbuf b = {.arena = a};
    strbuf_addf(&b, "validate: entry '%s', %lld batches of %lld", v->entry->name, (long long)v->data.batches,
                (long long)v->data.batch);
    vec_each_ptr(const struct metric, m, &v->metrics) {
        const char *output = v->entry->graph->outputs.data[m->output].name;
        if (m->accuracy)
            strbuf_addf(&b, "; accuracy: share of '%s' found by the largest of '%s' along axis %d", v->label->name,
                        output, v->class_axis);
        else
            strbuf_addf(&b, "; mean of '%s'", output);
        if (m->accuracy && v->ignored)
            strbuf_addf(&b, ", without those that are %lld", (long long)*v->ignored);
    }
    if (v->entry->kind == ENTRY_INFER)
        strbuf_add(&b, "; no loss: the model has no entry 'evaluate'");
    return strbuf_text(&b);
}

/* ---- computing it ------------------------------------------------------------------------------------------------ */

/* Labels whose class has the largest score; of equal scores the first counts. A NaN is never the largest. *counted:
 * goes up by the labels that are not ignored (NULL: all). */
static int64_t count_right(const struct tensor *scores, const struct tensor *labels, int axis, const int64_t *ignored,
                           int64_t *counted)
{
    const int64_t classes = scores->shape.dim[axis],
                  inner = shape_count_range(&scores->shape, axis + 1, scores->shape.rank);
    int64_t right = 0;
    for (int64_t i = 0; i < labels->count; i++) {
        if (ignored && tensor_get_int(labels, i) == *ignored)
            continue;
        ++*counted;
        const int64_t first = i / inner * classes * inner + i % inner;
        int64_t best = -1;
        double most = 0;
        for (int64_t c = 0; c < classes; c++) {
            const double x = tensor_get_double(scores, first + c * inner);
            if (!isnan(x) && (best < 0 || x > most)) {
                best = c;
                most = x;
            }
        }
        right += best == tensor_get_int(labels, i);
    }
    return right;
}

static bool run_batch(struct session *s, struct engine *e, struct validation *v, const int64_t *order, int64_t batch)
{
    const struct graph *g = v->entry->graph;
    struct arena a = {0};
    const struct tensor **inputs = arena_array(&a, const struct tensor *, g->inputs.count + 1);
    struct tensor **outputs = arena_array(&a, struct tensor *, g->outputs.count + 1);
    for (size_t i = 0; i < g->inputs.count; i++)
        inputs[i] = data_batch(&v->data, g->inputs.data[i]->name, order, batch, &a);
    const bool ok = engine_run(e, v->entry, inputs, outputs, &a);
    if (!ok)
        explain_bad_choice(s, arena_printf(&a, "--validate, batch %lld", (long long)batch), v->entry, inputs, &v->data,
                           order, batch);
    for (size_t i = 0; ok && i < v->metrics.count; i++) {
        struct metric *m = &v->metrics.data[i];
        if (m->accuracy) {
            const struct tensor *labels = data_batch(&v->data, v->label->name, order, batch, &a);
            m->value +=
                (double)count_right(outputs[m->output], labels, v->class_axis, v->ignored, &m->counted);
        } else {
            m->value += tensor_get_double(outputs[m->output], 0);
        }
    }
    arena_free(&a);
    return ok;
}

bool validation_run(struct session *s, struct engine *e, struct validation *v)
{
    struct arena a = {0};
    int64_t *order = arena_array(&a, int64_t, (size_t)v->data.samples);
    bool ok = true;
    data_order(&v->data, NULL, 0, order);
    vec_each_ptr(struct metric, m, &v->metrics) {
        m->value = 0;
        m->counted = 0;
    }
    for (int64_t b = 0; ok && b < v->data.batches; b++)
        ok = run_batch(s, e, v, order, b);
    vec_each_ptr(struct metric, m, &v->metrics)
        m->value /= (double)(m->accuracy ? m->counted : v->data.batches);
    arena_free(&a);
    return ok;
}
