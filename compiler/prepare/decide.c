/* The main graph is imported twice, with two sizes for whatever size is open. What is the same in both depends on no
 * size, if it was computed of nothing that differs: N > 100 may be false for both, and true for a third. Elements that
 * are chosen out of a shape, and the rank of a shape, are as they are. */
#include "prepare/decide.h"

#include "graph/op_def.h"
#include "train/combine.h"

#include <string.h>

/* A network may be too deep for the first pair of sizes. */
static const int64_t sizes[][2] = {{8, 16}, {224, 448}};

enum { MOST_ROUNDS = 64, MOST_VISITS = 10000, DEEPEST = 200 };

struct decider {
    struct inliner *inliner;
    struct map values[2];
    int visits; /* left for one condition */
};

static bool is_op_of(const struct value *v, const char *const *ops)
{
    for (; v && v->kind == VALUE_RESULT && *ops; ops++)
        if (strcmp(v->producer->def->name, *ops) == 0)
            return true;
    return false;
}

static bool is_shape(const struct value *v)
{
    return is_op_of(v, (const char *const[]){"Shape", NULL});
}

/* Elements of a shape, as they stand there. */
static bool is_part_of_shape(const struct value *v)
{
    static const char *const choices[] = {"Gather", "Slice", "Split", "Squeeze", "Unsqueeze", "Reshape", "Identity",
                                          "Cast", NULL};
    for (int i = 0; i < DEEPEST && is_op_of(v, choices); i++)
        v = node_input(v->producer, 0);
    return is_shape(v);
}

/* Is the result what it is for another reason than its inputs? */
static bool is_fixed_size(const struct value *v)
{
    return is_shape(v) || (is_op_of(v, (const char *const[]){"Size", NULL}) && is_shape(node_input(v->producer, 0)));
}

/* Values of the two imports, of the same place. Is what they hold the same for every size? */
static bool is_settled(struct decider *x, struct value *a, struct value *b, int depth)
{
    if (!a || !b)
        return !a && !b;
    const struct tensor *const s = value_known(a), *const t = value_known(b);
    if (--x->visits < 0 || depth > DEEPEST || !s || !t || !tensor_identical(s, t) || a->kind != b->kind)
        return false;
    if (a->kind != VALUE_RESULT)
        return a->kind == VALUE_CONSTANT;
    const struct node *const m = a->producer, *const n = b->producer;
    if (m->def != n->def || m->inputs.count != n->inputs.count)
        return false;
    if (is_fixed_size(a))
        return true;
    for (size_t i = is_part_of_shape(a) ? 1 : 0; i < m->inputs.count; i++)
        if (!is_settled(x, m->inputs.data[i], n->inputs.data[i], depth + 1))
            return false;
    return true;
}

static const char *choose(void *with, const struct model_node *n)
{
    struct decider *const x = with;
    const char *const name = n->inputs.data[0];
    struct value *const a = map_get(&x->values[0], name), *const b = map_get(&x->values[1], name);
    if (!inline_is_single(x->inliner, name) || !import_is_tensor(a) || !import_is_tensor(b))
        return NULL;
    x->visits = MOST_VISITS;
    if (!is_settled(x, a, b, 0))
        return NULL;
    const struct tensor *const t = value_known(a);
    if (t->count != 1 || !(dtype_is_int(t->dtype) || t->dtype == DTYPE_BOOL))
        return NULL;
    return tensor_get_int(t, 0) != 0 ? "then_branch" : "else_branch";
}

static size_t decide_with(struct inliner *x, const struct import_options *given, const int64_t *size)
{
    struct arena *const a = x->arena;
    struct decider d = {.inliner = x};
    for (int i = 0; i < 2; i++) {
        struct import_options o = given ? *given : (struct import_options){0};
        struct diag silent = {.arena = a};
        o.provisional_dim = size[i];
        combine_values(&silent, a, x->model, &o, &d.values[i]);
    }
    return inline_branches(x, x->model->graph, choose, &d);
}

static bool has_if(const struct model_graph *g)
{
    vec_each(const struct model_node *, n, &g->nodes) {
        if (strcmp(n->op_type, "If") == 0)
            return true;
        model_each_inner(n, inner)
            if (has_if(inner))
                return true;
    }
    return false;
}

static size_t decide_all(struct inliner *x, const struct import_options *options)
{
    size_t all = 0, now = 1;
    for (int round = 0; round < MOST_ROUNDS && now > 0 && has_if(x->model->graph); round++) {
        now = 0;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && now == 0; i++)
            now = decide_with(x, options, sizes[i]);
        all += now;
    }
    return all;
}

size_t decide_branches(struct inliner *x, const struct import_options *options, size_t *by_sizes)
{
    const bool sizes_given = options && ((options->dims && options->dims->count > 0) ||
                                         (options->shapes && options->shapes->count > 0));
    const size_t always = decide_all(x, NULL);
    *by_sizes = sizes_given ? decide_all(x, options) : 0;
    return always + *by_sizes;
}
