/* step() of several training entries: all in order, as one graph. */
#include "train_models.h"
#include "suite.h"

/* y = a x. First a <- a + x, then c <- a + c with the new a. */
static struct model *two_entries(void)
{
    struct model *const m = new_model();
    input(m->graph, "x", DTYPE_DOUBLE, "");
    model_add_initializer(&arena, m->graph, "a", SCALAR(2));
    model_add_initializer(&arena, m->graph, "c", SCALAR(10));
    op(m->graph, "y", "Mul", "a x");
    output(m->graph, "y");
    struct model_training *const first = add_training(m, "first"), *const second = add_training(m, "second");
    op(first->algorithm, "new", "Add", "a x");
    op(first->algorithm, "seen", "Mul", "y a");
    output(first->algorithm, "new seen");
    update(first, "a", "new");
    op(second->algorithm, "new", "Add", "a c");
    op(second->algorithm, "seen", "Mul", "y a");
    output(second->algorithm, "new seen");
    update(second, "c", "new");
    return m;
}

/* R7 in docs/readings.md: the second reads what the first wrote, everything else is each one's own (R14). */
START_TEST(entries_run_in_order)
{
    must_combine(two_entries());
    struct interp *s = start();
    EXPECT(run(s, "step", "y", INPUTS(SCALAR(3))), 6); /* the main graph's output: of the state before the step */
    EXPECT(s->variables[0], 5);
    EXPECT(s->variables[1], 15);
    s = start();
    EXPECT(run(s, "step", "seen", INPUTS(SCALAR(3))), 12);
    s = start();
    EXPECT(run(s, "step", "second.seen", INPUTS(SCALAR(3))), 75);
    const struct graph *const g = program_entry(program, "step")->graph;
    ck_assert_int_eq(g->inputs.count, 1);
    ck_assert_int_eq(g->outputs.count, 3);
    ck_assert_int_eq(g->bindings.count, 2);
    ck_assert_int_eq(program->counters.count, 2);
}
END_TEST

START_TEST(entries_run_singly_too)
{
    must_combine(two_entries());
    struct interp *const s = start();
    EXPECT(run(s, "first", "seen", INPUTS(SCALAR(3))), 12);
    EXPECT(run(s, "second", "seen", INPUTS(SCALAR(3))), 75);
    EXPECT(s->variables[0], 5);
    EXPECT(s->variables[1], 15);
    ck_assert_uint_eq(s->counters[0], 1);
    ck_assert_uint_eq(s->counters[1], 1);
    EXPECT(run(s, "second", "seen", INPUTS(SCALAR(3))), 75);
    ck_assert_uint_eq(s->counters[0], 1);
    ck_assert_uint_eq(s->counters[1], 2);
    (void)run(s, "step", "y", INPUTS(SCALAR(3)));
    ck_assert_uint_eq(s->counters[0], 2);
    ck_assert_uint_eq(s->counters[1], 3);
}
END_TEST

/* Only what is asked for is made, and the counters are those of the model. */
START_TEST(step_can_be_made_alone)
{
    ck_assert(combine_program(&diag, &arena, two_entries(), &options, "test", "step", &program));
    ck_assert_int_eq(program->entries.count, 1);
    ck_assert_int_eq(program->entries.data[0].counter_count, 2);
    ck_assert(combine_program(&diag, &arena, two_entries(), &options, "test", "second", &program));
    ck_assert_int_eq(program->entries.count, 1);
    ck_assert_int_eq(program->entries.data[0].first_counter, 1);
    ck_assert_int_eq(program->counters.count, 2);
}
END_TEST

/* A variable that both bind takes the second value, computed from the first (R9). */
START_TEST(later_binding_wins)
{
    struct model *const m = two_entries();
    output(m->training.data[1]->algorithm, "twice");
    op(m->training.data[1]->algorithm, "twice", "Add", "a a");
    update(m->training.data[1], "a", "twice");
    must_combine(m);
    struct interp *const s = start();
    (void)run(s, "step", "y", INPUTS(SCALAR(3)));
    EXPECT(s->variables[0], 10);
    EXPECT(s->variables[1], 15);
    ck_assert_int_eq(program_entry(program, "step")->graph->bindings.count, 2);
}
END_TEST

/* What an earlier entry wrote is a constant to a later Gradient, though it was computed from the same x (R19). */
START_TEST(gradient_stops_at_what_was_stored)
{
    struct model *const m = two_entries();
    struct model_graph *const g = m->training.data[1]->algorithm;
    gradient(g, "dx", "x", "", "seen", "x");
    gradient(g, "elsewhere", "x", "", "seen", "c");
    output(g, "dx elsewhere");
    must_combine(m);
    struct interp *s = start();
    EXPECT(run(s, "step", "dx", INPUTS(SCALAR(3))), 25); /* d(a x a)/dx with a = 5 */
    s = start();
    EXPECT(run(s, "step", "elsewhere", INPUTS(SCALAR(3))), 25); /* and not with the a of another x */
    ck_assert_int_eq(diag.warnings, 0);
}
END_TEST

