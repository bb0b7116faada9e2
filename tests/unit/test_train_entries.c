/* Which entries a model has, what its variables are for, and what names of several graphs may be: by models that have
 * little but their training_info. */
#include "train_models.h"
#include "suite.h"

/* y = w; w is a variable as soon as something binds it. */
static struct model *bare(void)
{
    struct model *const m = new_model();
    model_add_initializer(&arena, m->graph, "w", SCALAR(1));
    op(m->graph, "y", "Identity", "w");
    output(m->graph, "y");
    return m;
}

/* An algorithm z = w + w; with updates w <- z. */
static struct model_training *add_entry(struct model *m, const char *name, bool updates)
{
    struct model_training *const t = add_training(m, name);
    op(t->algorithm, "z", "Add", "w w");
    output(t->algorithm, "z");
    if (updates)
        update(t, "w", "z");
    return t;
}

static void initialize(struct model_training *t, const char *key, double x)
{
    t->initialization = model_graph_new(&arena, "start");
    model_set_tensor(&arena, op(t->initialization, "first", "Constant", ""), "value", SCALAR(x));
    output(t->initialization, "first");
    vec_push(&arena, &t->initialization_binding, ((struct model_pair){key, "first"}));
}

static void refused(struct model *m, const char *message)
{
    ck_assert(!combine(m));
    ck_assert(has_message(message));
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static void expect_entry(int i, const char *name, int kind, size_t first_counter, size_t counters)
{
    const struct entry *const e = &program->entries.data[i];
    ck_assert_str_eq(e->name, name);
    ck_assert_int_eq(e->kind, kind);
    ck_assert_uint_eq(e->first_counter, first_counter);
    ck_assert_uint_eq(e->counter_count, counters);
}

/* Only what updates counts its calls. */
START_TEST(counters_are_of_updates)
{
    struct model *const m = bare();
    add_entry(m, "one", true);
    add_entry(m, "look", false);
    add_entry(m, "two", true);
    initialize(add_training(m, NULL), "w", 5);
    must_combine(m);
    ck_assert_uint_eq(program->entries.count, 6);
    expect_entry(0, "init", ENTRY_INIT, 0, 0);
    expect_entry(1, "step", ENTRY_STEP, 0, 2);
    expect_entry(2, "one", ENTRY_STEP, 0, 1);
    expect_entry(3, "look", ENTRY_EVALUATE, 0, 0);
    expect_entry(4, "two", ENTRY_STEP, 1, 1);
    expect_entry(5, "infer", ENTRY_INFER, 0, 0);
}
END_TEST

/* What C has no name for, or has already. */
START_TEST(names_that_code_can_have)
{
    static const char *const names[][2] = {{"2nd try", "m_2nd_try"}, {"state", "state_entry"},
                                           {"of_inputs", "of_inputs_entry"}, {"fit", "fit"},
                                           {"fit", "fit_2"}, {"infer", "infer_2"}};
    enum { COUNT = sizeof names / sizeof *names };
    struct model *const m = bare();
    for (int i = 0; i < COUNT; i++)
        add_entry(m, names[i][0], false);
    must_combine(m);
    for (int i = 0; i < COUNT; i++)
        ck_assert_str_eq(program->entries.data[1 + i].name, names[i][1]);
}
END_TEST

/* R9 in docs/readings.md. */
START_TEST(the_later_initialization_counts)
{
    struct model *const m = bare();
    initialize(add_entry(m, "one", true), "w", 7);
    initialize(add_entry(m, "two", true), "w", 8);
    must_combine(m);
    const struct graph *const init = program_entry(program, "init")->graph;
    ck_assert_uint_eq(init->bindings.count, 1);
    ck_assert_uint_eq(init->outputs.count, 0);
    EXPECT(start()->variables[0], 8);
}
END_TEST

/* An entry that only looks needs inputs that a step does not. */
START_TEST(a_step_is_of_what_updates)
{
    struct model *const m = bare();
    add_entry(m, "one", true);
    add_entry(m, "two", true);
    struct model_graph *const a = add_entry(m, "look", false)->algorithm;
    input(a, "seen", DTYPE_DOUBLE, "");
    op(a, "error", "Sub", "y seen");
    output(a, "error");
    must_combine(m);
    ck_assert_uint_eq(program_entry(program, "step")->graph->inputs.count, 0);
    ck_assert_uint_eq(program_entry(program, "look")->graph->inputs.count, 1);
}
END_TEST

/* What one entry adds up in an initializer that only algorithms read, another takes and resets: that is no mistake, and
 * it does not ask for what the main graph reads. */
START_TEST(sums_are_handed_over)
{
    struct model *const m = bare();
    input(m->graph, "x", DTYPE_DOUBLE, "");
    op(m->graph, "p", "Mul", "w x");
    output(m->graph, "p");
    model_add_initializer(&arena, m->graph, "sum", SCALAR(0));
    struct model_training *const add = add_training(m, "add"), *const apply = add_training(m, "apply");
    op(add->algorithm, "more", "Add", "sum p");
    output(add->algorithm, "more");
    update(add, "sum", "more");
    op(apply->algorithm, "moved", "Sub", "w sum");
    op(apply->algorithm, "nothing", "Sub", "sum sum");
    output(apply->algorithm, "moved nothing");
    update(apply, "w", "moved");
    update(apply, "sum", "nothing");
    must_combine(m);
    ck_assert_int_eq(diag.warnings, 0);
    ck_assert_uint_eq(program_entry(program, "apply")->graph->inputs.count, 0);
    struct interp *const s = start();
    EXPECT(run(s, "add", "p", INPUTS(SCALAR(3))), 3);
    EXPECT(run(s, "add", "p", INPUTS(SCALAR(4))), 4);
    (void)run(s, "apply", "moved", INPUTS(NULL));
    EXPECT(s->variables[program_variable(program, "w")->index], -6);
    EXPECT(s->variables[program_variable(program, "sum")->index], 0);
}
END_TEST

/* ---- what variables are for -------------------------------------------------------------------------------------- */

START_TEST(roles_of_what_the_main_graph_does_not_read)
{
    struct model *const m = bare();
    static const char *const names[] = {"head", "average", "moment"};
    for (int i = 0; i < 3; i++)
        model_add_initializer(&arena, m->graph, names[i], SCALAR(1));
    model_add_initializer(&arena, m->graph, "seen", tensor_new(&arena, DTYPE_INT64, &SHAPE(2)));
    input(m->graph, "x", DTYPE_DOUBLE, "");
    input(m->graph, "w", DTYPE_DOUBLE, "");
    op(m->graph, "p", "Mul", "w x");
    output(m->graph, "p");
    struct model_training *const t = add_training(m, "t"), *const look = add_training(m, "look");
    op(t->algorithm, "q", "Mul", "p head");
    gradient(t->algorithm, "d", "head", "", "q", "head");
    op(t->algorithm, "m2", "Add", "moment d");
    op(t->algorithm, "h2", "Sub", "head m2");
    op(t->algorithm, "a2", "Add", "average w");
    op(t->algorithm, "s2", "Add", "seen seen");
    output(t->algorithm, "m2 h2 a2 s2");
    update(t, "moment", "m2");
    update(t, "head", "h2");
    update(t, "average", "a2");
    update(t, "seen", "s2");
    model_set_string(&arena, op(look->algorithm, "ya pa", "GraphCall", "x average"), "graph_name", "net");
    input(look->algorithm, "x", DTYPE_DOUBLE, "");
    output(look->algorithm, "ya pa");
    must_combine(m);
    ck_assert_int_eq(program_variable(program, "head")->role, ROLE_WEIGHT);
    ck_assert_int_eq(program_variable(program, "average")->role, ROLE_STATISTIC);
    ck_assert_int_eq(program_variable(program, "moment")->role, ROLE_OPTIMIZER);
    ck_assert_int_eq(program_variable(program, "seen")->role, ROLE_STATISTIC);
}
END_TEST

/* ---- names of several graphs ------------------------------------------------------------------------------------- */

START_TEST(types_of_bindings)
{
    struct model *const m = bare();
    struct model_training *const t = add_training(m, "t");
    model_set_int(&arena, op(t->algorithm, "narrow", "Cast", "w"), "to", DTYPE_FLOAT);
    output(t->algorithm, "narrow");
    update(t, "w", "narrow");
    refused(m, "update_binding: 'narrow' is float[], but the variable 'w' is double[]");
}
END_TEST

START_TEST(values_of_initializations)
{
    struct model *const m = bare();
    initialize(add_entry(m, "t", true), "w", 7);
    m->training.data[0]->initialization_binding.data[0].value = "z";
    refused(m, "initialization_binding: value 'z' for 'w' is no output of the initialization graph");
}
END_TEST

START_TEST(keys_that_nothing_has)
{
    struct model *const m = bare();
    update(add_entry(m, "t", true), "v", "w");
    refused(m, "update_binding: key 'v' is no initializer of the main graph or of the algorithm");
}
END_TEST

START_TEST(keys_inside_of_nodes)
{
    static const char text[] = "<ir_version: 10, opset_import: [\"\" : 18]>\n"
                               "net (double x) => (double y) { yes = Constant <value = bool {1}> () y = If "
                               "<then_branch = t () => (double a) <double inner = {2}> { a = Mul(x, inner) }, "
                               "else_branch = e () => (double b) { b = Neg(x) }> (yes) }";
    struct model *m;
    ck_assert(model_read_text(&diag, &arena, "inner", text, strlen(text), &m));
    struct model_training *const t = add_training(m, "t");
    op(t->algorithm, "z", "Add", "x x");
    output(t->algorithm, "z");
    update(t, "inner", "z");
    refused(m, "key 'inner' is an initializer inside a subgraph, which cannot be a variable");
}
END_TEST

/* An input of the main graph as the algorithm declares it again. */
static void repeat_input_of(const char *main_dims, const char *dims, bool ok)
{
    struct model *const m = bare();
    setup();
    input(m->graph, "x", DTYPE_DOUBLE, main_dims);
    input(add_entry(m, "t", true)->algorithm, "x", DTYPE_DOUBLE, dims);
    ck_assert_msg(combine(m) == ok, "[%s] and [%s]", main_dims, dims);
    ck_assert(has_message(ok ? "input 'x' repeats an input of the main graph: they are taken as one"
                             : "input 'x' repeats an input of the main graph with another type"));
}

static void repeat_input(const char *dims, bool ok)
{
    repeat_input_of("2 3", dims, ok);
}

START_TEST(inputs_that_are_repeated)
{
    repeat_input("2 3", true);
    repeat_input("n 3", true);
    repeat_input("2 3 1", false);
    repeat_input("2", false);
    repeat_input("2 4", false);
    repeat_input("1 3", false);
    repeat_input("0 3", false); /* nor is nothing any number */
    repeat_input_of("0 3", "2 3", false);
}
END_TEST

static void add_sparse(struct model_graph *g, const char *name)
{
    struct model_sparse *const s = arena_new(&arena, struct model_sparse);
    *s = (struct model_sparse){.name = name,
                               .values = DOUBLES(SHAPE(1), 3),
                               .indices = tensor_new(&arena, DTYPE_INT64, &SHAPE(1)),
                               .dims = SHAPE(4)};
    vec_push(&arena, &g->sparse_initializers, s);
}

START_TEST(sparse_initializers_have_names_too)
{
    struct model *const m = bare();
    struct model_graph *const a = add_entry(m, "t", true)->algorithm;
    add_sparse(a, "own");
    must_combine(m);
    add_sparse(a, "w");
    refused(m, "initializer 'w' of the algorithm is already an initializer of the main graph");
}
END_TEST

/* Each algorithm has its own, as long as it is no variable. */
START_TEST(constants_of_one_name)
{
    struct model *const m = bare();
    for (int k = 0; k < 2; k++) {
        struct model_training *const t = add_training(m, k == 0 ? "one" : "two");
        model_add_initializer(&arena, t->algorithm, "rate", SCALAR(k == 0 ? 2 : 3));
        op(t->algorithm, "z", "Mul", "w rate");
        output(t->algorithm, "z");
        update(t, "w", "z");
    }
    must_combine(m);
    struct interp *const s = start();
    (void)run(s, "step", "y", INPUTS(NULL));
    EXPECT(s->variables[0], 6);
}
END_TEST

/* ---- sizes that only outputs name -------------------------------------------------------------------------------- */

/* p: pairs of x, as many as `pairs`, which an exporter made up; the target has so many. */
static struct model *pairs(void)
{
    struct model *const m = bare();
    input(m->graph, "x", DTYPE_DOUBLE, "samples");
    model_add_initializer(&arena, m->graph, "rows", tensor_from_ints(&arena, (int64_t[]){-1, 2}, 2));
    op(m->graph, "p", "Reshape", "x rows");
    const struct model_dim dims[] = {{-1, "pairs", ""}, {2, "", ""}};
    model_add_value(&arena, m->graph, 1, "p", DTYPE_DOUBLE, dims, 2);
    struct model_graph *const a = add_entry(m, "t", true)->algorithm;
    input(a, "target", DTYPE_DOUBLE, "pairs 2");
    op(a, "e", "Sub", "p target");
    output(a, "e");
    return m;
}

static void give(struct map *dims, const char *name, int64_t size)
{
    map_set(dims, name, arena_copy(&arena, &size, sizeof size, alignof(int64_t)));
}

START_TEST(sizes_follow_from_outputs)
{
    struct map dims = {.arena = &arena};
    give(&dims, "samples", 8);
    options.dims = &dims;
    must_combine(pairs());
    ck_assert_int_eq(program_entry(program, "step")->graph->inputs.data[1]->shape.dim[0], 4);
    give(&dims, "pairs", 4);
    must_combine(pairs());
    give(&dims, "pairs", 5);
    refused(pairs(), "--dim pairs=5: it is dimension 0 of 'p', which has size 4");
}
END_TEST

START_TEST(sizes_of_the_step_go_first)
{
    struct map dims = {.arena = &arena};
    give(&dims, "step:samples", 6);
    give(&dims, "samples", 8);
    options.dims = &dims;
    must_combine(pairs());
    ck_assert_int_eq(program_entry(program, "step")->graph->inputs.data[1]->shape.dim[0], 3);
    ck_assert_int_eq(program_entry(program, "infer")->graph->inputs.data[0]->shape.dim[0], 8);
}
END_TEST

/* A size of the step is no size of each call, whatever range there is beside it. */
START_TEST(sizes_of_the_step_are_constants)
{
    static const struct size_range samples = {"samples", 1, 8};
    struct map dims = {.arena = &arena};
    give(&dims, "step:samples", 6);
    give(&dims, "samples", 8);
    options.dims = &dims;
    options.range = &samples;
    must_combine(pairs());
    const struct graph *const step = program_entry(program, "step")->graph;
    ck_assert(size_equal(shape_size(&step->inputs.data[0]->shape, 0), size_constant(6)));
    ck_assert(size_equal(shape_size(&step->inputs.data[1]->shape, 0), size_constant(3)));
    const struct graph *const infer = program_entry(program, "infer")->graph;
    ck_assert(size_equal(shape_size(&infer->inputs.data[0]->shape, 0), (struct size){8, 1}));
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, counters_are_of_updates);
    tcase_add_test(all, names_that_code_can_have);
    tcase_add_test(all, the_later_initialization_counts);
    tcase_add_test(all, a_step_is_of_what_updates);
    tcase_add_test(all, sums_are_handed_over);
    tcase_add_test(all, roles_of_what_the_main_graph_does_not_read);
    tcase_add_test(all, types_of_bindings);
    tcase_add_test(all, values_of_initializations);
    tcase_add_test(all, keys_that_nothing_has);
    tcase_add_test(all, keys_inside_of_nodes);
    tcase_add_test(all, inputs_that_are_repeated);
    tcase_add_test(all, sparse_initializers_have_names_too);
    tcase_add_test(all, constants_of_one_name);
    tcase_add_test(all, sizes_follow_from_outputs);
    tcase_add_test(all, sizes_of_the_step_go_first);
    tcase_add_test(all, sizes_of_the_step_are_constants);
    return run_tests("train_entries", all);
}
