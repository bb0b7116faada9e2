/* Which tensors are trained where nobody names any: by what reads them, by their elements and by their names. */
#include "prepare_models.h"
#include "suite.h"

/* h = x fc.weight goes in front of what stands here, y is [2,3]. Vectors are v, other numbers as written. */
struct network {
    const char *tensors, *nodes;
    const char *trained; /* in the model's order, with fc.weight */
};

#define V "= {0.31, -0.72, 0.23}"
#define M "= {0.31, -0.72, 0.23, 0.5, 0.11, -0.93, 0.64, -0.2, 0.77}"

static const struct network of_pytorch[] = {
    /* names of operands */
    {"float[3] \"m.pos\" " V, "y = Add(h, \"m.pos\")", "fc.weight m.pos"},
    {"float[3] \"m.freq\" " V, "y = Add(h, \"m.freq\")", "fc.weight"},
    {"float[3] \"m.freqs.0\" " V, "y = Add(h, \"m.freqs.0\")", "fc.weight"},
    {"float[3] \"mean.table\" " V, "y = Add(h, \"mean.table\")", "fc.weight mean.table"},
    {"float[3] \"m.Mean_x\" " V, "y = Add(h, \"m.Mean_x\")", "fc.weight"},
    {"float[3] \"m.meaning\" " V, "y = Add(h, \"m.meaning\")", "fc.weight m.meaning"},
    {"float[3] \"m.mean_weight\" " V, "y = Add(h, \"m.mean_weight\")", "fc.weight m.mean_weight"},
    {"float[3] \"m.std\" " V ", float[3] \"m.log_std\" " V,
     "a = Mul(h, \"m.std\") y = Add(a, \"m.log_std\")",
     "fc.weight m.log_std"},
    {"float[3] \"onnx::Add_7\" " V, "y = Add(h, \"onnx::Add_7\")", "fc.weight onnx::Add_7"},
    {"float[3] \"onnx::Max_7\" " V, "y = Max(h, \"onnx::Max_7\")", "fc.weight"},
    {"float[3] \"m.low\" " V, "y = Max(h, \"m.low\")", "fc.weight m.low"},
    /* names that exporters make up, and such as look like these */
    {"float[3] \"/fc/Constant_output_0\" " V, "y = Max(h, \"/fc/Constant_output_0\")", "fc.weight"},
    {"float[3] \"17\" " V, "y = Max(h, \"17\")", "fc.weight"},
    {"float[3] \"val_7\" " V, "y = Max(h, \"val_7\")", "fc.weight"},
    {"float[3] \"lifted_tensor_0\" " V, "y = Max(h, \"lifted_tensor_0\")", "fc.weight"},
    {"float[3] \"val_seven\" " V, "y = Max(h, \"val_seven\")", "fc.weight val_seven"},
    {"float[3] \"valley_7\" " V, "y = Max(h, \"valley_7\")", "fc.weight valley_7"},
    {"float[3] \"const_fold_opt__7\" " V, "y = Max(h, \"const_fold_opt__7\")", "fc.weight"},
    {"float[3] \"const_fold_opt__7\" " V, "y = Add(h, \"const_fold_opt__7\")", "fc.weight const_fold_opt__7"},
    {"float[3] \"const_fold_opt__x\" " V, "y = Add(h, \"const_fold_opt__x\")", "fc.weight"},
    {"float[3] \"/fc/Constant_output_0\" " V, "y = Add(h, \"/fc/Constant_output_0\")",
     "fc.weight /fc/Constant_output_0"},
    {"float[2,3] \"/fc/Constant_output_0\" = {0.31, -0.72, 0.23, 0.11, -0.93, 0.64}",
     "y = Add(h, \"/fc/Constant_output_0\")", "fc.weight"},
    {"float[3] zeros_12 = {1, 1, 1}", "y = Add(h, zeros_12)", "fc.weight"},
    {"float[3] zeros_12 " V, "y = Add(h, zeros_12)", "fc.weight zeros_12"},
    {"float[3] \"zeros_1.weight\" = {1, 1, 1}", "y = Mul(h, \"zeros_1.weight\")", "fc.weight zeros_1.weight"},
    {"float[3] \"net/low/y:0\" " V, "y = Max(h, \"net/low/y:0\")", "fc.weight"},
    {"float[3] \"net/low/z:0\" " V, "y = Max(h, \"net/low/z:0\")", "fc.weight net/low/z:0"},
    {"float[3] \"onnx::Sub_7\" " V, "y = Sub(h, \"onnx::Sub_7\")", "fc.weight onnx::Sub_7"},
    {"float[2,3] \"onnx::Concat_7\" = {0.31, -0.72, 0.23, 0.11, -0.93, 0.64}",
     "c = Concat<axis = 0>(h, \"onnx::Concat_7\") a, b = Split<axis = 0, num_outputs = 2>(c) y = Add(a, b)",
     "fc.weight onnx::Concat_7"},
    {"float[3] \"onnx::Mul_7\" " V, "y = Mul(h, \"onnx::Mul_7\")", "fc.weight onnx::Mul_7"},
    {"float \"onnx::Mul_7\" = {0.31}", "y = Mul(h, \"onnx::Mul_7\")", "fc.weight"},
    {"float[3] \"onnx::Div_7\" " V, "y = Div(h, \"onnx::Div_7\")", "fc.weight"},
    /* what an exporter filled in, of one channel */
    {"float[1] \"onnx::I_1\" = {1}, float[1] \"onnx::I_2\" = {0}",
     "u = Unsqueeze(h, one) n = InstanceNormalization(u, \"onnx::I_1\", \"onnx::I_2\") y = Squeeze(n, one)",
     "fc.weight"},
    {"float[1] \"onnx::I_1\" = {1.5}, float[1] \"onnx::I_2\" = {0.5}",
     "u = Unsqueeze(h, one) n = InstanceNormalization(u, \"onnx::I_1\", \"onnx::I_2\") y = Squeeze(n, one)",
     "fc.weight onnx::I_1 onnx::I_2"},
    /* elements of operands */
    {"float[3] \"m.row\" = {0, -65504, 0}", "y = Add(h, \"m.row\")", "fc.weight"},
    {"float[2,3] \"m.line\" = {0.5, 1.0, 1.5, 2.0, 2.5, 3.0}",
     "a = Reshape(\"m.line\", six) b = Reshape(a, rows) y = Add(h, b)",
     "fc.weight m.line"},
    {"float[3] \"m.line\" = {0.25, 0.5, 0.25}", "y = Add(h, \"m.line\")", "fc.weight"},
    /* what normalizes the input */
    {"float[3] \"m.center\" " V, "d = Sub(x, \"m.center\") z = MatMul(d, \"fc.weight\") y = Add(h, z)", "fc.weight"},
    {"float[3] \"m.center\" " V, "d = Sub(h, \"m.center\") y = Abs(d)", "fc.weight m.center"},
    {"float[3] \"m.center\" " V, "d = Sub(x, \"m.center\") s = Mul(d, d) y = Add(h, s)", "fc.weight m.center"},
    {"float[3] \"m.center\" " V, "d = Sub(x, \"m.center\") s = Mul(d, x) y = Add(h, s)", "fc.weight"},
    {"float[3] \"m.center\" " V, "d = Sub(x, \"m.center\") s = Abs(d) y = Add(h, s)", "fc.weight m.center"},
    {"float[3] \"m.center\" " V, "d = Sub(x, \"m.center\") s = Pow(d, power) y = Add(h, s)", "fc.weight m.center"},
    {"float[3] \"m.center\" " V, "d = Sub(x, \"m.center\") s = ReduceL1(d) y = Add(h, s)", "fc.weight m.center"},
    {"float[3] \"m.center\" " V, "d = Sub(x, \"m.center\") s = ReduceL2(d) y = Add(h, s)", "fc.weight m.center"},
    {"float[3] \"m.center\" " V, "d = Sub(x, \"m.center\") s = ReduceSumSquare(d) y = Add(h, s)",
     "fc.weight m.center"},
    {"float[3] \"m.center\" " V, "d = Sub(x, \"m.center\") s = ReduceSum(d) y = Add(h, s)", "fc.weight"},
    {"float[3] \"m.size\" " V, "d = Div(x, \"m.size\") y = Add(h, d)", "fc.weight"},
    {"float[3] \"m.size\" " V, "d = Mul(x, \"m.size\") y = Add(h, d)", "fc.weight m.size"},
    {"float[3] \"m.center\" " V ", float[3] \"m.size\" " V,
     "c = Sub(x, \"m.center\") d = Mul(c, \"m.size\") y = Add(h, d)",
     "fc.weight"},
    {"float[3] \"m.center\" " V, "d = Sub(h, \"m.center\") y = Relu(d)", "fc.weight m.center"},
    /* a bias behind a bias */
    {"float[3] \"fc.bias\" " V ", float[3] \"m.extra\" " V,
     "a = Add(h, \"fc.bias\") y = Add(a, \"m.extra\")",
     "fc.weight fc.bias"},
    {"float[3] \"fc.bias\" " V ", float[3] \"m.shift\" " V, "a = Add(h, \"fc.bias\") y = Add(a, \"m.shift\")",
     "fc.weight fc.bias m.shift"},
    {"float[3] \"fc.bias\" " V ", float[3] \"m.extra\" " V,
     "a = Add(h, \"fc.bias\") r = Relu(a) y = Add(r, \"m.extra\")",
     "fc.weight fc.bias m.extra"},
    /* weights that are none */
    {"float[5,3] \"emb.weight\" = {0,1,0, 0.84147098,0.54030231,0.0099998333, 0.90929743,-0.41614684,0.0199986667, "
     "0.14112001,-0.9899925,0.0299955, -0.7568025,-0.65364362,0.0399893}",
     "e = Gather(\"emb.weight\", pair) y = Add(h, e)", "fc.weight"},
    {"float[3,3] \"emb.weight\" = {0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5}",
     "e = Gather(\"emb.weight\", pair) y = Add(h, e)", "fc.weight emb.weight"},
    {"float[3,3] \"m.dct\" " M, "y = MatMul(h, \"m.dct\")", "fc.weight"},
    {"float[3,3] \"m.mixing\" " M, "y = MatMul(h, \"m.mixing\")", "fc.weight m.mixing"},
    {"float[3,3] \"m.order\" = {0, 1, 0, 0, 0, 1, 1, 0, 0}", "y = MatMul(h, \"m.order\")", "fc.weight"},
    {"float[3,3] \"order.weight\" = {0, 1, 0, 0, 0, 1, 1, 0, 0}",
     "y = MatMul(h, \"order.weight\")",
     "fc.weight order.weight"},
    {"float[3,3] \"m.b\" " M, "b = MatMul(x, \"m.b\") s = Sin(b) c = Cos(b) a = Add(s, c) y = Add(h, a)", "fc.weight"},
    {"float[3,3] \"m.b\" " M,
     "p = Constant<value_float = 6.25>() b = MatMul(x, \"m.b\") t = Mul(b, p) s = Sin(t) c = Cos(t) a = Add(s, c) "
     "y = Add(h, a)",
     "fc.weight"},
    {"float[3,3] \"m.b\" " M,
     "p = Constant<value_float = 6.25>() b = MatMul(x, \"m.b\") t = Mul(b, p) u = Mul(t, x) s = Sin(u) c = Cos(u) "
     "a = Add(s, c) y = Add(h, a)",
     "fc.weight m.b"},
    {"float[3,3] \"m.b\" " M, "b = MatMul(x, \"m.b\") s = Sin(b) y = Add(h, s)", "fc.weight m.b"},
    {"float[3,3] \"m.b\" " M, "b = MatMul(h, \"m.b\") s = Sin(b) c = Cos(b) y = Add(s, c)", "fc.weight m.b"},
    /* what frameworks measure */
    {"float \"m.s\" = {0.31}, float \"m.t\" = {0.41}, int8 \"m.z\" = {0}",
     "q = QuantizeLinear(h, \"m.s\", \"m.z\") d = DequantizeLinear(q, \"m.t\", \"m.z\") y = Add(h, d)", "fc.weight"},
    {"float[3] \"m.s\" " V ", float[3] \"m.t\" " V ", int8[3] \"m.z\" = {0, 0, 0}",
     "q = QuantizeLinear<axis = 1>(h, \"m.s\", \"m.z\") d = DequantizeLinear<axis = 1>(q, \"m.t\", \"m.z\") "
     "y = Add(h, d)",
     "fc.weight"},
    /* where no gradient comes by */
    {"float[3] \"m.a\" " V, "k = Shape(\"m.a\") e = Expand(h, k) y = Add(h, e)", "fc.weight"},
    {"float[3] \"m.a\" " V, "c = Greater(h, \"m.a\") y = Where(c, h, x)", "fc.weight"},
    {"float[3] \"m.a\" " V, "c = Greater(h, \"m.a\") y = Where(c, h, \"m.a\")", "fc.weight m.a"},
};

