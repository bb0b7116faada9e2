/* A checkpoint's values into a model: whose is which of what an optimizer keeps; what is converted, missing. */
#include "fill_checkpoints.h"

START_TEST(all_is_filled)
{
    struct filled f;
    struct checkpoint c = make_checkpoint();
    add_parameter(&c, NULL, 0, &three_two, 1000);
    add_parameter(&c, NULL, 1, &three, 2000);
    add_number(&c, 0, "lr", 0.25);
    add_number(&c, 0, "initial_lr", 0.5);
    add_number(&c, 0, "eps", 0.5);
    add_number(&c, 0, "beta1", 0.8);
    add_number(&c, 1, "lr", 0.125);
    struct model *const m = read_model(", metadata_props: [\"stepc.parameters\" : \"w\nb\"]", adam);
    const bool ok = fill_with(m, &c, &(struct fill_options){0}, &f);
    ck_assert_msg(ok, "%s", diag_first_error(&diag));
    ck_assert_double_eq(value(&f, "w", 1), 3); /* transposed, and what is kept for it */
    ck_assert_double_eq(value(&f, "w.m", 1), 1002);
    ck_assert_double_eq(value(&f, "w.v", 1), 1102);
    ck_assert_double_eq(value(&f, "b.m", 1), 2001);
    ck_assert_double_eq(value(&f, "c", 0), 20);          /* a constant of the model, which is there, too */
    ck_assert_double_eq(value(&f, "step_count", 0), 10); /* from 3 */
    ck_assert_int_eq(f.steps, 7);
    ck_assert_double_eq(value(&f, "learning_rate", 0), 0.5);     /* a factor follows */
    ck_assert_double_eq(value(&f, "learning_rate.2", 0), 0.125); /* none does */
    assert_said("the model's list of them");
    assert_said("the optimizer's beta1 was 0.8; the model's updates have 0.9");
    ck_assert(!said("optimizer's eps"));
    /* Once more: the count does not add up, and begins where that of the fresh model began. */
    add_weight(&c, "d", &three, 20);
    ck_assert(fill_with(m, &c, &(struct fill_options){0}, &f));
    ck_assert_double_eq(value(&f, "step_count", 0), 10);
    assert_said("'d' float[3] fits no initializer of the model by name");
}
END_TEST

START_TEST(some_starts_anew)
{
    struct filled f;
    struct checkpoint c = make_checkpoint();
    add_parameter(&c, "w", 0, &three_two, 1000);
    add_parameter(&c, "b", 0, &three, 2000);
    static const char *names[] = {"optimizer", "c"};
    const struct fill_options o = {.reset = {names, 2, 2}};
    ck_assert(fill_with(read_model("", adam), &c, &o, &f));
    ck_assert(map_has(&f.set, "w") && !map_has(&f.set, "w.m") && !map_has(&f.set, "c"));
    ck_assert(!map_has(&f.set, "step_count"));
}
END_TEST

START_TEST(what_is_missing_is_listed)
{
    struct filled f;
    struct checkpoint c = make_checkpoint();
    add_parameter(&c, "w", 0, &three_two, 1000);
    ck_assert(!fill_with(read_model("", adam), &c, &(struct fill_options){0}, &f));
    assert_said("what the model's optimizer keeps is not in it: b.m, b.v");
    end(), begin();
    c = empty();
    add_weight(&c, "w", &two_three, 1);
    ck_assert(!fill_with(read_model("", adam), &c, &(struct fill_options){0}, &f));
    assert_said("initializer 'b': c.pt has no tensor 'b'");
    ck_assert(!said("initializer 'c'")); /* training does not write it */
    end(), begin();
    c = make_checkpoint();
    add_parameter(&c, "w", 0, &three_two, 1000);
    add_parameter(&c, "b", 0, &three, 2000);
    c.parameters.data[1].steps = 5;
    c.parameters.data[1].state.data[0].tensor = numbers(&two_three, 1);
    ck_assert(!fill_with(read_model("", adam), &c, &(struct fill_options){0}, &f));
    assert_said("'b.m' is float[3], but the checkpoint has float[2,3] for it");
    assert_said("from 5 to 7 steps");
    end(), begin();
    c = make_checkpoint();
    add_parameter(&c, "w", 0, &three_two, 1000);
    add_parameter(&c, "b", 0, &three, 2000);
    c.parameters.data[0].steps = 0.5;
    ck_assert(!fill_with(read_model("", adam), &c, &(struct fill_options){.weights.partial = true}, &f) ||
              f.steps == 7);
}
END_TEST

