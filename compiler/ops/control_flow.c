/* If, Loop, Scan, SequenceMap and the operators on sequences and optional values: schemas and samples only. Import
 * takes such nodes apart (graph/import_control.c, import_if.c, import_sequence.c), so no graph has one. Gradients are
 * those of the nodes that they become. */
#include "ops/op.h"

/* Operands may be sequences too, which no dtype describes: import looks at them. */
static const struct op_param any_inputs[] = {
    {.name = "inputs", .flags = PARAM_VARIADIC | PARAM_HETEROGENEOUS | PARAM_OPTIONAL}, {0}};
static const struct op_param any_outputs[] = {{.name = "outputs", .flags = PARAM_VARIADIC | PARAM_HETEROGENEOUS}, {0}};
static const struct op_param one_output[] = {{.name = "output"}, {0}};

/* ---- If --------------------------------------------------------------------------------------------------------- */

static const struct op_version if_versions[] = {
    {.since = 1},  {.since = 11}, {.since = 13}, {.since = 16}, {.since = 19},
    {.since = 21}, {.since = 23}, {.since = 24}, {.since = 25}, {0}};
static const struct op_attr if_attrs[] = {{.name = "then_branch", .type = ATTR_GRAPH, .required = true},
                                          {.name = "else_branch", .type = ATTR_GRAPH, .required = true},
                                          {0}};
static const struct op_param if_inputs[] = {{.name = "cond"}, {0}};

static const struct op_sample if_samples[] = {
    {.text = "g (float[2,3] v) => (float[2,3] y) { x = Identity(v) c = Constant <value = bool {1}> () "
             "y = If <then_branch = t () => (float[2,3] a) { a = Mul(x, x) }, else_branch = e () => (float[2,3] b) { b "
             "= Neg(x) }> (c) }"},
    /* a condition that follows from shapes; the other branch would not fit */
    {.text = "g (float[4,1] v) => (float[4] y) { x = Identity(v) s = Shape(x) i = Constant <value_ints = [1]> () d = "
             "Gather(s, i) "
             "one = Constant <value_ints = [1]> () c = Equal(d, one) "
             "y = If <then_branch = t () => (float[n] a) { k = Constant <value_ints = [1]> () a = Squeeze(x, k) }, "
             "else_branch = e () => (float[n,m] b) { k = Constant <value_ints = [0]> () b = Squeeze(x, k) }> (c) }"},
    {.text = "g (float[3] v) => (float[3] y, float[3] z) { x = Identity(v) no = Constant <value = bool[1] {0}> () "
             "y, z = If <then_branch = t () => (float[3] a, float[3] b) { a = Neg(x) b = Abs(x) }, "
             "else_branch = e () => (float[3] c, float[3] d) { c = Exp(x) d = Mul(c, x) }> (no) }"},
    /* a branch inside a branch; names of one are no names of the other */
    {.text = "g (float[3] v) => (float[3] y) { x = Identity(v) yes = Constant <value = bool {1}> () "
             "y = If <then_branch = t () => (float[3] a) { w = Sin(x) no = Constant <value = bool {0}> () "
             "a = If <then_branch = t2 () => (float[3] q) { q = Neg(w) }, else_branch = e2 () => (float[3] p) { p = "
             "Mul(w, x) }> (no) }, "
             "else_branch = e () => (float[3] b) { w = Neg(x) b = Neg(w) }> (yes) }",
     .opset = 11},
    /* a condition that depends on data: both are computed, and one chosen */
    {.text = "g (float[3] v, float[3] w, bool c) => (float[3] y) { x = Identity(v) z = Identity(w) "
             "y = If <then_branch = t () => (float[3] a) { a = Mul(x, z) }, "
             "else_branch = e () => (float[3] b) { b = Exp(x) }> (c) }"},
    {.text = "g (float[2,3] v, int64[2] i) => (float[2] y, int64[2] z) { x = Identity(v) j = Identity(i) "
             "zero = Constant <value_float = 0.0> () m = ReduceMean <keepdims = 0> (x) c = Greater(m, zero) "
             "y, z = If <then_branch = t () => (float[2] a, int64[2] p) { k = Constant <value_ints = [1]> () "
             "g = Gather <axis = 1> (x, k) a = Squeeze(g, k) p = Neg(j) }, "
             "else_branch = e () => (float[2] b, int64[2] j) { one = Constant <value_ints = [1]> () "
             "b = ReduceSum <keepdims = 0> (x, one) }> (c) }"},
    /* a branch inside a branch, and one that is a value from outside */
    {.text = "g (float[3] v, bool c, int32[1] d) => (float[3] y) { x = Identity(v) "
             "y = If <then_branch = t () => (float[3] a) { w = Sin(x) "
             "a = If <then_branch = t2 () => (float[3] q) { q = Mul(w, x) }, else_branch = e2 () => (float[3] w) { }> "
             "(d) }, else_branch = e () => (float[3] x) { }> (c) }",
     .feed = ",,index:2"},
    /* numbers that are known: the same in both branches, or not which of them */
    {.text = "g (float[6] x, bool c) => (float[2,3] y) { s = If <then_branch = t () => (int64[2] a) { "
             "a = Constant <value_ints = [2, 3]> () }, else_branch = e () => (int64[2] b) { "
             "b = Constant <value_ints = [2, 3]> () }> (c) y = Reshape(x, s) }"},
    {.text = "g (bool c) => (int64 y) { z = If <then_branch = t () => (int64 a) { a = Constant <value_int = 3> () }, "
             "else_branch = e () => (int64 b) { b = Constant <value_int = 2> () }> (c) y = Neg(z) }"},
    {.text = "g (float[3] x, bool c) => (float[3] y) { y = If <then_branch = t () => (float[3] a) { a = Neg(x) }, "
             "else_branch = e () => (float[6] b) { b = Concat <axis = 0> (x, x) }> (c) }",
     .error = "input 0 'c' (cond) is not known at compile time, so that both branches must give the same types, but "
              "output 0 is float[3] in then_branch and float[6] in else_branch"},
    {.text = "g (float[3] x, float c) => (float[3] y) { y = If <then_branch = t () => (float[3] a) { a = Neg(x) }, "
             "else_branch = e () => (float[3] b) { b = Exp(x) }> (c) }",
     .error = "input 0 'c' (cond) is float[], expected one integer or bool"},
    {.text = "g (float[3] x) => (float[3] y) { c = Constant <value = bool[2] {1, 1}> () y = If <then_branch = t () => "
             "(float[3] a) "
             "{ a = Neg(x) }, else_branch = e () => (float[3] b) { b = Exp(x) }> (c) }",
     .error = "input 0 'c' (cond) is bool of shape [2], expected one integer or bool"},
    {.text = "g (float[3] x) => (float[3] y, float[3] z) { c = Constant <value = bool {1}> () y, z = If <then_branch = "
             "t () => (float[3] a) "
             "{ a = Neg(x) }, else_branch = e () => (float[3] b) { b = Exp(x) }> (c) }",
     .error = "then_branch has 0 inputs and 1 outputs, expected none and 2"},
    {0}};

