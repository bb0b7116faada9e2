#include "prepare/recipe.h"

#include "base/map.h"
#include "prepare/known_names.h"
#include "prepare/tidy.h"

static void empty_graph(struct model_graph *g);

static void empty_nodes(model_nodes *nodes)
{
    vec_each(struct model_node *, n, nodes) {
        n->doc = "";
        n->metadata.count = 0;
        vec_each(struct model_attr *, attr, &n->attrs) {
            attr->doc = "";
            empty_graph(attr->g);
            vec_each(struct model_graph *, inner, &attr->graphs)
                empty_graph(inner);
        }
    }
}

static void empty_values(model_values *values)
{
    vec_each(struct model_value_info *, vi, values) {
        vi->doc = "";
        vi->metadata.count = 0;
    }
}

static void empty_graph(struct model_graph *g)
{
    if (!g)
        return;
    g->doc = "";
    empty_nodes(&g->nodes);
    empty_values(&g->inputs);
    empty_values(&g->outputs);
    vec_each(struct model_initializer *, x, &g->initializers) {
        x->doc = "";
        x->metadata.count = 0;
    }
}

/* What `prepare` and checkpoints have read them for is done. */
static bool is_list_of_names(const char *key)
{
    static const char *const keys[] = {METADATA_PARAMETERS, METADATA_BUFFERS, METADATA_FROZEN,
                                       METADATA_FROZEN_STATISTICS, METADATA_DETACHED, METADATA_TRANSPOSED};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (str_equal(key, keys[i]))
            return true;
    return false;
}

static void drop_lists(struct model *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->metadata.count; i++)
        if (!is_list_of_names(m->metadata.data[i].key))
            m->metadata.data[kept++] = m->metadata.data[i];
    m->metadata.count = kept;
}

/* Of all graphs: name -> struct model_initializer * */
static void add_initializers(const struct model_graph *g, struct map *to)
{
    for (size_t i = 0; g && i < g->initializers.count; i++)
        map_set(to, g->initializers.data[i]->name, g->initializers.data[i]);
}

void recipe_empty(struct arena *a, struct model *m, struct strbuf *report)
{
    struct map initializers = {.arena = a};
    int64_t drawn = 0;
    add_initializers(m->graph, &initializers);
    vec_each(const struct model_training *, t, &m->training)
        add_initializers(t->algorithm, &initializers);
    vec_each(const struct model_training *, t, &m->training)
        vec_each_ptr(const struct model_pair, bound, &t->initialization_binding) {
            struct model_initializer *const x = map_get(&initializers, bound->key);
            if (!x)
                continue;
            x->tensor = tensor_new(a, x->tensor->dtype, &x->tensor->shape);
            x->external_location = NULL;
            drawn += x->tensor->count;
        }
    drop_value_infos(m);
    drop_lists(m);
    empty_graph(m->graph);
    vec_each(struct model_function *, f, &m->functions) {
        f->doc = "";
        f->metadata.count = 0;
        empty_nodes(&f->nodes);
    }
    strbuf_addf(report, "recipe: init() makes %lld elements, of which none is stored\n", (long long)drawn);
}
