/* What is what in a checkpoint of TensorFlow. tf.train.Saver has names of variables, and beside each what an optimizer
 * keeps for it ("dense/kernel", "dense/kernel/Adam"). Checkpoints of objects have paths through them
 * ("layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE"); what an optimizer keeps stands below its variable
 * (".OPTIMIZER_SLOT", to Keras 2.10), or in lists of the optimizer ("optimizer/_variables/3"), which the graph of
 * objects tells apart. Which optimizer it was is in none of them.
 * Spec: tensorflow/python/checkpoint/graph_view.py, tensorflow/python/trackable/base.py, keras/optimizers. */
#include "foreign/bundle.h"
#include "foreign/checkpoint_internal.h"
#include "foreign/objects.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define VALUE "/.ATTRIBUTES/VARIABLE_VALUE"
#define SLOT "/.OPTIMIZER_SLOT/"
#define OBJECTS "_CHECKPOINTABLE_OBJECT_GRAPH"

/* An optimizer among the objects. */
struct optimizer_at {
    const char *path;
    double rate, steps; /* NAN: it does not say */
    bool decays;        /* Keras's old rate / (1 + decay * step) */
    bool is_rmsprop;
    bool listed; /* its lists were gone through */
    size_t group;
};

/* What is known of an object of the graph, at its place. */
struct object_facts {
    const char *name; /* of its value, which is a tensor's; else NULL */
    const struct bundle_entry *value;
    struct optimizer_at *steps; /* of which it counts the steps, or NULL */
    bool counts;                /* the steps of what has a rate or lists beside it */
};

struct bundle_sorter {
    struct checkpoint_reader *r;
    struct arena *arena;
    const struct bundle *bundle;
    struct map entries;    /* name -> const struct bundle_entry *; without VALUE at its end */
    struct map full_names; /* name -> what the variable is called */
    struct map by_full;    /* the other way, for weights; NULL: two are called so */
    struct map taken;      /* names that the optimizer has */
    struct map optimizers; /* path -> struct optimizer_at * */
    struct map shown;      /* paths that have a rate, slots or lists: with a count, they are optimizers */
    struct map slotted;    /* what has slots: weights */
    struct map parameters; /* "GROUP NAME" -> index + 1 */
    object_list objects;
    VEC(struct object_facts) facts; /* of objects */
    bool scaled;                    /* a momentum was divided by the rate */
    bool saved_adam;                /* by tf.train.Saver */
    bool too_many;                  /* optimizers: honest checkpoints have two */
};
enum { MOST_OPTIMIZERS = 64, MOST_SLASHES = 16 };

/* PyTorch's name for what is kept, and by what it is to be divided: Keras's momentum has the rate in it. */
enum scale { AS_IT_IS, BY_RATE, BY_MINUS_RATE };

static const struct slot {
    const char *name, *key;
    enum scale scale;
} slots[] = {{"m", "exp_avg", AS_IT_IS},           {"v", "exp_avg_sq", AS_IT_IS},
             {"vhat", "max_exp_avg_sq", AS_IT_IS}, {"momentum", "momentum_buffer", BY_MINUS_RATE},
             {"rms", "square_avg", AS_IT_IS},      {"mg", "grad_avg", AS_IT_IS},
             {"accumulator", "sum", AS_IT_IS}},
  suffixes[] = {{"Adam", "exp_avg", AS_IT_IS},
                {"Adam_1", "exp_avg_sq", AS_IT_IS},
                {"Momentum", "momentum_buffer", AS_IT_IS},
                {"Adagrad", "sum", AS_IT_IS},
                {"RMSProp", "square_avg", AS_IT_IS}},
  lists[] = {{"_momentums", "exp_avg", AS_IT_IS},
             {"_velocities", "exp_avg_sq", AS_IT_IS},
             {"_velocity_hats", "max_exp_avg_sq", AS_IT_IS},
             {"_m", "exp_avg", AS_IT_IS},
             {"_u", "exp_inf", AS_IT_IS},
             {"momentums", "momentum_buffer", BY_MINUS_RATE},
             {"_average_gradients", "grad_avg", AS_IT_IS},
             {"_accumulators", "sum", AS_IT_IS}};