/* Rates of two groups, of which the model has one variable. */
START_TEST(rates_that_differ_are_told)
{
    struct filled f;
    struct checkpoint c = make_checkpoint();
    add_parameter(&c, "w", 0, &three_two, 1000);
    add_parameter(&c, "b", 1, &three, 2000);
    add_number(&c, 0, "lr", 0.25);
    add_number(&c, 1, "lr", 0.5);
    char *const one = arena_strdup(&arena, adam);
    memcpy(strstr(one, "\"b.m\", \"learning_rate.2\")"), "\"b.m\", learning_rate    )", 24);
    ck_assert_msg(fill_with(read_model("", one), &c, &(struct fill_options){0}, &f), "%s", diag_first_error(&diag));
    assert_said("'b' had learning rate 0.5; the model has one, 'learning_rate', for it and others: 0.25 is taken");
}
END_TEST

/* Of ONNX's operator, several tensors at once: places say what is what, whatever names say. */
START_TEST(operators_say_what_is_what)
{
    struct filled f;
    struct checkpoint c = make_checkpoint();
    add_parameter(&c, "w", 0, &three_two, 1000);
    add_parameter(&c, "b", 0, &three, 2000);
    add_number(&c, 0, "lr", 0.25);
    static const char operators[] =
        "@training_info { algorithm: train () => (float[2,3] w1, float[3] b1, float[2,3] m1, float[3] n1, float[2,3] "
        "v1,\n"
        "float[3] u1, int64 s1, float r1)\n"
        "<float[2,3] m = {0,0,0,0,0,0}, float[2,3] v = {0,0,0,0,0,0}, float[3] n = {0,0,0}, float[3] u = {0,0,0},\n"
        " int64 T = {1}, int64 one = {1}, float R = {1}>\n"
        "{ w1, b1, m1, n1, v1, u1 = ai.onnx.preview.training.Adam<alpha = 0.9>(R, T, w, b, w, b, m, n, v, u)\n"
        "  s1 = Add(T, one) r1 = Identity(R) }\n"
        "  update_binding: [\"w\" : \"w1\", \"b\" : \"b1\", \"m\" : \"m1\", \"n\" : \"n1\", \"v\" : \"v1\", \"u\" : "
        "\"u1\",\n"
        "    \"T\" : \"s1\", \"R\" : \"r1\"] }\n";
    ck_assert_msg(fill_with(read_model("", operators), &c, &(struct fill_options){0}, &f), "%s",
                  diag_first_error(&diag));
    ck_assert_double_eq(value(&f, "m", 1), 1002);
    ck_assert_double_eq(value(&f, "n", 1), 2001);
    ck_assert_double_eq(value(&f, "v", 1), 1102);
    ck_assert_double_eq(value(&f, "u", 1), 2101);
    ck_assert_double_eq(value(&f, "T", 0), 8);
    ck_assert_double_eq(value(&f, "R", 0), 0.25);
}
END_TEST

/* ---- order ------------------------------------------------------------------------------------------------------- */

struct order_case {
    const char *title;
    struct {
        const char *name;
        const struct shape *shape;
    } weights[6];
    struct {
        size_t group;
        const struct shape *shape;
        const char *name; /* that it should get */
    } parameters[5];
    bool unordered, decays; /* the first group, and not the second */
    const char *alias, *said, *error;
};

