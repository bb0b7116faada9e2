/* Four steps, each simple:
 *
 *   layers     the longest path from a source, or the next layer with room; what is `late`, and sources, move down to
 *              just above their first reader
 *   order      an arrow over several layers gets a point in each; barycentres, down and up, keep the order with
 *              the fewest crossings
 *   x          each layer in turn moves to the means of its neighbours as far as its order and the distances allow: the
 *              least squares solution, by pooling adjacent violators, is exact and linear
 *   y          layers are as high as their highest box */
#include "report/layers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GAP_X = 18, GAP_Y = 34, POINT_WIDTH = 8, ORDER_SWEEPS = 12, PLACE_SWEEPS = 24 };

/* A box, or a point of an arrow. */
struct layer_place {
    int node; /* -1: a point */
    int layer, position; /* position in its layer */
    double width, x;     /* x of its middle */
    double wish;
    VEC(int) up, down;   /* places that it is joined to in the layers above and below */
};

struct layer {
    VEC(int) places;
};

struct work {
    struct arena scratch;
    struct layout *l;
    VEC(struct layer_place) places;
    struct layer *layers;
    int layer_count;
};

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* Edge numbers sorted by the node at one of their ends. */
static size_t *edges_by_node(struct arena *a, const struct layout *l, bool by_target)
{
    size_t *first = arena_array(a, size_t, l->node_count + 2), *order = arena_array(a, size_t, l->edge_count + 1);
    for (size_t i = 0; i < l->edge_count; i++)
        first[(by_target ? l->edges[i].to : l->edges[i].from) + 1]++;
    for (size_t i = 0; i < l->node_count; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < l->edge_count; i++)
        order[first[by_target ? l->edges[i].to : l->edges[i].from]++] = i;
    return order;
}

static void move_down(struct layout *l, struct arena *scratch)
{
    const size_t *by_source = edges_by_node(scratch, l, false);
    bool *has_source = arena_array(scratch, bool, l->node_count + 1);
    for (size_t i = 0; i < l->edge_count; i++)
        has_source[l->edges[i].to] = true;
    for (size_t node = l->node_count, i = l->edge_count; node-- > 0;) { /* readers first */
        int lowest = -1;
        for (; i > 0 && (size_t)l->edges[by_source[i - 1]].from == node; i--) {
            const int reader = l->nodes[l->edges[by_source[i - 1]].to].layer;
            lowest = lowest < 0 || reader < lowest ? reader : lowest;
        }
        if (lowest > 0 && (l->nodes[node].late || !has_source[node]))
            l->nodes[node].layer = lowest - 1;
    }
}

