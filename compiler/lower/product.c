/* Matrix products: sizes and strides for the product templates (templates/product.c). */
#include "lower/lower.h"
#include "lower/product.h"
#include "lower/targets.h"

#include <string.h>

/* A view of a matrix [outer.., rows, columns] over the loops of a product, where `rows` and `columns` are loops. */
static struct access access_over(const struct view *v, int rows, int columns)
{
    const int outer = v->shape.rank - 2;
    struct access a = {.buffer = v->buffer, .offset = v->offset};
    memcpy(a.stride, v->stride, (size_t)outer * sizeof *v->stride);
    a.stride[rows] += v->stride[outer];
    a.stride[columns] += v->stride[outer + 1];
    return a;
}

/* An operand less its zero point, in the type of the sums. */
static const struct expr *wide_operand(struct lower_ctx *c, enum dtype type, const struct view *v,
                                       const struct view *zero, int rows, int columns)
{
    const struct access at = access_over(v, rows, columns);
    const struct expr *const x = expr_cast(c->arena, type, lower_load_at(c, &at));
    if (!zero)
        return x;
    const struct access zero_at = access_over(zero, rows, columns);
    return expr_binary(c->arena, EXPR_SUB, x, expr_cast(c->arena, type, lower_load_at(c, &zero_at)));
}

/* Sums wrap, so their order is free, and a plain reduction serves: over the last loop, or, where rows of b lie in
 * memory as they are read, with outputs side by side. */
bool lower_product_of_integers(struct lower_ctx *c, enum dtype type, const struct view *a, const struct view *b,
                               const struct view *zero_a, const struct view *zero_b, const struct expr *finish)
{
    const int outer = a->shape.rank - 2;
    const bool beside = !finish && b->stride[outer + 1] == 1 && b->shape.dim[outer + 1] > 1;
    const int m = outer, n = beside ? outer + 2 : outer + 1, k = beside ? outer + 1 : outer + 2;
    struct shape domain = a->shape; /* outer.., m, then n and k */
    domain.rank = outer + 3;
    domain.dim[n] = b->shape.dim[outer + 1];
    domain.dim[k] = a->shape.dim[outer + 1];
    lower_kernel(c, "product");
    struct part *p = lower_part(c, &domain);
    p->reduce = REDUCE_SUM;
    p->reduced[k] = true;
    p->element = expr_binary(c->arena, EXPR_MUL, wide_operand(c, type, a, zero_a, m, k),
                             wide_operand(c, type, b, zero_b, k, n));
    const struct view out = lower_out_view(c, 0);
    struct view to = {.buffer = out.buffer, .shape = domain};
    struct shape kept = domain;
    kept.rank = outer + 2;
    kept.dim[outer + 1] = domain.dim[n];
    shape_strides(&kept, to.stride);
    to.stride[n] = 1;
    to.stride[k] = 0;
    lower_store(c, p, &to, finish ? finish : expr_result(c->arena, type));
    return true;
}

static const struct expr *take_result(const struct expr *result, void *element)
{
    (void)result;
    return element;
}

/* One term a sum (a gradient of weights for one sample): a loop nest, which needs neither tiles nor scratch and
 * fuses like any other. The sum starts from +0, which shows where the term is -0. */
static bool product_of_one_term(struct lower_ctx *c, const struct view *a, const struct view *b, enum dtype type,
                                const struct expr *finish)
{
    const int outer = a->shape.rank - 2;
    struct shape domain = a->shape; /* outer.., m, n */
    domain.dim[outer + 1] = b->shape.dim[outer + 1];
    struct access pa = {.buffer = a->buffer, .offset = a->offset}, pb = {.buffer = b->buffer, .offset = b->offset};
    memcpy(pa.stride, a->stride, (size_t)(outer + 1) * sizeof *a->stride);
    memcpy(pb.stride, b->stride, (size_t)outer * sizeof *b->stride);
    pb.stride[outer + 1] = b->stride[outer + 1];
    const struct expr *const term = expr_binary(c->arena, EXPR_MUL, lower_load_at(c, &pa), lower_load_at(c, &pb));
    const struct expr *const sum = expr_binary(c->arena, EXPR_ADD, expr_float(c->arena, type, 0), term);
    const struct expr_map map = {.arena = c->arena, .result = take_result, .data = (void *)(uintptr_t)sum};
    lower_kernel(c, "product");
    struct part *p = lower_part(c, &domain);
    const struct view to = view_of_buffer(lower_out_view(c, 0).buffer, &domain);
    lower_store(c, p, &to, finish ? expr_substitute(&map, finish) : sum);
    return true;
}

