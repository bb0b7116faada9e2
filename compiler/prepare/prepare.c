/* The frame of preparation: what may be prepared, the Gradient node, and the order in which the parts are written. */
#include "prepare/prepare.h"

#include "graph/dim_expression.h"
#include "graph/import_sizes.h"
#include "prepare/detached.h"
#include "prepare/computed.h"
#include "prepare/doctor.h"
#include "prepare/edit.h"
#include "prepare/flatten.h"
#include "prepare/linear_models.h"
#include "prepare/inside.h"
#include "prepare/input_weights.h"
#include "foreign/checkpoint.h"
#include "prepare/names.h"
#include "prepare/outputs.h"
#include "prepare/prepare_internal.h"
#include "prepare/rebatch.h"
#include "prepare/strip.h"
#include "prepare/tie.h"
#include "train/combine.h"
#include "rewrite/pass.h"
#include <string.h>

enum {
    OLDEST_OPSET = 7,    /* broadcasting as the algorithm uses it */
    OWN_OPSET = 15,      /* of a model that has operators of other domains only: long known everywhere */
    TRAINING_IR = 7,     /* the first with training_info */
    FIRST_SYMBOL = 1009, /* provisional sizes are primes from here on: sizes that real dimensions seldom have */
    ONE_SIZE = 8,        /* for all symbols, where different ones do not fit together */
    MOST_NAMED = 3
};

/* ---- what the model has ------------------------------------------------------------------------------------------ */

static void index_graph(const struct model_graph *g, struct map *producers, struct map *inner)
{
    vec_each(struct model_node *, n, &g->nodes) {
        vec_each(const char *, name, &n->outputs)
            if (name[0] != '\0')
                map_set(producers, name, n);
        model_each_inner(n, graph)
            index_graph(graph, inner, inner);
    }
}

void index_nodes(struct preparer *p)
{
    p->inner_producers.arena = p->arena;
    index_graph(p->model->graph, &p->producers, &p->inner_producers);
}

void find_statistics(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_node *, n, &g->nodes)
        for (size_t k = 3; is_op(n, "BatchNormalization") && k < 5 && k < n->inputs.count; k++)
            map_set(&p->statistics, n->inputs.data[k], NULL);
}

static int64_t next_prime(int64_t n)
{
    for (int64_t d = 2; d * d <= n; d++)
        if (n % d == 0) {
            n++;
            d = 1;
        }
    return n;
}

/* "batch", or "s0" and "s1" of "2*s0 + s1"; what cannot be computed is a name as it stands. */
static str_list symbols_of(struct preparer *p, const struct model_dim *dim)
{
    str_list names = {0};
    if (dim->value >= 0 || dim->param[0] == '\0')
        return names;
    dim_expression_symbols(p->arena, dim->param, &names);
    return names;
}

/* Each symbolic dimension of the inputs gets a size of its own, so that it can be recognised in inferred shapes. */
static void number_symbols(struct preparer *p)
{
    const struct map *const given = p->options->import ? p->options->import->dims : NULL;
    int64_t prime = FIRST_SYMBOL;
    for (size_t i = 0; i < p->model->graph->inputs.count; i++) {
        const struct model_type *const t = &p->model->graph->inputs.data[i]->type;
        for (size_t k = 0; t->kind == TYPE_TENSOR && k < t->dims.count; k++) {
            const str_list names = symbols_of(p, &t->dims.data[k]);
            vec_each(const char *, name, &names) {
                if (map_has(&p->symbols, name) || (given && map_has(given, name)) ||
                    import_size_of_weights(p->model->graph, name) > 0)
                    continue;
                int64_t *const size = arena_new(p->arena, int64_t);
                *size = prime = next_prime(prime + 1);
                map_set(&p->symbols, name, size);
            }
        }
    }
}

struct program *try_program(struct preparer *p, struct diag *trial, const char *entry, int64_t factor, int64_t other)
{
    struct map dims = {.arena = p->arena};
    struct import_options options = p->options->import ? *p->options->import : (struct import_options){0};
    struct program *program;
    for (size_t i = 0; options.dims && i < options.dims->count; i++)
        map_set(&dims, options.dims->entries[i].key, options.dims->entries[i].value);
    for (size_t i = 0; factor > 0 && i < p->symbols.count; i++) {
        const int64_t *const own = p->symbols.entries[i].value;
        if (own)
            map_set(&dims, p->symbols.entries[i].key,
                    arena_copy(p->arena, &(int64_t){factor * *own}, sizeof *own, alignof(int64_t)));
    }
    options.dims = &dims;
    options.provisional_dim = other;
    return combine_program(trial, p->arena, p->model, &options, "prepare", entry, &program) ? program : NULL;
}

