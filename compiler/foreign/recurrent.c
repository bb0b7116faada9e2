/* LSTM, GRU and RNN of PyTorch have a matrix for each layer and direction, ONNX one for both directions, with other
 * orders of gates; an export that folds constants has ONNX's. What the checkpoint has, weights and what the optimizer
 * keeps for them, is laid out as the model has it: the same numbers in other places; and back.
 * Spec: torch/nn/modules/rnn.py (weight_ih_l0: i, f, g, o of LSTM; r, z, n of GRU); onnx/docs/Operators.md (W, R and B
 * of LSTM: i, o, f, c; of GRU: z, r, h). */
#include "foreign/fill_internal.h"

#include <string.h>

#define INPUT_WEIGHT "weight_ih_l"

enum { MOST_GATES = 4, MOST_PARTS = 4 };

static const struct form {
    const char *op;
    size_t gates;
    size_t from[MOST_GATES]; /* gate of ONNX -> that of PyTorch */
} forms[] = {{"LSTM", 4, {0, 3, 1, 2}}, {"GRU", 3, {1, 0, 2}}, {"RNN", 1, {0}}};

/* A node as PyTorch exports it. */
struct exported_layer {
    const struct form *form;
    const struct model_initializer *w, *r, *b; /* b: or NULL */
    const char *prefix, *number;               /* "encoder.lstm.", "1" of encoder.lstm.weight_ih_l1 */
};

/* One initializer and what it is made of: one after the other in both, but for gates. */
struct joined {
    const struct form *form;
    const struct model_initializer *whole;
    const char *name; /* of the whole, as the file would call it */
    const char *parts[MOST_PARTS];
    size_t count;
};

struct joiner {
    struct arena *arena;
    const struct model *model;
    struct checkpoint *checkpoint;
    const struct fill_options *options;
    struct map weights; /* of the checkpoint: name -> const struct tensor * */
    VEC(struct joined) found;
};

/* ---- whose parameters these are ---------------------------------------------------------------------------------- */

static const struct form *form_of(const struct model_node *n)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (n->domain[0] == '\0' && str_equal(n->op_type, forms[i].op))
            return &forms[i];
    return NULL;
}

/* GRU's reset gate comes behind the product in PyTorch. */
static bool is_pytorchs(const struct model_node *n)
{
    const struct model_attr *const late = model_find_attr(&n->attrs, "linear_before_reset");
    return !str_equal(n->op_type, "GRU") || (late && late->type == ATTR_INT && late->i != 0);
}

static const struct model_initializer *input_of(const struct joiner *j, const struct model_node *n, size_t i)
{
    const char *const name = i < n->inputs.count ? n->inputs.data[i] : "";
    vec_each(const struct model_initializer *, x, &j->model->graph->initializers)
        if (str_equal(x->name, name))
            return x;
    return NULL;
}

/* B is [directions, 2 * gates * hidden] where W is [directions, gates * hidden, input]. */
static bool is_bias_of(const struct model_initializer *b, const struct model_initializer *w)
{
    const struct shape *const its = &b->tensor->shape, *const s = &w->tensor->shape;
    return its->rank == 2 && its->dim[0] == s->dim[0] && its->dim[1] == 2 * s->dim[1];
}

static bool find_layer(const struct joiner *j, const struct model_node *n, struct exported_layer *out)
{
    const struct form *const form = form_of(n);
    const struct model_initializer *const w = form ? input_of(j, n, 1) : NULL, *const r = w ? input_of(j, n, 2) : NULL;
    if (!r)
        return false;
    const struct shape *const of_w = &w->tensor->shape, *const of_r = &r->tensor->shape;
    if (of_w->rank != 3 || of_r->rank != 3 || of_w->dim[0] < 1 || of_w->dim[0] > 2 || of_r->dim[0] != of_w->dim[0] ||
        of_w->dim[1] % (int64_t)form->gates != 0 || of_r->dim[1] != of_w->dim[1])
        return false;
    const struct model_initializer *const b = input_of(j, n, 3);
    *out = (struct exported_layer){.form = form, .w = w, .r = r, .b = b && is_bias_of(b, w) ? b : NULL};
    return true;
}

/* "encoder.lstm.weight_ih_l1" -> "encoder.lstm.", "1" */
static bool split_name(struct arena *a, const char *name, const char **prefix, const char **layer)
{
    const char *at = NULL;
    for (const char *next = strstr(name, INPUT_WEIGHT); next; next = strstr(next + 1, INPUT_WEIGHT))
        at = next;
    if (!at)
        return false;
    *prefix = arena_strndup(a, name, (size_t)(at - name));
    *layer = at + strlen(INPUT_WEIGHT);
    return **layer != '\0' && (*layer)[strspn(*layer, "0123456789")] == '\0';
}

