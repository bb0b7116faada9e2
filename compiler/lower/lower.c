/* Lowers one entry: every node of the canonical graph becomes kernels or a view. Leaves a legal order in which all
 * reads of a variable stand before the copy that writes it:
 *
 *   y = Relu(x)                  kernel relu: y[i] = select(lt(0, x[i]), x[i], 0)
 *   z = Transpose(y)             z is y's buffer with its strides swapped
 *   output z                     kernel copy: out.z[i, j] = y[j, i]
 * */
#include "lower/lower.h"

#include "base/str.h"
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static struct buffer *source_buffer(struct lowered *l, const struct value *v)
{
    static const enum buffer_kind kinds[] = {[VALUE_INPUT] = BUFFER_INPUT,
                                             [VALUE_CONSTANT] = BUFFER_CONSTANT,
                                             [VALUE_VARIABLE] = BUFFER_VARIABLE,
                                             [VALUE_RESULT] = BUFFER_TEMP};
    struct buffer *b = buffer_new(l, kinds[v->kind], v->name, v->dtype, &v->shape);
    b->constant = v->kind == VALUE_CONSTANT ? v->constant : NULL;
    b->variable = v->variable;
    if (v->variable)
        b->name = v->variable->name;
    return b;
}

/* All of a buffer: row-major, or as the state holds a variable. */
static struct view view_of_whole(struct buffer *b, const struct shape *shape)
{
    if (!b->variable || !b->variable->by_columns)
        return view_of_buffer(b, shape);
    const struct shape transposed = SHAPE(shape->dim[1], shape->dim[0]);
    const struct view v = view_of_buffer(b, &transposed);
    return view_transpose(&v, (int[]){1, 0});
}

/* Is the view the content of a variable, element by element in the order of the state? */
static bool is_content_of(const struct view *v, const struct variable *of)
{
    if (v->buffer->variable != of || v->offset != 0)
        return false;
    return of->by_columns ? v->shape.rank == 2 && v->stride[0] == 1 && v->stride[1] == v->shape.dim[0]
                          : view_is_contiguous(v);
}

/* ---- what a node has --------------------------------------------------------------------------------------------- */

static const struct value *input(const struct lower_ctx *c, int i)
{
    return node_input(c->node, (size_t)i);
}

static struct value *output(const struct lower_ctx *c, int o)
{
    return node_output(c->node, (size_t)o);
}

bool lower_has(const struct lower_ctx *c, int i)
{
    return input(c, i) != NULL;
}

bool lower_wants(const struct lower_ctx *c, int o)
{
    return output(c, o) != NULL;
}

const struct shape *lower_shape(const struct lower_ctx *c, int i)
{
    return &input(c, i)->shape;
}

const struct shape *lower_out_shape(const struct lower_ctx *c, int o)
{
    return &output(c, o)->shape;
}

enum dtype lower_dtype(const struct lower_ctx *c, int i)
{
    return dtype_computed(input(c, i)->dtype);
}

enum dtype lower_out_dtype(const struct lower_ctx *c, int o)
{
    return dtype_computed(output(c, o)->dtype);
}

static struct view view_of_value(const struct lower_ctx *c, const struct value *v)
{
    struct view *view = &c->views[v->id];
    if (!view->buffer)
        *view = view_of_whole(source_buffer(c->l, v), &v->shape);
    return *view;
}

struct view lower_view_of(const struct lower_ctx *c, int i)
{
    return view_of_value(c, input(c, i));
}

