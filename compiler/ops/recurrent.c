/* RNN, GRU and LSTM: layers that take a sequence step by step. X is [steps, batch, width], or with layout 1 [batch,
 * steps, width]; W [directions, gates * hidden, width], R [directions, gates * hidden, hidden], B [directions,
 * 2 * gates * hidden].
 *
 *   RNN    h' = f(x W' + h R' + b)
 *   GRU    z, r = f(x W' + h R' + b);  h' = (1 - z) g(x Wn' + (r h) Rn' + bn) + z h
 *          with linear_before_reset the last product is r (h Rn' + cn)
 *   LSTM   i, o, f, c = x W' + h R' + b;  c' = f(f + Pf c) c + f(i + Pi c) g(c);  h' = f(o + Po c') h(c')
 *
 * They become a region over time (graph/region.h). What does not depend on the state, x W' + b, is one product of all
 * steps in front of it; R is transposed once. Where sequences are of different lengths a step behind the end of one
 * leaves its state alone.
 * Spec: ONNX RNN, GRU, LSTM-1, -7 (GRU-3), -14 (layout), -22 (bfloat16). */
#include "graph/axes.h"
#include "graph/region.h"
#include "ops/recurrent_rules.h"

#include <string.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define ATTRS_COMMON                                                                                                   \
    {.name = "activation_alpha", .type = ATTR_FLOATS, .no_default = true},                                             \
        {.name = "activation_beta", .type = ATTR_FLOATS, .no_default = true},                                          \
        {.name = "activations", .type = ATTR_STRINGS, .no_default = true},                                             \
        {.name = "clip", .type = ATTR_FLOAT, .no_default = true},                                                      \
        {.name = "direction", .type = ATTR_STRING, .string_default = "forward"},                                       \
        {.name = "hidden_size", .type = ATTR_INT, .no_default = true}
#define ATTR_LAYOUT {.name = "layout", .type = ATTR_INT, .int_default = 0}
#define ATTR_SEQUENCE {.name = "output_sequence", .type = ATTR_INT, .int_default = 0}
#define ATTR_RESET {.name = "linear_before_reset", .type = ATTR_INT, .int_default = 0}
#define ATTR_FORGET {.name = "input_forget", .type = ATTR_INT, .int_default = 0}

static const struct op_attr rnn_attrs_1[] = {ATTRS_COMMON, ATTR_SEQUENCE, {0}};
static const struct op_attr rnn_attrs_7[] = {ATTRS_COMMON, {0}};
static const struct op_attr rnn_attrs[] = {ATTRS_COMMON, ATTR_LAYOUT, {0}};
static const struct op_attr gru_attrs_3[] = {ATTRS_COMMON, ATTR_RESET, ATTR_SEQUENCE, {0}};
static const struct op_attr gru_attrs_7[] = {ATTRS_COMMON, ATTR_RESET, {0}};
static const struct op_attr gru_attrs[] = {ATTRS_COMMON, ATTR_RESET, ATTR_LAYOUT, {0}};
static const struct op_attr lstm_attrs_1[] = {ATTRS_COMMON, ATTR_FORGET, ATTR_SEQUENCE, {0}};
static const struct op_attr lstm_attrs_7[] = {ATTRS_COMMON, ATTR_FORGET, {0}};
static const struct op_attr lstm_attrs[] = {ATTRS_COMMON, ATTR_FORGET, ATTR_LAYOUT, {0}};

#define PARAM_T(label, how) {.name = (label), .type = 'T', .dtypes = DTYPES_FLOATS, .flags = (how)}
#define PARAMS_COMMON                                                                                                  \
    PARAM_T("X", 0), PARAM_T("W", 0), PARAM_T("R", 0), PARAM_T("B", PARAM_OPTIONAL),                                   \
        {.name = "sequence_lens", .dtypes = DTYPE_BIT(DTYPE_INT32), .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF},         \
        PARAM_T("initial_h", PARAM_OPTIONAL)
static const struct op_param inputs[] = {PARAMS_COMMON, {0}};
static const struct op_param lstm_inputs[] = {
    PARAMS_COMMON, PARAM_T("initial_c", PARAM_OPTIONAL), PARAM_T("P", PARAM_OPTIONAL), {0}};
