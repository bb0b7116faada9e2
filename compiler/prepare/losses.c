/* Losses: from the tensor that the loss reads and the target down to the output "loss". All are means, so that the
 * learning rate does not depend on the batch size. Where losses of several batches are to be added up (p->sums), what
 * is written instead is the sum that the mean divides, and the divisor: the number of elements or the sum of weights.
 */
#include "graph/dim_expression.h"
#include "prepare/prepare_internal.h"
#include "prepare/spec.h"

#include <string.h>

/* Log of a probability nearer to 0 or 1 than this gives no gradient any more (as Keras does). */
#define PROBABILITY_EPSILON 1e-7

static const char *const loss_names[LOSS_COUNT] = {
    "softmax-cross-entropy", "nll", "mse", "l1", "huber", "bce", "bce-logits", "output"};

bool loss_parse(struct diag *d, const char *name, enum loss_kind *out)
{
    size_t kind = 0;
    const bool ok = spec_name(d, "--loss", "loss", name, loss_names, LOSS_COUNT, &kind);
    *out = (enum loss_kind)kind;
    return ok;
}

/* ---- types of tensors of the main graph -------------------------------------------------------------------------- */

static const struct model_type *declared_type(const struct preparer *p, const char *name)
{
    const struct model_graph *const g = p->model->graph;
    const struct model_value_info *vi = model_find_value(&g->outputs, name);
    if (!vi || !vi->type.has_shape)
        vi = model_find_value(&g->inputs, name);
    vec_each(const struct model_value_info *, declared, &g->value_infos)
        if ((!vi || !vi->type.has_shape) && str_equal(declared->name, name))
            vi = declared;
    return vi && vi->type.kind == TYPE_TENSOR && vi->type.has_shape && vi->type.elem != DTYPE_UNDEFINED ? &vi->type
                                                                                                        : NULL;
}

/* A size of the graph with other sizes of symbols, all twice as large; -1: not known. */
static int64_t size_of_larger(struct preparer *p, const char *name, int axis)
{
    (void)has_fixed_size(p, name, axis, 0);
    const struct value *const v = p->larger ? graph_find(p->larger, name) : NULL;
    return v && axis < v->shape.rank ? v->shape.dim[axis] : -1;
}

/* The symbol whose provisional size this is; sizes of symbols differ from each other (prepare.c), but one and a number
 * may add up to another. */
static struct model_dim dim_of_size(struct preparer *p, const char *name, int axis, int64_t size)
{
    for (size_t i = 0; i < p->symbols.count; i++) {
        const int64_t *const symbol_size = p->symbols.entries[i].value;
        if (!symbol_size || *symbol_size != size)
            continue;
        const int64_t larger = p->symbols.count > 1 ? size_of_larger(p, name, axis) : -1;
        if (larger < 0 || larger == 2 * size)
            return (struct model_dim){.value = -1, .param = p->symbols.entries[i].key, .denotation = ""};
    }
    return (struct model_dim){.value = size, .param = "", .denotation = ""};
}

/* "2*height", "length - 2": what a symbol has to become to give both sizes; else a new name. */
static struct model_dim computed_dim(struct preparer *p, const char *name, int axis, int64_t size)
{
    const int64_t larger = size_of_larger(p, name, axis);
    struct model_dim dim = {.value = -1, .denotation = ""};
    for (size_t i = 0; larger > size && i < p->symbols.count; i++) {
        const char *const symbol = p->symbols.entries[i].key;
        const int64_t *const own = p->symbols.entries[i].value;
        if (!own || (larger - size) % *own != 0)
            continue;
        const int64_t factor = (larger - size) / *own, rest = size - factor * *own;
        dim.param = factor == 1 ? symbol : arena_printf(p->arena, "%lld*%s", (long long)factor, symbol);
        if (rest != 0)
            dim.param = arena_printf(p->arena, "%s %c %lld", dim.param, rest < 0 ? '-' : '+',
                                     (long long)(rest < 0 ? -rest : rest));
        return dim;
    }
    dim.param = arena_printf(p->arena, "%s_%d", name, axis);
    return dim;
}

/* Does the declared name give the size where all symbols are small? At large sizes what a Slice or a minimum bounds
 * looks like a constant. */
static bool holds_for_small(struct preparer *p, const char *name, int axis)
{
    enum { SMALL = 8 };
    struct diag *const trial = arena_new(p->arena, struct diag);
    trial->arena = p->arena;
    const struct program *const program = try_program(p, trial, "infer", 0, SMALL);
    const struct value *const v = program ? graph_find(program_entry(program, "infer")->graph, name) : NULL;
    return v && axis < v->shape.rank && v->shape.dim[axis] == SMALL;
}