static const struct order_case orders[] = {
    {"in order", {{"a", &square}, {"b", &square}}, {{0, &square, "a"}, {0, &square, "b"}}, .said = "of the checkpoint"},
    {"buffers are none",
     {{"a", &three},
      {"bn.running_mean", &three},
      {"bn.running_var", &three},
      {"bn.num_batches_tracked", &scalar},
      {"b", &three}},
     {{0, &three, "a"}, {0, &three, "b"}},
     .said = "of the checkpoint"},
    {"a second name is none",
     {{"a", &three}, {"a2", &three}, {"b", &three}},
     {{0, &three, "a"}, {0, &three, "b"}},
     .alias = "a2",
     .said = "of the checkpoint"},
    {"what the model trains",
     {{"w", &three_two}, {"x", &three}, {"b", &three}},
     {{0, &three_two, "w"}, {0, &three, "b"}},
     .said = "of the checkpoint"},
    {"biases decay in the second group",
     {{"a.weight", &square}, {"a.bias", &three}, {"b.weight", &square}, {"b.bias", &three}},
     {{0, &square, "a.weight"}, {0, &square, "b.weight"}, {1, &three, "a.bias"}, {1, &three, "b.bias"}},
     .said = "biases and normalizations in the second group"},
    {"norms are of them, though matrices",
     {{"a", &square}, {"Norm", &square}, {"b", &square}},
     {{0, &square, "a"}, {0, &square, "b"}, {1, &square, "Norm"}},
     .decays = true,
     .said = "biases and normalizations in the second group"},
    {"parts of the network",
     {{"a", &square}, {"Norm", &square}, {"b", &square}},
     {{0, &square, "a"}, {0, &square, "Norm"}, {1, &square, "b"}},
     .said = "of the checkpoint"},
    {"vectors in the first group",
     {{"a", &square}, {"v", &three}, {"b", &square}},
     {{0, &three, "v"}, {1, &square, "a"}, {1, &square, "b"}},
     .said = "vectors in the first group"},
    {"vectors in the second group",
     {{"a", &square}, {"v", &three}, {"b", &square}},
     {{0, &square, "a"}, {0, &square, "b"}, {1, &three, "v"}},
     .said = "vectors in the second group"},
    {"by shapes alone",
     {{"b", &three}, {"w", &three_two}},
     {{0, &three_two, "w"}, {0, &three, "b"}},
     .unordered = true,
     .said = "each of which is one weight's"},
    {"one of two of one shape",
     {{"b", &three}, {"c", &three}, {"w", &three_two}},
     {{0, &three_two, "w"}, {0, &three, "b"}},
     .unordered = true,
     .error = "which weights the 2 parameters of the optimizer are cannot be told"},
    {"two of one shape",
     {{"b", &three}, {"c", &three}, {"w", &three_two}},
     {{0, &three_two, "w"}, {0, &three, "b"}, {0, &three, "c"}},
     .unordered = true,
     .error = "which weights the 3 parameters of the optimizer are cannot be told"},
    {"another number", {{"a", &three}, {"b", &four}}, {{0, &three, NULL}}, .error = "cannot be told"},
    {"other shapes", {{"a", &three}, {"b", &four}}, {{0, &four, NULL}, {0, &three, NULL}}, .error = "cannot be told"},
};

/* Before all else, something is kept whose shape says nothing of the parameter's. */
static void add_first(struct checkpoint_parameter *p)
{
    vec_push(&arena, &p->state, p->state.data[0]);
    p->state.data[0] = (struct named_tensor){"exp_avg_sq_row", numbers(&scalar, 0)};
}

START_TEST(parameters_get_names)
{
    const struct order_case *const o = &orders[_i];
    struct checkpoint c = empty();
    c.ordered = !o->unordered;
    for (int i = 0; o->weights[i].name; i++)
        add_weight(&c, o->weights[i].name, o->weights[i].shape, 0);
    for (int i = 0; o->parameters[i].shape; i++) {
        add_parameter(&c, NULL, o->parameters[i].group, o->parameters[i].shape, 0);
        add_first(&c.parameters.data[i]);
    }
    if (o->decays)
        add_number(&c, 0, "weight_decay", 0.1);
    if (o->alias)
        vec_push(&arena, &c.aliases, o->alias);
    const char *const end = strstr(adam, "\"learning_rate\" : ");
    struct model *const m =
        read_model("", arena_printf(&arena, "%.*s\"c\" : \"n1\", %s", (int)(end - adam), adam, end)); /* c is trained */
    const bool ok = checkpoint_name_parameters(&diag, &arena, m, &c, &(struct fill_options){0}, &report);
    ck_assert_msg(ok == !o->error, "%s: %s", o->title, diag_first_error(&diag) ? diag_first_error(&diag) : "no error");
    if (o->error)
        assert_said(o->error);
    else
        assert_said(o->said);
    for (size_t i = 0; ok && i < c.parameters.count; i++)
        ck_assert_msg(str_equal(c.parameters.data[i].name, o->parameters[i].name),
                      "%s: parameter %zu is '%s', not '%s'", o->title, i, c.parameters.data[i].name,
                      o->parameters[i].name);
}
END_TEST