/* ---- Loop ------------------------------------------------------------------------------------------------------- */

static const struct op_attr body_attrs[] = {{.name = "body", .type = ATTR_GRAPH, .required = true}, {0}};
static const struct op_param loop_inputs[] = {
    {.name = "M", .flags = PARAM_OPTIONAL},
    {.name = "cond", .flags = PARAM_OPTIONAL},
    {.name = "v_initial", .flags = PARAM_VARIADIC | PARAM_HETEROGENEOUS | PARAM_OPTIONAL},
    {0}};

static const struct op_sample loop_samples[] = {
    /* a carried value, a captured one, a scan output */
    {.text =
         "g (float[3] v, float[3] w) => (float[3] y, float[4,3] all) { x = Identity(v) n = Constant <value_int = 4> () "
         "y, all = Loop <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t, float[3] u) "
         "{ d = Identity(c) m = Mul(s, x) t = Sin(m) u = Mul(t, s) }> (n, , w) }"},
    /* the number of the iteration; a list of one as the body declares it */
    {.text = "g (float[5] v) => (float[2] y) { x = Identity(v) n = Constant <value_ints = [2]> () yes = Constant "
             "<value = bool {1}> () "
             "y = Loop <body = b (int64[1] i, bool c) => (bool c, float u) { e = Gather(x, i) k = Constant <value_ints "
             "= [0]> () "
             "u = Squeeze(e, k) }> (n, yes) }"},
    /* the condition ends it: i < 2 */
    {.text = "g (float[2] x) => (float[2] y) { two = Constant <value_int = 2> () "
             "y = Loop <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) { d = Less(i, two) t = Mul(s, "
             "s) }> (, , x) }"},
    /* no iteration */
    {.text = "g (float[2] x) => (float[2] y, float[0,3] z) { n = Constant <value_int = 0> () "
             "y, z = Loop <body = b (int64 i, bool c, float[2] s) => (bool c, float[2] t, float[3] u) { t = Neg(s) "
             "u = Constant <value_floats = [1.0, 2.0, 3.0]> () }> (n, , x) }"},
    {.text = "g (float[2] x) => (float[2] y) { n = Constant <value_int = 5> () no = Constant <value = bool {0}> () "
             "y = Loop <body = b (int64 i, bool c, float[2] s) => (bool c, float[2] t) { t = Neg(s) }> (n, no, x) }"},
    /* a loop in a loop; carried values change their shape */
    {.text = "g (float[2] x) => (float[8] y) { n = Constant <value_int = 2> () "
             "y = Loop <body = b (int64 i, bool c, float[p] s) => (bool c, float[q] t) { "
             "t = Loop <body = b2 (int64 j, bool d, float[k] s2) => (bool d, float[l] t2) { e = Sin(s2) "
             "t2 = If <then_branch = h () => (float[o] a) { a = Concat <axis = 0> (s2, e) }, else_branch = f () => "
             "(float[o] b2) "
             "{ b2 = Mul(e, s) }> (d2) d2 = Equal(i, i) }> (n, , s) }> (n, , x) }",
     .error = "input 0 'd2' is not defined before the node"},
    {.text =
         "g (float[2] x) => (float[8] y) { n = Constant <value_int = 2> () "
         "y = Loop <body = b (int64 i, bool c, float[p] s) => (bool c, float[q] t) { "
         "t = Loop <body = b2 (int64 j, bool d, float[k] s2) => (bool d, float[l] t2) { e = Sin(s2) d2 = Equal(i, j) "
         "t2 = If <then_branch = h () => (float[o] a) { a = Concat <axis = 0> (s2, e) }, else_branch = f () => "
         "(float[o] b3) "
         "{ b3 = Mul(e, e) }> (d2) }> (n, , s) }> (n, , x) }"},
    {.text = "g (float[2] x, int64 n) => (float[2] y) { m = Neg(n) "
             "y = Loop <body = b (int64 i, bool c, float[2] s) => (bool c, float[2] t) { t = Neg(s) }> (m, , x) }",
     .error = "input 0 'm' (M) must be known at compile time, but depends on input 'n'"},
    {.text = "g (float[2] x) => (float[2] y) { n = Constant <value_int = 3> () "
             "y = Loop <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) { t = Neg(s) k = Constant "
             "<value_ints = [0]> () "
             "z = ReduceSum <keepdims = 0> (t, k) d0 = IsFinite(z) d = Not(d0) }> (n, , x) }",
     .error = "IsFinite"},
    /* data end it: three rounds at most; a list of one as the condition; a loop in a loop, of which both may end */
    {.text = "g (float[2] v) => (float[2] y) { x = Identity(v) zero = Constant <value_float = 0.0> () n = Constant "
             "<value_int = 3> () "
             "y = Loop <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) { t = Mul(s, x) k = Constant "
             "<value_ints = [0]> () "
             "z = ReduceSum (t, k) d = Less(z, zero) }> (n, , x) }"},
    {.text =
         "g (float[2] v, bool c) => (float[2] y, int64 m) { x = Identity(v) two = Constant <value_int = 2> () one = "
         "Constant <value_int = 1> () none = Constant <value_int = 0> () "
         "y, m = Loop <body = b (int64 i, bool p, float[2] s, int64 j) => (bool d, float[2] t, int64 k) { "
         "t = Loop <body = b2 (int64 i2, bool p2, float[2] s2) => (bool d2, float[2] t2) { t2 = Sin(s2) l = "
         "ReduceMax <keepdims = 0> (t2) h = ReduceMin <keepdims = 0> (s) d2 = Greater(l, h) }> (two, , s) "
         "k = Add(j, one) few = Less(k, two) e = ReduceMax <keepdims = 0> (t) zero = Constant <value_float = 0.0> "
         "() more = Greater(e, zero) d = And(few, more) }> (, c, x, none) }"},
    {.text = "g (float[2] x, bool c) => (float[2] y) { n = Constant <value_int = 3> () "
             "y = Loop <body = b (int64 i, bool p, float[k] s) => (bool p, float[l] t) { t = Concat <axis = 0> (s, s) "
             "}> (n, c, x) }",
     .error = "'c' decides how often it goes round, which is not known at compile time, so that what it carries must "
              "keep its type, but output 0 'y' is float[8] or float[16]"},
    {.text = "g (float[2] x, bool c) => (float[2] y, float[3,2] z) { n = Constant <value_int = 3> () "
             "y, z = Loop <body = b (int64 i, bool p, float[2] s) => (bool p, float[2] t, float[2] u) { t = Neg(s) u = "
             "Exp(s) }> (n, c, x) }",
     .error = "'c' decides how often it goes round, which is not known at compile time, so that scan output 0 'z' has "
              "no size"},
    {.text = "g (float[2] x, float c) => (float[2] y) { n = Constant <value_int = 3> () y = Loop <body = b (int64 i, "
             "bool p, float[2] s) => (bool p, float[2] t) { t = Neg(s) }> (n, c, x) }",
     .error = "input 1 'c' (cond) is float[], expected one integer or bool"},
    {.text = "g (float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool c, float[2] s) => (bool c, float[2] "
             "t) { t = Neg(s) }> (, , x) }",
     .error = "Loop exceeds the bound of 100000 nodes of unrolled graphs in a model"},
    {.text = "g (float[2] x) => (float[2] y) { yes = Constant <value = bool {1}> () "
             "y = Loop <body = b (int64 i, bool c, float[2] s) => (bool c, float[2] t) { t = If <then_branch = h () => "
             "(float[2] a) { d = Neg(s) e = Neg(d) f = Neg(e) a = Neg(f) }, else_branch = l () => (float[2] a2) { a2 = "
             "Neg(s) }> (yes) }> (, , x) }",
     .error = "If exceeds the bound of 100000 nodes of unrolled graphs in a model"},
    {.text = "g (float[2] x) => (float[2] y) { n = Constant <value_int = 3> () y = Loop <body = b (int64 i, bool c) => "
             "(bool c) { t = Neg(x) }> (n, , x) }",
     .error = "the body has 2 inputs and 1 outputs, expected 3 and at least 2"},
    {.text = "g (float[2] x) => (float[3,2] y) { n = Constant <value_int = 3> () z, y = Loop <body = b (int64 i, bool "
             "c, float[k] s) => "
             "(bool c, float[l] t, float[m] u) { t = Concat <axis = 0> (s, s) u = Neg(t) }> (n, , x) }",
     .error = "scan output 0 of the body is float[8] in iteration 1, but float[4] in the first"},
    {.text = "g (int32[2] x) => (float[2] y) { n = Constant <value_int = 3> () y = Loop <body = b (int64 i, bool c, "
             "float[2] s) => "
             "(bool c, float[2] t) { t = Neg(s) }> (n, , x) }",
     .error = "input 's' of graph 'b' is declared as float, but is int32"},
    {0}};

