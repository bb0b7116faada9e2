/* Loop nests as C text, in the order of sums that the numeric contract fixes (docs/numerics.md):
 *
 *   no reduction             nested loops
 *   last axis reduced        16 lanes, element p of the reduced tail goes to lane p % 16, folded by halves
 *   outer axes reduced       one accumulator per output in index order; a block of outputs side by side
 *
 * Axes of one element count as absent. */
#include "emit/emit_internal.h"

#include <inttypes.h>
#include <string.h>

#define LANES 16
#define BLOCK 64 /* accumulators side by side when outer axes are reduced */

static const char *const index_names[] = {"i", "j", "k", "m", "n", "p", "q", "r"};

/* ---- stores ------------------------------------------------------------------------------------------------------- */

static bool loads_written(const struct expr *e, void *part)
{
    const struct part *p = part;
    for (size_t i = 0; e->op == EXPR_LOAD && i < p->stores.count; i++)
        if (p->stores.data[i].to.buffer == e->access->buffer || p->stores.data[i].to.buffer->place_of == e->access->buffer)
            return true;
    return false;
}

/* All values stand before the first write; the last may stand in its own statement if it reads nothing that is written. */
static bool needs_name(const struct part *p, size_t i, const char *text)
{
    struct part writes = *p;
    if (text[strcspn(text, " [(")] == '\0')
        return false;
    return i + 1 < p->stores.count || (i > 0 && expr_any(p->stores.data[i].value, loads_written, &writes));
}

