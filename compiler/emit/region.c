/* A region as a function: a loop over its steps that calls the kernels of its graph, one after the other. What a step
 * takes and makes are pointers, moved on by as much as one step has. */
#include "emit/emit_internal.h"
#include "emit/entry.h"
#include "graph/region.h"

#include <inttypes.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

struct region_text {
    struct emission *e;
    const struct kernel *kernel;
    const struct kernel_region *k;
    const char *entry;                /* in which the region stands */
    struct name_scope names;
    buffer_list outer;                /* memory outside: parameters, in this order */
    const char **param;               /* their names */
    size_t written;                   /* so many of them are written, the first ones */
    const char *step;                 /* the variable of the loop */
    struct entry_pointer **pointers;  /* by inner buffer */
    struct entry_steps body;
    bool takes_arena;
};

static size_t param_of(const struct region_text *t, const struct buffer *outer)
{
    for (size_t i = 0; i < t->outer.count; i++)
        if (t->outer.data[i] == outer)
            return i;
    UNREACHABLE("'%s' is no parameter of its region", outer->name);
}

static void name_params(struct region_text *t)
{
    struct arena *const a = t->e->arena;
    kernel_writes(a, t->kernel, &t->outer);
    t->written = t->outer.count;
    kernel_reads(a, t->kernel, &t->outer);
    t->param = arena_array(a, const char *, t->outer.count);
    map_set(&t->names.taken, "arena", NULL);
    reserve_prefix_macros(t->e, &t->names);
    reserve_written_functions(&t->names);
    t->step = name_in(&t->names, "t");
    for (size_t i = 0; i < t->outer.count; i++)
        t->param[i] = name_in(&t->names, t->outer.data[i]->name);
}

static const char *param_type(const struct region_text *t, size_t i)
{
    const char *const type = c_type(t->outer.data[i]->dtype);
    return i < t->written ? type : arena_printf(t->e->arena, "const %s", type);
}

/* "x", "x + 12". */
static const char *moved(const struct region_text *t, const struct region_port *p)
{
    const char *const name = t->param[param_of(t, p->outer)];
    return p->offset ? arena_printf(t->e->arena, "%s + %" PRId64, name, p->offset) : name;
}

static struct entry_pointer *make_pointer(struct region_text *t, const struct buffer *b, const char *type,
                                          const char *wish, const char *place)
{
    struct entry_pointer *const p = arena_new(t->e->arena, struct entry_pointer);
    *p = (struct entry_pointer){.type = type, .name = name_in(&t->names, wish), .place = place,
                                .about = b->shape.rank ? shape_text(t->e->arena, &b->shape) : "scalar"};
    return p;
}

static void make_port(struct region_text *t, const struct region_port *p)
{
    struct arena *const a = t->e->arena;
    const struct buffer *const b = p->inner;
    if (p->step == 0) { /* as if it were declared */
        t->pointers[b->id] = arena_new(a, struct entry_pointer);
        *t->pointers[b->id] = (struct entry_pointer){.name = moved(t, p)};
        return;
    }
    const size_t param = param_of(t, p->outer);
    const char *const place = p->step == 1 ? arena_printf(a, "%s + %s", moved(t, p), t->step)
                                           : arena_printf(a, "%s + %" PRId64 " * %s", moved(t, p), p->step, t->step);
    t->pointers[b->id] =
        make_pointer(t, b, param_type(t, param), arena_printf(a, "%s_%s", t->param[param], t->step), place);
}

static void make_temporary(struct region_text *t, const struct buffer *b)
{
    t->takes_arena = true;
    t->pointers[b->id] = make_pointer(t, b, c_type(b->dtype), b->name, arena_place(t->e, b));
}

