#include "ops/random_rules.h"

bool random_seed(const struct node *n, uint64_t *seed)
{
    const struct attr *a = node_attr(n, "seed");
    if (a == NULL)
        return false;
    *seed = (uint64_t)(a->type == ATTR_INT ? a->i : dtype_from_double(DTYPE_INT64, a->f));
    return true;
}

void random_start_eval(struct eval_ctx *c)
{
    uint64_t seed;
    if (random_seed(c->node, &seed))
        c->random.seed = seed;
}