/* ---- Scan ------------------------------------------------------------------------------------------------------- */

/* Of opset 8: lengths of sequences in front, and a batch in all other inputs and outputs. */
static const struct op_attr scan_attrs_8[] = {{.name = "body", .type = ATTR_GRAPH, .required = true},
                                              {.name = "directions", .type = ATTR_INTS},
                                              {.name = "num_scan_inputs", .type = ATTR_INT, .required = true},
                                              {0}};
static const struct op_version scan_versions[] = {{.since = 8, .attrs = scan_attrs_8},
                                                  {.since = 9},
                                                  {.since = 11},
                                                  {.since = 16},
                                                  {.since = 19},
                                                  {.since = 21},
                                                  {.since = 23},
                                                  {.since = 24},
                                                  {.since = 25},
                                                  {0}};
static const struct op_attr scan_attrs[] = {{.name = "body", .type = ATTR_GRAPH, .required = true},
                                            {.name = "num_scan_inputs", .type = ATTR_INT, .required = true},
                                            {.name = "scan_input_axes", .type = ATTR_INTS},
                                            {.name = "scan_input_directions", .type = ATTR_INTS},
                                            {.name = "scan_output_axes", .type = ATTR_INTS},
                                            {.name = "scan_output_directions", .type = ATTR_INTS},
                                            {0}};

