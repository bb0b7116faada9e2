/* LabelEncoder of ai.onnx.ml, of numbers: Y = the value that belongs to X among the keys, the default where it is none
 * of them. A key NaN is for each NaN. A key that is given twice has one value, or is refused. Strings are refused.
 *
 * In other operators: the keys in order are one tree (ops/tree_leaves.c), whose leaf for X is the first key that is not
 * below X; if it is not X, X is no key.
 * Spec: ONNX-ML LabelEncoder-2, -4 (keys, values and default in tensors); version 1 is about strings only. */
#include "ops/ml_rules.h"

#include <math.h>
#include <stdlib.h>

#define LABELS (ML_NUMBERS | DTYPE_BIT(DTYPE_INT16))
static const struct op_attr attrs[] = {{.name = "default_float", .type = ATTR_FLOAT, .float_default = -0.0},
                                       {.name = "default_int64", .type = ATTR_INT, .int_default = -1},
                                       {.name = "default_string", .type = ATTR_STRING, .string_default = "_Unused"},
                                       {.name = "default_tensor", .type = ATTR_TENSOR},
                                       {.name = "keys_floats", .type = ATTR_FLOATS},
                                       {.name = "keys_int64s", .type = ATTR_INTS},
                                       {.name = "keys_strings", .type = ATTR_STRINGS},
                                       {.name = "keys_tensor", .type = ATTR_TENSOR},
                                       {.name = "values_floats", .type = ATTR_FLOATS},
                                       {.name = "values_int64s", .type = ATTR_INTS},
                                       {.name = "values_strings", .type = ATTR_STRINGS},
                                       {.name = "values_tensor", .type = ATTR_TENSOR},
                                       {0}};
