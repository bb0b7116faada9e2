/* What is trained: what the rules of parameters.c take for a parameter, or what --train names; and
 * what is said of it. */
#include "prepare/inside.h"
#include "prepare/masters.h"
#include "prepare/parameters.h"

#include <math.h>
#include <string.h>

enum { MOST_NAMED = 6 };

/* ---- what the loss depends on ------------------------------------------------------------------------------------ */

static void mark(struct map *marked, const char *name)
{
    if (name[0] != '\0' && !map_has(marked, name))
        map_set(marked, name, NULL);
}

static void mark_inputs(struct map *marked, const struct model_node *n);

/* A subgraph reads values of the graph around it without listing them: every name that it reads is marked. Names of its
 * own among them do no harm. */
static void mark_captures(struct map *marked, const struct model_graph *g)
{
    vec_each(const struct model_node *, n, &g->nodes)
        mark_inputs(marked, n);
    vec_each(const struct model_value_info *, vi, &g->outputs)
        mark(marked, vi->name);
}

static void mark_inputs(struct map *marked, const struct model_node *n)
{
    for (size_t i = 0; i < n->inputs.count; i++)
        mark(marked, n->inputs.data[i]);
    vec_each(const struct model_attr *, x, &n->attrs)
        if (str_equal(n->op_type, "Gradient") && str_equal(x->name, "y") && x->type == ATTR_STRING && x->s.data)
            mark(marked, x->s.data); /* read by its name alone */
    model_each_inner(n, inner)
        mark_captures(marked, inner);
}

void names_read(const struct model_node *n, struct map *names)
{
    mark_inputs(names, n);
}

bool gives_one_of(const struct model_node *n, const struct map *names)
{
    vec_each(const char *, name, &n->outputs)
        if (name[0] != '\0' && map_has(names, name))
            return true;
    return false;
}

/* Nodes stand in topological order, so that one walk backwards finds all. */
void mark_ancestors(const struct model_graph *g, struct map *marked)
{
    for (size_t i = g->nodes.count; i-- > 0;) {
        const struct model_node *const n = g->nodes.data[i];
        if (gives_one_of(n, marked))
            mark_inputs(marked, n);
    }
}

void find_ancestors(struct preparer *p)
{
    mark(&p->ancestors, p->loss_input);
    mark_ancestors(p->model->graph, &p->ancestors);
}

/* ---- names and constants ----------------------------------------------------------------------------------------- */

static bool matches(const str_list *globs, const char *name)
{
    vec_each(const char *, glob, globs)
        if (str_glob(glob, name))
            return true;
    return false;
}

/* Node `at`, a Constant, becomes an initializer, which a binding may write. */
static void lift_constant(struct preparer *p, size_t at)
{
    struct model_graph *const g = p->model->graph;
    const struct model_node *const n = g->nodes.data[at];
    model_add_initializer(p->arena, g, n->outputs.data[0], constant_of(n));
    g->initializers.data[g->initializers.count - 1]->loc = n->loc;
    map_set(&p->producers, n->outputs.data[0], NULL);
    edit_changed(&p->edit, "initializers in the place of constants");
    vec_push(p->arena, &p->lifted, n->outputs.data[0]);
    vec_remove(&g->nodes, at);
}

static void say_lifted(struct preparer *p)
{
    const size_t count = p->lifted.count;
    if (count > 0)
        say(p, "constant%s %s %s", str_plural(count), names_text(p->arena, &p->lifted, MOST_NAMED),
            count == 1 ? "becomes an initializer" : "become initializers");
}

void lift_named_constant(struct preparer *p, const char *name)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_node *, n, &g->nodes)
        if (constant_of(n) && str_equal(n->outputs.data[0], name)) {
            lift_constant(p, n_at);
            return;
        }
}

bool is_like_weight(struct rules *r, const struct model_node *n, struct trained_verdict *v)
{
    return constant_of(n) && dtype_is_float(constant_of(n)->dtype) && judge_constant(r, n, constant_of(n), v) &&
           !v->moot;
}

static bool has_choice(const struct choice *c)
{
    return c->globs.count > 0 || c->file;
}

bool keeps_weights_as_constants(struct rules *r)
{
    const struct model_graph *const g = r->p->model->graph;
    vec_each(const struct model_initializer *, init, &g->initializers)
        if (dtype_is_float(init->tensor->dtype) && !map_has(&r->p->statistics, init->name) && judge(r, init).trained)
            return false;
    return true;
}