/* The declaration gives the dimension the name of another size: an export with one name for several. */
static struct model_dim corrected_dim(struct preparer *p, const char *name, int axis, struct model_dim declared,
                                      int64_t size)
{
    const int64_t *const own = map_get(&p->symbols, declared.param);
    if (!own || *own == size || holds_for_small(p, name, axis))
        return declared;
    struct model_dim dim = dim_of_size(p, name, axis, size);
    if (dim.value >= 0 && !has_fixed_size(p, name, axis, size))
        dim = computed_dim(p, name, axis, size);
    say(p, "note: dimension %d of '%s' is declared as '%s', which is the size of something else; it is '%s'", axis,
        name, declared.param, dim.value >= 0 ? arena_printf(p->arena, "%lld", (long long)dim.value) : dim.param);
    return dim;
}

/* Exporters make up symbols for sizes that follow from the inputs': inference knows those that are the
 * same for all inputs. */
static struct model_dim refined_dim(struct preparer *p, const char *name, int axis, struct model_dim declared,
                                    int64_t size)
{
    const struct model_dim known = dim_of_size(p, name, axis, size);
    if (declared.value < 0 && map_has(&p->symbols, declared.param))
        return corrected_dim(p, name, axis, declared, size);
    if (declared.value >= 0 || known.value < 0)
        return declared.value >= 0 ? declared : known;
    if (dim_is_expression(declared.param))
        return declared;
    return has_fixed_size(p, name, axis, size) ? known : declared;
}

bool tensor_type_of(struct preparer *p, const char *name, struct tensor_type *out)
{
    const struct model_type *const declared = declared_type(p, name);
    const struct value *const v = p->graph ? graph_find(p->graph, name) : NULL;
    *out = (struct tensor_type){0};
    if (declared && declared->dims.count <= SHAPE_MAX_RANK && (!v || (size_t)v->shape.rank == declared->dims.count)) {
        out->dtype = declared->elem;
        out->rank = declared->dims.count;
    } else if (v) {
        out->dtype = v->dtype;
        out->rank = (size_t)v->shape.rank;
    } else {
        return diag_error(
            p->diag, &p->loc, "the type and shape of '%s' are not known: the model does not declare them%s%s", name,
            p->import_error ? ", and finding them out failed: " : "", p->import_error ? p->import_error : "");
    }
    for (size_t i = 0; i < out->rank; i++) {
        if (declared && declared->dims.count == out->rank)
            out->dims[i] = declared->dims.data[i];
        else
            out->dims[i] = (struct model_dim){.value = -1, .param = "", .denotation = ""};
        if (v)
            out->dims[i] = refined_dim(p, name, (int)i, out->dims[i], v->shape.dim[i]);
    }
    return true;
}

/* ---- the target -------------------------------------------------------------------------------------------------- */

static bool dims_agree(const struct model_type *t, const struct model_dim *dims, size_t rank)
{
    bool ok = t->dims.count == rank;
    for (size_t i = 0; ok && i < rank; i++)
        ok = t->dims.data[i].value < 0 || dims[i].value < 0 || t->dims.data[i].value == dims[i].value;
    return ok;
}

/* An input that the model or the algorithm has already, or a new one. *dtype: wished, then what it is. */
static bool add_input(struct preparer *p, const char *option, const char *name, bool may_exist, enum dtype *dtype,
                      const struct model_dim *dims, size_t rank)
{
    const struct model_value_info *const old = model_find_value(&p->model->graph->inputs, name);
    const struct model_value_info *const own = model_find_value(&p->algorithm->inputs, name);
    const char *const shape = model_dims_text(p->arena, dims, rank);
    if (own) { /* of an earlier part of the batch */
        *dtype = own->type.elem;
        return true;
    }
    if (!old) {
        if (map_has(&p->names, name))
            return diag_error(p->diag, &p->loc,
                              "--%s %s: the model has a tensor of that name that is not an input; give another name",
                              option, name);
        map_set(&p->names, name, NULL);
        model_add_value(p->arena, p->algorithm, 0, name, *dtype, dims, rank);
        say(p, "new input '%s': %s%s", name, dtype_name(*dtype), shape);
        return true;
    }
    if (!may_exist)
        return diag_error(p->diag, &old->loc, "--%s %s: the model has an input of that name; give another name", option,
                          name);
    if (old->type.kind != TYPE_TENSOR)
        return diag_error(p->diag, &old->loc, "--%s %s: this input is not a tensor", option, name);
    if (old->type.has_shape && !dims_agree(&old->type, dims, rank))
        return diag_error(p->diag, &old->loc, "--%s %s: this input is %s%s, expected shape %s to match '%s'", option,
                          name, dtype_name(old->type.elem),
                          model_dims_text(p->arena, old->type.dims.data, old->type.dims.count), shape, p->source);
    *dtype = old->type.elem;
    say(p, "the %s is the input '%s'", option, name);
    return true;
}

