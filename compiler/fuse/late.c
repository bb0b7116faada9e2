#include "fuse/fuse.h"

#include "base/str.h"
#include "lower/items.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PROBES = 3 };

/* What of each probe, in the place of a list of them. */
#define OF_ALL(x, what) {(x)[0]what, (x)[1]what, (x)[2]what}
/* No base + per * n, but the kernel's template may do without it. */
#define NO_LATE_SIZE ((struct late_size){INT64_MIN, 1})

typedef VEC(const struct expr *) expr_list;

struct late {
    struct diag *diag;
    struct lowered *const *probe;
    const struct size_range *range;
    int64_t step;                  /* from probe to probe */
    const struct kernel *kernel;   /* at hand, of the first probe: where errors are */
    expr_list seen;                /* of the kernel at hand */
    expr_list rewritten;           /* factors */
    bool *constants;               /* by buffer: its content has been compared */
    bool ok;
};

static bool fail(struct late *l, const char *why)
{
    const struct kernel *const k = l->kernel;
    const struct loc *const at = k && k->nodes.count > 0 ? &k->nodes.data[0]->loc : &l->probe[0]->entry->graph->loc;
    l->ok = diag_error(l->diag, at, "'%s' cannot be from %" PRId64 " to %" PRId64 " here: %s", l->range->name,
                       l->range->low, l->range->high, why);
    return false;
}

bool late_size_of(const int64_t x[PROBES], int64_t n, int64_t step, int64_t low, struct late_size *out)
{
    const int64_t per = (x[1] - x[0]) * step, base = x[0] - per * n;
    *out = per == 0 ? (struct late_size){0} : (struct late_size){base, per};
    return x[2] - x[1] == x[1] - x[0] && per >= 0 && (per == 0 || base + per * low >= 1);
}

/* "16, 17, 18": those of the probes. */
static const char *counts(const struct late *l)
{
    return arena_printf(l->diag->arena, "%" PRId64 ", %" PRId64 ", %" PRId64, l->range->high, l->range->high + l->step,
                        l->range->high + 2 * l->step);
}

static bool size_of(struct late *l, const int64_t x[PROBES], struct late_size *out)
{
    if (late_size_of(x, l->range->high, l->step, l->range->low, out))
        return true;
    const bool falls = (x[1] - x[0]) * l->step < 0;
    return fail(l, arena_printf(l->diag->arena, "a size is %" PRId64 ", %" PRId64 ", %" PRId64 " for %s%s", x[0], x[1],
                                x[2], counts(l), falls ? ", and memory is made for the highest count" : ""));
}

/* ---- factors ----------------------------------------------------------------------------------------------------- */

/* Is x[i] = numerator / (per * n) in all probes, rounded once? And would any count give the same bits, whether divided
 * in double or in d? */
static bool is_quotient(const struct size_range *r, int64_t step, enum dtype d, const double x[PROBES],
                        double numerator, int64_t per)
{
    for (int i = 0; i < PROBES; i++)
        if (dtype_round(d, numerator / (double)(per * (r->high + i * step))) != x[i])
            return false;
    for (int64_t n = r->low; n <= r->high && d == DTYPE_FLOAT; n++)
        if ((double)((float)numerator / (float)(per * n)) != dtype_round(d, numerator / (double)(per * n)))
            return false;
    return true;
}

/* Powers of 2 times 1 / (per * n): the one rounding is that of the inverse. */
static bool find_quotient(const struct size_range *r, int64_t step, enum dtype d, const double x[PROBES],
                          struct late_factor *out)
{
    enum { MOST = 16, EXACT = 1 << 24 };
    for (double two = 1; two <= MOST; two *= 2) {
        const double c = round(two / (fabs(x[0]) * (double)r->high));
        if (!(c >= 1 && c * (double)(r->high + PROBES) <= EXACT))
            continue;
        *out = (struct late_factor){x[0] < 0 ? -two : two, (int64_t)c};
        if (is_quotient(r, step, d, x, out->numerator, out->per))
            return true;
    }
    return false;
}

