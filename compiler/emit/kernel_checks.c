/* Checks of a kernel as functions of their own, which entries call before they write anything: indices and labels are
 * in their range, what is to be stored is finite. */
#include "emit/emit_internal.h"

#include <inttypes.h>
#include <string.h>

/* Is v outside of what may be? Without jumps where a loop asks, which stays one of vectors then. */
static const struct expr *outside_of(struct arena *a, const struct check *c, const struct expr *v, bool in_loop)
{
    const struct expr *const below = tree_condition(a, EXPR_LT, v, expr_int(a, DTYPE_INT64, c->low)),
                      *const above = tree_condition(a, EXPR_GE, v, expr_int(a, DTYPE_INT64, c->high));
    const struct expr *const outside = tree_condition(a, in_loop ? EXPR_OR : EXPR_EITHER, below, above);
    if (!c->has_except)
        return outside;
    const struct expr *const differs = tree_condition(a, EXPR_NE, v, expr_int(a, DTYPE_INT64, c->except));
    return tree_condition(a, in_loop ? EXPR_AND : EXPR_BOTH, outside, differs);
}

/* What a check returns that has found something wrong, or not. */
static const struct expr *status_if(struct arena *a, const struct expr *is_wrong, const struct check *c)
{
    return index_choose(a, is_wrong, index_text(a, c->status), index_text(a, "STEPC_OK"));
}

/* How many integers a check looks at that lie one behind the other, with the first at the parameter; 0: they do not, or
 * it is known late. */
static int64_t row_of_check(const struct check *c)
{
    const struct access *const a = c->value->op == EXPR_LOAD ? c->value->access : NULL;
    const enum dtype d = c->value->dtype;
    if (!a || a->offset != 0 || a->term_count > 0 || (d != DTYPE_INT64 && d != DTYPE_INT32) || c->has_except)
        return 0;
    int64_t count = 1;
    for (int i = c->rank - 1; i >= 0; i--) {
        if (c->extent[i] != 1 && (a->stride[i] != count || is_late(&c->late[i])))
            return 0;
        count *= c->extent[i];
    }
    return count > 1 ? count : 0;
}

/* wrong = 0; for (i..) { v = ..; wrong |= v is outside; } return wrong == 0 ? STEPC_OK : status; */
static void build_check(struct expr_scope *s, struct name_scope *names, const struct check *c, const char *type,
                        stmt_list *out)
{
    static const char *const wishes[] = {"i", "j", "k", "m", "n", "p"};
    struct arena *const a = s->arena;
    struct tree_builder b = tree_builder(a, out);
    const int64_t row = row_of_check(c);
    if (row > 0) {
        const struct expr *const args[] = {
            tree_address(a, param_var(s, c->value->access->buffer), index_constant(a, 0)), index_constant(a, row),
            expr_int(a, DTYPE_INT64, c->low), expr_int(a, DTYPE_INT64, c->high)};
        const char *const name = c->value->dtype == DTYPE_INT32 ? "stepc_outside32" : "stepc_outside64";
        tree_return(&b, status_if(a, tree_call_routine(a, DTYPE_INDEX, name, "kernels/stepc_labels.h", args, 4), c));
        return;
    }
    struct tree_var *const wrong = tree_var(a, VAR_CELL, DTYPE_INDEX, "uint64_t", name_in(names, "wrong"));
    int open = 0;
    for (int d = 0; d < c->rank; d++) {
        if (c->extent[d] == 1)
            continue;
        if (open == 0)
            tree_declare(&b, wrong, index_constant(a, 0));
        const struct expr *const to = late_size(s->e, &c->late[d], c->extent[d]);
        s->index[d] = emit_open_loop(&b, type, name_in(names, wishes[open % 6]), c->extent[d], to, NULL, 1);
        open++;
    }
    struct tree_var *const v = tree_var(a, VAR_VALUE, DTYPE_INT64, "int64_t", name_in(names, "v"));
    tree_declare(&b, v, expr_resolve(s, expr_cast(a, DTYPE_INT64, c->value)));
    const struct expr *const outside = outside_of(a, c, tree_read(a, v), open > 0);
    if (open == 0) {
        tree_return(&b, status_if(a, outside, c));
        return;
    }
    const struct expr *const none = index_compare(a, EXPR_EQ, tree_read(a, wrong), index_constant(a, 0));
    tree_set(&b, tree_read(a, wrong), SET_OR, index_cast(a, "uint64_t", outside));
    for (; open > 0; open--)
        tree_close(&b);
    tree_return(&b, index_choose(a, none, index_text(a, "STEPC_OK"), index_text(a, c->status)));
}

