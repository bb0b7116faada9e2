/* What is what in a checkpoint of PyTorch: there is no rule, only habits. */
#include "foreign/checkpoint_internal.h"

#include <math.h>
#include <string.h>

#define REDUCE_ON_PLATEAU "ReduceLROnPlateau"

enum {
    MOST_DEPTH = 16, /* of dicts of tensors */
    MOST_KEYS = 256, /* of a group, or of what is kept for a parameter: honest ones have ten */
    MOST_NAME = 512,
    FIRST_LOOKS = 64, /* at the values of a dict, to see whether they are tensors */
    MOST_LOOKS = 1 << 20
};

static const char *const weight_keys[] = {"model",   "state_dict", "model_state_dict", "model_state", "net",
                                          "network", "module",     "weights",          "params",      NULL};
static const char *const optimizer_keys[] = {"optimizer", "optimizer_state_dict", "optim", "optimizer_state",
                                             "opt",       "optimizer_states",     NULL};
static const char *const schedule_keys[] = {
    "scheduler", "scheduler_state_dict", "lr_scheduler", "lr_scheduler_state_dict", "lr_schedulers", "schedule", NULL};
static const char *const step_keys[] = {"global_step", "step", "steps", "iteration", "iter", "num_updates", NULL};

static bool is_dict(const struct pickle_value *v)
{
    return v && v->kind == PICKLE_DICT;
}

static size_t pairs(const struct pickle_value *dict)
{
    return dict->items->count / 2;
}

static const struct pickle_value *key_at(const struct pickle_value *dict, size_t i)
{
    return dict->items->data[2 * i];
}

static const struct pickle_value *value_at(const struct pickle_value *dict, size_t i)
{
    return dict->items->data[2 * i + 1];
}

static bool look(struct checkpoint_reader *r)
{
    return ++r->looked_at <= MOST_LOOKS || diag_error(r->diag, &r->loc, "its dicts contain each other too often");
}

static void add_rest(struct checkpoint_reader *r, const char *name, const struct pickle_value *v)
{
    vec_push(r->arena, &r->to->rest, arena_printf(r->arena, "'%s' (%s)", name, pickle_describe(r->arena, v)));
}

static bool has_tensor(const struct pickle_value *v)
{
    for (size_t i = 0; is_dict(v) && i < pairs(v) && i < FIRST_LOOKS; i++)
        if (value_at(v, i)->kind == PICKLE_TENSOR)
            return true;
    return false;
}

static bool is_optimizer(const struct pickle_value *v)
{
    return is_dict(v) && pairs(v) <= MOST_KEYS && is_dict(pickle_get(v, "state")) && pickle_get(v, "param_groups");
}

static bool is_schedule(const struct pickle_value *v)
{
    return is_dict(v) && pairs(v) <= MOST_KEYS && pickle_get(v, "last_epoch") && !has_tensor(v);
}

/* Lightning has lists, of one mostly. */
static const struct pickle_value *first_of(const struct pickle_value *v)
{
    return v && v->kind == PICKLE_LIST && v->items->count == 1 ? v->items->data[0] : v;
}

