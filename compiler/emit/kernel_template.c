/* Kernels made from templates (templates/, tree/template.h): what goes into the holes.
 *
 *   integer holes     the kernel's ints; WITH_FINISH and the like: is there a part for the hole?
 *                     AGAIN_FINISH and the like: may that part run twice for an element, as it reads nothing that
 *                     it writes?
 *                     READS_FINISH and the like: does it read rows of memory of its own for each row of the result?
 *   type holes        T: the kernel's type; LABELS: the type of operand "labels"
 *   statement holes   the stores of the part of that name; the call's arguments are the indices and then the result
 *                     A hole "loss_at" stands for the part "loss" with indices. Without a part: nothing
 *                     A hole "finish_ahead" asks for the memory that the part "finish" will read
 *                     x_into(n, k, i, to): element (n, k, i) of operand "x", which is computed (then WITH_X is 1),
 *                     into to[i]
 *   expression holes  exp_of(x): the elementary function; weights_at(i): element i of operand "weights"
 *   parameters        the operand's pointer, moved to its offset and to the place of the outer loops */
#include "emit/emit_internal.h"

#include "lower/items.h"
#include "lower/product.h"
#include <string.h>

struct template_filler {
    struct expr_scope *s;
    const struct kernel *k;
    const struct block_place *block; /* a stage: which block; else NULL */
};

typedef const struct expr *const *arguments;

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static const struct part *part_of(const struct kernel *k, const char *hole)
{
    for (size_t p = 0; p < k->parts.count; p++)
        if (str_equal(k->parts.data[p].hole, hole))
            return &k->parts.data[p];
    return NULL;
}

/* "weights_at" without "_at"; the hole itself where it does not end so. */
static const char *without(struct arena *a, const char *hole, const char *ending)
{
    return str_ends_with(hole, ending) ? arena_strndup(a, hole, strlen(hole) - strlen(ending)) : hole;
}

/* The part "update" runs inside loops over whole vectors. Where bits or bytes count, or vectors are not wanted,
 * division is division. */
static bool divides_wide(const struct emit_options *o, const struct part *p)
{
    return str_equal(p->hole, "update") && !o->reproducible && !o->small && o->simd != SIMD_NONE;
}

/* The scope within the template: indices of the outer loops, then what the template says of so many inner ones. */
static struct expr_scope scope_within(const struct template_filler *f, arguments args, size_t count)
{
    struct expr_scope s = *f->s;
    for (int d = f->k->outer_rank; d < LOOP_MAX_DIMS; d++) {
        const size_t inner = (size_t)(d - f->k->outer_rank);
        s.index[d] = inner < count ? args[inner] : NULL;
    }
    return s;
}

/* The stores of a part. args: indices of the part's inner dims, then the result if the hole hands over one. */
static void run_part(struct template_filler *f, struct tree_builder *b, const struct part *p, arguments args,
                     size_t count)
{
    const size_t inner = (size_t)(p->rank - f->k->outer_rank);
    if (count < inner)
        UNREACHABLE("hole '%s' of template '%s' has %zu arguments for %zu indices", p->hole,
                    f->k->tmpl.traits->name, count, inner);
    struct expr_scope s = scope_within(f, args, inner);
    if (count > inner)
        s.result = args[count - 1];
    s.divides_wide = divides_wide(s.e->options, p);
    emit_stores(&s, b, p);
}

/* ---- what a part will read --------------------------------------------------------------------------------------- */

struct ahead {
    struct expr_scope *s;
    struct tree_builder *b; /* NULL: only look */
    int last;               /* the loop that runs through the elements of a row */
    VEC(const struct access *) known;
    bool found;
};

static bool is_same_place(const struct access *a, const struct access *b)
{
    return a->buffer == b->buffer && a->offset == b->offset && !memcmp(a->stride, b->stride, sizeof a->stride);
}

static void fetch_access(const struct access *a, void *data)
{
    struct ahead *const h = data;
    if (h->last < 1 || a->stride[h->last] == 0 || a->stride[h->last - 1] == 0 || a->term_count > 0)
        return; /* the same for all rows: it stays near */
    h->found = true;
    if (!h->b)
        return;
    for (size_t i = 0; i < h->known.count; i++)
        if (is_same_place(h->known.data[i], a))
            return;
    vec_push(h->s->arena, &h->known, a);
    const struct expr *const element = access_element(h->s, a);
    const struct expr *const place = tree_address(h->s->arena, element->var, element->arg[0]);
    tree_run(h->b, tree_call(h->s->arena, DTYPE_INDEX, CALL_NAMED, "STEPC_AHEAD", &place, 1));
}