static const struct op_sample scan_samples[] = {
    {.text = "g (float[2] s, float[3,2] x) => (float[2] y, float[3,2] z) { y, z = Scan <num_scan_inputs = 1, "
             "body = b (float[2] a, float[2] e) => (float[2] c, float[2] d) { c = Mul(a, e) d = Sin(c) }> (s, x) }"},
    {.text =
         "g (float[2] s, float[3,2] x, float[2,3] w) => (float[2] y, float[2,3] z) { y, z = Scan <num_scan_inputs = 2, "
         "scan_input_axes = [0, -1], scan_input_directions = [1, 0], scan_output_axes = [1], scan_output_directions = "
         "[1], "
         "body = b (float[2] a, float[2] e, float[2] f) => (float[2] c, float[2] d) { h = Mul(a, e) c = Add(h, f) d = "
         "Sin(h) }> (s, x, w) }"},
    /* no state, one item */
    {.text = "g (float[1,2] x) => (float[1,2] z) { z = Scan <num_scan_inputs = 1, body = b (float[2] e) => (float[2] "
             "d) { d = Exp(e) }> (x) }",
     .opset = 9},
    {.text = "g (float[2] s, float[0,2] x) => (float[2] y, float[2,0] z) { y, z = Scan <num_scan_inputs = 1, "
             "scan_output_axes = [1], "
             "body = b (float[2] a, float[2] e) => (float[2] c, float[2] d) { c = Mul(a, e) d = Sin(c) }> (s, x) }"},
    {.text = "g (float[3,2] x, float[4,2] w) => (float[3,2] z) { z = Scan <num_scan_inputs = 2, body = b (float[2] e, "
             "float[2] f) => "
             "(float[2] d) { d = Mul(e, f) }> (x, w) }",
     .error = "scan input 1 'w' has 4 items, expected 3 as the one before"},
    {.text = "g (float[3,2] x) => (float[3,2] z) { z = Scan <num_scan_inputs = 1, scan_input_axes = [2], body = b "
             "(float[2] e) => "
             "(float[2] d) { d = Neg(e) }> (x) }",
     .error = "axis 2 of scan input 0 is out of range"},
    {.text = "g (float[3,2] x) => (float[3,2] z) { z = Scan <num_scan_inputs = 2, body = b (float[2] e) => (float[2] "
             "d) { d = Neg(e) }> (x) }",
     .error = "attribute 'num_scan_inputs' is 2, expected 1 to 1, the number of inputs"},
    {.text = "g (float[3,2] x) => (float[3,2] z) { z = Scan <num_scan_inputs = 1, scan_output_axes = [0, 1], body = b "
             "(float[2] e) => "
             "(float[2] d) { d = Neg(e) }> (x) }",
     .error = "attribute 'scan_output_axes' has 2 elements, expected 1"},
    /* opset 8: batches, backwards, and of different lengths */
    {.text = "g (float[2,3] s, float[2,4,3] x) => (float[2,3] y, float[2,4,3] z) { y, z = Scan <num_scan_inputs = 1, "
             "body = b (float[3] a, float[3] e) => (float[3] c, float[3] d) { c = Mul(a, e) d = Sin(c) }> (, s, x) }",
     .opset = 8},
    {.text = "g (float[2,3] s, float[2,4,3] x, float[2,4] w) => (float[2,3] y, float[2,4,3] z) "
             "{ l = Constant <value = int64[2] {4, 2}> () y, z = Scan <num_scan_inputs = 2, directions = [1, 0], "
             "body = b (float[3] a, float[3] e, float f) => (float[3] c, float[3] d) { h = Mul(a, e) c = Add(h, f) "
             "d = Sin(c) }> (l, s, x, w) }",
     .opset = 8},
    {.text = "g (float[2,4,3] x) => (float[2,4,3] z) { l = Constant <value = int64[2] {5, 2}> () "
             "z = Scan <num_scan_inputs = 1, body = b (float[3] e) => (float[3] d) { d = Sin(e) }> (l, x) }",
     .opset = 8,
     .error = "sequence 0 has 5 steps, expected 1 to 4"},
    {.text = "g (float[2,4,3] x, float[3,3] s) => (float[2,4,3] z) { z = Scan <num_scan_inputs = 1, "
             "body = b (float[3] a, float[3] e) => (float[3] c, float[3] d) { c = Neg(a) d = Sin(e) }> (, s, x) }",
     .opset = 8,
     .error = "input 2 'x' has a batch of 2, expected 3 as the one before"},
    {.text = "g (float[2] x) => (float[2] z) { z = Scan <num_scan_inputs = 1, "
             "body = b (float e) => (float d) { d = Sin(e) }> (, x) }",
     .opset = 8,
     .error = "input 1 'x' has rank 1, expected [batch, steps, ..]"},
    {0}};