/* In functions and branches exporters keep constants where the main graph has initializers; some do so everywhere. */
static bool is_wanted_constant(struct rules *r, const str_list *globs, bool all, const struct model_node *n)
{
    struct trained_verdict v;
    const char *const name = constant_of(n) ? n->outputs.data[0] : "";
    return name[0] != '\0' &&
           (str_list_has(globs, name) ||
            ((all || matches(globs, name) || map_has(&r->p->edit.inner_constants, name)) && is_like_weight(r, n, &v)));
}

/* Those that --train names, and those that the exporter kept as constants. A pattern takes those in the place of a
 * weight only. */
static void lift_constants(struct preparer *p, struct rules *r)
{
    const struct model_graph *const g = p->model->graph;
    const bool all = !has_choice(&p->train) && keeps_weights_as_constants(r);
    for (size_t i = 0; i < g->nodes.count;) {
        if (is_wanted_constant(r, &p->train.globs, all, g->nodes.data[i]))
            lift_constant(p, i);
        else
            i++;
    }
}

/* ---- --train and --freeze -------------------------------------------------------------------------------------------
 */

static bool check_glob(struct preparer *p, const char *option, const char *glob)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_initializer *, x, &g->initializers)
        if (str_glob(glob, x->name))
            return true;
    const char *const what = what_is_called(p->arena, p->model, glob);
    return diag_error(p->diag, &p->loc, "--%s %s: %s%s%s", option, glob, what ? what : "no initializer has ",
                      what                  ? ""
                      : strpbrk(glob, "*?") ? "a name that matches"
                                            : "that name",
                      what ? "" : initializer_suggestion(p->arena, g, glob));
}

static bool check_globs(struct preparer *p, const char *option, const str_list *globs)
{
    bool ok = true;
    vec_each(const char *, glob, globs)
        ok = check_glob(p, option, glob) && ok;
    return ok;
}

const char *find_listed(const struct model_graph *g, const char *name)
{
    const char *found = NULL;
    if (model_find_initializer(g, name))
        return name;
    vec_each(const struct model_initializer *, x, &g->initializers) {
        const char *const own = x->name;
        const size_t a = strlen(own), b = strlen(name);
        const bool longer = a > b + 1 && own[a - b - 1] == '.' && str_equal(own + a - b, name);
        const bool shorter = b > a + 1 && name[b - a - 1] == '.' && str_equal(name + b - a, own);
        if (!longer && !shorter)
            continue;
        if (found)
            return NULL;
        found = own;
    }
    return found;
}

static void resolve(struct preparer *p, struct choice *c)
{
    c->listed.arena = p->arena;
    c->missing.count = 0;
    vec_each(const char *, line, &c->lines) {
        const char *const name = find_listed(p->model->graph, line);
        if (name)
            map_set(&c->listed, name, NULL);
        else
            vec_push(p->arena, &c->missing, line);
    }
}

static bool resolve_lists(struct preparer *p)
{
    resolve(p, &p->train);
    resolve(p, &p->freeze);
    if (p->train.file && p->train.listed.count == 0)
        return diag_error(p->diag, &p->loc, "--train @%s: no initializer has any of its %zu names%s", p->train.file,
                          p->train.lines.count,
                          p->train.lines.count > 0 ? "; --names-from gives initializers the names of a checkpoint"
                                                   : "");
    if (p->freeze.missing.count > 0)
        say(p, "--freeze @%s: the model does not have %s", p->freeze.file,
            names_text(p->arena, &p->freeze.missing, MOST_NAMED));
    return true;
}

static bool is_chosen(const struct choice *c, const char *name)
{
    return matches(&c->globs, name) || map_has(&c->listed, name);
}

static bool can_be_trained(const struct tensor *t)
{
    return (DTYPE_BIT(t->dtype) & DTYPES_FLOATS) != 0 && t->count > 0;
}

