#include "fuse/fuse.h"

static void make_plain(struct kernel *k)
{
    if (k->kind == KERNEL_TEMPLATE && k->tmpl.traits->make_plain)
        k->tmpl.traits->make_plain(k);
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
    vec_each(struct kernel *, k, &l->kernels) {
        make_plain(k);
        for (size_t s = 0; k->kind == KERNEL_STAGES && s < k->blocks.stages.count; s++) {
            const struct buffer *const scratch = k->blocks.stages.data[s]->scratch.buffer;
            make_plain(k->blocks.stages.data[s]);
            if (scratch && !k->blocks.stages.data[s]->scratch.buffer)
                drop_scratch(k, scratch);
        }
    }
}
