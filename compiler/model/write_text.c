/* struct model -> the ONNX text syntax with the @training_info extension (read_text.c). The same model
 * always gives the same text, and read_text.c makes an equal model of it: one node or initializer a line, long ones
 * wrapped.
 *
 * What the grammar has no place for is counted while writing, by kind (LOSSES), and decides at the end:
 *   - the doc_string and metadata_props of anything but the model (functions keep their doc_string), quantization
 *     annotations, denotations, value types without element type: refused, or with `lossy` left out;
 *   - sparse initializers, and the sparse value of a Constant: refused, or with `lossy` written as dense tensors;
 *   - control characters other than line ends and tabs in strings (an escape quotes the next character, nothing more,
 *     and left as they are they would not survive an editor): refused, or with `lossy` spaces;
 *   - NaN other than the usual one and its negative: refused, or with `lossy` written as nan;
 *   - other sparse attributes; operators, domains, overloads and attributes whose names are no identifiers; names with
 *     control characters; deeper nesting than the reader follows: refused, since anything else would be another model.
 * External data was brought inside by the reader: it becomes literals. Lists of tensors, graphs and types are written;
 * the upstream parser drops them, ours does not. */
#include "model/put_text.h"

#include "base/file.h"
#include "model/lex_text.h"
#include <inttypes.h>
#include <string.h>

static void write_graph(struct text_writer *w, const struct model_graph *g);

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static size_t list_count(const struct model_attr *x)
{
    switch (x->type) {
    case ATTR_FLOATS:
        return x->floats.count;
    case ATTR_INTS:
        return x->ints.count;
    case ATTR_STRINGS:
        return x->strings.count;
    case ATTR_TENSORS:
        return x->tensors.count;
    case ATTR_GRAPHS:
        return x->graphs.count;
    case ATTR_TYPE_PROTOS:
        return x->types.count;
    default:
        return 0;
    }
}

static void put_list_item(struct text_writer *w, const struct model_attr *x, size_t i)
{
    switch (x->type) {
    case ATTR_FLOATS:
        text_put_float(w, x->floats.data[i]);
        return;
    case ATTR_INTS:
        strbuf_addf(&w->out, "%" PRId64, x->ints.data[i]);
        return;
    case ATTR_STRINGS:
        text_put_quoted(w, x->strings.data[i].data, x->strings.data[i].size, LOSS_CONTROL);
        return;
    case ATTR_TENSORS:
        text_put_tensor(w, NULL, x->tensors.data[i]);
        return;
    case ATTR_GRAPHS:
        write_graph(w, x->graphs.data[i]);
        return;
    default:
        text_put_type(w, x->types.data[i]);
        return;
    }
}

static void put_list(struct text_writer *w, const struct model_attr *x)
{
    const size_t count = list_count(x);
    text_put(w, "[");
    for (size_t i = 0; i < count; i++) {
        text_separate(w, i);
        put_list_item(w, x, i);
    }
    text_put(w, "]");
}

static void put_attr_value(struct text_writer *w, const struct model_attr *x)
{
    switch (x->type) {
    case ATTR_FLOAT:
        text_put_float(w, x->f);
        return;
    case ATTR_INT:
        strbuf_addf(&w->out, "%" PRId64, x->i);
        return;
    case ATTR_STRING:
        text_put_quoted(w, x->s.data, x->s.size, LOSS_CONTROL);
        return;
    case ATTR_TENSOR:
        text_put_tensor(w, text_has(x->t_name) ? x->t_name : NULL, x->t);
        return;
    case ATTR_GRAPH:
        write_graph(w, x->g);
        return;
    case ATTR_TYPE_PROTO:
        text_put_type(w, x->tp);
        return;
    case ATTR_SPARSE_TENSOR:
    case ATTR_SPARSE_TENSORS:
        text_lose(w, LOSS_SPARSE_ATTRIBUTE);
        return;
    case ATTR_UNDEFINED:
    case ATTR_TYPE_COUNT:
        text_lose(w, LOSS_BAD_TYPE);
        return;
    default:
        put_list(w, x);
        return;
    }
}

static bool is_list(enum attr_type t)
{
    return t == ATTR_FLOATS || t == ATTR_INTS || t == ATTR_STRINGS || t == ATTR_TENSORS || t == ATTR_GRAPHS ||
           t == ATTR_TYPE_PROTOS || t == ATTR_SPARSE_TENSORS;
}

static void put_attr(struct text_writer *w, const struct model_attr *x)
{
    const bool is_ref = text_has(x->ref);
    text_lose_if(w, text_has(x->doc), LOSS_DOC_ATTRIBUTE);
    text_put_identifier(w, x->name);
    if (is_ref || (is_list(x->type) && list_count(x) == 0)) /* the value does not tell the type */
        strbuf_addf(&w->out, ": %s", attr_type_name(x->type));
    text_put(w, " = ");
    if (is_ref) {
        text_put(w, "@");
        text_put_name(w, x->ref);
    } else {
        put_attr_value(w, x);
    }
}