/* What --train names without a wildcard has to be trainable; what a wildcard takes along need not. */
static bool check_named(struct preparer *p, const struct model_initializer *init)
{
    if (!can_be_trained(init->tensor))
        return diag_error(p->diag, &init->loc,
                          "--train %s: it is %s%s; tensors of float, double, float16 and bfloat16 with elements "
                          "can be trained",
                          init->name, dtype_name(init->tensor->dtype), shape_text(p->arena, &init->tensor->shape));
    if (map_has(&p->statistics, init->name))
        return diag_error(p->diag, &init->loc,
                          "--train %s: it is a running statistic of BatchNormalization, which has no gradient",
                          init->name);
    if (!map_has(&p->ancestors, init->name))
        return diag_error(p->diag, &init->loc, "--train %s: the loss does not depend on it", init->name);
    return true;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* An initializer and what becomes of it. */
struct chosen {
    const struct model_initializer *init;
    struct trained_verdict verdict;
    const char *against; /* why it is not trained; NULL: it is */
    bool worth_saying;   /* the loss depends on it, and --train would train it */
};
typedef VEC(struct chosen) chosen_list;

/* What --train asks for, where it is given: patterns; or a list, and what has no name of its own while names
 * of the list are left.
 */
static const char *reason_against_train(const struct preparer *p, const struct model_initializer *init,
                                        const struct trained_verdict *v)
{
    const struct choice *const c = &p->train;
    if (map_has(&c->listed, init->name) || str_list_has(&c->globs, init->name))
        return NULL;
    if (matches(&c->globs, init->name))
        return v->moot || (v->sure && !v->trained) ? v->why : NULL;
    if (c->file && c->missing.count > 0 && is_anonymous(init->name) && v->trained)
        return NULL;
    return c->file ? arena_printf(p->arena, "not in %s", c->file) : "no --train names it";
}

static struct chosen choose(struct preparer *p, struct rules *r, const struct model_initializer *init)
{
    struct chosen c = {.init = init};
    c.against = !dtype_is_float(init->tensor->dtype)      ? "no floating-point numbers"
                : map_has(&p->statistics, init->name)     ? "running statistic"
                : !map_has(&p->ancestors, init->name)     ? "the loss does not depend on it"
                                                          : NULL;
    if (c.against)
        return c;
    c.verdict = judge(r, init);
    const bool reached = map_has(&r->reached, init->name);
    if (is_chosen(&p->freeze, init->name))
        c.against = "--freeze";
    else if (has_choice(&p->train))
        c.against = reason_against_train(p, init, &c.verdict);
    else if (!c.verdict.trained)
        c.against = c.verdict.why;
    if (!c.against && !can_be_trained(init->tensor))
        c.against = init->tensor->count > 0 ? "numbers of less than 16 bits are not trained" : "it is empty";
    c.worth_saying = reached && !c.verdict.moot && !is_chosen(&p->freeze, init->name) && can_be_trained(init->tensor);
    return c;
}

void find_trained(struct preparer *p, struct map *trained, struct map *held)
{
    const struct model_graph *const g = p->model->graph;
    struct map loss = {.arena = p->arena};
    struct rules rules;
    map_set(&loss, p->main_loss, NULL);
    rules_begin(&rules, p, &loss);
    resolve(p, &p->train);
    resolve(p, &p->freeze);
    vec_each(const struct model_initializer *, init, &g->initializers) {
        const struct chosen c = choose(p, &rules, init);
        if (!c.against)
            map_set(trained, init->name, NULL);
        else if (c.verdict.trained || known_kind_of(&p->known, init->name) == KNOWN_FROZEN)
            map_set(held, init->name, NULL);
    }
}

static void add_trainable(struct preparer *p, struct rules *r, const struct chosen *c)
{
    const struct trained_verdict *const v = &c->verdict;
    vec_push(p->arena, &p->trainables,
             ((struct trainable){.name = c->init->name,
                                 .tensor = c->init->tensor,
                                 .role = v->trained ? v->role : TRAINABLE_OTHER,
                                 .layout = v->trained ? v->layout : FAN_NONE,
                                 .why = v->trained ? v->why : "named by --train",
                                 .weight_decay = NAN,
                                 .held = str_list_has(&p->train.globs, c->init->name)
                                             ? (struct held){0}
                                             : held_part(r, c->init, !p->options->train_padding)}));
}

/* ---- what is said ------------------------------------------------------------------------------------------------ */

static const char *tensor_text(struct preparer *p, const struct tensor *t)
{
    return arena_printf(p->arena, "%s%s", dtype_name(t->dtype), shape_text(p->arena, &t->shape));
}

/* Quoted where a shell would read more into it. */
static const char *argument_text(struct preparer *p, const char *name)
{
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:")] == '\0'
               ? name
               : arena_printf(p->arena, "'%s'", name);
}

static void add_constants(struct preparer *p, struct rules *r, struct strbuf *text, size_t *count)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_node *, n, &g->nodes) {
        struct trained_verdict v;
        if (p->silent || !constant_of(n) || !map_has(&p->ancestors, n->outputs.data[0]) || !is_like_weight(r, n, &v))
            continue;
        strbuf_addf(text, "  not %s %s: %s; --train %s trains it\n", n->outputs.data[0],
                    tensor_text(p, constant_of(n)), v.why, argument_text(p, n->outputs.data[0]));
        ++*count;
    }
}

