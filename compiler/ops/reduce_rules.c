#include "ops/reduce_rules.h"

#include <math.h>
#include <string.h>

/* ---- axes -------------------------------------------------------------------------------------------------------- */

void reduce_axes(const struct node *n, bool *reduced)
{
    const int rank = node_input(n, 0)->shape.rank;
    struct value *v = node_input(n, 1);
    const struct tensor *axes = v != NULL ? value_known(v) : NULL;
    const bool all = (axes == NULL || axes->count == 0) && op_attr_int(n, "noop_with_empty_axes") == 0;
    for (int d = 0; d < rank; d++)
        reduced[d] = all;
    for (int64_t i = 0; axes != NULL && i < axes->count; i++) {
        const int64_t axis = tensor_get_int(axes, i);
        reduced[axis < 0 ? axis + rank : axis] = true;
    }
}

int64_t reduce_count(const struct node *n, const bool *reduced)
{
    const struct shape *x = &node_input(n, 0)->shape;
    int64_t count = 1;
    for (int d = 0; d < x->rank; d++)
        count *= reduced[d] ? x->dim[d] : 1;
    return count;
}

struct shape reduce_kept_shape(const struct node *n, const bool *reduced)
{
    struct shape s = node_input(n, 0)->shape;
    for (int d = 0; d < s.rank; d++)
        shape_set(&s, d, reduced[d] ? size_constant(1) : shape_size(&s, d));
    return s;
}

/* ---- one walk for all -------------------------------------------------------------------------------------------- */

/* Offsets of all points whose reduced dims (or kept ones) vary, in index order. */
static int64_t *offsets_along(struct arena *a, const struct shape *x, const bool *reduced, bool along_reduced,
                              int64_t *count)
{
    int64_t stride[SHAPE_MAX_RANK], index[SHAPE_MAX_RANK] = {0};
    struct shape s = *x;
    shape_strides(x, stride);
    for (int d = 0; d < s.rank; d++)
        if (reduced[d] != along_reduced)
            shape_set(&s, d, size_constant(1));
    *count = shape_count(&s);
    int64_t *offset = arena_array(a, int64_t, (size_t)*count);
    for (int64_t p = 0; p < *count; p++) {
        for (int d = 0; d < s.rank; d++)
            offset[p] += index[d] * stride[d];
        shape_next(&s, index);
    }
    return offset;
}

/* Extent of the reduced tail; 1: the last axis that counts is kept. */
static int64_t tail_count(const struct shape *x, const bool *reduced)
{
    int64_t tail = 1;
    for (int d = x->rank - 1; d >= 0 && (reduced[d] || x->dim[d] == 1); d--)
        tail *= x->dim[d];
    return tail;
}

/* Does step s, in rows of `tail` elements, begin another block of a sum? */
static bool begins_block(int64_t s, int64_t tail)
{
    if (tail == 1)
        return s > 0 && s % EVAL_BLOCK_OF_COLUMN == 0;
    const int64_t row = s / tail, place = s % tail, rows = (EVAL_BLOCK_OF_ROW + tail - 1) / tail;
    return place > 0 ? place % EVAL_BLOCK_OF_ROW == 0 : row > 0 && row % rows == 0;
}

struct fold_walk reduce_walk(struct eval_ctx *c)
{
    bool reduced[SHAPE_MAX_RANK];
    const struct shape *x = &c->in[0]->shape;
    reduce_axes(c->node, reduced);
    struct fold_walk w = {0};
    w.start = offsets_along(c->scratch, x, reduced, false, &w.results);
    w.step = offsets_along(c->scratch, x, reduced, true, &w.steps);
    w.lane = arena_array(c->scratch, int, (size_t)w.steps);
    const int64_t tail = tail_count(x, reduced);
    for (int64_t s = 0; s < w.steps && tail > 1; s++)
        w.lane[s] = (int)(s % tail % CONTRACT_LANES);
    w.begins = arena_array(c->scratch, bool, (size_t)w.steps);
    for (int64_t s = 0; s < w.steps; s++)
        w.begins[s] = begins_block(s, tail);
    return w;
}

enum dtype reduce_working_dtype(const struct eval_ctx *c)
{
    return dtype_is_float(c->in[0]->dtype) ? c->in[0]->dtype : DTYPE_DOUBLE;
}

static double combine_f(const struct eval_ctx *c, const struct reduction *r, double acc, double x)
{
    switch (r->fold) {
    case FOLD_SUM: return eval_round_to(c, reduce_working_dtype(c), acc + x);
    case FOLD_PROD: return eval_round_to(c, reduce_working_dtype(c), acc * x);
    case FOLD_MAX: return x > acc || isnan(x) ? x : acc;
    case FOLD_MIN: return x < acc || isnan(x) ? x : acc;
    }
    UNREACHABLE("fold %d", (int)r->fold);
}

static double element_f(const struct eval_ctx *c, const struct reduction *r, double x)
{
    return r->element == ELEMENT_ABS ? fabs(x) : r->element == ELEMENT_SQUARE ? eval_round(c, x * x) : x;
}

