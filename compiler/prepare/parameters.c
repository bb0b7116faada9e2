/* The rules, in the order in which they are asked. The first that fits decides.
 *
 *   1. The file says it: metadata of the export.
 *   2. No gradient of the loss reaches it: indices of a mask, what only a Shape reads, what is read through detached
 *      tensors only.
 *   3. It stands in the place of a weight: there a framework keeps parameters, but for what an exporter fills in (the
 *      ones and zeros of a normalization without scale and shift) and for filters and tables that follow a rule.
 *   4. It is an operand anywhere else: then it is a parameter, unless
 *        - its elements follow a rule: masks, sines, ranges, powers, windows, priors;
 *        - it normalizes the input: (x - mean) / deviation in front of all layers;
 *        - it is a second bias behind a layer that has one;
 *        - it is the scale of a quantization;
 *        - its name says that it is a buffer;
 *        - the network makes it as it runs, says its name: zeros(), full();
 *        - the exporter made it up: a name of its own, and not a copy of a parameter that it moved or reshaped;
 *        - it is a single number in a file that no framework wrote.
 *
 * The rules can be wrong where parameter and buffer look alike; so what they leave out is said, with the option that
 * trains it, and what they are not sure of is said too. */
#include "prepare/parameters.h"

#include "train/adjoint.h"
#include "prepare/values.h"
#include <ctype.h>
#include <string.h>

/* ---- who reads a value, and how ---------------------------------------------------------------------------------- */

struct parameter_reading {
    const struct model_node *node;
    size_t input;
    int flips;     /* how often it was transposed on its way */
    bool reshaped; /* its axes are no more what they were */
};
typedef VEC(struct parameter_reading) reading_list;

static void add_consumer(struct rules *r, const char *value, const struct model_node *n, size_t input)
{
    if (value[0] == '\0')
        return;
    reading_list *l = map_get(&r->consumers, value);
    if (!l) {
        l = arena_new(r->p->arena, reading_list);
        *l = (reading_list){0};
        map_set(&r->consumers, value, l);
    }
    vec_push(r->p->arena, l, ((struct parameter_reading){.node = n, .input = input}));
}

static bool keeps_axes(const struct model_node *n)
{
    return is_op(n, "Identity") || is_op(n, "Transpose") || is_op(n, "Slice") || is_op(n, "Cast") ||
           is_op(n, "Split") || is_op(n, "Dropout") || is_op(n, "QuantizeLinear") || is_op(n, "DequantizeLinear");
}

struct way {
    const char *value;
    struct parameter_reading so_far;
};

/* Reads of a value through what only moves elements, where a gradient comes back. */
static void find_uses(const struct rules *r, const char *value, reading_list *out)
{
    struct map seen = {.arena = r->p->arena};
    VEC(struct way) open = {0};
    vec_push(r->p->arena, &open, ((struct way){.value = value}));
    while (open.count > 0) {
        const struct way w = open.data[--open.count];
        const reading_list *const l = map_get(&r->consumers, w.value);
        for (size_t i = 0; l && i < l->count; i++) {
            const struct model_node *const n = l->data[i].node;
            const bool moves = only_moves(n) && l->data[i].input == 0;
            bool reached = false;
            vec_each(const char *, name, &n->outputs) {
                if (name[0] == '\0' || !map_has(&r->reached, name))
                    continue;
                reached = true;
                if (!moves || map_has(&seen, name))
                    continue;
                map_set(&seen, name, NULL);
                vec_push(r->p->arena, &open, ((struct way){name, {.flips = w.so_far.flips + is_op(n, "Transpose"),
                                                                  .reshaped = w.so_far.reshaped || !keeps_axes(n)}}));
            }
            if (reached && !moves)
                vec_push(r->p->arena, out,
                         ((struct parameter_reading){n, l->data[i].input, w.so_far.flips, w.so_far.reshaped}));
        }
    }
}

/* ---- where gradients flow ---------------------------------------------------------------------------------------- */

/* Does a gradient of the node's outputs come back to that input? What nothing is known of may. A QuantizeLinear passes
 * none by itself, but with the DequantizeLinear behind it, which joins it, it does. */
