/* The functions of one kernel as trees: its body, those of its template, and what runs its shares. */
#include "emit/emit_internal.h"

#include "lower/items.h"
#include <string.h>

const char *own_name(const struct kernel *k, const struct buffer *b)
{
    for (size_t i = 0; i < k->own.count; i++)
        if (k->own.data[i].buffer == b)
            return k->own.data[i].param;
    return NULL;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

struct expr_scope scope_for(struct emission *e, const kernel_params *params)
{
    return (struct expr_scope){.e = e, .arena = e->arena, .params = params};
}

void emit_parts(struct expr_scope *s, struct tree_builder *b, const struct kernel *k, int open)
{
    const int own = k->rows > open ? emit_open_rows(s, b, k, open) : 0;
    for (size_t p = 0; p < k->parts.count;) {
        struct expr_scope part = *s;
        p += emit_loops(&part, b, &k->parts.data[p], k->parts.count - p, k->rows);
    }
    for (int i = 0; i < own; i++)
        tree_close(b);
}

void verify_function(struct emission *e, const char *label, const struct tree_function *f)
{
#ifndef NDEBUG
    const struct tree_var *arena = NULL;
    for (size_t i = 0; i < f->params.count; i++)
        if (str_equal(f->params.data[i]->name, "arena"))
            arena = f->params.data[i];
    const char *const wrong = tree_verify_function(e->arena, f, arena);
    if (wrong)
        UNREACHABLE("'%s': %s", label, wrong);
#else
    (void)e, (void)label, (void)f;
#endif
}

/* After each pass over the functions of a kernel. `around`: what they may name besides parameters. */
static void check_pass(struct emission *e, const char *pass, const struct kernel_trees *p, const tree_vars *around)
{
#ifndef NDEBUG
    for (size_t i = 0; i < p->functions.count; i++) {
        const char *const wrong = tree_verify_pass(e->arena, around, p->functions.data[i]);
        if (wrong)
            UNREACHABLE("'%s' after %s: %s", p->functions.data[i]->name, pass, wrong);
    }
#else
    (void)e, (void)pass, (void)p, (void)around;
#endif
}

struct shape_check {
    struct emission *e;
    const struct kernel_trees *trees;
};

static void check_shape_pass(void *user, const char *pass)
{
    const struct shape_check *const c = user;
    check_pass(c->e, pass, c->trees, &c->e->kernel_outer);
}

void check_entry(struct emission *e, const struct tree_function *f, const struct tree_var *state)
{
#ifndef NDEBUG
    const char *const wrong = tree_verify_entry(e->arena, f, state);
    if (wrong)
        UNREACHABLE("%s", wrong);
#else
    (void)e, (void)f, (void)state;
#endif
}

void note_outer(struct emission *e, const struct expr *read)
{
    vec_push(e->arena, &e->kernel_outer, read->var);
}

/* Is the memory cut as well, so that each share has a part to itself? */
static bool is_cut_along(const struct kernel *k, const struct buffer *b)
{
    return (b == k->scratch.buffer && k->cut.passes <= 1) || own_name(k, b);
}

/* An operand that a part changes in place is known by two names in functions of templates: as the template reads it,
 * and as the part writes it. There it is no restrict pointer. */
static bool has_two_names(const struct kernel *k, const struct kernel_param *p)
{
    bool is_operand = false;
    kernel_each_item(it, k)
        is_operand |= (it.kind == ITEM_OPERAND && operand_reads(it.operand, p->buffer)) ||
                      (it.kind == ITEM_STAGE && has_two_names(it.stage, p));
    return p->written && is_operand;
}

/* The statements of a kernel, or of a share of it. */
static void build_body(struct emission *e, const struct kernel *k, const kernel_params *params,
                       const struct tree_var *share, const struct tree_var *pass, stmt_list *out)
{
    stmt_list body = {0};
    struct tree_builder b = tree_builder(e->arena, &body), all = tree_builder(e->arena, out);
    struct expr_scope s = scope_for(e, params);
    s.knows_model = !e->kernel_is_shared;
    s.index_type = kernel_index_type(k, e->options->target);
    s.in_template = k->kind == KERNEL_TEMPLATE;
    s.shares = k->cut.shares;
    s.share = share;
    s.pass = pass;
    s.keeps_blocks = k->kind != KERNEL_TEMPLATE && k->kind != KERNEL_STAGES;
    e->kernel_outer.count = e->instance.functions.count = 0;
    e->instance_stages.count = 0;
    for (size_t i = 0; i < params->count; i++) {
        if (params->data[i].is_local)
            continue;
        struct tree_var *const v = (struct tree_var *)(uintptr_t)param_var(&s, params->data[i].buffer);
        v->is_restrict = !has_two_names(k, &params->data[i]);
        vec_push(e->arena, &e->kernel_outer, v);
    }
    const struct tree_var *const others[] = {share, pass, e->count_var};
    for (int i = 0; i < 3; i++)
        if (others[i])
            vec_push(e->arena, &e->kernel_outer, others[i]);
    if (k->kind == KERNEL_STAGES)
        emit_stages(&s, &b, k);
    else if (k->kind == KERNEL_TEMPLATE)
        emit_template_body(&s, &b, k);
    else
        emit_parts(&s, &b, k, 0);
    declare_kept_blocks(e, &all);
    for (size_t i = 0; i < body.count; i++)
        vec_push(e->arena, out, body.data[i]);
}

static bool divides_by_root(const struct expr *e, void *data)
{
    (void)data;
    return e->op == EXPR_DIV && e->i != 0;
}

static const char *attributes_of(const struct kernel_trees *p)
{
    bool is_wide = false;
    for (size_t i = 0; i < p->stages.count; i++)
        is_wide |= tree_any(&p->functions.data[i]->body, divides_by_root, NULL);
    return is_wide ? "STEPC_KERNEL STEPC_WIDE_VECTORS" : "STEPC_KERNEL";
}

static void add_if_read(struct arena *a, tree_vars *to, const struct tree_var *v)
{
    if (v && v->reads > 0)
        vec_push(a, to, v);
}

/* The parameters that a kernel turns out to have. */
static tree_vars kernel_vars(struct emission *e, const kernel_params *params)
{
    tree_vars list = {0};
    for (size_t i = 0; i < params->count; i++)
        if (!params->data[i].is_local)
            add_if_read(e->arena, &list, params->data[i].var);
    add_if_read(e->arena, &list, e->seed_var);
    for (size_t i = 0; i < e->counter_vars.count; i++)
        add_if_read(e->arena, &list, e->counter_vars.data[i]);
    add_if_read(e->arena, &list, e->count_var);
    return list;
}

/* A share is a function of its own: compilers forget `restrict` where OpenMP moves the body of a loop out of its
 * function, and vectors with it (a gradient of LayerNormalization, 512 x 128: 0.12 ms with two threads, 0.06 with
 * one). It gets the parameters of the kernel, moved to what is the share's own, its number and that of the pass. */
static struct tree_function *run_shares(struct emission *e, const struct kernel *k, const kernel_params *params,
                                        struct tree_function *share_function, const struct tree_var *share,
                                        const struct tree_var *pass)
{
    struct arena *const a = e->arena;
    struct tree_function *const f = arena_new(a, struct tree_function);
    struct tree_builder b = tree_builder(a, &f->body);
    const struct expr *const zero = index_constant(a, 0), **const args =
        arena_array(a, const struct expr *, share_function->params.count + 2);
    size_t count = 0;
    *f = (struct tree_function){.type = "void", .params = kernel_vars(e, params), .attributes = "STEPC_KERNEL",
                                .kind = FUNCTION_OWN};
    for (size_t i = 0; i < f->params.count; i++) {
        const struct tree_var *const v = f->params.data[i];
        const struct expr *at = zero;
        for (size_t p = 0; p < params->count; p++)
            if (params->data[p].var == v && is_cut_along(k, params->data[p].buffer))
                at = index_mul(a, tree_read(a, share),
                               index_constant(a, params->data[p].buffer->count / k->cut.shares));
        args[count++] = v->kind == VAR_POINTER ? tree_address(a, v, at) : tree_read(a, v);
    }
    if (share->reads > 0)
        args[count++] = tree_read(a, share);
    if (pass && pass->reads > 0)
        args[count++] = tree_read(a, pass);
    e->has_shares = true;
    if (pass)
        tree_open_loop(&b, pass, zero, index_constant(a, k->cut.passes), 1, LOOP_PLAIN);
    tree_open_loop(&b, share, zero, index_constant(a, k->cut.shares), 1, LOOP_SHARES);
    tree_run(&b, tree_call_function(a, share_function, args, count));
    tree_close(&b);
    if (pass)
        tree_close(&b);
    return f;
}

struct tree_var *make_count_var(struct emission *e, const char *index_type)
{
    const struct size_range *const r = e->program->range;
    const char *const name = name_of_local(e, r->name);
    return tree_index_var(e->arena, VAR_VALUE, index_type, name, r->low, r->high);
}

enum tree_sizes sizes_of(const struct emission *e)
{
    return e->options->small ? SIZES_ALL : SIZES_OUTER;
}

static void note_random(struct emission *e, struct kernel_trees *t)
{
    t->seed = e->seed_var && e->seed_var->reads > 0 ? e->seed_var : NULL;
    t->count = e->count_var && e->count_var->reads > 0 ? e->count_var : NULL;
    for (size_t i = 0; i < e->counter_vars.count; i++)
        if (e->counter_vars.data[i]->reads > 0) {
            vec_push(e->arena, &t->counters, e->counter_vars.data[i]);
            vec_push(e->arena, &t->counter_numbers, e->kernel_counters.data[i]);
        }
}

struct kernel_trees *build_kernel(struct emission *e, const struct kernel *k, const kernel_params *params)
{
    struct arena *const a = e->arena;
    struct kernel_trees *const trees = arena_new(a, struct kernel_trees);
    struct tree_function *const f = arena_new(a, struct tree_function);
    struct tree_var *share = NULL, *pass = NULL;
    e->kernel_counters.count = e->counter_vars.count = e->kernel_draws.count = 0;
    e->seed_var = NULL;
    if (k->cut.shares > 1)
        share = tree_var(a, VAR_LOOP, DTYPE_INDEX, "int", "share");
    if (k->cut.passes > 1)
        pass = tree_var(a, VAR_LOOP, DTYPE_INDEX, "int", "pass");
    e->count_var = kernel_is_late(k) ? make_count_var(e, kernel_index_type(k, e->options->target)) : NULL;
    build_body(e, k, params, share, pass, &f->body);
    if (e->seed_var)
        vec_push(a, &e->kernel_outer, e->seed_var);
    for (size_t i = 0; i < e->counter_vars.count; i++)
        vec_push(a, &e->kernel_outer, e->counter_vars.data[i]);
    for (size_t i = 0; i < e->instance.functions.count; i++) {
        vec_push(a, &trees->functions, e->instance.functions.data[i]);
        vec_push(a, &trees->stages, e->instance_stages.data[i]);
    }
    vec_push(a, &trees->functions, f);
    f->kind = FUNCTION_OWN;
    f->name = share ? "share" : k->label; /* until name_functions(); the label is not what makes a share another one */
    f->type = "void";
    check_pass(e, "building", trees, &e->kernel_outer);
    const struct tune machine = emit_machine(e);
    tune_functions(&machine, trees->functions.data, trees->functions.count, check_shape_pass,
                   &(struct shape_check){e, trees});
    const char *const wrong = tree_settle(a, trees->functions.data, trees->functions.count, &e->kernel_outer);
    if (wrong)
        UNREACHABLE("kernel '%s': %s", k->label, wrong);
    f->params = kernel_vars(e, params);
    add_if_read(a, &f->params, share);
    add_if_read(a, &f->params, pass);
    check_pass(e, "settling", trees, &(tree_vars){0});
    for (size_t i = 0; i < trees->functions.count; i++)
        tree_inline_elements(a, &trees->functions.data[i]->body);
    check_pass(e, "inlining", trees, &(tree_vars){0});
    if (share)
        vec_push(a, &trees->functions, run_shares(e, k, params, f, share, pass));
    trees->has_shares = share != NULL;
    note_random(e, trees);
    for (size_t i = 0; i < params->count; i++)
        vec_push(a, &trees->params, params->data[i]);
    tree_find_key(a, trees->functions.data, trees->functions.count, sizes_of(e),
                  &trees->key);
    return trees;
}

void finish_kernel(struct emission *e, const struct kernel *k, struct kernel_trees *trees)
{
    struct arena *const a = e->arena;
    const size_t count = trees->functions.count;
    tree_name(a, trees->functions.data, count, name_is_reserved);
    for (size_t i = 0; i < trees->stages.count; i++) {
        const int stage = trees->stages.data[i];
        trees->functions.data[i]->comment =
            template_comment(a, trees->functions.data[i], stage > 0 ? k->blocks.stages.data[stage - 1] : k,
                             &trees->params);
    }
    for (size_t i = 0; i < count; i++)
        verify_function(e, k->label, trees->functions.data[i]);
    trees->functions.data[trees->stages.count]->attributes = attributes_of(trees);
}
