/* compiler/rewrite: what graphs become, and that the bits stay. */
#include "eval/eval.h"
#include "graph/build.h"
#include "graph/region.h"
#include "rewrite/pass.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
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
static struct value *x, *y, *i; /* inputs: float[2,3], float[2,3], int32[2,3] */

static void begin(void)
{
    diag = (struct diag){.arena = &arena};
    program = (struct program){.name = "p", .arena = &arena, .diag = &diag, .fold = fold_value};
    g = graph_new(&program, "g");
    b = (struct builder){.graph = g, .loc = {.index = -1}, .prefix = ""};
    x = graph_add_input(g, "x", DTYPE_FLOAT, &SHAPE(2, 3));
    y = graph_add_input(g, "y", DTYPE_FLOAT, &SHAPE(2, 3));
    i = graph_add_input(g, "i", DTYPE_INT32, &SHAPE(2, 3));
}

static void end(void)
{
    arena_free(&arena);
}

static void output(const char *name, struct value *v)
{
    ck_assert_msg(!b.failed, "%s", diag.messages.count > 0 ? diag.messages.data[0].text : "");
    vec_push(&arena, &g->outputs, ((struct graph_output){name, v}));
}

/* Constants by their content: 0.5 or {2,3}. */
static const char *value_text(const struct value *v)
{
    if (v == NULL || v->kind != VALUE_CONSTANT)
        return v == NULL ? "_" : v->name;
    const char *text = "";
    for (int64_t k = 0; k < v->constant->count; k++)
        text = arena_printf(&arena, "%s%s%g", text, k > 0 ? "," : "", tensor_get_double(v->constant, k));
    return v->shape.rank == 0 ? text : arena_printf(&arena, "{%s}", text);
}

/* The nodes and outputs: "Mul(x,y) Neg(mul) = neg". */
static const char *graph_text(void)
{
    const char *text = "";
    for (const struct node *n = g->first; n != NULL; n = n->next) {
        text = arena_printf(&arena, "%s%s(", text, n->def->name);
        for (size_t k = 0; k < n->inputs.count; k++)
            text = arena_printf(&arena, "%s%s%s", text, k > 0 ? "," : "", value_text(n->inputs.data[k]));
        text = arena_printf(&arena, "%s) ", text);
    }
    text = arena_printf(&arena, "%s=", text);
    for (size_t k = 0; k < g->outputs.count; k++)
        text = arena_printf(&arena, "%s %s", text, value_text(g->outputs.data[k].value));
    return text;
}

static const char *canonical(void)
{
    ck_assert(canonicalise(g, NULL));
    graph_verify(g, "canonicalise");
    return graph_text();
}

static struct value *number(double n)
{
    return build_scalar(&b, DTYPE_FLOAT, n);
}

static struct value *integer(double n)
{
    return build_scalar(&b, DTYPE_INT32, n);
}

static struct value *ints(int64_t p, int64_t q)
{
    return build_ints(&b, (int64_t[]){p, q}, 2);
}

static struct value *dense(double n) /* float[2,3] full of n */
{
    struct tensor *t = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(2, 3));
    for (int64_t k = 0; k < t->count; k++)
        tensor_set_double(t, k, n);
    return build_constant(&b, t);
}

/* ---- what becomes of one expression ------------------------------------------------------------------------------ */

static struct value *dense_but_last(double n, double last)
{
    struct value *const v = dense(n);
    tensor_set_double((struct tensor *)(uintptr_t)v->constant, 5, last);
    return v;
}

static struct value *product_of_both(void)
{
    return build(&at, "MatMul", x, build(&at, "Transpose", y));
}

static struct value *with_its_transposition(struct value *v)
{
    return build(&at, "Add", v, build(&at, "Transpose", v));
}

/* Zeros [3,6] with x from [row,column] on. */
static struct value *slice_gradient(int64_t row, int64_t column, int64_t step)
{
    return build_with(&at, "stepc.SliceGrad",
                      ATTRS(attr_ints("shape", (int64_t[]){3, 6}, 2), attr_ints("starts", (int64_t[]){row, column}, 2),
                            attr_ints("steps", (int64_t[]){1, step}, 2)),
                      x);
}

static struct value *condition(void)
{
    return graph_add_input(g, "c", DTYPE_BOOL, &SHAPE(2, 3));
}

static struct value *integers(const char *name)
{
    return graph_add_input(g, name, DTYPE_INT32, &SHAPE(2, 3));
}

#define CASE(name, expression)                                                                                         \
    static struct value *name(void)                                                                                    \
    {                                                                                                                  \
        return expression;                                                                                             \
    }

CASE(mul_one, build(&at, "Mul", x, number(1)))
CASE(one_mul, build(&at, "Mul", number(1), x))
CASE(mul_ones, build(&at, "Mul", dense(1), x))
CASE(mul_full_ones, build(&at, "Mul", build_full_like(&b, x, 1), x))
CASE(mul_computed_one, build(&at, "Mul", x, build(&at, "Add", number(0.5), number(0.5))))
CASE(mul_two, build(&at, "Mul", dense(2), x))
CASE(mul_zero, build(&at, "Mul", x, number(0)))
CASE(mul_zero_int, build(&at, "Mul", i, integer(0)))
CASE(add_zero, build(&at, "Add", x, number(0)))
CASE(add_minus_zero, build(&at, "Add", x, number(-0.0)))
CASE(add_zero_int, build(&at, "Add", integer(0), i))
CASE(sub_zero, build(&at, "Sub", x, number(0)))
CASE(sub_minus_zero, build(&at, "Sub", x, number(-0.0)))
CASE(div_one, build(&at, "Div", x, number(1)))
CASE(div_four, build(&at, "Div", x, number(4)))
CASE(div_three, build(&at, "Div", x, number(3)))
CASE(div_threes, build(&at, "Div", x, dense(-3)))
CASE(div_zero, build(&at, "Div", x, number(0)))
CASE(div_large, build(&at, "Div", x, number(2e38)))
CASE(div_infinite, build(&at, "Div", x, number(INFINITY)))
CASE(div_row, build(&at, "Div", graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE_SCALAR), dense(2)))
CASE(div_ints, build(&at, "Div", i, integer(4)))
CASE(zero_mul, build(&at, "Mul", number(0), x))
CASE(zero_mul_int, build(&at, "Mul", integer(0), i))
CASE(div_negs, build(&at, "Div", build(&at, "Neg", x), build(&at, "Neg", y)))
CASE(div_negs_int, build(&at, "Div", build(&at, "Neg", i), build(&at, "Neg", integers("k"))))
CASE(div_halves, build(&at, "Div", graph_add_input(g, "h", DTYPE_FLOAT16, &SHAPE(2, 3)),
                       build_scalar(&b, DTYPE_FLOAT16, 3)))
