/* Folding: what follows from constants and shapes alone is evaluated now, in contract arithmetic, so that the bits are
 * those that generated code would compute.
 *
 *   s = Shape(x); y = Reshape(x, s)          y = Reshape(x, const{2,3})
 *   z = ConstantOfShape<value=1>(s)          z = Expand(const{1}, const{2,3})
 *
 * A value is asked for at most once per fold_epoch of the program (a negative answer is remembered until then), so that
 * asking for every value of a graph is linear. */
#include "rewrite/pass.h"

#include "eval/eval.h"
#include "graph/build.h"
#include "graph/op_def.h"
#include <string.h>

enum {
    LARGEST_RESULT = 65536,      /* elements, per output */
    LARGEST_OPERANDS = 4 * 65536, /* elements, of all inputs together: bounds the time */
    MOST_FOLDED = 32 << 20,      /* elements in a program, ... */
    SMALL_RESULT = 64,           /* ... after which only results up to this size are kept */
    LONG_LIST = 4096,            /* elements of integers that are computed rather than stored */
    LIST_RESULT = 16             /* a list of integers: stays one even if all are equal */
};

/* ---- one node whose inputs are decided --------------------------------------------------------------------------- */

static struct program *program_of(const struct value *v)
{
    return v->producer->graph->program;
}

/* Epochs count from 0, and 0 in a value means that it was not asked for. */
static bool is_unknown(const struct value *v)
{
    return v->kind != VALUE_RESULT || v->unknown_in == program_of(v)->fold_epoch + 1;
}

static bool is_small_enough(const struct node *n)
{
    const int64_t largest = n->graph->program->folded < MOST_FOLDED ? LARGEST_RESULT : SMALL_RESULT;
    int64_t operands = 0;
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i] != NULL && shape_count(&n->outputs.data[i]->shape) > largest)
            return false;
    for (size_t i = 0; i < n->inputs.count && !n->def->shape_only; i++) {
        const int64_t count = n->inputs.data[i] != NULL ? shape_count(&n->inputs.data[i]->shape) : 0;
        if (count > LARGEST_OPERANDS - operands)
            return false;
        operands += count;
    }
    return true;
}

static bool can_fold(const struct node *n)
{
    return !n->removed && !n->def->is_random && !n->def->is_structural && n->def->eval != NULL && is_small_enough(n);
}

static struct eval_tensor *shape_without_data(struct arena *a, const struct value *v)
{
    struct eval_tensor *t = arena_new(a, struct eval_tensor);
    t->dtype = v->dtype;
    t->shape = v->shape;
    t->count = shape_count(&v->shape);
    return t;
}

/* A fault (an index out of range ...) is left to happen at run time, if the node is ever reached. */
static bool evaluate(const struct node *n, struct eval_tensor **out, struct arena *scratch)
{
    const struct eval_tensor **in = arena_array(scratch, const struct eval_tensor *, n->inputs.count);
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *v = n->inputs.data[i];
        if (v != NULL)
            in[i] = n->def->shape_only ? shape_without_data(scratch, v) : eval_from_tensor(scratch, v->constant);
    }
    struct diag quiet = {.arena = scratch};
    return eval_node(n, in, out, ARITHMETIC_SAME, (struct eval_random){0}, scratch, &quiet);
}

static void fold_node(struct node *n)
{
    struct arena scratch = {0};
    struct program *p = n->graph->program;
    struct eval_tensor **out = arena_array(&scratch, struct eval_tensor *, n->outputs.count);
    const bool ok = can_fold(n) && evaluate(n, out, &scratch);
    for (size_t i = 0; i < n->outputs.count; i++) {
        struct value *v = n->outputs.data[i];
        if (v == NULL)
            continue;
        v->unknown_in = p->fold_epoch + 1;
        if (!ok)
            continue;
        struct tensor *const t = eval_to_tensor(p->arena, out[i]);
        t->per = fold_sizes(n, i, &scratch);
        v->constant = t;
        p->folded += v->constant->count;
    }
    arena_free(&scratch);
}

static void mark_unknown(const struct node *n)
{
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i] != NULL)
            n->outputs.data[i]->unknown_in = n->graph->program->fold_epoch + 1;
}

/* Decides n's outputs, or returns the input that has to be decided first. */
static struct value *decide(struct node *n)
{
    struct value *open = NULL;
    bool known = can_fold(n);
    for (size_t i = 0; i < n->inputs.count && known && !n->def->shape_only; i++) {
        struct value *v = n->inputs.data[i];
        if (v == NULL || v->constant != NULL)
            continue;
        if (is_unknown(v))
            known = false;
        else if (open == NULL)
            open = v;
    }
    if (known && open != NULL)
        return open;
    if (known)
        fold_node(n);
    else
        mark_unknown(n);
    return NULL;
}

