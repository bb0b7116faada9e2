/* Import and combination: what entries, variables and bindings a model gives, and what is said of bad ones. */
#include "train_models.h"
#include "suite.h"

/* ---- training steps ---------------------------------------------------------------------------------------------- */

/* p = x w + b; loss = mean((p - t)^2); w <- w - lr dw, b <- b - lr db */
static struct model *linear_regression(void)
{
    struct model *const m = new_model();
    struct model_graph *const g = m->graph;
    input(g, "x", DTYPE_DOUBLE, "batch 2");
    output(g, "p");
    model_add_initializer(&arena, g, "w", DOUBLES(SHAPE(2, 1), 1, 2));
    model_add_initializer(&arena, g, "b", DOUBLES(SHAPE(1), 0.5));
    op(g, "xw", "MatMul", "x w");
    op(g, "p", "Add", "xw b");

    struct model_training *const t = add_training(m, "sgd");
    struct model_graph *const a = t->algorithm;
    input(a, "t", DTYPE_DOUBLE, "batch 1");
    output(a, "loss w_new b_new");
    model_add_initializer(&arena, a, "lr", SCALAR(0.1));
    op(a, "e", "Sub", "p t");
    op(a, "ee", "Mul", "e e");
    model_set_int(&arena, op(a, "loss", "ReduceMean", "ee"), "keepdims", 0);
    gradient(a, "dw db", "w b", "x t", "loss", "w b x t");
    op(a, "sw", "Mul", "lr dw");
    op(a, "sb", "Mul", "lr db");
    op(a, "w_new", "Sub", "w sw");
    op(a, "b_new", "Sub", "b sb");
    update(t, "w", "w_new");
    update(t, "b", "b_new");
    return m;
}

static struct map *dims_of(const char *name, int64_t size)
{
    struct map *const dims = arena_new(&arena, struct map);
    int64_t *const x = arena_new(&arena, int64_t);
    dims->arena = &arena;
    *x = size;
    map_set(dims, name, x);
    return dims;
}

START_TEST(step_of_linear_regression)
{
    struct model *const m = linear_regression();
    options.dims = dims_of("batch", 2);
    must_combine(m);
    ck_assert_int_eq(program->variables.count, 2);
    ck_assert_str_eq(program->variables.data[0]->name, "w");
    ck_assert_int_eq(program->variables.data[0]->role, ROLE_WEIGHT);
    const struct entry *const step = program_entry(program, "step");
    ck_assert_int_eq(step->graph->inputs.count, 2);  /* x, t: the learning rate is a constant */
    ck_assert_int_eq(step->graph->outputs.count, 2); /* p, loss: w_new and b_new are stored */
    ck_assert_str_eq(step->graph->outputs.data[1].name, "loss");

    struct interp *const s = start();
    const struct tensor *const x = DOUBLES(SHAPE(2, 2), 1, 2, 3, 4), *const t = DOUBLES(SHAPE(2, 1), 5, 10);
    /* p = 5.5, 11.5; e = 0.5, 1.5; loss = 1.25; dp = 2e/2 = 0.5, 1.5; dw = 5, 7; db = 2 */
    EXPECT(run(s, "step", "loss", INPUTS(x, t)), 1.25);
    EXPECT(s->variables[0], 0.5, 1.3);
    EXPECT(s->variables[1], 0.3);
    EXPECT(run(s, "infer", "p", INPUTS(x)), 3.4, 7.0);
    EXPECT(run(s, "step", "dw", INPUTS(x, t)), -10.6, -15.2); /* the gradient keeps the model's name */
}
END_TEST

START_TEST(symbols_are_bound_by_options_and_fed_tensors)
{
    struct model *const m = linear_regression();
    ck_assert(!combine(m));
    ck_assert(has_message("dimension 0 of input 'x' is 'batch'; give --dim batch=SIZE"));

    setup();
    options.dims = dims_of("infer:batch", 7);
    map_set((struct map *)options.dims, "batch", dims_of("batch", 3)->entries[0].value);
    must_combine(m);
    ck_assert_int_eq(program_entry(program, "infer")->graph->inputs.data[0]->shape.dim[0], 7);
    ck_assert_int_eq(program_entry(program, "step")->graph->inputs.data[0]->shape.dim[0], 3);

    setup();
    struct map fed = {.arena = &arena};
    map_set(&fed, "t", DOUBLES(SHAPE(9, 4, 1), 0)); /* a stack of nine */
    options.fed = &fed;
    must_combine(m);
    ck_assert_int_eq(program_entry(program, "step")->graph->inputs.data[0]->shape.dim[0], 4);

    setup();
    map_set(&fed, "t", DOUBLES(SHAPE(4, 2), 0));
    options.fed = &fed;
    ck_assert(!combine(m));
    ck_assert(has_message("dimension 1 of input 't' is 1, but the tensor fed has 2"));
}
END_TEST