void emit_stores(struct expr_scope *s, struct writer *w, const struct part *p)
{
    const size_t count = p->stores.count, locals = s->locals.count;
    const struct expr **values = arena_array(s->arena, const struct expr *, count + 1);
    for (size_t i = 0; i < count; i++)
        values[i] = p->stores.data[i].value;
    expr_hoist(s, w, values, count);
    const char **texts = arena_array(s->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        texts[i] = expr_stored(s, values[i]);
        if (needs_name(p, i, texts[i])) {
            const char *name = name_in(&s->names, "u");
            write_line(w, "const %s %s = %s;", c_type(p->stores.data[i].to.buffer->dtype), name, texts[i]);
            texts[i] = name;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const struct buffer *b = p->stores.data[i].to.buffer;
        const char *declared = b->kind == BUFFER_LOCAL ? arena_printf(s->arena, "const %s ", c_type(b->dtype)) : "";
        write_line(w, "%s%s = %s;", declared, access_text(s, &p->stores.data[i].to), texts[i]);
    }
    s->locals.count = locals;
}

/* ---- loops -------------------------------------------------------------------------------------------------------- */

#define TOGETHER 2 /* sums that share one walk */
enum { NEAR = 4096 }; /* elements of a line that stay in the first cache, with those of another (of float) */

struct nest {
    struct expr_scope *s;
    struct writer *w;
    const struct part *p;
    const struct part *walkers[TOGETHER]; /* p and what is summed along with it */
    const char *lanes[TOGETHER];          /* where */
    int walker_count;
    const char *type; /* of loop variables */
    const char *lane;  /* index of the loops over lanes, which never stand in one another */
    int rows; /* loops around the nest */
    int names_used;
    int open;
};

static const char *fresh_index(struct nest *n)
{
    const int known = (int)(sizeof index_names / sizeof *index_names);
    const char *wish = n->names_used < known ? index_names[n->names_used] : arena_printf(n->s->arena, "i%d", n->names_used);
    n->names_used++;
    return name_in(&n->s->names, wish);
}

void emit_open_loop(struct writer *w, const char *type, const char *i, int64_t extent, const char *share, int shares)
{
    if (!share)
        write_open(w, "for (%s %s = 0; %s < %" PRId64 "; %s++)", type, i, i, extent, i);
    else if (extent > INT32_MAX / (shares + 1)) /* the products need 64 bits */
        write_open(w, "for (%s %s = (%s)(INT64_C(%" PRId64 ") * %s / %d); %s < INT64_C(%" PRId64 ") * (%s + 1) / %d; %s++)", type, i, type,
                   extent, share, shares, i, extent, share, shares, i);
    else
        write_open(w, "for (%s %s = %s * %" PRId64 " / %d; %s < (%s + 1) * %" PRId64 " / %d; %s++)", type, i, share, extent, shares, i, share,
                   extent, shares, i);
}

/* The outermost loop over outputs is the one that is cut. */
static const char *share_of(const struct nest *n)
{
    return n->open == 0 && n->rows == 0 ? n->s->share : NULL;
}

/* Opens a loop over dim d; a loop of one turn is only the index 0. */
static void open_loop(struct nest *n, int d)
{
    if (n->p->extent[d] == 1) {
        n->s->index[d] = "0";
        return;
    }
    const char *i = fresh_index(n);
    n->s->index[d] = i;
    emit_open_loop(n->w, n->type, i, n->p->extent[d], n->p->reduced[d] ? NULL : share_of(n), n->s->shares);
    n->open++;
}

static void close_to(struct nest *n, int open)
{
    for (; n->open > open; n->open--)
        write_close(n->w, "");
}

static bool counts(const struct part *p, int d)
{
    return p->extent[d] != 1;
}

/* ---- reductions --------------------------------------------------------------------------------------------------- */

static const char *const result_names[] = {[REDUCE_SUM] = "sum", [REDUCE_MAX] = "most", [REDUCE_TOP] = "most", [REDUCE_MIN] = "least", [REDUCE_PROD] = "product"};

static bool selects(enum reduce_op op)
{
    return op == REDUCE_MAX || op == REDUCE_TOP || op == REDUCE_MIN;
}

static enum dtype element_type(const struct part *p)
{
    return p->element->dtype;
}

static const char *neutral(struct nest *n)
{
    struct arena *a = n->s->arena;
    const enum dtype d = element_type(n->p);
    switch (n->p->reduce) {
    case REDUCE_SUM: return dtype_is_float(d) ? number_float(a, d, 0) : "0";
    case REDUCE_PROD: return dtype_is_float(d) ? number_float(a, d, 1) : "1";
    case REDUCE_MAX:
    case REDUCE_TOP:
        return dtype_is_float(d) ? number_float(a, d, -1.0 / 0.0) : d == DTYPE_BOOL ? "0" : number_int(a, d, dtype_min_int(d));
    case REDUCE_MIN:
        return dtype_is_float(d) ? number_float(a, d, 1.0 / 0.0)
               : d == DTYPE_BOOL ? "1"
               : d == DTYPE_UINT64 ? "UINT64_MAX" : number_int(a, d, dtype_max_int(d));
    case REDUCE_NONE: break;
    }
    UNREACHABLE("reduction kind %d", (int)n->p->reduce);
}

/* acc = acc (op) x as statements; x is evaluated once. */
static void write_combine(struct nest *n, const char *acc, const char *x)
{
    const enum dtype d = element_type(n->p);
    const bool is_sum = n->p->reduce == REDUCE_SUM;
    if (selects(n->p->reduce)) {
        const char *less = n->p->reduce == REDUCE_MIN ? "<" : ">";
        const bool simple = x[strcspn(x, " (")] == '\0';
        const char *v = x;
        if (!simple) {
            v = "v";
            write_line(n->w, "const %s v = %s;", c_type(d), x);
        }
        if (dtype_is_float(d) && n->p->reduce != REDUCE_TOP) /* a NaN stays */
            write_line(n->w, "%s = %s != %s ? %s : %s %s %s ? %s : %s;", acc, v, v, v, v, less, acc, v, acc);
        else
            write_line(n->w, "%s = %s %s %s ? %s : %s;", acc, v, less, acc, v, acc);
        return;
    }
    if (dtype_is_float(d))
        write_line(n->w, "%s %s= %s;", acc, is_sum ? "+" : "*", x);
    else
        write_line(n->w, "%s = (%s)((uint64_t)%s %s (uint64_t)%s);", acc, c_type(d), acc, is_sum ? "+" : "*",
                   x[strcspn(x, " ")] ? arena_printf(n->s->arena, "(%s)", x) : x);
}

static bool is_select(const struct expr *e, void *data)
{
    (void)data;
    return e->op == EXPR_SELECT;
}

static bool loads_apart(const struct expr *e, void *dim)
{
    return e->op == EXPR_LOAD && e->access->stride[*(const int *)dim] > 1;
}

/* Does loop d of a map select among elements that lie apart, as pooling does, and is it so short that compilers unroll it? */
static bool selects_apart(const struct part *p, int d)
{
    enum { SHORT = 15 };
    bool apart = false;
    for (size_t i = 0; i < p->stores.count; i++)
        apart |= expr_any(p->stores.data[i].value, loads_apart, &d) && expr_any(p->stores.data[i].value, is_select, NULL);
    return apart && p->extent[d] <= SHORT;
}

static bool selects_twice(const struct expr *e, void *data)
{
    bool twice = false;
    for (int a = 0; e->op == EXPR_SELECT && a < expr_arg_count(e); a++)
        twice |= expr_any(e->arg[a], is_select, data);
    return twice;
}

/* Where one select depends on another (Relu6), GCC jumps for each element that it adds: 144 of them 2.2 us, computed by bits 0.04. */
static void write_element(struct nest *n, const char *acc)
{
    const size_t locals = n->s->locals.count;
    const struct expr *e = n->p->element;
    n->s->selects_by_bits = (n->p->reduce == REDUCE_SUM || n->p->reduce == REDUCE_PROD) && expr_any(e, selects_twice, NULL);
    expr_hoist(n->s, n->w, &e, 1);
    write_combine(n, acc, expr_stored(n->s, e));
    n->s->selects_by_bits = false;
    n->s->locals.count = locals;
}

static bool compares(const struct expr *e, void *data)
{
    (void)data;
    return e->op == EXPR_SELECT || e->op == EXPR_LT || e->op == EXPR_LE || e->op == EXPR_EQ;
}

/* May the element stand in a branch of a select? What is named would be loaded before it, so it must be short without names. */
static bool may_mask(const struct part *p)
{
    enum { SHORT = 16 };
    return p->reduce == REDUCE_SUM && dtype_is_float(element_type(p)) && expr_cost(p->element) <= SHORT &&
           !expr_any(p->element, compares, NULL);
}

/* for (l..) lane[l] += the `count` elements behind `base`. With masks GCC takes them as one vector, if the loop goes over all lanes
 * (GCC 12, AVX-512: in half the time, where rows are 125 long). */
static void write_masked_lanes(struct nest *n, int d, const char *base, int64_t count)
{
    const char *l = n->lane;
    n->s->index[d] = base ? arena_printf(n->s->arena, "%s + %s", base, l) : l;
    write_line(n->w, n->walker_count == 1 ? "STEPC_REST_LOOP" : "STEPC_RESTS_LOOP");
    write_open(n->w, "for (int %s = 0; %s < STEPC_REST(%" PRId64 "); %s++)", l, l, count, l);
    for (int i = 0; i < n->walker_count; i++)
        write_line(n->w, "%s[%s] += %s < %" PRId64 " ? %s : %s;", n->lanes[i], l, l, count,
                   expr_text(n->s, n->walkers[i]->element, PREC_SELECT + 1), neutral(n));
    write_close(n->w, "");
}

static int64_t tail_extent(const struct part *p, int from)
{
    int64_t count = 1;
    for (int d = from; d < p->rank; d++)
        count *= p->extent[d];
    return count;
}

/* A plain maximum, which has an instruction of its own, stays one where Clang unrolls the loop, and its lanes in registers only then. */
static void open_lanes(struct nest *n, int64_t width)
{
    if (selects(n->p->reduce))
        write_line(n->w, n->p->reduce == REDUCE_TOP ? "STEPC_RESTS_LOOP" : "STEPC_SELECT_LOOP");
    write_open(n->w, "for (int %s = 0; %s < %" PRId64 "; %s++)", n->lane, n->lane, width, n->lane);
}

/* Of every sum that shares the walk. */
static void write_elements(struct nest *n, const char *lane)
{
    const struct part *const first = n->p;
    for (int i = 0; i < n->walker_count; i++) {
        n->p = n->walkers[i];
        write_element(n, arena_printf(n->s->arena, "%s[%s]", n->lanes[i], lane));
    }
    n->p = first;
}

/* for (l..) lane[l] (op)= element, over `width` lanes from position `base` of the tail's only loop d. */
static void write_lane_loop(struct nest *n, int d, const char *base, int64_t width)
{
    const char *l = n->lane;
    open_lanes(n, width);
    n->s->index[d] = base ? arena_printf(n->s->arena, "%s + %s", base, l) : l;
    write_elements(n, l);
    write_close(n->w, "");
}

static bool all_may_be_masked(const struct nest *n)
{
    bool ok = true;
    for (int i = 0; i < n->walker_count; i++)
        ok &= may_mask(n->walkers[i]);
    return ok;
}

static void write_blocks_of_lanes(struct nest *n, int d, const char *k, int64_t whole, int64_t lanes, bool masked_rest)
{
    write_open(n->w, "for (%s %s = 0; %s < %" PRId64 "; %s += %" PRId64 ")", n->type, k, k, whole, k, lanes);
    if (masked_rest && n->walker_count == 1)
        write_line(n->w, "STEPC_SUM_LANES");
    write_lane_loop(n, d, k, lanes);
    write_close(n->w, "");
}

/* The first `whole` elements of the tail's only loop d. Apart, each sum walks them by itself: Clang at -O3 unrolls a loop over the lanes of
 * two sums whole, then finds no vectors in it (three times as slow as apart; GCC loses a tenth). */
static void write_whole_lanes(struct nest *n, int d, int64_t whole, int64_t lanes, bool masked_rest)
{
    const char *k = fresh_index(n);
    if (masked_rest || whole > NEAR) {
        write_blocks_of_lanes(n, d, k, whole, lanes, masked_rest);
        return;
    }
    for (int i = 0; i < n->walker_count; i++) {
        struct nest alone = *n;
        alone.p = alone.walkers[0] = n->walkers[i];
        alone.lanes[0] = n->lanes[i];
        alone.walker_count = 1;
        write_blocks_of_lanes(&alone, d, k, whole, lanes, false);
    }
}

static void write_tail(struct nest *n, int from, int64_t lanes)
{
    const struct part *p = n->p;
    if (from == p->rank - 1) {
        const int64_t whole = p->extent[from] / lanes * lanes, rest = p->extent[from] - whole;
        if (whole == lanes && rest == 0) {
            write_lane_loop(n, from, NULL, lanes);
            return;
        }
        const bool masked = rest > 1 && lanes == LANES && all_may_be_masked(n);
        if (whole > 0)
            write_whole_lanes(n, from, whole, lanes, masked);
        const char *base = whole ? arena_printf(n->s->arena, "%" PRId64, whole) : NULL;
        if (masked)
            write_masked_lanes(n, from, base, rest);
        else if (rest > 0)
            write_lane_loop(n, from, base, rest);
        return;
    }
    /* The tail cannot be walked as one loop: number its elements. */
    const int open = n->open;
    const char *position = name_in(&n->s->names, "position");
    write_line(n->w, "unsigned %s = 0;", position);
    for (int d = from; d < p->rank; d++)
        open_loop(n, d);
    write_elements(n, position);
    write_line(n->w, "%s = (%s + 1u) %% %" PRId64 "u;", position, position, lanes);
    close_to(n, open);
}

/* GCC would move two lanes of a selection from register to register through memory: they are written one by one. */
static void write_fold(struct nest *n, const char *lane, int64_t lanes)
{
    for (int64_t half = lanes / 2; half > 0; half /= 2) {
        const char *l = n->lane;
        if (half > 2 || (half == 2 && !selects(n->p->reduce))) {
            open_lanes(n, half);
            write_combine(n, arena_printf(n->s->arena, "%s[%s]", lane, l), arena_printf(n->s->arena, "%s[%s + %" PRId64 "]", lane, l, half));
            write_close(n->w, "");
        } else {
            for (int64_t k = 0; k < half; k++)
                write_combine(n, arena_printf(n->s->arena, "%s[%" PRId64 "]", lane, k), arena_printf(n->s->arena, "%s[%" PRId64 "]", lane, k + half));
        }
    }
}

/* Declares the lanes, or the one sum, of a reduction. */
static const char *declare_lanes(struct nest *n, int64_t lanes)
{
    const char *type = c_type(element_type(n->p)), *start = neutral(n);
    const char *lane = name_in(&n->s->names, lanes > 1 ? "lane" : result_names[n->p->reduce]);
    if (lanes > 1 && n->p->reduce == REDUCE_SUM)
        write_line(n->w, "%s %s[%" PRId64 "] = {%s};", type, lane, lanes, start);
    else if (lanes > 1) {
        struct strbuf all = {.arena = n->s->arena};
        for (int64_t l = 0; l < lanes; l++)
            strbuf_addf(&all, "%s%s", l ? ", " : "", start);
        write_line(n->w, "%s %s[%" PRId64 "] = {%s};", type, lane, lanes, strbuf_text(&all));
    } else {
        write_line(n->w, "%s %s = %s;", type, lane, start);
    }
    return lane;
}

/* The last axis is reduced. Lanes that no element reaches are left out: adding +0 changes nothing that starts from +0. */
static void write_lanes(struct nest *n, int tail)
{
    const struct part *p = n->p;
    const int64_t count = tail_extent(p, tail);
    const bool any_order = selects(p->reduce); /* lanes only where they are faster */
    int64_t lanes = 1;
    while (lanes < LANES && lanes < count && (!any_order || count >= 2 * LANES))
        lanes *= 2;
    for (int d = n->rows; d < tail; d++)
        if (!p->reduced[d])
            open_loop(n, d);
    n->s->declares |= n->open == 0;
    for (int i = 0; i < n->walker_count; i++)
        n->lanes[i] = declare_lanes(n, lanes);
    const int open = n->open;
    for (int d = 0; d < tail; d++)
        if (p->reduced[d])
            open_loop(n, d);
    if (lanes > 1) {
        write_tail(n, tail, lanes);
    } else {
        for (int d = tail; d < p->rank; d++)
            open_loop(n, d);
        if (count > 0)
            write_element(n, n->lanes[0]);
    }
    close_to(n, open);
    for (int i = 0; i < n->walker_count; i++) {
        n->p = n->walkers[i];
        if (lanes > 1)
            write_fold(n, n->lanes[i], lanes);
        n->s->result = lanes > 1 ? arena_printf(n->s->arena, "%s[0]", n->lanes[i]) : n->lanes[i];
        emit_stores(n->s, n->w, n->p);
    }
    close_to(n, 0);
}

/* The largest divisor of the extent up to BLOCK if it is a decent vector, else BLOCK with a shorter last block. */
static int64_t block_of(int64_t extent)
{
    if (extent <= BLOCK)
        return extent;
    for (int64_t b = BLOCK; b >= LANES; b--)
        if (extent % b == 0)
            return b;
    return BLOCK;
}

/* The loop over blocks of outputs; a share has whole ones. */
static void open_blocks(struct nest *n, const char *base, int64_t extent, int64_t block)
{
    const char *const share = share_of(n);
    const int64_t blocks = (extent + block - 1) / block;
    if (share)
        write_open(n->w, "for (%s %s = (%s)(INT64_C(%" PRId64 ") * %s / %d * %" PRId64 "); %s < INT64_C(%" PRId64 ") * (%s + 1) / %d * %" PRId64 "; %s += %" PRId64 ")",
                   n->type, base, n->type, blocks, share, n->s->shares, block, base, blocks, share, n->s->shares, block, base, block);
    else
        write_open(n->w, "for (%s %s = 0; %s < %" PRId64 "; %s += %" PRId64 ")", n->type, base, base, extent, base, block);
}

/* Only outer axes are reduced: outputs along the last kept axis `v` side by side. */
static void write_columns(struct nest *n, int v)
{
    const struct part *p = n->p;
    const int64_t extent = p->extent[v], block = block_of(extent);
    for (int d = n->rows; d < p->rank; d++)
        if (!p->reduced[d] && d != v)
            open_loop(n, d);
    const char *base = NULL, *width = arena_printf(n->s->arena, "%" PRId64, block);
    if (block < extent) {
        base = fresh_index(n);
        open_blocks(n, base, extent, block);
        n->open++;
        if (extent % block != 0) {
            width = name_in(&n->s->names, "width");
            write_line(n->w, "const int %s = (int)(%" PRId64 " - %s < %" PRId64 " ? %" PRId64 " - %s : %" PRId64 ");", width, extent, base,
                       block, extent, base, block);
        }
    }
    const char *acc = name_in(&n->s->names, result_names[p->reduce]), *l = n->lane;
    n->s->declares |= n->open == 0;
    if (p->reduce == REDUCE_SUM) {
        write_line(n->w, "%s %s[%" PRId64 "] = {%s};", c_type(element_type(p)), acc, block, neutral(n));
    } else {
        write_line(n->w, "%s %s[%" PRId64 "];", c_type(element_type(p)), acc, block);
        write_open(n->w, "for (int %s = 0; %s < %" PRId64 "; %s++)", l, l, block, l);
        write_line(n->w, "%s[%s] = %s;", acc, l, neutral(n));
        write_close(n->w, "");
    }
    const int open = n->open;
    for (int d = 0; d < p->rank; d++)
        if (p->reduced[d])
            open_loop(n, d);
    n->s->index[v] = base ? arena_printf(n->s->arena, "%s + %s", base, l) : l;
    write_open(n->w, "for (int %s = 0; %s < %s; %s++)", l, l, width, l);
    write_element(n, arena_printf(n->s->arena, "%s[%s]", acc, l));
    write_close(n->w, "");
    close_to(n, open);
    write_open(n->w, "for (int %s = 0; %s < %s; %s++)", l, l, width, l);
    n->s->result = arena_printf(n->s->arena, "%s[%s]", acc, l);
    emit_stores(n->s, n->w, p);
    write_close(n->w, "");
    close_to(n, 0);
}

/* ---- one part ----------------------------------------------------------------------------------------------------- */

static bool is_empty(const struct part *p, bool reduced)
{
    for (int d = 0; d < p->rank; d++)
        if (p->reduced[d] == reduced && p->extent[d] == 0)
            return true;
    return false;
}

int emit_open_rows(struct expr_scope *s, struct writer *w, const struct kernel *k, int from)
{
    struct nest n = {.s = s, .w = w, .p = &k->parts.data[0], .type = s->index_type};
    for (int d = from; d < k->rows; d++)
        open_loop(&n, d);
    return n.open;
}

/* Are both sums of a row, in the same loops, and does b read nothing that a stores? Then one walk makes both. (Batch normalization's
 * gradient on AVX-512: 36 us instead of 47 for 64 channels of 2,000 elements; an addition takes as long as four loads. Of short rows
 * several are under way at once as it is.) */
static bool walk_together(struct part *a, const struct part *b, int rows)
{
    enum { LONG = 64 * LANES };
    bool same = rows > 0 && a->reduce == REDUCE_SUM && b->reduce == REDUCE_SUM && dtype_is_float(a->element->dtype) &&
                a->element->dtype == b->element->dtype && a->rank == b->rank && a->lane_loops == b->lane_loops && a->rank > rows &&
                a->extent[a->rank - 1] >= LANES;
    for (int d = 0; same && d < a->rank; d++)
        same = a->extent[d] == b->extent[d] && a->reduced[d] == b->reduced[d] && (d < rows || a->reduced[d]);
    return same && tail_extent(a, rows) >= LONG && !expr_any(b->element, loads_written, a);
}

size_t emit_loops(struct expr_scope *s, struct writer *w, const struct part *originals, size_t count, int rows)
{
    struct part p = originals[0], next = originals[count > 1];
    part_collapse(s->arena, &p, rows);
    part_collapse(s->arena, &next, rows);
    struct nest n = {.s = s, .w = w, .p = &p, .walkers = {&p}, .walker_count = 1, .type = s->index_type, .rows = rows, .names_used = rows};
    if (count > 1 && walk_together(&p, &next, rows))
        n.walkers[n.walker_count++] = &next;
    for (int d = rows; d < LOOP_MAX_DIMS; d++)
        s->index[d] = "0";
    if (is_empty(&p, false))
        return 1;
    if (p.reduce == REDUCE_NONE) {
        int last = p.rank - 1;
        while (last > rows && !counts(&p, last))
            last--;
        for (int d = rows; d < p.rank; d++) {
            if (d == last && counts(&p, d) && selects_apart(&p, d))
                write_line(w, "STEPC_APART_LOOP");
            open_loop(&n, d);
        }
        s->declares |= n.open == 0;
        emit_stores(s, w, &p);
        close_to(&n, 0);
        return 1;
    }
    n.lane = name_in(&s->names, "l");
    int tail = p.rank, last_kept = -1;
    while (tail > rows && (p.reduced[tail - 1] || !counts(&p, tail - 1)))
        tail--;
    bool tail_counts = false;
    for (int d = tail; d < p.rank; d++)
        tail_counts |= p.reduced[d] && counts(&p, d);
    for (int d = rows; d < p.rank; d++)
        if (!p.reduced[d] && counts(&p, d))
            last_kept = d;
    if (p.lane_loops > 0)
        tail = p.rank - p.lane_loops;
    if (tail_counts || last_kept < 0)
        write_lanes(&n, tail);
    else
        write_columns(&n, last_kept);
    return (size_t)n.walker_count;
}