struct view lower_out_view(struct lower_ctx *c, int o)
{
    return view_of_value(c, output(c, o));
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static const char *label_of(struct arena *a, const struct node *n)
{
    char *label = arena_strdup(a, n->def->name);
    for (char *p = label; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return label;
}

static struct kernel *kernel_new(struct lowered *l, const char *label, const struct node *n)
{
    struct kernel *k = arena_new(l->arena, struct kernel);
    k->id = (int)l->kernels.count;
    k->label = label;
    if (n)
        vec_push(l->arena, &k->nodes, n);
    vec_push(l->arena, &l->kernels, k);
    return k;
}

struct kernel *lower_kernel(struct lower_ctx *c, const char *label)
{
    c->kernel = kernel_new(c->l, label ? label : label_of(c->arena, c->node), c->node);
    return c->kernel;
}

static struct part *part_new(struct arena *a, struct kernel *k, const struct shape *domain)
{
    struct part p = {.rank = domain->rank};
    memcpy(p.extent, domain->dim, sizeof domain->dim);
    vec_push(a, &k->parts, p);
    return &k->parts.data[k->parts.count - 1];
}

struct part *lower_part(struct lower_ctx *c, const struct shape *domain)
{
    return part_new(c->arena, c->kernel, domain);
}

struct access lower_access(const struct view *v)
{
    struct access a = {.buffer = v->buffer, .offset = v->offset};
    memcpy(a.stride, v->stride, sizeof v->stride);
    for (int d = 0; d < SHAPE_MAX_RANK; d++)
        if (d >= v->shape.rank || v->shape.dim[d] == 1)
            a.stride[d] = 0;
    return a;
}

static bool is_lower_case_of(const char *op, const char *name)
{
    while (*op && tolower((unsigned char)*op) == *name) {
        op++;
        name++;
    }
    return !*op && (!*name || *name == '_');
}

/* "sum", or "grad.h.sum_2": builders call so what they make, and it says no more than the operator. */
static bool is_named_by_operator(const char *name)
{
    const char *const dot = strrchr(name, '.'), *const last = dot ? dot + 1 : name;
    for (size_t i = 0; op_table[i]; i++)
        for (const struct op_def *def = op_table[i]; def->name; def++)
            if (is_lower_case_of(def->name, last))
                return true;
    return false;
}

/* Wherever fusion takes the value, it is still known what the model calls it. */
static void give_word(struct lower_ctx *c, const struct expr *e, const char *name)
{
    const bool is_made = expr_arg_count(e) > 0;
    if (is_made && !e->word && !is_named_by_operator(name))
        ((struct expr *)(uintptr_t)e)->word = name;
}

static void add_store(struct lower_ctx *c, struct part *p, const struct access *to, const struct expr *e)
{
    const enum dtype d = to->buffer->dtype;
    give_word(c, e, to->buffer->name);
    if (dtype_computed(d) != d)
        e = expr_cast(c->arena, d, expr_cast(c->arena, dtype_computed(d), e));
    vec_push(c->arena, &p->stores, ((struct store){.to = *to, .value = e}));
}

void lower_store(struct lower_ctx *c, struct part *p, const struct view *to, const struct expr *e)
{
    const struct access a = lower_access(to);
    add_store(c, p, &a, e);
}

struct view lower_contiguous(struct lower_ctx *c, int i)
{
    const struct view from = lower_view_of(c, i);
    if (view_is_contiguous(&from))
        return from;
    const struct value *v = input(c, i);
    const struct view to = view_of_buffer(buffer_new(c->l, BUFFER_TEMP, v->name, v->dtype, &v->shape), &v->shape);
    lower_kernel(c, "copy");
    lower_store(c, lower_part(c, &v->shape), &to, lower_load(c, &from));
    c->views[v->id] = to;
    return to;
}

void lower_add_check(struct lower_ctx *c, const struct shape *domain, const struct expr *value, int64_t low,
                     int64_t high, const char *status)
{
    assert(c->node == NULL || c->node->def->selects_from != NULL); /* whoever guards indices relies on it */
    struct check check = {.rank = domain->rank, .value = value, .low = low, .high = high, .status = status};
    memcpy(check.extent, domain->dim, sizeof domain->dim);
    vec_push(c->arena, &c->kernel->checks, check);
}

/* ---- maps -------------------------------------------------------------------------------------------------------- */

/* A constant whose elements are all the same number becomes a literal. */
static const struct expr *literal_of(struct arena *a, const struct tensor *t)
{
    if (!t || t->count == 0 || t->count > 65536 || t->dtype == DTYPE_STRING || !tensor_is_uniform(t))
        return NULL;
    return dtype_is_float(t->dtype) ? expr_float(a, dtype_computed(t->dtype), tensor_get_double(t, 0))
                                    : expr_int(a, dtype_computed(t->dtype), tensor_get_int(t, 0));
}

/* Integers in equal steps along their only dimension become what the loop counts: no table in the text. Short ones stay
 * tables. */
static const struct expr *counted(struct arena *a, const struct tensor *t, const struct shape *domain)
{
    const int64_t shortest = 17, most = INT32_MAX; /* steps times indices stay within int64 */
    int dim = 0;
    while (t && dim < t->shape.rank && t->shape.dim[dim] == 1)
        dim++;
    if (!t || t->count < shortest || t->shape.dim[dim] != t->count || !dtype_is_int(t->dtype))
        return NULL;
    for (int64_t i = 0; i < t->count; i++)
        if (tensor_get_int(t, i) > most || tensor_get_int(t, i) < -most)
            return NULL;
    const int64_t first = tensor_get_int(t, 0), step = tensor_get_int(t, 1) - first;
    for (int64_t i = 1; i < t->count; i++)
        if (tensor_get_int(t, i) - tensor_get_int(t, i - 1) != step)
            return NULL;
    const struct expr *i = expr_index(a, dim + domain->rank - t->shape.rank);
    const struct expr *way = expr_binary(a, EXPR_MUL, i, expr_int(a, DTYPE_INT64, step));
    return expr_cast(a, dtype_computed(t->dtype), expr_binary(a, EXPR_ADD, expr_int(a, DTYPE_INT64, first), way));
}

const struct expr *lower_load_at(struct lower_ctx *c, const struct access *access)
{
    const struct expr *e = expr_load(c->arena, access);
    return expr_cast(c->arena, dtype_computed(e->dtype), e);
}

const struct expr *lower_load(struct lower_ctx *c, const struct view *v)
{
    const struct access a = lower_access(v);
    return lower_load_at(c, &a);
}

const struct expr *lower_in_over(struct lower_ctx *c, int i, const struct shape *domain)
{
    const struct value *v = input(c, i);
    const struct expr *literal = v->kind == VALUE_CONSTANT ? literal_of(c->arena, v->constant) : NULL;
    const struct expr *known = literal || v->kind != VALUE_CONSTANT ? literal : counted(c->arena, v->constant, domain);
    if (known)
        return known;
    const struct view from = lower_view_of(c, i);
    const struct view over = view_broadcast(&from, domain);
    return lower_load(c, &over);
}

const struct expr *lower_in(struct lower_ctx *c, int i)
{
    for (size_t o = 0; o < c->node->outputs.count; o++)
        if (output(c, (int)o))
            return lower_in_over(c, i, lower_out_shape(c, (int)o));
    UNREACHABLE("node without outputs");
}

const struct expr *lower_element(struct lower_ctx *c, const struct shape *shape)
{
    int64_t stride[SHAPE_MAX_RANK];
    shape_strides(shape, stride);
    const struct expr *e = expr_int(c->arena, DTYPE_INT64, 0);
    for (int d = 0; d < shape->rank; d++)
        if (shape->dim[d] != 1)
            e = expr_binary(
                c->arena, EXPR_ADD, e,
                expr_binary(c->arena, EXPR_MUL, expr_index(c->arena, d), expr_int(c->arena, DTYPE_INT64, stride[d])));
    return e;
}

bool lower_maps(struct lower_ctx *c, const struct expr *const *e, int count)
{
    struct part *p = NULL;
    for (int o = 0; o < count; o++) {
        if (!e[o] || !lower_wants(c, o))
            continue;
        if (!p) {
            lower_kernel(c, NULL);
            p = lower_part(c, lower_out_shape(c, o));
        }
        const struct view to = lower_out_view(c, o);
        lower_store(c, p, &to, e[o]);
    }
    return true;
}

bool lower_map(struct lower_ctx *c, const struct expr *e)
{
    return lower_maps(c, &e, 1);
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

bool lower_as_view(struct lower_ctx *c, int o, const struct view *v)
{
    c->views[output(c, o)->id] = *v;
    return true;
}

bool lower_as_reshape(struct lower_ctx *c, int o, int i)
{
    const struct view from = lower_view_of(c, i);
    struct view to;
    if (view_reshape(&from, lower_out_shape(c, o), &to))
        return lower_as_view(c, o, &to);
    /* A copy in the order of the input's dims into a fresh buffer, which then has the new shape. */
    const struct shape *shape = lower_shape(c, i);
    struct view fresh = lower_out_view(c, o);
    struct view under;
    if (!view_reshape(&fresh, shape, &under))
        UNREACHABLE("a fresh buffer takes any shape");
    lower_kernel(c, "copy");
    lower_store(c, lower_part(c, shape), &under, lower_load(c, &from));
    return true;
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

bool lower_reduce(struct lower_ctx *c, const bool *reduced, enum reduce_op op, const struct expr *element,
                  const struct expr *finish)
{
    const struct shape *domain = lower_shape(c, 0);
    lower_kernel(c, NULL);
    struct part *p = lower_part(c, domain);
    p->reduce = op;
    p->in_blocks = op == REDUCE_SUM && dtype_is_float(element->dtype);
    p->element = element;
    const struct view to = lower_out_view(c, 0);
    struct access a = {.buffer = to.buffer};
    int64_t stride = 1;
    for (int d = domain->rank - 1; d >= 0; d--) {
        p->reduced[d] = reduced[d];
        if (reduced[d])
            continue;
        a.stride[d] = domain->dim[d] == 1 ? 0 : stride;
        stride *= domain->dim[d];
    }
    add_store(c, p, &a, finish ? finish : expr_result(c->arena, element->dtype));
    return true;
}

/* ---- templates --------------------------------------------------------------------------------------------------- */

void lower_template(struct lower_ctx *c, const struct template_traits *tmpl, enum dtype type)
{
    kernel_bind_template(c->arena, c->kernel, tmpl, type);
}

void lower_template_int(struct lower_ctx *c, const char *hole, int64_t value)
{
    kernel_set_int(c->kernel, hole, value);
}

void lower_template_data(struct lower_ctx *c, const char *hole, int64_t value)
{
    struct kernel_template *const t = &c->kernel->tmpl;
    lower_template_int(c, hole, value);
    t->ints[t->int_count - 1].is_data = true;
}

void lower_template_flops(struct lower_ctx *c, int64_t flops)
{
    c->kernel->tmpl.flops = flops;
}

void lower_template_overhead(struct lower_ctx *c, int64_t flops)
{
    c->kernel->tmpl.overhead = flops;
}

/* A copy of b in float, made by a kernel in front of the one at hand. */
static struct buffer *in_float(struct lower_ctx *c, struct buffer *b)
{
    if (b->in_float)
        return b->in_float;
    struct lowered *l = c->l;
    const struct view from = view_of_buffer(b, &SHAPE(b->count));
    b->in_float = buffer_new(l, BUFFER_TEMP, b->name, DTYPE_FLOAT, &b->shape);
    const struct view to = view_of_buffer(b->in_float, &from.shape);
    struct kernel *convert = kernel_new(l, "widen", c->node), *const last = c->kernel;
    lower_store(c, part_new(c->arena, convert, &from.shape), &to, lower_load(c, &from));
    convert->id = last->id++;
    l->kernels.data[convert->id] = convert;
    l->kernels.data[last->id] = last;
    return b->in_float;
}

void lower_template_operand(struct lower_ctx *c, const char *param, const struct access *access)
{
    struct kernel *k = c->kernel;
    if (k->tmpl.operand_count == KERNEL_MAX_OPERANDS)
        UNREACHABLE("template '%s' has more than %d operands", k->tmpl.traits->name, KERNEL_MAX_OPERANDS);
    k->tmpl.operands[k->tmpl.operand_count].param = param;
    k->tmpl.operands[k->tmpl.operand_count].access = *access;
    if (dtype_is_pattern(access->buffer->dtype))
        k->tmpl.operands[k->tmpl.operand_count].access.buffer = in_float(c, access->buffer);
    k->tmpl.operand_count++;
}

void lower_template_loops(struct lower_ctx *c, int rank, const int64_t *extent, int64_t scratch)
{
    struct operand *o = &c->kernel->tmpl.operands[c->kernel->tmpl.operand_count - 1];
    o->rank = c->kernel->outer_rank + rank;
    memcpy(o->extent, c->kernel->outer_extent, (size_t)c->kernel->outer_rank * sizeof *extent);
    memcpy(o->extent + c->kernel->outer_rank, extent, (size_t)rank * sizeof *extent);
    o->scratch = scratch;
}

void lower_template_pieces(struct lower_ctx *c, int64_t pieces)
{
    c->kernel->cut.pieces = pieces;
}

void lower_template_channels(struct lower_ctx *c, int64_t channels, int64_t of_operand, int64_t of_result)
{
    c->kernel->cut.channels = channels;
    c->kernel->cut.plane[0] = of_operand;
    c->kernel->cut.plane[1] = of_result;
    lower_template_int(c, "CUT_CHANNELS", 0);
}

void kernel_add_scratch(struct lowered *l, struct kernel *k, const char *param, int64_t count)
{
    k->scratch.param = param;
    k->scratch.count = count;
    if (count > 0)
        k->scratch.buffer = buffer_new(l, BUFFER_TEMP, "scratch", k->tmpl.type, &SHAPE(count));
}

void lower_template_scratch(struct lower_ctx *c, const char *param, int64_t count)
{
    kernel_add_scratch(c->l, c->kernel, param, count);
}

struct buffer *lower_table_named(struct lower_ctx *c, const char *name, const struct tensor *t)
{
    struct buffer *b = buffer_new(c->l, BUFFER_CONSTANT, name, t->dtype, &t->shape);
    b->constant = t;
    return b;
}

struct access lower_table(struct lower_ctx *c, const char *param, const struct tensor *t)
{
    const char *const name = arena_printf(c->arena, "%s.%s", c->node->outputs.data[0]->name, param);
    return (struct access){.buffer = lower_table_named(c, name, t)};
}

struct part *lower_template_part(struct lower_ctx *c, const char *hole, int rank, const int64_t *extent)
{
    struct kernel *k = c->kernel;
    struct part p = {.rank = k->outer_rank + rank, .hole = hole};
    memcpy(p.extent, k->outer_extent, (size_t)k->outer_rank * sizeof *extent);
    memcpy(p.extent + k->outer_rank, extent, (size_t)rank * sizeof *extent);
    vec_push(c->arena, &k->parts, p);
    return &k->parts.data[k->parts.count - 1];
}

/* ---- outputs and bindings ---------------------------------------------------------------------------------------- */

static void add_copy(struct lower_ctx *c, const struct view *from, struct buffer *to)
{
    const struct view whole = view_of_whole(to, &from->shape);
    c->kernel = kernel_new(c->l, "copy", NULL);
    lower_store(c, lower_part(c, &from->shape), &whole, lower_load(c, from));
}

static void lower_outputs(struct lower_ctx *c, const struct graph *g)
{
    for (size_t i = 0; i < g->outputs.count; i++) {
        const struct view from = view_of_value(c, g->outputs.data[i].value);
        struct buffer *to = buffer_new(c->l, BUFFER_OUTPUT, g->outputs.data[i].name, from.buffer->dtype, &from.shape);
        to->index = (int)i;
        if (to->count > 0)
            add_copy(c, &from, to);
    }
}

static bool is_bound(const struct graph *g, const struct variable *v)
{
    vec_each_ptr(const struct binding, b, &g->bindings)
        if (b->variable == v)
            return true;
    return false;
}

/* The first buffer of each variable, by the variable's index, or NULL. */
static struct buffer **variable_buffers(struct lower_ctx *c, const struct graph *g)
{
    struct buffer **first = arena_array(c->arena, struct buffer *, g->program->variables.count);
    vec_each(struct buffer *, b, &c->l->buffers)
        if (b->kind == BUFFER_VARIABLE && !first[b->variable->index])
            first[b->variable->index] = b;
    return first;
}

/* The buffer of variable v: the one its readers use, so that in-place updates are seen as such. */
static struct buffer *variable_buffer(struct lower_ctx *c, struct buffer *const *first, struct variable *v)
{
    if (first[v->index])
        return first[v->index];
    struct buffer *b = buffer_new(c->l, BUFFER_VARIABLE, v->name, v->dtype, &v->shape);
    b->variable = v;
    return b;
}

/* A kernel of its own: in front of it stands what computes the value, behind it what stores. */
static void add_finite_check(struct lower_ctx *c, const struct view *from)
{
    struct arena *const a = c->arena;
    const struct expr *x = lower_load(c, from);
    if (!dtype_is_float(x->dtype) || from->buffer->kind == BUFFER_CONSTANT || shape_count(&from->shape) == 0)
        return;
    if (dtype_is_pattern(x->dtype))
        x = expr_cast(a, DTYPE_FLOAT, x);
    const struct expr *const is_finite =
        expr_binary(a, EXPR_LT, expr_math(a, EXPR_FN_ABS, x), expr_float(a, x->dtype, INFINITY));
    c->kernel = kernel_new(c->l, "check", NULL);
    c->node = NULL; /* it belongs to none */
    lower_add_check(c, &from->shape, expr_cast(a, DTYPE_INT64, is_finite), 1, 2, "STEPC_E_NOT_FINITE");
}

/* Bindings take effect together: one that reads another bound variable takes its old content to a temporary first. */
static void lower_bindings(struct lower_ctx *c, const struct graph *g)
{
    struct view *from = arena_array(c->arena, struct view, g->bindings.count);
    for (size_t i = 0; i < g->bindings.count; i++) {
        const struct binding *b = &g->bindings.data[i];
        from[i] = view_of_value(c, b->value);
        const struct variable *read = from[i].buffer->variable;
        if (!read || !is_bound(g, read) || is_content_of(&from[i], b->variable))
            continue;
        struct buffer *temp =
            buffer_new(c->l, BUFFER_TEMP, arena_printf(c->arena, "%s_old", read->name), read->dtype, &from[i].shape);
        add_copy(c, &from[i], temp);
        from[i] = view_of_buffer(temp, &temp->shape);
    }
    for (size_t i = 0; c->options.check_finite && c->l->entry->kind == ENTRY_STEP && i < g->bindings.count; i++)
        if (from[i].buffer->variable != g->bindings.data[i].variable)
            add_finite_check(c, &from[i]);
    struct buffer **first = variable_buffers(c, g);
    for (size_t i = 0; i < g->bindings.count; i++) {
        const struct binding *b = &g->bindings.data[i];
        if (from[i].buffer->variable != b->variable && b->variable->shape.rank >= 0 &&
            shape_count(&b->variable->shape) > 0)
            add_copy(c, &from[i], variable_buffer(c, first, b->variable));
    }
}

/* ---- the driver -------------------------------------------------------------------------------------------------- */

static bool lower_node(struct lower_ctx *c, const struct node *n)
{
    c->node = n;
    c->kernel = NULL;
    if (!n->def->lower)
        return lower_error(c, "operator %s has no lowering to C", op_display_name(n->def));
    return n->def->lower(c);
}

static bool check_dtype(struct diag *d, const struct loc *at, const char *what, size_t i, const struct value *v)
{
    return !v || dtype_c_type(v->dtype)[0] != '\0' ||
           diag_unsupported(d, at, "%s %zu '%s' is %s, which the C emitter does not support", what, i, v->name,
                      dtype_name(v->dtype));
}

/* A value that a node makes is reported there, not again where it is read. */
static bool check_dtypes(struct diag *d, const struct graph *g)
{
    bool ok = true;
    graph_each_node(g, n)
    {
        for (size_t i = 0; i < n->inputs.count; i++)
            if (n->inputs.data[i] && !n->inputs.data[i]->producer)
                ok &= check_dtype(d, &n->loc, "input", i, n->inputs.data[i]);
        for (size_t o = 0; o < n->outputs.count; o++)
            ok &= check_dtype(d, &n->loc, "output", o, n->outputs.data[o]);
    }
    for (size_t o = 0; o < g->outputs.count; o++)
        if (!g->outputs.data[o].value->producer)
            ok &= check_dtype(d, &g->loc, "output", o, g->outputs.data[o].value);
    return ok;
}

bool lower_entry(struct diag *d, struct arena *a, const struct entry *e, struct lower_options options,
                 struct lowered **out)
{
    struct lowered *l = arena_new(a, struct lowered);
    l->arena = a;
    l->diag = d;
    l->entry = e;
    l->target = options.target;
    const struct graph *g = e->graph;
    struct lower_ctx c = {
        .l = l, .options = options, .arena = a, .views = arena_array(a, struct view, (size_t)g->value_count)};
    if (!check_dtypes(d, g))
        return false;
    for (size_t i = 0; i < g->inputs.count; i++) {
        struct value *v = g->inputs.data[i];
        struct buffer *b = source_buffer(l, v);
        b->index = (int)i;
        c.views[v->id] = view_of_buffer(b, &v->shape);
    }
    bool ok = true;
    graph_each_node(g, n)
        ok &= lower_node(&c, n);
    if (!ok)
        return false;
    lower_outputs(&c, g);
    lower_bindings(&c, g);
    lower_drop_empty(l);
    *out = l;
    return kernels_check_sizes(l);
}