/* A norm that is a matrix decays like one where the order says so; by name where sizes of groups ask for it. */
START_TEST(names_of_the_command_line_come_first)
{
    struct checkpoint c = empty();
    static const char *names[] = {"b", "a"};
    add_weight(&c, "a", &three, 0);
    add_weight(&c, "b", &three, 0);
    add_parameter(&c, NULL, 0, &three, 0);
    add_parameter(&c, NULL, 0, &three, 0);
    const struct fill_options o = {.parameters = {names, 2, 2}};
    ck_assert(checkpoint_name_parameters(&diag, &arena, read_model("", adam), &c, &o, &report));
    ck_assert_str_eq(c.parameters.data[0].name, "b");
    const struct fill_options one = {.parameters = {names, 1, 1}};
    c.parameters.data[0].name = NULL;
    ck_assert(!checkpoint_name_parameters(&diag, &arena, read_model("", adam), &c, &one, &report));
    assert_said("the 1 names of --parameters do not fit");
}
END_TEST

START_TEST(names_have_prefixes)
{
    struct filled f;
    struct checkpoint c = empty();
    add_weight(&c, "module._orig_mod.w", &two_three, 1);
    add_weight(&c, "module._orig_mod.b", &three, 1);
    add_weight(&c, "module._orig_mod.c", &three, 1);
    add_parameter(&c, "module._orig_mod.w", 0, &two_three, 1000);
    add_parameter(&c, "module._orig_mod.b", 0, &three, 2000);
    ck_assert_msg(fill_with(read_model("", adam), &c, &(struct fill_options){0}, &f), "%s", diag_first_error(&diag));
    ck_assert_double_eq(value(&f, "w.m", 1), 1001);
    assert_said("without 'module.'");
    assert_said("without '_orig_mod.'");
}
END_TEST

/* Others are transposed, so a square one may be, too. */
START_TEST(squares_are_told)
{
    static const char text[] = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                               "n (float[1,2] x) => (float[1,3] y) <float[2,3] w = {1,2,3,4,5,6}, float[3,3] s = "
                               "{0,0,0,0,0,0,0,0,0}> { h = MatMul(x, w) y = MatMul(h, s) }\n";
    for (int turned = 0; turned < 2; turned++) {
        struct model *m;
        struct filled f;
        struct checkpoint c = empty();
        static const char *globs[] = {"s"};
        const struct fill_options o = {.weights.transpose = {globs, (size_t)turned, 1}};
        end(), begin();
        add_weight(&c, "w", &three_two, 1);
        add_weight(&c, "s", &square, 1);
        ck_assert(model_read_text(&diag, &arena, "n.onnxtxt", text, sizeof text - 1, &m));
        ck_assert(fill_with(m, &c, &o, &f));
        ck_assert_double_eq(value(&f, "s", 1), turned ? 4 : 2);
        ck_assert(said("'s'") == turned);
        ck_assert(said("others are transposed here, but s is square") == !turned);
    }
}
END_TEST

/* Tied names are looked up, not searched for: this took minutes. */
START_TEST(many_names_of_one_tensor)
{
    enum { NAMES = 300000 };
    struct filled f;
    struct checkpoint c = make_checkpoint();
    const struct tensor *const shared = c.weights.data[1].tensor;
    for (int i = 0; i < NAMES; i++) {
        const char *const name = arena_printf(&arena, "again.%d", i);
        vec_push(&arena, &c.weights, ((struct named_tensor){name, shared}));
        vec_push(&arena, &c.aliases, name);
    }
    add_parameter(&c, NULL, 0, &three_two, 1000);
    add_parameter(&c, NULL, 0, &three, 2000);
    ck_assert_msg(fill_with(read_model("", adam), &c, &(struct fill_options){0}, &f), "%s", diag_first_error(&diag));
    ck_assert_uint_eq(diag.warnings, 0);
}
END_TEST

