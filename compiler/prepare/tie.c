#include "prepare/tie.h"

#include "prepare/prepare_internal.h"
#include "prepare/values.h"
#include <math.h>
#include <string.h>

enum { MOST_NAMED = 8 };

/* ---- merged initializers ----------------------------------------------------------------------------------------- */

static bool is_parameter(const struct model_initializer *init)
{
    return dtype_is_float(init->tensor->dtype);
}

static bool is_identity(const struct model_node *n)
{
    return is_op(n, "Identity") && n->inputs.count == 1 && n->outputs.count == 1 && n->outputs.data[0][0] != '\0';
}

/* Output of an Identity -> the struct model_initializer that the chain of such nodes starts from. */
static void find_roots(const struct edit *e, struct map *roots)
{
    const struct model_graph *const g = e->model->graph;
    struct map initializers = {.arena = e->arena};
    for (size_t i = g->initializers.count; i-- > 0;)
        map_set(&initializers, g->initializers.data[i]->name, g->initializers.data[i]);
    vec_each(const struct model_node *, n, &g->nodes) { /* topological order */
        const char *const from = is_identity(n) ? n->inputs.data[0] : "";
        void *const init = map_has(&initializers, from) ? map_get(&initializers, from) : map_get(roots, from);
        if (init)
            map_set(roots, n->outputs.data[0], init);
    }
}

/* What is asked for of each name: models may have many. */
struct lookup {
    const struct edit *e;
    struct map statistics;   /* running ones: what the exporter merges with a weight, because both are 1 */
    struct map readers;      /* value -> name of the node that reads it first, looking through nothing */
    struct map initializers; /* -> struct model_initializer * */
    bool none_equal, has_copied_layers; /* see find_signs() */
};

static void note_reader(struct lookup *l, const struct model_node *n)
{
    vec_each(const char *, name, &n->inputs)
        if (!map_has(&l->readers, name))
            map_set(&l->readers, name, (void *)(uintptr_t)n->name);
}

static void look_up(const struct edit *e, struct lookup *l)
{
    const struct model_graph *const g = e->model->graph;
    struct arena *const a = e->arena;
    *l = (struct lookup){.e = e, .statistics.arena = a, .readers.arena = a, .initializers.arena = a};
    vec_each(const struct model_node *, n, &g->nodes) {
        for (size_t k = 3; is_op(n, "BatchNormalization") && k < 5 && k < n->inputs.count; k++)
            map_set(&l->statistics, n->inputs.data[k], NULL);
        if (!is_identity(n))
            note_reader(l, n);
    }
    for (size_t i = g->initializers.count; i-- > 0;)
        map_set(&l->initializers, g->initializers.data[i]->name, g->initializers.data[i]);
}

/* Is neither of the two a running statistic? Such must not be trained with a weight. */
static bool is_parameter_of_both(const struct lookup *l, const struct merged *m, const char *other)
{
    return !map_has(&l->statistics, m->kept) && !map_has(&l->statistics, other);
}

void find_merged(struct edit *e, merged_list *out)
{
    struct map roots = {.arena = e->arena}, places = {.arena = e->arena};
    find_roots(e, &roots);
    for (size_t i = 0; i < roots.count; i++) {
        const struct model_initializer *const init = roots.entries[i].value;
        if (!is_parameter(init) || edit_is_output(e, roots.entries[i].key))
            continue;
        if (!map_has(&places, init->name)) {
            map_set(&places, init->name, (void *)(uintptr_t)(out->count + 1));
            vec_push(e->arena, out, ((struct merged){.kept = init->name}));
        }
        struct merged *const m = &out->data[(uintptr_t)map_get(&places, init->name) - 1];
        vec_push(e->arena, &m->others, roots.entries[i].key);
    }
}

/* ---- parameters of their own, or one --------------------------------------------------------------------------------
 * PyTorch's exporter merges what is one tensor always, and what is equal only outside of training form. Fresh networks
 * are full of equal tensors: ones, zeros, copies of a layer.
 */

