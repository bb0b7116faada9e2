/* Plain models: what is called what, which version of an operator is written, what is refused. That they compute the
 * same is for the samples of operators (tests/ops/sample_expand.c) and tests/onnxruntime. */
#include "expand/expand.h"

#include "base/str.h"
#include "engine/pipeline.h"
#include "fixture.h"
#include "suite.h"
#include <string.h>

static expanded_list list;
static const char *give_name; /* to the first output of the main graph, which the text cannot say; NULL: none */

static bool expand(const char *text, const struct expand_options *o)
{
    struct expand_choice choice = {.opset = o->opset};
    const struct pipeline_options pipeline = {.name = "test",
                                              .passes = {.stays = expand_stays, .stays_to = &choice}};
    struct model *m;
    struct program *p;
    const char *const whole = arena_printf(
        &arena, "<ir_version: 10, opset_import: [\"\" : 26, \"ai.onnx.preview.training\" : 1]>\n%s", text);
    if (!model_read_text(&diag, &arena, "test.onnxtxt", whole, strlen(whole), &m))
        ck_abort_msg("%s", diag_first_error(&diag));
    if (give_name)
        m->graph->outputs.data[0]->name = m->graph->nodes.data[0]->outputs.data[0] = give_name;
    give_name = NULL;
    if (!pipeline_canonical(&diag, &arena, m, &pipeline, &p))
        ck_abort_msg("%s", diag_first_error(&diag));
    return expand_program(&arena, p, o, &list);
}

static void must_expand(const char *text, const struct expand_options *o)
{
    if (!expand(text, o))
        ck_abort_msg("%s", diag_first_error(&diag));
}

static const struct model *model_of(const char *entry)
{
    vec_each_ptr(const struct expanded, x, &list)
        if (str_equal(x->entry, entry))
            return x->model;
    ck_abort_msg("no entry %s", entry);
}

static const char *names_of(const model_values *values)
{
    struct strbuf b = {.arena = &arena};
    vec_each(const struct model_value_info *, v, values)
        strbuf_addf(&b, "%s%s", b.length > 0 ? " " : "", v->name);
    return strbuf_text(&b);
}

static const struct model_node *node_of(const struct model_graph *g, const char *op)
{
    vec_each(const struct model_node *, n, &g->nodes)
        if (str_equal(n->op_type, op))
            return n;
    return NULL;
}

static const char *metadata_of(const struct model *m, const char *key)
{
    vec_each_ptr(const struct model_pair, p, &m->metadata)
        if (str_equal(p->key, key))
            return p->value;
    return NULL;
}

static void refused(const char *text, int opset, const char *message)
{
    ck_assert(!expand(text, &(struct expand_options){.opset = opset}));
    ck_assert_msg(strstr(diag_first_error(&diag), message), "%s", diag_first_error(&diag));
}

#define AT(version) &(struct expand_options){.opset = (version)}

/* ---- names ------------------------------------------------------------------------------------------------------- */

#define COUNTING                                                                                                       \
    "net (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }\n"                                       \
    "@training_info {\n  algorithm: step (float[2] x) => (float[2] d, float[2] e) { g = Add(x, x)\n d = Sub(w, g)\n"   \
    "    e = Identity(d) }\n  update_binding: [\"w\" : \"e\"]\n}"

/* One value that is an output and what a variable becomes has two names. */
START_TEST(output_is_also_new_content)
{
    must_expand(COUNTING, AT(18));
    const struct model *const step = model_of("step");
    ck_assert_str_eq(names_of(&step->graph->inputs), "x w");
    ck_assert_str_eq(names_of(&step->graph->outputs), "y d w.new");
    ck_assert_str_eq(node_of(step->graph, "Identity")->inputs.data[0], "d");
    ck_assert_str_eq(node_of(step->graph, "Identity")->outputs.data[0], "w.new");
    ck_assert_str_eq(metadata_of(step, "stepc.entry"), "step");
    ck_assert_str_eq(metadata_of(step, "stepc.variables"),
                     "[{\"name\": \"w\", \"role\": \"weight\", \"input\": \"w\", \"output\": \"w.new\"}]");
}
END_TEST

/* A name that the model has itself is not taken. */
START_TEST(output_has_the_name_of_new_content)
{
    give_name = "w.new";
    must_expand(COUNTING, AT(18));
    const struct model *const step = model_of("step");
    ck_assert_str_eq(names_of(&step->graph->outputs), "w.new d w.new_2");
    ck_assert(strstr(metadata_of(step, "stepc.variables"), "\"output\": \"w.new_2\""));
}
END_TEST

