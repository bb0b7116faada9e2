#include "ops/loss_rules.h"

#include <string.h>

const struct op_attr loss_attrs[] = {{.name = "ignore_index", .type = ATTR_INT, .no_default = true},
                                     {.name = "reduction", .type = ATTR_STRING, .string_default = "mean"},
                                     {0}};

static const char *const reductions[] = {[LOSS_NONE] = "none", [LOSS_SUM] = "sum", [LOSS_MEAN] = "mean"};

bool loss_ignore_index(const struct node *n, int64_t *index)
{
    const struct attr *ignore = node_attr(n, "ignore_index");
    const enum dtype labels = node_input(n, 1)->dtype; /* or probabilities, none of which is ignored */
    *index = ignore != NULL ? ignore->i : 0;
    return ignore != NULL && dtype_is_int(labels) && dtype_wrap(labels, ignore->i) == ignore->i;
}

struct loss loss_of(const struct node *n)
{
    const struct shape *s = &node_input(n, 0)->shape;
    struct loss l = {.n = s->dim[0], .c = s->dim[1], .d = shape_count_range(s, 2, s->rank)};
    l.has_ignore = loss_ignore_index(n, &l.ignore);
    while (strcmp(op_attr_string(n, "reduction"), reductions[l.reduction]) != 0)
        l.reduction++;
    return l;
}

void loss_axes(struct axes_ctx *c)
{
    const int rank = node_input(c->node, 0)->shape.rank, labels = node_input(c->node, 1)->shape.rank;
    for (int d = 0; d < rank; d++) {
        const int label = axes_label(c), position = d - (d > 1);
        if (d == 1)
            continue;
        axes_put(c, 0, d, label);
        axes_put(c, 1, labels == rank ? d : position, label);
        axes_give(c, 0, position, label);
        axes_give(c, 1, d, label);
    }
}

int64_t loss_selects_from(const struct node *n, int input)
{
    return input == 1 ? node_input(n, 0)->shape.dim[1] : 0;
}

struct shape loss_shape(const struct node *n)
{
    return strcmp(op_attr_string(n, "reduction"), "none") == 0 ? node_input(n, 1)->shape : SHAPE_SCALAR;
}

/* ---- inference --------------------------------------------------------------------------------------------------- */

static bool check_reduction(struct infer_ctx *c)
{
    const char *given = op_attr_string(c->node, "reduction");
    for (int r = LOSS_NONE; r <= LOSS_MEAN; r++)
        if (strcmp(given, reductions[r]) == 0)
            return true;
    return infer_error(c, "attribute 'reduction' is '%s', expected 'none', 'sum' or 'mean'", given);
}

static bool check_labels(struct infer_ctx *c)
{
    const struct value *scores = infer_in(c, 0), *labels = infer_in(c, 1);
    struct shape expected = scores->shape;
    expected.rank--;
    for (int d = 1; d < expected.rank; d++)
        shape_set(&expected, d, shape_size(&scores->shape, d + 1));
    if (shape_equal(&labels->shape, &expected))
        return true;
    struct arena text = {0};
    infer_error(c, "input 1 '%s' has shape %s, expected %s: that of input 0 '%s', %s, without the axis of classes",
                labels->name, shape_text(&text, &labels->shape), shape_text(&text, &expected), scores->name,
                shape_text(&text, &scores->shape));
    arena_free(&text);
    return false;
}

static bool check_weights(struct infer_ctx *c)
{
    const struct value *weights = infer_in(c, 2);
    const int64_t classes = infer_shape(c, 0)->dim[1];
    if (weights == NULL || shape_equal(&weights->shape, &SHAPE(classes)))
        return true;
    struct arena text = {0};
    infer_error(c, "input 2 '%s' has shape %s, expected [%lld]: one weight for each class", weights->name,
                shape_text(&text, &weights->shape), (long long)classes);
    arena_free(&text);
    return false;
}

static bool check_probabilities(struct infer_ctx *c)
{
    const struct value *scores = infer_in(c, 0), *given = infer_in(c, 1);
    if (shape_equal(&given->shape, &scores->shape))
        return true;
    struct arena text = {0};
    infer_error(c, "input 1 '%s' has shape %s, expected %s: a probability for each class", given->name,
                shape_text(&text, &given->shape), shape_text(&text, &scores->shape));
    arena_free(&text);
    return false;
}

static bool check_scores(struct infer_ctx *c)
{
    if (infer_rank(c, 0) < 2)
        return infer_error(c, "input 0 '%s' has rank %d, expected at least 2: batch, classes", infer_in(c, 0)->name,
                           infer_rank(c, 0));
    if (shape_count(infer_shape(c, 0)) == 0)
        return infer_error(c, "input 0 '%s' has no elements", infer_in(c, 0)->name);
    return check_reduction(c);
}

bool loss_infer_inputs(struct infer_ctx *c)
{
    return check_scores(c) && check_labels(c) && check_weights(c);
}