/* R10 in docs/readings.md: {a <- b_out, b <- a_out} swaps. */
START_TEST(updates_are_simultaneous)
{
    struct model *const m = new_model();
    model_add_initializer(&arena, m->graph, "a", SCALAR(1));
    model_add_initializer(&arena, m->graph, "b", SCALAR(2));
    op(m->graph, "sum", "Add", "a b");
    output(m->graph, "sum");
    struct model_training *const t = add_training(m, "swap");
    op(t->algorithm, "a_out", "Identity", "a");
    op(t->algorithm, "b_out", "Identity", "b");
    output(t->algorithm, "a_out b_out");
    update(t, "a", "b_out");
    update(t, "b", "a_out");
    must_combine(m);
    struct interp *const s = start();
    run(s, "step", "sum", INPUTS(NULL));
    EXPECT(s->variables[0], 2);
    EXPECT(s->variables[1], 1);
}
END_TEST

START_TEST(entries_are_named_after_their_algorithms)
{
    struct model *const m = new_model();
    model_add_initializer(&arena, m->graph, "a", SCALAR(1));
    op(m->graph, "y", "Identity", "a");
    output(m->graph, "y");
    static const char *const names[] = {"train critic", "", "evaluate"};
    for (int k = 0; k < 3; k++) {
        struct model_training *const t = add_training(m, names[k]);
        op(t->algorithm, "z", "Add", "a a");
        output(t->algorithm, "z");
        if (k < 2)
            update(t, "a", "z");
    }
    must_combine(m);
    static const char *const made[] = {"init", "step", "train_critic", "step_2", "evaluate", "infer"};
    ck_assert_int_eq(program->entries.count, 6);
    for (int i = 0; i < 6; i++)
        ck_assert_str_eq(program->entries.data[i].name, made[i]);
    ck_assert_int_eq(program->entries.data[4].kind, ENTRY_EVALUATE);
    ck_assert_int_eq(program->entries.data[4].graph->outputs.count, 2);
    ck_assert(has_message("key 'a' is bound by an earlier training_info too")); /* R9 */

    ck_assert(combine_program(&diag, &arena, m, &options, "test", "evaluate", &program));
    ck_assert_int_eq(program->entries.count, 1);
    ck_assert(combine_program(&diag, &arena, m, &options, "test", "infer,step_2", &program)); /* not step */
    ck_assert_int_eq(program->entries.count, 2);
    ck_assert_str_eq(program->entries.data[0].name, "step_2");
    ck_assert_str_eq(program->entries.data[1].name, "infer");
    ck_assert(!combine_program(&diag, &arena, m, &options, "test", "evaluat", &program));
    ck_assert(has_message("no entry 'evaluat'; it has: init, infer, step, train_critic, step_2, evaluate"));
}
END_TEST

START_TEST(variables_stand_in_order_of_their_roles)
{
    struct model *const m = new_model();
    model_add_initializer(&arena, m->graph, "w", DOUBLES(SHAPE(2), 1));
    op(m->graph, "y", "Identity", "w");
    output(m->graph, "y");
    struct model_training *const t = add_training(m, "a");
    struct tensor *const zero = tensor_new(&arena, DTYPE_INT64, &SHAPE_SCALAR);
    struct tensor *const one = tensor_new(&arena, DTYPE_INT64, &SHAPE_SCALAR);
    tensor_set_int(one, 0, 1);
    model_add_initializer(&arena, t->algorithm, "T", zero);
    model_add_initializer(&arena, t->algorithm, "one", one);
    model_add_initializer(&arena, t->algorithm, "v", DOUBLES(SHAPE(2), 0));
    op(t->algorithm, "T_new", "Add", "T one");
    op(t->algorithm, "v_new", "Add", "v w");
    op(t->algorithm, "w_new", "Identity", "w");
    output(t->algorithm, "T_new v_new w_new");
    update(t, "T", "T_new");
    update(t, "v", "v_new");
    update(t, "w", "w_new");
    must_combine(m);
    ck_assert_int_eq(program->variables.count, 3);
    ck_assert_str_eq(program->variables.data[0]->name, "w");
    ck_assert_str_eq(program->variables.data[1]->name, "v");
    ck_assert_int_eq(program->variables.data[1]->role, ROLE_OPTIMIZER);
    ck_assert_str_eq(program->variables.data[2]->name, "T");
    ck_assert_int_eq(program->variables.data[2]->role, ROLE_COUNTER);
}
END_TEST

