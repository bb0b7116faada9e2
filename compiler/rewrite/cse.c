/* Common subexpressions: of two nodes with the same operator, attributes and inputs the earlier one serves both.
 *
 *   a = Mul(x, w); b = Mul(x, w); y = Add(a, b)       a = Mul(x, w); y = Add(a, a)
 *
 * Constants of equal content become one first. One walk in order is enough: when a node is looked at, its inputs have
 * been replaced already. The duplicates lose their readers and are left to dce. Random nodes and those with a
 * region are each their own. */
#include "rewrite/pass.h"

#include "graph/op_def.h"
#include "graph/region.h"
#include <string.h>

enum { LARGEST_CONSTANT = 65536 }; /* bytes; larger ones are not compared */

/* ---- hashing ----------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t mix_bytes(uint64_t h, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = mix(h, word);
    }
    uint64_t rest = size;
    for (size_t i = 0; i < size; i++)
        rest = rest << 8 | p[i];
    return mix(h, rest);
}

static uint64_t mix_text(uint64_t h, const char *s)
{
    return s != NULL ? mix_bytes(h, s, strlen(s)) : mix(h, 1);
}

static uint64_t mix_double(uint64_t h, double x)
{
    return mix_bytes(h, &x, sizeof x);
}

static uint64_t mix_attr(uint64_t h, const struct attr *a)
{
    h = mix(mix_text(h, a->name), (uint64_t)a->type);
    h = mix(mix_double(h, a->f), (uint64_t)a->i);
    h = mix(mix_text(h, a->s), a->count);
    if (a->ints != NULL)
        h = mix_bytes(h, a->ints, a->count * sizeof *a->ints);
    return h; /* floats, strings, tensors and graphs are rare: left to the comparison */
}

static uint64_t hash_node(const struct node *n)
{
    uint64_t h = mix_text(mix_text(0, n->def->name), n->def->domain);
    for (size_t i = 0; i < n->attrs.count; i++)
        h = mix_attr(h, &n->attrs.data[i]);
    for (size_t i = 0; i < n->inputs.count; i++)
        h = mix(h, n->inputs.data[i] != NULL ? (uint64_t)n->inputs.data[i]->id + 1 : 0);
    return mix(h, n->outputs.count);
}

static uint64_t hash_tensor(const struct tensor *t)
{
    uint64_t h = mix(mix(0, (uint64_t)t->dtype), (uint64_t)t->shape.rank);
    h = mix_bytes(h, t->shape.dim, (size_t)t->shape.rank * sizeof t->shape.dim[0]);
    return mix_bytes(h, t->data, tensor_bytes(t));
}

/* ---- equality ---------------------------------------------------------------------------------------------------- */

static bool equal_nodes(const struct node *a, const struct node *b)
{
    if (!node_same_kind(a, b))
        return false;
    for (size_t i = 0; i < a->inputs.count; i++)
        if (a->inputs.data[i] != b->inputs.data[i])
            return false;
    return true;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Open addressing, at least half empty. Holds nodes or constants; which one it is, is up to `equal`. */
struct hash_table {
    struct entry_slot {
        uint64_t hash;
        void *item;
    } *slots;
    size_t mask;
    bool (*equal)(const void *a, const void *b);
};

static struct hash_table table_new(struct arena *a, size_t count, bool (*equal)(const void *, const void *))
{
    size_t size = 16;
    while (size < 2 * count)
        size *= 2;
    return (struct hash_table){arena_array(a, struct entry_slot, size), size - 1, equal};
}

/* The first item given that equals this one: itself, if there was none. */
static void *table_first(struct hash_table *t, uint64_t hash, void *item)
{
    for (size_t at = (size_t)hash & t->mask;; at = (at + 1) & t->mask) {
        struct entry_slot *slot = &t->slots[at];
        if (slot->item == NULL)
            *slot = (struct entry_slot){hash, item};
        if (slot->hash == hash && (slot->item == item || t->equal(slot->item, item)))
            return slot->item;
    }
}

static bool equal_node_items(const void *a, const void *b)
{
    return equal_nodes(a, b);
}

static bool equal_constant_items(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    return tensor_same_sizes(x->constant, y->constant);
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

static void merge_constants(struct graph *g, struct arena *scratch)
{
    struct hash_table table = table_new(scratch, g->sources.count, equal_constant_items);
    vec_each(struct value *, v, &g->sources) {
        if (v->kind != VALUE_CONSTANT || v->dtype == DTYPE_STRING || tensor_bytes(v->constant) > LARGEST_CONSTANT)
            continue;
        struct value *first = table_first(&table, hash_tensor(v->constant), v);
        if (first != v && graph_is_used(g, v))
            graph_replace(g, v, first);
    }
}

static void merge_nodes(struct graph *g, struct arena *scratch)
{
    struct hash_table table = table_new(scratch, g->node_count, equal_node_items);
    graph_each_node(g, n) {
        if (n->def->is_random || n->def->is_structural || n->region != NULL)
            continue;
        const struct node *first = table_first(&table, hash_node(n), n);
        for (size_t i = 0; first != n && i < n->outputs.count; i++)
            if (n->outputs.data[i] != NULL && graph_is_used(g, n->outputs.data[i]))
                graph_replace(g, n->outputs.data[i], first->outputs.data[i]);
    }
}

bool rewrite_cse(struct graph *g)
{
    struct arena scratch = {0};
    merge_constants(g, &scratch);
    merge_nodes(g, &scratch);
    arena_free(&scratch);
    return true;
}
