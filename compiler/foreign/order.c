/* PyTorch numbers what an optimizer updates; names are in the checkpoint since 2.6 and if they were given. Else the
 * order is that of the network's parameters: state_dict() has it, with the buffers between them; files that an export
 * writes list it; .safetensors sort it away. Groups number one after the other: those of weights with and without decay
 * are told apart by the usual rules. An order is taken if all shapes are those of what the optimizer keeps. */
#include "foreign/fill_internal.h"

#include <ctype.h>
#include <string.h>

struct orderer {
    struct diag *diag;
    struct arena *arena;
    const struct model *model;
    struct checkpoint *checkpoint;
    const struct fill_options *options;
    struct updates updates;
    struct map weights;  /* of the checkpoint: name -> const struct tensor * */
    struct map in_model; /* the checkpoint's name of an initializer -> const struct tensor * */
    struct map aliases;  /* of the checkpoint */
};

/* ---- names that may be parameters -------------------------------------------------------------------------------- */

static void metadata_names(struct arena *a, const struct model *m, const char *key, str_list *out)
{
    vec_each_ptr(const struct model_pair, p, &m->metadata)
        for (const char *at = p->value; str_equal(p->key, key) && *at;) {
            const size_t n = strcspn(at, "\n");
            if (n > 0)
                vec_push(a, out, arena_strndup(a, at, n));
            at += n + (at[n] == '\n');
        }
}