/* [outer.., m, k] x [k, n] is one product of outer * m rows when b does not change along the outer dims. */
static bool merge_rows(struct view *a, struct view *b)
{
    const int outer = a->shape.rank - 2;
    for (int d = 0; d < outer; d++)
        if (b->shape.dim[d] != 1 && b->stride[d] != 0)
            return false;
    const struct shape flat = SHAPE(shape_count_range(&a->shape, 0, outer + 1), a->shape.dim[outer + 1]);
    struct view merged;
    if (outer == 0 || !view_reshape(a, &flat, &merged))
        return false;
    *a = merged;
    b->shape = SHAPE(b->shape.dim[outer], b->shape.dim[outer + 1]);
    b->stride[0] = b->stride[outer];
    b->stride[1] = b->stride[outer + 1];
    return true;
}

static void bind_outer(struct kernel *k, const struct view *a)
{
    k->outer_rank = a->shape.rank - 2;
    memcpy(k->outer_extent, a->shape.dim, (size_t)k->outer_rank * sizeof *k->outer_extent);
}

static struct access outer_access(const struct view *v, int outer)
{
    struct access a = {.buffer = v->buffer, .offset = v->offset};
    memcpy(a.stride, v->stride, (size_t)outer * sizeof *v->stride);
    return a;
}

/* Tiles read b in place where its rows are contiguous and fill a vector. Rows far apart are packed nevertheless when
 * there are enough rows of a to pay for it: a column of tiles would touch too many pages, and one set of the cache
 * where the distance is a multiple of 4 KB. Without a cache they are read in place. */
bool product_packs(int64_t m, int64_t n, int64_t column_stride, const struct target *t)
{
    return column_stride != 1 || n < 16 || (n > 512 && m >= 8 && target_first_cache(t) > 0);
}

/* Columns of a packed panel: two vectors of 16, or one for a small product, where two gain nothing and cost memory
 * (the step of the MLP 64-32-10: 3.7 us and 12288 bytes with two, 3.8 us and 9472 bytes with one). */
int64_t product_panel_columns(int64_t m, int64_t n, int64_t k)
{
    enum { SMALL = 1 << 17 };
    return n <= 16 || m * n * k < SMALL ? 16 : 32;
}

/* How a large product is cut (templates/product.c). 160 terms of 512 columns, with the sums that wait, leave room in
 * a second cache of 1 MB; without such sums 1024 columns are better. Of a transposed b, long pieces of few columns
 * are read faster. 128 x 2048 x 2048 with AVX-512 and 128 terms, in GFLOP/s: 96 (256 terms: 79), transposed 96 (512
 * columns: 87); OpenBLAS 65 and 59. Other second caches hold more or fewer columns. */
enum { LARGE = 1 << 20, ROWS = 512, TILE = 256 };
enum { TERMS = 2 * PRODUCT_TERMS_OF_SUM, BYTES_OF_COLUMN = 2048 };
enum { TERMS_TRANSPOSED = 3 * PRODUCT_TERMS_OF_SUM, COLUMNS_TRANSPOSED = 128 };

static int64_t most_columns(const struct target *t, bool transposed, bool sums_wait)
{
    const int64_t waiting = target_second_cache(t) / BYTES_OF_COLUMN, most = sums_wait ? waiting : 2 * waiting;
    return transposed ? COLUMNS_TRANSPOSED : most;
}

/* How many floats are near, or far away (targets.h). */
static int64_t near_floats(const struct target *t)
{
    return target_near(t) / (int64_t)sizeof(float);
}

/* These are asked for before they are needed. 128 x 2048 x 2048: 96 instead of 68 GFLOP/s; a transposed b gains
 * nothing. 2048 x 2048 x 128: 95 instead of 90. In the step of a GPT also 512 x 512 (the gradient of GELU: 0.84 instead
 * of 0.92 ms), where a product alone would find them in the second cache. */
