/* What a model may make of itself while it is taken apart. A file of a few lines can ask for any number of nodes, by
 * loops in loops or functions that call functions: each kind of growth is counted over the whole graph, and bounded. */
#include "graph/import_internal.h"

static const struct {
    int64_t most;
    const char *text;
} bounds[] = {
    [IMPORT_INLINED] = {IMPORT_MOST_INLINED, "nodes of inlined functions"},
    [IMPORT_UNROLLED] = {100000, "nodes of unrolled graphs"},
    /* Each is small, and there may be many in a node or a call. */
    [IMPORT_ENTRIES] = {2000000, "nodes, initializers, inputs and outputs of unrolled graphs and of calls"},
    [IMPORT_PIECES] = {300000, "pieces of tensors"},
    [IMPORT_COPIED] = {16 << 20, "elements of copied lists, sparse tensors and sequences"},
};

bool import_spend(struct importer *im, const struct loc *at, enum import_cost what, int64_t count)
{
    const int64_t most = bounds[what].most;
    if (count <= most - im->spent[what]) {
        im->spent[what] += count;
        return true;
    }
    return diag_unsupported(im->g->diag, at, "%s exceeds the bound of %lld %s in a model", at->op ? at->op : "the node",
                            (long long)most, bounds[what].text);
}
