/* A node with a region becomes a kernel that runs the kernels of its graph, step by step. */
#include "graph/region.h"
#include "lower/lower.h"

void region_write_to(struct kernel_region *k, const struct buffer *from, struct buffer *to)
{
    for (size_t i = 0; i < k->writes.count; i++)
        if (k->writes.data[i].outer == from)
            k->writes.data[i].outer = to;
    for (size_t i = 0; i < k->starts.count; i++)
        if (k->starts.data[i].inner == from)
            k->starts.data[i].inner = to;
}

void region_add_scratch(struct lowered *l, struct kernel *k, int64_t bytes)
{
    k->tmpl.scratch = buffer_new(l, BUFFER_TEMP, "scratch", DTYPE_UINT8, &SHAPE(bytes));
    k->tmpl.scratch_count = bytes;
}

static struct buffer *find_input(const struct lowered *body, int index)
{
    for (size_t i = 0; i < body->buffers.count; i++)
        if (body->buffers.data[i]->kind == BUFFER_INPUT && body->buffers.data[i]->index == index)
            return body->buffers.data[i];
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
        const struct region_port p = {find_input(k->body, i), v.buffer, v.offset, step};
        vec_push(c->arena, &k->reads, p);
    }
    vec_each(struct buffer *, inner, &k->body->buffers) {
        if (inner->kind != BUFFER_CONSTANT)
            continue;
        const struct region_port p = {.inner = inner, .outer = lower_table(c, inner->name, inner->constant).buffer};
        vec_push(c->arena, &k->reads, p);
    }
}

static void add_start(struct lower_ctx *c, struct kernel_region *k, int i, struct buffer *state)
{
    struct region_port p = {.inner = state};
    if (lower_has(c, i)) {
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

static bool can_fail(const struct lowered *body)
{
    for (size_t i = 0; i < body->kernels.count; i++)
        if (body->kernels.data[i]->checks.count > 0)
            return true;
    return false;
}

bool lower_region(struct lower_ctx *c)
{
    struct kernel_region *const k = arena_new(c->arena, struct kernel_region);
    struct lower_options options = c->options;
    options.check_finite = false;
    k->region = c->node->region;
    if (!lower_entry(c->l->diag, c->arena, &k->region->program->entries.data[0], options, &k->body))
        return false;
    if (can_fail(k->body))
        return lower_error(c, "an index that depends on data cannot be checked within steps of time");
    add_reads(c, k);
    add_writes(c, k);
    lower_kernel(c, "steps")->region = k;
    return true;
}