CASE(squares_of_row, build(&at, "Pow", graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE(3)), dense(2)))
CASE(first_power, build(&at, "Pow", x, number(1)))
CASE(and_true, build(&at, "And", condition(), build_scalar(&b, DTYPE_BOOL, 1)))
CASE(false_and, build(&at, "And", build_scalar(&b, DTYPE_BOOL, 0), condition()))
CASE(or_true, build(&at, "Or", condition(), build_scalar(&b, DTYPE_BOOL, 1)))
CASE(false_or, build(&at, "Or", build_scalar(&b, DTYPE_BOOL, 0), condition()))
CASE(max_of_two, build(&at, "Max", x, y))
CASE(clip_of_one_bound, build(&at, "Clip", x, number(1)))
CASE(slice_of_all, build(&at, "Slice", x, ints(0, 0), ints(2, 3), ints(0, 1), ints(1, 1)))
CASE(slice_backwards, build(&at, "Slice", x, ints(0, 2), ints(2, -4), ints(0, 1), ints(1, -1)))
CASE(pad_by_nothing, build(&at, "Pad", x, build_ints(&b, (int64_t[]){0, 0, 0, 0}, 4)))
CASE(pad_that_moves, build(&at, "Pad", x, build_ints(&b, (int64_t[]){0, 1, 0, -1}, 4)))
CASE(cast_int_to_short_and_back, build_cast(&b, build_cast(&b, i, DTYPE_INT16), DTYPE_INT32))
CASE(cast_int_to_long_and_back, build_cast(&b, build_cast(&b, i, DTYPE_INT64), DTYPE_INT32))
CASE(cast_int_to_bool_and_back, build_cast(&b, build_cast(&b, i, DTYPE_BOOL), DTYPE_INT32))
CASE(cast_byte_to_bool_and_back,
     build_cast(&b, build_cast(&b, graph_add_input(g, "h", DTYPE_UINT8, &SHAPE(2, 3)), DTYPE_BOOL), DTYPE_UINT8))
CASE(cast_float_to_long_and_back, build_cast(&b, build_cast(&b, x, DTYPE_INT64), DTYPE_FLOAT))
CASE(cast_half_to_bfloat_and_back,
     build_cast(&b, build_cast(&b, graph_add_input(g, "h", DTYPE_FLOAT16, &SHAPE(2, 3)), DTYPE_BFLOAT16),
                DTYPE_FLOAT16))
CASE(cast_byte_to_short_and_back,
     build_cast(&b, build_cast(&b, graph_add_input(g, "h", DTYPE_UINT8, &SHAPE(2, 3)), DTYPE_INT16), DTYPE_UINT8))
CASE(reshape_expanded_element,
     build_reshape(&b, build_expand(&b, graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE(1, 1, 1)), &SHAPE(1, 2, 3)),
                   &SHAPE(6)))
CASE(reshape_expanded_row,
     build_reshape(&b, build_expand(&b, graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE(3)), &SHAPE(2, 3)), &SHAPE(6)))
CASE(transpose_expanded_row,
     build(&at, "Transpose", build_expand(&b, graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE(3)), &SHAPE(2, 3))))
CASE(transposed_products_of_row,
     build(&at, "Transpose", build(&at, "MatMul", graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE(2)),
                                   graph_add_input(g, "t", DTYPE_FLOAT, &SHAPE(4, 2, 3)))))
CASE(expanded_keeps_attributes,
     build_with(&at, "LeakyRelu", ATTRS(attr_float("alpha", 0.5)),
                build_expand(&b, graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE_SCALAR), &x->shape)))
CASE(clip_expanded, build(&at, "Clip", build_expand(&b, graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE_SCALAR), &x->shape),
                          NULL, number(1)))
CASE(neg_neg, build(&at, "Neg", build(&at, "Neg", x)))
CASE(neg_neg_neg, build(&at, "Neg", build(&at, "Neg", build(&at, "Neg", x))))
CASE(add_neg, build(&at, "Add", x, build(&at, "Neg", y)))
CASE(neg_add, build(&at, "Add", build(&at, "Neg", x), y))
CASE(sub_neg, build(&at, "Sub", x, build(&at, "Neg", y)))
CASE(mul_negs, build(&at, "Mul", build(&at, "Neg", x), build(&at, "Neg", y)))
CASE(identities, build(&at, "Identity", build(&at, "Identity", x)))
CASE(sum_of_one, build(&at, "Sum", x))
CASE(clip_without_bounds, build(&at, "Clip", x))
CASE(cast_to_same, build_with(&at, "Cast", ATTRS(attr_int("to", DTYPE_FLOAT)), x))
CASE(cast_there_and_back, build_cast(&b, build_cast(&b, x, DTYPE_DOUBLE), DTYPE_FLOAT))
CASE(cast_narrow_and_back, build_cast(&b, build_cast(&b, x, DTYPE_FLOAT16), DTYPE_FLOAT))
CASE(cast_int_to_double_and_back, build_cast(&b, build_cast(&b, i, DTYPE_DOUBLE), DTYPE_INT32))
CASE(cast_int_to_float_and_back, build_cast(&b, build_cast(&b, i, DTYPE_FLOAT), DTYPE_INT32))
CASE(where_true, build(&at, "Where", build_scalar(&b, DTYPE_BOOL, 1), x, y))
CASE(where_false, build(&at, "Where", build(&at, "Less", number(2), number(1)), x, y))
CASE(where_same, build(&at, "Where", build(&at, "Less", x, y), y, y))
CASE(same_twice, build(&at, "Add", build(&at, "Exp", x), build(&at, "Exp", x)))
CASE(same_constants, build(&at, "Add", build(&at, "Mul", x, number(3)), build(&at, "Mul", x, number(3))))
CASE(other_attribute, build(&at, "Add", build_with(&at, "LeakyRelu", ATTRS(attr_float("alpha", 0.5)), x),
                            build_with(&at, "LeakyRelu", ATTRS(attr_float("alpha", 0.25)), x)))