/* batch: which of its dimensions that is */
static bool add_target(struct preparer *p, enum dtype usual, const struct model_dim *dims, size_t rank, int batch,
                       const char **name, enum dtype *dtype)
{
    const enum dtype asked = p->options->target_type;
    *name = p->options->target ? p->options->target : "target";
    *dtype = asked != DTYPE_UNDEFINED ? asked : usual;
    map_set(&p->batch_of_inputs, *name, arena_copy(p->arena, &batch, sizeof batch, alignof(int)));
    if (!add_input(p, "target", *name, true, dtype, dims, rank))
        return false;
    if (asked != DTYPE_UNDEFINED && *dtype != asked)
        return diag_error(p->diag, &p->loc, "--target-type %s: the input '%s' is %s", dtype_name(asked), *name,
                          dtype_name(*dtype));
    *name = part_of_input(p, *name);
    return true;
}

/* ---- the end of every loss --------------------------------------------------------------------------------------- */

/* The last node's output is the loss; prepare_model() has seen to it that the name is free. */
static void finish(struct preparer *p)
{
    struct model_node *const n = last_node(p);
    n->outputs.data[0] = p->loss_output;
    map_set(&p->names, p->loss_output, NULL);
    declare_output(p, p->loss_output, p->loss_dtype, NULL);
}

/* loss = sum / weight */
static bool finish_quotient(struct preparer *p, const char *sum, const char *weight)
{
    p->loss_sum = sum;
    p->loss_weight = weight;
    if (!p->sums) {
        add_op(p, "loss.mean", "Div", sum, weight);
        finish(p);
    }
    return true;
}

/* The number of elements of x, in the loss's type. */
static const char *element_count(struct preparer *p, const char *x)
{
    return add_cast(p, "loss_count", add_op(p, "loss_count.int64", "Size", x), p->loss_dtype);
}

/* loss: the last node's output; where losses are added up, a sum over all of x. */
static bool finish_mean(struct preparer *p, const char *loss, const char *x)
{
    if (p->sums)
        return finish_quotient(p, loss, element_count(p, x));
    finish(p);
    return true;
}

/* x: one loss for each sample, [N]. loss = sum(w x) / sum(w): a sample of weight 0 is as good as absent. */
static bool weighted_mean(struct preparer *p, const char *x, const struct model_dim *batch)
{
    const char *const w = p->options->sample_weight;
    enum dtype dtype = p->loss_dtype;
    if (!add_input(p, "sample-weight", w, true, &dtype, batch, 1))
        return false;
    if (dtype != p->loss_dtype)
        return diag_error(p->diag, &p->loc, "--sample-weight %s: it is %s, but the loss is %s", w, dtype_name(dtype),
                          dtype_name(p->loss_dtype));
    const char *const part = part_of_input(p, w);
    const char *const product = add_op(p, "weighted_losses", "Mul", part, x);
    const char *const sum = add_reduce(p, "weighted_loss_sum", "ReduceSum", product, -1);
    return finish_quotient(p, sum, add_reduce(p, "sample_weight_sum", "ReduceSum", part, -1));
}

/* The samples in front. */
static const char *batch_first(struct preparer *p, const char *x, size_t rank)
{
    int64_t perm[SHAPE_MAX_RANK] = {p->loss_batch};
    size_t n = 1;
    if (p->loss_batch == 0)
        return x;
    for (size_t i = 0; i < rank; i++)
        if ((int)i != p->loss_batch)
            perm[n++] = (int64_t)i;
    const char *const y = add_op(p, "losses_of_samples", "Transpose", x);
    model_set_ints(p->arena, last_node(p), "perm", perm, n);
    return y;
}

/* x: a loss for each element, of the shape t. */
static bool mean_of_elements(struct preparer *p, const char *x, const struct model_dim *dims, size_t rank)
{
    if (!p->options->sample_weight && p->sums) {
        const char *const count = element_count(p, x);
        return finish_quotient(p, add_reduce(p, "loss_sum", "ReduceSum", x, -1), count);
    }
    if (!p->options->sample_weight) {
        add_reduce(p, "loss.mean", "ReduceMean", x, -1);
        finish(p);
        return true;
    }
    if (rank == 0)
        return diag_error(p->diag, &p->loc, "--sample-weight: '%s' is a scalar and has no batch axis", p->source);
    if (rank > 1)
        x = add_reduce(p, "sample_losses", "ReduceMean",
                       add_reshape(p, "losses_by_sample", batch_first(p, x, rank), (const int64_t[]){0, -1}, 2), 1);
    return weighted_mean(p, x, &dims[p->loss_batch]);
}

/* ---- losses of elements ------------------------------------------------------------------------------------------ */

/* With d = y - t: mse d^2; l1 |d|; huber c (d - c/2), c = d clipped to [-1, 1], which is d^2/2 inside and |d| - 1/2
 * outside and has the right slope everywhere without a Where. */
static const char *difference_loss(struct preparer *p, const char *y, const char *t)
{
    const char *const d = add_op(p, "difference", "Sub", y, t);
    if (p->options->loss == LOSS_MSE)
        return add_op(p, "squares", "Mul", d, d);
    if (p->options->loss == LOSS_L1)
        return add_op(p, "absolutes", "Abs", d);
    const char *const c = add_clip(p, "clipped_difference", d, p->loss_dtype, -1, 1);
    const char *const half = add_op(p, "half", "Mul", c, add_scalar(p, "one_half", p->loss_dtype, 0.5));
    return add_op(p, "losses", "Mul", c, add_op(p, "rest", "Sub", d, half));
}

