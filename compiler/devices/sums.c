/* What is put together over samples, on the way to where runtime/mpi adds it up. That happens at the end of an entry,
 * so until then each device has a sum of its own samples: right where only linear operators lead from it to a sum that
 * is updated, wrong where anything else goes on with it (x - ReduceMean(x), Log(ReduceMean(x))). A mean becomes a sum
 * once it is multiplied by the number of samples. Outputs of a call are those of its own samples. */
#include "devices/judge_internal.h"

#include "graph/axes.h"

enum {
    OF_EACH, /* in parts, or the same whatever the samples are */
    A_COUNT, /* of the device's own samples, or a multiple */
    A_SIZE,  /* such a count and what is none: n + 1, or {n, 4} */
    A_MEAN,  /* of them */
    A_SUM,   /* of them */
    A_RATIO  /* of such sums, or of sums and what is none: nothing but an output may have it */
};

#define OPERAND(i) (1u << (i))
enum { ALL = ~0u >> 1 };

/* Operands that may be sums at once, and those of which one may be; flags of the operator say the rest. */
static const struct linear {
    const char *op;
    unsigned together, apart;
} linear_operators[] = {
    {"Add", ALL, 0},
    {"Sub", ALL, 0},
    {"Sum", ALL, 0},
    {"Mean", ALL, 0},
    {"Neg", ALL, 0},
    {"Concat", ALL, 0},
    {"Identity", ALL, 0},
    {"Cast", ALL, 0},
    {"Transpose", ALL, 0},
    {"Mul", 0, OPERAND(0) | OPERAND(1)},
    {"Div", OPERAND(0), 0},
    {"Gemm", OPERAND(2), OPERAND(0) | OPERAND(1)},
    {"Einsum", 0, ALL},
    {"Where", OPERAND(1) | OPERAND(2), 0},
    {"Slice", OPERAND(0), 0},
    {"Split", OPERAND(0), 0},
    {"Gather", OPERAND(0), 0},
    {"GatherElements", OPERAND(0), 0},
    {"Pad", OPERAND(0), 0},
    {"Tile", OPERAND(0), 0},
    {"Trilu", OPERAND(0), 0},
};

/* Operators that add up over the axes that they leave out, as all do that are sums. */
static const char *const adding[] = {"ReduceSumSquare", "ReduceL1", "Einsum"};

static bool is_one_of(const struct node *n, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (node_is(n, names[i]))
            return true;
    return false;
}

static bool is_loss(const struct node *n)
{
    return node_is(n, "SoftmaxCrossEntropyLoss") || node_is(n, "NegativeLogLikelihoodLoss") ||
           n->def == op_find(DOMAIN_STEPC, "SoftmaxCrossEntropyProbabilities");
}

/* Size(x), Shape(x)[d], where axis d of x is in parts. */
static bool is_count(struct follower *f, const struct node *n)
{
    bool stated = false;
    const struct node *const shape = node_is(n, "Gather") ? n->inputs.data[0]->producer : n;
    const struct value *const x = shape && shape->inputs.count > 0 ? shape->inputs.data[0] : NULL;
    const struct shards *s = x ? stated_shards(f, shape->placed, x, false, &stated) : NULL;
    s = x && !stated ? f->of[x->id] : s;
    if (!s || shards_are_whole(s) || (shape != n && !node_is(shape, "Shape")))
        return false;
    if (shape == n)
        return node_is(n, "Size");
    const struct tensor *const which = value_known(n->inputs.data[1]);
    const int64_t axis = which && which->count == 1 ? tensor_get_int(which, 0) : s->rank;
    return axis >= 0 && axis < s->rank && node_attr(shape, "start") == NULL && s->parts[axis] > 1;
}

/* 0 adds nothing; a variable that samples are added to is one sum, however many add to it. */
static bool adds_to_a_sum(struct value *v)
{
    const struct tensor *const known = value_known(v);
    return (known && tensor_is_zero(known)) || (v->kind == VALUE_VARIABLE && v->variable->role == ROLE_SUM);
}