static const struct op_param outputs[] = {PARAM_T("Y", PARAM_OPTIONAL), PARAM_T("Y_h", PARAM_OPTIONAL), {0}};
static const struct op_param lstm_outputs[] = {
    PARAM_T("Y", PARAM_OPTIONAL), PARAM_T("Y_h", PARAM_OPTIONAL), PARAM_T("Y_c", PARAM_OPTIONAL), {0}};

static bool upgrade_output_sequence(struct upgrade_ctx *c)
{
    node_remove_attr(c->node, "output_sequence");
    return true;
}

static const struct op_version rnn_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = rnn_attrs_1, .upgrade = upgrade_output_sequence},
    {.since = 7, .dtypes = FLOATS_1, .attrs = rnn_attrs_7},
    {.since = 14, .dtypes = FLOATS_1},
    {.since = 22},
    {0}};
static const struct op_version gru_versions[] = {
    {.since = 3, .dtypes = FLOATS_1, .attrs = gru_attrs_3, .upgrade = upgrade_output_sequence},
    {.since = 7, .dtypes = FLOATS_1, .attrs = gru_attrs_7},
    {.since = 14, .dtypes = FLOATS_1},
    {.since = 22},
    {0}};
static const struct op_version lstm_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = lstm_attrs_1, .upgrade = upgrade_output_sequence},
    {.since = 7, .dtypes = FLOATS_1, .attrs = lstm_attrs_7},
    {.since = 14, .dtypes = FLOATS_1},
    {.since = 22},
    {0}};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static bool check_shape(struct infer_ctx *c, int i, const struct shape *wanted)
{
    const struct value *const v = infer_in(c, i);
    if (v == NULL || shape_equal(&v->shape, wanted))
        return true;
    struct arena text = {0};
    infer_error(c, "input %d '%s' has shape %s, expected %s", i, v->name, shape_text(&text, &v->shape),
                shape_text(&text, wanted));
    arena_free(&text);
    return false;
}

static bool check_attributes(struct infer_ctx *c, const struct recurrent *r)
{
    const struct attr *const hidden = node_attr(c->node, "hidden_size");
    const char *const direction = op_attr_string(c->node, "direction");
    const int64_t layout = op_attr_int(c->node, "layout");
    if (strcmp(direction, "forward") != 0 && strcmp(direction, "reverse") != 0 &&
        strcmp(direction, "bidirectional") != 0)
        return infer_error(c, "direction is '%s', expected forward, reverse or bidirectional", direction);
    if (layout != 0 && layout != 1)
        return infer_error(c, "layout is %lld, expected 0 or 1", (long long)layout);
    if (hidden && hidden->i != r->hidden)
        return infer_error(c, "hidden_size is %lld, but R has %lld columns", (long long)hidden->i,
                           (long long)r->hidden);
    if (r->clips && !(r->clip >= 0))
        return infer_error(c, "clip is %g, expected 0 or more", r->clip);
    if (r->unknown)
        return infer_unsupported(c, "the activation '%s' is not known", r->unknown);
    if (r->steps.most == 0)
        return infer_unsupported(c, "a sequence without steps");
    return true;
}

static struct shape state_shape(const struct recurrent *r)
{
    const struct size directions = size_constant(r->directions), hidden = size_constant(r->hidden);
    return r->batch_first ? SHAPE_OF(r->batch, directions, hidden) : SHAPE_OF(directions, r->batch, hidden);
}

static struct shape sequence_shape(const struct recurrent *r)
{
    const struct size directions = size_constant(r->directions), hidden = size_constant(r->hidden);
    return r->batch_first ? SHAPE_OF(r->batch, r->steps, directions, hidden)
                          : SHAPE_OF(r->steps, directions, r->batch, hidden);
}