static const unsigned char *element(const struct tensor *t, int64_t i)
{
    return (const unsigned char *)t->data + (size_t)i * dtype_size(t->dtype);
}

/* "layers.0.fc.weight" and "layers.1.fc.weight": names that differ in numbers only. */
static bool differ_in_numbers(const char *a, const char *b)
{
    const char *const digits = "0123456789";
    if (str_equal(a, b))
        return false;
    while (*a != '\0' && *b != '\0') {
        const size_t m = strspn(a, digits), n = strspn(b, digits);
        if ((m == 0) != (n == 0) || (m == 0 && *a != *b))
            return false;
        a += m > 0 ? m : 1;
        b += n > 0 ? n : 1;
    }
    return *a == *b;
}

static bool from_pytorch(const struct edit *e)
{
    return str_equal(e->model->producer_name, "pytorch");
}

/* Two equal tensors that the exporter has left apart: it has merged none because they were equal. */
static bool merges_no_equals(const struct edit *e)
{
    const struct model_graph *const g = e->model->graph;
    for (size_t i = 0; i < g->initializers.count; i++) {
        const struct model_initializer *const a = g->initializers.data[i];
        if (!is_parameter(a) || is_anonymous(a->name))
            continue;
        for (size_t k = 0; k < i; k++) {
            const struct model_initializer *const b = g->initializers.data[k];
            if (a->tensor->count == b->tensor->count && a->tensor != b->tensor && is_parameter(b) &&
                tensor_identical(a->tensor, b->tensor) && !is_anonymous(b->name))
                return true;
        }
    }
    return false;
}

/* Was some layer with a random start copied? Then its weights without names were, too. */
static bool has_copied_layers(const struct lookup *l, const merged_list *all)
{
    vec_each_ptr(const struct merged, m, all) {
        const struct model_initializer *const init = map_get(&l->initializers, m->kept);
        if (!is_anonymous(init->name) && !tensor_is_uniform(init->tensor))
            vec_each(const char *, other, &m->others)
                if (differ_in_numbers(init->name, other))
                    return true;
    }
    return false;
}

/* What the exporter's way of merging tells of all. */
static void find_signs(struct lookup *l, const merged_list *all)
{
    l->none_equal = merges_no_equals(l->e);
    l->has_copied_layers = has_copied_layers(l, all);
}

static const char *reader_of(const struct lookup *l, const char *value)
{
    const char *const name = map_get(&l->readers, value);
    return name ? name : "";
}

/* "head.1" and "head.1_1": what PyTorch calls a module when it is called again. */
static bool is_numbered(const char *name, size_t length, const char *more, size_t longer)
{
    return longer > length + 1 && strncmp(name, more, length) == 0 && more[length] == '_' &&
           strspn(more + length + 1, "0123456789") >= longer - length - 1;
}

/* Are "/head/head.1/MatMul" and "/head/head.1_1/MatMul" the same node of a module? */
static bool is_same_module(const char *a, const char *b)
{
    bool again = false;
    for (;;) {
        const size_t m = strcspn(a, "/"), n = strcspn(b, "/");
        const bool same = m == n && strncmp(a, b, m) == 0;
        if (a[m] != b[n])
            return false;
        if (a[m] == '\0')
            return again && same && m > 0;
        if (!same && !is_numbered(a, m, b, n) && !is_numbered(b, n, a, m))
            return false;
        again = again || !same;
        a += m + 1;
        b += n + 1;
    }
}

/* Two copies of one parameter: a module that is called twice reads them. */
static bool is_called_again(const struct lookup *l, const char *a, const char *b)
{
    return is_same_module(reader_of(l, a), reader_of(l, b));
}

enum merge { MERGE_UNKNOWN, MERGE_ONE, MERGE_APART };

