/* Making nodes by operator name. */
#include "graph/build.h"

#include "base/str.h"
#include <ctype.h>
#include <string.h>

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* prefix + the operator's name in lower case. */
static const char *wish_name(const struct builder *b, const char *what)
{
    char *name = arena_printf(b->graph->arena, "%s%s", b->prefix != NULL ? b->prefix : "", what);
    for (char *p = name + strlen(name) - strlen(what); *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    return name;
}

/* What tells a value from others of its operator: "less" of "y.less_of_x". */
static const char *kind_of(struct arena *a, const char *name)
{
    const char *begin = name + strlen(name);
    while (begin > name && strchr("./:", begin[-1]) == NULL)
        begin--;
    const char *const of = strstr(begin, "_of_");
    size_t length = of != NULL ? (size_t)(of - begin) : strlen(begin), digits = length;
    while (digits > 0 && isdigit((unsigned char)begin[digits - 1]))
        digits--;
    if (digits > 1 && digits < length && begin[digits - 1] == '_')
        length = digits - 1;
    return arena_strndup(a, begin, length);
}

/* "y.where", or if there is one "y.where_of_less". */
static const char *result_name(const struct builder *b, const struct node *n)
{
    struct graph *const g = b->graph;
    const char *const wish = wish_name(b, n->def->name);
    const bool is_own = b->prefix != NULL && b->prefix[0] != '\0';
    if (!is_own || map_get(&g->names, wish) == NULL)
        return wish;
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *const x = node_input(n, i);
        if (x == NULL || x->kind == VALUE_CONSTANT)
            continue;
        const char *const name = arena_printf(g->arena, "%s_of_%s", wish, kind_of(g->arena, x->name));
        if (map_get(&g->names, name) == NULL)
            return name;
    }
    return wish;
}

static void take_stream(struct builder *b, struct node *n)
{
    struct program *p = b->graph->program;
    n->counter = b->stream != 0 ? b->counter : b->graph->counter;
    n->stream = b->stream != 0 ? b->stream : ++p->random_streams;
    p->uses_random = true;
}

/* After a failure the outputs look like input 0, so that callers can go on to where they return. */
static void give_placeholder_types(struct node *n)
{
    const struct value *like = node_input(n, 0);
    for (size_t i = 0; i < n->outputs.count; i++) {
        n->outputs.data[i]->dtype = like != NULL ? like->dtype : DTYPE_FLOAT;
        n->outputs.data[i]->shape = like != NULL ? like->shape : SHAPE_SCALAR;
    }
}

struct node *build_node(struct builder *b, const char *op, const struct attr *attrs, struct value *const *inputs,
                        size_t count, size_t outputs)
{
    const struct op_def *def = op_find_qualified(op);
    if (def == NULL)
        UNREACHABLE("a node of the unknown operator '%s' is built", op);
    struct node *n = graph_add_node(b->graph, def, "", &b->loc, b->before);
    if (def->is_random)
        take_stream(b, n);
    while (count > 0 && inputs[count - 1] == NULL)
        count--;
    for (size_t i = 0; i < count; i++)
        node_add_input(n, inputs[i]);
    for (; attrs != NULL && attrs->name != NULL; attrs++)
        node_set_attr(n, *attrs);
    for (size_t i = 0; i < outputs; i++)
        node_add_output(n, outputs == 1 ? result_name(b, n) : wish_name(b, def->name));
    /* What follows from a failure is not a failure of its own. */
    if (b->failed || !node_infer(n)) {
        b->failed = true;
        give_placeholder_types(n);
    }
    return n;
}