/* The main graph with provisional sizes, only to look types and shapes up: what is wrong with it is not reported here.
 * Sizes of symbols are multiplied by `factor`; 0: all have one size.
 */
static struct graph *try_import(struct preparer *p, struct diag *trial, int64_t factor)
{
    const struct program *const program =
        try_program(p, trial, "infer", factor, factor > 1 ? factor * ONE_SIZE : ONE_SIZE);
    return program ? program_entry(program, "infer")->graph : NULL;
}

static void find_shapes(struct preparer *p)
{
    struct diag *const trial = arena_new(p->arena, struct diag), *const other = arena_new(p->arena, struct diag);
    trial->arena = other->arena = p->arena;
    number_symbols(p);
    p->graph = try_import(p, trial, 1);
    p->import_error = diag_first_error(trial);
    if (p->graph || p->symbols.count < 2)
        return;
    for (size_t i = 0; i < p->symbols.count; i++)
        p->symbols.entries[i].value = NULL; /* not to be recognised by size */
    p->graph = try_import(p, other, 0);
    p->import_error = diag_first_error(other);
}

/* What every command computes in another way than the model spells it. */
static void say_recognised(struct preparer *p)
{
    static const char *const texts[RECOGNISED_KINDS] = {
        [RECOGNISED_LOGARITHM] =
            "logarithms of what may round to 0 or 1, or overflow, are taken without computing that",
        [RECOGNISED_QUOTIENT] = "quotients of exponentials are computed as Sigmoid, Tanh or Softmax",
        [RECOGNISED_NORM] = "roots of sums of squares have the gradient 0 at 0, as PyTorch's norms"};
    recognised_list found = {0};
    if (p->graph == NULL || !rewrite_recognise(p->graph, &found))
        return;
    for (int kind = 0; kind < RECOGNISED_KINDS; kind++) {
        str_list names = {0};
        vec_each_ptr(const struct recognised, what, &found)
            if ((int)what->kind == kind)
                vec_push(p->arena, &names, what->name);
        if (names.count > 0)
            say(p, "note: %s: %s", texts[kind], names_text(p->arena, &names, MOST_NAMED));
    }
}