static enum merge decide(const struct lookup *l, const struct merged *m, const char *other)
{
    const struct model_initializer *const init = map_get(&l->initializers, m->kept);
    const struct known_names *const names = l->e->known;
    if (!is_parameter_of_both(l, m, other))
        return MERGE_APART;
    const int known = !names ? 0
                             : (known_kind_of(names, other) != KNOWN_NOTHING) +
                                   (known_kind_of(names, m->kept) != KNOWN_NOTHING);
    if (known > 0) /* a list has one name for what is one */
        return known == 2 ? MERGE_APART : MERGE_ONE;
    if (!from_pytorch(l->e))
        return MERGE_UNKNOWN;
    if (l->none_equal)
        return MERGE_ONE;
    if (tensor_is_uniform(init->tensor))
        return MERGE_APART;
    if (is_anonymous(m->kept) || is_anonymous(other))
        return l->has_copied_layers && !is_called_again(l, m->kept, other) ? MERGE_APART : MERGE_ONE;
    return differ_in_numbers(m->kept, other) ? MERGE_APART : MERGE_ONE;
}

void find_separable(struct edit *e, const merged_list *all, str_list *apart, str_list *unknown)
{
    struct lookup l;
    look_up(e, &l);
    find_signs(&l, all);
    vec_each_ptr(const struct merged, m, all)
        vec_each(const char *, other, &m->others) {
            const enum merge how = decide(&l, m, other);
            if (how != MERGE_ONE)
                vec_push(e->arena, how == MERGE_APART ? apart : unknown, other);
        }
}

/* ---- --untie ------------------------------------------------------------------------------------------------------
 */

static bool is_named(const char *pattern, const char *name)
{
    return str_equal(pattern, "auto") || str_equal(pattern, name) || str_glob(pattern, name);
}

static bool is_wanted(const str_list *which, const char *name)
{
    vec_each(const char *, pattern, which)
        if (is_named(pattern, name))
            return true;
    return false;
}

/* Takes out the Identity nodes that gave these. */
static void remove_producers(struct edit *e, const struct map *names)
{
    struct model_graph *const g = e->model->graph;
    size_t kept = 0;
    vec_each(struct model_node *, n, &g->nodes)
        if (!is_identity(n) || !map_has(names, n->outputs.data[0]))
            g->nodes.data[kept++] = n;
    g->nodes.count = kept;
}

/* The variables share the tensor, which nobody writes. */
static void separate(struct edit *e, const struct lookup *l, const struct merged *m, const char *name)
{
    struct model_graph *const g = e->model->graph;
    const struct model_initializer *const kept = map_get(&l->initializers, m->kept);
    model_add_initializer(e->arena, g, name, kept->tensor);
    g->initializers.data[g->initializers.count - 1]->loc = e->loc;
}

static void warn_merged(struct edit *e, const struct merged *m)
{
    diag_warning(e->diag, &e->loc,
                 "initializer '%s' also stands for %s: the exporter merged what was equal, and a step would train %s "
                 "as one; --untie auto separates them, --untie never leaves them",
                 m->kept, names_text(e->arena, &m->others, MOST_NAMED),
                 m->others.count == 1 ? "both" : "all of them");
}

static bool check_patterns(struct edit *e, const str_list *which, const merged_list *all)
{
    bool ok = true;
    vec_each(const char *, pattern, which) {
        bool found = str_equal(pattern, "auto") || str_equal(pattern, "never");
        vec_each_ptr(const struct merged, m, all)
            vec_each(const char *, name, &m->others)
                found = found || is_named(pattern, name);
        if (!found)
            ok = diag_error(e->diag, &e->loc,
                            "--untie %s: no Identity node gives an initializer this name; see stepc check --training",
                            pattern);
    }
    return ok;
}

static void say_statistic(struct edit *e, const struct merged *m, const char *name)
{
    edit_changed(e, "separate initializers for what was merged");
    edit_say(e, "'%s' is a variable of its own, not '%s': one is a running statistic", name, m->kept);
}