/* What the node gives that leaves samples out; -1: no sum. Of a loss's mean, samples weigh alike. */
static int put_together(const struct node *n)
{
    if (is_loss(n))
        return !str_equal(op_attr_string(n, "reduction"), "mean")    ? A_SUM
               : node_input(n, 2) || node_attr(n, "ignore_index") ? A_RATIO
                                                                     : A_MEAN;
    if (node_is(n, "ReduceMean") || node_is(n, "BatchNormalization"))
        return A_MEAN;
    if ((node_is(n, "Gemm") || node_is(n, "Conv") || node_is(n, "ConvTranspose")) && node_input(n, 2) &&
        !adds_to_a_sum(node_input(n, 2)))
        return A_RATIO; /* each device adds the third operand */
    return n->def->is_sum || is_one_of(n, adding, sizeof adding / sizeof *adding) ? A_SUM : -1;
}

static struct linear linear_operands(const struct node *n)
{
    for (size_t i = 0; i < sizeof linear_operators / sizeof *linear_operators; i++)
        if (node_is(n, linear_operators[i].op))
            return linear_operators[i];
    return (struct linear){NULL, n->def->is_reshape || n->def->is_broadcast ? OPERAND(0) : 0, n->def->is_sum ? ALL : 0};
}

static unsigned operand(size_t i)
{
    return OPERAND(i < 31 ? i : 30);
}

static bool is_linear(const struct node *n, const unsigned char *sums)
{
    const struct linear of = linear_operands(n);
    unsigned given = 0;
    for (size_t i = 0; i < n->inputs.count; i++)
        if (n->inputs.data[i] && sums[n->inputs.data[i]->id] != OF_EACH)
            given |= operand(i);
    const unsigned apart = of.apart & given;
    return (given & ~(of.together | apart)) == 0 && (apart & (apart - 1)) == 0;
}

/* Does a linear node put a sum together with what is none? Each device would count that again. A mean may be: it is
 * multiplied by the number of samples yet. */
static bool has_other_terms(const struct node *n, const unsigned char *sums)
{
    const struct linear of = linear_operands(n);
    if (node_is(n, "Gemm") && sums[n->inputs.data[0]->id] == OF_EACH && sums[n->inputs.data[1]->id] == OF_EACH)
        return true;
    for (size_t i = 0; i < n->inputs.count; i++) {
        struct value *const v = n->inputs.data[i];
        const int kind = v ? sums[v->id] : A_SUM;
        if ((of.together & operand(i)) && (kind == A_SIZE || (kind == OF_EACH && !adds_to_a_sum(v))))
            return true;
    }
    return false;
}

static bool is_split(const struct shards *s)
{
    return s && !shards_are_whole(s);
}

static bool refuse_sum(struct follower *f, const struct node *n, const struct value *v)
{
    return refuse_to_execute(f, &n->loc,
                             "%s reads '%s', which is put together over samples: nothing but sums is, and that at the "
                             "end of an entry, so each device of '%s' would go on with that of its own samples",
                             op_display_name(n->def), v->name, f->configuration->name);
}

/* x y, x / y; -1: neither has a kind of its own. */
static int kind_of_pair(const struct node *n, int x, int y)
{
    if (node_is(n, "Mul") && ((x == A_MEAN && y == A_COUNT) || (x == A_COUNT && y == A_MEAN)))
        return A_SUM;
    if (!node_is(n, "Div") || (x != A_SUM && x != A_MEAN))
        return -1;
    if (x == A_SUM && y == A_COUNT)
        return A_MEAN;
    return y == OF_EACH || y == A_RATIO ? -1 : A_RATIO;
}