/* ---- sequences -------------------------------------------------------------------------------------------------- */

static const struct op_version versions_11[] = {{.since = 11}, {0}}, versions_17[] = {{.since = 17}, {0}};
static const struct op_version split_versions[] = {{.since = 11}, {.since = 24}, {0}};
static const struct op_version optional_versions[] = {{.since = 15}, {.since = 18}, {0}},
                               versions_15[] = {{.since = 15}, {0}};
static const struct op_attr dtype_attrs[] = {{.name = "dtype", .type = ATTR_INT}, {0}};
static const struct op_attr split_attrs[] = {
    {.name = "axis", .type = ATTR_INT}, {.name = "keepdims", .type = ATTR_INT, .int_default = 1}, {0}};
static const struct op_attr concat_attrs[] = {
    {.name = "axis", .type = ATTR_INT, .required = true}, {.name = "new_axis", .type = ATTR_INT}, {0}};
static const struct op_attr type_attrs[] = {{.name = "type", .type = ATTR_TYPE_PROTO}, {0}};
static const struct op_param no_inputs[] = {{0}};
static const struct op_param items[] = {{.name = "inputs", .flags = PARAM_VARIADIC}, {0}};
static const struct op_param map_inputs[] = {
    {.name = "input_sequence"},
    {.name = "additional_inputs", .flags = PARAM_VARIADIC | PARAM_HETEROGENEOUS | PARAM_OPTIONAL},
    {0}};