/* A counter at the end of its type has no next number. */
START_TEST(counts_stay_within_their_type)
{
    struct filled f;
    struct checkpoint c = make_checkpoint();
    add_parameter(&c, "w", 0, &three_two, 1000);
    add_parameter(&c, "b", 0, &three, 2000);
    const char *const at = strstr(adam, "{3}");
    const char *const text =
        arena_printf(&arena, "%.*s{9223372036854775807}%s", (int)(at - adam), adam, at + strlen("{3}"));
    ck_assert(!fill_with(read_model("", text), &c, &(struct fill_options){0}, &f));
    assert_said("'step_count' int64 counts from 9223372036854775807: 7 more do not fit");
}
END_TEST

/* By its name, but not one number that can be it: it stays as it was. */
START_TEST(what_is_called_a_rate_may_be_none)
{
    static const char *const others[] = {"float[2] learning_rate = {1,1}", "int64 learning_rate = {1}"};
    struct filled f;
    struct checkpoint c = make_checkpoint();
    add_parameter(&c, "w", 0, &three_two, 1000);
    add_parameter(&c, "b", 1, &three, 2000);
    add_number(&c, 0, "lr", 0.25);
    add_number(&c, 1, "lr", 0.5);
    const char *const rate = "float learning_rate = {1}", *const at = strstr(adam, rate);
    const char *const text =
        arena_printf(&arena, "%.*s%s%s", (int)(at - adam), adam, others[_i], at + strlen(rate));
    ck_assert_msg(fill_with(read_model("", text), &c, &(struct fill_options){0}, &f), "%s", diag_first_error(&diag));
    ck_assert(!map_has(&f.set, "learning_rate"));
    ck_assert_double_eq(value(&f, "learning_rate.2", 0), 0.5);
}
END_TEST

/* A decay may be the operator's, or added to the gradient by a constant of that name. */
START_TEST(a_zero_is_not_the_last_word)
{
    struct filled f;
    struct checkpoint c = make_checkpoint();
    add_parameter(&c, "w", 0, &three_two, 1000);
    c.parameters.data[0].state.count = 0;
    vec_push(&arena, &c.parameters.data[0].state,
             ((struct named_tensor){"momentum_buffer", numbers(&three_two, 1000)}));
    add_number(&c, 0, "weight_decay", 0.25);
    static const char momentum[] =
        "@training_info { algorithm: train () => (float[2,3] w1, float[2,3] v1)\n"
        "<float[2,3] v = {0,0,0,0,0,0}, int64 T = {0}, float R = {1}, float norm_coefficient = {0.25}>\n"
        "{ d = Mul(w, norm_coefficient)\n"
        "  w1, v1 = ai.onnx.preview.training.Momentum<alpha = 0.9, beta = 1.0, norm_coefficient = 0.0, "
        "mode = \"standard\">(R, T, w, d, v) }\n"
        "  update_binding: [\"w\" : \"w1\", \"v\" : \"v1\"] }\n";
    ck_assert_msg(fill_with(read_model("", momentum), &c, &(struct fill_options){0}, &f), "%s",
                  diag_first_error(&diag));
    ck_assert(!said("weight_decay was"));
}
END_TEST

START_TEST(a_zero_beside_another_number_is_told)
{
    struct filled f;
    struct checkpoint c = make_checkpoint();
    add_parameter(&c, "w", 0, &three_two, 1000);
    add_parameter(&c, "b", 0, &three, 2000);
    add_number(&c, 0, "beta1", 0);
    ck_assert(fill_with(read_model("", adam), &c, &(struct fill_options){0}, &f));
    assert_said("the optimizer's beta1 was 0; the model's updates have 0.9");
}
END_TEST

START_TEST(an_optimizer_alone_is_no_checkpoint)
{
    struct filled f;
    struct checkpoint c = empty();
    add_parameter(&c, "w", 0, &two_three, 1000);
    add_parameter(&c, "b", 0, &three, 2000);
    ck_assert(fill_with(read_model("", adam), &c, &(struct fill_options){0}, &f));
    ck_assert_uint_eq(diag.warnings, 1);
    assert_said("it has no weights, only what an optimizer keeps: those of the model stay");
    ck_assert(!f.nothing);
    c.weights.count = c.parameters.count = 0;
    c.steps = 5;
    ck_assert(fill_with(read_model("", adam), &c, &(struct fill_options){0}, &f));
    ck_assert(f.nothing && map_has(&f.set, "step_count")); /* the count alone */
}
END_TEST

