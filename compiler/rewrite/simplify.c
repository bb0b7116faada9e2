/* Local rules that keep every bit, for NaN, infinities and -0 too: what is not exact is not here (x + 0.0 turns -0 into
 * 0, so only x + -0.0 goes), but for two that docs/numerics.md names: fixed powers and divisions by a number are
 * products.
 *
 *   d = Expand(const{1}, ..); e = Mul(d, g); y = Transpose(Transpose(e))        y = g
 *
 * One rule looks at one node and the producers of its inputs; nodes are visited in order, so chains collapse in one
 * walk. What a rule makes obsolete is left to dce. */
#include "rewrite/pass.h"

#include "graph/build.h"
#include "graph/op_def.h"
#include "rewrite/simplify.h"
#include <float.h>
#include <math.h>

struct value *rule_input(const struct rule_ctx *c, size_t i)
{
    return node_input(c->node, i);
}

const struct value *rule_output(const struct rule_ctx *c)
{
    return c->node->outputs.data[0];
}

struct node *rule_producer(const struct value *v, const char *op)
{
    return v != NULL && v->kind == VALUE_RESULT && node_is(v->producer, op) ? v->producer : NULL;
}

struct value *rule_expand(struct rule_ctx *c, struct value *x)
{
    return build_expand(c->b, x, &rule_output(c)->shape);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Is every element of v the number x? Of the two zeros only the one meant. */
static bool is_number(const struct rule_ctx *c, struct value *v, double x)
{
    const struct tensor *t = uniform_value(c->b->graph, v);
    if (t == NULL)
        return false;
    if (!dtype_is_float(t->dtype))
        return tensor_get_int(t, 0) == (int64_t)x;
    const double its = tensor_get_double(t, 0);
    return its == x && !signbit(its) == !signbit(x);
}

/* The number that leaves any x unchanged when added: -0.0, as +0.0 would turn -0 into +0. */
static bool is_neutral_sum(const struct rule_ctx *c, struct value *v)
{
    return is_number(c, v, dtype_is_float(v->dtype) ? -0.0 : 0.0);
}

/* x + -y = x - y */
static struct value *simplify_add(struct rule_ctx *c)
{
    struct value *a = rule_input(c, 0), *b = rule_input(c, 1);
    if (is_neutral_sum(c, b))
        return rule_expand(c, a);
    if (is_neutral_sum(c, a))
        return rule_expand(c, b);
    const struct node *neg = rule_producer(b, "Neg");
    if (neg != NULL)
        return build(c, "Sub", a, neg->inputs.data[0]);
    neg = rule_producer(a, "Neg");
    return neg != NULL ? build(c, "Sub", b, neg->inputs.data[0]) : NULL;
}

/* x - -y = x + y */
static struct value *simplify_sub(struct rule_ctx *c)
{
    struct value *a = rule_input(c, 0), *b = rule_input(c, 1);
    if (is_number(c, b, 0.0))
        return rule_expand(c, a);
    const struct node *neg = rule_producer(b, "Neg");
    return neg != NULL ? build(c, "Add", a, neg->inputs.data[0]) : NULL;
}

/* (-x) op (-y) = x op y for products and quotients, of floats */
static struct value *drop_both_signs(struct rule_ctx *c)
{
    const struct node *a = rule_producer(rule_input(c, 0), "Neg"), *b = rule_producer(rule_input(c, 1), "Neg");
    if (a == NULL || b == NULL || !dtype_is_float(rule_output(c)->dtype))
        return NULL;
    return build(c, c->node->def->name, a->inputs.data[0], b->inputs.data[0]);
}

static struct value *simplify_mul(struct rule_ctx *c)
{
    struct value *a = rule_input(c, 0), *b = rule_input(c, 1);
    if (is_number(c, b, 1.0))
        return rule_expand(c, a);
    if (is_number(c, a, 1.0))
        return rule_expand(c, b);
    if (!dtype_is_float(a->dtype) && is_number(c, a, 0.0))
        return rule_expand(c, a);
    if (!dtype_is_float(a->dtype) && is_number(c, b, 0.0))
        return rule_expand(c, b);
    return drop_both_signs(c);
}

/* x / c = x * (1 / c) for one number c of float or double that is normal and whose inverse is. For powers of 2 that is
 * exact, for others the product is what docs/numerics.md says of them: a division takes as long as ten products. */
static struct value *multiply_by_inverse(struct rule_ctx *c)
{
    struct value *x = rule_input(c, 0);
    const struct value *y = rule_output(c);
    const struct tensor *by = uniform_value(c->b->graph, rule_input(c, 1));
    if (by == NULL || (y->dtype != DTYPE_FLOAT && y->dtype != DTYPE_DOUBLE) || !shape_equal(&x->shape, &y->shape))
        return NULL;
    const bool narrow = y->dtype == DTYPE_FLOAT;
    const double number = tensor_get_double(by, 0), inverse = narrow ? (double)(1.0f / (float)number) : 1 / number;
    const double least = narrow ? (double)FLT_MIN : DBL_MIN;
    if (!(fabs(number) >= least && fabs(inverse) >= least)) /* nor NaN, nor infinite */
        return NULL;
    return build(c, "Mul", x, build_like(c, y, inverse));
}

static struct value *simplify_div(struct rule_ctx *c)
{
    if (is_number(c, rule_input(c, 1), 1.0))
        return rule_expand(c, rule_input(c, 0));
    struct value *by = drop_both_signs(c);
    return by != NULL ? by : multiply_by_inverse(c);
}

/* Squares and cubes of fixed exponent are products. That is no rule that keeps every bit: the product is what
 * docs/numerics.md says of them. */
static struct value *simplify_pow(struct rule_ctx *c)
{
    struct value *x = rule_input(c, 0), *exponent = rule_input(c, 1);
    if (x->dtype != rule_output(c)->dtype || !shape_equal(&x->shape, &rule_output(c)->shape))
        return NULL;
    if (is_number(c, exponent, 1.0))
        return x;
    if (is_number(c, exponent, 2.0))
        return build(c, "Mul", x, x);
    return is_number(c, exponent, 3.0) ? build(c, "Mul", build(c, "Mul", x, x), x) : NULL;
}

/* And, Or: one operand changes nothing, or decides. */
static struct value *simplify_and_or(struct rule_ctx *c)
{
    const bool is_and = node_is(c->node, "And");
    for (size_t i = 0; i < 2; i++) {
        if (is_number(c, rule_input(c, i), is_and))
            return rule_expand(c, rule_input(c, 1 - i));
        if (is_number(c, rule_input(c, i), !is_and))
            return rule_expand(c, rule_input(c, i));
    }
    return NULL;
}

/* Neg(Neg(x)), Not(Not(x)) */
static struct value *simplify_involution(struct rule_ctx *c)
{
    const struct node *inner = rule_producer(rule_input(c, 0), c->node->def->name);
    return inner != NULL ? inner->inputs.data[0] : NULL;
}

static struct value *simplify_where(struct rule_ctx *c)
{
    struct value *x = rule_input(c, 1), *y = rule_input(c, 2);
    if (x == y)
        return rule_expand(c, x);
    const struct tensor *t = uniform_value(c->b->graph, rule_input(c, 0));
    return t != NULL ? rule_expand(c, tensor_get_int(t, 0) != 0 ? x : y) : NULL;
}

/* ---- the value itself -------------------------------------------------------------------------------------------- */

static struct value *simplify_identity(struct rule_ctx *c)
{
    return rule_input(c, 0);
}

/* Sum, Max, Min, Mean, Concat of one operand; Clip without bounds */
static struct value *simplify_single(struct rule_ctx *c)
{
    return c->node->inputs.count == 1 ? rule_input(c, 0) : NULL;
}

/* Split into one, Tile by ones: the shape says it all. */
static struct value *simplify_if_same_shape(struct rule_ctx *c)
{
    return shape_equal(&rule_input(c, 0)->shape, &rule_output(c)->shape) ? rule_input(c, 0) : NULL;
}

/* The shape is that of the input only if everything is taken, perhaps backwards. */
static struct value *simplify_slice(struct rule_ctx *c)
{
    struct value *steps = rule_input(c, 4);
    const struct tensor *t = steps != NULL ? value_known(steps) : NULL;
    bool is_forward = steps == NULL || t != NULL;
    for (int64_t i = 0; t != NULL && i < t->count; i++)
        is_forward = is_forward && tensor_get_int(t, i) > 0;
    return is_forward ? simplify_if_same_shape(c) : NULL;
}

static struct value *simplify_pad(struct rule_ctx *c)
{
    return rule_input(c, 1) != NULL && is_number(c, rule_input(c, 1), 0.0) ? simplify_if_same_shape(c) : NULL;
}

/* Not training: the identity. The mask, all true, is Dropout's own affair. */
static struct value *simplify_dropout(struct rule_ctx *c)
{
    struct value *training = rule_input(c, 2);
    if (node_output(c->node, 1) != NULL || (training != NULL && !is_number(c, training, 0.0)))
        return NULL;
    return rule_input(c, 0);
}

/* Is every value of `from` a value of `to`? */
static bool is_widening(enum dtype from, enum dtype to)
{
    static const int digits[] = {[DTYPE_FLOAT16] = 11, [DTYPE_BFLOAT16] = 8, [DTYPE_FLOAT] = 24, [DTYPE_DOUBLE] = 53};
    const int bits = dtype_bits(from);
    if (!(DTYPES_ALL & DTYPE_BIT(from)) || !(DTYPES_ALL & DTYPE_BIT(to)) || to == DTYPE_BOOL)
        return false;
    if (from == DTYPE_BOOL || (dtype_is_float(from) && to == DTYPE_DOUBLE))
        return true;
    if (dtype_is_float(from))
        return to == DTYPE_FLOAT && from != DTYPE_DOUBLE;
    if (dtype_is_float(to))
        return bits - dtype_is_signed(from) <= digits[to];
    if (dtype_is_signed(from) == dtype_is_signed(to))
        return dtype_bits(to) >= bits;
    return dtype_is_signed(to) && dtype_bits(to) > bits;
}

/* There and back through a type that holds every value. */
static struct value *simplify_cast(struct rule_ctx *c)
{
    struct value *x = rule_input(c, 0);
    if (x->dtype == rule_output(c)->dtype)
        return x;
    const struct node *inner = rule_producer(x, "Cast");
    if (inner == NULL)
        return NULL;
    struct value *first = inner->inputs.data[0];
    return first->dtype == rule_output(c)->dtype && is_widening(first->dtype, x->dtype) ? first : NULL;
}

/* ---- reductions of single elements ------------------------------------------------------------------------------- */

/* Axes of one element count as absent: a float sum over one element is that element, -0 too. */
static struct value *simplify_reduce_exact(struct rule_ctx *c)
{
    const struct value *y = rule_output(c);
    if (shape_count(&rule_input(c, 0)->shape) != shape_count(&y->shape) || shape_count(&y->shape) == 0)
        return NULL;
    return build_reshape(c->b, rule_input(c, 0), &y->shape);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const struct rule {
    const char *op;
    struct value *(*run)(struct rule_ctx *c);
} rules[] = {
    {"Add", simplify_add},
    {"And", simplify_and_or},
    {"Cast", simplify_cast},
    {"Clip", simplify_single},
    {"Concat", simplify_single},
    {"Div", simplify_div},
    {"Dropout", simplify_dropout},
    {"Expand", simplify_expand},
    {"Flatten", simplify_reshape},
    {"Identity", simplify_identity},
    {"Max", simplify_single},
    {"Mean", simplify_single},
    {"Min", simplify_single},
    {"Mul", simplify_mul},
    {"Neg", simplify_involution},
    {"Not", simplify_involution},
    {"Or", simplify_and_or},
    {"Pad", simplify_pad},
    {"Pow", simplify_pow},
    {"ReduceMax", simplify_reduce_exact},
    {"ReduceMin", simplify_reduce_exact},
    {"ReduceSum", simplify_reduce_exact},
    {"Reshape", simplify_reshape},
    {"Slice", simplify_slice},
    {"Split", simplify_if_same_shape},
    {"Squeeze", simplify_reshape},
    {"Sub", simplify_sub},
    {"Sum", simplify_single},
    {"Tile", simplify_if_same_shape},
    {"Transpose", simplify_transpose},
    {"Unsqueeze", simplify_reshape},
    {"Where", simplify_where},
};

static const struct rule *find_rule(const struct map *by_op, const struct node *n)
{
    return node_is(n, n->def->name) ? map_get(by_op, n->def->name) : NULL;
}

static bool simplify_node(struct graph *g, const struct map *by_op, struct node *n, struct arena *scratch)
{
    struct value *y = node_output(n, 0);
    if (y == NULL)
        return true;
    struct builder b = {.graph = g, .before = n, .loc = n->loc, .prefix = arena_printf(scratch, "%s.", y->name)};
    struct rule_ctx c = {.b = &b, .node = n};
    const struct rule *rule = find_rule(by_op, n);
    struct value *by = rule != NULL ? rule->run(&c) : NULL;
    if (by == NULL)
        by = simplify_elementwise(&c);
    if (by != NULL && !b.failed)
        build_replace(&b, y, by);
    return !b.failed;
}

bool rewrite_simplify(struct graph *g)
{
    struct arena scratch = {0};
    struct map by_op = {.arena = &scratch};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        map_set(&by_op, rules[i].op, (void *)&rules[i]);
    bool ok = true;
    graph_each_node(g, n)
        ok = ok && simplify_node(g, &by_op, n, &scratch);
    arena_free(&scratch);
    return ok;
}