static void say_separated(struct edit *e, const str_list *apart, bool by_itself)
{
    if (apart->count == 0)
        return;
    edit_changed(e, "separate initializers for what was merged");
    edit_say(e, "%s: the exporter merged %s with what was equal; %s own again%s",
             names_text(e->arena, apart, MOST_NAMED), apart->count == 1 ? "it" : "them",
             apart->count == 1 ? "it is a variable of its" : "they are variables of their",
             by_itself ? " (--untie never leaves them merged)" : "");
}

bool untie_initializers(struct edit *e, const str_list *which)
{
    merged_list all = {0};
    const bool by_itself = which->count == 0;
    find_merged(e, &all);
    if (which->count > 1 && str_list_has(which, "never"))
        return diag_usage(e->diag, "--untie never excludes every other --untie");
    if (!check_patterns(e, which, &all))
        return false;
    struct lookup l;
    struct map gone = {.arena = e->arena};
    str_list apart = {0};
    look_up(e, &l);
    if (by_itself)
        find_signs(&l, &all);
    vec_each_ptr(const struct merged, m, &all) {
        struct merged left = {.kept = m->kept};
        vec_each(const char *, name, &m->others) {
            const enum merge how = by_itself ? decide(&l, m, name) : MERGE_UNKNOWN;
            if (how == MERGE_APART || is_wanted(which, name)) {
                separate(e, &l, m, name);
                map_set(&gone, name, NULL);
                if (how == MERGE_APART && !is_parameter_of_both(&l, m, name))
                    say_statistic(e, m, name);
                else
                    vec_push(e->arena, &apart, name);
            } else if (how == MERGE_UNKNOWN) {
                vec_push(e->arena, &left.others, name);
            } else {
                edit_say(e, "'%s' is '%s': one parameter under two names (--untie '%s' makes it two)", name,
                         m->kept, name);
            }
        }
        if (by_itself && left.others.count > 0)
            warn_merged(e, &left);
    }
    remove_producers(e, &gone);
    say_separated(e, &apart, by_itself);
    return true;
}

/* ---- equal content ----------------------------------------------------------------------------------------------- */

/* The same for a matrix and its transpose: a sum does not depend on order. */
static uint64_t content_sum(const struct tensor *t)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t bits = 0;
        memcpy(&bits, element(t, i), dtype_size(t->dtype));
        bits = (bits + 1) * 0x9E3779B97F4A7C15u;
        sum += (bits ^ bits >> 32) * 0x9E3779B97F4A7C15u;
    }
    return sum;
}

static bool is_transposed(const struct tensor *a, const struct tensor *b)
{
    if (a->dtype != b->dtype || !shape_is_transposed(&a->shape, &b->shape))
        return false;
    for (int64_t i = 0; i < a->shape.dim[0]; i++)
        for (int64_t k = 0; k < a->shape.dim[1]; k++)
            if (memcmp(element(a, i * a->shape.dim[1] + k), element(b, k * a->shape.dim[0] + i),
                       dtype_size(a->dtype)) != 0)
                return false;
    return true;
}

struct tie_candidate {
    const struct model_initializer *init;
    uint64_t sum; /* of its contents; 0 where no other one has as many elements of its dtype */
};
typedef VEC(struct tie_candidate) candidate_list;

static void note_reads(void *to, const struct model_node *n)
{
    vec_each(const char *, name, &n->inputs)
        map_set(to, name, NULL);
}

static bool are_peers(const struct tensor *a, const struct tensor *b)
{
    return a->count == b->count && a->dtype == b->dtype;
}

/* Contents of which nobody has as many are not read: they may be most of a large model. */
static bool has_peer(const candidate_list *all, const struct tie_candidate *x)
{
    vec_each_ptr(const struct tie_candidate, other, all)
        if (other != x && are_peers(other->init->tensor, x->init->tensor))
            return true;
    return false;
}