/* SGD counts no steps: the command line does, for the schedule too. */
START_TEST(steps_may_be_said)
{
    static const int64_t steps = 5;
    for (int said_so = 0; said_so < 2; said_so++) {
        struct filled f;
        struct checkpoint c = make_checkpoint();
        add_parameter(&c, "w", 0, &three_two, 1000);
        add_parameter(&c, "b", 0, &three, 2000);
        c.parameters.data[0].steps = c.parameters.data[1].steps = NAN;
        const struct fill_options o = {.steps = said_so ? &steps : NULL};
        diag = (struct diag){.arena = &arena};
        ck_assert(fill_with(read_model("", adam), &c, &o, &f));
        ck_assert_double_eq(value(&f, "step_count", 0), said_so ? 8 : 4); /* from 3 */
        ck_assert_int_eq(f.steps, said_so ? 5 : 0);
        ck_assert_uint_eq(diag.warnings, said_so ? 0 : 1);
        if (!said_so)
            assert_said("--steps-made N says it");
    }
}
END_TEST

/* How many steps stand between two calls of a schedule. */
static const struct {
    double steps, calls, epochs; /* NAN: not in the file */
    int64_t said;                /* 0: nothing */
    bool waits;
    double stride;
} strides[] = {
    {10, 10, NAN, 0, false, 1},  {10, 9, NAN, 0, false, 1},   {10, 11, NAN, 0, false, 1},
    {2, 1, NAN, 0, false, 1},    {10, NAN, NAN, 0, false, 1}, {30, 6, NAN, 0, false, 5},
    {31, 6, NAN, 0, false, NAN}, {30, 0, NAN, 0, false, NAN}, {1, 0, NAN, 0, false, 1},
    {15, 10, NAN, 0, false, 1},  {NAN, 6, NAN, 0, false, 1},  {NAN, 6, 5, 0, false, NAN},
    {NAN, 6, 7, 0, false, NAN},  {NAN, 10, 3, 0, false, 1},   {NAN, 6, NAN, 0, true, NAN},
    {NAN, 6, 5, 30, false, 5},   {10, 6, NAN, 30, false, 5},  {30, 2.5, NAN, 0, false, 1},
    {30, -6, NAN, 0, false, 1},  {20, 10, NAN, 0, false, 2},  {NAN, 6, 40, 0, false, NAN},
    {NAN, 6, 40, 30, false, 5},
};

START_TEST(schedules_have_a_stride)
{
    struct checkpoint c = empty();
    c.steps = strides[_i].steps;
    c.epochs = strides[_i].epochs;
    c.schedule_waits = strides[_i].waits;
    if (!isnan(strides[_i].calls))
        vec_push(&arena, &c.schedule, ((struct checkpoint_number){"last_epoch", strides[_i].calls}));
    const double stride = checkpoint_stride(&c, strides[_i].said > 0 ? &strides[_i].said : NULL);
    if (isnan(strides[_i].stride))
        ck_assert_msg(isnan(stride), "row %d: %g", _i, stride);
    else
        ck_assert_double_eq(stride, strides[_i].stride);
}
END_TEST

/* What the optimizer has counted, before what the file says. */
START_TEST(steps_are_those_of_the_optimizer)
{
    struct checkpoint c = empty();
    c.steps = 3;
    ck_assert_double_eq(checkpoint_steps(&c, NULL), 3);
    ck_assert_double_eq(checkpoint_steps(&c, &(int64_t){4}), 4);
    add_parameter(&c, "w", 0, &three_two, 0);
    add_parameter(&c, "b", 0, &three, 0);
    c.parameters.data[0].steps = NAN;
    ck_assert_double_eq(checkpoint_steps(&c, NULL), 7);
    c.parameters.data[0].steps = 9;
    ck_assert_double_eq(checkpoint_steps(&c, NULL), 9);
}
END_TEST

/* The model that is filled knows how many steps were made, until it is filled again. */
START_TEST(the_model_knows_the_steps)
{
    struct filled f;
    struct checkpoint c = make_checkpoint();
    struct model *const m = read_model("", adam);
    ck_assert_int_eq(checkpoint_steps_of_model(m), 0);
    for (int64_t steps = 5; steps < 7; steps++) {
        ck_assert(fill_with(m, &c, &(struct fill_options){.steps = &steps}, &f));
        ck_assert_int_eq(checkpoint_steps_of_model(m), steps);
    }
    ck_assert(fill_with(m, &c, &(struct fill_options){0}, &f));
    ck_assert_int_eq(checkpoint_steps_of_model(m), 0);
    static const char *const wrong[] = {"-1", "many", "1e3", "99999999999999999999", "4611686018427387904", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        m->metadata.count = 0;
        vec_push(&arena, &m->metadata, ((struct model_pair){METADATA_STEPS_MADE, wrong[i]}));
        ck_assert_int_eq(checkpoint_steps_of_model(m), 0);
    }
}
END_TEST

