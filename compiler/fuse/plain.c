#include "fuse/plain.h"

static void make_plain(struct kernel *k)
{
    if (k->tmpl && k->tmpl->make_plain)
        k->tmpl->make_plain(k);
}

/* What none of its stages takes for scratch any more. */
static void drop_scratch(struct kernel *k, const struct buffer *scratch)
{
    for (size_t i = k->own.count; i-- > 0;)
        if (k->own.data[i].buffer == scratch)
            vec_remove(&k->own, i);
}

void plain_kernels(struct lowered *l)
{
    for (size_t i = 0; i < l->kernels.count; i++) {
        struct kernel *k = l->kernels.data[i];
        make_plain(k);
        for (size_t s = 0; s < k->stages.count; s++) {
            const struct buffer *const scratch = k->stages.data[s]->scratch;
            make_plain(k->stages.data[s]);
            if (scratch && !k->stages.data[s]->scratch)
                drop_scratch(k, scratch);
        }
    }
}
