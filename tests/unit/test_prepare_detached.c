/* Tensors through which no gradient flows: what the file says, --detach, and what lost a detach. */
#include "prepare/doctor.h"
#include "prepare/known_names.h"
#include "prepare/prepare.h"
#include "train_models.h"
#include "suite.h"

static struct prepare_options prepare_with;
static struct strbuf report;

static void begin(void)
{
    setup();
    report = (struct strbuf){.arena = &arena};
    prepare_with = (struct prepare_options){.loss = LOSS_OUTPUT,
                                            .output = "loss",
                                            .class_axis = 1,
                                            .learning_rate = 0.5,
                                            .first_step = -1,
                                            .gradients = true};
    ck_assert(optimizer_parse(&diag, &arena, "sgd", &prepare_with.optimizer));
}

static void add_weight(struct model *m, const char *name, double x)
{
    model_add_initializer(&arena, m->graph, name, DOUBLES(SHAPE(1), x));
}

/* loss = mean((h - d)^2), where h = a x, t = b x and d = Identity(t) */
static struct model *teacher(void)
{
    struct model *const m = new_model();
    m->opsets.count = 1;
    m->producer_name = "pytorch";
    input(m->graph, "x", DTYPE_DOUBLE, "2");
    model_add_value(&arena, m->graph, 1, "loss", DTYPE_DOUBLE, NULL, 0);
    model_add_value(&arena, m->graph, 1, "h", DTYPE_DOUBLE, &(struct model_dim){.value = 2}, 1);
    add_weight(m, "a", 2);
    add_weight(m, "b", 3);
    op(m->graph, "h", "Mul", "x a");
    op(m->graph, "t", "Mul", "x b");
    op(m->graph, "d", "Identity", "t");
    op(m->graph, "e", "Sub", "h d");
    op(m->graph, "ee", "Mul", "e e");
    model_set_int(&arena, op(m->graph, "loss", "ReduceMean", "ee"), "keepdims", 0);
    return m;
}

static struct model_node *maker_of(const struct model *m, const char *name)
{
    vec_each(struct model_node *, n, &m->graph->nodes)
        if (str_equal(n->outputs.data[0], name))
            return n;
    ck_abort_msg("no node makes %s", name);
}

static void remember(struct model *m, const char *name, const char *key, const char *text)
{
    vec_push(&arena, &maker_of(m, name)->metadata, ((struct model_pair){key, text}));
}

static struct interp *prepared(struct model *m)
{
    const bool ok = prepare_model(&diag, &arena, m, &prepare_with, &report);
    if (!ok)
        print_messages();
    ck_assert(ok);
    diag.strict = true; /* what is listed in order to be cut is nothing to complain of */
    must_combine(m);
    return start();
}

static bool reports(const char *part)
{
    return strstr(strbuf_text(&report), part) != NULL;
}

#define X12 INPUTS(DOUBLES(SHAPE(2), 1, 2))

/* e = -1, -2: da = mean(2 e x) = -1 - 4 = -5; db = 5 where nothing is detached. */
static void check_teacher(struct model *m)
{
    struct interp *const s = prepared(m);
    EXPECT(run(s, "step", "loss", X12), 2.5);
    EXPECT(run(start(), "step", "a.gradient", X12), -5);
    ck_assert(reports("trained: 1 tensor"));
    ck_assert(reports("detached: no gradient flows through 'd'"));
    ck_assert(reports("not b double[1]: no gradient reaches it"));
}

START_TEST(nothing_is_detached_unasked)
{
    struct model *const m = teacher();
    remember(m, "d", "pkg.torch.onnx.class_hierarchy", "['net.Teacher', 'aten.clone.default']");
    remember(m, "e", "pkg.torch.onnx.fx_node", "%e : call_function[target=torch.ops.aten.sub](args = (%h, %detach))");
    struct interp *const s = prepared(m);
    EXPECT(run(s, "step", "b.gradient", X12), 5);
    ck_assert(!reports("detached"));
}
END_TEST

