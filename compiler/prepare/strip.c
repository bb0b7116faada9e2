#include "prepare/strip.h"

#include "foreign/fill.h"
#include "prepare/masters.h"
#include "prepare/prepare_internal.h"

#include <string.h>

enum {
    TRAINING_IR = 7,         /* the first with training_info */
    FREE_INITIALIZERS_IR = 4 /* the first in which initializers need not be inputs */
};

/* Keys in the model's metadata. */
/* the version before it was raised for training_info */
static const char *const kept_ir = "stepc.prepare.ir_version";
/* the model imported the training operators itself */
static const char *const kept_import = "stepc.prepare.keep_import";
/* the device configuration that was added */
static const char *const kept_devices = "stepc.prepare.devices";
static const char *const kept_changes = "stepc.prepare.changes"; /* of the main graph */

/* ---- what the model was ------------------------------------------------------------------------------------------ */

void strip_remember_changes(struct arena *a, struct model *m, const char *changes)
{
    if (changes[0] != '\0')
        vec_push(a, &m->metadata, ((struct model_pair){kept_changes, changes}));
}

static struct model_pair *find_note(struct model *m, const char *key)
{
    vec_each_ptr(struct model_pair, x, &m->metadata)
        if (str_equal(x->key, key))
            return x;
    return NULL;
}

/* A further line of the note. */
static void add_line(struct arena *a, struct model *m, const char *key, const char *line)
{
    struct model_pair *const note = find_note(m, key);
    if (note)
        note->value = arena_printf(a, "%s\n%s", note->value, line);
    else
        vec_push(a, &m->metadata, ((struct model_pair){key, line}));
}

void strip_remember_inputs(struct arena *a, struct model *m, const str_list *names)
{
    vec_each(const char *, name, names)
        add_line(a, m, METADATA_LISTED_INPUTS, name);
}

void strip_merge_notes(struct arena *a, struct model *into, const struct model *from)
{
    vec_each_ptr(const struct model_pair, x, &from->metadata) {
        if (str_equal(x->key, METADATA_LISTED_INPUTS) || str_equal(x->key, METADATA_WIDENED))
            add_line(a, into, x->key, x->value);
        else if (str_equal(x->key, kept_changes) && !find_note(into, kept_changes))
            vec_push(a, &into->metadata, *x);
    }
}

void strip_remember(struct arena *a, struct model *m)
{
    if (m->ir_version < TRAINING_IR)
        vec_push(a, &m->metadata, ((struct model_pair){kept_ir, arena_printf(a, "%lld", (long long)m->ir_version)}));
    if (model_opset(&m->opsets, PREVIEW_TRAINING) != 0)
        vec_push(a, &m->metadata, ((struct model_pair){kept_import, PREVIEW_TRAINING}));
}

void strip_remember_devices(struct arena *a, struct model *m, const char *configuration)
{
    vec_push(a, &m->metadata, ((struct model_pair){kept_devices, configuration}));
    if (m->ir_version < DEVICES_IR && !find_note(m, kept_ir))
        vec_push(a, &m->metadata, ((struct model_pair){kept_ir, arena_printf(a, "%lld", (long long)m->ir_version)}));
}

/* Takes an entry out of the metadata; its value, or NULL. */
static const char *take_metadata(struct model *m, const char *key)
{
    for (size_t i = 0; i < m->metadata.count; i++) {
        if (!str_equal(m->metadata.data[i].key, key))
            continue;
        const char *const value = m->metadata.data[i].value;
        vec_remove(&m->metadata, i);
        return value;
    }
    return NULL;
}

/* ---- who reads what ---------------------------------------------------------------------------------------------- */

static bool is_key(const model_pairs *pairs, const char *name)
{
    vec_each_ptr(const struct model_pair, x, pairs)
        if (str_equal(x->key, name))
            return true;
    return false;
}

/* Does training write it (a binding), or only read it? */
static bool is_written(const struct model *m, const char *name)
{
    vec_each(const struct model_training *, t, &m->training)
        if (is_key(&t->update_binding, name) || is_key(&t->initialization_binding, name))
            return true;
    return false;
}

