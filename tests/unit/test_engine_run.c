/* What engine_run() is given has to fit the entry: each input is looked at. Generated code would not. */
#include "base/str.h"
#include "engine/engine.h"
#include "fixture.h"
#include "model/model.h"
#include "suite.h"

#include <check.h>
#include <string.h>

static struct engine *open_sum(enum engine_kind kind)
{
    static const char text[] = "<ir_version: 10, opset_import: [\"\" : 21]> "
                               "g (float[2] a, float[2] b, float[2] c) => (float[2] y) { s = Add(a, b) y = Add(s, c) }";
    const struct engine_options o = {.kind = kind, .cc = "cc -O0", .pipeline.name = "m"};
    struct model *m;
    struct engine *e;
    if (!model_read_text(&diag, &arena, "m.onnxtxt", text, strlen(text), &m) ||
        !engine_open(&diag, &arena, m, &o, &e)) {
        diag_print(&diag, stderr);
        ck_abort_msg("the model cannot be opened");
    }
    return e;
}

static bool run_with(struct engine *e, const struct tensor *const *inputs)
{
    struct tensor *y;
    return engine_run(e, program_entry(engine_program(e), "infer"), inputs, &y, &arena);
}

/* Of one input after the other; at last none is wrong. */
START_TEST(a_wrong_shape_is_refused)
{
    static const char *const names[] = {"'a'", "'b'", "'c'"};
    struct engine *const e = open_sum(_i == 0 ? ENGINE_INTERPRETED : ENGINE_GENERATED);
    for (int wrong = 0; wrong <= 3; wrong++) {
        const struct tensor *inputs[3];
        for (int i = 0; i < 3; i++)
            inputs[i] = tensor_new(&arena, DTYPE_FLOAT, i == wrong ? &SHAPE(3) : &SHAPE(2));
        diag = (struct diag){.arena = &arena};
        ck_assert(run_with(e, inputs) == (wrong == 3));
        ck_assert_uint_eq(diag.errors, wrong == 3 ? 0 : 1);
        if (wrong < 3)
            ck_assert_msg(strstr(diag_first_error(&diag), names[wrong]), "%s", diag_first_error(&diag));
    }
    engine_close(e);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("run");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, a_wrong_shape_is_refused, 0, 2);
    return run_tests("engine_run", tests);
}