/* Sums over samples are in no checkpoint of a framework: 0 between two steps. One that has them counts. */
START_TEST(sums_begin_with_nothing)
{
    for (int i = 0; i < 3; i++) {
        struct filled f;
        struct checkpoint c = make_checkpoint();
        struct fill_options o = {.sums.arena = &arena};
        map_set(&o.sums, "c", NULL);
        if (i == 0)
            c.weights.count--;
        if (i == 2)
            vec_push(&arena, &o.reset, "c");
        ck_assert_msg(fill_with(read_model("", adam), &c, &o, &f), "%s", diag_first_error(&diag));
        ck_assert(map_has(&f.set, "c") == (i < 2));
        if (i < 2)
            ck_assert_double_eq(value(&f, "c", 2), i == 0 ? 0 : 22);
    }
}
END_TEST

/* Averages start from their weights, where the checkpoint has those: from one that stays as it is nothing is taken. */
START_TEST(averages_begin_with_their_weights)
{
    static const char averages[] =
        "@training_info { algorithm: train () => (float[3] b1, float[3] k1, float[3] n1)\n"
        "{ b1 = Neg(b) k1 = Neg(\"b.average\") n1 = Neg(\"k.average\") }\n"
        "  update_binding: [\"b\" : \"b1\", \"b.average\" : \"k1\", \"k.average\" : \"n1\"] }\n";
    struct filled f;
    struct checkpoint c = make_checkpoint();
    struct fill_options o = {0};
    struct model *const m = read_model("", averages);
    model_add_initializer(&arena, m->graph, "b.average", tensor_new(&arena, DTYPE_FLOAT, &three));
    model_add_initializer(&arena, m->graph, "k.average", tensor_new(&arena, DTYPE_FLOAT, &three));
    if (_i > 0)
        vec_push(&arena, &o.reset, "b");
    ck_assert_msg(fill_with(m, &c, &o, &f), "%s", diag_first_error(&diag));
    ck_assert(!map_has(&f.set, "k.average")); /* there is no weight 'k' */
    ck_assert(map_has(&f.set, "b.average") == (_i == 0));
    if (_i == 0)
        ck_assert_double_eq(value(&f, "b.average", 2), 12);
    ck_assert(said("moving averages: they start from the checkpoint's weights (1)") == (_i == 0));
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("fill");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, all_is_filled);
    tcase_add_test(tests, some_starts_anew);
    tcase_add_test(tests, what_is_missing_is_listed);
    tcase_add_test(tests, rates_that_differ_are_told);
    tcase_add_test(tests, operators_say_what_is_what);
    tcase_add_loop_test(tests, parameters_get_names, 0, sizeof orders / sizeof *orders);
    tcase_add_test(tests, names_of_the_command_line_come_first);
    tcase_add_test(tests, names_have_prefixes);
    tcase_add_test(tests, squares_are_told);
    tcase_add_test(tests, many_names_of_one_tensor);
    tcase_add_test(tests, counts_stay_within_their_type);
    tcase_add_loop_test(tests, what_is_called_a_rate_may_be_none, 0, 2);
    tcase_add_test(tests, a_zero_is_not_the_last_word);
    tcase_add_test(tests, a_zero_beside_another_number_is_told);
    tcase_add_test(tests, an_optimizer_alone_is_no_checkpoint);
    tcase_add_test(tests, steps_may_be_said);
    tcase_add_loop_test(tests, schedules_have_a_stride, 0, sizeof strides / sizeof *strides);
    tcase_add_test(tests, steps_are_those_of_the_optimizer);
    tcase_add_test(tests, the_model_knows_the_steps);
    tcase_add_test(tests, sums_begin_with_nothing);
    tcase_add_loop_test(tests, averages_begin_with_their_weights, 0, 2);
    return run_tests("fill", tests);
}
