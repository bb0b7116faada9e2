/* Einsum: sums of products over named axes. y[out labels] = sum over all other labels of x0[..] * x1[..] * ...
 *
 *   "ij,jk->ik"   a product of matrices          "ii->i"      a diagonal
 *   "ij,kj"       without "->" the output has the labels that occur once, i and k, in alphabetical order (capital
 *                 letters first),
 *                 behind the ellipsis
 *   "...ij->...ji"  the ellipsis stands for all axes that are not named; those of several operands broadcast
 *
 * Where ONNX says nothing, as PyTorch: an axis of one element broadcasts, and an ellipsis that the output lacks is
 * summed over.
 *
 * It is expanded: diagonals are slices with a stride, labels that one operand has alone are summed first, then
 * operands meet in pairs, the cheapest first: MatMul where a label ends with the pair, else Mul. The gradient is
 * that of the expansion. Integers of less than 32 bits are computed in 32, which after wrapping is the same. Spec:
 * ONNX Einsum-12. */
#include "base/checked.h"
#include "ops/op.h"

#include <string.h>

/* Labels: A to Z, a to z, then the axes of the ellipsis, counted from its end. */
enum { LETTERS = 52, LABELS = LETTERS + SHAPE_MAX_RANK, PAIRS_WEIGHED = 32, MOST_OPERANDS = 1024 };

struct term {
    int rank;
    int label[SHAPE_MAX_RANK]; /* by axis */
};

struct einsum {
    size_t count; /* of operands */
    struct term *terms;
    struct term out;
    int64_t size[LABELS]; /* -1: no such label */
    int64_t per[LABELS];  /* of each as a size (tensor/size.h) */
};

static const struct op_param inputs[] = {
    {.name = "Inputs", .type = 'T', .dtypes = DTYPES_NUMERIC, .flags = PARAM_VARIADIC}, {0}};
static const struct op_param outputs[] = {{.name = "Output", .type = 'T', .dtypes = DTYPES_NUMERIC}, {0}};
static const struct op_attr attrs[] = {{.name = "equation", .type = ATTR_STRING, .required = true}, {0}};
static const struct op_version versions[] = {{.since = 12}, {0}};

static struct size size_of_label(const struct einsum *e, int label)
{
    return (struct size){e->size[label], e->per[label]};
}

/* ---- the equation ----------------------------------------------------------------------------------------------- */

/* The labels of a term, each letter one, as they stand; -1 is the ellipsis. */
struct spelled {
    int count;
    int label[LETTERS + 1];
    bool has_ellipsis;
};

static int label_of(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? 26 + (c - 'a') : -1;
}