START_TEST(roles_follow_from_readers)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, "2 3");
    static const char *const vectors[] = {"scale", "bias", "mean", "var"};
    for (int i = 0; i < 4; i++)
        model_add_initializer(&arena, m->graph, vectors[i], DOUBLES(SHAPE(3), 1, 2, 3));
    op(m->graph, "y", "BatchNormalization", "x scale bias mean var");
    output(m->graph, "y");
    struct model_training *const t = add_training(m, "a");
    model_add_initializer(&arena, t->algorithm, "seen", tensor_new(&arena, DTYPE_INT64, &SHAPE(3)));
    op(t->algorithm, "seen_new", "Add", "seen seen");
    op(t->algorithm, "mean_new", "Add", "mean mean");
    op(t->algorithm, "scale_new", "Add", "scale scale");
    output(t->algorithm, "seen_new mean_new scale_new");
    update(t, "seen", "seen_new");
    update(t, "mean", "mean_new");
    update(t, "scale", "scale_new");
    must_combine(m);
    ck_assert_int_eq(program_variable(program, "scale")->role, ROLE_WEIGHT);
    ck_assert_int_eq(program_variable(program, "mean")->role, ROLE_STATISTIC);
    ck_assert_int_eq(program_variable(program, "seen")->role, ROLE_OPTIMIZER);
}
END_TEST

/* Only what an entry adds to and else does not look at, and adds what differs from sample to sample. */
START_TEST(sums_are_known_by_their_update)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, "2");
    op(m->graph, "y", "Identity", "x");
    output(m->graph, "y");
    struct model_training *const t = add_training(m, "a");
    static const char *const names[] = {"sum", "turned", "fixed", "twice", "looked_at", "told", "by",
                                       "scaled", "drawn", "constant"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        model_add_initializer(&arena, t->algorithm, names[i], DOUBLES(SHAPE(2), 1));
    op(t->algorithm, "sum_new", "Add", "sum y");
    op(t->algorithm, "turned_new", "Add", "y turned");
    op(t->algorithm, "fixed_new", "Add", "fixed by");
    op(t->algorithm, "twice_new", "Add", "twice twice");
    op(t->algorithm, "looked_at_new", "Add", "looked_at y");
    op(t->algorithm, "told_new", "Add", "told y");
    op(t->algorithm, "seen", "Mul", "looked_at told_new");
    op(t->algorithm, "half", "Mul", "y by"); /* one of its operands does not vary, first or last */
    op(t->algorithm, "scaled_new", "Add", "scaled half");
    op(t->algorithm, "noise", "RandomNormalLike", "by");
    op(t->algorithm, "drawn_new", "Add", "drawn noise");
    op(t->algorithm, "still", "Mul", "by by");
    op(t->algorithm, "constant_new", "Add", "constant still");
    output(t->algorithm,
           "sum_new turned_new fixed_new twice_new looked_at_new told_new seen scaled_new drawn_new constant_new");
    static const char *const sums[] = {"sum", "turned", "scaled", "drawn", "fixed", "twice", "looked_at", "told",
                                       "constant"};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        update(t, sums[i], arena_printf(&arena, "%s_new", sums[i]));
    must_combine(m);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        ck_assert_int_eq(program_variable(program, sums[i])->role == ROLE_SUM, i < 4);
    ck_assert_str_eq(program->variables.data[8]->name, "drawn"); /* behind all others */
}
END_TEST

START_TEST(initialization_has_its_own_names)
{
    struct model *const m = linear_regression();
    struct model_training *const t = m->training.data[0];
    t->initialization = model_graph_new(&arena, "init");
    model_set_tensor(&arena, op(t->initialization, "p", "Constant", ""), "value", DOUBLES(SHAPE(2, 1), 7, 8));
    output(t->initialization, "p"); /* the main graph has a p as well */
    vec_push(&arena, &t->initialization_binding, ((struct model_pair){"w", "p"}));
    options.dims = dims_of("batch", 1);
    must_combine(m);
    struct interp *const s = start();
    EXPECT(s->variables[0], 7, 8);
    EXPECT(s->variables[1], 0.5);
}
END_TEST

