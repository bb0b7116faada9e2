#include "prepare/detached.h"

#include <string.h>

enum { MOST_NAMED = 4 };

/* ---- what the file says ------------------------------------------------------------------------------------------ */

/* PyTorch's newer exporter keeps with every node what it was; a detach is an Identity that says so:
 * "['net.SimSiam', 'aten.detach.default']". */
static bool is_marked(const struct model_node *n)
{
    if (!is_op(n, "Identity") || n->outputs.count != 1)
        return false;
    vec_each_ptr(const struct model_pair, pair, &n->metadata)
        if ((str_equal(pair->key, "pkg.torch.onnx.class_hierarchy") && strstr(pair->value, "'aten.detach")) ||
            (str_equal(pair->key, "pkg.torch.onnx.fx_node") && strstr(pair->value, "target=torch.ops.aten.detach")))
            return true;
    return false;
}

static void warn_of_inner(void *preparer, const struct model_node *n)
{
    const struct preparer *const p = preparer;
    if (is_marked(n) && p->diag && !map_has(&p->producers, n->outputs.data[0]))
        diag_warning(p->diag, &n->loc,
                     "'%s' was detached in the network, but is inside a graph of a node: its gradient flows",
                     n->outputs.data[0]);
}

static void add_read(void *read, const struct model_node *n)
{
    vec_each(const char *, name, &n->inputs)
        map_set(read, name, NULL);
}

/* Tools that simplify a model lead readers past an Identity, and take it out or leave it behind. */
static void warn_of_bypassed(struct preparer *p, const str_list *names)
{
    const struct model_graph *const g = p->model->graph;
    struct map read = {.arena = p->arena};
    str_list bypassed = {0};
    model_each_node(g, add_read, &read);
    vec_each(const struct model_value_info *, vi, &g->outputs)
        map_set(&read, vi->name, NULL);
    vec_each(const char *, name, names)
        if (!map_has(&read, name))
            vec_push(p->arena, &bypassed, name);
    if (bypassed.count > 0 && p->diag)
        diag_warning(p->diag, &p->loc,
                     "%s %s detached in the network, says the file, but nothing reads %s any more: a tool that "
                     "simplified the model has led gradients past %s; export with optimize=False, simplify later, or "
                     "--detach TENSOR",
                     names_text(p->arena, &bypassed, MOST_NAMED), bypassed.count == 1 ? "was" : "were",
                     bypassed.count == 1 ? "it" : "them", bypassed.count == 1 ? "it" : "them");
}

void find_marked_detached(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    str_list names = {0};
    p->detached.arena = p->arena;
    vec_each(const struct model_node *, n, &g->nodes)
        if (is_marked(n))
            vec_push(p->arena, &names, n->outputs.data[0]);
    metadata_lines(p->arena, p->model, METADATA_DETACHED, &names); /* of examples/pytorch/export.py */
    vec_each(const char *, name, &names)
        if (map_get(&p->producers, name))
            map_set(&p->detached, name, NULL);
    warn_of_bypassed(p, &names);
    model_each_node(g, warn_of_inner, p);
}

/* ---- --detach ---------------------------------------------------------------------------------------------------- */

static const char *suggestion(struct preparer *p, const char *glob)
{
    const char **const names = arena_array(p->arena, const char *, p->producers.count);
    for (size_t i = 0; i < p->producers.count; i++)
        names[i] = p->producers.entries[i].key;
    const char *const close = str_closest(glob, names, p->producers.count);
    return close ? arena_printf(p->arena, "; did you mean '%s'?", close) : "";
}

static bool detach_named(struct preparer *p, const char *glob)
{
    const struct model_graph *const g = p->model->graph;
    bool found = false;
    vec_each(const struct model_node *, n, &g->nodes)
        vec_each(const char *, name, &n->outputs)
            if (name[0] != '\0' && !is_op(n, "Constant") && str_glob(glob, name)) {
                map_set(&p->detached, name, NULL);
                found = true;
            }
    if (found)
        return true;
    if (model_find_initializer(g, glob))
        return diag_error(p->diag, &p->loc, "--detach %s: it is an initializer; --freeze leaves it alone", glob);
    return diag_error(p->diag, &p->loc, "--detach %s: no node computes a tensor %s%s", glob,
                      strpbrk(glob, "*?") ? "whose name matches" : "of that name", suggestion(p, glob));
}

bool find_detached(struct preparer *p)
{
    bool ok = true;
    find_marked_detached(p);
    vec_each(const char *, glob, &p->options->detach)
        ok = detach_named(p, glob) && ok;
    return ok;
}

/* ---- straight-through estimators --------------------------------------------------------------------------------- */