/* ---- any value --------------------------------------------------------------------------------------------------- */

/* With a stack of its own: chains in a model may be longer than the C stack is deep. */
const struct tensor *fold_value(struct value *v)
{
    if (v->constant != NULL || is_unknown(v))
        return v->constant;
    struct value *open = decide(v->producer);
    if (open == NULL)
        return v->constant;
    struct arena scratch = {0};
    VEC(struct value *) stack = {0};
    vec_push(&scratch, &stack, v);
    vec_push(&scratch, &stack, open);
    while (stack.count > 0) {
        struct value *top = stack.data[stack.count - 1];
        open = top->constant != NULL || is_unknown(top) ? NULL : decide(top->producer);
        if (open != NULL)
            vec_push(&scratch, &stack, open);
        else
            stack.count--;
    }
    arena_free(&scratch);
    return v->constant;
}

static bool is_repeated(const struct tensor *t)
{
    const size_t size = dtype_size(t->dtype);
    const unsigned char *p = t->data;
    return t->count > 0 && t->data != NULL && t->per == NULL && memcmp(p, p + size, ((size_t)t->count - 1) * size) == 0;
}

static const struct tensor *first_element(struct arena *a, const struct tensor *t)
{
    struct tensor *x = tensor_new(a, t->dtype, &SHAPE_SCALAR);
    memcpy(x->data, t->data, dtype_size(t->dtype));
    return x;
}

const struct tensor *uniform_value(struct graph *g, struct value *v)
{
    if (shape_count(&v->shape) == 0)
        return NULL;
    while (v->kind == VALUE_RESULT && v->producer->def->is_broadcast && v->constant == NULL)
        v = v->producer->inputs.data[0];
    const struct tensor *t = value_known(v);
    if (t == NULL || !is_repeated(t))
        return NULL;
    return t->shape.rank == 0 ? t : first_element(g->arena, t);
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

/* Long lists of Range are counted, and so are whole numbers and masks that follow from one, element by element. */
static bool is_counted(const struct node *n, const struct tensor *t)
{
    if (n->def->is_counted)
        return t->count > SMALL_RESULT;
    if (!n->def->is_elementwise || !(dtype_is_int(t->dtype) || t->dtype == DTYPE_BOOL) || t->count <= LONG_LIST)
        return false;
    vec_each(const struct value *, v, &n->inputs)
        if (v != NULL && v->kind == VALUE_CONSTANT && v->constant->count > SMALL_RESULT)
            return false;
    return true;
}

/* What lowering turns into a way of reading its input would only become a second copy. */
static bool is_worth_storing(const struct node *n, const struct tensor *t)
{
    if (is_counted(n, t))
        return false;
    if (!n->def->is_view)
        return true;
    const struct value *x = n->inputs.data[0];
    if (t->count <= (n->def->is_broadcast && dtype_is_float(t->dtype) ? 1 : SMALL_RESULT))
        return true;
    return x->kind == VALUE_CONSTANT && x->uses.count == 1 && t->count == shape_count(&x->shape);
}

static bool is_expanded_scalar(const struct node *n)
{
    return n->def->is_broadcast && n->inputs.data[0]->kind == VALUE_CONSTANT && n->inputs.data[0]->constant->count == 1;
}

/* The form that says most: a number where all elements are equal, else the tensor. NULL: leave the node. */
static struct value *as_constant(struct builder *b, const struct node *n, const struct tensor *t)
{
    const bool is_list = t->shape.rank <= 1 && t->count <= LIST_RESULT && !dtype_is_float(t->dtype);
    if (t->count > 1 && !is_list && is_repeated(t)) {
        if (is_expanded_scalar(n))
            return NULL;
        return build_expand(b, build_constant(b, first_element(b->graph->arena, t)), &t->shape);
    }
    if (!is_worth_storing(n, t))
        return NULL;
    return graph_add_constant(b->graph, arena_printf(b->graph->arena, "%sconst", b->prefix), t); /* of the model */
}

static bool fold_outputs(struct graph *g, struct node *n)
{
    vec_each(struct value *, v, &n->outputs) {
        const struct tensor *t = v != NULL ? fold_value(v) : NULL;
        if (t == NULL || !graph_is_used(g, v))
            continue;
        struct builder b = {.graph = g, .before = n, .loc = n->loc, .prefix = arena_printf(g->arena, "%s.", v->name)};
        struct value *by = as_constant(&b, n, t);
        if (b.failed)
            return false;
        if (by != NULL)
            build_replace(&b, v, by);
    }
    return true;
}

bool rewrite_fold(struct graph *g)
{
    g->program->fold_epoch++;
    graph_each_node(g, n)
        if (!fold_outputs(g, n))
            return false;
    return true;
}