static int64_t far_floats(const struct target *t)
{
    return target_far(t) / (int64_t)sizeof(float);
}

static int64_t equal_parts(int64_t count, int64_t most, int64_t multiple)
{
    const int64_t parts = (count + most - 1) / most, part = (count + parts - 1) / parts;
    return (part + multiple - 1) / multiple * multiple;
}

/* The first of the last terms where `depth` come at a time. Fewer than half as many are no block of their own: all
 * sums that wait would be read and written once more, and what the finishing reads would be asked for too late. */
static int64_t first_of_last(int64_t terms, int64_t depth)
{
    const int64_t rest = terms % depth;
    return terms <= depth ? 0 : terms - (rest == 0 ? depth : rest < (depth + 1) / 2 ? depth + rest : rest);
}

/* Without a second cache there is nothing to cut for. */
static bool is_large(const struct product_sizes *s, const struct target *t)
{
    return s->n >= 64 && s->m >= 16 && s->m * s->n * s->k >= LARGE && target_second_cache(t) > 0;
}

/* Can cost models count the multiplications? What indices hold is checked for all kernels alike (lower/index.c). */
static bool can_be_counted(struct lower_ctx *c, int64_t m, int64_t n, int64_t k)
{
    const int64_t most = (int64_t)1 << 48, rows = m > 0 ? m : 1, columns = n > 0 ? n : 1;
    if (k <= most / rows / columns)
        return true;
    return lower_error(c, "a matrix product of more than 2^48 multiplications is not compiled");
}

enum { FEW_ROWS = 32 }; /* of a that are transposed for product_few, at least: two vectors */

#define ROWS_OF_PIECE 16 /* of a result that is cut by rows: two tiles */

static struct product_sizes sizes_of(const struct view *a, const struct view *b)
{
    const int outer = a->shape.rank - 2;
    return (struct product_sizes){.m = a->shape.dim[outer], .n = b->shape.dim[outer + 1], .k = a->shape.dim[outer + 1],
                                  .a_row = a->stride[outer], .a_col = a->stride[outer + 1], .b_row = b->stride[outer],
                                  .b_col = b->stride[outer + 1]};
}

static void bind_product(struct lower_ctx *c, enum product_form form, const struct view *a, const struct view *b,
                         enum dtype type)
{
    const int outer = a->shape.rank - 2;
    const struct access pa = outer_access(a, outer), pb = outer_access(b, outer);
    const struct product_sizes s = sizes_of(a, b);
    lower_template(c, &product_templates[form], type);
    product_set_sizes(c->kernel, &s);
    lower_template_operand(c, "a", &pa);
    lower_template_operand(c, "b", &pb);
}

/* A share packs all that the others share with it: b where rows are cut, a where columns are. */
static bool cuts_rows(int64_t m, int64_t n)
{
    return m >= n;
}

/* Rows of a transposed a are packed, those of four tiles at a time: they lie in many lines of memory, which fall
 * into few sets of the cache. 512 x 128 x 512: 2.6 instead of 3.2 ms with AVX-512, 2048 x 784 x 128: 4.9 instead of
 * 7.5 ms with AVX2; four tiles instead of one, whose rows are half a line, and asked for ahead: 0.74 instead of 0.80
 * ms. */
static void cut_blocked(struct kernel *k, int shares, const struct target *t)
{
    const struct product_sizes s = product_sizes_of(k);
    const int64_t m = s.m, n = s.n, terms = s.k;
    const bool transposed = s.b_row == 1, pack_a = s.a_col != 1;
    const bool cut_rows = shares > 1 && cuts_rows(m, n);
    const int64_t own = cut_rows ? m / shares + 24 : m; /* not always whole tiles, and the last one not a whole one */
    const int64_t most_terms = transposed ? TERMS_TRANSPOSED : TERMS, rows = own <= ROWS ? own + 8 : ROWS;
    const int64_t depth = terms > most_terms * 3 / 2 ? equal_parts(terms, most_terms, PRODUCT_TERMS_OF_SUM) : terms;
    const int64_t last = first_of_last(terms, depth), longest = terms - last > depth ? terms - last : depth;
    const int64_t columns = cut_rows ? n : (n + shares - 1) / shares;
    const int64_t block = equal_parts(columns, most_columns(t, transposed, last > 0), 32);
    kernel_set_int(k, "BLOCK", block);
    kernel_set_int(k, "DEPTH", depth);
    kernel_set_int(k, "LAST", last);
    kernel_set_int(k, "LONGEST", longest);
    kernel_set_int(k, "ROWS", last > 0 ? rows : m);
    kernel_set_int(k, "PACK_A", pack_a);
    kernel_set_int(k, "CUT_ROWS", cut_rows);
    kernel_set_int(k, "FETCH_B", !transposed && terms * n >= far_floats(t));
    kernel_set_int(k, "FETCH_OUT", m * n >= far_floats(t));
    k->scratch.count = longest * block + (pack_a ? longest * 32 + m : 0) + (last > 0 ? rows * block : TILE);
}