static bool is_read_by_training(const struct model *m, const char *name)
{
    vec_each(const struct model_training *, t, &m->training)
        if (is_read_within(t->algorithm, name) || is_read_within(t->initialization, name))
            return true;
    return false;
}

/* An initializer that nobody ever used stays: it was in the model before. */
static bool is_for_training(const struct model *m, const char *name)
{
    return !is_read_within(m->graph, name) && (is_written(m, name) || is_read_by_training(m, name));
}

void strip_find_trained(struct arena *a, const struct model *m, strip_list *out)
{
    vec_each(struct model_initializer *, x, &m->graph->initializers)
        if (is_written(m, x->name) && is_read_within(m->graph, x->name))
            vec_push(a, out, x);
}

/* What the entry without updates that calls the main graph has in the place of input `name`; NULL: no such entry, or
 * the input itself. */
static struct model_initializer *stand_in(const struct model *m, const char *name)
{
    const struct model_graph *const g = m->graph;
    vec_each(const struct model_training *, t, &m->training) {
        for (size_t k = 0; t->update_binding.count == 0 && t->algorithm && k < t->algorithm->nodes.count; k++) {
            const struct model_node *const n = t->algorithm->nodes.data[k];
            if (!str_equal(n->domain, PREVIEW_TRAINING) || !str_equal(n->op_type, "GraphCall"))
                continue;
            for (size_t i = 0; i < n->inputs.count && i < g->inputs.count; i++)
                if (str_equal(g->inputs.data[i]->name, name))
                    return model_find_initializer(g, n->inputs.data[i]);
        }
    }
    return NULL;
}

static bool is_alike(const struct tensor *a, const struct tensor *b)
{
    return a->dtype == b->dtype && shape_equal(&a->shape, &b->shape);
}

bool strip_find_averages(struct arena *a, const struct model *m, const strip_list *trained, strip_list *out)
{
    bool found = false;
    vec_each(struct model_initializer *, x, trained) {
        struct model_initializer *const average = stand_in(m, x->name);
        const bool usable = average && is_written(m, average->name) && is_alike(average->tensor, x->tensor);
        found = found || usable;
        vec_push(a, out, usable ? average : x);
    }
    return found;
}

/* ---- operators of training --------------------------------------------------------------------------------------- */

static bool nodes_use_training(const model_nodes *nodes);

static bool node_uses_training(const struct model_node *n)
{
    if (str_equal(n->domain, PREVIEW_TRAINING))
        return true;
    model_each_inner(n, inner)
        if (nodes_use_training(&inner->nodes))
            return true;
    return false;
}

static bool nodes_use_training(const model_nodes *nodes)
{
    vec_each(const struct model_node *, n, nodes)
        if (node_uses_training(n))
            return true;
    return false;
}

static bool uses_training(const struct model *m)
{
    vec_each(const struct model_function *, f, &m->functions)
        if (nodes_use_training(&f->nodes))
            return true;
    return nodes_use_training(&m->graph->nodes);
}

/* Is the third input of Dropout a stored `true`? */
static bool drops(const struct model_graph *g, const struct model_node *n)
{
    const struct model_initializer *const mode =
        n->inputs.count > 2 ? model_find_initializer(g, n->inputs.data[2]) : NULL;
    return mode && mode->tensor->dtype == DTYPE_BOOL && mode->tensor->count == 1 && tensor_get_int(mode->tensor, 0);
}

static void warn_of_training_form(struct diag *d, const struct model *m)
{
    vec_each(const struct model_node *, n, &m->graph->nodes) {
        if (is_op(n, "BatchNormalization") && attribute_int(n, "training_mode", 0))
            diag_warning(d, &n->loc, "stays in training form: it normalizes by the batch, not by running statistics");
        else if (is_op(n, "Dropout") && drops(m->graph, n))
            diag_warning(d, &n->loc, "stays in training form: it drops elements");
    }
}

/* ---- taking out -------------------------------------------------------------------------------------------------- */

static void remove_initializer(struct model_graph *g, size_t i)
{
    const char *const name = g->initializers.data[i]->name;
    vec_remove(&g->initializers, i);
    for (size_t k = 0; k < g->inputs.count; k++)
        if (str_equal(g->inputs.data[k]->name, name)) { /* files before IR 4 list it beside the inputs */
            vec_remove(&g->inputs, k);
            return;
        }
}