/* From logits: t softplus(-z) + (1 - t) softplus(z). Nothing cancels when the answer is right and sure, and the slope
 * is right at z = 0, where forms with |z| have a kink. From probabilities: -(t log(q) + (1 - t) log(1 - q)). */
static const char *binary_loss(struct preparer *p, const char *y, const char *t, bool from_logits)
{
    const char *const one = add_scalar(p, "one", p->loss_dtype, 1);
    const char *const other = add_op(p, "other", "Sub", one, t);
    const char *yes, *no;
    if (from_logits) {
        yes = add_op(p, "loss_of_ones", "Softplus", add_op(p, "negated", "Neg", y));
        no = add_op(p, "loss_of_zeros", "Softplus", y);
    } else {
        const char *const q =
            add_clip(p, "probability", y, p->loss_dtype, PROBABILITY_EPSILON, 1 - PROBABILITY_EPSILON);
        yes = add_op(p, "log_one", "Log", q);
        no = add_op(p, "log_zero", "Log", add_op(p, "one_minus", "Sub", one, q));
    }
    const char *const zeros = add_op(p, "zeros", "Mul", other, no), *const ones = add_op(p, "ones", "Mul", t, yes);
    const char *const sum = add_op(p, "losses", "Add", ones, zeros);
    return from_logits ? sum : add_op(p, "negated_losses", "Neg", sum);
}

static bool elementwise_loss(struct preparer *p, const struct tensor_type *t)
{
    const char *target, *losses;
    enum dtype dtype;
    if (!add_target(p, t->dtype, t->dims, t->rank, p->loss_batch, &target, &dtype))
        return false;
    if (dtype != t->dtype && !dtype_is_int(dtype))
        return diag_error(p->diag, &p->loc, "the target '%s' is %s, but '%s' is %s", target, dtype_name(dtype),
                          p->source, dtype_name(t->dtype));
    if (dtype != t->dtype)
        target = add_cast(p, "target.cast", target, t->dtype);
    if (p->options->loss == LOSS_BCE || p->options->loss == LOSS_BCE_LOGITS)
        losses = binary_loss(p, p->loss_input, target, p->options->loss == LOSS_BCE_LOGITS || p->bypassed);
    else
        losses = difference_loss(p, p->loss_input, target);
    return mean_of_elements(p, losses, t->dims, t->rank);
}

/* ---- losses of classes ------------------------------------------------------------------------------------------- */

struct loss_classes {
    const char *scores, *target;
    int axis;      /* of the loss tensor */
    int64_t count; /* -1: not known */
    size_t label_rank;
    struct model_dim label_dims[SHAPE_MAX_RANK];
    bool flat; /* scores are [n, count], target [n] by now */
};

/* [d0.., C, ..dk] -> [d0.., ..dk, C] */
static const char *classes_last(struct preparer *p, const char *wish, const char *x, size_t rank, int axis)
{
    int64_t perm[SHAPE_MAX_RANK];
    size_t n = 0;
    for (size_t i = 0; i < rank; i++)
        if ((int)i != axis)
            perm[n++] = (int64_t)i;
    perm[n++] = axis;
    const char *const y = add_op(p, wish, "Transpose", x);
    model_set_ints(p->arena, last_node(p), "perm", perm, n);
    return y;
}

/* The classes of sequences stand last, with the only size that is always known. */
static const char *other_class_axis(struct preparer *p, const struct tensor_type *t)
{
    if (t->rank == 0 || t->dims[t->rank - 1].value <= 1)
        return "";
    return arena_printf(p->arena, "; dimension %zu, the last, is %lld: --class-axis -1?", t->rank - 1,
                        (long long)t->dims[t->rank - 1].value);
}

/* [d0.., C, ..dk] -> [n, C], target -> [n]. ONNX's operators want the classes at axis 1; below opset 13 only rank 2 has
 * one meaning in all of them. */
static bool flatten_classes(struct preparer *p, const struct tensor_type *t, struct loss_classes *c)
{
    if (c->count < 0)
        return diag_error(p->diag, &p->loc,
                          "--class-axis %lld: the number of classes, dimension %d of '%s', is not known%s",
                          (long long)p->options->class_axis, c->axis, p->source, other_class_axis(p, t));
    if (c->axis != (int)t->rank - 1)
        c->scores = classes_last(p, "scores_transposed", c->scores, t->rank, c->axis);
    c->scores = add_reshape(p, "scores", c->scores, (const int64_t[]){-1, c->count}, 2);
    c->target = add_reshape(p, "labels", c->target, (const int64_t[]){-1}, 1);
    c->flat = true;
    return true;
}

