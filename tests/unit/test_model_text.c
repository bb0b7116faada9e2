/* The text syntax: what it says arrives in the model, and what is wrong is named with line and column. */
#include "base/str.h"
#include "fixture.h"
#include "model/model.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]>\n"

static struct model *read_model(const char *text)
{
    struct model *m;
    if (!model_read_text(&diag, &arena, "test.onnxtxt", text, strlen(text), &m)) {
        diag_print(&diag, stderr);
        ck_abort_msg("refused: %s", text);
    }
    ck_assert_uint_eq(diag.errors, 0);
    return m;
}

/* The attributes of one node, written between '<' and '>'. */
static const struct model_node *read_attrs(const char *attrs)
{
    return read_model(arena_printf(&arena, HEAD "g () => () { y = Op <%s> () }", attrs))->graph->nodes.data[0];
}

static const struct model_attr *find_attr(const struct model_node *n, const char *name)
{
    for (size_t i = 0; i < n->attrs.count; i++)
        if (str_equal(n->attrs.data[i]->name, name))
            return n->attrs.data[i];
    ck_abort_msg("no attribute '%s'", name);
    return NULL;
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

START_TEST(header)
{
    const struct model *m = read_model("<ir_version: 8, model_version: 3, producer_name: \"me\", "
                                       "producer_version: \"1.0\",\n"
                                       " domain: \"org.example\", doc_string: \"two\nlines\",\n"
                                       " opset_import: [\"ai.onnx\" : 17, \"ai.onnx.preview.training\" : 1],\n"
                                       " metadata_props: [\"k\" : \"v\", \"caf\xc3\xa9\" : \"\"]>\n"
                                       "g () => () {}");
    ck_assert_int_eq(m->ir_version, 8);
    ck_assert_int_eq(m->model_version, 3);
    ck_assert_str_eq(m->producer_name, "me");
    ck_assert_str_eq(m->producer_version, "1.0");
    ck_assert_str_eq(m->domain, "org.example");
    ck_assert_str_eq(m->doc, "two\nlines");
    ck_assert_int_eq(model_opset(&m->opsets, ""), 17);
    ck_assert_int_eq(model_opset(&m->opsets, "ai.onnx.preview.training"), 1);
    ck_assert_uint_eq(m->metadata.count, 2);
    ck_assert_str_eq(m->metadata.data[1].key, "caf\xc3\xa9");
}
END_TEST

START_TEST(graph_values)
{
    const struct model *m = read_model(HEAD "\"the graph\" (float[N, 3, ?, \"odd name\"] x, int64 s, float[] r,\n"
                                            "  float[2] w = {1, -2.5e0}) =>\n"
                                            "  (y, double[2] z) # a comment\n"
                                            "  <float[0,5] none = {}, bool[2] info>\n"
                                            "{ y = Identity(x) }");
    const struct model_graph *g = m->graph;
    ck_assert_str_eq(g->name, "the graph");
    ck_assert_uint_eq(g->inputs.count, 4);
    const struct model_type *x = &g->inputs.data[0]->type;
    ck_assert_int_eq(x->elem, DTYPE_FLOAT);
    ck_assert_uint_eq(x->dims.count, 4);
    ck_assert_str_eq(x->dims.data[0].param, "N");
    ck_assert_int_eq(x->dims.data[1].value, 3);
    ck_assert(x->dims.data[2].value == -1 && !*x->dims.data[2].param);
    ck_assert_str_eq(x->dims.data[3].param, "odd name");
    ck_assert(g->inputs.data[1]->type.has_shape && g->inputs.data[1]->type.dims.count == 0);
    ck_assert(!g->inputs.data[2]->type.has_shape);
    ck_assert_double_eq(tensor_get_double(model_find_initializer(g, "w")->tensor, 1), -2.5);
    ck_assert_int_eq(g->outputs.data[0]->type.kind, TYPE_NONE);
    ck_assert_int_eq(g->outputs.data[1]->type.elem, DTYPE_DOUBLE);
    ck_assert_int_eq(model_find_initializer(g, "none")->tensor->count, 0);
    ck_assert_uint_eq(g->value_infos.count, 1);
    ck_assert_str_eq(g->value_infos.data[0]->name, "info");
}
END_TEST

START_TEST(composite_types)
{
    const struct model_graph *g =
        read_model(HEAD "g (seq(float[2]) a, optional(seq(int8)) b, map(string, double[N]) c, "
                        "sparse_tensor(float[3,4]) d, opaque(org.x, Thing) e, opaque() f) => () {}")->graph;
    const struct model_type *b = &g->inputs.data[1]->type, *c = &g->inputs.data[2]->type;
    ck_assert_int_eq(g->inputs.data[0]->type.kind, TYPE_SEQUENCE);
    ck_assert_int_eq(g->inputs.data[0]->type.element->elem, DTYPE_FLOAT);
    ck_assert(b->kind == TYPE_OPTIONAL && b->element->kind == TYPE_SEQUENCE && b->element->element->elem == DTYPE_INT8);
    ck_assert(c->kind == TYPE_MAP && c->elem == DTYPE_STRING && c->element->elem == DTYPE_DOUBLE);
    ck_assert_int_eq(g->inputs.data[3]->type.kind, TYPE_SPARSE_TENSOR);
    ck_assert_uint_eq(g->inputs.data[3]->type.dims.count, 2);
    ck_assert_str_eq(g->inputs.data[4]->type.opaque_domain, "org.x");
    ck_assert_str_eq(g->inputs.data[4]->type.opaque_name, "Thing");
    ck_assert_str_eq(g->inputs.data[5]->type.opaque_domain, "");
}
END_TEST

START_TEST(nodes_and_operands)
{
    const struct model_graph *g = read_model(HEAD "g (x) => (y) {\n"
                                                  "  [first] a, , b = org.example.Op:over (x, , \"\", \"odd "
                                                  "\\\"name\\\"\",)\n"
                                                  "  [] c = ai.onnx.Relu(a) <k = 1>\n"
                                                  "  [\"two words\"] = Sink()\n"
                                                  "  y = Last(\"\")\n"
                                                  "}")->graph;
    const struct model_node *n = g->nodes.data[0];
    ck_assert_str_eq(n->name, "first");
    ck_assert_str_eq(n->domain, "org.example");
    ck_assert_str_eq(n->op_type, "Op");
    ck_assert_str_eq(n->overload, "over");
    ck_assert_uint_eq(n->outputs.count, 3);
    ck_assert_str_eq(n->outputs.data[1], "");
    ck_assert_uint_eq(n->inputs.count, 4);
    ck_assert_str_eq(n->inputs.data[1], "");
    ck_assert_str_eq(n->inputs.data[2], "");
    ck_assert_str_eq(n->inputs.data[3], "odd \"name\"");
    ck_assert_int_eq(n->loc.line, 3);
    ck_assert_int_eq(n->loc.col, 3);
    ck_assert_int_eq(n->loc.index, 0);
    ck_assert_str_eq(g->nodes.data[1]->domain, "");
    ck_assert_int_eq(find_attr(g->nodes.data[1], "k")->i, 1);
    ck_assert_str_eq(g->nodes.data[2]->name, "two words");
    ck_assert_uint_eq(g->nodes.data[2]->outputs.count, 0);
    ck_assert_uint_eq(g->nodes.data[3]->inputs.count, 1);
}
END_TEST

START_TEST(functions)
{
    const struct model *m = read_model(HEAD "g (float[2] x) => (float[2] y) { y = local.scale <factor = 2.0> (x) }\n"
                                            "<domain: \"local\", opset_import: [\"\" : 18], overload: \"o\", "
                                            "doc_string: \"d\">\n"
                                            "scale <factor, shift : float = 1.5, n : int = 3> (float[N] x, y) "
                                            "=> (z) <float[N] t>\n"
                                            "{ t = Op <f : float = @factor> (x, y)  z = Neg(t) }\n"
                                            "plain (a) => (a) {}");
    const struct model_function *f = m->functions.data[0];
    ck_assert_uint_eq(m->functions.count, 2);
    ck_assert_str_eq(f->name, "scale");
    ck_assert_str_eq(f->domain, "local");
    ck_assert_str_eq(f->overload, "o");
    ck_assert_str_eq(f->doc, "d");
    ck_assert_int_eq(model_opset(&f->opsets, ""), 18);
    ck_assert_uint_eq(f->attributes.count, 1);
    ck_assert_uint_eq(f->attribute_defaults.count, 2);
    ck_assert_float_eq(f->attribute_defaults.data[0]->f, 1.5f);
    ck_assert_uint_eq(f->inputs.count, 2);
    ck_assert_str_eq(f->outputs.data[0], "z");
    ck_assert_uint_eq(f->value_infos.count, 1);
    const struct model_attr *ref = find_attr(f->nodes.data[0], "f");
    ck_assert_str_eq(ref->ref, "factor");
    ck_assert_int_eq(ref->type, ATTR_FLOAT);
    ck_assert_uint_eq(m->functions.data[1]->opsets.count, 0);
}
END_TEST

START_TEST(training_info)
{
    const struct model *m = read_model(HEAD "g (float[N,4] x) => (float[N,3] p) "
                                            "<float[4,3] W = {0,0,0,0,0,0,0,0,0,0,0,0}>\n"
                                            "{ p = MatMul(x, W) }\n"
                                            "@training_info {\n"
                                            "  initialization: init () => (float[4,3] W0) "
                                            "{ W0 = RandomNormal <shape = [4,3]> () }\n"
                                            "  initialization_binding: [\"W\" : \"W0\"]\n"
                                            "  algorithm: sgd (int64[N] label) => (float loss) "
                                            "{ loss = Loss(p, label) }\n"
                                            "  update_binding: [\"W\" : \"W_new\", \"t\" : \"t_new\"]\n"
                                            "}\n"
                                            "f (a) => (a) {}\n"
                                            "@training_info { algorithm: evaluate () => () {} update_binding: [] }");
    ck_assert_uint_eq(m->training.count, 2);
    ck_assert_uint_eq(m->functions.count, 1);
    const struct model_training *t = m->training.data[0];
    ck_assert_str_eq(t->initialization->name, "init");
    ck_assert_str_eq(t->algorithm->name, "sgd");
    ck_assert_str_eq(t->initialization_binding.data[0].value, "W0");
    ck_assert_uint_eq(t->update_binding.count, 2);
    ck_assert_str_eq(t->update_binding.data[1].key, "t");
    ck_assert_ptr_null(m->training.data[1]->initialization);
    ck_assert_uint_eq(m->training.data[1]->update_binding.count, 0);
}
END_TEST

/* ---- attributes -------------------------------------------------------------------------------------------------- */

START_TEST(attribute_scalars)
{
    const struct model_node *n = read_attrs("i = -3, f = 0.5, g = 1e2, from_int : float = 7, "
                                            "least = -9223372036854775808, s = \"a\\\\b\\\"c\\n\", "
                                            "none = nan, low = -Infinity, high = INF");
    ck_assert_int_eq(find_attr(n, "i")->i, -3);
    ck_assert_float_eq(find_attr(n, "f")->f, 0.5f);
    ck_assert_float_eq(find_attr(n, "g")->f, 100);
    ck_assert_int_eq(find_attr(n, "from_int")->type, ATTR_FLOAT);
    ck_assert_float_eq(find_attr(n, "from_int")->f, 7);
    ck_assert(find_attr(n, "least")->i == INT64_MIN);
    ck_assert_str_eq(find_attr(n, "s")->s.data, "a\\b\"cn");
    ck_assert(isnan(find_attr(n, "none")->f));
    ck_assert(find_attr(n, "low")->f == -INFINITY && find_attr(n, "high")->f == INFINITY);
}
END_TEST

START_TEST(attribute_lists)
{
    const struct model_node *n = read_attrs("ints = [1, -2], floats = [1.5, 2], declared : floats = [1, 2.5], "
                                            "strings = [\"a\", \"\"], empty : ints = [], "
                                            "graphs = [a () => () {}, b () => () {}], types = [float[2], seq(int8)], "
                                            "tensors = [float {1.5}, int8[2] {1, 2}]");
    ck_assert_uint_eq(find_attr(n, "ints")->ints.count, 2);
    ck_assert_float_eq(find_attr(n, "floats")->floats.data[1], 2);
    ck_assert_float_eq(find_attr(n, "declared")->floats.data[0], 1);
    ck_assert_uint_eq(find_attr(n, "strings")->strings.data[1].size, 0);
    ck_assert_int_eq(find_attr(n, "empty")->type, ATTR_INTS);
    ck_assert_uint_eq(find_attr(n, "empty")->ints.count, 0);
    ck_assert_str_eq(find_attr(n, "graphs")->graphs.data[1]->name, "b");
    ck_assert_int_eq(find_attr(n, "types")->types.data[1]->kind, TYPE_SEQUENCE);
    ck_assert_int_eq(tensor_get_int(find_attr(n, "tensors")->tensors.data[1], 1), 2);
}
END_TEST

START_TEST(attribute_tensors_graphs_types)
{
    const struct model_node *n = read_attrs("t = float[2] {1, 2}, named = int32[1] inside = {7}, "
                                            "assigned = double = {3}, type = float[N], "
                                            "g = body (float[2] a) => (b) <int8 w = {5}> "
                                            "{ b = Op <deep = inner () => () {}> (a) }");
    ck_assert_int_eq(find_attr(n, "t")->t->count, 2);
    ck_assert_str_eq(find_attr(n, "named")->t_name, "inside");
    ck_assert_int_eq(find_attr(n, "assigned")->t->shape.rank, 0);
    ck_assert_int_eq(find_attr(n, "type")->type, ATTR_TYPE_PROTO);
    ck_assert_str_eq(find_attr(n, "type")->tp->dims.data[0].param, "N");
    const struct model_graph *body = find_attr(n, "g")->g;
    ck_assert_uint_eq(body->initializers.count, 1);
    ck_assert_str_eq(find_attr(body->nodes.data[0], "deep")->g->name, "inner");
    ck_assert_str_eq(body->nodes.data[0]->loc.graph, "body");
}
END_TEST

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    double first; /* element 0 by value */
} elements[] = {
    {"float[2] {0.1, -inf}", (double)0.1f},
    {"double[1] {1e-310}", 1e-310},
    {"float[1] {nan}", NAN},
    {"float16[1] {15360}", 1}, /* 0x3c00: narrow floats are bit patterns */
    {"bfloat16[1] {16256}", 1},
    {"float8e4m3fn[1] {56}", 1},
    {"float4e2m1[2] {15, 2}", -6},
    {"bool[2] {1, 0}", 1},
    {"int8[1] {-128}", -128},
    {"uint8[1] {255}", 255},
    {"int64[1] {-9223372036854775808}", -9223372036854775808.0},
    {"uint64[1] {18446744073709551615}", 18446744073709551615.0},
    {"int4[3] {-8, 7, 0}", -8},
    {"uint4[1] {15}", 15},
    {"uint2[1] {3}", 3},
    {"float[2,2] {9, 8, 7, 6}", 9},
    {"double {-0}", -0.0},
};

