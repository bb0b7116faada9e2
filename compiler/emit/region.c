/* A region as a function: a loop over its steps that calls the kernels of its graph, one after the other. What a step
 * takes and makes are pointers, moved on by as much as one step has. */
#include "emit/emit_internal.h"
#include "graph/region.h"

#include <inttypes.h>
#include <string.h>

/* ---- variables --------------------------------------------------------------------------------------------------- */

struct region_function {
    struct emission *e;
    const struct kernel *kernel;
    const struct kernel_region *k;
    const char *entry;                /* in which the region stands */
    struct name_scope names;
    buffer_list outer;                /* memory outside: parameters, in this order */
    tree_vars params;                 /* these */
    struct tree_var *step, *arena;    /* the variable of the loop; a parameter where takes_arena */
    bool takes_arena;
    /* by inner buffer: where it begins, NULL: it has no elements; the local that says so, NULL: there is none */
    const struct expr **places;
    struct tree_var **locals;
    bool *declared;                   /* that local */
};

static const struct tree_var *param_of(const struct region_function *t, const struct buffer *outer)
{
    for (size_t i = 0; i < t->outer.count; i++)
        if (t->outer.data[i] == outer)
            return t->params.data[i];
    UNREACHABLE("'%s' is no parameter of its region", outer->name);
}

/* The smallest type that holds every place of what is sliced and stacked. */
static const char *index_type(const struct region_function *t)
{
    int64_t most = t->k->region->trips.most;
    for (size_t i = 0; i < t->outer.count; i++)
        most = t->outer.data[i]->count > most ? t->outer.data[i]->count : most;
    return target_index_type(t->e->options->target, most);
}

static const char *step_name(const struct region *r)
{
    return r->of_parts ? "part" : r->strips_of != NULL ? "strip" : "t";
}

/* Those that are written come first. */
static void make_params(struct region_function *t)
{
    struct arena *const a = t->e->arena;
    kernel_writes(a, t->kernel, &t->outer);
    const size_t written = t->outer.count;
    kernel_reads(a, t->kernel, &t->outer);
    map_set(&t->names.taken, "arena", NULL);
    reserve_prefix_macros(t->e, &t->names);
    reserve_written_functions(&t->names);
    t->step = tree_index_var(a, VAR_LOOP, index_type(t), name_in(&t->names, step_name(t->k->region)), 0,
                             t->k->region->trips.most - 1);
    t->arena = arena_var(t->e);
    for (size_t i = 0; i < t->outer.count; i++) {
        const struct buffer *const b = t->outer.data[i];
        struct tree_var *const v = tree_var(a, VAR_POINTER, b->dtype, c_type(b->dtype), name_in(&t->names, b->name));
        v->count = b->count;
        v->written = i < written;
        vec_push(a, &t->params, v);
    }
}

/* A local pointer to `place`, declared before the first statement that names it. */
static void make_local(struct region_function *t, const struct buffer *b, const char *wish, bool written,
                       const struct expr *place)
{
    struct tree_var *const v =
        tree_var(t->e->arena, VAR_POINTER, b->dtype, c_type(b->dtype), name_in(&t->names, wish));
    v->count = b->count;
    v->written = written;
    v->about = b->shape.rank ? shape_text(t->e->arena, &b->shape) : "scalar";
    t->locals[b->id] = v;
    t->places[b->id] = place;
}

/* x, x + 12, x + 12 * t */
static void make_port(struct region_function *t, const struct region_port *p)
{
    struct arena *const a = t->e->arena;
    const struct buffer *const b = p->inner;
    const struct tree_var *const outer = param_of(t, p->outer);
    const struct expr *const moving = index_mul(a, index_constant(a, p->step), tree_read(a, t->step));
    const struct expr *const at = index_add(a, index_constant(a, p->offset), moving);
    const struct expr *const place = tree_address(a, outer, at);
    if (p->step == 0)
        t->places[b->id] = place;
    else
        make_local(t, b, arena_printf(a, "%s_%s", outer->name, t->step->name), outer->written, place);
}

