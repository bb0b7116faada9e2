/* A checkpoint's values into a model whose weights lie otherwise: gates in another order, kernels and matrices the
 * other way round, as TensorFlow and flax have them. */
#include "fill_checkpoints.h"

/* ---- recurrent layers -------------------------------------------------------------------------------------------- */

/* An LSTM of both directions with one state, and a GRU: their weights as an export folds them. */
static struct model *recurrent_model(const char *node, const char *reset)
{
    struct model *m;
    const char *const text = arena_printf(
        &arena,
        "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.preview.training\" : 1]>\n"
        "net (float[3,1,2] x) => (float[3,1,1,2] y)\n"
        "<float[2,4,2] \"onnx::LSTM_1\" = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, float[2,4,1] \"onnx::LSTM_2\" = "
        "{0,0,0,0,0,0,0,0},\n"
        " float[2,8] \"onnx::LSTM_3\" = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, float[1,6,2] \"g.weight_ih_l0\" = "
        "{0,0,0,0,0,0,0,0,0,0,0,0},\n"
        " float[1,6,2] \"g.weight_hh_l0\" = {0,0,0,0,0,0,0,0,0,0,0,0}>\n"
        "{ [\"%s\"] h = LSTM<hidden_size = 1, direction = \"bidirectional\">(x, \"onnx::LSTM_1\", \"onnx::LSTM_2\", "
        "\"onnx::LSTM_3\")\n"
        "  shape = Constant<value_ints = [3, 1, 2]>() s = Reshape(h, shape)\n"
        "  y = GRU<hidden_size = 2%s>(s, \"g.weight_ih_l0\", \"g.weight_hh_l0\") }\n"
        "@training_info { algorithm: train () => (float[2,4,2] w1, float[2,4,2] m1)\n"
        "<float[2,4,2] \"onnx::LSTM_1.m\" = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}>\n"
        "{ m1 = Identity(\"onnx::LSTM_1.m\") w1 = Sub(\"onnx::LSTM_1\", m1) }\n"
        "  update_binding: [\"onnx::LSTM_1\" : \"w1\", \"onnx::LSTM_1.m\" : \"m1\"] }\n",
        node, reset);
    ck_assert_msg(model_read_text(&diag, &arena, "net.onnxtxt", text, strlen(text), &m), "%s", diag_first_error(&diag));
    return m;
}

static void add_kept(struct checkpoint *c, const char *name, const struct shape *shape, double first)
{
    struct checkpoint_parameter p = {.name = name, .steps = NAN};
    vec_push(&arena, &p.state, ((struct named_tensor){"exp_avg", numbers(shape, first)}));
    vec_push(&arena, &c->parameters, p);
    c->has_optimizer = true;
}

/* prefix: of the LSTM's; 100 * part + index are the numbers. */
static struct checkpoint recurrent_checkpoint(const char *prefix)
{
    static const struct shape four_two = SHAPE(4, 2), four_one = SHAPE(4, 1), six_two = SHAPE(6, 2);
    static const char *const ends[] = {"", "_reverse"};
    struct checkpoint c = empty();
    for (int d = 0; d < 2; d++) {
        add_weight(&c, arena_printf(&arena, "%sweight_ih_l0%s", prefix, ends[d]), &four_two, 100 + 1000 * d);
        add_weight(&c, arena_printf(&arena, "%sweight_hh_l0%s", prefix, ends[d]), &four_one, 200 + 1000 * d);
        add_weight(&c, arena_printf(&arena, "%sbias_ih_l0%s", prefix, ends[d]), &four, 300 + 1000 * d);
        add_weight(&c, arena_printf(&arena, "%sbias_hh_l0%s", prefix, ends[d]), &four, 400 + 1000 * d);
    }
    add_weight(&c, "g.weight_ih_l0", &six_two, 500);
    add_weight(&c, "g.weight_hh_l0", &six_two, 600);
    vec_push(&arena, &c.groups, ((struct checkpoint_group){.count = 2}));
    add_kept(&c, arena_printf(&arena, "%sweight_ih_l0_reverse", prefix), &four_two, 5000);
    add_kept(&c, arena_printf(&arena, "%sweight_ih_l0", prefix), &four_two, 4000);
    return c;
}

static void check_tensor(const struct filled *f, const char *name, const double *wanted, int count)
{
    for (int i = 0; i < count; i++)
        ck_assert_msg(value(f, name, i) == wanted[i], "'%s', element %d: %g, expected %g", name, i, value(f, name, i),
                      wanted[i]);
}