static bool passes_gradient(const struct model_node *n, size_t input)
{
    const struct op_def *const def = op_find(n->domain, n->op_type);
    if (!def)
        return true;
    if (def->grad == grad_none && !is_op(n, "QuantizeLinear"))
        return false;
    const struct op_param *const p = op_param_at(def->inputs, input);
    return !p || (p->flags & PARAM_NOT_DIFF) == 0;
}

static void reach(struct rules *r, const char *name)
{
    if (name[0] != '\0' && !map_has(&r->p->detached, name))
        map_set(&r->reached, name, NULL);
}

static void reach_captures(struct rules *r, const struct model_graph *g);

static void reach_inputs(struct rules *r, const struct model_node *n)
{
    for (size_t i = 0; i < n->inputs.count; i++)
        if (passes_gradient(n, i))
            reach(r, n->inputs.data[i]);
    const struct model_attr *const y = model_find_attr(&n->attrs, "y");
    if (str_equal(n->op_type, "Gradient") && y != NULL && y->type == ATTR_STRING && y->s.data != NULL)
        reach(r, y->s.data); /* of what it differentiates it names the result alone */
    model_each_inner(n, inner)
        reach_captures(r, inner);
}

static void reach_captures(struct rules *r, const struct model_graph *g)
{
    vec_each(const struct model_node *, n, &g->nodes)
        reach_inputs(r, n);
    vec_each(const struct model_value_info *, vi, &g->outputs)
        reach(r, vi->name);
}

static void add_consumers(struct rules *r, const struct model_graph *g)
{
    vec_each(const struct model_node *, n, &g->nodes) {
        for (size_t k = 0; k < n->inputs.count; k++)
            if (passes_gradient(n, k))
                add_consumer(r, n->inputs.data[k], n, k);
        model_each_inner(n, inner) /* reads values of the graph around it */
            add_consumers(r, inner);
    }
}

/* ---- what is the input still ------------------------------------------------------------------------------------- */

static bool is_constant(const struct rules *r, const char *name)
{
    return map_has(&r->initializers, name) || is_op(map_get(&r->p->producers, name), "Constant");
}

static bool is_arithmetic(const struct model_node *n)
{
    return (is_op(n, "Add") || is_op(n, "Sub") || is_op(n, "Mul") || is_op(n, "Div")) && n->inputs.count == 2;
}

/* Enters the inputs of the model, and what constants make of them. */
static void find_inputs(struct rules *r, const struct model_graph *g)
{
    vec_each(const struct model_value_info *, vi, &g->inputs)
        if (!map_has(&r->initializers, vi->name))
            map_set(&r->from_input, vi->name, NULL);
    vec_each(const struct model_node *, n, &g->nodes) {
        if (!only_moves(n) && !(is_arithmetic(n) && is_constant(r, n->inputs.data[1])))
            continue;
        for (size_t k = 0; map_has(&r->from_input, n->inputs.data[0]) && k < n->outputs.count; k++)
            map_set(&r->from_input, n->outputs.data[k], NULL);
    }
}

/* ---- the model as a whole ---------------------------------------------------------------------------------------- */

/* Whose files hold networks that somebody wrote in a framework. Numbers in files of other hands may be of any kind. */
static bool is_exporter(const char *producer)
{
    static const char *const names[] = {"tf2onnx", "keras2onnx", "PaddlePaddle", "CNTK", "OnnxMLTools", "Chainer",
                                        "MXNet", "jax2onnx", "nnabla-onnx", "WinMLTools"};
    for (size_t i = 0; producer && i < sizeof names / sizeof *names; i++)
        if (str_equal(producer, names[i]))
            return true;
    return producer && str_starts_with(producer, "MATLAB ");
}

/* Paddle2ONNX has stopped to write its name. Its nodes are "p2o.Conv.0". */
static bool is_from_paddle(const struct model_graph *g)
{
    return g->nodes.count > 0 && g->nodes.data[0]->name && str_starts_with(g->nodes.data[0]->name, "p2o.");
}

