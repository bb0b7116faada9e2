/* A checkpoint's values into a model: whose is which of what an optimizer keeps; what is transposed, converted,
 * missing. */
#include "base/diag.h"
#include "foreign/fill_internal.h"
#include "foreign/give.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

static struct arena arena;
static struct diag diag;
static struct strbuf report;

static void begin(void)
{
    arena = (struct arena){0};
    diag = (struct diag){.arena = &arena};
    report = (struct strbuf){.arena = &arena};
}

static void end(void)
{
    arena_free(&arena);
}

static struct model *read_model(const char *metadata, const char *algorithm)
{
    struct model *m;
    const char *const text =
        arena_printf(&arena,
                     "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.preview.training\" : 1]%s>\n"
                     "net (float[1,2] x) => (float[1,3] y)\n"
                     "<float[2,3] w = {1,2,3,4,5,6}, float[3] b = {0,0,0}, float[3] c = {0,0,0}>\n"
                     "{ p = MatMul(x, w) q = Add(p, b) y = Add(q, c) }\n%s",
                     metadata, algorithm);
    ck_assert_msg(model_read_text(&diag, &arena, "net.onnxtxt", text, strlen(text), &m), "%s", diag_first_error(&diag));
    return m;
}

/* As prepare writes it, as far as fill looks at it: one rate for w, another for b. */
static const char adam[] =
    "@training_info { algorithm: train () => (float[2,3] w1, float[3] b1, float[2,3] m1, float[3] n1, int64 s1, float "
    "r1,\n"
    "float r2)\n"
    "<float[2,3] \"w.m\" = {0,0,0,0,0,0}, float[2,3] \"w.v\" = {0,0,0,0,0,0}, float[3] \"b.m\" = {0,0,0},\n"
    " float[3] \"b.v\" = {0,0,0}, int64 step_count = {3}, float learning_rate = {1}, float \"learning_rate.2\" = {1},\n"
    " float beta1_2 = {0.9}, float epsilon = {0.5}>\n"
    "{ m1 = Mul(\"w.m\", beta1_2) scheduled_rate = Identity(learning_rate) a = Mul(m1, scheduled_rate)\n"
    "  a1 = Add(a, epsilon) w1 = Sub(w, a1) n1 = Mul(\"b.m\", \"learning_rate.2\") b1 = Sub(b, n1)\n"
    "  s1 = Identity(step_count) r1 = Identity(learning_rate) r2 = Identity(\"learning_rate.2\") }\n"
    "  update_binding: [\"w\" : \"w1\", \"b\" : \"b1\", \"w.m\" : \"m1\", \"w.v\" : \"m1\", \"b.m\" : \"n1\", \"b.v\" "
    ": \"n1\",\n"
    "    \"step_count\" : \"s1\", \"learning_rate\" : \"r1\", \"learning_rate.2\" : \"r2\"] }\n";

static const struct tensor *numbers(const struct shape *shape, double first)
{
    struct tensor *const t = tensor_new(&arena, DTYPE_FLOAT, shape);
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, first + (double)i);
    return t;
}

static void add_weight(struct checkpoint *c, const char *name, const struct shape *shape, double first)
{
    vec_push(&arena, &c->weights, ((struct named_tensor){name, numbers(shape, first)}));
}

static void add_parameter(struct checkpoint *c, const char *name, size_t group, const struct shape *shape, double first)
{
    struct checkpoint_parameter p = {.name = name, .group = group, .steps = 7};
    vec_push(&arena, &p.state, ((struct named_tensor){"exp_avg", numbers(shape, first)}));
    vec_push(&arena, &p.state, ((struct named_tensor){"exp_avg_sq", numbers(shape, first + 100)}));
    vec_push(&arena, &c->parameters, p);
    while (c->groups.count <= group)
        vec_push(&arena, &c->groups, ((struct checkpoint_group){0}));
    c->groups.data[group].count++;
    c->has_optimizer = true;
}

static void add_number(struct checkpoint *c, size_t group, const char *key, double x)
{
    vec_push(&arena, &c->groups.data[group].numbers, ((struct checkpoint_number){key, x}));
}

static struct checkpoint empty(void)
{
    return (struct checkpoint){.path = "c.pt", .ordered = true, .steps = NAN, .most_steps = NAN};
}

static const struct shape three = SHAPE(3), two_three = SHAPE(2, 3), three_two = SHAPE(3, 2);

/* w [2,3] of the model is [3,2] in the file; b and c. */
static struct checkpoint make_checkpoint(void)
{
    struct checkpoint c = empty();
    add_weight(&c, "w", &three_two, 1);
    add_weight(&c, "b", &three, 10);
    add_weight(&c, "c", &three, 20);
    return c;
}

static bool fill_with(struct model *m, struct checkpoint *c, const struct fill_options *o, struct filled *out)
{
    *out = (struct filled){.set.arena = &arena};
    return checkpoint_fill(&diag, &arena, m, c, o, &report, out);
}

static double value(const struct filled *f, const char *name, int64_t i)
{
    const struct tensor *const t = map_get(&f->set, name);
    ck_assert_msg(t, "'%s' is not set", name);
    return tensor_get_double(t, i);
}

static bool said(const char *text)
{
    vec_each_ptr(const struct diag_message, m, &diag.messages)
        if (strstr(m->text, text))
            return true;
    return strstr(strbuf_text(&report), text) != NULL;
}

#define assert_said(text) ck_assert_msg(said(text), "no '%s' in\n%s", text, strbuf_text(&report))

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

static const struct shape four = SHAPE(4), square = SHAPE(3, 3), scalar = {.rank = 0};

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

START_TEST(parameters_get_names)
{
    const struct order_case *const o = &orders[_i];
    struct checkpoint c = empty();
    c.ordered = !o->unordered;
    for (int i = 0; o->weights[i].name; i++)
        add_weight(&c, o->weights[i].name, o->weights[i].shape, 0);
    for (int i = 0; o->parameters[i].shape; i++)
        add_parameter(&c, NULL, o->parameters[i].group, o->parameters[i].shape, 0);
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
    tcase_add_test(tests, a_zero_is_not_the_last_word);
    tcase_add_test(tests, an_optimizer_alone_is_no_checkpoint);
    tcase_add_test(tests, steps_may_be_said);
    tcase_add_loop_test(tests, schedules_have_a_stride, 0, sizeof strides / sizeof *strides);
    tcase_add_test(tests, steps_are_those_of_the_optimizer);
    tcase_add_test(tests, the_model_knows_the_steps);
    tcase_add_test(tests, sums_begin_with_nothing);
    tcase_add_loop_test(tests, gates_are_reordered, 0, sizeof recurrent_cases / sizeof *recurrent_cases);
    tcase_add_test(tests, what_cannot_be_laid_out_is_told);
    tcase_add_test(tests, gates_come_back);
    tcase_add_loop_test(tests, odd_shapes_are_left_alone, 0, sizeof odd_cases / sizeof *odd_cases);
    tcase_add_test(tests, kernels_turn_with_what_is_kept);
    tcase_add_test(tests, operators_say_how_weights_stand);
    tcase_add_test(tests, weights_have_second_names);
    tcase_add_test(tests, a_rate_may_be_missing);
    return run_tests("fill", tests);
}
