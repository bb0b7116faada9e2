/* For tests of what comes after lowering: kernels made by hand, and a plain runner of them, in double. The numbers are
 * small and whole, so that results are exact in any order. */
#ifndef STEPC_TESTS_KERNELS_H
#define STEPC_TESTS_KERNELS_H

#include "base/str.h"
#include "lower/kernel.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static struct arena arena;
static struct diag diag;
static struct lowered lowered;

static inline void begin(void)
{
    diag = (struct diag){.arena = &arena};
    static const struct entry entry = {.name = "test"};
    lowered = (struct lowered){.arena = &arena, .diag = &diag, .entry = &entry};
}

static inline void end(void)
{
    arena_free(&arena);
}

/* ---- making kernels ---------------------------------------------------------------------------------------------- */

static inline struct buffer *buffer(enum buffer_kind kind, const char *name, int64_t count)
{
    struct buffer *const b = arena_new(&arena, struct buffer);
    *b = (struct buffer){.kind = kind, .dtype = DTYPE_FLOAT, .count = count, .shape = SHAPE(count), .name = name,
                         .id = (int)lowered.buffers.count};
    vec_push(&arena, &lowered.buffers, b);
    return b;
}

/* Element offset + sum of stride * index. */
#define AT(place, start, ...) ((struct access){.buffer = (place), .offset = (start), .stride = {__VA_ARGS__}})

static inline const struct expr *load(struct access a)
{
    return expr_load(&arena, &a);
}

static inline const struct expr *number(double x)
{
    return expr_float(&arena, DTYPE_FLOAT, x);
}

static inline const struct expr *result(void)
{
    return expr_result(&arena, DTYPE_FLOAT);
}

static inline const struct expr *add(const struct expr *x, const struct expr *y)
{
    return expr_binary(&arena, EXPR_ADD, x, y);
}

static inline const struct expr *mul(const struct expr *x, const struct expr *y)
{
    return expr_binary(&arena, EXPR_MUL, x, y);
}

/* index of loop dim < n ? x : y */
static inline const struct expr *below(int dim, int64_t n, const struct expr *x, const struct expr *y)
{
    const struct expr *const is = expr_binary(&arena, EXPR_LT, expr_index(&arena, dim),
                                              expr_int(&arena, DTYPE_INT64, n));
    return expr_select(&arena, is, x, y);
}

static inline struct part *part_of(struct kernel *k)
{
    return &k->parts.data[k->parts.count - 1];
}

#define EXTENTS(...) (sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__}

/* Further loops of the kernel: add_loops(k, EXTENTS(3, 4)). */
static inline void add_loops(struct kernel *k, size_t rank, const int64_t *extent)
{
    struct part p = {.rank = (int)rank};
    for (size_t d = 0; d < rank; d++)
        p.extent[d] = extent[d];
    vec_push(&arena, &k->parts, p);
}

static inline struct kernel *new_kernel(const char *label)
{
    struct kernel *const k = arena_new(&arena, struct kernel);
    k->id = (int)lowered.kernels.count;
    k->label = label;
    vec_push(&arena, &lowered.kernels, k);
    return k;
}

/* A kernel of loops over these extents, at the end of all. */
static inline struct kernel *loops(size_t rank, const int64_t *extent)
{
    struct kernel *const k = new_kernel("loops");
    add_loops(k, rank, extent);
    return k;
}

static inline void store(struct kernel *k, struct access to, const struct expr *value)
{
    vec_push(&arena, &part_of(k)->stores, ((struct store){to, value}));
}

/* The loops from `dim` on are summed over. */
static inline void sum(struct kernel *k, int dim, const struct expr *element)
{
    struct part *const p = part_of(k);
    p->reduce = REDUCE_SUM;
    p->element = element;
    for (int d = dim; d < p->rank; d++)
        p->reduced[d] = true;
}

static inline void set_operand(struct kernel *k, const char *param, struct access a)
{
    k->tmpl.operands[k->tmpl.operand_count++] = (struct operand){.param = param, .access = a};
}

static inline struct kernel *of_template(const struct template_traits *traits)
{
    struct kernel *const k = new_kernel("product");
    kernel_bind_template(&arena, k, traits, DTYPE_FLOAT);
    return k;
}

static const struct template_traits matrix_vector_template = {.name = "matrix_vector", .takes_update = true};

/* to[i] = sum over j of matrix[i,j] * vector[j], stored row by row; `finish` is what is stored. */
static inline struct kernel *matrix_vector(int64_t rows, int64_t columns, struct access matrix, struct access vector,
                                           struct access to, const struct expr *finish)
{
    struct kernel *const k = of_template(&matrix_vector_template);
    kernel_set_int(k, "ROWS", rows);
    kernel_set_int(k, "K", columns);
    kernel_set_int(k, "ROW_STEP", columns);
    kernel_set_int(k, "COL_STEP", 1);
    kernel_set_int(k, "VECTOR_STEP", 1);
    set_operand(k, "matrix", matrix);
    set_operand(k, "vector", vector);
    add_loops(k, EXTENTS(rows, 1));
    part_of(k)->hole = "finish";
    store(k, to, finish);
    return k;
}