/* infer() reads, init() gives; where the file has no initialization, what it holds itself. */
START_TEST(entries_read_and_give_variables)
{
    must_expand(COUNTING, AT(18));
    const struct model *const infer = model_of("infer"), *const init = model_of("init");
    ck_assert_str_eq(names_of(&infer->graph->inputs), "x w");
    ck_assert_str_eq(names_of(&infer->graph->outputs), "y");
    ck_assert_str_eq(metadata_of(infer, "stepc.variables"),
                     "[{\"name\": \"w\", \"role\": \"weight\", \"input\": \"w\"}]");
    ck_assert_str_eq(names_of(&init->graph->inputs), "");
    ck_assert_str_eq(names_of(&init->graph->outputs), "w.new");
    ck_assert_uint_eq(init->graph->initializers.count, 1);
    ck_assert(tensor_get_double(init->graph->initializers.data[0]->tensor, 1) == 2);
}
END_TEST

START_TEST(only_one_entry)
{
    must_expand(COUNTING, &(struct expand_options){.opset = 18, .entry = "infer"});
    ck_assert_uint_eq(list.count, 1);
    ck_assert_str_eq(list.data[0].entry, "infer");
}
END_TEST

/* An input that is given out, a constant, and one value under two names. */
START_TEST(outputs_are_results)
{
    must_expand("net (float[2] x) => (float[2] x, float[2] c, float[2] a, float[2] b) "
                "{ c = Constant <value_floats = [1.0, 2.0]> () a = Neg(x) b = Identity(a) }", AT(18));
    const struct model_graph *const g = model_of("infer")->graph;
    ck_assert_uint_eq(list.count, 1); /* nothing changes: there is no init() */
    ck_assert_str_eq(names_of(&g->outputs), "x_2 c a b");
    ck_assert_uint_eq(g->nodes.count, 4);
    vec_each(const struct model_value_info *, v, &g->outputs)
        ck_assert(v->type.elem == DTYPE_FLOAT && v->type.dims.data[0].value == 2);
}
END_TEST

START_TEST(every_result_has_a_shape)
{
    must_expand("net (float[2,3] x) => (float[2] y) { s = Softmax(x) a = Constant <value_ints = [1]> () "
                "y = ReduceMax <keepdims = 0> (s, a) }", AT(18));
    const struct model_graph *const g = model_of("infer")->graph;
    vec_each(const struct model_node *, n, &g->nodes)
        vec_each(const char *, name, &n->outputs)
            ck_assert(model_find_value(&g->value_infos, name) || model_find_value(&g->outputs, name));
}
END_TEST

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

#define DRAWING                                                                                                        \
    "net (float[5] x) => (float[5] y) <float[5] w = {1, 2, 3, 4, 5}> { y = Add(x, w) }\n"                              \
    "@training_info {\n  initialization: start () => (float[5] first) { first = RandomNormal <shape = [5]> () }\n"     \
    "  initialization_binding: [\"w\" : \"first\"]\n"                                                                  \
    "  algorithm: step () => (float[5] d) { d = RandomUniform <shape = [5], low = 1.0, high = 3.0> () }\n"             \
    "  update_binding: [\"w\" : \"d\"]\n}"

START_TEST(random_state_is_variables)
{
    must_expand(DRAWING, AT(18));
    ck_assert_str_eq(names_of(&model_of("init")->graph->inputs), "random_seed");
    ck_assert_str_eq(names_of(&model_of("init")->graph->outputs), "w.new random_seed.new random_counter.new");
    ck_assert_str_eq(names_of(&model_of("step")->graph->inputs), "x w random_seed random_counter");
    ck_assert_str_eq(names_of(&model_of("step")->graph->outputs), "y w.new random_counter.new");
    ck_assert_str_eq(names_of(&model_of("infer")->graph->inputs), "x w");
    ck_assert(strstr(metadata_of(model_of("step"), "stepc.variables"),
                     "{\"name\": \"random_seed\", \"role\": \"random\", \"input\": \"random_seed\"}"));
    ck_assert(node_of(model_of("step")->graph, "BitwiseXor") != NULL);
}
END_TEST

START_TEST(no_bitwise_operators_before_18)
{
    must_expand(DRAWING, AT(17));
    ck_assert(node_of(model_of("step")->graph, "BitwiseXor") == NULL);
}
END_TEST

START_TEST(random_numbers_of_the_runtime)
{
    must_expand(DRAWING, &(struct expand_options){.opset = 18, .native_random = true});
    ck_assert_str_eq(names_of(&model_of("step")->graph->inputs), "x w");
    ck_assert(node_of(model_of("step")->graph, "RandomUniform") != NULL);
    ck_assert(node_of(model_of("init")->graph, "RandomNormal") != NULL);
}
END_TEST