static double finish_f(const struct eval_ctx *c, const struct reduction *r, double x, int64_t count)
{
    const enum dtype d = c->in[0]->dtype;
    switch (r->finish) {
    case FINISH_PLAIN: return x;
    case FINISH_MEAN: return eval_round(c, x / eval_round(c, (double)count));
    case FINISH_SQRT: return eval_math(c, d, MATH_SQRT, x);
    case FINISH_LOG: return eval_math(c, d, MATH_LOG, x);
    }
    UNREACHABLE("finish %d", (int)r->finish);
}

/* What a block has summed joins the whole. */
static void end_block(const struct eval_ctx *c, const struct reduction *r, double *total, double *lane)
{
    for (int l = 0; l < CONTRACT_LANES; l++) {
        total[l] = combine_f(c, r, total[l], lane[l]);
        lane[l] = 0;
    }
}

double reduce_fold(const struct eval_ctx *c, const struct reduction *r, const struct fold_walk *w, const double *x)
{
    static const double neutral[] = {[FOLD_SUM] = 0, [FOLD_PROD] = 1, [FOLD_MAX] = -INFINITY, [FOLD_MIN] = INFINITY};
    if (w->steps == 1)
        return element_f(c, r, x[w->step[0]]);
    const bool sums = r->fold == FOLD_SUM;
    double lane[CONTRACT_LANES], total[CONTRACT_LANES] = {0};
    for (int l = 0; l < CONTRACT_LANES; l++)
        lane[l] = neutral[r->fold];
    for (int64_t s = 0; s < w->steps; s++) {
        if (sums && w->begins[s])
            end_block(c, r, total, lane);
        lane[w->lane[s]] = combine_f(c, r, lane[w->lane[s]], element_f(c, r, x[w->step[s]]));
    }
    if (sums) {
        end_block(c, r, total, lane);
        memcpy(lane, total, sizeof lane);
    }
    for (int half = CONTRACT_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] = combine_f(c, r, lane[l], lane[l + half]);
    return lane[0];
}

static bool less_i(enum dtype d, int64_t a, int64_t b)
{
    return d == DTYPE_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t combine_i(enum dtype d, const struct reduction *r, int64_t acc, int64_t x)
{
    switch (r->fold) {
    case FOLD_SUM: return eval_int_binary(d, '+', acc, x);
    case FOLD_PROD: return eval_int_binary(d, '*', acc, x);
    case FOLD_MAX: return less_i(d, acc, x) ? x : acc;
    case FOLD_MIN: return less_i(d, x, acc) ? x : acc;
    }
    UNREACHABLE("fold %d", (int)r->fold);
}

static int64_t neutral_i(enum dtype d, const struct reduction *r)
{
    switch (r->fold) {
    case FOLD_SUM: return 0;
    case FOLD_PROD: return 1;
    case FOLD_MAX: return d == DTYPE_BOOL ? 0 : dtype_min_int(d);
    case FOLD_MIN: return d == DTYPE_BOOL ? 1 : d == DTYPE_UINT64 ? -1 : dtype_max_int(d);
    }
    UNREACHABLE("fold %d", (int)r->fold);
}

static int64_t element_i(enum dtype d, const struct reduction *r, int64_t x)
{
    if (r->element == ELEMENT_SQUARE)
        return eval_int_binary(d, '*', x, x);
    return r->element == ELEMENT_ABS && dtype_is_signed(d) && x < 0 ? eval_int_binary(d, '-', 0, x) : x;
}

double reduce_wide(enum dtype d, int64_t x)
{
    return d == DTYPE_UINT64 ? (double)(uint64_t)x : (double)x;
}

/* Roots and logarithms of integers are taken in double and truncated. */
static int64_t finish_i(const struct eval_ctx *c, const struct reduction *r, int64_t x, int64_t count)
{
    const enum dtype d = c->in[0]->dtype;
    switch (r->finish) {
    case FINISH_PLAIN: return x;
    case FINISH_MEAN: return eval_int_binary(d, '/', x, count);
    case FINISH_SQRT: return dtype_from_double(d, eval_math(c, DTYPE_DOUBLE, MATH_SQRT, reduce_wide(d, x)));
    case FINISH_LOG: return dtype_from_double(d, eval_math(c, DTYPE_DOUBLE, MATH_LOG, reduce_wide(d, x)));
    }
    UNREACHABLE("finish %d", (int)r->finish);
}

static int64_t fold_i(const struct eval_ctx *c, const struct reduction *r, const struct fold_walk *w, const int64_t *x)
{
    const enum dtype d = c->in[0]->dtype;
    int64_t acc = neutral_i(d, r);
    for (int64_t s = 0; s < w->steps; s++)
        acc = combine_i(d, r, acc, element_i(d, r, x[w->step[s]]));
    return acc;
}

bool reduce_eval(struct eval_ctx *c, const struct reduction *r)
{
    struct eval_tensor *y = eval_output(c, 0);
    if (y == NULL)
        return true;
    const struct fold_walk w = reduce_walk(c);
    for (int64_t k = 0; k < w.results; k++) {
        if (y->f != NULL)
            y->f[k] = finish_f(c, r, reduce_fold(c, r, &w, eval_f(c, 0) + w.start[k]), w.steps);
        else
            y->i[k] = finish_i(c, r, fold_i(c, r, &w, eval_i(c, 0) + w.start[k]), w.steps);
    }
    return true;
}
