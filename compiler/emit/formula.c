/* What a kernel makes, as a formula over the values that it reads, for its comment:
 *
 *   hidden[32,32] = Relu(x[32,64] fc1.weight[32,64]' + fc1.bias[32])
 *
 * A product is written without a sign, a transposed matrix with a dash; a shape stands behind a name where it appears
 * first, and of several results where it changes. What only changes a shape or a type is passed through. Of several
 * results one may stand in the formula of the next, as in a program: "v = 0.9 * v + 0.1 * g; w -= rate * v"; so may
 * what several nodes of the kernel read. How an optimizer makes variables of a gradient is said once, by the first
 * kernel that does so: "v and w as in update_w()". */
#include "emit/emit_internal.h"

#include "graph/op_def.h"
#include <inttypes.h>
#include <string.h>

enum { OPERATIONS_MOST = 16 }; /* beyond that nobody reads it */

/* How tightly an operation binds. */
enum { LOOSE, CHOICE, COMPARISON, SUM, PRODUCT, TIGHT };

/* One of the results of a kernel, or what it reads several times. */
struct said_value {
    const struct buffer *buffer; /* NULL: in no memory */
    const struct value *value;
    const char *name, *shape;
    const char *text;
    uint64_t after, before; /* bit i: its formula names result i, or the variable that result i is written to */
    bool is_said;
};

typedef VEC(const struct value *) said_shapes; /* values whose shape was said */

struct formula {
    struct arena *arena;
    const struct kernel *kernel;
    const struct graph *graph;
    said_shapes *named;
    int operations;
    struct said_value *made; /* all results; */
    size_t count, at;  /* of which this is the formula; count 0: none is named */
    struct slots *slots; /* results are numbers; NULL: names */
};

/* Results by number, in the order in which a text names them: equal for equal ways to make variables. */
struct slots {
    VEC(size_t) results;
};

static const char *result_name(struct formula *f, size_t result)
{
    size_t i = 0;
    if (!f->slots)
        return f->made[result].name;
    while (i < f->slots->results.count && f->slots->results.data[i] != result)
        i++;
    if (i == f->slots->results.count)
        vec_push(f->arena, &f->slots->results, result);
    return arena_printf(f->arena, "$%zu", i);
}

static const char *value_text(struct formula *f, const struct value *v, int binding);

static bool is_of_kernel(const struct formula *f, const struct node *n)
{
    for (size_t i = 0; n && i < f->kernel->nodes.count; i++)
        if (f->kernel->nodes.data[i] == n)
            return true;
    return false;
}

static const char *with_shape(struct formula *f, const struct value *v)
{
    for (size_t i = 0; v->kind == VALUE_VARIABLE && i < f->count; i++) {
        const struct buffer *const b = f->made[i].buffer;
        if (!b || b->kind != BUFFER_VARIABLE || b->variable != v->variable)
            continue;
        if (i == f->at || f->slots) /* its shape stands on the left */
            return result_name(f, i);
        f->made[f->at].before |= (uint64_t)1 << i;
    }
    for (size_t i = 0; i < f->named->count; i++)
        if (f->named->data[i] == v)
            return v->name;
    vec_push(f->arena, f->named, v);
    return v->shape.rank > 0
               ? arena_printf(f->arena, "%s%s", v->name, value_shape_text(f->arena, f->graph->program, v))
               : v->name;
}

/* A constant of one element is its number. */
static const char *leaf_text(struct formula *f, const struct value *v)
{
    const struct tensor *const c = v->kind == VALUE_CONSTANT ? v->constant : NULL;
    if (c && shape_count(&c->shape) == 1 && dtype_bits(c->dtype) >= 32 && c->data) {
        const bool is_float = c->dtype == DTYPE_FLOAT || c->dtype == DTYPE_DOUBLE;
        return is_float ? arena_printf(f->arena, "%g", tensor_get_double(c, 0))
                        : arena_printf(f->arena, "%" PRId64, tensor_get_int(c, 0));
    }
    return with_shape(f, v);
}

static const char *bracketed(struct formula *f, const char *text, int has, int wants)
{
    return has < wants ? arena_printf(f->arena, "(%s)", text) : text;
}

static const char *matrix_text(struct formula *f, const struct node *n, int input, const char *attribute)
{
    const bool is_transposed = attribute && op_attr_int(n, attribute) != 0;
    return arena_printf(f->arena, "%s%s", value_text(f, node_input(n, (size_t)input), TIGHT), is_transposed ? "'" : "");
}

