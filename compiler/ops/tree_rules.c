#include "ops/tree_rules.h"

#include "base/str.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- attributes -------------------------------------------------------------------------------------------------- */

struct tree_reader {
    struct forest *f;
    struct arena *arena;
    struct diag *diag;
    const struct node *node;
    const char *prefix;
};
#define wrong(r, ...) diag_error((r)->diag, &(r)->node->loc, __VA_ARGS__)

struct numbers {
    const double *x;
    size_t count;
};

/* A list of integers of `count` elements, or of any number if that is 0. */
static bool read_ints(const struct tree_reader *r, const char *name, const int64_t **x, size_t *count)
{
    const struct attr *const a = node_attr(r->node, name);
    const size_t given = a ? a->count : 0;
    *x = a ? a->ints : NULL;
    if (*count > 0 && given != *count)
        return wrong(r, "attribute '%s' has %zu elements, expected %zu", name, given, *count);
    *count = given;
    return true;
}

/* The same of floats, which may also come in a tensor, of this name or NAME_as_tensor. Doubles in it are meant so. */
static bool read_floats(const struct tree_reader *r, const char *name, size_t count, struct numbers *out)
{
    const char *const as_tensor = arena_printf(r->arena, "%s_as_tensor", name);
    const struct attr *const list = node_attr(r->node, name), *const other = node_attr(r->node, as_tensor);
    const struct tensor *const t = list && list->type == ATTR_TENSOR ? list->t : other ? other->t : NULL;
    *out = (struct numbers){0};
    if (t && !(DTYPES_FLOATS & DTYPE_BIT(t->dtype)))
        return wrong(r, "attribute '%s' is a tensor of %s, expected floats", other ? as_tensor : name,
                     dtype_name(t->dtype));
    if (t) {
        double *const x = arena_array(r->arena, double, (size_t)t->count);
        for (int64_t i = 0; i < t->count; i++)
            x[i] = tensor_get_double(t, i);
        *out = (struct numbers){x, (size_t)t->count};
        r->f->type = t->dtype == DTYPE_DOUBLE ? DTYPE_DOUBLE : r->f->type;
    } else if (list) {
        *out = (struct numbers){list->floats, list->count};
    }
    return count == SIZE_MAX || out->count == count ||
           wrong(r, "attribute '%s' has %zu elements, expected %zu", name, out->count, count);
}

static bool check_range(const struct tree_reader *r, const char *name, const int64_t *x, size_t count, int64_t end,
                        const char *of)
{
    for (size_t i = 0; i < count; i++)
        if (x[i] < 0 || x[i] >= end)
            return wrong(r, "element %zu of attribute '%s' is %lld, expected 0 to %lld: %s", i, name, (long long)x[i],
                         (long long)end - 1, of);
    return true;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Weight i belongs to leaf_of[i], or to none (-1). */
static void group_weights(struct tree_reader *r, const int64_t *leaf_of, const int64_t *target, const double *weight,
                          size_t count)
{
    struct forest *const f = r->f;
    f->first = arena_array(r->arena, size_t, f->leaf_count + 2);
    for (size_t i = 0; i < count; i++)
        if (leaf_of[i] >= 0)
            f->first[leaf_of[i] + 2]++;
    for (size_t l = 0; l < f->leaf_count; l++)
        f->first[l + 2] += f->first[l + 1];
    f->weights = arena_array(r->arena, struct tree_weight, count);
    for (size_t i = 0; i < count; i++)
        if (leaf_of[i] >= 0)
            f->weights[f->first[leaf_of[i] + 1]++] = (struct tree_weight){target[i], weight[i]};
}

static bool check_targets(struct tree_reader *r, const char *name, const int64_t *target, size_t count)
{
    struct forest *const f = r->f;
    int64_t most = -1;
    for (size_t i = 0; i < count; i++)
        most = target[i] > most ? target[i] : most;
    if (f->targets == 0 && most < INT64_MAX)
        f->targets = most + 1;
    if (f->targets <= 0)
        return wrong(r, "it has no targets");
    return check_range(r, name, target, count, f->targets, "the targets");
}

/* A minimum or maximum of nothing is told from others by being infinite. */
static bool check_weights(const struct tree_reader *r, const char *name, const struct numbers *w)
{
    const bool is_extreme = r->f->aggregate == TREE_MIN || r->f->aggregate == TREE_MAX;
    for (size_t i = 0; is_extreme && i < w->count; i++)
        if (!isfinite(w->x[i]))
            return wrong(r, "element %zu of attribute '%s' is not finite, of which there is no minimum or maximum", i,
                         name);
    return true;
}

/* ---- the form since version 1 ------------------------------------------------------------------------------------ */

/* A node as it is called, and where it stands in the lists. */
struct called {
    int64_t tree, id;
    size_t at;
};

static int compare_called(const void *a, const void *b)
{
    const struct called *const x = a, *const y = b;
    return x->tree != y->tree ? (x->tree < y->tree ? -1 : 1) : (x->id > y->id) - (x->id < y->id);
}

static const struct called *find_called(const struct called *all, size_t count, int64_t tree, int64_t id)
{
    const struct called key = {.tree = tree, .id = id};
    return bsearch(&key, all, count, sizeof *all, compare_called);
}

static bool read_mode(const struct tree_reader *r, const char *text, size_t i, enum tree_mode *mode)
{
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};
    for (int m = 0; m <= TREE_MEMBER; m++)
        if (str_equal(text, names[m])) {
            *mode = (enum tree_mode)m; /* TREE_MEMBER: a leaf */
            return true;
        }
    return wrong(r,
                 "element %zu of attribute 'nodes_modes' is '%s', expected BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, "
                 "BRANCH_GT, BRANCH_EQ, BRANCH_NEQ or LEAF",
                 i, text);
}