static bool find_multiple(const struct size_range *r, int64_t step, const double x[PROBES], struct late_factor *out)
{
    enum { EXACT = 1 << 24 };
    const double c = x[0] / (double)r->high;
    if (c != floor(c) || c < 1 || x[0] > EXACT - PROBES * c)
        return false;
    *out = (struct late_factor){0, (int64_t)c};
    return x[1] == c * (double)(r->high + step) && x[2] == c * (double)(r->high + 2 * step);
}

bool late_factor_of(enum dtype d, const double x[PROBES], const struct size_range *r, int64_t step,
                    struct late_factor *out)
{
    return (d == DTYPE_FLOAT || d == DTYPE_DOUBLE) &&
           (find_multiple(r, step, x, out) || find_quotient(r, step, d, x, out));
}

double late_factor_at(const struct late_factor *f, enum dtype d, int64_t count)
{
    const double n = (double)(f->per * count);
    return dtype_round(d, f->numerator == 0 ? n : f->numerator / n);
}

/* The constant becomes an expression, where it stands: others may read it as well. */
static bool factor(struct late *l, const struct expr *const e[PROBES])
{
    struct arena *const a = l->probe[0]->arena;
    struct expr *const made = (struct expr *)(uintptr_t)e[0], count = {.op = EXPR_COUNT, .dtype = DTYPE_INT64};
    const double x[PROBES] = OF_ALL(e, ->f);
    const enum dtype d = e[0]->dtype;
    struct late_factor f;
    if (!late_factor_of(d, x, l->range, l->step, &f))
        return fail(l, arena_printf(l->diag->arena, "a factor is %.9g, %.9g, %.9g for %s, which is neither a multiple "
                                                    "of the count nor a quotient by one", x[0], x[1], x[2], counts(l)));
    count.i = f.per;
    const struct expr *const n = expr_cast(a, d, arena_copy(a, &count, sizeof count, alignof(struct expr)));
    const struct expr *const value = f.numerator == 0 ? n : expr_binary(a, EXPR_DIV, expr_float(a, d, f.numerator), n);
    *made = *value;
    vec_push(a, &l->rewritten, made);
    return true;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static bool same_bytes(const struct tensor *x, const struct tensor *y)
{
    const size_t bytes = tensor_bytes(x) < tensor_bytes(y) ? tensor_bytes(x) : tensor_bytes(y);
    return x == y || x->data == y->data || memcmp(x->data, y->data, bytes) == 0;
}

/* One of fewer elements is the beginning of one of more. */
static bool same_constant(struct late *l, const struct buffer *const b[PROBES])
{
    if (l->constants[b[0]->id])
        return true;
    l->constants[b[0]->id] = true;
    for (int i = 1; i < PROBES; i++)
        if (!same_bytes(b[0]->constant, b[i]->constant))
            return fail(l, arena_printf(l->diag->arena, "the elements of the constant '%s' depend on it", b[0]->name));
    return true;
}

static bool same_buffer(struct late *l, const struct buffer *const b[PROBES])
{
    for (int i = 1; i < PROBES; i++)
        if (b[i]->id != b[0]->id || b[i]->kind != b[0]->kind || b[i]->dtype != b[0]->dtype)
            return fail(l, "what is read or written differs from count to count");
    return b[0]->kind != BUFFER_CONSTANT || same_constant(l, b);
}

static bool same_expr(struct late *l, const struct expr *const e[PROBES]);

static bool same_access(struct late *l, const struct access *const a[PROBES])
{
    const struct buffer *const b[PROBES] = OF_ALL(a, ->buffer);
    for (int i = 1; i < PROBES; i++) {
        if (a[i]->term_count != a[0]->term_count || a[i]->offset != a[0]->offset ||
            memcmp(a[i]->stride, a[0]->stride, sizeof a[0]->stride) != 0)
            return fail(l, arena_printf(l->diag->arena, "where elements of '%s' lie depends on it (it is not the "
                                                        "outermost axis there)", b[0]->name));
        for (int t = 0; t < a[0]->term_count; t++)
            if (a[i]->term[t].stride != a[0]->term[t].stride || a[i]->term[t].extent != a[0]->term[t].extent)
                return fail(l, arena_printf(l->diag->arena, "the range of an index into '%s' depends on it",
                                            b[0]->name));
    }
    for (int t = 0; t < a[0]->term_count; t++) {
        const struct expr *const index[PROBES] = OF_ALL(a, ->term[t].index);
        if (!same_expr(l, index))
            return false;
    }
    return same_buffer(l, b);
}

static bool is_among(const expr_list *list, const struct expr *e)
{
    vec_each(const struct expr *, x, list)
        if (x == e)
            return true;
    return false;
}

static bool same_operation(const struct expr *x, const struct expr *y)
{
    const bool draws = x->op == EXPR_UNIFORM || x->op == EXPR_NORMAL;
    return x->op == y->op && x->dtype == y->dtype && x->fn == y->fn && x->i == y->i &&
           (!draws || expr_same_draw(x, y));
}

/* NULL in all three is the same. */
static bool same_expr(struct late *l, const struct expr *const e[PROBES])
{
    if (!e[0] && !e[1] && !e[2])
        return true;
    if (!e[0] || !e[1] || !e[2])
        return fail(l, "what is computed differs from count to count");
    if (is_among(&l->seen, e[0]) || is_among(&l->rewritten, e[0]))
        return true;
    vec_push(l->probe[0]->arena, &l->seen, e[0]);
    for (int i = 1; i < PROBES; i++)
        if (!same_operation(e[0], e[i]))
            return fail(l, "what is computed differs from count to count");
    if (e[0]->op == EXPR_FLOAT && (e[0]->f != e[1]->f || e[0]->f != e[2]->f))
        return (isnan(e[0]->f) && isnan(e[1]->f) && isnan(e[2]->f)) || factor(l, e);
    if (e[0]->op == EXPR_LOAD)
        return same_access(l, (const struct access *const[])OF_ALL(e, ->access));
    for (int i = 0, count = expr_arg_count(e[0]); i < count; i++) {
        const struct expr *const arg[PROBES] = OF_ALL(e, ->arg[i]);
        if (!same_expr(l, arg))
            return false;
    }
    return true;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static bool extents(struct late *l, int rank, const int64_t *const x[PROBES], struct late_size *out)
{
    for (int d = 0; d < rank; d++) {
        const int64_t extent[PROBES] = OF_ALL(x, [d]);
        if (!size_of(l, extent, &out[d]))
            return false;
    }
    return true;
}

static bool stores(struct late *l, const struct part *const p[PROBES])
{
    for (size_t s = 0; s < p[0]->stores.count; s++) {
        const struct store *const x[PROBES] = {&p[0]->stores.data[s], &p[1]->stores.data[s], &p[2]->stores.data[s]};
        const struct expr *const value[PROBES] = OF_ALL(x, ->value);
        const struct access *const to[PROBES] = {&x[0]->to, &x[1]->to, &x[2]->to};
        if (!same_access(l, to) || !same_expr(l, value))
            return false;
    }
    return true;
}

/* Outputs side by side along a loop that may have one iteration, behind what is reduced or carried: the order of the
 * sums would be another one there (axes of one element count as absent). */
static bool order_depends(const struct part *p, int rows)
{
    bool behind = false;
    for (int d = rows; d < p->rank; d++) {
        const bool kept = !p->reduced[d];
        if (kept && behind && is_late(&p->late[d]))
            return true;
        behind |= p->reduced[d];
    }
    return false;
}

static bool one_part(struct late *l, struct part *const p[PROBES])
{
    for (int i = 1; i < PROBES; i++)
        if (p[i]->rank != p[0]->rank || p[i]->lane_loops != p[0]->lane_loops || p[i]->reduce != p[0]->reduce ||
            p[i]->scan != p[0]->scan || p[i]->stores.count != p[0]->stores.count ||
            memcmp(p[i]->reduced, p[0]->reduced, sizeof p[0]->reduced) != 0 ||
            (p[i]->hole == NULL) != (p[0]->hole == NULL) || (p[0]->hole && !str_equal(p[i]->hole, p[0]->hole)))
            return fail(l, "its loops differ from count to count");
    const int64_t *const extent[PROBES] = OF_ALL(p, ->extent);
    const struct expr *const element[PROBES] = OF_ALL(p, ->element);
    const struct part *const all[PROBES] = OF_ALL(p, );
    if (!extents(l, p[0]->rank, extent, p[0]->late) || !same_expr(l, element) || !stores(l, all))
        return false;
    return !p[0]->hole && order_depends(p[0], l->kernel->rows)
               ? fail(l, "it lies behind an axis that is summed up, where the order of the sums would depend on it")
               : true;
}

static bool one_check(struct late *l, struct check *const c[PROBES])
{
    for (int i = 1; i < PROBES; i++)
        if (c[i]->rank != c[0]->rank || c[i]->low != c[0]->low || c[i]->high != c[0]->high ||
            c[i]->has_except != c[0]->has_except || c[i]->except != c[0]->except ||
            strcmp(c[i]->status, c[0]->status) != 0)
            return fail(l, "the range of an index depends on it");
    const int64_t *const extent[PROBES] = OF_ALL(c, ->extent);
    const struct expr *const value[PROBES] = OF_ALL(c, ->value);
    return extents(l, c[0]->rank, extent, c[0]->late) && same_expr(l, value);
}

/* ---- templates --------------------------------------------------------------------------------------------------- */

static bool one_int(struct late *l, struct kernel_int *const x[PROBES])
{
    for (int i = 1; i < PROBES; i++)
        if (!str_equal(x[i]->name, x[0]->name))
            return fail(l, "another form of its kernel is taken from count to count; another highest count may do");
    const int64_t value[PROBES] = OF_ALL(x, ->value);
    if (!late_size_of(value, l->range->high, l->step, l->range->low, &x[0]->late))
        x[0]->late = NO_LATE_SIZE;
    return true;
}

/* How many planes there are says the template. */
static bool one_operand(struct late *l, const struct operand *const o[PROBES])
{
    for (int i = 1; i < PROBES; i++)
        if (!str_equal(o[i]->param, o[0]->param) || o[i]->rank != o[0]->rank)
            return fail(l, "another form of its kernel is taken from count to count; another highest count may do");
    const struct access *const access[PROBES] = {&o[0]->access, &o[1]->access, &o[2]->access};
    const struct expr *const value[PROBES] = OF_ALL(o, ->value);
    return same_expr(l, value) && (value[0] || same_access(l, access));
}

static bool same_template(const struct kernel_template *x, const struct kernel_template *y)
{
    return x->traits == y->traits && x->type == y->type && x->operand_count == y->operand_count &&
           x->int_count == y->int_count;
}

static bool is_listed(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (str_equal(*list, name))
            return true;
    return false;
}

/* The integer that the template cannot take from the call; NULL: there is none. */
static const char *refused_int(const struct kernel *k)
{
    const struct template_traits *const t = k->tmpl.traits;
    for (int i = 0; i < k->tmpl.int_count; i++) {
        const struct kernel_int *const x = &k->tmpl.ints[i];
        if (is_late(&x->late) && !is_listed(t->late_most, x->name) &&
            (!is_listed(t->late, x->name) || x->late.base == NO_LATE_SIZE.base))
            return x->name;
    }
    return NULL;
}

static bool has_part(const struct kernel *k, const char *hole)
{
    vec_each_ptr(const struct part, p, &k->parts)
        if (str_equal(p->hole, hole))
            return true;
    return false;
}

static bool settle_template(struct late *l, struct kernel *k)
{
    const struct template_traits *const t = k->tmpl.traits;
    bool has_late = false;
    if (refused_int(k) && t->make_late && !t->make_late(l->probe[0], k))
        return fail(l, "its kernel has no form in which this size is known late");
    const char *const refused = refused_int(k);
    if (refused)
        return fail(l, arena_printf(l->diag->arena, "the size %s of template '%s' depends on it, which has to be known "
                                                    "when the model is compiled", refused, k->tmpl.traits->name));
    for (int i = 0; i < k->tmpl.int_count; i++) {
        struct kernel_int *const x = &k->tmpl.ints[i];
        if (is_listed(t->late_most, x->name))
            x->late = (struct late_size){0};
        if (is_late(&x->late) && k->tmpl.traits->is_product && str_equal(x->name, "M") && has_part(k, "row_sum"))
            return fail(l, "its kernel sums up rows whose number depends on it");
        has_late |= is_late(&x->late);
    }
    vec_each_ptr(const struct part, p, &k->parts)
        for (int d = k->outer_rank; d < p->rank && !has_late; d++)
            if (is_late(&p->late[d]))
                return fail(l, "its kernel does not take this size when it runs");
    return true;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static bool one_kernel(struct late *l, struct kernel *const k[PROBES]);

/* Do extents depend on the count behind the first `outer` loops, or sizes of its template? */
static bool is_late_within(const struct kernel *k, int outer)
{
    bool late = false;
    kernel_each_item(it, k)
        switch (it.kind) {
        case ITEM_LOOP: late |= (int)it.at >= outer && is_late(it.loop.late); break;
        case ITEM_INT: late |= is_late(&it.integer->late); break;
        case ITEM_PART:
            for (int d = outer; d < it.part->rank; d++)
                late |= is_late(&it.part->late[d]);
            break;
        case ITEM_SCRATCH:
        case ITEM_CHECK:
        case ITEM_OPERAND:
        case ITEM_STAGE: /* of which stages have none */
        case ITEM_OWN:
        case ITEM_REGION: break;
        }
    return late;
}

/* The loops around the blocks of rows may depend on the count, the rows may not. */
static bool settle_stages(struct late *l, const struct kernel *k)
{
    const int around = k->outer_rank - 1;
    bool late = is_late(&k->outer_late[around]);
    vec_each(const struct kernel *, stage, &k->blocks.stages)
        late |= is_late_within(stage, around);
    return !late || fail(l, "its kernel computes rows block by block, whose number depends on it");
}

static bool same_blocks(const struct kernel *x, const struct kernel *y)
{
    if (x->kind != KERNEL_STAGES || y->kind != KERNEL_STAGES)
        return (x->kind == KERNEL_STAGES) == (y->kind == KERNEL_STAGES);
    return x->blocks.stages.count == y->blocks.stages.count && x->blocks.rows == y->blocks.rows;
}

static bool same_shape(const struct kernel *x, const struct kernel *y)
{
    return x->removed == y->removed && x->nodes.count == y->nodes.count && x->parts.count == y->parts.count &&
           x->checks.count == y->checks.count && x->rows == y->rows && x->outer_rank == y->outer_rank &&
           x->own.count == y->own.count && str_equal(x->label, y->label) && same_blocks(x, y);
}

static bool same_form(const struct kernel *x, const struct kernel *y)
{
    return x->kind == y->kind && (x->kind != KERNEL_TEMPLATE || same_template(&x->tmpl, &y->tmpl));
}

#define EACH_AT(k, list, i) {&(k)[0]->list[i], &(k)[1]->list[i], &(k)[2]->list[i]}

/* Kernels of equal shape and form have the same items. */
static bool one_item(struct late *l, struct kernel *const k[PROBES], enum item_kind kind, size_t i)
{
    switch (kind) {
    case ITEM_LOOP: {
        const int64_t extent[PROBES] = OF_ALL(k, ->outer_extent[i]);
        return size_of(l, extent, &k[0]->outer_late[i]);
    }
    case ITEM_INT: {
        struct kernel_int *const x[PROBES] = EACH_AT(k, tmpl.ints, i);
        return one_int(l, x);
    }
    case ITEM_CHECK: {
        struct check *const c[PROBES] = EACH_AT(k, checks.data, i);
        return one_check(l, c);
    }
    case ITEM_OPERAND: {
        const struct operand *const o[PROBES] = EACH_AT(k, tmpl.operands, i);
        return one_operand(l, o);
    }
    case ITEM_PART: {
        struct part *const p[PROBES] = EACH_AT(k, parts.data, i);
        return one_part(l, p);
    }
    case ITEM_STAGE: {
        struct kernel *const x[PROBES] = OF_ALL(k, ->blocks.stages.data[i]);
        return one_kernel(l, x);
    }
    case ITEM_SCRATCH: /* the highest count's serves */
    case ITEM_OWN: return true;
    case ITEM_REGION: return fail(l, "sizes within steps of time have to be known when the model is compiled");
    }
    UNREACHABLE("item of kind %d", (int)kind);
}

static bool one_kernel(struct late *l, struct kernel *const k[PROBES])
{
    for (int i = 1; i < PROBES; i++)
        if (!same_shape(k[0], k[i]))
            return fail(l, "what is fused into its kernel differs from count to count; another highest count may do");
    for (int i = 1; i < PROBES; i++)
        if (!same_form(k[0], k[i]))
            return fail(l, "another form of its kernel is taken from count to count; another highest count may do");
    kernel_each_item(it, k[0])
        if (!one_item(l, k, it.kind, it.at))
            return false;
    switch (k[0]->kind) {
    case KERNEL_LOOPS:
    case KERNEL_REGION: return true;
    case KERNEL_TEMPLATE: return settle_template(l, k[0]);
    case KERNEL_STAGES: return settle_stages(l, k[0]);
    }
    UNREACHABLE("kernel of kind %d", (int)k[0]->kind);
}

/* What is copied as a whole has its elements from its buffer. */
static void buffer_sizes(struct late *l)
{
    for (size_t i = 0; i < l->probe[0]->buffers.count; i++) {
        struct buffer *const b = l->probe[0]->buffers.data[i];
        if (i >= l->probe[1]->buffers.count || i >= l->probe[2]->buffers.count)
            return;
        const int64_t count[PROBES] = OF_ALL(l->probe, ->buffers.data[i]->count);
        if (!late_size_of(count, l->range->high, l->step, l->range->low, &b->late))
            b->late = (struct late_size){0};
    }
}

bool late_kernels(struct diag *d, struct lowered *const probe[PROBES], const struct size_range *range, int64_t step)
{
    struct late l = {.diag = d, .probe = probe, .range = range, .step = step, .ok = true};
    l.constants = arena_array(probe[0]->arena, bool, probe[0]->buffers.count + 1);
    buffer_sizes(&l);
    for (int i = 1; i < PROBES; i++)
        if (probe[i]->kernels.count != probe[0]->kernels.count)
            return fail(&l, "the kernels differ from count to count; another highest count may do");
    for (size_t i = 0; i < probe[0]->kernels.count && l.ok; i++) {
        struct kernel *const k[PROBES] = OF_ALL(probe, ->kernels.data[i]);
        l.kernel = k[0];
        l.seen.count = 0;
        if (!k[0]->removed || !k[1]->removed || !k[2]->removed)
            one_kernel(&l, k);
    }
    return l.ok;
}