static const char *add_class_weights(struct preparer *p, const struct loss_classes *c)
{
    const struct tensor *const w = p->options->class_weights;
    if (!w)
        return NULL;
    if (w->shape.rank != 1 || !(dtype_is_float(w->dtype) || dtype_is_int(w->dtype)) ||
        (c->count >= 0 && w->count != c->count)) {
        diag_error(p->diag, &p->loc, "--class-weights: the file has %s%s, expected one number for each of %lld classes",
                   dtype_name(w->dtype), shape_text(p->arena, &w->shape), (long long)c->count);
        return NULL;
    }
    return add_tensor(p, "class_weights", tensor_cast(p->arena, w, p->loss_dtype));
}

static bool refuse_together(struct preparer *p, bool both, const char *one, const char *other)
{
    return !both || diag_error(p->diag, &p->loc, "--%s together with --%s is not supported", one, other);
}

static bool check_class_options(struct preparer *p)
{
    const struct prepare_options *const o = p->options;
    const bool smooth = o->label_smoothing > 0;
    bool ok = refuse_together(p, smooth && o->class_weights, "label-smoothing", "class-weights");
    ok = refuse_together(p, smooth && o->ignore_index, "label-smoothing", "ignore-index") && ok;
    ok = refuse_together(p, smooth && o->sample_weight, "label-smoothing", "sample-weight") && ok;
    ok = refuse_together(p, o->sample_weight && o->class_weights, "sample-weight", "class-weights") && ok;
    ok = refuse_together(p, o->sample_weight && o->ignore_index, "sample-weight", "ignore-index") && ok;
    if (p->opset < 12 && (o->class_weights || o->ignore_index || smooth || o->sample_weight))
        ok = diag_error(
            p->diag, &p->loc,
            "--%s needs an operator of opset 12, the model imports ai.onnx %lld; export it for a newer opset",
            o->class_weights  ? "class-weights"
            : o->ignore_index ? "ignore-index"
            : smooth          ? "label-smoothing"
                              : "sample-weight",
            (long long)p->opset);
    if (smooth && o->loss == LOSS_NLL)
        ok = diag_error(p->diag, &p->loc, "--label-smoothing goes with --loss softmax-cross-entropy");
    return ok;
}

/* Opsets 7 to 11 have no loss operators: -mean(sum_c onehot(t)[c] log_softmax(z)[c]). A label outside [0, C) has no
 * one. */
static bool spelled_out(struct preparer *p, struct loss_classes *c, bool softmax)
{
    struct tensor *const numbers = tensor_new(p->arena, DTYPE_INT64, &SHAPE(1, c->count));
    for (int64_t i = 0; i < c->count; i++)
        tensor_set_int(numbers, i, i);
    const char *scores = c->scores;
    if (softmax) {
        scores = add_op(p, "log_probabilities", "LogSoftmax", scores);
        model_set_int(p->arena, last_node(p), "axis", 1);
    }
    const char *const column = add_reshape(p, "label_column", c->target, (const int64_t[]){-1, 1}, 2);
    const char *const equal = add_op(p, "is_label", "Equal", column, add_tensor(p, "class_numbers", numbers));
    const char *const chosen = add_op(p, "chosen", "Mul", scores, add_cast(p, "one_hot", equal, p->loss_dtype));
    const char *const each = add_reduce(p, "log_probability", "ReduceSum", chosen, 1);
    const char *const mean = add_reduce(p, p->sums ? "log_probability_sum" : "mean_log_probability",
                                        p->sums ? "ReduceSum" : "ReduceMean", each, -1);
    return finish_mean(p, add_op(p, "loss.mean", "Neg", mean), each);
}

static const char *loss_operator(struct preparer *p, const char *op, const struct loss_classes *c, const char *weights)
{
    const char *const out = add_op(p, "losses", op, c->scores, c->target, weights);
    model_set_string(p->arena, last_node(p), "reduction",
                     p->options->sample_weight ? "none"
                     : p->sums                 ? "sum"
                                               : "mean");
    if (p->options->ignore_index)
        model_set_int(p->arena, last_node(p), "ignore_index", *p->options->ignore_index);
    return out;
}

/* What the mean divides by: the weights of the labels that count. Were every score -1, their sum would be the loss. */
static const char *label_weight(struct preparer *p, const struct loss_classes *c, const char *weights)
{
    if (!weights && !p->options->ignore_index)
        return element_count(p, c->target);
    struct loss_classes ones = *c;
    struct tensor *const minus_one = tensor_new(p->arena, p->loss_dtype, &SHAPE(1));
    tensor_set_double(minus_one, 0, -1);
    ones.scores = add_op(p, "minus_ones", "ConstantOfShape", add_op(p, "scores_shape", "Shape", c->scores));
    model_set_tensor(p->arena, last_node(p), "value", minus_one);
    return loss_operator(p, "NegativeLogLikelihoodLoss", &ones, weights);
}