struct listed {
    size_t count;
    const int64_t *trees, *ids, *features, *yes, *no, *missing;
    const char *const *modes;
    struct numbers splits;
    struct called *called; /* sorted */
    int64_t *place;        /* of each */
};

static bool read_lists(const struct tree_reader *r, struct listed *l)
{
    const struct attr *const modes = node_attr(r->node, "nodes_modes");
    size_t missing = 0;
    if (!read_ints(r, "nodes_nodeids", &l->ids, &l->count))
        return false;
    if (l->count == 0)
        return wrong(r, "attribute 'nodes_nodeids' is empty: it has no trees");
    if (!read_ints(r, "nodes_treeids", &l->trees, &l->count) ||
        !read_ints(r, "nodes_featureids", &l->features, &l->count) ||
        !read_ints(r, "nodes_truenodeids", &l->yes, &l->count) ||
        !read_ints(r, "nodes_falsenodeids", &l->no, &l->count) || !read_floats(r, "nodes_values", l->count, &l->splits))
        return false;
    if (!modes || modes->count != l->count)
        return wrong(r, "attribute 'nodes_modes' has %zu elements, expected %zu", modes ? modes->count : (size_t)0,
                     l->count);
    l->modes = modes->strings;
    if (!read_ints(r, "nodes_missing_value_tracks_true", &l->missing, &missing))
        return false;
    return missing == 0 || read_ints(r, "nodes_missing_value_tracks_true", &l->missing, &l->count);
}

/* Numbers nodes and leaves, and sorts what they are called. */
static bool number_nodes(struct tree_reader *r, struct listed *l)
{
    struct forest *const f = r->f;
    l->called = arena_array(r->arena, struct called, l->count);
    l->place = arena_array(r->arena, int64_t, l->count);
    f->nodes = arena_array(r->arena, struct tree_node, l->count);
    for (size_t i = 0; i < l->count; i++) {
        enum tree_mode mode = TREE_LEQ;
        if (!read_mode(r, l->modes[i], i, &mode))
            return false;
        l->called[i] = (struct called){l->trees[i], l->ids[i], i};
        l->place[i] = mode == TREE_MEMBER ? -1 - (int64_t)f->leaf_count++ : (int64_t)f->node_count++;
        if (mode != TREE_MEMBER)
            f->nodes[l->place[i]] = (struct tree_node){.mode = mode,
                                                       .nan_is_true = l->missing && l->missing[i] != 0,
                                                       .feature = l->features[i],
                                                       .split = l->splits.x[i]};
    }
    qsort(l->called, l->count, sizeof *l->called, compare_called);
    for (size_t i = 1; i < l->count; i++)
        if (compare_called(&l->called[i - 1], &l->called[i]) == 0)
            return wrong(r, "tree %lld has two nodes %lld", (long long)l->called[i].tree, (long long)l->called[i].id);
    return true;
}

