/* compiler/eval: arithmetic of the two modes, iteration, a node. The operators are tested by their samples. */
#include "eval/eval.h"
#include "fixture.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* The operators are not linked: nodes here get records of their own. */
const struct op_def *const op_table[] = {NULL};

/* A node outside any graph: as much of it as evaluation looks at. */
struct fixture {
    struct op_def def;
    struct node node;
    struct value in[3], out;
    const struct eval_tensor *operand[3];
};

static void fixture_init(struct fixture *f, bool (*eval)(struct eval_ctx *), int inputs, enum dtype out,
                         struct shape shape)
{
    *f = (struct fixture){.def = {.name = "Test", .eval = eval}};
    f->node.def = &f->def;
    f->node.loc = LOC_FILE("test.onnx");
    for (int i = 0; i < inputs; i++)
        vec_push(&arena, &f->node.inputs, &f->in[i]);
    f->out.dtype = out;
    f->out.shape = shape;
    vec_push(&arena, &f->node.outputs, &f->out);
}

static struct eval_tensor *floats(enum dtype dtype, struct shape shape, const double *x)
{
    struct eval_tensor *t = eval_tensor_new(&arena, dtype, &shape);
    memcpy(t->f, x, (size_t)t->count * sizeof *x);
    return t;
}

static struct eval_tensor *ints(enum dtype dtype, struct shape shape, const int64_t *x)
{
    struct eval_tensor *t = eval_tensor_new(&arena, dtype, &shape);
    memcpy(t->i, x, (size_t)t->count * sizeof *x);
    return t;
}

