/* A node with a region becomes a kernel that runs the kernels of its graph, step by step. */
#include "base/str.h"
#include "graph/region.h"
#include "lower/lower.h"

#include <string.h>

void region_write_to(struct kernel_region *k, const struct buffer *from, struct buffer *to)
{
    vec_each_ptr(struct region_port, p, &k->writes)
        if (p->outer == from)
            p->outer = to;
    vec_each_ptr(struct region_port, p, &k->starts)
        if (p->inner == from)
            p->inner = to;
}

void region_add_scratch(struct lowered *l, struct kernel *k, int64_t bytes)
{
    k->scratch.buffer = buffer_new(l, BUFFER_TEMP, "scratch", DTYPE_UINT8, &SHAPE(bytes));
    k->scratch.count = bytes;
}

static struct buffer *find_input(const struct lowered *body, int index)
{
    vec_each(struct buffer *, b, &body->buffers)
        if (b->kind == BUFFER_INPUT && b->index == index)
            return b;
    UNREACHABLE("input %d of a region has no buffer", index);
}

/* Where the graph's inputs and constants lie; inputs that nobody reads are none of the node's. */
static void add_reads(struct lower_ctx *c, struct kernel_region *k)
{
    const struct graph *const g = region_graph(k->region);
    for (int i = 0; i < (int)g->inputs.count; i++) {
        if (!lower_has(c, k->region->states + i))
            continue;
        const struct view v = lower_contiguous(c, k->region->states + i);
        const int64_t step = k->region->is_slice.data[i] ? shape_count(&g->inputs.data[i]->shape) : 0;
        vec_push(c->arena, &k->reads,
                 ((struct region_port){
                     .inner = find_input(k->body, i), .outer = v.buffer, .offset = v.offset, .step = step}));
    }
    vec_each(struct buffer *, inner, &k->body->buffers)
        if (inner->kind == BUFFER_CONSTANT) {
            struct buffer *const outer = lower_table_named(c, inner->name, inner->constant);
            vec_push(c->arena, &k->reads, ((struct region_port){.inner = inner, .outer = outer}));
        }
}

/* The one number that input i repeats, if it is known; NULL: there is none. */
static const struct tensor *repeated(const struct lower_ctx *c, int i)
{
    const struct view v = lower_view_of(c, i);
    const bool is_number = v.buffer->dtype == DTYPE_FLOAT || v.buffer->dtype == DTYPE_DOUBLE;
    return is_number && v.buffer->kind == BUFFER_CONSTANT && v.buffer->count == 1 && !c->options.late
               ? v.buffer->constant
               : NULL;
}

static void add_start(struct lower_ctx *c, struct kernel_region *k, int i, struct buffer *state)
{
    struct region_port p = {.inner = state};
    const struct tensor *const number = lower_has(c, i) ? repeated(c, i) : NULL;
    if (number) {
        p.fill = tensor_is_zero(number) ? NULL : number;
    } else if (lower_has(c, i)) {
        const struct view v = lower_contiguous(c, i);
        p.outer = v.buffer;
        p.offset = v.offset;
    }
    vec_push(c->arena, &k->starts, p);
}

/* States live in the memory of the node's outputs. */
static void add_writes(struct lower_ctx *c, struct kernel_region *k)
{
    const struct program *const p = k->region->program;
    for (int i = 0; i < (int)p->variables.count; i++) {
        if (!lower_wants(c, i))
            continue;
        const bool is_state = i < k->region->states;
        struct region_port port = {.outer = lower_out_view(c, i).buffer,
                                   .step = is_state ? 0 : shape_count(&p->variables.data[i]->shape)};
        if (is_state)
            add_start(c, k, i, port.outer);
        vec_push(c->arena, &k->writes, port);
        vec_each(struct buffer *, inner, &k->body->buffers)
            if (inner->variable == p->variables.data[i])
                k->writes.data[k->writes.count - 1].inner = inner;
    }
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* What a check of one step reads, seen from a loop around all steps. */
struct lift {
    struct arena *arena;
    const struct kernel_region *k;
    bool failed;
};

static const struct expr *lift_index(const struct expr *index, void *data)
{
    const struct lift *const l = data;
    return expr_index(l->arena, (int)index->i + 1);
}

static const struct expr *lift_load(const struct expr *load, void *data)
{
    struct lift *const l = data;
    vec_each_ptr(const struct region_port, p, &l->k->reads) {
        if (p->inner != load->access->buffer || load->access->term_count > 0 || !p->outer)
            continue;
        struct access a = *load->access;
        memmove(a.stride + 1, a.stride, sizeof a.stride - sizeof a.stride[0]);
        a.buffer = p->outer;
        a.offset += p->offset;
        a.stride[0] = p->step;
        return expr_load(l->arena, &a);
    }
    l->failed = true;
    return load;
}

static bool equal_checks(const struct check *a, const struct check *b)
{
    return a->rank == b->rank && !memcmp(a->extent, b->extent, sizeof a->extent) && a->low == b->low &&
           a->high == b->high && a->except == b->except && a->has_except == b->has_except &&
           str_equal(a->status, b->status) && a->value->op == EXPR_LOAD && b->value->op == EXPR_LOAD &&
           access_same(a->value->access, b->value->access);
}

/* The check of all steps, in front of the first one; false: it reads what a step makes. */
static bool lift_check(struct kernel *to, struct lift *l, const struct check *of_step)
{
    const struct expr_map map = {.arena = l->arena, .load = lift_load, .index = lift_index, .data = l};
    struct check c = *of_step;
    if (of_step->rank == LOOP_MAX_DIMS)
        return false;
    memmove(c.extent + 1, c.extent, sizeof c.extent - sizeof c.extent[0]);
    memmove(c.late + 1, c.late, sizeof c.late - sizeof c.late[0]);
    c.rank++;
    c.extent[0] = l->k->region->trips.most;
    c.late[0] = (struct late_size){0};
    c.value = expr_substitute(&map, of_step->value);
    vec_each_ptr(const struct check, known, &to->checks)
        if (equal_checks(known, &c))
            return !l->failed;
    vec_push(l->arena, &to->checks, c);
    return !l->failed;
}

static bool lift_checks(struct lower_ctx *c, struct kernel *to, const struct kernel_region *k)
{
    struct lift l = {c->arena, k, k->region->trips.per != 0};
    for (size_t i = 0; i < k->body->kernels.count; i++) {
        struct kernel *const inner = k->body->kernels.data[i];
        vec_each_ptr(const struct check, check, &inner->checks)
            if (!lift_check(to, &l, check))
                return lower_error(c, "an index that depends on data cannot be checked within steps of time");
        if (inner->checks.count > 0 && kernel_only_checks(inner))
            vec_remove(&k->body->kernels, i--);
        inner->checks.count = 0;
    }
    return true;
}

bool lower_region(struct lower_ctx *c)
{
    struct kernel_region *const k = arena_new(c->arena, struct kernel_region);
    struct lower_options options = c->options;
    options.check_finite = false;
    k->region = c->node->region;
    if (!lower_entry(c->l->diag, c->arena, &k->region->program->entries.data[0], options, &k->body))
        return false;
    add_reads(c, k);
    add_writes(c, k);
    lower_kernel(c, k->region->of_parts ? "parts" : k->region->strips_of != NULL ? "strips" : "steps");
    if (!lift_checks(c, c->kernel, k))
        return false;
    c->kernel->kind = KERNEL_REGION;
    c->kernel->region = k;
    return true;
}