CASE(mul_nearly_ones, build(&at, "Mul", x, dense_but_last(1, 2)))
CASE(equal_ints, build(&at, "Add", ints(1, 2), ints(3, 2)))
CASE(transposed_product_read_twice, with_its_transposition(product_of_both()))
CASE(transpose_three,
     build_transpose(&b,
                     build_transpose(&b, graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE(4, 2, 3)), (int[]){1, 2, 0}),
                     (int[]){0, 2, 1}))
CASE(other_last_number, build(&at, "Add", slice_gradient(0, 1, 1), slice_gradient(0, 0, 1)))
CASE(other_first_number, build(&at, "Add", slice_gradient(1, 0, 1), slice_gradient(0, 0, 1)))
CASE(other_numbers_behind, build(&at, "Add", slice_gradient(0, 1, 1), slice_gradient(0, 1, 2)))
CASE(same_numbers, build(&at, "Add", slice_gradient(1, 1, 1), slice_gradient(1, 1, 1)))
CASE(known_sum, build(&at, "Add", number(1), number(2)))
CASE(known_ints, build(&at, "Mul", ints(2, 3), ints(4, 5)))
CASE(reshape_same, build_reshape(&b, x, &SHAPE(2, 3)))
CASE(reshape_twice, build_reshape(&b, build_reshape(&b, x, &SHAPE(6)), &SHAPE(3, 2)))
CASE(reshape_back, build_reshape(&b, build_reshape(&b, x, &SHAPE(6)), &SHAPE(2, 3)))
CASE(reshape_to_shape_of, build(&at, "Reshape", build(&at, "Neg", x), build(&at, "Shape", y)))
CASE(flatten_and_unsqueeze, build(&at, "Unsqueeze", build_with(&at, "Flatten", ATTRS(attr_int("axis", 0)), x),
                                  build_ints(&b, (int64_t[]){0}, 1)))
CASE(transpose_twice, build(&at, "Transpose", build(&at, "Transpose", x)))
CASE(transpose_row, build(&at, "Transpose", build_reshape(&b, x, &SHAPE(1, 6))))
CASE(transposed_product, build(&at, "Transpose", build(&at, "MatMul", x, build(&at, "Transpose", y))))
CASE(product_rows_last, build_transpose(&b,
                                        build(&at, "MatMul", graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE(4, 2, 3)),
                                              build(&at, "Transpose", y)),
                                        (int[]){2, 0, 1}))
CASE(product_columns_last, build_transpose(&b,
                                           build(&at, "MatMul", graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE(4, 2, 3)),
                                                 build(&at, "Transpose", y)),
                                           (int[]){1, 0, 2}))
CASE(square, build(&at, "Pow", x, number(2)))
CASE(cube, build(&at, "Pow", x, number(3)))
CASE(fourth_power, build(&at, "Pow", x, number(4)))
CASE(expand_same, build_expand(&b, x, &SHAPE(2, 3)))
CASE(expand_twice, build_expand(&b, build_expand(&b, x, &SHAPE(4, 2, 3)), &SHAPE(5, 4, 2, 3)))
CASE(mul_expanded,
     build(&at, "Mul", build_expand(&b, graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE_SCALAR), &x->shape), x))
CASE(only_expanded,
     build(&at, "Sqrt", build_expand(&b, graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE_SCALAR), &x->shape)))
CASE(erf_of_expanded,
     build(&at, "Erf", build_expand(&b, graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE_SCALAR), &x->shape)))
CASE(softmax_of_halves, build(&at, "Softmax", graph_add_input(g, "h", DTYPE_BFLOAT16, &SHAPE(2, 3))))
CASE(known_shape, build(&at, "Shape", x))
CASE(known_size, build(&at, "Size", x))
CASE(reduce_single_int, build_reduce_sum(&b, build_reshape(&b, i, &SHAPE(1, 6)), (int[]){0}, 1, false))
CASE(reduce_single_float, build_reduce_sum(&b, build_reshape(&b, x, &SHAPE(1, 6)), (int[]){0}, 1, false))

