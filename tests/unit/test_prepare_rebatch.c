/* Another batch than the example's, where constants say how many samples there are: what follows it, and what stays. */
#include "prepare/rebatch.h"

#include "train_models.h"
#include "suite.h"

#define W6 " = {1, 2, 3, 4, 5, 6}"
#define W9 " = {1, 2, 3, 4, 5, 6, 7, 8, 9}"

/* The batch is 4, then `to`. */
static const struct network {
    const char *signature, *tensors, *nodes;
    int64_t to;
    const char *y; /* sizes of y then; or what is said */
} networks[] = {
    /* a state is expanded in the dimension that recurrent layers call the batch, not in the first; it follows from x,
     * or is constant */
    {"float[5,4,2] x) => (float[5,1,4,3] y", "float[2,3] p" W6 ", int64[2] axes = {0, 1}, int64[3] wide = {1, 4, 3}",
     "m = ReduceMean(x, axes) t = MatMul(m, p) h = Expand(t, wide) y = RNN<hidden_size = 3>(x, w, r, , , h)", 6,
     "[5,1,6,3]"},
    {"float[5,4,2] x) => (float[5,1,4,3] y", "float[1,1,3] token = {1, 2, 3}, int64[3] wide = {1, 4, 3}",
     "h = Expand(token, wide) y = RNN<hidden_size = 3>(x, w, r, , , h)", 6, "[5,1,6,3]"},
    {"float[4,4,2] x) => (float[4,1,4,3] y", "float[1,1,3] token = {1, 2, 3}, int64[3] wide = {1, 4, 3}",
     "h = Expand(token, wide) y = RNN<hidden_size = 3>(x, w, r, , , h)", 6, "[4,1,6,3]"},
    {"float[4,2] x) => (float[4,2] y", "float[1,2] row = {1, 2}, int64[2] wide = {4, 2}",
     "h = Expand(row, wide) y = Add(x, h)", 6, "[6,2]"},
    /* what is declared: a number, the name that an open batch gets, another name */
    {"float[4,2] x) => (float[4,2] y", "int64[2] s = {4, 2}", "y = Reshape(x, s)", 6, "[6,2]"},
    {"float[4,2] x) => (float[batch,2] y", "int64[2] s = {4, 2}", "y = Reshape(x, s)", 6, "[6,2]"},
    {"float[4,2] x) => (float[n,2] y", "int64[2] s = {4, 2}", "y = Reshape(x, s)", 6, "[n,2]"},
    /* of files before IR 4: an input that has its value is no batch, whatever its size */
    {"float[4,4] x, float[4,4] q) => (float[4,4] y",
     "float[4,4] q = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, int64[2] s = {4, 4}",
     "t = Reshape(q, s) y = MatMul(x, t)", 6, "[6,4]"},
    /* what updates are put into has a row for each sample, or other rows */
    {"float[4,2] x, int64[4,2] k) => (float[4,3] y", "float[4,3] zeros = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}",
     "y = ScatterElements<axis = 1>(zeros, k, x)", 6, "[6,3]"},
    /* rows of several samples, beside a size that is what is left over; a size that is no batch's */
    {"float[4,3,2] x) => (float[12,2] y", "int64[2] s = {12, -1}", "y = Reshape(x, s)", 6, "[18,2]"},
    {"float[4,3,2] x) => (float[12,2] y", "int64[2] s = {12, 2}", "y = Reshape(x, s)", 6, "[18,2]"},
    {"float[3,4,2] x) => (float[3,4,1,3] y", "int64[3] s = {3, 4, 2}, int64[4] u = {0, 4, 1, -1}",
     "t = Reshape(x, s) a, h = RNN(t, w, r) y = Reshape(a, u)", 6, "[3,6,1,3]"},
    {"float[4,2] x) => (float[4,2] y", "float[1,2] row = {1, 2}, int64[2] wide = {8, 2}, int64[3] s = {-1, 2, 2}, "
     "int64[1] one = {1}",
     "t = Concat<axis = 1>(x, x) u = Reshape(t, s) v = ReduceMean<keepdims = 0>(u, one) g = Expand(row, wide) "
     "q = Reshape(g, s) p = ReduceMean<keepdims = 0>(q, one) y = Add(v, x)", 6, "[6,2]"},
    {"float[4,2] x, int64[4,2] k) => (float[4,3] y", "float[4,3] own = {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}",
     "y = ScatterElements<axis = 1>(own, k, x)", 6, "'own' has a part of its own for each sample of the example"},
    /* of operators that broadcast it is said; others have their own words */
    {"float[4,3] x) => (float[4,3] y", "float[4,3] own = {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}", "y = Add(x, own)", 6,
     "'own' [4,3] has a part for each of the 4 samples of the export"},
    {"float[4,2] x) => (float[4,5] y", "float[4,3] own = {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}",
     "y = Concat<axis = 1>(x, own)", 6,
     "dimension 0 of input 1 'own' is 4, expected "},
    /* parts of what is no batch */
    {"float[4,2] x) => (float[4,2] y", "float[3,2] rows" W6 ", int64[1] second = {1}, int64[1] third = {2}, "
     "int64[1] zero = {0}",
     "p = Gather(rows, second) q = Slice(rows, second, third, zero) s = Add(p, q) y = Add(x, s)", 6, "[6,2]"},
    /* the last: these rows are too few for most batches, so it does not become open */
    {"float[4,2] x, int64[4,2] k) => (float[6,3] y",
     "float[6,3] zeros = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}",
     "y = ScatterElements<axis = 1>(zeros, k, x)", 5, "[6,3]"},
};

