/* Long sums in blocks (docs/numerics.md): accumulators begin anew after so many terms, and are added to totals.
 *
 *   float lane[16] = {0.0f}, total[16] = {0.0f};
 *   for (int k = 0; k < 50000; k += 4096) {
 *       const int end = 50000 - k < 4096 ? 50000 : k + 4096;
 *       ... lane[l] += x[m + l] for each m up to `end`
 *       if (4096 < 50000 - k) { total[l] += lane[l], lane[l] = 0 for each l }
 *   }
 *   total[l] += lane[l] for each l */
#include "emit/kernel_nest.h"

static int64_t iterations(const struct part *p, int from, int to)
{
    int64_t count = 1;
    for (int d = from; d < to; d++)
        count *= p->reduced[d] ? p->extent[d] : 1;
    return count;
}

static int summed_loops(const struct part *p, int from, int to)
{
    int loops = 0;
    for (int d = from; d < to; d++)
        loops += p->reduced[d] && p->extent[d] != 1;
    return loops;
}

static bool is_late_between(const struct part *p, int from, int to)
{
    bool late = false;
    for (int d = from; d < to; d++)
        late |= p->reduced[d] && is_late(&p->late[d]);
    return late;
}

/* Rows of `row` elements that make a block. */
static int64_t rows_of_block(int64_t row)
{
    return (BLOCK_OF_ROW + row - 1) / row;
}

bool blocks_of_rows(const struct nest *n, int tail)
{
    const struct part *const p = n->p;
    const int64_t row = iterations(p, tail, p->rank), rows = iterations(p, n->rows, tail);
    if (!p->in_blocks || row == 0)
        return false;
    return row > BLOCK_OF_ROW || (rows > 1 && (is_late_between(p, tail, p->rank) || rows > rows_of_block(row)));
}

bool blocks_of_columns(const struct nest *n)
{
    return n->p->in_blocks && iterations(n->p, n->rows, n->p->rank) > BLOCK_OF_COLUMN;
}

static void declare_totals(struct nest *n, const struct expr *width)
{
    const struct part *const first = n->p;
    n->blocks.width = width;
    for (int i = 0; i < n->walker_count; i++) {
        n->p = n->walkers[i];
        n->blocks.totals[i] = nest_declare_total(n, n->lanes[i]);
    }
    n->p = first;
}

static struct tree_var *declare_count(struct nest *n, int64_t most)
{
    struct tree_var *const held = tree_index_var(n->a, VAR_CELL, "int", "held", 0, most);
    tree_declare(n->b, held, index_constant(n->a, 0));
    return held;
}

/* The elements of a row: the product of its loops. */
static const struct expr *row_size(struct nest *n, int tail)
{
    const struct expr *size = index_constant(n->a, 1);
    for (int d = tail; d < n->p->rank; d++)
        size = index_mul(n->a, size, late_size(n->s->e, &n->p->late[d], n->p->extent[d]));
    return size;
}

/* Rows of a block, where their length is known late. */
static const struct expr *late_rows(struct nest *n, const struct expr *row)
{
    struct tree_var *const rows =
        tree_index_var(n->a, VAR_VALUE, "int", "rows", 1, BLOCK_OF_ROW);
    const struct expr *const sum = index_add(n->a, row, index_constant(n->a, BLOCK_OF_ROW - 1));
    tree_declare(n->b, rows, index_cast(n->a, "int", index_div(n->a, sum, row)));
    return tree_read(n->a, rows);
}

void blocks_begin_rows(struct nest *n, int tail, const struct expr *width)
{
    const struct part *const p = n->p;
    const int64_t row = iterations(p, tail, p->rank);
    declare_totals(n, width);
    if (row > BLOCK_OF_ROW)
        n->blocks.row = row_size(n, tail);
    if (iterations(p, n->rows, tail) == 1)
        return;
    const bool late = is_late_between(p, tail, p->rank);
    if (!late && row < BLOCK_OF_ROW && summed_loops(p, n->rows, tail) == 1) {
        n->blocks.rows = rows_of_block(row);
        return;
    }
    n->blocks.most = late ? late_rows(n, row_size(n, tail)) : index_constant(n->a, rows_of_block(row));
    if (late || row < BLOCK_OF_ROW)
        n->blocks.held = declare_count(n, BLOCK_OF_ROW);
}

