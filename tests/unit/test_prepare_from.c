/* prepare --from: which options a checkpoint's optimizer and schedule are. */
#include "fixture.h"
#include "prepare/from_checkpoint.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

struct pair {
    const char *key;
    double value;
};

static const struct from_case {
    const char *title;
    struct pair group[12];
    const char *kept; /* for the only parameter */
    struct pair schedule[8];
    double milestones[4];
    double most_steps;        /* 0: no trainer_state.json */
    const char *name;         /* of the schedule */
    double steps, epochs;     /* that the file says; 0: it does not */
    int64_t steps_made;       /* --steps-made; 0: not given */
    const char *said, *error; /* in the report, or a warning */
    double rate;
} cases[] = {
    {"Adam",
     {{"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-8}, {"amsgrad", 0}, {"weight_decay", 0}, {"lr", 0.25}},
     .said = "--optimizer adamw:beta1=0.9,beta2=0.99,epsilon=1e-08,weight_decay=0,norm_coefficient=0,amsgrad=0\n",
     .rate = 0.25},
    {"Adam or AdamW",
     {{"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-8}, {"amsgrad", 0}, {"weight_decay", 0.5}},
     .error = "weight decay 0.5 may be Adam's or AdamW's"},
    {"AdamW says so",
     {{"beta1", 0.9}, {"eps", 1}, {"amsgrad", 1}, {"weight_decay", 0.5}, {"decoupled_weight_decay", 1}},
     .said = "weight_decay=0.5,norm_coefficient=0,amsgrad=1\n"},
    {"Adam says so",
     {{"beta1", 0.9}, {"eps", 1}, {"amsgrad", 0}, {"weight_decay", 0.5}, {"decoupled_weight_decay", 0}},
     .said = "weight_decay=0,norm_coefficient=0.5,amsgrad=0\n"},
    {"Trainer's",
     {{"beta1", 0.9}, {"eps", 1}, {"amsgrad", 0}, {"weight_decay", 0.5}},
     .most_steps = 60,
     .said = "taken for AdamW, as Trainer has it"},
    {"Adamax",
     {{"beta1", 0.9}, {"beta2", 0.5}, {"eps", 1}, {"weight_decay", 0.25}},
     .kept = "exp_inf",
     .said = "--optimizer adamax:beta1=0.9,beta2=0.5,epsilon=1,norm_coefficient=0.25\n"},
    {"NAdam",
     {{"beta1", 0.9}, {"beta2", 0.5}, {"eps", 1}, {"momentum_decay", 0.125}},
     .said = "--optimizer nadam:beta1=0.9,beta2=0.5,epsilon=1,norm_coefficient=0,momentum_decay=0.125\n"},
    {"RAdam",
     {{"beta1", 0.9}, {"beta2", 0.5}, {"eps", 1}},
     .said = "--optimizer radam:beta1=0.9,beta2=0.5,epsilon=1,norm_coefficient=0\n"},
    {"RAdam with AdamW's decay",
     {{"beta1", 0.9}, {"eps", 1}, {"weight_decay", 0.5}, {"decoupled_weight_decay", 1}},
     .error = "its optimizer is radam with the weight decay of AdamW, which there is not"},
    {"AdamW of transformers",
     {{"beta1", 0.9}, {"beta2", 0.5}, {"eps", 1}, {"weight_decay", 0.5}, {"correct_bias", 1}},
     .said = "--optimizer adamw:beta1=0.9,beta2=0.5,epsilon=1,weight_decay=0.5,norm_coefficient=0,amsgrad=0\n"},
    {"somebody's Adam",
     {{"beta1", 0.9}, {"eps", 1}, {"bias_correction", 1}},
     .error = "which optimizer has kept its state cannot be told"},
    {"Lion",
     {{"beta1", 0.9}, {"beta2", 0.5}, {"weight_decay", 0.25}},
     .said = "--optimizer lion:beta1=0.9,beta2=0.5,weight_decay=0.25\n"},
    {"SGD",
     {{"momentum", 0}, {"weight_decay", 0.25}, {"lr", 0.5}},
     .said = "--optimizer sgd:norm_coefficient=0.25\n",
     .rate = 0.5},
    {"with momentum",
     {{"momentum", 0.5}, {"dampening", 0.25}},
     .said = "--optimizer momentum:alpha=0.5,beta=0.75,norm_coefficient=0\n"},
    {"of Nesterov", {{"momentum", 0.5}, {"nesterov", 1}}, .said = "--optimizer nesterov:alpha=0.5,beta=1,"},
    {"RMSprop",
     {{"alpha", 0.75}, {"eps", 1}, {"momentum", 0.5}, {"centered", 1}},
     .said = "--optimizer rmsprop:alpha=0.75,epsilon=1,norm_coefficient=0,momentum=0.5,centered=1\n"},
    {"Adagrad",
     {{"lr_decay", 0.5}, {"eps", 1}},
     .said = "--optimizer adagrad:decay_factor=0.5,norm_coefficient=0,epsilon=1\n"},
    {"it maximizes", {{"momentum", 0}, {"maximize", 1}}, .error = "its optimizer maximizes"},
    {"nobody knows", {{"rho", 1}}, .error = "which optimizer has kept its state cannot be told"},
    {"StepLR",
     {{"momentum", 0}, {"lr", 0.1}, {"initial_lr", 0.5}},
     .schedule = {{"step_size", 7}, {"gamma", 0.7}},
     .said = "--schedule step:every=7,gamma=0.7\n",
     .rate = 0.5},
    {"MultiStepLR",
     {{"momentum", 0}},
     .schedule = {{"gamma", 0.5}},
     .milestones = {5, 15},
     .said = "--schedule multistep:milestones=5,15,gamma=0.5\n"},
    {"ExponentialLR", {{"momentum", 0}}, .schedule = {{"gamma", 0.9}}, .said = "--schedule exponential:gamma=0.9\n"},
    {"CyclicLR",
     {{"momentum", 0}, {"lr", 0.25}},
     .schedule = {{"gamma", 1}, {"total_size", 10}, {"step_ratio", 0.5}},
     .said = "or one that --schedule has not: the learning rate stays at 0.25",
     .rate = 0.25},
    {"CosineAnnealingLR",
     {{"momentum", 0}},
     .schedule = {{"T_max", 40}, {"eta_min", 0.125}, {"base_lrs", 0.5}},
     .said = "--schedule cosine:steps=40,floor=0.25\n"},
    {"LinearLR",
     {{"momentum", 0}},
     .schedule = {{"total_iters", 40}, {"start_factor", 1}, {"end_factor", 0}},
     .said = "--schedule linear:steps=40\n"},
    {"LinearLR that rises",
     {{"momentum", 0}},
     .schedule = {{"total_iters", 40}, {"start_factor", 0.5}, {"end_factor", 1}},
     .name = "LinearLR",
     .said = "its schedule, LinearLR, has no equal among those of --schedule"},
    {"OneCycleLR",
     {{"momentum", 0}, {"lr", 0.1}, {"initial_lr", 0.25}, {"max_lr", 1}, {"min_lr", 0.125}},
     .schedule = {{"total_steps", 40}, {"phases", 2}, {"first_end", 9}},
     .said = "--schedule onecycle:steps=40,pct_start=0.25,div_factor=4,final_div_factor=2,linear=0,three_phase=0\n",
     .rate = 1},
    {"OneCycleLR moves momentum, too",
     {{"momentum", 0.5}, {"initial_lr", 0.25}, {"max_lr", 1}, {"min_lr", 0.125}},
     .schedule = {{"total_steps", 40}, {"phases", 2}, {"first_end", 9}, {"cycle_momentum", 1}},
     .said = "its schedule moves the momentum as well, which stays what it is now: 0.5",
     .rate = -1},
    {"OneCycleLR of three",
     {{"momentum", 0}, {"initial_lr", 0.25}, {"max_lr", 1}, {"min_lr", 0.125}},
     .schedule = {{"total_steps", 40}, {"phases", 3}, {"first_end", 9}, {"linear", 1}},
     .said = "linear=1,three_phase=1\n",
     .rate = -1},
    {"LambdaLR",
     {{"momentum", 0}, {"lr", 0.125}, {"initial_lr", 0.5}},
     .schedule = {{"last_epoch", 3}},
     .most_steps = 60,
     .name = "LambdaLR or MultiplicativeLR",
     .said = "its schedule, LambdaLR or MultiplicativeLR, is a function, which a checkpoint does not hold: the "
             "learning rate stays at 0.125; --schedule says another (--schedule linear:steps=60 is Trainer's own "
             "without warm-up), --learning-rate-input NAME leaves it to the program",
     .rate = 0.125},
    /* called once an epoch of five steps */
    {"StepLR of epochs",
     {{"momentum", 0}, {"lr", 0.1}, {"initial_lr", 0.5}},
     .schedule = {{"step_size", 7}, {"gamma", 0.7}, {"last_epoch", 6}},
     .name = "StepLR",
     .steps = 30,
     .said = "--schedule step:every=35,gamma=0.7\n",
     .rate = 0.5},
    {"and it is said",
     {{"momentum", 0}},
     .schedule = {{"step_size", 7}, {"gamma", 0.7}, {"last_epoch", 6}},
     .name = "StepLR",
     .steps_made = 30,
     .said = "its schedule, StepLR, was called 6 times, its optimizer made 30 steps: a call is taken for 5 steps; "
             "--schedule says it otherwise, in steps"},
    {"MultiStepLR of epochs",
     {{"momentum", 0}},
     .schedule = {{"gamma", 0.5}, {"last_epoch", 6}},
     .milestones = {5, 15},
     .steps = 30,
     .said = "--schedule multistep:milestones=25,75,gamma=0.5\n"},
    {"ExponentialLR of epochs",
     {{"momentum", 0}},
     .schedule = {{"gamma", 0.9}, {"last_epoch", 6}},
     .steps = 30,
     .said = "--schedule step:every=5,gamma=0.9\n"},
    {"CosineAnnealingLR of epochs",
     {{"momentum", 0}},
     .schedule = {{"T_max", 40}, {"eta_min", 0.125}, {"base_lrs", 0.5}, {"last_epoch", 6}},
     .steps = 30,
     .said = "--schedule cosine:steps=200,floor=0.25\n"},
    {"changes between the calls",
     {{"momentum", 0}},
     .schedule = {{"total_iters", 40}, {"start_factor", 1}, {"end_factor", 0}, {"last_epoch", 6}},
     .steps = 30,
     .said = "a call is taken for 5 steps, between which its rate stood still, and here changes evenly"},
    {"LinearLR of epochs",
     {{"momentum", 0}},
     .schedule = {{"total_iters", 40}, {"start_factor", 1}, {"end_factor", 0}, {"last_epoch", 6}},
     .steps = 30,
     .said = "--schedule linear:steps=200\n"},
    {"OneCycleLR of epochs",
     {{"momentum", 0}, {"lr", 0.25}, {"initial_lr", 0.25}, {"max_lr", 1}, {"min_lr", 0.125}},
     .schedule = {{"total_steps", 40}, {"phases", 2}, {"first_end", 9}, {"last_epoch", 6}},
     .name = "OneCycleLR",
     .steps = 30,
     .said = "its schedule, OneCycleLR, has no equal among those of --schedule: the learning rate stays at 0.25",
     .rate = 0.25},
    {"saved within an epoch",
     {{"momentum", 0}, {"lr", 0.25}},
     .schedule = {{"step_size", 7}, {"gamma", 0.7}, {"last_epoch", 6}},
     .name = "StepLR",
     .steps = 31,
     .said = "its schedule, StepLR, was called 6 times, its optimizer made 31 steps: it counts epochs, and how many "
             "steps one has cannot be told (counted in epochs it is step:every=7,gamma=0.7): the learning rate stays "
             "at 0.25",
     .rate = 0.25},
    {"nobody counts steps",
     {{"momentum", 0}, {"lr", 0.25}},
     .schedule = {{"step_size", 7}, {"gamma", 0.7}, {"last_epoch", 6}},
     .name = "StepLR",
     .epochs = 5,
     .said = "its schedule, StepLR, was called 6 times, once an epoch, and how many steps an epoch has is not in the "
             "file (--steps-made N says how many were made; counted in epochs it is step:every=7,gamma=0.7)",
     .rate = 0.25},
    {"one call behind",
     {{"momentum", 0}},
     .schedule = {{"step_size", 7}, {"gamma", 0.7}, {"last_epoch", 1}},
     .steps = 2,
     .said = "--schedule step:every=7,gamma=0.7\n"},
};

static void add_numbers(checkpoint_numbers *to, const struct pair *from)
{
    for (int i = 0; from[i].key; i++)
        vec_push(&arena, to, ((struct checkpoint_number){from[i].key, from[i].value}));
}

static bool said(const struct strbuf *report, const char *text)
{
    vec_each_ptr(const struct diag_message, m, &diag.messages)
        if (strstr(m->text, text))
            return true;
    return strstr(strbuf_text(report), text) != NULL;
}

START_TEST(options_are_the_checkpoints)
{
    const struct from_case *const c = &cases[_i];
    struct checkpoint from = {.path = "c.pt",
                              .has_optimizer = true,
                              .steps = c->steps > 0 ? c->steps : NAN,
                              .most_steps = c->most_steps > 0 ? c->most_steps : NAN,
                              .epochs = c->epochs > 0 ? c->epochs : NAN,
                              .schedule_name = c->name,
                              .has_schedule = c->schedule[0].key};
    struct checkpoint_group group = {.count = 1};
    struct checkpoint_parameter p = {.name = "w", .steps = NAN};
    struct model m = {.graph = model_graph_new(&arena, "g")};
    struct prepare_options o = {.learning_rate = -1};
    struct strbuf report = {.arena = &arena};
    add_numbers(&group.numbers, c->group);
    add_numbers(&from.schedule, c->schedule);
    for (int i = 0; c->milestones[i] > 0; i++)
        vec_push(&arena, &from.milestones, c->milestones[i]);
    if (c->kept)
        vec_push(&arena, &p.state, ((struct named_tensor){c->kept, tensor_scalar_double(&arena, DTYPE_FLOAT, 1)}));
    vec_push(&arena, &from.groups, group);
    vec_push(&arena, &from.parameters, p);
    const struct fill_options fill = {.steps = c->steps_made > 0 ? &c->steps_made : NULL};
    const bool ok =
        options_from_checkpoint(&diag, &arena, &m, &from, &fill, &(struct given_options){0}, &o, &report);
    ck_assert_msg(ok == !c->error, "%s: %s", c->title, diag_first_error(&diag) ? diag_first_error(&diag) : "no error");
    const char *const wanted = c->error ? c->error : c->said;
    ck_assert_msg(said(&report, wanted), "%s: no '%s' in\n%s", c->title, wanted, strbuf_text(&report));
    if (c->rate > 0)
        ck_assert_double_eq(o.learning_rate, c->rate);
}
END_TEST

/* What the command line says is not looked for. */
START_TEST(the_command_line_counts)
{
    struct checkpoint from = {.path = "c.pt", .has_optimizer = true, .steps = NAN, .most_steps = NAN};
    struct checkpoint_group group = {.count = 1};
    struct model m = {.graph = model_graph_new(&arena, "g")};
    struct prepare_options o = {.learning_rate = 3};
    struct strbuf report = {.arena = &arena};
    add_numbers(&group.numbers, (const struct pair[]){{"lr", 0.5}, {"rho", 1}, {NULL, 0}});
    vec_push(&arena, &from.groups, group);
    const struct given_options given = {.optimizer = "sgd", .learning_rate = true};
    ck_assert(options_from_checkpoint(&diag, &arena, &m, &from, &(struct fill_options){0}, &given, &o, &report));
    ck_assert_double_eq(o.learning_rate, 3);
}
END_TEST

/* Of an optimizer of the same family, what the command line leaves out is the checkpoint's. */
static const struct {
    const char *text, *taken; /* NULL: nothing */
    struct pair group[8];
} completions[] = {
    {"adamw", "beta2=0.95, weight_decay=0.1", {{"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-8}, {"weight_decay", 0.1}}},
    {"adamw:beta2=0.99", NULL, {{"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-8}, {"weight_decay", 0.01}}},
    {"adamw:norm_coefficient=0.5", NULL, {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0.1}}},
    {"adamw", "weight_decay=0, norm_coefficient=0.1",
     {{"beta1", 0.9}, {"eps", 1e-8}, {"weight_decay", 0.1}, {"decoupled_weight_decay", 0}}},
    {"adamw", "amsgrad=1, weight_decay=0", {{"beta1", 0.9}, {"eps", 1e-8}, {"weight_decay", 0}, {"amsgrad", 1}}},
    {"adam", "alpha=0.8, beta=0.95, epsilon=1e-08, norm_coefficient=0.1",
     {{"beta1", 0.8}, {"beta2", 0.95}, {"eps", 1e-8}, {"weight_decay", 0.1}}},
    {"adam", NULL, {{"beta1", 0.9}, {"eps", 1e-6}, {"weight_decay", 0.1}, {"decoupled_weight_decay", 1}}},
    {"nadam", "momentum_decay=0.5", {{"beta1", 0.9}, {"eps", 1e-8}, {"momentum_decay", 0.5}}},
    {"lion", NULL, {{"beta1", 0.8}, {"beta2", 0.95}, {"eps", 1e-8}}},
    {"lion", "beta1=0.8, weight_decay=0.1", {{"beta1", 0.8}, {"beta2", 0.99}, {"weight_decay", 0.1}}},
    {"momentum", "alpha=0.5, beta=0.75, norm_coefficient=0.1",
     {{"momentum", 0.5}, {"dampening", 0.25}, {"weight_decay", 0.1}}},
    {"sgd", "norm_coefficient=0.1", {{"momentum", 0}, {"weight_decay", 0.1}}},
    {"sgd", NULL, {{"beta1", 0.9}, {"eps", 1e-8}, {"weight_decay", 0.1}}},
    {"momentum", NULL, {{"momentum", 0.5}, {"centered", 0}, {"alpha", 0.5}}},
    {"rmsprop", "alpha=0.5, centered=1, momentum=0.25",
     {{"momentum", 0.25}, {"centered", 1}, {"alpha", 0.5}, {"eps", 1e-8}}},
    {"adagrad", "epsilon=1e-10, decay_factor=0.5", {{"lr_decay", 0.5}, {"eps", 1e-10}}},
    {"rmsprop", NULL, {{"lr_decay", 0.5}, {"eps", 1e-10}}},
};

START_TEST(keys_that_are_left_out)
{
    struct checkpoint from = {.path = "c.pt", .has_optimizer = true, .steps = NAN, .most_steps = NAN};
    struct checkpoint_group group = {.count = 1};
    struct model m = {.graph = model_graph_new(&arena, "g")};
    struct prepare_options o = {.learning_rate = 3};
    struct strbuf report = {.arena = &arena};
    const char *const text = completions[_i].text, *const taken = completions[_i].taken;
    ck_assert(optimizer_parse(&diag, &arena, text, &o.optimizer));
    add_numbers(&group.numbers, completions[_i].group);
    vec_push(&arena, &from.groups, group);
    const struct given_options given = {.optimizer = text};
    ck_assert(options_from_checkpoint(&diag, &arena, &m, &from, &(struct fill_options){0}, &given, &o, &report));
    ck_assert_str_eq(strbuf_text(&report),
                     taken ? arena_printf(&arena, "from c.pt: %s, of which --optimizer says nothing\n", taken) : "");
}
END_TEST

/* A group without tensors, or with the numbers of the first, is no --group. */
START_TEST(groups_that_say_something)
{
    static const struct {
        const char *parameter; /* NULL: the group has none */
        double rate, decay;
        bool taken;
    } groups[] = {{"w", 0.5, 0.1, false}, {"a", 0.5, 0.1, false}, {NULL, 0.25, 0.1, false},
                  {NULL, 0.5, 0, false},  {"b", 0.25, 0.1, true}, {"c", 0.5, 0, true}};
    struct checkpoint from = {.path = "c.pt", .has_optimizer = true, .steps = NAN, .most_steps = NAN};
    struct model m = {.graph = model_graph_new(&arena, "g")};
    struct prepare_options o = {.learning_rate = -1};
    struct strbuf report = {.arena = &arena};
    size_t taken = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        struct checkpoint_group group = {.count = groups[i].parameter != NULL};
        const struct pair numbers[] = {
            {"lr", groups[i].rate}, {"momentum", 0}, {"weight_decay", groups[i].decay}, {NULL, 0}};
        add_numbers(&group.numbers, numbers);
        vec_push(&arena, &from.groups, group);
        if (groups[i].parameter)
            vec_push(&arena, &from.parameters,
                     ((struct checkpoint_parameter){.name = groups[i].parameter, .group = i, .steps = NAN}));
    }
    const struct given_options given = {0};
    ck_assert_msg(options_from_checkpoint(&diag, &arena, &m, &from, &(struct fill_options){0}, &given, &o, &report),
                  "%s", diag_first_error(&diag));
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (!groups[i].taken)
            continue;
        ck_assert_uint_gt(o.groups.count, taken);
        const struct group *const g = &o.groups.data[taken++];
        ck_assert_uint_eq(g->later.count, 1);
        ck_assert_str_eq(g->later.data[0], groups[i].parameter);
        ck_assert(isnan(g->learning_rate) ? groups[i].rate == 0.5 : g->learning_rate == groups[i].rate);
        ck_assert(isnan(g->weight_decay) ? groups[i].decay == 0.1 : g->weight_decay == groups[i].decay);
    }
    ck_assert_uint_eq(o.groups.count, taken);
}
END_TEST

int main(void)
{
    TCase *const tests = tcase_create("from");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, options_are_the_checkpoints, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, the_command_line_counts);
    tcase_add_loop_test(tests, keys_that_are_left_out, 0, sizeof completions / sizeof *completions);
    tcase_add_test(tests, groups_that_say_something);
    return run_tests("from", tests);
}
