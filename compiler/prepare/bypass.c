/* A loss that takes scores does not read the Softmax or Sigmoid at the end of the network but what stands in front of
 * it. What moves or converts elements behind it is copied, so that scores and target agree:
 *
 *   p = Softmax(z)   y = Reshape(p, s)   ->   y.scores = Reshape(z, s), which the loss reads
 *
 * The copies stand in the main graph until all else is written; then they go into the algorithms that read them. */
#include "prepare/activation.h"

#include <string.h>

/* ---- the axis of classes ----------------------------------------------------------------------------------------- */

static const struct shape *shape_of(const struct preparer *p, const char *name)
{
    const struct value *const v = p->graph ? graph_find(p->graph, name) : NULL;
    return v ? &v->shape : NULL;
}

/* Row-major order stays: the axis is where as many elements lie behind each of its steps. */
static bool reshaped_axis(const struct shape *in, const struct shape *out, int *axis)
{
    const int64_t inner = shape_count_range(in, *axis + 1, in->rank);
    for (int d = 0; d < out->rank; d++)
        if (out->dim[d] == in->dim[*axis] && shape_count_range(out, d + 1, out->rank) == inner) {
            *axis = d;
            return true;
        }
    return false;
}

static bool transposed_axis(const struct model_node *n, const struct shape *in, int *axis)
{
    const struct model_attr *const perm = model_find_attr(&n->attrs, "perm");
    if (!perm) {
        *axis = in->rank - 1 - *axis;
        return true;
    }
    for (size_t i = 0; perm->type == ATTR_INTS && i < perm->ints.count; i++)
        if (perm->ints.data[i] == *axis) {
            *axis = (int)i;
            return true;
        }
    return false;
}

/* Where an axis goes whose elements all stay; false: they do not, or it is not known. */
static bool moved_axis(const struct preparer *p, const struct model_node *n, const char *output, int *axis)
{
    const struct shape *const in = shape_of(p, n->inputs.data[0]), *const out = shape_of(p, output);
    int chosen = -1;
    if (is_op(n, "Cast") || is_op(n, "Identity"))
        return true;
    if (!in || !out || *axis >= in->rank)
        return false;
    if (is_op(n, "Transpose"))
        return transposed_axis(n, in, axis);
    if (is_op(n, "Reshape") || is_op(n, "Flatten") || is_op(n, "Squeeze") || is_op(n, "Unsqueeze"))
        return reshaped_axis(in, out, axis);
    if (is_op(n, "Gather") && !shape_axis(in->rank, attribute_int(n, "axis", 0), &chosen))
        return false;
    const int size = (int)in->dim[*axis], more = out->rank - in->rank;
    const int to = *axis > chosen ? *axis + more : *axis;
    if (*axis == chosen || to < 0 || to >= out->rank || out->dim[to] != size)
        return false;
    *axis = to;
    return true;
}

