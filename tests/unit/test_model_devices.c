/* Distribution over devices: every field by its number there and back, the text form, and what is wrong with it. */
#include "model/check_model.h"
#include "wire.h"
#include "suite.h"

#define HEAD "<ir_version: 11, opset_import: [\"\" : 21]>\n"

static const char text[] = "<\n"
                           "  ir_version: 11,\n"
                           "  opset_import: [\"\" : 21],\n"
                           "  configuration: [\"pair\" : 2 (\"gpu:0\", \"gpu:1\"), \"four\" : 4]\n"
                           ">\n"
                           "net (float[N,4] x, float[4,6] w) => (float[N,6] y)\n"
                           "{\n"
                           "  h = MatMul (x, w)\n"
                           "      @pair <stage = 0> (x [0, 1] split (0: N in 2), w [-1] groups (-1: [0, 1]))\n"
                           "      @four (w [0, 1, 2, -7] groups (-7: [3], 9: []) split (-1: [2 in 1, 3 in 4], 0: []))\n"
                           "  y = Relu (h)\n"
                           "      @\"a b\" <stage = -3> ()\n"
                           "}\n";

static struct model *from_text(const char *s)
{
    struct model *m;
    ck_assert(model_read_text(&diag, &arena, "devices.onnxtxt", s, strlen(s), &m));
    return m;
}

static const char *to_text(const struct model *m)
{
    const char *s;
    size_t size;
    ck_assert(model_encode_text(&diag, &arena, m, false, &s, &size));
    return s;
}

START_TEST(there_and_back)
{
    struct model *m = from_text(text), *again;
    unsigned char *bytes;
    size_t size;
    ck_assert_str_eq(to_text(m), text);
    ck_assert(model_encode_onnx(&diag, &arena, m, &bytes, &size));
    ck_assert(model_read_onnx(&diag, &arena, "devices.onnx", bytes, size, &again));
    ck_assert_str_eq(to_text(again), text);
}
END_TEST

static struct wire node_with(const struct wire *spec)
{
    struct wire node = {0}, entry = {0};
    put_string(&entry, 1, "pair");
    put_message(&entry, 2, spec);
    put_int(&entry, 3, 5);
    put_string(&node, NODE_INPUT, "x");
    put_string(&node, 2, "y");
    put_string(&node, NODE_OP, "Relu");
    put_message(&node, 10, &entry);
    return node;
}

static bool read_node_with(const struct wire *spec, struct model **out)
{
    struct wire m = {0}, g = {0}, configuration = {0}, opset = {0};
    const struct wire node = node_with(spec);
    put_string(&configuration, 1, "pair");
    put_int(&configuration, 2, 2);
    put_string(&configuration, 3, "left");
    put_string(&configuration, 3, "right");
    put_message(&g, GRAPH_NODE, &node);
    put_string(&g, GRAPH_NAME, "g");
    put_int(&opset, 2, 21);
    put_int(&m, MODEL_IR, 11);
    put_message(&m, MODEL_GRAPH, &g);
    put_message(&m, MODEL_OPSET, &opset);
    put_message(&m, 26, &configuration);
    return model_read_onnx(&diag, &arena, "wire.onnx", m.data, m.count, out);
}

/* Numbers as in onnx.proto of release 1.18. */
START_TEST(fields_have_their_numbers)
{
    struct wire spec = {0}, entry = {0}, axis = {0}, size = {0}, symbol = {0};
    struct model *m;
    put_int(&size, 1, 8);
    put_int(&size, 3, 2);
    put_string(&symbol, 2, "N");
    put_int(&symbol, 3, 1);
    put_int(&axis, 1, -1);
    put_message(&axis, 2, &size);
    put_message(&axis, 2, &symbol);
    put_int(&entry, 1, -4);
    put_int(&entry, 2, 0);
    put_int(&entry, 2, 1);
    put_string(&spec, 1, "x");
    put_int(&spec, 2, -4);
    put_int(&spec, 2, 1);
    put_message(&spec, 3, &entry);
    put_message(&spec, 4, &axis);
    ck_assert(read_node_with(&spec, &m));
    ck_assert_ptr_nonnull(strstr(to_text(m), "configuration: [\"pair\" : 2 (\"left\", \"right\")]"));
    ck_assert_ptr_nonnull(
        strstr(to_text(m), "@pair <stage = 5> (x [-4, 1] groups (-4: [0, 1]) split (-1: [8 in 2, N in 1]))"));
}
END_TEST