static const struct template_traits turned_template = {.name = "product", .is_product = true, .has_row_sums = true};

/* to[m,n] = sum over k of a[m,k] * b[k,n]; a is stored transposed, K x M, b row by row. */
static inline struct kernel *turned_product(int64_t m, int64_t n, int64_t terms, struct access a, struct access b,
                                     struct access to, const struct expr *finish)
{
    struct kernel *const k = of_template(&turned_template);
    kernel_set_int(k, "M", m);
    kernel_set_int(k, "N", n);
    kernel_set_int(k, "K", terms);
    kernel_set_int(k, "A_ROW", 1);
    kernel_set_int(k, "A_COL", m);
    set_operand(k, "a", a);
    set_operand(k, "b", b);
    add_loops(k, EXTENTS(m, n));
    part_of(k)->hole = "finish";
    store(k, to, finish);
    return k;
}

/* ---- running them ------------------------------------------------------------------------------------------------ */

/* By buffer id. */
struct memory {
    double **at;
};

struct point {
    const struct memory *m;
    int64_t index[LOOP_MAX_DIMS];
    double result;
};

static inline double value_of(const struct point *p, const struct expr *e);

static inline double *element(const struct point *p, const struct access *a)
{
    int64_t at = a->offset;
    for (int t = 0; t < a->term_count; t++)
        at += a->term[t].stride * (int64_t)value_of(p, a->term[t].index);
    for (int d = 0; d < LOOP_MAX_DIMS; d++)
        at += a->stride[d] * p->index[d];
    ck_assert_msg(at >= 0 && at < a->buffer->count, "element %lld of %s, which has %lld", (long long)at,
                  a->buffer->name, (long long)a->buffer->count);
    return &p->m->at[a->buffer->id][at];
}

static inline double value_of(const struct point *p, const struct expr *e)
{
    double x[3] = {0};
    if (e->op == EXPR_SELECT)
        return value_of(p, e->arg[value_of(p, e->arg[0]) != 0 ? 1 : 2]);
    for (int i = 0; i < expr_arg_count(e); i++)
        x[i] = value_of(p, e->arg[i]);
    switch (e->op) {
    case EXPR_FLOAT: return e->f;
    case EXPR_INT: return (double)e->i;
    case EXPR_LOAD: return *element(p, e->access);
    case EXPR_INDEX: return (double)p->index[e->i];
    case EXPR_RESULT: return p->result;
    case EXPR_NEG: return -x[0];
    case EXPR_ADD: return x[0] + x[1];
    case EXPR_SUB: return x[0] - x[1];
    case EXPR_MUL: return x[0] * x[1];
    case EXPR_LT: return x[0] < x[1];
    default: ck_abort_msg("the runner does not know operation %d", (int)e->op);
    }
    return 0;
}

static inline void run_stores(const struct part *part, const struct point *p)
{
    double values[8];
    ck_assert_uint_le(part->stores.count, 8);
    for (size_t s = 0; s < part->stores.count; s++)
        values[s] = value_of(p, part->stores.data[s].value);
    for (size_t s = 0; s < part->stores.count; s++)
        *element(p, &part->stores.data[s].to) = values[s];
}

/* All points of the reduced loops from d on are added up. */
static inline void fold(const struct part *part, struct point *p, int d)
{
    if (d == part->rank) {
        p->result += value_of(p, part->element);
        return;
    }
    const int64_t turns = part->reduced[d] ? part->extent[d] : 1, kept = p->index[d];
    for (int64_t i = 0; i < turns; i++) {
        p->index[d] = part->reduced[d] ? i : kept;
        fold(part, p, d + 1);
    }
    p->index[d] = part->reduced[d] ? 0 : kept;
}

/* The loops from d on; those in front stand still. */
static inline void run_part(const struct part *part, struct point *p, int d)
{
    if (d == part->rank) {
        p->result = 0;
        if (part->reduce != REDUCE_NONE)
            fold(part, p, 0);
        run_stores(part, p);
        return;
    }
    for (p->index[d] = 0; p->index[d] < (part->reduced[d] ? 1 : part->extent[d]); p->index[d]++)
        run_part(part, p, d + 1);
    p->index[d] = 0;
}

static inline void run_rows(const struct kernel *k, struct point *p, int d)
{
    if (d == k->rows) {
        for (size_t i = 0; i < k->parts.count; i++)
            run_part(&k->parts.data[i], p, d);
        return;
    }
    for (p->index[d] = 0; p->index[d] < k->parts.data[0].extent[d]; p->index[d]++)
        run_rows(k, p, d + 1);
    p->index[d] = 0;
}