/* A variable holds float: the second entry reads the rounded value even where all is computed in double. */
START_TEST(what_was_stored_is_rounded)
{
    struct model *const m = new_model();
    struct tensor *const one = tensor_new(&arena, DTYPE_FLOAT, &SHAPE_SCALAR),
                         *const three = tensor_new(&arena, DTYPE_FLOAT, &SHAPE_SCALAR);
    tensor_set_double(one, 0, 1);
    tensor_set_double(three, 0, 3);
    model_add_initializer(&arena, m->graph, "a", one);
    model_add_initializer(&arena, m->graph, "three", three);
    op(m->graph, "y", "Mul", "a three");
    output(m->graph, "y");
    struct model_training *const first = add_training(m, "first"), *const second = add_training(m, "second");
    op(first->algorithm, "third", "Div", "a three");
    output(first->algorithm, "third");
    update(first, "a", "third");
    op(second->algorithm, "wide", "Cast", "a");
    model_set_int(&arena, second->algorithm->nodes.data[0], "to", 11);
    op(second->algorithm, "same", "Identity", "a");
    output(second->algorithm, "wide same");
    update(second, "a", "same");
    must_combine(m);
    struct interp *const s = start();
    ck_assert_double_eq(tensor_get_double(run(s, "step", "wide", INPUTS(NULL)), 0), (double)(1.0f / 3.0f));
}
END_TEST