void rules_begin(struct rules *r, const struct preparer *p, const struct map *loss)
{
    const struct model_graph *const g = p->model->graph;
    struct arena *const a = p->arena;
    *r = (struct rules){
        .p = p, .consumers.arena = a, .reached.arena = a, .initializers.arena = a, .from_input.arena = a};
    vec_each(struct model_initializer *, x, &g->initializers)
        map_set(&r->initializers, x->name, x);
    r->from_pytorch = str_equal(p->model->producer_name, "pytorch");
    r->exported = r->from_pytorch || is_exporter(p->model->producer_name) || is_from_paddle(g);
    for (size_t i = 0; i < loss->count; i++)
        reach(r, loss->entries[i].key);
    for (size_t i = g->nodes.count; i-- > 0;) /* topological order: one walk backwards finds all */
        if (gives_one_of(g->nodes.data[i], &r->reached))
            reach_inputs(r, g->nodes.data[i]);
    add_consumers(r, g);
    find_inputs(r, g);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static const char *const buffer_words[] = {
    "mask",     "mean",   "std",       "var",    "variance", "running",  "buffer", "prior",   "priors", "freq",
    "freqs",    "sin",    "cos",       "slopes", "alibi",    "anchor",   "anchors", "grid",   "index",  "window",
    "ema",      "steps",  "schedule",  "betas",  "alphas",   "sigmas",   "timesteps", "support", "bins", "eps",
    "epsilon",  "eye",    "identity",  "causal", "distance", "distances", "queue", "bank",    "one",    "ones",
    "zero",     "zeros",  "const",     "constant", "fixed",  "frozen",   "filter", "filt",    "kernel", "blur",
    "sinusoid", "sinusoidal", "frequencies", "statistics", "stats", "max", "min",  "range",   "median", "quantiles"};
static const char *const parameter_words[] = {"weight", "bias", "gamma", "beta", "scale", "shift", "gain", "alpha",
                                              "gate", "query", "queries", "latent", "latents", "logit", "cls", "param",
                                              "parameter", "token", "tokens", "embed", "embeds", "embedding",
                                              "embeddings", "emb", "pos", "position", "positions", "theta", "slope",
                                              "temperature", "learned", "learnable", "prompt", "readvariableop"};

static bool is_among(const char *word, size_t length, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && strncmp(words[i], word, length) == 0)
            return true;
    return false;
}

/* The last part of "blocks.0.norm.weight" that is no number. */
static const char *last_part(const char *name, size_t *length)
{
    const char *end = name + strlen(name);
    for (;;) {
        const char *first = end;
        while (first > name && first[-1] != '.')
            first--;
        if (first == name || strspn(first, "0123456789") < (size_t)(end - first)) {
            *length = (size_t)(end - first);
            return first;
        }
        end = first - 1;
    }
}

/* Is a word of the last part of the name among these? Words end at what is no letter. */
static bool name_says(const char *name, const char *const *words, size_t count)
{
    size_t length;
    const char *const part = last_part(name, &length);
    for (size_t i = 0; i < length;) {
        size_t k = i;
        while (k < length && isalpha((unsigned char)part[k]))
            k++;
        char word[16];
        for (size_t j = i; j < k && j - i < sizeof word; j++)
            word[j - i] = (char)tolower((unsigned char)part[j]);
        if (k - i <= sizeof word && is_among(word, k - i, words, count))
            return true;
        i = k + 1;
    }
    return false;
}

static bool says_parameter(const char *name)
{
    return !is_anonymous(name) && name_says(name, parameter_words, sizeof parameter_words / sizeof *parameter_words);
}

/* log_std and log_var are learned: who only stores a deviation has no reason for its logarithm. */
static bool says_logarithm(const char *name)
{
    return name_says(name, (const char *const[]){"log"}, 1) &&
           name_says(name, (const char *const[]){"std", "var", "variance"}, 3);
}

static bool says_buffer(const char *name)
{
    return name_says(name, buffer_words, sizeof buffer_words / sizeof *buffer_words) && !says_parameter(name) &&
           !says_logarithm(name);
}

/* ---- what stands around ------------------------------------------------------------------------------------------ */

/* x - c where differences are measured: distances from learned centers. */
static bool is_distance(const struct rules *r, const struct model_node *sub)
{
    const reading_list *const l = map_get(&r->consumers, sub->outputs.data[0]);
    for (size_t i = 0; l && i < l->count; i++) {
        const struct model_node *const n = l->data[i].node;
        if (is_op(n, "Pow") || is_op(n, "Abs") || is_op(n, "ReduceL2") || is_op(n, "ReduceSumSquare") ||
            is_op(n, "ReduceL1") ||
            (is_op(n, "Mul") && n->inputs.count == 2 && str_equal(n->inputs.data[0], n->inputs.data[1])))
            return true;
    }
    return false;
}