static bool recurrent_infer(struct infer_ctx *c)
{
    for (int i = RECURRENT_X; i <= RECURRENT_R; i++)
        if (infer_rank(c, i) != 3)
            return infer_error(c, "input %d '%s' has rank %d, expected 3", i, infer_in(c, i)->name, infer_rank(c, i));
    const struct recurrent r = recurrent_of(c->node);
    const int64_t rows = r.gates * r.hidden, d = r.directions;
    const struct shape state = state_shape(&r), sequence = sequence_shape(&r);
    if (!check_attributes(c, &r) || !check_shape(c, RECURRENT_W, &SHAPE(d, rows, r.width)) ||
        !check_shape(c, RECURRENT_R, &SHAPE(d, rows, r.hidden)) || !check_shape(c, RECURRENT_B, &SHAPE(d, 2 * rows)) ||
        !check_shape(c, RECURRENT_LENGTHS, &SHAPE_OF(r.batch)) || !check_shape(c, RECURRENT_H, &state) ||
        !check_shape(c, RECURRENT_C, &state) || !check_shape(c, RECURRENT_P, &SHAPE(d, 3 * r.hidden)))
        return false;
    bool ok = true;
    for (int o = 0; o < (int)c->node->outputs.count; o++)
        ok &= infer_out(c, o, DTYPE_UNDEFINED, o == 0 ? &sequence : &state);
    return ok;
}

/* ---- what a layer consists of ------------------------------------------------------------------------------------ */

/* One direction, while its region is made. Values of the region, and of the graph around it. */
struct direction {
    struct expand_ctx *c;
    struct recurrent r;
    int direction;
    struct region *region;
    struct builder *b;              /* in the region */
    VEC(struct value *) inputs;     /* of the region's node, behind the states */
    struct value *h, *cell;         /* states */
    struct value *x;                /* slices of x W' + b */
    struct value *going_on;         /* slices: is the step before the end of the sequence? NULL: always */
};

static struct arena *arena_of(const struct direction *l)
{
    return l->c->b->graph->arena;
}

static struct value *product(struct builder *b, struct value *x, struct value *y)
{
    return build_value(b, "MatMul", NULL, (struct value *const[]){x, y}, 2);
}

static struct value *transposed(struct builder *b, struct value *x)
{
    return build_transpose(b, x, (const int[]){1, 0});
}

/* Elements from .. to along an axis. */
static struct value *slice(struct builder *b, struct value *x, int axis, int64_t from, int64_t to)
{
    struct value *const in[] = {x, build_ints(b, &from, 1), build_ints(b, &to, 1),
                                build_ints(b, &(int64_t){axis}, 1)};
    return from == 0 && to == x->shape.dim[axis] ? x : build_value(b, "Slice", NULL, in, 4);
}

/* Rows or elements of the layer's direction: [directions, a..] becomes [a..]. */
static struct value *of_direction(const struct direction *l, int input)
{
    struct value *const v = expand_in(l->c, input);
    if (v == NULL)
        return NULL;
    struct shape s = SHAPE_SCALAR;
    for (int d = 1; d < v->shape.rank; d++)
        shape_take(&s, &v->shape, d);
    return build_reshape(l->c->b, slice(l->c->b, v, 0, l->direction, l->direction + 1), &s);
}

static struct value *add_input(struct direction *l, struct value *outer, const char *name, bool is_slice)
{
    struct shape s = SHAPE_SCALAR;
    for (int d = is_slice ? 1 : 0; d < outer->shape.rank; d++)
        shape_take(&s, &outer->shape, d);
    vec_push(arena_of(l), &l->inputs, build_called(l->c->b, name, outer));
    return region_input(l->region, name, outer->dtype, &s, is_slice);
}

/* Biases of the products with x or h, or NULL. */
static struct value *bias_of(const struct direction *l, bool of_h)
{
    const int64_t rows = l->r.gates * l->r.hidden;
    struct value *const b = of_direction(l, RECURRENT_B);
    return b ? slice(l->c->b, b, 0, of_h ? rows : 0, of_h ? 2 * rows : rows) : NULL;
}

/* Gates whose products with h are simply added take that bias with the one of x: all but the last of a GRU. */
static int64_t rows_of_common_bias(const struct direction *l)
{
    return l->r.cell == CELL_GRU ? 2 * l->r.hidden : l->r.gates * l->r.hidden;
}

