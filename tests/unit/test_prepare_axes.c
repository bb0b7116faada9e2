/* Where the batch is: what layers say of it, and how it is followed from them through what moves elements
 * (prepare/batch_axis.h). */
#include "prepare/batch_axis.h"
#include "prepare/squeezes.h"

#include "model/model.h"
#include "fixture.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* y follows from x, and maybe from h. A layer: w [1,3,4], r [1,3,3]. */
static const struct network {
    const char *inputs, *nodes;
    int x, y; /* the batch's dimension in both; -1: there is none */
    int h;    /* of another input, -1 where there is none to look at */
} networks[] = {
    /* the batch of recurrent layers */
    {"float[t,b,4] x", "s = RNN <hidden_size = 3> (x, w, r) y = Squeeze(s, one)", 1, 1, -1},
    {"float[b,t,4] x", "s = RNN <hidden_size = 3, layout = 1> (x, w, r) y = Squeeze(s, two)", 0, 0, -1},
    {"float[t,b,4] x", "s, e = RNN <hidden_size = 3> (x, w, r) y = Squeeze(e, zero)", 1, 0, -1},
    {"float[t,b,4] x, float[1,b,3] h", "s = RNN <hidden_size = 3> (x, w, r, , , h) y = Squeeze(s, one)", 1, 1, 1},
    {"float[b,t,4] x, float[b,1,3] h", "s = RNN <hidden_size = 3, layout = 1> (x, w, r, , , h) y = Squeeze(s, two)", 0,
     0, 0},
    {"float[t,4] x", "u = Unsqueeze(x, one) s = RNN <hidden_size = 3> (u, w, r) y = Squeeze(s, one)", -1, -1, -1},
    /* through what moves elements */
    {"float[b,t,4] x", "m = Transpose <perm = [1, 0, 2]> (x) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)",
     0, 1, -1},
    {"float[4,b,t] x", "m = Transpose <perm = [2, 1, 0]> (x) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)",
     1, 1, -1},
    {"float[4,t,b] x", "m = Transpose <perm = [1, 2, 0]> (x) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)",
     2, 1, -1},
    {"float[4,b,t] x", "m = Transpose(x) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 1, 1, -1},
    {"float[1,t,b,4] x", "m = Squeeze(x, zero) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 2, 1, -1},
    {"float[t,1,b,4] x", "m = Squeeze(x, one) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 2, 1, -1},
    {"float[t,b,2,2] x", "m = Reshape(x, rows) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 1, 1, -1},
    {"int64[t,b] x", "m = Gather(table, x) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 1, 1, -1},
    {"int64[b,t] x",
     "v = Transpose(x) m = Gather(table, v) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 0, 1, -1},
    {"float[t,2,b,4] x", "m = Gather <axis = 1> (x, k) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 2, 1,
     -1},
    /* a batch of one, made in front of the layer: the rows of x are steps, whatever they hold */
    {"float[t,4] x", "u = Reshape(x, steps_of_one) s = RNN <hidden_size = 3> (u, w, r) y = Squeeze(s, one)", -1, -1,
     -1},
    {"float[t,2,2] x", "u = Reshape(x, steps_of_one) s = RNN <hidden_size = 3> (u, w, r) y = Squeeze(s, one)", -1, -1,
     -1},
    {"float[t,1,2,2] x", "u = Reshape(x, steps_of_one) s = RNN <hidden_size = 3> (u, w, r) y = Squeeze(s, one)", 1, 1,
     -1},
    {"float[t,b,4] x", "m = MatMul(x, square) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 1, 1, -1},
    {"float[t,b,4,2] x", "m = MatMul(x, pair) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 1, 1, -1},
    {"float[t,b,2,4] x", "m = MatMul(pair, x) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 1, 1, -1},
    {"float[t,b,4] x, float[b,4] h", "m = Add(x, h) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 1, 1, 0},
    {"float[b,4] x", "u = Unsqueeze(x, zero) s = RNN <hidden_size = 3> (u, w, r) y = Squeeze(s, one)", 0, 1, -1},
    {"float[t,b,4] x, float[1,t,b,4] h",
     "a = Add(h, x) m = Squeeze(a, zero) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 1, 1, 2},
    {"float[6,12] x", "m = Reshape(x, boxes) s = RNN <hidden_size = 3> (m, w, r) y = Squeeze(s, one)", 1, 1, -1},
    /* steps that are written out */
    {"float[2,b,4] x", "p = Gather(x, k) q = Gather(x, l) y = Add(p, q)", 1, 0, -1},
    {"float[2,b,4] x", "p = Gather(x, k) y = Neg(p)", 0, -1, -1},
    {"float[2,b,4] x", "p, q = Split <axis = 0, num_outputs = 2> (x) y = Add(p, q)", 1, 1, -1},
    {"float[4,b,4] x", "p, q = Split <axis = 0, num_outputs = 2> (x) y = Add(p, q)", 0, -1, -1},
    {"float[b,2,4] x", "p = Gather <axis = 1> (x, k) q = Gather <axis = 1> (x, l) y = Add(p, q)", 0, 0, -1},
    /* products of what is computed */
    {"float[t,b,4] x", "m = Transpose <perm = [1, 0, 2]> (x) n = Transpose <perm = [0, 2, 1]> (m) y = MatMul(m, n)", 1,
     0, -1},
    {"float[b,t,4] x", "a = MatMul(x, square) y = Transpose <perm = [1, 0, 2]> (a)", 0, 1, -1},
};

static struct batch_axes axes_of(const struct network *n)
{
    const char *const text = arena_printf(
        &arena,
        "<ir_version: 10, opset_import: [\"\" : 18]>\n"
        "net (%s) => (float[u,v] y)\n"
        "<float[1,3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[1,3,3] r = {1, 2, 3, 4, 5, 6, 7, 8, 9}, "
        "float[2] pair = {1, 2}, float[4,4] square = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, "
        "float[2,4] table = {1, 2, 3, 4, 5, 6, 7, 8}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, "
        "int64 k = {0}, int64 l = {1}, int64[3] rows = {0, 0, 4}, int64[3] boxes = {6, 3, 4}, "
        "int64[3] steps_of_one = {-1, 1, 4}, "
        "int64[2] square_shape = {2, 2}, int64[2] row_shape = {1, 4}>\n{ %s }",
        n->inputs, n->nodes);
    struct model *m;
    struct batch_axes b;
    const bool ok = model_read_text(&diag, &arena, "network", text, strlen(text), &m);
    if (!ok)
        diag_print(&diag, stderr);
    ck_assert(ok);
    find_batch_axes(&arena, m, NULL, &b);
    return b;
}

START_TEST(batches)
{
    const struct network *const n = &networks[_i];
    const struct batch_axes b = axes_of(n);
    ck_assert_msg(batch_axis_of(&b, "x") == n->x, "%s: %d in x", n->nodes, batch_axis_of(&b, "x"));
    const struct shape *const y = size_of_value(&b, "y");
    ck_assert_msg(y != NULL, "%s", n->nodes);
    const int of_y = batch_dim_of_value(&b, "y", y->rank);
    ck_assert_msg(of_y == n->y, "%s: %d in y", n->nodes, of_y);
    for (int d = 0; d < y->rank && n->y >= 0; d++)
        ck_assert_msg(is_batch_dim(&b, "y", d) == (d == n->y), "%s: dimension %d of y", n->nodes, d);
    if (n->h >= 0)
        ck_assert_msg(batch_axis_of(&b, "h") == n->h, "%s: %d in h", n->nodes, batch_axis_of(&b, "h"));
}
END_TEST

/* In another layout, dimensions of 1 and 2 elements begin at one place: only that of 1 can be a batch of 1. */
START_TEST(a_batch_of_one_in_another_layout)
{
    const char *const inputs = "float[1,4] x";
    const char *const layer = "u = Unsqueeze(x, zero) s = RNN <hidden_size = 3> (u, w, r)";
    struct network n = {inputs, arena_printf(&arena, "%s y = Reshape(x, square_shape)", layer), 0, 0, -1};
    struct batch_axes b = axes_of(&n);
    ck_assert(is_batch_dim(&b, "x", 0) && !is_batch_dim(&b, "y", 0) && !is_batch_dim(&b, "y", 1));
    n.nodes = arena_printf(&arena, "%s y = Reshape(x, row_shape)", layer);
    b = axes_of(&n);
    ck_assert(is_batch_dim(&b, "x", 0) && is_batch_dim(&b, "y", 0) && !is_batch_dim(&b, "y", 1));
}
END_TEST

/* A Squeeze without axes keeps the batch of one; of what is declared, only what has the wrong rank then is left out. */
START_TEST(a_squeeze_keeps_the_batch)
{
    struct model *m;
    const char *const text =
        "<ir_version: 10, opset_import: [\"\" : 18]>\n"
        "net (float[5,1,4] x) => (float[5,3] y, float[5,1,1,3] s, float[5,3] z)\n"
        "<float[1,3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[1,3,3] r = {1, 2, 3, 4, 5, 6, 7, 8, 9}, "
        "int64[2] both = {1, 2}, float[5,3] h>\n"
        "{ s = RNN <hidden_size = 3> (x, w, r) h = Squeeze(s) y = Neg(h) z = Squeeze(s, both) }";
    ck_assert(model_read_text(&diag, &arena, "network", text, strlen(text), &m));
    keep_batch_of_squeezes(&diag, &arena, m, NULL);
    ck_assert_uint_eq(diag.messages.count, 1);
    ck_assert_ptr_nonnull(strstr(diag.messages.data[0].text, "the batch stays"));
    const struct model_value_info *const y = m->graph->outputs.data[0], *const s = m->graph->outputs.data[1];
    ck_assert(!y->type.has_shape && y->type.dims.count == 0);
    ck_assert(s->type.has_shape && s->type.dims.count == 4 && s->type.dims.data[3].value == 3);
    ck_assert(m->graph->outputs.data[2]->type.has_shape);
    ck_assert(!m->graph->value_infos.data[0]->type.has_shape);
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_loop_test(all, batches, 0, COUNT(networks));
    tcase_add_test(all, a_batch_of_one_in_another_layout);
    tcase_add_test(all, a_squeeze_keeps_the_batch);
    return run_tests("prepare_axes", all);
}
