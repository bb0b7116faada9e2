#include "cmd/expand_state.h"

#include "engine/engine.h"
#include "engine/state_file.h"
#include "foreign/checkpoint.h"

static void add_item(struct arena *a, state_items *items, const char *name, enum dtype dtype, const struct shape *shape)
{
    vec_push(a, items, ((struct state_item){.name = name, .tensor = tensor_new(a, dtype, shape)}));
}

/* Variables, then seed and counters. */
static void list_items(struct arena *a, const struct program *p, state_items *items)
{
    vec_each(const struct variable *, v, &p->variables)
        add_item(a, items, v->name, v->dtype, &v->shape);
    add_item(a, items, "stepc.random_seed", DTYPE_UINT64, &SHAPE_SCALAR);
    for (size_t i = 0; i < p->counters.count; i++)
        add_item(a, items, engine_counter_name(a, p, i), DTYPE_UINT64, &SHAPE_SCALAR);
}

static bool check_variable(struct session *s, const char *path, const struct state_item *item)
{
    const struct tensor *const t = item->tensor;
    const bool missing = item->outcome == STEPC_LOAD_MISSING;
    if (item->outcome == STEPC_LOADED || t->count == 0)
        return true;
    return diag_error(&s->diag, &LOC_FILE(path), "%s'%s', which is %s%s in the model",
                      missing ? "there is no value for " : "there is another type or shape of ", item->name,
                      dtype_name(t->dtype), shape_text(&s->arena, &t->shape));
}

/* Entries that draw have always left their seed; where there is none, nothing but init() draws. */
static void take_random(struct arena *a, const struct program *p, const state_items *items, struct expand_options *o)
{
    int64_t *const random = arena_array(a, int64_t, p->counters.count + 1);
    for (size_t i = 0; i <= p->counters.count; i++)
        random[i] = tensor_get_int(items->data[p->variables.count + i].tensor, 0);
    o->random_state = random;
}

bool expand_state(struct session *s, const char *path, struct program *p, struct expand_options *o)
{
    struct arena *const a = &s->arena;
    state_items items = {0};
    state_names unknown = {0};
    bool ok = true;
    if (checkpoint_is_one(path))
        return diag_error(&s->diag, &LOC_FILE(path),
                          "a checkpoint as frameworks have them is no state of stepc: 'stepc run' makes one of it, "
                          "with --load %s, --steps 0, --save FILE.state and the feeds of a step",
                          path);
    list_items(a, p, &items);
    if (!state_file_read(&s->diag, a, path, &items, &unknown))
        return false;
    for (size_t i = 0; i < p->variables.count; i++)
        ok = check_variable(s, path, &items.data[i]) && ok;
    vec_each(const char *, name, &unknown)
        ok = diag_error(&s->diag, &LOC_FILE(path), "the model has no variable '%s', but the state has one", name);
    for (size_t i = 0; i < p->variables.count && ok; i++)
        p->variables.data[i]->initial = items.data[i].tensor;
    take_random(a, p, &items, o);
    return ok;
}