/* (x - mean) / deviation of an input, also as (x - mean) * (1 / deviation). An affine map of it, x * scale +
 * shift, is not meant. */
static bool normalizes_input(const struct rules *r, const struct model_node *n, size_t input)
{
    if (!is_arithmetic(n) || input != 1 || !map_has(&r->from_input, n->inputs.data[0]))
        return false;
    if (is_op(n, "Sub"))
        return !is_distance(r, n);
    return is_op(n, "Div") || (is_op(n, "Mul") && is_op(source_of(r->p, n->inputs.data[0]), "Sub"));
}

/* The number of biases that a layer adds itself; 0: none, or it is no layer. */
static int64_t own_bias(const struct rules *r, const struct model_node *n)
{
    const bool gemm = is_op(n, "Gemm"), conv = is_op(n, "Conv") || is_op(n, "ConvTranspose");
    if ((gemm || conv) && n->inputs.count > 2 && n->inputs.data[2][0] != '\0') {
        const struct model_initializer *const b = map_get(&r->initializers, n->inputs.data[2]);
        return b ? b->tensor->count : 0;
    }
    for (size_t i = 0; is_op(n, "Add") && i < 2 && n->inputs.count == 2; i++) {
        const struct model_initializer *const b = map_get(&r->initializers, n->inputs.data[i]);
        if (b && b->tensor->shape.rank == 1 && is_op(producer_of(r->p, n->inputs.data[1 - i]), "MatMul"))
            return b->tensor->count;
    }
    return 0;
}

/* Two biases of one layer have one gradient: nobody trains both. */
static bool is_second_bias(const struct rules *r, const struct model_node *n, size_t input, const struct tensor *t)
{
    return is_op(n, "Add") && n->inputs.count == 2 && is_vector(t) &&
           own_bias(r, producer_of(r->p, n->inputs.data[1 - input])) == t->count;
}