static struct value *common_bias(const struct direction *l)
{
    struct builder *const b = l->c->b;
    const int64_t common = rows_of_common_bias(l), rows = l->r.gates * l->r.hidden;
    struct value *const of_x = bias_of(l, false);
    if (of_x == NULL)
        return NULL;
    struct value *const of_h = bias_of(l, true);
    struct value *const common_of_h = slice(b, of_h, 0, 0, common);
    struct value *const sum = build(l->c, "Add", slice(b, of_x, 0, 0, common), common_of_h);
    if (common == rows)
        return sum;
    return build_with(l->c, "Concat", ATTRS(attr_int("axis", 0)), sum, slice(b, of_x, 0, common, rows));
}

/* x W' + b of all steps: [steps, batch, rows]. */
static struct value *inputs_of_steps(const struct direction *l)
{
    struct builder *const b = l->c->b;
    const struct recurrent *const r = &l->r;
    const int64_t rows = r->gates * r->hidden;
    struct value *x = expand_in(l->c, RECURRENT_X);
    if (r->batch_first)
        x = build_transpose(b, x, (const int[]){1, 0, 2});
    const struct size lines = size_product(r->steps, r->batch);
    struct value *const flat = build_reshape(b, x, &SHAPE_OF(lines, size_constant(r->width)));
    struct value *sum = product(b, flat, transposed(b, of_direction(l, RECURRENT_W)));
    struct value *const bias = common_bias(l);
    if (bias)
        sum = build(l->c, "Add", sum, bias);
    return build_reshape(b, build_called(b, "from_x", sum), &SHAPE_OF(r->steps, r->batch, size_constant(rows)));
}