/* Of operands that are sums; OF_EACH: none is. */
static int kind_of_operands(struct follower *f, const struct node *n, const struct shards *const *in)
{
    const struct value *sum = NULL;
    bool split = false, has_mean = false, has_sum = false;
    int kind = OF_EACH;
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *const v = n->inputs.data[i];
        const int own = v ? f->sums[v->id] : OF_EACH;
        split = split || (v && is_split(in[i]));
        has_mean = has_mean || own == A_MEAN;
        has_sum = has_sum || own == A_SUM || own == A_COUNT || own == A_SIZE;
        if (own > kind) {
            sum = v;
            kind = own;
        }
    }
    if (n->def->shape_only || node_is(n, "Gather"))
        if (is_count(f, n))
            return A_COUNT;
    if (!sum || n->def->shape_only)
        return OF_EACH;
    const int pair = n->inputs.count == 2 && !split
                         ? kind_of_pair(n, f->sums[n->inputs.data[0]->id], f->sums[n->inputs.data[1]->id])
                         : -1;
    if (pair >= 0)
        return pair;
    if (!split && is_linear(n, f->sums)) {
        if (has_mean)
            return has_sum ? A_RATIO : kind;
        return !has_other_terms(n, f->sums) ? kind : kind == A_COUNT || kind == A_SIZE ? A_SIZE : A_RATIO;
    }
    if (kind == A_COUNT || kind == A_SIZE) /* anything else of a number is none of samples */
        return OF_EACH;
    refuse_sum(f, n, sum);
    return kind;
}

static bool has_label(const struct axes_ctx *axes, size_t o, int label)
{
    for (int d = 0; d < axes->node->outputs.data[o]->shape.rank; d++)
        if (axes->out[o][d] == label)
            return true;
    return false;
}

/* Is an axis that is in parts left out in the result? */
static bool leaves_out(const struct axes_ctx *axes, const struct shards *const *in, size_t o)
{
    const struct node *const n = axes->node;
    for (size_t i = 0; i < n->inputs.count; i++)
        for (int d = 0; n->inputs.data[i] && d < n->inputs.data[i]->shape.rank; d++)
            if (in[i]->parts[d] > 1 && !has_label(axes, o, axes->in[i][d]))
                return true;
    return false;
}

/* A derivative by what is whole adds up over samples, if what it is one of does. */
static void judge_gradient(struct follower *f, const struct node *n)
{
    const struct attr *const y = node_attr(n, "y");
    const struct value *const of = y ? graph_find(n->graph, y->s) : NULL;
    const bool adds = !of || f->sums[of->id] >= A_MEAN || is_split(f->of[of->id]);
    const int kind = of && f->sums[of->id] == A_MEAN ? A_MEAN : A_SUM;
    if (of && f->sums[of->id] == A_RATIO)
        refuse_sum(f, n, of);
    for (size_t o = 0; o < n->outputs.count; o++)
        if (n->outputs.data[o])
            f->sums[n->outputs.data[o]->id] = !adds || is_split(f->of[n->outputs.data[o]->id]) ? OF_EACH : kind;
}

static void judge_bindings(struct follower *f, const struct graph *g)
{
    vec_each_ptr(const struct binding, b, &g->bindings)
        if (f->sums[b->value->id] == A_RATIO || f->sums[b->value->id] == A_SIZE ||
            (f->sums[b->value->id] == A_MEAN && b->variable->role == ROLE_SUM) || is_split(f->of[b->value->id]))
            refuse_to_execute(f, &b->loc,
                              "what updates '%s' is no sum over samples, and nothing but sums is put together between "
                              "the devices of '%s'",
                              b->variable->name, f->configuration->name);
}

void judge_sums(struct follower *f, const struct node *n, const struct shards *const *in)
{
    struct arena scratch = {0};
    struct axes_ctx axes;
    if (n->def->is_structural)
        judge_gradient(f, n);
    else {
        const int kind = kind_of_operands(f, n, in);
        const bool ruled = !n->def->is_reshape && node_axes(&scratch, n, &axes); /* those keep all elements */
        for (size_t o = 0; o < n->outputs.count && f->ok; o++) {
            int own = kind;
            if (n->outputs.data[o] && ruled && !n->def->shape_only && leaves_out(&axes, in, o) &&
                (own = put_together(n)) < 0)
                refuse_to_execute(f, &n->loc,
                                  "%s puts samples together otherwise than by a sum, and nothing but sums is put "
                                  "together between the devices of '%s'",
                                  op_display_name(n->def), f->configuration->name);
            if (n->outputs.data[o])
                f->sums[n->outputs.data[o]->id] = (unsigned char)own;
        }
    }
    if (f->ok && !n->next)
        judge_bindings(f, n->graph);
    arena_free(&scratch);
}