static void remove_state(struct model *m, struct strbuf *report)
{
    for (size_t i = m->graph->initializers.count; i-- > 0;) {
        const char *const name = m->graph->initializers.data[i]->name;
        if (!is_for_training(m, name))
            continue;
        strbuf_addf(report, "removed: initializer '%s', which only training used\n", name);
        remove_initializer(m->graph, i);
    }
}

static bool has_line(const char *text, const char *line)
{
    const size_t length = strlen(line);
    for (; *text != '\0'; text += strcspn(text, "\n"), text += *text == '\n')
        if (strncmp(text, line, length) == 0 && (text[length] == '\n' || text[length] == '\0'))
            return true;
    return false;
}

static void remove_inputs(struct model *m, const char *lines)
{
    struct model_graph *const g = m->graph;
    for (size_t i = g->inputs.count; lines && i-- > 0;)
        if (model_find_initializer(g, g->inputs.data[i]->name) && has_line(lines, g->inputs.data[i]->name))
            vec_remove(&g->inputs, i);
}

static void remove_import(struct diag *d, struct model *m, bool keep, struct strbuf *report)
{
    for (size_t i = 0; i < m->opsets.count && !keep; i++) {
        if (!str_equal(m->opsets.data[i].domain, PREVIEW_TRAINING))
            continue;
        if (uses_training(m)) {
            diag_warning(d, &LOC_FILE(m->file),
                         "the inference graph itself uses operators of " PREVIEW_TRAINING ": the import stays");
            return;
        }
        vec_remove(&m->opsets, i);
        strbuf_addf(report, "removed: import of " PREVIEW_TRAINING "\n");
        return;
    }
}

/* Until IR 3 every initializer had to be an input too, which those that preparation made are not. */
static bool lists_all_initializers(const struct model_graph *g)
{
    for (size_t i = 0; i < g->initializers.count; i++)
        if (!model_find_value(&g->inputs, g->initializers.data[i]->name))
            return false;
    return true;
}

static void restore_ir_version(struct model *m, const char *text, struct strbuf *report)
{
    long long version;
    if (!text || !str_to_int64(text, &version) || version < 1)
        return;
    if (version < FREE_INITIALIZERS_IR && !lists_all_initializers(m->graph))
        version = FREE_INITIALIZERS_IR;
    if (version >= m->ir_version)
        return;
    strbuf_addf(report, "ir_version: %lld again, as before it was prepared\n", version);
    m->ir_version = version;
}

static void remove_devices(struct model *m, const char *configuration, struct strbuf *report)
{
    if (!configuration)
        return;
    for (size_t i = m->configurations.count; i-- > 0;)
        if (str_equal(m->configurations.data[i].name, configuration))
            vec_remove(&m->configurations, i);
    vec_each(struct model_node *, n, &m->graph->nodes)
        for (size_t i = n->devices.count; i-- > 0;)
            if (str_equal(n->devices.data[i].configuration, configuration))
                vec_remove(&n->devices, i);
    strbuf_addf(report, "removed: device configuration '%s'\n", configuration);
}

void strip_model(struct diag *d, struct model *m, struct strbuf *report)
{
    if (m->training.count == 0)
        diag_warning(d, &LOC_FILE(m->file), "the model has no training_info: it is an inference model already");
    else
        strbuf_addf(report, "removed: %zu training_info\n", m->training.count);
    remove_state(m, report);
    remove_inputs(m, take_metadata(m, METADATA_LISTED_INPUTS));
    m->training.count = 0;
    narrow_remembered(d->arena, m, take_metadata(m, METADATA_WIDENED), report);
    remove_devices(m, take_metadata(m, kept_devices), report);
    take_metadata(m, METADATA_STEPS_MADE);
    take_metadata(m, METADATA_STEPS_COUNTED);
    const char *const changes = take_metadata(m, kept_changes);
    if (changes)
        strbuf_addf(report, "stays as 'stepc prepare' made it: %s\n", changes);
    restore_ir_version(m, take_metadata(m, kept_ir), report);
    remove_import(d, m, take_metadata(m, kept_import) != NULL, report);
    warn_of_training_form(d, m);
}
