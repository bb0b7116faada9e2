#include "engine/weigh.h"

#include "base/checked.h"
#include "engine/pipeline_internal.h"
#include "report/report.h"

int64_t weigh_bytes(const struct buffer *b)
{
    return round_up(b->count * (int64_t)dtype_size(b->dtype), PLAN_ALIGN);
}

/* What lies in the place of another is alive with it. */
static void count_alive(struct weighed *w)
{
    const struct lowered *const l = w->plan->lowered;
    const int kernels = (int)l->kernels.count;
    w->alive = arena_array(&w->arena, int64_t, (size_t)kernels + 2);
    vec_each(const struct buffer *, b, &l->buffers) {
        const struct plan_life *const life = &w->plan->life[b->id];
        if (b->kind != BUFFER_TEMP || life->first < 0)
            continue;
        w->alive[life->first + (b->place_of != NULL)] += weigh_bytes(b);
        w->alive[life->last + 1] -= weigh_bytes(b);
    }
    for (int i = 1; i < kernels; i++)
        w->alive[i] += w->alive[i - 1];
    for (int i = 1; i < kernels; i++)
        if (w->alive[i] > w->alive[w->peak])
            w->peak = i;
}

/* Packing leaves gaps, so what is alive has to stay below the limit by as much. */
void weigh_excess(struct weighed *w, int64_t limit)
{
    const int64_t gaps = (int64_t)(w->plan->arena_bytes - w->plan->bound_bytes);
    w->excess = 0;
    for (size_t i = 0; i < w->plan->lowered->kernels.count; i++)
        w->excess += w->alive[i] > limit - gaps ? w->alive[i] - (limit - gaps) : 0;
}

bool weigh_entry(struct diag *d, const struct program *p, size_t entry, const struct pipeline_options *o,
                 struct weighed *w)
{
    *w = (struct weighed){0};
    if (!pipeline_plan_entry(d, &w->arena, p, entry, o, &w->plan))
        return false;
    vec_each(const struct kernel *, k, &w->plan->lowered->kernels) {
        w->flops += report_flops(k);
        w->work += report_work(k);
    }
    count_alive(w);
    return true;
}