static void make_pointers(struct region_function *t)
{
    const struct lowered *const body = t->k->body;
    t->places = arena_array(t->e->arena, const struct expr *, body->buffers.count + 1);
    t->locals = arena_array(t->e->arena, struct tree_var *, body->buffers.count + 1);
    t->declared = arena_array(t->e->arena, bool, body->buffers.count + 1);
    for (size_t i = 0; i < t->k->reads.count; i++)
        make_port(t, &t->k->reads.data[i]);
    for (size_t i = 0; i < t->k->writes.count; i++)
        make_port(t, &t->k->writes.data[i]);
    for (size_t i = 0; i < body->buffers.count; i++) {
        const struct buffer *const b = body->buffers.data[i];
        if (b->kind == BUFFER_TEMP && b->count > 0 && t->k->plan->life[b->id].first >= 0) {
            t->takes_arena = true;
            make_local(t, b, b->name, true, arena_place(t->e, t->arena, b));
        }
    }
}

/* Nothing else of the file is called as the function's parameters and pointers are. */
static void reserve(const struct region_function *t, const char *name)
{
    map_set(&t->e->file.taken, name, NULL);
    map_set(&t->e->param_names, name, NULL);
}

static void list_plan(struct emission *e, const struct plan *plan, const char *entry);

static void list_region(struct emission *e, const struct kernel *k, const char *entry)
{
    struct region_function *const t = arena_new(e->arena, struct region_function);
    *t = (struct region_function){.e = e, .kernel = k, .k = k->region, .entry = entry};
    t->names.taken.arena = e->arena;
    make_params(t);
    make_pointers(t);
    for (size_t i = 0; i < t->outer.count; i++)
        reserve(t, t->params.data[i]->name);
    for (size_t i = 0; i < k->region->body->buffers.count; i++)
        if (t->locals[i])
            reserve(t, t->locals[i]->name);
    vec_push(e->arena, &e->regions, t);
    list_plan(e, k->region->plan, entry);
}

static void list_plan(struct emission *e, const struct plan *plan, const char *entry)
{
    vec_push(e->arena, &e->all_plans, plan);
    vec_push(e->arena, &e->plan_entries, entry);
    for (size_t i = 0; i < plan->lowered->kernels.count; i++)
        if (plan->lowered->kernels.data[i]->kind == KERNEL_REGION)
            list_region(e, plan->lowered->kernels.data[i], entry);
}

void list_plans(struct emission *e)
{
    for (size_t i = 0; i < e->program->entries.count; i++)
        list_plan(e, e->plans[i], e->program->entries.data[i].name);
}

const char *entry_of_plan(const struct emission *e, const struct plan *plan)
{
    for (size_t i = 0; i < e->all_plans.count; i++)
        if (e->all_plans.data[i] == plan)
            return e->plan_entries.data[i];
    UNREACHABLE("a plan of no entry");
}