START_TEST(element)
{
    const struct tensor *t = find_attr(read_attrs(arena_printf(&arena, "t = %s", elements[_i].text)), "t")->t;
    const double got = tensor_get_double(t, 0), want = elements[_i].first;
    ck_assert_msg(got == want || (isnan(got) && isnan(want)), "%s: %.17g", elements[_i].text, got);
}
END_TEST

START_TEST(last_element_repeats)
{
    const struct model_node *n = read_attrs("f = float[2,2] {1, 2, ...}, i = int8[5] {-1, ...}, "
                                            "h = float16[3] {15360, ...}");
    const float *const f = find_attr(n, "f")->t->data;
    ck_assert(f[0] == 1 && f[1] == 2 && f[2] == 2 && f[3] == 2);
    for (int64_t k = 0; k < 5; k++)
        ck_assert_int_eq(tensor_get_int(find_attr(n, "i")->t, k), -1);
    ck_assert(tensor_get_double(find_attr(n, "h")->t, 2) == 1);
}
END_TEST

/* Many times the same megabytes cost a few letters each: they are counted together. */
START_TEST(repeated_elements_are_bounded)
{
    static const char text[] = HEAD "g (float[2097152] v = {0, ...}, int8[2097152] w = {0, ...}%s) => () {}";
    struct model *m;
    const char *const most = arena_printf(&arena, text, "");
    ck_assert(model_read_text(&diag, &arena, "m.onnxtxt", most, strlen(most), &m));
    const char *const more = arena_printf(&arena, text, ", int8[1] x = {0, ...}");
    ck_assert(!model_read_text(&diag, &arena, "m.onnxtxt", more, strlen(more), &m));
    ck_assert_ptr_nonnull(strstr(diag_first_error(&diag), "more than 4194304 elements together"));
}
END_TEST