/* (1 - s) nll(lp, t) - s mean(lp), lp = log_softmax(z): the label gets 1 - s + s/C, every other class s/C. */
static bool smoothed(struct preparer *p, struct loss_classes *c)
{
    const double s = p->options->label_smoothing;
    c->scores = add_op(p, "log_probabilities", "LogSoftmax", c->scores);
    model_set_int(p->arena, last_node(p), "axis", 1);
    const char *const nll = loss_operator(p, "NegativeLogLikelihoodLoss", c, NULL);
    const char *mean = add_reduce(p, "mean_log_probability", "ReduceMean", c->scores, p->sums ? 1 : -1);
    if (p->sums)
        mean = add_reduce(p, "log_probability_sum", "ReduceSum", mean, -1);
    const char *const hard = add_op(p, "hard_loss", "Mul", nll, add_scalar(p, "hard", p->loss_dtype, 1 - s));
    const char *const soft = add_op(p, "soft_loss", "Mul", mean, add_scalar(p, "soft", p->loss_dtype, s));
    return finish_mean(p, add_op(p, "loss.mean", "Sub", hard, soft), c->target);
}

/* One loss for each label, back in the target's shape, then one for each sample. */
static bool class_losses_weighted(struct preparer *p, const struct loss_classes *c, const char *losses,
                                  const char *target)
{
    if (c->label_rank == 0)
        return diag_error(p->diag, &p->loc, "--sample-weight: '%s' has no batch axis", p->source);
    if (c->flat && c->label_rank > 1)
        losses = add_op(p, "losses_by_label", "Reshape", losses, add_op(p, "label_shape", "Shape", target));
    return mean_of_elements(p, losses, c->label_dims, c->label_rank);
}

/* correct = the number of labels that have the largest score; an ignored label is not among them. */
static void add_correct(struct preparer *p, const char *target, enum dtype dtype, int axis)
{
    const char *const labels = dtype == DTYPE_INT64 ? target : add_cast(p, "labels.int64", target, DTYPE_INT64);
    const char *const best = add_op(p, "best_class", "ArgMax", p->loss_input);
    model_set_int(p->arena, last_node(p), "axis", axis);
    model_set_int(p->arena, last_node(p), "keepdims", 0);
    const char *hit = add_op(p, "is_correct", "Equal", best, labels);
    if (p->options->ignore_index) {
        const char *const ignored = add_int(p, "ignored_label", *p->options->ignore_index);
        const char *const counts = add_op(p, "counts", "Not", add_op(p, "is_ignored", "Equal", labels, ignored));
        hit = add_op(p, "is_correct", "And", hit, counts);
    }
    add_reduce(p, "correct", "ReduceSum", add_cast(p, "is_correct.int64", hit, DTYPE_INT64), -1);
    declare_output(p, last_node(p)->outputs.data[0], DTYPE_INT64, NULL);
}

/* ---- losses of probabilities ----------------------------------------------------------------------------------------
 * As torch.nn.CrossEntropyLoss has them: -sum_c w[c] t[c] log_softmax(z)[c], and a mean that no class weights divide.
 */

/* Is the target one of floating numbers, by --target-type or because the model has such an input? */
static bool wants_probabilities(const struct preparer *p)
{
    const char *const name = p->options->target ? p->options->target : "target";
    const struct model_value_info *const input = model_find_value(&p->model->graph->inputs, name);
    return dtype_is_float(p->options->target_type) ||
           (p->options->target_type == DTYPE_UNDEFINED && input && input->type.kind == TYPE_TENSOR &&
            dtype_is_float(input->type.elem));
}

/* t (1 - s) + s / C */
static const char *smoothed_target(struct preparer *p, const char *target, const struct loss_classes *c)
{
    const double s = p->options->label_smoothing;
    if (s == 0)
        return target;
    const char *const rest = add_op(p, "target_rest", "Mul", target, add_scalar(p, "hard", p->loss_dtype, 1 - s));
    return add_op(p, "target_smoothed", "Add", rest,
                  add_scalar(p, "soft", p->loss_dtype, s / (double)c->count));
}

/* w, in the place of the classes. */
static const char *weighted_terms(struct preparer *p, const char *terms, const struct loss_classes *c, size_t rank)
{
    int64_t dims[SHAPE_MAX_RANK];
    const char *const weights = add_class_weights(p, c);
    if (!weights)
        return terms;
    for (size_t i = 0; i < rank; i++)
        dims[i] = (int)i == c->axis ? -1 : 1;
    return add_op(p, "weighted_terms", "Mul", terms, add_reshape(p, "weights_of_classes", weights, dims, rank));
}

static bool check_probability_options(struct preparer *p, const struct loss_classes *c)
{
    const struct prepare_options *const o = p->options;
    if (o->ignore_index)
        return diag_error(p->diag, &p->loc, "--ignore-index is a class number, but the target has probabilities");
    if (c->count < 0 && (o->label_smoothing > 0 || o->class_weights))
        return diag_error(p->diag, &p->loc, "--%s: the number of classes, dimension %d of '%s', is not known",
                          o->class_weights ? "class-weights" : "label-smoothing", c->axis, p->source);
    return true;
}

