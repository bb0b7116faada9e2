/* Which element of which input is an index into what? The operators between inputs and indices only move elements and
 * add offsets, where anything can be said at all. So they are tried out: once with all inputs 0, which shows the
 * offsets, then with elements that carry their own number, digit by digit, so that small integer types hold it.
 *
 *   rows = Gather(table, Add(Cast(Slice(x)), 3))      x = 0      index 3
 *                                                     x = 1..64  index 3 + (number of x's element)
 *   table has 10 rows: 0 <= x < 7 */
#include "engine/random_inputs.h"

#include "eval/eval.h"
#include "graph/op_def.h"
#include <string.h>

enum { BASE = 64, MOST_DIGITS = 6, MOST_ELEMENTS = 1 << 24 /* in all of what is tried out */ };

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static double unit_random(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* ---- what is tried out ------------------------------------------------------------------------------------------- */

/* An element is an integer in [low, high). */
struct integer_range {
    bool known;
    int64_t low, high;
};

struct input_trial {
    struct arena *arena;
    const struct graph *graph;
    bool *plain;        /* by value id: computed from inputs and constants alone */
    bool *wanted;       /* an index, or on the way to one */
    int64_t *first;     /* by position of the input, if it is wanted: number of its first element */
    int64_t elements;   /* of all inputs that are wanted */
    struct integer_range *range; /* by number of the element */
};

static int64_t index_extent(const struct node *n, size_t input)
{
    return n->def->selects_from && n->inputs.data[input] ? n->def->selects_from(n, (int)input) : 0;
}

static bool is_plain(const struct input_trial *t, const struct value *v)
{
    return !v || v->kind == VALUE_INPUT || v->kind == VALUE_CONSTANT || t->plain[v->id];
}

static void find_plain(struct input_trial *t)
{
    graph_each_node(t->graph, n)
    {
        bool plain = n->stream == 0 && n->def->eval != NULL;
        for (size_t i = 0; i < n->inputs.count; i++)
            plain = plain && is_plain(t, n->inputs.data[i]);
        for (size_t o = 0; o < n->outputs.count; o++)
            if (n->outputs.data[o])
                t->plain[n->outputs.data[o]->id] = plain;
    }
}

/* Backwards: what an index is made of. Returns how many elements that is. */
static int64_t find_wanted(struct input_trial *t)
{
    int64_t elements = 0;
    for (const struct node *n = t->graph->last; n; n = n->prev) {
        bool needed = false;
        for (size_t o = 0; o < n->outputs.count; o++)
            needed |= n->outputs.data[o] && t->wanted[n->outputs.data[o]->id];
        for (size_t i = 0; i < n->inputs.count; i++) {
            const struct value *const v = n->inputs.data[i];
            if (!v || !is_plain(t, v) || !(needed || index_extent(n, i) > 0))
                continue;
            if (!t->wanted[v->id])
                elements += shape_count(&v->shape);
            t->wanted[v->id] = true;
        }
    }
    return elements;
}

/* ---- one trial --------------------------------------------------------------------------------------------------- */

/* Digit `digit` of the element's number, from 1 to BASE; -1: 0 for every element. */
static int64_t carried(int64_t number, int digit)
{
    if (digit < 0)
        return 0;
    for (int d = 0; d < digit; d++)
        number /= BASE;
    return 1 + number % BASE;
}

static const struct eval_tensor *source(struct input_trial *t, struct arena *a, const struct value *v, int digit)
{
    if (v->kind == VALUE_CONSTANT || v->specialised)
        return eval_from_tensor(a, v->constant);
    size_t i = 0;
    while (t->graph->inputs.data[i] != v)
        i++;
    struct eval_tensor *const x = eval_tensor_new(a, v->dtype, &v->shape);
    for (int64_t k = 0; k < x->count; k++)
        if (x->f)
            x->f[k] = (double)carried(t->first[i] + k, digit);
        else
            x->i[k] = carried(t->first[i] + k, digit);
    return x;
}

/* values: by id; NULL where it is not wanted or does not work with such inputs. */
static void try_out(struct input_trial *t, struct arena *a, int digit, const struct eval_tensor **values)
{
    struct diag silent = {.arena = a};
    graph_each_node(t->graph, n)
    {
        bool wanted = false, there = true;
        for (size_t o = 0; o < n->outputs.count; o++)
            wanted |= n->outputs.data[o] && t->wanted[n->outputs.data[o]->id];
        for (size_t i = 0; i < n->inputs.count; i++) {
            const struct value *const v = n->inputs.data[i];
            if (v && t->wanted[v->id] && !values[v->id] && (v->kind == VALUE_CONSTANT || v->kind == VALUE_INPUT))
                values[v->id] = source(t, a, v, digit);
            there = there && (!v || values[v->id]);
        }
        if (wanted && there)
            (void)!eval_node_at(n, values, ARITHMETIC_DOUBLE, (struct eval_random){0, 0}, a, &silent);
    }
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static void narrow(struct integer_range *r, int64_t low, int64_t high)
{
    r->low = !r->known || low > r->low ? low : r->low;
    r->high = !r->known || high < r->high ? high : r->high;
    r->known = true;
}

/* What one index says about the element that it is made of: index = offset + x, or offset - x. */
static void learn(struct input_trial *t, int64_t offset, const int64_t *index, int digits, int64_t extent)
{
    int64_t number = 0, unit = 1;
    const bool minus = index[0] < offset;
    for (int d = 0; d < digits; d++, unit *= BASE) {
        const int64_t digit = minus ? offset - index[d] : index[d] - offset;
        if (digit < 1 || digit > BASE)
            return; /* a constant, or made in another way */
        number += (digit - 1) * unit;
    }
    if (number >= t->elements)
        return;
    if (minus)
        narrow(&t->range[number], offset - extent + 1, offset + 1);
    else
        narrow(&t->range[number], -offset, extent - offset);
}

static void learn_all(struct input_trial *t, const struct value *v, int64_t extent,
                      const struct eval_tensor *const *const *values, int digits)
{
    for (int d = 0; d <= digits; d++)
        if (!values[d][v->id] || !values[d][v->id]->i)
            return;
    const struct eval_tensor *const offsets = values[0][v->id];
    for (int64_t k = 0; k < offsets->count; k++) {
        int64_t index[MOST_DIGITS];
        for (int d = 0; d < digits; d++)
            index[d] = values[d + 1][v->id]->i[k];
        learn(t, offsets->i[k], index, digits, extent);
    }
}

static void find_ranges(struct input_trial *t)
{
    struct arena a = {0};
    const struct eval_tensor **values[MOST_DIGITS + 1];
    int digits = 1;
    find_plain(t);
    const int64_t work = find_wanted(t);
    if (work == 0 || work > MOST_ELEMENTS)
        return;
    for (size_t i = 0; i < t->graph->inputs.count; i++) {
        t->first[i] = t->elements;
        t->elements += t->wanted[t->graph->inputs.data[i]->id] ? shape_count(&t->graph->inputs.data[i]->shape) : 0;
    }
    t->range = arena_array(t->arena, struct integer_range, (size_t)t->elements);
    for (int64_t most = BASE; most < t->elements && digits < MOST_DIGITS; most *= BASE)
        digits++;
    for (int d = 0; d <= digits; d++) {
        values[d] = arena_array(&a, const struct eval_tensor *, (size_t)t->graph->value_count);
        try_out(t, &a, d - 1, values[d]);
    }
    graph_each_node(t->graph, n)
        for (size_t i = 0; i < n->inputs.count; i++)
            if (n->inputs.data[i] && index_extent(n, i) > 0)
                learn_all(t, n->inputs.data[i], index_extent(n, i), (const struct eval_tensor *const *const *)values,
                          digits);
    arena_free(&a);
}

/* The least of what an input indexes by way of anything: where nothing better is known of its elements. */
static int64_t least_extent(const struct value *v, int depth)
{
    int64_t least = 0;
    for (size_t i = 0; i < v->uses.count && depth < 8; i++) {
        const struct node *const n = v->uses.data[i].node;
        int64_t extent = index_extent(n, v->uses.data[i].input);
        for (size_t o = 0; o < n->outputs.count && extent == 0; o++)
            extent = n->outputs.data[o] ? least_extent(n->outputs.data[o], depth + 1) : 0;
        if (extent > 1 && n->def->is_arithmetic) /* i * columns + j for table[i, j]: certain to be in range are zeros */
            extent = 1;
        least = extent > 0 && (least == 0 || extent < least) ? extent : least;
    }
    return least;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static struct tensor *draw(struct arena *a, const struct value *v, const struct integer_range *range, uint64_t seed)
{
    struct tensor *const t = tensor_new(a, v->dtype, &v->shape);
    const bool is_float = dtype_is_float(v->dtype);
    const int64_t least = is_float ? 0 : least_extent(v, 0);
    uint64_t state = seed;
    for (const char *p = v->name; *p; p++)
        state = state * 31u + (unsigned char)*p;
    for (int64_t i = 0; i < t->count; i++) {
        const struct integer_range *const r = range ? &range[i] : NULL;
        if (r && r->known && r->low < r->high) {
            const int64_t x = r->low + (int64_t)(random_next(&state) % ((uint64_t)r->high - (uint64_t)r->low));
            if (is_float)
                tensor_set_double(t, i, (double)x);
            else
                tensor_set_int(t, i, x);
        } else if (is_float) {
            tensor_set_double(t, i, unit_random(&state) + unit_random(&state) + unit_random(&state) - 1.5);
        } else {
            tensor_set_int(t, i, (int64_t)(random_next(&state) % (uint64_t)(least > 0 ? least : 2)));
        }
    }
    return t;
}

const struct tensor **random_inputs(struct arena *a, const struct graph *g, uint64_t seed)
{
    struct input_trial t = {.arena = a, .graph = g};
    const struct tensor **const inputs = arena_array(a, const struct tensor *, g->inputs.count + 1);
    t.plain = arena_array(a, bool, (size_t)g->value_count);
    t.wanted = arena_array(a, bool, (size_t)g->value_count);
    t.first = arena_array(a, int64_t, g->inputs.count + 1);
    find_ranges(&t);
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct value *const v = g->inputs.data[i];
        inputs[i] =
            v->specialised ? v->constant : draw(a, v, t.range && t.wanted[v->id] ? t.range + t.first[i] : NULL, seed);
    }
    return inputs;
}