/* What only training reads (a moving average, a sum of gradients) is no copy that an exporter made. */
static void find_candidates(struct edit *e, candidate_list *out)
{
    const struct model_graph *const g = e->model->graph;
    struct map read = {.arena = e->arena};
    model_each_node(g, note_reads, &read);
    vec_each(const struct model_initializer *, init, &g->initializers)
        if ((map_has(&read, init->name) || model_find_value(&g->outputs, init->name)) && is_parameter(init) &&
            init->tensor->shape.rank >= 1 && !tensor_is_uniform(init->tensor))
            vec_push(e->arena, out, ((struct tie_candidate){init, 0}));
    vec_each_ptr(struct tie_candidate, x, out)
        if (has_peer(out, x))
            x->sum = content_sum(x->init->tensor);
}

static bool is_reshaped(const struct tensor *a, const struct tensor *b)
{
    return a->dtype == b->dtype && a->count == b->count && a->count > 0 &&
           memcmp(a->data, b->data, (size_t)a->count * dtype_size(a->dtype)) == 0;
}

/* Both have the same elements, in some order. */
static enum tie_kind kind_of(const struct tensor *a, const struct tensor *b)
{
    return tensor_identical(a, b) ? TIE_EQUAL
           : is_transposed(a, b)  ? TIE_TRANSPOSED
           : is_reshaped(a, b)    ? TIE_RESHAPED
                                  : TIE_REORDERED;
}

/* Equal matrices are one, or copies. Of vectors, and of what has another shape, that is likely only where the exporter
 * made one of the two up, and where the elements follow no rule. */
static bool is_telling(const struct lookup *l, const struct model_initializer *a, const struct model_initializer *b,
                       enum tie_kind kind)
{
    enum { FEWEST = 4 };
    if (a->tensor->shape.rank >= 2 && (kind == TIE_EQUAL || kind == TIE_TRANSPOSED))
        return true;
    return is_anonymous(a->name) != is_anonymous(b->name) && a->tensor->count >= FEWEST &&
           !values_made_by_rule(a->tensor) && !map_has(&l->statistics, a->name) &&
           !map_has(&l->statistics, b->name);
}

/* The first of the candidates before `most` that `x` is tied to, among those with names of their own or with made-up
 * ones. */
static const struct tie_candidate *find_partner(const struct lookup *l, const candidate_list *all,
                                                const struct tie_candidate *x, size_t most, bool made_up,
                                                enum tie_kind *kind)
{
    const struct tensor *const t = x->init->tensor;
    for (size_t k = 0; k < most; k++) {
        const struct tie_candidate *const other = &all->data[k];
        const struct tensor *const own = other->init->tensor;
        if (other->sum != x->sum || other == x || own == t || /* --untie has just separated them */
            !are_peers(own, t) || is_anonymous(other->init->name) != made_up)
            continue;
        *kind = kind_of(own, t);
        if (is_telling(l, other->init, x->init, *kind))
            return other;
    }
    return NULL;
}

/* What has a made-up name gives way to what has none, else the later one to the earlier one. */
static void find_equal(struct edit *e, const struct lookup *l, tie_list *out)
{
    candidate_list all = {0};
    find_candidates(e, &all);
    vec_each_ptr(const struct tie_candidate, x, &all) {
        enum tie_kind kind;
        const bool made_up = is_anonymous(x->init->name);
        const struct tie_candidate *other = find_partner(l, &all, x, made_up ? all.count : x_at, false, &kind);
        if (!other && made_up)
            other = find_partner(l, &all, x, x_at, true, &kind);
        if (other)
            vec_push(e->arena, out, ((struct tie){x->init->name, other->init->name, kind}));
    }
}

void find_ties(struct edit *e, tie_list *out)
{
    struct lookup l;
    look_up(e, &l);
    find_equal(e, &l, out);
}

const char *tie_cure(struct arena *a, const struct tie *t)
{
    return t->kind == TIE_REORDERED
               ? "an export by examples/pytorch/export.py has one"
               : arena_printf(a, "--tie '%s' makes them one", tie_text(a, t));
}

const char *tie_manner(const struct tie *t)
{
    static const char *const manners[] = {"", " transposed", " in another shape", " in another order"};
    return manners[t->kind];
}