static bool probability_loss(struct preparer *p, const struct tensor_type *t, struct loss_classes *c)
{
    enum dtype dtype;
    if (!check_probability_options(p, c) ||
        !add_target(p, t->dtype, t->dims, t->rank, p->loss_batch + (p->loss_batch >= c->axis), &c->target, &dtype))
        return false;
    const size_t errors = p->diag->errors;
    if (p->counts_correct) { /* the class of the largest probability is the right one */
        const char *const best = add_op(p, "likeliest_class", "ArgMax", c->target);
        model_set_int(p->arena, last_node(p), "axis", c->axis);
        model_set_int(p->arena, last_node(p), "keepdims", 0);
        add_correct(p, best, DTYPE_INT64, c->axis);
    }
    const char *target = dtype == t->dtype ? c->target : add_cast(p, "target.cast", c->target, t->dtype);
    /* before opset 13 LogSoftmax runs over all axes from `axis` on */
    if (p->opset < 13 && c->axis != (int)t->rank - 1) {
        c->scores = classes_last(p, "scores_transposed", c->scores, t->rank, c->axis);
        target = classes_last(p, "target_transposed", target, t->rank, c->axis);
        c->axis = (int)t->rank - 1;
    }
    if (p->options->loss == LOSS_SOFTMAX_CROSS_ENTROPY) {
        c->scores = add_op(p, "log_probabilities", "LogSoftmax", c->scores);
        model_set_int(p->arena, last_node(p), "axis", c->axis);
    }
    const char *const product = add_op(p, "loss_terms", "Mul", smoothed_target(p, target, c), c->scores);
    const char *const terms = weighted_terms(p, product, c, t->rank);
    if (p->diag->errors > errors)
        return false;
    const char *const sums = add_reduce(p, "log_likelihoods", "ReduceSum", terms, c->axis);
    return mean_of_elements(p, add_op(p, "losses", "Neg", sums), c->label_dims, c->label_rank);
}

/* Where the classes are, and what is left without them. */
static bool find_classes(struct preparer *p, const struct tensor_type *t, struct loss_classes *c)
{
    if (!shape_axis((int)t->rank, p->options->class_axis, &c->axis))
        return diag_error(p->diag, &p->loc, "--class-axis %lld: '%s' is %s%s; name the axis of the classes",
                          (long long)p->options->class_axis, p->source, dtype_name(t->dtype),
                          model_dims_text(p->arena, t->dims, t->rank));
    c->count = t->dims[c->axis].value;
    for (size_t i = 0; i < t->rank; i++)
        if ((int)i != c->axis)
            c->label_dims[c->label_rank++] = t->dims[i];
    p->loss_batch -= p->loss_batch > c->axis;
    return true;
}

