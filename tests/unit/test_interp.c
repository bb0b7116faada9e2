/* compiler/interp: runs of entries on programs made by hand. */
#include "graph/build.h"
#include "interp/interp.h"
#include "suite.h"

#include <check.h>
#include <string.h>
#include <sys/resource.h>

static struct arena arena;
static struct diag diag;
static struct program program;
static struct graph *graph;
static struct builder builder;

struct context { /* what build() wants */
    struct builder *b;
};
static struct context context = {&builder};

static void begin(void)
{
    diag = (struct diag){.arena = &arena};
    program = (struct program){.name = "test", .arena = &arena, .diag = &diag};
    vec_push(&arena, &program.counters, "");
    graph = graph_new(&program, "step");
    builder = (struct builder){.graph = graph, .loc = LOC_FILE("test.onnx"), .prefix = ""};
}

static void end(void)
{
    arena_free(&arena);
}

static struct tensor *numbers(enum dtype dtype, int64_t count, double first)
{
    struct tensor *t = tensor_new(&arena, dtype, &SHAPE(count));
    for (int64_t k = 0; k < count; k++)
        tensor_set_double(t, k, first + (double)k);
    return t;
}

static struct variable *add_variable(const char *name, const struct tensor *initial)
{
    struct variable *v = arena_new(&arena, struct variable);
    *v = (struct variable){.name = name, .dtype = initial->dtype, .shape = initial->shape, .initial = initial,
                           .index = (int)program.variables.count};
    vec_push(&arena, &program.variables, v);
    return v;
}

static void bind(struct variable *variable, struct value *value)
{
    const struct binding b = {.variable = variable, .value = value};
    vec_push(&arena, &graph->bindings, b);
}

static void add_output(const char *name, struct value *value)
{
    const struct graph_output o = {name, value};
    vec_push(&arena, &graph->outputs, o);
}

static const struct entry *add_entry(enum entry_kind kind)
{
    const struct entry e = {.name = "step", .kind = kind, .graph = graph, .counter_count = kind == ENTRY_STEP};
    vec_push(&arena, &program.entries, e);
    return &program.entries.data[program.entries.count - 1];
}

static struct interp *start(enum arithmetic arithmetic)
{
    struct interp *s = interp_new(&arena, &program, arithmetic);
    ck_assert(interp_init(s, 1, &diag));
    return s;
}

static bool run(struct interp *s, const struct entry *e, const struct tensor *const *inputs, struct tensor **outputs)
{
    return interp_run(s, e, inputs, outputs, NULL, 0, &arena, &diag);
}

/* a <- b, b <- a: right-hand sides see the state before the entry. */
START_TEST(bindings_happen_at_once)
{
    struct variable *a = add_variable("a", numbers(DTYPE_FLOAT, 2, 1)),
                    *b = add_variable("b", numbers(DTYPE_FLOAT, 2, 10));
    bind(a, graph_add_variable(graph, b));
    bind(b, graph_add_variable(graph, a));
    const struct entry *e = add_entry(ENTRY_STEP);
    struct interp *s = start(ARITHMETIC_DOUBLE);
    ck_assert(run(s, e, NULL, NULL));
    ck_assert_double_eq(tensor_get_double(s->variables[0], 1), 11);
    ck_assert_double_eq(tensor_get_double(s->variables[1], 1), 2);
    ck_assert_uint_eq(s->counters[0], 1);
    ck_assert(interp_init(s, 1, &diag));
    ck_assert_double_eq(tensor_get_double(s->variables[0], 1), 2);
    ck_assert_uint_eq(s->counters[0], 0);
}
END_TEST

/* A variable is rounded to its dtype between runs, also where everything else is double. */
START_TEST(variables_are_rounded)
{
    struct variable *v = add_variable("v", numbers(DTYPE_FLOAT, 1, 1));
    struct value *x = graph_add_variable(graph, v);
    bind(v, build(&context, "Div", x, build_like(&context, x, 3.0)));
    const struct entry *e = add_entry(ENTRY_STEP);
    struct interp *s = start(ARITHMETIC_DOUBLE);
    ck_assert(run(s, e, NULL, NULL));
    ck_assert_double_eq(tensor_get_double(s->variables[0], 0), (double)(1.0f / 3));
}
END_TEST