/* ---- bad bindings ------------------------------------------------------------------------------------------------ */

static void key_unknown(struct model *m)
{
    update(m->training.data[0], "ww", "w_new");
}
static void swapped(struct model *m)
{
    m->training.data[0]->update_binding.data[0] = (struct model_pair){"w_new", "w"};
}
static void value_unknown(struct model *m)
{
    m->training.data[0]->update_binding.data[0].value = "w_now";
}
static void value_inside(struct model *m)
{
    m->training.data[0]->update_binding.data[0].value = "sw";
}
static void key_twice(struct model *m)
{
    update(m->training.data[0], "w", "b_new");
}
static void key_is_input(struct model *m)
{
    update(m->training.data[0], "x", "loss");
}
static void wrong_shape(struct model *m)
{
    m->training.data[0]->update_binding.data[0].value = "b_new";
}
static void no_initialization(struct model *m)
{
    vec_push(&arena, &m->training.data[0]->initialization_binding, ((struct model_pair){"w", "w0"}));
}
static void initialization_with_input(struct model *m)
{
    m->training.data[0]->initialization = model_graph_new(&arena, "init");
    input(m->training.data[0]->initialization, "seed", DTYPE_DOUBLE, "");
}
static void initializer_repeated(struct model *m)
{
    model_add_initializer(&arena, m->training.data[0]->algorithm, "b", SCALAR(0));
}
static void input_is_main_output(struct model *m)
{
    input(m->training.data[0]->algorithm, "p", DTYPE_DOUBLE, "batch 1");
}
static void input_of_other_type(struct model *m)
{
    input(m->training.data[0]->algorithm, "x", DTYPE_FLOAT, "batch 2");
}
static void other_algorithm(struct model *m)
{
    struct model_training *const t = add_training(m, "second");
    op(t->algorithm, "z", "Identity", "b");
    output(t->algorithm, "z");
    update(t, "lr", "z");
}
static void shared_state(struct model *m)
{
    struct model_training *const t = add_training(m, "second");
    model_add_initializer(&arena, t->algorithm, "lr", SCALAR(0));
    op(t->algorithm, "z", "Identity", "lr");
    output(t->algorithm, "z");
    update(t, "lr", "z");
}
static void sparse_key(struct model *m)
{
    struct model_sparse *const s = arena_new(&arena, struct model_sparse);
    *s = (struct model_sparse){.name = "s",
                               .values = DOUBLES(SHAPE(1), 3),
                               .indices = tensor_new(&arena, DTYPE_INT64, &SHAPE(1)),
                               .dims = SHAPE(4)};
    vec_push(&arena, &m->graph->sparse_initializers, s);
    update(m->training.data[0], "s", "loss");
}
static void domains_differ(struct model *m)
{
    vec_push(&arena, &m->opsets, ((struct model_opset){"", 18}));
}

static const struct {
    void (*spoil)(struct model *m);
    const char *message;
} bad_models[] = {
    {key_unknown, "update_binding: key 'ww' is no initializer of the main graph or of the algorithm"},
    {swapped, "the pair 'w_new' <- 'w' is the wrong way round"},
    {value_unknown, "value 'w_now' for 'w' is no output of the algorithm or of the main graph; did you mean 'w_new'?"},
    {value_inside, "value 'sw' for 'w' is computed, but is not among the outputs"},
    {key_twice, "update_binding: key 'w' occurs twice"},
    {key_is_input, "key 'x' is not an initializer"},
    {wrong_shape, "update_binding: 'b_new' is double[1], but the variable 'w' is double[2,1]"},
    {no_initialization, "initialization_binding is given, but no initialization graph"},
    {initialization_with_input, "the initialization graph has inputs ('seed')"},
    {initializer_repeated, "initializer 'b' of the algorithm is already an initializer of the main graph"},
    {input_is_main_output, "input 'p' is already a node's output of the main graph"},
    {input_of_other_type, "input 'x' repeats an input of the main graph with another type"},
    {other_algorithm, "key 'lr' is an initializer of another training_info's algorithm (#1)"},
    {shared_state, "initializer 'lr' is declared by two algorithms, and is a variable"},
    {sparse_key, "key 's' is a sparse initializer, which cannot be a variable"},
    {domains_differ, "domain 'ai.onnx' is imported with version 17 and with version 18"},
};

START_TEST(bad_bindings_are_refused)
{
    struct model *const m = linear_regression();
    options.dims = dims_of("batch", 2);
    bad_models[_i].spoil(m);
    ck_assert(!combine(m));
    ck_assert(has_message(bad_models[_i].message));
}
END_TEST

