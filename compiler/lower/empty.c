/* Kernels over nothing. A dimension may be 0: then loops have no iterations, buffers no elements. Every rule of fusion,
 * every form of emission that divides by an extent or a stride would have to think of it; so what has nothing to do
 * leaves here, and behind this pass every extent of a loop kernel is at least 1:
 *
 *   y[i, j] = relu(x[i, j])            over [3, 0]        nothing is left
 *   y[i] = sum over j of x[i, j]       over [3, 0]        y[i] = 0
 *   y[i] = i < 2 ? x[i] : 0            x has no elements  y[i] = i < 2 ? 0 : 0     (pad; what is selected is never x)
 * */
#include "lower/lower.h"

#include <math.h>

static bool has_points(const struct part *p, bool reduced)
{
    for (int d = 0; d < p->rank; d++)
        if (p->reduced[d] == reduced && p->extent[d] == 0)
            return false;
    return true;
}

/* What is left of a fold that folds nothing. */
static const struct expr *neutral(struct arena *a, const struct part *p)
{
    const enum dtype type = p->element->dtype;
    switch (p->reduce) {
    case REDUCE_PROD: return expr_number(a, type, 1);
    case REDUCE_MAX:
    case REDUCE_TOP:
        return dtype_is_float(type) ? expr_float(a, type, -INFINITY)
                                    : expr_int(a, type, type == DTYPE_BOOL ? 0 : dtype_min_int(type));
    case REDUCE_MIN: /* the largest uint64 is -1, wrapped */
        return dtype_is_float(type)    ? expr_float(a, type, INFINITY)
               : type == DTYPE_BOOL    ? expr_int(a, type, 1)
               : type == DTYPE_UINT64  ? expr_int(a, type, -1)
                                       : expr_int(a, type, dtype_max_int(type));
    case REDUCE_SUM:
    case REDUCE_NONE: break;
    }
    return expr_number(a, type, 0);
}

static const struct expr *replace_result(const struct expr *result, void *data)
{
    (void)result;
    return data;
}

/* A load that no run performs: a check in front of it fails, or it is the side of a select that is not taken. */
static const struct expr *replace_load(const struct expr *load, void *data)
{
    return load->access->buffer->count == 0 ? expr_number(data, load->dtype, 0) : NULL;
}

static void fold_nothing(struct arena *a, struct part *p)
{
    const struct expr *const result = neutral(a, p);
    const struct expr_map m = {.arena = a, .result = replace_result, .data = (void *)(uintptr_t)result};
    for (size_t s = 0; s < p->stores.count; s++)
        p->stores.data[s].value = expr_substitute(&m, p->stores.data[s].value);
    for (int d = 0; d < p->rank; d++) {
        if (p->reduced[d])
            p->extent[d] = 1;
        p->reduced[d] = false;
    }
    p->reduce = REDUCE_NONE;
    p->element = NULL;
    p->lane_loops = 0;
}

static bool loads_nothing(const struct expr *e, void *data)
{
    (void)data;
    return e->op == EXPR_LOAD && e->access->buffer->count == 0;
}

static void drop_loads(struct arena *a, const struct expr **e)
{
    if (*e && expr_any(*e, loads_nothing, NULL))
        *e = expr_substitute(&(struct expr_map){.arena = a, .load = replace_load, .data = a}, *e);
}

static void drop_parts(struct arena *a, struct kernel *k)
{
    size_t kept = 0;
    vec_each_ptr(struct part, p, &k->parts) {
        if (!has_points(p, false) || (p->scan != SCAN_NONE && !has_points(p, true)))
            continue;
        if (p->reduce != REDUCE_NONE && !has_points(p, true))
            fold_nothing(a, p);
        drop_loads(a, &p->element);
        for (size_t s = 0; s < p->stores.count; s++)
            drop_loads(a, &p->stores.data[s].value);
        k->parts.data[kept++] = *p;
    }
    k->parts.count = kept;
}

static void drop_checks(struct arena *a, struct kernel *k)
{
    size_t kept = 0;
    vec_each_ptr(struct check, c, &k->checks) {
        bool any = true;
        for (int d = 0; d < c->rank; d++)
            any = any && c->extent[d] > 0;
        drop_loads(a, &c->value);
        if (any)
            k->checks.data[kept++] = *c;
    }
    k->checks.count = kept;
}

/* A template whose statements are all left has nothing to write. */
static bool template_is_idle(const struct kernel *k, size_t parts_before)
{
    for (int d = 0; d < k->outer_rank; d++)
        if (k->outer_extent[d] == 0)
            return true;
    return parts_before > 0 && k->parts.count == 0;
}

void lower_drop_empty(struct lowered *l)
{
    size_t kept = 0;
    vec_each(struct kernel *, k, &l->kernels) {
        const size_t parts = k->parts.count;
        drop_parts(l->arena, k);
        drop_checks(l->arena, k);
        if (k->kind == KERNEL_TEMPLATE && template_is_idle(k, parts)) {
            k->kind = KERNEL_LOOPS;
            k->tmpl = (struct kernel_template){0};
            k->parts.count = 0;
            k->outer_rank = 0;
            k->scratch = (struct kernel_scratch){0};
        }
        if (kernel_only_checks(k) && k->checks.count == 0)
            continue;
        k->id = (int)kept;
        l->kernels.data[kept++] = k;
    }
    l->kernels.count = kept;
}