bool product_cut_blocked(struct kernel *k, int shares, const struct target *t)
{
    if (k->cut.pieces < shares)
        return false;
    cut_blocked(k, shares, t);
    return true;
}

static void bind_blocked(struct lower_ctx *c, const struct view *a, const struct view *b, enum dtype type)
{
    bind_product(c, PRODUCT_BLOCKED, a, b, type);
    const int64_t m = a->shape.dim[a->shape.rank - 2], n = b->shape.dim[b->shape.rank - 1];
    lower_template_pieces(c, cuts_rows(m, n) ? m / ROWS_OF_PIECE : (n + 31) / 32);
    cut_blocked(c->kernel, 1, c->l->target);
    lower_template_scratch(c, "panel", c->kernel->scratch.count);
}

/* A transposed b that is far larger than a and the result is read in place: 128 x 2048 x 2048 takes 8.9 instead of
 * 10.7 ms. The sums are cut where a block of a would fill half of the second cache. */
static bool is_transposed(const struct product_sizes *s)
{
    return s->a_col == 1 && s->b_row == 1 && s->m >= 32 && s->n * s->k > 2 * s->m * (s->k + s->n);
}

static void bind_transposed(struct lower_ctx *c, const struct view *a, const struct view *b, enum dtype type)
{
    enum { GROUP = 32 }; /* rows of b that are finished together, at most */
    const int outer = a->shape.rank - 2;
    const int64_t m = equal_parts(a->shape.dim[outer], a->shape.dim[outer], 32), k = a->shape.dim[outer + 1],
                  n = b->shape.dim[outer + 1];
    const int64_t fit = target_second_cache(c->l->target) / 2 / (int64_t)sizeof(float) / m,
                  most = fit < TERMS ? TERMS : fit,
                  depth = k > most * 3 / 2 ? equal_parts(k, most, PRODUCT_TERMS_OF_SUM) : k;
    const int64_t rows = n <= ROWS ? n + GROUP : ROWS;
    bind_product(c, PRODUCT_TRANSPOSED, a, b, type);
    lower_template_pieces(c, n / ROWS_OF_PIECE);
    lower_template_int(c, "DEPTH", depth);
    lower_template_int(c, "ROWS", rows);
    lower_template_scratch(c, "panel", m * k + (depth < k ? rows : GROUP) * m);
}

/* Sums of few rows of a transposed a, each an addition that waits for the one before, take longer than the tiles in
 * which they hide: 8 x 16 x 256 with them 0.8 instead of 1.1 us. */
static void bind_sums(struct lower_ctx *c, int64_t rows, int64_t row_stride)
{
    enum { MOST = 8 }; /* one tile */
    lower_template_int(c, "SUMS_IN_TILES", rows <= MOST && row_stride == 1 && !c->options.scalar);
}

static void bind_few(struct lower_ctx *c, const struct view *a, const struct view *b, enum dtype type)
{
    enum { OF_NEAR = 8 }; /* no more of it than an eighth is transposed at once */
    const int64_t m = a->shape.dim[a->shape.rank - 2], k = a->shape.dim[a->shape.rank - 1];
    const bool is_near = k * 4 * FEW_ROWS <= near_floats(c->l->target) / OF_NEAR;
    const int64_t rows = m >= 4 * FEW_ROWS && is_near ? 4 * FEW_ROWS : FEW_ROWS;
    bind_product(c, PRODUCT_FEW, a, b, type);
    lower_template_int(c, "PANEL", rows);
    lower_template_pieces(c, m / rows);
    lower_template_scratch(c, "panel", k * rows);
}