static const struct {
    struct value *(*make)(void);
    const char *text;
} cases[] = {
    {mul_one, "= x"},
    {one_mul, "= x"},
    {mul_ones, "= x"},
    {mul_full_ones, "= x"},
    {mul_computed_one, "= x"},
    {mul_two, "Mul(2,x) = mul"},
    {mul_zero, "Mul(x,0) = mul"},
    {mul_zero_int, "Expand(0,{2,3}) = mul"},
    {add_zero, "Add(x,0) = add"},
    {add_minus_zero, "= x"},
    {add_zero_int, "= i"},
    {sub_zero, "= x"},
    {sub_minus_zero, "Sub(x,-0) = sub"},
    {div_one, "= x"},
    {div_four, "Mul(x,0.25) = div"},
    {div_three, "Mul(x,0.333333) = div"},
    {div_threes, "Mul(x,-0.333333) = div"},
    {div_zero, "Div(x,0) = div"},
    {div_large, "Div(x,2e+38) = div"},
    {div_infinite, "Div(x,inf) = div"},
    {div_row, "Mul(s,0.5) Expand(div.div,{2,3}) = div"},
    {div_ints, "Div(i,4) = div"},
    {zero_mul, "Mul(0,x) = mul"},
    {zero_mul_int, "Expand(0,{2,3}) = mul"},
    {div_negs, "Div(x,y) = div"},
    {div_negs_int, "Neg(i) Neg(k) Div(neg,neg_2) = div"},
    {div_halves, "Div(h,3) = div"},
    {squares_of_row, "Mul(s,s) Expand(pow.pow,{2,3}) = pow"},
    {first_power, "= x"},
    {and_true, "= c"},
    {false_and, "Expand(0,{2,3}) = and"},
    {or_true, "Expand(1,{2,3}) = or"},
    {false_or, "= c"},
    {max_of_two, "Max(x,y) = max"},
    {clip_of_one_bound, "Clip(x,1) = clip"},
    {slice_of_all, "= x"},
    {slice_backwards, "Slice(x,{0,2},{2,-4},{0,1},{1,-1}) = slice"},
    {pad_by_nothing, "= x"},
    {pad_that_moves, "Pad(x,{0,1,0,-1}) = pad"},
    {cast_int_to_short_and_back, "Cast(i) Cast(cast) = cast_2"},
    {cast_int_to_long_and_back, "= i"},
    {cast_int_to_bool_and_back, "Cast(i) Cast(cast) = cast_2"},
    {cast_byte_to_bool_and_back, "Cast(h) Cast(cast) = cast_2"},
    {cast_float_to_long_and_back, "Cast(x) Cast(cast) = cast_2"},
    {cast_half_to_bfloat_and_back, "Cast(h) Cast(cast) = cast_2"},
    {cast_byte_to_short_and_back, "= h"},
    {reshape_expanded_element, "Reshape(s,{}) Expand(reshape.reshape,{6}) = reshape"},
    {reshape_expanded_row, "Expand(s,{2,3}) Reshape(expand,{6}) = reshape"},
    {transpose_expanded_row, "Expand(s,{2,3}) Transpose(expand) = transpose"},
    {transposed_products_of_row, "MatMul(s,t) Transpose(matmul) = transpose"},
    {expanded_keeps_attributes, "LeakyRelu(s) Expand(leakyrelu.leakyrelu,{2,3}) = leakyrelu"},
    {clip_expanded, "Clip(s,_,1) Expand(clip.clip,{2,3}) = clip"},
    {neg_neg, "= x"},
    {neg_neg_neg, "Neg(x) = neg"},
    {add_neg, "Sub(x,y) = add"},
    {neg_add, "Sub(y,x) = add"},
    {sub_neg, "Add(x,y) = sub"},
    {mul_negs, "Mul(x,y) = mul"},
    {identities, "= x"},
    {sum_of_one, "= x"},
    {clip_without_bounds, "= x"},
    {cast_to_same, "= x"},
    {cast_there_and_back, "= x"},
    {cast_narrow_and_back, "Cast(x) Cast(cast) = cast_2"},
    {cast_int_to_double_and_back, "= i"},
    {cast_int_to_float_and_back, "Cast(i) Cast(cast) = cast_2"},
    {where_true, "= x"},
    {where_false, "= y"},
    {where_same, "= y"},
    {same_twice, "Exp(x) Add(exp,exp) = add"},
    {same_constants, "Mul(x,3) Add(mul,mul) = add"},
    {other_attribute, "LeakyRelu(x) LeakyRelu(x) Add(leakyrelu,leakyrelu_2) = add"},
    {mul_nearly_ones, "Mul(x,{1,1,1,1,1,2}) = mul"},
    {equal_ints, "= {4,4}"},
    {transposed_product_read_twice, "Transpose(y) MatMul(x,transpose) Transpose(matmul) Add(matmul,transpose_2) = add"},
    {transpose_three, "Transpose(s) = transpose_2"},
    {other_last_number, "SliceGrad(x) SliceGrad(x) Add(slicegrad,slicegrad_2) = add"},
    {other_first_number, "SliceGrad(x) SliceGrad(x) Add(slicegrad,slicegrad_2) = add"},
    {other_numbers_behind, "SliceGrad(x) SliceGrad(x) Add(slicegrad,slicegrad_2) = add"},
    {same_numbers, "SliceGrad(x) Add(slicegrad,slicegrad) = add"},
    {known_sum, "= 3"},
    {known_ints, "= {8,15}"},
    {reshape_same, "= x"},
    {reshape_twice, "Reshape(x,{3,2}) = reshape_2"},
    {reshape_back, "= x"},
    {reshape_to_shape_of, "Neg(x) = neg"},
    {flatten_and_unsqueeze, "Reshape(x,{1,1,6}) = unsqueeze"},
    {transpose_twice, "= x"},
    {transpose_row, "Reshape(x,{6,1}) = transpose"},
    {transposed_product, "Transpose(x) MatMul(y,transpose_2.transpose_of_x) = transpose_2"},
    {product_rows_last,
     "Transpose(s) MatMul(y,transpose_2.transpose_of_s) Transpose(transpose_2.matmul) = transpose_2"},
    {product_columns_last, "Transpose(y) MatMul(s,transpose) Transpose(matmul) = transpose_2"},
    {square, "Mul(x,x) = pow"},
    {cube, "Mul(x,x) Mul(pow.mul,x) = pow"},
    {fourth_power, "Pow(x,4) = pow"},
    {expand_same, "= x"},
    {expand_twice, "Expand(x,{5,4,2,3}) = expand_2"},
    {mul_expanded, "Mul(s,x) = mul"},
    {only_expanded, "Sqrt(s) Expand(sqrt.sqrt,{2,3}) = sqrt"},
    {erf_of_expanded, "Erf(s) Expand(erf.erf,{2,3}) = erf"},
    {softmax_of_halves, "Cast(h) ReduceMax(softmax.cast,{1}) Sub(softmax.cast,softmax.softmax.reducemax) "
                        "Exp(softmax.softmax.sub) ReduceSum(softmax.softmax.exp,{1}) "
                        "Reciprocal(softmax.softmax.reducesum) Mul(softmax.softmax.exp,softmax.softmax.reciprocal) "
                        "Cast(softmax.softmax) = softmax"},
    {known_shape, "= {2,3}"},
    {known_size, "= 6"},
    {reduce_single_int, "Reshape(i,{6}) = reducesum"},
    {reduce_single_float, "Reshape(x,{6}) = reducesum"},
};

