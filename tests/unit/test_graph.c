/* compiler/graph: the data structure, operator look-up, attributes, inference, printing. Import has
 * tests of its own. */
#include "graph/build.h"
#include "graph/dim_expression.h"
#include "graph/region.h"
#include "suite.h"

#include <check.h>
#include <signal.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static struct arena arena;
static struct diag diag;
static struct program program;
static struct graph *g;
static struct builder b;
static struct { /* what `build(&at, ...)` wants */
    struct builder *b;
} at = {&b};

static void begin(void)
{
    diag = (struct diag){.arena = &arena};
    program = (struct program){.name = "p", .arena = &arena, .diag = &diag};
    g = graph_new(&program, "g");
    b = (struct builder){.graph = g, .loc = {.index = -1}, .prefix = ""};
}

static void end(void)
{
    arena_free(&arena);
}

static struct value *input(const char *name, enum dtype dtype, struct shape shape)
{
    return graph_add_input(g, name, dtype, &shape);
}

static const char *last_message(void)
{
    return diag.messages.count > 0 ? diag.messages.data[diag.messages.count - 1].text : "";
}

static const char *names_of_nodes(void)
{
    const char *text = "";
    for (const struct node *n = g->first; n != NULL; n = n->next)
        text = arena_printf(&arena, "%s%s ", text, n->outputs.data[0]->name);
    return text;
}

/* ---- dimensions -------------------------------------------------------------------------------------------------- */

/* What one count more adds to s.1 is 2. */
static struct size size_of(const void *context, const char *symbol)
{
    (void)context;
    return strcmp(symbol, "batch") == 0 ? size_constant(3)
           : strcmp(symbol, "s.1") == 0 ? (struct size){7, 2}
                                        : size_constant(-1);
}

static const struct {
    const char *text;
    int64_t size;
} dimensions[] = {
    {"batch*s.1", 21},        {"2*batch + 1", 7},   {"(s.1 - 1)//2", 3},             {"s.1//2*2", 6},
    {"s.1 % batch", 1},       {"(s.1+2)/batch", 3}, {"batch", 3},                    {"((batch))", 3},
    {"12", 12},               {"s.1/2", -1},        {"batch - s.1", -1},             {"batch*other", -1},
    {"batch//0", -1},         {"batch**2", -1},     {"2*(batch", -1},                {"batch )", -1},
    {"", -1},                 {"floor(batch)", 3},  {"floor(s.1/2 - 1/2)", 3},       {"ceiling(s.1/2)", 4},
    {"-batch + s.1", 4},      {"s.1 - -batch", 10}, {"2*-(batch - s.1)", 8},         {"Max(1, batch, s.1)", 7},
    {"min(s.1/2, batch)", 3}, {"-7//2 + 5", 1},     {"-s.1 % batch", 2},             {"floor(batch", -1},
    {"floor(batch, 2)", -1},  {"max()", -1},        {"sqrt(batch)", -1},             {"s.1/2*2", 7},
    {"batch/-1", -1},         {"batch-", -1},       {"99999999999*99999999999", -1}, {"/a/b", -1},
    {"3 4", -1},              {"batch % 0", -1},    {"s.1*batch//2", 10},            {"s.1 - batch - 1", 3},
};

START_TEST(dimensions_that_are_expressions)
{
    ck_assert_int_eq(dim_expression_size(&arena, dimensions[_i].text, size_of, NULL).most, dimensions[_i].size);
}
END_TEST

static const struct {
    const char *text;
    int64_t most, per;
} affine_dimensions[] = {
    {"s.1", 7, 2},
    {"3*s.1 + batch", 24, 6},
    {"batch - 2 + s.1", 8, 2},
    {"20 - s.1", 13, -2},
    {"s.1*batch//2", 10, 3},
    {"(s.1 + 1)/2", 4, 1},
    {"floor(s.1/2 - 1/2)", 3, 1},
    {"s.1//3", 2, NOT_AFFINE},
    {"s.1*s.1", 49, NOT_AFFINE},
    {"s.1 % 3", 1, NOT_AFFINE},
    {"s.1 % 2", 1, 0},
    {"max(s.1, batch)", 7, NOT_AFFINE},
    {"max(s.1, s.1 - 1)", 7, 2},
    {"21//s.1", 3, NOT_AFFINE},
};

