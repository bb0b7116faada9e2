/* Rules on shapes: reshapes, transpositions, and where repeated elements (Expand) come in. See simplify.c. */
#include "rewrite/pass.h"

#include "graph/op_def.h"
#include "rewrite/simplify.h"

/* ---- reshape, transpose, expand ---------------------------------------------------------------------------------- */

/* The node behind v that only reads its input's elements in the same order under another shape, or NULL. */
static struct node *reshape_behind(const struct value *v)
{
    return v->kind == VALUE_RESULT && v->producer->def->is_reshape ? v->producer : NULL;
}

/* x, if v is one element x repeated by Expand; else NULL. */
static struct value *repeated_element(const struct value *v)
{
    const struct node *expand = rule_producer(v, "Expand");
    return expand != NULL && shape_count(&expand->inputs.data[0]->shape) == 1 ? expand->inputs.data[0] : NULL;
}

/* One element in another arrangement of copies. Its own shape may have more 1s than the result has dimensions. */
static struct value *repeat_element(struct rule_ctx *c, struct value *x)
{
    return rule_expand(c, x->shape.rank <= rule_output(c)->shape.rank ? x : build_reshape(c->b, x, &SHAPE_SCALAR));
}

struct value *simplify_reshape(struct rule_ctx *c)
{
    struct value *x = rule_input(c, 0);
    const struct shape *to = &rule_output(c)->shape;
    if (shape_equal(&x->shape, to))
        return x;
    struct value *element = repeated_element(x);
    if (element != NULL)
        return repeat_element(c, element);
    const struct node *inner = reshape_behind(x);
    return inner != NULL ? build_reshape(c->b, inner->inputs.data[0], to) : NULL;
}

static void get_perm(const struct node *transpose, int perm[SHAPE_MAX_RANK])
{
    const int rank = transpose->inputs.data[0]->shape.rank;
    const struct attr *a = node_attr(transpose, "perm");
    for (int i = 0; i < rank; i++)
        perm[i] = a != NULL ? (int)a->ints[i] : rank - 1 - i;
}

/* Do the dimensions of more than one element keep their order? */
static bool keeps_order(const struct shape *s, const int *perm)
{
    int last = -1;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[perm[i]] == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return true;
}

static struct value *transposed(struct rule_ctx *c, struct value *x)
{
    int perm[SHAPE_MAX_RANK];
    const int rank = x->shape.rank;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return build_transpose(c->b, x, perm);
}

/* Transpose(MatMul(a, b)) = MatMul(b', a'), the same terms in the same order: the gradient of a weight that is used
 * transposed comes out as the weight lies, and the update can follow each element. So it is wherever the product's
 * rows become the last dimension, whatever becomes of the others: the keys of attention, whose gradient is then
 * stored row by row. */
static struct value *turn_product(struct rule_ctx *c, const struct value *x, const int *perm)
{
    const struct node *product = rule_producer(x, "MatMul");
    const int rank = x->shape.rank;
    if (product == NULL || x->uses.count != 1 || graph_gives(c->b->graph, x) || perm[rank - 1] != rank - 2)
        return NULL;
    struct value *a = product->inputs.data[0], *b = product->inputs.data[1];
    if (a->shape.rank < 2 || b->shape.rank < 2)
        return NULL;
    int rest[SHAPE_MAX_RANK];
    bool is_identity = true;
    for (int i = 0; i < rank; i++) {
        rest[i] = perm[i] == rank - 1 ? rank - 2 : perm[i] == rank - 2 ? rank - 1 : perm[i];
        is_identity = is_identity && rest[i] == i;
    }
    struct value *y = build(c, "MatMul", transposed(c, b), transposed(c, a));
    return is_identity ? y : build_transpose(c->b, y, rest);
}

struct value *simplify_transpose(struct rule_ctx *c)
{
    struct value *x = rule_input(c, 0);
    int perm[SHAPE_MAX_RANK];
    get_perm(c->node, perm);
    if (keeps_order(&x->shape, perm))
        return build_reshape(c->b, x, &rule_output(c)->shape);
    struct value *element = repeated_element(x);
    if (element != NULL)
        return repeat_element(c, element);
    const struct node *inner = rule_producer(x, "Transpose");
    if (inner == NULL)
        return turn_product(c, x, perm);
    int first[SHAPE_MAX_RANK], both[SHAPE_MAX_RANK];
    get_perm(inner, first);
    bool is_identity = true;
    for (int i = 0; i < x->shape.rank; i++) {
        both[i] = first[perm[i]];
        is_identity = is_identity && both[i] == i;
    }
    return is_identity ? inner->inputs.data[0] : build_transpose(c->b, inner->inputs.data[0], both);
}

struct value *simplify_expand(struct rule_ctx *c)
{
    struct value *x = rule_input(c, 0);
    if (shape_equal(&x->shape, &rule_output(c)->shape))
        return x;
    const struct node *inner = rule_producer(x, "Expand");
    return inner != NULL ? rule_expand(c, inner->inputs.data[0]) : NULL;
}

/* ---- elementwise operators on repeated elements ------------------------------------------------------------------ */

/* v with fewer elements but the same broadcast content, or v. Dense constants of one number count as repeated. */
static struct value *without_copies(struct rule_ctx *c, struct value *v)
{
    while (rule_producer(v, "Expand") != NULL)
        v = v->producer->inputs.data[0];
    if (v->kind != VALUE_CONSTANT || v->constant->count <= 1)
        return v;
    const struct tensor *element = uniform_value(c->b->graph, v);
    return element != NULL ? build_constant(c->b, element) : v;
}

/* The node once more, on other inputs. */
static struct value *build_again(struct rule_ctx *c, struct value *const *inputs)
{
    const struct node *n = c->node;
    struct attr *attrs = arena_array(c->b->graph->arena, struct attr, n->attrs.count + 1);
    for (size_t i = 0; i < n->attrs.count; i++)
        attrs[i] = n->attrs.data[i];
    return build_value(c->b, n->def->name, attrs, inputs, n->inputs.count);
}

/* Mul(Expand(a), b) = Mul(a, b) where b alone has the full shape; Mul(Expand(a), Expand(b)) = Expand(Mul(a, b)). */
static struct value *drop_copies(struct rule_ctx *c, struct value **inputs)
{
    const struct node *n = c->node;
    const struct shape *full = &rule_output(c)->shape;
    struct shape shape = SHAPE_SCALAR;
    bool any = false;
    for (size_t i = 0; i < n->inputs.count; i++) {
        if (n->inputs.data[i] == NULL)
            continue;
        inputs[i] = without_copies(c, n->inputs.data[i]);
        any = any || inputs[i] != n->inputs.data[i];
        const struct shape so_far = shape;
        if (!shape_broadcast(&shape, &so_far, &inputs[i]->shape))
            UNREACHABLE("inputs of %s do not broadcast", n->def->name);
    }
    if (any && shape_equal(&shape, full)) {
        for (size_t i = 0; i < n->inputs.count; i++)
            node_set_input(c->node, (int)i, inputs[i]);
        return NULL;
    }
    if (any && shape_count(&shape) < shape_count(full))
        return rule_expand(c, build_again(c, inputs));
    return NULL;
}

struct value *simplify_elementwise(struct rule_ctx *c)
{
    if (!c->node->def->is_elementwise || shape_count(&rule_output(c)->shape) == 0)
        return NULL;
    struct arena scratch = {0};
    struct value *few[4] = {NULL};
    const size_t count = c->node->inputs.count;
    struct value *by = drop_copies(c, count <= 4 ? few : arena_array(&scratch, struct value *, count));
    arena_free(&scratch);
    return by;
}