bool has_fixed_size(struct preparer *p, const char *name, int axis, int64_t size)
{
    struct diag *const trial = arena_new(p->arena, struct diag);
    trial->arena = p->arena;
    if (!p->larger && !p->larger_failed)
        p->larger = try_import(p, trial, 2);
    p->larger_failed = !p->larger;
    const struct value *const v = p->larger ? graph_find(p->larger, name) : NULL;
    return v && axis < v->shape.rank && v->shape.dim[axis] == size;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static bool check_model(struct preparer *p)
{
    const struct model *const m = p->model;
    const int64_t preview = model_opset(&m->opsets, PREVIEW_TRAINING);
    if (m->training.count > 0)
        return diag_error(p->diag, &p->loc,
                          "the model is a training model already: it has training_info; to prepare it otherwise, "
                          "'stepc strip' makes an inference model of it first; --entry NAME gives it one more entry, "
                          "with its own loss, parameters and optimizer");
    if (p->opset < OLDEST_OPSET)
        return diag_error(p->diag, &p->loc,
                          "the model imports ai.onnx %lld; the training algorithm needs opset %d or newer",
                          (long long)p->opset, OLDEST_OPSET);
    if (preview != 0 && preview != 1)
        return diag_error(p->diag, &p->loc, "the model imports " PREVIEW_TRAINING " %lld, expected 1",
                          (long long)preview);
    return true;
}

/* The first output, or the first one of floats behind outputs that are not for sure: labels, for example. */
static const char *first_floats(struct preparer *p)
{
    const model_values *const outputs = &p->model->graph->outputs;
    vec_each(const struct model_value_info *, v, outputs) {
        const bool is_tensor = v->type.kind == TYPE_TENSOR;
        if (!is_tensor || !((DTYPES_INTS | DTYPE_BIT(DTYPE_STRING)) & DTYPE_BIT(v->type.elem))) {
            if (v != outputs->data[0])
                say(p, "the loss reads '%s': the outputs before it are %s; --output names another", v->name,
                    outputs->data[0]->type.elem == DTYPE_STRING ? "text" : "integers");
            return v->name;
        }
    }
    return outputs->data[0]->name;
}

static bool find_source(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    const char *const wanted = p->options->output;
    if (!wanted && g->outputs.count == 0)
        return diag_error(p->diag, &p->loc, "the model has no output; --output names the tensor that the loss reads");
    p->source = wanted ? wanted : first_floats(p);
    if (map_has(&p->producers, p->source))
        return true;
    if (model_find_value(&g->inputs, p->source) || model_find_initializer(g, p->source))
        return diag_error(p->diag, &p->loc,
                          "--output %s: it is an input or initializer; the loss reads what a node computes", p->source);
    const char **const names = arena_array(p->arena, const char *, p->producers.count);
    for (size_t i = 0; i < p->producers.count; i++)
        names[i] = p->producers.entries[i].key;
    const char *const close = str_closest(p->source, names, p->producers.count);
    if (close)
        return diag_error(p->diag, &p->loc, "--output %s: no tensor has that name; did you mean '%s'?", p->source,
                          close);
    return diag_error(p->diag, &p->loc, "--output %s: no tensor has that name; the model's first output is '%s'",
                      p->source, g->outputs.count ? g->outputs.data[0]->name : "");
}

/* "loss", unless the model has another tensor of that name. */
static bool choose_loss_name(struct preparer *p)
{
    struct tensor_type t;
    p->loss_output = "loss";
    if (p->options->loss == LOSS_OUTPUT && str_equal(p->source, "loss")) {
        if (!tensor_type_of(p, p->source, &t))
            return false;
        if (!dtype_is_float16(t.dtype)) /* else the step's is another one, a float */
            return true;
    }
    for (int k = 2; map_has(&p->main_names, p->loss_output); k++)
        p->loss_output = arena_printf(p->arena, "loss_%d", k);
    if (!str_equal(p->loss_output, "loss"))
        say(p, "what a step minimizes is called '%s': the model has a tensor 'loss'", p->loss_output);
    return true;
}

/* ---- the gradient ------------------------------------------------------------------------------------------------ */

/* What the loss depends on besides the weights: inputs of the main graph, then of the algorithm. */
static void list_inputs(const struct preparer *p, str_list *zs)
{
    const struct model_graph *const g = p->model->graph;
    const char *const target = p->options->loss == LOSS_OUTPUT ? ""
                               : p->options->target            ? p->options->target
                                                               : "target";
    const char *const weight = p->options->sample_weight ? p->options->sample_weight : "";
    for (size_t i = 0; i < g->inputs.count; i++) {
        const char *const name = g->inputs.data[i]->name;
        const bool read = map_has(&p->ancestors, name) || str_equal(name, target) || str_equal(name, weight);
        if (read && !model_find_initializer(g, name))
            vec_push(p->arena, zs, name);
    }
    for (size_t i = 0; i < p->algorithm->inputs.count; i++)
        vec_push(p->arena, zs, p->algorithm->inputs.data[i]->name);
}

/* gradient = all * [1, .., 0, .., 1]' */
static void leave_out_held(struct preparer *p, struct trainable *t, const char *all)
{
    if (!t->mask)
        t->mask = add_tensor(p, suffixed(p, t->name, "trained_part"), t->held.trained);
    model_add_node(p->arena, p->algorithm, "", "Mul", (const char *[]){all, t->mask, NULL},
                   (const char *[]){t->gradient, NULL});
}

void add_gradient(struct preparer *p, const char *y)
{
    str_list xs = {0}, zs = {0}, in = {0}, out = {0};
    list_inputs(p, &zs);
    vec_each_ptr(struct trainable, t, &p->trainables) {
        t->gradient =
            fresh_name(p, p->part_count == 0 ? suffixed(p, t->name, "gradient")
                                             : arena_printf(p->arena, "%s.gradient.part%zu", t->name, p->part + 1));
        vec_push(p->arena, &xs, t->name);
        vec_push(p->arena, &in, t->name);
        vec_push(p->arena, &out,
                 t->held.trained ? fresh_name(p, suffixed(p, t->gradient, "of_all")) : t->gradient);
    }
    for (size_t i = 0; i < zs.count; i++)
        zs.data[i] = part_of_input(p, zs.data[i]);
    list_detached(p, &zs);
    vec_each(const char *, z, &zs)
        vec_push(p->arena, &in, z);
    vec_push(p->arena, &in, NULL);
    vec_push(p->arena, &out, NULL);
    struct model_node *const n =
        model_add_node(p->arena, p->algorithm, PREVIEW_TRAINING, "Gradient", in.data, out.data);
    model_set_strings(p->arena, n, "xs", xs.data, xs.count);
    if (zs.count > 0)
        model_set_strings(p->arena, n, "zs", zs.data, zs.count);
    model_set_string(p->arena, n, "y", y);
    for (size_t i = 0; i < p->trainables.count; i++)
        if (p->trainables.data[i].held.trained)
            leave_out_held(p, &p->trainables.data[i], out.data[i]);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static const char *changes_text(struct preparer *p)
{
    struct strbuf text = {.arena = p->arena};
    for (size_t i = 0; i < p->edit.changes.count; i++)
        strbuf_addf(&text, "%s%s", i > 0 ? ", " : "", p->edit.changes.data[i]);
    return strbuf_text(&text);
}

void attach_algorithm(struct preparer *p)
{
    struct model *const m = p->model;
    if (m->training.count == 0)
        strip_remember(p->arena, m);
    vec_push(p->arena, &m->training, p->training);
    if (model_opset(&m->opsets, PREVIEW_TRAINING) == 0)
        vec_push(p->arena, &m->opsets, ((struct model_opset){PREVIEW_TRAINING, 1}));
    if (m->ir_version < TRAINING_IR)
        m->ir_version = TRAINING_IR;
}

const char *entry_name(const struct preparer *p, const char *usual)
{
    const char *const own = p->options->entry;
    if (!own)
        return usual;
    return str_equal(usual, "train") ? own : arena_printf(p->arena, "%s_%s", own, usual);
}

void begin_algorithm(struct preparer *p, const char *name)
{
    p->algorithm = model_graph_new(p->arena, name);
    p->algorithm->loc.file = p->model->file;
    p->training = arena_new(p->arena, struct model_training);
    p->training->algorithm = p->algorithm;
    p->training->loc = p->loc;
    p->names = (struct map){.arena = p->arena};
    p->constants = (struct map){.arena = p->arena};
    p->latest_statistics = (struct map){.arena = p->arena};
    p->copies = (struct map){.arena = p->arena};
    p->loss_name = p->loss_output;
    for (size_t i = 0; i < p->main_names.count; i++)
        map_set(&p->names, p->main_names.entries[i].key, NULL);
}

bool begin_training(struct preparer *p, const char *name, bool sums)
{
    begin_algorithm(p, name);
    p->sums = sums;
    copy_in_training_form(p);
    const bool ok = add_loss(p);
    if (!choose_trainables(p) || !ok)
        return false;
    add_gradient(p, sums ? p->loss_sum : p->loss_name);
    return true;
}

/* One entry that does all: loss, gradients, updates. */
static bool prepare_step(struct preparer *p)
{
    if (!begin_training(p, entry_name(p, "train"), false))
        return false;
    vec_each_ptr(const struct trainable, t, &p->trainables)
        if (p->options->gradients)
            declare_output(p, t->gradient, t->tensor->dtype, &t->tensor->shape);
    if (!add_optimizer(p))
        return false;
    bind_statistics(p);
    add_initialization(p);
    attach_algorithm(p);
    return true;
}

/* Loss and accuracy of the main graph as it is. Nothing is bound, so that the entry changes nothing. */
static bool prepare_evaluation(struct preparer *p)
{
    begin_algorithm(p, entry_name(p, "evaluate"));
    p->sums = false;
    p->part_count = 0;
    p->silent = p->counts_correct = true;
    const bool ok = add_loss(p);
    p->silent = p->counts_correct = false;
    attach_algorithm(p);
    say(p, "entry 'evaluate': the loss%s, without training",
        p->options->loss == LOSS_SOFTMAX_CROSS_ENTROPY || p->options->loss == LOSS_NLL
            ? " and how many samples are classified correctly"
            : "");
    return ok;
}

/* What exporters do to a model is undone first. */
static bool undo_export(struct edit *e, const struct prepare_options *o)
{
    bool ok = (!o->names_from && !o->from) || o->tie.count > 0 || tie_what_was_cut(e);
    ok = ok && (!o->names_from || name_initializers(e, o->names_from));
    if (ok && o->from && !o->names_from)
        name_from_tensors(e, o->from->path, &o->from->weights);
    ok = ok && untie_initializers(e, &o->untie);
    ok = ok && tie_initializers(e, &o->tie);
    if (ok && !str_list_has(&o->tie, "never"))
        compute_again(e);
    if (ok && o->devices > 0) /* a call has the samples of one device */
        return open_batch(e, o->import, "--devices");
    return ok && (o->batch == 0 || rebatch_model(e, o->batch, o->import));
}

static void say_lost(struct preparer *p)
{
    finding_list lost = {0};
    examine_lost(p->arena, p->model, &lost);
    for (size_t i = 0; i < lost.count; i++)
        say(p, "note: %s; %s", lost.data[i].text, lost.data[i].cure);
}

/* "@names.txt" stands for the lines of the file. */
static bool read_choice(struct preparer *p, const str_list *given, struct choice *out)
{
    vec_each(const char *, text, given) {
        if (text[0] != '@') {
            vec_push(p->arena, &out->globs, text);
            continue;
        }
        out->file = text + 1;
        if (!read_lines(p->diag, p->arena, out->file, &out->lines))
            return false;
    }
    return true;
}

/* onnxmltools writes models that import ai.onnx.ml alone. */
static void import_onnx(struct preparer *p)
{
    if (p->opset > 0)
        return;
    p->opset = OWN_OPSET;
    vec_push(p->arena, &p->model->opsets, ((struct model_opset){"", OWN_OPSET}));
}

static bool prepare_all(struct preparer *p);

bool prepare_model(struct diag *d, struct arena *a, struct model *m, const struct prepare_options *o,
                   struct strbuf *report)
{
    struct strbuf text = {.arena = a, .clean = true};
    struct preparer p = {.diag = d,
                         .arena = a,
                         .model = m,
                         .options = o,
                         .report = &text,
                         .left_out.arena = a,
                         .loc = LOC_FILE(m->file),
                         .opset = model_opset(&m->opsets, ""),
                         .names.arena = a,
                         .main_names.arena = a,
                         .producers.arena = a,
                         .ancestors.arena = a,
                         .symbols.arena = a,
                         .statistics.arena = a,
                         .statistics_forms.arena = a,
                         .in_training.arena = a,
                         .batch_of_inputs.arena = a,
                         .parts.arena = a};
    if (!read_choice(&p, &o->train, &p.train) || !read_choice(&p, &o->freeze, &p.freeze) || !prepare_all(&p))
        return false;
    strbuf_add(report, strbuf_text(&p.left_out));
    strbuf_add(report, strbuf_text(&text));
    return true;
}

static bool prepare_all(struct preparer *p)
{
    const struct prepare_options *const o = p->options;
    edit_begin(&p->edit, p->diag, p->arena, p->model, p->report);
    import_onnx(p);
    if (o->weights_from && !weigh_inputs(&p->edit, o->weights_from))
        return false;
    flatten_model(&p->edit, o->import);
    open_maps(&p->edit);
    leave_out_text(&p->edit, o->output);
    spell_out_linear_models(&p->edit);
    known_names_read(p->arena, p->model, &p->known);
    for (size_t i = 0; i < p->train.lines.count; i++)
        known_names_add_parameter(&p->known, p->train.lines.data[i]);
    say_lost(p);
    p->edit.known = &p->known;
    if (o->fixed_inputs)
        edit_changed(&p->edit, "constants in the place of inputs");
    if (o->chosen_outputs)
        edit_changed(&p->edit, "other outputs");
    if (!undo_export(&p->edit, o))
        return false;
    drop_unsupported(&p->edit, o->import, o->output);
    collect_names(&p->names, p->model->graph);
    p->main_names = p->names;
    index_nodes(p);
    find_statistics(p);
    if (!check_model(p) || !find_source(p) || !find_detached(p))
        return false;
    find_shapes(p);
    if (!choose_loss_name(p))
        return false;
    find_batch_axes(p->arena, p->model, o->import, &p->batch_axes);
    say_recognised(p);
    p->loss_input = bypass_activation(p, p->source);
    p->bypassed = !str_equal(p->loss_input, p->source);
    p->main_loss = p->loss_input;
    find_ancestors(p);
    say_detached(p);
    if (!choose_statistics(p))
        return false;
    plan_training_form(p);
    if (!o->warns_later)
        warn_of_single_values(p);
    warn_of_forms_inside(p);
    const char *const loss_input = p->loss_input;
    if (!(o->split ? prepare_split(p) : o->accumulate > 1 ? prepare_accumulation(p) : prepare_step(p)))
        return false;
    const char *const step_loss = p->loss_name;
    p->loss_input = loss_input;
    if (o->evaluate && !prepare_evaluation(p))
        return false;
    take_scores_out(p);
    take_loss_out(p, step_loss);
    add_average_entry(p);
    strip_remember_changes(p->arena, p->model, changes_text(p));
    return (o->devices == 0 || annotate_devices(p)) && check_prepared(p);
}