/* One input of a name for all entries; it must be the same for all. */
START_TEST(inputs_are_shared)
{
    struct model *m = two_entries();
    for (int k = 0; k < 2; k++) {
        struct model_graph *const g = m->training.data[k]->algorithm;
        input(g, "rate", DTYPE_DOUBLE, k == 0 ? "n" : "2");
        input(g, k == 0 ? "p" : "q", DTYPE_DOUBLE, "");
        op(g, "r", "Mul", k == 0 ? "rate p" : "rate q");
        output(g, "r");
    }
    static const int64_t two = 2;
    struct map dims = {.arena = &arena};
    map_set(&dims, "n", (void *)(uintptr_t)&two);
    options.dims = &dims;
    must_combine(m);
    const struct graph *const g = program_entry(program, "step")->graph;
    static const char *const names[] = {"x", "rate", "p", "q"};
    ck_assert_int_eq(g->inputs.count, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_str_eq(g->inputs.data[i]->name, names[i]);

    input(m->training.data[0]->algorithm, "other", DTYPE_DOUBLE, "");
    input(m->training.data[1]->algorithm, "other", DTYPE_DOUBLE, "1");
    ck_assert(!combine(m));
    ck_assert(has_message("input 'other' is double[1] here, but double[] in an earlier training_info: step() has one "
                          "input of a name; rename it, or leave step out with --entries"));
    ck_assert(combine_program(&diag, &arena, m, &options, "test", "first,second,infer", &program));
}
END_TEST

/* The input of one algorithm may be called like a value of another's: what is fed keeps its name. */
START_TEST(inputs_keep_their_names)
{
    struct model *const m = two_entries();
    input(m->training.data[1]->algorithm, "hidden", DTYPE_DOUBLE, "");
    op(m->training.data[0]->algorithm, "hidden", "Add", "a a");
    op(m->training.data[1]->algorithm, "r", "Mul", "hidden a");
    output(m->training.data[1]->algorithm, "r");
    must_combine(m);
    struct interp *const s = start();
    ck_assert_str_eq(program_entry(program, "step")->graph->inputs.data[1]->name, "hidden");
    EXPECT(run(s, "step", "r", INPUTS(SCALAR(3), SCALAR(7))), 35);
}
END_TEST

/* A node that several entries share draws other numbers in each. */
START_TEST(entries_draw_their_own_numbers)
{
    struct model *const m = new_model();
    struct model_node *const n = op(m->graph, "z", "RandomNormal", "");
    const int64_t shape[] = {1};
    model_set_ints(&arena, n, "shape", shape, 1);
    model_set_int(&arena, n, "dtype", 11);
    model_add_initializer(&arena, m->graph, "a", DOUBLES(SHAPE(1), 0));
    model_add_initializer(&arena, m->graph, "b", DOUBLES(SHAPE(1), 0));
    op(m->graph, "y", "Add", "z a");
    output(m->graph, "y");
    static const char *const names[] = {"first", "second"}, *const variables[] = {"a", "b"};
    for (int k = 0; k < 2; k++) {
        struct model_training *const t = add_training(m, names[k]);
        op(t->algorithm, "new", "Identity", "z");
        output(t->algorithm, "new");
        update(t, variables[k], "new");
    }
    must_combine(m);
    ck_assert_int_eq(program->random_streams, 2);
    struct interp *s = start();
    (void)run(s, "step", "y", INPUTS(NULL));
    const double a = tensor_get_double(s->variables[0], 0), b = tensor_get_double(s->variables[1], 0);
    ck_assert_double_ne(a, b);
    s = start();
    (void)run(s, "first", "y", INPUTS(NULL));
    (void)run(s, "second", "y", INPUTS(NULL));
    EXPECT(s->variables[0], a);
    EXPECT(s->variables[1], b);
}
END_TEST

/* Optimizers' own formulas, computed by hand (ONNX Momentum-1, Adagrad-1, Adam-1): X = 2, G = 4, R = 0.5, state 8. The
 * first update (T = 0) differs from later ones. */
static const struct {
    const char *type, *mode;
    double t, x, state;
} updates[] = {
    /* g = 0.5 2 + 4 = 5; V = 0.5 8 + 5 (later 0.25 5); X - 0.5 V */
    {"Momentum", "standard", 0, -2.5, 9},
    {"Momentum", "standard", 1, -0.625, 5.25},
    {"Momentum", "standard", 2, -0.625, 5.25},
    /* X - 0.5 (g + 0.5 V) */
    {"Momentum", "nesterov", 0, -2.75, 9},
    {"Momentum", "nesterov", 1, -1.8125, 5.25},
    /* H = 8 + 25; X - 0.5 / (1 + 0.5 T) 5 / (sqrt(H) + 0.25) */
    {"Adagrad", NULL, 0, 1.5829553968472085, 33},
    {"Adagrad", NULL, 2, 1.7914776984236043, 33},
    /* V = 0.5 8 + 0.5 5 = 6.5, H = 0.25 8 + 0.75 25 = 20.75; X - r V / (sqrt(H) + 0.25), r = 0.5,
     * later 0.5 sqrt(1 - 0.25^T) / (1 - 0.5^T) */
    {"Adam", NULL, 0, 1.3236517430279404, 6.5},
    {"Adam", NULL, 1, 0.8285304553137416, 6.5},
    {"Adam", NULL, 2, 1.1268381548369328, 6.5},
};

START_TEST(optimizers_do_as_written)
{
    struct model *const m = new_model();
    struct model_graph *const g = m->graph;
    input(g, "t", DTYPE_INT64, "");
    static const char *const names[] = {"r", "x", "g", "v", "h"};
    static const double values[] = {0.5, 2, 4, 8, 8};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        model_add_initializer(&arena, g, names[i], SCALAR(values[i]));
    const bool is_adam = strcmp(updates[_i].type, "Adam") == 0, is_momentum = updates[_i].mode != NULL;
    struct model_node *const n =
        op(g, is_adam ? "y w k" : "y w", updates[_i].type, is_adam ? "r t x g v h" : "r t x g v");
    model_set_float(&arena, n, "norm_coefficient", 0.5f);
    if (is_momentum)
        model_set_string(&arena, n, "mode", updates[_i].mode);
    else
        model_set_float(&arena, n, "epsilon", 0.25f);
    model_set_float(&arena, n, is_momentum || is_adam ? "alpha" : "decay_factor", 0.5f);
    if (is_momentum || is_adam)
        model_set_float(&arena, n, "beta", 0.25f);
    output(g, "y w");
    must_combine(m);
    struct tensor *const t = tensor_new(&arena, DTYPE_INT64, &SHAPE_SCALAR);
    tensor_set_int(t, 0, (int64_t)updates[_i].t);
    EXPECT(run(start(), "infer", "y", INPUTS(t)), updates[_i].x);
    EXPECT(run(start(), "infer", "w", INPUTS(t)), updates[_i].state);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("train_step");
    TCase *const tests = tcase_create("step");
    tcase_add_checked_fixture(tests, setup, teardown);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, entries_run_in_order);
    tcase_add_test(tests, entries_run_singly_too);
    tcase_add_test(tests, step_can_be_made_alone);
    tcase_add_test(tests, later_binding_wins);
    tcase_add_test(tests, gradient_stops_at_what_was_stored);
    tcase_add_test(tests, what_was_stored_is_rounded);
    tcase_add_test(tests, inputs_are_shared);
    tcase_add_test(tests, inputs_keep_their_names);
    tcase_add_test(tests, entries_draw_their_own_numbers);
    tcase_add_loop_test(tests, optimizers_do_as_written, 0, (int)(sizeof updates / sizeof *updates));
    return run_suite(suite);
}
