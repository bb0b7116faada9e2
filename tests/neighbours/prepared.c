/* What stands beside inference models: each file with one thing changed, or one option of `prepare`, and what becomes
 * of it.
 *   neighbours_prepared [--text] FOLDER FILE...: writes FOLDER/NAME.txt for each FILE, NAME.onnxtxt
 *
 * A change is another operator of the same kind, operands that change places, an Identity in between, a node that is
 * left out or stands earlier, an attribute or a constant next to what it was, another name for a tensor, a dimension
 * with a name or a number, a weight that is a Constant or an input, another exporter or version. For each: what was
 * changed, the warnings and errors, what is said of the tensors that are trained, and hashes of the model that comes
 * out, of its canonical graphs, and of what `strip` leaves of it; --text: these as well. Then the same for labels, and
 * what the doctor says.
 *
 * Of a file that cannot be prepared as it stands, options are changed alone. Training models are left out. */
#include "base/hash.h"
#include "base/str.h"
#include "change.h"
#include "engine/pipeline.h"
#include "prepare/doctor.h"
#include "prepare/outputs.h"
#include "prepare/prepare.h"
#include "prepare/strip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES 60 /* of a file */
#define WAYS 3        /* prepared for a loss of numbers, for one of classes, looked at by the doctor */

struct run {
    FILE *out;
    bool text;
    const char *file;
    const char *source; /* its content */
    bool refused;       /* as it stands */
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

static struct prepare_options plain_options(struct arena *a)
{
    static const struct import_options import;
    struct map *const none = arena_new(a, struct map);
    struct import_options *const o = arena_new(a, struct import_options);
    none->arena = a;
    *o = import;
    o->dims = o->shapes = o->bounds = none;
    return (struct prepare_options){.loss = LOSS_MSE, .class_axis = 1, .learning_rate = -1, .first_step = -1,
                                    .gradients = true, .import = o};
}

static void change_numbers(struct change *c, struct prepare_options *o)
{
    static const int64_t ignored = 1;
    if (change_here(c, "--learning-rate"))
        o->learning_rate = 0.25;
    if (change_here(c, "--first-step"))
        o->first_step = 3;
    if (change_here(c, "--clip-norm"))
        o->clip_norm = 0.5;
    if (change_here(c, "--clip-value"))
        o->clip_value = 0.5;
    if (change_here(c, "--ema"))
        o->ema = 0.75;
    if (change_here(c, "--accumulate"))
        o->accumulate = 2;
    if (change_here(c, "--batch"))
        o->batch = 6;
    if (change_here(c, "--class-axis")) {
        o->loss = LOSS_SOFTMAX_CROSS_ENTROPY;
        o->class_axis = 2;
    }
    if (change_here(c, "--ignore-index")) {
        o->loss = LOSS_SOFTMAX_CROSS_ENTROPY;
        o->ignore_index = &ignored;
    }
    if (change_here(c, "--label-smoothing")) {
        o->loss = LOSS_SOFTMAX_CROSS_ENTROPY;
        o->label_smoothing = 0.125;
    }
}

static void change_flags(struct change *c, struct prepare_options *o)
{
    if (change_here(c, "--split"))
        o->split = true;
    if (change_here(c, "--evaluate"))
        o->evaluate = true;
    if (change_here(c, "--evaluate of classes")) {
        o->loss = LOSS_SOFTMAX_CROSS_ENTROPY;
        o->evaluate = true;
    }
    if (change_here(c, "--train-padding"))
        o->train_padding = true;
    if (change_here(c, "--unbiased-variance"))
        o->unbiased_variance = true;
    if (change_here(c, "--initialize he"))
        o->initialize = INITIALIZE_HE;
    if (change_here(c, "--initialize glorot"))
        o->initialize = INITIALIZE_GLOROT;
    if (change_here(c, "--statistics reset"))
        o->statistics = STATISTICS_RESET;
    if (change_here(c, "--statistics auto"))
        o->statistics = STATISTICS_AUTO;
    if (change_here(c, "--sample-weight"))
        o->sample_weight = "importance";
    if (change_here(c, "--learning-rate-input"))
        o->learning_rate_input = "rate";
    if (change_here(c, "--train '*'"))
        vec_push(c->arena, &o->train, "*");
    if (change_here(c, "--freeze '*b*'"))
        vec_push(c->arena, &o->freeze, "*b*");
    if (change_here(c, "--batchnorm frozen"))
        vec_push(c->arena, &o->batchnorm, ((struct batchnorm_choice){.kind = BATCHNORM_FROZEN}));
    if (change_here(c, "--batchnorm frozen:"))
        vec_push(c->arena, &o->batchnorm, ((struct batchnorm_choice){.kind = BATCHNORM_FROZEN, .glob = ""}));
    if (change_here(c, "--untie '*'"))
        vec_push(c->arena, &o->untie, "*");
    if (change_here(c, "--tie never"))
        vec_push(c->arena, &o->tie, "never");
    if (change_here(c, "--target"))
        o->target = "y_true";
    if (change_here(c, "--entry"))
        o->entry = "teach";
}

/* false after an error */
static bool change_options(struct change *c, struct diag *d, struct prepare_options *o)
{
    static const char *const optimizers[] = {
        "momentum", "nesterov", "adagrad", "adam", "adamw", "adamw:amsgrad=1", "nadam", "radam", "adamax", "lamb",
        "lion", "adafactor", "rmsprop", "rmsprop:centered=1,momentum=0.5", "sgd:norm_coefficient=0.1"};
    static const char *const schedules[] = {
        "step:every=3,gamma=0.5", "multistep:milestones=2,5", "exponential:gamma=0.5", "cosine:steps=8,floor=0.1",
        "cosine:steps=8,warmup=2", "linear:steps=8", "onecycle:steps=9"};
    static const char *const groups[] = {"*:learning_rate=0.5", "*b*:weight_decay=0.5",
                                         "*w*:learning_rate=2,weight_decay=0"};
    for (int i = 0; i < LOSS_COUNT; i++)
        if (change_here(c, "--loss %d", i))
            o->loss = (enum loss_kind)i;
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++)
        if (change_here(c, "--optimizer %s", optimizers[i]))
            return optimizer_parse(d, c->arena, optimizers[i], &o->optimizer);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (change_here(c, "--group %s", groups[i]))
            return group_parse(d, c->arena, groups[i], &o->groups);
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
        if (change_here(c, "--schedule %s", schedules[i]))
            return schedule_parse(d, c->arena, schedules[i], &o->schedule);
    change_numbers(c, o);
    change_flags(c, o);
    return true;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static void rename_value(struct model_graph *g, const char *from, const char *to)
{
    vec_each(struct model_node *, n, &g->nodes) {
        for (size_t i = 0; i < n->inputs.count; i++)
            if (str_equal(n->inputs.data[i], from))
                n->inputs.data[i] = to;
        for (size_t i = 0; i < n->outputs.count; i++)
            if (str_equal(n->outputs.data[i], from))
                n->outputs.data[i] = to;
    }
}

static void change_weight(struct change *c, struct model_graph *g, size_t at)
{
    struct model_initializer *const w = g->initializers.data[at];
    struct tensor *const t = w->tensor;
    static const char *const names[] = {"onnx::MatMul_12", "layer.weight", "bn.running_mean", "constant"};
    if (!t || t->dtype == DTYPE_STRING)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (change_here(c, "%s: is called %s", w->name, names[i])) {
            rename_value(g, w->name, names[i]);
            w->name = names[i];
        }
    for (int value = 0; value < 2; value++)
        if (change_here(c, "%s: of %d", w->name, value))
            for (int64_t i = 0; i < t->count; i++)
                tensor_set_double(t, i, value);
    if (dtype_is_float(t->dtype) && change_here(c, "%s: of another width", w->name)) {
        struct tensor *const other =
            tensor_new(c->arena, t->dtype == DTYPE_DOUBLE ? DTYPE_FLOAT : DTYPE_DOUBLE, &t->shape);
        for (int64_t i = 0; i < t->count; i++)
            tensor_set_double(other, i, tensor_get_double(t, i));
        w->tensor = other;
        return;
    }
    if (change_here(c, "%s: a Constant", w->name)) {
        struct model_node *const n = model_add_node(c->arena, g, "", "Constant", (const char *[]){NULL},
                                                    (const char *[]){w->name, NULL});
        model_set_tensor(c->arena, n, "value", t);
        for (size_t i = g->nodes.count - 1; i > 0; i--)
            g->nodes.data[i] = g->nodes.data[i - 1];
        g->nodes.data[0] = n;
        vec_remove(&g->initializers, at);
        return;
    }
    if (change_here(c, "%s: an input as well", w->name)) {
        struct model_dim dims[SHAPE_MAX_RANK];
        for (int d = 0; d < t->shape.rank; d++)
            dims[d] = (struct model_dim){.value = t->shape.dim[d], .param = "", .denotation = ""};
        model_add_value(c->arena, g, 0, w->name, t->dtype, dims, (size_t)t->shape.rank);
    }
    if (t->count > 0 && change_here(c, "%s[0]: one more", w->name))
        tensor_set_double(t, 0, tensor_get_double(t, 0) + 1);
}

static const char *of_the_same_kind(const char *op)
{
    static const char *const kinds[][2] = {
        {"Add", "Sub"},       {"Mul", "Div"},           {"MatMul", "Add"},      {"Relu", "Sigmoid"},
        {"Sigmoid", "Softmax"}, {"Softmax", "LogSoftmax"}, {"Tanh", "Relu"},    {"Reshape", "Expand"},
        {"Gemm", "MatMul"},   {"Exp", "Log"},           {"Squeeze", "Unsqueeze"}, {"ReduceMean", "ReduceSum"},
        {"Sqrt", "Abs"},      {"Cast", "Identity"},     {"Max", "Min"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int side = 0; side < 2; side++)
            if (str_equal(kinds[i][side], op))
                return kinds[i][1 - side];
    return "Neg";
}

/* An Identity between input i of node `at` and what it reads. */
static void read_through(struct change *c, struct model_graph *g, size_t at, size_t i)
{
    struct model_node *const n = g->nodes.data[at];
    struct model_node *const between =
        model_add_node(c->arena, g, "", "Identity", (const char *[]){n->inputs.data[i], NULL},
                       (const char *[]){"in_between", NULL});
    n->inputs.data[i] = "in_between";
    for (size_t k = g->nodes.count - 1; k > at; k--)
        g->nodes.data[k] = g->nodes.data[k - 1];
    g->nodes.data[at] = between;
}

static void change_node(struct change *c, struct model_graph *g, size_t at)
{
    struct model_node *const n = g->nodes.data[at];
    if (n->inputs.count == 0 || n->outputs.count == 0)
        return;
    const char *const name = n->outputs.data[0], *const other = of_the_same_kind(n->op_type);
    if (at > 0 && change_here(c, "%s: a place earlier", name)) {
        g->nodes.data[at] = g->nodes.data[at - 1];
        g->nodes.data[at - 1] = n;
        return;
    }
    if (change_here(c, "%s: %s", name, other))
        n->op_type = other;
    if (n->inputs.count > 1 && change_here(c, "%s: first two operands change places", name)) {
        const char *const first = n->inputs.data[0];
        n->inputs.data[0] = n->inputs.data[1];
        n->inputs.data[1] = first;
    }
    if (change_here(c, "%s: without its last input", name))
        n->inputs.count--;
    if (n->inputs.count > 0 && change_here(c, "%s: an output as well", name))
        model_add_value(c->arena, g, 1, name, DTYPE_FLOAT, NULL, 0);
    if (n->inputs.count > 0 && change_here(c, "%s: left out", name)) {
        n->op_type = "Identity";
        n->domain = "";
        n->inputs.count = n->outputs.count = 1;
        n->attrs.count = 0;
    }
    for (size_t i = 0; i < n->inputs.count && c->name == NULL; i++)
        if (change_here(c, "%s: input %zu through Identity", name, i)) {
            read_through(c, g, at, i);
            return;
        }
    for (size_t k = n->attrs.count; k-- > 0 && c->name == NULL;)
        change_attr(c, n, k);
}

static void change_value(struct change *c, struct model_value_info *v)
{
    struct model_type *const t = &v->type;
    if (t->kind != TYPE_TENSOR)
        return;
    for (size_t i = 0; t->has_shape && i < t->dims.count; i++) {
        if (*t->dims.data[i].param == '\0' && change_here(c, "%s: dimension %zu has a name", v->name, i))
            t->dims.data[i] = (struct model_dim){.value = -1, .param = "batch", .denotation = ""};
        if (*t->dims.data[i].param != '\0' && change_here(c, "%s: dimension %zu is 3", v->name, i))
            t->dims.data[i] = (struct model_dim){.value = 3, .param = "", .denotation = ""};
    }
    if (change_here(c, "%s: without a shape", v->name))
        t->has_shape = false;
    if (change_here(c, "%s: another width", v->name))
        t->elem = t->elem == DTYPE_FLOAT ? DTYPE_DOUBLE : t->elem == DTYPE_INT64 ? DTYPE_INT32 : DTYPE_FLOAT;
}

static void change_versions(struct change *c, struct model *m)
{
    static const int formats[] = {0, 1, 2, 3, 4, 7, 13, 99};
    static const int opsets[] = {1, 6, 7, 9, 11, 12, 14, 16, 18, 20, 23, 28, 99};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (change_here(c, "IR version %d", formats[i]))
            m->ir_version = formats[i];
    for (size_t i = 0; i < sizeof opsets / sizeof *opsets; i++)
        if (change_here(c, "opset %d", opsets[i]))
            m->opsets.data[0].version = opsets[i];
    if (change_here(c, "without an opset"))
        m->opsets.count = 0;
}

static void change_model(struct change *c, struct model *m)
{
    static const char *const exporters[] = {"pytorch", "tf2onnx", "keras2onnx", "PaddlePaddle"};
    struct model_graph *const g = m->graph;
    change_versions(c, m);
    for (size_t i = 0; i < sizeof exporters / sizeof *exporters; i++)
        if (change_here(c, "written by %s", exporters[i]))
            m->producer_name = exporters[i];
    for (size_t i = 0; i < g->inputs.count; i++)
        change_value(c, g->inputs.data[i]);
    for (size_t i = 0; i < g->outputs.count; i++)
        change_value(c, g->outputs.data[i]);
    for (size_t i = 0; i < g->initializers.count && c->name == NULL; i++)
        change_weight(c, g, i);
    for (size_t i = 0; i < g->nodes.count && c->name == NULL; i++)
        change_node(c, g, i);
}

/* Which tensor: of the loss, the only output, one without gradient. false after an error. */
static bool choose_tensor(struct change *c, struct diag *d, struct prepare_options *o, struct model *m)
{
    const struct model_graph *const g = m->graph;
    for (size_t i = 0; i < g->nodes.count; i++) {
        if (g->nodes.data[i]->outputs.count == 0)
            continue;
        const char *const name = g->nodes.data[i]->outputs.data[0];
        if (change_here(c, "--output %s", name))
            o->output = name;
        if (change_here(c, "--detach %s", name))
            vec_push(c->arena, &o->detach, name);
        if (change_here(c, "--outputs %s", name)) {
            str_list one = {0};
            vec_push(c->arena, &one, name);
            o->chosen_outputs = true;
            return keep_outputs(d, c->arena, m, &one);
        }
    }
    return true;
}

/* ---- what becomes of it ------------------------------------------------------------------------------------------ */

/* One model, with or without a change. */
struct trial {
    const struct run *run;
    struct arena arena;
    struct diag diag;
    struct change change;
    struct prepare_options options;
    struct model *model;
    bool ok;
};

static void begin(struct trial *t, const struct run *r, int number)
{
    *t = (struct trial){.run = r, .change = {.wanted = number}};
    t->diag.arena = t->change.arena = &t->arena;
    t->options = plain_options(&t->arena);
    t->ok = model_read_text(&t->diag, &t->arena, r->file, r->source, strlen(r->source), &t->model) &&
            t->model->training.count == 0 && t->model->graph->nodes.count <= MOST_NODES;
    if (!t->ok || number < 0)
        return;
    t->ok = change_options(&t->change, &t->diag, &t->options);
    if (t->change.name || r->refused)
        return;
    t->ok = choose_tensor(&t->change, &t->diag, &t->options, t->model);
    if (!t->change.name)
        change_model(&t->change, t->model);
}

static void print_model(struct trial *t, const char *what)
{
    const char *text;
    size_t size;
    t->ok = model_encode_text(&t->diag, &t->arena, t->model, true, &text, &size);
    if (!t->ok)
        return;
    fprintf(t->run->out, "    %s %016llx\n", what, (unsigned long long)hash_bytes(text, size));
    if (t->run->text)
        fputs(text, t->run->out);
}

/* The canonical graphs that compilation would begin with. */
static void print_program(struct trial *t)
{
    struct pipeline_options o = {.name = "net", .import = *t->options.import};
    struct program *p;
    o.import.provisional_dim = 4;
    t->ok = pipeline_canonical(&t->diag, &t->arena, t->model, &o, &p);
    if (!t->ok)
        return;
    vec_each_ptr(const struct entry, e, &p->entries) {
        const char *const text = graph_print(&t->arena, e->graph);
        fprintf(t->run->out, "    %s %zu nodes %016llx\n", e->name, e->graph->node_count,
                (unsigned long long)hash_bytes(text, strlen(text)));
        if (t->run->text)
            fputs(text, t->run->out);
    }
}

static void print_prepared(struct trial *t, bool whole)
{
    FILE *const out = t->run->out;
    struct strbuf report = {.arena = &t->arena};
    t->ok = t->ok && prepare_model(&t->diag, &t->arena, t->model, &t->options, &report);
    fprintf(out, "%s: %s:\n", t->change.name, t->ok ? "accepted" : "refused");
    if (t->ok) {
        fputs(strbuf_text(&report), out);
        print_model(t, "model");
    }
    if (t->ok && whole)
        print_program(t);
    if (t->ok) {
        strip_model(&t->diag, t->model, &(struct strbuf){.arena = &t->arena});
        print_model(t, "stripped");
    }
    print_messages(out, &t->diag);
}

static void print_findings(struct trial *t)
{
    finding_list found = {0};
    if (t->ok)
        examine_export(&t->arena, t->model, t->options.import, &found);
    vec_each_ptr(const struct finding, f, &found)
        fprintf(t->run->out, "    %s: %s\n", f->text, f->cure);
}

/* Is there a change of that number? */
static bool tell(const struct run *r, int number)
{
    bool there = false;
    for (int way = 0; way < WAYS; way++) {
        struct trial t;
        begin(&t, r, number);
        there = t.change.name != NULL;
        if (way == 1 && t.options.loss == LOSS_MSE)
            t.options.loss = LOSS_SOFTMAX_CROSS_ENTROPY;
        if (there && way < 2)
            print_prepared(&t, way == 0);
        else if (there)
            print_findings(&t);
        arena_free(&t.arena);
    }
    return there;
}

static bool tell_all(struct run *r)
{
    struct trial t;
    begin(&t, r, -1);
    const bool any = t.ok;
    r->refused = !any || !prepare_model(&t.diag, &t.arena, t.model, &t.options, &(struct strbuf){.arena = &t.arena});
    arena_free(&t.arena);
    for (int i = 0; any && tell(r, i); i++)
        ;
    return any;
}

static bool tell_file(FILE *out, const char *name, const char *content, const void *text)
{
    struct run r = {.out = out, .text = *(const bool *)text, .file = name, .source = content};
    return tell_all(&r);
}

int main(int argc, char **argv)
{
    const bool text = argc > 1 && str_equal(argv[1], "--text");
    const int first = text ? 2 : 1;
    if (argc < first + 2) {
        fprintf(stderr, "usage: neighbours_prepared [--text] FOLDER FILE...\n");
        return 2;
    }
    return write_files(argv[first], argv + first + 1, tell_file, &text) ? EXIT_SUCCESS : EXIT_FAILURE;
}