/* Constant's two ways to hold a tensor: the sparse one as the other. */
static void put_sparse_constant(struct text_writer *w, const struct model_attr *x)
{
    const struct tensor *t = text_make_dense(w, x->sparse);
    text_put(w, "value = ");
    if (t)
        text_put_tensor(w, NULL, t);
}

static void put_node_attr(struct text_writer *w, const struct model_node *n, const struct model_attr *x)
{
    const bool is_constant = str_equal(n->op_type, "Constant") && !text_has(n->domain);
    if (is_constant && x->type == ATTR_SPARSE_TENSOR && str_equal(x->name, "sparse_value") && !text_has(x->ref))
        put_sparse_constant(w, x);
    else
        put_attr(w, x);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static bool has_graphs(const struct model_node *n)
{
    for (size_t i = 0; i < n->attrs.count; i++)
        if ((n->attrs.data[i]->type == ATTR_GRAPH || n->attrs.data[i]->type == ATTR_GRAPHS) &&
            !text_has(n->attrs.data[i]->ref))
            return true;
    return false;
}

/* " <axis = 1, ...>"; with graphs among them each on its own line. */
static void put_attrs(struct text_writer *w, const struct model_node *n, bool on_lines)
{
    if (n->attrs.count == 0)
        return;
    text_put(w, " <");
    w->indent += on_lines;
    for (size_t i = 0; i < n->attrs.count; i++) {
        if (on_lines) {
            text_put(w, i ? "," : "");
            text_new_line(w);
        } else {
            text_separate(w, i);
        }
        put_node_attr(w, n, n->attrs.data[i]);
    }
    w->indent -= on_lines;
    text_put(w, ">");
}

static void put_operator(struct text_writer *w, const struct model_node *n)
{
    if (text_has(n->domain)) {
        text_put_domain(w, n->domain);
        text_put(w, ".");
    }
    text_put_identifier(w, n->op_type);
    if (text_has(n->overload)) {
        text_put(w, ":");
        text_put_identifier(w, n->overload);
    }
}

static void write_node(struct text_writer *w, const struct model_node *n)
{
    const bool graphs = has_graphs(n); /* what is long stands last */
    const struct loc *outer = w->at;
    w->at = &n->loc;
    text_lose_if(w, text_has(n->doc), LOSS_DOC_NODE);
    text_lose_if(w, n->metadata.count > 0, LOSS_META_NODE);
    text_new_line(w);
    if (text_has(n->name)) {
        text_put(w, "[");
        text_put_name(w, n->name);
        text_put(w, "] ");
    }
    text_put_names(w, &n->outputs);
    text_put(w, n->outputs.count ? " = " : "= ");
    put_operator(w, n);
    if (!graphs)
        put_attrs(w, n, false);
    text_put(w, " (");
    text_put_names(w, &n->inputs);
    text_put(w, ")");
    if (graphs)
        put_attrs(w, n, true);
    text_put_node_devices(w, n);
    w->at = outer;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static void put_values(struct text_writer *w, const model_values *list)
{
    text_put(w, "(");
    for (size_t i = 0; i < list->count; i++) {
        text_separate(w, i);
        text_put_value(w, list->data[i]);
    }
    text_put(w, ")");
}

static void write_body(struct text_writer *w, const model_nodes *nodes)
{
    text_new_line(w);
    text_put(w, "{");
    w->indent++;
    vec_each(const struct model_node *, n, nodes)
        write_node(w, n);
    w->indent--;
    text_new_line(w);
    text_put(w, "}");
}

/* Line i of a section in angle brackets. */
static void begin_entry(struct text_writer *w, size_t i)
{
    if (i) {
        text_put(w, ",");
    } else {
        text_new_line(w);
        text_put(w, "<");
    }
    w->indent++;
    text_new_line(w);
    w->indent--;
}

static void end_entries(struct text_writer *w, size_t count)
{
    if (count == 0)
        return;
    text_new_line(w);
    text_put(w, ">");
}

static void write_initializer(struct text_writer *w, const struct model_initializer *x)
{
    text_lose_if(w, text_has(x->doc), LOSS_DOC_VALUE);
    text_lose_if(w, x->metadata.count > 0, LOSS_META_VALUE);
    text_put_tensor(w, x->name ? x->name : "", x->tensor);
}

static void write_sparse_initializer(struct text_writer *w, const struct model_sparse *x)
{
    const struct tensor *t = text_make_dense(w, x);
    if (t)
        text_put_tensor(w, x->name ? x->name : "", t);
}

/* Initializers stand here, none behind the inputs of its name: their order is kept. */
static void write_inner_values(struct text_writer *w, const struct model_graph *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->value_infos.count; i++) {
        begin_entry(w, n++);
        text_put_value(w, g->value_infos.data[i]);
    }
    for (size_t i = 0; i < g->initializers.count; i++) {
        begin_entry(w, n++);
        write_initializer(w, g->initializers.data[i]);
    }
    for (size_t i = 0; i < g->sparse_initializers.count; i++) {
        begin_entry(w, n++);
        write_sparse_initializer(w, g->sparse_initializers.data[i]);
    }
    end_entries(w, n);
}

static void write_graph(struct text_writer *w, const struct model_graph *g)
{
    const struct loc *outer = w->at;
    w->at = &g->loc;
    if (++w->depth > TEXT_MAX_DEPTH)
        text_lose(w, LOSS_DEPTH);
    text_lose_if(w, text_has(g->doc), LOSS_DOC_GRAPH);
    text_lose_if(w, g->metadata.count > 0, LOSS_META_GRAPH);
    for (size_t i = 0; i < g->quantization.count; i++)
        text_lose(w, LOSS_QUANTIZATION);
    text_put_name(w, g->name);
    text_put(w, " ");
    put_values(w, &g->inputs);
    text_put(w, " => ");
    put_values(w, &g->outputs);
    write_inner_values(w, g);
    write_body(w, &g->nodes);
    w->depth--;
    w->at = outer;
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static void put_opsets(struct text_writer *w, const model_opsets *opsets)
{
    text_put(w, "opset_import: [");
    for (size_t i = 0; i < opsets->count; i++) {
        text_separate(w, i);
        text_put_string(w, opsets->data[i].domain);
        strbuf_addf(&w->out, " : %" PRId64, opsets->data[i].version);
    }
    text_put(w, "]");
}

static void put_pairs(struct text_writer *w, const char *field, const model_pairs *pairs,
                      void (*put_pair_text)(struct text_writer *, const char *))
{
    strbuf_addf(&w->out, "%s: [", field);
    for (size_t i = 0; i < pairs->count; i++) {
        text_separate(w, i);
        put_pair_text(w, pairs->data[i].key);
        text_put(w, " : ");
        put_pair_text(w, pairs->data[i].value);
    }
    text_put(w, "]");
}

static void put_field(struct text_writer *w, size_t *n, const char *field, const char *s)
{
    if (!text_has(s))
        return;
    begin_entry(w, (*n)++);
    strbuf_addf(&w->out, "%s: ", field);
    text_put_string(w, s);
}

static void write_head(struct text_writer *w, const struct model *m)
{
    size_t n = 1;
    strbuf_addf(&w->out, "<\n  ir_version: %" PRId64, m->ir_version);
    begin_entry(w, n++);
    put_opsets(w, &m->opsets);
    put_field(w, &n, "producer_name", m->producer_name);
    put_field(w, &n, "producer_version", m->producer_version);
    put_field(w, &n, "domain", m->domain);
    if (m->model_version != 0) {
        begin_entry(w, n++);
        strbuf_addf(&w->out, "model_version: %" PRId64, m->model_version);
    }
    put_field(w, &n, "doc_string", m->doc);
    if (m->metadata.count) {
        begin_entry(w, n++);
        put_pairs(w, "metadata_props", &m->metadata, text_put_string);
    }
    if (m->configurations.count) {
        begin_entry(w, n++);
        text_put_configurations(w, m);
    }
    end_entries(w, n);
    text_new_line(w);
}

static void write_bindings(struct text_writer *w, const char *field, const model_pairs *pairs)
{
    if (pairs->count == 0)
        return;
    text_new_line(w);
    put_pairs(w, field, pairs, text_put_quoted_name);
}

static void write_training(struct text_writer *w, const struct model_training *t)
{
    w->at = &t->loc;
    text_put(w, "\n\n@training_info {");
    w->indent++;
    if (t->initialization) {
        text_new_line(w);
        text_put(w, "initialization: ");
        write_graph(w, t->initialization);
    }
    write_bindings(w, "initialization_binding", &t->initialization_binding);
    if (t->algorithm) {
        text_new_line(w);
        text_put(w, "algorithm: ");
        write_graph(w, t->algorithm);
    }
    write_bindings(w, "update_binding", &t->update_binding);
    w->indent--;
    text_new_line(w);
    text_put(w, "}");
}

static void write_function_head(struct text_writer *w, const struct model_function *f)
{
    size_t n = 0;
    put_field(w, &n, "domain", f->domain);
    put_field(w, &n, "overload", f->overload);
    put_field(w, &n, "doc_string", f->doc);
    if (f->opsets.count) {
        begin_entry(w, n++);
        put_opsets(w, &f->opsets);
    }
    end_entries(w, n);
}

static void put_formal_attrs(struct text_writer *w, const struct model_function *f)
{
    const size_t n = f->attributes.count, all = n + f->attribute_defaults.count;
    text_put(w, all ? " <" : " ");
    for (size_t i = 0; i < all; i++) {
        text_separate(w, i);
        if (i < n)
            text_put_identifier(w, f->attributes.data[i]);
        else
            put_attr(w, f->attribute_defaults.data[i - n]);
    }
    text_put(w, all ? "> " : "");
}

static void write_function(struct text_writer *w, const struct model_function *f)
{
    w->at = &f->loc;
    text_lose_if(w, f->metadata.count > 0, LOSS_META_FUNCTION);
    text_put(w, "\n");
    write_function_head(w, f);
    text_new_line(w);
    text_put_name(w, f->name);
    put_formal_attrs(w, f);
    text_put(w, "(");
    text_put_names(w, &f->inputs);
    text_put(w, ") => (");
    text_put_names(w, &f->outputs);
    text_put(w, ")");
    for (size_t i = 0; i < f->value_infos.count; i++) {
        begin_entry(w, i);
        text_put_value(w, f->value_infos.data[i]);
    }
    end_entries(w, f->value_infos.count);
    write_body(w, &f->nodes);
}

static void write_model(struct text_writer *w, const struct model *m)
{
    write_head(w, m);
    write_graph(w, m->graph);
    for (size_t i = 0; i < m->training.count; i++)
        write_training(w, m->training.data[i]);
    for (size_t i = 0; i < m->functions.count; i++)
        write_function(w, m->functions.data[i]);
    text_put(w, "\n");
}

/* ---- what was lost ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *what, *cure;
} losses[LOSS_COUNT] = {
#define LOSS(kind, what, cure) {what, cure},
    LOSSES
#undef LOSS
};

/* "A (3), B (1)" of the kinds that have a cure, or of those that have none; "" where there are none. */
static const char *list_losses(const struct text_writer *w, struct arena *a, bool curable)
{
    struct strbuf b = {.arena = a};
    for (int i = 0; i < LOSS_COUNT; i++)
        if (w->lost[i].count && (losses[i].cure != NULL) == curable)
            strbuf_addf(&b, "%s%s (%zu)", b.length ? ", " : "", losses[i].what, w->lost[i].count);
    return strbuf_text(&b);
}

static void note_places(struct diag *d, const struct text_writer *w, bool fatal_only)
{
    for (int i = 0; i < LOSS_COUNT; i++)
        if (w->lost[i].count && !(fatal_only && losses[i].cure))
            diag_note(d, &w->lost[i].first, "%s: the first is here; --lossy %s", losses[i].what,
                      losses[i].cure ? losses[i].cure : "cannot help");
}

static bool judge_losses(struct diag *d, const struct text_writer *w, const struct loc *at, bool lossy)
{
    const char *curable = list_losses(w, d->arena, true), *fatal = list_losses(w, d->arena, false);
    if (!*fatal && !*curable)
        return true;
    if (lossy && !*fatal) {
        diag_note(d, at, "not in the text as it was in the model: %s", curable);
        return true;
    }
    if (lossy || !*curable)
        diag_error(d, at, "the text syntax cannot express %s", fatal);
    else if (!*fatal)
        diag_error(d, at, "the text syntax has no place for %s; --lossy writes the model without", curable);
    else
        diag_error(d, at, "the text syntax has no place for %s, and cannot express %s", curable, fatal);
    note_places(d, w, lossy);
    return false;
}

bool model_encode_text(struct diag *d, struct arena *a, const struct model *m, bool lossy, const char **text,
                       size_t *size)
{
    const struct loc at = LOC_FILE(m->file);
    struct text_writer w = {.out.arena = a, .at = &at, .repeats = m->training.count > 0};
    write_model(&w, m);
    if (!judge_losses(d, &w, &at, lossy))
        return false;
    if (w.out.length > FILE_MAX_BYTES)
        return diag_error(d, &at, "cannot be written as text: it would have %zu bytes, %zu at most are read",
                          w.out.length, FILE_MAX_BYTES);
    *text = w.out.text;
    *size = w.out.length;
    return true;
}

bool model_write_text(struct diag *d, const struct model *m, const char *path, bool lossy)
{
    struct arena scratch = {0};
    const char *text;
    size_t size;
    const bool ok = model_encode_text(d, &scratch, m, lossy, &text, &size) && file_write(d, path, text, size);
    arena_free(&scratch);
    return ok;
}
