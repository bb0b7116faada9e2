/* Composite operators that have no lowering of their own become the operators they are made of:
 *
 *   y = ReduceMean(x)          s = ReduceSum(x); y = Div(s, 6)
 *
 * Expansions may contain composites again, a bounded number of times. Those that say so (in_float) become the same in
 * float first where they have float16 or bfloat16: every value of the canonical graph is rounded to its type, and a sum
 * of exponentials that is rounded to 8 bits, as its terms are, is of little use.
 *
 *   y = Softmax(x)             f = Cast(x); s = Softmax(f); y = Cast(s) */
#include "rewrite/pass.h"

#include "graph/build.h"

enum { MOST_ROUNDS = 100 };

static bool is_composite(const struct node *n)
{
    return n->def->lower == NULL && n->def->expand != NULL;
}

static const char *prefix_of(const struct node *n)
{
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i] != NULL)
            return arena_printf(n->graph->arena, "%s.", n->outputs.data[i]->name);
    return "";
}

static bool has_float16(const struct node *n)
{
    for (size_t i = 0; i < n->inputs.count; i++)
        if (n->inputs.data[i] != NULL && dtype_is_float16(n->inputs.data[i]->dtype))
            return true;
    return false;
}

static bool expand_in_float(struct builder *b, const struct node *n)
{
    struct arena *const a = b->graph->arena;
    struct value **in = arena_array(a, struct value *, n->inputs.count + 1);
    struct attr *attrs = arena_array(a, struct attr, n->attrs.count + 1); /* ends with one without a name */
    for (size_t i = 0; i < n->inputs.count; i++)
        in[i] = n->inputs.data[i] != NULL && dtype_is_float16(n->inputs.data[i]->dtype)
                    ? build_cast(b, n->inputs.data[i], DTYPE_FLOAT)
                    : n->inputs.data[i];
    for (size_t i = 0; i < n->attrs.count; i++)
        attrs[i] = n->attrs.data[i];
    const char *const domain = n->def->domain != NULL ? n->def->domain : DOMAIN_ONNX;
    const char *op = domain[0] != '\0' ? arena_printf(a, "%s.%s", domain, n->def->name) : n->def->name;
    const struct node *wide = build_node(b, op, attrs, in, n->inputs.count, n->outputs.count);
    for (size_t o = 0; o < n->outputs.count && !b->failed; o++)
        if (n->outputs.data[o] != NULL)
            build_replace(b, n->outputs.data[o], build_cast(b, wide->outputs.data[o], n->outputs.data[o]->dtype));
    return !b->failed;
}

static bool expand_and_remove(struct graph *g, struct node *n)
{
    struct builder b = {.graph = g, .before = n, .loc = n->loc, .prefix = prefix_of(n), .stream = n->stream,
                        .counter = n->counter};
    struct expand_ctx c = {.b = &b, .node = n};
    const bool in_float = n->def->in_float && has_float16(n);
    if (!(in_float ? expand_in_float(&b, n) : expand_node(&c)))
        return false;
    graph_remove_node(g, n);
    return true;
}

bool rewrite_expand(struct graph *g)
{
    return rewrite_expand_some(g, NULL);
}

bool rewrite_expand_some(struct graph *g, const struct pass_options *o)
{
    bool ok = true;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        bool any = false;
        graph_each_node(g, n) {
            if (!is_composite(n) || (o && o->stays && o->stays(n, o->stays_to)))
                continue;
            any = true;
            if (!expand_and_remove(g, n))
                ok = false;
        }
        if (!any || !ok)
            return ok;
    }
    UNREACHABLE("composites expand into each other");
}