static bool class_loss(struct preparer *p, const struct tensor_type *t)
{
    const bool softmax = p->options->loss == LOSS_SOFTMAX_CROSS_ENTROPY, smooth = p->options->label_smoothing > 0;
    struct loss_classes c = {.scores = p->loss_input};
    enum dtype dtype;
    if (wants_probabilities(p))
        return find_classes(p, t, &c) && probability_loss(p, t, &c);
    if (!check_class_options(p) || !find_classes(p, t, &c))
        return false;
    if (!add_target(p, DTYPE_INT64, c.label_dims, c.label_rank, p->loss_batch, &c.target, &dtype))
        return false;
    if (!dtype_is_int(dtype))
        return diag_error(p->diag, &p->loc, "the target '%s' is %s; %s takes class numbers: int64, int32 or uint8",
                          c.target, dtype_name(dtype), loss_names[p->options->loss]);
    const char *const target = c.target;
    if (p->counts_correct)
        add_correct(p, c.target, dtype, c.axis);
    if (dtype != DTYPE_INT64 && (dtype != DTYPE_INT32 || p->opset < 12))
        c.target = add_cast(p, "target.cast", c.target, DTYPE_INT64);
    const bool direct = c.axis == 1 && (p->opset >= 13 || t->rank == 2);
    if (!direct && !flatten_classes(p, t, &c))
        return false;
    if (p->opset < 12) /* the number of classes is needed */
        return (c.count >= 0 || flatten_classes(p, t, &c)) && spelled_out(p, &c, softmax);
    if (smooth)
        return smoothed(p, &c);
    const size_t errors = p->diag->errors;
    const char *const weights = add_class_weights(p, &c);
    if (p->diag->errors > errors)
        return false;
    const char *const losses =
        loss_operator(p, softmax ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss", &c, weights);
    if (p->options->sample_weight)
        return class_losses_weighted(p, &c, losses, target);
    if (p->sums)
        return finish_quotient(p, losses, label_weight(p, &c, weights));
    finish(p);
    return true;
}

/* ---- the model's own loss ---------------------------------------------------------------------------------------- */

static bool own_loss(struct preparer *p, const struct tensor_type *t)
{
    for (size_t i = 0; i < t->rank; i++)
        if (t->dims[i].value != 1)
            return diag_error(p->diag, &p->loc, "--loss output: '%s' is %s%s, expected a scalar", p->source,
                              dtype_name(t->dtype), model_dims_text(p->arena, t->dims, t->rank));
    if (p->sums) { /* nothing is known of what it divides by: batches count alike */
        const char *const sum =
            t->rank == 0 ? p->loss_input : add_reduce(p, "loss_sum", "ReduceSum", p->loss_input, -1);
        const char *const samples = p->options->devices > 0 ? count_samples(p, t->dtype) : NULL;
        if (samples) /* devices add up, so what each has weighs as much as it has samples */
            return finish_quotient(p, add_op(p, "weighted_loss", "Mul", sum, samples), samples);
        return finish_quotient(p, sum, add_scalar(p, "one", t->dtype, 1));
    }
    if (!str_equal(p->source, p->loss_output)) {
        if (t->rank == 0)
            add_op(p, "loss.same", "Identity", p->loss_input);
        else
            add_reduce(p, "loss.mean", "ReduceMean", p->loss_input, -1);
        finish(p);
    } else if (!str_equal(p->loss_input, "loss")) { /* 'loss' is what infer() computes */
        p->loss_name = p->loss_input;
        model_add_value(p->arena, p->algorithm, 1, p->loss_name, t->dtype, t->dims, t->rank);
    } else if (!model_find_value(&p->model->graph->outputs, "loss")) {
        model_add_value(p->arena, p->algorithm, 1, "loss", t->dtype, t->dims, t->rank);
    }
    return true;
}

static bool refuse_option(struct preparer *p, bool given, const char *option)
{
    return !given ||
           diag_error(p->diag, &p->loc, "--%s does not go with --loss %s", option, loss_names[p->options->loss]);
}

/* A loss is computed in float: of 16 bits, a mean over a batch would keep three digits or two. */
static void widen_source(struct preparer *p, struct tensor_type *t)
{
    if (dtype_is_float16(t->dtype)) {
        p->loss_input = add_cast(p, suffixed(p, p->loss_input, "float"), p->loss_input, DTYPE_FLOAT);
        t->dtype = DTYPE_FLOAT;
    }
}

/* The floats that `name` is made of by nodes that read one value first: an image of bytes, for example. NULL: none. */
static const char *floats_before(struct preparer *p, const char *name)
{
    enum { MOST_NODES = 64 };
    struct tensor_type t;
    for (int i = 0; i < MOST_NODES; i++) {
        const struct model_node *const n = map_get(&p->producers, name);
        if (!n || n->inputs.count == 0)
            return NULL;
        name = n->inputs.data[0];
        if (!map_has(&p->producers, name) || !tensor_type_of(p, name, &t))
            return NULL;
        if (DTYPE_BIT(t.dtype) & DTYPES_FLOATS)
            return name;
    }
    return NULL;
}

static bool refuse_source(struct preparer *p, enum dtype dtype)
{
    const char *const floats = p->options->output ? NULL : floats_before(p, p->source);
    return diag_error(p->diag, &p->loc, "the loss reads '%s', which is %s; expected float or double%s", p->source,
                      dtype_name(dtype),
                      p->options->output ? ""
                      : floats ? arena_printf(p->arena, "; --output '%s' names what it is made of", floats)
                               : "; --output names another tensor");
}

bool add_loss(struct preparer *p)
{
    const struct prepare_options *const o = p->options;
    struct tensor_type t;
    if (!tensor_type_of(p, p->source, &t))
        return false;
    widen_source(p, &t);
    p->loss_dtype = t.dtype;
    p->loss_batch = batch_dim_of_value(&p->batch_axes, p->source, (int)t.rank);
    p->loss_batch = p->loss_batch < 0 ? 0 : p->loss_batch;
    if (!(DTYPE_BIT(t.dtype) & DTYPES_FLOAT_DOUBLE))
        return refuse_source(p, t.dtype);
    say(p, "loss: %s of '%s', %s%s", loss_names[o->loss], p->source, dtype_name(t.dtype),
        model_dims_text(p->arena, t.dims, t.rank));
    if (o->loss == LOSS_SOFTMAX_CROSS_ENTROPY || o->loss == LOSS_NLL)
        return class_loss(p, &t);
    bool ok = refuse_option(p, o->class_weights, "class-weights");
    ok = refuse_option(p, o->label_smoothing > 0, "label-smoothing") && ok;
    ok = refuse_option(p, o->ignore_index, "ignore-index") && ok;
    ok = refuse_option(p, o->class_axis != 1, "class-axis") && ok;
    if (o->loss != LOSS_OUTPUT)
        return ok && elementwise_loss(p, &t);
    ok = refuse_option(p, o->sample_weight, "sample-weight") && ok;
    ok = refuse_option(p, o->target, "target") && ok;
    ok = refuse_option(p, o->target_type != DTYPE_UNDEFINED, "target-type") && ok;
    return ok && own_loss(p, &t);
}