START_TEST(outputs_and_fetches_are_returned)
{
    struct value *x = graph_add_input(graph, "x", DTYPE_FLOAT, &SHAPE(2));
    struct value *h = build(&context, "Neg", x);
    graph_rename(graph, h, "h");
    add_output("y", build(&context, "Add", h, h));
    add_output("again", x);
    const struct entry *e = add_entry(ENTRY_INFER);
    struct interp *s = start(ARITHMETIC_SAME);
    const struct tensor *in[] = {numbers(DTYPE_FLOAT, 2, 5)};
    struct tensor *out[2];
    struct interp_fetch fetches[] = {{.name = "h"}, {.name = "x"}, {.name = "again"}};
    ck_assert(interp_run(s, e, in, out, fetches, 3, &arena, &diag));
    ck_assert_double_eq(tensor_get_double(out[0], 1), -12);
    ck_assert_double_eq(tensor_get_double(out[1], 1), 6);
    ck_assert_double_eq(tensor_get_double(fetches[0].tensor, 0), -5);
    ck_assert_double_eq(tensor_get_double(fetches[1].tensor, 0), 5);
    ck_assert_double_eq(tensor_get_double(fetches[2].tensor, 0), 5);
}
END_TEST

START_TEST(wrong_feeds_are_refused_and_change_nothing)
{
    struct variable *v = add_variable("v", numbers(DTYPE_FLOAT, 2, 1));
    struct value *x = graph_add_input(graph, "x", DTYPE_FLOAT, &SHAPE(2));
    bind(v, build(&context, "Add", x, graph_add_variable(graph, v)));
    const struct entry *e = add_entry(ENTRY_STEP);
    struct interp *s = start(ARITHMETIC_DOUBLE);
    const struct tensor *missing[] = {NULL};
    const struct tensor *wrong_type[] = {numbers(DTYPE_DOUBLE, 2, 0)};
    const struct tensor *wrong_shape[] = {numbers(DTYPE_FLOAT, 3, 0)};
    const struct tensor *const *feeds[] = {NULL, missing, wrong_type, wrong_shape};
    for (int i = 0; i < 4; i++)
        ck_assert(!run(s, e, feeds[i], NULL));
    struct interp_fetch nothing = {.name = "nothing"};
    const struct tensor *right[] = {numbers(DTYPE_FLOAT, 2, 0)};
    ck_assert(!interp_run(s, e, right, NULL, &nothing, 1, &arena, &diag));
    ck_assert_uint_eq(s->counters[0], 0);
    ck_assert_double_eq(tensor_get_double(s->variables[0], 0), 1);
}
END_TEST

/* 300 values of 100,000 elements are 240 MB as doubles; two of them are alive at once. Nothing can be said under
 * AddressSanitizer, which keeps freed memory for a while. */
START_TEST(dead_values_are_freed)
{
    struct value *v = graph_add_input(graph, "x", DTYPE_FLOAT, &SHAPE(100000));
    for (int k = 0; k < 300; k++)
        v = build(&context, "Neg", v);
    add_output("y", v);
    const struct entry *e = add_entry(ENTRY_INFER);
    struct interp *s = start(ARITHMETIC_DOUBLE);
    const struct tensor *in[] = {numbers(DTYPE_FLOAT, 100000, 0)};
    struct tensor *out[1];
    ck_assert(run(s, e, in, out));
    ck_assert_double_eq(tensor_get_double(out[0], 7), 7);
#ifndef __SANITIZE_ADDRESS__
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    ck_assert_int_lt(usage.ru_maxrss, 100 << 10); /* kilobytes */
#endif
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_test(all, bindings_happen_at_once);
    tcase_add_test(all, variables_are_rounded);
    tcase_add_test(all, outputs_and_fetches_are_returned);
    tcase_add_test(all, wrong_feeds_are_refused_and_change_nothing);
    tcase_add_test(all, dead_values_are_freed);
    suite_add_tcase(suite, all);

    return run_suite(suite);
}