static const struct {
    const char *node, *prefix;
} recurrent_cases[] = {{"/enc/lstm/LSTM", "enc.lstm."}, {"LSTM_5", "anything."}, {"/LSTM", ""}, {"/a/b/LSTM", "c."}};

/* i, f, g, o become i, o, f, c; r, z, n become z, r, h; what is kept goes along. */
START_TEST(gates_are_reordered)
{
    struct filled f;
    struct checkpoint c = recurrent_checkpoint(recurrent_cases[_i].prefix);
    struct model *const m = recurrent_model(recurrent_cases[_i].node, ", linear_before_reset = 1");
    ck_assert_msg(fill_with(m, &c, &(struct fill_options){0}, &f), "%s", diag_first_error(&diag));
    check_tensor(&f, "onnx::LSTM_1",
                 (const double[]){100, 101, 106, 107, 102, 103, 104, 105, 1100, 1101, 1106, 1107, 1102, 1103, 1104,
                                  1105},
                 16);
    check_tensor(&f, "onnx::LSTM_2", (const double[]){200, 203, 201, 202, 1200, 1203, 1201, 1202}, 8);
    check_tensor(&f, "onnx::LSTM_3",
                 (const double[]){300, 303, 301, 302, 400, 403, 401, 402, 1300, 1303, 1301, 1302, 1400, 1403, 1401,
                                  1402},
                 16);
    check_tensor(&f, "g.weight_ih_l0", (const double[]){504, 505, 506, 507, 500, 501, 502, 503, 508, 509, 510, 511},
                 12);
    check_tensor(&f, "onnx::LSTM_1.m",
                 (const double[]){4000, 4001, 4006, 4007, 4002, 4003, 4004, 4005, 5000, 5001, 5006, 5007, 5002, 5003,
                                  5004, 5005},
                 16);
    ck_assert_uint_eq(c.parameters.count, 1);
}
END_TEST