START_TEST(elements_without_value)
{
    const struct model_node *n = read_attrs("c = complex64[1] {1.5, -2}, s = string[2] {\"a\\\"\", \"\"}");
    const float *const c = find_attr(n, "c")->t->data;
    const struct tensor *const s = find_attr(n, "s")->t;
    ck_assert(c[0] == 1.5f && c[1] == -2);
    ck_assert_str_eq(s->strings[0], "a\"");
    ck_assert_uint_eq(s->string_lengths[1], 0);
}
END_TEST

/* ---- what is wrong ----------------------------------------------------------------------------------------------- */

#define G "g () => () "
static const struct {
    const char *text, *message;
    int line, col;
} faults[] = {
    {"", "ir_version", 1, 1},
    {"g () => () {}", "the model needs a header with ir_version", 1, 1},
    {"<ir_version: 10, weight: 3>", "unknown field 'weight' of the model", 1, 18},
    {"<ir_version: ten>", "expected a whole number, found 'ten'", 1, 14},
    {"<ir_version: 99999999999999999999>", "does not fit 64 bits", 1, 14},
    {"<ir_version 10>", "expected ':', found the number 10", 1, 13},
    {"<ir_version: 10, domain: x>", "expected domain as a string, found 'x'", 1, 26},
    {"<ir_version: 10, domain: \"x", "the string has no closing '\"'", 1, 26},
    {"<ir_version: 10, domain: \"x\\\"", "the string has no closing '\"'", 1, 26},
    {"<ir_version: 10, domain: \"a\xff\">", "domain is not valid UTF-8 at position 1 (byte 0xff)", 1, 26},
    {HEAD "g () = () {}", "expected '=>', found '='", 2, 6},
    {HEAD "g () => ()", "expected '{', found the end of the file", 2, 11},
    {HEAD G "{", "expected a node or '}', found the end of the file", 2, 13},
    {HEAD G "{}\nx", "expected '(', found the end of the file", 3, 2},
    {HEAD G "{ ! }", "unexpected character '!'", 2, 14},
    {HEAD G "{ \x01 }", "unexpected byte 0x01", 2, 14},
    {HEAD G "{ y Op() }", "expected ',' or '=', found 'Op'", 2, 16},
    {HEAD G "{ y = Op(x y) }", "expected ',' or ')', found 'y'", 2, 23},
    {HEAD G "{ y = (x) }", "expected an operator, found '('", 2, 18},
    {HEAD G "{ y = Op }", "expected '(', found '}'", 2, 21},
    {HEAD G "{ [a b] y = Op() }", "expected ']', found 'b'", 2, 17},
    {HEAD G "{ \"two\n\" = }", "expected an operator, found '}'", 3, 5},
    {HEAD "g (float[2 x) => () {}", "expected ']', found 'x'", 2, 12},
    {HEAD "g (float[-1] x) => () {}", "a dimension is negative", 2, 10},
    {HEAD "g (float[1.5] x) => () {}", "expected a whole number, found the number 1.5", 2, 10},
    {HEAD "g (float[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] x) => () {}", "more than", 2, -1},
    {HEAD "g (seq(flout) x) => () {}", "expected a type, found 'flout'", 2, 8},
    {HEAD "g (map(seq, float) x) => () {}", "'seq' is no element type", 2, 8},
    {HEAD "g (float) => () {}", "expected a value's name, found ')'", 2, 9},
    {HEAD "g () => (float y = {1}) {}", "expected ')', found '='", 2, 18},
    {HEAD "g (w = {1}) => () {}", "a known shape", 2, 8},
    {HEAD "g (float[N] w = {1}) => () {}", "constant dimensions", 2, 17},
    {HEAD "g (float[] w = {1}) => () {}", "a known shape", 2, 16},
    {HEAD "g (float[2] w = {1}) => () {}", "1 element for a tensor of shape [2]", 2, 17},
    {HEAD "g (float[1] w = {1, 2}) => () {}", "2 elements for a tensor of shape [1]", 2, 17},
    {HEAD "g (float[1] w = {...}) => () {}", "'...' repeats a number that stands before it", 2, 18},
    {HEAD "g (float[1] w = {1, 2, ...}) => () {}", "2 elements for a tensor of shape [1]", 2, 17},
    {HEAD "g (float[2] w = {1, ..}) => () {}", "expected '.', found '}'", 2, 23},
    {HEAD "g (float[4] w = {1, ..., 2}) => () {}", "expected '}', found ','", 2, 24},
    {HEAD "g (string[2] w = {\"a\", ...}) => () {}", "'...' repeats a number", 2, 24},
    {HEAD "g (complex64[2] w = {1, ...}) => () {}", "'...' repeats a number", 2, 25},
    {HEAD "g (complex64[1] w = {1}) => () {}", "a complex element is two", 2, 21},
    {HEAD "g (float[9000000000,9000000000,9] w = {1}) => () {}", "fits memory", 2, -1},
    {HEAD "g (int8[1] w = {128}) => () {}", "the number 128 does not fit int8", 2, 17},
    {HEAD "g (int8[1] w = {-129}) => () {}", "the number -129 does not fit int8", 2, 17},
    {HEAD "g (uint8[1] w = {-1}) => () {}", "the number -1 does not fit uint8", 2, 18},
    {HEAD "g (uint64[1] w = {18446744073709551616}) => () {}", "does not fit uint64", 2, 19},
    {HEAD "g (bool[1] w = {2}) => () {}", "the number 2 does not fit bool", 2, 17},
    {HEAD "g (int32[1] w = {1.0}) => () {}", "expected a whole number, found the number 1.0", 2, 18},
    {HEAD "g (float16[1] w = {1.0}) => () {}", "expected a whole number", 2, 20},
    {HEAD "g (float4e2m1[1] w = {16}) => () {}", "the number 16 does not fit float4e2m1", 2, 23},
    {HEAD "g (float[1] w = {1e39}) => () {}", "the number 1e39 does not fit float", 2, 18},
    {HEAD "g (double[1] w = {1e309}) => () {}", "the number 1e309 does not fit double", 2, 19},
    {HEAD "g (double[1] w = {1e}) => () {}", "'1e' is no number", 2, 19},
    {HEAD "g (float[1] w = {one}) => () {}", "expected a number, found 'one'", 2, 18},
    {HEAD "g (string[1] w = {1}) => () {}", "expected a string, found the number 1", 2, 19},
    {HEAD "g (float[1] w = [\"location\" : \"f\"]) => () {}", "external data", 2, 17},
    {HEAD G "{ y = Op <a> () }", "expected '=', found '>'", 2, 23},
    {HEAD G "{ y = Op <a = > () }", "expected an attribute's value, found '>'", 2, 26},
    {HEAD G "{ y = Op <a = word> () }", "expected an attribute's value, found 'word'", 2, 26},
    {HEAD G "{ y = Op <a : number = 1> () }", "'number' is no attribute type", 2, 26},
    {HEAD G "{ y = Op <a : ints = 1> () }", "attribute 'a' is declared ints but its value is int", 2, 33},
    {HEAD G "{ y = Op <a : int = 1.5> () }", "attribute 'a' is declared int but its value is float", 2, 32},
    {HEAD G "{ y = Op <a = []> () }", "the type of the empty list 'a' must be given", 2, 26},
    {HEAD G "{ y = Op <a = [1, \"x\"]> () }", "a list holds int and string", 2, 30},
    {HEAD G "{ y = Op <a = [1, ]> () }", "expected an attribute's value, found ']'", 2, 30},
    {HEAD G "{ y = Op <a = @b> () }", "the type of the referenced attribute must be given", 2, 26},
    {HEAD G "{ y = Op <a : ints = [@b]> () }", "a list cannot hold a reference", 2, 34},
    {HEAD G "{ y = Op <a : ints = [@\"\"]> () }", "a list cannot hold a reference", 2, 34},
    {HEAD G "{ y = Op <a = 1e39> () }", "does not fit float", 2, 26},
    {HEAD G "{ y = Op <a = -x> () }", "'-x' is no number", 2, 26},
    {HEAD G "{ y = Op <a = 9223372036854775808> () }", "does not fit 64 bits", 2, 26},
    {HEAD G "{ y = Op <a = \"open> () }", "the string has no closing", 2, 26},
    {HEAD G "{ y = Op <a = 1> () <b = 2> }", "expected ',' or '=', found '<'", 2, 32},
    {HEAD G "{}\n@training { }", "expected @training_info, found 'training'", 3, 2},
    {HEAD G "{}\n@training_info { update: [] }", "unknown section 'update' of @training_info", 3, 18},
    {HEAD G "{}\n@training_info { update_binding: [] update_binding: [] }", "section 'update_binding' stands twice", 3,
     37},
    {HEAD G "{}\n@training_info { update_binding: [\"W\" \"V\"] }", "expected ':', found a string", 3, 39},
    {HEAD G "{}\n@training_info {", "expected a section of @training_info, found the end of the file", 3, 17},
    {HEAD G "{}\n<opset: 1> f () => () {}", "unknown field 'opset' of the function", 3, 2},
    {HEAD G "{}\nf (float[1] a = {1}) => () {}", "expected ')', found '='", 3, 15},
    {HEAD G "{}\nf (a) => (a) <float w = {1}> {}", "expected '>', found '='", 3, 23},
};