/* Children, and the root of each tree: the node of it that is listed first. */
static bool link_nodes(struct tree_reader *r, const struct listed *l)
{
    struct forest *const f = r->f;
    f->roots = arena_array(r->arena, int64_t, l->count);
    size_t *const first = arena_array(r->arena, size_t, l->count);
    for (size_t i = 0; i < l->count; i++) {
        const bool is_new = i == 0 || l->called[i].tree != l->called[i - 1].tree;
        f->root_count += is_new;
        size_t *const least = &first[f->root_count - 1];
        *least = is_new || l->called[i].at < *least ? l->called[i].at : *least;
    }
    for (size_t t = 0; t < f->root_count; t++)
        f->roots[t] = l->place[first[t]];
    for (size_t i = 0; i < l->count; i++) {
        const int64_t to[] = {l->yes[i], l->no[i]};
        for (int way = 0; l->place[i] >= 0 && way < 2; way++) {
            const struct called *const child = find_called(l->called, l->count, l->trees[i], to[way]);
            if (!child)
                return wrong(r, "node %lld of tree %lld leads to node %lld, which the tree does not have",
                             (long long)l->ids[i], (long long)l->trees[i], (long long)to[way]);
            f->nodes[l->place[i]].next[way] = l->place[child->at];
        }
        if (l->place[i] >= 0 && (l->features[i] < 0 || l->features[i] >= f->features))
            return wrong(r, "element %zu of attribute 'nodes_featureids' is %lld, expected 0 to %lld: the features", i,
                         (long long)l->features[i], (long long)f->features - 1);
    }
    return true;
}

/* Weights of nodes that are no leaves are never reached, and some writers have them. */
static bool read_listed_weights(struct tree_reader *r, const struct listed *l)
{
    const char *const of_trees = arena_printf(r->arena, "%s_treeids", r->prefix);
    const char *const of_nodes = arena_printf(r->arena, "%s_nodeids", r->prefix);
    const char *const of_targets = arena_printf(r->arena, "%s_ids", r->prefix);
    const char *const of_weights = arena_printf(r->arena, "%s_weights", r->prefix);
    const int64_t *trees, *nodes, *targets;
    struct numbers weights;
    size_t count = 0;
    if (!read_ints(r, of_targets, &targets, &count))
        return false;
    if (count == 0)
        return wrong(r, "attribute '%s' is empty: no leaf has a weight", of_targets);
    if (!read_ints(r, of_trees, &trees, &count) || !read_ints(r, of_nodes, &nodes, &count) ||
        !read_floats(r, of_weights, count, &weights) || !check_targets(r, of_targets, targets, count) ||
        !check_weights(r, of_weights, &weights))
        return false;
    int64_t *const leaf_of = arena_array(r->arena, int64_t, count);
    for (size_t i = 0; i < count; i++) {
        const struct called *const leaf = find_called(l->called, l->count, trees[i], nodes[i]);
        if (!leaf)
            return wrong(r, "element %zu of attribute '%s' is for node %lld of tree %lld, which there is not", i,
                         of_weights, (long long)nodes[i], (long long)trees[i]);
        leaf_of[i] = -1 - l->place[leaf->at];
    }
    group_weights(r, leaf_of, targets, weights.x, count);
    return true;
}

static bool read_listed(struct tree_reader *r)
{
    struct listed l = {0};
    struct numbers base;
    if (!read_lists(r, &l) || !number_nodes(r, &l) || !link_nodes(r, &l) || !read_listed_weights(r, &l) ||
        !read_floats(r, "base_values", SIZE_MAX, &base))
        return false;
    r->f->base = base.count > 0 ? base.x : NULL;
    r->f->base_count = base.count;
    return true;
}

/* ---- the form of TreeEnsemble ------------------------------------------------------------------------------------ */