START_TEST(dimensions_that_are_affine)
{
    const struct size size = dim_expression_size(&arena, affine_dimensions[_i].text, size_of, NULL);
    ck_assert_int_eq(size.most, affine_dimensions[_i].most);
    ck_assert_int_eq(size.per, affine_dimensions[_i].per);
}
END_TEST

START_TEST(deep_expressions_end)
{
    char text[200];
    memset(text, '(', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ck_assert_int_eq(dim_expression_size(&arena, text, size_of, NULL).most, -1);
}
END_TEST

START_TEST(dimensions_with_a_symbol_bound)
{
    ck_assert_str_eq(dim_expression_bind(&arena, "batch*seq + batches", "batch", 4), "4*seq + batches");
    ck_assert_str_eq(dim_expression_bind(&arena, "my_batch*seq", "batch", 4), "my_batch*seq");
    ck_assert_str_eq(dim_expression_bind(&arena, "bat*seq", "batch", 4), "bat*seq");
    ck_assert(dim_is_expression("2*seq") && !dim_is_expression("seq") && !dim_is_expression("input.1_dim") &&
              !dim_is_expression(""));
}
END_TEST

START_TEST(symbols_of_expressions)
{
    str_list names = {0};
    dim_expression_symbols(&arena, "max(batch, 2*s.1) + max", &names);
    ck_assert_uint_eq(names.count, 3);
    ck_assert_str_eq(names.data[0], "batch");
    ck_assert_str_eq(names.data[1], "s.1");
    ck_assert_str_eq(names.data[2], "max");
}
END_TEST

/* ---- operators --------------------------------------------------------------------------------------------------- */

START_TEST(operators_are_found_by_domain_and_name)
{
    ck_assert_ptr_nonnull(op_find("", "Add"));
    ck_assert_ptr_eq(op_find("", "Add"), op_find_qualified("Add"));
    ck_assert_ptr_null(op_find("", "add"));
    ck_assert_ptr_null(op_find("stepc", "Add"));
    ck_assert_ptr_null(op_find("", ""));
    ck_assert_ptr_null(op_find_qualified("no.such.Operator"));
    ck_assert_ptr_eq(op_find_qualified("ai.onnx.preview.training.Gradient"), op_find(DOMAIN_TRAINING, "Gradient"));
    ck_assert_str_eq(op_display_name(op_find("", "Add")), "Add");
}
END_TEST

START_TEST(every_operator_of_the_table_is_found_once)
{
    const char *names[1000];
    const size_t count = op_names("", names, COUNT(names));
    ck_assert_uint_gt(count, 10);
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(op_find("", names[i])->name, names[i]);
    ck_assert_uint_eq(op_names("", names, 1), count);
}
END_TEST

/* ---- attributes -------------------------------------------------------------------------------------------------- */

START_TEST(attributes_are_replaced_removed_and_have_defaults)
{
    struct node *n = graph_add_node(g, op_find("", "LeakyRelu"), "n", NULL, NULL);
    ck_assert_double_eq(op_attr_float(n, "alpha"), (double)0.01f);
    int64_t list[] = {1, 2, 3};
    node_set_attr(n, attr_ints("list", list, 3));
    list[0] = 7; /* it was copied */
    node_set_attr(n, attr_float("alpha", 0.5));
    node_set_attr(n, attr_float("alpha", 0.25));
    ck_assert_uint_eq(n->attrs.count, 2);
    ck_assert_double_eq(op_attr_float(n, "alpha"), 0.25);
    const int64_t *ints;
    size_t count;
    ck_assert(op_attr_ints(n, "list", &ints, &count));
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(ints[0], 1);
    node_remove_attr(n, "list");
    ck_assert(!op_attr_ints(n, "list", &ints, &count));
    ck_assert_uint_eq(count, 0);
    ck_assert_ptr_null(node_attr(n, "list"));
}
END_TEST

START_TEST(attributes_are_equal_in_all_that_they_have)
{
    static const char *const words[] = {"a", "b"}, *const again[] = {"a", "b"}, *const others[] = {"a", "c"};
    static const double floats[] = {0.5, 0.0}, negative[] = {0.5, -0.0};
    const struct attr some = {.name = "x", .type = ATTR_FLOATS, .floats = floats, .count = 2},
                      texts = {.name = "x", .type = ATTR_STRINGS, .strings = words, .count = 2};
    struct attr more_floats = some, same_texts = texts, other_texts = texts;
    more_floats.floats = negative;
    same_texts.strings = again;
    other_texts.strings = others;
    const struct size n = {8, 1}, pairs = {8, 2};
    const struct shape rows_of_n = SHAPE_OF(n, size_constant(8)), columns_of_n = SHAPE_OF(size_constant(8), n);
#define LIST(...)                                                                                                      \
    attr_ints("x", (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
    const struct {
        struct attr a, b;
        bool equal;
    } rows[] = {
        {LIST(1, 2, 3), LIST(1, 2, 3), true},
        {LIST(1, 2, 3), LIST(1, 2, 4), false},
        {LIST(1, 2, 3), LIST(0, 2, 3), false},
        {LIST(1, 2), LIST(1, 2, 3), false},
        {attr_int("x", 1), attr_int("x", 1), true},
        {attr_int("x", 1), attr_int("x", 2), false},
        {attr_size("x", &n), attr_size("x", &n), true},
        {attr_size("x", &n), attr_int("x", 8), false},
        {attr_size("x", &n), attr_size("x", &pairs), false},
        {attr_dims("x", &rows_of_n), attr_dims("x", &rows_of_n), true},
        {attr_dims("x", &rows_of_n), attr_dims("x", &columns_of_n), false},
        {attr_int("x", 1), attr_int("y", 1), false},
        {attr_int("x", 0), attr_float("x", 0), false},
        {attr_float("x", 0.0), attr_float("x", -0.0), false},
        {attr_string("x", "ab"), attr_string("x", "ac"), false},
        {attr_string("x", "ab"), attr_string("x", "ab"), true},
        {some, some, true},
        {some, more_floats, false},
        {texts, same_texts, true},
        {texts, other_texts, false},
    };
    for (int i = 0; i < COUNT(rows); i++) {
        ck_assert_msg(attr_equal(&rows[i].a, &rows[i].b) == rows[i].equal, "row %d", i);
        ck_assert_msg(attr_equal(&rows[i].b, &rows[i].a) == rows[i].equal, "row %d turned round", i);
    }
}
END_TEST

/* ---- structure --------------------------------------------------------------------------------------------------- */

START_TEST(names_are_made_unique_without_reserving_them)
{
    ck_assert_str_eq(graph_fresh_name(g, "x"), "x");
    struct value *x = input("x", DTYPE_FLOAT, SHAPE(2));
    ck_assert_str_eq(graph_fresh_name(g, "x"), "x_2");
    ck_assert_str_eq(input("x", DTYPE_FLOAT, SHAPE(2))->name, "x_2");
    ck_assert_str_eq(input("x_3", DTYPE_FLOAT, SHAPE(2))->name, "x_3");
    ck_assert_str_eq(input("x", DTYPE_FLOAT, SHAPE(2))->name, "x_4");
    graph_rename(g, x, "y");
    ck_assert_ptr_null(graph_find(g, "x"));
    ck_assert_ptr_eq(graph_find(g, "y"), x);
    ck_assert_str_eq(graph_fresh_name(g, "x"), "x");
}
END_TEST

/* Where a value takes another's name, that one gives up what it has no more. */
START_TEST(a_name_belongs_to_who_took_it_last)
{
    struct value *const x = input("x", DTYPE_FLOAT, SHAPE(2)), *const y = build(&at, "Neg", x);
    graph_rename(g, x, "neg");
    graph_remove_node(g, y->producer);
    ck_assert_ptr_eq(graph_find(g, "neg"), x);
}
END_TEST

START_TEST(many_equal_wishes_take_linear_time)
{
    for (int i = 0; i < 200000; i++)
        input("x", DTYPE_FLOAT, SHAPE(1));
    ck_assert_ptr_nonnull(graph_find(g, "x_200000"));
}
END_TEST

START_TEST(readers_follow_a_replacement)
{
    struct value *x = input("x", DTYPE_FLOAT, SHAPE(2)), *y = input("y", DTYPE_FLOAT, SHAPE(2));
    struct value *s = build(&at, "Add", x, x), *t = build(&at, "Mul", s, x);
    vec_push(&arena, &g->outputs, ((struct graph_output){"out", x}));
    ck_assert_uint_eq(x->uses.count, 3);
    graph_replace(g, x, y);
    ck_assert_uint_eq(x->uses.count, 0);
    ck_assert_uint_eq(y->uses.count, 3);
    ck_assert_ptr_eq(s->producer->inputs.data[1], y);
    ck_assert_ptr_eq(t->producer->inputs.data[1], y);
    ck_assert_ptr_eq(g->outputs.data[0].value, y);
    ck_assert(graph_is_used(g, y) && !graph_is_used(g, x) && !graph_is_used(g, t));
    graph_verify(g, "the test");
}
END_TEST

START_TEST(nodes_are_removed_and_moved)
{
    struct value *x = input("x", DTYPE_FLOAT, SHAPE(2));
    struct value *a = build(&at, "Neg", x), *c = build(&at, "Exp", x), *d = build(&at, "Abs", c);
    ck_assert_str_eq(names_of_nodes(), "neg exp abs ");
    graph_move_before(g, c->producer, a->producer);
    ck_assert_str_eq(names_of_nodes(), "exp neg abs ");
    graph_move_before(g, a->producer, NULL);
    ck_assert_str_eq(names_of_nodes(), "exp abs neg ");
    graph_remove_node(g, a->producer);
    ck_assert(a->producer->removed);
    ck_assert_str_eq(names_of_nodes(), "exp abs ");
    ck_assert_ptr_null(graph_find(g, "neg"));
    ck_assert_ptr_eq(g->last, d->producer);
    graph_remove_node(g, d->producer);
    graph_remove_node(g, c->producer);
    ck_assert_ptr_null(g->first);
    ck_assert_ptr_null(g->last);
    ck_assert_uint_eq(x->uses.count, 0);
    graph_verify(g, "the test");
}
END_TEST

START_TEST(trailing_omitted_inputs_are_trimmed)
{
    struct value *x = input("x", DTYPE_FLOAT, SHAPE(2)), *lo = build_like(&at, x, 0.0), *hi = build_like(&at, x, 1.0);
    struct node *n = build(&at, "Clip", x, lo, hi)->producer;
    node_set_input(n, 1, NULL);
    ck_assert_uint_eq(n->inputs.count, 3);
    node_set_input(n, 2, NULL);
    ck_assert_uint_eq(n->inputs.count, 1);
    ck_assert_uint_eq(build(&at, "Clip", x, NULL, NULL)->producer->inputs.count, 1);
    graph_verify(g, "the test");
}
END_TEST

START_TEST(variables_are_one_value_each)
{
    struct variable w = {.name = "w", .dtype = DTYPE_FLOAT, .shape = SHAPE(2, 3)},
                    v = {.name = "v", .dtype = DTYPE_DOUBLE};
    struct value *first = graph_add_variable(g, &w);
    ck_assert_ptr_ne(graph_add_variable(g, &v), first);
    ck_assert_ptr_eq(graph_add_variable(g, &w), first);
    ck_assert_uint_eq(g->sources.count, 2);
    graph_keep_sources(g, arena_array(&arena, bool, 2));
    ck_assert_uint_eq(g->sources.count, 0);
    ck_assert_ptr_ne(graph_add_variable(g, &w), first);
}
END_TEST

/* ---- inference --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *op;
    enum dtype dtype[3]; /* of the inputs; 0: no more */
    struct shape shape[3];
    const char *error;
} wrong[] = {
    {"Add", {DTYPE_FLOAT}, {SHAPE(2)}, "Add needs 2 inputs, given 1"},
    {"Relu", {DTYPE_FLOAT, DTYPE_FLOAT}, {SHAPE(2), SHAPE(2)}, "Relu takes at most 1 input, given 2"},
    {"Sqrt", {DTYPE_INT32}, {SHAPE(2)}, "input 0 'i0' is int32, expected a floating type"},
    {"Add", {DTYPE_FLOAT, DTYPE_INT32}, {SHAPE(2), SHAPE(2)},
     "input 1 'i1' is int32, expected float to match input 0 'i0'"},
    {"Sum", {DTYPE_FLOAT, DTYPE_FLOAT, DTYPE_DOUBLE}, {SHAPE(2), SHAPE(2), SHAPE(2)},
     "input 2 'i2' is double, expected float to match input 0 'i0'"},
    {"Where", {DTYPE_FLOAT, DTYPE_FLOAT, DTYPE_FLOAT}, {SHAPE_SCALAR, SHAPE_SCALAR, SHAPE_SCALAR},
     "input 0 'i0' is float, expected bool"},
    {"Add", {DTYPE_FLOAT, DTYPE_FLOAT}, {SHAPE(2, 3), SHAPE(2, 2)},
     "input 0 'i0' of shape [2,3] and input 1 'i1' of shape [2,2] do not broadcast: dimensions, aligned at the right, "
     "must be equal or 1"},
    {"Where", {DTYPE_BOOL, DTYPE_FLOAT, DTYPE_FLOAT}, {SHAPE(2), SHAPE(1), SHAPE(3)},
     "input 2 'i2' of shape [3] does not broadcast with [2], the shape of the inputs before it"},
    {"Add", {DTYPE_FLOAT, DTYPE_FLOAT}, {SHAPE(INT64_C(1) << 40, 1), SHAPE(1, INT64_C(1) << 40)},
     "output 0 would have shape [1099511627776,1099511627776], which is not possible or too large"},
};

START_TEST(wrong_inputs_are_refused)
{
    struct value *in[3];
    size_t count = 0;
    for (; count < 3 && wrong[_i].dtype[count] != 0; count++)
        in[count] = input(arena_printf(&arena, "i%zu", count), wrong[_i].dtype[count], wrong[_i].shape[count]);
    struct value *y = build_value(&b, wrong[_i].op, NULL, in, count);
    ck_assert(b.failed);
    ck_assert_str_eq(last_message(), wrong[_i].error);
    ck_assert_int_eq(y->dtype, in[0]->dtype); /* a placeholder */
    build(&at, "Relu", y); /* says nothing more */
    ck_assert_uint_eq(diag.errors, 1);
}
END_TEST

START_TEST(omitted_required_input_is_refused)
{
    struct value *x = input("x", DTYPE_FLOAT, SHAPE(2));
    build(&at, "Add", NULL, x);
    ck_assert_str_eq(last_message(), "input 0 (A) of Add is required and cannot be omitted");
}
END_TEST

START_TEST(outputs_take_dtype_and_shape)
{
    struct value *x = input("x", DTYPE_DOUBLE, SHAPE(4, 1, 3)), *y = input("y", DTYPE_DOUBLE, SHAPE(2, 1));
    const struct value *less = build(&at, "Less", x, y), *sum = build(&at, "Add", x, y), *neg = build(&at, "Neg", x);
    ck_assert_int_eq(less->dtype, DTYPE_BOOL);
    ck_assert_int_eq(sum->dtype, DTYPE_DOUBLE);
    ck_assert(shape_equal(&less->shape, &SHAPE(4, 2, 3)) && shape_equal(&sum->shape, &SHAPE(4, 2, 3)));
    ck_assert(shape_equal(&neg->shape, &x->shape));
    ck_assert(!b.failed);
}
END_TEST

/* ---- regions ----------------------------------------------------------------------------------------------------- */

/* next = s * factor + x; z = next - w: what differs is said by the arguments. */
struct kind_of_region {
    int64_t steps;
    bool backwards, x_is_slice, swaps, gives_state;
    int64_t size;
    double factor;
    const char *op;
};

static struct region *region_of(struct kind_of_region k)
{
    struct region *const r = region_new(g, size_constant(k.steps), k.backwards);
    struct value *const s = region_state(r, "s", DTYPE_FLOAT, &SHAPE(k.size)),
                       *const x = region_input(r, "x", DTYPE_FLOAT, &SHAPE(k.size), k.x_is_slice),
                       *const w = region_input(r, "w", DTYPE_FLOAT, &SHAPE(k.size), false);
    b.graph = region_graph(r);
    struct value *const factor = build_scalar(&b, DTYPE_FLOAT, k.factor);
    struct value *const product = build(&at, "Mul", s, factor);
    struct value *const next = build(&at, "Add", product, k.swaps ? w : x);
    struct value *const z = build(&at, k.op, next, k.swaps ? x : w);
    region_carry(r, 0, k.gives_state ? next : z);
    region_stack(r, "z", z);
    b.graph = g;
    return r;
}

/* Equal regions have the same nodes in the same order, on the same constants; names make no difference. */
START_TEST(regions_are_equal)
{
    const struct kind_of_region a = {5, false, true, false, true, 3, 0.5, "Sub"};
    struct kind_of_region others[] = {a, a, a, a, a, a, a, a};
    others[0].steps = 6;
    others[1].backwards = true;
    others[2].x_is_slice = false;
    others[3].swaps = true;
    others[4].gives_state = false;
    others[5].size = 4;
    others[6].factor = 0.25;
    others[7].op = "Div";
    struct region *const r = region_of(a);
    ck_assert(region_equal(r, r) && region_equal(r, region_of(a)) && region_equal(r, region_copy(g, r)));
    for (int i = 0; i < COUNT(others); i++) {
        struct region *const other = region_of(others[i]);
        ck_assert_msg(!region_equal(r, other) && !region_equal(other, r), "%d", i);
    }
}
END_TEST

START_TEST(regions_are_copied_whole)
{
    for (int backwards = 0; backwards < 2; backwards++) {
        struct region *const r = region_new(g, size_constant(5), backwards);
        struct value *const s = region_state(r, "s", DTYPE_FLOAT, &SHAPE(3)),
                           *const x = region_input(r, "x", DTYPE_FLOAT, &SHAPE(3), true),
                           *const w = region_input(r, "w", DTYPE_FLOAT, &SHAPE(3), false);
        b.graph = region_graph(r);
        struct value *const next = build(&at, "Add", build(&at, "Mul", s, w), x);
        region_carry(r, 0, next);
        ck_assert_int_eq(region_stack(r, "all", next), 1);
        const struct region *const copy = region_copy(g, r);
        ck_assert_int_eq(copy->trips.most, 5);
        ck_assert_int_eq(copy->backwards, backwards);
        ck_assert_int_eq(copy->states, 1);
        ck_assert(copy->is_slice.count == 2 && copy->is_slice.data[0] && !copy->is_slice.data[1]);
        ck_assert_ptr_ne(region_graph(copy), region_graph(r));
        ck_assert_str_eq(graph_print(&arena, region_graph(copy)), graph_print(&arena, region_graph(r)));
    }
}
END_TEST

/* ---- text and checks --------------------------------------------------------------------------------------------- */

START_TEST(graph_is_printed)
{
    struct variable w = {.name = "w", .dtype = DTYPE_FLOAT, .shape = SHAPE(3)};
    struct value *x = input("x", DTYPE_FLOAT, SHAPE(2, 3)), *v = graph_add_variable(g, &w);
    struct value *h = build_with(&at, "LeakyRelu", ATTRS(attr_float("alpha", (double)0.1f)), x);
    h->producer->name = "act";
    struct value *s = build(&at, "Mul", h, build_like(&at, x, 0.5));
    graph_rename(g, s, "a b");
    build(&at, "Clip", s, NULL, build_like(&at, x, 1.0));
    vec_push(&arena, &g->outputs, ((struct graph_output){"y", s}));
    vec_push(&arena, &g->bindings, ((struct binding){.variable = &w, .value = v}));
    ck_assert_str_eq(graph_print(&arena, g), "graph g {\n"
                                             "  input x:float[2,3]\n"
                                             "  variable w:float[3]\n"
                                             "  constant const:float = 0.5\n"
                                             "  constant const_2:float = 1\n"
                                             "  leakyrelu:float[2,3] = LeakyRelu<alpha=0.1>(x)   # node \"act\"\n"
                                             "  \"a b\":float[2,3] = Mul(leakyrelu, const)\n"
                                             "  clip:float[2,3] = Clip(\"a b\", _, const_2)\n"
                                             "  output y = \"a b\"\n"
                                             "  w <- w\n"
                                             "}\n");
    graph_verify(g, "the test");
}
END_TEST

static void break_order(struct value *x)
{
    struct value *y = build(&at, "Neg", build(&at, "Exp", x));
    graph_move_before(g, y->producer, g->first);
}

static void break_shape(struct value *x)
{
    build(&at, "Neg", x)->shape = SHAPE(3);
}

static void break_uses(struct value *x)
{
    build(&at, "Neg", x);
    x->uses.count = 0;
}

static void break_name(struct value *x)
{
    build(&at, "Neg", x)->name = "other";
}

static void break_output(struct value *x)
{
    vec_push(&arena, &g->outputs, ((struct graph_output){"y", build(&at, "Neg", x)}));
    graph_remove_node(g, g->first);
}

static void (*const breaks[])(struct value *x) = {break_order, break_shape, break_uses, break_name, break_output};

START_TEST(broken_graph_is_noticed)
{
    breaks[_i](input("x", DTYPE_FLOAT, SHAPE(2)));
    fclose(stderr);
    graph_verify(g, "the test"); /* aborts */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *all = tcase_create("graph");
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_loop_test(all, dimensions_that_are_expressions, 0, COUNT(dimensions));
    tcase_add_loop_test(all, dimensions_that_are_affine, 0, COUNT(affine_dimensions));
    tcase_add_test(all, deep_expressions_end);
    tcase_add_test(all, dimensions_with_a_symbol_bound);
    tcase_add_test(all, symbols_of_expressions);
    tcase_add_test(all, operators_are_found_by_domain_and_name);
    tcase_add_test(all, every_operator_of_the_table_is_found_once);
    tcase_add_test(all, attributes_are_replaced_removed_and_have_defaults);
    tcase_add_test(all, names_are_made_unique_without_reserving_them);
    tcase_add_test(all, a_name_belongs_to_who_took_it_last);
    tcase_add_test(all, many_equal_wishes_take_linear_time);
    tcase_add_test(all, readers_follow_a_replacement);
    tcase_add_test(all, nodes_are_removed_and_moved);
    tcase_add_test(all, trailing_omitted_inputs_are_trimmed);
    tcase_add_test(all, variables_are_one_value_each);
    tcase_add_loop_test(all, wrong_inputs_are_refused, 0, COUNT(wrong));
    tcase_add_test(all, omitted_required_input_is_refused);
    tcase_add_test(all, outputs_take_dtype_and_shape);
    tcase_add_test(all, attributes_are_equal_in_all_that_they_have);
    tcase_add_test(all, regions_are_equal);
    tcase_add_test(all, regions_are_copied_whole);
    tcase_add_test(all, graph_is_printed);
    tcase_add_loop_test_raise_signal(all, broken_graph_is_noticed, SIGABRT, 0, COUNT(breaks));
    suite_add_tcase(suite, all);

    return run_suite(suite);
}