static const char *sizes_of(const struct model_value_info *vi)
{
    return model_dims_text(&arena, vi->type.dims.data, vi->type.dims.count);
}

static struct model *read_network(const struct network *n)
{
    const char *const text = arena_printf(&arena,
                                          "<ir_version: 10, opset_import: [\"\" : 18]>\nnet (%s)\n"
                                          "<float[1,3,2] w" W6 ", float[1,3,3] r" W9 ", %s>\n{ %s }",
                                          n->signature, n->tensors, n->nodes);
    struct model *m;
    ck_assert(model_read_text(&diag, &arena, "network", text, strlen(text), &m));
    return m;
}

START_TEST(batches_change)
{
    const struct network *const n = &networks[_i];
    struct model *const m = read_network(n);
    struct edit e;
    struct strbuf report = {.arena = &arena};
    edit_begin(&e, &diag, &arena, m, &report);
    const bool ok = rebatch_model(&e, n->to, NULL);
    if (n->y[0] != '[') {
        ck_assert(!ok && has_message(n->y));
        return;
    }
    if (!ok)
        print_messages();
    ck_assert(ok);
    ck_assert_str_eq(sizes_of(m->graph->outputs.data[0]), n->y);
    must_combine(m); /* the sizes follow from the inputs', too */
}
END_TEST

/* Without a size of its own it takes any: here that of the example, and the other one. */
START_TEST(batches_open)
{
    const struct network *const n = &networks[_i];
    struct edit e;
    struct strbuf report = {.arena = &arena};
    struct model *const m = read_network(n);
    edit_begin(&e, &diag, &arena, m, &report);
    const bool ok = open_batch(&e, NULL, "--devices");
    const bool is_last = n == &networks[sizeof networks / sizeof *networks - 1];
    if (is_last || n->y[0] != '[') {
        ck_assert(!ok && has_message(is_last ? "expected at most 6" : n->y) && has_message("--devices: "));
        ck_assert(has_message("export the network with an open batch"));
        return;
    }
    if (!ok)
        print_messages();
    ck_assert(ok);
    for (int64_t size = 4; size <= n->to; size += n->to - 4) {
        struct map dims = {.arena = &arena};
        const struct import_options import = {.dims = &dims};
        map_set(&dims, "batch", &size);
        ck_assert(combine_program(&diag, &arena, m, &import, "test", NULL, &program));
        const char *const sizes =
            shape_text(&arena, &program_entry(program, "infer")->graph->outputs.data[0].value->shape);
        ck_assert(size != n->to || strchr(n->y, 'n') || strcmp(sizes, n->y) == 0);
    }
}
END_TEST

int main(void)
{
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, batches_change, 0, (int)(sizeof networks / sizeof networks[0]));
    tcase_add_loop_test(all, batches_open, 0, (int)(sizeof networks / sizeof networks[0]));
    return run_tests("prepare_rebatch", all);
}