static const struct network of_nobody[] = {
    {"float[3] a " V, "y = Add(h, a)", "fc.weight a"},
    {"float a = {0.31}", "y = Mul(h, a)", "fc.weight"},
#define DEVIATION "q = Mul(h, h) v = ReduceMean(q, one) s = Sqrt(v) "
    {"float[1] a = {0.31}", "y = Mul(h, a)", "fc.weight"},
    {"float[1] a = {0.31}", DEVIATION "n = Div(h, s) y = Mul(n, a)", "fc.weight a"},
    {"float[1] a = {0.31}", DEVIATION "r = Reciprocal(s) n = Mul(h, r) y = Mul(n, a)", "fc.weight a"},
    {"float[1] a = {0.31}", DEVIATION "c = Constant<value_float = 1.0>() r = Div(c, s) n = Mul(r, h) y = Mul(n, a)",
     "fc.weight a"},
    {"float[1] a = {0.31}", DEVIATION "r = Reciprocal(v) n = Mul(h, r) y = Mul(n, a)", "fc.weight"},
    {"float[3] mean " V, "y = Mul(h, mean)", "fc.weight"},
    {"float[3] a = {0.25, 0.5, 0.25}", "y = Mul(h, a)", "fc.weight a"},
    {"float[3] a = {0, -65504, 0}", "y = Add(h, a)", "fc.weight"},
    {"float[3,3] order = {0, 1, 0, 0, 0, 1, 1, 0, 0}", "y = MatMul(h, order)", "fc.weight order"},
};