#define COUNT(x) (sizeof(x) / sizeof *(x))

static const struct slot *find_slot(const struct slot *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(table[i].name, name))
            return &table[i];
    return NULL;
}

static const char *without_end(struct arena *a, const char *text, const char *end)
{
    return str_ends_with(text, end) ? arena_strndup(a, text, strlen(text) - strlen(end)) : text;
}

static const struct bundle_entry *entry(const struct bundle_sorter *s, const char *name)
{
    return map_get(&s->entries, name);
}

static bool is_count(const struct bundle_entry *e)
{
    return e && e->tensor && e->tensor->count == 1 && dtype_is_int(e->dtype);
}

static bool is_number(const struct bundle_entry *e)
{
    return e && e->tensor && e->tensor->count == 1 && dtype_is_float(e->dtype);
}

static void add_rest(struct bundle_sorter *s, const char *name, const struct bundle_entry *e, const char *why)
{
    const char *const what = is_count(e)    ? arena_printf(s->arena, "%lld", (long long)tensor_get_int(e->tensor, 0))
                             : is_number(e) ? arena_printf(s->arena, "%g", tensor_get_double(e->tensor, 0))
                                            : arena_printf(s->arena, "%s%s", e->type, shape_text(s->arena, &e->shape));
    vec_push(s->arena, &s->r->to->rest, arena_printf(s->arena, "'%s' (%s%s)", name, what, why));
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

static bool enter_entries(struct bundle_sorter *s)
{
    vec_each_ptr(const struct bundle_entry, e, &s->bundle->entries) {
        const char *const name = without_end(s->arena, e->name, VALUE);
        if (map_has(&s->entries, name))
            return diag_error(s->r->diag, &s->r->loc, "two of its tensors are called '%s'", name);
        map_set(&s->entries, name, (void *)(uintptr_t)e);
    }
    return true;
}

/* Names are cut here, once: many objects may have one child. */
static bool read_objects(struct bundle_sorter *s)
{
    const struct bundle_entry *const e = entry(s, OBJECTS);
    if (!e || !e->text)
        return true;
    if (!objects_parse(s->r->diag, s->arena, &s->r->loc, e->text, e->text_size, &s->objects))
        return false;
    vec_each_ptr(const struct object, o, &s->objects) {
        const char *const name = o->key ? without_end(s->arena, o->key, VALUE) : NULL;
        const struct bundle_entry *const value = name ? entry(s, name) : NULL;
        if (name)
            map_set(&s->full_names, name, (void *)(uintptr_t)o->full_name);
        const bool is_tensor = value && value->tensor;
        vec_push(s->arena, &s->facts,
                 ((struct object_facts){.name = is_tensor ? name : NULL, .value = is_tensor ? value : NULL}));
    }
    return true;
}

/* ---- optimizers -------------------------------------------------------------------------------------------------- */

static const struct bundle_entry *below(const struct bundle_sorter *s, const char *path, const char *name)
{
    return entry(s, arena_printf(s->arena, "%s/%s", path, name));
}

/* A number that the optimizer has there, which is taken; NAN: it has none. */
static double number_below(struct bundle_sorter *s, const char *path, const char *name)
{
    const struct bundle_entry *const e = below(s, path, name);
    if (!is_number(e) && !is_count(e))
        return NAN;
    map_set(&s->taken, arena_printf(s->arena, "%s/%s", path, name), NULL);
    return is_count(e) ? (double)tensor_get_int(e->tensor, 0) : tensor_get_double(e->tensor, 0);
}

/* Under the first of these names. */
static double first_below(struct bundle_sorter *s, const char *path, const char *const *names)
{
    double x = NAN;
    for (size_t i = 0; names[i] && isnan(x); i++)
        x = number_below(s, path, names[i]);
    return x;
}

static void add_group_number(struct bundle_sorter *s, struct checkpoint_group *g, const char *key, double x)
{
    if (!isnan(x))
        vec_push(s->arena, &g->numbers, ((struct checkpoint_number){key, x}));
}

/* The optimizer at a path, entered once; NULL: there are too many. */
static struct optimizer_at *optimizer(struct bundle_sorter *s, const char *path)
{
    static const char *const counts[] = {"iter", "_iterations", "iterations", NULL}, *const rates[] = {"learning_rate",
                                                                                                       "_learning_rate",
                                                                                                       NULL};
    struct checkpoint *const c = s->r->to;
    struct optimizer_at *const known = map_get(&s->optimizers, path);
    if (known || s->optimizers.count == MOST_OPTIMIZERS) {
        s->too_many = s->too_many || !known;
        return known;
    }
    struct optimizer_at *const o = arena_new(s->arena, struct optimizer_at);
    struct checkpoint_group g = {0};
    *o = (struct optimizer_at){.path = path, .group = c->groups.count, .steps = first_below(s, path, counts)};
    o->rate = first_below(s, path, rates);
    o->decays = is_number(below(s, path, "decay")) && tensor_get_double(below(s, path, "decay")->tensor, 0) != 0;
    if (!o->decays)
        (void)number_below(s, path, "decay");
    o->is_rmsprop = below(s, path, "rho") != NULL;
    add_group_number(s, &g, "lr", o->rate);
    add_group_number(s, &g, "beta1", number_below(s, path, "beta_1"));
    add_group_number(s, &g, "beta2", number_below(s, path, "beta_2"));
    vec_push(s->arena, &c->groups, g);
    map_set(&s->optimizers, path, o);
    c->has_optimizer = c->anonymous = true;
    if (!isnan(o->steps) && !(c->steps >= o->steps))
        c->steps = o->steps;
    return o;
}

/* The object's own facts. */
static struct object_facts *facts_of(const struct bundle_sorter *s, const struct object *o)
{
    return &s->facts.data[o - s->objects.data];
}

static bool is_index(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* "_momentums", and that of all that Keras's optimizers keep; not what they train. */
static bool is_list(const char *name)
{
    return str_equal(name, "_variables") || find_slot(lists, COUNT(lists), name);
}

static bool is_rate(const char *name)
{
    static const char *const names[] = {"learning_rate", "_learning_rate", "_current_learning_rate", "beta_1", "rho",
                                        "decay",         "momentum"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_equal(names[i], name))
            return true;
    return false;
}

/* What a name says of optimizers: "PATH/learning_rate", "PATH/_variables/3", "WEIGHT/.OPTIMIZER_SLOT/PATH/m". */
static void look_at_name(struct bundle_sorter *s, const char *name, const struct bundle_entry *e)
{
    const char *const slot = strstr(name, SLOT), *const last = strrchr(name, '/');
    if (slot) {
        const char *const path = slot + strlen(SLOT);
        map_set(&s->slotted, arena_strndup(s->arena, name, (size_t)(slot - name)), NULL);
        if (last > path)
            map_set(&s->shown, arena_strndup(s->arena, path, (size_t)(last - path)), NULL);
        return;
    }
    const char *const above = last ? arena_strndup(s->arena, name, (size_t)(last - name)) : "", *const before =
                                                                                                    strrchr(above, '/');
    if (last && is_number(e) && is_rate(last + 1))
        map_set(&s->shown, above, NULL);
    else if (before && is_index(last + 1) && is_list(before + 1))
        map_set(&s->shown, arena_strndup(s->arena, above, (size_t)(before - above)), NULL);
}

static const struct object *counter_of(const struct bundle_sorter *s, const struct object *o)
{
    static const char *const names[] = {"_iterations", "iterations", "iter"};
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct object *const count = object_child(&s->objects, o, names[i]);
        if (count)
            return is_count(facts_of(s, count)->value) ? count : NULL;
    }
    return NULL;
}

/* An object with a rate or lists, whose count then is an optimizer's. */
static void look_at_object(struct bundle_sorter *s, const struct object *o)
{
    const struct object *const count = counter_of(s, o);
    for (size_t i = 0; count && i < o->children.count && !facts_of(s, count)->counts; i++) {
        const struct object *const x = &s->objects.data[o->children.data[i].object],
                                   *const first =
                                       x->children.count > 0 ? &s->objects.data[x->children.data[0].object] : NULL;
        facts_of(s, count)->counts = (is_rate(o->children.data[i].name) && is_number(facts_of(s, x)->value)) ||
                                     (is_list(o->children.data[i].name) && first &&
                                      is_index(x->children.data[0].name) && facts_of(s, first)->name);
    }
}

/* The path of what has this count, "model/optimizer" of "model/optimizer/iter"; NULL: the name is no count's. */
static const char *counted(const struct bundle_sorter *s, const char *name)
{
    static const char *const ends[] = {"/iter", "/_iterations", "/iterations"};
    const struct bundle_entry *const e = entry(s, name);
    for (size_t k = 0; k < COUNT(ends); k++)
        if (str_ends_with(name, ends[k]) && is_count(e) && str_ends_with(e->name, VALUE))
            return without_end(s->arena, name, ends[k]);
    return NULL;
}

/* What counts steps and has a rate, slots or lists. Others count, too: a loop of training with its network below. */
static void find_optimizers(struct bundle_sorter *s)
{
    for (size_t i = 0; i < s->entries.count; i++)
        look_at_name(s, s->entries.entries[i].key, s->entries.entries[i].value);
    vec_each_ptr(const struct object, o, &s->objects)
        look_at_object(s, o);
    vec_each_ptr(const struct object_facts, f, &s->facts) {
        const char *const name = f->counts ? f->name : NULL, *const slash = name ? strrchr(name, '/') : NULL;
        if (slash)
            map_set(&s->shown, arena_strndup(s->arena, name, (size_t)(slash - name)), NULL);
    }
    for (size_t i = 0; i < s->entries.count; i++) {
        const char *const path = counted(s, s->entries.entries[i].key);
        if (path && map_has(&s->shown, path))
            (void)optimizer(s, path);
    }
    vec_each_ptr(struct object_facts, f, &s->facts) {
        const char *const slash = f->name ? strrchr(f->name, '/') : NULL;
        if (slash)
            f->steps = map_get(&s->optimizers, arena_strndup(s->arena, f->name, (size_t)(slash - f->name)));
    }
}

/* What an optimizer keeps below itself: single numbers, lists without names; weights may stand there, too, where the
 * same object holds the network. */
static bool is_kept_as(const char *rest, const struct bundle_entry *e)
{
    const char *const slash = strchr(rest, '/');
    if (!slash)
        return is_number(e) || is_count(e);
    if (str_starts_with(rest, "loss_scale/") || str_starts_with(rest, "momentums/"))
        return true;
    return rest[0] == '_' && !str_starts_with(rest, "_trainable_variables/") && is_index(slash + 1);
}

/* Does it belong to an optimizer? Keras 3's list of what is trained leads to weights, though. */
static bool is_optimizers(const struct bundle_sorter *s, const char *name)
{
    for (size_t i = 0; i < s->optimizers.count && !map_has(&s->slotted, name); i++) {
        const char *const path = s->optimizers.entries[i].key;
        const size_t n = strlen(path);
        if (str_starts_with(name, path) && name[n] == '/' && is_kept_as(name + n + 1, entry(s, name)))
            return true;
    }
    return false;
}

/* The parameter of that key within the optimizer; name NULL: it is not known. */
static struct checkpoint_parameter *parameter(struct bundle_sorter *s, const struct optimizer_at *o, const char *key,
                                              const char *name)
{
    struct checkpoint *const c = s->r->to;
    const char *const place = arena_printf(s->arena, "%zu %s", o->group, key);
    if (!map_has(&s->parameters, place)) {
        vec_push(s->arena, &c->parameters,
                 ((struct checkpoint_parameter){.name = name, .group = o->group, .steps = o->steps}));
        c->groups.data[o->group].count++;
        map_set(&s->parameters, place, (void *)(uintptr_t)c->parameters.count);
    }
    return &c->parameters.data[(size_t)(uintptr_t)map_get(&s->parameters, place) - 1];
}

static const struct tensor *divided(struct bundle_sorter *s, const struct tensor *t, double by)
{
    struct tensor *const out = tensor_cast(s->arena, t, t->dtype);
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(out, i, tensor_get_double(t, i) / by);
    return out;
}

static void add_state(struct bundle_sorter *s, const struct optimizer_at *o, struct checkpoint_parameter *p,
                      const char *name, enum scale scale, const char *key)
{
    const struct bundle_entry *const e = entry(s, name);
    const struct tensor *t = e->tensor;
    if (scale != AS_IT_IS && !(o->rate > 0 && !o->decays)) {
        add_rest(s, name, e, ", which has the learning rate in it, and that is not said");
        return;
    }
    if (scale != AS_IT_IS) {
        t = divided(s, t, scale == BY_RATE ? o->rate : -o->rate);
        s->scaled = true;
    }
    vec_push(s->arena, &p->state, ((struct named_tensor){key, t}));
}

/* ---- what stands below its variable ------------------------------------------------------------------------------ */

/* "dense/kernel/.OPTIMIZER_SLOT/optimizer/m" */
static void add_slot(struct bundle_sorter *s, const char *name)
{
    const char *const at = strstr(name, SLOT), *const last = strrchr(name, '/');
    const char *const weight = arena_strndup(s->arena, name, (size_t)(at - name));
    const struct bundle_entry *const e = entry(s, name);
    map_set(&s->taken, name, NULL);
    if (last < at + strlen(SLOT)) {
        add_rest(s, name, e, "");
        return;
    }
    const struct optimizer_at *const o =
        optimizer(s, arena_strndup(s->arena, at + strlen(SLOT), (size_t)(last - at) - strlen(SLOT)));
    const struct slot *const slot = find_slot(slots, COUNT(slots), last + 1);
    if (!o || !slot || !e->tensor || !dtype_is_float(e->dtype) || !entry(s, weight)) {
        add_rest(s, name, e, "");
        return;
    }
    const bool of_rmsprop = o->is_rmsprop || entry(s, arena_printf(s->arena, "%.*s/rms", (int)(last - name), name));
    add_state(s, o, parameter(s, o, weight, weight), name,
              slot->scale == BY_MINUS_RATE && of_rmsprop ? BY_RATE : slot->scale, slot->key);
}

static void add_slots(struct bundle_sorter *s)
{
    for (size_t i = 0; i < s->entries.count; i++)
        if (strstr(s->entries.entries[i].key, SLOT))
            add_slot(s, s->entries.entries[i].key);
}

/* Of tf.train.Saver: "dense/kernel/Adam_1", of the same shape as "dense/kernel". */
static void add_suffixed(struct bundle_sorter *s)
{
    for (size_t i = 0; i < s->entries.count; i++) {
        const char *const name = s->entries.entries[i].key, *const last = strrchr(name, '/');
        const struct slot *const slot = last ? find_slot(suffixes, COUNT(suffixes), last + 1) : NULL;
        const struct bundle_entry *const e = s->entries.entries[i].value;
        const char *const weight = slot ? arena_strndup(s->arena, name, (size_t)(last - name)) : "";
        const struct bundle_entry *const of = slot ? entry(s, weight) : NULL;
        if (!of || !of->tensor || !e->tensor || !dtype_is_float(e->dtype) || !shape_equal(&of->shape, &e->shape) ||
            str_ends_with(of->name, VALUE))
            continue;
        const struct optimizer_at *const o = optimizer(s, "");
        if (!o)
            return;
        map_set(&s->taken, name, NULL);
        s->saved_adam = s->saved_adam || str_equal(slot->name, "Adam");
        add_state(s, o, parameter(s, o, weight, weight), name, slot->scale, slot->key);
    }
}

/* ---- lists of the optimizer -------------------------------------------------------------------------------------- */

/* "SGD/m/dense/kernel" is for the weight that is called "dense/kernel": the longest end that is a weight's. */
static const char *weight_called(const struct bundle_sorter *s, const char *full, const struct shape *shape)
{
    int slashes = 0;
    for (const char *at = strchr(full, '/'); at && slashes < MOST_SLASHES; at = strchr(at + 1, '/'), slashes++)
        if (map_has(&s->by_full, at + 1)) {
            const char *const name = map_get(&s->by_full, at + 1);
            return name && shape_equal(&entry(s, name)->shape, shape) ? name : NULL;
        }
    return NULL;
}

static bool contains(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (; *text; text++) {
        size_t i = 0;
        while (i < n && tolower((unsigned char)text[i]) == word[i])
            i++;
        if (i == n)
            return true;
    }
    return false;
}

/* Adam has a list of means and one of squares, and so has RMSprop with momentum; what is kept is called after it. */
static const struct slot *list_slot(const struct bundle_sorter *s, const struct object *o, const char *name)
{
    static const struct slot momentum = {"_momentums", "momentum_buffer", BY_RATE},
                             square = {"_velocities", "square_avg", AS_IT_IS};
    const struct slot *const usual = find_slot(lists, COUNT(lists), name);
    const struct object *const means = object_child(&s->objects, o, "_momentums"), *const squares = object_child(
                                                                                       &s->objects, o, "_velocities");
    bool is_rmsprop = squares && (!means || means->children.count == 0);
    for (size_t i = 0; squares && i < squares->children.count && !is_rmsprop; i++)
        is_rmsprop = contains(s->objects.data[squares->children.data[i].object].full_name, "rmsprop");
    if (usual && is_rmsprop && str_equal(name, "_velocities"))
        return &square;
    return usual && is_rmsprop && str_equal(name, "_momentums") ? &momentum : usual;
}

/* *trained: place in the list -> name of the weight, where the optimizer lists them */
static void add_list(struct bundle_sorter *s, const struct optimizer_at *at, const struct object *o, const char *name,
                     const struct map *trained)
{
    const struct slot *const slot = list_slot(s, o, name);
    const struct object *const list = object_child(&s->objects, o, name);
    vec_each_ptr(const struct object_child, c, &list->children) {
        const struct object *const v = &s->objects.data[c->object];
        const char *const kept = facts_of(s, v)->name;
        if (!kept || map_has(&s->taken, kept) || !dtype_is_float(entry(s, kept)->dtype))
            continue;
        const char *weight = map_get(trained, c->name);
        if (!weight)
            weight = weight_called(s, v->full_name, &entry(s, kept)->shape);
        map_set(&s->taken, kept, NULL);
        add_state(s, at, parameter(s, at, c->name, weight), kept, slot->scale, slot->key);
    }
}

static void add_lists_of(struct bundle_sorter *s, const struct optimizer_at *at, const struct object *o)
{
    const struct object *const list = object_child(&s->objects, o, "_trainable_variables");
    struct map trained = {.arena = s->arena};
    for (size_t i = 0; list && i < list->children.count; i++)
        map_set(&trained, list->children.data[i].name,
                (void *)(uintptr_t)facts_of(s, &s->objects.data[list->children.data[i].object])->name);
    for (size_t i = 0; i < COUNT(lists); i++)
        if (object_child(&s->objects, o, lists[i].name))
            add_list(s, at, o, lists[i].name, &trained);
}

static void add_lists(struct bundle_sorter *s)
{
    vec_each_ptr(const struct object, o, &s->objects) {
        const struct object *const count = counter_of(s, o);
        struct optimizer_at *const at = count ? facts_of(s, count)->steps : NULL;
        if (at && !at->listed)
            add_lists_of(s, at, o);
        if (at)
            at->listed = true;
    }
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Not the counters, and what Keras keeps for its metrics. */
static bool is_weight(const struct bundle_sorter *s, const char *name, const struct bundle_entry *e)
{
    return e->tensor && !is_count(e) && !is_optimizers(s, name) && !strstr(name, "keras_api/metrics/") &&
           !strstr(name, SLOT);
}

/* What weights are called, if no two are called the same. */
static void enter_full_names(struct bundle_sorter *s)
{
    for (size_t i = 0; i < s->entries.count; i++) {
        const char *const name = s->entries.entries[i].key, *const full = map_get(&s->full_names, name);
        if (full && full[0] != '\0' && is_weight(s, name, s->entries.entries[i].value))
            map_set(&s->by_full, full, map_has(&s->by_full, full) ? NULL : (void *)(uintptr_t)name);
    }
}

/* Of Saver's Adam: what the betas are after so many steps. */
static bool is_power(const char *name)
{
    return str_ends_with(name, "beta1_power") || str_ends_with(name, "beta2_power");
}

static void add_weights(struct bundle_sorter *s)
{
    struct checkpoint *const c = s->r->to;
    str_list others = {0};
    for (size_t i = 0; i < s->entries.count; i++) {
        const char *const name = s->entries.entries[i].key, *const full = map_get(&s->full_names, name);
        const struct bundle_entry *const e = s->entries.entries[i].value;
        if (map_has(&s->taken, name) || str_equal(name, OBJECTS) || str_ends_with(name, "/OBJECT_CONFIG_JSON"))
            continue;
        if (str_equal(name, "global_step") && is_count(e) && isnan(c->steps))
            c->steps = (double)tensor_get_int(e->tensor, 0);
        else if (is_weight(s, name, e) && !(s->saved_adam && is_power(name))) {
            vec_push(s->arena, &c->weights, ((struct named_tensor){name, e->tensor}));
            if (full && map_get(&s->by_full, full))
                vec_push(s->arena, &others, full);
        } else
            add_rest(s, name, e, "");
    }
    if (others.count == c->weights.count)
        c->other_names = others;
}

/* SGD without momentum keeps nothing, and has a learning rate still. */
static void add_plain(struct bundle_sorter *s)
{
    struct checkpoint *const c = s->r->to;
    if (s->optimizers.count != 1 || c->parameters.count > 0)
        return;
    vec_each_ptr(const struct named_tensor, w, &c->weights)
        (void)parameter(s, s->optimizers.entries[0].value, w->name, w->name);
}

bool checkpoint_add_bundle(struct checkpoint_reader *r, const struct bundle *b)
{
    struct bundle_sorter s = {.r = r,
                              .arena = r->arena,
                              .bundle = b,
                              .entries.arena = r->arena,
                              .full_names.arena = r->arena,
                              .by_full.arena = r->arena,
                              .taken.arena = r->arena,
                              .optimizers.arena = r->arena,
                              .shown.arena = r->arena,
                              .slotted.arena = r->arena,
                              .parameters.arena = r->arena};
    if (!enter_entries(&s) || !read_objects(&s))
        return false;
    r->to->channels_last = true;
    find_optimizers(&s);
    enter_full_names(&s);
    add_slots(&s);
    add_suffixed(&s);
    add_lists(&s);
    add_weights(&s);
    add_plain(&s);
    if (s.too_many)
        return diag_error(r->diag, &r->loc, "it has more than %d optimizers", MOST_OPTIMIZERS);
    if (s.scaled)
        vec_push(r->arena, &r->to->notes,
                 "momentum: Keras's has the learning rate in it, PyTorch's and that of the model have not: divided by "
                 "it");
    return true;
}