/* ---- bad graphs -------------------------------------------------------------------------------------------------- */

static void unknown_operator(struct model_graph *g)
{
    op(g, "q", "MatMull", "x w");
}
static void known_elsewhere(struct model_graph *g)
{
    op(g, "q", "ImageDecoder", "x");
}
static void unknown_name(struct model_graph *g)
{
    op(g, "q", "Add", "xx b");
}
static void not_sorted(struct model_graph *g)
{
    op(g, "q", "Add", "r b"), op(g, "r", "Add", "b b");
}
static void defined_twice(struct model_graph *g)
{
    op(g, "p", "Add", "b b");
}
static void unknown_attribute(struct model_graph *g)
{
    model_set_int(&arena, op(g, "q", "Add", "b b"), "axiss", 1);
}
static void attribute_type(struct model_graph *g)
{
    model_set_int(&arena, op(g, "q", "LeakyRelu", "b"), "alpha", 1);
}
static void attribute_missing(struct model_graph *g)
{
    op(g, "q", "Cast", "b");
}
static void too_few_inputs(struct model_graph *g)
{
    op(g, "q", "Add", "b");
}
static void too_many_inputs(struct model_graph *g)
{
    op(g, "q", "Add", "b b b");
}
static void omitted_input(struct model_graph *g)
{
    op(g, "q", "Add", "- b");
}
static void output_undefined(struct model_graph *g)
{
    output(g, "nowhere");
}
static void two_mistakes(struct model_graph *g)
{
    op(g, "q", "Add", "xx b"), op(g, "r", "Add", "q b"), op(g, "s", "Add", "yy b");
}

static const struct {
    void (*spoil)(struct model_graph *g);
    const char *message;
    size_t errors;
} bad_graphs[] = {
    {unknown_operator, "unknown operator MatMull in domain 'ai.onnx'; did you mean MatMul?", 1},
    {known_elsewhere, "operator ImageDecoder is not supported", 1},
    {unknown_name, "input 0 'xx' is not defined", 1},
    {not_sorted, "input 0 'r' is not defined before the node: node #3 (Add) defines it later, nodes must be sorted", 1},
    {defined_twice, "output 0 'p' is already defined: every value has one definition", 1},
    {unknown_attribute, "unknown attribute 'axiss' of Add", 1},
    {attribute_type, "attribute 'alpha' of LeakyRelu is of type int, expected float", 1},
    {attribute_missing, "attribute 'to' (int) of Cast is required", 1},
    {too_few_inputs, "Add needs 2 inputs, given 1", 1},
    {too_many_inputs, "Add takes at most 2 inputs", 1},
    {omitted_input, "input 0 (A) of Add is required and cannot be omitted", 1},
    {output_undefined, "output 'nowhere' is not defined in graph 'net'", 1},
    {two_mistakes, "input 0 'yy' is not defined", 2},
};

START_TEST(bad_graphs_are_refused)
{
    struct model *const m = linear_regression();
    options.dims = dims_of("batch", 2);
    bad_graphs[_i].spoil(m->graph);
    ck_assert(!combine_program(&diag, &arena, m, &options, "test", "infer", &program));
    ck_assert(has_message(bad_graphs[_i].message));
    ck_assert_int_eq(diag.errors, bad_graphs[_i].errors);
}
END_TEST

/* ---- functions --------------------------------------------------------------------------------------------------- */

START_TEST(functions_are_inlined)
{
    struct model *const m = new_model();
    struct model_function *const f = arena_new(&arena, struct model_function);
    *f = (struct model_function){.name = "Axpy", .domain = "mine", .overload = "", .doc = ""};
    vec_push(&arena, &f->opsets, ((struct model_opset){"", 17}));
    vec_push(&arena, &f->inputs, "a");
    vec_push(&arena, &f->inputs, "b");
    vec_push(&arena, &f->outputs, "out");
    struct model_graph *const body = model_graph_new(&arena, "body");
    op(body, "t", "Mul", "a a");
    op(body, "out", "Add", "t b");
    memcpy(&f->nodes, &body->nodes, sizeof f->nodes);
    vec_push(&arena, &m->functions, f);
    input(m->graph, "x", DTYPE_DOUBLE, "");
    model_add_node(&arena, m->graph, "mine", "Axpy", words("x x"), words("t"));
    model_add_node(&arena, m->graph, "mine", "Axpy", words("t x"), words("y"));
    gradient(m->graph, "dx", "x", "", "y", "x");
    output(m->graph, "y dx");
    must_combine(m);
    struct interp *const s = start();
    EXPECT(run(s, "infer", "y", INPUTS(SCALAR(2))), 38);  /* (x^2 + x)^2 + x */
    EXPECT(run(s, "infer", "dx", INPUTS(SCALAR(2))), 61); /* 2 (x^2 + x) (2x + 1) + 1 */

    model_add_node(&arena, body, "mine", "Axpy", words("t b"), words("u")); /* not seen: nodes were copied */
    memcpy(&f->nodes, &body->nodes, sizeof f->nodes);
    ck_assert(!combine(m));
    ck_assert(has_message("function 'Axpy' calls itself"));
}
END_TEST