void blocks_begin_columns(struct nest *n, const struct expr *width)
{
    declare_totals(n, width);
    if (summed_loops(n->p, n->rows, n->p->rank) == 1)
        return;
    n->blocks.most = index_constant(n->a, BLOCK_OF_COLUMN);
    n->blocks.held = declare_count(n, BLOCK_OF_COLUMN);
}

void blocks_begin_numbers(struct nest *n)
{
    n->blocks.most = index_constant(n->a, BLOCK_OF_ROW);
    n->blocks.held = declare_count(n, BLOCK_OF_ROW);
}

static void add_to_total(struct nest *n, int i, const struct expr *l, bool is_last)
{
    const struct tree_var *const lane = n->lanes[i], *const total = n->blocks.totals[i];
    const struct expr *const from = tree_element(n->a, lane, l);
    tree_set(n->b, tree_element(n->a, total, l), SET_SUM, from);
    if (!is_last)
        tree_set(n->b, from, SET_TO, expr_float(n->a, lane->dtype, 0));
}

void blocks_end_one(struct nest *n, bool is_last)
{
    for (int i = 0; i < n->walker_count; i++) {
        const struct expr *const l = nest_open_lane_loop(n, n->lanes[i]->count, n->blocks.width, LOOP_PLAIN);
        add_to_total(n, i, l, is_last);
        tree_close(n->b);
    }
}

const struct expr *blocks_end(struct nest *n, const struct expr *from, const struct expr *all, int64_t most,
                              int64_t block)
{
    struct arena *const a = n->a;
    struct tree_var *const end = tree_index_var(a, VAR_VALUE, n->type, "end", 0, most);
    const struct expr *const size = index_constant(a, block), *const left = index_sub(a, all, from);
    tree_declare(n->b, end, expr_select(a, expr_binary(a, EXPR_LT, left, size), all, index_add(a, from, size)));
    return tree_read(a, end);
}

const struct expr *blocks_open_row(struct nest *n, int64_t most)
{
    const struct tree_var *const v = tree_index_var(n->a, VAR_LOOP, n->type, "k", 0, most - 1);
    tree_open_loop(n->b, v, index_constant(n->a, 0), n->blocks.row, BLOCK_OF_ROW, LOOP_PLAIN);
    return tree_read(n->a, v);
}

void blocks_close_row(struct nest *n, const struct expr *from)
{
    const struct expr *const left = index_sub(n->a, n->blocks.row, from);
    tree_open_if(n->b, expr_binary(n->a, EXPR_LT, index_constant(n->a, BLOCK_OF_ROW), left));
    blocks_end_one(n, false);
    tree_close(n->b);
    tree_close(n->b);
}

void blocks_open(struct nest *n, int from, int to, int64_t block)
{
    int d = from;
    for (int k = from; k < to; k++) {
        if (n->p->reduced[k] && n->p->extent[k] != 1)
            d = k;
        else if (n->p->reduced[k])
            n->s->index[k] = NULL;
    }
    const int64_t extent = n->p->extent[d];
    const struct tree_var *const first = tree_index_var(n->a, VAR_LOOP, n->type, "k", 0, extent - 1);
    const struct tree_var *const k = tree_index_var(n->a, VAR_LOOP, n->type, "k", 0, extent - 1);
    const struct expr *const all = late_size(n->s->e, &n->p->late[d], extent), *const start = tree_read(n->a, first);
    tree_open_loop(n->b, first, index_constant(n->a, 0), all, block, LOOP_PLAIN);
    tree_open_loop(n->b, k, start, blocks_end(n, start, all, extent, block), 1, LOOP_PLAIN);
    n->s->index[d] = tree_read(n->a, k);
}

void blocks_close(struct nest *n)
{
    tree_close(n->b);
    blocks_end_one(n, false);
    tree_close(n->b);
}

/* if (held == most) { the block is done } */
static void end_if_full(struct nest *n)
{
    const struct expr *const held = tree_read(n->a, n->blocks.held);
    tree_open_if(n->b, expr_binary(n->a, EXPR_EQ, held, n->blocks.most));
    blocks_end_one(n, false);
    tree_set(n->b, held, SET_TO, index_constant(n->a, 0));
    tree_close(n->b);
}

static void count_one(struct nest *n)
{
    tree_set(n->b, tree_read(n->a, n->blocks.held), SET_SUM, index_constant(n->a, 1));
}

void blocks_count_row(struct nest *n)
{
    if (!n->blocks.held) {
        blocks_end_one(n, false);
        return;
    }
    count_one(n);
    end_if_full(n);
}

void blocks_count_term(struct nest *n)
{
    end_if_full(n);
    count_one(n);
}