/* alpha a b + beta c, where the operator has these. */
static const char *product_text(struct formula *f, const struct node *n, int wants)
{
    const bool has_factors = n->def->attrs != NULL;
    const char *const a = matrix_text(f, n, 0, has_factors ? "transA" : NULL);
    const char *const b = matrix_text(f, n, 1, has_factors ? "transB" : NULL);
    const char *text = arena_printf(f->arena, "%s %s", a, b);
    const bool adds = has_factors && node_input(n, 2);
    if (has_factors && op_attr_float(n, "alpha") != 1.0)
        text = arena_printf(f->arena, "%g * %s", op_attr_float(n, "alpha"), text);
    if (adds && op_attr_float(n, "beta") != 1.0)
        text = arena_printf(f->arena, "%s + %g * %s", text, op_attr_float(n, "beta"),
                            value_text(f, node_input(n, 2), PRODUCT));
    else if (adds)
        text = arena_printf(f->arena, "%s + %s", text, value_text(f, node_input(n, 2), SUM));
    return bracketed(f, text, adds ? SUM : PRODUCT, wants);
}

static const char *call_text(struct formula *f, const struct node *n)
{
    struct strbuf b = {.arena = f->arena};
    const char *const name = strrchr(op_display_name(n->def), '.');
    strbuf_addf(&b, "%s(", name ? name + 1 : op_display_name(n->def));
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *const v = node_input(n, i);
        const bool is_list = v && v->kind == VALUE_CONSTANT && dtype_is_int(v->dtype) && i > 0; /* axes and the like */
        if (v && !is_list)
            strbuf_addf(&b, "%s%s", i ? ", " : "", value_text(f, v, LOOSE));
    }
    strbuf_add(&b, ")");
    return strbuf_text(&b);
}

static bool is_written(const struct node *n, const char *how)
{
    return n->def->written && str_equal(n->def->written, how);
}

static int binding_of(const char *sign)
{
    return strchr("+-", *sign) ? SUM : strchr("*/", *sign) ? PRODUCT : COMPARISON;
}

static const char *infix_text(struct formula *f, const struct node *n, int wants)
{
    const int binding = binding_of(n->def->written);
    const char *const x = value_text(f, node_input(n, 0), binding);
    const char *const y = value_text(f, node_input(n, 1), binding + 1);
    return bracketed(f, arena_printf(f->arena, "%s %s %s", x, n->def->written, y), binding, wants);
}

/* Texts are made from left to right, one statement each: the first that names a value says its shape. */
static const char *choice_text(struct formula *f, const struct node *n, int wants)
{
    const char *const condition = value_text(f, node_input(n, 0), COMPARISON);
    const char *const x = value_text(f, node_input(n, 1), COMPARISON);
    const char *const y = value_text(f, node_input(n, 2), CHOICE);
    return bracketed(f, arena_printf(f->arena, "%s ? %s : %s", condition, x, y), CHOICE, wants);
}

static const char *node_text(struct formula *f, const struct node *n, int wants)
{
    f->operations++;
    if (!n->def->written)
        return call_text(f, n);
    if (is_written(n, "="))
        return value_text(f, node_input(n, 0), wants);
    if (is_written(n, "ab"))
        return product_text(f, n, wants);
    if (is_written(n, "?:"))
        return choice_text(f, n, wants);
    return infix_text(f, n, wants);
}

static const char *value_text(struct formula *f, const struct value *v, int binding)
{
    for (size_t i = 0; i < f->count; i++)
        if (i != f->at && f->made[i].value == v) {
            f->made[f->at].after |= (uint64_t)1 << i;
            return result_name(f, i);
        }
    const bool is_made_here = v->kind == VALUE_RESULT && is_of_kernel(f, v->producer);
    if (!is_made_here || f->operations >= OPERATIONS_MOST)
        return leaf_text(f, v);
    return node_text(f, v->producer, binding);
}

const struct value *value_of_buffer(const struct graph *g, const struct buffer *b)
{
    for (size_t i = 0; b->kind == BUFFER_VARIABLE && i < g->bindings.count; i++)
        if (g->bindings.data[i].variable == b->variable)
            return g->bindings.data[i].value;
    return b->kind == BUFFER_VARIABLE ? NULL : map_get(&g->names, b->name);
}

const char *buffer_shape_text(struct arena *a, const struct graph *g, const struct buffer *b)
{
    const struct value *const v = value_of_buffer(g, b);
    return v && v->late && shape_equal(&v->shape, &b->shape) ? value_shape_text(a, g->program, v)
                                                             : shape_text(a, &b->shape);
}

/* What stands on the right of "hidden[32,32] = Relu(..)", or NULL where there is none; of results that may be named so
 * many. */