void layers_assign(struct layout *l)
{
    struct arena scratch = {0};
    const size_t *by_target = edges_by_node(&scratch, l, true); /* what leads to a node comes before what leaves it */
    int *filled = arena_array(&scratch, int, l->node_count + 2);
    for (size_t node = 0, i = 0; node < l->node_count; node++) {
        struct layout_node *n = &l->nodes[node];
        n->layer = 0;
        for (; i < l->edge_count && (size_t)l->edges[by_target[i]].to == node; i++) {
            const int above = l->nodes[l->edges[by_target[i]].from].layer;
            n->layer = n->layer <= above ? above + 1 : n->layer;
        }
        if (n->late || l->widest == 0)
            continue;
        while (filled[n->layer] >= l->widest)
            n->layer++;
        filled[n->layer]++;
    }
    move_down(l, &scratch);
    for (size_t i = 0; i < l->edge_count; i++)
        l->edges[i].cut = l->edges[i].hidden ||
                          (l->longest > 0 &&
                           l->nodes[l->edges[i].to].layer - l->nodes[l->edges[i].from].layer > l->longest);
    arena_free(&scratch);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static int add_place(struct work *w, int node, int layer, double width)
{
    vec_push(&w->scratch, &w->places, ((struct layer_place){.node = node, .layer = layer, .width = width}));
    vec_push(&w->scratch, &w->layers[layer].places, (int)w->places.count - 1);
    return (int)w->places.count - 1;
}

static void join(struct work *w, int above, int below)
{
    vec_push(&w->scratch, &w->places.data[above].down, below);
    vec_push(&w->scratch, &w->places.data[below].up, above);
}

static void make_places(struct work *w)
{
    struct layout *l = w->l;
    for (size_t i = 0; i < l->node_count; i++)
        w->layer_count = l->nodes[i].layer >= w->layer_count ? l->nodes[i].layer + 1 : w->layer_count;
    w->layers = arena_array(&w->scratch, struct layer, (size_t)w->layer_count + 1);
    for (size_t i = 0; i < l->node_count; i++)
        add_place(w, (int)i, l->nodes[i].layer, l->nodes[i].width);
    for (size_t i = 0; i < l->edge_count; i++) {
        const struct layout_edge *e = &l->edges[i];
        int above = e->from;
        if (e->cut)
            continue;
        for (int k = l->nodes[e->from].layer + 1; k < l->nodes[e->to].layer; k++) {
            const int point = add_place(w, -1, k, POINT_WIDTH);
            join(w, above, point);
            above = point;
        }
        join(w, above, e->to);
    }
}

static void number(struct work *w, int layer)
{
    const struct layer *y = &w->layers[layer];
    for (size_t i = 0; i < y->places.count; i++)
        w->places.data[y->places.data[i]].position = (int)i;
}

/* Sorts a layer by the wishes of its places, stably. */
static void sort_layer(struct work *w, int layer)
{
    struct layer *y = &w->layers[layer];
    int *from = y->places.data, *to = arena_array(&w->scratch, int, y->places.count + 1);
    for (size_t run = 1; run < y->places.count; run *= 2) { /* merge sort, bottom up */
        for (size_t i = 0; i < y->places.count; i += 2 * run) {
            size_t a = i, b = i + run < y->places.count ? i + run : y->places.count;
            const size_t middle = b, end = i + 2 * run < y->places.count ? i + 2 * run : y->places.count;
            for (size_t k = i; k < end; k++)
                to[k] = a < middle && (b >= end || w->places.data[from[a]].wish <= w->places.data[from[b]].wish)
                            ? from[a++]
                            : from[b++];
        }
        int *const t = from;
        from = to;
        to = t;
    }
    if (from != y->places.data)
        memcpy(y->places.data, from, y->places.count * sizeof *from);
    number(w, layer);
}

static void sort_by_neighbours(struct work *w, int layer, bool by_upper)
{
    const struct layer *y = &w->layers[layer];
    for (size_t i = 0; i < y->places.count; i++) {
        struct layer_place *p = &w->places.data[y->places.data[i]];
        const size_t count = by_upper ? p->up.count : p->down.count;
        const int *neighbours = by_upper ? p->up.data : p->down.data;
        double sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += w->places.data[neighbours[k]].position;
        p->wish = count ? sum / (double)count : p->position;
    }
    sort_layer(w, layer);
}

/* Pairs of arrows between this layer and the next that cross: inversions, counted with a Fenwick tree. */
static int64_t crossings_below(struct work *w, int layer)
{
    const struct layer *y = &w->layers[layer];
    const size_t size = w->layers[layer + 1].places.count;
    struct arena scratch = {0};
    int64_t *tree = arena_array(&scratch, int64_t, size + 2), *ends = NULL, crossings = 0, added = 0;
    for (size_t i = 0; i < y->places.count; i++) {
        const struct layer_place *p = &w->places.data[y->places.data[i]];
        ends = arena_array(&scratch, int64_t, p->down.count + 1);
        for (size_t k = 0; k < p->down.count; k++) {
            ends[k] = w->places.data[p->down.data[k]].position + 1;
            int64_t before = 0;
            for (int64_t t = ends[k]; t > 0; t -= t & -t)
                before += tree[t];
            crossings += added - before;
        }
        for (size_t k = 0; k < p->down.count; k++, added++)
            for (int64_t t = ends[k]; t <= (int64_t)size; t += t & -t)
                tree[t]++;
    }
    arena_free(&scratch);
    return crossings;
}

static int64_t count_crossings(struct work *w)
{
    int64_t n = 0;
    for (int k = 0; k + 1 < w->layer_count; k++)
        n += crossings_below(w, k);
    return n;
}

static void find_order(struct work *w)
{
    int *best = arena_array(&w->scratch, int, w->places.count + 1);
    int64_t fewest = -1;
    for (int k = 0; k < w->layer_count; k++)
        number(w, k);
    for (int sweep = 0; sweep <= ORDER_SWEEPS; sweep++) {
        const int64_t crossings = count_crossings(w);
        if (fewest < 0 || crossings < fewest) {
            fewest = crossings;
            for (size_t i = 0; i < w->places.count; i++)
                best[i] = w->places.data[i].position;
        }
        for (int k = 0; k < w->layer_count; k++)
            sort_by_neighbours(w, sweep % 2 ? w->layer_count - 1 - k : k, sweep % 2 == 0);
    }
    for (size_t i = 0; i < w->places.count; i++)
        w->places.data[i].wish = best[i];
    for (int k = 0; k < w->layer_count; k++)
        sort_layer(w, k);
}

/* ---- x ----------------------------------------------------------------------------------------------------------- */

/* Least squares of x - wish with x[i+1] - x[i] at least the distance of the boxes: with distances taken off, the
 * nearest non-descending sequence. */
static void settle(struct work *w, int layer)
{
    const struct layer *y = &w->layers[layer];
    const size_t count = y->places.count;
    struct arena scratch = {0};
    struct block {
        double sum, weight;
        size_t members;
    } *blocks = arena_array(&scratch, struct block, count + 1);
    double *offset = arena_array(&scratch, double, count + 1);
    size_t n = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        const struct layer_place *p = &w->places.data[y->places.data[i]],
                           *left = i ? &w->places.data[y->places.data[i - 1]] : NULL;
        const double weight = p->node < 0 ? 4 : 1; /* long arrows rather straight */
        offset[i] = left ? offset[i - 1] + (left->width + p->width) / 2 + GAP_X : 0;
        blocks[n++] = (struct block){weight * (p->wish - offset[i]), weight, 1};
        while (n > 1 && blocks[n - 2].sum * blocks[n - 1].weight > blocks[n - 1].sum * blocks[n - 2].weight) {
            blocks[n - 2].sum += blocks[n - 1].sum;
            blocks[n - 2].weight += blocks[n - 1].weight;
            blocks[n - 2].members += blocks[n - 1].members;
            n--;
        }
    }
    for (size_t b = 0; b < n; b++)
        for (size_t m = 0; m < blocks[b].members; m++, at++)
            w->places.data[y->places.data[at]].x = blocks[b].sum / blocks[b].weight + offset[at];
    arena_free(&scratch);
}