static void add_left_inside(struct preparer *p, const struct rules *r, struct strbuf *text, size_t *count)
{
    left_inside_list list = {0};
    find_left_inside(r, &list);
    vec_each_ptr(const struct left_inside, x, &list) {
        if (p->silent)
            continue;
        strbuf_addf(text, "  not %s %s: %s\n", x->name, x->what, x->why);
        ++*count;
    }
}

/* First of all: what the loss depends on and nobody trains. */
static void say_left_out(struct preparer *p, struct rules *r, const chosen_list *all)
{
    struct strbuf text = {.arena = p->arena, .clean = true}; /* lines, which go into left_out as they are */
    size_t count = 0;
    vec_each_ptr(const struct chosen, c, all) {
        if (!c->against || !c->worth_saying || p->silent)
            continue;
        count++;
        strbuf_addf(&text, "  not %s %s: %s; ", c->init->name, tensor_text(p, c->init->tensor), c->against);
        if (c->verdict.computed)
            strbuf_add(&text, "to train what it was computed from, export by examples/pytorch/export.py\n");
        else
            strbuf_addf(&text, "--train %s trains it\n", argument_text(p, c->init->name));
    }
    add_constants(p, r, &text, &count);
    add_left_inside(p, r, &text, &count);
    if (count > 0)
        strbuf_addf(&p->left_out, "NOT TRAINED, though the loss depends on %s:\n%s", count == 1 ? "it" : "them",
                    strbuf_text(&text));
}

/* By the project's export.py: not what another framework than PyTorch wrote. */
static bool can_be_exported_again(const struct rules *r)
{
    return r->from_pytorch || !r->exported;
}

/* The rules may be wrong of these: buffers that look like parameters. */
static void say_unsure(struct preparer *p, const struct rules *r, const chosen_list *all)
{
    str_list names = {0};
    vec_each_ptr(const struct chosen, c, all)
        if (!c->against && c->verdict.trained && !c->verdict.sure && !has_choice(&p->train))
            vec_push(p->arena, &names, c->init->name);
    if (names.count > 0)
        say(p,
            "note: %s %s trained as %s: if %s is a buffer, --freeze leaves it alone%s",
            names_text(p->arena, &names, names.count), names.count == 1 ? "is" : "are",
            names.count == 1 ? "a parameter" : "parameters", names.count == 1 ? "it" : "one",
            can_be_exported_again(r) ? "; an export by examples/pytorch/export.py says which are parameters" : "");
}

/* A plain export folds weight * mask into one tensor: trained, what the mask held at zero moves. */
static bool may_hold_mask(const struct trainable *t)
{
    enum { SHARE = 8 }; /* of a weight's elements, few are exactly zero by chance */
    int64_t zeros = 0;
    if (!is_anonymous(t->name) || t->tensor->shape.rank < 2)
        return false;
    for (int64_t i = 0; i < t->tensor->count; i++)
        zeros += tensor_get_double(t->tensor, i) == 0;
    return zeros >= t->tensor->count / SHARE && zeros > 1 && zeros < t->tensor->count;
}

static void say_masked(struct preparer *p, const struct rules *r)
{
    str_list names = {0};
    vec_each_ptr(const struct trainable, t, &p->trainables)
        if (!t->held.trained && may_hold_mask(t))
            vec_push(p->arena, &names, t->name);
    if (names.count > 0 && !p->silent)
        say(p,
            "note: many elements of %s are exactly 0: if the export has folded a mask into %s, training moves them; "
            "%s--freeze leaves %s alone",
            names_text(p->arena, &names, MOST_NAMED), names.count == 1 ? "it" : "them",
            can_be_exported_again(r) ? "an export by examples/pytorch/export.py keeps weight and mask apart, " : "",
            names.count == 1 ? "it" : "them");
}