static const char *formula_text(struct arena *a, const struct kernel *k, const struct graph *g, struct said_value *made,
                                size_t at, size_t count, struct slots *slots, said_shapes *named)
{
    const struct value *v = made[at].value;
    struct formula f = {
        .arena = a, .kernel = k, .graph = g, .made = made, .count = count, .at = at, .slots = slots, .named = named};
    while (v && k->nodes.count == 0 && v->kind == VALUE_RESULT && is_written(v->producer, "="))
        v = node_input(v->producer, 0);
    if (v && k->nodes.count == 0) /* a copy */
        return leaf_text(&f, v);
    if (!v || v->kind != VALUE_RESULT || !is_of_kernel(&f, v->producer))
        return NULL;
    const char *const text = node_text(&f, v->producer, LOOSE);
    return f.operations > OPERATIONS_MOST ? NULL : text;
}

/* May result i be said next? What it names has been, and nobody names what it overwrites any more. */
static bool is_next(const struct said_value *made, size_t count, size_t i)
{
    bool is_free = !made[i].is_said;
    for (size_t j = 0; j < count; j++)
        is_free &= made[j].is_said || j == i || (!(made[i].after >> j & 1) && !(made[j].before >> i & 1));
    return is_free;
}

/* The formulas in the order in which they can be said; NULL: there is none for some result, or no such order. */
static const size_t *order_formulas(struct arena *a, const struct kernel *k, const struct graph *g,
                                    struct said_value *made, size_t count, bool are_named)
{
    size_t *const order = arena_array(a, size_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        made[i].after = made[i].before = 0;
        made[i].text = formula_text(a, k, g, made, i, are_named ? count : 0, NULL, &(said_shapes){0});
        if (!made[i].text)
            return NULL;
    }
    for (size_t said = 0; said < count; said++) {
        size_t next = 0;
        while (next < count && !is_next(made, count, next))
            next++;
        if (next == count)
            return NULL;
        made[next].is_said = true;
        order[said] = next;
    }
    return order;
}

/* ---- updates ----------------------------------------------------------------------------------------------------- */

static bool is_variable(const struct said_value *m)
{
    return m->buffer && m->buffer->kind == BUFFER_VARIABLE;
}

/* Does a formula name the other's result, or what that overwrites? */
static bool are_tied(const struct said_value *made, size_t i, size_t j)
{
    return ((made[i].after | made[i].before) >> j & 1) || ((made[j].after | made[j].before) >> i & 1);
}

/* Do all of them belong together, each by a formula that ties it to another one? */
static bool are_all_tied(struct arena *a, const struct said_value *made, const size_t *update, size_t length)
{
    bool *const reached = arena_array(a, bool, length + 1);
    size_t count = 1;
    reached[0] = true;
    for (bool has_grown = true; has_grown;) {
        has_grown = false;
        for (size_t i = 0; i < length; i++)
            for (size_t j = 0; reached[i] && j < length; j++)
                if (!reached[j] && are_tied(made, update[i], update[j])) {
                    reached[j] = has_grown = true;
                    count++;
                }
    }
    return count == length;
}

/* How many formulas from order[first] on make variables of each other: the moments of a weight, and the weight. */
static size_t length_of_update(struct arena *a, const struct said_value *made, const size_t *order, size_t first,
                               size_t count)
{
    size_t n = 0;
    while (first + n < count && is_variable(&made[order[first + n]]))
        n++;
    while (n > 1 && !are_all_tied(a, made, order + first, n))
        n--;
    return n;
}

/* "$0 = 0.9 * $0 + 0.1 * $1; $2 = .." */
static const char *pattern_of(struct arena *a, const struct kernel *k, const struct graph *g, struct said_value *made,
                              size_t count, const size_t *update, size_t length)
{
    struct strbuf b = {.arena = a};
    struct slots slots = {0};
    for (size_t i = 0; i < length; i++) {
        struct formula left = {.arena = a, .made = made, .slots = &slots};
        const char *const name = result_name(&left, update[i]);
        strbuf_addf(&b, "%s = %s; ", name, formula_text(a, k, g, made, update[i], count, &slots, &(said_shapes){0}));
    }
    return strbuf_text(&b);
}

/* w = w - x or w = w + x? What follows the sign binds as tightly as what follows -=. */
static bool is_change(const struct said_value *m)
{
    const struct value *v = m->value;
    while (v && v->kind == VALUE_RESULT && is_written(v->producer, "="))
        v = node_input(v->producer, 0);
    if (!is_variable(m) || !v || v->kind != VALUE_RESULT ||
        !(is_written(v->producer, "-") || is_written(v->producer, "+")))
        return false;
    const struct value *const x = node_input(v->producer, 0);
    return x->kind == VALUE_VARIABLE && x->variable == m->buffer->variable &&
           str_starts_with(m->text, m->name) && m->text[strlen(m->name)] == ' ';
}