/* And back: what was laid out is what it was; single numbers are those of each part. */
START_TEST(gates_come_back)
{
    struct filled f;
    struct checkpoint c = recurrent_checkpoint("enc.lstm."), before = recurrent_checkpoint("enc.lstm.");
    struct model *const m = recurrent_model("/enc/lstm/LSTM", ", linear_before_reset = 1");
    named_tensors list = {0};
    ck_assert(fill_with(m, &c, &(struct fill_options){0}, &f));
    static const char *const names[] = {"onnx::LSTM_1", "onnx::LSTM_2", "onnx::LSTM_3", "g.weight_ih_l0",
                                        "g.weight_hh_l0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        vec_push(&arena, &list, ((struct named_tensor){names[i], map_get(&f.set, names[i])}));
    vec_push(&arena, &list, ((struct named_tensor){"optimizer.state.onnx::LSTM_1.exp_avg",
                                                   map_get(&f.set, "onnx::LSTM_1.m")}));
    vec_push(&arena, &list, ((struct named_tensor){"optimizer.state.onnx::LSTM_1.step", numbers(&scalar, 7)}));
    checkpoint_split_recurrent(&arena, m, &(struct weight_options){0}, &list);
    ck_assert_uint_eq(list.count, before.weights.count + 4);
    vec_each_ptr(const struct named_tensor, t, &list) {
        const struct tensor *wanted = str_ends_with(t->name, ".step") ? numbers(&scalar, 7) : NULL;
        vec_each_ptr(const struct named_tensor, w, &before.weights)
            wanted = str_equal(w->name, t->name) ? w->tensor : wanted;
        for (size_t i = 0; i < 2; i++)
            if (str_equal(t->name, arena_printf(&arena, "optimizer.state.%s.exp_avg", before.parameters.data[i].name)))
                wanted = before.parameters.data[i].state.data[0].tensor;
        ck_assert_msg(wanted && shape_equal(&wanted->shape, &t->tensor->shape), "%s", t->name);
        ck_assert_mem_eq(t->tensor->data, wanted->data, tensor_bytes(wanted));
    }
}
END_TEST

/* A reset before the product is not PyTorch's; the message names what can take such a checkpoint. */
START_TEST(what_cannot_be_laid_out_is_told)
{
    struct filled f;
    struct checkpoint c = recurrent_checkpoint("enc.lstm.");
    ck_assert(!fill_with(recurrent_model("/enc/lstm/LSTM", ""), &c, &(struct fill_options){0}, &f));
    assert_said("'g.weight_ih_l0': it is float[1,6,2], but 'g.weight_ih_l0' of c.pt is float[6,2]");
    assert_said("linear_before_reset is 0), where PyTorch has it behind");
    assert_said("not laid out of the checkpoint's 'g.*_l0'");
    ck_assert(said("LSTM 'h': its weights are laid out") && !said("GRU 'y': its weights are laid out"));
    end(), begin();
    c = recurrent_checkpoint("enc.lstm.");
    vec_push(&arena, &c.weights, ((struct named_tensor){"bn.running_mean", numbers(&three, 0)}));
    c.weights.data[1].tensor = numbers(&three_two, 0);
    ck_assert(!fill_with(recurrent_model("/enc/lstm/LSTM", ", linear_before_reset = 1"), &c, &(struct fill_options){0},
                         &f));
    assert_said("9 of its tensors have no place in the model: enc.lstm.weight_ih_l0, ");
    assert_said("; it has 1 that the checkpoint does not give: onnx::LSTM_1");
    assert_said("examples/pytorch/export.py");
    end(), begin();
    c = recurrent_checkpoint("enc.lstm.");
    c.weights.data[0].tensor = numbers(&three_two, 0); /* what is read of the input, not of the state */
    ck_assert(!fill_with(recurrent_model("/enc/lstm/LSTM", ", linear_before_reset = 1"), &c, &(struct fill_options){0},
                         &f));
    ck_assert(!said("LSTM 'h': its weights are laid out"));
}
END_TEST

static const struct {
    const char *name;
    struct shape shape; /* that no recurrent layer has */
} odd_cases[] = {{"onnx::LSTM_1", SHAPE(0, 4, 2)}, {"onnx::LSTM_1", SHAPE(3, 4, 2)}, {"onnx::LSTM_3", SHAPE(2, 6)},
                 {"onnx::LSTM_3", SHAPE(0, 8)}};

/* No direction, or one too many; a bias that gates do not divide. Nothing is laid out, there or back. */
START_TEST(odd_shapes_are_left_alone)
{
    const char *const name = odd_cases[_i].name;
    const struct shape *const shape = &odd_cases[_i].shape;
    const bool is_bias = shape->rank == 2;
    static const struct shape odd_bias = SHAPE(3);
    struct filled f;
    struct checkpoint c = recurrent_checkpoint("enc.lstm.");
    struct model *const m = recurrent_model("/enc/lstm/LSTM", ", linear_before_reset = 1");
    vec_each(struct model_initializer *, x, &m->graph->initializers)
        if (str_equal(x->name, name) || (!is_bias && str_equal(x->name, "onnx::LSTM_2")))
            x->tensor = tensor_new(&arena, DTYPE_FLOAT, str_equal(x->name, name) ? shape : &SHAPE(shape->dim[0], 4, 1));
    for (size_t i = 0; is_bias && i < 8; i++)
        if (c.weights.data[i].tensor->shape.rank == 1)
            c.weights.data[i].tensor = numbers(&odd_bias, 0);
    ck_assert(fill_with(m, &c, &(struct fill_options){0}, &f) == is_bias); /* which nothing trains */
    ck_assert(!map_has(&f.set, name));
    ck_assert(said("LSTM 'h': its weights are laid out") == is_bias);
    named_tensors list = {0};
    vec_push(&arena, &list, ((struct named_tensor){name, numbers(shape, 0)}));
    checkpoint_split_recurrent(&arena, m, &(struct weight_options){0}, &list);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_str_eq(list.data[0].name, name);
}
END_TEST

/* What a layer of these weights has no room for, or would be left with room for: the bias is none of that layer's. */
START_TEST(biases_of_another_size_are_left_alone)
{
    static const struct shape sizes[] = {SHAPE(3), SHAPE(5), SHAPE(2, 4)};
    struct filled f;
    struct checkpoint c = recurrent_checkpoint("enc.lstm.");
    for (size_t i = 0; i < 8; i++)
        if (c.weights.data[i].tensor->shape.rank == 1)
            c.weights.data[i].tensor = numbers(&sizes[_i], 0);
    ck_assert(fill_with(recurrent_model("/enc/lstm/LSTM", ", linear_before_reset = 1"), &c, &(struct fill_options){0},
                        &f)); /* nothing trains it */
    ck_assert(map_has(&f.set, "onnx::LSTM_1") && map_has(&f.set, "onnx::LSTM_2"));
    ck_assert(!map_has(&f.set, "onnx::LSTM_3"));
}
END_TEST

/* ---- as TensorFlow and flax have it ------------------------------------------------------------------------------ */

static const char conv[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.preview.training\" : 1]>\n"
    "net (float[1,2,4,4] x) => (float[1,3,3,3] y)\n"
    "<float[3,2,2,2] k, float[2,2,2,2] s>\n"
    "{ q = Conv(x, s) y = Conv(q, k) }\n"
    "@training_info { algorithm: train () => (float[3,2,2,2] k1, float[3,2,2,2] m1)\n"
    "<float[3,2,2,2] \"k.v\"> { m1 = Identity(\"k.v\") k1 = Sub(k, m1) }\n"
    "update_binding: [\"k\" : \"k1\", \"k.v\" : \"m1\"] }\n";

static struct model *read_conv(void)
{
    static const char *const zeros[] = {"float[3,2,2,2] k", "float[2,2,2,2] s", "float[3,2,2,2] \"k.v\""};
    const char *text = conv;
    struct model *m;
    for (size_t i = 0; i < 3; i++) {
        const char *const at = strstr(text, zeros[i]) + strlen(zeros[i]);
        struct strbuf b = {.arena = &arena};
        strbuf_addf(&b, "%.*s = {0", (int)(at - text), text);
        for (int k = 1; k < (i == 1 ? 16 : 24); k++)
            strbuf_add(&b, ",0");
        strbuf_addf(&b, "}%s", at);
        text = b.text;
    }
    ck_assert_msg(model_read_text(&diag, &arena, "net.onnxtxt", text, strlen(text), &m), "%s", diag_first_error(&diag));
    return m;
}

START_TEST(kernels_turn_with_what_is_kept)
{
    static const char *all[] = {"*"};
    static const struct shape theirs = SHAPE(2, 2, 2, 3), turned = SHAPE(2, 2, 2, 2);
    for (int named = 0; named < 2; named++) {
        struct filled f;
        struct checkpoint c = empty();
        begin();
        add_weight(&c, "k", &theirs, 0);
        add_weight(&c, "s", &turned, 0);
        add_parameter(&c, "k", 0, &theirs, 100);
        c.parameters.data[0].state.count = 1;
        c.parameters.data[0].state.data[0].name = "momentum_buffer";
        const struct fill_options o = {.weights.transpose = {all, (size_t)named, 1}};
        ck_assert(!fill_with(read_conv(), &c, &o, &f)); /* PyTorch's stand as ONNX has them */
        report.length = 0;
        diag = (struct diag){.arena = &arena};
        c.channels_last = true;
        ck_assert_msg(fill_with(read_conv(), &c, &o, &f), "%s", diag_first_error(&diag));
        /* output 2, input 1, line 0, column 1 */
        ck_assert_double_eq(value(&f, "k", ((2 * 2 + 1) * 2 + 0) * 2 + 1), ((0 * 2 + 1) * 2 + 1) * 3 + 2);
        ck_assert_double_eq(value(&f, "k.v", ((2 * 2 + 1) * 2 + 0) * 2 + 1), 100 + ((0 * 2 + 1) * 2 + 1) * 3 + 2);
        ck_assert_double_eq(value(&f, "s", 1), 4); /* Conv reads it */
        assert_said("laid out as ONNX has kernels: 'k' [3,2,2,2] from [2,2,2,3], since only that fits");
        assert_said("laid out as ONNX has kernels: 's' [2,2,2,2] from [2,2,2,2]");
        ck_assert(said("since a convolution reads it") == !named);
        ck_assert_uint_eq(diag.warnings, 0);
        end();
    }
    begin();
}
END_TEST

/* What fits both ways stands as the operator that reads it has it. */
START_TEST(operators_say_how_weights_stand)
{
    static const struct {
        const char *nodes;
        bool channels_last, flax, turned, warns;
    } cases[] = {{"y = Gemm<transB = 1>(x, s)", true, false, true, false},
                 {"y = Gemm<transB = 1>(x, s)", false, false, false, false},
                 {"y = Gemm<transB = 0>(x, s)", true, false, false, false},
                 {"y = Gemm(x, s)", true, false, false, false},
                 {"y = Gemm<transB = 1>(s, x)", true, false, false, true},
                 {"y = MatMul(x, s)", true, false, false, false},
                 {"y = MatMul(s, x)", true, false, false, true},
                 {"y = MatMul(s, x)", false, false, false, false},
                 {"p = Identity(s) y = MatMul(x, p)", true, false, false, true},
                 {"p = Gemm<transB = 1>(x, s) y = Gemm<transB = 1>(p, s)", true, false, true, false},
                 {"p = Gemm<transB = 1>(x, s) y = MatMul(p, s)", true, false, false, true},
                 {"p = Gemm<transB = 1>(x, s) q = MatMul(p, s) y = Gemm<transB = 1>(q, s)", true, false, false, true},
                 {"y = Conv(x, s)", true, false, true, false},
                 {"y = Conv(x, s)", true, true, true, false},
                 {"y = Conv(x, s)", false, false, false, false},
                 {"y = ConvTranspose(x, s)", true, false, true, false},
                 {"y = ConvTranspose(x, s)", true, true, false, true},
                 {"p = Identity(s) y = Conv(x, p)", true, false, false, true}};
    static const struct shape matrix = SHAPE(2, 2), kernel = SHAPE(2, 2, 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool is_kernel = strstr(cases[i].nodes, "Conv") != NULL;
        const char *const text =
            arena_printf(&arena, "<ir_version: 8, opset_import: [\"\" : 17]> n (float[1,2] x) => (float y) <%s> { %s }",
                         is_kernel ? "float[2,2,2] s = {0,0,0,0,0,0,0,0}" : "float[2,2] s = {0,0,0,0}", cases[i].nodes);
        struct model *m;
        struct filled f;
        struct checkpoint c = empty();
        diag = (struct diag){.arena = &arena};
        add_weight(&c, "s", is_kernel ? &kernel : &matrix, 0);
        c.channels_last = cases[i].channels_last;
        c.turned_around = cases[i].flax;
        ck_assert_msg(model_read_text(&diag, &arena, "n.onnxtxt", text, strlen(text), &m), "%s",
                      diag_first_error(&diag));
        ck_assert_msg(fill_with(m, &c, &(struct fill_options){0}, &f), "%s", diag_first_error(&diag));
        ck_assert_msg((value(&f, "s", 1) != 1) == cases[i].turned, "case %zu", i);
        ck_assert_msg(diag.warnings == cases[i].warns, "case %zu", i);
    }
}
END_TEST

/* By the second names, also where what all begin with is left out of them; else by the first. */
START_TEST(weights_have_second_names)
{
    static const struct {
        const char *first, *second;
        bool fits;
    } cases[] = {{"layer-%s", "%s", true},
                 {"layer-%s", "net/%s", true},
                 {"%s", "layer/%s", true},
                 {"a%s", "b%s", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct filled f;
        begin();
        struct checkpoint c = make_checkpoint();
        vec_each_ptr(struct named_tensor, t, &c.weights) {
            const char *const name = t->name;
            struct strbuf first = {.arena = &arena}, second = {.arena = &arena};
            strbuf_addf(&first, "%.*s%s", (int)(strstr(cases[i].first, "%s") - cases[i].first), cases[i].first, name);
            strbuf_addf(&second, "%.*s%s", (int)(strstr(cases[i].second, "%s") - cases[i].second), cases[i].second,
                        name);
            t->name = first.text;
            vec_push(&arena, &c.other_names, second.text);
        }
        add_parameter(&c, c.weights.data[0].name, 0, &three_two, 1000);
        add_parameter(&c, c.weights.data[1].name, 0, &three, 2000);
        ck_assert(fill_with(read_model("", adam), &c, &(struct fill_options){0}, &f) == cases[i].fits);
        if (cases[i].fits)
            ck_assert_double_eq(value(&f, "b.m", 1), 2001);
        ck_assert(said("names: its second ones") == (i < 2));
        ck_assert(said("its tensors have second names") == !cases[i].fits);
        end();
    }
    begin();
}
END_TEST

START_TEST(a_rate_may_be_missing)
{
    for (int anonymous = 0; anonymous < 2; anonymous++) {
        struct filled f;
        begin();
        struct checkpoint c = make_checkpoint();
        add_parameter(&c, "w", 0, &three_two, 1000);
        add_parameter(&c, "b", 0, &three, 2000);
        c.anonymous = anonymous;
        vec_push(&arena, &c.notes, "a note");
        ck_assert(fill_with(read_model("", adam), &c, &(struct fill_options){0}, &f));
        ck_assert(said("learning rate: that of the model, since the checkpoint says none") == anonymous);
        assert_said("a note\n");
        end();
    }
    begin();
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("layout");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, gates_are_reordered, 0, sizeof recurrent_cases / sizeof *recurrent_cases);
    tcase_add_test(tests, what_cannot_be_laid_out_is_told);
    tcase_add_test(tests, gates_come_back);
    tcase_add_loop_test(tests, odd_shapes_are_left_alone, 0, sizeof odd_cases / sizeof *odd_cases);
    tcase_add_loop_test(tests, biases_of_another_size_are_left_alone, 0, 3);
    tcase_add_test(tests, kernels_turn_with_what_is_kept);
    tcase_add_test(tests, operators_say_how_weights_stand);
    tcase_add_test(tests, weights_have_second_names);
    tcase_add_test(tests, a_rate_may_be_missing);
    return run_tests("layout", tests);
}