/* Under a usual key, else the only one that is of the kind, else NULL. */
static const struct pickle_value *find_part(struct checkpoint_reader *r, const struct pickle_value *root,
                                            const char *const *keys, bool (*is_one)(const struct pickle_value *v))
{
    const struct pickle_value *found = NULL;
    size_t count = 0;
    for (size_t k = 0; keys[k]; k++)
        if (is_one(first_of(pickle_get(root, keys[k]))))
            return first_of(pickle_get(root, keys[k]));
    for (size_t i = 0; i < pairs(root); i++) {
        if (!look(r))
            return NULL;
        if (is_one(first_of(value_at(root, i)))) {
            found = first_of(value_at(root, i));
            count++;
        }
    }
    return count == 1 ? found : NULL;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Where its elements lie, as text. */
static const char *place_of(struct arena *a, const struct pickle_tensor *t)
{
    struct strbuf b = {.arena = a};
    strbuf_addf(&b, "%s %s %lld %s", t->storage->key, dtype_name(t->dtype), (long long)t->offset,
                shape_text(a, &t->shape));
    for (int i = 0; i < t->shape.rank; i++)
        strbuf_addf(&b, " %lld", (long long)t->stride[i]);
    return strbuf_text(&b);
}

/* Tensors of the same elements are one that has several names. */
static void add_weight(struct checkpoint_reader *r, const char *name, const struct pickle_tensor *t, struct map *seen)
{
    const char *const place = place_of(r->arena, t);
    if (t->tensor->count > 1 && map_has(seen, place))
        vec_push(r->arena, &r->to->aliases, name);
    map_set(seen, place, NULL);
    vec_push(r->arena, &r->to->weights, ((struct named_tensor){name, t->tensor}));
}

/* Tensors under "prefix.key", of dicts in dicts, too. */
static bool add_weights(struct checkpoint_reader *r, const char *prefix, const struct pickle_value *dict, int depth,
                        struct map *seen)
{
    if (depth > MOST_DEPTH)
        return diag_error(r->diag, &r->loc, "'%.100s': dicts of tensors are nested deeper than %d", prefix, MOST_DEPTH);
    for (size_t i = 0; i < pairs(dict); i++) {
        const struct pickle_value *const key = key_at(dict, i), *const v = value_at(dict, i);
        if (!look(r))
            return false;
        if (key->kind != PICKLE_TEXT || strlen(prefix) + strlen(key->text) > MOST_NAME) {
            add_rest(r, prefix, v);
            continue;
        }
        const char *const name = arena_printf(r->arena, "%s%s", prefix, key->text);
        if (v->kind == PICKLE_TENSOR)
            add_weight(r, name, v->tensor, seen);
        else if (!is_dict(v))
            add_rest(r, name, v);
        else if (!add_weights(r, arena_printf(r->arena, "%s.", name), v, depth + 1, seen))
            return false;
    }
    return true;
}

/* ---- the optimizer ----------------------------------------------------------------------------------------------- */

static void add_number(struct checkpoint_reader *r, checkpoint_numbers *to, const char *key,
                       const struct pickle_value *v)
{
    double x;
    if (pickle_number(v, &x))
        vec_push(r->arena, to, ((struct checkpoint_number){key, x}));
}

static bool is_names(const struct pickle_value *v, size_t count)
{
    return v && v->kind == PICKLE_LIST && v->items->count == count;
}

/* *ids: what the state calls a parameter -> its index + 1. */
static bool add_group(struct checkpoint_reader *r, const struct pickle_value *dict, struct map *ids)
{
    struct checkpoint *const c = r->to;
    const struct pickle_value *const list = pickle_get(dict, "params"), *const names = pickle_get(dict, "param_names");
    struct checkpoint_group g = {0};
    if (!is_dict(dict) || pairs(dict) > MOST_KEYS || !list || list->kind != PICKLE_LIST)
        return diag_error(r->diag, &r->loc, "a group of the optimizer has no list 'params'");
    if (!look(r))
        return false;
    g.count = list->items->count;
    for (size_t i = 0; i < g.count; i++) {
        const struct pickle_value *const id = list->items->data[i];
        struct checkpoint_parameter p = {.group = c->groups.count, .steps = NAN};
        if (!look(r))
            return false;
        if (id->kind != PICKLE_INT && id->kind != PICKLE_TEXT)
            return diag_error(r->diag, &r->loc, "a parameter of the optimizer is %s", pickle_describe(r->arena, id));
        const char *const key = id->kind == PICKLE_TEXT ? id->text : arena_printf(r->arena, "%lld", (long long)id->i);
        if (map_has(ids, key))
            return diag_error(r->diag, &r->loc, "parameter %.100s is in two groups of the optimizer", key);
        if (is_names(names, g.count) && names->items->data[i]->kind == PICKLE_TEXT)
            p.name = names->items->data[i]->text;
        else if (id->kind == PICKLE_TEXT)
            p.name = id->text;
        vec_push(r->arena, &c->parameters, p);
        map_set(ids, key, (void *)(uintptr_t)c->parameters.count);
    }
    for (size_t i = 0; i < pairs(dict); i++) {
        if (!look(r))
            return false;
        if (key_at(dict, i)->kind == PICKLE_TEXT)
            add_number(r, &g.numbers, key_at(dict, i)->text, value_at(dict, i));
    }
    const struct pickle_value *const betas = pickle_get(dict, "betas");
    if (betas && (betas->kind == PICKLE_TUPLE || betas->kind == PICKLE_LIST) && betas->items->count == 2) {
        add_number(r, &g.numbers, "beta1", betas->items->data[0]);
        add_number(r, &g.numbers, "beta2", betas->items->data[1]);
    }
    vec_push(r->arena, &c->groups, g);
    return true;
}

static void add_state(struct checkpoint_reader *r, struct checkpoint_parameter *p, const char *key,
                      const struct pickle_value *v)
{
    double x;
    if (str_equal(key, "step") && pickle_number(v, &x))
        p->steps = x;
    else if (v->kind == PICKLE_TENSOR)
        vec_push(r->arena, &p->state, ((struct named_tensor){key, v->tensor->tensor}));
    else if (pickle_number(v, &x))
        vec_push(r->arena, &p->state, ((struct named_tensor){key, tensor_scalar_double(r->arena, DTYPE_DOUBLE, x)}));
}

static bool add_states(struct checkpoint_reader *r, const struct pickle_value *states, const struct map *ids)
{
    for (size_t i = 0; i < pairs(states); i++) {
        const struct pickle_value *const id = key_at(states, i), *const dict = value_at(states, i);
        const char *const key = id->kind == PICKLE_TEXT  ? id->text
                                : id->kind == PICKLE_INT ? arena_printf(r->arena, "%lld", (long long)id->i)
                                                         : "";
        const size_t index = (size_t)(uintptr_t)map_get(ids, key);
        if (index == 0 || !is_dict(dict))
            return diag_error(r->diag, &r->loc, "the optimizer keeps %s for parameter '%.100s', which no group lists",
                              pickle_describe(r->arena, dict), key);
        if (pairs(dict) > MOST_KEYS)
            return diag_error(r->diag, &r->loc, "the optimizer keeps %zu things for a parameter, where ten are usual",
                              pairs(dict));
        struct checkpoint_parameter *const p = &r->to->parameters.data[index - 1];
        p->state.count = 0; /* the last one counts, as in Python */
        for (size_t k = 0; k < pairs(dict); k++) {
            if (!look(r))
                return false;
            if (key_at(dict, k)->kind == PICKLE_TEXT)
                add_state(r, p, key_at(dict, k)->text, value_at(dict, k));
        }
    }
    return true;
}

bool checkpoint_add_optimizer(struct checkpoint_reader *r, const struct pickle_value *v)
{
    struct map ids = {.arena = r->arena};
    const struct pickle_value *const groups = is_optimizer(v) ? pickle_get(v, "param_groups") : NULL;
    if (!groups || groups->kind != PICKLE_LIST)
        return diag_error(r->diag, &r->loc, "no state of an optimizer: it has no 'state' and 'param_groups'");
    for (size_t i = 0; i < groups->items->count; i++)
        if (!add_group(r, groups->items->data[i], &ids))
            return false;
    r->to->has_optimizer = true;
    return add_states(r, pickle_get(v, "state"), &ids);
}

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

/* MultiStepLR's milestones are a Counter: how often each stands there. */
static void add_milestones(struct checkpoint_reader *r, const struct pickle_value *v)
{
    double at, times;
    for (size_t i = 0; is_dict(v) && i < pairs(v) && i < MOST_KEYS; i++)
        if (pickle_number(key_at(v, i), &at) && pickle_number(value_at(v, i), &times))
            for (int k = 0; k < times && k < 8; k++)
                vec_push(r->arena, &r->to->milestones, at);
}

/* OneCycleLR: how many phases, and where the first ends. */
static void add_phases(struct checkpoint_reader *r, const struct pickle_value *v)
{
    if (v->kind != PICKLE_LIST || v->items->count == 0 || !is_dict(v->items->data[0]) ||
        pairs(v->items->data[0]) > MOST_KEYS)
        return;
    vec_push(r->arena, &r->to->schedule, ((struct checkpoint_number){"phases", (double)v->items->count}));
    add_number(r, &r->to->schedule, "first_end", pickle_get(v->items->data[0], "end_step"));
}

/* Which of torch.optim.lr_scheduler has such a state: by keys that only it has. */
static const char *name_of_schedule(const struct pickle_value *v)
{
    static const struct {
        const char *name, *keys[2];
    } schedules[] = {
        {"LambdaLR or MultiplicativeLR", {"lr_lambdas"}},
        {"StepLR", {"step_size"}},
        {"SequentialLR", {"_schedulers"}},
        {"MultiStepLR", {"milestones"}},
        {"LinearLR", {"start_factor", "end_factor"}},
        {"ConstantLR", {"factor", "total_iters"}},
        {"PolynomialLR", {"power", "total_iters"}},
        {"CosineAnnealingLR", {"T_max"}},
        {"CosineAnnealingWarmRestarts", {"T_0"}},
        {REDUCE_ON_PLATEAU, {"patience"}},
        {"CyclicLR", {"step_ratio"}},
        {"OneCycleLR", {"_schedule_phases"}},
        {"SWALR", {"anneal_epochs"}},
        {"ExponentialLR", {"gamma"}}, /* which others have as well */
    };
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
        if (pickle_get(v, schedules[i].keys[0]) && (!schedules[i].keys[1] || pickle_get(v, schedules[i].keys[1])))
            return schedules[i].name;
    return NULL;
}

/* OneCycleLR: does it go up and down along lines? A text in PyTorch 2, before that a method. */
static bool goes_straight(const char *key, const struct pickle_value *v)
{
    if (v->kind == PICKLE_TEXT)
        return str_equal(key, "_anneal_func_type") && str_equal(v->text, "linear");
    return v->kind == PICKLE_OPAQUE && v->method && str_equal(key, "anneal_func") &&
           str_equal(v->method, "_annealing_linear");
}

void checkpoint_add_schedule(struct checkpoint_reader *r, const struct pickle_value *v)
{
    r->to->has_schedule = true;
    r->to->schedule_name = name_of_schedule(v);
    r->to->schedule_waits = r->to->schedule_name && str_equal(r->to->schedule_name, REDUCE_ON_PLATEAU);
    for (size_t i = 0; i < pairs(v) && i < MOST_KEYS; i++) {
        const struct pickle_value *const key = key_at(v, i), *const x = value_at(v, i);
        if (key->kind != PICKLE_TEXT)
            continue;
        if (str_equal(key->text, "milestones"))
            add_milestones(r, x);
        if (str_equal(key->text, "_schedule_phases"))
            add_phases(r, x);
        if (goes_straight(key->text, x))
            vec_push(r->arena, &r->to->schedule, ((struct checkpoint_number){"linear", 1}));
        if (x->kind == PICKLE_LIST && x->items->count > 0)
            add_number(r, &r->to->schedule, key->text, x->items->data[0]);
        else
            add_number(r, &r->to->schedule, key->text, x);
    }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The dict of the weights: NULL where the tensors are those of the root itself. */
static const struct pickle_value *find_weights(const struct pickle_value *root)
{
    for (size_t k = 0; weight_keys[k]; k++)
        if (has_tensor(pickle_get(root, weight_keys[k])) && !is_optimizer(pickle_get(root, weight_keys[k])))
            return pickle_get(root, weight_keys[k]);
    return NULL;
}

static bool add_parts(struct checkpoint_reader *r, const struct pickle_value *root,
                      const struct pickle_value *optimizer, const struct pickle_value *schedule, const char *steps)
{
    struct map seen = {.arena = r->arena};
    const struct pickle_value *const weights = find_weights(root);
    const bool alone = !weights && has_tensor(root);
    if (weights && !add_weights(r, "", weights, 0, &seen))
        return false;
    for (size_t i = 0; i < pairs(root); i++) {
        const struct pickle_value *const key = key_at(root, i), *const v = value_at(root, i);
        const char *const name = key->kind == PICKLE_TEXT && strlen(key->text) <= MOST_NAME ? key->text : "?";
        const bool is_part =
            v == weights || first_of(v) == optimizer || first_of(v) == schedule || str_equal(name, steps);
        if (!look(r))
            return false;
        if (alone && v->kind == PICKLE_TENSOR)
            add_weight(r, name, v->tensor, &seen);
        else if (!is_part && !weights && is_dict(v) && has_tensor(v)) {
            if (!add_weights(r, arena_printf(r->arena, "%s.", name), v, 1, &seen))
                return false;
        } else if (!is_part)
            add_rest(r, name, v);
    }
    return true;
}

/* {'net': weights}: the name of a dict that is the only one of its kind is no part of the weights' names. */
static void drop_only_key(struct checkpoint_reader *r, const struct pickle_value *root)
{
    const char *only = NULL;
    for (size_t i = 0; i < pairs(root); i++)
        if (is_dict(value_at(root, i)) && has_tensor(value_at(root, i))) {
            if (only || key_at(root, i)->kind != PICKLE_TEXT || strlen(key_at(root, i)->text) > MOST_NAME)
                return;
            only = arena_printf(r->arena, "%s.", key_at(root, i)->text);
        }
    vec_each_ptr(struct named_tensor, w, &r->to->weights)
        if (only && str_starts_with(w->name, only))
            w->name += strlen(only);
    vec_each_ptr(const char *, name, &r->to->aliases)
        if (only && str_starts_with(*name, only))
            *name += strlen(only);
}

bool checkpoint_add_saved(struct checkpoint_reader *r, const struct pickle_value *root)
{
    const char *steps = NULL;
    double x;
    if (!is_dict(root))
        return diag_error(r->diag, &r->loc, "%s was saved, not a dict of tensors", pickle_describe(r->arena, root));
    r->to->ordered = true;
    if (is_optimizer(root))
        return checkpoint_add_optimizer(r, root);
    if (is_schedule(root)) {
        checkpoint_add_schedule(r, root);
        return true;
    }
    const struct pickle_value *const optimizer = find_part(r, root, optimizer_keys, is_optimizer),
                              *const schedule = find_part(r, root, schedule_keys, is_schedule);
    for (size_t k = 0; step_keys[k] && isnan(r->to->steps); k++)
        if (pickle_number(pickle_get(root, step_keys[k]), &x)) {
            r->to->steps = x;
            steps = step_keys[k];
        }
    if (pickle_number(pickle_get(root, "epoch"), &x))
        r->to->epochs = x;
    if (!add_parts(r, root, optimizer, schedule, steps))
        return false;
    if (!find_weights(root) && !has_tensor(root))
        drop_only_key(r, root);
    if (schedule)
        checkpoint_add_schedule(r, schedule);
    return !optimizer || checkpoint_add_optimizer(r, optimizer);
}