START_TEST(sizes_are_not_negative)
{
    struct wire spec = {0}, axis = {0}, size = {0};
    struct model *m;
    put_int(&size, 1, -8);
    put_message(&axis, 2, &size);
    put_message(&spec, 4, &axis);
    ck_assert(!read_node_with(&spec, &m));
    ck_assert_str_eq(diag.messages.data[0].text, "a sharding specification's dim_value is -8");
}
END_TEST

static const struct {
    const char *devices, *error;
} faults[] = {
    {"@", "expected a configuration's name, found '}'"},
    {"@pair", "expected '(', found '}'"},
    {"@pair <1> ()", "expected 'stage', found the number 1"},
    {"@pair <stage = 3000000000> ()", "3000000000 is no number of 32 bits"},
    {"@pair (x)", "expected '[', found ')'"},
    {"@pair (x [a])", "expected a whole number, found 'a'"},
    {"@pair (x [0] groups [])", "expected '(', found '['"},
    {"@pair (x [0] split (0 2))", "expected ':', found the number 2"},
    {"@pair (x [0] split (0: N 2))", "expected 'in', found the number 2"},
    {"@pair (x [0] split (0: -3 in 2))", "a dimension is -3"},
};

START_TEST(fault)
{
    const char *const s =
        arena_printf(&arena, HEAD "g (float[2] x) => (float[2] y) { y = Relu (x) %s }", faults[_i].devices);
    struct model *m;
    ck_assert(!model_read_text(&diag, &arena, "fault.onnxtxt", s, strlen(s), &m));
    ck_assert_str_eq(diag.messages.data[0].text, faults[_i].error);
    ck_assert_int_eq(diag.messages.data[0].loc.line, 2);
}
END_TEST

/* Wherever the node stands: shardings of what it no longer has go, the others stay. */
static const char *const stale[] = {
    HEAD "g (float[2] x) => (float[2] y) { y = Neg (x) @pair (x [0], w [1], y [1]) }",
    HEAD "g (float[2] x, bool c) => (float[2] y) { y = If <\n"
         "then_branch = t () => (float[2] a) { a = Neg (x) @pair (x [0], w [1], a [1]) },\n"
         "else_branch = e () => (float[2] b) { b = Exp (x) }> (c) }",
    HEAD "g (float[2] x) => (float[2] y) { y = Neg (x) }\n"
         "@training_info { initialization: i () => (float[2] z) { z = Neg (v) @pair (w [0], v [1]) } }",
    HEAD "g (float[2] x) => (float[2] y) { y = Neg (x) }\n"
         "@training_info { algorithm: a () => (float[2] z) { z = Neg (y) @pair (w [0], z [1]) } }",
};

START_TEST(stale_shardings_go)
{
    struct model *const m = from_text(stale[_i]);
    ck_assert_ptr_nonnull(strstr(to_text(m), "w ["));
    model_drop_stale_devices(&diag, m);
    ck_assert_uint_eq(diag.messages.count, 1);
    ck_assert_str_eq(diag.messages.data[0].text,
                     "1 sharding of tensors that the node no longer has, the first of 'w', is left out");
    const char *const now = to_text(m);
    ck_assert(!strstr(now, "w ["));
    ck_assert_ptr_nonnull(strstr(now, " [1]"));
    model_drop_stale_devices(&diag, m);
    ck_assert_uint_eq(diag.messages.count, 1);
    ck_assert_str_eq(to_text(m), now);
}
END_TEST

int main(void)
{
    TCase *const t = tcase_create("annotations");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, there_and_back);
    tcase_add_test(t, fields_have_their_numbers);
    tcase_add_test(t, sizes_are_not_negative);
    tcase_add_loop_test(t, stale_shardings_go, 0, (int)(sizeof stale / sizeof *stale));
    tcase_add_loop_test(t, fault, 0, (int)(sizeof faults / sizeof *faults));
    return run_tests("distribution over devices", t);
}