/* Each element is updated as soon as it is read, which is what the template may do at the earliest. */
static inline void run_matrix_vector(const struct kernel *k, struct point *p)
{
    for (int64_t i = 0; i < kernel_int(k, "ROWS"); i++) {
        double of_row = 0;
        for (int64_t j = 0; j < kernel_int(k, "K"); j++) {
            struct access matrix = k->tmpl.operands[0].access, vector = k->tmpl.operands[1].access;
            matrix.offset += i * kernel_int(k, "ROW_STEP") + j * kernel_int(k, "COL_STEP");
            vector.offset += j * kernel_int(k, "VECTOR_STEP");
            of_row += *element(p, &matrix) * *element(p, &vector);
            *p = (struct point){.m = p->m, .index = {i, j}};
            for (size_t part = 0; part < k->parts.count; part++)
                if (str_equal(k->parts.data[part].hole, "update"))
                    run_stores(&k->parts.data[part], p);
            *p = (struct point){.m = p->m};
        }
        *p = (struct point){.m = p->m, .index = {i}, .result = of_row};
        run_stores(&k->parts.data[0], p);
        *p = (struct point){.m = p->m};
    }
}

/* Sums of rows before anything else, which is when the template may have them at the earliest. */
static inline void run_product(const struct kernel *k, struct point *p)
{
    const int64_t rows = kernel_int(k, "M"), columns = kernel_int(k, "N"), terms = kernel_int(k, "K");
    struct access a = k->tmpl.operands[0].access, b = k->tmpl.operands[1].access;
    const int64_t a_at = a.offset, b_at = b.offset;
    for (int64_t i = 0; i < rows; i++) {
        *p = (struct point){.m = p->m, .index = {i}};
        for (int64_t t = 0; t < terms; t++) {
            a.offset = a_at + i * kernel_int(k, "A_ROW") + t * kernel_int(k, "A_COL");
            p->result += *element(&(struct point){.m = p->m}, &a);
        }
        for (size_t part = 0; part < k->parts.count; part++)
            if (str_equal(k->parts.data[part].hole, "row_sum"))
                run_stores(&k->parts.data[part], p);
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            *p = (struct point){.m = p->m, .index = {i, j}};
            for (int64_t t = 0; t < terms; t++) {
                a.offset = a_at + i * kernel_int(k, "A_ROW") + t * kernel_int(k, "A_COL");
                b.offset = b_at + t * columns + j;
                p->result += *element(&(struct point){.m = p->m}, &a) * *element(&(struct point){.m = p->m}, &b);
            }
            for (size_t part = 0; part < k->parts.count; part++)
                if (str_equal(k->parts.data[part].hole, "finish"))
                    run_stores(&k->parts.data[part], p);
        }
    *p = (struct point){.m = p->m};
}

static inline void run_kernel(const struct kernel *k, const struct memory *m)
{
    struct point p = {.m = m};
    if (k->kind == KERNEL_TEMPLATE && k->tmpl.traits->is_product)
        run_product(k, &p);
    else if (k->kind == KERNEL_TEMPLATE)
        run_matrix_vector(k, &p);
    else
        run_rows(k, &p, 0);
}

/* What is there before the first kernel: whole numbers, different ones in neighbouring places. Of temporaries
 * and outputs nothing. */
static inline struct memory fresh_memory(void)
{
    const struct memory m = {arena_array(&arena, double *, lowered.buffers.count + 1)};
    for (size_t b = 0; b < lowered.buffers.count; b++) {
        const struct buffer *const it = lowered.buffers.data[b];
        const bool is_set = it->kind != BUFFER_TEMP && it->kind != BUFFER_LOCAL && it->kind != BUFFER_OUTPUT;
        m.at[b] = arena_array(&arena, double, (size_t)it->count + 1);
        for (int64_t i = 0; i < it->count; i++)
            m.at[b][i] = is_set ? (double)((i + 1) * (int64_t)(2 * b + 3) % 23 - 7) : (double)NAN;
    }
    return m;
}

static inline struct memory run_all(void)
{
    const struct memory m = fresh_memory();
    vec_each(const struct kernel *, k, &lowered.kernels)
        run_kernel(k, &m);
    return m;
}

/* Are the same results in all that outlives the kernels? */
static inline void check_same_results(const char *name, const struct memory *a, const struct memory *b)
{
    for (size_t i = 0; i < lowered.buffers.count; i++) {
        const struct buffer *const it = lowered.buffers.data[i];
        for (int64_t k = 0; k < it->count && (it->kind == BUFFER_VARIABLE || it->kind == BUFFER_OUTPUT); k++)
            ck_assert_msg(a->at[i][k] == b->at[i][k], "%s: %s[%lld] is %g, was %g", name, it->name, (long long)k,
                          b->at[i][k], a->at[i][k]);
    }
}

#endif