static void bind_small(struct lower_ctx *c, enum product_form form, const struct view *a, const struct view *b,
                       enum dtype type)
{
    const int outer = a->shape.rank - 2;
    const int64_t m = a->shape.dim[outer], k = a->shape.dim[outer + 1], n = b->shape.dim[outer + 1];
    bind_product(c, form, a, b, type);
    bind_sums(c, m, a->stride[outer]);
    lower_template_pieces(c, m / ROWS_OF_PIECE);
    if (form == PRODUCT_DIRECT)
        return;
    const int64_t panel = product_panel_columns(m, n, k);
    lower_template_int(c, "PANEL", panel);
    lower_template_scratch(c, "panel", k * panel);
}

/* Rows that follow each other in memory, and lie in no near cache. */
static bool has_far_rows(const struct kernel *k, const struct target *t)
{
    const struct matrix_sizes s = product_matrix_of(k);
    return s.row_step == s.columns && s.col_step == 1 && s.rows * s.columns >= far_floats(t);
}

/* How many rows of a matrix meet the vector at a time (templates/matrix_vector.c). Of whole rows as many as hide the
 * latency of additions; fewer where they lie a multiple of 2 KB apart, and so in two of 64 sets of a near cache (100
 * x 512: 2.9 instead of 4.0 us), or come from far away, and those next are asked for (stepc_row_sums.h). Of rows side
 * by side as many as registers hold, or where the matrix is larger than a near cache, whole columns as far as their
 * sums stay in one: memory is then read in its order (120 x 400: 3.5 instead of 4.3 us). */
static int64_t rows_at_once(const struct kernel *k, int shares, const struct target *t)
{
    enum { IN_REGISTERS = 64, MOST = 2048, WHOLE = 32, FEWER = 16, FAR = 8, DISTANT = 8, APART = 2048 };
    const struct matrix_sizes s = product_matrix_of(k);
    const int64_t rows = s.rows, step = s.row_step;
    if (step != 1 && s.col_step != 1)
        return DISTANT;
    const bool apart = step * (int64_t)dtype_size(k->tmpl.type) % APART == 0 && target_first_cache(t) > 0;
    if (step != 1)
        return has_far_rows(k, t) ? FAR : apart ? FEWER : WHOLE;
    if (rows <= IN_REGISTERS || rows * s.columns < near_floats(t))
        return IN_REGISTERS;
    const int64_t waiting = equal_parts((rows + shares - 1) / shares, MOST, 16);
    return waiting > IN_REGISTERS ? waiting : IN_REGISTERS + 16;
}

static bool sums_wait(const struct kernel *k)
{
    return product_matrix_of(k).row_step == 1 && kernel_int(k, "BLOCK") > 64;
}

static void cut_vector(struct kernel *k, int shares, const struct target *t)
{
    const int64_t block = rows_at_once(k, shares, t);
    kernel_set_int(k, "BLOCK", block);
    kernel_set_int(k, "FETCH", has_far_rows(k, t));
    k->scratch.count =
        sums_wait(k) ? product_matrix_of(k).columns > kernel_int(k, "TERMS") ? 2 * block : block : k->scratch.count;
}

bool product_cut_vector(struct kernel *k, int shares, const struct target *t)
{
    if (k->cut.pieces < shares)
        return false;
    cut_vector(k, shares, t);
    return true;
}