/* "/encoder/lstm/LSTM_1" -> "encoder.lstm.", "1": where a node stands in the network, and which of its kind it is. */
static bool split_scope(struct arena *a, const struct model_node *n, const char **prefix, const char **layer)
{
    const char *const last = strrchr(n->name, '/');
    const size_t op = strlen(n->op_type);
    if (n->name[0] != '/' || strncmp(last + 1, n->op_type, op) != 0 || (last[1 + op] != '\0' && last[1 + op] != '_'))
        return false;
    char *const path = arena_strndup(a, n->name + 1, (size_t)(last - n->name));
    for (char *c = path; *c; c++)
        *c = *c == '/' ? '.' : *c;
    *prefix = last == n->name ? "" : path;
    *layer = last[1 + op] == '_' ? last + 2 + op : "0";
    return true;
}

static bool shapes_fit(const struct joiner *j, const struct exported_layer *l, const char *prefix, const char *number)
{
    const struct tensor *const ih =
                                 map_get(&j->weights, arena_printf(j->arena, "%s%s%s", prefix, INPUT_WEIGHT, number)),
                        *const hh = map_get(&j->weights, arena_printf(j->arena, "%sweight_hh_l%s", prefix, number));
    const struct shape *const w = &l->w->tensor->shape, *const r = &l->r->tensor->shape;
    return ih && hh && shape_equal(&ih->shape, &SHAPE(w->dim[1], w->dim[2])) &&
           shape_equal(&hh->shape, &SHAPE(r->dim[1], r->dim[2]));
}

/* Where the model says that the layer stands: by the name of W, else by the place of the node. */
static bool name_says(const struct joiner *j, struct exported_layer *l)
{
    const char *const name = weights_renamed(j->arena, &j->options->weights, l->w->name, NULL);
    return split_name(j->arena, name, &l->prefix, &l->number);
}

static bool place_says(const struct joiner *j, const struct model_node *n, struct exported_layer *l)
{
    return split_scope(j->arena, n, &l->prefix, &l->number);
}

/* As the model says, else the only ones of these shapes. */
static bool find_family(const struct joiner *j, const struct model_node *n, struct exported_layer *l)
{
    size_t count = 0;
    if ((name_says(j, l) && shapes_fit(j, l, l->prefix, l->number)) ||
        (place_says(j, n, l) && shapes_fit(j, l, l->prefix, l->number)))
        return true;
    vec_each_ptr(const struct named_tensor, t, &j->checkpoint->weights) {
        const char *prefix, *number;
        if (!split_name(j->arena, t->name, &prefix, &number) || !shapes_fit(j, l, prefix, number))
            continue;
        l->prefix = prefix;
        l->number = number;
        count++;
    }
    return count == 1;
}

/* ---- what is made of what ---------------------------------------------------------------------------------------- */

/* What stands for W, for R and for B of one direction. */
static const char *const of_input[] = {"weight_ih", NULL}, *const of_state[] = {"weight_hh", NULL},
                         *const of_bias[] = {"bias_ih", "bias_hh", NULL};

static void add_joined(struct joiner *j, const struct exported_layer *l, const struct model_initializer *whole,
                       const char *const *kinds)
{
    struct joined out = {.form = l->form, .whole = whole};
    const struct tensor *first = NULL;
    out.name = weights_renamed(j->arena, &j->options->weights, whole->name, NULL);
    for (int64_t d = 0; d < whole->tensor->shape.dim[0]; d++)
        for (size_t k = 0; kinds[k]; k++) {
            const char *const name =
                arena_printf(j->arena, "%s%s_l%s%s", l->prefix, kinds[k], l->number, d == 0 ? "" : "_reverse");
            const struct tensor *const t = map_get(&j->weights, name);
            if (!t || out.count == MOST_PARTS || (first && t->dtype != first->dtype))
                return;
            first = first ? first : t;
            out.parts[out.count++] = name;
        }
    for (size_t i = 0; i < out.count; i++) {
        const struct tensor *const t = map_get(&j->weights, out.parts[i]);
        if (t->count * (int64_t)out.count != whole->tensor->count || !shape_equal(&t->shape, &first->shape))
            return;
    }
    vec_push(j->arena, &j->found, out);
}

static void find_joined(struct diag *d, struct joiner *j, struct strbuf *report)
{
    vec_each(const struct model_node *, n, &j->model->graph->nodes) {
        struct exported_layer l;
        if (!find_layer(j, n, &l) || !find_family(j, n, &l))
            continue;
        if (!is_pytorchs(n)) {
            diag_note(d, &n->loc,
                      "the reset gate stands before the product (linear_before_reset is 0), where PyTorch has it "
                      "behind: other weights, which are not laid out of the checkpoint's '%s*_l%s'",
                      l.prefix, l.number);
            continue;
        }
        add_joined(j, &l, l.w, of_input);
        add_joined(j, &l, l.r, of_state);
        if (l.b)
            add_joined(j, &l, l.b, of_bias);
        strbuf_addf(report, "%s '%s': its weights are laid out of the checkpoint's '%s*_l%s'\n", n->op_type,
                    n->outputs.count > 0 ? n->outputs.data[0] : n->name, l.prefix, l.number);
    }
}