START_TEST(expression_becomes)
{
    output("out", cases[_i].make());
    ck_assert_str_eq(canonical(), cases[_i].text);
}
END_TEST

/* ---- the bits stay ----------------------------------------------------------------------------------------------- */

static const double special[] = {0.0, -0.0, 1.0, -1.5, INFINITY, NAN};

static struct tensor *fed(const struct value *v)
{
    struct tensor *t = tensor_new(&arena, v->dtype, &v->shape);
    for (int64_t k = 0; k < t->count; k++)
        tensor_set_double(t, k,
                          dtype_is_float(v->dtype) ? special[(k + v->id) % COUNT(special)] : (double)(k * 1000003 - 5));
    return t;
}

static const struct tensor *evaluated(void)
{
    const struct eval_tensor **values = arena_array(&arena, const struct eval_tensor *, (size_t)g->value_count);
    for (size_t k = 0; k < g->inputs.count; k++)
        values[g->inputs.data[k]->id] = eval_from_tensor(&arena, fed(g->inputs.data[k]));
    for (size_t k = 0; k < g->sources.count; k++)
        values[g->sources.data[k]->id] = eval_from_tensor(&arena, g->sources.data[k]->constant);
    for (const struct node *n = g->first; n != NULL; n = n->next) {
        const struct eval_tensor **in = arena_array(&arena, const struct eval_tensor *, n->inputs.count);
        struct eval_tensor **out = arena_array(&arena, struct eval_tensor *, n->outputs.count);
        for (size_t k = 0; k < n->inputs.count; k++)
            in[k] = n->inputs.data[k] != NULL ? values[n->inputs.data[k]->id] : NULL;
        ck_assert(eval_node(n, in, out, ARITHMETIC_SAME, (struct eval_random){0}, &arena, &diag));
        for (size_t k = 0; k < n->outputs.count; k++)
            if (n->outputs.data[k] != NULL)
                values[n->outputs.data[k]->id] = out[k];
    }
    return eval_to_tensor(&arena, values[g->outputs.data[0].value->id]);
}

/* All NaN are one: their sign and payload are not part of the contract. */
static bool same_element(const struct tensor *s, const struct tensor *t, int64_t k)
{
    if (!dtype_is_float(s->dtype))
        return tensor_get_int(s, k) == tensor_get_int(t, k);
    const double p = tensor_get_double(s, k), q = tensor_get_double(t, k);
    return (isnan(p) && isnan(q)) || (p == q && !signbit(p) == !signbit(q));
}

START_TEST(expression_keeps_its_bits)
{
    output("out", cases[_i].make());
    const struct tensor *before = evaluated();
    canonical();
    const struct tensor *after = evaluated();
    ck_assert(before->dtype == after->dtype && shape_equal(&before->shape, &after->shape));
    for (int64_t k = 0; k < before->count; k++)
        ck_assert_msg(same_element(before, after, k), "element %d of %s", (int)k, cases[_i].text);
}
END_TEST

/* ---- the passes -------------------------------------------------------------------------------------------------- */

START_TEST(unneeded_nodes_and_constants_go)
{
    output("out", build(&at, "Neg", x));
    build(&at, "Exp", build(&at, "Mul", y, number(3)));
    ck_assert_str_eq(canonical(), "Neg(x) = neg");
    ck_assert_uint_eq(g->sources.count, 0);
    ck_assert_uint_eq(y->uses.count, 0);
}
END_TEST

START_TEST(bindings_keep_what_they_need)
{
    struct variable w = {.name = "w", .dtype = DTYPE_FLOAT, .shape = SHAPE(2, 3)};
    struct value *v = graph_add_variable(g, &w);
    struct value *next = build(&at, "Identity", build(&at, "Mul", build(&at, "Sub", v, x), number(1)));
    vec_push(&arena, &g->bindings, ((struct binding){.variable = &w, .value = next}));
    ck_assert_str_eq(canonical(), "Sub(w,x) =");
    ck_assert_str_eq(g->bindings.data[0].value->name, "sub");
}
END_TEST

START_TEST(bindings_keep_what_they_need_beside_outputs)
{
    struct variable w = {.name = "w", .dtype = DTYPE_FLOAT, .shape = SHAPE(2, 3)};
    struct value *const next = build(&at, "Sub", graph_add_variable(g, &w), x);
    vec_push(&arena, &g->bindings, ((struct binding){.variable = &w, .value = next}));
    output("out", build(&at, "Neg", x));
    ck_assert_str_eq(canonical(), "Sub(w,x) Neg(x) = neg");
}
END_TEST

START_TEST(a_product_that_is_an_output_stays)
{
    struct value *const p = product_of_both();
    output("p", p);
    output("out", build(&at, "Transpose", p));
    ck_assert_str_eq(canonical(), "Transpose(y) MatMul(x,transpose) Transpose(matmul) = matmul transpose_2");
}
END_TEST

START_TEST(draws_are_their_own)
{
    output("out", build(&at, "Sub", build(&at, "RandomNormalLike", x), build(&at, "RandomNormalLike", x)));
    ck_assert_str_eq(canonical(), "RandomNormalLike(x) RandomNormalLike(x) Sub(randomnormallike,randomnormallike_2) "
                                  "= sub");
}
END_TEST

START_TEST(draws_of_constants_are_draws)
{
    output("out", build(&at, "RandomNormalLike", dense(1)));
    ck_assert(canonicalise(g, NULL));
    ck_assert_uint_eq(g->node_count, 1);
    ck_assert_str_eq(g->first->def->name, "RandomNormalLike");
}
END_TEST

/* ---- outputs that nobody asks for -------------------------------------------------------------------------------- */

/* Normalization with the outputs y, mean and inverse deviation, but where the name is "-": "y-i". */
static struct node *normalization(const char *outputs)
{
    struct value *const scale = dense(1), *const in[] = {x, scale};
    struct node *const n = graph_add_node(g, op_find("", "LayerNormalization"), "", &b.loc, NULL);
    node_add_input(n, in[0]);
    node_add_input(n, in[1]);
    node_set_attr(n, attr_int("axis", 0));
    for (const char *p = outputs; *p != '\0'; p++)
        node_add_output(n, *p == '-' ? NULL : arena_strndup(&arena, p, 1));
    ck_assert(node_infer(n));
    return n;
}