/* Does the Softmax run over the class axis of what the loss reads, and over no other? */
static bool is_over_classes(const struct preparer *p, const struct activation *x, const char *source,
                            const struct tensor_type *t)
{
    const struct shape *const s = shape_of(p, x->node->outputs.data[0]);
    const int rank = s ? s->rank : (int)t->rank;
    int classes, axis;
    if (!shape_axis((int)t->rank, p->options->class_axis, &classes) || !shape_axis(rank, x->axis, &axis))
        return false;
    for (int i = axis + 1; x->flattens && i < rank; i++) /* no matter where they have one element */
        if (s ? s->dim[i] != 1 : t->dims[i].value != 1)
            return false;
    for (size_t i = x->moves.count; i-- > 0;)
        if (!moved_axis(p, x->moves.data[i], i == 0 ? source : x->moves.data[i - 1]->inputs.data[0], &axis))
            return false;
    return axis == classes;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static size_t position_of(const struct model_graph *g, const struct model_node *n)
{
    size_t at = 0;
    while (g->nodes.data[at] != n)
        at++;
    return at;
}

/* The node with another input 0; its result on the way to the loss is `output`. */
static const char *copy_move(struct preparer *p, size_t at, const struct model_node *n, const char *x,
                             const char *output, const char *wish)
{
    struct model_node *const copy = arena_copy(p->arena, n, sizeof *n, alignof(struct model_node));
    struct model_graph *const g = p->model->graph;
    const char *result = NULL;
    copy->name = "";
    memset(&copy->inputs, 0, sizeof copy->inputs);
    memset(&copy->outputs, 0, sizeof copy->outputs);
    for (size_t i = 0; i < n->inputs.count; i++)
        vec_push(p->arena, &copy->inputs, i == 0 ? x : n->inputs.data[i]);
    vec_each(const char *, old, &n->outputs) {
        const char *const own = old[0] == '\0' ? "" : fresh_name(p, wish);
        vec_push(p->arena, &copy->outputs, own);
        if (own[0] == '\0')
            continue;
        map_set(&p->main_names, own, NULL);
        map_set(&p->producers, own, copy);
        if (str_equal(old, output))
            result = own;
    }
    vec_push(p->arena, &g->nodes, copy);
    memmove(&g->nodes.data[at + 1], &g->nodes.data[at], (g->nodes.count - 1 - at) * sizeof *g->nodes.data);
    g->nodes.data[at] = copy;
    vec_push(p->arena, &p->score_nodes, copy);
    return result;
}

static const char *copy_moves(struct preparer *p, const struct activation *x, const char *source)
{
    const char *scores = x->scores;
    size_t at = x->moves.count > 0 ? position_of(p->model->graph, x->moves.data[0]) + 1 : 0;
    for (size_t i = x->moves.count; i-- > 0;) {
        const char *const output = i == 0 ? source : x->moves.data[i - 1]->inputs.data[0];
        if (!is_op(x->moves.data[i], "Identity"))
            scores = copy_move(p, at++, x->moves.data[i], scores, output, suffixed(p, output, "scores"));
    }
    return scores;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static bool takes_scores(enum loss_kind loss, enum activation_kind kind)
{
    return loss == LOSS_SOFTMAX_CROSS_ENTROPY ? kind == ACTIVATION_SOFTMAX || kind == ACTIVATION_LOG_SOFTMAX
                                              : (loss == LOSS_BCE || loss == LOSS_BCE_LOGITS) &&
                                                    kind == ACTIVATION_SIGMOID;
}

/* The loss would apply it a second time; bce takes probabilities, whatever has become of them. */
static void say_hidden(struct preparer *p, const char *source)
{
    const enum loss_kind loss = p->options->loss;
    const struct model_node *behind;
    struct activation x;
    if (loss == LOSS_BCE || !find_hidden_activation(p, source, &x, &behind) || !takes_scores(loss, x.kind))
        return;
    say(p,
        "note: '%s' comes out of the %s '%s', with '%s' (%s) behind it: the loss applies another to it, since it takes "
        "scores; --output '%s' names those in front of it",
        source, x.name, node_title(x.node), node_title(behind), behind->op_type, x.scores);
}

/* Scores are wanted, and the network ends in what belongs to the other loss: it would take probabilities for scores. */
static void say_other(struct preparer *p, const struct activation *x, const char *source)
{
    const bool is_softmax_loss = p->options->loss == LOSS_SOFTMAX_CROSS_ENTROPY;
    if (!(is_softmax_loss && x->kind == ACTIVATION_SIGMOID) &&
        !(p->options->loss == LOSS_BCE_LOGITS && x->kind != ACTIVATION_SIGMOID))
        return;
    say(p,
        "note: '%s' comes out of the %s '%s', and %s takes scores: see %s, or --output '%s', which stands in front of "
        "it",
        source, x->name, node_title(x->node), is_softmax_loss ? "softmax-cross-entropy" : "bce-logits",
        is_softmax_loss ? "bce" : "softmax-cross-entropy", x->scores);
}

/* What is to be said of the type is said when the loss is written. */
static bool is_typed(struct preparer *p, const char *source, struct tensor_type *t)
{
    p->silent = true;
    const bool ok = tensor_type_of(p, source, t);
    p->silent = false;
    return ok;
}

const char *bypass_activation(struct preparer *p, const char *source)
{
    const enum loss_kind loss = p->options->loss;
    struct activation x;
    struct tensor_type t;
    if (!find_activation(p, source, &x)) {
        say_hidden(p, source);
        return source;
    }
    if (loss == LOSS_NLL && x.kind == ACTIVATION_SOFTMAX)
        say(p, "note: nll expects logarithms of probabilities, but '%s' is a Softmax; see softmax-cross-entropy",
            source);
    say_other(p, &x, source);
    if (!takes_scores(loss, x.kind) || !is_typed(p, source, &t))
        return source;
    if (x.has_axis && !is_over_classes(p, &x, source, &t)) {
        say(p, "note: the final %s '%s' does not run over the class axis alone: the loss reads what it gives", x.name,
            node_title(x.node));
        return source;
    }
    const char *const scores = copy_moves(p, &x, source);
    say(p, "the final %s '%s' is bypassed: the loss reads '%s' in front of it%s", x.name, node_title(x.node), x.scores,
        p->score_nodes.count > 0 ? ", moved and converted as its results are" : "");
    return scores;
}