static void say_trainables(struct preparer *p)
{
    int64_t elements = 0;
    for (size_t i = 0; i < p->trainables.count; i++)
        elements += p->trainables.data[i].tensor->count;
    say(p, "trained: %zu tensor%s, %lld elements", p->trainables.count, str_plural(p->trainables.count),
        (long long)elements);
    vec_each_ptr(const struct trainable, t, &p->trainables) {
        say(p, "  %s %s: %s", t->name, tensor_text(p, t->tensor), t->why);
        if (t->held.trained)
            say(p, "    but for %s", t->held.what);
    }
}

/* Names of the list that no initializer has: renamed by the exporter, as transposed weights are, or dropped. */
static void say_missing(struct preparer *p)
{
    str_list instead = {0};
    vec_each_ptr(const struct trainable, t, &p->trainables)
        if (!map_has(&p->train.listed, t->name) && is_anonymous(t->name))
            vec_push(p->arena, &instead, t->name);
    if (p->train.missing.count == 0 || p->silent)
        return;
    const char *const missing = names_text(p->arena, &p->train.missing, MOST_NAMED);
    if (instead.count > 0)
        say(p,
            "--train @%s: the exporter has renamed or folded %s; trained in their place: %s (--names-from finds names)",
            p->train.file, missing, names_text(p->arena, &instead, MOST_NAMED));
    else
        diag_warning(p->diag, &p->loc, "--train @%s: the model does not have %s: not used, or folded by the exporter",
                     p->train.file, missing);
}

static size_t constant_weights(struct preparer *p, struct rules *r)
{
    const struct model_graph *const g = p->model->graph;
    size_t count = 0;
    vec_each(const struct model_node *, n, &g->nodes) {
        struct trained_verdict v;
        count += is_like_weight(r, n, &v);
    }
    return count;
}

static void say_others(struct preparer *p, const chosen_list *all)
{
    size_t statistics = 0;
    vec_each_ptr(const struct chosen, c, all) {
        statistics += map_has(&p->statistics, c->init->name);
        if (c->against && !c->worth_saying && !map_has(&p->statistics, c->init->name) &&
            dtype_is_float(c->init->tensor->dtype) && !c->verdict.moot)
            say(p, "  not %s %s: %s", c->init->name, tensor_text(p, c->init->tensor), c->against);
    }
    if (statistics > 0)
        say(p, "  not %zu running statistics of BatchNormalization", statistics);
}

/* An input where a weight of a product stands; NULL: there is none. */
static const char *weight_input(const struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_node *, n, &g->nodes) {
        const char *const w = is_product(n) && n->inputs.count > 1 ? n->inputs.data[1] : "";
        const struct model_value_info *const vi = model_find_value(&g->inputs, w);
        bool fixed = vi && vi->type.dims.count > 1 && !model_find_initializer(g, w) && map_has(&p->ancestors, w);
        for (size_t k = 0; fixed && k < vi->type.dims.count; k++)
            fixed = vi->type.dims.data[k].value > 0;
        if (fixed)
            return w;
    }
    return NULL;
}