/* Dropout's seed is an integer, RandomUniform's a float. */
START_TEST(seed_of_the_runtime_is_a_float)
{
    must_expand("net (float[5] x, float r) => (float[5] y) { i = Constant <value_int = 1> () t = Cast <to = 9> (i) "
                "y = Dropout <seed = 7> (x, r, t) }",
                &(struct expand_options){.opset = 18, .native_random = true});
    const struct model_node *const n = node_of(model_of("infer")->graph, "RandomUniform");
    const struct model_attr *const seed = model_find_attr(&n->attrs, "seed");
    ck_assert(seed->type == ATTR_FLOAT && seed->f == 7.0f);
}
END_TEST

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static const struct model_node *written(const char *text, const char *op, int opset)
{
    must_expand(text, AT(opset));
    const struct model_node *const n = node_of(model_of("infer")->graph, op);
    ck_assert_msg(n != NULL, "no %s", op);
    return n;
}

START_TEST(axes_were_an_attribute)
{
    static const char text[] = "net (float[2,3] x) => (float[2] y) { a = Constant <value_ints = [1]> () "
                               "y = ReduceMax <keepdims = 0> (x, a) }";
    const struct model_node *n = written(text, "ReduceMax", 18);
    ck_assert_uint_eq(n->inputs.count, 2);
    ck_assert(model_find_attr(&n->attrs, "axes") == NULL);
    n = written(text, "ReduceMax", 17);
    ck_assert_uint_eq(n->inputs.count, 1);
    ck_assert_int_eq(model_find_attr(&n->attrs, "axes")->ints.data[0], 1);
    ck_assert_uint_eq(model_of("infer")->graph->initializers.count, 0);
}
END_TEST

START_TEST(axes_of_pad_are_all)
{
    static const char text[] = "net (float[2,3] x) => (float[2,6] y) { p = Constant <value_ints = [1, 2]> () "
                               "a = Constant <value_ints = [-1]> () y = Pad(x, p, \"\", a) }";
    ck_assert_uint_eq(written(text, "Pad", 18)->inputs.count, 4);
    const struct model_node *const n = written(text, "Pad", 13);
    ck_assert_uint_eq(n->inputs.count, 2);
    const struct tensor *const pads = model_find_initializer(model_of("infer")->graph, n->inputs.data[1])->tensor;
    ck_assert_int_eq(pads->count, 4);
    ck_assert(tensor_get_int(pads, 1) == 1 && tensor_get_int(pads, 3) == 2);
}
END_TEST

START_TEST(parts_of_split_are_sizes)
{
    static const char text[] = "net (float[5] x) => (float[2] a, float[2] b, float[1] c) "
                               "{ a, b, c = Split <num_outputs = 3> (x) }";
    ck_assert(model_find_attr(&written(text, "Split", 18)->attrs, "num_outputs"));
    const struct model_node *const n = written(text, "Split", 13);
    ck_assert(!model_find_attr(&n->attrs, "num_outputs"));
    const struct tensor *const sizes = model_find_initializer(model_of("infer")->graph, n->inputs.data[1])->tensor;
    ck_assert(tensor_get_int(sizes, 0) == 2 && tensor_get_int(sizes, 2) == 1);
}
END_TEST

START_TEST(windows_of_averages_have_no_dilations)
{
    static const char text[] = "net (float[1,1,5] x) => (float[1,1,4] y) "
                               "{ y = AveragePool <kernel_shape = [2], dilations = [1]> (x) }";
    ck_assert(!model_find_attr(&written(text, "AveragePool", 18)->attrs, "dilations"));
    ck_assert(model_find_attr(&written(text, "AveragePool", 19)->attrs, "dilations"));
}
END_TEST

/* Attributes that came later are left out where they say nothing. */
START_TEST(defaults_are_left_out)
{
    static const char text[] = "net (float[2] x) => (double[2] y) { y = Cast <to = 11, saturate = 1> (x) }";
    ck_assert(!model_find_attr(&written(text, "Cast", 13)->attrs, "saturate"));
    ck_assert(model_find_attr(&written(text, "Cast", 19)->attrs, "saturate"));
}
END_TEST

START_TEST(what_came_later_is_refused)
{
    refused("net (uint8[2] x, uint8[2] z) => (uint8[2] y) { y = BitwiseAnd(x, z) }", 17, "BitwiseAnd needs --opset 18");
    diag = (struct diag){.arena = &arena};
    refused("net (int8[2] x, int8[2] z) => (int8[2] y) { y = Add(x, z) }", 13,
            "input 0 of Add is int8, which needs --opset 14");
    diag = (struct diag){.arena = &arena};
    refused("net (float[2,0] x) => (float[0,3] y) { s = Constant <value_ints = [0, 3]> () "
            "z = Reshape <allowzero = 1> (x, s) y = Abs(z) }", 13, "attribute 'allowzero' of Reshape needs --opset 14");
}
END_TEST