/* N == 1, or swapped: M == 1, and b' is the matrix. */
static void bind_matrix_vector(struct lower_ctx *c, const struct view *a, const struct view *b, enum dtype type,
                               bool swapped, int64_t terms_of_sum)
{
    const int outer = a->shape.rank - 2;
    const struct access pa = outer_access(a, outer), pb = outer_access(b, outer);
    lower_template(c, &product_templates[PRODUCT_VECTOR], type);
    lower_template_int(c, "M", a->shape.dim[outer]); /* M, N for the name */
    lower_template_int(c, "N", b->shape.dim[outer + 1]);
    lower_template_int(c, "K", a->shape.dim[outer + 1]);
    lower_template_int(c, "SWAPPED", swapped);
    lower_template_int(c, "ROWS", swapped ? b->shape.dim[outer + 1] : a->shape.dim[outer]);
    lower_template_int(c, "ROW_STEP", swapped ? b->stride[outer + 1] : a->stride[outer]);
    lower_template_int(c, "COL_STEP", swapped ? b->stride[outer] : a->stride[outer + 1]);
    lower_template_int(c, "VECTOR_STEP", swapped ? a->stride[outer + 1] : b->stride[outer]);
    lower_template_int(c, "TERMS", terms_of_sum);
    const struct matrix_sizes s = product_matrix_of(c->kernel);
    cut_vector(c->kernel, 1, c->l->target);
    if (sums_wait(c->kernel))
        lower_template_scratch(c, "waiting", c->kernel->scratch.count);
    lower_template_pieces(c, s.rows / (s.row_step == 1 ? 64 : ROWS_OF_PIECE));
    lower_template_operand(c, "matrix", swapped ? &pb : &pa);
    lower_template_operand(c, "vector", swapped ? &pa : &pb);
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

enum product_form product_choose(const struct product_sizes *s, const struct lower_options *o)
{
    enum { FEW = 4, NARROW = 8 }; /* columns: a quarter and half of a vector */
    if (s->n == 1 || s->m == 1)
        return PRODUCT_VECTOR;
    if (is_large(s, o->target))
        return is_transposed(s) ? PRODUCT_TRANSPOSED : PRODUCT_BLOCKED;
    if (!product_packs(s->m, s->n, s->b_col, o->target))
        return PRODUCT_DIRECT;
    if (o->scalar || s->n > NARROW)
        return PRODUCT_PACKED;
    const bool few = s->n <= FEW && s->m >= FEW_ROWS && s->k * FEW_ROWS <= near_floats(o->target) && s->a_col == 1;
    return few ? PRODUCT_FEW : PRODUCT_NARROW;
}

static void bind_form(struct lower_ctx *c, const struct product_sizes *s, const struct view *a, const struct view *b,
                      enum dtype type, int64_t terms_of_sum)
{
    const enum product_form form = product_choose(s, &c->options);
    switch (form) {
    case PRODUCT_VECTOR: bind_matrix_vector(c, a, b, type, s->n != 1, terms_of_sum); break;
    case PRODUCT_TRANSPOSED: bind_transposed(c, a, b, type); break;
    case PRODUCT_BLOCKED: bind_blocked(c, a, b, type); break;
    case PRODUCT_FEW: bind_few(c, a, b, type); break;
    default: bind_small(c, form, a, b, type);
    }
}

bool lower_product(struct lower_ctx *c, const struct view *a_in, const struct view *b_in, int64_t terms_of_sum,
                   const struct expr *finish)
{
    struct view a = *a_in, b = *b_in;
    const enum dtype type = dtype_computed(a.buffer->dtype);
    if (!dtype_is_float(type))
        return lower_product_of_integers(c, type, &a, &b, NULL, NULL, finish);
    if (!can_be_counted(c, a.shape.dim[a.shape.rank - 2], b.shape.dim[b.shape.rank - 1], a.shape.dim[a.shape.rank - 1]))
        return false;
    if (!finish)
        merge_rows(&a, &b);
    const int outer = a.shape.rank - 2;
    const int64_t m = a.shape.dim[outer], n = b.shape.dim[outer + 1], k = a.shape.dim[outer + 1];
    const int64_t terms = k < terms_of_sum ? k > 0 ? k : 1 : terms_of_sum;
    const struct view out = lower_out_view(c, 0);
    if (m == 0 || n == 0)
        return true;
    if (k == 1)
        return product_of_one_term(c, &a, &b, type, finish);
    bind_outer(lower_kernel(c, "product"), &a);
    const struct product_sizes sizes = sizes_of(&a, &b);
    bind_form(c, &sizes, &a, &b, type, terms);
    lower_template_int(c, "TERMS", terms);
    lower_template_flops(c, 2 * m * n * k);
    struct part *p = lower_template_part(c, "finish", 2, (int64_t[]){m, n});
    struct shape shape = {.rank = p->rank};
    memcpy(shape.dim, p->extent, (size_t)p->rank * sizeof *p->extent);
    const struct view to = view_of_buffer(out.buffer, &shape);
    lower_store(c, p, &to, finish ? finish : expr_result(c->arena, type));
    return true;
}
