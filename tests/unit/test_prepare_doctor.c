/* What the export doctor finds, and what it does not: each condition from both sides. */
#include "prepare/doctor.h"

#include "prepare_models.h"
#include "suite.h"

/* One finding's text holds `what`, its cure `cure`; or, where those are NULL, no text holds `not`. */
struct network {
    const char *signature, *tensors, *nodes;
    const char *what, *cure, *not ;
};

#define IMAGE "net (float[2,2,5,5] x) => (float[2,2,5,5] y)"
#define ROWS "net (float[2,3] x) => (float[2,3] y)"
#define WEIGHT " = {0.3, -0.7, 0.2, 0.9}"
#define SQUARE " = {0.3, -0.7, 0.2, 0.9, -0.1, 0.4, -0.6, 0.8, 0.15}"
#define IMAGE_RESIZED(size) "net (float[1,2," size "] x) => (float[1,2,a,b] y)"
#define SCALES "float[1] b = {3}, float[4] s = {1, 1, "
#define RESIZE(place)                                                                                                  \
    "[up] h = Resize<mode = \"linear\", coordinate_transformation_mode = \"" place "\">(x, , s) y = Add(h, b)"
#define FOLDED "that the exporter computed, most likely with BatchNormalization folded in"
#define COMPUTED "computed by the exporter, most likely out of other parameters"