bool loss_infer_probabilities(struct infer_ctx *c)
{
    return check_scores(c) && check_probabilities(c) && check_weights(c);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

bool loss_label(const struct eval_ctx *c, const struct loss *l, int64_t p, int64_t *label, bool *ignored)
{
    *label = eval_i(c, 1)[p];
    *ignored = l->has_ignore && *label == l->ignore;
    if (*ignored || (*label >= 0 && *label < l->c))
        return true;
    return eval_error(c, "label %lld at position %lld is outside [0, %lld)", (long long)*label, (long long)p,
                      (long long)l->c);
}

double loss_weight(const struct eval_ctx *c, int64_t label, bool ignored)
{
    if (ignored)
        return 0;
    return eval_has(c, 2) ? eval_f(c, 2)[label] : 1;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

struct loss_nodes loss_nodes_of(struct builder *b, const struct node *n)
{
    return (struct loss_nodes){.b = b,
                               .loss = loss_of(n),
                               .scores = node_input(n, 0),
                               .labels = node_input(n, 1),
                               .weights = node_input(n, 2)};
}

static struct value *label(struct builder *b, enum dtype type, int64_t number)
{
    struct tensor *const t = tensor_new(b->graph->arena, type, &SHAPE_SCALAR);
    tensor_set_int(t, 0, number);
    return build_constant(b, t);
}

struct value *loss_is_ignored(struct builder *b, struct value *labels, int64_t ignore)
{
    return build_value(b, "Equal", NULL, (struct value *const[]){labels, label(b, labels->dtype, ignore)}, 2);
}

struct value *loss_with_class_axis(struct builder *b, struct value *x)
{
    struct shape s = x->shape;
    s.rank++;
    shape_set(&s, 1, size_constant(1));
    for (int d = 2; d < s.rank; d++)
        shape_set(&s, d, shape_size(&x->shape, d - 1));
    return build_reshape(b, x, &s);
}

/* A shape with C on axis 1 and 1 elsewhere, as scores have rank. */
static struct shape class_shape(const struct loss_nodes *l)
{
    struct shape s = SHAPE_SCALAR;
    for (int d = 0; d < l->scores->shape.rank; d++)
        shape_add(&s, d == 1 ? shape_size(&l->scores->shape, 1) : size_constant(1));
    return s;
}

struct value *loss_position_weights(struct loss_nodes *l)
{
    const struct attr ignore = attr_int("ignore_index", l->loss.ignore);
    if (l->weights != NULL) {
        const struct shape s = class_shape(l);
        struct value *weights = build_reshape(l->b, l->weights, &s);
        return build_with(l, "stepc.PickLabels", l->loss.has_ignore ? ATTRS(ignore) : ATTRS_NONE, weights, l->labels);
    }
    if (!l->loss.has_ignore)
        return NULL;
    struct value *ignored = loss_is_ignored(l->b, l->labels, l->loss.ignore);
    return build(l, "Where", ignored, build_like(l, l->scores, 0.0), build_like(l, l->scores, 1.0));
}

struct value *loss_total_weight(struct loss_nodes *l, struct value *position_weights)
{
    if (position_weights == NULL)
        return build_like(l, l->scores, (double)(l->loss.n * l->loss.d));
    return build_with(l, "ReduceSum", ATTRS(attr_int("keepdims", 0)), position_weights);
}

struct value *loss_label_mask(struct loss_nodes *l)
{
    const struct shape s = class_shape(l);
    return build(l, "Equal", loss_with_class_axis(l->b, l->labels), build_counter(l->b, l->labels->dtype, 0, &s));
}

struct value *loss_of_logarithms(struct loss_nodes *l)
{
    const struct attr *ignore = l->loss.has_ignore ? ATTRS(attr_int("ignore_index", l->loss.ignore)) : ATTRS_NONE;
    struct value *w = loss_position_weights(l);
    struct value *y = build_with(l, "stepc.PickLabels", ignore, l->scores, l->labels);
    if (w != NULL)
        y = build(l, "Mul", y, w);
    y = build(l, "Sub", build_like(l, y, 0.0), y); /* not Neg: an ignored label gives 0, not -0 */
    if (l->loss.reduction != LOSS_NONE)
        y = build_with(l, "ReduceSum", ATTRS(attr_int("keepdims", 0)), y);
    if (l->loss.reduction == LOSS_MEAN)
        y = build(l, "Div", y, loss_total_weight(l, w));
    return y;
}

/* ---- sizes that follow from data --------------------------------------------------------------------------------- */

/* A label that stands where none is meant. Where it is among those that are, it becomes another that is no class. */
static int64_t reserve_label(struct bounded_ctx *c)
{
    struct value *const labels = c->node->inputs.data[1];
    const int64_t least = labels->dtype == DTYPE_INT32 ? INT32_MIN : INT64_MIN;
    struct value *const is_reserved = loss_is_ignored(c->b, labels, least + 1);
    node_set_input(c->node, 1, build(c, "Where", is_reserved, label(c->b, labels->dtype, least), labels));
    node_set_attr(c->node, attr_int("ignore_index", least + 1));
    return least + 1;
}

bool loss_bounded(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    const struct bounded *const scores = bounded_in(c, 0), *const labels = bounded_in(c, 1);
    int64_t ignore;
    if (bounded_in(c, 2) != NULL)
        return bounded_refuse(c, 2, "there is a weight for each class");
    if (scores == NULL || labels == NULL || scores->axis == 1 ||
        labels->axis != (scores->axis > 1 ? scores->axis - 1 : 0) || !bounded_alike(scores, labels))
        return bounded_refuse(c, scores != NULL ? 0 : 1, "scores and labels are not known to be as many as each other");
    if (!loss_ignore_index(n, &ignore))
        ignore = reserve_label(c);
    bounded_fill_input(c, 1, label(c->b, n->inputs.data[1]->dtype, ignore));
    (void)bounded_out(c, 1, scores, scores->axis);
    return loss_of(n).reduction != LOSS_NONE || bounded_out(c, 0, labels, labels->axis);
}