static void wish_for_mean(struct work *w, int layer)
{
    const struct layer *y = &w->layers[layer];
    for (size_t i = 0; i < y->places.count; i++) {
        struct layer_place *p = &w->places.data[y->places.data[i]];
        double sum = 0;
        for (size_t k = 0; k < p->up.count; k++)
            sum += w->places.data[p->up.data[k]].x;
        for (size_t k = 0; k < p->down.count; k++)
            sum += w->places.data[p->down.data[k]].x;
        const size_t count = p->up.count + p->down.count;
        p->wish = count ? sum / (double)count : p->x;
    }
}

/* Layers start around a common middle, and neighbours on both sides count: sweeps that look one way only let
 * long graphs drift. */
static void find_x(struct work *w)
{
    for (size_t i = 0; i < w->places.count; i++)
        w->places.data[i].wish = 0;
    for (int k = 0; k < w->layer_count; k++)
        settle(w, k);
    for (int sweep = 0; sweep < PLACE_SWEEPS; sweep++)
        for (int k = 0; k < w->layer_count; k++) {
            const int layer = sweep % 2 ? k : w->layer_count - 1 - k;
            wish_for_mean(w, layer);
            settle(w, layer);
        }
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static double *find_y(struct work *w)
{
    struct layout *l = w->l;
    double *top = arena_array(&w->scratch, double, (size_t)w->layer_count + 2),
           *height = arena_array(&w->scratch, double, (size_t)w->layer_count + 1);
    for (size_t i = 0; i < l->node_count; i++)
        height[l->nodes[i].layer] =
            l->nodes[i].height > height[l->nodes[i].layer] ? l->nodes[i].height : height[l->nodes[i].layer];
    for (int k = 0; k < w->layer_count; k++)
        top[k + 1] = top[k] + height[k] + GAP_Y;
    l->height = w->layer_count ? top[w->layer_count] - GAP_Y : 0;
    for (size_t i = 0; i < l->node_count; i++)
        l->nodes[i].y = top[l->nodes[i].layer] + (height[l->nodes[i].layer] - l->nodes[i].height) / 2;
    return top;
}

static void store(struct work *w, const double *top)
{
    struct layout *l = w->l;
    double left = 0, right = 0;
    for (size_t i = 0; i < w->places.count; i++) {
        const struct layer_place *p = &w->places.data[i];
        left = i == 0 || p->x - p->width / 2 < left ? p->x - p->width / 2 : left;
        right = i == 0 || p->x + p->width / 2 > right ? p->x + p->width / 2 : right;
    }
    l->width = right - left;
    for (size_t i = 0; i < l->node_count; i++)
        l->nodes[i].x = w->places.data[i].x - w->places.data[i].width / 2 - left;
    size_t point = l->node_count; /* in the order in which make_places() made them */
    for (size_t i = 0; i < l->edge_count; i++) {
        struct layout_edge *const e = &l->edges[i];
        for (int k = l->nodes[e->from].layer + 1; !e->cut && k < l->nodes[e->to].layer; k++, point++) {
            const double x = w->places.data[point].x - left;
            vec_push(l->arena, &e->bends, ((struct layout_point){x, top[k]}));
            vec_push(l->arena, &e->bends, ((struct layout_point){x, top[k + 1] - GAP_Y}));
        }
    }
}

void layers_place(struct layout *l)
{
    struct work w = {.l = l};
    make_places(&w);
    find_order(&w);
    find_x(&w);
    store(&w, find_y(&w));
    arena_free(&w.scratch);
}