static const struct op_param sequence_only[] = {{.name = "input_sequence"}, {0}};
static const struct op_param at_inputs[] = {{.name = "input_sequence"}, {.name = "position"}, {0}};
static const struct op_param erase_inputs[] = {
    {.name = "input_sequence"}, {.name = "position", .flags = PARAM_OPTIONAL}, {0}};
static const struct op_param insert_inputs[] = {
    {.name = "input_sequence"}, {.name = "tensor"}, {.name = "position", .flags = PARAM_OPTIONAL}, {0}};
static const struct op_param split_inputs[] = {{.name = "input"}, {.name = "split", .flags = PARAM_OPTIONAL}, {0}};
static const struct op_param optional_inputs[] = {{.name = "input", .flags = PARAM_OPTIONAL}, {0}};
static const struct op_param get_inputs[] = {{.name = "input"}, {0}};

static const struct op_sample empty_samples[] = {
    /* collected in a loop, as exporters write a Python list */
    {.text = "g (float[3,2] v) => (float[3,2] y) { x = Identity(v) n = Constant <value_int = 3> () e = SequenceEmpty() "
             "all = Loop <body = b (int64 i, bool c, seq(float[p]) s) => (bool c, seq(float[q]) t) { r = Gather(x, i) "
             "m = Mul(r, r) "
             "t = SequenceInsert(s, m) }> (n, , e) y = ConcatFromSequence <axis = 0, new_axis = 1> (all) }"},
    {.text = "g (float[3] x) => (float[3] y) { e = SequenceEmpty() y = ConcatFromSequence <axis = 0> (e) }",
     .error = "the sequence is empty: nothing tells the shape of the result"},
    {0}};
static const struct op_sample construct_samples[] = {
    {.text = "g (float[2,3] v, float[1,3] w) => (float[4,3] y) { a = Identity(v) b = Identity(w) s = "
             "SequenceConstruct(a, b, b) "
             "y = ConcatFromSequence <axis = -2> (s) }"},
    {.text = "g (float[2] x, double[2] w) => (float[2] y) { s = SequenceConstruct(x, w) i = Constant <value_int = 0> "
             "() y = SequenceAt(s, i) }",
     .error = "tensor 'w' is double, but the sequence is of float"},
    {.text = "g (float[2] x) => (float[2] y) { s = SequenceConstruct(x, x) y = Neg(s) }",
     .error = "input 0 's' is a sequence, expected a tensor"},
    {0}};
static const struct op_sample insert_samples[] = {
    {.text = "g (float[2] v, float[2] w) => (float[6] y) { a = Identity(v) b = Identity(w) s = SequenceConstruct(a, a) "
             "p = Constant <value_int = -2> () t = SequenceInsert(s, b, p) y = ConcatFromSequence <axis = 0> (t) }"},
    {.text = "g (float[2] x) => (float[6] y) { s = SequenceConstruct(x, x) p = Constant <value_int = 3> () t = "
             "SequenceInsert(s, x, p) "
             "y = ConcatFromSequence <axis = 0> (t) }",
     .error = "position 3 is out of range for a sequence of 2 tensors"},
    {0}};
static const struct op_sample erase_samples[] = {
    {.text = "g (float[2] v, float[3] w) => (float[3] y) { a = Identity(v) b = Identity(w) s = SequenceConstruct(a, b, "
             "a) t = SequenceErase(s) "
             "p = Constant <value_int = 0> () u = SequenceErase(t, p) y = SequenceAt(u, p) }"},
    {.text = "g (float[2] x) => (float[2] y) { s = SequenceEmpty() t = SequenceErase(s) y = Neg(x) }",
     .error = "the sequence is empty"},
    {0}};
static const struct op_sample at_samples[] = {
    {.text = "g (float[2] v, float[3] w) => (float[3] y) { a = Identity(v) b = Identity(w) s = SequenceConstruct(a, b) "
             "p = Constant <value_int = -1> () y = SequenceAt(s, p) }"},
    {.text = "g (float[2] x, int64 p) => (float[2] y) { s = SequenceConstruct(x, x) y = SequenceAt(s, p) }",
     .error = "input 1 'p' (position) must be known at compile time, but it is an input of the graph"},
    {.text = "g (float[2] x, int64 p) => (float[2] y) { y = SequenceAt(x, p) }",
     .error = "input 0 'x' is a tensor, expected a sequence"},
    {0}};