static void make_pointers(struct region_text *t)
{
    const struct lowered *const body = t->k->body;
    t->pointers = arena_array(t->e->arena, struct entry_pointer *, body->buffers.count + 1);
    for (size_t i = 0; i < t->k->reads.count; i++)
        make_port(t, &t->k->reads.data[i]);
    for (size_t i = 0; i < t->k->writes.count; i++)
        make_port(t, &t->k->writes.data[i]);
    for (size_t i = 0; i < body->buffers.count; i++) {
        const struct buffer *const b = body->buffers.data[i];
        if (b->kind == BUFFER_TEMP && b->count > 0 && t->k->plan->life[b->id].first >= 0)
            make_temporary(t, b);
    }
}

/* Nothing else of the file is called as the function's parameters and pointers are. */
static void reserve(const struct region_text *t, const char *name)
{
    map_set(&t->e->file.taken, name, NULL);
    map_set(&t->e->param_names, name, NULL);
}

static void list_plan(struct emission *e, const struct plan *plan, const char *entry);

static void list_region(struct emission *e, const struct kernel *k, const char *entry)
{
    struct region_text *const t = arena_new(e->arena, struct region_text);
    *t = (struct region_text){.e = e, .kernel = k, .k = k->region, .entry = entry, .names = {.taken = {.arena = e->arena}}};
    t->body.arena = e->arena;
    name_params(t);
    make_pointers(t);
    for (size_t i = 0; i < t->outer.count; i++)
        reserve(t, t->param[i]);
    for (size_t i = 0; i < k->region->body->buffers.count; i++)
        if (t->pointers[i])
            reserve(t, t->pointers[i]->name);
    vec_push(e->arena, &e->regions, t);
    list_plan(e, k->region->plan, entry);
}