/* fc.weight is a Constant, as some exporters write every tensor: trained if no initializer is a weight. */
static const struct network of_constants[] = {
    {"float unread = {0.31}", "y = Relu(h)", "fc.weight"},
    {"float a = {0.31}", "y = Mul(h, a)", "fc.weight"},
    {"float[3] a " V, "y = Add(h, a)", "a"},
    {"int64[3] a = {1, 2, 3}", "c = Cast<to = 1>(a) y = Mul(h, c)", "fc.weight"},
    {"float[3] mean " V ", float[3] var = {1, 2, 3}",
     "g = Constant<value = float[3] {0.9, 1.1, 1.2}>() b = Constant<value = float[3] {0.1, 0.2, 0.3}>() "
     "y = BatchNormalization(h, g, b, mean, var)",
     "mean var fc.weight g b"},
};

#define FC_WEIGHT "{0.3, -0.7, 0.2, 0.9, -0.1, 0.4, -0.6, 0.8, 0.15}"
static const char in_initializer[] = "float[3,3] \"fc.weight\" = " FC_WEIGHT ", ";
static const char in_constant[] = "\"fc.weight\" = Constant<value = float[3,3] " FC_WEIGHT ">()";

static const char *trained_of(const char *producer, const struct network *n, bool is_constant)
{
    const char *const text = arena_printf(
        &arena,
        "<ir_version: 10, producer_name: \"%s\", opset_import: [\"\" : 18]>\n"
        "net (float[2,3] x) => (float[2,3] y)\n"
        "<%sint64[1] six = {6}, "
        "int64[1] one = {1}, int64 power = {2}, int64[2] pair = {0, 2}, "
        "int64[2] rows = {2, 3}, %s>\n{ %s h = MatMul(x, \"fc.weight\") %s }",
        producer, is_constant ? "" : in_initializer, n->tensors, is_constant ? in_constant : "", n->nodes);
    struct model *m;
    begin();
    use_optimizer("sgd");
    const bool ok = model_read_text(&diag, &arena, "network", text, strlen(text), &m) && prepare(m);
    if (!ok)
        print_messages();
    ck_assert_msg(ok, "%s", n->nodes);
    const char *trained = "";
    vec_each(const struct model_initializer *, init, &m->graph->initializers)
        vec_each_ptr(const struct model_pair, pair, &m->training.data[0]->update_binding)
            if (strcmp(pair->key, init->name) == 0)
                trained = arena_printf(&arena, "%s%s%s", trained, *trained ? " " : "", init->name);
    return trained;
}

static void check(const char *producer, const struct network *n, bool is_constant)
{
    const char *const trained = trained_of(producer, n, is_constant);
    ck_assert_msg(strcmp(trained, n->trained) == 0, "%s: %s", n->nodes, trained);
}

START_TEST(networks_of_pytorch)
{
    check("pytorch", &of_pytorch[_i], false);
}
END_TEST

START_TEST(networks_of_nobody)
{
    check("", &of_nobody[_i], false);
}
END_TEST

START_TEST(networks_of_constants)
{
    check("", &of_constants[_i], true);
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, teardown);
    tcase_add_loop_test(all, networks_of_pytorch, 0, (int)(sizeof of_pytorch / sizeof of_pytorch[0]));
    tcase_add_loop_test(all, networks_of_nobody, 0, (int)(sizeof of_nobody / sizeof of_nobody[0]));
    tcase_add_loop_test(all, networks_of_constants, 0, (int)(sizeof of_constants / sizeof of_constants[0]));
    return run_tests("prepare_trainables", all);
}