/* The initializer of integers that a quantized layer has for its weight; NULL: the node is none. */
static const char *quantized_weight_of(const struct preparer *p, const struct model_node *n)
{
    static const struct {
        const char *op;
        size_t weight;
    } rows[] = {
        {"DequantizeLinear", 0}, {"ConvInteger", 1}, {"MatMulInteger", 1}, {"QLinearConv", 3}, {"QLinearMatMul", 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct model_initializer *const w = is_op(n, rows[i].op) && n->inputs.count > rows[i].weight
                                                      ? model_find_initializer(p->model->graph,
                                                                               n->inputs.data[rows[i].weight])
                                                      : NULL;
        if (w && w->tensor->shape.rank > 0 && map_has(&p->ancestors, w->name))
            return w->name;
    }
    return NULL;
}

static const char *quantized_weight(const struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    const char *w = NULL;
    for (size_t i = 0; i < g->nodes.count && !w; i++)
        w = quantized_weight_of(p, g->nodes.data[i]);
    return w;
}

static size_t count_frozen(const struct preparer *p, const chosen_list *all)
{
    size_t count = 0;
    vec_each_ptr(const struct chosen, c, all)
        count += c->against && known_kind_of(&p->known, c->init->name) == KNOWN_FROZEN &&
                 map_has(&p->ancestors, c->init->name);
    return count;
}

static bool fail_without_any(struct preparer *p, struct rules *r, const chosen_list *all)
{
    const char *const input = weight_input(p), *const integers = quantized_weight(p);
    const size_t frozen = count_frozen(p, all);
    if (!has_choice(&p->train) && frozen > 0)
        return diag_error(p->diag, &p->loc,
                          "nothing to train: all parameters that '%s' depends on (%zu) are frozen in the network, says "
                          "%s; --train NAME trains some",
                          p->loss_input, frozen, p->known.source);
    if (!has_choice(&p->train) && !has_choice(&p->freeze) && input)
        return diag_error(p->diag, &p->loc,
                          "nothing to train: the weights are inputs of the graph ('%s'), as in files of ONNX Runtime's "
                          "training; initializers are trained: take the file that generate_artifacts() was given, or "
                          "export the network with its parameters",
                          input);
    if (!has_choice(&p->train) && !has_choice(&p->freeze) && integers)
        return diag_error(p->diag, &p->loc,
                          "nothing to train: the weights are integers ('%s'), which have no gradient: train the "
                          "network before it is quantized",
                          integers);
    return diag_error(p->diag, &p->loc, "nothing to train: no float initializer that '%s' depends on %s", p->loss_input,
                      has_choice(&p->train) || has_choice(&p->freeze) ? "is left by --train and --freeze"
                      : constant_weights(p, r) > 0
                          ? "stands in the place of a parameter, but constants do; --train '*' trains them"
                          : "stands in the place of a parameter; --train NAME trains any");
}

/* Those of 16 bits are trained as float: masters.h. */
static void widen_trainables(struct preparer *p)
{
    str_list names = {0};
    vec_each_ptr(struct trainable, t, &p->trainables) {
        if (!dtype_is_float16(t->tensor->dtype))
            continue;
        struct model_initializer *const init = model_find_initializer(p->model->graph, t->name);
        const char *const rounded = widen_initializer(&p->edit, init);
        rename_reads_within(p->algorithm, t->name, rounded);
        t->tensor = init->tensor;
        map_set(&p->names, rounded, NULL);
        map_set(&p->main_names, rounded, NULL);
        map_set(&p->ancestors, rounded, NULL);
        map_set(&p->producers, rounded, p->model->graph->nodes.data[0]);
        vec_push(p->arena, &names, t->name);
    }
    if (names.count == 0)
        return;
    remember_widened(p->arena, p->model, &names);
    say(p, "trained in float, since an update may be smaller than a step of 16 bits: %s; the model computes with what "
           "they are rounded to, and strip gives 16 bits back",
        names_text(p->arena, &names, MOST_NAMED));
}

bool choose_trainables(struct preparer *p)
{
    struct map loss = {.arena = p->arena};
    struct rules rules;
    chosen_list all = {0};
    map_set(&loss, p->main_loss, NULL);
    rules_begin(&rules, p, &loss);
    lift_constants(p, &rules);
    say_lifted(p);
    const struct model_graph *const g = p->model->graph;
    bool ok = resolve_lists(p);
    ok = check_globs(p, "train", &p->train.globs) && ok;
    ok = check_globs(p, "freeze", &p->freeze.globs) && ok;
    for (size_t i = 0; i < g->initializers.count; i++) {
        const struct model_initializer *const init = g->initializers.data[i];
        if (str_list_has(&p->train.globs, init->name) && !is_chosen(&p->freeze, init->name))
            ok = check_named(p, init) && ok;
        vec_push(p->arena, &all, choose(p, &rules, init));
        if (!all.data[i].against)
            add_trainable(p, &rules, &all.data[i]);
    }
    if (!ok)
        return false;
    if (p->trainables.count == 0)
        return fail_without_any(p, &rules, &all);
    say_left_out(p, &rules, &all);
    say_trainables(p);
    say_missing(p);
    say_others(p, &all);
    say_unsure(p, &rules, &all);
    say_masked(p, &rules);
    widen_trainables(p);
    return true;
}