/* The tensor that an Identity repeats. One that is detached is another than what it repeats. */
static const char *repeated(const struct preparer *p, const char *name)
{
    for (int i = 0; i < MOST_MOVES && !map_has(&p->detached, name); i++) {
        const struct model_node *const n = map_get(&p->producers, name);
        if (!is_op(n, "Identity") || n->inputs.count != 1)
            break;
        name = n->inputs.data[0];
    }
    return name;
}

static const struct model_node *difference(const struct preparer *p, const char *name)
{
    const char *const own = repeated(p, name);
    const struct model_node *const n = map_get(&p->producers, own);
    return is_op(n, "Sub") && n->inputs.count == 2 && !map_has(&p->detached, own) ? n : NULL;
}

static bool is_same(const struct preparer *p, const char *a, const char *b)
{
    return str_equal(repeated(p, a), repeated(p, b));
}

static bool may_have_gradient(const struct preparer *p, const char *name)
{
    const char *const own = repeated(p, name);
    const struct model_node *const n = map_get(&p->producers, own);
    return n ? !is_op(n, "Constant") : model_find_initializer(p->model->graph, own) != NULL;
}

/* Input `first` of n is x and the other one a difference that takes x away again. */
static bool is_straight_through(const struct preparer *p, const struct model_node *n, size_t first,
                                struct straight_through *out)
{
    const char *const x = n->inputs.data[first];
    const struct model_node *const sub = difference(p, n->inputs.data[1 - first]);
    if (!sub || !may_have_gradient(p, x) || !is_same(p, sub->inputs.data[is_op(n, "Add")], x))
        return false;
    *out = (struct straight_through){n, repeated(p, x), sub->outputs.data[0]};
    return true;
}

/* y + (x - x.detach()) */
static bool adds_nothing(const struct preparer *p, const struct model_node *n, size_t first,
                         struct straight_through *out)
{
    const struct model_node *const sub = difference(p, n->inputs.data[1 - first]);
    if (!is_op(n, "Add") || !sub || !is_same(p, sub->inputs.data[0], sub->inputs.data[1]))
        return false;
    *out = (struct straight_through){n, repeated(p, sub->inputs.data[0]), ""};
    return true;
}

void find_straight_through(struct preparer *p, straight_through_list *out)
{
    const struct model_graph *const g = p->model->graph;
    struct straight_through s;
    str_list said = {0};
    if (metadata_lines(p->arena, p->model, METADATA_DETACHED, &said))
        return;
    vec_each(const struct model_node *, n, &g->nodes) {
        if ((!is_op(n, "Add") && !is_op(n, "Sub")) || n->inputs.count != 2 || n->outputs.count != 1)
            continue;
        if (is_straight_through(p, n, 0, &s) || (is_op(n, "Add") && is_straight_through(p, n, 1, &s)) ||
            adds_nothing(p, n, 0, &s) || adds_nothing(p, n, 1, &s))
            vec_push(p->arena, out, s);
    }
}

const char *straight_through_text(struct arena *a, const struct straight_through *s)
{
    if (s->difference[0] == '\0')
        return arena_printf(a,
                            "'%s' adds '%s' - '%s', which is nothing: a straight-through estimator has a detach there, "
                            "and exporters lose it",
                            s->sum->outputs.data[0], s->x, s->x);
    return arena_printf(a,
                        "'%s' is '%s' + (y - '%s'): that is y, and so are its gradients; a straight-through estimator "
                        "has a detach there, and exporters lose it",
                        s->sum->outputs.data[0], s->x, s->x);
}

/* ---- for the step ------------------------------------------------------------------------------------------------ */

static void warn_of_straight_through(struct preparer *p)
{
    straight_through_list all = {0};
    find_straight_through(p, &all);
    vec_each_ptr(const struct straight_through, s, &all)
        if (is_needed(p, s->sum))
            diag_warning(p->diag, &s->sum->loc, "%s; %s", straight_through_text(p->arena, s),
                         s->difference[0] != '\0'
                             ? arena_printf(p->arena, "--detach '%s' detaches the difference", s->difference)
                             : "export by examples/pytorch/export.py, which keeps it");
}

void say_detached(struct preparer *p)
{
    str_list names = {0};
    warn_of_straight_through(p);
    for (size_t i = 0; i < p->detached.count; i++)
        if (map_has(&p->ancestors, p->detached.entries[i].key))
            vec_push(p->arena, &names, p->detached.entries[i].key);
    if (names.count > 0)
        say(p, "detached: no gradient flows through %s", names_text(p->arena, &names, MOST_NAMED));
}

void list_detached(const struct preparer *p, str_list *out)
{
    for (size_t i = 0; i < p->detached.count; i++) {
        const char *const name = p->detached.entries[i].key, *const copy = map_get(&p->copies, name);
        if (map_has(&p->ancestors, name))
            vec_push(p->arena, out, copy ? copy : name);
    }
}