const char *tie_text(struct arena *a, const struct tie *t)
{
    return arena_printf(a, "%s=%s%s", t->tensor, t->equals, t->kind == TIE_TRANSPOSED ? "^T" : "");
}

/* ---- --tie --------------------------------------------------------------------------------------------------------
 */

static const struct model_initializer *find_or_report(struct edit *e, const char *option, const char *name)
{
    const struct model_graph *const g = e->model->graph;
    const struct model_initializer *const init = model_find_initializer(g, name);
    if (init)
        return init;
    diag_error(e->diag, &e->loc, "--tie %s: no initializer has the name '%s'%s", option, name,
               initializer_suggestion(e->arena, g, name));
    return NULL;
}

/* Names may hold '=': every one is tried as the separator. */
static bool parse_tie(struct edit *e, const char *text, struct tie *out)
{
    for (const char *at = strchr(text, '='); at; at = strchr(at + 1, '=')) {
        const char *const left = arena_strndup(e->arena, text, (size_t)(at - text));
        const char *right = at + 1;
        const bool transposed = str_ends_with(right, "^T") && !model_find_initializer(e->model->graph, right);
        if (transposed)
            right = arena_strndup(e->arena, right, strlen(right) - 2);
        *out = (struct tie){left, right, transposed ? TIE_TRANSPOSED : TIE_EQUAL};
        if (model_find_initializer(e->model->graph, left) && model_find_initializer(e->model->graph, right))
            break;
        if (!strchr(at + 1, '='))
            break;
    }
    return (out->tensor && out->tensor[0] != '\0' && out->equals[0] != '\0') ||
           diag_usage(e->diag, "--tie %s: expected A=B or A=B^T, names of initializers", text);
}

static bool types_fit(const struct tie *t, const struct tensor *a, const struct tensor *b)
{
    return a->dtype == b->dtype && (t->kind == TIE_TRANSPOSED ? shape_is_transposed(&a->shape, &b->shape)
                                                              : shape_equal(&a->shape, &b->shape) || is_reshaped(a, b));
}

/* tensor = Identity(equals), Transpose(equals) or Reshape(equals) */
static void add_tie_node(struct edit *e, const struct tie *t, const struct tensor *a, const struct tensor *b)
{
    const bool reshaped = t->kind != TIE_TRANSPOSED && !shape_equal(&a->shape, &b->shape);
    const char *const shape = reshaped ? edit_fresh_name(e, arena_printf(e->arena, "%s.shape", t->tensor)) : NULL;
    struct model_node *const n = edit_insert_node(
        e, 0, reshaped ? "Reshape" : t->kind == TIE_TRANSPOSED ? "Transpose" : "Identity", t->equals, shape, t->tensor);
    if (t->kind == TIE_TRANSPOSED)
        model_set_ints(e->arena, n, "perm", (const int64_t[]){1, 0}, 2);
    if (!reshaped)
        return;
    struct model_node *const dims = edit_insert_node(e, 0, "Constant", NULL, NULL, shape);
    model_set_tensor(e->arena, dims, "value", tensor_from_ints(e->arena, a->shape.dim, a->shape.rank));
}

static bool tie_both(struct edit *e, const char *text, const struct tie *t)
{
    const struct model_initializer *const a = find_or_report(e, text, t->tensor);
    const struct model_initializer *const b = find_or_report(e, text, t->equals);
    if (!a || !b)
        return false;
    if (a == b)
        return diag_error(e->diag, &e->loc, "--tie %s: both sides are one initializer", text);
    if (!types_fit(t, a->tensor, b->tensor))
        return diag_error(e->diag, &a->loc, "--tie %s: '%s' is %s%s, but '%s' is %s%s", text, t->tensor,
                          dtype_name(a->tensor->dtype), shape_text(e->arena, &a->tensor->shape), t->equals,
                          dtype_name(b->tensor->dtype), shape_text(e->arena, &b->tensor->shape));
    if (!(t->kind == TIE_TRANSPOSED ? is_transposed(a->tensor, b->tensor) : is_reshaped(a->tensor, b->tensor)))
        diag_warning(e->diag, &e->loc, "--tie %s: the two differ in the file; the values of '%s' are used for both",
                     tie_text(e->arena, t), t->equals);
    edit_remove_initializer(e, t->tensor);
    add_tie_node(e, t, a->tensor, b->tensor);
    edit_changed(e, "one initializer for what is tied");
    edit_say(e, "'%s' is '%s'%s: one variable, whose gradient is the sum over both uses", t->tensor, t->equals,
             tie_manner(t));
    return true;
}