static void add_formula(struct strbuf *b, const struct said_value *m, const char **shape)
{
    const char *const change = is_change(m) ? m->text + strlen(m->name) + 1 : NULL; /* "- x" */
    strbuf_addf(b, "%s%s%s ", b->length ? "; " : "", m->name, str_equal(m->shape, *shape) ? "" : m->shape);
    if (change)
        strbuf_addf(b, "%c= %s", *change, change + 2);
    else
        strbuf_addf(b, "= %s", m->text);
    *shape = m->shape;
}

/* "v, h and w as in update_fc1()" */
static void add_reference(struct strbuf *b, const struct said_value *made, const size_t *update, size_t length,
                          const char **shape, const char *function)
{
    for (size_t i = 0; i < length; i++) {
        const struct said_value *const m = &made[update[i]];
        strbuf_addf(b, "%s%s%s", i > 0 ? i + 1 < length ? ", " : " and " : b->length ? "; " : "", m->name,
                    str_equal(m->shape, *shape) ? "" : m->shape);
        *shape = m->shape;
    }
    strbuf_addf(b, " as in %s()", function);
}

static const char *all_formulas(struct arena *a, const struct kernel *k, const struct graph *g, struct said_value *made,
                                size_t count, bool are_named, const char *function, struct map *updates)
{
    struct strbuf b = {.arena = a};
    const char *shape = ""; /* said last */
    said_shapes named = {0};
    const size_t *const order = order_formulas(a, k, g, made, count, are_named);
    for (size_t i = 0, n = 0; order && i < count; i += n) {
        n = are_named ? length_of_update(a, made, order, i, count) : 0;
        const char *const pattern = n > 1 ? pattern_of(a, k, g, made, count, order + i, n) : NULL;
        const char *const first = pattern ? map_get(updates, pattern) : NULL;
        if (first && !str_equal(first, function)) {
            add_reference(&b, made, order + i, n, &shape, first);
            continue;
        }
        if (pattern && !first)
            map_set(updates, pattern, (void *)(uintptr_t)function);
        n = n > 0 ? n : 1;
        for (size_t j = 0; j < n; j++) {
            struct said_value *const m = &made[order[i + j]];
            m->text = formula_text(a, k, g, made, order[i + j], are_named ? count : 0, NULL, &named);
            add_formula(&b, m, &shape);
        }
    }
    return order ? strbuf_text(&b) : NULL;
}

static int reads_in_kernel(const struct kernel *k, const struct value *v)
{
    int reads = 0;
    for (size_t i = 0; i < k->nodes.count; i++)
        for (size_t j = 0; j < k->nodes.data[i]->inputs.count; j++)
            reads += node_input(k->nodes.data[i], j) == v;
    return reads;
}

/* Values that several nodes of the kernel read, and that are not among the results. */
static size_t add_shared(struct arena *a, const struct kernel *k, const struct graph *g, struct said_value *made,
                         size_t count, size_t most)
{
    for (size_t i = 0; i < k->nodes.count && count < most; i++) {
        const struct value *const v = k->nodes.data[i]->outputs.count > 0 ? k->nodes.data[i]->outputs.data[0] : NULL;
        bool is_known = !v || is_written(k->nodes.data[i], "=") || reads_in_kernel(k, v) < 2;
        for (size_t j = 0; j < count; j++)
            is_known |= made[j].value == v;
        if (!is_known)
            made[count++] =
                (struct said_value){.value = v, .name = v->name, .shape = value_shape_text(a, g->program, v)};
    }
    return count;
}

const char *formulas_text(struct arena *a, const struct kernel *k, const struct graph *g,
                          const struct buffer *const *results, size_t count, const char *function,
                          struct map *updates)
{
    enum { MOST = 64 };
    struct said_value *const made = arena_array(a, struct said_value, count + MOST);
    for (size_t i = 0; i < count; i++)
        made[i] = (struct said_value){.buffer = results[i],
                                      .value = value_of_buffer(g, results[i]),
                                      .name = results[i]->name,
                                      .shape = results[i]->shape.rank > 0 ? buffer_shape_text(a, g, results[i]) : ""};
    const size_t shared = add_shared(a, k, g, made, count, MOST);
    const char *const named = count <= MOST ? all_formulas(a, k, g, made, shared, true, function, updates) : NULL;
    for (size_t i = 0; i < count; i++)
        made[i].is_said = false;
    return named ? named : all_formulas(a, k, g, made, count, false, function, updates);
}