static bool is_buffer(const struct orderer *o, const struct map *buffers, const struct named_tensor *t)
{
    static const char *const endings[] = {"running_mean", "running_var", "num_batches_tracked", "position_ids"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (str_ends_with(t->name, endings[i]))
            return true;
    return !dtype_is_float(t->tensor->dtype) || map_has(buffers, t->name) ||
           map_has(&o->aliases, t->name);
}

static const char *name_in_file(const struct orderer *o, const char *name)
{
    return weights_renamed(o->arena, &o->options->weights, name, NULL);
}

/* Those of the checkpoint in its own order; `only`: those that the model trains. */
static void list_of_file(const struct orderer *o, bool only, str_list *out)
{
    struct map buffers = {.arena = o->arena}, trained = {.arena = o->arena};
    str_list names = {0};
    metadata_names(o->arena, o->model, "stepc.buffers", &names);
    vec_each(const char *, name, &names)
        map_set(&buffers, name_in_file(o, name), NULL);
    for (size_t i = 0; i < o->updates.bound.count; i++)
        map_set(&trained, name_in_file(o, o->updates.bound.entries[i].key), NULL);
    vec_each_ptr(const struct named_tensor, t, &o->checkpoint->weights)
        if (!is_buffer(o, &buffers, t) && (!only || map_has(&trained, t->name)))
            vec_push(o->arena, out, t->name);
}

static void list_of_model(const struct orderer *o, str_list *out)
{
    str_list names = {0};
    metadata_names(o->arena, o->model, "stepc.parameters", &names);
    vec_each(const char *, name, &names)
        vec_push(o->arena, out, name_in_file(o, name));
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* What is kept for a parameter in its own shape; NULL: nothing, so that any fits. */
static const struct tensor *kept_for(const struct checkpoint_parameter *p)
{
    static const char *const keys[] = {"exp_avg", "momentum_buffer", "square_avg", "sum", "exp_inf"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        vec_each_ptr(const struct named_tensor, t, &p->state)
            if (str_equal(t->name, keys[k]))
                return t->tensor;
    return NULL;
}

static bool fits(const struct orderer *o, const char *name, const struct checkpoint_parameter *p)
{
    const struct tensor *const kept = kept_for(p), *const weight = map_get(&o->weights, name),
                               *const own = map_get(&o->in_model, name);
    if (!kept)
        return true;
    if (weight)
        return shape_equal(&kept->shape, &weight->shape);
    return !own || shape_equal(&kept->shape, &own->shape) || shape_is_transposed(&kept->shape, &own->shape);
}

static bool try_names(const struct orderer *o, const str_list *names)
{
    struct checkpoint *const c = o->checkpoint;
    if (names->count != c->parameters.count)
        return false;
    for (size_t i = 0; i < names->count; i++)
        if (!fits(o, names->data[i], &c->parameters.data[i]))
            return false;
    for (size_t i = 0; i < names->count; i++)
        c->parameters.data[i].name = names->data[i];
    return true;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static bool contains_word(const char *name, const char *word)
{
    const size_t n = strlen(word);
    for (; *name; name++) {
        size_t i = 0;
        while (i < n && tolower((unsigned char)name[i]) == word[i])
            i++;
        if (i == n)
            return true;
    }
    return false;
}

/* transformers/trainer.py, get_decay_parameter_names(): neither biases nor normalizations. */
static bool decays_by_name(const struct orderer *o, const char *name)
{
    (void)o;
    return !contains_word(name, "bias") && !contains_word(name, "norm") && !contains_word(name, "ln_");
}

/* As nanoGPT and timm do. */
static bool decays_by_rank(const struct orderer *o, const char *name)
{
    const struct tensor *const t =
        map_has(&o->weights, name) ? map_get(&o->weights, name) : map_get(&o->in_model, name);
    return t && t->shape.rank >= 2;
}

typedef bool decay_rule(const struct orderer *o, const char *name);

/* first: does what decays make the first group? */
static bool try_split(const struct orderer *o, const str_list *names, decay_rule *decays, bool first)
{
    str_list list = {0};
    const size_t begin = o->checkpoint->groups.data[0].count;
    for (int part = 0; part < 2; part++) {
        vec_each(const char *, name, names)
            if (decays(o, name) == (part == 0 ? first : !first))
                vec_push(o->arena, &list, name);
        if (part == 0 && list.count != begin)
            return false;
    }
    return try_names(o, &list);
}

static double decay_of(const struct checkpoint *c, size_t group)
{
    return group < c->groups.count ? checkpoint_number(&c->groups.data[group].numbers, "weight_decay", 0) : 0;
}

/* Groups that differ in their decay are made by such a rule; others are parts of the network, one after the other. */
static bool differ_in_decay(const struct checkpoint *c)
{
    return c->groups.count == 2 && decay_of(c, 0) != decay_of(c, 1);
}

static const char *try_rules(const struct orderer *o, const str_list *names)
{
    static const struct {
        decay_rule *decays;
        bool first;
        const char *what;
    } rules[] = {{decays_by_name, true, ", biases and normalizations in the second group"},
                 {decays_by_rank, true, ", vectors in the second group"},
                 {decays_by_name, false, ", biases and normalizations in the first group"},
                 {decays_by_rank, false, ", vectors in the first group"}};
    const bool differ = differ_in_decay(o->checkpoint), first = decay_of(o->checkpoint, 0) > decay_of(o->checkpoint, 1);
    for (size_t i = 0; o->checkpoint->groups.count == 2 && i < sizeof rules / sizeof *rules; i++)
        if ((!differ || rules[i].first == first) && try_split(o, names, rules[i].decays, rules[i].first))
            return rules[i].what;
    return NULL;
}

/* Would another order of groups fit as well? Two weights of different groups have one shape. */
static bool may_be_others(const struct orderer *o, const str_list *names)
{
    const struct checkpoint *const c = o->checkpoint;
    struct map group_of = {.arena = o->arena};
    for (size_t i = 0; c->groups.count > 1 && i < names->count; i++) {
        const struct tensor *const t = map_get(&o->weights, names->data[i]);
        const char *const shape = t ? shape_text(o->arena, &t->shape) : "";
        const size_t group = c->parameters.data[i].group + 1, other = (size_t)(uintptr_t)map_get(&group_of, shape);
        if (other != 0 && other != group)
            return true;
        map_set(&group_of, shape, (void *)(uintptr_t)group);
    }
    return false;
}

static bool try_order(const struct orderer *o, const str_list *names, struct strbuf *report, const char *from)
{
    const struct loc at = LOC_FILE(o->checkpoint->path);
    const char *split = differ_in_decay(o->checkpoint) ? try_rules(o, names) : NULL;
    if (!split && try_names(o, names))
        split = "";
    if (!split)
        split = try_rules(o, names);
    if (split)
        strbuf_addf(report, "optimizer's parameters: %zu, in the order of %s%s\n", names->count, from, split);
    if (split && split[0] == '\0' && names != &o->options->parameters && may_be_others(o, names))
        diag_warning(o->diag, &at,
                     "the optimizer's groups are taken for parts of the network, one after the other; their shapes "
                     "would allow others: --parameters FILE says the optimizer's order");
    return split != NULL;
}

/* ---- without an order -------------------------------------------------------------------------------------------- */

/* Each shape is that of one weight alone. */
static bool try_shapes(const struct orderer *o, struct strbuf *report)
{
    const struct checkpoint *const c = o->checkpoint;
    struct map by_shape = {.arena = o->arena}, taken = {.arena = o->arena};
    str_list names = {0}, list = {0};
    list_of_file(o, true, &names);
    vec_each(const char *, name, &names) {
        const struct tensor *const t = map_get(&o->weights, name);
        const char *const shape = shape_text(o->arena, &t->shape);
        map_set(&by_shape, shape, map_has(&by_shape, shape) ? NULL : (void *)(uintptr_t)name);
    }
    vec_each_ptr(const struct checkpoint_parameter, p, &c->parameters) {
        const struct tensor *const kept = kept_for(p);
        const char *const name = kept ? map_get(&by_shape, shape_text(o->arena, &kept->shape)) : NULL;
        if (!name || map_has(&taken, name))
            return false;
        map_set(&taken, name, NULL);
        vec_push(o->arena, &list, name);
    }
    return try_order(o, &list, report, "their shapes, each of which is one weight's");
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static bool have_names(const struct checkpoint *c)
{
    vec_each_ptr(const struct checkpoint_parameter, p, &c->parameters)
        if (!p->name)
            return false;
    return true;
}

static void enter_weights(struct orderer *o)
{
    vec_each_ptr(const struct named_tensor, t, &o->checkpoint->weights)
        map_set(&o->weights, t->name, (void *)(uintptr_t)t->tensor);
    vec_each(const char *, name, &o->checkpoint->aliases)
        map_set(&o->aliases, name, NULL);
    vec_each(const struct model_initializer *, x, &o->model->graph->initializers)
        map_set(&o->in_model, name_in_file(o, x->name), x->tensor);
}

static bool fail(const struct orderer *o, const char *text)
{
    const struct loc at = LOC_FILE(o->checkpoint->path);
    if (o->options->weights.partial)
        return diag_warning(o->diag, &at, "%s; the optimizer starts anew", text);
    diag_error(o->diag, &at, "%s", text);
    diag_note(o->diag, &at,
              "--parameters FILE names them in its order, one a line; in Python: "
              "names = {id(p): n for n, p in net.named_parameters()}; "
              "print(*(names[id(p)] for g in optimizer.param_groups for p in g['params']), sep='\\n')");
    return false;
}

bool checkpoint_name_parameters(struct diag *d, struct arena *a, const struct model *m, struct checkpoint *c,
                                const struct fill_options *options, struct strbuf *report)
{
    struct orderer o = {.diag = d,
                        .arena = a,
                        .model = m,
                        .checkpoint = c,
                        .options = options,
                        .weights.arena = a,
                        .in_model.arena = a,
                        .aliases.arena = a};
    str_list names = {0};
    if (!c->has_optimizer || have_names(c))
        return true;
    updates_find(a, m, &o.updates);
    enter_weights(&o);
    if (options->parameters.count > 0)
        return try_order(&o, &options->parameters, report, "--parameters") ||
               fail(&o, arena_printf(a, "the %zu names of --parameters do not fit the %zu parameters of the optimizer",
                                     options->parameters.count, c->parameters.count));
    list_of_model(&o, &names);
    if (names.count > 0 && try_order(&o, &names, report, "the model's list of them"))
        return true;
    for (int only = 0; only < 2 && c->ordered; only++) {
        names = (str_list){0};
        list_of_file(&o, only == 1, &names);
        if (try_order(&o, &names, report, "the checkpoint"))
            return true;
    }
    return try_shapes(&o, report) ||
           fail(&o, arena_printf(a, "which weights the %zu parameters of the optimizer are cannot be told",
                                 c->parameters.count));
}
