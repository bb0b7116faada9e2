/* How far results of generated code may be off: room for every error that can happen, and little more. */
#include "engine/error_bound.h"
#include "engine/pipeline.h"
#include "fixture.h"
#include "model/model.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { SIZE = 64 };

static const double unit = 0x1p-24;

/* A graph of x, float[1,64], and its result y. */
static const struct graph *graph_of(const char *body)
{
    const char *const text =
        arena_printf(&arena, "<ir_version: 10, opset_import: [\"\" : 21]> g (float[1,64] x) => (float[1,64] y) "
                             "<float[1] one = {1}> { %s }", body);
    const struct pipeline_options pipeline = {.name = "m"};
    struct model *m;
    struct program *p;
    if (!model_read_text(&diag, &arena, "m.onnxtxt", text, strlen(text), &m) ||
        !pipeline_program(&diag, &arena, m, &pipeline, &p)) {
        diag_print(&diag, stderr);
        ck_abort_msg("the model cannot be read");
    }
    return program_entry(p, "infer")->graph;
}

/* The widest room of any element of y, in units; `least`: the narrowest. */
static double room(const char *body, double *least)
{
    const struct graph *const g = graph_of(body);
    struct tensor *const x = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(1, SIZE));
    const struct tensor *const inputs[] = {x};
    struct error_bound y;
    double most = 0;
    for (int64_t k = 0; k < SIZE; k++)
        tensor_set_double(x, k, 1 + 0.25 * (double)(k % 7));
    ck_assert(error_bounds(&arena, g, inputs, unit, &y));
    *least = INFINITY;
    for (int k = 0; k < SIZE; k++) {
        const double r = (y.high[k] - y.low[k]) / 2 / unit;
        most = fmax(most, r);
        *least = fmin(*least, r);
    }
    return most;
}

/* x is from 1 to 2.5. Of what is tried out, inputs move to both sides, each on its own: all of them to one side would
 * change nothing of a normalization. */
static const struct {
    const char *body;
    double least, most; /* units */
} cases[] = {
    {"y = Neg(x)", 4, 10},
    {"y = LayerNormalization(x, one)", 60, 150},
    {"y = LRN<size = 3>(x)", 30, 80},
};

START_TEST(errors_have_room)
{
    double least, most = room(cases[_i].body, &least);
    ck_assert_msg(least >= cases[_i].least && most <= cases[_i].most,
                  "%s: %g to %g units", cases[_i].body, least, most);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, errors_have_room, 0, COUNT(cases));
    return run_tests("engine_bounds", tests);
}