static void add_last_output(const struct node *n)
{
    output("out", n->outputs.data[n->outputs.count - 1]);
}

/* Which outputs the nodes have: "y-i yi". */
static const char *outputs_text(void)
{
    const char *text = "";
    for (const struct node *n = g->first; n != NULL; n = n->next) {
        text = arena_printf(&arena, "%s%s", text, n == g->first ? "" : " ");
        for (size_t k = 0; k < n->outputs.count; k++)
            text = arena_printf(&arena, "%s%s", text, n->outputs.data[k] != NULL ? "y" : "-");
    }
    return text;
}

START_TEST(unread_optional_outputs_go)
{
    add_last_output(normalization("ym"));
    ck_assert(rewrite_dce(g));
    graph_verify(g, "dce");
    ck_assert_str_eq(outputs_text(), "yy");
    begin();
    struct node *const n = normalization("ymi");
    output("out", n->outputs.data[0]);
    ck_assert(rewrite_dce(g));
    graph_verify(g, "dce");
    ck_assert_str_eq(outputs_text(), "y");
    ck_assert_ptr_null(graph_find(g, "m"));
    begin();
    add_last_output(normalization("ymi"));
    ck_assert(rewrite_dce(g));
    graph_verify(g, "dce");
    ck_assert_str_eq(outputs_text(), "y-y");
}
END_TEST

START_TEST(absent_outputs_are_no_reason)
{
    add_last_output(normalization("y-i"));
    normalization("y-i");
    ck_assert(rewrite_dce(g));
    graph_verify(g, "dce");
    ck_assert_str_eq(outputs_text(), "y-y");
}
END_TEST

/* Parts stay, read or not: their number is what Split does. */
START_TEST(unread_parts_stay)
{
    struct value *const parts = graph_add_input(g, "parts", DTYPE_FLOAT, &SHAPE(2, 6));
    struct node *const n = build_node(&b, "Split", ATTRS(attr_int("axis", 1), attr_int("num_outputs", 3)),
                                      (struct value *const[]){parts}, 1, 3);
    output("out", n->outputs.data[1]);
    ck_assert(rewrite_dce(g));
    graph_verify(g, "dce");
    ck_assert_str_eq(outputs_text(), "yyy");
}
END_TEST

/* Equal nodes of which one lacks an output that the other has. */
START_TEST(nodes_of_other_outputs_stay_apart)
{
    struct node *const n = normalization("y-i"), *const other = normalization("zmj");
    output("i", n->outputs.data[2]);
    output("m", other->outputs.data[1]);
    output("j", other->outputs.data[2]);
    ck_assert(rewrite_cse(g));
    graph_verify(g, "cse");
    ck_assert_ptr_eq(g->outputs.data[1].value->producer, other);
}
END_TEST

START_TEST(nodes_of_the_same_outputs_are_one)
{
    struct node *const n = normalization("y-i"), *const other = normalization("z-j");
    output("i", n->outputs.data[2]);
    output("j", other->outputs.data[2]);
    output("z", other->outputs.data[0]);
    ck_assert(rewrite_cse(g) && rewrite_dce(g));
    graph_verify(g, "dce");
    ck_assert_str_eq(outputs_text(), "y-y");
    ck_assert_ptr_eq(g->outputs.data[1].value, n->outputs.data[2]);
    ck_assert_ptr_eq(g->outputs.data[2].value, n->outputs.data[0]);
}
END_TEST

static struct value *counted(int64_t count)
{
    struct tensor *const t = tensor_new(&arena, DTYPE_FLOAT, &SHAPE(count));
    for (int64_t k = 0; k < count; k++)
        tensor_set_double(t, k, (double)k);
    return build_constant(&b, t);
}

/* Of 65,536 elements at most: what others read is not stored once more. */
START_TEST(constants_are_stored_within_bounds)
{
    for (int above = 0; above < 2; above++) {
        begin();
        output("out", build(&at, "Neg", counted(65536 + above)));
        ck_assert(canonicalise(g, NULL));
        ck_assert_uint_eq(g->node_count, (size_t)above);
    }
    begin();
    struct value *const c = build_reshape(&b, counted(100), &SHAPE(10, 10));
    output("out", build(&at, "Transpose", c));
    output("sum", build(&at, "Add", c, graph_add_input(g, "s", DTYPE_FLOAT, &SHAPE(10, 10))));
    ck_assert(canonicalise(g, NULL));
    ck_assert_uint_eq(g->node_count, 2);
}
END_TEST

START_TEST(fed_input_is_known_only_when_specialised)
{
    struct value *s = graph_add_input(g, "s", DTYPE_INT64, &SHAPE(2));
    ck_assert_ptr_null(value_known(s));
    ck_assert_ptr_null(value_known(build(&at, "Add", s, s)));
    build(&at, "Reshape", x, build(&at, "Add", s, ints(1, 1)));
    ck_assert(b.failed);
    ck_assert_str_eq(diag.messages.data[0].text,
                     "input 1 'add_2' (shape) must be known at compile time, but depends on input 's'; "
                     "--set s=VALUE fixes it");

    struct map map = {.arena = &arena};
    map_set(&map, "s", tensor_from_ints(&arena, (int64_t[]){2, 1}, 2));
    program.fed = &map;
    b.failed = false;
    const struct value *r = build(&at, "Reshape", x, build(&at, "Add", s, ints(1, 1)));
    ck_assert(!b.failed);
    ck_assert(shape_equal(&r->shape, &SHAPE(3, 2)));
    ck_assert(s->specialised);
}
END_TEST

/* --set is for inputs, and for small ones. */
START_TEST(no_option_sets_a_variable)
{
    struct variable v = {.name = "v", .dtype = DTYPE_INT64, .shape = SHAPE(2)};
    struct value *const s = graph_add_variable(g, &v);
    build(&at, "Reshape", x, s);
    ck_assert(b.failed);
    ck_assert_str_eq(diag.messages.data[0].text,
                     "input 1 'v' (shape) must be known at compile time, but it is a variable of the graph");
    b.failed = false;
    build(&at, "Reshape", x, build(&at, "Add", s, ints(1, 1)));
    ck_assert(b.failed);
    ck_assert_str_eq(diag.messages.data[1].text,
                     "input 1 'add' (shape) must be known at compile time, but depends on variable 'v'");
}
END_TEST