static const struct network networks[] = {
    /* a weight and a bias that are both new */
    {IMAGE, "float[2,2,1,1] \"onnx::Conv_1\"" WEIGHT ", float[2] \"onnx::Conv_2\" = {1, 2}",
     "[one] y = Conv(x, \"onnx::Conv_1\", \"onnx::Conv_2\")", "'one' has weight and bias " FOLDED, "train it as it is",
     NULL},
    {IMAGE, "float[2,2,1,1] \"onnx::Conv_1\"" WEIGHT ", float[2] \"onnx::Conv_2\" = {1, 2}",
     "[one] y = ConvTranspose(x, \"onnx::Conv_1\", \"onnx::Conv_2\")", "'one' has weight and bias " FOLDED, "", NULL},
    {IMAGE, "float[2,2,1,1] \"onnx::Conv_1\"" WEIGHT ", float[2] \"onnx::Conv_2\" = {1, 2}",
     "[one] h = Conv(x, \"onnx::Conv_1\", \"onnx::Conv_2\") [two] y = Conv(h, \"onnx::Conv_1\", \"onnx::Conv_2\")",
     "'one' and 'two' have weight and bias " FOLDED, "", NULL},
    {IMAGE, "float[2,2,1,1] \"onnx::Conv_1\"" WEIGHT ", float[2] \"onnx::Conv_2\" = {1, 2}",
     "y = Conv(x, \"onnx::Conv_1\", \"onnx::Conv_2\")", NULL, NULL, "without a name"},
    {IMAGE, "float[2,2,1,1] \"onnx::Conv_1\"" WEIGHT ", float[2] \"onnx::Conv_2\" = {1, 2}",
     "y = Conv(x, \"onnx::Conv_1\", \"onnx::Conv_2\")", NULL, NULL, COMPUTED},
    {IMAGE, "float[2,2,1,1] w" WEIGHT ", float[2] \"onnx::Conv_2\" = {1, 2}", "y = Conv(x, w, \"onnx::Conv_2\")", NULL,
     NULL, FOLDED},
    /* a new weight alone */
    {IMAGE, "float[2,2,1,1] \"onnx::Conv_1\"" WEIGHT ", float[2] b = {1, 2}", "y = Conv(x, \"onnx::Conv_1\", b)",
     "'onnx::Conv_1' was " COMPUTED, "export by", NULL},
    {IMAGE, "float[2,2,1,1] \"onnx::Conv_1\"" WEIGHT ", float[2] b = {1, 2}", "y = Conv(x, \"onnx::Conv_1\", b)", NULL,
     NULL, FOLDED},
    {IMAGE, "float[2,2,1,1] \"onnx::Conv_1\"" WEIGHT, "y = ConvTranspose(x, \"onnx::Conv_1\")",
     "'onnx::Conv_1' was " COMPUTED, "", NULL},
    {IMAGE, "float[2,2,1,1] \"onnx::Conv_1\"" WEIGHT ", float[2,2,1,1] \"onnx::Conv_2\" = {1, 2, 3, 5}",
     "h = Conv(x, \"onnx::Conv_1\") y = Conv(h, \"onnx::Conv_2\")", "'onnx::Conv_1' and 'onnx::Conv_2' were " COMPUTED,
     "", NULL},
    {IMAGE, "float[2,2,1,1] w" WEIGHT, "y = Conv(x, w)", NULL, NULL, COMPUTED},
    {ROWS, "float[3,3] \"onnx::Gemm_1\"" SQUARE, "y = Gemm<transB = 1>(x, \"onnx::Gemm_1\")",
     "'onnx::Gemm_1' was " COMPUTED, "", NULL},
    {ROWS, "float[3,3] \"onnx::Gemm_1\"" SQUARE, "y = Gemm(x, \"onnx::Gemm_1\")", NULL, NULL, COMPUTED},
    {ROWS, "float[3,3] w" SQUARE, "y = Gemm<transB = 1>(x, w)", NULL, NULL, COMPUTED},
    {ROWS, "float[3,3] \"onnx::MatMul_1\"" SQUARE, "y = MatMul(x, \"onnx::MatMul_1\")", NULL, NULL, COMPUTED},
    {ROWS, "float[3,3] \"onnx::MatMul_1\"" SQUARE, "y = MatMul(x, \"onnx::MatMul_1\")",
     "1 initializer without a name of your own: 'onnx::MatMul_1'", "do_constant_folding=False", NULL},
    {ROWS, "float[3,3] w" SQUARE ", float \"onnx::Mul_1\" = {2}, int64[2] \"onnx::Reshape_2\" = {2, 3}",
     "h = MatMul(x, w) s = Mul(h, \"onnx::Mul_1\") y = Reshape(s, \"onnx::Reshape_2\")", NULL, NULL, "without a name"},
    /* a loss inside */
    {"net (float[2,3] x, int64[2] t) => (float l)", "float[3,3] w" SQUARE,
     "h = MatMul(x, w) l = SoftmaxCrossEntropyLoss(h, t)", "output 'l', out of a SoftmaxCrossEntropyLoss, is a loss",
     "--output 'l' trains with it", NULL},
    {"net (float[2,3] x, int64[2] t) => (float l, float[2,3] h)", "float[3,3] w" SQUARE,
     "h = MatMul(x, w) l = NegativeLogLikelihoodLoss(h, t)",
     "output 'l', out of a NegativeLogLikelihoodLoss, is a loss",
     "--output 'l' trains with it, and leaves it out of infer()", NULL},
    {"net (float[2,3] x) => (float l, float[2,3] h)", "float[3,3] w" SQUARE,
     "h = MatMul(x, w) l = ReduceSum<keepdims = 0>(h)", "output 'l', out of a ReduceSum, is a loss", "", NULL},
    {"net (float[2,3] x) => (float l, float[2,3] h)", "float[3,3] w" SQUARE,
     "h = MatMul(x, w) l = ReduceMean<keepdims = 0>(h)", "output 'l', out of a ReduceMean, is a loss", "", NULL},
    {"net (float[2,3] x) => (float l, float[2,3] h)", "float[3,3] w" SQUARE,
     "h = MatMul(x, w) l = ReduceMax<keepdims = 0>(h)", NULL, NULL, "is a loss"},
    {"net (float[2,3] x) => (float[1,1] l, float[2,3] h)", "float[3,3] w" SQUARE, "h = MatMul(x, w) l = ReduceMean(h)",
     NULL, NULL, "is a loss"},
    {"net (float[2,3] x) => (float l)", "float[3,3] w" SQUARE, "h = MatMul(x, w) l = ReduceMean<keepdims = 0>(h)", NULL,
     NULL, "is a loss"},
    /* an activation at the end */
    {ROWS, "float[3,3] w" SQUARE, "h = MatMul(x, w) y = Sigmoid(h)", "output 'y' comes out of a Sigmoid",
     "prepare's bce reads 'h' in front of it", NULL},
    {ROWS, "float[3,3] w" SQUARE, "h = MatMul(x, w) y = Softmax(h)", "output 'y' comes out of a Softmax",
     "prepare's softmax-cross-entropy reads 'h' in front of it", NULL},
    {ROWS, "float[3,3] w" SQUARE, "h = MatMul(x, w) y = Relu(h)", NULL, NULL, "comes out of"},
    {"net (float[2,3] x) => (float[2,3] y, float[2,3] x)", "float[3,3] w" SQUARE, "y = MatMul(x, w)", NULL, NULL,
     "comes out of"},
    /* numbers that are not trained */
    {ROWS, "float[3,3] w" SQUARE ", int8[3,3] q = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float s = {0.5}, int8 z = {0}",
     "h = MatMul(x, w) v = DequantizeLinear(q, s, z) y = MatMul(h, v)", "1 DequantizeLinear node: quantized weights",
     "train before quantizing", NULL},
    {ROWS, "float[3,3] w" SQUARE, "y = MatMul(x, w)", NULL, NULL, "quantized"},
    {ROWS, "float16[3] b = {1, 2, 3}, float[3,3] w" SQUARE, "c = Cast<to = 1>(b) h = MatMul(x, w) y = Add(h, c)", NULL,
     NULL, "of less than 16 bits"},
    {ROWS, "float8e4m3fn[3] b = {1, 2, 3}, float[3,3] w" SQUARE, "c = Cast<to = 1>(b) h = MatMul(x, w) y = Add(h, c)",
     "1 initializer of less than 16 bits: 'b'", "export in float32", NULL},
    {ROWS, "float8e4m3fn b = {1}, float[3,3] w" SQUARE, "c = Cast<to = 1>(b) h = MatMul(x, w) y = Add(h, c)", NULL,
     NULL, "of less than 16 bits"},
    {IMAGE, "float[2,2,1,1] w" WEIGHT, "y = Conv(x, w)", NULL, NULL, "BatchNormalization node"},
    /* a resized length that is no integer */
    {IMAGE_RESIZED("12,12"), SCALES "0.6, 1}", RESIZE("align_corners"), "'up' resizes by a factor to a length",
     "recompute_scale_factor=True", NULL},
    {IMAGE_RESIZED("12,12"), SCALES "2, 0.75}", RESIZE("align_corners"), NULL, NULL, "resizes by a factor"},
    {IMAGE_RESIZED("12,12"), SCALES "0.6, 0.6}", RESIZE("half_pixel"), NULL, NULL, "resizes by a factor"},
    {IMAGE_RESIZED("12,12"), SCALES "0.6, 0.2}", RESIZE("pytorch_half_pixel"), NULL, NULL, "resizes by a factor"},
    {IMAGE_RESIZED("12,12"), SCALES "0.6, 0.125}", RESIZE("pytorch_half_pixel"), "'up' resizes by a factor", "`size`",
     NULL},
    {IMAGE_RESIZED("12,12"), SCALES "0.6, 0.0625}", RESIZE("pytorch_half_pixel"), NULL, NULL, "resizes by a factor"},
    {IMAGE_RESIZED("h,w"), SCALES "0.6, 0.6}", RESIZE("align_corners"), "'up' resizes by a factor", "", NULL},
    {IMAGE_RESIZED("12,12"), "int64[4] s = {1, 2, 7, 7}, float[1] b = {3}",
     "[up] h = Resize<mode = \"linear\", coordinate_transformation_mode = \"align_corners\">(x, , , s) y = Add(h, b)",
     NULL, NULL, "resizes by a factor"},
    /* the batch */
    {"net (float[1,3] x) => (float[1,3] y)", "float[3,3] w" SQUARE, "y = MatMul(x, w)", "the batch is 1", "--batch N",
     NULL},
    {ROWS, "float[3,3] w" SQUARE, "y = MatMul(x, w)", NULL, NULL, "batch"},
    {"net (float[n,3] x) => (float[n,3] y)", "float[3,3] w" SQUARE, "y = MatMul(x, w)", NULL, NULL, "batch"},
};

START_TEST(findings)
{
    const struct network *const n = &networks[_i];
    const char *const text = arena_printf(
        &arena, "<ir_version: 10, producer_name: \"pytorch\", opset_import: [\"\" : 19]>\n%s\n<%s>\n{ %s }",
        n->signature, n->tensors, n->nodes);
    struct model *m;
    const bool ok = model_read_text(&diag, &arena, "network", text, strlen(text), &m);
    if (!ok)
        print_messages();
    ck_assert(ok);
    finding_list all = {0};
    examine_export(&arena, m, NULL, &all);
    bool found = false;
    vec_each_ptr(const struct finding, f, &all) {
        found = found || (n->what && strstr(f->text, n->what) && strstr(f->cure, n->cure));
        ck_assert_msg(!n->not || !strstr(f->text, n->not ), "%s: %s", n->nodes, f->text);
    }
    ck_assert_msg(found == (n->what != NULL), "%s %s: %s", n->tensors, n->nodes, n->what);
    ck_assert_int_eq(diag.messages.count, 0);
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, teardown);
    tcase_add_loop_test(all, findings, 0, (int)(sizeof networks / sizeof networks[0]));
    return run_tests("prepare_doctor", all);
}
