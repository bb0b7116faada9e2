/* Values that stepc computes itself: as many elements as the result has, and nothing behind them. */
#include "eval/eval.h"
#include "graph/build.h"
#include "suite.h"

#include <check.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
enum { ELEMENTS = 4, BEHIND = 8 };

/* y = op(x, numbers), x of [2,2] */
static const struct {
    const char *op;
    int64_t number[4];
    size_t numbers; /* 0: x is the only input */
} cases[] = {
    {"Identity", {0}, 0},  {"Reshape", {4}, 1},      {"Flatten", {0}, 0},      {"Unsqueeze", {0, 2}, 2},
    {"Squeeze", {0}, 0},   {"Transpose", {0}, 0},    {"Expand", {3, 2, 2}, 3}, {"Tile", {2, 1}, 2},
    {"Gather", {1, 0}, 2}, {"Pad", {1, 0, 0, 1}, 4}, {"ReduceSum", {1}, 1},    {"CumSum", {1}, 1},
    {"Neg", {0}, 0},       {"Exp", {0}, 0},
};

static struct arena arena;
static struct diag diag;
static struct program program;

static void begin(void)
{
    diag = (struct diag){.arena = &arena};
    program = (struct program){.name = "test", .arena = &arena, .diag = &diag};
}

static void end(void)
{
    arena_free(&arena);
}

START_TEST(nothing_is_written_behind)
{
    struct builder b = {.graph = graph_new(&program, "values"), .loc = LOC_FILE("test.onnx"), .prefix = ""};
    const size_t numbers = cases[_i].numbers;
    const struct shape shape = SHAPE(2, 2);
    const struct eval_tensor *in[2] = {0};
    struct eval_tensor *out[1];
    struct value *inputs[2] = {graph_add_input(b.graph, "x", DTYPE_DOUBLE, &shape), NULL};
    if (numbers > 0) {
        inputs[1] = build_ints(&b, cases[_i].number, numbers);
        in[1] = eval_from_tensor(&arena, inputs[1]->constant);
    }
    const struct value *const y = build_value(&b, cases[_i].op, ATTRS_NONE, inputs, numbers > 0 ? 2 : 1);
    ck_assert_msg(!b.failed, "%s: %s", cases[_i].op, diag_first_error(&diag));
    struct eval_tensor *const x = eval_tensor_new(&arena, DTYPE_DOUBLE, &SHAPE(ELEMENTS + BEHIND));
    for (int k = 0; k < ELEMENTS + BEHIND; k++)
        x->f[k] = 1 + k;
    x->shape = shape;
    x->count = ELEMENTS;
    in[0] = x;
    ck_assert(eval_node(y->producer, in, out, ARITHMETIC_DOUBLE, (struct eval_random){0}, &arena, &diag));
    const double *const behind = arena_array(&arena, double, BEHIND); /* new memory is zero */
    for (int k = 0; k < BEHIND; k++)
        ck_assert_msg(behind[k] == 0, "%s writes element %d behind its result", cases[_i].op, k);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, nothing_is_written_behind, 0, COUNT(cases));
    return run_tests("values", tests);
}