static char letter_of(int label)
{
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

/* Reads up to a comma, an arrow or the end of a term that stands in `equation`. What is wrong, or NULL. */
static const char *read_term(struct arena *a, const char *equation, const char **text, struct spelled *s)
{
    *s = (struct spelled){.count = 0};
    for (; **text != '\0' && **text != ',' && strncmp(*text, "->", 2) != 0; ++*text) {
        const int label = label_of(**text);
        if (**text == ' ')
            continue;
        if (s->count > LETTERS)
            return "a term has more than 52 labels";
        if (label >= 0) {
            s->label[s->count++] = label;
        } else if (strncmp(*text, "...", 3) == 0 && !s->has_ellipsis) {
            s->has_ellipsis = true;
            s->label[s->count++] = -1;
            *text += 2;
        } else {
            return arena_printf(a, "'%c' at position %d is no label", **text, (int)(*text - equation));
        }
    }
    return NULL;
}

/* Gives the ellipsis so many axes. */
static bool spell_out(const struct spelled *s, int ellipsis, struct term *t)
{
    const int rank = s->count + (s->has_ellipsis ? ellipsis - 1 : 0);
    t->rank = 0;
    if (rank > SHAPE_MAX_RANK)
        return false;
    for (int i = 0; i < s->count; i++)
        if (s->label[i] >= 0)
            t->label[t->rank++] = s->label[i];
        else
            for (int k = ellipsis; k-- > 0;)
                t->label[t->rank++] = LETTERS + k;
    return true;
}

/* A label's axes are equally long, or one element that broadcasts (not beside another axis of the same operand). */
static const char *add_sizes(struct arena *a, struct einsum *e, const struct term *t, const struct shape *s)
{
    for (int d = 0; d < t->rank; d++) {
        const int l = t->label[d];
        const char *const name = l < LETTERS ? arena_printf(a, "label '%c'", letter_of(l)) : "an axis of the ellipsis";
        for (int k = 0; k < d; k++)
            if (t->label[k] == l && s->dim[k] != s->dim[d])
                return arena_printf(a, "%s stands for axes of %lld and %lld elements of one input", name,
                                    (long long)s->dim[k], (long long)s->dim[d]);
        if (e->size[l] < 0 || e->size[l] == 1)
            e->size[l] = s->dim[d], e->per[l] = s->per[d];
        else if (s->dim[d] != 1 && s->dim[d] != e->size[l])
            return arena_printf(a, "%s stands for axes of %lld and %lld elements", name, (long long)e->size[l],
                                (long long)s->dim[d]);
    }
    return NULL;
}

static const char *explicit_output(struct arena *a, struct einsum *e, const char *equation, const char *text,
                                   int ellipsis)
{
    struct spelled s;
    const char *const wrong = read_term(a, equation, &text, &s);
    if (wrong != NULL)
        return wrong;
    if (*text != '\0')
        return "the output has more than one term";
    for (int i = 0; i < s.count; i++) {
        if (s.label[i] >= 0 && e->size[s.label[i]] < 0)
            return arena_printf(a, "label '%c' of the output is in no input", letter_of(s.label[i]));
        for (int k = 0; k < i; k++)
            if (s.label[k] == s.label[i])
                return arena_printf(a, "label '%c' is twice in the output", letter_of(s.label[i]));
    }
    return spell_out(&s, ellipsis, &e->out) ? NULL
                                            : arena_printf(a, "the output has more than %d axes", SHAPE_MAX_RANK);
}

static const char *implicit_output(struct arena *a, struct einsum *e, int ellipsis)
{
    int times[LETTERS] = {0};
    struct spelled s = {.count = 1, .label = {-1}, .has_ellipsis = true};
    for (size_t i = 0; i < e->count; i++)
        for (int d = 0; d < e->terms[i].rank; d++)
            if (e->terms[i].label[d] < LETTERS)
                times[e->terms[i].label[d]]++;
    for (int l = 0; l < LETTERS; l++)
        if (times[l] == 1)
            s.label[s.count++] = l;
    return spell_out(&s, ellipsis, &e->out) ? NULL
                                            : arena_printf(a, "the output has more than %d axes", SHAPE_MAX_RANK);
}

/* What is wrong with the equation for inputs of these shapes, or NULL; *e in the arena. */
static const char *parse(struct arena *a, const char *text, const struct shape *const *shapes, size_t count,
                         struct einsum *e)
{
    const char *const begin = text;
    int most = 0;
    *e = (struct einsum){.count = count, .terms = arena_array(a, struct term, count)};
    for (int l = 0; l < LABELS; l++)
        e->size[l] = -1;
    for (size_t i = 0; i < count; i++) {
        struct spelled s;
        const char *wrong = read_term(a, begin, &text, &s);
        const int rank = shapes[i]->rank, ellipsis = rank - s.count + 1;
        if (wrong != NULL)
            return wrong;
        if (s.has_ellipsis ? ellipsis < 0 : s.count != rank)
            return arena_printf(a, "term %zu names %d axes, but the input has rank %d", i, s.count - s.has_ellipsis,
                                rank);
        if (!spell_out(&s, ellipsis, &e->terms[i]))
            UNREACHABLE("a term has more axes than its input");
        if (s.has_ellipsis && ellipsis > most)
            most = ellipsis;
        wrong = add_sizes(a, e, &e->terms[i], shapes[i]);
        if (wrong != NULL)
            return wrong;
        if (i + 1 < count && *text++ != ',')
            return arena_printf(a, "it has %zu terms, but there are %zu inputs", i + 1, count);
    }
    if (*text == '\0')
        return implicit_output(a, e, most);
    if (*text == ',')
        return arena_printf(a, "it has more terms than the %zu inputs", count);
    return explicit_output(a, e, begin, text + 2, most);
}

static const char *parse_node(struct arena *a, const struct node *n, struct einsum *e)
{
    const struct shape **const shapes = arena_array(a, const struct shape *, n->inputs.count);
    for (size_t i = 0; i < n->inputs.count; i++)
        shapes[i] = &n->inputs.data[i]->shape;
    return parse(a, op_attr_string(n, "equation"), shapes, n->inputs.count, e);
}

static bool einsum_infer(struct infer_ctx *c)
{
    if (c->node->inputs.count > MOST_OPERANDS)
        return infer_unsupported(c, "%zu operands are not supported, at most %d are", c->node->inputs.count,
                                 MOST_OPERANDS);
    struct arena scratch = {0};
    struct einsum e;
    const char *const wrong = parse_node(&scratch, c->node, &e);
    struct shape s = {.rank = 0};
    if (wrong != NULL)
        infer_error(c, "equation '%s': %s", op_attr_string(c->node, "equation"), wrong);
    else
        for (int d = 0; d < e.out.rank; d++)
            shape_add(&s, size_of_label(&e, e.out.label[d]));
    arena_free(&scratch);
    return wrong == NULL && infer_out(c, 0, DTYPE_UNDEFINED, &s);
}

/* ---- expansion -------------------------------------------------------------------------------------------------- */

/* A value whose axes are labels, each of which occurs once. */
struct labelled {
    struct value *v;
    struct term t;
};

struct einsum_expansion {
    struct builder *b;
    struct einsum e;
    struct labelled *operands; /* that are left */
    size_t count;
};

static int axis_of(const struct term *t, int label)
{
    for (int d = 0; d < t->rank; d++)
        if (t->label[d] == label)
            return d;
    return -1;
}

static void drop_axis(struct term *t, int axis)
{
    t->rank--;
    for (int d = axis; d < t->rank; d++)
        t->label[d] = t->label[d + 1];
}

/* Brings the axes into the order of labels `to`, which are all of the operand's. */
static struct value *ordered(struct builder *b, const struct labelled *o, const int *to)
{
    int perm[SHAPE_MAX_RANK];
    bool moves = false;
    for (int d = 0; d < o->t.rank; d++) {
        perm[d] = axis_of(&o->t, to[d]);
        moves = moves || perm[d] != d;
    }
    return moves ? build_transpose(b, o->v, perm) : o->v;
}

/* Axes i < j of n elements each become one, in the place of i: elements 0, n + 1, 2 (n + 1) ... of both together. */
static void take_diagonal(struct builder *b, struct labelled *o, int i, int j)
{
    int perm[SHAPE_MAX_RANK], rank = 0;
    const int64_t n = o->v->shape.dim[i], begin = 0, end = n * n, axis = i, step = n + 1;
    struct shape merged = {.rank = 0};
    for (int d = 0; d < o->t.rank; d++) {
        if (d != j)
            perm[rank++] = d;
        if (d == i)
            perm[rank++] = j;
    }
    for (int d = 0; d < o->t.rank; d++)
        if (d != j)
            shape_add(&merged, d == i ? size_constant(n * n) : shape_size(&o->v->shape, d));
    struct value *const x = build_reshape(b, build_transpose(b, o->v, perm), &merged);
    struct value *const in[] = {x, build_ints(b, &begin, 1), build_ints(b, &end, 1), build_ints(b, &axis, 1),
                                build_ints(b, &step, 1)};
    o->v = build_value(b, "Slice", NULL, in, 5);
    drop_axis(&o->t, j);
}

/* Axes of one element that broadcast are left out. */
static void drop_broadcast(struct einsum_expansion *x, struct labelled *o)
{
    struct shape s = {.rank = 0};
    struct term t = {.rank = 0};
    for (int d = 0; d < o->t.rank; d++)
        if (o->v->shape.dim[d] == x->e.size[o->t.label[d]]) {
            shape_take(&s, &o->v->shape, d);
            t.label[t.rank++] = o->t.label[d];
        }
    o->v = build_reshape(x->b, o->v, &s);
    o->t = t;
}

static struct labelled make_operand(struct einsum_expansion *x, struct value *v, const struct term *t)
{
    struct labelled o = {v, *t};
    for (int i = 0; i < o.t.rank; i++)
        for (int j = o.t.rank - 1; j > i; j--)
            if (o.t.label[i] == o.t.label[j])
                take_diagonal(x->b, &o, i, j);
    drop_broadcast(x, &o);
    return o;
}

/* Does the output have the label, or another operand than these two? */
static bool is_needed(const struct einsum_expansion *x, int label, size_t a, size_t b)
{
    for (size_t i = 0; i < x->count; i++)
        if (i != a && i != b && axis_of(&x->operands[i].t, label) >= 0)
            return true;
    return axis_of(&x->e.out, label) >= 0;
}

/* Sums over what no one else has. */
static void sum_own_labels(struct einsum_expansion *x, size_t at)
{
    struct labelled *const o = &x->operands[at];
    int axes[SHAPE_MAX_RANK];
    size_t count = 0;
    struct term kept = {.rank = 0};
    for (int d = 0; d < o->t.rank; d++)
        if (is_needed(x, o->t.label[d], at, at))
            kept.label[kept.rank++] = o->t.label[d];
        else
            axes[count++] = d;
    o->v = build_reduce_sum(x->b, o->v, axes, count, false);
    o->t = kept;
}

/* The labels of a pair, sorted by what becomes of them; a and b as the product takes them. */
struct operand_pair {
    const struct labelled *a, *b;
    int both[SHAPE_MAX_RANK], summed[SHAPE_MAX_RANK], only_a[SHAPE_MAX_RANK], only_b[SHAPE_MAX_RANK];
    int both_count, summed_count, a_count, b_count;
};

static struct operand_pair sort_labels(const struct einsum_expansion *x, size_t i, size_t j)
{
    struct operand_pair p = {.a = &x->operands[i], .b = &x->operands[j]};
    int first_a = SHAPE_MAX_RANK, first_b = SHAPE_MAX_RANK;
    for (int d = 0; d < p.b->t.rank; d++) {
        const int at = axis_of(&x->e.out, p.b->t.label[d]);
        if (axis_of(&p.a->t, p.b->t.label[d]) < 0 && at >= 0 && at < first_b)
            first_b = at;
    }
    for (int d = 0; d < p.a->t.rank; d++) {
        const int at = axis_of(&x->e.out, p.a->t.label[d]);
        if (axis_of(&p.b->t, p.a->t.label[d]) < 0 && at >= 0 && at < first_a)
            first_a = at;
    }
    if (first_b < first_a) { /* then the result needs no transposition */
        p.a = &x->operands[j];
        p.b = &x->operands[i];
    }
    for (int d = 0; d < p.a->t.rank; d++) {
        const int l = p.a->t.label[d];
        if (axis_of(&p.b->t, l) < 0)
            p.only_a[p.a_count++] = l;
        else if (is_needed(x, l, i, j))
            p.both[p.both_count++] = l;
        else
            p.summed[p.summed_count++] = l;
    }
    for (int d = 0; d < p.b->t.rank; d++)
        if (axis_of(&p.a->t, p.b->t.label[d]) < 0)
            p.only_b[p.b_count++] = p.b->t.label[d];
    return p;
}

static struct size product_of(const struct einsum *e, const int *labels, int count)
{
    struct size n = size_constant(1);
    for (int i = 0; i < count; i++)
        n = size_product(n, size_of_label(e, labels[i])); /* a part of an operand: fits */
    return n;
}

/* The operand as a stack of matrices: [both.., rows, columns], or with `merge` [both together, rows, columns]. */
static struct value *as_matrices(struct einsum_expansion *x, const struct operand_pair *p, const struct labelled *o,
                                 const int *rows, int row_count, const int *columns, int column_count, bool merge)
{
    int order[3 * SHAPE_MAX_RANK], rank = 0;
    struct shape s = {.rank = 0};
    for (int i = 0; i < p->both_count; i++) {
        order[rank++] = p->both[i];
        shape_add(&s, size_of_label(&x->e, p->both[i]));
    }
    if (merge)
        s = SHAPE_OF(product_of(&x->e, p->both, p->both_count));
    for (int i = 0; i < row_count; i++)
        order[rank++] = rows[i];
    for (int i = 0; i < column_count; i++)
        order[rank++] = columns[i];
    shape_add(&s, product_of(&x->e, rows, row_count));
    shape_add(&s, product_of(&x->e, columns, column_count));
    return build_reshape(x->b, ordered(x->b, o, order), &s);
}

static struct term result_labels(const struct operand_pair *p)
{
    struct term t = {.rank = 0};
    for (int i = 0; i < p->both_count; i++)
        t.label[t.rank++] = p->both[i];
    for (int i = 0; i < p->a_count; i++)
        t.label[t.rank++] = p->only_a[i];
    for (int i = 0; i < p->b_count; i++)
        t.label[t.rank++] = p->only_b[i];
    return t;
}

static struct shape shape_of(const struct einsum *e, const struct term *t)
{
    struct shape s = SHAPE_SCALAR;
    for (int d = 0; d < t->rank; d++)
        shape_add(&s, size_of_label(e, t->label[d]));
    return s;
}

static struct value *multiply_matrices(struct einsum_expansion *x, const struct operand_pair *p,
                                       const struct term *result)
{
    const bool merge = p->both_count + 2 > SHAPE_MAX_RANK;
    struct value *const a = as_matrices(x, p, p->a, p->only_a, p->a_count, p->summed, p->summed_count, merge);
    struct value *const b = as_matrices(x, p, p->b, p->summed, p->summed_count, p->only_b, p->b_count, merge);
    const struct shape s = shape_of(&x->e, result);
    return build_reshape(x->b, build_value(x->b, "MatMul", NULL, (struct value *const[]){a, b}, 2), &s);
}

/* The operand over the result's labels, with axes of one element for those that it lacks. */
static struct value *spread(struct einsum_expansion *x, const struct labelled *o, const struct term *result)
{
    int order[SHAPE_MAX_RANK], rank = 0;
    struct shape s = {.rank = 0};
    for (int d = 0; d < result->rank; d++) {
        const bool has = axis_of(&o->t, result->label[d]) >= 0;
        if (has)
            order[rank++] = result->label[d];
        shape_add(&s, has ? size_of_label(&x->e, result->label[d]) : size_constant(1));
    }
    return build_reshape(x->b, ordered(x->b, o, order), &s);
}

/* Operand j meets operand i, in whose place the result stands. */
static bool meet(struct einsum_expansion *x, size_t i, size_t j)
{
    const struct operand_pair p = sort_labels(x, i, j);
    if (p.both_count + p.a_count + p.b_count > SHAPE_MAX_RANK)
        return diag_unsupported(x->b->graph->diag, &x->b->loc, "the product of two operands has more than %d axes",
                                SHAPE_MAX_RANK);
    struct labelled o = {.t = result_labels(&p)};
    o.v = p.summed_count > 0
              ? multiply_matrices(x, &p, &o.t)
              : build_value(x->b, "Mul", NULL, (struct value *const[]){spread(x, p.a, &o.t), spread(x, p.b, &o.t)}, 2);
    x->operands[i] = o;
    for (size_t k = j; k + 1 < x->count; k++)
        x->operands[k] = x->operands[k + 1];
    x->count--;
    sum_own_labels(x, i);
    return !x->b->failed;
}

/* Multiplications of a pair. */
static double cost_of(const struct einsum_expansion *x, size_t i, size_t j)
{
    const struct term *const a = &x->operands[i].t, *const b = &x->operands[j].t;
    double cost = 1;
    for (int d = 0; d < a->rank; d++)
        cost *= (double)x->e.size[a->label[d]];
    for (int d = 0; d < b->rank; d++)
        if (axis_of(a, b->label[d]) < 0)
            cost *= (double)x->e.size[b->label[d]];
    return cost;
}

/* Of very many operands simply the first two. */
static void choose_pair(const struct einsum_expansion *x, size_t *first, size_t *second)
{
    *first = 0;
    *second = 1;
    if (x->count > PAIRS_WEIGHED)
        return;
    double least = cost_of(x, 0, 1);
    for (size_t i = 0; i < x->count; i++)
        for (size_t j = i + 1; j < x->count; j++) {
            const double cost = cost_of(x, i, j);
            if (cost < least) {
                least = cost;
                *first = i;
                *second = j;
            }
        }
}

static bool einsum_expand(struct expand_ctx *c)
{
    struct arena *const a = c->b->graph->arena;
    struct einsum_expansion x = {.b = c->b};
    const char *const wrong = parse_node(a, c->node, &x.e);
    if (wrong != NULL)
        UNREACHABLE("equation '%s' passed inference", op_attr_string(c->node, "equation"));
    const enum dtype dtype = expand_in(c, 0)->dtype;
    const bool narrow = dtype_is_int(dtype) && dtype_size(dtype) < 4;
    x.operands = arena_array(a, struct labelled, x.e.count);
    for (; x.count < x.e.count; x.count++) {
        struct value *const v = expand_in(c, (int)x.count);
        x.operands[x.count] =
            make_operand(&x, narrow ? build_cast(c->b, v, dtype_is_signed(dtype) ? DTYPE_INT32 : DTYPE_UINT32) : v,
                         &x.e.terms[x.count]);
    }
    for (size_t i = 0; i < x.count; i++)
        sum_own_labels(&x, i);
    while (x.count > 1 && !c->b->failed) {
        size_t i, j;
        choose_pair(&x, &i, &j);
        if (!meet(&x, i, j))
            return false;
    }
    if (c->b->failed)
        return false;
    return expand_out(c, 0, build_cast(c->b, ordered(c->b, &x.operands[0], x.e.out.label), dtype));
}

/* ---- value: operands one after another, each sum as the formula has it ------------------------------------------ */

/* Numbers over labels; steps by label, 0 where it has no such axis or broadcasts. */
struct factor {
    int64_t step[LABELS];
    const double *f;
    const int64_t *i;
};

static struct factor factor_of(const struct term *t, const struct eval_tensor *x)
{
    struct factor p = {.f = x->f, .i = x->i};
    int64_t stride[SHAPE_MAX_RANK];
    shape_strides(&x->shape, stride);
    for (int d = 0; d < t->rank; d++)
        if (x->shape.dim[d] != 1)
            p.step[t->label[d]] += stride[d];
    return p;
}

/* Runs over labels: kept ones outside, summed ones inside. */
struct label_walk {
    int label[LABELS];
    int kept, count; /* label[kept..count) are summed */
    int64_t index[LABELS];
};

/* Next index of labels [from, to); false behind the last. */
static bool advance(const struct einsum *e, struct label_walk *w, int from, int to)
{
    for (int k = to; k-- > from;) {
        if (++w->index[k] < e->size[w->label[k]])
            return true;
        w->index[k] = 0;
    }
    return false;
}

static int64_t position(const struct label_walk *w, const struct factor *p)
{
    int64_t at = 0;
    for (int k = 0; k < w->count; k++)
        at += w->index[k] * p->step[w->label[k]];
    return at;
}

static bool count_of(const struct einsum *e, const int *labels, int count, int64_t *n)
{
    *n = 1;
    for (int k = 0; k < count; k++)
        if (!checked_mul(*n, e->size[labels[k]], n))
            return false;
    return true;
}

/* One element of the product of so far and next. */
static void sum_element(struct eval_ctx *c, const struct einsum *e, struct label_walk *w, const struct factor *so_far,
                        const struct factor *next, double *f, int64_t *i)
{
    const enum dtype d = c->in[0]->dtype;
    do {
        const int64_t p = position(w, so_far), q = position(w, next);
        if (f != NULL)
            *f = eval_round_to(c, d, *f + eval_round_to(c, d, so_far->f[p] * next->f[q]));
        else
            *i = eval_int_binary(d, '+', *i, eval_int_binary(d, '*', so_far->i[p], next->i[q]));
    } while (advance(e, w, w->kept, w->count));
}

/* The labels of `so_far` and operand k: kept if the output or an operand behind it has them. Those of the output
 * come first, in its order. */
static struct label_walk walk_of(const struct einsum *e, const bool *present, size_t k)
{
    struct label_walk w = {.count = 0};
    bool needed[LABELS] = {false}, taken[LABELS] = {false};
    for (size_t i = k + 1; i < e->count; i++)
        for (int d = 0; d < e->terms[i].rank; d++)
            needed[e->terms[i].label[d]] = true;
    for (int d = 0; d < e->out.rank; d++) {
        taken[e->out.label[d]] = true;
        if (present[e->out.label[d]])
            w.label[w.count++] = e->out.label[d];
    }
    for (int l = 0; l < LABELS; l++)
        if (present[l] && needed[l] && !taken[l])
            w.label[w.count++] = l;
    w.kept = w.count;
    for (int l = 0; l < LABELS; l++)
        if (present[l] && !needed[l] && !taken[l])
            w.label[w.count++] = l;
    return w;
}

static bool einsum_eval(struct eval_ctx *c)
{
    struct einsum e;
    if (parse_node(c->scratch, c->node, &e) != NULL)
        UNREACHABLE("an equation that inference refuses");
    const bool is_float = dtype_is_float(c->in[0]->dtype);
    struct factor so_far = {.f = &(double){1}, .i = &(int64_t){1}};
    bool present[LABELS] = {false};
    for (size_t k = 0; k < e.count; k++) {
        const struct factor next = factor_of(&e.terms[k], c->in[k]);
        for (int d = 0; d < e.terms[k].rank; d++)
            present[e.terms[k].label[d]] = true;
        struct label_walk w = walk_of(&e, present, k);
        int64_t count, inner, bytes;
        if (!count_of(&e, w.label, w.kept, &count) || !count_of(&e, w.label + w.kept, w.count - w.kept, &inner) ||
            !checked_mul(count, (int64_t)sizeof(double), &bytes))
            return eval_error(c, "a product of %zu operands is too large", k + 1);
        double *const f = is_float ? arena_array(c->scratch, double, (size_t)count) : NULL;
        int64_t *const i = is_float ? NULL : arena_array(c->scratch, int64_t, (size_t)count);
        for (int64_t p = 0; p < count && inner > 0; p++) {
            sum_element(c, &e, &w, &so_far, &next, f != NULL ? f + p : NULL, i != NULL ? i + p : NULL);
            advance(&e, &w, 0, w.kept);
        }
        so_far = (struct factor){.f = f, .i = i};
        int64_t step = 1;
        for (int d = w.kept; d-- > 0; step *= e.size[w.label[d]])
            so_far.step[w.label[d]] = step;
        for (int d = w.kept; d < w.count; d++)
            present[w.label[d]] = false;
    }
    struct eval_tensor *const y = eval_output(c, 0); /* the labels left are the output's, in its order */
    for (int64_t p = 0; y != NULL && p < y->count; p++)
        if (is_float)
            y->f[p] = so_far.f[p];
        else
            y->i[p] = so_far.i[p];
    return true;
}

/* ---- samples ---------------------------------------------------------------------------------------------------- */

/* As the equation says; a label that occurs twice in a term is a diagonal, whose axes are whole. */
static void einsum_axes(struct axes_ctx *c)
{
    struct arena scratch = {0};
    struct einsum e;
    int own[LABELS];
    if (parse_node(&scratch, c->node, &e) != NULL)
        UNREACHABLE("an equation that inference refuses");
    for (int l = 0; l < LABELS; l++)
        own[l] = e.size[l] > 1 ? axes_label(c) : AXIS_WHOLE;
    for (size_t i = 0; i < e.count; i++)
        for (int d = 0; d < e.terms[i].rank; d++)
            for (int k = 0; k < d; k++)
                if (e.terms[i].label[k] == e.terms[i].label[d])
                    own[e.terms[i].label[d]] = AXIS_WHOLE;
    for (size_t i = 0; i < e.count; i++)
        for (int d = 0; d < e.terms[i].rank; d++)
            if (c->node->inputs.data[i]->shape.dim[d] == e.size[e.terms[i].label[d]])
                axes_put(c, (int)i, d, own[e.terms[i].label[d]]);
    for (int d = 0; d < e.out.rank; d++)
        axes_give(c, 0, d, own[e.out.label[d]]);
    arena_free(&scratch);
}

static const struct op_sample samples[] = {
    {.text = "g (float[3,4] a, float[4,5] b) => (float[3,5] y) { y = Einsum <equation = \"ij,jk->ik\"> (a, b) }"},
    {.text = "g (float[3,4] a, float[4,5] b) => (float[3,5] y) { y = Einsum <equation = \"zA,AZ->zZ\"> (a, b) }"},
    {.text = "g (float[3,4] a, float[4,5] b) => (float[4] y) { y = Einsum <equation = \"Aa,az->a\"> (a, b) }"},
    {.text = "g (double[3,4] a, double[4,5] b) => (double[5,3] y) { y = Einsum <equation = \" i j , j k -> k i \"> (a, "
             "b) }"},
    {.text = "g (float[2,3,4] a, float[2,4,5] b) => (float[3,5] y) { y = Einsum <equation = \"bij,bjk\"> (a, b) }"},
    /* attention's two products, heads in the middle */
    {.text = "g (float[2,5,3,4] q, float[2,6,3,4] k) => (float[2,3,5,6] y) { y = Einsum <equation = "
             "\"bqhd,bkhd->bhqk\"> (q, k) }"},
    {.text = "g (float[2,3,5,6] p, float[2,6,3,4] v) => (float[2,5,3,4] y) { y = Einsum <equation = "
             "\"bhqk,bkhd->bqhd\"> (p, v) }"},
    {.text = "g (float[2,3,4] a) => (float[4,2] y) { y = Einsum <equation = \"ijk->ki\"> (a) }"},
    {.text = "g (float[3,4] a) => (float y) { y = Einsum <equation = \"ij->\"> (a) }"},
    {.text = "g (float[3] a, float[3] b) => (float y) { y = Einsum <equation = \"i,i\"> (a, b) }"},
    {.text = "g (float[3] a, float[4] b) => (float[3,4] y) { y = Einsum <equation = \"i,j\"> (a, b) }"},
    {.text = "g (float[3] a, float[4] b) => (float[4,3] y) { y = Einsum <equation = \"j,i->ij\"> (a, b) }"},
    {.text = "g (float[3,3] a) => (float[3] y) { y = Einsum <equation = \"ii->i\"> (a) }"},
    {.text = "g (float[3,3] a) => (float y) { y = Einsum <equation = \"ii\"> (a) }"},
    {.text = "g (double[2,3,2,4,2] a) => (double[4,2] y) { y = Einsum <equation = \"ijiki->ki\"> (a) }"},
    {.text = "g (float[5,3,3] a) => (float[5,3] y) { y = Einsum <equation = \"...ii->...i\"> (a) }"},
    {.text = "g (float[2,3,4,5] a) => (float[2,3,5,4] y) { y = Einsum <equation = \"...ij->...ji\"> (a) }"},
    /* capital letters before small ones; the ellipsis in front */
    {.text = "g (float[2,3,4] a) => (float[2,4,3] y) { y = Einsum <equation = \"...bA\"> (a) }"},
    {.text = "g (float[5,1,3,4] a, float[2,4,6] b) => (float[5,2,3,6] y) { y = Einsum <equation = "
             "\"...ij,...jk->...ik\"> (a, b) }"},
    {.text = "g (float[2,3,4] a, float[3,4] b) => (float[4] y) { y = Einsum <equation = \"...j,...j->j\"> (a, b) }"},
    {.text = "g (float[2,3] a, float[3,4] b, float[4,5] d) => (float[2,5] y) { y = Einsum <equation = "
             "\"ij,jk,kl->il\"> (a, b, d) }"},
    {.text = "g (double[2,3] a, double[3,2] b, double[2] d, double e) => (double[3] y) { y = Einsum <equation = "
             "\"ij,ji,i,->j\"> (a, b, d, e) }"},
    /* bilinear; axes of one element that broadcast; nothing to sum */
    {.text = "g (float[3,4] a, float[6,4,5] w, float[3,5] b) => (float[3,6] y) { y = Einsum <equation = "
             "\"bi,oij,bj->bo\"> (a, w, b) }"},
    {.text = "g (float[1,4] a, float[3,1] b) => (float[3,4] y) { y = Einsum <equation = \"ij,ij->ij\"> (a, b) }"},
    {.text = "g (float[3,1] a, float[3,4] b) => (float[3] y) { y = Einsum <equation = \"ij,ij->i\"> (a, b) }"},
    {.text = "g (float[2,3] a) => (float[2,3] y) { y = Einsum <equation = \"ij->ij\"> (a) }"},
    {.text = "g (float a) => (float y) { y = Einsum <equation = \"\"> (a) }"},
    /* the power of an extent by the rank would be too much */
    {.text = "g (float[300,1,1,1] a) => (float[1,1,1,300] y) { y = Einsum <equation = \"Abcd->dcbA\"> (a) }"},
    {.text = "g (float[2,0] a, float[0,3] b) => (float[2,3] y) { y = Einsum <equation = \"ij,jk\"> (a, b) }"},
    {.text = "g (float[0,2] a, float[2,3] b) => (float[0,3] y) { y = Einsum <equation = \"ij,jk\"> (a, b) }"},
    {.text = "g (float16[3,4] a, float16[4,5] b) => (float16[3,5] y) { y = Einsum <equation = \"ij,jk->ik\"> (a, b) }",
     .tolerance = 4e-3},
    {.text = "g (int32[3,4] a, int32[4,5] b) => (int32[3,5] y) { y = Einsum <equation = \"ij,jk->ik\"> (a, b) }"},
    {.text = "g (int8[3,40] a, int8[40,3] b) => (int8[3] y) { y = Einsum <equation = \"ij,ji->i\"> (a, b) }"},
    {.text = "g (uint8[3,4] a, uint8[3] b) => (uint8[4] y) { y = Einsum <equation = \"ij,i->j\"> (a, b) }",
     .opset = 12},
    {.text = "g (float[3,4] a, float[5,6] b) => (float[3,6] y) { y = Einsum <equation = \"ij,jk->ik\"> (a, b) }",
     .error = "equation 'ij,jk->ik': label 'j' stands for axes of 4 and 5 elements"},
    {.text = "g (float[3,4] a) => (float[3] y) { y = Einsum <equation = \"ii->i\"> (a) }",
     .error = "label 'i' stands for axes of 3 and 4 elements of one input"},
    {.text = "g (float[3,4] a) => (float[3] y) { y = Einsum <equation = \"i->i\"> (a) }",
     .error = "term 0 names 1 axes, but the input has rank 2"},
    {.text = "g (float[3] a) => (float[3] y) { y = Einsum <equation = \"...ij->i\"> (a) }",
     .error = "term 0 names 2 axes, but the input has rank 1"},
    {.text = "g (float[3,4] a) => (float[3] y) { y = Einsum <equation = \"ij->ik\"> (a) }",
     .error = "label 'k' of the output is in no input"},
    {.text = "g (float[3,4] a) => (float[3] y) { y = Einsum <equation = \"ij->ii\"> (a) }",
     .error = "label 'i' is twice in the output"},
    {.text = "g (float[3,4] a) => (float[3] y) { y = Einsum <equation = \"i1->i\"> (a) }",
     .error = "'1' at position 1 is no label"},
    {.text = "g (float[3,4] a) => (float[3] y) { y = Einsum <equation = \"ij->i%\"> (a) }",
     .error = "'%' at position 5 is no label"},
    {.text = "g (float[3,4] a) => (float[3] y) { y = Einsum <equation = \"ij,j->i\"> (a) }",
     .error = "it has more terms than the 1 inputs"},
    {.text = "g (float[3,4] a) => (float[3] y) { y = Einsum <equation = \"ij->i\"> (a, a) }",
     .error = "it has 1 terms, but there are 2 inputs"},
    {0}};

const struct op_def op_defs_einsum[] = {{.name = "Einsum",
                                         .versions = versions,
                                         .inputs = inputs,
                                         .outputs = outputs,
                                         .attrs = attrs,
                                         .infer = einsum_infer,
                                         .axes = einsum_axes,
                                         .expand = einsum_expand,
                                         .eval = einsum_eval,
                                         .samples = samples},
                                        {0}};
