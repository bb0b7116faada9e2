/* stepc.CountUpTo: y = x, a number of elements. One below 0 or above `most` ends the entry, before anything is written:
 * a tensor has no more room (graph/bounded.h). */
#include "ops/op.h"

#include <inttypes.h>

/* is_certain: by how it is computed. is_asked: by --bound. */
static const struct op_attr attrs[] = {{.name = "is_asked", .type = ATTR_INT, .int_default = 0},
                                       {.name = "is_certain", .type = ATTR_INT, .int_default = 0},
                                       {.name = "most", .type = ATTR_INT, .required = true},
                                       {0}};
static const struct op_version versions[] = {{.since = 1}, {0}};
static const struct op_param inputs[] = {
    {.name = "count", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF}, {0}};
static const struct op_param outputs[] = {
    {.name = "count", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

static int64_t count_selects_from(const struct node *n, int input)
{
    return input == 0 ? op_attr_int(n, "most") + 1 : 0;
}

static bool count_eval(struct eval_ctx *c)
{
    const int64_t most = op_attr_int(c->node, "most");
    int64_t *const y = eval_out_i(c, 0);
    for (int64_t k = 0; k < eval_input(c, 0)->count; k++) {
        const int64_t x = eval_i(c, 0)[k];
        if (x < 0 || x > most)
            return eval_error(c, "data say that there are %" PRId64 " elements, and there is room for %" PRId64, x,
                              most);
        if (y != NULL)
            y[k] = x;
    }
    return true;
}

/* Found in a table of all that there may be: a runtime refuses other places. (Those that are certain are gone by then:
 * bounded_forget().) */
static bool count_plain(struct expand_ctx *c)
{
    const int64_t most = op_attr_int(c->node, "most");
    return expand_out(c, 0, build(c, "Gather", build_counter(c->b, DTYPE_INT64, 0, &SHAPE(most + 1)),
                                  expand_in(c, 0)));
}

static bool count_lower(struct lower_ctx *c)
{
    const struct view x = lower_view_of(c, 0), out = lower_out_view(c, 0);
    if (out.buffer->count == 0)
        return true;
    lower_kernel(c, NULL);
    lower_add_check(c, &x.shape, lower_load(c, &x), 0, op_attr_int(c->node, "most") + 1, "STEPC_E_INDEX");
    lower_store(c, lower_part(c, &out.shape), &out, lower_load(c, &x));
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (int64 x) => (int64 y) { y = stepc.CountUpTo <most = 4> (x) }", .feed = "index:5", .no_gradient = true},
    {.text = "g (int64[3] x) => (int64[3] y) { y = stepc.CountUpTo <most = 0> (x) }", .feed = "index:1",
     .no_gradient = true},
    {.text = "g (int32 x) => (int64 y) { y = stepc.CountUpTo <most = 4> (x) }",
     .error = "input 0 'x' is int32, expected int64"},
    {0}};

const struct op_def op_defs_count_up_to[] = {
    {.domain = DOMAIN_STEPC, .name = "CountUpTo", .versions = versions, .inputs = inputs, .outputs = outputs,
     .attrs = attrs, .infer = infer_same_as_input, .grad = grad_none,
     .plain = count_plain, .eval = count_eval, .lower = count_lower,
     .selects_from = count_selects_from, .samples = samples},
    {0}};