START_TEST(by_the_metadata_of_nodes)
{
    struct model *m = teacher();
    remember(m, "d", "pkg.torch.onnx.class_hierarchy", "['net.Teacher', 'aten.detach.default']");
    check_teacher(m);
    begin();
    m = teacher();
    remember(m, "d", "pkg.torch.onnx.fx_node",
             "%detach : [num_users=1] = call_function[target=torch.ops.aten.detach.default](args = (%t,))");
    check_teacher(m);
}
END_TEST

START_TEST(by_the_metadata_of_the_file)
{
    struct model *const m = teacher();
    vec_push(&arena, &m->metadata, ((struct model_pair){METADATA_DETACHED, "d\ngone\n"}));
    check_teacher(m);
    ck_assert(has_message("'gone' was detached in the network, says the file, but nothing reads it any more"));
}
END_TEST

START_TEST(a_tool_led_readers_past_it)
{
    struct model *const m = teacher();
    remember(m, "d", "pkg.torch.onnx.class_hierarchy", "['net.Teacher', 'aten.detach.default']");
    maker_of(m, "e")->inputs.data[1] = "t";
    prepared(m);
    ck_assert(has_message("'d' was detached in the network, says the file, but nothing reads it any more"));
    ck_assert(has_message("export with optimize=False"));
}
END_TEST

START_TEST(by_the_option)
{
    vec_push(&arena, &prepare_with.detach, "d*");
    check_teacher(teacher());
}
END_TEST

/* The pupil is its own teacher: t = x h. e = 0, -4; da = mean(2 e x) = -8, and 8 if it flows through d too. */
static void check_own_teacher(struct model *m, const char *maker)
{
    maker_of(m, maker)->inputs.data[1] = "h";
    vec_push(&arena, &prepare_with.detach, "d");
    struct interp *const s = prepared(m);
    EXPECT(run(s, "step", "loss", X12), 8);
    EXPECT(run(start(), "step", "a.gradient", X12), -8);
}

START_TEST(in_parts_of_a_batch)
{
    prepare_with.accumulate = 2;
    check_own_teacher(teacher(), "t");
}
END_TEST

/* Dropout that drops nothing, in a step: what stands behind it is a copy, d among it. */
START_TEST(in_copies_for_a_step)
{
    struct model *const m = teacher();
    struct model_node *const n = op(m->graph, "t", "Dropout", "raw");
    model_add_initializer(&arena, m->graph, "ratio", SCALAR(1e-30));
    vec_push(&arena, &n->inputs, "ratio");
    for (size_t i = m->graph->nodes.count - 1; i > 2; i--)
        m->graph->nodes.data[i] = m->graph->nodes.data[i - 1];
    m->graph->nodes.data[1]->outputs.data[0] = "raw";
    m->graph->nodes.data[2] = n;
    check_own_teacher(m, "raw");
}
END_TEST

START_TEST(what_detach_must_not_name)
{
    vec_push(&arena, &prepare_with.detach, "losss");
    vec_push(&arena, &prepare_with.detach, "z*");
    vec_push(&arena, &prepare_with.detach, "a");
    vec_push(&arena, &prepare_with.detach, "const");
    struct model *const m = teacher();
    const char *const none[] = {NULL}, *const made[] = {"const", NULL};
    model_set_int(&arena, model_add_node(&arena, m->graph, "", "Constant", none, made), "value_int", 2);
    ck_assert(!prepare_model(&diag, &arena, m, &prepare_with, &report));
    ck_assert(has_message("--detach const: no node computes a tensor of that name"));
    ck_assert(has_message("--detach losss: no node computes a tensor of that name; did you mean 'loss'?"));
    ck_assert(has_message("--detach z*: no node computes a tensor whose name matches"));
    ck_assert(has_message("--detach a: it is an initializer; --freeze leaves it alone"));
}
END_TEST

/* ---- straight-through estimators --------------------------------------------------------------------------------- */