/* Members of one node after the other, each followed by NaN. */
static bool read_members(const struct tree_reader *r)
{
    struct numbers all;
    size_t at = 0;
    if (!read_floats(r, "membership_values", SIZE_MAX, &all))
        return false;
    for (size_t i = 0; i < r->f->node_count; i++) {
        struct tree_node *const n = &r->f->nodes[i];
        if (n->mode != TREE_MEMBER)
            continue;
        n->members = all.x + at;
        while (at < all.count && !isnan(all.x[at]))
            at++;
        n->member_count = (size_t)(all.x + at - n->members);
        if (at++ >= all.count)
            return wrong(r, "attribute 'membership_values' has no set of values, which ends with NaN, for node %zu", i);
    }
    return at == all.count ||
           wrong(r, "attribute 'membership_values' has %zu elements, the sets of the nodes %zu", all.count, at);
}

/* Where a node leads to: a leaf or a node by its number. */
static bool read_ways(struct tree_reader *r, const char *numbers, const char *kinds, int way)
{
    struct forest *const f = r->f;
    const int64_t *to, *is_leaf;
    size_t count = f->node_count;
    if (!read_ints(r, numbers, &to, &count) || !read_ints(r, kinds, &is_leaf, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        const size_t end = is_leaf[i] ? f->leaf_count : f->node_count;
        if (to[i] < 0 || (uint64_t)to[i] >= end)
            return wrong(r, "element %zu of attribute '%s' is %lld, expected 0 to %lld: the %s", i, numbers,
                         (long long)to[i], (long long)end - 1, is_leaf[i] ? "leaves" : "nodes");
        f->nodes[i].next[way] = is_leaf[i] ? -1 - to[i] : to[i];
    }
    return true;
}

static bool read_nodes(struct tree_reader *r)
{
    struct forest *const f = r->f;
    const struct attr *const modes = node_attr(r->node, "nodes_modes");
    const int64_t *features, *missing;
    size_t given = 0;
    struct numbers splits;
    if (!read_ints(r, "nodes_featureids", &features, &f->node_count))
        return false;
    if (f->node_count == 0)
        return wrong(r, "attribute 'nodes_featureids' is empty: it has no trees");
    if (!check_range(r, "nodes_featureids", features, f->node_count, f->features, "the features") ||
        !read_floats(r, "nodes_splits", f->node_count, &splits) ||
        !read_ints(r, "nodes_missing_value_tracks_true", &missing, &given) ||
        (given > 0 && !read_ints(r, "nodes_missing_value_tracks_true", &missing, &f->node_count)))
        return false;
    if (modes->t->dtype != DTYPE_UINT8 || (uint64_t)modes->t->count != f->node_count)
        return wrong(r, "attribute 'nodes_modes' has %lld elements of %s, expected %zu of uint8",
                     (long long)modes->t->count, dtype_name(modes->t->dtype), f->node_count);
    f->nodes = arena_array(r->arena, struct tree_node, f->node_count);
    for (size_t i = 0; i < f->node_count; i++) {
        const int64_t mode = tensor_get_int(modes->t, (int64_t)i);
        if (mode >= TREE_MODES)
            return wrong(r, "element %zu of attribute 'nodes_modes' is %lld, expected 0 to %d", i, (long long)mode,
                         TREE_MODES - 1);
        f->nodes[i] = (struct tree_node){.mode = (enum tree_mode)mode,
                                         .nan_is_true = missing && missing[i] != 0,
                                         .feature = features[i],
                                         .split = splits.x[i]};
    }
    return read_ways(r, "nodes_truenodeids", "nodes_trueleafs", 0) &&
           read_ways(r, "nodes_falsenodeids", "nodes_falseleafs", 1) && read_members(r);
}

static bool read_tensors(struct tree_reader *r)
{
    struct forest *const f = r->f;
    const int64_t *targets, *roots;
    struct numbers weights;
    if (!read_ints(r, "leaf_targetids", &targets, &f->leaf_count))
        return false;
    if (f->leaf_count == 0)
        return wrong(r, "attribute 'leaf_targetids' is empty: it has no leaves");
    if (!read_floats(r, "leaf_weights", f->leaf_count, &weights) ||
        !check_targets(r, "leaf_targetids", targets, f->leaf_count) || !check_weights(r, "leaf_weights", &weights) ||
        !read_nodes(r) || !read_ints(r, "tree_roots", &roots, &f->root_count))
        return false;
    if (f->root_count == 0)
        return wrong(r, "attribute 'tree_roots' is empty: it has no trees");
    if (!check_range(r, "tree_roots", roots, f->root_count, (int64_t)f->node_count, "the nodes"))
        return false;
    f->roots = arena_copy(r->arena, roots, f->root_count * sizeof *roots, alignof(int64_t));
    int64_t *const leaf_of = arena_array(r->arena, int64_t, f->leaf_count);
    for (size_t l = 0; l < f->leaf_count; l++)
        leaf_of[l] = (int64_t)l;
    group_weights(r, leaf_of, targets, weights.x, f->leaf_count);
    return true;
}

/* ---- the order of nodes ------------------------------------------------------------------------------------------ */

enum { UNSEEN, OPEN, DONE };

/* Nodes that can be reached, each behind all that it leads to; SIZE_MAX where one leads back to itself. Walks without
 * calls: a tree may be as deep as it has nodes. */
static size_t order_nodes(const struct forest *f, struct arena *a, size_t *order)
{
    unsigned char *const seen = arena_array(a, unsigned char, f->node_count);
    unsigned char *const ways = arena_array(a, unsigned char, f->node_count);
    int64_t *const path = arena_array(a, int64_t, f->node_count + 1);
    size_t count = 0;
    for (size_t t = 0; t < f->root_count; t++) {
        size_t depth = 0;
        if (f->roots[t] >= 0 && seen[f->roots[t]] == UNSEEN)
            path[depth++] = f->roots[t];
        while (depth > 0) {
            const int64_t at = path[depth - 1];
            seen[at] = OPEN;
            if (ways[at] == 2) {
                seen[at] = DONE;
                order[count++] = (size_t)at;
                depth--;
                continue;
            }
            const int64_t to = f->nodes[at].next[ways[at]++];
            if (to >= 0 && seen[to] == OPEN)
                return SIZE_MAX;
            if (to >= 0 && seen[to] == UNSEEN)
                path[depth++] = to;
        }
    }
    return count;
}

static bool check_order(const struct tree_reader *r)
{
    struct arena scratch = {0};
    size_t *const order = arena_array(&scratch, size_t, r->f->node_count);
    const bool is_tree = order_nodes(r->f, &scratch, order) != SIZE_MAX;
    arena_free(&scratch);
    return is_tree || wrong(r, "its trees have a cycle: a node leads back to itself");
}

bool forest_read(struct forest *f, struct arena *a, struct diag *d, const struct node *n, const char *prefix,
                 int64_t targets)
{
    static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    const struct value *const x = n->inputs.data[0];
    struct tree_reader r = {.f = f, .arena = a, .diag = d, .node = n, .prefix = prefix};
    const struct attr *const aggregate = node_attr(n, "aggregate_function");
    int64_t number = aggregate && aggregate->type == ATTR_INT ? aggregate->i : TREE_SUM;
    for (int i = 0; aggregate && aggregate->type == ATTR_STRING && i <= TREE_AGGREGATES; i++)
        if (i == TREE_AGGREGATES || str_equal(aggregate->s, names[i])) {
            number = i;
            break;
        }
    if (number < 0 || number >= TREE_AGGREGATES)
        return wrong(&r, "attribute 'aggregate_function' is none of AVERAGE (0), SUM (1), MIN (2) and MAX (3)");
    *f = (struct forest){.type = x->dtype == DTYPE_DOUBLE ? DTYPE_DOUBLE : DTYPE_FLOAT,
                         .features = x->shape.dim[x->shape.rank - 1],
                         .targets = targets,
                         .aggregate = (enum tree_aggregate)number};
    return (prefix ? read_listed(&r) : read_tensors(&r)) && check_order(&r);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool is_member(const struct tree_node *n, double x)
{
    for (size_t i = 0; i < n->member_count; i++)
        if (x == n->members[i])
            return true;
    return false;
}

static bool holds(const struct tree_node *n, double x)
{
    if (n->nan_is_true && isnan(x))
        return true;
    switch (n->mode) {
    case TREE_LEQ:
        return x <= n->split;
    case TREE_LT:
        return x < n->split;
    case TREE_GTE:
        return x >= n->split;
    case TREE_GT:
        return x > n->split;
    case TREE_EQ:
        return x == n->split;
    case TREE_NEQ:
        return x != n->split;
    case TREE_MEMBER:
        return is_member(n, x);
    case TREE_MODES:
        break;
    }
    UNREACHABLE("mode %d of a tree's node", (int)n->mode);
}

int64_t forest_leaf(const struct forest *f, int64_t place, const double *row)
{
    while (place >= 0) {
        const struct tree_node *const n = &f->nodes[place];
        place = n->next[holds(n, row[n->feature]) ? 0 : 1];
    }
    return -1 - place;
}

static double aggregated(enum tree_aggregate how, bool is_first, double all, double x)
{
    if (how == TREE_SUM || how == TREE_AVERAGE)
        return all + x;
    return is_first || (how == TREE_MIN ? x < all : x > all) ? x : all;
}

void forest_scores(const struct forest *f, const double *row, double *scores)
{
    struct arena scratch = {0};
    bool *const has = arena_array(&scratch, bool, (size_t)f->targets);
    memset(scores, 0, (size_t)f->targets * sizeof *scores);
    for (size_t t = 0; t < f->root_count; t++) {
        const int64_t leaf = forest_leaf(f, f->roots[t], row);
        for (size_t i = f->first[leaf]; i < f->first[leaf + 1]; i++) {
            const struct tree_weight *const w = &f->weights[i];
            scores[w->target] = aggregated(f->aggregate, !has[w->target], scores[w->target], w->weight);
            has[w->target] = true;
        }
    }
    for (int64_t e = 0; e < f->targets; e++) {
        scores[e] = f->aggregate == TREE_AVERAGE ? scores[e] / (double)f->root_count : scores[e];
        scores[e] += f->base ? f->base[f->base_count > 1 ? e : 0] : 0;
    }
    arena_free(&scratch);
}

/* ---- as a table -------------------------------------------------------------------------------------------------- */

enum { WAY_UP_TO, WAY_ABOVE, WAY_NAN, WAYS };
#define MOST_IN_TABLE ((int64_t)1 << 28)

struct table_maker {
    const struct forest *f;
    struct tree_table *t;
    int64_t *place; /* of the forest's nodes, in the table */
    size_t left;    /* the table is filled from its end: so many in front */
};

static int64_t place_in_table(const struct table_maker *m, int64_t place)
{
    return place < 0 ? place : m->place[place];
}

/* The greatest number in front of x. */
static double number_before(const struct forest *f, double x)
{
    return f->type == DTYPE_DOUBLE ? nextafter(x, -INFINITY) : (double)nextafterf((float)x, -INFINITY);
}

static int64_t add_node(struct table_maker *m, int64_t feature, double split, int64_t up_to, int64_t above,
                        int64_t of_nan)
{
    const int64_t at = (int64_t)--m->left;
    m->t->features[at] = feature;
    m->t->splits[at] = split;
    m->t->next[at * WAYS + WAY_UP_TO] = up_to;
    m->t->next[at * WAYS + WAY_ABOVE] = above;
    m->t->next[at * WAYS + WAY_NAN] = of_nan;
    return at;
}

/* x < split, or split <= x. Nothing is below -infinity; nothing compares with NaN. */
static int64_t add_below(struct table_maker *m, int64_t feature, double split, int64_t below, int64_t rest,
                         int64_t of_nan)
{
    if (split == -INFINITY)
        return add_node(m, feature, INFINITY, rest, rest, of_nan);
    return add_node(m, feature, number_before(m->f, split), below, rest, of_nan);
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Is x one of the members? Each is asked for twice, the least first: up to it, and if so, below it? */
static int64_t add_members(struct table_maker *m, struct arena *a, const struct tree_node *n, const double *members,
                           size_t count, int64_t yes, int64_t no, int64_t of_nan)
{
    double *const sorted = arena_array(a, double, count + 1);
    if (count > 0)
        memcpy(sorted, members, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    int64_t rest = no;
    for (size_t i = count; i-- > 0;) {
        const int64_t is_it = add_below(m, n->feature, sorted[i], no, yes, of_nan);
        rest = add_node(m, n->feature, sorted[i], is_it, rest, of_nan);
    }
    return count > 0 ? rest : add_node(m, n->feature, INFINITY, no, no, of_nan);
}

static int64_t add_condition(struct table_maker *m, struct arena *a, const struct tree_node *n)
{
    const int64_t yes = place_in_table(m, n->next[0]), no = place_in_table(m, n->next[1]);
    const int64_t of_nan = n->nan_is_true || n->mode == TREE_NEQ ? yes : no;
    if (n->mode == TREE_MEMBER)
        return add_members(m, a, n, n->members, n->member_count, yes, no, of_nan);
    if (isnan(n->split)) {
        const int64_t always = n->mode == TREE_NEQ ? yes : no;
        return add_node(m, n->feature, INFINITY, always, always, of_nan);
    }
    switch (n->mode) {
    case TREE_LEQ:
        return add_node(m, n->feature, n->split, yes, no, of_nan);
    case TREE_LT:
        return add_below(m, n->feature, n->split, yes, no, of_nan);
    case TREE_GTE:
        return add_below(m, n->feature, n->split, no, yes, of_nan);
    case TREE_GT:
        return add_node(m, n->feature, n->split, no, yes, of_nan);
    case TREE_EQ:
        return add_members(m, a, n, &n->split, 1, yes, no, of_nan);
    case TREE_NEQ:
        return add_members(m, a, n, &n->split, 1, no, yes, of_nan);
    case TREE_MEMBER:
    case TREE_MODES:
        break;
    }
    UNREACHABLE("mode %d of a tree's node", (int)n->mode);
}

static size_t nodes_for(const struct tree_node *n)
{
    const bool is_equality = n->mode == TREE_EQ || n->mode == TREE_NEQ;
    return n->mode == TREE_MEMBER ? 2 * n->member_count + 1 : is_equality ? 2 : 1;
}

/* What the end of the table holds moves to its start; NaN mostly goes where what is above goes. */
static void close_table(struct tree_table *t, size_t left)
{
    bool is_plain = true;
    for (size_t i = left; i < left + t->count; i++)
        is_plain = is_plain && t->next[i * WAYS + WAY_NAN] == t->next[i * WAYS + WAY_ABOVE];
    t->ways = is_plain ? WAY_NAN : WAYS;
    for (size_t i = 0; i < t->count; i++) {
        t->features[i] = t->features[left + i];
        t->splits[i] = t->splits[left + i];
        for (size_t way = 0; way < t->ways; way++) {
            const int64_t to = t->next[(left + i) * WAYS + way];
            t->next[i * t->ways + way] = to < 0 ? to : to - (int64_t)left;
        }
    }
}

bool forest_table(const struct forest *f, struct arena *a, struct tree_table *out)
{
    size_t *const order = arena_array(a, size_t, f->node_count), count = order_nodes(f, a, order), most = 0;
    for (size_t i = 0; i < count; i++)
        most += nodes_for(&f->nodes[order[i]]);
    if (most > MOST_IN_TABLE / WAYS || f->leaf_count >= MOST_IN_TABLE)
        return false;
    *out = (struct tree_table){.features = arena_array(a, int64_t, most),
                               .next = arena_array(a, int64_t, most * WAYS),
                               .splits = arena_array(a, double, most),
                               .roots = arena_array(a, int64_t, f->root_count)};
    struct table_maker m = {.f = f, .t = out, .place = arena_array(a, int64_t, f->node_count), .left = most};
    for (size_t i = 0; i < count; i++)
        m.place[order[i]] = add_condition(&m, a, &f->nodes[order[i]]);
    out->count = most - m.left;
    for (size_t t = 0; t < f->root_count; t++) {
        const int64_t root = place_in_table(&m, f->roots[t]);
        out->roots[t] = root < 0 ? root : root - (int64_t)m.left;
    }
    close_table(out, m.left);
    return true;
}

/* ---- weights as a table ------------------------------------------------------------------------------------------ */

/* The target that each tree has weights of, -1: none; false if a tree has weights of several. */
static bool find_columns(const struct forest *f, struct arena *a, int64_t *target_of)
{
    int64_t *const of_leaf = arena_array(a, int64_t, f->leaf_count);
    int64_t *const path = arena_array(a, int64_t, 2 * f->node_count + 2);
    size_t visits = 2 * (f->node_count + f->root_count);        /* trees that share more are not taken apart */
    size_t *const seen = arena_array(a, size_t, f->node_count); /* number of the last tree, from 1 on */
    for (size_t l = 0; l < f->leaf_count; l++) {
        of_leaf[l] = -1;
        for (size_t i = f->first[l]; i < f->first[l + 1]; i++) {
            if (of_leaf[l] >= 0 && of_leaf[l] != f->weights[i].target)
                return false;
            of_leaf[l] = f->weights[i].target;
        }
    }
    for (size_t t = 0; t < f->root_count; t++) {
        size_t depth = 0;
        target_of[t] = -1;
        path[depth++] = f->roots[t];
        while (depth > 0) {
            const int64_t at = path[--depth];
            if (at < 0 && of_leaf[-1 - at] >= 0) {
                if (target_of[t] >= 0 && target_of[t] != of_leaf[-1 - at])
                    return false;
                target_of[t] = of_leaf[-1 - at];
            }
            if (at < 0 || seen[at] == t + 1)
                continue;
            if (visits-- == 0)
                return false;
            seen[at] = t + 1;
            path[depth++] = f->nodes[at].next[0];
            path[depth++] = f->nodes[at].next[1];
        }
    }
    return true;
}

static double nothing_of(const struct forest *f)
{
    return f->aggregate == TREE_MIN ? INFINITY : f->aggregate == TREE_MAX ? -INFINITY : 0;
}

static bool put_side_by_side(const struct forest *f, struct arena *a, struct tree_weights *out)
{
    int64_t *const target_of = arena_array(a, int64_t, f->root_count);
    int64_t *const used = arena_array(a, int64_t, (size_t)f->targets);
    if (f->targets > MOST_IN_TABLE || !find_columns(f, a, target_of))
        return false;
    for (size_t t = 0; t < f->root_count; t++)
        if (target_of[t] >= 0 && ++used[target_of[t]] > out->slots)
            out->slots = used[target_of[t]];
    out->slots = out->slots > 0 ? out->slots : 1;
    if (out->slots > MOST_IN_TABLE / f->targets)
        return false;
    out->tree_of = arena_array(a, int64_t, (size_t)(f->targets * out->slots));
    for (int64_t i = 0; i < f->targets * out->slots; i++)
        out->tree_of[i] = -1;
    memset(used, 0, (size_t)f->targets * sizeof *used);
    for (size_t t = 0; t < f->root_count; t++)
        if (target_of[t] >= 0)
            out->tree_of[target_of[t] * out->slots + used[target_of[t]]++] = (int64_t)t;
    out->by_columns = true;
    return true;
}

bool forest_weights(const struct forest *f, struct arena *a, struct tree_weights *out)
{
    *out = (struct tree_weights){.may_be_absent = f->aggregate == TREE_MIN || f->aggregate == TREE_MAX};
    const int64_t leaves = (int64_t)f->leaf_count;
    if (!put_side_by_side(f, a, out)) {
        out->slots = (int64_t)f->root_count;
        if (leaves > MOST_IN_TABLE / f->targets)
            return false;
    }
    const int64_t columns = out->by_columns ? 1 : f->targets;
    out->count = out->by_columns ? leaves + 1 : leaves * columns;
    out->weights = arena_array(a, double, (size_t)out->count);
    bool *const has = arena_array(a, bool, (size_t)out->count);
    for (int64_t i = 0; i < out->count; i++)
        out->weights[i] = nothing_of(f);
    for (int64_t l = 0; l < leaves; l++)
        for (size_t i = f->first[l]; i < f->first[l + 1]; i++) {
            const int64_t at = l * columns + (out->by_columns ? 0 : f->weights[i].target);
            out->weights[at] = aggregated(f->aggregate, !has[at], out->weights[at], f->weights[i].weight);
            has[at] = true;
        }
    return true;
}