struct value *build_value(struct builder *b, const char *op, const struct attr *attrs, struct value *const *inputs,
                          size_t count)
{
    return build_node(b, op, attrs, inputs, count, 1)->outputs.data[0];
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

bool table_spend(struct program *p, const struct loc *at, int64_t count)
{
    enum { MOST = 16 << 20 };
    p = program_outermost(p);
    if (count <= MOST - p->tabled) {
        p->tabled += count;
        return true;
    }
    return diag_unsupported(p->diag, at, "%s exceeds the bound of %d elements of tables made for a model",
                            at->op ? at->op : "the node", MOST);
}

struct value *build_constant(struct builder *b, const struct tensor *t)
{
    b->failed = !table_spend(b->graph->program, &b->loc, t->count) || b->failed;
    return graph_add_constant(b->graph, wish_name(b, "const"), t);
}

struct value *build_scalar(struct builder *b, enum dtype dtype, double x)
{
    return build_constant(b, tensor_scalar_double(b->graph->arena, dtype, x));
}

struct value *build_ints(struct builder *b, const int64_t *x, size_t count)
{
    return build_constant(b, tensor_from_ints(b->graph->arena, x, (int64_t)count));
}

struct value *build_int(struct builder *b, int64_t x)
{
    return build_constant(b, tensor_scalar_int(b->graph->arena, x));
}

struct value *build_size(struct builder *b, struct size x)
{
    struct tensor *const t = tensor_scalar_int(b->graph->arena, x.most);
    t->per = x.per != 0 ? arena_copy(b->graph->arena, &x.per, sizeof x.per, alignof(int64_t)) : NULL;
    return build_constant(b, t);
}

struct value *build_counter(struct builder *b, enum dtype dtype, int64_t first, const struct shape *s)
{
    const int64_t longest = 4096, count = shape_count(s);
    if (count > longest) {
        const struct size end = size_sum(shape_elements(s), size_constant(first));
        struct value *const bounds[] = {build_int(b, first), build_size(b, end), build_int(b, 1)};
        return build_reshape(b, build_cast(b, build_value(b, "Range", NULL, bounds, 3), dtype), s);
    }
    struct tensor *t = tensor_new(b->graph->arena, dtype, s);
    for (int64_t i = 0; i < count; i++)
        tensor_set_int(t, i, first + i);
    return build_constant(b, t);
}

struct value *build_full_like(struct builder *b, struct value *x, double number)
{
    return build_expand(b, build_scalar(b, x->dtype, number), &x->shape);
}

/* ---- frequent nodes ---------------------------------------------------------------------------------------------- */

struct value *build_dims(struct builder *b, const struct shape *s)
{
    return build_constant(b, tensor_from_dims(b->graph->arena, s));
}

/* allowzero: a dimension of 0 means itself, not a copy of the input's. */
struct value *build_reshape(struct builder *b, struct value *x, const struct shape *to)
{
    if (shape_equal(&x->shape, to))
        return x;
    bool has_zero = false;
    for (int i = 0; i < to->rank; i++)
        has_zero = has_zero || to->dim[i] == 0;
    return build_value(b, "Reshape", has_zero ? ATTRS(attr_int("allowzero", 1)) : ATTRS_NONE,
                       (struct value *const[]){x, build_dims(b, to)}, 2);
}

struct value *build_transpose(struct builder *b, struct value *x, const int *perm)
{
    int64_t wide[SHAPE_MAX_RANK];
    for (int i = 0; i < x->shape.rank; i++)
        wide[i] = perm[i];
    return build_value(b, "Transpose", ATTRS(attr_ints("perm", wide, (size_t)x->shape.rank)), &x, 1);
}

/* The shape without the axes, or with 1 in their place. */
static struct shape reduced_shape(const struct shape *s, uint32_t axes, bool keepdims)
{
    struct shape out = {.rank = 0};
    for (int d = 0; d < s->rank; d++)
        if (!(axes >> d & 1u))
            shape_take(&out, s, d);
        else if (keepdims)
            shape_add(&out, size_constant(1));
    return out;
}

/* No axes means none, not all as for a ReduceSum without the input. */
struct value *build_reduce_sum(struct builder *b, struct value *x, const int *axes, size_t count, bool keepdims)
{
    if (count == 0)
        return x;
    int64_t wide[SHAPE_MAX_RANK];
    uint32_t along = 0;
    for (size_t i = 0; i < count; i++) {
        wide[i] = axes[i];
        along |= 1u << axes[i];
    }
    if (x->zero_sum != 0 && (x->zero_sum & ~along) == 0) {
        const struct shape s = reduced_shape(&x->shape, along, keepdims);
        return build_expand(b, build_scalar(b, x->dtype, 0), &s);
    }
    return build_value(b, "ReduceSum", ATTRS(attr_int("keepdims", keepdims)),
                       (struct value *const[]){x, build_ints(b, wide, count)}, 2);
}

struct value *build_expand(struct builder *b, struct value *x, const struct shape *to)
{
    if (shape_equal(&x->shape, to))
        return x;
    return build_value(b, "Expand", NULL, (struct value *const[]){x, build_dims(b, to)}, 2);
}

struct value *build_cast(struct builder *b, struct value *x, enum dtype to)
{
    if (x->dtype == to)
        return x;
    return build_value(b, "Cast", ATTRS(attr_int("to", to)), &x, 1);
}

/* ---- naming ------------------------------------------------------------------------------------------------------ */

/* Was v made by this builder? Then nobody else knows it yet. */
static bool is_own_value(const struct builder *b, const struct value *v)
{
    return (v->kind == VALUE_RESULT || v->kind == VALUE_CONSTANT) && b->prefix != NULL && b->prefix[0] != '\0' &&
           str_starts_with(v->name, b->prefix);
}

struct value *build_called(struct builder *b, const char *name, struct value *v)
{
    if (is_own_value(b, v))
        graph_rename(b->graph, v, graph_fresh_name(b->graph, wish_name(b, name)));
    return v;
}

/* ---- replacing --------------------------------------------------------------------------------------------------- */

void build_replace(struct builder *b, struct value *old, struct value *v)
{
    if (v->dtype != old->dtype || !shape_equal(&v->shape, &old->shape))
        UNREACHABLE("'%s' is replaced by '%s' of another type", old->name, v->name);
    graph_replace(b->graph, old, v);
    if (!is_own_value(b, v))
        return;
    const char *const name = old->name;
    graph_rename(b->graph, old, graph_fresh_name(b->graph, "replaced"));
    graph_rename(b->graph, v, name);
}

/* ---- composites -------------------------------------------------------------------------------------------------- */

struct value *expand_in(const struct expand_ctx *c, int i)
{
    return i < 0 ? NULL : node_input(c->node, (size_t)i);
}

bool expand_wants(const struct expand_ctx *c, int output)
{
    return output >= 0 && node_output(c->node, (size_t)output) != NULL;
}

bool expand_out(struct expand_ctx *c, int i, struct value *v)
{
    struct value *const old = i < 0 ? NULL : node_output(c->node, (size_t)i);
    if (old != NULL && !c->b->failed)
        build_replace(c->b, old, v);
    return !c->b->failed;
}

bool expand_node(struct expand_ctx *c)
{
    if (node_makes_elements(c->node))
        return c->node->def->expand(c) && !c->b->failed;
    for (size_t o = 0; o < c->node->outputs.count; o++) {
        const struct value *const v = c->node->outputs.data[o];
        if (v != NULL && !expand_out(c, (int)o, build_expand(c->b, build_scalar(c->b, v->dtype, 0), &v->shape)))
            return false;
    }
    return !c->b->failed;
}