START_TEST(large_results_are_not_stored)
{
    struct value *big = build_expand(&b, number(2), &SHAPE(1000, 1000));
    output("out", build(&at, "Mul", big, big));
    ck_assert_str_eq(canonical(), "Expand(4,{1000,1000}) = mul");
    ck_assert_ptr_null(value_known(g->outputs.data[0].value));
}
END_TEST

START_TEST(long_chains_are_folded_without_recursion)
{
    struct value *v = number(0);
    for (int k = 0; k < 100000; k++)
        v = build(&at, "Add", v, number(1));
    const struct tensor *t = value_known(v);
    ck_assert_ptr_nonnull(t);
    ck_assert_double_eq(tensor_get_double(t, 0), 100000);
}
END_TEST

/* ---- sizes: an input of [batch, 4], for a batch of 2 to 8 -------------------------------------------------------- */

static const struct size_range batch = {"batch", 2, 8};

static struct value *shape_of_batch(void)
{
    const struct shape s = SHAPE_OF(((struct size){8, 1}), size_constant(4));
    program.range = &batch;
    return build(&at, "Shape", graph_add_input(g, "samples", DTYPE_FLOAT, &s));
}

static struct value *integer64(int64_t n)
{
    return build_int(&b, n);
}

/* Element k of what folding says of v: its number, and what one count more adds. */
static void check_size(struct value *v, int64_t k, int64_t most, int64_t per)
{
    const struct tensor *const t = value_known(v);
    ck_assert(!b.failed && t != NULL && k < t->count);
    const struct size size = tensor_get_size(t, k);
    ck_assert_msg(size.most == most && size.per == per, "%lld, %lld a count", (long long)size.most,
                  (long long)size.per);
}

START_TEST(elements_of_shapes_are_sizes)
{
    struct value *const shape = shape_of_batch();
    struct value *const n = build(&at, "Gather", shape, build_ints(&b, (int64_t[]){0}, 1));
    struct value *const rest = build_ints(&b, (int64_t[]){-1}, 1), *const parts[] = {n, rest};
    struct value *const list = build_value(&b, "Concat", ATTRS(attr_int("axis", 0)), parts, 2);
    check_size(shape, 0, 8, 1);
    check_size(shape, 1, 4, 0);
    check_size(list, 0, 8, 1);
    check_size(list, 1, -1, 0);
    check_size(build_cast(&b, list, DTYPE_INT32), 0, 8, 1);
}
END_TEST

START_TEST(what_is_computed_of_sizes_is_one_or_is_not)
{
    struct value *const n = build(&at, "Gather", shape_of_batch(), integer64(0));
    check_size(build(&at, "Add", build(&at, "Mul", n, integer64(3)), integer64(-1)), 0, 23, 3);
    check_size(build(&at, "Sub", integer64(20), n), 0, 12, -1);
    check_size(build(&at, "Div", build(&at, "Mul", n, integer64(6)), integer64(3)), 0, 16, 2);
    check_size(build(&at, "Div", n, integer64(2)), 0, 4, NOT_AFFINE);
    check_size(build(&at, "Mul", n, n), 0, 64, NOT_AFFINE);
    check_size(build(&at, "Min", n, integer64(8)), 0, 8, 1);
    check_size(build(&at, "Max", n, integer64(3)), 0, 8, NOT_AFFINE);
    check_size(build(&at, "Equal", n, integer64(-1)), 0, 0, 0);
    check_size(build(&at, "Less", integer64(1), n), 0, 1, 0);
    check_size(build(&at, "Greater", n, integer64(4)), 0, 1, NOT_AFFINE);
    check_size(build(&at, "Where", build(&at, "Equal", n, integer64(-1)), integer64(1), n), 0, 8, 1);
    check_size(build_cast(&b, build(&at, "Mul", n, n), DTYPE_INT32), 0, 64, NOT_AFFINE);
    check_size(build_cast(&b, n, DTYPE_BOOL), 0, 1, NOT_AFFINE);
    check_size(build(&at, "Add", n, integer64(INT64_MAX)), 0, INT64_MIN + 7, NOT_AFFINE);
}
END_TEST

START_TEST(counts_of_elements_are_sizes)
{
    struct value *const shape = shape_of_batch(), *const samples = graph_find(g, "samples");
    check_size(build(&at, "Size", samples), 0, 32, 4);
    const struct shape turned = SHAPE_OF(size_constant(4), ((struct size){8, 1}));
    check_size(build(&at, "Size", build_reshape(&b, samples, &turned)), 0, 32, 4);
    check_size(build(&at, "ReduceProd", shape), 0, 32, 4);
    check_size(build(&at, "ReduceProd", build(&at, "Mul", shape, shape)), 0, 1024, NOT_AFFINE);
    check_size(build(&at, "ReduceProd", build_ints(&b, (int64_t[]){3, 5}, 2)), 0, 15, 0);
}
END_TEST

START_TEST(shapes_that_sizes_say)
{
    struct value *const n = build(&at, "Gather", shape_of_batch(), build_ints(&b, (int64_t[]){0}, 1));
    const struct value *const rows = build(&at, "Expand", number(2), n);
    ck_assert(!b.failed && size_equal(shape_size(&rows->shape, 0), (struct size){8, 1}));
    struct value *const samples = graph_find(g, "samples"), *const flat = build_ints(&b, (int64_t[]){2, -1}, 2);
    const struct value *const halves = build(&at, "Reshape", samples, flat);
    ck_assert(!b.failed && size_equal(shape_size(&halves->shape, 1), (struct size){16, 2}));
    struct value *const first = build_ints(&b, (int64_t[]){0}, 1), *const last = build_ints(&b, (int64_t[]){-1}, 1);
    const struct value *const but_one = build(&at, "Slice", samples, first, last, first);
    ck_assert(!b.failed && size_equal(shape_size(&but_one->shape, 0), (struct size){7, 1}));
    const struct value *const few = build(&at, "Slice", samples, first, build_ints(&b, (int64_t[]){4}, 1), first);
    ck_assert(!b.failed && size_equal(shape_size(&few->shape, 0), (struct size){4, NOT_AFFINE}));
}
END_TEST