static const struct op_sample length_samples[] = {
    {.text = "g (float[2] x) => (int64 n) { s = SequenceConstruct(x, x, x) n = SequenceLength(s) }",
     .no_gradient = true},
    {0}};
static const struct op_sample concat_samples[] = {
    {.text = "g (float[2] v) => (float[2,2] y) { a = Identity(v) b = Sin(v) s = SequenceConstruct(a, b) "
             "y = ConcatFromSequence <axis = 1, new_axis = 1> (s) }"},
    {.text = "g (float[2] v) => (float[2] y) { a = Identity(v) s = SequenceConstruct(a) y = ConcatFromSequence <axis = "
             "0> (s) }"},
    {.text = "g (float[2] x) => (float[4] y) { s = SequenceConstruct(x, x) y = ConcatFromSequence <axis = 1> (s) }",
     .error = "axis 1 is out of range for rank 1"},
    {0}};
static const struct op_sample split_samples[] = {
    {.text = "g (float[1000] x) => (float[1000] y) { s = SplitToSequence(x) n = Constant <value_int = 400> () y = Loop "
             "<body = b (int64 i, bool c, float[1000] t) => (bool c, float[1000] u) "
             "{ u = ConcatFromSequence <axis = 0> (s) }> (n, , x) }",
     .error = "ConcatFromSequence exceeds the bound of 300000 pieces of tensors in a model"},
    {.text =
         "g (float[2,5] v) => (float[2,1] y, float[2,2] z) { x = Identity(v) two = Constant <value_int = 2> () s = "
         "SplitToSequence <axis = 1> (x, two) "
         "p = Constant <value_int = 2> () q = Constant <value_int = 1> () y = SequenceAt(s, p) z = SequenceAt(s, q) }"},
    {.text = "g (float[5] v) => (float[4] y) { x = Identity(v) k = Constant <value_ints = [1, 4, 0]> () s = "
             "SplitToSequence(x, k) "
             "p = Constant <value_int = 1> () y = SequenceAt(s, p) }"},
    {.text = "g (float[3,2] v) => (float[2] y) { x = Identity(v) s = SplitToSequence <keepdims = 0> (x) p = Constant "
             "<value_int = 1> () "
             "y = SequenceAt(s, p) }"},
    {.text = "g (float[3,2] v) => (float[3] y) { x = Identity(v) k = Constant <value_int = 1> () s = SplitToSequence "
             "<axis = 1, keepdims = 0> (x, k) p = Constant <value_int = 1> () y = SequenceAt(s, p) }"},
    {.text = "g (float[3,2] v) => (float[2,2] y) { x = Identity(v) k = Constant <value_int = 2> () s = SplitToSequence "
             "<keepdims = 0> (x, k) p = Constant <value_int = 0> () y = SequenceAt(s, p) }"},
    {.text = "g (float[2,2] v) => (float[1,2] y) { x = Identity(v) k = Constant <value_ints = [1, 1]> () s = "
             "SplitToSequence <keepdims = 0> (x, k) p = Constant <value_int = 0> () y = SequenceAt(s, p) }"},
    {.text = "g (float[3,2] v) => (float[1,2] y) { x = Identity(v) s = SplitToSequence(x) p = Constant <value_int = 2> "
             "() y = SequenceAt(s, p) }",
     .opset = 11},
    {.text = "g (float[5] x) => (float[4] y) { k = Constant <value_ints = [1, 3]> () s = SplitToSequence(x, k) p = "
             "Constant <value_int = 1> () "
             "y = SequenceAt(s, p) }",
     .error = "the pieces are not the 5 elements of the axis"},
    {0}};
static const struct op_sample map_samples[] = {
    {.text = "g (float[2] v, float[3] w, float[1] u) => (float[5] y) { a = Identity(v) b = Identity(w) s = "
             "SequenceConstruct(a, b) "
             "t = SequenceMap <body = f (float[n] e, float[1] k) => (float[n] o) { o = Mul(e, k) }> (s, u) y = "
             "ConcatFromSequence <axis = 0> (t) }"},
    {.text = "g (float[2] x) => (float[2] y) { s = SequenceConstruct(x) q = SequenceConstruct(x, x) "
             "t = SequenceMap <body = f (float[n] e, float[n] k) => (float[n] o) { o = Mul(e, k) }> (s, q) y = "
             "ConcatFromSequence <axis = 0> (t) }",
     .error = "input 1 has 2 items, expected 1 as input 0"},
    {0}};