/* loss = mean(s), where s is what `ops` make of h = a x and y = b x: "s Add h diff" is one node. */
static struct model *estimator(const char *minuend, const char *subtrahend, const char *sum_op, const char *sum_in)
{
    struct model *const m = new_model();
    m->opsets.count = 1;
    m->producer_name = "pytorch";
    input(m->graph, "x", DTYPE_DOUBLE, "2");
    model_add_value(&arena, m->graph, 1, "loss", DTYPE_DOUBLE, NULL, 0);
    add_weight(m, "a", 2);
    add_weight(m, "b", 3);
    op(m->graph, "h", "Mul", "x a");
    op(m->graph, "y", "Mul", "x b");
    op(m->graph, "again", "Identity", "h");
    op(m->graph, "diff", "Sub", arena_printf(&arena, "%s %s", minuend, subtrahend));
    op(m->graph, "s", sum_op, sum_in);
    model_set_int(&arena, op(m->graph, "loss", "ReduceMean", "s"), "keepdims", 0);
    return m;
}

static bool warns(struct model *m)
{
    finding_list found = {0};
    examine_export(&arena, m, NULL, &found);
    bool finds = false;
    vec_each_ptr(const struct finding, f, &found)
        finds = finds || (strstr(f->text, "'s' is 'h' + (y - 'h')") && strstr(f->cure, "--detach 'diff'"));
    prepared(m);
    const bool says = has_message("'s' is 'h' + (y - 'h'): that is y") && has_message("--detach 'diff'");
    ck_assert_int_eq(says, finds);
    begin();
    return says;
}

START_TEST(a_lost_detach_is_seen)
{
    ck_assert(warns(estimator("y", "h", "Add", "h diff")));
    ck_assert(warns(estimator("y", "h", "Add", "diff h")));
    ck_assert(warns(estimator("h", "y", "Sub", "h diff")));
    ck_assert(warns(estimator("y", "again", "Add", "h diff")));
    ck_assert(warns(estimator("y", "h", "Add", "again diff")));
    ck_assert(!warns(estimator("h", "y", "Add", "h diff"))); /* 2 h - y */
    ck_assert(!warns(estimator("y", "h", "Sub", "h diff")));
    ck_assert(!warns(estimator("y", "h", "Add", "y diff")));
    ck_assert(!warns(estimator("y", "x", "Add", "x diff"))); /* nobody trains x */
}
END_TEST

START_TEST(a_difference_that_is_nothing)
{
    static const char text[] = "'s' adds 'h' - 'h', which is nothing";
    prepared(estimator("h", "again", "Add", "y diff"));
    ck_assert(has_message(text));
    begin();
    prepared(estimator("h", "again", "Add", "diff y"));
    ck_assert(has_message(text));
    begin();
    prepared(estimator("h", "again", "Sub", "y diff")); /* no estimator is written so */
    ck_assert(!has_message(text));
}
END_TEST

/* d loss / da = mean(x) = 1.5, and b has none */
START_TEST(an_estimator_that_is_detached)
{
    vec_push(&arena, &prepare_with.detach, "diff");
    struct interp *const s = prepared(estimator("y", "h", "Add", "h diff"));
    EXPECT(run(s, "step", "a.gradient", X12), 1.5);
    ck_assert(!has_message("straight-through"));
    begin();
    struct model *const m = estimator("y", "h", "Add", "h diff");
    vec_push(&arena, &m->metadata, ((struct model_pair){METADATA_DETACHED, ""}));
    prepared(m); /* who keeps detach() has none here */
    ck_assert(!has_message("straight-through"));
}
END_TEST

int main(void)
{
    TCase *const c = tcase_create("detached");
    tcase_add_checked_fixture(c, begin, teardown);
    tcase_add_test(c, nothing_is_detached_unasked);
    tcase_add_test(c, by_the_metadata_of_nodes);
    tcase_add_test(c, by_the_metadata_of_the_file);
    tcase_add_test(c, a_tool_led_readers_past_it);
    tcase_add_test(c, by_the_option);
    tcase_add_test(c, in_parts_of_a_batch);
    tcase_add_test(c, in_copies_for_a_step);
    tcase_add_test(c, what_detach_must_not_name);
    tcase_add_test(c, a_lost_detach_is_seen);
    tcase_add_test(c, a_difference_that_is_nothing);
    tcase_add_test(c, an_estimator_that_is_detached);
    return run_tests("detached", c);
}