/* Equal for the highest count alone: neither constants nor attributes make two nodes one. */
START_TEST(nodes_of_other_sizes_stay_apart)
{
    struct value *const samples = value_known(shape_of_batch()) != NULL ? graph_find(g, "samples") : NULL;
    const struct shape turned = SHAPE_OF(size_constant(4), ((struct size){8, 1}));
    output("first", build_reshape(&b, samples, &turned));
    output("again", build_reshape(&b, samples, &turned));
    output("other", build_reshape(&b, samples, &SHAPE(4, 8)));
    const struct shape seen = SHAPE_OF(((struct size){10, 1}), size_constant(4));
    const int64_t start[] = {0, 0}, step[] = {1, 1};
    const struct attr starts = attr_ints("starts", start, 2), steps = attr_ints("steps", step, 2);
    output("padded", build_value(&b, "stepc.SliceGrad", ATTRS(attr_dims("shape", &seen), starts, steps), &samples, 1));
    output("fixed", build_value(&b, "stepc.SliceGrad", ATTRS(attr_dims("shape", &SHAPE(10, 4)), starts, steps),
                                &samples, 1));
    ck_assert(!b.failed && canonicalise(g, NULL));
    const struct value *v[5];
    for (int k = 0; k < 5; k++)
        v[k] = g->outputs.data[k].value;
    ck_assert_ptr_eq(v[0], v[1]);
    ck_assert_ptr_ne(v[0], v[2]);
    ck_assert_ptr_ne(v[3], v[4]);
}
END_TEST

/* What folding stores is of the model's size: the bound of tables that stepc makes is not for it. */
START_TEST(converted_weights_are_no_tables)
{
    enum { WEIGHTS = 260, SIZE = 65536 };
    struct tensor *const t = tensor_new(&arena, DTYPE_INT8, &SHAPE(SIZE));
    tensor_set_double(t, 1, 1);
    for (int k = 0; k < WEIGHTS; k++) {
        struct value *const weight = graph_add_constant(g, "w", t);
        output("out", build_cast(&b, weight, DTYPE_FLOAT));
    }
    ck_assert_msg(canonicalise(g, NULL), "%s", diag.messages.count > 0 ? diag.messages.data[0].text : "");
    ck_assert_uint_eq(g->node_count, 0);
}
END_TEST

/* A region's tables are the program's. */
START_TEST(tables_of_regions_count_together)
{
    enum { HALF = 9 << 20 };
    struct region *const one = region_new(g, size_constant(2), false),
                  *const other = region_new(g, size_constant(2), false);
    ck_assert(table_spend(one->program, &b.loc, HALF));
    ck_assert(!table_spend(other->program, &b.loc, HALF));
    ck_assert(!table_spend(&program, &b.loc, HALF));
}
END_TEST

START_TEST(large_graphs_take_seconds)
{
    struct value *v = x;
    for (int k = 0; k < 25000; k++) {
        struct value *s = build(&at, "Mul", v, number(k % 7));
        v = build(&at, "Add", build(&at, "Tanh", s), build(&at, "Neg", build(&at, "Tanh", s)));
    }
    output("out", v);
    ck_assert(canonicalise(g, NULL));
    ck_assert_uint_le(g->node_count, 75000);
}
END_TEST

START_TEST(dump_prints_after_the_pass)
{
    output("out", build(&at, "Mul", x, number(1)));
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    ck_assert(canonicalise(g, &(struct pass_options){.dump_after = "simplify", .dump_to = f}));
    fclose(f);
    ck_assert_ptr_nonnull(strstr(text, "# after simplify, round 1\ngraph g {\n"));
    ck_assert_ptr_null(strstr(text, "# after fold"));
    ck_assert_ptr_nonnull(strstr(text, "  output out = x\n"));
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rewrite");
    TCase *all = tcase_create("rewrite");
    tcase_add_checked_fixture(all, begin, end);
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, expression_becomes, 0, COUNT(cases));
    tcase_add_loop_test(all, expression_keeps_its_bits, 0, COUNT(cases));
    tcase_add_test(all, unneeded_nodes_and_constants_go);
    tcase_add_test(all, bindings_keep_what_they_need);
    tcase_add_test(all, bindings_keep_what_they_need_beside_outputs);
    tcase_add_test(all, a_product_that_is_an_output_stays);
    tcase_add_test(all, draws_are_their_own);
    tcase_add_test(all, draws_of_constants_are_draws);
    tcase_add_test(all, unread_optional_outputs_go);
    tcase_add_test(all, absent_outputs_are_no_reason);
    tcase_add_test(all, unread_parts_stay);
    tcase_add_test(all, nodes_of_other_outputs_stay_apart);
    tcase_add_test(all, nodes_of_the_same_outputs_are_one);
    tcase_add_test(all, constants_are_stored_within_bounds);
    tcase_add_test(all, fed_input_is_known_only_when_specialised);
    tcase_add_test(all, no_option_sets_a_variable);
    tcase_add_test(all, large_results_are_not_stored);
    tcase_add_test(all, long_chains_are_folded_without_recursion);
    tcase_add_test(all, elements_of_shapes_are_sizes);
    tcase_add_test(all, what_is_computed_of_sizes_is_one_or_is_not);
    tcase_add_test(all, counts_of_elements_are_sizes);
    tcase_add_test(all, shapes_that_sizes_say);
    tcase_add_test(all, nodes_of_other_sizes_stay_apart);
    tcase_add_test(all, converted_weights_are_no_tables);
    tcase_add_test(all, tables_of_regions_count_together);
    tcase_add_test(all, large_graphs_take_seconds);
    tcase_add_test(all, dump_prints_after_the_pass);
    suite_add_tcase(suite, all);

    return run_suite(suite);
}
