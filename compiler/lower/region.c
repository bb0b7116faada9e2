/* A node with a region becomes a kernel that runs the kernels of its graph, step by step. */
#include "graph/region.h"
#include "lower/lower.h"

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
        vec_push(c->arena, &k->reads, ((struct region_port){find_input(k->body, i), v.buffer, v.offset, step}));
    }
    vec_each(struct buffer *, inner, &k->body->buffers)
        if (inner->kind == BUFFER_CONSTANT) {
            struct buffer *const outer = lower_table_named(c, inner->name, inner->constant);
            vec_push(c->arena, &k->reads, ((struct region_port){.inner = inner, .outer = outer}));
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
    vec_each(const struct kernel *, k, &body->kernels)
        if (k->checks.count > 0)
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
    lower_kernel(c, "steps");
    c->kernel->kind = KERNEL_REGION;
    c->kernel->region = k;
    return true;
}