static void list_plan(struct emission *e, const struct plan *plan, const char *entry)
{
    vec_push(e->arena, &e->all_plans, plan);
    vec_push(e->arena, &e->plan_entries, entry);
    for (size_t i = 0; i < plan->lowered->kernels.count; i++)
        if (plan->lowered->kernels.data[i]->region)
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

static struct region_text *text_of(const struct emission *e, const struct kernel *k)
{
    for (size_t i = 0; i < e->regions.count; i++)
        if (e->regions.data[i]->kernel == k)
            return e->regions.data[i];
    UNREACHABLE("region '%s' is of no entry", k->label);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static const char *pointer_to(struct region_text *t, const struct buffer *b)
{
    if (!t->pointers[b->id]) /* without elements */
        return "NULL";
    entry_use_pointer(&t->body, t->pointers[b->id]);
    return t->pointers[b->id]->name;
}

static const char *element_of(struct region_text *t, const struct buffer *b)
{
    const char *const pointer = pointer_to(t, b);
    return arena_printf(t->e->arena, text_is_word(pointer) ? "%s[0]" : "*(%s)", pointer);
}

static const char *size_of(const struct region_text *t, const struct buffer *b)
{
    return arena_printf(t->e->arena, "%" PRId64 " * sizeof(%s)", b->count, c_type(b->dtype));
}

static void add_copy(struct region_text *t, const struct buffer *to, const struct buffer *from)
{
    struct arena *const a = t->e->arena;
    struct entry_step s = {.kind = STEP_CALL, .name = "memcpy"};
    if (to->count == 0)
        return;
    if (to->count == 1) {
        s = (struct entry_step){.kind = STEP_SET, .target = element_of(t, to), .value = element_of(t, from)};
    } else {
        vec_push(a, &s.arguments, pointer_to(t, to));
        vec_push(a, &s.arguments, pointer_to(t, from));
        vec_push(a, &s.arguments, size_of(t, to));
    }
    entry_add_step(&t->body, s);
}

static void add_kernel(struct region_text *t, const struct kernel *k)
{
    struct arena *const a = t->e->arena;
    struct buffer *from, *to;
    if (kernel_is_copy(k, &from, &to)) {
        add_copy(t, to, from);
        return;
    }
    const struct kernel_call call = emit_kernel(t->e, t->k->plan, k);
    struct entry_step s = {.kind = STEP_CALL, .name = call.name};
    for (size_t i = 0; i < call.arguments.count; i++) {
        const struct call_argument *const x = &call.arguments.data[i];
        vec_push(a, &s.arguments, x->by_value ? element_of(t, x->buffer) : pointer_to(t, x->buffer));
    }
    if (call.takes_arena) {
        vec_push(a, &s.arguments, "arena");
        t->takes_arena = true;
    }
    entry_add_step(&t->body, s);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void write_head(const struct region_text *t, struct writer *w, const char *name)
{
    struct arena *const a = t->e->arena;
    text_list list = {0};
    for (size_t i = 0; i < t->outer.count; i++)
        vec_push(a, &list, arena_printf(a, "%s *%s", param_type(t, i), t->param[i]));
    if (t->takes_arena)
        vec_push(a, &list, arena_printf(a, "%s_arena *arena", t->e->name));
    write_list(w, arena_printf(a, "static STEPC_KERNEL void %s(", name), list.data, list.count, ")");
}

/* What the states begin with. */
static void write_starts(const struct region_text *t, struct writer *w)
{
    struct arena *const a = t->e->arena;
    for (size_t i = 0; i < t->k->starts.count; i++) {
        const struct region_port *const p = &t->k->starts.data[i];
        const char *const state = t->param[param_of(t, p->inner)];
        if (p->inner->count == 0)
            continue;
        const char *const from = p->outer ? moved(t, p) : "0";
        const char *const list[] = {state, from, size_of(t, p->inner)};
        write_list(w, arena_printf(a, "%s(", p->outer ? "memcpy" : "memset"), list, 3, ");");
    }
}

/* The smallest type that holds every place of what is sliced and stacked. */
static const char *index_type(const struct region_text *t)
{
    int64_t most = t->k->region->trips;
    for (size_t i = 0; i < t->outer.count; i++)
        most = t->outer.data[i]->count > most ? t->outer.data[i]->count : most;
    return most <= INT16_MAX ? "int" : most <= INT32_MAX ? "int32_t" : "int64_t";
}

static void write_loop(struct region_text *t, struct writer *w)
{
    const struct region *const r = t->k->region;
    const char *const type = index_type(t);
    if (r->backwards)
        write_open(w, "for (%s %s = %" PRId64 "; %s >= 0; %s--)", type, t->step, r->trips - 1, t->step, t->step);
    else
        write_open(w, "for (%s %s = 0; %s < %" PRId64 "; %s++)", type, t->step, t->step, r->trips, t->step);
    print_entry_steps(&t->body, 0, t->body.steps.count, w);
    write_close(w, "");
}

static const char *region_comment(const struct region_text *t)
{
    const struct region *const r = t->k->region;
    return arena_printf(t->e->arena, "%" PRId64 " steps, %s: %s", r->trips,
                        r->backwards ? "from the last to the first" : "from the first to the last",
                        nodes_text(t->e, t->kernel, false));
}

struct kernel_call emit_region(struct emission *e, const struct kernel *k)
{
    struct arena *const a = e->arena;
    struct region_text *const t = text_of(e, k);
    for (size_t i = 0; i < t->k->body->kernels.count; i++)
        add_kernel(t, t->k->body->kernels.data[i]);
    struct kernel_function *const f = arena_new(a, struct kernel_function);
    const char *const name = arena_printf(a, "%s_steps", name_mangle(a, t->outer.data[0]->name));
    f->name = name_first_free(&e->file, (const char *const[]){name, arena_printf(a, "%s_%s", name, t->entry)}, 2);
    f->text = "";
    struct writer w = {.text = {.arena = a}};
    write_head(t, &w, f->name);
    write_line(&w, "{");
    w.depth++;
    write_starts(t, &w);
    write_loop(t, &w);
    w.depth--;
    write_line(&w, "}");
    f->definition = strbuf_text(&w.text);
    vec_push(a, &f->comments, region_comment(t));
    map_set(&e->functions, f->definition, f);
    struct kernel_call call = {.name = f->name, .takes_arena = t->takes_arena};
    for (size_t i = 0; i < t->outer.count; i++)
        vec_push(a, &call.arguments, ((struct call_argument){t->outer.data[i], false}));
    return call;
}