START_TEST(fault)
{
    struct model *m;
    const char *text = faults[_i].text;
    ck_assert_msg(!model_read_text(&diag, &arena, "test.onnxtxt", text, strlen(text), &m), "accepted: %s", text);
    ck_assert_uint_eq(diag.messages.count, 1); /* the first fault, nothing after it */
    const struct diag_message *got = &diag.messages.data[0];
    ck_assert_msg(strstr(got->text, faults[_i].message), "%s\ngives: %s", text, got->text);
    ck_assert_msg(got->loc.line == faults[_i].line && (faults[_i].col < 0 || got->loc.col == faults[_i].col),
                  "%s\ngives %d:%d: %s", text, got->loc.line, got->loc.col, got->text);
    ck_assert_str_eq(got->loc.file, "test.onnxtxt");
    ck_assert_ptr_nonnull(got->loc.source_line);
}
END_TEST

START_TEST(names_without_nul)
{
    static const char text[] = HEAD "g (\"a\0b\") => () {}";
    struct model *m;
    ck_assert(!model_read_text(&diag, &arena, "t", text, sizeof text - 1, &m));
    ck_assert_str_eq(diag.messages.data[0].text, "a value's name has a NUL character at position 1");
}
END_TEST

/* Depth is bounded, so that no file can exhaust the stack. */
START_TEST(nesting_is_bounded)
{
    struct strbuf types = {.arena = &arena}, graphs = {.arena = &arena};
    struct model *m;
    strbuf_add(&types, HEAD "g (");
    strbuf_add(&graphs, HEAD "g () => () {");
    for (int i = 0; i < 100000; i++) {
        strbuf_add(&types, "seq(");
        strbuf_add(&graphs, "y=A<g=a()=>(){");
    }
    ck_assert(!model_read_text(&diag, &arena, "t", types.text, types.length, &m));
    ck_assert(!model_read_text(&diag, &arena, "t", graphs.text, graphs.length, &m));
    ck_assert_uint_eq(diag.messages.count, 2);
    ck_assert_str_eq(diag.messages.data[1].text, "types or graphs nest more than 32 deep");
}
END_TEST