/* [steps, batch, 1]: is step t before the end of the sequence? */
static struct value *steps_going_on(const struct direction *l)
{
    struct builder *const b = l->c->b;
    struct value *const lengths = expand_in(l->c, RECURRENT_LENGTHS);
    if (lengths == NULL)
        return NULL;
    struct value *const t = build_counter(b, DTYPE_INT32, 0, &SHAPE_OF(l->r.steps, size_constant(1), size_constant(1)));
    return build(l->c, "Less", t, build_reshape(b, lengths, &SHAPE_OF(size_constant(1), l->r.batch, size_constant(1))));
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* v, a result of the region, by its own name: all of its values are made here. */
static struct value *called(const struct direction *l, const char *name, struct value *v)
{
    if (v->kind == VALUE_RESULT)
        graph_rename(l->b->graph, v, graph_fresh_name(l->b->graph, name));
    return v;
}

static struct value *activate(const struct direction *l, int function, const char *name, struct value *x)
{
    return called(l, name, recurrent_activate(l->b, &l->r, &l->r.activations[l->direction][function], x));
}

enum { MOST_GATES = 4 };

/* The parts of all gates along the last axis, called what they are for. */
static void split(const struct direction *l, struct value *all, int count, const char *const *names,
                  struct value **parts)
{
    const struct attr *const how = ATTRS(attr_int("axis", all->shape.rank - 1), attr_int("num_outputs", count));
    const struct node *const n = build_node(l->b, "Split", how, &all, 1, (size_t)count);
    for (int g = 0; g < count; g++)
        parts[g] = l->b->failed ? all : called(l, names[g], n->outputs.data[g]);
}

static struct value *one_minus(const struct direction *l, struct value *x)
{
    return build(l, "Sub", build_scalar(l->b, x->dtype, 1), x);
}

/* h and rows from .. to of R. */
static struct value *from_h(struct direction *l, struct value *h, const char *weights, int64_t from, int64_t to)
{
    struct builder *const b = l->c->b;
    struct value *const columns = transposed(b, slice(b, of_direction(l, RECURRENT_R), 0, from, to));
    return called(l, "from_h", product(l->b, h, add_input(l, columns, weights, false)));
}

static struct value *rnn_cell(struct direction *l)
{
    return activate(l, 0, "h_next", build(l, "Add", l->x, from_h(l, l->h, "R", 0, l->r.hidden)));
}

static struct value *bias_of_candidate(struct direction *l)
{
    struct value *const bias = bias_of(l, true);
    return bias ? add_input(l, slice(l->c->b, bias, 0, 2 * l->r.hidden, 3 * l->r.hidden), "bias", false) : NULL;
}

static struct value *gru_cell(struct direction *l)
{
    enum { Z, R, N };
    const int64_t hidden = l->r.hidden, in_common = l->r.reset_behind ? 3 * hidden : 2 * hidden;
    struct value *const common = from_h(l, l->h, "R", 0, in_common);
    struct value *of_x[MOST_GATES], *of_h[MOST_GATES];
    split(l, l->x, 3, (const char *const[]){"x_to_update", "x_to_reset", "x_to_candidate"}, of_x);
    split(l, common, l->r.reset_behind ? 3 : 2, (const char *const[]){"h_to_update", "h_to_reset", "h_to_candidate"},
          of_h);
    struct value *const z = activate(l, 0, "update_gate", build(l, "Add", of_x[Z], of_h[Z]));
    struct value *const r = activate(l, 0, "reset_gate", build(l, "Add", of_x[R], of_h[R]));
    struct value *const bias = bias_of_candidate(l);
    struct value *candidate;
    if (l->r.reset_behind) {
        candidate = build(l, "Mul", r, bias ? build(l, "Add", of_h[N], bias) : of_h[N]);
    } else {
        candidate = from_h(l, build(l, "Mul", r, l->h), "R_candidate", in_common, 3 * hidden);
        candidate = bias ? build(l, "Add", candidate, bias) : candidate;
    }
    struct value *const n = activate(l, 1, "candidate", build(l, "Add", of_x[N], candidate));
    struct value *const kept = build(l, "Mul", z, l->h);
    return build(l, "Add", build(l, "Mul", one_minus(l, z), n), kept);
}

/* x + p c; p may be NULL. */
static struct value *peep(const struct direction *l, struct value *x, struct value *p, struct value *cell)
{
    return p ? build(l, "Add", x, build(l, "Mul", p, cell)) : x;
}

static struct value *lstm_cell(struct direction *l, struct value **next_cell)
{
    enum { I, O, F, C };
    struct value *const all = build(l, "Add", l->x, from_h(l, l->h, "R", 0, 4 * l->r.hidden));
    struct value *const outer = of_direction(l, RECURRENT_P);
    struct value *gate[MOST_GATES], *p[MOST_GATES] = {0};
    split(l, called(l, "gates", all), 4,
          (const char *const[]){"to_input", "to_output", "to_forget", "to_candidate"}, gate);
    if (outer)
        split(l, add_input(l, outer, "P", false), 3,
              (const char *const[]){"P_of_input", "P_of_output", "P_of_forget"}, p);
    struct value *const i = activate(l, 0, "input_gate", peep(l, gate[I], p[I], l->cell));
    struct value *const f = l->r.coupled ? one_minus(l, i)
                                        : activate(l, 0, "forget_gate", peep(l, gate[F], p[F], l->cell));
    struct value *const c = activate(l, 1, "candidate", gate[C]);
    struct value *const added = build(l, "Mul", i, c);
    *next_cell = called(l, "c_next", build(l, "Add", build(l, "Mul", f, l->cell), added));
    struct value *const o = activate(l, 0, "output_gate", peep(l, gate[O], p[O], *next_cell));
    return build(l, "Mul", o, activate(l, 2, "cell_output", *next_cell));
}

/* ---- the region -------------------------------------------------------------------------------------------------- */

/* The state before the first step, [batch, hidden], or NULL. */
static struct value *initial_state(const struct direction *l, int input)
{
    struct value *const v = expand_in(l->c, input);
    const int axis = l->r.batch_first ? 1 : 0;
    return v ? build_reshape(l->c->b, slice(l->c->b, v, axis, l->direction, l->direction + 1),
                             &SHAPE_OF(l->r.batch, size_constant(l->r.hidden)))
             : NULL;
}

static struct value *choose(const struct direction *l, struct value *next, struct value *otherwise)
{
    return l->going_on ? build_value(l->b, "Where", NULL, (struct value *const[]){l->going_on, next, otherwise}, 3)
                       : next;
}

/* Of one direction: Y [steps, batch, hidden], and final states [batch, hidden]. */
static void build_layer(struct direction *l, struct value **y, struct value **final)
{
    const struct value *const x = expand_in(l->c, RECURRENT_X);
    const struct shape shape = SHAPE_OF(l->r.batch, size_constant(l->r.hidden));
    const bool is_lstm = l->r.cell == CELL_LSTM;
    struct builder *const outer = l->c->b;
    const char *const prefix = outer->prefix;
    if (l->r.directions > 1)
        outer->prefix = arena_printf(arena_of(l), "%s%s.", prefix, l->direction > 0 ? "backward" : "forward");
    l->region = region_new(outer->graph, l->r.steps, recurrent_is_backwards(&l->r, l->direction));
    struct builder b = {.graph = region_graph(l->region), .loc = outer->loc, .prefix = ""};
    l->b = &b;
    l->h = region_state(l->region, "h", x->dtype, &shape);
    vec_push(arena_of(l), &l->inputs, initial_state(l, RECURRENT_H));
    if (is_lstm) {
        l->cell = region_state(l->region, "c", x->dtype, &shape);
        vec_push(arena_of(l), &l->inputs, initial_state(l, RECURRENT_C));
    }
    l->x = add_input(l, inputs_of_steps(l), "x", true);
    struct value *const going_on = steps_going_on(l);
    l->going_on = going_on ? add_input(l, going_on, "going_on", true) : NULL;
    struct value *next_cell = NULL;
    struct value *const next = l->r.cell == CELL_RNN   ? rnn_cell(l)
                               : l->r.cell == CELL_GRU ? gru_cell(l)
                                                       : lstm_cell(l, &next_cell);
    region_carry(l->region, 0, choose(l, next, l->h));
    if (is_lstm)
        region_carry(l->region, 1, choose(l, next_cell, l->cell));
    region_stack(l->region, "y", l->going_on ? choose(l, next, build_full_like(&b, next, 0)) : next);
    outer->failed |= b.failed;
    const size_t states = (size_t)l->region->states;
    const char *names[3];
    for (size_t i = 0; i <= states; i++)
        names[i] = arena_printf(arena_of(l), "%s%s", outer->prefix, l->region->program->variables.data[i]->name);
    const struct node *const n = build_region(outer, l->region, l->inputs.data, l->inputs.count, names, states + 1);
    *y = n->outputs.data[states];
    final[0] = n->outputs.data[0];
    final[1] = is_lstm ? n->outputs.data[1] : NULL;
    outer->prefix = prefix;
}

/* Directions side by side along `axis`, a new one; with layout 1 `perm` brings the batch to the front. */
static bool join(struct expand_ctx *c, const struct recurrent *r, int output, struct value *const *v, int axis,
                 const int *perm)
{
    struct value *parts[RECURRENT_MOST_DIRECTIONS];
    const int rank = v[0]->shape.rank + 1;
    struct shape s = SHAPE_SCALAR;
    if (!expand_wants(c, output))
        return true;
    for (int d = 0, from = 0; d < rank; d++)
        shape_add(&s, d == axis ? size_constant(1) : shape_size(&v[0]->shape, from++));
    for (int d = 0; d < r->directions; d++)
        parts[d] = build_reshape(c->b, v[d], &s);
    struct value *all = r->directions == 1 ? parts[0]
                                           : build_value(c->b, "Concat", ATTRS(attr_int("axis", axis)), parts,
                                                         (size_t)r->directions);
    if (r->batch_first)
        all = build_transpose(c->b, all, perm);
    return expand_out(c, output, all);
}

static bool recurrent_expand(struct expand_ctx *c)
{
    const struct recurrent r = recurrent_of(c->node);
    struct value *y[RECURRENT_MOST_DIRECTIONS], *final[2][RECURRENT_MOST_DIRECTIONS];
    for (int d = 0; d < r.directions; d++) {
        struct direction l = {.c = c, .r = r, .direction = d};
        struct value *states[2];
        build_layer(&l, &y[d], states);
        final[0][d] = states[0];
        final[1][d] = states[1];
        if (c->b->failed)
            return false;
    }
    return join(c, &r, 0, y, 1, (const int[]){2, 0, 1, 3}) && join(c, &r, 1, final[0], 0, (const int[]){1, 0, 2}) &&
           (r.cell != CELL_LSTM || join(c, &r, 2, final[1], 0, (const int[]){1, 0, 2}));
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct op_sample rnn_samples[] = {
    {.text = "g (float[4,2,3] x, float[1,5,3] w, float[1,5,5] r) => (float[4,1,2,5] y, float[1,2,5] h) { "
             "y, h = RNN <hidden_size = 5> (x, w, r) }"},
    {.text = "g (double[4,2,3] x, double[2,5,3] w, double[2,5,5] r, double[2,10] b) => (double[4,2,2,5] y) { "
             "y = RNN <direction = \"bidirectional\", activations = [\"Sigmoid\", \"Elu\"], activation_alpha = [0.5]> "
             "(x, w, r, b) }"},
    {.text = "g (float[2,4,3] x, float[1,5,3] w, float[1,5,5] r, float[2,1,5] i) => (float[2,4,1,5] y, float[2,1,5] h) "
             "{ b = Constant <value_floats = [0.1, 0.2, 0.3, 0.4, 0.5, -0.1, -0.2, 0.7, 0.1, 0.3]> () "
             "s = Constant <value_ints = [1, 10]> () c = Reshape(b, s) "
             "y, h = RNN <layout = 1, clip = 0.8> (x, w, r, c, , i) }",
     .no_gradient = true},
    {.text = "g (float[2,1,3] x, float[1,2,3] w, float[1,2,2] r) => (float[2,1,1,2] y) { "
             "y = RNN <output_sequence = 1> (x, w, r) }",
     .opset = 1},
    {.text = "g (float[4,2,3] x, float[1,5,3] w, float[1,4,5] r) => (float[4,1,2,5] y) { y = RNN(x, w, r) }",
     .error = "has shape [1,4,5], expected [1,5,5]"},
    {.text = "g (float[4,2,3] x, float[1,5,3] w, float[1,5,5] r) => (float[4,1,2,5] y) { "
             "y = RNN <activations = [\"Swish\"]> (x, w, r) }",
     .error = "the activation 'Swish' is not known"},
    {0}};
static const struct op_sample gru_samples[] = {
    {.text = "g (float[4,2,3] x, float[1,15,3] w, float[1,15,5] r, float[1,30] b) => (float[4,1,2,5] y, float[1,2,5] "
             "h) { y, h = GRU <linear_before_reset = 1> (x, w, r, b) }"},
    {.text = "g (double[3,2,3] x, double[1,12,3] w, double[1,12,4] r, double[1,24] b, double[1,2,4] i) => "
             "(double[1,2,4] h) { _, h = GRU <direction = \"reverse\"> (x, w, r, b, , i) }"},
    {.text = "g (float[3,2,3] x, float[2,12,3] w, float[2,12,4] r) => (float[3,2,2,4] y, float[2,2,4] h) { "
             "n = Constant <value = int32[2] {3, 2}> () "
             "y, h = GRU <direction = \"bidirectional\", linear_before_reset = 1> (x, w, r, , n) }"},
    {.text = "g (float[2,3,3] x, float[1,12,3] w, float[1,12,4] r) => (float[2,3,1,4] y) { y = GRU <layout = 1, "
             "activations = [\"HardSigmoid\", \"ScaledTanh\"], activation_alpha = [0.1, 1.5], activation_beta = "
             "[0.4, 0.7]> (x, w, r) }"},
    {.text = "g (float16[3,2,3] x, float16[1,12,3] w, float16[1,12,4] r) => (float16[3,1,2,4] y) { y = GRU(x, w, r) }",
     .tolerance = 1e-2},
    {.text = "g (float16[3,2,3] x, float16[1,12,3] w, float16[1,12,4] r, float16[1,2,4] i) => (float16[3,1,2,4] y) { "
             "y = GRU(x, w, r, , , i) }",
     .tolerance = 1e-2},
    {.text = "g (float[2,1,3] x, float[1,6,3] w, float[1,6,2] r) => (float[2,1,1,2] y) { "
             "y = GRU <output_sequence = 1> (x, w, r) }",
     .opset = 3},
    {.text = "g (float[3,2,3] x, float[1,12,3] w, float[1,12,4] r) => (float[3,1,2,4] y) { "
             "y = GRU <hidden_size = 5> (x, w, r) }",
     .error = "hidden_size is 5, but R has 4 columns"},
    {.text = "g (float[3,2,3] x, float[1,12,3] w, float[1,12,4] r) => (float[3,1,2,4] y) { "
             "y = GRU <clip = -1.0> (x, w, r) }",
     .error = "clip is -1, expected 0 or more"},
    {0}};
static const struct op_sample lstm_samples[] = {
    {.text = "g (float[4,2,3] x, float[1,20,3] w, float[1,20,5] r, float[1,40] b) => (float[4,1,2,5] y, float[1,2,5] "
             "h, float[1,2,5] c) { y, h, c = LSTM(x, w, r, b) }"},
    {.text = "g (double[3,2,3] x, double[1,16,3] w, double[1,16,4] r, double[1,2,4] h0, double[1,2,4] c0, double[1,12] "
             "p) => (double[3,1,2,4] y, double[1,2,4] c) { y, _, c = LSTM(x, w, r, , , h0, c0, p) }"},
    {.text = "g (float[3,2,3] x, float[2,16,3] w, float[2,16,4] r) => (float[3,2,2,4] y, float[2,2,4] c) { "
             "n = Constant <value = int32[2] {1, 3}> () "
             "y, _, c = LSTM <direction = \"bidirectional\", input_forget = 1> (x, w, r, , n) }"},
    {.text = "g (float[2,1,3] x, float[1,8,3] w, float[1,8,2] r) => (float[2,1,1,2] y) { "
             "y = LSTM <output_sequence = 1> (x, w, r) }",
     .opset = 1},
    {.text = "g (float[2,3,3] x, float[1,16,3] w, float[1,16,4] r) => (float[2,1,4] h) { "
             "_, h = LSTM <layout = 1, clip = 0.5> (x, w, r) }",
     .no_gradient = true},
    {0}};

/* Samples are apart; W, R, B and P are whole, as are steps, directions and what is hidden. */
static void recurrent_axes(struct axes_ctx *c)
{
    const bool batch_first = recurrent_of(c->node).batch_first;
    const int samples = axes_label(c), of_state = batch_first ? 0 : 1;
    axes_put(c, RECURRENT_X, of_state, samples);
    axes_put(c, RECURRENT_LENGTHS, 0, samples);
    axes_put(c, RECURRENT_H, of_state, samples);
    axes_put(c, RECURRENT_C, of_state, samples);
    axes_give(c, 0, batch_first ? 0 : 2, samples);
    for (size_t o = 1; o < c->node->outputs.count; o++)
        axes_give(c, (int)o, of_state, samples);
}

/* Runtimes want to be told what W's shape says. */
static bool recurrent_plain(struct expand_ctx *c)
{
    const struct value *const r = expand_in(c, 2);
    node_set_attr(c->node, attr_int("hidden_size", r->shape.dim[2]));
    return true;
}

/* With layout 1 a runtime may have none. */
static bool recurrent_stays(const struct node *n)
{
    return op_attr_int(n, "layout") == 0;
}

const struct op_def op_defs_recurrent[] = {{.name = "RNN",
                                            .versions = rnn_versions,
                                            .inputs = inputs,
                                            .outputs = outputs,
                                            .attrs = rnn_attrs,
                                            .infer = recurrent_infer,
                                            .axes = recurrent_axes,
                                            .stays = recurrent_stays,
                                            .plain = recurrent_plain,
                                            .expand = recurrent_expand,
                                            .eval = recurrent_eval,
                                            .samples = rnn_samples,
                                            .in_float = true},
                                           {.name = "GRU",
                                            .versions = gru_versions,
                                            .inputs = inputs,
                                            .outputs = outputs,
                                            .attrs = gru_attrs,
                                            .infer = recurrent_infer,
                                            .axes = recurrent_axes,
                                            .stays = recurrent_stays,
                                            .plain = recurrent_plain,
                                            .expand = recurrent_expand,
                                            .eval = recurrent_eval,
                                            .samples = gru_samples,
                                            .in_float = true},
                                           {.name = "LSTM",
                                            .versions = lstm_versions,
                                            .inputs = lstm_inputs,
                                            .outputs = lstm_outputs,
                                            .attrs = lstm_attrs,
                                            .infer = recurrent_infer,
                                            .axes = recurrent_axes,
                                            .stays = recurrent_stays,
                                            .plain = recurrent_plain,
                                            .expand = recurrent_expand,
                                            .eval = recurrent_eval,
                                            .samples = lstm_samples,
                                            .in_float = true},
                                           {0}};