static bool tie_one(struct edit *e, const char *text)
{
    struct tie t = {0};
    return parse_tie(e, text, &t) && tie_both(e, text, &t);
}

/* What constant folding cuts: one parameter that is read as it stands and, elsewhere, as a copy with a made-up name.
 * The same content under two names of the network's own is a copy: the exporter knows what is one tensor. */
static enum merge decide_tie(const struct lookup *l, const struct tie *t)
{
    const bool made_up = is_anonymous(t->tensor), both = made_up && is_anonymous(t->equals);
    if (!from_pytorch(l->e) || t->kind == TIE_REORDERED)
        return MERGE_UNKNOWN;
    return both ? (is_called_again(l, t->equals, t->tensor) ? MERGE_ONE : MERGE_UNKNOWN)
           : made_up ? MERGE_ONE
                     : MERGE_APART;
}

static bool has_equal_names(const tie_list *all)
{
    vec_each_ptr(const struct tie, t, all)
        if (differ_in_numbers(t->tensor, t->equals) && !is_anonymous(t->tensor))
            return true;
    return false;
}

void find_cut_ties(struct edit *e, tie_list *sure, tie_list *unknown)
{
    tie_list all = {0};
    struct lookup l;
    look_up(e, &l);
    find_equal(e, &l, &all);
    const bool equal_names = has_equal_names(&all);
    vec_each_ptr(const struct tie, t, &all) {
        const enum merge how = decide_tie(&l, t);
        const bool copies = is_anonymous(t->tensor) && is_anonymous(t->equals) && equal_names;
        if (how == MERGE_ONE)
            vec_push(e->arena, sure, *t);
        else if (how == MERGE_UNKNOWN && !copies)
            vec_push(e->arena, unknown, *t);
    }
}

static bool both_are_there(const struct edit *e, const struct tie *t)
{
    return model_find_initializer(e->model->graph, t->tensor) && model_find_initializer(e->model->graph, t->equals);
}

static bool tie_all(struct edit *e, const tie_list *sure)
{
    bool ok = true;
    for (size_t i = 0; ok && i < sure->count; i++)
        ok = !both_are_there(e, &sure->data[i]) || tie_both(e, tie_text(e->arena, &sure->data[i]), &sure->data[i]);
    return ok;
}

bool tie_what_was_cut(struct edit *e)
{
    tie_list sure = {0}, unknown = {0};
    find_cut_ties(e, &sure, &unknown);
    return tie_all(e, &sure);
}

bool tie_initializers(struct edit *e, const str_list *ties)
{
    bool ok = true;
    tie_list sure = {0}, unknown = {0};
    vec_each(const char *, text, ties)
        ok = (str_equal(text, "never") || tie_one(e, text)) && ok;
    if (str_list_has(ties, "never"))
        return ok;
    find_cut_ties(e, &sure, &unknown);
    ok = ok && tie_all(e, &sure);
    for (size_t i = 0; ok && i < unknown.count; i++) {
        const struct tie *const t = &unknown.data[i];
        diag_warning(e->diag, &e->loc,
                     "initializers '%s' and '%s' have the same content%s%s: if they were one parameter, a step would "
                     "train them apart; %s",
                     t->tensor, t->equals, t->kind == TIE_EQUAL ? "" : ",", tie_manner(t), tie_cure(e->arena, t));
    }
    return ok;
}