static struct region_function *function_of(const struct emission *e, const struct kernel *k)
{
    for (size_t i = 0; i < e->regions.count; i++)
        if (e->regions.data[i]->kernel == k)
            return e->regions.data[i];
    UNREACHABLE("region '%s' is of no entry", k->label);
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

/* Declares what is named for the first time. */
static const struct expr *pointer_to(struct region_function *t, struct tree_builder *b, const struct buffer *to)
{
    const struct tree_var *const local = t->locals[to->id];
    if (!t->places[to->id])
        return tree_null(b->arena);
    if (!local)
        return t->places[to->id];
    if (!t->declared[to->id])
        tree_declare(b, local, t->places[to->id]);
    t->declared[to->id] = true;
    return tree_address(b->arena, local, index_constant(b->arena, 0));
}

static const struct expr *element_of(struct region_function *t, struct tree_builder *b, const struct buffer *x)
{
    const struct expr *const place = pointer_to(t, b, x);
    return tree_element(b->arena, place->var, place->arg[0]);
}

static const struct expr *size_of(struct arena *a, const struct buffer *b)
{
    return index_mul(a, index_constant(a, b->count), tree_sizeof(a, c_type(b->dtype)));
}

/* memcpy(to, from, size), or memset(to, 0, size). */
static void run_on_memory(struct tree_builder *b, const char *function, const struct expr *to,
                          const struct expr *from, const struct expr *size)
{
    const struct expr *const args[] = {to, from, size};
    tree_run(b, tree_call(b->arena, DTYPE_INDEX, CALL_NAMED, function, args, 3));
}

static void add_copy(struct region_function *t, struct tree_builder *b, const struct buffer *to,
                     const struct buffer *from)
{
    if (to->count == 0)
        return;
    if (to->count == 1) {
        const struct expr *const target = element_of(t, b, to), *const value = element_of(t, b, from);
        tree_set(b, target, SET_TO, value);
        return;
    }
    const struct expr *const target = pointer_to(t, b, to), *const source = pointer_to(t, b, from);
    run_on_memory(b, "memcpy", target, source, size_of(b->arena, to));
}

static void add_kernel(struct region_function *t, struct tree_builder *b, const struct kernel *k)
{
    struct buffer *from, *to;
    if (kernel_is_copy(k, &from, &to)) {
        add_copy(t, b, to, from);
        return;
    }
    const struct kernel_call call = emit_kernel(t->e, t->k->plan, k);
    const size_t most = call.arguments.count + call.sizes.count + 1;
    const struct expr **const args = arena_array(b->arena, const struct expr *, most);
    size_t count = 0;
    for (size_t i = 0; i < call.arguments.count; i++) {
        const struct call_argument *const x = &call.arguments.data[i];
        args[count++] = x->by_value ? element_of(t, b, x->buffer) : pointer_to(t, b, x->buffer);
    }
    if (call.takes_arena) {
        args[count++] = tree_address(b->arena, t->arena, index_constant(b->arena, 0));
        t->takes_arena = true;
    }
    for (size_t i = 0; i < call.sizes.count; i++)
        args[count++] = call.sizes.data[i];
    tree_run(b, tree_call_function(b->arena, call.function, args, count));
}

/* All elements are one number. */
static void add_fill(const struct region_function *t, struct tree_builder *b, const struct region_port *p)
{
    struct arena *const a = b->arena;
    const char *const type = target_index_type(t->e->options->target, p->inner->count);
    const struct tree_var *const state = param_of(t, p->inner);
    const struct expr *const x = expr_float(a, p->inner->dtype, tensor_get_double(p->fill, 0));
    const struct expr *at = index_constant(a, 0);
    if (p->inner->count > 1)
        at = emit_open_loop(b, type, "i", p->inner->count, index_constant(a, p->inner->count), NULL, 1);
    tree_set(b, tree_element(a, state, at), SET_TO, x);
    if (p->inner->count > 1)
        tree_close(b);
}

/* What the states begin with. */
static void add_starts(const struct region_function *t, struct tree_builder *b)
{
    struct arena *const a = b->arena;
    const struct expr *const zero = index_constant(a, 0);
    for (size_t i = 0; i < t->k->starts.count; i++) {
        const struct region_port *const p = &t->k->starts.data[i];
        const struct expr *const state = tree_address(a, param_of(t, p->inner), zero);
        if (p->inner->count == 0)
            continue;
        if (p->fill)
            add_fill(t, b, p);
        else if (p->outer)
            run_on_memory(b, "memcpy", state, tree_address(a, param_of(t, p->outer), index_constant(a, p->offset)),
                          size_of(a, p->inner));
        else
            run_on_memory(b, "memset", state, zero, size_of(a, p->inner));
    }
}

static void add_loop(struct region_function *t, struct tree_builder *b)
{
    const struct region *const r = t->k->region;
    struct arena *const a = b->arena;
    const struct expr *const zero = index_constant(a, 0), *const trips = index_constant(a, r->trips.most);
    struct stmt *const loop = tree_open_loop(b, t->step, r->backwards ? index_constant(a, r->trips.most - 1) : zero,
                                             r->backwards ? NULL : trips, r->backwards ? -1 : 1, LOOP_PLAIN);
    if (r->backwards)
        loop->condition = tree_condition(a, EXPR_GE, tree_read(a, t->step), zero);
    for (size_t i = 0; i < t->k->body->kernels.count; i++)
        add_kernel(t, b, t->k->body->kernels.data[i]);
    tree_close(b);
}

/* ---- the function ------------------------------------------------------------------------------------------------ */

static const char *region_comment(const struct region_function *t)
{
    const struct region *const r = t->k->region;
    if (r->of_parts)
        return arena_printf(t->e->arena,
                            "%" PRId64
                            " equal parts, one after the other. What they give is added up, from -0 on, "
                            "which adds nothing to any number.",
                            r->trips.most);
    if (r->strips_of != NULL)
        return arena_printf(t->e->arena,
                            "%" PRId64
                            " strips, one after the other, so that of \"%s\" no more than one lies in memory",
                            r->trips.most, comment_safe(t->e->arena, r->strips_of));
    return arena_printf(t->e->arena, "%" PRId64 " steps, %s: %s", r->trips.most,
                        r->backwards ? "from the last to the first" : "from the first to the last",
                        nodes_text(t->e, t->kernel, false));
}

static struct tree_function *build_function(struct region_function *t)
{
    struct emission *const e = t->e;
    struct tree_function *const f = arena_new(e->arena, struct tree_function);
    struct tree_builder b = tree_builder(e->arena, &f->body);
    *f = (struct tree_function){.attributes = "STEPC_KERNEL", .type = "void"};
    add_starts(t, &b);
    add_loop(t, &b);
    for (size_t i = 0; i < t->params.count; i++)
        vec_push(e->arena, &f->params, t->params.data[i]);
    if (t->takes_arena)
        vec_push(e->arena, &f->params, t->arena);
    const char *const of = name_mangle(e->arena, t->outer.data[0]->name);
    const char *const name = t->k->region->of_parts ? "add_up_parts"
                             : t->k->region->strips_of != NULL
                                 ? arena_printf(e->arena, "compute_%s_in_strips", of)
                                 : arena_printf(e->arena, "%s_steps", of);
    const char *const wishes[] = {name, arena_printf(e->arena, "%s_%s", name, t->entry)};
    f->name = name_first_free(&e->file, wishes, 2);
    return f;
}

struct kernel_call emit_region(struct emission *e, const struct kernel *k)
{
    struct arena *const a = e->arena;
    struct region_function *const t = function_of(e, k);
    struct kernel_function *const f = arena_new(a, struct kernel_function);
    struct expr_scope s = {.e = e, .arena = a};
    struct writer w = {.text = {.arena = a}};
    f->tree = build_function(t);
    f->name = f->tree->name;
    f->text = "";
    verify_function(e, k->label, f->tree);
    note_needs(e, f->tree);
    note_tree(e, f, f->tree);
    print_function(&s, &w, f->tree);
    f->definition = strbuf_text(&w.text);
    vec_push(a, &f->comments, region_comment(t));
    vec_push(a, &e->functions, f);
    struct kernel_call call = {.name = f->name, .function = f->tree, .takes_arena = t->takes_arena};
    for (size_t i = 0; i < t->outer.count; i++)
        vec_push(a, &call.arguments, ((struct call_argument){t->outer.data[i], false}));
    vec_each_ptr(const struct check, c, &k->checks)
        vec_push(a, &call.checks, check_call(e, k, c));
    return call;
}
