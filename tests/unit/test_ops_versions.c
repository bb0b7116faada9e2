/* What nodes of old versions of operators may not say, on the way to the newest form (upgrade callbacks). */
#include "base/str.h"
#include "engine/pipeline.h"
#include "fixture.h"
#include "suite.h"

#include <string.h>

static const struct {
    int opset;
    const char *text, *error; /* NULL: it is none */
} nodes[] = {
    /* operands of one shape before opset 7, unless `broadcast` says otherwise */
    {6, "(float[2,3] x, float[3] b) => (float[2,3] y) { y = Add(x, b) }",
     "inputs have shapes [2,3] and [3], expected equal ones without attribute broadcast=1"},
    {6, "(float[2,3] x, float[3] b) => (float[2,3] y) { y = Add<broadcast = 0>(x, b) }",
     "expected equal ones without attribute broadcast=1"},
    {6, "(float[2,3] x, float[3] b) => (float[2,3] y) { y = Add<broadcast = 1>(x, b) }", NULL},
    {7, "(float[2,3] x, float[3] b) => (float[2,3] y) { y = Add(x, b) }", NULL},
    {6, "(float[2,3,4] x, float[3] b) => (float[2,3,4] y) { y = Add<broadcast = 1, axis = 1>(x, b) }", NULL},
    {6, "(float[2,3,4] x, float[3] b) => (float[2,3,4] y) { y = Add<broadcast = 1, axis = -2>(x, b) }", NULL},
    {6, "(float[2,3,4] x, float[3] b) => (float[2,3,4] y) { y = Add<broadcast = 1, axis = 3>(x, b) }",
     "attribute 'axis' is 3: input 1 of rank 1 does not fit there into input 0 of rank 3"},
    {6, "(float[2,3,4] x, float[3] b) => (float[2,3,4] y) { y = Add<broadcast = 1, axis = -4>(x, b) }",
     "attribute 'axis' is -4: input 1 of rank 1 does not fit there"},
    {6, "(float[2,3] x, float[3] b) => (float[2,3] y) { y = Add<broadcast = 1, axis = 9223372036854775807>(x, b) }",
     "attribute 'axis' is 9223372036854775807: input 1"},
    {6, "(float[2,3,4] x, float[3,4] b) => (float[2,3,4] y) { y = Add<broadcast = 1, axis = 2>(x, b) }",
     "input 1 of rank 2 does not fit there"},
    {6, "(float[2,3] a, float[3,4] b, float[4] c) => (float[2,4] y) { y = Gemm(a, b, c) }",
     "input 2 'c' has shape [4], expected [2,4] without attribute broadcast=1"},
    {6, "(float[3,2] a, float[4,3] b, float[4] c) => (float[2,4] y) { y = Gemm<transA = 1, transB = 1>(a, b, c) }",
     "input 2 'c' has shape [4], expected [2,4]"},
    {6, "(float[2,3] a, float[3,4] b, float[4] c) => (float[2,4] y) { y = Gemm<broadcast = 1>(a, b, c) }", NULL},
    {6, "(float[2,3] a, float[3,4] b, float[2,4] c) => (float[2,4] y) { y = Gemm(a, b, c) }", NULL},
    /* numbers that later stand in attributes or inputs */
    {5, "(float[2,3] x, float t) => (float[4,3] y) { a = Constant<value = float {0}>() y = Tile(x, t, a) }",
     "input 1 (tiles) must be one number that is known at compile time"},
    {5,
     "(float[2,3] x) => (float[4,3] y) { t = Constant<value = float[2] {2, 1}>() a = Constant<value = float {0}>() "
     "y = Tile(x, t, a) }",
     "input 1 (tiles) must be one number"},
    {5,
     "(float[2,3] x) => (float[4,3] y) { t = Constant<value = float {2}>() a = Constant<value = float {2}>() "
     "y = Tile(x, t, a) }",
     "axis 2 is out of range for rank 2"},
    {8, "(float[2,3] x) => (float[2,3] y) { y = Flatten<axis = 3>(x) }", "axis 3 is out of range"},
    {12, "(float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 2>(x) }", "axis 2 is out of range"},
    {13, "(float[2,5] x) => (float[2,3] y, float[2,2] z) { y, z = Split<axis = 1>(x) }",
     "dimension 1 of input 0 'x' is 5 and cannot be split into 2 equal parts"},
    {5, "(float[3] x) => (int64[3] y) { y = Cast<to = \"INT64\">(x) }", NULL},
    {5, "(float[3] x) => (int64[3] y) { y = Cast<to = \"LONG\">(x) }",
     "attribute 'to' is 'LONG', expected a type such as 'FLOAT'"},
    {5, "(float[3] x) => (int64[3] y) { y = Cast<to = \"INT64_AND_MORE_THAN_THAT_IS_NO_TYPE\">(x) }",
     "attribute 'to' is 'INT64_AND_MORE"},
    {1, "(float[1,2,6] x) => (float[1,2,5] y) { y = LpPool<kernel_shape = [2], p = 1.5>(x) }", "attribute 'p' is 1.5"},
    /* names of modes */
    {16, "(float[1,1,2,2] x, float[1,2,2,2] g) => (float[1,1,2,2] y) { y = GridSample<mode = \"bicubic\">(x, g) }",
     NULL},
    {16, "(float[1,1,2,2] x, float[1,2,2,2] g) => (float[1,1,2,2] y) { y = GridSample<mode = \"cubic\">(x, g) }",
     "attribute 'mode' is 'cubic', expected 'bilinear', 'nearest' or 'bicubic'"},
    {16, "(float[1,1,2,2,2] x, float[1,2,2,2,3] g) => (float[1,1,2,2,2] y) { y = GridSample(x, g) }",
     "input 0 'x' has rank 5, expected 4"},
    {10, "(float[4] x, float[1] s) => (float[8] y) { y = Resize(x, s) }",
     "input 1 's' (scales) must be known at compile time"},
    {9, "(float[4] x) => (float[8] y) { s = Constant<value = float[1] {2}>() y = Upsample<mode = \"cubic\">(x, s) }",
     "attribute 'mode' is 'cubic', expected 'nearest' or 'linear'"},
    {9, "(float[4] x) => (float[2] y) { s = Constant<value = float[1] {0.5}>() y = Upsample(x, s) }",
     "element 0 of the scales is 0.5, expected 1 or more"},
    {9, "(float[4] x) => (float[8] y) { s = Constant<value = float[1] {2}>() y = Upsample(x, s) }", NULL},
    {18, "(float[2,4,3] x, float[4] s, float[2] b) => (float[2,4,3] y) { "
         "y = GroupNormalization<num_groups = 2>(x, s, b) }",
     "input 1 's' must have 2 elements, one for each group"},
    {18, "(float[2,4,3] x, float[2] s, float[4] b) => (float[2,4,3] y) { "
         "y = GroupNormalization<num_groups = 2>(x, s, b) }",
     "input 2 'b' must have 2 elements, one for each group"},
};

static const char *error_of(int opset, const char *text)
{
    const struct pipeline_options o = {.name = "test"};
    const char *const all = arena_printf(&arena, "<ir_version: 3, opset_import: [\"\" : %d]>\ng %s", opset, text);
    struct program *program;
    struct model *m;
    ck_assert_msg(model_read_text(&diag, &arena, "test.onnxtxt", all, strlen(all), &m), "%s: %s", text,
                  diag_first_error(&diag));
    return pipeline_canonical(&diag, &arena, m, &o, &program) ? NULL : diag_first_error(&diag);
}

START_TEST(old_forms_are_taken_or_refused)
{
    const char *const error = error_of(nodes[_i].opset, nodes[_i].text), *const wanted = nodes[_i].error;
    ck_assert_msg(wanted ? error && strstr(error, wanted) : !error, "%s: %s", nodes[_i].text, error ? error : "works");
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("versions");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, old_forms_are_taken_or_refused, 0, sizeof nodes / sizeof *nodes);
    return run_tests("versions", tests);
}
