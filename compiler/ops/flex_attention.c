/* FlexAttention: schema and samples only. Import takes it apart (graph/import_attention.c), so no graph has one. */
#include "ops/op.h"

static const struct op_version versions[] = {{.since = 1}, {0}};
static const struct op_attr attrs[] = {{.name = "prob_mod", .type = ATTR_GRAPH},
                                       {.name = "scale", .type = ATTR_FLOAT, .no_default = true},
                                       {.name = "score_mod", .type = ATTR_GRAPH},
                                       {.name = "softmax_precision", .type = ATTR_INT, .no_default = true},
                                       {0}};
#define OPERAND(label) {.name = (label), .type = 'T', .dtypes = DTYPES_FLOATS}
static const struct op_param inputs[] = {OPERAND("Q"), OPERAND("K"), OPERAND("V"), {0}};
static const struct op_param outputs[] = {OPERAND("Y"), {0}};

#define QKV "float[2,2,3,4] q, float[2,2,5,4] k, float[2,2,5,6] v"
#define FLEX "ai.onnx.preview.FlexAttention"
static const struct op_sample samples[] = {
    {.text = "g (" QKV ") => (float[2,2,3,6] y) { y = " FLEX "(q, k, v) }"},
    /* heads that share one of K and V */
    {.text = "g (double[1,4,2,3] q, double[1,2,3,3] k, double[1,2,3,2] v) => (double[1,4,2,2] y) "
             "{ y = " FLEX " <scale = 0.5> (q, k, v) }"},
    {.text = "g (" QKV ", float[5] w, float z) => (float[2,2,3,6] y) { bias = Identity(w) factor = Identity(z) "
             "y = " FLEX " <score_mod = s (float[b,h,l,s] x) => (float[b,h,l,s] r) { t = Tanh(x) r = Add(t, bias) }, "
             "prob_mod = p (float[b,h,l,s] x) => (float[b,h,l,s] r) { r = Mul(x, factor) }> (q, k, v) }"},
    /* a causal mask by positions */
    {.text = "g (" QKV ") => (float[2,2,3,6] y) { y = " FLEX
             " <score_mod = s (float[b,h,l,s] x) => (float[b,h,l,s] r) { n = Constant <value_int = 0> () "
             "one = Constant <value_int = 1> () l = Shape <start = 2, end = 3> (x) m = Shape <start = 3> (x) "
             "a = Squeeze(l) c = Squeeze(m) i = Range(n, a, one) j = Range(n, c, one) d = Constant <value_ints = [1]> "
             "() e = Unsqueeze(i, d) sees = GreaterOrEqual(e, j) hides = Constant <value_float = -1e30> () "
             "r = Where(sees, x, hides) }> (q, k, v) }"},
    {.text = "g (float16[1,2,3,4] q, float16[1,2,3,4] k, float16[1,2,3,4] v) => (float16[1,2,3,4] y) { y = " FLEX
             " <score_mod = s (float16[b,h,l,s] x) => (float16[b,h,l,s] r) { r = Neg(x) }> (q, k, v) }"},
    {.text = "g (" QKV ") => (float[2,2,3,6] y) { y = " FLEX " <softmax_precision = 11> (q, k, v) }"},
    {.text = "g (float[2,2,0,4] q, float[2,2,5,4] k, float[2,2,5,6] v) => (float[2,2,0,6] y) { y = " FLEX
             "(q, k, v) }"},
    {.text = "g (float[2,3,3,4] q, float[2,2,5,4] k, float[2,2,5,6] v) => (float[2,3,3,6] y) { y = " FLEX
             "(q, k, v) }",
     .error = "Q [2,3,3,4], K [2,2,5,4] and V [2,2,5,6] do not fit"},
    {.text = "g (float[2,3,4] q, float[2,5,4] k, float[2,5,6] v) => (float[2,3,6] y) { y = " FLEX "(q, k, v) }",
     .error = "input 0 'q' has rank 3, expected 4"},
    {.text = "g (float[2,2,3,4] q, double[2,2,5,4] k, float[2,2,5,6] v) => (float[2,2,3,6] y) { y = " FLEX
             "(q, k, v) }",
     .error = "input 1 'k' is double, expected float"},
    {.text = "g (" QKV ") => (float[2,2,3,6] y) { y = " FLEX
             " <score_mod = s (float[b,h,l,s] x) => (float[b,h,s,l] r) { r = Transpose <perm = [0, 1, 3, 2]> (x) }> "
             "(q, k, v) }",
     .error = "score_mod gives no floating tensor of shape [2,2,3,5]"},
    {.text = "g (" QKV ") => (float[2,2,3,6] y) { y = " FLEX
             " <prob_mod = s (float[b,h,l,s] x, float z) => (float[b,h,l,s] r) { r = Mul(x, z) }> (q, k, v) }",
     .error = "prob_mod has 2 inputs and 1 outputs, expected one and one"},
    {.text = "g (" QKV ") => (float[2,2,3,6] y) { y = " FLEX " <softmax_precision = 7> (q, k, v) }",
     .error = "attribute 'softmax_precision' is 7, expected a floating type"},
    {0}};

const struct op_def op_defs_flex_attention[] = {
    {.domain = DOMAIN_PREVIEW, .name = "FlexAttention", .versions = versions, .inputs = inputs, .outputs = outputs,
     .attrs = attrs, .samples = samples, .is_control = true},
    {0}};