static const struct op_param inputs[] = {{.name = "X", .dtypes = LABELS}, {0}};
static const struct op_param outputs[] = {{.name = "Y", .dtypes = LABELS, .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

static const struct op_version versions[] = {{.since = 2}, {.since = 4}, {0}};

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* "keys" or "values" as one tensor; NULL where there are none of numbers, or several. */
static const struct tensor *list_of(const struct node *n, struct arena *a, const char *what)
{
    const struct attr *const floats = node_attr(n, arena_printf(a, "%s_floats", what));
    const struct attr *const ints = node_attr(n, arena_printf(a, "%s_int64s", what));
    const struct attr *const given = node_attr(n, arena_printf(a, "%s_tensor", what));
    if ((floats != NULL) + (ints != NULL) + (given != NULL) != 1)
        return NULL;
    if (given)
        return given->t;
    if (ints)
        return tensor_from_ints(a, ints->ints, (int64_t)ints->count);
    struct tensor *const t = tensor_new(a, DTYPE_FLOAT, &SHAPE((int64_t)floats->count));
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, floats->floats[i]);
    return t;
}

static bool has_strings(const struct node *n, const char *list, const char *tensor)
{
    const struct attr *const t = node_attr(n, tensor);
    return ml_count(n, list) > 0 || (t && t->t->dtype == DTYPE_STRING);
}

static struct tensor *default_of(const struct node *n, struct arena *a, enum dtype d)
{
    const struct attr *const given = node_attr(n, "default_tensor");
    struct tensor *const t = tensor_new(a, d, &SHAPE_SCALAR);
    if (given && dtype_is_float(d))
        tensor_set_double(t, 0, tensor_get_double(given->t, 0));
    else if (given)
        tensor_set_int(t, 0, tensor_get_int(given->t, 0));
    else if (dtype_is_float(d))
        tensor_set_double(t, 0, op_attr_float(n, "default_float"));
    else
        tensor_set_int(t, 0, op_attr_int(n, "default_int64"));
    return t;
}

/* A key, and its place in the lists. */
struct label_key {
    double f;
    int64_t i, at;
};

static int compare_keys(const void *a, const void *b)
{
    const struct label_key *const x = a, *const y = b;
    if (isnan(x->f) || isnan(y->f))
        return isnan(x->f) - isnan(y->f);
    return x->f != y->f ? (x->f < y->f ? -1 : 1) : (x->i > y->i) - (x->i < y->i);
}

/* In order, NaN last. As a double an integer is rounded: f, which goes up with i, is what the tree compares. */
static struct label_key *sorted_keys(const struct tensor *keys, struct arena *a)
{
    struct label_key *const k = arena_array(a, struct label_key, (size_t)keys->count);
    for (int64_t p = 0; p < keys->count; p++) {
        const int64_t whole = dtype_is_float(keys->dtype) ? 0 : tensor_get_int(keys, p);
        k[p] = (struct label_key){tensor_get_double(keys, p), whole, p};
    }
    qsort(k, (size_t)keys->count, sizeof *k, compare_keys);
    return k;
}

static bool same_value(const struct tensor *values, int64_t p, int64_t q)
{
    if (!dtype_is_float(values->dtype))
        return tensor_get_int(values, p) == tensor_get_int(values, q);
    const double x = tensor_get_double(values, p), y = tensor_get_double(values, q);
    return x == y || (isnan(x) && isnan(y));
}

static bool check_keys(struct infer_ctx *c, const struct tensor *keys, const struct tensor *values, struct arena *a)
{
    const struct label_key *const k = sorted_keys(keys, a);
    for (int64_t p = 1; p < keys->count; p++) {
        if (k[p].f == k[p - 1].f && k[p].i != k[p - 1].i)
            return infer_unsupported(c, "its keys %lld and %lld are too large to be told apart", (long long)k[p - 1].i,
                                     (long long)k[p].i);
        if (compare_keys(&k[p - 1], &k[p]) == 0 && !same_value(values, k[p].at, k[p - 1].at))
            return infer_error(c, "its keys %lld and %lld are equal and have different values", (long long)k[p - 1].at,
                               (long long)k[p].at);
    }
    return true;
}

static bool check_lists(struct infer_ctx *c, const struct tensor *keys, const struct tensor *values)
{
    const struct attr *const given = node_attr(c->node, "default_tensor");
    const enum dtype x = infer_in(c, 0)->dtype;
    if (!keys || !values)
        return infer_error(c, "it does not have one list of keys and one of values");
    if (keys->count == 0 || keys->count != values->count)
        return infer_error(c, "it has %lld keys and %lld values", (long long)keys->count, (long long)values->count);
    if (keys->dtype != x)
        return infer_error(c, "its keys are %s, and input 0 '%s' is %s", dtype_name(keys->dtype), infer_in(c, 0)->name,
                           dtype_name(x));
    if (!(LABELS & DTYPE_BIT(values->dtype)))
        return infer_error(c, "its values are %s", dtype_name(values->dtype));
    return !given || (given->t->count == 1 && given->t->dtype == values->dtype) ||
           infer_error(c, "attribute 'default_tensor' is not one number of the values' type, %s",
                       dtype_name(values->dtype));
}

static bool labels_infer(struct infer_ctx *c)
{
    struct arena a = {0};
    if (has_strings(c->node, "keys_strings", "keys_tensor"))
        return infer_unsupported(c, "its keys are strings; encode them outside of the model");
    if (has_strings(c->node, "values_strings", "values_tensor"))
        return infer_unsupported(c, "its values are strings; export without it, and look them up outside of the model");
    const struct tensor *const keys = list_of(c->node, &a, "keys"), *const values = list_of(c->node, &a, "values");
    const bool is_right = check_lists(c, keys, values) && check_keys(c, keys, values, &a);
    const enum dtype y = is_right ? values->dtype : DTYPE_FLOAT;
    arena_free(&a);
    return is_right && infer_out(c, 0, y, infer_shape(c, 0));
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool is_key(const struct eval_tensor *x, int64_t p, const struct tensor *keys, int64_t k)
{
    if (!x->f)
        return x->i[p] == tensor_get_int(keys, k);
    const double key = tensor_get_double(keys, k);
    return x->f[p] == key || (isnan(x->f[p]) && isnan(key));
}

static bool labels_eval(struct eval_ctx *c)
{
    const struct eval_tensor *const x = eval_input(c, 0);
    struct eval_tensor *const y = eval_output(c, 0);
    const struct tensor *const keys = list_of(c->node, c->scratch, "keys");
    const struct tensor *const values = list_of(c->node, c->scratch, "values");
    for (int64_t p = 0; y && p < x->count; p++) {
        const struct tensor *from = default_of(c->node, c->scratch, values->dtype);
        int64_t at = 0;
        for (int64_t k = 0; k < keys->count; k++)
            if (is_key(x, p, keys, k)) {
                from = values;
                at = k;
                break;
            }
        if (y->f)
            y->f[p] = tensor_get_double(from, at);
        else
            y->i[p] = tensor_get_int(from, at);
    }
    return true;
}

/* ---- as other operators ------------------------------------------------------------------------------------------ */

/* The tree over the keys from `first` to behind `last`: its middle is a node in front of both halves. */
struct search_tree {
    const struct label_key *keys;
    int64_t *next;
    struct tensor *splits;
    int64_t used;
};

static int64_t add_search(struct search_tree *s, int64_t first, int64_t end)
{
    if (end - first == 1)
        return -1 - first;
    const int64_t at = s->used++, middle = first + (end - first - 1) / 2;
    tensor_set_double(s->splits, at, s->keys[middle].f);
    s->next[2 * at] = add_search(s, first, middle + 1);
    s->next[2 * at + 1] = add_search(s, middle + 1, end);
    return at;
}

static struct value *search_of(struct expand_ctx *c, const struct label_key *keys, int64_t count, struct arena *scratch)
{
    struct value *const x = expand_in(c, 0);
    const enum dtype d = x->dtype == DTYPE_FLOAT ? DTYPE_FLOAT : DTYPE_DOUBLE;
    struct search_tree s = {.keys = keys,
                            .next = arena_array(scratch, int64_t, (size_t)(2 * count)),
                            .splits = tensor_new(c->b->graph->arena, d, &SHAPE(count - 1))};
    const int64_t root = add_search(&s, 0, count);
    int64_t *const features = arena_array(scratch, int64_t, (size_t)count);
    const struct shape rows = SHAPE_OF(shape_elements(&x->shape), size_constant(1));
    struct value *const column = build_reshape(c->b, build_cast(c->b, x, d), &rows);
    const struct attr splits = {.name = "splits", .type = ATTR_TENSOR, .t = s.splits};
    struct value *const leaf =
        build_with(c, "stepc.TreeLeaves",
                   ATTRS(attr_ints("features", features, (size_t)s.used), attr_int("leaves", count),
                         attr_ints("next", s.next, (size_t)(2 * s.used)), attr_ints("roots", &root, 1), splits),
                   column);
    return build_reshape(c->b, leaf, &x->shape);
}

/* Elements of a list in the order of sorted keys. */
static struct value *in_order(struct expand_ctx *c, const struct tensor *list, const struct label_key *keys,
                              int64_t count)
{
    struct tensor *const t = tensor_new(c->b->graph->arena, list->dtype, &SHAPE(count));
    for (int64_t k = 0; k < count; k++)
        if (dtype_is_float(list->dtype))
            tensor_set_double(t, k, tensor_get_double(list, keys[k].at));
        else
            tensor_set_int(t, k, tensor_get_int(list, keys[k].at));
    return build_constant(c->b, t);
}

static bool labels_expand(struct expand_ctx *c)
{
    struct arena a = {0};
    struct value *const x = expand_in(c, 0);
    const struct tensor *const keys = list_of(c->node, &a, "keys"), *const values = list_of(c->node, &a, "values");
    const struct label_key *const sorted = sorted_keys(keys, &a);
    int64_t count = keys->count;
    while (count > 0 && isnan(sorted[count - 1].f))
        count--;
    struct value *y = build_constant(c->b, default_of(c->node, c->b->graph->arena, values->dtype));
    if (count > 0) {
        struct value *const at = search_of(c, sorted, count, &a);
        struct value *const found = build(c, "Equal", x, build(c, "Gather", in_order(c, keys, sorted, count), at));
        y = build(c, "Where", found, build(c, "Gather", in_order(c, values, sorted, count), at), y);
    }
    if (count < keys->count)
        y = build(c, "Where", build(c, "IsNaN", x),
                  build_reshape(c->b, in_order(c, values, sorted + count, 1), &SHAPE_SCALAR), y);
    arena_free(&a);
    return expand_out(c, 0, y);
}

#define ML "ai.onnx.ml."
static const struct op_sample samples[] = {
    {.text =
         "g () => (float[2,3] y) { x = Constant <value = int64[2,3] {5, -3, 7, 6, 9007199254740993, 100}> () y = " ML
         "LabelEncoder <keys_int64s = [7, -3, 5, 9007199254740992, 100, 4], values_floats = [0.5, 1.5, 2.5, 3.5, "
         "4.5, 5.5], default_float = -7.5> (x) }"},
    {.text = "g (int64[20] x) => (int64[20] y) { y = " ML
             "LabelEncoder <keys_int64s = [7, 3, 5, 0, 1], values_int64s = [10, 20, 30, 40, 50]> (x) }",
     .feed = "index:9",
     .no_gradient = true},
    {.text = "g () => (int64[6] y) { x = Constant <value = float[6] {1.5, nan, -0.0, 2.0, inf, 1.0}> () y = " ML
             "LabelEncoder <keys_floats = [1.5, nan, 0.0, 1.5, inf], values_int64s = [1, 2, 3, 1, 5], default_int64 = "
             "9> (x) }"},
    {.text = "g () => (double[3] y) { x = Constant <value = int16[3] {1, 2, 3}> () y = " ML
             "LabelEncoder <keys_tensor = int16[2] {3, 1}, values_tensor = double[2] {0.1, 0.2}, default_tensor = "
             "double[1] {0.3}> (x) }"},
    {.text = "g () => (int32[3] y) { x = Constant <value = double[3] {1.0, nan, 3.0}> () y = " ML
             "LabelEncoder <keys_tensor = double[1] {nan}, values_tensor = int32[1] {4}> (x) }"},
    {.text =
         "g (int64[3] x) => (int64[3] y) { y = " ML "LabelEncoder <keys_int64s = [1], values_strings = [\"a\"]> (x) }",
     .error = "its values are strings"},
    {.text =
         "g (int64[3] x) => (int64[3] y) { y = " ML "LabelEncoder <keys_strings = [\"a\"], values_int64s = [1]> (x) }",
     .error = "its keys are strings"},
    {.text = "g (int64[3] x) => (int64[3] y) { y = " ML "LabelEncoder <keys_floats = [1.0], values_int64s = [1]> (x) }",
     .error = "its keys are float, and input 0 'x' is int64"},
    {.text =
         "g (int64[3] x) => (int64[3] y) { y = " ML "LabelEncoder <keys_int64s = [1, 2], values_int64s = [1]> (x) }",
     .error = "it has 2 keys and 1 values"},
    {.text =
         "g (int64[3] x) => (int64[3] y) { y = " ML "LabelEncoder <keys_int64s = [1, 1], values_int64s = [1, 2]> (x) }",
     .error = "its keys 0 and 1 are equal and have different values"},
    {.text = "g (int64[3] x) => (int64[3] y) { y = " ML
             "LabelEncoder <keys_int64s = [9007199254740993, 9007199254740992], values_int64s = [1, 1]> (x) }",
     .error = "are too large to be told apart"},
    {.text = "g (int64[3] x) => (int64[3] y) { y = " ML "LabelEncoder <values_int64s = [1]> (x) }",
     .error = "it does not have one list of keys"},
    {.text = "g (int64[3] x) => (int64[3] y) { y = " ML
             "LabelEncoder <keys_int64s = [1], values_int64s = [1], default_tensor = int64[2] {1, 2}> (x) }",
     .error = "'default_tensor' is not one number"},
    {0}};

const struct op_def op_defs_ml_labels[] = {{.domain = DOMAIN_ML,
                                            .name = "LabelEncoder",
                                            .versions = versions,
                                            .inputs = inputs,
                                            .outputs = outputs,
                                            .attrs = attrs,
                                            .infer = labels_infer,
                                            .grad = grad_none,
                                            .expand = labels_expand,
                                            .eval = labels_eval,
                                            .samples = samples},
                                           {0}};