static const struct tensor *join(struct arena *a, const struct joined *j, const struct tensor *const *parts)
{
    struct tensor *const out = tensor_new(a, parts[0]->dtype, &j->whole->tensor->shape);
    const size_t bytes = tensor_bytes(parts[0]), gate = bytes / j->form->gates;
    for (size_t i = 0; i < j->count; i++)
        for (size_t g = 0; g < j->form->gates; g++)
            memcpy((char *)out->data + i * bytes + g * gate, (const char *)parts[i]->data + j->form->from[g] * gate,
                   gate);
    return out;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static void join_weights(struct joiner *j)
{
    struct checkpoint *const c = j->checkpoint;
    struct map gone = {.arena = j->arena};
    named_tensors kept = {0};
    vec_each_ptr(const struct joined, x, &j->found) {
        const struct tensor *parts[MOST_PARTS];
        for (size_t i = 0; i < x->count; i++) {
            parts[i] = map_get(&j->weights, x->parts[i]);
            map_set(&gone, x->parts[i], NULL);
        }
        vec_push(j->arena, &kept, ((struct named_tensor){x->name, join(j->arena, x, parts)}));
    }
    vec_each_ptr(const struct named_tensor, t, &c->weights)
        if (!map_has(&gone, t->name))
            vec_push(j->arena, &kept, *t);
    c->weights = kept;
}

/* ---- what the optimizer keeps ------------------------------------------------------------------------------------ */

static const struct tensor *state_of(const struct checkpoint_parameter *p, const char *key)
{
    vec_each_ptr(const struct named_tensor, t, &p->state)
        if (str_equal(t->name, key))
            return t->tensor;
    return NULL;
}

/* One parameter in the place of its parts; false where they do not keep the same. */
static bool join_states(struct joiner *j, const struct joined *x, const struct checkpoint_parameter *const *parts,
                        struct checkpoint_parameter *out)
{
    *out = (struct checkpoint_parameter){.name = x->name, .group = parts[0]->group, .steps = parts[0]->steps};
    const struct tensor *const whole = map_get(&j->weights, x->parts[0]);
    vec_each_ptr(const struct named_tensor, t, &parts[0]->state) {
        const struct tensor *states[MOST_PARTS];
        for (size_t i = 0; i < x->count; i++) {
            states[i] = state_of(parts[i], t->name);
            if (!states[i] || states[i]->dtype != t->tensor->dtype ||
                !shape_equal(&states[i]->shape, &t->tensor->shape))
                return false;
        }
        const bool is_whole = shape_equal(&t->tensor->shape, &whole->shape);
        vec_push(j->arena, &out->state,
                 ((struct named_tensor){t->name, is_whole ? join(j->arena, x, states) : t->tensor}));
    }
    return true;
}

static void join_parameters(struct joiner *j)
{
    struct checkpoint *const c = j->checkpoint;
    struct map places = {.arena = j->arena}; /* name -> index + 1 */
    bool *const gone = arena_array(j->arena, bool, c->parameters.count);
    size_t kept = 0;
    for (size_t i = 0; i < c->parameters.count; i++)
        if (c->parameters.data[i].name)
            map_set(&places, c->parameters.data[i].name, (void *)(uintptr_t)(i + 1));
    vec_each_ptr(const struct joined, x, &j->found) {
        const struct checkpoint_parameter *parts[MOST_PARTS];
        struct checkpoint_parameter whole;
        size_t there = 0;
        for (; there < x->count && map_has(&places, x->parts[there]); there++)
            parts[there] = &c->parameters.data[(size_t)(uintptr_t)map_get(&places, x->parts[there]) - 1];
        if (there < x->count || !join_states(j, x, parts, &whole))
            continue;
        for (size_t i = 1; i < x->count; i++)
            gone[parts[i] - c->parameters.data] = true;
        c->parameters.data[parts[0] - c->parameters.data] = whole;
    }
    for (size_t i = 0; i < c->parameters.count; i++)
        if (!gone[i])
            c->parameters.data[kept++] = c->parameters.data[i];
    c->parameters.count = kept;
}

bool checkpoint_join_recurrent(struct diag *d, struct arena *a, const struct model *m, struct checkpoint *c,
                               const struct fill_options *o, bool with_optimizer, struct strbuf *report)
{
    struct joiner j = {.arena = a, .model = m, .checkpoint = c, .options = o, .weights.arena = a};
    vec_each_ptr(const struct named_tensor, t, &c->weights)
        map_set(&j.weights, t->name, (void *)(uintptr_t)t->tensor);
    find_joined(d, &j, report);
    if (j.found.count == 0)
        return true;
    /* their order is that of the parts */
    if (with_optimizer && !checkpoint_name_parameters(d, a, m, c, o, report))
        return false;
    join_weights(&j);
    if (with_optimizer)
        join_parameters(&j);
    return true;
}

/* ---- and back ---------------------------------------------------------------------------------------------------- */

/* What prepare has named after a part: "lstm.weight_ih_l0" for W, "lstm.weight_hh_l0", "lstm.bias_ih_l0"; or a name
 * that PyTorch's exporter made up, "onnx::LSTM_12". */
static void add_whole(const struct joiner *j, const struct exported_layer *l, const struct model_initializer *whole,
                      const char *const *kinds, struct map *out)
{
    struct joined *const x = arena_new(j->arena, struct joined);
    *x = (struct joined){.form = l->form, .whole = whole,
                         .name = weights_renamed(j->arena, &j->options->weights, whole->name, NULL)};
    if (!str_equal(x->name, arena_printf(j->arena, "%s%s_l%s", l->prefix, kinds[0], l->number)) &&
        !str_starts_with(x->name, "onnx::"))
        return;
    for (int64_t d = 0; d < whole->tensor->shape.dim[0]; d++)
        for (size_t k = 0; kinds[k] && x->count < MOST_PARTS; k++)
            x->parts[x->count++] =
                arena_printf(j->arena, "%s%s_l%s%s", l->prefix, kinds[k], l->number, d == 0 ? "" : "_reverse");
    map_set(out, x->name, x);
}

static void find_wholes(const struct joiner *j, struct map *out)
{
    vec_each(const struct model_node *, n, &j->model->graph->nodes) {
        struct exported_layer l;
        if (!find_layer(j, n, &l) || !is_pytorchs(n) || !(name_says(j, &l) || place_says(j, n, &l)))
            continue;
        add_whole(j, &l, l.w, of_input, out);
        add_whole(j, &l, l.r, of_state, out);
        if (l.b)
            add_whole(j, &l, l.b, of_bias, out);
    }
}

static const struct tensor *part_of(struct arena *a, const struct joined *x, const struct tensor *t, size_t i)
{
    const struct shape *const s = &t->shape;
    if (!shape_equal(s, &x->whole->tensor->shape))
        return t; /* a number of the whole */
    struct tensor *const out =
        tensor_new(a, t->dtype, s->rank == 3 ? &SHAPE(s->dim[1], s->dim[2]) : &SHAPE(s->dim[1] / 2));
    const size_t bytes = tensor_bytes(out), gate = bytes / x->form->gates;
    for (size_t g = 0; g < x->form->gates; g++)
        memcpy((char *)out->data + x->form->from[g] * gate, (const char *)t->data + i * bytes + g * gate, gate);
    return out;
}

/* "optimizer.state.NAME.exp_avg" -> what stands before and behind NAME; false for another name. */
static bool split_key(struct arena *a, const char *text, const char **before, const char **name, const char **behind)
{
    static const char *const beginnings[] = {"optimizer.state.", "optimizer.param_groups."};
    const char *const dot = strrchr(text, '.');
    for (size_t i = 0; i < 2; i++)
        if (str_starts_with(text, beginnings[i]) && dot >= text + strlen(beginnings[i])) {
            *before = beginnings[i];
            *behind = dot;
            *name = arena_strndup(a, text + strlen(beginnings[i]), (size_t)(dot - text) - strlen(beginnings[i]));
            return true;
        }
    return false;
}

void checkpoint_split_recurrent(struct arena *a, const struct model *m, const struct weight_options *o,
                                named_tensors *list)
{
    const struct fill_options options = {.weights = *o};
    const struct joiner j = {.arena = a, .model = m, .options = &options};
    struct map wholes = {.arena = a};
    named_tensors out = {0};
    find_wholes(&j, &wholes);
    vec_each_ptr(const struct named_tensor, t, list) {
        const char *before = "", *name = t->name, *behind = "";
        (void)split_key(a, t->name, &before, &name, &behind);
        const struct joined *const x = map_get(&wholes, name);
        for (size_t i = 0; x && i < x->count; i++)
            vec_push(a, &out, ((struct named_tensor){arena_printf(a, "%s%s%s", before, x->parts[i], behind),
                                                     part_of(a, x, t->tensor, i)}));
        if (!x)
            vec_push(a, &out, *t);
    }
    *list = out;
}