static struct eval_tensor *run(struct fixture *f, enum arithmetic arithmetic)
{
    struct eval_tensor *out[1];
    const bool ok = eval_node(&f->node, f->operand, out, arithmetic, (struct eval_random){0}, &arena, &diag);
    return ok ? out[0] : NULL;
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

static double thirds(const struct eval_ctx *c, const double *x)
{
    return eval_round(c, x[0] / 3);
}

static bool thirds_eval(struct eval_ctx *c)
{
    return eval_map_f(c, thirds);
}

static const struct {
    enum dtype dtype;
    enum arithmetic arithmetic;
    double third; /* of 1 */
} round_cases[] = {
    {DTYPE_FLOAT, ARITHMETIC_DOUBLE, 1.0 / 3},  {DTYPE_FLOAT, ARITHMETIC_SAME, (double)(1.0f / 3)},
    {DTYPE_DOUBLE, ARITHMETIC_SAME, 1.0 / 3},   {DTYPE_FLOAT16, ARITHMETIC_SAME, 0x1.554p-2},
    {DTYPE_BFLOAT16, ARITHMETIC_SAME, 0x1.56p-2}, {DTYPE_FLOAT16, ARITHMETIC_DOUBLE, 1.0 / 3},
};

START_TEST(values_are_rounded_under_same_only)
{
    struct fixture f;
    fixture_init(&f, thirds_eval, 1, round_cases[_i].dtype, SHAPE(1));
    f.operand[0] = floats(round_cases[_i].dtype, SHAPE(1), (const double[]){1});
    ck_assert_double_eq(run(&f, round_cases[_i].arithmetic)->f[0], round_cases[_i].third);
}
END_TEST

/* float16 computes in float: only the node's value is rounded to it. */
START_TEST(float16_is_rounded_once_at_the_end)
{
    struct fixture f;
    fixture_init(&f, thirds_eval, 1, DTYPE_FLOAT16, SHAPE(1));
    const struct eval_ctx c = {.node = &f.node, .arithmetic = ARITHMETIC_SAME};
    ck_assert_double_eq(eval_round(&c, 1.0 / 3), (double)(1.0f / 3));
}
END_TEST

/* ---- elementary functions: both modes against known values ------------------------------------------------------- */

static const struct {
    enum math_fn fn;
    double x, y;
} math_cases[] = {
    {MATH_EXP, 1.5, 4.4816890703380648},       {MATH_LOG, 1.5, 0.40546510810816438},
    {MATH_TANH, 0.5, 0.46211715726000976},     {MATH_SIGMOID, -1.5, 0.18242552380635635},
    {MATH_ERF, 0.5, 0.52049987781304654},      {MATH_SOFTPLUS, 1.5, 1.7014132779827524},
    {MATH_SOFTPLUS, -40, 4.248354255291589e-18}, {MATH_SQRT, 2, 1.4142135623730951},
    {MATH_SIN, 1.5, 0.99749498660405443},      {MATH_COS, 1.5, 0.070737201667702906},
    {MATH_TAN, 1.5, 14.101419947171719},       {MATH_ASIN, 0.5, 0.52359877559829893},
    {MATH_ACOS, -0.5, 2.0943951023931957},     {MATH_ATAN, 1.5, 0.98279372324732905},
    {MATH_SINH, 1.5, 2.1292794550948173},      {MATH_COSH, 1.5, 2.3524096152432472},
    {MATH_ASINH, 1.5, 1.1947632172871092},     {MATH_ACOSH, 1.5, 0.96242365011920694},
    {MATH_ATANH, 0.5, 0.54930614433405489},
    {MATH_LOG1P, 1e-5, 9.9999500003333317e-6}, {MATH_EXPM1, 1e-5, 1.0000050000166668e-5},
};

START_TEST(elementary_functions_agree)
{
    const struct eval_ctx plain = {.arithmetic = ARITHMETIC_DOUBLE}, same = {.arithmetic = ARITHMETIC_SAME};
    const enum math_fn fn = math_cases[_i].fn;
    const double x = math_cases[_i].x, y = math_cases[_i].y;
    const double xf = (double)(float)x;
    /* 4 units in the last place: 2 are the contract's, the rest is the decimal above and, in float, x itself */
    ck_assert_double_le(fabs(eval_math(&plain, DTYPE_FLOAT, fn, x) - y), 4 * 0x1p-53 * fabs(y));
    ck_assert_double_le(fabs(eval_math(&same, DTYPE_DOUBLE, fn, x) - y), 4 * 0x1p-53 * fabs(y));
    const double in_float = eval_math(&same, DTYPE_FLOAT, fn, xf);
    ck_assert_double_le(fabs(in_float - y), 4 * 0x1p-24 * fabs(y));
    ck_assert_double_eq(in_float, (double)(float)in_float);
}
END_TEST

START_TEST(powers_agree)
{
    const struct eval_ctx plain = {.arithmetic = ARITHMETIC_DOUBLE}, same = {.arithmetic = ARITHMETIC_SAME};
    ck_assert_double_eq(eval_pow(&plain, DTYPE_FLOAT, 3, 2), 9);
    ck_assert_double_eq(eval_pow(&same, DTYPE_FLOAT, 3, 2), 9);
    ck_assert_double_eq(eval_pow(&same, DTYPE_DOUBLE, 3, 2), 9);
    ck_assert_double_eq(eval_pow(&same, DTYPE_FLOAT, 0, 0), 1);
}
END_TEST

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* 1e8 swallows a 1 added to it in float: lane 0 holds 1e8 and one 1, the fifteen other lanes what else there is. */
START_TEST(sums_run_in_sixteen_lanes_folded_by_halves)
{
    double x[32];
    for (int k = 0; k < 32; k++)
        x[k] = 1;
    x[0] = 1e8;
    float lane[16] = {0};
    for (int k = 0; k < 32; k++)
        lane[k % 16] += (float)x[k];
    for (int w = 8; w > 0; w /= 2)
        for (int l = 0; l < w; l++)
            lane[l] += lane[l + w];
    const struct eval_ctx same = {.arithmetic = ARITHMETIC_SAME}, plain = {.arithmetic = ARITHMETIC_DOUBLE};
    ck_assert_double_eq(eval_sum_lanes(&same, DTYPE_FLOAT, x, 32, 1), (double)lane[0]);
    ck_assert_double_ne((double)lane[0], 1e8 + 31);
    ck_assert_double_eq(eval_sum_lanes(&plain, DTYPE_FLOAT, x, 32, 1), 1e8 + 31);
    ck_assert_double_eq(eval_sum_lanes(&same, DTYPE_FLOAT, x, 0, 1), 0);
    ck_assert_double_eq(eval_sum_lanes(&same, DTYPE_FLOAT, x + 1, 5, 3), 5);
}
END_TEST

START_TEST(a_maximum_keeps_nan)
{
    ck_assert_double_eq(eval_max((const double[]){1, 3, 2}, 3, 1), 3);
    ck_assert(isnan(eval_max((const double[]){1, NAN, 2}, 3, 1)));
    ck_assert(isnan(eval_max((const double[]){NAN, 1}, 2, 1)));
    ck_assert_double_eq(eval_max(NULL, 0, 1), -HUGE_VAL);
}
END_TEST

/* ---- integers ---------------------------------------------------------------------------------------------------- */

static const struct {
    enum dtype dtype;
    char op;
    int64_t a, b, y;
} int_cases[] = {
    {DTYPE_INT8, '+', 127, 1, -128},
    {DTYPE_UINT8, '-', 0, 1, 255},
    {DTYPE_INT32, '*', 1 << 30, 4, 0},
    {DTYPE_INT64, '+', INT64_MAX, 1, INT64_MIN},
    {DTYPE_INT64, '*', INT64_MAX, 2, -2},
    {DTYPE_INT32, '/', -7, 2, -3},
    {DTYPE_INT32, '%', -7, 2, -1},
    {DTYPE_INT32, '/', 5, 0, 0},
    {DTYPE_UINT8, '%', 5, 0, 0},
    {DTYPE_INT8, '/', -128, -1, -128},
    {DTYPE_INT64, '/', INT64_MIN, -1, INT64_MIN},
    {DTYPE_INT64, '%', INT64_MIN, -1, 0},
    {DTYPE_UINT64, '/', -1 /* 2^64 - 1 */, 2, INT64_MAX},
    {DTYPE_UINT64, '%', -1, 10, 5},
};

START_TEST(integers_follow_the_contract)
{
    ck_assert_int_eq(eval_int_binary(int_cases[_i].dtype, int_cases[_i].op, int_cases[_i].a, int_cases[_i].b),
                     int_cases[_i].y);
}
END_TEST

/* ---- iteration --------------------------------------------------------------------------------------------------- */

static double weigh(const struct eval_ctx *c, const double *x)
{
    return 10 * x[0] + x[1];
}

static bool weigh_eval(struct eval_ctx *c)
{
    return eval_map_f(c, weigh);
}

/* a[2,1], b[3]: y[i,j] = 10 a[i] + b[j]; b is integer and read as float */
START_TEST(maps_broadcast_and_convert)
{
    struct fixture f;
    fixture_init(&f, weigh_eval, 2, DTYPE_FLOAT, SHAPE(2, 3));
    f.operand[0] = floats(DTYPE_FLOAT, SHAPE(2, 1), (const double[]){1, 2});
    f.operand[1] = ints(DTYPE_INT32, SHAPE(3), (const int64_t[]){4, 5, 6});
    const struct eval_tensor *y = run(&f, ARITHMETIC_DOUBLE);
    for (int p = 0; p < 6; p++)
        ck_assert_double_eq(y->f[p], 10 * (1 + p / 3) + 4 + p % 3);
}
END_TEST

START_TEST(an_omitted_operand_reads_as_zero)
{
    struct fixture f;
    fixture_init(&f, weigh_eval, 2, DTYPE_FLOAT, SHAPE(2));
    f.operand[0] = floats(DTYPE_FLOAT, SHAPE(2), (const double[]){1, 2});
    ck_assert_double_eq(run(&f, ARITHMETIC_DOUBLE)->f[1], 20);
}
END_TEST

START_TEST(an_empty_domain_is_no_work)
{
    struct fixture f;
    fixture_init(&f, weigh_eval, 2, DTYPE_FLOAT, SHAPE(0, 3));
    f.operand[0] = floats(DTYPE_FLOAT, SHAPE(0, 3), (const double[]){0});
    f.operand[1] = floats(DTYPE_FLOAT, SHAPE(3), (const double[]){1, 2, 3});
    ck_assert_int_eq(run(&f, ARITHMETIC_DOUBLE)->count, 0);
}
END_TEST

static int64_t negate_i(const struct eval_ctx *c, const int64_t *x)
{
    return -x[0];
}

static bool negate_eval(struct eval_ctx *c)
{
    return eval_map_i(c, negate_i);
}

START_TEST(integer_maps_wrap)
{
    struct fixture f;
    fixture_init(&f, negate_eval, 1, DTYPE_UINT8, SHAPE(2));
    f.operand[0] = ints(DTYPE_UINT8, SHAPE(2), (const int64_t[]){1, 0});
    const struct eval_tensor *y = run(&f, ARITHMETIC_SAME);
    ck_assert_int_eq(y->i[0], 255);
    ck_assert_int_eq(y->i[1], 0);
}
END_TEST

static bool reverse_eval(struct eval_ctx *c)
{
    eval_gather(c, (const int64_t[]){2, 1, -1});
    return true;
}

START_TEST(gather_moves_any_dtype)
{
    struct fixture f;
    fixture_init(&f, reverse_eval, 1, DTYPE_INT64, SHAPE(3));
    f.operand[0] = ints(DTYPE_INT64, SHAPE(3), (const int64_t[]){7, 8, 9});
    const struct eval_tensor *y = run(&f, ARITHMETIC_SAME);
    ck_assert_int_eq(y->i[0], 9);
    ck_assert_int_eq(y->i[1], 8);
    ck_assert_int_eq(y->i[2], 0);
}
END_TEST

START_TEST(broadcast_index_repeats_elements)
{
    const struct shape domain = SHAPE(2, 2, 3);
    const struct eval_tensor *t = floats(DTYPE_FLOAT, SHAPE(2, 1), (const double[]){1, 2});
    int64_t index[12];
    eval_broadcast_index(t, &domain, index);
    for (int p = 0; p < 12; p++)
        ck_assert_int_eq(index[p], p / 3 % 2);
}
END_TEST

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static bool failing_eval(struct eval_ctx *c)
{
    return eval_error(c, "label %d is out of range", 7);
}

START_TEST(a_fault_is_reported_at_the_node)
{
    struct fixture f;
    fixture_init(&f, failing_eval, 0, DTYPE_FLOAT, SHAPE(1));
    ck_assert_ptr_null(run(&f, ARITHMETIC_DOUBLE));
    ck_assert_uint_eq(diag.errors, 1);
    ck_assert_str_eq(diag.messages.data[0].text, "label 7 is out of range");
}
END_TEST

START_TEST(strings_are_refused)
{
    struct fixture f;
    fixture_init(&f, reverse_eval, 1, DTYPE_STRING, SHAPE(3));
    const struct shape shape = SHAPE(3);
    f.operand[0] = eval_tensor_new(&arena, DTYPE_STRING, &shape);
    ck_assert_ptr_null(run(&f, ARITHMETIC_DOUBLE));
    ck_assert_ptr_nonnull(strstr(diag.messages.data[0].text, "string"));
}
END_TEST

/* Two results, the first or the second of which nobody may want. */
static bool two_eval(struct eval_ctx *c)
{
    for (int o = 0; o < 2; o++)
        if (eval_wants(c, o))
            eval_out_f(c, o)[0] = o + 1;
    return true;
}

START_TEST(results_that_nobody_wants_are_none)
{
    for (int omitted = 0; omitted < 2; omitted++) {
        struct fixture f;
        struct eval_tensor *out[2];
        fixture_init(&f, two_eval, 0, DTYPE_FLOAT, SHAPE(1));
        vec_push(&arena, &f.node.outputs, &f.out);
        f.node.outputs.data[omitted] = NULL;
        ck_assert(eval_node(&f.node, f.operand, out, ARITHMETIC_SAME, (struct eval_random){0}, &arena, &diag));
        ck_assert_ptr_null(out[omitted]);
        ck_assert(out[1 - omitted]->f[0] == 2 - omitted);
    }
}
END_TEST

START_TEST(results_that_cannot_be_held_are_refused)
{
    struct fixture f;
    fixture_init(&f, two_eval, 0, DTYPE_STRING, SHAPE(1));
    ck_assert_ptr_null(run(&f, ARITHMETIC_DOUBLE));
    ck_assert_str_eq(diag.messages.data[0].text, "output 0 is string: Test cannot be evaluated on this type");
}
END_TEST

START_TEST(tensors_go_in_and_out)
{
    for (int d = 1; d < DTYPE_COUNT; d++) {
        const enum dtype dtype = (enum dtype)d;
        if (!(DTYPES_ALL & DTYPE_BIT(dtype)))
            continue;
        const struct shape shape = SHAPE(2);
        struct tensor *t = tensor_new(&arena, dtype, &shape);
        tensor_set_double(t, 0, 1);
        ck_assert(tensor_identical(eval_to_tensor(&arena, eval_from_tensor(&arena, t)), t));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("eval");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_loop_test(all, values_are_rounded_under_same_only, 0, COUNT(round_cases));
    tcase_add_test(all, float16_is_rounded_once_at_the_end);
    tcase_add_loop_test(all, elementary_functions_agree, 0, COUNT(math_cases));
    tcase_add_test(all, powers_agree);
    tcase_add_test(all, sums_run_in_sixteen_lanes_folded_by_halves);
    tcase_add_test(all, a_maximum_keeps_nan);
    tcase_add_loop_test(all, integers_follow_the_contract, 0, COUNT(int_cases));
    tcase_add_test(all, maps_broadcast_and_convert);
    tcase_add_test(all, an_omitted_operand_reads_as_zero);
    tcase_add_test(all, an_empty_domain_is_no_work);
    tcase_add_test(all, integer_maps_wrap);
    tcase_add_test(all, gather_moves_any_dtype);
    tcase_add_test(all, broadcast_index_repeats_elements);
    tcase_add_test(all, a_fault_is_reported_at_the_node);
    tcase_add_test(all, strings_are_refused);
    tcase_add_test(all, results_that_nobody_wants_are_none);
    tcase_add_test(all, results_that_cannot_be_held_are_refused);
    tcase_add_test(all, tensors_go_in_and_out);
    suite_add_tcase(suite, all);

    return run_suite(suite);
}