static const struct op_sample optional_samples[] = {
    {.text = "g (float[2] v) => (float[2] y) { x = Identity(v) o = Optional(x) h = OptionalHasElement(o) "
             "y = If <then_branch = t () => (float[2] a) { e = OptionalGetElement(o) a = Mul(e, x) }, "
             "else_branch = f () => (float[2] b) { b = Neg(x) }> (h) }"},
    {.text = "g (float[2] x) => (float[2] y) { o = Optional() y = OptionalGetElement(o) }",
     .error = "input 0 'o' is none"},
    {0}};
static const struct op_sample has_samples[] = {
    {.text =
         "g (float[2] x) => (bool y, bool z) { o = Optional() y = OptionalHasElement(o) z = OptionalHasElement(x) }",
     .no_gradient = true},
    {.text = "g (float[2] x) => (bool y) { y = OptionalHasElement() }", .no_gradient = true},
    {0}};
static const struct op_sample get_samples[] = {
    {.text = "g (float[2] v) => (float[2] y) { x = Identity(v) y = OptionalGetElement(x) }"}, {0}};

/* ---- records ---------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_control_flow[] = {{.name = "If",
                                               .versions = if_versions,
                                               .inputs = if_inputs,
                                               .outputs = any_outputs,
                                               .attrs = if_attrs,
                                               .samples = if_samples,
                                               .is_control = true},
                                              {.name = "Loop",
                                               .versions = if_versions,
                                               .inputs = loop_inputs,
                                               .outputs = any_outputs,
                                               .attrs = body_attrs,
                                               .samples = loop_samples,
                                               .is_control = true},
                                              {.name = "Scan",
                                               .versions = scan_versions,
                                               .inputs = any_inputs,
                                               .outputs = any_outputs,
                                               .attrs = scan_attrs,
                                               .samples = scan_samples,
                                               .is_control = true},
                                              {.name = "SequenceEmpty",
                                               .versions = versions_11,
                                               .inputs = no_inputs,
                                               .outputs = one_output,
                                               .attrs = dtype_attrs,
                                               .samples = empty_samples,
                                               .is_control = true},
                                              {.name = "SequenceConstruct",
                                               .versions = versions_11,
                                               .inputs = items,
                                               .outputs = one_output,
                                               .samples = construct_samples,
                                               .is_control = true},
                                              {.name = "SequenceInsert",
                                               .versions = versions_11,
                                               .inputs = insert_inputs,
                                               .outputs = one_output,
                                               .samples = insert_samples,
                                               .is_control = true},
                                              {.name = "SequenceErase",
                                               .versions = versions_11,
                                               .inputs = erase_inputs,
                                               .outputs = one_output,
                                               .samples = erase_samples,
                                               .is_control = true},
                                              {.name = "SequenceAt",
                                               .versions = versions_11,
                                               .inputs = at_inputs,
                                               .outputs = one_output,
                                               .samples = at_samples,
                                               .is_control = true},
                                              {.name = "SequenceLength",
                                               .versions = versions_11,
                                               .inputs = sequence_only,
                                               .outputs = one_output,
                                               .samples = length_samples,
                                               .is_control = true},
                                              {.name = "ConcatFromSequence",
                                               .versions = versions_11,
                                               .inputs = sequence_only,
                                               .outputs = one_output,
                                               .attrs = concat_attrs,
                                               .samples = concat_samples,
                                               .is_control = true},
                                              {.name = "SplitToSequence",
                                               .versions = split_versions,
                                               .inputs = split_inputs,
                                               .outputs = one_output,
                                               .attrs = split_attrs,
                                               .samples = split_samples,
                                               .is_control = true},
                                              {.name = "SequenceMap",
                                               .versions = versions_17,
                                               .inputs = map_inputs,
                                               .outputs = any_outputs,
                                               .attrs = body_attrs,
                                               .samples = map_samples,
                                               .is_control = true},
                                              {.name = "Optional",
                                               .versions = versions_15,
                                               .inputs = optional_inputs,
                                               .outputs = one_output,
                                               .attrs = type_attrs,
                                               .samples = optional_samples,
                                               .is_control = true},
                                              {.name = "OptionalHasElement",
                                               .versions = optional_versions,
                                               .inputs = optional_inputs,
                                               .outputs = one_output,
                                               .samples = has_samples,
                                               .is_control = true},
                                              {.name = "OptionalGetElement",
                                               .versions = optional_versions,
                                               .inputs = get_inputs,
                                               .outputs = one_output,
                                               .samples = get_samples,
                                               .is_control = true},
                                              {0}};