START_TEST(format_of_the_opset)
{
    static const int rows[][2] = {{13, 7}, {14, 7}, {15, 8}, {18, 8}, {19, 9}, {21, 10}, {23, 11}, {24, 12}, {26, 13}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        must_expand("net (float[2] x) => (float[2] y) { y = Abs(x) }", AT(rows[i][0]));
        ck_assert_int_eq(model_of("infer")->ir_version, rows[i][1]);
        ck_assert_int_eq(model_opset(&model_of("infer")->opsets, ""), rows[i][0]);
    }
}
END_TEST

/* ---- composites -------------------------------------------------------------------------------------------------- */

/* What runtimes know stays, but for what the opset has not, or what another node computes as well. */
START_TEST(composites_stay)
{
    static const char text[] = "net (float[2,3] x) => (float[2,3] y) { s = Softmax(x) y = Gelu(s) }";
    must_expand(text, AT(20));
    ck_assert(node_of(model_of("infer")->graph, "Softmax") && node_of(model_of("infer")->graph, "Gelu"));
    must_expand(text, AT(19));
    ck_assert(node_of(model_of("infer")->graph, "Softmax") && !node_of(model_of("infer")->graph, "Gelu"));
    must_expand("net (float16[2,3] x) => (float16[2,3] y) { y = Softmax(x) }", AT(20));
    ck_assert_str_eq(node_of(model_of("infer")->graph, "Cast")->outputs.data[0],
                     node_of(model_of("infer")->graph, "Softmax")->inputs.data[0]);
}
END_TEST

START_TEST(composites_of_gradients_do_not_stay)
{
    must_expand("net (float[2,3] x) => (float y, float[2,3] d) { s = Softmax(x) q = Mul(s, s) "
                "y = ReduceSum <keepdims = 0> (q) "
                "d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (x) }", AT(20));
    ck_assert(!node_of(model_of("infer")->graph, "Softmax") && node_of(model_of("infer")->graph, "Exp"));
}
END_TEST

/* ---- regions ----------------------------------------------------------------------------------------------------- */

#define RECURRENT                                                                                                      \
    "net (float[2,4,3] x, float[1,5,3] w, float[1,5,5] r) => (float[2,4,1,5] y, float[2,1,5] h) "                      \
    "{ y, h = RNN <hidden_size = 5, layout = 1%s> (x, w, r) }"

START_TEST(recurrent_layer_is_a_scan)
{
    const struct model_node *const n = written(arena_printf(&arena, RECURRENT, ""), "Scan", 18);
    const struct model_graph *const body = model_find_attr(&n->attrs, "body")->g;
    ck_assert_int_eq(model_find_attr(&n->attrs, "num_scan_inputs")->i, 1);
    ck_assert(model_find_attr(&n->attrs, "scan_input_directions") == NULL);
    ck_assert_uint_eq(n->inputs.count, body->inputs.count);
    ck_assert_uint_eq(n->outputs.count, body->outputs.count);
    vec_each(const struct model_value_info *, v, &body->inputs)
        ck_assert(!model_find_value(&model_of("infer")->graph->inputs, v->name));
}
END_TEST

START_TEST(reverse_layer_is_a_scan_backwards)
{
    const struct model_node *const n =
        written(arena_printf(&arena, RECURRENT, ", direction = \"reverse\""), "Scan", 18);
    ck_assert_int_eq(model_find_attr(&n->attrs, "scan_input_directions")->ints.data[0], 1);
    ck_assert_int_eq(model_find_attr(&n->attrs, "scan_output_directions")->ints.data[0], 1);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("expand");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, output_is_also_new_content);
    tcase_add_test(tests, output_has_the_name_of_new_content);
    tcase_add_test(tests, entries_read_and_give_variables);
    tcase_add_test(tests, only_one_entry);
    tcase_add_test(tests, outputs_are_results);
    tcase_add_test(tests, every_result_has_a_shape);
    tcase_add_test(tests, random_state_is_variables);
    tcase_add_test(tests, no_bitwise_operators_before_18);
    tcase_add_test(tests, random_numbers_of_the_runtime);
    tcase_add_test(tests, seed_of_the_runtime_is_a_float);
    tcase_add_test(tests, axes_were_an_attribute);
    tcase_add_test(tests, axes_of_pad_are_all);
    tcase_add_test(tests, parts_of_split_are_sizes);
    tcase_add_test(tests, windows_of_averages_have_no_dilations);
    tcase_add_test(tests, defaults_are_left_out);
    tcase_add_test(tests, what_came_later_is_refused);
    tcase_add_test(tests, format_of_the_opset);
    tcase_add_test(tests, composites_stay);
    tcase_add_test(tests, composites_of_gradients_do_not_stay);
    tcase_add_test(tests, recurrent_layer_is_a_scan);
    tcase_add_test(tests, reverse_layer_is_a_scan_backwards);
    return run_tests("expand", tests);
}