/* R31: the main graph runs twice, on other inputs; the algorithm does not contain it otherwise. */
START_TEST(graph_call_runs_the_main_graph)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, "");
    model_add_initializer(&arena, m->graph, "w", SCALAR(3));
    op(m->graph, "y", "Mul", "x w");
    output(m->graph, "y");
    struct model_training *const t = add_training(m, "twice");
    input(t->algorithm, "u", DTYPE_DOUBLE, "");
    model_set_string(&arena, op(t->algorithm, "a", "GraphCall", "u"), "graph_name", "net");
    model_set_string(&arena, op(t->algorithm, "b", "GraphCall", "a"), "graph_name", "net");
    gradient(t->algorithm, "dw", "w", "u", "b", "w u");
    output(t->algorithm, "b dw");
    update(t, "w", "dw");
    must_combine(m);
    ck_assert_int_eq(program_entry(program, "step")->graph->inputs.count, 1);
    struct interp *const s = start();
    EXPECT(run(s, "step", "b", INPUTS(SCALAR(2))), 18);
    EXPECT(s->variables[0], 12); /* d(u w^2)/dw = 2 u w */
}
END_TEST

/* ---- random streams ---------------------------------------------------------------------------------------------- */

static const struct node *find_op(const struct graph *g, const char *name, int nth)
{
    graph_each_node(g, n) if (strcmp(n->def->name, name) == 0 && nth-- == 0) return n;
    return NULL;
}

/* The stream of a node is its place in the model, whatever entries are made. */
START_TEST(random_nodes_have_the_same_stream_in_every_entry)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_FLOAT, "4");
    op(m->graph, "r", "RandomNormalLike", "x");
    op(m->graph, "s", "RandomNormalLike", "x");
    op(m->graph, "y", "Add", "r s");
    output(m->graph, "y");
    struct model_training *const t = add_training(m, "a");
    op(t->algorithm, "u", "RandomNormalLike", "x");
    output(t->algorithm, "u");
    must_combine(m);
    ck_assert_int_eq(program->random_streams, 3);
    ck_assert(program->uses_random);
    const struct graph *const a = program_entry(program, "a")->graph;
    const struct graph *const infer = program_entry(program, "infer")->graph;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(find_op(a, "RandomNormalLike", i)->stream, i + 1);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(find_op(infer, "RandomNormalLike", i)->stream, i + 1);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("train_combine");
    TCase *const good = tcase_create("good"), *const bad = tcase_create("bad");
    tcase_add_checked_fixture(good, setup, teardown);
    tcase_add_checked_fixture(bad, setup, teardown);
    suite_add_tcase(suite, good);
    suite_add_tcase(suite, bad);
    tcase_add_test(good, step_of_linear_regression);
    tcase_add_test(good, symbols_are_bound_by_options_and_fed_tensors);
    tcase_add_test(good, updates_are_simultaneous);
    tcase_add_test(good, entries_are_named_after_their_algorithms);
    tcase_add_test(good, variables_stand_in_order_of_their_roles);
    tcase_add_test(good, roles_follow_from_readers);
    tcase_add_test(good, sums_are_known_by_their_update);
    tcase_add_test(good, initialization_has_its_own_names);
    tcase_add_test(good, functions_are_inlined);
    tcase_add_test(good, graph_call_runs_the_main_graph);
    tcase_add_test(good, random_nodes_have_the_same_stream_in_every_entry);
    tcase_add_loop_test(bad, bad_bindings_are_refused, 0, (int)(sizeof bad_models / sizeof bad_models[0]));
    tcase_add_loop_test(bad, bad_graphs_are_refused, 0, (int)(sizeof bad_graphs / sizeof bad_graphs[0]));
    return run_suite(suite);
}