/* Memory grows with the file, not with its square: each string once took as much as the rest of the file. */
START_TEST(many_strings_stay_small)
{
    enum { COUNT = 100000 };
    struct strbuf text = {.arena = &arena};
    struct model *m;
    strbuf_add(&text, HEAD "g () => () { y = Op <a = [\"x\"");
    for (int i = 1; i < COUNT; i++)
        strbuf_add(&text, ",\"x\"");
    strbuf_add(&text, "]> () }");
    struct arena own = {0};
    ck_assert(model_read_text(&diag, &own, "t", text.text, text.length, &m));
    ck_assert_uint_eq(m->graph->nodes.data[0]->attrs.data[0]->strings.count, COUNT);
    ck_assert_uint_lt(arena_bytes(&own), 200 * COUNT);
    arena_free(&own);
}
END_TEST

/* Reads only what it was given: the byte after the text does not matter. */
START_TEST(every_prefix_is_safe)
{
    const char *text = HEAD "g (float[N,2] x, seq(int8) s) => (y) <int4[2] w = {-1, 3}> # comment\n"
                            "{ [n] y = a.B:c <t = float[1] {1.5e1}, g = b (p) => (q) {}, l : ints = [], "
                            "r : int = @z> (x, \"q\\\"\") }\n"
                            "@training_info { algorithm: t () => () {} update_binding: [\"a\" : \"b\"] }\n"
                            "<domain: \"d\"> f <u, v = 1> (a) => (b) {}";
    const size_t size = strlen(text);
    for (size_t n = 0; n < size; n++) {
        struct arena own = {0};
        struct diag d = {.arena = &own};
        struct model *m;
        char *copy = malloc(n ? n : 1); /* exactly as long: sanitizers see a byte too far */
        memcpy(copy, text, n);
        const bool ok = model_read_text(&d, &own, "t", copy, n, &m);
        ck_assert(ok == (d.errors == 0));
        free(copy);
        arena_free(&own);
    }
    read_model(text);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("text");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, header);
    tcase_add_test(t, graph_values);
    tcase_add_test(t, composite_types);
    tcase_add_test(t, nodes_and_operands);
    tcase_add_test(t, functions);
    tcase_add_test(t, training_info);
    tcase_add_test(t, attribute_scalars);
    tcase_add_test(t, attribute_lists);
    tcase_add_test(t, attribute_tensors_graphs_types);
    tcase_add_loop_test(t, element, 0, (int)(sizeof elements / sizeof *elements));
    tcase_add_test(t, last_element_repeats);
    tcase_add_test(t, repeated_elements_are_bounded);
    tcase_add_test(t, elements_without_value);
    tcase_add_loop_test(t, fault, 0, (int)(sizeof faults / sizeof *faults));
    tcase_add_test(t, names_without_nul);
    tcase_add_test(t, nesting_is_bounded);
    tcase_add_test(t, many_strings_stay_small);
    tcase_add_test(t, every_prefix_is_safe);
    return run_tests("text models", t);
}