static void each_load_ahead(const struct part *p, struct ahead *h)
{
    h->last = p->rank - 1;
    for (size_t i = 0; i < p->stores.count; i++)
        expr_each_load(p->stores.data[i].value, fetch_access, h);
}

static bool reads_rows(const struct part *p)
{
    struct ahead h = {0};
    each_load_ahead(p, &h);
    return h.found;
}

/* Hole "finish_ahead": asks for the memory that the part "finish" reads at these indices. What it only writes gains
 * nothing: GELU of 512 x 512, two results: 4.1 instead of 3.8 ms. */
static void run_ahead(struct template_filler *f, struct tree_builder *b, const struct part *p, arguments args,
                      size_t count)
{
    struct expr_scope s = scope_within(f, args, count);
    struct ahead h = {.s = &s, .b = b};
    each_load_ahead(p, &h);
}

/* ---- calls of BLAS ----------------------------------------------------------------------------------------------- */

/* Hole "blas(left, right, to, row)": a call of runtime/blas/. */
static void run_blas(struct template_filler *f, struct tree_builder *b, arguments args)
{
    struct arena *const a = f->s->arena;
    const struct product_sizes s = product_sizes_of(f->k);
    const struct expr *const m = index_constant(a, s.m), *const n = index_constant(a, s.n);
    const struct expr *const k = index_constant(a, s.k);
    const struct expr *const a_row = index_constant(a, s.a_row), *const a_col = index_constant(a, s.a_col);
    const struct expr *const b_row = index_constant(a, s.b_row), *const b_col = index_constant(a, s.b_col);
    const struct expr *const all[] = {m, n, k, args[0], a_row, a_col, args[1], b_row, b_col, args[2], args[3]};
    f->s->e->has_blas = true;
    tree_run(b, tree_call(a, DTYPE_INDEX, CALL_NAMED, arena_printf(a, "stepc_blas_%s", c_type(f->k->tmpl.type)), all,
                          sizeof all / sizeof *all));
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* "x" of the hole "x_into", or NULL. */
static const struct operand *operand_of(const struct template_filler *f, const char *hole, const char *ending)
{
    const char *const param = without(f->s->arena, hole, ending);
    for (int o = 0; o < f->k->tmpl.operand_count && param != hole; o++)
        if (str_equal(f->k->tmpl.operands[o].param, param))
            return &f->k->tmpl.operands[o];
    return NULL;
}

/* args: indices of the operand's inner loops, then where the element goes, by the last of them. */
static void run_into(struct template_filler *f, struct tree_builder *b, const struct operand *o, arguments args,
                     size_t count)
{
    struct expr_scope s = scope_within(f, args, (size_t)(o->rank - f->k->outer_rank));
    const struct expr *value = o->value, *const to = args[count - 1];
    expr_hoist(&s, b, &value, 1);
    value = expr_resolve(&s, value);
    tree_set(b, tree_element(s.arena, to->var, index_add(s.arena, to->arg[0], args[count - 2])), SET_TO, value);
}

static const struct expr *operand_element(struct template_filler *f, const char *hole, arguments args, size_t count)
{
    const struct operand *const o = count == 1 ? operand_of(f, hole, "_at") : NULL;
    if (!o)
        return NULL;
    struct access a = o->access;
    struct expr_scope s = scope_within(f, args, 1);
    a.stride[f->k->outer_rank] = 1;
    return access_element(&s, &a);
}

/* ---- holes ------------------------------------------------------------------------------------------------------- */

static void run_hole(void *user, struct tree_builder *b, const char *hole, arguments args, size_t count)
{
    struct template_filler *const f = user;
    struct arena *const a = f->s->arena;
    const struct part *const p = part_of(f->k, without(a, hole, "_at")), *const exact = part_of(f->k, hole);
    const char *const ahead = without(a, hole, "_ahead");
    const struct operand *const computed = operand_of(f, hole, "_into");
    if (exact || p)
        run_part(f, b, exact ? exact : p, args, count);
    else if (ahead != hole && part_of(f->k, ahead))
        run_ahead(f, b, part_of(f->k, ahead), args, count);
    else if (computed && computed->value)
        run_into(f, b, computed, args, count);
    else if (str_equal(hole, "blas"))
        run_blas(f, b, args);
}

/* Hole "finish_place()" and the like: where the part "finish" stores its first element. */
static const struct expr *place_of_result(struct template_filler *f, const struct part *p)
{
    struct expr_scope s = scope_within(f, NULL, 0);
    const struct expr *const first = access_element(&s, &p->stores.data[0].to);
    return tree_address(s.arena, first->var, first->arg[0]);
}

static const struct expr *function_value(struct template_filler *f, const char *hole, arguments args, size_t count)
{
    const char *const name = without(f->s->arena, hole, "_of");
    for (int fn = 0; fn < EXPR_FN_COUNT && name != hole && count == 1; fn++)
        if (str_equal(expr_fn_name((enum expr_fn)fn), name))
            return expr_math(f->s->arena, (enum expr_fn)fn, args[0]);
    return NULL;
}

static const struct expr *hole_value(void *user, const char *hole, arguments args, size_t count)
{
    struct template_filler *const f = user;
    struct arena *const a = f->s->arena;
    if (str_equal(hole, "share"))
        return f->s->share ? tree_read(a, f->s->share) : index_constant(a, 0);
    if (f->s->pass && str_equal(hole, "pass"))
        return tree_read(a, f->s->pass);
    if (f->block && str_equal(hole, "skip"))
        return f->block->skip;
    if (f->block && str_equal(hole, "before"))
        return f->block->before;
    const char *const place = without(a, hole, "_place");
    if (place != hole && part_of(f->k, place))
        return place_of_result(f, part_of(f->k, place));
    const struct expr *const element = operand_element(f, hole, args, count);
    const struct expr *const value = element ? element : function_value(f, hole, args, count);
    if (!value)
        UNREACHABLE("template '%s': hole '%s' is not bound", f->k->tmpl.traits->name, hole);
    return value;
}

/* ---- bindings ---------------------------------------------------------------------------------------------------- */

typedef VEC(struct template_int) int_list;
typedef VEC(struct template_type) type_list;
typedef VEC(struct template_operand) operand_list;

static bool may_run_again(const struct kernel *k, const struct part *p)
{
    struct arena scratch = {0};
    buffer_list reads = {0};
    bool ok = true;
    kernel_reads(&scratch, k, &reads);
    for (size_t s = 0; s < p->stores.count; s++)
        for (size_t r = 0; r < reads.count; r++)
            ok &=
                reads.data[r] != p->stores.data[s].to.buffer && reads.data[r] != p->stores.data[s].to.buffer->place_of;
    arena_free(&scratch);
    return ok;
}

/* Does the part only store what it is given, all elements one behind the other? */
static bool is_plain(const struct kernel *k, const struct part *p)
{
    const struct access *const to = p->stores.count == 1 ? &p->stores.data[0].to : NULL;
    if (!to || p->stores.data[0].value->op != EXPR_RESULT || to->buffer->dtype != k->tmpl.type || to->term_count > 0)
        return false;
    int64_t step = 1;
    for (int d = p->rank - 1; d >= k->outer_rank; d--) {
        if (p->extent[d] > 1 && to->stride[d] != step)
            return false;
        step *= p->extent[d];
    }
    return true;
}

static void add_int(struct emission *e, int_list *ints, const char *prefix, const char *name, int64_t value)
{
    vec_push(e->arena, ints,
             ((struct template_int){.name = arena_printf(e->arena, "%s%s", prefix, name), .value = value}));
}

/* WITH_LATE_M and the like: is M known only when the kernel runs? */
static int_list bind_ints(struct emission *e, const struct kernel *k)
{
    int_list ints = {0};
    for (int i = 0; i < k->tmpl.int_count; i++) {
        const struct kernel_int *const x = &k->tmpl.ints[i];
        add_int(e, &ints, "", x->name, x->value);
        if (!is_late(&x->late))
            continue;
        ints.data[ints.count - 1].late = late_size(e, &x->late, x->value);
        add_int(e, &ints, "WITH_LATE_", x->name, 1);
    }
    add_int(e, &ints, "", "SHARES", k->cut.shares > 1 && k->cut.outer < 0 ? k->cut.shares : 1);
    for (int o = 0; o < k->tmpl.operand_count; o++)
        if (k->tmpl.operands[o].value)
            add_int(e, &ints, "WITH_", name_upper(e->arena, k->tmpl.operands[o].param), 1);
    for (size_t p = 0; p < k->parts.count; p++) {
        const char *const hole = name_upper(e->arena, k->parts.data[p].hole);
        add_int(e, &ints, "WITH_", hole, 1);
        add_int(e, &ints, "AGAIN_", hole, may_run_again(k, &k->parts.data[p]));
        add_int(e, &ints, "PLAIN_", hole, is_plain(k, &k->parts.data[p]));
        add_int(e, &ints, "READS_", hole, reads_rows(&k->parts.data[p]));
    }
    return ints;
}

static type_list bind_types(struct arena *a, const struct kernel *k)
{
    type_list types = {0};
    vec_push(a, &types, ((struct template_type){"T", c_type(k->tmpl.type), k->tmpl.type}));
    for (int o = 0; o < k->tmpl.operand_count; o++)
        vec_push(a, &types,
                 ((struct template_type){name_upper(a, k->tmpl.operands[o].param),
                                         c_type(k->tmpl.operands[o].access.buffer->dtype), DTYPE_INDEX}));
    return types;
}

static bool moves(const struct kernel *k, const struct access *a)
{
    bool found = a->offset != 0;
    for (int d = 0; d < k->outer_rank; d++)
        found |= a->stride[d] != 0 && k->outer_extent[d] != 1;
    return found;
}

/* Where an operand begins: a pointer of its own where the outer loops move it. */
static const struct expr *place_of_operand(struct template_filler *f, struct tree_builder *b, const struct operand *o)
{
    struct arena *const a = f->s->arena;
    const struct tree_var *const v = param_var(f->s, o->access.buffer);
    if (v->kind != VAR_POINTER || !moves(f->k, &o->access)) /* no pointer: one element, given by value */
        return tree_address(a, v, index_constant(a, 0));
    struct expr_scope s = scope_within(f, NULL, 0);
    const struct expr *const first = access_element(&s, &o->access);
    struct tree_var *const here =
        tree_var(a, VAR_POINTER, v->dtype, v->type, arena_printf(a, "%s_here", o->param));
    const struct expr *const place = tree_address(a, here, index_constant(a, 0));
    tree_declare(b, here, tree_address(a, first->var, first->arg[0]));
    note_outer(f->s->e, place);
    return place;
}

static operand_list bind_operands(struct template_filler *f, struct tree_builder *b)
{
    struct arena *const a = f->s->arena;
    operand_list list = {0};
    for (int o = 0; o < f->k->tmpl.operand_count; o++)
        if (!f->k->tmpl.operands[o].value)
            vec_push(a, &list, ((struct template_operand){f->k->tmpl.operands[o].param,
                                                          place_of_operand(f, b, &f->k->tmpl.operands[o])}));
    if (f->k->scratch.buffer)
        vec_push(a, &list, ((struct template_operand){f->k->scratch.param,
                                                      tree_address(a, param_var(f->s, f->k->scratch.buffer),
                                                                   index_constant(a, 0))}));
    return list;
}

/* ---- the body ---------------------------------------------------------------------------------------------------- */

static const struct template_kernel *template_of(const struct kernel *k)
{
    const struct template_kernel *const t = template_kernel_find(&template_trees, k->tmpl.traits->name);
    if (!t)
        UNREACHABLE("there is no template '%s'", k->tmpl.traits->name);
    return t;
}

void reserve_template_functions(struct emission *e, const struct kernel *k)
{
    kernel_each_item(it, k)
        if (it.kind == ITEM_STAGE)
            reserve_template_functions(e, it.stage);
    const char *const *const functions = k->kind == KERNEL_TEMPLATE ? template_of(k)->functions : NULL;
    for (size_t i = 0; functions && functions[i]; i++)
        map_set(&e->file.taken, functions[i], NULL);
}

static void build(struct template_filler *f, struct tree_builder *b, int stage)
{
    struct emission *const e = f->s->e;
    struct arena *const a = e->arena;
    const operand_list operands = bind_operands(f, b);
    const type_list types = bind_types(a, f->k);
    const int_list ints = bind_ints(e, f->k);
    const struct template_binding binding = {
        .ints = ints.data, .int_count = ints.count,
        .types = types.data, .type_count = types.count,
        .operands = operands.data, .operand_count = operands.count,
        .outer = &e->kernel_outer,
        .run = run_hole, .value = hole_value, .user = f};
    template_build(b, template_of(f->k), &binding, &e->instance);
    while (e->instance_stages.count < e->instance.functions.count)
        vec_push(a, &e->instance_stages, stage);
}

void emit_template_body(struct expr_scope *s, struct tree_builder *b, const struct kernel *k)
{
    int open = open_outer(s, b, k, k->outer_rank);
    build(&(struct template_filler){.s = s, .k = k}, b, 0);
    for (; open > 0; open--)
        tree_close(b);
}

void emit_template_stage(struct expr_scope *s, struct tree_builder *b, const struct kernel *k,
                         const struct block_place *place)
{
    build(&(struct template_filler){.s = s, .k = k, .block = place}, b, place->stage);
}