/* Frameworks measure it from time to time, they do not train it. */
static bool is_quantization_scale(const struct model_node *n, size_t input)
{
    return input == 1 && (is_op(n, "QuantizeLinear") || is_op(n, "DequantizeLinear"));
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static struct trained_verdict no(bool sure, const char *why)
{
    return (struct trained_verdict){.sure = sure, .why = why};
}

static const char *place_text(const struct rules *r, enum trainable_role role, const struct model_node *n)
{
    return arena_printf(r->p->arena, "%s of %s '%s'", role_name(role), n->op_type, node_title(n));
}

static struct trained_verdict yes(const struct rules *r, bool sure, const struct parameter_slot *s,
                                  const struct parameter_reading *u)
{
    return (struct trained_verdict){
        .trained = true, .sure = sure, .why = place_text(r, s->role, u->node), .role = s->role, .layout = s->layout};
}

/* Operators that normalize by themselves demand a scale and a shift: where the network has none, exporters
 * fill in ones and zeros.
 */
static bool is_filled_in(const struct parameter_slot *s, const struct tensor *t, bool made_up)
{
    return made_up && ((s->role == TRAINABLE_SCALE && values_are_all(t, 1)) ||
                       (s->role == TRAINABLE_BIAS && values_are_all(t, 0) && str_ends_with(s->op, "Normalization")));
}

/* Layers call theirs weight and bias; other names are of whoever wrote the network. */
static bool is_layer_name(const char *name)
{
    return str_ends_with(name, "weight") || str_ends_with(name, "bias") || is_anonymous(name);
}

/* Matrices and filters of signal processing. */
static const char *const fixed_words[] = {"buffer", "fixed", "frozen", "mask", "window", "const", "constant", "eye",
                                          "identity", "fb", "mel", "dct", "dft", "basis", "blur", "sobel"};

static bool says_fixed(const char *name)
{
    return !is_layer_name(name) && !says_parameter(name) &&
           name_says(name, fixed_words, sizeof fixed_words / sizeof *fixed_words);
}

/* Random features: x B, of which both sine and cosine are taken. A layer with sines takes one of them. */
static bool is_random_feature(const struct rules *r, const struct model_node *n)
{
    bool sine = false, cosine = false;
    for (int deep = 0; deep < 2 && is_op(n, deep == 0 ? "MatMul" : "Mul"); deep++) {
        const reading_list *const l = map_get(&r->consumers, n->outputs.data[0]);
        const struct model_node *next = NULL;
        for (size_t i = 0; l && i < l->count; i++) {
            const struct model_node *const reader = l->data[i].node;
            sine = sine || is_op(reader, "Sin");
            cosine = cosine || is_op(reader, "Cos");
            next = is_op(reader, "Mul") && reader->outputs.count > 0 ? reader : next;
        }
        if (sine && cosine)
            return true;
        n = next;
    }
    return false;
}

/* A name that says parameter outweighs a row of equal steps, but neither a mask nor sines. */
static const char *rule_of(const struct rules *r, const char *name, const struct tensor *t)
{
    if (!r->exported)
        return values_of_mask(t);
    return says_parameter(name) && !values_are_surely_made(t) ? NULL : values_made_by_rule(t);
}

static struct trained_verdict judge_slot(const struct rules *r, const char *name, const struct tensor *t,
                                         const struct parameter_slot *s, const struct parameter_reading *u)
{
    const char *rule = NULL;
    if (is_filled_in(s, t, is_anonymous(name)) && str_ends_with(s->op, "Normalization"))
        return (struct trained_verdict){.sure = true, .moot = true, .why = "filled in by the exporter"};
    if (s->role == TRAINABLE_EMBEDDING && r->exported && (!is_layer_name(name) || values_are_surely_made(t)))
        rule = rule_of(r, name, t);
    else if (str_equal(s->op, "Conv") && r->exported && values_are_fixed_filters(t))
        rule = "filters that mirror themselves";
    else if (s->role == TRAINABLE_WEIGHT && r->exported && !is_layer_name(name))
        rule = values_are_permutation(t) ? "a choice of elements" : rule_of(r, name, t);
    if (!rule && r->exported && !is_layer_name(name) && u->input == 1 &&
        map_has(&r->from_input, u->node->inputs.data[0]) && is_random_feature(r, u->node))
        rule = "random features of the input";
    if (!rule && r->exported && says_fixed(name))
        rule = "a buffer by its name";
    if (rule)
        return no(false, arena_printf(r->p->arena, "%s, as %s", rule, place_text(r, s->role, u->node)));
    return yes(r, !r->from_pytorch || is_layer_name(name) || says_parameter(name), s, u);
}

/* What an exporter computed from a parameter is one still if it was only moved; behind anything but
 * these it was not. */
static bool may_be_copy(const struct parameter_reading *u, const char *name, const struct tensor *t)
{
    const struct model_node *const n = u->node;
    return t->shape.rank > 0 && !strstr(name, "onstant") && !is_tensorflow_constant(name) &&
           (is_op(n, "Add") || is_op(n, "Sub") || is_op(n, "Mul") || is_op(n, "Concat"));
}

static struct trained_verdict judge_operand(const struct rules *r, const char *name, const struct tensor *t,
                                            const struct parameter_slot *s, const struct parameter_reading *u)
{
    const char *const rule = rule_of(r, name, t);
    const bool made_up = is_anonymous(name), in_place = s->role != TRAINABLE_OTHER;
    const char *const at = arena_printf(r->p->arena, "%s '%s'", u->node->op_type, node_title(u->node));
    if (rule)
        return no(values_of_mask(t) != NULL, arena_printf(r->p->arena, "%s, at %s", rule, at));
    if (normalizes_input(r, u->node, u->input))
        return no(false, arena_printf(r->p->arena, "normalizes the input, at %s", at));
    if (is_second_bias(r, u->node, u->input, t) && !says_parameter(name))
        return no(false, arena_printf(r->p->arena, "a second bias, at %s", at));
    if (is_quantization_scale(u->node, u->input))
        return no(false, arena_printf(r->p->arena, "the scale of a quantization, at %s", at));
    if (!made_up && says_buffer(name))
        return no(false, arena_printf(r->p->arena, "a buffer by its name, at %s", at));
    if (made_up && !in_place && !(r->exported && may_be_copy(u, name, t)))
        return (struct trained_verdict){.computed = r->from_pytorch && !strstr(name, "onstant"),
                                        .why = arena_printf(r->p->arena, "made up by the exporter, at %s", at)};
    if (!r->exported && !in_place && t->count == 1)
        return no(false, arena_printf(r->p->arena, "a single number, at %s", at));
    const bool by_name = r->from_pytorch ? says_parameter(name) || is_op(u->node, "Concat")
                                         : strstr(name, "ReadVariableOp") || /* of TensorFlow */
                                               str_ends_with(node_title(u->node), "BiasAdd");
    return yes(r, in_place || by_name, s, u);
}

static bool is_spelled_out(const struct parameter_slot *s)
{
    return str_equal(s->op, "Add") || str_equal(s->op, "Mul");
}

/* The best place of all: an operator's own, then beside a normalization or product, then any. */
static const struct parameter_reading *best_place(const struct rules *r, const reading_list *uses,
                                                  const struct tensor *t, struct parameter_slot *out)
{
    const struct parameter_reading *best = uses->count > 0 ? &uses->data[0] : NULL;
    *out = (struct parameter_slot){"", 0, TRAINABLE_OTHER, FAN_NONE};
    vec_each_ptr(const struct parameter_reading, u, uses) {
        struct parameter_slot s;
        if ((out->op[0] != '\0' && !is_spelled_out(out)) || !find_slot(r->p, u->node, u->input, t, &s) ||
            (out->op[0] != '\0' && is_spelled_out(&s)))
            continue;
        *out = s;
        out->layout = u->reshaped ? FAN_NONE : flipped(s.layout, u->flips);
        best = u;
    }
    return best;
}

struct trained_verdict judge(struct rules *r, const struct model_initializer *init)
{
    const struct preparer *const p = r->p;
    const enum known_kind known = known_kind_of(&p->known, init->name);
    reading_list uses = {0};
    struct parameter_slot s;
    if (known == KNOWN_BUFFER)
        return no(true, arena_printf(p->arena, "a buffer, says %s", p->known.source));
    if (known == KNOWN_FROZEN)
        return no(true, arena_printf(p->arena, "frozen in the network, says %s", p->known.source));
    find_uses(r, init->name, &uses);
    if (!map_has(&r->reached, init->name) || uses.count == 0)
        return no(true, "no gradient reaches it");
    const struct parameter_reading *const u = best_place(r, &uses, init->tensor, &s);
    if (known == KNOWN_PARAMETER)
        return yes(r, true, &s, u);
    if (r->from_pytorch && is_traced_creation(init->name) && values_are_uniform(init->tensor))
        return no(false, arena_printf(p->arena, "made by the network as it runs, says its name, at %s '%s'",
                                      u->node->op_type, node_title(u->node)));
    if (s.op[0] != '\0' && !is_spelled_out(&s) && init->tensor->shape.rank > 0)
        return judge_slot(r, init->name, init->tensor, &s, u);
    return judge_operand(r, init->name, init->tensor, &s, u);
}

bool judge_constant(struct rules *r, const struct model_node *constant, const struct tensor *t,
                    struct trained_verdict *out)
{
    reading_list uses = {0};
    struct parameter_slot s;
    const char *const name = constant->outputs.data[0];
    find_uses(r, name, &uses);
    const struct parameter_reading *const u = best_place(r, &uses, t, &s);
    if (!u || s.op[0] == '\0' || t->shape.rank == 0)
        return false;
    *out = is_filled_in(&s, t, true)
               ? (struct trained_verdict){.sure = true, .moot = true, .why = "filled in by the exporter"}
               : no(false, arena_printf(r->p->arena, "a constant, in the place of a %s",
                                        place_text(r, s.role, u->node)));
    out->moot = out->moot || (r->exported ? values_made_by_rule(t) : values_of_mask(t));
    return true;
}

/* ---- padding ----------------------------------------------------------------------------------------------------- */

static bool is_zero_row(const struct tensor *t, int64_t row)
{
    const int64_t width = t->shape.dim[1];
    for (int64_t k = 0; k < width; k++)
        if (tensor_get_double(t, row * width + k) != 0)
            return false;
    return width > 0;
}

static bool find_padding(struct rules *r, const struct model_initializer *init, struct held *out)
{
    const struct tensor *const t = init->tensor;
    reading_list uses = {0};
    int64_t found = -1;
    if (!r->from_pytorch || t->shape.rank != 2 || t->shape.dim[0] < 3)
        return false;
    find_uses(r, init->name, &uses);
    vec_each_ptr(const struct parameter_reading, u, &uses)
        if (!is_op(u->node, "Gather") || u->input != 0 || u->flips > 0 || u->reshaped ||
            attribute_int(u->node, "axis", 0) != 0)
            return false;
    for (int64_t row = 0; row < t->shape.dim[0]; row++) {
        if (!is_zero_row(t, row))
            continue;
        if (found >= 0)
            return false;
        found = row;
    }
    if (uses.count == 0 || found < 0)
        return false;
    out->trained = tensor_new(r->p->arena, t->dtype, &SHAPE(t->shape.dim[0], 1));
    for (int64_t i = 0; i < out->trained->count; i++)
        tensor_set_double(out->trained, i, i != found);
    out->what = arena_printf(r->p->arena, "row %lld, the padding: zeros that stay (--padding train trains it)",
                             (long long)found);
    return true;
}

/* ---- recurrent layers with one bias ------------------------------------------------------------------------------ */

/* ONNX's LSTM, GRU and RNN add two biases, Wb and Rb. So do PyTorch's; those of others have one, and exporters write
 * zeros in the place of the other. Trained, it would get the same gradient once more, and the sum would move twice as
 * far. */
struct biases {
    const struct tensor *t; /* [directions, 2 * gates * hidden] */
    int64_t gates, hidden;
};

static bool is_zero_range(const struct tensor *t, int64_t from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (tensor_get_double(t, from + i) != 0)
            return false;
    return true;
}

/* The biases of a gate of one side: 0 is Wb, 1 is Rb. Zeros stay beside a gate, or a whole side, that has some. Where
 * all are zeros, as in a fresh network, Rb does if it is added to Wb. */
static bool is_held_gate(const struct biases *b, int64_t direction, int side, int64_t gate, bool one_of_two)
{
    const int64_t half = b->gates * b->hidden, first = direction * 2 * half;
    const int64_t own = first + side * half, other = first + (1 - side) * half;
    if (!is_zero_range(b->t, own + gate * b->hidden, b->hidden))
        return false;
    if (!is_zero_range(b->t, other + gate * b->hidden, b->hidden))
        return true;
    return is_zero_range(b->t, own, half) && (!is_zero_range(b->t, other, half) || (one_of_two && side == 1));
}

static bool find_second_bias(struct rules *r, const struct model_initializer *init, struct held *out)
{
    const struct tensor *const t = init->tensor;
    reading_list uses = {0};
    find_uses(r, init->name, &uses);
    if (r->from_pytorch || uses.count != 1 || uses.data[0].input != 3 || uses.data[0].flips > 0 || t->shape.rank != 2)
        return false;
    const struct model_node *const n = uses.data[0].node;
    struct biases b = {t, is_op(n, "LSTM") ? 4 : is_op(n, "GRU") ? 3 : is_op(n, "RNN") ? 1 : 0, 0};
    if (b.gates == 0 || t->shape.dim[1] % (2 * b.gates) != 0 || t->count == 0)
        return false;
    b.hidden = t->shape.dim[1] / (2 * b.gates);
    const bool one_of_two = r->exported && !attribute_int(n, "linear_before_reset", 0);
    bool some = false;
    out->trained = tensor_new(r->p->arena, t->dtype, &t->shape);
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t of_direction = i % t->shape.dim[1], half = b.gates * b.hidden;
        const bool held = is_held_gate(&b, i / t->shape.dim[1], of_direction >= half, of_direction % half / b.hidden,
                                       one_of_two);
        some = some || held;
        tensor_set_double(out->trained, i, !held);
    }
    out->what = arena_printf(r->p->arena,
                             "the zeros of its second bias, which the exporter filled in (--train %s trains them)",
                             init->name);
    return some;
}

struct held held_part(struct rules *r, const struct model_initializer *init, bool padding)
{
    struct held h = {0};
    return (padding && find_padding(r, init, &h)) || find_second_bias(r, init, &h) ? h : (struct held){0};
}