/* check_indices, check_4_indices, check_4_of_16_indices: none is called after a tensor, for it may serve several. */
static const char *check_name(struct emission *e, const struct check *c)
{
    struct arena *const a = e->arena;
    const char *const what = str_equal(c->status, "STEPC_E_LABEL")        ? "labels"
                             : str_equal(c->status, "STEPC_E_NOT_FINITE") ? "finite"
                                                                          : "indices";
    int64_t count = 1;
    for (int d = 0; d < c->rank; d++)
        count *= c->extent[d];
    const char *const wishes[] = {arena_printf(a, "check_%s", what),
                                  arena_printf(a, "check_%" PRId64 "_%s", count, what),
                                  arena_printf(a, "check_%" PRId64 "_of_%" PRIu64 "_%s", count,
                                               (uint64_t)c->high - (uint64_t)c->low, what)};
    return name_first_free(&e->file, wishes, sizeof wishes / sizeof *wishes);
}

/* The function of a check, whose parameters and body are made. */
static struct kernel_function *check_function(struct emission *e, const struct check *c, struct expr_scope *s,
                                              struct tree_function *t)
{
    const char *const key = function_text(s, t);
    struct kernel_function *f = map_get(&e->checks, key);
    if (f)
        return f;
    const bool is_finite = !strcmp(c->status, "STEPC_E_NOT_FINITE");
    f = arena_new(e->arena, struct kernel_function);
    note_needs(e, t);
    note_tree(e, f, t);
    t->name = f->name = check_name(e, c);
    f->tree = t;
    f->text = "";
    f->definition = function_text(s, t);
    vec_push(e->arena, &f->comments,
             is_finite
                 ? "Each value must be a finite number."
                 : arena_printf(e->arena, "Each value must be in %" PRId64 " .. %" PRId64 ".", c->low, c->high - 1));
    map_set(&e->checks, key, f);
    vec_push(e->arena, &e->functions, f);
    return f;
}

struct kernel_call check_call(struct emission *e, const struct kernel *k, const struct check *c)
{
    /* a part, for the type of indices and the loops */
    struct part as_part = {.rank = c->rank};
    struct kernel only = {.label = "check", .id = k->id};
    buffer_list reads = {0};
    struct name_scope names = {.taken = {.arena = e->arena}};
    kernel_params params = {0};
    struct tree_function *const f = arena_new(e->arena, struct tree_function);
    *f = (struct tree_function){.name = "", .attributes = "STEPC_KERNEL", .type = "stepc_status"};
    memcpy(as_part.extent, c->extent, sizeof c->extent);
    vec_push(e->arena, &only.checks, *c);
    kernel_reads(e->arena, &only, &reads);
    vec_push(e->arena, &only.parts, as_part);
    for (size_t i = 0; i < reads.count; i++)
        vec_push(e->arena, &params,
                 ((struct kernel_param){.buffer = reads.data[i], .name = name_in(&names, "x")}));
    struct expr_scope s = scope_for(e, &params);
    const char *const type = kernel_index_type(&only, e->options->target);
    bool is_late_check = false;
    for (int d = 0; d < c->rank; d++)
        is_late_check |= is_late(&c->late[d]);
    e->count_var = is_late_check ? make_count_var(e, type) : NULL;
    if (e->count_var)
        e->count_var->name = name_in(&names, e->count_var->name);
    build_check(&s, &names, c, type, &f->body);
    struct kernel_call call = {.status = c->status, .takes_count = is_late_check};
    for (size_t i = 0; i < params.count; i++) {
        vec_push(e->arena, &f->params, param_var(&s, params.data[i].buffer));
        vec_push(e->arena, &call.arguments, ((struct call_argument){params.data[i].buffer, false}));
    }
    if (e->count_var)
        vec_push(e->arena, &f->params, e->count_var);
    verify_function(e, only.label, f);
    call.function = check_function(e, c, &s, f)->tree;
    call.name = call.function->name;
    return call;
}
